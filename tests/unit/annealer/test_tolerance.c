/* test_tolerance.c - groups of which so many may fail, and what happens beyond (RFC 01, section 8)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

static void within(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_group(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2%1 b@2:2%1 j@0~t>a,b c@3>j");
    rig_fail(&r, "a.1");
    is_text(rig_tasks(&r, "a.2"), "DEP_FAILED:dependency", "on its own node a failure is one");
    is_text(rig_states(&r, "a"), "ERROR", "as ever");
    rig_ok(&r, "b.1");
    rig_ok(&r, "b.2");
    is_text(rig_started(&r), "c", "a join that tolerates lets it pass");
    rig_ok(&r, "c");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "and so does the operation");
    is_int(rig_op(&r, RIG_OP).failed, 1, "which counts what failed");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_text(rig_tasks(&r, "a.1 j c"), "RUNNING PENDING DONE", "it can be retried");
    rig_ok(&r, "a.1");
    rig_ok(&r, "a.2");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "and put right");
    rig_done(&r);
}

static void beyond(void)
{
    struct rig r;
    struct group_view g;
    rig_init_with(&r, 6, 3, NULL);
    rig_group(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2%1 b@2:2%1 c@3:2%1 d@4%1 e@5~s>d f@6");
    is_text(rig_started(&r), "a.1 b.1 c.1", "three at a time");
    rig_fail(&r, "a.1");
    is_text(rig_started(&r), "d", "one may fail");
    rig_again(&r, "d", 5000);
    rig_fail(&r, "b.1");
    is_text(rig_started(&r), "", "with the second nothing starts any more");
    is_text(rig_tasks(&r, "d f"), "CANCELLED:tolerance RUNNING", "what waits ends at once");
    is_text(rig_op_text(&r, RIG_OP), "running tolerance", "what runs is let end");
    rig_ok(&r, "f");
    rig_ok(&r, "c.1");
    is_text(rig_tasks(&r, "a.1 a.2 c.1 c.2 e"),
            "FAILED:exit DEP_FAILED:dependency DONE CANCELLED:tolerance CANCELLED:tolerance",
            "what has not started is cancelled");
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "and the operation has failed");
    ok(anneal_group(r.a, 1, &g) && g.failed == 2 && g.may_fail == 1 && g.beyond, "two of one");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    ok(anneal_group(r.a, 1, &g) && g.failed == 0 && !g.beyond, "a retry lifts it");
    is_text(rig_started(&r), "a.1 b.1 c.2", "and all goes on");
    rig_finish(&r);
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "to a good end");
    rig_done(&r);
}

static void resumed(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_group(&r, 0);
    rig_plan(&r, RIG_OP, "a@1%1 b@2:3%1 c@3%1:2");
    rig_fail(&r, "a");
    rig_ok(&r, "b.1");
    rig_ok(&r, "c.1");
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "0 may fail: critical");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RETRY_TASK, .id = rig_task(&r, "b.2")}), 0,
           "a task alone may be retried");
    is_text(rig_tasks(&r, "b.2"), "CANCELLED:tolerance", "but its operation is held");
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "for the same reason");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "b.2 c.2", "resumed, the rest goes on");
    is_text(rig_tasks(&r, "a"), "FAILED:exit", "what failed stays");
    rig_fail(&r, "b.2");
    is_text(rig_op_text(&r, RIG_OP), "running tolerance", "one more failure, and it stops again");
    rig_ok(&r, "c.2");
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "as before");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "with nothing left to do it has failed");
    rig_done(&r);
}

/* What fails with its dependency counts as well: two of the second group do. */
static void dependants_count(void)
{
    struct rig r;
    rig_init(&r, 5);
    rig_group(&r, 1);
    rig_group(&r, 1);
    rig_plan(&r, RIG_OP, "a@1%1 b@2%1 c@3%2>a,b d@4%2>a,b e@5:2");
    rig_fail(&r, "a");
    rig_ok(&r, "b");
    rig_ok(&r, "e.1");
    is_text(rig_tasks(&r, "c d e.2"),
            "DEP_FAILED:dependency DEP_FAILED:dependency CANCELLED:tolerance",
            "beyond by dependants alone");
    is_text(rig_op_text(&r, RIG_OP), "failed tolerance", "it has failed");
    rig_done(&r);
}

static void outside_of_groups(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_group(&r, 5);
    rig_plan(&r, RIG_OP, "a@1%1 b@2 j@0~t>a,b c@3>j");
    rig_fail(&r, "b");
    is_text(rig_tasks(&r, "a j c"), "RUNNING DEP_FAILED:dependency DEP_FAILED:dependency",
            "a failure in no group is forgiven by no join");
    rig_fail(&r, "a");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "nor by the operation");
    rig_done(&r);
}

/* The group goes beyond after the join was passed, and comes back. */
static void joins_follow_the_group(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_group(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 4});
    rig_plan(&r, OPERATION_STANDING, "a@1%1 b@2%1 j@0~t>a c@4>j k@0~t>a,b");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "j c k"), "DONE:join READY PENDING", "one may fail");
    rig_fail(&r, "b");
    is_text(rig_tasks(&r, "j c k"), "DEP_FAILED:dependency PENDING DEP_FAILED:dependency",
            "two may not: no longer passed");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "b"));
    is_text(rig_tasks(&r, "j c k"), "DONE:join READY PENDING:retry", "one again");
    rig_ok(&r, "b");
    is_text(rig_tasks(&r, "k"), "DONE:join", "and the other join passes");
    rig_done(&r);
}

/* Another plan puts it into another group, with what has failed of it. */
static void another_group(void)
{
    struct rig r;
    struct group_view g;
    rig_init(&r, 3);
    rig_group(&r, 1);
    rig_plan(&r, RIG_OP, "a@1%1 b@2 j@0~t>a c@3>j,b");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "j"), "DONE:join", "forgiven");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    for (uint32_t may_fail = 0; may_fail < 2; may_fail++) {
        r.groups[0].may_fail = may_fail;
        struct plan *p = rig_plan_new(&r, "");
        p->changes = arena_new(&p->mem, struct plan_change, 1);
        p->changes[0] = (struct plan_change){
            .noderole = rig_nr(&r, "a").id, .what = PLAN_C_GROUP, .user = str_of(""), .group = 1};
        p->n_changes = 1;
        rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p});
        plan_free(p);
        ok(anneal_group(r.a, 1, &g) && g.failed == 0, "it counts no more where it was");
        ok(anneal_group(r.a, 2 + may_fail, &g) && g.failed == 1, "but where it is");
        is_text(rig_tasks(&r, "j"), may_fail ? "DONE:join" : "DEP_FAILED:dependency",
                "forgiven as the new group says");
        is_text(rig_op_text(&r, RIG_OP), "running tolerance", "the operation stops at the first");
    }
    rig_done(&r);
}

int main(void)
{
    within();
    beyond();
    resumed();
    dependants_count();
    outside_of_groups();
    joins_follow_the_group();
    another_group();
    return tap_done();
}
