/* test_rules_loss.c - loss, refresh, early cut-off: how a change travels along need edges
 *
 * Section 3 of the engine's rules, and the noderole states of section 2.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

/* parent (node 1) <- child (node 2) <- grandchild (node 3), one task each, and a bystander (node
 * 4). */
struct family {
    uint32_t parent, child, grandchild, bystander;
    uint32_t p, c, g, b;
};

static struct family family_make(struct rig *r, struct plan_def d, uint8_t flags)
{
    struct family f;
    struct draft m = draft_new(r);
    uint32_t def = draft_def(&m, d);
    f.parent = draft_noderole(&m, 1, 0, NONE);
    f.p = draft_task(&m, def, 0, 3, NONE);
    f.child = draft_noderole(&m, 2, flags, IDS(f.parent));
    f.c = draft_task(&m, def, 0, 2, IDS(f.p));
    f.grandchild = draft_noderole(&m, 3, 0, IDS(f.child));
    f.g = draft_task(&m, def, 0, 1, IDS(f.c));
    f.bystander = draft_noderole(&m, 4, 0, NONE);
    f.b = draft_task(&m, def, 0, 1, NONE);
    draft_apply(&m);
    return f;
}

static struct family family_active(struct rig *r, uint8_t flags)
{
    rig_init(r, 4);
    struct family f = family_make(r, (struct plan_def){.flags = DEF_F_SURVIVES_REBOOT}, flags);
    rig_finish(r);
    return f;
}

static int rerun_one(struct rig *r, uint32_t noderole)
{
    uint32_t ids[] = {noderole};
    return -rig_try(r, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
}

static int data_set(struct rig *r, uint32_t noderole, uint64_t data)
{
    return -rig_try(r, (struct event){.kind = EVENT_DATA_SET, .id = noderole, .a = data});
}

/* ---- states ---- */

static void test_states_of_a_noderole(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t p = draft_task(&m, d, 0, 3, NONE);
    uint32_t child = draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t a = draft_task(&m, d, 0, 2, IDS(p)), b = draft_task(&m, d, 0, 1, IDS(a));
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 2});
    draft_apply(&m);
    is_noderole(&r, parent, TRANSITION, "a task runs");
    is_noderole(&r, child, BLOCKED, "nothing can start");
    rig_reply(&r, p, OUTCOME_OK);
    is_noderole(&r, parent, ACTIVE, "all passed, all parents in service");
    is_noderole(&r, child, TODO, "a task is READY");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 2, .flag = 1});
    rig_reply_again(&r, a, 100);
    is_noderole(&r, child, TRANSITION, "a task waits");
    rig_after(&r, 100);
    rig_reply(&r, a, OUTCOME_OK);
    rig_reply(&r, b, OUTCOME_FAILED);
    is_noderole(&r, child, ERROR, "a task failed for good");
    is_noderole(&r, parent, ACTIVE, "which is nothing to its parent");
    rig_done(&r);
}

/* ---- loss ---- */

static void test_error_blocks_all_descendants_at_once(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rerun_one(&r, f.parent);
    is_noderole(&r, f.parent, STALE, "runs again in service");
    is_noderole(&r, f.child, ACTIVE, "its child stays in service");
    uint32_t before = rig_noderole_at(&r, f.grandchild).generation;
    rig_reply(&r, f.p, OUTCOME_FAILED);
    is_noderole(&r, f.parent, ERROR, "it fails");
    is_noderole(&r, f.child, BLOCKED, "the child on another node is blocked");
    is_noderole(&r, f.grandchild, BLOCKED, "and the grandchild, in the same step");
    is_noderole(&r, f.bystander, ACTIVE, "not who does not need it");
    is_int(rig_noderole_at(&r, f.grandchild).generation, before + 1,
           "a new generation, exactly one");
    is_reason(rig_noderole_at(&r, f.grandchild).reason, PARENT_LOST, "its reason");
    is_task(&r, f.g, PENDING, "its tasks start over");
    rig_step(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = f.parent});
    rig_reply(&r, f.p, OUTCOME_OK);
    is_noderole(&r, f.grandchild, ACTIVE, "with the parent they return, unchanged");
    is_int(rig_task_at(&r, f.g).attempt, 1, "without an attempt");
    rig_done(&r);
}

static void test_running_attempts_of_a_lost_noderole_end_and_count_for_nothing(void)
{
    struct rig r;
    rig_init(&r, 4);
    struct family f = family_make(&r, (struct plan_def){0}, 0);
    rig_reply(&r, f.p, OUTCOME_OK);
    is_task(&r, f.c, RUNNING, "in the middle of its run");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_noderole(&r, f.child, BLOCKED, "its parent is lost");
    is_int(r.fx.stops.n, 0, "what runs may end");
    rig_reply(&r, f.c, OUTCOME_OK);
    is_task(&r, f.c, PENDING, "its answer is recorded");
    is_task(&r, f.g, PENDING, "and starts nothing new");
    is_int(rig_task_at(&r, f.c).attempt, 1, "nor another attempt");
    rig_done(&r);
}

static void test_what_has_not_begun_is_not_touched_by_a_loss(void)
{
    struct rig r;
    rig_init(&r, 4);
    struct family f = family_make(&r, (struct plan_def){0}, 0);
    rig_reply(&r, f.p, OUTCOME_OK);
    uint32_t generation = rig_noderole_at(&r, f.grandchild).generation;
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_int(rig_noderole_at(&r, f.grandchild).generation, generation,
           "it waits for its parents anyway");
    rig_done(&r);
}

static void test_waiting_task_of_a_lost_noderole_ends_at_once(void)
{
    struct rig r;
    rig_init(&r, 4);
    struct family f = family_make(&r, (struct plan_def){.hold = HOLD_NODE}, 0);
    rig_reply(&r, f.p, OUTCOME_OK);
    rig_reply_again(&r, f.c, 3600000);
    is_int(rig_node_at(&r, 2).used, 1, "it waits and holds its node");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_task(&r, f.c, PENDING, "nothing of it runs: it ends here");
    is_int(rig_node_at(&r, 2).used, 0, "and frees its node");
    rig_done(&r);
}

static void test_large_cone_is_told(void)
{
    struct rig r;
    rig_init_with(&r, 4, 9, &(struct engine_settings){.cone_large = 2});
    struct family f = family_make(&r, (struct plan_def){0}, 0);
    rig_finish(&r);
    rerun_one(&r, f.child);
    rig_reply(&r, f.c, OUTCOME_FAILED);
    is_int(r.fx.cones.n, 0, "one descendant is not many");
    rig_step(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = f.child});
    rig_finish(&r);
    rerun_one(&r, f.parent);
    rig_reply(&r, f.p, OUTCOME_FAILED);
    is_int(r.fx.cones.n, 1, "two are");
    is_int(r.fx.cones.n ? r.fx.cones.at[0] : 0, f.parent, "and whose loss it was");
    rig_done(&r);
}

/* ---- refresh ---- */

static void test_refresh_keeps_children_in_service(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    is_int(data_set(&r, f.parent, 99), 0, "new data");
    is_noderole(&r, f.parent, STALE, "it runs again");
    is_task(&r, f.p, RUNNING, "with an attempt");
    is_noderole(&r, f.child, ACTIVE, "the child stays");
    is_noderole(&r, f.grandchild, ACTIVE, "and the grandchild");
    rig_reply(&r, f.p, OUTCOME_OK);
    is_noderole(&r, f.parent, ACTIVE, "and is what it should be");
    is_int(rig_task_at(&r, f.c).attempt, 1, "the child was told nothing: no run of it");
    is_int(rig_noderole_at(&r, f.parent).run_count, 2, "two runs");
    rig_done(&r);
}

static void test_changed_inputs_refresh_children(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rerun_one(&r, f.parent);
    is_int(data_set(&r, f.child, 4711), 0, "the child sees what the run returned");
    is_noderole(&r, f.child, STALE, "it is refreshed");
    is_reason(rig_noderole_at(&r, f.child).reason, DATA, "its reason");
    is_int(rig_task_at(&r, f.c).attempt, 1, "once its parent is done");
    rig_reply(&r, f.p, OUTCOME_OK);
    is_task(&r, f.c, RUNNING, "as it is now");
    is_noderole(&r, f.grandchild, ACTIVE, "not the grandchild");
    rig_reply(&r, f.c, OUTCOME_OK);
    is_noderole(&r, f.grandchild, ACTIVE, "nor now");
    is_int(rig_task_at(&r, f.g).attempt, 1, "a refresh costs what it changes");
    rerun_one(&r, f.parent);
    is_int(data_set(&r, f.child, 4711), 0, "the same again");
    rig_reply(&r, f.p, OUTCOME_OK);
    is_noderole(&r, f.child, ACTIVE, "is nothing new");
    rig_done(&r);
}

static void test_changes_while_queued_replace_the_data(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1});
    data_set(&r, f.parent, 50);
    data_set(&r, f.parent, 51);
    data_set(&r, f.parent, 52);
    is_task(&r, f.p, READY, "it has not begun");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    rig_finish(&r);
    is_int(rig_task_at(&r, f.p).attempt, 2, "three changes, one run");
    is_noderole(&r, f.parent, ACTIVE, "of the last");
    rig_done(&r);
}

static void test_changes_while_running_queue_exactly_one_more_run(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    data_set(&r, f.parent, 50);
    is_task(&r, f.p, RUNNING, "it runs");
    data_set(&r, f.parent, 51);
    data_set(&r, f.parent, 52);
    rig_reply(&r, f.p, OUTCOME_OK);
    is_noderole(&r, f.parent, STALE, "once more");
    is_int(rig_task_at(&r, f.p).attempt, 3, "with the new data");
    rig_reply(&r, f.p, OUTCOME_OK);
    is_noderole(&r, f.parent, ACTIVE, "exactly once");
    is_int(rig_task_at(&r, f.p).attempt, 3, "whatever the number of changes");
    is_int(data_set(&r, f.parent, 52), 0, "the same data");
    is_noderole(&r, f.parent, ACTIVE, "changes nothing");
    is_int(data_set(&r, 99, 1), ERR_NOT_FOUND, "no such noderole");
    rig_done(&r);
}

static void test_lost_while_stale(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rerun_one(&r, f.child);
    is_noderole(&r, f.child, STALE, "in service and running");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_noderole(&r, f.child, BLOCKED, "from STALE a lost parent gives BLOCKED");
    rig_reply(&r, f.c, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 1});
    rig_finish(&r);
    is_noderole(&r, f.child, ACTIVE, "and with the parent it is back");
    rig_done(&r);
}

static void test_failed_refresh_is_corrected(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rerun_one(&r, f.child);
    rig_reply(&r, f.c, OUTCOME_FAILED);
    is_noderole(&r, f.child, ERROR, "failed");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 2, .a = 102, .b = 77});
    is_noderole(&r, f.child, ERROR, "a reboot corrects nothing");
    data_set(&r, f.child, 60);
    is_noderole(&r, f.child, TRANSITION, "new data begin a run, out of service");
    rig_finish(&r);
    is_noderole(&r, f.grandchild, ACTIVE, "and all is well");
    rig_done(&r);
}

/* ---- early cut-off ---- */

static void test_cut_off_after_return(void)
{
    struct rig r;
    struct family f = family_active(&r, 0);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_noderole(&r, f.parent, TODO, "dead: lost, and ready for its return");
    is_noderole(&r, f.grandchild, BLOCKED, "with its cone");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 999});
    is_noderole(&r, f.parent, ACTIVE, "back with another boot, which its tasks survive");
    is_reason(rig_noderole_at(&r, f.parent).reason, UNCHANGED, "its reason");
    is_noderole(&r, f.grandchild, ACTIVE, "all of them");
    is_int(r.fx.sends.n, 0, "without a single attempt");
    rig_done(&r);
}

static void test_reboot_reruns_what_does_not_survive_it(void)
{
    struct rig r;
    rig_init(&r, 1);
    struct draft m = draft_new(&r);
    uint32_t hard = draft_def(&m, (struct plan_def){.flags = DEF_F_SURVIVES_REBOOT});
    uint32_t soft = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, hard, 0, 1, NONE);
    draft_noderole(&m, 1, 0, NONE);
    uint32_t b = draft_task(&m, soft, 0, 1, NONE);
    draft_apply(&m);
    rig_finish(&r);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 2});
    is_task(&r, a, DONE, "survives_reboot: cut off");
    is_int(rig_task_at(&r, a).attempt, 1, "without an attempt");
    is_task(&r, b, RUNNING, "the other runs again");
    is_reason(rig_noderole_at(&r, 2).reason, REBOOT, "its reason");
    rig_done(&r);
}

static void test_rerun_always_and_forced_runs(void)
{
    struct rig r;
    struct family f = family_active(&r, NODEROLE_F_RERUN_ALWAYS);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 1});
    is_task(&r, f.p, DONE, "the parent is cut off");
    is_task(&r, f.c, RUNNING, "rerun: always is not");
    rig_finish(&r);
    rerun_one(&r, f.parent);
    is_task(&r, f.p, RUNNING, "an operator's re-run runs, changed or not");
    rig_done(&r);
}

static void test_destructive(void)
{
    struct rig r;
    struct family f = family_active(&r, NODEROLE_F_DESTRUCTIVE);
    uint32_t incarnation = rig_noderole_at(&r, f.child).incarnation;
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 2});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 2, .a = 102, .b = 999});
    is_noderole(&r, f.child, ACTIVE, "never run again by itself, whatever the boot");
    is_int(rig_task_at(&r, f.c).attempt, 1, "without an attempt");
    is_int(rig_noderole_at(&r, f.child).incarnation, incarnation, "and stays the same incarnation");
    data_set(&r, f.child, 70);
    is_noderole(&r, f.child, ACTIVE, "nor by new data");
    rerun_one(&r, f.child);
    rig_reply(&r, f.c, OUTCOME_OK);
    is_int(rig_noderole_at(&r, f.child).incarnation, incarnation + 1, "a run makes another of it");
    rerun_one(&r, f.grandchild);
    rig_finish(&r);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 3});
    rerun_one(&r, f.child);
    rig_reply(&r, f.c, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 3, .a = 103, .b = 1});
    is_task(&r, f.g, RUNNING, "which its children's inputs show");
    rig_done(&r);
}

static void test_cut_off_needs_all_parents_active(void)
{
    struct rig r;
    rig_init(&r, 3);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){.flags = DEF_F_SURVIVES_REBOOT});
    uint32_t one = draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, 0, 2, NONE);
    uint32_t two = draft_noderole(&m, 2, 0, NONE);
    uint32_t b = draft_task(&m, d, 0, 2, NONE);
    draft_noderole(&m, 3, 0, IDS(one, two));
    uint32_t c = draft_task(&m, d, 0, 1, IDS(a, b));
    draft_apply(&m);
    rig_finish(&r);
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 2});
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 1});
    is_task(&r, c, PENDING, "one parent is back");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 2, .a = 102, .b = 1});
    is_task(&r, c, DONE, "both are");
    is_int(rig_task_at(&r, c).attempt, 1, "nothing ran twice");
    rig_done(&r);
}

int main(void)
{
    test_states_of_a_noderole();
    test_error_blocks_all_descendants_at_once();
    test_running_attempts_of_a_lost_noderole_end_and_count_for_nothing();
    test_what_has_not_begun_is_not_touched_by_a_loss();
    test_waiting_task_of_a_lost_noderole_ends_at_once();
    test_large_cone_is_told();
    test_refresh_keeps_children_in_service();
    test_changed_inputs_refresh_children();
    test_changes_while_queued_replace_the_data();
    test_changes_while_running_queue_exactly_one_more_run();
    test_lost_while_stale();
    test_failed_refresh_is_corrected();
    test_cut_off_after_return();
    test_reboot_reruns_what_does_not_survive_it();
    test_rerun_always_and_forced_runs();
    test_destructive();
    test_cut_off_needs_all_parents_active();
    return tap_done();
}
