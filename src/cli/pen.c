/* pen.c - lines that fit */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/term_i.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static int pen_room(const struct pen *p)
{
    return p->look->columns ? p->look->columns - p->used : INT_MAX;
}

void pen_put(struct pen *p, enum style style, const char *fmt, ...)
{
    SCOPED_BUF(clean);
    char *text = NULL;
    va_list ap;
    va_start(ap, fmt);
    int n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0)
        abort();
    term_clean(&clean, text, (size_t)n, 0);
    free(text);
    if (!clean.len || pen_room(p) <= 0)
        return;
    int width = term_width(clean.data, clean.len);
    if (width > pen_room(p)) {
        size_t fits = term_fit(clean.data, clean.len, pen_room(p) - 1);
        clean.len = fits;
        buf_puts(&clean, p->look->utf8 ? "\u2026" : "~");
        width = pen_room(p);
    }
    p->used += width;
    term_styled(p->b, p->look, style, clean.data);
}

void pen_to(struct pen *p, int column)
{
    int n = column > p->used ? column - p->used : 1;
    if (n > pen_room(p))
        n = pen_room(p);
    term_spaces(p->b, n);
    p->used += n > 0 ? n : 0;
}

void pen_bar(struct pen *p, int width, int64_t done, int64_t failed, int64_t total)
{
    if (width > pen_room(p))
        width = pen_room(p);
    if (width < 3)
        return;
    term_bar(p->b, p->look, width, done, failed, total);
    p->used += width;
}

void pen_end(struct pen *p)
{
    buf_putc(p->b, '\n');
    p->used = 0;
}
