/* test_ending.c - what became of an operation: each kind of task by itself, then a machine that is
 * never made
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/ending.h"
#include "server_rig.h"

/* What one task counts as: 'd'one, 'f'ailed, 'n'ever run, 'u'ndone, '-' nothing. */
static char counts_as(const struct task_view *t)
{
    struct ending r = {0};
    ending_add(&r, t);
    uint32_t sum = r.done + r.failed + r.never_ran + r.undone;
    if (sum != 1)
        return sum ? '?' : '-';
    return r.done ? 'd' : r.failed ? 'f' : r.never_ran ? 'n' : 'u';
}

/* Every state, under every rule: of what runs, and of what passes by itself. */
static void test_table(void)
{
    /*   PENDING READY RUNNING WAITING DONE SKIPPED TOLERATED FAILED DEP_FAILED CANCELLED */
    static const struct {
        enum task_rule rule;
        bool passive;
        const char *want;
    } rows[] = {
        {RULE_RUN, false, "nnnnddffnn"},          {RULE_ONCE, false, "nnnnddffnn"},
        {RULE_UNDO, false, "----u-ff--"},         {RULE_UNDO, true, "----u-----"},
        {RULE_JOIN_ALL, true, "----------"},      {RULE_JOIN_ENDED, true, "----------"},
        {RULE_JOIN_TOLERATE, true, "----------"}, {RULE_SKIP, true, "----------"},
        {RULE_KEEP, true, "----------"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[TASK_STATE_COUNT + 1] = {0};
        for (int s = 0; s < TASK_STATE_COUNT; s++) {
            struct task_view t = {.id = 1,
                                  .rule = (uint8_t)rows[i].rule,
                                  .passive = rows[i].passive,
                                  .state = (uint8_t)s};
            got[s] = counts_as(&t);
        }
        is_text(got, rows[i].want, "%s%s", task_rule_name(rows[i].rule),
                rows[i].passive ? ", passive" : "");
    }
    struct task_view kept = {.id = 1, .state = TASK_SKIPPED, .reason = REASON_KEPT};
    is_int(counts_as(&kept), '-', "what was kept is no work of this operation");
    kept.reason = REASON_LEFT_OUT;
    is_int(counts_as(&kept), '-', "nor is what was left out");
    struct task_view once = {
        .id = 1, .state = TASK_DONE, .rule = RULE_SKIP, .passive = true, .attempt = 1};
    is_int(counts_as(&once), 'd', "what ran once and is left out from now on is");
}

static void test_named(void)
{
    static const uint32_t ids[] = {9, 3, 7, 1, 8, 2, 6}, first[ENDING_NAMED] = {1, 2, 3, 6, 7};
    struct ending r = {0};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        ending_add(&r, &(struct task_view){.id = ids[i], .state = TASK_FAILED});
    is_int(r.failed, 7, "all are counted");
    for (uint32_t i = 0; i < ENDING_NAMED; i++)
        is_int(r.failures[i], first[i], "named are the first: %u", i);
}

/* --- a machine that is never made --- */

#define CATALOG                                                                                    \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    actions:\n"                                                                               \
    "      create: [{name: make, retries: 1, backoff: 0ms, params: {}}]\n"                         \
    "      delete: [{name: unmake, params: {}}]\n"                                                 \
    "hardware: [{hardware: one, providers: {bare: {flavor: f, cost: 1}}}]\n"                       \
    "images: [{image: plain, providers: {bare: {image: i}}}]\n"                                    \
    "roles:\n"                                                                                     \
    "  - name: web\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions: {install: [{name: put, params: {}}], start: [{name: up, params: {}}]}\n"         \
    "templates:\n"                                                                                 \
    "  - template: t\n"                                                                            \
    "    defaults: {services: [web], provider: bare, hardware: one, image: plain}\n"               \
    "    constraints: {size: {min: 1, max: 4}}\n"

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("noop"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 2});
}

/* All that is sent is answered; what makes machines fails while `fails`. */
static void run(struct rig *g, size_t *from, bool fails)
{
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++) {
        uint32_t task = g->sent.at[*from].task;
        bool bad = fails && !strcmp(view_task_name(g->server, task), "make");
        rig_result(g, task, bad ? OUTCOME_FAILED : OUTCOME_OK, bad, "", 0);
        rig_settle(g);
    }
}

static void test_never_made(void)
{
    struct rig g;
    size_t from = 0;
    rig_open(&g);
    worker_here(&g);
    rig_catalog_of(&g, CATALOG);
    worker_here(&g); /* once more: there are jigs now that it has */
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 't', 'nodes': 1}"});
    const char *op = rig_id(&g, (uint32_t)rig_int(&g, "operation.id"));
    run(&g, &from, true);
    rig_do(&g, server_operation_get, "Operation", (struct rig_ask){.id = op});
    is_text(rig_text(&g, "state"), "failed", "it has failed");
    is_int(rig_int(&g, "outcome.done"), 0, "nothing of it was done");
    is_int(rig_int(&g, "outcome.failed"), 1, "one task failed");
    is_int(rig_int(&g, "outcome.never_ran"), 2, "two never ran");
    is_int(rig_int(&g, "outcome.undone"), 1, "the undo is told as such");
    is_text(rig_text(&g, "outcome.failures.0.name"), "make", "what failed is named");
    is_text(rig_text(&g, "outcome.failures.0.node"), "c-1000.local", "with its node");
    is_text(rig_text(&g, "outcome.failures.0.role"), "machine.bare", "and its role");
    is_text(rig_text(&g, "outcome.failures.0.reason"), "exit", "and why");
    rig_restart(&g);
    worker_here(&g);
    from = g.sent.n;
    rig_do(&g, server_operation_get, "Operation", (struct rig_ask){.id = op});
    is_int(rig_int(&g, "outcome.never_ran"), 2, "after a restart too");
    rig_do(&g, server_operation_retry, "Operation", (struct rig_ask){.id = op});
    run(&g, &from, false);
    rig_do(&g, server_operation_get, "Operation", (struct rig_ask){.id = op});
    is_text(rig_text(&g, "state"), "succeeded", "retried it succeeds");
    ok(value_is(rig_at(&g, "outcome"), VALUE_NULL), "and nothing is left to be told");
    rig_close(&g);
}

int main(void)
{
    test_table();
    test_named();
    test_never_made();
    return tap_done();
}
