/* layout.h - from a template and a number of nodes to a layout, in names
 *
 * A request says what a cluster shall have and how large it shall be; templates and catalog say
 * what is allowed, what is offered and what it costs.  Here they become a problem of the solver,
 * and its answer becomes names again: kinds of nodes, or why there are none and what would help, in
 * the words of whoever wrote the template.
 *
 * What is wrong with a request itself is an error, found before anything is solved: a name that
 * nobody has, something that the template does not allow or the provider does not offer, a service
 * without what it requires.  That rules contradict each other is an answer.
 *
 * Pure; what comes out lives in the caller's arena and borrows names from the request, the template
 * and the catalog.  docs/rfc/08-clusters.md, section 4.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLANNER_LAYOUT_H
#define PLANNER_LAYOUT_H

#include "catalog/kinds.h"
#include "solver/solver.h"

#define LAYOUT_NEW UINT32_MAX /* as the entry of nodes that exist: none */
#define LAYOUT_ANY "*"        /* as hardware or image: whatever is compatible */
enum { LAYOUT_FIRST_NUMBER = 1000, LAYOUT_MAX_LABELS = 100 };

struct layout_label {
    struct str name, value;
};
struct layout_node { /* nodes that exist and are alike */
    struct catalog_names services;
    struct str hardware, image;
    const struct layout_label *labels;
    uint32_t n_labels;
    uint32_t count;
    bool keep; /* must not be given up */
};
struct layout_request {
    const struct catalog *catalog;
    const struct catalog_template *template; /* resolved */
    /* What the cluster shall have.  None: what its nodes have and what is involved; if no nodes
     * exist, the template's defaults. */
    struct catalog_names services;
    uint32_t nodes_min, nodes_max; /* all together, those that exist and stay among them */
    struct str provider, hardware, image, comparator; /* "": the template's, else see there */
    /* Of changes.  In the order in which they are given up; services that the cluster shall not
     * have go from them. */
    const struct layout_node *existing;
    uint32_t n_existing;
    struct catalog_names involved; /* services that may come to nodes that exist, and go */
    uint32_t give_up;
    uint64_t max_steps; /* 0: the solver's own limit */
};

struct layout_kind { /* nodes that are alike */
    uint32_t count;
    const struct str *services; /* by name */
    uint32_t n_services;
    struct str hardware, image;
    const struct layout_label *labels;
    uint32_t n_labels;
    uint32_t existing; /* entry of the request; LAYOUT_NEW: new nodes */
    int64_t cost;      /* of one, in millionths; 0 if none is known */
};
struct layout_goal { /* a key of the comparator */
    struct str name;
    int64_t value;
    int64_t unit; /* of the value: 1, CATALOG_AMOUNT_UNIT or CATALOG_COST_UNIT */
};
struct layout_reason { /* a rule that conflicts with others */
    enum solver_rule rule;
    struct str service; /* that it is a rule of; "": of several, or of none */
    struct str text;
    struct str at; /* "templates/hadoop.yaml:12:3"; "": not known */
};
struct layout_change {
    enum solver_rule rule;
    struct str service;
    struct str text; /* what to do */
    bool dropped;    /* else a number changes */
    int64_t from, to;
};
struct layout_answer {
    enum solver_status status;
    uint64_t steps;
    bool has_layout; /* solved, or the best that is known */
    bool settled;    /* no other that is as good comes before it by name */
    const struct layout_kind *kinds;
    uint32_t n_kinds;
    const uint32_t *given_up; /* by entry of the request */
    uint32_t n_existing;
    const struct layout_goal *goals;
    uint32_t n_goals;
    bool has_bound; /* limit: the first goal is never better; of nodes given up if it has no name */
    struct layout_goal bound;
    const struct layout_reason *conflict;
    uint32_t n_conflict;
    const struct layout_change *relaxation; /* all of them together help */
    uint32_t n_relaxation;
    const struct str *warnings;
    uint32_t n_warnings;
};

/* ERR_UNKNOWN_NAME, with the nearest; ERR_REFUSED for what template, provider or services do not
 * allow; ERR_INVALID; ERR_TOO_LARGE.  Else there is an answer. */
int layout_solve(struct arena *mem, const struct layout_request *req,
                 const struct layout_answer **ret_answer, struct err *e);

/* What the cluster is to have, as layout_solve() takes it; sorted.  The same refusals. */
int layout_services(struct arena *mem, const struct layout_request *req, struct catalog_names *ret,
                    struct err *e);

/* --- as documents (layout_value.c) --- */

/* {"status": "solved", "layout": [...], "objective": {...}}; {"status": "unsatisfiable",
 * "conflict": [...], "relaxation": [...]}; {"status": "limit", "best": ..., "bound": ...}. */
struct value *layout_answer_value(struct arena *mem, const struct layout_answer *a);
/* The list under "layout". */
struct value *layout_kinds_value(struct arena *mem, const struct layout_kind *kinds, uint32_t n);
/* Reads such a list back, or a document that has it under "layout"; borrows its texts. */
int layout_nodes_read(struct arena *mem, const struct value *v, const struct layout_node **ret,
                      uint32_t *ret_n, struct err *e);

/* --- names of nodes (layout_name.c) --- */

/* Appends "CLUSTER-NUMBER.DOMAIN" as DNS has it: the cluster's name in lower case, what is no
 * letter or digit of it a hyphen, without digits in front, and cut where it would be too long.
 * domain "": local.  ERR_INVALID for a domain that is none. */
int layout_node_name(struct buf *b, struct str cluster, uint64_t number, struct str domain,
                     struct err *e);

#endif
