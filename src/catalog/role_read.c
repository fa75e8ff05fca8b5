/* role_read.c - one role: what it needs, what it offers, how it is configured
 *
 * In a lenient barclamp a role with a fault is read to its end and kept with the first of its
 * faults, so that what it is called stays known; nothing can be bound to it.  A role without a
 * usable name cannot be kept and stays an error.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { ROLLING_MAX = 100000 };

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

/* --- strategy --- */

struct strategy_read {
    uint32_t type, max;
    const struct value *max_at, *failures_at;
    struct graph_tolerance failures;
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

static void strategy_failures(struct load *l, const struct value *v, void *object)
{
    struct strategy_read *s = object;
    s->failures_at = v;
    catalog_read_failures(l, v, &s->failures);
}

static const struct field strategy_fields[] = {
    {"type", strategy_type}, {"max", strategy_max}, {"failures", strategy_failures}};

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
    if (s.type == STRATEGY_PARALLEL && s.failures_at)
        catalog_error(l, s.failures_at, ERR_INVALID,
                      "only a rolling or one_by_one strategy has \"failures\"");
    r->role.strategy = (uint8_t)s.type;
    r->role.max = s.max;
    r->role.failures = s.failures;
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

/* A list is needs; in a map, install and run are services that it depends on, and needs are needs.
 */
struct depend_read {
    struct load_names *of; /* by enum depend_kind */
    struct load_names *needs;
    const char *what;
    struct load_names (*read)(struct load *l, const struct value *v, const char *what);
};

static void depend_needs(struct load *l, const struct value *v, void *object)
{
    struct depend_read *d = object;
    *d->needs = d->read(l, v, d->what);
}

#define X(id, text)                                                                                \
    static void depend_##id(struct load *l, const struct value *v, void *object)                   \
    {                                                                                              \
        struct depend_read *d = object;                                                            \
        d->of[DEPEND_##id] = catalog_read_names(l, v, d->what);                                    \
    }
DEPENDS(X)
#undef X

static const struct field depend_fields[] = {
#define X(id, text) {text, depend_##id},
    DEPENDS(X)
#undef X
        {"needs", depend_needs},
};

static void wants_read(struct load *l, const struct value *v, struct depend_read d)
{

    if (v->kind == VALUE_MAP)
        (void)catalog_read_fields(l, v, d.what, depend_fields, COUNT(depend_fields), &d);
    else
        depend_needs(l, v, &d);
}

static void role_requires(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    struct load_names depends[DEPEND_COUNT] = {0};

    wants_read(l, v,
               (struct depend_read){depends, &r->requires, "\"requires\"", catalog_read_needs});
    for (int k = 0; k < DEPEND_COUNT; k++)
        r->depends[k][1] = depends[k];
}

static void role_uses(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    struct load_names depends[DEPEND_COUNT] = {0};

    wants_read(l, v, (struct depend_read){depends, &r->uses, "\"uses\"", catalog_read_names});
    for (int k = 0; k < DEPEND_COUNT; k++)
        r->depends[k][0] = depends[k];
}

static void role_version(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->role.version = catalog_read_text(l, v, "\"version\"");
}

static void role_demands(struct load *l, const struct value *v, void *object)
{
    struct catalog_role *r = &((struct load_role *)object)->role;
    r->demands = catalog_read_amounts(l, v, "\"demands\"", &r->n_demands);
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

    for (uint32_t i = 0; i < list->n; i++) {
        uint64_t faults = l->n_faults;
        uint32_t bit = catalog_read_choice(l, &list->items[i], "a flag", flag_names,
                                           COUNT(flag_names));
        if (l->n_faults == faults)
            r->role.flags |= 1u << bit;
    }
}

static void role_rerun(struct load *l, const struct value *v, void *object)
{
    struct load_role *r = object;
    r->role.rerun = (uint8_t)catalog_read_choice(l, v, "\"rerun\"", rerun_names,
                                                 COUNT(rerun_names));
}

static void role_attributes(struct load *l, const struct value *v, void *object)
{
    catalog_read_attributes(l, v, &((struct load_role *)object)->attributes);
}

static void role_wants(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->wants = catalog_read_list(l, v, "\"wants\"");
}

static void role_hooks(struct load *l, const struct value *v, void *object)
{
    ((struct load_role *)object)->role.hooks = catalog_read_hooks(l, v);
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
    {"name", role_name},         {"description", role_description},
    {"jig", role_jig},           {"requires", role_requires},
    {"uses", role_uses},         {"wants", role_wants},
    {"provides", role_provides}, {"conflicts", role_conflicts},
    {"flags", role_flags},       {"strategy", role_strategy},
    {"rerun", role_rerun},       {"attributes", role_attributes},
    {"actions", role_actions},   {"hooks", role_hooks},
    {"version", role_version},   {"demands", role_demands},
};

static void role_read(struct load *l, const struct value *v, struct load_role *r)
{
    catalog_no_attributes(l, &r->attributes); /* a role without attributes takes no data */
    if (!catalog_read_fields(l, v, "a role", role_fields, COUNT(role_fields), r))
        return;
    r->role.attributes = r->attributes.attributes;
    r->role.schema = r->attributes.schema;
    r->role.defaults = r->attributes.defaults;
    r->role.attribute_list = r->attributes.list;
    r->role.n_attributes = r->attributes.n;
    if (!r->role.name.n && !value_get(v, "name"))
        catalog_error(l, v, ERR_INVALID, "a role needs a name");
}

void catalog_builtin_machine(struct load *l)
{
    struct load_role r = {.role = {.name = str_of(CATALOG_MACHINE),
                                   .description = str_of("the machine itself"),
                                   .barclamp = CATALOG_NONE,
                                   .jig = CATALOG_NONE,
                                   .flags = ROLE_F_IMPLICIT,
                                   .where = {.file = CATALOG_NONE}}};

    for (size_t i = 0; i < l->roles.n; i++)
        if (str_is(l->roles.at[i].role.name, CATALOG_MACHINE))
            return;
    catalog_no_attributes(l, &r.attributes);
    r.role.attributes = r.attributes.attributes;
    r.role.schema = r.attributes.schema;
    r.role.defaults = r.attributes.defaults;
    vec_push(&l->roles, r);
}

void catalog_read_role(struct load *l, const struct value *v)
{
    struct load_role r = {.at = v, .role = {.barclamp = l->barclamp, .jig = CATALOG_NONE}};

    if (l->roles.n >= CATALOG_MAX_ROLES) {
        if (l->roles.n == CATALOG_MAX_ROLES)
            catalog_error(l, v, ERR_LIMIT, "more than %d roles", CATALOG_MAX_ROLES);
        return;
    }
    r.role.where = catalog_where_of(v);
    r.lenient = l->lenient && text_is_name(value_as_str(value_get(v, "name")));
    catalog_excuse(l, r.lenient, &r.role.fault, &r.role.fault_where);
    role_read(l, v, &r);
    catalog_excuse_none(l);
    if (r.role.name.n)
        vec_push(&l->roles, r);
}
