/* test_weave_plan.c - a weave becomes a plan: places, joins, rules, limits, definitions
 *
 * RFC 07, sections 5 and 6, rule by rule.  Whether an engine takes such plans and runs them as they
 * are meant is tested where both are at hand: tests/unit/sim/test_graph_run.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "fake_world.h"
#include "model/states.h"
#include "planner/weave_plan.h"
#include "weave_bed.h"

static const char native[] = "barclamp: t\n";
static const char same_node[] = "barclamp: t\ngraphs: {requires: same-node}\n";

/* A weave, who is there, and the plan of both. */
struct laid {
    struct weave_bed b;
    struct fake_world world;
    VEC(struct weave_member) members;
    VEC(uint32_t) carriers;
    struct weave_plan made;
    bool no_op;
    int rc;
};

static bool laid_open(struct laid *l, const char *barclamp, const char *graph)
{
    *l = (struct laid){0};
    bed_init(&l->b);
    bool good = bed_graph(&l->b, barclamp, str_of(graph));
    if (good)
        fake_init(&l->world, l->b.catalog, 9);
    else
        ok(false, "loads: %s %s", l->b.err.at, l->b.err.text);
    return good;
}

static void laid_close(struct laid *l)
{
    plan_free(l->made.plan);
    vec_done(&l->members);
    vec_done(&l->carriers);
    if (l->b.catalog)
        fake_done(&l->world);
    bed_done(&l->b);
}

/* A node and the noderoles that it has, by the names of their groups: "web db"; "-" is one of no
 * group.  What it answers to besides comes in `more`. */
static void laid_node(struct laid *l, const char *name, const char *roles, const char *more)
{
    struct weave_bed *b = &l->b;
    bed_node(b, name, arena_printf(&b->mem, "%s %s", strcmp(roles, "-") ? roles : "", more));
    for (const char *at = roles; *at;) {
        size_t n = strcspn(at, " ");
        struct str role = {arena_strndup(&b->mem, at, n), n};
        uint32_t group = catalog_graph_find(b->graph, role);
        struct weave_member m = {.noderole = (uint32_t)l->members.n + 1,
                                 .group = group == CATALOG_NONE ? WEAVE_NONE : group,
                                 .node = (uint32_t)b->nodes.n - 1,
                                 .flags = NODEROLE_F_RERUN_ALWAYS};
        vec_push(&l->members, m);
        vec_push(&l->world.noderoles,
                 ((struct fake_noderole){
                     .role = role.s, .node = (uint32_t)b->nodes.n, .deployment = 1, .cohort = 1}));
        at += n + strspn(at + n, " ");
    }
}

static bool laid_make(struct laid *l)
{
    if (bed_weave(&l->b) < 0) {
        ok(false, "weaves: %s", l->b.err.text);
        return false;
    }
    struct weave_plan_request req = {.weave = l->b.w,
                                     .of = &l->b.req,
                                     .cat = l->b.catalog,
                                     .world = &l->world.face,
                                     .deployment = 1,
                                     .members = l->members.at,
                                     .n_members = (uint32_t)l->members.n,
                                     .carriers = l->carriers.at,
                                     .n_carriers = (uint32_t)l->carriers.n,
                                     .no_op = l->no_op};
    plan_free(l->made.plan);
    l->made = (struct weave_plan){0};
    l->rc = weave_plan_make(&req, &l->made, &l->b.err);
    return l->rc >= 0;
}

static bool laid_planned(struct laid *l)
{
    bool good = laid_make(l);
    if (!good)
        ok(false, "plans: %s", l->b.err.text);
    return good;
}

/* --- reading a plan --- */

static const struct plan_task *task(struct laid *l, const char *name)
{
    uint32_t v = bed_find(&l->b, name);
    if (v == WEAVE_NONE) {
        printf("Bail out! no vertex %s\n", name);
        exit(1);
    }
    return &l->made.plan->tasks[l->made.task_of[v]];
}

static const struct plan_def *def(struct laid *l, const struct plan_task *t)
{
    return &l->made.plan->defs[t->def & ~PLAN_NEW];
}

/* "web@n1"; "-" of one without a node. */
static const char *place(struct laid *l, const struct plan_task *t)
{
    if (t->noderole & PLAN_NEW)
        return "-";
    const struct fake_noderole *nr = &l->world.noderoles.at[t->noderole - 1];
    return arena_printf(&l->b.mem, "%s@%s", nr->role, l->b.nodes.at[nr->node - 1].name.s);
}

/* "prepare", "install/n1", "join:x", and what is no vertex of the weave as "role@node:name". */
static const char *task_name(struct laid *l, uint32_t ref)
{
    uint32_t i = ref & ~PLAN_NEW;
    const struct plan_task *t = &l->made.plan->tasks[i];
    for (uint32_t v = 0; v < l->b.w->n; v++)
        if (l->made.task_of[v] == i)
            return weave_vertex_name(l->b.w, &l->b.req, v, &l->b.mem).s;
    return arena_printf(&l->b.mem, "%s:%s", place(l, t), def(l, t)->name.s);
}

static const char *deps(struct laid *l, const struct plan_task *t)
{
    const char **names = arena_new(&l->b.mem, const char *, t->n_deps);
    const char *all = "";
    for (uint32_t i = 0; i < t->n_deps; i++)
        names[i] = task_name(l, t->deps[i]);
    if (t->n_deps > 1)
        qsort(names, t->n_deps, sizeof *names, bed_by_text);
    for (uint32_t i = 0; i < t->n_deps; i++)
        all = arena_printf(&l->b.mem, "%s%s%s", all, i ? " " : "", names[i]);
    return all;
}

static const struct plan_change *change(struct laid *l, uint32_t member)
{
    return plan_change_find(l->made.plan, l->members.at[member].noderole);
}

/* The task of a member that is no vertex of the weave; NULL: it has none. */
static const struct plan_task *closing(struct laid *l, uint32_t member)
{
    const struct plan_change *c = change(l, member);
    for (uint32_t i = c->first_task; i < c->first_task + c->n_tasks; i++)
        if (str_is(def(l, &l->made.plan->tasks[i])->name, "shared"))
            return &l->made.plan->tasks[i];
    return NULL;
}

/* "group:web=2 task:x=1": the pools of the span of a task; "": it has none. */
static const char *pools(struct laid *l, const struct plan_task *t)
{
    const struct plan *p = l->made.plan;
    const char *all = "";
    const struct plan_span *s = t->span ? &p->spans[t->span - 1] : NULL;
    for (uint32_t i = 0; s && i < s->n_pools; i++) {
        const struct plan_pool *pool = &p->pools[s->pools[i] & ~PLAN_NEW];
        const char *short_name = strrchr(pool->name.s, '/') + 1;
        all = arena_printf(&l->b.mem, "%s%s%s=%u", all, i ? " " : "", short_name, pool->size);
    }
    return all;
}

#define is_rule(t, want, ...)                                                                      \
    is_text(task_rule_name((enum task_rule)(t)->rule), task_rule_name(RULE_##want), __VA_ARGS__)

/* --- places --- */

static void test_places(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: db, type: group, required_for: [deployment]}\n"
                  "- {id: web, type: group, required_for: [deployment]}\n"
                  "- {id: store, type: shell, groups: [db]}\n"
                  "- {id: serve, type: shell, groups: [web]}\n"
                  "- {id: both, type: shell, groups: [db, web]}\n"
                  "- {id: check, type: shell, role: '*', requires: [deployment]}\n"
                  "- {id: announce, type: shell, role: master}\n")) {
        laid_node(&l, "n1", "web db", "");
        laid_node(&l, "n2", "db", "");
        laid_node(&l, "n3", "-", "spare");
        struct weave_member master = {.noderole = 5, .group = WEAVE_NONE, .node = 3};
        vec_push(&l.members, master);
        vec_push(&l.world.noderoles,
                 ((struct fake_noderole){.role = "master", .node = 1, .deployment = 1}));
        if (laid_planned(&l)) {
            is_text(place(&l, task(&l, "store/n1")), "db@n1", "a task is its group's on its node");
            is_text(place(&l, task(&l, "serve/n1")), "web@n1", "whichever group that is");
            is_text(place(&l, task(&l, "both/n1")), "db@n1", "of several groups the first has it");
            is_text(place(&l, task(&l, "check/n1")), "web@n1",
                    "what no group owns is of the node's first noderole");
            is_text(place(&l, task(&l, "check/n2")), "db@n2", "on every node");
            is_text(place(&l, task(&l, "check/n3")), "-@n3", "where no group is, of what is there");
            is_int(task(&l, "announce/master")->noderole, 5, "the master's are where he is");
            is_text(place(&l, task(&l, "deployment")), "-", "stages are on no node");
            is_int(l.made.plan->n_noderoles, 1, "one noderole is new");
            is_int(l.made.plan->noderoles[0].node, 0, "it has no node");
            is_int(l.made.plan->n_changes, 5, "all others get other tasks");
            bool sorted = true, kept = true;
            for (uint32_t i = 0; i < 5; i++) {
                sorted &= l.made.plan->changes[i].noderole == i + 1;
                kept &= l.made.plan->changes[i].what == (PLAN_C_TASKS | PLAN_C_GROUP) &&
                        l.made.plan->changes[i].flags == l.members.at[i].flags;
            }
            ok(sorted, "by id");
            ok(kept, "and keep their flags");
        }
    }
    laid_close(&l);
    if (laid_open(&l, native, "- {id: check, type: shell, role: '*'}\n")) {
        bed_node(&l.b, "n1", "web");
        ok(!laid_make(&l), "a node whose tasks nobody holds is refused");
        has_text(l.b.err.text, "nothing holds the tasks of a node", "and it says so");
    }
    laid_close(&l);
}

/* Old carriers are used before new ones are made; what is not needed any more has no tasks. */
static void test_carriers_kept(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n- {id: serve, type: shell, groups: web}\n")) {
        laid_node(&l, "n1", "web", "");
        vec_push(&l.carriers, 7u);
        vec_push(&l.carriers, 9u);
        if (laid_planned(&l)) {
            const struct plan_change *c = plan_change_find(l.made.plan, 7);
            is_int(l.made.plan->n_noderoles, 0, "no noderole is new");
            is_int(task(&l, "prepare")->noderole, 7, "stages go to the one there is");
            is_int(c->what, PLAN_C_TASKS, "which counts in no group");
            is_int(c->n_tasks, l.b.w->n_stages + l.b.w->n_joins, "with all that has no node");
            is_int(plan_change_find(l.made.plan, 9)->n_tasks, 0, "one too many keeps nothing");
        }
    }
    laid_close(&l);
}

static void test_carriers_many(void)
{
    enum { STAGES = 50001 };
    struct laid l;
    SCOPED_BUF(text);
    for (int i = 0; i < STAGES; i++)
        buf_printf(&text, "- {id: s%d, type: stage}\n", i);
    buf_puts(&text, "- {id: web, type: group}\n- {id: serve, type: shell, groups: web}\n");
    if (laid_open(&l, native, text.data)) {
        laid_node(&l, "n1", "web", "");
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            uint32_t total = l.b.w->n_stages + l.b.w->n_joins;
            is_int(p->n_noderoles, 2, "more than 50,000 vertices without a node: two noderoles");
            is_int(p->noderoles[0].n_tasks, 50000, "the first is full");
            is_int(p->noderoles[1].n_tasks, total - 50000, "the second has the rest");
            bool own = true;
            for (uint32_t n = 0; n < 2; n++)
                for (uint32_t i = 0; i < p->noderoles[n].n_tasks; i++)
                    own &= p->tasks[p->noderoles[n].first_task + i].noderole == (n | PLAN_NEW);
            ok(own, "and every task is of the one in whose range it lies");
        }
    }
    laid_close(&l);
}

static void test_closing(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: db, type: group}\n"
                  "- {id: web, type: group}\n"
                  "- {id: idle, type: group}\n"
                  "- {id: both, type: shell, groups: [db, web]}\n"
                  "- {id: two, type: shell, groups: [db, web]}\n"
                  "- {id: serve, type: shell, groups: [web]}\n")) {
        laid_node(&l, "n1", "db web", "");
        laid_node(&l, "n2", "web idle", "");
        if (laid_planned(&l)) {
            const struct plan_task *t = closing(&l, 1);
            ok(!closing(&l, 0), "who owns what it does needs nothing more");
            if (ok(t, "whose tasks another one owns has one that waits for them")) {
                is_text(deps(&l, t), "both/n1 two/n1", "all of them");
                is_rule(t, JOIN_ALL, "and all must pass");
                is_int(change(&l, 1)->n_tasks, 2, "next to its own");
            }
            ok(!closing(&l, 2), "elsewhere they are its own");
            t = closing(&l, 3);
            if (ok(t, "who has nothing to do has one too"))
                is_int(t->n_deps, 0, "which waits for nothing");
        }
    }
    laid_close(&l);
}

/* --- joins and rules --- */

static const char tolerant[] =
    "- {id: ctl, type: group%s}\n"
    "- {id: agent, type: group}\n"
    "- {id: first, type: shell, groups: [ctl]}\n"
    "- {id: second, type: shell, groups: [ctl], requires: [first]}\n"
    "- {id: one, type: shell, groups: [agent], cross_depends: [{name: second, role: ctl, policy: "
    "any}]}\n"
    "- {id: all, type: shell, groups: [agent], cross_depends: [{name: second, role: ctl}]}\n"
    "- {id: late, type: shell, groups: [ctl], cross_depends: [{name: one, role: agent, policy: "
    "any}]}\n";

static bool tolerant_open(struct laid *l, const char *barclamp, const char *tolerance)
{
    char text[1024];
    snprintf(text, sizeof text, tolerant, tolerance);
    if (!laid_open(l, barclamp, text))
        return false;
    laid_node(l, "n1", "ctl", "");
    laid_node(l, "n2", "ctl", "");
    laid_node(l, "n3", "agent", "");
    return laid_planned(l);
}

static void test_forgiving(void)
{
    struct laid l;
    if (tolerant_open(&l, native, ", fault_tolerance: 1")) {
        const struct plan *p = l.made.plan;
        const struct plan_task *t = task(&l, "one/n3");
        has_text(deps(&l, t), "-:join:second", "what waits for one on another node has a join");
        ok(!strstr(deps(&l, t), "second/n1"), "and does not wait for it itself");
        for (uint32_t i = 0; i < t->n_deps; i++)
            if (!strcmp(task_name(&l, t->deps[i]), "-:join:second")) {
                const struct plan_task *join = &p->tasks[t->deps[i] & ~PLAN_NEW];
                is_rule(join, JOIN_TOLERATE, "which forgives");
                is_text(deps(&l, join), "second/n1", "that one");
            }
        has_text(deps(&l, task(&l, "second/n1")), "first/n1", "on one node nothing is forgiven");
        has_text(deps(&l, task(&l, "all/n3")), "join:second", "what waits for several has theirs");
        is_rule(task(&l, "join:second"), JOIN_TOLERATE, "which forgives as well");
        has_text(deps(&l, task(&l, "late/n1")), "one/n3", "who may not fail is waited for itself");
        is_rule(task(&l, "deployment"), JOIN_TOLERATE, "stages forgive");
        is_int(p->n_groups, 1, "a group that may lose members is in the plan");
        is_text(p->groups[0].name.s, "ctl", "by name");
        is_int(p->groups[0].may_fail, 1, "with how many");
        is_int(change(&l, 0)->group, 1, "its noderoles are in it");
        is_int(change(&l, 2)->group, 0, "and others are not");
        uint32_t mine = 0;
        for (uint32_t i = 0; i < p->n_tasks; i++)
            mine += str_is(def(&l, &p->tasks[i])->name, "join:second");
        is_int(mine, 2, "one join for each that is waited for, however many wait");
    }
    laid_close(&l);
    if (tolerant_open(&l, native, ", fault_tolerance: 0")) {
        has_text(deps(&l, task(&l, "one/n3")), "second/n1", "a critical group has no such joins");
        is_rule(task(&l, "deployment"), JOIN_ALL, "and nothing is forgiven");
        is_int(l.made.plan->n_groups, 1, "but it counts");
        is_int(l.made.plan->groups[0].may_fail, 0, "to none");
    }
    laid_close(&l);
    if (tolerant_open(&l, native, ", fault_tolerance: '100%'"))
        is_int(l.made.plan->groups[0].may_fail, 2, "a share is one of its noderoles here");
    laid_close(&l);
    if (tolerant_open(&l, native, "")) {
        has_text(deps(&l, task(&l, "one/n3")), "second/n1", "nor has one that says nothing");
        is_rule(task(&l, "join:second"), JOIN_ALL, "its joins wait for all");
        is_int(l.made.plan->n_groups, 0, "and it is no group of the plan");
    }
    laid_close(&l);
}

static void test_stage_rules(void)
{
    static const char graph[] = "- {id: begin, type: stage}\n"
                                "- {id: end, type: stage, requires: [begin]}\n"
                                "- {id: web, type: group%s}\n"
                                "- {id: serve, type: shell, groups: [web], requires: [begin],\n"
                                "   required_for: [end], cross_depends: [{name: other}]}\n"
                                "- {id: other, type: shell, groups: [web], requires: [begin]}\n";
    static const struct {
        const char *barclamp, *tolerance, *stage, *join;
    } cases[] = {
        {native, "", "join-all", "join-all"},
        {native, ", fault_tolerance: 1", "join-tolerate", "join-tolerate"},
        {same_node, "", "join-ended", "join-all"},
        {same_node, ", fault_tolerance: 1", "join-ended", "join-tolerate"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct laid l;
        char text[1024];
        snprintf(text, sizeof text, graph, cases[i].tolerance);
        if (laid_open(&l, cases[i].barclamp, text)) {
            laid_node(&l, "n1", "web", "");
            laid_node(&l, "n2", "web", "");
            if (laid_planned(&l)) {
                const char *what = cases[i].barclamp == native ? "native" : "imported";
                is_text(task_rule_name(task(&l, "end")->rule), cases[i].stage, "%s stage%s: %s",
                        what, cases[i].tolerance, cases[i].stage);
                is_text(task_rule_name(task(&l, "join:other")->rule), cases[i].join,
                        "%s join%s: %s", what, cases[i].tolerance, cases[i].join);
            }
        }
        laid_close(&l);
    }
}

/* --- limits --- */

static void test_limits(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: roll, type: group, required_for: [deployment],\n"
                  "   strategy: {type: rolling, amount: 2}}\n"
                  "- {id: free, type: group}\n"
                  "- {id: plain, type: shell, groups: [roll, free]}\n"
                  "- {id: few, type: shell, groups: [roll, free],\n"
                  "   strategy: {type: rolling, amount: 3}}\n"
                  "- {id: any, type: shell, role: '*', requires: [deployment],\n"
                  "   strategy: {type: rolling, amount: 1}}\n")) {
        laid_node(&l, "n1", "roll", "");
        laid_node(&l, "n2", "roll", "");
        laid_node(&l, "n3", "free", "");
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            is_int(p->n_pools, 3, "each limit is a pool");
            is_text(p->pools[0].name.s, "graph:1/default/group:roll",
                    "named by deployment and graph");
            is_text(pools(&l, task(&l, "plain/n1")), "group:roll=2 task:few=3",
                    "a rolling group has one span a node, with the limits of its tasks");
            is_int(task(&l, "plain/n1")->span, task(&l, "few/n1")->span, "one for all of them");
            ok(task(&l, "plain/n1")->span != task(&l, "plain/n2")->span, "another on another node");
            is_text(pools(&l, task(&l, "few/n3")), "task:few=3", "elsewhere a task has its own");
            is_text(pools(&l, task(&l, "plain/n3")), "", "or none");
            is_text(pools(&l, task(&l, "any/n1")), "task:any=1",
                    "what the group does not own is not of its span");
            fake_apply(&l.world, l.made.plan);
        }
        if (laid_planned(&l)) {
            is_int(l.made.plan->n_pools, 0, "pools that live are not made again");
            is_int(l.made.n_pools, 3, "but are given the size that they have now");
            is_int(l.made.pools[1].size, 3, "each its own");
            is_int(l.made.plan->n_defs, 0, "definitions that are known are not brought again");
        }
    }
    laid_close(&l);
}

/* Chunks that dependencies contradict: a limit of each task, for each group its own. */
static void test_limited_circles(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: a, type: group, strategy: {type: parallel, amount: 1}}\n"
                  "- {id: b, type: group, strategy: {type: parallel, amount: 2}}\n"
                  "- {id: x, type: shell, groups: [a, b]}\n"
                  "- {id: y, type: shell, groups: [a, b], cross_depends: [{name: x}],\n"
                  "   strategy: {type: rolling, amount: 5}}\n")) {
        static const char *const names[] = {"n1", "n2", "n3", "n4", "n5"};
        for (int i = 0; i < 5; i++)
            laid_node(&l, names[i], i < 2 ? "a" : "b", "");
        l.b.req.limit_circles = true;
        if (laid_planned(&l)) {
            is_text(pools(&l, task(&l, "x/n1")), "x=1", "a task has the limit of its group");
            is_text(pools(&l, task(&l, "x/n3")), "x=2", "and in another group that one's");
            const char *both = pools(&l, task(&l, "y/n1"));
            has_text(both, "y=1", "its group's");
            has_text(both, "task:y=5", "next to its own");
        }
    }
    laid_close(&l);
}

/* The same of a task: its second instance before something that the first waits for. */
static void test_limited_task(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: a, type: group}\n"
                  "- {id: x, type: shell, groups: [a], strategy: {type: one_by_one}}\n"
                  "- {id: u, type: shell, role: first, required_for: [x],\n"
                  "   cross_depends: [{name: v, role: second}]}\n"
                  "- {id: v, type: shell, role: second, requires: [x]}\n")) {
        laid_node(&l, "n1", "a", "first");
        laid_node(&l, "n2", "a", "second");
        is_int(bed_weave(&l.b), -ERR_CONFLICT, "chunks of a task are part of the circle check");
        has_text(l.b.err.hint, "circles: limit", "the way out is told");
        l.b.req.limit_circles = true;
        if (laid_planned(&l))
            is_text(pools(&l, task(&l, "x/n1")), "task:x=1", "and leads to a limit of the task");
    }
    laid_close(&l);
}

/* --- definitions --- */

static int false_condition(void *ctx, uint32_t t, uint32_t node, struct err *e)
{
    (void)ctx;
    (void)t;
    (void)e;
    return node != 0;
}

static void test_left_out(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- {id: a, type: shell, groups: [web], condition: data.x}\n"
                  "- {id: b, type: shell, groups: [web], requires: [a]}\n"
                  "- {id: c, type: skipped, groups: [web], requires: [b]}\n")) {
        static const struct str only[] = {{"a", 1}, {"c", 1}};
        struct weave_pick pick = {.only = only, .n_only = 2};
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        l.b.req.condition = false_condition;
        l.b.req.pick = &pick;
        if (laid_planned(&l)) {
            static const struct {
                const char *name, *type;
            } cases[] = {{"a/n1", "condition is false"},
                         {"b/n1", "not among the only ones"},
                         {"b/n2", "not among the only ones"},
                         {"c/n2", "skipped by type"}};
            for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                const struct plan_task *t = task(&l, cases[i].name);
                is_rule(t, SKIP, "%s is left out", cases[i].name);
                has_text(def(&l, t)->body.s, cases[i].type, "%s: %s", cases[i].name, cases[i].type);
                is_int(def(&l, t)->jig, 0, "nothing executes it");
            }
            is_rule(task(&l, "a/n2"), RUN, "where the condition is true it runs");
            has_text(deps(&l, task(&l, "c/n1")), "b/n1", "and the order stays what it was");
            has_text(deps(&l, task(&l, "b/n1")), "a/n1", "all along");
        }
    }
    laid_close(&l);
}

static void test_types(void)
{
    static const char graph[] = "- {id: web, type: group}\n"
                                "- {id: a, type: puppet, groups: [web]}\n"
                                "- {id: b, type: puppet, groups: [web]}\n"
                                "- {id: c, type: sync, groups: [web]}\n"
                                "- {id: d, type: shell, groups: [web]}\n"
                                "- {id: e, type: reboot, groups: [web], condition: data.x}\n";
    static const struct str skip[] = {{"e", 1}}, most[] = {{"e", 1}, {"a", 1}, {"b", 1}, {"c", 1}};
    struct weave_pick pick = {.skip = skip, .n_skip = 1};
    struct laid l;
    if (laid_open(&l, native, graph)) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        l.b.req.pick = &pick;
        ok(!laid_make(&l), "what nothing executes is refused");
        is_int(l.rc, -ERR_REFUSED, "as such");
        has_text(l.b.err.text, "puppet (a and others, 4 tasks)", "each type with how many");
        has_text(l.b.err.text, "sync (c and others, 2 tasks)", "by its own name");
        ok(!strstr(l.b.err.text, "shell"), "but not what something executes");
        ok(!strstr(l.b.err.text, "reboot"), "nor what is left out");
        pick = (struct weave_pick){.skip = most, .n_skip = 4};
        ok(laid_make(&l), "without them it is planned");
    }
    laid_close(&l);
    if (laid_open(&l, "barclamp: t\njigs: [{name: rsync, implementation: shell}]\n",
                  "- {id: web, type: group}\n- {id: c, type: sync, groups: [web]}\n")) {
        laid_node(&l, "n1", "web", "");
        if (laid_planned(&l)) {
            has_text(def(&l, task(&l, "c/n1"))->body.s, "\"type\":\"shell\"", "sync is rsync");
        }
    }
    laid_close(&l);
}

static void test_bodies(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- id: a\n"
                  "  type: shell\n"
                  "  groups: [web]\n"
                  "  fail_on_error: false\n"
                  "  parameters: {cmd: make it, cwd: /srv, timeout: 60, retries: 3, interval: 5}\n"
                  "  test_pre: {cmd: is it there, timeout: 7, retries: 2}\n"
                  "  test_post: does it work\n"
                  "- {id: b, type: shell, groups: [web], parameters: {cmd: make it}}\n")) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        if (laid_planned(&l)) {
            const struct plan_def *d = def(&l, task(&l, "a/n1"));
            is_int(task(&l, "a/n1")->def, task(&l, "a/n2")->def, "all nodes share a definition");
            is_text(d->body.s,
                    "{\"params\":{\"cwd\":\"/srv\",\"script\":\"make it\"},\"tests\":{\"post\":"
                    "{\"cmd\":\"does it work\"},\"pre\":{\"cmd\":\"is it there\",\"retries\":2,"
                    "\"timeout_ms\":7000}},\"type\":\"shell\"}",
                    "its body has what the jig takes, and its tests");
            is_int(d->timeout_ms, 60000, "what the engine goes by is apart: timeout");
            is_int(d->retries, 3, "retries");
            is_int(d->backoff_ms, 5000, "interval");
            ok(d->flags & DEF_F_MAY_FAIL, "fail_on_error: false");
            ok(!(def(&l, task(&l, "b/n1"))->flags & DEF_F_MAY_FAIL), "is not said of others");
            uint64_t digest = d->digest;
            l.no_op = true;
            if (laid_planned(&l)) {
                d = def(&l, task(&l, "a/n1"));
                has_text(d->body.s, "\"no_op\":true", "a run that changes nothing tells the jig");
                ok(d->digest != digest, "and is another definition");
            }
        }
    }
    laid_close(&l);
}

static int own_params(void *ctx, uint32_t t, uint32_t node, const struct value **ret, struct err *e)
{
    struct laid *l = ctx;
    const struct graph_vertex *v = &l->b.graph->vertices[t];
    *ret = v->parameters;
    if (node == 2)
        return err_set(e, ERR_INVALID, "no parameters for node %u", node);
    if (!str_is(v->id, "a"))
        return 0;
    struct value *own = value_map(&l->b.mem);
    value_put_int(&l->b.mem, own, "port", 8000 + (int64_t)node);
    *ret = own;
    return 0;
}

static void test_parameters(void)
{
    struct laid l;
    if (laid_open(&l, native,
                  "- {id: web, type: group}\n"
                  "- {id: a, type: shell, groups: [web], parameters: {port: {expr: node.port}}}\n"
                  "- {id: b, type: shell, groups: [web], parameters: {cmd: x}}\n")) {
        laid_node(&l, "n1", "web", "");
        laid_node(&l, "n2", "web", "");
        if (bed_weave(&l.b) >= 0) {
            struct weave_plan_request req = {.weave = l.b.w,
                                             .of = &l.b.req,
                                             .cat = l.b.catalog,
                                             .world = &l.world.face,
                                             .deployment = 1,
                                             .members = l.members.at,
                                             .n_members = 2,
                                             .parameters = own_params,
                                             .ctx = &l};
            if (ok(weave_plan_make(&req, &l.made, &l.b.err) == 0, "plans")) {
                has_text(def(&l, task(&l, "a/n1"))->body.s, "8000", "parameters of a node");
                has_text(def(&l, task(&l, "a/n2"))->body.s, "8001", "are its own");
                is_int(task(&l, "b/n1")->def, task(&l, "b/n2")->def, "others are shared");
            }
            laid_node(&l, "n3", "web", "");
            plan_free(l.made.plan);
            l.made = (struct weave_plan){0};
            if (bed_weave(&l.b) >= 0) {
                req.weave = l.b.w;
                req.members = l.members.at;
                req.n_members = 3;
                is_int(weave_plan_make(&req, &l.made, &l.b.err), -ERR_INVALID,
                       "an expression that fails refuses the plan");
                is_text(l.b.err.text, "no parameters for node 2", "and says why");
            }
        }
    }
    laid_close(&l);
}

int main(void)
{
    test_places();
    test_carriers_kept();
    test_carriers_many();
    test_closing();
    test_forgiving();
    test_stage_rules();
    test_limits();
    test_limited_circles();
    test_limited_task();
    test_left_out();
    test_types();
    test_bodies();
    test_parameters();
    return tap_done();
}
