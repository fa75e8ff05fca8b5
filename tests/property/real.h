/* real.h - the pure layers of desired state put together, without the faces of a server
 *
 * desire (maps, snapshots), planner (binding, differences), engine (states) and sight (visible
 * data), joined as the server joins them: what is bound becomes a plan, what is applied becomes
 * rows of the head.  Roles, nodes and deployments have the numbers of the naive model; a role's
 * number in maps is one higher.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_REAL_H
#define TESTS_PROPERTY_REAL_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "catalog/catalog.h"
#include "dice.h"
#include "model/sight.h"
#include "planner/planner.h"
#include "server/desire.h"

struct real_being { /* by id; what the server keeps beside the engine */
    uint32_t role, deployment;
    const char *user, *wall, *system;
};
struct real {
    struct arena mem;
    struct catalog *cat;
    struct desire *d;
    struct anneal *a;
    struct effects fx;
    uint64_t now;
    uint32_t n_nodes, n_deployments, op;
    uint32_t deployment_parent[16];
    VEC(struct real_being) beings;
    VEC(uint64_t) defs;
    struct planner_world world;
    struct sight_world sight;
    struct sight_cache *cache;
    VEC(uint32_t) on_node, instances, children, after, seen; /* last answers */
    VEC(struct sight_need) needs;
};

/* 0, or -code with *e: the catalog does not load. */
int real_init(struct real *r, const char *catalog, uint32_t nodes, uint32_t deployments,
              const int *parents, struct err *e);
void real_done(struct real *r);
struct desire_author real_author(const struct real *r);

/* Noderoles by role and node: those that stay; those on their way out, of one deployment. */
uint32_t real_living(const struct real *r, uint32_t role, uint32_t node, uint32_t deployment);
uint32_t real_leaver(const struct real *r, uint32_t role, uint32_t node, uint32_t deployment);
/* As maps call it. */
uint64_t real_key(const struct real *r, uint32_t noderole);

/* --- real_change.c --- */
/* Plans only. */
int real_bind(struct real *r, const struct bind_request *req, struct plan **ret_p, struct err *e);
/* From one map to another: one plan.  ERR_REFUSED also for parents that are not there. */
int real_revise(struct real *r, uint32_t deployment, const struct pmap *old, const struct pmap *now,
                struct plan **ret_p, struct err *e);
/* Would the engine take it? */
int real_check(const struct real *r, struct plan *p, struct err *e);
/* The engine takes it whole or refuses it; then the heads say what it made. */
int real_apply(struct real *r, struct plan *p, struct err *e);
/* What a plan made, as entries of a proposal or of the head; keys in `requested` were asked for. */
int real_note(struct real *r, const struct plan *p, uint32_t proposal, const uint64_t *requested,
              uint32_t n_requested, struct err *e);
/* What a commit made beyond its map: peers. */
int real_note_committed(struct real *r, const struct plan *p, struct err *e);

int real_step(struct real *r, struct event ev, struct err *e);
/* A new operation. */
uint32_t real_operation(struct real *r);
/* One open attempt, chosen by chance, is answered; false if none is open. */
typedef bool real_fails_f(void *ctx, uint32_t noderole, bool removal);
bool real_work(struct real *r, struct dice *d, real_fails_f *fails, void *ctx);

#endif
