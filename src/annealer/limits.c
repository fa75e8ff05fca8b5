/* limits.c - pools, the spans that take them, and workers' slots per jig
 *
 * A span takes all its pools in one step or none, and gives them back when its last task has ended,
 * or when a new run begins with nothing of the old one still open.  No timer frees a pool.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

bool limits_pool_room(const struct pool *p)
{
    return !p->closed && (uint64_t)p->taken + p->elsewhere < p->size;
}

bool limits_tenant_room(const struct tenant *t)
{
    return t->share == TENANT_ALL || t->used < t->share;
}

void limits_tenant_moves(struct anneal *a, uint32_t live, uint32_t from, uint32_t to)
{
    if (!(a->lives.at[live].flags & LIVEF_WORKER))
        return;
    a->tenants.at[from].used--;
    a->tenants.at[to].used++;
}

bool limits_jig_room(const struct jig *j)
{
    return j->active && j->taken < j->slots;
}

static void span_set(struct anneal *a, uint32_t id, enum span_hold to)
{
    struct span *s = &a->spans.at[id];
    if (s->held != to)
        change_add(a, ROWS_SPAN, id, s->held, (uint8_t)to, 0);
    s->held = (uint8_t)to;
}

bool limits_span_take(struct anneal *a, uint32_t id, uint32_t *ret_full)
{
    struct span *s = &a->spans.at[id];
    if (id == 0)
        return true;
    if (s->held) {
        span_set(a, id, SPAN_HELD); /* the new run goes on with what the old one had */
        return true;
    }
    for (uint32_t i = 0; i < s->n_pools; i++)
        if (!limits_pool_room(&a->pools.at[s->pools[i]])) {
            *ret_full = s->pools[i];
            return false;
        }
    for (uint32_t i = 0; i < s->n_pools; i++)
        a->pools.at[s->pools[i]].taken++;
    span_set(a, id, SPAN_HELD);
    return true;
}

/* A new run of its tasks begins: once nothing of the old one is open, it gives its pools back.  A
 * task that only waits for its next try keeps them. */
void limits_span_restart(struct anneal *a, uint32_t id)
{
    if (a->spans.at[id].held)
        span_set(a, id, SPAN_OVER);
    limits_span_settle(a, id);
}

void limits_span_settle(struct anneal *a, uint32_t id)
{
    struct span *s = &a->spans.at[id];
    if (id == 0 || !s->held || s->live > 0 ||
        (s->left > 0 && (s->held != SPAN_OVER || s->begun > 0)))
        return;
    span_set(a, id, SPAN_FREE);
    for (uint32_t i = 0; i < s->n_pools; i++) {
        a->pools.at[s->pools[i]].taken--;
        schedule_pool(a, s->pools[i]);
    }
}
