/* test_overlays.c - versions over task graphs: numbered, kept, read back, the oldest gone, refused
 * where they cannot be
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/overlays.h"

#include <stdio.h>

#include "base/alloc.h"
#include "tap.h"

struct bench {
    struct overlays *all;
    struct store *store;
    uint32_t inserts, deletes;
    struct err e;
};

static void row_told(void *arg, enum row_verb verb, const struct row_overlay *row)
{
    struct bench *b = arg;
    struct row_op op = {ROWS_OVERLAY, (uint8_t)verb, row};
    b->inserts += verb == ROW_INSERT;
    b->deletes += verb == ROW_DELETE;
    if (store_commit(b->store, &op, 1, &b->e) < 0)
        ok(false, "row %u is stored: %s", row->id, b->e.text);
}

static void bench_open(struct bench *b)
{
    *b = (struct bench){0};
    (void)store_open(&(struct store_options){0}, &b->store, &b->e);
    b->all = overlays_new(row_told, b);
}

static void bench_close(struct bench *b)
{
    overlays_free(b->all);
    store_close(b->store);
}

static int again(struct bench *b)
{
    overlays_free(b->all);
    b->all = overlays_new(row_told, b);
    return overlays_load(b->all, b->store, &b->e);
}

static struct overlay_key of_deployment(uint32_t id, const char *graph)
{
    return (struct overlay_key){OVERLAY_DEPLOYMENT, {"", 0}, id, str_of(graph)};
}

static struct overlay_key of_barclamp(const char *name, const char *graph)
{
    return (struct overlay_key){OVERLAY_BARCLAMP, str_of(name), 0, str_of(graph)};
}

static int put(struct bench *b, struct overlay_key k, const char *text, uint32_t tasks,
               uint64_t group, uint64_t durable)
{
    const struct overlay *made = NULL;
    struct overlay v = {.tasks = tasks,
                        .created_ms = 1000 + group,
                        .author = str_of("ada"),
                        .message = str_of("because"),
                        .text = str_of(text),
                        .group = group};
    int rc = overlays_put(b->all, &k, &v, 1, durable, &made, &b->e);
    return rc < 0 ? rc : (int)made->version;
}

static void newest_is(struct bench *b, struct overlay_key k, uint32_t version, const char *text)
{
    const struct overlay *v = overlays_newest(b->all, &k);
    ok(v && v->version == version && str_is(v->text, text), "version %u is in force: %s", version,
       text);
}

static void test_versions(void)
{
    struct bench b;
    const struct overlay *first, *v;
    struct overlay_key d7 = of_deployment(7, "default"), bw = of_barclamp("web", "default"),
                       other = of_deployment(7, "upgrade"), b7 = of_barclamp("7", "default");

    bench_open(&b);
    ok(!overlays_newest(b.all, &d7) && overlays_versions(b.all, &d7, &first) == 0 &&
           overlays_piles(b.all) == 0,
       "nothing is there at first");
    is_int(put(&b, d7, "one", 1, 1, 0), 1, "the first of a deployment is version 1");
    is_int(put(&b, d7, "two", 2, 2, 0), 2, "the next is version 2");
    is_int(put(&b, bw, "three", 1, 3, 0), 1, "a barclamp counts its own");
    is_int(put(&b, other, "four", 1, 4, 0), 1, "so does another graph");
    ok(!overlays_newest(b.all, &b7), "a barclamp called 7 is not deployment 7");
    newest_is(&b, d7, 2, "two");
    v = overlays_version(b.all, &d7, 1);
    ok(v && str_is(v->text, "one"), "the one before keeps its text while its group is not durable");
    is_int(put(&b, d7, "five", 0, 5, 2), 3, "a version without tasks is one");
    v = overlays_version(b.all, &d7, 1);
    ok(v && !v->text.s && str_is(v->author, "ada") && str_is(v->message, "because"),
       "what is durable has its text in the store only");
    ok(!overlays_version(b.all, &d7, 0) && !overlays_version(b.all, &d7, 4),
       "there are no versions beside these");
    is_int((int)overlays_piles(b.all), 3, "one pile for each of them and each graph");
    bench_close(&b);
}

static void test_restart(void)
{
    struct bench b;
    const struct overlay *first, *v;
    struct overlay_key d7 = of_deployment(7, "default"), bw = of_barclamp("web", "default");

    bench_open(&b);
    (void)put(&b, d7, "one", 1, 1, 0);
    (void)put(&b, bw, "of web", 1, 1, 0);
    (void)put(&b, d7, "- id: \"a\"\n  type: stage\n", 1, 2, 0);
    is_int(again(&b), 0, "rows are read back");
    newest_is(&b, d7, 2, "- id: \"a\"\n  type: stage\n");
    newest_is(&b, bw, 1, "of web");
    is_int(overlays_versions(b.all, &d7, &first), 2, "both versions are known");
    v = overlays_version(b.all, &d7, 1);
    ok(v && !v->text.s && v->id == 1 && v->tasks == 1 && v->created_ms == 1001 &&
           str_is(v->author, "ada"),
       "the older one without its text");
    is_int(put(&b, d7, "three", 1, 3, 2), 3, "numbers go on");
    v = overlays_newest(b.all, &d7);
    ok(v && v->id == 4, "ids too");
    overlays_forget(b.all, 7);
    ok(!overlays_newest(b.all, &d7) && overlays_newest(b.all, &bw), "a deployment is forgotten");
    is_int(b.deletes, 3, "with each of its rows");
    is_int(again(&b), 0, "what is left is read back");
    ok(!overlays_newest(b.all, &d7) && overlays_newest(b.all, &bw), "and it stays forgotten");
    bench_close(&b);
}

static void test_limits(void)
{
    struct bench b;
    const struct overlay *first;
    struct overlay_key k = of_barclamp("web", "default");
    char *large = xcalloc(OVERLAY_MAX_BYTES + 2, 1);

    bench_open(&b);
    memset(large, 'x', OVERLAY_MAX_BYTES + 1);
    is_int(put(&b, k, large, 1, 1, 0), -ERR_LIMIT, "a text that is too large is refused");
    ok(!overlays_newest(b.all, &k) && b.inserts == 0, "and nothing is kept of it");
    large[OVERLAY_MAX_BYTES] = '\0';
    is_int(put(&b, k, large, 1, 1, 0), 1, "one of just that size is kept");
    for (int i = 1; i < OVERLAY_MAX_VERSIONS; i++)
        (void)put(&b, k, "next", 1, 1, 1);
    is_int(overlays_versions(b.all, &k, &first), OVERLAY_MAX_VERSIONS, "so many are kept");
    is_int(b.deletes, 0, "none is gone yet");
    is_int(put(&b, k, "last", 1, 2, 1), OVERLAY_MAX_VERSIONS + 1, "one more");
    is_int(overlays_versions(b.all, &k, &first), OVERLAY_MAX_VERSIONS, "and the oldest goes");
    ok(first->version == 2 && !overlays_version(b.all, &k, 1) && overlays_version(b.all, &k, 2),
       "the others keep their numbers");
    is_int(b.deletes, 1, "with its row");
    is_int(again(&b), 0, "which is how it is read back");
    newest_is(&b, k, OVERLAY_MAX_VERSIONS + 1, "last");
    bench_close(&b);
    free(large);
}

static void test_corrupt(void)
{
    static const struct row_overlay bad[] = {
        {.id = 9, .scope = 2, .barclamp = {"web", 3}, .graph = {"g", 1}, .version = 1},
        {.id = 9, .scope = 1, .graph = {"g", 1}, .version = 1},
        {.id = 9, .scope = 0, .graph = {"g", 1}, .version = 1},
        {.id = 9, .scope = 0, .barclamp = {"web", 3}, .version = 1},
        {.id = 9, .scope = 0, .barclamp = {"web", 3}, .graph = {"g", 1}, .version = 0},
        {.id = 9, .scope = 0, .barclamp = {"web", 3}, .graph = {"g", 1}, .version = 3},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct bench b;
        struct row_op op = {ROWS_OVERLAY, ROW_INSERT, &bad[i]};
        bench_open(&b);
        (void)put(&b, of_barclamp("web", "g"), "one", 1, 1, 0);
        (void)store_commit(b.store, &op, 1, &b.e);
        is_int(again(&b), -ERR_CORRUPT, "row %zu that cannot be is refused: %s", i, b.e.text);
        bench_close(&b);
    }
}

int main(void)
{
    test_versions();
    test_restart();
    test_limits();
    test_corrupt();
    return tap_done();
}
