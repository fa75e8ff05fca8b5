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

#include "base/digest.h"
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

/* The cells of the column are the last ones that came. */
static uint32_t column_add(struct engine *g, struct column k)
{
    uint32_t *rows = xcalloc(g->n_rows + 1, sizeof *rows), n = 0;
    double *coefs = xcalloc(g->n_rows + 1, sizeof *coefs);
    k.n = (uint32_t)g->cells.n - k.first;
    for (size_t i = k.first; i < g->cells.n; i++) {
        rows[n] = g->cells.at[i].row;
        coefs[n++] = (double)g->cells.at[i].coef / g->scale[g->cells.at[i].row];
    }
    uint32_t at = simplex_column_add(g->lp, n, rows, coefs, bound_of(k.lo, 1), bound_of(k.hi, 1));
    vec_push(&g->columns, k);
    if (g->objective != SOLVER_NONE)
        simplex_column_cost(
            g->lp, at, g->sign * (double)engine_coef(g, g->objective, at) / g->scale[g->objective]);
    free(rows);
    free(coefs);
    return at;
}

static void extras_add(struct engine *g)
{
    for (uint32_t i = 0; i < g->rows->extras.n; i++) {
        const struct extra *x = &g->rows->extras.at[i];
        struct column c = {.pool = SOLVER_NONE, .slot = i, .lo = x->lo, .hi = x->hi};
        c.first = (uint32_t)g->cells.n;
        for (uint32_t k = 0; k < x->n; k++) {
            struct cell cell = {x->rows[k], x->coefs[k]};
            vec_push(&g->cells, cell);
        }
        column_add(g, c);
    }
    g->n_extras = (uint32_t)g->columns.n;
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
    vec_done(&g->cells);
    vec_done(&g->bounded);
    u64map_done(&g->by_kind);
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
    CELL_EACH(cell, g, column)
    if (cell->row == row)
        return cell->coef;
    return 0;
}

static uint64_t kind_digest(uint32_t pool, uint32_t slot, uint32_t value,
                            const struct solver_set *services)
{
    uint64_t h = mix64((uint64_t)pool << 32 | slot, value);
    for (int i = 0; i < SOLVER_SET_WORDS; i++)
        h = mix64(h, services->w[i]);
    return h;
}

uint32_t engine_cells(const struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                      const struct solver_set *services, struct cell *ret_cells)
{
    const struct pool *at = &g->m->pools[pool];
    uint32_t n = 0;
    for (uint32_t r = 0; r < g->n_rows; r++) {
        int64_t coef = row_coef(g->m, &g->rows->at.at[r], at, services, at->slots[slot].hardware,
                                value);
        if (coef)
            ret_cells[n++] = (struct cell){r, coef};
    }
    return n;
}

/* The place of a kind in the map: a key past others with the same digest. */
static bool kind_find(const struct engine *g, const struct column *k, uint64_t *ret_key,
                      uintptr_t *ret_at)
{
    *ret_key = kind_digest(k->pool, k->slot, k->value, &k->services);
    for (; u64map_get(&g->by_kind, *ret_key, ret_at); ++*ret_key) {
        const struct column *c = &g->columns.at[*ret_at];
        if (c->pool == k->pool && c->slot == k->slot && c->value == k->value &&
            set_same(&c->services, &k->services))
            return true;
    }
    return false;
}

uint32_t engine_column_find(const struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                            const struct solver_set *services)
{
    struct column k = {.pool = pool, .slot = slot, .value = value, .services = *services};
    uint64_t key;
    uintptr_t at;
    return kind_find(g, &k, &key, &at) ? (uint32_t)at : SOLVER_NONE;
}

uint32_t engine_column(struct engine *g, uint32_t pool, uint32_t slot, uint32_t value,
                       const struct solver_set *services)
{
    struct column k = {.pool = pool, .value = value, .services = *services, .hi = ROW_INF};
    uint64_t key;
    uintptr_t at;
    k.slot = model_slot_first(g->m, &g->m->pools[pool], slot, services);
    if (kind_find(g, &k, &key, &at))
        return (uint32_t)at;
    k.first = (uint32_t)g->cells.n;
    vec_reserve(&g->cells, g->cells.n + g->n_rows);
    g->cells.n += engine_cells(g, pool, k.slot, value, services, g->cells.at + k.first);
    g->steps += 1 + g->n_rows / 4;
    uint32_t column = column_add(g, k);
    u64map_put(&g->by_kind, key, column);
    return column;
}

void engine_place(struct engine *g, uint32_t column, int64_t n)
{
    g->pool_left[g->columns.at[column].pool] -= (uint32_t)n;
    CELL_EACH(cell, g, column)
    {
        g->placed[cell->row] += cell->coef * n;
        engine_bounds(g, cell->row);
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
    int64_t lowest = ROW_INF;
    point->x[column] = 0;
    CELL_EACH(cell, g, column)
    {
        int64_t value = g->lo[cell->row] == 0 ? engine_value(g, point, cell->row) : ROW_INF;
        lowest = value < lowest ? value : lowest;
    }
    point->x[column] = lowest;
}

bool engine_holds(struct engine *g, struct point *point)
{
    int64_t *sums = xcalloc(g->n_rows + 1, sizeof *sums);
    bool holds = true;
    memcpy(sums, g->placed, g->n_rows * sizeof *sums);
    for (uint32_t i = 0; i < point->n && holds; i++) {
        const struct column *k = &g->columns.at[i];
        if (k->pool == SOLVER_NONE && g->rows->extras.at[k->slot].type == EXTRA_LOWEST)
            lowest_set(g, point, i);
        holds = point->x[i] >= k->lo && point->x[i] <= k->hi && point->x[i] >= 0;
        CELL_EACH(cell, g, i)
        sums[cell->row] += cell->coef * point->x[i];
    }
    for (uint32_t r = 0; r < g->n_rows && holds; r++)
        holds = sums[r] >= g->lo[r] && sums[r] <= g->hi[r];
    free(sums);
    return holds;
}
