/* test_task_fsm.c - every cell of the table of task states
 *
 * The table is written down here a second time, in another form; then properties that any such
 * table must have are derived from the one in the engine.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"
#include "tap.h"

/* One letter per state a cell leads to; '.' is illegal. */
static const char letters[TASK_STATE_COUNT + 1] = "pruwdstfxc";
static const struct {
    enum task_state from;
    const char *to; /* in the order of TASK_EVENTS */
} wanted[TASK_STATE_COUNT] = {
    /* DEPS_MET DEPS_LOST START OK FAIL FAIL_RETRY NOT_YET ASK CANCEL RESET UNCHANGED SKIP TOLERATE
       DEP_FAIL */
    {TASK_PENDING, "r...f...cpds.x"},    {TASK_READY, ".pu.f...cpds.."},
    {TASK_RUNNING, "...dfpw.cp..t."},    {TASK_WAITING, "....fp.ucp..t."},
    {TASK_DONE, ".........p...."},       {TASK_SKIPPED, ".........p...."},
    {TASK_TOLERATED, ".........p...."},  {TASK_FAILED, "...df....p..t."},
    {TASK_DEP_FAILED, "....f....p...."}, {TASK_CANCELLED, "....f....p...."},
};

static void test_cells(void)
{
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        for (int ev = 0; ev < TASKEV_COUNT; ev++) {
            char c = wanted[s].to[ev];
            int want = c == '.' ? -1 : (int)(strchr(letters, c) - letters);
            is_int(task_fsm_next(wanted[s].from, (enum task_event)ev), want, "%s %s",
                   task_state_name(wanted[s].from), task_event_name((enum task_event)ev));
        }
}

static void test_reachable(void)
{
    bool seen[TASK_STATE_COUNT] = {[TASK_PENDING] = true};
    for (int round = 0; round < TASK_STATE_COUNT; round++)
        for (int s = 0; s < TASK_STATE_COUNT; s++)
            for (int ev = 0; seen[s] && ev < TASKEV_COUNT; ev++) {
                int to = task_fsm_next((enum task_state)s, (enum task_event)ev);
                if (to >= 0)
                    seen[to] = true;
            }
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        ok(seen[s], "%s can be reached", task_state_name((enum task_state)s));
}

static void test_exits(void)
{
    for (int s = 0; s < TASK_STATE_COUNT; s++) {
        int exits = 0, to_live = 0;
        for (int ev = 0; ev < TASKEV_COUNT; ev++) {
            int to = task_fsm_next((enum task_state)s, (enum task_event)ev);
            exits += to >= 0 && to != s;
            to_live += to >= 0 && task_state_live((enum task_state)to);
        }
        ok(exits > 0, "%s has an exit", task_state_name((enum task_state)s));
        is_int(to_live > 0, s == TASK_READY || s == TASK_RUNNING || s == TASK_WAITING,
               "%s: only a READY task starts, only a live one goes on", task_state_name(s));
    }
}

/* A new run begins from anywhere and always at the beginning; doing it twice is doing it once. */
static void test_reset(void)
{
    for (int s = 0; s < TASK_STATE_COUNT; s++) {
        int to = task_fsm_next((enum task_state)s, TASKEV_RESET);
        is_int(to, TASK_PENDING, "%s is reset to PENDING", task_state_name((enum task_state)s));
    }
    for (int s = TASK_DONE; s <= TASK_TOLERATED; s++)
        for (int ev = 0; ev < TASKEV_COUNT; ev++)
            ok(ev == TASKEV_RESET || task_fsm_next((enum task_state)s, (enum task_event)ev) < 0,
               "%s stays passed whatever %s", task_state_name((enum task_state)s),
               task_event_name((enum task_event)ev));
}

int main(void)
{
    test_cells();
    test_reachable();
    test_exits();
    test_reset();
    return tap_done();
}
