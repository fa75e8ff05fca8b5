/* face_worker.c - workers: who there is, how they join, drain and go
 *
 * Shown are those who have joined and the worker inside the server, each with what it last said of
 * itself.  Joining needs no token but the invitation; everything that concerns credentials is for
 * administrators.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/enlist.h"
#include "server/relay.h"
#include "server/server_i.h"
#include "server/token_text.h"
#include "server/workers.h"

enum { TTL_MS = 3600 * 1000, TTL_MOST_MS = 24 * 3600 * 1000, WORKERS_MOST = 10000 };

/* --- showing --- */

/* What it said last; NULL: it is not heard of. */
static const struct worker_info *info_of(const struct server *s, const char *name)
{
    const struct worker_info *w = workers_find(s, name);
    return w && w->capacity > 0 ? w : NULL;
}

static const char *state_of(const struct server *s, const char *name, const struct worker_info *w,
                            const struct enlisted *who)
{
    if (!w || !workers_attached(s, name))
        return "silent";
    return w->draining || (who && who->draining) ? "draining" : "attached";
}

static struct value *view_worker(struct server *s, struct arena *a, const char *name,
                                 const struct enlisted *who)
{
    const struct worker_info *w = info_of(s, name);
    struct value *v = value_map(a), *jigs = value_list(a);
    uint64_t now = server_now(s);
    for (size_t i = 0; w && i < w->jigs.n; i++)
        value_add(a, jigs, value_text(a, w->jigs.at[i]));
    value_put_text(a, v, "name", name);
    value_put_text(a, v, "state", state_of(s, name, w, who));
    value_put_int(a, v, "capacity", w ? w->capacity : 0);
    value_put_int(a, v, "running", w ? w->running : 0);
    value_set(a, v, "labels", who ? view_json(a, who->labels) : value_map(a));
    value_set(a, v, "jigs", jigs);
    if (w)
        value_set(a, v, "plugins", view_worker_plugins(a, w));
    if (w)
        value_put_int(a, v, "last_seen_ms", now > w->seen_ms ? (int64_t)(now - w->seen_ms) : 0);
    else
        value_set(a, v, "last_seen_ms", value_null(a));
    if (w && w->host)
        value_put_text(a, v, "host", w->host);
    if (w && w->version)
        value_put_text(a, v, "version", w->version);
    value_put_text(a, v, "created_at", who ? view_time(a, who->created_ms) : NULL);
    value_put_bool(a, v, "draining", who && who->draining);
    value_put_int(a, v, "rev", who ? who->rev : 1);
    return v;
}

int server_worker_list(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    struct page p;
    uint64_t id = 0; /* those without a row come first */
    int rc = page_begin(&p, c, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->workers.n; i++) {
        const char *name = s->workers.at[i]->name;
        if (info_of(s, name) && !enlist_named(s, name) && page_wants(&p, ++id))
            page_add(&p, c, view_worker(s, c->mem, name, NULL));
    }
    for (const struct enlisted *w = enlist_next(s, 0); w; w = enlist_next(s, w->id))
        if (w->tenant == c->who->tenant && page_wants(&p, (uint64_t)WORKERS_MOST + w->id))
            page_add(&p, c, view_worker(s, c->mem, w->name, w));
    page_end(&p, c, r);
    return 0;
}

int server_worker_get(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    const struct enlisted *w = enlist_named(s, c->id[0]);
    if (w ? w->tenant != c->who->tenant : !info_of(s, c->id[0]))
        return face_not_found(e, "worker", c->id[0]);
    r->body = view_worker(s, c->mem, c->id[0], w);
    r->rev = w ? w->rev : 1;
    r->live = true;
    return 0;
}

/* --- changing --- */

static int worker_find(struct server *s, const struct server_call *c, const struct enlisted **ret,
                       struct err *e)
{
    *ret = enlist_named(s, c->id[0]);
    if (*ret && (*ret)->tenant == c->who->tenant)
        return face_match(c, (*ret)->rev, "worker", c->id[0], e);
    if (*ret || !info_of(s, c->id[0]))
        return face_not_found(e, "worker", c->id[0]);
    err_set(e, ERR_CONFLICT, "worker %s is part of the server", c->id[0]);
    return err_hint(e, "the setting worker_enabled: false does without it");
}

int server_worker_patch(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const struct value *labels = value_get(c->body, "labels");
    const struct enlisted *w;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = worker_find(s, c, &w, e)) < 0)
        return rc;
    bool draining = value_as_bool(value_get(c->body, "draining"), w->draining);
    if (labels || draining != w->draining)
        enlist_change(s, c, w, labels, draining);
    workers_capacity(s);
    r->body = view_worker(s, c->mem, w->name, w);
    r->rev = w->rev;
    r->live = true;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_worker_delete(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    const struct enlisted *w;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = worker_find(s, c, &w, e)) < 0)
        return rc;
    enlist_drop(s, c, w);
    relay_hang_up(s, c->id[0]);
    r->group = commit_open_group(s->commit);
    return 0;
}

/* --- joining --- */

static int name_check(const char *name, struct err *e)
{
    if (text_is_name(str_of(name)) && strcmp(name, "embedded") != 0) /* that is inside the server */
        return 0;
    err_set(e, ERR_INVALID, "\"%s\" is not a name for a worker", name);
    err_at(e, "/name");
    return err_hint(e, "lower-case letters, digits and . _ -, beginning with a letter or digit");
}

int server_worker_token(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    uint64_t ttl = (uint64_t)value_as_int(value_get(c->body, "ttl_ms"), TTL_MS);
    uint64_t until = server_wall_ms() + (ttl < TTL_MOST_MS ? ttl : TTL_MOST_MS);
    char secret[TOKEN_TEXT];
    struct value *v = value_map(c->mem);
    int rc = server_writable(s, e);
    if (rc < 0 || (*name && (rc = name_check(name, e)) < 0) ||
        (rc = token_text_make(TOKEN_PREFIX_JOIN, secret, e)) < 0)
        return rc;
    enlist_invite(s, c, name, value_get(c->body, "labels"), until, secret);
    value_put_text(c->mem, v, "secret", secret);
    value_put_text(c->mem, v, "fingerprint", s->fingerprint);
    value_put_text(c->mem, v, "name", *name ? name : NULL);
    value_put_text(c->mem, v, "expires_at", view_time(c->mem, until));
    sodium_memzero(secret, sizeof secret);
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}

static int name_free(const struct server *s, const struct server_call *c, const char *name,
                     const struct enlist_invite *by, struct err *e)
{
    const struct enlisted *w = enlist_named(s, name);
    uint32_t n = 0;
    if (w && w->tenant != by->tenant)
        return err_set(e, ERR_EXISTS, "the name %s is taken", name);
    if (w && workers_attached(s, name) && !value_as_bool(value_get(c->body, "replace"), false)) {
        err_set(e, ERR_EXISTS, "a worker %s is at work", name);
        err_at(e, "/name");
        return err_hint(e, "join under another --name, or with --replace to take its place");
    }
    for (const struct enlisted *at = enlist_next(s, 0); at; at = enlist_next(s, at->id))
        n++;
    return w || n < WORKERS_MOST ? 0 : err_set(e, ERR_LIMIT, "more than %d workers", WORKERS_MOST);
}

int server_worker_join(struct server *s, const struct server_call *c, struct server_reply *r,
                       struct err *e)
{
    const char *name = value_as_text(value_get(c->body, "name"), "");
    const char *secret = value_as_text(value_get(c->body, "secret"), "");
    const struct enlist_invite *by;
    char credential[TOKEN_TEXT];
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = name_check(name, e)) < 0 ||
        (rc = enlist_invited(s, secret, name, &by, e)) < 0 ||
        (rc = name_free(s, c, name, by, e)) < 0 ||
        (rc = token_text_make(TOKEN_PREFIX_WORKER, credential, e)) < 0)
        return rc;
    struct caller who = {.tenant = by->tenant};
    struct server_call call = *c;
    snprintf(who.name, sizeof who.name, "%s", name);
    call.who = &who;
    relay_hang_up(s, name);
    (void)enlist_join(s, &call, name, by, value_get(c->body, "labels"), credential);
    struct value *v = value_map(c->mem);
    value_put_text(c->mem, v, "name", name);
    value_put_text(c->mem, v, "credential", credential);
    value_put_text(c->mem, v, "ca", s->ca);
    value_put_bool(c->mem, v, "own_ca", s->own_ca);
    sodium_memzero(credential, sizeof credential);
    r->body = v;
    r->group = commit_open_group(s->commit);
    return 0;
}
