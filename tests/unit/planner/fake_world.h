/* fake_world.h - a world in memory that plans can be applied to
 *
 * Answers exactly what struct planner_world promises, by plain loops: slow, and easy to believe.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_WORLD_H
#define TESTS_FAKE_WORLD_H

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "catalog/catalog.h"
#include "planner/planner.h"

struct fake_node {
    const char *name;
    bool gone;
};
struct fake_noderole { /* id = index + 1 */
    const char *role;
    uint32_t node, deployment, cohort, first_task, n_tasks;
    uint64_t data, lens;
    bool removed;
    VEC(uint32_t) parents;
};
struct fake_task { /* id = index + 1 */
    uint32_t noderole, def;
    uint32_t after[8], n_after; /* positions in its noderole */
    uint32_t pools[8], n_pools;
};
struct fake_deployment {
    const char *name;
    uint32_t parent;
};
struct fake_world {
    struct arena mem;
    struct planner_world face;
    VEC(struct fake_node) nodes; /* id = index + 1, as all below */
    VEC(struct fake_deployment) deployments;
    VEC(struct fake_noderole) noderoles;
    VEC(struct fake_task) tasks;
    VEC(const char *) jigs;
    VEC(const char *) inactive;
    VEC(const char *) pools;
    VEC(uint32_t) sizes; /* of pools */
    VEC(uint64_t) defs;
    VEC(uint32_t) on_node, instances, children, parents; /* last answers */
    uint32_t after[8];
    uint32_t n_spans;
};

static bool fake_node_get(void *ctx, uint32_t node, struct planner_node *ret)
{
    struct fake_world *w = ctx;
    if (!node || node > w->nodes.n)
        return false;
    *ret = (struct planner_node){str_of(w->nodes.at[node - 1].name), w->nodes.at[node - 1].gone};
    return true;
}

static bool fake_deployment_get(void *ctx, uint32_t id, struct str *ret_name, uint32_t *ret_parent)
{
    struct fake_world *w = ctx;
    if (!id || id > w->deployments.n)
        return false;
    *ret_name = str_of(w->deployments.at[id - 1].name);
    *ret_parent = w->deployments.at[id - 1].parent;
    return true;
}

static void fake_noderole_get(void *ctx, uint32_t id, struct planner_noderole *ret)
{
    struct fake_world *w = ctx;
    const struct fake_noderole *n = &w->noderoles.at[id - 1];
    *ret = (struct planner_noderole){str_of(n->role), n->node, n->deployment,
                                     n->cohort,       n->data, n->lens};
}

/* Sorts ids by (cohort, id); lists are short. */
static struct planner_ids fake_sorted(struct fake_world *w, uint32_t *ids, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        uint32_t id = ids[i];
        size_t k = i;
        for (; k && (w->noderoles.at[ids[k - 1] - 1].cohort > w->noderoles.at[id - 1].cohort ||
                     (w->noderoles.at[ids[k - 1] - 1].cohort == w->noderoles.at[id - 1].cohort &&
                      ids[k - 1] > id));
             k--)
            ids[k] = ids[k - 1];
        ids[k] = id;
    }
    return (struct planner_ids){ids, (uint32_t)n};
}

static struct planner_ids fake_on_node(void *ctx, uint32_t node)
{
    struct fake_world *w = ctx;
    vec_clear(&w->on_node);
    for (uint32_t i = 0; i < w->noderoles.n; i++)
        if (w->noderoles.at[i].node == node && !w->noderoles.at[i].removed)
            vec_push(&w->on_node, i + 1);
    return fake_sorted(w, w->on_node.at, w->on_node.n);
}

static struct planner_ids fake_instances(void *ctx, struct str role, uint32_t deployment)
{
    struct fake_world *w = ctx;
    vec_clear(&w->instances);
    for (uint32_t i = 0; i < w->noderoles.n; i++)
        if (w->noderoles.at[i].deployment == deployment && !w->noderoles.at[i].removed &&
            str_is(role, w->noderoles.at[i].role))
            vec_push(&w->instances, i + 1);
    return fake_sorted(w, w->instances.at, w->instances.n);
}

static struct planner_ids fake_children(void *ctx, uint32_t id)
{
    struct fake_world *w = ctx;
    vec_clear(&w->children);
    for (uint32_t i = 0; i < w->noderoles.n; i++)
        for (size_t k = 0; k < w->noderoles.at[i].parents.n; k++)
            if (w->noderoles.at[i].parents.at[k] == id && !w->noderoles.at[i].removed)
                vec_push(&w->children, i + 1);
    return (struct planner_ids){w->children.at, (uint32_t)w->children.n};
}

static struct planner_ids fake_parents(void *ctx, uint32_t id)
{
    struct fake_world *w = ctx;
    const struct fake_noderole *n = &w->noderoles.at[id - 1];
    vec_clear(&w->parents);
    for (size_t i = 0; i < n->parents.n; i++)
        vec_push(&w->parents, n->parents.at[i]);
    return (struct planner_ids){w->parents.at, (uint32_t)w->parents.n};
}

static bool fake_enough(void *ctx, uint32_t id, uint32_t parent, struct planner_enough *ret)
{
    (void)ctx;
    (void)id;
    (void)parent;
    (void)ret;
    return false;
}

static bool fake_task(void *ctx, uint32_t id, uint32_t position, struct planner_task *ret)
{
    struct fake_world *w = ctx;
    const struct fake_noderole *n = &w->noderoles.at[id - 1];
    if (position >= n->n_tasks)
        return false;
    const struct fake_task *t = &w->tasks.at[n->first_task - 1 + position];
    for (uint32_t i = 0; i < t->n_after; i++)
        w->after[i] = t->after[i];
    *ret = (struct planner_task){t->def, {w->after, t->n_after}, {t->pools, t->n_pools}};
    return true;
}

static bool fake_jig(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    struct fake_world *w = ctx;
    *ret_active = true;
    for (size_t i = 0; i < w->inactive.n; i++)
        *ret_active &= !str_is(name, w->inactive.at[i]);
    for (uint32_t i = 0; i < w->jigs.n; i++)
        if (str_is(name, w->jigs.at[i])) {
            *ret_id = i + 1;
            return true;
        }
    return false;
}

static uint32_t fake_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    struct fake_world *w = ctx;
    for (uint32_t i = 0; i < w->pools.n; i++) {
        if (!str_is(name, w->pools.at[i]))
            continue;
        if (ret_size)
            *ret_size = w->sizes.at[i];
        return i + 1;
    }
    return 0;
}

static uint32_t fake_def(void *ctx, uint64_t digest)
{
    struct fake_world *w = ctx;
    for (uint32_t i = 0; i < w->defs.n; i++)
        if (w->defs.at[i] == digest)
            return i + 1;
    return 0;
}

/* Nodes n1..n and the root deployment "system"; every jig of the catalog is set up. */
static void fake_init(struct fake_world *w, const struct catalog *c, uint32_t nodes)
{
    *w = (struct fake_world){0};
    w->face = (struct planner_world){
        .ctx = w,
        .node = fake_node_get,
        .deployment = fake_deployment_get,
        .noderole = fake_noderole_get,
        .on_node = fake_on_node,
        .instances = fake_instances,
        .children = fake_children,
        .parents = fake_parents,
        .enough = fake_enough,
        .task = fake_task,
        .jig = fake_jig,
        .pool = fake_pool,
        .def = fake_def,
    };
    for (uint32_t i = 1; i <= nodes; i++)
        vec_push(&w->nodes, ((struct fake_node){arena_printf(&w->mem, "n%u", i), false}));
    vec_push(&w->deployments, ((struct fake_deployment){"system", 0}));
    for (uint32_t i = 0; i < c->n_jigs; i++)
        vec_push(&w->jigs, arena_strdup(&w->mem, c->jigs[i].name.s));
}

static void fake_done(struct fake_world *w)
{
    for (size_t i = 0; i < w->noderoles.n; i++)
        vec_done(&w->noderoles.at[i].parents);
    vec_done(&w->nodes);
    vec_done(&w->deployments);
    vec_done(&w->noderoles);
    vec_done(&w->tasks);
    vec_done(&w->jigs);
    vec_done(&w->inactive);
    vec_done(&w->pools);
    vec_done(&w->sizes);
    vec_done(&w->defs);
    vec_done(&w->on_node);
    vec_done(&w->instances);
    vec_done(&w->children);
    vec_done(&w->parents);
    arena_done(&w->mem);
}

/* Makes a plan live, as the engine would. */
__attribute__((unused)) static void fake_apply(struct fake_world *w, struct plan *p)
{
    uint32_t base = (uint32_t)w->noderoles.n + 1, base_task = (uint32_t)w->tasks.n + 1;

    plan_rebase(p, (uint32_t)w->defs.n + 1, base, base_task, w->n_spans + 1,
                (uint32_t)w->pools.n + 1);
    uint32_t base_span = w->n_spans + 1;
    w->n_spans += p->n_spans;
    for (uint32_t i = 0; i < p->n_defs; i++)
        vec_push(&w->defs, p->defs[i].digest);
    for (uint32_t i = 0; i < p->n_pools; i++) {
        vec_push(&w->pools, arena_strndup(&w->mem, p->pools[i].name.s, p->pools[i].name.n));
        vec_push(&w->sizes, p->pools[i].size);
    }
    for (uint32_t i = 0; i < p->n_sizes; i++)
        w->sizes.at[p->sizes[i].pool - 1] = p->sizes[i].size;
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        struct fake_task t = {.noderole = p->tasks[i].noderole, .def = p->tasks[i].def};
        uint32_t first = t.noderole >= base ? p->noderoles[t.noderole - base].first_task : 0;
        for (uint32_t c = 0; c < p->n_changes; c++)
            if (p->changes[c].noderole == t.noderole)
                first = p->changes[c].first_task;
        for (uint32_t k = 0; k < p->tasks[i].n_deps; k++) {
            uint32_t dep = p->tasks[i].deps[k] - base_task;
            if (dep < p->n_tasks && p->tasks[dep].noderole == t.noderole && t.n_after < 8)
                t.after[t.n_after++] = dep - first;
        }
        const struct plan_span *span = p->tasks[i].span ? &p->spans[p->tasks[i].span - base_span]
                                                        : NULL;
        for (uint32_t k = 0; span && k < span->n_pools && k < 8; k++)
            t.pools[t.n_pools++] = span->pools[k];
        vec_push(&w->tasks, t);
    }
    for (uint32_t i = 0; i < p->n_changes; i++) {
        const struct plan_change *c = &p->changes[i];
        struct fake_noderole *n = &w->noderoles.at[c->noderole - 1];
        n->data = c->what & PLAN_C_DATA ? c->data : n->data;
        n->lens = c->what & PLAN_C_LENS ? c->lens : n->lens;
        n->removed = c->what & PLAN_C_REMOVE || (n->removed && !(c->what & PLAN_C_TASKS));
        for (uint32_t k = 0; k < c->n_defs; k++)
            w->tasks.at[n->first_task - 1 + k].def = c->defs[k];
        if (c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)) {
            n->first_task = base_task + c->first_task;
            n->n_tasks = c->n_tasks;
        }
        for (uint32_t k = 0; k < c->n_losses; k++)
            for (size_t x = 0; x < n->parents.n; x++)
                if (n->parents.at[x] == c->losses[k])
                    n->parents.at[x] = n->parents.at[--n->parents.n];
        for (uint32_t k = 0; k < c->n_gains; k++)
            vec_push(&n->parents, c->gains[k]);
    }
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        struct fake_noderole n = {.role = arena_strndup(&w->mem, r->role.s, r->role.n),
                                  .node = r->node,
                                  .deployment = r->deployment,
                                  .cohort = r->cohort,
                                  .data = r->data,
                                  .lens = r->lens,
                                  .first_task = base_task + r->first_task,
                                  .n_tasks = r->n_tasks};
        for (uint32_t k = 0; k < r->n_parents; k++)
            vec_push(&n.parents, r->parents[k]);
        vec_push(&w->noderoles, n);
    }
    for (uint32_t i = 0; i < p->n_needs; i++)
        vec_push(&w->noderoles.at[p->needs[i].child - 1].parents, p->needs[i].parent);
}

/* Cohorts after needs on live noderoles: raised, and what is above them too. */
__attribute__((unused)) static void fake_raise(struct fake_world *w)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < w->noderoles.n; i++)
            for (size_t k = 0; k < w->noderoles.at[i].parents.n; k++) {
                uint32_t parent = w->noderoles.at[i].parents.at[k];
                uint32_t least = w->noderoles.at[parent - 1].cohort + 1;
                if (w->noderoles.at[i].cohort < least) {
                    w->noderoles.at[i].cohort = least;
                    moved = true;
                }
            }
    }
}

/* A catalog of one barclamp from the text of its file. */
__attribute__((unused)) static struct catalog *fake_catalog(const char *text)
{
    struct catalog_file file = {str_of("barclamp.yaml"), str_of(text)};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    if (catalog_load(&source, NULL, 1, &report, &c, &e) < 0) {
        struct buf b = {0};
        catalog_report_write(&b, &report);
        printf("Bail out! %s\n", b.data);
        exit(1);
    }
    catalog_report_done(&report);
    return c;
}

#endif
