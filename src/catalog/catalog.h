/* catalog.h - what can be bound: barclamps, jigs, roles, tasks and pools of one generation
 *
 * A catalog is loaded whole or not at all from YAML that the caller has read; this module knows no
 * files.  What is loaded is immutable, lives in one arena and is shared by reference count, so that
 * a plan made from generation 7 can be finished while generation 8 is loaded.  Between generations
 * things are known by name, within one by index; an index is good for one generation only.
 *
 * Whatever a role may be asked for is a *name*: its own, or one that it provides.  Names have
 * indexes too, so that who may stand in for whom is a question about small numbers.
 *
 * The format is docs/rfc/04-catalog.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_CATALOG_H
#define CATALOG_CATALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/value.h"
#include "model/hooks.h"

#define CATALOG_NONE UINT32_MAX
/* The role that stands for the machine itself: bound when a node is made, needed by all else on it.
 * It is in every generation; one that defines a role called so replaces the one that is built in,
 * which has nothing to run. */
#define CATALOG_MACHINE "machine"
/* Roles that come with task graphs (graph_role.c): of the node that `master` means, and of what no
 * group owns. */
#define CATALOG_MASTER  "master"
#define CATALOG_CARRIER "task-graph"

enum { /* what a user may size */
       CATALOG_MAX_FILES = 20000,
       CATALOG_MAX_FILE_BYTES = 16 << 20,
       CATALOG_MAX_BYTES = 256 << 20,
       CATALOG_MAX_VALUES = 4000000, /* YAML values of one file */
       CATALOG_MAX_ROLES = 100000,
       CATALOG_MAX_TASKS = 400000,
       CATALOG_MAX_JIGS = 1000,
       CATALOG_MAX_POOLS = 10000,
       CATALOG_MAX_GRAPHS = 1000,
       CATALOG_MAX_VERTICES = 200000, /* stages, groups and tasks of all graphs */
       CATALOG_MAX_LIST = 1000,       /* entries of one list: requires, steps of an action ... */
       CATALOG_MAX_TEXT = 4096,       /* bytes of a description */
       CATALOG_MAX_KEYS = 16,         /* of one path */
       CATALOG_MAX_REPORT = 50,       /* errors kept, and warnings kept */
};

#define ROLE_FLAGS(X)                                                                              \
    X(DISCOVERY, "discovery")     /* bound to every node that is discovered */                     \
    X(BOOTSTRAP, "bootstrap")     /* bound to the first node */                                    \
    X(IMPLICIT, "implicit")       /* needed on the same node: never borrowed from another */       \
    X(CLUSTER, "cluster")         /* who needs one needs all of its deployment */                  \
    X(DESTRUCTIVE, "destructive") /* must not happen twice */                                      \
    X(ABSTRACT, "abstract")       /* a name for others to provide; never bound */                  \
    X(MILESTONE, "milestone")     /* a point that people watch for */                              \
    X(LIBRARY, "library")         /* of use to other roles only */                                 \
    X(SERVICE, "service")         /* a label: what others find a service by */                     \
    X(POWERSAVE, "powersave")     /* a label: its node may be switched off when it is idle */
enum role_flag_bit {
#define X(id, text) ROLE_BIT_##id,
    ROLE_FLAGS(X)
#undef X
        ROLE_BIT_COUNT
};
enum role_flag {
#define X(id, text) ROLE_F_##id = 1u << ROLE_BIT_##id,
    ROLE_FLAGS(X)
#undef X
};

#define STRATEGIES(X)                                                                              \
    X(PARALLEL, "parallel")                                                                        \
    X(ONE_BY_ONE, "one_by_one")                                                                    \
    X(ROLLING, "rolling")
enum strategy {
#define X(id, text) STRATEGY_##id,
    STRATEGIES(X)
#undef X
        STRATEGY_COUNT
};
#define RERUNS(X)                                                                                  \
    X(CHANGED, "changed")                                                                          \
    X(ALWAYS, "always")
enum rerun {
#define X(id, text) RERUN_##id,
    RERUNS(X)
#undef X
        RERUN_COUNT
};
const char *role_flag_name(enum role_flag_bit bit);
const char *strategy_name(enum strategy s);
const char *rerun_name(enum rerun r);

struct catalog_where {
    uint32_t file; /* index into catalog.files; CATALOG_NONE: built in, or no file's fault */
    uint32_t line, column;
};
struct catalog_attribute {
    struct str name;
    struct str path; /* where it lives in data: "a/b/c", by default its name */
    struct catalog_where where;
};
struct hook; /* template/hook.h */
struct catalog_hooks {
    uint32_t events;                         /* 1u << enum hook_event, of those that do something */
    const struct hook *at[HOOK_EVENT_COUNT]; /* NULL: none */
    const struct str *fields; /* of a node, "a/b", that on_node_change watches; none: all */
    uint32_t n_fields;
    uint32_t file; /* that they were read from */
};
struct catalog_barclamp {
    struct str name, version, description;
    bool lenient; /* faults of its roles are warnings; see catalog_role.fault */
    /* How its task graphs are meant: see graph_vertex. */
    bool graphs_same_node, graphs_limit;
    /* Attributes of nodes, as those of roles below. */
    const struct value *attributes, *schema, *defaults;
    const struct catalog_attribute *attribute_list;
    uint32_t n_attributes;
    const struct catalog_hooks *hooks; /* of each of its roles; NULL: none */
    struct catalog_where where;
};
struct catalog_jig {
    struct str name, implementation;
    uint32_t implementor; /* role that every role of this jig needs; CATALOG_NONE */
    uint8_t reach;        /* enum reach */
    bool active;          /* as loaded; the engine keeps the live switch */
    struct catalog_where where;
};
struct catalog_pool {
    struct str name;
    uint32_t size;
    struct catalog_where where;
};
struct graph_test {      /* a command that is run before or after a task, in its attempt */
    struct str cmd;      /* "": none */
    uint64_t timeout_ms; /* 0: not said */
    uint32_t retries;
    uint64_t interval_ms; /* before each of these */
};
struct catalog_task {
    struct str name, description;
    const struct value *params; /* a map */
    uint64_t timeout_ms, deadline_ms, backoff_ms;
    uint32_t retries;
    uint8_t hold;  /* enum hold */
    uint8_t flags; /* DEF_F_TAKES_DOWN, DEF_F_SURVIVES_REBOOT, DEF_F_LASTING */
    struct graph_test test_pre, test_post;
    const struct str *returns; /* keys that it may put into the config of its node */
    uint32_t n_returns;
    const uint32_t *pools;
    uint32_t n_pools;
    struct catalog_where where;
};
struct catalog_step { /* a task as one role runs it */
    uint32_t task, jig;
    uint8_t repeat;        /* enum repeat */
    uint8_t flags;         /* DEF_F_..., besides those of the task */
    const uint32_t *after; /* indexes of steps of the same action */
    uint32_t n_after;
};
struct catalog_action {
    struct str name;
    const struct catalog_step *steps; /* as listed; converge has at least one, if not built in */
    const uint32_t *order;            /* the steps, each after those it waits for */
    uint32_t n_steps;
};
struct catalog_want {
    uint32_t name; /* index into catalog.names */
    uint32_t jig;  /* wanted as this jig's implementor; CATALOG_NONE: the role says so itself */
    bool read;     /* not listed, but an attribute of it is read: see catalog_role.wants */
    bool percent;  /* min is one of a hundred */
    uint32_t min;  /* of a cluster: so many of it are enough; 0: all */
};
struct catalog_read {     /* what a role reads of those above it */
    struct str path;      /* "a/b/c" */
    uint32_t name;        /* whose attribute it is, in catalog.names; CATALOG_NONE: a bare path */
    struct str attribute; /* "" with a bare path */
    struct catalog_where where;
};
#define DEPENDS(X)                                                                                 \
    X(INSTALL, "install")                                                                          \
    X(RUN, "run")
enum depend_kind {
#define X(id, text) DEPEND_##id,
    DEPENDS(X)
#undef X
        DEPEND_COUNT
};
const char *depend_name(enum depend_kind k);
struct catalog_depend { /* between services: orders their phases, and is no need */
    struct str name;
    uint32_t name_id; /* in catalog.names; CATALOG_NONE: nobody has it, which only `uses` may say */
    uint8_t kind;     /* enum depend_kind */
    bool required;    /* a cluster must have it; else it counts where it is there */
    struct catalog_where where;
};
struct catalog_amount { /* what a service demands, or hardware has */
    struct str name;
    int64_t milli; /* thousandths */
};
/* How many nodes of a group may fail: value, or floor(total * value / 100); negative: how many must
 * succeed.  Not given: as many as there are, and the operation does not stop. */
struct graph_tolerance {
    bool given, percent;
    int32_t value;
};
/* -1: never too many. */
int64_t graph_tolerance_of(const struct graph_tolerance *t, uint32_t total);

struct catalog_role {
    struct str name, description;
    struct str version;                  /* default: that of its barclamp */
    uint32_t barclamp, jig;              /* CATALOG_NONE: built in, runs nothing */
    uint32_t name_id;                    /* its own, in catalog.names */
    const struct catalog_want *requires; /* as listed, those read of, implementors; each once */
    uint32_t n_requires;
    const struct catalog_want *uses;
    uint32_t n_uses;
    const uint32_t *provides, *conflicts; /* names */
    uint32_t n_provides, n_conflicts;
    const struct catalog_depend *depends; /* on services: install, then run; as listed */
    uint32_t n_depends;
    const struct catalog_amount *demands;
    uint32_t n_demands;
    bool phased;      /* a service: it has phases, and converge is the four that bring it up */
    uint32_t flags;   /* ROLE_F_... */
    uint8_t strategy; /* enum strategy */
    uint8_t rerun;    /* enum rerun */
    uint32_t max;     /* STRATEGY_ROLLING: at a time */
    struct graph_tolerance failures; /* of a strategy: that may be before it stops; not given: 0 */
    uint32_t cohort;                 /* above every role it needs or uses */
    const struct value *attributes;  /* name -> {description, schema, default}, as written */
    const struct value *schema;      /* of all attributes together, at their paths */
    const struct value *defaults;    /* as data: attributes without a default are absent */
    const struct catalog_attribute *attribute_list;
    uint32_t n_attributes;
    const struct catalog_read *wants; /* as listed; each path once for each name */
    uint32_t n_wants;
    struct str lens; /* the text of model/lens.h: attributes and wants, as runs see by them */
    uint64_t lens_id;
    const struct catalog_hooks *hooks;    /* its own; they run after its barclamp's; NULL: none */
    uint32_t hook_events;                 /* of both */
    const struct catalog_action *actions; /* the first is converge and always there */
    uint32_t n_actions;
    struct catalog_where where;
    bool group;        /* of task graphs: `deploy` gives its noderoles their tasks */
    bool machine;      /* of a provider: operations on clusters do */
    const char *fault; /* a role of a lenient barclamp that cannot be bound, and why; NULL: sound */
    struct catalog_where fault_where;
};
struct catalog_name {
    struct str name;
    uint32_t role;             /* the role called so; CATALOG_NONE: only provided */
    const uint32_t *providers; /* roles that provide it, ascending */
    uint32_t n_providers;
};

struct catalog_graph;    /* taskgraph.h */
struct graph_patterns;   /* taskgraph.h */
struct catalog_hardware; /* and the other kinds: kinds.h */
struct catalog_image;
struct catalog_provider;
struct catalog_template;
struct catalog_comparator;
struct catalog {
    struct arena mem;
    uint32_t refs;
    uint32_t number; /* of the generation */
    struct digest digest;
    const struct str *files;
    const struct catalog_barclamp *barclamps;
    const struct catalog_jig *jigs;
    const struct catalog_pool *pools;
    const struct catalog_task *tasks;
    const struct catalog_role *roles;
    const struct catalog_name *names;
    const struct catalog_graph *graphs; /* in the order of their names' first files */
    uint32_t n_graphs;
    struct graph_patterns *patterns; /* of all graphs; freed with the catalog */
    const struct catalog_hardware *hardware;
    const struct catalog_image *images;
    const struct catalog_provider *providers;
    const struct catalog_template *templates;
    const struct catalog_comparator *comparators;
    uint32_t n_files, n_barclamps, n_jigs, n_pools, n_tasks, n_roles, n_names;
    uint32_t n_hardware, n_images, n_providers, n_templates, n_comparators;
    const uint32_t *order; /* roles, those needed before those that need them */
    struct strmap by_barclamp, by_jig, by_pool, by_task, by_name;
    struct strmap by_hardware, by_image, by_provider, by_template, by_comparator;
};

/* Safe from any thread; the last unref frees. */
struct catalog *catalog_ref(struct catalog *c);
void catalog_unref(struct catalog *c);
static inline void catalog_scope_end(struct catalog **c)
{
    catalog_unref(*c);
}
/* Borrowed, NULL if there is none.  Tasks written inside a role have no name outside of it. */
const struct catalog_barclamp *catalog_barclamp_get(const struct catalog *c, struct str name);
const struct catalog_jig *catalog_jig_get(const struct catalog *c, struct str name);
const struct catalog_pool *catalog_pool_get(const struct catalog *c, struct str name);
const struct catalog_task *catalog_task_get(const struct catalog *c, struct str name);
const struct catalog_role *catalog_role_get(const struct catalog *c, struct str name);
/* Index of a name that is a role's or provided; CATALOG_NONE. */
uint32_t catalog_name_find(const struct catalog *c, struct str name);
const struct catalog_action *catalog_action_get(const struct catalog_role *r, struct str name);
/* How many roles it has that are not built in, nor of machines. */
uint32_t catalog_roles_written(const struct catalog *c);
/* And tasks, those of its graphs among them. */
uint32_t catalog_tasks_written(const struct catalog *c);
/* The role whose name is nearest to one that does not exist; NULL if none is near. */
const char *catalog_role_nearest(const struct catalog *c, struct str name);

/* Hooks that a role has from its barclamp; NULL: none. */
static inline const struct catalog_hooks *catalog_role_shared_hooks(const struct catalog *c,
                                                                    const struct catalog_role *r)
{
    return r->barclamp == CATALOG_NONE ? NULL : c->barclamps[r->barclamp].hooks;
}

/* --- loading --- */

struct catalog_file { /* path relative to the catalog, '/' between parts */
    struct str path, text;
};
struct catalog_source {
    const struct catalog_file *files;
    size_t n;
};
/* What the caller knows about implementations of jigs; the same function that a jig calls later. */
struct catalog_check {
    const char *implementation;
    int (*params)(const struct value *params, struct err *e); /* NULL: anything goes */
};
struct catalog_checks {
    const struct catalog_check *at;
    size_t n;
};

enum catalog_severity { CATALOG_ERROR, CATALOG_WARNING, CATALOG_NOTE };
struct catalog_entry {
    uint8_t severity;
    uint32_t lead; /* notes: the entry they belong to, else itself */
    struct catalog_where where;
    struct err err; /* at, line, text and hint for people */
};
struct catalog_report {                /* all-zero is a valid empty report */
    VEC(struct catalog_entry) entries; /* by file and place; notes behind what they explain */
    uint32_t n_errors, n_warnings;     /* all of them, kept or not */
    uint32_t n_kept_errors, n_kept_warnings;
};
void catalog_report_done(struct catalog_report *r);
/* "path:line:col: error: text", the line, the hint; then a line that counts. */
void catalog_report_write(struct buf *b, const struct catalog_report *r);

/* Loads generation `number`.  The report gets everything that is wrong and everything doubtful;
 * with an error in it nothing is loaded, and *e is the first.  checks may be NULL: jigs are then
 * not asked. */
int catalog_load(const struct catalog_source *source, const struct catalog_checks *checks,
                 uint32_t number, struct catalog_report *report, struct catalog **ret_c,
                 struct err *e);

#endif
