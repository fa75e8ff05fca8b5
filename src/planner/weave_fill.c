/* weave_fill.c - what every vertex waits for, as one array
 *
 * Counted, then written.  What a class says is copied to each of its nodes; what a group and its
 * chunks add differs from node to node.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "planner/weave_i.h"

struct fill {
    struct weaving *x;
    uint64_t *at; /* by vertex: how many; then where the next one goes */
    uint32_t *deps;
};

static int by_dep(const void *p, const void *q)
{
    const struct weave_dep *a = p, *b = q;
    if (a->pos != b->pos)
        return a->pos < b->pos ? -1 : 1;
    return (a->dep > b->dep) - (a->dep < b->dep);
}

static int by_in(const void *p, const void *q)
{
    const struct weave_in *a = p, *b = q;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->from.class != b->from.class)
        return a->from.class < b->from.class ? -1 : 1;
    return (a->from.task > b->from.task) - (a->from.task < b->from.task);
}

/* The same thing said twice is waited for once. */
static void say_once(struct weaving *x)
{
    for (size_t i = 0; i < x->classes.n; i++) {
        struct weave_class *c = &x->classes.at[i];
        size_t kept = 0;
        if (c->deps.n > 1)
            qsort(c->deps.at, c->deps.n, sizeof *c->deps.at, by_dep);
        for (size_t k = 0; k < c->deps.n; k++)
            if (!kept || by_dep(&c->deps.at[kept - 1], &c->deps.at[k]))
                c->deps.at[kept++] = c->deps.at[k];
        c->deps.n = kept;
    }
    size_t kept = 0;
    if (x->ins.n > 1)
        qsort(x->ins.at, x->ins.n, sizeof *x->ins.at, by_in);
    for (size_t k = 0; k < x->ins.n; k++)
        if (!kept || by_in(&x->ins.at[kept - 1], &x->ins.at[k]))
            x->ins.at[kept++] = x->ins.at[k];
    x->ins.n = kept;
}

/* Counting and writing are the same walk. */
static void edge(struct fill *f, uint32_t to, uint32_t from)
{
    if (f->deps)
        f->deps[f->at[to]] = from;
    f->at[to]++;
}

static void chunk_edges(struct fill *f, const struct weave_strand *s, uint32_t node, uint32_t v)
{
    uint32_t chunk = s->chunk_of[node];
    edge(f, s->first_chunk + chunk, v);
    if (chunk > 0)
        edge(f, v, s->first_chunk + chunk - 1);
}

static void instance_edges(struct fill *f, uint32_t node, uint32_t v, uint32_t task, uint32_t owner)
{
    const struct weave_strand *own = &f->x->strands[task];
    if (own->n_chunks)
        chunk_edges(f, own, node, v);
    if (owner == WEAVE_NONE)
        return;
    const struct weave_strand *s = &f->x->strands[owner];
    if (s->begin != WEAVE_NONE)
        edge(f, v, s->begin);
    if (s->n_chunks)
        chunk_edges(f, s, node, v);
    else if (s->end != WEAVE_NONE)
        edge(f, s->end, v);
}

static void node_edges(struct fill *f, uint32_t node)
{
    struct weaving *x = f->x;
    const struct weave_class *c = &x->classes.at[x->class_of[node]];
    uint32_t base = x->base[node];
    for (size_t i = 0; i < c->deps.n; i++) {
        uint32_t dep = c->deps.at[i].dep;
        edge(f, base + c->deps.at[i].pos, dep & DEP_NODE ? base + (dep & ~DEP_NODE) : dep);
    }
    for (uint32_t pos = 0; pos < c->n_tasks; pos++)
        instance_edges(f, node, base + pos, c->tasks[pos], c->owner[pos]);
}

static void all_edges(struct fill *f)
{
    struct weaving *x = f->x;
    for (uint32_t node = 0; node <= x->req->n_nodes; node++)
        node_edges(f, node);
    for (size_t i = 0; i < x->ins.n; i++) {
        struct weave_source from = x->ins.at[i].from;
        if (from.class == WEAVE_NONE) {
            edge(f, x->ins.at[i].to, from.task);
            continue;
        }
        const struct weave_class *c = &x->classes.at[from.class];
        uint32_t pos = weave_pos(c, from.task);
        for (size_t k = 0; k < c->nodes.n; k++)
            edge(f, x->ins.at[i].to, x->base[c->nodes.at[k]] + pos);
    }
    for (uint32_t g = 0; g < x->g->n_vertices; g++) {
        const struct weave_strand *s = &x->strands[g];
        for (uint32_t k = 0;
             x->g->vertices[g].kind == VERTEX_GROUP && s->end != WEAVE_NONE && k < s->n_chunks; k++)
            edge(f, s->end, s->first_chunk + k);
    }
}

static void vertices_fill(struct weaving *x)
{
    struct weave *w = x->w;
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        if (x->stage_at[v] != WEAVE_NONE)
            w->vertices[x->stage_at[v]] = (struct weave_vertex){v, WEAVE_NONE, WEAVE_NONE,  1,
                                                                0, WEAVE_NONE, WEAVE_STAGE, 0};
    for (uint32_t node = 0; node <= x->req->n_nodes; node++) {
        const struct weave_class *c = &x->classes.at[x->class_of[node]];
        for (uint32_t pos = 0; pos < c->n_tasks; pos++)
            w->vertices[x->base[node] + pos] = (struct weave_vertex){
                c->tasks[pos], node, c->owner[pos], 1, 0, WEAVE_NONE, WEAVE_TASK, 0};
    }
    for (uint32_t j = 0; j < w->n_joins; j++)
        w->vertices[w->n_stages + w->n_tasks + j] = (struct weave_vertex){
            WEAVE_NONE, WEAVE_NONE, w->joins[j].group, 0, 0, WEAVE_NONE, WEAVE_JOIN, 0};
}

/* Into the result, which may have been filled before. */
static void tables_fill(struct weaving *x)
{
    struct weave *w = x->w;
    const struct weave_role *const **serves = arena_new(&w->mem, const struct weave_role *const *,
                                                        x->classes.n);
    uint32_t *class_of = arena_new(&w->mem, uint32_t, x->req->n_nodes + 1);
    uint32_t *base = arena_new(&w->mem, uint32_t, x->req->n_nodes + 2);
    for (size_t i = 0; i < x->classes.n; i++)
        serves[i] = x->classes.at[i].serves;
    memcpy(class_of, x->class_of, (x->req->n_nodes + 1) * sizeof *class_of);
    memcpy(base, x->base, (x->req->n_nodes + 2) * sizeof *base);
    w->serves = serves;
    w->class_of = class_of;
    w->base = base;
    w->n_joins = (uint32_t)x->joins.n;
    w->n = w->n_stages + w->n_tasks + w->n_joins;
    w->joins = arena_new(&w->mem, struct weave_join, w->n_joins);
    if (w->n_joins)
        memcpy(w->joins, x->joins.at, w->n_joins * sizeof *w->joins);
    w->vertices = arena_new(&w->mem, struct weave_vertex, w->n);
    vertices_fill(x);
}

int weave_fill(struct weaving *x)
{
    struct weave *w = x->w;
    tables_fill(x);
    say_once(x);
    struct fill f = {.x = x, .at = xcalloc((size_t)w->n + 1, sizeof *f.at)};
    all_edges(&f);
    uint64_t total = 0;
    w->first = arena_new(&w->mem, uint32_t, (size_t)w->n + 1);
    for (uint32_t v = 0; v < w->n; v++) {
        uint64_t n = f.at[v];
        w->first[v] = (uint32_t)total;
        f.at[v] = total;
        total += n;
    }
    if (total > x->req->max_edges || w->n > x->req->max_vertices) {
        free(f.at);
        return err_set(x->e, ERR_LIMIT, "more than %u tasks or %u dependencies",
                       x->req->max_vertices, x->req->max_edges);
    }
    w->first[w->n] = (uint32_t)total;
    w->deps = f.deps = arena_new(&w->mem, uint32_t, total);
    all_edges(&f);
    free(f.at);
    return 0;
}
