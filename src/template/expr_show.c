/* expr_show.c - values as text: Python's str() and repr(), and JSON as tojson writes it
 *
 * A text is written as it is, but quoted inside a list or map; true is True and null is None, since
 * that is what a template for Jinja2 expects to see.  Every visit is charged, and what is written
 * may not exceed the bytes that are left: shared parts are written as often as they are met.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

const char *show_kind(const struct value *v)
{
    static const char *const phrases[VALUE_KIND_COUNT] = {
        [VALUE_NULL] = "none",     [VALUE_BOOL] = "a boolean", [VALUE_INT] = "an integer",
        [VALUE_REAL] = "a number", [VALUE_STRING] = "text",    [VALUE_LIST] = "a list",
        [VALUE_MAP] = "a map",
    };
    return phrases[v->kind];
}

/* --- reals --- */

/* Digits without point, and where the point is: 0.00125 is "125" with point -2. */
static size_t real_digits(double r, char *digits, size_t size, int *ret_point)
{
    SCOPED_BUF(shortest);
    json_write(&shortest, &(struct value){.kind = VALUE_REAL, .r = r}, 0);
    size_t n = 0;
    int point = 0, power = 0;
    bool behind = false;
    for (const char *p = shortest.data; *p; p++) {
        if (*p == 'e') {
            power = (int)strtol(p + 1, NULL, 10);
            break;
        }
        if (*p == '.') {
            behind = true;
        } else if (*p >= '0' && *p <= '9' && (n || *p != '0')) {
            if (n < size)
                digits[n++] = *p;
            point += !behind;
        } else if (*p == '0' && behind) {
            point--;
        }
    }
    while (n && digits[n - 1] == '0')
        n--;
    *ret_point = point + power;
    return n;
}

static void put_zeros(struct buf *b, int n)
{
    for (int i = 0; i < n; i++)
        buf_putc(b, '0');
}

static void show_real(struct buf *b, double r)
{
    enum { FIXED_MAX = 16, FIXED_MIN = -3 };
    char digits[40];
    int point;
    size_t n = real_digits(r, digits, sizeof digits, &point);
    if (__builtin_signbit(r))
        buf_putc(b, '-');
    if (n == 0) {
        buf_puts(b, "0.0");
    } else if (point > FIXED_MAX || point < FIXED_MIN) {
        buf_putc(b, digits[0]);
        if (n > 1) {
            buf_putc(b, '.');
            buf_put(b, digits + 1, n - 1);
        }
        buf_printf(b, "e%c%02d", point > 0 ? '+' : '-', abs(point - 1));
    } else if (point <= 0) {
        buf_puts(b, "0.");
        put_zeros(b, -point);
        buf_put(b, digits, n);
    } else {
        size_t whole = n < (size_t)point ? n : (size_t)point;
        buf_put(b, digits, whole);
        put_zeros(b, point - (int)whole);
        buf_putc(b, '.');
        if (n > whole)
            buf_put(b, digits + whole, n - whole);
        else
            buf_putc(b, '0');
    }
}

/* --- texts --- */

static void repr_text(struct buf *b, struct str s)
{
    bool single = memchr(s.s, '\'', s.n) && !memchr(s.s, '"', s.n);
    char quote = single ? '"' : '\'';
    size_t len;
    buf_putc(b, quote);
    for (; s.n; s = (struct str){s.s + len, s.n - len}) {
        uint32_t c = chars_at(s, &len);
        if (c == (unsigned char)quote || c == '\\')
            buf_printf(b, "\\%c", (char)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            buf_printf(b, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (chars_is_printable(c))
            buf_put(b, s.s, len);
        else if (c < 0x100)
            buf_printf(b, "\\x%02x", c);
        else if (c < 0x10000)
            buf_printf(b, "\\u%04x", c);
        else
            buf_printf(b, "\\U%08x", c);
    }
    buf_putc(b, quote);
}

static void json_text(struct buf *b, struct str s)
{
    static const char named[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    size_t len;
    buf_putc(b, '"');
    for (; s.n; s = (struct str){s.s + len, s.n - len}) {
        uint32_t c = chars_at(s, &len);
        const char *simple = c && c < 0x80 ? strchr(named, (int)c) : NULL;
        /* What could end a script or an attribute in HTML is written as an escape, as is all that
         * is not ASCII. */
        bool plain = c >= 0x20 && c < 0x7F && c != '<' && c != '>' && c != '&' && c != '\'';
        if (simple)
            buf_printf(b, "\\%c", letters[simple - named]);
        else if (plain)
            buf_putc(b, (char)c);
        else if (c < 0x10000)
            buf_printf(b, "\\u%04x", c);
        else
            buf_printf(b, "\\u%04x\\u%04x", 0xD7C0 + (c >> 10), 0xDC00 + (c & 0x3FF));
    }
    buf_putc(b, '"');
}

/* --- trees --- */

struct writer {
    struct eval *ev;
    struct buf *b;
    bool json;
    uint32_t indent; /* of JSON; 0: in one line */
};

static int write_value(struct writer *w, const struct value *v, bool repr, unsigned depth);

static int write_budget(struct writer *w, const struct value *v)
{
    int rc = eval_steps_text(w->ev, v->kind == VALUE_STRING ? v->n : 0);
    if (rc < 0)
        return rc;
    /* A byte may become six, which is the most that a budget can be overrun by before this. */
    return eval_bytes(w->ev, w->b->len + (v->kind == VALUE_STRING ? v->n : 0));
}

static void write_break(struct writer *w, unsigned depth)
{
    if (!w->indent)
        return;
    buf_putc(w->b, '\n');
    for (size_t i = 0; i < (size_t)depth * w->indent; i++)
        buf_putc(w->b, ' ');
}

static void write_between(struct writer *w, uint32_t i, unsigned depth)
{
    if (i)
        buf_puts(w->b, w->indent ? "," : ", ");
    write_break(w, depth + 1);
}

static int write_list(struct writer *w, const struct value *v, unsigned depth)
{
    int rc = 0;
    buf_putc(w->b, '[');
    for (uint32_t i = 0; i < v->n && rc >= 0; i++) {
        write_between(w, i, depth);
        rc = write_value(w, &v->items[i], true, depth + 1);
    }
    if (v->n)
        write_break(w, depth);
    buf_putc(w->b, ']');
    return rc;
}

static int member_order(const void *pa, const void *pb)
{
    const struct member *const *a = pa, *const *b = pb;
    return str_cmp((struct str){(*a)->key, (*a)->key_n}, (struct str){(*b)->key, (*b)->key_n});
}

/* JSON has its keys sorted, repr() has them as they are. */
static int write_map(struct writer *w, const struct value *v, unsigned depth)
{
    int rc = eval_steps(w->ev, v->n);
    if (rc < 0)
        return rc;
    const struct member **order = xcalloc(v->n + 1, sizeof *order);
    for (uint32_t i = 0; i < v->n; i++)
        order[i] = &v->members[i];
    if (w->json)
        qsort(order, v->n, sizeof *order, member_order);
    buf_putc(w->b, '{');
    for (uint32_t i = 0; i < v->n && rc >= 0; i++) {
        struct str key = {order[i]->key, order[i]->key_n};
        write_between(w, i, depth);
        if (w->json)
            json_text(w->b, key);
        else
            repr_text(w->b, key);
        buf_puts(w->b, ": ");
        rc = write_value(w, &order[i]->v, true, depth + 1);
    }
    if (v->n)
        write_break(w, depth);
    buf_putc(w->b, '}');
    free(order);
    return rc;
}

static int write_value(struct writer *w, const struct value *v, bool repr, unsigned depth)
{
    int rc = write_budget(w, v);
    if (rc < 0)
        return rc;
    if (depth > EXPR_MAX_TREE)
        return eval_fail(w->ev, ERR_LIMIT, "a value nested deeper than the limit of %d",
                         EXPR_MAX_TREE);
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: buf_puts(w->b, w->json ? "null" : "None"); break;
    case VALUE_BOOL:
        buf_puts(w->b, v->b ? (w->json ? "true" : "True") : (w->json ? "false" : "False"));
        break;
    case VALUE_INT: buf_i64(w->b, v->i); break;
    case VALUE_REAL: show_real(w->b, v->r); break;
    case VALUE_STRING:
        if (w->json)
            json_text(w->b, value_as_str(v));
        else if (repr)
            repr_text(w->b, value_as_str(v));
        else
            buf_put(w->b, v->s, v->n);
        break;
    case VALUE_LIST: return write_list(w, v, depth);
    case VALUE_MAP: return write_map(w, v, depth);
    case VALUE_KIND_COUNT: break;
    }
    return 0;
}

int show_write(struct eval *ev, struct buf *b, const struct value *v, bool repr)
{
    struct writer w = {.ev = ev, .b = b};
    return write_value(&w, v, repr, 0);
}

int show_json(struct eval *ev, struct buf *b, const struct value *v, uint32_t indent)
{
    struct writer w = {.ev = ev, .b = b, .json = true, .indent = indent};
    return write_value(&w, v, true, 0);
}

int show_text(struct eval *ev, const struct value *v, struct str *ret_s)
{
    if (v->kind == VALUE_STRING) {
        *ret_s = value_as_str(v);
        return 0;
    }
    SCOPED_BUF(text);
    struct slot made;
    int rc = show_write(ev, &text, v, false);
    if (rc >= 0)
        rc = give_text(ev, buf_str(&text), &made);
    if (rc >= 0)
        *ret_s = value_as_str(made.v);
    return rc;
}
