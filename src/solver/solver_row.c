/* solver_row.c - everything that is counted over nodes
 *
 * A row is an integer for each kind of node and bounds for the sum over all of them.  What is no
 * node but takes part in a sum is an extra column.  Bounds of services, ratios, steps, spreads, the
 * number of nodes, and the keys of the order are all rows, so that the search knows one thing only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "solver/solver_i.h"

static uint32_t row_add(struct rows *r, enum row_type type, uint32_t a, uint32_t b, int64_t lo,
                        int64_t hi)
{
    struct row row = {.type = type, .a = a, .b = b, .lo = lo, .hi = hi, .unit = 1, .most = 1};
    vec_push(&r->at, row);
    return (uint32_t)r->at.n - 1;
}

static struct extra *extra_add(struct rows *r, enum extra_type type, uint32_t a, int64_t hi,
                               uint32_t room)
{
    struct extra x = {.type = type, .a = a, .hi = hi};
    x.rows = xcalloc(room, sizeof *x.rows);
    x.coefs = xcalloc(room, sizeof *x.coefs);
    vec_push(&r->extras, x);
    return &r->extras.at[r->extras.n - 1];
}

static void extra_in(struct extra *x, uint32_t row, int64_t coef)
{
    x->rows[x->n] = row;
    x->coefs[x->n++] = coef;
}

/* How far a rule may be exceeded, in one row. */
static void excess_add(struct rows *r, const struct model *m, enum solver_rule rule, uint32_t index,
                       uint32_t row, int64_t coef, int64_t hi)
{
    struct extra *x = extra_add(r, EXTRA_EXCESS, m->rules->first[rule] + index, hi, 2);
    extra_in(x, row, coef);
    extra_in(x, r->excess, 1);
}

/* --- rules --- */

static void nodes_rows(struct rows *r, const struct model *m)
{
    const struct solver_problem *p = m->p;
    bool off = rules_off(m->rules, SOLVER_RULE_NODES, 0);
    bool elastic = rules_elastic(m->rules, SOLVER_RULE_NODES, 0);
    r->nodes = row_add(r, ROW_NODES, 0, 0, off ? 0 : p->nodes_min,
                       off ? m->nodes_max : p->nodes_max);
    if (elastic) {
        excess_add(r, m, SOLVER_RULE_NODES, 0, r->nodes, 1, p->nodes_min);
        excess_add(r, m, SOLVER_RULE_NODES, 0, r->nodes, -1, m->nodes_max - p->nodes_max);
    }
    r->given = SOLVER_NONE;
    if (m->n_pools == 1 && (p->give_up == 0 || off || elastic))
        return;
    r->given = row_add(r, ROW_GIVEN, 0, 0, off || elastic ? 0 : p->give_up, SOLVER_MAX_NODES);
    for (uint32_t i = 0; i + 1 < m->n_pools; i++) {
        const struct pool *pool = &m->pools[i];
        uint32_t row = row_add(r, ROW_POOL, i, 0, pool->cap, pool->cap);
        struct extra *x = extra_add(r, EXTRA_GIVEN, i, pool->keep ? 0 : pool->cap, 2);
        extra_in(x, row, 1);
        extra_in(x, r->given, 1);
    }
}

static void service_rows(struct rows *r, const struct model *m, uint32_t s)
{
    const struct solver_service *v = &m->p->services[s];
    const struct rules *rules = m->rules;
    int64_t min = rules_off(rules, SOLVER_RULE_MIN, s) ? 0 : v->min;
    bool required = v->required && !rules_off(rules, SOLVER_RULE_REQUIRED, s);
    bool capped = v->max < m->nodes_max && !rules_off(rules, SOLVER_RULE_MAX, s);
    bool stepped = v->step > 1 && !rules_off(rules, SOLVER_RULE_STEP, s);
    if (min > required && rules_elastic(rules, SOLVER_RULE_MIN, s)) {
        uint32_t row = row_add(r, ROW_SERVICE, s, 0, min, ROW_INF);
        excess_add(r, m, SOLVER_RULE_MIN, s, row, 1, min - required);
        min = 0;
    }
    if (capped && rules_elastic(rules, SOLVER_RULE_MAX, s)) {
        uint32_t row = row_add(r, ROW_SERVICE, s, 0, -ROW_INF, v->max);
        excess_add(r, m, SOLVER_RULE_MAX, s, row, -1, m->nodes_max);
        capped = false;
    }
    if (min || required || capped || stepped) {
        uint32_t row = row_add(r, ROW_SERVICE, s, 0, min > required ? min : required,
                               capped ? v->max : ROW_INF);
        r->at.at[row].branch = true;
    }
    if (stepped) {
        uint32_t rest = v->min % v->step, row = row_add(r, ROW_STEP, s, 0, rest, rest);
        struct extra *x = extra_add(r, EXTRA_STEPS, s, m->nodes_max / v->step, 1);
        extra_in(x, row, -(int64_t)v->step);
        r->at.at[row].most = v->step;
    }
}

static void spread_rows(struct rows *r, const struct model *m, uint32_t i)
{
    const struct solver_spread *spread = &m->p->spreads[i];
    bool elastic = rules_elastic(m->rules, SOLVER_RULE_SPREAD, i);
    uint32_t values = m->p->n_values, n = elastic ? 2 * values : values, first = (uint32_t)r->at.n;
    for (uint32_t k = 0; k < n; k++) { /* where it may be exceeded, the upper ones are rows apart */
        bool lower = k < values;
        row_add(r, ROW_SPREAD, spread->service, k % values, lower ? 0 : -ROW_INF,
                lower && elastic ? ROW_INF : spread->skew);
    }
    for (uint32_t k = 0; k < values; k++) {
        uint32_t row = row_add(r, ROW_VALUE, spread->service, k, 0, ROW_INF);
        r->at.at[row].branch = true;
    }
    struct extra *x = extra_add(r, EXTRA_LOWEST, i, m->nodes_max, n);
    for (uint32_t k = 0; k < n; k++)
        extra_in(x, first + k, -1);
    if (!elastic)
        return;
    x = extra_add(r, EXTRA_EXCESS, m->rules->first[SOLVER_RULE_SPREAD] + i, m->nodes_max,
                  values + 1);
    for (uint32_t k = values; k < n; k++)
        extra_in(x, first + k, -1);
    extra_in(x, r->excess, 1);
}

/* --- order --- */

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static int64_t key_amount(const struct solver_problem *p, const struct solver_key *k, uint32_t h)
{
    if (h >= p->n_hardware)
        return 0;
    if (k->by == SOLVER_COST)
        return p->hardware[h].cost;
    return p->hardware[h].capacity ? p->hardware[h].capacity[k->resource] : 0;
}

static void key_row(struct rows *r, const struct model *m, uint32_t i)
{
    const struct solver_key *k = &m->p->keys[i];
    uint32_t at = row_add(r, ROW_KEY, i, 0, -ROW_INF, ROW_INF);
    struct row *row = &r->at.at[at];
    int64_t unit = 0, most = 1;
    for (uint32_t h = 0; h < m->p->n_hardware; h++) {
        int64_t amount = key_amount(m->p, k, h);
        unit = gcd(unit, amount);
        most = amount > most ? amount : most;
    }
    bool amounts = k->by == SOLVER_COST || k->by == SOLVER_RESOURCE;
    row->unit = amounts && unit ? unit : 1;
    row->most = amounts ? most / row->unit : k->by == SOLVER_SERVICES ? m->p->n_services : 1;
    if (row->most < 1)
        row->most = 1;
}

/* Nodes by what their hardware counts: whole numbers that branching settles early.  Only a few:
 * each row makes every step of the linear program longer. */
static void hardware_rows(struct rows *r, const struct model *m)
{
    enum { HARDWARE_ROWS = 24 };
    const struct pool *fresh = &m->pools[m->n_pools - 1];
    if (!m->by_hardware)
        return;
    for (uint32_t i = 0; i < fresh->n_slots && fresh->n_slots <= HARDWARE_ROWS; i++)
        if (fresh->slots[i].like == i) {
            uint32_t row = row_add(r, ROW_HARDWARE, fresh->slots[i].hardware, 0, 0, ROW_INF);
            r->at.at[row].branch = true;
        }
}

void rows_build(struct rows *r, const struct model *m)
{
    const struct solver_problem *p = m->p;
    *r = (struct rows){.excess = SOLVER_NONE};
    for (uint32_t i = 0; i < m->rules->first[SOLVER_RULE_COUNT]; i++)
        if (m->rules->elastic[i] && r->excess == SOLVER_NONE)
            r->excess = row_add(r, ROW_EXCESS, 0, 0, 0, ROW_INF);
    nodes_rows(r, m);
    for (uint32_t s = 0; s < p->n_services; s++)
        service_rows(r, m, s);
    for (uint32_t i = 0; i < p->n_ratios; i++) {
        const struct solver_ratio *ratio = &p->ratios[i];
        if (rules_off(m->rules, SOLVER_RULE_RATIO, i))
            continue;
        uint32_t row = row_add(r, ROW_RATIO, i, 0, ratio->at_most ? -ROW_INF : 0,
                               ratio->at_most ? 0 : ROW_INF);
        r->at.at[row].most = ratio->den > ratio->num ? ratio->den : ratio->num;
    }
    for (uint32_t i = 0; i < p->n_spreads; i++)
        if (!rules_off(m->rules, SOLVER_RULE_SPREAD, i))
            spread_rows(r, m, i);
    for (uint32_t s = 0; s < p->n_services && m->n_pools > 1; s++)
        if (solver_set_has(&p->involved, s))
            row_add(r, ROW_KEPT, s, 0, 0, ROW_INF);
    hardware_rows(r, m);
    for (uint32_t i = 0; i < p->n_keys; i++)
        key_row(r, m, i);
}

void rows_done(struct rows *r)
{
    for (size_t i = 0; i < r->extras.n; i++) {
        free(r->extras.at[i].rows);
        free(r->extras.at[i].coefs);
    }
    vec_done(&r->extras);
    vec_done(&r->at);
}

int64_t row_coef(const struct model *m, const struct row *row, const struct pool *pool,
                 const struct solver_set *services, uint32_t hardware, uint32_t value)
{
    const struct solver_problem *p = m->p;
    switch (row->type) {
    case ROW_POOL: return pool == &m->pools[row->a];
    case ROW_NODES: return 1;
    case ROW_SERVICE:
    case ROW_STEP: return solver_set_has(services, row->a);
    case ROW_KEPT: return !pool->fresh && solver_set_has(services, row->a);
    case ROW_RATIO: {
        const struct solver_ratio *r = &p->ratios[row->a];
        int64_t of = r->of == SOLVER_NONE || solver_set_has(services, r->of);
        return (int64_t)r->den * solver_set_has(services, r->service) - r->num * of;
    }
    case ROW_SPREAD:
    case ROW_VALUE: return value == row->b && solver_set_has(services, row->a);
    case ROW_HARDWARE: return model_same_keys(p, row->a, hardware);
    case ROW_KEY: {
        const struct solver_key *k = &p->keys[row->a];
        if (k->by == SOLVER_NODES)
            return 1;
        if (k->by == SOLVER_SERVICES)
            return set_count(services);
        return key_amount(p, k, hardware) / row->unit;
    }
    case ROW_GIVEN:
    case ROW_EXCESS: break;
    }
    return 0;
}
