/* revise.c - from what a deployment wanted to what it wants now: one plan
 *
 * The request is a difference: noderoles that are new, with the parents chosen when they were
 * bound, noderoles whose data, needs or definitions differ, and noderoles that are to go.  What was
 * looked for at binding is not looked for again; what must hold on a node and between noderoles is
 * checked again, since the world may have moved on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include <stdlib.h>

static int entry_role(struct bind *b, struct str role, uint32_t *ret)
{
    uint32_t name = catalog_name_find(b->cat, role);
    if (name == CATALOG_NONE || b->cat->names[name].role == CATALOG_NONE)
        return err_set(b->err, ERR_UNKNOWN_NAME, "generation %u of the catalog has no role %.*s",
                       b->cat->number, (int)role.n, role.s);
    *ret = b->cat->names[name].role;
    return 0;
}

static int entry_add(struct bind *b, const struct revise_entry *entry)
{
    uint32_t role = 0, number;
    uint64_t data = 0;
    int r;
    if ((r = entry_role(b, entry->role, &role)) < 0 || (r = bind_node_open(b, entry->node)) < 0)
        return r;
    if ((r = bind_data(b, role, entry->user, &data)) < 0) {
        (void)err_wrap(b->err, "%s@%s", b->cat->roles[role].name.s, bind_node_text(b, entry->node));
        return r;
    }
    if ((r = bind_create(b, role, entry->node, BIND_NONE, BIND_NONE, &number)) < 0)
        return r;
    b->fresh.at[number].user = entry->user;
    b->fresh.at[number].data = data;
    return 0;
}

/* Where a parent lives decides whose peers it brings along. */
static uint32_t ref_deployment(const struct bind *b, uint32_t ref)
{
    struct planner_noderole info;
    if (ref & PLAN_NEW)
        return b->req->deployment;
    b->world->noderole(b->world->ctx, ref, &info);
    return info.deployment;
}

static void entry_link(struct bind *b, uint32_t number, const struct revise_entry *entry)
{
    for (uint32_t i = 0; i < entry->n_parents; i++) {
        uint32_t ref = entry->parents[i], role = bind_ref_role(b, ref);
        vec_push(&b->links,
                 ((struct bind_link){.child = number,
                                     .ref = ref,
                                     .name = role == CATALOG_NONE ? 0 : b->cat->roles[role].name_id,
                                     .deployment = ref_deployment(b, ref),
                                     .found = FOUND_IN_DEPLOYMENT}));
    }
}

static int change_add(struct bind *b, const struct revise_change *c)
{
    struct planner_noderole info;
    struct bind_change out = {.noderole = c->noderole,
                              .removed = c->removed,
                              .back = c->back,
                              .gains = c->gains,
                              .n_gains = c->n_gains,
                              .losses = c->losses,
                              .n_losses = c->n_losses};
    b->world->noderole(b->world->ctx, c->noderole, &info);
    out.lens = info.lens;
    uint32_t name = catalog_name_find(b->cat, info.role);
    out.role = name == CATALOG_NONE ? CATALOG_NONE : b->cat->names[name].role;
    if (c->bare)
        out.role = CATALOG_NONE; /* as of a role that nobody remembers: nothing is run */
    if (c->keep && !c->removed) {
        out.role = CATALOG_NONE;
        out.user = c->user;
        out.data = bind_inputs(b, c->noderole, c->user, info.data);
        out.has_data = out.data != info.data || c->other_user;
        vec_push(&b->changes, out);
        return 0;
    }
    if (out.role == CATALOG_NONE && !c->removed) {
        err_set(b->err, ERR_UNKNOWN_NAME,
                "%.*s@%s cannot stay: generation %u of the catalog has no role %.*s",
                (int)info.role.n, info.role.s, bind_node_text(b, info.node), b->cat->number,
                (int)info.role.n, info.role.s);
        return err_hint(b->err, "load a catalog that has it, or unbind it first");
    }
    if (!c->removed) {
        int r = bind_jigs_active(b, out.role, info.node);
        if (r >= 0 && c->back)
            r = bind_return(b, out.role, info.node, c->noderole);
        if (r >= 0)
            r = bind_data(b, out.role, c->user, &out.data);
        if (r < 0) {
            (void)err_wrap(b->err, "%.*s@%s", (int)info.role.n, info.role.s,
                           bind_node_text(b, info.node));
            return r;
        }
        out.user = c->user;
        out.data = bind_inputs(b, c->noderole, c->user, out.data);
        out.has_data = out.data != info.data || c->other_user;
        if (c->back)
            bind_back_add(b, &out);
    } else if (out.role != CATALOG_NONE) {
        int r = bind_jigs_down(b, out.role, info.node);
        if (r < 0)
            return r;
    }
    vec_push(&b->changes, out);
    return 0;
}

static int by_noderole(const void *x, const void *y)
{
    const struct bind_change *p = x, *q = y;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

static int revise_all(struct bind *b, const struct revise_request *req, struct plan *p)
{
    for (uint32_t i = 0; i < req->n_changed; i++)
        if (req->changed[i].removed)
            u64map_put(&b->leaving, req->changed[i].noderole, 1);
    int r = bind_deployments_open(b);
    for (uint32_t i = 0; i < req->n_added && r >= 0; i++)
        r = entry_add(b, &req->added[i]);
    for (uint32_t i = 0; i < req->n_added && r >= 0; i++)
        entry_link(b, i, &req->added[i]);
    for (uint32_t i = 0; i < req->n_changed && r >= 0; i++)
        r = change_add(b, &req->changed[i]);
    if (r < 0)
        return r;
    bind_back_settle(b);
    if ((r = bind_settle_parents(b)) < 0 || (r = bind_cohorts(b)) < 0 || (r = bind_needs(b)) < 0 ||
        (r = bind_enough(b)) < 0)
        return r;
    if (b->changes.n)
        qsort(b->changes.at, b->changes.n, sizeof *b->changes.at, by_noderole);
    return bind_expand(b, p);
}

int planner_revise(const struct catalog *c, const struct planner_world *w,
                   const struct revise_request *req, struct plan **ret_plan, struct err *e)
{
    SCOPED(plan) *p = plan_new();
    struct err unread;
    struct bind_request limits = {.deployment = req->deployment};
    struct bind b = {.cat = c, .world = w, .req = &limits, .err = e ? e : &unread};
    bind_init(&b);
    p->catalog = c->number;
    int r = revise_all(&b, req, p);
    if (r >= 0) {
        *ret_plan = p;
        p = NULL;
        r = 0;
    }
    bind_done(&b);
    return r;
}
