/* str.h - text slices and a growing byte buffer */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str { /* borrowed bytes, not NUL-terminated */
    const char *s;
    size_t n;
};

static inline struct str str_of(const char *s)
{
    return (struct str){s, s ? strlen(s) : 0};
}
static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}
static inline bool str_is(struct str a, const char *b)
{
    return str_eq(a, str_of(b));
}
/* memcmp order, shorter first on a tie. */
int str_cmp(struct str a, struct str b);

struct buf { /* all-zero is a valid empty buffer; data is NUL-terminated whenever data != NULL */
    char *data;
    size_t len, cap;
};

void buf_done(struct buf *b);
void buf_clear(struct buf *b);
void buf_reserve(struct buf *b, size_t more);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_u64(struct buf *b, uint64_t v); /* decimal */
void buf_i64(struct buf *b, int64_t v);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The bytes become the caller's (free with free()); the buffer is empty again.  Never NULL. */
char *buf_take(struct buf *b, size_t *ret_len);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->data ? b->data : "", b->len};
}
static inline void buf_scope_end(struct buf *b)
{
    buf_done(b);
}
#define SCOPED_BUF(name) __attribute__((cleanup(buf_scope_end))) struct buf name = {0}

#endif
