/* graph.c - adjacency lists that grow while the graph is in use
 *
 * Owns the layout of graph.h.  Bulk extension counts, lays out and fills: O(vertices + edges) with
 * no search.  An edge into the out-list of an older vertex is appended one by one, amortised O(1).
 * Invariant: list v of a side occupies pool[offset .. offset + n); its block ends at or after that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void graph_init(struct graph *g)
{
    memset(g, 0, sizeof *g);
}

static void side_done(struct graph_side *s)
{
    free(s->lists);
    free(s->room);
    free(s->pool);
    for (int i = 0; i < 32; i++)
        free(s->spare[i]);
}

void graph_done(struct graph *g)
{
    side_done(&g->in);
    side_done(&g->out);
    memset(g, 0, sizeof *g);
}

static uint32_t pool_take(struct graph_side *s, size_t n)
{
    if (s->used + n > s->cap)
        s->pool = vec_grow_(s->pool, &s->cap, s->used + n, sizeof *s->pool);
    uint32_t at = (uint32_t)s->used;
    s->used += n;
    assert(s->used <= UINT32_MAX);
    return at;
}

/* The block that held a list goes to the stack of the largest power of two that fits in it. */
static void block_give(struct graph_side *s, uint32_t offset, uint32_t size)
{
    if (size == 0)
        return;
    int k = 31 - __builtin_clz(size);
    if (s->spare_n[k] == s->spare_cap[k]) {
        s->spare_cap[k] = s->spare_cap[k] ? s->spare_cap[k] * 2 : 16;
        s->spare[k] = xrealloc(s->spare[k], s->spare_cap[k], sizeof(uint32_t));
    }
    s->spare[k][s->spare_n[k]++] = offset;
}

static uint32_t block_take(struct graph_side *s, int k)
{
    if (s->spare_n[k] > 0)
        return s->spare[k][--s->spare_n[k]];
    return pool_take(s, (size_t)1 << k);
}

static void list_push(struct graph_side *s, uint32_t v, uint32_t item)
{
    struct graph_list *l = &s->lists[v];
    uint32_t size = s->room[v] ? 1u << (s->room[v] - 1) : l->n;
    if (l->n == size) {
        int k = 32 - __builtin_clz(l->n | 1); /* the next power of two above n */
        uint32_t to = block_take(s, k);
        memcpy(s->pool + to, s->pool + l->offset, l->n * sizeof(uint32_t));
        block_give(s, l->offset, size);
        l->offset = to;
        s->room[v] = (uint8_t)(k + 1);
    }
    s->pool[l->offset + l->n++] = item;
}

static void vertices_grow(struct graph *g, uint32_t n)
{
    if (g->n + n > g->cap) {
        size_t cap = g->cap; /* one capacity for the four arrays */
        g->in.lists = vec_grow_(g->in.lists, &cap, g->n + (size_t)n, sizeof *g->in.lists);
        g->out.lists = xrealloc(g->out.lists, cap, sizeof *g->out.lists);
        g->in.room = xrealloc(g->in.room, cap, 1);
        g->out.room = xrealloc(g->out.room, cap, 1);
        g->cap = (uint32_t)cap;
    }
    memset(g->in.lists + g->n, 0, n * sizeof *g->in.lists);
    memset(g->out.lists + g->n, 0, n * sizeof *g->out.lists);
    memset(g->in.room + g->n, 0, n);
    memset(g->out.room + g->n, 0, n);
}

void graph_extend(struct graph *g, uint32_t n, const uint32_t *first, const uint32_t *deps)
{
    if (n == 0)
        return;
    uint32_t base = g->n, edges = first[n] - first[0];
    vertices_grow(g, n);
    g->n += n;
    if (edges == 0)
        return;
    uint32_t in_at = pool_take(&g->in, edges);
    memcpy(g->in.pool + in_at, deps + first[0], edges * sizeof(uint32_t));
    uint32_t inside = 0;
    for (uint32_t i = 0; i < n; i++) {
        g->in.lists[base + i].offset = in_at + (first[i] - first[0]);
        g->in.lists[base + i].n = first[i + 1] - first[i];
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (deps[k] >= base) {
                g->out.lists[deps[k]].n++; /* counted now, laid out and filled below */
                inside++;
            }
    }
    uint32_t out_at = pool_take(&g->out, inside);
    for (uint32_t i = 0; i < n; i++) {
        g->out.lists[base + i].offset = out_at;
        out_at += g->out.lists[base + i].n;
        g->out.lists[base + i].n = 0;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (deps[k] >= base) {
                struct graph_list *l = &g->out.lists[deps[k]];
                g->out.pool[l->offset + l->n++] = base + i;
            } else {
                list_push(&g->out, deps[k], base + i);
            }
}

void graph_link(struct graph *g, uint32_t from, uint32_t to)
{
    assert(from < g->n && to < g->n);
    list_push(&g->out, from, to);
    list_push(&g->in, to, from);
    uint32_t *out = g->out.pool + g->out.lists[from].offset, i = g->out.lists[from].n - 1;
    for (; i > 0 && out[i - 1] > to; i--) { /* lists out are in the order of vertices */
        out[i] = out[i - 1];
        out[i - 1] = to;
    }
}

/* The place it leaves stays the list's: what shrinks tends to grow again. */
static void list_drop(struct graph_side *s, uint32_t v, uint32_t item)
{
    struct graph_list *l = &s->lists[v];
    uint32_t *at = s->pool + l->offset, i = 0;
    while (i < l->n && at[i] != item)
        i++;
    assert(i < l->n);
    memmove(at + i, at + i + 1, (l->n - i - 1) * sizeof *at);
    l->n--;
}

void graph_unlink(struct graph *g, uint32_t from, uint32_t to)
{
    assert(from < g->n && to < g->n);
    list_drop(&g->out, from, to);
    list_drop(&g->in, to, from);
}

static size_t side_bytes(const struct graph_side *s, uint32_t cap)
{
    size_t bytes = cap * (sizeof *s->lists + 1) + s->cap * sizeof *s->pool;
    for (int i = 0; i < 32; i++)
        bytes += s->spare_cap[i] * sizeof(uint32_t);
    return bytes;
}

size_t graph_bytes(const struct graph *g)
{
    return side_bytes(&g->in, g->cap) + side_bytes(&g->out, g->cap);
}
