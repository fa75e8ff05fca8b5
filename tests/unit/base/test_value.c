/* test_value.c - builders, readers, equality and copies */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/value.h"

#include <pthread.h>

#include "base/json.h"
#include "tap.h"
#include "tree_gen.h"

static void test_kinds(void)
{
    is_text(value_kind_name(VALUE_MAP), "map", "a kind's name");
    is_text(value_kind_name(VALUE_REAL), "number", "a real is a number to people");
    is_text(value_kind_name((enum value_kind)77), "unknown", "a kind that is none");
}

static void test_readers(void)
{
    SCOPED_ARENA(a);
    struct value *m = value_map(&a), *list = value_list(&a);
    value_put_text(&a, m, "name", "db");
    value_put_text(&a, m, "none", NULL);
    value_put_int(&a, m, "port", 5432);
    value_put_bool(&a, m, "on", true);
    value_add(&a, list, value_int(&a, 10));
    value_add(&a, list, m);
    value_add(&a, list, value_text(&a, NULL));
    value_set(&a, m, "list", list);
    is_text(value_as_text(value_get(m, "name"), "?"), "db", "a text");
    is_text(value_as_text(value_get(m, "port"), "?"), "?", "a number is no text");
    is_int(value_as_int(value_get(m, "port"), -1), 5432, "a number");
    is_int(value_as_int(value_get(m, "name"), -1), -1, "a text is no number");
    ok(value_as_bool(value_get(m, "on"), false), "a boolean");
    ok(!value_as_bool(value_get(m, "port"), false), "a number is no boolean");
    ok(value_is(value_get(m, "none"), VALUE_NULL), "NULL text makes a null");
    is_int(value_as_str(value_get(m, "name")).n, 2, "a slice");
    is_int(value_as_str(value_get(m, "port")).n, 0, "no slice of a number");
    is_int(value_as_int(value_at(m, "list.0"), -1), 10, "path to an item");
    is_text(value_as_text(value_at(m, "list.1.name"), "?"), "db", "path through list and map");
    ok(value_at(m, "") == m, "the empty path is the value itself");
    static const char *const nowhere[] = {
        "list.3", "list.-1", "list.01",          "list.x",   "list.", "name.x",
        ".name",  "nope",    "list.99999999999", "list.0.0", "on.0"};
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
        ok(value_at(m, nowhere[i]) == NULL, "path %s leads nowhere", nowhere[i]);
    ok(!value_get(NULL, "x") && !value_at(NULL, "x") && value_as_int(NULL, 3) == 3 &&
           value_as_bool(NULL, true) && !strcmp(value_as_text(NULL, "o"), "o") &&
           value_as_str(NULL).n == 0,
       "NULL reads as absent");
    ok(!value_get(list, "0"), "a list has no keys");
}

static void test_large_maps(void)
{
    enum { KEYS = 50000 };
    SCOPED_ARENA(a);
    struct value *m = value_map(&a);
    bool right = true;
    for (int i = 0; i < KEYS; i++)
        value_put_int(&a, m, arena_printf(&a, "key-%d", i), i);
    for (int i = 0; i < KEYS; i += 3)
        value_put_int(&a, m, arena_printf(&a, "key-%d", i), -i);
    for (int i = 0; i < KEYS; i++)
        right = right && value_as_int(value_get(m, arena_printf(&a, "key-%d", i)), 1 << 30) ==
                             (i % 3 ? i : -i);
    ok(right, "%d keys, each found, a third of them replaced", KEYS);
    is_int(m->n, KEYS, "replacing adds no member");
    bool ordered = true;
    for (int i = 0; i < KEYS; i += 997)
        ordered = ordered && !strcmp(m->members[i].key, arena_printf(&a, "key-%d", i));
    ok(ordered, "members are in insertion order");
    ok(!value_get(m, "key-x") && !value_get(m, ""), "absent keys are absent");
}

/* What was put into a container does not change when the builder goes on, and the other way round.
 */
static void test_sharing(void)
{
    SCOPED_ARENA(a);
    for (int before = 0; before <= 40; before += 4) {
        struct value *inner = value_map(&a), *outer = value_map(&a), *list = value_list(&a);
        for (int i = 0; i < before; i++) {
            value_put_int(&a, inner, arena_printf(&a, "k%d", i), i);
            value_add(&a, list, value_int(&a, i));
        }
        value_set(&a, outer, "in", inner);
        value_set(&a, outer, "list", list);
        for (int i = before; i < 60; i++)
            value_put_int(&a, inner, arena_printf(&a, "k%d", i), i);
        value_add(&a, list, value_int(&a, -1));
        const struct value *in = value_get(outer, "in");
        ok(in->n == (uint32_t)before && !value_get(in, "k59") &&
               !value_get(in, arena_printf(&a, "k%d", before)),
           "a map of %d put into another does not grow with its builder", before);
        is_int(value_get(outer, "list")->n, before, "nor does a list");
        struct value mine = *in;
        value_put_int(&a, &mine, "k0", 99);
        value_put_int(&a, &mine, "new", 1);
        ok(before == 0 || value_as_int(value_get(in, "k0"), -1) == 0, "changing a copy leaves it");
        ok(!value_get(in, "new") && value_as_int(value_get(&mine, "k0"), -1) == 99 &&
               value_as_int(value_get(inner, "k59"), -1) == 59,
           "and each sees its own");
    }
    struct value *self = value_list(&a);
    value_add(&a, self, self);
    ok(self->n == 1 && self->items[0].n == 0, "a list added to itself is added as it was");
}

static void test_equal(void)
{
    SCOPED_ARENA(a);
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"1", "1", true},
        {"1", "1.0", false},
        {"0.0", "-0.0", false},
        {"null", "false", false},
        {"\"a\"", "\"a\"", true},
        {"\"a\"", "\"b\"", false},
        {"[]", "{}", false},
        {"[1,2]", "[2,1]", false},
        {"[1,2]", "[1,2,3]", false},
        {"{\"a\":1,\"b\":[2]}", "{\"b\":[2],\"a\":1}", true},
        {"{\"a\":1}", "{\"b\":1}", false},
        {"{\"a\":{\"b\":{\"c\":[1,{\"d\":null}]}}}", "{\"a\":{\"b\":{\"c\":[1,{\"d\":null}]}}}",
         true},
        {"{\"a\":{\"b\":{\"c\":[1,{\"d\":null}]}}}", "{\"a\":{\"b\":{\"c\":[1,{\"d\":true}]}}}",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct value *x, *y;
        json_parse(&a, cases[i].a, strlen(cases[i].a), NULL, &x, NULL);
        json_parse(&a, cases[i].b, strlen(cases[i].b), NULL, &y, NULL);
        ok(value_equal(x, y) == cases[i].same && value_equal(y, x) == cases[i].same, "%s %s %s",
           cases[i].a, cases[i].same ? "equals" : "differs from", cases[i].b);
    }
    struct value *one = value_int(&a, 1);
    ok(value_equal(NULL, NULL) && !value_equal(one, NULL) && !value_equal(NULL, one),
       "absent equals only absent");
}

static void test_copy(void)
{
    bool same = true, deep = true;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng r = {seed};
        SCOPED_ARENA(to);
        struct value *copy;
        SCOPED_BUF(before);
        SCOPED_BUF(after);
        {
            SCOPED_ARENA(from);
            struct value *v = gen_tree(&from, &r, 200);
            json_write(&before, v, 0);
            copy = value_copy(&to, v);
            same = same && value_equal(v, copy);
        }
        json_write(&after, copy, 0); /* the sanitizer sees any pointer left into the old arena */
        deep = deep && str_eq(buf_str(&before), buf_str(&after));
    }
    ok(same, "300 random trees equal their copies");
    ok(deep, "which outlive the arena of the original");
    SCOPED_ARENA(a);
    ok(value_copy(&a, NULL) == NULL, "a copy of nothing");
}

static void test_deep(void)
{
    SCOPED_ARENA(a);
    struct value *x = value_int(&a, 1), *y = value_int(&a, 2);
    for (int i = 0; i < 100000; i++) {
        struct value *nx = i % 2 ? value_list(&a) : value_map(&a);
        struct value *ny = i % 2 ? value_list(&a) : value_map(&a);
        if (i % 2) {
            value_add(&a, nx, x);
            value_add(&a, ny, y);
        } else {
            value_set(&a, nx, "k", x);
            value_set(&a, ny, "k", y);
        }
        x = nx;
        y = ny;
    }
    ok(!value_equal(x, y), "trees 100000 deep are compared");
    struct value *copy = value_copy(&a, x);
    ok(value_equal(x, copy), "and copied");
}

struct read_job {
    const struct value *map;
    bool good;
};

static void *read_all(void *arg)
{
    struct read_job *job = arg;
    char key[16];
    job->good = true;
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof key, "k%d", i % 1000);
        job->good = job->good && value_as_int(value_get(job->map, key), -1) == i % 1000;
    }
    return NULL;
}

/* Reading never writes: TSan sees it if it does. */
static void test_threads(void)
{
    SCOPED_ARENA(a);
    SCOPED_BUF(b);
    struct value *map;
    buf_putc(&b, '{');
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "%s\"k%d\":%d", i ? "," : "", i, i);
    buf_putc(&b, '}');
    is_int(json_parse(&a, b.data, b.len, NULL, &map, NULL), 0, "a map of 1000 is read");
    struct read_job jobs[4];
    pthread_t threads[4];
    bool good = true;
    for (int i = 0; i < 4; i++) {
        jobs[i].map = map;
        pthread_create(&threads[i], NULL, read_all, &jobs[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        good = good && jobs[i].good;
    }
    ok(good, "four threads read it at once");
}

int main(void)
{
    test_kinds();
    test_readers();
    test_large_maps();
    test_sharing();
    test_equal();
    test_copy();
    test_deep();
    test_threads();
    return tap_done();
}
