/* http_path.c - paths and queries from names that may hold anything
 *
 * A name is data: "a/b", "..", "%2e" or "x?y" must stay one segment.  Encoding happens here and
 * nowhere else; a path that was built by these functions is sent as it is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

static bool unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("-._~@", c));
}

static void path_escape(struct buf *b, const char *s)
{
    static const char digits[] = "0123456789ABCDEF";
    /* A segment of dots only would be folded away by whoever normalises the path. */
    bool dots = *s && strspn(s, ".") == strlen(s);
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (unreserved(c) && !(dots && c == '.')) {
            buf_putc(b, (char)c);
        } else {
            buf_putc(b, '%');
            buf_putc(b, digits[c >> 4]);
            buf_putc(b, digits[c & 15]);
        }
    }
}

char *http_path(struct arena *a, const char *fmt, ...)
{
    SCOPED_BUF(b);
    va_list ap;
    va_start(ap, fmt);
    for (const char *p = fmt; *p; p++) {
        if (*p != '%') {
            buf_putc(&b, *p);
            continue;
        }
        p++;
        assert(*p == 's');
        path_escape(&b, va_arg(ap, const char *));
    }
    va_end(ap);
    return arena_strndup(a, buf_str(&b).s, b.len);
}

void http_query(struct buf *path, const char *key, const char *value)
{
    if (!value)
        return;
    buf_putc(path, path->data && strchr(path->data, '?') ? '&' : '?');
    path_escape(path, key);
    buf_putc(path, '=');
    path_escape(path, value);
}
