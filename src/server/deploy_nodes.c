/* deploy_nodes.c - who is there: nodes with their names, and noderoles that get tasks
 *
 * A node answers to the roles bound to it in the deployment and to its own groups.  Nodes are in
 * the order in which they were made, which is the order of chunks.  The node with the role `master`
 * is what `master` means in selectors, whatever else it is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "server/deploy.h"

struct bound {
    uint32_t node, noderole;
    struct str role;
    bool group;
};
typedef VEC(struct bound) bound_v;

bool deploy_is_group(const struct deploy *d, struct str role)
{
    const struct catalog_role *r = catalog_role_get(d->cat, role);
    return r && r->group;
}

static int by_node(const void *x, const void *y)
{
    const struct bound *a = x, *b = y;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return (a->noderole > b->noderole) - (a->noderole < b->noderole);
}

static void bound_collect(struct deploy *d, bound_v *ret)
{
    const struct inventory *inv = &d->server->inv;
    for (size_t i = 0; i < inv->instances.n; i++) {
        const struct u64map_entry *at = &inv->instances.at[i];
        if (!at->live || (uint32_t)at->key != d->ask->deployment)
            continue;
        struct str role = str_of(inv->role_names.at[at->key >> 32]);
        const struct id_list *l = &inv->lists.at[at->val];
        bool group = deploy_is_group(d, role);
        for (size_t k = 0; k < l->ids.n; k++) {
            struct noderole_view v;
            if (anneal_noderole(d->server->engine, l->ids.at[k], &v) && v.target != TARGET_ABSENT)
                vec_push(ret, ((struct bound){v.node, l->ids.at[k], role, group}));
        }
    }
    if (ret->n)
        qsort(ret->at, ret->n, sizeof *ret->at, by_node);
}

/* Roles that say where tasks are kept are nobody's name. */
static bool is_name(struct str role)
{
    return !str_is(role, CATALOG_CARRIER) && !str_is(role, CATALOG_MASTER);
}

static uint32_t add_name(struct str *names, uint32_t n, struct str name)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(names[i], name))
            return n;
    names[n] = name;
    return n + 1;
}

static void node_add(struct deploy *d, const struct bound *at, size_t n)
{
    const struct inv_node *node = &d->server->inv.nodes.at[at->node];
    const struct value *groups = value_get(view_json(d->mem, node->body), "groups");
    uint32_t n_groups = value_is(groups, VALUE_LIST) ? groups->n : 0, n_names = 0;
    struct str *names = arena_new(d->mem, struct str, n + n_groups);
    bool ran = false;
    for (size_t i = 0; i < n; i++) {
        if (is_name(at[i].role))
            n_names = add_name(names, n_names, at[i].role);
        ran |= deploy_ran(d->server, at[i].noderole);
    }
    if (!n_names)
        return; /* it is here for the master's tasks only */
    for (uint32_t i = 0; i < n_groups; i++)
        n_names = add_name(names, n_names, value_as_str(&groups->items[i]));
    vec_push(&d->nodes, ((struct weave_node){.name = str_of(node->name),
                                             .names = names,
                                             .n_names = n_names,
                                             .deployed = ran && !d->ask->force}));
    vec_push(&d->node_ids, at->node);
}

static int master_set(struct deploy *d, const bound_v *all, uint32_t *ret, struct err *e)
{
    *ret = 0;
    for (size_t i = 0; i < all->n; i++) {
        if (!str_is(all->at[i].role, CATALOG_MASTER))
            continue;
        if (*ret) {
            err_set(e, ERR_REFUSED, "two nodes have the role %s: %s and %s", CATALOG_MASTER,
                    view_node_name(d->server, *ret), view_node_name(d->server, all->at[i].node));
            return err_hint(e, "tasks for the master run in one place: unbind one of them");
        }
        *ret = all->at[i].node;
    }
    return 0;
}

uint32_t deploy_node_find(const struct deploy *d, uint32_t node)
{
    for (size_t lo = 0, hi = d->nodes.n; lo < hi;) {
        size_t mid = (lo + hi) / 2;
        if (d->node_ids.at[mid] == node)
            return (uint32_t)mid;
        if (d->node_ids.at[mid] < node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return WEAVE_NONE;
}

static uint32_t index_of(const struct deploy *d, const struct bound *b)
{
    return str_is(b->role, CATALOG_MASTER) ? (uint32_t)d->nodes.n : deploy_node_find(d, b->node);
}

static int by_noderole(const void *x, const void *y)
{
    const struct weave_member *a = x, *b = y;
    return (a->noderole > b->noderole) - (a->noderole < b->noderole);
}

static void members_link(struct deploy *d)
{
    d->first_member = arena_new(d->mem, uint32_t, d->nodes.n + 1);
    d->next_member = arena_new(d->mem, uint32_t, d->members.n);
    for (size_t i = 0; i <= d->nodes.n; i++)
        d->first_member[i] = WEAVE_NONE;
    for (uint32_t i = (uint32_t)d->members.n; i-- > 0;) { /* so that lists are by id */
        d->next_member[i] = d->first_member[d->members.at[i].node];
        d->first_member[d->members.at[i].node] = i;
    }
}

void deploy_members(struct deploy *d)
{
    bound_v all = {0};
    bound_collect(d, &all);
    vec_clear(&d->members);
    vec_clear(&d->carriers);
    for (size_t i = 0; i < all.n; i++) {
        const struct bound *b = &all.at[i];
        struct noderole_view v;
        if (!b->node) {
            vec_push(&d->carriers, b->noderole);
            continue;
        }
        uint32_t node = b->group ? index_of(d, b) : WEAVE_NONE;
        if (node == WEAVE_NONE)
            continue;
        uint32_t group = catalog_graph_find(d->graph, b->role);
        if (group != CATALOG_NONE && d->graph->vertices[group].kind != VERTEX_GROUP)
            group = CATALOG_NONE;
        (void)anneal_noderole(d->server->engine, b->noderole, &v);
        vec_push(&d->members,
                 ((struct weave_member){b->noderole, group == CATALOG_NONE ? WEAVE_NONE : group,
                                        node, v.flags}));
    }
    if (d->members.n)
        qsort(d->members.at, d->members.n, sizeof *d->members.at, by_noderole);
    members_link(d);
    vec_done(&all);
}

int deploy_nodes(struct deploy *d, struct err *e)
{
    bound_v all = {0};
    uint32_t master;
    bound_collect(d, &all);
    int rc = master_set(d, &all, &master, e);
    for (size_t i = 0, n; i < all.n && rc >= 0; i += n) {
        for (n = 1; i + n < all.n && all.at[i + n].node == all.at[i].node; n++)
            ;
        if (all.at[i].node)
            node_add(d, &all.at[i], n);
    }
    vec_push(&d->node_ids, master);
    vec_done(&all);
    if (rc >= 0)
        deploy_members(d);
    return rc;
}
