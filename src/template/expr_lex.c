/* expr_lex.c - expressions to tokens, tokens to literals, and places to people
 *
 * The whole text is cut at once: an expression is short, and a parser that can look at any token is
 * simple.  Numbers are those of Jinja2: 1_000, 0x1f, 0o17, 0b1, 1.5, 1e3; no .5 and no 5.
 * Escapes in strings are Python's, so that an unknown one stands for itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdio.h>

#include "base/text.h"

/* --- errors --- */

int expr_shown(struct str s)
{
    enum { MOST = 100 };
    return (int)text_utf8_prefix(s.s, s.n < MOST ? s.n : MOST);
}

static size_t characters(const char *s, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xC0) != 0x80;
    return count;
}

int expr_point(const struct source_text *src, uint32_t pos, int code, struct err *e)
{
    enum { BEFORE = 60 };
    struct str t = src->text;
    size_t begin = pos, line = src->origin.line ? src->origin.line : 1, column;
    char hint[sizeof e->hint];

    if (!e)
        return code;
    while (begin && t.s[begin - 1] != '\n')
        begin--;
    column = characters(t.s + begin, pos - begin) + 1;
    if (begin == 0 && src->origin.column)
        column += src->origin.column - 1;
    for (size_t i = 0; i < begin; i++)
        line += t.s[i] == '\n';
    if (src->origin.file)
        (void)err_at(e, "%s:%zu:%zu", src->origin.file, line, column);
    else
        (void)err_at(e, "%zu:%zu", line, column);
    size_t from = pos - begin > BEFORE ? pos - BEFORE : begin;
    while (from > begin && ((unsigned char)t.s[from] & 0xC0) == 0x80)
        from--;
    (void)err_line(e, t.s + from, t.n - from);
    /* err_format() sets the line in by four and the hint by two. */
    snprintf(hint, sizeof hint, "%s", e->hint);
    (void)err_hint(e, "  %*s^%s%s", (int)characters(t.s + from, pos - from), "", hint[0] ? " " : "",
                   hint);
    return code;
}

static int lex_wrong(const struct source_text *src, size_t pos, const char *what, struct err *e)
{
    return expr_point(src, (uint32_t)pos, err_set(e, ERR_SYNTAX, "%s", what), e);
}

/* --- tokens --- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

static bool digit_of(char c, unsigned base)
{
    unsigned d = is_digit(c) ? (unsigned)(c - '0') : (unsigned)(c | 0x20) - 'a' + 10;
    return d < base && (is_digit(c) || (c | 0x20) >= 'a');
}

/* Digits with single underscores between them, from `at`; where they end. */
static size_t digits_end(struct str t, size_t at, unsigned base)
{
    while (at < t.n && digit_of(t.s[at], base)) {
        at++;
        if (at + 1 < t.n && t.s[at] == '_' && digit_of(t.s[at + 1], base))
            at++;
    }
    return at;
}

static unsigned base_of(struct str t, size_t at)
{
    static const struct {
        char letter;
        unsigned base;
    } bases[] = {{'b', 2}, {'o', 8}, {'x', 16}};
    if (at + 2 < t.n && t.s[at] == '0')
        for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
            if ((t.s[at + 1] | 0x20) == bases[i].letter && digit_of(t.s[at + 2], bases[i].base))
                return bases[i].base;
    return 10;
}

/* Behind a dot a number is an index: in a.0.1 nothing is a fraction. */
static struct token lex_number(struct str t, size_t at)
{
    struct token token = {TOKEN_INT, (uint32_t)at, 0};
    unsigned base = base_of(t, at);
    size_t end = base == 10 ? digits_end(t, at, 10) : digits_end(t, at + 2, base);

    if (base == 10 && !(at && t.s[at - 1] == '.')) {
        size_t behind = end;
        if (end + 1 < t.n && t.s[end] == '.' && is_digit(t.s[end + 1])) {
            behind = digits_end(t, end + 1, 10);
            token.kind = TOKEN_REAL;
        }
        size_t power = behind + 1;
        power += power < t.n && (t.s[power] == '+' || t.s[power] == '-');
        if (behind < t.n && (t.s[behind] | 0x20) == 'e' && power < t.n && is_digit(t.s[power])) {
            behind = digits_end(t, power, 10);
            token.kind = TOKEN_REAL;
        }
        end = behind;
    }
    token.n = (uint32_t)(end - at);
    return token;
}

static int lex_string(const struct source_text *src, size_t at, struct token *ret, struct err *e)
{
    struct str t = src->text;
    size_t i = at + 1;
    while (i < t.n && t.s[i] != t.s[at])
        i += t.s[i] == '\\' ? 2 : 1;
    if (i >= t.n)
        return lex_wrong(src, at, "a string that is never closed", e);
    *ret = (struct token){TOKEN_STRING, (uint32_t)at, (uint32_t)(i + 1 - at)};
    return 0;
}

static int lex_mark(const struct source_text *src, size_t at, struct token *ret, struct err *e)
{
    static const char *const marks[TOKEN_COUNT] = {
#define X(id, text) [TOKEN_##id] = text,
        EXPR_MARKS(X)
#undef X
    };
    struct str t = {src->text.s + at, src->text.n - at};
    for (size_t k = 0; k < TOKEN_COUNT; k++) {
        size_t n = marks[k] ? strlen(marks[k]) : 0;
        if (n && n <= t.n && memcmp(t.s, marks[k], n) == 0) {
            *ret = (struct token){(uint8_t)k, (uint32_t)at, (uint32_t)n};
            return 0;
        }
    }
    size_t one = 1; /* character, which is whole */
    while (one < t.n && ((unsigned char)t.s[one] & 0xC0) == 0x80)
        one++;
    int code = err_set(e, ERR_SYNTAX, "unexpected '%.*s'", (int)one, t.s);
    if (t.s[0] == '&' || t.s[0] == '!')
        (void)err_hint(e, "write \"and\", \"or\" and \"not\"");
    else if ((unsigned char)t.s[0] >= 0x80)
        (void)err_hint(e, "a key with such letters is written [\"...\"]");
    return expr_point(src, (uint32_t)at, code, e);
}

int expr_lex(const struct source_text *src, tokens_v *ret_tokens, struct err *e)
{
    struct str t = src->text;
    size_t valid = text_utf8_prefix(t.s, t.n);
    if (valid < t.n)
        return lex_wrong(src, valid, "a byte that is not UTF-8", e);
    for (size_t at = 0; at < t.n;) {
        char c = t.s[at];
        struct token token;
        int rc = 0;
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
            at++;
            continue;
        }
        if ((unsigned char)c < 0x20 || c == 0x7F) {
            return lex_wrong(src, at, "a control character", e);
        } else if (is_digit(c)) {
            token = lex_number(t, at);
        } else if (is_name(c)) {
            size_t end = at;
            while (end < t.n && is_name(t.s[end]))
                end++;
            token = (struct token){TOKEN_NAME, (uint32_t)at, (uint32_t)(end - at)};
        } else if (c == '"' || c == '\'') {
            rc = lex_string(src, at, &token, e);
        } else {
            rc = lex_mark(src, at, &token, e);
        }
        if (rc < 0)
            return rc;
        vec_push(ret_tokens, token);
        at += token.n;
    }
    vec_push(ret_tokens, ((struct token){TOKEN_END, (uint32_t)t.n, 0}));
    return 0;
}

/* --- literals --- */

int expr_lex_number(const struct source_text *src, const struct token *t, struct value *ret_v,
                    struct err *e)
{
    struct str s = {src->text.s + t->pos, t->n};
    int64_t i;
    if (t->kind == TOKEN_REAL) {
        *ret_v = (struct value){.kind = VALUE_REAL};
        if (!chars_read_real(s, &ret_v->r))
            return lex_wrong(src, t->pos, "a number too large for a double", e);
        return 0;
    }
    if (s.n > 1 && s.s[0] == '0' && is_digit(s.s[1])) {
        for (size_t k = 0; k < s.n; k++)
            if (s.s[k] != '0' && s.s[k] != '_')
                return lex_wrong(src, t->pos, "a number with a needless 0 in front", e);
    }
    switch (chars_read_int(s, 0, &i)) {
    case READ_INT_OK: break;
    case READ_INT_NONE: /* the lexer lets through what can be read */
    case READ_INT_LARGE: return lex_wrong(src, t->pos, "an integer that does not fit 64 bits", e);
    }
    *ret_v = (struct value){.kind = VALUE_INT, .i = i};
    return 0;
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \xHH \uHHHH \UHHHHHHHH; p is at the letter.  What follows, or NULL. */
static const char *unescape_hex(struct buf *out, const char *p, const char *end)
{
    int digits = *p == 'x' ? 2 : *p == 'u' ? 4 : 8;
    uint64_t c = 0;
    if (end - p <= digits)
        return NULL;
    for (int i = 1; i <= digits; i++) {
        int d = hex_value(p[i]);
        if (d < 0)
            return NULL;
        c = c << 4 | (unsigned)d;
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
        return NULL;
    chars_put(out, (uint32_t)c);
    return p + digits + 1;
}

static const char *unescape_octal(struct buf *out, const char *p, const char *end)
{
    uint32_t c = 0;
    for (int i = 0; i < 3 && p < end && *p >= '0' && *p <= '7'; i++)
        c = c * 8 + (uint32_t)(*p++ - '0');
    chars_put(out, c);
    return p;
}

int expr_lex_string(const struct source_text *src, const struct token *t, struct buf *out,
                    struct err *e)
{
    static const char letters[] = "abfnrtv\\'\"", meant[] = "\a\b\f\n\r\t\v\\'\"";
    const char *p = src->text.s + t->pos + 1, *end = src->text.s + t->pos + t->n - 1;
    while (p < end) {
        if (*p != '\\') {
            buf_putc(out, *p++);
            continue;
        }
        const char *slash = p++;
        const char *simple = *p ? strchr(letters, *p) : NULL;
        if (simple) {
            buf_putc(out, meant[simple - letters]);
            p++;
        } else if (*p == '\n') {
            p++;
        } else if (*p == 'x' || *p == 'u' || *p == 'U') {
            p = unescape_hex(out, p, end);
            if (!p)
                return lex_wrong(src, (size_t)(slash - src->text.s),
                                 "an escape that is no character", e);
        } else if (*p >= '0' && *p <= '7') {
            p = unescape_octal(out, p, end);
        } else {
            buf_putc(out, '\\');
        }
    }
    return 0;
}
