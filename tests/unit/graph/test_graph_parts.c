/* test_graph_parts.c - components: who reach each other, and in which order they come
 *
 * Against the closure of the edges, by trying all three.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "base/digest.h"
#include "graph/graph.h"
#include "tap.h"

enum { MOST = 24, ROUNDS = 3000, DEEP = 200000 };

static bool round_good(uint64_t seed, uint32_t *ret_large)
{
    uint32_t n = (uint32_t)(mix64(seed, 1) % MOST) + 1,
             sparse = (uint32_t)(mix64(seed, 2) % 20) + 2;
    uint32_t first[MOST + 1] = {0}, deps[MOST * MOST], part[MOST], at = 0, size[MOST] = {0};
    bool reach[MOST][MOST] = {{false}}, good = true;
    for (uint32_t v = 0; v < n; v++) {
        first[v] = at;
        for (uint32_t to = 0; to < n; to++)
            if (mix64(seed, 100 + v * MOST + to) % sparse == 0) {
                deps[at++] = to;
                reach[v][to] = true;
            }
        reach[v][v] = true;
    }
    first[n] = at;
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < n; j++)
                reach[i][j] |= reach[i][k] && reach[k][j];
    uint32_t parts = graph_parts(n, first, deps, part);
    for (uint32_t i = 0; i < n; i++) {
        good = good && part[i] < parts;
        for (uint32_t j = 0; good && j < n; j++) {
            good = (part[i] == part[j]) == (reach[i][j] && reach[j][i]);
            if (reach[i][j] && part[i] != part[j])
                good = good && part[j] < part[i];
        }
        size[part[i]]++;
    }
    for (uint32_t p = 0; p < parts; p++) {
        good = good && size[p] > 0;
        *ret_large += size[p] > 1;
    }
    return good;
}

/* A circle of all: as deep as it can be. */
static void test_deep(void)
{
    uint32_t *first = xcalloc(DEEP + 1, 4), *deps = xcalloc(DEEP, 4), *part = xcalloc(DEEP, 4);
    for (uint32_t v = 0; v < DEEP; v++) {
        first[v + 1] = v + 1;
        deps[v] = (v + 1) % DEEP;
    }
    is_int(graph_parts(DEEP, first, deps, part), 1, "a circle of %d is one part", DEEP);
    deps[DEEP - 1] = DEEP - 1;
    is_int(graph_parts(DEEP, first, deps, part), DEEP, "a chain is as many as it has");
    is_int(part[DEEP - 1], 0, "and its end is the lowest");
    free(first);
    free(deps);
    free(part);
}

int main(void)
{
    uint32_t bad = 0, large = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        if (!round_good(seed, &large) && ++bad < 5)
            ok(false, "seed %llu", (unsigned long long)seed);
    is_int(bad, 0, "%d random graphs", ROUNDS);
    ok(large > ROUNDS / 4, "with %u parts of several", large);
    is_int(graph_parts(0, (uint32_t[]){0}, NULL, NULL), 0, "nothing has none");
    test_deep();
    return tap_done();
}
