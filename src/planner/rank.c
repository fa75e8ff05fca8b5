/* rank.c - the order in which a world lists noderoles */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/sort.h"
#include "planner/planner.h"

struct planner_ids planner_ids_rank(uint32_t *ids, size_t n, planner_cohort_f cohort,
                                    const void *ctx)
{
    if (n > 1) { /* nobody's cohort is asked for where there is nothing to order */
        uint64_t *ranks = xcalloc(n, sizeof *ranks);
        for (size_t i = 0; i < n; i++)
            ranks[i] = (uint64_t)cohort(ctx, ids[i]) << 32 | ids[i];
        sort_u64(ranks, n);
        for (size_t i = 0; i < n; i++)
            ids[i] = (uint32_t)ranks[i];
        free(ranks);
    }
    return (struct planner_ids){ids, (uint32_t)n};
}
