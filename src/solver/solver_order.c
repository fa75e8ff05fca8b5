/* solver_order.c - the best layout: one question after the other, each answer kept
 *
 * The order (docs/rfc/08-clusters.md, section 4) is lexicographic, and so is this: fewest nodes
 * given up, who they are, the keys, services that come to nodes that exist, then the kinds in the
 * original order, as many of each as can be.  What a question settles becomes a bound of its row,
 * or is placed, and every later answer has it.  A layout that is known always goes along: a
 * question that it answers needs no search, and it is what there is if steps run out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "solver/solver_i.h"

void order_init(struct order *o, const struct solver_problem *p, const struct rules *rules,
                struct arena *mem, uint64_t max_steps)
{
    *o = (struct order){.p = p};
    model_build(&o->m, p, rules, mem, false);
    rows_build(&o->rows, &o->m);
    engine_init(&o->g, &o->m, &o->rows, max_steps);
}

void order_done(struct order *o)
{
    point_done(&o->known);
    vec_done(&o->placed);
    engine_done(&o->g);
    rows_done(&o->rows);
}

/* --- rows one after the other --- */

/* The best value of a row, which it then has. */
enum engine_end order_settle_row(struct order *o, uint32_t row, bool more)
{
    struct engine *g = &o->g;
    g->objective = row;
    g->sign = more ? -1 : 1;
    enum engine_end end = engine_search(g, &o->known, &o->bound);
    g->objective = SOLVER_NONE;
    o->bound *= g->sign;
    o->has_bound = o->bound > -ROW_INF && o->bound < ROW_INF;
    if (end == ENGINE_FOUND) {
        o->bound = g->lo[row] = g->hi[row] = engine_value(g, &o->known, row);
        engine_bounds(g, row);
    }
    return end;
}

static void given_bounds(struct order *o, uint32_t column, int64_t lo, int64_t hi)
{
    o->g.columns.at[column].lo = lo;
    o->g.columns.at[column].hi = hi;
    simplex_column_bounds(o->g.lp, column, (double)lo, (double)hi);
}

/* The column that says how many of a pool are given up: extras come first, in their order. */
uint32_t order_given_column(const struct order *o, uint32_t pool)
{
    uint32_t i = 0;
    while (o->rows.extras.at[i].type != EXTRA_GIVEN || o->rows.extras.at[i].a != pool)
        i++;
    return i;
}

/* The most of a pool up to hi that can be given up; known has lo of them. */
static enum engine_end given_most(struct order *o, uint32_t column, int64_t lo, int64_t hi,
                                  int64_t *ret_most)
{
    int64_t top = o->g.columns.at[column].hi, try = hi;
    while (lo < hi) {
        struct point point = {0};
        given_bounds(o, column, try, top);
        enum engine_end end = engine_search(&o->g, &point, NULL);
        if (end == ENGINE_FOUND) {
            lo = point.x[column] < hi ? point.x[column] : hi;
            point_copy(&o->known, &point);
        }
        point_done(&point);
        if (end == ENGINE_LIMIT)
            return end;
        if (end == ENGINE_NONE)
            hi = try - 1;
        try = lo + (hi - lo + 1) / 2;
    }
    given_bounds(o, column, lo, top);
    *ret_most = lo;
    return ENGINE_FOUND;
}

/* Who is given up: entries in their order, as many of each as can be. */
static enum engine_end settle_given(struct order *o)
{
    int64_t left = o->g.lo[o->rows.given];
    for (uint32_t i = 0; i < o->p->n_existing && left > 0; i++) {
        uint32_t pool = o->m.group_of[i], column = order_given_column(o, pool);
        int64_t base = o->g.columns.at[column].lo, most = base + o->p->existing[i].count;
        int64_t has = o->known.x[column];
        if (o->m.pools[pool].keep)
            continue;
        most = most < base + left ? most : base + left;
        enum engine_end end = given_most(o, column, has < most ? has : most, most, &most);
        if (end != ENGINE_FOUND)
            return end;
        given_bounds(o, column, most, o->g.columns.at[column].hi);
        left -= most - base;
    }
    for (uint32_t i = 0; i + 1 < o->m.n_pools; i++) {
        uint32_t column = order_given_column(o, i);
        given_bounds(o, column, o->known.x[column], o->known.x[column]);
        o->g.pool_left[i] = o->m.pools[i].cap - (uint32_t)o->known.x[column];
    }
    return ENGINE_FOUND;
}

/* Which of two services is settled first: smallest maximum, greatest minimum, name; those on every
 * node last. */
static bool service_before(const struct solver_problem *p, uint32_t a, uint32_t b)
{
    const struct solver_service *x = &p->services[a], *y = &p->services[b];
    if (x->everywhere != y->everywhere)
        return y->everywhere;
    if (x->max != y->max)
        return x->max < y->max;
    return x->min != y->min ? x->min > y->min : a < b;
}

static enum engine_end settle_kept(struct order *o)
{
    uint32_t order[SOLVER_MAX_SERVICES], n = 0;
    for (uint32_t r = 0; r < o->rows.at.n; r++) {
        if (o->rows.at.at[r].type != ROW_KEPT)
            continue;
        uint32_t k = n++;
        for (; k > 0 && service_before(o->p, o->rows.at.at[r].a, o->rows.at.at[order[k - 1]].a);
             k--)
            order[k] = order[k - 1];
        order[k] = r;
    }
    for (uint32_t i = 0; i < n; i++) {
        enum engine_end end = order_settle_row(o, order[i], true);
        if (end != ENGINE_FOUND)
            return end;
    }
    return ENGINE_FOUND;
}

/* Everything before the kinds. */
static enum engine_end settle_rows(struct order *o)
{
    enum engine_end end = ENGINE_FOUND;
    bool existing = o->m.n_pools > 1, any = false;
    if (o->rows.given != SOLVER_NONE) {
        end = order_settle_row(o, o->rows.given, false);
        if (end == ENGINE_FOUND && existing)
            end = settle_given(o);
        any = true;
    }
    for (uint32_t r = 0; r < o->rows.at.n && end == ENGINE_FOUND; r++) {
        const struct row *row = &o->rows.at.at[r];
        if (row->type != ROW_KEY)
            continue;
        end = order_settle_row(o, r, o->p->keys[row->a].more);
        any = true;
        if (row->a == 0)
            o->first_key = r;
        if (row->a > 0 && end == ENGINE_LIMIT) { /* the first one is settled */
            o->bound = o->g.lo[o->first_key];
            o->has_bound = true;
        }
        if (o->has_bound)
            o->bound *= o->rows.at.at[o->first_key].unit;
    }
    if (end == ENGINE_FOUND && !any)
        end = engine_search(&o->g, &o->known, NULL);
    return end;
}

/* --- kinds --- */

struct trial { /* a kind that may be the next */
    uint32_t pool, slot, value;
    struct solver_set services;
    uint32_t n_cells;
    struct cell *cells;
};

/* The most nodes of a kind that what is proved already allows. */
static int64_t proved_most(struct engine *g, const struct trial *t, int64_t most)
{
    for (uint32_t i = 0; i < g->n_proofs && i < ENGINE_PROOFS && most > 0; i++) {
        /* the latest first: kinds next to each other mostly fail for the same reason */
        const struct proof *f = &g->proofs[(g->n_proofs - 1 - i) % ENGINE_PROOFS];
        wide rate = proof_rate(f, t->pool, t->cells, t->n_cells);
        if (rate <= 0)
            continue;
        wide none = proof_bound(g, f);
        g->steps += 1 + g->n_rows / 8;
        if (none <= 0 && none + rate * most > 0)
            most = (int64_t)(-none / rate);
    }
    return most;
}

/* The most that bounds of rows allow one by one. */
static int64_t plain_most(const struct engine *g, const struct trial *t)
{
    int64_t most = g->pool_left[t->pool];
    for (uint32_t i = 0; i < t->n_cells; i++) {
        uint32_t r = t->cells[i].row;
        enum row_type type = g->rows->at.at[r].type;
        int64_t left = g->hi[r] - g->placed[r];
        if ((type == ROW_SERVICE || type == ROW_NODES || type == ROW_KEPT) && left < most)
            most = left;
    }
    return most;
}

static int64_t known_count(struct order *o, uint32_t column)
{
    if (column >= o->known.n) { /* it was made since */
        uint32_t n = (uint32_t)o->g.columns.n;
        o->known.x = xrealloc(o->known.x, n + 1, sizeof *o->known.x);
        memset(o->known.x + o->known.n, 0, (n - o->known.n) * sizeof *o->known.x);
        o->known.n = n;
    }
    return o->known.x[column];
}

/* Whether so many of a kind can be; known has them then. */
static enum engine_end kind_try(struct order *o, uint32_t column, int64_t count)
{
    struct engine *g = &o->g;
    struct point point = {0};
    engine_place(g, column, count);
    enum engine_end end = engine_search(g, &point, NULL);
    engine_place(g, column, -count);
    if (end == ENGINE_FOUND) {
        point_copy(&o->known, &point);
        known_count(o, column);
        o->known.x[column] += count;
    }
    point_done(&point);
    return end;
}

/* As many of a kind as can be. */
static enum engine_end settle_kind(struct order *o, const struct trial *t)
{
    struct engine *g = &o->g;
    uint32_t column = engine_column_find(g, t->pool, t->slot, t->value, &t->services);
    int64_t lo = column == SOLVER_NONE ? 0 : known_count(o, column), hi = plain_most(g, t);
    bool halve = false;
    while (lo < hi) {
        int64_t most = proved_most(g, t, hi);
        halve = halve && most >= hi;
        hi = most;
        if (lo >= hi)
            break;
        int64_t try = halve ? lo + (hi - lo + 1) / 2 : hi;
        column = engine_column(g, t->pool, t->slot, t->value, &t->services);
        enum engine_end end = kind_try(o, column, try);
        if (end == ENGINE_LIMIT)
            return end;
        if (end == ENGINE_FOUND)
            lo = o->known.x[column];
        else
            hi = try - 1;
        halve |= end == ENGINE_NONE;
    }
    if (lo == 0)
        return ENGINE_FOUND;
    o->known.x[column] = 0;
    engine_place(g, column, lo);
    struct placed done = {column, lo};
    vec_push(&o->placed, done);
    return ENGINE_FOUND;
}

static struct solver_kind cursor_kind(const struct order *o, const struct cursor *c, uint32_t pool)
{
    const struct pool *at = &o->m.pools[pool];
    struct solver_kind k = {.existing = at->turn};
    uint32_t slot;
    cursor_get(c, &k.services, &slot, &k.value);
    k.hardware = at->slots[slot].hardware;
    k.image = at->slots[slot].image;
    return k;
}

/* Services that can still come to a node. */
static struct solver_set usable(const struct order *o)
{
    struct solver_set all = solver_set_below(o->p->n_services);
    for (uint32_t r = 0; r < o->rows.at.n; r++)
        if (o->rows.at.at[r].type == ROW_SERVICE && o->g.hi[r] <= o->g.placed[r])
            solver_set_drop(&all, o->rows.at.at[r].a);
    return all;
}

static bool all_placed(const struct order *o)
{
    return o->g.hi[o->rows.nodes] <= o->g.placed[o->rows.nodes];
}

static enum engine_end settle_kinds(struct order *o, struct arena *mem)
{
    struct engine *g = &o->g;
    uint32_t n = o->m.n_pools;
    struct cursor **cursors = arena_new(mem, struct cursor *, n);
    bool *there = arena_new(mem, bool, n);
    struct solver_set open = usable(o);
    struct trial t = {.cells = arena_new(mem, struct cell, g->n_rows + 1)};
    for (uint32_t i = 0; i < n; i++) {
        cursors[i] = cursor_new(mem, &o->m, i);
        there[i] = g->pool_left[i] && cursor_next(cursors[i], &open, &g->steps, g->max_steps);
    }
    while (!all_placed(o)) {
        uint32_t first = n;
        struct solver_kind best, k;
        for (uint32_t i = 0; i < n; i++) {
            if (!there[i])
                continue;
            k = cursor_kind(o, cursors[i], i);
            if (first == n || solver_kind_order(&k, &best) < 0)
                first = i, best = k;
        }
        if (engine_spent(g))
            return ENGINE_LIMIT;
        if (first == n)
            break;
        t.pool = first;
        cursor_get(cursors[first], &t.services, &t.slot, &t.value);
        if (set_inside(&t.services, &open)) {
            t.n_cells = engine_cells(g, first, t.slot, t.value, &t.services, t.cells);
            g->steps += g->n_rows / 4;
            enum engine_end end = settle_kind(o, &t);
            if (end != ENGINE_FOUND)
                return end;
            open = usable(o);
        }
        there[first] = g->pool_left[first] &&
                       cursor_next(cursors[first], &open, &g->steps, g->max_steps);
    }
    return engine_spent(g) && !all_placed(o) ? ENGINE_LIMIT : ENGINE_FOUND;
}

enum engine_end order_run(struct order *o, struct arena *mem)
{
    enum engine_end end = settle_rows(o);
    if (end != ENGINE_FOUND)
        return end;
    o->settled = settle_kept(o) == ENGINE_FOUND && settle_kinds(o, mem) == ENGINE_FOUND;
    return ENGINE_FOUND;
}
