/* test_quorum.c - of some parents a number is enough (RFC 01, section 1) */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "changes.h"

/* Two replicas and two that need one of them, all in service. */
static void deploy(struct rig *r, const char *enough)
{
    char text[160];
    rig_init(r, 6);
    snprintf(text, sizeof text, "r1@1 r2@2 w1@3<r1,r2&%s w2@4<r1,r2&%s below@5<w1", enough, enough);
    rig_plan(r, RIG_OP, text);
    rig_all_ok(r, "r1 r2 w1 w2 below");
    is_text(rig_states(r, "r1 r2 w1 w2 below"), "ACTIVE ACTIVE ACTIVE ACTIVE ACTIVE",
            "&%s: all in service", enough);
}

static void one_dead_is_no_loss(void)
{
    struct rig r;
    deploy(&r, "1");
    uint32_t run = rig_nr(&r, "w1").generation;
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "r1 w1 w2 below"), "TODO ACTIVE ACTIVE ACTIVE", "one dead: they stay");
    rig_data(&r, "w1", 9);
    is_text(rig_started(&r), "w1", "what changes runs");
    rig_ok(&r, "w1");
    is_text(rig_states(&r, "w1"), "ACTIVE", "and is in service");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    is_text(rig_states(&r, "r2 w1 w2 below"), "TODO BLOCKED BLOCKED BLOCKED",
            "the second dead: they are lost, and all below");
    rig_seen(&r, 2, 102, 1);
    is_text(rig_states(&r, "r2 w1 w2 below"), "ACTIVE ACTIVE ACTIVE ACTIVE",
            "it returns as it was: so do they, unchanged");
    run = rig_nr(&r, "w1").generation;
    rig_seen(&r, 1, 101, 1);
    is_text(rig_states(&r, "r1 w1"), "ACTIVE ACTIVE", "the first returns");
    is_int(rig_nr(&r, "w1").generation, run, "which changes nothing for whoever is in service");
    rig_done(&r);
}

static void both_at_once(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "r1@1 r2@1 w@3<r1,r2&1");
    rig_all_ok(&r, "r1 r2 w");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "r1 r2 w"), "TODO TODO BLOCKED",
            "two members on one node are both lost");
    rig_done(&r);
}

static void a_failure_within(void)
{
    struct rig r;
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "r1@1 r2@2 w@3<r1,r2&1 other@4<w");
    rig_fail(&r, "r1");
    is_text(rig_states(&r, "r1 w"), "ERROR BLOCKED", "it waits for those on their way");
    is_text(rig_tasks(&r, "w other"), "PENDING PENDING", "and has not failed with the first");
    rig_ok(&r, "r2");
    is_text(rig_started(&r), "w", "enough are complete, the rest has failed");
    rig_all_ok(&r, "w other");
    is_text(rig_states(&r, "r1 r2 w other"), "ERROR ACTIVE ACTIVE ACTIVE", "one is enough");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "the operation tells the failure");
    rig_done(&r);
}

static void waits_for_all_that_come(void)
{
    struct rig r;
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "r1@1 r2@2 w@3<r1,r2&1");
    rig_ok(&r, "r1");
    is_text(rig_started(&r), "", "enough, but another is on its way");
    is_text(rig_states(&r, "w"), "BLOCKED", "a first deployment waits for all");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    is_text(rig_started(&r), "w", "but not for the dead");
    rig_done(&r);
}

static void too_many_failures(void)
{
    struct rig r;
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "r1@1 r2@2 r3@3 w@4<r1,r2,r3&2");
    rig_fail(&r, "r1");
    is_text(rig_tasks(&r, "w"), "PENDING", "two are left, and two are enough");
    rig_fail(&r, "r2");
    is_text(rig_tasks(&r, "w"), "DEP_FAILED:dependency", "one is left: it has failed with them");
    rig_ok(&r, "r3");
    is_text(rig_op_text(&r, RIG_OP), "failed dependency", "the operation ends");
    rig_do(&r, EVENT_RETRY_TASK, rig_task(&r, "r1"));
    is_text(rig_tasks(&r, "w"), "PENDING:retry", "with another chance of one it has hope");
    rig_ok(&r, "r1");
    is_text(rig_started(&r), "w", "and begins with two");
    rig_done(&r);
}

static void percents(void)
{
    struct rig r;
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "r1@1 r2@2 r3@3 w@4<r1,r2,r3&50p");
    rig_all_ok(&r, "r1 r2 r3 w");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "w"), "ACTIVE", "half of three is two");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    is_text(rig_states(&r, "w"), "BLOCKED", "one is less");
    rig_done(&r);
}

static void an_error_of_one(void)
{
    struct rig r;
    deploy(&r, "1");
    rig_data(&r, "r1", 5);
    is_text(rig_states(&r, "r1 w1"), "STALE ACTIVE", "one is refreshed");
    rig_fail(&r, "r1");
    is_text(rig_states(&r, "r1 w1 below"), "ERROR ACTIVE ACTIVE", "and fails: the other is enough");
    rig_data(&r, "r2", 5);
    rig_fail(&r, "r2");
    is_text(rig_states(&r, "r2 w1 below"), "ERROR BLOCKED BLOCKED", "the last one is missed");
    rig_data(&r, "r2", 6);
    rig_ok(&r, "r2");
    is_text(rig_states(&r, "r1 r2 w1"), "ERROR ACTIVE ACTIVE",
            "with it all goes on, unchanged, whatever the first is");
    rig_done(&r);
}

static void both(struct plan *p, struct plan_quorum *q, uint32_t min, bool percent, uint32_t x,
                 uint32_t y)
{
    uint32_t *ids = arena_new(&p->mem, uint32_t, 2);
    ids[0] = x;
    ids[1] = y;
    *q = (struct plan_quorum){min, percent, ids, 2};
}

static void changed_in_place(void)
{
    struct rig r;
    struct plan_quorum q;
    rig_init(&r, 5);
    rig_plan(&r, RIG_OP, "r1@1 r2@2 w@3<r1,r2");
    rig_all_ok(&r, "r1 r2 w");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "w"), "BLOCKED", "all are needed");
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "w", PLAN_C_QUORUMS);
    both(p, &q, 1, false, rig_nr(&r, "r1").id, rig_nr(&r, "r2").id);
    c->quorums = &q;
    c->n_quorums = 1;
    is_int(apply(&r, p, 3), 0, "one is to be enough");
    is_text(rig_states(&r, "w"), "ACTIVE", "which holds at once, and nothing ran");
    is_text(rig_op_text(&r, 3), "succeeded", "that was all");
    p = plan_of_changes(&r);
    (void)change(&r, p, "w", PLAN_C_QUORUMS);
    is_int(apply(&r, p, 4), 0, "all are needed again");
    is_text(rig_states(&r, "w"), "BLOCKED", "and it is lost");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_op_text(&r, 4), "succeeded", "until all are there");
    rig_data(&r, "r1", 4);
    rig_fail(&r, "r1");
    for (uint32_t i = 0; i < 2; i++) {
        p = plan_of_changes(&r);
        c = change(&r, p, "w", PLAN_C_QUORUMS);
        both(p, &q, 1, false, rig_nr(&r, "r1").id, rig_nr(&r, "r2").id);
        c->quorums = &q;
        c->n_quorums = i == 0;
        is_int(apply(&r, p, 5 + i), 0, "one has failed, and %s", i ? "is needed" : "is not missed");
        is_text(rig_states(&r, "w"), i ? "BLOCKED" : "ACTIVE", "that is what it is");
        is_text(rig_op_text(&r, 5 + i), i ? "failed dependency" : "succeeded",
                "and the operation ends");
    }
    rig_done(&r);
}

static void a_serving_one_is_taken_away(void)
{
    struct rig r;
    deploy(&r, "1");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    struct plan *p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "w1", PLAN_C_PARENTS);
    c->losses = one(p, rig_nr(&r, "r2").id);
    c->n_losses = 1;
    is_int(apply(&r, p, 3), 0, "the one in service is needed no more");
    is_text(rig_states(&r, "w1 w2 below"), "BLOCKED ACTIVE BLOCKED", "the other is dead: a loss");
    rig_seen(&r, 1, 101, 1);
    is_text(rig_started(&r), "w1", "back, it is enough");
    rig_all_ok(&r, "w1 below");
    is_text(rig_states(&r, "w1 below"), "ACTIVE ACTIVE", "for all of them");
    rig_done(&r);
}

static void join(struct rig *r, const char *like)
{
    rig_op_add(r, 3, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(r, "r3@6");
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){rig_nr(r, "w1").id, p->base_noderole,
                                     like ? rig_nr(r, like).id : 0};
    p->n_needs = 1;
    rig_step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = 3, .plan = p});
    plan_free(p);
}

static void a_late_member(void)
{
    struct quorum_view v = {0};
    struct rig r;
    deploy(&r, "60p");
    uint32_t w1 = rig_nr(&r, "w1").id;
    join(&r, "r2");
    ok(anneal_quorum(r.a, w1, rig_nr(&r, "r3").id, &v), "a new one joins the quorum of its like");
    is_int(v.members, 2, "and does not count yet");
    is_int(v.enough, 2, "60 %% of two are two");
    is_text(rig_states(&r, "w1"), "ACTIVE", "nobody waits for it");
    rig_ok(&r, "r3");
    is_text(rig_states(&r, "r3 w1"), "ACTIVE STALE", "it counts as it comes up");
    rig_all_ok(&r, "w1");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "w1 w2"), "ACTIVE BLOCKED",
            "two of three are enough, one of two is not");
    rig_done(&r);
    deploy(&r, "1");
    join(&r, NULL);
    rig_all_ok(&r, "r3 w1");
    rig_do(&r, EVENT_NODE_DEAD, 6);
    is_text(rig_states(&r, "w1 w2"), "BLOCKED ACTIVE", "unlike the others it is needed by itself");
    rig_done(&r);
}

static void removed_together(void)
{
    const char *names[] = {"r1", "r2", "w1", "w2", "below", NULL};
    struct rig r;
    deploy(&r, "1");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(remove_all(&r, 3, names, 1), 0, "all of it goes");
    is_text(rig_states(&r, "r2 w1 below"), "REMOVING REMOVING REMOVING", "from the end");
    rig_all_ok(&r, "below w1 w2 r2");
    ok(gone(&r, rig_noderole(&r, "w1", 2)) && gone(&r, rig_noderole(&r, "r2", 2)), "and is gone");
    rig_done(&r);
}

static void stopped_ones(void)
{
    struct rig r;
    deploy(&r, "1");
    for (uint32_t i = 0; i < 2; i++) {
        struct plan *p = plan_of_changes(&r);
        struct plan_change *c = change(&r, p, i ? "r2" : "r1", PLAN_C_TASKS);
        c->target = TARGET_STOPPED;
        tasks(p, c, 1);
        is_int(apply(&r, p, 3 + i), 0, "one more is stopped");
        rig_ok(&r, i ? "r2" : "r1");
        is_text(rig_states(&r, "w1"), i ? "BLOCKED" : "ACTIVE",
                i ? "none is in service" : "the other is enough");
    }
    rig_done(&r);
}

static void in_the_standing_operation(void)
{
    struct rig r;
    rig_init(&r, 6);
    rig_plan(&r, RIG_OP, "s1@1 s2@2 p1@3<s1 p2@4<s2 w@5<p1,p2&1");
    rig_all_ok(&r, "s1 s2 p1 p2 w");
    rig_data(&r, "s1", 2);
    rig_fail(&r, "s1");
    is_text(rig_states(&r, "p1 w"), "BLOCKED ACTIVE", "one member waits for what failed");
    rig_do(&r, EVENT_NODE_DEAD, 5);
    rig_seen(&r, 5, 105, 2);
    is_text(rig_started(&r), "w", "who has to run again does not wait with it");
    rig_done(&r);
}

static void cancelled_with_a_roll_out(void)
{
    struct rig r;
    rig_init(&r, 6);
    uint32_t g = rig_group(&r, 0);
    r.groups[g - 1].stops = true;
    rig_plan(&r, RIG_OP, "r1@1%1 r2@2%1>r1 r3@3 w@4<r1,r2,r3&1 v@5<r1,r2&1");
    rig_fail(&r, "r1");
    is_text(rig_tasks(&r, "r2"), "CANCELLED:rollout", "its roll-out stopped");
    is_text(rig_tasks(&r, "w v"), "PENDING CANCELLED:dependency",
            "what can still have enough goes on, the other does not");
    rig_ok(&r, "r3");
    is_text(rig_started(&r), "w", "one came");
    rig_ok(&r, "w");
    is_text(rig_op_text(&r, RIG_OP), "failed rollout", "and the operation ends");
    rig_done(&r);
}

static void told_why(void)
{
    struct why why[8];
    struct rig r;
    deploy(&r, "1");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(anneal_why_noderole(r.a, rig_nr(&r, "w1").id, why, 8), 0, "enough are in service");
    rig_do(&r, EVENT_NODE_DEAD, 2);
    size_t n = anneal_why_noderole(r.a, rig_nr(&r, "w1").id, why, 8);
    is_int(n, 2, "none is: both are named");
    is_int(why[0].id, rig_nr(&r, "r1").id, "the first");
    is_int(why[1].id, rig_nr(&r, "r2").id, "the second");
    rig_done(&r);
}

static void refused(void)
{
    static const struct {
        uint32_t min, x, y;
        bool percent;
    } cases[] = {{0, 1, 2, false}, {101, 1, 2, true}, {1, 1, 1, false}, {1, 1, 3, false}};
    struct rig r;
    deploy(&r, "1");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan_quorum q;
        struct plan *p = plan_of_changes(&r);
        struct plan_change *c = change(&r, p, "w1", PLAN_C_QUORUMS);
        both(p, &q, cases[i].min, cases[i].percent, cases[i].x, cases[i].y);
        c->quorums = &q;
        c->n_quorums = 1;
        is_int(apply(&r, p, (uint32_t)(3 + i)), -ERR_INVALID, "%u of %u and %u", cases[i].min,
               cases[i].x, cases[i].y);
    }
    rig_done(&r);
}

/* One is stopped by the plan that takes away the quorum it was in: who is in the middle of its
 * tasks loses it then, and not when the old quorum had enough. */
static void stopped_with_its_quorum(void)
{
    struct rig r;
    rig_init(&r, 3);
    struct plan *p = rig_plan_new(&r, "r1@1 r2@2 w@3:2<r1,r2&1");
    p->noderoles[2].flags |= NODEROLE_F_PHASED;
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p});
    plan_free(p);
    rig_all_ok(&r, "r1 r2 w.1");
    is_text(rig_states(&r, "r1 r2 w"), "ACTIVE ACTIVE TRANSITION", "in the middle");
    p = plan_of_changes(&r);
    struct plan_change *c = change(&r, p, "r1", PLAN_C_TASKS);
    c->target = TARGET_STOPPED;
    tasks(p, c, 1);
    change(&r, p, "w", PLAN_C_QUORUMS);
    is_int(apply(&r, p, 3), 0, "one stops, and all are needed");
    is_text(rig_tasks(&r, "w.1"), "READY:parent-lost", "it begins again");
    rig_done(&r);
}

int main(void)
{
    one_dead_is_no_loss();
    stopped_with_its_quorum();
    both_at_once();
    a_failure_within();
    waits_for_all_that_come();
    too_many_failures();
    percents();
    an_error_of_one();
    changed_in_place();
    a_serving_one_is_taken_away();
    a_late_member();
    removed_together();
    stopped_ones();
    in_the_standing_operation();
    cancelled_with_a_roll_out();
    told_why();
    refused();
    return tap_done();
}
