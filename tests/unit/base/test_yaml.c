/* test_yaml.c - the YAML reader and writer */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/yaml.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "tap.h"
#include "tree_gen.h"

static int read_yaml(struct arena *a, const char *s, struct value **ret_v, struct err *e)
{
    struct yaml_options o = {.name = "in.yaml", .source = 3};
    return yaml_parse(a, s, strlen(s), &o, ret_v, e);
}

/* What is read, shown as JSON. */
static void test_reads(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"", "null"},
        {"# only a comment\n", "null"},
        {"---\n", "null"},
        {"---\n...\n", "null"},
        {"a: 1\n...\n", "{\"a\":1}"},
        {"--- {a: 1}\n", "{\"a\":1}"},
        {"%YAML 1.2\n---\na: 1\n", "{\"a\":1}"},
        {"a: 1\nb: [x, 2, 3.5]\nc: {d: e}\n", "{\"a\":1,\"b\":[\"x\",2,3.5],\"c\":{\"d\":\"e\"}}"},
        {"- a\n- - b\n  - c\n- d: 1\n  e: 2\n", "[\"a\",[\"b\",\"c\"],{\"d\":1,\"e\":2}]"},
        /* types */
        {"[null, Null, NULL, ~, ]", "[null,null,null,null]"},
        {"a:\nb: ~\n", "{\"a\":null,\"b\":null}"},
        {"[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]"},
        {"[yes, no, on, off, y, n, nULL, tRUE]",
         "[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"nULL\",\"tRUE\"]"},
        {"[0, -0, 7, +7, -7, 0x1F, 0xff]", "[0,0,7,7,-7,31,255]"},
        {"[010, 00, -01, 1_000, 0o17, 0b1, 0x, 0xg, 1e, 1 2, +, .]",
         "[\"010\",\"00\",\"-01\",\"1_000\",\"0o17\",\"0b1\",\"0x\",\"0xg\",\"1e\",\"1 "
         "2\",\"+\",\".\"]"},
        {"[2001-12-14, 12:30:45, 1.2.3, 10.0.0.1]",
         "[\"2001-12-14\",\"12:30:45\",\"1.2.3\",\"10.0.0.1\"]"},
        {"[9223372036854775807, -9223372036854775808, 9223372036854775808, -9223372036854775809]",
         "[9223372036854775807,-9223372036854775808,\"9223372036854775808\",\"-"
         "9223372036854775809\"]"},
        {"[0x7fffffffffffffff, 0x8000000000000000, 123456789012345678901]",
         "[9223372036854775807,\"0x8000000000000000\",\"123456789012345678901\"]"},
        {"[1.5, .5, 1., -1.5e3, 1e3, +.5E-1, 01.5, 1e400, .inf, .nan, -.inf]",
         "[1.5,0.5,1.0,-1500.0,1000.0,0.05,\"01.5\",\"1e400\",\".inf\",\".nan\",\"-.inf\"]"},
        {"['1', \"true\", '~', \"\"]", "[\"1\",\"true\",\"~\",\"\"]"},
        {"a: |\n  1\nb: >-\n  2\n  3\n", "{\"a\":\"1\\n\",\"b\":\"2 3\"}"},
        /* tags */
        {"[!!str 1, !!int \"5\", !!float 2, !!bool \"true\", !!null \"\", ! 7, !!int 0x10]",
         "[\"1\",5,2.0,true,null,\"7\",16]"},
        {"a: !!map {}\nb: !!seq []\nc: ! {}\n!!str d: 1\n", "{\"a\":{},\"b\":[],\"c\":{},\"d\":1}"},
        {"!<tag:yaml.org,2002:str> 5", "\"5\""},
        /* keys are text */
        {"1: a\ntrue: b\n~: c\n\"\": d\n'x y': e\n",
         "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\",\"\":\"d\",\"x y\":\"e\"}"},
        {"? a\n: 1\n? |\n  b\n: 2\n", "{\"a\":1,\"b\\n\":2}"},
        {"a:b: 1\nc: d:e\n", "{\"a:b\":1,\"c\":\"d:e\"}"},
        /* line ends, marks, escapes */
        {"a: 1\r\nb: |\r\n  x\r\n  y\r\n", "{\"a\":1,\"b\":\"x\\ny\\n\"}"},
        {"\xEF\xBB\xBF"
         "a: 1\n",
         "{\"a\":1}"},
        {"\xEF\xBB\xBF", "null"},
        {"a:\tb\n", "{\"a\":\"b\"}"},
        {"a: \"\\x41\\u00e9\\0\\n\\t\\e\"\n", "{\"a\":\"A\xC3\xA9\\u0000\\n\\t\\u001b\"}"},
        {"a: [\n1,\n2\n]\n", "{\"a\":[1,2]}"},
        {"{\"a\": [1, 2], \"b\": {\"c\": null}}", "{\"a\":[1,2],\"b\":{\"c\":null}}"},
        /* quoted text over several lines, and where libfyaml is wrong */
        {"'a''''b'", "\"a''b\""},
        {"'a \n\n  b\n  '' ''''c '", "\"a\\nb ' ''c \""},
        {"\"a\\\n  \n\n  bcd\"", "\"a\\n\\nbcd\""},
        {"\"a \\\n   \\ b\\t \n  c\\x20\r\n\r\n  d\"", "\"a  b\\t c \\nd\""},
        {"\"\\a\\b\\v\\f\\r\\/\\\\\\N\\_\\L\\P\\U0001F600\\\t\"",
         "\"\\u0007\\b\\u000b\\f\\r/"
         "\\\\\xC2\x85\xC2\xA0\xE2\x80\xA8\xE2\x80\xA9\xF0\x9F\x98\x80\\t\""},
        /* blocks of text */
        {"a: |\n", "{\"a\":\"\"}"},
        {"a: |\nb: 1\n", "{\"a\":\"\",\"b\":1}"},
        {"a: |+\n\n\nb: >+\n\n", "{\"a\":\"\\n\\n\",\"b\":\"\\n\"}"},
        {"a: |\n  x", "{\"a\":\"x\"}"},
        {"a: |+\n  x\n\n", "{\"a\":\"x\\n\\n\"}"},
        {"a: |-\n  x\n\n", "{\"a\":\"x\"}"},
        {"a: |\n  x\n     \n  y\n", "{\"a\":\"x\\n   \\ny\\n\"}"},
        {"a: |2\n   x\n  y\n", "{\"a\":\" x\\ny\\n\"}"},
        {"a:\n- |1-\n  x\n", "{\"a\":[\" x\"]}"},
        {"|\n x\n y\n", "\"x\\ny\\n\""},
        {"a: |\n\n  x\n # c\nb: 1\n", "{\"a\":\"\\nx\\n\",\"b\":1}"},
        {"a: >\n  b\n\n   c\n  d\n  e\n\n\n  f\n", "{\"a\":\"b\\n\\n c\\nd e\\n\\nf\\n\"}"},
        {"a: >\n\n  b\n  c\n", "{\"a\":\"\\nb c\\n\"}"},
        {"a: |\r  x\r  y\rb: 1\r", "{\"a\":\"x\\ny\\n\",\"b\":1}"},
        {"a:\n  - |\n    x\n  - y\n", "{\"a\":[\"x\\n\",\"y\"]}"},
        /* anchors, aliases, merges */
        {"a: &x [1, 2]\nb: *x\n", "{\"a\":[1,2],\"b\":[1,2]}"},
        {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
        {"&k key: 1\nb: *k\n", "{\"key\":1,\"b\":\"key\"}"},
        {"a: &e\nb: *e\n", "{\"a\":null,\"b\":null}"},
        {"base: &b {x: 1, y: 1}\nuse: {<<: *b, y: 2}\n",
         "{\"base\":{\"x\":1,\"y\":1},\"use\":{\"y\":2,\"x\":1}}"},
        {"base: &b {x: 1, y: 1}\nuse:\n  y: 2\n  <<: *b\n  z: 3\n",
         "{\"base\":{\"x\":1,\"y\":1},\"use\":{\"y\":2,\"z\":3,\"x\":1}}"},
        {"- &a {x: 1}\n- &b {x: 2, y: 2}\n- <<: [*a, *b]\n  z: 3\n",
         "[{\"x\":1},{\"x\":2,\"y\":2},{\"z\":3,\"x\":1,\"y\":2}]"},
        {"<<: {a: 1}\n", "{\"a\":1}"},
        {"<<: []\na: 1\n", "{\"a\":1}"},
        {"<<: {}\n", "{}"},
        {"\"<<\": 1\n", "{\"<<\":1}"},
        {"- <<\n", "[\"<<\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct value *v;
        struct err e = {0};
        int rc = read_yaml(&a, cases[i].text, &v, &e);
        if (!rc)
            json_write(&b, v, 0);
        is_text(rc ? e.text : b.data, cases[i].want, "read case %zu", i);
    }
}

static void test_refuses(void)
{
    static const struct {
        const char *text;
        int code;
        const char *at, *part, *line, *hint;
    } cases[] = {
        {"a: 1\nb: 2\na: 3\n", ERR_SYNTAX, "3:1", "duplicate key \"a\", first at 1:1", "a: 3",
         "remove"},
        {"x: {k: 1, \"k\": 2}\n", ERR_SYNTAX, "1:11", "duplicate key \"k\", first at 1:5",
         "x: {k: 1, \"k\": 2}", ""},
        {"a: 1\n---\nb: 2\n", ERR_SYNTAX, "2:1", "second document", "---", "split"},
        {"a: 1\n---\n", ERR_SYNTAX, "2:1", "second document", "---", "split"},
        {"[a]: 1\n", ERR_SYNTAX, "1:1", "a key must be text, not a list", "[a]: 1", "quotes"},
        {"{a: 1}: 1\n", ERR_SYNTAX, "1:1", "a key must be text, not a map", "", "quotes"},
        {"? - a\n: 1\n", ERR_SYNTAX, "1:3", "not a list", "", ""},
        {"a: &x 1\n*x : 2\n", ERR_SYNTAX, "2:1", "alias cannot be a key", "*x : 2", ""},
        {": 1\n", ERR_SYNTAX, "1:1", "a key is missing", ": 1", "empty"},
        {"a: *nope\n", ERR_SYNTAX, "1:4", "alias *nope has no anchor", "a: *nope", ""},
        {"base: &base 1\nb: *bsae\n", ERR_SYNTAX, "2:4", "alias *bsae", "b: *bsae", "*base"},
        {"a: &r [1, *r]\n", ERR_CYCLE, "1:11", "inside the value it names", "a: &r [1, *r]", ""},
        {"a: &r\n  <<: *r\n", ERR_CYCLE, "2:7", "inside the value it names", "  <<: *r", ""},
        {"a:\n  <<: 5\n", ERR_SYNTAX, "2:3", "found integer", "  <<: 5", "quote"},
        {"<<: [{a: 1}, 2]\n", ERR_SYNTAX, "1:1", "a map or a list of maps", "", ""},
        {"a: &x {}\nb:\n  <<: *x\n  <<: *x\n", ERR_SYNTAX, "4:3", "second <<", "  <<: *x",
         "[*first"},
        {"a: !foo 1\n", ERR_INVALID, "1:9", "tag !foo is not supported", "a: !foo 1", "remove"},
        {"a: !!binary aGk=\n", ERR_INVALID, "1:13", "binary", "", ""},
        {"a: !!int x\n", ERR_INVALID, "1:10", "does not fit", "", ""},
        {"a: !!float x\n", ERR_INVALID, "1:12", "does not fit", "", ""},
        {"a: !!map [1]\n", ERR_INVALID, "1:10", "not supported here", "", ""},
        {"a: !!set {b}\n", ERR_INVALID, "1:10", "not supported here", "", ""},
        {"a: !foo [1]\n", ERR_INVALID, "1:9", "not supported", "", ""},
        {"!foo a: 1\n", ERR_INVALID, "1:6", "not supported", "", ""},
        {"a: !!map 1\n", ERR_INVALID, "1:10", "not supported here", "", ""},
        {"a:\n  b: 1\n\tc: 2\n", ERR_SYNTAX, "3:", "tab", "", "spaces"},
        {"a:\n  b: |\n\n  c: d\n", ERR_SYNTAX, "2:6", "not indented", "  b: |", "indent"},
        {"a:\n  - >\n  - b\n", ERR_SYNTAX, "2:5", "not indented", "  - >", "write \"\""},
        {"a: 1\n b: 2\n", ERR_SYNTAX, "1:4", "multiline plain key", "a: 1", "indentation"},
        {"a: b: c\n", ERR_SYNTAX, "1:5", "", "a: b: c", "quotes"},
        {"a: \"b\n", ERR_SYNTAX, "", "", "", ""},
        {"a: [1, 2\n", ERR_SYNTAX, "", "", "", ""},
        {"{", ERR_SYNTAX, "1:2", "", "{", ""},
        {"a: @x\n", ERR_SYNTAX, "1:4", "'@'", "a: @x", ""},
        {"\xC3\xA9: \xC3\xA9: x\n", ERR_SYNTAX, "1:5", "", "\xC3\xA9: \xC3\xA9: x", ""},
        {"ok: 1\na: \"\\ud800\"\n", ERR_SYNTAX, "2:", "", "a: \"\\ud800\"", ""},
        {"a: b\xFF\n", ERR_SYNTAX, "1:5", "not UTF-8", "a: b?", "UTF-8"},
        {"a: 1\nb: \x01\n", ERR_SYNTAX, "2:4", "control character 0x01", "b: ?", "escape"},
        {"a: \x7f\n", ERR_SYNTAX, "1:4", "control character 0x7f", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        struct value *v = NULL;
        struct err e = {0};
        char at[64];
        int rc = read_yaml(&a, cases[i].text, &v, &e);
        snprintf(at, sizeof at, "in.yaml:%s", cases[i].at);
        ok(rc == -cases[i].code && !v, "case %zu is refused: %s", i, e.text);
        ok(!strncmp(e.at, at, strlen(at)), "case %zu: at %s", i, e.at);
        has_text(e.text, cases[i].part, "case %zu: what", i);
        has_text(e.hint, cases[i].hint, "case %zu: remedy", i);
        if (cases[i].line[0])
            is_text(e.line, cases[i].line, "case %zu: the line", i);
        rc = yaml_parse(&a, cases[i].text, strlen(cases[i].text), NULL, &v, NULL);
        is_int(rc, -cases[i].code, "case %zu without err and options", i);
    }
    SCOPED_ARENA(a);
    struct value *v;
    struct err e;
    is_int(yaml_parse(&a, "a\0b", 3, NULL, &v, &e), -ERR_SYNTAX, "a NUL does not end the file");
    is_text(e.at, "1:2", "but is an error where it is");
    is_int(yaml_parse(&a, NULL, 0, NULL, &v, &e), 0, "no text is a null");
    is_int(yaml_parse(&a, "x", (size_t)UINT32_MAX, NULL, &v, &e), -ERR_TOO_LARGE, "4 GiB");
}

static bool is_at(const struct value *v, unsigned line, unsigned column)
{
    if (v && v->line == line && v->column == column)
        return true;
    note("at %u:%u, wanted %u:%u", v ? v->line : 0, v ? v->column : 0, line, column);
    return false;
}

static void test_places(void)
{
    static const char text[] = "# comment\n"
                               "a: 1\n"                           /* 2 */
                               "\xC3\xA9\xE2\x82\xAC: &x \"q\"\n" /* 3 */
                               "list:\n"                          /* 4 */
                               "  - 'one'\n"                      /* 5 */
                               "  - {k: *x, \xC3\xA9: [2]}\n"     /* 6 */
                               "block: |\n"                       /* 7 */
                               "  text\n"                         /* 8 */
                               "fold: # with > inside\n"          /* 9 */
                               "  >-\n"                           /* 10 */
                               "\n"                               /* 11 */
                               "  more\n"                         /* 12 */
                               "none:\n"                          /* 13 */
                               "last: \t x\n";                    /* 14 */
    SCOPED_ARENA(a);
    struct value *v;
    is_int(read_yaml(&a, text, &v, NULL), 0, "read");
    ok(is_at(v, 2, 1), "the map is where its first key is");
    ok(is_at(value_at(v, "a"), 2, 4), "a plain value");
    ok(is_at(value_at(v, "\xC3\xA9\xE2\x82\xAC"), 3, 8), "a quoted value, columns in characters");
    ok(v->members[1].key_line == 3 && v->members[1].key_column == 1, "its key");
    ok(is_at(value_at(v, "list"), 5, 3), "a list is where its first dash is");
    ok(is_at(value_at(v, "list.0"), 5, 5), "a single-quoted item");
    ok(is_at(value_at(v, "list.1"), 6, 5), "a flow map");
    ok(is_at(value_at(v, "list.1.k"), 6, 9), "an alias");
    ok(value_at(v, "list.1")->members[1].key_column == 13, "a key in a flow map");
    ok(is_at(value_at(v, "list.1.\xC3\xA9"), 6, 16), "a list in it");
    ok(is_at(value_at(v, "block"), 7, 8), "a literal block is at its |");
    ok(is_at(value_at(v, "fold"), 10, 3), "a folded block is at its >");
    ok(value_at(v, "none") && value_at(v, "none")->line == 13,
       "an empty value is on its key's line");
    ok(is_at(value_at(v, "last"), 14, 9), "a tab is one column");
    is_int(value_at(v, "list.1.k")->source, 3, "the source number");
    is_int(v->source, 3, "of containers too");
    is_int(read_yaml(&a,
                     "\xEF\xBB\xBF"
                     "a: b\n",
                     &v, NULL),
           0, "with a byte order mark");
    ok(is_at(v, 1, 1) && is_at(value_at(v, "a"), 1, 4), "which is not counted");
    is_int(read_yaml(&a, "a: 1\r\nb: 2\r\n", &v, NULL), 0, "with CRLF");
    ok(is_at(value_at(v, "b"), 2, 4), "lines are counted once");
}

static void test_depth(void)
{
    static const char *const open[] = {"[", "{a: ", "- "};
    static const char *const close[] = {"]", "}", ""};
    for (int kind = 0; kind < 3; kind++) {
        for (int depth = 199; depth <= 10000; depth += depth < 202 ? 1 : 9798) {
            SCOPED_ARENA(a);
            SCOPED_BUF(b);
            struct value *v;
            struct err e = {0};
            for (int i = 0; i < depth; i++)
                buf_puts(&b, open[kind]);
            buf_putc(&b, 'x');
            for (int i = 0; i < depth; i++)
                buf_puts(&b, close[kind]);
            int rc = yaml_parse(&a, b.data, b.len, NULL, &v, &e);
            is_int(rc, depth <= 200 ? 0 : -ERR_LIMIT, "%d times \"%s\"", depth, open[kind]);
            ok(rc == 0 || (e.hint[0] && strstr(e.text, "200")), "limit and remedy are named");
            if (depth < 10000)
                continue;
            struct yaml_options deep = {.max_depth = 20000};
            is_int(yaml_parse(&a, b.data, b.len, &deep, &v, &e), 0,
                   "where it is allowed it is read");
        }
    }
    /* Each alias alone is flat, but together they nest: 120 + 120 levels. */
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    struct err e;
    buf_puts(&b, "- &a ");
    for (int i = 0; i < 120; i++)
        buf_putc(&b, '[');
    for (int i = 0; i < 120; i++)
        buf_putc(&b, ']');
    buf_puts(&b, "\n- ");
    for (int i = 0; i < 120; i++)
        buf_putc(&b, '[');
    buf_puts(&b, "*a");
    for (int i = 0; i < 120; i++)
        buf_putc(&b, ']');
    is_int(yaml_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_LIMIT, "depth through aliases counts");
}

static void test_budget(void)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    struct err e;
    buf_puts(&b, "a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 9; i++) {
        buf_printf(&b, "a%d: &a%d [", i, i);
        for (int k = 0; k < 9; k++)
            buf_printf(&b, "%s*a%d", k ? ", " : "", i - 1);
        buf_puts(&b, "]\n");
    }
    clock_t before = clock();
    is_int(yaml_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_LIMIT, "a billion laughs");
    ok(clock() - before < CLOCKS_PER_SEC && a.total_bytes < 10 << 20, "end soon and cost little");
    has_text(e.text, "1000000", "the limit is named");
    ok(strstr(e.hint, "aliases") && e.line[0], "with the remedy and the line");

    buf_clear(&b);
    buf_puts(&b, "m0: &m0 {");
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "k%d: 1, ", i);
    buf_puts(&b, "}\n");
    for (int i = 1; i < 200; i++)
        buf_printf(&b, "m%d: &m%d {<<: *m%d, x%d: 1}\n", i, i, i - 1, i);
    struct yaml_options small = {.max_values = 20000};
    is_int(yaml_parse(&a, b.data, b.len, &small, &v, &e), -ERR_LIMIT, "merging counts as well");
    is_int(yaml_parse(&a, b.data, b.len, NULL, &v, &e), 0, "and is fine within the budget");
    const struct value *last = value_get(v, "m199");
    ok(last && last->n == 299 && value_get(last, "k99") && value_get(last, "x1"),
       "maps merged over 199 generations have all keys");
    small.max_values = 3;
    is_int(yaml_parse(&a, "[1, 2]", 6, &small, &v, &e), 0, "a budget of three: list and two items");
    is_int(yaml_parse(&a, "[1, 2, 3]", 9, &small, &v, &e), -ERR_LIMIT, "not three items");
    is_int(yaml_parse(&a, "{a: 1, b: 2}", 12, &small, &v, &e), 0, "keys are not counted");
    small.max_values = UINT32_MAX;
    is_int(yaml_parse(&a, "[1]", 3, &small, &v, &e), 0, "the largest budget");
}

struct doubles {
    struct buf said;
};

static void double_note(void *ctx, struct str key, uint32_t line, uint32_t last_line)
{
    struct doubles *d = ctx;
    buf_printf(&d->said, "%.*s %u %u;", (int)key.n, key.s, line, last_line);
}

/* Files of others may name a key twice; who reads them hears of it, and the last one stands. */
static void test_duplicates_told(void)
{
    static const char text[] = "a: 1\n"
                               "b: {x: 1, y: 2, x: 3}\n"
                               "a: 2\n"
                               "c: &m {p: 1, p: 2}\n"
                               "a: 3\n"
                               "d: {<<: *m, q: 1, q: 2}\n";
    SCOPED_ARENA(a);
    struct doubles d = {0};
    struct yaml_options o = {.duplicate = double_note, .ctx = &d};
    struct value *v = NULL;
    struct err e;
    is_int(yaml_parse(&a, text, sizeof text - 1, &o, &v, &e), 0, "duplicates that are told");
    is_text(buf_str(&d.said).s, "x 2 2;p 4 4;q 6 6;a 1 5;a 3 5;", "each but the last");
    is_int(v->n, 4, "four keys are left");
    is_int(value_as_int(value_get(v, "a"), 0), 3, "the last stands");
    is_int(value_as_int(value_at(v, "b.x"), 0), 3, "inside as well");
    is_int(value_as_int(value_at(v, "d.p"), 0), 2, "and is what is merged");
    is_int(value_as_int(value_at(v, "d.q"), 0), 2, "beside a merge too");
    buf_done(&d.said);
}

static void test_many_keys(void)
{
    enum { KEYS = 50000 };
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *v;
    struct err e;
    for (int i = 0; i < KEYS; i++)
        buf_printf(&b, "key%d: %d\n", i, i);
    clock_t before = clock();
    is_int(yaml_parse(&a, b.data, b.len, NULL, &v, &e), 0, "%d keys", KEYS);
    ok(v->n == KEYS && value_as_int(value_get(v, "key49999"), 0) == 49999, "all there");
    double seconds = (double)(clock() - before) / CLOCKS_PER_SEC;
    ok(seconds < 10.0, "in no quadratic time (%.2f s)", seconds);
    buf_puts(&b, "key3: 1\n");
    is_int(yaml_parse(&a, b.data, b.len, NULL, &v, &e), -ERR_SYNTAX, "a duplicate far away");
    has_text(e.text, "first at 4:1", "with both places");
    is_text(e.at, "50001:1", "(the second here)");
}

static void test_write(void)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"null", "null\n"},
        {"[]", "[]\n"},
        {"{}", "{}\n"},
        {"\"\"", "\"\"\n"},
        {"\"a\\nb\\n\"", "\"a\\nb\\n\"\n"},
        {"{\"a\":1,\"b\":[1,2.5,true,null],\"c\":{}}",
         "a: 1\nb:\n  - 1\n  - 2.5\n  - true\n  - null\nc: {}\n"},
        {"[[1,[2]],{\"x\":{\"y\":[3]},\"z\":[]}]",
         "- - 1\n  - - 2\n- x:\n    y:\n      - 3\n  z: []\n"},
        {"[\"yes\",\"no\",\"true\",\"null\",\"~\",\"1\",\"1.5\",\"0x1\",\"010\",\"\",\"<<\"]",
         "- yes\n- no\n- \"true\"\n- \"null\"\n- \"~\"\n- \"1\"\n- \"1.5\"\n- \"0x1\"\n- 010\n- "
         "\"\"\n- \"<<\"\n"},
        {"[\"a: b\",\"a #b\",\"a#b\",\"a:b\",\" a\",\"a \",\"- "
         "a\",\"-a\",\"?a\",\"*a\",\"a:\",\"a,b\"]",
         "- \"a: b\"\n- \"a #b\"\n- a#b\n- a:b\n- \" a\"\n- \"a \"\n- \"- a\"\n- -a\n- ?a\n- "
         "\"*a\"\n- \"a:\"\n- a,b\n"},
        {"[\"x\\ty\",\"\\u0000\\u0001\\u007f\\u00a0\\u2028\\ufeff\\\"\\\\\\r\"]",
         "- \"x\\ty\"\n- \"\\0\\x01\\x7f\xC2\xA0\\u2028\\ufeff\\\"\\\\\\r\"\n"},
        {"{\"s\":\"#!/bin/sh\\necho hi\\n\",\"t\":\"a\\nb\",\"u\":\"a\\n\\n\",\"v\":\"a\\n\\n  "
         "b\\n\"}",
         "s: |\n  #!/bin/sh\n  echo hi\nt: |-\n  a\n  b\nu: |+\n  a\n\nv: |\n  a\n\n    b\n"},
        {"{\"s\":\" a\\nb\",\"t\":\"\\na\",\"u\":\"\\n\",\"v\":\"a\\tb\\nc\"}",
         "s: \" a\\nb\"\nt: \"\\na\"\nu: \"\\n\"\nv: \"a\\tb\\nc\"\n"},
        {"{\"true\":1,\"a b\":2,\"\":3,\"<<\":4,\"a: b\":5,\"-\":6}",
         "\"true\": 1\na b: 2\n\"\": 3\n\"<<\": 4\n\"a: b\": 5\n\"-\": 6\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct value *v, *back;
        json_parse(&a, cases[i].json, strlen(cases[i].json), NULL, &v, NULL);
        yaml_write(&b, v);
        is_text(b.data, cases[i].want, "write %s", cases[i].json);
        ok(yaml_parse(&a, b.data, b.len, NULL, &back, NULL) == 0 && value_equal(v, back),
           "and it reads back");
    }
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *m = value_map(&a), *back;
    char key[3000];
    memset(key, 'k', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    struct value *inner = value_map(&a);
    value_put_int(&a, inner, key, 1);
    value_set(&a, m, key, inner);
    struct value *list = value_list(&a);
    value_add(&a, list, inner);
    value_set(&a, m, "list", list);
    yaml_write(&b, m);
    ok(yaml_parse(&a, b.data, b.len, NULL, &back, NULL) == 0 && value_equal(m, back),
       "keys too long for one line read back");
    buf_clear(&b);
    yaml_write(&b, NULL);
    is_text(b.data, "null\n", "absent is written as null");
    buf_clear(&b);
    yaml_write(&b, value_str(&a, (struct str){"a\xFF", 2}));
    is_text(b.data, "\"a\xEF\xBF\xBD\"\n", "what is not UTF-8 is replaced");
}

static void test_round_trip(void)
{
    bool same = true;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct rng r = {seed};
        struct value *v = gen_tree(&a, &r, 120), *back;
        struct err e = {0};
        yaml_write(&b, v);
        int rc = yaml_parse(&a, b.data, b.len, NULL, &back, &e);
        if (rc || !value_equal(v, back)) {
            char text[1200];
            note("seed %llu: %s", (unsigned long long)seed,
                 rc ? err_format(&e, text, sizeof text) : "differs");
            same = false;
            break;
        }
    }
    ok(same, "3000 random trees survive writing and reading");
}

/* YAML is a superset of the JSON that we write, but for whole numbers beyond 64 bits. */
static void test_json_is_yaml(void)
{
    bool same = true;
    for (uint64_t seed = 1; seed <= 1000 && same; seed++) {
        SCOPED_ARENA(a);
        SCOPED_BUF(b);
        struct rng r = {seed * 31};
        struct value *v = gen_tree(&a, &r, 100), *back;
        struct err e = {0};
        json_write(&b, v, seed % 2 ? 0 : 2);
        if (memchr(b.data, 0x7f, b.len))
            continue; /* raw DEL is allowed in JSON, not in YAML */
        int rc = yaml_parse(&a, b.data, b.len, NULL, &back, &e);
        same = rc == 0 && value_equal(v, back);
        if (!same)
            note("seed %llu: %s %s\n# %s", (unsigned long long)seed, e.text, e.line, b.data);
    }
    ok(same, "1000 random trees written as JSON are read as YAML");
}

/* Nothing that libfyaml thinks may reach the terminal. */
static void test_silent(void)
{
    SCOPED_ARENA(a);
    struct value *v;
    struct err e;
    int fd = memfd_create("stderr", 0), saved = dup(STDERR_FILENO);
    dup2(fd, STDERR_FILENO);
    static const char *const bad[] = {"a: [",        "\ta: 1",  "a: 'x",  "}",
                                      "%FOO\n--- a", "a: b: c", "&a &b c"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        (void)read_yaml(&a, bad[i], &v, &e);
    dup2(saved, STDERR_FILENO);
    close(saved);
    is_int(lseek(fd, 0, SEEK_END), 0, "errors write nothing to stderr");
    close(fd);
}

int main(void)
{
    test_reads();
    test_refuses();
    test_places();
    test_depth();
    test_budget();
    test_duplicates_told();
    test_many_keys();
    test_write();
    test_round_trip();
    test_json_is_yaml();
    test_silent();
    return tap_done();
}
