/* pmap_i.h - how a node of a persistent map lies in memory
 *
 * One block: the header, then the children in the order of their slots, the mixed keys of the
 * entries in theirs, where each value ends, and the values.  Mixed keys are read from the top, five
 * bits a level (the last level has four), so that slots in order are mixed keys in order.
 *
 * Invariants: here & below is 0; count is the entries of the whole subtree, 2 at least except in a
 * root (1 at least); a child's level is one more; a node is in exactly one list of its space, by
 * `stored`; what more than one reference reaches is not written to.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PMAP_I_H
#define MODEL_PMAP_I_H

#include <assert.h>

#include "base/alloc.h"
#include "base/map.h"
#include "model/pmap.h"

struct pmap_link {
    struct pmap_link *prev, *next;
};

union pmap_kid {
    struct pmap *node;
    uint64_t id; /* while loading, until linked */
};

struct pmap {
    struct pmap_link link; /* first, so that a link is its node */
    uint64_t id;
    uint32_t refs, count;
    uint32_t here, below; /* slots that hold an entry, a child */
    uint8_t level;
    bool stored; /* its row was taken or loaded */
    union pmap_kid body[];
};

/* Between pmap_load_node and pmap_load_sweep. */
struct pmap_loading {
    struct u64map by_id;
    VEC(struct pmap *) levels[PMAP_LEVELS];
    bool linked;
};

struct pmap_space {
    uint64_t next_id;
    size_t nodes, bytes;
    struct pmap_link fresh, stored; /* rings; fresh by id */
    VEC(uint64_t) dropped;
    struct pmap_loading *loading; /* NULL outside of loading */
};

/* --- keys --- */

/* Part of the row format: never change.  Each step undoes itself or has an inverse. */
static inline uint64_t pmap_mix(uint64_t k)
{
    const uint64_t odd = 0xd6e8feb86659fd93ull;
    k ^= k >> 32;
    k *= odd;
    k ^= k >> 32;
    k *= odd;
    return k ^ k >> 32;
}

static inline uint64_t pmap_unmix(uint64_t k)
{
    const uint64_t inverse = 0xcfee444d8b59a89bull; /* of the factor above, modulo 2^64 */
    k ^= k >> 32;
    k *= inverse;
    k ^= k >> 32;
    k *= inverse;
    return k ^ k >> 32;
}

static inline unsigned pmap_slot(uint64_t mixed, unsigned level)
{
    return level < PMAP_LEVELS - 1 ? mixed >> (59 - 5 * level) & 31 : mixed & 15;
}

static inline uint32_t pmap_bit(uint64_t mixed, unsigned level)
{
    return 1u << pmap_slot(mixed, level);
}

/* --- parts of a node --- */

static inline unsigned pmap_n_kids(const struct pmap *m)
{
    return (unsigned)__builtin_popcount(m->below);
}

static inline unsigned pmap_n_entries(const struct pmap *m)
{
    return (unsigned)__builtin_popcount(m->here);
}

/* Where a slot's entry or child lies among those of its kind. */
static inline unsigned pmap_index(uint32_t slots, uint32_t bit)
{
    return (unsigned)__builtin_popcount(slots & (bit - 1));
}

static inline uint64_t *pmap_keys(const struct pmap *m)
{
    return (uint64_t *)(m->body + pmap_n_kids(m));
}

static inline uint32_t *pmap_ends(const struct pmap *m)
{
    return (uint32_t *)(pmap_keys(m) + pmap_n_entries(m));
}

static inline char *pmap_values(const struct pmap *m)
{
    return (char *)(pmap_ends(m) + pmap_n_entries(m));
}

static inline uint32_t pmap_value_bytes(const struct pmap *m)
{
    return m->here ? pmap_ends(m)[pmap_n_entries(m) - 1] : 0;
}

static inline struct str pmap_value(const struct pmap *m, unsigned i)
{
    uint32_t from = i ? pmap_ends(m)[i - 1] : 0;
    return (struct str){pmap_values(m) + from, pmap_ends(m)[i] - from};
}

static inline size_t pmap_size(unsigned kids, unsigned entries, size_t value_bytes)
{
    return sizeof(struct pmap) + kids * sizeof(union pmap_kid) +
           entries * (sizeof(uint64_t) + sizeof(uint32_t)) + value_bytes;
}

/* --- nodes of a space --- */

static inline void pmap_link_take(struct pmap_link *l)
{
    l->prev->next = l->next;
    l->next->prev = l->prev;
}

static inline void pmap_link_add(struct pmap_link *ring, struct pmap_link *l)
{
    l->prev = ring->prev;
    l->next = ring;
    ring->prev->next = l;
    ring->prev = l;
}

/* A node with room for what the bitmaps say, not linked to a ring and without an id. */
struct pmap *pmap_node_new(struct pmap_space *s, unsigned level, uint32_t here, uint32_t below,
                           size_t value_bytes);
/* Frees the node alone; what it referred to is the caller's.  A stored row is dropped. */
void pmap_node_free(struct pmap_space *s, struct pmap *m);
/* Forgets what loading kept beside the nodes. */
void pmap_loading_free(struct pmap_space *s);

#endif
