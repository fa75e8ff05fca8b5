/* weave_window.c - sliding windows that what their tasks wait for contradicts
 *
 * A node that has its place in a window keeps it until the last of the group's tasks there has
 * ended.  If one of them waits for a task of another node of the group, and the other way round,
 * all places can be taken by nodes that wait for those without one.  So each node's tasks are
 * looked at as one vertex: two nodes of a group that lie on one circle then are refused, as chunks
 * would be, or the window becomes a limit.
 *
 * Circles are found as strongly connected components, in one pass for each window (Tarjan), with a
 * stack of its own: the graph is the user's.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "planner/weave_i.h"

struct step { /* a vertex, and how far what it waits for has been looked at */
    uint32_t v, at, dep;
};
struct window {
    const struct weave *w;
    uint32_t *rep;       /* by vertex: the first of its node's, if the group owns it; else itself */
    uint32_t *index;     /* by vertex: when it was reached, 0: not yet */
    uint32_t *low;       /* the earliest on the stack that it leads to */
    uint32_t *component; /* 0: not yet */
    uint32_t group, reached, n_components;
    VEC(struct step) walk;
    VEC(uint32_t) stack;
};

static bool is_node(const struct window *s, uint32_t v)
{
    return s->w->vertices[v].kind == WEAVE_TASK && s->w->vertices[v].role == s->group;
}

/* The next vertex that a step leads to; WEAVE_NONE: there is no more. */
static uint32_t step_on(const struct window *s, struct step *p)
{
    const struct weave *w = s->w;
    for (;;) {
        if (p->dep < w->first[p->at + 1])
            return s->rep[w->deps[p->dep++]];
        uint32_t end = is_node(s, p->v) ? w->base[w->vertices[p->v].node + 1] : 0;
        do
            p->at++;
        while (p->at < end && s->rep[p->at] != p->v);
        if (p->at >= end)
            return WEAVE_NONE;
        p->dep = w->first[p->at];
    }
}

static void reach(struct window *s, uint32_t v)
{
    s->index[v] = s->low[v] = ++s->reached;
    vec_push(&s->stack, v);
    vec_push(&s->walk, ((struct step){v, v, s->w->first[v]}));
}

/* All that lies on circles with v is on top of the stack; a second node of the group among it. */
static uint32_t component_take(struct window *s, uint32_t v)
{
    uint32_t u, one = WEAVE_NONE, other = WEAVE_NONE;
    s->n_components++;
    do {
        u = s->stack.at[--s->stack.n];
        s->component[u] = s->n_components;
        if (is_node(s, u)) {
            other = one;
            one = u;
        }
    } while (u != v);
    return other;
}

static uint32_t walk_from(struct window *s, uint32_t v)
{
    uint32_t found = WEAVE_NONE;
    reach(s, v);
    while (s->walk.n && found == WEAVE_NONE) {
        struct step *top = &s->walk.at[s->walk.n - 1];
        uint32_t u = top->v, to = step_on(s, top);
        if (to != WEAVE_NONE && !s->index[to]) {
            reach(s, to);
        } else if (to != WEAVE_NONE) {
            if (!s->component[to] && s->index[to] < s->low[u])
                s->low[u] = s->index[to];
        } else {
            s->walk.n--;
            uint32_t above = s->walk.n ? s->walk.at[s->walk.n - 1].v : u;
            if (s->low[u] < s->low[above])
                s->low[above] = s->low[u];
            if (s->low[u] == s->index[u])
                found = component_take(s, u);
        }
    }
    return found;
}

/* By which of its tasks the node at v waits for others of its circle. */
static int tell(struct weaving *x, const struct window *s, uint32_t v)
{
    const struct weave *w = s->w;
    uint32_t at = v, on = WEAVE_NONE, end = w->base[w->vertices[v].node + 1];
    for (uint32_t u = v; u < end && on == WEAVE_NONE; u++)
        for (uint32_t k = w->first[u]; s->rep[u] == v && k < w->first[u + 1]; k++)
            if (s->rep[w->deps[k]] != v && s->component[s->rep[w->deps[k]]] == s->component[v]) {
                at = u;
                on = w->deps[k];
            }
    const char *waits = weave_vertex_name(w, x->req, at, &x->mem).s;
    const char *for_what = on == WEAVE_NONE ? "" : weave_vertex_name(w, x->req, on, &x->mem).s;
    const char *group = x->g->vertices[s->group].id.s;
    err_set(x->e, ERR_CONFLICT,
            "a circle: %s waits for %s, and so for other nodes of %s, which wait for its end",
            waits, for_what, group);
    return weave_give_up(x, s->group);
}

static int window_check(struct weaving *x, const struct weave_limit *limit)
{
    const struct weave *w = x->w;
    struct window s = {.w = w, .group = limit->vertex};
    uint32_t n_nodes = 0, found = WEAVE_NONE;
    s.rep = arena_new(&x->mem, uint32_t, w->n);
    s.index = arena_new(&x->mem, uint32_t, w->n);
    s.low = arena_new(&x->mem, uint32_t, w->n);
    s.component = arena_new(&x->mem, uint32_t, w->n);
    for (uint32_t v = 0, node = WEAVE_NONE, first = 0; v < w->n; v++) {
        s.rep[v] = v;
        if (!is_node(&s, v))
            continue;
        if (w->vertices[v].node != node) {
            node = w->vertices[v].node;
            first = v;
            n_nodes++;
        }
        s.rep[v] = first;
    }
    for (uint32_t v = 0; n_nodes > limit->size && v < w->n && found == WEAVE_NONE; v++)
        if (s.rep[v] == v && !s.index[v])
            found = walk_from(&s, v);
    int rc = found == WEAVE_NONE ? 0 : tell(x, &s, found);
    vec_done(&s.walk);
    vec_done(&s.stack);
    return rc;
}

int weave_windows(struct weaving *x)
{
    int rc = 0;
    for (size_t i = 0; i < x->limits.n && rc == 0; i++)
        if (x->limits.at[i].nodes)
            rc = window_check(x, &x->limits.at[i]);
    return rc;
}
