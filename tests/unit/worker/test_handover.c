/* test_handover.c - runs that change hands: what a worker gives away, is told to drop, or ends
 * because nobody can hear it any more
 *
 * Under the virtual clock where time matters.  Nodes are at a port where nobody listens, so that
 * runs which may be going on there wait for them; what happens when a node answers is tested with
 * real ones (tests/e2e).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/rig.h"

enum { LEASE_MS = 30000 };

static const char *stubborn = "{\"sleep_ms\":600000,\"ignore_term\":true}",
                  *sleeps_long = "{\"sleep_ms\":600000}", *sleeps = "{\"sleep_ms\":100}";

static void server_beats(struct rig *r, uint64_t lease_ms)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_BEAT, .lease_ms = lease_ms});
}

static void drop(struct rig *r, uint32_t task, uint32_t attempt)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_DROP, .task = task, .attempt = attempt});
}

/* One of no kind if there was none. */
__attribute__((returns_nonnull)) static const struct taskmsg *last_beat(const struct rig *r)
{
    static const struct taskmsg none = {.kind = TASKMSG_KIND_COUNT, .n_held = UINT32_MAX};
    for (size_t i = r->got.n; i-- > 0;)
        if (r->got.at[i].kind == TASKMSG_BEAT)
            return &r->got.at[i];
    return &none;
}

/* ---- nobody hears us ---- */

static void test_silence(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 2, .beat_ms = 5000};
    rig_init(&r, true, &o);
    server_beats(&r, LEASE_MS);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 1,
                                   .attempt = 1,
                                   .jig = str_of("test"),
                                   .params = str_of(stubborn),
                                   .grace_ms = LEASE_MS});
    rig_task(&r, 2, 1, 0, "test", sleeps_long);
    rig_step(&r, LEASE_MS / 3 * 2 - 1);
    is_int(worker_counts(r.w).running, 2, "silence is borne for two thirds of the lease");
    server_beats(&r, LEASE_MS);
    rig_step(&r, LEASE_MS / 3 * 2 - 1);
    is_int(worker_counts(r.w).running, 2, "counted from the last word");
    rig_step(&r, LEASE_MS / 3);
    is_int(worker_counts(r.w).running, 0,
           "before the lease is over all has ended, whatever its grace");
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST, "nobody had wanted it cancelled");
    is_int(rig_outcome(&r, 2, 1), OUTCOME_LOST, "neither of them");
    is_int(last_beat(&r)->n_held, 2, "what is not acknowledged is told as held");
    server_beats(&r, LEASE_MS);
    rig_task(&r, 3, 1, 0, "test", sleeps);
    rig_step(&r, 200);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_OK, "heard again, it works again");
    rig_done(&r);
}

/* A server that is in the same process says 0. */
static void test_no_lease(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    server_beats(&r, 0);
    rig_task(&r, 1, 1, 0, "test", sleeps_long);
    rig_step(&r, 10 * LEASE_MS);
    is_int(worker_counts(r.w).running, 1, "without a lease silence means nothing");
    rig_done(&r);
}

static void test_beats_follow_the_lease(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1, .beat_ms = 5000};
    rig_init(&r, true, &o);
    server_beats(&r, 3000);
    rig_forget(&r);
    rig_task(&r, 1, 1, 0, "test", sleeps_long);
    for (int i = 0; i < 20; i++) { /* each beat is answered, as a server does */
        rig_step(&r, 500);
        server_beats(&r, 3000);
    }
    is_int(rig_count(&r, TASKMSG_BEAT), 20, "a short lease is renewed often enough");
    is_int(worker_counts(r.w).running, 1, "so that nothing ends by mistake");
    server_beats(&r, LEASE_MS);
    rig_forget(&r);
    rig_step(&r, 15000);
    is_int(rig_count(&r, TASKMSG_BEAT), 3, "a longer one as seldom as the worker likes");
    rig_done(&r);
}

/* Tasks on nodes may be taken over long before those on the worker's machine are given up. */
static void test_beats_follow_the_patience(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1, .beat_ms = 5000};
    struct taskmsg beat = {.kind = TASKMSG_BEAT, .lease_ms = LEASE_MS, .timeout_ms = 1500};
    rig_init(&r, true, &o);
    rig_send(&r, &beat);
    rig_forget(&r);
    for (int i = 0; i < 20; i++) {
        rig_step(&r, 500);
        rig_send(&r, &beat);
    }
    is_int(rig_count(&r, TASKMSG_BEAT), 20, "a short patience is not tried");
    beat.timeout_ms = LEASE_MS;
    rig_send(&r, &beat);
    rig_forget(&r);
    rig_step(&r, 15000);
    is_int(rig_count(&r, TASKMSG_BEAT), 3, "a longer one as little as the worker likes");
    rig_done(&r);
}

/* ---- DROP ---- */

static void test_drop(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1, .beat_ms = 1000};
    rig_init(&r, true, &o);
    rig_task(&r, 1, 1, 0, "test", stubborn);
    rig_task(&r, 2, 1, 0, "test", sleeps_long);
    drop(&r, 2, 1);
    is_int(worker_counts(r.w).queued, 0, "what has not begun is forgotten");
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "without an answer");
    drop(&r, 1, 2);
    drop(&r, 7, 1);
    is_int(worker_counts(r.w).running, 1, "what it does not hold is none of its business");
    drop(&r, 1, 1);
    rig_step(&r, 0);
    is_int(worker_counts(r.w).running, 0, "what runs on this machine ends at once");
    rig_ack_all(&r);
    rig_task(&r, 2, 1, 0, "test", sleeps);
    rig_step(&r, 200);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_OK, "one that comes back is new");
    rig_done(&r);
}

static void test_drop_chain(void)
{
    struct rig r;
    struct worker_options o = {.name = "w", .capacity = 1, .beat_ms = 1000};
    rig_init(&r, true, &o);
    rig_task(&r, 9, 1, 0, "test", sleeps_long);
    for (uint32_t t = 1; t <= 3; t++)
        rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                       .task = t,
                                       .attempt = 1,
                                       .jig = str_of("test"),
                                       .params = str_of(sleeps),
                                       .behind = t > 1 ? t - 1 : 0,
                                       .followers = t > 1 ? 0 : 2});
    drop(&r, 1, 1);
    rig_step(&r, 1000);
    is_int(last_beat(&r)->n_held, 1, "with the first of a chain goes what was behind it");
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "unanswered");
    rig_done(&r);
}

/* ---- a claim that is refused ---- */

/* A server says so of an attempt that is over, to be sure that nothing of it runs on. */
static void test_end_for_sure(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    struct taskmsg end = {
        .kind = TASKMSG_CANCEL, .task = 1, .attempt = 1, .ask = UINT32_MAX, .grace_ms = 100};
    rig_send(&r, &end);
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "of what is not here nothing is said");
    rig_task(&r, 1, 1, 0, "test", sleeps_long);
    is_int(worker_counts(r.w).running, 1, "nor is it remembered");
    rig_send(&r, &end);
    rig_step(&r, 200);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "what runs is ended");
    rig_done(&r);
}

/* ---- nodes ---- */

/* since_ms: it was sent before, and may be going on there. */
static void send_away(struct rig *r, uint32_t task, uint64_t since_ms, uint32_t behind,
                      uint32_t followers)
{
    rig_send(r, &(struct taskmsg){
                    .kind = TASKMSG_TASK,
                    .task = task,
                    .attempt = 1,
                    .jig = str_of("shell"),
                    .node = str_of("n1"),
                    .address = str_of("127.0.0.1"),
                    .access = str_of("{\"via\":\"ssh\",\"port\":1,\"addresses\":[\"127.0.0.1\"]}"),
                    .params = str_of("{\"script\":\"true\"}"),
                    .since_ms = since_ms,
                    .behind = behind,
                    .followers = followers,
                    .grace_ms = 200});
}

static void nodes_init(struct rig *r)
{
    struct worker_options o = {.name = "w",
                               .capacity = 4,
                               .beat_ms = 1000,
                               .nodes_by_ssh = true,
                               .ssh_transport = "libssh"};
    is_int(rig_init(r, false, &o), 0, "a worker that reaches nodes");
}

static void test_new_is_not_yet(void)
{
    struct rig r;
    nodes_init(&r);
    send_away(&r, 1, 0, 0, 0);
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_AGAIN, "one that never began is not yet done");
    ok(rig_result(&r, 1, 1)->again_ms > 0, "to be asked again later");
    is_int(rig_count(&r, TASKMSG_NOTE), 0, "nothing goes on that could be told of");
    rig_done(&r);
}

static void test_released(void)
{
    struct rig r;
    nodes_init(&r);
    send_away(&r, 1, 5000, 0, 1);
    send_away(&r, 2, 5000, 1, 0);
    rig_wait_notes(&r, 1);
    const struct taskmsg *note_of = NULL;
    for (size_t i = 0; i < r.got.n; i++)
        if (r.got.at[i].kind == TASKMSG_NOTE)
            note_of = &r.got.at[i];
    ok(note_of && note_of->task == 1 && note_of->attempt == 1, "what waits for its node says so");
    has_text(note_of ? note_of->text.s : "", "node n1 cannot be reached", "with the node");
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "and is not answered: it may be going on");
    worker_stop(r.w, 60000, rig_on_stopped, &r);
    scratch_run(r.l);
    ok(r.stopped, "a worker that stops does not wait for it");
    const struct taskmsg *m = last_beat(&r);
    ok(m->draining, "it says that it takes no more");
    is_int(m->n_released, 1, "and what others may take");
    ok(m->n_released == 1 && m->released[0].task == 1 && m->released[0].attempt == 1,
       "by the first of the chain");
    is_int(m->n_held, 0, "which it holds no longer");
    is_int(rig_count(&r, TASKMSG_RESULT), 0, "nothing of it is answered");
    rig_done(&r);
}

static void test_dropped_on_its_node(void)
{
    struct rig r;
    nodes_init(&r);
    send_away(&r, 1, 5000, 0, 0);
    rig_wait_notes(&r, 1);
    drop(&r, 1, 1);
    rig_task(&r, 2, 1, 0, "noop", "");
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_OK, "the worker works on");
    is_int(rig_outcome(&r, 1, 1), -1, "what was dropped is left alone, unanswered");
    is_int(worker_counts(r.w).running, 0, "and not held");
    rig_forget(&r);
    send_away(&r, 1, 9000, 0, 0);
    rig_wait_notes(&r, 1);
    is_int(worker_counts(r.w).running, 1, "it may be given back, under the same number");
    rig_done(&r);
}

static void test_told_to_end(void)
{
    struct rig r;
    nodes_init(&r);
    send_away(&r, 1, 5000, 0, 0);
    rig_wait_notes(&r, 1);
    rig_cancel(&r, 1, 1, 100);
    rig_wait(&r, 1);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_LOST,
           "told to end on a node that cannot be reached: nobody can say what became of it");
    rig_done(&r);
}

int main(void)
{
    test_silence();
    test_no_lease();
    test_beats_follow_the_lease();
    test_beats_follow_the_patience();
    test_drop();
    test_drop_chain();
    test_end_for_sure();
    test_new_is_not_yet();
    test_released();
    test_dropped_on_its_node();
    test_told_to_end();
    return tap_done();
}
