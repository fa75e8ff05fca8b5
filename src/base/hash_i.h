/* hash_i.h - the keyed hash of base's tables
 *
 * Keys come from files and requests, so the hash is seeded per process: nobody outside can prepare
 * keys that collide.  The seed is read from the kernel's AT_RANDOM bytes instead of a variable,
 * which keeps base free of mutable state; tables keep a copy next to their slots.  No order visible
 * to anyone depends on it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASH_I_H
#define BASE_HASH_I_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

/* Multiplies to 128 bits and folds: every input bit reaches every output bit. */
static inline uint64_t hash_fold(uint64_t a, uint64_t b)
{
    unsigned __int128 p = (unsigned __int128)a * b;
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The kernel's bytes also key the stack protector, hence the folding before they are used here. */
static inline uint64_t hash_seed(void)
{
    const void *random = (const void *)getauxval(AT_RANDOM);
    uint64_t r[2] = {0x243f6a8885a308d3ull, 0x13198a2e03707344ull};
    if (random)
        memcpy(r, random, sizeof r);
    return hash_fold(r[0] ^ 0x8ebc6af09c88c6e3ull, r[1] ^ 0x589965cc75374cc3ull);
}

static inline uint64_t hash_word(const unsigned char *p, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, p, n);
    return w;
}

static inline uint64_t hash_bytes(uint64_t seed, const void *data, size_t n)
{
    const unsigned char *p = data;
    const uint64_t k0 = 0xa0761d6478bd642full, k1 = 0xe7037ed1a0b428dbull;
    uint64_t h = seed ^ hash_fold(seed ^ k0, n ^ k1);
    uint64_t a, b;
    size_t left = n;
    for (; left > 16; p += 16, left -= 16)
        h = hash_fold(hash_word(p, 8) ^ k1, hash_word(p + 8, 8) ^ h);
    if (left >= 8) {
        a = hash_word(p, 8);
        b = hash_word(p + left - 8, 8);
    } else if (left >= 4) {
        a = hash_word(p, 4);
        b = hash_word(p + left - 4, 4);
    } else {
        a = left ? (uint64_t)p[0] << 16 | (uint64_t)p[left / 2] << 8 | p[left - 1] : 0;
        b = 0;
    }
    return hash_fold(k0 ^ n, hash_fold(a ^ k1, b ^ h));
}

static inline uint64_t hash_number(uint64_t seed, uint64_t v)
{
    return hash_fold(v ^ seed, seed ^ 0xa0761d6478bd642full);
}

#endif
