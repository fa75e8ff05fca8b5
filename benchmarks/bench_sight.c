/* bench_sight.c - what a run sees, made for one noderole with fifty ancestors
 *
 * Each noderole has a wall, system and user data, and its role has data in its deployment, which is
 * the third below the root: about 200 documents of ten values three maps deep, half of them at
 * paths that all documents have, half at paths of the noderole's own.  Then a cluster of a thousand
 * that all of a thousand noderoles need: its document is made once and hashed once.  Medians.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "figures.h"
#include "model/sight.h"

enum { ANCESTORS = 50, DEPLOYMENTS = 3, ROUNDS = 501, MEMBERS = 1000 };

struct bench_world {
    struct arena mem;
    uint32_t n; /* noderoles; the last one is looked at */
    struct sight_noderole *nrs;
    const struct value **shared; /* [deployment * roles + role] */
    struct sight_need *needs;
    uint32_t n_needs; /* of the last one, and of every one behind it */
    bool chained;     /* each of the others needs the one before it */
    struct str *names;
    struct str keys[2];
    struct sight_path want;
};

/* A map of n values at top.mid of the document. */
static void bench_put(struct arena *a, struct value *doc, const char *top, const char *mid,
                      uint32_t n, uint32_t seed)
{
    static const char *const names[] = {"address", "port", "enabled"};
    struct value *low = value_map(a);
    struct value *middle = value_map(a);
    const struct value *had = value_get(doc, top);
    if (had)
        *middle = *had;
    for (uint32_t i = 0; i < n; i++)
        value_put_int(a, low, names[i], seed + i);
    value_set(a, middle, mid, low);
    value_set(a, doc, top, middle);
}

static struct value *bench_doc(struct arena *a, uint32_t owner, uint32_t seed)
{
    struct value *doc = value_map(a);
    const char *own = arena_printf(a, "service%u", owner);
    bench_put(a, doc, "cluster", "network", 3, seed);
    bench_put(a, doc, "cluster", "storage", 2, seed);
    bench_put(a, doc, own, "listen", 3, seed);
    bench_put(a, doc, own, "limits", 2, seed);
    return doc;
}

static bool bench_noderole(void *ctx, uint32_t id, struct sight_noderole *ret)
{
    *ret = ((struct bench_world *)ctx)->nrs[id];
    return true;
}
static struct sight_needs bench_needs(void *ctx, uint32_t id)
{
    const struct bench_world *b = ctx;
    if (id >= b->n)
        return (struct sight_needs){b->needs, b->n_needs};
    return (struct sight_needs){&b->needs[id - 1], b->chained && id > 1};
}
static struct sight_ids bench_on_node(void *ctx, uint32_t node)
{
    (void)ctx, (void)node;
    return (struct sight_ids){0};
}
static uint32_t bench_parent(void *ctx, uint32_t deployment)
{
    (void)ctx;
    return deployment - 1;
}
static const struct value *bench_shared(void *ctx, uint32_t deployment, uint32_t role)
{
    const struct bench_world *b = ctx;
    return b->shared ? b->shared[(deployment - 1) * (b->n + 1) + role] : NULL;
}
static bool bench_role(void *ctx, uint32_t role, struct str *ret)
{
    *ret = ((struct bench_world *)ctx)->names[role];
    return true;
}
static bool bench_lens(void *ctx, uint32_t lens, struct sight_lens *ret)
{
    (void)lens;
    *ret = (struct sight_lens){.wants = {&((struct bench_world *)ctx)->want, 1}};
    return true;
}
static bool bench_node(void *ctx, uint32_t node, struct sight_node *ret)
{
    *ret = (struct sight_node){.name = ((struct bench_world *)ctx)->names[node]};
    return true;
}

static const struct sight_world bench_calls = {NULL,          bench_noderole, bench_needs,
                                               bench_on_node, bench_parent,   bench_shared,
                                               bench_role,    bench_lens,     bench_node};

static void bench_fill(struct bench_world *b, uint32_t n, uint32_t behind)
{
    arena_init(&b->mem);
    b->n = n;
    b->nrs = arena_new(&b->mem, struct sight_noderole, n + behind + 1);
    b->needs = arena_new(&b->mem, struct sight_need, n);
    b->names = arena_new(&b->mem, struct str, n + behind + 1);
    b->n_needs = n - 1;
    for (uint32_t i = 1; i <= n + behind; i++) {
        b->names[i] = str_of(arena_printf(&b->mem, "name%u", i));
        b->nrs[i] = (struct sight_noderole){.role = i, .deployment = DEPLOYMENTS, .cohort = i};
        if (i > n)
            continue;
        b->nrs[i].wall = bench_doc(&b->mem, i, 1);
        b->nrs[i].system = bench_doc(&b->mem, i, 2);
        b->nrs[i].user = bench_doc(&b->mem, i, 3);
        if (i < n)
            b->needs[i - 1] = (struct sight_need){.id = i};
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *at, size_t n)
{
    qsort(at, n, sizeof *at, by_size);
    return at[n / 2];
}

static void must(int rc, const struct err *e)
{
    if (rc < 0) {
        fprintf(stderr, "bench: %s\n", e->text);
        exit(2);
    }
}

/* The obvious way, for comparison: one layer after the other over a growing document. */
static const struct value *pair_by_pair(const struct sight_layers *l, struct arena *a)
{
    const struct value *v = NULL;
    for (uint32_t i = 0; i < l->n; i++)
        v = value_merge(a, v, l->at[i].doc);
    return v;
}

static void visible(struct figures *f)
{
    struct bench_world b = {.chained = true};
    struct sight_world w = bench_calls;
    double both[ROUNDS], pairs[ROUNDS], input[ROUNDS];
    struct sight_layers l = {0};
    const struct value *data;
    struct arena a, keep;
    struct err e;
    uint64_t digest;
    bench_fill(&b, ANCESTORS + 1, 0);
    w.ctx = &b;
    b.shared = arena_new(&b.mem, const struct value *, DEPLOYMENTS *(b.n + 1));
    for (uint32_t r = 1; r <= b.n; r++)
        b.shared[(DEPLOYMENTS - 1) * (b.n + 1) + r] = bench_doc(&b.mem, r, 4);
    b.keys[0] = str_of("cluster");
    b.keys[1] = str_of("network");
    b.want = (struct sight_path){b.keys, 2};
    arena_init(&a);
    arena_init(&keep);
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now_s();
        must(sight_layers(&w, NULL, b.n, &a, &l, &e), &e);
        (void)sight_data(&l, &a);
        both[i] = (now_s() - t0) * 1e6;
        arena_reset(&a);
    }
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now_s();
        must(sight_inputs(&w, NULL, b.n, &a, &digest, &e), &e);
        input[i] = (now_s() - t0) * 1e6;
        arena_reset(&a);
    }
    must(sight_layers(&w, NULL, b.n, &keep, &l, &e), &e);
    for (int i = 0; i < ROUNDS; i++) {
        double t0 = now_s();
        (void)pair_by_pair(&l, &a);
        pairs[i] = (now_s() - t0) * 1e6;
        arena_reset(&a);
    }
    data = sight_data(&l, &keep);
    figure(f, "sight.visible_50", median(both, ROUNDS), AT_MOST, 200, "us", NULL);
    figure_seen("sight.visible_50.layers", l.n, "documents");
    figure_seen("sight.visible_50.keys", data->n, "keys at the top");
    figure_seen("sight.visible_50.pairwise", median(pairs, ROUNDS), "us, merging alone");
    figure_seen("sight.inputs_50", median(input, ROUNDS), "us, one wanted map that all have");
    arena_done(&keep);
    arena_done(&a);
    arena_done(&b.mem);
}

/* A thousand who need the same thousand: what each costs after the first. */
static void shared_peers(void)
{
    struct bench_world b = {0};
    struct sight_world w = bench_calls;
    struct sight_cache *c = sight_cache_new();
    struct arena a;
    struct err e;
    double t0 = now_s(), first = 0;
    uint64_t digest;
    bench_fill(&b, MEMBERS + 1, MEMBERS);
    w.ctx = &b;
    b.keys[0] = str_of("peers");
    b.want = (struct sight_path){b.keys, 1};
    for (uint32_t i = 0; i < b.n_needs; i++) {
        b.needs[i].peer = b.nrs[i + 1].member = true;
        b.nrs[i + 1].node = i + 1;
        b.nrs[i + 1].role = 1;
    }
    arena_init(&a);
    t0 = now_s();
    for (uint32_t id = b.n; id < b.n + MEMBERS; id++) {
        must(sight_inputs(&w, c, id, &a, &digest, &e), &e);
        if (id == b.n)
            first = now_s() - t0;
        arena_reset(&a);
    }
    figure_seen("sight.peers_1000.first", first * 1e6, "us");
    figure_seen("sight.peers_1000.each", (now_s() - t0 - first) * 1e6 / (MEMBERS - 1), "us");
    sight_cache_free(c);
    arena_done(&a);
    arena_done(&b.mem);
}

int main(void)
{
    struct figures f = {0};
    visible(&f);
    shared_peers();
    return f.missed ? 1 : 0;
}
