/* import_expr.c - what the translators of conditions share: errors, texts, the check at the end */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_expr_i.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "template/expr.h"

enum {
    PIECES_BYTES = 8 * 1024 * 1024, /* of all pieces made on the way */
    PLACE_MAX = 96,                 /* of a place in a message */
};

int translator_init(struct translator *t, struct str in, struct err *e)
{
    *t = (struct translator){.in = in, .e = e};
    arena_init(&t->scratch);
    if (in.n > IMPORT_MAX_CONDITION)
        return translator_fail(t, 0, ERR_LIMIT, "%zu bytes, %d is the limit of a condition", in.n,
                               IMPORT_MAX_CONDITION);
    if (in.n && (memchr(in.s, '\0', in.n) || !text_utf8_valid(in.s, in.n)))
        return translator_fail(t, 0, ERR_SYNTAX, "a condition is UTF-8 text without NUL");
    return 0;
}

int translator_fail(struct translator *t, uint32_t pos, enum errcode code, const char *fmt, ...)
{
    char text[sizeof t->e->text];
    size_t line = 1, begin = 0, column = 1;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[text_utf8_prefix(text, strlen(text))] = '\0';
    int rc = err_set(t->e, code, "%s", text);
    if (!t->e)
        return rc;
    for (size_t i = 0; i < pos && i < t->in.n; i++)
        if (t->in.s[i] == '\n') {
            line++;
            begin = i + 1;
        }
    for (size_t i = begin; i < pos && i < t->in.n; i++)
        column += ((unsigned char)t->in.s[i] & 0xC0) != 0x80; /* characters, not bytes */
    (void)err_at(t->e, "%zu:%zu", line, column);
    if (begin < t->in.n && text_utf8_valid(t->in.s, t->in.n))
        (void)err_line(t->e, t->in.s + begin, t->in.n - begin);
    return rc;
}

int translator_enter(struct translator *t, uint32_t pos)
{
    if (++t->depth <= IMPORT_MAX_NESTING)
        return 0;
    return translator_fail(t, pos, ERR_LIMIT, "nested more than %d levels deep, which is the limit",
                           IMPORT_MAX_NESTING);
}

void translator_fill(struct buf *out, const char *pattern, const struct str *args, size_t n)
{
    size_t used = 0;
    for (const char *c = pattern; *c; c++) {
        if (*c != '@') {
            buf_putc(out, *c);
            continue;
        }
        assert(used < n);
        buf_put(out, args[used].s, args[used].n);
        used++;
    }
    assert(used == n);
}

struct str translator_make(struct translator *t, const char *pattern, const struct str *args,
                           size_t n)
{
    SCOPED_BUF(out);
    if (t->scratch.total_bytes > PIECES_BYTES) /* translator_finish() refuses it */
        return str_of("");
    translator_fill(&out, pattern, args, n);
    return (struct str){arena_strndup(&t->scratch, buf_str(&out).s, out.len), out.len};
}

int translator_int(struct translator *t, uint32_t pos, struct str digits, struct str *ret_s)
{
    static const char most[] = "9223372036854775807";
    while (digits.n > 1 && digits.s[0] == '0')
        digits = (struct str){digits.s + 1, digits.n - 1};
    if (digits.n > sizeof most - 1 ||
        (digits.n == sizeof most - 1 && memcmp(digits.s, most, digits.n) > 0))
        return translator_fail(t, pos, ERR_INVALID, "an integer that does not fit 64 bits");
    *ret_s = digits;
    return 0;
}

struct str translator_quote(struct translator *t, struct str s)
{
    SCOPED_BUF(out);
    buf_putc(&out, '\'');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c == '\'' || c == '\\')
            buf_printf(&out, "\\%c", c);
        else if (c == '\n')
            buf_puts(&out, "\\n");
        else if (c == '\t')
            buf_puts(&out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            buf_printf(&out, "\\x%02x", c);
        else
            buf_putc(&out, (char)c);
    }
    buf_putc(&out, '\'');
    return translator_text(t, "@", buf_str(&out));
}

struct str translator_member(struct translator *t, struct str of, struct str key)
{
    bool name = key.n > 0 && !(key.s[0] >= '0' && key.s[0] <= '9');
    for (size_t i = 0; i < key.n && name; i++) {
        char c = key.s[i];
        name = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    }
    if (name)
        return translator_text(t, "@.@", of, key);
    return translator_text(t, "@[@]", of, translator_quote(t, key));
}

struct str translator_hold(struct translator *t, struct str s, enum level level, enum level least)
{
    return level >= least ? s : translator_text(t, "(@)", s);
}

int translator_finish(struct translator *t, struct arena *a, struct str expr, struct str *ret_expr)
{
    const struct expr *x;
    struct err why = {0};
    if (t->scratch.total_bytes > PIECES_BYTES)
        return translator_fail(t, 0, ERR_LIMIT, "the condition is too complex");
    if (expr_compile(&t->scratch, expr, NULL, &x, &why) < 0)
        return translator_fail(t, 0, why.code == ERR_LIMIT ? ERR_LIMIT : ERR_INVALID,
                               "what it becomes is no expression: %.*s: %.*s", PLACE_MAX, why.at,
                               PLACE_MAX, why.text);
    *ret_expr = (struct str){arena_strndup(a, expr.s, expr.n), expr.n};
    return 0;
}
