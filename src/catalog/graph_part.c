/* graph_part.c - what of a graph lies behind some of its vertices and before others */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/taskgraph.h"

/* Marks what is reached from v, along the edges or against them. */
static void spread(const struct graph_plain *p, uint32_t v, bool forwards, struct arena *a,
                   bool *in)
{
    uint32_t *first = arena_new(a, uint32_t, (size_t)p->n + 2);
    uint32_t *to = arena_new(a, uint32_t, p->n_edges), *walk = arena_new(a, uint32_t, p->n), n = 0;
    for (uint32_t i = 0; i < p->n_edges; i++)
        first[(forwards ? p->edges[i].from : p->edges[i].to) + 2]++;
    for (uint32_t i = 0; i < p->n; i++)
        first[i + 2] += first[i + 1];
    for (uint32_t i = 0; i < p->n_edges; i++) {
        uint32_t at = forwards ? p->edges[i].from : p->edges[i].to;
        to[first[at + 1]++] = forwards ? p->edges[i].to : p->edges[i].from;
    }
    in[v] = true;
    walk[n++] = v;
    while (n > 0) {
        uint32_t at = walk[--n];
        for (uint32_t k = first[at]; k < first[at + 1]; k++)
            if (!in[to[k]]) {
                in[to[k]] = true;
                walk[n++] = to[k];
            }
    }
}

void graph_plain_part(const struct graph_plain *p, uint32_t start, uint32_t end, struct arena *a,
                      bool *ret)
{
    bool *behind = arena_new(a, bool, p->n), *before = arena_new(a, bool, p->n);
    if (start != CATALOG_NONE)
        spread(p, start, true, a, behind);
    if (end != CATALOG_NONE)
        spread(p, end, false, a, before);
    for (uint32_t v = 0; v < p->n; v++)
        ret[v] = (start == CATALOG_NONE || behind[v]) && (end == CATALOG_NONE || before[v]);
}
