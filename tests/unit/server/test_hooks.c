/* test_hooks.c - hooks run by a real server: when, in which order, what they change, what they
 * cannot */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hooks_i.h"
#include "server_rig.h"

#define HEAD                                                                                       \
    "barclamp: t\n"                                                                                \
    "jigs: [{name: local, implementation: test, active: true, reach: node}]\n"

/* The figures of a role's store and of what a noderole was given, as JSON. */
static const char *store_of(struct rig *g, const char *role)
{
    static char text[4096];
    SCOPED_BUF(b);
    rig_do(g, server_role_store, "RoleStore", (struct rig_ask){.id = role});
    json_write(&b, rig_at(g, "store"), 0);
    snprintf(text, sizeof text, "%s", buf_str(&b).s);
    return text;
}

static const char *system_of(struct rig *g, const char *role, const char *node)
{
    uint32_t id = rig_noderole(g, role, node);
    const char *text = id ? g->server->inv.noderoles.at[id].system : NULL;
    return text ? text : "";
}

static void finish(struct rig *g, const char *role, const char *node, enum outcome outcome)
{
    rig_result(g, rig_task_of(g, role, node, 0), outcome, outcome == OUTCOME_OK ? 0 : 1, "", 0);
}

static struct noderole_view view_of(struct rig *g, const char *role, const char *node)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(g->server->engine, rig_noderole(g, role, node), &v);
    return v;
}

/* The newest journalled failure of a hook, "" if there is none after `since`. */
static const char *failure_after(struct rig *g, uint64_t since)
{
    static char text[2048];
    SCOPED_BUF(b);
    uint64_t last, first;
    struct err e;
    text[0] = '\0';
    if (server_events_read(g->server, &g->who, since, 1000, &b, &last, &first, &e) < 0)
        return "no events";
    const char *at = b.len ? strstr(b.data, "hook.failed") : NULL;
    if (at)
        snprintf(text, sizeof text, "%.*s", (int)strcspn(at, "\n"), at);
    return text;
}

static void test_transitions(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g,
                   HEAD "hooks: {on_active: [{set: of/barclamp, to: noderole.state}]}\n"
                        "roles:\n"
                        "  - name: base\n"
                        "    jig: local\n"
                        "    actions: {converge: [{name: b, params: {}}]}\n"
                        "  - name: web\n"
                        "    jig: local\n"
                        "    requires: [base]\n"
                        "    actions: {converge: [{name: w, params: {}}]}\n"
                        "    hooks:\n"
                        "      on_blocked: [{store: log, to: \"store.log|default('') ~ 'b'\"}]\n"
                        "      on_todo: [{store: log, to: \"store.log|default('') ~ 't'\"}]\n"
                        "      on_transition: [{store: log, to: \"store.log|default('') ~ 'r'\"}]\n"
                        "      on_error: [{store: log, to: \"store.log|default('') ~ 'e'\"}]\n"
                        "      on_active: [{store: log, to: \"store.log|default('') ~ 'a'\"},"
                        " {set: of/role, to: \"event ~ ' ' ~ role ~ ' ' ~ noderole.name\"}]\n");
    rig_node(&g, "n1.t", "");
    rig_worker(&g, 4);
    rig_bind(&g, "web", "n1.t");
    is_text(store_of(&g, "web"), "{\"log\":\"b\"}", "what a plan brings enters BLOCKED");
    finish(&g, "base", "n1.t", OUTCOME_OK);
    is_text(store_of(&g, "web"), "{\"log\":\"btr\"}", "then TODO and TRANSITION, in one step");
    is_text(system_of(&g, "base", "n1.t"), "{\"of\":{\"barclamp\":\"ACTIVE\"}}",
            "hooks of a barclamp are hooks of its roles");
    finish(&g, "web", "n1.t", OUTCOME_FAILED);
    is_text(store_of(&g, "web"), "{\"log\":\"btre\"}", "an error is one");
    rig_do(&g, server_noderole_retry, NULL,
           (struct rig_ask){.id = rig_id(&g, rig_noderole(&g, "web", "n1.t"))});
    rig_settle(&g);
    finish(&g, "web", "n1.t", OUTCOME_OK);
    has_text(store_of(&g, "web"), "a\"}", "and so is service");
    is_text(system_of(&g, "web", "n1.t"),
            "{\"of\":{\"barclamp\":\"ACTIVE\",\"role\":\"on_active web web@n1.t\"}}",
            "where both hooks ran");
    size_t before = strlen(store_of(&g, "web"));
    rig_do(&g, server_noderole_rerun, NULL,
           (struct rig_ask){.id = rig_id(&g, rig_noderole(&g, "web", "n1.t"))});
    rig_settle(&g);
    is_int((int64_t)strlen(store_of(&g, "web")), (int64_t)before + 2,
           "a refresh is due (TODO) and begins (TRANSITION) without leaving service");
    is_text(noderole_state_name((enum noderole_state)view_of(&g, "web", "n1.t").state), "STALE",
            "as it does");
    finish(&g, "web", "n1.t", OUTCOME_OK);
    SCOPED_BUF(log);
    buf_puts(&log, store_of(&g, "web"));
    int64_t rev = rig_int(&g, "rev");
    rig_restart(&g);
    is_text(store_of(&g, "web"), log.data, "a store is there after a restart");
    is_int(rig_int(&g, "rev"), rev, "with its revision");
    rig_refuse(&g, server_role_store, ERR_NOT_FOUND, "did you mean \"web\"?",
               (struct rig_ask){.id = "wep"});
    rig_close(&g);
}

static void test_order(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, HEAD
                   "roles:\n"
                   "  - {name: low, jig: noop}\n"
                   "  - {name: high, jig: noop, requires: [low]}\n"
                   "  - {name: log, jig: noop}\n"
                   "hooks:\n"
                   "  on_active: [{set: seen, to: true},"
                   " {set: order/(noderole.name), to: noderole.id, of: log, on: bound.log}]\n");
    rig_node(&g, "n1.t", "");
    rig_node(&g, "n2.t", "");
    rig_worker(&g, 4);
    rig_bind(&g, "log", "n1.t");
    rig_bind(&g, "high", "n1.t,n2.t");
    for (size_t i = 0; i < g.sent.n; i++) { /* what was sent ahead runs behind what was before it */
        struct task_view t;
        (void)anneal_task(g.server->engine, g.sent.at[i].task, &t);
        if (task_state_live((enum task_state)t.state))
            rig_result(&g, g.sent.at[i].task, OUTCOME_OK, 0, "", 0);
    }
    const char *log = system_of(&g, "log", "n1.t");
    has_text(log, "\"high@n1.t\":", "data of another role of the barclamp are set: high@n1.t");
    has_text(log, "\"low@n1.t\":", "and low@n1.t");
    has_text(system_of(&g, "high", "n2.t"), "\"seen\":true", "besides one's own");
    rig_close(&g);
}

static void test_plan(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(
        &g, HEAD
        "roles:\n"
        "  - name: net\n"
        "    jig: local\n"
        "    attributes: {range: {schema: {type: object},"
        " default: {first: 10.0.0.1, last: 10.0.0.3}}}\n"
        "    actions: {converge: [{name: n, params: {}}]}\n"
        "    hooks:\n"
        "      on_proposed: [{set: proposed, to: noderole.state}]\n"
        "      on_bind: address_from_range\n"
        "      on_removed: address_from_range\n"
        "      on_commit:\n"
        "        - {when: \"node.labels.veto is defined\", refuse: \"'not on ' ~ node.name\"}\n"
        "        - {when: \"node.labels.broken is defined\", set: a, to: node.nothing.x}\n"
        "        - {set: seen, to: \"data.proposed ~ ' ' ~ data.address\"}\n"
        "        - {enqueue: net}\n");
    for (int i = 1; i <= 4; i++)
        rig_node(&g, arena_printf(&g.mem, "n%d.t", i), "");
    rig_node(&g, "veto.t", ", 'labels': {'veto': 'yes'}");
    rig_node(&g, "broken.t", ", 'labels': {'broken': 'yes'}");
    uint64_t at = commit_seq(g.server->commit);
    uint32_t ops = anneal_operation_end(g.server->engine);
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED,
               "net@n4.t: no address is left from 10.0.0.1 to 10.0.0.3 | on_bind in "
               "t/barclamp.yaml:10:16 says so",
               (struct rig_ask){.id = "system",
                                .body = "{'bindings': [{'role': 'net', 'nodes': 'n*.t'}]}"});
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED, "no address is left",
               (struct rig_ask){
                   .id = "system",
                   .body = "{'bindings': [{'role': 'net', 'nodes': 'n*.t'}], 'dry_run': true}"});
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED,
               "net@veto.t: not on veto.t | on_commit in t/barclamp.yaml:13:11",
               (struct rig_ask){.id = "system",
                                .body = "{'bindings': [{'role': 'net', 'nodes': 'n1.t,veto.t'}]}"});
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED,
               "net@broken.t: its hook failed: on_commit: node.nothing is undefined",
               (struct rig_ask){.id = "system",
                                .body = "{'bindings': [{'role': 'net', 'nodes': 'broken.t'}]}"});
    rig_settle(&g);
    is_text(store_of(&g, "net"), "{}", "a refusal leaves nothing in the store");
    is_int(rig_int(&g, "rev"), 1, "not even a revision");
    is_int((int64_t)commit_seq(g.server->commit), (int64_t)at, "nor in the journal");
    is_int(anneal_operation_end(g.server->engine), ops, "nor an operation");
    rig_do(&g, server_deployment_bind, NULL,
           (struct rig_ask){
               .id = "system",
               .body = "{'bindings': [{'role': 'net', 'nodes': 'n1.t'}], 'dry_run': true}"});
    rig_settle(&g);
    is_text(store_of(&g, "net"), "{}", "nor does a dry run");
    rig_bind(&g, "net", "n2.t,n1.t,n3.t");
    is_text(store_of(&g, "net"),
            "{\"taken\":{\"n1.t\":\"10.0.0.1\",\"n2.t\":\"10.0.0.2\",\"n3.t\":\"10.0.0.3\"}}",
            "three noderoles of one plan get three addresses");
    is_int(rig_int(&g, "rev"), 2, "which are one change of the store");
    is_text(system_of(&g, "net", "n2.t"),
            "{\"address\":\"10.0.0.2\",\"proposed\":\"PROPOSED\","
            "\"seen\":\"PROPOSED 10.0.0.2\"}",
            "a hook sees what the one before it set");
    rig_restart(&g);
    is_text(system_of(&g, "net", "n3.t"),
            "{\"address\":\"10.0.0.3\",\"proposed\":\"PROPOSED\","
            "\"seen\":\"PROPOSED 10.0.0.3\"}",
            "all of it was stored");
    has_text(store_of(&g, "net"), "10.0.0.3", "the store too");
    SCOPED_BUF(m);
    server_metrics(g.server, &m);
    has_text(m.data, "anneal_hooks_refused_total 0\n", "figures begin anew");
    rig_close(&g);
}

/* A plan that takes a noderole away, with nothing to run for it. */
static void take_away(struct rig *g, uint32_t noderole)
{
    SCOPED(plan) *p = plan_new();
    struct plan_change change = {.noderole = noderole, .what = PLAN_C_REMOVE};
    struct server_call c = {.mem = &g->mem, .who = &g->who};
    struct server *s = g->server;
    struct err e;
    uint32_t op = 0;
    p->changes = &change;
    p->n_changes = 1;
    plan_rebase(p, anneal_def_end(s->engine), anneal_noderole_end(s->engine),
                anneal_task_end(s->engine), anneal_span_end(s->engine), anneal_pool_end(s->engine));
    ok(face_operation_add(s, &c, "remove", "remove", CLASS_NORMAL, &op, &e) >= 0, "an operation");
    struct event ev = {.kind = EVENT_PLAN_APPLY, .op = op, .plan = p};
    struct commit_note note = server_note(&c, NULL);
    ok(server_apply(s, &ev, &note, NULL, &e) >= 0, "noderole %u is taken away", noderole);
}

static void test_removed(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(&g, HEAD
                   "roles:\n"
                   "  - name: net\n"
                   "    jig: local\n"
                   "    attributes: {range: {schema: {type: object},"
                   " default: {first: 10.0.0.1, last: 10.0.0.1}},"
                   " address: {schema: {type: string}}}\n"
                   "    actions: {converge: [{name: n, params: {}}]}\n"
                   "    hooks:\n"
                   "      on_bind: address_from_range\n"
                   "      on_removed:\n"
                   "        - {unstore: taken/(node.name)}\n"
                   "        - {store: last, to: \"noderole.name ~ ' ' ~ noderole.state ~ ' ' ~"
                   " data.address\"}\n"
                   "        - {set: left, to: node.name, of: other, on: bound.other}\n"
                   "        - {enqueue: other, on: bound.other}\n"
                   "  - {name: other, jig: local, actions: {converge: [{name: o, params: {}}]}}\n");
    rig_node(&g, "n1.t", "");
    rig_node(&g, "n2.t", "");
    rig_worker(&g, 2);
    rig_bind(&g, "other", "n2.t");
    finish(&g, "other", "n2.t", OUTCOME_OK);
    rig_bind(&g, "net", "n1.t");
    finish(&g, "net", "n1.t", OUTCOME_OK);
    is_int(view_of(&g, "net", "n1.t").state, NODEROLE_ACTIVE,
           "what a hook set before the first run is no reason for another");
    const char *more = "{'bindings': [{'role': 'net', 'nodes': 'n2.t'}]}";
    rig_refuse(&g, server_deployment_bind, ERR_REFUSED, "no address is left",
               (struct rig_ask){.id = "system", .body = more});
    take_away(&g, rig_noderole(&g, "net", "n1.t"));
    rig_do(&g, server_deployment_bind, NULL, (struct rig_ask){.id = "system", .body = more});
    rig_settle(&g);
    is_text(store_of(&g, "net"),
            "{\"taken\":{\"n2.t\":\"10.0.0.1\"},\"last\":\"net@n1.t REMOVED 10.0.0.1\"}",
            "an address is given back at once, with what its noderole had");
    is_text(system_of(&g, "other", "n2.t"), "{\"left\":\"n1.t\"}", "and others are told");
    is_text(noderole_state_name((enum noderole_state)view_of(&g, "other", "n2.t").state), "STALE",
            "and run");
    rig_close(&g);
}

static void test_failures(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(
        &g, HEAD "roles:\n"
                 "  - name: bad\n"
                 "    jig: local\n"
                 "    actions: {converge: [{name: b, params: {}}]}\n"
                 "    hooks:\n"
                 "      on_active: [{store: half, to: 1}, {set: a, to: data.nothing.x}]\n"
                 "      on_transition: [{set: a, to: 1}, {store: a, to: 1}, {store: a/b, to: 2}]\n"
                 "      on_todo: [{store: x, to: 1}, {set: a, to: 1}, {set: a/b, to: 1}]\n");
    rig_node(&g, "n1.t", "");
    rig_worker(&g, 4);
    uint64_t since = server_events_last(g.server);
    rig_bind(&g, "bad", "n1.t");
    has_text(failure_after(&g, since), "a is no map", "data that cannot be are told");
    finish(&g, "bad", "n1.t", OUTCOME_OK);
    is_int(view_of(&g, "bad", "n1.t").state, NODEROLE_ACTIVE, "a hook that fails loses nothing");
    is_text(store_of(&g, "bad"), "{}", "and nothing of it happens");
    is_text(system_of(&g, "bad", "n1.t"), "", "nowhere");
    has_text(failure_after(&g, since + 4), "\"object\":\"bad@n1.t\"", "the journal names whom");
    has_text(failure_after(&g, since), "t/barclamp.yaml:", "and where");
    SCOPED_BUF(m);
    server_metrics(g.server, &m);
    has_text(m.data, "anneal_hooks_failed_total 3\n", "three failed");
    rig_close(&g);
}

/* A refresh of the first asks for one of the second, and so on: deeper than may be. */
static void test_rounds(void)
{
    struct rig g;
    SCOPED_BUF(text);
    rig_open(&g);
    buf_puts(&text, HEAD "roles:\n");
    for (int i = 1; i <= 7; i++)
        buf_printf(&text,
                   "  - {name: r%d, jig: local, actions: {converge: [{name: t%d, params: {}}]},"
                   " hooks: {on_todo: [{set: due, to: noderole.state}, {when: noderole.runs > 0,"
                   " enqueue: [r%d, r1]}]}}\n",
                   i, i, i % 7 + 1);
    rig_catalog_of(&g, text.data);
    rig_node(&g, "n1.t", ", 'slots': 9");
    rig_worker(&g, 9);
    for (int i = 1; i <= 7; i++) {
        const char *role = arena_printf(&g.mem, "r%d", i);
        rig_bind(&g, role, "n1.t");
        finish(&g, role, "n1.t", OUTCOME_OK);
    }
    uint64_t since = server_events_last(g.server);
    rig_do(&g, server_role_rerun, NULL, (struct rig_ask){.id = "r1"});
    rig_settle(&g);
    for (int i = 1; i <= 7; i++) {
        const char *role = arena_printf(&g.mem, "r%d", i);
        is_int(view_of(&g, role, "n1.t").state, i <= 5 ? NODEROLE_STALE : NODEROLE_ACTIVE, "%s %s",
               role, i <= 5 ? "runs again" : "is too deep");
        is_text(system_of(&g, role, "n1.t"),
                i <= 4 ? "{\"due\":\"STALE\"}" : "{\"due\":\"TRANSITION\"}", "its hook %s",
                i <= 4 ? "ran" : "did not");
    }
    has_text(failure_after(&g, since),
             "hooks follow from hooks for more than 4 rounds: on_todo of r2@n1.t, on_todo of "
             "r3@n1.t, on_todo of r4@n1.t, on_todo of r5@n1.t",
             "all of it is named");
    is_int(view_of(&g, "r2", "n1.t").operation, OPERATION_STANDING,
           "what no request asked for is nobody's");
    SCOPED_BUF(m);
    server_metrics(g.server, &m);
    has_text(m.data, "anneal_hooks_rings_total 1\n", "and counted");
    rig_close(&g);
}

static void test_slow(void)
{
    struct rig g;
    const char *name = "";
    uint64_t n = 0;
    rig_open(&g);
    rig_catalog_of(&g, HEAD "roles:\n"
                            "  - name: busy\n"
                            "    jig: local\n"
                            "    actions: {converge: [{name: b, params: {}}]}\n"
                            "    hooks: {on_bind: [{set: n, to: range(9000)|sum}]}\n");
    rig_node(&g, "n1.t", "");
    rig_node(&g, "n2.t", "");
    is_int((int64_t)g.server->hooks->slow_us, 5000, "five milliseconds are too long");
    g.server->hooks->slow_us = 3600u * 1000 * 1000;
    rig_bind(&g, "busy", "n1.t");
    ok(!hook_slow_at(g.server, 0, &name, &n), "a hook within its time is not told");
    g.server->hooks->slow_us = 0;
    rig_bind(&g, "busy", "n2.t");
    ok(hook_slow_at(g.server, 0, &name, &n) && n == 1, "one past it is counted");
    is_text(name, "busy on_bind", "by name");
    SCOPED_BUF(m);
    server_metrics(g.server, &m);
    has_text(m.data, "anneal_hooks_slow_total{hook=\"busy on_bind\"} 1", "for all to see");
    has_text(m.data, "anneal_hooks_total 2\n", "besides the others");
    rig_close(&g);
}

static void test_nodes(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog_of(
        &g, HEAD
        "roles:\n"
        "  - name: dns\n"
        "    jig: local\n"
        "    actions: {converge: [{name: d, params: {}}]}\n"
        "    hooks:\n"
        "      on_node_create: [{store: hosts/(node.name), to: node.addresses},"
        " {set: hosts/(node.name), to: node.addresses, of: dns, on: bound.dns},"
        " {enqueue: dns, on: bound.dns}]\n"
        "      on_node_change:\n"
        "        fields: [addresses, labels/rack]\n"
        "        do: [{store: hosts/(node.name), to: node.addresses},"
        " {store: why, to: \"changed|join(',') ~ ' ' ~ old.labels.rack|default('none')\"}]\n"
        "      on_node_delete: [{unstore: hosts/(node.name)}]\n"
        "  - name: watch\n"
        "    jig: local\n"
        "    actions: {converge: [{name: w, params: {}}]}\n"
        "    hooks: {on_node_change: [{store: all, to: \"store.all|default([]) + changed\"}]}\n");
    rig_node(&g, "n1.t", ", 'addresses': ['10.0.0.1']");
    rig_worker(&g, 4);
    rig_bind(&g, "dns", "n1.t");
    finish(&g, "dns", "n1.t", OUTCOME_OK);
    rig_node(&g, "n2.t", ", 'addresses': ['10.0.0.2']");
    rig_settle(&g);
    is_text(store_of(&g, "dns"), "{\"hosts\":{\"n1.t\":[\"10.0.0.1\"],\"n2.t\":[\"10.0.0.2\"]}}",
            "a node that is created is told");
    is_text(system_of(&g, "dns", "n1.t"), "{\"hosts\":{\"n2.t\":[\"10.0.0.2\"]}}",
            "data of a role that runs elsewhere are set");
    is_text(noderole_state_name((enum noderole_state)view_of(&g, "dns", "n1.t").state), "STALE",
            "and it runs again");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'note': 'nobody cares'}"});
    is_text(store_of(&g, "dns"), "{\"hosts\":{\"n1.t\":[\"10.0.0.1\"],\"n2.t\":[\"10.0.0.2\"]}}",
            "a field that it does not watch does not call it");
    is_text(store_of(&g, "watch"), "{\"all\":[\"note\"]}", "but one that watches everything");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'labels': {'rack': 'r1'}}"});
    has_text(store_of(&g, "dns"), "\"why\":\"labels none\"",
             "a field inside of one may be watched");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'labels': {'rack': 'r1', 'row': '7'}}"});
    has_text(store_of(&g, "dns"), "\"why\":\"labels none\"", "its neighbours do not count");
    rig_do(&g, server_node_patch, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'alive': 'dead'}"});
    rig_settle(&g);
    is_text(store_of(&g, "watch"), "{\"all\":[\"note\",\"labels\",\"labels\",\"alive\"]}",
            "what the engine believes is a field, told once");
    rig_do(&g, server_node_report, "Node",
           (struct rig_ask){.id = "n2.t", .body = "{'alive': 'alive'}"});
    rig_settle(&g);
    has_text(store_of(&g, "watch"), "\"alive\",\"alive\"]", "also if nobody asked for it");
    rig_do(&g, server_node_delete, NULL, (struct rig_ask){.id = "n2.t"});
    rig_settle(&g);
    has_text(store_of(&g, "dns"), "{\"hosts\":{\"n1.t\":[\"10.0.0.1\"]}", "one that goes is told");
    rig_close(&g);
}

/* What every new node gets may be refused: then there is no node. */
static void test_discovery(void)
{
    struct rig g;
    rig_open(&g);
    g.opts.node_defaults = true;
    rig_catalog_of(
        &g, HEAD "roles:\n"
                 "  - name: seen\n"
                 "    jig: local\n"
                 "    flags: [discovery]\n"
                 "    actions: {converge: [{name: s, params: {}}]}\n"
                 "    hooks:\n"
                 "      on_bind:\n"
                 "        - {when: node.labels.bad is defined, refuse: \"'no ' ~ noderole.name\"}\n"
                 "        - {store: seen/(node.name), to: node.alive ~ node.groups|length}\n"
                 "      on_node_create: [{set: created, to: bound.seen, of: seen}]\n");
    uint32_t nodes = anneal_node_end(g.server->engine);
    rig_refuse(&g, server_node_create, ERR_REFUSED, "seen@n1.t: no seen@n1.t",
               (struct rig_ask){.body = "{'name': 'n1.t', 'labels': {'bad': 'yes'}}"});
    is_int(anneal_node_end(g.server->engine), nodes, "a node that is refused is not there");
    is_text(store_of(&g, "seen"), "{}", "nor is anything that hooks kept of it");
    rig_node(&g, "n1.t", "");
    rig_settle(&g);
    is_text(store_of(&g, "seen"), "{\"seen\":{\"n1.t\":\"alive0\"}}", "one that is not, is");
    is_text(system_of(&g, "seen", "n1.t"), "{\"created\":[\"n1.t\"]}",
            "and is told when its roles are bound");
    rig_close(&g);
}

int main(void)
{
    test_transitions();
    test_order();
    test_plan();
    test_removed();
    test_failures();
    test_rounds();
    test_slow();
    test_nodes();
    test_discovery();
    return tap_done();
}
