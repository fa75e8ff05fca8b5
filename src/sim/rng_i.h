/* rng_i.h - chance from a seed: the same numbers on every machine
 *
 * One stream per party, so that switching off one kind of fault leaves the others alone.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_RNG_I_H
#define SIM_RNG_I_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"

struct rng {
    uint64_t key, n;
};
static inline uint64_t rng_next(struct rng *r)
{
    uint64_t n = ++r->n;
    return mix64(mix64(r->key, n), n);
}
static inline uint32_t rng_below(struct rng *r, uint32_t n) /* n > 0 */
{
    return (uint32_t)(((rng_next(r) >> 32) * n) >> 32);
}
static inline uint32_t rng_from(struct rng *r, uint32_t low, uint32_t high) /* both included */
{
    return low + rng_below(r, high - low + 1);
}
static inline bool rng_chance(struct rng *r, uint32_t per_mille)
{
    return rng_below(r, 1000) < per_mille;
}

#endif
