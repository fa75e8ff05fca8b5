/* server.h - the server's face: what an API may ask, and when an answer may leave
 *
 * Everything here runs on the server's loop thread.  An operation reads its call, changes memory
 * through the commit step and fills a reply whose body lives in the call's arena.  A reply may be
 * sent only when group `reply.group` is durable: server_when_durable() tells.  No HTTP in here, no
 * SQL above here.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SERVER_H
#define SERVER_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/value.h"
#include "queue/queue.h"
#include "sys/loop.h"
#include "sys/opts.h"

struct server;

/* Each may do what those before it may, but for `announce`, which is not for those who only read,
 * and `worker`: a worker's line is its own, and leads nowhere else.
 */
enum scope { SCOPE_NONE, SCOPE_WORKER, SCOPE_ANNOUNCE, SCOPE_READ, SCOPE_OPERATE, SCOPE_ADMIN };
static inline bool scope_reaches(enum scope has, enum scope needed)
{
    if (has == SCOPE_WORKER || needed == SCOPE_WORKER)
        return has == needed || needed == SCOPE_NONE;
    return has >= needed && (needed != SCOPE_ANNOUNCE || has != SCOPE_READ);
}

struct caller {
    uint32_t token, tenant;
    enum scope scope;
    char name[72]; /* the token's, for the journal; a copy, since the token may go meanwhile */
};
struct server_call {
    struct arena *mem;
    const struct caller *who;
    const char *id[3];         /* path parameters, in order, decoded */
    const struct value *query; /* map of text, checked against the route's schema */
    const struct value *body;  /* checked likewise; NULL if the route takes none */
    const char *if_match;      /* NULL, "*", or the revision without quotes */
};
struct server_reply {
    const struct value *body; /* NULL: 204 */
    uint64_t rev;             /* ETag; 0: none */
    uint64_t group;           /* not before this group is durable; 0: at once */
    const char *location;     /* of a created object: 201 */
    bool accepted;            /* work goes on: 202 */
    bool live; /* the body shows more than rev stands for: it may differ at the same rev */
};
typedef int server_op_f(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e);

struct server_options {
    struct loop *loop;
    struct queue *queue; /* NULL: no worker; nothing is dispatched */
    const struct opts *opts;
    /* What those who join are told to trust. */
    const char *fingerprint; /* of the key that the API shows; NULL or "": no TLS */
    const char *ca;          /* PEM; NULL: none */
    bool own_ca;             /* it signs for this server only */
};
/* Opens the store in opts->data_dir, restores, reconciles, starts.  At the very first start it
 * makes an admin token and writes it to data_dir/admin.token (mode 0600). */
int server_new(const struct server_options *o, struct server **ret_s, struct err *e);
/* Commits what is open, then frees. */
void server_free(struct server *s);

/* The token's owner; ERR_UNAUTHORIZED with a hint otherwise. */
int server_authenticate(struct server *s, const char *token, struct caller *ret_who, struct err *e);
/* Calls fn(arg, 0) once group is durable, or fn(arg, err) if its commit was refused; immediately if
 * it is durable already.  Cancel with the same fn and arg. */
typedef void server_durable_f(void *arg, const struct err *failure);
void server_when_durable(struct server *s, uint64_t group, server_durable_f *fn, void *arg);
void server_when_durable_cancel(struct server *s, server_durable_f *fn, void *arg);
/* The group that what memory shows now belongs to (reads wait for it); 0 if all is durable. */
uint64_t server_pending_group(struct server *s);

/* Idempotency: true and the kept answer (in mem) if (tenant, key) was used; ERR_CONFLICT if it was
 * used with another request digest.  server_idempotent_keep() joins the group of the write that
 * just happened. */
int server_idempotent_find(struct server *s, const struct caller *who, const char *key,
                           uint64_t request, struct arena *mem, bool *ret_found,
                           uint32_t *ret_status, struct str *ret_reply, struct err *e);
void server_idempotent_keep(struct server *s, const struct caller *who, const char *key,
                            uint64_t request, uint32_t status, struct str reply);

/* Events.  Reads durable events after `since` for this tenant as JSON lines ({"id":..}\n...) into
 * b, at most max; *ret_last is the last one's number.  Older than the memory ring: read from the
 * store on the pool, fn(arg) is called when it may be tried again and 1 is returned.  A gap is
 * reported in *ret_gap_from. */
int server_events_read(struct server *s, const struct caller *who, uint64_t since, uint32_t max,
                       struct buf *b, uint64_t *ret_last, uint64_t *ret_first_kept, struct err *e);
uint64_t server_events_last(struct server *s); /* newest durable number */
/* fn(arg) each time newer durable events exist; cancel before freeing arg. */
void server_events_subscribe(struct server *s, loop_call_f *fn, void *arg);
void server_events_unsubscribe(struct server *s, loop_call_f *fn, void *arg);

/* Attempt logs: bytes from offset; *ret_ended when the attempt is over and all was read.
 * ERR_NOT_FOUND. */
int server_log_read(struct server *s, const struct caller *who, uint32_t task, uint32_t attempt,
                    uint64_t from, size_t max, struct buf *b, bool *ret_ended, struct err *e);
void server_log_subscribe(struct server *s, uint32_t task, uint32_t attempt, loop_call_f *fn,
                          void *arg);
void server_log_unsubscribe(struct server *s, loop_call_f *fn, void *arg);

/* A worker's line (relay.h).  A poll acknowledges what came by the ones before it and answers with
 * what came since.  1: nothing yet; fn(arg) is called once, when it should be asked `again`: there
 * is something, or its time is over, or another poll has taken its place.  Cancel with the same fn
 * and arg.  Messages are taken in order, each number once. */
int server_worker_poll(struct server *s, const struct server_call *c, bool again, loop_call_f *fn,
                       void *arg, struct buf *ret_json, struct err *e);
void server_worker_poll_cancel(struct server *s, loop_call_f *fn, void *arg);
int server_worker_messages(struct server *s, const struct server_call *c, struct buf *ret_json,
                           struct err *e);

/* Prometheus text. */
void server_metrics(struct server *s, struct buf *b);
bool server_is_ready(struct server *s);

/* One function per route that is not one of the above; see docs/rfc/05-api.md. */
#define SERVER_OPS(X)                                                                              \
    X(status)                                                                                      \
    X(token_list)                                                                                  \
    X(token_create)                                                                                \
    X(token_revoke)                                                                                \
    X(node_list)                                                                                   \
    X(node_create)                                                                                 \
    X(node_get)                                                                                    \
    X(node_patch)                                                                                  \
    X(node_delete)                                                                                 \
    X(node_report)                                                                                 \
    X(node_redeploy)                                                                               \
    X(announce)                                                                                    \
    X(group_list)                                                                                  \
    X(catalog_get)                                                                                 \
    X(catalog_load)                                                                                \
    X(catalog_generations)                                                                         \
    X(catalog_files)                                                                               \
    X(barclamp_list)                                                                               \
    X(barclamp_tasks)                                                                              \
    X(barclamp_tasks_set)                                                                          \
    X(barclamp_tasks_versions)                                                                     \
    X(barclamp_tasks_diff)                                                                         \
    X(role_list)                                                                                   \
    X(role_get)                                                                                    \
    X(role_rerun)                                                                                  \
    X(role_store)                                                                                  \
    X(jig_list)                                                                                    \
    X(jig_get)                                                                                     \
    X(jig_patch)                                                                                   \
    X(pool_list)                                                                                   \
    X(pool_get)                                                                                    \
    X(pool_put)                                                                                    \
    X(provider_list)                                                                               \
    X(provider_get)                                                                                \
    X(provider_put)                                                                                \
    X(provider_delete)                                                                             \
    X(plugin_list)                                                                                 \
    X(plugin_get)                                                                                  \
    X(resource_list)                                                                               \
    X(resource_create)                                                                             \
    X(resource_get)                                                                                \
    X(resource_delete)                                                                             \
    X(resource_stage)                                                                              \
    X(resource_recall)                                                                             \
    X(resource_sync)                                                                               \
    X(content_get)                                                                                 \
    X(content_put)                                                                                 \
    X(deployment_list)                                                                             \
    X(deployment_create)                                                                           \
    X(deployment_get)                                                                              \
    X(deployment_patch)                                                                            \
    X(deployment_delete)                                                                           \
    X(deployment_snapshots)                                                                        \
    X(deployment_diff)                                                                             \
    X(deployment_propose)                                                                          \
    X(deployment_proposal)                                                                         \
    X(deployment_edit)                                                                             \
    X(deployment_recall)                                                                           \
    X(deployment_commit)                                                                           \
    X(deployment_unbind)                                                                           \
    X(deployment_bind)                                                                             \
    X(deployment_tasks)                                                                            \
    X(deployment_tasks_set)                                                                        \
    X(deployment_tasks_versions)                                                                   \
    X(deployment_tasks_diff)                                                                       \
    X(cluster_list)                                                                                \
    X(cluster_create)                                                                              \
    X(cluster_get)                                                                                 \
    X(cluster_patch)                                                                               \
    X(cluster_operate)                                                                             \
    X(deployment_deploy)                                                                           \
    X(deployment_graph)                                                                            \
    X(noderole_list)                                                                               \
    X(noderole_get)                                                                                \
    X(noderole_data)                                                                               \
    X(noderole_visible)                                                                            \
    X(noderole_rerun)                                                                              \
    X(noderole_retry)                                                                              \
    X(noderole_abandon)                                                                            \
    X(operation_list)                                                                              \
    X(operation_get)                                                                               \
    X(operation_cancel)                                                                            \
    X(operation_retry)                                                                             \
    X(operation_resume)                                                                            \
    X(operation_history)                                                                           \
    X(operation_timeline)                                                                          \
    X(task_list)                                                                                   \
    X(task_get)                                                                                    \
    X(task_retry)                                                                                  \
    X(task_poke)                                                                                   \
    X(task_resolve)                                                                                \
    X(task_attempts)                                                                               \
    X(worker_list)                                                                                 \
    X(worker_get)                                                                                  \
    X(worker_patch)                                                                                \
    X(worker_delete)                                                                               \
    X(worker_token)                                                                                \
    X(worker_join)                                                                                 \
    X(tenant_list)                                                                                 \
    X(tenant_create)                                                                               \
    X(tenant_get)                                                                                  \
    X(tenant_patch)                                                                                \
    X(tenant_delete)                                                                               \
    X(why)                                                                                         \
    X(admin_backup)                                                                                \
    X(admin_check)                                                                                 \
    X(admin_confirm_dead)
#define X(name) server_op_f server_##name;
SERVER_OPS(X)
#undef X

#endif
