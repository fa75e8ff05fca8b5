/* test_merge.c - merge and diff, by example and as an algebra over random trees */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "tap.h"
#include "tree_gen.h"

static const struct value *read_json(struct arena *a, const char *text)
{
    struct value *v = NULL;
    if (text)
        json_parse(a, text, strlen(text), NULL, &v, NULL);
    return v;
}

static const char *shown(struct arena *a, const struct value *v)
{
    SCOPED_BUF(b);
    if (!v)
        return "nothing";
    json_write(&b, v, 0);
    return arena_strndup(a, b.data, b.len);
}

static void test_merge_examples(void)
{
    static const struct {
        const char *under, *over, *want;
    } cases[] = {
        {"{\"a\":1}", "{\"b\":2}", "{\"a\":1,\"b\":2}"},
        {"{\"a\":1,\"b\":1}", "{\"a\":2}", "{\"a\":2,\"b\":1}"},
        {"{\"a\":{\"x\":1,\"y\":1}}", "{\"a\":{\"y\":2,\"z\":2}}",
         "{\"a\":{\"x\":1,\"y\":2,\"z\":2}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":5}", "{\"a\":5}"},
        {"{\"a\":5}", "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":null}", "{\"a\":null}"},
        {"{\"a\":[1,2]}", "{\"a\":[3]}", "{\"a\":[3]}"},
        {"{\"a\":{\"x\":1}}", "{\"a\":{}}", "{\"a\":{\"x\":1}}"},
        {"{\"a\":{}}", "{\"a\":{\"x\":1}}", "{\"a\":{\"x\":1}}"},
        {"{\"a\":1}", "{}", "{\"a\":1}"},
        {"{}", "{\"a\":1}", "{\"a\":1}"},
        {"[1]", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1}", "7", "7"},
        {NULL, "7", "7"},
        {"7", NULL, "7"},
        {NULL, NULL, "nothing"},
    };
    SCOPED_ARENA(a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct value *v = value_merge(&a, read_json(&a, cases[i].under),
                                            read_json(&a, cases[i].over));
        is_text(shown(&a, v), cases[i].want, "merge %s + %s", cases[i].under ? cases[i].under : "-",
                cases[i].over ? cases[i].over : "-");
    }
}

static void test_merge_shares(void)
{
    SCOPED_ARENA(a);
    const struct value *under = read_json(&a, "{\"big\":{\"x\":[1,2,3]},\n\"both\":{\"p\":1}}");
    const struct value *over = read_json(&a, "{\n\n\"both\":{\"q\":2}}");
    const struct value *v = value_merge(&a, under, over);
    ok(value_get(v, "big")->members == value_get(under, "big")->members,
       "a part that one side has is shared");
    is_int(value_get(value_get(v, "both"), "p")->line, 2, "a value keeps its line");
    is_int(value_get(value_get(v, "both"), "q")->line, 3, "the winning one too");
    is_int(v->members[1].key_line, 3, "a key is where the winner has it");
    is_text(shown(&a, under), "{\"big\":{\"x\":[1,2,3]},\"both\":{\"p\":1}}",
            "the inputs are as before");
}

static void test_diff_examples(void)
{
    static const struct {
        const char *from, *to, *want, *gone;
    } cases[] = {
        {"{\"a\":1}", "{\"a\":1}", "nothing", "[]"},
        {"{\"a\":1}", "{\"a\":2}", "{\"a\":2}", "[]"},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"b\":2}", "[]"},
        {"{\"a\":{\"x\":1,\"y\":1}}", "{\"a\":{\"x\":1,\"y\":2}}", "{\"a\":{\"y\":2}}", "[]"},
        {"{\"a\":{\"b\":{\"c\":1}}}", "{\"a\":{\"b\":{}}}", "nothing", "[\"a.b.c\"]"},
        {"{\"a\":1,\"b\":2}", "{\"b\":3}", "{\"b\":3}", "[\"a\"]"},
        {"{\"a\":{\"x\":1}}", "{\"a\":5}", "{\"a\":5}", "[]"},
        {"{\"a\":5}", "{\"a\":{}}", "{\"a\":{}}", "[]"},
        {"{}", "{\"a\":{}}", "{\"a\":{}}", "[]"},
        {"{\"a\":[1]}", "{\"a\":[1,2]}", "{\"a\":[1,2]}", "[]"},
        {"{\"a\":1}", "{\"a\":null}", "{\"a\":null}", "[]"},
        {"{\"\":{\"\":{\"k\":1}}}", "{\"\":{\"\":{}}}", "nothing", "[\"..k\"]"},
        {"1", "1", "nothing", "[]"},
        {"1", "{}", "{}", "[]"},
        {"{\"a\":1}", "[1]", "[1]", "[]"},
        {NULL, "{\"a\":1}", "{\"a\":1}", "[]"},
        {"{\"a\":1,\"b\":{\"c\":1}}", NULL, "nothing", "[\"a\",\"b\"]"},
        {NULL, NULL, "nothing", "[]"},
    };
    SCOPED_ARENA(a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct value *gone = NULL, *v;
        v = value_diff(&a, read_json(&a, cases[i].from), read_json(&a, cases[i].to), &gone);
        const char *from = cases[i].from ? cases[i].from : "-";
        const char *to = cases[i].to ? cases[i].to : "-";
        is_text(shown(&a, v), cases[i].want, "diff %s -> %s", from, to);
        is_text(shown(&a, gone), cases[i].gone, "gone %s -> %s", from, to);
    }
    ok(value_diff(&a, read_json(&a, "{\"a\":1}"), read_json(&a, "{}"), NULL) == NULL,
       "the list of what vanished need not be wanted");
}

static void test_diff_places(void)
{
    SCOPED_ARENA(a);
    const struct value *v = value_diff(&a, read_json(&a, "{\"a\":{\"x\":1}}"),
                                       read_json(&a, "{\n \"a\":{\n  \"y\": 2}}"), NULL);
    is_int(v->members[0].key_line, 2, "the diff's keys keep their line");
    is_int(value_at(v, "a")->line, 2, "its maps too");
    is_int(value_at(v, "a")->members[0].key_column, 3, "and their column");
    is_int(value_at(v, "a.y")->column, 8, "and its values");
}

/* merge(from, diff(from, to)) is `to`, with what vanished still there; if nothing did, it is `to`.
 */
static void test_algebra(void)
{
    int exact = 0, changed = 0;
    bool law = true, nothing = true, idempotent = true, gone_absent = true;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        SCOPED_ARENA(a);
        struct rng r = {seed};
        const struct value *from = gen_tree(&a, &r, 150), *to = gen_tree(&a, &r, 150);
        const struct value *gone;
        if (seed % 2) /* related trees: `to` is `from` with changes */
            to = value_merge(&a, from, to);
        const struct value *diff = value_diff(&a, from, to, &gone);
        const struct value *got = value_merge(&a, from, diff);
        if (gone->n == 0) {
            exact++;
            law = law && value_equal(got, to);
        } else {
            law = law && value_diff(&a, got, to, NULL) == NULL;
        }
        if (diff)
            changed++;
        else
            nothing = nothing && (gone->n || value_equal(from, to));
        idempotent = idempotent && value_equal(value_merge(&a, got, diff), got);
        const struct value *back;
        idempotent = idempotent && !value_diff(&a, to, to, &back) && back->n == 0;
        for (uint32_t i = 0; i < gone->n; i++)
            gone_absent = gone_absent &&
                          (strchr(gone->items[i].s, '.') || !value_get(to, gone->items[i].s));
    }
    ok(law, "merge(from, diff(from, to)) == to, over 2000 pairs of trees");
    ok(nothing, "an empty diff means equal trees or keys that vanished");
    ok(idempotent, "merging twice is merging once; no tree differs from itself");
    ok(gone_absent, "what is reported gone is not in `to`");
    ok(exact > 500 && changed > 1000, "the generator made %d exact and %d changed pairs", exact,
       changed);
}

static void test_associative(void)
{
    bool law = true;
    for (uint64_t seed = 1; seed <= 500; seed++) {
        SCOPED_ARENA(a);
        struct rng r = {seed * 7};
        const struct value *x = gen_tree(&a, &r, 80), *y = gen_tree(&a, &r, 80),
                           *z = gen_tree(&a, &r, 80);
        if (x->kind != VALUE_MAP || y->kind != VALUE_MAP || z->kind != VALUE_MAP)
            continue;
        const struct value *left = value_merge(&a, value_merge(&a, x, y), z);
        for (uint32_t i = 0; i < z->n; i++) /* the top layer always shows, maps aside */
            if (z->members[i].v.kind != VALUE_MAP)
                law = law && value_equal(value_get(left, z->members[i].key), &z->members[i].v);
        for (uint32_t i = 0; i < x->n; i++)
            law = law && value_get_str(left, (struct str){x->members[i].key, x->members[i].key_n});
    }
    ok(law, "a merged tree has every key, and the top layer's values");
}

static void test_large_and_deep(void)
{
    SCOPED_ARENA(a);
    struct value *under = value_map(&a), *over = value_map(&a);
    for (int i = 0; i < 30000; i++) {
        value_put_int(&a, under, arena_printf(&a, "u%d", i), i);
        value_put_int(&a, over, arena_printf(&a, i % 2 ? "u%d" : "o%d", i), -i);
    }
    const struct value *v = value_merge(&a, under, over), *gone;
    is_int(v->n, 45000, "two maps of 30000 merge");
    ok(value_as_int(value_get(v, "u29999"), 0) == -29999 &&
           value_as_int(value_get(v, "u29998"), 0) == 29998 &&
           value_as_int(value_get(v, "o29998"), 0) == -29998,
       "with the right winners");
    const struct value *d = value_diff(&a, under, over, &gone);
    ok(d && d->n == 30000 && gone->n == 15000, "and differ as they should");

    struct value *x = value_int(&a, 1), *y = value_int(&a, 2);
    for (int i = 0; i < 50000; i++) {
        struct value *nx = value_map(&a), *ny = value_map(&a);
        value_set(&a, nx, "k", x);
        value_put_int(&a, nx, "x", i);
        value_set(&a, ny, "k", y);
        value_put_int(&a, ny, "x", i);
        x = nx;
        y = ny;
    }
    d = value_diff(&a, x, y, NULL);
    ok(d && value_equal(value_merge(&a, x, d), y), "trees 50000 deep differ and merge");
}

int main(void)
{
    test_merge_examples();
    test_merge_shares();
    test_diff_examples();
    test_diff_places();
    test_algebra();
    test_associative();
    test_large_and_deep();
    return tap_done();
}
