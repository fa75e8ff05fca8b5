/* weave_plan_i.h - a plan in the making, shared by weave_plan.c, weave_def.c and weave_span.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_WEAVE_PLAN_I_H
#define PLANNER_WEAVE_PLAN_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "planner/weave_plan.h"

struct place {    /* a noderole and its tasks */
    uint32_t ref; /* id, or PLAN_NEW | index */
    uint32_t first, n, filled;
    uint32_t member; /* index; WEAVE_NONE: it has no node */
};
struct laying {
    const struct weave_plan_request *req;
    const struct weave *w;
    const struct catalog_graph *g;
    struct plan *plan;
    struct err *e;
    struct arena mem;     /* scratch */
    struct place *places; /* members, then those without a node */
    uint32_t n_places;
    uint32_t n_held;                  /* instances, the first ones: those that a member holds */
    uint32_t *place_of;               /* by vertex */
    uint32_t *task_of;                /* by vertex: index in the plan */
    uint32_t *own_join;               /* by vertex: a join of its own that forgives; WEAVE_NONE */
    uint32_t *forgiving, n_forgiving; /* the vertices that have one, in the order of their joins */
    uint32_t *closing; /* by member: the task that stands for what others do for it; WEAVE_NONE */
    uint32_t *groups;  /* by vertex of the graph: index into plan.groups + 1; 0: it has none */
    bool tolerant;     /* some group may lose members, now or once it was resumed */
    struct u64map def_known; /* digest -> ref */
    uint32_t *def_of[2]; /* by vertex of the graph: of all nodes alike; 0: not yet; aside, or not */
    VEC(struct plan_def) defs;
    VEC(struct plan_pool) new_pools;
    VEC(struct weave_pool) sizes;
    VEC(struct plan_span) spans;
    uint32_t *first_limit;             /* by vertex of the graph: index + 1; 0: none */
    uint32_t *next_limit, *limit_pool; /* by limit: another of the same task; ref */
    uint32_t *span_of;                 /* by member: index + 1 of its group's span */
};

/* weave_plan.c: does a member hold it that is in a roll-out about other tasks? */
bool weave_aside(const struct laying *l, uint32_t v);

/* weave_def.c: what vertex v of the weave is to the engine.  A ref; 0 and l->e: it cannot be. */
uint32_t weave_def_run(struct laying *l, uint32_t v);
uint32_t weave_def_passive(struct laying *l, struct str name, const char *what);
/* ERR_REFUSED if something is to run that nothing executes. */
int weave_types_check(struct laying *l);

/* weave_span.c: pools of limits; the span of a task that runs, index + 1, 0: none. */
void weave_pools(struct laying *l);
uint32_t weave_span(struct laying *l, uint32_t v);

#endif
