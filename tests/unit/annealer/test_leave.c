/* test_leave.c - members leave in order: who goes waits for those who used it (RFC 01, section 8)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "changes.h"

enum { LEAVING = 3 }; /* the operation of a removal */

/* `goes` is removed by n tasks; `user`, unless NULL, stays and loses it. */
static struct plan *leaving(struct rig *r, const char *goes, const char *user, uint32_t n)
{
    struct plan *p = plan_of_changes(r);
    bool first = user && rig_nr(r, user).id < rig_nr(r, goes).id;
    for (int i = 0; i < 2; i++) {
        if (i == first) {
            tasks(p, change(r, p, goes, PLAN_C_REMOVE), n);
        } else if (user) {
            struct plan_change *c = change(r, p, user, PLAN_C_PARENTS);
            c->losses = one(p, rig_nr(r, goes).id);
            c->n_losses = 1;
        }
    }
    return p;
}

static void op_is(struct rig *r, uint32_t op, const char *state)
{
    struct operation_view v = {0};
    (void)anneal_operation(r->a, op, &v);
    is_text(operation_state_name(v.state), state, "operation %u", op);
}

static void why_is(struct rig *r, const char *task, enum why_rule rule, const char *who)
{
    struct why why[8];
    size_t n = anneal_why_task(r->a, rig_task(r, task), why, 8);
    is_int(n, 1, "%s waits for one thing", task);
    is_text(why_rule_name(why[0].rule), why_rule_name(rule), "which is told");
    is_int(why[0].id, rig_nr(r, who).id, "with %s", who);
}

static void begin(struct rig *r)
{
    rig_init(r, 4);
    rig_plan(r, RIG_OP, "a@1 b@2 web@3:2<a,b");
    rig_all_ok(r, "a b web.1 web.2");
}

static void removal_waits_for_the_refresh(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 2), LEAVING), 0, "b leaves");
    is_text(rig_started(&r), "web.1", "first its user is told");
    is_text(rig_states(&r, "b web"), "REMOVING STALE", "which serves meanwhile");
    why_is(&r, "b.1", WHY_USED, "web");
    rig_ok(&r, "web.1");
    is_text(rig_started(&r), "web.2", "to the end");
    rig_ok(&r, "web.2");
    is_text(rig_started(&r), "b.1", "then b goes");
    rig_all_ok(&r, "b.1 b.2");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

static void removal_without_tasks_waits_too(void)
{
    struct rig r;
    begin(&r);
    uint32_t b = rig_nr(&r, "b").id;
    is_int(apply(&r, leaving(&r, "b", "web", 0), LEAVING), 0, "b leaves, with nothing to be done");
    ok(!gone(&r, b), "and is there while it is used");
    rig_all_ok(&r, "web.1 web.2");
    ok(gone(&r, b), "then it is gone");
    rig_done(&r);
}

static void run_under_way_has_seen_it(void)
{
    struct rig r;
    begin(&r);
    rig_data(&r, "web", 7);
    is_text(rig_started(&r), "web.1", "a refresh is under way");
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_states(&r, "b web"), "REMOVING STALE", "that run has seen it: one more follows");
    is_text(rig_tasks(&r, "b"), "PENDING", "for which b waits");
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_started(&r), "b", "then it goes");
    rig_done(&r);
}

static void user_that_fails_keeps_it(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_fail(&r, "web.1");
    is_text(rig_tasks(&r, "web.1 b"), "FAILED:exit DEP_FAILED:dependency",
            "its user failed, and b stays");
    op_is(&r, LEAVING, "failed");
    rig_do(&r, EVENT_RETRY_OPERATION, LEAVING);
    is_text(rig_tasks(&r, "b"), "PENDING:retry", "retried it waits again");
    rig_all_ok(&r, "web.1 web.2 b");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

static void correction_takes_it_along(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_fail(&r, "web.1");
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    rig_step(&r,
             (struct event){.kind = EVENT_DATA_SET, .id = rig_nr(&r, "web").id, .a = 9, .op = 4});
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_started(&r), "b", "b goes in the operation that corrected its user");
    rig_ok(&r, "b");
    op_is(&r, 4, "succeeded");
    op_is(&r, LEAVING, "failed");
    rig_done(&r);
}

static void dead_user_lets_go(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_do(&r, EVENT_NODE_AVAILABLE, 3);
    is_text(rig_tasks(&r, "b"), "PENDING", "a user in maintenance is waited for");
    rig_do(&r, EVENT_NODE_DEAD, 3);
    is_text(rig_started(&r), "b", "a dead one is not");
    rig_ok(&r, "b");
    rig_done(&r);
}

/* Nothing of it is executed, so no machine says anything of it: in service it holds what it uses.
 */
static void passive_user_outlives_its_machine(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "a@1 b@2 web@3~s<a,b");
    rig_all_ok(&r, "a b");
    rig_data(&r, "a", 7);
    is_text(rig_started(&r), "a", "one that it needs runs again");
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "another one leaves");
    is_text(rig_states(&r, "b web"), "REMOVING STALE", "and has a user, which waits for the first");
    rig_seen(&r, 3, 999, 9);
    is_text(rig_states(&r, "web"), "STALE", "on another machine it is in service still");
    is_text(rig_started(&r), "", "and b stays");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "b", "until its run is complete");
    rig_done(&r);
}

static void person_says_now(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    struct event now = {.kind = EVENT_RESUME, .id = LEAVING, .now = true};
    rig_step(&r, now);
    is_text(rig_started(&r), "b", "by a person's word it does not wait");
    is_int(rig_try(&r, now), -ERR_CONFLICT, "there is nothing more to be said");
    rig_all_ok(&r, "web.1 b web.2");
    op_is(&r, LEAVING, "succeeded");
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESUME, .id = LEAVING}), -ERR_CONFLICT,
           "without that word only what is held is resumed");
    rig_done(&r);
}

static void now_after_a_failure(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_fail(&r, "web.1");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = LEAVING, .now = true});
    is_text(rig_started(&r), "b", "it goes though its user failed");
    rig_ok(&r, "b");
    op_is(&r, LEAVING, "failed");
    rig_done(&r);
}

static void abandoned_is_gone(void)
{
    struct rig r;
    begin(&r);
    uint32_t b = rig_nr(&r, "b").id;
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    rig_do(&r, EVENT_ABANDON, b);
    ok(gone(&r, b), "abandoned it waits for nobody");
    rig_done(&r);
}

static void loss_before_the_removal(void)
{
    struct rig r;
    begin(&r);
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "web", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(&r, "b").id);
    c->n_losses = 1;
    is_int(apply(&r, p, LEAVING), 0, "web loses b, which stays");
    is_int(apply(&r, leaving(&r, "b", NULL, 1), 4), 0, "then b leaves, in another plan");
    is_text(rig_tasks(&r, "b"), "PENDING", "it waits for the refresh of before");
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_started(&r), "b", "and goes");
    rig_done(&r);
}

static void who_is_out_of_service_holds_nobody(void)
{
    struct rig r;
    begin(&r);
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "a b web"), "TODO ACTIVE BLOCKED", "web is out of service");
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    is_text(rig_started(&r), "b", "at once");
    rig_done(&r);
}

static void user_that_goes_lets_go(void)
{
    struct rig r;
    begin(&r);
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    is_int(apply(&r, leaving(&r, "web", NULL, 1), 4), 0, "its user leaves too");
    is_text(rig_started(&r), "b", "nobody is to be told any more");
    rig_done(&r);
}

/* It failed in a way that nobody knows, and lost a parent meanwhile: as done it is not in service
 * with what it saw before. */
static void resolved_user_runs_first(void)
{
    struct rig r;
    rig_init(&r, 4);
    is_int(rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE}), '1',
           "what must not happen twice");
    rig_plan(&r, RIG_OP, "a@1 b@2 web@3:2=01<a,b");
    rig_all_ok(&r, "a b web.1");
    rig_answer(&r, "web.2", OUTCOME_LOST);
    is_text(rig_tasks(&r, "web.2"), "FAILED:uncertain", "nobody knows how its last task ended");
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    is_text(rig_started(&r), "b", "at once: web is out of service");
    rig_step(&r, (struct event){
                     .kind = EVENT_RESOLVE, .id = rig_task(&r, "web.2"), .flag = RESOLVE_DONE});
    is_text(rig_states(&r, "web"), "TRANSITION", "done it is not in service yet");
    is_text(rig_started(&r), "web.1", "it runs without b first");
    rig_done(&r);
}

/* The task that nobody knew the end of is all there is of it: what it did, it did with `b`. */
static void resolved_user_with_one_task(void)
{
    struct rig r;
    rig_init(&r, 4);
    is_int(rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE}), '1',
           "what must not happen twice");
    rig_plan(&r, RIG_OP, "a@1 b@2 web@3:1=1<a,b");
    rig_all_ok(&r, "a b web");
    rig_step(&r, (struct event){.kind = EVENT_DATA_SET, .id = rig_nr(&r, "web").id, .a = 7});
    is_text(rig_started(&r), "web", "in service it runs again");
    rig_answer(&r, "web", OUTCOME_LOST);
    is_text(rig_tasks(&r, "web"), "FAILED:uncertain", "and nobody knows how that ended");
    is_int(apply(&r, leaving(&r, "b", "web", 1), LEAVING), 0, "b leaves");
    is_text(rig_started(&r), "b", "at once: web is out of service");
    rig_step(
        &r, (struct event){.kind = EVENT_RESOLVE, .id = rig_task(&r, "web"), .flag = RESOLVE_DONE});
    is_text(rig_states(&r, "web"), "TRANSITION", "done it is not in service yet");
    is_text(rig_started(&r), "web", "it runs without b first");
    rig_ok(&r, "web");
    is_text(rig_states(&r, "web"), "ACTIVE", "and then is");
    rig_done(&r);
}

/* What it saw has not changed: done is done. */
static void resolved_as_it_was(void)
{
    struct rig r;
    rig_init(&r, 4);
    is_int(rig_def(&r, (struct plan_def){.repeat = REPEAT_ONCE}), '1',
           "what must not happen twice");
    rig_plan(&r, RIG_OP, "a@1 web@3:1=1<a");
    rig_all_ok(&r, "a");
    rig_answer(&r, "web", OUTCOME_LOST);
    rig_step(
        &r, (struct event){.kind = EVENT_RESOLVE, .id = rig_task(&r, "web"), .flag = RESOLVE_DONE});
    is_text(rig_states(&r, "web"), "ACTIVE", "what would see the same is done");
    is_text(rig_started(&r), "", "and is not run again");
    rig_done(&r);
}

/* `b` is replaced by `c` on node 4: web loses one and gets the other. */
static int replace(struct rig *r, uint32_t n_waits)
{
    struct plan *p = rig_plan_new(r, "c@4");
    p->changes = arena_new(&p->mem, struct plan_change, CHANGES);
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[p->n_needs++] = (struct plan_need){rig_nr(r, "web").id, p->base_noderole};
    tasks(p, change(r, p, "b", PLAN_C_REMOVE), 1);
    struct plan_change *c = change(r, p, "web", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(r, "b").id);
    c->n_losses = 1;
    p->waits = arena_new(&p->mem, struct plan_wait, 1);
    p->waits[0] = (struct plan_wait){rig_nr(r, "b").id, p->base_noderole};
    p->n_waits = n_waits;
    return apply(r, p, LEAVING);
}

static void make_before_break(void)
{
    struct rig r;
    begin(&r);
    is_int(replace(&r, 0), 0, "c for b");
    is_text(rig_started(&r), "c", "the new one first");
    is_text(rig_states(&r, "b c web"), "REMOVING TRANSITION STALE", "web serves with the old");
    why_is(&r, "web.1", WHY_SUCCESSOR, "c");
    rig_ok(&r, "c");
    is_text(rig_started(&r), "web.1", "then web, once for both");
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_started(&r), "b", "then the old one goes");
    is_text(rig_states(&r, "web"), "ACTIVE", "and nothing follows");
    rig_ok(&r, "b");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

static void successor_that_fails_keeps_all(void)
{
    struct rig r;
    begin(&r);
    is_int(replace(&r, 0), 0, "c for b");
    rig_fail(&r, "c");
    is_text(rig_tasks(&r, "c web.1 b"), "FAILED:exit DEP_FAILED:dependency DEP_FAILED:dependency",
            "nobody lets go of the old one");
    is_text(rig_states(&r, "web"), "STALE", "and web serves");
    op_is(&r, LEAVING, "failed");
    rig_do(&r, EVENT_RETRY_OPERATION, LEAVING);
    rig_all_ok(&r, "c web.1 web.2 b");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

/* --now: neither the old one nor its users wait for what does not come. */
static void now_without_the_successor(void)
{
    struct rig r;
    begin(&r);
    struct event now = {.kind = EVENT_RESUME, .id = LEAVING, .now = true};
    is_int(replace(&r, 0), 0, "c for b");
    rig_fail(&r, "c");
    rig_step(&r, now);
    is_text(rig_started(&r), "b web.1", "the old one goes, and its user is told at once");
    op_is(&r, LEAVING, "running");
    is_int(rig_try(&r, now), -ERR_CONFLICT, "there is nothing more to be said");
    rig_all_ok(&r, "b web.1 web.2");
    is_text(rig_states(&r, "web c"), "ACTIVE ERROR", "it serves without either");
    op_is(&r, LEAVING, "failed");
    rig_do(&r, EVENT_RETRY_NODEROLE, rig_nr(&r, "c").id);
    rig_ok(&r, "c");
    is_text(rig_started(&r), "web.1", "the new one counts when it comes");
    rig_all_ok(&r, "web.1 web.2");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

static void now_with_a_dead_successor(void)
{
    struct rig r;
    begin(&r);
    is_int(replace(&r, 1), 0, "c for b");
    rig_do(&r, EVENT_NODE_DEAD, 4);
    is_text(rig_tasks(&r, "b web.1"), "PENDING PENDING:data", "all wait for one that is dead");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = LEAVING, .now = true});
    is_text(rig_started(&r), "b web.1", "and do not any more");
    rig_all_ok(&r, "b web.1 web.2");
    is_text(rig_states(&r, "web"), "ACTIVE", "told");
    rig_done(&r);
}

/* Abandoned it is gone: nobody is with it while they wait for the other. */
static void now_after_the_goer(void)
{
    struct rig r;
    begin(&r);
    uint32_t b = rig_nr(&r, "b").id;
    is_int(replace(&r, 1), 0, "c for b");
    rig_fail(&r, "c");
    rig_do(&r, EVENT_ABANDON, b);
    ok(gone(&r, b), "abandoned");
    is_text(rig_started(&r), "web.1", "its user is told");
    rig_done(&r);
}

/* A child may await although what it lost stays: nothing goes, and a person says now. */
static void now_though_nothing_goes(void)
{
    struct rig r;
    begin(&r);
    struct plan *p = rig_plan_new(&r, "c@4");
    p->changes = arena_new(&p->mem, struct plan_change, CHANGES);
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[p->n_needs++] = (struct plan_need){rig_nr(&r, "web").id, p->base_noderole};
    struct plan_change *c = change(&r, p, "web", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(&r, "b").id);
    c->n_losses = 1;
    is_int(apply(&r, p, LEAVING), 0, "web turns from b to c");
    rig_fail(&r, "c");
    is_text(rig_tasks(&r, "web.1"), "DEP_FAILED:dependency", "and awaits it");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = LEAVING, .now = true});
    is_text(rig_started(&r), "web.1", "and does not any more");
    rig_done(&r);
}

static void run_under_way_awaits_with_the_next(void)
{
    struct rig r;
    begin(&r);
    rig_data(&r, "web", 7);
    is_text(rig_started(&r), "web.1", "a refresh is under way");
    is_int(replace(&r, 0), 0, "c for b");
    is_text(rig_started(&r), "c", "the new one");
    rig_all_ok(&r, "web.1 web.2");
    is_text(rig_started(&r), "", "the next run awaits it");
    rig_ok(&r, "c");
    rig_all_ok(&r, "web.1 web.2 b");
    op_is(&r, LEAVING, "succeeded");
    rig_done(&r);
}

static void successor_without_users(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "b@2");
    rig_ok(&r, "b");
    struct plan *p = rig_plan_new(&r, "c@4");
    p->changes = arena_new(&p->mem, struct plan_change, CHANGES);
    tasks(p, change(&r, p, "b", PLAN_C_REMOVE), 1);
    p->waits = arena_new(&p->mem, struct plan_wait, 1);
    p->waits[p->n_waits++] = (struct plan_wait){rig_nr(&r, "b").id, p->base_noderole};
    is_int(apply(&r, p, LEAVING), 0, "c for b, which nobody needs");
    is_text(rig_started(&r), "c", "the new one first");
    why_is(&r, "b", WHY_SUCCESSOR, "c");
    rig_do(&r, EVENT_NODE_DEAD, 4);
    is_text(rig_tasks(&r, "b"), "PENDING", "its death does not let the old one go");
    rig_seen(&r, 4, 104, 2);
    rig_ok(&r, "c");
    is_text(rig_started(&r), "b", "its service does");
    rig_done(&r);
}

static void told_again_before_it_goes(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "b@2 lb@3");
    rig_all_ok(&r, "b lb");
    struct plan *p = leaving(&r, "b", NULL, 1);
    p->waits = arena_new(&p->mem, struct plan_wait, 1);
    p->waits[p->n_waits++] = (struct plan_wait){rig_nr(&r, "b").id, rig_nr(&r, "lb").id};
    is_int(apply(&r, p, LEAVING), 0, "b leaves, and says who is to be told");
    is_text(rig_started(&r), "lb", "that one is run again");
    is_text(rig_states(&r, "lb"), "STALE", "and serves");
    is_int(rig_nr(&r, "lb").operation, LEAVING, "in the operation that removes");
    rig_ok(&r, "lb");
    is_text(rig_started(&r), "b", "then b goes");
    rig_done(&r);
}

static void waits_that_make_no_sense(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "b@2 lb@3");
    struct {
        const char *goer;
        uint32_t holder;
        const char *text;
    } bad[] = {{"lb", 1, "noderole 2 waits, and does not go"},
               {"b", 1, "noderole 1 waits for nobody"},
               {"b", 9, "noderole 1 waits for nobody"}};
    rig_op_add(&r, LEAVING, 1, CLASS_NORMAL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct plan *p = leaving(&r, "b", NULL, 1);
        p->waits = arena_new(&p->mem, struct plan_wait, 1);
        p->waits[p->n_waits++] = (struct plan_wait){rig_nr(&r, bad[i].goer).id, bad[i].holder};
        ok(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = LEAVING, .plan = p}) < 0,
           "refused");
        has_text(r.e.text, bad[i].text, "and told");
        plan_free(p);
    }
    rig_done(&r);
}

int main(void)
{
    removal_waits_for_the_refresh();
    removal_without_tasks_waits_too();
    run_under_way_has_seen_it();
    user_that_fails_keeps_it();
    correction_takes_it_along();
    dead_user_lets_go();
    passive_user_outlives_its_machine();
    person_says_now();
    now_after_a_failure();
    abandoned_is_gone();
    loss_before_the_removal();
    who_is_out_of_service_holds_nobody();
    user_that_goes_lets_go();
    resolved_user_runs_first();
    resolved_user_with_one_task();
    resolved_as_it_was();
    make_before_break();
    successor_that_fails_keeps_all();
    now_without_the_successor();
    now_with_a_dead_successor();
    now_after_the_goer();
    now_though_nothing_goes();
    run_under_way_awaits_with_the_next();
    successor_without_users();
    told_again_before_it_goes();
    waits_that_make_no_sense();
    return tap_done();
}
