/* weave.c - a task graph laid over nodes, from end to end, and how it is read */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/weave.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "planner/weave_i.h"
#include "template/expr.h"

const char *weave_reason_name(enum weave_reason r)
{
    static const char *const names[WEAVE_REASON_COUNT] = {
#define X(id, text) text,
        WEAVE_REASONS(X)
#undef X
    };
    return (unsigned)r < WEAVE_REASON_COUNT ? names[r] : "?";
}

void weave_free(struct weave *w)
{
    if (!w)
        return;
    graph_patterns_free(w->patterns);
    arena_done(&w->mem);
    free(w);
}

static struct weave *weave_new(const struct weave_request *req)
{
    struct weave *w = xcalloc(1, sizeof *w);
    arena_init(&w->mem);
    w->patterns = graph_patterns_new();
    w->graph = req->graph;
    w->n_nodes = req->n_nodes;
    return w;
}

int weave_eval(struct weaving *x, const struct expr *of, uint32_t v, uint32_t node,
               const struct value **ret)
{
    static const struct expr_scope nothing;
    const struct graph_vertex *t = &x->g->vertices[v];
    const struct expr_scope *scope = x->req->scope ? x->req->scope(x->req->ctx, node) : NULL;
    int rc = expr_eval(of, scope ? scope : &nothing, &x->mem, ret, x->e);
    if (rc >= 0 || !x->req->no_data)
        return rc;
    *ret = NULL;
    if (!x->warned[v]) {
        const char *text = arena_printf(x->kept, "%s: %s, and no data were given: left out",
                                        t->id.s, x->e->text);
        vec_push(x->warnings, ((struct weave_warning){str_of(text), t->where}));
    }
    x->warned[v] = true;
    return 0;
}

static void weaving_done(struct weaving *x)
{
    for (size_t i = 0; i < x->classes.n; i++) {
        vec_done(&x->classes.at[i].nodes);
        vec_done(&x->classes.at[i].deps);
    }
    vec_done(&x->classes);
    vec_done(&x->names);
    vec_done(&x->ins);
    vec_done(&x->sets);
    vec_done(&x->joins);
    vec_done(&x->limits);
    strmap_done(&x->name_numbers);
    strmap_done(&x->patterns);
    strmap_done(&x->set_by_key);
    strmap_done(&x->join_names);
    arena_done(&x->mem);
}

static int weave_all(struct weaving *x)
{
    int rc = weave_classes(x);
    x->strands = arena_new(&x->mem, struct weave_strand, x->g->n_vertices);
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        x->strands[v].begin = x->strands[v].end = WEAVE_NONE;
    if (rc < 0)
        return rc;
    weave_owners(x);
    weave_group_edges(x);
    if ((rc = weave_strategies(x)) < 0)
        return rc;
    weave_edges(x);
    if ((rc = weave_fill(x)) < 0 || x->req->unsorted || (rc = weave_sort(x)) != 0 ||
        (rc = weave_windows(x)) != 0)
        return rc;
    return weave_leave_out(x);
}

static void keep_lists(struct weaving *x)
{
    struct weave *w = x->w;
    w->n_limits = (uint32_t)x->limits.n;
    w->limits = arena_new(&w->mem, struct weave_limit, w->n_limits);
    if (w->n_limits)
        memcpy(w->limits, x->limits.at, w->n_limits * sizeof *w->limits);
    bool *rolls = arena_new(&w->mem, bool, x->g->n_vertices);
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        rolls[v] = x->g->vertices[v].kind == VERTEX_GROUP && x->strands[v].amount > 0 &&
                   !x->no_chunks[v];
    w->rolls = rolls;
    w->n_warnings = (uint32_t)x->warnings->n;
    w->warnings = arena_new(&w->mem, struct weave_warning, w->n_warnings);
    for (uint32_t i = 0; i < w->n_warnings; i++) {
        struct weave_warning *to = &w->warnings[i];
        *to = x->warnings->at[i];
        to->text.s = arena_strndup(&w->mem, to->text.s, to->text.n);
    }
}

int weave_make(const struct weave_request *given, struct weave **ret, struct err *e)
{
    struct weave_request req = *given;
    struct err unread;
    req.max_vertices = req.max_vertices ? req.max_vertices : WEAVE_MAX_VERTICES;
    req.max_edges = req.max_edges ? req.max_edges : WEAVE_MAX_EDGES;
    if (req.n_nodes > WEAVE_MAX_NODES)
        return err_set(e, ERR_LIMIT, "more than %d nodes", WEAVE_MAX_NODES);
    SCOPED_ARENA(kept);
    weave_warnings_v warnings = {0};
    bool *no_chunks = arena_new(&kept, bool, req.graph->n_vertices);
    bool *warned = arena_new(&kept, bool, req.graph->n_vertices);
    int rc = 1;
    while (rc == 1) { /* each time another strategy is given up */
        struct weaving x = {.req = &req,
                            .g = req.graph,
                            .e = e ? e : &unread,
                            .w = weave_new(&req),
                            .no_chunks = no_chunks,
                            .warned = warned,
                            .warnings = &warnings,
                            .kept = &kept};
        arena_init(&x.mem);
        rc = weave_all(&x);
        if (rc == 0) {
            keep_lists(&x);
            *ret = x.w;
        } else {
            weave_free(x.w);
        }
        weaving_done(&x);
    }
    vec_done(&warnings);
    return rc;
}

/* --- reading --- */

struct str weave_vertex_name(const struct weave *w, const struct weave_request *req, uint32_t v,
                             struct arena *a)
{
    const struct weave_vertex *at = &w->vertices[v];
    if (at->kind == WEAVE_JOIN)
        return w->joins[v - w->n_stages - w->n_tasks].name;
    if (at->kind == WEAVE_STAGE)
        return w->graph->vertices[at->task].id;
    struct str node = at->node == w->n_nodes ? str_of(WEAVE_MASTER) : req->nodes[at->node].name;
    const char *text = arena_printf(a, "%s/%.*s", w->graph->vertices[at->task].id.s, (int)node.n,
                                    node.s);
    return str_of(text);
}

uint32_t weave_plain_deps(const struct weave *w, uint32_t v, uint32_t *ret, uint32_t max)
{
    uint8_t *seen = xcalloc(w->n, 1);
    VEC(uint32_t) walk = {0};
    uint32_t n = 0;
    vec_push(&walk, v);
    seen[v] = 1;
    while (walk.n > 0) {
        uint32_t at = walk.at[--walk.n];
        for (uint32_t k = w->first[at]; k < w->first[at + 1]; k++) {
            uint32_t d = w->deps[k];
            if (seen[d])
                continue;
            seen[d] = 1;
            if (w->vertices[d].kind == WEAVE_JOIN)
                vec_push(&walk, d);
            else if (n++ < max)
                ret[n - 1] = d;
        }
    }
    vec_done(&walk);
    free(seen);
    sort_u32(ret, n < max ? n : max);
    return n;
}

const struct weave_role *weave_serves(const struct weave *w, uint32_t v)
{
    const struct weave_vertex *at = &w->vertices[v];
    if (at->kind != WEAVE_TASK)
        return NULL;
    return w->serves[w->class_of[at->node]][v - w->base[at->node]];
}
