/* test_loss.c - who loses service with whom, and what brings it back (RFC 01, sections 3 and 7)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void chain(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b other@4");
    rig_all_ok(&r, "a b c other");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "a b c other"), "TODO BLOCKED BLOCKED ACTIVE",
            "a loss takes every descendant in one step, and nobody else");
    is_text(rig_started(&r), "", "nothing starts");
    is_text(reason_name(rig_nr(&r, "a").reason), "node-dead", "the lost one says why");
    is_text(reason_name(rig_nr(&r, "c").reason), "parent-lost", "and so does the furthest");
    is_int(rig_nr(&r, "c").generation, 2, "a new run of the furthest");
    is_int(rig_nr(&r, "c").operation, OPERATION_STANDING,
           "whose request has ended belongs to the standing operation");
    rig_done(&r);
}

static void diamond(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<a d@4<b,c");
    rig_all_ok(&r, "a b c d");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "a b c d"), "TODO BLOCKED BLOCKED BLOCKED", "both ways round");
    is_int(rig_nr(&r, "d").generation, 2, "reached twice, lost once");
    is_int(rig_nr(&r, "d").parents_out, 2, "both its parents are out");
    rig_done(&r);
}

static void error_blocks_descendants(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b d@1");
    rig_all_ok(&r, "a d b c");
    rig_rerun(&r, 3, "a");
    is_text(rig_states(&r, "a b c"), "STALE ACTIVE ACTIVE", "during a re-run all are in service");
    rig_fail(&r, "a");
    is_text(rig_states(&r, "a b c d"), "ERROR BLOCKED BLOCKED ACTIVE",
            "an error blocks descendants on all nodes, not its neighbours");
    is_text(rig_op_text(&r, 3), "failed dependency", "the operation has failed");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a", "a retry starts it again");
    rig_ok(&r, "a");
    is_text(rig_states(&r, "a b c"), "ACTIVE ACTIVE ACTIVE", "all back in service");
    is_text(rig_started(&r), "", "without a start: nothing changed for them");
    is_text(rig_tasks(&r, "b c"), "DONE:unchanged DONE:unchanged", "and they say so");
    is_text(rig_op_text(&r, 3), "succeeded", "the operation ends well after all");
    rig_done(&r);
}

static void running_descendant_is_superseded(void)
{
    struct rig r;
    struct node_view n;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2:2<a x@2");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "", "b waits for x on its node");
    rig_ok(&r, "x");
    is_text(rig_started(&r), "b.1", "b runs");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "b"), "BLOCKED", "its parent is lost");
    ok(rig_view(&r, "b.1").superseded_runs, "what runs is superseded");
    ok(anneal_attempt_open(r.a, rig_task(&r, "b.1"), 1), "and still open");
    anneal_node(r.a, 2, &n);
    is_int(n.used, 1, "it keeps its slot");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_states(&r, "a"), "ACTIVE", "the parent is back");
    is_text(rig_started(&r), "", "two attempts of one task never run at once");
    struct event late = rig_result(&r, "b.1", OUTCOME_OK);
    rig_step(&r, late);
    is_text(rig_started(&r), "b.1", "its result is history: the task begins again");
    is_int(rig_view(&r, "b.1").attempt, 2, "under a new number");
    is_int(r.fx.attempts.n, 2, "two rows: the old attempt's end, the new one");
    rig_step(&r, late);
    is_text(rig_tasks(&r, "b.1"), "RUNNING", "the old result once more changes nothing");
    rig_done(&r);
}

static void loss_of_what_waits(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_ok(&r, "a");
    rig_again(&r, "b", 5000);
    rig_do(&r, EVENT_NODE_DEAD, 1);
    ok(!anneal_attempt_open(r.a, rig_task(&r, "b"), 1), "a waiting attempt ends at once");
    is_int(anneal_next_timer(r.a) == UINT64_MAX, 1, "and its timer with it");
    rig_done(&r);
}

static void same_boot_is_unchanged(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "", "same machine, same boot: no attempt");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "in service again in the same step");
    is_text(rig_tasks(&r, "a"), "DONE:unchanged", "and it says so");
    is_int(rig_nr(&r, "a").run_count, 1, "which is not a run");
    rig_done(&r);
}

static void new_boot_runs_by_digest(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.flags = DEF_F_SURVIVES_REBOOT});
    rig_plan(&r, RIG_OP, "a@1 keep@1=1 wipe@1!d b@2<a");
    rig_all_ok(&r, "a keep wipe b");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "all up");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_seen(&r, 1, 101, 2);
    is_text(rig_started(&r), "a", "another boot: what does not survive one runs again");
    is_text(rig_states(&r, "keep wipe"), "ACTIVE ACTIVE", "what survives does not");
    is_text(rig_tasks(&r, "wipe"), "DONE:unchanged", "and a destructive one never");
    rig_ok(&r, "a");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "the child is unchanged on its own node");
    is_text(rig_started(&r), "", "and not run again");
    rig_done(&r);
}

static void reboot_while_alive_refreshes(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    rig_seen(&r, 1, 101, 2);
    is_text(rig_started(&r), "a", "a new boot of a living node is a refresh");
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "children stay in service");
    is_text(reason_name(rig_nr(&r, "a").reason), "reboot", "the reason is the reboot");
    rig_done(&r);
}

static void replaced_machine(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    uint32_t incarnation = rig_nr(&r, "a").incarnation;
    rig_seen(&r, 1, 999, 1);
    is_text(rig_states(&r, "a b"), "ERROR BLOCKED", "another machine: nothing is what we made");
    is_text(rig_tasks(&r, "a"), "FAILED:replaced", "a person decides");
    is_int(rig_nr(&r, "a").incarnation, incarnation + 1, "another incarnation");
    is_text(rig_started(&r), "", "nothing starts by itself");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a", "retried it runs, digests forgotten");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b", "and its child sees another incarnation of its parent");
    rig_done(&r);
}

static void dead_node_loses_attempts(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 3});
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_def(&r, (struct plan_def){.flags = DEF_F_OUTSIDE});
    rig_plan(&r, RIG_OP, "safe@1 once@1=1 outside@1=2");
    is_text(rig_started(&r), "safe once outside", "three run");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    ok(!anneal_attempt_open(r.a, rig_task(&r, "safe"), 1), "what ran in the node is lost");
    is_text(rig_tasks(&r, "once"), "FAILED:uncertain", "of a once task nobody knows");
    ok(anneal_attempt_open(r.a, rig_task(&r, "outside"), 1), "what runs elsewhere goes on");
    rig_answer(&r, "outside", OUTCOME_OK);
    is_text(rig_started(&r), "outside",
            "but its noderole was on the node: it begins again, and needs no living node");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1}), -ERR_CONFLICT,
           "dead twice is refused");
    rig_done(&r);
}

static void not_begun_is_not_lost(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(rig_nr(&r, "b").generation, 1, "a descendant that has not begun keeps its run");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "a", "the lost task starts again");
    rig_done(&r);
}

int main(void)
{
    chain();
    diamond();
    error_blocks_descendants();
    running_descendant_is_superseded();
    loss_of_what_waits();
    same_boot_is_unchanged();
    new_boot_runs_by_digest();
    reboot_while_alive_refreshes();
    replaced_machine();
    dead_node_loses_attempts();
    not_begun_is_not_lost();
    return tap_done();
}
