/* pmap_rows.c - nodes as rows: written when an edit made them, read back and proved
 *
 * Bytes of a node: version, level, the bitmaps of entries and of children (four bytes each, little
 * endian), the ids of the children, then of each entry the mixed key (eight bytes, little endian),
 * the length of its value and the value; ids and lengths as in leb_i.h, both kinds in slot order.
 * There is one way to write a node.
 *
 * Loading trusts nothing.  A row is read alone first.  When all are there, children are linked,
 * each one level below its parent, so that no chain of damaged rows can be a ring.  Then, from the
 * lowest level up, a node must hold its keys in the slots that they belong to, all with the node's
 * own prefix, and two entries at least below the root: with that, the shape is the one its content
 * has.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/pmap_i.h"

#include <endian.h>
#include <stdlib.h>

#include "model/leb_i.h"

enum { NODE_VERSION = 1, NODE_HEADER = 10, NODE_LAST_SLOTS = 0xffff };
#define NODE_ID_MAX ((uint64_t)INT64_MAX) /* what a column holds */

/* --- writing --- */

static void row_encode(struct buf *b, const struct pmap *m)
{
    uint32_t maps[2] = {htole32(m->here), htole32(m->below)};
    buf_putc(b, NODE_VERSION);
    buf_putc(b, (char)m->level);
    buf_put(b, maps, sizeof maps);
    for (unsigned i = 0; i < pmap_n_kids(m); i++)
        leb_put(b, m->body[i].node->id);
    for (unsigned i = 0; i < pmap_n_entries(m); i++) {
        uint64_t mixed = htole64(pmap_keys(m)[i]);
        struct str value = pmap_value(m, i);
        buf_put(b, &mixed, sizeof mixed);
        leb_put(b, value.n);
        buf_put(b, value.s, value.n);
    }
}

void pmap_changes_take(struct pmap_space *s, struct arena *mem, struct pmap_changes *ret)
{
    SCOPED_BUF(bytes);
    size_t n = 0;
    assert(!s->loading);
    for (struct pmap_link *l = s->fresh.next; l != &s->fresh; l = l->next)
        n++;
    *ret = (struct pmap_changes){.added = arena_new(mem, struct pmap_row, n),
                                 .dropped = arena_new(mem, uint64_t, s->dropped.n),
                                 .n_dropped = s->dropped.n};
    while (s->fresh.next != &s->fresh) {
        struct pmap *m = (struct pmap *)s->fresh.next;
        buf_clear(&bytes);
        row_encode(&bytes, m);
        char *kept = arena_take(mem, bytes.len);
        memcpy(kept, bytes.data, bytes.len);
        ret->added[ret->n_added++] = (struct pmap_row){m->id, {kept, bytes.len}};
        m->stored = true;
        pmap_link_take(&m->link);
        pmap_link_add(&s->stored, &m->link);
    }
    if (s->dropped.n)
        memcpy(ret->dropped, s->dropped.at, s->dropped.n * sizeof *ret->dropped);
    vec_done(&s->dropped);
}

/* --- reading one row --- */

static int corrupt(struct err *e, uint64_t id, const char *what)
{
    return err_set(e, ERR_CORRUPT, "map node %llu: %s", (unsigned long long)id, what);
}

static uint32_t take_bitmap(struct str *from)
{
    uint32_t v;
    memcpy(&v, from->s, sizeof v);
    from->s += sizeof v;
    from->n -= sizeof v;
    return le32toh(v);
}

/* The entry that *from begins with; false if there is none. */
static bool take_entry(struct str *from, uint64_t *ret_mixed, struct str *ret_value)
{
    uint64_t n;
    if (from->n < sizeof *ret_mixed)
        return false;
    memcpy(ret_mixed, from->s, sizeof *ret_mixed);
    *ret_mixed = le64toh(*ret_mixed);
    from->s += sizeof *ret_mixed;
    from->n -= sizeof *ret_mixed;
    if (!leb_take(from, PMAP_VALUE_MAX, &n) || n > from->n)
        return false;
    *ret_value = (struct str){from->s, n};
    from->s += n;
    from->n -= n;
    return true;
}

/* NULL and the bytes of all values if the entries are whole and nothing follows them, else why not.
 */
static const char *entries_measure(struct str from, unsigned n, size_t *ret_bytes)
{
    size_t bytes = 0;
    for (; n > 0; n--) {
        uint64_t mixed;
        struct str value;
        if (!take_entry(&from, &mixed, &value))
            return "bad entry";
        bytes += value.n;
    }
    *ret_bytes = bytes;
    return from.n ? "bytes after the end" : NULL;
}

static void entries_fill(struct pmap *m, struct str from)
{
    uint32_t end = 0;
    for (unsigned i = 0; i < pmap_n_entries(m); i++) {
        struct str value;
        (void)take_entry(&from, &pmap_keys(m)[i], &value);
        if (value.n)
            memcpy(pmap_values(m) + end, value.s, value.n);
        pmap_ends(m)[i] = end += (uint32_t)value.n;
    }
}

struct head { /* of a row, checked */
    unsigned level;
    uint32_t here, below;
    uint64_t kids[32];
    struct str entries;
};

static const char *head_take(struct str from, struct head *h)
{
    if (from.n < NODE_HEADER)
        return "too short";
    if (from.s[0] != NODE_VERSION)
        return "of a version that this program does not read";
    h->level = (unsigned char)from.s[1];
    if (h->level >= PMAP_LEVELS)
        return "bad level";
    from.s += 2;
    from.n -= 2;
    h->here = take_bitmap(&from);
    h->below = take_bitmap(&from);
    if (h->here & h->below || !(h->here | h->below))
        return "bad bitmap";
    if (h->level == PMAP_LEVELS - 1 && (h->below || h->here > NODE_LAST_SLOTS))
        return "bad bitmap";
    for (int i = 0; i < __builtin_popcount(h->below); i++)
        if (!leb_take(&from, NODE_ID_MAX, &h->kids[i]) || h->kids[i] == 0)
            return "bad child";
    h->entries = from;
    return NULL;
}

/* --- all rows --- */

void pmap_loading_free(struct pmap_space *s)
{
    if (!s->loading)
        return;
    u64map_done(&s->loading->by_id);
    for (unsigned level = 0; level < PMAP_LEVELS; level++)
        vec_done(&s->loading->levels[level]);
    free(s->loading);
    s->loading = NULL;
}

int pmap_load_node(struct pmap_space *s, uint64_t id, struct str bytes, struct err *e)
{
    struct head h;
    size_t value_bytes;
    if (!s->loading) {
        assert(s->nodes == 0 && s->dropped.n == 0);
        s->loading = xcalloc(1, sizeof *s->loading);
    }
    assert(!s->loading->linked);
    if (id == 0 || id > NODE_ID_MAX)
        return corrupt(e, id, "bad id");
    if (u64map_get(&s->loading->by_id, id, NULL))
        return corrupt(e, id, "there twice");
    const char *wrong = head_take(bytes, &h);
    if (!wrong)
        wrong = entries_measure(h.entries, (unsigned)__builtin_popcount(h.here), &value_bytes);
    if (wrong)
        return corrupt(e, id, wrong);
    struct pmap *m = pmap_node_new(s, h.level, h.here, h.below, value_bytes);
    for (unsigned i = 0; i < pmap_n_kids(m); i++)
        m->body[i].id = h.kids[i];
    entries_fill(m, h.entries);
    m->id = id;
    m->stored = true;
    pmap_link_add(&s->stored, &m->link);
    u64map_put(&s->loading->by_id, id, (uintptr_t)m);
    vec_push(&s->loading->levels[h.level], m);
    if (id >= s->next_id)
        s->next_id = id + 1;
    return 0;
}

static int node_link(struct pmap_space *s, struct pmap *m, struct err *e)
{
    for (unsigned i = 0; i < pmap_n_kids(m); i++) {
        uintptr_t found;
        if (!u64map_get(&s->loading->by_id, m->body[i].id, &found))
            return err_set(e, ERR_CORRUPT, "map node %llu: its child %llu is missing",
                           (unsigned long long)m->id, (unsigned long long)m->body[i].id);
        struct pmap *kid = (struct pmap *)found;
        if (kid->level != m->level + 1)
            return err_set(e, ERR_CORRUPT, "map node %llu: its child %llu is of another level",
                           (unsigned long long)m->id, (unsigned long long)kid->id);
        m->body[i].node = pmap_ref(kid);
    }
    return 0;
}

/* Some key of the subtree; the nodes on the way have been proved not to be empty. */
static uint64_t some_key(const struct pmap *m)
{
    while (!m->here)
        m = m->body[0].node;
    return pmap_keys(m)[0];
}

/* Whether a key may be in the slot of a node of that level which also holds `other`. */
static bool key_fits(unsigned level, uint32_t bit, uint64_t mixed, uint64_t other)
{
    bool prefix = level == 0 || mixed >> (64 - 5 * level) == other >> (64 - 5 * level);
    return prefix && pmap_bit(mixed, level) == bit;
}

/* The node's children have been proved. */
static int node_prove(struct pmap *m, struct err *e)
{
    uint64_t some = some_key(m), count = pmap_n_entries(m);
    for (uint32_t left = m->here | m->below; left; left &= left - 1) {
        uint32_t bit = left & -left;
        const struct pmap *kid = m->below & bit ? m->body[pmap_index(m->below, bit)].node : NULL;
        uint64_t mixed = kid ? some_key(kid) : pmap_keys(m)[pmap_index(m->here, bit)];
        if (!key_fits(m->level, bit, mixed, some))
            return corrupt(e, m->id, "a key in the wrong place");
        count += kid ? kid->count : 0;
    }
    if (count < 2 && m->level > 0)
        return corrupt(e, m->id, "a single entry that belongs to its parent");
    if (count > UINT32_MAX)
        return corrupt(e, m->id, "too many entries");
    m->count = (uint32_t)count;
    return 0;
}

int pmap_load_end(struct pmap_space *s, struct err *e)
{
    int r;
    if (!s->loading) /* no row at all */
        s->loading = xcalloc(1, sizeof *s->loading);
    assert(!s->loading->linked);
    for (unsigned level = 0; level < PMAP_LEVELS; level++)
        for (size_t i = 0; i < s->loading->levels[level].n; i++)
            if ((r = node_link(s, s->loading->levels[level].at[i], e)) < 0)
                return r;
    for (unsigned level = PMAP_LEVELS; level-- > 0;)
        for (size_t i = 0; i < s->loading->levels[level].n; i++)
            if ((r = node_prove(s->loading->levels[level].at[i], e)) < 0)
                return r;
    s->loading->linked = true;
    return 0;
}

int pmap_load_root(struct pmap_space *s, uint64_t id, struct pmap **ret_m, struct err *e)
{
    uintptr_t found = 0;
    assert(s->loading && s->loading->linked);
    if (id && !u64map_get(&s->loading->by_id, id, &found))
        return corrupt(e, id, "missing");
    struct pmap *m = (struct pmap *)found;
    if (m && m->level)
        return corrupt(e, id, "not the root of a map");
    *ret_m = pmap_ref(m);
    return 0;
}

size_t pmap_load_sweep(struct pmap_space *s)
{
    size_t before = s->nodes;
    assert(s->loading && s->loading->linked);
    /* Downwards: when a level is reached, all that refers to it has been kept or has gone. */
    for (unsigned level = 0; level < PMAP_LEVELS; level++)
        for (size_t i = 0; i < s->loading->levels[level].n; i++) {
            struct pmap *m = s->loading->levels[level].at[i];
            if (m->refs > 0)
                continue;
            for (unsigned k = 0; k < pmap_n_kids(m); k++)
                m->body[k].node->refs--;
            pmap_node_free(s, m);
        }
    pmap_loading_free(s);
    return before - s->nodes;
}
