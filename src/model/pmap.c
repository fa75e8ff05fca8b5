/* pmap.c - spaces, nodes, and the edit of one key
 *
 * An edit is handed a reference and gives one back.  On the way down each node is made ours to
 * write: one that nobody else refers to is taken as it is (with a new id if its row was stored),
 * any other is copied.  A kept map has a second reference at its root; copying the root gives a
 * second reference to each child, and so on along the path, so what a kept map reaches is never
 * touched. A run of edits on an unkept map thus copies each node once, not once an edit.
 *
 * Invariants of nodes are in pmap_i.h.  Recursion goes one level a call, PMAP_LEVELS at most.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pmap_i.h"

#include <stdlib.h>

/* --- spaces --- */

struct pmap_space *pmap_space_new(uint64_t next_id)
{
    struct pmap_space *s = xcalloc(1, sizeof *s);
    s->next_id = next_id ? next_id : 1;
    s->fresh.prev = s->fresh.next = &s->fresh;
    s->stored.prev = s->stored.next = &s->stored;
    return s;
}

static void ring_free(struct pmap_link *ring)
{
    for (struct pmap_link *l = ring->next, *next; l != ring; l = next) {
        next = l->next;
        free(l);
    }
}

void pmap_space_free(struct pmap_space *s)
{
    if (!s)
        return;
    ring_free(&s->fresh);
    ring_free(&s->stored);
    vec_done(&s->dropped);
    pmap_loading_free(s);
    free(s);
}

uint64_t pmap_space_next_id(const struct pmap_space *s)
{
    return s->next_id;
}

size_t pmap_space_nodes(const struct pmap_space *s)
{
    return s->nodes;
}

size_t pmap_space_bytes(const struct pmap_space *s)
{
    return s->bytes;
}

/* --- nodes --- */

struct pmap *pmap_node_new(struct pmap_space *s, unsigned level, uint32_t here, uint32_t below,
                           size_t value_bytes)
{
    size_t size = pmap_size((unsigned)__builtin_popcount(below), (unsigned)__builtin_popcount(here),
                            value_bytes);
    struct pmap *m = xcalloc(1, size);
    m->level = (uint8_t)level;
    m->here = here;
    m->below = below;
    s->nodes++;
    s->bytes += size;
    return m;
}

void pmap_node_free(struct pmap_space *s, struct pmap *m)
{
    s->nodes--;
    s->bytes -= pmap_size(pmap_n_kids(m), pmap_n_entries(m), pmap_value_bytes(m));
    if (m->stored)
        vec_push(&s->dropped, m->id);
    pmap_link_take(&m->link);
    free(m);
}

/* Gives a node its id and its place among those without a row; one reference, the caller's. */
static struct pmap *node_begin(struct pmap_space *s, struct pmap *m)
{
    m->id = s->next_id++;
    m->refs = 1;
    m->stored = false;
    pmap_link_add(&s->fresh, &m->link);
    return m;
}

struct pmap *pmap_ref(struct pmap *m)
{
    if (m) {
        assert(m->refs < UINT32_MAX);
        m->refs++;
    }
    return m;
}

void pmap_unref(struct pmap_space *s, struct pmap *m)
{
    if (!m || --m->refs > 0 || s->loading) /* what is loaded is left to the sweep */
        return;
    for (unsigned i = 0; i < pmap_n_kids(m); i++)
        pmap_unref(s, m->body[i].node);
    pmap_node_free(s, m);
}

/* Moves the reference to a node with the same content that is ours to write. */
static struct pmap *node_open(struct pmap_space *s, struct pmap *m)
{
    if (m->refs == 1 && !m->stored)
        return m;
    if (m->refs == 1) {
        vec_push(&s->dropped, m->id);
        pmap_link_take(&m->link);
        return node_begin(s, m);
    }
    struct pmap *copy = pmap_node_new(s, m->level, m->here, m->below, pmap_value_bytes(m));
    size_t body = pmap_size(pmap_n_kids(m), pmap_n_entries(m), pmap_value_bytes(m)) - sizeof *m;
    memcpy(copy->body, m->body, body);
    copy->count = m->count;
    for (unsigned i = 0; i < pmap_n_kids(m); i++)
        pmap_ref(m->body[i].node);
    m->refs--;
    return node_begin(s, copy);
}

/* What a slot is to hold: a child, else an entry, else nothing. */
struct content {
    struct pmap *kid;
    bool entry;
    uint64_t mixed;
    struct str value;
};

static void entry_put(struct pmap *m, unsigned i, uint64_t mixed, struct str value)
{
    uint32_t from = i ? pmap_ends(m)[i - 1] : 0;
    pmap_keys(m)[i] = mixed;
    pmap_ends(m)[i] = from + (uint32_t)value.n;
    if (value.n)
        memcpy(pmap_values(m) + from, value.s, value.n);
}

/* Moves the references to the children of a node to another, except for that in a slot. */
static void kids_move(struct pmap_space *s, struct pmap *to, struct pmap *from, uint32_t except)
{
    bool shared = from->refs > 1;
    for (uint32_t left = from->below & ~except; left; left &= left - 1) {
        uint32_t bit = left & -left;
        struct pmap *kid = from->body[pmap_index(from->below, bit)].node;
        to->body[pmap_index(to->below, bit)].node = shared ? pmap_ref(kid) : kid;
    }
    if (shared)
        from->refs--;
    else
        pmap_node_free(s, from);
}

/* Moves the reference to a node that differs in one slot.  A child that was there before is the
 * caller's, who has taken it out of the count.  c->value may lie in m itself. */
static struct pmap *node_with(struct pmap_space *s, struct pmap *m, uint32_t bit,
                              const struct content *c)
{
    bool was = m->here & bit;
    size_t bytes = pmap_value_bytes(m) + (c->entry ? c->value.n : 0);
    if (was)
        bytes -= pmap_value(m, pmap_index(m->here, bit)).n;
    struct pmap *to = pmap_node_new(s, m->level, (m->here & ~bit) | (c->entry ? bit : 0),
                                    (m->below & ~bit) | (c->kid ? bit : 0), bytes);
    unsigned i = 0;
    for (uint32_t left = to->here; left; left &= left - 1, i++) {
        unsigned from = pmap_index(m->here, left & -left);
        if ((left & -left) == bit)
            entry_put(to, i, c->mixed, c->value);
        else
            entry_put(to, i, pmap_keys(m)[from], pmap_value(m, from));
    }
    to->count = m->count - was + (c->kid ? c->kid->count : c->entry);
    if (c->kid)
        to->body[pmap_index(to->below, bit)].node = c->kid;
    kids_move(s, to, m, bit);
    return node_begin(s, to);
}

/* The subtree of two entries whose keys are the same down to its level. */
static struct pmap *node_pair(struct pmap_space *s, unsigned level, const struct content *a,
                              const struct content *b)
{
    unsigned last = level;
    while (pmap_slot(a->mixed, last) == pmap_slot(b->mixed, last))
        last++;
    const struct content *low = a->mixed < b->mixed ? a : b, *high = low == a ? b : a;
    struct pmap *m = pmap_node_new(s, last, pmap_bit(a->mixed, last) | pmap_bit(b->mixed, last), 0,
                                   a->value.n + b->value.n);
    entry_put(m, 0, low->mixed, low->value);
    entry_put(m, 1, high->mixed, high->value);
    m->count = 2;
    node_begin(s, m);
    while (last-- > level) {
        struct pmap *up = pmap_node_new(s, last, 0, pmap_bit(a->mixed, last), 0);
        up->body[0].node = m;
        up->count = 2;
        m = node_begin(s, up);
    }
    return m;
}

/* --- one key --- */

static bool mixed_get(const struct pmap *m, uint64_t mixed, struct str *ret_value)
{
    while (m && m->below & pmap_bit(mixed, m->level))
        m = m->body[pmap_index(m->below, pmap_bit(mixed, m->level))].node;
    if (!m || !(m->here & pmap_bit(mixed, m->level)))
        return false;
    unsigned i = pmap_index(m->here, pmap_bit(mixed, m->level));
    if (pmap_keys(m)[i] != mixed)
        return false;
    if (ret_value)
        *ret_value = pmap_value(m, i);
    return true;
}

bool pmap_get(const struct pmap *m, uint64_t key, struct str *ret_value)
{
    return mixed_get(m, pmap_mix(key), ret_value);
}

/* Moves the reference; the entry is not there with this value. */
static struct pmap *node_set(struct pmap_space *s, struct pmap *m, const struct content *c)
{
    uint32_t bit = pmap_bit(c->mixed, m->level);
    if (m->below & bit) {
        m = node_open(s, m);
        union pmap_kid *kid = &m->body[pmap_index(m->below, bit)];
        m->count -= kid->node->count;
        kid->node = node_set(s, kid->node, c);
        m->count += kid->node->count;
        return m;
    }
    unsigned i = pmap_index(m->here, bit);
    if (!(m->here & bit) || pmap_keys(m)[i] == c->mixed)
        return node_with(s, m, bit, c);
    struct content other = {.mixed = pmap_keys(m)[i], .value = pmap_value(m, i)};
    struct content pair = {.kid = node_pair(s, m->level + 1u, &other, c)};
    return node_with(s, m, bit, &pair);
}

bool pmap_set(struct pmap_space *s, struct pmap **m, uint64_t key, struct str value)
{
    struct content c = {.entry = true, .mixed = pmap_mix(key), .value = value};
    struct str now;
    assert(value.n <= PMAP_VALUE_MAX && !s->loading);
    if (mixed_get(*m, c.mixed, &now) && str_eq(now, value))
        return false;
    if (*m) {
        assert((*m)->count < UINT32_MAX);
        *m = node_set(s, *m, &c);
        return true;
    }
    struct pmap *root = pmap_node_new(s, 0, pmap_bit(c.mixed, 0), 0, value.n);
    entry_put(root, 0, c.mixed, value);
    root->count = 1;
    *m = node_begin(s, root);
    return true;
}

/* Moves the reference; the key is there, and not alone in the map. */
static struct pmap *node_remove(struct pmap_space *s, struct pmap *m, uint64_t mixed)
{
    uint32_t bit = pmap_bit(mixed, m->level);
    if (m->here & bit)
        return node_with(s, m, bit, &(struct content){0});
    m = node_open(s, m);
    union pmap_kid *at = &m->body[pmap_index(m->below, bit)];
    struct pmap *kid = node_remove(s, at->node, mixed);
    m->count--;
    at->node = kid;
    if (kid->count > 1)
        return m;
    /* One entry is left there; it goes up here, and on if this node has no other either. */
    struct content last = {.entry = true, .mixed = pmap_keys(kid)[0], .value = pmap_value(kid, 0)};
    m->count--;
    m = node_with(s, m, bit, &last);
    pmap_unref(s, kid);
    return m;
}

bool pmap_remove(struct pmap_space *s, struct pmap **m, uint64_t key)
{
    uint64_t mixed = pmap_mix(key);
    assert(!s->loading);
    if (!mixed_get(*m, mixed, NULL))
        return false;
    if ((*m)->count > 1) {
        *m = node_remove(s, *m, mixed);
        return true;
    }
    pmap_unref(s, *m);
    *m = NULL;
    return true;
}

/* --- all of them --- */

size_t pmap_count(const struct pmap *m)
{
    return m ? m->count : 0;
}

uint64_t pmap_id(const struct pmap *m)
{
    return m ? m->id : 0;
}

void pmap_each(const struct pmap *m, pmap_entry_f *f, void *ctx)
{
    if (!m)
        return;
    for (uint32_t left = m->here | m->below; left; left &= left - 1) {
        uint32_t bit = left & -left;
        unsigned i = pmap_index(m->here, bit);
        if (m->here & bit)
            f(ctx, pmap_unmix(pmap_keys(m)[i]), pmap_value(m, i));
        else
            pmap_each(m->body[pmap_index(m->below, bit)].node, f, ctx);
    }
}
