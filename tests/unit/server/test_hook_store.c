/* test_hook_store.c - stores of roles: edits whole or not at all, taken back, written once, bounded
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hook_store.h"

#include "base/json.h"
#include "tap.h"

struct bench {
    struct hook_stores *all;
    struct store *store;
    struct arena mem;
    uint32_t rows;
    struct err e;
};

static void put(void *arg, enum row_verb verb, const struct row_role_store *row)
{
    struct bench *b = arg;
    struct row_op op = {ROWS_ROLE_STORE, (uint8_t)verb, row};
    b->rows++;
    ok(store_commit(b->store, &op, 1, &b->e) >= 0, "row %u of role %u is stored", b->rows, row->id);
}

static void bench_open(struct bench *b)
{
    *b = (struct bench){0};
    arena_init(&b->mem);
    (void)store_open(&(struct store_options){0}, &b->store, &b->e);
    b->all = hook_stores_new(put, b);
}

static void bench_close(struct bench *b)
{
    hook_stores_free(b->all);
    store_close(b->store);
    arena_done(&b->mem);
}

static const char *text_of(struct bench *b, uint32_t role)
{
    static char text[4096];
    SCOPED_BUF(out);
    json_write(&out, hook_store_get(b->all, role), 0);
    snprintf(text, sizeof text, "%s", buf_str(&out).s);
    return text;
}

/* "path=JSON path" : what sets and what goes. */
static int edit(struct bench *b, uint32_t role, const char *words)
{
    struct hook_store_edit edits[64];
    uint32_t n = 0;
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t len = strcspn(at, " ");
        const char *is = memchr(at, '=', len);
        struct value *v = NULL;
        if (is && json_parse(&b->mem, is + 1, len - (size_t)(is + 1 - at), NULL, &v, &b->e) < 0)
            return -1;
        edits[n++] = (struct hook_store_edit){{at, is ? (size_t)(is - at) : len}, v};
        at += len;
    }
    err_clear(&b->e);
    return hook_store_edit(b->all, role, edits, n, &b->e);
}

static void test_edits(void)
{
    static const struct {
        const char *words, *want;
        int code;
    } steps[] = {
        {"", "{}", 0},
        {"gone/too", "{}", 0},
        {"a=1", "{\"a\":1}", 0},
        {"b/c/d=\"x\" b/c/e=[1,2]", "{\"a\":1,\"b\":{\"c\":{\"d\":\"x\",\"e\":[1,2]}}}", 0},
        {"a/b=1", "{\"a\":1,\"b\":{\"c\":{\"d\":\"x\",\"e\":[1,2]}}}", -ERR_INVALID},
        {"z=1 a/b", "{\"a\":1,\"b\":{\"c\":{\"d\":\"x\",\"e\":[1,2]}}}", -ERR_INVALID},
        {"y=1 y/z=2", "{\"a\":1,\"b\":{\"c\":{\"d\":\"x\",\"e\":[1,2]}}}", -ERR_INVALID},
        {"y={} y/z=2", "{\"a\":1,\"b\":{\"c\":{\"d\":\"x\",\"e\":[1,2]}},\"y\":{\"z\":2}}", 0},
        {"b/c/d y", "{\"a\":1,\"b\":{\"c\":{\"e\":[1,2]}}}", 0},
        {"a=null b/c", "{\"a\":null,\"b\":{}}", 0},
        {"a b", "{}", 0},
    };
    struct bench b;
    bench_open(&b);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        is_int(edit(&b, 3, steps[i].words), steps[i].code, "\"%s\" %s", steps[i].words,
               steps[i].code ? "is refused" : "is done");
        is_text(text_of(&b, 3), steps[i].want, "after \"%s\"", steps[i].words);
    }
    bench_close(&b);
}

/* A value that is part of the tree is what it was before the edits, whatever they change. */
static void test_own_parts(void)
{
    struct bench b;
    bench_open(&b);
    edit(&b, 1, "a={\"x\":1} b={\"y\":2}");
    const struct value *root = hook_store_get(b.all, 1);
    struct hook_store_edit swap[] = {{str_of("a"), value_get(root, "b")},
                                     {str_of("b"), value_get(root, "a")},
                                     {str_of("c"), root}};
    is_int(hook_store_edit(b.all, 1, swap, 3, &b.e), 0, "two values change places");
    is_text(text_of(&b, 1),
            "{\"a\":{\"y\":2},\"b\":{\"x\":1},\"c\":{\"a\":{\"x\":1},\"b\":{\"y\":2}}}",
            "each as it was");
    bench_close(&b);
}

static void test_rows(void)
{
    struct bench b;
    bench_open(&b);
    edit(&b, 2, "z=1 a=2");
    edit(&b, 2, "m=3");
    edit(&b, 5, "x=1");
    is_int(hook_store_rev(b.all, 2), 0, "nothing is written before the flush");
    hook_stores_flush(b.all);
    is_int(b.rows, 2, "then one row for each store");
    is_int(hook_store_rev(b.all, 2), 1, "with a revision");
    edit(&b, 2, "z=1");
    hook_stores_flush(b.all);
    is_int(b.rows, 2, "the same again is no change");
    edit(&b, 2, "z=9 q=9");
    edit(&b, 7, "new=1");
    hook_stores_revert(b.all);
    is_text(text_of(&b, 2), "{\"z\":1,\"a\":2,\"m\":3}", "what is taken back never was");
    is_text(text_of(&b, 7), "{}", "also in a new store");
    hook_stores_flush(b.all);
    is_int(b.rows, 2, "and is not written");
    edit(&b, 5, "x");
    hook_stores_flush(b.all);
    struct hook_stores *again = hook_stores_new(put, &b), *old = b.all;
    is_int(hook_stores_load(again, b.store, &b.e), 0, "stores are read back");
    b.all = again;
    is_text(text_of(&b, 2), "{\"z\":1,\"a\":2,\"m\":3}", "in the order of their keys");
    is_int(hook_store_rev(again, 2), 1, "with their revisions");
    is_text(text_of(&b, 5), "{}", "an empty one is empty");
    is_int(hook_store_rev(again, 5), 2, "and had another before");
    b.all = old;
    hook_stores_free(again);

    struct row_role_store bad = {.id = 9, .tenant = 1, .realm = 1, .rev = 1, .body = str_of("[1]")};
    put(&b, ROW_PUT, &bad);
    again = hook_stores_new(put, &b);
    is_int(hook_stores_load(again, b.store, &b.e), -ERR_CORRUPT, "a row that is no map is corrupt");
    has_text(b.e.text, "role number 9", "and is named");
    hook_stores_free(again);
    bench_close(&b);
}

/* Thousands of edits of one store cost what they change, and there is an end. */
static void test_size(void)
{
    enum { MANY = 20000 };
    struct bench b;
    char path[64];
    bench_open(&b);
    struct value *v = value_text(&b.mem, "10.0.0.1");
    int rc = 0;
    for (int i = 0; i < MANY && rc >= 0; i++) {
        snprintf(path, sizeof path, "taken/n%d.t", i);
        rc = hook_store_edit(b.all, 1, &(struct hook_store_edit){str_of(path), v}, 1, &b.e);
    }
    is_int(rc, 0, "%d keys are set one by one", MANY);
    is_int(value_get(hook_store_get(b.all, 1), "taken")->n, MANY, "all are there");
    for (int i = 0; i < 2000; i++) {
        snprintf(path, sizeof path, "taken/n%d.t", i);
        hook_store_edit(b.all, 1, &(struct hook_store_edit){str_of(path), NULL}, 1, &b.e);
    }
    is_int(value_get(hook_store_get(b.all, 1), "taken")->n, MANY - 2000, "some go");
    char *big = arena_take(&b.mem, HOOK_STORE_BYTES);
    memset(big, 'x', HOOK_STORE_BYTES - 1);
    v = value_text(&b.mem, big);
    rc = hook_store_edit(b.all, 1, &(struct hook_store_edit){str_of("big"), v}, 1, &b.e);
    is_int(rc, -ERR_LIMIT, "a store has a limit");
    has_text(b.e.text, "at most 1048576", "that is named");
    ok(!value_get(hook_store_get(b.all, 1), "big"), "and nothing is kept");
    is_int(hook_store_edit(b.all, 1, &(struct hook_store_edit){str_of("big"), v}, 1, NULL),
           -ERR_LIMIT, "also if nobody asks why");
    v->n = 100;
    is_int(hook_store_edit(b.all, 1, &(struct hook_store_edit){str_of("big"), v}, 1, &b.e), 0,
           "what fits is taken");
    hook_stores_flush(b.all);
    bench_close(&b);
}

int main(void)
{
    test_edits();
    test_own_parts();
    test_rows();
    test_size();
    return tap_done();
}
