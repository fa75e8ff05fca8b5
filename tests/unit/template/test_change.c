/* test_change.c - lists made from lists, and looks at old data */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"

#include "base/alloc.h"
#include "base/json.h"
#include "tap.h"

static const char new_text[] =
    "{\"data\": {\"nodes\": [{\"uid\": \"1\", \"role\": \"compute\"},"
    " {\"uid\": \"2\", \"role\": \"controller\"}, {\"uid\": \"3\", \"role\": \"compute\"}],"
    " \"a\": 1, \"same\": {\"x\": [1, {\"y\": null}]}, \"n\": 5, \"uid\": \"2\", \"only_new\": 1,"
    " \"l\": [2, 3, 4], \"m\": {\"keep\": 1, \"other\": 2, \"fresh\": 3}, \"kind\": {\"a\": 1},"
    " \"deep\": [[1, [2]], [], [[3]]], \"text\": \"x\"}, \"x\": \"outer\"}";
static const char old_text[] =
    "{\"data\": {\"nodes\": [{\"role\": \"controller\", \"uid\": \"2\"},"
    " {\"uid\": \"1\", \"role\": \"controller\"}],"
    " \"a\": 2, \"same\": {\"x\": [1.0, {\"y\": null}]}, \"n\": 5, \"uid\": \"1\","
    " \"l\": [1, 2, 3], \"m\": {\"keep\": 1, \"other\": 1, \"gone\": 0}, \"kind\": [1],"
    " \"deep\": [], \"only_old\": 1, \"text\": [\"x\"]}, \"x\": \"outer\"}";

struct side {
    struct value *map;
    struct expr_var vars[8];
    struct expr_scope scope;
};
struct world {
    struct arena mem;
    struct side now, old;
};

static void side_init(struct arena *mem, struct side *s, const char *text)
{
    if (json_parse(mem, text, strlen(text), NULL, &s->map, NULL) < 0)
        abort();
    for (uint32_t i = 0; i < s->map->n; i++)
        s->vars[i] = (struct expr_var){{s->map->members[i].key, s->map->members[i].key_n},
                                       &s->map->members[i].v};
    s->scope = (struct expr_scope){.vars = s->vars, .n = s->map->n};
}

/* The result as JSON, "undefined", or the error as a person sees it. */
static const char *evaluate(struct world *w, const char *text)
{
    static char out[4096];
    SCOPED_BUF(json);
    struct err e;
    const struct expr *x;
    const struct value *v;
    if (expr_compile(&w->mem, str_of(text), NULL, &x, &e) < 0 ||
        expr_eval(x, &w->now.scope, &w->mem, &v, &e) < 0)
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

static const struct row lists[] = {
    {"[n.uid for n in data.nodes]", "[\"1\",\"2\",\"3\"]"},
    {"[n.uid for n in data.nodes if n.role == 'compute']", "[\"1\",\"3\"]"},
    {"[x for x in []]", "[]"},
    {"[x for x in {'a': 1, 'b': 2}]", "[\"a\",\"b\"]"},
    {"[x for x in 'abc' if x != 'b']", "[\"a\",\"c\"]"},
    {"[x for x in [1, 2, 3]] + [x]", "[1,2,3,\"outer\"]"},
    {"[[x * y for y in [1, 2]] for x in [1, 10]]", "[[1,2],[10,20]]"},
    {"[x for x in [x for x in [1, 2] if x > 1]]", "[2]"},
    {"[x for x in [1, 2, 3] if [y for y in [2, 3] if y == x]]", "[2,3]"},
    {"[x if x > 1 else 'small' for x in [1, 2]]", "[\"small\",2]"},
    {"[x if y else [z for z in [x] if z] for x in [1, 2] if true][1]",
     "1:7: y is undefined\n    [x if y else [z for z in [x] if z] for x in [1, 2] if true][1]\n"
     "          ^ did you mean \"x\"?"},
    {"[x for x in [0, 1] if (x if x else none)]", "[1]"},
    {"[(x if 2 < x < 5 else 0) for x in [1, 3, 9]]", "[0,3,0]"},
    {"[x | string for x in [1, 2]] | join(',')", "\"1,2\""},
    {"[x for x in [1, 2] if x is odd and true]", "[1]"},
    {"[data.m['keep'] for x in [1]]", "[1]"},
    {"[{'for': x}.for for x in [1]]", "[1]"},
    {"[1 for x in data.nodes] | length", "3"},
    {"[x.rank for x in data.nodes]",
     "1:4: x.rank is undefined\n    [x.rank for x in data.nodes]\n       ^"},
    {"[x for x in 5]", "1:4: what is gone through must be a list, a map or text, not an integer\n"
                       "    [x for x in 5]\n       ^"},
    {"[x for x in nothing]", "1:13: nothing is undefined\n    [x for x in nothing]\n"
                             "                ^"},
    {"[x for x in [1] if nothing]",
     "1:20: nothing is undefined\n    [x for x in [1] if nothing]\n                       ^"},
    {"[x for x in [1] for y in [2]]",
     "1:17: a list has one \"for\"\n    [x for x in [1] for y in [2]]\n                    ^"},
    {"[x, y for x in [1]]", "1:3: expected \"for\", found ,\n    [x, y for x in [1]]\n      ^"},
    {"[x for true in [1]]",
     "1:8: true is a value and cannot be a name\n    [x for true in [1]]\n           ^"},
    {"[x for x of [1]]", "1:10: expected \"in\", found of\n    [x for x of [1]]\n             ^"},
    {"[x for x in [1]", "1:16: expected \"if\" or ']', found the end\n    [x for x in [1]\n"
                        "                   ^"},
    {"for", "1:1: expected a value, found for\n    for\n    ^"},
    /* filters that came with them */
    {"data.deep | flatten", "[1,2,3]"},
    {"[] | flatten", "[]"},
    {"5 | flatten", "1:5: flatten: value must be a list, not an integer\n    5 | flatten\n"
                    "        ^"},
    {"[3, 1, 2] | intersect([2, 3.0, 9])", "[3,2]"},
    {"range(20) | intersect([19, 3, 5, 70, 71, 72, 73, 74, 75, 76])", "[3,5,19]"},
    {"{'a': [1]} | toyaml", "\"a:\\n  - 1\\n\""},
    {"{'a': {'x': 1}} | combine({'a': {'y': 2}}, recursive=false)", "{\"a\":{\"y\":2}}"},
    {"{'a': {'x': 1}} | combine({'b': 1}, {'a': 2}, recursive=false)", "{\"a\":2,\"b\":1}"},
    {"{'a': {'x': 1}} | combine({'a': {'y': 2}}, recursive=true)", "{\"a\":{\"x\":1,\"y\":2}}"},
};

/* With old data, then without. */
static const struct {
    const char *text, *want, *first;
} changes[] = {
    {"changed(data.a)", "true", "true"},
    {"changed(data.n)", "false", "true"},
    {"changed(data.same)", "false", "true"},
    {"changed(data)", "true", "true"},
    {"changed(data.only_new)", "true", "true"},
    {"changed(1)", "false", "true"},
    {"old(data.a)", "2", "undefined"},
    {"new(data.a)", "1", "1"},
    {"old(data.only_new)", "undefined", "undefined"},
    {"old(data.nodes.x.y)", "undefined", "undefined"},
    {"old(data.a + 'x')", "undefined", "undefined"},
    {"old(data.a) is undefined", "false", "true"},
    {"old(data.only_new) | default('none')", "\"none\"", "\"none\""},
    {"old(new(data.a))", "1", "undefined"},
    {"old(old(data.a))", "2", "undefined"},
    {"changed(old(data.a))", "false", "1:9: old(data.a) is undefined"},
    {"changed(new(data.a))", "false", "true"},
    {"changed_any(data.n, data.a)", "true", "true"},
    {"changed_any(data.n, data.same)", "false", "true"},
    {"changed_any(data.n)", "false", "true"},
    {"changed_any(data.a, data.nowhere)", "true", "true"},
    {"changed_any(data.n, data.nowhere)", "1:26: data.nowhere is undefined", "true"},
    {"changed_all(data.n, data.a)", "false", "true"},
    {"changed_all(data.uid, data.a,)", "true", "true"},
    {"changed_all(data.n, data.nowhere)", "false", "1:26: data.nowhere is undefined"},
    {"not changed_any(data.n, data.same) and data.n", "5", "false"},
    {"changed(data.only_old)", "1:14: data.only_old is undefined",
     "1:14: data.only_old is undefined"},
    {"added(data.l)", "[4]", "[2,3,4]"},
    {"deleted(data.l)", "[1]", "null"},
    {"added(data.m)", "{\"other\":2,\"fresh\":3}", "{\"keep\":1,\"other\":2,\"fresh\":3}"},
    {"deleted(data.m)", "{\"other\":1,\"gone\":0}", "null"},
    {"added(data.a)", "1", "1"},
    {"deleted(data.a)", "2", "null"},
    {"added(data.n)", "[]", "5"},
    {"deleted(data.n)", "[]", "null"},
    {"added(data.kind)", "{\"a\":1}", "{\"a\":1}"},
    {"deleted(data.kind)", "[1]", "null"},
    {"added(data.only_new)", "1", "1"},
    {"deleted(data.only_new)", "null", "null"},
    {"[n.uid for n in added(data.nodes)]", "[\"1\",\"3\"]", "[\"1\",\"2\",\"3\"]"},
    {"added([n for n in data.nodes if n.role == 'compute'])",
     "[{\"uid\":\"1\",\"role\":\"compute\"},{\"uid\":\"3\",\"role\":\"compute\"}]",
     "[{\"uid\":\"1\",\"role\":\"compute\"},{\"uid\":\"3\",\"role\":\"compute\"}]"},
    /* names of a comprehension are the same in both views */
    {"[old(n.uid) for n in data.nodes]", "[\"1\",\"2\",\"3\"]", "1:2: old(n.uid) is undefined"},
    {"[n.uid for n in data.nodes if n.uid == old(data.uid)]", "[\"1\"]",
     "1:40: old(data.uid) is undefined"},
    {"[n.role for n in data.nodes if n.uid == new(data.uid)]", "[\"controller\"]",
     "[\"controller\"]"},
    {"changed([n.role for n in data.nodes if n.uid == new(data.uid)])", "false", "true"},
    {"changed([n.role for n in data.nodes if n.uid == data.uid])", "false", "true"},
    {"old([n.uid for n in data.nodes if changed(data.a)])", "[\"2\",\"1\"]", "undefined"},
    {"old('a' is match('('))", "undefined", "undefined"},
    {"old([x | abs for x in [data.uid]])", "undefined", "undefined"},
    {"old(data.text | map('upper'))", "[\"X\"]", "undefined"},
    {"old(data.nodes | map('upper', 1))", "undefined", "undefined"},
    /* writing */
    {"changed()", "1:1: changed needs an argument", "1:1: changed needs an argument"},
    {"changed(1, 2)", "1:10: expected ')', found ,", "1:10: expected ')', found ,"},
    {"changed_any(1 2)", "1:15: expected ',' or ')', found 2",
     "1:15: expected ',' or ')', found 2"},
    {"chnged(1)", "1:1: there is no function \"chnged\"", "1:1: there is no function \"chnged\""},
    {"changed", "undefined", "undefined"},
};

/* The first line of an error says enough here. */
static bool matches(const char *got, const char *want)
{
    size_t n = strcspn(got, "\n");
    return strlen(want) == n && strncmp(got, want, n) == 0;
}

static void check_changes(struct world *w)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        w->now.scope.old = &w->old.scope;
        const char *got = evaluate(w, changes[i].text);
        ok(matches(got, changes[i].want), "%s: %s", changes[i].text, got);
        w->now.scope.old = NULL;
        got = evaluate(w, changes[i].text);
        ok(matches(got, changes[i].first), "%s at first: %s", changes[i].text, got);
    }
}

/* --- bounds --- */

static void check_depth(struct world *w)
{
    SCOPED_BUF(text);
    for (int i = 0; i < 31; i++)
        buf_puts(&text, "[");
    buf_puts(&text, "1");
    for (int i = 0; i < 31; i++)
        buf_puts(&text, " for x in [1]]");
    is_text(evaluate(w, text.data) + 31, "1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]", "31 levels of lists");
    buf_clear(&text);
    for (int i = 0; i < 70; i++)
        buf_puts(&text, "[");
    buf_puts(&text, "1");
    for (int i = 0; i < 70; i++)
        buf_puts(&text, " for x in l]");
    ok(strstr(evaluate(w, text.data), "levels deep"), "70 levels are too many");
    buf_clear(&text);
    for (int i = 0; i < 70; i++)
        buf_puts(&text, "old(");
    ok(strstr(evaluate(w, text.data), "levels deep"), "and so are 70 looks");
}

static void check_budget(struct world *w)
{
    static const char *const texts[] = {
        "[[[x for x in range(99)] for y in range(99)] for z in range(99)]",
        "old([[[x for x in range(99)] for y in range(99)] for z in range(99)])",
        "changed_any(1, [[x * y for x in range(999)] for y in range(999)])",
        "old(['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' * 40000 for x in range(9)])",
    };
    w->now.scope.old = &w->old.scope;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SCOPED_ARENA(mem);
        struct err e = {0};
        const struct expr *x;
        const struct value *v;
        int rc = expr_compile(&mem, str_of(texts[i]), NULL, &x, &e);
        rc = rc < 0 ? rc : expr_eval(x, &w->now.scope, &mem, &v, &e);
        ok(rc == -ERR_LIMIT && strstr(e.text, "limit"), "%s: %s", texts[i], e.text);
    }
}

/* Two lists of a thousand maps, one of them turned round: linear, or it would not fit. */
static void check_large(struct world *w)
{
    SCOPED_ARENA(mem);
    struct expr_budget budget = {60000, EXPR_MAX_BYTES};
    struct value *both[2];
    for (int k = 0; k < 2; k++) {
        both[k] = value_list(&mem);
        for (int i = 0; i < 1000; i++) {
            char uid[16];
            struct value *m = value_map(&mem);
            snprintf(uid, sizeof uid, "%d", k ? i : 1200 - i);
            value_put_text(&mem, m, "uid", uid);
            value_put_text(&mem, m, "role", "compute");
            value_add(&mem, both[k], m);
        }
    }
    struct expr_var old = {str_of("l"), both[0]}, now = {str_of("l"), both[1]};
    struct expr_scope before = {.vars = &old, .n = 1};
    struct expr_scope scope = {.vars = &now, .n = 1, .budget = &budget, .old = &before};
    const struct expr *x;
    const struct value *v = NULL;
    struct err e = {0};
    int rc = expr_compile(&mem, str_of("(added(l)|length) * 1000 + deleted(l)|length"), NULL, &x,
                          &e);
    rc = rc < 0 ? rc : expr_eval(x, &scope, &mem, &v, &e);
    ok(rc == 0 && value_as_int(v, 0) == 201201, "large lists: %d %s", rc, e.text);
    (void)w;
}

/* --- what is read --- */

static const char *paths(struct world *w, const char *text)
{
    static char out[512];
    const struct expr *x;
    struct str path;
    out[0] = '\0';
    if (expr_compile(&w->mem, str_of(text), NULL, &x, NULL) < 0)
        return "an error";
    for (size_t i = 0; expr_path_at(x, i, &path); i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%.*s", i ? " " : "", (int)path.n,
                 path.s);
    return out;
}

static bool reads(struct world *w, const char *text, const char *path)
{
    const struct expr *x;
    return expr_compile(&w->mem, str_of(text), NULL, &x, NULL) == 0 && expr_reads(x, str_of(path));
}

static void check_paths(struct world *w)
{
    is_text(paths(w, "[x.a for x in data.l if x.b == y.c]"), "data.l y.c",
            "a bound name has no path");
    is_text(paths(w, "[x for x in x.l]"), "x.l", "it is not bound in what is gone through");
    is_text(paths(w, "changed_any(data.a, data['b'] | default(none)) and old(node.c[i])"),
            "data.a data.b i node.c", "looks at old data have paths");
    ok(reads(w, "data.a.b", "data.a.b"), "the path itself");
    ok(reads(w, "data.a.b", "data.a"), "below");
    ok(reads(w, "changed(data)", "data.a"), "above");
    ok(reads(w, "data[k]", "data.a"), "maybe");
    ok(!reads(w, "data.ab", "data.a"), "another that begins so");
    ok(!reads(w, "data.a", "data.ab"), "another that is longer");
    ok(!reads(w, "[node.a for node in data.nodes]", "node"), "a name that is bound");
}

/* --- what is found once --- */

/* The result for a node, and the steps that it took. */
static const char *evaluate_node(struct world *w, const struct expr *x, const char *role,
                                 struct expr_memo *memo, uint32_t *ret_steps)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(json);
    struct expr_budget budget = {EXPR_MAX_STEPS, EXPR_MAX_BYTES};
    struct value *node = value_map(&mem);
    value_put_text(&mem, node, "role", role);
    struct expr_var var = {str_of("node"), node};
    struct expr_scope old = {.vars = &var, .n = 1, .outer = &w->old.scope};
    struct expr_scope scope = {.vars = &var, .n = 1, .outer = &w->now.scope};
    scope.old = &old;
    scope.memo = memo;
    scope.budget = &budget;
    const struct value *v = NULL;
    struct err e;
    if (expr_eval(x, &scope, &mem, &v, &e) < 0)
        return arena_strdup(&w->mem, e.text);
    *ret_steps = EXPR_MAX_STEPS - budget.steps;
    json_write(&json, v, 0);
    return arena_strdup(&w->mem, json.data);
}

static const struct {
    const char *text;
    bool kept; /* all that takes steps */
} memo_rows[] = {
    {"[n.uid for n in data.nodes if n.role == 'compute']", true},
    {"changed([n for n in data.nodes if n.role == 'compute'])", true},
    {"changed_any(data.n, data.same, data.m)", true},
    {"[[n.uid ~ m for m in 'ab'] for n in data.nodes]", true},
    {"old([n.uid for n in data.nodes])", true},
    {"[added(data.l), deleted(data.l), new([n.uid for n in data.nodes])]", true},
    {"[n.uid for n in data.nodes if n.role == node.role]", false},
    {"[n.uid for n in data.nodes if [r for r in [node.role] if r == n.role]]", false},
    {"changed([n for n in data.nodes if n.role == node.role])", false},
    {"[n.uid for n in data.nodes if changed(n.uid)]", true},
    {"node.role ~ [[m.uid for m in data.nodes if m.role == n.role] for n in data.nodes]", true},
};

static void check_memo(struct world *w)
{
    static const char *const roles[] = {"compute", "controller", "compute", "none"};
    const struct str varying[] = {str_of("node"), str_of("data.roles")};
    for (size_t i = 0; i < sizeof memo_rows / sizeof *memo_rows; i++) {
        SCOPED(expr_memo) *memo = expr_memo_new(varying, 2);
        const struct expr *x = NULL;
        uint32_t plain = 0, first = 0, steps = 0;
        if (!ok(expr_compile(&w->mem, str_of(memo_rows[i].text), NULL, &x, NULL) == 0, "%s",
                memo_rows[i].text))
            continue;
        for (size_t k = 0; k < sizeof roles / sizeof *roles; k++) {
            const char *want = evaluate_node(w, x, roles[k], NULL, &plain);
            is_text(evaluate_node(w, x, roles[k], memo, &steps), want, "%s for %s",
                    memo_rows[i].text, roles[k]);
            first = k ? first : steps;
        }
        ok((steps <= 16 && steps < first) == memo_rows[i].kept, "%u steps, then %u", first, steps);
    }
    expr_memo_free(NULL);
}

/* All of the data, of which something varies: what does not is compared once. */
static void check_memo_members(void)
{
    static const char text[] =
        "{\"data\":{\"nodes\":[[1,2,3,4,5,6,7,8,9],[1,2,3]],\"roles\":[\"a\"]}}";
    static const char *const roles[] = {"x", "y", "z"};
    const struct str varying[] = {str_of("node"), str_of("data.roles")};
    SCOPED(expr_memo) *memo = expr_memo_new(varying, 2);
    struct world w = {0};
    const struct expr *x = NULL;
    uint32_t steps = 0, first = 0;
    arena_init(&w.mem);
    side_init(&w.mem, &w.now, text);
    side_init(&w.mem, &w.old, text);
    ok(expr_compile(&w.mem, str_of("changed(data)"), NULL, &x, NULL) == 0, "compiled");
    for (size_t k = 0; k < 3; k++) {
        is_text(evaluate_node(&w, x, roles[k], memo, &steps), "false", "for %s", roles[k]);
        first = k ? first : steps;
    }
    ok(steps + 10 < first, "%u steps, then %u", first, steps);
    arena_done(&w.mem);
}

int main(void)
{
    struct world w = {0};
    arena_init(&w.mem);
    side_init(&w.mem, &w.now, new_text);
    side_init(&w.mem, &w.old, old_text);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        is_text(evaluate(&w, lists[i].text), lists[i].want, "%s", lists[i].text);
    check_changes(&w);
    check_depth(&w);
    check_budget(&w);
    check_large(&w);
    check_paths(&w);
    check_memo(&w);
    check_memo_members();
    arena_done(&w.mem);
    return tap_done();
}
