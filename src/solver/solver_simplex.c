/* solver_simplex.c - linear programs in floating point, as a guide
 *
 * Minimises a linear function over columns within bounds, where each row's sum is within bounds
 * too.  A row has a logical column that stands for its sum, so that all right-hand sides are zero
 * and a change of bounds leaves the basis as it is: a run goes on from where the last one ended,
 * first through the sum of infeasibilities, then through the cost.  The inverse of the basis is
 * kept whole: there are as many rows as services, not as nodes.
 *
 * Nothing that is answered rests on these numbers.  Prices become proofs, and values become
 * layouts, in integer arithmetic elsewhere; a run that stalls costs strength, never truth.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

#define INF       1e30
#define TOL_FIT   1e-7 /* of values against bounds */
#define TOL_PRICE 1e-8 /* of reduced costs */
#define TOL_PIVOT 1e-7
enum { RENEW_AFTER = 60 };

enum where { BASIC, AT_LO, AT_HI, AT_ZERO };
struct entry {
    uint32_t row;
    double coef;
};
struct variable {
    double lo, hi, cost, x;
    uint32_t first, n; /* entries; of a logical none: -1 in its own row */
    uint8_t where;
};
struct simplex {
    uint32_t m;
    VEC(struct variable) vars; /* m logicals, then columns */
    VEC(struct entry) entries;
    uint32_t *basis;
    double *inverse; /* column by column */
    double *prices, *direction, *costs;
    double *work; /* m * m, for renewing */
    uint32_t since, idle;
};

struct simplex *simplex_new(uint32_t rows)
{
    struct simplex *s = xcalloc(1, sizeof *s);
    s->m = rows;
    s->basis = xcalloc(rows + 1, sizeof *s->basis);
    s->inverse = xcalloc((size_t)rows * rows + 1, sizeof *s->inverse);
    s->work = xcalloc((size_t)rows * rows + 1, sizeof *s->work);
    s->prices = xcalloc(rows + 1, sizeof *s->prices);
    s->direction = xcalloc(rows + 1, sizeof *s->direction);
    s->costs = xcalloc(rows + 1, sizeof *s->costs);
    for (uint32_t i = 0; i < rows; i++) {
        struct variable v = {.where = BASIC};
        vec_push(&s->vars, v);
        s->basis[i] = i;
        s->inverse[(size_t)i * rows + i] = -1;
    }
    return s;
}

void simplex_free(struct simplex *s)
{
    if (!s)
        return;
    vec_done(&s->vars);
    vec_done(&s->entries);
    free(s->basis);
    free(s->inverse);
    free(s->work);
    free(s->prices);
    free(s->direction);
    free(s->costs);
    free(s);
}

/* Where a variable outside the basis is. */
static void var_rest(struct variable *v)
{
    if (v->where == AT_HI && v->hi < INF)
        v->x = v->hi;
    else if (v->lo > -INF)
        v->x = v->lo, v->where = AT_LO;
    else if (v->hi < INF)
        v->x = v->hi, v->where = AT_HI;
    else
        v->x = 0, v->where = AT_ZERO;
}

static void bounds(struct simplex *s, uint32_t j, double lo, double hi)
{
    struct variable *v = &s->vars.at[j];
    v->lo = lo;
    v->hi = hi;
    if (v->where != BASIC)
        var_rest(v);
}

void simplex_row_bounds(struct simplex *s, uint32_t row, double lo, double hi)
{
    bounds(s, row, lo, hi);
}

void simplex_column_bounds(struct simplex *s, uint32_t column, double lo, double hi)
{
    bounds(s, s->m + column, lo, hi);
}

void simplex_column_cost(struct simplex *s, uint32_t column, double cost)
{
    s->vars.at[s->m + column].cost = cost;
}

uint32_t simplex_column_add(struct simplex *s, uint32_t n, const uint32_t *rows,
                            const double *coefs, double lo, double hi)
{
    struct variable v = {.lo = lo, .hi = hi, .first = (uint32_t)s->entries.n, .n = n};
    for (uint32_t i = 0; i < n; i++) {
        struct entry e = {rows[i], coefs[i]};
        vec_push(&s->entries, e);
    }
    v.where = AT_LO;
    var_rest(&v);
    vec_push(&s->vars, v);
    return (uint32_t)s->vars.n - 1 - s->m;
}

/* direction = inverse * column of j */
static void direction_of(struct simplex *s, uint32_t j)
{
    uint32_t m = s->m;
    memset(s->direction, 0, m * sizeof *s->direction);
    if (j < m) {
        for (uint32_t i = 0; i < m; i++)
            s->direction[i] = -s->inverse[(size_t)j * m + i];
        return;
    }
    const struct variable *v = &s->vars.at[j];
    for (uint32_t k = v->first; k < v->first + v->n; k++) {
        const double *column = s->inverse + (size_t)s->entries.at[k].row * m;
        double coef = s->entries.at[k].coef;
        for (uint32_t i = 0; i < m; i++)
            s->direction[i] += coef * column[i];
    }
}

/* Values of the basis from those outside it. */
static void values_renew(struct simplex *s)
{
    uint32_t m = s->m;
    double *sum = s->costs; /* free between iterations */
    memset(sum, 0, m * sizeof *sum);
    for (uint32_t j = 0; j < s->vars.n; j++) {
        const struct variable *v = &s->vars.at[j];
        if (v->where == BASIC || v->x == 0)
            continue;
        if (j < m)
            sum[j] += v->x;
        for (uint32_t k = v->first; k < v->first + v->n; k++)
            sum[s->entries.at[k].row] -= v->x * s->entries.at[k].coef;
    }
    memset(s->direction, 0, m * sizeof *s->direction);
    for (uint32_t r = 0; r < m; r++)
        if (sum[r] != 0)
            for (uint32_t i = 0; i < m; i++)
                s->direction[i] += sum[r] * s->inverse[(size_t)r * m + i];
    for (uint32_t i = 0; i < m; i++)
        s->vars.at[s->basis[i]].x = s->direction[i];
}

static double *work_cell(struct simplex *s, uint32_t row, uint32_t at)
{
    return &s->work[(size_t)row * s->m + at];
}

/* Puts a row with the greatest entry in column c at place c, in both matrices (inverse: by rows).
 */
static bool pivot_row(struct simplex *s, uint32_t c)
{
    uint32_t m = s->m, best = c;
    for (uint32_t r = c + 1; r < m; r++)
        if (fabs(*work_cell(s, r, c)) > fabs(*work_cell(s, best, c)))
            best = r;
    if (fabs(*work_cell(s, best, c)) < 1e-11)
        return false;
    for (uint32_t k = 0; best != c && k < m; k++) {
        double t = *work_cell(s, c, k);
        *work_cell(s, c, k) = *work_cell(s, best, k);
        *work_cell(s, best, k) = t;
        t = s->inverse[(size_t)c * m + k];
        s->inverse[(size_t)c * m + k] = s->inverse[(size_t)best * m + k];
        s->inverse[(size_t)best * m + k] = t;
    }
    return true;
}

/* The inverse from the basis itself: rounding errors do not pile up.  False: it is singular. */
static bool inverse_renew(struct simplex *s)
{
    uint32_t m = s->m;
    memset(s->work, 0, (size_t)m * m * sizeof *s->work);
    memset(s->inverse, 0, (size_t)m * m * sizeof *s->inverse);
    for (uint32_t i = 0; i < m; i++) {
        const struct variable *v = &s->vars.at[s->basis[i]];
        if (s->basis[i] < m)
            *work_cell(s, s->basis[i], i) = -1;
        for (uint32_t k = v->first; k < v->first + v->n; k++)
            *work_cell(s, s->entries.at[k].row, i) = s->entries.at[k].coef;
        s->inverse[(size_t)i * m + i] = 1;
    }
    for (uint32_t c = 0; c < m; c++) {
        if (!pivot_row(s, c))
            return false;
        double by = 1 / *work_cell(s, c, c);
        for (uint32_t k = 0; k < m; k++) {
            *work_cell(s, c, k) *= by;
            s->inverse[(size_t)c * m + k] *= by;
        }
        for (uint32_t r = 0; r < m; r++) {
            double f = r == c ? 0 : *work_cell(s, r, c);
            for (uint32_t k = 0; f != 0 && k < m; k++) {
                *work_cell(s, r, k) -= f * *work_cell(s, c, k);
                s->inverse[(size_t)r * m + k] -= f * s->inverse[(size_t)c * m + k];
            }
        }
    }
    for (uint32_t r = 0; r < m; r++) /* it is wanted column by column */
        for (uint32_t c = r + 1; c < m; c++) {
            double t = s->inverse[(size_t)r * m + c];
            s->inverse[(size_t)r * m + c] = s->inverse[(size_t)c * m + r];
            s->inverse[(size_t)c * m + r] = t;
        }
    s->since = 0;
    return true;
}

/* All logicals: a basis that is never singular. */
static void basis_reset(struct simplex *s)
{
    uint32_t m = s->m;
    for (uint32_t j = 0; j < s->vars.n; j++)
        if (s->vars.at[j].where == BASIC) {
            s->vars.at[j].where = AT_LO;
            var_rest(&s->vars.at[j]);
        }
    memset(s->inverse, 0, (size_t)m * m * sizeof *s->inverse);
    for (uint32_t i = 0; i < m; i++) {
        s->basis[i] = i;
        s->vars.at[i].where = BASIC;
        s->inverse[(size_t)i * m + i] = -1;
    }
    s->since = 0;
}

static double tolerance(const struct variable *v)
{
    return TOL_FIT * (1 + 1e-6 * fabs(v->x));
}

/* Costs of the basis and prices of rows; true where some value is out of its bounds, and the prices
 * are those of the sum of infeasibilities. */
static bool prices_renew(struct simplex *s)
{
    uint32_t m = s->m;
    bool infeasible = false;
    for (uint32_t i = 0; i < m; i++) {
        const struct variable *v = &s->vars.at[s->basis[i]];
        double t = tolerance(v);
        s->costs[i] = v->x < v->lo - t ? -1 : v->x > v->hi + t ? 1 : 0;
        infeasible |= s->costs[i] != 0;
    }
    for (uint32_t i = 0; !infeasible && i < m; i++)
        s->costs[i] = s->vars.at[s->basis[i]].cost;
    for (uint32_t r = 0; r < m; r++) {
        const double *column = s->inverse + (size_t)r * m;
        double sum = 0;
        for (uint32_t i = 0; i < m; i++)
            sum += s->costs[i] * column[i];
        s->prices[r] = sum;
    }
    return infeasible;
}

static double reduced_cost(const struct simplex *s, uint32_t j, bool infeasible)
{
    const struct variable *v = &s->vars.at[j];
    if (j < s->m)
        return s->prices[j];
    double d = infeasible ? 0 : v->cost;
    for (uint32_t k = v->first; k < v->first + v->n; k++)
        d -= s->prices[s->entries.at[k].row] * s->entries.at[k].coef;
    return d;
}

/* Who comes into the basis; s->vars.n if nobody does any good. */
static uint32_t entering(const struct simplex *s, bool infeasible, double *ret_sense)
{
    uint32_t best = (uint32_t)s->vars.n;
    double most = TOL_PRICE;
    for (uint32_t j = 0; j < s->vars.n; j++) {
        const struct variable *v = &s->vars.at[j];
        if (v->where == BASIC || v->hi - v->lo <= 0)
            continue;
        double d = reduced_cost(s, j, infeasible), gain = 0, sense = 0;
        if (d < 0 && v->where != AT_HI)
            gain = -d, sense = 1;
        else if (d > 0 && v->where != AT_LO)
            gain = d, sense = -1;
        if (gain <= most)
            continue;
        best = j;
        *ret_sense = sense;
        if (s->idle > 2 * s->m + 20) /* Bland: the first, so that it never goes round in circles */
            return best;
        most = gain;
    }
    return best;
}

struct step {
    double length;
    uint32_t leaves; /* place in the basis; m: the entering one only changes sides */
    bool to_hi;
};

/* How far it goes before something is at a bound. */
static struct step step_of(const struct simplex *s, uint32_t j, double sense)
{
    const struct variable *in = &s->vars.at[j];
    struct step best = {in->hi - in->lo, s->m, false};
    double pivot = 0;
    for (uint32_t i = 0; i < s->m; i++) {
        const struct variable *v = &s->vars.at[s->basis[i]];
        double rate = -sense * s->direction[i], t = tolerance(v), length;
        bool to_hi;
        if (fabs(rate) < TOL_PIVOT)
            continue;
        if (rate > 0) { /* it rises: to its lower bound if it is below, else to the upper */
            to_hi = v->x >= v->lo - t;
            if (to_hi ? v->hi >= INF || v->x > v->hi + t : false)
                continue;
            length = ((to_hi ? v->hi : v->lo) - v->x) / rate;
        } else {
            to_hi = v->x > v->hi + t;
            if (!to_hi && (v->lo <= -INF || v->x < v->lo - t))
                continue;
            length = ((to_hi ? v->hi : v->lo) - v->x) / rate;
        }
        if (length < 0)
            length = 0;
        if (length < best.length - 1e-10 ||
            (length < best.length + 1e-10 && best.leaves < s->m && fabs(rate) > pivot)) {
            best = (struct step){length < best.length ? length : best.length, i, to_hi};
            pivot = fabs(rate);
        }
    }
    return best;
}

static void step_take(struct simplex *s, uint32_t j, double sense, struct step step)
{
    uint32_t m = s->m;
    struct variable *in = &s->vars.at[j];
    s->idle = step.length > 1e-9 ? 0 : s->idle + 1;
    for (uint32_t i = 0; i < m; i++)
        s->vars.at[s->basis[i]].x -= sense * step.length * s->direction[i];
    in->x += sense * step.length;
    if (step.leaves == m) {
        in->where = in->where == AT_LO ? AT_HI : AT_LO;
        var_rest(in);
        return;
    }
    struct variable *out = &s->vars.at[s->basis[step.leaves]];
    out->where = step.to_hi ? AT_HI : AT_LO;
    var_rest(out);
    in->where = BASIC;
    s->basis[step.leaves] = j;
    double by = 1 / s->direction[step.leaves];
    for (uint32_t r = 0; r < m; r++) {
        double *column = s->inverse + (size_t)r * m, f = column[step.leaves] * by;
        if (f == 0)
            continue;
        for (uint32_t i = 0; i < m; i++)
            column[i] -= f * s->direction[i];
        column[step.leaves] = f;
    }
    s->since++;
}

enum simplex_end simplex_run(struct simplex *s, uint64_t *work, uint64_t max_work)
{
    uint32_t limit = 200 + 20 * s->m + 2 * (uint32_t)s->vars.n;
    s->idle = 0;
    values_renew(s);
    for (uint32_t i = 0; i < limit && *work < max_work; i++) {
        *work += 1 + ((uint64_t)s->m * s->m + s->entries.n) / 16;
        if (s->since >= RENEW_AFTER) {
            *work += (uint64_t)s->m * s->m * s->m / 16;
            if (!inverse_renew(s))
                basis_reset(s);
            values_renew(s);
        }
        bool infeasible = prices_renew(s);
        double sense = 0;
        uint32_t j = entering(s, infeasible, &sense);
        if (j == s->vars.n)
            return infeasible ? SIMPLEX_INFEASIBLE : SIMPLEX_BEST;
        direction_of(s, j);
        struct step step = step_of(s, j, sense);
        if (step.length >= INF)
            return SIMPLEX_STALLED;
        step_take(s, j, sense, step);
    }
    return SIMPLEX_STALLED;
}

const double *simplex_prices(const struct simplex *s)
{
    return s->prices;
}

double simplex_value(const struct simplex *s, uint32_t column)
{
    return s->vars.at[s->m + column].x;
}
