/* vault.c - sealing and opening, and the key */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/vault.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/text.h"
#include "sys/fs.h"

enum {
    KEY_BYTES = crypto_aead_xchacha20poly1305_ietf_KEYBYTES,
    KEY_HEX = 2 * KEY_BYTES,
    KEY_FILE_BYTES = 256,
    NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
    SEAL_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
    BASE64 = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
};

void vault_wipe(struct buf *b)
{
    if (b->data)
        sodium_memzero(b->data, b->cap);
    buf_done(b);
}

static int key_make(const char *path, uint8_t ret[KEY_BYTES], struct err *e)
{
    char line[KEY_HEX + 2];
    randombytes_buf(ret, KEY_BYTES);
    text_hex(ret, KEY_BYTES, line);
    memcpy(line + KEY_HEX, "\n", 2);
    int rc = fs_write_atomic(path, line, KEY_HEX + 1, 0600, e);
    sodium_memzero(line, sizeof line);
    return rc;
}

static int key_get(const char *data_dir, bool may_make, uint8_t ret[KEY_BYTES], struct err *e)
{
    SCOPED_BUF(file);
    size_t n = 0;
    char *path = fs_join(data_dir, VAULT_KEY);
    if (sodium_init() < 0) { /* seeds the generator; later calls do nothing */
        free(path);
        return err_set(e, ERR_INTERNAL, "no random numbers are to be had");
    }
    int rc = fs_read(path, KEY_FILE_BYTES, &file, e);
    if (rc == -ERR_NOT_FOUND && may_make)
        rc = key_make(path, ret, e);
    else if (rc >= 0 && (sodium_hex2bin(ret, KEY_BYTES, file.data, file.len, " \r\n", &n, NULL) ||
                         n != KEY_BYTES))
        rc = err_set(e, ERR_CORRUPT, "%s does not hold a key of %d hexadecimal digits", path,
                     KEY_HEX);
    if (rc == -ERR_NOT_FOUND)
        err_hint(e,
                 "restore secret.key from a backup; without it, sealed values must be given again");
    vault_wipe(&file);
    free(path);
    return rc < 0 ? rc : 0;
}

void vault_owner(char ret[VAULT_OWNER_BYTES], const char *kind, uint32_t id)
{
    snprintf(ret, VAULT_OWNER_BYTES, "%s %u", kind, id);
}

int vault_key_check(const char *data_dir, struct err *e)
{
    uint8_t key[KEY_BYTES];
    int rc = key_get(data_dir, false, key, e);
    sodium_memzero(key, sizeof key);
    return rc;
}

int vault_seal(const char *data_dir, bool first, const char *owner, struct str text,
               struct buf *ret, struct err *e)
{
    uint8_t key[KEY_BYTES];
    int rc = key_get(data_dir, first, key, e);
    if (rc < 0)
        return rc;
    size_t n = NONCE_BYTES + text.n + SEAL_BYTES, room = sodium_base64_encoded_len(n, BASE64);
    uint8_t *sealed = xcalloc(n, 1);
    char *shown = xcalloc(room, 1);
    randombytes_buf(sealed, NONCE_BYTES);
    crypto_aead_xchacha20poly1305_ietf_encrypt(sealed + NONCE_BYTES, NULL, (const uint8_t *)text.s,
                                               text.n, (const uint8_t *)owner, strlen(owner), NULL,
                                               sealed, key);
    sodium_memzero(key, sizeof key);
    buf_puts(ret, sodium_bin2base64(shown, room, sealed, n, BASE64));
    free(sealed);
    free(shown);
    return 0;
}

static int unreadable(const char *owner, struct err *e)
{
    err_set(e, ERR_CORRUPT, "the sealed values of %s do not open", owner);
    return err_hint(e, "was secret.key replaced? restore it, or give the values again");
}

int vault_open(const char *data_dir, const char *owner, struct str sealed, struct buf *ret,
               struct err *e)
{
    uint8_t key[KEY_BYTES];
    size_t n = 0;
    uint8_t *bytes = xcalloc(sealed.n + 1, 1);
    if (sodium_base642bin(bytes, sealed.n, sealed.s, sealed.n, NULL, &n, NULL, BASE64) ||
        n < NONCE_BYTES + SEAL_BYTES) {
        free(bytes);
        return unreadable(owner, e);
    }
    int rc = key_get(data_dir, false, key, e);
    buf_clear(ret);
    if (rc >= 0) {
        size_t plain = n - NONCE_BYTES - SEAL_BYTES;
        buf_reserve(ret, plain + 1);
        if (crypto_aead_xchacha20poly1305_ietf_decrypt(
                (uint8_t *)ret->data, NULL, NULL, bytes + NONCE_BYTES, n - NONCE_BYTES,
                (const uint8_t *)owner, strlen(owner), bytes, key)) {
            rc = unreadable(owner, e);
        } else {
            ret->len = plain;
            ret->data[plain] = '\0';
        }
        sodium_memzero(key, sizeof key);
    }
    free(bytes);
    return rc;
}
