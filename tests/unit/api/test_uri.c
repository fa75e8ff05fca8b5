/* test_uri.c - targets are split and decoded strictly */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"
#include "base/json.h"
#include "tap.h"

struct split_case {
    const char *text, *want; /* want: segments joined by |, then ? and the query; NULL: refused */
    const char *error;
};
static const struct split_case splits[] = {
    {"/", "", NULL},
    {"/v1/nodes", "v1|nodes", NULL},
    {"/v1/nodes?a=b", "v1|nodes?a=b", NULL},
    {"/v1/nodes?", "v1|nodes", NULL},
    {"/v1//x", "v1||x", NULL},
    {"/v1/nodes/", "v1|nodes|", NULL},
    {"/a%20b/c", "a b|c", NULL},
    {"/a%2Fb", "a/b", NULL},
    {"/a+b", "a+b", NULL},
    {"/%C3%A9", "\xC3\xA9", NULL},
    {"/a?b?c", "a?b?c", NULL},
    {"http://h/x?y", "x?y", NULL},
    {"HTTPS://h:1/x", "x", NULL},
    {"http://h", "", NULL},
    {"http://h?q", "", NULL},
    {"x", NULL, "starts with a slash"},
    {"", NULL, "starts with a slash"},
    {"*", NULL, "starts with a slash"},
    {"/%", NULL, "two hex digits"},
    {"/%4", NULL, "two hex digits"},
    {"/%4g", NULL, "two hex digits"},
    {"/%g4", NULL, "two hex digits"},
    {"/%41", "A", NULL},
    {"/%00", NULL, "control characters"},
    {"/%0a", NULL, "control characters"},
    {"/%7F", NULL, "control characters"},
    {"/%C3", NULL, "not UTF-8"},
    {"/%ED%A0%80", NULL, "not UTF-8"},
    {"/a b", NULL, "0x20"},
    {"/a\x01", NULL, "0x01"},
    {"/a#b", NULL, "0x23"},
    {"/{x}", NULL, "0x7B"},
    {"/\xC3\xA9", NULL, "0xC3"},
    {"/1/2/3/4/5/6/7/8", "1|2|3|4|5|6|7|8", NULL},
    {"/1/2/3/4/5/6/7/8/9", NULL, "so many segments"},
};

static void test_split(void)
{
    for (size_t i = 0; i < sizeof splits / sizeof *splits; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(got);
        struct uri u;
        struct err e;
        int r = uri_split(&mem, splits[i].text, &u, &e);
        if (!splits[i].want) {
            ok(r < 0, "uri %zu is refused", i);
            has_text(e.text, splits[i].error, "  because of %s", splits[i].error);
            continue;
        }
        if (!ok(r == 0, "uri %zu %s is split", i, splits[i].text))
            continue;
        for (unsigned k = 0; k < u.n; k++) {
            buf_puts(&got, k ? "|" : "");
            buf_put(&got, u.segment[k].s, u.segment[k].n);
        }
        if (u.query.n) {
            buf_putc(&got, '?');
            buf_put(&got, u.query.s, u.query.n);
        }
        is_text(buf_str(&got).s, splits[i].want, "  into %s", splits[i].want);
    }
}

static const struct split_case queries[] = {
    {"", "{}", NULL},
    {"a=b", "{\"a\":\"b\"}", NULL},
    {"a=b&c=d", "{\"a\":\"b\",\"c\":\"d\"}", NULL},
    {"a", "{\"a\":\"\"}", NULL},
    {"a=", "{\"a\":\"\"}", NULL},
    {"a=b=c", "{\"a\":\"b=c\"}", NULL},
    {"a=b+c%2Bd%26", "{\"a\":\"b c+d&\"}", NULL},
    {"%61=1", "{\"a\":\"1\"}", NULL},
    {"a=1&", "{\"a\":\"1\"}", NULL},
    {"a=1&a=2", NULL, "given twice"},
    {"a=1&%61=2", NULL, "given twice"},
    {"=1", NULL, "no name"},
    {"&", NULL, "no name"},
    {"a=%", NULL, "two hex digits"},
    {"%=a", NULL, "two hex digits"},
    {"a=%00", NULL, "control characters"},
    {"a=\"", NULL, "0x22"},
};

static void test_query(void)
{
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(got);
        struct value *map;
        struct err e;
        int r = uri_query_parse(&mem, str_of(queries[i].text), &map, &e);
        if (!queries[i].want) {
            ok(r < 0, "query \"%s\" is refused", queries[i].text);
            has_text(e.text, queries[i].error, "  because of %s", queries[i].error);
            continue;
        }
        if (!ok(r == 0, "query \"%s\" is read", queries[i].text))
            continue;
        json_write(&got, map, 0);
        is_text(got.data, queries[i].want, "  as %s", queries[i].want);
    }
}

int main(void)
{
    test_split();
    test_query();
    return tap_done();
}
