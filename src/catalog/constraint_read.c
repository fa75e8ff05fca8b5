/* constraint_read.c - constraints of a template: rules of services, sets, size, spread */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/text.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* --- rules of services --- */

/* "1/2", or a number with at most three decimals. */
static struct template_fraction fraction_read(struct load *l, const struct value *v,
                                              const char *what)
{
    struct str s = value_as_str(v);
    const char *slash = v->kind == VALUE_STRING ? memchr(s.s, '/', s.n) : NULL;
    uint64_t num = 0, den = 0;

    if (v->kind == VALUE_INT || v->kind == VALUE_REAL) {
        int64_t milli = catalog_read_amount(l, v, what, CATALOG_AMOUNT_UNIT);
        if (milli <= CATALOG_MAX_COUNT)
            return (struct template_fraction){(uint32_t)milli, CATALOG_AMOUNT_UNIT};
    } else if (slash) {
        struct str above = {s.s, (size_t)(slash - s.s)}, below = {slash + 1, s.n - above.n - 1};
        if (text_u64(above, CATALOG_MAX_COUNT, &num, NULL) == 0 &&
            text_u64(below, CATALOG_MAX_COUNT, &den, NULL) == 0 && den)
            return (struct template_fraction){(uint32_t)num, (uint32_t)den};
    }
    struct err *e = catalog_error(l, v, ERR_INVALID, "%s must be a fraction", what);
    (void)err_hint(e, "write it as 1/2, or as a number");
    return (struct template_fraction){0};
}

static void ratio_of(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->ratio_of = catalog_read_name(l, v, "a service's name, or \"nodes\"");
}

static void ratio_min(struct load *l, const struct value *v, void *object)
{
    ((struct template_rule *)object)->ratio_min = fraction_read(l, v, "\"min\"");
}

static void ratio_max(struct load *l, const struct value *v, void *object)
{
    ((struct template_rule *)object)->ratio_max = fraction_read(l, v, "\"max\"");
}

static const struct field ratio_fields[] = {
    {"of", ratio_of},
    {"min", ratio_min},
    {"max", ratio_max},
};

static void rule_ratio(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    struct template_fraction min, max;

    if (!catalog_read_fields(l, v, "a ratio", ratio_fields, COUNT(ratio_fields), r))
        return;
    if (!value_get(v, "of"))
        catalog_error(l, v, ERR_INVALID, "a ratio needs \"of\": nodes, or a service");
    min = r->ratio_min;
    max = r->ratio_max;
    if (!value_get(v, "min") && !value_get(v, "max"))
        catalog_error(l, v, ERR_INVALID, "a ratio needs \"min\", \"max\" or both");
    if (min.den && max.den && (uint64_t)min.num * max.den > (uint64_t)max.num * min.den)
        catalog_error(l, v, ERR_INVALID, "the least is above the most");
}

static void rule_min(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->min = catalog_read_u32(l, v, "\"min\"", 0, CATALOG_MAX_COUNT);
}

static void rule_max(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->max = catalog_read_u32(l, v, "\"max\"", 0, CATALOG_MAX_COUNT);
}

static void rule_step(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->step = catalog_read_u32(l, v, "\"step\"", 1, CATALOG_MAX_COUNT);
}

static void rule_everywhere(struct load *l, const struct value *v, void *object)
{
    ((struct template_rule *)object)->everywhere = catalog_read_bool(l, v, "\"everywhere\"");
}

static void rule_hardware(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->hardware = catalog_read_name_list(l, v, "\"hardware\"");
}

static void rule_images(struct load *l, const struct value *v, void *object)
{
    struct template_rule *r = object;
    r->images = catalog_read_name_list(l, v, "\"images\"");
}

static const struct field rule_fields[] = {
    {"min", rule_min},           {"max", rule_max},       {"step", rule_step},
    {"hardware", rule_hardware}, {"images", rule_images}, {"everywhere", rule_everywhere},
    {"ratio", rule_ratio},
};

static void constraints_services(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;

    if (v->kind != VALUE_MAP || v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_INVALID, "\"services\" must be a map from services to rules");
        return;
    }
    struct template_rule *rules = arena_new(l->mem, struct template_rule, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        struct value key = catalog_key_of(v, m);
        struct template_rule *r = &rules[t->n_rules];
        *r = (struct template_rule){.min = 1, .max = CATALOG_NONE, .step = 1};
        r->service = catalog_read_name(l, &key, "a service's name");
        if (!catalog_read_fields(l, &m->v, "a rule", rule_fields, COUNT(rule_fields), r))
            continue;
        if (r->min > r->max && !value_get(&m->v, "min"))
            r->min = r->max; /* at most none: nothing but the default asks for one */
        if (r->min > r->max)
            catalog_error(l, value_get(&m->v, "min"), ERR_INVALID,
                          "at least %u of \"%s\", and at most %u", r->min, r->service.s, r->max);
        if (r->everywhere && (value_get(&m->v, "min") || value_get(&m->v, "max") ||
                              value_get(&m->v, "step") || value_get(&m->v, "ratio")))
            catalog_error(l, value_get(&m->v, "everywhere"), ERR_INVALID,
                          "what is everywhere is as often as there are nodes");
        t->n_rules += r->service.n > 0;
    }
    t->rules = rules;
}

/* --- constraints --- */

static const struct catalog_names *sets_read(struct load *l, const struct value *v,
                                             const char *what, uint32_t least, uint32_t *ret_n)
{
    const struct value *list = catalog_read_list(l, v, what);
    struct catalog_names *sets = arena_new(l->mem, struct catalog_names, list->n);

    *ret_n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint64_t faults = l->n_faults;
        sets[*ret_n] = catalog_read_name_list(l, &list->items[i], what);
        if (l->n_faults == faults && sets[*ret_n].n < least)
            catalog_error(l, &list->items[i], ERR_INVALID, "%s needs at least %s here", what,
                          text_count(least, "service").s);
        *ret_n += sets[*ret_n].n > 0;
    }
    return sets;
}

static void constraints_together(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->together = sets_read(l, v, "\"together\"", 1, &t->n_together);
}

static void constraints_apart(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->apart = sets_read(l, v, "\"apart\"", 2, &t->n_apart);
}

static void size_min(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->min_nodes = catalog_read_u32(l, v, "\"min\"", 1, CATALOG_MAX_NODES);
}

static void size_max(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    t->max_nodes = catalog_read_u32(l, v, "\"max\"", 1, CATALOG_MAX_NODES);
}

static const struct field size_fields[] = {{"min", size_min}, {"max", size_max}};

static void constraints_size(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    if (catalog_read_fields(l, v, "\"size\"", size_fields, COUNT(size_fields), t) &&
        t->min_nodes > t->max_nodes)
        catalog_error(l, v, ERR_INVALID, "at least %u nodes, and at most %u", t->min_nodes,
                      t->max_nodes);
}

static void spread_service(struct load *l, const struct value *v, void *object)
{
    ((struct template_spread *)object)->service = catalog_read_name(l, v, "a service's name");
}

static void spread_over(struct load *l, const struct value *v, void *object)
{
    ((struct template_spread *)object)->over = catalog_read_name(l, v, "a label");
}

static void spread_skew(struct load *l, const struct value *v, void *object)
{
    struct template_spread *s = object;
    s->skew = catalog_read_u32(l, v, "\"skew\"", 1, CATALOG_MAX_COUNT);
}

static const struct field spread_fields[] = {
    {"service", spread_service},
    {"over", spread_over},
    {"skew", spread_skew},
};

static void constraints_spread(struct load *l, const struct value *v, void *object)
{
    struct catalog_template *t = object;
    const struct value *list = catalog_read_list(l, v, "\"spread\"");
    struct template_spread *spreads = arena_new(l->mem, struct template_spread, list->n);

    for (uint32_t i = 0; i < list->n; i++) {
        struct template_spread s = {.skew = 1};
        if (!catalog_read_fields(l, &list->items[i], "a spread", spread_fields,
                                 COUNT(spread_fields), &s))
            continue;
        if (!value_get(&list->items[i], "service") || !value_get(&list->items[i], "over"))
            catalog_error(l, &list->items[i], ERR_INVALID,
                          "a spread needs \"service\" and \"over\", a label");
        if (s.service.n && s.over.n)
            spreads[t->n_spreads++] = s;
    }
    t->spreads = spreads;
}

static const struct field constraints_fields[] = {
    {"together", constraints_together}, {"apart", constraints_apart},   {"size", constraints_size},
    {"services", constraints_services}, {"spread", constraints_spread},
};

void catalog_read_constraints(struct load *l, const struct value *v, void *object)
{
    (void)catalog_read_fields(l, v, "\"constraints\"", constraints_fields,
                              COUNT(constraints_fields), object);
}
