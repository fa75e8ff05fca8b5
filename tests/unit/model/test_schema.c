/* test_schema.c - what schemas accept, what they say when they do not, and what is no schema */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "model/schema.h"

static struct value *parse(struct arena *a, const char *text)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(a, text, strlen(text), NULL, &v, &e) < 0) {
        printf("Bail out! %s: %s\n", text, e.text);
        exit(1);
    }
    return v;
}

/* --- values --- */

static const struct {
    const char *schema, *value, *at, *text; /* text NULL: fits */
} values[] = {
    {"true", "1", "", NULL},
    {"false", "1", "", "nothing is allowed here"},
    {"{}", "[1]", "", NULL},
    {"5", "[1]", "", NULL}, /* not a schema: says nothing */
    {"{\"type\":\"null\"}", "null", "", NULL},
    {"{\"type\":\"null\"}", "false", "", "expected null, not false"},
    {"{\"type\":\"boolean\"}", "true", "", NULL},
    {"{\"type\":\"boolean\"}", "1", "", "expected true or false, not an integer"},
    {"{\"type\":\"integer\"}", "1", "", NULL},
    {"{\"type\":\"integer\"}", "1.0", "", "expected an integer, not a number"},
    {"{\"type\":\"number\"}", "1", "", NULL},
    {"{\"type\":\"number\"}", "1.5", "", NULL},
    {"{\"type\":\"number\"}", "\"1\"", "", "expected a number, not a string"},
    {"{\"type\":\"string\"}", "\"\"", "", NULL},
    {"{\"type\":\"string\"}", "null", "", "expected a string, not null"},
    {"{\"type\":\"array\"}", "[]", "", NULL},
    {"{\"type\":\"array\"}", "{}", "", "expected a list, not a map"},
    {"{\"type\":\"object\"}", "{}", "", NULL},
    {"{\"type\":\"object\"}", "[]", "", "expected a map, not a list"},
    {"{\"type\":[\"string\",\"null\"]}", "null", "", NULL},
    {"{\"type\":[\"string\",\"null\",\"array\"]}", "true", "",
     "expected a string, null or a list, not true"},
    {"{\"type\":\"nonsense\"}", "1", "", "expected nothing, not an integer"},
    {"{\"enum\":[\"a\",1,null]}", "1", "", NULL},
    {"{\"enum\":[\"a\",1,null]}", "\"b\"", "", "expected one of \"a\", 1, null"},
    {"{\"enum\":[]}", "1", "", "expected one of nothing"},
    {"{\"const\":{\"a\":1}}", "{\"a\":1}", "", NULL},
    {"{\"const\":7}", "8", "", "expected 7"},
    {"{\"const\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}", "8",
     "", "expected a string"},
    {"{\"minimum\":1}", "1", "", NULL},
    {"{\"minimum\":1}", "0", "", "expected 1 or more"},
    {"{\"minimum\":0.5}", "0", "", "expected 0.5 or more"},
    {"{\"minimum\":9223372036854775807}", "9223372036854775806", "",
     "expected 9223372036854775807 or more"},
    {"{\"minimum\":1}", "\"x\"", "", NULL},
    {"{\"maximum\":1}", "1", "", NULL},
    {"{\"maximum\":1}", "1.25", "", "expected 1 or less"},
    {"{\"maximum\":1}", "[]", "", NULL},
    {"{\"minLength\":2}", "\"\\u00e4\\u00e4\"", "", NULL},
    {"{\"minLength\":3}", "\"\\u00e4\\u00e4\"", "", "expected 3 characters or more"},
    {"{\"minLength\":3}", "1", "", NULL},
    {"{\"maxLength\":2}", "\"\\u00e4\\u00e4\"", "", NULL},
    {"{\"maxLength\":1}", "\"\\u00e4\\u00e4\"", "", "expected at most 1 character"},
    {"{\"maxLength\":1}", "[1,2]", "", NULL},
    {"{\"pattern\":\"^[a-z]+$\"}", "\"abc\"", "", NULL},
    {"{\"pattern\":\"^[a-z]+$\"}", "\"ab1\"", "", "does not match the pattern ^[a-z]+$"},
    {"{\"pattern\":\"c$\"}", "\"a\\u0000c\"", "", NULL},
    {"{\"pattern\":\"^a$\"}", "\"a\\u0000c\"", "", "does not match the pattern ^a$"},
    {"{\"pattern\":\"(\"}", "\"x\"", "", "the schema's pattern is not usable"},
    {"{\"pattern\":\"(\"}", "1", "", NULL},
    {"{\"items\":{\"type\":\"integer\"}}", "[1,2]", "", NULL},
    {"{\"items\":{\"type\":\"integer\"}}", "[1,\"x\"]", "/1", "expected an integer, not a string"},
    {"{\"items\":{\"type\":\"integer\"}}", "{}", "", NULL},
    {"{\"minItems\":1}", "[]", "", "expected 1 item or more, not 0"},
    {"{\"minItems\":1}", "[1]", "", NULL},
    {"{\"maxItems\":1}", "[1,2]", "", "expected at most 1 item, not 2"},
    {"{\"maxItems\":1}", "{\"a\":1,\"b\":2}", "", NULL},
    {"{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},2]", "", NULL},
    {"{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", "/2",
     "the same as item 1; items must differ"},
    {"{\"uniqueItems\":false}", "[1,1]", "", NULL},
    {"{\"uniqueItems\":true}", "\"aa\"", "", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":1,\"b\":2}", "", NULL},
    {"{\"properties\":{\"a\":{\"type\":\"integer\"}}}", "{\"a\":\"\"}", "/a",
     "expected an integer, not a string"},
    {"{\"properties\":{\"a\":false}}", "[]", "", NULL},
    {"{\"properties\":{\"a/b\":{\"properties\":{\"c~d\":{\"items\":false}}}}}",
     "{\"a/b\":{\"c~d\":[0]}}", "/a~1b/c~0d/0", "nothing is allowed here"},
    {"{\"required\":[\"a\"]}", "{\"a\":null}", "", NULL},
    {"{\"required\":[\"a\",\"b\"]}", "{\"a\":null}", "/b", "\"b\" is required"},
    {"{\"required\":[\"a\"]}", "[]", "", NULL},
    {"{\"additionalProperties\":false}", "{}", "", NULL},
    {"{\"additionalProperties\":false}", "{\"x\":1}", "/x", "unknown field \"x\""},
    {"{\"additionalProperties\":false}", "[1]", "", NULL},
    {"{\"additionalProperties\":true}", "{\"x\":1}", "", NULL},
    {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
     "{\"a\":1,\"b\":\"\"}", "", NULL},
    {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
     "{\"a\":1,\"b\":2}", "/b", "expected a string, not an integer"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "1", "", NULL},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", "[]", "",
     "fits none of 2 forms; nearest: expected a string, not a list"},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"properties\":{\"a\":false}}]}", "{\"a\":1}", "/a",
     "fits none of 2 forms; nearest: nothing is allowed here"},
    {"{\"anyOf\":[{\"type\":\"string\"}]}", "1", "", "expected a string, not an integer"},
    {"{\"anyOf\":[]}", "1", "", "nothing is allowed here"},
    {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":1}]}", "2", "", NULL},
    {"{\"oneOf\":[{\"minimum\":1},{\"maximum\":1}]}", "1", "",
     "fits 2 forms of which only one is allowed"},
    {"{\"oneOf\":[{\"minimum\":3},{\"type\":\"string\"}]}", "1", "",
     "fits none of 2 forms; nearest: expected 3 or more"},
    {"{\"default\":1,\"format\":\"x\",\"title\":\"y\",\"unheard-of\":5}", "\"z\"", "", NULL},
    /* Arguments that cannot be are read as absent. */
    {"{\"enum\":\"abc\",\"required\":\"abc\",\"items\":\"abc\",\"properties\":\"abc\","
     "\"minLength\":\"x\",\"type\":7,\"anyOf\":\"abc\",\"pattern\":[1],\"uniqueItems\":3}",
     "{\"a\":[1,1]}", "", NULL},
    {"{\"required\":[7]}", "{}", "/", "\"\" is required"},
};

static void test_values(void)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        SCOPED_ARENA(mem);
        struct err e = {0};
        int r = schema_check(parse(&mem, values[i].schema), parse(&mem, values[i].value), &e);
        if (!values[i].text) {
            is_int(r, 0, "%s accepts %s", values[i].schema, values[i].value);
            continue;
        }
        is_int(r, -ERR_INVALID, "%s refuses %s", values[i].schema, values[i].value);
        is_text(e.at, values[i].at, "where");
        is_text(e.text, values[i].text, "what");
        is_int(schema_check(parse(&mem, values[i].schema), parse(&mem, values[i].value), NULL),
               -ERR_INVALID, "also if nobody reads why");
    }
    SCOPED_ARENA(mem);
    struct err e;
    is_int(schema_check(parse(&mem, "{\"type\":\"null\"}"), NULL, &e), 0, "nothing is null");
    schema_check(parse(&mem, "{\"properties\":{\"labels\":{}},\"additionalProperties\":false}"),
                 parse(&mem, "{\"labls\":1}"), &e);
    is_text(e.hint, "did you mean \"labels\"?", "a field like it");
    schema_check(parse(&mem, "{\"enum\":[\"red\",5,\"green\"]}"), parse(&mem, "\"gren\""), &e);
    is_text(e.hint, "did you mean \"green\"?", "a value like it");
}

/* A pointer or a list of choices longer than an error can hold is cut at a character. */
static void test_long_messages(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(key);
    SCOPED_BUF(schema);
    struct err e;

    for (unsigned i = 0; i < 120; i++)
        buf_puts(&key, "\xc3\xa4");
    for (unsigned pad = 0; pad < 2; pad++) {
        struct value *v = value_map(&mem), *closed = value_map(&mem);
        value_set(&mem, v, key.data + 2 * pad, value_int(&mem, 1));
        value_put_bool(&mem, closed, "additionalProperties", false);
        struct value *outer = value_map(&mem), *properties = value_map(&mem);
        struct value *data = value_map(&mem);
        value_set(&mem, properties, pad ? "x" : "xy", closed);
        value_set(&mem, outer, "properties", properties);
        value_set(&mem, data, pad ? "x" : "xy", v);
        is_int(schema_check(outer, data, &e), -ERR_INVALID, "a long key");
        size_t n = strlen(e.at);
        ok(n > 180 && (unsigned char)e.at[n - 1] == 0xa4, "cut behind a character");
    }
    buf_puts(&schema, "{\"items\":{\"enum\":[");
    for (unsigned i = 0; i < 200; i++)
        buf_printf(&schema, "%s\"choice-%u\"", i ? "," : "", i);
    buf_puts(&schema, "]}}");
    is_int(schema_check(parse(&mem, schema.data), parse(&mem, "[5]"), &e), -ERR_INVALID, "choices");
    ok(strlen(e.text) < 400, "not all are listed");
    SCOPED_BUF(deep);
    struct value *nested = value_bool(&mem, false);
    for (unsigned i = 0; i < 60; i++) {
        struct value *around = value_map(&mem);
        value_set(&mem, around, "items", nested);
        nested = around;
    }
    for (unsigned i = 0; i < 60; i++) {
        for (unsigned k = 0; k < 1000; k++)
            buf_puts(&deep, k ? ",[]" : "[[]");
        buf_puts(&deep, ",");
    }
    buf_puts(&deep, "[]");
    for (unsigned i = 0; i < 60; i++)
        buf_puts(&deep, "]");
    is_int(schema_check(nested, parse(&mem, deep.data), &e), -ERR_INVALID, "a long way down");
    ok(!strncmp(e.at, "/1000/1000/1000/", 16) && strlen(e.at) == sizeof e.at - 1, "fills the room");
}

static void test_bounds(void)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct err e;

    struct value *deep = value_map(&mem);
    value_put_text(&mem, deep, "type", "array");
    for (unsigned i = 0; i < 70; i++) {
        struct value *outer = value_map(&mem);
        value_set(&mem, outer, "items", deep);
        deep = outer;
    }
    for (unsigned i = 0; i < 80; i++)
        buf_putc(&text, '[');
    for (unsigned i = 0; i < 80; i++)
        buf_putc(&text, ']');
    is_int(schema_check(deep, parse(&mem, text.data), &e), -ERR_LIMIT, "too deep");
    ok(!strncmp(e.at, "/0/0/0/", 7), "says where");
    is_int(schema_check_self(NULL, deep, &e), -ERR_LIMIT, "too deep to be a schema");

    buf_clear(&text);
    buf_puts(&text, "{\"oneOf\":[");
    for (unsigned i = 0; i < 30; i++)
        buf_puts(&text, "{\"minimum\":1},{\"items\":{\"type\":\"integer\"}},");
    buf_puts(&text, "{\"maximum\":0}]}");
    struct value *wide = parse(&mem, text.data);
    struct value *list = value_list(&mem);
    struct value one = *value_int(&mem, 1);
    for (unsigned i = 0; i < 40000; i++)
        value_add(&mem, list, &one);
    is_int(schema_check(wide, list, &e), -ERR_LIMIT, "too much");
    has_text(e.text, "too large to check", "says so");
    struct value *any = parse(&mem, "{\"anyOf\":[{\"oneOf\":[]}]}");
    any->members[0].v.items[0].members[0].v = wide->members[0].v;
    is_int(schema_check(any, list, &e), -ERR_LIMIT, "too much below anyOf as well");
    is_int(schema_check(any, list, NULL), -ERR_LIMIT, "whoever reads it");

    struct value *items = parse(&mem, "{\"items\":{},\"uniqueItems\":true}");
    struct value *many = value_list(&mem);
    for (unsigned i = 0; i < 600000; i++)
        value_add(&mem, many, value_int(&mem, i));
    is_int(schema_check(items, many, &e), -ERR_LIMIT, "too many items");

    buf_clear(&text);
    buf_putc(&text, '"');
    for (unsigned i = 0; i < SCHEMA_MAX_MATCH + 1; i++)
        buf_putc(&text, 'a');
    buf_putc(&text, '"');
    is_int(schema_check(parse(&mem, "{\"pattern\":\"a\"}"), parse(&mem, text.data), &e),
           -ERR_INVALID, "too long for a pattern");
    has_text(e.text, "too long", "says so");
}

/* --- references --- */

static const struct value *find(void *ctx, struct str name)
{
    return value_get_str(ctx, name);
}

static void test_refs(void)
{
    SCOPED_ARENA(mem);
    struct err e;
    struct value *known = parse(
        &mem, "{\"Name\":{\"type\":\"string\",\"default\":\"n\"},"
              "\"Tree\":{\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/components/schemas/"
              "Tree\"}},\"name\":{\"$ref\":\"#/components/schemas/Name\"}}},"
              "\"Loop\":{\"$ref\":\"#/components/schemas/Loop\"}}");
    struct schema_env env = {find, known};
    struct value *tree = parse(&mem, "{\"$ref\":\"#/components/schemas/Tree\"}");

    is_int(schema_check_env(&env, tree, parse(&mem, "{\"kids\":[{\"kids\":[]}]}"), &e), 0, "fits");
    is_int(schema_check_env(&env, tree, parse(&mem, "{\"kids\":[{\"name\":5}]}"), &e), -ERR_INVALID,
           "does not");
    is_text(e.at, "/kids/0/name", "where");
    is_int(schema_check(tree, parse(&mem, "{}"), &e), -ERR_INVALID, "without an environment");
    has_text(e.text, "does not exist", "nothing is found");
    is_int(schema_check_env(&env, parse(&mem, "{\"$ref\":\"#/x\"}"), known, &e), -ERR_INVALID,
           "another kind of reference");
    is_int(
        schema_check_env(&env, parse(&mem, "{\"$ref\":\"#/components/schemas/None\"}"), known, &e),
        -ERR_INVALID, "a name nobody has");
    is_int(schema_check_env(&env, value_get(known, "Loop"), known, &e), -ERR_LIMIT,
           "round and round");
    is_int(schema_check_self(&env, tree, &e), 0, "a good reference");
    is_int(schema_check_self(NULL, tree, &e), -ERR_INVALID, "is none without an environment");
    is_text(e.at, "/$ref", "where");
    const struct value *full = schema_defaults_env(&mem, &env, tree,
                                                   parse(&mem, "{\"kids\":[{},{\"name\":\"x\"}]}"));
    SCOPED_BUF(b);
    json_write(&b, full, 0);
    is_text(b.data, "{\"kids\":[{\"name\":\"n\"},{\"name\":\"x\"}],\"name\":\"n\"}",
            "defaults through references");
}

/* --- schemas --- */

static const struct {
    const char *schema, *at, *text; /* text NULL: good */
} schemas[] = {
    {"true", "", NULL},
    {"7", "", "expected a schema: a map, true or false"},
    {"{\"type\":\"string\",\"minLength\":1,\"x-note\":5,\"examples\":[1],\"readOnly\":true}", "",
     NULL},
    {"{\"tpye\":\"string\"}", "/tpye", "unknown keyword \"tpye\""},
    {"{\"zzzzzzzzzzzzz\":1}", "/zzzzzzzzzzzzz", "unknown keyword \"zzzzzzzzzzzzz\""},
    {"{\"type\":\"strng\"}", "/type", "expected the name of a type"},
    {"{\"type\":7}", "/type", "\"type\" does not take a integer"},
    {"{\"type\":[]}", "/type", "the list is empty, so nothing is allowed"},
    {"{\"type\":[\"null\",\"xxxxxxxxxxx\"]}", "/type/1", "expected the name of a type"},
    {"{\"type\":[5]}", "/type/0", "expected the name of a type"},
    {"{\"enum\":[]}", "/enum", "the list is empty, so nothing is allowed"},
    {"{\"enum\":\"a\"}", "/enum", "\"enum\" does not take a string"},
    {"{\"required\":[\"a\",5]}", "/required/1", "expected the name of a property"},
    {"{\"minLength\":-1}", "/minLength", "expected 0 or more"},
    {"{\"maxItems\":-1}", "/maxItems", "expected 0 or more"},
    {"{\"minimum\":-1,\"maximum\":-0.5,\"const\":-7}", "", NULL},
    {"{\"minimum\":\"1\"}", "/minimum", "\"minimum\" does not take a string"},
    {"{\"items\":{\"type\":\"x\"}}", "/items/type", "expected the name of a type"},
    {"{\"items\":[true]}", "/items", "\"items\" does not take a list"},
    {"{\"additionalProperties\":{\"items\":{\"pattern\":\"[\"}}}",
     "/additionalProperties/items/pattern", NULL},
    {"{\"properties\":{\"a\":5}}", "/properties/a", "expected a schema: a map, true or false"},
    {"{\"properties\":{\"a\":{\"anyOf\":[true,{\"type\":\"q\"}]}}}", "/properties/a/anyOf/1/type",
     "expected the name of a type"},
    {"{\"oneOf\":[]}", "/oneOf", "expected one schema or more"},
    {"{\"default\":5,\"type\":\"integer\"}", "", NULL},
    {"{\"default\":\"x\",\"type\":\"integer\"}", "/default", "expected an integer, not a string"},
    {"{\"default\":-5,\"type\":\"integer\"}", "", NULL},
    {"{\"pattern\":\"^[]a-z]{1,9}[^]x]\\\\.[{]{3}$\"}", "", NULL},
    {"{\"pattern\":\"\\\\d+\"}", "/pattern", "\\d means nothing in a POSIX pattern"},
    {"{\"pattern\":\"(a)\\\\1\"}", "/pattern", "\\1 means nothing in a POSIX pattern"},
    {"{\"pattern\":\"((a{50}){50}){50}\"}", "/pattern", "pattern counts further than 1000 in all"},
    {"{\"pattern\":\"a{2,99999999999999}\"}", "/pattern",
     "pattern counts further than 1000 in all"},
    {"{\"pattern\":\"a\\u0000b\"}", "/pattern", "pattern holds a NUL"},
    {"{\"pattern\":\"*a{,\"}", "/pattern", NULL},
};

static void test_self(void)
{
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++) {
        SCOPED_ARENA(mem);
        struct err e = {0};
        const struct value *schema = parse(&mem, schemas[i].schema);
        int r = schema_check_self(NULL, schema, &e);
        if (!schemas[i].at[0] && !schemas[i].text) {
            is_int(r, 0, "%s is a schema", schemas[i].schema);
            continue;
        }
        is_int(r, -ERR_INVALID, "%s is none", schemas[i].schema);
        is_text(e.at, schemas[i].at, "where");
        if (schemas[i].text)
            is_text(e.text, schemas[i].text, "what");
        else
            has_text(e.text, "pattern does not compile", "what");
        is_int(schema_check_self(NULL, schema, NULL), -ERR_INVALID, "also if nobody reads why");
    }
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct err e;
    is_int(schema_check_self(NULL, NULL, &e), -ERR_INVALID, "nothing is no schema");
    schema_check_self(NULL, parse(&mem, "{\"tpye\":1}"), &e);
    is_text(e.hint, "did you mean \"type\"?", "a keyword like it");
    schema_check_self(NULL, parse(&mem, "{\"type\":\"strng\"}"), &e);
    is_text(e.hint, "did you mean \"string\"?", "a type like it");
    schema_check_self(NULL, parse(&mem, "{\"type\":\"xxxxxxx\"}"), &e);
    has_text(e.hint, "types are", "or all of them");
    for (unsigned i = 0; i <= SCHEMA_MAX_PATTERN; i++)
        buf_putc(&text, 'a');
    struct value *long_one = value_map(&mem);
    value_put_text(&mem, long_one, "pattern", text.data);
    is_int(schema_check_self(NULL, long_one, &e), -ERR_INVALID, "a pattern that is too long");
    is_int(schema_check(long_one, value_text(&mem, "a"), &e), -ERR_INVALID, "is not tried either");
}

/* --- defaults --- */

static const struct {
    const char *schema, *value, *full; /* full NULL: the value itself */
} defaults[] = {
    {"{\"default\":7}", NULL, "7"},
    {"{\"default\":7}", "8", NULL},
    {"{\"default\":7}", "null", NULL},
    {"true", "8", NULL},
    {"{\"properties\":{\"a\":{\"default\":1},\"b\":{}}}", "{}", "{\"a\":1}"},
    {"{\"properties\":{\"a\":{\"default\":1},\"b\":{}}}", "{\"b\":2,\"c\":3}",
     "{\"b\":2,\"c\":3,\"a\":1}"},
    {"{\"properties\":{\"a\":{\"default\":1}}}", "{\"a\":null}", NULL},
    {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"default\":1}}}}}", "{}", NULL},
    {"{\"properties\":{\"a\":{\"properties\":{\"b\":{\"default\":1}}}}}", "{\"a\":{}}",
     "{\"a\":{\"b\":1}}"},
    {"{\"properties\":{\"a\":{\"default\":{},\"properties\":{\"b\":{\"default\":1}}}}}", "{}",
     "{\"a\":{\"b\":1}}"},
    {"{\"items\":{\"properties\":{\"a\":{\"default\":1}}}}", "[{\"a\":2},{},5,{}]",
     "[{\"a\":2},{\"a\":1},5,{\"a\":1}]"},
    {"{\"items\":{\"default\":1}}", "[1,2]", NULL},
};

static void test_defaults(void)
{
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        SCOPED_ARENA(mem);
        SCOPED_BUF(b);
        const struct value *v = defaults[i].value ? parse(&mem, defaults[i].value) : NULL;
        const struct value *full = schema_defaults(&mem, parse(&mem, defaults[i].schema), v);
        if (!defaults[i].full) {
            ok(full == v, "%s adds nothing to %s", defaults[i].schema, defaults[i].value);
            continue;
        }
        json_write(&b, full, 0);
        is_text(b.data, defaults[i].full, "%s fills %s", defaults[i].schema,
                defaults[i].value ? defaults[i].value : "nothing");
    }
    SCOPED_ARENA(mem);
    ok(!schema_defaults(&mem, parse(&mem, "{}"), NULL), "no default for nothing is nothing");
    /* A schema that holds itself twice would fill a tree of 2^64. */
    struct value *known = parse(
        &mem, "{\"T\":{\"default\":{},\"properties\":{\"a\":{\"$ref\":\"#/components/schemas/T\"},"
              "\"b\":{\"$ref\":\"#/components/schemas/T\"}}}}");
    struct schema_env env = {find, known};
    const struct value *full = schema_defaults_env(&mem, &env, value_get(known, "T"), NULL);
    ok(value_at(full, "a.a.a.a.a"), "what refers to itself is filled to a bound");
}

static void test_pointer(void)
{
    SCOPED_ARENA(mem);
    struct value *v = parse(&mem, "{\"a\":{\"b/c\":[1,{\"~\":5}]},\"\":7}");
    is_int(value_as_int(schema_pointer_get(v, "/a/b~1c/1/~0"), 0), 5, "through maps and lists");
    is_int(value_as_int(schema_pointer_get(v, "/"), 0), 7, "the empty key");
    ok(schema_pointer_get(v, "") == v, "the whole");
    ok(schema_pointer_get(v, "/a/x/y") == value_get(v, "a"), "the deepest there is");
    ok(schema_pointer_get(v, "/a/b~1c/9") == value_at(v, "a.b/c"), "also in a list");
    ok(!schema_pointer_get(NULL, "/a"), "of nothing");
}

int main(void)
{
    test_values();
    test_long_messages();
    test_bounds();
    test_refs();
    test_self();
    test_defaults();
    test_pointer();
    return tap_done();
}
