/* test_map.c - both hash maps, against a plain array as the model */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "tap.h"
#include "tree_gen.h"

static void test_str_basics(void)
{
    struct strmap m = {0};
    uintptr_t v = 99;
    ok(!strmap_get(&m, str_of("a"), &v) && v == 99, "an empty map has nothing");
    ok(!strmap_del(&m, str_of("a")), "and nothing to delete");
    char key[] = "node";
    ok(strmap_put(&m, str_of(key), 7), "a new key");
    key[0] = 'X';
    ok(strmap_get(&m, str_of("node"), &v) && v == 7, "the key was copied");
    ok(!strmap_put(&m, str_of("node"), 8), "an old key");
    ok(strmap_get(&m, str_of("node"), NULL), "asking without wanting the value");
    ok(strmap_get(&m, str_of("node"), &v) && v == 8, "the new value");
    ok(strmap_put(&m, (struct str){"a\0b", 3}, 1), "a key with a NUL inside");
    ok(!strmap_get(&m, str_of("a"), NULL), "is not its prefix");
    ok(strmap_put(&m, str_of(NULL), 2) && strmap_get(&m, str_of(""), &v) && v == 2,
       "the empty key");
    ok(strmap_del(&m, str_of("node")) && !strmap_get(&m, str_of("node"), NULL), "deleted");
    ok(strmap_put(&m, str_of("node"), 9), "and new again");
    is_int(m.live, 3, "live keys");
    strmap_done(&m);
    ok(!m.at && !m.slots && !m.n, "done leaves an empty map");
    ok(strmap_put(&m, str_of("again"), 1), "which is usable");
    strmap_done(&m);
}

/* Random puts and deletes; the model is one slot per possible key. */
static void test_str_model(void)
{
    enum { KEYS = 3000, STEPS = 200000 };
    static uintptr_t model[KEYS];
    struct strmap m = {0};
    struct rng r = {11};
    bool right = true;
    char key[16];
    size_t live = 0;
    for (int i = 0; i < STEPS; i++) {
        uint32_t k = rng_below(&r, KEYS);
        int n = snprintf(key, sizeof key, "k%u", k);
        struct str s = {key, (size_t)n};
        if (rng_below(&r, 3) == 0) {
            right = right && strmap_del(&m, s) == (model[k] != 0);
            live -= model[k] != 0;
            model[k] = 0;
        } else {
            right = right && strmap_put(&m, s, (uintptr_t)i + 1) == (model[k] == 0);
            live += model[k] == 0;
            model[k] = (uintptr_t)i + 1;
        }
    }
    for (uint32_t k = 0; k < KEYS; k++) {
        uintptr_t v = 0;
        int n = snprintf(key, sizeof key, "k%u", k);
        right = right && strmap_get(&m, (struct str){key, (size_t)n}, &v) == (model[k] != 0) &&
                v == model[k];
    }
    ok(right, "%d random steps agree with the model", STEPS);
    is_int(m.live, live, "and so does the count");
    ok(m.cap < KEYS * 8, "deletions do not make the map grow for ever");
    strmap_done(&m);
}

static void test_order(void)
{
    struct strmap m = {0};
    char key[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(key, sizeof key, "%d", i * 7919 % 1000);
        strmap_put(&m, str_of(key), (uintptr_t)i);
    }
    for (int i = 0; i < 1000; i += 2) {
        snprintf(key, sizeof key, "%d", i * 7919 % 1000);
        strmap_del(&m, str_of(key));
    }
    for (int i = 1000; i < 3000; i++) {
        snprintf(key, sizeof key, "%d", i);
        strmap_put(&m, str_of(key), (uintptr_t)i);
    }
    uintptr_t last = 0;
    bool rising = true;
    size_t seen = 0;
    for (size_t i = 0; i < m.n; i++) {
        if (!m.at[i].key)
            continue;
        rising = rising && m.at[i].val > last;
        last = m.at[i].val;
        seen++;
    }
    ok(rising, "iteration is in insertion order, across growth and deletion");
    is_int(seen, 2500, "and sees every live key");
    strmap_done(&m);
}

static void test_u64(void)
{
    enum { KEYS = 2000, STEPS = 100000 };
    static uintptr_t model[KEYS];
    struct u64map m = {0};
    struct rng r = {12};
    uintptr_t v = 99;
    bool right = !u64map_get(&m, 5, &v) && v == 99 && !u64map_del(&m, 5);
    for (int i = 0; i < STEPS; i++) {
        uint32_t k = rng_below(&r, KEYS);
        uint64_t key = (uint64_t)k << 40; /* low bits all alike: the hash must mix */
        if (rng_below(&r, 3) == 0) {
            right = right && u64map_del(&m, key) == (model[k] != 0);
            model[k] = 0;
        } else {
            right = right && u64map_put(&m, key, (uintptr_t)i + 1) == (model[k] == 0);
            model[k] = (uintptr_t)i + 1;
        }
    }
    size_t live = 0;
    for (uint32_t k = 0; k < KEYS; k++) {
        v = 0;
        right = right && u64map_get(&m, (uint64_t)k << 40, &v) == (model[k] != 0) && v == model[k];
        live += model[k] != 0;
    }
    ok(right, "%d random steps on numbers agree with the model", STEPS);
    is_int(m.live, live, "and so does the count");
    ok(u64map_put(&m, UINT64_MAX, 1) && u64map_get(&m, UINT64_MAX, NULL), "the largest key");
    u64map_put(&m, 0, 123);
    ok(u64map_get(&m, 0, &v) && v == 123, "the smallest key");
    size_t at = m.n;
    u64map_put(&m, 77777777, 5);
    ok(m.at[at].key == 77777777 && m.at[at].live, "a new key comes last");
    u64map_done(&m);
    ok(!m.at && !m.n, "done leaves an empty map");
}

int main(void)
{
    test_str_basics();
    test_str_model();
    test_order();
    test_u64();
    return tap_done();
}
