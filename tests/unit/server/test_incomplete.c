/* test_incomplete.c - a cluster of which something was never made: what it says of itself, what
 * finishes it, what is refused, and that nothing of it depends on who ended last
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"
#include "server/server_rig.h"

#define PROVIDER(zone, task)                                                                       \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    config: {zone: " zone "}\n"                                                               \
    "    actions:\n"                                                                               \
    "      create: [{name: " task ", params: {}}]\n"                                               \
    "      confirm: [{name: ask, params: {}}]\n"                                                   \
    "      bootstrap: [{name: boot, params: {}}]\n"                                                \
    "      delete: [{name: unmake, params: {}}]\n"                                                 \
    "hardware: [{hardware: one, providers: {bare: {flavor: f1, cost: 1}}}]\n"                      \
    "images: [{image: plain, providers: {bare: {image: i1}}}]\n"
#define SERVICES                                                                                   \
    "roles:\n"                                                                                     \
    "  - name: web\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions:\n"                                                                               \
    "      install: [{name: put-web, params: {}}]\n"                                               \
    "      start: [{name: up-web, params: {}}]\n"                                                  \
    "      stop: [{name: down-web, params: {}}]\n"                                                 \
    "      dump: [{name: dump-web, params: {}}]\n"                                                 \
    "  - name: log\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions: {install: [{name: put-log, params: {}}], remove: [{name: drop-log, params: "     \
    "{}}]}\n"                                                                                      \
    "  - name: app\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions:\n"                                                                               \
    "      install: [{name: put-app, params: {}}]\n"                                               \
    "      configure: [{name: set-app, params: {}}]\n"                                             \
    "      start: [{name: up-app, params: {}}]\n"                                                  \
    "      stop: [{name: down-app, params: {}}]\n"                                                 \
    "templates:\n"                                                                                 \
    "  - template: shop\n"                                                                         \
    "    defaults: {services: [web], provider: bare, hardware: one, image: plain}\n"               \
    "    constraints: {size: {min: 1, max: 9}}\n"

static char machine_data[4096];

static void on_message(struct rig *g, const struct taskmsg *m)
{
    (void)g;
    if (m->kind == TASKMSG_TASK && strstr(m->data.s, "provider_config"))
        snprintf(machine_data, sizeof machine_data, "%.*s", (int)m->data.n, m->data.s);
}

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("noop"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 2});
}

static void begin(struct rig *g)
{
    rig_open(g);
    g->message = on_message;
    worker_here(g);
    rig_catalog_of(g, PROVIDER("a", "make") SERVICES);
    worker_here(g); /* once more: there are jigs now that it has */
}

/* Names of the tasks that are sent until nothing more is, in order; each of this name, on the node
 * of this number if there is one, fails. */
static const char *run(struct rig *g, size_t *from, const char *fails, const char *on)
{
    SCOPED_BUF(names);
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++) {
        uint32_t task = g->sent.at[*from].task;
        struct task_view t = {0};
        (void)anneal_task(g->server->engine, task, &t);
        const char *name = view_task_name(g->server, task);
        bool bad = fails && !strcmp(name, fails) &&
                   (!on || strstr(view_node_name(g->server, t.node), on));
        buf_printf(&names, "%s%s", names.len ? " " : "", name);
        rig_result(g, task, bad ? OUTCOME_FAILED : OUTCOME_OK, bad, "", 0);
        rig_settle(g);
    }
    return arena_strdup(&g->mem, names.len ? names.data : "");
}

static const char *create(struct rig *g, size_t *from, int nodes, const char *fails, const char *on)
{
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = arena_printf(
                                &g->mem, "{'name': 'c', 'template': 'shop', 'nodes': %d}", nodes)});
    return run(g, from, fails, on);
}

static const char *operate(struct rig *g, size_t *from, const char *verb, const char *body,
                           const char *fails)
{
    rig_do(g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = verb, .body = body});
    return run(g, from, fails, NULL);
}

static void is_state(struct rig *g, const char *state, const char *when)
{
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(rig_text(g, "state"), state, "%s", when);
}

static const char *rig_missing(struct rig *g)
{
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    return rig_at(g, "missing")->n == 1 ? rig_text(g, "missing.0") : "";
}

/* A machine that is never made; what each operation does about it. */
static void test_refused(void)
{
    static const struct {
        const char *verb, *body;
    } refused[] = {{"stop", "{}"},
                   {"act", "{'action': 'dump'}"},
                   {"remove-service", "{'services': ['log']}"},
                   {"shrink", "{'by': 1}"}};
    struct rig g;
    size_t from = 0;
    begin(&g);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 3, 'services': "
                                    "['web', 'log']}"});
    run(&g, &from, "make", NULL);
    is_state(&g, "incomplete", "no machine was made");
    is_int(rig_at(&g, "missing")->n, 9, "and nothing on it");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int rc = rig_call(
            &g, server_cluster_operate,
            (struct rig_ask){.id = "c", .id2 = refused[i].verb, .body = refused[i].body});
        is_int(-rc, ERR_CONFLICT, "%s is refused", refused[i].verb);
        has_text(g.err.text, "cluster c is incomplete: machine.bare@c-",
                 "what is missing is named");
        has_text(g.err.text, "were never made", "and what is wrong with it");
        has_text(g.err.hint, "`anneal operation retry 2` or `anneal cluster start c` finishes it",
                 "with what helps");
    }
    is_int((int64_t)anneal_operation_end(g.server->engine), 3, "and nothing was begun");
    is_state(&g, "incomplete", "it is still what it is");
    is_text(operate(&g, &from, "delete", "{}", NULL), "unmake unmake unmake",
            "what is missing can be given up");
    rig_close(&g);
}

/* Whoever leads to a cluster that serves makes what is missing. */
static void test_finished(void)
{
    static const struct {
        const char *verb, *body, *does;
        int64_t nodes;
    } cases[] = {
        {"upgrade", "{}", "unmake make ask boot put-web up-web", 1},
        {"start", "{}", "unmake make ask boot put-web up-web", 1},
        {"restart", "{}", "unmake make ask boot put-web up-web", 1},
        {"configure", "{'config': {'a': 1}}", "unmake make ask boot put-web up-web", 1},
        {"expand", "{'by': 1}", "unmake make make ask ask boot boot put-web up-web put-web up-web",
         2},
        {"add-service", "{'services': ['log']}", "unmake make ask boot put-web put-log up-web", 1},
        {"rollback", "{'revision': 1}", "unmake make ask boot put-web up-web", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig g;
        size_t from = 0;
        begin(&g);
        is_text(create(&g, &from, 1, "make", NULL), "make", "%s: a create that fails",
                cases[i].verb);
        rig_do(&g, server_cluster_operate, "ClusterResult",
               (struct rig_ask){.id = "c",
                                .id2 = cases[i].verb,
                                .body = arena_printf(&g.mem, "{'dry_run': true, %s",
                                                     cases[i].body[1] == '}' ? "'class': 'normal'}"
                                                                             : cases[i].body + 1)});
        is_text(rig_text(&g, "difference.finished.0.node"), "c-1000.local",
                "a dry run tells what it would finish");
        is_text(rig_text(&g, "difference.finished.0.services.0"), "machine.bare", "what of it");
        is_text(operate(&g, &from, cases[i].verb, cases[i].body, NULL), cases[i].does,
                "%s finishes it", cases[i].verb);
        is_state(&g, "active", "then all of it is there");
        is_int(rig_at(&g, "missing")->n, 0, "nothing is missing");
        is_int(rig_int(&g, "size"), cases[i].nodes, "on its nodes");
        is_text(operate(&g, &from, "stop", "{}", NULL),
                cases[i].nodes > 1 ? "down-web down-web" : "down-web",
                "and it is operated on as any other");
        rig_close(&g);
    }
}

/* An operation that finishes and fails again leaves it incomplete; its own retry undoes, too. */
static void test_again(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 1, "make", NULL);
    is_text(operate(&g, &from, "upgrade", "{}", "make"), "unmake make", "it fails once more");
    is_state(&g, "incomplete", "and is still incomplete");
    rig_do(&g, server_operation_retry, "Operation", (struct rig_ask){.id = "3"});
    is_text(run(&g, &from, NULL, NULL), "unmake make ask boot put-web up-web", "retried");
    is_state(&g, "active", "it is there");
    rig_close(&g);
}

/* What is made stays: only what is not there is made. */
static void test_parts(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 3, "up-web", "c-1001");
    is_state(&g, "incomplete", "one service of three never served");
    is_int(rig_at(&g, "missing")->n, 1, "it alone is missing");
    is_text(rig_text(&g, "missing.0"), "web@c-1001.local", "by name");
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "up-web", "and it alone is done");
    is_state(&g, "active", "all of it serves");
    rig_close(&g);
    begin(&g);
    from = 0;
    create(&g, &from, 2, "boot", "c-1001");
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "boot put-web up-web",
            "a machine that answered is not made again for its bootstrap");
    is_state(&g, "active", "it serves");
    rig_close(&g);
}

/* What is missing gets what was never done of it, and what was asked for: with the data of now. */
static void test_asked(void)
{
    static const struct {
        const char *verb, *body, *does, *why;
    } cases[] = {
        {"configure", "{'config': {'a': 9}}", "boot boot set-app up-app set-app",
         "a configuration that is asked for reaches what is missing, too"},
        {"configure", "{}", "boot boot set-app up-app set-app", "so it does if it is the same"},
        {"configure", "{'config': {'a': 9}, 'services': ['log']}", "set-app up-app",
         "asked of others, what is missing is configured by it nevertheless"},
        {"start", "{}", "up-app up-app", "nothing else is asked for: what was done is kept"},
        {"expand", "{'by': 1}", "make set-app up-app ask boot put-app set-app put-log up-app",
         "a node more is other data"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig g;
        size_t from = 0;
        begin(&g);
        rig_do(&g, server_cluster_create, "ClusterResult",
               (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 2, "
                                        "'services': ['app', 'log'], 'config': {'a': 1}}"});
        run(&g, &from, "up-app", "c-1001");
        is_text(rig_missing(&g), "app@c-1001.local", "one never started");
        is_text(operate(&g, &from, cases[i].verb, cases[i].body, NULL), cases[i].does, "%s %s: %s",
                cases[i].verb, cases[i].body, cases[i].why);
        is_state(&g, "active", "then all of it is there");
        rig_close(&g);
    }
}

/* What was asked for and failed is asked for still: whoever comes next does it. */
static void test_asked_again(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 1, 'services': "
                                    "['app'], 'config': {'a': 1}}"});
    run(&g, &from, "up-app", NULL);
    is_text(operate(&g, &from, "configure", "{'config': {'a': 2}}", "set-app"),
            "boot set-app up-app", "a configuration that fails; the start was sent ahead of it");
    is_text(operate(&g, &from, "start", "{}", "up-app"), "set-app up-app", "is made up for");
    is_text(operate(&g, &from, "start", "{}", NULL), "up-app", "once");
    is_text(operate(&g, &from, "rollback", "{'revision': 1}", NULL), "boot down-app set-app up-app",
            "and back it is configured again");
    rig_close(&g);
}

/* What goes need not be finished. */
static void test_given_up(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 3, "make", "c-1001");
    is_state(&g, "incomplete", "a node of three was never made");
    is_int(-rig_call(&g, server_cluster_operate,
                     (struct rig_ask){.id = "c", .id2 = "stop", .body = "{}"}),
           ERR_CONFLICT, "it stands in the way");
    is_text(operate(&g, &from, "shrink", "{'by': 1}", NULL), "unmake", "it is given up first");
    is_state(&g, "active", "without it the cluster is whole");
    rig_close(&g);
}

/* The definition and the data are those of now: what was wrong with them may be mended. */
static void test_corrected(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 1, "make", NULL);
    has_text(machine_data, "\"zone\":\"a\"", "a machine in a zone that has no room");
    rig_catalog_of(&g, PROVIDER("b", "build") SERVICES);
    worker_here(&g);
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "unmake build ask boot put-web up-web",
            "by the tasks of the catalog of now");
    has_text(machine_data, "\"zone\":\"b\"", "with its data");
    is_state(&g, "active", "it is there");
    uint32_t op = (uint32_t)rig_int(&g, "operation");
    rig_catalog_of(&g, PROVIDER("c", "construct") SERVICES);
    worker_here(&g);
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "", "what was made is not made again");
    ok((uint32_t)rig_int(&g, "operation.id") == op + 1, "by no operation");
    rig_close(&g);
}

/* --- whoever ended last --- */

static void test_derived(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 2, "make", "c-1001");
    /* As a store of before has it: an operation without tasks ended well, later. */
    struct cluster now = *cluster_get(g.server, inventory_deployment_find(&g.server->inv, "c"));
    now.operation = OPERATION_STANDING + 4711;
    now.verb = CLUSTER_UPGRADE;
    cluster_put(g.server, &now);
    rig_settle(&g);
    is_state(&g, "incomplete", "who ended last, and whether it is known, does not matter");
    rig_restart(&g);
    worker_here(&g);
    from = g.sent.n;
    is_state(&g, "incomplete", "nor does a restart");
    rig_do(&g, server_cluster_list, NULL, (struct rig_ask){.query = "{'state': 'incomplete'}"});
    is_int(rig_at(&g, "items")->n, 1, "it is found by it");
    rig_do(&g, server_operation_retry, "Operation", (struct rig_ask){.id = "2"});
    is_text(run(&g, &from, NULL, NULL), "unmake make ask boot put-web up-web",
            "the create is retried");
    is_state(&g, "active", "and all of it is there");
    rig_do(&g, server_node_report, NULL,
           (struct rig_ask){.id = "c-1000.local", .body = "{'alive': 'dead'}"});
    rig_settle(&g);
    is_state(&g, "inconsistent", "a node dies, and nobody operates on it");
    rig_do(&g, server_node_report, NULL,
           (struct rig_ask){.id = "c-1000.local", .body = "{'alive': 'alive'}"});
    run(&g, &from, NULL, NULL);
    is_state(&g, "active", "it returns");
    rig_close(&g);
}

static void test_cancelled(void)
{
    struct rig g;
    size_t from = 0;
    begin(&g);
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 1}"});
    is_state(&g, "pending", "an operation is under way");
    rig_settle(&g);
    rig_do(&g, server_operation_cancel, "Operation", (struct rig_ask){.id = "2"});
    run(&g, &from, NULL, NULL);
    is_state(&g, "incomplete", "cancelled, something is missing");
    is_int(-rig_call(&g, server_cluster_operate,
                     (struct rig_ask){.id = "c", .id2 = "stop", .body = "{}"}),
           ERR_CONFLICT, "it is not operated on");
    has_text(g.err.hint, "`anneal operation resume 2`", "but resumed");
    rig_do(&g, server_operation_resume, "Operation", (struct rig_ask){.id = "2"});
    run(&g, &from, NULL, NULL);
    is_state(&g, "active", "which finishes it");
    rig_close(&g);
    begin(&g);
    from = 0;
    rig_do(&g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 1}"});
    rig_settle(&g);
    rig_do(&g, server_operation_cancel, "Operation", (struct rig_ask){.id = "2"});
    is_text(run(&g, &from, NULL, NULL), "make", "cancelled behind its first task");
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "unmake make ask boot put-web up-web",
            "another operation does not wait for the one that is held");
    is_state(&g, "active", "and finishes it, too");
    rig_close(&g);
}

/* Of one that would not go nothing is to be had but its end. */
static void test_not_gone(void)
{
    static const char *const verbs[] = {"start", "upgrade", "expand", "rollback"};
    struct rig g;
    size_t from = 0;
    begin(&g);
    create(&g, &from, 1, NULL, NULL);
    is_text(operate(&g, &from, "delete", "{}", "unmake"), "unmake", "a machine would not go");
    cluster_beat(g.server);
    rig_settle(&g);
    is_state(&g, "incomplete", "it is half gone");
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        int rc = rig_call(
            &g, server_cluster_operate,
            (struct rig_ask){.id = "c", .id2 = verbs[i], .body = "{'by': 1, 'revision': 1}"});
        is_int(-rc, ERR_CONFLICT, "%s is refused", verbs[i]);
        has_text(g.err.text, "c-1000.local, which would not go", "what is left is named");
        has_text(g.err.hint, "`anneal cluster delete c` goes on", "with what helps");
    }
    uint32_t left = rig_noderole(&g, "machine.bare", "c-1000.local");
    rig_do(&g, server_noderole_retry, "Noderole", (struct rig_ask){.id = rig_id(&g, left)});
    is_text(run(&g, &from, NULL, NULL), "unmake", "by whichever operation it goes");
    cluster_beat(g.server);
    rig_settle(&g);
    is_int(-rig_call(&g, server_cluster_get, (struct rig_ask){.id = "c"}), ERR_NOT_FOUND,
           "then the cluster is gone");
    rig_close(&g);
}

int main(void)
{
    test_refused();
    test_finished();
    test_again();
    test_parts();
    test_asked();
    test_asked_again();
    test_given_up();
    test_corrected();
    test_derived();
    test_cancelled();
    test_not_gone();
    return tap_done();
}
