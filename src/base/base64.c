/* base64.c - base64 by libsodium, into buffers */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base64.h"

#include <sodium.h>

void base64_write(struct buf *b, struct str bytes)
{
    size_t room = sodium_base64_ENCODED_LEN(bytes.n, sodium_base64_VARIANT_ORIGINAL);
    buf_reserve(b, room); /* its NUL included */
    (void)sodium_bin2base64(b->data + b->len, room, (const unsigned char *)bytes.s, bytes.n,
                            sodium_base64_VARIANT_ORIGINAL);
    b->len += room - 1;
}

bool base64_read(struct buf *b, struct str text)
{
    size_t n = 0, room = text.n / 4 * 3 + 3;
    const char *end = NULL;
    buf_reserve(b, room + 1);
    int rc = sodium_base642bin((unsigned char *)b->data + b->len, room, text.s, text.n, NULL, &n,
                               &end, sodium_base64_VARIANT_ORIGINAL);
    bool good = rc == 0 && end == text.s + text.n;
    if (good)
        b->len += n;
    b->data[b->len] = '\0';
    return good;
}
