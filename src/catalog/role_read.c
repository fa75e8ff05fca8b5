/* role_read.c - one role: what it needs, what it offers, how it is configured
 *
 * Attributes become one schema for all data that a user may give, closed against names the role
 * does not declare, and one map of defaults.  Both are checked here, so that a binding can only
 * fail on what the user gave.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "model/schema.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { ROLLING_MAX = 100000, ATTRIBUTES_MAX = 1000 };

static const char *const strategy_names[] = {
#define X(id, text) text,
    STRATEGIES(X)
#undef X
};
static const char *const rerun_names[] = {
#define X(id, text) text,
    RERUNS(X)
#undef X
};
static const char *const flag_names[] = {
#define X(id, text) text,
    ROLE_FLAGS(X)
#undef X
};

/* --- attributes --- */

struct attribute {
    const struct value *schema, *value;
};

static void attribute_description(struct load *l, const struct value *v, void *object)
{
    (void)object;
    (void)catalog_read_text(l, v, "\"description\"");
}

/* A fault inside a tree: the place is that of the nearest value the pointer leads to. */
static void tree_fault(struct load *l, const struct value *tree, const struct err *why)
{
    const struct value *at = schema_pointer_get(tree, why->at);
    struct err *e = catalog_error(l, at ? at : tree, why->code, "%s", why->text);
    if (why->hint[0])
        (void)err_hint(e, "%s", why->hint);
}

static void attribute_schema(struct load *l, const struct value *v, void *object)
{
    struct err why;
    if (schema_check_self(NULL, v, &why) < 0)
        tree_fault(l, v, &why);
    else
        ((struct attribute *)object)->schema = v;
}

static void attribute_default(struct load *l, const struct value *v, void *object)
{
    (void)l;
    ((struct attribute *)object)->value = v;
}

static const struct field attribute_fields[] = {
    {"description", attribute_description},
    {"schema", attribute_schema},
    {"default", attribute_default},
};

/* Attributes are reached by dotted paths, so a dot cannot be part of their name. */
static bool attribute_name_ok(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.s[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(i && ((c >= '0' && c <= '9') || c == '-')))
            return false;
    }
    return s.n > 0 && s.n <= 64;
}

static void attribute_read(struct load *l, const struct value *map, const struct member *m,
                           struct value *properties, struct value *defaults)
{
    struct attribute a = {0};
    struct str name = {m->key, m->key_n};
    struct err why;

    if (!attribute_name_ok(name)) {
        struct catalog_where where = catalog_where_of(map);
        where.line = m->key_line;
        where.column = m->key_column;
        struct err *e = catalog_fault(
            l, CATALOG_ERROR, ERR_INVALID, where, "\"%.*s\" cannot be an attribute's name",
            (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        (void)err_hint(e, "use letters, digits, _ and -, and begin with a letter or _");
        return;
    }
    if (!catalog_read_fields(l, &m->v, "an attribute", attribute_fields, COUNT(attribute_fields),
                             &a))
        return;
    if (a.schema && a.value && schema_check(a.schema, a.value, &why) < 0)
        tree_fault(l, a.value, &why);
    value_set_str(l->mem, properties, name, a.schema ? a.schema : value_bool(l->mem, true));
    if (a.value)
        value_set_str(l->mem, defaults, name, a.value);
}

/* Defaults that are good one by one may be bad once nested defaults are filled in. */
static void defaults_check(struct load *l, const struct value *attributes,
                           const struct catalog_role *role)
{
    struct err why;
    const struct value *data = schema_defaults(&l->scratch, role->schema, role->defaults);
    if (schema_check(role->schema, data, &why) < 0)
        tree_fault(l, attributes, &why);
}

static void role_attributes(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    uint32_t errors = l->report->n_errors;

    if (v->kind != VALUE_MAP || v->n > ATTRIBUTES_MAX) {
        catalog_error(l, v, ERR_INVALID, "\"attributes\" must be a map of at most %d attributes",
                      ATTRIBUTES_MAX);
        return;
    }
    struct value *properties = value_map(l->mem), *defaults = value_map(l->mem);
    v = value_copy(l->mem, v); /* schema and defaults share what is kept */
    for (uint32_t i = 0; i < v->n; i++)
        attribute_read(l, v, &v->members[i], properties, defaults);
    struct value *schema = value_map(l->mem);
    value_put_text(l->mem, schema, "type", "object");
    value_set(l->mem, schema, "properties", properties);
    value_put_bool(l->mem, schema, "additionalProperties", false);
    r->role.attributes = v;
    r->role.schema = schema;
    r->role.defaults = defaults;
    if (l->report->n_errors == errors)
        defaults_check(l, v, &r->role);
}

/* --- strategy --- */

struct strategy_read {
    uint32_t type, max;
    const struct value *max_at;
};

static void strategy_type(struct load *l, const struct value *v, void *object)
{
    struct strategy_read *s = object;
    s->type = catalog_read_choice(l, v, "\"type\"", strategy_names, COUNT(strategy_names));
}

static void strategy_max(struct load *l, const struct value *v, void *object)
{
    struct strategy_read *s = object;
    s->max = catalog_read_u32(l, v, "\"max\"", 1, ROLLING_MAX);
    s->max_at = v;
}

static const struct field strategy_fields[] = {{"type", strategy_type}, {"max", strategy_max}};

static void role_strategy(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    struct strategy_read s = {0};

    if (!catalog_read_fields(l, v, "a strategy", strategy_fields, COUNT(strategy_fields), &s))
        return;
    if (s.type == STRATEGY_ROLLING && !s.max_at)
        catalog_error(l, v, ERR_INVALID, "a rolling strategy needs \"max\": how many at a time");
    if (s.type != STRATEGY_ROLLING && s.max_at)
        catalog_error(l, s.max_at, ERR_INVALID, "only a rolling strategy has a \"max\"");
    r->role.strategy = (uint8_t)s.type;
    r->role.max = s.max;
}

/* --- the other fields --- */

static void role_name(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->role.name = catalog_read_name(l, v, "a role's name");
}

static void role_description(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->role.description = catalog_read_text(l, v, "\"description\"");
}

static void role_jig(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    r->jig = (struct load_name){catalog_read_name(l, v, "a jig's name"), v};
}

static void role_requires(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->requires = catalog_read_names(l, v, "\"requires\"");
}

static void role_uses(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->uses = catalog_read_names(l, v, "\"uses\"");
}

static void role_provides(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->provides = catalog_read_names(l, v, "\"provides\"");
}

static void role_conflicts(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->conflicts = catalog_read_names(l, v, "\"conflicts\"");
}

static void role_flags(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    const struct value *list = catalog_read_list(l, v, "\"flags\"");

    for (uint32_t i = 0; i < list->n; i++)
        r->role.flags |= 1u << catalog_read_choice(l, &list->items[i], "a flag", flag_names,
                                                   COUNT(flag_names));
}

static void role_rerun(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    r->role.rerun = (uint8_t)catalog_read_choice(l, v, "\"rerun\"", rerun_names,
                                                 COUNT(rerun_names));
}

static void role_actions(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    if (v->kind == VALUE_MAP && v->n <= CATALOG_MAX_LIST)
        r->actions = v; /* read when all tasks are known */
    else
        catalog_error(l, v, ERR_INVALID,
                      "\"actions\" must be a map from actions to lists of tasks");
}

static const struct field role_fields[] = {
    {"name", role_name},
    {"description", role_description},
    {"jig", role_jig},
    {"requires", role_requires},
    {"uses", role_uses},
    {"provides", role_provides},
    {"conflicts", role_conflicts},
    {"flags", role_flags},
    {"strategy", role_strategy},
    {"rerun", role_rerun},
    {"attributes", role_attributes},
    {"actions", role_actions},
};

void catalog_read_role(struct load *l, const struct value *v)
{
    struct load_role r = {.at = v, .role = {.barclamp = l->barclamp, .jig = CATALOG_NONE}};

    if (l->roles.n >= CATALOG_MAX_ROLES) {
        if (l->roles.n == CATALOG_MAX_ROLES)
            catalog_error(l, v, ERR_LIMIT, "more than %d roles", CATALOG_MAX_ROLES);
        return;
    }
    r.role.where = catalog_where_of(v);
    if (!catalog_read_fields(l, v, "a role", role_fields, COUNT(role_fields), &r))
        return;
    if (!r.role.schema) { /* a role without attributes takes no data */
        r.role.schema = l->no_schema;
        r.role.attributes = r.role.defaults = l->no_values;
    }
    if (!r.role.name.n) {
        if (!value_get(v, "name"))
            catalog_error(l, v, ERR_INVALID, "a role needs a name");
        return;
    }
    vec_push(&l->roles, r);
}
