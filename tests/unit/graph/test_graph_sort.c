/* test_graph_sort.c - parents first, ties by number; or a cycle that really is one
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "graph/graph.h"
#include "tap.h"

struct csr {
    uint32_t n, *first, *deps, *order, *cycle, cycle_n;
};

static struct csr csr_new(uint32_t n, uint32_t edges)
{
    return (struct csr){.n = n,
                        .first = xcalloc((size_t)n + 1, 4),
                        .deps = xcalloc((size_t)edges + 1, 4),
                        .order = xcalloc((size_t)n + 1, 4),
                        .cycle = xcalloc((size_t)n + 1, 4)};
}

static void csr_free(struct csr *c)
{
    free(c->first);
    free(c->deps);
    free(c->order);
    free(c->cycle);
}

/* "2<0,1 0<1": vertex 2 comes after 0 and 1, vertex 0 after 1.  Vertices are single digits. */
static struct csr csr_from_text(uint32_t n, const char *text)
{
    struct csr c = csr_new(n, (uint32_t)strlen(text));
    uint32_t at = 0;
    for (uint32_t v = 0; v < n; v++) {
        c.first[v] = at;
        for (const char *p = text; *p; p += strcspn(p, " "), p += *p == ' ')
            if ((uint32_t)(*p - '0') == v)
                for (const char *d = p + 2; *d && *d != ' '; d++)
                    if (*d != ',')
                        c.deps[at++] = (uint32_t)(*d - '0');
    }
    c.first[n] = at;
    return c;
}

static bool csr_sort(struct csr *c)
{
    return graph_sort(c->n, c->first, c->deps, c->order, c->cycle, &c->cycle_n);
}

static bool depends(const struct csr *c, uint32_t v, uint32_t on)
{
    for (uint32_t k = c->first[v]; k < c->first[v + 1]; k++)
        if (c->deps[k] == on)
            return true;
    return false;
}

/* Each vertex of the cycle needs the one before it, the first needs the last, none comes twice. */
static bool cycle_holds(const struct csr *c)
{
    if (c->cycle_n == 0 || c->cycle_n > c->n)
        return false;
    for (uint32_t i = 0; i < c->cycle_n; i++) {
        if (!depends(c, c->cycle[i], c->cycle[(i + c->cycle_n - 1) % c->cycle_n]))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (c->cycle[k] == c->cycle[i])
                return false;
    }
    return true;
}

static void orders(uint32_t n, const char *edges, const char *want)
{
    struct csr c = csr_from_text(n, edges);
    char got[64] = "";
    if (csr_sort(&c))
        for (uint32_t i = 0; i < n; i++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%u", c.order[i]);
    is_text(got, want, "%u vertices, \"%s\": %s", n, edges, want);
    csr_free(&c);
}

static void cycles(uint32_t n, const char *edges, uint32_t len)
{
    struct csr c = csr_from_text(n, edges);
    ok(!csr_sort(&c), "\"%s\" cannot be sorted", edges);
    is_int(c.cycle_n, len, "\"%s\": a cycle of %u", edges, len);
    ok(cycle_holds(&c), "\"%s\": each of it needs the one before", edges);
    csr_free(&c);
}

/* Of all vertices whose parents are out, the lowest comes next: checked the slow way. */
static bool order_is_the_lowest(const struct csr *c)
{
    bool *out = xcalloc(c->n, 1), good = true;
    for (uint32_t i = 0; i < c->n && good; i++) {
        uint32_t lowest = c->n;
        for (uint32_t v = 0; v < c->n && lowest == c->n; v++) {
            bool free_now = !out[v];
            for (uint32_t k = c->first[v]; free_now && k < c->first[v + 1]; k++)
                free_now = out[c->deps[k]];
            lowest = free_now ? v : lowest;
        }
        good = lowest < c->n && c->order[i] == lowest;
        out[c->order[i]] = true;
    }
    free(out);
    return good;
}

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((*seed >> 33) % n);
}

/* Any edges at all: either the slow order comes out, or a cycle that holds. */
static void random_graphs(void)
{
    uint32_t sorted = 0, refused = 0;
    for (uint64_t start = 1; start <= 200; start++) {
        uint64_t seed = start;
        uint32_t n = 1 + random_below(&seed, 40), at = 0;
        bool forward = random_below(&seed, 2);
        struct csr c = csr_new(n, n * 3);
        for (uint32_t v = 0; v < n; v++) {
            c.first[v] = at;
            for (uint32_t k = random_below(&seed, 3); k > 0; k--)
                if (forward && v > 0)
                    c.deps[at++] = random_below(&seed, v);
                else if (!forward)
                    c.deps[at++] = random_below(&seed, n);
        }
        c.first[n] = at;
        bool good = csr_sort(&c) ? order_is_the_lowest(&c) : cycle_holds(&c) && !forward;
        *(c.cycle_n ? &refused : &sorted) += 1;
        if (!good)
            ok(false, "seed %llu of %u vertices", (unsigned long long)start, n);
        csr_free(&c);
    }
    ok(sorted >= 50 && refused >= 20,
       "%u random graphs in the order of the slow way, %u with a cycle", sorted, refused);
}

/* Depth is no matter: a chain of a million, given back to front, and the same closed to a ring. */
static void long_chain(void)
{
    enum { N = 1000000 };
    struct csr c = csr_new(N, N);
    for (uint32_t v = 0; v < N; v++) {
        c.first[v] = v;
        c.deps[v] = v + 1;
    }
    c.first[N - 1] = N - 1;
    c.first[N] = N - 1;
    bool good = csr_sort(&c);
    for (uint32_t i = 0; good && i < N; i++)
        good = c.order[i] == N - 1 - i;
    ok(good, "a chain of %d", N);
    c.deps[N - 1] = 0;
    c.first[N] = N;
    ok(!csr_sort(&c), "the chain closed to a ring");
    is_int(c.cycle_n, N, "the whole ring is the cycle");
    csr_free(&c);
}

int main(void)
{
    orders(0, "", "");
    orders(1, "", "0");
    orders(3, "", "012");
    orders(3, "0<1 1<2", "210");
    orders(4, "0<3", "1230");
    orders(4, "1<0 2<0 3<1,2", "0123");
    orders(5, "0<4 1<4", "23401");
    orders(3, "2<0,0,1", "012");
    cycles(1, "0<0", 1);
    cycles(2, "0<1 1<0", 2);
    cycles(4, "1<0 2<1,3 3<2", 2);
    cycles(5, "0<4 1<0 2<1 3<2 4<3", 5);
    cycles(6, "1<3 2<1 3<2 4<3 5<4", 3);
    random_graphs();
    long_chain();
    return tap_done();
}
