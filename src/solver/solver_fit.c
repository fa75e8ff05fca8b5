/* solver_fit.c - a set of services, a node, a layout: judged on their own
 *
 * Written straight from the rules and apart from the search, whose answers tests hold against this.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solver_i.h"

bool solver_services_fit(const struct solver_problem *p, const struct solver_set *services)
{
    for (uint32_t i = 0; i < p->n_together; i++)
        if (set_meets(&p->together[i], services) && !set_inside(&p->together[i], services))
            return false;
    for (uint32_t i = 0; i < p->n_apart; i++)
        if (set_inside(&p->apart[i], services))
            return false;
    return true;
}

/* The first rule that a node breaks; false if it breaks none. */
static bool node_breaks(const struct solver_problem *p, const struct solver_set *services,
                        uint32_t hardware, uint32_t image, struct solver_ref *why)
{
    for (why->rule = SOLVER_RULE_TOGETHER, why->index = 0; why->index < p->n_together; why->index++)
        if (set_meets(&p->together[why->index], services) &&
            !set_inside(&p->together[why->index], services))
            return true;
    for (why->rule = SOLVER_RULE_APART, why->index = 0; why->index < p->n_apart; why->index++)
        if (set_inside(&p->apart[why->index], services))
            return true;
    SET_EACH(s, services)
    {
        *why = (struct solver_ref){SOLVER_RULE_HARDWARE, s};
        if (!solver_set_has(&p->services[s].hardware, hardware))
            return true;
        *why = (struct solver_ref){SOLVER_RULE_IMAGE, s};
        if (!solver_set_has(&p->services[s].images, image))
            return true;
    }
    for (uint32_t r = 0; r < p->n_resources; r++) {
        int64_t room = p->hardware[hardware].capacity ? p->hardware[hardware].capacity[r] : 0;
        SET_EACH(s, services)
        {
            *why = (struct solver_ref){SOLVER_RULE_DEMAND, s};
            room -= p->services[s].demand ? p->services[s].demand[r] : 0;
            if (room < 0)
                return true;
        }
    }
    for (why->rule = SOLVER_RULE_EVERYWHERE, why->index = 0; why->index < p->n_services;
         why->index++)
        if (p->services[why->index].everywhere && !solver_set_has(services, why->index))
            return true;
    return false;
}

bool solver_node_fits(const struct solver_problem *p, const struct solver_set *services,
                      uint32_t hardware, uint32_t image)
{
    struct solver_ref why;
    return !set_empty(services) && !node_breaks(p, services, hardware, image, &why);
}

static bool count_breaks(const struct solver_problem *p, const uint64_t *count,
                         struct solver_ref *why)
{
    for (uint32_t s = 0; s < p->n_services; s++) {
        const struct solver_service *v = &p->services[s];
        why->index = s;
        why->rule = SOLVER_RULE_MIN;
        if (count[s] < v->min)
            return true;
        why->rule = SOLVER_RULE_MAX;
        if (count[s] > v->max && v->max != SOLVER_ANY)
            return true;
        why->rule = SOLVER_RULE_STEP;
        if (v->step > 1 && (count[s] - v->min) % v->step)
            return true;
        why->rule = SOLVER_RULE_REQUIRED;
        if (v->required && count[s] == 0)
            return true;
    }
    return false;
}

static bool ratio_breaks(const struct solver_problem *p, const uint64_t *count, uint64_t nodes,
                         struct solver_ref *why)
{
    why->rule = SOLVER_RULE_RATIO;
    for (why->index = 0; why->index < p->n_ratios; why->index++) {
        const struct solver_ratio *r = &p->ratios[why->index];
        uint64_t left = r->den * count[r->service];
        uint64_t right = r->num * (r->of == SOLVER_NONE ? nodes : count[r->of]);
        if (r->at_most ? left > right : left < right)
            return true;
    }
    return false;
}

static bool spread_breaks(const struct solver_problem *p, const struct solver_kind *kinds,
                          uint32_t n_kinds, struct solver_ref *why)
{
    why->rule = SOLVER_RULE_SPREAD;
    for (why->index = 0; why->index < p->n_spreads; why->index++) {
        uint64_t low = UINT64_MAX, high = 0;
        for (uint32_t v = 0; v < p->n_values; v++) {
            uint64_t n = 0;
            for (uint32_t k = 0; k < n_kinds; k++)
                if (kinds[k].value == v &&
                    solver_set_has(&kinds[k].services, p->spreads[why->index].service))
                    n += kinds[k].count;
            low = n < low ? n : low;
            high = n > high ? n : high;
        }
        if (high - low > p->spreads[why->index].skew)
            return true;
    }
    return false;
}

bool solver_layout_fits(const struct solver_problem *p, const struct solver_kind *kinds,
                        uint32_t n_kinds, struct solver_ref *ret_why)
{
    uint64_t count[SOLVER_MAX_SERVICES] = {0}, nodes = 0;
    struct solver_ref why, *at = ret_why ? ret_why : &why;
    for (uint32_t k = 0; k < n_kinds; k++) {
        if (kinds[k].count == 0)
            continue;
        if (node_breaks(p, &kinds[k].services, kinds[k].hardware, kinds[k].image, at))
            return false;
        nodes += kinds[k].count;
        SET_EACH(s, &kinds[k].services)
        count[s] += kinds[k].count;
    }
    if (nodes < p->nodes_min || nodes > p->nodes_max) {
        *at = (struct solver_ref){SOLVER_RULE_NODES, 0};
        return false;
    }
    return !count_breaks(p, count, at) && !ratio_breaks(p, count, nodes, at) &&
           !spread_breaks(p, kinds, n_kinds, at);
}

uint32_t solver_nodes_list(const struct solver_problem *p, struct solver_kind *ret_kinds,
                           uint32_t max)
{
    SCOPED_ARENA(work);
    struct solver_problem fresh = *p;
    struct solver_set all = solver_set_below(p->n_services);
    struct rules rules;
    struct model m;
    uint64_t steps = 0;
    uint32_t n = 0;
    fresh.n_existing = 0;
    rules_init(&rules, &fresh, &work);
    model_build(&m, &fresh, &rules, &work, true);
    struct pool *pool = &m.pools[0];
    for (uint32_t i = 0; i < pool->n_slots; i++)
        pool->slots[i].like = i; /* each is wanted for itself */
    struct cursor *c = cursor_new(&work, &m, 0);
    while (cursor_next(c, &all, &steps, UINT64_MAX)) {
        if (n == max)
            return max + 1;
        uint32_t slot;
        cursor_get(c, &ret_kinds[n].services, &slot, &ret_kinds[n].value);
        ret_kinds[n].hardware = pool->slots[slot].hardware;
        ret_kinds[n].image = pool->slots[slot].image;
        ret_kinds[n].existing = SOLVER_NONE;
        ret_kinds[n++].count = 0;
    }
    return n;
}
