/* solver_engine.c - the linear program over kinds, kept while bounds change
 *
 * Columns are made when pricing asks for them and stay.  What the order has settled is placed: it
 * counts in every row and is no longer looked for.  Rows go into the linear program scaled by a
 * power of two, so that costs and counts are of one size.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

static double bound_of(int64_t bound, double scale)
{
    return bound >= ROW_INF ? 1e30 : bound <= -ROW_INF ? -1e30 : (double)bound / scale;
}

void engine_bounds(struct engine *g, uint32_t row)
{
    int64_t lo = g->lo[row], hi = g->hi[row], placed = g->placed[row];
    simplex_row_bounds(g->lp, row, bound_of(lo > -ROW_INF ? lo - placed : lo, g->scale[row]),
                       bound_of(hi < ROW_INF ? hi - placed : hi, g->scale[row]));
}

static uint32_t column_add(struct engine *g, const struct column *k, uint32_t n,
                           const uint32_t *rows, const double *coefs)
{
    uint32_t at = simplex_column_add(g->lp, n, rows, coefs, bound_of(k->lo, 1), bound_of(k->hi, 1));
    vec_push(&g->columns, *k);
    if (g->objective != SOLVER_NONE)
        simplex_column_cost(
            g->lp, at, g->sign * (double)engine_coef(g, g->objective, at) / g->scale[g->objective]);
    return at;
}

static void extras_add(struct engine *g)
{
    uint32_t *rows = xcalloc(g->n_rows + 1, sizeof *rows);
    double *coefs = xcalloc(g->n_rows + 1, sizeof *coefs);
    for (uint32_t i = 0; i < g->rows->extras.n; i++) {
        const struct extra *x = &g->rows->extras.at[i];
        for (uint32_t k = 0; k < x->n; k++) {
            rows[k] = x->rows[k];
            coefs[k] = (double)x->coefs[k] / g->scale[x->rows[k]];
        }
        struct column c = {.pool = SOLVER_NONE, .slot = i, .lo = x->lo, .hi = x->hi};
        column_add(g, &c, x->n, rows, coefs);
    }
    free(rows);
    free(coefs);
}

void engine_init(struct engine *g, const struct model *m, const struct rows *r, uint64_t max_steps)
{
    uint32_t n = (uint32_t)r->at.n;
    *g = (struct engine){.m = m, .rows = r, .n_rows = n, .max_steps = max_steps};
    g->objective = SOLVER_NONE;
    g->sign = 1;
    g->lo = xcalloc(n + 1, sizeof *g->lo);
    g->hi = xcalloc(n + 1, sizeof *g->hi);
    g->placed = xcalloc(n + 1, sizeof *g->placed);
    g->scale = xcalloc(n + 1, sizeof *g->scale);
    g->pool_left = xcalloc(m->n_pools, sizeof *g->pool_left);
    g->lp = simplex_new(n);
    g->pricer = pricer_new(m);
    for (uint32_t i = 0; i < m->n_pools; i++)
        g->pool_left[i] = m->pools[i].cap;
    for (uint32_t i = 0; i < n; i++) {
        g->lo[i] = r->at.at[i].lo;
        g->hi[i] = r->at.at[i].hi;
        g->scale[i] = exp2(floor(log2((double)r->at.at[i].most)));
        engine_bounds(g, i);
    }
    extras_add(g);
}

void engine_done(struct engine *g)
{
    simplex_free(g->lp);
    pricer_free(g->pricer);
    vec_done(&g->columns);
    free(g->lo);
    free(g->hi);
    free(g->placed);
    free(g->scale);
    free(g->pool_left);
    for (uint32_t i = 0; i < ENGINE_PROOFS; i++) {
        free(g->proofs[i].rows);
        free(g->proofs[i].surplus);
    }
}

int64_t engine_coef(const struct engine *g, uint32_t row, uint32_t column)
{
    const struct column *k = &g->columns.at[column];
    if (k->pool == SOLVER_NONE) {
        const struct extra *x = &g->rows->extras.at[k->slot];
        for (uint32_t i = 0; i < x->n; i++)
            if (x->rows[i] == row)
                return x->coefs[i];
        return 0;
    }
    const struct pool *pool = &g->m->pools[k->pool];
    return row_coef(g->m, &g->rows->at.at[row], pool, &k->services, pool->slots[k->slot].hardware,
                    k->value);
}

uint32_t engine_column(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                       const struct solver_set *services)
{
    slot = model_slot_first(g->m, &g->m->pools[pool], slot, services);
    struct column k = {.pool = pool, .slot = slot, .value = value, .services = *services};
    for (uint32_t i = 0; i < g->columns.n; i++) {
        const struct column *c = &g->columns.at[i];
        if (c->pool == pool && c->slot == slot && c->value == value &&
            set_same(&c->services, services))
            return i;
    }
    uint32_t *rows = xcalloc(g->n_rows + 1, sizeof *rows), n = 0;
    double *coefs = xcalloc(g->n_rows + 1, sizeof *coefs);
    const struct pool *at = &g->m->pools[pool];
    for (uint32_t r = 0; r < g->n_rows; r++) {
        int64_t coef = row_coef(g->m, &g->rows->at.at[r], at, services, at->slots[slot].hardware,
                                value);
        if (coef) {
            rows[n] = r;
            coefs[n++] = (double)coef / g->scale[r];
        }
    }
    k.hi = ROW_INF;
    uint32_t c = column_add(g, &k, n, rows, coefs);
    free(rows);
    free(coefs);
    return c;
}

void engine_place(struct engine *g, uint32_t column, int64_t n)
{
    const struct column *k = &g->columns.at[column];
    g->pool_left[k->pool] -= (uint32_t)n;
    for (uint32_t r = 0; r < g->n_rows; r++) {
        int64_t coef = engine_coef(g, r, column);
        if (coef) {
            g->placed[r] += coef * n;
            engine_bounds(g, r);
        }
    }
}

/* --- points --- */

void point_done(struct point *point)
{
    free(point->x);
    *point = (struct point){0};
}

void point_copy(struct point *to, const struct point *from)
{
    to->x = xrealloc(to->x, from->n + 1, sizeof *to->x);
    memcpy(to->x, from->x, from->n * sizeof *to->x);
    to->n = from->n;
    to->there = from->there;
}

int64_t engine_value(const struct engine *g, const struct point *point, uint32_t row)
{
    int64_t sum = g->placed[row];
    for (uint32_t i = 0; i < point->n; i++)
        if (point->x[i])
            sum += point->x[i] * engine_coef(g, row, i);
    return sum;
}

/* The lowest count of a spread, which the linear program leaves open. */
static void lowest_set(const struct engine *g, struct point *point, uint32_t column)
{
    const struct extra *x = &g->rows->extras.at[g->columns.at[column].slot];
    int64_t lowest = ROW_INF;
    point->x[column] = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        int64_t value = g->lo[x->rows[i]] == 0 ? engine_value(g, point, x->rows[i]) : ROW_INF;
        lowest = value < lowest ? value : lowest;
    }
    point->x[column] = lowest;
}

bool engine_holds(struct engine *g, struct point *point)
{
    for (uint32_t i = 0; i < point->n; i++) {
        const struct column *k = &g->columns.at[i];
        if (k->pool == SOLVER_NONE && g->rows->extras.at[k->slot].type == EXTRA_LOWEST)
            lowest_set(g, point, i);
        if (point->x[i] < 0 || point->x[i] < k->lo || point->x[i] > k->hi)
            return false;
    }
    for (uint32_t r = 0; r < g->n_rows; r++) {
        int64_t value = engine_value(g, point, r);
        if (value < g->lo[r] || value > g->hi[r])
            return false;
    }
    return true;
}
