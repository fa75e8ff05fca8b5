/* test_rules_operation.c - requests: how they end, and what operators may do: cancel, resume,
 * retry, re-run
 *
 * Section 8 of the engine's rules, as far as the engine goes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

/* Two noderoles on two nodes, two tasks each, the second after the first. */
struct pair {
    uint32_t a1, a2, b1, b2;
};

static struct pair pair_make(struct rig *r, struct plan_def d)
{
    struct pair p;
    struct draft m = draft_new(r);
    uint32_t def = draft_def(&m, d);
    draft_noderole(&m, 1, 0, NONE);
    p.a1 = draft_task(&m, def, 0, 2, NONE);
    p.a2 = draft_task(&m, def, 0, 1, IDS(p.a1));
    draft_noderole(&m, 2, 0, NONE);
    p.b1 = draft_task(&m, def, 0, 2, NONE);
    p.b2 = draft_task(&m, def, 0, 1, IDS(p.b1));
    draft_apply(&m);
    return p;
}

static int cancel(struct rig *r, bool abort)
{
    return -rig_try(r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP, .flag = abort});
}
static int resume(struct rig *r)
{
    return -rig_try(r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP});
}
static int retry(struct rig *r, enum event_kind kind, uint32_t id)
{
    return -rig_try(r, (struct event){.kind = kind, .id = id});
}

static void test_ends(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    is_operation(&r, RIG_OP, RUNNING, "while anything is left");
    rig_finish(&r);
    is_operation(&r, RIG_OP, SUCCEEDED, "when nothing is");
    is_int(rig_op(&r, RIG_OP).total, 4, "its figures: all");
    is_int(rig_op(&r, RIG_OP).done, 4, "and done");
    is_int(rig_op(&r, RIG_OP).ended_ms, r.now, "its end");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_int(rig_op(&r, RIG_OP).done, 4, "what happens later is not its business");
    is_int(rig_task_at(&r, p.a1).operation, OPERATION_STANDING, "but the standing one's");
    is_operation(&r, RIG_OP, SUCCEEDED, "it has succeeded");
    is_operation(&r, OPERATION_STANDING, RUNNING, "the standing one never ends");
    rig_done(&r);
}

static void test_failure_and_its_dependents(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, p.a2, DEP_FAILED, "what depends on a failure fails with it");
    is_task(&r, p.b1, RUNNING, "what does not goes on");
    is_operation(&r, RIG_OP, RUNNING, "and so does the operation");
    rig_finish(&r);
    is_operation(&r, RIG_OP, FAILED, "until nothing is left");
    is_int(rig_op(&r, RIG_OP).failed, 1, "one ran and failed");
    is_int(retry(&r, EVENT_RETRY_OPERATION, RIG_OP), 0, "retry");
    is_operation(&r, RIG_OP, RUNNING, "it is open again");
    is_task(&r, p.a1, RUNNING, "FAILED starts over");
    is_task(&r, p.a2, PENDING, "DEP_FAILED waits again");
    is_task(&r, p.b2, DONE, "DONE stays");
    is_int(rig_noderole_at(&r, 1).generation, 2, "a new generation of the one");
    is_int(rig_noderole_at(&r, 2).generation, 1, "not of the other");
    rig_finish(&r);
    is_operation(&r, RIG_OP, SUCCEEDED, "and succeeds");
    is_int(retry(&r, EVENT_RETRY_OPERATION, RIG_OP), ERR_CONFLICT, "nothing to retry");
    is_int(retry(&r, EVENT_RETRY_OPERATION, 99), ERR_NOT_FOUND, "nobody to");
    rig_done(&r);
}

static void test_retry_brings_a_fresh_budget(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){.retries = 1});
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, p.a1, FAILED, "two tries");
    is_int(retry(&r, EVENT_RETRY_TASK, p.a1), 0, "retry of a task");
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, p.a1, RUNNING, "and two more");
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, p.a1, FAILED, "no more");
    is_int(retry(&r, EVENT_RETRY_TASK, p.a2), ERR_CONFLICT, "DEP_FAILED comes with its cause");
    is_int(retry(&r, EVENT_RETRY_TASK, p.b1), ERR_CONFLICT, "RUNNING needs none");
    is_int(retry(&r, EVENT_RETRY_NODEROLE, 2), ERR_CONFLICT, "nor does its noderole");
    is_int(retry(&r, EVENT_RETRY_NODEROLE, 77), ERR_NOT_FOUND, "no such noderole");
    is_int(retry(&r, EVENT_RETRY_TASK, 77), ERR_NOT_FOUND, "no such task");
    is_int(retry(&r, EVENT_RETRY_NODEROLE, 1), 0, "retry of a noderole");
    is_task(&r, p.a1, RUNNING, "starts it");
    rig_done(&r);
}

static void test_dependents_in_another_operation_follow(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    struct draft m = draft_new(&r);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t late = draft_task(&m, 1, 0, 1, IDS(p.a2));
    draft_apply_to(&m, 3);
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, late, DEP_FAILED, "a dependent of another request fails too");
    is_operation(&r, 3, FAILED, "and its operation");
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 4, .n = 1, .flag = CLASS_NORMAL});
    m = draft_new(&r);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t later = draft_task(&m, 1, 0, 1, IDS(late));
    draft_apply_to(&m, 4);
    is_task(&r, later, DEP_FAILED, "what is planned on a failure has failed");
    retry(&r, EVENT_RETRY_TASK, p.a1);
    is_operation(&r, 3, RUNNING, "given back to it: open again");
    is_operation(&r, 4, RUNNING, "and the third");
    rig_finish(&r);
    is_operation(&r, 3, SUCCEEDED, "both");
    is_operation(&r, 4, SUCCEEDED, "succeed");
    rig_done(&r);
}

static void test_cancel_lets_running_attempts_end(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    rig_reply_again(&r, p.b1, 3600000);
    is_int(cancel(&r, false), 0, "cancel");
    is_int(r.fx.stops.n, 0, "running attempts may end");
    is_task(&r, p.b1, CANCELLED, "a waiting one ends at once");
    is_operation(&r, RIG_OP, RUNNING, "not over while something runs");
    rig_reply(&r, p.a1, OUTCOME_OK);
    is_task(&r, p.a1, DONE, "its result counts");
    is_task(&r, p.a2, READY, "nothing new starts");
    is_operation(&r, RIG_OP, CANCELLED, "now it is over");
    ok(rig_op(&r, RIG_OP).held, "what is unfinished is held");
    rig_after(&r, 3600000);
    is_task(&r, p.a2, READY, "and does not start by itself");
    is_int(cancel(&r, false), ERR_CONFLICT, "over is over");
    is_int(resume(&r), 0, "resume");
    is_task(&r, p.a2, RUNNING, "goes on where it was");
    is_task(&r, p.b1, RUNNING, "with what was cancelled");
    is_operation(&r, RIG_OP, RUNNING, "open again");
    rig_finish(&r);
    is_operation(&r, RIG_OP, SUCCEEDED, "to its end");
    is_int(resume(&r), ERR_CONFLICT, "there is no hold to lift");
    rig_done(&r);
}

static void test_a_held_operation_ends_with_its_last_attempt(void)
{
    struct rig r;
    rig_init_with(&r, 2, 1, NULL);
    struct pair p = pair_make(&r, (struct plan_def){.retries = 3, .backoff_ms = 1000});
    cancel(&r, false);
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    is_task(&r, p.a1, PENDING, "failed, with budget left");
    is_operation(&r, RIG_OP, CANCELLED, "nothing runs any more: cancelled");
    rig_after(&r, 1000);
    is_task(&r, p.a1, READY, "its back-off ends, the hold does not");
    resume(&r);
    is_task(&r, p.a1, RUNNING, "resumed");
    rig_done(&r);
}

static void test_abort(void)
{
    struct rig r;
    rig_init_with(&r, 2, 9, &(struct engine_settings){.stop_grace_ms = 500});
    struct pair p = pair_make(&r, (struct plan_def){.retries = 3});
    cancel(&r, true);
    is_int(r.fx.stops.n, 2, "abort tells both to stop");
    rig_reply(&r, p.a1, OUTCOME_CANCELLED);
    is_task(&r, p.a1, CANCELLED, "one does");
    is_reason(rig_task_at(&r, p.a1).reason, ABORTED, "its reason");
    rig_after(&r, 500);
    is_task(&r, p.b1, CANCELLED, "the other is given up after the grace");
    is_operation(&r, RIG_OP, CANCELLED, "and that is that");
    is_int(retry(&r, EVENT_RETRY_OPERATION, RIG_OP), 0, "a retry lifts the hold too");
    is_task(&r, p.a1, RUNNING, "CANCELLED starts over");
    ok(!rig_op(&r, RIG_OP).held, "no hold");
    rig_done(&r);
}

static void test_not_yet_in_a_held_operation(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    cancel(&r, false);
    rig_reply_again(&r, p.a1, 1000);
    is_task(&r, p.a1, CANCELLED, "nobody will ask it again");
    rig_reply(&r, p.b1, OUTCOME_LOST);
    is_task(&r, p.b1, CANCELLED, "nor start what is lost");
    is_operation(&r, RIG_OP, CANCELLED, "over");
    rig_done(&r);
}

static void test_hold_survives_a_loss(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    rig_reply(&r, p.a1, OUTCOME_OK);
    cancel(&r, false);
    rig_reply(&r, p.a2, OUTCOME_OK);
    rig_reply(&r, p.b1, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 2});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 2, .a = 102, .b = 999});
    is_task(&r, p.b1, READY, "what is held stays held, whatever happens to its node");
    resume(&r);
    is_task(&r, p.b1, RUNNING, "until somebody lifts it");
    rig_done(&r);
}

static int rerun(struct rig *r, uint32_t op, const uint32_t *ids, uint32_t n)
{
    return -rig_try(r, (struct event){.kind = EVENT_RERUN, .op = op, .ids = ids, .n_ids = n});
}

static void test_rerun(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    rig_reply(&r, p.a1, OUTCOME_FAILED);
    rig_finish(&r);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    is_int(rerun(&r, 3, IDS(1, 2)), 0, "a list of noderoles");
    is_task(&r, p.a1, RUNNING, "what failed is retried");
    is_task(&r, p.b1, RUNNING, "what was done runs again");
    is_int(rig_task_at(&r, p.b1).operation, 3, "for the operation that asked");
    is_int(rig_op(&r, 3).counts[TASK_RUNNING], 2, "which counts it");
    rig_finish(&r);
    is_operation(&r, 3, SUCCEEDED, "and ends with it");
    is_operation(&r, RIG_OP, FAILED, "the first one keeps its end");
    is_int(rig_op(&r, RIG_OP).failed, 1, "and its figures");
    is_int(rerun(&r, 3, IDS(1)), ERR_CONFLICT, "an operation that has ended takes no work");
    is_int(rerun(&r, 1, IDS(1, 99)), ERR_NOT_FOUND, "whole or not at all");
    is_task(&r, p.a1, DONE, "not at all");
    is_int(rerun(&r, 88, IDS(1)), ERR_NOT_FOUND, "no such operation");
    is_int(rerun(&r, 0, IDS(1)), ERR_NOT_FOUND, "none");
    rig_done(&r);
}

static void test_an_operation_without_work_ends(void)
{
    struct rig r;
    rig_init(&r, 2);
    pair_make(&r, (struct plan_def){0});
    rig_finish(&r);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    rig_step(&r, (struct event){
                     .kind = EVENT_DATA_SET, .id = 1, .a = rig_noderole_at(&r, 1).data, .op = 3});
    is_operation(&r, 3, SUCCEEDED, "the data is what it was: nothing to do is done");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_DATA_SET, .id = 1, .a = 5, .op = 3}),
           ERR_CONFLICT, "and takes no more");
    is_int(rig_noderole_at(&r, 1).data, 1, "nothing was changed");
    rig_done(&r);
}

/* Work that moves to another request must not haunt the first. */
static void test_adopted_work_leaves_no_ghosts(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct pair p = pair_make(&r, (struct plan_def){0});
    cancel(&r, false);
    rig_reply(&r, p.a1, OUTCOME_OK);
    rig_reply(&r, p.b1, OUTCOME_FAILED);
    is_operation(&r, RIG_OP, CANCELLED, "cancelled with work left and a failure");
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    rerun(&r, 3, IDS(2));
    resume(&r);
    rig_finish(&r);
    is_operation(&r, RIG_OP, SUCCEEDED, "the failure went with the noderole");
    is_operation(&r, 3, SUCCEEDED, "to who took it over");
    rig_done(&r);
}

static void test_refusals(void)
{
    struct rig r;
    rig_init(&r, 1);
    is_int(-rig_try(&r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 1, .n = 1}), ERR_EXISTS,
           "an operation that exists");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 9, .n = 5}), ERR_INVALID,
           "no such tenant");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 9, .n = 1, .flag = 7}),
           ERR_INVALID, "no such class");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1}), ERR_EXISTS, "a tenant");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = 1}), ERR_CONFLICT,
           "the standing operation is not cancelled");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = 44}), ERR_NOT_FOUND, "nobody");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RESOLVE, .id = 44}), ERR_NOT_FOUND, "no task");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_TOKEN, .id = 1}), ERR_INVALID,
           "an event of the inventory");
    rig_done(&r);
}

static void test_time_never_runs_backwards(void)
{
    struct rig r;
    rig_init(&r, 1);
    uint32_t t = rig_one(&r, 1, (struct plan_def){0});
    rig_after(&r, 5000);
    r.now -= 3000;
    rig_reply(&r, t, OUTCOME_OK);
    is_int(anneal_now(r.a), 6000, "an event from the past happens now");
    is_task(&r, t, DONE, "and counts");
    r.now = 99000;
    is_int(-rig_try(&r, (struct event){.kind = EVENT_POKE, .id = t}), ERR_CONFLICT, "refused");
    is_int(anneal_now(r.a), 6000, "what is refused does not even take time");
    rig_done(&r);
}

int main(void)
{
    test_ends();
    test_failure_and_its_dependents();
    test_retry_brings_a_fresh_budget();
    test_dependents_in_another_operation_follow();
    test_cancel_lets_running_attempts_end();
    test_a_held_operation_ends_with_its_last_attempt();
    test_abort();
    test_not_yet_in_a_held_operation();
    test_hold_survives_a_loss();
    test_rerun();
    test_an_operation_without_work_ends();
    test_adopted_work_leaves_no_ghosts();
    test_refusals();
    test_time_never_runs_backwards();
    return tap_done();
}
