/* solver_branch.c - whole numbers from the linear program, by branching under proved bounds
 *
 * Each node of the search tree solves its linear program over all kinds (new ones are priced until
 * none helps), and is cut off by proof only.  What is not whole is split, sums before single kinds:
 * extras, then nodes by hardware, services and nodes altogether, then a kind.  The tree is walked
 * depth first, nearest value first, on a stack of its own; bounds are put back on the way up.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

#define WHOLE 1e-6

struct split {
    bool column; /* else a row */
    uint32_t at;
    int64_t lo, hi; /* before */
    int64_t below;  /* one side is up to this, the other from the next on */
    bool up_first, second;
};

struct search {
    struct engine *g;
    VEC(struct split) stack;
    struct proof proof;
    struct point *best;
    int64_t best_value;          /* times sign, of what is in best */
    int64_t lattice, lattice_at; /* values are lattice_at modulo lattice */
    int64_t root_bound;
    bool at_root;
};

/* --- the linear program of a node --- */

enum node_end { NODE_OPEN, NODE_CLOSED, NODE_LIMIT };

static wide divide_up(wide a, wide b)
{
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/* The least value that is possible and not below a bound. */
static int64_t lattice_up(const struct search *s, wide bound)
{
    wide off = (bound - s->lattice_at) % s->lattice;
    if (off < 0)
        off += s->lattice;
    bound += off ? s->lattice - off : 0;
    return bound < -ROW_INF ? -ROW_INF : bound > ROW_INF ? ROW_INF : (int64_t)bound;
}

/* Keeps a proof that nothing fits, of the root: what branching bounded is no part of others. */
static void proof_keep(struct search *s)
{
    struct engine *g = s->g;
    struct proof *slot = &g->proofs[g->n_proofs++ % ENGINE_PROOFS], t = *slot;
    *slot = s->proof;
    s->proof = t;
}

static bool bounds_cross(const struct engine *g)
{
    for (uint32_t r = 0; r < g->n_rows; r++)
        if (g->lo[r] > g->hi[r])
            return true;
    for (uint32_t i = 0; i < g->columns.n; i++)
        if (g->columns.at[i].lo > g->columns.at[i].hi)
            return true;
    return false;
}

/* A round of prices: NODE_CLOSED if they prove enough.  *ret_new: kinds that came. */
static enum node_end node_judge(struct search *s, bool infeasible, uint32_t *ret_new)
{
    struct engine *g = s->g;
    proof_from_prices(g, &s->proof, simplex_prices(g->lp), infeasible);
    *ret_new = price_all(g, &s->proof, true);
    if (!s->proof.whole && *ret_new == 0)
        *ret_new = price_all(g, &s->proof, false);
    if (engine_spent(g))
        return NODE_LIMIT;
    if (!s->proof.whole)
        return NODE_OPEN;
    wide bound = proof_bound(g, &s->proof);
    if (infeasible) {
        if (bound <= 0)
            return NODE_OPEN;
        if (s->at_root)
            proof_keep(s);
        return NODE_CLOSED;
    }
    if (s->proof.scale == 0)
        return NODE_OPEN;
    int64_t least = lattice_up(s, divide_up(bound, s->proof.scale));
    if (s->at_root && least > s->root_bound)
        s->root_bound = least;
    return s->best->there && least >= s->best_value ? NODE_CLOSED : NODE_OPEN;
}

static enum node_end node_solve(struct search *s)
{
    struct engine *g = s->g;
    if (bounds_cross(g))
        return NODE_CLOSED;
    for (;;) {
        enum simplex_end end = simplex_run(g->lp, &g->steps, g->max_steps);
        bool infeasible = end == SIMPLEX_INFEASIBLE;
        uint32_t new = 0;
        if (engine_spent(g))
            return NODE_LIMIT;
        if (end == SIMPLEX_STALLED) {
            g->doubt = true;
            return NODE_CLOSED;
        }
        if (!infeasible && g->objective == SOLVER_NONE)
            return NODE_OPEN;
        enum node_end judged = node_judge(s, infeasible, &new);
        if (judged != NODE_OPEN)
            return judged;
        if (new)
            continue;
        if (infeasible) { /* it says so, but there is no proof */
            g->doubt = true;
            return NODE_CLOSED;
        }
        return NODE_OPEN;
    }
}

/* --- points --- */

static bool point_take(struct search *s, struct point *point)
{
    struct engine *g = s->g;
    if (!engine_holds(g, point))
        return false;
    int64_t value = g->objective == SOLVER_NONE ? 0
                                                : g->sign * engine_value(g, point, g->objective);
    if (s->best->there && value >= s->best_value)
        return true;
    point->there = true;
    point_copy(s->best, point);
    s->best_value = value;
    return true;
}

static bool lowest_column(const struct engine *g, uint32_t column)
{
    const struct column *k = &g->columns.at[column];
    return k->pool == SOLVER_NONE && g->rows->extras.at[k->slot].type == EXTRA_LOWEST;
}

static double off_whole(double x)
{
    return fabs(x - round(x));
}

/* Rounds the values of the linear program if all are whole; false if one is not, or if what comes
 * of it does not fit. */
static bool point_whole(struct search *s)
{
    struct engine *g = s->g;
    struct point point = {.n = (uint32_t)g->columns.n};
    bool whole = true;
    for (uint32_t i = 0; i < point.n && whole; i++)
        whole = lowest_column(g, i) || off_whole(simplex_value(g->lp, i)) < WHOLE;
    if (!whole)
        return false;
    point.x = xcalloc(point.n + 1, sizeof *point.x);
    for (uint32_t i = 0; i < point.n; i++)
        point.x[i] = llround(simplex_value(g->lp, i));
    whole = point_take(s, &point);
    point_done(&point);
    return whole;
}

/* --- branching --- */

/* The sums of rows over kinds. */
static double *row_values(struct engine *g)
{
    double *sums = xcalloc(g->n_rows + 1, sizeof *sums);
    for (uint32_t r = 0; r < g->n_rows; r++)
        sums[r] = (double)g->placed[r];
    for (uint32_t i = 0; i < g->columns.n; i++) {
        double x = simplex_value(g->lp, i);
        if (x > WHOLE / 10 && g->columns.at[i].pool != SOLVER_NONE)
            CELL_EACH(cell, g, i)
        sums[cell->row] += x * (double)cell->coef;
    }
    g->steps += g->columns.n / 8;
    return sums;
}

static bool split_on_extra(const struct engine *g, struct split *ret, double *ret_value)
{
    for (uint32_t i = 0; i < g->columns.n; i++) {
        double x = simplex_value(g->lp, i);
        if (g->columns.at[i].pool != SOLVER_NONE || lowest_column(g, i) || off_whole(x) < WHOLE)
            continue;
        *ret = (struct split){.column = true, .at = i};
        *ret_value = x;
        return true;
    }
    return false;
}

/* The row whose sum is farthest from a whole number; hardware first, since it decides costs. */
static bool split_on_row(struct engine *g, struct split *ret, double *ret_value)
{
    double far = WHOLE * 10, *sums = row_values(g);
    for (uint32_t r = 0; r < g->n_rows; r++) {
        const struct row *row = &g->rows->at.at[r];
        if (!row->branch)
            continue;
        double x = sums[r], off = off_whole(x);
        if (off < WHOLE * 10)
            continue;
        off += row->type == ROW_HARDWARE ? 1 : 0;
        if (off <= far)
            continue;
        far = off;
        *ret = (struct split){.at = r};
        *ret_value = x;
    }
    free(sums);
    return far > WHOLE * 10;
}

static bool split_on_kind(const struct engine *g, struct split *ret, double *ret_value)
{
    double far = WHOLE;
    for (uint32_t i = 0; i < g->columns.n; i++) {
        double x = simplex_value(g->lp, i), off = off_whole(x);
        if (g->columns.at[i].pool == SOLVER_NONE || off <= far)
            continue;
        far = off;
        *ret = (struct split){.column = true, .at = i};
        *ret_value = x;
    }
    return far > WHOLE;
}

static void bounds_set(struct engine *g, const struct split *t, int64_t lo, int64_t hi)
{
    if (t->column) {
        struct column *k = &g->columns.at[t->at];
        bool was = k->lo > 0 || k->hi<ROW_INF, is = lo> 0 || hi < ROW_INF;
        k->lo = lo;
        k->hi = hi;
        if (k->pool != SOLVER_NONE && is && !was)
            vec_push(&g->bounded, t->at);
        else if (k->pool != SOLVER_NONE && was && !is) /* splits are undone in turn: the last */
            g->bounded.n--;
        simplex_column_bounds(g->lp, t->at, (double)lo, hi >= ROW_INF ? 1e30 : (double)hi);
        return;
    }
    g->lo[t->at] = lo;
    g->hi[t->at] = hi;
    engine_bounds(g, t->at);
}

static void side_enter(struct engine *g, const struct split *t)
{
    bool up = t->up_first != t->second;
    bounds_set(g, t, up ? t->below + 1 : t->lo, up ? t->hi : t->below);
}

/* Splits a node that is open; false if there is nothing to split. */
static bool split(struct search *s)
{
    struct engine *g = s->g;
    struct split t = {0};
    double x = 0;
    if (!split_on_extra(g, &t, &x) && !split_on_row(g, &t, &x) && !split_on_kind(g, &t, &x))
        return false;
    t.lo = t.column ? g->columns.at[t.at].lo : g->lo[t.at];
    t.hi = t.column ? g->columns.at[t.at].hi : g->hi[t.at];
    t.below = (int64_t)floor(x);
    t.up_first = x - floor(x) >= 0.5;
    vec_push(&s->stack, t);
    side_enter(g, &s->stack.at[s->stack.n - 1]);
    return true;
}

/* To the next side that is not walked; false: there is none. */
static bool retreat(struct search *s)
{
    while (s->stack.n) {
        struct split *t = &s->stack.at[s->stack.n - 1];
        bounds_set(s->g, t, t->lo, t->hi);
        if (!t->second) {
            t->second = true;
            side_enter(s->g, t);
            return true;
        }
        s->stack.n--;
    }
    return false;
}

/* --- diving: a good layout early --- */

/* Puts a kind's lower bound up, on the stack, with no other side to walk. */
static void kind_raise(struct search *s, uint32_t column, int64_t lo)
{
    struct split t = {.column = true, .at = column, .below = lo - 1, .second = true};
    t.lo = s->g->columns.at[column].lo;
    t.hi = s->g->columns.at[column].hi;
    vec_push(&s->stack, t);
    side_enter(s->g, &s->stack.at[s->stack.n - 1]);
}

static void unwind(struct search *s, size_t to)
{
    while (s->stack.n > to) {
        struct split *t = &s->stack.at[--s->stack.n];
        bounds_set(s->g, t, t->lo, t->hi);
    }
}

/* What the linear program has of whole nodes stays; then the kind that is nearest to one more gets
 * it, again and again.  Lower bounds only, so that pricing stays as easy as it was. */
static void dive(struct search *s)
{
    struct engine *g = s->g;
    size_t from = s->stack.n;
    bool first = true, doubt = g->doubt; /* what a dive passes over is walked later */
    while (node_solve(s) == NODE_OPEN && !engine_spent(g)) {
        uint32_t best = SOLVER_NONE;
        double most = WHOLE;
        if (point_whole(s))
            break;
        size_t columns = g->columns.n;
        for (uint32_t i = g->n_extras; i < columns; i++) {
            double x = simplex_value(g->lp, i), part = x - floor(x + WHOLE);
            if (first && floor(x + WHOLE) > 0)
                kind_raise(s, i, (int64_t)floor(x + WHOLE));
            if (part > most)
                most = part, best = i;
        }
        if (best == SOLVER_NONE)
            break;
        kind_raise(s, best, (int64_t)floor(simplex_value(g->lp, best)) + 1);
        first = false;
    }
    unwind(s, from);
    g->doubt = doubt;
}

/* --- the search --- */

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

/* Where each node counts the same modulo something and their number is fixed, so is the sum. */
static void lattice_find(struct search *s)
{
    const struct engine *g = s->g;
    s->lattice = 1;
    if (g->objective == SOLVER_NONE || g->lo[g->rows->nodes] != g->hi[g->rows->nodes])
        return;
    const struct row *row = &g->rows->at.at[g->objective];
    const struct solver_set none = {{0}};
    int64_t first = 0, by = 0;
    bool any = false;
    if (row->type != ROW_KEY ||
        (g->m->p->keys[row->a].by != SOLVER_COST && g->m->p->keys[row->a].by != SOLVER_RESOURCE))
        return;
    for (uint32_t i = 0; i < g->m->n_pools; i++)
        for (uint32_t k = 0; k < g->m->pools[i].n_slots; k++) {
            const struct pool *pool = &g->m->pools[i];
            int64_t coef = row_coef(g->m, row, pool, &none, pool->slots[k].hardware, SOLVER_NONE);
            first = any ? first : coef;
            any = true;
            by = divisor(by, coef - first);
        }
    s->lattice = by > 1 ? by : 1;
    s->lattice_at = g->sign * first % s->lattice * g->lo[g->rows->nodes] % s->lattice;
}

static void costs_set(struct engine *g)
{
    for (uint32_t i = 0; i < g->columns.n; i++)
        simplex_column_cost(g->lp, i,
                            g->objective == SOLVER_NONE
                                ? 0
                                : g->sign * (double)engine_coef(g, g->objective, i) /
                                      g->scale[g->objective]);
}

static enum engine_end walk(struct search *s)
{
    struct engine *g = s->g;
    bool dived = g->objective == SOLVER_NONE;
    for (;;) {
        enum node_end end = node_solve(s);
        if (end == NODE_LIMIT)
            return ENGINE_LIMIT;
        s->at_root = false;
        if (end == NODE_OPEN) {
            if (point_whole(s)) {
                if (g->objective == SOLVER_NONE)
                    return ENGINE_FOUND;
            } else if (!dived) {
                dived = true;
                dive(s);
                continue; /* the linear program is another now */
            } else if (split(s)) {
                continue;
            } else {
                g->doubt = true;
            }
        }
        if (s->best->there && s->best_value <= s->root_bound)
            return ENGINE_FOUND;
        if (!retreat(s))
            break;
    }
    if (g->doubt)
        return ENGINE_LIMIT;
    return s->best->there ? ENGINE_FOUND : ENGINE_NONE;
}

enum engine_end engine_search(struct engine *g, struct point *point, int64_t *ret_bound)
{
    struct search s = {.g = g, .best = point, .root_bound = -ROW_INF, .at_root = true};
    g->doubt = false;
    if (point->there) {
        s.best_value = g->objective == SOLVER_NONE ? 0
                                                   : g->sign * engine_value(g, point, g->objective);
        if (g->objective == SOLVER_NONE)
            return ENGINE_FOUND;
    }
    for (uint32_t i = 0; i < g->n_proofs && i < ENGINE_PROOFS; i++)
        if (proof_bound(g, &g->proofs[i]) > 0)
            return ENGINE_NONE;
    lattice_find(&s);
    costs_set(g);
    enum engine_end end = walk(&s);
    unwind(&s, 0); /* what was left where it stood */
    vec_done(&s.stack);
    free(s.proof.rows);
    free(s.proof.surplus);
    if (ret_bound)
        *ret_bound = s.root_bound;
    return end;
}
