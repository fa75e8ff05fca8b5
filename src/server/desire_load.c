/* desire_load.c - desired state from its rows, and what nobody wants any more */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "server/desire_i.h"

static int corrupt(struct err *e, const char *what, uint64_t id, const char *why)
{
    err_set(e, ERR_CORRUPT, "%s %llu: %s", what, (unsigned long long)id, why);
    return err_hint(e, "restore a backup with `anneal admin restore`");
}

static int load_name(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct desire *d = arg;
    const struct row_name *r = row;
    (void)t;
    if (r->id != d->names.n || desire_role_find(d, r->text))
        return corrupt(e, "name", r->id, "came twice, or one before it is missing");
    vec_push(&d->names, xstrndup(r->text.s, r->text.n));
    strmap_put(&d->by_name, r->text, r->id);
    return 0;
}

static int load_doc(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_doc *r = row;
    (void)t;
    (void)e;
    desire_doc_keep(arg, r->id, r->text);
    return 0;
}

static int load_trie(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_trie *r = row;
    (void)t;
    return pmap_load_node(((struct desire *)arg)->space, r->id, r->body, e);
}

static int load_snapshot(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct desire *d = arg;
    const struct row_snapshot *r = row;
    struct desire_history *h = desire_history(d, r->deployment);
    (void)t;
    uint32_t *place = r->state == SNAPSHOT_COMMITTED  ? &h->head
                      : r->state == SNAPSHOT_PROPOSED ? &h->proposal
                                                      : NULL;
    if (r->state >= SNAPSHOT_STATE_COUNT || r->id < d->snapshots.n || r->number <= h->last_number)
        return corrupt(e, "snapshot", r->id, "its state or its place in the history cannot be");
    if (place && *place)
        return corrupt(e, "snapshot", r->id, "there is another of its state");
    while (d->snapshots.n < r->id)
        (void)vec_add(&d->snapshots); /* of deployments that were deleted */
    struct snapshot *s = vec_add(&d->snapshots);
    *s = (struct snapshot){.id = r->id,
                           .deployment = r->deployment,
                           .number = r->number,
                           .catalog = r->catalog,
                           .oldest = r->oldest,
                           .source = r->source,
                           .operation = r->operation,
                           .state = r->state,
                           .author = {xstrndup(r->author.s, r->author.n), r->author.n},
                           .message = {xstrndup(r->message.s, r->message.n), r->message.n},
                           .created_ms = r->created_ms,
                           .ended_ms = r->ended_ms};
    h->last_number = r->number;
    if (place)
        *place = r->id;
    int rc = pmap_load_root(d->space, r->root, &s->root, e);
    if (rc >= 0)
        rc = pmap_load_root(d->space, r->base, &s->base, e);
    return rc >= 0 ? snapshot_check(s->root, e) : rc;
}

struct marking {
    const struct desire *d;
    struct arena mem;
    uint8_t *used; /* by document */
    struct err *e;
    int r;
};

static void mark(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    struct marking *m = ctx;
    struct snapshot_entry t;
    uintptr_t at;
    (void)old;
    if (m->r < 0 || !now || (m->r = snapshot_entry_decode(&m->mem, *now, &t, m->e)) < 0)
        return;
    if (t.user && !u64map_get(&m->d->doc_by_id, t.user, &at))
        m->r = corrupt(m->e, "doc", t.user, "is missing");
    else if (t.user)
        m->used[at] = 1;
    if (snapshot_key_role(key) >= m->d->names.n)
        m->r = corrupt(m->e, "name", snapshot_key_role(key), "is missing");
    arena_reset(&m->mem);
}

/* Snapshots of a deployment differ little from one to the next: each is compared with the one
 * before it, so that shared parts are looked at once. */
static int drop_documents(struct desire *d, struct err *e)
{
    struct marking m = {.d = d, .e = e, .used = xcalloc(d->docs.n + 1, 1)};
    struct pmap *before = NULL;
    size_t kept = 0;
    arena_init(&m.mem);
    for (size_t i = 1; i < d->snapshots.n && m.r >= 0; i++) {
        (void)pmap_diff(before, d->snapshots.at[i].root, mark, &m);
        (void)pmap_diff(d->snapshots.at[i].root, d->snapshots.at[i].base, mark, &m);
        before = d->snapshots.at[i].root;
    }
    u64map_done(&d->doc_by_id);
    memset(&d->doc_by_id, 0, sizeof d->doc_by_id);
    for (size_t i = 0; i < d->docs.n; i++) {
        if (m.used[i] || m.r < 0) {
            u64map_put(&d->doc_by_id, d->docs.at[i].id, kept);
            d->docs.at[kept++] = d->docs.at[i];
            continue;
        }
        struct row_doc row = {.id = d->docs.at[i].id};
        d->row(d->arg, ROWS_DOC, ROW_DELETE, &row);
        free(d->docs.at[i].text);
    }
    d->docs.n = kept;
    arena_done(&m.mem);
    free(m.used);
    return m.r;
}

int desire_load(struct desire *d, struct store *s, struct err *e)
{
    int r = store_each(s, ROWS_NAME, load_name, d, e);
    if (r >= 0)
        r = store_each(s, ROWS_DOC, load_doc, d, e);
    if (r >= 0)
        r = store_each(s, ROWS_TRIE, load_trie, d, e);
    if (r >= 0)
        r = pmap_load_end(d->space, e);
    if (r >= 0)
        r = store_each(s, ROWS_SNAPSHOT, load_snapshot, d, e);
    if (r < 0)
        return r;
    (void)pmap_load_sweep(d->space);
    desire_put_map(d);
    return drop_documents(d, e);
}
