/* test_solver_fit.c - sets, nodes and layouts judged on their own, and moves of one service */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver_bed.h"

static void test_nodes(void)
{
    struct solver_bed b;
    struct solver_kind kinds[16];
    struct solver_set s;
    bed_init(&b, 3, 2, 1);
    bed_service(&b, 1, 2);
    bed_service(&b, 0, SOLVER_ANY)->hardware = letters("b");
    bed_service(&b, 0, SOLVER_ANY);
    bed_apart(&b, "ac");
    s = letters("ac");
    ok(!solver_services_fit(&b.p, &s), "apart");
    s = letters("ab");
    ok(solver_services_fit(&b.p, &s) && !solver_node_fits(&b.p, &s, 0, 0), "not on that hardware");
    ok(solver_node_fits(&b.p, &s, 1, 0), "on the other");
    s = letters("");
    ok(!solver_node_fits(&b.p, &s, 1, 0), "a node has something");
    is_int(solver_nodes_list(&b.p, kinds, 16), 7, "all nodes");
    is_int(solver_nodes_list(&b.p, kinds, 3), 4, "more than there is room for");
    ok(kinds[0].hardware == 1 && kinds[0].services.w[0] == 3, "ab first");
    ok(kinds[1].hardware == 1 && kinds[1].services.w[0] == 6, "then bc");
    ok(kinds[2].hardware == 0 && kinds[2].services.w[0] == 1, "then a, on the first hardware");
    bed_done(&b);
}

static void broken(struct solver_bed *b, const struct solver_kind *kinds, uint32_t n,
                   enum solver_rule rule)
{
    struct solver_ref why = {SOLVER_RULE_COUNT, 0};
    ok(!solver_layout_fits(&b->p, kinds, n, &why) && why.rule == rule, "broken: %s",
       solver_rule_name(rule));
}

static void test_layouts(void)
{
    struct solver_bed b;
    bed_init(&b, 3, 1, 1);
    bed_service(&b, 1, 2);
    bed_service(&b, 0, SOLVER_ANY)->required = false;
    struct solver_kind k[] = {{.services = letters("ab"), .count = 1},
                              {.services = letters("b"), .count = 2}};
    ok(solver_layout_fits(&b.p, k, 2, NULL), "a layout that fits");
    k[0].count = 2;
    broken(&b, k, 2, SOLVER_RULE_NODES);
    k[0].count = 3, k[1].count = 0;
    broken(&b, k, 2, SOLVER_RULE_MAX);
    k[0].count = 0, k[1].count = 3;
    broken(&b, k, 2, SOLVER_RULE_MIN);
    b.services[0].min = 0;
    broken(&b, k, 2, SOLVER_RULE_REQUIRED);
    k[0].count = 1, k[1].count = 2;
    b.services[1].step = 2;
    broken(&b, k, 2, SOLVER_RULE_STEP);
    b.services[1].step = 0;
    b.ratios[b.p.n_ratios++] = (struct solver_ratio){0, 1, 1, 2, false};
    broken(&b, k, 2, SOLVER_RULE_RATIO);
    b.ratios[0].at_most = true;
    ok(solver_layout_fits(&b.p, k, 2, NULL), "the other way round it fits");
    b.p.n_values = 2;
    b.spreads[b.p.n_spreads++] = (struct solver_spread){1, 1};
    broken(&b, k, 2, SOLVER_RULE_SPREAD);
    k[1].value = 1;
    ok(solver_layout_fits(&b.p, k, 2, NULL), "spread by one");
    b.services[0].everywhere = true;
    broken(&b, k, 2, SOLVER_RULE_EVERYWHERE);
    bed_demand(&b, 1, 1, 0);
    broken(&b, k, 2, SOLVER_RULE_DEMAND);
    bed_done(&b);
}

struct seen {
    char text[256];
    uint32_t n, most;
};

static bool move_note(void *ctx, const struct solver_kind *kinds, uint32_t n)
{
    struct seen *s = ctx;
    for (uint32_t i = 0; i < n; i++) {
        size_t at = strlen(s->text);
        snprintf(s->text + at, sizeof s->text - at, "%u*%llx ", kinds[i].count,
                 (unsigned long long)kinds[i].services.w[0]);
    }
    size_t end = strlen(s->text);
    snprintf(s->text + end, sizeof s->text - end, "| ");
    return ++s->n < s->most;
}

static void test_moves(void)
{
    struct solver_bed b;
    struct seen s = {.most = 9};
    bed_init(&b, 3, 1, 1);
    bed_service(&b, 0, SOLVER_ANY);
    bed_service(&b, 0, SOLVER_ANY);
    bed_service(&b, 1, 2);
    bed_existing(&b, "b", 1, true);
    bed_existing(&b, "ab", 2, true);
    is_int(solver_moves_each(&b.p, 2, move_note, &s, &b.e), 0, "moves of c");
    is_text(s.text, "1*2 2*7 | 1*6 1*7 1*3 | 1*2 1*7 1*3 | 1*6 2*3 | ",
            "most nodes first, first kind first");
    s = (struct seen){.most = 1};
    is_int(solver_moves_each(&b.p, 2, move_note, &s, &b.e), 0, "until no more are wanted");
    is_int(s.n, 1, "one");
    is_int(solver_moves_each(&b.p, 3, move_note, &s, &b.e), -ERR_INVALID, "no such service");
    b.services[2].min = 3;
    s = (struct seen){.most = 9};
    is_int(solver_moves_each(&b.p, 2, move_note, &s, &b.e), 0, "where the minimum is too high");
    is_int(s.n, 0, "there are none");
    bed_done(&b);
}

int main(void)
{
    test_nodes();
    test_layouts();
    test_moves();
    return tap_done();
}
