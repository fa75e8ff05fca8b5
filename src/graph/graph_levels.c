/* graph_levels.c - parents before children, level by level
 *
 * Kahn's algorithm with the order itself as its queue: linear, and as deterministic as the arrays
 * that it is given.  Whoever needs ties broken by number takes graph_sort().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/graph.h"

uint32_t graph_levels(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_order,
                      uint32_t *ret_left)
{
    uint32_t edges = n ? first[n] : 0, done = 0, found = 0;
    uint32_t *out_first = xcalloc((size_t)n + 2, sizeof *out_first);
    uint32_t *out = xcalloc(edges ? edges : 1, sizeof *out);
    for (uint32_t k = 0; k < edges; k++)
        out_first[deps[k] + 2]++;
    for (uint32_t v = 0; v < n; v++)
        out_first[v + 2] += out_first[v + 1];
    for (uint32_t v = 0; v < n; v++) {
        ret_left[v] = first[v + 1] - first[v];
        if (ret_left[v] == 0)
            ret_order[found++] = v;
        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            out[out_first[deps[k] + 1]++] = v;
    }
    while (done < found) {
        uint32_t v = ret_order[done++];
        for (uint32_t k = out_first[v]; k < out_first[v + 1]; k++)
            if (--ret_left[out[k]] == 0)
                ret_order[found++] = out[k];
    }
    free(out_first);
    free(out);
    return done;
}
