/* test_rules_extend.c - plans join the live graph whole or not at all, also while it runs
 *
 * Sections 1 and 8 of the engine's rules: what is refused, and peers that come late.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "draft.h"

/* A plan that is right; each case spoils one thing. */
static struct draft good(struct rig *r)
{
    struct draft m = draft_new(r);
    uint32_t d = draft_def(&m, (struct plan_def){0}), pool = draft_pool(&m, 1);
    uint32_t parent = draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, draft_span(&m, IDS(pool)), 2, NONE);
    draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t b = draft_task(&m, d, 0, 1, IDS(a));
    draft_task(&m, d, 0, 1, IDS(b));
    return m;
}

typedef void spoil_f(struct draft *m);

static void other_node(struct draft *m)
{
    m->p->noderoles[0].node = 9;
}
static void no_node(struct draft *m)
{
    m->p->noderoles[1].node = 0;
}
static void parents_without_node(struct draft *m)
{
    no_node(m);
    for (uint32_t i = 0; i < m->p->n_tasks; i++) {
        m->p->tasks[i].rule = RULE_SKIP;
        m->p->tasks[i].span = 0;
    }
}
static void need_of_the_nodeless(struct draft *m)
{
    parents_without_node(m);
    m->p->noderoles[0].node = 0;
    m->p->noderoles[1].node = 1;
}
static void nothing_executes(struct draft *m)
{
    m->p->defs[m->p->tasks[0].def - m->def].jig = 0;
}
static void no_rule(struct draft *m)
{
    m->p->tasks[0].rule = TASK_RULE_COUNT;
}
static void passive_in_span(struct draft *m)
{
    m->p->tasks[0].rule = RULE_SKIP;
    m->p->tasks[0].span = 1;
}
static void no_group(struct draft *m)
{
    m->p->noderoles[0].group = 1;
}
static void no_tasks(struct draft *m)
{
    m->p->noderoles[0].n_tasks = 0;
}
static void too_many_tasks(struct draft *m)
{
    m->p->noderoles[0].n_tasks = 70000;
}
static void tasks_apart(struct draft *m)
{
    m->p->noderoles[1].first_task = 2;
}
static void tasks_of_nobody(struct draft *m)
{
    m->p->noderoles[1].n_tasks = 1;
}
static void own_parent(struct draft *m)
{
    m->p->noderoles[1].parents = draft_ids(m, IDS(m->noderole + 1));
}
static void parent_of_the_future(struct draft *m)
{
    m->p->noderoles[1].parents = draft_ids(m, IDS(m->noderole + 7));
}
static void parent_nobody(struct draft *m)
{
    m->p->noderoles[1].parents = draft_ids(m, IDS(0));
}
static void child_not_above(struct draft *m)
{
    m->p->noderoles[1].cohort = 1;
}
static void task_of_another(struct draft *m)
{
    m->p->tasks[0].noderole = m->noderole + 1;
}
static void task_of_the_past(struct draft *m)
{
    m->p->tasks[0].noderole = 0;
}
static void no_definition(struct draft *m)
{
    m->p->tasks[0].def = m->def + 5;
}
static void no_span(struct draft *m)
{
    m->p->tasks[1].span = 5;
}
static void dep_of_the_future(struct draft *m)
{
    m->p->tasks[1].deps = draft_ids(m, IDS(m->task + 5));
}
static void dep_nobody(struct draft *m)
{
    m->p->tasks[1].deps = draft_ids(m, IDS(0));
}
static void dep_itself(struct draft *m)
{
    m->p->tasks[1].deps = draft_ids(m, IDS(m->task + 1));
}
static void circle(struct draft *m)
{
    m->p->tasks[1].deps = draft_ids(m, IDS(m->task + 2));
}
static void no_jig(struct draft *m)
{
    m->p->defs[0].jig = 44;
}
static void no_pool(struct draft *m)
{
    m->p->spans[0].pools = draft_ids(m, IDS(m->pool + 9));
}
static void need_nobody(struct draft *m)
{
    draft_need(m, 99, m->noderole);
}
static void need_of_the_past(struct draft *m)
{
    draft_need(m, m->noderole, 99);
}
static void wrong_base(struct draft *m)
{
    m->task++;
}

static void test_refused_whole(void)
{
    static const struct {
        const char *what;
        spoil_f *spoil;
        enum errcode code;
    } cases[] = {
        {"a node that does not exist", other_node, ERR_NOT_FOUND},
        {"tasks that run, and no node", no_node, ERR_INVALID},
        {"parents, and no node", parents_without_node, ERR_INVALID},
        {"a need of what has no node", need_of_the_nodeless, ERR_INVALID},
        {"a task that nothing executes", nothing_executes, ERR_INVALID},
        {"a rule that is none", no_rule, ERR_INVALID},
        {"a passive task in a span", passive_in_span, ERR_INVALID},
        {"no such group", no_group, ERR_INVALID},
        {"a noderole without tasks", no_tasks, ERR_INVALID},
        {"one with too many", too_many_tasks, ERR_INVALID},
        {"tasks that do not lie together", tasks_apart, ERR_INVALID},
        {"tasks of nobody", tasks_of_nobody, ERR_INVALID},
        {"its own parent", own_parent, ERR_INVALID},
        {"a parent that does not exist", parent_of_the_future, ERR_INVALID},
        {"parent nobody", parent_nobody, ERR_INVALID},
        {"a child not above its parent", child_not_above, ERR_CYCLE},
        {"a task of another noderole", task_of_another, ERR_INVALID},
        {"a task of no noderole", task_of_the_past, ERR_INVALID},
        {"no such definition", no_definition, ERR_INVALID},
        {"no such span", no_span, ERR_INVALID},
        {"a dependency that does not exist", dep_of_the_future, ERR_INVALID},
        {"a dependency on nobody", dep_nobody, ERR_INVALID},
        {"a task that waits for itself", dep_itself, ERR_CYCLE},
        {"tasks in a circle", circle, ERR_CYCLE},
        {"no such jig", no_jig, ERR_NOT_FOUND},
        {"no such pool", no_pool, ERR_NOT_FOUND},
        {"a need of nobody", need_nobody, ERR_INVALID},
        {"a need for what is not new", need_of_the_past, ERR_INVALID},
        {"ids that are not the next ones", wrong_base, ERR_CONFLICT},
    };
    struct rig r;
    rig_init(&r, 2);
    uint64_t before = anneal_digest(r.a);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct draft m = good(&r);
        cases[i].spoil(&m);
        is_int(draft_apply(&m), cases[i].code, "%s", cases[i].what);
        ok(anneal_digest(r.a) == before, "%s: nothing was changed", cases[i].what);
    }
    struct draft m = good(&r);
    is_int(draft_apply_to(&m, 77), ERR_NOT_FOUND, "no such operation");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP}), ERR_INVALID,
           "no plan at all");
    m = good(&r);
    is_int(draft_apply(&m), 0, "the plan itself is taken");
    rig_finish(&r);
    m = good(&r);
    is_int(draft_apply(&m), ERR_CONFLICT, "but not by an operation that has ended");
    rig_done(&r);
}

/* Order edges may point forward in a plan, as long as they can be sorted. */
static void test_any_order_that_sorts(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    draft_noderole(&m, 1, 0, NONE);
    uint32_t last = draft_task(&m, d, 0, 1, IDS(m.task + 1));
    uint32_t first = draft_task(&m, d, 0, 2, NONE);
    is_int(draft_apply(&m), 0, "the first depends on the second");
    is_task(&r, first, RUNNING, "which runs");
    is_task(&r, last, PENDING, "before it");
    rig_finish(&r);
    is_noderole(&r, 1, ACTIVE, "to the end");
    rig_done(&r);
}

static void test_extension_of_a_running_graph(void)
{
    struct rig r;
    rig_init(&r, 2);
    struct draft m = good(&r);
    uint32_t first = m.task, parent = m.noderole;
    draft_apply(&m);
    rig_step(&r,
             (struct event){.kind = EVENT_OPERATION_ADD, .id = 3, .n = 1, .flag = CLASS_NORMAL});
    m = draft_new(&r);
    uint32_t child = draft_noderole(&m, 2, 0, IDS(parent));
    uint32_t t = draft_task(&m, 1, 0, 1, IDS(first));
    is_int(draft_apply_to(&m, 3), 0, "a plan on top of what runs");
    is_noderole(&r, child, BLOCKED, "it waits for what it needs");
    rig_reply(&r, first, OUTCOME_OK);
    ok(rig_task_at(&r, t).state >= TASK_READY, "and goes on with it");
    rig_finish(&r);
    is_operation(&r, 3, SUCCEEDED, "to its end");
    uint32_t n;
    const uint32_t *children = anneal_children(r.a, parent, &n);
    is_int(n, 2, "the parent has two children now");
    is_int(n == 2 ? children[1] : 0, child, "the new one among them");
    rig_done(&r);
}

/* A peer that comes late does not block who is in service. */
static void test_late_peer_sleeps_until_it_is_active(void)
{
    struct rig r;
    rig_init(&r, 3);
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0}), n;
    uint32_t old = draft_noderole(&m, 1, NODEROLE_F_CLUSTER, NONE);
    uint32_t o = draft_task(&m, d, 0, 1, NONE);
    uint32_t below = draft_noderole(&m, 2, 0, IDS(old));
    uint32_t b = draft_task(&m, d, 0, 1, IDS(o));
    draft_apply(&m);
    rig_finish(&r);
    m = draft_new(&r);
    uint32_t peer = draft_noderole(&m, 3, NODEROLE_F_CLUSTER, NONE);
    uint32_t p = draft_task(&m, d, 0, 1, NONE);
    m.p->noderoles[0].cohort = 5;
    draft_need(&m, old, peer);
    draft_apply_to(&m, 1);
    is_noderole(&r, old, ACTIVE, "who is in service stays");
    (void)anneal_parents(r.a, old, &n);
    is_int(n, 0, "the need sleeps");
    rig_reply(&r, p, OUTCOME_FAILED);
    is_noderole(&r, old, ACTIVE, "even if the peer fails");
    rig_step(&r, (struct event){.kind = EVENT_RETRY_NODEROLE, .id = peer});
    rig_reply(&r, p, OUTCOME_OK);
    is_noderole(&r, peer, ACTIVE, "the peer is active for the first time");
    is_noderole(&r, old, STALE, "now it matters");
    (void)anneal_parents(r.a, old, &n);
    is_int(n, 1, "the need counts");
    is_int(rig_noderole_at(&r, old).cohort, 6, "the child moves above its new parent");
    is_int(rig_noderole_at(&r, below).cohort, 7, "and so does all below it");
    rig_finish(&r);
    is_noderole(&r, old, ACTIVE, "it ran with its new peer");
    is_int(rig_task_at(&r, b).attempt, 1, "whose children were not disturbed");
    rig_step(&r, (struct event){.kind = EVENT_NODE_DEAD, .id = 3});
    is_noderole(&r, below, BLOCKED, "from now on its loss is theirs");
    rig_done(&r);
}

/* Those who are queued when their cohort rises are started by the new one. */
static void test_risen_cohort_counts_in_the_start_order(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 2});
    struct draft m = draft_new(&r);
    uint32_t d = draft_def(&m, (struct plan_def){0});
    uint32_t low = draft_noderole(&m, 1, 0, NONE);
    uint32_t a = draft_task(&m, d, 0, 1, NONE);
    draft_noderole(&m, 1, 0, IDS(low));
    uint32_t b = draft_task(&m, d, 0, 1, NONE);
    draft_apply_to(&m, 1);
    rig_finish(&r);
    m = draft_new(&r);
    uint32_t peer = draft_noderole(&m, 2, 0, NONE);
    uint32_t p = draft_task(&m, d, 0, 1, NONE);
    m.p->noderoles[0].cohort = 9;
    draft_need(&m, low, peer);
    draft_apply_to(&m, 1);
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 1});
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1});
    uint32_t ids[] = {low, low + 1};
    rig_step(&r, (struct event){.kind = EVENT_RERUN, .op = 1, .ids = ids, .n_ids = 2});
    is_task(&r, a, READY, "both are queued");
    rig_reply(&r, p, OUTCOME_OK);
    is_int(rig_noderole_at(&r, low).cohort, 10, "one of them rises");
    is_int(rig_noderole_at(&r, low + 1).cohort, 11, "and the other above it");
    rig_step(&r, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = 1, .flag = 1});
    ok(rig_was_sent(&r, a) && !rig_was_sent(&r, b),
       "the lower cohort starts first, by its new number");
    rig_finish(&r);
    is_task(&r, b, DONE, "then the other");
    rig_done(&r);
}

int main(void)
{
    test_refused_whole();
    test_any_order_that_sorts();
    test_extension_of_a_running_graph();
    test_late_peer_sleeps_until_it_is_active();
    test_risen_cohort_counts_in_the_start_order();
    return tap_done();
}
