/* bench_plan.c - phases of a cluster: planning create at scale, and what direct dispatch is worth
 *
 * 5,000 nodes with 20 services each, which depend on each other as those of a Hadoop distribution
 * do: names resolved, table, graph, order, weights; then the stages; then the plan of the engine.
 * Best of some rounds, CPU of the process.
 *
 * 100 nodes (a master, the rest workers), each task as long as chance says: lognormal around the
 * mean of its kind.  The engine itself runs the graph in virtual time, one task of a node at a
 * time, once directly and once stage by stage; the ratio of both is the figure.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "figures.h"
#include "planner/phase_plan.h"
#include "sim/sim_phase.h"

enum { ROUNDS = 7, NODES = 5000, SMALL = 100, SEEDS = 5 };
#define SIGMA 0.5

static const struct {
    const char *name, *install, *run; /* names with blanks between */
    bool master;                      /* of the small cluster: on the first node only */
} catalog[] = {
    {"base", "", "", false},
    {"kerberos-client", "base", "", false},
    {"kerberos-master", "base", "", true},
    {"namenode", "base kerberos-client", "kerberos-master", true},
    {"journalnode", "base kerberos-client", "kerberos-master", true},
    {"secondarynamenode", "base", "namenode", true},
    {"datanode", "base kerberos-client", "namenode secondarynamenode kerberos-master", false},
    {"resourcemanager", "base kerberos-client", "namenode datanode kerberos-master", true},
    {"nodemanager", "base kerberos-client", "resourcemanager kerberos-master", false},
    {"historyserver", "base", "namenode datanode resourcemanager", true},
    {"zookeeper", "base kerberos-client", "kerberos-master", true},
    {"hbase-master", "base zookeeper", "namenode datanode zookeeper", true},
    {"hbase-regionserver", "base zookeeper", "hbase-master zookeeper", false},
    {"mysql", "base", "", true},
    {"hive-metastore-database", "", "mysql", true},
    {"hive-metastore", "base", "nodemanager mysql hive-metastore-database", true},
    {"hive-server", "base", "hive-metastore", true},
    {"oozie", "base", "hive-server historyserver mysql", true},
    {"spark", "base", "resourcemanager nodemanager", false},
    {"monitor", "base", "", false},
};
enum { SERVICES = sizeof catalog / sizeof *catalog };

struct site {
    struct arena mem;
    struct phase_service services[SERVICES];
    struct phase_cluster c;
    struct phase_place *places, *machines;
    uint32_t *ids;
    struct phase_step steps[(SERVICES + 1) * PHASE_KIND_COUNT];
};

static void die(const struct err *e)
{
    fprintf(stderr, "bench_plan: %s\n", e->text);
    exit(2);
}

static void depends_add(struct site *s, struct phase_service *to, const char *names, uint8_t when)
{
    struct phase_depend *all = arena_new(&s->mem, struct phase_depend, SERVICES * 2);
    for (uint32_t i = 0; i < to->n_depends; i++)
        all[i] = to->depends[i];
    for (size_t n; *names; names += n + strspn(names + n, " ")) {
        n = strcspn(names, " ");
        all[to->n_depends++] = (struct phase_depend){{names, n}, when, true};
    }
    to->depends = all;
}

/* masters: services of masters are on the first node only, and that has no others but base. */
static void site_open(struct site *s, uint32_t n_nodes, bool masters)
{
    struct phase_node *nodes;
    *s = (struct site){0};
    arena_init(&s->mem);
    for (uint32_t i = 0; i < SERVICES; i++) {
        s->services[i] = (struct phase_service){.name = str_of(catalog[i].name),
                                                .actions = PHASE_F_INSTALL | PHASE_F_CONFIGURE |
                                                           PHASE_F_INITIALIZE | PHASE_F_START};
        depends_add(s, &s->services[i], catalog[i].install, PHASE_AT_INSTALL);
        depends_add(s, &s->services[i], catalog[i].run, PHASE_AT_RUN);
    }
    nodes = arena_new(&s->mem, struct phase_node, n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t *on = arena_new(&s->mem, uint32_t, SERVICES), n = 0;
        for (uint32_t k = 0; k < SERVICES; k++)
            if (!masters || k == 0 || catalog[k].master == (i == 0))
                on[n++] = k;
        nodes[i] = (struct phase_node){.name = str_of(arena_printf(&s->mem, "n%u", i)),
                                       .services = on,
                                       .n_services = n,
                                       .machine = PHASE_F_CREATE | PHASE_F_CONFIRM |
                                                  PHASE_F_BOOTSTRAP};
    }
    s->c = (struct phase_cluster){s->services, SERVICES, nodes, n_nodes};
    s->places = arena_new(&s->mem, struct phase_place, (size_t)n_nodes * SERVICES);
    uint32_t cell = 0;
    s->machines = arena_new(&s->mem, struct phase_place, n_nodes);
    s->ids = arena_new(&s->mem, uint32_t, n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++) {
        s->ids[i] = i + 1;
        s->machines[i] = (struct phase_place){
            .role = str_of("machine"), .cohort = 1, .user = str_of("")};
        for (uint32_t k = 0; k < nodes[i].n_services; k++)
            s->places[cell++] = (struct phase_place){
                .role = s->services[nodes[i].services[k]].name, .cohort = 2, .user = str_of("")};
    }
}

/* --- planning --- */

static uint32_t no_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    (void)ctx;
    (void)ret_size;
    (void)name;
    return 0;
}

static uint32_t no_def(void *ctx, uint64_t digest)
{
    (void)ctx;
    (void)digest;
    return 0;
}

static int phase_is(void *ctx, uint32_t service, enum phase_kind phase, uint32_t variant,
                    struct phase_steps *ret, struct err *e)
{
    struct site *s = ctx;
    uint32_t of = service == PHASE_NIL ? SERVICES : service;
    struct phase_step *step = &s->steps[of * PHASE_KIND_COUNT + (uint32_t)phase];
    (void)variant;
    (void)e;
    step->def = (struct plan_def){.name = str_of(phase_kind_name(phase)),
                                  .role = str_of("role"),
                                  .jig = 1,
                                  .digest = mix64(of + 1, (uint64_t)phase + 1),
                                  .body = str_of("{}")};
    *ret = (struct phase_steps){step, 1};
    return 0;
}

struct made {
    struct phase_deps *deps;
    struct phase_work work;
    struct phase_graph *graph;
};

static void made_graph(struct site *s, struct arena *mem, struct made *m)
{
    struct err e;
    *m = (struct made){0};
    if (phase_deps_make(s->services, SERVICES, false, &m->deps, &e) < 0 ||
        phase_work_init(&m->work, &s->c, mem, &e) < 0 ||
        phase_request_op(&(struct phase_request){.op = PHASE_OP_CREATE}, &s->c, m->deps, &m->work,
                         &e) < 0 ||
        phase_graph_make(&s->c, m->deps, &m->work, &m->graph, &e) < 0)
        die(&e);
}

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void least(double *best, double value)
{
    *best = value < *best ? value : *best;
}

static void planning(struct figures *f)
{
    static struct site s;
    const struct planner_world world = {.pool = no_pool, .def = no_def};
    double graph = 1e9, stages = 1e9, plan = 1e9, all = 1e9;
    struct made m;
    site_open(&s, NODES, false);
    for (int i = 0; i < ROUNDS; i++) {
        SCOPED_ARENA(mem);
        struct phase_stages st;
        struct phase_plan p;
        struct err e;
        double t = cpu_s();
        made_graph(&s, &mem, &m);
        double at_graph = cpu_s() - t;
        phase_stages(m.graph, &mem, &st);
        double at_stages = cpu_s() - t;
        if (phase_plan_make(&(struct phase_plan_request){.graph = m.graph,
                                                         .work = &m.work,
                                                         .services = s.places,
                                                         .machines = s.machines,
                                                         .nodes = s.ids,
                                                         .world = &world,
                                                         .deployment = 1,
                                                         .steps = phase_is,
                                                         .ctx = &s},
                            &p, &e) < 0)
            die(&e);
        double at_plan = cpu_s() - t;
        least(&graph, at_graph);
        least(&stages, at_stages);
        least(&plan, at_graph + at_plan - at_stages);
        least(&all, at_plan);
        if (i == 0) {
            figure_seen("plan: tasks of create, 5,000 x 20", m.graph->n_tasks, "tasks");
            figure_seen("plan: joins", m.graph->n_joins, "joins");
            figure_seen("plan: edges with joins", m.graph->first[m.graph->n], "edges");
            figure_seen("plan: edges pair by pair", (double)phase_edges_count(m.graph), "edges");
            figure_seen("plan: stages", st.n, "stages");
        }
        plan_free(p.plan);
        phase_graph_free(m.graph);
        phase_deps_free(m.deps);
    }
    const char *peer = "Coopr, from the literature: 73.8 s at 500 nodes";
    figure(f, "plan: graph of create, 5,000 x 20", graph, AT_MOST, 0.1, "s cpu", NULL);
    figure(f, "plan: and its stages", stages, AT_MOST, 0.25, "s cpu", peer);
    figure(f, "plan: graph and plan of the engine", plan, AT_MOST, 0.25, "s cpu", NULL);
    figure(f, "plan: all three", all, AT_MOST, 0.5, "s cpu", NULL);
    arena_done(&s.mem);
}

/* --- makespan --- */

static double chance(uint64_t seed, uint64_t n) /* in (0, 1) */
{
    return ((double)(mix64(mix64(seed, n), n + 1) >> 11) + 0.5) / 9007199254740992.0;
}

/* Lognormal with the mean of its kind, as assumed of such clusters. */
static uint32_t took_ms(uint64_t seed, uint32_t v, enum phase_kind kind)
{
    static const double mean_s[PHASE_KIND_COUNT] = {
        [PHASE_CREATE] = 5,   [PHASE_CONFIRM] = 90,   [PHASE_BOOTSTRAP] = 40,
        [PHASE_INSTALL] = 60, [PHASE_CONFIGURE] = 20, [PHASE_INITIALIZE] = 15,
        [PHASE_START] = 10,
    };
    double z = sqrt(-2 * log(chance(seed, 2 * (uint64_t)v))) *
               cos(2 * M_PI * chance(seed, 2 * (uint64_t)v + 1));
    return 1 + (uint32_t)(1000 * mean_s[kind] * exp(SIGMA * z - SIGMA * SIGMA / 2));
}

static double makespan(struct site *s, const struct made *m, const uint32_t *took, bool barriers)
{
    struct sim_phase *run;
    struct err e;
    if (sim_phase_run(&(struct sim_phase_request){.cluster = &s->c,
                                                  .deps = m->deps,
                                                  .work = &m->work,
                                                  .graph = m->graph,
                                                  .took_ms = took,
                                                  .barriers = barriers},
                      &run, &e) < 0)
        die(&e);
    double t = (double)run->took_ms / 1000;
    sim_phase_free(run);
    return t;
}

static void dispatching(struct figures *f)
{
    static struct site s;
    SCOPED_ARENA(mem);
    struct made m;
    double direct = 0, staged = 0, worst = 0;
    site_open(&s, SMALL, true);
    made_graph(&s, &mem, &m);
    uint32_t *took = arena_new(&mem, uint32_t, m.graph->n_tasks);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (uint32_t v = 0; v < m.graph->n_tasks; v++)
            took[v] = took_ms(seed, v, (enum phase_kind)m.graph->vertices[v].kind);
        double d = makespan(&s, &m, took, false), b = makespan(&s, &m, took, true);
        direct += d / SEEDS;
        staged += b / SEEDS;
        worst = d / b > worst ? d / b : worst;
    }
    figure_seen("plan: create of 100 nodes, directly", direct, "s virtual");
    figure_seen("plan: the same stage by stage", staged, "s virtual");
    figure(f, "plan: makespan, direct / stages, worst seed", worst, AT_MOST, 0.6, "ratio",
           "stage barriers, same tasks and engine");
    phase_graph_free(m.graph);
    phase_deps_free(m.deps);
    arena_done(&s.mem);
}

int main(void)
{
    struct figures f = {0};
    planning(&f);
    dispatching(&f);
    return f.missed ? 1 : 0;
}
