/* json_write.c - values to JSON text, and the streaming writer
 *
 * The walk keeps a stack of open containers on the heap.  Whatever the bytes of a string are, the
 * output is valid JSON: what is not UTF-8 becomes U+FFFD, because strings also come from the output
 * of other people's programs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/number_i.h"
#include "base/utf8_i.h"
#include "base/value_i.h"

/* --- strings --- */

static void json_escape(struct buf *b, unsigned char c)
{
    static const char digit[] = "0123456789abcdef";
    char out[6] = {'\\', 'u', '0', '0', digit[c >> 4], digit[c & 15]};
    size_t n = 2;
    switch (c) {
    case '"': out[1] = '"'; break;
    case '\\': out[1] = '\\'; break;
    case '\b': out[1] = 'b'; break;
    case '\f': out[1] = 'f'; break;
    case '\n': out[1] = 'n'; break;
    case '\r': out[1] = 'r'; break;
    case '\t': out[1] = 't'; break;
    default: n = 6;
    }
    buf_put(b, out, n);
}

void json_write_string(struct buf *b, struct str s)
{
    size_t i = 0, from = 0; /* [from, i) is not written yet */
    buf_reserve(b, s.n + 2);
    buf_putc(b, '"');
    while (i < s.n) {
        if (s.n - i >= 8) {
            uint64_t special = utf8_special8(s.s + i);
            i += special ? (size_t)__builtin_ctzll(special) >> 3 : 8;
            if (!special)
                continue;
        }
        unsigned char c = (unsigned char)s.s[i];
        size_t len = c < 0x80 ? 1 : utf8_sequence(s.s + i, s.n - i);
        if (len && c >= 0x20 && c != '"' && c != '\\') {
            i += len;
            continue;
        }
        buf_put(b, s.s + from, i - from);
        if (len)
            json_escape(b, c);
        else
            buf_put(b, UTF8_REPLACEMENT, 3);
        from = ++i;
    }
    if (i > from)
        buf_put(b, s.s + from, i - from);
    buf_putc(b, '"');
}

/* --- trees --- */

struct json_level {
    const struct value *v;
    const struct member **sorted; /* canonical: members in key order, owned */
    uint32_t next;
};
struct json_out {
    struct buf *b;
    int indent; /* 0: compact */
    bool canonical;
    VEC(struct json_level) open;
};

static int member_order(const void *pa, const void *pb)
{
    const struct member *const *a = pa, *const *b = pb;
    return str_cmp(member_key(*a), member_key(*b));
}

static const struct member **members_sorted(const struct value *map)
{
    const struct member **order = xcalloc(map->n, sizeof *order);
    for (uint32_t i = 0; i < map->n; i++)
        order[i] = &map->members[i];
    qsort(order, map->n, sizeof *order, member_order);
    return order;
}

static void json_break(struct json_out *w)
{
    if (!w->indent)
        return;
    size_t n = w->open.n * (size_t)w->indent;
    buf_reserve(w->b, n + 1);
    buf_putc(w->b, '\n');
    memset(w->b->data + w->b->len, ' ', n);
    w->b->len += n;
    w->b->data[w->b->len] = '\0';
}

/* Writes a scalar or an empty container; opens any other. */
static void json_put(struct json_out *w, const struct value *v)
{
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: buf_put(w->b, "null", 4); return;
    case VALUE_BOOL: buf_puts(w->b, v->b ? "true" : "false"); return;
    case VALUE_INT: buf_i64(w->b, v->i); return;
    case VALUE_REAL: number_write(w->b, v->r); return;
    case VALUE_STRING: json_write_string(w->b, (struct str){v->s, v->n}); return;
    case VALUE_LIST:
    case VALUE_MAP: break;
    case VALUE_KIND_COUNT: assert(!"a value of no kind");
    }
    bool map = v->kind == VALUE_MAP;
    if (v->n == 0) {
        buf_put(w->b, map ? "{}" : "[]", 2);
        return;
    }
    buf_putc(w->b, map ? '{' : '[');
    vec_push(&w->open, ((struct json_level){v, map && w->canonical ? members_sorted(v) : NULL, 0}));
}

static void json_walk(struct json_out *w, const struct value *v)
{
    json_put(w, v);
    while (w->open.n) {
        struct json_level *l = &w->open.at[w->open.n - 1];
        bool map = l->v->kind == VALUE_MAP;
        if (l->next == l->v->n) {
            free(l->sorted);
            w->open.n--;
            json_break(w);
            buf_putc(w->b, map ? '}' : ']');
            continue;
        }
        if (l->next)
            buf_putc(w->b, ',');
        json_break(w);
        uint32_t i = l->next++;
        if (!map) {
            json_put(w, &l->v->items[i]);
            continue;
        }
        const struct member *m = l->sorted ? l->sorted[i] : &l->v->members[i];
        json_write_string(w->b, member_key(m));
        buf_put(w->b, ": ", w->indent ? 2 : 1);
        json_put(w, &m->v);
    }
    vec_done(&w->open);
}

void json_write(struct buf *b, const struct value *v, int indent)
{
    struct json_out w = {.b = b, .indent = indent > 0 ? indent : 0};
    if (v)
        json_walk(&w, v);
    else
        buf_put(b, "null", 4);
}

void json_write_canonical(struct buf *b, const struct value *v)
{
    struct json_out w = {.b = b, .canonical = true};
    if (v)
        json_walk(&w, v);
    else
        buf_put(b, "null", 4);
}

/* --- the streaming writer --- */

enum { JSONW_DEPTH_MAX = 63 }; /* a bit per level; the shapes written with it are ours */

void jsonw_init(struct jsonw *w, struct buf *out)
{
    *w = (struct jsonw){.out = out};
}

static uint64_t jsonw_bit(const struct jsonw *w)
{
    return (uint64_t)1 << w->depth;
}

/* A value is about to be written: after its key, or after a comma, or first. */
static void jsonw_before(struct jsonw *w)
{
    uint64_t bit = jsonw_bit(w);
    assert(w->keyed == ((w->is_map & bit) != 0));
    assert(w->depth > 0 || !(w->comma & bit)); /* one value at the top */
    if (!w->keyed && (w->comma & bit))
        buf_putc(w->out, ',');
    w->comma |= bit;
    w->keyed = false;
}

static void jsonw_open(struct jsonw *w, bool map)
{
    jsonw_before(w);
    assert(w->depth < JSONW_DEPTH_MAX);
    buf_putc(w->out, map ? '{' : '[');
    w->depth++;
    w->comma &= ~jsonw_bit(w);
    w->is_map = map ? w->is_map | jsonw_bit(w) : w->is_map & ~jsonw_bit(w);
}

void jsonw_map(struct jsonw *w)
{
    jsonw_open(w, true);
}

void jsonw_list(struct jsonw *w)
{
    jsonw_open(w, false);
}

void jsonw_end(struct jsonw *w)
{
    assert(w->depth > 0 && !w->keyed);
    buf_putc(w->out, w->is_map & jsonw_bit(w) ? '}' : ']');
    w->depth--;
}

void jsonw_key(struct jsonw *w, const char *key)
{
    assert((w->is_map & jsonw_bit(w)) && !w->keyed);
    if (w->comma & jsonw_bit(w))
        buf_putc(w->out, ',');
    json_write_string(w->out, str_of(key));
    buf_putc(w->out, ':');
    w->keyed = true;
}

void jsonw_str(struct jsonw *w, struct str s)
{
    jsonw_before(w);
    json_write_string(w->out, s);
}

void jsonw_text(struct jsonw *w, const char *s)
{
    if (s)
        jsonw_str(w, str_of(s));
    else
        jsonw_null(w);
}

void jsonw_u64(struct jsonw *w, uint64_t v)
{
    jsonw_before(w);
    buf_u64(w->out, v);
}

void jsonw_i64(struct jsonw *w, int64_t v)
{
    jsonw_before(w);
    buf_i64(w->out, v);
}

void jsonw_bool(struct jsonw *w, bool v)
{
    jsonw_before(w);
    buf_puts(w->out, v ? "true" : "false");
}

void jsonw_null(struct jsonw *w)
{
    jsonw_before(w);
    buf_put(w->out, "null", 4);
}

void jsonw_value(struct jsonw *w, const struct value *v)
{
    jsonw_before(w);
    json_write(w->out, v, 0);
}
