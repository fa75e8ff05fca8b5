/* graph_circle.c - task graphs that wait for themselves
 *
 * Circles are sought before any node is known, so only where an edge holds on all nodes: between
 * stages and groups, and of tasks that mean any node (a circle of those is one wherever they run).
 * What the nodes make of the rest is found when they are known, by planner/weave.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "graph/graph.h"

enum {
    GRAPH_CIRCLES_TOLD = 8,  /* of one graph */
    GRAPH_CIRCLE_NOTES = 12, /* edges of one circle that are shown with their lines */
};

struct order_edge {
    uint32_t from, to;
    bool forward; /* written by from: it is required for to */
};
struct order {
    struct load *l;
    const struct load_graph *g;
    struct order_edge *edges;
    uint32_t n;
};

/* Does what v says of w hold wherever they run? */
static bool edge_counts(const struct graph_vertex *v, const struct graph_vertex *w)
{
    return !v->same_node || v == w || (v->kind != VERTEX_TASK && w->kind != VERTEX_TASK);
}

static void edges_collect(struct order *o)
{
    uint32_t room = 0;

    for (uint32_t i = 0; i < o->g->n; i++)
        room += o->g->sealed[i].n_requires + o->g->sealed[i].n_required_for;
    o->edges = arena_new(&o->l->scratch, struct order_edge, room);
    for (uint32_t i = 0; i < o->g->n; i++) {
        const struct graph_vertex *v = &o->g->sealed[i];
        for (uint32_t k = 0; k < v->n_requires; k++)
            if (edge_counts(v, &o->g->sealed[v->requires[k]]))
                o->edges[o->n++] = (struct order_edge){v->requires[k], i, false};
        for (uint32_t k = 0; k < v->n_required_for; k++)
            if (edge_counts(v, &o->g->sealed[v->required_for[k]]))
                o->edges[o->n++] = (struct order_edge){i, v->required_for[k], true};
    }
}

static struct catalog_where edge_where(const struct order *o, const struct order_edge *edge)
{
    const struct load_graph *g = o->g;
    uint32_t owner = edge->forward ? edge->from : edge->to;
    uint32_t other = edge->forward ? edge->to : edge->from;

    if (g->from[owner] == CATALOG_NONE)
        return g->sealed[owner].where;
    const struct load_vertex *x = &o->l->vertices.at[g->from[owner]];
    const struct load_names *names = edge->forward ? &x->required_for : &x->requires;
    for (uint32_t i = 0; i < names->n; i++)
        if (str_eq(names->at[i].name, g->sealed[other].id))
            return catalog_where_of(names->at[i].at);
    return x->v.where;
}

static uint32_t edge_find(const struct order *o, uint32_t from, uint32_t to)
{
    uint32_t i = 0;
    while (i < o->n && (o->edges[i].from != from || o->edges[i].to != to))
        i++;
    return i;
}

/* Each of the circle waits for the next, and the last for the first. */
static void circle_tell(const struct order *o, const uint32_t *circle, uint32_t n)
{
    SCOPED_BUF(path);
    const struct graph_vertex *all = o->g->sealed;

    for (uint32_t i = 0; i <= n; i++)
        buf_printf(&path, "%s%s", i ? " -> " : "", all[circle[i % n]].id.s);
    const struct order_edge *first = &o->edges[edge_find(o, circle[1 % n], circle[0])];
    struct err *e = catalog_fault(o->l, CATALOG_ERROR, ERR_CYCLE, edge_where(o, first),
                                  "graph \"%s\" waits for itself: %s", o->g->name.s, path.data);
    if (!e)
        return;
    (void)err_hint(e, "remove one of these");
    for (uint32_t i = 0; i < n && i < GRAPH_CIRCLE_NOTES; i++) {
        const struct order_edge *edge = &o->edges[edge_find(o, circle[(i + 1) % n], circle[i])];
        const char *owner = all[edge->forward ? edge->from : edge->to].id.s;
        const char *other = all[edge->forward ? edge->to : edge->from].id.s;
        catalog_fault(o->l, CATALOG_NOTE, ERR_CYCLE, edge_where(o, edge), "%s %s %s", owner,
                      edge->forward ? "is required for" : "requires", other);
    }
}

/* CSR of what each vertex waits for. */
static bool edges_sort(const struct order *o, uint32_t *first, uint32_t *deps, uint32_t *order,
                       uint32_t *circle, uint32_t *n)
{
    memset(first, 0, (o->g->n + 1) * sizeof *first);
    for (uint32_t i = 0; i < o->n; i++)
        first[o->edges[i].to + 1]++;
    for (uint32_t i = 0; i < o->g->n; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < o->n; i++)
        deps[first[o->edges[i].to]++] = o->edges[i].from;
    for (uint32_t i = o->g->n; i; i--)
        first[i] = first[i - 1];
    first[0] = 0;
    return graph_sort(o->g->n, first, deps, order, circle, n);
}

/* After each circle its first edge is taken out, so that the next search finds another. */
static void graph_order(struct load *l, const struct load_graph *g)
{
    struct order o = {.l = l, .g = g};
    uint32_t n = 0;

    edges_collect(&o);
    uint32_t *first = arena_new(&l->scratch, uint32_t, g->n + 1);
    uint32_t *deps = arena_new(&l->scratch, uint32_t, o.n + 1);
    uint32_t *order = arena_new(&l->scratch, uint32_t, g->n);
    uint32_t *circle = arena_new(&l->scratch, uint32_t, g->n);
    uint32_t *turned = arena_new(&l->scratch, uint32_t, g->n);
    for (unsigned told = 0; told < GRAPH_CIRCLES_TOLD; told++) {
        if (edges_sort(&o, first, deps, order, circle, &n))
            return;
        catalog_circle_turn(circle, n, turned);
        circle_tell(&o, turned, n);
        uint32_t kept = 0;
        for (uint32_t i = 0; i < o.n; i++)
            if (o.edges[i].from != turned[1 % n] || o.edges[i].to != turned[0])
                o.edges[kept++] = o.edges[i];
        o.n = kept;
    }
}

void catalog_order_graphs(struct load *l)
{
    for (uint32_t i = 0; i < l->graphs.n; i++)
        graph_order(l, &l->graphs.at[i]);
}
