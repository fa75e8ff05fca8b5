/* kinds.c - what clusters are made of, looked up; and what a request may say to a provider */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "catalog/kinds.h"

const char *provider_action_name(enum provider_action a)
{
    static const char *const names[PROVIDER_ACTION_COUNT] = {
#define X(id, text) text,
        PROVIDER_ACTIONS(X)
#undef X
    };
    return (unsigned)a < PROVIDER_ACTION_COUNT ? names[a] : "?";
}

const char *callback_name(enum callback_bit bit)
{
    static const char *const names[CALLBACK_BIT_COUNT] = {
#define X(id, text) text,
        CALLBACKS(X)
#undef X
    };
    return (unsigned)bit < CALLBACK_BIT_COUNT ? names[bit] : "?";
}

/* --- by name --- */

#define GETTER(function, type, list, index)                                                        \
    const struct type *function(const struct catalog *c, struct str name)                          \
    {                                                                                              \
        uintptr_t i;                                                                               \
        return strmap_get(&c->index, name, &i) ? &c->list[i] : NULL;                               \
    }
GETTER(catalog_hardware_get, catalog_hardware, hardware, by_hardware)
GETTER(catalog_image_get, catalog_image, images, by_image)
GETTER(catalog_provider_get, catalog_provider, providers, by_provider)
GETTER(catalog_template_get, catalog_template, templates, by_template)
GETTER(catalog_comparator_get, catalog_comparator, comparators, by_comparator)
#undef GETTER

const struct catalog_offer *catalog_offer_get(const struct catalog_offer *offers, uint32_t n,
                                              struct str provider)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(offers[i].provider_name, provider))
            return &offers[i];
    return NULL;
}

int64_t catalog_amount_get(const struct catalog_amount *amounts, uint32_t n, struct str name)
{
    for (uint32_t i = 0; i < n; i++)
        if (str_eq(amounts[i].name, name))
            return amounts[i].milli;
    return 0;
}

const struct template_rule *template_rule_get(const struct catalog_template *t, struct str service)
{
    for (uint32_t i = 0; i < t->n_rules; i++)
        if (str_eq(t->rules[i].service, service))
            return &t->rules[i];
    return NULL;
}

/* --- fields of providers --- */

const struct provider_field *provider_field_get(const struct catalog_provider *p, struct str name)
{
    for (uint32_t i = 0; i < p->n_fields; i++)
        if (str_eq(p->fields[i].name, name))
            return &p->fields[i];
    return NULL;
}

void provider_fields_split(struct arena *a, const struct catalog_provider *p,
                           const struct value *given, const struct value **ret_plain,
                           const struct value **ret_sensitive, const struct value **ret_dropped)
{
    struct value *plain = value_map(a), *sensitive = value_map(a), *dropped = value_list(a);

    for (uint32_t i = 0; value_is(given, VALUE_MAP) && i < given->n; i++) {
        const struct member *m = &given->members[i];
        struct str key = {m->key, m->key_n};
        const struct provider_field *f = provider_field_get(p, key);
        if (!f || (f->by_admin && !f->may_override))
            value_add(a, dropped, value_str(a, key));
        else
            value_set_str(a, f->sensitive ? sensitive : plain, key, &m->v);
    }
    *ret_plain = plain;
    *ret_sensitive = sensitive;
    *ret_dropped = dropped;
}

static bool is_said(const struct value *v)
{
    return v && v->kind != VALUE_NULL && !(v->kind == VALUE_STRING && !v->n);
}

static bool field_is_known(const struct catalog_provider *p, const struct value *given,
                           struct str name)
{
    const struct provider_field *f = provider_field_get(p, name);
    bool may = f && (!f->by_admin || f->may_override);

    return (may && is_said(value_get_str(given, name))) ||
           is_said(value_get_str(p->config, name)) || (f && is_said(f->otherwise));
}

int provider_fields_check(const struct catalog_provider *p, const struct value *given,
                          struct err *e)
{
    SCOPED_BUF(missing);

    for (uint32_t i = 0; i < p->n_required; i++) {
        buf_puts(&missing, i ? ", or " : "");
        size_t start = missing.len;
        for (uint32_t k = 0; k < p->required[i].n; k++)
            if (!field_is_known(p, given, p->required[i].at[k]))
                buf_printf(&missing, "%s%s", missing.len > start ? " and " : "",
                           p->required[i].at[k].s);
        if (missing.len == start)
            return 0; /* this one is whole */
    }
    if (!p->n_required)
        return 0;
    return err_set(e, ERR_INVALID, "provider \"%s\" needs %s", p->kind.name.s, missing.data);
}

int template_lease_check(const struct catalog_template *t, uint64_t began, uint64_t ends,
                         uint64_t until, struct err *e)
{
    char shown[16];
    if (until && until < began)
        return err_set(e, ERR_REFUSED, "a lease cannot end before it began");
    if (until && (!ends || until <= ends))
        return 0;
    if (t->lease_max_ms && (!until || until > began + t->lease_max_ms)) {
        text_duration_show(t->lease_max_ms, shown);
        err_set(e, ERR_REFUSED, "template %s lends for %s at most", t->kind.name.s, shown);
        return err_hint(e, "counted from when it was made: an earlier end may do");
    }
    if (t->lease_max_ms && t->lease_step_ms && until > ends + t->lease_step_ms) {
        text_duration_show(t->lease_step_ms, shown);
        err_set(e, ERR_REFUSED, "a lease of template %s is prolonged by %s at a time",
                t->kind.name.s, shown);
        return err_hint(e, "ask for less, and again later");
    }
    return 0;
}
