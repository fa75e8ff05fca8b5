/* desire.c - names, documents and snapshots change, and say which rows do */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/desire.h"
#include "server/desire_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

struct desire *desire_new(desire_row_f *row, void *arg)
{
    struct desire *d = xcalloc(1, sizeof *d);
    d->row = row;
    d->arg = arg;
    d->space = pmap_space_new(1);
    vec_push(&d->names, NULL);
    (void)vec_add(&d->snapshots);
    return d;
}

void desire_free(struct desire *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->names.n; i++)
        free(d->names.at[i]);
    for (size_t i = 0; i < d->snapshots.n; i++) {
        free((char *)d->snapshots.at[i].author.s);
        free((char *)d->snapshots.at[i].message.s);
    }
    for (size_t i = 0; i < d->docs.n; i++)
        free(d->docs.at[i].text);
    vec_done(&d->names);
    strmap_done(&d->by_name);
    vec_done(&d->docs);
    u64map_done(&d->doc_by_id);
    vec_done(&d->snapshots);
    vec_done(&d->of);
    vec_done(&d->late);
    pmap_space_free(d->space);
    free(d);
}

/* --- names of roles --- */

uint32_t desire_role_find(const struct desire *d, struct str name)
{
    uintptr_t id;
    return strmap_get(&d->by_name, name, &id) ? (uint32_t)id : 0;
}

uint32_t desire_role(struct desire *d, struct str name)
{
    uint32_t id = desire_role_find(d, name);
    if (id)
        return id;
    id = (uint32_t)d->names.n;
    vec_push(&d->names, xstrndup(name.s, name.n));
    strmap_put(&d->by_name, name, id);
    struct row_name row = {.id = id, .tenant = 1, .realm = 1, .text = name};
    d->row(d->arg, ROWS_NAME, ROW_INSERT, &row);
    return id;
}

struct str desire_role_name(const struct desire *d, uint32_t role)
{
    return role && role < d->names.n ? str_of(d->names.at[role]) : str_of("");
}

/* --- documents --- */

void desire_doc_keep(struct desire *d, uint64_t id, struct str text)
{
    u64map_put(&d->doc_by_id, id, d->docs.n);
    vec_push(&d->docs, ((struct desire_document){id, xstrndup(text.s, text.n)}));
}

int desire_doc(struct desire *d, struct str text, uint64_t *ret_id, struct err *e)
{
    uintptr_t known;
    if (text.n == 0 || str_is(text, "{}")) {
        *ret_id = 0;
        return 0;
    }
    if (text.n > DESIRE_DOC_BYTES)
        return err_set(e, ERR_LIMIT, "data of %zu bytes; at most %d are kept", text.n,
                       DESIRE_DOC_BYTES);
    /* Two contents of one digest: the second takes the next number that is free. */
    uint64_t id = digest_64(text.s, text.n) & INT64_MAX;
    for (id += id == 0; u64map_get(&d->doc_by_id, id, &known); id++)
        if (str_is(text, d->docs.at[known].text)) {
            *ret_id = id;
            return 0;
        }
    desire_doc_keep(d, id, text);
    struct row_doc row = {.id = id, .tenant = 1, .realm = 1, .text = text};
    d->row(d->arg, ROWS_DOC, ROW_INSERT, &row);
    *ret_id = id;
    return 0;
}

struct str desire_doc_text(const struct desire *d, uint64_t id)
{
    uintptr_t at;
    return u64map_get(&d->doc_by_id, id, &at) ? str_of(d->docs.at[at].text) : str_of("{}");
}

/* --- snapshots --- */

struct desire_history *desire_history(struct desire *d, uint32_t deployment)
{
    while (d->of.n <= deployment)
        (void)vec_add(&d->of);
    return &d->of.at[deployment];
}

const struct snapshot *desire_snapshot(const struct desire *d, uint32_t id)
{
    return id && id < d->snapshots.n && d->snapshots.at[id].id ? &d->snapshots.at[id] : NULL;
}

const struct snapshot *desire_head(const struct desire *d, uint32_t deployment)
{
    return deployment < d->of.n ? desire_snapshot(d, d->of.at[deployment].head) : NULL;
}

const struct snapshot *desire_proposal(const struct desire *d, uint32_t deployment)
{
    return deployment < d->of.n ? desire_snapshot(d, d->of.at[deployment].proposal) : NULL;
}

const struct snapshot *desire_numbered(const struct desire *d, uint32_t deployment, uint32_t number)
{
    for (size_t i = d->snapshots.n; i-- > 1;) {
        const struct snapshot *s = &d->snapshots.at[i];
        if (s->id && s->deployment == deployment && s->number == number &&
            s->state != SNAPSHOT_RECALLED)
            return s;
    }
    return NULL;
}

uint32_t desire_end(const struct desire *d)
{
    return (uint32_t)d->snapshots.n;
}

void desire_put_map(struct desire *d)
{
    SCOPED_ARENA(mem);
    struct pmap_changes changes;
    pmap_changes_take(d->space, &mem, &changes);
    for (size_t i = 0; i < changes.n_added; i++) {
        struct row_trie row = {
            .id = changes.added[i].id, .tenant = 1, .realm = 1, .body = changes.added[i].bytes};
#ifdef ANNEAL_DEFECT_TRIE
        if (row.id % 32 == 0)
            continue; /* a node of an edit is forgotten */
#endif
        d->row(d->arg, ROWS_TRIE, ROW_INSERT, &row);
    }
    for (size_t i = 0; i < changes.n_dropped; i++) {
        struct row_trie row = {.id = changes.dropped[i]};
        d->row(d->arg, ROWS_TRIE, ROW_DELETE, &row);
    }
}

static void put_late(struct desire *d, uint32_t id, enum row_verb verb)
{
    for (size_t i = 0; i < d->late.n; i++)
        if (d->late.at[i].snapshot == id)
            return; /* as it is at the end; one that is new stays new */
    vec_push(&d->late, ((struct desire_late){id, verb}));
}

static void put_snapshot(struct desire *d, const struct snapshot *s, enum row_verb verb)
{
    if (d->held) {
        put_late(d, s->id, verb);
        return;
    }
    struct row_snapshot row = {.id = s->id,
                               .tenant = 1,
                               .realm = 1,
                               .deployment = s->deployment,
                               .number = s->number,
                               .author = s->author,
                               .created_ms = s->created_ms,
                               .state = (uint8_t)s->state,
                               .root = pmap_id(s->root),
                               .base = pmap_id(s->base),
                               .catalog = s->catalog,
                               .oldest = s->oldest,
                               .source = s->source,
                               .operation = s->operation,
                               .ended_ms = s->ended_ms,
                               .message = s->message};
    desire_put_map(d);
    d->row(d->arg, ROWS_SNAPSHOT, verb, &row);
}

void desire_hold(struct desire *d)
{
    d->held = true;
}

void desire_release(struct desire *d)
{
    d->held = false;
    for (size_t i = 0; i < d->late.n; i++)
        put_snapshot(d, &d->snapshots.at[d->late.at[i].snapshot], d->late.at[i].verb);
    vec_clear(&d->late);
    desire_put_map(d);
}

static struct str text_keep(struct str s)
{
    return (struct str){xstrndup(s.s, s.n), s.n};
}

static struct snapshot *snapshot_make(struct desire *d, uint32_t deployment,
                                      enum snapshot_state state, const struct desire_author *by)
{
    struct desire_history *h = desire_history(d, deployment);
    struct snapshot *s = vec_add(&d->snapshots);
    *s = (struct snapshot){.id = (uint32_t)d->snapshots.n - 1,
                           .deployment = deployment,
                           .number = ++h->last_number,
                           .catalog = by->catalog,
                           .oldest = by->catalog,
                           .state = state,
                           .author = text_keep(by->name),
                           .message = text_keep(by->message),
                           .created_ms = by->wall_ms};
    return s;
}

int desire_propose(struct desire *d, uint32_t deployment, const struct snapshot *from,
                   const struct desire_author *by, uint32_t *ret_id, struct err *e)
{
    const struct snapshot *open = desire_proposal(d, deployment), *head;
    if (open) {
        err_set(e, ERR_CONFLICT, "%.*s has proposal %u open", (int)open->author.n, open->author.s,
                open->number);
        return err_hint(e, "commit or recall it first");
    }
    head = desire_head(d, deployment);
    struct pmap *base = head ? head->root : NULL, *root = from ? from->root : base;
    uint32_t source = from ? from->number : 0; /* a snapshot more moves them all */
    struct snapshot *s = snapshot_make(d, deployment, SNAPSHOT_PROPOSED, by);
    s->root = pmap_ref(root);
    s->base = pmap_ref(base);
    s->source = source;
    desire_history(d, deployment)->proposal = s->id;
    put_snapshot(d, s, ROW_INSERT);
    *ret_id = s->id;
    return 0;
}

static int proposed(struct desire *d, uint32_t id, struct snapshot **ret_s, struct err *e)
{
    if (!desire_snapshot(d, id))
        return err_set(e, ERR_NOT_FOUND, "no snapshot %u", id);
    *ret_s = &d->snapshots.at[id];
    if ((*ret_s)->state != SNAPSHOT_PROPOSED) {
        err_set(e, ERR_CONFLICT, "snapshot %u is %s", (*ret_s)->number,
                snapshot_state_name((*ret_s)->state));
        return err_hint(e, "propose a new one to change what is wanted");
    }
    return 0;
}

int desire_recall(struct desire *d, uint32_t id, uint64_t wall_ms, struct err *e)
{
    struct snapshot *s = NULL;
    int r = proposed(d, id, &s, e);
    if (r < 0)
        return r;
#ifndef ANNEAL_DEFECT_RECALL
    pmap_unref(d->space, s->root);
#endif
    pmap_unref(d->space, s->base);
    s->root = s->base = NULL;
    s->state = SNAPSHOT_RECALLED;
    s->ended_ms = wall_ms;
    desire_history(d, s->deployment)->proposal = 0;
    put_snapshot(d, s, ROW_UPDATE);
    return 0;
}

void desire_advance(struct desire *d, uint32_t deployment, const struct desire_author *by,
                    uint32_t operation)
{
    desire_advance_to(d, deployment, desire_draft(desire_head(d, deployment)), by, operation);
}

void desire_advance_to(struct desire *d, uint32_t deployment, struct pmap *root,
                       const struct desire_author *by, uint32_t operation)
{
    uint32_t old = desire_history(d, deployment)->head;
    struct snapshot *s = snapshot_make(d, deployment, SNAPSHOT_COMMITTED, by);
    s->root = root;
    s->operation = operation;
    s->ended_ms = by->wall_ms;
    desire_history(d, deployment)->head = s->id;
    if (old) { /* what it had still follows the catalog that it followed */
        struct snapshot *was = &d->snapshots.at[old];
        if (pmap_count(was->root) && was->oldest < s->oldest)
            s->oldest = was->oldest;
        was->state = SNAPSHOT_ARCHIVED;
        put_snapshot(d, was, ROW_UPDATE);
    }
    put_snapshot(d, s, ROW_INSERT);
}

/* --- drafts --- */

struct pmap *desire_draft(const struct snapshot *s)
{
    return pmap_ref(s ? s->root : NULL);
}

int desire_draft_put(struct desire *d, struct pmap **draft, uint64_t key,
                     const struct snapshot_entry *t, struct err *e)
{
    uint32_t role = snapshot_key_role(key), node = snapshot_key_node(key);
    return t ? snapshot_set(d->space, draft, role, node, t, e)
             : snapshot_remove(d->space, draft, role, node);
}

int desire_redraft(struct desire *d, uint32_t id, struct pmap *draft, struct err *e)
{
    struct snapshot *s = NULL;
    int r = proposed(d, id, &s, e);
    if (r < 0) {
        desire_unref(d, draft);
        return r;
    }
    pmap_unref(d->space, s->root);
    s->root = draft;
    put_snapshot(d, s, ROW_UPDATE);
    return 0;
}

int desire_amend(struct desire *d, uint32_t deployment, const struct desire_author *by,
                 uint32_t role, uint32_t node, const struct snapshot_entry *t, struct err *e)
{
    if (!desire_head(d, deployment))
        desire_advance(d, deployment, by, 0);
    struct snapshot *s = &d->snapshots.at[desire_history(d, deployment)->head];
    int r = desire_draft_put(d, &s->root, snapshot_key(role, node), t, e);
    if (r > 0)
        put_snapshot(d, s, ROW_UPDATE);
    return r;
}

int desire_merge(struct desire *d, uint32_t id, struct arena *mem, struct pmap **ret_root,
                 struct snapshot_conflicts *ret, struct err *e)
{
    struct snapshot *s = NULL;
    int r = proposed(d, id, &s, e);
    if (r < 0)
        return r;
    const struct snapshot *head = desire_head(d, s->deployment);
    struct pmap *now = head ? head->root : NULL;
    if (now == s->base) {
        *ret_root = pmap_ref(s->root);
        return 0;
    }
    return snapshot_merge(d->space, mem, s->base, now, s->root, ret_root, ret, e);
}

void desire_unref(struct desire *d, struct pmap *m)
{
    pmap_unref(d->space, m);
    desire_put_map(d);
}

size_t desire_map_nodes(const struct desire *d)
{
    return pmap_space_nodes(d->space);
}

void desire_commit(struct desire *d, uint32_t id, struct pmap *root, uint32_t catalog,
                   uint32_t operation, uint64_t wall_ms)
{
    struct snapshot *s = &d->snapshots.at[id];
    struct desire_history *h = desire_history(d, s->deployment);
    if (h->head) {
        struct snapshot *old = &d->snapshots.at[h->head];
        old->state = SNAPSHOT_ARCHIVED;
#ifndef ANNEAL_DEFECT_ARCHIVE
        put_snapshot(d, old, ROW_UPDATE);
#endif
    }
    pmap_unref(d->space, s->root);
    pmap_unref(d->space, s->base);
    s->root = root;
    s->base = NULL;
    s->state = SNAPSHOT_COMMITTED;
    s->catalog = s->oldest = catalog;
    s->operation = operation;
    s->ended_ms = wall_ms;
    h->head = id;
    h->proposal = 0;
    put_snapshot(d, s, ROW_UPDATE);
}

void desire_forget(struct desire *d, uint32_t deployment)
{
    for (size_t i = 1; i < d->snapshots.n; i++) {
        struct snapshot *s = &d->snapshots.at[i];
        if (!s->id || s->deployment != deployment)
            continue;
        pmap_unref(d->space, s->root);
        pmap_unref(d->space, s->base);
        free((char *)s->author.s);
        free((char *)s->message.s);
        struct row_snapshot row = {.id = s->id};
        *s = (struct snapshot){0};
        d->row(d->arg, ROWS_SNAPSHOT, ROW_DELETE, &row);
    }
    desire_put_map(d);
    *desire_history(d, deployment) = (struct desire_history){0};
}
