/* test_solver_conflict.c - what a refusal says, and the least that has to give way */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver_bed.h"

static void test_numbers(void)
{
    struct solver_bed b;
    bed_init(&b, 3, 1, 1);
    bed_service(&b, 4, SOLVER_ANY);
    bed_service(&b, 0, SOLVER_ANY);
    is_text(bed_solve(&b), "unsatisfiable: min.0 nodes.0", "a minimum above the nodes");
    is_text(bed_changes(&b), "min.0:4>3", "of two changes by one the lower rule");
    b.services[0].max = 2;
    is_text(bed_solve(&b), "unsatisfiable: min.0 nodes.0", "one of two conflicts");
    is_text(bed_changes(&b), "min.0:4>2", "what gives way takes both away");
    b.services[0].min = 0;
    b.services[1].max = 0;
    is_text(bed_solve(&b), "unsatisfiable: max.1 required.1", "wanted, but on no node");
    is_text(bed_changes(&b), "max.1:0>1", "one is enough");
    bed_done(&b);
}

static void test_nodes(void)
{
    struct solver_bed b;
    bed_init(&b, 20, 1, 1);
    bed_service(&b, 1, 3);
    bed_service(&b, 1, 4);
    is_text(bed_solve(&b), "unsatisfiable: max.0 max.1 nodes.0",
            "too many nodes for what there is");
    is_text(bed_changes(&b), "max.0:3>16", "the least change of one rule");
    b.p.nodes_min = b.p.nodes_max = 0;
    is_text(bed_solve(&b), "unsatisfiable: required.1 nodes.0", "too few");
    is_text(bed_changes(&b), "nodes.0:0>1", "one node is enough for both");
    bed_done(&b);
}

static void test_lists(void)
{
    struct solver_bed b;
    bed_init(&b, 2, 2, 2);
    bed_service(&b, 1, SOLVER_ANY)->hardware = letters("a");
    bed_service(&b, 1, SOLVER_ANY)->hardware = letters("b");
    bed_together(&b, "ab");
    is_text(bed_solve(&b), "unsatisfiable: together.0 hardware.0 hardware.1 required.0",
            "together, on different hardware");
    is_text(bed_changes(&b), "together.0", "the set is dropped");
    b.services[1].hardware = letters("ab");
    b.services[0].images = letters("a");
    b.services[1].images = letters("b");
    is_text(bed_solve(&b), "unsatisfiable: together.0 min.0 image.0 image.1", "so with images");
    b.p.n_hardware = 0;
    is_text(bed_solve(&b), "unsatisfiable: nodes.0 offer.0", "nothing is offered at all");
    ok(b.a->has_relaxation && b.a->n_changes == 5, "all that asks for a node would have to go");
    bed_done(&b);
}

static void test_two(void)
{
    struct solver_bed b;
    bed_init(&b, 2, 1, 1);
    bed_service(&b, 0, 0);
    bed_service(&b, 0, 0);
    bed_service(&b, 1, 2);
    is_text(bed_solve(&b), "unsatisfiable: max.1 required.1", "one of two conflicts");
    is_text(bed_changes(&b), "max.0:0>1 max.1:0>1", "both have to give way");
    ok(b.a->irreducible && b.a->least, "shown to be least");
    bed_done(&b);
}

static void test_existing_fixed(void)
{
    struct solver_bed b;
    bed_init(&b, 2, 1, 1);
    bed_service(&b, 1, SOLVER_ANY);
    bed_service(&b, 2, SOLVER_ANY);
    bed_existing(&b, "a", 2, true);
    is_text(bed_solve(&b), "unsatisfiable: required.1 nodes.0 existing.0",
            "there is no room for b");
    is_text(bed_changes(&b), "existing.0", "to change what exists is the least");
    b.spreads[b.p.n_spreads++] = (struct solver_spread){0, 0};
    b.p.n_values = 2;
    b.existing[0].value = 0;
    b.services[1].min = 0;
    b.services[1].required = false;
    is_text(bed_solve(&b), "unsatisfiable: spread.0 nodes.0 existing.0", "it is spread badly");
    is_text(bed_changes(&b), "existing.0", "one counts less than two");
    bed_done(&b);
}

int main(void)
{
    test_numbers();
    test_nodes();
    test_lists();
    test_two();
    test_existing_fixed();
    return tap_done();
}
