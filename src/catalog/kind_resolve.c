/* kind_resolve.c - what hardware, images, templates and comparators name must be there
 *
 * Templates keep names, not indexes (kinds.h); here it is only seen that the names mean something
 * in this generation, and that macros in a config can be read.  What merely looks like a slip, a
 * resource that no hardware has or a macro about a service that no role is, is a warning: it can
 * come true by another catalog.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "model/schema.h"
#include "template/macro.h"

/* --- hardware and images --- */

static void offers_resolve(struct load *l, struct catalog_offer *offers, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        struct catalog_offer *o = &offers[i];
        uintptr_t id;
        if (strmap_get(&l->by_provider, o->provider_name, &id)) {
            o->provider = (uint32_t)id;
            continue;
        }
        struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_UNKNOWN_NAME, o->where,
                                      "there is no provider \"%s\"", o->provider_name.s);
        catalog_hint_nearest(e, o->provider_name, &l->by_provider);
    }
}

/* --- templates --- */

/* Names of one list that are no keys of an index. */
static void names_check(struct load *l, const struct value *list, const struct strmap *known,
                        const char *what)
{
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++) {
        struct str name = value_as_str(&list->items[i]);
        if (!text_is_name(name) || strmap_get(known, name, NULL))
            continue; /* what is no name was reported */
        struct err *e = catalog_error(l, &list->items[i], ERR_UNKNOWN_NAME,
                                      "there is no %s \"%.*s\"", what, (int)name.n, name.s);
        catalog_hint_nearest(e, name, known);
    }
}

static void name_check(struct load *l, const struct value *v, const struct strmap *known,
                       const char *what)
{
    struct value list = {.kind = VALUE_LIST, .n = 1, .items = (struct value *)v};
    if (v)
        names_check(l, &list, known, what);
}

/* A service is a role with phases. */
static void service_check(struct load *l, const struct value *v)
{
    struct str name = value_as_str(value_is(v, VALUE_MAP) ? value_get(v, "name") : v);
    uintptr_t id;
    struct err *e;

    if (!text_is_name(name))
        return;
    if (!strmap_get(&l->by_name, name, &id) || l->names.at[id].role == CATALOG_NONE) {
        e = catalog_error(l, v, ERR_UNKNOWN_NAME, "there is no service \"%.*s\"", (int)name.n,
                          name.s);
        catalog_hint_nearest(e, name, &l->by_name);
    } else if (!l->roles.at[l->names.at[id].role].role.phased &&
               !l->roles.at[l->names.at[id].role].role.fault) {
        e = catalog_error(l, v, ERR_INVALID, "role \"%.*s\" is no service: it has no phases",
                          (int)name.n, name.s);
        (void)err_hint(e, "a service has actions such as install, configure and start, and no "
                          "converge");
    }
}

static void services_check(struct load *l, const struct value *list)
{
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
        service_check(l, &list->items[i]);
}

static void rules_check(struct load *l, const struct value *rules)
{
    for (uint32_t i = 0; value_is(rules, VALUE_MAP) && i < rules->n; i++) {
        const struct value *rule = &rules->members[i].v;
        struct value key = catalog_key_of(rules, &rules->members[i]);
        const struct value *of = value_at(rule, "ratio.of");
        service_check(l, &key);
        names_check(l, value_get(rule, "hardware"), &l->by_hardware, "hardware type");
        names_check(l, value_get(rule, "images"), &l->by_image, "image");
        if (of && !str_is(value_as_str(of), "nodes"))
            service_check(l, of);
    }
}

static void constraints_check(struct load *l, const struct value *constraints)
{
    static const char *const sets[] = {"together", "apart"};
    const struct value *spread = value_get(constraints, "spread");

    for (size_t k = 0; k < sizeof sets / sizeof *sets; k++) {
        const struct value *list = value_get(constraints, sets[k]);
        for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++)
            services_check(l, &list->items[i]);
    }
    for (uint32_t i = 0; value_is(spread, VALUE_LIST) && i < spread->n; i++) {
        const struct value *service = value_get(&spread->items[i], "service");
        if (service)
            service_check(l, service);
    }
    rules_check(l, value_get(constraints, "services"));
}

/* Macros that cannot be read; and, as a warning, that are about nothing there is. */
static void macros_check(struct load *l, const struct value *v)
{
    struct err why;

    if (!v)
        return;
    if (macro_value_validate(v, NULL, &why) < 0) {
        const struct value *at = schema_pointer_get(v, why.at);
        struct err *e = catalog_error(l, at ? at : v, why.code, "%s", why.text);
        if (why.hint[0])
            (void)err_hint(e, "%s", why.hint);
    } else if (macro_value_validate(v, &l->by_name, &why) < 0) {
        const struct value *at = schema_pointer_get(v, why.at);
        struct err *e = catalog_fault(l, CATALOG_WARNING, why.code, catalog_where_of(at ? at : v),
                                      "%s", why.text);
        if (why.hint[0])
            (void)err_hint(e, "%s", why.hint);
    }
}

static void template_check(struct load *l, const struct load_template *t)
{
    const struct value *defaults = value_get(t->at, "defaults");
    const struct value *compatible = value_get(t->at, "compatibility");
    const struct value *links = value_get(t->at, "links");
    const struct value *services = value_get(defaults, "services");

    services_check(l, services);
    name_check(l, value_get(defaults, "provider"), &l->by_provider, "provider");
    name_check(l, value_get(defaults, "hardware"), &l->by_hardware, "hardware type");
    name_check(l, value_get(defaults, "image"), &l->by_image, "image");
    name_check(l, value_get(defaults, "comparator"), &l->by_comparator, "comparator");
    names_check(l, value_get(compatible, "hardware"), &l->by_hardware, "hardware type");
    names_check(l, value_get(compatible, "images"), &l->by_image, "image");
    services_check(l, value_get(compatible, "services"));
    constraints_check(l, value_get(t->at, "constraints"));
    macros_check(l, value_get(defaults, "config"));
    for (uint32_t i = 0; value_is(services, VALUE_LIST) && i < services->n; i++)
        macros_check(l, value_get(&services->items[i], "config"));
    for (uint32_t i = 0; value_is(links, VALUE_LIST) && i < links->n; i++)
        macros_check(l, value_get(&links->items[i], "url"));
}

static bool list_names(const struct value *list, struct str name)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        if (str_eq(value_as_str(&list->items[i]), name))
            return true;
    return !list || !list->n; /* none: all */
}

static void doubt_allowed(struct load *l, const struct load_template *t, const struct value *v,
                          const struct value *allowed)
{
    if (value_is(v, VALUE_STRING) && !list_names(allowed, value_as_str(v)))
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, t->template.kind.where,
                      "template \"%s\" asks for \"%s\", which its compatibility does not allow",
                      t->template.kind.name.s, v->s);
}

static void doubt_offered(struct load *l, const struct load_template *t, const char *what,
                          const struct value *v, const struct catalog_offer *offers, uint32_t n,
                          const struct value *provider)
{
    if (provider && !catalog_offer_get(offers, n, value_as_str(provider)))
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, t->template.kind.where,
                      "template \"%s\" asks for %s \"%s\", which provider \"%s\" does not have",
                      t->template.kind.name.s, what, v->s, provider->s);
}

void catalog_template_lint(struct load *l, const struct load_template *t, const struct value *body)
{
    const struct value *defaults = value_get(body, "defaults");
    const struct value *may = value_get(body, "compatibility");
    const struct value *services = value_get(defaults, "services");
    const struct value *hardware = value_get(defaults, "hardware");
    const struct value *image = value_get(defaults, "image");
    const struct value *provider = value_get(defaults, "provider");
    uintptr_t i;

    for (uint32_t k = 0; services && k < services->n; k++)
        doubt_allowed(l, t, &services->items[k], value_get(may, "services"));
    doubt_allowed(l, t, hardware, value_get(may, "hardware"));
    doubt_allowed(l, t, image, value_get(may, "images"));
    if (hardware && strmap_get(&l->by_hardware, value_as_str(hardware), &i))
        doubt_offered(l, t, "hardware", hardware, l->hardware.at[i].offers,
                      l->hardware.at[i].hardware.n_offers, provider);
    if (image && strmap_get(&l->by_image, value_as_str(image), &i))
        doubt_offered(l, t, "image", image, l->images.at[i].offers, l->images.at[i].image.n_offers,
                      provider);
}

/* --- resources --- */

static void resources_collect(const struct load *l, struct strmap *ret)
{
    for (size_t i = 0; i < l->hardware.n; i++) {
        const struct load_hardware *h = &l->hardware.at[i];
        for (uint32_t k = 0; k < h->hardware.n_offers; k++)
            for (uint32_t m = 0; m < h->offers[k].n_capacities; m++)
                strmap_put(ret, h->offers[k].capacities[m].name, 0);
    }
}

static void resource_unknown(struct load *l, struct catalog_where where, struct str name,
                             const struct strmap *known)
{
    struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_UNKNOWN_NAME, where,
                                  "no hardware has \"%.*s\"", (int)name.n, name.s);
    catalog_hint_nearest(e, name, known);
}

static void demands_check(struct load *l, const struct strmap *known)
{
    for (size_t i = 0; i < l->roles.n; i++) {
        const struct load_role *r = &l->roles.at[i];
        const struct value *demands = r->role.n_demands ? value_get(r->at, "demands") : NULL;
        for (uint32_t k = 0; demands && k < demands->n; k++) {
            struct value key = catalog_key_of(demands, &demands->members[k]);
            if (text_is_name(value_as_str(&key)) && !strmap_get(known, value_as_str(&key), NULL))
                resource_unknown(l, catalog_where_of(&key), value_as_str(&key), known);
        }
    }
}

static void resources_check(struct load *l)
{
    struct strmap known = {0};

    resources_collect(l, &known);
    if (l->hardware.n)
        demands_check(l, &known);
    strmap_put(&known, str_of("cost"), 0);
    strmap_put(&known, str_of("nodes"), 0);
    strmap_put(&known, str_of("services"), 0);
    for (size_t i = 0; i < l->comparators.n; i++) {
        const struct catalog_comparator *c = &l->comparators.at[i].comparator;
        for (uint32_t k = 0; k < c->n_keys; k++)
            if (!strmap_get(&known, c->keys[k].name, NULL))
                resource_unknown(l, c->kind.where, c->keys[k].name, &known);
    }
    strmap_done(&known);
}

/* --- all together --- */

void catalog_resolve_kinds(struct load *l)
{
    catalog_builtin_comparators(l);
    for (size_t i = 0; i < l->hardware.n; i++) {
        struct load_hardware *h = &l->hardware.at[i];
        struct catalog_kind *kind = &h->hardware.kind;
        catalog_excuse(l, h->lenient, &kind->fault, &kind->fault_where);
        offers_resolve(l, h->offers, h->hardware.n_offers);
    }
    for (size_t i = 0; i < l->images.n; i++) {
        struct load_image *im = &l->images.at[i];
        struct catalog_kind *kind = &im->image.kind;
        catalog_excuse(l, im->lenient, &kind->fault, &kind->fault_where);
        offers_resolve(l, im->offers, im->image.n_offers);
    }
    for (size_t i = 0; i < l->templates.n; i++) {
        struct load_template *t = &l->templates.at[i];
        catalog_excuse(l, t->lenient, &t->template.kind.fault, &t->template.kind.fault_where);
        template_check(l, t);
    }
    catalog_excuse_none(l);
    resources_check(l);
    catalog_resolve_templates(l);
}
