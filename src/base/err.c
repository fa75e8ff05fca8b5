/* err.c - fixed buffers, so that reporting an error can never fail
 *
 * Every text is formatted aside first and then copied: arguments may point into the very err that
 * is being changed, as in err_set(e, code, "%s (was: %s)", what, e->text).  What does not fit is
 * cut at a character's edge.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8_i.h"

static void field_set(char *field, size_t size, const char *s, size_t n)
{
    n = utf8_cut(s, n, size - 1);
    memmove(field, s, n);
    field[n] = '\0';
}

/* vsnprintf whose result is cut at a character's edge; returns the length written. */
__attribute__((format(printf, 3, 0))) static size_t field_format(char *field, size_t size,
                                                                 const char *fmt, va_list ap)
{
    int n = vsnprintf(field, size, fmt, ap);
    if (n < 0) {
        field[0] = '\0';
        return 0;
    }
    if ((size_t)n < size)
        return (size_t)n;
    /* The byte that was cut off is unknown: a tail that starts a sequence but does not end is
     * dropped. */
    size_t len = size - 1, back = 1;
    while (back < 4 && back < len && ((unsigned char)field[len - back] & 0xC0) == 0x80)
        back++;
    if ((unsigned char)field[len - back] >= 0xC0 && !utf8_sequence(field + len - back, back))
        len -= back;
    field[len] = '\0';
    return len;
}

int err_set(struct err *e, enum errcode code, const char *fmt, ...)
{
    assert(code > ERR_NONE && code < ERR_COUNT);
    if (!e)
        return -(int)code;
    char text[sizeof e->text];
    va_list ap;
    va_start(ap, fmt);
    size_t n = field_format(text, sizeof text, fmt, ap);
    va_end(ap);
    err_clear(e);
    e->code = code;
    memcpy(e->text, text, n + 1);
    return -(int)code;
}

int err_sys(struct err *e, enum errcode code, int sys, const char *fmt, ...)
{
    assert(code > ERR_NONE && code < ERR_COUNT);
    if (!e)
        return -(int)code;
    char text[sizeof e->text], why[128];
    va_list ap;
    va_start(ap, fmt);
    size_t n = field_format(text, sizeof text, fmt, ap);
    va_end(ap);
    err_clear(e);
    e->code = code;
    e->sys = sys;
    memcpy(e->text, text, n + 1);
    if (sys) {
        const char *reason = strerror_r(sys, why, sizeof why); /* the GNU form: returns the text */
        size_t room = sizeof e->text - n;
        if (room > 2) {
            memcpy(e->text + n, ": ", 3);
            field_set(e->text + n + 2, room - 2, reason, strlen(reason));
        }
    }
    return -(int)code;
}

/* What an addition returns.  Without an err the code is not known, and success it must not look
 * like. */
static int code_of(const struct err *e)
{
    return e && e->code ? -(int)e->code : -(int)ERR_INTERNAL;
}

int err_at(struct err *e, const char *fmt, ...)
{
    if (e) {
        char at[sizeof e->at];
        va_list ap;
        va_start(ap, fmt);
        size_t n = field_format(at, sizeof at, fmt, ap);
        va_end(ap);
        memcpy(e->at, at, n + 1);
    }
    return code_of(e);
}

int err_hint(struct err *e, const char *fmt, ...)
{
    if (e) {
        char hint[sizeof e->hint];
        va_list ap;
        va_start(ap, fmt);
        size_t n = field_format(hint, sizeof hint, fmt, ap);
        va_end(ap);
        memcpy(e->hint, hint, n + 1);
    }
    return code_of(e);
}

int err_line(struct err *e, const char *line, size_t n)
{
    if (!e)
        return code_of(e);
    char out[sizeof e->line];
    size_t at = 0, i = 0;
    while (i < n && line[i] != '\n') {
        size_t len = utf8_sequence(line + i, n - i);
        bool plain = len > 1 || (len == 1 && (unsigned char)line[i] >= 0x20 && line[i] != 0x7F);
        size_t put = plain ? len : 1;
        if (at + put >= sizeof out)
            break;
        if (plain)
            memcpy(out + at, line + i, len);
        else if (line[i] == '\r' && (i + 1 == n || line[i + 1] == '\n'))
            break; /* the line end of CRLF text */
        else
            out[at] = line[i] == '\t' ? ' ' : '?'; /* a source line must not drive the terminal */
        at += put;
        i += plain ? len : 1;
    }
    memcpy(e->line, out, at);
    e->line[at] = '\0';
    return code_of(e);
}

int err_wrap(struct err *e, const char *fmt, ...)
{
    if (e) {
        char text[sizeof e->text];
        va_list ap;
        va_start(ap, fmt);
        size_t n = field_format(text, sizeof text, fmt, ap);
        va_end(ap);
        if (n + 2 < sizeof text) {
            memcpy(text + n, ": ", 3);
            n += 2;
            field_set(text + n, sizeof text - n, e->text, strlen(e->text));
        }
        memcpy(e->text, text, sizeof text);
    }
    return code_of(e);
}

void err_clear(struct err *e)
{
    if (!e)
        return;
    e->code = ERR_NONE;
    e->sys = 0;
    e->at[0] = e->text[0] = e->line[0] = e->hint[0] = '\0';
}

struct err_row {
    const char *name;
    int http, exit;
};
static const struct err_row err_rows[ERR_COUNT] = {[ERR_NONE] = {"none", 200, 0},
#define X(id, name, http, exit) [id] = {name, http, exit},
                                                   ERR_TABLE(X)
#undef X
};

static const struct err_row *err_row(enum errcode code)
{
    return (unsigned)code < ERR_COUNT ? &err_rows[code] : &err_rows[ERR_INTERNAL];
}

const char *err_name(enum errcode code)
{
    return err_row(code)->name;
}

int err_http(enum errcode code)
{
    return err_row(code)->http;
}

int err_exit(enum errcode code)
{
    return err_row(code)->exit;
}

char *err_format(const struct err *e, char *buf, size_t n)
{
    char whole[sizeof *e + 16];
    if (n == 0)
        return buf;
    if (!e) {
        buf[0] = '\0';
        return buf;
    }
    int len = snprintf(whole, sizeof whole, "%s%s%s%s%s%s%s", e->at, e->at[0] ? ": " : "", e->text,
                       e->line[0] ? "\n    " : "", e->line, e->hint[0] ? "\n  " : "", e->hint);
    field_set(buf, n, whole, len > 0 ? (size_t)len : 0);
    return buf;
}
