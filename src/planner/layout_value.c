/* layout_value.c - layouts as documents, and nodes that exist read back from them
 *
 * What is written can be read: the list of an answer is the nodes that exist of the next request.
 * Of an entry that is read only its nodes count; "existing", which an answer has of nodes that were
 * there before, is passed over.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "planner/layout.h"

/* --- writing --- */

static const struct value *amount_value(struct arena *mem, int64_t v, int64_t unit)
{
    return v % unit ? value_real(mem, (double)v / (double)unit) : value_int(mem, v / unit);
}

static void put_str(struct arena *mem, struct value *map, const char *key, struct str s)
{
    value_set(mem, map, key, value_str(mem, s));
}

struct value *layout_kinds_value(struct arena *mem, const struct layout_kind *kinds, uint32_t n)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; i < n; i++) {
        const struct layout_kind *k = &kinds[i];
        struct value *v = value_map(mem), *services = value_list(mem), *labels = value_map(mem);
        for (uint32_t s = 0; s < k->n_services; s++)
            value_add(mem, services, value_str(mem, k->services[s]));
        for (uint32_t l = 0; l < k->n_labels; l++)
            value_set_str(mem, labels, k->labels[l].name, value_str(mem, k->labels[l].value));
        value_put_int(mem, v, "count", k->count);
        value_set(mem, v, "services", services);
        put_str(mem, v, "hardware", k->hardware);
        put_str(mem, v, "image", k->image);
        if (labels->n)
            value_set(mem, v, "labels", labels);
        if (k->existing != LAYOUT_NEW)
            value_put_int(mem, v, "existing", k->existing);
        value_add(mem, list, v);
    }
    return list;
}

static void layout_put(struct arena *mem, struct value *v, const struct layout_answer *a)
{
    struct value *goals = value_map(mem), *gone = value_list(mem);
    for (uint32_t i = 0; i < a->n_goals; i++)
        value_set_str(mem, goals, a->goals[i].name,
                      amount_value(mem, a->goals[i].value, a->goals[i].unit));
    for (uint32_t i = 0; i < a->n_existing; i++) {
        struct value *one = value_map(mem);
        value_put_int(mem, one, "existing", i);
        value_put_int(mem, one, "count", a->given_up[i]);
        if (a->given_up[i])
            value_add(mem, gone, one);
    }
    value_set(mem, v, "layout", layout_kinds_value(mem, a->kinds, a->n_kinds));
    value_set(mem, v, "objective", goals);
    if (gone->n)
        value_set(mem, v, "given_up", gone);
}

static struct value *conflict_value(struct arena *mem, const struct layout_answer *a)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; i < a->n_conflict; i++) {
        const struct layout_reason *r = &a->conflict[i];
        struct value *v = value_map(mem);
        value_put_text(mem, v, "rule", solver_rule_name(r->rule));
        put_str(mem, v, "text", r->text);
        if (r->service.n)
            put_str(mem, v, "service", r->service);
        if (r->at.n)
            put_str(mem, v, "at", r->at);
        value_add(mem, list, v);
    }
    return list;
}

static struct value *relaxation_value(struct arena *mem, const struct layout_answer *a)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; i < a->n_relaxation; i++) {
        const struct layout_change *c = &a->relaxation[i];
        struct value *v = value_map(mem), *change = value_map(mem);
        value_put_text(mem, change, "rule", solver_rule_name(c->rule));
        if (c->service.n)
            put_str(mem, change, "service", c->service);
        if (c->dropped) {
            value_put_bool(mem, change, "dropped", true);
        } else {
            value_put_int(mem, change, "from", c->from);
            value_put_int(mem, change, "to", c->to);
        }
        put_str(mem, v, "text", c->text);
        value_set(mem, v, "change", change);
        value_add(mem, list, v);
    }
    return list;
}

static void limit_put(struct arena *mem, struct value *v, const struct layout_answer *a)
{
    struct value *best = value_map(mem), *bound = value_map(mem);
    if (a->has_layout)
        layout_put(mem, best, a);
    if (a->has_bound)
        value_set_str(mem, bound, a->bound.name, amount_value(mem, a->bound.value, a->bound.unit));
    value_set(mem, v, "best", a->has_layout ? best : value_null(mem));
    value_set(mem, v, "bound", a->has_bound ? bound : value_null(mem));
}

struct value *layout_answer_value(struct arena *mem, const struct layout_answer *a)
{
    struct value *v = value_map(mem);
    value_put_text(mem, v, "status", solver_status_name(a->status));
    if (a->status == SOLVER_SOLVED) {
        layout_put(mem, v, a);
    } else if (a->status == SOLVER_UNSATISFIABLE) {
        value_set(mem, v, "conflict", conflict_value(mem, a));
        value_set(mem, v, "relaxation", relaxation_value(mem, a));
    } else {
        limit_put(mem, v, a);
    }
    return v;
}

/* --- reading --- */

static int wrong(struct err *e, uint32_t i, const char *what)
{
    err_set(e, ERR_INVALID, "layout[%u] %s", i, what);
    (void)err_hint(e, "[{count: 2, services: [NAMES], hardware: NAME, image: NAME}]");
    return -ERR_INVALID;
}

static int services_read(struct arena *mem, uint32_t i, const struct value *v,
                         struct catalog_names *ret, struct err *e)
{
    if (!value_is(v, VALUE_LIST))
        return wrong(e, i, "has no list of services");
    if (v->n > SOLVER_MAX_SERVICES)
        return err_set(e, ERR_TOO_LARGE, "layout[%u] has %u services; at most %d", i, v->n,
                       SOLVER_MAX_SERVICES);
    struct str *names = arena_new(mem, struct str, v->n);
    for (uint32_t k = 0; k < v->n; k++)
        if (!(names[k] = value_as_str(&v->items[k])).n)
            return wrong(e, i, "has a service that is no name");
    *ret = (struct catalog_names){names, v->n};
    return 0;
}

static int labels_read(struct arena *mem, uint32_t i, const struct value *v,
                       struct layout_node *node, struct err *e)
{
    if (!v)
        return 0;
    if (v->kind != VALUE_MAP || v->n > LAYOUT_MAX_LABELS)
        return wrong(e, i, "has labels that are no map, or too many");
    struct layout_label *labels = arena_new(mem, struct layout_label, v->n);
    for (uint32_t k = 0; k < v->n; k++) {
        const struct member *m = &v->members[k];
        if (m->v.kind != VALUE_STRING)
            return wrong(e, i, "has a label that is no text");
        labels[k] = (struct layout_label){{m->key, m->key_n}, value_as_str(&m->v)};
    }
    node->labels = labels;
    node->n_labels = v->n;
    return 0;
}

static int node_read(struct arena *mem, uint32_t i, const struct value *v, struct layout_node *node,
                     struct err *e)
{
    const struct value *count = value_get(v, "count"), *keep = value_get(v, "keep");
    if (v->kind != VALUE_MAP)
        return wrong(e, i, "is no map");
    int64_t n = count ? value_as_int(count, -1) : 1;
    if (n < 0 || n > SOLVER_MAX_NODES)
        return wrong(e, i, "has a count that is no number of nodes");
    if (keep && keep->kind != VALUE_BOOL)
        return wrong(e, i, "has a \"keep\" that is neither true nor false");
    *node = (struct layout_node){.hardware = value_as_str(value_get(v, "hardware")),
                                 .image = value_as_str(value_get(v, "image")),
                                 .count = (uint32_t)n,
                                 .keep = value_as_bool(keep, false)};
    if (!node->hardware.n || !node->image.n)
        return wrong(e, i, node->hardware.n ? "has no image" : "has no hardware");
    int rc = services_read(mem, i, value_get(v, "services"), &node->services, e);
    return rc < 0 ? rc : labels_read(mem, i, value_get(v, "labels"), node, e);
}

int layout_nodes_read(struct arena *mem, const struct value *v, const struct layout_node **ret,
                      uint32_t *ret_n, struct err *e)
{
    const struct value *list = value_is(v, VALUE_MAP) ? value_get(v, "layout") : v;
    uint64_t nodes = 0;
    int rc = 0;
    if (!value_is(list, VALUE_LIST)) {
        err_set(e, ERR_INVALID, "a layout is a list, or a map that has one under \"layout\"");
        (void)err_hint(e, "`anneal solve -o json` writes one");
        return -ERR_INVALID;
    }
    if (list->n > SOLVER_MAX_ENTRIES)
        return err_set(e, ERR_TOO_LARGE, "%u entries of a layout; at most %d", list->n,
                       SOLVER_MAX_ENTRIES);
    struct layout_node *all = arena_new(mem, struct layout_node, list->n);
    for (uint32_t i = 0; i < list->n && rc >= 0; i++) {
        rc = node_read(mem, i, &list->items[i], &all[i], e);
        nodes += rc < 0 ? 0 : all[i].count;
    }
    if (rc >= 0 && nodes > SOLVER_MAX_NODES)
        rc = err_set(e, ERR_TOO_LARGE, "%" PRIu64 " nodes of a layout; at most %d", nodes,
                     SOLVER_MAX_NODES);
    if (rc < 0)
        return rc;
    *ret = all;
    *ret_n = list->n;
    return 0;
}
