/* clusters.h - deployments that were made from templates, and what is done to them
 *
 * A cluster is a deployment whose committed map the solver made.  What is wanted of it is in its
 * snapshots: each service on each node, each machine with what it is to be, and under the
 * deployment role CLUSTER_ROLE the document that says the rest (template, services, config).  So
 * history, diff and rollback are those of any deployment.  Beside that there is a row: owner,
 * lease, numbers of nodes, the last operation.
 *
 *   clusters.c         who there is: rows and memory
 *   cluster_look.c     what one is wanted to be: its document, its nodes and what is on them
 *   cluster_state.c    what one is: from what its noderoles are
 *   cluster_missing.c  what of one was never made
 *   cluster_behind.c   what of one was done, and who was left half-way
 *   cluster_layout.c   what it is to be: asked of the solver
 *   cluster_work.c     what that takes: phases
 *   cluster_place.c    and the plan
 *   cluster_enact.c    doing it: nodes, plan and head in one group; what follows its end
 *   cluster_show.c     one, and what an operation on it comes to, as values
 *   cluster_beat.c     what happens by itself: machines answer, leases end, the deleted go
 *   cluster_payload.c  what tasks told about nodes
 *   cluster_call.c     callbacks: who is told
 *   data_cluster.c     what tasks see of it
 *   face_cluster.c     requests
 *
 * docs/rfc/08-clusters.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CLUSTERS_H
#define SERVER_CLUSTERS_H

#include "catalog/kinds.h"
#include "planner/layout.h"
#include "planner/phase_plan.h"
#include "server/server_i.h"

#define CLUSTER_ROLE "cluster" /* under which a cluster's document is kept in its snapshots */

#define CLUSTER_VERBS(X)                                                                           \
    X(NONE, "")                                                                                    \
    X(CREATE, "create")                                                                            \
    X(EXPAND, "expand")                                                                            \
    X(SHRINK, "shrink")                                                                            \
    X(ADD, "add-service")                                                                          \
    X(REMOVE, "remove-service")                                                                    \
    X(CONFIGURE, "configure")                                                                      \
    X(START, "start")                                                                              \
    X(STOP, "stop")                                                                                \
    X(RESTART, "restart")                                                                          \
    X(UPGRADE, "upgrade")                                                                          \
    X(ROLLBACK, "rollback")                                                                        \
    X(ACT, "act")                                                                                  \
    X(DELETE, "delete")
enum cluster_verb {
#define X(id, text) CLUSTER_##id,
    CLUSTER_VERBS(X)
#undef X
        CLUSTER_VERB_COUNT
};
const char *cluster_verb_name(enum cluster_verb v);
int cluster_verb_find(struct str name); /* -1: there is none */

/* --- who there is --- */

struct cluster {
    uint32_t deployment; /* 0: none any more */
    char *owner;
    uint64_t created_ms, lease_ms; /* wall clock; lease 0: for ever */
    uint32_t rev, next_number, operation;
    uint8_t verb;  /* enum cluster_verb of its last operation */
    char *waiting; /* JSON: a list of requests that wait for its end; NULL: none */
    /* Of memory only: */
    uint32_t told;               /* raised when a task told something about one of its nodes */
    struct cluster_sight *sight; /* data_cluster.c */
};
struct clusters;
struct clusters *clusters_new(void);
void clusters_free(struct clusters *all);
int clusters_load(struct server *s, struct err *e);
/* Borrowed until one is added; NULL: the deployment is no cluster. */
const struct cluster *cluster_get(const struct server *s, uint32_t deployment);
/* In order of deployments; NULL at the end. */
const struct cluster *cluster_next(const struct server *s, uint32_t after);
uint32_t clusters_count(const struct server *s);
void cluster_add(struct server *s, const struct server_call *c, const struct cluster *from);
/* Its row, with another revision. */
void cluster_put(struct server *s, const struct cluster *now);
void cluster_drop(struct server *s, uint32_t deployment);
/* Takes it over; "": none. */
void cluster_set_waiting(struct server *s, uint32_t deployment, struct str waiting);
/* What is wanted of a cluster is the solver's business: ERR_CONFLICT if the deployment is one. */
int cluster_refuses(const struct server *s, uint32_t deployment, struct err *e);

/* --- what one is --- */

struct cluster_role { /* a role that something of it has */
    struct str name;
    const struct catalog_role *is; /* in the catalog that is looked by; NULL: it has none */
};
struct cluster_node {
    uint32_t id; /* 0: not made yet */
    struct str name;
    uint32_t number;
    struct str machine; /* its role */
    struct str hardware, image;
    const struct value *labels;
    VEC(uint32_t) roles; /* of what is on it, besides its machine: ascending, into look.roles */
};
struct cluster_look {
    struct server *server;
    struct arena *mem;
    uint32_t deployment;
    const struct catalog *catalog;
    const struct value *spec; /* the document */
    VEC(struct cluster_role) roles;
    struct strmap role_by_name;
    VEC(struct cluster_node) nodes; /* by number */
};
/* Of a map of it; by this catalog.  ERR_CORRUPT. */
int cluster_look(struct cluster_look *l, struct server *s, struct arena *mem,
                 const struct catalog *cat, uint32_t deployment, const struct pmap *map,
                 struct err *e);
/* Besides, behind them by id: nodes that were given up and are still there, since what was to take
 * them down failed.  Without number and roles: no map has these any more. */
void cluster_look_left(struct cluster_look *l);
void cluster_look_done(struct cluster_look *l);
uint32_t cluster_look_role(struct cluster_look *l, struct str name); /* adds it if it is new */
bool cluster_node_has(const struct cluster_node *n, uint32_t role);
void cluster_node_add(struct cluster_node *n, uint32_t role);
void cluster_node_drop(struct cluster_node *n, uint32_t role);
/* The document: its parts. */
struct catalog_names cluster_services(struct arena *mem, const struct value *spec);
int cluster_template(struct arena *mem, const struct value *spec,
                     const struct catalog_template **ret, struct err *e);

/* --- what is asked for --- */

struct cluster_ask {
    enum cluster_verb verb;
    uint32_t deployment;           /* 0: create */
    struct catalog_names services; /* that it is about; none: all, or the template's */
    uint32_t nodes_min, nodes_max; /* create: so many; expand and shrink: to so many, or by `by` */
    uint32_t by;
    struct str template, provider, hardware, image, comparator, domain; /* "": not said */
    const struct value *config;                                         /* NULL: not said */
    bool merge; /* config over what there is, else instead of it */
    bool restart, in_turn;
    uint32_t revision; /* rollback */
    struct str action; /* act */
    struct str name;   /* create */
    uint64_t lease_ms; /* create: how long; UINT64_MAX: not said */
    uint64_t max_steps;
};

/* --- what follows --- */

/* Now and then: who is deleted and has no node any more goes; whose lease is over is deleted. */
void cluster_beat(struct server *s);
/* A task of a machine succeeded: once it is made and confirmed, its node answers. */
void cluster_machine_made(struct server *s, uint32_t task);
/* What a task of its machine returned: addresses and access become the node's.  ERR_INVALID. */
int cluster_machine_told(struct server *s, uint32_t node, struct arena *mem,
                         const struct value *given, struct err *e);

/* --- what tasks told about nodes --- */

struct str cluster_payload(const struct server *s, uint32_t node); /* JSON, "{}" if nothing */
/* A task of a cluster succeeded and returned this (JSON of a map).  ERR_LIMIT. */
int cluster_returned(struct server *s, uint32_t task, struct str returns, struct err *e);
void cluster_payload_put(struct server *s, uint32_t node, struct str body);
void cluster_payload_drop(struct server *s, uint32_t node);

/* --- who is told --- */

/* The parameters of a task that is a callback, as JSON; *ret stays as it is for any other. */
int cluster_call_params(struct server *s, uint32_t task, struct arena *mem, struct str *ret,
                        struct err *e);

/* --- what tasks see --- */

/* What a task on this node, of its machine or of a service, sees besides its layers, as a map; *ret
 * NULL: it is of no cluster. */
int data_cluster_own(struct server *s, uint32_t deployment, uint32_t node, bool machine,
                     struct arena *mem, const struct value **ret, struct err *e);
bool cluster_is_machine(struct str role);
/* And the document of all nodes, {"nodes": ...}, as canonical JSON, with its digest; borrowed; "":
 * of no cluster. */
struct str data_cluster_nodes(struct server *s, uint32_t deployment, struct str *ret_digest);
/* Where it is to be found, as its template says: [{label, url}].  What is not known yet is left
 * out. */
struct value *data_cluster_links(struct server *s, uint32_t deployment, struct arena *mem);
/* As it is now, borrowed until the next look.  NULL: it is no cluster, or e says why. */
const struct cluster_look *data_cluster_look(struct server *s, uint32_t deployment, struct err *e);
void cluster_sight_free(struct cluster_sight *v);
void cluster_sight_set(struct server *s, uint32_t deployment, struct cluster_sight *v);

#endif
