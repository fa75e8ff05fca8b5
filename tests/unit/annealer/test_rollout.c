/* test_rollout.c - a roll-out stops after more failures than may be (RFC 01, section 4) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"
#include "draft.h"

static uint32_t rollout(struct rig *r, uint32_t failures)
{
    uint32_t g = rig_group(r, failures);
    r->groups[g - 1].stops = true;
    return g;
}

static void change_all(struct rig *r, uint32_t op, uint64_t data)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct plan *p = plan_of_changes(r);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        change(r, p, names[i], PLAN_C_DATA)->data = data;
    is_int(apply(r, p, op), 0, "all are changed");
}

/* Four members in service, one at a time. */
static void four(struct rig *r, uint32_t failures, const char *more)
{
    SCOPED_BUF(text);
    rig_init(r, 6);
    rollout(r, failures);
    rig_step(r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    buf_printf(&text, "a@1:2+1%%1 b@2:2+1%%1 c@3:2+1%%1 d@4:2+1%%1 %s", more);
    rig_plan(r, RIG_OP, text.data);
    rig_all_ok(r, "a.1 a.2 b.1 b.2 c.1 c.2 d.1 d.2");
}

static void stops_at_the_first(void)
{
    struct rig r;
    four(&r, 0, "user@5<b");
    rig_ok(&r, "user");
    change_all(&r, 3, 7);
    is_text(rig_started(&r), "a.1", "one at a time");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    is_text(rig_started(&r), "", "no further member starts");
    is_text(rig_states(&r, "a b c d user"), "ERROR STALE STALE STALE ACTIVE",
            "the rest serve as they are");
    is_text(rig_tasks(&r, "b.1"), "CANCELLED:rollout", "with that reason");
    is_text(rig_op_text(&r, 3), "failed rollout", "and the operation has failed by it");
    struct why why[4];
    is_int(anneal_why_task(r.a, rig_task(&r, "b.1"), why, 4), 1, "why has a reason");
    is_text(why_rule_name(why[0].rule), "rollout-stopped", "which is that");
    rig_data(&r, "b", 8);
    is_text(rig_started(&r), "", "other data do not start it");
    rig_do(&r, EVENT_RESUME, 3);
    is_text(rig_started(&r), "b.1", "a resume goes on with the rest");
    rig_all_ok(&r, "b.1 b.2 c.1");
    rig_fail(&r, "c.2");
    is_text(rig_op_text(&r, 3), "failed rollout", "until the next one fails");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = 3, .n = 2});
    rig_all_ok(&r, "d.1 d.2");
    is_text(rig_op_text(&r, 3), "succeeded-with-failures", "what was resumed is forgiven");
    rig_done(&r);
}

static void retry_goes_on(void)
{
    struct rig r;
    four(&r, 0, "");
    change_all(&r, 3, 7);
    rig_fail(&r, "a.1");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a.1", "the failed one can be tried by itself");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_states(&r, "a b"), "ACTIVE STALE", "the others wait still");
    is_text(rig_op_text(&r, 3), "failed rollout", "stopped is stopped");
    rig_do(&r, EVENT_RETRY_OPERATION, 3);
    rig_all_ok(&r, "b.1 b.2 c.1 c.2 d.1 d.2");
    is_text(rig_op_text(&r, 3), "succeeded", "a retry of the operation goes on");
    rig_done(&r);
}

static void budget(void)
{
    struct rig r;
    four(&r, 1, "");
    change_all(&r, 3, 7);
    rig_fail(&r, "a.1");
    is_text(rig_started(&r), "b.1", "one may fail");
    rig_all_ok(&r, "b.1 b.2");
    rig_fail(&r, "c.1");
    is_text(rig_states(&r, "a b c d"), "ERROR ACTIVE ERROR STALE", "not two");
    is_text(rig_op_text(&r, 3), "failed rollout", "told so");
    change_all(&r, 4, 9);
    rig_all_ok(&r, "a.1 a.2 b.1 b.2 c.1 c.2 d.1 d.2");
    is_text(rig_op_text(&r, 4), "succeeded", "a correction rolls over all, from nothing");
    change_all(&r, 5, 11);
    rig_fail(&r, "a.1");
    rig_all_ok(&r, "b.1 b.2 c.1 c.2 d.1 d.2");
    is_text(rig_op_text(&r, 5), "succeeded-with-failures", "within its budget it ends well");
    rig_done(&r);
}

/* A budget is for some of what was asked, and not for all of it. */
static void budget_is_not_all(void)
{
    struct rig r;
    four(&r, 1, "other@5");
    rig_ok(&r, "other");
    rig_rerun(&r, 3, "a");
    rig_fail(&r, "a.1");
    is_text(rig_op_text(&r, 3), "failed dependency", "one was asked for, and that failed");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESUME, .id = 3}), -ERR_CONFLICT,
           "its roll-out has not stopped");
    rig_do(&r, EVENT_RETRY_OPERATION, 3);
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_op_text(&r, 3), "succeeded", "retried it is done");
    struct plan *p = plan_of_changes(&r);
    change(&r, p, "b", PLAN_C_DATA)->data = 3;
    change(&r, p, "other", PLAN_C_DATA)->data = 3;
    is_int(apply(&r, p, 4), 0, "one and another noderole");
    rig_fail(&r, "b.1");
    rig_ok(&r, "other");
    is_text(rig_op_text(&r, 4), "succeeded-with-failures", "some of it was done");
    rig_rerun(&r, 5, "c");
    rig_step(
        &r, (struct event){
                .kind = EVENT_RERUN, .op = 5, .ids = (uint32_t[]){rig_nr(&r, "d").id}, .n_ids = 1});
    rig_fail(&r, "c.1");
    rig_fail(&r, "d.1");
    is_text(rig_op_text(&r, 5), "failed rollout", "all of two");
    rig_do(&r, EVENT_RESUME, 5);
    is_text(rig_op_text(&r, 5), "succeeded-with-failures", "a person may forgive all of them");
    rig_done(&r);
}

/* Two at a time: the other one goes on to its end. */
static void in_flight(void)
{
    struct rig r;
    four(&r, 0, "");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 2});
    change_all(&r, 3, 7);
    is_text(rig_started(&r), "a.1 b.1", "two at a time");
    rig_fail(&r, "a.1");
    rig_ok(&r, "b.1");
    is_text(rig_started(&r), "b.2", "what has begun goes on");
    rig_ok(&r, "b.2");
    is_text(rig_states(&r, "a b c d"), "ERROR ACTIVE STALE STALE", "and no further one");
    is_text(rig_op_text(&r, 3), "failed rollout", "then it is over");
    rig_done(&r);
}

/* In a row: the edge means "when that has ended", and the budget decides. */
static void one_by_one(void)
{
    struct rig r;
    rig_init(&r, 3);
    rollout(&r, 1);
    rig_plan(&r, RIG_OP, "a@1%1 b@2%1>a c@3%1>b");
    rig_fail(&r, "a");
    is_text(rig_started(&r), "b", "one may fail, and the next one begins");
    rig_fail(&r, "b");
    is_text(rig_tasks(&r, "c"), "CANCELLED:rollout", "not two");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP});
    is_text(rig_started(&r), "c", "a resume goes on behind what failed");
    rig_ok(&r, "c");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "to its end");
    rig_done(&r);
}

/* Who waits for a member that was stopped does not hold the operation open. */
static void children_wait(void)
{
    struct rig r;
    rig_init(&r, 4);
    rollout(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1+1%1 b@2+1%1 child@3<b grandchild@4<child");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "b child grandchild"),
            "CANCELLED:rollout CANCELLED:dependency CANCELLED:dependency", "all behind it wait");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "and the operation ends");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    rig_all_ok(&r, "b child grandchild");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "resumed, they follow");
    rig_done(&r);
}

static void another_request(void)
{
    struct rig r;
    four(&r, 0, "");
    change_all(&r, 3, 7);
    rig_fail(&r, "a.1");
    rig_rerun(&r, 4, "b");
    is_text(rig_started(&r), "b.1", "another request over one of them is another roll-out");
    rig_fail(&r, "b.1");
    is_text(rig_op_text(&r, 4), "failed rollout", "of its own");
    is_text(rig_states(&r, "c d"), "STALE STALE", "which reaches nobody else");
    rig_done(&r);
}

/* The standing operation restores what was lost. */
static void losses_do_not_stop(void)
{
    struct rig r;
    four(&r, 0, "");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 2});
    for (uint32_t n = 1; n <= 4; n++)
        rig_do(&r, EVENT_NODE_DEAD, n);
    for (uint32_t n = 1; n <= 4; n++)
        rig_seen(&r, n, 100 + n, 9);
    rig_fail(&r, "a.1");
    rig_all_ok(&r, "b.1 b.2");
    is_text(rig_started(&r), "c.1", "what was lost comes back, whoever fails");
    rig_done(&r);
}

/* Who waits for all of it behind a join waits for who was stopped, and for who failed. */
static void behind_a_join(void)
{
    struct rig r;
    rig_init(&r, 6);
    rollout(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1+1%1 b@2+1%1 c@3+1%1 e@0~e>b,c t@0~t>a,b,c ended@4>e all@5>t");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "b c e t ended all"),
            "CANCELLED:rollout CANCELLED:rollout PENDING DEP_FAILED:dependency "
            "CANCELLED:dependency DEP_FAILED:dependency",
            "nothing behind them is left open");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "so the operation ends");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "b", "resumed");
    is_text(rig_tasks(&r, "t ended all"), "PENDING:retry PENDING:retry PENDING:retry",
            "what failed is forgiven");
    rig_ok(&r, "b");
    rig_fail(&r, "c");
    rig_ok(&r, "ended");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "what fails after it is not");
    is_text(rig_tasks(&r, "t all"), "DEP_FAILED:dependency DEP_FAILED:dependency",
            "nor by who waits for all of them");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    rig_all_ok(&r, "a c");
    rig_all_ok(&r, "all");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "put right, all of it is done");
    rig_done(&r);
}

/* The last one fails, or all had begun: there is nobody left to stop, but who waits for them. */
static void nobody_left_to_start(void)
{
    struct rig r;
    rig_init(&r, 6);
    rollout(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 3});
    rig_plan(&r, RIG_OP, "a@1+1%1 b@2+1%1 c@3+1%1 t@0~t>a,b,c all@5>t");
    rig_fail(&r, "a");
    rig_fail(&r, "b");
    rig_ok(&r, "c");
    is_text(rig_tasks(&r, "t all"), "DEP_FAILED:dependency DEP_FAILED:dependency",
            "more failed than may");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "so it has failed");
    struct why why[8];
    is_int(anneal_why_operation(r.a, RIG_OP, why, 8), 3, "why has the roll-out and what failed");
    is_text(why_rule_name(why[0].rule), "rollout-stopped", "in that order");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "all", "a resume forgives them, and who waits for them goes on");
    rig_ok(&r, "all");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "to the end");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP}), -ERR_CONFLICT,
           "what is forgiven is not forgiven again");
    rig_done(&r);
}

static void more_may_fail(void)
{
    struct rig r;
    rig_init(&r, 6);
    rollout(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1+1%1 b@2+1%1 c@3+1%1 t@0~t>a,b,c all@5>t");
    rig_fail(&r, "a");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP, .n = 2});
    rig_fail(&r, "b");
    is_text(rig_started(&r), "c", "one more may fail");
    rig_ok(&r, "c");
    is_text(rig_started(&r), "all", "and is forgiven by who waits for all of them");
    rig_ok(&r, "all");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "to the end");
    rig_rerun(&r, 4, "b");
    is_text(rig_tasks(&r, "t"), "PENDING", "tried again, it is waited for");
    rig_fail(&r, "b");
    is_text(rig_op_text(&r, 4), "failed rollout", "and not forgiven by another operation");
    is_text(rig_tasks(&r, "t"), "DEP_FAILED:dependency", "nor by the join");
    rig_done(&r);
}

/* Who tells others how it ended does so when a roll-out has stopped, and at the next end again. */
static void told_when_it_stops(void)
{
    struct rig r;
    rig_init(&r, 4);
    rollout(&r, 0);
    char call = rig_def(&r, (struct plan_def){.repeat = REPEAT_SAFE, .flags = DEF_F_OUTSIDE});
    SCOPED_BUF(text);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 2});
    buf_printf(&text, "a@1+1%%1 b@2:2+1%%1 c@3+1%%1 d@4>c end@0~o>a,b,c,d call@0=%c>end", call);
    rig_plan(&r, RIG_OP, text.data);
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "c d end call"), "CANCELLED:rollout CANCELLED:dependency PENDING PENDING",
            "it waits for who has begun");
    rig_ok(&r, "b.1");
    rig_ok(&r, "b.2");
    is_text(rig_started(&r), "call", "then it tells");
    is_text(rig_op_text(&r, RIG_OP), "running", "which is part of the operation");
    rig_ok(&r, "call");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "and the end of it");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_tasks(&r, "end call"), "PENDING PENDING:retry", "resumed, it is not true any more");
    rig_ok(&r, "c");
    rig_ok(&r, "d");
    is_text(rig_started(&r), "call", "and the next end is told");
    rig_ok(&r, "call");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "too");
    rig_done(&r);
}

/* A member that did something else before its turn has not begun. */
static void aside(void)
{
    struct rig r;
    rig_init(&r, 4);
    rollout(&r, 0);
    char early = rig_def(&r, (struct plan_def){.repeat = REPEAT_SAFE, .flags = DEF_F_ASIDE});
    SCOPED_BUF(text);
    buf_printf(&text, "pre@1=%c mid@4>pre a@2:2=%c0%%1>pre b@3:2=%c0%%1>pre", early, early, early);
    rig_plan(&r, RIG_OP, text.data);
    rig_ok(&r, "pre");
    rig_all_ok(&r, "mid a.1");
    rig_fail(&r, "a.2");
    is_text(rig_tasks(&r, "b.1 b.2"), "RUNNING CANCELLED:rollout", "what runs is let end");
    rig_ok(&r, "b.1");
    is_text(rig_started(&r), "", "what it was about does not begin");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "and that is the end");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "b.2", "until it is resumed");
    rig_ok(&r, "b.2");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "then it is done");
    rig_done(&r);
}

/* Of two tasks beside each other the early one fails: the member is in ERROR and stopped, and a
 * correction of it corrects. */
static void aside_fails(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct plan_group group = {.name = str_of("members"), .stops = true};
    struct draft m = draft_new(&r);
    uint32_t early = draft_def(&m, (struct plan_def){.flags = DEF_F_ASIDE});
    uint32_t late = draft_def(&m, (struct plan_def){0});
    uint32_t id = draft_noderole(&m, 1, 0, NONE);
    uint32_t first = draft_task(&m, early, 0, 2, NONE);
    uint32_t second = draft_task(&m, late, 0, 1, NONE);
    draft_noderole(&m, 2, 0, NONE);
    draft_task(&m, late, 0, 1, NONE); /* keeps the operation open */
    m.p->noderoles[0].group = 1;
    m.p->groups = &group;
    m.p->n_groups = 1;
    is_int(draft_apply(&m), 0, "a member with two tasks beside each other");
    rig_reply_as(&r, first, 1, OUTCOME_FAILED);
    is_int(rig_noderole_at(&r, id).state, NODEROLE_ERROR, "the early one fails");
    is_int(rig_task_at(&r, second).reason, REASON_ROLLOUT, "and the member does not begin");
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = id, .a = 7});
    ok(rig_was_sent(&r, first), "other data begin a new run of it");
    rig_reply_as(&r, first, 2, OUTCOME_OK);
    rig_reply_as(&r, second, 1, OUTCOME_OK);
    is_int(rig_noderole_at(&r, id).state, NODEROLE_ACTIVE, "which passes");
    rig_done(&r);
}

int main(void)
{
    behind_a_join();
    nobody_left_to_start();
    more_may_fail();
    told_when_it_stops();
    aside();
    aside_fails();
    stops_at_the_first();
    retry_goes_on();
    budget();
    budget_is_not_all();
    in_flight();
    one_by_one();
    children_wait();
    another_request();
    losses_do_not_stop();
    return tap_done();
}
