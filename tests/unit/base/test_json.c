/* test_json.c - the JSON reader and writers */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <locale.h>
#include <time.h>

#include "base/text.h"
#include "tap.h"
#include "tree_gen.h"
#include "workdir.h"

static int read_text(struct arena *a, const char *s, size_t n, struct value **ret_v, struct err *e)
{
    struct json_options o = {.name = "in.json", .source = 7};
    return json_parse(a, s, n, &o, ret_v, e);
}

/* What is accepted, and what it is written as. */
static void test_accepts(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"null", "null"},
        {" \t\r\n true \n", "true"},
        {"false", "false"},
        {"0", "0"},
        {"-0", "0"},
        {"-0.0", "-0.0"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"9223372036854775808", "9.223372036854776e+18"},
        {"-9223372036854775809", "-9.223372036854776e+18"},
        {"18446744073709551616", "1.8446744073709552e+19"},
        {"1.0", "1.0"},
        {"1e2", "100.0"},
        {"1E+2", "100.0"},
        {"25e-1", "2.5"},
        {"0.1", "0.1"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"5e-324", "5e-324"},
        {"2.2250738585072014e-308", "2.2250738585072014e-308"},
        {"1e-400", "0.0"},
        {"123456789012345678901234567890e-10", "1.2345678901234567e+19"},
        {"0.000000000000000000000000000001", "1e-30"},
        {"1.00000000000000000000000000000000000000000000000000000000000000000000000000000001",
         "1.0"},
        {"[]", "[]"},
        {"{}", "{}"},
        {"[ ]", "[]"},
        {"{ }", "{}"},
        {"[1,[2,[3,[]]],{}]", "[1,[2,[3,[]]],{}]"},
        {"{\"a\":{\"b\":[null]},\"c\":\"\"}", "{\"a\":{\"b\":[null]},\"c\":\"\"}"},
        {"{\"\":1}", "{\"\":1}"},
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
        {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "\"A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
        {"\"\\u001f\\u007f\"", "\"\\u001f\x7f\""},
        {"\"\\u0000x\"", "\"\\u0000x\""},
        {"\"\xF4\x8F\xBF\xBF\"", "\"\xF4\x8F\xBF\xBF\""},
        {"\"0123456\\\"89abcdefghi\\\\\"", "\"0123456\\\"89abcdefghi\\\\\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct value *v;
        struct err e = {0};
        int rc = read_text(&a, cases[i].text, strlen(cases[i].text), &v, &e);
        if (!rc)
            json_write(&b, v, 0);
        is_text(rc ? e.text : b.data, cases[i].want, "read case %zu", i);
    }
}

/* What is refused, where, and in which words. */
static void test_refuses(void)
{
    static const struct {
        const char *text, *at, *part, *hint;
    } cases[] = {
        {"", "1:1", "expected a value, found end of text", ""},
        {"  \n ", "2:2", "found end of text", ""},
        {"nul", "1:1", "expected a value", ""},
        {"nule", "1:1", "expected a value", ""},
        {"tru", "1:1", "expected a value", ""},
        {"fals", "1:1", "expected a value", ""},
        {"True", "1:1", "found 'T'", "lower case"},
        {"NaN", "1:1", "found 'N'", "lower case"},
        {"1 2", "1:3", "nothing more after the value, found '2'", ""},
        {"[1,]", "1:4", "found ']'", "comma"},
        {"{\"a\":1,}", "1:8", "expected a key in double quotes, found '}'", ""},
        {"{,}", "1:2", "expected a key in double quotes or '}'", ""},
        {"{a:1}", "1:2", "found 'a'", ""},
        {"{\"a\" 1}", "1:6", "':' after the key", ""},
        {"{\"a\":1 \"b\":2}", "1:8", "expected ',' or '}'", ""},
        {"[1 2]", "1:4", "expected ',' or ']'", ""},
        {"[1}", "1:3", "expected ',' or ']', found '}'", ""},
        {"{\"a\":1]", "1:7", "expected ',' or '}', found ']'", ""},
        {"[", "1:2", "found end of text", ""},
        {"[1", "1:3", "found end of text", ""},
        {"{\"a\":", "1:6", "expected a value", ""},
        {"{\"a\"", "1:5", "':'", ""},
        {"[1, \n ]", "2:2", "found ']'", "comma"},
        {"{\"a\":]", "1:6", "found ']'", ""},
        {"'a'", "1:1", "found '''", "double quotes"},
        {"// c\n1", "1:1", "found '/'", "comments"},
        {"+1", "1:1", "found '+'", "digit"},
        {".5", "1:1", "found '.'", "digit"},
        {"-", "1:1", "malformed number", "digit"},
        {"-x", "1:1", "malformed number", "digit"},
        {"1.", "1:1", "malformed number", "digit"},
        {"1.e5", "1:1", "malformed number", "digit"},
        {"1e", "1:1", "malformed number", "digit"},
        {"1e+", "1:1", "malformed number", "digit"},
        {"012", "1:1", "needless 0", ""},
        {"-012", "1:1", "needless 0", ""},
        {"[1e999]", "1:2", "too large", ""},
        {"[-1e999]", "1:2", "too large", ""},
        {"\"abc", "1:1", "never closed", ""},
        {"\"abc\\", "1:1", "never closed", ""},
        {"\"abc\\\"", "1:1", "never closed", ""},
        {"\"a\nb\"", "1:3", "control character", "\\n"},
        {"\"a\tb\"", "1:3", "control character", "escape"},
        {"\"a\\\tb\"", "1:4", "control character", ""},
        {"\"\\x41\"", "1:2", "unknown escape", "backslash"},
        {"\"\\u12G4\"", "1:2", "four hexadecimal digits", ""},
        {"\"\\u12\"", "1:2", "four hexadecimal digits", ""},
        {"\"\\ud800\"", "1:2", "surrogate", "UTF-8"},
        {"\"\\ud800x\"", "1:2", "surrogate", "UTF-8"},
        {"\"\\ud800\\n\"", "1:2", "surrogate", ""},
        {"\"\\ud800\\u0041\"", "1:2", "surrogate", ""},
        {"\"\\udc00\"", "1:2", "surrogate", ""},
        {"\"a\xFF\"", "1:3", "not UTF-8", "UTF-8"},
        {"\"a\xC3\"", "1:3", "not UTF-8", ""},
        {"\"\xED\xA0\x80\"", "1:2", "not UTF-8", ""},
        {"\"\xC3\xA9\xE2\x82\xAC\" x", "1:6", "nothing more", ""},
        {"\xEF\xBB\xBF{}", "1:1", "byte order mark", "without"},
        {"[\n\n  tru\n]", "3:3", "expected a value", ""},
        {"\x01", "1:1", "found byte 0x01", ""},
        {"[1\n", "2:1", "found end of text", ""},
        {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "3:2", "duplicate key \"a\", first at 1:2", "remove"},
        {"{\"\\u0061\":1,\"a\":3}", "1:13", "duplicate key \"a\", first at 1:2", "remove"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        struct value *v = NULL;
        struct err e = {0};
        char at[64];
        int rc = read_text(&a, cases[i].text, strlen(cases[i].text), &v, &e);
        snprintf(at, sizeof at, "in.json:%s", cases[i].at);
        ok(rc == -ERR_SYNTAX && !v, "case %zu is refused", i);
        is_text(e.at, at, "case %zu: where", i);
        has_text(e.text, cases[i].part, "case %zu: what", i);
        has_text(e.hint, cases[i].hint, "case %zu: remedy", i);
        is_int(json_parse(&a, cases[i].text, strlen(cases[i].text), NULL, &v, NULL), -ERR_SYNTAX,
               "case %zu without err and options", i);
    }
}

static void test_error_line(void)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    struct err e;
    const char *small = "{\n  \"port\": 80,\n  \"host\": web\n}\n";
    read_text(&a, small, strlen(small), &v, &e);
    is_text(e.line, "  \"host\": web", "the offending line");
    is_int(json_parse(&a, "x", 1, NULL, &v, &e), -ERR_SYNTAX, "without a name");
    is_text(e.at, "1:1", "the place is line and column");
    buf_putc(&b, '[');
    for (int i = 0; i < 1000; i++)
        buf_puts(&b, "\"\xC3\xA9\",");
    buf_puts(&b, "oops, 1]");
    read_text(&a, b.data, b.len, &v, &e);
    is_text(e.at, "in.json:1:4002", "a column counts characters");
    ok(!strncmp(e.line, "...", 3) && strstr(e.line, "oops, 1]") &&
           text_utf8_valid(e.line, strlen(e.line)),
       "of a long line the part around the fault is shown");
    is_int(json_parse(&a, NULL, 0, NULL, &v, &e), -ERR_SYNTAX, "no text at all");
    is_int(json_parse(&a, "1", (size_t)UINT32_MAX, NULL, &v, &e), -ERR_TOO_LARGE, "4 GiB");
}

static void test_places(void)
{
    SCOPED_ARENA(a);
    struct value *v;
    const char *text = "{\n  \"a\": 1,\n  \"\xC3\xA9\xE2\x82\xAC\": [true,\n    \"x\", {}]\n}";
    is_int(read_text(&a, text, strlen(text), &v, NULL), 0, "read");
    const struct value *list = value_get(v, "\xC3\xA9\xE2\x82\xAC");
    ok(v->line == 1 && v->column == 1, "the map");
    ok(v->members[0].key_line == 2 && v->members[0].key_column == 3, "a key");
    ok(v->members[0].v.line == 2 && v->members[0].v.column == 8, "its value");
    ok(v->members[1].key_line == 3 && v->members[1].key_column == 3, "another key");
    ok(list->line == 3 && list->column == 9, "a value behind wide characters");
    ok(list->items[1].line == 4 && list->items[1].column == 5, "an item");
    ok(list->items[2].line == 4 && list->items[2].column == 10, "the next item");
    ok(v->source == 7 && list->source == 7 && list->items[2].source == 7, "the source number");
    SCOPED_BUF(b);
    buf_reserve(&b, 3000000);
    for (int i = 0; i < 1100000; i++)
        buf_putc(&b, '\n');
    for (int i = 0; i < 5000; i++)
        buf_putc(&b, ' ');
    buf_puts(&b, "[1]");
    is_int(read_text(&a, b.data, b.len, &v, NULL), 0, "far down");
    ok(v->line == (1 << 20) - 1 && v->column == (1 << 12) - 1, "line and column saturate");
}

static void nest(struct buf *b, int depth, bool maps, bool close)
{
    for (int i = 0; i < depth; i++)
        buf_puts(b, maps ? "{\"k\":" : "[");
    buf_puts(b, maps ? "{}" : "[]");
    for (int i = 0; close && i < depth; i++)
        buf_putc(b, maps ? '}' : ']');
}

static void test_depth(void)
{
    for (int maps = 0; maps < 2; maps++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct value *v;
        struct err e;
        nest(&b, 199, maps, true);
        is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), 0, "200 levels are read");
        buf_clear(&b);
        nest(&b, 200, maps, true);
        is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_LIMIT, "201 are not");
        has_text(e.text, "200", "the limit is named");
        ok(e.hint[0] && e.at[0] && e.line[0], "with place, line and remedy");
        buf_clear(&b);
        nest(&b, 10000, maps, true);
        is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_LIMIT, "10000 by default");
        struct json_options deep = {.max_depth = 20000};
        is_int(json_parse(&a, b.data, b.len, &deep, &v, &e), 0, "10000 where it is allowed");
        SCOPED_BUF(out);
        json_write(&out, v, 0);
        ok(str_eq(buf_str(&b), buf_str(&out)), "and they are written");
        buf_clear(&out);
        json_write_canonical(&out, v);
        ok(str_eq(buf_str(&b), buf_str(&out)), "canonically too");
        buf_clear(&b);
        nest(&b, 1000000, maps, false);
        deep.max_depth = 5000000;
        is_int(json_parse(&a, b.data, b.len, &deep, &v, &e), -ERR_SYNTAX, "a million, unclosed");
    }
}

static void test_many_keys(void)
{
    enum { KEYS = 200000 };
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    struct err e;
    buf_putc(&b, '{');
    for (int i = 0; i < KEYS; i++)
        buf_printf(&b, "\"key%d\":%d,", i, i);
    size_t end = b.len;
    buf_puts(&b, "\"last\":0}");
    clock_t before = clock();
    is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), 0, "%d keys", KEYS);
    bool found = true;
    for (int i = 0; i < KEYS; i += 7)
        found = found && value_as_int(value_get(v, arena_printf(&a, "key%d", i)), -1) == i;
    ok(found && !value_get(v, "key") && !value_get(v, "key200000"), "and all are found");
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    ok(seconds < 5.0, "in no quadratic time (%.2f s)", seconds);
    b.len = end;
    buf_puts(&b, "\"key77\":0}");
    is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_SYNTAX, "a duplicate far away");
    has_text(e.text, "duplicate key \"key77\", first at 1:829", "is found with both places");
    for (int n = 14; n <= 20; n++) { /* around the size from which maps are hashed */
        buf_clear(&b);
        for (int i = 0; i < n; i++)
            buf_printf(&b, "%s\"%d\":0", i ? "," : "{", i);
        buf_puts(&b, ",\"0\":0}");
        is_int(json_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_SYNTAX, "duplicate in %d", n);
    }
}

static void test_round_trip(void)
{
    bool same = true, pretty = true, canonical = true;
    for (uint64_t seed = 1; seed <= 1500; seed++) {
        SCOPED_ARENA(a);
        struct rng r = {seed};
        struct value *v = gen_tree(&a, &r, 200), *back;
        for (int indent = 0; indent <= 4; indent += 2) {
            SCOPED_BUF(b);
            json_write(&b, v, indent);
            bool good = json_parse(&a, b.data, b.len, NULL, &back, NULL) == 0 &&
                        value_equal(v, back);
            same = same && good;
            bool branch = (v->kind == VALUE_LIST || v->kind == VALUE_MAP) && v->n;
            pretty = pretty && (strchr(b.data, '\n') != NULL) == (indent && branch);
        }
        SCOPED_BUF(one);
        SCOPED_BUF(two);
        json_write_canonical(&one, v);
        canonical = canonical && json_parse(&a, one.data, one.len, NULL, &back, NULL) == 0;
        json_write_canonical(&two, back);
        canonical = canonical && str_eq(buf_str(&one), buf_str(&two)) && value_equal(v, back);
    }
    ok(same, "1500 random trees survive writing and reading");
    ok(pretty, "and take several lines only when asked to");
    ok(canonical, "the canonical form is a fixed point");
}

/* No text with fewer digits may read back as the same number; the C library is the oracle. */
static void test_reals(void)
{
    struct rng r = {99};
    bool exact = true, shortest = true, real = true;
    for (int i = 0; i < 20000; i++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct value *v, *back;
        double d = gen_real(&r);
        if (i % 50 == 0)
            d = (double)rng_below(&r, 1000) * 5e-324;
        v = value_real(&a, d);
        json_write(&b, v, 0);
        real = real && json_parse(&a, b.data, b.len, NULL, &back, NULL) == 0 &&
               back->kind == VALUE_REAL;
        exact = exact && strtod(b.data, NULL) == d && value_equal(v, back);
        int digits = 0;
        const char *p = b.data + (b.data[0] == '-');
        for (bool lead = true; *p && *p != 'e'; p++) {
            lead = lead && (*p == '0' || *p == '.');
            digits += !lead && *p != '.';
        }
        char text[64];
        int least = 1;
        while (snprintf(text, sizeof text, "%.*e", least - 1, d), strtod(text, NULL) != d)
            least++;
        /* positional notation such as 1200.0 pads with zeros that are not digits of the number */
        if (strchr(b.data, 'e'))
            shortest = shortest && digits == least;
    }
    ok(real, "reals read back as reals");
    ok(exact, "20000 random reals read back equal");
    ok(shortest, "with as few digits as the C library needs");
}

/* A locale with a decimal comma, in a directory of our own: machines need not have any. */
static bool comma_make(const char *dir)
{
    char to[1024];
    int status = -1;
    snprintf(to, sizeof to, "%s/de_DE.UTF-8", dir);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("localedef", "localedef", "-i", "de_DE", "-f", "UTF-8", to, (char *)NULL);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    setenv("LOCPATH", dir, 1);
    return status == 0 && setlocale(LC_NUMERIC, "de_DE.UTF-8");
}

/* A program in another language must not write 0,5. */
static void test_locale(void)
{
    char *dir = workdir_new("locale");
    bool made = comma_make(dir);
    free(dir);
    if (!made) {
        skip("no locale with a decimal comma can be made: the package is locales");
        return;
    }
    char shown[16];
    snprintf(shown, sizeof shown, "%.1f", 0.5);
    is_text(shown, "0,5", "the C library writes a comma");
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    const char *text = "[0.5,1.2345678901234567e-100]";
    is_int(json_parse(&a, text, strlen(text), NULL, &v, NULL), 0, "read in a comma locale");
    json_write(&b, v, 0);
    is_text(b.data, text, "and written");
    setlocale(LC_NUMERIC, "C");
}

static void test_write(void)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    const char *text = "{\"b\":[1,{\"y\":[],\"x\":{}}],\"a\":null}";
    json_parse(&a, text, strlen(text), NULL, &v, NULL);
    json_write(&b, v, 2);
    is_text(b.data,
            "{\n  \"b\": [\n    1,\n    {\n      \"y\": [],\n      \"x\": {}\n    }\n  ],\n"
            "  \"a\": null\n}",
            "indented");
    buf_clear(&b);
    json_write_canonical(&b, v);
    is_text(b.data, "{\"a\":null,\"b\":[1,{\"x\":{},\"y\":[]}]}", "canonical");
    buf_clear(&b);
    json_write(&b, NULL, 0);
    json_write_canonical(&b, NULL);
    is_text(b.data, "nullnull", "absent is written as null");
    buf_clear(&b);
    json_write_string(&b, (struct str){"a\xFF"
                                       "b\xC3",
                                       4});
    is_text(b.data,
            "\"a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD\"",
            "what is not UTF-8 is replaced");
    buf_clear(&b);
    json_write_string(&b, str_of("12345678\x1f"
                                 "1234567\xE2\x82\xAC\"\\x"));
    is_text(b.data, "\"12345678\\u001f1234567\xE2\x82\xAC\\\"\\\\x\"", "escapes at any offset");
    buf_clear(&b);
    json_write_string(&b, str_of(NULL));
    is_text(b.data, "\"\"", "no text");
}

static void test_stream(void)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct jsonw w;
    struct value *inner;
    json_parse(&a, "{\"q\":[1]}", 9, NULL, &inner, NULL);
    jsonw_init(&w, &b);
    jsonw_map(&w);
    jsonw_key(&w, "id");
    jsonw_u64(&w, UINT64_MAX);
    jsonw_key(&w, "list");
    jsonw_list(&w);
    jsonw_i64(&w, -1);
    jsonw_list(&w);
    jsonw_end(&w);
    jsonw_map(&w);
    jsonw_end(&w);
    jsonw_text(&w, "t\"");
    jsonw_text(&w, NULL);
    jsonw_end(&w);
    jsonw_key(&w, "b");
    jsonw_bool(&w, true);
    jsonw_key(&w, "n");
    jsonw_null(&w);
    jsonw_key(&w, "s");
    jsonw_str(&w, (struct str){"slice", 2});
    jsonw_key(&w, "v");
    jsonw_value(&w, inner);
    jsonw_key(&w, "none");
    jsonw_value(&w, NULL);
    jsonw_end(&w);
    is_text(b.data,
            "{\"id\":18446744073709551615,\"list\":[-1,[],{},\"t\\\"\",null],\"b\":true,\"n\":null,"
            "\"s\":\"sl\",\"v\":{\"q\":[1]},\"none\":null}",
            "the streaming writer");
    buf_clear(&b);
    jsonw_init(&w, &b);
    for (int i = 0; i < 63; i++)
        jsonw_list(&w);
    jsonw_bool(&w, false);
    for (int i = 0; i < 63; i++)
        jsonw_end(&w);
    ok(b.len == 2 * 63 + 5 && w.depth == 0, "63 levels");
}

int main(void)
{
    test_accepts();
    test_refuses();
    test_error_line();
    test_places();
    test_depth();
    test_many_keys();
    test_round_trip();
    test_reals();
    test_locale();
    test_write();
    test_stream();
    return tap_done();
}
