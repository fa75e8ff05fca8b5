/* test_pools.c - pools and the spans that take them; stalls (RFC 01, section 4)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

static void pool_set(struct rig *r, uint32_t id, uint32_t size, uint32_t elsewhere, bool closed)
{
    rig_step(r,
             (struct event){
                 .kind = EVENT_POOL_SET, .id = id, .n = size, .extra = elsewhere, .flag = closed});
}

static struct pool_view pool_of(const struct rig *r, uint32_t id)
{
    struct pool_view v = {0};
    anneal_pool(r->a, id, &v);
    return v;
}

static void sizes(void)
{
    struct rig r;
    rig_init(&r, 5);
    pool_set(&r, 1, 2, 0, false);
    rig_plan(&r, RIG_OP, "a@1+1 b@2+1 c@3+1 d@4+1 free@5");
    is_text(rig_started(&r), "a b free", "as many as the pool has room for");
    is_int(pool_of(&r, 1).taken, 2, "two taken");
    is_int(pool_of(&r, 1).waiting, 2, "two wait");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "c", "given back at the end, taken by the next");
    pool_set(&r, 1, 1, 0, false);
    rig_ok(&r, "b");
    is_text(rig_started(&r), "", "a smaller pool takes nothing away and keeps new starts back");
    pool_set(&r, 1, 3, 0, false);
    is_text(rig_started(&r), "d", "a larger one lets them go");
    rig_done(&r);
}

static void elsewhere(void)
{
    struct rig r;
    rig_init(&r, 2);
    pool_set(&r, 1, 2, 1, false);
    rig_plan(&r, RIG_OP, "a@1+1 b@2+1");
    is_text(rig_started(&r), "a", "what is taken elsewhere counts");
    pool_set(&r, 1, 2, 0, false);
    is_text(rig_started(&r), "b", "until it is given back there");
    rig_done(&r);
}

static void closed(void)
{
    struct rig r;
    rig_init(&r, 2);
    pool_set(&r, 1, 5, 0, true);
    rig_plan(&r, RIG_OP, "a@1:2+1");
    is_text(rig_started(&r), "", "a closed pool starts nothing");
    pool_set(&r, 1, 5, 0, false);
    is_text(rig_started(&r), "a.1", "opened it does");
    pool_set(&r, 1, 5, 0, true);
    rig_ok(&r, "a.1");
    is_text(rig_started(&r), "a.2", "what holds it goes on when it is closed");
    rig_done(&r);
}

static void kept_over_the_chain(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_def(&r, (struct plan_def){.retries = 1, .backoff_ms = 1000});
    pool_set(&r, 1, 1, 0, false);
    rig_plan(&r, RIG_OP, "a@1:2+1=1#5 b@2+1");
    is_text(rig_started(&r), "a.1", "the heavier takes the pool");
    rig_ok(&r, "a.1");
    is_text(rig_started(&r), "a.2", "kept between two tasks of the span");
    rig_fail(&r, "a.2");
    is_text(rig_started(&r), "", "kept in back-off");
    is_int(pool_of(&r, 1).taken, 1, "and counted");
    rig_after(&r, 1000);
    is_text(rig_started(&r), "a.2", "it needs nobody's leave to go on");
    rig_again(&r, "a.2", 1000);
    is_text(rig_started(&r), "", "kept while waiting");
    rig_after(&r, 1000);
    rig_ok(&r, "a.2");
    is_text(rig_started(&r), "b", "released with the last end");
    rig_ok(&r, "b");
    is_int(pool_of(&r, 1).taken, 0, "nobody holds it any more");
    rig_done(&r);
}

static void released_by_failure(void)
{
    struct rig r;
    rig_init(&r, 2);
    pool_set(&r, 1, 1, 0, false);
    rig_plan(&r, RIG_OP, "a@1:2+1#5 b@2+1");
    rig_fail(&r, "a.1");
    is_text(rig_tasks(&r, "a.1 a.2"), "FAILED:exit DEP_FAILED:dependency", "all of the span ended");
    is_text(rig_started(&r), "b", "a span that has failed gives its pool back");
    rig_done(&r);
}

static void released_by_loss(void)
{
    struct rig r;
    rig_init(&r, 3);
    pool_set(&r, 1, 1, 0, false);
    rig_plan(&r, RIG_OP, "p@1 a@2:2<p+1#5 b@3+1#1");
    rig_ok(&r, "b");
    rig_ok(&r, "p");
    rig_ok(&r, "a.1");
    is_int(pool_of(&r, 1).taken, 1, "the chain holds the pool");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_int(pool_of(&r, 1).taken, 1, "a lost span keeps it while something of it runs");
    rig_ok(&r, "a.2");
    is_int(pool_of(&r, 1).taken, 0, "and gives it back with the last end");
    rig_done(&r);
}

static void all_or_none(void)
{
    struct rig r;
    rig_init(&r, 3);
    pool_set(&r, 1, 1, 0, false);
    pool_set(&r, 2, 1, 0, false);
    rig_plan(&r, RIG_OP, "b@2+2#9 both@1+1,2#5 a@3+1");
    is_text(rig_started(&r), "b a", "who needs two waits for both, and keeps nobody from either");
    is_int(pool_of(&r, 1).taken + pool_of(&r, 2).taken, 2, "one each");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "", "one of two is not enough");
    is_int(pool_of(&r, 2).taken, 0, "and is not taken");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "both", "both at once");
    is_int(pool_of(&r, 1).taken + pool_of(&r, 2).taken, 2, "both taken in one step");
    rig_ok(&r, "both");
    is_int(pool_of(&r, 1).taken + pool_of(&r, 2).taken, 0, "both given back");
    rig_done(&r);
}

/* Two chains whose second task waits for the other's end, each holding what the other needs: no
 * planner makes this inside one plan, so the edges are drawn by hand. */
static void stall(void)
{
    struct rig r;
    rig_init(&r, 2);
    pool_set(&r, 1, 1, 0, false);
    struct plan *p = rig_plan_new(&r, "a@1:2+1#5 b@2+1");
    uint32_t deps[] = {p->base_task, p->base_task + 2}; /* a.2 waits for b as well */
    p->tasks[1].deps = deps;
    p->tasks[1].n_deps = 2;
    rig_step(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p});
    plan_free(p);
    is_text(rig_started(&r), "a.1", "the first takes the pool");
    rig_ok(&r, "a.1");
    is_int(r.fx.stalled, RIG_OP, "nothing can go on: reported");
    is_text(rig_op_text(&r, RIG_OP), "failed stalled", "the operation ends as stalled");
    ok(rig_op(&r, RIG_OP).held, "and is held");
    rig_do(&r, EVENT_TICK, 0);
    is_int(r.fx.stalled, 0, "told once");
    pool_set(&r, 1, 2, 0, false);
    is_text(rig_started(&r), "", "held, it starts nothing by itself");
    rig_do(&r, EVENT_RETRY_OPERATION, RIG_OP);
    is_text(rig_started(&r), "b", "with room and a retry it goes on");
    rig_ok(&r, "b");
    rig_ok(&r, "a.2");
    is_text(rig_op_text(&r, RIG_OP), "succeeded", "to its end");
    rig_done(&r);
}

static void no_stall_with_a_name(void)
{
    struct rig r;
    rig_init(&r, 2);
    pool_set(&r, 1, 1, 1, false);
    rig_plan(&r, RIG_OP, "a@1+1");
    is_int(r.fx.stalled, 0, "a pool full elsewhere is no stall");
    is_text(rig_op_text(&r, RIG_OP), "running", "the operation waits");
    pool_set(&r, 1, 1, 0, true);
    is_int(r.fx.stalled, 0, "nor is a closed one");
    rig_done(&r);
}

/* Two tasks of a span that could start at once: the one that waited for the pool goes on when the
 * other has taken it for both. */
static void shared_by_siblings(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t pool = draft_pool(&m, 1), def = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t holder = draft_task(&m, def, draft_span(&m, &pool, 1), 9, NONE);
    draft_noderole(&m, 2, 0, NONE);
    uint32_t span = draft_span(&m, &pool, 1);
    uint32_t first = draft_task(&m, def, span, 5, NONE);
    uint32_t second = draft_task(&m, def, span, 4, NONE);
    is_int(draft_apply(&m), 0, "a plan with two spans of one pool");
    is_task(&r, holder, RUNNING, "one takes it");
    is_task(&r, first, READY, "both tasks of the other wait for it");
    is_task(&r, second, READY, "the second too");
    rig_reply(&r, holder, OUTCOME_OK);
    is_task(&r, first, RUNNING, "the first gets it for both");
    rig_reply(&r, first, OUTCOME_OK);
    is_task(&r, second, RUNNING, "and the second goes on with it");
    rig_reply(&r, second, OUTCOME_OK);
    is_operation(&r, RIG_OP, SUCCEEDED, "to the end");
    is_int(pool_of(&r, pool).taken, 0, "where it is given back");
    rig_done(&r);
}

int main(void)
{
    sizes();
    elsewhere();
    closed();
    kept_over_the_chain();
    released_by_failure();
    released_by_loss();
    all_or_none();
    shared_by_siblings();
    stall();
    no_stall_with_a_name();
    return tap_done();
}
