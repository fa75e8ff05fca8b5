/* outlook.c - what lives and what a draft makes of it, answered as one world */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/outlook.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/sort.h"

static const struct outlook_entry *fresh_of(const struct outlook *o, uint32_t id)
{
    return &o->fresh.at[id - OUTLOOK_FIRST];
}

uint64_t outlook_key(const struct outlook *o, uint32_t id)
{
    return outlook_is_fresh(id) ? fresh_of(o, id)->key : wish_key(o->server, id);
}

uint32_t outlook_find(const struct outlook *o, uint64_t key)
{
    uintptr_t i;
    if (u64map_get(&o->fresh_by_key, key, &i))
        return o->fresh.at[i].id;
    uint32_t id = wish_live(o->server, key, NULL);
    return id && !u64map_get(&o->hidden, id, NULL) ? id : 0;
}

/* --- answers --- */

static bool ask_node(void *ctx, uint32_t node, struct planner_node *ret)
{
    struct outlook *o = ctx;
    return o->live_view.node(&o->live, node, ret);
}

static bool ask_deployment(void *ctx, uint32_t id, struct str *ret_name, uint32_t *ret_parent)
{
    struct outlook *o = ctx;
    return o->live_view.deployment(&o->live, id, ret_name, ret_parent);
}

/* Who does not live yet is compared by its own data alone. */
static uint64_t ask_inputs(void *ctx, uint32_t id, const struct value *user)
{
    struct outlook *o = ctx;
    SCOPED_ARENA(mem);
    const struct value *data;
    uint64_t digest = 0;
    struct err unread;
    if (!outlook_is_fresh(id))
        return o->live_view.inputs(&o->live, id, user);
    struct str name = desire_role_name(o->server->desire, snapshot_key_role(fresh_of(o, id)->key));
    const struct catalog_role *role = catalog_role_get(o->catalog, name);
    if (role)
        (void)planner_data(&mem, role, user, &data, &digest, &unread);
    return digest;
}

static void ask_noderole(void *ctx, uint32_t id, struct planner_noderole *ret)
{
    struct outlook *o = ctx;
    if (!outlook_is_fresh(id)) {
        o->live_view.noderole(&o->live, id, ret);
        return;
    }
    const struct outlook_entry *f = fresh_of(o, id);
    SCOPED_ARENA(mem);
    *ret = (struct planner_noderole){
        desire_role_name(o->server->desire, snapshot_key_role(f->key)), snapshot_key_node(f->key),
        o->deployment, f->cohort, ask_inputs(o, id, wish_document(o->server, &mem, f->entry.user))};
}

static uint32_t cohort_of(const void *ctx, uint32_t id)
{
    const struct outlook *o = ctx;
    struct noderole_view v = {0};
    if (outlook_is_fresh(id))
        return fresh_of(o, id)->cohort;
    (void)anneal_noderole(o->server->engine, id, &v);
    return v.cohort;
}

static struct planner_ids ordered(const struct outlook *o, uint32_t *ids, size_t n)
{
    return planner_ids_rank(ids, n, cohort_of, o);
}

static size_t edge_first(const struct outlook_edge *at, size_t n, uint64_t parent)
{
    return sort_first(at, n, it, it->parent >= parent);
}

/* Entries are in the order of keys, which is that of roles. */
static size_t fresh_first(const struct outlook *o, uint32_t role)
{
    return sort_first(o->fresh.at, o->fresh.n, it, snapshot_key_role(it->key) >= role);
}

static struct planner_ids ask_on_node(void *ctx, uint32_t node)
{
    struct outlook *o = ctx;
    struct planner_ids live = o->live_view.on_node(&o->live, node);
    vec_clear(&o->on_node);
    for (uint32_t i = 0; i < live.n; i++)
        if (!u64map_get(&o->hidden, live.at[i], NULL))
            vec_push(&o->on_node, live.at[i]);
    for (size_t i = edge_first(o->homes.at, o->homes.n, node);
         i < o->homes.n && o->homes.at[i].parent == node; i++)
        vec_push(&o->on_node, o->homes.at[i].child);
    return ordered(o, o->on_node.at, o->on_node.n);
}

static struct planner_ids ask_instances(void *ctx, struct str role, uint32_t deployment)
{
    struct outlook *o = ctx;
    struct planner_ids live = o->live_view.instances(&o->live, role, deployment);
    uint32_t number = deployment == o->deployment ? desire_role_find(o->server->desire, role) : 0;
    vec_clear(&o->instances);
    for (uint32_t i = 0; i < live.n; i++)
        if (!u64map_get(&o->hidden, live.at[i], NULL))
            vec_push(&o->instances, live.at[i]);
    for (size_t i = number ? fresh_first(o, number) : o->fresh.n;
         i < o->fresh.n && snapshot_key_role(o->fresh.at[i].key) == number; i++)
        vec_push(&o->instances, o->fresh.at[i].id);
    return ordered(o, o->instances.at, o->instances.n);
}

/* Children whose parents the draft changes are told by their edges, all others by the engine. */
static struct planner_ids ask_children(void *ctx, uint32_t id)
{
    struct outlook *o = ctx;
    uint64_t key = outlook_key(o, id);
    vec_clear(&o->children);
    if (!outlook_is_fresh(id)) {
        struct planner_ids live = o->live_view.children(&o->live, id);
        for (uint32_t i = 0; i < live.n; i++)
            if (!u64map_get(&o->hidden, live.at[i], NULL) &&
                !u64map_get(&o->altered_by_id, live.at[i], NULL))
                vec_push(&o->children, live.at[i]);
    }
    for (size_t i = edge_first(o->edges.at, o->edges.n, key);
         i < o->edges.n && o->edges.at[i].parent == key; i++)
        vec_push(&o->children, o->edges.at[i].child);
    return ordered(o, o->children.at, o->children.n);
}

static bool ask_task(void *ctx, uint32_t id, uint32_t position, struct planner_task *ret)
{
    struct outlook *o = ctx;
    return !outlook_is_fresh(id) && o->live_view.task(&o->live, id, position, ret);
}

static bool ask_jig(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    struct outlook *o = ctx;
    return o->live_view.jig(&o->live, name, ret_id, ret_active);
}

static uint32_t ask_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    struct outlook *o = ctx;
    return o->live_view.pool(&o->live, name, ret_size);
}

static uint32_t ask_def(void *ctx, uint64_t digest)
{
    struct outlook *o = ctx;
    return o->live_view.def(&o->live, digest);
}

/* --- making one --- */

static void fresh_add(struct outlook *o, const struct snapshot_change *c)
{
    uint64_t key = snapshot_key(c->role, c->node);
    uint32_t id = wish_live(o->server, key, NULL);
    if (!c->node || (id && o->server->inv.noderoles.at[id].deployment == o->deployment))
        return;
    struct outlook_entry f = {key, *c->now, OUTLOOK_FIRST + (uint32_t)o->fresh.n, 0};
    u64map_put(&o->fresh_by_key, key, o->fresh.n);
    vec_push(&o->fresh, f);
}

static void altered_add(struct outlook *o, const struct snapshot_change *c)
{
    uint64_t key = snapshot_key(c->role, c->node);
    uint32_t id = c->what & SNAPSHOT_CHANGED_PARENTS ? wish_live(o->server, key, NULL) : 0;
    if (!id)
        return;
    u64map_put(&o->altered_by_id, id, o->altered.n);
    vec_push(&o->altered, ((struct outlook_entry){key, *c->now, id, 0}));
}

static int by_parent(const void *x, const void *y)
{
    const struct outlook_edge *a = x, *b = y;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return (a->child > b->child) - (a->child < b->child);
}

static void edges_of(struct outlook *o, const struct outlook_entry *f)
{
    for (uint32_t i = 0; i < f->entry.n_parents; i++)
        vec_push(&o->edges, ((struct outlook_edge){f->entry.parents[i], f->id}));
}

/* Of the entries that do not live: one above their parents.  A ring, which no binding makes, ends
 * where it was entered. */
static void set_cohorts(struct outlook *o)
{
    enum { UNSEEN, OPEN, DONE };
    uint8_t *seen = xcalloc(o->fresh.n + 1, 1);
    VEC(uint32_t) walk = {0};
    for (uint32_t i = 0; i < o->fresh.n; i++) {
        vec_push(&walk, i);
        while (walk.n) {
            uint32_t at = walk.at[walk.n - 1], cohort = 0;
            struct outlook_entry *f = &o->fresh.at[at];
            bool waits = false;
            if (seen[at] == DONE) {
                walk.n--;
                continue;
            }
            seen[at] = OPEN;
            for (uint32_t k = 0; k < f->entry.n_parents; k++) {
                uint32_t parent = outlook_find(o, f->entry.parents[k]);
                if (outlook_is_fresh(parent) && seen[parent - OUTLOOK_FIRST] == UNSEEN) {
                    vec_push(&walk, parent - OUTLOOK_FIRST);
                    waits = true;
                } else if (parent && cohort_of(o, parent) + 1 > cohort) {
                    cohort = cohort_of(o, parent) + 1;
                }
            }
            if (waits)
                continue;
            f->cohort = cohort;
            seen[at] = DONE;
            walk.n--;
        }
    }
    vec_done(&walk);
    free(seen);
}

int outlook_open(struct outlook *o, struct server *s, const struct catalog *c, uint32_t deployment,
                 const struct pmap *draft, struct planner_world *ret_world, struct err *e)
{
    const struct snapshot *head = desire_head(s->desire, deployment);
    struct snapshot_changes d;
    *o = (struct outlook){.server = s, .catalog = c, .deployment = deployment};
    arena_init(&o->mem);
    o->live_view = world_of(&o->live, s);
    *ret_world = (struct planner_world){.ctx = o,
                                        .node = ask_node,
                                        .deployment = ask_deployment,
                                        .noderole = ask_noderole,
                                        .inputs = ask_inputs,
                                        .on_node = ask_on_node,
                                        .instances = ask_instances,
                                        .children = ask_children,
                                        .task = ask_task,
                                        .jig = ask_jig,
                                        .pool = ask_pool,
                                        .def = ask_def};
    int rc = snapshot_diff(&o->mem, head ? head->root : NULL, draft, &d, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < d.n_removed; i++) {
        uint32_t id = wish_live(s, snapshot_key(d.removed[i].role, d.removed[i].node), NULL);
        if (id)
            u64map_put(&o->hidden, id, 1);
    }
    for (uint32_t i = 0; i < d.n_added; i++)
        fresh_add(o, &d.added[i]);
    for (uint32_t i = 0; i < d.n_changed; i++)
        altered_add(o, &d.changed[i]);
    for (size_t i = 0; i < o->fresh.n; i++) {
        edges_of(o, &o->fresh.at[i]);
        vec_push(&o->homes,
                 ((struct outlook_edge){snapshot_key_node(o->fresh.at[i].key), o->fresh.at[i].id}));
    }
    for (size_t i = 0; i < o->altered.n; i++)
        edges_of(o, &o->altered.at[i]);
    if (o->edges.n)
        qsort(o->edges.at, o->edges.n, sizeof *o->edges.at, by_parent);
    if (o->homes.n)
        qsort(o->homes.at, o->homes.n, sizeof *o->homes.at, by_parent);
    set_cohorts(o);
    return 0;
}

void outlook_done(struct outlook *o)
{
    world_done(&o->live);
    vec_done(&o->fresh);
    vec_done(&o->altered);
    vec_done(&o->edges);
    vec_done(&o->homes);
    vec_done(&o->on_node);
    vec_done(&o->instances);
    vec_done(&o->children);
    u64map_done(&o->fresh_by_key);
    u64map_done(&o->altered_by_id);
    u64map_done(&o->hidden);
    arena_done(&o->mem);
}
