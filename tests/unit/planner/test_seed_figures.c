/* test_seed_figures.c - the example that the specification goes through: three services, from the
 * sets that may share a node to the stages of creating five nodes (RFC 08, sections 4 and 5)
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase.h"
#include "base/alloc.h"
#include "solver/solver.h"

#include "tap.h"

enum { S1, S2, S3, SERVICES };
enum { HW1, HW2, IMG1 = 0, IMG2 };

static struct solver_set set_of(const uint32_t *ids, uint32_t n)
{
    struct solver_set s = {{0}};
    for (uint32_t i = 0; i < n; i++)
        solver_set_add(&s, ids[i]);
    return s;
}
#define SET(...)                                                                                   \
    set_of((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

/* s1 and s3 come together and never with s2; s1 is on hw1, once; s2 is on img1. */
static void problem_make(struct solver_problem *p, struct solver_service services[SERVICES],
                         struct solver_hardware hardware[2], struct solver_set *together,
                         struct solver_set apart[2])
{
    for (int i = 0; i < SERVICES; i++)
        services[i] = (struct solver_service){.min = i == S3 ? 0 : 1,
                                              .max = i == S1 ? 1 : SOLVER_ANY,
                                              .required = true,
                                              .hardware = i == S1 ? SET(HW1) : SET(HW1, HW2),
                                              .images = i == S2 ? SET(IMG1) : SET(IMG1, IMG2)};
    *together = SET(S1, S3);
    apart[0] = SET(S1, S2);
    apart[1] = SET(S2, S3);
    hardware[0] = hardware[1] = (struct solver_hardware){0};
    *p = (struct solver_problem){.n_services = SERVICES,
                                 .n_hardware = 2,
                                 .n_images = 2,
                                 .services = services,
                                 .hardware = hardware,
                                 .n_together = 1,
                                 .together = together,
                                 .n_apart = 2,
                                 .apart = apart,
                                 .nodes_min = 5,
                                 .nodes_max = 5};
}

static void layouts(void)
{
    struct solver_problem p;
    struct solver_service services[SERVICES];
    struct solver_hardware hardware[2];
    struct solver_set together, apart[2];
    struct solver_kind kinds[16];
    const struct solver_answer *a;
    struct err e;
    SCOPED_ARENA(mem);
    problem_make(&p, services, hardware, &together, apart);

    int sets = 0;
    for (uint32_t bits = 1; bits < 8; bits++) {
        struct solver_set s = {{bits}};
        sets += solver_services_fit(&p, &s);
    }
    is_int(sets, 2, "of seven sets of services two may share a node");
    struct solver_set s13 = SET(S1, S3), s2 = SET(S2), s1 = SET(S1), all = SET(S1, S2, S3);
    ok(solver_services_fit(&p, &s13) && solver_services_fit(&p, &s2), "s1 with s3, and s2");
    ok(!solver_services_fit(&p, &s1) && !solver_services_fit(&p, &all),
       "not s1 alone, not all three");

    is_int(solver_nodes_list(&p, kinds, 16), 4, "four layouts of a node");
    ok(solver_node_fits(&p, &s13, HW1, IMG2) && !solver_node_fits(&p, &s13, HW2, IMG1),
       "s1 only on hw1");
    ok(solver_node_fits(&p, &s2, HW2, IMG1) && !solver_node_fits(&p, &s2, HW1, IMG2),
       "s2 only on img1");

    is_int(solver_solve(&mem, &p, &(struct solver_options){0}, &a, &e), 0, "five nodes");
    is_int(a->status, SOLVER_SOLVED, "can be laid out");
    is_int((int)a->n_kinds, 2, "as two kinds");
    ok(a->kinds[0].count == 1 && solver_set_has(&a->kinds[0].services, S1) &&
           a->kinds[0].hardware == HW1 && a->kinds[0].image == IMG1,
       "one with s1 and s3");
    ok(a->kinds[1].count == 4 && solver_set_has(&a->kinds[1].services, S2), "four with s2");
}

static const uint32_t on_first[] = {S1, S3}, on_others[] = {S2};

static void creation(void)
{
    static const struct phase_depend on_both[] = {{{"s1", 2}, PHASE_AT_RUN, true},
                                                  {{"s2", 2}, PHASE_AT_RUN, true}};
    struct phase_service services[SERVICES];
    struct phase_node nodes[5];
    struct phase_cluster c = {services, SERVICES, nodes, 5};
    struct phase_work w;
    struct phase_stages st;
    struct err e;
    SCOPED_ARENA(mem);
    SCOPED(phase_deps) *deps = NULL;
    SCOPED(phase_graph) *g = NULL;
    static const char *const names[] = {"s1", "s2", "s3"};
    for (int i = 0; i < SERVICES; i++)
        services[i] = (struct phase_service){.name = str_of(names[i]),
                                             .actions = PHASE_F_INSTALL | PHASE_F_CONFIGURE |
                                                        PHASE_F_INITIALIZE | PHASE_F_START,
                                             .depends = i == S3 ? on_both : NULL,
                                             .n_depends = i == S3 ? 2 : 0};
    for (int i = 0; i < 5; i++)
        nodes[i] = (struct phase_node){.name = str_of("n"),
                                       .services = i ? on_others : on_first,
                                       .n_services = i ? 1 : 2,
                                       .machine = PHASE_F_CREATE};
    is_int(phase_deps_make(services, SERVICES, false, &deps, &e), 0, "s3 depends on s1 and s2");
    is_int(phase_work_init(&w, &c, &mem, &e), 0, "a table");
    is_int(phase_request_op(&(struct phase_request){.op = PHASE_OP_CREATE}, &c, deps, &w, &e), 0,
           "to be created");
    is_int(phase_graph_make(&c, deps, &w, &g, &e), 0, "the graph");
    is_int(g->n_tasks, 5 + 6 * 4, "a create for each node, four phases for each service");

    uint32_t waits[32], initialize = 0;
    for (uint32_t v = 0; v < g->n_tasks; v++)
        if (g->vertices[v].service == S3 && g->vertices[v].kind == PHASE_INITIALIZE)
            initialize = v;
    uint32_t n = phase_edges(g, initialize, waits, 32), starts = 0;
    for (uint32_t i = 0; i < n; i++)
        starts += g->vertices[waits[i]].kind == PHASE_START;
    is_int((int)starts, 5, "s3 is initialized when s1 and s2 have started everywhere");

    phase_stages(g, &mem, &st);
    is_int((int)st.n_levels, 7, "create, install, configure, initialize, start; then s3");
    is_int((int)st.n, 9, "and nine stages with one task of a node in each");
    static const uint32_t sizes[] = {5, 5, 1, 5, 1, 5, 5, 1, 1};
    bool same = st.n == 9;
    for (uint32_t i = 0; same && i < st.n; i++)
        same = st.first[i + 1] - st.first[i] == sizes[i];
    ok(same, "install and configure of the first node's services are in two each");
}

int main(void)
{
    layouts();
    creation();
    return tap_done();
}
