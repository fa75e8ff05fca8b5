/* naive_desire.c - maps and snapshots, copied whole (docs/rfc/06, section 4) */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "naive.h"

struct naive *naive_new(void)
{
    struct naive *v = xcalloc(1, sizeof *v);
    arena_init(&v->mem);
    v->end = 1;
    return v;
}

void naive_free(struct naive *v)
{
    for (int i = 0; i < v->n_snapshots; i++)
        free(v->snapshots[i]);
    arena_done(&v->mem);
    free(v);
}

/* --- entries --- */

const struct naive_entry *naive_entry(const struct naive_map *m, int role, int node)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i].role == role && m->at[i].node == node)
            return &m->at[i];
    return NULL;
}

static const struct naive_parent *parent_of(const struct naive_entry *t, int role, int node)
{
    for (int i = 0; i < t->n_parents; i++)
        if (t->parents[i].role == role && t->parents[i].node == node)
            return &t->parents[i];
    return NULL;
}

void naive_entry_parent(struct naive_entry *t, int role, int node)
{
    if (parent_of(t, role, node))
        return;
    assert(t->n_parents < PARENTS_MOST);
    t->parents[t->n_parents++] = (struct naive_parent){role, node, false};
}

static bool same_parents(const struct naive_entry *a, const struct naive_entry *b)
{
    bool same = a->n_parents == b->n_parents;
    for (int i = 0; i < a->n_parents; i++) {
        const struct naive_parent *p = parent_of(b, a->parents[i].role, a->parents[i].node);
        same &= p && p->used == a->parents[i].used;
    }
    return same;
}

bool naive_entry_equal(const struct naive_entry *a, const struct naive_entry *b)
{
    if (!a || !b)
        return a == b;
    return a->requested == b->requested && !strcmp(a->user, b->user) && same_parents(a, b);
}

/* --- maps --- */

void naive_map_remove(struct naive_map *m, int role, int node)
{
    for (int i = 0; i < m->n; i++)
        if (m->at[i].role == role && m->at[i].node == node) {
            m->at[i] = m->at[--m->n];
            return;
        }
}

void naive_map_set(struct naive_map *m, const struct naive_entry *t)
{
    struct naive_entry copy = *t; /* t may be in the map */
    naive_map_remove(m, copy.role, copy.node);
    assert(m->n < ENTRIES_MOST);
    m->at[m->n++] = copy;
}

int naive_map_merge(const struct naive_map *base, const struct naive_map *ours,
                    const struct naive_map *theirs, struct naive_map *ret)
{
    struct naive_map merged = *ours;
    int conflicts = 0;
    for (int role = 0; role < ROLES_MOST; role++)
        for (int node = 0; node <= NODES_MOST; node++) {
            const struct naive_entry *b = naive_entry(base, role, node);
            const struct naive_entry *o = naive_entry(ours, role, node);
            const struct naive_entry *t = naive_entry(theirs, role, node);
            if (naive_entry_equal(b, t) || naive_entry_equal(o, t))
                continue;
            if (!naive_entry_equal(b, o))
                conflicts++;
            else if (t)
                naive_map_set(&merged, t);
            else
                naive_map_remove(&merged, role, node);
        }
    if (!conflicts)
        *ret = merged;
    return conflicts;
}

const char *naive_map_diff(struct arena *mem, const struct naive_map *old,
                           const struct naive_map *now)
{
    SCOPED_BUF(b);
    for (const char *kind = "+-~"; *kind; kind++)
        for (int role = 0; role < ROLES_MOST; role++)
            for (int node = 0; node <= NODES_MOST; node++) {
                const struct naive_entry *o = naive_entry(old, role, node);
                const struct naive_entry *n = naive_entry(now, role, node);
                char is = !o && n ? '+' : o && !n ? '-' : naive_entry_equal(o, n) ? '=' : '~';
                if (is != *kind)
                    continue;
                buf_printf(&b, "%c%d@%d", is, role, node);
                if (is == '~')
                    buf_printf(&b, ":%s%s%s", strcmp(o->user, n->user) ? "u" : "",
                               same_parents(o, n) ? "" : "p",
                               o->requested == n->requested ? "" : "f");
                buf_putc(&b, ' ');
            }
    return arena_strndup(mem, buf_str(&b).s, b.len);
}

/* --- snapshots --- */

static struct naive_snapshot *snapshot_in(const struct naive *v, int deployment,
                                          enum naive_snapshot_state state)
{
    for (int i = 0; i < v->n_snapshots; i++)
        if (v->snapshots[i]->deployment == deployment && v->snapshots[i]->state == state)
            return v->snapshots[i];
    return NULL;
}

struct naive_snapshot *naive_head(const struct naive *v, int deployment)
{
    return snapshot_in(v, deployment, NAIVE_COMMITTED);
}

struct naive_snapshot *naive_proposal(const struct naive *v, int deployment)
{
    return snapshot_in(v, deployment, NAIVE_PROPOSED);
}

int naive_snapshot_id(const struct naive *v, const struct naive_snapshot *s)
{
    for (int i = 0; i < v->n_snapshots; i++)
        if (v->snapshots[i] == s)
            return i + 1;
    return 0;
}

static struct naive_snapshot *snapshot_add(struct naive *v, int deployment,
                                           enum naive_snapshot_state state)
{
    struct naive_snapshot *s = xcalloc(1, sizeof *s);
    assert(v->n_snapshots < SNAPSHOTS_MOST);
    s->deployment = deployment;
    s->state = state;
    s->number = 1;
    for (int i = 0; i < v->n_snapshots; i++)
        s->number += v->snapshots[i]->deployment == deployment;
    v->snapshots[v->n_snapshots++] = s;
    return s;
}

struct naive_snapshot *naive_propose(struct naive *v, int deployment,
                                     const struct naive_snapshot *from)
{
    const struct naive_snapshot *head = naive_head(v, deployment);
    if (naive_proposal(v, deployment))
        return NULL;
    struct naive_snapshot *s = snapshot_add(v, deployment, NAIVE_PROPOSED);
    if (head)
        s->base = head->map;
    s->map = from ? from->map : s->base;
    return s;
}

struct naive_snapshot *naive_advance(struct naive *v, int deployment)
{
    struct naive_snapshot *old = naive_head(v, deployment);
    struct naive_snapshot *s = snapshot_add(v, deployment, NAIVE_COMMITTED);
    if (old) {
        s->map = old->map;
        old->state = NAIVE_ARCHIVED;
    }
    return s;
}

void naive_commit(struct naive *v, struct naive_snapshot *proposal, const struct naive_map *map)
{
    struct naive_snapshot *old = naive_head(v, proposal->deployment);
    if (old)
        old->state = NAIVE_ARCHIVED;
    proposal->map = *map;
    proposal->state = NAIVE_COMMITTED;
}
