/* test_aside.c - rows that wait for their place: of groups whose rows are far apart, and of losses
 * too large for one transaction; what a crash leaves of them, and what damage is told */
/* SPDX-License-Identifier: Apache-2.0 */
#include "commit_bench.h"
#include "server/aside.h"

/* ---- rows put aside ---- */

enum { LOTS = 92 * TASKS };

/* Independent tasks, each node's far from those of the others. */
static void plant_apart(struct bench *b)
{
    SCOPED(plan) *p = plan_new();
    struct plan_def def = {
        .name = str_of("t"), .role = str_of("r"), .jig = 1, .digest = 5, .body = str_of("{}")};
    p->defs = &def;
    p->n_defs = 1;
    p->n_noderoles = p->n_tasks = LOTS;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, LOTS);
    p->tasks = arena_new(&p->mem, struct plan_task, LOTS);
    for (uint32_t i = 0; i < LOTS; i++) {
        p->noderoles[i] = (struct plan_noderole){.role = str_of("r"),
                                                 .node = 1 + i / 92,
                                                 .cohort = 1,
                                                 .first_task = i,
                                                 .n_tasks = 1,
                                                 .user = str_of("")};
        p->tasks[i] = (struct plan_task){
            .noderole = PLAN_NEW | i, .def = PLAN_NEW | 0, .weight = 1};
    }
    plan_rebase(p, anneal_def_end(b->a), anneal_noderole_end(b->a), anneal_task_end(b->a),
                anneal_span_end(b->a), anneal_pool_end(b->a));
    feed(b, (struct event){.kind = EVENT_PLAN_APPLY, .op = 2, .plan = p});
    settle(b);
}

static int size_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    *(size_t *)arg += ((const struct row_aside *)row)->body.n;
    return 0;
}

static void test_rows_apart_are_put_aside(void)
{
    struct bench b;
    uint64_t group = 0;
    uint32_t parts = 0, aside = 0, placed = 0, wrong = 0;
    size_t bytes = 0;
    bench_init(&b, 0);
    plant_apart(&b);
    commit_set_slice(b.c, 64);
    for (uint32_t i = 0; i < 92; i++) {
        for (uint32_t n = 0; n < TASKS; n++)
            answer(&b, 1 + n * 92 + i, OUTCOME_OK);
        struct group *g = write_some(&b, SIZE_MAX);
        uint32_t rows = count_ops(g, ROWS_TASK, ROW_UPDATE, 0);
        aside += count_ops(g, ROWS_ASIDE, ROW_INSERT, 0);
        placed += rows > TASKS ? rows : 0;
        group_free(g);
        size_t now = 0;
        store_each(b.store, ROWS_ASIDE, size_row, &now, &b.e);
        bytes = now > bytes ? now : bytes;
        parts = stored(&b, ROWS_ASIDE) > parts ? stored(&b, ROWS_ASIDE) : parts;
        if (i % 10 == 0)
            wrong += restored(&b, &group) != anneal_digest(b.a);
        if (i == 50) {
            restart(&b);
            commit_set_slice(b.c, 64);
        }
    }
    ok(aside > 50, "groups of rows far apart put them aside: %u", aside);
    ok(placed > 100, "more than one at a time is brought to its place: %u", placed);
    ok(parts > 4 && parts < 40, "what is aside stays within bounds: %u parts", parts);
    ok(bytes < 64 << 10, "in bytes as well: %zu", bytes);
    is_int(wrong, 0, "a restart finds them at any time");
    struct operation_view v = {0};
    anneal_operation(b.a, 2, &v);
    is_int(v.state, OPERATION_SUCCEEDED, "all was done");
    commit_set_slice(b.c, 0); /* nothing may stay aside */
    for (int i = 0; i < 200 && stored(&b, ROWS_ASIDE) > 0; i++) {
        feed(&b, (struct event){.kind = EVENT_POLICY_SET, .flag = i % 2});
        settle(&b);
    }
    is_int(stored(&b, ROWS_ASIDE), 0, "all of it finds its place");
    ok(restored(&b, &group) == anneal_digest(b.a), "where a restart finds it");
    bench_done(&b);
}

/* The same rows in every group: few are aside, but over and over. */
static void test_rows_put_aside_again(void)
{
    struct bench b;
    uint64_t group = 0;
    uint32_t parts = 0;
    bench_init(&b, 0);
    plant_apart(&b);
    commit_set_slice(b.c, 120); /* at most 80 rows aside, 320 in bytes, 30 parts */
    static const uint32_t ids[] = {1, 93, 185, 277, 369, 461, 553};
    for (uint32_t i = 0; i < 120; i++) {
        feed(&b, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = TASKS});
        settle(&b);
        for (uint32_t n = 0; n < TASKS; n++)
            answer(&b, ids[n], OUTCOME_OK);
        settle(&b);
        parts = stored(&b, ROWS_ASIDE) > parts ? stored(&b, ROWS_ASIDE) : parts;
    }
    ok(parts > 10 && parts < 36, "its bytes stay within bounds: %u parts", parts);
    ok(restored(&b, &group) == anneal_digest(b.a), "and are what was in memory");
    bench_done(&b);
}

static void test_few_rows_stay_in_place(void)
{
    struct bench b;
    bench_init(&b, 0);
    plant_apart(&b);
    commit_set_slice(b.c, 8000);
    for (uint32_t n = 0; n < TASKS; n++)
        answer(&b, 1 + n * 92, OUTCOME_OK);
    struct group *g = write_some(&b, SIZE_MAX);
    is_int(count_ops(g, ROWS_ASIDE, -1, 0), 0, "nothing is put aside");
    is_int(count_ops(g, ROWS_TASK, ROW_UPDATE, 0), TASKS, "a few rows are written in their places");
    group_free(g);
    bench_done(&b);
}

/* ---- a large loss ---- */

/* Everything in service, then the parent is re-run and fails: all children are lost in one event.
 */
static void lose(struct bench *b)
{
    plant(b);
    for (uint32_t t = 1; t <= TASKS; t++)
        answer(b, t, OUTCOME_OK);
    static const uint32_t ids[] = {1};
    feed(b, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
    settle(b);
    ok(!commit_must_wait(b->c), "nothing large yet");
    answer(b, 1, OUTCOME_FAILED);
}

static void test_large_loss_is_sliced(void)
{
    struct bench b;
    bench_init(&b, 3);
    commit_set_slice(b.c, 1);
    lose(&b);
    ok(commit_must_wait(b.c), "a large loss waits to be written");
    is_int(feed(&b, (struct event){.kind = EVENT_POLICY_SET}), ERR_BUSY, "nothing else till then");
    struct group *g = write_some(&b, SIZE_MAX);
    ok(g->slices.n > 2, "in several transactions: %zu", g->slices.n);
    is_int(count_ops(g, ROWS_ASIDE, ROW_INSERT, 0), g->slices.n - 1, "its rows first, in parts");
    is_int(g->ops.at[g->ops.n - 1].table, ROWS_META, "the last one makes it true");
    is_int(count_ops(g, ROWS_META, -1, 0), 1, "and none before");
    is_int(count_ops(g, ROWS_NODEROLE, -1, 0), 0, "no row is in its place yet");
    ok(!commit_must_wait(b.c), "durable: events are taken again");
    is_int(feed(&b, (struct event){.kind = EVENT_POLICY_SET}), 0, "and life goes on");
    group_free(g);
    bench_done(&b);
}

/* A crash after every one of its transactions: before or after, never in between. */
static void test_crash_between_slices(void)
{
    bool both[2] = {false, false};
    for (size_t n = 0, slices = 1; n <= slices; n++) {
        struct bench b;
        uint64_t group = 0;
        bench_init(&b, 3);
        commit_set_slice(b.c, 1);
        lose(&b);
        uint64_t after = anneal_digest(b.a), replayed = 0;
        struct group *g = write_some(&b, n);
        slices = g->slices.n;
        uint64_t found = restored(&b, &group);
        bool came = group == g->number;
        both[came] = true;
        ok((found == after) == came, "crash after %zu of %zu: %s", n, slices,
           came ? "it happened" : "it did not");
        restore_replay(b.store, (struct str){"", 0}, 0, &replayed, &b.e);
        ok(replayed == found, "crash after %zu: the journal agrees", n);
        group_free(g);
        restart(&b);
        answer(&b, 1, OUTCOME_FAILED); /* again, if it did not happen */
        feed(&b, (struct event){.kind = EVENT_POLICY_SET});
        settle(&b);
        ok(restored(&b, &group) == anneal_digest(b.a), "crash after %zu: life goes on", n);
        for (int i = 0; i < 50 && stored(&b, ROWS_ASIDE) > 0; i++) {
            feed(&b, (struct event){.kind = EVENT_POLICY_SET, .flag = i % 2});
            settle(&b);
        }
        is_int(stored(&b, ROWS_ASIDE), 0, "crash after %zu: nothing is left aside", n);
        ok(restored(&b, &group) == anneal_digest(b.a), "crash after %zu: all in place", n);
        bench_done(&b);
    }
    ok(both[0] && both[1], "both were seen");
}

static void test_damaged_aside(void)
{
    struct bench b;
    uint64_t group = 0;
    SCOPED_BUF(body);
    bench_init(&b, 0);
    settle(&b);
    struct row_aside part = {
        .id = 1 << ASIDE_PART_BITS, .tenant = 1, .realm = 1, .body = {"\250oops", 5}};
    struct row_op op = {ROWS_ASIDE, ROW_PUT, &part};
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "bytes that are no row");
    is_int(b.e.code, ERR_CORRUPT, "are corrupt");
    has_text(b.e.text, "byte 0", "the error tells where");
    has_text(b.e.hint, "backup", "and what to do");
    aside_put(&body, ROWS_NODE, &(struct row_node){.id = 1, .name = {"", 0}});
    part.body = buf_str(&body);
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "a row of a table whose rows are never put aside");
    is_int(b.e.code, ERR_CORRUPT, "is corrupt");
    buf_clear(&body);
    aside_put(&body, ROWS_TASK, &(struct row_task){.id = 99, .deps = {"", 0}});
    part.body = buf_str(&body);
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "a row that is not in its place at all");
    has_text(b.e.text, "task 99", "is named");
    op.verb = ROW_DELETE;
    store_commit(b.store, &op, 1, &b.e);
    plant(&b);
    settle(&b);
    buf_clear(&body);
    aside_put(&body, ROWS_NODEROLE,
              &(struct row_noderole){.id = 0, .role = {"", 0}, .parents = {"", 0}});
    part.body = buf_str(&body);
    op.verb = ROW_PUT;
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "one that comes before all others");
    has_text(b.e.text, "noderole 0", "too");
    op.verb = ROW_DELETE;
    store_commit(b.store, &op, 1, &b.e);
    part.id = 7 << ASIDE_PART_BITS;
    part.body = (struct str){"\250oops", 5};
    op.verb = ROW_PUT;
    store_commit(b.store, &op, 1, &b.e);
    ok(restored(&b, &group) == anneal_digest(b.a), "a group that never came to be is not read");
    restart(&b);
    feed(&b, (struct event){.kind = EVENT_POLICY_SET});
    settle(&b);
    is_int(stored(&b, ROWS_ASIDE), 0, "and goes with the next");
    bench_done(&b);
}

int main(void)
{
    test_rows_apart_are_put_aside();
    test_rows_put_aside_again();
    test_few_rows_stay_in_place();
    test_large_loss_is_sliced();
    test_crash_between_slices();
    test_damaged_aside();
    return tap_done();
}
