/* data_sight.c - the server's state as a world of model/sight.h
 *
 * Everything is answered from memory: states and needs by the engine, layers by the inventory, data
 * of deployment roles by the heads, attributes and wants by its lens.  A need on a member
 * of a cluster is a peer's: who needs one needs all of them.  A need that sleeps is not seen until
 * it counts.
 *
 * A plan can be laid over all that: then its noderoles are there, its changes are made, and the
 * needs that it adds count or sleep as the engine will have it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/data_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "model/schema.h"

/* --- a plan laid over what is --- */

static bool is_new(const struct data_look *l, uint32_t id)
{
    return l->plan && id >= l->plan->base_noderole;
}

static int by_child(const void *x, const void *y)
{
    const struct plan_need *p = x, *q = y;
    if (p->child != q->child)
        return p->child < q->child ? -1 : 1;
    return (p->parent > q->parent) - (p->parent < q->parent);
}

static int by_changed(const void *x, const void *y)
{
    const struct plan_change *p = x, *q = y;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

/* Changes stand in the order of ids. */
const struct plan_change *data_look_change(const struct data_look *l, uint32_t noderole)
{
    struct plan_change key = {.noderole = noderole};
    if (!l->plan || !l->plan->n_changes)
        return NULL;
    return bsearch(&key, l->plan->changes, l->plan->n_changes, sizeof key, by_changed);
}

/* The user data that a plan gives somebody, parsed once; slot: where they are kept. */
static const struct value *planned_user(struct data_look *l, size_t slot, struct str text)
{
    struct value *v = NULL;
    struct err e;
    if (text.n == 0)
        return NULL;
    if (!l->users[slot] && json_parse(&l->kept, text.s, text.n, NULL, &v, &e) >= 0)
        l->users[slot] = v;
    return l->users[slot];
}

uint32_t data_look_role(struct data_look *l, uint32_t noderole)
{
    if (!is_new(l, noderole))
        return l->server->inv.noderoles.at[noderole].role;
    uint32_t *role = &l->roles[noderole - l->plan->base_noderole];
    if (!*role)
        *role = inventory_role(&l->server->inv,
                               l->plan->noderoles[noderole - l->plan->base_noderole].role);
    return *role;
}

/* The number of the lens by which it looks, or will. */
static uint32_t lens_number(const struct data_look *l, uint32_t noderole)
{
    const struct inventory *v = &l->server->inv;
    if (is_new(l, noderole))
        return inventory_lens(v, l->plan->noderoles[noderole - l->plan->base_noderole].lens);
    const struct plan_change *c = data_look_change(l, noderole);
    return c && (c->what & PLAN_C_LENS) ? inventory_lens(v, c->lens)
                                        : v->noderoles.at[noderole].lens;
}

struct data_lens *data_look_lens(struct data_look *l, uint32_t noderole)
{
    return data_lens_get(l->server, lens_number(l, noderole));
}

/* --- what is asked --- */

static bool look_noderole(void *ctx, uint32_t id, struct sight_noderole *ret)
{
    struct data_look *l = ctx;
    struct server *s = l->server;
    struct noderole_view v;
    if (is_new(l, id)) {
        uint32_t i = id - l->plan->base_noderole;
        if (i >= l->plan->n_noderoles)
            return false;
        const struct plan_noderole *n = &l->plan->noderoles[i];
        *ret = (struct sight_noderole){.role = data_look_role(l, id),
                                       .node = n->node,
                                       .deployment = n->deployment,
                                       .cohort = n->cohort,
                                       .lens = lens_number(l, id),
                                       .member = n->flags & NODEROLE_F_CLUSTER,
                                       .system = hook_planned_system(s, id),
                                       .user = planned_user(l, i, n->user)};
        return true;
    }
    if (!anneal_noderole(s->engine, id, &v) || s->inv.noderoles.at[id].gone)
        return false;
    *ret = (struct sight_noderole){
        .role = s->inv.noderoles.at[id].role,
        .node = v.node,
        .deployment = s->inv.noderoles.at[id].deployment,
        .cohort = v.cohort,
        .lens = lens_number(l, id),
        .active = noderole_in_service((enum noderole_state)v.state, (enum target)v.target),
        .member = v.flags & NODEROLE_F_CLUSTER,
        .wall = l->self == id ? NULL : data_layer_get(s, id, DATA_WALL),
        .system = data_layer_get(s, id, DATA_SYSTEM),
        .user = l->user_of == id ? l->user : data_layer_get(s, id, DATA_USER)};
    const struct plan_change *c = data_look_change(l, id);
    if (c && hook_planned_system(s, id))
        ret->system = hook_planned_system(s, id);
    if (c && (c->what & PLAN_C_DATA))
        ret->user = planned_user(l, l->plan->n_noderoles + (size_t)(c - l->plan->changes), c->user);
    return true;
}

static bool is_member(const struct data_look *l, uint32_t id)
{
    struct noderole_view v = {0};
    if (is_new(l, id))
        return l->plan->noderoles[id - l->plan->base_noderole].flags & NODEROLE_F_CLUSTER;
    (void)anneal_noderole(l->server->engine, id, &v);
    return v.flags & NODEROLE_F_CLUSTER;
}

static bool lost(const struct plan_change *c, uint32_t parent)
{
    for (uint32_t i = 0; c && i < c->n_losses; i++)
        if (c->losses[i] == parent)
            return true;
    return false;
}

/* Will a need that a plan adds to a noderole that lives count at once, or sleep? */
static bool counts(const struct data_look *l, uint32_t parent, const struct noderole_view *child)
{
    struct noderole_view p;
    if (child->state == NODEROLE_BLOCKED || child->state == NODEROLE_TODO)
        return true;
    return !is_new(l, parent) && anneal_noderole(l->server->engine, parent, &p) &&
           noderole_in_service((enum noderole_state)p.state, (enum target)p.target);
}

struct needs_list {
    struct data_look *look;
    struct sight_need *at;
    uint32_t n;
};

static void need_push(struct needs_list *list, uint32_t parent)
{
    list->at[list->n++] = (struct sight_need){parent, is_member(list->look, parent)};
}

static void needs_planned(struct needs_list *list, uint32_t id, const struct plan_change *c,
                          const struct plan_need *first, uint32_t n)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(list->look->server->engine, id, &v);
    for (uint32_t i = 0; c && i < c->n_gains; i++)
        if (counts(list->look, c->gains[i], &v))
            need_push(list, c->gains[i]);
    for (uint32_t i = 0; i < n; i++)
        if (counts(list->look, first[i].parent, &v))
            need_push(list, first[i].parent);
}

/* The needs that a plan adds beside its changes; sorted, so that they stand together. */
static const struct plan_need *needs_added(const struct data_look *l, uint32_t child,
                                           uint32_t *ret_n)
{
    uint32_t from = 0, to = l->plan ? l->plan->n_needs : 0, end = to;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (l->needs[mid].child < child)
            from = mid + 1;
        else
            to = mid;
    }
    uint32_t last = from;
    while (last < end && l->needs[last].child == child)
        last++;
    *ret_n = last - from;
    return l->needs ? &l->needs[from] : NULL;
}

static struct sight_needs look_needs(void *ctx, uint32_t id)
{
    struct data_look *l = ctx;
    struct needs_list list = {.look = l};
    uint32_t n, n_added = 0;
    if (is_new(l, id)) {
        const struct plan_noderole *r = &l->plan->noderoles[id - l->plan->base_noderole];
        list.at = arena_new(&l->mem, struct sight_need, r->n_parents);
        for (uint32_t i = 0; i < r->n_parents; i++)
            need_push(&list, r->parents[i]);
        return (struct sight_needs){list.at, list.n};
    }
    const uint32_t *parents = anneal_parents(l->server->engine, id, &n);
    const struct plan_change *c = data_look_change(l, id);
    const struct plan_need *added = needs_added(l, id, &n_added);
    list.at = arena_new(&l->mem, struct sight_need, (size_t)n + n_added + (c ? c->n_gains : 0));
    for (uint32_t i = 0; i < n; i++)
        if (!lost(c, parents[i]))
            need_push(&list, parents[i]);
    if (c || n_added)
        needs_planned(&list, id, c, added, n_added);
    return (struct sight_needs){list.at, list.n};
}

static struct sight_ids look_on_node(void *ctx, uint32_t node)
{
    struct data_look *l = ctx;
    const struct anneal *engine = l->server->engine;
    struct node_view v = {0};
    uint32_t n = 0;
    (void)anneal_node(engine, node, &v);
    uint32_t *ids = arena_new(&l->mem, uint32_t, v.noderoles);
    for (uint32_t id = anneal_node_first_noderole(engine, node); id && n < v.noderoles;
         id = anneal_node_next_noderole(engine, id))
        ids[n++] = id;
    return (struct sight_ids){ids, n};
}

static uint32_t look_deployment_parent(void *ctx, uint32_t deployment)
{
    const struct inventory *v = &((struct data_look *)ctx)->server->inv;
    return deployment < v->deployments.n ? v->deployments.at[deployment].parent : 0;
}

static const struct value *look_deployment_role(void *ctx, uint32_t deployment, uint32_t role)
{
    struct data_look *l = ctx;
    if (l->head_of && l->head_of == deployment)
        return data_shared_in(l->server, l->head, role);
    return data_shared_get(l->server, deployment, role);
}

static bool look_role(void *ctx, uint32_t role, struct str *ret)
{
    const struct server *s = ((struct data_look *)ctx)->server;
    if (role == 0 || role >= s->inv.role_names.n)
        return false;
    *ret = str_of(s->inv.role_names.at[role]);
    return true;
}

static bool look_lens(void *ctx, uint32_t lens, struct sight_lens *ret)
{
    struct server *s = ((struct data_look *)ctx)->server;
    if (lens && lens >= s->inv.lenses.n)
        return false;
    *ret = data_lens_get(s, lens)->lens.sight;
    return true;
}

static bool look_node(void *ctx, uint32_t node, struct sight_node *ret)
{
    struct server *s = ((struct data_look *)ctx)->server;
    if (node == 0 || node >= s->inv.nodes.n || !s->inv.nodes.at[node].name)
        return false;
    *ret = (struct sight_node){str_of(s->inv.nodes.at[node].name), data_node_get(s, node)->facts};
    return true;
}

struct sight_world data_look_world(struct data_look *l)
{
    return (struct sight_world){.ctx = l,
                                .noderole = look_noderole,
                                .needs = look_needs,
                                .on_node = look_on_node,
                                .deployment_parent = look_deployment_parent,
                                .deployment_role = look_deployment_role,
                                .role = look_role,
                                .lens = look_lens,
                                .node = look_node};
}

/* --- looking --- */

void data_look_begin(struct data_look *l, struct server *s)
{
    struct data *d = s->data;
    data_shared_sync(s);
    data_trim(d);
    *l = (struct data_look){.server = s};
    l->cache = d->cache_stale ? NULL : d->cache; /* somebody looks and has what is in it */
    arena_init(&l->mem);
    arena_init(&l->kept);
    d->looks++;
}

void data_look_plan(struct data_look *l, struct server *s, const struct plan *p,
                    uint32_t deployment, const struct pmap *head)
{
    data_look_begin(l, s);
    l->cache = sight_cache_new();
    l->own_cache = true;
    l->plan = p;
    l->head_of = deployment;
    l->head = head;
    l->users = xcalloc((size_t)p->n_noderoles + p->n_changes + 1, sizeof *l->users);
    l->roles = xcalloc((size_t)p->n_noderoles + 1, sizeof *l->roles);
    l->needs = xcalloc((size_t)p->n_needs + 1, sizeof *l->needs);
    if (p->n_needs) {
        memcpy(l->needs, p->needs, p->n_needs * sizeof *l->needs);
        qsort(l->needs, p->n_needs, sizeof *l->needs, by_child);
    }
}

void data_look_end(struct data_look *l)
{
    if (l->own_cache)
        sight_cache_free(l->cache);
    free(l->users);
    free(l->roles);
    free(l->needs);
    arena_done(&l->mem);
    arena_done(&l->kept);
    l->server->data->looks--;
}

int data_look_inputs(struct data_look *l, uint32_t noderole, uint64_t *ret, struct err *e)
{
    struct sight_world w = data_look_world(l);
    if (data_look_lens(l, noderole)->lens.paths.n == 0) {
        *ret = l->server->data->nothing;
        return 0;
    }
    l->self = noderole;
    int rc = sight_inputs(&w, l->cache, noderole, &l->mem, ret, e);
    l->self = 0;
    arena_reset(&l->mem);
    return rc;
}

int data_look_layers(struct data_look *l, uint32_t noderole, struct arena *a,
                     struct sight_layers *ret, struct err *e)
{
    struct sight_world w = data_look_world(l);
    int rc = sight_layers(&w, l->cache, noderole, a, ret, e);
    arena_reset(&l->mem);
    return rc;
}

const struct value *data_look_merge(struct data_look *l, uint32_t noderole,
                                    const struct sight_layers *layers, struct arena *a)
{
    const struct lens *lens = &data_look_lens(l, noderole)->lens;
    const struct value *v = sight_data(layers, a);
    return lens->schema ? schema_defaults(a, lens->schema, v) : v;
}
