/* sim_change.c - commits over what lives: other data, definitions, tasks and needs; removal, and
 * second thoughts about it
 *
 * Draws plans without new noderoles.  The engine may refuse one (a circle, an outcome that nobody
 * knows, a parent that goes): that is counted, and must have changed nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdlib.h>

enum { CHANGES_MOST = 6, CASCADE_MOST = 40, TASKS_MOST = 3 };

struct draft_change {
    struct sim *sim;
    struct plan *plan;
    uint32_t ids[CASCADE_MOST], n;
};

static const struct anneal *engine(const struct draft_change *d)
{
    return d->sim->server.engine;
}

static void id_add(struct draft_change *d, uint32_t id)
{
    for (uint32_t i = 0; i < d->n; i++)
        if (d->ids[i] == id)
            return;
    if (d->n < CASCADE_MOST)
        d->ids[d->n++] = id;
}

static int by_id(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

/* Not one that a snapshot wants, unless asked for: only another snapshot changes those. */
static bool any_noderole(struct draft_change *d, bool going, bool seated)
{
    struct noderole_view v;
    uint32_t end = anneal_noderole_end(engine(d)), from = rng_below(&d->sim->chaos, end);
    for (uint32_t i = 0; i < end; i++)
        if (anneal_noderole(engine(d), (from + i) % end, &v) &&
            (v.target == TARGET_ABSENT) == going &&
            (seated || !sim_plan_seated(d->sim, (from + i) % end))) {
            id_add(d, (from + i) % end);
            return true;
        }
    return false;
}

uint8_t sim_rule_draw(struct rng *r)
{
    return rng_chance(r, 150) ? RULE_JOIN_OVER
                              : (uint8_t)rng_from(r, RULE_SKIP, RULE_JOIN_TOLERATE);
}

/* Of a task on a node: most run; the first may undo what comes behind it. */
static uint8_t rule_draw(struct rng *r, bool first)
{
    if (first && rng_chance(r, 150))
        return RULE_UNDO;
    if (rng_chance(r, 300))
        return rng_chance(r, 500) ? RULE_KEEP : RULE_ONCE;
    return rng_chance(r, 60) ? RULE_SKIP : RULE_RUN;
}

/* Without a node only what reaches elsewhere can run. */
static bool runs_nowhere(const struct sim *s, struct rng *r, uint32_t def)
{
    return (s->defs.at[def].flags & DEF_F_OUTSIDE) && rng_chance(r, 400);
}

uint32_t sim_change_tasks(struct sim *s, struct rng *r, struct plan *p, uint32_t noderole,
                          uint32_t least)
{
    uint32_t n = rng_from(r, least, TASKS_MOST);
    struct noderole_view v = {.node = 1}; /* of one that is not there yet */
    (void)anneal_noderole(s->server.engine, noderole, &v);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *deps = arena_new(&p->mem, uint32_t, 1);
        bool other = v.node == 0 && rng_chance(r, 500);
        uint32_t end = anneal_task_end(s->server.engine);
        uint32_t def = rng_from(r, 1, anneal_def_end(s->server.engine) - 1);
        deps[0] = other && end > 1 ? rng_from(r, 1, end - 1) : PLAN_NEW | (p->n_tasks - 1);
        p->tasks[p->n_tasks++] = (struct plan_task){.noderole = noderole,
                                                    .def = def,
                                                    .weight = n - i,
                                                    .deps = deps,
                                                    .n_deps = i > 0 || !(deps[0] & PLAN_NEW),
                                                    .rule = v.node ? rule_draw(r, i == 0)
                                                            : runs_nowhere(s, r, def)
                                                                ? RULE_RUN
                                                                : sim_rule_draw(r)};
    }
    return n;
}

static void tasks_draw(struct draft_change *d, struct plan_change *c, uint32_t least)
{
    c->first_task = d->plan->n_tasks;
    c->n_tasks = sim_change_tasks(d->sim, &d->sim->chaos, d->plan, c->noderole, least);
}

/* Definitions of the same kind: the book knows how often a task may start. */
static void defs_draw(struct draft_change *d, struct plan_change *c, const struct noderole_view *v)
{
    uint32_t *defs = arena_new(&d->plan->mem, uint32_t, v->n_tasks);
    for (uint32_t i = 0; i < v->n_tasks; i++) {
        uint32_t was = d->sim->tasks.at[v->first_task + i].def;
        const struct sim_def *x = &d->sim->defs.at[was];
        uint32_t to = rng_from(&d->sim->chaos, 1, anneal_def_end(engine(d)) - 1);
        const struct sim_def *y = &d->sim->defs.at[to];
        defs[i] = x->repeat == y->repeat && x->flags == y->flags ? to : was;
    }
    c->defs = defs;
    c->n_defs = v->n_tasks;
}

/* Order edges and needs together must make no circle, which planners see to: so a new parent, and
 * all above it, wait for nothing but their parents. */
static bool plain_ancestors(const struct draft_change *d, uint32_t id)
{
    VEC(uint32_t) walk = {0};
    bool plain = true;
    vec_push(&walk, id);
    for (size_t i = 0; i < walk.n && plain; i++) {
        struct noderole_view v;
        uint32_t n;
        plain = anneal_noderole(engine(d), walk.at[i], &v) && walk.n < 500 &&
                !(d->sim->marks.at[walk.at[i]] & SIM_CROSSED);
        const uint32_t *parents = plain ? anneal_parents(engine(d), walk.at[i], &n) : (n = 0, NULL);
        for (uint32_t k = 0; k < n; k++)
            vec_push(&walk, parents[k]);
    }
    vec_done(&walk);
    return plain;
}

static void parents_draw(struct draft_change *d, struct plan_change *c)
{
    struct rng *r = &d->sim->chaos;
    uint32_t n, *gains = arena_new(&d->plan->mem, uint32_t, 1),
                *losses = arena_new(&d->plan->mem, uint32_t, 1);
    const uint32_t *parents = anneal_parents(engine(d), c->noderole, &n);
    if (n > 0 && rng_chance(r, 600)) {
        losses[0] = parents[rng_below(r, n)];
        c->losses = losses;
        c->n_losses = 1;
    }
    gains[0] = rng_from(r, 1, anneal_noderole_end(engine(d)) - 1);
    if (rng_chance(r, 600) && plain_ancestors(d, gains[0])) {
        c->gains = gains;
        c->n_gains = 1;
    }
}

/* Of the parents that it will have; those that come with it in the same plan are told by that. */
static void quorums_draw(struct draft_change *d, struct plan_change *c)
{
    struct rng *r = &d->sim->chaos;
    uint32_t n, left = 0;
    const uint32_t *parents = anneal_parents(engine(d), c->noderole, &n);
    uint32_t *ids = arena_new(&d->plan->mem, uint32_t, n + c->n_gains);
    for (uint32_t i = 0; i < n; i++)
        if (c->n_losses == 0 || parents[i] != c->losses[0])
            ids[left++] = parents[i];
    for (uint32_t i = 0; i < c->n_gains; i++)
        ids[left++] = c->gains[i];
    c->quorums = sim_quorum_draw(r, &d->plan->mem, ids, left, &c->n_quorums);
}

static void change_draw(struct draft_change *d, struct plan_change *c, uint32_t id)
{
    struct rng *r = &d->sim->chaos;
    struct noderole_view v;
    anneal_noderole(engine(d), id, &v);
    *c = (struct plan_change){.noderole = id, .flags = v.flags, .user = str_of("")};
    if (rng_chance(r, 400)) {
        c->what |= PLAN_C_DATA;
        c->data = rng_below(r, 4);
    }
    /* Order edges of a phased one name tasks: it keeps its needs, and others keep off its tasks. */
    bool phased = v.flags & NODEROLE_F_PHASED;
    if (rng_chance(r, 400) && !phased) {
        c->what |= PLAN_C_PARENTS;
        parents_draw(d, c);
    }
    if (rng_chance(r, 200)) {
        c->what |= PLAN_C_QUORUMS;
        quorums_draw(d, c);
    }
    if (rng_chance(r, 150)) {
        c->what |= PLAN_C_GROUP;
        c->group = rng_below(r, d->plan->n_groups + 1);
    }
    if (rng_chance(r, 300) && v.n_tasks > 0) {
        c->what |= PLAN_C_DEFS;
        defs_draw(d, c, &v);
    } else if (rng_chance(r, 400) || c->what == 0) {
        c->what |= PLAN_C_TASKS;
        if (v.node && rng_chance(r, 300))
            c->target = TARGET_STOPPED;
        c->reason = rng_chance(r, 500) ? REASON_OPERATION : REASON_NONE;
        tasks_draw(d, c, v.n_tasks == 0 ? 0 : 1);
        c->keeps = c->first_task % 2 == 0; /* no draw: what is drawn is what it was */
    }
}

static bool plan_feed(struct draft_change *d)
{
    struct sim *s = d->sim;
    struct plan *p = d->plan;
    uint32_t op = OPERATION_STANDING, life = s->server.life;
    if (rng_chance(&s->chaos, 700)) {
        op = anneal_operation_end(engine(d));
        struct event add = {.kind = EVENT_OPERATION_ADD,
                            .id = op,
                            .n = rng_from(&s->chaos, 1, s->n_tenants),
                            .flag = CLASS_NORMAL};
        if (sim_server_feed(s, &add, NULL) < 0 || !sim_server_ready(s) || s->server.life != life ||
            s->report->failed)
            return false;
    }
    plan_rebase(p, anneal_def_end(engine(d)), anneal_noderole_end(engine(d)),
                anneal_task_end(engine(d)), anneal_span_end(engine(d)), anneal_pool_end(engine(d)));
    uint64_t before = rng_chance(&s->chaos, 50) ? anneal_digest(s->server.engine) : 0;
    bool done = sim_plan_feed(s, p, op, 0) >= 0;
    if (!done && before && s->server.up && s->server.life == life &&
        anneal_digest(s->server.engine) != before)
        sim_fail(s, "a refused change changed something");
    return done;
}

static struct draft_change *draft_new(struct sim *s)
{
    struct draft_change *d = xcalloc(1, sizeof *d);
    d->sim = s;
    d->plan = plan_new();
    d->plan->changes = arena_new(&d->plan->mem, struct plan_change, CASCADE_MOST);
    d->plan->tasks = arena_new(&d->plan->mem, struct plan_task, CASCADE_MOST * TASKS_MOST);
    return d;
}

static void draft_apply(struct draft_change *d)
{
    d->plan->n_changes = d->n;
    if (d->n > 0 && plan_feed(d))
        d->sim->report->changes += d->n;
    plan_free(d->plan);
    free(d);
}

void sim_change_strike(struct sim *s)
{
    struct draft_change *d = draft_new(s);
    d->plan->groups = arena_new(&d->plan->mem, struct plan_group, 1);
    d->plan->groups[0] = (struct plan_group){str_of("group"), rng_below(&s->chaos, 4),
                                             rng_chance(&s->chaos, 500)};
    d->plan->n_groups = 1;
    for (uint32_t i = rng_from(&s->chaos, 1, CHANGES_MOST); i > 0; i--)
        (void)any_noderole(d, false, false);
    qsort(d->ids, d->n, sizeof *d->ids, by_id);
    for (uint32_t i = 0; i < d->n; i++)
        change_draw(d, &d->plan->changes[i], d->ids[i]);
    draft_apply(d);
}

/* Those of the draft that go: all but children of the first that it is taken from. */
static bool stays(const struct draft_change *d, uint32_t first, uint32_t id)
{
    uint32_t n;
    const uint32_t *parents = anneal_parents(engine(d), id, &n);
    for (uint32_t i = 0; id != first && i < n; i++)
        if (parents[i] == first)
            return true;
    return false;
}

/* Who goes waits for somebody who is told first, whatever that one has to do with it. */
static void told_draw(struct draft_change *d, uint32_t goer)
{
    struct plan *p = d->plan;
    struct noderole_view v;
    uint32_t holder = rng_from(&d->sim->chaos, 1, anneal_noderole_end(engine(d)) - 1);
    if (!anneal_noderole(engine(d), holder, &v) || !v.node || v.target != TARGET_RUNNING ||
        !plain_ancestors(d, holder))
        return;
    for (uint32_t i = 0; i < d->n; i++)
        if (d->ids[i] == holder)
            return;
    p->waits = arena_new(&p->mem, struct plan_wait, 1);
    p->waits[0] = (struct plan_wait){goer, holder};
    p->n_waits = 1;
}

static void removal_draw(struct draft_change *d, uint32_t first, bool alone)
{
    qsort(d->ids, d->n, sizeof *d->ids, by_id);
    for (uint32_t i = 0; i < d->n; i++) {
        struct plan_change *c = &d->plan->changes[i];
        *c = (struct plan_change){.noderole = d->ids[i], .user = str_of("")};
        if (alone && stays(d, first, d->ids[i])) {
            uint32_t *losses = arena_new(&d->plan->mem, uint32_t, 1);
            losses[0] = first;
            c->what = PLAN_C_PARENTS;
            c->losses = losses;
            c->n_losses = 1;
            continue;
        }
        c->what = PLAN_C_REMOVE;
        tasks_draw(d, c, 0);
    }
    if (d->n > 0 && rng_chance(&d->sim->chaos, 300))
        told_draw(d, first);
}

/* One and all that need it, however far; or alone, taken from those who need it; or, now and then,
 * without a word to them, which is refused. */
void sim_change_remove(struct sim *s)
{
    struct draft_change *d = draft_new(s);
    bool cascade = rng_chance(&s->chaos, 900), alone = rng_chance(&s->chaos, 500);
    if (any_noderole(d, false, false))
        for (uint32_t i = 0; cascade && i < (alone ? 1 : d->n); i++) {
            uint32_t n;
            const uint32_t *children = anneal_children(engine(d), d->ids[i], &n);
            for (uint32_t k = 0; k < n; k++) {
                struct noderole_view v;
                anneal_noderole(engine(d), children[k], &v);
                if (v.target != TARGET_ABSENT)
                    id_add(d, children[k]);
            }
        }
    removal_draw(d, d->ids[0], alone);
    draft_apply(d);
}

/* Who stays, somebody, gains the one that is taken back, and may lose another for it; 0: nobody. */
static uint32_t regain_draw(struct draft_change *d, uint32_t back)
{
    struct plan *p = d->plan;
    struct noderole_view v;
    uint32_t child = rng_from(&d->sim->chaos, 1, anneal_noderole_end(engine(d)) - 1), n;
    if (!anneal_noderole(engine(d), child, &v) || !v.node || v.n_tasks == 0 ||
        v.target == TARGET_ABSENT || (v.flags & NODEROLE_F_PHASED) ||
        sim_plan_seated(d->sim, child) || !plain_ancestors(d, back))
        return 0;
    const uint32_t *parents = anneal_parents(engine(d), child, &n);
    p->needs = arena_new(&p->mem, struct plan_need, 1);
    p->needs[0] = (struct plan_need){child, back, n > 0 ? parents[0] : 0};
    p->n_needs = 1;
    return n > 1 && rng_chance(&d->sim->chaos, 500) ? child : 0;
}

static void restore_draw(struct draft_change *d, uint32_t loser)
{
    if (loser)
        id_add(d, loser);
    qsort(d->ids, d->n, sizeof *d->ids, by_id);
    for (uint32_t i = 0; i < d->n; i++) {
        struct plan_change *c = &d->plan->changes[i];
        uint32_t n, *losses = arena_new(&d->plan->mem, uint32_t, 1);
        *c = (struct plan_change){.noderole = d->ids[i], .what = PLAN_C_TASKS, .user = str_of("")};
        if (d->ids[i] == loser) {
            losses[0] = anneal_parents(engine(d), loser, &n)[0];
            c->what = PLAN_C_PARENTS;
            c->losses = losses;
            c->n_losses = 1;
        } else {
            tasks_draw(d, c, 1);
        }
    }
}

/* It is wanted after all, with whatever it needs. */
void sim_change_restore(struct sim *s)
{
    struct draft_change *d = draft_new(s);
    bool ours = true;
    if (any_noderole(d, true, false))
        for (uint32_t i = 0; i < d->n; i++) {
            uint32_t n;
            const uint32_t *parents = anneal_parents(engine(d), d->ids[i], &n);
            for (uint32_t k = 0; k < n; k++) {
                struct noderole_view v;
                anneal_noderole(engine(d), parents[k], &v);
                if (v.target == TARGET_ABSENT)
                    id_add(d, parents[k]);
                ours &= v.target != TARGET_ABSENT || !sim_plan_seated(s, parents[k]);
            }
        }
    if (!ours) /* what it needs goes because a snapshot says so */
        d->n = 0;
    uint32_t loser = d->n > 0 && rng_chance(&s->chaos, 500) ? regain_draw(d, d->ids[0]) : 0;
    restore_draw(d, loser);
    draft_apply(d);
}

static bool runs_below(const struct draft_change *d, uint32_t id)
{
    struct noderole_view v;
    uint32_t n;
    const uint32_t *children = anneal_children(engine(d), id, &n);
    for (uint32_t i = 0; i < n; i++)
        if (anneal_noderole(engine(d), children[i], &v) && v.target == TARGET_RUNNING)
            return true;
    return false;
}

void sim_change_start(struct sim *s)
{
    struct draft_change *d = draft_new(s);
    struct noderole_view v;
    for (uint32_t id = 1; id < anneal_noderole_end(engine(d)); id++)
        if (anneal_noderole(engine(d), id, &v) && v.target == TARGET_STOPPED && runs_below(d, id))
            id_add(d, id);
    for (uint32_t i = 0; i < d->n; i++) {
        struct plan_change *c = &d->plan->changes[i];
        anneal_noderole(engine(d), d->ids[i], &v);
        *c = (struct plan_change){
            .noderole = d->ids[i], .what = PLAN_C_TASKS, .flags = v.flags, .user = str_of("")};
        tasks_draw(d, c, 1);
    }
    draft_apply(d);
}

void sim_change_abandon(struct sim *s)
{
    struct draft_change *d = draft_new(s);
    if (any_noderole(d, true, true)) {
        struct event ev = {.kind = EVENT_ABANDON, .id = d->ids[0]};
        (void)sim_server_feed(s, &ev, &(struct commit_note){.actor = "operator"});
    }
    d->n = 0;
    draft_apply(d);
}
