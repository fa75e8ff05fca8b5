/* test_rules_start.c - what starts, in which order, within which limits
 *
 * Section 4 of the engine's rules: start order, fairness, slots, pools and spans, jigs, stall.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

/* ---- order ---- */

static void test_weight_then_cohort_then_id(void)
{
    struct rig r;
    rig_init_with(&r, 1, 0, NULL);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    uint32_t low = draft_noderole(&m, 1, 0, NONE);
    uint32_t light = draft_task(&m, d, 0, 1, NONE), a = draft_task(&m, d, 0, 5, NONE);
    uint32_t b = draft_task(&m, d, 0, 5, NONE);
    draft_noderole(&m, 1, NODEROLE_F_PHASED, IDS(low));
    uint32_t high = draft_task(&m, d, 0, 5, NONE), heavy = draft_task(&m, d, 0, 9, NONE);
    draft_apply(&m);
    uint32_t want[] = {heavy, a, b, high, light};
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    for (int i = 0; i < 5; i++) {
        is_int(r.fx.sends.n, 1, "one start at a time");
        is_int(r.fx.sends.n ? r.fx.sends.at[0].task : 0, want[i], "start %d", i + 1);
        rig_reply(&r, want[i], OUTCOME_OK);
    }
    rig_done(&r);
}

static void test_nothing_starts_before_its_dependencies(void)
{
    struct rig r;
    rig_init(&r, 3);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, 0, 2, NONE);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t b = draft_task(&m, d, 0, 2, NONE);
    draft_noderole(&m, 3, 0, NONE);
    uint32_t c = draft_task(&m, d, 0, 1, IDS(a, b));
    draft_apply(&m);
    is_task(&r, c, PENDING, "two to wait for");
    is_int(rig_task_at(&r, c).unmet, 2, "both counted");
    rig_reply(&r, a, OUTCOME_OK);
    is_task(&r, c, PENDING, "one to wait for");
    rig_reply(&r, b, OUTCOME_OK);
    is_task(&r, c, RUNNING, "none");
    rig_done(&r);
}

static uint32_t work_for(struct rig *r, uint32_t op, uint32_t nodes)
{
    struct draft m = draft_new(r);
    uint32_t first = m.task, d = draft_def(&m, (struct plan_def){0});
    for (uint32_t i = 1; i <= nodes; i++) {
        draft_noderole(&m, i, 0, NONE);
        draft_task(&m, d, 0, 1, NONE);
    }
    draft_apply_to(&m, op);
    return first;
}

static void test_classes(void)
{
    struct rig r;
    rig_init_with(&r, 4, 0, NULL);
    rig_step(
        &r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_BACKGROUND});
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 4, .n = 1, .flag = CLASS_URGENT});
    uint32_t background = work_for(&r, 3, 1), normal = work_for(&r, RIG_OP, 1);
    uint32_t urgent = work_for(&r, 4, 1);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    ok(rig_was_sent(&r, urgent), "urgent first, although it came last");
    rig_reply(&r, urgent, OUTCOME_OK);
    ok(rig_was_sent(&r, normal), "then normal");
    rig_reply(&r, normal, OUTCOME_OK);
    ok(rig_was_sent(&r, background), "then background");
    rig_done(&r);
}

/* Starts of each of two operations while both have work. */
static void count_turns(struct rig *r, uint32_t op_a, uint32_t op_b, int rounds, int ret[2])
{
    ret[0] = ret[1] = 0;
    for (int i = 0; i < rounds; i++) {
        uint32_t t = r->fx.sends.n ? r->fx.sends.at[0].task : 0;
        uint32_t op = rig_task_at(r, t).operation;
        ret[0] += op == op_a;
        ret[1] += op == op_b;
        rig_reply(r, t, OUTCOME_OK);
    }
}

static void test_operations_take_turns(void)
{
    struct rig r;
    int turns[2];
    rig_init_with(&r, 40, 0, NULL);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    work_for(&r, RIG_OP, 40);
    work_for(&r, 3, 40);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    count_turns(&r, RIG_OP, 3, 20, turns);
    is_int(turns[0], 10, "ten starts of one");
    is_int(turns[1], 10, "ten of the other");
    rig_done(&r);
}

static void test_one_that_was_idle_gets_no_arrears(void)
{
    struct rig r;
    int turns[2];
    rig_init_with(&r, 40, 0, NULL);
    work_for(&r, RIG_OP, 40);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    count_turns(&r, RIG_OP, 3, 20, turns);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    work_for(&r, 3, 40);
    rig_reply(&r, 21, OUTCOME_OK);
    count_turns(&r, RIG_OP, 3, 10, turns);
    ok(turns[0] >= 4 && turns[1] >= 4, "it shares from now on: %d and %d", turns[0], turns[1]);
    rig_done(&r);
}

static void test_tenants_take_turns(void)
{
    struct rig r;
    int turns[2];
    rig_init_with(&r, 40, 0, NULL);
    rig_step(&r, (struct event){.kind = EVENT_TENANT_ADD, .id = 2});
    for (uint32_t op = 3; op < 6; op++) /* tenant 1 has many operations, tenant 2 has one */
        rig_step(&r, (struct event){
                         .kind = EVENT_OPERATION_ADD, .id = op, .n = 1, .flag = CLASS_NORMAL});
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 6, .n = 2, .flag = CLASS_NORMAL});
    for (uint32_t op = 2; op < 7; op++)
        work_for(&r, op, 40);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1});
    count_turns(&r, 6, 2, 24, turns);
    is_int(turns[0], 12, "half of the starts are the second tenant's");
    is_int(turns[1], 3, "the first tenant's four operations share the other half");
    rig_done(&r);
}

/* ---- slots ---- */

static void test_node_slots(void)
{
    struct rig r;
    rig_init(&r, 1);
    uint32_t first = work_for(&r, RIG_OP, 1);
    uint32_t second = work_for(&r, RIG_OP, 1), third = work_for(&r, RIG_OP, 1);
    is_task(&r, first, RUNNING, "one slot, one task");
    is_task(&r, second, READY, "the second waits");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 2});
    is_task(&r, second, RUNNING, "two slots, two tasks");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 1});
    is_int(rig_node_at(&r, 1).used, 2, "fewer slots end nothing that runs");
    rig_reply(&r, first, OUTCOME_OK);
    is_task(&r, third, READY, "but nothing new starts over the size");
    rig_reply(&r, second, OUTCOME_OK);
    is_task(&r, third, RUNNING, "until there is room");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1}), ERR_INVALID,
           "no slots");
    rig_done(&r);
}

static void test_superseded_attempt_keeps_its_slot(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t p = draft_task(&m, d, 0, 2, NONE);
    draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t c = draft_task(&m, d, 0, 1, IDS(p));
    draft_apply(&m);
    rig_reply(&r, p, OUTCOME_OK);
    is_task(&r, c, RUNNING, "the child runs");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_task(&r, c, PENDING, "its parent is lost: its run is over");
    ok(rig_task_at(&r, c).superseded_runs, "its attempt is not");
    is_int(rig_node_at(&r, 2).used, 1, "and keeps the node");
    ok(anneal_attempt_open(r.a, c, 1), "it is open");
    uint32_t other = rig_one(&r, 2, (struct plan_def){0});
    is_task(&r, other, READY, "nothing else runs there");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SEEN, .id = 1, .a = 101, .b = 1});
    is_task(&r, p, DONE, "the parent is back");
    is_task(&r, c, PENDING, "two attempts of one task never run at once");
    rig_reply_as(&r, c, 1, OUTCOME_OK);
    ok(rig_was_sent(&r, c) || rig_was_sent(&r, other), "the slot is free again");
    is_int(rig_task_at(&r, c).tries, 0, "its old answer was history only");
    rig_done(&r);
}

static void test_worker_slots_and_jigs(void)
{
    struct rig r;
    rig_init_with(&r, 4, 2, NULL);
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 1, .n = 1});
    uint32_t first = work_for(&r, RIG_OP, 4), used;
    (void)anneal_capacity(r.a, &used);
    is_int(used, 2, "two workers' slots, two tasks");
    rig_reply(&r, first, OUTCOME_OK);
    rig_reply(&r, first + 1, OUTCOME_OK);
    rig_finish(&r);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){.jig = 2});
    for (uint32_t node = 1; node <= 3; node++) {
        draft_noderole(&m, node, 0, NONE);
        draft_task(&m, d, 0, 1, NONE);
    }
    draft_apply_to(&m, 1);
    struct jig_view v = {0};
    anneal_jig(r.a, 2, &v);
    is_int(v.taken, 1, "one slot of that jig");
    is_int(v.waiting, 2, "the others wait for it, a free worker's slot or not");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 0, .n = 5});
    is_int(r.fx.sends.n, 0, "switched off, it takes nothing however many slots");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 1, .n = 5});
    is_int(r.fx.sends.n, 1, "switched on, it takes what the workers' slots allow");
    rig_finish(&r);
    is_task(&r, m.task + 2, DONE, "all are done");
    rig_done(&r);
}

/* ---- pools and spans ---- */

/* One chain of three tasks per node, each chain a span over the pool. */
static uint32_t chains(struct rig *r, uint32_t nodes, uint32_t pool_size, uint32_t *ret_pool)
{
    struct draft m = draft_new(r);
    uint32_t first = m.task, d = draft_def(&m, (struct plan_def){.retries = 1, .backoff_ms = 500});
    uint32_t pool = draft_pool(&m, pool_size);
    for (uint32_t node = 1; node <= nodes; node++) {
        draft_noderole(&m, node, 0, NONE);
        uint32_t span = draft_span(&m, IDS(pool));
        uint32_t a = draft_task(&m, d, span, 3, NONE), b = draft_task(&m, d, span, 2, IDS(a));
        draft_task(&m, d, span, 1, IDS(b));
    }
    draft_apply(&m);
    *ret_pool = pool;
    return first;
}

static uint32_t pool_taken(const struct rig *r, uint32_t pool)
{
    struct pool_view v = {0};
    anneal_pool(r->a, pool, &v);
    return v.taken;
}

static void test_span_keeps_its_pool_to_the_end(void)
{
    struct rig r;
    uint32_t pool;
    rig_init(&r, 2);
    uint32_t t = chains(&r, 2, 1, &pool);
    is_task(&r, t, RUNNING, "the first chain has the pool");
    is_task(&r, t + 3, READY, "the second waits for it");
    rig_reply(&r, t, OUTCOME_OK);
    is_task(&r, t + 1, RUNNING, "the chain goes on");
    is_task(&r, t + 3, READY, "and keeps the pool between its tasks");
    rig_reply_again(&r, t + 1, 50);
    is_int(pool_taken(&r, pool), 1, "while it waits");
    rig_after(&r, 50);
    rig_reply(&r, t + 1, OUTCOME_FAILED);
    is_int(pool_taken(&r, pool), 1, "and before its next try");
    is_task(&r, t + 3, READY, "for which nobody takes it away");
    rig_after(&r, 500);
    rig_reply(&r, t + 1, OUTCOME_OK);
    rig_reply(&r, t + 2, OUTCOME_OK);
    is_task(&r, t + 3, RUNNING, "with its last task it is given back");
    rig_done(&r);
}

static void test_first_try_that_fails_keeps_the_pool(void)
{
    struct rig r;
    uint32_t pool;
    rig_init(&r, 2);
    uint32_t t = chains(&r, 2, 1, &pool);
    rig_reply(&r, t, OUTCOME_FAILED);
    is_task(&r, t, PENDING, "in its back-off");
    is_int(pool_taken(&r, pool), 1, "the span has begun and is not over");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 1});
    is_int(pool_taken(&r, pool), 1, "until its run is over: then the other has it");
    is_task(&r, t + 3, RUNNING, "at once");
    rig_done(&r);
}

static void test_span_gives_back_what_a_lost_dependency_may_need(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){.retries = 3, .backoff_ms = 60000});
    uint32_t pool = draft_pool(&m, 1);
    uint32_t early = draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, draft_span(&m, IDS(pool)), 2, NONE);
    draft_noderole(&m, 2, 0, NONE); /* only ordered after it */
    uint32_t b = draft_task(&m, d, draft_span(&m, IDS(pool)), 1, IDS(a));
    draft_apply(&m);
    rig_reply(&r, a, OUTCOME_OK);
    is_task(&r, b, RUNNING, "the second has the pool");
    rig_reply(&r, b, OUTCOME_FAILED);
    is_int(pool_taken(&r, pool), 1, "and keeps it before its next try");
    uint32_t ids[] = {early};
    rig_step(&r, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
    is_task(&r, a, RUNNING, "what it comes after runs again and needs the pool: no circle");
    rig_done(&r);

    rig_init(&r, 2); /* the same, but the dependency goes while it runs */
    m = draft_new(&r);
    d = draft_def(&m, (struct plan_def){0});
    pool = draft_pool(&m, 1);
    early = draft_noderole(&m, 1, 0, NONE);
    a = draft_task(&m, d, draft_span(&m, IDS(pool)), 2, NONE);
    draft_noderole(&m, 2, 0, NONE);
    b = draft_task(&m, d, draft_span(&m, IDS(pool)), 1, IDS(a));
    draft_apply(&m);
    rig_reply(&r, a, OUTCOME_OK);
    rig_step(&r, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 1});
    is_task(&r, a, READY, "it waits for the pool");
    rig_reply(&r, b, OUTCOME_LOST);
    is_task(&r, a, RUNNING, "the other is lost: it gives the pool back and comes after");
    rig_done(&r);
}

static void test_span_takes_all_pools_or_none(void)
{
    struct rig r;
    rig_init(&r, 3);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    uint32_t p = draft_pool(&m, 1), q = draft_pool(&m, 1);
    draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, draft_span(&m, IDS(q)), 9, NONE);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t both = draft_task(&m, d, draft_span(&m, IDS(p, q)), 5, NONE);
    draft_noderole(&m, 3, 0, NONE);
    uint32_t only = draft_task(&m, d, draft_span(&m, IDS(p)), 1, NONE);
    draft_apply(&m);
    is_task(&r, a, RUNNING, "has q");
    is_task(&r, both, READY, "p is free, q is not: it takes neither");
    is_task(&r, only, RUNNING, "so a lesser one may have p");
    rig_reply(&r, a, OUTCOME_OK);
    is_task(&r, both, READY, "now q is free, p is not");
    rig_reply(&r, only, OUTCOME_OK);
    is_task(&r, both, RUNNING, "both are");
    rig_done(&r);
}

static void test_pool_size_closed_elsewhere(void)
{
    struct rig r;
    uint32_t pool;
    rig_init(&r, 4);
    uint32_t t = chains(&r, 4, 2, &pool);
    is_int(pool_taken(&r, pool), 2, "two of four");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 2, .flag = 1});
    for (uint32_t i = 0; i < 3; i++)
        rig_reply(&r, t + i, OUTCOME_OK);
    is_int(pool_taken(&r, pool), 1, "closed: open spans end, none begins");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 2, .extra = 1});
    is_int(pool_taken(&r, pool), 1, "one is taken elsewhere");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 3, .extra = 1});
    is_int(pool_taken(&r, pool), 2, "one more fits");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 4, .extra = UINT32_MAX});
    is_int(r.fx.sends.n, 0, "a silly number is no room");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 100});
    is_int(pool_taken(&r, pool), 3, "all that are left");
    rig_finish(&r);
    is_int(pool_taken(&r, pool), 0, "in the end it is empty");
    rig_done(&r);
}

/* A span that is stuck for good while another waits for what it holds. */
static void test_stall(void)
{
    struct rig r;
    uint32_t pool;
    rig_init(&r, 2);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    uint32_t t = chains(&r, 1, 1, &pool);
    struct draft m = draft_new(&r);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t waits = draft_task(&m, 1, draft_span(&m, IDS(pool)), 1, NONE);
    draft_apply_to(&m, 3);
    rig_reply(&r, t, OUTCOME_OK);
    rig_reply_again(&r, t + 1, 1000);
    is_task(&r, waits, READY, "waits for the pool");
    rig_step(&r, (struct event){.kind = EVENT_CANCEL, .id = RIG_OP});
    is_int(pool_taken(&r, pool), 1, "the cancelled chain keeps it");
    is_operation(&r, 3, FAILED, "nothing can move: the operation that waits is told");
    is_reason(rig_op(&r, 3).reason, STALLED, "its reason");
    is_int(r.fx.stalled, 3, "and the step says so");
    ok(rig_op(&r, 3).held, "it is held");
    rig_after(&r, 1000);
    is_int(r.fx.stalled, 0, "told once");
    rig_step(&r, (struct event){.kind = EVENT_RESUME, .id = RIG_OP});
    rig_finish(&r);
    is_int(rig_try(&r, (struct event){.kind = EVENT_RESUME, .id = 3}), 0, "when there is room");
    rig_finish(&r);
    is_operation(&r, 3, SUCCEEDED, "it goes on");
    rig_done(&r);
}

static void test_what_explains_a_wait_is_no_stall(void)
{
    struct rig r;
    uint32_t pool;
    rig_init(&r, 2);
    uint32_t t = chains(&r, 2, 1, &pool);
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1});
    rig_reply(&r, t, OUTCOME_OK);
    is_task(&r, t + 1, READY, "the holder waits for its node");
    is_operation(&r, RIG_OP, RUNNING, "an unavailable node explains it");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 1, .flag = 1});
    is_operation(&r, RIG_OP, RUNNING, "a closed pool does");
    rig_step(&r, (struct event){.kind = EVENT_POOL_SET, .id = pool, .n = 0});
    is_operation(&r, RIG_OP, RUNNING, "and so does a node that is away");
    rig_done(&r);
}

int main(void)
{
    test_weight_then_cohort_then_id();
    test_nothing_starts_before_its_dependencies();
    test_classes();
    test_operations_take_turns();
    test_one_that_was_idle_gets_no_arrears();
    test_tenants_take_turns();
    test_node_slots();
    test_superseded_attempt_keeps_its_slot();
    test_worker_slots_and_jigs();
    test_span_keeps_its_pool_to_the_end();
    test_first_try_that_fails_keeps_the_pool();
    test_span_gives_back_what_a_lost_dependency_may_need();
    test_span_takes_all_pools_or_none();
    test_pool_size_closed_elsewhere();
    test_stall();
    test_what_explains_a_wait_is_no_stall();
    return tap_done();
}
