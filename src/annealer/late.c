/* late.c - needs that a noderole gets after it was made: a peer that joins a cluster
 *
 * A new parent must not take a child out of service, so the need of a child that has begun sleeps
 * until that parent is ACTIVE for the first time; then it counts and the child is refreshed.  A
 * child that has not begun simply waits for one more parent, and one that is in service already
 * counts at once.
 *
 * A child that loses a parent by the plan that brings the new one awaits that: its next run begins
 * when it has both news to take in, so that it is never without either (leave.c).  A person may say
 * that it does not wait: the need sleeps on, and counts when the new parent comes.
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
        (void)bond_add(a, BOND_SLEEPS, parent, child);
        noderole_changed(a, child);
    }
}

/* The child's next run has one need less to wait for, or more. */
static void awaits_one(struct anneal *a, uint32_t child, bool more)
{
    bool shut = gate_shut(a, child);
    a->noderoles.at[child].awaits += more ? 1 : UINT32_MAX;
    gate_moved(a, child, shut);
    gate_each_first(a, child, more ? task_join_failure : task_unfail);
}

void late_await(struct anneal *a, uint32_t parent, uint32_t child)
{
    uint32_t id = bond_find(a, BOND_SLEEPS, parent, child);
    struct noderole *c = &a->noderoles.at[child];
    uint16_t mode = c->mode & (MODE_REFRESH | MODE_FORCED | MODE_PREFIX);
    if (!id || a->bonds.at[id].awaited)
        return;
    /* What has passed so far was only as it was: it waits with the rest. */
    if (c->passed > 0 && c->passed < c->n_tasks && !(c->mode & (MODE_BEGUN | MODE_UNCHANGED))) {
        ripple_rewind(a, child, (enum reason)c->reason);
        c->mode |= mode;
    }
    a->bonds.at[id].awaited = true;
    noderole_changed(a, child);
    awaits_one(a, child, true);
}

bool late_await_end(struct anneal *a, uint32_t child)
{
    bool any = a->noderoles.at[child].awaits > 0;
    for (uint32_t i = a->noderoles.at[child].bonds_up[BOND_SLEEPS]; i; i = a->bonds.at[i].next_up) {
        if (!a->bonds.at[i].awaited)
            continue;
        a->bonds.at[i].awaited = false;
        awaits_one(a, child, false);
    }
    if (any)
        noderole_changed(a, child);
    return any;
}

static void late_forget(struct anneal *a, uint32_t id)
{
    const struct bond b = a->bonds.at[id];
    bond_drop(a, BOND_SLEEPS, id);
    noderole_changed(a, b.child);
    if (b.awaited)
        awaits_one(a, b.child, false);
}

bool late_sleeps(const struct anneal *a, uint32_t parent, uint32_t child)
{
    return bond_find(a, BOND_SLEEPS, parent, child) != 0;
}

bool late_drop(struct anneal *a, uint32_t parent, uint32_t child)
{
    uint32_t id = bond_find(a, BOND_SLEEPS, parent, child);
    if (id) {
        late_forget(a, id);
        quorum_leave(a, parent, child);
    }
    return id != 0;
}

void late_vanish(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    while (nr->bonds_up[BOND_SLEEPS])
        (void)late_drop(a, a->bonds.at[nr->bonds_up[BOND_SLEEPS]].parent, id);
    while (nr->bonds_down[BOND_SLEEPS])
        (void)late_drop(a, id, a->bonds.at[nr->bonds_down[BOND_SLEEPS]].child);
}

/* In the order of ids, whatever the order in which the needs came. */
void late_wake(struct anneal *a, uint32_t parent)
{
    size_t base = a->walk.n;
    for (uint32_t i = a->noderoles.at[parent].bonds_down[BOND_SLEEPS]; i;
         i = a->bonds.at[i].next_down)
        vec_push(&a->walk, a->bonds.at[i].child);
    size_t end = a->walk.n;
    sort_u32(a->walk.at + base, end - base);
    for (size_t i = base; i < end; i++) {
        uint32_t child = a->walk.at[i], op = anneal_joins(a, child, parent);
        late_forget(a, bond_find(a, BOND_SLEEPS, parent, child));
        if (op)
            noderole_adopt(a, child, op);
        need_counts(a, parent, child);
        ripple_refresh(a, child, REASON_PARENT_GAINED, false);
        if (a->fx)
            vec_push(&a->fx->gained, child);
    }
    a->walk.n = base;
}
