/* test_json_diff.c - our reader against jansson, on thousands of generated and damaged documents
 *
 * Both must agree on what is JSON and on what it means.  The differences that are meant, and that
 * the comparison steps around, are:
 *   - a whole number beyond 64 bits: jansson refuses it, we read a real;
 *   - a key with \u0000: jansson cannot hold it and refuses, we can;
 *   - depth: jansson stops at 2048, we at the limit we are given (documents here stay below both);
 *   - a real below the smallest double: jansson may call that an overflow, we round to zero.
 * Duplicate keys are refused by both (JSON_REJECT_DUPLICATES); \u0000 inside a value is allowed to
 * both (JSON_ALLOW_NUL).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <jansson.h>

#include "base/json.h"
#include "tap.h"
#include "tree_gen.h"

/* Depth is bounded by the limit that both readers were given. */
static bool same_value(const struct value *v, const json_t *j)
{
    size_t i;
    const json_t *item;
    switch ((enum value_kind)v->kind) {
    case VALUE_NULL: return json_is_null(j);
    case VALUE_BOOL: return v->b ? json_is_true(j) : json_is_false(j);
    case VALUE_INT: return json_is_integer(j) && json_integer_value(j) == v->i;
    case VALUE_REAL: return json_is_real(j) && json_real_value(j) == v->r;
    case VALUE_STRING:
        return json_is_string(j) && json_string_length(j) == v->n &&
               memcmp(json_string_value(j), v->s, v->n) == 0;
    case VALUE_LIST:
        if (!json_is_array(j) || json_array_size(j) != v->n)
            return false;
        json_array_foreach(j, i, item)
        {
            if (!same_value(&v->items[i], item))
                return false;
        }
        return true;
    case VALUE_MAP:
        if (!json_is_object(j) || json_object_size(j) != v->n)
            return false;
        for (uint32_t k = 0; k < v->n; k++) {
            item = json_object_get(j, v->members[k].key);
            if (!item || !same_value(&v->members[k].v, item))
                return false;
        }
        return true;
    case VALUE_KIND_COUNT: break;
    }
    return false;
}

/* One of the documented differences: jansson refuses and says why. */
static bool is_meant(const json_error_t *je)
{
    return strstr(je->text, "too big integer") || strstr(je->text, "too big negative integer") ||
           strstr(je->text, "NUL byte in object key") || strstr(je->text, "real number overflow");
}

struct tally {
    int accepted, refused, meant, wrong;
};

static void compare(struct tally *t, const char *text, size_t n)
{
    SCOPED_ARENA(a);
    struct value *v = NULL;
    struct err e;
    json_error_t je;
    struct json_options o = {.max_depth = 1000};
    int rc = json_parse(&a, text, n, &o, &v, &e);
    json_t *j = json_loadb(text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &je);
    bool good = true;
    if (!rc && j) {
        t->accepted++;
        good = same_value(v, j);
    } else if (rc && !j) {
        t->refused++;
        good = rc == -ERR_SYNTAX && e.at[0] && e.text[0];
    } else if (!rc && is_meant(&je)) {
        t->meant++;
    } else {
        good = false;
    }
    if (!good && t->wrong++ < 5)
        note("disagree: %s / %s on %.*s", rc ? e.text : "accepted", j ? "accepted" : je.text,
             n < 300 ? (int)n : 300, text);
    json_decref(j);
}

static void mutate(struct buf *b, struct rng *r)
{
    static const char *const bits[] = {"{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "\"",
                                       "\\",
                                       "0",
                                       "1",
                                       "-",
                                       "e9",
                                       ".",
                                       "null",
                                       "true",
                                       "\n",
                                       " ",
                                       "\\u00",
                                       "\\ud8",
                                       "\\udc00",
                                       "\xC3",
                                       "\xA9",
                                       "\xFF",
                                       "\x01",
                                       "\"a\":",
                                       "1e400",
                                       "99999999999999999999",
                                       "\"\"",
                                       "/",
                                       "false",
                                       "\xEF\xBB\xBF",
                                       "\xED\xA0\x80",
                                       "\\u0000",
                                       "1e-400"};
    for (uint32_t k = 1 + rng_below(r, 3); k > 0; k--) {
        size_t at = b->len ? rng_below(r, (uint32_t)b->len) : 0;
        SCOPED_BUF(out);
        buf_put(&out, b->data, at);
        switch (rng_below(r, 4)) {
        case 0: /* drop some bytes */ at += rng_below(r, 4); break;
        case 1: /* change a byte */
            buf_putc(&out, (char)rng_next(r));
            at++;
            break;
        case 2: /* put something in */
            buf_puts(&out, bits[rng_below(r, sizeof bits / sizeof *bits)]);
            break;
        default: /* say something twice */
            buf_put(&out, b->data + at, b->len - at < 12 ? b->len - at : 12);
        }
        if (at < b->len)
            buf_put(&out, b->data + at, b->len - at);
        buf_clear(b);
        buf_put(b, out.data, out.len);
    }
}

static void test_trees(void)
{
    struct tally whole = {0}, damaged = {0};
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct rng r = {seed};
        json_write(&b, gen_tree(&a, &r, seed % 10 ? 40 : 400), (int)rng_below(&r, 3));
        compare(&whole, b.data, b.len);
        for (int i = 0; i < 12; i++) {
            SCOPED_BUF(m);
            buf_put(&m, b.data, b.len);
            mutate(&m, &r);
            compare(&damaged, m.data, m.len);
        }
    }
    is_int(whole.wrong, 0, "1000 generated documents: both agree");
    ok(whole.accepted > 950, "and accept them (%d; %d differ as documented)", whole.accepted,
       whole.meant);
    is_int(damaged.wrong, 0, "12000 damaged documents: both agree");
    ok(damaged.accepted > 1000 && damaged.refused > 4000,
       "on %d accepted and %d refused (%d meant)", damaged.accepted, damaged.refused,
       damaged.meant);
}

/* Short texts over the alphabet of the grammar reach its corners better than trees do. */
static void test_soup(void)
{
    static const char *const bits[] = {
        "{", "}", "[", "]",  ",",  ":",   "\"a\"", "\"b\"", "1",    "-",     "0",  ".",
        "e", "+", " ", "\n", "\"", "\\u", "0041",  "null",  "true", "false", "\t", "E5"};
    struct tally t = {0};
    struct rng r = {4242};
    for (int i = 0; i < 60000; i++) {
        SCOPED_BUF(b);
        buf_reserve(&b, 1);
        for (uint32_t k = rng_below(&r, 9); k > 0; k--)
            buf_puts(&b, bits[rng_below(&r, sizeof bits / sizeof *bits)]);
        compare(&t, b.data, b.len);
    }
    is_int(t.wrong, 0, "60000 short texts: both agree");
    ok(t.accepted > 1000 && t.refused > 40000, "on %d accepted and %d refused", t.accepted,
       t.refused);
}

/* The two parsers round every real the same way. */
static void test_numbers(void)
{
    struct tally t = {0};
    struct rng r = {17};
    for (int i = 0; i < 30000; i++) {
        char text[128];
        int n = 0;
        if (rng_below(&r, 2))
            n += snprintf(text + n, sizeof text - (size_t)n, "-");
        n += snprintf(text + n, sizeof text - (size_t)n, "%llu",
                      (unsigned long long)(rng_next(&r) >> rng_below(&r, 64)));
        if (rng_below(&r, 2))
            n += snprintf(text + n, sizeof text - (size_t)n, ".%llu",
                          (unsigned long long)(rng_next(&r) >> rng_below(&r, 64)));
        if (rng_below(&r, 2))
            n += snprintf(text + n, sizeof text - (size_t)n, "e%d", (int)rng_below(&r, 640) - 320);
        compare(&t, text, (size_t)n);
    }
    is_int(t.wrong, 0, "30000 numbers: both agree");
    ok(t.accepted > 25000, "and accept most (%d)", t.accepted);
}

int main(void)
{
    test_trees();
    test_soup();
    test_numbers();
    return tap_done();
}
