/* solver_price.c - the kinds of node that a proof does not cover
 *
 * Given a multiplier for each row, a kind is worth the sum of its coefficients times those; what is
 * worth more than nothing belongs into the linear program, and the greatest worth in each pool says
 * by how much a proof falls short.  Services add up, so that the best kind in a slot is a choice of
 * options: all with positive weight if they fit, else by depth-first search under the bound of one
 * resource that stands for all (each taken relative to what there is of it).
 *
 * All of it is in integers: what is found to be the most is the most.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

enum { SHARE = 1 << 20 }; /* the whole of a resource */

struct pricer {
    int64_t *multipliers;            /* of rows, the objective included */
    int64_t *common, *kept, *spread; /* of services; spread: for each value */
    bool *spread_value;              /* values with weights of their own */
    /* one pool, one slot */
    int64_t *weight; /* of options */
    uint32_t n;
    uint32_t *order;           /* options that are worth looking at */
    int64_t *w, *share, *rest; /* by that order; rest: positive weights from there on */
    int64_t *used;             /* n_resources at each depth */
    struct solver_set *set;    /* at each depth */
    uint8_t *tried;
    bool tight;
    int64_t room; /* shares that are left at the start */
};

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
    c->share = xcalloc(n, sizeof *c->share);
    c->rest = xcalloc(n + 1, sizeof *c->rest);
    c->used = xcalloc((size_t)(n + 1) * (m->p->n_resources + 1), sizeof *c->used);
    c->set = xcalloc(n + 1, sizeof *c->set);
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
    free(c->share);
    free(c->rest);
    free(c->used);
    free(c->set);
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
    for (size_t i = 0; i < g->columns.n; i++) {
        const struct column *k = &g->columns.at[i];
        if (k->hi < ROW_INF && k->pool == pool && k->value == value &&
            g->m->pools[pool].slots[k->slot].like == like && set_same(&k->services, services))
            return true;
    }
    return false;
}

static bool pool_bounded(const struct engine *g, uint32_t pool)
{
    for (size_t i = 0; i < g->columns.n; i++)
        if (g->columns.at[i].pool == pool && g->columns.at[i].hi < ROW_INF)
            return true;
    return false;
}

/* By weight for their share, the best first. */
static bool comes_first(const struct pricer *c, uint32_t a, uint32_t b)
{
    wide x = (wide)c->w[a] * (c->share[b] + 1), y = (wide)c->w[b] * (c->share[a] + 1);
    return x != y ? x > y : c->order[a] < c->order[b];
}

static void candidates_sort(struct pricer *c)
{
    for (uint32_t i = 1; i < c->n; i++)
        for (uint32_t k = i; k > 0 && comes_first(c, k, k - 1); k--) {
            uint32_t o = c->order[k];
            int64_t w = c->w[k], share = c->share[k];
            c->order[k] = c->order[k - 1], c->w[k] = c->w[k - 1], c->share[k] = c->share[k - 1];
            c->order[k - 1] = o, c->w[k - 1] = w, c->share[k - 1] = share;
        }
}

/* Options that may be in the best kind, in the order in which they are tried. */
static void candidates(const struct engine *g, const struct pool *pool, const struct slot *slot,
                       bool all)
{
    struct pricer *c = g->pricer;
    uint32_t resources = g->m->p->n_resources;
    c->n = 0;
    c->tight = false;
    for (uint32_t i = 0; i < pool->n_options; i++)
        if ((all || c->weight[i] > 0) &&
            option_fits(g->m, &pool->options[i], slot, &pool->forced, pool->forced_demand)) {
            c->order[c->n] = i;
            c->share[c->n] = 0;
            c->w[c->n++] = c->weight[i];
        }
    c->room = 0;
    for (uint32_t r = 0; slot->capacity && r < resources; r++) {
        int64_t room = slot->capacity[r] - pool->forced_demand[r], wanted = 0;
        for (uint32_t k = 0; k < c->n; k++)
            wanted += c->w[k] > 0 ? pool->options[c->order[k]].demand[r] : 0;
        if (wanted <= room || room == 0)
            continue;
        c->tight = true;
        c->room += SHARE;
        for (uint32_t k = 0; k < c->n; k++)
            c->share[k] += (int64_t)((wide)pool->options[c->order[k]].demand[r] * SHARE / room);
    }
    candidates_sort(c);
    c->rest[c->n] = 0;
    for (uint32_t k = c->n; k-- > 0;)
        c->rest[k] = c->rest[k + 1] + (c->w[k] > 0 ? c->w[k] : 0);
}

/* The most that candidates from k on can add, with so many shares left. */
static int64_t most_from(const struct pricer *c, uint32_t k, int64_t room)
{
    int64_t sum = 0;
    if (!c->tight)
        return c->rest[k];
    for (; k < c->n && c->w[k] > 0; k++) {
        if (c->share[k] > room)
            return sum + (int64_t)((wide)c->w[k] * room / c->share[k]) + 1;
        sum += c->w[k];
        room -= c->share[k];
    }
    return sum;
}

struct found {
    int64_t worth; /* what is not more is not looked for */
    bool any;
    struct solver_set services;
};

static void take(struct engine *g, const struct pool *pool, uint32_t k)
{
    struct pricer *c = g->pricer;
    const struct option *o = &pool->options[c->order[k]];
    uint32_t resources = g->m->p->n_resources;
    c->set[k + 1] = c->set[k];
    set_join(&c->set[k + 1], &o->set);
    for (uint32_t r = 0; r < resources; r++)
        c->used[(size_t)(k + 1) * resources + r] = c->used[(size_t)k * resources + r] +
                                                   o->demand[r];
}

static void leave(struct engine *g, uint32_t k)
{
    struct pricer *c = g->pricer;
    uint32_t resources = g->m->p->n_resources;
    c->set[k + 1] = c->set[k];
    for (uint32_t r = 0; r < resources; r++)
        c->used[(size_t)(k + 1) * resources + r] = c->used[(size_t)k * resources + r];
}

/* Depth first over the candidates.  At depth k the first k are decided; tried[k] counts the ways in
 * which candidate k was decided so far: with it first where it has weight, without it first
 * elsewhere. */
static void choose(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value, int64_t base,
                   bool check, struct found *best)
{
    const struct pool *at = &g->m->pools[pool];
    const struct slot *in = &at->slots[slot];
    struct pricer *c = g->pricer;
    uint32_t resources = g->m->p->n_resources, k = 0;
    int64_t sum[SOLVER_MAX_SERVICES + 1], room[SOLVER_MAX_SERVICES + 1];
    sum[0] = base;
    room[0] = c->room;
    c->set[0] = at->forced;
    memcpy(c->used, at->forced_demand, resources * sizeof *c->used);
    c->tried[0] = 0;
    for (;;) {
        g->steps++;
        if (k < c->n && c->tried[k] < 2) {
            const struct option *o = &at->options[c->order[k]];
            bool with = (c->tried[k] == 0) == (c->w[k] > 0);
            c->tried[k]++;
            if (with && !option_fits(g->m, o, in, &c->set[k], c->used + (size_t)k * resources))
                continue;
            sum[k + 1] = sum[k] + (with ? c->w[k] : 0);
            room[k + 1] = room[k] - (with ? c->share[k] : 0);
            if (sum[k + 1] + most_from(c, k + 1, room[k + 1]) <= best->worth)
                continue;
            if (with)
                take(g, at, k);
            else
                leave(g, k);
            c->tried[++k] = 0;
            continue;
        }
        if (k == c->n && sum[k] > best->worth && !(at->fresh && set_empty(&c->set[k])) &&
            !(check && bounded(g, pool, slot, value, &c->set[k])))
            *best = (struct found){sum[k], true, c->set[k]};
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
    candidates(g, at, &at->slots[slot], check);
    choose(g, pool, slot, value, base, check, best);
    if (check || !at->fresh || !set_empty(&at->forced))
        return;
    for (uint32_t i = 0; i < at->n_options; i++) /* where nothing has weight, the least bad alone */
        if (c->weight[i] <= 0 && base + c->weight[i] > best->worth &&
            option_fits(g->m, &at->options[i], &at->slots[slot], &at->forced, at->forced_demand))
            *best = (struct found){base + c->weight[i], true, at->options[i].set};
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

static uint32_t price_pool(struct engine *g, uint32_t pool, int64_t least, int64_t *surplus)
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
            struct found best = {.worth = 0};
            price_slot(g, pool, s, value, forced + node_worth(g, at, at->slots[s].hardware), check,
                       &best);
            if (best.worth > *surplus)
                *surplus = best.worth;
            if (best.any && best.worth > least)
                engine_column(g, pool, s, value, &best.services);
        }
    }
    return (uint32_t)(g->columns.n - before);
}

uint32_t price_all(struct engine *g, struct proof *f)
{
    uint32_t found = 0;
    int64_t least = 1 << 12; /* less is rounding, and not worth a column */
    weights_build(g, f);
    for (uint32_t i = 0; i < g->m->n_pools; i++) {
        f->surplus[i] = 0;
        if (g->m->pools[i].cap)
            found += price_pool(g, i, least, &f->surplus[i]);
    }
    return found;
}
