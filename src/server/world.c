/* world.c - what the planner may ask, answered from memory
 *
 * All answers are of one moment: planning runs on the loop thread between two events.  Lists are
 * built in vectors that live as long as the planning.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server_i.h"

static bool world_node(void *ctx, uint32_t id, struct planner_node *ret)
{
    const struct world *w = ctx;
    const struct inventory *v = &w->server->inv;
    if (w->new_name && id == anneal_node_end(w->server->engine)) {
        *ret = (struct planner_node){str_of(w->new_name), false};
        return true;
    }
    if (id == 0 || id >= v->nodes.n || !v->nodes.at[id].name)
        return false;
    *ret = (struct planner_node){str_of(v->nodes.at[id].name),
                                 v->nodes.at[id].gone || v->nodes.at[id].leaving};
    return true;
}

static bool world_deployment(void *ctx, uint32_t id, struct str *ret_name, uint32_t *ret_parent)
{
    const struct inventory *v = &((struct world *)ctx)->server->inv;
    if (id == 0 || id >= v->deployments.n || !v->deployments.at[id].name ||
        v->deployments.at[id].gone)
        return false;
    *ret_name = str_of(v->deployments.at[id].name);
    *ret_parent = v->deployments.at[id].parent;
    return true;
}

static void world_noderole(void *ctx, uint32_t id, struct planner_noderole *ret)
{
    const struct server *s = ((struct world *)ctx)->server;
    const struct inv_noderole *n = &s->inv.noderoles.at[id];
    struct noderole_view v;
    anneal_noderole(s->engine, id, &v);
    *ret = (struct planner_noderole){.role = str_of(s->inv.role_names.at[n->role]),
                                     .node = v.node,
                                     .deployment = n->deployment,
                                     .cohort = v.cohort,
                                     .data = v.data,
                                     .counts = v.counts,
                                     .lens = n->lens ? s->inv.lenses.at[n->lens].id : 0};
}

static uint64_t world_inputs(void *ctx, uint32_t id, const struct value *user)
{
    uint64_t digest;
    struct err e;
    return data_user_inputs(((struct world *)ctx)->server, id, user, &digest, &e) < 0 ? 0 : digest;
}

static uint32_t cohort_of(const void *ctx, uint32_t id)
{
    const struct world *w = ctx;
    struct noderole_view v = {0};
    (void)anneal_noderole(w->server->engine, id, &v);
    return v.cohort;
}

static struct planner_ids ranked(const struct world *w, uint32_t *ids, size_t n)
{
    return planner_ids_rank(ids, n, cohort_of, w);
}

static bool stays(const struct world *w, uint32_t id)
{
    struct noderole_view v;
    return anneal_noderole(w->server->engine, id, &v) && v.target != TARGET_ABSENT;
}

static struct planner_ids world_on_node(void *ctx, uint32_t node)
{
    struct world *w = ctx;
    vec_clear(&w->on_node);
    for (uint32_t id = anneal_node_first_noderole(w->server->engine, node); id;
         id = anneal_node_next_noderole(w->server->engine, id))
        if (stays(w, id))
            vec_push(&w->on_node, id);
    return ranked(w, w->on_node.at, w->on_node.n);
}

static struct planner_ids world_instances(void *ctx, struct str role, uint32_t deployment)
{
    struct world *w = ctx;
    uintptr_t r;
    vec_clear(&w->instances);
    if (strmap_get(&w->server->inv.role_by_name, role, &r)) {
        const struct id_list *l = inventory_instances(&w->server->inv, (uint32_t)r, deployment);
        for (size_t i = 0; l && i < l->ids.n; i++)
            if (stays(w, l->ids.at[i]))
                vec_push(&w->instances, l->ids.at[i]);
    }
    return ranked(w, w->instances.at, w->instances.n);
}

/* Cohorts only rise: the lowest stays it until its own does or it goes, and then all are looked at
 * again.  One that is on its way out may come back, so what is behind it is looked at each time. */
static uint32_t world_lowest(void *ctx, struct str role, uint32_t deployment)
{
    struct world *w = ctx;
    struct noderole_view v;
    uintptr_t r;
    struct id_list *l = strmap_get(&w->server->inv.role_by_name, role, &r)
                            ? inventory_instances(&w->server->inv, (uint32_t)r, deployment)
                            : NULL;
    if (!l)
        return 0;
    if (l->looked && (!anneal_noderole(w->server->engine, l->lowest, &v) ||
                      v.target == TARGET_ABSENT || v.cohort != l->cohort))
        l->looked = 0;
    if (!l->looked)
        l->lowest = 0;
    bool all = true;
    for (size_t i = l->looked; i < l->ids.n; i++) {
        uint32_t id = l->ids.at[i];
        if (!anneal_noderole(w->server->engine, id, &v) || v.target == TARGET_ABSENT) {
            all = false;
        } else if (!l->lowest || v.cohort < l->cohort) {
            l->lowest = id;
            l->cohort = v.cohort;
        }
        l->looked += all;
    }
    uint32_t lowest = l->lowest;
    if (!all)
        l->looked =
            0; /* what was found behind it must not be taken for the lowest of those before */
    return lowest;
}

static struct planner_ids world_children(void *ctx, uint32_t id)
{
    struct world *w = ctx;
    const struct anneal *engine = w->server->engine;
    uint32_t n = anneal_needed_by(engine, id, NULL, 0);
    vec_reserve(&w->children, n);
    (void)anneal_needed_by(engine, id, w->children.at, n);
    w->children.n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (stays(w, w->children.at[i]))
            w->children.at[w->children.n++] = w->children.at[i];
    return ranked(w, w->children.at, w->children.n);
}

static struct planner_ids world_parents(void *ctx, uint32_t id)
{
    struct world *w = ctx;
    uint32_t n = anneal_needs(w->server->engine, id, NULL, 0);
    vec_reserve(&w->parents, n);
    (void)anneal_needs(w->server->engine, id, w->parents.at, n);
    return (struct planner_ids){w->parents.at, n};
}

static bool world_enough(void *ctx, uint32_t id, uint32_t parent, struct planner_enough *ret)
{
    struct quorum_view v;
    if (!anneal_quorum(((struct world *)ctx)->server->engine, id, parent, &v))
        return false;
    *ret = (struct planner_enough){v.min, v.percent, v.first};
    return true;
}

/* Positions in the noderole of what a task waits for there. */
static bool world_task(void *ctx, uint32_t id, uint32_t position, struct planner_task *ret)
{
    struct world *w = ctx;
    struct noderole_view v;
    struct task_view t;
    uint32_t n;
    if (!anneal_noderole(w->server->engine, id, &v) || position >= v.n_tasks)
        return false;
    anneal_task(w->server->engine, v.first_task + position, &t);
    const uint32_t *deps = anneal_task_deps(w->server->engine, v.first_task + position, &n);
    vec_clear(&w->after);
    for (uint32_t i = 0; i < n; i++)
        if (deps[i] - v.first_task < v.n_tasks)
            vec_push(&w->after, deps[i] - v.first_task);
    bool held;
    struct planner_ids pools = {NULL, 0};
    if (t.span)
        pools.at = anneal_span_pools(w->server->engine, t.span, &pools.n, &held);
    *ret = (struct planner_task){t.def, {w->after.at, (uint32_t)w->after.n}, pools};
    return true;
}

static bool world_jig(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    const struct server *s = ((struct world *)ctx)->server;
    uintptr_t id;
    struct jig_view v;
    if (!strmap_get(&s->inv.jig_by_name, name, &id) || !anneal_jig(s->engine, (uint32_t)id, &v))
        return false;
    *ret_id = (uint32_t)id;
    *ret_active = v.active;
    return true;
}

static uint32_t world_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    const struct server *s = ((struct world *)ctx)->server;
    uintptr_t id;
    struct pool_view v;
    if (!strmap_get(&s->inv.pool_by_name, name, &id) || !anneal_pool(s->engine, (uint32_t)id, &v))
        return 0;
    if (ret_size)
        *ret_size = v.size;
    return v.id;
}

static uint32_t world_def(void *ctx, uint64_t digest)
{
    uintptr_t id;
    return u64map_get(&((struct world *)ctx)->server->inv.def_by_digest, digest, &id) ? (uint32_t)id
                                                                                      : 0;
}

struct planner_world world_of(struct world *w, struct server *s)
{
    *w = (struct world){.server = s};
    return (struct planner_world){.ctx = w,
                                  .node = world_node,
                                  .deployment = world_deployment,
                                  .noderole = world_noderole,
                                  .inputs = world_inputs,
                                  .on_node = world_on_node,
                                  .instances = world_instances,
                                  .lowest = world_lowest,
                                  .children = world_children,
                                  .parents = world_parents,
                                  .enough = world_enough,
                                  .task = world_task,
                                  .jig = world_jig,
                                  .pool = world_pool,
                                  .def = world_def};
}

void world_done(struct world *w)
{
    vec_done(&w->on_node);
    vec_done(&w->instances);
    vec_done(&w->children);
    vec_done(&w->parents);
    vec_done(&w->after);
}
