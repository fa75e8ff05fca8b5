/* test_pmap.c - persistent maps against plain arrays, through random histories
 *
 * Several versions of a map live beside each other, each with an array that says what is in it.
 * Random edits, copies, comparisons, merges and restarts through rows must agree with the arrays,
 * and when all is given back, every row that was made has been dropped, once.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "model/pmap_i.h"

enum { UNIVERSE = 600, VERSIONS = 5, VALUES = 40, STEPS = 6000 };

struct random {
    uint64_t s;
};

static uint32_t pick(struct random *r, uint32_t below)
{
    r->s ^= r->s << 13;
    r->s ^= r->s >> 7;
    r->s ^= r->s << 17;
    return (uint32_t)((r->s >> 16) % below);
}

/* Keys as a snapshot has them, keys whose paths are as long as paths get, and any others. */
static uint64_t universe_key(uint32_t i)
{
    if (i < 200)
        return (uint64_t)(1 + i / 20) << 32 | i % 20;
    if (i < 400)
        return pmap_unmix(0x123456789abcde00ull + (uint64_t)((i - 200) / 16 << 14) + i % 16);
    return pmap_unmix(i * 0x9e3779b97f4a7c15ull);
}

/* Value v is v - 1 bytes: all differ, one is empty, and 0 is not there. */
static struct str value_of(uint32_t v)
{
    static const char bytes[] = "0123456789abcdefghijklmnopqrstuvwxyz....";
    return (struct str){bytes, v - 1};
}

struct version {
    struct pmap *map;
    uint8_t v[UNIVERSE];
};

struct world {
    struct pmap_space *space;
    struct version versions[VERSIONS];
    struct u64map index; /* key -> place in the universe */
    struct u64map rows;  /* id -> bytes, what a store would hold */
    struct random random;
    const char *wrong;
};

static void must(struct world *w, bool good, const char *what)
{
    if (!good && !w->wrong)
        w->wrong = what;
}

/* --- a store of rows --- */

static void rows_apply(struct world *w)
{
    SCOPED_ARENA(mem);
    struct pmap_changes c;
    uintptr_t held;
    pmap_changes_take(w->space, &mem, &c);
    for (size_t i = 0; i < c.n_added; i++) {
        struct buf *b = xcalloc(1, sizeof *b);
        buf_put(b, c.added[i].bytes.s, c.added[i].bytes.n);
        must(w, u64map_put(&w->rows, c.added[i].id, (uintptr_t)b), "a row is added once");
        must(w, i == 0 || c.added[i - 1].id < c.added[i].id, "rows are added by id");
    }
    for (size_t i = 0; i < c.n_dropped; i++) {
        if (!u64map_get(&w->rows, c.dropped[i], &held)) {
            must(w, false, "what is dropped was stored, and is dropped once");
            continue;
        }
        u64map_del(&w->rows, c.dropped[i]);
        buf_done((struct buf *)held);
        free((struct buf *)held);
    }
    must(w, w->rows.live == pmap_space_nodes(w->space), "there is a row for each node");
}

static void rows_done(struct world *w)
{
    for (size_t i = 0; i < w->rows.n; i++)
        if (w->rows.at[i].live) {
            buf_done((struct buf *)w->rows.at[i].val);
            free((struct buf *)w->rows.at[i].val);
        }
    u64map_done(&w->rows);
}

/* A restart: all rows into another space, in no particular order.  One version is forgotten. */
static void reload(struct world *w)
{
    struct pmap_space *next = pmap_space_new(1);
    struct err e = {0};
    VEC(size_t) order = {0};
    size_t live = 0;
    rows_apply(w);
    for (size_t i = 0; i < w->rows.n; i++)
        if (w->rows.at[i].live)
            vec_push(&order, i);
    for (size_t i = 0; i < order.n; i++) {
        size_t k = i + pick(&w->random, (uint32_t)(order.n - i)), at = order.at[k];
        order.at[k] = order.at[i];
        order.at[i] = at;
        must(w,
             pmap_load_node(next, w->rows.at[at].key, buf_str((struct buf *)w->rows.at[at].val),
                            &e) == 0,
             "a row loads");
    }
    vec_done(&order);
    must(w, pmap_load_end(next, &e) == 0, "rows link");
    for (unsigned i = 0; i < VERSIONS && !w->wrong; i++) {
        uint64_t id = i ? pmap_id(w->versions[i].map) : 0;
        must(w, pmap_load_root(next, id, &w->versions[i].map, &e) == 0, "a root is found");
    }
    memset(w->versions[0].v, 0, sizeof w->versions[0].v);
    if (!w->wrong) {
        live = pmap_space_nodes(next);
        must(w, pmap_load_sweep(next) == live - pmap_space_nodes(next), "the sweep counts");
    }
    pmap_space_free(w->space);
    w->space = next;
    if (!w->wrong)
        rows_apply(w);
}

/* --- comparing with the arrays --- */

struct seen {
    struct world *w;
    const uint8_t *old, *now, *theirs;
    uint64_t last;
    uint32_t n;
};

static uint32_t seen_key(struct seen *s, uint64_t key)
{
    uintptr_t i = 0;
    must(s->w, u64map_get(&s->w->index, key, &i), "a key that was set");
    must(s->w, s->n == 0 || s->last < pmap_mix(key), "keys come in their order, each once");
    s->last = pmap_mix(key);
    s->n++;
    return (uint32_t)i;
}

static bool is_value(const struct str *got, uint8_t want)
{
    return got ? want && str_eq(*got, value_of(want)) : want == 0;
}

static void seen_entry(void *ctx, uint64_t key, struct str value)
{
    struct seen *s = ctx;
    must(s->w, is_value(&value, s->now[seen_key(s, key)]), "the value that was set");
}

static void seen_diff(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    struct seen *s = ctx;
    uint32_t i = seen_key(s, key);
    must(s->w, s->old[i] != s->now[i], "only what differs");
    must(s->w, is_value(old, s->old[i]) && is_value(now, s->now[i]), "both values");
}

static void seen_conflict(void *ctx, uint64_t key, const struct str *base, const struct str *ours,
                          const struct str *theirs)
{
    struct seen *s = ctx;
    uint32_t i = seen_key(s, key);
    must(s->w, is_value(base, s->old[i]), "the value of the base");
    must(s->w, is_value(ours, s->now[i]), "our value");
    must(s->w, is_value(theirs, s->theirs[i]), "their value");
    must(s->w, s->old[i] != s->now[i] && s->old[i] != s->theirs[i] && s->now[i] != s->theirs[i],
         "a conflict is two changes that differ");
}

static void check_version(struct world *w, const struct version *x)
{
    struct seen s = {.w = w, .now = x->v};
    struct str value;
    uint32_t n = 0;
    pmap_each(x->map, seen_entry, &s);
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        bool there = pmap_get(x->map, universe_key(i), &value);
        n += x->v[i] != 0;
        must(w, is_value(there ? &value : NULL, x->v[i]), "a look-up agrees");
    }
    must(w, s.n == n && pmap_count(x->map) == n, "as many as were set");
    must(w, (x->map == NULL) == (n == 0), "empty is no node");
}

static void check_diff(struct world *w, const struct version *a, const struct version *b)
{
    struct seen s = {.w = w, .old = a->v, .now = b->v};
    uint32_t n = 0;
    pmap_diff(a->map, b->map, seen_diff, &s);
    for (uint32_t i = 0; i < UNIVERSE; i++)
        n += a->v[i] != b->v[i];
    must(w, s.n == n, "all that differs");
}

/* Merges into the version given last, if there is no conflict. */
static void check_merge(struct world *w, const struct version *base, const struct version *ours,
                        const struct version *theirs, struct version *into)
{
    struct seen s = {.w = w, .old = base->v, .now = ours->v, .theirs = theirs->v};
    struct pmap *merged = NULL;
    uint8_t v[UNIVERSE];
    uint32_t conflicts = 0;
    for (uint32_t i = 0; i < UNIVERSE; i++) {
        bool we = ours->v[i] != base->v[i], they = theirs->v[i] != base->v[i];
        v[i] = they ? theirs->v[i] : ours->v[i];
        conflicts += we && they && ours->v[i] != theirs->v[i];
    }
    size_t got = pmap_merge(w->space, base->map, ours->map, theirs->map, seen_conflict, &s,
                            &merged);
    must(w, got == conflicts && s.n == conflicts, "every conflict is told");
    must(w, got == 0 || !merged, "and then there is no map");
    if (got || conflicts)
        return;
    pmap_unref(w->space, into->map);
    into->map = merged;
    memcpy(into->v, v, sizeof v);
    check_version(w, into);
}

/* --- random histories --- */

static void edit(struct world *w, struct version *x)
{
    uint32_t i = pick(&w->random, UNIVERSE), v = pick(&w->random, VALUES);
    bool changed;
    if (v)
        changed = pmap_set(w->space, &x->map, universe_key(i), value_of(v));
    else
        changed = pmap_remove(w->space, &x->map, universe_key(i));
    must(w, changed == (x->v[i] != v), "an edit says whether it changed anything");
    x->v[i] = (uint8_t)v;
}

static void copy(struct world *w, struct version *to, const struct version *from)
{
    struct pmap *kept = pmap_ref(from->map);
    pmap_unref(w->space, to->map);
    memmove(to->v, from->v, sizeof to->v);
    to->map = kept;
}

static void step(struct world *w)
{
    struct version *a = &w->versions[pick(&w->random, VERSIONS)];
    struct version *b = &w->versions[pick(&w->random, VERSIONS)];
    uint32_t what = pick(&w->random, 100);
    if (what < 60) {
        edit(w, a);
    } else if (what < 70) { /* few keys more, so that shapes also shrink to nothing */
        for (uint32_t i = pick(&w->random, UNIVERSE), n = 0; n < 100; n++, i = (i + 1) % UNIVERSE) {
            must(w, pmap_remove(w->space, &a->map, universe_key(i)) == (a->v[i] != 0), "removed");
            a->v[i] = 0;
        }
    } else if (what < 80) {
        copy(w, a, b);
    } else if (what < 86) {
        check_diff(w, a, b);
    } else if (what < 96) {
        struct version *base = &w->versions[pick(&w->random, VERSIONS)];
        copy(w, a, base);
        copy(w, b, base);
        for (uint32_t n = pick(&w->random, 30); n > 0; n--)
            edit(w, n % 2 ? a : b);
        check_merge(w, base, a, b, &w->versions[pick(&w->random, VERSIONS)]);
    } else if (what < 98) {
        rows_apply(w);
    } else {
        check_version(w, a);
        if (pick(&w->random, 4) == 0)
            reload(w);
    }
}

static void world_begin(struct world *w, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->space = pmap_space_new(0);
    w->random.s = seed * 0x9e3779b97f4a7c15ull | 1;
    for (uint32_t i = 0; i < UNIVERSE; i++)
        u64map_put(&w->index, universe_key(i), i);
}

static void world_end(struct world *w)
{
    pmap_space_free(w->space);
    rows_done(w);
    u64map_done(&w->index);
}

static void test_histories(uint64_t seed)
{
    struct world w;
    uint32_t steps = 0;
    world_begin(&w, seed);
    ok(w.index.live == UNIVERSE, "the keys of the test all differ");
    for (; steps < STEPS && !w.wrong; steps++)
        step(&w);
    for (unsigned i = 0; i < VERSIONS && !w.wrong; i++)
        check_version(&w, &w.versions[i]);
    ok(!w.wrong, "seed %llu: the maps agree with the arrays", (unsigned long long)seed);
    if (w.wrong)
        note("step %u: %s", steps, w.wrong);
    for (unsigned i = 0; i < VERSIONS && !w.wrong; i++)
        pmap_unref(w.space, w.versions[i].map);
    if (!w.wrong)
        rows_apply(&w);
    is_int(pmap_space_nodes(w.space), 0, "seed %llu: no node is left", (unsigned long long)seed);
    is_int(pmap_space_bytes(w.space), 0, "nor a byte");
    is_int(w.rows.live, 0, "nor a row");
    ok(!w.wrong, "each row was dropped once%s%s", w.wrong ? ": " : "", w.wrong ? w.wrong : "");
    world_end(&w);
}

/* --- the shape --- */

/* All a node's row says but for ids, and then its children's: equal for equal shapes only. */
static void shape_put(struct buf *b, const struct pmap *m)
{
    if (!m)
        return;
    buf_printf(b, "%u:%x:%x:%u(", m->level, m->here, m->below, m->count);
    for (unsigned i = 0; i < pmap_n_entries(m); i++) {
        buf_printf(b, "%llx=", (unsigned long long)pmap_keys(m)[i]);
        buf_put(b, pmap_value(m, i).s, pmap_value(m, i).n);
        buf_putc(b, ',');
    }
    for (unsigned i = 0; i < pmap_n_kids(m); i++)
        shape_put(b, m->body[i].node);
    buf_putc(b, ')');
}

static void test_canonical(uint64_t seed)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct random r = {seed};
    struct pmap *a = NULL, *b = NULL;
    SCOPED_BUF(x);
    SCOPED_BUF(y);
    uint8_t v[UNIVERSE] = {0};
    for (uint32_t n = 0; n < 5000; n++) { /* a long history, ending in few entries */
        uint32_t i = pick(&r, UNIVERSE);
        v[i] = (uint8_t)pick(&r, n < 3000 ? VALUES : 2);
        if (v[i])
            pmap_set(s, &a, universe_key(i), value_of(v[i]));
        else
            pmap_remove(s, &a, universe_key(i));
    }
    for (uint32_t i = UNIVERSE; i-- > 0;) /* a short one, over a kept map at times */
        if (v[i]) {
            struct pmap *kept = i % 7 ? NULL : pmap_ref(b);
            pmap_set(s, &b, universe_key(i), value_of(v[i]));
            pmap_unref(s, kept);
        }
    shape_put(&x, a);
    shape_put(&y, b);
    ok(pmap_count(a) > 50 && str_eq(buf_str(&x), buf_str(&y)),
       "seed %llu: %zu entries have one shape", (unsigned long long)seed, pmap_count(a));
    pmap_unref(s, a);
    pmap_unref(s, b);
    is_int(pmap_space_nodes(s), 0, "no node is left");
}

static void test_deep(void)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL, *kept;
    SCOPED_BUF(before);
    SCOPED_BUF(after);
    uint64_t one = pmap_unmix(0xfedcba9876543210ull), other = pmap_unmix(0xfedcba9876543211ull);
    for (uint64_t k = 0, x = 1; k < 64; k++, x = x << 1 | x >> 63)
        if (pmap_unmix(pmap_mix(x)) != x || pmap_mix(pmap_unmix(~x)) != ~x)
            ok(false, "mixing is undone, bit %llu", (unsigned long long)k);
    pmap_set(s, &m, one, str_of("a"));
    shape_put(&before, m);
    is_int(pmap_space_nodes(s), 1, "one entry is one node");
    kept = pmap_ref(m);
    pmap_set(s, &m, other, str_of("b"));
    is_int(pmap_space_nodes(s), 1 + PMAP_LEVELS, "the longest path is as long as is said");
    ok(pmap_remove(s, &m, other), "taken away again");
    shape_put(&after, m);
    ok(str_eq(buf_str(&before), buf_str(&after)), "the path folds up whole");
    is_int(pmap_space_nodes(s), 2, "and leaves one node");
    ok(!pmap_remove(s, &m, other), "what is not there is not removed");
    ok(!pmap_set(s, &m, one, str_of("a")), "an equal value is no change");
    ok(pmap_remove(s, &m, one) && !m, "the last entry leaves no node");
    ok(!pmap_remove(s, &m, one) && !pmap_get(m, one, NULL), "nothing is in nothing");
    ok(pmap_get(kept, one, NULL), "the kept map has it");
    pmap_unref(s, kept);
    pmap_unref(s, NULL);
    is_int(pmap_space_nodes(s), 0, "all gone");
}

/* A value may be one that the map itself lent, even where its node is replaced. */
static void test_lent_value(void)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL;
    struct str lent;
    bool good = true;
    pmap_set(s, &m, 0, str_of("some value"));
    for (uint64_t k = 1; k < 200; k++) {
        good = good && pmap_get(m, k - 1, &lent);
        pmap_set(s, &m, k, lent);
        good = good && pmap_get(m, k, &lent) && str_is(lent, "some value");
    }
    ok(good, "lent values are set");
    is_int(pmap_count(m), 200, "all of them");
    pmap_space_free(NULL);
}

/* --- what it costs, in nodes --- */

static uint64_t big_key(uint32_t i)
{
    return (uint64_t)(1 + i / 1000) << 32 | (1 + i % 1000);
}

static void count_diff(void *ctx, uint64_t key, const struct str *old, const struct str *now)
{
    (void)key, (void)old, (void)now;
    ++*(size_t *)ctx;
}

static void count_conflict(void *ctx, uint64_t key, const struct str *base, const struct str *ours,
                           const struct str *theirs)
{
    (void)key, (void)base, (void)ours, (void)theirs;
    ++*(size_t *)ctx;
}

static void test_merge_cost(struct pmap_space *s, struct pmap *base)
{
    struct pmap *ours = pmap_ref(base), *theirs = pmap_ref(base), *merged = NULL;
    size_t conflicts = 0;
    for (uint32_t n = 0; n < 10; n++) {
        pmap_set(s, &ours, big_key(n * 5003 + 1), str_of("ours"));
        pmap_remove(s, &theirs, big_key(n * 7001 + 2));
    }
    uint64_t made = pmap_space_next_id(s);
    is_int(pmap_merge(s, base, ours, theirs, count_conflict, &conflicts, &merged), 0,
           "no conflict");
    ok(pmap_space_next_id(s) - made <= 10 * PMAP_LEVELS, "a merge makes paths, not maps");
    is_int(pmap_count(merged), pmap_count(base) - 10, "their removals");
    ok(pmap_get(merged, big_key(1), NULL) && !pmap_get(merged, big_key(2), NULL), "and our values");
    pmap_unref(s, merged);
    merged = NULL;
    pmap_set(s, &theirs, big_key(1), str_of("theirs"));
    is_int(pmap_merge(s, base, ours, theirs, count_conflict, &conflicts, &merged), 1, "a conflict");
    ok(conflicts == 1 && !merged, "is told, and nothing is made");
    is_int(pmap_merge(s, base, base, theirs, count_conflict, &conflicts, &merged), 0,
           "where we changed nothing");
    ok(merged == theirs, "theirs is the merged map");
    pmap_unref(s, merged);
    pmap_unref(s, ours);
    pmap_unref(s, theirs);
}

static void test_cost(void)
{
    enum { BIG = 100000, VALUE = 16 };
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *m = NULL, *kept;
    struct pmap_changes c;
    struct str value = str_of("sixteen bytes...");
    size_t differ = 0, most = 0, nodes;
    SCOPED_ARENA(mem);
    for (uint32_t i = 0; i < BIG; i++)
        pmap_set(s, &m, big_key(i), value);
    pmap_changes_take(s, &mem, &c);
    is_int(c.n_added, pmap_space_nodes(s), "a build makes a row for each node that lives");
    is_int(c.n_dropped, 0, "and drops none");
    double overhead = (double)(pmap_space_bytes(s) + 16 * pmap_space_nodes(s)) / BIG - VALUE;
    note("%zu nodes, %.1f bytes an entry beside its value", pmap_space_nodes(s), overhead);
    ok(overhead <= 64, "an entry costs 64 bytes at most");

    for (uint32_t n = 0; n < 300; n++) { /* one edit a transaction, of a map that is kept */
        uint64_t key = big_key(n * 331);
        kept = pmap_ref(m);
        if (n % 3 == 0)
            pmap_remove(s, &m, key);
        else
            pmap_set(s, &m, n % 3 == 1 ? key : key | 1ull << 62, str_of("x"));
        pmap_unref(s, kept);
        pmap_changes_take(s, &mem, &c);
        most = c.n_added > most ? c.n_added : most;
        most = c.n_dropped > most ? c.n_dropped : most;
    }
    note("one edit added or dropped %zu rows at most", most);
    ok(most > 1 && most <= PMAP_LEVELS, "an edit adds and drops at most a path");

    kept = pmap_ref(m);
    for (uint32_t n = 0; n < 10; n++)
        pmap_set(s, &m, big_key(n * 9973 + 5), str_of("changed"));
    nodes = pmap_diff(kept, m, count_diff, &differ);
    note("comparing maps that differ in 10 entries looked into %zu nodes", nodes);
    is_int(differ, 10, "ten differences");
    ok(nodes >= 20 && nodes <= 2 * 10 * PMAP_LEVELS / 2, "found by two paths each");
    is_int(pmap_diff(m, m, count_diff, &differ), 0, "a map against itself looks at nothing");

    pmap_unref(s, kept);
    test_merge_cost(s, m);
    pmap_unref(s, m);
    is_int(pmap_space_nodes(s), 0, "no node is left");
}

/* Equal content that came about apart. */
static void test_twins(void)
{
    SCOPED(pmap_space) *s = pmap_space_new(1);
    struct pmap *a = NULL, *b = NULL;
    size_t differ = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        pmap_set(s, &a, big_key(i), str_of("same"));
        pmap_set(s, &b, big_key(999 - i), str_of("same"));
    }
    is_int(pmap_diff(a, b, count_diff, &differ), pmap_space_nodes(s), "all nodes are looked into");
    is_int(differ, 0, "and nothing differs");
}

int main(void)
{
    test_deep();
    test_lent_value();
    for (uint64_t seed = 1; seed <= 6; seed++)
        test_histories(seed);
    for (uint64_t seed = 11; seed <= 15; seed++)
        test_canonical(seed);
    test_cost();
    test_twins();
    return tap_done();
}
