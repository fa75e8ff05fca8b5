/* real_world.c - what planner and sight ask, answered from the engine */
/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/lens.h"

static bool view(const struct real *r, uint32_t id, struct noderole_view *ret)
{
    return id < anneal_noderole_end(r->a) && anneal_noderole(r->a, id, ret);
}

static bool stays(const struct real *r, uint32_t id)
{
    struct noderole_view v;
    return view(r, id, &v) && v.target != TARGET_ABSENT;
}

uint32_t real_living(const struct real *r, uint32_t role, uint32_t node, uint32_t deployment)
{
    struct noderole_view v;
    for (uint32_t id = 1; id < r->beings.n; id++)
        if (stays(r, id) && view(r, id, &v) && v.node == node && r->beings.at[id].role == role &&
            (!deployment || r->beings.at[id].deployment == deployment))
            return id;
    return 0;
}

uint32_t real_leaver(const struct real *r, uint32_t role, uint32_t node, uint32_t deployment)
{
    struct noderole_view v;
    for (uint32_t id = (uint32_t)r->beings.n; id-- > 1;)
        if (view(r, id, &v) && v.target == TARGET_ABSENT && v.node == node &&
            r->beings.at[id].role == role && r->beings.at[id].deployment == deployment)
            return id;
    return 0;
}

uint64_t real_key(const struct real *r, uint32_t noderole)
{
    struct noderole_view v = {0};
    (void)view(r, noderole, &v);
    return snapshot_key(r->beings.at[noderole].role + 1, v.node);
}

/* --- for the planner --- */

static bool world_node(void *ctx, uint32_t node, struct planner_node *ret)
{
    struct real *r = ctx;
    *ret = (struct planner_node){str_of(arena_printf(&r->mem, "n%u", node)), false};
    return node && node <= r->n_nodes;
}

static bool world_deployment(void *ctx, uint32_t id, struct str *ret_name, uint32_t *ret_parent)
{
    struct real *r = ctx;
    *ret_name = str_of(arena_printf(&r->mem, "d%u", id));
    *ret_parent = id <= r->n_deployments ? r->deployment_parent[id] : 0;
    return id && id <= r->n_deployments;
}

static void world_noderole(void *ctx, uint32_t id, struct planner_noderole *ret)
{
    struct real *r = ctx;
    struct noderole_view v = {0};
    (void)view(r, id, &v);
    const struct catalog_role *role = &r->cat->roles[r->beings.at[id].role];
    *ret = (struct planner_noderole){role->name, v.node, r->beings.at[id].deployment,
                                     v.cohort,   v.data, role->lens_id};
}

static uint32_t cohort_of(const void *ctx, uint32_t id)
{
    struct noderole_view v = {0};
    (void)view(ctx, id, &v);
    return v.cohort;
}

static struct planner_ids in_order(const struct real *r, uint32_t *ids, size_t n)
{
    return planner_ids_rank(ids, n, cohort_of, r);
}

static struct planner_ids world_on_node(void *ctx, uint32_t node)
{
    struct real *r = ctx;
    vec_clear(&r->on_node);
    for (uint32_t id = anneal_node_first_noderole(r->a, node); id;
         id = anneal_node_next_noderole(r->a, id))
        if (stays(r, id))
            vec_push(&r->on_node, id);
    return in_order(r, r->on_node.at, r->on_node.n);
}

static struct planner_ids world_instances(void *ctx, struct str role, uint32_t deployment)
{
    struct real *r = ctx;
    vec_clear(&r->instances);
    for (uint32_t id = 1; id < r->beings.n; id++)
        if (stays(r, id) && r->beings.at[id].deployment == deployment &&
            str_eq(r->cat->roles[r->beings.at[id].role].name, role))
            vec_push(&r->instances, id);
    return in_order(r, r->instances.at, r->instances.n);
}

static struct planner_ids world_children(void *ctx, uint32_t id)
{
    struct real *r = ctx;
    uint32_t n = anneal_needed_by(r->a, id, NULL, 0);
    uint32_t *children = arena_new(&r->mem, uint32_t, n + 1);
    (void)anneal_needed_by(r->a, id, children, n);
    vec_clear(&r->children);
    for (uint32_t i = 0; i < n; i++)
        if (stays(r, children[i]))
            vec_push(&r->children, children[i]);
    return in_order(r, r->children.at, r->children.n);
}

static struct planner_ids world_parents(void *ctx, uint32_t id)
{
    struct real *r = ctx;
    uint32_t n = anneal_needs(r->a, id, NULL, 0);
    uint32_t *parents = arena_new(&r->mem, uint32_t, n + 1);
    (void)anneal_needs(r->a, id, parents, n);
    return (struct planner_ids){parents, n};
}

static bool world_enough(void *ctx, uint32_t id, uint32_t parent, struct planner_enough *ret)
{
    (void)ctx;
    (void)id;
    (void)parent;
    (void)ret;
    return false; /* each is needed by itself */
}

static bool world_task(void *ctx, uint32_t id, uint32_t position, struct planner_task *ret)
{
    struct real *r = ctx;
    struct noderole_view v = {0};
    struct task_view t = {0};
    uint32_t n;
    if (!view(r, id, &v) || position >= v.n_tasks)
        return false;
    (void)anneal_task(r->a, v.first_task + position, &t);
    const uint32_t *deps = anneal_task_deps(r->a, v.first_task + position, &n);
    vec_clear(&r->after);
    for (uint32_t i = 0; i < n; i++)
        if (deps[i] - v.first_task < v.n_tasks)
            vec_push(&r->after, deps[i] - v.first_task);
    *ret = (struct planner_task){t.def, {r->after.at, (uint32_t)r->after.n}, {NULL, 0}};
    return true;
}

static bool world_jig(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    struct real *r = ctx;
    const struct catalog_jig *jig = catalog_jig_get(r->cat, name);
    if (!jig)
        return false;
    *ret_id = (uint32_t)(jig - r->cat->jigs) + 1;
    *ret_active = true;
    return true;
}

static uint32_t world_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    (void)ctx;
    (void)name;
    (void)ret_size;
    return 0;
}

static uint32_t world_def(void *ctx, uint64_t digest)
{
    struct real *r = ctx;
    for (uint32_t i = 0; i < r->defs.n; i++)
        if (r->defs.at[i] == digest)
            return i + 1;
    return 0;
}

/* --- for sight --- */

static const struct value *document(struct real *r, const char *text)
{
    struct value *v = NULL;
    struct err e;
    if (*text && json_parse(&r->mem, text, strlen(text), NULL, &v, &e) < 0)
        printf("Bail out! %s: %s\n", text, e.text);
    return v;
}

static bool sight_nr(void *ctx, uint32_t id, struct sight_noderole *ret)
{
    struct real *r = ctx;
    struct noderole_view v;
    if (!view(r, id, &v))
        return false;
    const struct real_being *b = &r->beings.at[id];
    *ret = (struct sight_noderole){
        .role = b->role + 1,
        .lens = b->role + 1,
        .node = v.node,
        .deployment = b->deployment,
        .cohort = v.cohort,
        .active = (v.state == NODEROLE_ACTIVE || v.state == NODEROLE_STALE) &&
                  v.target == TARGET_RUNNING,
        .member = r->cat->roles[b->role].flags & ROLE_F_CLUSTER,
        .wall = document(r, b->wall),
        .system = document(r, b->system),
        .user = document(r, b->user),
    };
    return true;
}

static struct sight_needs sight_needs_of(void *ctx, uint32_t id)
{
    struct real *r = ctx;
    uint32_t n;
    const uint32_t *parents = anneal_parents(r->a, id, &n);
    vec_clear(&r->needs);
    for (uint32_t i = 0; i < n; i++) {
        bool peer = r->cat->roles[r->beings.at[parents[i]].role].flags & ROLE_F_CLUSTER;
        vec_push(&r->needs, ((struct sight_need){parents[i], peer}));
    }
    struct sight_need *copy = arena_new(&r->mem, struct sight_need, n + 1);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = r->needs.at[i];
    return (struct sight_needs){copy, n};
}

static struct sight_ids sight_on_node(void *ctx, uint32_t node)
{
    struct real *r = ctx;
    vec_clear(&r->seen);
    for (uint32_t id = anneal_node_first_noderole(r->a, node); id;
         id = anneal_node_next_noderole(r->a, id))
        vec_push(&r->seen, id);
    return (struct sight_ids){r->seen.at, (uint32_t)r->seen.n};
}

static uint32_t sight_parent(void *ctx, uint32_t deployment)
{
    return ((struct real *)ctx)->deployment_parent[deployment];
}

static const struct value *sight_shared(void *ctx, uint32_t deployment, uint32_t role)
{
    struct real *r = ctx;
    const struct snapshot *head = desire_head(r->d, deployment);
    struct snapshot_entry t;
    struct err e;
    if (!head || snapshot_find(&r->mem, head->root, role, 0, &t, &e) <= 0)
        return NULL;
    return document(r, desire_doc_text(r->d, t.user).s);
}

static bool sight_role_of(void *ctx, uint32_t role, struct str *ret)
{
    const struct real *r = ctx;
    if (!role || role > r->cat->n_roles)
        return false;
    *ret = r->cat->roles[role - 1].name;
    return true;
}

static bool sight_lens_of(void *ctx, uint32_t role, struct sight_lens *ret)
{
    struct real *r = ctx;
    struct lens lens;
    struct err e;
    if (!role || role > r->cat->n_roles ||
        lens_read(&r->mem, r->cat->roles[role - 1].lens, &lens, &e) < 0)
        return false;
    *ret = lens.sight;
    return true;
}

static bool sight_node_of(void *ctx, uint32_t node, struct sight_node *ret)
{
    struct real *r = ctx;
    *ret = (struct sight_node){str_of(arena_printf(&r->mem, "n%u", node)), NULL};
    return node && node <= r->n_nodes;
}

/* --- begin and end --- */

static void no_row(void *arg, enum row_table t, enum row_verb verb, const void *row)
{
    (void)arg;
    (void)t;
    (void)verb;
    (void)row;
}

static int catalog_make(struct real *r, const char *text, struct err *e)
{
    struct catalog_file file = {str_of("barclamp.yaml"), str_of(text)};
    struct catalog_source source = {&file, 1};
    struct catalog_report report = {0};
    int rc = catalog_load(&source, NULL, 1, &report, &r->cat, e);
    catalog_report_done(&report);
    return rc;
}

static void engine_make(struct real *r)
{
    struct err e;
    int rc = real_step(r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1}, &e);
    rc |= real_step(
        r, (struct event){.kind = EVENT_OPERATION_ADD, .id = 1, .n = 1, .flag = CLASS_BACKGROUND},
        &e);
    for (uint32_t i = 1; i <= r->cat->n_jigs; i++)
        rc |= real_step(r, (struct event){.kind = EVENT_JIG_SET, .id = i, .flag = 1, .n = 1000},
                        &e);
    rc |= real_step(r, (struct event){.kind = EVENT_CAPACITY_SET, .n = 1000}, &e);
    for (uint32_t n = 1; n <= r->n_nodes; n++) {
        rc |= real_step(
            r,
            (struct event){
                .kind = EVENT_NODE_ADD, .id = n, .n = 2, .flag = 1, .extra = ALIVE_ALIVE},
            &e);
        rc |= real_step(r, (struct event){.kind = EVENT_NODE_SEEN, .id = n, .a = 100 + n, .b = 1},
                        &e);
    }
    if (rc)
        printf("Bail out! the engine cannot be set up: %s\n", e.text);
}

int real_init(struct real *r, const char *catalog, uint32_t nodes, uint32_t deployments,
              const int *parents, struct err *e)
{
    *r = (struct real){.now = 1000, .n_nodes = nodes, .n_deployments = deployments, .op = 1};
    int rc = catalog_make(r, catalog, e);
    if (rc < 0)
        return rc;
    arena_init(&r->mem);
    for (uint32_t i = 1; i <= deployments; i++)
        r->deployment_parent[i] = (uint32_t)parents[i];
    (void)vec_add(&r->beings);
    r->d = desire_new(no_row, NULL);
    for (uint32_t i = 0; i < r->cat->n_roles; i++)
        (void)desire_role(r->d, r->cat->roles[i].name);
    r->a = anneal_new();
    r->cache = sight_cache_new();
    r->world = (struct planner_world){r,          world_node,    world_deployment, world_noderole,
                                      NULL,       world_on_node, world_instances,  world_children,
                                      world_task, world_jig,     world_pool,       world_def};
    r->world.parents = world_parents;
    r->world.enough = world_enough;
    r->sight = (struct sight_world){r,
                                    sight_nr,
                                    sight_needs_of,
                                    sight_on_node,
                                    sight_parent,
                                    sight_shared,
                                    sight_role_of,
                                    sight_lens_of,
                                    sight_node_of};
    engine_make(r);
    return 0;
}

void real_done(struct real *r)
{
    anneal_free(r->a);
    effects_done(&r->fx);
    desire_free(r->d);
    sight_cache_free(r->cache);
    catalog_unref(r->cat);
    vec_done(&r->beings);
    vec_done(&r->defs);
    vec_done(&r->on_node);
    vec_done(&r->instances);
    vec_done(&r->children);
    vec_done(&r->after);
    vec_done(&r->seen);
    vec_done(&r->needs);
    arena_done(&r->mem);
}

struct desire_author real_author(const struct real *r)
{
    return (struct desire_author){str_of("ann"), str_of("because"), r->now, r->cat->number};
}
