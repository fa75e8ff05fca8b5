/* yaml_write.c - values to YAML in block style
 *
 * A string stays unquoted only if the reader would give the same string back; several lines become
 * a literal block where that is exact; everything else is double-quoted, with escapes.  What is not
 * UTF-8 becomes U+FFFD, as in JSON.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/number_i.h"
#include "base/utf8_i.h"
#include "base/value_i.h"
#include "base/yaml_i.h"

struct yaml_out_level {
    const struct value *v;
    uint32_t next;
    uint32_t indent; /* column of its keys or dashes */
};
struct yaml_out {
    struct buf *b;
    VEC(struct yaml_out_level) open;
};

enum { IMPLICIT_KEY_MAX = 1000 }; /* longer keys need "? "; the specification allows 1024 */

/* --- strings --- */

/* Characters that are shown as they are: no control, no separator that YAML 1.1 took for a line
 * end, no byte order mark, no noncharacter. */
static bool is_printable(uint32_t c)
{
    return (c >= 0x20 && c < 0x7F) ||
           (c >= 0xA0 && c != 0x2028 && c != 0x2029 && c != 0xFEFF && c != 0xFFFE && c != 0xFFFF);
}

static bool is_clean(struct str s, bool lines)
{
    for (size_t i = 0; i < s.n;) {
        size_t len = utf8_sequence(s.s + i, s.n - i);
        if (len == 0)
            return false;
        if (!is_printable(utf8_decode(s.s + i, len)) && !(lines && s.s[i] == '\n'))
            return false;
        i += len;
    }
    return true;
}

static bool is_plain(struct str s)
{
    struct value ignored = {0};
    if (s.n == 0 || s.s[0] == ' ' || s.s[s.n - 1] == ' ' || !is_clean(s, false))
        return false;
    if (strchr(",[]{}#&*!|>'\"%@`", s.s[0]))
        return false;
    if (strchr("-?:", s.s[0]) && (s.n == 1 || s.s[1] == ' '))
        return false;
    if (str_is(s, "<<") || (s.n >= 3 && (!memcmp(s.s, "---", 3) || !memcmp(s.s, "...", 3))))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        if (c == ':' && (i + 1 == s.n || s.s[i + 1] == ' '))
            return false;
        if (c == '#' && i && s.s[i - 1] == ' ')
            return false;
    }
    return yaml_plain_resolve(s, &ignored) == VALUE_STRING;
}

static void put_escaped(struct buf *b, uint32_t c)
{
    switch (c) {
    case '"': buf_put(b, "\\\"", 2); return;
    case '\\': buf_put(b, "\\\\", 2); return;
    case '\0': buf_put(b, "\\0", 2); return;
    case '\n': buf_put(b, "\\n", 2); return;
    case '\r': buf_put(b, "\\r", 2); return;
    case '\t': buf_put(b, "\\t", 2); return;
    default: break;
    }
    if (c < 0x100)
        buf_printf(b, "\\x%02x", (unsigned)c);
    else
        buf_printf(b, "\\u%04x", (unsigned)c);
}

static void put_quoted(struct buf *b, struct str s)
{
    buf_reserve(b, s.n + 2);
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n;) {
        size_t len = utf8_sequence(s.s + i, s.n - i);
        if (len == 0) {
            buf_put(b, UTF8_REPLACEMENT, 3);
            i++;
            continue;
        }
        uint32_t c = utf8_decode(s.s + i, len);
        if (c == '"' || c == '\\' || !is_printable(c))
            put_escaped(b, c);
        else
            buf_put(b, s.s + i, len);
        i += len;
    }
    buf_putc(b, '"');
}

static void put_indent(struct buf *b, uint32_t n)
{
    buf_reserve(b, n);
    memset(b->data + b->len, ' ', n);
    b->len += n;
    b->data[b->len] = '\0';
}

/* Lines that a literal block gives back exactly: clean, not starting with a space or an empty line
 * (from which the reader would guess the indentation), with at least one visible line. */
static bool is_block(struct str s)
{
    return s.n > 1 && memchr(s.s, '\n', s.n) && s.s[0] != ' ' && s.s[0] != '\n' &&
           is_clean(s, true);
}

static void put_block(struct buf *b, struct str s, uint32_t indent)
{
    bool ends = s.s[s.n - 1] == '\n';
    bool keep = ends && s.s[s.n - 2] == '\n';
    buf_puts(b, keep ? "|+\n" : ends ? "|\n" : "|-\n");
    size_t i = 0;
    while (i < s.n) {
        const char *nl = memchr(s.s + i, '\n', s.n - i);
        size_t n = nl ? (size_t)(nl - s.s) - i : s.n - i;
        if (n) {
            put_indent(b, indent);
            buf_put(b, s.s + i, n);
        }
        buf_putc(b, '\n');
        i += n + 1;
    }
}

static void put_key(struct buf *b, struct str key)
{
    size_t from = b->len;
    if (is_plain(key))
        buf_put(b, key.s, key.n);
    else
        put_quoted(b, key);
    if (b->len - from > IMPLICIT_KEY_MAX) {
        SCOPED_BUF(long_key);
        buf_put(&long_key, b->data + from, b->len - from);
        b->len = from;
        buf_puts(b, "? ");
        buf_put(b, long_key.data, long_key.len);
        buf_putc(b, '\n');
    }
}

/* --- trees --- */

/* A scalar or an empty container, with the end of its line. */
static void put_leaf(struct buf *b, const struct value *v, uint32_t indent)
{
    struct str s = value_as_str(v);
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: buf_puts(b, "null"); break;
    case VALUE_BOOL: buf_puts(b, v->b ? "true" : "false"); break;
    case VALUE_INT: buf_i64(b, v->i); break;
    case VALUE_REAL: number_write(b, v->r); break;
    case VALUE_STRING:
        if (indent && is_block(s)) {
            put_block(b, s, indent);
            return;
        }
        if (is_plain(s))
            buf_put(b, s.s, s.n);
        else
            put_quoted(b, s);
        break;
    case VALUE_LIST: buf_puts(b, "[]"); break;
    case VALUE_MAP: buf_puts(b, "{}"); break;
    case VALUE_KIND_COUNT: assert(!"a value of no kind");
    }
    buf_putc(b, '\n');
}

static bool is_branch(const struct value *v)
{
    return (v->kind == VALUE_LIST || v->kind == VALUE_MAP) && v->n;
}

/* The next child of the innermost container; the line's indentation is not written yet unless the
 * container started on a line of its parent. */
static void yaml_out_child(struct yaml_out *w)
{
    struct yaml_out_level *l = &w->open.at[w->open.n - 1];
    uint32_t i = l->next++, indent = l->indent;
    bool at_line_start = w->b->len == 0 || w->b->data[w->b->len - 1] == '\n';
    const struct value *v;
    if (at_line_start)
        put_indent(w->b, indent);
    if (l->v->kind == VALUE_LIST) {
        v = &l->v->items[i];
        buf_put(w->b, "- ", 2); /* a container goes on behind the dash */
        if (is_branch(v)) {
            vec_push(&w->open, ((struct yaml_out_level){v, 0, indent + 2}));
            return;
        }
    } else {
        const struct member *m = &l->v->members[i];
        v = &m->v;
        put_key(w->b, member_key(m));
        if (w->b->data[w->b->len - 1] == '\n')
            put_indent(w->b, indent);
        buf_putc(w->b, ':');
        if (is_branch(v)) {
            buf_putc(w->b, '\n');
            vec_push(&w->open, ((struct yaml_out_level){v, 0, indent + 2}));
            return;
        }
        buf_putc(w->b, ' ');
    }
    put_leaf(w->b, v, indent + 2);
}

void yaml_write(struct buf *b, const struct value *v)
{
    static const struct value null_value = {.kind = VALUE_NULL};
    struct yaml_out w = {.b = b};
    if (!v)
        v = &null_value;
    if (!is_branch(v)) {
        put_leaf(b, v, 0);
        return;
    }
    vec_push(&w.open, ((struct yaml_out_level){v, 0, 0}));
    while (w.open.n) {
        const struct yaml_out_level *l = &w.open.at[w.open.n - 1];
        if (l->next == l->v->n)
            w.open.n--;
        else
            yaml_out_child(&w);
    }
    vec_done(&w.open);
}
