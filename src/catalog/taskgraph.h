/* taskgraph.h - task graphs of a catalog: stages, groups and tasks that name each other and their
 * nodes
 *
 * A graph is what the files of graphs/ of all barclamps say under one name, resolved: names are
 * indexes of vertices, patterns are compiled, conditions are expressions.  Which nodes there are is
 * not known here; planner/weave.h lays a graph over them.  docs/rfc/07-task-graphs.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_TASKGRAPH_H
#define CATALOG_TASKGRAPH_H

#include "catalog/catalog.h"

struct expr; /* template/expr.h */

enum vertex_kind { VERTEX_STAGE, VERTEX_GROUP, VERTEX_TASK };

/* Patterns, each text compiled once: two words with the same text have the same pattern.  They are
 * memory of the C library and so cannot live in an arena. */
struct graph_patterns;
struct graph_patterns *graph_patterns_new(void);
void graph_patterns_free(struct graph_patterns *p); /* NULL: nothing */
static inline void graph_patterns_scope_end(struct graph_patterns **p)
{
    graph_patterns_free(*p);
}

/* A word of a selector, or the name of a cross dependency. */
enum word_kind { WORD_NAME, WORD_PATTERN, WORD_MASTER, WORD_SELF };
struct graph_word {
    uint8_t kind;
    struct str text;     /* without the slashes of a pattern */
    const void *pattern; /* regex_t of a graph_patterns, anchored at its beginning; NULL */
};
/* Which nodes: those that have one of the words among their names. */
enum selector_kind {
    SELECT_NONE, /* nothing was said */
    SELECT_ALL,  /* "*": every node that has a name, the master not */
    SELECT_WORDS,
    SELECT_NULL, /* null: the place where stages are */
};
struct graph_selector {
    uint8_t kind;
    const struct graph_word *words;
    uint32_t n;
};
/* Does a word match a name?  Patterns at the beginning of the name. */
bool graph_word_matches(const struct graph_word *w, struct str name);

struct graph_cross {
    struct graph_word name;
    struct graph_selector where; /* SELECT_ALL unless said */
    bool any;                    /* policy: any */
    struct catalog_where place;
};

struct graph_strategy {
    uint8_t type; /* enum strategy */
    bool given;
    uint32_t amount;                 /* 0: no limit */
    const struct expr *amount_of;    /* instead of it; NULL */
    struct graph_tolerance failures; /* of a group: that may be before no further node begins */
    struct catalog_where where;
};
/* At a time, as declared; 0: no limit.  An amount that is an expression counts as none. */
uint32_t graph_strategy_limit(const struct graph_strategy *s);
struct graph_vertex {
    struct str id, type, version, description;
    uint8_t kind; /* enum vertex_kind */
    uint32_t barclamp;
    bool same_node;               /* requires and required_for mean the same node only */
    bool lenient;                 /* of a barclamp that is read so: imported */
    bool circles_limit;           /* a strategy in a circle becomes a limit */
    struct graph_selector nodes;  /* of a task or group; its id if nothing was said */
    struct graph_selector groups; /* what `groups` says, whatever selects the nodes */
    const uint32_t *requires, *required_for, *tasks; /* vertices; tasks: of a group */
    uint32_t n_requires, n_required_for, n_tasks;
    const struct graph_cross *depends, *depended_by;
    uint32_t n_depends, n_depended_by;
    /* Instead of lists, where they depend on a node: expressions that give such lists. */
    const struct expr *depends_of, *depended_by_of;
    const struct expr *condition;   /* NULL: none; a constant false is one that is never true */
    const struct value *parameters; /* a map; may hold expressions as {"expr": text} */
    struct graph_strategy strategy;
    struct graph_tolerance tolerance;
    bool fail_on_error;
    const struct str *reexecute_on, *refresh_on;
    uint32_t n_reexecute_on, n_refresh_on;
    struct graph_test test_pre, test_post;
    uint64_t timeout_ms, interval_ms; /* 0: not said */
    uint32_t retries;                 /* CATALOG_NONE: not said */
    const struct value *source;       /* as written, for export and overlays */
    struct catalog_where where;
};

struct catalog_graph {
    struct str name;
    const struct graph_vertex *vertices; /* in the order of files; stages that are built in first */
    uint32_t n_vertices;
    struct strmap by_id;
};
/* One item of such a list, {name, role or tags, policy}, as the reader takes it; text lives in the
 * arena, patterns in p.  Not for null items, which are none.  ERR_INVALID. */
int graph_cross_read(struct arena *a, struct graph_patterns *p, const struct value *v,
                     struct graph_cross *ret, struct err *e);

/* --- overlays --- */

/* Whole vertices by id over those of a catalog: docs/rfc/07-task-graphs.md, section 8. */
enum { GRAPH_MAX_LAYERS = 1024 };
struct graph_layer {
    const char *name;             /* for places: "deployment_tasks of d" */
    struct str text;              /* as it was given, for the lines of faults; may be empty */
    const struct value *vertices; /* a list */
    uint32_t barclamp; /* how what is new in it is meant; CATALOG_NONE: strictly, on any node */
};
struct graph_overlay {
    struct arena mem;
    struct catalog_graph graph;
    struct graph_patterns *patterns;
    struct str *files; /* what graph_vertex.where names: the catalog's files, then the layers */
    uint32_t n_files;
};
/* The graph of the catalog, which need not have it, under the layers, of which the last is on top;
 * what is of a higher layer comes first.  A vertex that takes another's place is meant as that one.
 * Everything is checked together, as a load does: the report gets it all, *e the first error. */
int graph_overlay_new(const struct catalog *c, struct str graph, const struct graph_layer *layers,
                      size_t n_layers, struct catalog_report *report, struct graph_overlay **ret,
                      struct err *e);
void graph_overlay_free(struct graph_overlay *o);
static inline void graph_overlay_scope_end(struct graph_overlay **o)
{
    graph_overlay_free(*o);
}

/* --- as it is written --- */

/* The graph as it is written, before any node is known: requires and required_for, members of a
 * group before it (its `tasks`, and whoever names it in `groups`).  Of the patterns of one list
 * each sees only groups that those before it left.  Names that nobody has are vertices too, behind
 * the others; so is a pattern that matches no group. */
struct graph_plain_edge {
    uint32_t from, to; /* from comes before to */
};
struct graph_plain {
    const struct str *names; /* of all vertices: the graph's own, then undefined ones */
    uint32_t n, n_defined;
    const struct graph_plain_edge *edges; /* each once, by from and then to */
    uint32_t n_edges;
};
void graph_plain_build(struct arena *a, const struct catalog_graph *g, struct graph_plain *ret);
/* The vertices from start on and up to end, both included; CATALOG_NONE: no bound.  ret: by vertex.
 */
void graph_plain_part(const struct graph_plain *p, uint32_t start, uint32_t end, struct arena *a,
                      bool *ret);

const struct catalog_graph *catalog_graph_get(const struct catalog *c, struct str name);
uint32_t catalog_graph_find(const struct catalog_graph *g, struct str id); /* CATALOG_NONE */
uint32_t catalog_graph_count(const struct catalog_graph *g, enum vertex_kind kind);

#endif
