/* test_node.c - nodes come, announce themselves, are kept hands off, and go (RFC 06, section 9) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

#define NODE_CATALOG                                                                               \
    "barclamp: t\n"                                                                                \
    "jigs:\n"                                                                                      \
    "  - {name: local, implementation: test, active: true, reach: node}\n"                         \
    "  - {name: off, implementation: test, active: false, reach: node}\n"                          \
    "roles:\n"                                                                                     \
    "  - {name: inventory, jig: local, flags: [discovery, implicit], requires: [access],\n"        \
    "     actions: {converge: [{name: look, params: {}}]}}\n"                                      \
    "  - {name: access, jig: local, flags: [implicit],\n"                                          \
    "     actions: {converge: [{name: key, params: {}}]}}\n"                                       \
    "  - {name: asleep, jig: off, flags: [discovery],\n"                                           \
    "     actions: {converge: [{name: never, params: {}}]}}\n"                                     \
    "  - {name: server, jig: local, flags: [bootstrap],\n"                                         \
    "     actions: {converge: [{name: serve, params: {}}]}}\n"                                     \
    "  - {name: app, jig: local, requires: [access],\n"                                            \
    "     actions: {converge: [{name: run-app, params: {}}],\n"                                    \
    "               stop: [{name: stop-app, params: {}}],\n"                                       \
    "               remove: [{name: remove-app, params: {}}]}}\n"                                  \
    "  - {name: store, jig: local, flags: [cluster],\n"                                            \
    "     actions: {converge: [{name: keep, params: {}}]}}\n"                                      \
    "  - {name: reader, jig: local, requires: [store],\n"                                          \
    "     actions: {converge: [{name: read, params: {}}]}}\n"

static void create(struct rig *g, const char *body)
{
    rig_do(g, server_node_create, "Node", (struct rig_ask){.body = body});
    rig_settle(g);
}

/* Roles on a node with their states, as "role STATE, ...", in the order of ids. */
static const char *roles_on(struct rig *g, const char *node)
{
    const char *query = arena_printf(&g->mem, "{'node': '%s'}", node);
    SCOPED_BUF(b);
    if (rig_call(g, server_noderole_list, (struct rig_ask){.query = query}) < 0)
        return "no such node";
    const struct value *items = rig_at(g, "items");
    for (uint32_t i = 0; i < items->n; i++)
        buf_printf(&b, "%s%s %s", i ? ", " : "",
                   value_as_text(value_get(&items->items[i], "role"), "?"),
                   value_as_text(value_get(&items->items[i], "state"), "?"));
    return arena_strdup(&g->mem, buf_str(&b).s);
}

static int64_t entries_of(struct rig *g, const char *deployment)
{
    const struct snapshot *head = desire_head(
        g->server->desire, inventory_deployment_find(&g->server->inv, deployment));
    return head ? (int64_t)pmap_count(head->root) : 0;
}

static uint32_t snapshots_of(struct rig *g, const char *deployment)
{
    (void)rig_call(g, server_deployment_snapshots, (struct rig_ask){.id = deployment});
    return (uint32_t)rig_int(g, "total");
}

/* ---- names ---- */

static void names(void)
{
    struct rig g;
    static const char *const wrong[] = {"Node",    "a_b",      "n-{n}-{n}", "n-{n",   "n-{rack:2}",
                                        "n-{n:0}", "n-{n:10}", "n-{}",      "n-{a b}"};
    struct err e;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        is_int(node_name_pattern_check(wrong[i], &e), -ERR_INVALID, "%s is no pattern", wrong[i]);
        has_text(e.hint, "{n} is a number", "which is explained");
    }
    is_int(node_name_pattern_check("", &e), 0, "an empty pattern is none");
    is_int(node_name_pattern_check("r{rack}.n{n:9}-x", &e), 0, "a pattern with all there is");

    rig_open(&g);
    rig_refuse(&g, server_node_create, ERR_INVALID, "or set node_pattern",
               (struct rig_ask){.body = "{}"});
    g.opts.node_pattern = "r{rack}-{n:3}";
    g.opts.admin_domain = "cluster.example";
    create(&g, "{'labels': {'rack': 'B 7'}}");
    is_text(rig_text(&g, "name"), "rb-7-001.cluster.example", "made from labels and a number");
    create(&g, "{'labels': {'rack': 'b-7'}}");
    is_text(rig_text(&g, "name"), "rb-7-002.cluster.example", "the next one");
    create(&g, "{'name': 'rb-7-003.cluster.example'}");
    create(&g, "{'facts': {'rack': 'b-7'}}");
    is_text(rig_text(&g, "name"), "rb-7-004.cluster.example", "a taken one is passed over");
    create(&g, "{'facts': {'rack': 12}}");
    is_text(rig_text(&g, "name"), "r12-001.cluster.example", "other words, other numbers");
    rig_refuse(&g, server_node_create, ERR_REFUSED, "--label rack=VALUE",
               (struct rig_ask){.body = "{'labels': {'row': '1'}}"});
    rig_refuse(&g, server_node_create, ERR_INVALID, "name it n1.elsewhere.cluster.example",
               (struct rig_ask){.body = "{'name': 'n1.elsewhere'}"});
    rig_restart(&g);
    create(&g, "{'labels': {'rack': 'b-7'}}");
    is_text(rig_text(&g, "name"), "rb-7-005.cluster.example", "a restart finds where it was");
    g.opts.node_pattern = "m-{serial}";
    create(&g, "{'facts': {'serial': 'XY/9'}}");
    is_text(rig_text(&g, "name"), "m-xy-9.cluster.example", "a pattern without a number");
    rig_refuse(&g, server_node_create, ERR_EXISTS, "m-xy-9.cluster.example already",
               (struct rig_ask){.body = "{'facts': {'serial': 'xy.9'}}"});
    g.opts.node_pattern = "m-{serial}";
    rig_refuse(&g, server_node_create, ERR_INVALID, "DNS name",
               (struct rig_ask){.body = "{'facts': {'serial': '/'}}"});
    rig_close(&g);

    char *dir = workdir_new("pattern");
    struct opts opts;
    struct server *s = NULL;
    struct loop *loop = loop_new();
    opts_init(&opts);
    opts.data_dir = dir;
    opts.node_pattern = "n-{";
    struct server_options o = {.loop = loop, .opts = &opts};
    is_int(server_new(&o, &s, &e), -ERR_INVALID, "a server does not start with a wrong pattern");
    has_text(e.text, "node_pattern", "and says so");
    opts_done(&opts);
    loop_free(loop);
    is_int(fs_remove_tree(dir, &e), 0, "the directory is removed");
    free(dir);
}

/* ---- what every new node has ---- */

static void defaults(void)
{
    struct rig g;
    rig_open(&g);
    create(&g, "{'name': 'early.t'}");
    is_text(roles_on(&g, "early.t"), "machine ACTIVE", "before any catalog: the machine");
    rig_catalog_of(&g, NODE_CATALOG);
    is_text(roles_on(&g, "early.t"), "machine ACTIVE", "a catalog binds nothing by itself");
    uint32_t history = snapshots_of(&g, "system");
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, access TODO, inventory BLOCKED",
            "discovery roles whose jig is active, and what they need");
    create(&g, "{'name': 'boss.t', 'admin': true}");
    is_text(roles_on(&g, "boss.t"), "machine ACTIVE, server TODO", "bootstrap roles: admin nodes");
    is_int(snapshots_of(&g, "system"), history, "an amendment makes no history");
    is_int(entries_of(&g, "system"), 6, "and everything is wanted now");

    uint32_t machine = rig_noderole(&g, "machine", "n1.t"), n;
    const uint32_t *parents = anneal_parents(g.server->engine, rig_noderole(&g, "access", "n1.t"),
                                             &n);
    ok(n == 1 && parents[0] == machine, "what is on the node needs the machine");
    rig_bind(&g, "app", "early.t");
    parents = anneal_parents(g.server->engine, rig_noderole(&g, "app", "early.t"), &n);
    is_int(n, 2, "so does what is bound later");

    /* an operation only if there is something to wait for */
    rig_do(&g, server_operation_get, "Operation", (struct rig_ask){.id = "2"});
    is_text(rig_text(&g, "title"), "discover n1.t", "discovery is an operation");
    is_int(anneal_operation_end(g.server->engine), 5, "a bare node is none");

    rig_worker(&g, 4);
    rig_result(&g, rig_task_of(&g, "access", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "inventory", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, access ACTIVE, inventory ACTIVE", "it runs");
    rig_restart(&g);
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, access ACTIVE, inventory ACTIVE",
            "and is the same after a restart");

    /* whole or refused */
    struct inventory *inv = &g.server->inv;
    size_t nodes = inv->nodes.n;
    rig_catalog_of(&g, "barclamp: t\nroles:\n  - {name: a, flags: [discovery]}\n"
                       "  - {name: b, flags: [discovery], conflicts: [a]}\n");
    rig_refuse(&g, server_node_create, ERR_REFUSED,
               "node n2.t: ", (struct rig_ask){.body = "{'name': 'n2.t'}"});
    is_int(inv->nodes.n, nodes, "a refusal leaves no node behind");
    g.opts.max_tasks = anneal_task_end(g.server->engine);
    rig_catalog_of(&g, NODE_CATALOG);
    rig_refuse(&g, server_node_create, ERR_LIMIT, "max_tasks",
               (struct rig_ask){.body = "{'name': 'n2.t'}"});
    is_int(inv->nodes.n, nodes, "nor does a limit");
    g.opts.node_defaults = false;
    create(&g, "{'name': 'bare.t'}");
    is_text(roles_on(&g, "bare.t"), "", "node_defaults off: nothing is bound");
    rig_close(&g);
}

/* ---- going ---- */

static void run_app(struct rig *g, const char *node)
{
    rig_bind(g, "app", node);
    rig_result(g, rig_task_of(g, "access", node, 0), OUTCOME_OK, 0, "", 0);
    rig_result(g, rig_task_of(g, "app", node, 0), OUTCOME_OK, 0, "", 0);
}

static void leaving(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, NODE_CATALOG);
    rig_do(&g, server_jig_patch, "Jig",
           (struct rig_ask){.id = "local", .body = "{'active': false}"});
    create(&g, "{'name': 'n0.t', 'alive': 'alive'}");
    rig_do(&g, server_jig_patch, "Jig",
           (struct rig_ask){.id = "local", .body = "{'active': true}"});
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    int64_t wanted = entries_of(&g, "system");
    rig_do(&g, server_node_delete, NULL, (struct rig_ask){.id = "n1.t"});
    ok(!g.reply.body && !g.reply.accepted, "what never ran goes along at once");
    is_text(roles_on(&g, "n1.t"), "no such node", "the node is gone");
    is_int(entries_of(&g, "system"), wanted - 3, "and nothing of it is wanted any more");
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");

    rig_worker(&g, 8);
    run_app(&g, "n0.t");
    rig_refuse(&g, server_node_delete, ERR_CONFLICT, "node n0.t still has access, app",
               (struct rig_ask){.id = "n0.t"});
    has_text(g.err.hint, "--cascade", "the remedy is told");
    rig_do(&g, server_node_delete, "Operation",
           (struct rig_ask){.id = "n0.t", .query = "{'cascade': 'true'}"});
    ok(g.reply.accepted, "with cascade it is taken down first");
    rig_settle(&g);
    rig_do(&g, server_node_get, "Node", (struct rig_ask){.id = "n0.t"});
    ok(value_as_bool(rig_at(&g, "leaving"), false), "meanwhile it is leaving");
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED, "is being removed",
               (struct rig_ask){.id = "system",
                                .body = "{'bindings': [{'role': 'app', 'nodes': 'n0.t'}]}"});
    is_text(roles_on(&g, "n0.t"), "machine REMOVING, access REMOVING, app REMOVING",
            "children before parents");
    rig_restart(&g);
    rig_worker(&g, 8);
    rig_result(&g, rig_task_of(&g, "app", "n0.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "app", "n0.t", 1), OUTCOME_OK, 0, "", 0);
    is_text(roles_on(&g, "n0.t"), "no such node", "with the last of it the node goes");
    rig_restart(&g);
    is_text(roles_on(&g, "n0.t"), "no such node", "for good");
    rig_close(&g);
}

static void leaving_dead(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, NODE_CATALOG);
    rig_worker(&g, 8);
    g.opts.node_defaults = true;
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    rig_result(&g, rig_task_of(&g, "access", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "inventory", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_bind(&g, "app", "n1.t");
    rig_result(&g, rig_task_of(&g, "app", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_do(&g, server_node_delete, "Operation",
           (struct rig_ask){.id = "n1.t", .query = "{'cascade': 'true'}"});
    rig_settle(&g);
    rig_result(&g, rig_task_of(&g, "app", "n1.t", 0), OUTCOME_FAILED, 1, "cannot", 0);
    is_text(roles_on(&g, "n1.t"), "machine REMOVING, access REMOVING, app ERROR",
            "a removal that fails stops it; what nothing must be run for is gone");
    rig_do(&g, server_node_report, "Node",
           (struct rig_ask){.id = "n1.t", .body = "{'alive': 'dead'}"});
    rig_do(&g, server_node_delete, NULL,
           (struct rig_ask){.id = "n1.t", .query = "{'cascade': 'true'}"});
    ok(!g.reply.accepted, "on a dead node nobody is asked to take anything down");
    is_text(roles_on(&g, "n1.t"), "no such node", "it goes");
    is_int(entries_of(&g, "system"), 0, "with all that was wanted of it");
    rig_close(&g);
}

static void leaving_peers(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, NODE_CATALOG);
    rig_worker(&g, 8);
    static const char *const nodes[] = {"a.t", "b.t", "c.t"};
    for (int i = 0; i < 3; i++)
        create(&g,
               arena_printf(&g.mem, "{'name': '%s', 'alive': 'alive', 'admin': true}", nodes[i]));
    for (int i = 0; i < 3; i++)
        rig_result(&g, rig_task_of(&g, "server", nodes[i], 0), OUTCOME_OK, 0, "", 0);
    rig_bind(&g, "store", "a.t,b.t");
    rig_bind(&g, "reader", "c.t");
    rig_result(&g, rig_task_of(&g, "store", "a.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "store", "b.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "reader", "c.t", 0), OUTCOME_OK, 0, "", 0);
    rig_do(&g, server_node_delete, NULL,
           (struct rig_ask){.id = "a.t", .query = "{'cascade': 'true'}"});
    rig_settle(&g);
    is_text(roles_on(&g, "a.t"), "machine REMOVING, store REMOVING", "a peer is used until then");
    rig_result(&g, rig_task_of(&g, "reader", "c.t", 0), OUTCOME_OK, 0, "", 0);
    rig_settle(&g);
    is_text(roles_on(&g, "a.t"), "no such node", "a peer that nothing must be run for goes");
    uint32_t n;
    (void)anneal_parents(g.server->engine, rig_noderole(&g, "reader", "c.t"), &n);
    is_int(n, 2, "who needed it has one parent less");
    rig_restart(&g);
    (void)anneal_parents(g.server->engine, rig_noderole(&g, "reader", "c.t"), &n);
    is_int(n, 2, "after a restart too");
    rig_refuse(&g, server_node_delete, ERR_CONFLICT, "reader@c.t need what is on node b.t",
               (struct rig_ask){.id = "b.t", .query = "{'cascade': 'true'}"});
    has_text(roles_on(&g, "b.t"), "store", "a refusal changes nothing");

    /* an attempt that nobody waits for any more holds its node until it has ended */
    create(&g, "{'name': 'd.t', 'alive': 'alive', 'admin': true}");
    rig_worker(&g, 8);
    uint32_t task = rig_task_of(&g, "server", "d.t", 0);
    rig_do(&g, server_node_delete, "Operation",
           (struct rig_ask){.id = "d.t", .query = "{'cascade': 'true'}"});
    is_text(roles_on(&g, "d.t"), "", "nothing is wanted of it");
    rig_result(&g, task, OUTCOME_OK, 0, "", 0);
    is_text(roles_on(&g, "d.t"), "no such node", "and it goes with the last attempt");
    rig_close(&g);
}

/* ---- maintenance, boot environment ---- */

static void maintenance(void)
{
    struct rig g;
    rig_open(&g);
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n1.t",
                            .body = "{'maintenance': {'note': 'new disk'}, "
                                    "'boot_environment': 'rescue'}"});
    is_text(rig_text(&g, "maintenance.note"), "new disk", "why it is in maintenance");
    is_text(rig_text(&g, "maintenance.by"), "admin", "and who said so");
    ok(rig_text(&g, "maintenance.since") != NULL, "and since when");
    is_text(rig_text(&g, "boot_environment"), "rescue", "what it shall boot");
    ok(!value_as_bool(rig_at(&g, "available"), true), "it is unavailable");
    rig_do(&g, server_why, "Why", (struct rig_ask){.id = "node", .id2 = "n1.t"});
    has_text(rig_text(&g, "summary"), "in maintenance since", "why tells");
    has_text(rig_text(&g, "summary"), "by admin: new disk", "with the note");
    has_text(rig_text(&g, "reasons.0.remedy"), "node maintenance n1.t off", "and the remedy");
    rig_refuse(&g, server_node_patch, ERR_INVALID, "/available",
               (struct rig_ask){.id = "n1.t", .body = "{'maintenance': {}, 'available': true}"});
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n1.t", .body = "{'maintenance': null}"});
    ok(value_as_bool(rig_at(&g, "available"), false), "out of maintenance it is available");
    ok(rig_at(&g, "maintenance")->kind == VALUE_NULL, "and nobody's note is left");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n1.t", .body = "{'available': false, 'note': 'noisy'}"});
    rig_do(&g, server_why, "Why", (struct rig_ask){.id = "node", .id2 = "n1.t"});
    has_text(rig_text(&g, "summary"), "was made unavailable: noisy", "unavailable without it");
    rig_close(&g);
}

/* ---- announcing ---- */

static void announcing(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, NODE_CATALOG);
    struct caller machine = {.tenant = 1, .scope = SCOPE_ANNOUNCE, .name = "image"};
    rig_do(&g, server_token_create, "Token",
           (struct rig_ask){.body = "{'name': 'image', 'scope': 'announce'}"});
    machine.token = (uint32_t)rig_int(&g, "id");
    struct caller person = g.who;
    g.who = machine;
    const char *said = "{'machine_id': 'm1', 'boot_id': 'b1', 'name': 'n1.t', "
                       "'addresses': ['10.0.0.1'], 'facts': {'cpus': 4}}";
    rig_do(&g, server_announce, "Announced", (struct rig_ask){.body = said});
    ok(value_as_bool(rig_at(&g, "new"), false) && g.reply.location, "a machine becomes a node");
    rig_settle(&g);
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, access TODO, inventory BLOCKED",
            "with its default roles");
    rig_do(&g, server_node_get, "Node", (struct rig_ask){.id = "n1.t"});
    is_text(rig_text(&g, "alive"), "alive", "alive");
    is_text(rig_text(&g, "boot_id"), "b1", "in this boot");
    is_int(rig_int(&g, "facts.cpus"), 4, "with its facts");
    uint64_t seq = commit_seq(g.server->commit);
    rig_do(&g, server_announce, "Announced", (struct rig_ask){.body = said});
    ok(!value_as_bool(rig_at(&g, "new"), true), "again it is known");
    is_int(commit_seq(g.server->commit), seq, "and nothing was changed");
    rig_do(&g, server_announce, "Announced",
           (struct rig_ask){.body = "{'machine_id': 'm1', 'boot_id': 'b2', 'facts': {'cpus': 8}}"});
    is_text(rig_text(&g, "name"), "n1.t", "known by its machine, not by what it says");
    rig_do(&g, server_node_get, "Node", (struct rig_ask){.id = "n1.t"});
    is_text(rig_text(&g, "boot_id"), "b2", "another boot is noted");
    is_int(rig_int(&g, "facts.cpus"), 8, "and other facts");
    rig_refuse(&g, server_announce, ERR_CONFLICT, "this machine is node n1.t",
               (struct rig_ask){.body = "{'machine_id': 'm1', 'name': 'n2.t'}"});
    rig_refuse(&g, server_announce, ERR_CONFLICT, "node n1.t is another machine",
               (struct rig_ask){.body = "{'machine_id': 'm2', 'name': 'n1.t'}"});
    has_text(g.err.hint, "node report n1.t alive --machine-id", "whose word it takes");
    rig_refuse(&g, server_announce, ERR_INVALID, "needs a name",
               (struct rig_ask){.body = "{'machine_id': 'm3'}"});

    /* somebody added it before it was seen */
    g.who = person;
    create(&g, "{'name': 'n2.t', 'labels': {'rack': '1'}}");
    g.who = machine;
    rig_do(&g, server_announce, "Announced",
           (struct rig_ask){.body = "{'machine_id': 'm2', 'name': 'n2.t'}"});
    ok(!value_as_bool(rig_at(&g, "new"), true), "a node that was expected");
    rig_do(&g, server_node_get, "Node", (struct rig_ask){.id = "n2.t"});
    is_text(rig_text(&g, "machine_id"), "m2", "is that machine now");
    is_text(rig_text(&g, "labels.rack"), "1", "and what was said of it stays");
    rig_restart(&g);
    rig_do(&g, server_announce, "Announced", (struct rig_ask){.body = "{'machine_id': 'm2'}"});
    is_text(rig_text(&g, "name"), "n2.t", "after a restart machines are known");

    /* an operator's word: the machine was replaced */
    g.who = person;
    rig_do(&g, server_node_report, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'alive': 'alive', 'machine_id': 'm9'}"});
    g.who = machine;
    rig_do(&g, server_announce, "Announced", (struct rig_ask){.body = "{'machine_id': 'm9'}"});
    is_text(rig_text(&g, "name"), "n2.t", "then the new machine is the node");
    rig_refuse(&g, server_announce, ERR_INVALID, "needs a name",
               (struct rig_ask){.body = "{'machine_id': 'm2'}"});

    /* limits */
    SCOPED_BUF(big);
    buf_puts(&big, "{'machine_id': 'm1', 'facts': {'x': '");
    for (int i = 0; i < 70000; i++)
        buf_putc(&big, 'y');
    buf_puts(&big, "'}}");
    rig_refuse(&g, server_announce, ERR_TOO_LARGE, "/facts", (struct rig_ask){.body = big.data});
    g.opts.announce_rate = 1;
    int taken = 0;
    while (taken < 100 &&
           rig_call(&g, server_announce, (struct rig_ask){.body = "{'machine_id': 'm1'}"}) >= 0)
        taken++;
    ok(taken >= 9 && taken <= 12, "ten at once, then it is too much (%d were taken)", taken);
    is_int(g.err.code, ERR_LIMIT, "as a limit");
    g.who = person;
    is_int(rig_call(&g, server_announce, (struct rig_ask){.body = "{'machine_id': 'm1'}"}), 0,
           "which is not for operators");
    rig_close(&g);
}

/* A catalog may say what a machine is: then it runs, and all else on the node waits for it. */
static void own_machine(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, "barclamp: t\nroles:\n"
                       "  - {name: machine, jig: test, flags: [implicit],\n"
                       "     actions: {converge: [{name: bootstrap, params: {}}],\n"
                       "               remove: [{name: give-back, params: {}}]}}\n"
                       "  - {name: look, jig: test, flags: [discovery],\n"
                       "     actions: {converge: [{name: look, params: {}}]}}\n");
    rig_worker(&g, 4);
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    is_text(roles_on(&g, "n1.t"), "machine TRANSITION, look BLOCKED", "the machine comes first");
    rig_result(&g, rig_task_of(&g, "machine", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_result(&g, rig_task_of(&g, "look", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, look ACTIVE", "then what is on it");
    rig_do(&g, server_node_delete, "Operation",
           (struct rig_ask){.id = "n1.t", .query = "{'cascade': 'true'}"});
    rig_settle(&g);
    is_text(roles_on(&g, "n1.t"), "machine REMOVING", "and it goes last");
    rig_result(&g, rig_task_of(&g, "machine", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    is_text(roles_on(&g, "n1.t"), "no such node", "with the node");
    rig_close(&g);
}

static void redeploying(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog(&g);
    create(&g, "{'name': 'n1.t', 'alive': 'alive'}");
    g.opts.node_defaults = false;
    create(&g, "{'name': 'bare.t'}");
    rig_worker(&g, 4);
    rig_bind(&g, "wipe", "n1.t");
    rig_refuse(&g, server_node_redeploy, ERR_CONFLICT, "which is open",
               (struct rig_ask){.id = "n1.t"});
    rig_result(&g, rig_task_of(&g, "wipe", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_do(&g, server_node_redeploy, "Operation", (struct rig_ask){.id = "n1.t"});
    is_text(rig_text(&g, "title"), "redeploy n1.t", "an operation of its own");
    rig_settle(&g);
    is_text(roles_on(&g, "n1.t"), "machine ACTIVE, wipe TRANSITION", "what is destructive runs");
    rig_result(&g, rig_task_of(&g, "wipe", "n1.t", 0), OUTCOME_OK, 0, "", 0);
    rig_do(&g, server_noderole_get, "Noderole",
           (struct rig_ask){.id = rig_id(&g, rig_noderole(&g, "wipe", "n1.t"))});
    is_int(rig_int(&g, "run_count"), 2, "it ran twice");
    rig_refuse(&g, server_node_redeploy, ERR_REFUSED, "nothing is bound",
               (struct rig_ask){.id = "bare.t"});
    rig_refuse(&g, server_node_redeploy, ERR_NOT_FOUND, "did you mean \"bare.t\"",
               (struct rig_ask){.id = "bara.t"});
    rig_close(&g);
}

int main(void)
{
    names();
    defaults();
    leaving();
    leaving_dead();
    leaving_peers();
    maintenance();
    announcing();
    own_machine();
    redeploying();
    return tap_done();
}
