/* sort.c - numbers in ascending order */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/sort.h"

#include <stdlib.h>

static int u32_order(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

static int u64_order(const void *x, const void *y)
{
    const uint64_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

void sort_u32(uint32_t *at, size_t n)
{
    if (n > 1)
        qsort(at, n, sizeof *at, u32_order);
}

void sort_u64(uint64_t *at, size_t n)
{
    if (n > 1)
        qsort(at, n, sizeof *at, u64_order);
}
