/* bind_i.h - one binding in the making
 *
 *   bind.c           the request: what it names, and the steps below in order
 *   bind_place.c     who is where: names held on nodes, what may stand beside what, creation
 *   bind_find.c      the noderole that answers a want; uses and peers
 *   bind_back.c      what is wanted again while it is on its way out
 *   bind_cohort.c    circles, cohorts, the order of the plan; new needs of live noderoles
 *   bind_enough.c    of the members of a cluster, how many are enough
 *   expand.c         noderoles to tasks, order edges, spans and pools
 *   bind_steps.c     the same as told to people
 *
 * New noderoles are numbered as they come up and renumbered once, by bind_cohort.c.  A ref is an
 * id, or PLAN_NEW | number.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_BIND_I_H
#define PLANNER_BIND_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "planner/planner.h"

#define BIND_NONE UINT32_MAX

struct bind_link { /* a want that was answered */
    uint32_t child, ref;
    uint32_t name;       /* wanted; index into catalog.names */
    uint32_t deployment; /* of what was found */
    uint8_t found;       /* enum bind_found */
    bool used;
};
struct bind_quorums { /* members are refs as here, in no order; in scratch */
    const struct plan_quorum *at;
    uint32_t n;
};
struct bind_new { /* a noderole to be */
    uint32_t role, node;
    uint32_t because, wanted; /* who required it first and under which name; BIND_NONE: requested */
    const struct value *user;
    uint64_t data;
    uint32_t cohort;
    uint32_t next;                /* new one of the same role, BIND_NONE */
    uint32_t first_link, n_links; /* in bind.parents, once those are settled */
    uint32_t place;               /* in the plan, once that is ordered */
    struct bind_quorums quorums;
};
struct bind_present { /* requested, and there already */
    uint32_t id, item;
    bool other_data;
};
struct bind_change { /* of a noderole that lives */
    uint32_t noderole,
        role; /* of the catalog; CATALOG_NONE: its definition stays, or is forgotten */
    const struct value *user;
    uint64_t data, lens;            /* the inputs that it will have; what it sees by now */
    const uint32_t *gains, *losses; /* refs; ids */
    uint32_t n_gains, n_losses;
    bool has_data, removed;
    bool back;        /* it was on its way out */
    bool has_quorums; /* other ones than it has: */
    struct bind_quorums quorums;
};
struct bind_jig {
    uint32_t id; /* 0: not asked for yet */
    bool active;
};
struct bind_role {                /* what is remembered of each role of the catalog */
    uint32_t first_new, last_new; /* BIND_NONE */
    uint64_t data;                /* digest of its defaults */
    bool has_data;
    bool returns; /* one of it comes back */
};
struct bind {
    const struct catalog *cat;
    const struct planner_world *world;
    const struct bind_request *req;
    struct arena scratch;
    struct err *err; /* never NULL */
    uint32_t max_noderoles, max_needs, max_tasks;
    uint32_t machine; /* name of CATALOG_MACHINE */
    VEC(struct bind_new) fresh;
    VEC(struct bind_link) links;   /* as found, by child within required and used */
    VEC(struct bind_link) parents; /* settled: each parent once, peers included */
    VEC(struct bind_present) present;
    VEC(struct plan_need) needs;
    VEC(struct bind_change) changes;
    struct bind_role *roles; /* by role of the catalog */
    struct bind_jig *jigs;
    uint32_t *deployments, n_deployments; /* the target, its parent ... the root */
    uint32_t *order;                      /* new noderoles as in the plan */
    struct u64map instances;              /* deployment, role -> struct planner_ids, in scratch */
    struct u64map nodes;                  /* node -> 1: what lives there is in held and refused */
    struct u64map held;                   /* node, name -> ref of who is or provides it */
    struct u64map refused;                /* node, name -> ref of who conflicts with it */
    struct u64map gained, lost;           /* child, ref: a need that the request itself names */
    struct u64map leaving;                /* live noderoles that go with this very request */
    struct u64map back;                   /* those that come back -> index into changes */
};

static inline const struct catalog_role *bind_role_of(const struct bind *b, uint32_t number)
{
    return &b->cat->roles[b->fresh.at[number].role];
}

/* --- bind.c --- */

void bind_init(struct bind *b);
void bind_done(struct bind *b);
int bind_deployments_open(struct bind *b);
/* The digest of a role's defaults under a user's data; refuses data that break its attributes. */
int bind_data(struct bind *b, uint32_t role, const struct value *user, uint64_t *ret);
/* Of a noderole that lives, as the world has them; else what bind_data() gave. */
uint64_t bind_inputs(const struct bind *b, uint32_t noderole, const struct value *user,
                     uint64_t data);

/* --- bind_place.c --- */

/* Reads what lives on a node, once; refuses a node that does not exist or is going. */
int bind_node_open(struct bind *b, uint32_t node);
/* Who is or provides a name on an open node; false if nobody. */
bool bind_node_holder(const struct bind *b, uint32_t node, uint32_t name, uint32_t *ret_ref);
/* A new noderole on an open node that does not have it; its number. */
int bind_create(struct bind *b, uint32_t role, uint32_t node, uint32_t because, uint32_t wanted,
                uint32_t *ret_number);
/* One that was on its way out is to stay: what came to its node since may be in the way. */
int bind_return(struct bind *b, uint32_t role, uint32_t node, uint32_t noderole);
/* Are the jigs of its converge action active; of its stop and remove actions? */
int bind_jigs_active(struct bind *b, uint32_t role, uint32_t node);
int bind_jigs_down(struct bind *b, uint32_t role, uint32_t node);
/* "role@node" of a ref, into scratch. */
const char *bind_ref_text(struct bind *b, uint32_t ref);
const char *bind_node_text(struct bind *b, uint32_t node);
/* Role of the catalog, CATALOG_NONE if this generation does not have it. */
uint32_t bind_ref_role(const struct bind *b, uint32_t ref);
/* "web@n1 requires app: app@n1 requires sql: " for what `because` wanted; "" if BIND_NONE. */
const char *bind_chain_text(struct bind *b, uint32_t because, uint32_t wanted);

/* --- bind_find.c --- */

/* Live instances of a role of the catalog, asked for once and kept. */
struct planner_ids bind_instances(struct bind *b, uint32_t role, uint32_t deployment);
int bind_find_required(struct bind *b);
void bind_find_used(struct bind *b);
int bind_settle_parents(struct bind *b);

/* --- bind_back.c --- */

/* Before it is pushed to the changes. */
void bind_back_add(struct bind *b, const struct bind_change *c);
/* Live instances of a role in the target deployment with those that come back; in scratch. */
struct planner_ids bind_back_among(struct bind *b, uint32_t role, struct planner_ids live);
/* What one that comes back will need, as refs in scratch; of anybody else nothing. */
struct planner_ids bind_back_parents(struct bind *b, uint32_t ref);
/* Gains of those that come back: all of each cluster that they need. */
void bind_back_settle(struct bind *b);

/* --- bind_cohort.c --- */

int bind_cohorts(struct bind *b);
int bind_needs(struct bind *b);

/* --- bind_enough.c --- */

/* Quorums of all that is new or changes; refuses where fewer are there than are to be enough. */
int bind_enough(struct bind *b);
/* For the plan: placed, and by ref. */
const struct plan_quorum *bind_quorums_placed(const struct bind *b, const struct bind_quorums *from,
                                              struct arena *mem);

/* --- the plan --- */

int bind_expand(struct bind *b, struct plan *p);
/* With the place in the plan instead of the number. */
uint32_t bind_ref_placed(const struct bind *b, uint32_t ref);
struct planner_steps *bind_steps_make(struct bind *b);

#endif
