/* sim_graph.h - a task graph run in virtual time: what becomes of it if this or that fails?
 *
 * The weave becomes the plan that a deploy would apply, and a fresh engine runs it: nodes that are
 * all there, workers that answer in an order drawn from a seed, and whatever is named as failing
 * fails each time that it is tried.  No server, no store, no clock: the same request gives the same
 * run.  The engine checks its invariants on the way; one that is broken ends the run as an error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_GRAPH_H
#define SIM_SIM_GRAPH_H

#include "model/states.h"
#include "planner/weave.h"

enum { SIM_GRAPH_WORKERS = 8 };
struct sim_graph_request {
    const struct weave *weave;
    const struct weave_request *of;
    const struct catalog *cat;
    const struct str *fails; /* words as of a pick: what they mean fails whenever it is tried */
    uint32_t n_fails;
    uint32_t workers; /* attempts at once; 0: SIM_GRAPH_WORKERS */
    uint64_t seed;
};

struct sim_graph_task {  /* by vertex of the weave, joins too */
    uint8_t state;       /* enum task_state */
    uint8_t reason;      /* enum reason */
    uint32_t noderole;   /* that it belongs to, index into those below */
    uint32_t attempts;   /* how often it was tried */
    uint32_t began, end; /* moments of its first start and its last end, from 1; 0: none */
};
struct sim_graph_noderole {
    struct str role;
    uint32_t node; /* index; n_nodes: the master; WEAVE_NONE: none */
    uint8_t state, reason;
};
struct sim_graph { /* how it ended */
    struct arena mem;
    uint8_t state, reason; /* of the operation: enum operation_state, enum reason */
    const struct sim_graph_task *tasks;
    const struct sim_graph_noderole *noderoles;
    uint32_t n_noderoles;
    uint32_t n_attempts, n_moments;
    uint64_t virtual_ms;
};
/* ERR_NOT_FOUND for a word that means nothing that runs; ERR_CORRUPT if the engine broke a rule;
 * what weave_plan_make() says. */
int sim_graph_run(const struct sim_graph_request *req, struct sim_graph **ret, struct err *e);
void sim_graph_free(struct sim_graph *g);
static inline void sim_graph_scope_end(struct sim_graph **g)
{
    sim_graph_free(*g);
}

#endif
