/* sim_revise.c - from the difference of two maps to a plan, with the engine's own means
 *
 * What the server asks its planner for (src/server/revision.c), without catalogs: a role's number
 * inside its deployment is its cohort, tasks are chance.  Who is wanted again while it is on its
 * way out comes back as itself; data of a deployment's role concern all who have that role.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdlib.h>

enum { REVISED_MOST = 64, TASKS_EACH_MOST = 3 };

struct revising {
    struct sim *sim;
    uint32_t deployment;
    const struct pmap *now;
    const struct snapshot_changes *diff;
    struct plan *plan;
    struct arena mem;
    uint32_t places[REVISED_MOST]; /* of the plan's new noderoles */
    struct err *e;
};

uint32_t sim_revise_live(const struct sim *s, uint32_t deployment, uint32_t place,
                         uint32_t *ret_going)
{
    const struct anneal *a = s->server.engine;
    uint32_t stays = 0, going = 0;
    for (uint32_t id = anneal_node_first_noderole(a, sim_place_node(place)); id;
         id = anneal_node_next_noderole(a, id)) {
        const struct sim_seat *seat = &s->seats.at[id];
        struct noderole_view v;
        if (seat->deployment == deployment && seat->place == place && anneal_noderole(a, id, &v))
            *(v.target == TARGET_ABSENT ? &going : &stays) = id;
    }
    if (ret_going)
        *ret_going = going;
    return stays;
}

static uint32_t place_of(const struct revising *r, uint64_t key)
{
    const struct desire *d = r->sim->server.desire;
    return sim_wants_seat(desire_role_name(d, snapshot_key_role(key)), snapshot_key_node(key))
        .place;
}

static uint32_t change_place(const struct revising *r, const struct snapshot_change *c)
{
    return place_of(r, snapshot_key(c->role, c->node));
}

static struct plan_change *change_find(const struct revising *r, uint32_t id)
{
    for (uint32_t i = 0; i < r->plan->n_changes; i++)
        if (r->plan->changes[i].noderole == id)
            return &r->plan->changes[i];
    return NULL;
}

static struct plan_change *change_for(struct revising *r, uint32_t id)
{
    struct plan *p = r->plan;
    struct plan_change *c = change_find(r, id);
    struct noderole_view v = {0};
    if (c)
        return c;
    anneal_noderole(r->sim->server.engine, id, &v);
    c = &p->changes[p->n_changes++];
    *c = (struct plan_change){.noderole = id, .flags = v.flags, .user = str_of("")};
    return c;
}

/* ---- parents ---- */

static int parent_ref(struct revising *r, uint64_t key, uint32_t *ret)
{
    uint32_t place = place_of(r, key), going;
    for (uint32_t i = 0; i < r->plan->n_noderoles; i++)
        if (r->places[i] == place) {
            *ret = PLAN_NEW | i;
            return 0;
        }
    *ret = sim_revise_live(r->sim, r->deployment, place, &going);
    const struct plan_change *c = !*ret && going ? change_find(r, going) : NULL;
    if (c && (c->what & PLAN_C_TASKS))
        *ret = going;
    return *ret ? 0 : err_set(r->e, ERR_REFUSED, "a parent is not bound");
}

static int parent_refs(struct revising *r, const struct snapshot_entry *t, uint32_t **ret)
{
    *ret = arena_new(&r->plan->mem, uint32_t, t->n_parents + 1);
    for (uint32_t i = 0; i < t->n_parents; i++) {
        int rc = parent_ref(r, t->parents[i], &(*ret)[i]);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static bool among(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* What it needs in the engine becomes what its entry wants. */
static int set_parents(struct revising *r, struct plan_change *c, const struct snapshot_entry *t)
{
    const struct anneal *a = r->sim->server.engine;
    uint32_t n = anneal_needs(a, c->noderole, NULL, 0), *wanted;
    uint32_t *live = arena_new(&r->mem, uint32_t, n + 1);
    (void)anneal_needs(a, c->noderole, live, n);
    int rc = parent_refs(r, t, &wanted);
    if (rc < 0)
        return rc;
    uint32_t *gains = arena_new(&r->plan->mem, uint32_t, t->n_parents + 1);
    uint32_t *losses = arena_new(&r->plan->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < t->n_parents; i++)
        if (!among(live, n, wanted[i]))
            gains[c->n_gains++] = wanted[i];
    for (uint32_t i = 0; i < n; i++)
        if (!among(wanted, t->n_parents, live[i]))
            losses[c->n_losses++] = live[i];
    c->gains = gains;
    c->losses = losses;
    if (c->n_gains + c->n_losses > 0)
        c->what |= PLAN_C_PARENTS;
    return 0;
}

/* ---- data ---- */

/* What a noderole sees: its own, and its role's in the deployment. */
static uint64_t inputs(const struct revising *r, uint32_t role, uint64_t user)
{
    struct str shared = {"", 0};
    (void)pmap_get(r->now, snapshot_key(role, 0), &shared);
    return mix64(user, digest_64(shared.s, shared.n)) | 1;
}

static void set_data(struct revising *r, uint32_t id, uint32_t role, uint64_t user)
{
    struct plan_change *c = change_for(r, id);
    if (c->what & PLAN_C_REMOVE)
        return;
    c->what |= PLAN_C_DATA;
    c->data = inputs(r, role, user);
    c->user = desire_doc_text(r->sim->server.desire, user);
}

struct sharing {
    struct revising *revising;
    uint32_t role;
};

static void shared_with(void *ctx, uint64_t key, struct str value)
{
    struct sharing *h = ctx;
    struct revising *r = h->revising;
    struct snapshot_entry t;
    uint32_t id = snapshot_key_role(key) == h->role && snapshot_key_node(key)
                      ? sim_revise_live(r->sim, r->deployment, place_of(r, key), NULL)
                      : 0;
    if (id && snapshot_entry_decode(&r->mem, value, &t, r->e) >= 0)
        set_data(r, id, h->role, t.user);
}

/* ---- entries ---- */

/* First who is there, so that everybody's parents can be found. */
static void count_in(struct revising *r, const struct snapshot_change *c)
{
    struct plan *p = r->plan;
    uint32_t place = change_place(r, c), going;
    uint32_t id = sim_revise_live(r->sim, r->deployment, place, &going);
    if (id) {
        sim_fail(r->sim, "desire: noderole %u lives, and the head does not want it", id);
    } else if (going) {
        change_for(r, going)->what |= PLAN_C_TASKS;
    } else {
        r->places[p->n_noderoles] = place;
        p->noderoles[p->n_noderoles++] = (struct plan_noderole){
            .role = desire_role_name(r->sim->server.desire, c->role),
            .user = desire_doc_text(r->sim->server.desire, c->now->user),
            .deployment = r->deployment,
            .node = c->node,
            .cohort = sim_place_role(place),
            .data = inputs(r, c->role, c->now->user)};
    }
}

static int fill_in(struct revising *r, const struct snapshot_change *c)
{
    uint32_t place = change_place(r, c), going, *parents;
    for (uint32_t i = 0; i < r->plan->n_noderoles; i++)
        if (r->places[i] == place) {
            int rc = parent_refs(r, c->now, &parents);
            r->plan->noderoles[i].parents = parents;
            r->plan->noderoles[i].n_parents = c->now->n_parents;
            return rc;
        }
    uint32_t id = sim_revise_live(r->sim, r->deployment, place, &going);
    if (!id && !going) {
        sim_fail(r->sim, "desire: the head wants role %u on node %u, which does not live",
                 sim_place_role(place), c->node);
        return err_set(r->e, ERR_INTERNAL, "nobody to change");
    }
    if (!c->old || (c->what & SNAPSHOT_CHANGED_USER))
        set_data(r, id ? id : going, c->role, c->now->user);
    if (!c->old || (c->what & SNAPSHOT_CHANGED_PARENTS))
        return set_parents(r, change_for(r, id ? id : going), c->now);
    return 0;
}

static int entries_take(struct revising *r)
{
    const struct snapshot_changes *d = r->diff;
    int rc = 0;
    for (uint32_t i = 0; i < d->n_removed; i++) {
        uint32_t id = d->removed[i].node ? sim_revise_live(r->sim, r->deployment,
                                                           change_place(r, &d->removed[i]), NULL)
                                         : 0;
        if (id)
            change_for(r, id)->what = PLAN_C_REMOVE;
    }
    for (uint32_t role = 1; role <= SIM_ROLES; role++) /* parents before their children */
        for (uint32_t i = 0; i < d->n_added; i++)
            if (d->added[i].node && sim_place_role(change_place(r, &d->added[i])) == role)
                count_in(r, &d->added[i]);
    for (uint32_t i = 0; i < d->n_added && rc >= 0; i++)
        rc = d->added[i].node ? fill_in(r, &d->added[i]) : 0;
    for (uint32_t i = 0; i < d->n_changed && rc >= 0; i++)
        rc = d->changed[i].node ? fill_in(r, &d->changed[i]) : 0;
    const struct snapshot_change *lists[] = {d->added, d->changed, d->removed};
    const uint32_t n[] = {d->n_added, d->n_changed, d->n_removed};
    for (int l = 0; l < 3 && rc >= 0; l++)
        for (uint32_t i = 0; i < n[l]; i++)
            if (!lists[l][i].node)
                pmap_each(r->now, shared_with, &(struct sharing){r, lists[l][i].role});
    return rc;
}

/* ---- the plan ---- */

static int by_noderole(const void *x, const void *y)
{
    const struct plan_change *p = x, *q = y;
    return (p->noderole > q->noderole) - (p->noderole < q->noderole);
}

/* Who goes waits for those of its role that come with the plan. */
static void successors_draw(struct revising *r)
{
    struct plan *p = r->plan;
    p->waits = arena_new(&p->mem, struct plan_wait, p->n_noderoles * p->n_changes);
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        for (uint32_t k = 0; k < p->n_changes; k++) {
            uint32_t id = p->changes[k].noderole;
            if ((p->changes[k].what & PLAN_C_REMOVE) &&
                sim_place_role(r->sim->seats.at[id].place) == sim_place_role(r->places[i]))
                p->waits[p->n_waits++] = (struct plan_wait){id, PLAN_NEW | i};
        }
}

static void tasks_draw(struct revising *r)
{
    struct plan *p = r->plan;
    struct rng *chance = &r->sim->wish;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        p->noderoles[i].first_task = p->n_tasks;
        p->noderoles[i].n_tasks = sim_change_tasks(r->sim, chance, p, PLAN_NEW | i, 1);
    }
    for (uint32_t i = 0; i < p->n_changes; i++)
        if (p->changes[i].what)
            p->changes[kept++] = p->changes[i];
    p->n_changes = kept;
    qsort(p->changes, p->n_changes, sizeof *p->changes, by_noderole);
    for (uint32_t i = 0; i < p->n_changes; i++) {
        struct plan_change *c = &p->changes[i];
        if (!(c->what & (PLAN_C_REMOVE | PLAN_C_TASKS)))
            continue;
        c->first_task = p->n_tasks;
        c->n_tasks = sim_change_tasks(r->sim, chance, p, c->noderole,
                                      c->what & PLAN_C_REMOVE ? 0 : 1);
    }
}

int sim_revise_plan(struct sim *s, uint32_t deployment, const struct pmap *now,
                    const struct snapshot_changes *diff, struct plan **ret_p, struct err *e)
{
    const struct anneal *a = s->server.engine;
    struct plan *p = plan_new();
    struct revising r = {
        .sim = s, .deployment = deployment, .now = now, .diff = diff, .plan = p, .e = e};
    p->noderoles = arena_new(&p->mem, struct plan_noderole, REVISED_MOST);
    p->changes = arena_new(&p->mem, struct plan_change, REVISED_MOST);
    p->tasks = arena_new(&p->mem, struct plan_task, 2 * REVISED_MOST * TASKS_EACH_MOST);
    arena_init(&r.mem);
    int rc = entries_take(&r);
    arena_done(&r.mem);
    if (rc >= 0) {
        tasks_draw(&r);
        successors_draw(&r);
        plan_rebase(p, anneal_def_end(a), anneal_noderole_end(a), anneal_task_end(a),
                    anneal_span_end(a), anneal_pool_end(a));
        rc = p->n_changes ? anneal_plan_check(a, p, e) : 0;
    }
    if (rc < 0) {
        plan_free(p);
        return rc;
    }
    *ret_p = p;
    return 0;
}
