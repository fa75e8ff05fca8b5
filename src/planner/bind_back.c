/* bind_back.c - noderoles that are wanted again while they are on their way out
 *
 * A noderole that comes back lives, and keeps its id and what it still needs; but to those who need
 * its role it is a new one: the world does not count it among the live ones, and whoever had it as
 * a parent has lost it.  So it is an instance of its role here, the children of its peers gain it
 * (bind_cohort.c), and of the clusters that it needs it gains the members that it does not know.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include <string.h>

static const struct bind_change *change_back(const struct bind *b, uint32_t ref)
{
    uintptr_t at;
    return !(ref & PLAN_NEW) && u64map_get(&b->back, ref, &at) ? &b->changes.at[at] : NULL;
}

void bind_back_add(struct bind *b, const struct bind_change *c)
{
    u64map_put(&b->back, c->noderole, b->changes.n);
    b->roles[c->role].returns = true;
}

static uint32_t cohort_of(const void *ctx, uint32_t noderole)
{
    const struct bind *b = ctx;
    struct planner_noderole info;
    b->world->noderole(b->world->ctx, noderole, &info);
    return info.cohort;
}

struct planner_ids bind_back_among(struct bind *b, uint32_t role, struct planner_ids live)
{
    uint32_t n = live.n, *all = arena_new(&b->scratch, uint32_t, n + b->changes.n);
    if (n)
        memcpy(all, live.at, n * sizeof *all);
    for (size_t i = 0; i < b->changes.n; i++)
        if (b->changes.at[i].back && b->changes.at[i].role == role)
            all[n++] = b->changes.at[i].noderole;
    return planner_ids_rank(all, n, cohort_of, b);
}

/* --- what it needs --- */

static bool listed(const uint32_t *refs, uint32_t n, uint32_t ref)
{
    for (uint32_t i = 0; i < n; i++)
        if (refs[i] == ref)
            return true;
    return false;
}

struct planner_ids bind_back_parents(struct bind *b, uint32_t ref)
{
    const struct bind_change *c = change_back(b, ref);
    const struct planner_world *w = b->world;
    struct planner_ids live = {0};
    uint32_t n = 0;
    if (!c)
        return live;
    if (w->parents)
        live = w->parents(w->ctx, ref);
    uint32_t *refs = arena_new(&b->scratch, uint32_t, live.n + c->n_gains);
    for (uint32_t i = 0; i < live.n; i++)
        if (!listed(c->losses, c->n_losses, live.at[i]))
            refs[n++] = live.at[i];
    for (uint32_t i = 0; i < c->n_gains; i++)
        refs[n++] = c->gains[i];
    return (struct planner_ids){refs, n};
}

struct regaining { /* of one that comes back */
    struct bind *b;
    struct u64map has; /* refs that it needs, and itself */
    VEC(uint32_t) gains, losses;
};

static void regain(struct regaining *r, uint32_t ref)
{
    if (!u64map_put(&r->has, ref, 1))
        return;
    for (size_t i = 0; i < r->losses.n; i++)
        if (r->losses.at[i] == ref) { /* it never lost that one: both were on their way out */
            r->losses.at[i] = r->losses.at[--r->losses.n];
            return;
        }
    vec_push(&r->gains, ref);
}

/* As bind_find.c does it for what is new: who needs one of a cluster needs all of it. */
static void regain_cluster(struct regaining *r, uint32_t parent, struct u64map *met)
{
    struct bind *b = r->b;
    uint32_t role = bind_ref_role(b, parent), deployment = b->req->deployment;
    struct planner_noderole info;
    if (role == CATALOG_NONE || !(b->cat->roles[role].flags & ROLE_F_CLUSTER))
        return;
    if (!(parent & PLAN_NEW)) {
        b->world->noderole(b->world->ctx, parent, &info);
        deployment = info.deployment;
    }
    if (!u64map_put(met, (uint64_t)deployment << 32 | role, 1))
        return;
    struct planner_ids members = bind_instances(b, role, deployment);
    for (uint32_t i = 0; i < members.n; i++)
        regain(r, members.at[i]);
    for (uint32_t i = deployment == b->req->deployment ? b->roles[role].first_new : BIND_NONE;
         i != BIND_NONE; i = b->fresh.at[i].next)
        regain(r, i | PLAN_NEW);
}

static const uint32_t *kept(struct bind *b, const uint32_t *at, size_t n)
{
    uint32_t *copy = arena_new(&b->scratch, uint32_t, n);
    if (n)
        memcpy(copy, at, n * sizeof *copy);
    return copy;
}

static void change_regain(struct bind *b, struct bind_change *c)
{
    struct regaining r = {.b = b};
    struct u64map met = {0};
    struct planner_ids parents = bind_back_parents(b, c->noderole);
    u64map_put(&r.has, c->noderole, 1);
    for (uint32_t i = 0; i < parents.n; i++)
        u64map_put(&r.has, parents.at[i], 1);
    for (uint32_t i = 0; i < c->n_gains; i++)
        vec_push(&r.gains, c->gains[i]);
    for (uint32_t i = 0; i < c->n_losses; i++)
        vec_push(&r.losses, c->losses[i]);
    for (uint32_t i = 0; i < parents.n; i++)
        regain_cluster(&r, parents.at[i], &met);
    c->gains = kept(b, r.gains.at, r.gains.n);
    c->n_gains = (uint32_t)r.gains.n;
    c->losses = kept(b, r.losses.at, r.losses.n);
    c->n_losses = (uint32_t)r.losses.n;
    u64map_done(&met);
    u64map_done(&r.has);
    vec_done(&r.gains);
    vec_done(&r.losses);
}

void bind_back_settle(struct bind *b)
{
    for (size_t i = 0; i < b->changes.n; i++)
        if (b->changes.at[i].back)
            change_regain(b, &b->changes.at[i]);
}
