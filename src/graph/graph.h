/* graph.h - a growing directed graph over dense ids, both directions
 *
 * Vertices are 0..n-1.  Each has a list of edges in and a list of edges out, in one array of
 * numbers per direction.  A bulk extension lays lists out exactly (8 bytes an edge, both
 * directions); a list that grows later moves to a block of a power of two, and what it leaves is
 * reused.  Nothing here knows what a vertex is.  A pointer from graph_in/out is valid until the
 * next extension.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct graph_list {
    uint32_t offset, n;
};
struct graph_side { /* one direction */
    struct graph_list *lists;
    uint8_t *room; /* 0: laid out exactly; k: block of 1 << (k - 1) */
    uint32_t *pool;
    size_t used, cap;
    uint32_t *spare[32]; /* per size: stack of offsets */
    uint32_t spare_n[32], spare_cap[32];
};
struct graph {
    uint32_t n, cap;
    struct graph_side in, out;
};

void graph_init(struct graph *g);
void graph_done(struct graph *g);
/* Adds n vertices; vertex i gets edges from deps[first[i] .. first[i + 1]), which may name older
 * vertices and vertices of this call. */
void graph_extend(struct graph *g, uint32_t n, const uint32_t *first, const uint32_t *deps);
/* One edge between vertices that exist.  Lists of edges in keep the order in which they came; lists
 * of edges out are in the order of vertices, so that a graph made anew from its lists in is the
 * same. */
void graph_link(struct graph *g, uint32_t from, uint32_t to);
/* Takes one edge away; the others keep their order.  It must be there. */
void graph_unlink(struct graph *g, uint32_t from, uint32_t to);
size_t graph_bytes(const struct graph *g);

static inline const uint32_t *graph_out(const struct graph *g, uint32_t v, uint32_t *ret_n)
{
    *ret_n = g->out.lists[v].n;
    return g->out.pool + g->out.lists[v].offset;
}
static inline const uint32_t *graph_in(const struct graph *g, uint32_t v, uint32_t *ret_n)
{
    *ret_n = g->in.lists[v].n;
    return g->in.pool + g->in.lists[v].offset;
}

/* Orders n vertices given as CSR of edges into each (numbers < n): ret_order gets them parents
 * first, ties by number.  Returns true; or false with a cycle in ret_cycle (its length in
 * *ret_cycle_n, at most n). */
bool graph_sort(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_order,
                uint32_t *ret_cycle, uint32_t *ret_cycle_n);

/* The same, linear, ties in the order of the arrays.  Returns how many are in ret_order: n, or less
 * where there is a cycle, and then those with ret_left[v] > 0 are on one or behind one.  ret_left:
 * of n numbers. */
uint32_t graph_levels(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_order,
                      uint32_t *ret_left);

/* Strongly connected components: ret_part[v] is the number of v's, below that of all others that
 * wait for it; how many there are is returned. */
uint32_t graph_parts(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *ret_part);

#endif
