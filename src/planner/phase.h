/* phase.h - from a cluster's layout and what is to be done with it to a graph of tasks
 *
 * A service on a node goes through phases, and so does the machine under it.  What is to be done is
 * a table: for each service of each node, and each machine, a set of phases.  A named operation
 * fills it (phase_request_op), or the caller does, where many things change at once.  The graph
 * follows from the table and from what services depend on; it is the same on every machine: tasks
 * by node as given (machine, services in their order on it, phases in order; its delete last), then
 * joins.
 *
 * Between services everything of one set comes before everything of another: that goes through one
 * vertex, a join, so that edges grow with tasks, not with their square.
 *
 *   phase_deps_make()  ->  phase_work_init(), phase_request_op()  ->  phase_graph_make()
 *
 * Pure; services and nodes are numbers into the caller's arrays, which must outlive what is made of
 * them.  docs/rfc/08-clusters.md, section 5.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PHASE_H
#define PLANNER_PHASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "catalog/catalog.h"

#define PHASE_NIL UINT32_MAX
enum {
    PHASE_MAX_SERVICES = 4096,
    PHASE_MAX_NODES = 1000000,
    PHASE_MAX_VERTICES = 8000000,
    PHASE_MAX_EDGES = 64000000,
};

/* In the order in which they come on one node. */
#define PHASE_KINDS(X)                                                                             \
    X(CREATE, "create") /* of the machine, as the next two */                                      \
    X(CONFIRM, "confirm")                                                                          \
    X(BOOTSTRAP, "bootstrap")                                                                      \
    X(STOP, "stop") /* of a service, as all up to ACTION */                                        \
    X(REMOVE, "remove")                                                                            \
    X(UPGRADE, "upgrade")                                                                          \
    X(INSTALL, "install")                                                                          \
    X(CONFIGURE, "configure")                                                                      \
    X(INITIALIZE, "initialize")                                                                    \
    X(START, "start")                                                                              \
    X(ACTION, "action") /* one that the service defines itself */                                  \
    X(DELETE, "delete") /* of the machine */
enum phase_kind {
#define X(id, text) PHASE_##id,
    PHASE_KINDS(X)
#undef X
        PHASE_KIND_COUNT,
    PHASE_JOIN = PHASE_KIND_COUNT, /* of a vertex: no task */
};
enum { /* the same as bits */
#define X(id, text) PHASE_F_##id = 1u << PHASE_##id,
       PHASE_KINDS(X)
#undef X
           PHASE_F_MACHINE = PHASE_F_CREATE | PHASE_F_CONFIRM | PHASE_F_BOOTSTRAP | PHASE_F_DELETE,
       PHASE_F_SERVICE = PHASE_F_DELETE - PHASE_F_STOP,
       /* Of a cell: all that this service does on all nodes comes before what services that depend
        * on it do, and its strategy says how many nodes are at it at a time. */
       PHASE_F_IN_TURN = 1u << 15,
};
const char *phase_kind_name(enum phase_kind k);
int phase_kind_from(struct str name); /* -1: there is none */

/* --- the cluster --- */

enum { PHASE_AT_INSTALL = 1u << 0, PHASE_AT_RUN = 1u << 1 };
struct phase_depend {
    struct str name; /* a service, or what services provide */
    uint8_t when;    /* PHASE_AT_... */
    bool required;   /* else only used: it may be absent */
};
struct phase_service {
    struct str name;
    uint16_t actions; /* phases that it has something to do for */
    const struct str *provides;
    uint32_t n_provides;
    const struct phase_depend *depends;
    uint32_t n_depends;
    uint8_t strategy;                /* enum strategy of the catalog */
    uint32_t max;                    /* STRATEGY_ROLLING: at a time */
    struct graph_tolerance failures; /* of a strategy: that may be before no further one starts */
};
struct phase_node {
    struct str name;
    const uint32_t *services; /* each once; those that are to go too */
    uint32_t n_services;
    uint16_t machine; /* phases that its machine has something to do for */
    bool dead;        /* nothing can be done on it, its machine can be deleted */
};
struct phase_cluster {
    const struct phase_service *services;
    uint32_t n_services;
    const struct phase_node *nodes;
    uint32_t n_nodes;
};

/* --- dependencies --- */

enum phase_when { PHASE_WHEN_INSTALL, PHASE_WHEN_RUN, PHASE_WHEN_ANY, PHASE_WHEN_COUNT };
struct phase_deps;
/* A name means all services that provide it and the one that is called so; a service never depends
 * on itself.  ERR_CYCLE tells the circle; ERR_REFUSED a service that requires what nobody is or
 * provides, unless lenient; ERR_EXISTS for two services of a name; ERR_LIMIT. */
int phase_deps_make(const struct phase_service *services, uint32_t n, bool lenient,
                    struct phase_deps **ret, struct err *e);
void phase_deps_free(struct phase_deps *d);
static inline void phase_deps_scope_end(struct phase_deps **d)
{
    phase_deps_free(*d);
}
/* Does service a depend on b, directly or not? */
bool phase_depends(const struct phase_deps *d, enum phase_when when, uint32_t a, uint32_t b);
/* What service a depends on, less what follows from the rest, ascending; the names of absent
 * services come after the services.  ret: room for phase_deps_names(). */
uint32_t phase_deps_direct(const struct phase_deps *d, enum phase_when when, uint32_t a,
                           uint32_t *ret);
uint32_t phase_deps_names(const struct phase_deps *d);
struct str phase_deps_name(const struct phase_deps *d, uint32_t i);
/* Of which services that have `phase` the same phase of service a waits, if all of them go through
 * it: where one lacks it those stand in that it depends on (of stop and remove: that depend on it).
 * INITIALIZE waits for START.  ret: room for all services. */
uint32_t phase_deps_waits(const struct phase_deps *d, const struct phase_service *services,
                          enum phase_kind phase, uint32_t a, uint32_t *ret);

/* --- what is to be done --- */

struct phase_work {
    uint32_t *first;   /* by node: the cell of its first service; those of its services follow */
    uint16_t *cells;   /* PHASE_F_..., PHASE_F_IN_TURN */
    uint16_t *pulled;  /* by cell: phases that nobody asked for, but what was asked for needs */
    uint16_t *machine; /* by node */
    /* What services are configured with says where other nodes are: before the first of them is,
     * all machines that are made are there. */
    bool established;
};
/* Nothing, for this cluster; lives in mem.  ERR_LIMIT. */
int phase_work_init(struct phase_work *w, const struct phase_cluster *c, struct arena *mem,
                    struct err *e);

#define PHASE_OPS(X)                                                                               \
    X(CREATE, "create")                                                                            \
    X(DELETE, "delete")                                                                            \
    X(CONFIGURE, "configure")                                                                      \
    X(CONFIGURE_RESTART, "configure-restart")                                                      \
    X(START, "start")                                                                              \
    X(STOP, "stop")                                                                                \
    X(RESTART, "restart")                                                                          \
    X(ADD, "add-services")                                                                         \
    X(REMOVE, "remove-services")                                                                   \
    X(EXPAND, "expand")                                                                            \
    X(SHRINK, "shrink")                                                                            \
    X(UPGRADE, "upgrade")                                                                          \
    X(ACT, "act")
enum phase_op {
#define X(id, text) PHASE_OP_##id,
    PHASE_OPS(X)
#undef X
        PHASE_OP_COUNT
};
const char *phase_op_name(enum phase_op op);
int phase_op_from(struct str name); /* -1: there is none */

struct phase_request {
    enum phase_op op;
    const bool *services; /* by number, those that it is about; NULL: all */
    const bool *nodes;    /* NULL: all; of expand the new ones, of shrink those that go */
    bool in_turn;         /* restart and configure-restart node by node, as the strategies say */
};
/* Adds to the table what the operation is.  ERR_INVALID: it must say which services or nodes. */
int phase_request_op(const struct phase_request *req, const struct phase_cluster *c,
                     const struct phase_deps *d, struct phase_work *w, struct err *e);

/* --- the graph --- */

struct phase_vertex {
    uint32_t node, service; /* PHASE_NIL: a join; a task of the machine */
    uint32_t weight;        /* longest remaining path, itself included; joins count nothing */
    uint32_t level;         /* longest path before it */
    uint32_t span;          /* index into spans + 1; 0: none */
    uint8_t kind;           /* enum phase_kind */
    uint8_t rule;           /* enum task_rule */
    bool pulled;            /* nobody asked for it */
    bool rolls;             /* it goes in turn by its service's strategy: of a roll-out */
};
struct phase_join {
    uint32_t service; /* PHASE_NIL: all machines that are made */
    uint8_t kind;     /* enum phase_kind; PHASE_JOIN: all that the service does in its turn */
    bool before;      /* stands for all that these tasks wait for; else for these tasks */
};
struct phase_pool { /* nodes that may be at a service at a time */
    uint32_t service, size;
};
struct phase_graph {
    struct arena mem;
    const struct phase_cluster *cluster;
    uint32_t n_tasks, n_joins, n; /* vertices: tasks, then joins */
    struct phase_vertex *vertices;
    const struct phase_join *joins;
    uint32_t *first, *deps; /* what vertex v waits for: deps[first[v] .. first[v + 1]) */
    uint32_t *order;        /* those waited for before those who wait */
    uint32_t n_levels;
    const uint32_t *base; /* by node: its first vertex; and the end */
    const struct phase_pool *pools;
    uint32_t n_pools;
    const uint32_t *spans; /* each the pool that it takes from its first task to its last */
    uint32_t n_spans;
};
/* ERR_INVALID for a phase that cannot be there; ERR_LIMIT. */
int phase_graph_make(const struct phase_cluster *c, const struct phase_deps *d,
                     const struct phase_work *w, struct phase_graph **ret, struct err *e);
void phase_graph_free(struct phase_graph *g);
static inline void phase_graph_scope_end(struct phase_graph **g)
{
    phase_graph_free(*g);
}
/* The same edges without joins: the tasks that v waits for, ascending, at most max of them. */
uint32_t phase_edges(const struct phase_graph *g, uint32_t v, uint32_t *ret, uint32_t max);
uint64_t phase_edges_count(const struct phase_graph *g); /* of all tasks, without joins */

/* --- stages: a view --- */

struct phase_stages {
    uint32_t n_levels;         /* before they were divided */
    uint32_t n;                /* stages */
    const uint32_t *first;     /* by stage, and the end */
    const uint32_t *tasks;     /* by stage: vertices, ascending */
    const uint32_t *level_end; /* by level: the stage behind its last */
};
/* Repeatedly all tasks that wait for none that is left; of these the k-th of a node goes to the
 * k-th part.  Of vertices with edges as of a graph, each waiting only for vertices that come before
 * it in `order`; node[v] PHASE_NIL: v is no task.  Numbers of nodes are below n_nodes. */
struct phase_flow {
    uint32_t n, n_nodes;
    const uint32_t *first, *deps, *order, *node;
};
void phase_flow_stages(const struct phase_flow *f, struct arena *mem, struct phase_stages *ret);
void phase_stages(const struct phase_graph *g, struct arena *mem, struct phase_stages *ret);

#endif
