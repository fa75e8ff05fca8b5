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
    uint32_t ref = l->req->world->pool(l->req->world->ctx, str_of(name), NULL);
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

enum { TASK_LIMITS = 2 }; /* of one instance: its task's own, and its group's for that task */

/* The pools that an instance takes for itself. */
static uint32_t own_pools(const struct laying *l, uint32_t v, uint32_t ret[TASK_LIMITS])
{
    const struct weave_vertex *at = &l->w->vertices[v];
    uint32_t n = 0;
    for (uint32_t i = l->first_limit[at->task]; i && n < TASK_LIMITS; i = l->next_limit[i - 1]) {
        uint32_t group = l->w->limits[i - 1].group;
        if (group == WEAVE_NONE || group == at->role)
            ret[n++] = l->limit_pool[i - 1];
    }
    return n;
}

typedef VEC(uint32_t) pools_v;

static void pool_once(pools_v *pools, uint32_t pool)
{
    for (size_t i = 0; i < pools->n; i++)
        if (pools->at[i] == pool)
            return;
    vec_push(pools, pool);
}

/* The span of a member: its group's pool, and those of its tasks. */
static void member_span(struct laying *l, uint32_t member, uint32_t pool)
{
    const struct weave_member *m = &l->req->members[member];
    pools_v pools = {0};
    vec_push(&pools, pool);
    for (uint32_t v = l->w->base[m->node], end = l->w->base[m->node + 1]; v < end; v++) {
        uint32_t own[TASK_LIMITS];
        if (l->w->vertices[v].role != m->group || l->w->vertices[v].reason != WEAVE_RUN)
            continue;
        for (uint32_t i = 0, n = own_pools(l, v, own); i < n; i++)
            pool_once(&pools, own[i]);
    }
    l->span_of[member] = span_add(l, pools.at, (uint32_t)pools.n);
    vec_done(&pools);
}

void weave_pools(struct laying *l)
{
    for (uint32_t i = 0; i < l->w->n_limits; i++) {
        const struct weave_limit *limit = &l->w->limits[i];
        l->limit_pool[i] = pool_ref(l, limit);
        if (limit->nodes)
            continue;
        l->next_limit[i] = l->first_limit[limit->vertex];
        l->first_limit[limit->vertex] = i + 1;
    }
    for (uint32_t i = 0; i < l->w->n_limits; i++)
        for (uint32_t m = 0; l->w->limits[i].nodes && m < l->req->n_members; m++)
            if (l->req->members[m].group == l->w->limits[i].vertex)
                member_span(l, m, l->limit_pool[i]);
}

uint32_t weave_span(struct laying *l, uint32_t v)
{
    uint32_t member = l->place_of[v], pools[TASK_LIMITS];
    if (l->span_of[member] && l->req->members[member].group == l->w->vertices[v].role)
        return l->span_of[member];
    uint32_t n = own_pools(l, v, pools);
    return n ? span_add(l, pools, n) : 0;
}
