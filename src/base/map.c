/* map.c - entries in insertion order, found through a table of slots
 *
 * slots[] holds entry numbers plus one, 0 for empty, probed linearly and never more than half full.
 * A deleted entry stays where it is and keeps its slot, so that probe chains do not break; the next
 * growth drops it.  The slots are followed by the hash seed, see hash_i.h.
 * Invariants: mask + 1 is a power of two; n counts entries with holes, live without; cap is the
 * number of entries that fit before the table is rebuilt.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/hash_i.h"

enum { MAP_FIRST_SLOTS = 16, MAP_SEED_WORDS = 2 };

/* A fresh slot table for `entries` entries at most. */
static uint32_t *slots_new(size_t slots)
{
    assert(slots <= (size_t)1 << 31);
    uint32_t *s = xcalloc(slots + MAP_SEED_WORDS, sizeof *s);
    uint64_t seed = hash_seed();
    memcpy(s + slots, &seed, sizeof seed);
    return s;
}

static inline uint64_t slots_seed(const uint32_t *slots, size_t mask)
{
    uint64_t seed;
    memcpy(&seed, slots + mask + 1, sizeof seed);
    return seed;
}

static inline void slots_add(uint32_t *slots, size_t mask, uint32_t hash, size_t entry)
{
    size_t at = hash & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = (uint32_t)entry + 1;
}

/* Slots for a rebuilt table: as many again if the map is full of live entries, else the same. */
static size_t slots_wanted(size_t live, size_t mask, const uint32_t *slots)
{
    size_t now = slots ? mask + 1 : 0;
    if (now == 0)
        return MAP_FIRST_SLOTS;
    return live * 4 > now ? now * 2 : now;
}

/* --- text keys --- */

void strmap_done(struct strmap *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->at[i].key);
    free(m->at);
    free(m->slots);
    *m = (struct strmap){0};
}

static uint32_t strmap_hash(const struct strmap *m, struct str key)
{
    return (uint32_t)hash_bytes(slots_seed(m->slots, m->mask), key.s, key.n);
}

static struct strmap_entry *strmap_find(const struct strmap *m, struct str key, uint32_t hash)
{
    for (size_t at = hash & m->mask; m->slots[at]; at = (at + 1) & m->mask) {
        struct strmap_entry *e = &m->at[m->slots[at] - 1];
        if (e->key && e->hash == hash && str_eq((struct str){e->key, e->len}, key))
            return e;
    }
    return NULL;
}

static void strmap_rebuild(struct strmap *m)
{
    size_t want = slots_wanted(m->live, m->mask, m->slots), n = 0;
    uint32_t *slots = slots_new(want);
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].key)
            continue;
        m->at[n] = m->at[i];
        slots_add(slots, want - 1, m->at[n].hash, n);
        n++;
    }
    free(m->slots);
    m->slots = slots;
    m->mask = want - 1;
    m->n = n;
    m->cap = want / 2;
    m->at = xrealloc(m->at, m->cap, sizeof *m->at);
}

bool strmap_get(const struct strmap *m, struct str key, uintptr_t *ret_val)
{
    if (m->live == 0)
        return false;
    const struct strmap_entry *e = strmap_find(m, key, strmap_hash(m, key));
    if (!e)
        return false;
    if (ret_val)
        *ret_val = e->val;
    return true;
}

bool strmap_put(struct strmap *m, struct str key, uintptr_t val)
{
    assert(key.n < UINT32_MAX);
    if (!m->slots)
        strmap_rebuild(m);
    uint32_t hash = strmap_hash(m, key);
    struct strmap_entry *e = strmap_find(m, key, hash);
    if (e) {
        e->val = val;
        return false;
    }
    if (m->n == m->cap)
        strmap_rebuild(m);
    char *copy = xrealloc(NULL, key.n + 1, 1);
    if (key.n)
        memcpy(copy, key.s, key.n);
    copy[key.n] = '\0';
    m->at[m->n] = (struct strmap_entry){copy, (uint32_t)key.n, hash, val};
    slots_add(m->slots, m->mask, hash, m->n);
    m->n++;
    m->live++;
    return true;
}

bool strmap_del(struct strmap *m, struct str key)
{
    if (m->live == 0)
        return false;
    struct strmap_entry *e = strmap_find(m, key, strmap_hash(m, key));
    if (!e)
        return false;
    free(e->key);
    e->key = NULL;
    e->val = 0;
    m->live--;
    return true;
}

/* --- number keys --- */

void u64map_done(struct u64map *m)
{
    free(m->at);
    free(m->slots);
    *m = (struct u64map){0};
}

static uint32_t u64map_hash(const struct u64map *m, uint64_t key)
{
    return (uint32_t)hash_number(slots_seed(m->slots, m->mask), key);
}

static struct u64map_entry *u64map_find(const struct u64map *m, uint64_t key)
{
    size_t at = u64map_hash(m, key) & m->mask;
    for (; m->slots[at]; at = (at + 1) & m->mask) {
        struct u64map_entry *e = &m->at[m->slots[at] - 1];
        if (e->live && e->key == key)
            return e;
    }
    return NULL;
}

static void u64map_rebuild(struct u64map *m)
{
    size_t want = slots_wanted(m->live, m->mask, m->slots), n = 0;
    free(m->slots);
    m->slots = slots_new(want);
    m->mask = want - 1;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live)
            continue;
        m->at[n] = m->at[i];
        slots_add(m->slots, m->mask, u64map_hash(m, m->at[n].key), n);
        n++;
    }
    m->n = n;
    m->cap = want / 2;
    m->at = xrealloc(m->at, m->cap, sizeof *m->at);
}

bool u64map_get(const struct u64map *m, uint64_t key, uintptr_t *ret_val)
{
    if (m->live == 0)
        return false;
    const struct u64map_entry *e = u64map_find(m, key);
    if (!e)
        return false;
    if (ret_val)
        *ret_val = e->val;
    return true;
}

bool u64map_put(struct u64map *m, uint64_t key, uintptr_t val)
{
    if (!m->slots)
        u64map_rebuild(m);
    struct u64map_entry *e = u64map_find(m, key);
    if (e) {
        e->val = val;
        return false;
    }
    if (m->n == m->cap)
        u64map_rebuild(m);
    m->at[m->n] = (struct u64map_entry){key, val, true};
    slots_add(m->slots, m->mask, u64map_hash(m, key), m->n);
    m->n++;
    m->live++;
    return true;
}

bool u64map_del(struct u64map *m, uint64_t key)
{
    if (m->live == 0)
        return false;
    struct u64map_entry *e = u64map_find(m, key);
    if (!e)
        return false;
    *e = (struct u64map_entry){.key = key};
    m->live--;
    return true;
}
