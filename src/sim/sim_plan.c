/* sim_plan.c - random plans against the live graph
 *
 * What a planner would promise holds: parents come before children and stand lower, order edges
 * point backwards, a child's first task waits for its parents, spans stay on one node and nothing
 * inside a span waits for what is outside it.  Everything else is chance: stages and joins without
 * a node, tasks left out, pairs of noderoles whose tasks wait for each other in turn, groups of
 * which some may fail.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

enum { PARENTS_MOST = 4, TASKS_MOST = 4, DEPS_MOST = 12, DEFS_NEW_MOST = 6, GROUPS_MOST = 3 };

struct draft { /* a plan in the making */
    struct sim *sim;
    struct plan *plan;
    uint32_t base_noderole, base_task, base_def;
};

static void def_draw(struct draft *d, uint32_t i)
{
    struct rng *r = &d->sim->world;
    struct plan_def *def = &d->plan->defs[i];
    static const uint8_t repeats[] = {REPEAT_SAFE, REPEAT_SAFE, REPEAT_TOKEN, REPEAT_ONCE};
    *def = (struct plan_def){.name = str_of("task"),
                             .role = str_of("role"),
                             .body = str_of("{}"),
                             .jig = rng_from(r, 1, d->sim->n_jigs),
                             .digest = rng_next(r) | 1,
                             .repeat = repeats[rng_below(r, 4)],
                             .hold = rng_chance(r, 400) ? HOLD_NODE : HOLD_NOTHING,
                             .retries = rng_below(r, 4)};
    def->backoff_ms = rng_chance(r, 700) ? rng_from(r, 50, 4000) : 0;
    def->timeout_ms = rng_chance(r, 500) ? rng_from(r, 1500, 30000) : 0;
    def->deadline_ms = rng_chance(r, 300) ? rng_from(r, 20000, 120000) : 0;
    if (rng_chance(r, 300))
        def->flags |= DEF_F_SURVIVES_REBOOT;
    if (rng_chance(r, 80))
        def->flags |= DEF_F_MAY_FAIL;
    if (rng_chance(r, 60))
        def->flags |= DEF_F_TAKES_DOWN;
    else if (rng_chance(r, 150))
        def->flags |= DEF_F_OUTSIDE;
    else if (rng_chance(r, 700))
        def->flags |= DEF_F_CHAINS;
    if (rng_chance(r, 100))
        def->flags |= DEF_F_LASTING;
    if (rng_chance(r, 150))
        def->flags |= DEF_F_UNDONE;
    if (rng_chance(r, 200))
        def->flags |= DEF_F_ASIDE;
}

/* Does it live on a node, and is it to stay? */
static bool wanted(const struct sim *s, uint32_t id)
{
    struct noderole_view v;
    return anneal_noderole(s->server.engine, id, &v) && v.target != TARGET_ABSENT && v.node;
}

/* Some noderole, this plan's or a live one; 0 if there is none. */
static uint32_t parent_draw(struct draft *d, uint32_t i, uint32_t node)
{
    struct rng *r = &d->sim->world;
    bool fresh = i > 0 && (d->base_noderole == 1 || rng_chance(r, 700));
    for (uint32_t tries = 0; tries < 4; tries++) {
        struct noderole_view v;
        if (fresh) {
            uint32_t k = rng_below(r, i);
            if (d->plan->noderoles[k].node == 0)
                continue;
            if (tries == 3 || d->plan->noderoles[k].node == node || rng_chance(r, 250))
                return PLAN_NEW | k;
        } else if (d->base_noderole > 1) {
            uint32_t id = rng_from(r, 1, d->base_noderole - 1);
            if (!wanted(d->sim, id))
                continue;
            anneal_noderole(d->sim->server.engine, id, &v);
            if (tries == 3 || v.node == node || rng_chance(r, 250))
                return id;
        }
    }
    return 0;
}

static uint32_t cohort_of(const struct draft *d, uint32_t ref)
{
    struct noderole_view v = {0};
    if (ref & PLAN_NEW)
        return d->plan->noderoles[ref & ~PLAN_NEW].cohort;
    anneal_noderole(d->sim->server.engine, ref, &v);
    return v.cohort;
}

static void noderole_draw(struct draft *d, uint32_t i)
{
    struct rng *r = &d->sim->world;
    struct plan *p = d->plan;
    struct plan_noderole *nr = &p->noderoles[i];
    uint32_t *parents = arena_new(&p->mem, uint32_t, PARENTS_MOST), want = rng_below(r, 4);
    *nr = (struct plan_noderole){.role = str_of("role"),
                                 .user = str_of(""),
                                 .deployment = 1,
                                 .node = rng_from(r, 1, d->sim->n_nodes),
                                 .cohort = 1,
                                 .data = rng_next(r),
                                 .parents = parents,
                                 .first_task = p->n_tasks,
                                 .n_tasks = rng_from(r, 1, TASKS_MOST)};
    if (p->n_groups > 0 && rng_chance(r, 300))
        nr->group = rng_from(r, 1, p->n_groups);
    if (rng_chance(r, 80)) { /* stages and joins */
        nr->node = 0;
        p->n_tasks += nr->n_tasks;
        return;
    }
    if (rng_chance(r, 40))
        nr->target = TARGET_STOPPED;
    if (rng_chance(r, 80))
        nr->flags |= NODEROLE_F_RERUN_ALWAYS;
    if (rng_chance(r, 100))
        nr->flags |= NODEROLE_F_DESTRUCTIVE;
    for (uint32_t k = 0; k < want; k++) {
        uint32_t ref = parent_draw(d, i, nr->node);
        bool twice = ref == 0;
        for (uint32_t j = 0; j < nr->n_parents; j++)
            twice |= parents[j] == ref;
        if (twice)
            continue;
        parents[nr->n_parents++] = ref;
        uint32_t cohort = cohort_of(d, ref) + 1;
        nr->cohort = nr->cohort > cohort ? nr->cohort : cohort;
    }
    if (rng_chance(r, 400))
        nr->quorums = sim_quorum_draw(r, &p->mem, parents, nr->n_parents, &nr->n_quorums);
    if (nr->n_parents == 0 && rng_chance(r, 150))
        nr->n_tasks = 0; /* as a machine has that is simply there */
    p->n_tasks += nr->n_tasks;
}

static bool has_tasks(const struct draft *d, uint32_t noderole)
{
    struct noderole_view v = {0};
    if (noderole & PLAN_NEW)
        return d->plan->noderoles[noderole & ~PLAN_NEW].n_tasks > 0;
    return anneal_noderole(d->sim->server.engine, noderole, &v) && v.n_tasks > 0;
}

/* First or last task of a noderole, as a reference. */
static uint32_t task_of(const struct draft *d, uint32_t noderole, bool last)
{
    struct noderole_view v = {0};
    if (noderole & PLAN_NEW) {
        const struct plan_noderole *nr = &d->plan->noderoles[noderole & ~PLAN_NEW];
        return PLAN_NEW | (nr->first_task + (last ? nr->n_tasks - 1 : 0));
    }
    anneal_noderole(d->sim->server.engine, noderole, &v);
    return v.first_task + (last ? v.n_tasks - 1 : 0);
}

struct deps {
    uint32_t *at, n;
};

static void dep_add(struct deps *l, uint32_t ref)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (l->at[i] == ref)
            return;
    if (l->n < DEPS_MOST)
        l->at[l->n++] = ref;
}

/* A task that anybody may depend on: an earlier one of this plan, or a live one. */
static void dep_cross(struct draft *d, struct deps *l, uint32_t before)
{
    struct rng *r = &d->sim->world;
    if (before > 0 && (d->base_task == 1 || rng_chance(r, 700)))
        dep_add(l, PLAN_NEW | rng_below(r, before));
    else if (d->base_task > 1)
        dep_add(l, rng_from(r, 1, d->base_task - 1));
}

static uint32_t span_draw(struct draft *d)
{
    struct plan *p = d->plan;
    struct rng *r = &d->sim->world;
    uint32_t *pools = arena_new(&p->mem, uint32_t, 2), n = rng_from(r, 1, 2);
    uint32_t from = d->sim->n_pools, i = rng_below(r, from);
    bool own = p->n_pools > 0 && rng_chance(r, 300);
    pools[0] = own ? PLAN_NEW | 0 : 1 + i;
    pools[1] = 1 + (i + 1) % from;
    p->spans[p->n_spans] = (struct plan_span){pools, n};
    return ++p->n_spans;
}

/* Members of a roll-out start one after the other, as by a strategy. */
static bool rolls_out(const struct plan *p, const struct plan_noderole *nr)
{
    return nr->group && p->groups[nr->group - 1].stops;
}

static uint32_t strategy_span(struct draft *d)
{
    struct plan *p = d->plan;
    uint32_t *pools = arena_new(&p->mem, uint32_t, 1);
    pools[0] = PLAN_NEW | 0;
    p->spans[p->n_spans] = (struct plan_span){pools, 1};
    return ++p->n_spans;
}

/* Some who live get a new peer to need.  Peers have no parents and wait for
 * nobody, so no circle can close. */
static void peers_draw(struct draft *d)
{
    struct plan *p = d->plan;
    struct rng *r = &d->sim->world;
    p->needs = arena_new(&p->mem, struct plan_need, 4);
    for (uint32_t i = 0; i < p->n_noderoles && d->base_noderole > 1 && p->n_needs < 4; i++) {
        uint32_t child = rng_from(r, 1, d->base_noderole - 1);
        if (p->noderoles[i].n_parents > 0 || p->noderoles[i].node == 0 || !wanted(d->sim, child) ||
            !has_tasks(d, child) ||
            sim_plan_seated(d->sim, child) || /* its parents are those of its entry */
            (d->sim->marks.at[child] & SIM_PEER) || rng_chance(r, 700))
            continue;
        uint32_t n;
        const uint32_t *parents = anneal_parents(d->sim->server.engine, child, &n);
        uint32_t like = n > 0 && rng_chance(r, 500) ? parents[rng_below(r, n)] : 0;
        p->needs[p->n_needs++] = (struct plan_need){child, PLAN_NEW | i, like};
    }
}

static bool is_peer(const struct plan *p, uint32_t i)
{
    for (uint32_t k = 0; k < p->n_needs; k++)
        if (p->needs[k].parent == (PLAN_NEW | i))
            return true;
    return false;
}

/* A stage or join waits for some, wherever they are. */
static void joins_draw(struct draft *d, uint32_t i)
{
    struct rng *r = &d->sim->world;
    struct plan_noderole *nr = &d->plan->noderoles[i];
    for (uint32_t at = nr->first_task; at < nr->first_task + nr->n_tasks; at++) {
        struct deps l = {arena_new(&d->plan->mem, uint32_t, DEPS_MOST), 0};
        for (uint32_t k = rng_below(r, 6); k > 0; k--)
            dep_cross(d, &l, at);
        d->plan->tasks[at] = (struct plan_task){.noderole = PLAN_NEW | i,
                                                .def = PLAN_NEW | rng_below(r, d->plan->n_defs),
                                                .weight = 1,
                                                .deps = l.at,
                                                .n_deps = l.n,
                                                .rule = sim_rule_draw(r)};
    }
}

/* Two neighbours without parents, their tasks waiting for each other in turn: a1 b1 a2 b2 ... */
static void pair_weave(struct draft *d, uint32_t i)
{
    struct plan *p = d->plan;
    struct plan_noderole *a = &p->noderoles[i - 1], *b = &p->noderoles[i];
    for (uint32_t k = 0; k < a->n_tasks || k < b->n_tasks; k++) {
        struct plan_task *x = &p->tasks[a->first_task + k], *y = &p->tasks[b->first_task + k];
        struct deps l;
        if (k > 0 && k < a->n_tasks && k <= b->n_tasks) {
            l = (struct deps){(uint32_t *)x->deps, x->n_deps};
            dep_add(&l, PLAN_NEW | (b->first_task + k - 1));
            x->n_deps = l.n;
        }
        if (k < b->n_tasks && k < a->n_tasks) {
            l = (struct deps){(uint32_t *)y->deps, y->n_deps};
            dep_add(&l, PLAN_NEW | (a->first_task + k));
            y->n_deps = l.n;
        }
    }
}

/* All their tasks come one after the other, and nothing else of the plan stands between them. */
static bool may_weave(const struct draft *d, uint32_t i)
{
    for (uint32_t n = i - 1; n <= i; n++) {
        const struct plan_noderole *nr = &d->plan->noderoles[n];
        if (nr->n_parents > 0 || nr->node == 0 || is_peer(d->plan, n))
            return false;
        for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
            for (uint32_t k = 0; k < d->plan->tasks[t].n_deps; k++) {
                uint32_t dep = d->plan->tasks[t].deps[k] & ~PLAN_NEW;
                if ((d->plan->tasks[t].deps[k] & PLAN_NEW) && (dep != t - 1 || t == nr->first_task))
                    return false;
            }
        for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
            if (d->plan->tasks[t].span)
                return false;
    }
    return true;
}

static void tasks_draw(struct draft *d, uint32_t i)
{
    struct plan *p = d->plan;
    struct rng *r = &d->sim->world;
    struct plan_noderole *nr = &p->noderoles[i];
    if (nr->n_tasks == 0)
        return;
    if (nr->node == 0) {
        joins_draw(d, i);
        return;
    }
    bool peer = is_peer(p, i), chain = rng_chance(r, rolls_out(p, nr) ? 800 : 350),
         phased = !chain && rng_chance(r, 200);
    uint32_t span = chain && rolls_out(p, nr) ? strategy_span(d) : chain ? span_draw(d) : 0;
    if (phased)
        nr->flags |= NODEROLE_F_PHASED;
    for (uint32_t k = 0; k < nr->n_tasks; k++) {
        uint32_t at = nr->first_task + k;
        struct plan_task *t = &p->tasks[at];
        struct deps l = {arena_new(&p->mem, uint32_t, DEPS_MOST), 0};
        if (k > 0 && (chain || rng_chance(r, 850)))
            dep_add(&l, PLAN_NEW | (at - 1));
        for (uint32_t j = 0; phased && j < nr->n_parents; j++) {
            if (!has_tasks(d, nr->parents[j]))
                continue;
            if (k == 0 || l.n == 0) /* the parent's beginning before ours ... */
                dep_add(&l, task_of(d, nr->parents[j], false));
            if (k + 1 == nr->n_tasks) /* ... and its end before our end */
                dep_add(&l, task_of(d, nr->parents[j], true));
        }
        if (!peer && (k == 0 || !chain) && rng_chance(r, 150))
            dep_cross(d, &l, nr->first_task);
        *t = (struct plan_task){
            .noderole = PLAN_NEW | i, .weight = 1, .span = span, .deps = l.at, .n_deps = l.n};
        t->def = d->base_def > 1 && rng_chance(r, 300) ? rng_from(r, 1, d->base_def - 1)
                                                       : PLAN_NEW | rng_below(r, p->n_defs);
        if (!span && rng_chance(r, 120))
            t->span = span_draw(d);
        else if (!span && rng_chance(r, 60))
            t->rule = RULE_SKIP;
        else if (rng_chance(r, 60))
            t->rule = rng_chance(r, 500) ? RULE_KEEP : RULE_ONCE;
        if (k == 0 && chain && rng_chance(r, 300))
            t->rule = RULE_UNDO;
    }
    if (i > 0 && rng_chance(r, 400) && may_weave(d, i)) {
        nr->flags |= NODEROLE_F_PHASED;
        p->noderoles[i - 1].flags |= NODEROLE_F_PHASED;
        pair_weave(d, i);
    }
}

/* Longest remaining path: order edges point backwards, so one pass from the end will do. */
static void weights_set(struct plan *p)
{
    for (uint32_t i = p->n_tasks; i > 0; i--) {
        const struct plan_task *t = &p->tasks[i - 1];
        for (uint32_t k = 0; k < t->n_deps; k++)
            if (t->deps[k] & PLAN_NEW) {
                struct plan_task *dep = &p->tasks[t->deps[k] & ~PLAN_NEW];
                dep->weight = dep->weight > t->weight ? dep->weight : t->weight + 1;
            }
    }
}

static struct plan *plan_draw(struct sim *s, uint32_t noderoles)
{
    const struct anneal *a = s->server.engine;
    struct rng *r = &s->world;
    struct plan *p = plan_new();
    struct draft d = {s, p, anneal_noderole_end(a), anneal_task_end(a), anneal_def_end(a)};
    p->n_defs = rng_from(r, 2, DEFS_NEW_MOST);
    p->defs = arena_new(&p->mem, struct plan_def, p->n_defs);
    for (uint32_t i = 0; i < p->n_defs; i++)
        def_draw(&d, i);
    p->n_pools = rng_chance(r, 300);
    p->pools = arena_new(&p->mem, struct plan_pool, 1);
    p->pools[0] = (struct plan_pool){str_of("strategy"), rng_from(r, 1, 3)};
    p->groups = arena_new(&p->mem, struct plan_group, GROUPS_MOST);
    p->n_groups = rng_below(r, GROUPS_MOST + 1);
    for (uint32_t i = 0; i < p->n_groups; i++) {
        bool stops = rng_chance(r, 500), any = rng_chance(r, stops ? 50 : 200);
        p->groups[i] = (struct plan_group){
            str_of("group"), any ? PLAN_ANY_FAIL : rng_below(r, stops ? 2 : 4), stops};
        p->n_pools |= stops;
    }
    p->n_noderoles = noderoles;
    p->noderoles = arena_new(&p->mem, struct plan_noderole, noderoles);
    for (uint32_t i = 0; i < noderoles; i++)
        noderole_draw(&d, i);
    peers_draw(&d);
    p->tasks = arena_new(&p->mem, struct plan_task, p->n_tasks);
    p->spans = arena_new(&p->mem, struct plan_span, p->n_tasks);
    for (uint32_t i = 0; i < noderoles; i++)
        tasks_draw(&d, i);
    weights_set(p);
    plan_rebase(p, d.base_def, d.base_noderole, d.base_task, anneal_span_end(a),
                anneal_pool_end(a));
    return p;
}

/* Has it an order edge to a task of another? */
static bool crossed(const struct plan *p, uint32_t i)
{
    const struct plan_noderole *nr = &p->noderoles[i];
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        for (uint32_t k = 0; k < p->tasks[t].n_deps; k++)
            if (p->tasks[t].deps[k] - p->base_task - nr->first_task >= nr->n_tasks)
                return true;
    return false;
}

struct unbooking { /* what the book was before */
    size_t defs, noderoles, tasks;
    VEC(uint32_t) redefined;
};

static void book_extend(struct sim *s, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_defs; i++) {
        const struct plan_def *d = &p->defs[i];
        vec_push(&s->defs, ((struct sim_def){d->jig, d->repeat, d->hold, d->flags, d->timeout_ms}));
    }
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        vec_push(&s->marks, crossed(p, i) ? SIM_CROSSED : 0);
        vec_push(&s->seats, sim_wants_seat(p->noderoles[i].role, p->noderoles[i].node));
    }
    for (uint32_t i = 0; i < p->n_needs; i++)
        s->marks.at[p->needs[i].parent] |= SIM_PEER;
    for (uint32_t i = 0; i < p->n_changes; i++)
        if (p->changes[i].what & (PLAN_C_TASKS | PLAN_C_REMOVE))
            s->marks.at[p->changes[i].noderole] &= (uint8_t)~SIM_HALF_DONE;
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        uint32_t noderole = p->tasks[i].noderole;
        struct noderole_view v = {0};
        if (noderole >= p->base_noderole)
            v.node = p->noderoles[noderole - p->base_noderole].node;
        else
            anneal_noderole(s->server.engine, noderole, &v);
        vec_push(&s->tasks,
                 ((struct sim_task){
                     .def = p->tasks[i].def, .node = v.node, .turn_mark = s->report->starts}));
    }
}

/* Definitions of tasks that stay; back: as they were. */
static void book_redefine(struct sim *s, const struct plan *p, struct unbooking *u, bool back)
{
    size_t at = 0;
    for (uint32_t i = 0; i < p->n_changes; i++) {
        struct noderole_view v;
        if (p->changes[i].n_defs == 0)
            continue;
        anneal_noderole(s->server.engine, p->changes[i].noderole, &v);
        for (uint32_t k = 0; k < p->changes[i].n_defs; k++) {
            uint32_t *def = &s->tasks.at[v.first_task + k].def;
            if (!back)
                vec_push(&u->redefined, *def);
            *def = back ? u->redefined.at[at++] : p->changes[i].defs[k];
        }
    }
}

int sim_plan_feed(struct sim *s, const struct plan *p, uint32_t op, uint32_t instead_of)
{
    struct event apply = {.kind = EVENT_PLAN_APPLY, .op = op, .extra = instead_of, .plan = p};
    struct unbooking u = {.defs = s->defs.n, .noderoles = s->marks.n, .tasks = s->tasks.n};
    uint32_t life = s->server.life;
    /* Booked before the step that may start them, and taken back if that is refused. */
    book_redefine(s, p, &u, false);
    book_extend(s, p);
    int r = sim_server_feed(s, &apply, NULL);
    if (r < 0 && s->server.up && s->server.life == life) {
        s->defs.n = u.defs;
        s->marks.n = s->seats.n = u.noderoles;
        s->tasks.n = u.tasks;
        book_redefine(s, p, &u, true);
    }
    if (r >= 0 && s->server.up && s->server.life == life)
        sim_quorum_applied(s, p);
    vec_done(&u.redefined);
    return r;
}

uint32_t sim_plan_others(const struct sim *s)
{
    uint32_t n = 0;
    for (uint32_t id = 1; id < s->seats.n; id++)
        n += !sim_plan_seated(s, id);
    return n;
}

bool sim_plan_apply(struct sim *s, uint32_t noderoles)
{
    static const uint8_t classes[] = {CLASS_NORMAL, CLASS_NORMAL, CLASS_NORMAL, CLASS_URGENT,
                                      CLASS_BACKGROUND};
    struct sim_server *v = &s->server;
    uint32_t life = v->life;
    uint32_t op = anneal_operation_end(v->engine);
    struct event add = {.kind = EVENT_OPERATION_ADD,
                        .id = op,
                        .n = rng_from(&s->world, 1, s->n_tenants),
                        .flag = classes[rng_below(&s->world, 5)]};
    if (sim_server_feed(s, &add, NULL) < 0) {
        sim_fail(s, "operation %u was refused", op);
        return false;
    }
    if (!sim_server_ready(s) || v->life != life)
        return false;
    SCOPED(plan) *p = plan_draw(s, noderoles);
    if (sim_plan_feed(s, p, op, 0) < 0) {
        sim_fail(s, "plan of operation %u was refused", op);
        return false;
    }
    s->report->plans++;
    return true;
}
