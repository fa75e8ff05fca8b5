/* phase_i.h - what the files of phases share
 *
 *   phase.c        from end to end: vertices, edges, order, weights
 *   phase_deps.c   names to services, circles, reachability
 *   phase_cover.c  a set of services less what follows from the rest
 *   phase_rule.c   which set of tasks waits for which; the joins between them
 *   phase_op.c     named operations as tables
 *   phase_stage.c  stages, and edges without joins
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_PHASE_I_H
#define PLANNER_PHASE_I_H

#include "base/alloc.h"
#include "planner/phase.h"

/* --- dependencies --- */

/* Who reaches whom, as rows of bits.  Rows and columns are places, not numbers: whoever is depended
 * on has the lower place, those who depend on each other (PHASE_WHEN_ANY only) are neighbours. */
struct phase_reach {
    uint64_t *ahead;  /* row: what it depends on, directly or not; never itself */
    uint64_t *behind; /* row: what depends on it */
    uint32_t *place;  /* by number */
    uint32_t *number; /* by place */
};
struct phase_deps {
    struct arena mem;
    uint32_t n_services;
    uint32_t n;     /* with the names of absent services */
    uint32_t words; /* of a row */
    const struct str *names;
    struct phase_reach of[PHASE_WHEN_COUNT];
    uint32_t *part; /* by number: who depend on each other through install and run are of one */
    uint32_t *part_size; /* by part */
};
static inline bool phase_bit(const uint64_t *row, uint32_t i)
{
    return row[i / 64] >> (i % 64) & 1;
}
static inline void phase_bit_set(uint64_t *row, uint32_t i)
{
    row[i / 64] |= UINT64_C(1) << (i % 64);
}

/* phase_cover.c: of the services that a depends on (behind: that depend on it), and that are in
 * `among`, those that no other of them leads to.  `among` is by place. */
enum phase_reach_part { PHASE_ALL_PARTS, PHASE_OWN_PART, PHASE_OTHER_PARTS };
struct phase_cover {
    const struct phase_deps *d;
    enum phase_when when;
    bool behind;
    enum phase_reach_part parts;
    const uint64_t *among;
    uint64_t *left, *gone; /* room for a row each */
};
uint32_t phase_cover_find(const struct phase_cover *c, uint32_t a, uint32_t *ret);

/* --- rules --- */

/* Sets of tasks of a service that others come before or after.  docs/rfc/08-clusters.md, section 5,
 * says why these and no others have no circle. */
enum phase_set {
    SET_STARTED,   /* start; of what is upgraded in place, upgrade */
    SET_INSTALLED, /* install, upgrade */
    SET_STOPPED,
    SET_STOPPED_IN_TURN,
    SET_REMOVED,
    SET_ACTED,
    SET_TURN, /* of cells in turn: the last task to others, the first to what it waits for */
    SET_COUNT
};
struct phase_sets {              /* of one service */
    uint32_t n[SET_COUNT];       /* tasks that others may wait for */
    uint32_t one[SET_COUNT];     /* one of them */
    uint32_t waiting[SET_COUNT]; /* tasks that wait for others */
    uint32_t join[SET_COUNT];    /* that stands for them; PHASE_NIL: none, or there is one only */
    uint32_t from[SET_COUNT], n_from[SET_COUNT]; /* what they wait for: in phasing.waits */
};
struct phase_joining { /* what a join waits for */
    uint32_t set;      /* service * SET_COUNT + set: those tasks; PHASE_NIL: others */
    uint32_t from, n;  /* in phasing.waits */
};
struct phasing {
    const struct phase_cluster *c;
    const struct phase_deps *d;
    const struct phase_work *w;
    struct phase_graph *g;
    struct err *e;
    struct arena mem;                  /* scratch */
    struct phase_sets *sets;           /* by service */
    uint8_t *found_in, *waits_as;      /* by task: sets as bits */
    uint32_t *last_in_turn;            /* by service: end of its cell before; PHASE_NIL */
    uint32_t *pool_of;                 /* by service: index + 1; 0: none yet */
    VEC(uint32_t) waits;               /* vertices */
    VEC(struct phase_join) joins;      /* behind the tasks */
    VEC(struct phase_joining) joining; /* the same */
    VEC(struct phase_pool) pools;
    VEC(uint32_t) spans;
    uint32_t established; /* the join of all machines; PHASE_NIL: nobody waits for it */
    uint64_t n_edges;     /* at most */
};
/* phase_rule.c, when the vertices are there. */
int phase_rules(struct phasing *x);

#endif
