/* test_tenants.c - tenants as objects: shares, wishes, what keeps one from being deleted, and whose
 * tokens see and do what
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"
#include "server/tenants.h"

static struct caller first(void)
{
    return (struct caller){.token = 1, .tenant = 1, .scope = SCOPE_ADMIN, .name = "admin"};
}

/* From now on the rig is of that tenant. */
static void as_tenant(struct rig *g, const char *tenant, const char *token)
{
    g->who = first();
    rig_do(g, server_token_create, "Token",
           (struct rig_ask){.body = arena_printf(&g->mem,
                                                 "{'name': '%s', 'scope': 'admin', 'tenant': '%s'}",
                                                 token, tenant)});
    is_text(rig_text(g, "tenant"), tenant, "a token says whose it is");
    const char *secret = arena_strdup(&g->mem, rig_text(g, "secret") ? rig_text(g, "secret") : "");
    is_int(server_authenticate(g->server, secret, &g->who, &g->err), 0, "it works");
    is_text(tenant_name(g->server, g->who.tenant), tenant, "for that tenant");
}

static void add(struct rig *g, const char *body)
{
    rig_do(g, server_tenant_create, "Tenant", (struct rig_ask){.body = body});
    rig_settle(g);
}

static void wish(struct rig *g, const char *tenant, uint32_t places)
{
    rig_do(g, server_tenant_patch, "Tenant",
           (struct rig_ask){.id = tenant, .body = arena_printf(&g->mem, "{'places': %u}", places)});
}

static void shows(struct rig *g, const char *tenant, int64_t places, int64_t share, int64_t used,
                  bool is_short)
{
    rig_do(g, server_tenant_get, "Tenant", (struct rig_ask){.id = tenant});
    is_int(rig_int(g, "places"), places, "%s wishes for %d", tenant, (int)places);
    is_int(rig_int(g, "share"), share, "%s has %d", tenant, (int)share);
    is_int(rig_int(g, "used"), used, "%s uses %d", tenant, (int)used);
    is_int(value_as_bool(rig_at(g, "short"), !is_short), is_short, "%s is%s short", tenant,
           is_short ? "" : " not");
}

/* ---- shares as a function ---- */

static const struct {
    uint32_t capacity, n, wishes[4], shares[4];
    const char *what;
} cases[] = {
    {10, 2, {0, 0}, {TENANT_ALL, TENANT_ALL}, "nobody wishes: everybody may have all"},
    {10, 2, {4, 0}, {4, 6}, "a wish is met, the rest is left"},
    {10, 3, {4, 6, 0}, {4, 6, 1}, "all is wished for: who has no wish goes on with one"},
    {100, 1, {50}, {50}, "a wish is a limit too"},
    {5, 2, {4, 6}, {2, 3}, "too little for all: in proportion"},
    {4, 3, {3, 3, 3}, {2, 1, 1}, "what rounding leaves goes to the first of equals"},
    {7, 3, {1, 2, 9}, {1, 1, 5}, "or to who lost most"},
    {1, 3, {5, 5, 0}, {1, 1, 1}, "everybody goes on"},
    {0, 2, {5, 0}, {1, 1}, "even if there is nothing: it waits for the first that comes"},
    {UINT32_MAX,
     2,
     {UINT32_MAX, UINT32_MAX},
     {UINT32_MAX / 2 + 1, UINT32_MAX / 2},
     "numbers of any size"},
};

static void test_shares(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t shares[4] = {99, 99, 99, 99};
        tenant_shares(cases[i].capacity, cases[i].wishes, cases[i].n, shares);
        bool good = true;
        for (uint32_t k = 0; k < cases[i].n; k++)
            good = good && shares[k] == cases[i].shares[k];
        if (!ok(good, "%s", cases[i].what))
            note("%u %u %u %u", shares[0], shares[1], shares[2], shares[3]);
        ok(cases[i].n == 4 || shares[cases[i].n] == 99, "nothing else is written");
    }
}

/* ---- life ---- */

static void test_life(struct rig *g)
{
    rig_list(g, server_tenant_list, "Tenant", (struct rig_ask){0}, 1);
    is_text(rig_text(g, "items.0.name"), "default", "the first is there from the start");
    shows(g, "default", 0, 0, 0, false);
    rig_refuse(g, server_tenant_create, ERR_REFUSED, "workers offer 0 places",
               (struct rig_ask){.body = "{'name': 'lab', 'places': 1}"});
    has_text(g->err.hint, "start workers", "with the remedy");
    rig_worker(g, 10);
    shows(g, "default", 0, 10, 0, false);
    add(g, "{'name': 'lab', 'places': 4}");
    is_text(g->reply.location, "/v1/tenants/lab", "one that is made has a place");
    ok(g->reply.group > 0, "and is answered when it is kept");
    is_int((int64_t)g->reply.rev, 1, "from revision 1 on");
    shows(g, "lab", 4, 4, 0, false);
    shows(g, "default", 0, 6, 0, false);
    rig_refuse(g, server_tenant_create, ERR_EXISTS, "anneal tenant set lab",
               (struct rig_ask){.body = "{'name': 'lab'}"});
    rig_refuse(g, server_tenant_create, ERR_INVALID, "/name",
               (struct rig_ask){.body = "{'name': 'No Name'}"});
    rig_refuse(g, server_tenant_create, ERR_REFUSED, "wish for 6 at most",
               (struct rig_ask){.body = "{'name': 'more', 'places': 7}"});
    rig_refuse(g, server_tenant_get, ERR_NOT_FOUND, "anneal tenant list",
               (struct rig_ask){.id = "more"});

    wish(g, "lab", 10);
    is_int((int64_t)g->reply.rev, 2, "a change is a revision");
    shows(g, "default", 0, 1, 0, false);
    rig_refuse(g, server_tenant_patch, ERR_REFUSED, "workers offer 10 places",
               (struct rig_ask){.id = "lab", .body = "{'places': 11}"});
    rig_refuse(g, server_tenant_patch, ERR_REFUSED, "take places from another",
               (struct rig_ask){.id = "default", .body = "{'places': 1}"});
    g->if_match = "1";
    rig_refuse(g, server_tenant_patch, ERR_STALE, "revision 2, not 1",
               (struct rig_ask){.id = "lab", .body = "{'places': 1}"});

    rig_worker(g, 5);
    shows(g, "lab", 10, 5, 0, true);
    wish(g, "lab", 9);
    shows(g, "lab", 9, 5, 0, true);
    rig_worker(g, 20);
    shows(g, "lab", 9, 9, 0, false);
    shows(g, "default", 0, 11, 0, false);
    rig_settle(g);
    rig_restart(g);
    rig_worker(g, 20);
    shows(g, "lab", 9, 9, 0, false);
    rig_list(g, server_tenant_list, "Tenant", (struct rig_ask){.query = "{'limit': '1'}"}, 1);
    is_int(rig_int(g, "total"), 2, "both are kept");
}

static void test_delete(struct rig *g)
{
    rig_refuse(g, server_tenant_delete, ERR_CONFLICT, "is the first and stays",
               (struct rig_ask){.id = "default"});
    rig_refuse(g, server_tenant_delete, ERR_CONFLICT, "lab still has places 9",
               (struct rig_ask){.id = "lab"});
    has_text(g->err.hint, "anneal tenant set lab --places 0", "with the remedy");
    as_tenant(g, "lab", "ann");
    uint32_t token = g->who.token;
    rig_catalog(g);
    rig_node(g, "n1", "");
    uint32_t op = rig_bind(g, "base", "n1");
    g->who = first();
    rig_refuse(g, server_tenant_delete, ERR_CONFLICT,
               arena_printf(&g->mem, "unfinished operations %u; places 9; tokens %u", op, token),
               (struct rig_ask){.id = "lab"});
    has_text(g->err.hint, arena_printf(&g->mem, "anneal operation cancel %u", op), "in order");
    shows(g, "lab", 9, 9, 1, false);
    rig_result(g, rig_task_of(g, "base", "n1", 0), OUTCOME_OK, 0, "", 0);
    shows(g, "lab", 9, 9, 0, false);
    wish(g, "lab", 0);
    rig_refuse(g, server_tenant_delete, ERR_CONFLICT,
               arena_printf(&g->mem, "lab still has tokens %u", token),
               (struct rig_ask){.id = "lab"});
    has_text(g->err.hint, "anneal token revoke", "with the remedy");
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = rig_id(g, token)});
    g->if_match = "1";
    rig_refuse(g, server_tenant_delete, ERR_STALE, "revision", (struct rig_ask){.id = "lab"});
    rig_do(g, server_tenant_delete, NULL, (struct rig_ask){.id = "lab"});
    ok(!g->reply.body && g->reply.group > 0, "then it goes");
    rig_settle(g);
    rig_refuse(g, server_tenant_get, ERR_NOT_FOUND, "lab", (struct rig_ask){.id = "lab"});
    rig_list(g, server_tenant_list, "Tenant", (struct rig_ask){0}, 1);
    shows(g, "default", 0, 20, 0, false);
    rig_restart(g);
    rig_worker(g, 20);
    rig_list(g, server_tenant_list, "Tenant", (struct rig_ask){0}, 1);
    add(g, "{'name': 'lab', 'places': 2}");
    shows(g, "lab", 2, 2, 0, false);
    ok(tenant_find(g->server, "lab") == 3, "its name is free again, its number is not");
}

/* ---- whose is what ---- */

static void test_apart(struct rig *g)
{
    add(g, "{'name': 'other'}");
    as_tenant(g, "lab", "bob");
    struct caller lab = g->who;
    rig_list(g, server_tenant_list, "Tenant", (struct rig_ask){0}, 1);
    is_text(rig_text(g, "items.0.name"), "lab", "a tenant sees itself only");
    rig_refuse(g, server_tenant_get, ERR_NOT_FOUND, "other", (struct rig_ask){.id = "other"});
    rig_refuse(g, server_tenant_create, ERR_FORBIDDEN, "only tenant default",
               (struct rig_ask){.body = "{'name': 'mine'}"});
    rig_refuse(g, server_tenant_patch, ERR_FORBIDDEN, "only tenant default",
               (struct rig_ask){.id = "lab", .body = "{'places': 3}"});
    rig_refuse(g, server_tenant_delete, ERR_FORBIDDEN, "only tenant default",
               (struct rig_ask){.id = "lab"});
    rig_refuse(g, server_token_create, ERR_FORBIDDEN, "/tenant",
               (struct rig_ask){.body = "{'name': 'x', 'scope': 'read', 'tenant': 'default'}"});
    rig_refuse(g, server_token_create, ERR_FORBIDDEN, "/tenant",
               (struct rig_ask){.body = "{'name': 'x', 'scope': 'read', 'tenant': 'nobody'}"});
    rig_do(g, server_token_create, "Token",
           (struct rig_ask){.body = "{'name': 'own', 'scope': 'read'}"});
    is_text(rig_text(g, "tenant"), "lab", "tokens that it makes are its own");
    uint32_t own = (uint32_t)rig_int(g, "id");
    rig_list(g, server_token_list, "Token", (struct rig_ask){0}, 2);
    rig_refuse(g, server_token_revoke, ERR_NOT_FOUND, "token 1", (struct rig_ask){.id = "1"});

    g->who = first();
    rig_refuse(g, server_token_create, ERR_INVALID, "anneal tenant add nobody",
               (struct rig_ask){.body = "{'name': 'x', 'scope': 'read', 'tenant': 'nobody'}"});
    rig_do(g, server_token_create, "Token",
           (struct rig_ask){.body = "{'name': 'own', 'scope': 'read', 'tenant': 'other'}"});
    rig_refuse(g, server_token_create, ERR_EXISTS, "token own already",
               (struct rig_ask){.body = "{'name': 'own', 'scope': 'read', 'tenant': 'lab'}"});
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = rig_id(g, own)});
    rig_refuse(g, server_token_revoke, ERR_CONFLICT, "last with scope admin",
               (struct rig_ask){.id = "1"});
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = rig_id(g, lab.token)});
}

static bool told(struct rig *g, const char *text)
{
    SCOPED_BUF(b);
    uint64_t last, first_kept;
    struct err e;
    ok(server_events_read(g->server, &g->who, 0, 1000, &b, &last, &first_kept, &e) == 0,
       "events of tenant %u", g->who.tenant);
    return b.len && strstr(b.data, text);
}

/* Each is told what becomes of its own; the first is told everything. */
static void test_events(struct rig *g)
{
    rig_node(g, "e1", "");
    as_tenant(g, "lab", "eve");
    struct caller lab = g->who;
    (void)rig_bind(g, "base", "e1");
    uint32_t task = rig_task_of(g, "base", "e1", 0);
    rig_result(g, task, OUTCOME_OK, 0, "", 0);
    rig_settle(g);
    const char *line = arena_printf(
        &g->mem, "\"kind\":\"result\",\"actor\":\"\",\"input\":{\"id\":%u", task);
    ok(told(g, line), "a tenant is told how its own tasks end");
    ok(!told(g, "\"kind\":\"capacity.set\""), "and not what is the house's");
    g->who = first();
    ok(told(g, line), "the first is told too");
    as_tenant(g, "other", "finn");
    ok(!told(g, line), "others are not");
    g->who = first();
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = rig_id(g, lab.token)});
}

/* No more at once than its share, each by its own; and a wish that changes while they run. */
static void test_share_holds(struct rig *g)
{
    struct tenant_view v;
    rig_worker(g, 3);
    wish(g, "lab", 1);
    wish(g, "other", 2);
    const char *const nodes[] = {"m1", "m2", "m3", "m4"};
    for (size_t i = 0; i < 4; i++)
        rig_node(g, nodes[i], ", 'slots': 2");
    as_tenant(g, "lab", "carl");
    (void)rig_bind(g, "base", "m1,m2,m3,m4");
    uint32_t lab = g->who.tenant;
    ok(anneal_tenant(g->server->engine, lab, &v) && v.used == 1, "one of four runs");
    as_tenant(g, "other", "dora");
    (void)rig_bind(g, "wipe", "m1,m2,m3,m4");
    ok(anneal_tenant(g->server->engine, g->who.tenant, &v) && v.used == 2, "two of the other's");
    g->who = first();
    uint32_t held = 0;
    for (size_t i = 0; i < 4 && !held; i++) {
        uint32_t t = rig_task_of(g, "base", nodes[i], 0);
        held = peer_task_state(g, t) == TASK_READY ? t : 0;
    }
    rig_do(g, server_why, "Why", (struct rig_ask){.id = "task", .id2 = rig_id(g, held)});
    SCOPED_BUF(b);
    json_write(&b, g->reply.body, 0);
    has_text(buf_str(&b).s, "tenant lab has of workers", "why names the share");
    has_text(buf_str(&b).s, "anneal tenant set lab --places", "and the remedy");
    wish(g, "other", 1);
    wish(g, "lab", 2);
    rig_settle(g);
    ok(anneal_tenant(g->server->engine, lab, &v) && v.used <= 2, "what runs, runs on");
    shows(g, "other", 1, 1, 2, false);
    for (size_t i = 0; i < 4; i++) {
        uint32_t t = rig_task_of(g, "wipe", nodes[i], 0);
        if (peer_task_state(g, t) == TASK_RUNNING) {
            rig_result(g, t, OUTCOME_OK, 0, "", 0);
            break;
        }
    }
    shows(g, "other", 1, 1, 1, false);
    shows(g, "lab", 2, 2, 2, false);
    struct err e;
    ok(anneal_check(g->server->engine, &e) == 0, "the engine is sound");
}

int main(void)
{
    struct rig g;
    test_shares();
    rig_open(&g);
    test_life(&g);
    test_delete(&g);
    test_apart(&g);
    test_events(&g);
    test_share_holds(&g);
    rig_close(&g);
    return tap_done();
}
