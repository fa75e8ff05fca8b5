/* limits.c - pools, the spans that take them, and workers' slots per jig
 *
 * A span takes all its pools in one step or none, and gives them back when its last task has ended, or when a
 * new run begins with nothing of the old one still open.  No timer frees a pool.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

bool limits_pool_room(const struct pool *p)
{
    return !p->closed && (uint64_t)p->taken + p->elsewhere < p->size;
}

bool limits_jig_room(const struct jig *j)
{
    return j->active && j->taken < j->slots;
}

bool limits_span_take(struct anneal *a, uint32_t id, uint32_t *ret_full)
{
    struct span *s = &a->spans.at[id];
    if (id == 0 || s->held)
        return true;
    for (uint32_t i = 0; i < s->n_pools; i++)
        if (!limits_pool_room(&a->pools.at[s->pools[i]])) {
            *ret_full = s->pools[i];
            return false;
        }
    for (uint32_t i = 0; i < s->n_pools; i++)
        a->pools.at[s->pools[i]].taken++;
    s->held = true;
    s->restart = false;
    change_add(a, ROWS_SPAN, id, 0, 1, 0);
    return true;
}

/* A new run of its tasks begins: once nothing of the old one is open, it gives its pools back.  A task
 * that only waits for its next try keeps them. */
void limits_span_restart(struct anneal *a, uint32_t id)
{
    a->spans.at[id].restart = a->spans.at[id].held;
    limits_span_settle(a, id);
}

void limits_span_settle(struct anneal *a, uint32_t id)
{
    struct span *s = &a->spans.at[id];
    if (id == 0 || !s->held || s->live > 0 || (s->left > 0 && (!s->restart || s->begun > 0)))
        return;
    s->held = false;
    change_add(a, ROWS_SPAN, id, 1, 0, 0);
    for (uint32_t i = 0; i < s->n_pools; i++) {
        a->pools.at[s->pools[i]].taken--;
        schedule_pool(a, s->pools[i]);
    }
}
