/* lane.c - heaps of startable tasks: one per lane, one of lane heads per operation
 *
 * Pure containers.  Entries are never removed from the middle: a task that left its lane leaves a
 * ghost, told by task.lane naming another, and a candidate that is no longer its lane's head is
 * dropped when met.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

static uint32_t *owner_list(struct anneal *a, enum lane_kind kind, uint32_t owner)
{
    switch (kind) {
    case LANE_POOL: return &a->pools.at[owner].lanes;
    case LANE_JIG: return &a->jigs.at[owner].lanes;
    case LANE_INSIDE:
    case LANE_OUTSIDE:
    case LANE_HOLDER: break;
    }
    return &a->nodes.at[owner].lanes;
}

uint32_t lane_find(struct anneal *a, enum lane_kind kind, uint32_t owner, uint32_t op)
{
    uint32_t *head = owner_list(a, kind, owner), id;
    for (id = *head; id; id = a->lanes.at[id].next_of_owner)
        if (a->lanes.at[id].op == op && a->lanes.at[id].kind == kind)
            return id;
    if (a->free_lanes.n > 0) {
        id = a->free_lanes.at[--a->free_lanes.n];
    } else {
        if (a->lanes.n == 0)
            (void)vec_add(&a->lanes); /* 0 is nobody */
        id = (uint32_t)a->lanes.n;
        (void)vec_add(&a->lanes);
    }
    struct lane *l = &a->lanes.at[id];
    l->kind = (uint8_t)kind;
    l->owner = owner;
    l->op = op;
    l->next_of_owner = *head;
    *head = id;
    l->next_of_op = a->ops.at[op].lanes;
    a->ops.at[op].lanes = id;
    return id;
}

void lane_give_back(struct anneal *a, uint32_t op)
{
    uint32_t id = a->ops.at[op].lanes;
    while (id) {
        struct lane *l = &a->lanes.at[id];
        uint32_t next = l->next_of_op;
        uint32_t *link = owner_list(a, l->kind, l->owner);
        while (*link != id)
            link = &a->lanes.at[*link].next_of_owner;
        *link = l->next_of_owner;
        for (size_t i = 0; i < l->n; i++) /* ghosts only, unless the operation stalled */
            if (a->tasks[l->heap[i].task].lane == id)
                a->tasks[l->heap[i].task].lane = 0;
        l->n = 0;
        vec_push(&a->free_lanes, id);
        id = next;
    }
    a->ops.at[op].lanes = 0;
    a->ops.at[op].heap_n = 0;
}

void lane_push(struct lane *l, struct start_key k)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 4;
        l->heap = xrealloc(l->heap, l->cap, sizeof *l->heap);
    }
    size_t i = l->n++;
    for (; i > 0 && start_key_before(k, l->heap[(i - 1) / 2]); i = (i - 1) / 2)
        l->heap[i] = l->heap[(i - 1) / 2];
    l->heap[i] = k;
}

void lane_pop(struct lane *l)
{
    struct start_key last = l->heap[--l->n];
    size_t i = 0;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= l->n)
            break;
        if (c + 1 < l->n && start_key_before(l->heap[c + 1], l->heap[c]))
            c++;
        if (!start_key_before(l->heap[c], last))
            break;
        l->heap[i] = l->heap[c];
        i = c;
    }
    if (l->n > 0)
        l->heap[i] = last;
}

void lane_candidate_push(struct op *o, struct candidate k)
{
    if (o->heap_n == o->heap_cap) {
        o->heap_cap = o->heap_cap ? o->heap_cap * 2 : 8;
        o->heap = xrealloc(o->heap, o->heap_cap, sizeof *o->heap);
    }
    size_t i = o->heap_n++;
    for (; i > 0 && start_key_before(k.key, o->heap[(i - 1) / 2].key); i = (i - 1) / 2)
        o->heap[i] = o->heap[(i - 1) / 2];
    o->heap[i] = k;
}

struct candidate lane_candidate_pop(struct op *o)
{
    struct candidate top = o->heap[0], last = o->heap[--o->heap_n];
    size_t i = 0;
    for (;;) {
        size_t c = 2 * i + 1;
        if (c >= o->heap_n)
            break;
        if (c + 1 < o->heap_n && start_key_before(o->heap[c + 1].key, o->heap[c].key))
            c++;
        if (!start_key_before(o->heap[c].key, last.key))
            break;
        o->heap[i] = o->heap[c];
        i = c;
    }
    if (o->heap_n > 0)
        o->heap[i] = last;
    return top;
}
