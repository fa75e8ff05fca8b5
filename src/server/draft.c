/* draft.c - binding and configuring in a draft */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/draft.h"

#include "base/json.h"
#include "base/sort.h"
#include "server/outlook.h"

void draft_open(struct draft *d, struct server *s, struct arena *mem, const struct catalog *c,
                uint32_t deployment, const struct snapshot *from)
{
    *d = (struct draft){s, mem, c, deployment, desire_draft(from)};
}

void draft_drop(struct draft *d)
{
    desire_unref(d->server->desire, d->map);
    d->map = NULL;
}

struct pmap *draft_take(struct draft *d)
{
    struct pmap *map = d->map;
    d->map = NULL;
    return map;
}

/* --- bind --- */

static uint64_t new_key(const struct draft *d, const struct plan_noderole *r)
{
    return snapshot_key(desire_role(d->server->desire, r->role), r->node);
}

static int new_entry(struct draft *d, const struct outlook *o, const struct plan *p, uint32_t i,
                     bool requested, struct err *e)
{
    const struct plan_noderole *r = &p->noderoles[i];
    uint64_t *parents = arena_new(d->mem, uint64_t, r->n_parents);
    struct snapshot_entry t = {.flags = requested ? SNAPSHOT_F_REQUESTED : 0,
                               .parents = parents,
                               .n_parents = r->n_parents};
    for (uint32_t k = 0; k < r->n_parents; k++)
        parents[k] = r->parents[k] & PLAN_NEW ? new_key(d, &p->noderoles[r->parents[k] & ~PLAN_NEW])
                                              : outlook_key(o, r->parents[k]);
    sort_u64(parents, r->n_parents);
    int rc = desire_doc(d->server->desire, r->user, &t.user, e);
    return rc < 0 ? rc : desire_draft_put(d->server->desire, &d->map, new_key(d, r), &t, e);
}

int draft_bind(struct draft *d, const struct bind_item *items, uint32_t n_items, struct err *e)
{
    struct bind_request req = {.deployment = d->deployment, .items = items, .n_items = n_items};
    struct outlook o;
    struct planner_world view;
    struct u64map requested = {0};
    SCOPED(plan) *plan = NULL;
    int rc = outlook_open(&o, d->server, d->catalog, d->deployment, d->map, &view, e);
    if (rc >= 0)
        rc = planner_bind(d->catalog, &view, &req, &plan, NULL, e);
    if (rc >= 0)
        rc = wish_check(d->server, d->deployment, plan, e);
    for (uint32_t i = 0; i < n_items && rc >= 0; i++)
        u64map_put(&requested,
                   snapshot_key(desire_role(d->server->desire, items[i].role), items[i].node), 1);
    for (uint32_t i = 0; rc >= 0 && i < plan->n_noderoles; i++)
        rc = new_entry(d, &o, plan, i,
                       u64map_get(&requested, new_key(d, &plan->noderoles[i]), NULL), e);
    u64map_done(&requested);
    outlook_done(&o);
    return rc < 0 ? rc : 0;
}

/* --- data --- */

/* What it would be: null takes away what was there, since a document says nothing by null. */
static const struct value *data_over(struct arena *mem, const struct value *was,
                                     const struct value *data)
{
    struct value *out = value_map(mem);
    const struct value *all = value_merge(mem, was, data);
    for (uint32_t i = 0; i < all->n; i++) {
        const struct member *m = &all->members[i];
        const struct value *asked = value_get(data, m->key);
        if (!asked || asked->kind != VALUE_NULL)
            value_set(mem, out, m->key, &m->v);
    }
    return out;
}

static int entry_configure(struct draft *d, struct str role, uint64_t key, const struct value *data,
                           bool merge, struct err *e)
{
    struct snapshot_entry t = {0};
    SCOPED_BUF(text);
    int rc = snapshot_find_key(d->mem, d->map, key, &t, e);
    if (rc == 0 && snapshot_key_node(key)) {
        err_set(e, ERR_NOT_FOUND, "%.*s is not bound to %s here", (int)role.n, role.s,
                view_node_name(d->server, snapshot_key_node(key)));
        return err_hint(e, "bind it first; data can come along");
    }
    if (rc < 0)
        return rc;
    if (merge)
        data = data_over(d->mem, wish_document(d->server, d->mem, t.user), data);
    if ((rc = data_check_role(d->catalog, role, data, e)) < 0)
        return rc;
    json_write_canonical(&text, data);
    if ((rc = desire_doc(d->server->desire, buf_str(&text), &t.user, e)) < 0)
        return rc;
    bool gone = !snapshot_key_node(key) && !t.user; /* a deployment role is its data */
    rc = desire_draft_put(d->server->desire, &d->map, key, gone ? NULL : &t, e);
    return rc < 0 ? rc : 0;
}

int draft_data(struct draft *d, struct str role, const uint32_t *nodes, uint32_t n_nodes,
               const struct value *data, bool merge, struct err *e)
{
    uint32_t number = desire_role_find(d->server->desire, role);
    int rc = data_check_role(d->catalog, role, NULL, e);
    if (rc < 0 && e->code != ERR_INVALID) /* what is required may come with the data */
        return rc;
    if (!nodes)
        return entry_configure(d, role, snapshot_key(desire_role(d->server->desire, role), 0), data,
                               merge, e);
    for (uint32_t i = 0; i < n_nodes; i++)
        if ((rc = entry_configure(d, role, snapshot_key(number, nodes[i]), data, merge, e)) < 0)
            return rc;
    return 0;
}
