/* solver_bound.c - prices made into proofs
 *
 * Whatever multipliers rows are given, the objective of every layout is at least what the bounds of
 * the rows give times those, less what kinds are worth beyond them: weak duality, true for any
 * numbers.  So the prices of the linear program are rounded to integers, pricing finds in integers
 * what the best kind of each pool is worth beyond them, and the sum in 128 bits is a proof.  One
 * without an objective whose sum is above zero shows that nothing fits; it is kept, since most
 * questions that the order asks next are answered by it too.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

#define TERM_BITS 46 /* of a multiplier times a coefficient */

static void proof_reserve(const struct engine *g, struct proof *f)
{
    if (!f->rows) {
        f->rows = xcalloc(g->n_rows + 1, sizeof *f->rows);
        f->surplus = xcalloc(g->m->n_pools + 1, sizeof *f->surplus);
    }
}

void proof_from_prices(struct engine *g, struct proof *f, const double *prices, bool feasibility)
{
    uint32_t objective = feasibility ? SOLVER_NONE : g->objective;
    double by = objective == SOLVER_NONE ? 1 : g->scale[objective], most = 1e-30;
    proof_reserve(g, f);
    for (uint32_t r = 0; r < g->n_rows; r++) {
        double term = fabs(prices[r]) * by / g->scale[r] * (double)g->rows->at.at[r].most;
        most = term > most ? term : most;
    }
    if (objective != SOLVER_NONE && (double)g->rows->at.at[objective].most > most)
        most = (double)g->rows->at.at[objective].most;
    int bits = TERM_BITS - (int)ceil(log2(most));
    f->objective = objective;
    f->sign = g->sign;
    f->scale = 0;
    if (objective != SOLVER_NONE) {
        bits = bits < 0 ? 0 : bits > 40 ? 40 : bits;
        f->scale = INT64_C(1) << bits;
    }
    for (uint32_t r = 0; r < g->n_rows; r++) {
        double y = round(ldexp(prices[r] * by / g->scale[r], bits));
        f->rows[r] = y > 1e15 ? 0 : y < -1e15 ? 0 : (int64_t)y;
        if (f->rows[r] > 0 ? g->lo[r] <= -ROW_INF : g->hi[r] >= ROW_INF)
            f->rows[r] = 0;
    }
}

/* What a column is worth beyond the rows. */
static wide worth(const struct engine *g, const struct proof *f, uint32_t column)
{
    wide sum = 0;
    CELL_EACH(cell, g, column)
    {
        int64_t by = f->rows[cell->row];
        if (cell->row == f->objective)
            by -= f->sign * f->scale;
        sum += (wide)by * cell->coef;
    }
    return sum;
}

wide proof_bound(const struct engine *g, const struct proof *f)
{
    const wide none = -((wide)1 << 120);
    wide sum = 0;
    for (uint32_t r = 0; r < g->n_rows; r++) {
        int64_t bound = f->rows[r] > 0 ? g->lo[r] : g->hi[r];
        if (f->rows[r] == 0)
            continue;
        if (bound >= ROW_INF || bound <= -ROW_INF)
            return none;
        sum += (wide)f->rows[r] * (bound - g->placed[r]);
    }
    for (uint32_t i = 0; i < g->m->n_pools; i++)
        sum -= (wide)f->surplus[i] * g->pool_left[i];
    if (f->objective != SOLVER_NONE) /* of what is placed already */
        sum += (wide)f->sign * f->scale * g->placed[f->objective];
    for (uint32_t i = 0; i < g->n_extras + g->bounded.n; i++) {
        uint32_t column = i < g->n_extras ? i : g->bounded.at[i - g->n_extras];
        const struct column *k = &g->columns.at[column];
        wide w = worth(g, f, column);
        sum -= w * (w > 0 && k->hi < ROW_INF ? k->hi : k->lo);
    }
    return sum;
}

wide proof_rate(const struct proof *f, uint32_t pool, const struct cell *cells, uint32_t n_cells)
{
    wide sum = f->surplus[pool];
    for (uint32_t i = 0; i < n_cells; i++)
        sum -= (wide)f->rows[cells[i].row] * cells[i].coef;
    return sum;
}
