/* test_solver_parts.c - the parts behind the solver: linear programs, pricing, proofs, the cursor
 *
 * Pricing is held against all kinds of node of small random problems, for random multipliers; the
 * cursor against the order itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver_bed.h"

#include "solver/solver_i.h"

/* --- simplex --- */

static bool near(double a, double b)
{
    return a - b < 1e-6 && b - a < 1e-6;
}

static void test_simplex(void)
{
    struct simplex *s = simplex_new(2);
    uint64_t work = 0;
    /* most of 3x + 2y with x + y <= 4, x + 3y <= 7, x <= 3 */
    simplex_row_bounds(s, 0, -1e30, 4);
    simplex_row_bounds(s, 1, -1e30, 7);
    uint32_t x = simplex_column_add(s, 2, (uint32_t[]){0, 1}, (double[]){1, 1}, 0, 3);
    uint32_t y = simplex_column_add(s, 2, (uint32_t[]){0, 1}, (double[]){1, 3}, 0, 1e30);
    simplex_column_cost(s, x, -3);
    simplex_column_cost(s, y, -2);
    ok(simplex_run(s, &work, UINT64_MAX) == SIMPLEX_BEST && near(simplex_value(s, x), 3) &&
           near(simplex_value(s, y), 1),
       "the best corner");
    ok(near(simplex_prices(s)[0], -2) && near(simplex_prices(s)[1], 0),
       "what rows are worth there");
    simplex_column_bounds(s, x, 0, 1);
    ok(simplex_run(s, &work, UINT64_MAX) == SIMPLEX_BEST && near(simplex_value(s, y), 2),
       "goes on from there when bounds change");
    simplex_row_bounds(s, 0, 3.5, 4);
    ok(simplex_run(s, &work, UINT64_MAX) == SIMPLEX_INFEASIBLE,
       "two rows that contradict each other");
    uint32_t z = simplex_column_add(s, 1, (uint32_t[]){0}, (double[]){2}, 0, 1);
    ok(simplex_run(s, &work, UINT64_MAX) == SIMPLEX_BEST && simplex_value(s, z) > 0.1,
       "a column that helps");
    simplex_row_bounds(s, 0, -1e30, 1e30);
    simplex_row_bounds(s, 1, -1e30, 1e30);
    ok(simplex_run(s, &work, UINT64_MAX) == SIMPLEX_STALLED && work > 0, "no bound, no best");
    simplex_free(s);
}

/* --- pricing --- */

static uint32_t chance(uint64_t *state, uint32_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 20) % below);
}

static void bed_random(struct solver_bed *b, uint64_t *state)
{
    bed_init(b, 20, 1 + chance(state, 2), 1);
    uint32_t n = 2 + chance(state, 6);
    for (uint32_t i = 0; i < n; i++) {
        bed_service(b, chance(state, 3), 3 + chance(state, 9));
        bed_demand(b, i, chance(state, 2000), chance(state, 7));
    }
    for (uint32_t i = 0; i < b->p.n_hardware; i++)
        bed_capacity(b, i, 500 + chance(state, 6000), 2 + chance(state, 16));
    for (uint32_t i = chance(state, 4); i > 0; i--) {
        uint32_t first = chance(state, n), second = (first + 1 + chance(state, n - 1)) % n;
        solver_set_add(&b->apart[b->p.n_apart], first);
        solver_set_add(&b->apart[b->p.n_apart++], second);
    }
    bed_key(b, SOLVER_COST, false);
}

/* The most that any node is worth beyond the multipliers, by looking at all. */
static int64_t most_worth(const struct engine *g, const struct proof *f, struct solver_bed *b)
{
    static struct solver_kind kinds[4096];
    uint32_t n = solver_nodes_list(&b->p, kinds, 4096);
    int64_t most = 0;
    for (uint32_t i = 0; i < n; i++) {
        int64_t sum = 0;
        for (uint32_t r = 0; r < g->n_rows; r++) {
            int64_t by = f->rows[r] - (r == f->objective ? f->sign * f->scale : 0);
            sum += by * row_coef(g->m, &g->rows->at.at[r], &g->m->pools[0], &kinds[i].services,
                                 kinds[i].hardware, SOLVER_NONE);
        }
        most = sum > most ? sum : most;
    }
    return most;
}

static void test_pricing(void)
{
    uint64_t state = 88172645463325252u;
    uint32_t wrong = 0, positive = 0;
    for (int round = 0; round < 400; round++) {
        SCOPED_ARENA(mem);
        struct solver_bed b;
        struct rules rules;
        struct model m;
        struct rows rows;
        struct engine g;
        bed_random(&b, &state);
        rules_init(&rules, &b.p, &mem);
        model_build(&m, &b.p, &rules, &mem, true);
        rows_build(&rows, &m);
        engine_init(&g, &m, &rows, UINT64_MAX);
        struct proof f = {.objective = SOLVER_NONE};
        f.rows = arena_new(&mem, int64_t, g.n_rows);
        f.surplus = arena_new(&mem, int64_t, m.n_pools);
        for (uint32_t r = 0; r < g.n_rows; r++)
            f.rows[r] = ((int64_t)chance(&state, 2000) - 700) * (1 << 20);
        price_all(&g, &f, false);
        wrong += f.surplus[0] != most_worth(&g, &f, &b);
        positive += f.surplus[0] > 0;
        engine_done(&g);
        rows_done(&rows);
        bed_done(&b);
    }
    is_int(wrong, 0, "the best kind is found for any multipliers");
    ok(positive > 200, "and mostly there is one");
}

/* --- cursor --- */

static void test_cursor(void)
{
    uint64_t state = 362436069u;
    uint32_t wrong = 0, kinds = 0;
    for (int round = 0; round < 200; round++) {
        SCOPED_ARENA(mem);
        struct solver_bed b;
        struct rules rules;
        struct model m;
        struct solver_kind last = {0}, now = {.existing = SOLVER_NONE};
        uint64_t steps = 0;
        uint32_t slot, n = 0, all = 0;
        bed_random(&b, &state);
        rules_init(&rules, &b.p, &mem);
        model_build(&m, &b.p, &rules, &mem, true);
        struct solver_set usable = solver_set_below(b.p.n_services);
        struct cursor *c = cursor_new(&mem, &m, 0);
        while (cursor_next(c, &usable, &steps, UINT64_MAX)) {
            cursor_get(c, &now.services, &slot, &now.value);
            now.hardware = m.pools[0].slots[slot].hardware;
            now.image = m.pools[0].slots[slot].image;
            wrong += n && solver_kind_order(&last, &now) >= 0;
            wrong += !solver_node_fits(&b.p, &now.services, now.hardware, now.image);
            last = now;
            n++;
        }
        for (uint32_t h = 0; h < b.p.n_hardware; h++)
            for (uint64_t set = 1; set < UINT64_C(1) << b.p.n_services; set++)
                all += solver_node_fits(&b.p, &(struct solver_set){{set}}, h, 0);
        wrong += n != all;
        kinds += n;
        bed_done(&b);
    }
    is_int(wrong, 0, "every kind that fits, once, in order");
    ok(kinds > 1000, "of many");
}

/* --- proofs --- */

static void test_proofs(void)
{
    SCOPED_ARENA(mem);
    struct solver_bed b;
    struct rules rules;
    struct model m;
    struct rows rows;
    struct engine g;
    struct point point = {0};
    bed_init(&b, 10, 1, 1);
    bed_service(&b, 6, SOLVER_ANY);
    bed_service(&b, 6, SOLVER_ANY);
    bed_apart(&b, "ab");
    rules_init(&rules, &b.p, &mem);
    model_build(&m, &b.p, &rules, &mem, true);
    rows_build(&rows, &m);
    engine_init(&g, &m, &rows, UINT64_MAX);
    ok(engine_search(&g, &point, NULL) == ENGINE_NONE, "six and six apart are not ten");
    is_int(g.n_proofs, 1, "it is proved");
    ok(proof_bound(&g, &g.proofs[0]) > 0, "in integers");
    g.pool_left[0] += 2;
    for (uint32_t r = 0; r < g.n_rows; r++) {
        g.hi[r] += rows.at.at[r].type == ROW_NODES ? 2 : 0;
        engine_bounds(&g, r);
    }
    ok(proof_bound(&g, &g.proofs[0]) <= 0, "of twelve the proof says nothing");
    ok(engine_search(&g, &point, NULL) == ENGINE_FOUND && engine_holds(&g, &point), "they fit");
    point_done(&point);
    engine_done(&g);
    rows_done(&rows);
    bed_done(&b);
}

int main(void)
{
    test_simplex();
    test_pricing();
    test_cursor();
    test_proofs();
    return tap_done();
}
