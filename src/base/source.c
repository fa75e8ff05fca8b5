/* source.c - from a byte offset to what a person needs to find it
 *
 * Runs only when something is wrong, so it scans from the start instead of asking every reader to
 * keep count.  A long line, as of JSON written without line breaks, is shown as the part around the
 * fault.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/source_i.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8_i.h"

static size_t line_begin_of(const struct source *s, size_t pos)
{
    while (pos > 0 && s->text[pos - 1] != '\n')
        pos--;
    return pos;
}

void source_locate(const struct source *s, size_t pos, size_t *ret_line, size_t *ret_column)
{
    size_t line = 1, column = 1, begin = line_begin_of(s, pos);
    const char *p = s->text, *end = s->text + begin;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        line++;
        p++;
    }
    for (size_t i = begin; i < pos; i++)
        column += ((unsigned char)s->text[i] & 0xC0) != 0x80;
    *ret_line = line;
    *ret_column = column;
}

int source_point(const struct source *s, size_t pos, struct err *e)
{
    enum { BEFORE = 80, AHEAD = 100 };
    if (!e)
        return -(int)ERR_INTERNAL;
    if (pos > s->n)
        pos = s->n;
    size_t line, column, begin = line_begin_of(s, pos);
    source_locate(s, pos, &line, &column);
    if (s->name)
        err_at(e, "%s:%zu:%zu", s->name, line, column);
    else
        err_at(e, "%zu:%zu", line, column);
    if (pos - begin <= AHEAD)
        return err_line(e, s->text + begin, s->n - begin);
    char part[sizeof e->line + 8] = "...";
    size_t from = pos - BEFORE;
    while (from < pos && ((unsigned char)s->text[from] & 0xC0) == 0x80)
        from++;
    size_t n = s->n - from < sizeof part - 3 ? s->n - from : sizeof part - 3;
    memcpy(part + 3, s->text + from, n);
    return err_line(e, part, n + 3);
}

const char *source_found(const struct source *s, size_t pos, char ret[32])
{
    if (pos >= s->n) {
        snprintf(ret, 32, "end of text");
        return ret;
    }
    unsigned char c = (unsigned char)s->text[pos];
    size_t len = utf8_sequence(s->text + pos, s->n - pos);
    if (len == 0 || c < 0x20 || c == 0x7F)
        snprintf(ret, 32, "byte 0x%02x", c);
    else
        snprintf(ret, 32, "'%.*s'", (int)len, s->text + pos);
    return ret;
}
