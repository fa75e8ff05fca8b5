/* sort.h - numbers in ascending order, and the first of what is in order
 *
 * For ids and keys, which are most of what is ever sorted here; anything with an order of its own
 * goes to qsort().  Where n is 0 the address may be NULL.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

void sort_u32(uint32_t *at, size_t n);
void sort_u64(uint64_t *at, size_t n);

/* The place of the first of n elements for which a condition holds, n if there is none, where they
 * are in such an order that it holds for all behind that one.  The condition sees the element as
 * *it:  sort_first(ids.at, ids.n, it, *it >= id)  is where id is, or would have to be. */
#define sort_first(at, n, it, holds)                                                               \
    ({                                                                                             \
        size_t sort_from_ = 0, sort_to_ = (n);                                                     \
        while (sort_from_ < sort_to_) {                                                            \
            size_t sort_mid_ = sort_from_ + (sort_to_ - sort_from_) / 2;                           \
            const __typeof__(*(at)) *it = &(at)[sort_mid_];                                        \
            if (holds)                                                                             \
                sort_to_ = sort_mid_;                                                              \
            else                                                                                   \
                sort_from_ = sort_mid_ + 1;                                                        \
        }                                                                                          \
        sort_from_;                                                                                \
    })

#endif
