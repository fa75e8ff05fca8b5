/* test_late.c - needs that come after their child: they sleep, count, and order (RFC 01, section 1)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include "changes.h"

/* Adds noderoles under an operation of their own; `child` needs the first of them. */
static void join(struct rig *r, uint32_t op, const char *peers, const char *child)
{
    rig_op_add(r, op, 1, CLASS_NORMAL);
    struct plan *p = rig_plan_new(r, peers);
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){rig_nr(r, child).id, p->base_noderole};
    p->n_needs = 1;
    rig_step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
    plan_free(p);
}

/* The rig goes on with an engine that was written down and read back. */
static void restart(struct rig *r)
{
    SCOPED_BUF(rows);
    struct err e;
    uint64_t digest = anneal_digest(r->a);
    struct anneal *a = anneal_new();
    anneal_save(r->a, &rows);
    is_int(anneal_restore(a, buf_str(&rows), &e), 0, "restored");
    is_int(anneal_check(a, &e), 0, "and sound");
    ok(anneal_digest(a) == digest, "it is the same engine");
    anneal_free(r->a);
    r->a = a;
}

static void waits_for_a_late_parent(bool restarted)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1:2 below@2<old");
    rig_all_ok(&r, "old.1 old.2 below");
    join(&r, 3, "peer@3:2", "old");
    rig_all_ok(&r, "peer.1 peer.2 old.1 old.2");
    is_text(rig_states(&r, "peer old below"), "ACTIVE ACTIVE ACTIVE", "the peer is needed now");
    rig_do(&r, EVENT_NODE_DEAD, 3);
    if (restarted)
        restart(&r);
    is_text(rig_states(&r, "peer old below"), "TODO BLOCKED BLOCKED", "all below it is lost");
    rig_data(&r, "old", 7);
    is_text(rig_started(&r), "", "and nobody starts without it");
    is_text(rig_tasks(&r, "old.1"), "PENDING:parent-lost", "the first waits for the peer's last");
    rig_seen(&r, 3, 103, 2);
    is_text(rig_started(&r), "peer.1", "back, it runs");
    rig_ok(&r, "peer.1");
    is_text(rig_started(&r), "peer.2", "to its end");
    rig_ok(&r, "peer.2");
    is_text(rig_started(&r), "old.1", "then its child");
    rig_all_ok(&r, "old.1 old.2 below");
    is_text(rig_states(&r, "peer old below"), "ACTIVE ACTIVE ACTIVE", "and all is in service");
    rig_done(&r);
}

static void sleeps_over_a_restart(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1 below@2<old");
    rig_all_ok(&r, "old below");
    join(&r, 3, "peer@3", "old");
    restart(&r);
    is_text(rig_states(&r, "old below"), "ACTIVE ACTIVE", "still asleep");
    rig_ok(&r, "peer");
    is_text(rig_states(&r, "old"), "STALE", "and woken by the first time that the peer is up");
    rig_done(&r);
}

static void counts_at_once(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "first@1 child@2<first");
    join(&r, 3, "peer@3", "child");
    rig_ok(&r, "first");
    is_text(rig_states(&r, "child"), "BLOCKED", "who has not begun waits for the new parent too");
    restart(&r);
    rig_ok(&r, "peer");
    is_text(rig_started(&r), "child", "then it starts");
    rig_ok(&r, "child");
    is_text(rig_states(&r, "first peer child"), "ACTIVE ACTIVE ACTIVE", "and all is well");
    rig_done(&r);
}

static void taken_back_from_the_queue(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "busy@1 child@1");
    is_text(rig_states(&r, "busy child"), "TRANSITION TODO", "one runs, one is queued");
    join(&r, 3, "peer@3", "child");
    is_text(rig_states(&r, "child"), "BLOCKED", "a queued one is taken back");
    rig_ok(&r, "busy");
    is_text(rig_started(&r), "", "and does not start");
    rig_ok(&r, "peer");
    is_text(rig_started(&r), "child", "before its new parent is up");
    rig_done(&r);
}

static void is_open(struct rig *r, uint32_t op, bool wanted, const char *what)
{
    struct operation_view v = {0};
    (void)anneal_operation(r->a, op, &v);
    is_text(operation_state_name(v.state), wanted ? "running" : "succeeded", "%s", what);
}

static void joins_the_operation_of_its_cause(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1 below@2<old");
    rig_all_ok(&r, "old below");
    join(&r, 3, "peer@3", "old");
    is_int(anneal_joins(r.a, rig_nr(&r, "old").id, rig_nr(&r, "peer").id), 3, "it would join");
    is_int(anneal_joins(r.a, 99, rig_nr(&r, "peer").id), 0, "somebody unknown would not");
    is_int(anneal_joins(r.a, rig_nr(&r, "old").id, 99), 0, "nor because of somebody unknown");
    rig_ok(&r, "peer");
    is_int(rig_nr(&r, "old").operation, 3, "who runs again because of a new peer joins it");
    is_int(rig_nr(&r, "below").operation, RIG_OP, "who does not run again stays where it was");
    is_open(&r, 3, true, "an operation is open until what follows from it is done");
    rig_ok(&r, "old");
    is_open(&r, 3, false, "then it has ended");
    rig_done(&r);
}

static void joins_nobody_else(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1 below@2<old");
    rig_all_ok(&r, "old below");
    join(&r, 3, "peer@3", "old");
    rig_op_add(&r, 4, 1, CLASS_NORMAL);
    uint32_t old = rig_nr(&r, "old").id;
    rig_step(&r, (struct event){.kind = EVENT_RERUN, .op = 4, .ids = &old, .n_ids = 1});
    is_int(anneal_joins(r.a, old, rig_nr(&r, "peer").id), 0, "who has an open one stays there");
    rig_ok(&r, "peer");
    is_int(rig_nr(&r, "old").operation, 4, "also when the peer is up");
    is_open(&r, 3, false, "that operation has ended by itself");
    rig_ok(&r, "old");
    is_int(anneal_joins(r.a, old, rig_nr(&r, "below").id), 0, "one that has ended takes nobody");
    rig_done(&r);
}

static void held_takes_nobody(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1");
    rig_all_ok(&r, "old");
    join(&r, 3, "peer@3", "old");
    rig_do(&r, EVENT_CANCEL, 3);
    is_int(anneal_joins(r.a, rig_nr(&r, "old").id, rig_nr(&r, "peer").id), 0, "it is being held");
    rig_ok(&r, "peer");
    is_int(rig_nr(&r, "old").operation, OPERATION_STANDING, "the standing one sees to it");
    is_text(rig_started(&r), "old", "and it runs");
    rig_done(&r);
}

static int join_try(struct rig *r, uint32_t op, const char *peers, uint32_t n,
                    const struct plan_need *needs)
{
    struct plan *p = rig_plan_new(r, peers);
    rig_op_add(r, op, 1, CLASS_NORMAL);
    p->needs = arena_new(&p->mem, struct plan_need, n);
    for (uint32_t i = 0; i < n; i++)
        p->needs[i] = (struct plan_need){needs[i].child, p->base_noderole + needs[i].parent};
    p->n_needs = n;
    int rc = rig_try(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
    plan_free(p);
    return rc;
}

/* A circle is one even while a need in it sleeps: it would be closed when that wakes. */
static void circles_are_refused(void)
{
    struct rig r;
    uint32_t id = 0;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "old@1 other@2");
    rig_all_ok(&r, "old other");
    join(&r, 3, "peer@3", "old");
    is_int(anneal_needed_by(r.a, rig_nr(&r, "peer").id, &id, 1), 1, "a need that sleeps is one");
    is_int(id, rig_nr(&r, "old").id, "of who has it");
    is_int(join_try(&r, 4, "back@2<old", 1, &(struct plan_need){rig_nr(&r, "peer").id, 0}),
           -ERR_CYCLE, "what it needs cannot need it in turn");
    const struct plan_need both[] = {{rig_nr(&r, "old").id, 0}, {rig_nr(&r, "other").id, 1}};
    is_int(join_try(&r, 5, "one@3<other two@3<old", 2, both), -ERR_CYCLE,
           "nor through two needs of one plan");
    is_int(join_try(&r, 6, "one@3<other two@3", 2, both), 0, "without a circle it is taken");
    rig_done(&r);
}

/* The plan takes `name` back while it goes; `child` needs it from then on. */
static int take_back(struct rig *r, uint32_t op, const char *name, const char *child)
{
    struct plan *p = plan_of_changes(r);
    tasks(p, change(r, p, name, PLAN_C_TASKS), 1);
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){rig_nr(r, child).id, rig_nr(r, name).id, rig_nr(r, "old").id};
    p->n_needs = 1;
    return apply(r, p, op);
}

/* `peer` goes, and `child` is told. */
static void let_go(struct rig *r, uint32_t op)
{
    struct plan *p = plan_of_changes(r);
    uint32_t peer = rig_nr(r, "peer").id;
    tasks(p, change(r, p, "peer", PLAN_C_REMOVE), 1);
    struct plan_change *c = change(r, p, "child", PLAN_C_PARENTS);
    c->losses = one(p, peer);
    c->n_losses = 1;
    is_int(apply(r, p, op), 0, "a peer goes");
}

static void one_that_comes_back(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "old@1 peer@2 child@3<old,peer&1");
    rig_all_ok(&r, "old peer child");
    is_int(take_back(&r, 3, "peer", "child"), -ERR_INVALID, "who stays is not gained");
    let_go(&r, 4);
    is_text(rig_states(&r, "peer child"), "REMOVING STALE", "its child runs without it");
    is_int(take_back(&r, 5, "peer", "child"), 0, "it is taken back, and needed");
    is_text(rig_states(&r, "child"), "STALE", "the need sleeps");
    restart(&r);
    rig_all_ok(&r, "child peer");
    is_text(rig_states(&r, "peer child"), "ACTIVE STALE", "it is woken as that of a new one");
    rig_ok(&r, "child");
    is_text(rig_states(&r, "old peer child"), "ACTIVE ACTIVE ACTIVE", "and all is well");
    struct quorum_view q = {0};
    (void)anneal_quorum(r.a, rig_nr(&r, "child").id, rig_nr(&r, "peer").id, &q);
    is_int(q.members, 2, "it is of the quorum again");
    rig_done(&r);
}

/* Another member goes by the plan that takes the one back: the child sees both changes at once. */
static void one_back_for_another(void)
{
    struct rig r;
    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "old@1 peer@2 child@3<old,peer");
    rig_all_ok(&r, "old peer child");
    let_go(&r, 3);
    struct plan *p = plan_of_changes(&r);
    uint32_t old = rig_nr(&r, "old").id, peer = rig_nr(&r, "peer").id;
    tasks(p, change(&r, p, "old", PLAN_C_REMOVE), 1);
    tasks(p, change(&r, p, "peer", PLAN_C_TASKS), 1);
    struct plan_change *c = change(&r, p, "child", PLAN_C_PARENTS);
    c->losses = one(p, old);
    c->n_losses = 1;
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){c->noderole, peer, 0};
    p->n_needs = 1;
    is_int(apply(&r, p, 4), 0, "one comes back as the other goes");
    rig_ok(&r, "child");
    is_text(rig_started(&r), "", "the child does not run before it serves");
    rig_ok(&r, "peer");
    is_text(rig_started(&r), "child", "then once");
    rig_ok(&r, "child");
    is_text(rig_started(&r), "old", "and the other goes");
    rig_done(&r);
}

int main(void)
{
    joins_the_operation_of_its_cause();
    joins_nobody_else();
    held_takes_nobody();
    waits_for_a_late_parent(false);
    waits_for_a_late_parent(true);
    sleeps_over_a_restart();
    counts_at_once();
    taken_back_from_the_queue();
    circles_are_refused();
    one_that_comes_back();
    one_back_for_another();
    return tap_done();
}
