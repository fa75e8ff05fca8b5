/* expand_i.h - the tasks of a plan in the making, shared by expand.c and expand_change.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_EXPAND_I_H
#define PLANNER_EXPAND_I_H

#include "planner/bind_i.h"

struct role_plan { /* what is the same for all noderoles of a role */
    const struct catalog_action *converge;
    uint32_t *defs;             /* refs, by position */
    uint32_t *place;            /* position of each step */
    uint32_t *sinks, n_sinks;   /* positions that no other step waits for */
    const uint32_t *span_pools; /* under a strategy: refs; else NULL */
    uint32_t n_span_pools;
};
struct expand_rollout { /* of a role with a strategy: a group that stops */
    uint32_t role;      /* of the catalog */
    uint32_t members;   /* of this plan */
};
struct expansion {
    struct bind *b;
    struct plan *plan;
    struct role_plan **roles; /* by role of the catalog, NULL until met */
    struct strmap pools;      /* name -> ref */
    VEC(struct plan_def) new_defs;
    struct u64map new_def; /* digest -> ref */
    VEC(struct plan_pool) new_pools;
    VEC(struct plan_span) spans;
    VEC(struct plan_size) sizes;
    VEC(uint32_t) refs; /* being collected */
    VEC(struct expand_rollout) rollouts;
};

/* expand.c */
/* One more member: the group of its roll-out, as plan_noderole.group; 0: its role has none. */
uint32_t expand_rollout(struct expansion *x, uint32_t role);
struct role_plan *expand_role(struct expansion *x, uint32_t role);
uint32_t expand_def(struct expansion *x, const struct catalog_role *role,
                    const struct catalog_step *step);
/* The definition that a step of a role is, executed by the jig with this id: its body in a, its
 * names the catalog's. */
void expand_step_def(const struct catalog *cat, const struct catalog_role *role,
                     const struct catalog_step *step, uint32_t jig, struct arena *a,
                     struct plan_def *ret);
/* What a definition's body says of tests, as the worker reads it; NULL: there are none. */
/* Says whether it may be sent ahead: not with tests, and not where doing it again does harm. */
void expand_chains(struct plan_def *d, const struct value *tests);
const struct value *expand_tests(struct arena *a, const struct graph_test *pre,
                                 const struct graph_test *post);
const uint32_t *expand_refs(struct expansion *x); /* those collected, copied to the plan */
struct str expand_user(struct expansion *x, const struct value *user); /* as JSON; "" for none */
/* Tasks [first, ...) of the plan are the converge action of the role, for the noderole `owner`. */
void expand_converge(struct expansion *x, const struct role_plan *rp, uint32_t owner,
                     uint32_t first);

/* Pools that a task of a role takes, collected. */
void expand_pools(struct expansion *x, const struct role_plan *rp, uint32_t position);

/* expand_change.c: what each change comes to, and how many tasks they bring; then those tasks. */
uint64_t expand_changes_count(struct expansion *x);
void expand_changes_fill(struct expansion *x, uint32_t first_task);
void expand_successors(struct expansion *x); /* when noderoles and changes are there */

#endif
