/* phase_plan.h - a graph of phases becomes a plan: what noderoles do from now on
 *
 * Pure.  A service on a node is a noderole, and so is the machine under it, which every service of
 * the node needs.  Those that are new are added; those that live and have something to do get other
 * tasks, or those of their removal.  Joins go to noderoles without a node.  A task of the graph
 * becomes the steps of that phase, in their order; what it waits for, its first steps wait for.
 * Around all of it there may be steps of no node, to tell others that it begins and has ended.
 * Whoever stops for good does that last, behind what is kept.
 * docs/rfc/08-clusters.md, sections 5 and 6.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PHASE_PLAN_H
#define PLANNER_PHASE_PLAN_H

#include "catalog/kinds.h"
#include "planner/phase.h"
#include "planner/planner.h"

struct phase_step {        /* a task of the engine */
    struct plan_def def;   /* whole, with its digest */
    const uint32_t *after; /* steps of the same phase that it waits for; they come before it */
    uint32_t n_after;
    const struct plan_pool *pools; /* that it takes while it runs */
    uint32_t n_pools;
};
struct phase_steps {
    const struct phase_step *at;
    uint32_t n;
};
/* The steps of an action of a role; live in mem.  ERR_REFUSED for a jig that nobody has. */
int phase_steps_make(const struct catalog *cat, const struct planner_world *w,
                     const struct catalog_role *role, const struct catalog_action *action,
                     struct arena *mem, struct phase_steps *ret, struct err *e);

/* --- roles and providers of the catalog (phase_role.c) --- */

/* What a role does in a phase; NULL: nothing. */
const struct catalog_action *phase_role_action(const struct catalog_role *role,
                                               enum phase_kind phase);
/* In mem, and borrowing from the catalog.  action: one of its own that is to count as PHASE_ACTION;
 * "": none. */
void phase_service_of_role(const struct catalog *cat, const struct catalog_role *role,
                           struct str action, struct arena *mem, struct phase_service *ret);
const struct catalog_action *phase_provider_action(const struct catalog_provider *p,
                                                   enum phase_kind phase);
uint16_t phase_provider_has(const struct catalog_provider *p); /* PHASE_F_... */

struct phase_place {   /* a service on a node, or a machine */
    uint32_t noderole; /* that lives; 0: it is new */
    bool absent;       /* there is none, and there will be none: nothing is to be done here */
    bool removed;      /* it is to go */
    uint32_t variant;  /* which of several: handed to `steps` */
    uint8_t target;    /* enum target that its tasks lead to */
    uint8_t reason;    /* enum reason of the run that begins, if it lives; 0: the catalog */
    uint16_t kept;     /* phases whose tasks it is to have besides; done before: rule keep */
    uint16_t once;     /* phases that belong to this occasion only: rule once */
    bool undoes;       /* in front of all it has the tasks of delete, with rule undo */
    bool clears;   /* and those of delete in front of these, once: a run that these tasks replace
                      may have left something, which nobody would undo any more */
    uint8_t flags; /* plan_noderole.flags */
    /* Of one that is new: */
    struct str role;
    uint32_t cohort;         /* above its machine's, and those of its parents */
    const uint32_t *parents; /* besides its machine: noderoles that live; PLAN_NEW | the how manieth
                                of the services of its node */
    uint32_t n_parents;
    /* Of one that is new, or lives and is to be configured with other data, or see by another lens:
     */
    bool other_data, other_lens;
    uint64_t data, lens;
    struct str user;
};
struct phase_plan_request {
    const struct phase_graph *graph;
    const struct phase_work *work;      /* that it was made of */
    const struct phase_place *services; /* by cell of the work */
    const struct phase_place *machines; /* by node */
    const uint32_t *nodes;              /* by node: id */
    const struct planner_world *world;  /* its definitions and pools */
    uint32_t deployment, catalog;       /* ids: its own, that of the generation */
    const uint32_t *carriers; /* noderoles without a node that the deployment has, by id */
    uint32_t n_carriers;
    /* What a phase of a service (PHASE_NIL: of a machine) is; asked once for each variant.  None:
     * it is passed as soon as its turn comes. */
    int (*steps)(void *ctx, uint32_t service, enum phase_kind phase, uint32_t variant,
                 struct phase_steps *ret, struct err *e);
    void *ctx;
    /* Tasks of no node, in no pool: all others wait for these; or these come when all others have
     * ended, whatever became of them.  NULL or none: none.  A plan that has no other task has none
     * of these either. */
    const struct phase_steps *before, *after;
};
struct phase_plan_pool { /* a pool that lives and is to have another size */
    uint32_t pool, size;
};
struct phase_plan {
    struct plan *plan;
    const struct phase_plan_pool *pools; /* in the plan's arena, as what follows */
    uint32_t n_pools;
    const uint32_t *task_of; /* by vertex: its first task, index into plan->tasks */
    const uint32_t *n_tasks; /* by vertex: how many follow each other */
};
/* ERR_INVALID for tasks where no noderole is, and for pools where no node is; ERR_LIMIT; what
 * `steps` says. */
int phase_plan_make(const struct phase_plan_request *req, struct phase_plan *ret, struct err *e);

#endif
