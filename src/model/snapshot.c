/* snapshot.c - entries of a snapshot as bytes, and what differs between snapshots
 *
 * Bytes of an entry: flags, user, number of parents, then for each parent how far its key is above
 * that of the one before it (the first: above 0), times two, plus one if it is only used; all but
 * the flags as in leb_i.h.  Parents of one role differ in the low half of the key alone, so that a
 * long list of them takes a byte or two each.  A field to come gets a bit in the flags, which
 * today's reader refuses.
 *
 * The map hands out differences in the order of its mixed keys.  They are collected as they come,
 * decoded, and sorted by (role, node) at the end; the first entry that cannot be decoded ends it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/leb_i.h"

enum { ENTRY_FLAGS = SNAPSHOT_F_REQUESTED };

_Static_assert(1 + LEB_BYTES_MAX * (2ull + SNAPSHOT_PARENTS_MAX) <= PMAP_VALUE_MAX,
               "an entry fits into a value of the map");
_Static_assert(SNAPSHOT_ROLE_MAX < 1u << 31, "twice a key fits into 64 bits");

/* --- one entry --- */

static bool role_is_possible(uint32_t role)
{
    return role >= 1 && role <= SNAPSHOT_ROLE_MAX;
}

static bool parent_is_possible(uint64_t key)
{
    return role_is_possible(snapshot_key_role(key)) && snapshot_key_node(key) != 0;
}

int snapshot_entry_encode(struct buf *b, const struct snapshot_entry *t, struct err *e)
{
    uint64_t before = 0;
    if (t->flags & ~ENTRY_FLAGS)
        return err_set(e, ERR_INVALID, "unknown flags %#x", t->flags);
    if (t->n_parents > SNAPSHOT_PARENTS_MAX)
        return err_set(e, ERR_LIMIT, "%u parents; at most %d are possible", t->n_parents,
                       SNAPSHOT_PARENTS_MAX);
    for (uint32_t i = 0; i < t->n_parents; before = t->parents[i++])
        if (t->parents[i] <= before || !parent_is_possible(t->parents[i]))
            return err_set(e, ERR_INVALID, "parent of role %u on node %u is %s",
                           snapshot_key_role(t->parents[i]), snapshot_key_node(t->parents[i]),
                           parent_is_possible(t->parents[i]) ? "out of order" : "impossible");
    before = 0;
    buf_putc(b, (char)t->flags);
    leb_put(b, t->user);
    leb_put(b, t->n_parents);
    for (uint32_t i = 0; i < t->n_parents; before = t->parents[i++])
        leb_put(b, (t->parents[i] - before) << 1 | snapshot_parent_is_used(t, i));
    return 0;
}

/* Takes the parents of an entry; NULL, or what is wrong with them. */
static const char *parents_take(struct arena *mem, struct str *from, struct snapshot_entry *t)
{
    uint64_t *parents = arena_new(mem, uint64_t, t->n_parents);
    uint8_t *used = NULL;
    uint64_t at = 0, step;
    for (uint32_t i = 0; i < t->n_parents; i++) {
        if (!leb_take(from, UINT64_MAX, &step) || step >> 1 == 0)
            return "bad parent";
        at += step >> 1; /* both below 2^63 */
        if (!parent_is_possible(at))
            return "bad parent";
        parents[i] = at;
        if (!(step & 1))
            continue;
        if (!used)
            used = arena_new(mem, uint8_t, (t->n_parents + 7) / 8);
        used[i / 8] |= (uint8_t)(1u << i % 8);
    }
    t->parents = parents;
    t->used = used;
    return NULL;
}

static const char *entry_take(struct arena *mem, struct str from, struct snapshot_entry *t)
{
    uint64_t n;
    if (from.n == 0 || (unsigned char)from.s[0] & ~ENTRY_FLAGS)
        return "bad flags";
    t->flags = (uint8_t)from.s[0];
    from.s++;
    from.n--;
    if (!leb_take(&from, UINT64_MAX, &t->user))
        return "bad user data";
    /* A parent takes a byte at least: a few damaged bytes cannot ask for much memory. */
    if (!leb_take(&from, SNAPSHOT_PARENTS_MAX, &n) || n > from.n)
        return "bad number of parents";
    t->n_parents = (uint32_t)n;
    const char *wrong = parents_take(mem, &from, t);
    return wrong ? wrong : from.n ? "bytes after the end" : NULL;
}

int snapshot_entry_decode(struct arena *mem, struct str from, struct snapshot_entry *ret_t,
                          struct err *e)
{
    struct snapshot_entry t = {0};
    const char *wrong = entry_take(mem, from, &t);
    if (wrong)
        return err_set(e, ERR_CORRUPT, "damaged entry: %s", wrong);
    *ret_t = t;
    return 0;
}

/* NULL if an entry can be that of the key, else why not. */
static const char *entry_misplaced(uint64_t key, const struct snapshot_entry *t)
{
    if (!role_is_possible(snapshot_key_role(key)))
        return "impossible role";
    if (snapshot_key_node(key) == 0)
        return t->n_parents ? "a deployment role with parents" : NULL;
    for (uint32_t i = 0; i < t->n_parents; i++)
        if (t->parents[i] == key)
            return "its own parent";
    return NULL;
}

static int entry_decode_at(struct arena *mem, uint64_t key, struct str from,
                           struct snapshot_entry *ret_t, struct err *e)
{
    struct snapshot_entry t = {0};
    const char *wrong = entry_take(mem, from, &t);
    if (!wrong)
        wrong = entry_misplaced(key, &t);
    if (wrong)
        return err_set(e, ERR_CORRUPT, "damaged snapshot: role %u on node %u: %s",
                       snapshot_key_role(key), snapshot_key_node(key), wrong);
    *ret_t = t;
    return 0;
}

/* --- one snapshot --- */

int snapshot_set(struct pmap_space *s, struct pmap **m, uint32_t role, uint32_t node,
                 const struct snapshot_entry *t, struct err *e)
{
    SCOPED_BUF(bytes);
    uint64_t key = snapshot_key(role, node);
    int r = snapshot_entry_encode(&bytes, t, e);
    if (r < 0) {
        (void)err_wrap(e, "entry of role %u on node %u", role, node);
        return r;
    }
    const char *wrong = entry_misplaced(key, t); /* after the parents proved not to be too many */
    if (wrong)
        return err_set(e, ERR_INVALID, "entry of role %u on node %u: %s", role, node, wrong);
    if (pmap_count(*m) >= SNAPSHOT_ENTRIES_MAX && !pmap_get(*m, key, NULL))
        return err_set(e, ERR_LIMIT, "a snapshot holds at most %d entries", SNAPSHOT_ENTRIES_MAX);
    return pmap_set(s, m, key, buf_str(&bytes));
}

bool snapshot_remove(struct pmap_space *s, struct pmap **m, uint32_t role, uint32_t node)
{
    return pmap_remove(s, m, snapshot_key(role, node));
}

int snapshot_find_key(struct arena *mem, const struct pmap *m, uint64_t key,
                      struct snapshot_entry *ret_t, struct err *e)
{
    struct str bytes;
    if (!pmap_get(m, key, &bytes))
        return 0;
    int r = entry_decode_at(mem, key, bytes, ret_t, e);
    return r < 0 ? r : 1;
}

int snapshot_find(struct arena *mem, const struct pmap *m, uint32_t role, uint32_t node,
                  struct snapshot_entry *ret_t, struct err *e)
{
    return snapshot_find_key(mem, m, snapshot_key(role, node), ret_t, e);
}

struct checking {
    struct arena mem;
    struct err *e;
    int r;
};

static void check_one(void *ctx, uint64_t key, struct str value)
{
    struct checking *c = ctx;
    struct snapshot_entry t;
    if (c->r < 0)
        return;
    c->r = entry_decode_at(&c->mem, key, value, &t, c->e);
    arena_reset(&c->mem);
}

int snapshot_check(const struct pmap *m, struct err *e)
{
    struct checking c = {.e = e};
    if (pmap_count(m) > SNAPSHOT_ENTRIES_MAX)
        return err_set(e, ERR_CORRUPT, "damaged snapshot: more than %d entries",
                       SNAPSHOT_ENTRIES_MAX);
    arena_init(&c.mem);
    pmap_each(m, check_one, &c);
    arena_done(&c.mem);
    return c.r;
}

/* --- two --- */

/* Decodes into the arena; NULL for NULL and, with *r set, for what is damaged. */
static const struct snapshot_entry *entry_shown(struct arena *mem, uint64_t key,
                                                const struct str *bytes, int *r, struct err *e)
{
    if (!bytes || *r < 0)
        return NULL;
    struct snapshot_entry *t = arena_new(mem, struct snapshot_entry, 1);
    *r = entry_decode_at(mem, key, *bytes, t, e);
    return *r < 0 ? NULL : t;
}

static bool parents_equal(const struct snapshot_entry *a, const struct snapshot_entry *b)
{
    if (a->n_parents != b->n_parents)
        return false;
    for (uint32_t i = 0; i < a->n_parents; i++)
        if (a->parents[i] != b->parents[i] ||
            snapshot_parent_is_used(a, i) != snapshot_parent_is_used(b, i))
            return false;
    return true;
}

static uint8_t entries_differ(const struct snapshot_entry *a, const struct snapshot_entry *b)
{
    unsigned what = 0;
    if (a->user != b->user)
        what |= SNAPSHOT_CHANGED_USER;
    if (!parents_equal(a, b))
        what |= SNAPSHOT_CHANGED_PARENTS;
    if (a->flags != b->flags)
        what |= SNAPSHOT_CHANGED_FLAGS;
    return (uint8_t)what;
}

struct diffing {
    struct arena *mem;
    struct err *e;
    int r;
    VEC(struct snapshot_change) found;
};

static void diff_one(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    struct diffing *d = ctx;
    struct snapshot_change c = {.role = snapshot_key_role(key), .node = snapshot_key_node(key)};
    c.old = entry_shown(d->mem, key, old, &d->r, d->e);
    c.now = entry_shown(d->mem, key, now, &d->r, d->e);
    if (d->r < 0)
        return;
    if (c.old && c.now)
        c.what = entries_differ(c.old, c.now);
    vec_push(&d->found, c);
}

static int key_cmp(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int change_cmp(const void *a, const void *b)
{
    const struct snapshot_change *x = a, *y = b;
    return key_cmp(snapshot_key(x->role, x->node), snapshot_key(y->role, y->node));
}

/* From one list into three, each in the same order. */
static void changes_split(struct arena *mem, const struct snapshot_change *from, size_t n,
                          struct snapshot_changes *ret)
{
    struct snapshot_changes c = {0};
    for (size_t i = 0; i < n; i++) {
        c.n_added += !from[i].old;
        c.n_removed += !from[i].now;
    }
    c.n_changed = (uint32_t)n - c.n_added - c.n_removed;
    struct snapshot_change *added = c.added = arena_new(mem, struct snapshot_change, c.n_added);
    struct snapshot_change *removed = c.removed = arena_new(mem, struct snapshot_change,
                                                            c.n_removed);
    struct snapshot_change *changed = c.changed = arena_new(mem, struct snapshot_change,
                                                            c.n_changed);
    for (size_t i = 0; i < n; i++)
        *(!from[i].old ? added++ : !from[i].now ? removed++ : changed++) = from[i];
    *ret = c;
}

int snapshot_diff(struct arena *mem, const struct pmap *old, const struct pmap *now,
                  struct snapshot_changes *ret, struct err *e)
{
    struct diffing d = {.mem = mem, .e = e};
    pmap_diff(old, now, diff_one, &d);
    if (d.found.n)
        qsort(d.found.at, d.found.n, sizeof *d.found.at, change_cmp);
    if (d.r == 0)
        changes_split(mem, d.found.at, d.found.n, ret);
    vec_done(&d.found);
    return d.r;
}

/* --- three --- */

struct merging {
    struct arena *mem;
    struct err *e;
    int r;
    VEC(struct snapshot_conflict) found;
};

static void conflict_one(void *ctx, uint64_t key, const struct str *base, const struct str *ours,
                         const struct str *theirs)
{
    struct merging *g = ctx;
    struct snapshot_conflict c = {.role = snapshot_key_role(key), .node = snapshot_key_node(key)};
    c.base = entry_shown(g->mem, key, base, &g->r, g->e);
    c.ours = entry_shown(g->mem, key, ours, &g->r, g->e);
    c.theirs = entry_shown(g->mem, key, theirs, &g->r, g->e);
    if (g->r == 0)
        vec_push(&g->found, c);
}

static int conflict_cmp(const void *a, const void *b)
{
    const struct snapshot_conflict *x = a, *y = b;
    return key_cmp(snapshot_key(x->role, x->node), snapshot_key(y->role, y->node));
}

int snapshot_merge(struct pmap_space *s, struct arena *mem, struct pmap *base, struct pmap *ours,
                   struct pmap *theirs, struct pmap **ret_merged, struct snapshot_conflicts *ret,
                   struct err *e)
{
    struct merging g = {.mem = mem, .e = e};
    struct pmap *merged;
    if (pmap_merge(s, base, ours, theirs, conflict_one, &g, &merged) == 0) {
        if (pmap_count(merged) > SNAPSHOT_ENTRIES_MAX) {
            pmap_unref(s, merged);
            return err_set(e, ERR_LIMIT, "merged, the snapshot has more than %d entries",
                           SNAPSHOT_ENTRIES_MAX);
        }
        *ret_merged = merged;
        return 0;
    }
    if (g.r == 0) {
        qsort(g.found.at, g.found.n, sizeof *g.found.at, conflict_cmp);
        ret->n = (uint32_t)g.found.n;
        ret->at = arena_new(mem, struct snapshot_conflict, ret->n);
        memcpy(ret->at, g.found.at, g.found.n * sizeof *ret->at);
        g.r = (int)ret->n;
    }
    vec_done(&g.found);
    return g.r;
}
