/* test_commit.c - the commit step: what a group holds, what it holds back, and what a crash leaves
 * of it
 *
 * Engine, commit step and store are real; the store is in memory.  A crash is a second handle on
 * the same rows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "model/taskmsg.h"
#include "server/aside.h"
#include "server/commit.h"
#include "server/restore.h"
#include "tap.h"

enum { CHILDREN = 6, TASKS = 1 + CHILDREN };

struct bench {
    struct store *store;
    struct anneal *a;
    struct commit *c;
    struct anneal_options opt;
    struct err e;
    uint64_t now_ms;
};

static int feed_note(struct bench *b, struct event ev, const struct commit_note *note)
{
    ev.at_ms = b->now_ms;
    return -commit_event(b->c, &ev, note, NULL, &b->e);
}

static int feed(struct bench *b, struct event ev)
{
    return feed_note(b, ev, NULL);
}

/* Closes the open group and writes its first n transactions; all of them: durable. */
static struct group *write_some(struct bench *b, size_t n)
{
    struct group *g = commit_close(b->c);
    size_t from = 0;
    for (size_t i = 0; g && i < g->slices.n && i < n; i++) {
        if (store_commit(b->store, g->ops.at + from, g->slices.at[i] - from, &b->e) < 0)
            ok(false, "group %d: %s", (int)g->number, b->e.text);
        from = g->slices.at[i];
    }
    if (g && n >= g->slices.n)
        commit_durable(b->c, g->number);
    return g;
}

static void settle(struct bench *b)
{
    group_free(write_some(b, SIZE_MAX));
}

static void bench_init(struct bench *b, uint32_t cone_large)
{
    *b = (struct bench){.opt.cone_large = cone_large, .now_ms = 1000};
    store_open(&(struct store_options){0}, &b->store, &b->e);
    b->a = anneal_new(&b->opt);
    b->c = commit_new(b->a, 0, 0);
    commit_set_slice(b->c, 2);
    feed_note(b, (struct event){.kind = EVENT_TENANT_ADD, .id = 1},
              &(struct commit_note){.fixed = &(struct row_tenant){.name = str_of("acme")}});
    for (uint32_t op = 1; op <= 2; op++)
        feed(b,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = op, .n = 1, .flag = CLASS_NORMAL});
    feed_note(b, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 50},
              &(struct commit_note){.fixed = &(struct row_jig){.name = str_of("shell")}});
    feed(b, (struct event){.kind = EVENT_CAPACITY_SET, .n = 50});
    for (uint32_t id = 1; id <= TASKS; id++) {
        struct row_node fixed = {.name = str_of("web")};
        feed_note(b,
                  (struct event){
                      .kind = EVENT_NODE_ADD, .id = id, .n = 1, .flag = 1, .extra = ALIVE_ALIVE},
                  &(struct commit_note){.fixed = &fixed});
    }
}

static void bench_done(struct bench *b)
{
    commit_free(b->c);
    anneal_free(b->a);
    store_close(b->store);
}

/* A parent with a child on every other node, one task each. */
static int plant(struct bench *b)
{
    SCOPED(plan) *p = plan_new();
    static const uint32_t parent[] = {PLAN_NEW | 0}, dep[] = {PLAN_NEW | 0};
    struct plan_def def = {.name = str_of("t"),
                           .role = str_of("r"),
                           .jig = 1,
                           .digest = 5,
                           .body = str_of("{\"type\":\"shell\"}")};
    p->defs = &def;
    p->n_defs = 1;
    p->n_noderoles = p->n_tasks = TASKS;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, TASKS);
    p->tasks = arena_new(&p->mem, struct plan_task, TASKS);
    for (uint32_t i = 0; i < TASKS; i++) {
        uint32_t *mine = arena_new(&p->mem, uint32_t, 2);
        mine[0] = parent[0];
        mine[1] = dep[0];
        p->noderoles[i] = (struct plan_noderole){.role = str_of("r"),
                                                 .node = i + 1,
                                                 .cohort = 1 + (i > 0),
                                                 .first_task = i,
                                                 .n_tasks = 1,
                                                 .parents = mine,
                                                 .n_parents = i > 0,
                                                 .user = str_of("{\"k\":1}")};
        p->tasks[i] = (struct plan_task){.noderole = PLAN_NEW | i,
                                         .def = PLAN_NEW | 0,
                                         .weight = 1,
                                         .deps = mine + 1,
                                         .n_deps = i > 0};
    }
    plan_rebase(p, anneal_def_end(b->a), anneal_noderole_end(b->a), anneal_task_end(b->a),
                anneal_span_end(b->a), anneal_pool_end(b->a));
    return feed(b, (struct event){.kind = EVENT_PLAN_APPLY, .op = 2, .plan = p});
}

static int answer_in(struct bench *b, uint32_t task, enum outcome o, enum phase phase)
{
    struct task_view v = {0};
    anneal_task(b->a, task, &v);
    return feed_note(b,
                     (struct event){.kind = EVENT_RESULT,
                                    .id = task,
                                    .attempt = v.attempt,
                                    .extra = v.asks,
                                    .flag = (uint8_t)o,
                                    .phase = (uint8_t)phase},
                     &(struct commit_note){.text = "all well", .wall_ms = 1700000000123});
}

static int answer(struct bench *b, uint32_t task, enum outcome o)
{
    return answer_in(b, task, o, PHASE_NONE);
}

static uint32_t count_ops(const struct group *g, enum row_table t, int verb, uint64_t key)
{
    uint32_t n = 0;
    for (size_t i = 0; i < g->ops.n; i++)
        n += g->ops.at[i].table == t && (verb < 0 || g->ops.at[i].verb == verb) &&
             (key == 0 || row_key(t, g->ops.at[i].row) == key);
    return n;
}

static int count_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)row;
    (void)e;
    ++*(uint32_t *)arg;
    return 0;
}

static uint32_t stored(struct bench *b, enum row_table t)
{
    uint32_t n = 0;
    store_each(b->store, t, count_row, &n, &b->e);
    return n;
}

/* The digest of what a restart would find; the group it ends with. */
static uint64_t restored(struct bench *b, uint64_t *ret_group)
{
    struct store *s = store_mem_reopen(b->store);
    struct anneal *a = NULL;
    struct commit *c = NULL;
    struct row_meta meta = {0};
    uint64_t digest = 0;
    if (restore_engine(s, &b->opt, &a, &c, &meta, &b->e) >= 0) {
        digest = anneal_digest(a);
        *ret_group = meta.group_no;
        is_int(commit_open_group(c), meta.group_no + 1, "a restart goes on with the next group");
        ok(!commit_has_work(c), "and has nothing to write");
    }
    commit_free(c);
    anneal_free(a);
    store_close(s);
    return digest;
}

/* ---- groups ---- */

static void test_a_group(void)
{
    struct bench b;
    bench_init(&b, 0);
    is_int(commit_pending(b.c), 5 + TASKS, "every event is in the open group");
    is_int(commit_open_group(b.c), 1, "the first");
    struct group *g = write_some(&b, SIZE_MAX);
    is_int(g->slices.n, 1, "one transaction");
    is_int(count_ops(g, ROWS_JOURNAL, ROW_INSERT, 0), 5 + TASKS, "a journal row each");
    is_int(count_ops(g, ROWS_NODE, ROW_INSERT, 0), TASKS, "what was added is inserted");
    is_int(count_ops(g, ROWS_META, ROW_PUT, 0), 1, "the meta row goes with it");
    is_int(g->first_seq, 1, "journal numbers from 1");
    is_int(g->last_seq, 5 + TASKS, "to the last");
    group_free(g);
    ok(commit_close(b.c) == NULL, "an empty group is none");
    ok(!commit_has_work(b.c), "as it said");
    is_int(commit_pending(b.c), 0, "nothing is open");
    bench_done(&b);
}

static void test_rows_once_messages_held_back(void)
{
    struct bench b;
    bench_init(&b, 0);
    settle(&b);
    is_int(plant(&b), 0, "a plan");
    answer(&b, 1, OUTCOME_OK);
    for (uint32_t t = 2; t <= TASKS; t++)
        answer(&b, t, OUTCOME_AGAIN);
    b.now_ms += 1000;
    feed(&b, (struct event){.kind = EVENT_TICK});
    struct group *g = write_some(&b, SIZE_MAX);
    is_int(count_ops(g, ROWS_TASK, ROW_INSERT, 2), 1, "a new task is inserted");
    is_int(count_ops(g, ROWS_TASK, ROW_UPDATE, 2) <= 1, 1,
           "and updated once, however often it changed");
    is_int(count_ops(g, ROWS_ATTEMPT, ROW_INSERT, 0), TASKS, "an attempt each");
    is_int(count_ops(g, ROWS_PLAN, ROW_INSERT, 0), 1, "the plan is kept for replay");
    is_int(count_ops(g, ROWS_DOCUMENT, ROW_INSERT, 0), TASKS, "and each noderole's data");
    is_int(g->sends.n, TASKS + CHILDREN, "starts and asks wait in the group");
    is_int(g->sends.at[0].task, 1, "in the order in which they were decided");
    group_free(g);
    feed(&b, (struct event){.kind = EVENT_CANCEL, .id = 2, .flag = 1});
    g = write_some(&b, SIZE_MAX);
    is_int(g->stops.n, CHILDREN, "and so do stops");
    group_free(g);
    bench_done(&b);
}

static void test_what_is_journalled(void)
{
    struct bench b;
    bench_init(&b, 0);
    plant(&b);
    settle(&b);
    uint64_t seq = commit_seq(b.c);
    is_int(feed(&b, (struct event){.kind = EVENT_POKE, .id = 1}), ERR_CONFLICT, "refused");
    is_int(commit_seq(b.c), seq, "what is refused is not journalled");
    feed(&b, (struct event){.kind = EVENT_TICK});
    feed(&b, (struct event){.kind = EVENT_RESULT, .id = 1, .attempt = 99});
    is_int(commit_seq(b.c), seq, "nor is a tick or a result that changes nothing");
    ok(!commit_has_work(b.c), "it makes no group");
    feed(&b, (struct event){.kind = EVENT_POLICY_SET});
    is_int(commit_seq(b.c), seq + 1, "an operator's word is, whatever it changes");
    struct event inventory = {.kind = EVENT_TOKEN, .id = 3};
    commit_inventory(b.c, &inventory, &(struct commit_note){.actor = "root"});
    struct row_token token = {.id = 3,
                              .tenant = 1,
                              .realm = 1,
                              .name = str_of("ci"),
                              .hash = str_of("x"),
                              .scope = str_of("read")};
    commit_row(b.c, ROWS_TOKEN, ROW_INSERT, &token);
    settle(&b);
    is_int(commit_seq(b.c), seq + 2, "an event of the inventory shares the numbers");
    is_int(stored(&b, ROWS_TOKEN), 1, "and its rows the group");
    bench_done(&b);
}

static int show(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    commit_event_json(arg, row);
    buf_putc(arg, '\n');
    return 0;
}

static void test_journal_in_words(void)
{
    struct bench b;
    SCOPED_BUF(text);
    bench_init(&b, 0);
    plant(&b);
    settle(&b);
    uint64_t seq = commit_seq(b.c);
    answer(&b, 1, OUTCOME_OK);
    feed_note(
        &b, (struct event){.kind = EVENT_CANCEL, .id = 2},
        &(struct commit_note){.actor = "alice", .tenant = 7, .more = str_of("{\"why\":\"late\"}")});
    settle(&b);
    store_range(b.store, ROWS_JOURNAL, seq + 1, seq + 2, false, 0, show, &text, &b.e);
    has_text(text.data, "\"kind\":\"result\"", "the kind by name");
    has_text(text.data, "\"at\":\"2023-11-14T22:13:20.123Z\"", "the time for people");
    has_text(text.data, "\"outcome\":\"ok\"", "the outcome by name");
    has_text(text.data, "{\"object\":\"task\",\"id\":1,\"from\":\"RUNNING\",\"to\":\"DONE\"}",
             "what it changed");
    has_text(text.data,
             "{\"object\":\"noderole\",\"id\":1,\"from\":\"TRANSITION\",\"to\":\"ACTIVE\"}",
             "and what followed");
    has_text(text.data, "\"actor\":\"alice\"", "who asked");
    has_text(text.data, "\"why\":\"late\"", "with what the caller adds");
    struct row_journal bad = {.id = 9, .kind = 250, .input = str_of("{}")};
    SCOPED_ARENA(mem);
    struct event ev;
    is_int(commit_event_parse(&mem, &bad, &ev, &b.e), -ERR_CORRUPT, "no such kind");
    bad = (struct row_journal){.id = 9, .kind = EVENT_POKE, .input = str_of("{\"id\":")};
    ok(commit_event_parse(&mem, &bad, &ev, &b.e) < 0, "half an event");
    has_text(b.e.text, "journal 9", "the error names its number");
    buf_clear(&text);
    commit_event_json(&text, &bad);
    has_text(text.data, "\"input\":null", "and still it can be shown");
    bench_done(&b);
}

/* ---- restart ---- */

static void test_restart_and_replay(void)
{
    struct bench b;
    uint64_t group = 0, digest = 0;
    bench_init(&b, 0);
    commit_meta(b.c)->run_no = 4;
    plant(&b);
    settle(&b);
    SCOPED_BUF(checkpoint);
    anneal_save(b.a, &checkpoint);
    uint64_t from = commit_seq(b.c);
    answer(&b, 1, OUTCOME_OK);
    answer_in(&b, 2, OUTCOME_FAILED, PHASE_TEST_PRE);
    struct task_view v = {0};
    anneal_task(b.a, 2, &v);
    is_text(reason_name((enum reason)v.reason), "test-pre", "a failed test is the reason");
    settle(&b);
    ok(restored(&b, &group) == anneal_digest(b.a), "what is stored is what was in memory");
    is_int(group, 2, "two groups");
    is_int(restore_replay(b.store, (struct str){"", 0}, 0, &b.opt, &digest, &b.e), 0,
           "replay from nothing");
    ok(digest == anneal_digest(b.a), "gives the same");
    is_int(restore_replay(b.store, buf_str(&checkpoint), from, &b.opt, &digest, &b.e), 0,
           "replay from a checkpoint");
    ok(digest == anneal_digest(b.a), "too");
    is_int(restore_replay(b.store, (struct str){"\377\377", 2}, 0, &b.opt, &digest, &b.e),
           -ERR_CORRUPT, "a damaged checkpoint is refused");
    answer(&b, 3, OUTCOME_OK);
    ok(restored(&b, &group) != anneal_digest(b.a), "an open group is not stored");
    uint32_t dropped;
    store_trim(b.store, ROWS_PLAN, 0, UINT64_MAX >> 1, 0, &dropped, &b.e);
    is_int(restore_replay(b.store, (struct str){"", 0}, 0, &b.opt, &digest, &b.e), -ERR_CORRUPT,
           "a plan that is missing is told");
    bench_done(&b);
}

static void test_rows_that_do_not_fit(void)
{
    struct bench b;
    uint64_t group = 0;
    bench_init(&b, 0);
    plant(&b);
    settle(&b);
    struct row_noderole gone = {.id = 3};
    struct row_op op = {ROWS_NODEROLE, ROW_DELETE, &gone};
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "a noderole is missing");
    is_int(b.e.code, ERR_CORRUPT, "that is corrupt");
    has_text(b.e.hint, "backup", "and the error says what to do");
    bench_done(&b);
}

/* ---- attempts ---- */

static int take_attempt(void *arg, enum row_table t, const void *row, struct err *e)
{
    (void)t;
    (void)e;
    *(struct row_attempt *)arg = *(const struct row_attempt *)row;
    return 0;
}

static struct row_attempt attempt_row(struct bench *b, uint64_t id)
{
    struct row_attempt r = {0};
    store_range(b->store, ROWS_ATTEMPT, id, id, false, 1, take_attempt, &r, &b->e);
    return r;
}

/* Goes on from what is stored, as after a crash. */
static void restart(struct bench *b)
{
    struct store *s = store_mem_reopen(b->store);
    struct row_meta meta = {0};
    commit_free(b->c);
    anneal_free(b->a);
    store_close(b->store);
    b->store = s;
    b->a = NULL;
    b->c = NULL;
    if (restore_engine(s, &b->opt, &b->a, &b->c, &meta, &b->e) < 0)
        ok(false, "restart: %s", b->e.text);
    commit_set_slice(b->c, 2);
}

static void test_attempts_in_the_order_of_their_starts(void)
{
    struct bench b;
    static const uint32_t ids[] = {1};
    bench_init(&b, 0);
    plant(&b);
    settle(&b);
    is_int(commit_last_attempt(b.c, 1), 1, "the first attempt of all");
    is_int(commit_last_attempt(b.c, 2), 0, "no attempt yet");
    is_int(commit_last_attempt(b.c, 1000), 0, "no such task");
    for (uint32_t t = 1; t <= TASKS; t++)
        answer(&b, t, OUTCOME_OK);
    feed(&b, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
    uint64_t again = commit_last_attempt(b.c, 1);
    is_int(again, TASKS + 1, "a second attempt comes after those of the other tasks");
    const struct row_attempt *r = commit_attempt_starting(b.c, NULL, again);
    ok(r && r->task == 1 && r->number == 2, "it starts in the open group");
    ok(!commit_attempt_starting(b.c, NULL, 1), "the first one does not");
    struct group *g = commit_close(b.c);
    ok(!commit_attempt_starting(b.c, NULL, again), "nor does it any more");
    ok(commit_attempt_starting(b.c, g, again) != NULL, "but in the one that flies");
    store_commit(b.store, g->ops.at, g->ops.n, &b.e);
    commit_durable(b.c, g->number);
    group_free(g);
    struct row_attempt second = attempt_row(&b, again), first = attempt_row(&b, second.previous);
    is_int(second.outcome, ATTEMPT_OPEN, "stored as open");
    ok(first.task == 1 && first.number == 1 && first.previous == 0, "it names the one before");
    is_int(first.outcome, OUTCOME_OK, "which has ended");
    restart(&b);
    is_int(commit_last_attempt(b.c, 1), again, "a restart finds the open one");
    is_int(commit_last_attempt(b.c, 3), 3, "and the last of a task that rests");
    answer_in(&b, 1, OUTCOME_OK, PHASE_TEST_POST);
    settle(&b);
    is_int(attempt_row(&b, again).outcome, OUTCOME_OK, "the same row ends");
    is_int(attempt_row(&b, again).phase, PHASE_TEST_POST, "and says in which phase");
    feed(&b, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
    settle(&b);
    is_int(attempt_row(&b, commit_last_attempt(b.c, 1)).previous, again, "the chain goes on");
    bench_done(&b);
}

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
        restore_replay(b.store, (struct str){"", 0}, 0, &b.opt, &replayed, &b.e);
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
    test_a_group();
    test_rows_once_messages_held_back();
    test_what_is_journalled();
    test_journal_in_words();
    test_restart_and_replay();
    test_rows_that_do_not_fit();
    test_attempts_in_the_order_of_their_starts();
    test_rows_apart_are_put_aside();
    test_rows_put_aside_again();
    test_few_rows_stay_in_place();
    test_large_loss_is_sliced();
    test_crash_between_slices();
    test_damaged_aside();
    return tap_done();
}
