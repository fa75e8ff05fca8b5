/* digest.h - content digests (BLAKE2b by libsodium), a fast 64-bit mix for in-memory keys, and
 * signatures by a shared key (HMAC-SHA256, RFC 2104) for those who check them with other programs
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { DIGEST_BYTES = 16, DIGEST_HEX = 33 };
struct digest {
    uint8_t b[DIGEST_BYTES];
};
struct digest digest_of(const void *p, size_t n);
/* The first 8 bytes of digest_of, little endian; never 0. */
uint64_t digest_64(const void *p, size_t n);
void digest_hex(const struct digest *d, char ret_hex[DIGEST_HEX]);
/* Streaming form for large content. */
struct digest_state {
    uint8_t opaque[512] __attribute__((aligned(64)));
};
void digest_begin(struct digest_state *s);
void digest_add(struct digest_state *s, const void *p, size_t n);
struct digest digest_end(struct digest_state *s);

/* HMAC-SHA256 as lower-case hex; a key of any length. */
enum { DIGEST_HMAC_HEX = 65 };
void digest_hmac_hex(struct str key, struct str text, char ret_hex[DIGEST_HMAC_HEX]);

/* SHA-256 as lower-case hex, as other programs print it. */
void digest_sha256_hex(struct str text, char ret_hex[DIGEST_HMAC_HEX]);

/* Order-dependent mixing of two 64-bit numbers; not for hostile input. */
static inline uint64_t mix64(uint64_t h, uint64_t v)
{
    h ^= v + 0x9e3779b97f4a7c15ull + (h << 12) + (h >> 4);
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    return h ^ (h >> 32);
}

#endif
