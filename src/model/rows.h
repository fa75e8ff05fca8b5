/* rows.h - what the store keeps, one list of columns per table
 *
 * Struct, SQL columns, binding, reading, checkpoints and equality come from these lists.  Each row
 * has a tenant and a realm and an integer key `id`.  KEY is the key, FIX is written at insert only,
 * DYN is rewritten by an update.  Engine rows are small and fixed; documents live in tables of
 * their own so that a state change never rewrites them.  sql/NNNN-*.sql must agree: a test
 * compares.
 *
 * task.state never stores READY: it is PENDING with nothing left to wait for, and is derived at
 * load.  A row of an attempt whose outcome is ATTEMPT_OPEN is also the outbox entry of its TASK
 * message: the message may leave once the row is durable.  It is sent once; when nobody answers for
 * the attempt any more it is lost, and `repeat` decides.
 *
 * Attempts are stored in the order in which they start, so that those written together lie
 * together whatever tasks they are of.  A task's row names its newest attempt, each attempt the one
 * before.  Inside the process an attempt's id is task << ATTEMPT_BITS | number; the commit step
 * gives it its stored id, a restart takes it away again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_ROWS_H
#define MODEL_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/settings.h"

enum { ATTEMPT_OPEN = 255, ATTEMPT_BITS = 20 };

/*      type  name            role */
#define ROW_META(X)                                                                                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U64, group_no, DYN) /* the last group committed */                                           \
    X(U64, journal_seq, DYN)                                                                       \
    X(U64, now_ms, DYN) /* engine time */                                                          \
    X(U32, next_node, DYN)                                                                         \
    X(U32, next_noderole, DYN)                                                                     \
    X(U32, next_task, DYN)                                                                         \
    X(U32, next_operation, DYN)                                                                    \
    X(U32, next_def, DYN)                                                                          \
    X(U32, next_span, DYN)                                                                         \
    X(U32, next_pool, DYN)                                                                         \
    X(U32, next_group, DYN)                                                                        \
    X(U32, next_deployment, DYN)                                                                   \
    X(U32, next_token, DYN)                                                                        \
    X(U32, catalog, DYN)      /* live generation */                                                \
    X(U32, suspect, DYN)      /* suspect self: 1 while no death is declared */                     \
    X(U64, run_no, DYN)       /* raised at each start of a server */                               \
    X(U64, tenant_floor, DYN) /* what a tenant that wakes up starts from */                        \
    X(U32, capacity, DYN)     /* workers' slots */                                                 \
    X(U8, freeze, DYN)        /* policy: an error freezes its node */                              \
    X(U64, attempts, DYN)     /* last id given to an attempt */                                    \
    X(U64, fence, DYN)        /* when this history began, s; 0: it is another one's, restored */   \
    X(TEXT, engine, DYN)      /* version that wrote it */
/* What the engine runs with: one row, there since it was first told. */
#define ROW_SETTING(X, name, otherwise) X(U64, name, DYN)
#define ROW_SETTINGS(X)                                                                            \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    ENGINE_SETTINGS(ROW_SETTING, X)
#define ROW_TENANT(X)                                                                              \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U64, served, DYN)                                                                            \
    X(U64, floor, DYN)                                                                             \
    X(U32, share, DYN) /* of workers' slots; TENANT_ALL: as many as there are */                   \
    X(U32, wish, DYN)  /* slots that it wants for itself; 0: it shares what others leave */        \
    X(U8, gone, DYN)
enum { TENANT_ALL = 0 };
#define ROW_TOKEN(X)                                                                               \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(TEXT, hash, FIX)                                                                             \
    X(TEXT, scope, FIX)                                                                            \
    X(U64, created_ms, FIX)                                                                        \
    X(U8, revoked, DYN)
#define ROW_DEPLOYMENT(X)                                                                          \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U32, parent, FIX)                                                                            \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, rev, DYN)                                                                               \
    X(TEXT, body, DYN)
#define ROW_CATALOG(X)                                                                             \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, digest, FIX)                                                                           \
    X(TEXT, origin, FIX)                                                                           \
    X(U64, loaded_ms, FIX)                                                                         \
    X(TEXT, files, FIX) /* {path: text} */
#define ROW_JIG(X)                                                                                 \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U8, active, DYN)                                                                             \
    X(U32, slots, DYN)
#define ROW_POOL(X)                                                                                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U32, size, DYN)                                                                              \
    X(U32, elsewhere, DYN)                                                                         \
    X(U8, closed, DYN)                                                                             \
    X(TEXT, note, DYN)
#define ROW_GRP(X) /* noderoles that together may fail so often */                                 \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U32, may_fail, FIX)                                                                          \
    X(U8, stops, FIX) /* a roll-out: beyond that no further one starts */
#define ROW_NODE(X)                                                                                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U8, available, DYN)                                                                          \
    X(U8, alive, DYN)                                                                              \
    X(U32, slots, DYN)                                                                             \
    X(U64, machine, DYN)                                                                           \
    X(U64, boot, DYN)                                                                              \
    X(U64, silent_ms, DYN)                                                                         \
    X(U32, probes, DYN)                                                                            \
    X(U64, away_until_ms, DYN)                                                                     \
    X(U8, gone, DYN)
#define ROW_NODE_BODY(X) /* what the engine does not look at */                                    \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, rev, DYN)                                                                               \
    X(U32, deployment, DYN)                                                                        \
    X(U32, leaving, DYN)                                                                           \
    X(TEXT, body, DYN)
#define ROW_DEF(X)                                                                                 \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(TEXT, role, FIX)                                                                             \
    X(U32, jig, FIX)                                                                               \
    X(U64, digest, FIX)                                                                            \
    X(U8, repeat, FIX)                                                                             \
    X(U8, hold, FIX)                                                                               \
    X(U8, flags, FIX)                                                                              \
    X(U32, retries, FIX)                                                                           \
    X(U64, backoff_ms, FIX)                                                                        \
    X(U64, timeout_ms, FIX)                                                                        \
    X(U64, deadline_ms, FIX)                                                                       \
    X(TEXT, body, FIX)
#define ROW_OPERATION(X)                                                                           \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, kind, FIX)                                                                             \
    X(TEXT, title, FIX)                                                                            \
    X(TEXT, actor, FIX)                                                                            \
    X(U8, class, FIX)                                                                              \
    X(U64, created_ms, FIX)                                                                        \
    X(U8, state, DYN)                                                                              \
    X(U8, reason, DYN)                                                                             \
    X(U8, held, DYN)                                                                               \
    X(U32, gone, DYN)     /* tasks that passed, of noderoles that vanished since */                \
    X(U32, failures, DYN) /* members of each roll-out that may fail, + 1; 0: as planned */         \
    X(U64, served, DYN)                                                                            \
    X(U64, ended_ms, DYN)                                                                          \
    X(U32, total, DYN)                                                                             \
    X(U32, done, DYN)                                                                              \
    X(U32, failed, DYN)
#define ROW_NODEROLE(X)                                                                            \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, role, FIX)                                                                             \
    X(U32, node, FIX)                                                                              \
    X(U32, first_task, DYN)                                                                        \
    X(U32, n_tasks, DYN)                                                                           \
    X(U8, flags, DYN)                                                                              \
    X(BLOB, parents, DYN)                                                                          \
    X(U32, cohort, DYN)                                                                            \
    X(U8, state, DYN)                                                                              \
    X(U8, target, DYN)                                                                             \
    X(U8, reason, DYN)                                                                             \
    X(U32, mode, DYN)                                                                              \
    X(U32, answered, DYN) /* operation in which what a parent returned began its run */            \
    X(U32, generation, DYN)                                                                        \
    X(U32, incarnation, DYN)                                                                       \
    X(U32, operation, DYN)                                                                         \
    X(U32, grp, DYN)                                                                               \
    X(U32, run_count, DYN)                                                                         \
    X(U64, data, DYN)                                                                              \
    X(U64, inputs, DYN)                                                                            \
    X(BLOB, quorums, DYN) /* of each: how many are enough, how many members, their ids */
#define ROW_DOCUMENT(X)   /* what of a noderole is not the engine's; same id */                    \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, rev, DYN)                                                                               \
    X(U32, deployment, DYN)                                                                        \
    X(TEXT, user, DYN)                                                                             \
    X(TEXT, system, DYN)                                                                           \
    X(TEXT, wall, DYN)                                                                             \
    X(U64, lens, DYN) /* what it sees by */
#define ROW_LENS(X)   /* what roles say of what their runs see (model/lens.h), each once */        \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, text, FIX)
#define ROW_SPAN(X)                                                                                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(BLOB, pools, FIX)                                                                            \
    X(U8, held, DYN)
#define ROW_TASK(X)                                                                                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, weight, FIX)                                                                            \
    X(U32, span, FIX)                                                                              \
    X(BLOB, deps, FIX)                                                                             \
    X(U8, rule, DYN) /* enum task_rule; and ROW_TASK_TRIED */                                      \
    X(U32, noderole, DYN)                                                                          \
    X(U32, def, DYN)                                                                               \
    X(U8, state, DYN)                                                                              \
    X(U8, reason, DYN)                                                                             \
    X(U32, attempt, DYN)                                                                           \
    X(U32, tries, DYN)                                                                             \
    X(U64, wake_ms, DYN)                                                                           \
    X(U64, done_digest, DYN)                                                                       \
    X(U64, last, DYN) /* its newest attempt that has ended, or a later one */
#define ROW_ATTEMPT(X)                                                                             \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, task, FIX)                                                                              \
    X(U32, number, FIX)                                                                            \
    X(U64, previous, FIX) /* the same task's, 0 if none */                                         \
    X(U32, node, FIX)                                                                              \
    X(U32, generation, FIX)                                                                        \
    X(U32, operation, FIX) /* that its noderole belonged to as it started: its history */          \
    X(U64, started_ms, FIX)                                                                        \
    X(U64, started_wall_ms, FIX)                                                                   \
    X(U32, behind, FIX) /* sent ahead, to run when this task has succeeded; 0: not so */           \
    X(U64, input, DYN)                                                                             \
    X(U64, turn_ms, DYN) /* when that was; 0: it has not been, or it was not sent ahead */         \
    X(U8, outcome, DYN)                                                                            \
    X(U8, flags, DYN)                                                                              \
    X(U32, asks, DYN)                                                                              \
    X(U64, wake_ms, DYN)                                                                           \
    X(U64, deadline_ms, DYN)                                                                       \
    X(U64, ended_ms, DYN)                                                                          \
    X(I64, exit_code, DYN)                                                                         \
    X(U8, phase, DYN) /* enum phase */                                                             \
    X(TEXT, note, DYN)
#define ROW_PACE(X) /* how long tasks of a definition take (server/pace.h) */                      \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U64, expected_us, DYN)                                                                       \
    X(U64, runs, DYN) /* that were learnt from */
#define ROW_JOURNAL(X)                                                                             \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U64, at_ms, FIX)                                                                             \
    X(U64, wall_ms, FIX)                                                                           \
    X(U8, kind, FIX)                                                                               \
    X(TEXT, actor, FIX)                                                                            \
    X(TEXT, input, FIX)                                                                            \
    X(TEXT, changes, FIX)
#define ROW_PLAN(X) /* what was applied, for replay */                                             \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U64, journal, FIX)                                                                           \
    X(BLOB, body, FIX)
#define ROW_ASIDE(X) /* rows as bytes, newer than what lies in their place (server/aside.h) */     \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(BLOB, body, FIX)
enum { ASIDE_PART_BITS = 12 }; /* its id: the group, and in these bits the part */
#define ROW_NAME(X)            /* of a role, as desired state calls it whatever the catalog */     \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, text, FIX)
#define ROW_DOC(X) /* data given by users, each content once */                                    \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, text, FIX)
#define ROW_TRIE(X) /* a node of a persistent map (model/pmap.h) */                                \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(BLOB, body, FIX)
#define ROW_SNAPSHOT(X)                                                                            \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, deployment, FIX)                                                                        \
    X(U32, number, FIX) /* in the history of its deployment */                                     \
    X(TEXT, author, FIX)                                                                           \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, source, FIX) /* number of the one that it was proposed to go back to; 0: none */        \
    X(U8, state, DYN)                                                                              \
    X(U64, root, DYN) /* its map */                                                                \
    X(U64, base, DYN) /* the map it was proposed from */                                           \
    X(U32, catalog, DYN)                                                                           \
    X(U32, oldest, DYN)    /* catalog that something of it may still follow */                     \
    X(U32, operation, DYN) /* that committed it */                                                 \
    X(U64, ended_ms, DYN)  /* committed, or recalled */                                            \
    X(TEXT, message, DYN)
#define ROW_ROLE_STORE(X) /* what hooks of a role keep; id: of its name */                         \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, rev, DYN)                                                                               \
    X(TEXT, body, DYN)
#define ROW_OVERLAY(X) /* a version of what lies over a task graph of the catalog */               \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U8, scope, FIX)       /* 0: a barclamp's, 1: a deployment's */                               \
    X(TEXT, barclamp, FIX)  /* its name, "" of a deployment's */                                   \
    X(U32, deployment, FIX) /* 0 of a barclamp's */                                                \
    X(TEXT, graph, FIX)                                                                            \
    X(U32, version, FIX) /* from 1, of its scope and graph */                                      \
    X(U32, tasks, FIX)   /* vertices in the text */                                                \
    X(TEXT, author, FIX)                                                                           \
    X(U64, created_ms, FIX)                                                                        \
    X(TEXT, message, FIX)                                                                          \
    X(TEXT, text, FIX)    /* a list of vertices, as it was given */
#define ROW_DEPLOY_RUN(X) /* of a noderole with tasks of a graph: its last deploy */               \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U32, operation, DYN)                                                                         \
    X(U8, no_op, DYN)                                                                              \
    X(U64, common, DYN) /* documents that its conditions were decided by */                        \
    X(U64, own, DYN)                                                                               \
    X(TEXT, seen, DYN)    /* JSON: [[common, own, [task ...]] ...], at their last success */
#define ROW_DEPLOY_DOC(X) /* such a document, each content once */                                 \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, text, FIX)
#define ROW_CLUSTER(X) /* of a deployment that was made from a template; id: of that */            \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, owner, FIX)                                                                            \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, rev, DYN)                                                                               \
    X(U64, lease_ms, DYN)    /* wall clock: when it is deleted; 0: never */                        \
    X(U32, next_number, DYN) /* of its nodes */                                                    \
    X(U32, operation, DYN)   /* its last */                                                        \
    X(U8, verb, DYN)         /* what that was: enum cluster_verb */                                \
    X(TEXT, waiting, DYN)    /* JSON: requests that wait for its end */
#define ROW_PAYLOAD(X)       /* what tasks told about a node of a cluster; id: of the node */      \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, body, DYN)  /* JSON: {results: {task: ...}, config: {...}} */
#define ROW_PROVIDER(X) /* what was said to a provider; never in clear what is sensitive */        \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, rev, DYN)                                                                               \
    X(TEXT, type, DYN)                                                                             \
    X(TEXT, fields, DYN) /* JSON: a map */                                                         \
    X(TEXT, names, DYN)  /* JSON: a list, of what is sealed; "" for none */                        \
    X(TEXT, sealed, DYN)
#define ROW_CREDENTIAL(X) /* what a cluster said in confidence; id: of its deployment */           \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, names, DYN)                                                                            \
    X(TEXT, sealed, DYN)
#define ROW_WORKER(X) /* who has joined; the worker inside the server has no row */                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, rev, DYN)                                                                               \
    X(TEXT, hash, DYN)   /* of its credential */                                                   \
    X(TEXT, labels, DYN) /* JSON: a map */                                                         \
    X(U8, draining, DYN)
#define ROW_INVITE(X) /* to join once */                                                           \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, hash, FIX)                                                                             \
    X(TEXT, name, FIX)    /* that the worker must have; "": any */                                 \
    X(TEXT, labels, FIX)  /* JSON: a map, laid over its own */                                     \
    X(U64, until_ms, FIX) /* wall clock */                                                         \
    X(U8, used, DYN)
#define ROW_RESOURCE(                                                                              \
    X) /* a version of a plugin's resource; its content is a file by that digest */                \
    X(U32, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(TEXT, type, FIX)                                                                             \
    X(TEXT, kind, FIX)                                                                             \
    X(TEXT, name, FIX)                                                                             \
    X(U32, version, FIX)                                                                           \
    X(TEXT, digest, FIX)                                                                           \
    X(U64, size_bytes, FIX)                                                                        \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, rev, DYN)                                                                               \
    X(U8, state, DYN) /* enum resource_state */
#define ROW_IDEMPOTENT(X)                                                                          \
    X(U64, id, KEY)                                                                                \
    X(U32, tenant, FIX)                                                                            \
    X(U32, realm, FIX)                                                                             \
    X(U64, request, FIX)                                                                           \
    X(U64, created_ms, FIX)                                                                        \
    X(U32, status, FIX)                                                                            \
    X(TEXT, reply, FIX)

#define ROW_TABLES(X)                                                                              \
    X(META, meta)                                                                                  \
    X(TENANT, tenant)                                                                              \
    X(TOKEN, token)                                                                                \
    X(DEPLOYMENT, deployment)                                                                      \
    X(CATALOG, catalog)                                                                            \
    X(JIG, jig)                                                                                    \
    X(POOL, pool)                                                                                  \
    X(GROUP, grp)                                                                                  \
    X(NODE, node)                                                                                  \
    X(NODE_BODY, node_body)                                                                        \
    X(DEF, def)                                                                                    \
    X(OPERATION, operation)                                                                        \
    X(NODEROLE, noderole)                                                                          \
    X(DOCUMENT, document)                                                                          \
    X(LENS, lens)                                                                                  \
    X(SPAN, span)                                                                                  \
    X(TASK, task)                                                                                  \
    X(ATTEMPT, attempt)                                                                            \
    X(ASIDE, aside)                                                                                \
    X(IDEMPOTENT, idempotent)                                                                      \
    X(NAME, name)                                                                                  \
    X(DOC, doc)                                                                                    \
    X(TRIE, trie)                                                                                  \
    X(SNAPSHOT, snapshot)                                                                          \
    X(ROLE_STORE, role_store)                                                                      \
    X(OVERLAY, overlay)                                                                            \
    X(PACE, pace)                                                                                  \
    X(DEPLOY_RUN, deploy_run)                                                                      \
    X(DEPLOY_DOC, deploy_doc)                                                                      \
    X(CLUSTER, cluster)                                                                            \
    X(PAYLOAD, payload)                                                                            \
    X(PROVIDER, provider)                                                                          \
    X(CREDENTIAL, credential)                                                                      \
    X(WORKER, worker)                                                                              \
    X(INVITE, invite)                                                                              \
    X(RESOURCE, resource)                                                                          \
    X(PLAN, plan)                                                                                  \
    X(JOURNAL, journal)                                                                            \
    X(SETTINGS, settings)

#define ROW_C_U8            uint8_t
#define ROW_C_U32           uint32_t
#define ROW_C_U64           uint64_t
#define ROW_C_I64           int64_t
#define ROW_C_TEXT          struct str
#define ROW_C_BLOB          struct str
#define X(type, name, role) ROW_C_##type name;
struct row_meta {
    ROW_META(X)
};
struct row_settings {
    ROW_SETTINGS(X)
};
struct row_tenant {
    ROW_TENANT(X)
};
struct row_token {
    ROW_TOKEN(X)
};
struct row_deployment {
    ROW_DEPLOYMENT(X)
};
struct row_catalog {
    ROW_CATALOG(X)
};
struct row_jig {
    ROW_JIG(X)
};
struct row_pool {
    ROW_POOL(X)
};
struct row_grp {
    ROW_GRP(X)
};
struct row_node {
    ROW_NODE(X)
};
struct row_node_body {
    ROW_NODE_BODY(X)
};
struct row_def {
    ROW_DEF(X)
};
struct row_operation {
    ROW_OPERATION(X)
};
struct row_noderole {
    ROW_NODEROLE(X)
};
struct row_document {
    ROW_DOCUMENT(X)
};
struct row_span {
    ROW_SPAN(X)
};
enum { ROW_TASK_TRIED = 0x80 }; /* an attempt of it has begun, or may have */
struct row_task {
    ROW_TASK(X)
};
struct row_attempt {
    ROW_ATTEMPT(X)
};
/* One that was sent ahead began when its turn came, if it did. */
static inline bool attempt_began(const struct row_attempt *r)
{
    return r->behind == 0 || r->turn_ms > 0;
}
static inline uint64_t attempt_began_ms(const struct row_attempt *r)
{
    return r->turn_ms ? r->turn_ms : r->started_ms;
}
static inline uint64_t attempt_began_wall_ms(const struct row_attempt *r)
{
    return r->started_wall_ms + (attempt_began_ms(r) - r->started_ms);
}
struct row_pace {
    ROW_PACE(X)
};
struct row_journal {
    ROW_JOURNAL(X)
};
struct row_plan {
    ROW_PLAN(X)
};
struct row_aside {
    ROW_ASIDE(X)
};
struct row_name {
    ROW_NAME(X)
};
struct row_lens {
    ROW_LENS(X)
};
struct row_doc {
    ROW_DOC(X)
};
struct row_trie {
    ROW_TRIE(X)
};
struct row_snapshot {
    ROW_SNAPSHOT(X)
};
struct row_role_store {
    ROW_ROLE_STORE(X)
};
struct row_overlay {
    ROW_OVERLAY(X)
};
struct row_deploy_run {
    ROW_DEPLOY_RUN(X)
};
struct row_deploy_doc {
    ROW_DEPLOY_DOC(X)
};
struct row_cluster {
    ROW_CLUSTER(X)
};
struct row_payload {
    ROW_PAYLOAD(X)
};
struct row_provider {
    ROW_PROVIDER(X)
};
struct row_credential {
    ROW_CREDENTIAL(X)
};
struct row_worker {
    ROW_WORKER(X)
};
struct row_invite {
    ROW_INVITE(X)
};
struct row_resource {
    ROW_RESOURCE(X)
};
struct row_idempotent {
    ROW_IDEMPOTENT(X)
};
#undef X
/* Room for a row of any table. */
union row_any {
#define X(id, name) struct row_##name name;
    ROW_TABLES(X)
#undef X
};

enum row_table {
#define X(id, name) ROWS_##id,
    ROW_TABLES(X)
#undef X
        ROWS_COUNT
};
enum row_type { ROW_U8, ROW_U32, ROW_U64, ROW_I64, ROW_TEXT, ROW_BLOB };
enum row_role { ROW_KEY, ROW_FIX, ROW_DYN };
struct row_column {
    const char *name;
    uint8_t type, role;
    uint16_t offset;
};
struct row_layout {
    const char *name;
    const struct row_column *columns;
    uint16_t n_columns;
    uint16_t size; /* of the struct */
};
extern const struct row_layout row_layouts[ROWS_COUNT];

/* A group: what one transaction writes.  Operations apply in order. */
enum row_verb { ROW_INSERT, ROW_UPDATE, ROW_PUT, ROW_DELETE }; /* PUT: insert or replace */
struct row_op {
    uint8_t table, verb;
    const void *row; /* struct row_x of that table; DELETE reads the key only */
};
uint64_t row_key(enum row_table t, const void *row);
/* Canonical bytes of a row (type-tagged, little endian), for checkpoints and state digests. */
void row_encode(struct buf *b, enum row_table t, const void *row);
/* Text and blobs point into `from`.  Returns bytes consumed, or 0 if malformed. */
size_t row_decode(enum row_table t, struct str from, void *ret_row);
/* One value of these bytes, for who knows the columns otherwise: they begin with their number, one
 * byte, then come the values.  Takes it from the front of *from; false if malformed. */
struct row_value {
    uint8_t type;    /* enum row_type */
    uint64_t number; /* of a text its length */
    struct str text; /* points into `from` */
};
bool row_value_take(struct str *from, struct row_value *ret_v);

#endif
