/* test_forecast.c - history, timeline, progress by weight and what is expected of an operation */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/forecast.h"
#include "server/pace.h"
#include "server/tally.h"
#include "server_rig.h"

enum { SECOND_US = 1000000 };

/* Counts that followed every step are those that a look at everything finds. */
static void check_tally(struct rig *g, const char *when)
{
    const struct anneal *a = g->server->engine;
    struct tally *fresh = tally_new(a);
    bool same = true;
    for (uint32_t op = 1; op < anneal_operation_end(a); op++) {
        size_t n, m;
        const struct tally_count *kept = tally_operation(g->server->tally, op, &n);
        const struct tally_count *made = tally_operation(fresh, op, &m);
        same = same && n == m && tally_depth(g->server->tally, op) == tally_depth(fresh, op);
        for (size_t i = 0; same && i < n; i++) { /* in no order */
            size_t k = 0;
            while (k < m && made[k].def != kept[i].def)
                k++;
            same = k < m && made[k].left == kept[i].left && made[k].passed == kept[i].passed &&
                   made[k].lost == kept[i].lost;
        }
    }
    ok(same, "counts are what they should be %s", when);
    tally_free(fresh);
}

/* As if such a task had run once, for so long. */
static void teach(struct rig *g, const char *name, uint64_t us)
{
    const struct inventory *v = &g->server->inv;
    struct row_pace row;
    for (size_t i = 0; i < v->defs.n; i++) {
        const struct inv_def *d = &v->defs.at[i];
        if (d->name && strcmp(d->name, name) == 0) {
            (void)pace_learn(g->server->pace, pace_key(v->role_names.at[d->role], name, d->type),
                             us, &row);
            return;
        }
    }
    ok(false, "there is a task %s", name);
}

static void look_at(struct rig *g, uint32_t op)
{
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(g, op)});
}

static void check_progress(struct rig *g, uint32_t op, int64_t done, int64_t total, int64_t percent,
                           const char *when)
{
    look_at(g, op);
    is_int(rig_int(g, "progress.weight_done"), done, "weight that is done %s", when);
    is_int(rig_int(g, "progress.weight_total"), total, "of %s", when);
    is_int(rig_int(g, "progress.percent"), percent, "percent %s", when);
}

/* base prepare, database install-db and start-db on one node. */
static uint32_t test_weight(struct rig *g)
{
    uint32_t op = rig_bind(g, "database", "db1.t");
    check_tally(g, "after a plan");
    check_progress(g, op, 0, 3, 0, "while nothing is known");
    ok(value_is(rig_at(g, "eta_ms"), VALUE_NULL), "and nobody can say how long it takes");
    teach(g, "install-db", 8 * SECOND_US);
    check_progress(g, op, 0, 24000, 0, "with one known: the others weigh the same");
    ok(value_is(rig_at(g, "eta_ms"), VALUE_NULL), "nothing can run without a worker");
    teach(g, "prepare", 1 * SECOND_US);
    teach(g, "start-db", 1 * SECOND_US);
    check_progress(g, op, 0, 10000, 0, "with all known");
    rig_worker(g, 4);
    look_at(g, op);
    is_int(rig_int(g, "eta_ms"), 10000, "one after the other takes as long as all of them");
    return op;
}

static void test_run(struct rig *g, uint32_t op)
{
    uint32_t prepare = rig_task_of(g, "base", "db1.t", 0);
    uint32_t install = rig_task_of(g, "database", "db1.t", 0);
    rig_result(g, prepare, OUTCOME_OK, 0, "", 0);
    check_tally(g, "after a result");
    look_at(g, op);
    ok(rig_int(g, "progress.weight_done") <= 600, "what ran faster weighs less from now on");
    ok(rig_int(g, "progress.percent") <= 10, "a third of the tasks is not a third of the work");
    rig_result(g, install, OUTCOME_FAILED, 2, "no room", 0);
    check_tally(g, "after a failure");
    rig_do(g, server_task_poke, "Task", (struct rig_ask){.id = rig_id(g, install)});
    rig_settle(g);
    rig_result(g, install, OUTCOME_OK, 0, "", 0);
    look_at(g, op);
    ok(rig_int(g, "progress.percent") > 10 && rig_int(g, "progress.percent") < 100, "it goes on");
    ok(rig_int(g, "eta_ms") >= 0, "and its end can be told");
}

static void list(struct rig *g, uint32_t op, const char *query, int64_t n)
{
    rig_list(g, server_operation_history, "HistoryItem",
             (struct rig_ask){.id = rig_id(g, op), .query = query}, n);
}

static void test_history(struct rig *g, uint32_t op)
{
    list(g, op, NULL, 4);
    is_text(rig_text(g, "items.0.name"), "prepare", "in the order of starts");
    is_text(rig_text(g, "items.1.outcome"), "failed", "a failure is told");
    is_int(rig_int(g, "items.1.exit_code"), 2, "with its exit code");
    is_text(rig_text(g, "items.1.note"), "no room", "and its last words");
    is_int(rig_int(g, "items.2.number"), 2, "and the attempt after it");
    is_text(rig_text(g, "items.2.role"), "database", "the role of it");
    is_text(rig_text(g, "items.3.outcome"), "open", "what runs is there");
    ok(value_is(rig_at(g, "items.3.ran_ms"), VALUE_NULL), "and has not ended");
    is_int(rig_int(g, "total"), 4, "all are counted");
    list(g, op, "{'failed': 'true'}", 1);
    list(g, op, "{'task': 'install-db'}", 2);
    list(g, op, "{'task': 'nothing'}", 0);
    list(g, op, "{'state': 'RUNNING'}", 1);
    list(g, op, "{'node': 'db1.t'}", 4);
    list(g, op, "{'node': 'web1.t'}", 0);
    list(g, op, "{'all': 'true'}", 4);
    rig_refuse(g, server_operation_history, ERR_INVALID, "?node",
               (struct rig_ask){.id = rig_id(g, op), .query = "{'node': 'nobody'}"});
    rig_refuse(g, server_operation_history, ERR_NOT_FOUND, "99", (struct rig_ask){.id = "99"});
    list(g, op, "{'limit': '3'}", 3);
    const char *next = arena_strdup(&g->mem, rig_text(g, "next"));
    list(g, op, arena_printf(&g->mem, "{'after': '%s', 'limit': '3'}", next), 1);
    ok(value_is(rig_at(g, "next"), VALUE_NULL), "the last page");
}

static void test_timeline(struct rig *g, uint32_t op)
{
    struct rig_ask ask = {.id = rig_id(g, op)};
    rig_do(g, server_operation_timeline, "Timeline", ask);
    is_int(rig_at(g, "nodes")->n, 1, "one node did all of it");
    is_text(rig_text(g, "nodes.0.node"), "db1.t", "this one");
    is_int(rig_at(g, "nodes.0.items")->n, 4, "with a bar for each attempt");
    ok(value_is(rig_at(g, "nodes.0.items.3.end_ms"), VALUE_NULL), "what runs has no end");
    is_int(rig_at(g, "critical")->n, 2, "the chain has what has ended");
    is_text(rig_text(g, "critical.0.name"), "prepare", "begins with what a parent did");
    is_text(rig_text(g, "critical.1.name"), "install-db", "and ends with the last");
    ok(!value_as_bool(rig_at(g, "truncated"), true), "that was all");
    ask.query = "{'limit': '2'}";
    rig_do(g, server_operation_timeline, "Timeline", ask);
    is_int(rig_at(g, "nodes.0.items")->n, 2, "no more than asked for");
    ok(value_as_bool(rig_at(g, "truncated"), false), "and it says so");
    rig_refuse(g, server_operation_timeline, ERR_NOT_FOUND, "99", (struct rig_ask){.id = "99"});
}

/* Noderoles move on; history does not. */
static void test_end(struct rig *g, uint32_t op)
{
    uint32_t start = rig_task_of(g, "database", "db1.t", 1);
    uint32_t nr = rig_noderole(g, "database", "db1.t");
    rig_result(g, start, OUTCOME_OK, 0, "", 0);
    check_progress(g, op, 3, 3, 100, "at the end: tasks");
    rig_do(g, server_operation_timeline, "Timeline", (struct rig_ask){.id = rig_id(g, op)});
    is_int(rig_at(g, "critical")->n, 3, "the whole chain, through an order edge and a parent");
    rig_do(g, server_noderole_rerun, "Operation", (struct rig_ask){.id = rig_id(g, nr)});
    rig_settle(g);
    uint32_t again = anneal_operation_end(g->server->engine) - 1;
    check_tally(g, "after noderoles moved to another operation");
    list(g, again, NULL, 1);
    list(g, again, "{'all': 'true'}", 2);
    is_text(rig_text(g, "items.1.name"), "start-db", "a task that ran in another operation only");
    ok(value_is(rig_at(g, "items.1.number"), VALUE_NULL), "has no attempt in this one");
    list(g, again, "{'all': 'true', 'limit': '1'}", 1);
    const char *next = arena_strdup(&g->mem, rig_text(g, "next"));
    list(g, again, arena_printf(&g->mem, "{'all': 'true', 'after': '%s'}", next), 1);
    is_text(rig_text(g, "items.0.name"), "start-db", "pages go on from attempts to tasks");
    list(g, op, NULL, 4);
    check_progress(g, op, 3, 3, 100, "what has ended keeps its figures");
    look_at(g, again);
    ok(rig_int(g, "eta_ms") >= 0, "a second run is known from its beginning");
}

/* What is taken down leaves tasks that are nobody's; what they did is still told. */
static void test_gone(struct rig *g, uint32_t op)
{
    uint32_t install = rig_task_of(g, "database", "db1.t", 0);
    rig_result(g, install, OUTCOME_OK, 0, "", 0);
    rig_result(g, install + 1, OUTCOME_OK, 0, "", 0);
    check_tally(g, "after a run of its own");
    rig_do(g, server_deployment_unbind, "CommitResult",
           (struct rig_ask){.id = "system",
                            .body = "{'bindings': [{'role': 'database', 'nodes': 'db1.t'}]}"});
    rig_settle(g);
    is_int(rig_noderole(g, "database", "db1.t"), 0, "the noderole is gone");
    check_tally(g, "after a noderole went");
    list(g, op, NULL, 4);
    is_text(rig_text(g, "items.1.name"), "install-db", "its tasks are still known by name");
    is_text(rig_text(g, "items.1.role"), "database", "and by role");
    ok(value_is(rig_at(g, "items.1.state"), VALUE_NULL), "but have no state any more");
    list(g, op, "{'state': 'DONE'}", 1);
    rig_do(g, server_operation_timeline, "Timeline", (struct rig_ask){.id = rig_id(g, op)});
    is_int(rig_at(g, "nodes.0.items")->n, 4, "the timeline has them too");
}

static void test_restart(struct rig *g, uint32_t op)
{
    uint64_t key = 0;
    for (size_t i = 0; i < g->server->inv.defs.n; i++)
        if (g->server->inv.defs.at[i].name &&
            strcmp(g->server->inv.defs.at[i].name, "prepare") == 0)
            key = g->server->inv.defs.at[i].pace;
    uint64_t expected = pace_expected_us(g->server->pace, key);
    ok(key && expected, "something was learnt");
    rig_restart(g);
    ok(pace_expected_us(g->server->pace, key) == expected, "and is known after a restart");
    check_tally(g, "after a restart");
    list(g, op, NULL, 4);
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog(&g);
    rig_node(&g, "db1.t", "");
    rig_node(&g, "web1.t", "");
    uint32_t op = test_weight(&g);
    test_run(&g, op);
    test_history(&g, op);
    test_timeline(&g, op);
    test_end(&g, op);
    test_gone(&g, op);
    test_restart(&g, op);
    rig_close(&g);
    return tap_done();
}
