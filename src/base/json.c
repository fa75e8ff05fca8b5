/* json.c - RFC 8259 text to values, in one pass and without recursion
 *
 * The reader is a loop over "what may come next".  Values under construction lie on one stack of
 * members: an open container is followed by its children, and closing it moves them into the arena
 * in a block of exactly their size.  Text goes into a packed pool.  Work per byte is constant, and
 * the check for duplicate keys is hashed for large maps, so that no input is slow.
 *
 * Columns count characters: line_start moves right by one for each byte that continues a character.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena_i.h"
#include "base/number_i.h"
#include "base/source_i.h"
#include "base/utf8_i.h"
#include "base/value_i.h"

struct json_reader {
    struct arena *arena;
    const char *at, *end;
    const char *line_start;
    uint64_t line;
    uint32_t max_depth;
    uint16_t source;
    struct text_pool pool;
    VEC(struct member) stack;
    VEC(size_t) open; /* where on the stack the open containers are */
    struct source text;
    struct err *e;
};

enum json_want { WANT_ITEM, WANT_ITEM_OR_END, WANT_KEY, WANT_KEY_OR_END, WANT_NEXT };

/* --- errors --- */

__attribute__((cold, noinline)) static int json_expected(struct json_reader *r, const char *what)
{
    char found[32];
    size_t pos = (size_t)(r->at - r->text.text);
    int rc = err_set(r->e, ERR_SYNTAX, "expected %s, found %s", what,
                     source_found(&r->text, pos, found));
    source_point(&r->text, pos, r->e);
    return rc;
}

__attribute__((cold, noinline)) static int json_wrong(struct json_reader *r, const char *at,
                                                      const char *what, const char *hint)
{
    int rc = err_set(r->e, ERR_SYNTAX, "%s", what);
    source_point(&r->text, (size_t)(at - r->text.text), r->e);
    if (hint)
        err_hint(r->e, "%s", hint);
    return rc;
}

/* Says what is likely meant where a value should start. */
__attribute__((cold, noinline)) static int json_no_value(struct json_reader *r)
{
    char c = r->at < r->end ? *r->at : '\0';
    const char *before = r->at;
    while (before > r->text.text && strchr(" \t\r\n", before[-1]))
        before--;
    int rc = json_expected(r, "a value");
    if (c == '\'')
        err_hint(r->e, "strings are written in double quotes");
    else if (c == ']' && before > r->text.text && before[-1] == ',')
        err_hint(r->e, "remove the comma before it");
    else if (c == '+' || c == '.')
        err_hint(r->e, "a number starts with a digit or a minus sign");
    else if (c == '/' || c == '#')
        err_hint(r->e, "JSON has no comments");
    else if (c == 'T' || c == 'F' || c == 'N')
        err_hint(r->e, "the words of JSON are true, false and null, in lower case");
    return rc;
}

/* --- scalars --- */

static inline void json_space(struct json_reader *r)
{
    const char *p = r->at;
    for (; p < r->end && (unsigned char)*p <= ' '; p++) {
        if (*p == '\n') {
            r->line++;
            r->line_start = p + 1;
        } else if (*p != ' ' && *p != '\t' && *p != '\r') {
            break;
        }
    }
    r->at = p;
}

static int hex4(const char *p, const char *end, uint32_t *ret_v)
{
    uint32_t v = 0;
    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        uint32_t d;
        if (c >= '0' && c <= '9')
            d = (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            d = (uint32_t)((c | 0x20) - 'a') + 10;
        else
            return -1;
        v = v << 4 | d;
    }
    *ret_v = v;
    return 0;
}

/* Decodes \uXXXX or a pair of them, p being behind the backslash.  Returns what follows, or NULL.
 */
static const char *json_unicode(struct json_reader *r, const char *p, const char *end, char *out,
                                size_t *ret_len)
{
    uint32_t c, low;
    if (hex4(p + 1, end, &c)) {
        (void)json_wrong(r, p - 1, "\\u must be followed by four hexadecimal digits", NULL);
        return NULL;
    }
    p += 5;
    if (c >= 0xD800 && c < 0xE000) {
        bool pair = c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' &&
                    !hex4(p + 2, end, &low) && low >= 0xDC00 && low < 0xE000;
        if (!pair) {
            (void)json_wrong(r, p - 6, "half a surrogate pair is not a character",
                             "write the pair \\uD8xx\\uDCxx, or the character itself in UTF-8");
            return NULL;
        }
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        p += 6;
    }
    *ret_len = utf8_encode(c, out);
    return p;
}

/* Copies [p, end) with its escapes decoded; returns the length or -code. */
static int64_t json_unescape(struct json_reader *r, const char *p, const char *end, char *out)
{
    char *o = out;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t plain = (size_t)((slash ? slash : end) - p);
        memcpy(o, p, plain);
        o += plain;
        p += plain;
        if (p == end)
            break;
        p++;
        size_t len = 1;
        switch (*p) {
        case '"':
        case '\\':
        case '/': *o = *p; break;
        case 'b': *o = '\b'; break;
        case 'f': *o = '\f'; break;
        case 'n': *o = '\n'; break;
        case 'r': *o = '\r'; break;
        case 't': *o = '\t'; break;
        case 'u':
            p = json_unicode(r, p, end, o, &len);
            if (!p)
                return -(int64_t)ERR_SYNTAX;
            p--;
            break;
        default:
            return json_wrong(r, p - 1, "unknown escape in a string",
                              "a backslash itself is written \\\\");
        }
        p++;
        o += len;
    }
    return o - out;
}

/* From behind the opening quote to the closing one; checks bytes and notes escapes. */
static const char *json_string_end(struct json_reader *r, const char *p, bool *ret_escapes)
{
    for (;;) {
        while (r->end - p >= 8) {
            uint64_t special = utf8_special8(p);
            if (special) {
                p += __builtin_ctzll(special) >> 3;
                break;
            }
            p += 8;
        }
        if (p == r->end)
            break;
        unsigned char c = (unsigned char)*p;
        if (c == '"')
            return p;
        if (c == '\\') {
            *ret_escapes = true;
            if (r->end - p < 2)
                break;
            p += (unsigned char)p[1] < 0x20 || (unsigned char)p[1] >= 0x80 ? 1 : 2;
        } else if (c < 0x20) {
            (void)json_wrong(r, p, "a control character inside a string",
                             c == '\n' ? "close the string, or write a line break as \\n"
                                       : "write it as an escape such as \\t or \\u0001");
            return NULL;
        } else if (c < 0x80) {
            p++;
        } else {
            size_t len = utf8_sequence(p, (size_t)(r->end - p));
            if (len == 0) {
                (void)json_wrong(r, p, "a byte that is not UTF-8", "save the text as UTF-8");
                return NULL;
            }
            p += len;
            r->line_start += len - 1;
        }
    }
    (void)json_wrong(r, r->at, "a string that is never closed", NULL);
    return NULL;
}

static int json_string(struct json_reader *r, const char **ret_s, uint32_t *ret_n)
{
    bool escapes = false;
    const char *from = r->at + 1;
    const char *close = json_string_end(r, from, &escapes);
    if (!close)
        return -ERR_SYNTAX;
    size_t raw = (size_t)(close - from);
    char *s = arena_pool_take(r->arena, &r->pool, raw);
    if (!escapes) {
        memcpy(s, from, raw);
        *ret_n = (uint32_t)raw;
    } else {
        int64_t n = json_unescape(r, from, close, s);
        if (n < 0)
            return (int)n;
        s[n] = '\0';
        *ret_n = (uint32_t)n;
    }
    *ret_s = s;
    r->at = close + 1;
    return 0;
}

static int json_number(struct json_reader *r, struct value *v)
{
    bool whole = false;
    size_t n = number_scan(r->at, (size_t)(r->end - r->at), &whole, &v->i, &v->r);
    if (n == 0)
        return json_wrong(r, r->at, "a malformed number", "a digit must follow each of - . and e");
    if (!whole && !isfinite(v->r))
        return json_wrong(r, r->at, "a number too large for a double", NULL);
    v->kind = whole ? VALUE_INT : VALUE_REAL;
    const char *next = r->at + n;
    if (next < r->end && *next >= '0' && *next <= '9')
        return json_wrong(r, r->at, "a number with a needless 0 in front", NULL);
    r->at = next;
    return 0;
}

static bool json_word(struct json_reader *r, const char *word, size_t n)
{
    if ((size_t)(r->end - r->at) < n || memcmp(r->at, word, n) != 0)
        return false;
    r->at += n;
    return true;
}

/* --- containers --- */

static inline uint32_t json_line(const struct json_reader *r)
{
    return r->line < VALUE_LINE_MAX ? (uint32_t)r->line : VALUE_LINE_MAX;
}

static inline uint32_t json_column(const struct json_reader *r)
{
    int64_t column = r->at - r->line_start + 1;
    return column < VALUE_COLUMN_MAX ? (uint32_t)column : VALUE_COLUMN_MAX;
}

/* A new top of the stack; the caller fills it. */
static inline struct member *json_push(struct json_reader *r)
{
    vec_reserve(&r->stack, r->stack.n + 1);
    return &r->stack.at[r->stack.n++];
}

static int json_open(struct json_reader *r, struct value *v, enum value_kind kind)
{
    if (r->open.n >= r->max_depth) {
        int rc = err_set(r->e, ERR_LIMIT, "nested more than %u levels deep", r->max_depth);
        source_point(&r->text, (size_t)(r->at - r->text.text), r->e);
        err_hint(r->e, "flatten the document; at most %u levels are read here", r->max_depth);
        return rc;
    }
    v->kind = (uint8_t)kind;
    vec_push(&r->open, r->stack.n - 1);
    r->at++;
    return 0;
}

__attribute__((cold, noinline)) static int
json_duplicate(struct json_reader *r, const struct member *first, const struct member *again)
{
    size_t line, column;
    source_locate(&r->text, first->v.cap, &line, &column);
    int rc = err_set(r->e, ERR_SYNTAX, "duplicate key \"%.*s\", first at %zu:%zu",
                     (int)utf8_cut(again->key, again->key_n, 100), again->key, line, column);
    source_point(&r->text, again->v.cap, r->e);
    err_hint(r->e, "remove one of the two");
    return rc;
}

/* Moves the children of the innermost open container from the stack into the arena. */
static int json_close(struct json_reader *r)
{
    size_t top = r->open.at[--r->open.n];
    struct value *v = &r->stack.at[top].v;
    const struct member *children = &r->stack.at[top + 1];
    uint32_t n = (uint32_t)(r->stack.n - top - 1);
    if (v->kind == VALUE_MAP) {
        uint32_t first, again;
        if (!value_members_seal(r->arena, v, children, n, &first, &again))
            return json_duplicate(r, &children[first], &children[again]);
    } else if (n) {
        v->items = arena_take_raw(r->arena, n, sizeof *v->items);
        for (uint32_t i = 0; i < n; i++)
            v->items[i] = children[i].v;
    }
    v->n = n;
    r->stack.n = top + 1;
    r->at++;
    return 0;
}

/* --- the loop --- */

static int json_key(struct json_reader *r, bool first)
{
    if (r->at == r->end || *r->at != '"')
        return json_expected(r, first ? "a key in double quotes or '}'" : "a key in double quotes");
    struct member *m = json_push(r);
    m->key_line = json_line(r);
    m->key_column = json_column(r);
    /* The loan of `cap` ends when the map is sealed: until then it is where the key starts. */
    m->v.cap = (uint32_t)(r->at - r->text.text);
    int rc = json_string(r, &m->key, &m->key_n);
    if (rc)
        return rc;
    json_space(r);
    if (r->at == r->end || *r->at != ':')
        return json_expected(r, "':' after the key");
    r->at++;
    return 0;
}

/* Reads a scalar or opens a container; the value goes into the top of the stack. */
static int json_value(struct json_reader *r, enum json_want *ret_want)
{
    struct value *v = &r->stack.at[r->stack.n - 1].v;
    *v = (struct value){.kind = VALUE_NULL,
                        .source = r->source,
                        .line = json_line(r),
                        .column = json_column(r),
                        .cap = v->cap};
    *ret_want = WANT_NEXT;
    switch (r->at < r->end ? *r->at : '\0') {
    case '"': v->kind = VALUE_STRING; return json_string(r, &v->s, &v->n);
    case '{': *ret_want = WANT_KEY_OR_END; return json_open(r, v, VALUE_MAP);
    case '[': *ret_want = WANT_ITEM_OR_END; return json_open(r, v, VALUE_LIST);
    case '-':
    case '0' ... '9': return json_number(r, v);
    case 't':
        v->kind = VALUE_BOOL;
        v->b = true;
        return json_word(r, "true", 4) ? 0 : json_no_value(r);
    case 'f': v->kind = VALUE_BOOL; return json_word(r, "false", 5) ? 0 : json_no_value(r);
    case 'n': return json_word(r, "null", 4) ? 0 : json_no_value(r);
    default: return json_no_value(r);
    }
}

/* What follows a complete value inside a container: a comma or the end. */
static int json_next(struct json_reader *r, char c, enum json_want *ret_want)
{
    bool map = r->stack.at[r->open.at[r->open.n - 1]].v.kind == VALUE_MAP;
    if (c == ',') {
        r->at++;
        *ret_want = map ? WANT_KEY : WANT_ITEM;
        return 0;
    }
    if (c == (map ? '}' : ']'))
        return json_close(r);
    return json_expected(r, map ? "',' or '}'" : "',' or ']'");
}

static int json_run(struct json_reader *r)
{
    enum json_want want = WANT_ITEM;
    int rc = 0;
    while (!rc) {
        json_space(r);
        char c = r->at < r->end ? *r->at : '\0';
        if (want == WANT_NEXT) {
            if (r->open.n == 0)
                return r->at == r->end ? 0 : json_expected(r, "nothing more after the value");
            rc = json_next(r, c, &want);
        } else if (want == WANT_KEY || want == WANT_KEY_OR_END) {
            if (want == WANT_KEY_OR_END && c == '}') {
                rc = json_close(r);
                want = WANT_NEXT;
            } else if (!(rc = json_key(r, want == WANT_KEY_OR_END))) {
                json_space(r);
                rc = json_value(r, &want);
            }
        } else if (want == WANT_ITEM_OR_END && c == ']') {
            rc = json_close(r);
            want = WANT_NEXT;
        } else {
            json_push(r)->v.cap = 0;
            rc = json_value(r, &want);
        }
    }
    return rc;
}

int json_parse(struct arena *a, const char *text, size_t n, const struct json_options *o,
               struct value **ret_v, struct err *e)
{
    if (n >= UINT32_MAX)
        return err_set(e, ERR_TOO_LARGE, "a JSON text of 4 GiB or more");
    if (!text)
        text = ""; /* n is 0 then */
    struct json_reader r = {.arena = a, .at = text, .end = text + n, .line_start = text, .line = 1};
    r.max_depth = o && o->max_depth ? o->max_depth : JSON_DEPTH_DEFAULT;
    r.source = o ? o->source : 0;
    r.text = (struct source){o ? o->name : NULL, text, n};
    r.e = e;
    if (n >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        return json_wrong(&r, text, "a byte order mark", "save the text as UTF-8 without it");
    int rc = json_run(&r);
    if (!rc) {
        struct value *top = arena_take_raw(a, 1, sizeof *top);
        *top = r.stack.at[0].v;
        *ret_v = top;
    }
    vec_done(&r.stack);
    vec_done(&r.open);
    return rc;
}
