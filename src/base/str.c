/* str.c - slices in order, and the growing buffer that every writer appends to */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.s, b.s, n) : 0;
    if (c)
        return c;
    return (a.n > b.n) - (a.n < b.n);
}

void buf_done(struct buf *b)
{
    free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more)
{
    size_t want;
    int over = __builtin_add_overflow(b->len, more, &want) || want == SIZE_MAX;
    assert(!over);
    if (want < b->cap) /* one byte is always kept for the NUL */
        return;
    size_t cap = b->cap;
    b->data = vec_grow_(b->data, &cap, want + 1, 1);
    b->cap = cap;
    b->data[b->len] = '\0';
}

void buf_put(struct buf *b, const void *p, size_t n)
{
    buf_reserve(b, n);
    if (n)
        memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = '\0';
}

void buf_puts(struct buf *b, const char *s)
{
    buf_put(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
    buf_reserve(b, 1);
    b->data[b->len++] = c;
    b->data[b->len] = '\0';
}

void buf_u64(struct buf *b, uint64_t v)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    buf_put(b, digits + at, sizeof digits - at);
}

void buf_i64(struct buf *b, int64_t v)
{
    if (v >= 0) {
        buf_u64(b, (uint64_t)v);
        return;
    }
    buf_putc(b, '-');
    buf_u64(b, 0 - (uint64_t)v); /* well defined for INT64_MIN too */
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list ap;
    buf_reserve(b, 64);
    size_t room = b->cap - b->len;
    va_start(ap, fmt);
    int n = vsnprintf(b->data + b->len, room, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n >= room) {
        buf_reserve(b, (size_t)n);
        va_start(ap, fmt);
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
        va_end(ap);
    }
    b->len += (size_t)n;
}

char *buf_take(struct buf *b, size_t *ret_len)
{
    if (!b->data)
        buf_reserve(b, 0);
    char *data = b->data;
    if (ret_len)
        *ret_len = b->len;
    *b = (struct buf){0};
    return data;
}
