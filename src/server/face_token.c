/* face_token.c - who may do what: tokens made, listed, revoked, and recognised
 *
 * Only the hash of a token is kept (token_text.h).  The secret is shown once, in the answer to its
 * creation; the first one goes to a file that only the server's user may read.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "server/enlist.h"
#include "server/tenants.h"
#include "server/token_text.h"
#include "sys/fs.h"

/* SCOPE_NONE if there is no such scope. */
static enum scope scope_find(const char *name)
{
    static const char *const names[] = {[SCOPE_ANNOUNCE] = "announce",
                                        [SCOPE_READ] = "read",
                                        [SCOPE_OPERATE] = "operate",
                                        [SCOPE_ADMIN] = "admin"};
    for (enum scope s = SCOPE_ANNOUNCE; s <= SCOPE_ADMIN; s++)
        if (strcmp(name, names[s]) == 0)
            return s;
    return SCOPE_NONE;
}

static bool token_live(const struct inv_token *t)
{
    return t->name && !t->revoked;
}

static struct value *view_token(struct server *s, struct arena *a, uint32_t id)
{
    const struct inv_token *t = &s->inv.tokens.at[id];
    struct value *v = value_map(a);
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "name", t->name);
    value_put_text(a, v, "scope", t->scope);
    value_put_text(a, v, "tenant", tenant_name(s, t->tenant));
    value_put_text(a, v, "created_at", view_time(a, t->created_ms));
    value_put_bool(a, v, "revoked", t->revoked);
    return v;
}

/* Row, journal and memory of a new token.  Returns its id. */
static uint32_t token_add(struct server *s, const struct server_call *c, uint32_t tenant,
                          const char *name, const char *scope, const char *token)
{
    char hash[TOKEN_HASH_TEXT];
    struct commit_meta *meta = commit_meta(s->commit);
    struct commit_note note = server_note(c, NULL);

    token_text_hash(token, hash);
    if (meta->next_token == 0)
        meta->next_token = 1;
    struct row_token row = {.id = meta->next_token++,
                            .tenant = tenant,
                            .realm = 1,
                            .name = str_of(name),
                            .hash = str_of(hash),
                            .scope = str_of(scope),
                            .created_ms = note.wall_ms};
    struct event ev = {.kind = EVENT_TOKEN, .id = row.id};
    commit_row(s->commit, ROWS_TOKEN, ROW_INSERT, &row);
    commit_inventory(s->commit, &ev, &note);
    inventory_add_token(&s->inv, &row);
    server_touch(s);
    return row.id;
}

int token_make_admin(struct server *s, struct err *e)
{
    char token[TOKEN_TEXT], line[TOKEN_TEXT + 1];
    char *path = fs_join(s->data_dir, "admin.token");
    int r = token_text_make(TOKEN_PREFIX, token, e);
    if (r >= 0) {
        /* Should the group of this token be lost, the next start is a first start again and
         * replaces the file: it never names a token for longer than the server that did not keep
         * it. */
        size_t n = (size_t)snprintf(line, sizeof line, "%s\n", token);
        r = fs_write_atomic(path, line, n, 0600, e);
    }
    if (r >= 0) {
        (void)token_add(s, NULL, TENANT_FIRST, "admin", "admin", token);
        log_line(LOG_INFO, "token.admin", LOGT("file", path));
    }
    sodium_memzero(token, sizeof token);
    sodium_memzero(line, sizeof line);
    free(path);
    return r;
}

/* The first tenant gives tokens to the others, so it sees theirs and takes them away. */
static bool token_in_sight(const struct server_call *c, const struct inv_token *t)
{
    return t->name && (c->who->tenant == TENANT_FIRST || c->who->tenant == t->tenant);
}

int server_token_list(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    struct page p;
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (uint32_t id = 1; id < s->inv.tokens.n; id++)
        if (token_in_sight(c, &s->inv.tokens.at[id]) && page_wants(&p, id))
            page_add(&p, c, view_token(s, c->mem, id));
    page_end(&p, c, r);
    return 0;
}

static int token_tenant(const struct server *s, const struct server_call *c, uint32_t *ret_tenant,
                        struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "tenant"), NULL);
    *ret_tenant = name ? tenant_find(s, name) : c->who->tenant;
    if (*ret_tenant == c->who->tenant || (*ret_tenant && c->who->tenant == TENANT_FIRST))
        return 0;
    if (c->who->tenant != TENANT_FIRST) {
        err_set(e, ERR_FORBIDDEN, "only tenant %s makes tokens of other tenants",
                tenant_name(s, TENANT_FIRST));
        return err_at(e, "/tenant");
    }
    err_set(e, ERR_INVALID, "there is no tenant %s", name);
    err_at(e, "/tenant");
    return err_hint(e, "`anneal tenant add %s` makes it", name);
}

/* The journal names who did what by the token's name: two of a tenant that work must not share
 * one. */
static int token_check(const struct server *s, uint32_t tenant, const char *name, struct err *e)
{
    if (!text_is_name(str_of(name))) {
        err_set(e, ERR_INVALID, "\"%s\" is not a name for a token", name);
        err_at(e, "/name");
        return err_hint(e,
                        "lower-case letters, digits and . _ -, beginning with a letter or digit");
    }
    for (uint32_t id = 1; id < s->inv.tokens.n; id++) {
        const struct inv_token *t = &s->inv.tokens.at[id];
        if (!token_live(t) || t->tenant != tenant || strcmp(t->name, name) != 0)
            continue;
        err_set(e, ERR_EXISTS, "there is a token %s already", name);
        err_at(e, "/name");
        return err_hint(e, "choose another name, or `anneal token revoke %u`", id);
    }
    return 0;
}

int server_token_create(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    char token[TOKEN_TEXT];
    const char *name = value_as_text(value_get(c->body, "name"), "");
    const char *scope = value_as_text(value_get(c->body, "scope"), "");
    uint32_t tenant;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = token_tenant(s, c, &tenant, e)) < 0 ||
        (rc = token_check(s, tenant, name, e)) < 0)
        return rc;
    if (scope_find(scope) == SCOPE_NONE) {
        err_set(e, ERR_INVALID, "there is no scope \"%s\"", scope);
        err_at(e, "/scope");
        return err_hint(e, "announce, read, operate or admin");
    }
    if ((rc = token_text_make(TOKEN_PREFIX, token, e)) < 0)
        return rc;
    uint32_t id = token_add(s, c, tenant, name, scope, token);
    struct value *v = view_token(s, c->mem, id);
    value_put_text(c->mem, v, "secret", token);
    sodium_memzero(token, sizeof token);
    r->body = v;
    r->location = arena_printf(c->mem, "/v1/tokens/%u", id);
    r->group = commit_open_group(s->commit);
    return 0;
}

/* The first tenant can make admins of the others, and nobody can make one of its own. */
static bool last_admin(const struct server *s, uint32_t id)
{
    if (s->inv.tokens.at[id].tenant != TENANT_FIRST)
        return false;
    for (uint32_t i = 1; i < s->inv.tokens.n; i++) {
        const struct inv_token *t = &s->inv.tokens.at[i];
        if (i != id && token_live(t) && t->tenant == TENANT_FIRST &&
            scope_find(t->scope) == SCOPE_ADMIN)
            return false;
    }
    return scope_find(s->inv.tokens.at[id].scope) == SCOPE_ADMIN;
}

int server_token_revoke(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    uint32_t id;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_u32(c->id[0], "token", &id, e)) < 0)
        return rc;
    if (id >= s->inv.tokens.n || !token_in_sight(c, &s->inv.tokens.at[id]))
        return face_not_found(e, "token", c->id[0]);
    struct inv_token *t = &s->inv.tokens.at[id];
    if (t->revoked)
        return 0; /* as wanted */
    if (last_admin(s, id)) {
        err_set(e, ERR_CONFLICT, "token %s is the last with scope admin", t->name);
        return err_hint(e, "make another first: `anneal token add NAME --scope admin`");
    }
    struct row_token row = {.id = id, .revoked = 1};
    struct event ev = {.kind = EVENT_TOKEN, .id = id};
    struct commit_note note = server_note(c, NULL);
    commit_row(s->commit, ROWS_TOKEN, ROW_UPDATE, &row);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
    t->revoked = true;
    r->group = commit_open_group(s->commit);
    return 0;
}

static int unknown_token(struct err *e, const char *text)
{
    err_set(e, ERR_UNAUTHORIZED, "%s", text);
    return err_hint(e, "the first token is in admin.token of the server's data directory; "
                       "`anneal token add` makes others");
}

int server_authenticate(struct server *s, const char *token, struct caller *ret_who, struct err *e)
{
    char hash[TOKEN_HASH_TEXT];
    uintptr_t id;
    if (!token || !*token)
        return unknown_token(e, "a token is needed");
    if (token_text_is(token, TOKEN_PREFIX_WORKER))
        return enlist_authenticate(s, token, ret_who, e);
    if (!token_text_is(token, TOKEN_PREFIX))
        return unknown_token(e, "this is no token of ours");
    token_text_hash(token, hash);
    if (!strmap_get(&s->inv.token_by_hash, str_of(hash), &id))
        return unknown_token(e, "nobody has this token");
    const struct inv_token *t = &s->inv.tokens.at[id];
    if (t->revoked)
        return unknown_token(e, "this token was revoked");
    *ret_who = (struct caller){
        .token = (uint32_t)id, .tenant = t->tenant, .scope = scope_find(t->scope)};
    snprintf(ret_who->name, sizeof ret_who->name, "%s", t->name);
    return 0;
}
