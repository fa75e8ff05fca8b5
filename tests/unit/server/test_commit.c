/* test_commit.c - the commit step: what a group holds, what it holds back, and what a crash leaves
 * of it
 *
 * Engine, commit step and store are real; the store is in memory.  A crash is a second handle on
 * the same rows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"
#include "model/taskmsg.h"
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

static int answer(struct bench *b, uint32_t task, enum outcome o)
{
    struct task_view v = {0};
    anneal_task(b->a, task, &v);
    return feed_note(b,
                     (struct event){.kind = EVENT_RESULT,
                                    .id = task,
                                    .attempt = v.attempt,
                                    .extra = v.asks,
                                    .flag = (uint8_t)o},
                     &(struct commit_note){.text = "all well", .wall_ms = 1700000000123});
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
    answer(&b, 2, OUTCOME_FAILED);
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
    lose(&b);
    ok(commit_must_wait(b.c), "a large loss waits to be written");
    is_int(feed(&b, (struct event){.kind = EVENT_POLICY_SET}), ERR_BUSY, "nothing else till then");
    struct group *g = write_some(&b, SIZE_MAX);
    ok(g->slices.n > 3, "in several transactions: %zu", g->slices.n);
    is_int(count_ops(g, ROWS_CONE, ROW_PUT, 0), count_ops(g, ROWS_CONE, ROW_DELETE, 0),
           "what is put aside is taken away");
    ok(!commit_must_wait(b.c), "durable: events are taken again");
    is_int(stored(&b, ROWS_CONE), 0, "nothing is left aside");
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
        plant(&b);
        for (uint32_t t = 1; t <= TASKS; t++)
            answer(&b, t, OUTCOME_OK);
        static const uint32_t ids[] = {1};
        feed(&b, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
        settle(&b);
        uint64_t before = anneal_digest(b.a);
        answer(&b, 1, OUTCOME_FAILED);
        uint64_t after = anneal_digest(b.a), replayed = 0;
        struct group *g = write_some(&b, n);
        slices = g->slices.n;
        uint64_t found = restored(&b, &group);
        bool came = group == g->number;
        both[came] = true;
        ok(found == (came ? after : before), "crash after %zu of %zu: %s", n, slices,
           came ? "it happened" : "it did not");
        is_int(stored(&b, ROWS_CONE), 0, "crash after %zu: nothing is left aside", n);
        restore_replay(b.store, (struct str){"", 0}, 0, &b.opt, &replayed, &b.e);
        ok(replayed == found, "crash after %zu: the journal agrees", n);
        group_free(g);
        bench_done(&b);
    }
    ok(both[0] && both[1], "both were seen");
}

static void test_damaged_redo(void)
{
    struct bench b;
    uint64_t group = 0;
    bench_init(&b, 0);
    settle(&b);
    struct row_cone cone = {
        .id = 1, .tenant = 1, .realm = 1, .body = {"\1\0\0\0\0\0\0\0\250oops", 13}};
    struct row_op op = {ROWS_CONE, ROW_PUT, &cone};
    store_commit(b.store, &op, 1, &b.e);
    is_int(restored(&b, &group), 0, "bytes that are no row");
    is_int(b.e.code, ERR_CORRUPT, "are corrupt");
    cone.body = str_of("short");
    store_commit(b.store, &op, 1, &b.e);
    ok(restored(&b, &group) == anneal_digest(b.a), "bytes of no group are dropped");
    cone.body = (struct str){"\7\0\0\0\0\0\0\0\250oops", 13};
    store_commit(b.store, &op, 1, &b.e);
    ok(restored(&b, &group) == anneal_digest(b.a), "and those of a group that never came to be");
    is_int(stored(&b, ROWS_CONE), 0, "unread");
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
    test_large_loss_is_sliced();
    test_crash_between_slices();
    test_damaged_redo();
    return tap_done();
}
