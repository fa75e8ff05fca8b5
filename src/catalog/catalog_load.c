/* catalog_load.c - from files to a generation, whole or not at all
 *
 * Which files count is decided by their paths alone:
 *     DIR/barclamp.yaml   a barclamp, and DIR is its folder (DIR may be empty: a catalog of one)
 *     DIR/roles/X.yaml    a role or a list of roles of that barclamp
 *     DIR/tasks/X.yaml    a task or a list of tasks
 *     DIR/graphs/X.yaml   stages, groups and tasks of the graph `default`
 *     DIR/graphs/G/X.yaml the same, of the graph G
 *     DIR/graph_overlays/X.yaml, DIR/graph_overlays/G/X.yaml   what lies over them (graph_file.c)
 *     DIR/hardware/X.yaml, and images, providers, templates, comparators   one of kinds.h, or a
 * list Everything else in a folder is for the jigs and is not looked at.  Files are read in the
 * order of their paths, barclamps first, so that indexes do not depend on how a directory was
 * listed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include <assert.h>
#include <stdlib.h>

#include "base/yaml.h"

/* --- which files --- */

static bool ends_with(struct str s, const char *end)
{
    struct str e = str_of(end);
    return s.n >= e.n && !memcmp(s.s + s.n - e.n, e.s, e.n);
}

/* "a/b/c" -> "a/b" and "c"; "c" -> "" and "c". */
static struct str path_split(struct str path, struct str *ret_last)
{
    size_t slash = path.n;
    while (slash && path.s[slash - 1] != '/')
        slash--;
    *ret_last = (struct str){path.s + slash, path.n - slash};
    return (struct str){path.s, slash ? slash - 1 : 0};
}

/* DIR/graphs/X.yaml or DIR/graphs/G/X.yaml, or the same below another folder; doc->dir is what lies
 * above `parent`. */
static bool doc_in_graph(struct load_doc *doc, struct str parent, const char *folder)
{
    struct str above, dir = path_split(doc->dir, &above);

    if (str_is(parent, folder)) {
        doc->graph = str_of("default");
        return true;
    }
    if (!str_is(above, folder))
        return false;
    doc->graph = parent;
    doc->dir = dir;
    return true;
}

/* What is in a folder of that name, and how one is read; NULL: no kind's. */
struct kind_folder {
    const char *folder, *one;
    void (*read)(struct load *l, const struct value *v);
};
static const struct kind_folder kind_folders[] = {
#define X(id, folder, one, read) [DOC_##id] = {folder, one, read},
    LOAD_KINDS(X)
#undef X
};

static bool doc_in_kind(struct load_doc *doc, struct str parent)
{
    for (size_t i = 0; i < sizeof kind_folders / sizeof *kind_folders; i++)
        if (kind_folders[i].folder && str_is(parent, kind_folders[i].folder)) {
            doc->kind = i;
            return true;
        }
    return false;
}

/* 1 if the file counts, 0 if not, -1 if it would with another ending. */
static int doc_classify(const struct catalog_file *f, struct load_doc *ret_doc)
{
    struct str last, parent, dir = path_split(f->path, &last);
    bool yaml = ends_with(last, ".yaml"), yml = ends_with(last, ".yml");
    int counts = yaml ? 1 : yml ? -1 : 0;

    *ret_doc = (struct load_doc){.path = f->path, .text = f->text, .dir = dir};
    if (str_is(last, "barclamp.yaml") || str_is(last, "barclamp.yml")) {
        ret_doc->kind = DOC_BARCLAMP;
        return counts;
    }
    ret_doc->dir = path_split(dir, &parent);
    if (str_is(parent, "roles"))
        ret_doc->kind = DOC_ROLES;
    else if (str_is(parent, "tasks"))
        ret_doc->kind = DOC_TASKS;
    else if (doc_in_graph(ret_doc, parent, "graphs"))
        ret_doc->kind = DOC_GRAPH;
    else if (doc_in_graph(ret_doc, parent, "graph_overlays"))
        ret_doc->kind = DOC_OVERLAY;
    else if (!doc_in_kind(ret_doc, parent))
        return 0;
    return counts;
}

/* Overlays by their last names first, whatever folder they are in: they lie on each other. */
static int overlay_compare(const struct load_doc *x, const struct load_doc *y)
{
    struct str left, right;
    (void)path_split(x->path, &left);
    (void)path_split(y->path, &right);
    int order = str_cmp(left, right);
    return order ? order : str_cmp(x->path, y->path);
}

static int doc_compare(const void *a, const void *b)
{
    const struct load_doc *x = a, *y = b;
    if ((x->kind == DOC_BARCLAMP) != (y->kind == DOC_BARCLAMP))
        return x->kind == DOC_BARCLAMP ? -1 : 1;
    if ((x->kind == DOC_OVERLAY) != (y->kind == DOC_OVERLAY))
        return x->kind == DOC_OVERLAY ? -1 : 1;
    if (x->kind == DOC_OVERLAY)
        return overlay_compare(y, x); /* the topmost first */
    return str_cmp(x->path, y->path);
}

/* The files that count, in order; faults here have no line. */
static void docs_collect(struct load *l, const struct catalog_source *source)
{
    struct catalog_where nowhere = {.file = CATALOG_NONE};
    uint64_t bytes = 0;

    l->docs = arena_new(&l->scratch, struct load_doc, source->n);
    for (size_t i = 0; i < source->n; i++) {
        struct load_doc doc;
        int counts = doc_classify(&source->files[i], &doc);
        const char *path = arena_strndup(&l->scratch, doc.path.s, doc.path.n);
        if (counts < 0) {
            struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_INVALID, nowhere,
                                          "%s is not read", path);
            (void)err_hint(e, "name it .yaml");
        }
        if (counts <= 0)
            continue;
        doc.path.s = path;
        bytes += doc.text.n;
        if (l->n_docs >= CATALOG_MAX_FILES || bytes > CATALOG_MAX_BYTES) {
            catalog_fault(l, CATALOG_ERROR, ERR_LIMIT, nowhere,
                          "more than %d files or %d MB in a catalog", CATALOG_MAX_FILES,
                          CATALOG_MAX_BYTES >> 20);
            break;
        }
        l->docs[l->n_docs++] = doc;
    }
    if (!l->n_docs && !l->report->n_errors) {
        struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_INVALID, nowhere,
                                      "no barclamp in this catalog");
        (void)err_hint(e, "a barclamp is a folder with a file barclamp.yaml");
    }
    qsort(l->docs, l->n_docs, sizeof *l->docs, doc_compare);
}

/* --- reading them --- */

const struct value *catalog_doc_parse(struct load *l, uint32_t number)
{
    struct load_doc *doc = &l->docs[number];
    struct yaml_options o = {.source = (uint16_t)(number + 1), .name = doc->path.s};
    struct value *v = NULL;
    struct err why;

    if (doc->parsed)
        return doc->v;
    doc->parsed = true;
    o.max_values = CATALOG_MAX_VALUES;
    if (doc->text.n > CATALOG_MAX_FILE_BYTES) {
        (void)err_set(&why, ERR_LIMIT, "larger than %d MB", CATALOG_MAX_FILE_BYTES >> 20);
        (void)err_at(&why, "%s", doc->path.s);
        catalog_fault_copy(l, number, &why);
        return NULL;
    }
    if (yaml_parse(&l->scratch, doc->text.s, doc->text.n, &o, &v, &why) < 0) {
        catalog_fault_copy(l, number, &why);
        return NULL;
    }
    if (v->kind == VALUE_NULL) {
        catalog_fault(l, CATALOG_ERROR, ERR_INVALID, (struct catalog_where){number, 0, 0},
                      "there is nothing in this file");
        return NULL;
    }
    doc->v = v;
    return v;
}

static void barclamp_doc_read(struct load *l, uint32_t number)
{
    const struct value *v = catalog_doc_parse(l, number);

    if (v)
        catalog_read_barclamp(l, v);
    else /* its other files are still read, and count as its own */
        vec_push(&l->barclamps, ((struct catalog_barclamp){.where = {number, 1, 1},
                                                           .attributes = l->no_values,
                                                           .schema = l->no_schema,
                                                           .defaults = l->no_values}));
}

/* Barclamps, which come first, are read; the others learn whose they are.  True if there are
 * overlays. */
static bool owners_find(struct load *l)
{
    struct strmap dirs = {0}; /* folder -> barclamp */
    bool overlays = false;

    for (uint32_t i = 0; i < l->n_docs; i++) {
        struct load_doc *doc = &l->docs[i];
        uintptr_t barclamp = CATALOG_NONE;
        if (doc->kind == DOC_BARCLAMP) {
            strmap_put(&dirs, doc->dir, l->barclamps.n);
            barclamp_doc_read(l, i);
        } else if (!strmap_get(&dirs, doc->dir, &barclamp)) {
            struct catalog_where top = {i, 1, 1};
            catalog_fault(l, CATALOG_ERROR, ERR_INVALID, top,
                          "there is no %.*s%sbarclamp.yaml that this could belong to",
                          (int)doc->dir.n, doc->dir.s, doc->dir.n ? "/" : "");
        }
        doc->barclamp = (uint32_t)barclamp;
        overlays |= doc->kind == DOC_OVERLAY;
    }
    strmap_done(&dirs);
    return overlays;
}

static void doc_read(struct load *l, uint32_t number, const struct value *v)
{
    const struct load_doc *doc = &l->docs[number];

    if (doc->kind == DOC_ROLES)
        catalog_read_each(l, v, "role", true, catalog_read_role);
    else if (doc->kind == DOC_TASKS)
        catalog_read_each(l, v, "task", true, catalog_read_task);
    else if (kind_folders[doc->kind].folder)
        catalog_read_each(l, v, kind_folders[doc->kind].one, true, kind_folders[doc->kind].read);
    else if ((l->graph = catalog_graph_begin(l, number)) != CATALOG_NONE)
        catalog_read_graph_doc(l, doc, v);
}

static void docs_read(struct load *l)
{
    if (owners_find(l))
        catalog_overlays_learn(l);
    for (uint32_t i = 0; i < l->n_docs; i++) {
        const struct load_doc *doc = &l->docs[i];
        if (doc->kind == DOC_BARCLAMP || doc->barclamp == CATALOG_NONE)
            continue;
        const struct value *v = catalog_doc_parse(l, i);
        l->barclamp = doc->barclamp;
        l->lenient = l->barclamps.at[doc->barclamp].lenient;
        if (v)
            doc_read(l, i, v);
    }
}

/* --- the generation --- */

static struct digest docs_digest(const struct load *l)
{
    struct digest_state state;

    digest_begin(&state);
    for (uint32_t i = 0; i < l->n_docs; i++) {
        uint64_t sizes[2] = {l->docs[i].path.n, l->docs[i].text.n};
        digest_add(&state, sizes, sizeof sizes);
        digest_add(&state, l->docs[i].path.s, l->docs[i].path.n);
        digest_add(&state, l->docs[i].text.s, l->docs[i].text.n);
    }
    return digest_end(&state);
}

static void graphs_seal(struct load *l, struct catalog *c)
{
    struct catalog_graph *graphs = arena_new(&c->mem, struct catalog_graph, l->graphs.n);

    for (size_t i = 0; i < l->graphs.n; i++) {
        struct load_graph *g = &l->graphs.at[i];
        graphs[i] = (struct catalog_graph){g->name, g->sealed, g->n, g->by_id};
        g->by_id = (struct strmap){0};
    }
    c->graphs = graphs;
    c->n_graphs = (uint32_t)l->graphs.n;
    c->patterns = l->patterns;
    l->patterns = NULL;
}

/* Copies the growing arrays into the arena and hands over the indexes. */
static void catalog_seal(struct load *l, struct catalog *c)
{
    for (size_t i = 0; i < l->roles.n; i++)
        catalog_role_lens(l, &l->roles.at[i].role);
#define SEAL(field, type, expression)                                                              \
    do {                                                                                           \
        type *to = arena_new(&c->mem, type, l->field.n);                                           \
        for (size_t i = 0; i < l->field.n; i++)                                                    \
            to[i] = l->field.at[i] expression;                                                     \
        c->field = to;                                                                             \
        c->n_##field = (uint32_t)l->field.n;                                                       \
    } while (0)
    SEAL(barclamps, struct catalog_barclamp, );
    SEAL(jigs, struct catalog_jig, .jig);
    SEAL(pools, struct catalog_pool, );
    SEAL(tasks, struct catalog_task, .task);
    SEAL(roles, struct catalog_role, .role);
    SEAL(names, struct catalog_name, );
    SEAL(hardware, struct catalog_hardware, .hardware);
    SEAL(images, struct catalog_image, .image);
    SEAL(providers, struct catalog_provider, .provider);
    SEAL(templates, struct catalog_template, .template);
    SEAL(comparators, struct catalog_comparator, .comparator);
#undef SEAL
    graphs_seal(l, c);
    struct str *files = arena_new(&c->mem, struct str, l->n_docs);
    for (uint32_t i = 0; i < l->n_docs; i++)
        files[i] = (struct str){arena_strndup(&c->mem, l->docs[i].path.s, l->docs[i].path.n),
                                l->docs[i].path.n};
    c->files = files;
    c->n_files = l->n_docs;
    c->order = l->order;
    c->digest = docs_digest(l);
#define HAND_OVER(index) (c->index = l->index, l->index = (struct strmap){0})
    HAND_OVER(by_barclamp);
    HAND_OVER(by_jig);
    HAND_OVER(by_pool);
    HAND_OVER(by_task);
    HAND_OVER(by_name);
    HAND_OVER(by_hardware);
    HAND_OVER(by_image);
    HAND_OVER(by_provider);
    HAND_OVER(by_template);
    HAND_OVER(by_comparator);
#undef HAND_OVER
}

void catalog_load_done(struct load *l)
{
    vec_done(&l->barclamps);
    vec_done(&l->jigs);
    vec_done(&l->pools);
    vec_done(&l->tasks);
    vec_done(&l->roles);
    vec_done(&l->names);
    strmap_done(&l->by_barclamp);
    strmap_done(&l->by_jig);
    strmap_done(&l->by_pool);
    strmap_done(&l->by_task);
    strmap_done(&l->by_name);
    vec_done(&l->hardware);
    vec_done(&l->images);
    vec_done(&l->providers);
    vec_done(&l->templates);
    vec_done(&l->comparators);
    strmap_done(&l->by_hardware);
    strmap_done(&l->by_image);
    strmap_done(&l->by_provider);
    strmap_done(&l->by_template);
    strmap_done(&l->by_comparator);
    for (size_t i = 0; i < l->graphs.n; i++)
        strmap_done(&l->graphs.at[i].by_id);
    vec_done(&l->graphs);
    vec_done(&l->vertices);
    strmap_done(&l->by_graph);
    strmap_done(&l->meant);
    strmap_done(&l->above);
    graph_patterns_free(l->patterns);
    arena_done(&l->scratch);
}

static void load_init(struct load *l, struct catalog *c)
{
    arena_init(&l->scratch);
    l->mem = &c->mem;
    struct value *closed = value_map(l->mem);
    value_put_text(l->mem, closed, "type", "object");
    value_put_bool(l->mem, closed, "additionalProperties", false);
    l->no_schema = closed;
    struct value *any = value_map(l->mem);
    value_put_text(l->mem, any, "type", "object");
    l->any_schema = any;
    l->no_values = value_map(l->mem);
    l->patterns = graph_patterns_new();
}

const struct err *catalog_first_error(const struct catalog_report *r)
{
    for (size_t i = 0; i < r->entries.n; i++)
        if (r->entries.at[i].severity == CATALOG_ERROR)
            return &r->entries.at[i].err;
    assert(!"an error that was counted was not kept");
    return NULL;
}

int catalog_load(const struct catalog_source *source, const struct catalog_checks *checks,
                 uint32_t number, struct catalog_report *report, struct catalog **ret_c,
                 struct err *e)
{
    SCOPED(catalog) *c = xcalloc(1, sizeof *c);
    struct load l = {.checks = checks, .report = report};

    c->refs = 1;
    c->number = number;
    arena_init(&c->mem);
    load_init(&l, c);
    docs_collect(&l, source);
    docs_read(&l);
    if (!l.limited)
        catalog_resolve(&l);
    /* Circles are only sought among names that are all known. */
    if (!report->n_errors)
        catalog_order(&l);
    if (!report->n_errors)
        catalog_order_depends(&l);
    if (!report->n_errors)
        catalog_order_graphs(&l);
    catalog_report_sort(report);
    if (!report->n_errors)
        catalog_seal(&l, c);
    catalog_load_done(&l);
    if (report->n_errors) {
        const struct err *first = catalog_first_error(report);
        if (e)
            *e = *first;
        return -(int)first->code;
    }
    *ret_c = c;
    c = NULL;
    return 0;
}
