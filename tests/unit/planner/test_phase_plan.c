/* test_phase_plan.c - a graph of phases becomes a plan: noderoles, steps, rules, pools
 *
 * RFC 08, sections 5 and 6, rule by rule.  Whether an engine takes such plans and runs them as they
 * are meant: tests/unit/sim/test_phase_run.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_bed.h"

#include "fake_world.h"
#include "model/states.h"
#include "planner/phase_plan.h"

static const char catalog_text[] = "barclamp: site\n"
                                   "pools: {uplink: 3}\n"
                                   "jigs:\n"
                                   "  - {name: shell, implementation: script}\n"
                                   "roles:\n"
                                   "  - name: db\n"
                                   "    jig: shell\n"
                                   "    actions:\n"
                                   "      converge: [{name: prepare}]\n"
                                   "      install:\n"
                                   "        - {name: unpack, requires: [fetch-a, fetch-b]}\n"
                                   "        - {name: fetch-a, requires: [], pools: [uplink]}\n"
                                   "        - {name: fetch-b, requires: [], pools: [uplink]}\n";

enum { NODES = 4, DEPLOYMENT = 7 };

struct laid {
    struct phase_bed b;
    struct phase_place machines[NODES], services[NODES * 4];
    uint32_t nodes[NODES], carriers[2], n_carriers;
    struct phase_steps two; /* what every install is */
    struct phase_steps before, after;
    uint32_t known_pool;
    struct planner_world world;
    struct phase_plan made;
    unsigned asked;
};

static uint32_t some_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    (void)ret_size;
    struct laid *l = ctx;
    return str_is(name, "role:7/web") ? l->known_pool : 0;
}

static uint32_t no_def(void *ctx, uint64_t digest)
{
    (void)ctx;
    (void)digest;
    return 0;
}

/* Install is two steps, one behind the other; configure nothing; all else one. */
static int phase_is(void *ctx, uint32_t service, enum phase_kind phase, uint32_t variant,
                    struct phase_steps *ret, struct err *e)
{
    static const uint32_t first[] = {0};
    static const struct plan_pool pool[] = {{{"net", 3}, 5}};
    struct laid *l = ctx;
    uint32_t n = phase == PHASE_INSTALL ? 2 : 1;
    struct phase_step *steps = arena_new(&l->b.mem, struct phase_step, 2);
    l->asked++;
    if (phase == PHASE_ACTION)
        return err_set(e, ERR_REFUSED, "no action");
    for (uint32_t i = 0; i < n; i++)
        steps[i].def = (struct plan_def){
            .name = str_of(arena_printf(&l->b.mem, "%s-%u", phase_kind_name(phase), i)),
            .role = str_of("r"),
            .jig = 1,
            .digest = ((uint64_t)service + 2) * 1000 + (uint64_t)phase * 10 + i + variant * 100000,
            .body = str_of("{}")};
    if (n == 2)
        steps[1] = (struct phase_step){steps[1].def, first, 1, pool, 1};
    *ret = (struct phase_steps){steps, phase == PHASE_CONFIGURE ? 0 : n};
    return 0;
}

static void laid_open(struct laid *l)
{
    *l = (struct laid){0};
    bed_init(&l->b);
    l->world = (struct planner_world){.ctx = l, .pool = some_pool, .def = no_def};
    for (uint32_t i = 0; i < NODES; i++) {
        l->nodes[i] = 101 + i;
        l->machines[i] = (struct phase_place){
            .role = str_of("machine"), .cohort = 1, .user = str_of("")};
    }
    for (uint32_t i = 0; i < NODES * 4; i++)
        l->services[i] = (struct phase_place){
            .role = str_of("service"), .cohort = 2, .user = str_of("{}"), .data = 9, .lens = 8};
}

static int laid_make(struct laid *l)
{
    plan_free(l->made.plan);
    l->made = (struct phase_plan){0};
    return phase_plan_make(&(struct phase_plan_request){.graph = l->b.g,
                                                        .work = &l->b.w,
                                                        .services = l->services,
                                                        .machines = l->machines,
                                                        .nodes = l->nodes,
                                                        .world = &l->world,
                                                        .deployment = DEPLOYMENT,
                                                        .catalog = 3,
                                                        .carriers = l->carriers,
                                                        .n_carriers = l->n_carriers,
                                                        .steps = phase_is,
                                                        .ctx = l,
                                                        .before = &l->before,
                                                        .after = &l->after},
                           &l->made, &l->b.err);
}

static bool laid_planned(struct laid *l)
{
    return laid_make(l) >= 0 || ok(false, "plan: %s", l->b.err.text);
}

static void laid_close(struct laid *l)
{
    plan_free(l->made.plan);
    bed_done(&l->b);
}

/* "install-1 w3 run s1 <- 0 4" */
static const char *task_show(struct laid *l, uint32_t i)
{
    SCOPED_BUF(b);
    const struct plan *p = l->made.plan;
    const struct plan_task *t = &p->tasks[i];
    buf_puts(&b, p->defs[t->def & ~PLAN_NEW].name.s);
    buf_printf(&b, " w%u %s", t->weight, task_rule_name((enum task_rule)t->rule));
    if (t->span)
        buf_printf(&b, " s%u", t->span);
    for (uint32_t k = 0; k < t->n_deps; k++)
        buf_printf(&b, "%s%u", k ? " " : " <- ", t->deps[k] & ~PLAN_NEW);
    return arena_strndup(&l->b.mem, b.data, b.len);
}

static uint32_t task_of(struct laid *l, const char *name)
{
    return l->made.task_of[bed_find(&l->b, name)];
}

/* --- new --- */

static void test_new(void)
{
    struct laid l;
    laid_open(&l);
    bed_service(&l.b, "db: install configure start");
    bed_service(&l.b, "web: start; run db");
    bed_node(&l.b, "n1: db");
    bed_node(&l.b, "n2: db web");
    l.b.nodes.at[0].machine = l.b.nodes.at[1].machine = PHASE_F_CREATE;
    if (bed_does(&l.b, PHASE_OP_CREATE, "", "") && laid_planned(&l)) {
        const struct plan *p = l.made.plan;
        const struct plan_noderole *nr = p->noderoles;
        is_int(p->n_noderoles, 6, "a noderole for each machine and service, and for the joins");
        is_int(p->n_changes, 0, "none lives");
        is_int(nr[0].node, 101, "a machine on its node");
        is_int(nr[0].n_parents, 0, "needs nobody");
        is_int(nr[1].parents[0] & ~PLAN_NEW, 0, "a service needs its machine");
        is_int(nr[4].parents[0] & ~PLAN_NEW, 2, "that of its node");
        ok(nr[1].data == 9 && nr[1].lens == 8 && nr[1].cohort == 2 &&
               nr[1].deployment == DEPLOYMENT && str_is(nr[1].user, "{}"),
           "it is configured as was said");
        is_int(nr[5].node, 0, "joins have no node");
        is_int(p->catalog, 3, "of this generation");
        is_text(task_show(&l, 1), "install-0 w5 run <- 0", "steps follow each other");
        is_text(task_show(&l, 2), "install-1 w4 run s1 <- 1", "with their own pools");
        is_text(task_show(&l, 3), "configure:db w3 join-all <- 2", "no steps: passed in its turn");
        is_text(task_show(&l, 4), "start-0 w2 run <- 3", "the next phase behind the last step");
        is_text(task_show(&l, task_of(&l, "n2:start:web")), "start-0 w1 run <- 5 11",
                "others through a join");
        is_text(task_show(&l, 11), "join:start:db w1 join-all <- 4 9", "which waits for all");
        is_int(l.asked, 5, "each phase of a service is asked for once");
        is_int(p->n_pools, 1, "one pool");
        is_text(p->pools[0].name.s, "net", "of that name");
        struct err e;
        SCOPED(plan) *copy = NULL;
        SCOPED_BUF(bytes);
        plan_encode(&bytes, p);
        ok(plan_decode(buf_str(&bytes), &copy, &e) >= 0, "it can be stored");
    }
    l.machines[1].absent = true;
    is_int(laid_make(&l), -ERR_INVALID, "what a machine has to do needs one");
    l.b.nodes.at[1].machine = 0;
    if (bed_does(&l.b, PHASE_OP_CREATE, "", "") && laid_planned(&l))
        is_int(l.made.plan->noderoles[2].n_parents, 0, "a node without one: no need");
    l.machines[1].absent = false;
    l.b.services.at[1].actions = 0;
    if (bed_does(&l.b, PHASE_OP_CREATE, "", "") && laid_planned(&l)) {
        is_int(l.made.plan->noderoles[2].n_tasks, 0, "a machine that nobody has to make: no task");
        is_int(l.made.plan->noderoles[4].n_tasks, 1, "a service without actions: one");
        is_text(task_show(&l, l.made.plan->noderoles[4].first_task), "bound w1 join-all",
                "that nothing executes");
    }
    l.b.services.at[1].actions = PHASE_F_ACTION;
    if (bed_does(&l.b, PHASE_OP_ACT, "", ""))
        is_int(laid_make(&l), -ERR_REFUSED, "what steps refuse is refused");
    laid_close(&l);
}

/* --- living --- */

static void live(struct laid *l)
{
    uint32_t cells = l->b.w.first[l->b.nodes.n];
    for (uint32_t i = 0; i < l->b.nodes.n; i++)
        l->machines[i].noderole = 50 + i;
    for (uint32_t i = 0; i < cells; i++)
        l->services[i].noderole = 40 - i; /* ids in no order of ours */
}

static void test_live(void)
{
    struct laid l;
    laid_open(&l);
    bed_service(&l.b, "db: install configure start stop remove");
    bed_service(&l.b, "web: install start stop; run db");
    bed_node(&l.b, "n1: db");
    bed_node(&l.b, "n2: db web");
    if (bed_does(&l.b, PHASE_OP_RESTART, "db", "")) {
        live(&l);
        l.carriers[0] = 12;
        l.n_carriers = 1;
        for (uint32_t i = 0; i < 3; i++) {
            l.services[i].kept = PHASE_F_INSTALL;
            l.services[i].once = PHASE_F_STOP;
            l.services[i].reason = REASON_OPERATION;
            l.services[i].flags = NODEROLE_F_CLUSTER;
        }
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            is_int(p->n_noderoles, 0, "nothing is new");
            is_int(p->n_changes, 4, "three get other tasks, and the carrier");
            is_int(p->changes[0].noderole, 12, "by id");
            is_int(p->changes[1].noderole, 38, "by id");
            is_int(p->changes[1].first_task, p->changes[0].n_tasks, "tasks in that order");
            is_int(p->changes[1].what, PLAN_C_TASKS | PLAN_C_GROUP, "tasks are replaced");
            is_int(p->changes[1].group, 0, "and no roll-out that it was in goes on");
            is_int(p->changes[1].reason, REASON_OPERATION, "for this reason");
            is_int(p->changes[1].flags, NODEROLE_F_CLUSTER, "flags stay");
            uint32_t stop = task_of(&l, "n2:stop:web");
            is_text(task_show(&l, stop), "stop-0 w4 once", "of the occasion: once");
            is_text(task_show(&l, stop + 1), "install-0 w3 keep <- 1", "done before: kept");
            is_text(task_show(&l, stop + 2), "install-1 w2 keep <- 2", "all its steps");
            is_text(task_show(&l, stop + 3), "start-0 w1 run <- 3 1 0",
                    "the next waits for it, and for what it waited for anyway");
        }
        l.services[0].other_data = true;
        l.services[0].other_lens = true;
        l.services[0].data = 77;
        if (laid_planned(&l)) {
            const struct plan_change *c = plan_change_find(l.made.plan, 40);
            is_int(c->what, PLAN_C_TASKS | PLAN_C_GROUP | PLAN_C_DATA | PLAN_C_LENS,
                   "other data as well");
            is_int(c->data, 77, "with their digest");
        }
    }
    if (bed_does(&l.b, PHASE_OP_STOP, "web", "")) {
        for (uint32_t i = 0; i < 3; i++)
            l.services[i] = (struct phase_place){.noderole = 40 - i, .user = str_of("")};
        l.services[2].target = TARGET_STOPPED;
        l.services[2].kept = PHASE_F_INSTALL;
        if (laid_planned(&l)) {
            is_int(l.made.plan->n_changes, 2, "who has nothing to do stays as it is");
            is_int(plan_change_find(l.made.plan, 38)->target, TARGET_STOPPED, "a target");
            is_text(task_show(&l, task_of(&l, "n2:stop:web")), "stop-0 w1 run <- 1",
                    "who is to stay stopped stops last");
        }
    }
    if (bed_does(&l.b, PHASE_OP_SHRINK, "", "n2")) {
        l.services[1].removed = l.services[2].removed = l.machines[1].removed = true;
        l.services[2].kept = PHASE_F_INSTALL;
        if (laid_planned(&l)) {
            const struct plan_change *c = plan_change_find(l.made.plan, 39);
            is_int(c->what, PLAN_C_REMOVE, "who goes");
            is_int(c->n_tasks, 2, "stops and is removed");
            is_int(plan_change_find(l.made.plan, 38)->n_tasks, 1, "nothing of it is kept");
            ok(!plan_change_find(l.made.plan, 40), "who stays stays");
            is_int(plan_change_find(l.made.plan, 51)->n_tasks, 1, "the machine is deleted");
        }
    }
    laid_close(&l);
}

static void test_machine(void)
{
    struct laid l;
    laid_open(&l);
    bed_service(&l.b, "db: start");
    bed_node(&l.b, "n1: db");
    if (bed_does(&l.b, PHASE_OP_CREATE, "", "")) {
        l.machines[0].undoes = true;
        if (laid_planned(&l)) {
            is_text(task_show(&l, 0), "delete-0 w5 undo", "what undoes comes first");
            is_text(task_show(&l, 1), "create-0 w4 run <- 0", "what it undoes behind it");
            is_int(l.made.plan->noderoles[0].n_tasks, 4, "it is one of its tasks");
        }
        l.machines[0].clears = true;
        if (laid_planned(&l)) {
            is_text(task_show(&l, 0), "delete-0 w6 once", "what was left goes before, once");
            is_text(task_show(&l, 1), "delete-0 w5 undo <- 0", "what undoes is still there");
            is_text(task_show(&l, 2), "create-0 w4 run <- 1", "and what it undoes");
            is_int(l.made.plan->noderoles[0].n_tasks, 5, "all of it of one noderole");
            is_int(task_of(&l, "n1:create"), 2, "the phase is where it begins");
        }
        l.machines[0].undoes = false;
        if (laid_planned(&l))
            is_text(task_show(&l, 0), "create-0 w4 run", "who undoes nothing clears nothing");
        l.machines[0].clears = false;
    }
    if (bed_does(&l.b, PHASE_OP_DELETE, "", "")) {
        l.machines[0] = (struct phase_place){
            .noderole = 1, .removed = true, .undoes = true, .user = str_of("")};
        l.services[0] = (struct phase_place){.noderole = 2, .removed = true, .user = str_of("")};
        if (laid_planned(&l)) {
            is_text(task_show(&l, 0), "delete-0 w1 run", "deleted once");
            is_int(plan_change_find(l.made.plan, 2)->n_tasks, 0, "services go with it");
        }
    }
    laid_close(&l);
}

/* --- around it --- */

/* Steps called NAME-0, NAME-1 ... one behind the other. */
static struct phase_steps chain(struct laid *l, const char *name, uint32_t n, uint64_t digest)
{
    struct phase_step *steps = arena_new(&l->b.mem, struct phase_step, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *after = arena_new(&l->b.mem, uint32_t, 1);
        after[0] = i ? i - 1 : 0;
        steps[i] = (struct phase_step){
            .def = {.name = str_of(arena_printf(&l->b.mem, "%s-%u", name, i)),
                    .role = str_of("r"),
                    .jig = 1,
                    .digest = digest + i,
                    .flags = DEF_F_OUTSIDE,
                    .body = str_of("{}")},
            .after = after,
            .n_after = i > 0};
    }
    return (struct phase_steps){steps, n};
}

static void test_frame(void)
{
    static const struct plan_pool pool[] = {{{"net", 3}, 5}};
    struct laid l;
    laid_open(&l);
    bed_service(&l.b, "db: start");
    bed_service(&l.b, "web: start; run db");
    bed_node(&l.b, "n1: db");
    bed_node(&l.b, "n2: db web");
    l.before = chain(&l, "before", 2, 900);
    l.after = chain(&l, "after", 2, 950);
    if (bed_does(&l.b, PHASE_OP_START, "", "") && laid_planned(&l)) {
        const struct plan *p = l.made.plan;
        const struct plan_noderole *joins = &p->noderoles[5], *own = &p->noderoles[6];
        is_int(p->n_noderoles, 7, "two machines, three services, joins, and what is around");
        ok(!own->node && str_is(own->role, CATALOG_CARRIER) && own->deployment == DEPLOYMENT,
           "which is of no node");
        is_int(own->n_tasks, 5, "with both steps before, a join, both after");
        is_int(joins->n_tasks, 1, "and apart from joins");
        uint32_t at = own->first_task, db = task_of(&l, "n1:start:db");
        uint32_t web = task_of(&l, "n2:start:web");
        is_text(task_show(&l, at), "before-0 w6 run", "the first of all");
        is_text(task_show(&l, at + 1), arena_printf(&l.b.mem, "before-1 w5 run <- %u", at),
                "its next");
        is_text(task_show(&l, db), arena_printf(&l.b.mem, "start-0 w4 run <- %u", at + 1),
                "who would wait for nothing waits for its last");
        is_text(task_show(&l, joins->first_task),
                arena_printf(&l.b.mem, "join:start:db w3 join-all <- %u %u", db,
                             task_of(&l, "n2:start:db")),
                "who waits for another does not");
        is_text(task_show(&l, at + 2), arena_printf(&l.b.mem, "join:end w2 join-over <- %u", web),
                "a join of all that nobody waits for, whatever became of it");
        is_text(task_show(&l, at + 3), arena_printf(&l.b.mem, "after-0 w2 run <- %u", at + 2),
                "then what comes after");
        is_text(task_show(&l, at + 4), arena_printf(&l.b.mem, "after-1 w1 run <- %u", at + 3),
                "in its order");
        is_int(p->tasks[web].weight, 3, "what comes after is behind everything");
    }
    l.before = (struct phase_steps){0};
    if (laid_planned(&l)) {
        const struct plan *p = l.made.plan;
        is_text(task_show(&l, task_of(&l, "n1:start:db")), "start-0 w4 run",
                "nothing before: nobody waits");
        is_int(p->noderoles[6].n_tasks, 3, "a join and what comes after");
    }
    live(&l);
    l.before = chain(&l, "before", 1, 900);
    l.after = (struct phase_steps){0};
    l.carriers[0] = 12;
    l.carriers[1] = 13;
    l.n_carriers = 2;
    if (laid_planned(&l)) {
        const struct plan *p = l.made.plan;
        is_int(p->n_noderoles, 0, "carriers that live are used again");
        is_int(plan_change_find(p, 12)->n_tasks, 1, "the first for joins");
        is_int(plan_change_find(p, 13)->n_tasks, 1, "the next for what is around");
        is_text(task_show(&l, plan_change_find(p, 13)->first_task), "before-0 w3 run",
                "with nothing after there is no join either");
    }
    l.n_carriers = 1;
    if (laid_planned(&l))
        is_int(l.made.plan->n_noderoles, 1, "and what is missing is made");
    struct phase_step pooled = l.before.at[0];
    pooled.pools = pool;
    pooled.n_pools = 1;
    l.before = (struct phase_steps){&pooled, 1};
    is_int(laid_make(&l), -ERR_INVALID, "what is of no node is in no pool");
    l.before = chain(&l, "before", 1, 900);
    l.after = chain(&l, "after", 1, 950);
    l.b.services.at[0].actions = l.b.services.at[1].actions = 0;
    if (bed_does(&l.b, PHASE_OP_START, "", "") && laid_planned(&l))
        is_int(l.made.plan->n_tasks, 0, "around nothing there is nothing");
    laid_close(&l);
}

/* --- pools --- */

static void test_pools(void)
{
    struct laid l;
    laid_open(&l);
    l.known_pool = 6;
    bed_service(&l.b, "web: install stop start; rolling 2");
    for (int i = 1; i <= 3; i++)
        bed_node(&l.b, arena_printf(&l.b.mem, "n%d: web", i));
    if (bed_does(&l.b, PHASE_OP_UPGRADE, "", "")) {
        live(&l);
        for (uint32_t i = 0; i < 3; i++)
            l.services[i].variant = i / 2;
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            uint32_t stop = task_of(&l, "n2:stop:web");
            is_int(p->n_spans, 3, "each node has one span");
            ok(p->tasks[stop].span && p->tasks[stop].span == p->tasks[stop + 3].span,
               "for all of its tasks");
            is_int(p->spans[0].n_pools, 2, "that of the strategy, and those of its steps");
            is_int(p->spans[0].pools[0], 6, "one that lives");
            is_int(l.made.n_pools, 1, "it gets");
            is_int(l.made.pools[0].size, 2, "the size that is wanted");
            is_int(p->n_pools, 1, "the other is new");
            ok(p->tasks[stop].def != p->tasks[task_of(&l, "n3:stop:web")].def,
               "another variant has other steps");
            ok(p->tasks[stop].def == p->tasks[task_of(&l, "n1:stop:web")].def,
               "the same one the same");
        }
    }
    laid_close(&l);
}

/* --- roll-outs --- */

static void test_rollouts(void)
{
    struct laid l;
    laid_open(&l);
    bed_service(&l.b, "web: install stop start; rolling 2");
    bed_service(&l.b, "db: install stop start; one_by_one");
    bed_service(&l.b, "ui: install stop start; run web db");
    l.b.services.at[0].failures = (struct graph_tolerance){true, true, 50};
    for (int i = 1; i <= 3; i++)
        bed_node(&l.b, arena_printf(&l.b.mem, "n%d: web %s", i, i < 3 ? "db" : "ui"));
    if (bed_does(&l.b, PHASE_OP_UPGRADE, "", "")) {
        live(&l);
        if (laid_planned(&l)) {
            const struct plan *p = l.made.plan;
            uint32_t groups[3] = {0};
            is_int(p->n_groups, 2, "who has a strategy is a roll-out");
            ok(str_is(p->groups[0].name, "web") && p->groups[0].stops, "by its name");
            is_int(p->groups[0].may_fail, 1, "half of three may fail");
            is_int(p->groups[1].may_fail, 0, "none, unless somebody says so");
            for (uint32_t i = 0; i < p->n_changes; i++)
                if (p->changes[i].what & PLAN_C_GROUP)
                    groups[p->changes[i].group]++;
            is_int(groups[1], 3, "three members");
            is_int(groups[2], 2, "two of the other");
            is_int(groups[0], 4, "machines and who has no strategy are in none");
            uint32_t tolerate = 0, all = 0;
            for (uint32_t i = 0; i < p->n_tasks; i++) {
                tolerate += p->tasks[i].rule == RULE_JOIN_TOLERATE;
                all += p->tasks[i].rule == RULE_JOIN_ALL;
            }
            ok(tolerate > 0 && !all, "joins forgive what it forgives");
        }
    }
    if (bed_does(&l.b, PHASE_OP_RESTART, "", "") && laid_planned(&l))
        is_int(l.made.plan->n_groups, 0, "all at once is none");
    for (int i = 0; i < 6; i++)
        l.services[i].noderole = 0;
    if (bed_does(&l.b, PHASE_OP_CREATE, "", "") && laid_planned(&l))
        is_int(l.made.plan->n_groups, 0, "nor is what nobody serves by yet");
    laid_close(&l);
}

/* --- from the catalog --- */

static void test_catalog(void)
{
    struct catalog *cat = fake_catalog(catalog_text);
    struct fake_world w;
    struct phase_steps steps;
    struct err e;
    SCOPED_ARENA(mem);
    fake_init(&w, cat, 1);
    const struct catalog_role *db = catalog_role_get(cat, str_of("db"));
    const struct catalog_action *a = catalog_action_get(db, str_of("install"));
    if (ok(phase_steps_make(cat, &w.face, db, a, &mem, &steps, &e) >= 0, "steps of an action")) {
        is_int(steps.n, 3, "all of them");
        ok(str_is(steps.at[2].def.name, "unpack"), "in their order");
        is_int(steps.at[2].n_after, 2, "behind both");
        is_int(steps.at[0].n_pools, 1, "with pools");
        ok(str_is(steps.at[0].pools[0].name, "uplink") && steps.at[0].pools[0].size == 3,
           "as the catalog has them");
        ok(steps.at[0].def.digest && steps.at[0].def.digest != steps.at[1].def.digest,
           "a definition is what its digest says");
        has_text(steps.at[0].def.body.s, "\"type\":", "and has a body");
    }
    w.jigs.n = 0;
    is_int(phase_steps_make(cat, &w.face, db, a, &mem, &steps, &e), -ERR_REFUSED,
           "no jig: refused");
    has_text(e.text, "role db: no jig", "and who needs it");
    fake_done(&w);
    catalog_unref(cat);
}

int main(void)
{
    test_new();
    test_live();
    test_machine();
    test_frame();
    test_pools();
    test_rollouts();
    test_catalog();
    return tap_done();
}
