/* token_text.h - secrets that are shown once: made here, recognised by their hash
 *
 * 32 random bytes as text behind four letters that tell what they open: a door of the API (anl_), a
 * worker's line (anw_), joining as one (anj_).  Only BLAKE2b hashes are kept; since the secret is
 * as long as the hash there is nothing to slow down and nothing to guess, and looking the hash up
 * leaks nothing about the secret.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_TOKEN_TEXT_H
#define SERVER_TOKEN_TEXT_H

#include <sodium.h>
#include <stdbool.h>

#include "base/err.h"

#define TOKEN_PREFIX        "anl_"
#define TOKEN_PREFIX_WORKER "anw_"
#define TOKEN_PREFIX_JOIN   "anj_"

enum {
    TOKEN_PREFIX_N = sizeof TOKEN_PREFIX - 1,
    TOKEN_SECRET_BYTES = 32,
    TOKEN_SECRET_TEXT = sodium_base64_ENCODED_LEN(TOKEN_SECRET_BYTES,
                                                  sodium_base64_VARIANT_URLSAFE_NO_PADDING),
    TOKEN_TEXT = TOKEN_PREFIX_N + TOKEN_SECRET_TEXT, /* with its NUL */
    TOKEN_HASH_BYTES = 32,
    TOKEN_HASH_TEXT = 2 * TOKEN_HASH_BYTES + 1,
};

int token_text_make(const char prefix[TOKEN_PREFIX_N + 1], char ret_token[TOKEN_TEXT],
                    struct err *e);
void token_text_hash(const char *token, char ret_hex[TOKEN_HASH_TEXT]);
/* Has it the form of one with this prefix? */
bool token_text_is(const char *token, const char *prefix);

#endif
