/* stall.c - spans that wait for each other's pools, and nobody else is left to give one back
 *
 * Looked for only when nothing runs and no timer is armed.  Whoever could start were it not for
 * pools that are full of such spans cannot be helped by waiting: its operation ends, held, and a
 * person is told.  What keeps a task back otherwise has a name in `why` and is no stall.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

/* Pools that are full of spans of ours, none of which has a task that could start: by id, 1 each.
 */
static uint8_t *stuck_pools(const struct anneal *a)
{
    uint8_t *stuck = NULL;
    for (uint32_t p = 1; p < a->pools.n; p++) {
        const struct pool *pool = &a->pools.at[p];
        if (!pool->exists || pool->closed || pool->taken == 0 || limits_pool_room(pool))
            continue;
        stuck = stuck ? stuck : xcalloc(a->pools.n, 1);
        stuck[p] = 1;
    }
    for (uint32_t t = 1; stuck && t < a->task_end; t++) {
        const struct span *s = &a->spans.at[a->tasks[t].span];
        if (!a->tasks[t].span || !s->held || a->task_state[t] != TASK_READY)
            continue;
        for (uint32_t i = 0; i < s->n_pools; i++)
            stuck[s->pools[i]] = 0; /* it waits for a node, a worker or a hold: that explains it */
    }
    return stuck;
}

/* Would it start, were it not for stuck pools? */
static bool waits_for_stuck(const struct anneal *a, uint32_t t, const uint8_t *stuck)
{
    struct why why[8];
    size_t n = anneal_why_task(a, t, why, 8);
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (why[i].rule != WHY_POOL_FULL)
            return false;
        any |= stuck[why[i].id];
    }
    return any;
}

/* Depends on the state alone, not on how it came about, and finds all there are, so that the next
 * step has nothing left to find. */
void operation_find_stall(struct anneal *a)
{
    if (a->live_n > 0 || a->timers.n > 0 || a->totals_task[TASK_READY] == 0) {
        a->stall_told = false;
        return;
    }
    uint8_t *stuck = stuck_pools(a);
    for (uint32_t t = 1; stuck && t < a->task_end; t++) {
        uint32_t op = task_op(a, t);
        if (a->task_state[t] != TASK_READY || a->ops.at[op].state != OPERATION_RUNNING ||
            !waits_for_stuck(a, t, stuck))
            continue;
        if (op == OPERATION_STANDING) { /* it cannot fail, but it is told once */
            if (!a->stall_told && a->fx && a->fx->stalled == 0)
                a->fx->stalled = op;
            a->stall_told = true;
            continue;
        }
        operation_set_state(a, op, OPERATION_FAILED, REASON_STALLED);
        a->ops.at[op].held = true;
        if (a->fx && (a->fx->stalled <= OPERATION_STANDING || op < a->fx->stalled))
            a->fx->stalled = op;
    }
    free(stuck);
}
