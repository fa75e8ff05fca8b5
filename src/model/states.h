/* states.h - every state, reason and policy of the engine, each listed once
 *
 * Enum, text, SQL value, OpenAPI enum and the pictures in docs/ come from these lists.  Numbers are
 * stored in the database: append, never reorder.  The meaning is docs/rfc/01-engine.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_STATES_H
#define MODEL_STATES_H

#include <stdbool.h>
#include <stdint.h>

#define NODEROLE_STATES(X)                                                                         \
    X(PROPOSED)                                                                                    \
    X(BLOCKED)                                                                                     \
    X(TODO)                                                                                        \
    X(TRANSITION)                                                                                  \
    X(ACTIVE)                                                                                      \
    X(STALE)                                                                                       \
    X(ERROR)                                                                                       \
    X(REMOVING)                                                                                    \
    X(REMOVED)
#define TASK_STATES(X)                                                                             \
    X(PENDING)                                                                                     \
    X(READY)                                                                                       \
    X(RUNNING)                                                                                     \
    X(WAITING)                                                                                     \
    X(DONE)                                                                                        \
    X(SKIPPED)                                                                                     \
    X(TOLERATED)                                                                                   \
    X(FAILED)                                                                                      \
    X(DEP_FAILED)                                                                                  \
    X(CANCELLED)
/* What can happen to a task; states and events make the table in annealer/task_fsm.c. */
#define TASK_EVENTS(X)                                                                             \
    X(DEPS_MET)   /* nothing blocks it any more */                                                 \
    X(DEPS_LOST)  /* something blocks it again */                                                  \
    X(START)      /* the scheduler grants a slot */                                                \
    X(OK)         /* the live attempt succeeded */                                                 \
    X(FAIL)       /* failed for good */                                                            \
    X(FAIL_RETRY) /* failed, budget left: wait for the back-off */                                 \
    X(NOT_YET)    /* the live attempt asks to be asked again */                                    \
    X(ASK)        /* a waiting attempt is asked again */                                           \
    X(CANCEL)     /* its operation was cancelled */                                                \
    X(RESET)      /* loss, refresh or retry: a new run begins */                                   \
    X(UNCHANGED)  /* early cut-off: same inputs as at the last success */                          \
    X(SKIP)       /* condition false, or teardown of a gone machine */                             \
    X(TOLERATE)   /* failed within its join's tolerance */                                         \
    X(DEP_FAIL)   /* a task it needs failed for good while its operation runs */                   \
    X(JOINED)     /* a join: all it waits for has ended as its rule says */
/* What a task of a plan does when its turn comes.  Most are passive: nothing executes them, they
 * pass by themselves (annealer/passive.c). */
#define TASK_RULES(X)                                                                              \
    X(RUN, "run")                     /* an attempt */                                             \
    X(SKIP, "skip")                   /* left out: SKIPPED when what it waits for has passed */    \
    X(JOIN_ALL, "join-all")           /* DONE when all it waits for has passed */                  \
    X(JOIN_ENDED, "join-ended")       /* DONE when all it waits for has ended, failed or not */    \
    X(JOIN_TOLERATE, "join-tolerate") /* the same, if what failed is within its group's tolerance  \
                                       */                                                          \
    X(KEEP, "keep")           /* done before: SKIPPED in the run that its plan begins, then RUN */ \
    X(ONCE, "once")           /* an attempt in the run that its plan begins, then SKIP */          \
    X(UNDO, "undo")           /* an attempt before what it undoes is tried again, else SKIP */     \
    X(JOIN_OVER, "join-over") /* DONE when all it waits for has ended, was not to begin, or is     \
                                 cancelled */
#define ALIVE_STATES(X)                                                                            \
    X(UNKNOWN, "unknown")                                                                          \
    X(ALIVE, "alive")                                                                              \
    X(AWAY, "away")                                                                                \
    X(DEAD, "dead")
#define OPERATION_STATES(X)                                                                        \
    X(RUNNING, "running")                                                                          \
    X(SUCCEEDED, "succeeded")                                                                      \
    X(TOLERATED, "succeeded-with-failures")                                                        \
    X(FAILED, "failed")                                                                            \
    X(CANCELLED, "cancelled")                                                                      \
    X(SUPERSEDED, "superseded")
#define REPEATS(X)                                                                                 \
    X(SAFE, "safe")                                                                                \
    X(TOKEN, "token")                                                                              \
    X(ONCE, "once")
#define HOLDS(X)                                                                                   \
    X(NOTHING, "nothing")                                                                          \
    X(NODE, "node") /* what a WAITING task keeps of its node */
#define REACHES(X)                                                                                 \
    X(NODE, "node")                                                                                \
    X(OUTSIDE, "outside") /* does the jig reach into the node? */
#define CLASSES(X)                                                                                 \
    X(URGENT, "urgent")                                                                            \
    X(NORMAL, "normal")                                                                            \
    X(BACKGROUND, "background")
#define TARGETS(X)                                                                                 \
    X(RUNNING, "running")                                                                          \
    X(STOPPED, "stopped")                                                                          \
    X(ABSENT, "absent")
#define SNAPSHOT_STATES(X)                                                                         \
    X(PROPOSED, "proposed")                                                                        \
    X(COMMITTED, "committed")                                                                      \
    X(ARCHIVED, "archived")                                                                        \
    X(RECALLED, "recalled")
/* Of a cluster: never stored, derived from what its noderoles are (server/cluster_state.h). */
#define CLUSTER_STATES(X)                                                                          \
    X(PENDING, "pending")           /* something is under way, and nothing stands in its way */    \
    X(ACTIVE, "active")             /* all of it is where it is wanted */                          \
    X(INCOMPLETE, "incomplete")     /* something was never made, or would not go */                \
    X(INCONSISTENT, "inconsistent") /* all was there once; something is not as it should be */     \
    X(DELETING, "deleting")         /* nothing of it is wanted any more */
/* A version of a plugin's resource; what may happen to it is plugin/plugin_versions.h. */
#define RESOURCE_STATES(X)                                                                         \
    X(INACTIVE, "inactive")                                                                        \
    X(STAGED, "staged")     /* active at the next sync */                                          \
    X(ACTIVE, "active")     /* tasks get it */                                                     \
    X(RECALLED, "recalled") /* tasks get it; inactive at the next sync */
/* Why something is as it is: kept with the object and shown by `anneal why`. */
#define REASONS(X)                                                                                 \
    X(NONE, "")                                                                                    \
    X(UNCHANGED, "unchanged")                                                                      \
    X(UNCERTAIN, "uncertain")                                                                      \
    X(TIMEOUT, "timeout")                                                                          \
    X(DEADLINE, "deadline")                                                                        \
    X(LOST, "lost")                                                                                \
    X(EXIT, "exit")                                                                                \
    X(REFUSED, "refused")                                                                          \
    X(REPLACED, "replaced")                                                                        \
    X(NODE_DEAD, "node-dead")                                                                      \
    X(PARENT_LOST, "parent-lost")                                                                  \
    X(RERUN, "rerun")                                                                              \
    X(DATA, "data")                                                                                \
    X(PARENT_GAINED, "parent-gained")                                                              \
    X(REBOOT, "reboot")                                                                            \
    X(RETRY, "retry")                                                                              \
    X(CANCELLED, "cancelled")                                                                      \
    X(STALLED, "stalled")                                                                          \
    X(RESOLVED, "resolved")                                                                        \
    X(DEPENDENCY, "dependency")                                                                    \
    X(BACKOFF, "back-off")                                                                         \
    X(ABORTED, "aborted")                                                                          \
    X(JOIN, "join")                                                                                \
    X(CATALOG, "catalog")                                                                          \
    X(REMOVED, "removed")                                                                          \
    X(ABANDONED, "abandoned")                                                                      \
    X(REDEPLOY, "redeploy")                                                                        \
    X(TOLERANCE, "tolerance")                                                                      \
    X(LEFT_OUT, "left-out")                                                                        \
    X(TEST_PRE, "test-pre")                                                                        \
    X(TEST_POST, "test-post")                                                                      \
    X(KEPT, "kept")                                                                                \
    X(UNDO, "undo")                                                                                \
    X(PARENT_STOPPED, "parent-stopped")                                                            \
    X(OPERATION, "operation")                                                                      \
    X(RETURNED, "returned")                                                                        \
    X(ROLLOUT, "rollout")

enum noderole_state {
#define X(id) NODEROLE_##id,
    NODEROLE_STATES(X)
#undef X
        NODEROLE_STATE_COUNT
};
enum task_state {
#define X(id) TASK_##id,
    TASK_STATES(X)
#undef X
        TASK_STATE_COUNT
};
enum task_event {
#define X(id) TASKEV_##id,
    TASK_EVENTS(X)
#undef X
        TASKEV_COUNT
};
enum task_rule {
#define X(id, text) RULE_##id,
    TASK_RULES(X)
#undef X
        TASK_RULE_COUNT
};
enum alive_state {
#define X(id, text) ALIVE_##id,
    ALIVE_STATES(X)
#undef X
        ALIVE_STATE_COUNT
};
enum operation_state {
#define X(id, text) OPERATION_##id,
    OPERATION_STATES(X)
#undef X
        OPERATION_STATE_COUNT
};
enum repeat {
#define X(id, text) REPEAT_##id,
    REPEATS(X)
#undef X
        REPEAT_COUNT
};
enum hold {
#define X(id, text) HOLD_##id,
    HOLDS(X)
#undef X
        HOLD_COUNT
};
enum reach {
#define X(id, text) REACH_##id,
    REACHES(X)
#undef X
        REACH_COUNT
};
enum start_class {
#define X(id, text) CLASS_##id,
    CLASSES(X)
#undef X
        CLASS_COUNT
};
enum target {
#define X(id, text) TARGET_##id,
    TARGETS(X)
#undef X
        TARGET_COUNT
};
enum snapshot_state {
#define X(id, text) SNAPSHOT_##id,
    SNAPSHOT_STATES(X)
#undef X
        SNAPSHOT_STATE_COUNT
};
enum cluster_state {
#define X(id, text) CLUSTER_STATE_##id,
    CLUSTER_STATES(X)
#undef X
        CLUSTER_STATE_COUNT
};
enum resource_state {
#define X(id, text) RESOURCE_##id,
    RESOURCE_STATES(X)
#undef X
        RESOURCE_STATE_COUNT
};
enum reason {
#define X(id, text) REASON_##id,
    REASONS(X)
#undef X
        REASON_COUNT
};

const char *noderole_state_name(enum noderole_state s);
const char *task_state_name(enum task_state s);
const char *task_event_name(enum task_event ev);
const char *task_rule_name(enum task_rule r);
const char *alive_state_name(enum alive_state s);
const char *operation_state_name(enum operation_state s);
const char *repeat_name(enum repeat r);
const char *hold_name(enum hold h);
const char *reach_name(enum reach r);
const char *start_class_name(enum start_class c);
const char *target_name(enum target t);
const char *snapshot_state_name(enum snapshot_state s);
const char *cluster_state_name(enum cluster_state s);
const char *resource_state_name(enum resource_state s);
const char *reason_name(enum reason r);
/* -1 if there is no such name. */
int noderole_state_find(const char *name);
int task_state_find(const char *name);
int repeat_find(const char *name);
int hold_find(const char *name);
int start_class_find(const char *name);
int alive_state_find(const char *name);
int operation_state_find(const char *name);

/* A task that ended so that those after it may start. */
static inline bool task_state_passed(enum task_state s)
{
    return s == TASK_DONE || s == TASK_SKIPPED || s == TASK_TOLERATED;
}
static inline bool task_state_ended(enum task_state s)
{
    return s >= TASK_DONE;
}
/* Failed, by itself or with what it waits for. */
static inline bool task_state_failed(enum task_state s)
{
    return s == TASK_FAILED || s == TASK_DEP_FAILED;
}
static inline bool task_state_live(enum task_state s)
{
    return s == TASK_RUNNING || s == TASK_WAITING;
}
static inline bool noderole_in_service(enum noderole_state s, enum target t)
{
    return (s == NODEROLE_ACTIVE || s == NODEROLE_STALE) && t == TARGET_RUNNING;
}

#endif
