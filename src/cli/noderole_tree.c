/* noderole_tree.c - who needs whom, in an order that does not depend on chance
 *
 * Rows are sorted once by (cohort, id); everything after that is linear in noderoles and needs,
 * since lists that are filled by walking sorted vertices are sorted themselves.  Walks keep a stack
 * of their own: the shape of the graph is the user's.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/noderole_tree_i.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/map.h"

struct tree_row {
    int64_t cohort;
    uint64_t id;
    const struct value *v;
};

static int row_order(const void *pa, const void *pb)
{
    const struct tree_row *a = pa, *b = pb;
    if (a->cohort != b->cohort)
        return a->cohort < b->cohort ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Sorted rows, each id once. */
static int rows_take(struct arena *mem, const struct value *rows, struct noderole_graph *g,
                     struct err *e)
{
    uint32_t n = value_is(rows, VALUE_LIST) ? rows->n : 0;
    struct tree_row *sorted = arena_new(mem, struct tree_row, n);
    for (uint32_t i = 0; i < n; i++) {
        const struct value *v = &rows->items[i];
        int64_t id = value_as_int(value_get(v, "id"), 0);
        if (id <= 0)
            return err_set(e, ERR_UNREACHABLE,
                           "the server's list of noderoles has a row that is "
                           "none");
        sorted[i] = (struct tree_row){value_as_int(value_get(v, "cohort"), 0), (uint64_t)id, v};
    }
    qsort(sorted, n, sizeof *sorted, row_order);
    g->rows = arena_new(mem, const struct value *, n);
    g->ids = arena_new(mem, uint64_t, n);
    struct u64map seen = {0};
    for (uint32_t i = 0; i < n; i++)
        if (u64map_put(&seen, sorted[i].id, 1)) {
            g->rows[g->n] = sorted[i].v;
            g->ids[g->n++] = sorted[i].id;
        }
    u64map_done(&seen);
    return 0;
}

static void links_room(struct arena *mem, struct noderole_links *l, uint32_t n, size_t edges)
{
    l->first = arena_new(mem, uint32_t, n + 1);
    l->n = arena_new(mem, uint32_t, n);
    l->at = arena_new(mem, uint32_t, edges);
}

/* The same need told twice comes in a row, as lists are filled in order. */
static void link_put(struct noderole_links *l, uint32_t v, uint32_t to)
{
    uint32_t *at = l->at + l->first[v];
    if (!l->n[v] || at[l->n[v] - 1] != to)
        at[l->n[v]++] = to;
}

/* Turns lists around: who is in whose list. */
static void links_reverse(struct arena *mem, const struct noderole_links *from, uint32_t n,
                          size_t edges, struct noderole_links *ret)
{
    links_room(mem, ret, n, edges);
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = 0; k < from->n[v]; k++)
            ret->first[from->at[from->first[v] + k] + 1]++;
    for (uint32_t v = 0; v < n; v++)
        ret->first[v + 1] += ret->first[v];
    for (uint32_t v = 0; v < n; v++)
        for (uint32_t k = 0; k < from->n[v]; k++)
            link_put(ret, from->at[from->first[v] + k], v);
}

/* `told` is what the rows say, in their order; turned around twice it is in ours. */
static void links_settle(struct arena *mem, struct noderole_graph *g,
                         const struct noderole_links *told, size_t edges)
{
    links_reverse(mem, told, g->n, edges, &g->children);
    links_reverse(mem, &g->children, g->n, edges, &g->parents);
}

int noderole_graph_make(struct arena *mem, const struct value *rows, struct noderole_graph *ret_g,
                        struct err *e)
{
    struct noderole_graph g = {0};
    struct noderole_links told;
    struct u64map at = {0};
    size_t edges = 0;
    int rc = rows_take(mem, rows, &g, e);
    if (rc)
        return rc;
    for (uint32_t v = 0; v < g.n; v++) {
        const struct value *parents = value_get(g.rows[v], "parents");
        edges += value_is(parents, VALUE_LIST) ? parents->n : 0;
        (void)u64map_put(&at, g.ids[v], v);
    }
    links_room(mem, &told, g.n, edges);
    for (uint32_t v = 0; v < g.n; v++) {
        const struct value *parents = value_get(g.rows[v], "parents");
        uint32_t n = value_is(parents, VALUE_LIST) ? parents->n : 0;
        for (uint32_t k = 0; k < n; k++) {
            uintptr_t p;
            int64_t id = value_as_int(&parents->items[k], 0);
            if (id > 0 && u64map_get(&at, (uint64_t)id, &p) && p != v)
                told.at[told.first[v] + told.n[v]++] = (uint32_t)p;
        }
        told.first[v + 1] = told.first[v] + told.n[v];
    }
    u64map_done(&at);
    links_settle(mem, &g, &told, edges);
    *ret_g = g;
    return 0;
}

uint32_t noderole_graph_find(const struct noderole_graph *g, uint64_t id)
{
    for (uint32_t v = 0; v < g->n; v++)
        if (g->ids[v] == id)
            return v;
    return NODEROLE_NONE;
}

void noderole_graph_part(struct arena *mem, const struct noderole_graph *g, uint32_t start, bool up,
                         struct noderole_graph *ret_g)
{
    const struct noderole_links *l = up ? &g->parents : &g->children;
    struct noderole_graph part = {0};
    struct noderole_links kept;
    uint32_t *name = arena_new(mem, uint32_t,
                               g->n); /* in the part; 0: not in it, else number + 1 */
    uint32_t *stack = arena_new(mem, uint32_t, g->n), n = 0;
    size_t edges = 0;

    name[start] = 1;
    stack[n++] = start;
    while (n) {
        uint32_t v = stack[--n];
        part.n++;
        edges += g->parents.n[v];
        for (uint32_t k = 0; k < l->n[v]; k++) {
            uint32_t to = l->at[l->first[v] + k];
            if (!name[to])
                stack[n++] = to;
            name[to] = 1;
        }
    }
    part.rows = arena_new(mem, const struct value *, part.n);
    part.ids = arena_new(mem, uint64_t, part.n);
    for (uint32_t v = 0; v < g->n; v++)
        if (name[v]) {
            part.rows[n] = g->rows[v];
            part.ids[n++] = g->ids[v];
            name[v] = n;
        }
    links_room(mem, &kept, part.n, edges);
    for (uint32_t v = 0; v < g->n; v++) {
        if (!name[v])
            continue;
        uint32_t me = name[v] - 1;
        for (uint32_t k = 0; k < g->parents.n[v]; k++) {
            uint32_t p = name[g->parents.at[g->parents.first[v] + k]];
            if (p)
                kept.at[kept.first[me] + kept.n[me]++] = p - 1;
        }
        kept.first[me + 1] = kept.first[me] + kept.n[me];
    }
    links_settle(mem, &part, &kept, edges);
    *ret_g = part;
}

struct tree_walk {
    const struct noderole_links *down, *back;
    struct noderole_line *lines;
    uint32_t n;
    bool *seen;
    VEC(struct noderole_line) stack; /* the next line on top */
};

static void walk_from(struct tree_walk *w, uint32_t root)
{
    const struct noderole_line first = {.vertex = root, .above = NODEROLE_NONE, .last = true};
    vec_push(&w->stack, first);
    while (w->stack.n) {
        struct noderole_line l = w->stack.at[--w->stack.n];
        l.again = w->seen[l.vertex];
        w->seen[l.vertex] = true;
        w->lines[w->n++] = l;
        if (l.again)
            continue;
        uint32_t n = w->down->n[l.vertex];
        for (uint32_t k = n; k-- > 0;) {
            const struct noderole_line next = {.vertex = w->down->at[w->down->first[l.vertex] + k],
                                               .above = l.vertex,
                                               .depth = l.depth + 1,
                                               .last = k == n - 1};
            vec_push(&w->stack, next);
        }
    }
}

uint32_t noderole_graph_lines(struct arena *mem, const struct noderole_graph *g, bool up,
                              const struct noderole_line **ret_lines)
{
    struct tree_walk w = {.down = up ? &g->parents : &g->children,
                          .back = up ? &g->children : &g->parents};
    size_t edges = 0;
    for (uint32_t v = 0; v < g->n; v++)
        edges += w.down->n[v];
    w.lines = arena_new(mem, struct noderole_line, edges + g->n);
    w.seen = arena_new(mem, bool, g->n);
    for (uint32_t v = 0; v < g->n; v++)
        if (!w.back->n[v])
            walk_from(&w, v);
    for (uint32_t v = 0; v < g->n; v++) /* a circle hangs from nobody */
        if (!w.seen[v])
            walk_from(&w, v);
    vec_done(&w.stack);
    *ret_lines = w.lines;
    return w.n;
}
