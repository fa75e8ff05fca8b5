/* test_undo.c - what half happened is undone before it is tried again (RFC 01, section 5) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

struct machine {
    uint32_t noderole, undo, create, confirm, bootstrap;
};

static struct machine make(struct rig *r, enum repeat repeat, uint32_t retries)
{
    struct machine x;
    struct draft m = draft_new(r);
    struct plan_def half = {.flags = DEF_F_UNDONE | DEF_F_LASTING | DEF_F_OUTSIDE,
                            .repeat = (uint8_t)repeat,
                            .retries = retries};
    uint32_t undo = draft_def(&m, (struct plan_def){.flags = DEF_F_OUTSIDE});
    uint32_t create = draft_def(&m, half), confirm = draft_def(&m, half);
    uint32_t bootstrap = draft_def(&m, (struct plan_def){0});
    x.noderole = draft_noderole(&m, 1, 0, NONE);
    x.undo = draft_task(&m, undo, 0, 4, NONE);
    m.p->tasks[m.p->n_tasks - 1].rule = RULE_UNDO;
    x.create = draft_task(&m, create, 0, 3, IDS(x.undo));
    x.confirm = draft_task(&m, confirm, 0, 2, IDS(x.create));
    x.bootstrap = draft_task(&m, bootstrap, 0, 1, IDS(x.confirm));
    is_int(draft_apply(&m), 0, "a machine");
    return x;
}

/* The order in which the last of Coopr's scheduler tests has them. */
static void before_another_try(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct machine x = make(&r, REPEAT_TOKEN, 1);
    is_task(&r, x.undo, SKIPPED, "there is nothing to undo");
    ok(rig_was_sent(&r, x.create), "it is made");
    uint32_t key = rig_noderole_at(&r, x.noderole).generation;
    rig_reply(&r, x.create, OUTCOME_OK);
    rig_reply(&r, x.confirm, OUTCOME_FAILED);
    ok(rig_was_sent(&r, x.undo), "it cannot be confirmed: it is deleted");
    is_task(&r, x.create, PENDING, "and made anew only then");
    rig_reply(&r, x.undo, OUTCOME_OK);
    ok(rig_was_sent(&r, x.create), "another one is made");
    ok(rig_noderole_at(&r, x.noderole).generation > key, "under another key");
    rig_reply(&r, x.create, OUTCOME_OK);
    ok(rig_was_sent(&r, x.confirm), "and looked at");
    rig_reply(&r, x.confirm, OUTCOME_FAILED);
    is_task(&r, x.confirm, FAILED, "the budget is used up");
    is_task(&r, x.undo, DONE, "and what is there may be looked at");
    is_operation(&r, RIG_OP, FAILED, "the operation has failed");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    ok(rig_was_sent(&r, x.undo), "before a retry it goes, too");
    rig_reply(&r, x.undo, OUTCOME_FAILED);
    is_noderole(&r, x.noderole, ERROR, "if it can be deleted");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    rig_finish(&r);
    is_noderole(&r, x.noderole, ACTIVE, "third time lucky");
    is_int(rig_task_at(&r, x.create).attempt, 3, "three were made");
    is_int(rig_task_at(&r, x.undo).attempt, 3, "and what went before was deleted");
    rig_done(&r);
}

static void lost_attempts(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct machine x = make(&r, REPEAT_TOKEN, 0);
    rig_reply(&r, x.create, OUTCOME_LOST);
    ok(rig_was_sent(&r, x.create), "who knows keys is asked again");
    is_int(rig_task_at(&r, x.undo).attempt, 0, "and nothing is undone");
    rig_done(&r);
    rig_init(&r, 1);
    x = make(&r, REPEAT_SAFE, 0);
    rig_reply(&r, x.create, OUTCOME_LOST);
    ok(rig_was_sent(&r, x.undo), "who does not might make a second one");
    rig_done(&r);
}

static void cancelled_in_the_middle(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct machine x = make(&r, REPEAT_TOKEN, 0);
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP, .flag = 1});
    rig_reply(&r, x.create, OUTCOME_CANCELLED);
    is_task(&r, x.create, CANCELLED, "aborted while it was made");
    is_int(rig_task_at(&r, x.undo).attempt, 0, "nothing starts by itself");
    rig_do(&r, EVENT_RESUME, RIG_OP);
    ok(rig_was_sent(&r, x.undo), "resumed, what may be there goes first");
    rig_finish(&r);
    is_noderole(&r, x.noderole, ACTIVE, "and then it is made");
    rig_done(&r);
}

static void later_runs(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct machine x = make(&r, REPEAT_TOKEN, 0);
    rig_finish(&r);
    rig_seen(&r, 1, 101, 9);
    ok(rig_was_sent(&r, x.bootstrap), "after another boot it is bootstrapped");
    rig_finish(&r);
    is_int(rig_task_at(&r, x.create).attempt, 1, "but neither made");
    is_int(rig_task_at(&r, x.undo).attempt, 0, "nor deleted");
    rig_step(&r, (struct event){.kind = EVENT_REDEPLOY, .id = 1, .op = OPERATION_STANDING});
    ok(rig_was_sent(&r, x.undo), "deployed anew the old one makes room");
    rig_finish(&r);
    is_int(rig_task_at(&r, x.create).attempt, 2, "for another");
    rig_done(&r);
}

/* Nobody knew whether it was undone, somebody says so, and meanwhile its run was over: what half
 * happens next is undone as ever. */
static void resolved_after_its_run(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t undoes = draft_def(
        &m, (struct plan_def){.flags = DEF_F_OUTSIDE | DEF_F_LASTING, .repeat = REPEAT_ONCE});
    uint32_t makes = draft_def(
        &m, (struct plan_def){.flags = DEF_F_UNDONE | DEF_F_OUTSIDE, .retries = 2});
    uint32_t plain = draft_def(&m, (struct plan_def){0});
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t base = draft_task(&m, plain, 0, 3, NONE);
    uint32_t id = draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t undo = draft_task(&m, undoes, 0, 2, NONE);
    m.p->tasks[m.p->n_tasks - 1].rule = RULE_UNDO;
    uint32_t create = draft_task(&m, makes, 0, 1, IDS(undo));
    is_int(draft_apply(&m), 0, "a machine that needs another one");
    rig_reply(&r, base, OUTCOME_OK);
    rig_reply(&r, create, OUTCOME_FAILED);
    ok(rig_was_sent(&r, undo), "making it fails, and is undone");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_reply(&r, undo, OUTCOME_LOST);
    is_task(&r, undo, FAILED, "nobody knows how far, and what it needs is lost");
    rig_step(&r, (struct event){.kind = EVENT_RESOLVE, .id = undo, .flag = RESOLVE_DONE});
    rig_seen(&r, 1, 101, 1);
    is_task(&r, undo, DONE, "it was undone, a person says");
    is_task(&r, create, RUNNING, "it is made again");
    rig_reply(&r, create, OUTCOME_FAILED);
    is_task(&r, undo, RUNNING, "fails again, and is undone again");
    is_noderole(&r, id, TRANSITION, "before the next try");
    rig_done(&r);
}

int main(void)
{
    before_another_try();
    lost_attempts();
    cancelled_in_the_middle();
    later_runs();
    resolved_after_its_run();
    return tap_done();
}
