/* planner.h - from "these roles on these nodes" to a plan, or to the reason why not
 *
 * Planning is a pure function of a catalog, a request and a view of the world: it changes nothing,
 * so a refusal leaves nothing behind and a dry run is the same call without what follows.
 *
 * Binding looks for each name that a role requires (its own list, and the implementors of its jigs)
 *   1. on the target node: the role called so, or one that provides the name;
 *   2. unless the role called so is implicit: in the target deployment, then in its parent, up to
 *      the root: instances of the role, else of roles that provide the name; the lowest by (cohort,
 *      id), new ones of this request after those that live, in the order of the request;
 *   3. else it is created on the target node in the target deployment, and its own needs follow.
 * Whatever is bound to a node that has the role `machine` needs that as well.
 * What the request names is there before anything is looked for.  Who needs one instance of a
 * cluster role needs all of that deployment.  Names that a role only `uses` are looked for in the
 * same way when everything else stands, and are never created.
 *
 * The exact rules are docs/rfc/04-catalog.md, section Binding.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PLANNER_H
#define PLANNER_PLANNER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/value.h"
#include "catalog/catalog.h"
#include "model/plan.h"

enum {                                  /* unless a request says less or more */
       PLANNER_MAX_NODEROLES = 1000000, /* new ones in one plan */
       PLANNER_MAX_NEEDS = 8000000,     /* their parents, and new parents of live ones */
       PLANNER_MAX_TASKS = 8000000,
       PLANNER_MAX_DEPTH = 1000, /* deployments from the target to the root */
};

/* --- what the planner may ask; ids are never 0 --- */

struct planner_node {
    struct str name;
    bool gone; /* being removed: nothing is bound to it */
};
struct planner_noderole {
    struct str role;
    uint32_t node, deployment, cohort;
    uint64_t data; /* digest of its inputs */
    uint64_t lens; /* what it sees by */
    bool counts;   /* of some of its parents a number is enough: enough() */
};
struct planner_enough { /* of parents of a noderole */
    uint32_t min;
    bool percent;
    uint32_t first; /* the lowest of them: it stands for all */
};
struct planner_ids { /* borrowed until the same function is called again */
    const uint32_t *at;
    uint32_t n;
};
struct planner_task { /* a task of a noderole that lives */
    uint32_t def;
    struct planner_ids after; /* positions of tasks of the same noderole that it waits for */
    struct planner_ids pools; /* that its span takes */
};
/* Live means: wanted, and not on its way out.  All answers are of one moment. */
struct planner_world {
    void *ctx;
    bool (*node)(void *ctx, uint32_t node, struct planner_node *ret);
    /* parent 0: the root */
    bool (*deployment)(void *ctx, uint32_t deployment, struct str *ret_name, uint32_t *ret_parent);
    /* Of a live noderole; ids come from the lists below. */
    void (*noderole)(void *ctx, uint32_t noderole, struct planner_noderole *ret);
    /* The inputs that it would have with this user data; NULL: as planner_data() has them. */
    uint64_t (*inputs)(void *ctx, uint32_t noderole, const struct value *user);
    /* Live noderoles by (cohort, id): of a node; of a role in a deployment. */
    struct planner_ids (*on_node)(void *ctx, uint32_t node);
    struct planner_ids (*instances)(void *ctx, struct str role, uint32_t deployment);
    /* Live noderoles that need this one. */
    struct planner_ids (*children)(void *ctx, uint32_t noderole);
    /* By position; false behind the last. */
    bool (*task)(void *ctx, uint32_t noderole, uint32_t position, struct planner_task *ret);
    bool (*jig)(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active);
    /* 0 if there is none: a pool by name, with its size; a task definition by digest. */
    uint32_t (*pool)(void *ctx, struct str name, uint32_t *ret_size);
    uint32_t (*def)(void *ctx, uint64_t digest);
    /* The first of instances(), 0 if there is none, where that is cheaper to tell; else NULL. */
    uint32_t (*lowest)(void *ctx, struct str role, uint32_t deployment);
    /* Noderoles that it needs, whatever becomes of them, and how many of those beside one of them
     * are enough; false: that one is needed by itself.  For changes; NULL, both: none counts. */
    struct planner_ids (*parents)(void *ctx, uint32_t noderole);
    bool (*enough)(void *ctx, uint32_t noderole, uint32_t parent, struct planner_enough *ret);
};
/* Puts ids in the order of the lists of a world: by (cohort, id). */
typedef uint32_t (*planner_cohort_f)(const void *ctx, uint32_t noderole);
struct planner_ids planner_ids_rank(uint32_t *ids, size_t n, planner_cohort_f cohort,
                                    const void *ctx);

/* --- binding --- */

struct bind_item {
    struct str role;
    uint32_t node;
    const struct value *user; /* a map of attributes, or NULL */
};
struct bind_request {
    uint32_t deployment;
    const struct bind_item *items;
    uint32_t n_items;
    uint32_t max_noderoles, max_needs, max_tasks; /* 0: PLANNER_MAX_... */
};

/* Why a noderole is in a plan, and how what it needs was found: the dry run. */
#define BIND_WHYS(X)                                                                               \
    X(REQUESTED, "requested")                                                                      \
    X(REQUIRED, "required")                                                                        \
    X(PRESENT, "present") /* requested, and bound already: not in the plan */
enum bind_why {
#define X(id, text) BIND_##id,
    BIND_WHYS(X)
#undef X
        BIND_WHY_COUNT
};
#define BIND_FOUNDS(X)                                                                             \
    X(ON_NODE, "on the same node")                                                                 \
    X(PROVIDED, "provided on the same node")                                                       \
    X(IN_DEPLOYMENT, "in the deployment") /* its own or one above; see deployment */               \
    X(CREATED, "created")                                                                          \
    X(PEER, "peer") /* one of a cluster of which another was found */
enum bind_found {
#define X(id, text) FOUND_##id,
    BIND_FOUNDS(X)
#undef X
        FOUND_COUNT
};
const char *bind_why_name(enum bind_why w);
const char *bind_found_name(enum bind_found f);

struct planner_parent {
    struct str wanted;     /* the name that was looked for */
    struct str noderole;   /* what was found, as role@node */
    struct str deployment; /* that it is in */
    uint32_t ref;          /* id, or PLAN_NEW | index in the plan */
    uint8_t found;         /* enum bind_found */
    bool used;             /* only used, not required */
};
struct planner_step {
    struct str role, node;
    uint32_t ref, node_id;
    uint8_t why;       /* enum bind_why */
    struct str by;     /* BIND_REQUIRED: role@node of the first that required it */
    struct str wanted; /* and under which name */
    bool other_data;   /* BIND_PRESENT: it has other data than was asked for, and keeps it */
    const struct planner_parent *parents;
    uint32_t n_parents;
};
struct planner_steps { /* those present first, then as in the plan */
    struct arena mem;
    const struct planner_step *at;
    uint32_t n;
    struct str deployment;
};
void planner_steps_free(struct planner_steps *s);
static inline void planner_steps_scope_end(struct planner_steps **s)
{
    planner_steps_free(*s);
}
/* As a list of maps for the API. */
struct value *planner_steps_value(struct arena *a, const struct planner_steps *s);

/* The plan of a request; without new noderoles if all is bound already.  ret_steps may be NULL.
 * ERR_UNKNOWN_NAME, ERR_REFUSED and ERR_CYCLE name the chain from what was requested to what is in
 * the way, with a remedy in the hint; ERR_INVALID for data that breaks a role's attributes, with
 * the JSON pointer of the field in e->at; ERR_LIMIT. */
int planner_bind(const struct catalog *c, const struct planner_world *w,
                 const struct bind_request *req, struct plan **ret_plan,
                 struct planner_steps **ret_steps, struct err *e);

/* --- changing what is wanted --- */

struct revise_entry { /* a noderole that is to be */
    struct str role;
    uint32_t node;
    const struct value *user; /* a map of attributes, or NULL */
    const uint32_t *parents;  /* refs: id, or PLAN_NEW | index into added */
    uint32_t n_parents;
};
struct revise_change { /* a noderole that is */
    uint32_t noderole;
    const struct value *user; /* all of its own data from now on */
    bool other_user;          /* they differ from what it has, whatever the digest */
    bool removed;
    bool bare; /* removed without running anything: it never ran, or its machine is no more */
    bool back; /* it was on its way out and is wanted again */
    bool keep; /* its tasks and its lens stay those that it has, whatever the catalog says */
    const uint32_t *gains, *losses; /* refs; ids */
    uint32_t n_gains, n_losses;
};
struct revise_request {
    uint32_t deployment;
    const struct revise_entry *added;
    uint32_t n_added;
    const struct revise_change *changed; /* each noderole once */
    uint32_t n_changed;
};
/* One plan for a difference; refusals as planner_bind().  A change that comes to nothing is left
 * out.  Who comes back is as a new one to those who need its role, and gains what came meanwhile
 * to the clusters that it needs. */
int planner_revise(const struct catalog *c, const struct planner_world *w,
                   const struct revise_request *req, struct plan **ret_plan, struct err *e);

/* plan_noderole.flags of a role. */
uint8_t planner_role_flags(const struct catalog_role *role);
/* The pool of a role's strategy, as named in plans: "role:<deployment>/<role>". */
enum { PLANNER_POOL_NAME = 96 };
void planner_pool_name(uint32_t deployment, struct str role, char ret[PLANNER_POOL_NAME]);
/* What a noderole of this role is configured with: defaults under user data, and the digest of
 * that.  ERR_INVALID with the pointer of the field in e->at if it breaks the role's attributes. */
int planner_data(struct arena *a, const struct catalog_role *role, const struct value *user,
                 const struct value **ret_data, uint64_t *ret_digest, struct err *e);

#endif
