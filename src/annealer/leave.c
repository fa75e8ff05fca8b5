/* leave.c - a noderole that goes waits until those who used it have let go of it
 *
 * Whoever loses a parent by a plan goes on using it until a run that no longer sees it is complete.
 * Until then the two are bound (BOND_LEAVES), and if the parent is to go, its gate stays shut.  The
 * same bond joins one that goes and what a plan says it has to wait for: a noderole that takes its
 * place in service, or one that is run again to be told.
 *
 * A user lets go when its run is complete and no other follows, when it goes itself, when its node
 * is dead or another machine answers for it, and when a person says so.  A user that fails makes
 * the removal fail: what it uses stays.  What takes another's place does not let go by dying.
 * By a person's word the user awaits nothing either: it would serve with what is gone.
 *
 * Who still uses one that does not go is remembered too: it may have to go before they are done.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include "base/sort.h"

static void bind(struct anneal *a, uint32_t goer, uint32_t user, bool replaces)
{
    bool shut = gate_shut(a, goer);
    if (bond_find(a, BOND_LEAVES, goer, user))
        return;
    uint32_t id = bond_add(a, BOND_LEAVES, goer, user);
    a->bonds.at[id].awaited = replaces;
    noderole_changed(a, user);
    gate_moved(a, goer, shut);
    noderole_derive_later(a, goer);
    gate_each_first(a, goer, task_join_failure);
}

static void let_go(struct anneal *a, uint32_t id)
{
    const struct bond b = a->bonds.at[id];
    bool shut = gate_shut(a, b.parent);
    bond_drop(a, BOND_LEAVES, id);
    noderole_changed(a, b.child);
    gate_moved(a, b.parent, shut);
    noderole_derive_later(a, b.parent);
    gate_each_first(a, b.parent, task_unfail);
}

void leave_lost(struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *c = &a->noderoles.at[child];
#ifdef ANNEAL_DEFECT_LEAVE
    return; /* what goes does not wait for those who are being told */
#endif
    bool uses = noderole_in_service(c->state, c->target) || noderole_begun(c);
    if (uses && c->failed == 0 && c->target == TARGET_RUNNING && c->n_tasks > 0)
        bind(a, parent, child, false);
}

static void tell(struct anneal *a, uint32_t holder, uint32_t op)
{
    if (noderole_free(a, &a->noderoles.at[holder]))
        noderole_adopt(a, holder, op);
    ripple_refresh(a, holder, REASON_RERUN, true);
}

void leave_plan(struct anneal *a, const struct plan *p, uint32_t op)
{
    for (uint32_t i = 0; i < p->n_waits; i++) {
        uint32_t goer = p->waits[i].goer, holder = p->waits[i].holder;
        const struct noderole *nr = &a->noderoles.at[holder];
        bool comes = holder >= p->base_noderole;
        if (nr->target != TARGET_RUNNING || nr->n_tasks == 0 ||
            (!comes && !noderole_in_service(nr->state, nr->target)))
            continue;
        if (!comes && (i == 0 || p->waits[i - 1].holder != holder))
            tell(a, holder, op);
        bind(a, goer, holder, comes);
    }
}

/* In the order of ids, whatever the order in which they were bound. */
static void let_go_all(struct anneal *a, uint32_t user, bool died)
{
    size_t base = a->walk.n;
    for (uint32_t i = a->noderoles.at[user].bonds_up[BOND_LEAVES]; i; i = a->bonds.at[i].next_up)
        if (!died || !a->bonds.at[i].awaited)
            vec_push(&a->walk, a->bonds.at[i].parent);
    size_t end = a->walk.n;
    sort_u32(a->walk.at + base, end - base);
    for (size_t i = base; i < end; i++)
        let_go(a, bond_find(a, BOND_LEAVES, a->walk.at[i], user));
    a->walk.n = base;
}

void leave_done(struct anneal *a, uint32_t user)
{
    let_go_all(a, user, false);
}

void leave_died(struct anneal *a, uint32_t user)
{
    let_go_all(a, user, true);
}

/* In the order of ids, as above.  A user is told at once: what it awaits may never come. */
uint32_t leave_now(struct anneal *a, uint32_t goer)
{
    size_t base = a->walk.n;
    for (uint32_t i = a->noderoles.at[goer].bonds_down[BOND_LEAVES]; i;
         i = a->bonds.at[i].next_down)
        vec_push(&a->walk, a->bonds.at[i].child);
    size_t end = a->walk.n;
    sort_u32(a->walk.at + base, end - base);
    for (size_t i = base; i < end; i++) {
        uint32_t user = a->walk.at[i], id = bond_find(a, BOND_LEAVES, goer, user);
        bool replaces = a->bonds.at[id].awaited;
        let_go(a, id);
        if (!replaces)
            (void)late_await_end(a, user);
    }
    a->walk.n = base;
    return (uint32_t)(end - base);
}
