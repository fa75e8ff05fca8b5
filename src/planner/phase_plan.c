/* phase_plan.c - from end to end: tasks, edges, weights (noderoles: phase_spot.c) */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "model/states.h"
#include "planner/phase_plan_i.h"

/* --- what they wait for --- */

struct refs {
    uint32_t *at, n;
};

static void sinks_put(struct refs *r, uint32_t first, const struct phase_kindred *k)
{
    for (uint32_t i = 0; i < k->n_sinks; i++)
        r->at[r->n++] = (first + k->sinks[i]) | PLAN_NEW;
}

/* What vertex v waits for, as tasks; and what is before it in its spot and only kept. */
static struct refs vertex_waits(struct phase_spots *s, uint32_t v, uint32_t kept_at,
                                const struct phase_kindred *kept)
{
    const struct phase_graph *g = s->l->g;
    uint32_t n = kept ? kept->n_sinks : 0;
    for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++)
        n += g->deps[i] < g->n_tasks ? s->kin[g->deps[i]]->n_sinks : 1;
    struct refs r = {arena_new(&s->l->plan->mem, uint32_t, n), 0};
    if (kept)
        sinks_put(&r, kept_at, kept);
    for (uint32_t i = g->first[v]; i < g->first[v + 1]; i++) {
        uint32_t dep = g->deps[i];
        if (dep < g->n_tasks)
            sinks_put(&r, s->task_of[dep], s->kin[dep]);
        else
            r.at[r.n++] = s->task_of[dep] | PLAN_NEW;
    }
    return r;
}

/* --- spans --- */

typedef VEC(uint32_t) pools_v;

static void pools_add(pools_v *pools, const struct phase_kindred *k, uint32_t step)
{
    for (uint32_t i = 0; !k->passive && i < k->at[step].n_pools; i++) {
        bool known = false;
        for (size_t p = 0; p < pools->n; p++)
            known |= pools->at[p] == k->pools[step][i];
        if (!known)
            vec_push(pools, k->pools[step][i]);
    }
}

/* Of a spot whose service goes round by a pool: one for all its tasks, with their own pools. */
static uint32_t spot_span(struct phase_spots *s, const struct phase_spot *sp, uint32_t vertex)
{
    const struct phase_graph *g = s->l->g;
    uint32_t span = g->vertices[vertex].span;
    pools_v pools = {0};
    if (!span)
        return 0;
    vec_push(&pools, s->l->graph_pools[g->spans[span - 1]]);
    for (uint32_t left = sp->phases; left; left &= left - 1) {
        const struct phase_kindred *k =
            s->kin[phase_spot_vertex(s, sp, (uint32_t)__builtin_ctz(left))];
        for (uint32_t i = 0; i < k->n; i++)
            pools_add(&pools, k, i);
    }
    span = phase_span_add(s->l, pools.at, (uint32_t)pools.n);
    vec_done(&pools);
    return span;
}

static uint32_t step_span(struct phase_spots *s, const struct phase_kindred *k, uint32_t step)
{
    pools_v pools = {0};
    pools_add(&pools, k, step);
    uint32_t span = pools.n ? phase_span_add(s->l, pools.at, (uint32_t)pools.n) : 0;
    vec_done(&pools);
    return span;
}

static void graph_pools_fill(struct phase_laying *l)
{
    l->graph_pools = arena_new(&l->mem, uint32_t, l->g->n_pools);
    for (uint32_t i = 0; i < l->g->n_pools; i++) {
        char name[PLANNER_POOL_NAME];
        planner_pool_name(l->req->deployment, l->g->cluster->services[l->g->pools[i].service].name,
                          name);
        l->graph_pools[i] = phase_pool_ref(l, str_of(name), l->g->pools[i].size, true);
    }
}

/* --- tasks --- */

static void phase_fill(struct phase_spots *s, const struct phase_spot *sp, uint32_t at,
                       const struct phase_kindred *k, struct refs waits, uint8_t rule,
                       uint32_t span)
{
    for (uint32_t i = 0; i < k->n; i++) {
        struct plan_task *t = &s->l->plan->tasks[at + i];
        bool passive = k->passive || (rule != RULE_RUN && rule != RULE_ONCE);
        *t = (struct plan_task){.noderole = sp->ref,
                                .def = k->defs[i],
                                .weight = 1,
                                .rule = k->passive ? RULE_JOIN_ALL : rule,
                                .deps = waits.at,
                                .n_deps = waits.n};
        if (!passive)
            t->span = span ? span : step_span(s, k, i);
        if (k->passive || !k->at[i].n_after)
            continue;
        uint32_t *after = arena_new(&s->l->plan->mem, uint32_t, k->at[i].n_after);
        for (uint32_t a = 0; a < k->at[i].n_after; a++)
            after[a] = (at + k->at[i].after[a]) | PLAN_NEW;
        t->deps = after;
        t->n_deps = k->at[i].n_after;
    }
}

static void spot_fill(struct phase_spots *s, const struct phase_spot *sp)
{
    const struct phase_kindred *before = NULL; /* in the chain */
    bool before_kept = false;
    uint32_t at = sp->first, before_at = 0, span = 0;
    if (sp->lead) {
        before = phase_spot_kindred(s, sp, PHASE_DELETE);
        before_kept = true;
        before_at = at;
        phase_fill(s, sp, at, before, (struct refs){0}, RULE_ONCE, 0);
        at += sp->lead;
    }
    for (uint32_t left = sp->chain; left;) {
        enum phase_kind kind = phase_spot_next(sp, &left);
        const struct phase_kindred *k = phase_spot_kindred(s, sp, kind);
        struct refs waits = {0};
        bool kept = !(sp->phases >> kind & 1);
        if (kept) {
            waits.at = arena_new(&s->l->plan->mem, uint32_t, before ? before->n_sinks : 0);
            if (before)
                sinks_put(&waits, before_at, before);
            uint8_t rule = sp->undoes && kind == PHASE_DELETE ? RULE_UNDO : RULE_KEEP;
            phase_fill(s, sp, at, k, waits, rule, 0);
        } else {
            uint32_t v = phase_spot_vertex(s, sp, kind);
            span = span ? span : spot_span(s, sp, v);
            waits = vertex_waits(s, v, before_at, before_kept ? before : NULL);
            uint8_t rule = s->l->g->vertices[v].rule;
            if (rule == RULE_RUN && sp->place->once >> kind & 1)
                rule = RULE_ONCE;
            phase_fill(s, sp, at, k, waits, rule, span);
        }
        before = k;
        before_kept = kept;
        before_at = at;
        at += k->n;
    }
    if (phase_spot_wants(s, sp))
        s->l->plan->tasks[at] = (struct plan_task){
            .noderole = sp->ref,
            .def = phase_def_passive(s->l, str_of("bound"), "nothing"),
            .weight = 1 + s->frame.behind,
            .rule = RULE_JOIN_ALL};
}

static void joins_fill(struct phase_spots *s)
{
    const struct phase_graph *g = s->l->g;
    for (uint32_t j = 0; j < g->n_joins; j++) {
        const struct phase_join *join = &g->joins[j];
        uint32_t v = g->n_tasks + j;
        struct str service = join->service == PHASE_NIL ? str_of("machines")
                                                        : g->cluster->services[join->service].name;
        const char *name = arena_printf(
            &s->l->mem, "join:%s%s:%.*s", join->before ? "before:" : "",
            join->kind == PHASE_JOIN ? "turn" : phase_kind_name((enum phase_kind)join->kind),
            (int)service.n, service.s);
        struct refs waits = vertex_waits(s, v, 0, NULL);
        s->l->plan->tasks[s->task_of[v]] = (struct plan_task){
            .noderole = s->carriers[j / PHASE_CARRIER_TASKS].ref,
            .def = phase_def_passive(s->l, str_of(name), "join"),
            .weight = 1,
            .rule = s->l->plan->n_groups ? RULE_JOIN_TOLERATE : RULE_JOIN_ALL,
            .deps = waits.at,
            .n_deps = waits.n};
    }
}

/* Longest ways, from the end: steps count, joins pass on what is behind them. */
static void weights_fill(struct phase_spots *s)
{
    const struct phase_graph *g = s->l->g;
    struct plan_task *tasks = s->l->plan->tasks;
    uint32_t *behind = arena_new(&s->l->mem, uint32_t, g->n); /* by vertex: the longest way */
    for (uint32_t v = 0; v < g->n; v++)
        behind[v] = s->frame.behind;
    for (uint32_t i = g->n; i-- > 0;) {
        uint32_t v = g->order[i], first = s->task_of[v], longest = behind[v];
        const struct phase_kindred *k = v < g->n_tasks ? s->kin[v] : NULL;
        if (k) {
            for (uint32_t n = 0; n < k->n_sinks; n++)
                tasks[first + k->sinks[n]].weight = behind[v] + 1;
            for (uint32_t n = k->n; n-- > 0;) {
                uint32_t weight = tasks[first + n].weight;
                longest = weight > longest ? weight : longest;
                for (uint32_t a = 0; !k->passive && a < k->at[n].n_after; a++) {
                    struct plan_task *before = &tasks[first + k->at[n].after[a]];
                    before->weight = weight >= before->weight ? weight + 1 : before->weight;
                }
            }
        } else {
            tasks[first].weight = longest ? longest : 1;
        }
        for (uint32_t d = g->first[v]; d < g->first[v + 1]; d++)
            if (longest > behind[g->deps[d]])
                behind[g->deps[d]] = longest;
    }
}

/* What is kept comes before the next of its chain: it may run some day. */
static void kept_weights(struct phase_spots *s, const struct phase_spot *sp)
{
    struct plan_task *tasks = s->l->plan->tasks;
    enum phase_kind kinds[PHASE_KIND_COUNT];
    uint32_t n = 0, at = sp->first + sp->lead, behind = s->frame.behind;
    if (sp->chain == sp->phases)
        return;
    for (uint32_t left = sp->chain; left;) {
        kinds[n] = phase_spot_next(sp, &left);
        at += phase_spot_kindred(s, sp, kinds[n++])->n;
    }
    while (n-- > 0) {
        uint32_t end = at, heaviest = behind;
        at -= phase_spot_kindred(s, sp, kinds[n])->n;
        for (uint32_t t = end; t-- > at;) {
            if (!(sp->phases >> kinds[n] & 1))
                tasks[t].weight = behind + end - t;
            heaviest = tasks[t].weight > heaviest ? tasks[t].weight : heaviest;
        }
        behind = heaviest;
    }
    for (uint32_t t = 0; t < sp->lead; t++)
        tasks[sp->first + t].weight = behind + sp->lead - t;
}

/* --- from end to end --- */

#define SEAL(to, n_to, from, type)                                                                 \
    do {                                                                                           \
        type *all_ = arena_new(&l->plan->mem, type, (from).n);                                     \
        for (size_t i_ = 0; i_ < (from).n; i_++)                                                   \
            all_[i_] = (from).at[i_];                                                              \
        (to) = all_;                                                                               \
        (n_to) = (uint32_t)(from).n;                                                               \
    } while (0)

static int plan_fill(struct phase_laying *l, struct phase_plan *ret)
{
    struct phase_spots s = {.l = l};
    struct plan *p = l->plan;
    uint32_t n_new;
    s.kin = arena_new(&l->mem, const struct phase_kindred *, l->g->n_tasks);
    s.task_of = arena_new(&p->mem, uint32_t, l->g->n);
    s.n_tasks = arena_new(&p->mem, uint32_t, l->g->n);
    graph_pools_fill(l);
    int rc = phase_spots_count(&s, &n_new);
    if (rc < 0)
        return rc;
    phase_spots_fill(&s, n_new);
    for (uint32_t i = 0; i < s.n; i++)
        spot_fill(&s, &s.at[i]);
    joins_fill(&s);
    weights_fill(&s);
    for (uint32_t i = 0; i < s.n; i++)
        kept_weights(&s, &s.at[i]);
    phase_frame_fill(&s);
    SEAL(p->defs, p->n_defs, l->defs, struct plan_def);
    SEAL(p->pools, p->n_pools, l->new_pools, struct plan_pool);
    SEAL(p->spans, p->n_spans, l->spans, struct plan_span);
    SEAL(ret->pools, ret->n_pools, l->sizes, struct phase_plan_pool);
    ret->plan = p;
    ret->task_of = s.task_of;
    ret->n_tasks = s.n_tasks;
    return 0;
}

int phase_plan_make(const struct phase_plan_request *req, struct phase_plan *ret, struct err *e)
{
    struct err unread;
    struct phase_laying l = {.req = req, .g = req->graph, .plan = plan_new(), .e = e ? e : &unread};
    arena_init(&l.mem);
    l.plan->catalog = req->catalog;
    l.plain = arena_new(&l.mem, const struct phase_kindred *,
                        ((size_t)l.g->cluster->n_services + 1) * PHASE_KIND_COUNT);
    int rc = plan_fill(&l, ret);
    if (rc < 0)
        plan_free(l.plan);
    u64map_done(&l.kindred);
    u64map_done(&l.def_known);
    strmap_done(&l.pool_known);
    vec_done(&l.defs);
    vec_done(&l.new_pools);
    vec_done(&l.sizes);
    vec_done(&l.spans);
    arena_done(&l.mem);
    return rc < 0 ? rc : 0;
}
