/* naive.h - desired state as the documents tell it: arrays, whole copies, and looking at everything
 *
 * Written from docs/rfc/04 (Binding), docs/rfc/06 and docs/rfc/01, not from the code, and meant to
 * be believed by reading.  Noderoles are kept by the ids that the engine must give them.  Texts
 * live in the model's arena.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_NAIVE_H
#define TESTS_PROPERTY_NAIVE_H

#include "random_catalog.h"

enum {
    NODES_MOST = 4,
    DEPLOYMENTS_MOST = 4,
    PARENTS_MOST = 48,
    ENTRIES_MOST = 48, /* of one map */
    SNAPSHOTS_MOST = 96,
    BEINGS_MOST = 320, /* noderoles, gone ones included */
    NEW_MOST = 64,     /* of one plan */
    USERS_MOST = 64,
};

/* --- maps and snapshots (naive_desire.c) --- */

struct naive_parent {
    int role, node;
    bool used;
};
struct naive_entry {
    int role, node; /* node 0: a deployment role */
    bool requested;
    const char *user; /* canonical JSON, "" for none */
    struct naive_parent parents[PARENTS_MOST];
    int n_parents;
};
struct naive_map {
    struct naive_entry at[ENTRIES_MOST];
    int n;
};
enum naive_snapshot_state { NAIVE_PROPOSED, NAIVE_COMMITTED, NAIVE_ARCHIVED, NAIVE_RECALLED };
struct naive_snapshot {
    int deployment, number;
    enum naive_snapshot_state state;
    struct naive_map map, base;
};

const struct naive_entry *naive_entry(const struct naive_map *m, int role, int node);
bool naive_entry_equal(const struct naive_entry *a, const struct naive_entry *b); /* NULL: absent */
/* Adds a parent unless it is there. */
void naive_entry_parent(struct naive_entry *t, int role, int node);
void naive_map_set(struct naive_map *m, const struct naive_entry *t);
void naive_map_remove(struct naive_map *m, int role, int node);
/* Three ways: how many conflicts; merged only without any. */
int naive_map_merge(const struct naive_map *base, const struct naive_map *ours,
                    const struct naive_map *theirs, struct naive_map *ret);
/* "+r1@2 -r2@1 ~r3@1:up" sorted by (role, node) within each kind. */
const char *naive_map_diff(struct arena *mem, const struct naive_map *old,
                           const struct naive_map *now);

/* --- noderoles --- */

struct naive_need {
    int parent; /* id */
    bool sleeps;
    bool
        awaited; /* it sleeps, and comes in place of one that was lost: no run before it is there */
};
struct naive_user { /* whoever a noderole that is to go waits for */
    int id;
    bool successor; /* it comes in its place, and only has to be in service */
};
struct being { /* a noderole */
    bool exists, leaving;
    int role, node, deployment, cohort;
    const char *user, *wall, *system;
    struct naive_need needs[PARENTS_MOST];
    int n_needs;
    struct naive_user users[USERS_MOST];
    int n_users;
    /* what its runs will do, as the test wants it */
    bool fated, bad, bad_down;
    /* what its runs did (naive_state.c) */
    bool failed;        /* ERROR until somebody says otherwise */
    bool rewound;       /* lost after it failed */
    bool must_run;      /* no early cut-off */
    bool unsure;        /* it ran while we did not look: the engine's word counts */
    bool could_run;     /* all its parents were in service when work began */
    bool in_service;    /* ACTIVE; STALE when all is quiet is only who awaits a parent */
    const char *passed; /* inputs of its last success, "" for none */
};
struct naive {
    struct arena mem;
    struct truth truth;
    int n_nodes, n_deployments;
    int deployment_parent[DEPLOYMENTS_MOST + 1]; /* 0: the root */
    struct naive_snapshot *snapshots[SNAPSHOTS_MOST];
    int n_snapshots;
    struct being beings[BEINGS_MOST]; /* by id */
    int end;                          /* highest id + 1 */
    bool open;                        /* work is under way: who has begun is not known here */
};
struct naive *naive_new(void);
void naive_free(struct naive *v);

struct naive_snapshot *naive_head(const struct naive *v, int deployment);     /* may be NULL */
struct naive_snapshot *naive_proposal(const struct naive *v, int deployment); /* may be NULL */
int naive_snapshot_id(const struct naive *v, const struct naive_snapshot *s); /* from 1 */
/* NULL if the deployment has one open.  from NULL: the head's map. */
struct naive_snapshot *naive_propose(struct naive *v, int deployment,
                                     const struct naive_snapshot *from);
/* A new head with the map of the old one. */
struct naive_snapshot *naive_advance(struct naive *v, int deployment);
void naive_commit(struct naive *v, struct naive_snapshot *proposal, const struct naive_map *map);

/* Wanted and not on its way out; 0: none.  deployment 0: any. */
int naive_living(const struct naive *v, int role, int node, int deployment);
int naive_leaver(const struct naive *v, int role, int node, int deployment);
bool naive_needs(const struct naive *v, int child, int parent, bool also_sleeping);

/* --- plans (naive_bind.c, naive_revise.c): what becomes of noderoles --- */

struct naive_new {
    int role, node;
    bool requested;
    const char *user;
    int parents[PARENTS_MOST], n_parents; /* refs: an id, or -1 - index of a new one */
    int cohort, id;
};
struct naive_change { /* of a noderole that is */
    int id;
    bool removed, back, other_user;
    const char *user;
    int gains[PARENTS_MOST], n_gains;   /* refs */
    int losses[PARENTS_MOST], n_losses; /* ids */
};
struct naive_plan {
    int deployment;
    bool refused;
    struct naive_new fresh[NEW_MOST];
    int n_fresh;
    struct naive_change changes[ENTRIES_MOST];
    int n_changes;
    struct {
        int child, parent; /* an id, a ref */
    } peers[NEW_MOST * 8]; /* new needs of live noderoles */
    int n_peers;
};
struct naive_item {
    int role, node;
    const char *user;
};
void naive_bind(struct naive *v, int deployment, const struct naive_item *items, int n,
                struct naive_plan *ret);
/* From one map of a deployment to another. */
void naive_revise(struct naive *v, int deployment, const struct naive_map *old,
                  const struct naive_map *now, struct naive_plan *ret);
/* Shared by both: needs of cluster peers, circles, cohorts, ids. */
void naive_plan_finish(struct naive *v, struct naive_plan *p);
/* Was it on its way out, and is taken back by this plan? */
bool naive_is_back(const struct naive_plan *p, int ref);
/* Makes it live; then the heads say what the noderoles need. */
void naive_apply(struct naive *v, struct naive_plan *p);
void naive_raise(struct naive *v); /* cohorts above those of parents */

/* --- states (naive_state.c) --- */

/* The engine's word on one noderole, for those that ran unseen. */
struct naive_word {
    bool exists, failed;
    bool (*counts)(void *ctx, int child, int parent);  /* does that need count already? */
    bool (*awaits)(void *ctx, int child, int parent);  /* does its next run wait for that? */
    int (*waits_for)(void *ctx, int goer, int holder); /* to let go: 1; to be in service: 2 */
};
typedef struct naive_word naive_word_f(void *ctx, int id);
/* All runnable work is done or has failed. */
void naive_settle(struct naive *v, naive_word_f *word, void *ctx);
/* The same if work was done between changes: what failed and what vanished is taken from the
 * engine.  False if that is impossible. */
bool naive_catch_up(struct naive *v, naive_word_f *word, void *ctx, bool quiet);
/* Other data of its own; otherwise: its needs change as well.  That corrects what has failed. */
void naive_configure(struct naive *v, int id, const char *user, bool otherwise);
void naive_retry(struct naive *v, int id);
/* Are all whose need counts in service? */
bool naive_parents_in(const struct naive *v, int id);
const char *naive_state(const struct naive *v, int id);

/* --- visible data (naive_sight.c) --- */

const struct value *naive_sight(struct naive *v, int id, bool ambient);
/* The values at what its role reads, as text. */
const char *naive_inputs(struct naive *v, int id);

#endif
