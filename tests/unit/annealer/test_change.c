/* test_change.c - plans over what lives: other needs, definitions and tasks, and removal (RFC 01,
 * section 8)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

static void children_go_first(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1 b@2<a c@3<b aside@3<a");
    rig_all_ok(&r, "a b aside c");
    uint32_t b = rig_nr(&r, "b").id, c = rig_nr(&r, "c").id;
    is_int(remove_all(&r, 3, (const char *[]){"b", NULL}, 1), -ERR_REFUSED,
           "what is needed does not go alone");
    has_text(r.e.text, "noderole 3 needs it", "and who needs it is named");
    is_int(remove_all(&r, 4, (const char *[]){"b", "c", NULL}, 2), 0, "all that need it go too");
    is_text(rig_states(&r, "a b c aside"), "ACTIVE REMOVING REMOVING ACTIVE",
            "out of service at once, and nobody else");
    is_text(rig_started(&r), "c.1", "children first");
    rig_ok(&r, "c.1");
    is_text(rig_started(&r), "c.2", "in their order");
    rig_ok(&r, "c.2");
    ok(gone(&r, c), "it vanished");
    is_text(rig_started(&r), "b.1", "then who it needed");
    rig_all_ok(&r, "b.1 b.2");
    ok(gone(&r, b), "gone too");
    is_text(rig_op_text(&r, 4), "succeeded", "and the operation is over");
    is_int(rig_op(&r, 4).total, 4, "with its tasks counted");
    is_int(rig_op(&r, 4).done, 4, "as done");
    uint32_t n;
    (void)anneal_children(r.a, rig_nr(&r, "a").id, &n);
    is_int(n, 1, "nothing hangs on the parent any more");
    rig_done(&r);
}

static void nothing_to_run(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    uint32_t a = rig_nr(&r, "a").id, b = rig_nr(&r, "b").id;
    is_int(remove_all(&r, 3, (const char *[]){"a", "b", NULL}, 0), 0, "removed without a task");
    ok(gone(&r, a) && gone(&r, b), "gone in the same step");
    is_text(rig_op_text(&r, 3), "succeeded", "and done");
    rig_step(&r, (struct event){.kind = EVENT_NODE_GONE, .id = 2});
    ok(true, "its node may go now");
    rig_plan(&r, 1, "again@1");
    rig_ok(&r, "again");
    is_text(rig_states(&r, "again"), "ACTIVE", "ids go on behind the gap");
    rig_done(&r);
}

static void failed_removal(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    uint32_t b = rig_nr(&r, "b").id;
    is_int(remove_all(&r, 3, (const char *[]){"b", NULL}, 2), 0, "on its way out");
    rig_fail(&r, "b.1");
    is_text(rig_states(&r, "a b"), "ACTIVE ERROR", "a failed removal is an error");
    is_int(rig_nr(&r, "b").target, TARGET_ABSENT, "of one that is to be absent");
    is_int(rig_try(&r, (struct event){.kind = EVENT_ABANDON, .id = rig_nr(&r, "a").id}),
           -ERR_CONFLICT, "who stays cannot be abandoned");
    rig_do(&r, EVENT_RETRY_NODEROLE, b);
    is_text(rig_started(&r), "b.1", "tried again");
    rig_fail(&r, "b.1");
    rig_do(&r, EVENT_ABANDON, b);
    ok(gone(&r, b), "or given up: it goes with what is left undone");
    rig_done(&r);
}

static int redefine_as(struct rig *r, const char *name, uint32_t def, uint32_t op)
{
    struct plan *p = plan_of_changes(r);
    struct plan_change *c = change(r, p, name, PLAN_C_DEFS);
    p->defs[0].digest = 99;
    c->defs = one(p, def ? def : p->base_def);
    c->n_defs = 1;
    return apply(r, p, op);
}

/* What an attempt that is superseded did to the node is not what the last success left there. */
static void back_while_it_runs(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1");
    rig_ok(&r, "a");
    uint32_t first = rig_view(&r, "a").def;
    is_int(redefine_as(&r, "a", 0, 3), 0, "another definition");
    is_text(rig_started(&r), "a", "runs");
    is_int(redefine_as(&r, "a", first, 4), 0, "the old one again while it runs");
    is_text(rig_started(&r), "", "waits for it to end");
    rig_step(&r, (struct event){.kind = EVENT_RESULT,
                                .id = rig_nr(&r, "a").first_task,
                                .attempt = rig_view(&r, "a").attempt,
                                .flag = OUTCOME_OK});
    is_text(rig_started(&r), "a", "and runs once more, though it is as it was at the last success");
    rig_ok(&r, "a");
    is_text(rig_states(&r, "a"), "ACTIVE", "then it is in service");
    rig_done(&r);
}

static void second_thoughts(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    is_int(remove_all(&r, 3, (const char *[]){"a", "b", NULL}, 1), 0, "both are to go");
    is_text(rig_started(&r), "b", "the child's removal runs");
    struct plan *p = plan_of_changes(&r);
    tasks(p, change(&r, p, "b", PLAN_C_TASKS), 1);
    is_int(apply(&r, p, 4), -ERR_REFUSED, "one cannot stay whose parent goes");
    p = plan_of_changes(&r);
    tasks(p, change(&r, p, "a", PLAN_C_TASKS), 1);
    tasks(p, change(&r, p, "b", PLAN_C_TASKS), 1);
    is_int(apply(&r, p, 5), 0, "wanted again, both");
    is_text(rig_states(&r, "a b"), "TRANSITION BLOCKED", "the parent begins");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "", "the old attempt still holds the child's node");
    rig_done(&r);
}

/* Wanted again, it waits for a parent that it gets by that, as whoever has not begun does. */
static void back_with_another_parent(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2");
    rig_ok(&r, "b");
    is_int(remove_all(&r, 3, (const char *[]){"b", NULL}, 1), 0, "it is to go");
    rig_fail(&r, "b");
    is_text(rig_states(&r, "a b"), "TRANSITION ERROR", "and does not");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "b", PLAN_C_TASKS | PLAN_C_PARENTS);
    tasks(p, c, 1);
    c->gains = one(p, rig_nr(&r, "a").id);
    c->n_gains = 1;
    is_int(apply(&r, p, 4), 0, "wanted again, with a parent that is not ready");
    is_text(rig_started(&r), "", "it does not run");
    is_text(rig_states(&r, "a b"), "TRANSITION BLOCKED", "before that is");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b", "and then does");
    rig_done(&r);
}

/* Who is needed by one whose need sleeps does not go behind its back. */
static void sleeping_need_is_a_need(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "child@1");
    rig_ok(&r, "child");
    rig_plan(&r, OPERATION_STANDING, "late@2");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "child", PLAN_C_PARENTS);
    c->gains = one(p, rig_nr(&r, "late").id);
    c->n_gains = 1;
    is_int(apply(&r, p, 3), 0, "a parent that is not ready");
    is_int(remove_all(&r, 4, (const char *[]){"late", NULL}, 0), -ERR_REFUSED, "cannot go");
    has_text(r.e.text, "noderole 1 needs it", "while it is needed");
    p = plan_of_changes(&r);
    c = change(&r, p, "child", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(&r, "late").id);
    c->n_losses = 1;
    tasks(p, change(&r, p, "late", PLAN_C_REMOVE), 0);
    is_int(apply(&r, p, 5), 0, "with the need it can");
    rig_done(&r);
}

static void tasks_replaced_in_service(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1:2 b@2<a");
    rig_all_ok(&r, "a.1 a.2 b");
    uint32_t old = rig_nr(&r, "a").first_task;
    struct plan *p = plan_of_changes(&r);
    tasks(p, change(&r, p, "a", PLAN_C_TASKS), 3);
    is_int(apply(&r, p, 3), 0, "other tasks");
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "it stays in service");
    is_text(rig_started(&r), "a.1", "and runs the new ones");
    struct task_view v;
    anneal_task(r.a, old, &v);
    is_int(v.noderole, 0, "the old ones are history");
    rig_all_ok(&r, "a.1 a.2");
    is_text(rig_states(&r, "a b"), "STALE ACTIVE", "until the last has passed");
    rig_ok(&r, "a.3");
    is_text(rig_states(&r, "a b"), "ACTIVE ACTIVE", "then it is as it should be");
    rig_done(&r);
}

/* Tasks of the same definitions in other pools: nothing runs that was done, all runs else. */
static void replaced_and_kept(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1:2 b@2<a");
    rig_all_ok(&r, "a.1 a.2 b");
    for (int other = 0; other < 2; other++) {
        struct plan *p = plan_of_changes(&r);
        struct plan_change *c = change(&r, p, "a", PLAN_C_TASKS);
        c->keeps = true;
        tasks(p, c, 2);
        p->tasks[c->first_task].def = rig_view(&r, "a.1").def;
        p->tasks[c->first_task + 1].def = other ? p->base_def : rig_view(&r, "a.2").def;
        p->defs[0].digest = 99;
        is_int(apply(&r, p, 3 + (uint32_t)other), 0, "the same tasks, or one that is another");
        is_text(rig_started(&r), other ? "a.1" : "", "who differs runs");
        is_text(rig_states(&r, "a b"), other ? "STALE ACTIVE" : "ACTIVE ACTIVE", "in service");
    }
    rig_all_ok(&r, "a.1 a.2");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_TASKS);
    tasks(p, c, 2);
    p->tasks[c->first_task].def = rig_view(&r, "a.1").def;
    p->tasks[c->first_task + 1].def = rig_view(&r, "a.2").def;
    is_int(apply(&r, p, 5), 0, "without its memory");
    is_text(rig_started(&r), "a.1", "it runs");
    rig_done(&r);
}

/* What has failed goes on where it did: what passed before it is not done again. */
static void replaced_in_error(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_ok(&r, "a.1");
    rig_fail(&r, "a.2");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_TASKS);
    c->keeps = true;
    tasks(p, c, 2);
    p->tasks[c->first_task].def = rig_view(&r, "a.1").def;
    is_int(apply(&r, p, 3), 0, "another second task");
    is_text(rig_tasks(&r, "a.1"), "DONE:unchanged", "the first is as it was");
    is_text(rig_started(&r), "a.2", "the second runs");
    rig_done(&r);
}

/* A pool that lives is of another size by a plan. */
static void resized(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = 1, .n = 1});
    rig_plan(&r, RIG_OP, "a@1+1 b@2+1 c@3+1");
    is_text(rig_started(&r), "a", "room for one");
    struct plan *p = plan_of_changes(&r);
    struct plan_size size = {1, 2};
    p->sizes = &size;
    p->n_sizes = 1;
    is_int(apply(&r, p, 3), 0, "for two");
    is_text(rig_started(&r), "b", "another one starts");
    p = plan_of_changes(&r);
    size.pool = 7;
    p->sizes = &size;
    p->n_sizes = 1;
    is_int(apply(&r, p, 4), -ERR_NOT_FOUND, "a pool that is not there");
    rig_done(&r);
}

static void destructive_is_not_repeated(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1!d");
    rig_ok(&r, "a");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_TASKS);
    c->flags = NODEROLE_F_DESTRUCTIVE;
    tasks(p, c, 2);
    is_int(apply(&r, p, 3), 0, "described anew");
    is_text(rig_started(&r), "", "what must not happen twice does not");
    is_text(rig_states(&r, "a"), "ACTIVE", "and is done");
    is_int(remove_all(&r, 4, (const char *[]){"a", NULL}, 1), 0, "its removal");
    is_text(rig_started(&r), "a", "does happen");
    rig_done(&r);
}

static void redefined(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1:2");
    rig_all_ok(&r, "a.1 a.2");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_DEFS);
    uint32_t *defs = arena_new(&p->mem, uint32_t, 2), first = rig_view(&r, "a.1").def;
    p->defs[0].digest = 99;
    defs[0] = first;
    defs[1] = p->base_def;
    c->defs = defs;
    c->n_defs = 1;
    is_int(apply(&r, p, 3), -ERR_CONFLICT, "not as many as it has tasks");
    p = plan_of_changes(&r);
    c = change(&r, p, "a", PLAN_C_DEFS);
    c->defs = defs = arena_new(&p->mem, uint32_t, 2);
    c->n_defs = 2;
    defs[0] = first;
    defs[1] = p->base_def;
    uint32_t t = rig_nr(&r, "a").first_task;
    is_int(apply(&r, p, 4), 0, "one of two");
    is_int(rig_nr(&r, "a").first_task, t, "the tasks are the same");
    is_text(rig_started(&r), "a.1", "and run again");
    ok(rig_view(&r, "a.2").def != first, "with the new definition");
    rig_done(&r);
}

static void needs_change(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2 c@3<a below@4<c");
    rig_all_ok(&r, "a b c below");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "a", PLAN_C_PARENTS);
    c->gains = one(p, rig_nr(&r, "below").id);
    c->n_gains = 1;
    is_int(apply(&r, p, 3), -ERR_CYCLE, "a need that closes a circle is refused");
    p = plan_of_changes(&r);
    c = change(&r, p, "c", PLAN_C_PARENTS);
    c->gains = one(p, rig_nr(&r, "a").id);
    c->n_gains = 1;
    is_int(apply(&r, p, 4), -ERR_INVALID, "one that is there too");
    p = plan_of_changes(&r);
    c = change(&r, p, "c", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(&r, "b").id);
    c->n_losses = 1;
    is_int(apply(&r, p, 5), -ERR_INVALID, "and the end of one that is not");
    p = plan_of_changes(&r);
    uint32_t a = rig_nr(&r, "a").id;
    tasks(p, change(&r, p, "a", PLAN_C_REMOVE), 0);
    c = change(&r, p, "c", PLAN_C_PARENTS);
    c->gains = one(p, rig_nr(&r, "b").id);
    c->losses = one(p, a);
    c->n_gains = c->n_losses = 1;
    is_int(apply(&r, p, 6), 0, "another parent, and the old one goes");
    is_text(rig_states(&r, "b c below"), "ACTIVE STALE ACTIVE", "nobody was lost with it");
    is_text(rig_started(&r), "c", "who has another parent runs again");
    ok(!gone(&r, a), "meanwhile the old one stays");
    rig_ok(&r, "c");
    ok(gone(&r, a), "then it is gone");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    is_text(rig_states(&r, "c below"), "BLOCKED BLOCKED", "and depends on that one now");
    rig_done(&r);
}

static void uncertain_is_not_forgotten(void)
{
    struct rig r;
    rig_init(&r, 1);
    rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE});
    rig_plan(&r, RIG_OP, "a@1=1");
    rig_answer(&r, "a", OUTCOME_LOST);
    is_int(remove_all(&r, 3, (const char *[]){"a", NULL}, 1), -ERR_CONFLICT,
           "what nobody knows is settled first");
    has_text(r.e.hint, "anneal task resolve", "with the command for it");
    rig_done(&r);
}

static void removal_waits_for_its_node(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2<a");
    rig_all_ok(&r, "a b");
    is_int(remove_all(&r, 3, (const char *[]){"a", "b", NULL}, 1), 0, "both are to go");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    is_text(rig_states(&r, "a b"), "REMOVING REMOVING", "on a dead node nothing can be removed");
    rig_seen(&r, 2, 102, 2);
    is_text(rig_started(&r), "b", "back, it goes on");
    rig_all_ok(&r, "b a");
    rig_done(&r);
}

int main(void)
{
    children_go_first();
    nothing_to_run();
    failed_removal();
    back_while_it_runs();
    second_thoughts();
    back_with_another_parent();
    sleeping_need_is_a_need();
    tasks_replaced_in_service();
    replaced_and_kept();
    replaced_in_error();
    resized();
    destructive_is_not_repeated();
    redefined();
    needs_change();
    uncertain_is_not_forgotten();
    removal_waits_for_its_node();
    return tap_done();
}
