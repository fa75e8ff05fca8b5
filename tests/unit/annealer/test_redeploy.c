/* test_redeploy.c - noderoles without tasks, and nodes that begin from nothing (RFC 01, section 7)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static int redeploy(struct rig *r, uint32_t node, uint32_t op)
{
    return rig_try(r, (struct event){.kind = EVENT_REDEPLOY, .id = node, .op = op});
}

static void without_tasks(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, OPERATION_STANDING, "m@1:0");
    is_text(rig_states(&r, "m"), "ACTIVE", "with nothing to do it is ACTIVE at once");
    is_int(r.fx.sends.n, 0, "and nothing is sent");
    rig_plan(&r, RIG_OP, "a@1<m b@1:2<m,a c@2<b");
    is_text(rig_started(&r), "a", "whoever needs it waits for its other parents only");
    rig_all_ok(&r, "a b.1 b.2 c");
    is_text(rig_states(&r, "m a b c"), "ACTIVE ACTIVE ACTIVE ACTIVE", "all is in service");
    rig_rerun(&r, 3, "m");
    is_text(rig_op_text(&r, 3), "succeeded", "running it again is done at once");
    is_text(rig_states(&r, "m a"), "ACTIVE ACTIVE", "and concerns nobody");
    rig_data(&r, "m", 9);
    is_int(r.fx.sends.n, 0, "nor do other data of it");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "m a b c"), "ACTIVE TODO BLOCKED BLOCKED",
            "it stays through death; what ran on its node does not");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_states(&r, "m a b c"), "ACTIVE ACTIVE ACTIVE ACTIVE",
            "the same machine and boot: unchanged");
    rig_done(&r);
}

static void needs_nobody(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    struct plan *p = rig_plan_new(&r, "m@1:0<a");
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p}),
           -ERR_INVALID, "one without tasks that needs others would hide what they wait for");
    plan_free(p);
    rig_plan(&r, RIG_OP, "m@1:0");
    p = rig_plan_new(&r, "peer@1");
    struct plan_need need = {.child = rig_noderole(&r, "m", 1), .parent = p->base_noderole};
    p->needs = &need;
    p->n_needs = 1;
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p}),
           -ERR_INVALID, "nor does it get a parent later");
    plan_free(p);
    p = plan_new();
    p->base_noderole = anneal_noderole_end(r.a);
    p->base_task = anneal_task_end(r.a);
    p->base_def = anneal_def_end(r.a);
    p->base_span = anneal_span_end(r.a);
    p->base_pool = anneal_pool_end(r.a);
    p->rebased = true;
    uint32_t a = rig_noderole(&r, "a", 1);
    struct plan_change c = {
        .noderole = rig_noderole(&r, "m", 1), .what = PLAN_C_PARENTS, .gains = &a, .n_gains = 1};
    p->changes = &c;
    p->n_changes = 1;
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p}),
           -ERR_INVALID, "not by a change either");
    c = (struct plan_change){.noderole = a, .what = PLAN_C_TASKS};
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p});
    is_text(rig_states(&r, "a"), "ACTIVE", "one whose tasks all go has nothing left to do");
    plan_free(p);
    rig_done(&r);
}

static void begins_from_nothing(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "m@1:0 wipe@1!d<m app@1<wipe,m far@2<app other@2");
    rig_all_ok(&r, "wipe other app far");
    is_text(rig_states(&r, "m wipe app far other"), "ACTIVE ACTIVE ACTIVE ACTIVE ACTIVE",
            "a chain that ran");
    uint32_t was = rig_nr(&r, "m").incarnation;
    rig_seen(&r, 1, 101, 2);
    is_text(rig_tasks(&r, "wipe"), "DONE:unchanged",
            "a reboot does not repeat what is destructive");
    rig_ok(&r, "app");

    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    is_int(redeploy(&r, 1, 3), 0, "a redeployment is taken");
    is_text(rig_started(&r), "wipe", "the chain begins at its beginning, destructive or not");
    is_text(rig_states(&r, "m wipe app far other"), "ACTIVE TRANSITION BLOCKED BLOCKED ACTIVE",
            "descendants on all nodes are lost, others are left alone");
    is_int(rig_nr(&r, "m").incarnation, was + 1, "it is another incarnation");
    is_text(reason_name(rig_nr(&r, "m").reason), "redeploy", "and says why");
    rig_ok(&r, "wipe");
    is_text(rig_started(&r), "app", "then what needs it, in order");
    rig_ok(&r, "app");
    is_text(rig_started(&r), "far", "and what needs that elsewhere, since its parent is another");
    rig_ok(&r, "far");
    is_text(rig_op_text(&r, 3), "succeeded", "the operation ends with the node's own");
    is_text(rig_states(&r, "m wipe app far other"), "ACTIVE ACTIVE ACTIVE ACTIVE ACTIVE",
            "all is in service again");
    rig_done(&r);
}

/* What was asked for is not forgotten because the node dies before it began. */
static void survives_death(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "wipe@1!d app@1<wipe");
    rig_all_ok(&r, "wipe app");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 0});
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    is_int(redeploy(&r, 1, 3), 0, "asked for while nothing may start");
    is_int(r.fx.sends.n, 0, "so nothing does");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_seen(&r, 1, 101, 2);
    is_text(rig_states(&r, "wipe app"), "TODO BLOCKED", "back with another boot it still waits");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    is_text(rig_started(&r), "wipe", "and is wiped as asked");
    rig_done(&r);
}

static void what_failed_begins_too(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1 b@1<a c@1<b");
    rig_ok(&r, "a");
    rig_fail(&r, "b");
    is_text(rig_tasks(&r, "b c"), "FAILED:exit DEP_FAILED:dependency", "one failed");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    is_int(redeploy(&r, 1, 3), 0, "a node with errors can be redeployed");
    rig_all_ok(&r, "a b c");
    is_text(rig_op_text(&r, 3), "succeeded", "with a fresh budget");
    /* while one runs: its result is history, and it keeps its slot until then */
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    is_int(redeploy(&r, 1, 4), 0, "again");
    is_text(rig_started(&r), "a", "the first runs");
    struct event late = rig_result(&r, "a", OUTCOME_OK);
    rig_op_add(&r, 5, 1, CLASS_NORMAL);
    is_int(redeploy(&r, 1, 5), 0, "and again while it does");
    is_int(r.fx.sends.n, 0, "no second attempt while the first holds the node");
    rig_step(&r, late);
    is_text(rig_started(&r), "a", "it runs again for the newer request");
    rig_all_ok(&r, "a b c");
    is_text(rig_op_text(&r, 5), "succeeded", "which ends well");
    rig_done(&r);
}

static void refused(void)
{
    struct rig r;
    rig_init(&r, 2);
    char once = rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    char text[32];
    snprintf(text, sizeof text, "a@1=%c b@2", once);
    rig_plan(&r, RIG_OP, text);
    rig_ok(&r, "b");
    is_int(redeploy(&r, 9, RIG_OP), -ERR_NOT_FOUND, "no such node");
    is_int(redeploy(&r, 1, 9), -ERR_NOT_FOUND, "no such operation");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "a"), "ERROR", "nobody knows how it ended");
    is_int(redeploy(&r, 1, OPERATION_STANDING), -ERR_CONFLICT, "a person must say first");
    has_text(r.e.hint, "task resolve", "and is told how");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_do(&r, EVENT_CANCEL, 3);
    is_int(redeploy(&r, 2, 3), -ERR_CONFLICT, "not in an operation that has ended");
    rig_done(&r);
}

int main(void)
{
    without_tasks();
    needs_nobody();
    begins_from_nothing();
    survives_death();
    what_failed_begins_too();
    refused();
    return tap_done();
}
