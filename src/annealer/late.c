/* late.c - needs that a noderole gets after it was made: a peer that joins a cluster
 *
 * A new parent must not take a child out of service, so the need of a child that has begun sleeps
 * until that parent is ACTIVE for the first time; then it counts and the child is refreshed.  A
 * child that has not begun simply waits for one more parent, and one that is in service already
 * counts at once.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include "base/sort.h"

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

static void need_counts(struct anneal *a, uint32_t parent, uint32_t child)
{
    gate_link(a, parent, child);
    raise_cohorts(a, child, a->noderoles.at[parent].cohort + 1);
    noderole_changed(a, child);
}

void late_sleep(struct anneal *a, uint32_t parent, uint32_t child)
{
    struct noderole *c = &a->noderoles.at[child], *p = &a->noderoles.at[parent];
    uint32_t need = (uint32_t)a->late.n;
    if (a->late_free) {
        need = a->late_free;
        a->late_free = a->late.at[need].next_of_child;
    } else {
        (void)vec_add(&a->late);
    }
    a->late.at[need] = (struct late_need){
        .parent = parent, .child = child, .next_of_child = c->late, .next_of_parent = p->sleeping};
    c->late = need;
    p->sleeping = need;
}

void late_add(struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *c = &a->noderoles.at[child], *p = &a->noderoles.at[parent];
    /* Not by its state: one that a plan has just taken back from its removal has yet to get it. */
    bool waits = !noderole_begun(c) && c->failed == 0;
    /* What was lost in this step has not got its state yet. */
    bool serves = noderole_in_service(p->state, p->target) &&
                  noderole_in_service(noderole_derive(a, parent), p->target);
    if (waits || c->target == TARGET_ABSENT || serves) {
        need_counts(a, parent, child);
    } else {
        late_sleep(a, parent, child);
        noderole_changed(a, child);
    }
}

static void late_forget(struct anneal *a, uint32_t need)
{
    uint32_t *at = &a->noderoles.at[a->late.at[need].child].late;
    while (*at != need)
        at = &a->late.at[*at].next_of_child;
    *at = a->late.at[need].next_of_child;
    a->late.at[need] = (struct late_need){.next_of_child = a->late_free};
    a->late_free = need;
}

bool late_sleeps(const struct anneal *a, uint32_t parent, uint32_t child)
{
    for (uint32_t i = a->noderoles.at[child].late; i; i = a->late.at[i].next_of_child)
        if (a->late.at[i].parent == parent)
            return true;
    return false;
}

bool late_drop(struct anneal *a, uint32_t parent, uint32_t child)
{
    for (uint32_t *at = &a->noderoles.at[parent].sleeping; *at;
         at = &a->late.at[*at].next_of_parent)
        if (a->late.at[*at].child == child) {
            uint32_t need = *at;
            *at = a->late.at[need].next_of_parent;
            late_forget(a, need);
            quorum_leave(a, parent, child);
            noderole_changed(a, child);
            return true;
        }
    return false;
}

void late_vanish(struct anneal *a, uint32_t id)
{
    while (a->noderoles.at[id].late)
        (void)late_drop(a, a->late.at[a->noderoles.at[id].late].parent, id);
    while (a->noderoles.at[id].sleeping)
        (void)late_drop(a, id, a->late.at[a->noderoles.at[id].sleeping].child);
}

/* In the order of ids, whatever the order in which the needs came. */
void late_wake(struct anneal *a, uint32_t parent)
{
    size_t base = a->walk.n;
    uint32_t next;
    if (!a->noderoles.at[parent].sleeping)
        return;
    for (uint32_t i = a->noderoles.at[parent].sleeping; i; i = next) {
        next = a->late.at[i].next_of_parent;
        vec_push(&a->walk, a->late.at[i].child);
        late_forget(a, i);
    }
    a->noderoles.at[parent].sleeping = 0;
    size_t end = a->walk.n;
    sort_u32(a->walk.at + base, end - base);
    for (size_t i = base; i < end; i++) {
        uint32_t child = a->walk.at[i], op = anneal_joins(a, child, parent);
        if (op)
            noderole_adopt(a, child, op);
        need_counts(a, parent, child);
        ripple_refresh(a, child, REASON_PARENT_GAINED, false);
        if (a->fx)
            vec_push(&a->fx->gained, child);
    }
    a->walk.n = base;
}

size_t late_parents(const struct anneal *a, uint32_t child, struct buf *ret)
{
    size_t n = 0, base = ret->len;
    for (uint32_t i = a->noderoles.at[child].late; i; i = a->late.at[i].next_of_child, n++) {
        uint32_t parent = a->late.at[i].parent | PARENT_SLEEPS;
        buf_put(ret, &parent, sizeof parent);
    }
    sort_u32((void *)(ret->data + base), n);
    return n;
}
