/* lease.c - a map from attempt to the time it was last heard of */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lease.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"
#include "model/rows.h"

#define RESTORED                                                                                   \
    (1ull << 63) /* with the time at which it runs out, not at which it was heard of               \
                  */

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

void lease_restore(struct lease *l, uint32_t task, uint32_t attempt, uint64_t until_ms)
{
    (void)u64map_put(&l->heard, key_of(task, attempt), until_ms | RESTORED);
}

void lease_claim(struct lease *l, uint32_t task, uint32_t attempt, uint64_t now_ms)
{
    uintptr_t heard;
    if (u64map_get(&l->heard, key_of(task, attempt), &heard) &&
        ((heard & RESTORED) || heard < now_ms))
        (void)u64map_put(&l->heard, key_of(task, attempt), now_ms);
}

void lease_drop(struct lease *l, uint32_t task, uint32_t attempt)
{
    (void)u64map_del(&l->heard, key_of(task, attempt));
}

typedef void lost_f(void *arg, uint32_t task, uint32_t attempt);

static void drop_all(struct lease *l, uint64_t now_ms, bool restored_too, lost_f *fn, void *arg)
{
    VEC(uint64_t) out = {0};
    for (size_t i = 0; i < l->heard.n; i++) {
        uint64_t v = l->heard.at[i].val;
        bool over = (v & RESTORED) ? restored_too || (v & ~RESTORED) < now_ms
                                   : v + l->lease_ms < now_ms;
        if (l->heard.at[i].live && over)
            vec_push(&out, l->heard.at[i].key);
    }
    for (size_t i = 0; i < out.n; i++) {
        (void)u64map_del(&l->heard, out.at[i]);
        fn(arg, (uint32_t)(out.at[i] >> ATTEMPT_BITS),
           (uint32_t)(out.at[i] & ((1u << ATTEMPT_BITS) - 1)));
    }
    vec_done(&out);
}

void lease_expire(struct lease *l, uint64_t now_ms, lost_f *fn, void *arg)
{
    drop_all(l, now_ms, false, fn, arg);
}

void lease_all_reported(struct lease *l, lost_f *fn, void *arg)
{
    drop_all(l, 0, true, fn, arg);
}

size_t lease_count(const struct lease *l)
{
    return l->heard.live;
}
