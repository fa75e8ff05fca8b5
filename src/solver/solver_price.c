/* solver_price.c - the kinds of node that a proof does not cover
 *
 * Given a multiplier for each row, a kind is worth the sum of its coefficients times those; what is
 * worth more than nothing belongs into the linear program, and the greatest worth in each pool says
 * by how much a proof falls short.  Services add up, so that the best kind in a slot is a choice of
 * options: all with positive weight if they fit, else by depth-first search under the bounds of
 * solver_candidates.c.  Where those are exact it goes straight to the best.
 *
 * All of it is in integers: what is found to be the most is the most.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "solver/solver_price_i.h"

enum { HASTE_STEPS = 2000, SLOTS_EACH = 8 };

struct pricer *pricer_new(const struct model *m)
{
    struct pricer *c = xcalloc(1, sizeof *c);
    uint32_t n = m->p->n_services + 1, values = m->p->n_values + 1;
    c->common = xcalloc(n, sizeof *c->common);
    c->kept = xcalloc(n, sizeof *c->kept);
    c->spread = xcalloc((size_t)n * values, sizeof *c->spread);
    c->spread_value = xcalloc(values, sizeof *c->spread_value);
    c->weight = xcalloc(n, sizeof *c->weight);
    c->order = xcalloc(n, sizeof *c->order);
    c->w = xcalloc(n, sizeof *c->w);
    c->rest = xcalloc(n + 1, sizeof *c->rest);
    c->used = xcalloc((size_t)(n + 1) * (m->p->n_resources + 1), sizeof *c->used);
    c->set = xcalloc(n + 1, sizeof *c->set);
    c->alive = xcalloc(n + 1, sizeof *c->alive);
    c->tried = xcalloc(n + 1, sizeof *c->tried);
    return c;
}

void pricer_free(struct pricer *c)
{
    if (!c)
        return;
    free(c->multipliers);
    free(c->common);
    free(c->kept);
    free(c->spread);
    free(c->spread_value);
    free(c->weight);
    free(c->order);
    free(c->w);
    vec_done(&c->table);
    free(c->rest);
    free(c->used);
    free(c->set);
    free(c->alive);
    free(c->tried);
    free(c);
}

/* --- weights --- */

static void weights_of_row(struct engine *g, const struct row *row, int64_t by)
{
    struct pricer *c = g->pricer;
    const struct solver_problem *p = g->m->p;
    switch (row->type) {
    case ROW_SERVICE:
    case ROW_STEP: c->common[row->a] += by; break;
    case ROW_KEPT: c->kept[row->a] += by; break;
    case ROW_RATIO: {
        const struct solver_ratio *r = &p->ratios[row->a];
        c->common[r->service] += by * r->den;
        if (r->of != SOLVER_NONE)
            c->common[r->of] -= by * r->num;
        break;
    }
    case ROW_SPREAD:
    case ROW_VALUE:
        c->spread[(size_t)row->b * p->n_services + row->a] += by;
        c->spread_value[row->b] = true;
        break;
    case ROW_KEY:
        for (uint32_t s = 0; p->keys[row->a].by == SOLVER_SERVICES && s < p->n_services; s++)
            c->common[s] += by;
        break;
    case ROW_POOL:
    case ROW_GIVEN:
    case ROW_NODES:
    case ROW_HARDWARE:
    case ROW_EXCESS: break;
    }
}

static void weights_build(struct engine *g, const struct proof *f)
{
    struct pricer *c = g->pricer;
    const struct solver_problem *p = g->m->p;
    if (!c->multipliers)
        c->multipliers = xcalloc(g->n_rows + 1, sizeof *c->multipliers);
    memset(c->common, 0, p->n_services * sizeof *c->common);
    memset(c->kept, 0, p->n_services * sizeof *c->kept);
    memset(c->spread, 0, (size_t)p->n_services * p->n_values * sizeof *c->spread);
    memset(c->spread_value, 0, p->n_values * sizeof *c->spread_value);
    for (uint32_t r = 0; r < g->n_rows; r++) {
        c->multipliers[r] = f->rows[r];
        if (r == f->objective)
            c->multipliers[r] -= f->sign * f->scale;
        if (c->multipliers[r])
            weights_of_row(g, &g->rows->at.at[r], c->multipliers[r]);
    }
}

static int64_t weight_of(const struct engine *g, const struct pool *pool, uint32_t value,
                         const struct solver_set *services)
{
    const struct pricer *c = g->pricer;
    const struct solver_problem *p = g->m->p;
    int64_t sum = 0;
    SET_EACH(s, services)
    {
        sum += c->common[s];
        if (!pool->fresh)
            sum += c->kept[s];
        if (value != SOLVER_NONE && c->spread_value[value])
            sum += c->spread[(size_t)value * p->n_services + s];
    }
    return sum;
}

/* What a node is worth whatever services it has. */
static int64_t node_worth(const struct engine *g, const struct pool *pool, uint32_t hardware)
{
    const struct solver_set none = {{0}};
    int64_t sum = 0;
    for (uint32_t r = 0; r < g->n_rows; r++)
        if (g->pricer->multipliers[r])
            sum += g->pricer->multipliers[r] *
                   row_coef(g->m, &g->rows->at.at[r], pool, &none, hardware, SOLVER_NONE);
    return sum;
}

/* --- one slot --- */

/* Whether branching has bounded this very kind, which then counts by itself. */
static bool bounded(const struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                    const struct solver_set *services)
{
    uint32_t like = g->m->pools[pool].slots[slot].like;
    for (size_t i = 0; i < g->bounded.n; i++) {
        const struct column *k = &g->columns.at[g->bounded.at[i]];
        if (k->hi < ROW_INF && k->pool == pool && k->value == value &&
            g->m->pools[pool].slots[k->slot].like == like && set_same(&k->services, services))
            return true;
    }
    return false;
}

static bool pool_bounded(const struct engine *g, uint32_t pool)
{
    for (size_t i = 0; i < g->bounded.n; i++)
        if (g->columns.at[g->bounded.at[i]].pool == pool &&
            g->columns.at[g->bounded.at[i]].hi < ROW_INF)
            return true;
    return false;
}

struct found {
    int64_t worth; /* what is not more is not looked for */
    bool any;
    struct solver_set services;
    bool haste, cut; /* cut: it was ended before all was seen */
};

static void found_set(struct found *f, int64_t worth, const struct solver_set *services)
{
    f->worth = worth;
    f->any = true;
    f->services = *services;
}

static void option_join(struct engine *g, const struct pool *pool, uint32_t k)
{
    struct pricer *c = g->pricer;
    const struct option *o = &pool->options[c->order[k]];
    uint32_t resources = g->m->p->n_resources;
    c->set[k + 1] = c->set[k];
    set_join(&c->set[k + 1], &o->set);
    c->alive[k + 1] = c->alive[k];
    set_take(&c->alive[k + 1], &o->rivals);
    solver_set_drop(&c->alive[k + 1], c->order[k]);
    for (uint32_t r = 0; r < resources; r++)
        c->used[(size_t)(k + 1) * resources + r] = c->used[(size_t)k * resources + r] +
                                                   o->demand[r];
}

static void option_leave(struct engine *g, uint32_t k)
{
    struct pricer *c = g->pricer;
    uint32_t resources = g->m->p->n_resources;
    c->set[k + 1] = c->set[k];
    c->alive[k + 1] = c->alive[k];
    solver_set_drop(&c->alive[k + 1], c->order[k]);
    for (uint32_t r = 0; r < resources; r++)
        c->used[(size_t)(k + 1) * resources + r] = c->used[(size_t)k * resources + r];
}

/* Decides candidate k; false if it does not fit. */
static bool option_put(struct engine *g, const struct pool *pool, const struct slot *slot,
                       uint32_t k, bool with)
{
    struct pricer *c = g->pricer;
    const int64_t *used = c->used + (size_t)k * g->m->p->n_resources;
    if (with && !option_fits(g->m, &pool->options[c->order[k]], slot, &c->set[k], used))
        return false;
    if (with)
        option_join(g, pool, k);
    else
        option_leave(g, k);
    return true;
}

/* Depth first over the candidates.  At depth k the first k are decided; tried[k] counts the ways in
 * which candidate k was decided so far.  The way that promises more comes first. */
static void choose(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value, int64_t base,
                   bool check, struct found *best)
{
    const struct pool *at = &g->m->pools[pool];
    const struct slot *in = &at->slots[slot];
    struct pricer *c = g->pricer;
    uint32_t resources = g->m->p->n_resources, k = 0;
    int64_t sum[SOLVER_MAX_SERVICES + 1];
    bool with_first[SOLVER_MAX_SERVICES + 1];
    sum[0] = base;
    c->set[0] = at->forced;
    memcpy(c->used, at->forced_demand, resources * sizeof *c->used);
    c->tried[0] = 0;
    uint64_t until = best->haste ? g->steps + HASTE_STEPS : UINT64_MAX;
    while (!engine_spent(g)) { /* what is found is not the best then, and no proof is made of it */
        if (g->steps++ > until && best->any) {
            best->cut = true;
            return;
        }
        if (k < c->n && c->tried[k] < 2) {
            const int64_t *next = c->used + (size_t)(k + 1) * resources;
            bool alone = !check && price_sure(c, at, k);
            if (c->tried[k] == 0) {
                int64_t without = 0;
                if (!alone && option_put(g, at, in, k, false))
                    without = price_most_from(g, at, in, k + 1, next);
                with_first[k] = c->w[k] > 0 && option_put(g, at, in, k, true) &&
                                (alone ||
                                 c->w[k] + price_most_from(g, at, in, k + 1, next) >= without);
            }
            bool with = (c->tried[k] == 0) == with_first[k];
            c->tried[k]++;
            if (!option_put(g, at, in, k, with))
                continue;
            if (with && alone)
                c->tried[k] = 2;
            sum[k + 1] = sum[k] + (with ? c->w[k] : 0);
            if (sum[k + 1] + price_most_from(g, at, in, k + 1, next) <= best->worth)
                continue;
            c->tried[++k] = 0;
            continue;
        }
        if (k == c->n && sum[k] > best->worth && !(at->fresh && set_empty(&c->set[k])) &&
            !(check && bounded(g, pool, slot, value, &c->set[k])))
            found_set(best, sum[k], &c->set[k]);
        if (k-- == 0)
            return;
    }
}

/* The best kind of a slot that is worth more than best->worth. */
static void price_slot(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value, int64_t base,
                       bool check, struct found *best)
{
    const struct pool *at = &g->m->pools[pool];
    struct pricer *c = g->pricer;
    int64_t most = base;
    for (uint32_t i = 0; i < at->n_options; i++)
        most += c->weight[i] > 0 ? c->weight[i] : 0;
    g->steps += 1 + at->n_options / 4;
    if (most <= best->worth)
        return;
    price_candidates(g, at, &at->slots[slot], check);
    choose(g, pool, slot, value, base, check, best);
    if (check || !at->fresh || !set_empty(&at->forced))
        return;
    for (uint32_t i = 0; i < at->n_options; i++) /* where nothing has weight, the least bad alone */
        if (c->weight[i] <= 0 && base + c->weight[i] > best->worth &&
            option_fits(g->m, &at->options[i], &at->slots[slot], &at->forced, at->forced_demand))
            found_set(best, base + c->weight[i], &at->options[i].set);
}

/* --- all --- */

/* Whether an earlier value of the label weighs everything the same. */
static bool value_repeats(const struct engine *g, uint32_t value)
{
    const struct pricer *c = g->pricer;
    size_t n = g->m->p->n_services;
    for (uint32_t v = 0; v < value; v++)
        if (!memcmp(c->spread + v * n, c->spread + value * n, n * sizeof *c->spread))
            return true;
    return false;
}

static uint32_t price_pool(struct engine *g, uint32_t pool, int64_t least, bool haste,
                           struct proof *f)
{
    const struct pool *at = &g->m->pools[pool];
    struct pricer *c = g->pricer;
    bool check = pool_bounded(g, pool);
    size_t before = g->columns.n;
    for (uint32_t v = 0; v < at->values; v++) {
        uint32_t value = at->value == SOLVER_NONE ? SOLVER_NONE : at->value + v;
        if (at->fresh && v && !check && value_repeats(g, value))
            continue;
        for (uint32_t i = 0; i < at->n_options; i++)
            c->weight[i] = weight_of(g, at, value, &at->options[i].set);
        int64_t forced = weight_of(g, at, value, &at->forced);
        for (uint32_t s = 0; s < at->n_slots; s++) {
            struct found best = {.haste = haste};
            if (at->n_slots > SLOTS_EACH) /* only what is better still */
                best.worth = f->surplus[pool];
            price_slot(g, pool, s, value, forced + node_worth(g, at, at->slots[s].hardware), check,
                       &best);
            f->whole &= !best.cut;
            if (best.worth > f->surplus[pool])
                f->surplus[pool] = best.worth;
            if (best.any && best.worth > least)
                engine_column(g, pool, s, value, &best.services);
        }
    }
    return (uint32_t)(g->columns.n - before);
}

uint32_t price_all(struct engine *g, struct proof *f, bool haste)
{
    uint32_t found = 0;
    int64_t least = 1 << 12; /* less is rounding, and not worth a column */
    weights_build(g, f);
    f->whole = true;
    for (uint32_t i = 0; i < g->m->n_pools; i++) {
        f->surplus[i] = 0;
        if (g->m->pools[i].cap)
            found += price_pool(g, i, least, haste, f);
    }
    return found;
}
