/* cluster_case.c - small random problems of the solver, and rules taken out of them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_case.h"

#include <stdio.h>
#include <string.h>

static struct solver_set mask(uint64_t bits)
{
    return (struct solver_set){{bits}};
}

/* A set of n ids, of which each is left out with one chance in so many; never empty. */
static struct solver_set some(struct dice *d, uint32_t n, uint32_t left_out)
{
    struct solver_set s = mask(0);
    for (uint32_t i = 0; i < n; i++)
        if (roll(d, left_out))
            solver_set_add(&s, i);
    if (!s.w[0] && n)
        solver_set_add(&s, roll(d, n));
    return s;
}

static void pointers_set(struct cluster_case *c)
{
    struct solver_problem *p = &c->p;
    p->services = c->services;
    p->hardware = c->hardware;
    p->together = c->together;
    p->apart = c->apart;
    p->ratios = c->ratios;
    p->spreads = c->spreads;
    p->existing = c->existing;
    p->keys = c->keys;
    for (uint32_t i = 0; i < CASE_SERVICES; i++)
        if (c->services[i].demand)
            c->services[i].demand = c->demand[i];
    for (uint32_t i = 0; i <= CASE_HARDWARE; i++)
        if (c->hardware[i].capacity)
            c->hardware[i].capacity = c->capacity[i];
}

void case_copy(struct cluster_case *to, const struct cluster_case *from)
{
    *to = *from;
    pointers_set(to);
}

static void services_roll(struct cluster_case *c, struct dice *d)
{
    struct solver_problem *p = &c->p;
    for (uint32_t i = 0; i < p->n_services; i++) {
        struct solver_service *s = &c->services[i];
        s->min = roll(d, 3) ? 0 : roll(d, 3);
        s->max = roll(d, 2) ? SOLVER_ANY : s->min + roll(d, 5);
        s->step = roll(d, 8) ? 0 : 1 + roll(d, 3);
        s->everywhere = !roll(d, 14);
        s->required = roll(d, 2);
        s->hardware = some(d, p->n_hardware, 7);
        s->images = some(d, p->n_images, 8);
        s->demand = p->n_resources ? c->demand[i] : NULL;
        for (uint32_t r = 0; r < p->n_resources; r++)
            c->demand[i][r] = roll(d, 3);
    }
}

static void sets_roll(struct cluster_case *c, struct dice *d)
{
    struct solver_problem *p = &c->p;
    p->n_together = roll(d, 5) ? 0 : 1 + roll(d, 2);
    p->n_apart = roll(d, 2) ? 0 : 1 + roll(d, CASE_SETS);
    p->n_ratios = roll(d, 5) ? 0 : 1 + roll(d, 2);
    p->n_spreads = p->n_values ? 1 + roll(d, 2) : 0;
    for (uint32_t i = 0; i < p->n_together; i++)
        c->together[i] = some(d, p->n_services, 2);
    for (uint32_t i = 0; i < p->n_apart; i++)
        c->apart[i] = some(d, p->n_services, 3);
    for (uint32_t i = 0; i < p->n_ratios; i++)
        c->ratios[i] = (struct solver_ratio){
            .service = roll(d, p->n_services),
            .of = roll(d, 2) ? SOLVER_NONE : roll(d, p->n_services),
            .num = roll(d, 4),
            .den = 1 + roll(d, 3),
            .at_most = roll(d, 2),
        };
    for (uint32_t i = 0; i < p->n_spreads; i++)
        c->spreads[i] = (struct solver_spread){roll(d, p->n_services), roll(d, 3)};
}

static void existing_roll(struct cluster_case *c, struct dice *d)
{
    struct solver_problem *p = &c->p;
    uint32_t nodes = 0;
    p->n_existing = roll(d, 5) < 2 && p->n_hardware ? 1 + roll(d, CASE_EXISTING) : 0;
    for (uint32_t i = 0; i < p->n_existing; i++) {
        struct solver_existing *x = &c->existing[i];
        if (i && !roll(d, 3)) {
            *x = c->existing[roll(d, i)];
        } else {
            x->services = mask(roll(d, 1u << p->n_services));
            x->hardware = roll(d, p->n_hardware);
            x->image = roll(d, p->n_images);
            x->value = p->n_values ? roll(d, p->n_values + 1) : SOLVER_NONE;
            if (x->value == p->n_values)
                x->value = SOLVER_NONE;
            x->keep = !roll(d, 4);
        }
        x->count = roll(d, 3);
        nodes += x->count;
    }
    if (p->n_existing && !roll(d, 4))
        p->old_hardware = mask(roll(d, 1u << p->n_hardware));
    if (p->n_existing && !roll(d, 8))
        p->old_images = mask(roll(d, 1u << p->n_images));
    p->involved = roll(d, 3) ? mask(roll(d, 1u << p->n_services)) : mask(0);
    p->give_up = roll(d, 3) ? 0 : roll(d, nodes + 1);
    if (p->n_existing && roll(d, 2)) { /* about as many as there are */
        p->nodes_min = nodes > p->give_up ? nodes - p->give_up : 0;
        p->nodes_max = p->nodes_min += roll(d, 2);
    }
}

void case_keys(struct cluster_case *c, struct dice *d, enum case_order order)
{
    struct solver_problem *p = &c->p;
    static const struct solver_key cost[] = {{.by = SOLVER_COST},
                                             {.by = SOLVER_SERVICES, .more = true}};
    static const struct solver_key nodes[] = {
        {.by = SOLVER_NODES}, {.by = SOLVER_COST}, {.by = SOLVER_SERVICES, .more = true}};
    p->n_keys = order == CASE_BY_COST ? 2 : order == CASE_AS_COOPR ? 0 : 3;
    if (order == CASE_BY_COST)
        memcpy(c->keys, cost, sizeof cost);
    else if (order == CASE_BY_NODES)
        memcpy(c->keys, nodes, sizeof nodes);
    for (uint32_t i = 0; order == CASE_BY_CHANCE && i < p->n_keys; i++) {
        c->keys[i] = (struct solver_key){.by = (enum solver_key_by)roll(d, p->n_resources ? 4 : 3),
                                         .more = roll(d, 2)};
        c->keys[i].resource = c->keys[i].by == SOLVER_RESOURCE ? roll(d, p->n_resources) : 0;
    }
}

void case_roll(struct cluster_case *c, struct dice *d, enum case_order order)
{
    struct solver_problem *p = &c->p;
    memset(c, 0, sizeof *c);
    p->n_services = 1 + roll(d, CASE_SERVICES - 1);
    p->n_hardware = roll(d, 60) ? 1 + roll(d, CASE_HARDWARE) : 0;
    p->n_images = 1 + roll(d, CASE_IMAGES);
    p->n_resources = roll(d, 2) ? 0 : 1 + roll(d, CASE_RESOURCES);
    p->n_values = roll(d, 5) ? 0 : 1 + roll(d, 2);
    for (uint32_t i = 0; i < p->n_hardware; i++) {
        c->hardware[i].cost = roll(d, 6) * 5;
        c->hardware[i].capacity = roll(d, 8) ? c->capacity[i] : NULL;
        for (uint32_t r = 0; r < p->n_resources; r++)
            c->capacity[i][r] = 1 + roll(d, 6);
    }
    p->nodes_min = 1 + roll(d, 5);
    p->nodes_max = roll(d, 4) ? p->nodes_min : p->nodes_min + roll(d, 3);
    services_roll(c, d);
    sets_roll(c, d);
    existing_roll(c, d);
    case_keys(c, d, order);
    pointers_set(c);
}

/* A service that is on no node, behind the others: apart from it is anything. */
static struct solver_set nowhere(struct cluster_case *c)
{
    if (c->p.n_services < CASE_SERVICES)
        c->services[c->p.n_services++] = (struct solver_service){
            .hardware = solver_set_below(CASE_HARDWARE), .images = solver_set_below(CASE_IMAGES)};
    return mask(1u << (c->p.n_services - 1));
}

void case_drop(struct cluster_case *c, struct solver_ref ref)
{
    struct solver_problem *p = &c->p;
    struct solver_service *s = &c->services[ref.index < CASE_SERVICES ? ref.index : 0];
    switch (ref.rule) {
    case SOLVER_RULE_TOGETHER: c->together[ref.index] = mask(1); break;
    case SOLVER_RULE_APART: c->apart[ref.index] = nowhere(c); break;
    case SOLVER_RULE_MIN: /* what steps begin with stays, as long as there are steps */
        s->min = s->step > 1 ? s->min % s->step : 0;
        c->no_min[ref.index] = true;
        break;
    case SOLVER_RULE_MAX: s->max = SOLVER_ANY; break;
    case SOLVER_RULE_STEP:
        s->step = 0;
        s->min = c->no_min[ref.index] ? 0 : s->min;
        break;
    case SOLVER_RULE_RATIO:
        c->ratios[ref.index] = (struct solver_ratio){.of = SOLVER_NONE, .den = 1};
        break;
    case SOLVER_RULE_HARDWARE: s->hardware = solver_set_below(p->n_hardware); break;
    case SOLVER_RULE_IMAGE: s->images = solver_set_below(p->n_images); break;
    case SOLVER_RULE_REQUIRED: s->required = false; break;
    case SOLVER_RULE_EVERYWHERE: s->everywhere = false; break;
    case SOLVER_RULE_DEMAND: s->demand = NULL; break;
    case SOLVER_RULE_SPREAD: c->spreads[ref.index].skew = SOLVER_MAX_NODES; break;
    case SOLVER_RULE_NODES:
        p->nodes_min = p->give_up = 0;
        for (uint32_t i = 0; i < p->n_existing; i++)
            p->nodes_max += c->existing[i].count;
        p->nodes_max = 10 * p->nodes_max + 100; /* as many as the solver looks for then */
        break;
    case SOLVER_RULE_EXISTING:
        p->involved = solver_set_below(p->n_services);
        for (uint32_t i = 0; i < p->n_existing; i++)
            c->existing[i].keep = false;
        break;
    case SOLVER_RULE_OFFER: /* hardware and an image on which everything may be, besides */
        c->hardware[p->n_hardware].capacity = c->capacity[p->n_hardware];
        for (uint32_t r = 0; r < CASE_RESOURCES; r++)
            c->capacity[p->n_hardware][r] = SOLVER_MAX_AMOUNT;
        for (uint32_t i = 0; i < p->n_services; i++) {
            solver_set_add(&c->services[i].hardware, p->n_hardware);
            solver_set_add(&c->services[i].images, p->n_images);
        }
        p->old_hardware = solver_set_below(p->n_hardware++);
        p->old_images = solver_set_below(p->n_images++);
        break;
    case SOLVER_RULE_COUNT: break;
    }
}

void case_change(struct cluster_case *c, const struct solver_change *change)
{
    struct solver_ref ref = change->ref;
    if (change->dropped) {
        case_drop(c, ref);
    } else if (ref.rule == SOLVER_RULE_MIN) {
        c->services[ref.index].min = (uint32_t)change->to;
    } else if (ref.rule == SOLVER_RULE_MAX) {
        c->services[ref.index].max = (uint32_t)change->to;
    } else if (ref.rule == SOLVER_RULE_SPREAD) {
        c->spreads[ref.index].skew = (uint32_t)change->to;
    } else {
        if (change->to < c->p.nodes_min)
            c->p.nodes_min = (uint32_t)change->to;
        else if (change->to > c->p.nodes_max)
            c->p.nodes_max = (uint32_t)change->to;
        c->p.give_up = 0;
    }
}

bool case_has(const struct cluster_case *c, struct solver_ref ref)
{
    const struct solver_problem *p = &c->p;
    switch (ref.rule) {
    case SOLVER_RULE_TOGETHER: return ref.index < p->n_together;
    case SOLVER_RULE_APART: return ref.index < p->n_apart;
    case SOLVER_RULE_RATIO: return ref.index < p->n_ratios;
    case SOLVER_RULE_SPREAD: return ref.index < p->n_spreads;
    case SOLVER_RULE_NODES: return ref.index == 0;
    case SOLVER_RULE_EXISTING: return ref.index == 0 && p->n_existing > 0;
    case SOLVER_RULE_OFFER:
        return ref.index == 0 && (!(~p->old_hardware.w[0] & solver_set_below(p->n_hardware).w[0]) ||
                                  !(~p->old_images.w[0] & solver_set_below(p->n_images).w[0]));
    case SOLVER_RULE_MIN:
    case SOLVER_RULE_MAX:
    case SOLVER_RULE_STEP:
    case SOLVER_RULE_HARDWARE:
    case SOLVER_RULE_IMAGE:
    case SOLVER_RULE_REQUIRED:
    case SOLVER_RULE_EVERYWHERE:
    case SOLVER_RULE_DEMAND:
    case SOLVER_RULE_COUNT: break;
    }
    return ref.index < p->n_services;
}

static unsigned bits(const struct solver_set *s)
{
    return (unsigned)s->w[0];
}

void case_print(const struct cluster_case *c)
{
    const struct solver_problem *p = &c->p;
    printf("# nodes %u..%u give up %u involved %x values %u resources %u images %u old %x %x\n",
           p->nodes_min, p->nodes_max, p->give_up, bits(&p->involved), p->n_values, p->n_resources,
           p->n_images, bits(&p->old_hardware), bits(&p->old_images));
    for (uint32_t i = 0; i < p->n_services; i++) {
        const struct solver_service *s = &c->services[i];
        printf("# service %u: %u..%d step %u hw %x img %x demand %d,%d%s%s\n", i, s->min,
               (int)s->max, s->step, bits(&s->hardware), bits(&s->images),
               s->demand ? (int)s->demand[0] : 0, s->demand ? (int)s->demand[1] : 0,
               s->everywhere ? " everywhere" : "", s->required ? " required" : "");
    }
    for (uint32_t i = 0; i < p->n_hardware; i++)
        printf("# hardware %u: cost %d capacity %d,%d\n", i, (int)c->hardware[i].cost,
               c->hardware[i].capacity ? (int)c->capacity[i][0] : 0,
               c->hardware[i].capacity ? (int)c->capacity[i][1] : 0);
    for (uint32_t i = 0; i < p->n_together; i++)
        printf("# together %x\n", bits(&c->together[i]));
    for (uint32_t i = 0; i < p->n_apart; i++)
        printf("# apart %x\n", bits(&c->apart[i]));
    for (uint32_t i = 0; i < p->n_ratios; i++)
        printf("# ratio %u of %d %s %u/%u\n", c->ratios[i].service, (int)c->ratios[i].of,
               c->ratios[i].at_most ? "<=" : ">=", c->ratios[i].num, c->ratios[i].den);
    for (uint32_t i = 0; i < p->n_spreads; i++)
        printf("# spread %u skew %u\n", c->spreads[i].service, c->spreads[i].skew);
    for (uint32_t i = 0; i < p->n_existing; i++)
        printf("# existing %u: %x hw %u img %u value %d count %u%s\n", i,
               bits(&c->existing[i].services), c->existing[i].hardware, c->existing[i].image,
               (int)c->existing[i].value, c->existing[i].count, c->existing[i].keep ? " keep" : "");
    for (uint32_t i = 0; i < p->n_keys; i++)
        printf("# key %d resource %u%s\n", (int)c->keys[i].by, c->keys[i].resource,
               c->keys[i].more ? " more" : "");
}
