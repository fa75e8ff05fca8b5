/* test_commit.c - the commit step: what a group holds, what it holds back, and what a restart finds
 * of it */
/* SPDX-License-Identifier: Apache-2.0 */
#include "commit_bench.h"

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
    is_int(restore_replay(b.store, (struct str){"", 0}, 0, &digest, &b.e), 0,
           "replay from nothing");
    ok(digest == anneal_digest(b.a), "gives the same");
    is_int(restore_replay(b.store, buf_str(&checkpoint), from, &digest, &b.e), 0,
           "replay from a checkpoint");
    ok(digest == anneal_digest(b.a), "too");
    is_int(restore_replay(b.store, (struct str){"\377\377", 2}, 0, &digest, &b.e), -ERR_CORRUPT,
           "a damaged checkpoint is refused");
    answer(&b, 3, OUTCOME_OK);
    ok(restored(&b, &group) != anneal_digest(b.a), "an open group is not stored");
    uint32_t dropped;
    store_trim(b.store, ROWS_PLAN, 0, UINT64_MAX >> 1, 0, &dropped, &b.e);
    is_int(restore_replay(b.store, (struct str){"", 0}, 0, &digest, &b.e), -ERR_CORRUPT,
           "a plan that is missing is told");
    bench_done(&b);
}

/* What the engine ran with when is part of what happened. */
static void test_settings_in_the_middle(void)
{
    struct bench b;
    uint64_t group = 0, digest = 0;
    struct node_view v = {0};
    struct engine_settings s = {0};
    bench_init(&b, 0);
    plant(&b);
    for (int i = 0; i < 4; i++, b.now_ms += 6000)
        feed(&b, (struct event){.kind = EVENT_NODE_SILENT, .id = 1});
    feed(&b, (struct event){.kind = EVENT_SETTINGS_SET, .settings.dead_after_ms = 5000});
    SCOPED_BUF(checkpoint);
    anneal_save(b.a, &checkpoint);
    uint64_t from = commit_seq(b.c);
    settle(&b);
    is_int(stored(&b, ROWS_SETTINGS), 1, "they have a row");
    feed(&b, (struct event){.kind = EVENT_NODE_SILENT, .id = 1});
    anneal_node(b.a, 1, &v);
    is_int(v.alive, ALIVE_DEAD, "a node dies by them");
    feed(&b, (struct event){.kind = EVENT_SETTINGS_SET, .settings.dead_after_ms = 90000});
    settle(&b);
    is_int(stored(&b, ROWS_SETTINGS), 1, "which is rewritten");
    ok(restored(&b, &group) == anneal_digest(b.a), "a restart reads it");
    is_int(restore_replay(b.store, (struct str){"", 0}, 0, &digest, &b.e), 0,
           "replay from nothing");
    ok(digest == anneal_digest(b.a), "meets each where it was");
    is_int(restore_replay(b.store, buf_str(&checkpoint), from, &digest, &b.e), 0,
           "replay from a checkpoint");
    ok(digest == anneal_digest(b.a), "goes on with what it ran with then");
    restart(&b);
    ok(anneal_settings(b.a, &s) && s.dead_after_ms == 90000, "a restart goes on with the last");
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

int main(void)
{
    test_a_group();
    test_rows_once_messages_held_back();
    test_what_is_journalled();
    test_journal_in_words();
    test_restart_and_replay();
    test_settings_in_the_middle();
    test_rows_that_do_not_fit();
    test_attempts_in_the_order_of_their_starts();
    return tap_done();
}
