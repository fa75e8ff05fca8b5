/* phase_write.h - a graph of phases as text: for programs, for Graphviz, for people
 *
 * The same graph gives the same bytes.  A task is called "node:phase" or "node:phase:service", a
 * join "join:phase:service" (all of these tasks) or "join:before:phase:service" (all that they wait
 * for).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PHASE_WRITE_H
#define PLANNER_PHASE_WRITE_H

#include "base/str.h"
#include "planner/phase.h"

/* Appends the name of vertex v. */
void phase_write_name(struct buf *b, const struct phase_graph *g, uint32_t v);
/* {"tasks": [{"id", "node", "service", "phase", "pulled", "requires"}], "joins": [{"id",
 * "requires"}], "limits": [{"service", "size"}], "edges", "levels", "stages": [[id]]}; tasks and
 * joins as in the graph, edges without joins. */
void phase_write_json(struct buf *b, const struct phase_graph *g);
void phase_write_dot(struct buf *b, const struct phase_graph *g);
/* Stage by stage what is done: "  4.2  install datanode  16 nodes"; of one node its name. */
void phase_write_stages(struct buf *b, const struct phase_graph *g);

#endif
