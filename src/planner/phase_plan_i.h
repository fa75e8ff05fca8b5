/* phase_plan_i.h - a plan of phases in the making
 *
 *   phase_plan.c    from end to end: tasks, edges, weights
 *   phase_spot.c    noderoles: what is new, what changes, where their tasks are
 *   phase_step.c    definitions, pools
 *   phase_group.c   roll-outs
 *   phase_frame.c   what comes before and after everything else
 *
 * A spot is a noderole of the cluster: for each node its machine, then its services.  Its tasks are
 * the steps of its phases, one phase behind the other; phases that are only kept have tasks in that
 * chain, but none in the graph.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PHASE_PLAN_I_H
#define PLANNER_PHASE_PLAN_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "planner/phase_plan.h"

struct phase_kindred { /* what is the same for all tasks of a phase of a service and a variant */
    uint32_t n;        /* steps; at least one: of none a passive task stands for them */
    bool passive;
    const uint32_t *defs;        /* refs */
    const struct phase_step *at; /* NULL: passive */
    const uint32_t *sinks;       /* steps that no other waits for */
    uint32_t n_sinks;
    const uint32_t *const *pools; /* by step: refs */
};
struct phase_laying {
    const struct phase_plan_request *req;
    const struct phase_graph *g;
    struct plan *plan;
    struct err *e;
    struct arena mem;                   /* scratch */
    const struct phase_kindred **plain; /* by service + 1 (0: machines) and phase: of variant 0 */
    struct u64map kindred;              /* the same with a variant -> of others */
    struct u64map def_known;            /* digest -> ref */
    struct strmap pool_known;           /* name -> ref */
    VEC(struct plan_def) defs;
    VEC(struct plan_pool) new_pools;
    VEC(struct phase_plan_pool) sizes;
    VEC(struct plan_span) spans;
    uint32_t *graph_pools; /* by pool of the graph: ref */
    uint32_t *groups;      /* by service: index into plan.groups + 1; 0: it is in no roll-out */
};

/* phase_step.c: NULL and l->e if there is none to be had. */
const struct phase_kindred *phase_kindred_get(struct phase_laying *l, uint32_t service,
                                              enum phase_kind phase, uint32_t variant);
/* The same of steps that are of no phase; NULL: there are none. */
const struct phase_kindred *phase_kindred_of(struct phase_laying *l, const struct phase_steps *of);
/* The definition of something passive; a ref. */
uint32_t phase_def_passive(struct phase_laying *l, struct str name, const char *what);
/* A pool by name, made if there is none; one that lives gets this size.  A ref. */
uint32_t phase_pool_ref(struct phase_laying *l, struct str name, uint32_t size, bool resize);
uint32_t phase_span_add(struct phase_laying *l, const uint32_t *pools, uint32_t n);

/* --- spots --- */

enum { PHASE_CARRIER_TASKS = 50000 }; /* of one noderole without a node */
struct phase_spot {
    const struct phase_place *place;
    uint32_t node, service; /* PHASE_NIL: a machine */
    uint32_t ref;           /* id, or PLAN_NEW | index */
    uint32_t vertex;        /* of its first phase in the graph; the others follow it */
    uint32_t first, n;      /* tasks */
    uint32_t lead;          /* of these: the first, which clear what was left, before its chain */
    uint16_t phases;        /* in the graph */
    uint16_t chain;         /* with those that are kept */
    bool planned;           /* it is in the plan */
    bool undoes, stops;     /* its chain begins with delete; ends with stop */
};
struct phase_carrier {
    uint32_t ref, first, n;
};
struct phase_frame { /* in the carrier behind those of joins: before, a join, after */
    const struct phase_kindred *before, *after; /* NULL: none */
    uint32_t carrier;                           /* which */
    uint32_t n;                                 /* tasks; 0: there is no frame */
    uint32_t behind;                            /* the longest way through what comes after */
};
struct phase_spots {
    struct phase_laying *l;
    struct phase_frame frame;
    struct phase_spot *at;
    uint32_t n;
    struct phase_carrier *carriers;
    uint32_t n_carriers;
    const struct phase_kindred **kin; /* by task of the graph */
    uint32_t *task_of, *n_tasks;      /* by vertex */
};
/* phase_spot.c: which noderoles there are and how many tasks each has; then the plan's noderoles
 * and changes, and where everybody's tasks are. */
int phase_spots_count(struct phase_spots *s, uint32_t *ret_n_new);
void phase_spots_fill(struct phase_spots *s, uint32_t n_new);
/* phase_group.c: when it is known which spots there are; the group of one, index + 1. */
void phase_groups_fill(struct phase_spots *s);
uint32_t phase_spot_group(const struct phase_spots *s, const struct phase_spot *sp);
/* phase_frame.c: what it will be, once it is known whether the plan has other tasks; then its
 * tasks, and who waits for them, when all others are filled and weighed. */
int phase_frame_count(struct phase_spots *s);
void phase_frame_fill(struct phase_spots *s);
/* The vertex of a phase that a spot has in the graph. */
uint32_t phase_spot_vertex(const struct phase_spots *s, const struct phase_spot *sp, uint32_t kind);
/* A noderole that needs others has a task: else those who need it would not wait for them. */
bool phase_spot_wants(const struct phase_spots *s, const struct phase_spot *sp);
/* Takes the next phase of its chain out of what is left of it. */
static inline enum phase_kind phase_spot_next(const struct phase_spot *sp, uint32_t *left)
{
    uint32_t bits = *left;
    if (sp->undoes && bits & PHASE_F_DELETE)
        bits = PHASE_F_DELETE;
    else if (sp->stops && bits & ~PHASE_F_STOP)
        bits &= ~PHASE_F_STOP;
    enum phase_kind kind = (enum phase_kind)__builtin_ctz(bits);
    *left &= ~(1u << kind);
    return kind;
}
static inline const struct phase_kindred *
phase_spot_kindred(const struct phase_spots *s, const struct phase_spot *sp, enum phase_kind kind)
{
    return phase_kindred_get(s->l, sp->service, kind, sp->place->variant);
}

#endif
