/* bind_cohort.c - circles, cohorts and the order of the plan; what live noderoles come to need
 *
 * Roles do not require each other in a circle, but noderoles can: through a name that several roles
 * provide, what stands in for it may need the one who asked.
 *
 * A plan lists its noderoles by (cohort, node, number).  So every parent comes before its children,
 * ids rise with cohorts, and the chain of a one-by-one strategy, which runs in the same order,
 * closes no circle: need edges rise in cohort, the chain never falls in it, and within a cohort it
 * only rises by node.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include <stdlib.h>

#include "graph/graph.h"

/* --- cohorts --- */

/* graph_sort() tells the circle as "each needs the one before it". */
static int refuse_circle(struct bind *b, const uint32_t *circle, uint32_t n)
{
    struct buf text = {0};

    for (uint32_t i = 0; i <= n; i++)
        buf_printf(&text, "%s%s", i ? " needs " : "",
                   bind_ref_text(b, circle[(2 * n - 1 - i) % n] | PLAN_NEW));
    (void)err_set(b->err, ERR_CYCLE, "%s", buf_str(&text).s);
    (void)err_hint(b->err, "bind what stands in for a required name in a request of its own");
    buf_done(&text);
    return -ERR_CYCLE;
}

static uint32_t cohort_above(const struct bind *b, uint32_t number)
{
    const struct bind_new *nr = &b->fresh.at[number];
    uint32_t cohort = 0;

    for (uint32_t i = 0; i < nr->n_links; i++) {
        uint32_t ref = b->parents.at[nr->first_link + i].ref, parent;
        if (ref & PLAN_NEW) {
            parent = b->fresh.at[ref & ~PLAN_NEW].cohort;
        } else {
            struct planner_noderole info;
            b->world->noderole(b->world->ctx, ref, &info);
            parent = info.cohort;
        }
        cohort = parent + 1 > cohort ? parent + 1 : cohort;
    }
    return cohort;
}

struct place_key {
    uint32_t cohort, node, number;
};

static int place_compare(const void *a, const void *b)
{
    const struct place_key *x = a, *y = b;
    if (x->cohort != y->cohort)
        return x->cohort < y->cohort ? -1 : 1;
    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void order_by_cohort(struct bind *b)
{
    uint32_t n = (uint32_t)b->fresh.n;
    struct place_key *keys = arena_new(&b->scratch, struct place_key, n);

    for (uint32_t i = 0; i < n; i++)
        keys[i] = (struct place_key){b->fresh.at[i].cohort, b->fresh.at[i].node, i};
    if (n)
        qsort(keys, n, sizeof *keys, place_compare);
    b->order = arena_new(&b->scratch, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        b->order[i] = keys[i].number;
        b->fresh.at[keys[i].number].place = i;
    }
}

int bind_cohorts(struct bind *b)
{
    uint32_t n = (uint32_t)b->fresh.n, n_deps = 0, n_circle = 0;
    uint32_t *first = arena_new(&b->scratch, uint32_t, n + 1);
    uint32_t *deps = arena_new(&b->scratch, uint32_t, b->parents.n);
    uint32_t *order = arena_new(&b->scratch, uint32_t, n);
    uint32_t *circle = arena_new(&b->scratch, uint32_t, n);

    for (uint32_t i = 0; i < n; i++) {
        const struct bind_new *nr = &b->fresh.at[i];
        for (uint32_t k = 0; k < nr->n_links; k++) {
            uint32_t ref = b->parents.at[nr->first_link + k].ref;
            if (ref & PLAN_NEW)
                deps[n_deps++] = ref & ~PLAN_NEW;
        }
        first[i + 1] = n_deps;
    }
    if (!graph_sort(n, first, deps, order, circle, &n_circle))
        return refuse_circle(b, circle, n_circle);
    for (uint32_t i = 0; i < n; i++)
        b->fresh.at[order[i]].cohort = cohort_above(b, order[i]);
    order_by_cohort(b);
    return 0;
}

/* --- needs of what lives --- */

struct peer_child { /* who needs a live member of a cluster, and the first that it needs */
    uint32_t id, peer;
};

/* The noderoles given and all live ones that need one of them, however far. */
static void descendants(const struct bind *b, const struct peer_child *from, uint32_t n,
                        struct u64map *seen)
{
    VEC(uint32_t) todo = {0};

    for (uint32_t i = 0; i < n; i++)
        if (u64map_put(seen, from[i].id, 1))
            vec_push(&todo, from[i].id);
    while (todo.n) {
        uint32_t id = todo.at[--todo.n];
        struct planner_ids children = b->world->children(b->world->ctx, id);
        for (uint32_t i = 0; i < children.n; i++)
            if (u64map_put(seen, children.at[i], 1))
                vec_push(&todo, children.at[i]);
    }
    vec_done(&todo);
}

/* A live noderole among `below` that one needs which is new or comes back, directly or through
 * others like it; 0: none. */
static uint32_t needs_one_of(struct bind *b, uint32_t member, const struct u64map *below)
{
    VEC(uint32_t) todo = {0};
    struct u64map seen = {0};
    uint32_t hit = 0;

    vec_push(&todo, member);
    while (todo.n && !hit) {
        uint32_t at = todo.at[--todo.n];
        const struct bind_new *nr = at & PLAN_NEW ? &b->fresh.at[at & ~PLAN_NEW] : NULL;
        struct planner_ids back = nr ? (struct planner_ids){0} : bind_back_parents(b, at);
        for (uint32_t i = 0; i < (nr ? nr->n_links : back.n) && !hit; i++) {
            uint32_t ref = nr ? b->parents.at[nr->first_link + i].ref : back.at[i];
            if (!(ref & PLAN_NEW))
                hit = u64map_get(below, ref, NULL) ? ref : 0;
            if ((ref & PLAN_NEW || u64map_get(&b->back, ref, NULL)) && u64map_put(&seen, ref, 1))
                vec_push(&todo, ref);
        }
    }
    u64map_done(&seen);
    vec_done(&todo);
    return hit;
}

static uint64_t need_key(uint32_t child, uint32_t parent)
{
    return (uint64_t)child << 32 | parent;
}

/* Children of the live peers of a cluster role, each once, in the order of the peers; but those
 * that are to need that peer no more. */
static struct peer_child *children_of_peers(struct bind *b, uint32_t role, uint32_t *ret_n)
{
    struct planner_ids peers = bind_instances(b, role, b->req->deployment);
    VEC(struct peer_child) all = {0};
    struct u64map seen = {0};

    for (uint32_t i = 0; i < peers.n; i++) {
        struct planner_ids children = b->world->children(b->world->ctx, peers.at[i]);
        for (uint32_t k = 0; k < children.n; k++)
            if (!u64map_get(&b->leaving, children.at[k], NULL) &&
                !u64map_get(&b->lost, need_key(children.at[k], peers.at[i]), NULL) &&
                u64map_put(&seen, children.at[k], 1))
                vec_push(&all, ((struct peer_child){children.at[k], peers.at[i]}));
    }
    struct peer_child *copy = arena_new(&b->scratch, struct peer_child, all.n);
    for (size_t i = 0; i < all.n; i++)
        copy[i] = all.at[i];
    *ret_n = (uint32_t)all.n;
    u64map_done(&seen);
    vec_done(&all);
    return copy;
}

/* Who needs the others of the cluster needs the member as well. */
static int member_needs(struct bind *b, uint32_t member, const struct peer_child *children,
                        uint32_t n, const struct u64map *below)
{
    uint32_t hit = needs_one_of(b, member, below);
    if (hit) {
        (void)err_set(
            b->err, ERR_CYCLE, "%s would become a peer that %s needs, but it needs %s itself",
            bind_ref_text(b, member), bind_ref_text(b, children[0].id), bind_ref_text(b, hit));
        return err_hint(b->err, "bind it where it finds what it needs elsewhere");
    }
    for (uint32_t k = 0; k < n; k++)
        if (!u64map_get(&b->gained, need_key(children[k].id, member), NULL))
            vec_push(&b->needs, ((struct plan_need){children[k].id, member, children[k].peer}));
    return 0;
}

static int role_needs(struct bind *b, uint32_t role)
{
    uint32_t n = 0;
    struct peer_child *children = children_of_peers(b, role, &n);
    struct u64map below = {0};
    int r = 0;

    if (!n)
        return 0;
    descendants(b, children, n, &below);
    for (uint32_t i = b->roles[role].first_new; i != BIND_NONE && r >= 0; i = b->fresh.at[i].next)
        r = member_needs(b, i | PLAN_NEW, children, n, &below);
    for (size_t i = 0; b->roles[role].returns && i < b->changes.n && r >= 0; i++)
        if (b->changes.at[i].back && b->changes.at[i].role == role)
            r = member_needs(b, b->changes.at[i].noderole, children, n, &below);
    u64map_done(&below);
    return r;
}

int bind_needs(struct bind *b)
{
    for (size_t i = 0; i < b->changes.n; i++) {
        const struct bind_change *c = &b->changes.at[i];
        for (uint32_t k = 0; k < c->n_gains; k++)
            u64map_put(&b->gained, need_key(c->noderole, c->gains[k]), 1);
        for (uint32_t k = 0; k < c->n_losses; k++)
            u64map_put(&b->lost, need_key(c->noderole, c->losses[k]), 1);
    }
    for (uint32_t role = 0; role < b->cat->n_roles; role++) {
        if ((b->roles[role].first_new == BIND_NONE && !b->roles[role].returns) ||
            !(b->cat->roles[role].flags & ROLE_F_CLUSTER))
            continue;
        int r = role_needs(b, role);
        if (r < 0)
            return r;
        if (b->needs.n > b->max_needs)
            return err_set(b->err, ERR_LIMIT, "more than %u needs in one plan", b->max_needs);
    }
    return 0;
}
