/* weave_window.c - sliding windows that keep out what they wait for
 *
 * A node of a rolling group keeps its place in the window from its first task to its last.  If it
 * has begun and then waits for another node that is still outside, and so do all that are inside,
 * nothing gets on any more.  So a node of a window may wait for another one only as a whole: what
 * one of its tasks waits for, all of them do.  Then whoever is inside waits for nobody outside.
 * Else the strategy is refused, or becomes a limit of single tasks, which hold nothing while they
 * wait.  Limits of its tasks are held as long as its place is: who shares them is kept out too.
 *
 * Cost: one pass over the order; where nodes of windows do wait for each other one more for every
 * 64 of them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "planner/weave_i.h"

enum { BLOCK = 64 };

struct windows {
    uint32_t *place_of;         /* by vertex: its node's place in its window; WEAVE_NONE */
    uint32_t n;                 /* places */
    uint32_t *first;            /* by place: its first task in the order; WEAVE_NONE: not met yet */
    uint64_t *before, *expects; /* by vertex; by place: places of the block that are waited for */
};

struct limited {              /* of a task */
    uint32_t size, instances; /* its smallest limit; UINT32_MAX: it has none */
    bool held;                /* windows keep the limit while they are at work */
};

static struct limited *limits_find(const struct weaving *x)
{
    const struct weave *w = x->w;
    struct limited *tasks = xcalloc(x->g->n_vertices ? x->g->n_vertices : 1, sizeof *tasks);
    for (uint32_t i = 0; i < x->g->n_vertices; i++)
        tasks[i].size = UINT32_MAX;
    for (size_t i = 0; i < x->limits.n; i++) {
        const struct weave_limit *limit = &x->limits.at[i];
        if (!limit->nodes && limit->size < tasks[limit->vertex].size)
            tasks[limit->vertex].size = limit->size;
    }
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++)
        tasks[w->vertices[v].task].instances++;
    return tasks;
}

/* Of a rolling group: may a node of it, or who shares a limit with it, be kept out? */
static bool is_window(const struct weaving *x, const struct weave_limit *of,
                      const struct limited *tasks)
{
    const struct weave *w = x->w;
    uint32_t nodes = 0, last = WEAVE_NONE;
    bool shared = false;
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        const struct weave_vertex *at = &w->vertices[v];
        if (at->role != of->vertex)
            continue;
        nodes += at->node != last;
        last = at->node;
        shared |= tasks[at->task].instances > tasks[at->task].size;
    }
    return shared || nodes > of->size;
}

/* By vertex of the graph; false: there are none. */
static bool groups_find(const struct weaving *x, struct limited *tasks, bool *ret)
{
    const struct weave *w = x->w;
    bool any = false;
    for (size_t i = 0; i < x->limits.n; i++)
        if (x->limits.at[i].nodes && is_window(x, &x->limits.at[i], tasks))
            any = ret[x->limits.at[i].vertex] = true;
    for (uint32_t v = w->n_stages; any && v < w->n_stages + w->n_tasks; v++) {
        const struct weave_vertex *at = &w->vertices[v];
        if (at->role != WEAVE_NONE && ret[at->role] && tasks[at->task].size != UINT32_MAX)
            tasks[at->task].held = true;
    }
    return any;
}

/* Instances are by node, so the last place of a group is of this node or of none so far.  One of a
 * task whose limit is held by windows has a place for itself. */
static void places_find(const struct weaving *x, const bool *groups, const struct limited *tasks,
                        struct windows *ws)
{
    const struct weave *w = x->w;
    uint32_t *last = xcalloc(x->g->n_vertices, sizeof *last); /* vertex + 1 */
    for (uint32_t v = 0; v < w->n; v++) {
        const struct weave_vertex *at = &w->vertices[v];
        bool inside = at->kind == WEAVE_TASK && at->role != WEAVE_NONE && groups[at->role];
        ws->place_of[v] = WEAVE_NONE;
        if (inside) {
            uint32_t known = last[at->role];
            bool same = known && w->vertices[known - 1].node == at->node;
            ws->place_of[v] = same ? ws->place_of[known - 1] : ws->n++;
            last[at->role] = v + 1;
        } else if (at->kind == WEAVE_TASK && tasks[at->task].held) {
            ws->place_of[v] = ws->n++;
        }
    }
    free(last);
}

/* Does any place wait for another?  Of those before a vertex two are enough to tell. */
static bool places_meet(const struct weave *w, const struct windows *ws)
{
    struct two {
        uint32_t at[2];
    } *seen = xcalloc(w->n ? w->n : 1, sizeof *seen);
    bool meet = false;
    for (uint32_t i = 0; i < w->n && !meet; i++) {
        uint32_t v = w->order[i];
        struct two mine = {{WEAVE_NONE, WEAVE_NONE}};
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++) {
            const struct two *theirs = &seen[w->deps[k]];
            uint32_t all[] = {ws->place_of[w->deps[k]], theirs->at[0], theirs->at[1]};
            for (int p = 0; p < 3; p++)
                if (all[p] != WEAVE_NONE && all[p] != mine.at[0])
                    mine.at[mine.at[0] != WEAVE_NONE] = all[p];
        }
        for (int p = 0; p < 2 && ws->place_of[v] != WEAVE_NONE; p++)
            meet |= mine.at[p] != WEAVE_NONE && mine.at[p] != ws->place_of[v];
        seen[v] = mine;
    }
    free(seen);
    return meet;
}

static uint64_t bit_of(uint32_t place, uint32_t block)
{
    return place != WEAVE_NONE && place / BLOCK == block ? 1ull << place % BLOCK : 0;
}

/* The first task that does not wait for the same places as the first of its own; WEAVE_NONE: none.
 * *ret_place: one that makes the difference. */
static uint32_t odd_one(const struct weave *w, struct windows *ws, uint32_t block,
                        uint32_t *ret_place)
{
    memset(ws->first, 0xff, ws->n * sizeof *ws->first);
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t v = w->order[i], place = ws->place_of[v];
        uint64_t before = 0;
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++)
            before |= ws->before[w->deps[k]] | bit_of(ws->place_of[w->deps[k]], block);
        ws->before[v] = before;
        if (place == WEAVE_NONE)
            continue;
        before &= ~bit_of(place, block);
        if (ws->first[place] == WEAVE_NONE) {
            ws->first[place] = v;
            ws->expects[place] = before;
        } else if (before != ws->expects[place]) {
            *ret_place = block * BLOCK + (uint32_t)__builtin_ctzll(before ^ ws->expects[place]);
            return v;
        }
    }
    return WEAVE_NONE;
}

/* "roll on n1", or the one task that has the place for itself. */
static const char *place_name(struct weaving *x, const struct windows *ws, uint32_t place)
{
    const struct weave *w = x->w;
    uint32_t v = 0, last = w->n - 1;
    while (ws->place_of[v] != place)
        v++;
    while (ws->place_of[last] != place)
        last--;
    const struct weave_vertex *at = &w->vertices[v];
    if (v == last)
        return weave_vertex_name(w, x->req, v, &x->mem).s;
    return arena_printf(&x->mem, "%s on %s", x->g->vertices[at->role].id.s,
                        at->node == w->n_nodes ? WEAVE_MASTER : x->req->nodes[at->node].name.s);
}

static int refuse(struct weaving *x, const struct windows *ws, uint32_t v, uint32_t place,
                  uint32_t block)
{
    uint32_t first = ws->first[ws->place_of[v]];
    if (!(ws->before[v] & bit_of(place, block))) {
        uint32_t swap = v; /* it is the first one that waits */
        v = first;
        first = swap;
    }
    err_set(x->e, ERR_CONFLICT,
            "%s waits for %s, and %s, which does not, may have begun: inside a window it would "
            "wait for what is kept outside",
            weave_vertex_name(x->w, x->req, v, &x->mem).s, place_name(x, ws, place),
            weave_vertex_name(x->w, x->req, first, &x->mem).s);
    return weave_strategy_drop(x, x->w->vertices[v].role);
}

static int places_check(struct weaving *x, struct windows *ws)
{
    const struct weave *w = x->w;
    int rc = 0;
    ws->first = xcalloc(ws->n, sizeof *ws->first);
    ws->expects = xcalloc(ws->n, sizeof *ws->expects);
    ws->before = xcalloc(w->n, sizeof *ws->before);
    for (uint32_t block = 0; block * BLOCK < ws->n && rc == 0; block++) {
        uint32_t place, v = odd_one(w, ws, block, &place);
        if (v != WEAVE_NONE)
            rc = refuse(x, ws, v, place, block);
    }
    free(ws->first);
    free(ws->expects);
    free(ws->before);
    return rc;
}

static bool any_rolling(const struct weaving *x)
{
    for (size_t i = 0; i < x->limits.n; i++)
        if (x->limits.at[i].nodes)
            return true;
    return false;
}

int weave_windows(struct weaving *x)
{
    if (!any_rolling(x))
        return 0;
    bool *groups = xcalloc(x->g->n_vertices ? x->g->n_vertices : 1, sizeof *groups);
    struct limited *tasks = limits_find(x);
    struct windows ws = {0};
    int rc = 0;
    if (groups_find(x, tasks, groups)) {
        ws.place_of = xcalloc(x->w->n, sizeof *ws.place_of);
        places_find(x, groups, tasks, &ws);
        if (places_meet(x->w, &ws))
            rc = places_check(x, &ws);
        free(ws.place_of);
    }
    free(tasks);
    free(groups);
    return rc;
}
