/* Why: each rule in words that name the object to act on, and a command that can be typed as it
 * stands. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

static void why(struct rig *g, const char *kind, const char *object)
{
    rig_do(g, server_why, "Why", (struct rig_ask){.id = kind, .id2 = object});
}

/* The reason of this rule in the last answer. */
static const struct value *reason(struct rig *g, const char *rule)
{
    const struct value *all = rig_at(g, "reasons");
    for (uint32_t i = 0; value_is(all, VALUE_LIST) && i < all->n; i++)
        if (str_is(value_as_str(value_get(&all->items[i], "rule")), rule))
            return &all->items[i];
    return NULL;
}

static void told(struct rig *g, const char *rule, const char *object, const char *name,
                 const char *remedy)
{
    const struct value *r = reason(g, rule);
    if (!ok(r, "there is a reason %s", rule)) {
        SCOPED_BUF(b);
        json_write(&b, g->reply.body, 0);
        printf("#   in %s\n", b.data);
        return;
    }
    is_text(value_as_text(value_get(r, "object"), "none"), object, "%s names a %s", rule, object);
    if (name)
        is_text(value_as_text(value_get(r, "name"), "none"), name, "%s names %s", rule, name);
    is_text(value_as_text(value_get(r, "remedy"), "none"), remedy, "%s: %s", rule, remedy);
}

/* A task in ERROR: first the command that helps, then where to look. */
static void told_failed(struct rig *g, uint32_t task)
{
    struct task_view v = {0};
    (void)anneal_task(g->server->engine, task, &v);
    told(g, "failed", "task", "install-db",
         arena_printf(&g->mem, "anneal noderole retry %u", v.noderole));
    is_text(value_as_text(value_get(reason(g, "failed"), "see"), "none"),
            arena_printf(&g->mem, "anneal task log %u", task), "failed: and where to look");
}

static void put_node(struct rig *g, const char *body)
{
    rig_do(g, server_node_patch, "Node", (struct rig_ask){.id = "db1", .body = body});
    rig_settle(g);
}

/* What a task that may start waits for: workers, the node, the jig, the pool, the operation. */
static void test_not_started(struct rig *g, uint32_t prepare)
{
    const char *task = rig_id(g, prepare);
    why(g, "task", task);
    told(g, "jig-without-worker", "jig", "local", "anneal worker list");
    has_text(rig_text(g, "summary"), "no worker has jig local", "the summary is the cause");
    is_text(rig_text(g, "state"), "READY", "of a task that may start");
    why(g, "jig", "local");
    told(g, "jig-without-worker", "jig", "local", "anneal worker list");

    put_node(g, "{'available': false, 'note': 'new disk'}");
    why(g, "node", "db1");
    told(g, "node-unavailable", "node", "db1", "anneal node set db1 --available");
    has_text(rig_text(g, "summary"), "made unavailable: new disk", "with the administrator's note");
    why(g, "task", task);
    told(g, "node-unavailable", "node", "db1", "anneal node set db1 --available");
    rig_worker(g, 1);
    why(g, "noderole", rig_id(g, rig_noderole(g, "base", "db1")));
    told(g, "node-unavailable", "node", "db1", "anneal node set db1 --available");
    is_text(rig_text(g, "name"), "base@db1", "a noderole by name");
    why(g, "noderole", rig_id(g, rig_noderole(g, "web", "web1")));
    has_text(rig_text(g, "summary"), "it comes down to this", "a chain is followed to its root");
    ok(reason(g, "node-unavailable") || reason(g, "running"), "and names it");

    rig_do(g, server_jig_patch, "Jig",
           (struct rig_ask){.id = "local", .body = "{'active': false}"});
    why(g, "task", task);
    told(g, "jig-inactive", "jig", "local", "anneal jig enable local");
    why(g, "jig", "local");
    has_text(rig_text(g, "summary"), "jig local is switched off", "an inactive jig");
    is_text(rig_text(g, "state"), "inactive", "says so");
    why(g, "role", "base");
    told(g, "jig-inactive", "jig", "local", "anneal jig enable local");
    rig_do(g, server_jig_patch, "Jig", (struct rig_ask){.id = "local", .body = "{'active': true}"});
    rig_settle(g);
}

static void test_held(struct rig *g, uint32_t op, uint32_t prepare)
{
    const char *id = rig_id(g, op);
    rig_do(g, server_operation_cancel, "Operation", (struct rig_ask){.id = id});
    rig_settle(g);
    why(g, "task", rig_id(g, prepare));
    told(g, "operation-held", "operation", "bind database",
         arena_printf(&g->mem, "anneal operation resume %u", op));
    why(g, "operation", id);
    told(g, "operation-held", "operation", "bind database",
         arena_printf(&g->mem, "anneal operation resume %u", op));
    is_text(rig_text(g, "state"), "cancelled", "a held operation");
    rig_do(g, server_operation_resume, "Operation", (struct rig_ask){.id = id});
    rig_settle(g);
}

/* Running, waiting, failing, tried again, failed for good. */
static void test_running(struct rig *g, uint32_t op, uint32_t prepare)
{
    uint32_t install = rig_task_of(g, "database", "db1", 0);
    uint32_t start = rig_task_of(g, "database", "db1", 1);
    uint32_t nr = rig_noderole(g, "database", "db1");
    put_node(g, "{'available': true, 'note': null}");
    rig_worker(g, 8);
    why(g, "task", rig_id(g, prepare));
    told(g, "running", "task", "prepare", arena_printf(&g->mem, "anneal task log %u -f", prepare));
    why(g, "node", "db1");
    told(g, "running", "task", "prepare", arena_printf(&g->mem, "anneal task log %u -f", prepare));
    why(g, "task", rig_id(g, install));
    told(g, "parent-not-in-service", "noderole", "base@db1", "none");
    has_text(rig_text(g, "summary"), "prepare of base@db1) runs since", "what it waits for runs");
    is_int(value_as_int(value_get(reason(g, "running"), "depth"), -1), 1, "one step away");

    rig_result(g, prepare, OUTCOME_AGAIN, 0, "still booting", 60000);
    why(g, "task", rig_id(g, prepare));
    told(g, "waiting", "task", "prepare", arena_printf(&g->mem, "anneal task poke %u", prepare));
    has_text(rig_text(g, "summary"), "asked again in", "and says when");
    is_text(rig_text(g, "state"), "WAITING", "a waiting task");
    put_node(g, "{'available': false}");
    why(g, "task", rig_id(g, prepare));
    told(g, "node-unavailable", "node", "db1", "anneal node set db1 --available");
    has_text(value_as_text(value_get(reason(g, "waiting"), "text"), ""),
             "when its node is available", "a waiting task's clock stands still");
    put_node(g, "{'available': true}");
    rig_do(g, server_task_poke, "Task", (struct rig_ask){.id = rig_id(g, prepare)});
    rig_settle(g);
    rig_result(g, prepare, OUTCOME_OK, 0, "", 0);
    why(g, "task", rig_id(g, prepare));
    told(g, "done", "task", "prepare", "none");
    why(g, "noderole", rig_id(g, rig_noderole(g, "base", "db1")));
    has_text(rig_text(g, "summary"), "base@db1 is at its target", "what is in service is in order");

    rig_result(g, install, OUTCOME_FAILED, 2, "no such package", 0);
    why(g, "task", rig_id(g, install));
    told(g, "back-off", "task", "install-db",
         arena_printf(&g->mem, "anneal task poke %u", install));
    has_text(rig_text(g, "summary"), "failed 1 time and is tried again in", "when");
    has_text(rig_text(g, "summary"), "exit 2, no such package", "and what happened");
    why(g, "operation", rig_id(g, op));
    told(g, "back-off", "task", "install-db",
         arena_printf(&g->mem, "anneal task poke %u", install));
    rig_do(g, server_task_poke, "Task", (struct rig_ask){.id = rig_id(g, install)});
    rig_settle(g);
    rig_result(g, install, OUTCOME_FAILED, 3, "", 0);

    why(g, "task", rig_id(g, install));
    told_failed(g, install);
    has_text(rig_text(g, "summary"), "failed (exit): exit 3", "what happened");
    why(g, "task", rig_id(g, start));
    told_failed(g, install);
    why(g, "noderole", rig_id(g, nr));
    told_failed(g, install);
    is_text(rig_text(g, "state"), "ERROR", "a failed noderole");
    why(g, "node", "db1");
    told_failed(g, install);
    why(g, "operation", rig_id(g, op));
    told_failed(g, install);
    why(g, "role", "database");
    told(g, "instance-not-in-service", "noderole", "database@db1", "none");
    told_failed(g, install);
    why(g, "noderole", rig_id(g, rig_noderole(g, "web", "web1")));
    told(g, "parent-not-in-service", "noderole", "base@web1", "none");
    is_text(rig_text(g, "reasons.1.name"), "database@db1", "both parents are named");
    told_failed(g, install);
    has_text(rig_text(g, "summary"), "it comes down to this: task", "the cause is the summary");
    has_text(rig_text(g, "summary"), "install-db of database@db1) failed", "by name");
}

/* The web's own operation has nothing to start: all it has waits for another one's failure. */
static void test_pending_operation(struct rig *g, uint32_t web_op)
{
    uint32_t prepare = rig_task_of(g, "base", "web1", 0);
    rig_result(g, prepare, OUTCOME_OK, 0, "", 0);
    why(g, "operation", rig_id(g, web_op));
    told(g, "parent-not-in-service", "noderole", "database@db1", "none");
    ok(reason(g, "failed"), "the failure of another operation is found");
}

/* One place in the pool, two databases. */
static void test_pool(struct rig *g)
{
    rig_node(g, "db2", "");
    rig_node(g, "db3", "");
    uint32_t op = rig_bind(g, "database", "db2,db3");
    uint32_t first = rig_task_of(g, "database", "db2", 0), second;
    rig_result(g, rig_task_of(g, "base", "db2", 0), OUTCOME_OK, 0, "", 0);
    rig_result(g, rig_task_of(g, "base", "db3", 0), OUTCOME_OK, 0, "", 0);
    second = rig_task_of(g, "database", "db3", 0);
    struct rig_task sent;
    ok(rig_sent(g, first, &sent) != rig_sent(g, second, &sent), "one of two has the place");
    uint32_t waits = rig_sent(g, first, &sent) ? second : first;
    uint32_t holds = waits == first ? second : first;
    why(g, "task", rig_id(g, waits));
    told(g, "pool-full", "pool", "license", "anneal pool set license --size 2");
    has_text(rig_text(g, "summary"), "pool license is full: 1 taken and 0 elsewhere, of 1", "why");
    why(g, "pool", "license");
    told(g, "pool-full", "pool", "license", "anneal pool set license --size 2");
    told(g, "pool-holder", "task", "install-db",
         arena_printf(&g->mem, "anneal why task/%u", holds));
    is_text(rig_text(g, "state"), "full", "a full pool");
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "license", .body = "{'closed': true, 'note': 'expired'}"});
    why(g, "task", rig_id(g, waits));
    told(g, "pool-closed", "pool", "license", "anneal pool set license --open");
    has_text(rig_text(g, "summary"), "closed: expired", "with its note");
    why(g, "pool", "license");
    is_text(rig_text(g, "state"), "closed", "a closed pool");
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "license", .body = "{'closed': false, 'size': 4}"});
    rig_settle(g);
    why(g, "pool", "license");
    has_text(rig_text(g, "summary"), "pool license is open", "a pool with room");
    why(g, "operation", rig_id(g, op));
    ok(reason(g, "running"), "an operation under way");
    rig_result(g, holds, OUTCOME_OK, 0, "", 0);
    rig_result(g, waits, OUTCOME_OK, 0, "", 0);
    rig_result(g, rig_task_of(g, "database", "db2", 1), OUTCOME_OK, 0, "", 0);
    rig_result(g, rig_task_of(g, "database", "db3", 1), OUTCOME_OK, 0, "", 0);
    why(g, "operation", rig_id(g, op));
    has_text(rig_text(g, "summary"), " succeeded", "one that has ended");
}

static void test_busy(struct rig *g)
{
    rig_node(g, "n4", "");
    rig_node(g, "n5", "");
    (void)rig_bind(g, "wipe", "n4");
    (void)rig_bind(g, "base", "n4");
    uint32_t wipe = rig_task_of(g, "wipe", "n4", 0), base = rig_task_of(g, "base", "n4", 0);
    why(g, "task", rig_id(g, base));
    told(g, "node-busy", "task", "wipe-disk", arena_printf(&g->mem, "anneal task log %u -f", wipe));
    rig_worker(g, 1);
    (void)rig_bind(g, "base", "n5");
    why(g, "task", rig_id(g, rig_task_of(g, "base", "n5", 0)));
    told(g, "workers-busy", "jig", "local", "anneal worker list");
    why(g, "jig", "local");
    told(g, "workers-busy", "jig", "local", "anneal worker list");
    rig_worker(g, 8);
    why(g, "jig", "local");
    has_text(rig_text(g, "summary"), "jig local works", "a jig in order");
    rig_result(g, wipe, OUTCOME_LOST, 0, "the worker died", 0);
    why(g, "task", rig_id(g, wipe));
    told(g, "uncertain", "task", "wipe-disk",
         arena_printf(&g->mem, "anneal task resolve %u done|failed|again", wipe));
    rig_do(g, server_task_resolve, "Task",
           (struct rig_ask){.id = rig_id(g, wipe), .body = "{'outcome': 'done'}"});
    rig_settle(g);
}

static void test_dead(struct rig *g)
{
    uint32_t base = rig_task_of(g, "base", "n5", 0);
    rig_do(g, server_node_report, "Node",
           (struct rig_ask){.id = "n5", .body = "{'alive': 'dead'}"});
    rig_settle(g);
    why(g, "task", rig_id(g, base));
    told(g, "node-not-alive", "node", "n5",
         "power on n5 or repair its network; its return is noticed by itself");
    has_text(rig_text(g, "summary"), "node n5 is dead", "death");
    rig_do(g, server_node_create, "Node",
           (struct rig_ask){.body = "{'name': 'n6', 'available': true}"});
    (void)rig_bind(g, "base", "n6");
    why(g, "node", "n6");
    told(g, "node-not-alive", "node", "n6", "anneal node show n6");
    has_text(rig_text(g, "summary"), "nobody has seen node n6 alive yet", "the unknown");
    rig_do(g, server_node_report, "Node",
           (struct rig_ask){.id = "n5", .body = "{'alive': 'alive', 'machine_id': 'a'}"});
    rig_do(g, server_node_report, "Node",
           (struct rig_ask){.id = "n6", .body = "{'alive': 'alive', 'machine_id': 'b'}"});
    rig_settle(g);
    rig_result(g, rig_task_of(g, "base", "n6", 0), OUTCOME_OK, 0, "", 0);
    why(g, "node", "n6");
    has_text(rig_text(g, "summary"), "alive and available", "a node in order");
    rig_do(g, server_node_report, "Node",
           (struct rig_ask){.id = "n6", .body = "{'alive': 'alive', 'machine_id': 'c'}"});
    rig_settle(g);
    why(g, "noderole", rig_id(g, rig_noderole(g, "base", "n6")));
    told(g, "failed", "task", "prepare", "anneal node redeploy n6");
    has_text(rig_text(g, "summary"), "another machine answers as node n6", "a replaced machine");
}

static void test_cancelled(struct rig *g)
{
    rig_node(g, "n7", "");
    uint32_t op = rig_bind(g, "base", "n7"), base = rig_task_of(g, "base", "n7", 0);
    rig_result(g, base, OUTCOME_AGAIN, 0, "", 60000);
    rig_do(g, server_operation_cancel, "Operation", (struct rig_ask){.id = rig_id(g, op)});
    rig_settle(g);
    why(g, "task", rig_id(g, base));
    told(g, "cancelled", "operation", "bind base",
         arena_printf(&g->mem, "anneal operation resume %u", op));
}

/* A task that takes its node down, and another that waits for it. */
static void test_away(struct rig *g)
{
    rig_node(g, "n9", ", 'slots': 2");
    (void)rig_bind(g, "restart", "n9");
    (void)rig_bind(g, "base", "n9");
    uint32_t base = rig_task_of(g, "base", "n9", 0), reboot = rig_task_of(g, "restart", "n9", 0);
    why(g, "task", rig_id(g, base));
    told(g, "node-not-alive", "node", "n9", "anneal node show n9");
    has_text(rig_text(g, "summary"), "node n9 is away, as a task on it said", "it is expected");
    rig_result(g, reboot, OUTCOME_TIMEOUT, 0, "it did not come back", 0);
    why(g, "task", rig_id(g, reboot));
    has_text(rig_text(g, "summary"), "failed (timeout): it did not come back", "a time-out");
}

/* A later catalog leaves out a role that is bound. */
static void test_left_out(struct rig *g)
{
    rig_catalog_of(g, "barclamp: t\nroles: [{name: only}]\n");
    why(g, "role", "wipe");
    told(g, "not-in-catalog", "role", "wipe", "anneal catalog load DIR");
    rig_do(g, server_jig_get, "Jig", (struct rig_ask){.id = "cloud"});
    is_text(rig_text(g, "implementation"), "cloud", "a jig that is left out stays known");
}

static void test_bindings(struct rig *g)
{
    why(g, "binding", "web@db2");
    is_text(rig_text(g, "state"), "possible", "a binding that would work");
    has_text(rig_text(g, "summary"), "anneal deployment bind system web=db2", "says how");
    told(g, "would-bind", "role", "web", "anneal deployment bind system web=db2");
    why(g, "binding", "database@web1");
    is_int(rig_at(g, "reasons")->n, 1, "what it needs is there already");
    rig_node(g, "n8", "");
    why(g, "binding", "web@n8");
    is_int(rig_at(g, "reasons")->n, 2, "or would be bound with it");
    has_text(rig_text(g, "reasons.0.text"), "because web@n8 requires it", "and says why");
    uint32_t install = rig_task_of(g, "database", "db1", 0);
    why(g, "binding", "database@db1");
    is_text(rig_text(g, "state"), "bound", "a binding that is there");
    told_failed(g, install);
    why(g, "binding", "database@db2");
    has_text(rig_text(g, "summary"), "is bound already: noderole", "and in service");
    why(g, "binding", "machine-image@db2");
    is_text(rig_text(g, "state"), "refused", "a binding with an inactive jig");
    told(g, "refused", "jig", "cloud", "anneal jig enable cloud");
    why(g, "binding", "on-image@db2");
    told(g, "refused", "jig", "cloud", "anneal jig enable cloud");
    why(g, "binding", "rival@db2");
    is_text(rig_text(g, "state"), "refused", "a conflict");
    ok(reason(g, "refused"), "is a reason");
    is_text(value_as_text(value_get(reason(g, "refused"), "name"), ""), "db2", "at the node");
    has_text(rig_text(g, "summary"), "rival", "which names the role");
    has_text(rig_text(g, "summary"), "database", "and what it meets");
    why(g, "binding", "any@db2");
    has_text(rig_text(g, "summary"), "abstract", "an abstract role");
    why(g, "binding", "wep@db2");
    told(g, "unknown-name", "role", "wep", "did you mean \"web\"?");
    rig_refuse(g, server_why, ERR_NOT_FOUND, "node",
               (struct rig_ask){.id = "binding", .id2 = "web@nowhere"});
    for (int i = 0; i < 3; i++)
        rig_refuse(
            g, server_why, ERR_INVALID, "role@node",
            (struct rig_ask){.id = "binding", .id2 = (const char *[]){"web", "@db2", "web@"}[i]});
}

static void test_roles(struct rig *g)
{
    why(g, "role", "rival");
    told(g, "not-bound", "role", "rival", "anneal deployment bind system rival=NODE");
    why(g, "role", "any");
    told(g, "not-bound", "role", "any", "none");
    why(g, "role", "wipe");
    has_text(rig_text(g, "summary"), "in service on the one node that has it", "a role in order");
    rig_refuse(g, server_why, ERR_NOT_FOUND, "did you mean \"web\"?",
               (struct rig_ask){.id = "role", .id2 = "wep"});
    rig_refuse(g, server_why, ERR_NOT_FOUND, "pool", (struct rig_ask){.id = "pool", .id2 = "x"});
    rig_refuse(g, server_why, ERR_NOT_FOUND, "jig", (struct rig_ask){.id = "jig", .id2 = "x"});
    rig_refuse(g, server_why, ERR_NOT_FOUND, "node", (struct rig_ask){.id = "node", .id2 = "x"});
    static const char *const kinds[] = {"noderole", "task", "operation"};
    for (size_t i = 0; i < 3; i++) {
        rig_refuse(g, server_why, ERR_NOT_FOUND, kinds[i],
                   (struct rig_ask){.id = kinds[i], .id2 = "9999"});
        rig_refuse(g, server_why, ERR_NOT_FOUND, kinds[i],
                   (struct rig_ask){.id = kinds[i], .id2 = "x"});
    }
    rig_refuse(g, server_why, ERR_INVALID, "kind", (struct rig_ask){.id = "cat", .id2 = "1"});
}

/* Rules that take more than a few calls to bring about: the words, given the rule. */
static void test_words(struct rig *g)
{
    static const struct {
        struct why y;
        const char *text, *remedy;
    } rules[] = {
        {{WHY_NODE_FROZEN, ROWS_NODE, 1, 2},
         "an error on node db1 freezes all work there",
         "anneal noderole list --node db1 --state ERROR"},
        {{WHY_NODE_BUSY, ROWS_NODE, 1, 1}, "node db1 is busy", "none"},
        {{WHY_WORKERS_BUSY, ROWS_META, 1, 8},
         "all 8 places of workers are taken",
         "anneal worker list"},
        {{WHY_WORKERS_BUSY, ROWS_META, 1, 0},
         "no worker has reported: nothing can run",
         "anneal worker list"},
        {{WHY_STALLED, ROWS_OPERATION, 2, 0},
         "operation 2 (bind database) stalled",
         "anneal operation retry 2"},
        {{WHY_TOLERANCE, ROWS_OPERATION, 2, 0},
         "operation 2 (bind database) stopped: more failed than may",
         "anneal operation retry 2"},
        {{WHY_TOLERANCE, ROWS_GROUP, 77, 3}, "0 of group ? failed, 0 may", "none"},
        {{WHY_TOLERATED, ROWS_TASK, 1, 1},
         "task 1 (prepare of base@db1) failed, which its definition allows",
         "anneal task attempts 1"},
        {{WHY_SUPERSEDED, ROWS_TASK, 1, 1},
         "an older attempt of task 1 (prepare of base@db1)",
         "anneal task attempts 1"},
        {{WHY_TURN, ROWS_TASK, 1, 0}, "nothing stands in the way of task 1", "none"},
        {{WHY_POOL_FULL, ROWS_POOL, 77, 0}, "pool ? is full", "anneal pool set ? --size 1"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct why_answer w = {.server = g->server, .mem = &g->mem, .reasons = value_list(&g->mem)};
        ok(why_tell(&w, &rules[i].y), "%s is told", why_rule_name(rules[i].y.rule));
        ok(!why_tell(&w, &rules[i].y), "once");
        is_int(w.reasons->n, 1, "as one reason");
        has_text(value_as_text(value_at(w.reasons, "0.text"), ""), rules[i].text, "in words");
        is_text(value_as_text(value_at(w.reasons, "0.remedy"), "none"), rules[i].remedy,
                "with its remedy");
    }
    struct why_answer full = {.server = g->server, .mem = &g->mem, .reasons = value_list(&g->mem)};
    for (uint32_t i = 1; i <= WHY_MOST_REASONS + 5; i++)
        (void)why_tell(&full, &(struct why){WHY_TURN, ROWS_TASK, i, 0});
    why_say(&full, 3, "more", &(struct why_head){0}, "more", NULL);
    is_int(full.reasons->n, WHY_MOST_REASONS, "an answer ends somewhere");
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    rig_node(&g, "db1", "");
    rig_node(&g, "web1", "");
    why(&g, "binding", "web@db1");
    told(&g, "no-catalog", "none", NULL, "anneal catalog load DIR");
    rig_refuse(&g, server_why, ERR_NOT_FOUND, "role", (struct rig_ask){.id = "role", .id2 = "web"});
    rig_catalog(&g);
    uint32_t op = rig_bind(&g, "database", "db1"), web_op = rig_bind(&g, "web", "web1");
    uint32_t prepare = rig_task_of(&g, "base", "db1", 0);
    test_not_started(&g, prepare);
    test_held(&g, op, prepare);
    test_running(&g, op, prepare);
    test_pending_operation(&g, web_op);
    test_pool(&g);
    test_busy(&g);
    test_dead(&g);
    test_cancelled(&g);
    test_away(&g);
    test_bindings(&g);
    test_roles(&g);
    test_words(&g);
    test_left_out(&g);
    rig_close(&g);
    return tap_done();
}
