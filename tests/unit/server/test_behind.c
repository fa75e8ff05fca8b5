/* test_behind.c - what operations left half-way on a cluster: who takes it up, who leaves it alone,
 * and that whoever leaves it says so
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"
#include "server/server_rig.h"

#define CATALOG(version)                                                                           \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: cloud, implementation: test, reach: outside}]\n"                                \
    "providers:\n"                                                                                 \
    "  - provider: bare\n"                                                                         \
    "    jig: cloud\n"                                                                             \
    "    actions: {create: [{name: make, params: {}}], delete: [{name: unmake, params: {}}]}\n"    \
    "hardware: [{hardware: one, providers: {bare: {flavor: f1, cost: 1}}}]\n"                      \
    "images: [{image: plain, providers: {bare: {image: i1}}}]\n"                                   \
    "roles:\n"                                                                                     \
    "  - name: app\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    version: '" version "'\n"                                                                 \
    "    strategy: {type: rolling, max: 1}\n"                                                      \
    "    actions:\n"                                                                               \
    "      install: [{name: put-app, params: {}}]\n"                                               \
    "      configure: [{name: set-app, params: {}}]\n"                                             \
    "      start: [{name: up-app, params: {}}]\n"                                                  \
    "      stop: [{name: down-app, params: {}}]\n"                                                 \
    "      upgrade: [{name: renew-app, params: {}}]\n"                                             \
    "      dump: [{name: dump-app, params: {}}]\n"                                                 \
    "  - name: log\n"                                                                              \
    "    jig: test\n"                                                                              \
    "    actions: {start: [{name: up-log, repeat: once, params: {}}], stop: [{name: down-log, "    \
    "params: {}}]}\n"                                                                              \
    "templates:\n"                                                                                 \
    "  - template: shop\n"                                                                         \
    "    defaults: {services: [app, log], provider: bare, hardware: one, image: plain}\n"          \
    "    constraints: {size: {min: 1, max: 9}}\n"

static void worker_here(struct rig *g)
{
    struct str jigs[] = {str_of("noop"), str_of("test")};
    rig_send(g, &(struct taskmsg){.kind = TASKMSG_HELLO,
                                  .worker = str_of("w1"),
                                  .capacity = 8,
                                  .jigs = jigs,
                                  .n_jigs = 2});
}

static void catalog(struct rig *g, const char *text)
{
    rig_catalog_of(g, text);
    worker_here(g);
}

/* Names of tasks that are run until nothing more is, in order; each of this name fails.  What was
 * sent ahead and is not to begin after all is not answered. */
static const char *run(struct rig *g, size_t *from, const char *fails)
{
    SCOPED_BUF(names);
    rig_settle(g);
    for (; *from < g->sent.n; (*from)++) {
        uint32_t task = g->sent.at[*from].task;
        struct task_view t = {0};
        (void)anneal_task(g->server->engine, task, &t);
        const char *name = view_task_name(g->server, task);
        bool bad = fails && !strcmp(name, fails);
        if (t.state != TASK_RUNNING)
            continue;
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

static void is_state(struct rig *g, const char *state, const char *when)
{
    rig_do(g, server_cluster_get, "Cluster", (struct rig_ask){.id = "c"});
    is_text(rig_text(g, "state"), state, "%s", when);
}

static void begin(struct rig *g, size_t *from)
{
    rig_open(g);
    worker_here(g);
    catalog(g, CATALOG("1"));
    *from = 0;
    rig_do(g, server_cluster_create, "ClusterResult",
           (struct rig_ask){.body = "{'name': 'c', 'template': 'shop', 'nodes': 3}"});
    run(g, from, NULL);
    is_state(g, "active", "three nodes");
}

/* Each that is left, "name state reason remedy", of the last answer or of a cluster looked at. */
static const char *left(struct rig *g)
{
    SCOPED_BUF(b);
    const struct value *list = rig_at(g, "left");
    for (uint32_t i = 0; i < list->n; i++)
        buf_printf(&b, "%s%s %s %s %s", b.len ? "; " : "",
                   value_as_text(value_get(&list->items[i], "name"), "?"),
                   value_as_text(value_get(&list->items[i], "state"), "?"),
                   value_as_text(value_get(&list->items[i], "reason"), "?"),
                   value_as_text(value_get(&list->items[i], "remedy"), "?"));
    return arena_strdup(&g->mem, b.len ? b.data : "");
}

#define LEFT                                                                                       \
    "app@c-1000.local ERROR exit anneal operation retry 3; "                                       \
    "app@c-1001.local STALE rollout anneal operation resume 3; "                                   \
    "app@c-1002.local STALE rollout anneal operation resume 3"

static void roll(struct rig *g, size_t *from, const char *fails)
{
    operate(g, from, "configure", "{'config': {'a': 2}, 'restart': true, 'in_turn': true}", fails);
    is_state(g, "inconsistent", "a roll-out that stopped");
}

/* Whoever is about something else says what it leaves; a cluster names it whoever came last. */
static void test_told(void)
{
    struct rig g;
    size_t from;
    begin(&g, &from);
    roll(&g, &from, "up-app");
    is_text(left(&g), LEFT, "a cluster names what is left, with what helps");
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){
               .id = "c", .id2 = "restart", .body = "{'services': ['log'], 'dry_run': true}"});
    is_text(left(&g), LEFT, "a dry run says what it would leave alone");
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "restart", .body = "{'services': ['log']}"});
    is_text(left(&g), LEFT, "an operation says what it leaves alone");
    run(&g, &from, NULL);
    is_state(&g, "inconsistent", "which changes nothing of it");
    is_text(left(&g), LEFT, "whatever came later");
    rig_do(&g, server_operation_retry, "Operation", (struct rig_ask){.id = "3"});
    is_text(run(&g, &from, NULL), "down-app set-app up-app down-app set-app up-app up-app",
            "what it names helps");
    is_state(&g, "active", "then all is well");
    is_text(left(&g), "", "and nothing is left");
    rig_close(&g);
}

/* An upgrade and a rollback bring all of the cluster to what is wanted. */
static void test_taken_up(void)
{
    static const struct {
        const char *fails, *does;
    } cases[] = {
        {"up-app", "down-app set-app up-app down-app set-app up-app up-app"},
        {"set-app", "down-app set-app up-app down-app set-app up-app set-app up-app"},
        {"down-app", "down-app set-app up-app down-app set-app up-app down-app set-app up-app"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rig g;
        size_t from;
        begin(&g, &from);
        roll(&g, &from, cases[i].fails);
        rig_do(&g, server_cluster_operate, "ClusterResult",
               (struct rig_ask){.id = "c", .id2 = "upgrade", .body = "{'dry_run': true}"});
        is_int(rig_at(&g, "difference.taken_up")->n, 3, "a dry run says who is taken up");
        is_text(rig_text(&g, "difference.taken_up.0.services.0"), "app", "by name");
        is_text(left(&g), "", "and leaves nobody");
        is_text(operate(&g, &from, "upgrade", "{}", NULL), cases[i].does,
                "%s failed: an upgrade takes up what a roll-out left", cases[i].fails);
        is_state(&g, "active", "then all is well");
        is_text(left(&g), "", "nothing is left");
        is_text(operate(&g, &from, "upgrade", "{}", NULL), "", "and there is nothing more to do");
        rig_close(&g);
    }
}

/* The upgrade itself stopped: the next one goes on, though the catalog is the same. */
static void test_upgrade_again(void)
{
    struct rig g;
    size_t from;
    begin(&g, &from);
    catalog(&g, CATALOG("2"));
    is_text(operate(&g, &from, "upgrade", "{}", "renew-app"), "renew-app", "an upgrade that fails");
    is_state(&g, "inconsistent", "and stops");
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "renew-app renew-app renew-app",
            "the next one upgrades all");
    is_state(&g, "active", "then all is well");
    rig_close(&g);
}

/* What is as it is wanted but for an action of its own is left alone, and said. */
static void test_left_alone(void)
{
    struct rig g;
    size_t from;
    begin(&g, &from);
    operate(&g, &from, "act", "{'action': 'dump'}", "dump-app");
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "upgrade", .body = "{}"});
    has_text(left(&g), "app@c-1000.local ERROR exit anneal noderole retry",
             "an upgrade has nothing to do with a backup that failed, and says so");
    is_int(rig_int(&g, "plan.tasks"), 0, "it does nothing");
    is_text(run(&g, &from, NULL), "", "at all");
    rig_close(&g);
}

/* Nobody knows how it ended: that is a person's business, whoever else operates on the cluster. */
static void test_word(void)
{
    struct rig g;
    size_t from;
    begin(&g, &from);
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "restart", .body = "{'services': ['log']}"});
    rig_settle(&g);
    for (bool lost = false; from < g.sent.n; from++) {
        uint32_t task = g.sent.at[from].task;
        bool up = !strcmp(view_task_name(g.server, task), "up-log");
        rig_result(&g, task, up && !lost ? OUTCOME_LOST : OUTCOME_OK, 0, "the worker died", 0);
        lost |= up;
        rig_settle(&g);
    }
    is_state(&g, "inconsistent", "a start of which nobody knows the end");
    is_text(operate(&g, &from, "upgrade", "{}", NULL), "", "an upgrade leaves it alone");
    rig_do(&g, server_cluster_operate, "ClusterResult",
           (struct rig_ask){.id = "c", .id2 = "upgrade", .body = "{'dry_run': true}"});
    has_text(left(&g), "ERROR uncertain anneal task resolve", "and says what helps");
    is_int(rig_at(&g, "left")->n, 1, "that one");
    rig_close(&g);
}

int main(void)
{
    test_told();
    test_taken_up();
    test_upgrade_again();
    test_left_alone();
    test_word();
    return tap_done();
}
