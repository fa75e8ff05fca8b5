/* test_solver_rules.c - what is refused before anything is solved, and names */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver_bed.h"

static void refused(struct solver_bed *b, enum errcode code, const char *part)
{
    struct err e = {0};
    is_int(solver_problem_check(&b->p, &e), -(int)code, "refused: %s", part);
    has_text(e.text, part, "and says so: %s", part);
}

static void bed_usual(struct solver_bed *b)
{
    bed_init(b, 3, 2, 1);
    bed_service(b, 1, 2);
    bed_service(b, 0, SOLVER_ANY);
}

static void test_sizes(void)
{
    struct solver_bed b;
    static struct solver_existing many[SOLVER_MAX_GROUPS + 1];
    bed_usual(&b);
    is_int(solver_problem_check(&b.p, &b.e), 0, "a problem as usual");
    b.p.nodes_max = SOLVER_MAX_NODES + 1;
    refused(&b, ERR_TOO_LARGE, "1000001 nodes; at most 1000000");
    b.p.nodes_max = 2;
    refused(&b, ERR_INVALID, "3 to 2 nodes");
    b.p.nodes_max = 3;
    b.p.n_services = SOLVER_MAX_SERVICES + 1;
    refused(&b, ERR_TOO_LARGE, "257 services");
    b.p.n_services = 2;
    b.p.n_values = SOLVER_MAX_VALUES + 1;
    refused(&b, ERR_TOO_LARGE, "65 values");
    b.p.n_values = 0;
    bed_existing(&b, "a", SOLVER_MAX_NODES + 1, false);
    refused(&b, ERR_TOO_LARGE, "nodes that exist");
    b.p.n_services = 9;
    for (uint32_t i = 2; i < 9; i++)
        b.services[i] = b.services[1];
    for (uint32_t i = 0; i <= SOLVER_MAX_GROUPS; i++)
        many[i] = (struct solver_existing){.services.w[0] = i, .value = SOLVER_NONE, .count = 1};
    b.p.existing = many;
    b.p.n_existing = SOLVER_MAX_GROUPS;
    is_int(solver_problem_check(&b.p, &b.e), 0, "as many different nodes as there may be");
    b.p.n_existing++;
    refused(&b, ERR_TOO_LARGE, "different nodes that exist");
    bed_done(&b);
}

static void test_senseless(void)
{
    struct solver_bed b;
    bed_usual(&b);
    bed_apart(&b, "ac");
    refused(&b, ERR_INVALID, "apart 0");
    b.apart[0] = letters("");
    refused(&b, ERR_INVALID, "apart 0");
    b.p.n_apart = 0;
    bed_together(&b, "z");
    refused(&b, ERR_INVALID, "together 0");
    b.p.n_together = 0;
    b.ratios[b.p.n_ratios++] = (struct solver_ratio){0, 2, 1, 1, false};
    refused(&b, ERR_INVALID, "ratio 0");
    b.ratios[0] = (struct solver_ratio){0, 1, 1, 0, false};
    refused(&b, ERR_INVALID, "ratio 0");
    b.p.n_ratios = 0;
    b.spreads[b.p.n_spreads++] = (struct solver_spread){0, 1};
    refused(&b, ERR_INVALID, "spread 0");
    b.p.n_spreads = 0;
    bed_existing(&b, "a", 1, false);
    b.existing[0].hardware = 2;
    refused(&b, ERR_INVALID, "existing 0");
    b.p.n_existing = 0;
    bed_key(&b, SOLVER_RESOURCE, false);
    refused(&b, ERR_INVALID, "key 0");
    b.p.n_keys = 0;
    b.hardware[1].cost = -1;
    refused(&b, ERR_INVALID, "hardware 1: cost");
    b.hardware[1].cost = 1;
    bed_demand(&b, 1, 0, -1);
    refused(&b, ERR_INVALID, "service 1: resource 1");
    bed_done(&b);
}

static void test_names(void)
{
    is_text(solver_rule_name(SOLVER_RULE_EVERYWHERE), "everywhere", "a rule has its name");
    is_text(solver_status_name(SOLVER_UNSATISFIABLE), "unsatisfiable", "so has a status");
}

int main(void)
{
    test_sizes();
    test_senseless();
    test_names();
    return tap_done();
}
