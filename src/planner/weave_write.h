/* weave_write.h - a weave as text: for programs, for Graphviz, for people
 *
 * The same weave gives the same bytes.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_WEAVE_WRITE_H
#define PLANNER_WEAVE_WRITE_H

#include "base/str.h"
#include "planner/weave.h"

/* {"graph", "tasks": [{"id", "node", "role", "roles", "task", "type", "stage", "requires",
 * "reason"}], "limits", "warnings", "levels"}; in an order in which each comes after all that it
 * requires. */
void weave_write_json(struct buf *b, const struct weave *w, const struct weave_request *req);
/* What one node has to do, in the shape of the specification: {"tasks": [{"id", "priority", "type",
 * "uids", "parameters"}], "settings"}, by priority. */
struct weave_node_file {
    const struct weave_request *req;
    uint32_t node;
    const uint32_t *priorities;   /* weave_priorities(), for who writes many; NULL: they are made */
    const struct value *settings; /* NULL: none are written */
    /* Parameters as they are on that node; NULL: as they were written. */
    int (*parameters)(void *ctx, uint32_t task, uint32_t node, const struct value **ret,
                      struct err *e);
    void *ctx;
};
int weave_write_node(struct buf *b, const struct weave *w, const struct weave_node_file *f,
                     struct err *e);
/* Graphviz: instances and joins; the graph as it is written. */
void weave_write_dot(struct buf *b, const struct weave *w, const struct weave_request *req);
/* in: by vertex of graph_plain_build(), what is shown; NULL: all. */
void weave_write_plain_dot(struct buf *b, const struct graph_plain *p,
                           const struct catalog_graph *g, const bool *in);
/* Level by level, what runs there: "  3  netconfig  16 nodes"; stages as headings. */
void weave_write_stages(struct buf *b, const struct weave *w, const struct weave_request *req);

#endif
