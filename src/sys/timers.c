/* timers.c - which timer fires next
 *
 * Owns the heap of armed timers and the list of those taken out of it to fire.  Does not know the
 * time: it is told. Invariants: a timer is in the heap iff its index is below heap.n and
 * heap.at[index].t points back; slots order by (at_ms, seq), and seq is unique, so that the order
 * of firing is total. Firing takes all due timers out first.  A callback can thus re-arm for the
 * past without being called for ever, and stopping or freeing a timer that is about to fire is an
 * unlink.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loop_i.h"

enum { FANOUT = 4 };

void timers_init(struct timers *ts)
{
    *ts = (struct timers){0};
    ts->due.due_prev = ts->due.due_next = &ts->due;
}

void timers_done(struct timers *ts)
{
    vec_done(&ts->heap);
}

static bool slot_before(const struct timer_slot *a, const struct timer_slot *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->seq < b->seq;
}

static void slot_put(struct timers *ts, size_t i, struct timer_slot s)
{
    ts->heap.at[i] = s;
    s.t->index = i;
}

static void sift_up(struct timers *ts, size_t i, struct timer_slot s)
{
    while (i > 0) {
        size_t parent = (i - 1) / FANOUT;
        if (!slot_before(&s, &ts->heap.at[parent]))
            break;
        slot_put(ts, i, ts->heap.at[parent]);
        i = parent;
    }
    slot_put(ts, i, s);
}

static void sift_down(struct timers *ts, size_t i, struct timer_slot s)
{
    for (;;) {
        size_t first = i * FANOUT + 1, least = first;
        if (first >= ts->heap.n)
            break;
        for (size_t c = first + 1; c < first + FANOUT && c < ts->heap.n; c++)
            if (slot_before(&ts->heap.at[c], &ts->heap.at[least]))
                least = c;
        if (!slot_before(&ts->heap.at[least], &s))
            break;
        slot_put(ts, i, ts->heap.at[least]);
        i = least;
    }
    slot_put(ts, i, s);
}

static void heap_remove(struct timers *ts, size_t i)
{
    struct timer_slot last = ts->heap.at[--ts->heap.n];
    if (i == ts->heap.n)
        return;
    if (slot_before(&last, &ts->heap.at[i]))
        sift_up(ts, i, last);
    else
        sift_down(ts, i, last);
}

void timers_disarm(struct timers *ts, struct loop_timer *t)
{
    if (t->index == TIMER_DUE) {
        t->due_prev->due_next = t->due_next;
        t->due_next->due_prev = t->due_prev;
    } else if (t->index != TIMER_IDLE) {
        heap_remove(ts, t->index);
    }
    t->index = TIMER_IDLE;
}

void timers_arm(struct timers *ts, struct loop_timer *t, uint64_t at_ms)
{
    timers_disarm(ts, t);
    struct timer_slot s = {at_ms, ts->next_seq++, t};
    vec_push(&ts->heap, s);
    sift_up(ts, ts->heap.n - 1, s);
}

uint64_t timers_next_ms(const struct timers *ts)
{
    return ts->heap.n ? ts->heap.at[0].at_ms : UINT64_MAX;
}

static void take_due(struct timers *ts, uint64_t now_ms)
{
    while (ts->heap.n && ts->heap.at[0].at_ms <= now_ms) {
        struct loop_timer *t = ts->heap.at[0].t, *head = &ts->due;
        heap_remove(ts, 0);
        t->index = TIMER_DUE;
        t->due_prev = head->due_prev;
        t->due_next = head;
        head->due_prev->due_next = t;
        head->due_prev = t;
    }
}

bool timers_fire(struct timers *ts, uint64_t now_ms)
{
    bool any = false;
    take_due(ts, now_ms);
    while (ts->due.due_next != &ts->due) {
        struct loop_timer *t = ts->due.due_next;
        timers_disarm(ts, t);
        any = true;
        t->fn(t->arg); /* may free t */
    }
    return any;
}
