/* plan.h - what a planner asks the engine to add and change, whole or not at all
 *
 * Immutable once made; lives in its own arena.  References to objects of this plan have PLAN_NEW
 * set and hold an index; references without it are ids of live objects.  plan_rebase() turns the
 * former into ids once ranges are reserved.  Both graphs of a plan are acyclic, together with what
 * they hang on: planners prove it, the engine checks it (cohort of a child above each parent; order
 * edges by sort).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_PLAN_H
#define MODEL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define PLAN_NEW (1u << 31)

enum {                                    /* plan_noderole.flags */
       NODEROLE_F_RERUN_ALWAYS = 1u << 0, /* no early cut-off */
       NODEROLE_F_DESTRUCTIVE = 1u
                                << 1, /* a success raises its incarnation; never re-run by itself */
       NODEROLE_F_CLUSTER = 1u << 2,
       NODEROLE_F_IMPLICIT = 1u << 3,
       NODEROLE_F_PHASED =
           1u << 4, /* its order edges say which tasks of its parents it waits for */
       NODEROLE_F_ALL = (1u << 5) - 1,
};
enum {                                  /* plan_def.flags */
       DEF_F_SURVIVES_REBOOT = 1u << 0, /* the boot id is not part of its inputs */
       DEF_F_TAKES_DOWN = 1u << 1,      /* its node is expected to fall silent while it runs */
       DEF_F_OUTSIDE = 1u << 2,         /* reaches a provider or the server, not into the node */
       DEF_F_MAY_FAIL = 1u << 3,        /* a failure for good is TOLERATED: others go on */
       DEF_F_LASTING = 1u << 4, /* done once on a machine it is done: no data or boot repeat it */
       DEF_F_UNDONE = 1u << 5,  /* before it is tried again the task with rule `undo` runs */
       DEF_F_CHAINS = 1u << 6,  /* it may be sent ahead, behind what it waits for */
       DEF_F_ASIDE = 1u << 7,   /* of a member of a roll-out: whoever began with it has not begun */
       DEF_F_ALL = (1u << 8) - 1,
};

struct plan_def { /* a task definition not known to the engine yet */
    struct str name, role;
    uint32_t jig; /* id of the jig; 0: only passive tasks have it */
    uint64_t digest;
    uint8_t repeat, hold, flags;
    uint32_t retries;
    uint64_t backoff_ms, timeout_ms, deadline_ms; /* timeout: one attempt; deadline: with waiting */
    struct str body; /* JSON: type, params, tests, no_op; for the worker */
};
struct plan_quorum { /* parents of a noderole, of which some are enough */
    uint32_t min;    /* how many, at least 1; percent: of them, rounded up */
    bool percent;
    const uint32_t *members; /* refs, ascending */
    uint32_t n_members;
};
struct plan_noderole {
    struct str role;
    uint32_t node; /* 0: none, for stages and joins: passive tasks only, no needs */
    uint32_t deployment;
    uint32_t group; /* index into plan.groups + 1; 0: in none */
    uint32_t cohort;
    uint8_t flags;
    uint8_t target;               /* enum target; not absent */
    uint64_t data;                /* digest of what it is configured with */
    uint64_t lens;                /* what it sees by: id of model/lens.h */
    struct str user;              /* its own data as JSON, "" for none */
    uint32_t first_task, n_tasks; /* consecutive in plan.tasks; always an index, never an id; none:
                                     it is ACTIVE as soon as its parents are in service */
    const uint32_t *parents;      /* refs */
    uint32_t n_parents;
    const struct plan_quorum *quorums; /* of its parents; each of them in one at most */
    uint32_t n_quorums;
};
struct plan_task {
    uint32_t noderole;    /* ref; of this plan, or of one that it changes */
    uint32_t def;         /* ref into plan.defs, or id */
    uint32_t weight;      /* longest remaining path, itself included */
    uint32_t span;        /* index into plan.spans + 1, once rebased the id; 0: none */
    const uint32_t *deps; /* refs: tasks that must have passed, or ended as its rule says */
    uint32_t n_deps;
    uint8_t rule; /* enum task_rule */
};
struct plan_pool { /* a pool that does not live yet: a role's strategy, or one the catalog names */
    struct str name;
    uint32_t size;
};
struct plan_size { /* a pool that lives is of another size from now on */
    uint32_t pool; /* id */
    uint32_t size;
};
struct plan_group { /* noderoles of a role: how many may fail before the operation stops */
    struct str name;
    uint32_t may_fail; /* PLAN_ANY_FAIL: all; 0: critical */
    bool stops; /* a roll-out: beyond that no further one starts, and what has begun goes on */
};
#define PLAN_ANY_FAIL UINT32_MAX
enum { PLAN_MOST_TASKS = 60000 }; /* of one noderole */
struct plan_span {
    const uint32_t *pools; /* refs, each once */
    uint32_t n_pools;
};
struct plan_need {   /* a need edge of a noderole that lives already (cluster peers) */
    uint32_t child;  /* id */
    uint32_t parent; /* ref: of this plan, or one that it takes back while that is on its way out */
    uint32_t like;   /* id of a parent whose quorum it joins; 0, or of one in none: of none */
};
struct plan_wait {   /* who goes waits until another one has completed a run */
    uint32_t goer;   /* id: the plan removes it */
    uint32_t holder; /* ref: of this plan, which takes its place; or one that lives, and is run
                        again to be told.  Those of one holder stand together */
};
enum {                           /* plan_change.what */
       PLAN_C_DATA = 1u << 0,    /* it is configured with other data */
       PLAN_C_DEFS = 1u << 1,    /* each of its tasks gets another definition, in place */
       PLAN_C_TASKS = 1u << 2,   /* its tasks are replaced by tasks of this plan */
       PLAN_C_REMOVE = 1u << 3,  /* it is to go: its tasks are replaced by those of its removal */
       PLAN_C_PARENTS = 1u << 4, /* it gains and loses needs */
       PLAN_C_LENS = 1u << 5,    /* it sees by another lens: nothing of the engine's */
       PLAN_C_GROUP = 1u << 6,   /* it counts in another group */
       PLAN_C_QUORUMS = 1u << 7, /* of what it needs other numbers are enough */
       PLAN_C_ALL = (1u << 8) - 1,
};
struct plan_change {   /* to a noderole that lives */
    uint32_t noderole; /* id */
    uint8_t what;
    uint8_t flags;        /* plan_noderole.flags from now on; PLAN_C_DEFS and PLAN_C_TASKS */
    uint8_t target;       /* enum target from now on, not absent; PLAN_C_TASKS */
    uint8_t reason;       /* enum reason of the run that begins; PLAN_C_TASKS, 0: the catalog */
    uint64_t data;        /* PLAN_C_DATA: the digest */
    struct str user;      /* and its own data as JSON */
    uint64_t lens;        /* PLAN_C_LENS */
    uint32_t group;       /* PLAN_C_GROUP: as of a noderole */
    const uint32_t *defs; /* PLAN_C_DEFS: refs, one for each of its tasks */
    uint32_t n_defs;
    uint32_t first_task, n_tasks; /* PLAN_C_TASKS, PLAN_C_REMOVE: index, as above */
    bool keeps; /* PLAN_C_TASKS: each remembers the last success of the one in its place, if that
                   was of the same definition */
    const uint32_t *gains; /* PLAN_C_PARENTS: refs */
    uint32_t n_gains;
    const uint32_t *losses; /* ids */
    uint32_t n_losses;
    const struct plan_quorum *quorums; /* PLAN_C_QUORUMS: all of it, of the parents it will have */
    uint32_t n_quorums;
};
struct plan {
    struct arena mem;
    struct plan_def *defs;
    uint32_t n_defs;
    struct plan_noderole *noderoles;
    uint32_t n_noderoles;
    struct plan_task *tasks;
    uint32_t n_tasks;
    struct plan_span *spans;
    uint32_t n_spans;
    struct plan_pool *pools;
    uint32_t n_pools;
    struct plan_group *groups; /* of its own: they live on under the next free ids */
    uint32_t n_groups;
    struct plan_need *needs;
    uint32_t n_needs;
    struct plan_change *changes; /* by noderole, each once; their tasks come after the others */
    uint32_t n_changes;
    struct plan_wait *waits;
    uint32_t n_waits;
    struct plan_size *sizes;
    uint32_t n_sizes;
    uint32_t catalog; /* generation it was made from */
    /* Set by plan_rebase. */
    bool rebased;
    uint32_t base_def, base_noderole, base_task, base_span, base_pool;
};
struct plan *plan_new(void);
void plan_free(struct plan *p);
static inline void plan_scope_end(struct plan **p)
{
    plan_free(*p);
}
/* Reserved ids: object i of a kind becomes base + i; all refs become ids.  Once.  No base is 0. */
void plan_rebase(struct plan *p, uint32_t base_def, uint32_t base_noderole, uint32_t base_task,
                 uint32_t base_span, uint32_t base_pool);
/* Puts the changes in their order. */
void plan_changes_sort(struct plan *p);
/* Is it among these? */
static inline bool plan_lists(const uint32_t *ids, uint32_t n, uint32_t id)
{
    for (uint32_t i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}
/* The change to a noderole, NULL if there is none. */
const struct plan_change *plan_change_find(const struct plan *p, uint32_t noderole);
/* Binary form for the journal, before or after plan_rebase(); equal plans give equal bytes.  Decode
 * refuses what is malformed, so that every index and every enum of what it returns is in range; it
 * does not prove the graphs acyclic, which the engine does when it applies a plan. */
void plan_encode(struct buf *b, const struct plan *p);
int plan_decode(struct str from, struct plan **ret_p, struct err *e);

#endif
