/* test_passive.c - tasks that nothing executes: what is left out, joins, and noderoles without a
 * node (RFC 01, section 1)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

static void joins_of_all(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2 j@0~a>a,b c@3>j");
    is_text(rig_started(&r), "a b", "what waits for a join does not start");
    rig_ok(&r, "a");
    is_text(rig_tasks(&r, "j"), "PENDING", "not with one of two");
    rig_ok(&r, "b");
    is_text(rig_tasks(&r, "j"), "DONE:join", "with both the join is done, without an attempt");
    is_text(rig_started(&r), "c", "and what waits for it starts in the same step");
    is_int(rig_view(&r, "j").attempt, 0, "no attempt was numbered");
    rig_ok(&r, "c");
    is_text(rig_states(&r, "a b j c"), "ACTIVE ACTIVE ACTIVE ACTIVE", "all in service");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "the operation counts it as done");
    is_int(rig_op(&r, RIG_OP).done, 4, "all four");
    rig_done(&r);
}

static void all_fails_with_one(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2 j@0~a>a,b k@0~a>j c@3>k");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "j k c"),
            "DEP_FAILED:dependency DEP_FAILED:dependency "
            "DEP_FAILED:dependency",
            "a failure goes through joins of all");
    rig_ok(&r, "b");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "which the operation ends with");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_text(rig_tasks(&r, "j k c"), "PENDING:retry PENDING:retry PENDING:retry",
            "a retry gives all of them another chance");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "c", "and then they pass");
    rig_done(&r);
}

static void ended_in_spite_of_failure(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2 s@0~e>a,b c@3>s d@4>a");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "s d"), "PENDING DEP_FAILED:dependency", "one of two has ended");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "c", "when all have, the stage is reached");
    is_text(rig_states(&r, "a s"), "ERROR ACTIVE", "though one failed");
    rig_ok(&r, "c");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "that one still counts");
    rig_done(&r);
}

/* A stage says how far those before it are, and nothing more. */
static void ended_is_taken_back(void)
{
    struct rig r;
    rig_init_with(&r, 4, 2, NULL);
    rig_plan(&r, RIG_OP, "a@1#9 b@2#8 s@0~e>a,b t@0~e>s c@3>t d@4>t");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 4});
    rig_fail(&r, "a");
    rig_ok(&r, "b");
    is_text(rig_tasks(&r, "s t c d"), "DONE:join DONE:join RUNNING READY", "reached, c has begun");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a"));
    is_text(rig_tasks(&r, "a s t"), "RUNNING PENDING PENDING",
            "what had failed is tried again: not reached any more");
    is_text(rig_tasks(&r, "c d"), "RUNNING PENDING", "what has begun goes on, the rest waits");
    is_text(rig_states(&r, "s"), "BLOCKED", "and so does its noderole");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 4, .flag = 1});
    is_text(rig_started(&r), "", "however free its node is");
    rig_fail(&r, "a");
    is_text(rig_started(&r), "d", "until it ends once more");
    rig_all_ok(&r, "c d");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "and the operation with it");
    rig_done(&r);
}

/* It follows whatever its operation does: ended, held, or the standing one. */
static void follows_after_the_end(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 j@0~a>a c@2>j");
    rig_all_ok(&r, "a c");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_tasks(&r, "a j"), "READY:node-dead PENDING", "with what it stood for it is gone");
    is_text(rig_states(&r, "j c"), "BLOCKED ACTIVE", "and nothing ripples from there");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "an operation that has ended stays so");
    rig_rerun(&r, 3, "c");
    is_text(rig_tasks(&r, "c"), "PENDING:rerun", "who runs again waits for it");
    rig_seen(&r, 1, 101, 2);
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "j c"), "DEP_FAILED:dependency DEP_FAILED:dependency",
            "a failure elsewhere goes through it");
    is_text(rig_op_text(&r, 3), "failed dependency", "so that nobody waits for ever");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a"));
    rig_ok(&r, "a");
    is_text(rig_started(&r), "c", "until that is put right");
    rig_done(&r);
}

static void held_joins(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 j@0~a>a c@2>j");
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    rig_ok(&r, "a");
    is_text(rig_tasks(&r, "j c"), "DONE:join READY", "a join passes in a held operation");
    is_text(rig_started(&r), "", "which starts nothing");
    is_text(rig_op_text(&r, RIG_OP), "cancelled cancelled", "and ends");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    is_text(rig_started(&r), "c", "resumed it goes on behind the join");
    rig_done(&r);
}

static void left_out(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 2});
    rig_plan(&r, RIG_OP, "a@1 s@2~s>a b@1>s");
    is_text(rig_tasks(&r, "s b"), "PENDING PENDING", "what is left out keeps the order");
    rig_ok(&r, "a");
    is_text(rig_tasks(&r, "s"), "SKIPPED:left-out", "it needs neither its node nor a worker");
    is_text(rig_started(&r), "b", "what comes after it starts");
    is_text(rig_states(&r, "s"), "ACTIVE", "and its noderole is as it should be");
    rig_ok(&r, "b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_tasks(&r, "a s"), "READY:node-dead SKIPPED:left-out",
            "of a noderole with a node: passed until its own next run");
    is_text(rig_states(&r, "s"), "ACTIVE", "so that nothing ripples along an order edge");
    rig_done(&r);

    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 s@2~s>a");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "s"), "DEP_FAILED:dependency", "left out behind a failure");
    rig_done(&r);
}

/* The machine is another one: the first task that was really run there fails, not one left out. */
static void replaced_machine(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct draft m = draft_new(&r);
    uint32_t def = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t skip = draft_passive(&m, RULE_SKIP, NONE), run = draft_task(&m, def, 0, 1, IDS(skip));
    is_int(draft_apply(&m), 0, "a noderole with a task left out");
    is_int(rig_reply(&r, run, OUTCOME_OK), 0, "is made");
    rig_seen(&r, 1, 999, 9);
    is_task(&r, skip, SKIPPED, "what was left out stays so");
    is_task(&r, run, FAILED, "what was done is gone");
    rig_done(&r);
}

/* Two noderoles on two nodes whose tasks wait for each other in turn. */
static void interleaved(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t def = draft_def(&m, (struct plan_def){0}), t = m.task;
    draft_noderole(&m, 1, NODEROLE_F_PHASED, NONE);
    draft_task(&m, def, 0, 4, NONE);
    draft_task(&m, def, 0, 2, IDS(t, t + 2));
    draft_noderole(&m, 2, NODEROLE_F_PHASED, NONE);
    draft_task(&m, def, 0, 3, IDS(t));
    draft_task(&m, def, 0, 1, IDS(t + 2, t + 1));
    uint32_t a = m.noderole, b = a + 1;
    is_int(draft_apply(&m), 0, "tasks that wait both ways are taken");
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t order[] = {0, 2, 1, 3};
        ok(rig_was_sent(&r, t + order[i]), "task %u is number %u", order[i], i + 1);
        rig_reply(&r, t + order[i], OUTCOME_OK);
        if (i == 0)
            is_noderole(&r, a, TRANSITION, "a noderole waits in the middle of its tasks");
    }
    is_noderole(&r, a, ACTIVE, "both are");
    is_noderole(&r, b, ACTIVE, "in service");

    /* One runs again with other data, the other is as it was: its tasks pass in their turn. */
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = a, .a = 9, .op = 3});
    ok(rig_was_sent(&r, t), "the first of the changed one runs");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    rig_seen(&r, 2, 102, 1);
    is_task(&r, t + 2, PENDING, "the unchanged one waits for it");
    rig_reply(&r, t, OUTCOME_OK);
    is_task(&r, t + 2, DONE, "passes, and in the middle");
    is_task(&r, t + 3, PENDING, "waits for what is run between");
    rig_reply(&r, t + 1, OUTCOME_OK);
    is_task(&r, t + 3, DONE, "then it is through");
    is_int(rig_task_at(&r, t + 3).attempt, 1, "without an attempt");
    is_reason(rig_noderole_at(&r, b).reason, UNCHANGED, "as it was");
    rig_done(&r);
}

/* While an unchanged run waits in its middle, other data come: one more run follows. */
static void changed_on_the_way(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t def = draft_def(&m, (struct plan_def){0}), t = m.task;
    draft_noderole(&m, 1, NODEROLE_F_PHASED, NONE);
    draft_task(&m, def, 0, 1, NONE);
    draft_noderole(&m, 2, NODEROLE_F_PHASED, NONE);
    draft_task(&m, def, 0, 2, NONE);
    draft_task(&m, def, 0, 1, IDS(t + 1, t));
    uint32_t a = m.noderole, b = a + 1;
    draft_apply(&m);
    rig_finish(&r);
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = a, .a = 9});
    rig_do(&r, EVENT_NODE_DEAD, 2);
    rig_seen(&r, 2, 102, 1);
    is_task(&r, t + 1, DONE, "the first passed unchanged");
    is_task(&r, t + 2, PENDING, "the second waits");
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = b, .a = 5});
    rig_reply(&r, t, OUTCOME_OK);
    ok(rig_was_sent(&r, t + 1), "when that run is over another begins");
    is_noderole(&r, b, STALE, "in service");
    rig_finish(&r);
    is_int(rig_task_at(&r, t + 2).attempt, 2, "and all of it was run");
    rig_done(&r);
}

/* Tasks are replaced while others live that wait for them and for which they wait. */
static void replaced_while_others_live(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2>a j@0~a>a,b c@3>j");
    struct plan *p = rig_plan_new(&r, "");
    uint32_t a = rig_nr(&r, "a").id, stages = rig_nr(&r, "j").id, t = p->base_task;
    uint32_t deps[] = {rig_task(&r, "b"), t};
    p->changes = arena_new(&p->mem, struct plan_change, 2);
    p->changes[0] = (struct plan_change){
        .noderole = a, .what = PLAN_C_TASKS, .user = str_of(""), .first_task = 0, .n_tasks = 1};
    p->changes[1] = (struct plan_change){.noderole = stages,
                                         .what = PLAN_C_TASKS,
                                         .user = str_of(""),
                                         .first_task = 1,
                                         .n_tasks = 1};
    p->tasks[0] = (struct plan_task){.noderole = a, .def = p->base_def, .weight = 1};
    p->tasks[1] = (struct plan_task){.noderole = stages,
                                     .def = p->base_def,
                                     .weight = 1,
                                     .deps = deps,
                                     .n_deps = 2,
                                     .rule = RULE_JOIN_ALL};
    p->n_tasks = p->n_changes = 2;
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .plan = p});
    plan_free(p);
    is_text(rig_tasks(&r, "a j"), "READY PENDING", "new tasks, for those that live too");
    is_text(rig_tasks(&r, "b c"), "RUNNING RUNNING", "old ones wait no more for what is retired");
    rig_ok(&r, "b");
    rig_reply_as(&r, 1, 1, OUTCOME_OK);
    is_text(rig_started(&r), "a", "the node is free again");
    is_text(rig_tasks(&r, "j"), "PENDING", "the new join waits for both");
    rig_ok(&r, "a");
    is_text(rig_tasks(&r, "j"), "DONE:join", "and passes");
    rig_done(&r);
}

/* It has a noderole's row and life, but no place. */
static void without_a_node(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "s@0~a a@1>s");
    is_text(rig_tasks(&r, "s"), "DONE:join", "a stage that waits for nothing is reached at once");
    is_int(anneal_node_first_noderole(r.a, 1), rig_nr(&r, "a").id, "not on any node's list");
    rig_ok(&r, "a");
    rig_rerun(&r, 3, "s");
    is_text(rig_states(&r, "s a"), "ACTIVE ACTIVE", "run again it is reached again");
    is_text(rig_op_text(&r, 3), "succeeded", "with nothing to do");
    struct plan *p = rig_plan_new(&r, "");
    p->changes = arena_new(&p->mem, struct plan_change, 1);
    p->changes[0] = (struct plan_change){
        .noderole = rig_nr(&r, "s").id, .what = PLAN_C_REMOVE, .user = str_of("")};
    p->n_changes = 1;
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 4, .plan = p});
    plan_free(p);
    struct noderole_view v;
    ok(!anneal_noderole(r.a, 1, &v), "removed it is gone");
    rig_done(&r);
}

static void failure_that_may_be(void)
{
    struct rig r;
    rig_init(&r, 2);
    char text[64];
    char may = rig_def(&r, (struct plan_def){.flags = DEF_F_MAY_FAIL, .retries = 1});
    snprintf(text, sizeof text, "a@1=%c b@2>a", may);
    rig_plan(&r, RIG_OP, text);
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "a"), "RUNNING", "its budget comes first");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "a"), "TOLERATED:exit", "then it may fail");
    is_text(rig_started(&r), "b", "others go on");
    is_text(rig_states(&r, "a"), "ACTIVE", "its noderole is in service");
    rig_ok(&r, "b");
    is_text(rig_op_text(&r, RIG_OP), "succeeded-with-failures", "the operation says so");
    is_int(rig_op(&r, RIG_OP).failed, 1, "and counts it");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_RETRY_OPERATION, .id = RIG_OP}), ERR_CONFLICT,
           "there is nothing to retry");
    rig_data(&r, "a", 5);
    is_text(rig_started(&r), "a", "its next run tries it again");
    rig_done(&r);

    rig_init(&r, 1);
    may = rig_def(&r, (struct plan_def){.flags = DEF_F_MAY_FAIL, .repeat = REPEAT_ONCE});
    snprintf(text, sizeof text, "a@1=%c", may);
    rig_plan(&r, RIG_OP, text);
    rig_answer(&r, "a", OUTCOME_LOST);
    is_text(rig_tasks(&r, "a"), "FAILED:uncertain", "what nobody knows is not tolerated");
    rig_done(&r);
}

int main(void)
{
    joins_of_all();
    all_fails_with_one();
    ended_in_spite_of_failure();
    ended_is_taken_back();
    follows_after_the_end();
    held_joins();
    left_out();
    replaced_machine();
    interleaved();
    changed_on_the_way();
    replaced_while_others_live();
    without_a_node();
    failure_that_may_be();
    return tap_done();
}
