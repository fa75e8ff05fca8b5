/* test_task_table.c - every cell of the task state table, against a second copy of it
 *
 * The table is written out here once more, as text and from the rules, not from the code: a change
 * of a cell must be made twice, on purpose.  Then what must hold of the table whatever its cells
 * say: no dead end, no state that nothing leads to, a way back to PENDING from everywhere.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"
#include "tap.h"

/* One line per state: event>state, separated by blanks.  What is not there is illegal. */
static const struct {
    const char *state, *cells;
} wanted[] = {
    {"PENDING", "DEPS_MET>READY CANCEL>CANCELLED RESET>PENDING UNCHANGED>DONE SKIP>SKIPPED "
                "DEP_FAIL>DEP_FAILED FAIL>FAILED JOINED>DONE"},
    {"READY", "DEPS_LOST>PENDING START>RUNNING CANCEL>CANCELLED RESET>PENDING UNCHANGED>DONE "
              "SKIP>SKIPPED FAIL>FAILED"},
    {"RUNNING", "OK>DONE FAIL>FAILED FAIL_RETRY>PENDING NOT_YET>WAITING CANCEL>CANCELLED "
                "RESET>PENDING TOLERATE>TOLERATED"},
    {"WAITING", "ASK>RUNNING FAIL>FAILED FAIL_RETRY>PENDING CANCEL>CANCELLED RESET>PENDING "
                "TOLERATE>TOLERATED"},
    {"DONE", "RESET>PENDING"},
    {"SKIPPED", "RESET>PENDING"},
    {"TOLERATED", "RESET>PENDING"},
    {"FAILED", "RESET>PENDING OK>DONE FAIL>FAILED TOLERATE>TOLERATED"},
    {"DEP_FAILED", "RESET>PENDING FAIL>FAILED"},
    {"CANCELLED", "RESET>PENDING FAIL>FAILED"},
};

/* The state that a cell of the text leads to; "" if the text has no such cell. */
static void wanted_cell(const char *cells, const char *event, char *ret, size_t size)
{
    size_t len = strlen(event);
    *ret = '\0';
    for (const char *p = cells; *p; p += strcspn(p, " "), p += *p == ' ') {
        if (strncmp(p, event, len) != 0 || p[len] != '>')
            continue;
        size_t n = strcspn(p + len + 1, " ");
        snprintf(ret, size, "%.*s", (int)n, p + len + 1);
    }
}

static void every_cell(void)
{
    is_int(sizeof wanted / sizeof *wanted, TASK_STATE_COUNT, "the text has a line for each state");
    for (int s = 0; s < TASK_STATE_COUNT; s++) {
        const char *from = task_state_name((enum task_state)s), *cells = NULL;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
            if (!strcmp(wanted[i].state, from))
                cells = wanted[i].cells;
        if (!ok(cells != NULL, "%s has a line", from))
            continue;
        for (int ev = 0; ev < TASKEV_COUNT; ev++) {
            const char *event = task_event_name((enum task_event)ev);
            char want[32];
            wanted_cell(cells, event, want, sizeof want);
            int got = task_fsm_next((enum task_state)s, (enum task_event)ev);
            if (*want)
                is_text(got < 0 ? "illegal" : task_state_name((enum task_state)got), want,
                        "%s, %s: %s", from, event, want);
            else
                is_int(got, -1, "%s, %s: illegal", from, event);
        }
    }
}

/* Every word of the text is a state or an event, so that a misspelt cell cannot pass as illegal. */
static void every_word(void)
{
    size_t cells = 0, legal = 0;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        for (const char *p = wanted[i].cells; *p; p++)
            cells += *p == '>';
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        for (int ev = 0; ev < TASKEV_COUNT; ev++)
            legal += task_fsm_next((enum task_state)s, (enum task_event)ev) >= 0;
    is_int(cells, legal, "as many cells in the text as in the table");
}

static void leads_somewhere(void)
{
    bool reached[TASK_STATE_COUNT] = {[TASK_PENDING] = true};
    for (int round = 0; round < TASK_STATE_COUNT; round++)
        for (int s = 0; s < TASK_STATE_COUNT; s++)
            for (int ev = 0; reached[s] && ev < TASKEV_COUNT; ev++) {
                int to = task_fsm_next((enum task_state)s, (enum task_event)ev);
                if (to >= 0)
                    reached[to] = true;
            }
    for (int s = 0; s < TASK_STATE_COUNT; s++) {
        const char *name = task_state_name((enum task_state)s);
        int exits = 0;
        for (int ev = 0; ev < TASKEV_COUNT; ev++) {
            int to = task_fsm_next((enum task_state)s, (enum task_event)ev);
            exits += to >= 0 && to != s;
        }
        ok(reached[s], "%s is reached from PENDING", name);
        ok(exits > 0, "%s has an exit", name);
        is_int(task_fsm_next((enum task_state)s, TASKEV_RESET), TASK_PENDING,
               "%s, RESET: a new run begins", name);
    }
}

/* What passed stays passed until a new run: nothing but RESET takes it back. */
static void passed_is_kept(void)
{
    for (int s = 0; s < TASK_STATE_COUNT; s++) {
        if (!task_state_passed((enum task_state)s))
            continue;
        for (int ev = 0; ev < TASKEV_COUNT; ev++)
            if (ev != TASKEV_RESET)
                is_int(task_fsm_next((enum task_state)s, (enum task_event)ev), -1,
                       "%s keeps what it has on %s", task_state_name((enum task_state)s),
                       task_event_name((enum task_event)ev));
    }
}

/* Only a start or an ask makes a task run, so that no attempt begins without a slot. */
static void one_way_into_running(void)
{
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        for (int ev = 0; ev < TASKEV_COUNT; ev++)
            if (task_fsm_next((enum task_state)s, (enum task_event)ev) == TASK_RUNNING)
                ok((s == TASK_READY && ev == TASKEV_START) ||
                       (s == TASK_WAITING && ev == TASKEV_ASK),
                   "%s, %s may lead to RUNNING", task_state_name((enum task_state)s),
                   task_event_name((enum task_event)ev));
}

int main(void)
{
    every_cell();
    every_word();
    leads_somewhere();
    passed_is_kept();
    one_way_into_running();
    return tap_done();
}
