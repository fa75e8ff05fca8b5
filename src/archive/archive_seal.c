/* archive_seal.c - a passphrase to a key (Argon2id), and blocks under it (XChaCha20-Poly1305)
 *
 * The salt is random and stands in the open; how hard the derivation is does not: it is part of the
 * format, so that a file cannot ask for more memory than we are willing to give.  The stream binds
 * the blocks to their order, and its last one says so: none can be left out, moved or cut off.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sodium.h>

#include "archive/archive_i.h"

static const char mark[] = "anneal-sealed 1\n";
enum {
    MARK_BYTES = sizeof mark - 1,
    SALT_BYTES = crypto_pwhash_argon2id_SALTBYTES,
    KEY_BYTES = crypto_secretstream_xchacha20poly1305_KEYBYTES,
    HEADER_BYTES = crypto_secretstream_xchacha20poly1305_HEADERBYTES,
};
_Static_assert(MARK_BYTES + SALT_BYTES + HEADER_BYTES == ARCHIVE_SEAL_HEAD, "head of a seal");
_Static_assert(crypto_secretstream_xchacha20poly1305_ABYTES == ARCHIVE_SEAL_MORE, "of a block");
_Static_assert(sizeof(crypto_secretstream_xchacha20poly1305_state) <= ARCHIVE_SEAL_STATE,
               "room for the state");

static crypto_secretstream_xchacha20poly1305_state *stream_of(struct archive_seal *s)
{
    return (crypto_secretstream_xchacha20poly1305_state *)s->state;
}

int archive_passphrase_check(struct str passphrase, struct err *e)
{
    if (passphrase.n >= ARCHIVE_PASSPHRASE_MIN && passphrase.n <= ARCHIVE_PASSPHRASE_MAX)
        return 0;
    err_set(e, ERR_INVALID, "a passphrase has %d to %d bytes", ARCHIVE_PASSPHRASE_MIN,
            ARCHIVE_PASSPHRASE_MAX);
    return err_hint(e, "six or more random words are a good one; keep it apart from the backups");
}

bool archive_seal_marked(const uint8_t *head, size_t n)
{
    return n >= MARK_BYTES && memcmp(head, mark, MARK_BYTES) == 0;
}

static int key_derive(uint8_t ret_key[KEY_BYTES], struct str passphrase, const uint8_t *salt,
                      struct err *e)
{
    if (sodium_init() < 0) /* seeds the generator; later calls do nothing */
        return err_set(e, ERR_INTERNAL, "no random numbers are to be had");
    if (crypto_pwhash_argon2id(ret_key, KEY_BYTES, passphrase.s, passphrase.n, salt,
                               crypto_pwhash_argon2id_OPSLIMIT_MODERATE,
                               crypto_pwhash_argon2id_MEMLIMIT_MODERATE,
                               crypto_pwhash_argon2id_ALG_ARGON2ID13) < 0)
        return err_set(e, ERR_LIMIT,
                       "a key from a passphrase takes 256 MiB of memory, which are "
                       "not to be had");
    return 0;
}

int archive_seal_begin(struct archive_seal *s, struct str passphrase,
                       uint8_t ret_head[ARCHIVE_SEAL_HEAD], struct err *e)
{
    uint8_t key[KEY_BYTES], *salt = ret_head + MARK_BYTES;
    if (sodium_init() < 0)
        return err_set(e, ERR_INTERNAL, "no random numbers are to be had");
    memcpy(ret_head, mark, MARK_BYTES);
    randombytes_buf(salt, SALT_BYTES);
    int rc = key_derive(key, passphrase, salt, e);
    if (rc == 0)
        crypto_secretstream_xchacha20poly1305_init_push(stream_of(s), salt + SALT_BYTES, key);
    sodium_memzero(key, sizeof key);
    return rc;
}

void archive_seal_put(struct archive_seal *s, const uint8_t *plain, size_t n, bool last,
                      uint8_t *ret_sealed)
{
    crypto_secretstream_xchacha20poly1305_push(
        stream_of(s), ret_sealed, NULL, plain, n, NULL, 0,
        last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL
             : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
}

int archive_seal_open(struct archive_seal *s, struct str passphrase,
                      const uint8_t head[ARCHIVE_SEAL_HEAD], struct err *e)
{
    uint8_t key[KEY_BYTES];
    const uint8_t *salt = head + MARK_BYTES;
    int rc = key_derive(key, passphrase, salt, e);
    if (rc == 0 &&
        crypto_secretstream_xchacha20poly1305_init_pull(stream_of(s), salt + SALT_BYTES, key))
        rc = err_set(e, ERR_CORRUPT, "the head of the seal is damaged");
    sodium_memzero(key, sizeof key);
    return rc;
}

bool archive_seal_get(struct archive_seal *s, const uint8_t *sealed, size_t n, uint8_t *ret_plain,
                      bool *ret_last)
{
    uint8_t tag = 0;
    if (n < ARCHIVE_SEAL_MORE || crypto_secretstream_xchacha20poly1305_pull(
                                     stream_of(s), ret_plain, NULL, &tag, sealed, n, NULL, 0))
        return false;
    *ret_last = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
    return true;
}

void archive_seal_wipe(struct archive_seal *s)
{
    sodium_memzero(s, sizeof *s);
}
