/* deploy.h - a task graph is run on the nodes of a deployment
 *
 * A deploy weaves the deployment's graph over its nodes, decides every condition by the data there
 * are and were, and gives all noderoles of groups their tasks in one plan, as one operation.  Until
 * the last step nothing changes: a dry run is the same without it.
 *
 *   deploy.c         from end to end
 *   deploy_nodes.c   who is there: nodes with their names, noderoles that get tasks
 *   deploy_scope.c   what expressions see of a node, now and when a task last succeeded there
 *   deploy_params.c  parameters with expressions in them
 *   deploy_seen.c    what tasks saw at their last success, kept in the store
 *
 * docs/rfc/07-task-graphs.md, sections 6 and 7.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DEPLOY_H
#define SERVER_DEPLOY_H

#include "catalog/taskgraph.h"
#include "planner/weave.h"
#include "planner/weave_plan.h"
#include "server/server_i.h"
#include "template/expr.h"

struct data_look;

/* --- what is asked for --- */

struct deploy_request {
    uint32_t deployment;
    struct str graph;
    struct weave_part part;
    struct str *only, *skip, *events;
    uint32_t n_only, n_skip, n_events;
    const char *on; /* selector of nodes; NULL: all */
    bool no_op, limit_circles;
    bool force; /* as if nothing had ever been deployed: nothing is unchanged */
};

/* --- being made --- */

struct deploy_own { /* of a node: what its noderoles see, and its names */
    const struct value *data;
    uint64_t doc;       /* its number as a document */
    struct value *seen; /* what tasks saw there at their last success, as deploy_seen() tells it */
    bool failed;        /* one of its noderoles has: nothing counts as unchanged */
};
struct deploy {
    struct server *server;
    struct arena *mem;
    const struct deploy_request *ask;
    const struct catalog *cat;
    const struct catalog_graph *graph;
    VEC(struct weave_node) nodes;
    VEC(uint32_t) node_ids; /* by index; the master's is behind them, 0: there is none */
    VEC(struct weave_member) members;
    uint32_t *first_member, *next_member; /* by node, the master's behind them; by member */
    VEC(uint32_t) carriers;
    struct weave_request req;
    struct weave *weave;
    /* deploy_scope.c */
    const struct value *common;
    uint64_t common_doc;
    struct deploy_own *own; /* by node, the master's behind them */
    VEC(struct str) varying;
    VEC(struct deploy_memo {
        uint64_t common;
        struct expr_memo *memo;
    })
    memos;
    struct u64map documents; /* id -> struct value *, as far as asked for */
    struct expr_budget budget;
    struct expr_var vars[3], old_vars[3];
    struct expr_scope scope, old;
    uint32_t scope_node;          /* the node that vars are of, + 1 */
    uint64_t old_common, old_own; /* documents that old_vars are of */
    /* deploy_params.c */
    struct deploy_params **params; /* by vertex of the graph, NULL: not looked at yet */
    uint32_t *priorities;          /* by vertex of the weave, NULL: not asked for yet */
};
int deploy_begin(struct deploy *d, struct server *s, struct arena *mem,
                 const struct deploy_request *ask, const struct catalog_graph *graph,
                 struct err *e);
void deploy_end(struct deploy *d);
/* The weave with all that it needs on the server's side; ERR_REFUSED, ERR_CONFLICT and what
 * weave_make() says. */
int deploy_weave(struct deploy *d, struct err *e);
/* Binds what carries tasks that no group owns, plans and applies; the operation. */
int deploy_apply(struct deploy *d, const struct server_call *c, const char *title,
                 enum start_class class, uint32_t *ret_op, struct err *e);

/* What holds the stages and joins of a deployment that is deleted. */
int deploy_stages_remove(struct server *s, const struct server_call *c, uint32_t deployment,
                         struct err *e);

/* deploy_nodes.c */
int deploy_nodes(struct deploy *d, struct err *e);
void deploy_members(struct deploy *d); /* again, after something was bound */
bool deploy_is_group(const struct deploy *d, struct str role);

/* deploy_scope.c */
int deploy_scopes(struct deploy *d, struct err *e);
const struct expr_scope *deploy_scope(void *ctx, uint32_t node);
int deploy_condition(void *ctx, uint32_t task, uint32_t node, struct err *e);
void deploy_scopes_end(struct deploy *d);

/* deploy_params.c */
int deploy_parameters(void *ctx, uint32_t task, uint32_t node, const struct value **ret,
                      struct err *e);
/* A node's part of the graph and its settings, as JSON. */
int deploy_node_file(struct deploy *d, uint32_t node, struct buf *text, struct err *e);

/* --- what was deployed --- */

struct deploys;
struct deploys *deploys_new(void);
void deploys_free(struct deploys *all);
int deploys_load(struct server *s, struct err *e); /* what nobody refers to is dropped */
struct deploy_run {                                /* of a noderole */
    uint32_t operation;                            /* its last deploy; 0: none */
    bool no_op;
};
bool deploy_run_get(const struct server *s, uint32_t noderole, struct deploy_run *ret);
bool deploy_ran(const struct server *s, uint32_t noderole); /* a task of it has ever succeeded */
/* What tasks of it saw at their last success, NULL: none has any; and one of them: documents. */
const struct value *deploy_seen(const struct server *s, struct arena *mem, uint32_t noderole);
bool deploy_seen_find(const struct value *seen, struct str task, uint64_t *ret_common,
                      uint64_t *ret_own);
uint64_t deploy_document_id(const struct value *v);
struct str deploy_document(const struct server *s, uint64_t id);
/* In the open group. */
void deploy_document_keep(struct server *s, const struct value *v);
void deploy_begun(struct server *s, uint32_t noderole, uint32_t op, bool no_op, uint64_t common,
                  uint64_t own);
/* These operations have ended, and these noderoles are no more: what their tasks saw is noted. */
void deploy_settle(struct server *s, const struct effects *fx);
/* A node begins from nothing. */
void deploy_forget_node(struct server *s, uint32_t node);

#endif
