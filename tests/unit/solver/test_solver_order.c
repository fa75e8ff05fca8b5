/* test_solver_order.c - which of all layouts is the answer */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver_bed.h"

static void test_original_order(void)
{
    struct solver_bed b;
    bed_init(&b, 5, 2, 2);
    bed_service(&b, 1, 2);
    bed_service(&b, 0, SOLVER_ANY);
    is_text(bed_solve(&b), "2*ab/h0.i0 3*b/h0.i0", "more services first, first hardware and image");
    b.services[1].hardware = letters("b");
    is_text(bed_solve(&b), "2*ab/h1.i0 3*b/h1.i0", "where a list says so, later hardware");
    b.services[1].images = letters("b");
    bed_apart(&b, "ab");
    is_text(bed_solve(&b), "2*a/h0.i0 3*b/h1.i1", "hardware before services");
    b.services[1].everywhere = true;
    is_text(bed_solve(&b), "unsatisfiable: apart.0 min.0 everywhere.1",
            "what is everywhere leaves no room");
    bed_done(&b);
}

static void test_keys(void)
{
    struct solver_bed b;
    bed_init(&b, 3, 2, 1);
    bed_service(&b, 1, 1);
    bed_service(&b, 1, 3);
    b.hardware[0].cost = 50;
    bed_key(&b, SOLVER_COST, false);
    is_text(bed_solve(&b), "1*ab/h1.i0 2*b/h1.i0", "the cheapest, then the original order");
    is_int(b.a->values[0], 60, "what it costs");
    b.keys[0].more = true;
    is_text(bed_solve(&b), "1*ab/h0.i0 2*b/h0.i0", "the dearest");
    b.p.nodes_min = 1;
    b.keys[0] = (struct solver_key){.by = SOLVER_NODES};
    bed_key(&b, SOLVER_SERVICES, false);
    is_text(bed_solve(&b), "1*ab/h0.i0", "fewest nodes");
    b.p.nodes_min = 2;
    is_text(bed_solve(&b), "1*a/h0.i0 1*b/h0.i0", "then fewest services");
    is_int(b.a->values[1], 2, "as many");
    bed_done(&b);
}

static void test_capacity(void)
{
    struct solver_bed b;
    bed_init(&b, 4, 2, 1);
    for (uint32_t i = 0; i < 3; i++) {
        bed_service(&b, 2, SOLVER_ANY);
        bed_demand(&b, i, 2, 3);
    }
    bed_capacity(&b, 0, 2, 8);
    bed_capacity(&b, 1, 4, 6);
    bed_key(&b, SOLVER_COST, false);
    is_text(bed_solve(&b), "2*ab/h1.i0 2*c/h0.i0", "two that hold two each");
    is_int(b.a->values[0], 60, "at the least cost");
    b.p.nodes_min = b.p.nodes_max = 2;
    is_text(bed_solve(&b),
            "unsatisfiable: min.0 min.1 required.2 demand.0 demand.1 demand.2 nodes.0",
            "too few nodes for what is wanted");
    bed_done(&b);
}

static void test_counts(void)
{
    struct solver_bed b;
    bed_init(&b, 10, 1, 1);
    bed_service(&b, 1, SOLVER_ANY)->step = 4;
    bed_service(&b, 0, SOLVER_ANY);
    bed_apart(&b, "ab");
    is_text(bed_solve(&b), "9*a/h0.i0 1*b/h0.i0", "one and twice four");
    b.ratios[b.p.n_ratios++] = (struct solver_ratio){0, SOLVER_NONE, 1, 2, true};
    is_text(bed_solve(&b), "5*a/h0.i0 5*b/h0.i0", "at most half of the nodes");
    b.ratios[b.p.n_ratios++] = (struct solver_ratio){1, 0, 5, 1, false};
    is_text(bed_solve(&b), "1*a/h0.i0 9*b/h0.i0", "five of b for each a");
    bed_done(&b);
}

static void test_spread(void)
{
    struct solver_bed b;
    bed_init(&b, 5, 1, 1);
    b.p.n_values = 3;
    bed_service(&b, 1, SOLVER_ANY);
    bed_service(&b, 1, 3);
    b.spreads[b.p.n_spreads++] = (struct solver_spread){0, 1};
    is_text(bed_solve(&b), "2*ab/h0.i0@0 1*ab/h0.i0@1 1*a/h0.i0@1 1*a/h0.i0@2",
            "over all values, first ones first");
    b.spreads[0].skew = 0;
    is_text(bed_solve(&b), "1*ab/h0.i0@0 1*a/h0.i0@1 1*a/h0.i0@2 2*b/h0.i0@0", "evenly");
    bed_done(&b);
}

static void test_existing(void)
{
    struct solver_bed b;
    bed_init(&b, 4, 1, 1);
    bed_service(&b, 1, SOLVER_ANY);
    bed_service(&b, 0, 2);
    bed_existing(&b, "a", 3, false);
    is_text(bed_solve(&b), "1*ab/h0.i0 3*a/h0.i0+0", "what exists stays as it is");
    b.p.involved = letters("b");
    is_text(bed_solve(&b), "2*ab/h0.i0+0 1*a/h0.i0+0 1*a/h0.i0", "what is involved comes to it");
    b.p.give_up = 1;
    b.p.nodes_min = b.p.nodes_max = 2;
    bed_existing(&b, "a", 1, false);
    is_text(bed_solve(&b), "1*ab/h0.i0+0 1*ab/h0.i0+1", "given up in turn, two of four");
    is_int(b.a->given_up[0], 2, "the first go first");
    b.existing[0].keep = true;
    is_text(bed_solve(&b), "unsatisfiable: nodes.0 existing.0", "what is kept is kept");
    bed_done(&b);
}

static void test_turns(void)
{
    struct solver_bed b;
    bed_init(&b, 3, 1, 1);
    bed_service(&b, 1, SOLVER_ANY);
    bed_service(&b, 1, SOLVER_ANY);
    bed_existing(&b, "b", 1, false);
    bed_existing(&b, "a", 2, false);
    bed_existing(&b, "b", 1, false);
    bed_existing(&b, "a", 1, false);
    b.p.give_up = 2;
    is_text(bed_solve(&b), "1*a/h0.i0+1 1*a/h0.i0+3 1*b/h0.i0+2",
            "entries that are alike share turns");
    b.services[1].min = 2;
    is_text(bed_solve(&b), "1*a/h0.i0+3 1*b/h0.i0+0 1*b/h0.i0+2", "who is needed stays");
    bed_done(&b);
}

static void test_limit(void)
{
    struct solver_bed b;
    struct solver_options o = {.max_steps = 1};
    bed_init(&b, 500, 3, 1);
    for (uint32_t i = 0; i < 12; i++) {
        bed_service(&b, 20 + 37 * i % 101, SOLVER_ANY);
        bed_demand(&b, i, 1 + i * 7 % 4, 2 + i * 5 % 11);
    }
    bed_capacity(&b, 0, 4, 13);
    bed_capacity(&b, 1, 9, 22);
    bed_capacity(&b, 2, 16, 43);
    b.hardware[0].cost = 61, b.hardware[1].cost = 119, b.hardware[2].cost = 224;
    bed_key(&b, SOLVER_COST, false);
    ok(!solver_solve(&b.mem, &b.p, &o, &b.a, &b.e) && b.a->status == SOLVER_LIMIT &&
           !b.a->has_layout,
       "no steps, no answer");
    o.max_steps = 0;
    ok(!solver_solve(&b.mem, &b.p, &o, &b.a, &b.e) && b.a->status == SOLVER_SOLVED, "solved");
    int64_t best = b.a->values[0];
    bool bound = true, better = false, layouts = false;
    uint64_t most = b.a->steps;
    for (o.max_steps = 50; o.max_steps < most; o.max_steps += 1 + most / 300) {
        solver_solve(&b.mem, &b.p, &o, &b.a, &b.e);
        bound &= !b.a->has_bound || b.a->bound <= best;
        better |= b.a->has_layout && b.a->values[0] < best;
        layouts |= b.a->status == SOLVER_LIMIT && b.a->has_layout;
        if (b.a->has_layout && !solver_layout_fits(&b.p, b.a->kinds, b.a->n_kinds, NULL))
            better = true;
    }
    ok(bound && !better, "cut off anywhere: bounds hold, layouts fit and are no better");
    ok(layouts, "some are cut off with a layout");
    bed_done(&b);
}

static void test_large(void)
{
    struct solver_bed b;
    static struct solver_service many[SOLVER_MAX_SERVICES];
    bed_init(&b, SOLVER_MAX_NODES, 1, 1);
    for (uint32_t i = 0; i < SOLVER_MAX_SERVICES; i++)
        many[i] = (struct solver_service){.min = i,
                                          .max = SOLVER_ANY,
                                          .hardware = solver_set_below(1),
                                          .images = solver_set_below(1),
                                          .required = true};
    b.p.services = many;
    b.p.n_services = SOLVER_MAX_SERVICES;
    many[7].max = 300;
    const struct solver_answer *a;
    ok(!solver_solve(&b.mem, &b.p, NULL, &a, &b.e) && a->status == SOLVER_SOLVED && a->settled,
       "as many services and nodes as there may be");
    is_int(a->n_kinds, 2, "are two kinds");
    is_int(a->kinds[0].count, 300, "the first as often as can be");
    bed_done(&b);
}

int main(void)
{
    test_original_order();
    test_keys();
    test_capacity();
    test_counts();
    test_spread();
    test_existing();
    test_turns();
    test_limit();
    test_large();
    return tap_done();
}
