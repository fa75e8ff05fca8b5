/* test_lens.c - lenses as text and back, and what they let through */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "model/lens.h"
#include "tap.h"

static const struct value *json(struct arena *a, const char *text)
{
    struct value *v = NULL;
    struct err e;
    if (json_parse(a, text, strlen(text), NULL, &v, &e) < 0)
        ok(false, "%s: %s", text, e.text);
    return v;
}

static struct str text_of(struct arena *a, const struct lens_source *from)
{
    SCOPED_BUF(b);
    lens_write(&b, from);
    return (struct str){arena_strndup(a, b.data, b.len), b.len};
}

static const char schema[] = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                             "\"net\":{\"type\":\"object\",\"properties\":{\"port\":{"
                             "\"type\":\"integer\",\"default\":80}}},"
                             "\"boot\":{\"type\":\"string\"}}}";

static struct lens_source web(struct arena *a, bool turned)
{
    struct lens_attribute *at = arena_new(a, struct lens_attribute, 2);
    at[turned] = (struct lens_attribute){str_of("port"), str_of("net/port")};
    at[!turned] = (struct lens_attribute){str_of("boot"), str_of("boot")};
    struct str *wants = arena_new(a, struct str, 2);
    wants[0] = str_of("node/name");
    wants[1] = str_of("peers/db");
    return (struct lens_source){
        at, 2, json(a, schema), json(a, "{\"boot\":\"disk\",\"net\":{}}"), wants, 2};
}

static void test_round(void)
{
    SCOPED_ARENA(a);
    struct lens_source from = web(&a, false), turned = web(&a, true);
    struct str text = text_of(&a, &from);
    struct lens l;
    struct err e;
    is_int(lens_read(&a, text, &l, &e), 0, "a lens is read back");
    is_int(l.sight.n_attributes, 2, "with its attributes");
    is_int(l.paths.n, 4, "all its inputs");
    ok(l.sees_node && l.sees_peers, "and what they lead to");
    is_int(value_as_int(value_get(l.sight.defaults, "port"), 0), 80, "a default inside a schema");
    is_text(value_as_text(value_get(l.sight.defaults, "boot"), ""), "disk", "and one of its own");
    for (uint32_t i = 0; i < 2; i++)
        if (str_is(l.sight.attributes[i].name, "port"))
            ok(l.sight.attributes[i].path.n == 2 &&
                   str_is(l.sight.attributes[i].path.keys[1], "port"),
               "paths are keys");
    struct str other = text_of(&a, &turned);
    ok(lens_id(text) == lens_id(other), "the same said in another order is the same lens");
    turned.defaults = json(&a, "{\"boot\":\"net\"}");
    other = text_of(&a, &turned);
    ok(lens_id(text) != lens_id(other), "another default is another");
    struct lens_source nothing = {0};
    text = text_of(&a, &nothing);
    ok(lens_id(text) != 0 && lens_read(&a, text, &l, &e) == 0 && l.paths.n == 0 && !l.sees_node,
       "one through which nothing is seen");
}

static void test_check(void)
{
    SCOPED_ARENA(a);
    struct lens_source from = web(&a, false);
    struct lens l;
    struct err e;
    if (lens_read(&a, text_of(&a, &from), &l, &e) < 0)
        ok(false, "%s", e.text);
    is_int(lens_check(&l, NULL, &e), 0, "no data");
    is_int(lens_check(&l, json(&a, "{\"net\":{\"port\":81}}"), &e), 0, "data of its attributes");
    is_int(lens_check(&l, json(&a, "{\"net\":{\"port\":\"x\"}}"), &e), -ERR_INVALID, "of no type");
    has_text(e.at, "/net/port", "named by its path");
    is_int(lens_check(&l, json(&a, "{\"more\":1}"), &e), -ERR_INVALID, "of no attribute");
    is_int(lens_check(&l, json(&a, "[]"), &e), -ERR_INVALID, "no map");
}

static void test_corrupt(void)
{
    static const char *const texts[] = {
        "",
        "{}",
        "[]",
        "{\"attributes\":{\"a\":1},\"defaults\":{},\"schema\":{},\"wants\":[]}",
        "{\"attributes\":{},\"defaults\":{},\"schema\":{},\"wants\":[1]}",
        "{\"attributes\":{},\"defaults\":[],\"schema\":{},\"wants\":[]}",
        "{\"attributes\":{},\"defaults\":{},\"schema\":1,\"wants\":[]}",
        "{\"attributes\":{},\"defaults\":{},\"wants\":[]}",
    };
    SCOPED_ARENA(a);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct lens l;
        struct err e;
        ok(lens_read(&a, str_of(texts[i]), &l, &e) < 0 && e.text[0], "refused: '%s'", texts[i]);
    }
}

int main(void)
{
    test_round();
    test_check();
    test_corrupt();
    return tap_done();
}
