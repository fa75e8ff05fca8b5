/* test_weave_plan.c - a weave becomes a plan: places, joins, rules
 *
 * RFC 07, section 6, rule by rule.  Whether an engine takes such plans and runs them as they are
 * meant is tested where both are at hand: tests/unit/sim/test_graph_run.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "weave_laid.h"

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

/* Groups whose nodes go a few at a time. */
static void test_rollouts(void)
{
    static const char graph[] =
        "- {id: web, type: group, requires: [pre_deployment], required_for: [deployment]%s}\n"
        "- {id: early, type: shell, role: '*', required_for: [pre_deployment]}\n"
        "- {id: serve, type: shell, groups: [web]}\n";
    static const char old[] = "barclamp: t\nlenient: true\n";
    static const char fuel[] = "barclamp: t\nlenient: true\ngraphs: {requires: same-node}\n";
    static const struct {
        const char *barclamp, *says;
        int groups, may, stops;
        const char *chunk;
    } cases[] = {
        {native, ", strategy: {type: one_by_one}", 1, 0, 1, "join-tolerate"},
        {native, ", strategy: {type: parallel, amount: 2, failures: '50%'}", 1, 1, 1,
         "join-tolerate"},
        {native, ", strategy: {type: rolling, amount: 2, failures: 2}", 1, 2, 1, ""},
        {native, ", strategy: {type: one_by_one}, fault_tolerance: 1", 1, 1, 1, "join-tolerate"},
        {native, ", strategy: {type: parallel}", 0, 0, 0, ""},
        {native, ", strategy: {type: parallel}, fault_tolerance: 1", 1, 1, 0, ""},
        {old, ", strategy: {type: one_by_one}", 0, 0, 0, "join-all"},
        {old, ", strategy: {type: one_by_one}, fault_tolerance: 0", 1, 0, 1, "join-all"},
        {old, ", strategy: {type: one_by_one, failures: 1}", 1, 1, 1, "join-tolerate"},
        {fuel, ", strategy: {type: rolling, amount: 1}", 0, 0, 0, ""},
        {fuel, ", strategy: {type: rolling, amount: 1}, fault_tolerance: 0", 1, 0, 1, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct laid l;
        char text[1024];
        snprintf(text, sizeof text, graph, cases[i].says);
        if (laid_open(&l, cases[i].barclamp, text)) {
            for (int n = 1; n <= 3; n++)
                laid_node(&l, arena_printf(&l.b.mem, "n%d", n), "web", "");
            if (laid_planned(&l)) {
                const struct plan *p = l.made.plan;
                is_int(p->n_groups, cases[i].groups, "%s: a group", cases[i].says);
                if (p->n_groups) {
                    is_int(p->groups[0].may_fail, cases[i].may, "%s: of which", cases[i].says);
                    is_int(p->groups[0].stops, cases[i].stops, "%s: it stops", cases[i].says);
                }
                bool aside = def(&l, task(&l, "early/n2"))->flags & DEF_F_ASIDE;
                bool about = def(&l, task(&l, "serve/n2"))->flags & DEF_F_ASIDE;
                is_int(aside, cases[i].stops && cases[i].barclamp != fuel,
                       "%s: what it is not about", cases[i].says);
                ok(!about, "%s: and what it is", cases[i].says);
                if (*cases[i].chunk)
                    is_text(task_rule_name(task(&l, "web:chunk-0")->rule), cases[i].chunk,
                            "%s: between chunks", cases[i].says);
            }
        }
        laid_close(&l);
    }
}

int main(void)
{
    test_rollouts();
    test_places();
    test_carriers_kept();
    test_carriers_many();
    test_closing();
    test_forgiving();
    test_stage_rules();
    return tap_done();
}
