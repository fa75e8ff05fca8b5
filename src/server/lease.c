/* lease.c - a map from attempt to who has it and when that was last said */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lease.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "model/rows.h"

struct held {
    uint64_t heard_ms; /* restored: when it runs out */
    uint64_t lease_ms;
    uint64_t next; /* key of who gets its place when it is dropped; 0: nobody */
    uint32_t worker;
    bool restored, placed;
};
struct lease {
    struct u64map at; /* task and attempt -> slot */
    VEC(struct held) slots;
    VEC(uint32_t) spare;
    VEC(uint32_t) places; /* taken, by worker */
};

struct lease *lease_new(void)
{
    return xcalloc(1, sizeof(struct lease));
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    u64map_done(&l->at);
    vec_done(&l->slots);
    vec_done(&l->spare);
    vec_done(&l->places);
    free(l);
}

static uint64_t key_of(uint32_t task, uint32_t attempt)
{
    return (uint64_t)task << ATTEMPT_BITS | attempt;
}

static struct held *held_at(const struct lease *l, uint64_t key)
{
    uintptr_t slot;
    return u64map_get(&l->at, key, &slot) ? &l->slots.at[slot] : NULL;
}

static struct held *held_find(const struct lease *l, uint32_t task, uint32_t attempt)
{
    return held_at(l, key_of(task, attempt));
}

static struct held *held_make(struct lease *l, uint32_t task, uint32_t attempt)
{
    uint32_t slot = (uint32_t)l->slots.n;
    if (l->spare.n > 0)
        slot = l->spare.at[--l->spare.n];
    else
        (void)vec_add(&l->slots);
    l->slots.at[slot] = (struct held){0};
    (void)u64map_put(&l->at, key_of(task, attempt), slot);
    return &l->slots.at[slot];
}

static void place(struct lease *l, struct held *h)
{
    while (l->places.n <= h->worker)
        (void)vec_add(&l->places);
    l->places.at[h->worker] += !h->placed;
    h->placed = true;
}

void lease_drop(struct lease *l, uint32_t task, uint32_t attempt)
{
    uintptr_t slot;
    if (!u64map_get(&l->at, key_of(task, attempt), &slot))
        return;
    struct held *h = &l->slots.at[slot], *next = h->next ? held_at(l, h->next) : NULL;
    if (h->placed)
        l->places.at[h->worker]--;
    if (h->placed && next && next->worker == h->worker)
        place(l, next);
    (void)u64map_del(&l->at, key_of(task, attempt));
    vec_push(&l->spare, (uint32_t)slot);
}

void lease_hold(struct lease *l, const struct lease_given *g, uint64_t now_ms)
{
    lease_drop(l, g->task, g->attempt);
    struct held *h = held_make(l, g->task, g->attempt);
    h->heard_ms = now_ms;
    h->lease_ms = g->lease_ms;
    h->worker = g->worker;
    struct held *before = g->behind ? held_find(l, g->behind, g->behind_attempt) : NULL;
    if (before)
        before->next = key_of(g->task, g->attempt);
    else
        place(l, h);
}

void lease_restore(struct lease *l, uint32_t task, uint32_t attempt, uint64_t lease_ms,
                   uint64_t until_ms)
{
    lease_drop(l, task, attempt);
    struct held *h = held_make(l, task, attempt);
    h->heard_ms = until_ms;
    h->lease_ms = lease_ms;
    h->restored = true;
    place(l, h);
}

enum lease_claim lease_claim(struct lease *l, uint32_t task, uint32_t attempt, uint32_t worker,
                             uint64_t now_ms)
{
    struct held *h = held_find(l, task, attempt);
    if (!h)
        return LEASE_UNKNOWN;
    if (h->worker == 0) { /* whoever says that it has it */
        bool placed = h->placed;
        if (placed)
            l->places.at[0]--;
        h->placed = false;
        h->worker = worker;
        if (placed)
            place(l, h);
    }
    if (h->worker != worker)
        return LEASE_OTHERS;
    if (h->restored || h->heard_ms < now_ms)
        h->heard_ms = now_ms;
    h->restored = false;
    return LEASE_YOURS;
}

uint32_t lease_holder(const struct lease *l, uint32_t task, uint32_t attempt)
{
    const struct held *h = held_find(l, task, attempt);
    return h ? h->worker : 0;
}

bool lease_find(const struct lease *l, uint32_t task, uint32_t attempt, struct lease_view *ret_v)
{
    const struct held *h = held_find(l, task, attempt);
    if (!h)
        return false;
    *ret_v = (struct lease_view){.worker = h->worker,
                                 .heard_ms = h->restored ? 0 : h->heard_ms,
                                 .over_ms = h->restored ? h->heard_ms : h->heard_ms + h->lease_ms};
    return true;
}

static bool is_over(const struct held *h, uint64_t now_ms, bool restored_too)
{
    return h->restored ? restored_too || h->heard_ms < now_ms : h->heard_ms + h->lease_ms < now_ms;
}

static void drop_all(struct lease *l, uint64_t now_ms, bool restored_too, lease_over_f *fn,
                     void *arg)
{
    VEC(uint64_t) out = {0};
    for (size_t i = 0; i < l->at.n; i++)
        if (l->at.at[i].live && is_over(&l->slots.at[l->at.at[i].val], now_ms, restored_too))
            vec_push(&out, l->at.at[i].key);
    for (size_t i = 0; i < out.n; i++) {
        const struct held *h = held_at(l, out.at[i]);
        uint32_t task = (uint32_t)(out.at[i] >> ATTEMPT_BITS);
        uint32_t attempt = (uint32_t)(out.at[i] & ((1u << ATTEMPT_BITS) - 1));
        if (!h || !is_over(h, now_ms, restored_too))
            continue; /* what was done about another one settled it too */
        lease_drop(l, task, attempt);
        fn(arg, task, attempt);
    }
    vec_done(&out);
}

void lease_expire(struct lease *l, uint64_t now_ms, lease_over_f *fn, void *arg)
{
    drop_all(l, now_ms, false, fn, arg);
}

void lease_all_reported(struct lease *l, lease_over_f *fn, void *arg)
{
    drop_all(l, 0, true, fn, arg);
}

size_t lease_count(const struct lease *l)
{
    return l->at.live;
}

uint32_t lease_places(const struct lease *l, uint32_t worker)
{
    return worker < l->places.n ? l->places.at[worker] : 0;
}
