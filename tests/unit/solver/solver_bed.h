/* solver_bed.h - small problems written in a line each, and their answers as text
 *
 * bed_service(&b, 1, 2) adds the next service; sets are given as letters, a being the first
 * service.  bed_layout() is "2*ab/h0.i0 1*b/h1.i0 ...": count, services, hardware, image; "@v"
 * where there are values, "+e" where the nodes exist.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SOLVER_BED_H
#define TESTS_SOLVER_BED_H

#include "tap.h"

#include "base/str.h"
#include "solver/solver.h"

#define HELPER __attribute__((unused)) static
enum { BED_MOST = 32 };

struct solver_bed {
    struct arena mem;
    struct solver_problem p;
    struct solver_service services[BED_MOST];
    struct solver_hardware hardware[BED_MOST];
    int64_t demand[BED_MOST][2], capacity[BED_MOST][2];
    struct solver_set together[BED_MOST], apart[BED_MOST];
    struct solver_ratio ratios[BED_MOST];
    struct solver_spread spreads[BED_MOST];
    struct solver_existing existing[BED_MOST];
    struct solver_key keys[BED_MOST];
    const struct solver_answer *a;
    struct err e;
};

HELPER struct solver_set letters(const char *s)
{
    struct solver_set set = {{0}};
    for (; *s; s++)
        solver_set_add(&set, (uint32_t)(*s - 'a'));
    return set;
}

/* Nodes, hardware of which each costs 10 more than the one before, images. */
HELPER void bed_init(struct solver_bed *b, uint32_t nodes, uint32_t hardware, uint32_t images)
{
    memset(b, 0, sizeof *b);
    arena_init(&b->mem);
    struct solver_problem *p = &b->p;
    p->nodes_min = p->nodes_max = nodes;
    p->n_hardware = hardware;
    p->n_images = images;
    p->services = b->services;
    p->hardware = b->hardware;
    p->together = b->together;
    p->apart = b->apart;
    p->ratios = b->ratios;
    p->spreads = b->spreads;
    p->existing = b->existing;
    p->keys = b->keys;
    for (uint32_t i = 0; i < hardware; i++)
        b->hardware[i].cost = 10 * (int64_t)(i + 1);
}

HELPER void bed_done(struct solver_bed *b)
{
    arena_done(&b->mem);
}

HELPER struct solver_service *bed_service(struct solver_bed *b, uint32_t min, uint32_t max)
{
    struct solver_service *s = &b->services[b->p.n_services++];
    *s = (struct solver_service){.min = min, .max = max, .required = true};
    s->hardware = solver_set_below(b->p.n_hardware);
    s->images = solver_set_below(b->p.n_images);
    return s;
}

HELPER void bed_apart(struct solver_bed *b, const char *set)
{
    b->apart[b->p.n_apart++] = letters(set);
}

HELPER void bed_together(struct solver_bed *b, const char *set)
{
    b->together[b->p.n_together++] = letters(set);
}

HELPER void bed_existing(struct solver_bed *b, const char *set, uint32_t count, bool keep)
{
    b->existing[b->p.n_existing++] = (struct solver_existing){
        .services = letters(set), .value = SOLVER_NONE, .count = count, .keep = keep};
}

HELPER void bed_key(struct solver_bed *b, enum solver_key_by by, bool more)
{
    b->keys[b->p.n_keys++] = (struct solver_key){.by = by, .more = more};
}

/* What a service takes of the two resources, and what hardware has. */
HELPER void bed_demand(struct solver_bed *b, uint32_t service, int64_t x, int64_t y)
{
    b->p.n_resources = 2;
    b->demand[service][0] = x, b->demand[service][1] = y;
    b->services[service].demand = b->demand[service];
}

HELPER void bed_capacity(struct solver_bed *b, uint32_t hardware, int64_t x, int64_t y)
{
    b->capacity[hardware][0] = x, b->capacity[hardware][1] = y;
    b->hardware[hardware].capacity = b->capacity[hardware];
}

HELPER const char *bed_layout(struct solver_bed *b)
{
    SCOPED_BUF(out);
    for (uint32_t i = 0; i < b->a->n_kinds; i++) {
        const struct solver_kind *k = &b->a->kinds[i];
        buf_printf(&out, "%s%u*", i ? " " : "", k->count);
        for (uint32_t s = 0; s < b->p.n_services; s++)
            if (solver_set_has(&k->services, s))
                buf_putc(&out, (char)('a' + s));
        buf_printf(&out, "/h%u.i%u", k->hardware, k->image);
        if (k->value != SOLVER_NONE)
            buf_printf(&out, "@%u", k->value);
        if (k->existing != SOLVER_NONE)
            buf_printf(&out, "+%u", k->existing);
    }
    return arena_strndup(&b->mem, out.data ? out.data : "", out.len);
}

/* Solves; the layout, or the status and what conflicts. */
HELPER const char *bed_solve(struct solver_bed *b)
{
    const struct solver_options o = {.want_conflict = true, .want_relaxation = true};
    if (solver_solve(&b->mem, &b->p, &o, &b->a, &b->e) < 0)
        return b->e.text;
    if (b->a->status == SOLVER_SOLVED)
        return bed_layout(b);
    SCOPED_BUF(out);
    buf_printf(&out, "%s:", solver_status_name(b->a->status));
    for (uint32_t i = 0; i < b->a->n_conflict; i++)
        buf_printf(&out, " %s.%u", solver_rule_name(b->a->conflict[i].rule),
                   b->a->conflict[i].index);
    return arena_strndup(&b->mem, out.data, out.len);
}

HELPER const char *bed_changes(struct solver_bed *b)
{
    SCOPED_BUF(out);
    for (uint32_t i = 0; i < b->a->n_changes; i++) {
        const struct solver_change *c = &b->a->changes[i];
        buf_printf(&out, "%s%s.%u", i ? " " : "", solver_rule_name(c->ref.rule), c->ref.index);
        if (!c->dropped)
            buf_printf(&out, ":%lld>%lld", (long long)c->from, (long long)c->to);
    }
    return arena_strndup(&b->mem, out.data ? out.data : "", out.len);
}

#endif
