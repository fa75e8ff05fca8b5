/* test_graph.c - the growing graph against a naive list of edges
 *
 * A seeded generator extends and links; after each round both directions of every vertex are
 * compared, as sets with counts, with what the list of edges says.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include "base/alloc.h"
#include "tap.h"

struct edge {
    uint32_t from, to;
};
struct naive {
    uint32_t n;
    VEC(struct edge) edges;
};

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % n);
}

static uint32_t times_in(const uint32_t *list, uint32_t n, uint32_t v)
{
    uint32_t times = 0;
    for (uint32_t i = 0; i < n; i++)
        times += list[i] == v;
    return times;
}

static bool equal(const struct graph *g, const struct naive *m)
{
    uint32_t ins = 0, outs = 0, n;
    if (g->n != m->n)
        return false;
    for (uint32_t v = 0; v < g->n; v++) {
        (void)graph_in(g, v, &n);
        ins += n;
        const uint32_t *out = graph_out(g, v, &n);
        outs += n;
        for (uint32_t i = 1; i < n; i++)
            if (out[i - 1] > out[i])
                return false;
    }
    if (ins != m->edges.n || outs != m->edges.n)
        return false;
    for (size_t i = 0; i < m->edges.n; i++) {
        struct edge e = m->edges.at[i];
        uint32_t want = 0, n_out, n_in;
        for (size_t k = 0; k < m->edges.n; k++)
            want += m->edges.at[k].from == e.from && m->edges.at[k].to == e.to;
        const uint32_t *out = graph_out(g, e.from, &n_out), *in = graph_in(g, e.to, &n_in);
        if (times_in(out, n_out, e.to) != want || times_in(in, n_in, e.from) != want)
            return false;
    }
    return true;
}

/* n vertices, each with up to `most` edges from older ones or from others of this call. */
static void extend(struct graph *g, struct naive *m, uint64_t *seed, uint32_t n, uint32_t most)
{
    uint32_t *first = xcalloc(n + 1, sizeof *first), *deps = xcalloc((size_t)n * most + 1, 4);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        first[i] = at;
        for (uint32_t k = random_below(seed, most + 1); k > 0 && m->n + n > 1; k--) {
            deps[at] = random_below(seed, m->n + n);
            vec_push(&m->edges, ((struct edge){deps[at], m->n + i}));
            at++;
        }
    }
    first[n] = at;
    graph_extend(g, n, first, deps);
    m->n += n;
    free(first);
    free(deps);
}

static void like_the_naive_one(uint64_t seed)
{
    struct graph g;
    struct naive m = {0};
    uint64_t start = seed;
    graph_init(&g);
    bool good = true;
    for (int round = 0; round < 12 && good; round++) {
        extend(&g, &m, &seed, 1 + random_below(&seed, 30), random_below(&seed, 5));
        for (uint32_t k = random_below(&seed, 40); k > 0; k--) {
            struct edge e = {random_below(&seed, m.n), random_below(&seed, m.n)};
            graph_link(&g, e.from, e.to);
            vec_push(&m.edges, e);
        }
        for (uint32_t k = random_below(&seed, 20); k > 0 && m.edges.n > 0; k--) {
            struct edge e = m.edges.at[random_below(&seed, (uint32_t)m.edges.n)];
            size_t at = 0; /* the oldest of those that are alike goes */
            while (m.edges.at[at].from != e.from || m.edges.at[at].to != e.to)
                at++;
            memmove(&m.edges.at[at], &m.edges.at[at + 1], (m.edges.n - at - 1) * sizeof e);
            m.edges.n--;
            graph_unlink(&g, e.from, e.to);
        }
        good = equal(&g, &m);
        ok(good, "seed %llu, round %d: %u vertices, %zu edges, both directions",
           (unsigned long long)start, round, m.n, m.edges.n);
    }
    graph_done(&g);
    vec_done(&m.edges);
}

static void empty(void)
{
    struct graph g;
    uint32_t none[4] = {0}, n = 9;
    graph_init(&g);
    is_int(graph_bytes(&g), 0, "a new graph has no memory");
    graph_extend(&g, 0, none, NULL);
    is_int(g.n, 0, "no vertices added is no change");
    graph_extend(&g, 3, none, NULL);
    is_int(g.n, 3, "three vertices without edges");
    (void)graph_in(&g, 2, &n);
    is_int(n, 0, "no edges in");
    (void)graph_out(&g, 2, &n);
    is_int(n, 0, "no edges out");
    graph_done(&g);
    is_int(g.n, 0, "done leaves an empty graph");
}

/* first[] need not begin at 0: a caller may pass a part of a larger table. */
static void part_of_a_table(void)
{
    struct graph g;
    uint32_t none[3] = {0}, first[] = {2, 3, 5}, deps[] = {7, 7, 1, 0, 2}, n;
    graph_init(&g);
    graph_extend(&g, 2, none, NULL);
    graph_extend(&g, 2, first, deps);
    const uint32_t *in = graph_in(&g, 2, &n);
    ok(n == 1 && in[0] == 1, "the first new vertex has its own edge");
    in = graph_in(&g, 3, &n);
    ok(n == 2 && in[0] == 0 && in[1] == 2, "the second has its two, in their order");
    const uint32_t *out = graph_out(&g, 2, &n);
    ok(n == 1 && out[0] == 3, "an edge between new vertices goes out of the first");
    graph_done(&g);
}

/* A list that grows moves from its exact place to blocks of powers of two, and keeps its order. */
static void relocation(void)
{
    enum { EDGES = 5000 };
    struct graph g;
    uint32_t none[3] = {0}, n;
    graph_init(&g);
    graph_extend(&g, 2, none, NULL);
    for (uint32_t i = 0; i < EDGES; i++) {
        uint32_t first[2] = {0, 1}, deps[1] = {i % 2};
        graph_extend(&g, 1, first, deps);
    }
    for (uint32_t v = 0; v < 2; v++) {
        const uint32_t *out = graph_out(&g, v, &n);
        bool order = n == EDGES / 2;
        for (uint32_t i = 0; order && i < n; i++)
            order = out[i] == 2 + v + 2 * i;
        ok(order, "vertex %u: %d edges that came one by one, in the order they came", v, EDGES / 2);
    }
    graph_done(&g);
}

/* What a list leaves behind serves another: many lists growing in turn do not add up. */
static void blocks_are_reused(void)
{
    enum { LISTS = 64, EDGES = 256 };
    struct graph g;
    uint32_t none[LISTS + 1] = {0};
    graph_init(&g);
    graph_extend(&g, LISTS, none, NULL);
    for (uint32_t k = 0; k < EDGES; k++)
        for (uint32_t v = 0; v < LISTS; v++)
            graph_link(&g, v, (v + 1) % LISTS);
    ok(g.out.used < (size_t)2 * LISTS * EDGES * 2, "%zu numbers for %d edges", g.out.used,
       LISTS * EDGES);
    graph_done(&g);
}

static void bytes(void)
{
    enum { N = 10000, DEPS = 4 };
    struct graph g;
    uint32_t *first = xcalloc(N + 1, sizeof *first),
             *deps = xcalloc((size_t)N * DEPS, sizeof *deps);
    for (uint32_t i = 0, at = 0; i < N; i++) {
        first[i] = at;
        for (uint32_t k = 1; i >= DEPS && k <= DEPS; k++)
            deps[at++] = i - k;
        first[i + 1] = at;
    }
    graph_init(&g);
    graph_extend(&g, N, first, deps);
    size_t exact = 2 * ((size_t)first[N] * 4 + (size_t)N * (sizeof(struct graph_list) + 1));
    ok(graph_bytes(&g) >= exact, "the bytes are at least what %u edges need", first[N]);
    ok(graph_bytes(&g) <= 2 * exact, "and no more than twice that: %zu of %zu", graph_bytes(&g),
       exact);
    is_int(g.in.used, first[N], "in one go edges in are laid out exactly");
    is_int(g.out.used, first[N], "and so are edges out");
    graph_done(&g);
    free(first);
    free(deps);
}

int main(void)
{
    empty();
    part_of_a_table();
    for (uint64_t seed = 1; seed <= 8; seed++)
        like_the_naive_one(seed);
    relocation();
    blocks_are_reused();
    bytes();
    return tap_done();
}
