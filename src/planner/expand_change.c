/* expand_change.c - what becomes of noderoles that live: redefined in place, replaced, or taken
 * down
 *
 * A role of another generation is compared with the tasks that live: if they are as many, in the
 * same order, in the same pools, only definitions differ, and each task gets its new one; else all
 * are replaced, and where only order or pools differ what was done stays done.  Removal is the
 * tasks of `stop`, then those of `remove`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/expand_i.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/sort.h"

/* The steps that take a noderole of this role down, in order. */
static const struct catalog_action *down_action(const struct catalog_role *role, int i)
{
    static const char *const names[] = {"stop", "remove"};
    return catalog_action_get(role, str_of(names[i]));
}

static uint32_t down_count(const struct catalog_role *role)
{
    uint32_t n = 0;
    for (int i = 0; i < 2; i++) {
        const struct catalog_action *a = down_action(role, i);
        n += a ? a->n_steps : 0;
    }
    return n;
}

/* Do its live tasks wait for each other as the steps of the role do? */
static bool same_shape(struct expansion *x, const struct role_plan *rp, uint32_t noderole)
{
    const struct planner_world *w = x->b->world;
    const struct catalog_action *a = rp->converge;
    struct planner_task t;
    for (uint32_t i = 0; i < a->n_steps; i++) {
        const struct catalog_step *step = &a->steps[a->order[i]];
        if (!w->task(w->ctx, noderole, i, &t) || t.after.n != step->n_after)
            return false;
        for (uint32_t k = 0; k < step->n_after; k++)
            if (t.after.at[k] != rp->place[step->after[k]])
                return false;
    }
    return !w->task(w->ctx, noderole, a->n_steps, &t);
}

/* Are they in the pools that the role wants now?  Its strategy is one. */
static bool same_pools(struct expansion *x, const struct role_plan *rp, uint32_t noderole)
{
    const struct planner_world *w = x->b->world;
    struct planner_task t;
    for (uint32_t i = 0; i < rp->converge->n_steps; i++) {
        expand_pools(x, rp, i);
        if (!w->task(w->ctx, noderole, i, &t) || t.pools.n != x->refs.n)
            return false;
        for (uint32_t k = 0; k < t.pools.n; k++) {
            bool wanted = false;
            for (size_t p = 0; p < x->refs.n; p++)
                wanted |= x->refs.at[p] == t.pools.at[k];
            if (!wanted)
                return false;
        }
    }
    return true;
}

static bool same_defs(struct expansion *x, const struct role_plan *rp, uint32_t noderole)
{
    const struct planner_world *w = x->b->world;
    struct planner_task t;
    for (uint32_t i = 0; i < rp->converge->n_steps; i++)
        if (!w->task(w->ctx, noderole, i, &t) || t.def != rp->defs[i])
            return false;
    return true;
}

static void change_decide(struct expansion *x, const struct bind_change *from,
                          struct plan_change *c)
{
    const struct catalog_role *role = from->role == CATALOG_NONE ? NULL
                                                                 : &x->b->cat->roles[from->role];
    *c = (struct plan_change){.noderole = from->noderole, .user = str_of("")};
    if (from->removed) {
        c->what = PLAN_C_REMOVE;
        c->n_tasks = role ? down_count(role) : 0;
        return;
    }
    if (from->has_data) {
        c->what |= PLAN_C_DATA;
        c->data = from->data;
        c->user = expand_user(x, from->user);
    }
    if (from->n_gains || from->n_losses)
        c->what |= PLAN_C_PARENTS;
    if (from->has_quorums)
        c->what |= PLAN_C_QUORUMS;
    if (!role)
        return;
    struct role_plan *rp = expand_role(x, from->role);
    bool shape = same_shape(x, rp, from->noderole);
    c->flags = planner_role_flags(role);
    if (from->lens != role->lens_id) {
        c->what |= PLAN_C_LENS;
        c->lens = role->lens_id;
    }
    if (role->group && !from->back)
        return; /* its tasks are those of the last deploy */
    if (!shape || from->back || !same_pools(x, rp, from->noderole)) {
        c->what |= PLAN_C_TASKS;
        c->n_tasks = rp->converge->n_steps;
        c->keeps = !from->back;
    } else if (!same_defs(x, rp, from->noderole)) {
        c->what |= PLAN_C_DEFS;
        vec_clear(&x->refs);
        for (uint32_t i = 0; i < rp->converge->n_steps; i++)
            vec_push(&x->refs, rp->defs[i]);
        c->defs = expand_refs(x);
        c->n_defs = rp->converge->n_steps;
    }
    if (c->what & (PLAN_C_DATA | PLAN_C_PARENTS | PLAN_C_TASKS | PLAN_C_DEFS)) {
        c->group = expand_rollout(x, from->role); /* of this change, whatever came before */
        c->what |= c->group ? PLAN_C_GROUP : 0;
    }
}

uint64_t expand_changes_count(struct expansion *x)
{
    struct bind *b = x->b;
    struct plan *p = x->plan;
    uint64_t tasks = 0;
    p->changes = arena_new(&p->mem, struct plan_change, b->changes.n);
    for (size_t i = 0; i < b->changes.n; i++) {
        struct plan_change *c = &p->changes[p->n_changes];
        change_decide(x, &b->changes.at[i], c);
        if (!c->what)
            continue; /* this generation wants of it what it is already */
        b->changes.at[p->n_changes++] = b->changes.at[i];
        tasks += c->n_tasks;
    }
    b->changes.n = p->n_changes;
    return tasks;
}

/* A chain of actions; the first steps of each wait for the last of the one before. */
static void down_fill(struct expansion *x, const struct catalog_role *role,
                      const struct plan_change *c)
{
    struct plan *p = x->plan;
    uint32_t at = c->first_task;
    const uint32_t *before = NULL;
    uint32_t n_before = 0;
    for (int i = 0; i < 2; i++) {
        const struct catalog_action *a = down_action(role, i);
        if (!a || !a->n_steps)
            continue;
        uint32_t *place = arena_new(&x->b->scratch, uint32_t, a->n_steps);
        bool *followed = arena_new(&x->b->scratch, bool, a->n_steps);
        for (uint32_t k = 0; k < a->n_steps; k++) {
            const struct catalog_step *step = &a->steps[a->order[k]];
            place[a->order[k]] = at + k;
            struct plan_task *t = &p->tasks[at + k];
            *t = (struct plan_task){c->noderole, expand_def(x, role, step), 1, 0, before, n_before};
            if (!step->n_after)
                continue;
            uint32_t *deps = arena_new(&p->mem, uint32_t, step->n_after);
            for (uint32_t d = 0; d < step->n_after; d++) {
                deps[d] = place[step->after[d]] | PLAN_NEW;
                followed[step->after[d]] = true;
            }
            t->deps = deps;
            t->n_deps = step->n_after;
        }
        vec_clear(&x->refs);
        for (uint32_t k = 0; k < a->n_steps; k++)
            if (!followed[k])
                vec_push(&x->refs, place[k] | PLAN_NEW);
        before = expand_refs(x);
        n_before = (uint32_t)x->refs.n;
        at += a->n_steps;
    }
}

static const uint32_t *refs_placed(struct expansion *x, const uint32_t *refs, uint32_t n)
{
    vec_clear(&x->refs);
    for (uint32_t i = 0; i < n; i++)
        vec_push(&x->refs, bind_ref_placed(x->b, refs[i]));
    return expand_refs(x);
}

/* --- who goes after whom has come --- */

enum { SUCCESSORS_MOST = 4096 }; /* pairs of a role, each by each; beyond that each has one */

struct giving_way { /* members of a cluster role that go */
    uint32_t role, noderole;
};

static int by_role(const void *x, const void *y)
{
    const struct giving_way *p = x, *q = y;
    if (p->role != q->role)
        return p->role < q->role ? -1 : 1;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

static uint32_t goers_find(struct expansion *x, struct giving_way *ret)
{
    const struct bind *b = x->b;
    uint32_t n = 0;
    for (size_t i = 0; i < b->changes.n; i++) {
        const struct bind_change *c = &b->changes.at[i];
        if (c->removed && c->role != CATALOG_NONE &&
            (b->cat->roles[c->role].flags & ROLE_F_CLUSTER))
            ret[n++] = (struct giving_way){c->role, c->noderole};
    }
    if (n)
        qsort(ret, n, sizeof *ret, by_role);
    return n;
}

/* Members of a cluster role that go wait for those that come to be in service. */
void expand_successors(struct expansion *x)
{
    struct bind *b = x->b;
    struct plan *p = x->plan;
    struct giving_way *goers = arena_new(&b->scratch, struct giving_way, b->changes.n);
    uint32_t n_goers = goers_find(x, goers);
    uint32_t *come = arena_new(&b->scratch, uint32_t, b->cat->n_roles);
    uint32_t *nth = arena_new(&b->scratch, uint32_t, b->cat->n_roles);
    VEC(struct plan_wait) waits = {0};
    for (uint32_t i = 0; n_goers && i < p->n_noderoles; i++)
        come[b->fresh.at[i].role]++;
    for (uint32_t i = 0; n_goers && i < p->n_noderoles; i++) {
        uint32_t role = b->fresh.at[b->order[i]].role;
        size_t first = sort_first(goers, n_goers, it, it->role >= role);
        uint32_t go = (uint32_t)(sort_first(goers, n_goers, it, it->role > role) - first);
        bool each = (uint64_t)go * come[role] <= SUCCESSORS_MOST;
        uint32_t k = each ? 0 : nth[role]++, step = each ? 1 : come[role];
        for (bool more = go > 0; more; k += step, more = k < go)
            vec_push(&waits, ((struct plan_wait){goers[first + k % go].noderole, i | PLAN_NEW}));
    }
    p->waits = arena_new(&p->mem, struct plan_wait, waits.n);
    for (size_t i = 0; i < waits.n; i++)
        p->waits[p->n_waits++] = waits.at[i];
    vec_done(&waits);
}

void expand_changes_fill(struct expansion *x, uint32_t first_task)
{
    for (uint32_t i = 0; i < x->plan->n_changes; i++) {
        const struct bind_change *from = &x->b->changes.at[i];
        struct plan_change *c = &x->plan->changes[i];
        if (c->what & PLAN_C_PARENTS) {
            c->gains = refs_placed(x, from->gains, from->n_gains);
            c->n_gains = from->n_gains;
            c->losses = refs_placed(x, from->losses, from->n_losses);
            c->n_losses = from->n_losses;
        }
        if (c->what & PLAN_C_QUORUMS) {
            c->quorums = bind_quorums_placed(x->b, &from->quorums, &x->plan->mem);
            c->n_quorums = from->quorums.n;
        }
        if (!(c->what & (PLAN_C_TASKS | PLAN_C_REMOVE)))
            continue;
        c->first_task = first_task;
        first_task += c->n_tasks;
        if (c->what & PLAN_C_TASKS)
            expand_converge(x, expand_role(x, from->role), from->noderole, c->first_task);
        else if (from->role != CATALOG_NONE)
            down_fill(x, &x->b->cat->roles[from->role], c);
    }
}
