/* solver.h - which services go on which nodes: a problem in ids, an answer, and its reasons
 *
 * A problem says how often each service is wanted, what may share a node, on which hardware and
 * image, what the nodes that exist have, and how many nodes there are to be.  Its answer is the
 * best layout in a total order (docs/rfc/08-clusters.md, section 4), or the reason why there is
 * none.  Names do not come here: services, hardware and images are numbered in the order of their
 * names, and that order breaks ties.
 *
 * The search is exact and deterministic.  What bounds it is a number of steps, never time; integer
 * arithmetic proves every answer, floating point only guides.  A kind of node stands for all nodes
 * that are alike, so that their number hardly matters.
 *
 * To add a rule that is linear in counts: a row (solver_row.c).  To add one about a single node:
 * solver_model.c, where sets of services are judged.  Both name it in SOLVER_RULES.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_SOLVER_H
#define SOLVER_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

enum {
    SOLVER_MAX_SERVICES = 256,
    SOLVER_MAX_HARDWARE = 256,
    SOLVER_MAX_IMAGES = 256,
    SOLVER_MAX_VALUES = 64, /* of the label that spreads are over */
    SOLVER_MAX_RESOURCES = 16,
    SOLVER_MAX_SETS = 4096, /* together, apart, ratios, spreads: of each */
    SOLVER_MAX_KEYS = 16,
    SOLVER_MAX_GROUPS = 256,    /* existing nodes that differ in more than their turn */
    SOLVER_MAX_ENTRIES = 65536, /* of existing nodes */
    SOLVER_MAX_NODES = 1000000,
    SOLVER_SET_WORDS = SOLVER_MAX_SERVICES / 64,
};
#define SOLVER_ANY        UINT32_MAX             /* as a maximum: none */
#define SOLVER_NONE       UINT32_MAX             /* as an index or a label's value: there is none */
#define SOLVER_MAX_COST   INT64_C(1000000000000) /* of one node */
#define SOLVER_MAX_AMOUNT INT64_C(1000000000000) /* of a resource on one node */
#define SOLVER_MAX_FACTOR 1000000                /* both parts of a ratio */
#define SOLVER_STEPS      UINT64_C(16000000)     /* what 0 stands for: about a second */

/* A set of ids, of services, hardware or images. */
struct solver_set {
    uint64_t w[SOLVER_SET_WORDS];
};

static inline void solver_set_add(struct solver_set *s, uint32_t id)
{
    s->w[id / 64] |= UINT64_C(1) << (id % 64);
}
static inline void solver_set_drop(struct solver_set *s, uint32_t id)
{
    s->w[id / 64] &= ~(UINT64_C(1) << (id % 64));
}
static inline bool solver_set_has(const struct solver_set *s, uint32_t id)
{
    return s->w[id / 64] >> (id % 64) & 1;
}
/* The ids below n. */
static inline struct solver_set solver_set_below(uint32_t n)
{
    struct solver_set s = {{0}};
    for (uint32_t i = 0; i < SOLVER_SET_WORDS; i++, n -= n < 64 ? n : 64)
        s.w[i] = n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    return s;
}

struct solver_service {
    uint32_t min, max; /* how many nodes have it; SOLVER_ANY: no maximum */
    uint32_t step;     /* as many as min plus a multiple of it; 0 and 1: any number */
    bool everywhere;   /* every node has it */
    bool required;     /* at least one node has it, whatever min says */
    struct solver_set hardware, images; /* where it may be */
    const int64_t *demand;              /* of each resource; NULL: nothing */
};

struct solver_ratio { /* den * count(service) >= (or <=) num * count(of) */
    uint32_t service;
    uint32_t of; /* a service; SOLVER_NONE: the nodes */
    uint32_t num, den;
    bool at_most;
};

struct solver_spread { /* between any two values of the label, at most skew nodes of difference */
    uint32_t service;
    uint32_t skew;
};

struct solver_hardware {
    int64_t cost;            /* of a node, in millionths */
    const int64_t *capacity; /* of each resource; NULL: none of any */
};

struct solver_existing { /* nodes that are there, alike, and next to each other in their turn */
    struct solver_set services;
    uint32_t hardware, image;
    uint32_t value; /* of the label; SOLVER_NONE: it has none of them */
    uint32_t count;
    bool keep; /* must not be given up */
};

enum solver_key_by { SOLVER_COST, SOLVER_NODES, SOLVER_SERVICES, SOLVER_RESOURCE };
struct solver_key {
    enum solver_key_by by;
    uint32_t resource;
    bool more; /* more is better */
};

struct solver_problem {
    uint32_t n_services, n_hardware, n_images, n_resources, n_values;
    const struct solver_service *services;
    const struct solver_hardware *hardware;
    struct solver_set old_hardware, old_images; /* only nodes that exist have them */
    uint32_t n_together, n_apart, n_ratios, n_spreads;
    const struct solver_set *together; /* who has one has all */
    const struct solver_set *apart;    /* never all of them on one node */
    const struct solver_ratio *ratios;
    const struct solver_spread *spreads;
    uint32_t nodes_min, nodes_max; /* those that exist and are not given up count */
    uint32_t n_existing;
    const struct solver_existing *existing; /* whoever is to be given up first comes first */
    struct solver_set involved; /* may come to nodes that exist, and go from them; no other may */
    uint32_t give_up;           /* so many that exist go, at least */
    uint32_t n_keys;
    const struct solver_key *keys; /* what is better; the original order follows */
};

struct solver_options {
    uint64_t max_steps; /* 0: SOLVER_STEPS; conflict and relaxation may use as many again each */
    bool want_conflict, want_relaxation;
};

/* What a problem consists of, so that an answer can name it.  In this order where two are equal. */
/* clang-format off */
#define SOLVER_RULES(X)                                                                            \
    X(TOGETHER,   "together")     /* index: of the set */                                          \
    X(APART,      "apart")                                                                         \
    X(MIN,        "min")          /* index: of the service */                                      \
    X(MAX,        "max")                                                                           \
    X(STEP,       "step")                                                                          \
    X(RATIO,      "ratio")        /* index: of the ratio */                                        \
    X(HARDWARE,   "hardware")     /* index: of the service */                                      \
    X(IMAGE,      "image")                                                                         \
    X(REQUIRED,   "required")                                                                      \
    X(EVERYWHERE, "everywhere")                                                                    \
    X(DEMAND,     "demand")                                                                        \
    X(SPREAD,     "spread")       /* index: of the spread */                                       \
    X(NODES,      "nodes")        /* how many nodes were asked for, and to be given up */          \
    X(EXISTING,   "existing")     /* what nodes that exist have, and that they are kept */         \
    X(OFFER,      "offer")        /* no hardware, or no image, is there for new nodes */
enum solver_rule {
#define X(id, text) SOLVER_RULE_##id,
    SOLVER_RULES(X)
#undef X
    SOLVER_RULE_COUNT
};
/* clang-format on */
const char *solver_rule_name(enum solver_rule r);

struct solver_ref {
    enum solver_rule rule;
    uint32_t index;
};

struct solver_change { /* of a relaxation */
    struct solver_ref ref;
    bool dropped;     /* else changed: MIN, MAX, the skew of a SPREAD, NODES */
    int64_t from, to; /* of NODES: the bound that gave way */
};

struct solver_kind { /* nodes that are alike */
    struct solver_set services;
    uint32_t hardware, image;
    uint32_t value;    /* of the label; SOLVER_NONE if there are no values */
    uint32_t existing; /* the entry; SOLVER_NONE: new nodes */
    uint32_t count;
};

#define SOLVER_STATUSES(X)                                                                         \
    X(SOLVED, "solved")                                                                            \
    X(UNSATISFIABLE, "unsatisfiable")                                                              \
    X(LIMIT, "limit")
/* clang-format off */
enum solver_status {
#define X(id, text) SOLVER_##id,
    SOLVER_STATUSES(X)
#undef X
    SOLVER_STATUS_COUNT
};
/* clang-format on */
const char *solver_status_name(enum solver_status s);

struct solver_answer {
    enum solver_status status;
    uint64_t steps;
    /* SOLVED, and LIMIT if a layout is known: kinds in the original order. */
    bool has_layout;
    bool settled; /* false: the keys are optimal, but the original order was not searched through */
    uint32_t n_kinds;
    const struct solver_kind *kinds;
    const uint32_t *given_up; /* of each entry that exists */
    const int64_t *values;    /* of each key */
    /* LIMIT: the first key is never better than this; of nodes given up if it came to no key. */
    bool has_bound;
    int64_t bound;
    /* UNSATISFIABLE */
    uint32_t n_conflict;
    const struct solver_ref *conflict;
    bool irreducible; /* false: steps ran out while it was made smaller */
    uint32_t n_changes;
    const struct solver_change *changes;
    bool has_relaxation, least; /* least false: steps ran out before it was shown to be */
};

/* Refuses what is malformed or too large; everything else is an answer, which lives in mem. */
int solver_solve(struct arena *mem, const struct solver_problem *p, const struct solver_options *o,
                 const struct solver_answer **ret_answer, struct err *e);
int solver_problem_check(const struct solver_problem *p, struct err *e);

/* --- the parts of a layout, judged on their own --- */

/* Together and apart, for what is on one node. */
bool solver_services_fit(const struct solver_problem *p, const struct solver_set *services);
/* As a node of its own: that, and hardware, image, capacity, services that are everywhere. */
bool solver_node_fits(const struct solver_problem *p, const struct solver_set *services,
                      uint32_t hardware, uint32_t image);
/* Counts, steps, ratios, spreads, the number of nodes, and each kind; what exists is not looked at.
 * ret_why (may be NULL): the first rule broken. */
bool solver_layout_fits(const struct solver_problem *p, const struct solver_kind *kinds,
                        uint32_t n_kinds, struct solver_ref *ret_why);
/* Every node that fits, with all hardware and images, in the original order; at most max.  Returns
 * how many there are, max + 1 if more. */
uint32_t solver_nodes_list(const struct solver_problem *p, struct solver_kind *ret_kinds,
                           uint32_t max);

/* Where one more service can come to nodes that exist: the layouts in order, on as many nodes as
 * can be first, then more of the first kind.  false ends it.  Where several are alike but for their
 * turn, the earlier one has it. */
typedef bool solver_move_f(void *ctx, const struct solver_kind *kinds, uint32_t n_kinds);
int solver_moves_each(const struct solver_problem *p, uint32_t service, solver_move_f *each,
                      void *ctx, struct err *e);

/* The original order of two kinds: below, equal to or above 0. */
int solver_kind_order(const struct solver_kind *a, const struct solver_kind *b);

#endif
