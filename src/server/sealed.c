/* sealed.c - sealed rows against the key, row by row */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/sealed.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/text.h"
#include "server/vault.h"

struct look { /* over all rows */
    struct store *store;
    const char *data_dir;
    struct sealed_count count;
    struct arena *mem; /* NULL: nothing is to be forgotten */
    struct buf *lines;
    VEC(struct row_op) ops;
};

static bool opens(const struct look *l, const char *owner, struct str sealed)
{
    struct buf text = {0};
    struct err e;
    int rc = vault_open(l->data_dir, owner, sealed, &text, &e);
    vault_wipe(&text);
    return rc >= 0;
}

static struct str text_keep(struct arena *mem, struct str s)
{
    return (struct str){arena_strndup(mem, s.s, s.n), s.n};
}

static void forget_provider(struct look *l, const struct row_provider *r)
{
    struct row_provider *row = arena_new(l->mem, struct row_provider, 1);
    *row = *r;
    row->name = text_keep(l->mem, r->name);
    row->type = text_keep(l->mem, r->type);
    row->fields = text_keep(l->mem, r->fields);
    row->names = row->sealed = (struct str){"", 0};
    row->rev++;
    vec_push(&l->ops, ((struct row_op){.verb = ROW_UPDATE, .table = ROWS_PROVIDER, .row = row}));
    buf_printf(l->lines, "provider %.*s: %.*s\n", (int)r->name.n, r->name.s, (int)r->names.n,
               r->names.s);
}

static int deployment_name(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_deployment *r = row;
    (void)t;
    (void)e;
    buf_printf(arg, "cluster %.*s: ", (int)r->name.n, r->name.s);
    return 0;
}

static int forget_cluster(struct look *l, const struct row_credential *r, struct err *e)
{
    struct row_credential *row = arena_new(l->mem, struct row_credential, 1);
    row->id = r->id;
    vec_push(&l->ops, ((struct row_op){.verb = ROW_DELETE, .table = ROWS_CREDENTIAL, .row = row}));
    int rc = store_range(l->store, ROWS_DEPLOYMENT, r->id, r->id, false, 1, deployment_name,
                         l->lines, e);
    buf_printf(l->lines, "%.*s\n", (int)r->names.n, r->names.s);
    return rc;
}

/* Counts a sealed text; true if it does not open. */
static bool look_at(struct look *l, const char *kind, uint32_t id, struct str sealed)
{
    char owner[VAULT_OWNER_BYTES];
    vault_owner(owner, kind, id);
    if (opens(l, owner, sealed))
        return false;
    if (!l->count.shut++)
        snprintf(l->count.example, sizeof l->count.example, "%s", owner);
    return true;
}

static int look_provider(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct look *l = arg;
    const struct row_provider *r = row;
    (void)t;
    (void)e;
    if (!r->sealed.n)
        return 0;
    l->count.providers++;
    if (look_at(l, "provider", r->id, r->sealed) && l->mem)
        forget_provider(l, r);
    return 0;
}

static int look_cluster(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct look *l = arg;
    const struct row_credential *r = row;
    (void)t;
    if (!r->sealed.n)
        return 0;
    l->count.clusters++;
    return look_at(l, "cluster", r->id, r->sealed) && l->mem ? forget_cluster(l, r, e) : 0;
}

static int look_all(struct look *l, struct err *e)
{
    int rc = store_each(l->store, ROWS_PROVIDER, look_provider, l, e);
    return rc < 0 ? rc : store_each(l->store, ROWS_CREDENTIAL, look_cluster, l, e);
}

static int refuse(const struct look *l, struct err *e)
{
    const struct sealed_count *n = &l->count;
    struct err why;
    int rc = vault_key_check(l->data_dir, &why);
    const char *what = rc == -ERR_NOT_FOUND ? "is missing"
                       : rc < 0             ? "is damaged"
                                            : "is not the one that they were sealed with";
    SCOPED_BUF(who);
    if (n->providers)
        buf_puts(&who, text_count(n->providers, "provider").s);
    if (n->clusters)
        buf_printf(&who, "%s%s", n->providers ? " and " : "", text_count(n->clusters, "cluster").s);
    err_set(e, ERR_REFUSED, "values of %s are sealed, and %s %s", who.data, VAULT_KEY, what);
    err_at(e, "%s/%s", l->data_dir, VAULT_KEY);
    return err_hint(e, "put back " VAULT_KEY " from a backup or from the machine before; if it is "
                       "lost for good, `anneald --forget-secrets` takes away what it sealed, and "
                       "says what must be given again");
}

int sealed_check(struct store *s, const char *data_dir, struct sealed_count *ret, struct err *e)
{
    struct look l = {.store = s, .data_dir = data_dir};
    int rc = look_all(&l, e);
    if (rc < 0)
        return rc;
    *ret = l.count;
    return l.count.shut && l.count.shut == l.count.providers + l.count.clusters ? refuse(&l, e) : 0;
}

int sealed_forget(struct store *s, const char *data_dir, struct buf *ret_lines, struct err *e)
{
    SCOPED_ARENA(mem);
    struct look l = {.store = s, .data_dir = data_dir, .mem = &mem, .lines = ret_lines};
    int rc = look_all(&l, e);
    if (rc >= 0 && l.ops.n)
        rc = store_commit(s, l.ops.at, l.ops.n, e);
    vec_done(&l.ops);
    return rc;
}
