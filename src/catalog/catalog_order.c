/* catalog_order.c - roles in the order of their needs; circles, cohorts, and what is said twice
 *
 * Edges are what a binding may follow: required roles, implementors of jigs, roles that are used,
 * and the one role that provides a required name which is no role's own.  A name that several roles
 * provide is decided when it is bound, and so is a circle through it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "graph/graph.h"

enum {
    CIRCLES_TOLD = 8,          /* of one load */
    CIRCLE_NOTES = 12,         /* edges of one circle that are shown with their lines */
    REDUNDANT_STEPS = 2000000, /* edges followed in search of needless requires, in all */
};

/* The role that a want leads to before anything is bound; CATALOG_NONE if that is open. */
static uint32_t want_role(const struct load *l, const struct catalog_want *w)
{
    const struct catalog_name *name = &l->names.at[w->name];
    if (name->role == CATALOG_NONE && name->n_providers == 1)
        return name->providers[0];
    return name->role;
}

/* Role v waits for deps[first[v]] .. deps[first[v + 1] - 1]. */
struct need_graph {
    uint32_t n, *first, *deps;
};

/* Does the role's own list say so? */
static bool is_listed(const struct catalog_want *w)
{
    return w->jig == CATALOG_NONE && !w->read;
}

static void graph_build(struct load *l, struct need_graph *g)
{
    uint32_t n = (uint32_t)l->roles.n, n_edges = 0;
    uint32_t *first = arena_new(&l->scratch, uint32_t, n + 1);

    for (uint32_t i = 0; i < n; i++)
        n_edges += l->roles.at[i].role.n_requires + l->roles.at[i].role.n_uses;
    uint32_t *deps = arena_new(&l->scratch, uint32_t, n_edges);
    n_edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct catalog_role *r = &l->roles.at[i].role;
        for (uint32_t k = 0; k < r->n_requires + r->n_uses; k++) {
            const struct catalog_want *w = k < r->n_requires ? &r->requires[k]
                                                             : &r->uses[k - r->n_requires];
            uint32_t role = want_role(l, w);
            if (role != CATALOG_NONE)
                deps[n_edges++] = role;
        }
        first[i + 1] = n_edges;
    }
    *g = (struct need_graph){n, first, deps};
}

/* --- circles --- */

/* Where and how `from` wants `to`. */
static const struct value *edge_find(const struct load *l, uint32_t from, uint32_t to,
                                     const char **ret_verb)
{
    const struct load_role *r = &l->roles.at[from];

    for (uint32_t k = 0; k < r->role.n_requires; k++)
        if (want_role(l, &r->role.requires[k]) == to) {
            *ret_verb = r->role.requires[k].read                  ? "wants an attribute of"
                        : r->role.requires[k].jig == CATALOG_NONE ? "requires"
                                                                  : "needs, as its jig does,";
            return r->requires_at[k];
        }
    for (uint32_t k = 0; k < r->role.n_uses; k++)
        if (want_role(l, &r->role.uses[k]) == to) {
            *ret_verb = "uses";
            return r->uses_at[k];
        }
    return NULL;
}

/* Each role of the circle requires the next, and the last the first. */
static void roles_circle(struct load *l, const uint32_t *circle, uint32_t n)
{
    SCOPED_BUF(path);
    const char *verb = "requires";

    for (uint32_t i = 0; i <= n; i++)
        buf_printf(&path, "%s%s", i ? " -> " : "", l->roles.at[circle[i % n]].role.name.s);
    const struct value *at = edge_find(l, circle[0], circle[1 % n], &verb);
    struct err *e = catalog_error(l, at, ERR_CYCLE, "roles require each other: %s", path.data);
    if (!e)
        return;
    (void)err_hint(e, "remove one of these");
    for (uint32_t i = 0; i < n && i < CIRCLE_NOTES; i++) {
        uint32_t from = circle[i], to = circle[(i + 1) % n];
        at = edge_find(l, from, to, &verb);
        catalog_fault(l, CATALOG_NOTE, ERR_CYCLE, catalog_where_of(at), "%s %s %s",
                      l->roles.at[from].role.name.s, verb, l->roles.at[to].role.name.s);
    }
}

/* --- what is said twice --- */

/* A walk down from one role's requirements, through roles above the lowest of them only. */
struct lint {
    struct load *l;
    uint32_t *mark; /* number of the walk that last saw a role */
    uint32_t *came; /* the role it was reached from */
    uint32_t *stack;
    uint32_t walk, steps;
};

static void redundant_report(struct lint *t, uint32_t role, const struct value *at, uint32_t target)
{
    struct load *l = t->l;
    SCOPED_BUF(path);
    SCOPED_ARENA(mem);
    uint32_t *way = arena_new(&mem, uint32_t, l->roles.n), n = 0;

    /* An implicit role is needed on this very node: another's need says nothing about that, unless
     * all between are of this node too. */
    bool here = l->roles.at[target].role.flags & ROLE_F_IMPLICIT;
    for (uint32_t v = target; v != role; v = t->came[v]) {
        if (here && !(l->roles.at[v].role.flags & ROLE_F_IMPLICIT))
            return;
        way[n++] = v;
    }
    buf_puts(&path, l->roles.at[role].role.name.s);
    while (n--)
        buf_printf(&path, " -> %s", l->roles.at[way[n]].role.name.s);
    struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(at),
                                  "\"%s\" is required already: %s", l->roles.at[target].role.name.s,
                                  path.data);
    (void)err_hint(e, "it can be left out");
}

/* Marks what the role's requirements need in turn, down to the lowest cohort among them. */
static void redundant_walk(struct lint *t, uint32_t role, uint32_t floor)
{
    const struct catalog_role *r = &t->l->roles.at[role].role;
    uint32_t n = 0;

    t->walk++;
    for (uint32_t k = 0; k < r->n_requires; k++) {
        uint32_t v = want_role(t->l, &r->requires[k]);
        /* What a jig or a want brings along is no reason to leave out what the role says. */
        if (v == CATALOG_NONE || !is_listed(&r->requires[k]) ||
            t->l->roles.at[v].role.cohort <= floor)
            continue;
        t->came[v] = role; /* a target that is reached from another is marked with that one */
        t->stack[n++] = v;
    }
    while (n && t->steps) {
        uint32_t v = t->stack[--n];
        const struct catalog_role *at = &t->l->roles.at[v].role;
        for (uint32_t k = 0; k < at->n_requires && t->steps; k++, t->steps--) {
            uint32_t below = want_role(t->l, &at->requires[k]);
            if (below == CATALOG_NONE || t->mark[below] == t->walk ||
                t->l->roles.at[below].role.cohort < floor)
                continue;
            t->mark[below] = t->walk;
            t->came[below] = v;
            t->stack[n++] = below;
        }
    }
}

static void redundant_find(struct lint *t, uint32_t role)
{
    const struct load_role *r = &t->l->roles.at[role];
    uint32_t floor = UINT32_MAX, top = 0;

    for (uint32_t k = 0; k < r->role.n_requires; k++) {
        uint32_t v = want_role(t->l, &r->role.requires[k]);
        uint32_t cohort = v == CATALOG_NONE ? 0 : t->l->roles.at[v].role.cohort;
        if (v == CATALOG_NONE)
            continue;
        floor = cohort < floor ? cohort : floor;
        top = cohort > top ? cohort : top;
    }
    if (top <= floor || floor == UINT32_MAX)
        return; /* none can stand above another */
    redundant_walk(t, role, floor);
    for (uint32_t k = 0; k < r->role.n_requires && t->steps; k++) {
        uint32_t v = want_role(t->l, &r->role.requires[k]);
        if (v != CATALOG_NONE && t->mark[v] == t->walk && is_listed(&r->role.requires[k]))
            redundant_report(t, role, r->requires_at[k], v);
    }
}

static void redundant(struct load *l)
{
    size_t n = l->roles.n;
    struct lint t = {
        .l = l,
        .mark = arena_new(&l->scratch, uint32_t, n),
        .came = arena_new(&l->scratch, uint32_t, n),
        .stack = arena_new(&l->scratch, uint32_t, 2 * n + 2 * CATALOG_MAX_LIST),
        .steps = REDUNDANT_STEPS,
    };
    for (uint32_t i = 0; i < n && t.steps; i++)
        redundant_find(&t, i);
}

/* --- all together --- */

void catalog_circle_turn(const uint32_t *circle, uint32_t n, uint32_t *ret_turned)
{
    uint32_t lowest = 0;
    for (uint32_t i = 1; i < n; i++)
        if (circle[i] < circle[lowest])
            lowest = i;
    for (uint32_t i = 0; i < n; i++)
        ret_turned[i] = circle[(lowest + n - i) % n];
}

/* After each circle its first edge is taken out, so that the next search finds another. */
static bool roles_sort(struct load *l, struct need_graph *g, uint32_t *order)
{
    uint32_t *circle = arena_new(&l->scratch, uint32_t, g->n), n = 0;
    uint32_t *turned = arena_new(&l->scratch, uint32_t, g->n);

    if (graph_sort(g->n, g->first, g->deps, order, circle, &n))
        return true;
    for (unsigned told = 0; told < CIRCLES_TOLD; told++) {
        catalog_circle_turn(circle, n, turned);
        roles_circle(l, turned, n);
        uint32_t from = turned[0], to = turned[1 % n], end = g->first[g->n], kept = g->first[from];
        for (uint32_t k = g->first[from]; k < end; k++)
            if (k >= g->first[from + 1] || g->deps[k] != to)
                g->deps[kept++] = g->deps[k];
        for (uint32_t v = from + 1; v <= g->n; v++)
            g->first[v] -= end - kept;
        if (graph_sort(g->n, g->first, g->deps, order, circle, &n))
            break;
    }
    return false;
}

void catalog_order(struct load *l)
{
    struct need_graph g;
    uint32_t *order = arena_new(l->mem, uint32_t, l->roles.n);

    graph_build(l, &g);
    if (!roles_sort(l, &g, order))
        return;
    for (uint32_t i = 0; i < g.n; i++) {
        uint32_t cohort = 0, v = order[i];
        for (uint32_t k = g.first[v]; k < g.first[v + 1]; k++) {
            uint32_t below = l->roles.at[g.deps[k]].role.cohort + 1;
            cohort = below > cohort ? below : cohort;
        }
        l->roles.at[v].role.cohort = cohort;
    }
    l->order = order;
    redundant(l);
}
