/* test_correct.c - what corrects a noderole in ERROR, and what does not (RFC 01, section 3) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

static void data_in(struct rig *r, uint32_t op, const char *name, uint64_t data)
{
    rig_op_add(r, op, 1, CLASS_NORMAL);
    rig_step(r,
             (struct event){.kind = EVENT_DATA_SET, .id = rig_nr(r, name).id, .a = data, .op = op});
}

static void returned(struct rig *r, uint32_t op, const char *name, uint64_t data)
{
    rig_step(r, (struct event){.kind = EVENT_DATA_SET,
                               .id = rig_nr(r, name).id,
                               .a = data,
                               .op = op,
                               .returned = true});
}

/* page writes a file from the data, serve fails on what it finds there. */
static void page_and_serve(struct rig *r, const char *options)
{
    SCOPED_BUF(text);
    rig_init(r, 2);
    buf_printf(&text, "a@1:2%s", options);
    rig_plan(r, RIG_OP, text.data);
    rig_ok(r, "a.1");
    rig_fail(r, "a.2");
    is_text(rig_op_text(r, RIG_OP), "failed dependency", "a%s: serve has failed", options);
}

static void data_correct(void)
{
    struct rig r;
    page_and_serve(&r, "");
    data_in(&r, 3, "a", 7);
    is_text(rig_started(&r), "a.1", "other data: the page is written again");
    is_int(rig_nr(&r, "a").operation, 3, "in the operation that asked");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "the old one ended as it did");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_states(&r, "a"), "ACTIVE", "it serves");
    is_text(rig_op_text(&r, 3), "succeeded", "a failure of before is none of this one's");
    is_int(rig_op(&r, 3).failed, 0, "nor is it counted");
    rig_data(&r, "a", 7);
    is_text(rig_started(&r), "", "one run was enough");
    rig_done(&r);
}

static void retry_sees_what_changed(void)
{
    struct rig r;
    page_and_serve(&r, "");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a.2", "a retry tries what failed");
    is_text(rig_op_text(&r, RIG_OP), "running retry", "in its own operation");
    rig_seen(&r, 1, 101, 9);
    rig_fail(&r, "a.2");
    is_text(rig_states(&r, "a"), "ERROR", "a reboot in the middle begins nothing");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "a.2"));
    is_text(rig_started(&r), "a.1", "after a boot the page is gone: a retry begins anew");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "and that helps");
    rig_done(&r);
}

static void rerun_is_whole(void)
{
    struct rig r;
    page_and_serve(&r, "");
    rig_rerun(&r, 3, "a");
    is_text(rig_started(&r), "a.1", "a re-run begins with the first task");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    is_text(rig_op_text(&r, 3), "failed dependency", "and may fail again");
    rig_do(&r, EVENT_RETRY_OPERATION, 3);
    is_text(rig_started(&r), "a.2", "its own retry goes on");
    rig_done(&r);
}

/* Only the second of three is defined anew: the first is as it was. */
static void definitions_correct(void)
{
    struct rig r;
    rig_init(&r, 1);
    char d = rig_def(&r, (struct plan_def){.digest = 55});
    rig_plan(&r, RIG_OP, "a@1:3");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_DEFS);
    uint32_t first = rig_view(&r, "a.1").def;
    uint32_t defs[] = {first, p->base_def + (uint32_t)(d - '0'), first};
    c->defs = defs;
    c->n_defs = 3;
    is_int(apply(&r, p, 3), 0, "a corrected definition");
    is_text(rig_started(&r), "a.2", "runs from the first that differs");
    is_text(rig_tasks(&r, "a.1"), "DONE:unchanged", "the one before it is as it was");
    rig_ok(&r, "a.2");
    is_text(rig_started(&r), "a.3", "to the end");
    rig_ok(&r, "a.3");
    is_text(rig_op_text(&r, 3), "succeeded", "in the operation that corrects");
    rig_done(&r);
}

/* Kept, and then other data come before anything has started. */
static void kept_is_looked_at_again(void)
{
    struct rig r;
    rig_init(&r, 1);
    char d = rig_def(&r, (struct plan_def){.digest = 55});
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 0, .n = 100});
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_DEFS);
    uint32_t defs[] = {rig_view(&r, "a.1").def, p->base_def + (uint32_t)(d - '0')};
    c->defs = defs;
    c->n_defs = 2;
    is_int(apply(&r, p, 3), 0, "corrected while nothing can start");
    is_text(rig_tasks(&r, "a.1 a.2"), "DONE:unchanged READY:retry", "the first is kept");
    rig_data(&r, "a", 9);
    is_text(rig_tasks(&r, "a.1"), "READY:data", "with other data it is not");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 100});
    is_text(rig_started(&r), "a.1", "it runs");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_op_text(&r, 3), "succeeded", "and all is well");
    rig_done(&r);
}

static void comes_too_late(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_ok(&r, "a.1");
    rig_data(&r, "a", 7);
    rig_fail(&r, "a.2");
    is_text(rig_started(&r), "a.1", "corrected while it was failing: at once a new run");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "which counts");
    rig_done(&r);
}

static void children_follow(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b");
    rig_fail(&r, "a");
    is_text(rig_tasks(&r, "b c"), "DEP_FAILED:dependency DEP_FAILED:dependency", "all wait");
    data_in(&r, 3, "a", 7);
    rig_all_ok(&r, "a b c");
    is_int(rig_nr(&r, "c").operation, 3, "what follows is part of the correction");
    is_text(rig_op_text(&r, 3), "succeeded", "which ends with it");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "the old one is history");
    rig_done(&r);
}

/* The parent stays in ERROR: its child cannot run, and the operation must be able to end. */
static void parent_stays(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    data_in(&r, 3, "b", 1);
    rig_fail(&r, "b");
    data_in(&r, 4, "a", 1);
    rig_fail(&r, "a");
    data_in(&r, 5, "b", 2);
    is_text(rig_states(&r, "a b"), "ERROR BLOCKED", "it waits for what it needs");
    is_text(rig_op_text(&r, 5), "failed dependency", "and cannot have it");
    data_in(&r, 6, "a", 2);
    rig_all_ok(&r, "a b");
    is_text(rig_op_text(&r, 6), "succeeded", "corrected above, corrected below");
    rig_done(&r);
}

static void returned_once(void)
{
    struct rig r;
    page_and_serve(&r, "");
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_plan(&r, 3, "open@2");
    returned(&r, 3, "a", 7);
    is_text(rig_started(&r), "a.1", "what a parent returned begins a run");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    returned(&r, 3, "a", 8);
    is_text(rig_started(&r), "", "but one in an operation");
    is_text(rig_states(&r, "a"), "ERROR", "and no more");
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = rig_nr(&r, "a").id, .a = 9, .op = 3});
    is_text(rig_started(&r), "a.1", "a person's change always does");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a.2", "a retry goes on");
    rig_fail(&r, "a.2");
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    rig_plan(&r, 4, "more@2");
    returned(&r, 4, "a", 11);
    rig_ok(&r, "open");
    is_int(rig_nr(&r, "a").operation, 4, "in the next operation once more");
    rig_done(&r);
}

static void joins_where_it_came_from(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "p@1 a@2<p");
    rig_ok(&r, "p");
    rig_fail(&r, "a");
    rig_rerun(&r, 3, "p");
    is_int(anneal_joins(r.a, rig_nr(&r, "a").id, rig_nr(&r, "p").id), 3,
           "what failed before joins the operation that changes what it sees");
    rig_done(&r);
}

/* --- what waits for a person's own word --- */

static void uncertain_waits(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1:2=1");
    rig_ok(&r, "a.1");
    rig_answer(&r, "a.2", OUTCOME_LOST);
    data_in(&r, 3, "a", 7);
    is_text(rig_tasks(&r, "a.1 a.2"), "DONE FAILED:uncertain", "nobody knows: nothing runs");
    is_text(rig_op_text(&r, 3), "succeeded", "the change is made, the failure is another's");
    is_int(rig_nr(&r, "a").operation, RIG_OP, "and stays there");
    rig_step(&r, (struct event){
                     .kind = EVENT_RESOLVE, .id = rig_task(&r, "a.2"), .flag = RESOLVE_AGAIN});
    is_text(rig_started(&r), "a.1", "resolved, it begins with what is new");
    rig_done(&r);
}

static void replaced_waits(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_all_ok(&r, "a.1 a.2");
    rig_seen(&r, 1, 999, 5);
    is_text(rig_tasks(&r, "a.1"), "FAILED:replaced", "another machine");
    data_in(&r, 3, "a", 7);
    is_text(rig_tasks(&r, "a.1"), "FAILED:replaced", "other data do not begin it");
    struct plan *p = plan_of_changes(&r);
    tasks(p, change(&r, p, "a", PLAN_C_TASKS), 2);
    is_int(apply(&r, p, 4), 0, "other tasks");
    is_text(rig_tasks(&r, "a.1"), "FAILED:replaced", "do not either");
    is_text(rig_started(&r), "", "nothing runs");
    is_int(rig_op(&r, 4).failed, 0, "and nothing of it is counted");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a.1", "a person's retry does");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_states(&r, "a"), "ACTIVE", "and it serves");
    rig_done(&r);
}

static void destructive_waits(void)
{
    struct rig r;
    page_and_serve(&r, "!d");
    data_in(&r, 3, "a", 7);
    is_text(rig_started(&r), "", "a destructive role that has begun waits");
    is_text(rig_states(&r, "a"), "ERROR", "as it is");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_TASKS);
    c->flags = NODEROLE_F_DESTRUCTIVE;
    tasks(p, c, 2);
    is_int(apply(&r, p, 4), 0, "described anew");
    is_text(rig_tasks(&r, "a.1"), "FAILED:exit", "it waits still");
    rig_data(&r, "a", 8);
    is_text(rig_started(&r), "", "whatever comes");
    rig_rerun(&r, 5, "a");
    is_text(rig_started(&r), "a.1", "a person's re-run is its word");
    rig_done(&r);
}

/* Done is a person's word that it is not done again, whatever it would see by now. */
static void destructive_done_is_done(void)
{
    struct rig r;
    rig_init(&r, 1);
    is_int(rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE}), '1', "a wipe");
    rig_plan(&r, RIG_OP, "a@1:1=1!d");
    rig_answer(&r, "a", OUTCOME_LOST);
    rig_data(&r, "a", 7);
    rig_step(&r,
             (struct event){.kind = EVENT_RESOLVE, .id = rig_task(&r, "a"), .flag = RESOLVE_DONE});
    is_text(rig_states(&r, "a"), "ACTIVE", "resolved as done it is");
    is_text(rig_started(&r), "", "and is not done again for other data");
    rig_done(&r);
}

static void removal_waits(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_ok(&r, "a");
    is_int(remove_all(&r, 3, (const char *[]){"a", NULL}, 2), 0, "to go");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    rig_data(&r, "a", 7);
    is_text(rig_started(&r), "", "a removal that failed is not begun by data");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "a").id);
    is_text(rig_started(&r), "a.2", "a retry goes on with it");
    rig_done(&r);
}

static void held_waits(void)
{
    struct rig r;
    page_and_serve(&r, "");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    rig_do(&r, EVENT_CANCEL, RIG_OP);
    rig_fail(&r, "a.2");
    rig_data(&r, "a", 7);
    is_text(rig_started(&r), "", "what is held does not start by itself");
    data_in(&r, 3, "a", 8);
    is_text(rig_started(&r), "a.1", "a request that takes it over does");
    rig_done(&r);
}

/* Cancelled in the middle of a refresh: it serves on, and a new request begins anew. */
static void cancelled_is_taken_over(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_all_ok(&r, "a.1 a.2");
    data_in(&r, 3, "a", 1);
    rig_ok(&r, "a.1");
    rig_again(&r, "a.2", 1000);
    rig_do(&r, EVENT_CANCEL, 3);
    is_text(rig_tasks(&r, "a.1 a.2"), "DONE CANCELLED:cancelled", "cancelled half-way");
    is_text(rig_states(&r, "a"), "STALE", "in service");
    data_in(&r, 4, "a", 2);
    is_text(rig_states(&r, "a"), "STALE", "in service still");
    is_text(rig_started(&r), "a.1", "other data: from the first");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_op_text(&r, 4), "succeeded", "and done");
    rig_done(&r);
}

int main(void)
{
    data_correct();
    retry_sees_what_changed();
    rerun_is_whole();
    definitions_correct();
    kept_is_looked_at_again();
    comes_too_late();
    children_follow();
    parent_stays();
    returned_once();
    joins_where_it_came_from();
    uncertain_waits();
    replaced_waits();
    destructive_waits();
    destructive_done_is_done();
    removal_waits();
    held_waits();
    cancelled_is_taken_over();
    return tap_done();
}
