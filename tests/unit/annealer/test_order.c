/* test_order.c - what starts, in which order, and what keeps it back (RFC 01, section 4)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void dependencies_first(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_plan(&r, RIG_OP, "a@1:2 b@2<a c@3<a,b");
    is_text(rig_started(&r), "a.1", "only what depends on nothing starts");
    is_text(rig_states(&r, "a b c"), "TRANSITION BLOCKED BLOCKED", "the others are blocked");
    rig_ok(&r, "a.1");
    is_text(rig_started(&r), "a.2", "tasks of a noderole come one after the other");
    rig_ok(&r, "a.2");
    is_text(rig_started(&r), "b", "a child starts after its parent's last task");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "c", "with two parents after both");
    rig_ok(&r, "c");
    is_text(rig_states(&r, "a b c"), "ACTIVE ACTIVE ACTIVE", "all in service");
    rig_done(&r);
}

static void order_edge_is_no_need(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "a@1 b@2>a");
    is_text(rig_started(&r), "a", "an order edge holds its task back");
    rig_ok(&r, "a");
    rig_ok(&r, "b");
    rig_do(&r, EVENT_NODE_DEAD, 1);
    is_text(rig_states(&r, "a b"), "TODO ACTIVE", "nothing ripples along an order edge");
    rig_done(&r);
}

static void weight_cohort_id(void)
{
    struct rig r;
    rig_init(&r, 6);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_plan(&r, RIG_OP, "a@1#2 b@2#5 c@3#2 d@4#9");
    is_text(rig_started(&r), "", "without capacity nothing starts");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "d b a c", "greatest weight first, then the lowest id");
    rig_done(&r);

    rig_init(&r, 4);
    rig_plan(&r, RIG_OP, "base@1");
    rig_ok(&r, "base");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_plan(&r, 3, "high@2<base low@3");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "low high", "of equal weight the lowest cohort first");
    rig_done(&r);
}

static void classes(void)
{
    struct rig r;
    rig_init(&r, 3);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_op_add(&r, 3, 1, CLASS_BACKGROUND);
    rig_op_add(&r, 4, 1, CLASS_URGENT);
    rig_plan(&r, 3, "back@1#9");
    rig_plan(&r, RIG_OP, "normal@2#5");
    rig_plan(&r, 4, "urgent@3#1");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "urgent normal back", "class before weight");
    rig_done(&r);
}

static void lower_class_uses_the_rest(void)
{
    struct rig r;
    rig_init(&r, 2);
    rig_op_add(&r, 3, 1, CLASS_BACKGROUND);
    rig_op_add(&r, 4, 1, CLASS_URGENT);
    rig_plan(&r, 4, "u1@1 u2@1");
    rig_plan(&r, 3, "back@2");
    is_text(rig_started(&r), "back", "a lower class starts what no higher one can use");
    rig_done(&r);
}

static void fair_between_operations(void)
{
    struct rig r;
    rig_init(&r, 8);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_plan(&r, RIG_OP, "a1@1#9 a2@2#9 a3@3#9 a4@4#9");
    rig_plan(&r, 3, "b1@5 b2@6");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "a1 b1 a2 b2 a3 a4", "operations take turns, whatever their weights");
    rig_done(&r);
}

static void idle_claims_nothing(void)
{
    struct rig r;
    rig_init(&r, 8);
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_plan(&r, RIG_OP, "a1@1 a2@2 a3@3");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_plan(&r, RIG_OP, "a4@4 a5@5");
    rig_plan(&r, 3, "b1@6 b2@7 b3@8");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "b1 a4 b2 a5 b3", "who was idle joins at the level of the others");
    rig_done(&r);
}

static void fair_between_tenants(void)
{
    struct rig r;
    rig_init(&r, 8);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_do(&r, EVENT_TENANT_ADD, 2);
    rig_op_add(&r, 3, 1, CLASS_NORMAL);
    rig_op_add(&r, 4, 2, CLASS_NORMAL);
    rig_plan(&r, RIG_OP, "a1@1 a2@2");
    rig_plan(&r, 3, "b1@3 b2@4");
    rig_plan(&r, 4, "c1@5 c2@6 c3@7 c4@8");
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 10});
    is_text(rig_started(&r), "a1 c1 b1 c2 a2 c3 b2 c4",
            "one tenant with two operations gets as much as another with one");
    rig_done(&r);
}

static void shares_of_tenants(void)
{
    struct rig r;
    struct tenant_view v;
    rig_init(&r, 8);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 0});
    rig_do(&r, EVENT_TENANT_ADD, 2);
    rig_op_add(&r, 4, 2, CLASS_URGENT);
    rig_plan(&r, RIG_OP, "a1@1 a2@2 a3@3 a4@4");
    rig_plan(&r, 4, "c1@5 c2@6 c3@7 c4@8");
    rig_step(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 2, .n = 2, .extra = 5});
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 5});
    is_text(rig_started(&r), "c1 c2 a1 a2 a3",
            "a tenant has its share, even of what is urgent, and others the rest");
    ok(anneal_tenant(r.a, 2, &v) && v.share == 2 && v.used == 2 && v.wish == 5 && !v.gone,
       "which one can look at");
    rig_ok(&r, "a1");
    is_text(rig_started(&r), "a4", "what others leave is not its either");
    rig_ok(&r, "c1");
    is_text(rig_started(&r), "c3", "one of its own ends, another one starts");
    rig_step(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 2, .n = 1});
    rig_ok(&r, "c2");
    is_text(rig_started(&r), "", "with a smaller share what runs runs on, and nothing starts");
    rig_step(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 2, .n = TENANT_ALL});
    is_text(rig_started(&r), "c4", "without one it has what there is");
    is_int(-rig_try(&r, (struct event){.kind = EVENT_TENANT_SET, .id = 3}), ERR_NOT_FOUND,
           "of nobody nothing is set");
    rig_done(&r);
}

static void node_slots(void)
{
    struct rig r;
    struct node_view n;
    rig_init(&r, 1);
    rig_plan(&r, RIG_OP, "a@1 b@1 c@1");
    is_text(rig_started(&r), "a", "a node runs as many as it has slots");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 2});
    is_text(rig_started(&r), "b", "another slot, another start");
    rig_step(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 1});
    anneal_node(r.a, 1, &n);
    is_int(n.used, 2, "a smaller size takes nothing away");
    rig_ok(&r, "a");
    is_text(rig_started(&r), "", "and keeps new starts back");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "c", "until there is room");
    is_int(rig_try(&r, (struct event){.kind = EVENT_NODE_SLOTS, .id = 1, .n = 0}), -ERR_INVALID,
           "no slots at all is refused");
    rig_done(&r);
}

static void jig_slots(void)
{
    struct rig r;
    struct jig_view j;
    rig_init(&r, 3);
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 1, .n = 0});
    char d = rig_def(&r, (struct plan_def){.jig = 2});
    ok(d == '1', "the definition of the second jig");
    rig_plan(&r, RIG_OP, "a@1=1 b@2=1 c@3");
    is_text(rig_started(&r), "c", "a jig without a worker starts nothing");
    anneal_jig(r.a, 2, &j);
    is_int(j.waiting, 2, "two wait for it");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 1, .n = 1});
    is_text(rig_started(&r), "a", "a worker of one slot takes one");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 0, .n = 1});
    rig_ok(&r, "a");
    is_text(rig_started(&r), "", "an inactive jig starts nothing; what ran may end");
    rig_step(&r, (struct event){.kind = EVENT_JIG_SET, .id = 2, .flag = 1, .n = 1});
    is_text(rig_started(&r), "b", "active again");
    rig_done(&r);
}

static void capacity(void)
{
    struct rig r;
    uint32_t used;
    rig_init(&r, 3);
    rig_step(&r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 2});
    rig_plan(&r, RIG_OP, "a@1 b@2 c@3");
    is_text(rig_started(&r), "a b", "no more than the workers have slots");
    is_int(anneal_capacity(r.a, &used), 2, "the capacity");
    is_int(used, 2, "all of it used");
    rig_ok(&r, "b");
    is_text(rig_started(&r), "c", "a slot given back is used at once");
    rig_done(&r);
}

static void plan_refused(const char *what, int code, const char *text,
                         void (*spoil)(struct plan *p))
{
    struct rig r;
    rig_init(&r, 2);
    rig_plan(&r, RIG_OP, "old@1");
    struct plan *p = rig_plan_new(&r, text);
    spoil(p);
    is_int(rig_try(&r, (struct event){.kind = EVENT_PLAN_APPLY, .op = RIG_OP, .plan = p}), code,
           "refused whole: %s", what);
    is_int(anneal_task_end(r.a), 2, "%s: no task was added", what);
    plan_free(p);
    rig_done(&r);
}

static void spoil_node(struct plan *p)
{
    p->noderoles[0].node = 9;
}
static void spoil_cohort(struct plan *p)
{
    p->noderoles[1].cohort = 0;
}
static void spoil_base(struct plan *p)
{
    p->base_task++;
}
static void spoil_def(struct plan *p)
{
    p->tasks[0].def = 99;
}
static void spoil_pool(struct plan *p)
{
    static const uint32_t pools[] = {7};
    p->spans[p->n_spans++] = (struct plan_span){pools, 1};
}
static void spoil_jig(struct plan *p)
{
    p->defs = arena_new(&p->mem, struct plan_def, 1);
    p->defs[0].jig = 9;
}
static void spoil_dep(struct plan *p)
{
    static const uint32_t deps[] = {99};
    p->tasks[0].deps = deps;
    p->tasks[0].n_deps = 1;
}
static void spoil_circle(struct plan *p)
{
    static const uint32_t deps[] = {3}; /* the first needs the second, which needs the first */
    p->tasks[0].deps = deps;
    p->tasks[0].n_deps = 1;
}
static void spoil_count(struct plan *p)
{
    p->noderoles[1].n_tasks = 0;
}
static void spoil_owner(struct plan *p)
{
    p->tasks[0].noderole = p->base_noderole + 1;
}
static void spoil_parent(struct plan *p)
{
    static const uint32_t parents[] = {40};
    p->noderoles[0].parents = parents;
    p->noderoles[0].n_parents = 1;
}

int main(void)
{
    dependencies_first();
    order_edge_is_no_need();
    weight_cohort_id();
    classes();
    lower_class_uses_the_rest();
    fair_between_operations();
    idle_claims_nothing();
    fair_between_tenants();
    shares_of_tenants();
    node_slots();
    jig_slots();
    capacity();
    plan_refused("no such node", -ERR_NOT_FOUND, "a@1 b@2<a", spoil_node);
    plan_refused("a child not above its parent", -ERR_CYCLE, "a@1 b@2<a", spoil_cohort);
    plan_refused("ids that are not the next", -ERR_CONFLICT, "a@1 b@2<a", spoil_base);
    plan_refused("no such definition", -ERR_INVALID, "a@1 b@2<a", spoil_def);
    plan_refused("no such pool", -ERR_NOT_FOUND, "a@1 b@2<a", spoil_pool);
    plan_refused("no such jig", -ERR_NOT_FOUND, "a@1 b@2<a", spoil_jig);
    plan_refused("no such dependency", -ERR_INVALID, "a@1 b@2<a", spoil_dep);
    plan_refused("a circle of order edges", -ERR_CYCLE, "a@1 b@2<a", spoil_circle);
    plan_refused("a noderole without tasks", -ERR_INVALID, "a@1 b@2<a", spoil_count);
    plan_refused("a task of another noderole", -ERR_INVALID, "a@1 b@2<a", spoil_owner);
    plan_refused("no such parent", -ERR_INVALID, "a@1 b@2<a", spoil_parent);
    return tap_done();
}
