/* solver_rules.c - the rules of a problem by number, and what of it is too large or makes no sense
 *
 * Conflicts and relaxations leave rules out; whoever reads the problem asks here whether a rule
 * holds.  With every rule left out every problem has an answer: no nodes at all.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solver_i.h"

const char *solver_rule_name(enum solver_rule r)
{
    static const char *const names[] = {
#define X(id, text) [SOLVER_RULE_##id] = text,
        SOLVER_RULES(X)
#undef X
    };
    return names[r];
}

const char *solver_status_name(enum solver_status s)
{
    static const char *const names[] = {
#define X(id, text) [SOLVER_##id] = text,
        SOLVER_STATUSES(X)
#undef X
    };
    return names[s];
}

static uint32_t rule_count(const struct solver_problem *p, enum solver_rule rule)
{
    switch (rule) {
    case SOLVER_RULE_TOGETHER: return p->n_together;
    case SOLVER_RULE_APART: return p->n_apart;
    case SOLVER_RULE_RATIO: return p->n_ratios;
    case SOLVER_RULE_SPREAD: return p->n_spreads;
    case SOLVER_RULE_NODES:
    case SOLVER_RULE_EXISTING:
    case SOLVER_RULE_OFFER: return 1;
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
    return p->n_services;
}

void rules_init(struct rules *r, const struct solver_problem *p, struct arena *mem)
{
    r->first[0] = 0;
    for (uint32_t i = 0; i < SOLVER_RULE_COUNT; i++)
        r->first[i + 1] = r->first[i] + rule_count(p, (enum solver_rule)i);
    r->off = arena_new(mem, bool, r->first[SOLVER_RULE_COUNT]);
    r->elastic = arena_new(mem, bool, r->first[SOLVER_RULE_COUNT]);
}

struct solver_ref rules_ref(const struct rules *r, uint32_t number)
{
    uint32_t i = 0;
    while (r->first[i + 1] <= number)
        i++;
    return (struct solver_ref){(enum solver_rule)i, number - r->first[i]};
}

static bool demands(const struct solver_problem *p, const struct solver_service *s)
{
    for (uint32_t i = 0; s->demand && i < p->n_resources; i++)
        if (s->demand[i])
            return true;
    return false;
}

bool rules_meant(const struct solver_problem *p, struct solver_ref ref)
{
    const struct solver_service *s = p->services ? &p->services[ref.index] : NULL;
    struct solver_set all;
    switch (ref.rule) {
    case SOLVER_RULE_TOGETHER: return set_count(&p->together[ref.index]) > 1;
    case SOLVER_RULE_MIN: return s->min > 0;
    case SOLVER_RULE_MAX: return s->max < SOLVER_ANY;
    case SOLVER_RULE_STEP: return s->step > 1;
    case SOLVER_RULE_HARDWARE:
        all = solver_set_below(p->n_hardware);
        return !set_inside(&all, &s->hardware);
    case SOLVER_RULE_IMAGE:
        all = solver_set_below(p->n_images);
        return !set_inside(&all, &s->images);
    case SOLVER_RULE_REQUIRED: return s->required;
    case SOLVER_RULE_EVERYWHERE: return s->everywhere;
    case SOLVER_RULE_DEMAND: return demands(p, s);
    case SOLVER_RULE_EXISTING: return p->n_existing > 0;
    case SOLVER_RULE_OFFER: return !model_offers(p);
    case SOLVER_RULE_APART:
    case SOLVER_RULE_RATIO:
    case SOLVER_RULE_SPREAD:
    case SOLVER_RULE_NODES:
    case SOLVER_RULE_COUNT: break;
    }
    return true;
}

bool rules_numeric(enum solver_rule rule)
{
    return rule == SOLVER_RULE_MIN || rule == SOLVER_RULE_MAX || rule == SOLVER_RULE_SPREAD ||
           rule == SOLVER_RULE_NODES;
}

/* --- limits --- */

static int most_check(const char *what, uint64_t n, uint64_t max, struct err *e)
{
    if (n <= max)
        return 0;
    return err_set(e, ERR_TOO_LARGE, "%llu %s; at most %llu", (unsigned long long)n, what,
                   (unsigned long long)max);
}

static int amounts_check(const struct solver_problem *p, const int64_t *amount, const char *of,
                         uint32_t id, struct err *e)
{
    for (uint32_t i = 0; amount && i < p->n_resources; i++)
        if (amount[i] < 0 || amount[i] > SOLVER_MAX_AMOUNT)
            return err_set(e, ERR_INVALID, "%s %u: resource %u: %lld is not in 0..%lld", of, id, i,
                           (long long)amount[i], (long long)SOLVER_MAX_AMOUNT);
    return 0;
}

static int sets_check(const struct solver_problem *p, const struct solver_set *sets, uint32_t n,
                      const char *what, struct err *e)
{
    struct solver_set all = solver_set_below(p->n_services);
    for (uint32_t i = 0; i < n; i++)
        if (set_empty(&sets[i]) || !set_inside(&sets[i], &all))
            return err_set(e, ERR_INVALID, "%s %u: empty, or names a service that is not there",
                           what, i);
    return 0;
}

static int problem_parts_check(const struct solver_problem *p, struct err *e)
{
    for (uint32_t i = 0; i < p->n_services; i++)
        if (amounts_check(p, p->services[i].demand, "service", i, e) < 0)
            return -ERR_INVALID;
    for (uint32_t i = 0; i < p->n_hardware; i++) {
        if (amounts_check(p, p->hardware[i].capacity, "hardware", i, e) < 0)
            return -ERR_INVALID;
        if (p->hardware[i].cost < 0 || p->hardware[i].cost > SOLVER_MAX_COST)
            return err_set(e, ERR_INVALID, "hardware %u: cost out of range", i);
    }
    if (sets_check(p, p->together, p->n_together, "together", e) < 0 ||
        sets_check(p, p->apart, p->n_apart, "apart", e) < 0)
        return -ERR_INVALID;
    for (uint32_t i = 0; i < p->n_ratios; i++) {
        const struct solver_ratio *r = &p->ratios[i];
        if (r->service >= p->n_services || (r->of != SOLVER_NONE && r->of >= p->n_services) ||
            r->den == 0 || r->den > SOLVER_MAX_FACTOR || r->num > SOLVER_MAX_FACTOR)
            return err_set(e, ERR_INVALID, "ratio %u: no such service, or a number out of range",
                           i);
    }
    for (uint32_t i = 0; i < p->n_spreads; i++)
        if (p->spreads[i].service >= p->n_services || p->n_values == 0)
            return err_set(e, ERR_INVALID, "spread %u: no such service, or no values", i);
    for (uint32_t i = 0; i < p->n_keys; i++)
        if (p->keys[i].by == SOLVER_RESOURCE && p->keys[i].resource >= p->n_resources)
            return err_set(e, ERR_INVALID, "key %u: no such resource", i);
    return 0;
}

static int alike_check(const struct solver_problem *p, struct err *e)
{
    uint32_t groups[SOLVER_MAX_GROUPS], n = 0;
    for (uint32_t i = 0; i < p->n_existing; i++) {
        uint32_t g = 0;
        while (g < n && !existing_alike(&p->existing[groups[g]], &p->existing[i]))
            g++;
        if (g == SOLVER_MAX_GROUPS)
            return most_check("different nodes that exist", g + 1, SOLVER_MAX_GROUPS, e);
        if (g == n)
            groups[n++] = i;
    }
    return 0;
}

static int existing_check(const struct solver_problem *p, struct err *e)
{
    struct solver_set all = solver_set_below(p->n_services);
    uint64_t nodes = 0;
    for (uint32_t i = 0; i < p->n_existing; i++) {
        const struct solver_existing *x = &p->existing[i];
        if (!set_inside(&x->services, &all) || x->hardware >= p->n_hardware ||
            x->image >= p->n_images || (x->value != SOLVER_NONE && x->value >= p->n_values))
            return err_set(e, ERR_INVALID, "existing %u: names what is not there", i);
        nodes += x->count;
    }
    if (most_check("nodes that exist", nodes, SOLVER_MAX_NODES, e) < 0)
        return -ERR_TOO_LARGE;
    return alike_check(p, e);
}

int solver_problem_check(const struct solver_problem *p, struct err *e)
{
    const struct {
        const char *what;
        uint64_t n, max;
    } limits[] = {
        {"services", p->n_services, SOLVER_MAX_SERVICES},
        {"kinds of hardware", p->n_hardware, SOLVER_MAX_HARDWARE},
        {"images", p->n_images, SOLVER_MAX_IMAGES},
        {"resources", p->n_resources, SOLVER_MAX_RESOURCES},
        {"values of a label", p->n_values, SOLVER_MAX_VALUES},
        {"sets together", p->n_together, SOLVER_MAX_SETS},
        {"sets apart", p->n_apart, SOLVER_MAX_SETS},
        {"ratios", p->n_ratios, SOLVER_MAX_SETS},
        {"spreads", p->n_spreads, SOLVER_MAX_SERVICES},
        {"keys", p->n_keys, SOLVER_MAX_KEYS},
        {"entries of nodes that exist", p->n_existing, SOLVER_MAX_ENTRIES},
        {"nodes", p->nodes_max, SOLVER_MAX_NODES},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (most_check(limits[i].what, limits[i].n, limits[i].max, e) < 0)
            return -ERR_TOO_LARGE;
    if (p->nodes_min > p->nodes_max)
        return err_set(e, ERR_INVALID, "%u to %u nodes", p->nodes_min, p->nodes_max);
    int r = problem_parts_check(p, e);
    return r < 0 ? r : existing_check(p, e);
}
