/* lease.c - a map from attempt to the time it was last heard of */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lease.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "model/rows.h"

struct lease {
    struct u64map heard;
    uint64_t lease_ms;
};

struct lease *lease_new(uint64_t lease_ms)
{
    struct lease *l = xcalloc(1, sizeof *l);
    l->lease_ms = lease_ms;
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    u64map_done(&l->heard);
    free(l);
}

static uint64_t key_of(uint32_t task, uint32_t attempt)
{
    return (uint64_t)task << ATTEMPT_BITS | attempt;
}

void lease_hold(struct lease *l, uint32_t task, uint32_t attempt, uint64_t heard_ms)
{
    (void)u64map_put(&l->heard, key_of(task, attempt), heard_ms);
}

void lease_claim(struct lease *l, uint32_t task, uint32_t attempt, uint64_t now_ms)
{
    uintptr_t heard;
    if (u64map_get(&l->heard, key_of(task, attempt), &heard) && heard < now_ms)
        (void)u64map_put(&l->heard, key_of(task, attempt), now_ms);
}

void lease_drop(struct lease *l, uint32_t task, uint32_t attempt)
{
    (void)u64map_del(&l->heard, key_of(task, attempt));
}

void lease_expire(struct lease *l, uint64_t now_ms,
                  void (*fn)(void *arg, uint32_t task, uint32_t attempt), void *arg)
{
    VEC(uint64_t) out = {0};
    for (size_t i = 0; i < l->heard.n; i++)
        if (l->heard.at[i].live && l->heard.at[i].val + l->lease_ms < now_ms)
            vec_push(&out, l->heard.at[i].key);
    for (size_t i = 0; i < out.n; i++) {
        (void)u64map_del(&l->heard, out.at[i]);
        fn(arg, (uint32_t)(out.at[i] >> ATTEMPT_BITS),
           (uint32_t)(out.at[i] & ((1u << ATTEMPT_BITS) - 1)));
    }
    vec_done(&out);
}

size_t lease_count(const struct lease *l)
{
    return l->heard.live;
}
