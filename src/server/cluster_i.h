/* cluster_i.h - an operation on a cluster in the making, shared by cluster_*.c and face_cluster.c
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CLUSTER_I_H
#define SERVER_CLUSTER_I_H

#include "base/digest.h"
#include "base/json.h"
#include "server/cluster_state.h"
#include "server/clusters.h"

enum { /* what a service has been through at its target; what was initialized stays so */
       CLUSTER_UP = PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_INITIALIZE | PHASE_F_START,
       CLUSTER_DOWN = PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_STOP,
       CLUSTER_MACHINE = PHASE_F_CREATE | PHASE_F_CONFIRM | PHASE_F_BOOTSTRAP, /* and a machine */
};
struct work_role {
    struct str name;
    const struct catalog_role *was, *now; /* in the catalogs of both sides; NULL: it has none */
};
struct work_cell { /* a role on a node */
    uint32_t role; /* into work.roles */
    bool had, has;
    uint32_t noderole; /* that lives; 0: none */
    uint8_t target;    /* enum target that it has, then that it is to have */
    uint16_t done;     /* phases that it has been through */
    uint16_t asked;    /* of what is missing: phases that the operation is about by itself */
    bool missing;      /* it stays, and was never made */
    bool behind;       /* it stays, was left half-way, and is taken up */
};
struct work_node {
    const struct cluster_node *was;
    struct cluster_node *now; /* NULL: it goes */
    VEC(struct work_cell) cells;
    uint32_t machine; /* noderole; 0: none lives */
    bool missing;     /* it stays, and was never made */
    bool clears;      /* something of it may be there nevertheless */
};
struct work_stay { /* a node that stays, though one that is better off is given up */
    uint32_t node; /* into was.nodes */
    bool dead;     /* else in error */
    struct str why;
};
struct work_steps {
    struct phase_steps at[PHASE_KIND_COUNT];
};
struct cluster_work {
    struct server *server;
    struct arena *mem;
    const struct cluster_ask *ask;
    struct cluster_look was, now; /* now: as it shall be; nodes without an id are new */
    VEC(uint32_t) going;          /* into was.nodes, ascending: nodes that are given up */
    VEC(struct work_stay) stays;
    const struct layout_answer *layout; /* NULL: nothing was solved */
    VEC(uint32_t) made;                 /* nodes, by cluster_enact() */
    /* cluster_work.c: both sides together */
    VEC(struct work_role) roles;
    struct strmap role_at;
    VEC(struct work_node) nodes;
    const struct catalog_provider *provider;
    const struct catalog_role *machine_role;
    struct work_steps *steps; /* by role; behind them: of machines */
    struct world world;
    struct planner_world view;
    struct phase_service *services;
    struct phase_node *phase_nodes;
    struct phase_cluster cluster;
    struct phase_deps *deps;
    struct phase_work work;
    struct phase_graph *graph;
    /* cluster_missing.c: the operation that was looked up last, and what it wanted */
    uint32_t then_operation;
    bool then_differs;
};
/* What the cluster is, by the catalog it was made with, and the catalog for what it shall be. */
int cluster_work_begin(struct cluster_work *w, struct server *s, struct arena *mem,
                       const struct cluster_ask *ask, struct err *e);
void cluster_work_done(struct cluster_work *w);
/* From a request to a layout, in memory.  ERR_REFUSED, with w->layout, if there is none. */
int cluster_layout(struct cluster_work *w, struct err *e);
/* To a graph of phases. */
int cluster_graph(struct cluster_work *w, struct err *e);
void cluster_graph_drop(struct cluster_work *w); /* to be made once more */
/* To a plan, for nodes that are made by now; map: what is wanted then. */
int cluster_plan(struct cluster_work *w, const struct pmap *map, struct phase_plan *ret,
                 struct err *e);
/* Its callbacks: what its template wants done before and after everything else; none: nothing. */
int cluster_call_steps(struct cluster_work *w, struct phase_steps *ret_before,
                       struct phase_steps *ret_after, struct err *e);
/* What a machine is to be: handed to the provider's tasks, and read back from its entry. */
struct value *cluster_machine_data(struct cluster_work *w, const struct cluster_node *n);
struct catalog_names cluster_names(struct arena *mem, const struct value *list);
/* Nodes, plan and head, in the open group; ret_op 0: it came to nothing. */
int cluster_enact(struct cluster_work *w, const struct server_call *c, uint32_t *ret_op,
                  struct err *e);

int cluster_queue_next(struct server *s, uint32_t deployment, struct arena *mem, struct err *e);
/* cluster_show.c: of the graph and of both sides, before it is dropped. */
struct value *cluster_plan_value(struct cluster_work *w);
struct value *cluster_difference_value(struct cluster_work *w);
/* cluster_missing.c: what it is, and what of it was never made. */
enum cluster_state cluster_state_now(const struct server *s, const struct cluster *c);
bool cluster_made(const struct server *s, uint32_t noderole);
/* Their names, "role@node", as a list. */
struct value *cluster_missing_names(const struct server *s, struct arena *mem,
                                    const struct cluster *c);
/* When it is known what lives: what stays and was never made is found, and is finished by this
 * operation, or refuses it.  ERR_CONFLICT names it. */
int cluster_missing(struct cluster_work *w, struct err *e);
/* Does what is wanted of the cluster differ from what was when this one, which was never made, was
 * last worked on?  Then its configuration is another one, too. */
bool cluster_missing_outdated(struct cluster_work *w, uint32_t noderole);
/* Is the machine of a node that stays still to be made? */
bool cluster_machine_missing(const struct cluster_work *w, const struct cluster_node *n);
/* cluster_behind.c: phases that it has been through, by the definitions of the operation. */
uint16_t cluster_phases_done(const struct cluster_work *w, const struct work_cell *c);
/* An operation about all of the cluster takes up who was left behind: its table has it then. */
void cluster_behind(struct cluster_work *w);
/* Who is in ERROR or was left by a roll-out, and is so after this operation; 0: of a dry run. */
struct value *cluster_left(const struct cluster_work *w, uint32_t deployment, uint32_t op);
/* Of a cluster that was to be deleted and is still there nothing is to be had but its end. */
int cluster_deleted_refuses(struct cluster_work *w, struct err *e);
struct value *view_cluster(struct server *s, struct arena *a, const struct cluster *c, bool full);

#endif
