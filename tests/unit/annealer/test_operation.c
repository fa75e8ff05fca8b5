/* test_operation.c - requests from their start to their end (RFC 01, section 8)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

static void success(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2");
    is_text(rig_op_text(&r, RIG_OP), "running", "it runs");
    is_int(rig_op(&r, RIG_OP).live, 2, "with two open attempts");
    r.now += 500;
    rig_all_ok(&r, "a b");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "it ends when nothing is unfinished");
    struct operation_view v = rig_op(&r, RIG_OP);
    ok(v.total == 2 && v.done == 2 && v.failed == 0 && v.ended_ms == r.now,
       "and keeps its figures");
    struct plan *p = rig_plan_new(&r, "c@1");
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p}),
           -ERR_CONFLICT, "what has ended takes no plan");
    plan_free(p);
    rig_done(&r);
}

static void failure(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b other@4");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "a b c other"),
            "FAILED:exit DEP_FAILED:dependency DEP_FAILED:dependency RUNNING",
            "what hangs on a failure fails with it, what does not goes on");
    is_text(rig_states(&r, "a b c"), "ERROR BLOCKED BLOCKED", "where nothing ran it is blocked");
    is_text(rig_op_text(&r, RIG_OP), "running", "the operation runs on");
    rig_ok(&r, "other");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "and then has failed");
    is_int(rig_op(&r, RIG_OP).failed, 1, "with what ran and failed");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_text(rig_op_text(&r, RIG_OP), "running retry", "a retry reopens it");
    is_text(rig_started(&r), "a", "and starts what failed");
    is_text(rig_tasks(&r, "b c"), "PENDING:retry PENDING:retry", "the rest has another chance");
    is_text(rig_tasks(&r, "other"), "DONE", "what was done stays done");
    is_int(rig_nr(&r, "a").generation, 2, "it is another run of the noderole");
    rig_all_ok(&r, "a b c");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "to a good end");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_OPERATION, .id = RIG_OP}), -ERR_CONFLICT,
           "then there is nothing to retry");
    rig_done(&r);
}

static void two_failures(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2 c@3<a,b");
    rig_fail(&r, "a");
    rig_fail(&r, "b");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a"));
    is_text(rig_tasks(&r, "c"), "DEP_FAILED:dependency", "one of two failures is left");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "b"));
    is_text(rig_tasks(&r, "c"), "PENDING:retry", "none is left");
    rig_all_ok(&r, "a b c");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "all done");
    rig_done(&r);
}

static void plan_onto_a_failure(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2");
    rig_fail(&r, "a");
    rig_plan(&r, RIG_OP, "c@3:2<a");
    is_text(rig_tasks(&r, "c.1 c.2"), "DEP_FAILED:dependency DEP_FAILED:dependency",
            "what is added onto a failure fails with it at once");
    rig_done(&r);
}

static void cancel_and_resume(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2 b@1");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    is_text(rig_stopped(&r), "", "cancel lets what runs end by itself");
    is_text(rig_op_text(&r, RIG_OP), "running", "until then it has not ended");
    rig_ok(&r, "a.1");
    is_text(rig_started(&r), "", "nothing of it starts");
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "with nothing open it ends");
    is_text(rig_tasks(&r, "a.1 a.2 b"), "DONE READY READY", "its tasks stay what they are");
    is_int(rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP}), -ERR_CONFLICT,
           "it cannot be cancelled twice");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "a.2", "resumed it goes on where it was");
    is_text(rig_op_text(&r, RIG_OP), "running retry", "running again");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP}), -ERR_CONFLICT,
           "what is not held cannot be resumed");
    rig_all_ok(&r, "a.2 b");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "and ends well");
    rig_done(&r);
}

static void not_yet_while_held(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    rig_again(&r, "a", 1000);
    is_text(rig_tasks(&r, "a"), "CANCELLED:cancelled", "not yet, held: cancelled");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_text(rig_started(&r), "a", "a retry releases the hold as well");
    ok(!rig_op(&r, RIG_OP).held, "it is not held any more");
    rig_done(&r);
}

static void abort_stops(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE, .retries = 3});
    rig_plan(&r, RIG_OP, "a@1 b@2=1");
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP, .flag = 1});
    is_text(rig_stopped(&r), "a b", "abort tells what runs to stop");
    rig_answer(&r, "a", OUTCOME_CANCELLED);
    is_text(rig_tasks(&r, "a"), "CANCELLED:aborted", "which is then cancelled");
    rig_answer(&r, "b", OUTCOME_CANCELLED);
    is_text(rig_tasks(&r, "b"), "FAILED:uncertain", "but of a once task nobody knows");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "so the operation has failed");
    rig_done(&r);
}

static void abort_ignored(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP, .flag = 1});
    rig_after(&r, 30000);
    is_text(rig_tasks(&r, "a"), "CANCELLED:cancelled", "30 s later it is lost, held: cancelled");
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "the operation ends");
    rig_done(&r);
}

static void standing_adopts(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(rig_nr(&r, "a").operation, OPERATION_STANDING, "a loss after the end: standing");
    is_int(rig_nr(&r, "b").operation, OPERATION_STANDING, "its descendants too");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "the old operation keeps its end");
    is_int(rig_op(&r, RIG_OP).total, 2, "and its figures");
    rig_seen(&r, 1, 101, 2);
    is_text(rig_started(&r), "a", "it runs for the standing operation");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "b"), "PENDING:parent-lost",
            "what hangs on a failure there stays pending: nobody waits for an end");
    is_text(rig_op_text(&r, OPERATION_STANDING), "running", "it never ends");
    is_int(rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = OPERATION_STANDING}),
           -ERR_CONFLICT, "and cannot be cancelled");
    rig_done(&r);
}

static void held_keeps_its_own(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    rig_ok(&r, "a.1");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(rig_nr(&r, "a").operation, RIG_OP, "a loss does not free what is held");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "", "nothing held starts by itself");
    rig_rerun(&r, 3, "a");
    is_text(rig_started(&r), "a.1", "a new request may take it over");
    rig_done(&r);
}

static void refused(void)
{
    struct rig r;
    uint32_t none = 9;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    is_int(rig_try(&r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 2, .n = 1}), -ERR_EXISTS,
           "an operation that exists");
    is_int(rig_try(&r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 7, .n = 5}), -ERR_INVALID,
           "an operation of no tenant");
    is_int(rig_try(&r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1}), -ERR_EXISTS,
           "a tenant that exists");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RERUN, .op = RIG_OP, .ids = &none, .n_ids = 1}),
           -ERR_NOT_FOUND, "a re-run of no noderole");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RERUN, .op = 77}), -ERR_NOT_FOUND,
           "a re-run for no operation");
    is_int(rig_try(&r, (struct event){.kind = EVENT_DATA_SET, .id = 9}), -ERR_NOT_FOUND,
           "data of no noderole");
    is_int(rig_try(&r, (struct event){.kind = EVENT_DATA_SET, .id = 1, .op = 77}), -ERR_NOT_FOUND,
           "data for no operation");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = 9}), -ERR_NOT_FOUND,
           "a retry of no noderole");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = 1}), -ERR_CONFLICT,
           "a retry of what has not failed");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = 9}), -ERR_NOT_FOUND,
           "a retry of no task");
    is_int(rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = 9}), -ERR_NOT_FOUND,
           "a cancel of no operation");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESOLVE, .id = 1}), -ERR_CONFLICT,
           "a word about what is not uncertain");
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP}), -ERR_INVALID,
           "no plan");
    is_int(rig_try(&r, (struct event){.kind = EVENT_CATALOG, .id = 1}), -ERR_INVALID,
           "an event that is not for the engine");
    uint64_t now = anneal_now(r.a);
    r.now += 5000;
    (void)rig_try(&r, (struct event){.kind = EVENT_CANCEL, .id = 9});
    is_int(anneal_now(r.a), now, "a refused event does not move the time");
    rig_done(&r);
}

static void superseded(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a lost@3 below@3<lost");
    rig_ok(&r, "a");
    rig_fail(&r, "lost");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_SUPERSEDE, .id = RIG_OP, .op = 3});
    is_text(rig_op_text(&r, RIG_OP), "superseded", "the first is over");
    is_int(rig_nr(&r, "b").operation, 3, "what is unfinished is the second's");
    is_int(rig_nr(&r, "a").operation, RIG_OP, "what is done stays the first's");
    is_int(rig_nr(&r, "lost").operation, RIG_OP, "and so does what has failed");
    rig_ok(&r, "b");
    is_text(rig_op_text(&r, 3), "succeeded", "the second ends with it");
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    is_int(rig_try(&r, (struct event){.kind = EVENT_SUPERSEDE, .id = 3, .op = 4}), -ERR_CONFLICT,
           "one that has ended is not superseded");
    is_int(rig_try(&r, (struct event){.kind = EVENT_SUPERSEDE, .id = 9, .op = 4}), -ERR_NOT_FOUND,
           "nor one that does not exist");
    is_int(rig_try(&r, (struct event){.kind = EVENT_SUPERSEDE, .id = 4, .op = 3}), -ERR_CONFLICT,
           "by one that takes no work");
    rig_done(&r);
}

static void superseded_while_held(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_again(&r, "a", 60000);
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "cancelled and held");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_SUPERSEDE, .id = RIG_OP, .op = 3});
    is_text(rig_started(&r), "a", "a new request lifts the hold");
    rig_all_ok(&r, "a b");
    is_text(rig_op_text(&r, 3), "succeeded", "and brings it to its end");
    is_text(rig_op_text(&r, RIG_OP), "superseded", "the first stays as it is");
    rig_done(&r);
}

/* A plan that takes the place of an operation brings its own work in the same step: the one that it
 * belongs to cannot be over before that. */
static void superseded_by_a_plan(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    rig_ok(&r, "a");
    ok(rig_op(&r, RIG_OP).held && rig_op(&r, RIG_OP).state == OPERATION_SUCCEEDED,
       "held, and nothing of it is left to do");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(&r, "b@2");
    struct event ev = {.kind = EVENT_PLAN_APPLY, .op = 3, .extra = 9, .plan = p};
    uint64_t before = anneal_digest(r.a);
    is_int(rig_try(&r, ev), -ERR_NOT_FOUND, "nobody's place cannot be taken");
    ev.extra = 3;
    is_int(rig_try(&r, ev), -ERR_CONFLICT, "nor its own");
    ok(anneal_digest(r.a) == before, "neither plan nor hand-over: nothing has changed");
    ev.extra = RIG_OP;
    rig_step(&r, ev);
    plan_free(p);
    is_text(rig_started(&r), "b", "the plan is there");
    is_text(rig_op_text(&r, RIG_OP), "superseded", "the old one is over");
    is_text(rig_op_text(&r, 3), "running", "the new one is not");
    rig_ok(&r, "b");
    is_text(rig_op_text(&r, 3), "succeeded", "until its work is done");
    rig_done(&r);
}

static void superseded_by_a_plan_in_part(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(&r, "c@3");
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .extra = RIG_OP, .plan = p});
    plan_free(p);
    is_int(rig_nr(&r, "a").operation, 3, "what is unfinished goes on in the new one");
    is_int(rig_nr(&r, "b").operation, 3, "all of it");
    rig_all_ok(&r, "c a b");
    is_text(rig_op_text(&r, 3), "succeeded", "and ends with it");
    rig_done(&r);
}

/* What was asked for is not done by being done away with: whoever took it over answers for it. */
static void superseded_by_a_removal(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2 c@3");
    rig_all_ok(&r, "a b c");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "all of it is there");
    rig_do(&r, EVENT_NODE_AVAILABLE, 1);
    rig_rerun(&r, 3, "a");
    is_text(rig_tasks(&r, "a"), "READY:rerun", "a run waits for its node");
    is_int(remove_all(&r, 4, (const char *[]){"a", NULL}, 0), 0, "which is given up");
    is_text(rig_op_text(&r, 3), "superseded", "it did nothing, and has nothing left");
    is_text(rig_op_text(&r, 4), "succeeded", "the other one did what it was to");
    rig_op_add(&r, 5, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(&r, "");
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 5, .plan = p});
    plan_free(p);
    is_text(rig_op_text(&r, 5), "succeeded", "without anything to do it is another matter");
    rig_done(&r);
}

/* Whichever came first, and after a restart. */
static void superseded_in_part(void)
{
    for (int first = 0; first < 3; first++) {
        struct rig r;
        rig_init(&r, 3);
        rig_plan(&r, RIG_OP, "a@1 b@2:2 c@3");
        rig_all_ok(&r, "c b.1");
        if (first == 0)
            rig_ok(&r, "b.2");
        rig_rerun(&r, 3, "a");
        if (first)
            is_text(rig_op_text(&r, RIG_OP), "running operation", "the rest goes on");
        if (first)
            rig_answer(&r, "b.2", first == 1 ? OUTCOME_OK : OUTCOME_FAILED);
        is_text(rig_op_text(&r, RIG_OP), first == 2 ? "failed dependency" : "superseded",
                "it ends as %s", first == 2 ? "what it ran does" : "one of which some was taken");
        rig_done(&r);
    }
}

/* Who is not wanted any more is not waited for, if anything else was done. */
static void what_goes_is_not_asked_for(void)
{
    for (int first = 0; first < 2; first++) {
        struct rig r;
        rig_init(&r, 2);
        rig_plan(&r, RIG_OP, "a@1 b@2");
        if (first == 0)
            rig_ok(&r, "b");
        is_int(remove_all(&r, 3, (const char *[]){"a", NULL}, 1), 0, "a is given up");
        if (first)
            is_text(rig_op_text(&r, RIG_OP), "running removed", "the rest goes on");
        if (first)
            rig_ok(&r, "b");
        is_text(rig_op_text(&r, RIG_OP), "succeeded", "it did what is still wanted");
        rig_done(&r);
    }
}

/* What it has done may be taken: that is history. */
static void done_is_not_superseded(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2");
    rig_ok(&r, "a");
    is_int(remove_all(&r, 3, (const char *[]){"a", NULL}, 1), 0, "what is done goes");
    rig_ok(&r, "b");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "it was done");
    rig_done(&r);
}

static void time_never_runs_back(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_after(&r, 5000);
    uint64_t now = anneal_now(r.a);
    r.now = 10;
    rig_do(&r, EVENT_TICK, 0);
    is_int(anneal_now(r.a), now, "an earlier time is the same time");
    rig_done(&r);
}

int main(void)
{
    success();
    failure();
    two_failures();
    plan_onto_a_failure();
    cancel_and_resume();
    not_yet_while_held();
    abort_stops();
    abort_ignored();
    standing_adopts();
    held_keeps_its_own();
    refused();
    superseded();
    superseded_while_held();
    superseded_by_a_plan();
    superseded_by_a_plan_in_part();
    superseded_by_a_removal();
    superseded_in_part();
    what_goes_is_not_asked_for();
    done_is_not_superseded();
    time_never_runs_back();
    return tap_done();
}
