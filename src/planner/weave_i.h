/* weave_i.h - what the files of weaving share
 *
 *   weave.c         from end to end, and reading the result
 *   weave_class.c   names, classes of nodes, who runs where
 *   weave_set.c     sets of instances, and the joins that stand for them
 *   weave_edge.c    requires, required_for and cross dependencies
 *   weave_group.c   who owns an instance, the order of groups
 *   weave_strategy.c  chunks and limits
 *   weave_fill.c    edges as one array
 *   weave_sort.c    order, levels, weights, stages; or the circle, told
 *   weave_window.c  sliding windows that keep out what they wait for
 *   weave_pick.c    what is left out
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_WEAVE_I_H
#define PLANNER_WEAVE_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "planner/weave.h"

#define DEP_NODE (1u << 31) /* of a template: a position on the same node, else a vertex */

struct weave_dep { /* of a template: the instance at `pos` of each node waits for `dep` */
    uint32_t pos, dep;
};
struct weave_class {       /* nodes that answer to the same names */
    const uint32_t *names; /* numbers, ascending */
    uint32_t n_names;
    VEC(uint32_t) nodes;
    uint32_t *tasks; /* that run there, ascending; an instance's position is its place here */
    uint32_t n_tasks;
    uint32_t *owner;                  /* by position: group, WEAVE_NONE */
    const struct weave_role **serves; /* by position: all groups that have it */
    bool master;
    VEC(struct weave_dep) deps;
    const struct value **given;                        /* what expressions gave, as values */
    const struct graph_cross **depends, **depended_by; /* and by position; NULL: there are none */
    uint32_t *n_depends, *n_depended_by;
};
struct weave_source { /* instances of a task on all nodes of a class; or one vertex */
    uint32_t task;    /* of the graph; or a vertex, if there is no class */
    uint32_t class;   /* WEAVE_NONE: none */
};
struct weave_in { /* a stage or join waits for it */
    uint32_t to;
    struct weave_source from;
};
struct weave_set { /* that somebody waits for; a join as soon as two do */
    const struct weave_source *at;
    uint32_t n;
    uint64_t size; /* instances */
    uint32_t join; /* vertex; WEAVE_NONE: none yet */
    struct str name;
};
struct weave_strand {     /* what a group or a strategy adds to a vertex of the graph */
    uint32_t begin, end;  /* joins of a group; WEAVE_NONE */
    uint32_t amount;      /* of its strategy; 0: no limit */
    uint32_t first_chunk; /* join of chunk 0; they follow each other */
    uint32_t n_chunks;    /* 0: it has none */
    uint32_t *chunk_of;   /* by node */
};
typedef VEC(struct weave_warning) weave_warnings_v;
struct weaving {
    const struct weave_request *req;
    const struct catalog_graph *g;
    struct err *e;
    struct weave *w;
    struct arena mem; /* of the weaving, not of the result */
    struct strmap name_numbers;
    VEC(struct str) names;
    struct strmap patterns; /* text -> bool *, by name */
    VEC(struct weave_class) classes;
    uint32_t *class_of; /* by node, the master included */
    uint32_t *base;     /* by node: its first instance */
    uint32_t *stage_at; /* by vertex of the graph: its vertex; WEAVE_NONE */
    VEC(struct weave_in) ins;
    VEC(struct weave_set) sets;
    struct strmap set_by_key;
    VEC(struct weave_join) joins;
    struct strmap join_names;     /* -> how often */
    struct weave_strand *strands; /* by vertex of the graph */
    uint32_t *group_order, n_groups;
    VEC(struct weave_limit) limits;
    /* kept from weave to weave */
    bool *no_chunks; /* by vertex: its strategy became a limit */
    bool *warned;    /* by vertex: that there is no data for it */
    weave_warnings_v *warnings;
    struct arena *kept; /* their texts */
};

/* weave.c: the value of an expression; where there is no data, NULL for one that needs some, with a
 * warning that names the vertex once. */
int weave_eval(struct weaving *x, const struct expr *of, uint32_t v, uint32_t node,
               const struct value **ret);

/* weave_class.c */
int weave_classes(struct weaving *x);
bool weave_selects(struct weaving *x, const struct graph_selector *s, struct str id,
                   const struct weave_class *c);
bool weave_word_is(struct weaving *x, const struct graph_word *w, uint32_t name);
uint32_t weave_pos(const struct weave_class *c, uint32_t task); /* WEAVE_NONE: not there */
static inline uint32_t weave_instance(const struct weaving *x, uint32_t node, uint32_t pos)
{
    return x->base[node] + pos;
}

/* weave_set.c */
uint32_t weave_join_add(struct weaving *x, enum weave_join_kind kind, uint32_t group,
                        struct str name);
void weave_in_add(struct weaving *x, uint32_t to, struct weave_source from);
/* The set with these sources; equal ones are one.  WEAVE_NONE if it is empty. */
uint32_t weave_set_get(struct weaving *x, const struct weave_source *at, uint32_t n,
                       struct str name);
/* The instance at a position of a class, or a stage or join, waits for all of a set. */
void weave_class_waits(struct weaving *x, uint32_t class, uint32_t pos, uint32_t set);
void weave_vertex_waits(struct weaving *x, uint32_t to, uint32_t set);
static inline void weave_dep_add(struct weave_class *c, uint32_t pos, uint32_t dep)
{
    vec_push(&c->deps, ((struct weave_dep){pos, dep}));
}

/* weave_edge.c */
void weave_edges(struct weaving *x);
uint32_t weave_everywhere(struct weaving *x, uint32_t task); /* the set of all its instances */

/* weave_group.c */
void weave_owners(struct weaving *x);
void weave_group_edges(struct weaving *x);

/* weave_strategy.c */
int weave_strategies(struct weaving *x);

/* weave_fill.c */
int weave_fill(struct weaving *x);

/* weave_sort.c: 0; 1 if a strategy was given up and all must be woven again; -ERR_CONFLICT */
int weave_sort(struct weaving *x);

/* weave_circle.c: from what is left over, those with left[v] > 0 */
int weave_circle(struct weaving *x, const uint32_t *left);
/* The strategy of a vertex is in the way, as x->e tells.  1: it is a limit from now on; else x->e
 */
int weave_strategy_drop(struct weaving *x, uint32_t v);

/* weave_window.c, of what is sorted; as weave_sort() */
int weave_windows(struct weaving *x);

/* weave_pick.c */
int weave_leave_out(struct weaving *x);

#endif
