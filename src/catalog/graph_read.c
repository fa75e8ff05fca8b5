/* graph_read.c - one vertex of a task graph: a stage, a group or a task
 *
 * Files are those of docs/rfc/07-task-graphs.md, section 3, which took its keys from content that
 * exists: both spellings of cross dependencies, a strategy of its own or among the parameters,
 * `sync` for rsync.  What is known without the other vertices is checked here; names are resolved
 * in graph_resolve.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/json.h"
#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { VERTEX_MAX_RETRIES = 1000, AMOUNT_MAX = 1000000 };

static const char *const strategy_names[] = {
#define X(id, text) text,
    STRATEGIES(X)
#undef X
};

/* --- what it is --- */

static void vertex_id(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    struct str id = catalog_read_text(l, v, "an id");

    if (graph_id_valid(id)) {
        x->v.id = id;
    } else if (v->kind == VALUE_STRING) {
        struct err *e = catalog_error(l, v, ERR_INVALID, "\"%.*s\" cannot be an id",
                                      (int)text_utf8_prefix(id.s, id.n < 64 ? id.n : 64), id.s);
        (void)err_hint(e, "an id is 1 to 128 of A-Z a-z 0-9 . _ - : # +");
    }
}

static void vertex_type(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    struct str type = catalog_read_name(l, v, "a type");

    x->v.type = str_is(type, "sync") ? str_of("rsync") : type;
    if (str_is(type, "stage"))
        x->v.kind = VERTEX_STAGE;
    else if (str_is(type, "group") || str_is(type, "role"))
        x->v.kind = VERTEX_GROUP;
    else
        x->v.kind = VERTEX_TASK;
    if (x->v.kind == VERTEX_GROUP)
        x->v.type = str_of("group");
}

/* 2.1.0 is text, 2.1 a number; both are kept as they are shown. */
static void vertex_version(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    SCOPED_BUF(b);

    if (v->kind == VALUE_INT || v->kind == VALUE_REAL) {
        json_write_canonical(&b, v);
        x->v.version = (struct str){arena_strndup(l->mem, b.data, b.len), b.len};
    } else {
        x->v.version = catalog_read_text(l, v, "\"version\"");
    }
}

static void vertex_description(struct load *l, const struct value *v, void *object)
{
    ((struct load_vertex *)object)->v.description = catalog_read_text(l, v, "\"description\"");
}

/* --- where it runs --- */

static void vertex_tags(struct load *l, const struct value *v, void *object)
{
    (void)l;
    ((struct load_vertex *)object)->tags = v;
}

static void vertex_roles(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    if (x->roles)
        catalog_error(l, v, ERR_INVALID,
                      "\"role\" and \"roles\" are the same: one of them is enough");
    x->roles = v;
}

static void vertex_groups(struct load *l, const struct value *v, void *object)
{
    (void)l;
    ((struct load_vertex *)object)->groups = v;
}

static struct graph_selector selector_read(struct load *l, const struct value *v)
{
    struct graph_reader r = {.mem = l->mem, .patterns = l->patterns, .lenient = l->lenient};
    struct graph_selector s = {.kind = SELECT_WORDS};
    struct err why = {0};

    if (v->kind == VALUE_NULL)
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(v), "null selects no node");
    if (graph_selector_read(&r, v, 0, &s, &why) < 0)
        graph_reader_fault(l, &r, &why);
    graph_reader_doubt(l, &r);
    return s;
}

static void selectors_read(struct load *l, struct load_vertex *x)
{
    const struct value *counts = x->tags ? x->tags : x->roles ? x->roles : x->groups;

    if (x->groups)
        x->v.groups = selector_read(l, x->groups);
    if (counts == x->groups)
        x->v.nodes = x->v.groups;
    else
        x->v.nodes = selector_read(l, counts);
    if (counts || x->v.kind == VERTEX_STAGE)
        return;
    struct graph_word *self = arena_new(l->mem, struct graph_word, 1);
    self->kind = str_is(x->v.id, "master") ? WORD_MASTER : WORD_NAME;
    self->text = x->v.id;
    x->v.nodes = (struct graph_selector){SELECT_WORDS, self, 1};
}

/* --- when, and how many at a time --- */

static void vertex_condition(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    const struct value *text = catalog_expr_in(v);

    if (v->kind == VALUE_BOOL)
        x->v.condition = catalog_read_expr(l, v, str_of(v->b ? "true" : "false"));
    else if (text || v->kind == VALUE_STRING)
        x->v.condition = catalog_read_expr(l, text ? text : v, value_as_str(text ? text : v));
    else if (v->kind != VALUE_NULL)
        catalog_error(l, v, ERR_INVALID, "\"condition\" must be an expression, true or false");
}

static void strategy_type(struct load *l, const struct value *v, void *object)
{
    struct graph_strategy *s = object;
    s->type = (uint8_t)catalog_read_choice(l, v, "a strategy's type", strategy_names,
                                           COUNT(strategy_names));
}

/* Content that was read by more patient programs may say "4", or what is no number and no limit. */
static void strategy_amount(struct load *l, const struct value *v, void *object)
{
    struct graph_strategy *s = object;
    const struct value *text = catalog_expr_in(v);
    uint64_t digits;

    if (text) {
        s->amount_of = catalog_read_expr(l, text, value_as_str(text));
    } else if (v->kind == VALUE_INT && v->i >= 0 && v->i <= AMOUNT_MAX) {
        s->amount = (uint32_t)v->i;
    } else if (l->lenient && v->kind == VALUE_STRING &&
               text_u64(value_as_str(v), AMOUNT_MAX, &digits, NULL) == 0) {
        s->amount = (uint32_t)digits;
    } else if (l->lenient && v->kind != VALUE_INT && v->kind != VALUE_NULL) {
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(v),
                      "\"amount\" is no number: there is no limit");
    } else if (v->kind != VALUE_NULL) {
        catalog_error(l, v, ERR_INVALID,
                      "\"amount\" must be an integer from 0 to %d or an expression", AMOUNT_MAX);
    }
}

static void strategy_failures(struct load *l, const struct value *v, void *object)
{
    struct graph_strategy *s = object;
    catalog_read_failures(l, v, &s->failures);
}

static const struct field strategy_fields[] = {
    {"type", strategy_type},
    {"amount", strategy_amount},
    {"failures", strategy_failures},
};

static void vertex_strategy(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    struct graph_strategy s = {.given = true, .where = catalog_where_of(v)};

    if (x->v.strategy.given)
        catalog_error(l, v, ERR_INVALID, "\"strategy\" is said twice, here and in the parameters");
    if (catalog_read_fields(l, v, "a strategy", strategy_fields, COUNT(strategy_fields), &s))
        x->v.strategy = s;
}

static void vertex_fault_tolerance(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;

    if (!graph_tolerance_read(v, &x->v.tolerance) && v->kind != VALUE_NULL) {
        struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(v),
                                      "\"fault_tolerance\" is no number: any number may fail");
        (void)err_hint(e, "write 2, \"5%%\", or how many must succeed: -1, \"-50%%\"");
    }
}

/* --- what it runs --- */

static void vertex_parameters(struct load *l, const struct value *v, void *object)
{
    struct load_vertex *x = object;
    const struct value *field;

    if (v->kind == VALUE_NULL)
        return;
    if (v->kind != VALUE_MAP) {
        catalog_error(l, v, ERR_INVALID, "\"parameters\" must be a map");
        return;
    }
    if ((field = value_get(v, "strategy")))
        vertex_strategy(l, field, x);
    if ((field = value_get(v, "timeout")) && !catalog_expr_in(field))
        x->v.timeout_ms = catalog_read_duration(l, field, "\"timeout\"", 1);
    if ((field = value_get(v, "interval")) && !catalog_expr_in(field))
        x->v.interval_ms = catalog_read_duration(l, field, "\"interval\"", 0);
    if ((field = value_get(v, "retries")) && !catalog_expr_in(field))
        x->v.retries = catalog_read_u32(l, field, "\"retries\"", 0, VERTEX_MAX_RETRIES);
    x->v.parameters = value_copy(l->mem, v);
}

static void vertex_fail_on_error(struct load *l, const struct value *v, void *object)
{
    ((struct load_vertex *)object)->v.fail_on_error = catalog_read_bool(l, v, "\"fail_on_error\"");
}

static const struct str *texts_read(struct load *l, const struct value *v, const char *what,
                                    uint32_t *ret_n)
{
    if (v->kind == VALUE_NULL)
        return NULL;
    const struct value *list = catalog_read_list(l, v, what);
    struct str *all = arena_new(l->mem, struct str, list->n);
    for (uint32_t i = 0; i < list->n; i++)
        all[i] = catalog_read_text(l, &list->items[i], what);
    *ret_n = list->n;
    return all;
}

static void vertex_reexecute_on(struct load *l, const struct value *v, void *object)
{
    struct graph_vertex *x = &((struct load_vertex *)object)->v;
    x->reexecute_on = texts_read(l, v, "\"reexecute_on\"", &x->n_reexecute_on);
}

static void vertex_refresh_on(struct load *l, const struct value *v, void *object)
{
    struct graph_vertex *x = &((struct load_vertex *)object)->v;
    x->refresh_on = texts_read(l, v, "\"refresh_on\"", &x->n_refresh_on);
}

static void vertex_test_pre(struct load *l, const struct value *v, void *object)
{
    catalog_read_test(l, v, &((struct load_vertex *)object)->v.test_pre);
}

static void vertex_test_post(struct load *l, const struct value *v, void *object)
{
    catalog_read_test(l, v, &((struct load_vertex *)object)->v.test_post);
}

/* --- all of it --- */

static const struct field vertex_fields[] = {
    {"id", vertex_id},
    {"type", vertex_type},
    {"version", vertex_version},
    {"description", vertex_description},
    {"role", vertex_roles},
    {"roles", vertex_roles},
    {"groups", vertex_groups},
    {"tags", vertex_tags},
    {"tasks", catalog_read_vertex_tasks},
    {"requires", catalog_read_vertex_requires},
    {"required_for", catalog_read_vertex_required_for},
    {"cross_depends", catalog_read_vertex_depends},
    {"cross-depends", catalog_read_vertex_depends},
    {"cross_depended_by", catalog_read_vertex_depended_by},
    {"cross-depended-by", catalog_read_vertex_depended_by},
    {"condition", vertex_condition},
    {"parameters", vertex_parameters},
    {"strategy", vertex_strategy},
    {"fault_tolerance", vertex_fault_tolerance},
    {"fail_on_error", vertex_fail_on_error},
    {"reexecute_on", vertex_reexecute_on},
    {"refresh_on", vertex_refresh_on},
    {"test_pre", vertex_test_pre},
    {"test_post", vertex_test_post},
};

/* Keys that a vertex of this kind has no use for. */
/* Who never stops has no budget, and a budget is said once. */
static void strategy_check(struct load *l, const struct load_vertex *x)
{
    const struct graph_strategy *s = &x->v.strategy;
    if (!s->failures.given)
        return;
    const char *fault = x->v.kind != VERTEX_GROUP ? "only the strategy of a group has \"failures\""
                        : x->v.tolerance.given
                            ? "\"failures\" and \"fault_tolerance\" say the same: one is enough"
                        : !graph_strategy_limit(s) && !s->amount_of
                            ? "\"failures\" is of a strategy with an amount, or one_by_one"
                            : NULL;
    if (fault)
        catalog_fault(l, CATALOG_ERROR, ERR_INVALID, s->where, "%s", fault);
}

static void keys_check(struct load *l, const struct load_vertex *x)
{
    static const struct {
        const char *key;
        unsigned kinds; /* that have it */
    } rules[] = {
        {"role", 1u << VERTEX_GROUP | 1u << VERTEX_TASK},
        {"roles", 1u << VERTEX_GROUP | 1u << VERTEX_TASK},
        {"groups", 1u << VERTEX_GROUP | 1u << VERTEX_TASK},
        {"tags", 1u << VERTEX_GROUP | 1u << VERTEX_TASK},
        {"tasks", 1u << VERTEX_GROUP},
        {"fault_tolerance", 1u << VERTEX_GROUP},
        {"strategy", 1u << VERTEX_GROUP | 1u << VERTEX_TASK},
        {"condition", 1u << VERTEX_TASK},
        {"fail_on_error", 1u << VERTEX_TASK},
        {"test_pre", 1u << VERTEX_TASK},
        {"test_post", 1u << VERTEX_TASK},
    };
    static const char *const kinds[] = {"stage", "group", "task"};

    for (size_t i = 0; i < COUNT(rules); i++) {
        const struct value *v = value_get(x->at, rules[i].key);
        if (v && !(rules[i].kinds >> x->v.kind & 1))
            catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(v),
                          "\"%s\" says nothing about a %s", rules[i].key, kinds[x->v.kind]);
    }
    strategy_check(l, x);
    if ((value_get(x->at, "cross_depends") && value_get(x->at, "cross-depends")) ||
        (value_get(x->at, "cross_depended_by") && value_get(x->at, "cross-depended-by")))
        catalog_error(l, x->at, ERR_INVALID, "one cross dependency in two spellings");
}

void catalog_read_vertex(struct load *l, const struct value *v)
{
    struct load_vertex x = {.at = v, .graph = l->graph, .lenient = l->lenient};
    const struct catalog_barclamp *b = &l->barclamps.at[l->barclamp];

    if (l->vertices.n >= CATALOG_MAX_VERTICES) {
        if (!l->limited)
            catalog_error(l, v, ERR_LIMIT, "more than %d vertices in all graphs",
                          CATALOG_MAX_VERTICES);
        return;
    }
    x.v.where = catalog_where_of(v);
    x.v.barclamp = l->barclamp;
    x.v.same_node = b->graphs_same_node;
    x.v.lenient = l->lenient;
    x.v.circles_limit = b->graphs_limit;
    x.v.fail_on_error = true;
    x.v.retries = CATALOG_NONE;
    x.v.parameters = l->no_values;
    x.v.kind = VERTEX_TASK;
    l->fields_doubt = l->lenient;
    bool map = catalog_read_fields(l, v, "a vertex", vertex_fields, COUNT(vertex_fields), &x);
    l->fields_doubt = false;
    if (!map)
        return;
    if (!value_get(v, "type"))
        catalog_error(l, v, ERR_INVALID, "a vertex needs a type");
    if (!value_get(v, "id"))
        catalog_error(l, v, ERR_INVALID, "a vertex needs an id");
    selectors_read(l, &x);
    keys_check(l, &x);
    x.v.source = value_copy(l->mem, v);
    if (x.v.id.n)
        vec_push(&l->vertices, x);
}

/* --- where they are read --- */

uint32_t catalog_graph_begin(struct load *l, uint32_t doc)
{
    struct str name = l->docs[doc].graph;
    struct catalog_where top = {doc, 1, 1};

    if (!text_is_name(name)) {
        struct err *e = catalog_fault(
            l, CATALOG_ERROR, ERR_INVALID, top, "\"%.*s\" cannot be the name of a graph",
            (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        (void)err_hint(e, "a name is 1 to 64 of a-z 0-9 . _ - and begins with a letter or digit");
        return CATALOG_NONE;
    }
    uint32_t known = catalog_index_add(&l->by_graph, name, (uint32_t)l->graphs.n);
    if (known != CATALOG_NONE)
        return known;
    if (l->graphs.n >= CATALOG_MAX_GRAPHS) {
        catalog_fault(l, CATALOG_ERROR, ERR_LIMIT, top, "more than %d graphs", CATALOG_MAX_GRAPHS);
        return CATALOG_NONE;
    }
    struct load_graph g = {.name = {arena_strndup(l->mem, name.s, name.n), name.n}};
    vec_push(&l->graphs, g);
    return (uint32_t)l->graphs.n - 1;
}

static void graphs_requires(struct load *l, const struct value *v, void *object)
{
    static const char *const names[] = {"any-node", "same-node"};
    ((struct catalog_barclamp *)object)->graphs_same_node = catalog_read_choice(
        l, v, "\"requires\"", names, COUNT(names));
}

static void graphs_circles(struct load *l, const struct value *v, void *object)
{
    static const char *const names[] = {"refuse", "limit"};
    ((struct catalog_barclamp *)object)->graphs_limit = catalog_read_choice(l, v, "\"circles\"",
                                                                            names, COUNT(names));
}

void catalog_read_graphs(struct load *l, const struct value *v, struct catalog_barclamp *b)
{
    static const struct field fields[] = {
        {"requires", graphs_requires},
        {"circles", graphs_circles},
    };
    (void)catalog_read_fields(l, v, "\"graphs\"", fields, COUNT(fields), b);
}
