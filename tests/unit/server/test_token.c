/* Tokens: made, shown once, recognised, revoked, and kept over a restart as hashes only. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server_rig.h"

#include <sys/stat.h>

static char *admin_token(struct rig *g)
{
    struct buf b = {0};
    struct err e;
    char *path = fs_join(g->dir, "admin.token");
    struct stat st;
    ok(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600, "admin.token is for its owner only");
    ok(fs_read(path, 1000, &b, &e) == 0, "admin.token is there");
    is_int(b.len, 4 + 43 + 1, "one line");
    char *token = arena_strndup(&g->mem, b.data, b.len - 1);
    buf_done(&b);
    free(path);
    return token;
}

static void test_admin(struct rig *g)
{
    struct caller who = {0};
    char *token = admin_token(g);
    ok(strncmp(token, "anl_", 4) == 0, "a token says what it is");
    is_int((int64_t)strspn(token + 4, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_"),
           43, "and fits a URL and a header");
    is_int(server_authenticate(g->server, token, &who, &g->err), 0, "it is recognised");
    is_int(who.scope, SCOPE_ADMIN, "as admin");
    is_text(who.name, "admin", "by name");
    is_int(who.tenant, 1, "of a tenant");
    is_int(who.token, 1, "as the first token");
    rig_restart(g);
    is_int(server_authenticate(g->server, token, &who, &g->err), 0, "also after a restart");
    is_text(admin_token(g), token, "which makes no other");
}

static void test_unknown(struct rig *g)
{
    char *token = admin_token(g);
    struct caller who = {.token = 77};
    char other[64];
    const char *const bad[] = {NULL, "", "anl_", "secret", other, token + 1};
    snprintf(other, sizeof other, "%s", token);
    other[10] = other[10] == 'A' ? 'B' : 'A';
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        is_int(server_authenticate(g->server, bad[i], &who, &g->err), -ERR_UNAUTHORIZED,
               "token %zu is refused", i);
        has_text(g->err.hint, "admin.token", "with a way to get one");
        ok(!strstr(g->err.text, token + 4), "and without telling a secret");
    }
    is_int(who.token, 77, "a refusal writes nothing");
}

static const char *made(struct rig *g, const char *name, const char *scope, const char **ret_id)
{
    rig_do(g, server_token_create, "Token",
           (struct rig_ask){
               .body = arena_printf(&g->mem, "{'name': '%s', 'scope': '%s'}", name, scope)});
    *ret_id = rig_id(g, (uint32_t)rig_int(g, "id"));
    has_text(g->reply.location, "/v1/tokens/", "a token has a place");
    ok(g->reply.group > 0, "the answer waits for the store");
    return arena_strdup(&g->mem, rig_text(g, "secret") ? rig_text(g, "secret") : "");
}

static void test_life(struct rig *g)
{
    static const struct {
        const char *scope;
        enum scope is;
    } scopes[] = {{"read", SCOPE_READ}, {"operate", SCOPE_OPERATE}, {"admin", SCOPE_ADMIN}};
    const char *id[3], *secret[3];
    struct caller who;
    for (size_t i = 0; i < 3; i++) {
        secret[i] = made(g, scopes[i].scope[0] == 'a' ? "second" : scopes[i].scope, scopes[i].scope,
                         &id[i]);
        is_int(server_authenticate(g->server, secret[i], &who, &g->err), 0, "%s works at once",
               scopes[i].scope);
        is_int(who.scope, scopes[i].is, "with its scope");
    }
    ok(strcmp(secret[0], secret[1]) != 0, "no two are alike");
    rig_list(g, server_token_list, "Token", (struct rig_ask){0}, 4);
    ok(!rig_at(g, "items.1.secret") && !rig_at(g, "items.1.hash"), "lists show no secret");
    rig_refuse(g, server_token_create, ERR_EXISTS, "anneal token revoke",
               (struct rig_ask){.body = "{'name': 'read', 'scope': 'read'}"});
    rig_refuse(g, server_token_create, ERR_INVALID, "/scope",
               (struct rig_ask){.body = "{'name': 'root', 'scope': 'root'}"});
    rig_refuse(g, server_token_create, ERR_INVALID, "/name",
               (struct rig_ask){.body = "{'name': 'No Name', 'scope': 'read'}"});

    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = id[0]});
    ok(!g->reply.body && g->reply.group > 0, "revoking answers with nothing, once it is durable");
    is_int(server_authenticate(g->server, secret[0], &who, &g->err), -ERR_UNAUTHORIZED,
           "a revoked token is nobody's");
    has_text(g->err.text, "revoked", "and says why");
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = id[0]});
    is_int((int64_t)g->reply.group, 0, "revoking twice changes nothing");
    const char *again;
    made(g, "read", "read", &again);
    ok(strcmp(again, id[0]) != 0, "a name is free again, a number is not");
    rig_refuse(g, server_token_revoke, ERR_NOT_FOUND, "there is no token 99",
               (struct rig_ask){.id = "99"});
    rig_refuse(g, server_token_revoke, ERR_NOT_FOUND, "token", (struct rig_ask){.id = "x"});

    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = "1"});
    rig_refuse(g, server_token_revoke, ERR_CONFLICT, "last with scope admin",
               (struct rig_ask){.id = id[2]});
    rig_do(g, server_token_revoke, NULL, (struct rig_ask){.id = id[1]});
    rig_settle(g);
    rig_restart(g);
    for (size_t i = 0; i < 3; i++)
        is_int(server_authenticate(g->server, secret[i], &who, &g->err) == 0, i == 2,
               "after a restart %s is as before", scopes[i].scope);
    rig_list(g, server_token_list, "Token", (struct rig_ask){.query = "{'limit': '2'}"}, 2);
    is_int(rig_int(g, "total"), 5, "all tokens are kept");
    ok(value_as_bool(rig_at(g, "items.0.revoked"), false), "revoked ones say so");
}

/* Nothing on the disk but admin.token may hold a secret. */
static void test_stored(struct rig *g)
{
    static const char *const files[] = {"anneal.db", "anneal.db-wal"};
    const char *id;
    const char *secret = made(g, "hidden", "read", &id);
    rig_settle(g);
    for (size_t i = 0; i < 2; i++) {
        struct buf b = {0};
        struct err e;
        char *path = fs_join(g->dir, files[i]);
        if (fs_read(path, 64 << 20, &b, &e) == 0)
            ok(!memmem(b.data, b.len, secret + 4, 43), "%s does not hold the secret", files[i]);
        buf_done(&b);
        free(path);
    }
}

/* The file cannot be written: the first start fails and says where. */
static void test_no_file(struct rig *g)
{
    char *path = fs_join(g->dir, "admin.token"), *was = g->server->data_dir;
    char missing[] = "/nonexistent/directory";
    size_t tokens = g->server->inv.tokens.n;
    g->server->data_dir = missing;
    ok(token_make_admin(g->server, &g->err) < 0, "a token that cannot be handed over is not made");
    is_int((int64_t)g->server->inv.tokens.n, (int64_t)tokens, "and not kept");
    g->server->data_dir = was;
    free(path);
}

int main(void)
{
    struct rig g;
    rig_open(&g);
    test_admin(&g);
    test_unknown(&g);
    test_life(&g);
    test_stored(&g);
    test_no_file(&g);
    rig_close(&g);
    return tap_done();
}
