/* test_cluster.c - operations on a cluster, task by task: who gets which, what is kept, what is
 * told, and what is refused before anything changes
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"
#include "server/cluster_i.h"
#include "server/server_rig.h"

#define ROLES                                                                                      \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    config: {zone: a}\n"                                                                      \
    "    actions:\n"                                                                               \
    "      create: [{name: make, returns: [ipaddress], retries: 1, backoff: 0ms, params: {}}]\n"   \
    "      delete: [{name: unmake, params: {}}]\n"                                                 \
    "hardware: [{hardware: one, providers: {bare: {flavor: f1, cost: 1}}}]\n"                      \
    "images: [{image: plain, providers: {bare: {image: i1, user: me}}}]\n"                         \
    "roles:\n"                                                                                     \
    "  - {name: tool, jig: test, actions: {converge: [{name: put-tool, params: {}}]}}\n"           \
    "  - name: web\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    requires: {run: [db], needs: [tool]}\n"                                                   \
    "    actions:\n"                                                                               \
    "      install: [{name: put-web, params: {}}]\n"                                               \
    "      start: [{name: up-web, params: {}}]\n"                                                  \
    "      stop: [{name: down-web, params: {}}]\n"                                                 \
    "  - name: db\n"                                                                               \
    "    jig: test\n"                                                                              \
    "    actions:\n"                                                                               \
    "      install: [{name: put-db, params: {}}]\n"                                                \
    "      initialize: [{name: first-db, params: {}}]\n"                                           \
    "      start: [{name: up-db, params: {}}]\n"                                                   \
    "      stop: [{name: down-db, params: {}}]\n"                                                  \
    "      dump: [{name: dump-db, params: {}}]\n"
#define LOG                                                                                        \
    "  - name: log\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions:\n"                                                                               \
    "      install: [{name: put-log, params: {}}]\n"                                               \
    "      remove: [{name: drop-log, params: {}}]\n"
#define TEMPLATES                                                                                  \
    "templates:\n"                                                                                 \
    "  - template: shop\n"                                                                         \
    "    defaults: {services: [web, db], provider: bare, hardware: one, image: plain}\n"           \
    "    constraints: {apart: [[web, db]], size: {min: 2, max: 4},\n"                              \
    "                  services: {db: {min: 1, max: 1}, web: {min: 1}}}\n"                         \
    "    administration: {lease: {initial: 1h, max: 3h, step: 1h}}\n"

#define CATALOG ROLES LOG TEMPLATES

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("callback"), str_of("noop"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 3});
}

/* Names of the tasks that are sent until nothing more is, in order; one of them fails, once. */
static const char *run(struct rig *g, size_t *from, const char *fails)
{
    SCOPED_BUF(names);
    bool failed = !fails;
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++) {
        uint32_t task = g->sent.at[*from].task;
        struct task_view t = {0};
        (void)anneal_task(g->server->engine, task, &t);
        const char *name = g->server->inv.defs.at[t.def].name;
        bool bad = !failed && !strcmp(name, fails);
        failed |= bad;
        buf_printf(&names, "%s%s", names.len ? " " : "", name);
        rig_result(g, task, bad ? OUTCOME_FAILED : OUTCOME_OK, bad, "", 0);
        rig_settle(g);
    }
    return arena_strdup(&g->mem, names.len ? names.data : "");
}

static const char *operate(struct rig *g, size_t *from, const char *verb, const char *body,
                           const char *fails)
{
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = verb, .body = body});
    return run(g, from, fails);
}

static void refuses(struct rig *g, const char *verb, const char *body, int code, const char *why)
{
    struct err *e = &g->err;
    int rc = rig_call(g, server_cluster_operate,
                      (struct rig_ask){.id = "c", .id2 = verb, .body = body});
    is_int(-rc, code, "%s %s is refused", verb, body);
    ok(strstr(e->text, why) != NULL, "because %s: %s", why, e->text);
}

static void test_create(struct rig *g, size_t *from)
{
    int rc = rig_call(g, server_cluster_create,
                      (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 9}"});
    is_int(-rc, ERR_REFUSED, "nine nodes are too many");
    ok(strstr(g->err.text, "9") && g->err.hint[0], "which is told with a remedy: %s", g->err.hint);
    is_int((int64_t)g->server->inv.deployments.n, 2, "and nothing was made");
    rig_do(
        g, server_cluster_create, "ClusterResult",
        (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 2, 'dry_run': true}"});
    is_int((int64_t)g->server->inv.deployments.n, 2, "nor by a dry run");
    is_int(value_as_int(rig_at(g, "plan.tasks"), 0), 2 + 3 + 2, "which shows the plan");
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 2}"});
    is_text(run(g, from, NULL), "make make put-db first-db up-db put-tool put-web up-web",
            "machines, then what is needed, then phases in the order of their dependencies");
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(value_as_text(rig_at(g, "state"), ""), "active", "all of it is there");
    is_int(value_as_int(rig_at(g, "nodes.1.number"), 0), 1001, "under its numbers");
}

static void test_operations(struct rig *g, size_t *from)
{
    is_text(operate(g, from, "restart", "{'services': ['db']}", NULL),
            "down-web down-db up-db up-web", "a restart takes along who depends on it");
    is_text(operate(g, from, "stop", "{'services': ['web']}", NULL), "down-web", "stopped");
    is_text(operate(g, from, "configure", "{'config': {'a': 1}}", NULL), "",
            "nobody has anything to configure");
    is_text(operate(g, from, "act", "{'action': 'dump'}", NULL), "dump-db", "an action of its own");
    is_text(operate(g, from, "start", "{'services': ['web']}", NULL), "up-web",
            "what serves is not started again for the sake of others");
    is_text(operate(g, from, "expand", "{'by': 1}", NULL), "make put-web up-web",
            "a new node gets all of it; what is needed is found on another");
    is_text(operate(g, from, "restart", "{'services': ['web']}", "down-web"),
            "down-web down-web up-web", "a stop fails, on one of two nodes");
    is_text(operate(g, from, "start", "{'services': ['web']}", NULL), "up-web up-web",
            "what was done before is still done afterwards");
    is_text(operate(g, from, "shrink", "{'by': 1}", NULL), "down-web unmake", "and goes again");
}

static void test_refusals(struct rig *g)
{
    refuses(g, "add-service", "{'services': ['web']}", ERR_REFUSED, "already");
    refuses(g, "remove-service", "{'services': ['db']}", ERR_REFUSED, "db");
    refuses(g, "expand", "{'nodes': 2}", ERR_REFUSED, "not more");
    refuses(g, "shrink", "{'by': 2}", ERR_REFUSED, "node");
    refuses(g, "start", "{'services': ['nobody']}", ERR_UNKNOWN_NAME, "nobody");
    refuses(g, "configure", "{'config': {'x': '%host.service(%'}}", ERR_SYNTAX, "host.service");
    refuses(g, "rollback", "{'revision': 99}", ERR_NOT_FOUND, "99");
    refuses(g, "dance", "{}", ERR_NOT_FOUND, "dance");
    int rc = rig_call(
        g, server_deployment_bind,
        (struct rig_ask){.id = "c", .body = "{'bindings': [{'role': 'tool', 'nodes': '*'}]}"});
    is_int(-rc, ERR_CONFLICT, "what is solved is not bound by hand");
    rc = rig_call(g, server_deployment_delete, (struct rig_ask){.id = "c"});
    is_int(-rc, ERR_CONFLICT, "nor deleted as a deployment");
}

static void test_queue(struct rig *g, size_t *from)
{
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "restart", .body = "{'services': ['web']}"});
    refuses(g, "stop", "{}", ERR_CONFLICT, "under way");
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "stop", .body = "{'queue': true}"});
    ok(value_is(rig_at(g, "operation"), VALUE_NULL), "one that waits is no operation yet");
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(value_as_text(rig_at(g, "waiting.0"), ""), "stop", "it is shown");
    is_text(run(g, from, NULL), "down-web up-web", "the first ends");
    cluster_beat(g->server);
    is_text(run(g, from, NULL), "down-web down-db", "then the second is done");
    is_text(operate(g, from, "start", "{}", NULL), "up-db up-web", "and undone");
}

/* What a provider says of a machine is how its node is reached. */
static void machine_tells(struct rig *g, uint32_t task, uint32_t node)
{
    static const char *const wrong[] = {
        "{\"access\":[]}",
        "{\"access\":{\"pasword\":\"x\"}}",
        "{\"access\":{\"port\":70000}}",
        "{\"access\":{\"via\":\"telnet\"}}",
        "{\"access\":{\"trust\":\"all\"}}",
        "{\"access\":{\"host_keys\":[\"a\\nb\"]}}",
        "{\"access\":{\"user\":\"\"}}",
        "{\"addresses\":[]}",
        "{\"addresses\":\"10.0.0.2\"}",
        "{\"ipaddress\":7}",
        "{\"ipaddresses\":[\"10.0.0.2\"]}",
        "{\"ipaddresses\":{}}",
        "{\"ipaddresses\":{\"bind_v4\":7}}",
    };
    struct err e;
    is_text(data_node_get(g->server, node)->address.s, "10.0.0.1", "its address is the node's");
    is_int(cluster_returned(g->server, task,
                            str_of("{\"addresses\":[\"10.0.0.2\",\"fd::2\"],\"access\":{\"user\":"
                                   "\"op\",\"port\":2222,\"host_keys\":[\"ssh-ed25519 AAAA\"]}}"),
                            &e),
           0, "a machine says how it is reached");
    const struct data_node *d = data_node_get(g->server, node);
    is_text(d->address.s, "10.0.0.2", "the first of its addresses counts");
    is_text(d->access.s,
            "{\"addresses\":[\"10.0.0.2\",\"fd::2\"],\"host_keys\":[\"ssh-ed25519 "
            "AAAA\"],\"port\":2222,"
            "\"user\":\"op\"}",
            "a worker is told");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        is_int(-cluster_returned(g->server, task, str_of(wrong[i]), &e), ERR_INVALID, "%s",
               wrong[i]);
    is_text(data_node_get(g->server, node)->address.s, "10.0.0.2", "nothing of these counts");
    is_int(cluster_returned(
               g->server, task,
               str_of("{\"ipaddresses\":{\"a\":\"10.1.0.1\",\"bind_v4\":\"10.0.0.3\"}}"), &e),
           0, "addresses by what they are for");
    has_text(data_node_get(g->server, node)->access.s, "[\"10.0.0.3\",\"10.1.0.1\"]",
             "are tried in the order of their use");
}

static void test_payload(struct rig *g)
{
    uint32_t node = inventory_node_find(&g->server->inv, "c-1000.local");
    struct noderole_view nr;
    struct task_view t;
    struct err e;
    uint32_t task = 0;
    for (uint32_t id = anneal_node_first_noderole(g->server->engine, node); id;
         id = anneal_node_next_noderole(g->server->engine, id))
        if (cluster_is_machine(str_of(view_role_name(g->server, id))) &&
            anneal_noderole(g->server->engine, id, &nr))
            for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
                if (anneal_task(g->server->engine, i, &t) &&
                    !strcmp(g->server->inv.defs.at[t.def].name, "make"))
                    task = i;
    ok(task, "a task of a machine");
    is_int(cluster_returned(g->server, task,
                            str_of("{\"ipaddress\":\"10.0.0.1\",\"nodes\":1,\"more\":2}"), &e),
           0, "tells something");
    const struct value *told = view_json(&g->mem, cluster_payload(g->server, node).s);
    is_text(value_as_text(value_at(told, "config.ipaddress"), ""), "10.0.0.1", "declared: config");
    ok(!value_at(told, "config.nodes") &&
           value_as_int(value_at(told, "results.make.nodes"), 0) == 1,
       "not declared: results only");
    const struct value *own;
    is_int(data_cluster_own(g->server, nr.node ? g->server->inv.nodes.at[node].deployment : 0, node,
                            false, &g->mem, &own, &e),
           0, "what a task sees");
    is_text(value_as_text(value_at(own, "config.ipaddress"), ""), "10.0.0.1", "has it");
    is_text(value_as_text(value_at(own, "cluster.provider"), ""), "bare", "and the cluster");
    machine_tells(g, task, node);
    SCOPED_BUF(large);
    buf_puts(&large, "{\"x\":\"");
    for (int i = 0; i < (1 << 20); i++)
        buf_putc(&large, 'x');
    buf_puts(&large, "\"}");
    is_int(-cluster_returned(g->server, task, buf_str(&large), &e), ERR_LIMIT,
           "a megabyte is more than is kept");
}

static void test_undo(struct rig *g, size_t *from)
{
    is_text(operate(g, from, "expand", "{'by': 1}", "make"), "make unmake make put-web up-web",
            "a machine that may be there goes before another is made");
    is_text(operate(g, from, "rollback", "{'revision': 1}", NULL), "down-web unmake",
            "what came since goes");
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    uint32_t op = (uint32_t)rig_int(g, "operation");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(g, op)});
    ok(value_is(rig_at(g, "rollback"), VALUE_NULL),
       "who goes back has no way back to what it left");
}

/* The way back from a change is the last one that did not fail. */
static void test_way_back(struct rig *g, size_t *from)
{
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    int64_t good = rig_int(g, "revision");
    operate(g, from, "expand", "{'by': 1}", "put-web");
    operate(g, from, "restart", "{'services': ['db']}", "down-db");
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    uint32_t op = (uint32_t)rig_int(g, "operation");
    rig_do(g, server_operation_get, "Operation", (struct rig_ask){.id = rig_id(g, op)});
    is_text(rig_text(g, "rollback"),
            arena_printf(&g->mem, "anneal cluster rollback c %lld", (long long)good),
            "what failed before is no way back");
    operate(g, from, "rollback", arena_printf(&g->mem, "{'revision': %lld}", (long long)good),
            NULL);
}

static void is_state(struct rig *g, const char *state, const char *when)
{
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(value_as_text(rig_at(g, "state"), ""), state, "%s", when);
}

/* What operations gave up and could not get rid of goes with the node, and with the cluster. */
static void test_left(struct rig *g, size_t *from)
{
    is_text(operate(g, from, "add-service", "{'services': ['log']}", NULL), "put-log put-log",
            "a service more");
    is_text(operate(g, from, "remove-service", "{'services': ['log']}", "drop-log"),
            "drop-log drop-log", "which does not go, on one of two nodes");
    is_state(g, "inconsistent", "a service is left");
    is_text(operate(g, from, "expand", "{'by': 1}", NULL), "make put-web up-web", "a node more");
    is_text(operate(g, from, "shrink", "{'by': 1}", "unmake"), "down-web unmake",
            "which does not go either");
    is_state(g, "inconsistent", "a machine is left");
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "delete", .body = "{'dry_run': true}"});
    is_int(rig_at(g, "difference.given_up")->n, 3, "who deletes the cluster is told of it");
    is_text(operate(g, from, "delete", "{}", "unmake"), "unmake unmake unmake",
            "all of it goes with the cluster, but one machine");
    cluster_beat(g->server);
    rig_settle(g);
    is_state(g, "incomplete", "the cluster stays with it");
}

static void test_end(struct rig *g, size_t *from)
{
    g->if_match = "*";
    int rc = rig_call(g, server_cluster_patch,
                      (struct rig_ask){.id = "c", .body = "{'expires_in': '9h'}"});
    is_int(-rc, ERR_REFUSED, "a lease has an end");
    is_text(operate(g, from, "delete", "{}", NULL), "unmake", "deleted again: what is left goes");
    cluster_beat(g->server);
    rig_settle(g);
    is_int(-rig_call(g, server_cluster_get, (struct rig_ask){.id = "c"}), ERR_NOT_FOUND, "gone");
    is_int((int64_t)clusters_count(g->server), 0, "without a trace");
}

static void begin(struct rig *g)
{
    rig_open(g);
    worker_here(g);
    rig_catalog_of(g, CATALOG);
    worker_here(g); /* once more: there are jigs now that it has */
}

/* Who is dead goes first, as far as rules allow; who stays because of them is told with them. */
static void test_stays(void)
{
    static const char shrink[] = "{'by': 1, 'dry_run': true}";
    struct rig g;
    size_t from = 0;
    begin(&g);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 2}"});
    run(&g, &from, NULL);
    operate(&g, &from, "expand", "{'by': 1}", NULL);
    operate(&g, &from, "expand", "{'by': 1}", NULL);
    rig_do(&g, server_node_report, NULL,
           (struct rig_ask){.id = "c-1001.local", .body = "{'alive': 'dead'}"});
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "shrink", .body = shrink});
    is_text(rig_text(&g, "difference.given_up.0"), "c-1001.local", "who is dead goes first");
    is_int(rig_at(&g, "difference.stays")->n, 0, "and nobody stays in its place");
    rig_do(&g, server_node_report, NULL,
           (struct rig_ask){.id = "c-1001.local", .body = "{'alive': 'alive'}"});
    rig_do(&g, server_node_report, NULL,
           (struct rig_ask){.id = "c-1000.local", .body = "{'alive': 'dead'}"});
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "shrink", .body = shrink});
    is_text(rig_text(&g, "difference.given_up.0"), "c-1003.local",
            "where rules need the dead one another goes");
    is_text(rig_text(&g, "difference.stays.0.node"), "c-1000.local", "who stays is told");
    is_text(rig_text(&g, "difference.stays.0.is"), "dead", "with what it is");
    has_text(rig_text(&g, "difference.stays.0.why"), "db is", "and the rule that needs it");
    rig_close(&g);
}

/* What is left of a service that the catalog has lost is in the way, until it is given up. */
static void test_left_unknown(void)
{
    struct rig g;
    size_t from = 0;
    uint32_t left = 0;
    begin(&g);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 2}"});
    run(&g, &from, NULL);
    operate(&g, &from, "add-service", "{'services': ['log']}", NULL);
    operate(&g, &from, "remove-service", "{'services': ['log']}", "drop-log");
    for (uint32_t id = 1; id < g.server->inv.noderoles.n && !left; id++) {
        struct noderole_view v;
        if (anneal_noderole(g.server->engine, id, &v) && v.target == TARGET_ABSENT)
            left = id;
    }
    ok(left, "a noderole does not go");
    rig_catalog_of(&g, ROLES TEMPLATES);
    operate(&g, &from, "upgrade", "{}", NULL);
    refuses(&g, "delete", "{}", ERR_UNKNOWN_NAME, "role log");
    has_text(g.err.hint, "noderole abandon", "with the remedy");
    g.if_match = "*";
    rig_do(&g, server_noderole_abandon, NULL,
           (struct rig_ask){.id = arena_printf(&g.mem, "%u", left)});
    is_text(operate(&g, &from, "delete", "{}", NULL), "unmake unmake", "which helps");
    rig_close(&g);
}

int main(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    test_create(&g, &from);
    test_operations(&g, &from);
    test_refusals(&g);
    test_queue(&g, &from);
    test_payload(&g);
    test_undo(&g, &from);
    test_way_back(&g, &from);
    test_left(&g, &from);
    test_end(&g, &from);
    rig_close(&g);
    test_left_unknown();
    test_stays();
    return tap_done();
}
