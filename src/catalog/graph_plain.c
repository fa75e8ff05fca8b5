/* graph_plain.c - a task graph as it is written: vertices and edges before any node is known
 *
 * For lint and for pictures.  It is made from what the files say, not from what was resolved, so
 * that names which lenient content only dreams of are seen.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/taskgraph.h"

#include <stdlib.h>

#include "base/alloc.h"

struct plain {
    struct arena *mem;
    const struct catalog_graph *g;
    VEC(struct str) names;
    VEC(struct graph_plain_edge) edges;
    struct strmap undefined;
};

static uint32_t name_number(struct plain *p, struct str name)
{
    uintptr_t known;
    uint32_t id = catalog_graph_find(p->g, name);

    if (id != CATALOG_NONE)
        return id;
    if (strmap_get(&p->undefined, name, &known))
        return (uint32_t)known;
    struct str copy = {arena_strndup(p->mem, name.s, name.n), name.n};
    strmap_put(&p->undefined, name, p->names.n);
    vec_push(&p->names, copy);
    return (uint32_t)p->names.n - 1;
}

static void edge_add(struct plain *p, uint32_t from, uint32_t to)
{
    vec_push(&p->edges, ((struct graph_plain_edge){from, to}));
}

/* Ids of a list of the vertex; before: they come before it. */
static void ids_add(struct plain *p, uint32_t v, const char *key, bool before)
{
    const struct value *list = value_get(p->g->vertices[v].source, key);

    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++) {
        uint32_t other = name_number(p, value_as_str(&list->items[i]));
        edge_add(p, before ? other : v, before ? v : other);
    }
}

/* Each word sees only groups that those before it left. */
static void groups_add(struct plain *p, uint32_t v)
{
    const struct graph_selector *s = &p->g->vertices[v].groups;
    if (!s->n)
        return;
    SCOPED_ARENA(mem);
    bool *taken = arena_new(&mem, bool, p->g->n_vertices);
    for (uint32_t i = 0; i < s->n; i++) {
        const struct graph_word *w = &s->words[i];
        bool any = false;
        for (uint32_t k = 0; w->kind == WORD_PATTERN && k < p->g->n_vertices; k++) {
            const struct graph_vertex *group = &p->g->vertices[k];
            if (group->kind != VERTEX_GROUP || taken[k] || !graph_word_matches(w, group->id))
                continue;
            taken[k] = any = true;
            edge_add(p, v, k);
        }
        if (any)
            continue;
        const char *name = w->kind == WORD_PATTERN ? arena_printf(&mem, "/%s/", w->text.s)
                                                   : w->text.s;
        uint32_t number = name_number(p, str_of(name));
        if (number < p->g->n_vertices)
            taken[number] = true;
        edge_add(p, v, number);
    }
}

static int edge_compare(const void *a, const void *b)
{
    const struct graph_plain_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

void graph_plain_build(struct arena *a, const struct catalog_graph *g, struct graph_plain *ret)
{
    struct plain p = {.mem = a, .g = g};

    for (uint32_t i = 0; i < g->n_vertices; i++)
        vec_push(&p.names, g->vertices[i].id);
    for (uint32_t i = 0; i < g->n_vertices; i++) {
        ids_add(&p, i, "requires", true);
        ids_add(&p, i, "required_for", false);
        ids_add(&p, i, "tasks", true);
        groups_add(&p, i);
    }
    if (p.edges.n)
        qsort(p.edges.at, p.edges.n, sizeof *p.edges.at, edge_compare);
    struct graph_plain_edge *edges = arena_new(a, struct graph_plain_edge, p.edges.n);
    uint32_t n = 0;
    for (size_t i = 0; i < p.edges.n; i++)
        if (!n || edge_compare(&edges[n - 1], &p.edges.at[i]))
            edges[n++] = p.edges.at[i];
    struct str *names = arena_new(a, struct str, p.names.n);
    for (size_t i = 0; i < p.names.n; i++)
        names[i] = p.names.at[i];
    *ret = (struct graph_plain){names, (uint32_t)p.names.n, g->n_vertices, edges, n};
    vec_done(&p.names);
    vec_done(&p.edges);
    strmap_done(&p.undefined);
}
