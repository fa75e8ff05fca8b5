/* noderole_tree_i.h - the graph of needs between noderoles, as the server lists them
 *
 * Pure: made from the rows of the list, asked for a part of it, for the lines of a tree, and for
 * its text in Graphviz's language.  A list is read page by page while the cluster goes on, so it
 * may name parents that are not in it, and in theory even a circle; neither is an error here, and
 * no noderole of the list is ever left out because of it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_NODEROLE_TREE_I_H
#define CLI_NODEROLE_TREE_I_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/value.h"

enum { NODEROLE_NONE = UINT32_MAX };

struct noderole_links { /* of vertex v: at[first[v]] .. at[first[v] + n[v]), ascending */
    uint32_t *first, *n, *at;
};
/* Vertices are 0 .. n-1 in the order (cohort, id), which is the order of everything shown. */
struct noderole_graph {
    uint32_t n;
    const struct value **rows; /* borrowed */
    uint64_t *ids;
    struct noderole_links children, parents;
};
/* rows: a list of noderoles, all of which must outlive the graph.  Parents that are not in the list
 * are left out.  ERR_UNREACHABLE if a row is no noderole. */
int noderole_graph_make(struct arena *mem, const struct value *rows, struct noderole_graph *ret_g,
                        struct err *e);
uint32_t noderole_graph_find(const struct noderole_graph *g, uint64_t id); /* or NODEROLE_NONE */
/* The graph of `start`, all it leads to, and the needs among those. */
void noderole_graph_part(struct arena *mem, const struct noderole_graph *g, uint32_t start, bool up,
                         struct noderole_graph *ret_g);

struct noderole_line { /* one line of the tree */
    uint32_t vertex;
    uint32_t above; /* the vertex it hangs from; NODEROLE_NONE at the left edge */
    uint32_t depth;
    bool last;  /* of those that hang from there */
    bool again; /* stands in an earlier line, where what hangs from it is */
};
/* The lines of all trees: children under parents, or with `up` parents under children.  Begins with
 * whoever hangs from nobody.  One line a need, and one for each beginning. */
uint32_t noderole_graph_lines(struct arena *mem, const struct noderole_graph *g, bool up,
                              const struct noderole_line **ret_lines);

/* --- noderole_dot.c --- */
/* A digraph: a box a noderole, coloured by its state, one rank a cohort. */
void noderole_graph_dot(const struct noderole_graph *g, struct buf *b);

#endif
