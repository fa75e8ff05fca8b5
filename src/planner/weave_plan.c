/* weave_plan.c - from end to end: places, tasks, edges, groups
 *
 * Where failures of a group are forgiven is decided here.  Joins and stages tolerate as soon as any
 * group of the graph does, or may once it was resumed; imported stages wait for the end only.  An
 * edge from one instance to one on another node has no join, so what a tolerant group does gets one
 * of its own: on its own node a failure stays what it is.
 *
 * A noderole whose tasks another one owns, since they serve both, has a closing task that waits for
 * them: it is in service when they are done, and has failed when they have.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/weave_plan_i.h"

#include <stdlib.h>

#include "model/states.h"

enum { CARRIER_TASKS = 50000 }; /* of one noderole without a node */

static bool is_instance(const struct laying *l, uint32_t v)
{
    return v - l->w->n_stages < l->w->n_tasks;
}

static bool is_held(const struct laying *l, uint32_t v)
{
    return v - l->w->n_stages < l->n_held;
}

/* --- groups and their tolerance --- */

static bool imported(const struct graph_vertex *v)
{
    return v->lenient || v->same_node;
}

/* Does it matter how many of a group fail?  A strategy that nobody limited stops at the first. */
static bool may_lose(const struct graph_vertex *v, bool rolls)
{
    return v->tolerance.given || (rolls && (v->strategy.failures.given || !imported(v)));
}

static const struct plan_group *group_of(const struct laying *l, uint32_t v)
{
    uint32_t group = l->req->members[l->place_of[v]].group;
    return group != WEAVE_NONE && l->groups[group] ? &l->plan->groups[l->groups[group] - 1] : NULL;
}

bool weave_aside(const struct laying *l, uint32_t v)
{
    const struct plan_group *group = group_of(l, v);
    return group && group->stops && l->req->members[l->place_of[v]].group != l->w->vertices[v].role;
}

static void groups_fill(struct laying *l)
{
    struct plan *p = l->plan;
    uint32_t *total = arena_new(&l->mem, uint32_t, l->g->n_vertices);
    for (uint32_t i = 0; i < l->req->n_members; i++)
        if (l->req->members[i].group != WEAVE_NONE)
            total[l->req->members[i].group]++;
    p->groups = arena_new(&p->mem, struct plan_group, l->g->n_vertices);
    for (uint32_t i = 0; i < l->g->n_vertices; i++) {
        const struct graph_vertex *v = &l->g->vertices[i];
        bool rolls = l->w->rolls[i];
        if (!total[i] || !may_lose(v, rolls))
            continue;
        int64_t may = v->tolerance.given ? graph_tolerance_of(&v->tolerance, total[i])
                      : v->strategy.failures.given
                          ? graph_tolerance_of(&v->strategy.failures, total[i])
                          : 0;
        p->groups[p->n_groups++] = (struct plan_group){
            {arena_strndup(&p->mem, v->id.s, v->id.n), v->id.n},
            may < 0 ? PLAN_ANY_FAIL : (uint32_t)may,
            rolls};
        l->groups[i] = p->n_groups;
        l->tolerant |= may != 0 || (rolls && !imported(v));
    }
}

static bool forgives(const struct laying *l, uint32_t v)
{
    const struct plan_group *group = group_of(l, v);
    return group && (group->may_fail > 0 || group->stops);
}

/* --- who has what --- */

static uint32_t member_find(const struct laying *l, uint32_t node, uint32_t group,
                            const uint32_t *first_of_node, const uint32_t *next)
{
    uint32_t any = WEAVE_NONE;
    for (uint32_t m = first_of_node[node]; m != WEAVE_NONE; m = next[m]) {
        if (group != WEAVE_NONE && l->req->members[m].group == group)
            return m;
        if (any == WEAVE_NONE)
            any = m;
    }
    return any;
}

static int places_find(struct laying *l)
{
    const struct weave *w = l->w;
    uint32_t *first = arena_new(&l->mem, uint32_t, w->n_nodes + 1);
    uint32_t *next = arena_new(&l->mem, uint32_t, l->req->n_members);
    for (uint32_t i = 0; i <= w->n_nodes; i++)
        first[i] = WEAVE_NONE;
    for (uint32_t i = l->req->n_members; i-- > 0;) { /* so that lists are by id */
        next[i] = first[l->req->members[i].node];
        first[l->req->members[i].node] = i;
    }
    /* A master that nobody is has tasks that are left out: they keep their place in the order. */
    l->n_held = first[w->n_nodes] == WEAVE_NONE ? w->base[w->n_nodes] - w->n_stages : w->n_tasks;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        uint32_t m = member_find(l, w->vertices[v].node, w->vertices[v].role, first, next);
        if (m == WEAVE_NONE && (is_held(l, v) || w->vertices[v].reason == WEAVE_RUN))
            return err_set(l->e, ERR_INVALID, "plan: nothing holds the tasks of a node");
        l->place_of[v] = m;
    }
    for (uint32_t v = w->n_stages; v < w->n_stages + l->n_held; v++)
        for (const struct weave_role *r = weave_serves(w, v); r; r = r->next) {
            uint32_t m = member_find(l, w->vertices[v].node, r->group, first, next);
            if (m != l->place_of[v] && l->req->members[m].group == r->group)
                l->closing[m] = 0;
        }
    return 0;
}

/* Instances that somebody on another node waits for, and whose failure may be forgiven. */
static void forgiving_find(struct laying *l)
{
    const struct weave *w = l->w;
    for (uint32_t v = w->n_stages; l->tolerant && v < w->n_stages + w->n_tasks; v++)
        for (uint32_t i = w->first[v]; i < w->first[v + 1]; i++) {
            uint32_t dep = w->deps[i];
            if (is_held(l, dep) && w->vertices[dep].node != w->vertices[v].node &&
                l->own_join[dep] == WEAVE_NONE && forgives(l, dep)) {
                l->own_join[dep] = l->n_forgiving;
                l->forgiving[l->n_forgiving++] = dep;
            }
        }
}

/* Vertices without a node: stages, what nobody holds, joins; behind them joins of single instances.
 */
static uint32_t homeless_vertices(const struct laying *l)
{
    return l->w->n - l->n_held;
}

static uint32_t homeless_count(const struct laying *l)
{
    return homeless_vertices(l) + l->n_forgiving;
}

static struct place *homeless_place(struct laying *l, uint32_t i)
{
    return &l->places[l->req->n_members + i / CARRIER_TASKS];
}

static uint32_t homeless_of(const struct laying *l, uint32_t v)
{
    return v < l->w->n_stages ? v : v - l->n_held;
}

static void places_count(struct laying *l)
{
    const struct weave *w = l->w;
    uint32_t n_members = l->req->n_members;
    uint32_t carriers = homeless_count(l) / CARRIER_TASKS + 1;
    if (carriers < l->req->n_carriers)
        carriers = l->req->n_carriers;
    l->n_places = n_members + carriers;
    l->places = arena_new(&l->mem, struct place, l->n_places);
    for (uint32_t i = 0; i < l->n_places; i++) {
        uint32_t c = i - n_members;
        l->places[i] =
            i < n_members ? (struct place){.ref = l->req->members[i].noderole, .member = i}
            : c < l->req->n_carriers
                ? (struct place){.ref = l->req->carriers[c], .member = WEAVE_NONE}
                : (struct place){.ref = (c - l->req->n_carriers) | PLAN_NEW, .member = WEAVE_NONE};
    }
    for (uint32_t v = w->n_stages; v < w->n_stages + l->n_held; v++)
        l->places[l->place_of[v]].n++;
    for (uint32_t m = 0; m < n_members; m++)
        if (l->closing[m] != WEAVE_NONE || !l->places[m].n)
            l->closing[m] = l->places[m].n++;
    for (uint32_t i = 0; i < homeless_count(l); i++)
        homeless_place(l, i)->n++;
}

static int places_check(struct laying *l)
{
    for (uint32_t m = 0; m < l->req->n_members; m++) {
        const struct weave_member *at = &l->req->members[m];
        if (l->places[m].n <= PLAN_MOST_TASKS)
            continue;
        struct str node = at->node == l->w->n_nodes ? str_of(WEAVE_MASTER)
                                                    : l->req->of->nodes[at->node].name;
        err_set(l->e, ERR_LIMIT, "a noderole of %.*s would have %u tasks, more than %d",
                (int)node.n, node.s, l->places[m].n, PLAN_MOST_TASKS);
        return err_hint(l->e, "groups that the node is in share its tasks");
    }
    return 0;
}

static int by_ref(const void *x, const void *y)
{
    const struct place *const *p = x, *const *q = y;
    /* New ones first, by number; then those that live, by id. */
    uint32_t a = (*p)->ref ^ PLAN_NEW, b = (*q)->ref ^ PLAN_NEW;
    return (a > b) - (a < b);
}

/* Noderoles that are new, changes of those that live: their tasks follow each other. */
static void noderoles_fill(struct laying *l)
{
    struct plan *p = l->plan;
    struct place **order = arena_new(&l->mem, struct place *, l->n_places);
    uint32_t at = 0;
    for (uint32_t i = 0; i < l->n_places; i++)
        order[i] = &l->places[i];
    qsort(order, l->n_places, sizeof *order, by_ref);
    p->noderoles = arena_new(&p->mem, struct plan_noderole, l->n_places);
    p->changes = arena_new(&p->mem, struct plan_change, l->n_places);
    for (uint32_t i = 0; i < l->n_places; i++) {
        struct place *pl = order[i];
        const struct weave_member *m = pl->member == WEAVE_NONE ? NULL
                                                                : &l->req->members[pl->member];
        pl->first = at;
        at += pl->n;
        if (pl->ref & PLAN_NEW) {
            p->noderoles[p->n_noderoles++] = (struct plan_noderole){
                .role = str_of(CATALOG_CARRIER),
                .deployment = l->req->deployment,
                .user = str_of(""),
                .first_task = pl->first,
                .n_tasks = pl->n};
            continue;
        }
        p->changes[p->n_changes++] = (struct plan_change){
            .noderole = pl->ref,
            .what = (uint8_t)(PLAN_C_TASKS | (m ? PLAN_C_GROUP : 0)),
            .flags = m ? m->flags : 0,
            .user = str_of(""),
            .group = m && m->group != WEAVE_NONE ? l->groups[m->group] : 0,
            .first_task = pl->first,
            .n_tasks = pl->n};
    }
    p->n_tasks = at;
    p->tasks = arena_new(&p->mem, struct plan_task, at);
}

/* --- tasks --- */

static void tasks_place(struct laying *l)
{
    const struct weave *w = l->w;
    for (uint32_t v = w->n_stages; v < w->n_stages + l->n_held; v++) {
        struct place *pl = &l->places[l->place_of[v]];
        l->task_of[v] = pl->first + pl->filled++;
    }
    for (uint32_t v = 0; v < w->n; v++)
        if (!is_held(l, v)) {
            struct place *pl = homeless_place(l, homeless_of(l, v));
            l->task_of[v] = pl->first + pl->filled++;
        }
    for (uint32_t i = 0; i < l->n_forgiving; i++) {
        struct place *pl = homeless_place(l, homeless_vertices(l) + i);
        l->own_join[l->forgiving[i]] = pl->first + pl->filled++;
    }
}

/* What vertex v waits for, as tasks of the plan. */
static void deps_fill(struct laying *l, uint32_t v, struct plan_task *t)
{
    const struct weave *w = l->w;
    uint32_t n = w->first[v + 1] - w->first[v], *deps = arena_new(&l->plan->mem, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t dep = w->deps[w->first[v] + i], task = l->task_of[dep];
        if (is_instance(l, v) && l->own_join[dep] != WEAVE_NONE &&
            w->vertices[dep].node != w->vertices[v].node)
            task = l->own_join[dep];
        deps[i] = task | PLAN_NEW;
    }
    t->deps = deps;
    t->n_deps = n;
}

static int instance_fill(struct laying *l, uint32_t v)
{
    const struct weave_vertex *at = &l->w->vertices[v];
    struct plan_task *t = &l->plan->tasks[l->task_of[v]];
    const struct place *pl = is_held(l, v) ? &l->places[l->place_of[v]]
                                           : homeless_place(l, homeless_of(l, v));
    *t = (struct plan_task){.noderole = pl->ref, .weight = at->weight};
    deps_fill(l, v, t);
    if (at->reason == WEAVE_RUN) {
        t->def = weave_def_run(l, v);
        t->span = weave_span(l, v);
        return t->def ? 0 : -l->e->code;
    }
    t->rule = RULE_SKIP;
    t->def = weave_def_passive(l, l->g->vertices[at->task].id,
                               weave_reason_name((enum weave_reason)at->reason));
    return 0;
}

static void homeless_fill(struct laying *l, uint32_t v)
{
    const struct weave_vertex *at = &l->w->vertices[v];
    struct plan_task *t = &l->plan->tasks[l->task_of[v]];
    bool stage = at->kind == WEAVE_STAGE;
    struct str name = stage ? l->g->vertices[at->task].id
                            : l->w->joins[v - l->w->n_stages - l->w->n_tasks].name;
    *t = (struct plan_task){.noderole = homeless_place(l, homeless_of(l, v))->ref,
                            .weight = at->weight,
                            .def = weave_def_passive(l, name, stage ? "stage" : "join"),
                            .rule = stage && l->g->vertices[at->task].same_node ? RULE_JOIN_ENDED
                                    : l->tolerant                               ? RULE_JOIN_TOLERATE
                                                                                : RULE_JOIN_ALL};
    deps_fill(l, v, t);
}

static void forgiving_fill(struct laying *l, uint32_t i)
{
    uint32_t v = l->forgiving[i], *dep = arena_new(&l->plan->mem, uint32_t, 1);
    struct str id = l->g->vertices[l->w->vertices[v].task].id;
    const char *name = arena_printf(&l->mem, "join:%.*s", (int)id.n, id.s);
    *dep = l->task_of[v] | PLAN_NEW;
    l->plan->tasks[l->own_join[v]] = (struct plan_task){
        .noderole = homeless_place(l, homeless_vertices(l) + i)->ref,
        .weight = l->w->vertices[v].weight,
        .def = weave_def_passive(l, str_of(name), "join"),
        .deps = dep,
        .n_deps = 1,
        .rule = RULE_JOIN_TOLERATE};
}

/* What others do for a member. */
static void closing_fill(struct laying *l, uint32_t member)
{
    const struct weave_member *m = &l->req->members[member];
    const struct place *pl = &l->places[member];
    VEC(uint32_t) deps = {0};
    for (uint32_t v = l->w->base[m->node], end = l->w->base[m->node + 1]; v < end; v++)
        for (const struct weave_role *r = weave_serves(l->w, v); r; r = r->next)
            if (r->group == m->group && l->place_of[v] != member)
                vec_push(&deps, l->task_of[v] | PLAN_NEW);
    uint32_t *copy = arena_new(&l->plan->mem, uint32_t, deps.n);
    for (size_t i = 0; i < deps.n; i++)
        copy[i] = deps.at[i];
    l->plan->tasks[pl->first + l->closing[member]] = (struct plan_task){
        .noderole = pl->ref,
        .weight = 1,
        .def = weave_def_passive(l, str_of("shared"), "join"),
        .deps = copy,
        .n_deps = (uint32_t)deps.n,
        .rule = RULE_JOIN_ALL};
    vec_done(&deps);
}

static int tasks_fill(struct laying *l)
{
    const struct weave *w = l->w;
    int rc = 0;
    for (uint32_t v = 0; v < w->n && rc >= 0; v++)
        if (is_instance(l, v))
            rc = instance_fill(l, v);
        else
            homeless_fill(l, v);
    for (uint32_t i = 0; i < l->n_forgiving && rc >= 0; i++)
        forgiving_fill(l, i);
    for (uint32_t m = 0; m < l->req->n_members && rc >= 0; m++)
        if (l->closing[m] != WEAVE_NONE)
            closing_fill(l, m);
    return rc;
}

/* --- from end to end --- */

#define SEAL(to, n_to, from, type)                                                                 \
    do {                                                                                           \
        (to) = arena_new(&l->plan->mem, type, (from).n);                                           \
        for (size_t i_ = 0; i_ < (from).n; i_++)                                                   \
            (to)[i_] = (from).at[i_];                                                              \
        (n_to) = (uint32_t)(from).n;                                                               \
    } while (0)

static void plan_seal(struct laying *l, struct weave_plan *ret)
{
    struct plan *p = l->plan;
    struct weave_pool *sizes;
    SEAL(p->defs, p->n_defs, l->defs, struct plan_def);
    SEAL(p->pools, p->n_pools, l->new_pools, struct plan_pool);
    SEAL(p->spans, p->n_spans, l->spans, struct plan_span);
    SEAL(sizes, ret->n_pools, l->sizes, struct weave_pool);
    ret->pools = sizes;
    ret->task_of = l->task_of;
    ret->plan = p;
}

static void laying_done(struct laying *l)
{
    arena_done(&l->mem);
    u64map_done(&l->def_known);
    vec_done(&l->defs);
    vec_done(&l->new_pools);
    vec_done(&l->sizes);
    vec_done(&l->spans);
}

static uint32_t *filled(struct arena *a, uint32_t n)
{
    uint32_t *all = arena_new(a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        all[i] = WEAVE_NONE;
    return all;
}

int weave_plan_make(const struct weave_plan_request *req, struct weave_plan *ret, struct err *e)
{
    const struct weave *w = req->weave;
    struct err unread;
    struct laying l = {.req = req, .w = w, .g = w->graph, .plan = plan_new(), .e = e ? e : &unread};
    arena_init(&l.mem);
    l.plan->catalog = req->cat->number;
    l.place_of = arena_new(&l.mem, uint32_t, w->n);
    l.task_of = arena_new(&l.plan->mem, uint32_t, w->n);
    l.own_join = filled(&l.mem, w->n);
    l.forgiving = arena_new(&l.mem, uint32_t, w->n);
    l.closing = filled(&l.mem, req->n_members);
    l.groups = arena_new(&l.mem, uint32_t, l.g->n_vertices);
    for (int aside = 0; aside < 2; aside++)
        l.def_of[aside] = arena_new(&l.mem, uint32_t, l.g->n_vertices);
    l.first_limit = arena_new(&l.mem, uint32_t, l.g->n_vertices);
    l.next_limit = arena_new(&l.mem, uint32_t, w->n_limits);
    l.limit_pool = arena_new(&l.mem, uint32_t, w->n_limits);
    l.span_of = arena_new(&l.mem, uint32_t, req->n_members);
    int rc = weave_types_check(&l);
    if (rc >= 0)
        rc = places_find(&l);
    if (rc >= 0) {
        groups_fill(&l);
        forgiving_find(&l);
        places_count(&l);
        rc = places_check(&l);
    }
    if (rc >= 0) {
        noderoles_fill(&l);
        tasks_place(&l);
        weave_pools(&l);
        rc = tasks_fill(&l);
    }
    if (rc >= 0)
        plan_seal(&l, ret);
    else
        plan_free(l.plan);
    laying_done(&l);
    return rc < 0 ? rc : 0;
}
