/* annealer.h - the engine: (state, event, time) -> (state', effects)
 *
 * Pure: no clock, no I/O, no logging, no globals.  Events come in one at a time; each step ends
 * with everything settled and every start granted that can be.  The rules are
 * docs/rfc/01-engine.md.  The state can be written out as rows and read back; both give the same
 * engine, which anneal_digest() proves.
 *
 * Cost: an event costs O(degree) plus O(log n) per start; a loss costs its cone; nothing scans the
 * graph.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ANNEALER_ANNEALER_H
#define ANNEALER_ANNEALER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/effect.h"
#include "model/event.h"
#include "model/rows.h"
#include "model/states.h"

struct anneal;
enum { OPERATION_STANDING = 1 }; /* always open: re-runs that no request asked for */

/* Runs with the defaults of model/settings.h until EVENT_SETTINGS_SET says otherwise: what it is
 * fed is all that it depends on. */
struct anneal *anneal_new(void);
void anneal_free(struct anneal *a);

/* Applies one event.  On failure (-ERR_CONFLICT: illegal in this state, -ERR_NOT_FOUND,
 * -ERR_INVALID) nothing has changed.  A result of an attempt that is not live returns 0 and changes
 * history only. */
int anneal_step(struct anneal *a, const struct event *ev, struct effects *fx, struct err *e);
/* A result for this task will come soon: in a few events (far) or next but one (near).  Whoever has
 * a batch of results says so ahead and spares each step its cache misses.  Changes nothing. */
void anneal_expect_far(const struct anneal *a, uint32_t task);
void anneal_expect_near(const struct anneal *a, uint32_t task);
/* When the next timer is due; UINT64_MAX if none is armed. */
uint64_t anneal_next_timer(const struct anneal *a);
uint64_t anneal_now(const struct anneal *a);

/* Reading.  Views are copies; false if there is no such object. */
struct task_view {
    uint32_t id, noderole, node, operation, def, weight, span, attempt, tries, unmet, asks;
    uint8_t state, reason, rule;
    bool passive; /* nothing executes it, as things are */
    bool done;    /* it succeeded, and that still counts; or what did is kept by it */
    bool undone;  /* what it makes is taken back before it is tried again */
    bool tried;   /* an attempt of it has begun, or may have */
    uint64_t started_ms, deadline_ms, wake_ms;
    bool superseded_runs; /* an older attempt is still running */
    uint32_t behind; /* its attempt was sent ahead, to run behind this task; 0: not so, or begun */
};
struct noderole_view {
    uint32_t id, node, operation, first_task, n_tasks, cohort, generation, incarnation, run_count;
    uint32_t parents_out;
    uint32_t gate; /* need-parents whose tasks have not all passed; quorums that lack such */
    uint32_t group;
    uint8_t state, target, reason, flags;
    bool begun;    /* a task of this run was started that its roll-out, if any, is about */
    bool forgiven; /* its failure does not count in its roll-out: that was resumed */
    bool let;      /* a person had it retried, whatever its roll-out does */
    bool stopped;  /* its roll-out stopped before it began: it is left as it is */
    bool counts;   /* of some of its parents a number is enough: anneal_quorum() */
    uint64_t data; /* digest of its inputs */
};
struct quorum_view { /* parents of which some are enough */
    uint32_t min;    /* as it was asked for: a number, or one of a hundred */
    bool percent;
    uint32_t first;   /* the member with the lowest id */
    uint32_t members; /* whose need counts */
    uint32_t enough;  /* of them */
    uint32_t serving; /* in service */
    uint32_t complete;
};
struct node_view {
    uint32_t id, slots, used, errors, noderoles;
    uint8_t available, alive;
    uint64_t silent_ms, machine, boot;
    uint32_t probes;        /* that it did not answer since silent_ms */
    uint64_t away_until_ms; /* a task took it down, and no sight of it came since; 0: none did */
    bool frozen, gone;
};
struct operation_view {
    uint32_t id, tenant, counts[TASK_STATE_COUNT], live;
    uint8_t state, reason, class;
    bool held;
    uint64_t ended_ms;
    uint32_t total, done, failed; /* as it ended */
    uint32_t failures; /* that a resume allowed its roll-outs, and 1; 0: none has said how many */
};
struct open_attempt {
    uint32_t task, attempt, asks;
    uint64_t started_ms; /* or was sent ahead */
    bool waiting, stopping, ahead;
};
struct pool_view {
    uint32_t id, size, taken, elsewhere, waiting;
    bool closed;
};
struct tenant_view {
    uint32_t id, share, used, wish;
    bool gone;
};
struct jig_view {
    uint32_t id, slots, taken, waiting;
    bool active;
};
struct group_view {
    uint32_t id, may_fail, failed; /* of its noderoles: failed, or what they wait for has */
    bool beyond;
    bool stops; /* a roll-out: no further one starts */
};
bool anneal_task(const struct anneal *a, uint32_t id, struct task_view *ret);
bool anneal_noderole(const struct anneal *a, uint32_t id, struct noderole_view *ret);
bool anneal_node(const struct anneal *a, uint32_t id, struct node_view *ret);
bool anneal_operation(const struct anneal *a, uint32_t id, struct operation_view *ret);
/* The operation that a noderole joins if it runs again because of what another one did: that one's
 * own while it is open, so that it ends when all that follows from it is done.  0: it joins none,
 * since it is not in service, or belongs to one that is open or held. */
uint32_t anneal_joins(const struct anneal *a, uint32_t noderole, uint32_t cause);
bool anneal_pool(const struct anneal *a, uint32_t id, struct pool_view *ret);
bool anneal_tenant(const struct anneal *a, uint32_t id, struct tenant_view *ret_v);
uint32_t anneal_tenant_end(const struct anneal *a);                 /* one above the highest id */
uint32_t anneal_task_tenant(const struct anneal *a, uint32_t task); /* 0: no such task */
bool anneal_jig(const struct anneal *a, uint32_t id, struct jig_view *ret);
bool anneal_group(const struct anneal *a, uint32_t id, struct group_view *ret);
/* Of a roll-out, in an operation: how many have failed, and how many may. */
uint32_t anneal_rollout(struct anneal *a, uint32_t group, uint32_t op, uint32_t *ret_may);
/* Highest id in use + 1, per kind. */
uint32_t anneal_task_end(const struct anneal *a);
uint32_t anneal_noderole_end(const struct anneal *a);
uint32_t anneal_node_end(const struct anneal *a);
uint32_t anneal_operation_end(const struct anneal *a);
uint32_t anneal_pool_end(const struct anneal *a);
uint32_t anneal_group_end(const struct anneal *a);
uint32_t anneal_def_end(const struct anneal *a);
uint32_t anneal_span_end(const struct anneal *a);
/* Would EVENT_PLAN_APPLY of this rebased plan be taken? */
int anneal_plan_check(const struct anneal *a, const struct plan *p, struct err *e);
/* Would EVENT_REDEPLOY of this node, in an operation that is open? */
int anneal_redeploy_check(const struct anneal *a, uint32_t node, struct err *e);
/* Borrowed until the next step. */
const uint32_t *anneal_task_deps(const struct anneal *a, uint32_t task, uint32_t *ret_n);
const uint32_t *anneal_parents(const struct anneal *a, uint32_t noderole, uint32_t *ret_n);
/* Those, and the parents whose need sleeps: how many; at most `room` of them are written. */
uint32_t anneal_needs(const struct anneal *a, uint32_t noderole, uint32_t *ret_ids, uint32_t room);
/* Does one that goes, or is to, wait for the other: to let go of it, or as its successor? */
bool anneal_leaves(const struct anneal *a, uint32_t goer, uint32_t holder, bool *ret_successor);
/* Does the next run of a child wait for a parent whose need sleeps? */
bool anneal_awaits(const struct anneal *a, uint32_t child, uint32_t parent);
const uint32_t *anneal_children(const struct anneal *a, uint32_t noderole, uint32_t *ret_n);
/* Those, and the children whose need of it sleeps; as anneal_needs(). */
uint32_t anneal_needed_by(const struct anneal *a, uint32_t noderole, uint32_t *ret_ids,
                          uint32_t room);
/* The quorum of a noderole that this parent is in; false: it is needed by itself. */
bool anneal_quorum(const struct anneal *a, uint32_t noderole, uint32_t parent,
                   struct quorum_view *ret);
/* Will nothing that lacks stand before it when this parent is complete? */
bool anneal_opens(const struct anneal *a, uint32_t noderole, uint32_t parent);
const uint32_t *anneal_span_pools(const struct anneal *a, uint32_t span, uint32_t *ret_n,
                                  bool *ret_held);
uint32_t anneal_node_first_noderole(const struct anneal *a, uint32_t node);
uint32_t anneal_node_next_noderole(const struct anneal *a, uint32_t noderole);
/* Is this attempt the live one (or, superseded, still holding its node)? */
bool anneal_attempt_open(const struct anneal *a, uint32_t task, uint32_t attempt);
/* Calls fn for each open attempt, in (task, number) order. */
void anneal_each_open_attempt(const struct anneal *a,
                              void (*fn)(void *arg, const struct open_attempt *o), void *arg);
bool anneal_attempt_find(const struct anneal *a, uint32_t task, struct open_attempt *ret_o);
/* The open attempt of a task and those that were sent to begin behind it; how many. */
size_t anneal_chain(const struct anneal *a, uint32_t task, struct dispatch *ret, size_t max);
bool anneal_suspect(const struct anneal *a);
/* What it runs with, without zeros.  False: no event has told it so far. */
bool anneal_settings(const struct anneal *a, struct engine_settings *ret);
uint32_t anneal_capacity(const struct anneal *a, uint32_t *ret_used);
void anneal_totals(const struct anneal *a, uint64_t noderoles[NODEROLE_STATE_COUNT],
                   uint64_t tasks[TASK_STATE_COUNT]);
size_t anneal_bytes(const struct anneal *a);

/* Why is it as it is?  Reasons as data, nearest first; each names the object to act on. */
enum why_rule {
#define WHY_RULES(X)                                                                               \
    X(DEPENDS, "waits-for-task")                                                                   \
    X(PARENT, "parent-not-in-service")                                                             \
    X(NODE_AWAY, "node-not-alive")                                                                 \
    X(NODE_UNAVAILABLE, "node-unavailable")                                                        \
    X(NODE_BUSY, "node-busy")                                                                      \
    X(NODE_FROZEN, "node-frozen")                                                                  \
    X(POOL_FULL, "pool-full")                                                                      \
    X(POOL_CLOSED, "pool-closed")                                                                  \
    X(JIG_INACTIVE, "jig-inactive")                                                                \
    X(JIG_NO_WORKER, "jig-without-worker")                                                         \
    X(WORKERS_BUSY, "workers-busy")                                                                \
    X(HELD, "operation-held")                                                                      \
    X(BACKOFF, "back-off")                                                                         \
    X(WAITING, "waiting")                                                                          \
    X(RUNNING, "running")                                                                          \
    X(FAILED, "failed")                                                                            \
    X(UNCERTAIN, "uncertain")                                                                      \
    X(SUPERSEDED, "older-attempt-runs")                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(STALLED, "stalled")                                                                          \
    X(HOLDER, "holds-pool")                                                                        \
    X(TURN, "its-turn-comes")                                                                      \
    X(SUSPECT, "suspect-self")                                                                     \
    X(DONE, "done")                                                                                \
    X(NEEDED, "still-needed")                                                                      \
    X(TOLERANCE, "tolerance-exceeded")                                                             \
    X(TOLERATED, "failure-tolerated")                                                              \
    X(AHEAD, "sent-ahead")                                                                         \
    X(TENANT_FULL, "tenant-share-taken")                                                           \
    X(ROLLOUT, "rollout-stopped")                                                                  \
    X(USED, "still-used")                                                                          \
    X(SUCCESSOR, "successor-not-in-service")
#define X(id, text) WHY_##id,
    WHY_RULES(X)
#undef X
        WHY_RULE_COUNT
};
struct why {
    enum why_rule rule;
    enum row_table table; /* of the object to act on */
    uint32_t id;
    uint64_t value; /* rule-specific: a time, a count, an attempt */
};
const char *why_rule_name(enum why_rule r);
size_t anneal_why_task(const struct anneal *a, uint32_t task, struct why *ret, size_t max);
size_t anneal_why_noderole(const struct anneal *a, uint32_t noderole, struct why *ret, size_t max);
size_t anneal_why_node(const struct anneal *a, uint32_t node, struct why *ret, size_t max);
size_t anneal_why_operation(const struct anneal *a, uint32_t op, struct why *ret, size_t max);

/* Rows of live objects; texts that only the inventory knows are left empty. */
void anneal_row(struct anneal *a, enum row_table t, uint32_t id, void *ret_row);
/* The BLOB columns of rows point into this buffer of the engine until the next call of
 * anneal_row(). */

/* Restoring: rows in the order of tables (meta tenant jig pool grp node def operation noderole span
 * task attempt; any order of the first seven, settings anywhere), then anneal_load_end().  Arms
 * nothing until then. -ERR_CORRUPT names what does not fit. */
int anneal_load(struct anneal *a, enum row_table t, const void *row, struct err *e);
int anneal_load_end(struct anneal *a, struct err *e);
/* Digest of all engine rows in order: equal states have equal digests. */
uint64_t anneal_digest(struct anneal *a);
/* All engine rows as bytes and back: a checkpoint. */
void anneal_save(struct anneal *a, struct buf *b);
int anneal_restore(struct anneal *a, struct str from, struct err *e);

/* Recomputes everything that is kept incrementally and compares: the invariants of docs/rfc/01. */
int anneal_check(const struct anneal *a, struct err *e);

#endif
