/* graph_sort.c - parents before children, or the cycle that forbids it
 *
 * Kahn's algorithm over a CSR of incoming edges.  The frontier is a binary heap of vertex numbers,
 * so that the order is total: no tie is left to the layout of memory.  When vertices remain, each
 * of them has an edge from another that remains; walking those edges back must meet itself, which
 * is the cycle.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <stdlib.h>

#include "base/alloc.h"

static void frontier_push(uint32_t *heap, uint32_t *n, uint32_t v)
{
    uint32_t i = (*n)++;
    for (; i > 0 && heap[(i - 1) / 2] > v; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = v;
}

static uint32_t frontier_pop(uint32_t *heap, uint32_t *n)
{
    uint32_t top = heap[0], last = heap[--*n], i = 0;
    for (;;) {
        uint32_t c = 2 * i + 1;
        if (c >= *n)
            break;
        if (c + 1 < *n && heap[c + 1] < heap[c])
            c++;
        if (heap[c] >= last)
            break;
        heap[i] = heap[c];
        i = c;
    }
    heap[i] = last;
    return top;
}

/* Some vertex with left > 0 exists: follow remaining parents until one repeats. */
static uint32_t find_cycle(uint32_t n, const uint32_t *first, const uint32_t *deps,
                           const uint32_t *left, uint32_t *ret_cycle)
{
    uint32_t *seen_at = xcalloc(n, sizeof *seen_at);
    uint32_t v = 0, len = 0;
    while (left[v] == 0)
        v++;
    while (!seen_at[v]) {
        ret_cycle[len++] = v;
        seen_at[v] = len;
        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            if (left[deps[k]] > 0) {
                v = deps[k];
                break;
            }
    }
    uint32_t start = seen_at[v] - 1, size = len - start;
    /* Collected child to parent: reverse in place so that each needs the one before it. */
    for (uint32_t i = 0; i < size; i++)
        ret_cycle[i] = ret_cycle[start + i];
    for (uint32_t i = 0; i < size / 2; i++) {
        uint32_t swap = ret_cycle[i];
        ret_cycle[i] = ret_cycle[size - 1 - i];
        ret_cycle[size - 1 - i] = swap;
    }
    free(seen_at);
    return size;
}

bool graph_sort(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_order,
                uint32_t *ret_cycle, uint32_t *ret_cycle_n)
{
    uint32_t *left = xcalloc(n ? n : 1, sizeof *left);
    uint32_t *out_first = xcalloc((size_t)n + 1, sizeof *out_first);
    uint32_t edges = n ? first[n] : 0, heap_n = 0, done = 0;
    uint32_t *out = xcalloc(edges ? edges : 1, sizeof *out);
    uint32_t *heap = xcalloc(n ? n : 1, sizeof *heap);
    for (uint32_t v = 0; v < n; v++) {
        left[v] = first[v + 1] - first[v];
        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            out_first[deps[k] + 1]++;
    }
    for (uint32_t v = 0; v < n; v++)
        out_first[v + 1] += out_first[v];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            out[out_first[deps[k]]++] = v;
    for (uint32_t v = n; v > 0; v--) /* filling moved each start to its end: shift back */
        out_first[v] = out_first[v - 1];
    if (n)
        out_first[0] = 0;
    for (uint32_t v = 0; v < n; v++)
        if (left[v] == 0)
            frontier_push(heap, &heap_n, v);
    while (heap_n > 0) {
        uint32_t v = frontier_pop(heap, &heap_n);
        ret_order[done++] = v;
        for (uint32_t k = out_first[v]; k < out_first[v + 1]; k++)
            if (--left[out[k]] == 0)
                frontier_push(heap, &heap_n, out[k]);
    }
    bool acyclic = done == n;
    if (!acyclic)
        *ret_cycle_n = find_cycle(n, first, deps, left, ret_cycle);
    free(left);
    free(out_first);
    free(out);
    free(heap);
    return acyclic;
}
