/* timer.c - one heap of everything that waits for a time
 *
 * Each open attempt and each back-off has at most one entry, at the earlier of its wake-up and its
 * deadline. Ties go by task, then attempt number, so that a restored engine fires in the same
 * order.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static bool fires_before(const struct anneal *a, const struct timer *x, const struct timer *y)
{
    if (x->at_ms != y->at_ms)
        return x->at_ms < y->at_ms;
    if (x->task != y->task)
        return x->task < y->task;
    return a->lives.at[x->live].number < a->lives.at[y->live].number;
}

static void place(struct anneal *a, size_t i, struct timer t)
{
    a->timers.at[i] = t;
    a->lives.at[t.live].timer = (uint32_t)i + 1;
}

static void sift(struct anneal *a, size_t i, struct timer t)
{
    for (; i > 0 && fires_before(a, &t, &a->timers.at[(i - 1) / 4]); i = (i - 1) / 4)
        place(a, i, a->timers.at[(i - 1) / 4]);
    for (;;) {
        size_t best = 4 * i + 1;
        if (best >= a->timers.n)
            break;
        for (size_t c = best + 1; c < a->timers.n && c <= 4 * i + 4; c++)
            if (fires_before(a, &a->timers.at[c], &a->timers.at[best]))
                best = c;
        if (!fires_before(a, &a->timers.at[best], &t))
            break;
        place(a, i, a->timers.at[best]);
        i = best;
    }
    place(a, i, t);
}

void timer_disarm(struct anneal *a, uint32_t live)
{
    struct live *l = &a->lives.at[live];
    if (!l->timer)
        return;
    size_t i = l->timer - 1;
    l->timer = 0;
    struct timer last = a->timers.at[--a->timers.n];
    if (i < a->timers.n)
        sift(a, i, last);
}

static uint64_t due_at(const struct live *l)
{
    if (l->kind == LIVE_BACKOFF || (l->flags & LIVEF_STOPPING))
        return l->wake_ms;
    if (l->flags & LIVEF_DUE)
        return l->deadline_ms; /* it waits for a slot, not for a time */
    return l->wake_ms < l->deadline_ms ? l->wake_ms : l->deadline_ms;
}

void timer_arm(struct anneal *a, uint32_t live)
{
    struct live *l = &a->lives.at[live];
    timer_disarm(a, live);
    if (l->flags & LIVEF_FROZEN)
        return;
    if (l->kind == LIVE_AHEAD && !(l->flags & LIVEF_STOPPING))
        return; /* what it follows has a timer */
#ifdef ANNEAL_DEFECT_TIMER
    if (l->kind == LIVE_BACKOFF && l->task % 7 == 3)
        return;
#endif
    struct timer t = {due_at(l), l->task, live};
    size_t i = a->timers.n;
    (void)vec_add(&a->timers);
    sift(a, i, t);
}

void timer_fire_due(struct anneal *a)
{
    while (a->timers.n > 0 && a->timers.at[0].at_ms <= a->now_ms) {
        uint32_t live = a->timers.at[0].live;
        timer_disarm(a, live);
        attempt_timer_fired(a, live);
    }
}

uint64_t anneal_next_timer(const struct anneal *a)
{
    return a->timers.n > 0 ? a->timers.at[0].at_ms : UINT64_MAX;
}
