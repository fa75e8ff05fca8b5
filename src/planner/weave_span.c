/* weave_span.c - limits of strategies as pools, and the spans that take them
 *
 * A limit of a task is a pool that each of its instances takes while it runs.  One of a group is
 * taken by a span over all tasks of a noderole, from the first to the last; a span takes its pools
 * in one step, so limits of its single tasks join it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/weave_plan_i.h"

static uint32_t pool_ref(struct laying *l, const struct weave_limit *limit)
{
    const char *name = arena_printf(&l->plan->mem, "graph:%u/%.*s/%.*s", l->req->deployment,
                                    (int)l->g->name.n, l->g->name.s, (int)limit->name.n,
                                    limit->name.s);
    uint32_t ref = l->req->world->pool(l->req->world->ctx, str_of(name));
    if (ref) {
        vec_push(&l->sizes, ((struct weave_pool){ref, limit->size}));
        return ref;
    }
    vec_push(&l->new_pools, ((struct plan_pool){str_of(name), limit->size}));
    return (uint32_t)(l->new_pools.n - 1) | PLAN_NEW;
}

static uint32_t span_add(struct laying *l, const uint32_t *pools, uint32_t n)
{
    uint32_t *copy = arena_new(&l->plan->mem, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = pools[i];
    vec_push(&l->spans, ((struct plan_span){copy, n}));
    return (uint32_t)l->spans.n;
}

/* The span of a member: its group's pool, and those of its tasks. */
static void member_span(struct laying *l, uint32_t member, uint32_t pool)
{
    const struct weave_member *m = &l->req->members[member];
    VEC(uint32_t) pools = {0};
    vec_push(&pools, pool);
    for (uint32_t v = l->w->base[m->node], end = l->w->base[m->node + 1]; v < end; v++) {
        const struct weave_vertex *at = &l->w->vertices[v];
        uint32_t own = l->pool_of[at->task];
        bool known = at->role != m->group || !own || at->reason != WEAVE_RUN;
        for (size_t i = 0; i < pools.n && !known; i++)
            known = pools.at[i] == own;
        if (!known)
            vec_push(&pools, own);
    }
    l->span_of[member] = span_add(l, pools.at, (uint32_t)pools.n);
    vec_done(&pools);
}

void weave_pools(struct laying *l)
{
    for (uint32_t i = 0; i < l->w->n_limits; i++)
        if (!l->w->limits[i].nodes)
            l->pool_of[l->w->limits[i].vertex] = pool_ref(l, &l->w->limits[i]);
    for (uint32_t i = 0; i < l->w->n_limits; i++) {
        const struct weave_limit *limit = &l->w->limits[i];
        if (!limit->nodes)
            continue;
        uint32_t pool = pool_ref(l, limit);
        for (uint32_t m = 0; m < l->req->n_members; m++)
            if (l->req->members[m].group == limit->vertex)
                member_span(l, m, pool);
    }
}

uint32_t weave_span(struct laying *l, uint32_t v)
{
    uint32_t member = l->place_of[v], pool = l->pool_of[l->w->vertices[v].task];
    if (l->span_of[member] && l->req->members[member].group == l->w->vertices[v].role)
        return l->span_of[member];
    return pool ? span_add(l, &pool, 1) : 0;
}
