/* graph_overlay.c - vertices of an overlay over those of a catalog, read and checked as one graph
 *
 * A vertex is replaced whole, by its id.  What lies below is read again from what its files said:
 * a layer may take away what something else requires, and that must be found as any dangler is.
 * Files of the catalog are not at hand any more, so faults of theirs have places but no lines.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/taskgraph.h"

#include "catalog/catalog_i.h"

#include <stdlib.h>

#include "base/alloc.h"

/* What is being laid over what. */
struct overlay {
    struct load l;
    const struct catalog *c;
    const struct catalog_graph *base; /* NULL: none */
    struct strmap above;              /* ids of layers that were read */
    struct strmap meant;              /* id -> barclamp of the lowest vertex that has it */
};

/* --- places --- */

/* A copy whose places are those of file `number`. */
static const struct value *value_stamp(struct arena *a, const struct value *v, uint32_t number)
{
    struct value *copy = value_copy(a, v);
    VEC(struct value *) todo = {0};

    vec_push(&todo, copy);
    while (todo.n) {
        struct value *at = todo.at[--todo.n];
        at->source = (uint16_t)(number + 1);
        for (uint32_t i = 0; at->kind == VALUE_LIST && i < at->n; i++)
            vec_push(&todo, &at->items[i]);
        for (uint32_t i = 0; at->kind == VALUE_MAP && i < at->n; i++)
            vec_push(&todo, &at->members[i].v);
    }
    vec_done(&todo);
    return copy;
}

static void docs_make(struct overlay *x, const struct graph_layer *layers, size_t n)
{
    struct load *l = &x->l;

    l->n_docs = x->c->n_files + (uint32_t)n;
    l->docs = arena_new(l->mem, struct load_doc, l->n_docs);
    for (uint32_t i = 0; i < x->c->n_files; i++)
        l->docs[i] = (struct load_doc){
            .path = {arena_strndup(l->mem, x->c->files[i].s, x->c->files[i].n), x->c->files[i].n},
            .text = {"", 0}};
    for (size_t i = 0; i < n; i++)
        l->docs[x->c->n_files + i] = (struct load_doc){
            .path = str_of(arena_strdup(l->mem, layers[i].name)),
            .text = layers[i].text.n ? layers[i].text : str_of("")};
}

/* --- vertices --- */

/* Number of a barclamp in the load; the one behind those of the catalog is strict. */
static void meaning_set(struct overlay *x, uint32_t barclamp)
{
    x->l.barclamp = barclamp < x->c->n_barclamps ? barclamp : x->c->n_barclamps;
    x->l.lenient = x->l.barclamps.at[x->l.barclamp].lenient;
}

static void meant_put(struct overlay *x, struct str id, uint32_t barclamp)
{
    if (!strmap_get(&x->meant, id, NULL))
        strmap_put(&x->meant, id, barclamp);
}

/* A vertex that takes another's place is meant as the lowest one of its id. */
static void meaning_learn(struct overlay *x, const struct graph_layer *layers, size_t n)
{
    for (uint32_t i = 0; x->base && i < x->base->n_vertices; i++)
        if (x->base->vertices[i].barclamp != CATALOG_NONE) /* else built in, and nobody's */
            meant_put(x, x->base->vertices[i].id, x->base->vertices[i].barclamp);
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = 0; layers[k].vertices->kind == VALUE_LIST && i < layers[k].vertices->n;
             i++)
            meant_put(x, value_as_str(value_get(&layers[k].vertices->items[i], "id")),
                      layers[k].barclamp);
}

static void layer_read(struct overlay *x, const struct graph_layer *layer, uint32_t number)
{
    struct load *l = &x->l;
    const struct value *list = value_stamp(&l->scratch, layer->vertices, number);
    struct strmap own = {0};

    if (list->kind != VALUE_LIST) {
        catalog_error(l, list, ERR_INVALID, "expected a list of tasks");
        return;
    }
    for (uint32_t i = 0; i < list->n; i++) {
        struct str id = value_as_str(value_get(&list->items[i], "id"));
        uintptr_t barclamp = layer->barclamp;
        if (strmap_get(&x->above, id, NULL))
            continue;
        strmap_put(&own, id, 0);
        (void)strmap_get(&x->meant, id, &barclamp);
        meaning_set(x, (uint32_t)barclamp);
        catalog_read_vertex(l, &list->items[i]);
    }
    for (size_t i = 0; i < own.n; i++)
        strmap_put(&x->above, (struct str){own.at[i].key, own.at[i].len}, 0);
    strmap_done(&own);
}

static void base_read(struct overlay *x)
{
    for (uint32_t i = 0; x->base && i < x->base->n_vertices; i++) {
        const struct graph_vertex *v = &x->base->vertices[i];
        /* Stages that are built in are made again, if they are still wanted. */
        if (v->barclamp == CATALOG_NONE || strmap_get(&x->above, v->id, NULL))
            continue;
        meaning_set(x, v->barclamp);
        catalog_read_vertex(&x->l, v->source);
    }
}

/* --- all together --- */

static void overlay_init(struct overlay *x, struct graph_overlay *o, const struct catalog *c,
                         struct str graph, struct catalog_report *report)
{
    struct load *l = &x->l;

    *x = (struct overlay){.c = c, .base = catalog_graph_get(c, graph), .l.report = report};
    arena_init(&l->scratch);
    l->mem = &o->mem;
    l->no_values = value_map(l->mem);
    l->patterns = graph_patterns_new();
    for (uint32_t i = 0; i < c->n_barclamps; i++)
        vec_push(&l->barclamps, c->barclamps[i]);
    vec_push(&l->barclamps, ((struct catalog_barclamp){.where = {.file = CATALOG_NONE}}));
    for (uint32_t i = 0; i < c->n_roles; i++)
        vec_push(&l->roles, ((struct load_role){.role = c->roles[i]}));
    struct load_graph g = {.name = {arena_strndup(l->mem, graph.s, graph.n), graph.n}};
    vec_push(&l->graphs, g);
}

static void overlay_seal(struct overlay *x, struct graph_overlay *o)
{
    struct load *l = &x->l;
    struct load_graph *g = &l->graphs.at[0];

    for (uint32_t i = 0; i < g->n; i++)
        if (g->sealed[i].barclamp == x->c->n_barclamps)
            g->sealed[i].barclamp = CATALOG_NONE;
    o->graph = (struct catalog_graph){g->name, g->sealed, g->n, g->by_id};
    g->by_id = (struct strmap){0};
    o->patterns = l->patterns;
    l->patterns = NULL;
    o->files = arena_new(&o->mem, struct str, l->n_docs);
    o->n_files = l->n_docs;
    for (uint32_t i = 0; i < l->n_docs; i++)
        o->files[i] = l->docs[i].path;
}

void graph_overlay_free(struct graph_overlay *o)
{
    if (!o)
        return;
    strmap_done(&o->graph.by_id);
    graph_patterns_free(o->patterns);
    arena_done(&o->mem);
    free(o);
}

int graph_overlay_new(const struct catalog *c, struct str graph, const struct graph_layer *layers,
                      size_t n_layers, struct catalog_report *report, struct graph_overlay **ret,
                      struct err *e)
{
    SCOPED(graph_overlay) *o = xcalloc(1, sizeof *o);
    struct overlay x;
    int r = 0;

    if (n_layers > GRAPH_MAX_LAYERS)
        return err_set(e, ERR_LIMIT, "more than %d layers over a graph", GRAPH_MAX_LAYERS);
    arena_init(&o->mem);
    overlay_init(&x, o, c, graph, report);
    docs_make(&x, layers, n_layers);
    meaning_learn(&x, layers, n_layers);
    for (size_t i = n_layers; i-- > 0;)
        layer_read(&x, &layers[i], c->n_files + (uint32_t)i);
    base_read(&x);
    if (!x.l.limited) {
        catalog_group_roles(&x.l); /* a group must not have the name of a role */
        catalog_resolve_graphs(&x.l);
    }
    if (!report->n_errors)
        catalog_order_graphs(&x.l);
    catalog_report_sort(report);
    if (report->n_errors) {
        const struct err *first = catalog_first_error(report);
        if (e)
            *e = *first;
        r = -(int)first->code;
    } else {
        overlay_seal(&x, o);
        *ret = o;
        o = NULL;
    }
    strmap_done(&x.above);
    strmap_done(&x.meant);
    catalog_load_done(&x.l);
    return r;
}
