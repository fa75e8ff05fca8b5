/* leb_i.h - numbers of rows: seven bits a byte, low bits first, in their shortest form
 *
 * One way to write a number, so that equal content has equal bytes.  A reader refuses a longer
 * form, a number beyond its bound and one that is cut off.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_LEB_I_H
#define MODEL_LEB_I_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum { LEB_BYTES_MAX = 10 };

static inline void leb_put(struct buf *b, uint64_t v)
{
    char bytes[LEB_BYTES_MAX];
    size_t n = 0;
    for (; v > 0x7f; v >>= 7)
        bytes[n++] = (char)(v | 0x80);
    bytes[n++] = (char)v;
    buf_put(b, bytes, n);
}

/* Takes a number from the front of *from; false, with *from and *ret_v as they were, if there is
 * none up to max. */
static inline bool leb_take(struct str *from, uint64_t max, uint64_t *ret_v)
{
    uint64_t v = 0;
    for (size_t i = 0; i < from->n && i < LEB_BYTES_MAX; i++) {
        unsigned char c = (unsigned char)from->s[i];
        if (i == LEB_BYTES_MAX - 1 && c > 1) /* the tenth byte holds the last bit of 64 */
            return false;
        v |= (uint64_t)(c & 0x7f) << (7 * i);
        if (c & 0x80)
            continue;
        if ((c == 0 && i > 0) || v > max)
            return false;
        from->s += i + 1;
        from->n -= i + 1;
        *ret_v = v;
        return true;
    }
    return false;
}

#endif
