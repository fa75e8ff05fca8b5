/* weave_circle.c - a circle of vertices that wait for each other, told so that somebody can cut it
 *
 * Of what sorting leaves over, each waits for another that is left over: following that way back
 * must meet itself.  From there the shortest way round is looked for, since people have to read it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "planner/weave_i.h"

enum { SHOWN_MOST = 12 }; /* vertices of a circle that are named */

static uint32_t left_dep(const struct weave *w, const uint32_t *left, uint32_t v)
{
    for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++)
        if (left[w->deps[k]] > 0)
            return w->deps[k];
    return WEAVE_NONE;
}

static uint32_t vertex_on_circle(const struct weave *w, const uint32_t *left)
{
    uint8_t *seen = xcalloc(w->n, 1);
    uint32_t v = 0;
    while (left[v] == 0)
        v++;
    for (; !seen[v]; v = left_dep(w, left, v))
        seen[v] = 1;
    free(seen);
    return v;
}

/* The shortest way from v back to v along what is waited for; behind[u] is who was looked at when u
 * was found. */
static uint32_t shortest(const struct weave *w, const uint32_t *left, uint32_t v, uint32_t *ret)
{
    uint32_t *behind = xcalloc(w->n, sizeof *behind), *queue = xcalloc(w->n, sizeof *queue);
    uint32_t from = 0, to = 0, last = WEAVE_NONE, n = 0;
    memset(behind, 0xff, w->n * sizeof *behind);
    queue[to++] = v;
    while (from < to && last == WEAVE_NONE) {
        uint32_t u = queue[from++];
        for (uint32_t k = w->first[u]; k < w->first[u + 1] && last == WEAVE_NONE; k++) {
            uint32_t d = w->deps[k];
            if (d == v)
                last = u;
            else if (left[d] > 0 && behind[d] == WEAVE_NONE) {
                behind[d] = u;
                queue[to++] = d;
            }
        }
    }
    for (uint32_t u = last; u != v; u = behind[u])
        ret[n++] = u;
    ret[n++] = v;
    for (uint32_t i = 0; i < n / 2; i++) { /* found from its end */
        uint32_t swap = ret[i];
        ret[i] = ret[n - 1 - i];
        ret[n - 1 - i] = swap;
    }
    free(behind);
    free(queue);
    return n;
}

/* A strategy on the circle; one that may become a limit rather than one that may not. */
static uint32_t strategy_on(const struct weaving *x, const uint32_t *circle, uint32_t n)
{
    const struct weave *w = x->w;
    uint32_t found = WEAVE_NONE;
    for (uint32_t i = 0; i < n; i++) {
        if (w->vertices[circle[i]].kind != WEAVE_JOIN)
            continue;
        const struct weave_join *j = &w->joins[circle[i] - w->n_stages - w->n_tasks];
        if (j->kind == WEAVE_JOIN_CHUNK &&
            (found == WEAVE_NONE || x->g->vertices[j->group].circles_limit))
            found = j->group;
    }
    return found;
}

static void tell(struct weaving *x, const uint32_t *circle, uint32_t n)
{
    SCOPED_BUF(text);
    uint32_t shown = n < SHOWN_MOST ? n : SHOWN_MOST;
    for (uint32_t i = 0; i < shown; i++)
        buf_printf(&text, "%s%s", i ? " waits for " : "",
                   weave_vertex_name(x->w, x->req, circle[i], &x->mem).s);
    if (shown < n)
        buf_printf(&text, " ... and %u more", n - shown);
    buf_printf(&text, " waits for %s", weave_vertex_name(x->w, x->req, circle[0], &x->mem).s);
    err_set(x->e, ERR_CONFLICT, "a circle: %.*s", (int)text.len, text.data);
}

int weave_strategy_drop(struct weaving *x, uint32_t v)
{
    const struct graph_vertex *t = &x->g->vertices[v];
    if (!t->circles_limit && !x->req->limit_circles)
        return err_hint(x->e,
                        "strategy %s with %u at a time of %s contradicts what its tasks wait for: "
                        "raise the amount, or turn it into a limit with `circles: limit`",
                        strategy_name((enum strategy)t->strategy.type), x->strands[v].amount,
                        t->id.s);
    x->no_chunks[v] = true;
    const char *text = arena_printf(
        x->kept, "strategy %s of %s is a limit%s, since with it there is %s",
        strategy_name((enum strategy)t->strategy.type), t->id.s,
        t->kind == VERTEX_GROUP ? " for each of its tasks" : "", x->e->text);
    vec_push(x->warnings, ((struct weave_warning){str_of(text), t->strategy.where}));
    return 1;
}

int weave_circle(struct weaving *x, const uint32_t *left)
{
    uint32_t *circle = xcalloc(x->w->n, sizeof *circle);
    uint32_t n = shortest(x->w, left, vertex_on_circle(x->w, left), circle);
    uint32_t v = strategy_on(x, circle, n);
    tell(x, circle, n);
    free(circle);
    return v == WEAVE_NONE ? -ERR_CONFLICT : weave_strategy_drop(x, v);
}
