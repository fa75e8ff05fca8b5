/* weave_plan.h - a weave becomes a plan: what a deployment's noderoles do from now on
 *
 * Pure.  Every noderole of the deployment that a graph may give tasks gets other ones: those that
 * its group owns on its node, the rest of its node's as the caller places it.  Stages and joins go
 * to noderoles without a node.  What is left out, by a condition or by what was asked for, stays in
 * its place in the order and is passive.  docs/rfc/07-task-graphs.md, section 6.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_WEAVE_PLAN_H
#define PLANNER_WEAVE_PLAN_H

#include "planner/planner.h"
#include "planner/weave.h"

/* A type of task that brings a node its own part of the graph, as one file: `parameters` gives its
 * content as `data`, for the jig that uploads files. */
#define WEAVE_NODE_FILE "node_file"

struct weave_member { /* a noderole that lives and gets its tasks from the graph */
    uint32_t noderole;
    uint32_t group; /* vertex of the graph that it is bound to; WEAVE_NONE: none of this graph's */
    uint32_t node;  /* index; n_nodes: the master */
    uint8_t flags;  /* plan_noderole.flags that it has */
};
struct weave_pool { /* a pool that lives and is to have another size */
    uint32_t pool, size;
};
struct weave_plan_request {
    const struct weave *weave;
    const struct weave_request *of;
    const struct catalog *cat;         /* its jigs execute types of the same name */
    const struct catalog_jig *any_jig; /* executes the types that it has none for; NULL: nothing */
    const struct planner_world *world;
    uint32_t deployment;
    const struct weave_member *members; /* by id; of each node at least one that runs something */
    uint32_t n_members;
    const uint32_t *carriers; /* noderoles without a node that the deployment has, by id */
    uint32_t n_carriers;
    /* The parameters of a task on a node, where expressions are in them; until it is asked again.
     */
    int (*parameters)(void *ctx, uint32_t task, uint32_t node, const struct value **ret,
                      struct err *e);
    void *ctx;
    bool no_op; /* jigs are to change nothing */
};
struct weave_plan {
    struct plan *plan;
    const struct weave_pool *pools; /* in the plan's arena, as what follows */
    uint32_t n_pools;
    const uint32_t *task_of; /* by vertex of the weave: index into plan->tasks */
};
/* ERR_REFUSED with everything that no jig executes, by type; ERR_LIMIT for a noderole with too many
 * tasks; what `parameters` says. */
int weave_plan_make(const struct weave_plan_request *req, struct weave_plan *ret, struct err *e);

#endif
