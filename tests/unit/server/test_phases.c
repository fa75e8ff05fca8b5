/* test_phases.c - tests of tasks as a server sees them: sent along, and kept with what became of
 * them
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

static const char catalog_text[] =
    "barclamp: t\n"
    "jigs: [{name: local, implementation: test}]\n"
    "roles:\n"
    "  - name: tested\n"
    "    jig: local\n"
    "    actions:\n"
    "      converge:\n"
    "        - name: install\n"
    "          retries: 1\n"
    "          backoff: 0\n"
    "          test_pre: {cmd: test -e /pkg, timeout: 5s}\n"
    "          test_post: {cmd: run-it, retries: 2}\n"
    "  - {name: plain, jig: local, actions: {converge: [{name: install}]}}\n";

static char seen_tests[256]; /* of the last TASK */
static bool seen_sound;      /* its digest is right */
static bool seen_no_op;

static void on_message(struct rig *g, const struct taskmsg *m)
{
    char digest[DIGEST_HEX];
    (void)g;
    if (m->kind != TASKMSG_TASK)
        return;
    snprintf(seen_tests, sizeof seen_tests, "%.*s", (int)m->tests.n, m->tests.n ? m->tests.s : "");
    taskmsg_digest(m, digest);
    seen_sound = str_is(m->digest, digest);
    seen_no_op = m->no_op;
}

static void answer(struct rig *g, uint32_t task, enum outcome outcome, enum phase phase,
                   const char *text)
{
    struct rig_task t = {0};
    ok(rig_sent(g, task, &t), "task %u was sent to a worker", task);
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_RESULT,
                                  .task = task,
                                  .attempt = t.attempt,
                                  .ask = t.ask,
                                  .seq = ++g->seq,
                                  .outcome = outcome,
                                  .phase = phase,
                                  .exit_code = outcome == OUTCOME_OK ? 0 : 3,
                                  .text = str_of(text)});
}

static void shows(struct rig *g, const char *task, const char *state, const char *reason)
{
    rig_do(g, server_task_get, "Task", (struct rig_ask){.id = task});
    is_text(rig_text(g, "state"), state, "the task is %s", state);
    is_text(rig_text(g, "reason"), reason, "for the reason \"%s\"", reason);
}

static void test_sent(struct rig *g, uint32_t *ret_task)
{
    rig_bind(g, "plain", "n1");
    is_text(seen_tests, "", "a task without tests is sent without");
    rig_result(g, rig_task_of(g, "plain", "n1", 0), OUTCOME_OK, 0, "", 0);
    rig_bind(g, "tested", "n1");
    *ret_task = rig_task_of(g, "tested", "n1", 0);
    is_text(seen_tests,
            "{\"pre\":{\"cmd\":\"test -e /pkg\",\"timeout_ms\":5000},"
            "\"post\":{\"cmd\":\"run-it\",\"retries\":2}}",
            "tests are sent along");
    ok(seen_sound, "and covered by the digest");
}

/* The first attempt fails in its first test and is tried again, as any failure is. */
static void test_before(struct rig *g, uint32_t task)
{
    const char *id = rig_id(g, task);
    answer(g, task, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: exit status 3: no package");
    answer(g, task, OUTCOME_FAILED, PHASE_TEST_PRE, "test_pre failed: exit status 3: no package");
    shows(g, id, "FAILED", "test-pre");
    rig_do(g, server_why, "Why", (struct rig_ask){.id = "task", .id2 = id});
    has_text(rig_text(g, "summary"),
             "was not started: its test before the start failed: exit status 3: no package",
             "why says which test");
    is_text(rig_text(g, "reasons.0.see"), arena_printf(&g->mem, "anneal task log %u", task),
            "and where to look");
    rig_list(g, server_task_attempts, "Attempt", (struct rig_ask){.id = id}, 2);
    is_text(rig_text(g, "items.1.phase"), "test_pre", "the attempt says so too");
}

static void test_after(struct rig *g, uint32_t task)
{
    const char *id = rig_id(g, task);
    rig_do(g, server_task_retry, "Task", (struct rig_ask){.id = id});
    rig_settle(g);
    answer(g, task, OUTCOME_FAILED, PHASE_TASK, "exit status 3");
    answer(g, task, OUTCOME_FAILED, PHASE_TEST_POST, "test_post failed: exit status 3");
    shows(g, id, "FAILED", "test-post");
    rig_do(g, server_why, "Why", (struct rig_ask){.id = "task", .id2 = id});
    has_text(rig_text(g, "summary"), "failed: its test after the end failed: exit status 3",
             "why says which test");
    rig_restart(g);
    shows(g, id, "FAILED", "test-post");
    rig_list(g, server_task_attempts, "Attempt", (struct rig_ask){.id = id}, 4);
    is_text(rig_text(g, "items.1.phase"), "test_pre", "history survives a restart");
    is_text(rig_text(g, "items.2.phase"), "task", "with each phase");
    is_text(rig_text(g, "items.3.phase"), "test_post", "to the last");
}

static void test_passed(struct rig *g, uint32_t task)
{
    const char *id = rig_id(g, task);
    rig_worker(g, 4);
    rig_do(g, server_task_retry, "Task", (struct rig_ask){.id = id});
    rig_settle(g);
    has_text(seen_tests, "run-it", "the restarted server sends tests as well");
    ok(seen_sound, "and their digest");
    answer(g, task, OUTCOME_OK, PHASE_TEST_POST, "");
    shows(g, id, "DONE", "");
}

/* What a definition's body says, as the inventory keeps it and the next dispatch sends it. */
static void test_no_op(struct rig *g, uint32_t task)
{
    static const char *const bodies[] = {"{\"type\":\"test\",\"params\":{},\"no_op\":true}",
                                         "{\"type\":\"test\",\"params\":{},\"no_op\":false}",
                                         "{\"type\":\"test\",\"params\":{},\"no_op\":1}"};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct inventory v = {0};
        struct plan_def d = {.name = str_of("a"), .role = str_of("r"), .body = str_of(bodies[i])};
        inventory_add_plan(&v, &(struct plan){.defs = &d, .n_defs = 1, .base_def = 1});
        is_int(v.defs.at[1].no_op, i == 0, "%s: no_op", bodies[i]);
        is_text(v.defs.at[1].tests, "", "%s: no tests", bodies[i]);
        inventory_done(&v);
    }
    struct task_view t = {0};
    (void)anneal_task(g->server->engine, task, &t);
    g->server->inv.defs.at[t.def].no_op = true;
    rig_do(g, server_noderole_rerun, NULL, (struct rig_ask){.id = rig_id(g, t.noderole)});
    rig_settle(g);
    ok(seen_no_op && seen_sound, "that it is a no-op is sent along, and covered by the digest");
}

int main(void)
{
    struct rig g;
    uint32_t task;
    rig_open(&g);
    g.message = on_message;
    rig_catalog_of(&g, catalog_text);
    rig_node(&g, "n1", "");
    rig_worker(&g, 4);
    test_sent(&g, &task);
    test_before(&g, task);
    test_after(&g, task);
    test_passed(&g, task);
    test_no_op(&g, task);
    rig_close(&g);
    return tap_done();
}
