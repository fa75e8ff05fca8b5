/* dice.h - chance that a seed repeats */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_DICE_H
#define TESTS_PROPERTY_DICE_H

#include <stdbool.h>
#include <stdint.h>

struct dice {
    uint64_t state;
};

/* Any two numbers make their own sequence. */
static inline struct dice dice_of(uint64_t seed, uint64_t part)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15ull + part * 0xbf58476d1ce4e5b9ull + 1;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (struct dice){(x ^ x >> 31) | 1};
}

/* 0 .. below - 1; below is not 0. */
static inline uint32_t roll(struct dice *d, uint32_t below)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (uint32_t)((d->state >> 16) % below);
}

static inline bool one_in(struct dice *d, uint32_t n)
{
    return roll(d, n) == 0;
}

#endif
