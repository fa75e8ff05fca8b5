/* kinds_write.h - what a catalog has for clusters, as text for golden cases */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_KINDS_WRITE_H
#define TESTS_KINDS_WRITE_H

#include "base/json.h"
#include "catalog/kinds.h"

static inline void kind_fault_write(struct buf *b, const struct catalog *c,
                                    const struct catalog_kind *k)
{
    if (k->fault)
        buf_printf(b, "    cannot be used: %s:%u:%u: %s\n", c->files[k->fault_where.file].s,
                   k->fault_where.line, k->fault_where.column, k->fault);
}

static inline void value_line_write(struct buf *b, const char *label, const struct value *v)
{
    buf_printf(b, "    %s: ", label);
    json_write_canonical(b, v);
    buf_putc(b, '\n');
}

static inline void offers_write(struct buf *b, const struct catalog *c, const char *what,
                                const struct catalog_kind *k, const struct catalog_offer *o,
                                uint32_t n)
{
    buf_printf(b, "%s %s\n", what, k->name.s);
    kind_fault_write(b, c, k);
    for (uint32_t i = 0; i < n; i++, o++) {
        buf_printf(b, "    by %s%s:", o->provider_name.s,
                   o->provider == CATALOG_NONE ? ", which is not there" : "");
        if (o->flavor.n)
            buf_printf(b, " flavor %s", o->flavor.s);
        if (o->has_cost)
            buf_printf(b, ", cost %lld", (long long)o->cost);
        for (uint32_t m = 0; m < o->n_capacities; m++)
            buf_printf(b, ", %s %lld", o->capacities[m].name.s, (long long)o->capacities[m].milli);
        if (o->image.n)
            buf_printf(b, " image %s, user %s", o->image.s, o->user.s);
        buf_puts(b, "\n");
        value_line_write(b, "  data", o->data);
    }
}

static inline void provider_write(struct buf *b, const struct catalog *c,
                                  const struct catalog_provider *p)
{
    buf_printf(b, "provider %s, jig %s", p->kind.name.s,
               p->jig == CATALOG_NONE ? "none" : c->jigs[p->jig].name.s);
    if (p->max_nodes)
        buf_printf(b, ", at most %u nodes", p->max_nodes);
    buf_puts(b, "\n");
    kind_fault_write(b, c, &p->kind);
    for (uint32_t i = 0; i < p->n_labels; i++) {
        buf_printf(b, "    label %s:", p->labels[i].name.s);
        for (uint32_t k = 0; k < p->labels[i].values.n; k++)
            buf_printf(b, " %s", p->labels[i].values.at[k].s);
        buf_puts(b, "\n");
    }
    for (uint32_t i = 0; i < p->n_fields; i++) {
        const struct provider_field *f = &p->fields[i];
        buf_printf(b, "    field %s by %s%s%s\n", f->name.s, f->by_admin ? "admin" : "user",
                   f->may_override ? ", may be overridden" : "", f->sensitive ? ", sensitive" : "");
    }
    value_line_write(b, "config", p->config);
    for (int i = 0; i < PROVIDER_ACTION_COUNT; i++)
        if (p->actions[i].n_steps)
            buf_printf(b, "    %s: %u tasks, the first %s\n", p->actions[i].name.s,
                       p->actions[i].n_steps, c->tasks[p->actions[i].steps[0].task].name.s);
}

static inline void template_write(struct buf *b, const struct catalog *c,
                                  const struct catalog_template *t)
{
    struct arena mem;
    const struct catalog_template *whole = NULL;
    struct err e;

    arena_init(&mem);
    buf_printf(b, "template %s%s%s\n", t->kind.name.s, t->partial ? ", partial" : "",
               t->immutable ? ", immutable" : "");
    kind_fault_write(b, c, &t->kind);
    for (uint32_t i = 0; i < t->n_rules; i++) {
        const struct template_rule *r = &t->rules[i];
        buf_printf(b, "    %s: min %u, max %d, step %u, %u hardware, %u images%s", r->service.s,
                   r->min, (int)r->max, r->step, r->hardware.n, r->images.n,
                   r->everywhere ? ", everywhere" : "");
        if (r->ratio_of.n)
            buf_printf(b, ", of %s %u/%u to %u/%u", r->ratio_of.s, r->ratio_min.num,
                       r->ratio_min.den, r->ratio_max.num, r->ratio_max.den);
        buf_puts(b, "\n");
    }
    if (catalog_template_resolve(c, t->kind.name, &mem, &whole, &e) == 0)
        value_line_write(b, "resolved", whole->body);
    else
        buf_printf(b, "    is not resolved: %s\n", e.text);
    arena_done(&mem);
}

static inline void kinds_write(struct buf *b, const struct catalog *c)
{
    for (uint32_t i = 0; i < c->n_hardware; i++)
        offers_write(b, c, "hardware", &c->hardware[i].kind, c->hardware[i].offers,
                     c->hardware[i].n_offers);
    for (uint32_t i = 0; i < c->n_images; i++)
        offers_write(b, c, "image", &c->images[i].kind, c->images[i].offers, c->images[i].n_offers);
    for (uint32_t i = 0; i < c->n_providers; i++)
        provider_write(b, c, &c->providers[i]);
    for (uint32_t i = 0; i < c->n_templates; i++)
        template_write(b, c, &c->templates[i]);
    for (uint32_t i = 0; i < c->n_comparators; i++) {
        const struct catalog_comparator *k = &c->comparators[i];
        if (k->kind.barclamp == CATALOG_NONE)
            continue;
        buf_printf(b, "comparator %s:", k->kind.name.s);
        for (uint32_t m = 0; m < k->n_keys; m++)
            buf_printf(b, " %s%s", k->keys[m].more ? "-" : "", k->keys[m].name.s);
        buf_puts(b, "\n");
        kind_fault_write(b, c, &k->kind);
    }
}

/* What makes a role a service; nothing for others. */
static inline void service_write(struct buf *b, const struct catalog_role *r)
{
    if (r->phased)
        buf_printf(b, "    a service, version %s\n", r->version.s);
    for (uint32_t i = 0; i < r->n_depends; i++)
        buf_printf(b, "    %s %s%s to %s\n", r->depends[i].required ? "requires" : "uses",
                   r->depends[i].name.s,
                   r->depends[i].name_id == CATALOG_NONE ? ", which is not there," : "",
                   depend_name((enum depend_kind)r->depends[i].kind));
    for (uint32_t i = 0; i < r->n_demands; i++)
        buf_printf(b, "    demands %s %lld\n", r->demands[i].name.s,
                   (long long)r->demands[i].milli);
}

#endif
