/* weave.h - a task graph laid over nodes: instances, stages, joins and what each waits for
 *
 * A pure function of a graph, nodes with their names and what is asked for.  The result is
 * immutable, lives in its own arena and is the same on every machine: stages in the order of files,
 * then instances by node in the given order and task in the order of files, then joins.
 *
 * Nodes that answer to the same names are of one *class*; selectors see nothing but names, so who
 * waits for whom is decided once for each class and then copied to its nodes.  What everybody of a
 * set waits for goes through one vertex, a join: edges grow with tasks, not with their square.
 *
 * docs/rfc/07-task-graphs.md, sections 4, 5 and 7.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_WEAVE_H
#define PLANNER_WEAVE_H

#include "base/arena.h"
#include "base/err.h"
#include "catalog/taskgraph.h"

#define WEAVE_NONE   UINT32_MAX
#define WEAVE_MASTER "master" /* the pseudo node that selectors call so */

enum {
    WEAVE_MAX_NODES = 1000000,
    WEAVE_MAX_VERTICES = 8000000,
    WEAVE_MAX_EDGES = 64000000,
};

struct weave_node {
    struct str name;
    const struct str *names; /* what it answers to, each once */
    uint32_t n_names;
    bool deployed; /* before: `events` decide what of it runs again */
};

/* What of the graph is run; everything else is left out, and keeps its place in the order.  Words:
 * "task", "task/node", "task/1,3-5", a stage. */
struct weave_part { /* behind all starts and before all ends; none: no bound on that side */
    const struct str *starts, *ends;
    uint32_t n_starts, n_ends;
};
struct weave_pick {
    const struct weave_part *parts; /* their union; none: everything */
    uint32_t n_parts;
    const struct str *only, *skip;
    uint32_t n_only, n_skip;
    const bool *on; /* by node, the master's behind them: only there; NULL: everywhere */
    const struct str *events;
    uint32_t n_events;
};

struct weave_request {
    const struct catalog_graph *graph;
    const struct weave_node *nodes;
    uint32_t n_nodes;
    const struct weave_pick *pick; /* NULL: everything */
    /* What expressions see of a node (its index, or WEAVE_NONE: of none); NULL: nothing. */
    const struct expr_scope *(*scope)(void *ctx, uint32_t node);
    /* Is the condition of a task true on this node?  1, 0 or -code; NULL: all are. */
    int (*condition)(void *ctx, uint32_t task, uint32_t node, struct err *e);
    void *ctx;
    bool no_data;       /* expressions that cannot do without data give nothing, with a warning */
    bool limit_circles; /* as if every group said so */
    bool unsorted;      /* no order, and so no circle: to look at the edges */
    uint32_t max_vertices, max_edges; /* 0: WEAVE_MAX_... */
};

enum weave_kind { WEAVE_STAGE, WEAVE_TASK, WEAVE_JOIN };
#define WEAVE_REASONS(X)                                                                           \
    X(RUN, "run")                                                                                  \
    X(TYPE, "skipped by type")                                                                     \
    X(CONDITION, "condition is false")                                                             \
    X(PART, "outside the part")                                                                    \
    X(NOT_ONLY, "not asked for")                                                                   \
    X(SKIP, "skipped")                                                                             \
    X(NODE, "on another node")                                                                     \
    X(EVENT, "not for this event")
enum weave_reason {
#define X(id, text) WEAVE_##id,
    WEAVE_REASONS(X)
#undef X
        WEAVE_REASON_COUNT
};
const char *weave_reason_name(enum weave_reason r);

struct weave_vertex {
    uint32_t task;   /* vertex of the graph; of a join the group that it is the edge of, or NONE */
    uint32_t node;   /* index; n_nodes: the master; NONE: none */
    uint32_t role;   /* group that owns it; NONE */
    uint32_t weight; /* longest remaining path, itself included */
    uint32_t level;  /* longest path before it */
    uint32_t stage;  /* the next stage behind it (vertex of the graph); NONE */
    uint8_t kind, reason;
};
enum weave_join_kind { WEAVE_JOIN_SET, WEAVE_JOIN_BEGIN, WEAVE_JOIN_END, WEAVE_JOIN_CHUNK };
struct weave_join {
    uint8_t kind;
    uint32_t group;  /* not of a SET */
    uint32_t chunk;  /* of a CHUNK: its number, from 0 */
    struct str name; /* for people: "join:database", "controller:chunk-0" */
};
struct weave_limit { /* at most so many at once */
    struct str name; /* "task:rabbitmq", "group:controller" */
    uint32_t vertex; /* of the graph */
    uint32_t group;  /* of a task: only of instances that this one owns; NONE: of all */
    uint32_t size;
    bool nodes; /* of a group: held from a node's first task to its last */
};
struct weave_warning {
    struct str text;
    struct catalog_where where;
};

struct weave_role { /* a list of groups */
    uint32_t group;
    const struct weave_role *next;
};

struct weave {
    struct arena mem;
    const struct catalog_graph *graph;
    uint32_t n_nodes; /* as given; the master is behind them */
    uint32_t n_stages, n_tasks, n_joins, n;
    struct weave_vertex *vertices; /* stages, tasks, joins */
    struct weave_join *joins;      /* of vertices n_stages + n_tasks ... */
    uint32_t *first, *deps;        /* what vertex v waits for: deps[first[v] .. first[v + 1]) */
    uint32_t *order;               /* those waited for before those who wait */
    uint32_t n_levels;
    const uint32_t *base, *class_of;               /* by node: its first instance; its class */
    const struct weave_role *const *const *serves; /* by class and position on its nodes */
    struct graph_patterns *patterns;               /* of dependencies that expressions gave */
    struct weave_limit *limits;
    uint32_t n_limits;
    const bool *rolls; /* by vertex of the graph: a group whose nodes go a few at a time */
    struct weave_warning *warnings;
    uint32_t n_warnings;
};
/* ERR_CONFLICT for a circle, with its path; ERR_NOT_FOUND for a word of the pick that matches
 * nothing; ERR_LIMIT; what the callbacks say. */
int weave_make(const struct weave_request *req, struct weave **ret, struct err *e);
void weave_free(struct weave *w);
static inline void weave_scope_end(struct weave **w)
{
    weave_free(*w);
}

/* --- reading it --- */

/* "task/node", the id of a stage, the name of a join. */
struct str weave_vertex_name(const struct weave *w, const struct weave_request *req, uint32_t v,
                             struct arena *a);
/* Marks the stages and instances that words of a pick mean; what: whose words they are, "--only".
 * ERR_NOT_FOUND for one that means nothing, with what is called nearly so. */
int weave_words_mark(const struct weave *w, const struct weave_request *req, const char *what,
                     const struct str *words, uint32_t n, bool *ret, struct err *e);
/* The same edges without joins: the instances and stages that v waits for, itself never; sorted. */
uint32_t weave_plain_deps(const struct weave *w, uint32_t v, uint32_t *ret, uint32_t max);
/* By vertex: 100, 200 ...; see weave_priority.c. */
void weave_priorities(const struct weave *w, uint32_t *ret);
/* All groups that an instance serves; the one that owns it is the first. */
const struct weave_role *weave_serves(const struct weave *w, uint32_t v);

#endif
