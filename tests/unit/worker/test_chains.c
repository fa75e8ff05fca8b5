/* test_chains.c - runs that begin behind another one, under the virtual clock (RFC 09, section 6)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/rig.h"

static const char *sleeps = "{\"sleep_ms\":100}", *returns = "{\"returns\":{\"x\":1}}",
                  *fails = "{\"sleep_ms\":100,\"fail_times\":9,\"exit\":3}";

static void send_in_chain(struct rig *r, uint32_t task, uint32_t behind, uint32_t followers,
                          const char *params)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                  .task = task,
                                  .attempt = 1,
                                  .jig = str_of("test"),
                                  .params = str_of(params),
                                  .behind = behind,
                                  .followers = followers,
                                  .grace_ms = 1000});
}

static void chain_of_three(struct rig *r, const char *first)
{
    send_in_chain(r, 1, 0, 2, first);
    send_in_chain(r, 2, 1, 0, sleeps);
    send_in_chain(r, 3, 2, 0, sleeps);
}

static void test_in_order(void)
{
    struct rig r;
    rig_init(&r, true, &(struct worker_options){.name = "w", .capacity = 1, .beat_ms = 1000});
    send_in_chain(&r, 1, 0, 2, sleeps);
    is_int(worker_counts(r.w).running, 0, "the first waits until those behind it are here");
    send_in_chain(&r, 2, 1, 0, sleeps);
    is_int(worker_counts(r.w).running, 0, "all of them");
    send_in_chain(&r, 3, 2, 0, sleeps);
    is_int(worker_counts(r.w).running, 1, "then it starts");
    rig_task(&r, 9, 1, 0, "test", sleeps); /* waits for room */
    rig_step(&r, 120);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "the first is done");
    ok(!rig_result(&r, 1, 1)->last, "and the next one goes on");
    rig_step(&r, 120);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_OK, "before what came later");
    rig_step(&r, 120);
    is_int(rig_outcome(&r, 3, 1), OUTCOME_OK, "to the last");
    ok(!rig_result(&r, 3, 1)->last, "behind which there is nothing to be told of");
    is_int(rig_count(&r, TASKMSG_RESULT), 3, "one answer each");
    rig_step(&r, 120);
    is_int(rig_outcome(&r, 9, 1), OUTCOME_OK, "then it is the other's turn");
    rig_done(&r);
}

static void test_held(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    chain_of_three(&r, "{\"sleep_ms\":60000}");
    rig_step(&r, 1000);
    is_int(r.got.at[r.got.n - 1].n_held, 3, "all of them are held");
    rig_done(&r);
}

static void ends_with(const char *first, enum outcome outcome, const char *label)
{
    struct rig r;
    rig_init(&r, true, NULL);
    chain_of_three(&r, first);
    rig_step(&r, 500);
    is_int(rig_outcome(&r, 1, 1), outcome, "%s", label);
    ok(rig_result(&r, 1, 1)->last, "%s: says that nothing follows", label);
    is_int(rig_count(&r, TASKMSG_RESULT), 1, "%s: nothing begins behind it, nor is answered",
           label);
    struct worker_counts n = worker_counts(r.w);
    ok(n.running == 0 && n.queued == 0, "%s: they are forgotten", label);
    rig_send(&r, &(struct taskmsg){.kind = TASKMSG_TASK,
                                   .task = 2,
                                   .attempt = 2,
                                   .jig = str_of("test"),
                                   .params = str_of(sleeps)});
    rig_step(&r, 200);
    is_int(rig_outcome(&r, 2, 2), OUTCOME_OK, "%s: sent again they run", label);
    rig_done(&r);
}

static void cancel(struct rig *r, uint32_t task)
{
    rig_send(r, &(struct taskmsg){.kind = TASKMSG_CANCEL, .task = task, .attempt = 1});
}

static void test_cancel(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    chain_of_three(&r, sleeps);
    cancel(&r, 2);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED, "what has not begun is cancelled at once");
    rig_step(&r, 200);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_OK, "what runs is not touched");
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "and what was behind it is forgotten");
    cancel(&r, 3);
    is_int(rig_count(&r, TASKMSG_RESULT), 2, "as it was told with the one before it");
    rig_done(&r);
    rig_init(&r, true, NULL);
    chain_of_three(&r, sleeps);
    cancel(&r, 1);
    rig_step(&r, 2000);
    is_int(rig_outcome(&r, 1, 1), OUTCOME_CANCELLED, "one that runs");
    is_int(rig_count(&r, TASKMSG_RESULT), 1, "takes those behind it along");
    rig_done(&r);
}

static void test_alone(void)
{
    struct rig r;
    rig_init(&r, true, NULL);
    send_in_chain(&r, 2, 1, 0, sleeps);
    is_int(rig_outcome(&r, 2, 1), OUTCOME_CANCELLED, "behind something that is not here");
    rig_done(&r);
}

int main(void)
{
    test_in_order();
    test_held();
    ends_with(returns, OUTCOME_OK, "one that returns data");
    ends_with(fails, OUTCOME_FAILED, "one that fails");
    ends_with("{\"again_times\":1,\"again_ms\":50}", OUTCOME_AGAIN, "one that is not done yet");
    test_cancel();
    test_alone();
    return tap_done();
}
