/* digest.c - BLAKE2b with 16 bytes of output, HMAC-SHA256
 *
 * libsodium chooses its fastest code in sodium_init(), which is thread-safe and does nothing the
 * second time; without it the portable code would run.  Failing to start is a broken machine, not
 * an error a caller could handle.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/digest.h"

#include <assert.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/text.h"

_Static_assert(sizeof(crypto_generichash_state) <= sizeof(struct digest_state), "opaque too small");
_Static_assert(_Alignof(crypto_generichash_state) <= _Alignof(struct digest_state), "unaligned");
_Static_assert(DIGEST_BYTES >= crypto_generichash_BYTES_MIN, "shorter than BLAKE2b allows");
_Static_assert(DIGEST_HEX == 2 * DIGEST_BYTES + 1, "hex and a NUL");
_Static_assert(DIGEST_HMAC_HEX == 2 * crypto_auth_hmacsha256_BYTES + 1, "hex and a NUL");

static crypto_generichash_state *digest_inner(struct digest_state *s)
{
    return (crypto_generichash_state *)(void *)s->opaque;
}

static void digest_ready(void)
{
    if (sodium_init() < 0)
        abort();
}

void digest_begin(struct digest_state *s)
{
    digest_ready();
    crypto_generichash_init(digest_inner(s), NULL, 0, DIGEST_BYTES);
}

void digest_add(struct digest_state *s, const void *p, size_t n)
{
    if (n)
        crypto_generichash_update(digest_inner(s), p, n);
}

struct digest digest_end(struct digest_state *s)
{
    struct digest d;
    crypto_generichash_final(digest_inner(s), d.b, sizeof d.b);
    return d;
}

struct digest digest_of(const void *p, size_t n)
{
    struct digest d;
    digest_ready();
    crypto_generichash(d.b, sizeof d.b, p, n, NULL, 0);
    return d;
}

uint64_t digest_64(const void *p, size_t n)
{
    struct digest d = digest_of(p, n);
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | d.b[i];
    return v ? v : 1; /* 0 means "none" to the callers */
}

void digest_hex(const struct digest *d, char ret_hex[DIGEST_HEX])
{
    text_hex(d->b, sizeof d->b, ret_hex);
}

void digest_hmac_hex(struct str key, struct str text, char ret_hex[DIGEST_HMAC_HEX])
{
    crypto_auth_hmacsha256_state s;
    uint8_t sum[crypto_auth_hmacsha256_BYTES];
    digest_ready();
    crypto_auth_hmacsha256_init(&s, (const uint8_t *)key.s, key.n);
    crypto_auth_hmacsha256_update(&s, (const uint8_t *)text.s, text.n);
    crypto_auth_hmacsha256_final(&s, sum);
    text_hex(sum, sizeof sum, ret_hex);
    sodium_memzero(&s, sizeof s);
}

void digest_sha256_hex(struct str text, char ret_hex[DIGEST_HMAC_HEX])
{
    uint8_t sum[crypto_hash_sha256_BYTES];
    digest_ready();
    crypto_hash_sha256(sum, (const uint8_t *)text.s, text.n);
    text_hex(sum, sizeof sum, ret_hex);
}
