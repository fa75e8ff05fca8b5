/* catalog_i.h - a catalog on its way in
 *
 * Loading has four steps, each over everything: read (catalog_load.c and the *_read.c files, one
 * per kind), name (indexes of names, duplicates), resolve (names to indexes; catalog_resolve.c,
 * kind_resolve.c) and order (cycles, cohorts, what is said twice; catalog_order.c).  A step goes on
 * after a fault, so that one load tells as much as possible, but never follows what is faulty.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CATALOG_CATALOG_I_H
#define CATALOG_CATALOG_I_H

#include "catalog/catalog.h"
#include "catalog/kinds.h"
#include "catalog/taskgraph.h"

struct load_name { /* a name in a list, and where it was read */
    struct str name;
    const struct value *at;
    struct graph_tolerance min; /* of a need: so many are enough; not given: all */
};
struct load_names { /* valid ones only, each once */
    struct load_name *at;
    uint32_t n;
    bool given;
};
struct load_jig {
    struct catalog_jig jig;
    const struct value *at;
    struct load_name implementor; /* at == NULL: none */
};
struct load_task {
    struct catalog_task task;
    const struct value *at, *params;
    struct load_name type; /* at == NULL: that of the role's jig */
    struct load_names requires, pools;
    int repeat;         /* -1: the role decides */
    int lasting;        /* -1: the phase decides */
    bool local;         /* written inside a role */
    struct str checked; /* implementation whose check has seen the parameters */
};
struct load_attributes { /* of a role or a barclamp; in the arena of the catalog */
    const struct value *attributes, *schema, *defaults;
    const struct catalog_attribute *list;
    uint32_t n;
};
struct load_role {
    struct catalog_role role;
    const struct value *at;
    struct load_name jig;
    struct load_names requires, uses, provides, conflicts;
    struct load_names depends[DEPEND_COUNT][2]; /* on services; [1]: required */
    struct load_attributes attributes;
    const struct value *wants; /* a list, or NULL */
    const struct value *actions;
    bool lenient;                     /* its faults are warnings */
    const struct value **requires_at; /* where each of role.requires was read */
    const struct value **uses_at, **wants_at;
};
struct load_vertex { /* of a task graph */
    struct graph_vertex v;
    const struct value *at;
    struct load_names requires, required_for, tasks;
    const struct value *tags, *roles, *groups; /* what selects its nodes; NULL: not said */
    uint32_t graph;
    bool lenient;
};
struct load_graph {
    struct str name;
    struct strmap by_id;         /* of its own numbers */
    struct graph_vertex *sealed; /* in the arena of the catalog, once they are resolved */
    uint32_t *from;              /* the load_vertex of each; CATALOG_NONE: a stage built in */
    uint32_t n;
};
/* Kinds of kinds.h: each begins with the object that it becomes, which begins with its kind. */
struct load_hardware {
    struct catalog_hardware hardware;
    struct catalog_offer *offers; /* of it, to be resolved */
    const struct value *at;
    bool lenient;
};
struct load_image {
    struct catalog_image image;
    struct catalog_offer *offers;
    const struct value *at;
    bool lenient;
};
struct load_provider {
    struct catalog_provider provider;
    const struct value *at, *actions;
    struct load_name jig;
    bool lenient;
};
struct load_template {
    struct catalog_template template;
    const struct value *at;
    bool lenient;
};
struct load_comparator {
    struct catalog_comparator comparator;
    const struct value *at;
    bool lenient;
};
/* Folder of their files and field of a barclamp, what one is called, and what reads it. */
#define LOAD_KINDS(X)                                                                              \
    X(HARDWARE, "hardware", "hardware type", catalog_read_hardware)                                \
    X(IMAGES, "images", "image", catalog_read_image)                                               \
    X(PROVIDERS, "providers", "provider", catalog_read_provider)                                   \
    X(TEMPLATES, "templates", "template", catalog_read_template)                                   \
    X(COMPARATORS, "comparators", "comparator", catalog_read_comparator)
struct load_doc { /* one file that belongs to the catalog */
    struct str path, text, dir;
    struct str graph; /* DOC_GRAPH, DOC_OVERLAY: its name */
    enum {
        DOC_BARCLAMP,
        DOC_ROLES,
        DOC_TASKS,
        DOC_GRAPH,
        DOC_OVERLAY,
#define X(id, folder, one, read) DOC_##id,
        LOAD_KINDS(X)
#undef X
    } kind;
    uint32_t barclamp;     /* whose it is; CATALOG_NONE: nobody's */
    const struct value *v; /* what is in it, once it was parsed; NULL: nothing that counts */
    bool parsed;
};

struct load {
    struct arena *mem;    /* of the catalog */
    struct arena scratch; /* of this load */
    const struct catalog_checks *checks;
    struct catalog_report *report;
    struct load_doc *docs;
    uint32_t n_docs;
    uint32_t barclamp;                         /* being read */
    bool lenient;                              /* is that barclamp */
    const char **excused;                      /* keeps the first fault of whom faults are warnings
                                                  of now; NULL: nobody's are */
    struct catalog_where *excused_where;       /* and its place */
    uint64_t n_faults;                         /* errors, excused or not */
    const struct value *no_schema, *no_values; /* of every role without attributes */
    const struct value *any_schema;            /* of groups */
    VEC(struct catalog_barclamp) barclamps;
    VEC(struct load_jig) jigs;
    VEC(struct catalog_pool) pools;
    VEC(struct load_task) tasks;
    VEC(struct load_role) roles;
    VEC(struct catalog_name) names;
    VEC(struct load_hardware) hardware;
    VEC(struct load_image) images;
    VEC(struct load_provider) providers;
    VEC(struct load_template) templates;
    VEC(struct load_comparator) comparators;
    VEC(struct load_vertex) vertices;
    VEC(struct load_graph) graphs;
    struct graph_patterns *patterns;
    uint32_t graph;    /* being read */
    bool fields_doubt; /* unknown fields are warnings now */
    struct strmap by_barclamp, by_jig, by_pool, by_task, by_name, by_graph;
    struct strmap by_hardware, by_image, by_provider, by_template, by_comparator;
    /* Of overlays, by "graph/id": whose the lowest of that id is, and what was read of those above.
     */
    struct strmap meant, above;
    uint32_t *order;
    bool limited; /* something was too large and not read: what refers to it is no fault */
};

/* Until the next call, faults are warnings and the first is kept, if that object is lenient. */
static inline void catalog_excuse(struct load *l, bool lenient, const char **fault,
                                  struct catalog_where *where)
{
    l->excused = lenient ? fault : NULL;
    l->excused_where = where;
}
static inline void catalog_excuse_none(struct load *l)
{
    l->excused = NULL;
}
/* Frees what a load holds and did not hand over (catalog_load.c). */
void catalog_load_done(struct load *l);
/* The first of a report that has one. */
const struct err *catalog_first_error(const struct catalog_report *r);

/* --- saying what is wrong (catalog_report.c) --- */

struct catalog_where catalog_where_of(const struct value *v);
/* The new entry's err for a hint; NULL if the report is full, which the err_ functions accept. */
struct err *catalog_fault(struct load *l, enum catalog_severity severity, enum errcode code,
                          struct catalog_where where, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
#define catalog_error(l, v, code, ...)                                                             \
    catalog_fault((l), CATALOG_ERROR, (code), catalog_where_of(v), __VA_ARGS__)
/* Where an err says that something inside v is wrong, "path:12:3"; else v's own place. */
struct catalog_where catalog_where_in(const struct value *v, const struct err *e);
/* An err that says where by itself. */
void catalog_fault_copy(struct load *l, uint32_t file, const struct err *e);
/* "path:line:col" into a buffer of at least 192 bytes. */
const char *catalog_where_write(const struct load *l, struct catalog_where w, char *ret, size_t n);
void catalog_report_sort(struct catalog_report *r);

/* --- reading fields (catalog_field.c) --- */

struct field {
    const char *name;
    void (*read)(struct load *l, const struct value *v, void *object);
};
/* Calls the reader of every member.  False, and reported, if v is no map. */
bool catalog_read_fields(struct load *l, const struct value *v, const char *what,
                         const struct field *fields, size_t n_fields, void *object);
/* Each reports what is wrong and then returns nothing: "", 0, false, an empty list. */
struct str catalog_read_text(struct load *l, const struct value *v, const char *what);
struct str catalog_read_name(struct load *l, const struct value *v, const char *what);
bool catalog_read_bool(struct load *l, const struct value *v, const char *what);
uint32_t catalog_read_u32(struct load *l, const struct value *v, const char *what, uint32_t min,
                          uint32_t max);
uint64_t catalog_read_duration(struct load *l, const struct value *v, const char *what,
                               uint64_t min_ms);
/* Index of one of n names, 0 if it is none of them. */
uint32_t catalog_read_choice(struct load *l, const struct value *v, const char *what,
                             const char *const *names, size_t n);
const struct value *catalog_read_list(struct load *l, const struct value *v, const char *what);
struct load_names catalog_read_names(struct load *l, const struct value *v, const char *what);
/* Needs: names, or maps {role: NAME, min: N or "P%"}. */
struct load_names catalog_read_needs(struct load *l, const struct value *v, const char *what);
/* The same for keeping: in the arena of the catalog. */
struct catalog_names catalog_read_name_list(struct load *l, const struct value *v,
                                            const char *what);
/* A number from 0 on with at most as many decimals as unit has zeros; how many of 1/unit it is. */
int64_t catalog_read_amount(struct load *l, const struct value *v, const char *what, int64_t unit);
/* A map from names to numbers, in thousandths. */
const struct catalog_amount *catalog_read_amounts(struct load *l, const struct value *v,
                                                  const char *what, uint32_t *ret_n);
/* A map, copied into the arena of the catalog; an empty one if it is none. */
const struct value *catalog_read_map(struct load *l, const struct value *v, const char *what);
/* The key of a member as a text with its place. */
struct value catalog_key_of(const struct value *map, const struct member *m);
/* "did you mean" over the keys of a map; nothing if none is near. */
void catalog_hint_nearest(struct err *e, struct str name, const struct strmap *known);
/* The number that has the name already, else CATALOG_NONE and the name is added. */
uint32_t catalog_index_add(struct strmap *index, struct str name, uint32_t number);
void catalog_twice(struct load *l, const char *what, struct str name, struct catalog_where where,
                   struct catalog_where first);

/* "a/b/c", without a slash at either end. */
struct str catalog_read_path(struct load *l, const struct value *v, const char *what);

/* --- one file per kind --- */

/* Sets *ret whatever is wrong, to something that can be used. */
void catalog_read_attributes(struct load *l, const struct value *v, struct load_attributes *ret);
/* Where an attribute of the role lives; false if it has none of that name. */
bool catalog_attribute_find(const struct catalog_role *r, struct str name, struct str *ret_path);
void catalog_no_attributes(const struct load *l, struct load_attributes *ret);
/* Compiled; NULL if nothing of it can run. */
const struct catalog_hooks *catalog_read_hooks(struct load *l, const struct value *v);

void catalog_read_barclamp(struct load *l, const struct value *v);
void catalog_builtin_jigs(struct load *l);
void catalog_read_role(struct load *l, const struct value *v);
/* The role CATALOG_MACHINE, unless one was read. */
void catalog_builtin_machine(struct load *l);
/* Those of machines that providers make (provider_role.c); when everything has been read. */
void catalog_machine_roles(struct load *l);
/* Those of task graphs (graph_role.c); when everything has been read. */
void catalog_group_roles(struct load *l);
/* A map, or a list of maps, each read by one(). */
void catalog_read_each(struct load *l, const struct value *v, const char *what, bool single,
                       void (*one)(struct load *l, const struct value *v));
void catalog_read_task(struct load *l, const struct value *v);
/* A task inside a role; its index, CATALOG_NONE if it cannot be used. */
uint32_t catalog_read_task_inline(struct load *l, const struct value *v);
/* A test of a task or a vertex. */
void catalog_read_test(struct load *l, const struct value *v, struct graph_test *t);
/* A warning, if its retries outlast the time of the task; v: as it is written, NULL: nowhere. */
void catalog_test_fits(struct load *l, const struct value *v, const struct graph_test *t,
                       uint64_t timeout_ms);
/* The task that a role without work runs. */
uint32_t catalog_builtin_noop(struct load *l);
/* Keys that a task may put into the config of its node. */
void catalog_read_returns(struct load *l, const struct value *v, struct catalog_task *t);

/* --- kinds (kind_read.c, provider_read.c, template_read.c) --- */

struct kind_shape {
    const char *key;  /* the field that holds its name */
    const char *what; /* "a template" */
    const struct field *fields;
    size_t n_fields;
};
/* Reads one into object, which begins with a struct catalog_kind.  False: it is not kept. */
bool catalog_kind_read(struct load *l, const struct value *v, const struct kind_shape *shape,
                       bool *ret_lenient, void *object);
/* Notes the name of one that is going to be the n-th of its kind; at: those before it, each of that
 * size and beginning with its kind.  A second of the name is reported; false past the limit. */
bool catalog_kind_index(struct load *l, struct strmap *index, const void *at, size_t n, size_t size,
                        const char *what, const struct catalog_kind *kind);
#define KIND_ADD(l, list, index, what, item)                                                       \
    do {                                                                                           \
        if (catalog_kind_index((l), &(l)->index, (l)->list.at, (l)->list.n, sizeof(item), (what),  \
                               (const struct catalog_kind *)&(item)))                              \
            vec_push(&(l)->list, item);                                                            \
    } while (0)
/* For the fields of a shape. */
void catalog_kind_name(struct load *l, const struct value *v, void *object);
void catalog_kind_description(struct load *l, const struct value *v, void *object);
#define X(id, folder, one, read) void read(struct load *l, const struct value *v);
LOAD_KINDS(X)
#undef X
/* Comparators that are in every generation. */
void catalog_builtin_comparators(struct load *l);
/* Actions of providers; then everything else of kinds, when all roles are known. */
void catalog_resolve_providers(struct load *l);
void catalog_resolve_kinds(struct load *l);
/* Templates that extend each other in a circle, and what is wrong between them. */
void catalog_resolve_templates(struct load *l);
/* What is doubtful about a template when all is merged into that body. */
void catalog_template_lint(struct load *l, const struct load_template *t, const struct value *body);
/* The field `constraints` of a struct catalog_template. */
void catalog_read_constraints(struct load *l, const struct value *v, void *object);
/* What a template's merged values are read by; the report tells what is wrong. */
bool catalog_template_fields(struct load *l, const struct value *v, struct catalog_template *t);

/* --- task graphs --- */

/* What reads selectors and cross dependencies, for a load and later for what expressions give. */
struct graph_reader {
    struct arena *mem;
    struct graph_patterns *patterns;
    bool lenient;              /* keys that nobody knows are only doubtful */
    const struct value *at;    /* what an error is about */
    const struct value *doubt; /* what may be a slip, and why; NULL: nothing */
    const char *doubt_why;
};
enum { SELECTOR_SELF = 1u << 0, SELECTOR_NULL = 1u << 1 }; /* what may stand there */
bool graph_id_valid(struct str id);
int graph_selector_read(struct graph_reader *r, const struct value *v, unsigned allowed,
                        struct graph_selector *ret, struct err *e);
int graph_cross_item(struct graph_reader *r, const struct value *v, struct graph_cross *ret,
                     struct err *e);
/* False: no number of either kind. */
bool graph_tolerance_read(const struct value *v, struct graph_tolerance *ret);
/* Of a strategy: how many members may fail before their roll-out stops. */
void catalog_read_failures(struct load *l, const struct value *v, struct graph_tolerance *ret);
/* The number of the graph, which is made if there is none; CATALOG_NONE, reported, past a limit. */
uint32_t catalog_graph_begin(struct load *l, uint32_t doc);
void catalog_read_vertex(struct load *l, const struct value *v);
/* Compiled; NULL, and reported, if it is none.  v is where the text stands. */
const struct expr *catalog_read_expr(struct load *l, const struct value *v, struct str text);
/* The text of {expr: TEXT}; NULL if v is none. */
const struct value *catalog_expr_in(const struct value *v);
/* What a reader found wrong or doubtful goes to the report. */
void graph_reader_fault(struct load *l, const struct graph_reader *r, const struct err *why);
void graph_reader_doubt(struct load *l, const struct graph_reader *r);
/* Fields of a load_vertex. */
void catalog_read_vertex_requires(struct load *l, const struct value *v, void *object);
void catalog_read_vertex_required_for(struct load *l, const struct value *v, void *object);
void catalog_read_vertex_tasks(struct load *l, const struct value *v, void *object);
void catalog_read_vertex_depends(struct load *l, const struct value *v, void *object);
void catalog_read_vertex_depended_by(struct load *l, const struct value *v, void *object);
/* What is read of a field "graphs" of a barclamp. */
void catalog_read_graphs(struct load *l, const struct value *v, struct catalog_barclamp *b);
/* Files that lie over graphs (graph_file.c): what each id means is learnt before any is read, the
 * topmost file first. */
void catalog_overlays_learn(struct load *l);
void catalog_read_graph_doc(struct load *l, const struct load_doc *doc, const struct value *v);
/* What a file holds; NULL, and reported, if nothing. */
const struct value *catalog_doc_parse(struct load *l, uint32_t number);
void catalog_resolve_graphs(struct load *l);
void catalog_order_graphs(struct load *l);
/* Turns round what graph_sort() tells from need to needed, and starts at the lowest number. */
void catalog_circle_turn(const uint32_t *circle, uint32_t n, uint32_t *ret_turned);

/* --- all together --- */

void catalog_resolve(struct load *l);
/* What the role reads of others. */
void catalog_resolve_wants(struct load *l, struct load_role *r);
/* Roles that hooks name, and which events each role has hooks for. */
void catalog_resolve_hooks(struct load *l);
/* A role without tasks to converge gets the task `noop`. */
void catalog_resolve_actions(struct load *l, uint32_t role, uint32_t noop);
/* An action of whoever has the jig: its tasks, each by its jig, and their order. */
struct action_owner {
    uint32_t jig;
    uint8_t repeat; /* of tasks that leave it open */
    uint8_t flags;  /* DEF_F_LASTING, for tasks that leave it open */
};
struct catalog_action catalog_action_resolve(struct load *l, const struct action_owner *owner,
                                             struct str name, const struct value *list);
/* The index of a jig; CATALOG_NONE, and reported, if there is none. */
uint32_t catalog_jig_find(struct load *l, const struct load_name *wanted, const char *what);
/* A name of roles; CATALOG_NONE, and reported, if nobody is called so or provides it. */
uint32_t catalog_role_name_find(struct load *l, const struct load_role *r, const char *verb,
                                const struct load_name *wanted);
/* Dependencies between services (depend_resolve.c), and their circles once all are known. */
void catalog_resolve_depends(struct load *l, struct load_role *r);
void catalog_order_depends(struct load *l);
void catalog_order(struct load *l);
/* What runs of a role see by, once all names are known; text in the catalog's arena. */
void catalog_role_lens(const struct load *l, struct catalog_role *r);

#endif
