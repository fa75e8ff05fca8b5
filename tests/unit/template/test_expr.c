/* test_expr.c - expressions: what is ours and not Jinja2's, errors and their places, bounds
 *
 * What both languages have is in expressions.txt, which check_jinja.py evaluates with both.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"

#include "base/json.h"
#include "tap.h"

static const char scope_text[] =
    "{\"n\": 7, \"s\": \"text\", \"l\": [3, 1, 2], \"nil\": null, \"node\": {\"name\": \"db1\","
    " \"cpus\": 4, \"labels\": {\"rack\": \"r1\"}}, \"taken\": [\"10.0.0.5\", \"10.0.0.6/24\","
    " \"fd00::1\", \"10.0.0.9\"], \"m\": {\"a\": {\"x\": 1, \"y\": [1]}, \"b\": 2}}";

struct world {
    struct arena mem;
    struct value *map;
    struct expr_var vars[16];
    struct expr_scope scope;
};

static void world_init(struct world *w)
{
    arena_init(&w->mem);
    if (json_parse(&w->mem, scope_text, strlen(scope_text), NULL, &w->map, NULL) < 0)
        abort();
    for (uint32_t i = 0; i < w->map->n; i++)
        w->vars[i] = (struct expr_var){{w->map->members[i].key, w->map->members[i].key_n},
                                       &w->map->members[i].v};
    w->scope = (struct expr_scope){.vars = w->vars, .n = w->map->n};
}

/* The result as JSON, "undefined", or the error as a person sees it. */
static const char *evaluate(struct world *w, const struct expr_options *o, const char *text)
{
    static char out[4096];
    SCOPED_BUF(json);
    struct err e;
    const struct expr *x;
    const struct value *v;
    if (expr_compile(&w->mem, str_of(text), o, &x, &e) < 0 ||
        expr_eval(x, &w->scope, &w->mem, &v, &e) < 0)
        return err_format(&e, out, sizeof out);
    if (!v)
        return "undefined";
    json_write(&json, v, 0);
    snprintf(out, sizeof out, "%s", json.data);
    return out;
}

struct row {
    const char *text, *want;
};

static const struct row ours[] = {
    /* filters */
    {"'a,b,,c'|split(',')", "[\"a\",\"b\",\"\",\"c\"]"},
    {"' a  b '|split", "[\"a\",\"b\"]"},
    {"' a  b  c '|split(none, 1)", "[\"a\",\"b  c\"]"},
    {"''|split", "[]"},
    {"''|split(',')", "[\"\"]"},
    {"'a-b-c'|split('-', 1)", "[\"a\",\"b-c\"]"},
    {"'a-b-c'|split('-', maxsplit=0)", "[\"a-b-c\"]"},
    {"'yes'|bool", "true"},
    {"' On '|bool", "true"},
    {"'FALSE'|bool", "false"},
    {"''|bool", "false"},
    {"0.0|bool", "false"},
    {"none|bool", "false"},
    {"m|keys", "[\"a\",\"b\"]"},
    {"m|values|last", "2"},
    {"'{\"a\": [1, 2.5]}'|fromjson", "{\"a\":[1,2.5]}"},
    {"(m|tojson|fromjson) == m", "true"},
    {"'db12'|regex_match('^([a-z]+)([0-9]+)$')", "[\"db12\",\"db\",\"12\"]"},
    {"'db12'|regex_match('x')", "null"},
    {"'a'|regex_match('(a)|(b)')", "[\"a\",\"a\",null]"},
    {"('db12'|regex_match('[0-9]+'))[0]|int + 1", "13"},
    {"'a1b22'|regex_replace('[0-9]+', '<\\\\0>')", "\"a<1>b<22>\""},
    {"'a1b22'|regex_replace('([a-z])([0-9])', '\\\\2\\\\1', 1)", "\"1ab22\""},
    {"'abc'|regex_replace('x*', '-')", "\"-a-b-c-\""},
    {"'aaa'|regex_replace('^a', 'b')", "\"baa\""},
    {"'\xC3\xA4\xC3\xB6'|regex_replace('q*', '.')", "\".\xC3\xA4.\xC3\xB6.\""},
    {"'a.b'|regex_replace('[.]', '\\\\\\\\')", "\"a\\\\b\""},
    {"'ab'|regex_replace('(a)|(x)', '[\\\\2]')", "\"[]b\""},
    {"'db1' is match('^db[0-9]$')", "true"},
    {"'db1' is not match '^x'", "true"},
    {"['db1', 'web1']|select('match', '^db')", "[\"db1\"]"},
    {"m|combine({'a': {'x': 9, 'z': 3}})", "{\"a\":{\"x\":9,\"y\":[1],\"z\":3},\"b\":2}"},
    {"m|combine({'b': none}, {'c': 1})", "{\"a\":{\"x\":1,\"y\":[1]},\"b\":null,\"c\":1}"},
    {"{}|combine", "{}"},
    /* addresses */
    {"cidr_contains('10.1.0.0/16', '10.1.255.3')", "true"},
    {"cidr_contains('10.1.0.0/16', '10.2.0.1')", "false"},
    {"cidr_contains('10.1.0.0/16', '10.1.4.0/24')", "true"},
    {"cidr_contains('10.1.4.0/24', '10.1.0.0/16')", "false"},
    {"cidr_contains('0.0.0.0/0', '255.255.255.255')", "true"},
    {"cidr_contains('fd00::/8', 'fd12:3456::1')", "true"},
    {"cidr_contains('::/0', 'fe80::1')", "true"},
    {"cidr_contains('fd00::/8', '10.0.0.1')", "false"},
    {"cidr_host('10.1.2.3/16', 5)", "\"10.1.0.5\""},
    {"cidr_host('10.1.0.0/16', -1)", "\"10.1.255.255\""},
    {"cidr_host('10.1.0.4/32', 0)", "\"10.1.0.4\""},
    {"cidr_host('fd00::/64', 256)", "\"fd00::100\""},
    {"cidr_host('::/0', -1)", "\"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\""},
    {"cidr_network('10.1.2.3/16')", "\"10.1.0.0\""},
    {"cidr_network('fd00:1:2:3::9/48')", "\"fd00:1:2::\""},
    {"cidr_prefix('10.1.2.3/16')", "16"},
    {"cidr_prefix('::/0')", "0"},
    {"addr_next('10.0.0.255')", "\"10.0.1.0\""},
    {"addr_next('fd00::ffff')", "\"fd00::1:0\""},
    {"address_free('10.0.0.5', '10.0.0.9', taken)", "\"10.0.0.7\""},
    {"address_free('10.0.0.1', '10.0.0.9', taken)", "\"10.0.0.1\""},
    {"address_free('10.0.0.5', '10.0.0.6', taken)", "undefined"},
    {"address_free('10.0.0.5', '10.0.0.5', ['10.0.0.5', '10.0.0.5'])", "undefined"},
    {"address_free('10.0.0.5', '10.0.0.7', ['10.0.0.5', '10.0.0.5', '10.0.0.6'])", "\"10.0.0.7\""},
    {"address_free('255.255.255.255', '255.255.255.255', [])", "\"255.255.255.255\""},
    {"address_free('fd00::1', 'fd00::f', taken)", "\"fd00::2\""},
    {"address_free('10.0.0.5', '10.0.0.9', {'10.0.0.5': 'db1'})", "\"10.0.0.6\""},
    {"address_free('10.0.0.5', '10.0.0.6', taken) is defined", "false"},
    /* our own ways */
    {"(1, 2) == [1, 2]", "true"},
    {"n is number if nil else 'x'", "\"x\""},
    {"m.keys|default('no such key')", "\"no such key\""},
    {"'a' * 1000000 if false else 'short'", "\"short\""},
};

/* Errors as people see them: place, text, line, caret, hint. */
static const struct row errors[] = {
    {"", "1:1: an empty expression\n    ^"},
    {"  ", "1:1: an empty expression\n      \n    ^"},
    {"nope", "undefined"},
    {"zzz + 1", "1:1: zzz is undefined\n    zzz + 1\n    ^"},
    {"nod.name", "1:1: nod is undefined\n    nod.name\n    ^ did you mean \"node\"?"},
    {"node.nam ~ 'x'",
     "1:6: node.nam is undefined\n    node.nam ~ 'x'\n         ^ did you mean \"name\"?"},
    {"node.labels.shelf.number",
     "1:13: node.labels.shelf is undefined\n    node.labels.shelf.number\n                ^"},
    {"1 + node['labels']['rak']",
     "1:20: node['labels']['rak'] is undefined\n    1 + node['labels']['rak']\n"
     "                       ^"},
    {"l[5] + 1", "1:3: l[5] is undefined\n    l[5] + 1\n      ^"},
    {"(1 if false) + 1", "1:4: 1 if false is undefined\n    (1 if false) + 1\n       ^ its "
                         "condition is false and there "
                         "is no else"},
    {"[1,\n n.b.c]", "2:4: n.b is undefined\n     n.b.c]\n       ^"},
    {"n +", "1:4: expected a value, found the end\n    n +\n       ^"},
    {"n = 1", "1:3: expected an operator or the end, found =\n    n = 1\n      ^ equality is =="},
    {"n && l", "1:3: unexpected '&'\n    n && l\n      ^ write \"and\", \"or\" and \"not\""},
    {"'abc", "1:1: a string that is never closed\n    'abc\n    ^"},
    {"'a\\ud800'", "1:3: an escape that is no character\n    'a\\ud800'\n      ^"},
    {"'\\xg0'", "1:2: an escape that is no character\n    '\\xg0'\n     ^"},
    {"n + \xC3\xA9",
     "1:5: unexpected '\xC3\xA9'\n    n + \xC3\xA9\n        ^ a key with such letters is "
     "written [\"...\"]"},
    {"n \xFF", "1:3: a byte that is not UTF-8\n    n ?\n      ^"},
    {"n \x01", "1:3: a control character\n    n ?\n      ^"},
    {"1e999", "1:1: a number too large for a double\n    1e999\n    ^"},
    {"9223372036854775808",
     "1:1: an integer that does not fit 64 bits\n    9223372036854775808\n    ^"},
    {"9223372036854775807 + n", "1:21: the result does not fit 64 bits\n    9223372036854775807 + "
                                "n\n                        ^"},
    {"1 / (n - 7)", "1:3: division by zero\n    1 / (n - 7)\n      ^"},
    {"1.5 % 0", "1:5: division by zero\n    1.5 % 0\n        ^"},
    {"1e308 * 10", "1:7: the result is no finite number\n    1e308 * 10\n          ^"},
    {"(0 - 8) ** 0.5", "1:9: the result is no finite number\n    (0 - 8) ** 0.5\n            ^"},
    {"'a' + n", "1:5: + cannot be applied to text and an integer\n    'a' + n\n        ^ ~ joins "
                "texts of anything"},
    {"l // m", "1:3: // cannot be applied to a list and a map\n    l // m\n      ^"},
    {"n < s", "1:3: an integer and text have no order\n    n < s\n      ^"},
    {"n in n", "1:3: what is behind \"in\" must be a list, a map or text, not an integer\n    n in "
               "n\n      ^"},
    {"s|uper", "1:3: there is no filter \"uper\"\n    s|uper\n      ^ did you mean \"upper\"?"},
    {"s is strin",
     "1:6: there is no test \"strin\"\n    s is strin\n         ^ did you mean \"string\"?"},
    {"rang(3)", "1:1: there is no function \"rang\"\n    rang(3)\n    ^ did you mean \"range\"?"},
    {"upper(s)",
     "1:1: there is no function \"upper\"\n    upper(s)\n    ^ it is a filter: x|upper"},
    {"s.upper()",
     "1:8: only functions can be called\n    s.upper()\n           ^ values have no methods; use "
     "a filter, as in x|upper"},
    {"s|replace('a')",
     "1:3: replace needs 3 arguments: s old new count\n    s|replace('a')\n      ^"},
    {"s|upper(1)", "1:9: upper takes at most 1 argument\n    s|upper(1)\n            ^"},
    {"s|replace('a', x=1)",
     "1:16: replace has no argument \"x\"\n    s|replace('a', x=1)\n                   ^"},
    {"s|replace(old='a', 'b')",
     "1:20: an argument without a name behind a named one\n    s|replace(old='a', 'b')\n"
     "                       ^"},
    {"l|sort(true, reverse=true)",
     "1:14: sort is given this argument twice\n    l|sort(true, reverse=true)\n                 ^"},
    {"s is string 5", "1:13: string takes no argument\n    s is string 5\n                ^"},
    {"s is 5", "1:6: expected the name of a test, found 5\n    s is 5\n         ^"},
    {"s|5", "1:3: expected the name of a filter, found 5\n    s|5\n      ^"},
    {"l|join(1, 'zz')", "1:3: join: item 0 has no \"zz\"\n    l|join(1, 'zz')\n      ^"},
    {"l|map(attribute='zz')", "1:3: map: item 0 has no \"zz\"\n    l|map(attribute='zz')\n      ^"},
    {"l|map('upper', 1)", "1:3: map: upper cannot take 1 argument\n    l|map('upper', 1)\n      ^"},
    {"['a', 1]|map('split')",
     "1:10: split: value must be text, not an integer\n    ['a', 1]|map('split')\n             ^"},
    {"[[]]|map('first')", "1:6: map: item 0 becomes undefined\n    [[]]|map('first')\n         ^"},
    {"l|map(5)", "1:3: map: filter must be text, not an integer\n    l|map(5)\n      ^"},
    {"l|select(5)", "1:3: select: test must be text, not an integer\n    l|select(5)\n      ^"},
    {"s|split('')", "1:3: split: the separator is empty\n    s|split('')\n      ^"},
    {"s|split(1)", "1:3: split: separator must be text, not an integer\n    s|split(1)\n      ^"},
    {"s|replace('a', 'b', 'c')",
     "1:3: replace: count must be an integer, not text\n    s|replace('a', 'b', 'c')\n      ^"},
    {"'maybe'|bool",
     "1:9: bool: \"maybe\" is neither true nor false\n    'maybe'|bool\n            ^"},
    {"l|bool",
     "1:3: bool: value must be a boolean, a number or text, not a list\n    l|bool\n      ^"},
    {"'{'|fromjson",
     "1:5: fromjson: 1:2 of the text: expected a key in double quotes or '}', found end "
     "of text\n    '{'|fromjson\n        ^"},
    {"n|fromjson", "1:3: fromjson: value must be text, not an integer\n    n|fromjson\n      ^"},
    {"m|tojson(0)",
     "1:3: tojson: indent must be an integer from 1 to 16\n    m|tojson(0)\n      ^"},
    {"m|combine(5)",
     "1:3: combine: what is combined must be a map, not an integer\n    m|combine(5)\n      ^"},
    {"s|regex_match('(')", "1:3: regex_match: pattern does not compile: Unmatched ( or \\(\n    "
                           "s|regex_match('(')\n      ^"},
    {"s is match('\\\\d')",
     "1:6: match: \\d means nothing in a POSIX pattern; write a set, such as [0-9] or [[:space:]]\n"
     "    s is match('\\\\d')\n         ^"},
    {"s|regex_replace('a', 5)", "1:3: regex_replace: replacement must be text, not an integer\n    "
                                "s|regex_replace('a', 5)\n      ^"},
    {"n|regex_match('a')",
     "1:3: regex_match: value must be text, not an integer\n    n|regex_match('a')\n      ^"},
    {"s|regex_match(5)",
     "1:3: regex_match: pattern must be text, not an integer\n    s|regex_match(5)\n      ^"},
    {"{n: 1}", "1:1: a key of a map must be text, not an integer\n    {n: 1}\n    ^"},
    {"l[1:'a']", "1:3: a bound of a slice must be an integer, not text\n    l[1:'a']\n      ^"},
    {"cidr_host('10.0.0.0/24', 256)", "1:1: cidr_host: 10.0.0.0/24 has no address number 256\n    "
                                      "cidr_host('10.0.0.0/24', 256)\n    ^"},
    {"cidr_host('10.0.0.0/24', 's')",
     "1:1: cidr_host: n must be an integer, not text\n    cidr_host('10.0.0.0/24', 's')\n    ^"},
    {"cidr_prefix('10.0.0.0')",
     "1:1: cidr_prefix: net: \"10.0.0.0\" is not a network\n    cidr_prefix('10.0.0.0')\n    ^"},
    {"cidr_prefix('10.0.0.0/33')", "1:1: cidr_prefix: net: \"10.0.0.0/33\" is not a network\n    "
                                   "cidr_prefix('10.0.0.0/33')\n    ^"},
    {"cidr_prefix('10.0.0/8')",
     "1:1: cidr_prefix: net: \"10.0.0/8\" is not a network\n    cidr_prefix('10.0.0/8')\n    ^"},
    {"cidr_prefix(5)",
     "1:1: cidr_prefix: net must be text, not an integer\n    cidr_prefix(5)\n    ^"},
    {"cidr_contains('10.0.0.0/8', 'x')",
     "1:1: cidr_contains: addr: \"x\" is not an address or a network\n    "
     "cidr_contains('10.0.0.0/8', 'x')\n    ^"},
    {"addr_next('255.255.255.255')", "1:1: addr_next: there is no address behind 255.255.255.255\n "
                                     "   addr_next('255.255.255.255')\n    ^"},
    {"addr_next('10.0.0.0/8')",
     "1:1: addr_next: addr: \"10.0.0.0/8\" is not an address\n    addr_next('10.0.0.0/8')\n    ^"},
    {"address_free('10.0.0.1', 'fd00::1', [])",
     "1:1: address_free: first and last are addresses of two kinds\n    "
     "address_free('10.0.0.1', 'fd00::1', [])\n    ^"},
    {"address_free('10.0.0.2', '10.0.0.1', [])", "1:1: address_free: first lies behind last\n    "
                                                 "address_free('10.0.0.2', '10.0.0.1', [])\n    ^"},
    {"address_free('10.0.0.1', '10.0.0.2', 5)",
     "1:1: address_free: taken must be a list or a map, not an integer\n    "
     "address_free('10.0.0.1', '10.0.0.2', 5)\n    ^"},
    {"address_free('10.0.0.1', '10.0.0.2', ['x'])",
     "1:1: address_free: taken: \"x\" is not an address or a network\n    "
     "address_free('10.0.0.1', '10.0.0.2', ['x'])\n    ^"},
    {"range(1, 's')", "1:1: range: stop must be an integer, not text\n    range(1, 's')\n    ^"},
};

static void test_rows(struct world *w, const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        is_text(evaluate(w, NULL, rows[i].text), rows[i].want, "%.*s",
                (int)strcspn(rows[i].text, "\n\x01\xff"), rows[i].text);
}

/* --- places --- */

static void test_origin(struct world *w)
{
    struct expr_options o = {.origin = {"roles/db.yaml", 12, 9}};
    char text[1000];
    has_text(evaluate(w, &o, "n + nope"), "roles/db.yaml:12:13: nope is undefined",
             "the first line begins at the origin's column");
    has_text(evaluate(w, &o, "n +\n nope"), "roles/db.yaml:13:2: nope is undefined",
             "a later line has its own columns");
    o.origin = (struct expr_origin){.file = "x.yaml"};
    has_text(evaluate(w, &o, "n nope"), "x.yaml:1:3: expected an operator",
             "an origin without line");
    memset(text, ' ', 200);
    memcpy(text + 200, "nope + \xC3\xA4", 10);
    has_text(evaluate(w, NULL, text), "1:208: unexpected", "a long line has all its columns");
    has_text(evaluate(w, NULL, text), "^ a key", "and a caret below the part that is shown");
    memset(text, 'x', 300);
    memcpy(text + 300, " + 1", 5);
    const char *shown = evaluate(w, NULL, text);
    ok(strlen(shown) < 600 && strstr(shown, "is undefined"), "a long name is cut in the message");
}

/* --- limits --- */

static const char *repeated(const char *before, const char *part, size_t times, const char *behind)
{
    static char text[3 * 65536];
    size_t n = 0;
    n += (size_t)snprintf(text, sizeof text, "%s", before);
    for (size_t i = 0; i < times; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s", part);
    snprintf(text + n, sizeof text - n, "%s", behind);
    return text;
}

static void test_limits(struct world *w)
{
    static const struct row rows[] = {
        {"range(1000000)", "1:1: range: more steps of evaluation than the limit of 100000"},
        {"'ab' * 600000", "more bytes in memory than the limit of 1048576"},
        {"'ab' * 9223372036854775807", "more bytes in memory than the limit of 1048576"},
        {"[1] * 9223372036854775807", "more steps of evaluation than the limit of 100000"},
        {"range(20000) ~ range(20000) ~ range(20000)", "more bytes in memory"},
        {"range(600)|select('in', range(600))", "in: more steps of evaluation"},
        {"('a' * 500000) ~ ('b' * 300000) ~ ('c' * 200000) ~ ('d' * 100000)",
         "more bytes in memory"},
        {"('a' * 100000) * 5 + 'x' * 100000 * 5", "more bytes in memory"},
        {"('a' * 70000)|regex_match('a')", "regex_match: text of 70000 bytes, 65536 is the limit"},
        {"('[' * 201)|fromjson", "fromjson: 1:201 of the text: nested more than 200 levels deep"},
        {"('a' * 3000)|replace('', 'b' * 1000)", "replace: more bytes in memory"},
        {"('a' * 3000)|replace('a', 'b' * 1000)", "replace: more bytes in memory"},
        {"('a' * 3000)|regex_replace('a', 'b' * 1000)", "regex_replace: more bytes in memory"},
        {"('a,' * 60000)|split(',')", "split: more steps of evaluation"},
        {"('a ' * 60000)|split", "split: more steps of evaluation"},
        {"range(300)|map('regex_match', 'a')", "value must be text"},
        {"['ab'|regex_match(x ~ '') for x in range(3000)]",
         "regex_match: more steps of evaluation"},
        {"range(20000)|sort", "sort: more"},
        {"('a' * 60000)|list", "list: more bytes in memory"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        has_text(evaluate(w, NULL, rows[i].text), rows[i].want, "%s", rows[i].text);

    static const struct {
        const char *open, *inner, *close;
    } nests[] = {{"(", "1", ")"},      {"[", "1", "]"},           {"-", "1", ""},
                 {"not ", "1", ""},    {"1 if 1 else ", "1", ""}, {"1 if ", "1", ""},
                 {"{'a': ", "1", "}"}, {"l[", "0", "]"},          {"range(", "1", ")"}};
    for (size_t i = 0; i < sizeof nests / sizeof *nests; i++) {
        for (int deep = 0; deep < 2; deep++) {
            SCOPED_BUF(text);
            size_t levels = deep ? 64 : 63;
            for (size_t k = 0; k < levels; k++)
                buf_puts(&text, nests[i].open);
            buf_puts(&text, nests[i].inner);
            for (size_t k = 0; k < levels; k++)
                buf_puts(&text, nests[i].close);
            const struct expr *x;
            struct err e = {0};
            int rc = expr_compile(&w->mem, buf_str(&text), NULL, &x, &e);
            is_int(rc, deep ? -ERR_LIMIT : 0, "%zu times \"%s\"", levels, nests[i].open);
            if (deep)
                has_text(e.text, "nested more than 64 levels deep", "which the error says");
        }
    }
    is_text(evaluate(w, NULL, repeated("1", "+1", 30000, "")), "30001",
            "a long chain of operators is not deep");
    is_text(evaluate(w, NULL, repeated("1", " and 1", 9000, "")), "1", "nor of ands");
    is_text(evaluate(w, NULL, repeated("'a'", "|upper", 9000, "")), "\"A\"", "nor of filters");
    is_text(evaluate(w, NULL, repeated("1", "<2<1==1", 5000, "")), "false", "nor of comparisons");
    has_text(evaluate(w, NULL, repeated("m", ".a", 30000, "")), "m.a.a is undefined",
             "nor of members");
    has_text(evaluate(w, NULL, repeated("[1", ",1", 20000, "]|length")), "20001",
             "a list may be long");
    has_text(evaluate(w, NULL, repeated("1", "+1", 33000, "")),
             "66001 bytes of source, 65536 is the limit", "source has a limit");
    has_text(evaluate(w, NULL, "range(1,2,3,4,5,6,7,8,9)"), "takes at most 3",
             "places are counted");
    has_text(evaluate(w, NULL, "m|combine(m,m,m,m,m,m,m,m,m,m,m,m,m,m,m,m)"),
             "more than 16 arguments, which is the limit", "arguments have a limit");

    struct expr_options o = {.max_source = 5, .max_depth = 2};
    has_text(evaluate(w, &o, "1 + 1 + 1"), "9 bytes of source, 5 is the limit",
             "a lower limit holds");
    has_text(evaluate(w, &o, "((1))"), "nested more than 2 levels", "of depth as well");
    o = (struct expr_options){.max_source = 1u << 30};
    has_text(evaluate(w, &o, repeated("1", "+1", 33000, "")), "65536 is the limit",
             "a higher one does not");
}

static void test_budget(struct world *w)
{
    struct expr_budget b = {.steps = 20, .bytes = 1000};
    const struct value *v = NULL;
    const struct expr *x;
    struct err e;
    struct expr_scope scope = w->scope;
    scope.budget = &b;
    is_int(expr_compile(&w->mem, str_of("'ab' ~ n"), NULL, &x, &e), 0, "compiles");
    is_int(expr_eval(x, &scope, &w->mem, &v, &e), 0, "within the budget");
    ok(b.steps < 20 && b.bytes < 1000, "which it was charged to");
    while (expr_eval(x, &scope, &w->mem, &v, &e) == 0)
        ;
    is_int(e.code, ERR_LIMIT, "until it is used up");
    is_int(b.steps, 0, "wholly");
    b = (struct expr_budget){.steps = 1000, .bytes = 10};
    is_int(expr_eval(x, &scope, &w->mem, &v, &e), -ERR_LIMIT, "bytes run out too");
    is_int(expr_eval(x, &scope, &w->mem, &v, NULL), -ERR_LIMIT, "also when nobody asks why");
    is_int(expr_compile(&w->mem, str_of("1 +"), NULL, &x, NULL), -ERR_SYNTAX, "nor at compiling");
}

/* Values that share parts: small in memory, huge when written out. */
static void test_shared(struct world *w)
{
    SCOPED_ARENA(mem);
    struct value *list = value_list(&mem), *map = value_map(&mem), *twin = value_map(&mem);
    value_add(&mem, list, value_int(&mem, 1));
    for (int i = 0; i < 150; i++) {
        struct value *outer = value_list(&mem), *m = value_map(&mem), *t = value_map(&mem);
        value_add(&mem, outer, list);
        value_add(&mem, outer, list);
        list = outer;
        value_set(&mem, m, "a", map);
        value_set(&mem, m, "b", map);
        map = m;
        value_set(&mem, t, "a", twin);
        value_set(&mem, t, "b", twin);
        twin = t;
    }
    struct value *deep = value_list(&mem), *other = value_list(&mem);
    for (int i = 0; i < 1000; i++) {
        struct value *a = value_list(&mem), *b = value_list(&mem);
        value_add(&mem, a, deep);
        value_add(&mem, b, other);
        deep = a;
        other = b;
    }
    struct expr_var vars[] = {{str_of("list"), list},
                              {str_of("map"), map},
                              {str_of("twin"), twin},
                              {str_of("deep"), deep},
                              {str_of("other"), other}};
    struct expr_scope scope = {.vars = vars, .n = 5};
    struct world shared = {.scope = scope};
    (void)w;
    arena_init(&shared.mem);
    static const struct row rows[] = {
        {"list|tojson|length", "tojson: more steps"},
        {"list ~ ''", "more steps"},
        {"map == twin", "more steps"},
        {"map|combine(twin)", "combine: more bytes"},
        {"deep == other", "a value nested deeper than the limit of 200"},
        {"deep < other", "a value nested deeper than the limit of 200"},
        {"deep|string", "string: a value nested deeper than the limit of 200"},
        {"list == list and deep == deep", "true"},
        {"list|length", "2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        has_text(evaluate(&shared, NULL, rows[i].text), rows[i].want, "%s", rows[i].text);
    ok(expr_measure(list, 5000) > 5000, "measuring stops");
    ok(expr_measure(map, 5000) > 5000 && expr_measure(deep, 1000000) > 1000 * sizeof *deep,
       "for maps and depth too");
    is_int(expr_measure(value_text(&mem, "abc"), 5000), sizeof(struct value) + 4,
           "a text is counted");
    arena_done(&shared.mem);
}

/* --- paths --- */

static void test_paths(struct world *w)
{
    static const struct row rows[] = {
        {"a.b.c", "a.b.c"},
        {"a['b'].c", "a.b.c"},
        {"a[0].c + a.0.c", "a.0.c"},
        {"a[i].c", "i a"},
        {"a['b.c'].d", "a"},
        {"a[''].d", "a"},
        {"a[-1]", "a"},
        {"a[1:x.y].z", "a x.y"},
        {"a + b * c.d", "a b c.d"},
        {"a.b + a.b + a", "a.b a"},
        {"a.b|default(c.d)", "a.b c.d"},
        {"a.b is defined and a is eq c.d", "a.b a c.d"},
        {"x.y if c.d else z", "x.y c.d z"},
        {"range(n.m)", "n.m"},
        {"(a.b).c", "a.b"},
        {"'text'.a", ""},
        {"[a, {'k': b}]", "a b"},
        {"a[b[c.d]]", "c.d b a"},
        {"nodes|map(attribute='x.y')", "nodes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        SCOPED_BUF(all);
        const struct expr *x;
        struct str path;
        if (expr_compile(&w->mem, str_of(rows[i].text), NULL, &x, NULL) < 0)
            continue;
        for (size_t k = 0; expr_path_at(x, k, &path); k++)
            buf_printf(&all, "%s%.*s", k ? " " : "", (int)path.n, path.s);
        is_text(buf_str(&all).s, rows[i].want, "paths of %s", rows[i].text);
        ok(str_is(expr_text(x), rows[i].text), "and its text");
    }
}

/* --- scopes and libraries --- */

static int twice(const struct expr_call *c, const struct value **ret_v, struct err *e)
{
    int64_t by = c->args[1] ? value_as_int(c->args[1], 0) : 2;
    ++*(int *)c->ctx;
    if (!value_is(c->args[0], VALUE_INT)) {
        (void)err_set(e, ERR_INVALID, "no integer");
        return err_hint(e, "give one");
    }
    *ret_v = c->args[0]->i < 0 ? NULL : value_int(c->mem, c->args[0]->i * by);
    return 0;
}

static int hungry(const struct expr_call *c, const struct value **ret_v, struct err *e)
{
    (void)e;
    arena_take(c->mem, EXPR_MAX_BYTES);
    *ret_v = value_null(c->mem);
    return 0;
}

static void test_library(struct world *w)
{
    static const struct expr_function functions[] = {
        {"twice", "value by", 1, true, twice},
        {"double", "value by", 1, false, twice},
        {"upper", "value by", 1, true, twice}, /* hides the built-in one */
        {"hungry", "", 0, false, hungry},
    };
    static const struct expr_library library = {functions, 4};
    struct expr_options o = {.library = &library};
    int calls = 0;
    w->scope.ctx = &calls;
    is_text(evaluate(w, &o, "3|twice"), "6", "a filter of a library");
    is_text(evaluate(w, &o, "3|twice(by=5)"), "15", "with a named argument");
    is_text(evaluate(w, &o, "double(n)"), "14", "a function");
    is_text(evaluate(w, &o, "3|upper"), "6", "hides what is built in");
    is_int(calls, 4, "with the scope's context");
    is_text(evaluate(w, &o, "double(-1)"), "undefined", "may give something undefined");
    has_text(evaluate(w, &o, "double(-1) + 1"), "1:1: double(-1) is undefined", "which has a name");
    is_text(evaluate(w, &o, "1 + double('a')"),
            "1:5: double: no integer\n    1 + double('a')\n        ^ give one",
            "an error has a place");
    has_text(evaluate(w, &o, "double(nope)"), "nope is undefined", "arguments are defined");
    has_text(evaluate(w, &o, "double()"), "double needs 1 argument: value by", "and there");
    has_text(evaluate(w, &o, "double(1, 2, 3)"), "double takes at most 2 arguments",
             "not too many");
    has_text(evaluate(w, &o, "hungry()"), "more bytes in memory", "what it takes counts");
    has_text(evaluate(w, NULL, "3|twice"), "there is no filter \"twice\"",
             "without the library not");
}

static void test_scopes(struct world *w)
{
    struct value one = {.kind = VALUE_INT, .i = 1}, two = {.kind = VALUE_INT, .i = 2};
    struct expr_var inner[] = {{str_of("a"), &one}, {str_of("a"), &two}, {str_of("n"), NULL}};
    struct expr_scope scope = {.vars = inner, .n = 3, .outer = &w->scope};
    struct world nested = {.scope = scope};
    arena_init(&nested.mem);
    is_text(evaluate(&nested, NULL, "a"), "2", "of two with one name the last counts");
    is_text(evaluate(&nested, NULL, "s"), "\"text\"", "the outer scope is asked next");
    is_text(evaluate(&nested, NULL, "n is defined"), "false", "but not for what is hidden");
    has_text(evaluate(&nested, NULL, "node.nam + 1"), "did you mean \"name\"?", "hints reach out");
    arena_done(&nested.mem);

    const struct expr *x;
    const struct value *v;
    struct err e;
    expr_compile(&w->mem, str_of("node.shelf"), NULL, &x, &e);
    is_int(expr_eval_defined(x, &w->scope, &w->mem, &v, &e), -ERR_UNKNOWN_NAME, "must be defined");
    is_text(e.text, "node.shelf is undefined", "says what is not");
    is_int(expr_eval_truth(x, &w->scope, &e), -ERR_UNKNOWN_NAME, "nor has it a truth");
    is_int(expr_eval(x, NULL, &w->mem, &v, &e), -ERR_UNKNOWN_NAME, "no scope has no names");
    expr_compile(&w->mem, str_of("node.cpus > 3"), NULL, &x, &e);
    is_int(expr_eval_truth(x, &w->scope, &e), 1, "true is 1");
    is_int(expr_eval_defined(x, &w->scope, &w->mem, &v, &e), 0, "and a value");
    ok(value_as_bool(v, false), "of its own");
    expr_compile(&w->mem, str_of("nil or '' or []"), NULL, &x, &e);
    is_int(expr_eval_truth(x, &w->scope, &e), 0, "false is 0");
}

int main(void)
{
    struct world w;
    world_init(&w);
    test_rows(&w, ours, sizeof ours / sizeof *ours);
    test_rows(&w, errors, sizeof errors / sizeof *errors);
    test_origin(&w);
    test_limits(&w);
    test_budget(&w);
    test_shared(&w);
    test_paths(&w);
    test_library(&w);
    test_scopes(&w);
    arena_done(&w.mem);
    return tap_done();
}
