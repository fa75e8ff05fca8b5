/* weave_sort.c - order, levels, weights, and the stage that each vertex comes before
 *
 * Joins cost nothing: a path is as long as the tasks and stages on it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "graph/graph.h"
#include "planner/weave_i.h"

static uint32_t cost(const struct weave *w, uint32_t v)
{
    return w->vertices[v].kind == WEAVE_JOIN ? 0 : 1;
}

static void levels(struct weave *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t v = w->order[i], level = 0;
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++) {
            uint32_t behind = w->vertices[w->deps[k]].level + cost(w, w->deps[k]);
            level = behind > level ? behind : level;
        }
        w->vertices[v].level = level;
        if (cost(w, v) && level >= w->n_levels)
            w->n_levels = level + 1;
    }
}

static bool sooner(const struct weave *w, uint32_t stage, uint32_t than)
{
    return than == WEAVE_NONE || w->vertices[stage].level < w->vertices[than].level ||
           (w->vertices[stage].level == w->vertices[than].level && stage < than);
}

/* From the end: each passes on how long the way from it is, and which stage comes next. */
static void weights(struct weave *w)
{
    for (uint32_t i = w->n; i-- > 0;) {
        uint32_t v = w->order[i];
        const struct weave_vertex *at = &w->vertices[v];
        uint32_t next = at->kind == WEAVE_STAGE ? v : at->stage;
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++) {
            struct weave_vertex *before = &w->vertices[w->deps[k]];
            uint32_t weight = at->weight + cost(w, w->deps[k]);
            before->weight = weight > before->weight ? weight : before->weight;
            if (next != WEAVE_NONE && sooner(w, next, before->stage))
                before->stage = next;
        }
    }
    for (uint32_t v = 0; v < w->n; v++)
        if (w->vertices[v].stage != WEAVE_NONE)
            w->vertices[v].stage = w->vertices[w->vertices[v].stage].task;
}

int weave_sort(struct weaving *x)
{
    struct weave *w = x->w;
    uint32_t *left = xcalloc((size_t)w->n + 1, sizeof *left);
    w->order = arena_new(&w->mem, uint32_t, w->n);
    uint32_t done = graph_levels(w->n, w->first, w->deps, w->order, left);
    int rc = done == w->n ? 0 : weave_circle(x, left);
    free(left);
    if (rc == 0) {
        levels(w);
        weights(w);
    }
    return rc;
}
