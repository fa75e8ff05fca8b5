/* draft_unbind.c - taking out of a draft, with those who cannot stay without it
 *
 * A child stays if it can do without: it only uses what goes, or that is one of a cluster of which
 * others stay.  Then it loses the parent.  Any other child has to go too; whether it does without
 * being asked for depends on whether it lives.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/draft.h"
#include "server/outlook.h"

struct unbinding {
    struct draft *d;
    struct outlook o;
    struct planner_world view;
    VEC(uint32_t) going; /* in the order in which they were found */
    struct u64map goes;
    bool cascade;
    struct err *e;
};

static const struct catalog_role *role_of(const struct unbinding *u, uint32_t id)
{
    struct planner_noderole info;
    u->view.noderole(u->view.ctx, id, &info);
    return catalog_role_get(u->d->catalog, info.role);
}

static const char *name_of(const struct unbinding *u, uint32_t id)
{
    struct planner_noderole info;
    u->view.noderole(u->view.ctx, id, &info);
    return arena_printf(u->d->mem, "%.*s@%s", (int)info.role.n, info.role.s,
                        view_node_name(u->d->server, info.node));
}

static bool answers(const struct catalog_role *role, uint32_t name)
{
    bool yes = role->name_id == name;
    for (uint32_t i = 0; i < role->n_provides && !yes; i++)
        yes = role->provides[i] == name;
    return yes;
}

static bool required(const struct catalog_role *child, const struct catalog_role *parent)
{
    for (uint32_t i = 0; i < child->n_requires; i++)
        if (answers(parent, child->requires[i].name))
            return true;
    return false;
}

static uint32_t deployment_of(const struct unbinding *u, uint32_t id)
{
    struct planner_noderole info;
    u->view.noderole(u->view.ctx, id, &info);
    return info.deployment;
}

/* Parents as wanted: of who does not live or has others now, those of its entry. */
static int parents_of(struct unbinding *u, uint32_t id, struct planner_ids *ret)
{
    struct snapshot_entry t = {0};
    uint32_t n = 0, *ids;
    if (deployment_of(u, id) != u->d->deployment) {
        const uint32_t *live = anneal_parents(u->d->server->engine, id, &n);
        *ret = (struct planner_ids){live, n};
        return 0;
    }
    int rc = snapshot_find_key(u->d->mem, u->d->map, outlook_key(&u->o, id), &t, u->e);
    if (rc < 0)
        return rc;
    ids = arena_new(u->d->mem, uint32_t, t.n_parents);
    for (uint32_t i = 0; i < t.n_parents; i++)
        if ((ids[n] = outlook_find(&u->o, t.parents[i])))
            n++;
    *ret = (struct planner_ids){ids, n};
    return 0;
}

/* 1 if the child can stay without this parent. */
static int can_stay(struct unbinding *u, uint32_t child, uint32_t parent)
{
    const struct catalog_role *c = role_of(u, child), *p = role_of(u, parent);
    struct planner_ids others;
    if (!c || !p)
        return 0; /* of a role that the catalog forgot nobody knows what it can do without */
    if (!required(c, p))
        return 1;
    if (!(p->flags & ROLE_F_CLUSTER))
        return 0;
    int rc = parents_of(u, child, &others);
    for (uint32_t i = 0; rc >= 0 && i < others.n; i++)
        if (others.at[i] != parent && role_of(u, others.at[i]) == p &&
            deployment_of(u, others.at[i]) == deployment_of(u, parent) &&
            !u64map_get(&u->goes, others.at[i], NULL))
            return 1;
    return rc < 0 ? rc : 0;
}

static void go(struct unbinding *u, uint32_t id)
{
    if (u64map_put(&u->goes, id, 1))
        vec_push(&u->going, id);
}

static int child_goes(struct unbinding *u, uint32_t child, uint32_t parent)
{
    const struct server *s = u->d->server;
    uint32_t home = deployment_of(u, child);
    if (home != u->d->deployment) {
        err_set(u->e, ERR_REFUSED, "%s in deployment %s needs %s", name_of(u, child),
                view_deployment_name(s, home), name_of(u, parent));
        return err_hint(u->e, "unbind that first, in its own deployment");
    }
    if (!u->cascade && !outlook_is_fresh(child)) {
        err_set(u->e, ERR_REFUSED, "%s needs %s", name_of(u, child), name_of(u, parent));
        return err_hint(u->e, "unbind it as well, or everything that needs it with --cascade");
    }
    go(u, child);
    return 0;
}

/* A cluster that goes member by member is only gone with its last: until nothing is added. */
static int close_over_children(struct unbinding *u)
{
    size_t before;
    do {
        before = u->going.n;
        for (size_t i = 0; i < u->going.n; i++) {
            uint32_t parent = u->going.at[i];
            struct planner_ids seen = u->view.children(u->view.ctx, parent);
            uint32_t *children = arena_new(u->d->mem, uint32_t, seen.n), n = seen.n;
            for (uint32_t k = 0; k < n; k++)
                children[k] = seen.at[k];
            for (uint32_t k = 0; k < n; k++) {
                if (u64map_get(&u->goes, children[k], NULL))
                    continue;
                int rc = can_stay(u, children[k], parent);
                if (rc == 0)
                    rc = child_goes(u, children[k], parent);
                if (rc < 0)
                    return rc;
            }
        }
    } while (u->going.n > before);
    return 0;
}

/* One of this deployment that stays, without a parent that goes. */
static int lose_parent(struct unbinding *u, uint32_t child, uint64_t parent)
{
    struct snapshot_entry t;
    uint64_t key = outlook_key(&u->o, child);
    int rc = snapshot_find_key(u->d->mem, u->d->map, key, &t, u->e);
    if (rc <= 0)
        return rc;
    uint64_t *parents = arena_new(u->d->mem, uint64_t, t.n_parents);
    uint32_t n = 0;
    for (uint32_t i = 0; i < t.n_parents; i++)
        if (t.parents[i] != parent)
            parents[n++] = t.parents[i];
    t.parents = parents;
    t.n_parents = n;
    t.used = NULL;
    return desire_draft_put(u->d->server->desire, &u->d->map, key, &t, u->e);
}

static int take_out(struct unbinding *u)
{
    for (size_t i = 0; i < u->going.n; i++) {
        uint64_t key = outlook_key(&u->o, u->going.at[i]);
        struct planner_ids children = u->view.children(u->view.ctx, u->going.at[i]);
        for (uint32_t k = 0; k < children.n; k++) {
            int rc = 0;
            if (!u64map_get(&u->goes, children.at[k], NULL) &&
                deployment_of(u, children.at[k]) == u->d->deployment)
                rc = lose_parent(u, children.at[k], key);
            if (rc < 0)
                return rc;
        }
        int rc = desire_draft_put(u->d->server->desire, &u->d->map, key, NULL, u->e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int named(struct unbinding *u, struct str role, uint32_t node)
{
    uint32_t number = desire_role_find(u->d->server->desire, role);
    uint64_t key = snapshot_key(number, node);
    uint32_t id = number ? outlook_find(&u->o, key) : 0;
    if (id && deployment_of(u, id) == u->d->deployment) {
        go(u, id);
        return 0;
    }
    if (number && pmap_get(u->d->map, key, NULL)) { /* wanted, and it neither lives nor will */
        int rc = desire_draft_put(u->d->server->desire, &u->d->map, key, NULL, u->e);
        return rc < 0 ? rc : 0;
    }
    err_set(u->e, ERR_NOT_FOUND, "%.*s is not bound to %s in deployment %s", (int)role.n, role.s,
            view_node_name(u->d->server, node),
            view_deployment_name(u->d->server, u->d->deployment));
    if (id)
        return err_hint(u->e, "it is in deployment %s",
                        view_deployment_name(u->d->server, deployment_of(u, id)));
    const char *near = number ? NULL : catalog_role_nearest(u->d->catalog, role);
    if (near && !str_eq(str_of(near), role))
        return err_hint(u->e, "did you mean \"%s\"?", near);
    return err_hint(u->e, "`anneal noderole list --deployment %s` shows what is bound there",
                    view_deployment_name(u->d->server, u->d->deployment));
}

int draft_unbind(struct draft *d, struct str role, const uint32_t *nodes, uint32_t n_nodes,
                 bool cascade, struct err *e)
{
    struct unbinding u = {.d = d, .cascade = cascade, .e = e};
    int rc = outlook_open(&u.o, d->server, d->catalog, d->deployment, d->map, &u.view, e);
    for (uint32_t i = 0; i < n_nodes && rc >= 0; i++)
        rc = named(&u, role, nodes[i]);
    if (rc >= 0)
        rc = close_over_children(&u);
    if (rc >= 0)
        rc = take_out(&u);
    vec_done(&u.going);
    u64map_done(&u.goes);
    outlook_done(&u.o);
    return rc < 0 ? rc : 0;
}
