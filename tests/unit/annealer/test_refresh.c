/* test_refresh.c - running again in service, and not running at all (RFC 01, section 3)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void data_change(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1:2 b@2<a");
    rig_all_ok(&r, "a.1 a.2 b");
    rig_data(&r, "a", 5);
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "new data: STALE, children in service");
    is_text(rig_started(&r), "a.1", "its tasks run");
    is_int(rig_nr(&r, "a").operation, OPERATION_STANDING,
           "a refresh nobody requested belongs to the standing operation");
    rig_ok(&r, "a.1");
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "STALE to the end of the run");
    rig_ok(&r, "a.2");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "then ACTIVE");
    is_text(rig_started(&r), "", "the child has nothing to do");
    is_int(rig_nr(&r, "a").run_count, 2, "two runs");
    rig_data(&r, "a", 5);
    is_text(rig_states(&r, "a"), "ACTIVE", "the same data once more is no change");
    rig_done(&r);
}

static void child_told_before_the_result(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b");
    rig_data(&r, "b", 3);
    is_text(rig_states(&r, "b"), "BLOCKED", "a child that waits just has other data");
    rig_all_ok(&r, "a b c");
    is_int(rig_nr(&r, "b").run_count, 1, "and runs once with them");
    rig_data(&r, "a", 5);
    (void)rig_started(&r);
    rig_data(&r, "b", 4);
    is_text(rig_states(&r, "a b c"), "STALE STALE ACTIVE", "one in service is refreshed");
    is_text(reason_name(rig_nr(&r, "b").reason), "data", "for that reason");
    is_text(rig_started(&r), "", "when its parent's run has ended");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b", "which is now");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "", "those below were not told");
    is_text(rig_states(&r, "a b c"), "ACTIVE ACTIVE ACTIVE", "and all are what they should be");
    rig_done(&r);
}

static void change_while_running(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_all_ok(&r, "a.1 a.2");
    rig_data(&r, "a", 2);
    rig_data(&r, "a", 3);
    rig_data(&r, "a", 4);
    rig_data(&r, "a", 5);
    rig_ok(&r, "a.1");
    rig_ok(&r, "a.2");
    is_text(rig_started(&r), "a.1", "changes while running: one more run");
    is_text(rig_states(&r, "a"), "STALE", "in service throughout");
    rig_ok(&r, "a.1");
    rig_ok(&r, "a.2");
    is_text(rig_states(&r, "a"), "ACTIVE", "exactly one more");
    is_int(rig_nr(&r, "a").run_count, 3, "three runs in all");
    rig_done(&r);
}

static void change_before_the_start(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_ok(&r, "a");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_data(&r, "a", 2);
    rig_data(&r, "a", 3);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    is_text(rig_started(&r), "a", "a change before the run has started a task is what it sees");
    rig_ok(&r, "a");
    is_text(rig_states(&r, "a"), "ACTIVE", "no further run");
    rig_done(&r);
}

static void changed_back_is_cut_off(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_all_ok(&r, "a.1 a.2");
    rig_data(&r, "a", 2);
    rig_data(&r, "a", 0);
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_started(&r), "a.1", "the run saw the other data: one more");
    rig_all_ok(&r, "a.1 a.2");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_data(&r, "a", 2);
    rig_data(&r, "a", 0);
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "", "data that came back before the run: unchanged");
    is_text(rig_states(&r, "a"), "ACTIVE", "and in service");
    rig_done(&r);
}

static void parent_changed_meanwhile(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2:2<a");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b.1", "b runs with what there is");
    rig_data(&r, "a", 9);
    rig_data(&r, "b", 2);
    rig_ok(&r, "a");
    is_text(rig_states(&r, "b"), "TRANSITION", "b goes on: its parent was in service throughout");
    rig_all_ok(&r, "b.1 b.2");
    is_text(rig_started(&r), "b.1", "and then once more with the new ones");
    rig_done(&r);
}

static void rerun_is_forced(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    rig_rerun(&r, 3, "a");
    is_text(rig_started(&r), "a", "a re-run runs although nothing changed");
    is_int(rig_nr(&r, "a").operation, 3, "for the operation that asked");
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "in service");
    rig_ok(&r, "a");
    is_text(rig_op_text(&r, 3), "succeeded", "it ends with the run");
    is_text(rig_started(&r), "", "the child does not follow");
    rig_done(&r);
}

static void rerun_always(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1!a b@2");
    rig_all_ok(&r, "a b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    rig_do(&r, EVENT_NODE_DEAD, 2);
    rig_seen(&r, 2, 102, 1);
    is_text(rig_started(&r), "", "the plain one is unchanged");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "a", "rerun: always runs with equal inputs");
    rig_done(&r);
}

static void destructive_not_again(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1!d");
    rig_ok(&r, "a");
    uint32_t incarnation = rig_nr(&r, "a").incarnation;
    rig_data(&r, "a", 5);
    is_text(rig_started(&r), "", "new data does not repeat a destructive run");
    is_text(rig_states(&r, "a"), "ACTIVE", "it stays in service");
    rig_seen(&r, 1, 101, 2);
    is_text(rig_started(&r), "", "nor does a reboot");
    is_int(rig_nr(&r, "a").incarnation, incarnation, "no run, no new incarnation");
    rig_rerun(&r, 3, "a");
    is_text(rig_started(&r), "a", "a person's re-run does");
    rig_ok(&r, "a");
    is_int(rig_nr(&r, "a").incarnation, incarnation + 1, "and makes another incarnation");
    rig_done(&r);
}

static void stale_parent_lost(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    rig_data(&r, "b", 5);
    is_text(rig_states(&r, "b"), "STALE", "b is refreshed");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "b"), "BLOCKED", "a lost parent takes a STALE child out of service");
    rig_ok(&r, "b");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "b", "back, it runs with its new data");
    rig_ok(&r, "b");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "in service");
    rig_done(&r);
}

/* A cluster peer that joins: the need sleeps until the new parent is ACTIVE for the first time. */
static void sleeping_need(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1 below@2<old");
    rig_all_ok(&r, "old below");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(&r, "peer@3");
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){rig_nr(&r, "old").id, p->base_noderole};
    p->n_needs = 1;
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .plan = p});
    plan_free(p);
    is_text(rig_states(&r, "old below"), "ACTIVE ACTIVE", "growing takes nobody out of service");
    uint32_t cohort = rig_nr(&r, "old").cohort, n;
    rig_ok(&r, "peer");
    is_text(rig_states(&r, "peer old below"), "ACTIVE STALE ACTIVE",
            "once the peer is up, those who need it are refreshed");
    is_text(rig_started(&r), "old", "and run");
    ok(rig_nr(&r, "old").cohort > rig_nr(&r, "peer").cohort && rig_nr(&r, "old").cohort > cohort,
       "the child is raised above its new parent");
    ok(rig_nr(&r, "below").cohort > rig_nr(&r, "old").cohort, "and those below it with it");
    (void)anneal_parents(r.a, rig_nr(&r, "old").id, &n);
    is_int(n, 1, "the need is in the graph now");
    rig_ok(&r, "old");
    rig_do(&r, EVENT_NODE_DEAD, 3);
    ok(!noderole_in_service(rig_nr(&r, "old").state, rig_nr(&r, "old").target),
       "and its loss takes the child out of service");
    is_text(rig_states(&r, "below"), "BLOCKED", "with all below it");
    rig_done(&r);
}

int main(void)
{
    data_change();
    child_told_before_the_result();
    change_while_running();
    change_before_the_start();
    changed_back_is_cut_off();
    parent_changed_meanwhile();
    rerun_is_forced();
    rerun_always();
    destructive_not_again();
    stale_parent_lost();
    sleeping_need();
    return tap_done();
}
