/* enlist.c - workers and invitations: rows and memory */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/enlist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "server/token_text.h"

enum {
    STALE_MS = 24 * 3600 * 1000
}; /* so long a spent invitation can be told from no invitation */

struct enlist {
    VEC(struct enlisted *) at; /* by id */
    struct strmap by_name, by_hash;
    VEC(struct enlist_invite *) invites; /* by id */
    uint32_t last_id, last_invite;
};

static void enlisted_free(struct enlisted *w)
{
    free(w->name);
    free(w->hash);
    free(w->labels);
    free(w);
}

static void invite_free(struct enlist_invite *i)
{
    free(i->hash);
    free(i->name);
    free(i->labels);
    free(i);
}

struct enlist *enlist_new(void)
{
    return xcalloc(1, sizeof(struct enlist));
}

void enlist_free(struct enlist *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++)
        enlisted_free(all->at.at[i]);
    for (size_t i = 0; i < all->invites.n; i++)
        invite_free(all->invites.at[i]);
    vec_done(&all->at);
    vec_done(&all->invites);
    strmap_done(&all->by_name);
    strmap_done(&all->by_hash);
    free(all);
}

/* --- finding --- */

static struct enlisted *found(const struct strmap *by, const char *key)
{
    uintptr_t at;
    return strmap_get(by, str_of(key), &at) ? (struct enlisted *)at : NULL;
}

const struct enlisted *enlist_named(const struct server *s, const char *name)
{
    return found(&s->enlist->by_name, name);
}

const struct enlisted *enlist_next(const struct server *s, uint32_t after)
{
    for (size_t i = 0; i < s->enlist->at.n; i++)
        if (s->enlist->at.at[i]->id > after)
            return s->enlist->at.at[i];
    return NULL;
}

bool enlist_draining(const struct server *s, const char *name)
{
    const struct enlisted *w = enlist_named(s, name);
    return w && w->draining;
}

int enlist_authenticate(const struct server *s, const char *credential, struct caller *ret_who,
                        struct err *e)
{
    char hash[TOKEN_HASH_TEXT];
    token_text_hash(credential, hash);
    const struct enlisted *w = found(&s->enlist->by_hash, hash);
    if (!w) {
        err_set(e, ERR_UNAUTHORIZED, "no worker has this credential: it was removed, or replaced");
        return err_hint(e, "`anneal worker token` on the server's side, then anneal-worker --join");
    }
    *ret_who = (struct caller){.token = w->id, .tenant = w->tenant, .scope = SCOPE_WORKER};
    snprintf(ret_who->name, sizeof ret_who->name, "%s", w->name);
    return 0;
}

static int no_invite(struct err *e, const char *text)
{
    err_set(e, ERR_REFUSED, "%s", text);
    err_at(e, "/secret");
    return err_hint(e, "`anneal worker token` makes another: one use, one hour");
}

int enlist_invited(const struct server *s, const char *secret, const char *name,
                   const struct enlist_invite **ret, struct err *e)
{
    char hash[TOKEN_HASH_TEXT];
    const struct enlist_invite *at = NULL;
    if (token_text_is(secret, TOKEN_PREFIX_JOIN)) {
        token_text_hash(secret, hash);
        for (size_t i = 0; i < s->enlist->invites.n && !at; i++)
            if (strcmp(s->enlist->invites.at[i]->hash, hash) == 0)
                at = s->enlist->invites.at[i];
    }
    if (!at)
        return no_invite(e, "this is no token to join with");
    if (at->used)
        return no_invite(e, "this token was used already");
    if (server_wall_ms() > at->until_ms)
        return no_invite(e, "this token is too old");
    if (at->name[0] && strcmp(at->name, name) != 0) {
        err_set(e, ERR_REFUSED, "this token is for a worker called %s", at->name);
        return err_hint(e, "join with --name %s", at->name);
    }
    *ret = at;
    return 0;
}

/* --- changing --- */

static void worker_row(struct server *s, enum row_verb verb, const struct enlisted *w)
{
    struct row_worker row = {.id = w->id,
                             .tenant = w->tenant,
                             .realm = 1,
                             .name = str_of(w->name),
                             .created_ms = w->created_ms,
                             .rev = w->rev,
                             .hash = str_of(w->hash),
                             .labels = str_of(w->labels),
                             .draining = w->draining};
    commit_row(s->commit, ROWS_WORKER, verb, &row);
}

static void worker_tell(struct server *s, const struct server_call *c, const struct enlisted *w,
                        const char *what)
{
    struct event ev = {.kind = EVENT_WORKER, .id = w->id};
    struct commit_note note = server_note(c, NULL);
    struct value *v = value_map(c->mem);
    SCOPED_BUF(more);
    value_put_text(c->mem, v, "name", w->name);
    value_put_text(c->mem, v, "what", what);
    json_write(&more, v, 0);
    note.more = buf_str(&more);
    commit_inventory(s->commit, &ev, &note);
    server_touch(s);
}

static char *labels_text(const struct value *labels)
{
    struct buf b = {0};
    if (labels && labels->kind == VALUE_MAP)
        json_write_canonical(&b, labels);
    else
        buf_puts(&b, "{}");
    return buf_take(&b, NULL);
}

static void invite_keep(struct enlist *all, struct enlist_invite *i)
{
    vec_push(&all->invites, i);
    if (i->id > all->last_invite)
        all->last_invite = i->id;
}

/* Those whom nobody asks about any more. */
static void invites_expire(struct server *s)
{
    struct enlist *all = s->enlist;
    uint64_t now = server_wall_ms();
    size_t keep = 0;
    for (size_t k = 0; k < all->invites.n; k++) {
        struct enlist_invite *i = all->invites.at[k];
        if (now < i->until_ms + STALE_MS) {
            all->invites.at[keep++] = i;
            continue;
        }
        struct row_invite row = {.id = i->id};
        commit_row(s->commit, ROWS_INVITE, ROW_DELETE, &row);
        invite_free(i);
    }
    all->invites.n = keep;
}

void enlist_invite(struct server *s, const struct server_call *c, const char *name,
                   const struct value *labels, uint64_t until_ms, const char *secret)
{
    struct enlist_invite *i = xcalloc(1, sizeof *i);
    char hash[TOKEN_HASH_TEXT];
    invites_expire(s);
    token_text_hash(secret, hash);
    *i = (struct enlist_invite){.id = s->enlist->last_invite + 1,
                                .tenant = c->who->tenant,
                                .hash = xstrdup(hash),
                                .name = xstrdup(name),
                                .labels = labels_text(labels),
                                .until_ms = until_ms};
    struct row_invite row = {.id = i->id,
                             .tenant = i->tenant,
                             .realm = 1,
                             .hash = str_of(i->hash),
                             .name = str_of(i->name),
                             .labels = str_of(i->labels),
                             .until_ms = i->until_ms};
    commit_row(s->commit, ROWS_INVITE, ROW_INSERT, &row);
    invite_keep(s->enlist, i);
    server_touch(s);
}

static void enlisted_keep(struct enlist *all, struct enlisted *w)
{
    vec_push(&all->at, w);
    strmap_put(&all->by_name, str_of(w->name), (uintptr_t)w);
    strmap_put(&all->by_hash, str_of(w->hash), (uintptr_t)w);
    if (w->id > all->last_id)
        all->last_id = w->id;
}

static void invite_use(struct server *s, const struct enlist_invite *by)
{
    struct enlist_invite *own = (struct enlist_invite *)(uintptr_t)by;
    struct row_invite row = {.id = by->id, .used = 1};
    own->used = true;
    commit_row(s->commit, ROWS_INVITE, ROW_UPDATE, &row);
}

const struct enlisted *enlist_join(struct server *s, const struct server_call *c, const char *name,
                                   const struct enlist_invite *by, const struct value *labels,
                                   const char *credential)
{
    struct enlist *all = s->enlist;
    struct enlisted *w = found(&all->by_name, name);
    const struct value *given = labels ? labels : value_map(c->mem);
    char hash[TOKEN_HASH_TEXT];
    bool new = !w;
    token_text_hash(credential, hash);
    invite_use(s, by);
    labels = value_merge(c->mem, given, view_json(c->mem, by->labels));
    if (new) {
        w = xcalloc(1, sizeof *w);
        *w = (struct enlisted){.id = all->last_id + 1,
                               .tenant = by->tenant,
                               .name = xstrdup(name),
                               .hash = xstrdup(hash),
                               .created_ms = server_wall_ms()};
        enlisted_keep(all, w);
    } else {
        strmap_del(&all->by_hash, str_of(w->hash));
        free(w->hash);
        w->hash = xstrdup(hash);
        strmap_put(&all->by_hash, str_of(w->hash), (uintptr_t)w);
    }
    free(w->labels);
    w->labels = labels_text(labels);
    w->draining = false;
    w->rev++;
    worker_row(s, new ? ROW_INSERT : ROW_UPDATE, w);
    worker_tell(s, c, w, new ? "joined" : "joined again");
    return w;
}

void enlist_change(struct server *s, const struct server_call *c, const struct enlisted *w,
                   const struct value *labels, bool draining)
{
    struct enlisted *own = (struct enlisted *)(uintptr_t)w;
    const char *what = draining == w->draining ? "changed" : draining ? "draining" : "undrained";
    if (labels) {
        free(own->labels);
        own->labels = labels_text(labels);
    }
    own->draining = draining;
    own->rev++;
    worker_row(s, ROW_UPDATE, w);
    worker_tell(s, c, w, what);
}

void enlist_drop(struct server *s, const struct server_call *c, const struct enlisted *w)
{
    struct enlist *all = s->enlist;
    struct enlisted *own = (struct enlisted *)(uintptr_t)w;
    struct row_worker row = {.id = w->id};
    size_t keep = 0;
    commit_row(s->commit, ROWS_WORKER, ROW_DELETE, &row);
    worker_tell(s, c, w, "removed");
    strmap_del(&all->by_name, str_of(w->name));
    strmap_del(&all->by_hash, str_of(w->hash));
    for (size_t i = 0; i < all->at.n; i++)
        if (all->at.at[i] != own)
            all->at.at[keep++] = all->at.at[i];
    all->at.n = keep;
    enlisted_free(own);
}

/* --- restart --- */

static int load_worker(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_worker *r = row;
    struct enlisted *w = xcalloc(1, sizeof *w);
    (void)t;
    (void)e;
    *w = (struct enlisted){.id = r->id,
                           .rev = r->rev,
                           .tenant = r->tenant,
                           .name = xstrndup(r->name.s, r->name.n),
                           .hash = xstrndup(r->hash.s, r->hash.n),
                           .labels = xstrndup(r->labels.s, r->labels.n),
                           .created_ms = r->created_ms,
                           .draining = r->draining != 0};
    enlisted_keep(arg, w);
    return 0;
}

static int load_invite(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_invite *r = row;
    struct enlist_invite *i = xcalloc(1, sizeof *i);
    (void)t;
    (void)e;
    *i = (struct enlist_invite){.id = r->id,
                                .tenant = r->tenant,
                                .hash = xstrndup(r->hash.s, r->hash.n),
                                .name = xstrndup(r->name.s, r->name.n),
                                .labels = xstrndup(r->labels.s, r->labels.n),
                                .until_ms = r->until_ms,
                                .used = r->used != 0};
    invite_keep(arg, i);
    return 0;
}

int enlist_load(struct server *s, struct err *e)
{
    int rc = store_each(s->store, ROWS_WORKER, load_worker, s->enlist, e);
    return rc < 0 ? rc : store_each(s->store, ROWS_INVITE, load_invite, s->enlist, e);
}
