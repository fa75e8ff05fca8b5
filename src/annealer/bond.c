/* bond.c - pairs of noderoles that are no needs: one that sleeps, one that goes and is still used
 *
 * A bond joins a parent and a child in one of the kinds of enum bond_kind, and is found from both
 * ends.  It is stored with its child, as a mark in the parents of its row.  What a bond means is
 * decided in late.c and leave.c; nothing here has an effect.
 *
 * Invariant: a pair has at most one bond of a kind.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include "base/sort.h"

uint32_t bond_find(const struct anneal *a, enum bond_kind kind, uint32_t parent, uint32_t child)
{
    uint32_t i = a->noderoles.at[child].bonds_up[kind];
    while (i && a->bonds.at[i].parent != parent)
        i = a->bonds.at[i].next_up;
    return i;
}

uint32_t bond_add(struct anneal *a, enum bond_kind kind, uint32_t parent, uint32_t child)
{
    struct noderole *c = &a->noderoles.at[child], *p = &a->noderoles.at[parent];
    uint32_t id = (uint32_t)a->bonds.n;
    if (a->bond_free) {
        id = a->bond_free;
        a->bond_free = a->bonds.at[id].next_up;
    } else {
        (void)vec_add(&a->bonds);
    }
    a->bonds.at[id] = (struct bond){.parent = parent,
                                    .child = child,
                                    .next_up = c->bonds_up[kind],
                                    .next_down = p->bonds_down[kind]};
    c->bonds_up[kind] = id;
    p->bonds_down[kind] = id;
    return id;
}

void bond_drop(struct anneal *a, enum bond_kind kind, uint32_t id)
{
    const struct bond b = a->bonds.at[id];
    uint32_t *at = &a->noderoles.at[b.child].bonds_up[kind];
    while (*at != id)
        at = &a->bonds.at[*at].next_up;
    *at = b.next_up;
    at = &a->noderoles.at[b.parent].bonds_down[kind];
    while (*at != id)
        at = &a->bonds.at[*at].next_down;
    *at = b.next_down;
    a->bonds.at[id] = (struct bond){.next_up = a->bond_free};
    a->bond_free = id;
}

size_t bond_parents(const struct anneal *a, enum bond_kind kind, uint32_t child, struct buf *ret)
{
    static const uint32_t marks[BOND_KIND_COUNT] = {PARENT_SLEEPS, PARENT_LEAVES};
    size_t n = 0, base = ret->len;
    for (uint32_t i = a->noderoles.at[child].bonds_up[kind]; i; i = a->bonds.at[i].next_up, n++) {
        uint32_t parent = a->bonds.at[i].parent | marks[kind];
        if (a->bonds.at[i].awaited)
            parent |= PARENT_AWAITED;
        buf_put(ret, &parent, sizeof parent);
    }
    sort_u32((void *)(ret->data + base), n);
    return n;
}
