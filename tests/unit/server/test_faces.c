/* What operators and administrators change: jigs, pools, deployments, and the server itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

static void test_jig(struct rig *g)
{
    rig_do(g, server_jig_get, "Jig", (struct rig_ask){.id = "cloud"});
    uint64_t rev = g->reply.rev;
    g->if_match = "99";
    rig_refuse(g, server_jig_patch, ERR_STALE, "revision",
               (struct rig_ask){.id = "cloud", .body = "{'active': true}"});
    g->if_match = arena_printf(&g->mem, "%llu", (unsigned long long)rev);
    rig_do(g, server_jig_patch, "Jig", (struct rig_ask){.id = "cloud", .body = "{'active': true}"});
    ok(value_as_bool(rig_at(g, "active"), false), "the jig is on");
    is_int((int64_t)g->reply.rev, (int64_t)rev + 1, "with a new revision");
    ok(g->reply.group > 0, "the answer waits for the store");
    rig_refuse(g, server_jig_patch, ERR_NOT_FOUND, "cloud",
               (struct rig_ask){.id = "clouds", .body = "{'active': true}"});
    rig_settle(g);
    rig_restart(g);
    rig_do(g, server_jig_get, "Jig", (struct rig_ask){.id = "cloud"});
    ok(value_as_bool(rig_at(g, "active"), false), "it is on after a restart");
    rig_do(g, server_jig_patch, "Jig",
           (struct rig_ask){.id = "cloud", .body = "{'active': false}"});
}

static void test_pool(struct rig *g)
{
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "license", .body = "{'size': 3, 'note': 'bought two'}"});
    is_int(rig_int(g, "size"), 3, "a pool has another size");
    is_text(rig_text(g, "note"), "bought two", "and a note");
    is_int((int64_t)g->reply.rev, 2, "and a revision");
    ok(!g->reply.location, "it was there");
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "license", .body = "{'closed': true, 'elsewhere': 1}"});
    is_int(rig_int(g, "size"), 3, "what is not named stays");
    is_text(rig_text(g, "note"), "bought two", "the note too");
    is_int(rig_int(g, "elsewhere"), 1, "what is named changes");
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "uplink", .body = "{'size': 10, 'note': 'slow'}"});
    is_text(g->reply.location, "/v1/pools/uplink", "a new pool has a place");
    is_int((int64_t)g->reply.rev, 1, "and a first revision");
    rig_do(g, server_pool_put, "Pool", (struct rig_ask){.id = "uplink", .body = "{'size': 11}"});
    g->if_match = "1";
    rig_refuse(g, server_pool_put, ERR_STALE, "revision 2, not 1",
               (struct rig_ask){.id = "uplink", .body = "{'size': 12}"});
    g->if_match = "1";
    rig_refuse(g, server_pool_put, ERR_STALE, "If-Match *",
               (struct rig_ask){.id = "other", .body = "{'size': 12}"});
    g->if_match = "*";
    rig_refuse(g, server_pool_put, ERR_REFUSED, "/size",
               (struct rig_ask){.id = "other", .body = "{}"});
    rig_refuse(g, server_pool_put, ERR_INVALID, "{pool}",
               (struct rig_ask){.id = "No Pool", .body = "{'size': 1}"});
    rig_settle(g);
    rig_restart(g);
    rig_do(g, server_pool_get, "Pool", (struct rig_ask){.id = "license"});
    is_int(rig_int(g, "size"), 3, "its size is kept over a restart");
    is_text(rig_text(g, "note"), "bought two", "and its note");
    ok(value_as_bool(rig_at(g, "closed"), false), "and that it is closed");
    rig_do(g, server_pool_get, "Pool", (struct rig_ask){.id = "uplink"});
    is_int(rig_int(g, "size"), 11, "the new one too");
    is_text(rig_text(g, "note"), "slow", "with its note");
    rig_do(g, server_pool_put, "Pool",
           (struct rig_ask){.id = "license", .body = "{'note': '', 'closed': false}"});
    ok(value_is(rig_at(g, "note"), VALUE_NULL), "an empty note is none");
    rig_list(g, server_pool_list, "Pool", (struct rig_ask){.query = "{'limit': '1'}"}, 1);
    is_int(rig_int(g, "total"), 2, "both are listed");
}

static void test_deployment(struct rig *g)
{
    rig_do(g, server_deployment_create, "Deployment",
           (struct rig_ask){.body = "{'name': 'prod', 'description': 'the real one'}"});
    is_text(g->reply.location, "/v1/deployments/prod", "it has a place");
    is_text(rig_text(g, "parent"), "system", "below system");
    is_text(rig_text(g, "description"), "the real one", "described");
    rig_do(g, server_deployment_create, "Deployment",
           (struct rig_ask){.body = "{'name': 'prod-east', 'parent': 'prod'}"});
    is_text(rig_text(g, "parent"), "prod", "deployments are a tree");
    rig_refuse(g, server_deployment_create, ERR_EXISTS, "prod",
               (struct rig_ask){.body = "{'name': 'prod'}"});
    rig_refuse(g, server_deployment_create, ERR_UNKNOWN_NAME, "did you mean \"prod\"?",
               (struct rig_ask){.body = "{'name': 'x', 'parent': 'prd'}"});
    rig_refuse(g, server_deployment_create, ERR_INVALID, "/name",
               (struct rig_ask){.body = "{'name': 'Prod!'}"});
    rig_do(g, server_deployment_patch, "Deployment",
           (struct rig_ask){.id = "prod", .body = "{'description': 'changed'}"});
    is_text(rig_text(g, "description"), "changed", "another description");
    is_int((int64_t)g->reply.rev, 2, "another revision");
    rig_do(g, server_deployment_patch, "Deployment", (struct rig_ask){.id = "prod", .body = "{}"});
    is_int((int64_t)g->reply.rev, 2, "nothing named, nothing changed");
    g->if_match = "1";
    rig_refuse(g, server_deployment_patch, ERR_STALE, "revision 2",
               (struct rig_ask){.id = "prod", .body = "{'description': null}"});
    rig_refuse(g, server_deployment_patch, ERR_NOT_FOUND, "prod",
               (struct rig_ask){.id = "prd", .body = "{}"});
    rig_list(g, server_deployment_list, "Deployment", (struct rig_ask){.query = "{'limit': '2'}"},
             2);
    is_int(rig_int(g, "total"), 3, "all are counted");
}

static void test_deployment_delete(struct rig *g)
{
    rig_refuse(g, server_deployment_delete, ERR_CONFLICT, "root of all",
               (struct rig_ask){.id = "system"});
    rig_refuse(g, server_deployment_delete, ERR_CONFLICT, "deployment prod-east",
               (struct rig_ask){.id = "prod"});
    rig_node(g, "n1.example.org", ", 'deployment': 'prod-east'");
    rig_refuse(g, server_deployment_delete, ERR_CONFLICT, "node n1.example.org is at home",
               (struct rig_ask){.id = "prod-east"});
    rig_do(g, server_deployment_bind, NULL,
           (struct rig_ask){.id = "prod-east",
                            .body = "{'bindings': [{'role': 'base', 'nodes': '*'}]}"});
    rig_refuse(g, server_deployment_delete, ERR_CONFLICT, "noderole 2 (base@n1.example.org)",
               (struct rig_ask){.id = "prod-east"});
    rig_refuse(g, server_deployment_delete, ERR_NOT_FOUND, "deployment",
               (struct rig_ask){.id = "nowhere"});
    rig_do(g, server_deployment_create, "Deployment",
           (struct rig_ask){.body = "{'name': 'empty'}"});
    rig_do(g, server_deployment_delete, NULL, (struct rig_ask){.id = "empty"});
    rig_refuse(g, server_deployment_get, ERR_NOT_FOUND, "empty", (struct rig_ask){.id = "empty"});
    rig_do(g, server_deployment_create, "Deployment",
           (struct rig_ask){.body = "{'name': 'empty', 'parent': 'prod-east'}"});
    const char *id = rig_id(g, (uint32_t)rig_int(g, "id"));
    rig_settle(g);
    rig_restart(g);
    rig_do(g, server_deployment_get, "Deployment", (struct rig_ask){.id = id});
    is_text(rig_text(g, "name"), "empty", "a name that was free again is kept over a restart");
    rig_do(g, server_deployment_get, "Deployment", (struct rig_ask){.id = "prod"});
    is_text(rig_text(g, "description"), "changed", "and a description");
}

static void test_deployment_depth(struct rig *g)
{
    const char *parent = "system";
    int r = 0;
    for (int i = 0; r >= 0 && i < 2 * PLANNER_MAX_DEPTH; i++) {
        const char *name = arena_printf(&g->mem, "deep-%d", i);
        r = rig_call(
            g, server_deployment_create,
            (struct rig_ask){
                .body = arena_printf(&g->mem, "{'name': '%s', 'parent': '%s'}", name, parent)});
        parent = name;
    }
    is_int(r, -ERR_REFUSED, "deployments are not stacked without end");
    is_text(g->err.at, "/parent", "the refusal points to the parent");
    rig_settle(g);
}

/* ---- the server itself ---- */

static void wait_background(struct rig *g)
{
    struct loop_timer *limit = loop_timer_new(g->loop, rig_late, g);
    loop_timer_at(limit, loop_now_ms(g->loop) + 20000);
    while (g->server->check.running && loop_timer_armed(limit)) {
        struct loop_timer *soon = loop_timer_new(g->loop, rig_stop, g);
        loop_timer_at(soon, loop_now_ms(g->loop) + 2);
        loop_run(g->loop);
        loop_timer_free(soon);
    }
    loop_timer_free(limit);
}

static void test_check(struct rig *g)
{
    rig_do(g, server_admin_check, "CheckResult", (struct rig_ask){0});
    ok(value_as_bool(rig_at(g, "ok"), false), "nothing is known to be wrong");
    is_text(rig_text(g, "state"), "running", "and the file is looked at");
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    ok(value_as_bool(rig_at(g, "store.checking"), false), "status tells that");
    wait_background(g);
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    is_text(rig_text(g, "store.check"), "ok", "and how it ended");
    char *was = g->server->db_path;
    char missing[] = "/nonexistent/anneal.db";
    g->server->db_path = missing;
    rig_do(g, server_admin_check, "CheckResult", (struct rig_ask){0});
    wait_background(g);
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    ok(rig_text(g, "store.check") && strcmp(rig_text(g, "store.check"), "ok") != 0,
       "a file that is not sound is told");
    rig_do(g, server_admin_check, "CheckResult", (struct rig_ask){0});
    ok(!value_as_bool(rig_at(g, "ok"), true), "and the next check remembers");
    is_int(rig_at(g, "findings")->n, 1, "what was found");
    wait_background(g);
    g->server->db_path = was;
}

/* So many nodes fall silent that none is taken for dead until somebody says so. */
static void test_confirm(struct rig *g)
{
    rig_refuse(g, server_admin_confirm_dead, ERR_CONFLICT, "nothing to confirm",
               (struct rig_ask){0});
    for (int i = 2; i <= 8; i++)
        rig_node(g, arena_printf(&g->mem, "n%d.example.org", i), "");
    for (int round = 0; round < 3; round++) {
        for (int i = 2; i <= 8; i++)
            rig_do(g, server_node_report, "Node",
                   (struct rig_ask){.id = arena_printf(&g->mem, "n%d.example.org", i),
                                    .body = "{'alive': 'silent'}"});
        g->server->clock_offset_ms += 40 * 1000;
    }
    rig_do(g, server_node_report, "Node",
           (struct rig_ask){.id = "n2.example.org", .body = "{'alive': 'silent'}"});
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    ok(value_as_bool(rig_at(g, "suspect"), false), "the server suspects itself");
    rig_do(g, server_why, "Why", (struct rig_ask){.id = "node", .id2 = "n3.example.org"});
    has_text(rig_text(g, "summary"), "none is taken for dead", "and says so");
    is_text(rig_text(g, "reasons.0.remedy"), "anneal admin confirm-dead", "with a way out");
    rig_do(g, server_admin_confirm_dead, "ConfirmDeadResult", (struct rig_ask){0});
    ok(!value_as_bool(rig_at(g, "suspect"), true), "somebody said so");
    rig_list(g, server_node_list, "Node", (struct rig_ask){.query = "{'alive': 'dead'}"}, 7);
    rig_do(g, server_why, "Why", (struct rig_ask){.id = "node", .id2 = "n3.example.org"});
    has_text(rig_text(g, "summary"), "node n3.example.org is dead", "a dead node says so");
    rig_settle(g);
}

/* A store that refuses: reads go on, writes do not. */
static void test_refused(struct rig *g)
{
    static const struct {
        server_op_f *op;
        const char *id, *body;
    } writes[] = {
        {server_jig_patch, "local", "{'active': true}"},
        {server_pool_put, "license", "{'size': 5}"},
        {server_deployment_create, NULL, "{'name': 'late'}"},
        {server_deployment_patch, "prod", "{'description': 'late'}"},
        {server_deployment_delete, "empty", NULL},
        {server_token_create, NULL, "{'name': 'late', 'scope': 'read'}"},
        {server_token_revoke, "1", NULL},
        {server_admin_confirm_dead, NULL, NULL},
    };
    err_set(&g->server->degraded, ERR_DISK_FULL, "the disk is full");
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        rig_refuse(g, writes[i].op, ERR_DISK_FULL, "the disk is full",
                   (struct rig_ask){.id = writes[i].id, .body = writes[i].body});
    rig_do(g, server_status, "Status", (struct rig_ask){0});
    is_text(rig_text(g, "store.degraded"), "the disk is full", "status tells");
    SCOPED_BUF(b);
    server_metrics(g->server, &b);
    has_text(b.data, "anneal_degraded 1\n", "metrics too");
    err_clear(&g->server->degraded);
    rig_do(g, server_pool_get, "Pool", (struct rig_ask){.id = "license"});
    is_int(rig_int(g, "size"), 3, "nothing was changed");
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    rig_catalog(&g);
    test_jig(&g);
    test_pool(&g);
    test_deployment(&g);
    test_deployment_delete(&g);
    test_deployment_depth(&g);
    test_check(&g);
    test_confirm(&g);
    test_refused(&g);
    rig_close(&g);
    return tap_done();
}
