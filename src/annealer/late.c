/* late.c - needs that a noderole gets after it was made: a peer that joins a cluster
 *
 * A new parent must not take a child out of service, so the need of a child that has begun sleeps
 * until that parent is ACTIVE for the first time; then it counts and the child is refreshed.  A
 * child that has not begun simply waits for one more parent.  A need that counts orders as planned
 * ones do: the parent's last tasks before the child's first.  Those order edges are not in the rows
 * of tasks, which are written once: they follow from the parents in the row of the noderole, where
 * late ones are marked.
 *
 * Who plans such a need sees to it that no task of the parent waits for one of the child.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

/* A new parent may stand higher than its child: the child and all below it move up. */
static void raise_cohorts(struct anneal *a, uint32_t id, uint32_t least)
{
    size_t base = a->walk.n;
    if (a->noderoles.at[id].cohort >= least)
        return;
    a->noderoles.at[id].cohort = least;
    vec_push(&a->walk, id);
    while (a->walk.n > base) {
        uint32_t n, at = a->walk.at[--a->walk.n];
        struct noderole *nr = &a->noderoles.at[at];
        const uint32_t *children = graph_out(&a->need, at, &n);
        noderole_changed(a, at);
        for (uint32_t i = 0; i < nr->n_tasks; i++) /* queued under the old key: queue again */
            if (a->tasks[nr->first_task + i].lane) {
                a->tasks[nr->first_task + i].lane = 0;
                schedule_enqueue(a, nr->first_task + i);
            }
        for (uint32_t i = 0; i < n; i++)
            if (a->noderoles.at[children[i]].cohort <= nr->cohort) {
                a->noderoles.at[children[i]].cohort = nr->cohort + 1;
                vec_push(&a->walk, children[i]);
            }
    }
}

/* Does it have an edge, in this direction, to another task of its noderole? */
static bool linked_inside(const struct anneal *a, uint32_t t, const uint32_t *others, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (a->tasks[others[i]].noderole == a->tasks[t].noderole)
            return true;
    return false;
}

static void late_order(struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *p = &a->noderoles.at[parent], *c = &a->noderoles.at[child];
    for (uint32_t i = p->first_task; i < p->first_task + p->n_tasks; i++) {
        uint32_t n;
        const uint32_t *after = graph_out(&a->order, i, &n);
        if (linked_inside(a, i, after, n))
            continue;
        for (uint32_t t = c->first_task; t < c->first_task + c->n_tasks; t++) {
            const uint32_t *before = graph_in(&a->order, t, &n);
            if (!linked_inside(a, t, before, n))
                task_depend(a, t, i);
        }
    }
}

static void need_counts(struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *p = &a->noderoles.at[parent];
    struct noderole *c = &a->noderoles.at[child];
    graph_link(&a->need, parent, child);
    c->parents_out += !noderole_in_service(p->state, p->target);
    c->parents_stale += p->state != NODEROLE_ACTIVE;
    raise_cohorts(a, child, p->cohort + 1);
    late_order(a, parent, child);
    noderole_derive_later(a, child);
}

void late_load(struct anneal *a, uint32_t parent, uint32_t child, bool counts)
{
    struct noderole *c = &a->noderoles.at[child];
    uint32_t need = (uint32_t)a->late.n;
    vec_push(&a->late, ((struct late_need){.parent = parent, .child = child, .counts = counts}));
    if (c->late)
        a->late.at[a->late.at[c->late].last_of_child].next_of_child = need;
    else
        c->late = need;
    a->late.at[c->late].last_of_child = need;
}

/* Newest first: late_wake() puts them in order. */
static void list_under_parent(struct anneal *a, uint32_t need)
{
    struct late_need *l = &a->late.at[need];
    l->next_of_parent = a->noderoles.at[l->parent].sleeping;
    a->noderoles.at[l->parent].sleeping = need;
}

void late_load_end(struct anneal *a)
{
    for (uint32_t i = 1; i < a->late.n; i++)
        if (a->late.at[i].counts)
            late_order(a, a->late.at[i].parent, a->late.at[i].child);
        else
            list_under_parent(a, i);
}

void late_add(struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *c = &a->noderoles.at[child];
    bool counts = !noderole_begun(c) && (c->state == NODEROLE_BLOCKED || c->state == NODEROLE_TODO);
    uint32_t need = (uint32_t)a->late.n;
    late_load(a, parent, child, counts);
    if (counts)
        need_counts(a, parent, child);
    else
        list_under_parent(a, need);
    noderole_changed(a, child);
}

static int by_child(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

void late_wake(struct anneal *a, uint32_t parent)
{
    size_t base = a->walk.n;
    if (!a->noderoles.at[parent].sleeping)
        return;
    for (uint32_t i = a->noderoles.at[parent].sleeping; i; i = a->late.at[i].next_of_parent) {
        a->late.at[i].counts = true;
        vec_push(&a->walk, a->late.at[i].child);
    }
    a->noderoles.at[parent].sleeping = 0;
    size_t end = a->walk.n;
    qsort(a->walk.at + base, end - base, sizeof *a->walk.at, by_child);
    for (size_t i = base; i < end; i++) {
        uint32_t child = a->walk.at[i];
        need_counts(a, parent, child);
        noderole_changed(a, child);
        ripple_refresh(a, child, REASON_EXPORTS, false);
    }
    a->walk.n = base;
}

bool late_orders(const struct anneal *a, uint32_t child, uint32_t parent)
{
    for (uint32_t i = a->noderoles.at[child].late; i; i = a->late.at[i].next_of_child)
        if (a->late.at[i].parent == parent)
            return true;
    return false;
}
