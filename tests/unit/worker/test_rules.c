/* test_rules.c - what a message means for what is held, under the virtual clock
 *
 * Each rule of worker.h once: duplicates, later and earlier runs, cancel, deadlines, capacity,
 * results kept until they are acknowledged, the memory of tasks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "worker/rig.h"

static const char *sleeps = "{\"sleep_ms\":100}", *sleeps_long = "{\"sleep_ms\":60000}",
                  *stubborn = "{\"sleep_ms\":60000,\"ignore_term\":true}";

static void test_hello(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    rig_step(&r, 0);
    is_int(rig_count(&r, TASKMSG_HELLO), 1, "a worker says hello");
    const struct taskmsg *m = &r.got.at[0];
    ok(str_is(m->worker, "w") && m->capacity == 4 && m->n_jigs == 13 && m->n_held == 0,
       "with its name, capacity and jigs");
    ok(str_is(m->jigs[0], "callback") && str_is(m->jigs[12], "upload_files"), "by name");
    rig_task(&r, 1, 1, 0, "test", sleeps_long);
    rig_task(&r, 2, 1, 0, "noop", "");
    rig_step(&r, 1000);
    is_int(rig_count(&r, TASKMSG_BEAT), 1, "after a second it beats");
    m = &r.got.at[r.got.n - 1];
    ok(m->kind == TASKMSG_BEAT && m->n_held == 2, "with what it holds: what runs");
    ok(m->held[0].task == 1 && m->held[1].task == 2, "and what is not acknowledged");
    rig_ack_all(&r);
    rig_step(&r, 1000);
    is_int(r.got.at[r.got.n - 1].n_held, 1, "an acknowledged result is no longer held");
    rig_done(&r);
}

static void test_duplicates(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    rig_task(&r, 1, 1, 0, "test", sleeps);
    rig_task(&r, 1, 1, 0, "test", sleeps);
    is_int(worker_counts(r.w).running, 1, "the same message twice is one run");
    rig_step(&r, 150);
    is_int(rig_count(&r, TASKMSG_RESULT), 1, "with one result");
    uint64_t seq = rig_result(&r, 1, 1)->seq;
    rig_task(&r, 1, 1, 0, "test", sleeps);
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "an answered one is answered again");
    is_int(rig_result(&r, 1, 1)->seq, seq, "with the same reply");
    rig_ack_all(&r);
    rig_forget(&r);
    rig_task(&r, 1, 1, 0, "test", sleeps);
    rig_step(&r, 500);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "an acknowledged one is ignored");
    struct worker_counts n = worker_counts(r.w);
    ok(n.running == 0 && n.queued == 0 && n.unacknowledged == 0 && n.remembered == 1,
       "and only remembered");
    rig_done(&r);
}

static void test_later_and_earlier(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    rig_task(&r, 1, 1, 0, "test", stubborn);
    rig_task(&r, 1, 3, 0, "test", sleeps);
    struct worker_counts n = worker_counts(r.w);
    ok(n.running == 1 && n.queued == 1, "a later attempt waits for the earlier one");
    rig_task(&r, 1, 2, 0, "test", sleeps);
    is_int(rig_outcome(&r, 1, 2), OUTCOME_REFUSED, "one in between is refused");
    has_text(rig_result(&r, 1, 2)->text.s, "attempt 3 came later", "and told why");
    rig_step(&r, 199);
    is_int(rig_outcome(&r, 1, 1), -1, "the earlier one has its grace");
    rig_step(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "then it is over");
    is_int(worker_counts(r.w).running, 1, "and the later one runs");
    rig_step(&r, 100);
    is_int(rig_outcome(&r, 1, 3), OUTCOME_OK, "to its end");
    rig_ack_all(&r);
    rig_task(&r, 1, 2, 0, "test", sleeps);
    is_int(rig_outcome(&r, 1, 2), OUTCOME_REFUSED, "what is remembered refuses earlier ones too");
    rig_done(&r);
}

static void test_later_while_queued(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1};
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", sleeps);
    rig_task(&r, 2, 1, 0, "test", sleeps);
    rig_task(&r, 2, 2, 0, "test", sleeps);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED, "a queued run gives way to a later one");
    rig_task(&r, 1, 2, 0, "test", sleeps);
    rig_task(&r, 1, 3, 0, "test", sleeps);
    is_int(rig_outcome(&r, 1, 2), OUTCOME_CANCELLED, "so does one behind a run that is ending");
    rig_step(&r, 1000);
    ok(rig_outcome(&r, 2, 2) == OUTCOME_OK && rig_outcome(&r, 1, 3) == OUTCOME_OK,
       "the latest of each task ran");
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "the first was cancelled");
    rig_done(&r);
}

static void test_asks(void)
{
    const char *again = "{\"again_times\":2,\"again_ms\":50,\"returns\":{\"a\":1}}";
    struct rig r;
    rig_init(&r, true, NULL);
    rig_task(&r, 1, 1, 0, "test", again);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_AGAIN, "not yet");
    ok(rig_result(&r, 1, 1)->again_ms == 50 && rig_result(&r, 1, 1)->ask == 0,
       "in 50 ms, to ask 0");
    is_int(worker_counts(r.w).running, 0, "waiting costs no worker");
    rig_task(&r, 1, 1, 1, "test", again);
    is_int(rig_result(&r, 1, 1)->ask, 1, "asked again, it answers ask 1");
    is_int(worker_counts(r.w).unacknowledged, 1, "the question acknowledges the answer before it");
    rig_forget(&r);
    rig_task(&r, 1, 1, 0, "test", again);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "a late copy of ask 0 is ignored");
    rig_ack_all(&r);
    rig_task(&r, 1, 1, 2, "test", again);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "the third time it is done");
    ok(str_is(rig_result(&r, 1, 1)->returns, "{\"a\":1}"), "and returns");
    rig_done(&r);
}

static void test_cancel(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1, .beat_ms = 100000};
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", stubborn);
    rig_task(&r, 2, 1, 0, "test", sleeps);
    rig_cancel(&r, 2, 1, 50);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED, "a queued run is cancelled at once");
    rig_cancel(&r, 1, 1, 5000);
    rig_cancel(&r, 1, 1, 300);
    rig_step(&r, 299);
    is_int(rig_outcome(&r, 1, 1), -1, "one that ignores TERM has the shorter grace");
    rig_step(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "and is then ended");
    rig_forget(&r);
    rig_cancel(&r, 1, 1, 50);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED,
           "a cancel of an answered one is answered again");
    rig_ack_all(&r);
    rig_forget(&r);
    rig_cancel(&r, 1, 1, 50);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "of an acknowledged one it is ignored");

    rig_cancel(&r, 9, 4, 50);
    is_int(rig_outcome(&r, 9, 4), OUTCOME_LOST,
           "of an unknown one the answer is that nobody knows");
    rig_forget(&r);
    rig_task(&r, 9, 4, 0, "noop", "");
    is_int(rig_outcome(&r, 9, 4), OUTCOME_LOST, "and should its task come late, it does not start");
    rig_ack_all(&r);
    rig_forget(&r);
    rig_task(&r, 9, 4, 0, "noop", "");
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "even after that is acknowledged");
    rig_cancel(&r, 9, 2, 50);
    is_int(rig_outcome(&r, 9, 2), OUTCOME_LOST, "nor of one earlier than what is known");
    rig_task(&r, 9, 5, 0, "noop", "");
    is_int(rig_outcome(&r, 9, 5), OUTCOME_OK, "a later attempt is not affected");

    const char *again = "{\"again_times\":9}";
    rig_task(&r, 3, 1, 0, "test", again);
    rig_ack_all(&r);
    rig_forget(&r);
    rig_cancel(&r, 3, 1, 50);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_CANCELLED,
           "one that waits to be asked again is cancelled");
    rig_task(&r, 4, 1, 0, "test", again);
    rig_task(&r, 4, 1, 1, "test", again);
    rig_forget(&r);
    struct taskmsg second = {.kind = TASKMSG_CANCEL, .task = 4, .attempt = 1, .ask = 2};
    rig_send(&r, &second);
    is_int(rig_outcome(&r, 4, 1), OUTCOME_CANCELLED, "also before its answer was acknowledged");
    is_int(rig_result(&r, 4, 1)->ask, 2, "in the terms of the question that the server is at");
    rig_forget(&r);
    rig_task(&r, 4, 1, 2, "test", again);
    is_int(rig_outcome(&r, 4, 1), OUTCOME_CANCELLED, "and that question is not asked any more");
    rig_ack_all(&r);
    rig_forget(&r);
    rig_send(&r, &second);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "after the ACK there is nothing more to say");
    struct taskmsg third = {.kind = TASKMSG_CANCEL, .task = 5, .attempt = 1, .ask = 3};
    rig_send(&r, &third);
    is_int(rig_result(&r, 5, 1)->ask, 3, "an unknown one is lost in the server's terms too");
    rig_done(&r);
}

static void test_deadline(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    struct taskmsg m = {.kind = TASKMSG_TASK,
                        .task = 1,
                        .attempt = 1,
                        .jig = str_of("test"),
                        .params = str_of(stubborn),
                        .timeout_ms = 500,
                        .grace_ms = 100};
    rig_send(&r, &m);
    rig_step(&r, 599);
    is_int(rig_outcome(&r, 1, 1), -1, "a run has its time and its grace");
    rig_step(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_TIMEOUT, "then it has timed out");
    has_text(rig_result(&r, 1, 1)->text.s, "ran longer than 500 ms", "and says so");
    is_int(rig_result(&r, 1, 1)->ran_ms, 600, "with the time it took");
    m.task = 2;
    m.params = str_of("{\"sleep_ms\":550,\"ignore_term\":true}");
    rig_send(&r, &m);
    rig_step(&r, 1000);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_OK, "one that gets there within the grace has succeeded");
    m.task = 3;
    m.params = str_of("{\"sleep_ms\":550,\"ignore_term\":true,\"exit\":2}");
    rig_send(&r, &m);
    rig_step(&r, 1000);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_TIMEOUT, "one that fails within the grace has timed out");
    m.task = 4;
    m.params = str_of(stubborn);
    rig_send(&r, &m);
    rig_step(&r, 450);
    rig_cancel(&r, 4, 1, 200);
    rig_step(&r, 1000);
    is_int(rig_outcome(&r, 4, 1), OUTCOME_CANCELLED, "a cancel before the deadline is what counts");
    m.task = 5;
    m.params = str_of(sleeps);
    rig_send(&r, &m);
    rig_step(&r, 2000);
    is_int(rig_outcome(&r, 5, 1), OUTCOME_OK, "in time");
    rig_done(&r);
}

static void test_refusals(void)
{
    static const struct {
        const char *jig, *params, *data, *text;
    } cases[] = {
        {"chef", "", "", "this worker has no jig \"chef\""},
        {"test", "{\"sleep_m\":1}", "", "/sleep_m: there is no parameter"},
        {"test", "{\"a\":", "", "params:1:"},
        {"test", "", "{\"a\":", "data:1:"},
        {"shell", "{}", "", "either command or script"},
    };
    struct rig r;
    char digest[DIGEST_HEX];
    rig_init(&r, true, NULL);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                       .task = i + 1,
                                       .attempt = 1,
                                       .jig = str_of(cases[i].jig),
                                       .params = str_of(cases[i].params),
                                       .data = str_of(cases[i].data)});
        is_int(rig_outcome(&r, i + 1, 1), OUTCOME_REFUSED, "refused: %s %s %s", cases[i].jig,
               cases[i].params, cases[i].data);
        has_text(rig_result(&r, i + 1, 1)->text.s, cases[i].text, "says: %s", cases[i].text);
    }
    struct taskmsg m = {.kind = TASKMSG_TASK,
                        .task = 50,
                        .attempt = 1,
                        .jig = str_of("noop"),
                        .params = str_of("{}"),
                        .data = str_of("{}")};
    taskmsg_digest(&m, digest);
    m.digest = str_of(digest);
    rig_send(&r, &m);
    is_int(rig_outcome(&r, 50, 1), OUTCOME_OK, "a digest that fits");
    m.task = 51;
    m.data = str_of("{ }");
    rig_send(&r, &m);
    is_int(rig_outcome(&r, 51, 1), OUTCOME_REFUSED, "a digest that does not");
    rig_forget(&r);
    queue_to_worker(r.q, str_of("not a message"));
    queue_flush(r.q);
    rig_step(&r, 0);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_BEAT, .worker = str_of("someone else")});
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_LOG, .stream = 1});
    is_int(r.got.n, 0, "what makes no sense is not answered");
    rig_task(&r, 60, 1, 0, "noop", "");
    is_int(rig_outcome(&r, 60, 1), OUTCOME_OK, "and does no harm");
    is_int(worker_counts(r.w).running, 0, "nothing is left running");
    rig_done(&r);
}

static void test_capacity(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 2, .beat_ms = 100000};
    rig_init(&r, true, &o);
    for (uint32_t t = 1; t <= 5; t++)
        rig_task(&r, t, 1, 0, "test", sleeps);
    struct worker_counts n = worker_counts(r.w);
    ok(n.running == 2 && n.queued == 3, "no more than the capacity runs");
    rig_step(&r, 100);
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "the first two end");
    ok(rig_outcome(&r, 1, 1) == OUTCOME_OK && rig_outcome(&r, 2, 1) == OUTCOME_OK, "in order");
    rig_step(&r, 100);
    is_int(rig_count(&r, TASKMSG_RESULT), 4, "the next two follow");
    rig_step(&r, 100);
    is_int(rig_count(&r, TASKMSG_RESULT), 5, "then the last");
    rig_done(&r);
}

static void test_many_at_once(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 100};
    rig_init(&r, true, &o);
    for (uint32_t t = 1; t <= 100; t++)
        rig_task(&r, t, 1, 0, "test", sleeps);
    is_int(worker_counts(r.w).running, 100, "a hundred at once");
    rig_step(&r, 100);
    is_int(rig_count(&r, TASKMSG_RESULT), 100, "and all of them end");
    rig_done(&r);
}

static void test_resend(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .beat_ms = 1000};
    rig_init(&r, true, &o);
    for (uint32_t t = 1; t <= 3; t++)
        rig_task(&r, t, 1, 0, "noop", "");
    is_int(rig_count(&r, TASKMSG_RESULT), 3, "three results");
    ok(rig_result(&r, 1, 1)->seq < rig_result(&r, 2, 1)->seq, "with rising numbers");
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = rig_result(&r, 2, 1)->seq});
    is_int(worker_counts(r.w).unacknowledged, 1, "an ACK is for all up to its number");
    rig_forget(&r);
    rig_step(&r, 3000);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "for three beats the third is patient");
    rig_step(&r, 1000);
    is_int(rig_count(&r, TASKMSG_RESULT), 1, "then it is sent again");
    is_int(rig_outcome(&r, 3, 1), OUTCOME_OK, "as it was");
    rig_forget(&r);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_HELLO, .worker = str_of("server")});
    ok(rig_count(&r, TASKMSG_HELLO) == 1 && r.got.at[0].kind == TASKMSG_HELLO,
       "a server that says hello is greeted");
    is_int(rig_outcome(&r, 3, 1), OUTCOME_OK, "and told the results that it may have missed");
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = 1});
    is_int(worker_counts(r.w).unacknowledged, 1, "an ACK of an earlier life acknowledges nothing");
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = rig_result(&r, 1, 1)->seq + 1});
    is_int(worker_counts(r.w).unacknowledged, 1, "nor of one whose clock was ahead of ours");
    rig_done(&r);
}

static void test_memory(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .beat_ms = 100000000};
    rig_init(&r, true, &o);
    SCOPED_BUF(b);
    for (uint32_t t = 1; t <= 100010; t++) {
        buf_clear(&b);
        taskmsg_write(&b,
                      &(struct taskmsg){
                          .kind = TASKMSG_TASK, .task = t, .attempt = 2, .jig = str_of("noop")});
        queue_to_worker(r.q, buf_str(&b));
    }
    queue_flush(r.q);
    rig_step(&r, 0);
    is_int(rig_count(&r, TASKMSG_RESULT), 100010, "a burst is answered");
    is_int(worker_counts(r.w).unacknowledged, 100010, "and held");
    rig_ack_all(&r);
    struct worker_counts n = worker_counts(r.w);
    ok(n.unacknowledged == 0 && n.remembered == 100000, "what is remembered is bounded");
    rig_forget(&r);
    rig_task(&r, 11, 1, 0, "noop", "");
    is_int(rig_outcome(&r, 11, 1), OUTCOME_REFUSED,
           "a task that is remembered refuses an earlier attempt");
    rig_task(&r, 10, 1, 0, "noop", "");
    is_int(rig_outcome(&r, 10, 1), OUTCOME_OK, "one long idle is forgotten");
    rig_done(&r);
}

static void test_stop(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 2, .beat_ms = 100000};
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", stubborn);
    rig_task(&r, 2, 1, 0, "test", stubborn);
    rig_task(&r, 3, 1, 0, "test", sleeps_long);
    rig_cancel(&r, 2, 1, 10000);
    worker_stop(r.w, 400, rig_on_stopped, &r);
    rig_step(&r, 0);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_AGAIN, "a queued run is handed back at once");
    rig_task(&r, 4, 1, 0, "noop", "");
    is_int(rig_outcome(&r, 4, 1), OUTCOME_AGAIN, "nothing new is taken");
    rig_step(&r, 399);
    ok(!r.stopped, "what runs has its grace");
    rig_step(&r, 1);
    ok(r.stopped, "then the worker has stopped");
    rig_step(&r, 0);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST, "a run that was stopped by it is lost");
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED,
           "one that the server had cancelled is cancelled");
    rig_done(&r);

    rig_init(&r, true, NULL);
    worker_stop(r.w, 0, rig_on_stopped, &r);
    rig_step(&r, 0);
    ok(r.stopped, "an idle worker stops at once");
    rig_done(&r);
}

static void free_worker(void *arg)
{
    struct rig *r = arg;
    is_int(worker_counts(r->w).queued, 1, "one run has ended, the next has not begun");
    worker_free(r->w);
    r->w = NULL;
}

/* Between the end of a run and the start of the next, nothing runs: a worker may be freed there. */
static void test_free_unstopped(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1};
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", sleeps);
    rig_task(&r, 2, 1, 0, "test", sleeps);
    struct loop_timer *t = loop_timer_new(r.l, free_worker, &r);
    loop_timer_at(t, loop_now_ms(r.l) + 100);
    rig_step(&r, 100);
    ok(r.w == NULL, "and is");
    loop_timer_free(t);
    rig_done(&r);
}

static void test_two_workers(void)
{
    struct rig r;
    struct err e = {0};
    rig_init(&r, true, NULL);
    struct queue *q = queue_new_embedded();
    struct worker_options o = {.run_dir = r.dir};
    ok(worker_new(r.l, q, &o, &e) == NULL, "a second worker in the same directory");
    is_int(e.code, ERR_BUSY, "is refused");
    o.run_dir = "/proc/nowhere";
    ok(worker_new(r.l, q, &o, &e) == NULL && e.code == ERR_NOT_FOUND,
       "so is one without a directory");
    ok(worker_thread_start(q, &o, &e) == NULL && e.code == ERR_NOT_FOUND,
       "a thread reports it too");
    worker_thread_stop(NULL, 0);
    worker_free(NULL);
    queue_free(q);
    rig_done(&r);
}

static void drop_line(void *arg, const char *line, size_t n)
{
    (void)arg, (void)line, (void)n;
}

int main(void)
{
    log_set_sink(-1, drop_line, NULL); /* messages that make no sense are logged */
    test_hello();
    test_duplicates();
    test_later_and_earlier();
    test_later_while_queued();
    test_asks();
    test_cancel();
    test_deadline();
    test_refusals();
    test_capacity();
    test_many_at_once();
    test_resend();
    test_memory();
    test_stop();
    test_free_unstopped();
    test_two_workers();
    return tap_done();
}
