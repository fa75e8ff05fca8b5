/* sim_phase.h - a graph of phases run in virtual time: how long does it take?
 *
 * The graph becomes the plan that an operation on a cluster would apply, and a fresh engine runs it
 * on nodes that do one task at a time, each taking as long as the caller says.  What lives before
 * is told by the work: a machine that is not created, a service that is not installed, or only in
 * its turn.  No server, no store, no clock: the same request gives the same run.  The engine checks
 * its invariants on the way; one that is broken ends the run as an error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_PHASE_H
#define SIM_SIM_PHASE_H

#include "planner/phase.h"

struct sim_phase_request {
    const struct phase_cluster *cluster;
    const struct phase_deps *deps;
    const struct phase_work *work;
    const struct phase_graph *graph;
    const uint32_t *took_ms; /* by task */
    const bool *fails;       /* by task: whenever it is tried; NULL: none */
    uint32_t workers;        /* attempts at once; 0: as many as there are nodes */
    bool barriers;           /* stage by stage: all of one before any of the next; no pools */
};
struct sim_phase_task {
    uint64_t began_ms, end_ms;
    uint8_t state, reason; /* in the end: enum task_state, enum reason */
};
struct sim_phase {
    struct arena mem;
    uint8_t state, reason;              /* of the operation: enum operation_state, enum reason */
    const struct sim_phase_task *tasks; /* by task of the graph */
    uint64_t took_ms;                   /* from its first moment to its last */
};
/* ERR_CORRUPT if the engine broke a rule; what phase_plan_make() says. */
int sim_phase_run(const struct sim_phase_request *req, struct sim_phase **ret, struct err *e);
void sim_phase_free(struct sim_phase *p);
static inline void sim_phase_scope_end(struct sim_phase **p)
{
    sim_phase_free(*p);
}

#endif
