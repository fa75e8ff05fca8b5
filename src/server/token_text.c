/* token_text.c - random text and its hash */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/token_text.h"

#include <string.h>

#include "base/text.h"

void token_text_hash(const char *token, char ret_hex[TOKEN_HASH_TEXT])
{
    unsigned char hash[TOKEN_HASH_BYTES];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)token, strlen(token), NULL, 0);
    text_hex(hash, sizeof hash, ret_hex);
}

int token_text_make(const char prefix[TOKEN_PREFIX_N + 1], char ret_token[TOKEN_TEXT],
                    struct err *e)
{
    unsigned char secret[TOKEN_SECRET_BYTES];
    if (sodium_init() < 0) /* seeds the generator; later calls do nothing */
        return err_set(e, ERR_INTERNAL, "the random generator does not start");
    randombytes_buf(secret, sizeof secret);
    memcpy(ret_token, prefix, TOKEN_PREFIX_N);
    sodium_bin2base64(ret_token + TOKEN_PREFIX_N, TOKEN_SECRET_TEXT, secret, sizeof secret,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    sodium_memzero(secret, sizeof secret);
    return 0;
}

bool token_text_is(const char *token, const char *prefix)
{
    return strlen(token) == TOKEN_TEXT - 1 && strncmp(token, prefix, TOKEN_PREFIX_N) == 0;
}
