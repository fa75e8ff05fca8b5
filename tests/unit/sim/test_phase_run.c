/* test_phase_run.c - graphs of phases on the engine: plans are taken, and run as they are meant
 *
 * The engine checks itself after every step (sim/sim_phase.h).  RFC 08, sections 5 and 6.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "phase_bed.h"

#include "base/digest.h"
#include "model/states.h"
#include "sim/sim_phase.h"

enum { LONGEST_MS = 1000, ROUNDS = 300 };

struct trial {
    struct phase_bed b;
    struct sim_phase *run;
    uint32_t *took;
    bool *fails; /* by task; NULL: none */
};

static bool trial_run(struct trial *t, uint64_t seed, bool barriers)
{
    struct phase_bed *b = &t->b;
    t->took = arena_new(&b->mem, uint32_t, b->g->n_tasks);
    for (uint32_t v = 0; v < b->g->n_tasks; v++)
        t->took[v] = 1 + (uint32_t)(mix64(seed, v) % LONGEST_MS);
    sim_phase_free(t->run);
    t->run = NULL;
    struct sim_phase_request req = {.cluster = &b->c,
                                    .deps = b->d,
                                    .work = &b->w,
                                    .graph = b->g,
                                    .took_ms = t->took,
                                    .fails = t->fails,
                                    .barriers = barriers};
    if (sim_phase_run(&req, &t->run, &b->err) >= 0)
        return true;
    return ok(false, "runs: %s", b->err.text);
}

static void trial_close(struct trial *t)
{
    sim_phase_free(t->run);
    bed_done(&t->b);
}

/* All ran once, as long as they take, none before all that it waits for, and of a node one at a
 * time. */
static const char *run_wrong(struct trial *t)
{
    const struct phase_graph *g = t->b.g;
    uint32_t *deps = arena_new(&t->b.mem, uint32_t, g->n_tasks);
    if (t->run->state != OPERATION_SUCCEEDED)
        return "not succeeded";
    for (uint32_t v = 0; v < g->n_tasks; v++) {
        if (t->run->tasks[v].end_ms != t->run->tasks[v].began_ms + t->took[v])
            return "not run";
        for (uint32_t i = 0, n = phase_edges(g, v, deps, g->n_tasks); i < n; i++)
            if (t->run->tasks[deps[i]].end_ms > t->run->tasks[v].began_ms)
                return "too early";
        for (uint32_t o = g->base[g->vertices[v].node]; o < v; o++)
            if (t->run->tasks[o].began_ms < t->run->tasks[v].end_ms &&
                t->run->tasks[v].began_ms < t->run->tasks[o].end_ms)
                return "two at a time on a node";
    }
    return "";
}

static void site(struct trial *t)
{
    *t = (struct trial){0};
    bed_init(&t->b);
    bed_service(&t->b, "base: install configure");
    bed_service(&t->b, "db: all; run base; install base; one_by_one");
    bed_service(&t->b, "web: all; run db; install base; rolling 2");
    bed_service(&t->b, "ui: all upgrade; run web");
    bed_node(&t->b, "n1: base db ui");
    for (int i = 2; i <= 8; i++)
        bed_node(&t->b, arena_printf(&t->b.mem, "n%d: base %sweb", i, i < 4 ? "db " : ""));
}

static void test_operations(void)
{
    static const struct {
        enum phase_op op;
        const char *services, *nodes;
    } cases[] = {
        {PHASE_OP_CREATE, "", ""},         {PHASE_OP_DELETE, "", ""},
        {PHASE_OP_CONFIGURE, "", ""},      {PHASE_OP_CONFIGURE_RESTART, "web", ""},
        {PHASE_OP_START, "ui", ""},        {PHASE_OP_STOP, "db", ""},
        {PHASE_OP_RESTART, "", ""},        {PHASE_OP_ADD, "web", ""},
        {PHASE_OP_REMOVE, "web ui", ""},   {PHASE_OP_EXPAND, "", "n5 n6"},
        {PHASE_OP_SHRINK, "", "n2 n5 n6"}, {PHASE_OP_UPGRADE, "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int barriers = 0; barriers < 2; barriers++) {
            struct trial t;
            site(&t);
            t.b.nodes.at[5].dead = cases[i].op == PHASE_OP_SHRINK;
            if (bed_does(&t.b, cases[i].op, cases[i].services, cases[i].nodes) &&
                trial_run(&t, i + 1, barriers))
                is_text(run_wrong(&t), "", "%s%s: as it is meant", phase_op_name(cases[i].op),
                        barriers ? ", stage by stage" : "");
            trial_close(&t);
        }
}

/* At most so many at a time, from the first task of a node to its last. */
static uint32_t most_at_once(struct trial *t, const char *service)
{
    const struct phase_graph *g = t->b.g;
    uint32_t of = bed_service_find(&t->b, str_of(service)), most = 0;
    uint64_t from[64] = {0}, to[64] = {0};
    for (uint32_t v = 0; v < g->n_tasks; v++) {
        uint32_t node = g->vertices[v].node;
        if (g->vertices[v].service != of)
            continue;
        if (!to[node])
            from[node] = t->run->tasks[v].began_ms;
        to[node] = t->run->tasks[v].end_ms;
    }
    for (uint32_t i = 0; i < t->b.nodes.n; i++) {
        uint32_t n = 0;
        for (uint32_t k = 0; k < t->b.nodes.n; k++)
            n += to[k] && from[k] <= from[i] && from[i] < to[k];
        most = n > most ? n : most;
    }
    return most;
}

static void test_strategies(void)
{
    struct trial t;
    site(&t);
    if (bed_does(&t.b, PHASE_OP_UPGRADE, "", "") && trial_run(&t, 7, false)) {
        is_text(run_wrong(&t), "", "an upgrade runs");
        is_int(most_at_once(&t, "db"), 1, "one by one");
        is_int(most_at_once(&t, "web"), 2, "rolling: two at a time");
        ok(most_at_once(&t, "base") > 2, "the others all at once");
    }
    trial_close(&t);
}

/* A mixture, as going back to an earlier layout may be. */
static void test_mixture(void)
{
    static const uint16_t chains[] = {
        0,
        PHASE_F_CONFIGURE,
        PHASE_F_STOP | PHASE_F_REMOVE,
        PHASE_F_STOP | PHASE_F_START,
        PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_INITIALIZE | PHASE_F_START,
        PHASE_F_UPGRADE | PHASE_F_IN_TURN,
        PHASE_F_STOP | PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_START | PHASE_F_IN_TURN,
    };
    unsigned bad = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct trial t;
        site(&t);
        if (bed_deps(&t.b) < 0 || phase_work_init(&t.b.w, &t.b.c, &t.b.mem, NULL) < 0)
            ok(false, "a table");
        for (uint32_t i = 0; i < t.b.nodes.n; i++) {
            uint64_t r = mix64(seed, 1000 + i);
            bool made = r % 4 == 0, goes = r % 4 == 1;
            t.b.w.machine[i] = made   ? PHASE_F_CREATE | PHASE_F_CONFIRM | PHASE_F_BOOTSTRAP
                               : goes ? PHASE_F_DELETE
                                      : PHASE_F_BOOTSTRAP;
            for (uint32_t k = t.b.w.first[i]; k < t.b.w.first[i + 1]; k++)
                t.b.w.cells[k] = made ? chains[4] : chains[goes ? 2 : mix64(seed, k) % 7];
        }
        if (bed_graph(&t.b) < 0 || !trial_run(&t, seed, seed % 2) || *run_wrong(&t)) {
            bad++;
            note("seed %llu: %s", (unsigned long long)seed, t.run ? run_wrong(&t) : t.b.err.text);
        }
        trial_close(&t);
    }
    is_int(bad, 0, "%d mixtures run as they are meant", ROUNDS);
}

static void test_barriers(void)
{
    struct trial t;
    site(&t);
    if (bed_does(&t.b, PHASE_OP_CREATE, "", "") && trial_run(&t, 3, false)) {
        uint64_t direct = t.run->took_ms;
        if (trial_run(&t, 3, true))
            ok(direct < t.run->took_ms, "without barriers it takes less: %llu of %llu ms",
               (unsigned long long)direct, (unsigned long long)t.run->took_ms);
    }
    trial_close(&t);
}

/* The start of a service fails wherever it is tried. */
static bool start_fails(struct trial *t, const char *service)
{
    const struct phase_graph *g = t->b.g;
    uint32_t of = bed_service_find(&t->b, str_of(service));
    t->fails = arena_new(&t->b.mem, bool, g->n_tasks);
    for (uint32_t v = 0; v < g->n_tasks; v++)
        t->fails[v] = g->vertices[v].service == of && g->vertices[v].kind == PHASE_START;
    return true;
}

/* Nodes on which something of a service ran. */
static uint32_t touched(struct trial *t, const char *service, enum phase_kind kind)
{
    const struct phase_graph *g = t->b.g;
    uint32_t of = bed_service_find(&t->b, str_of(service)), n = 0;
    for (uint32_t v = 0; v < g->n_tasks; v++)
        n += g->vertices[v].service == of && g->vertices[v].kind == kind &&
             t->run->tasks[v].end_ms > 0;
    return n;
}

static void test_rollouts(void)
{
    static const struct {
        const char *service;
        struct graph_tolerance may;
        uint32_t most, ui;
    } cases[] = {
        {"web", {0}, 2, 0},
        {"web", {.given = true, .value = 2}, 4, 0},
        {"web", {.given = true, .percent = true, .value = 100}, 7, 1},
        {"db", {0}, 1, 0},
        {"db", {.given = true, .percent = true, .value = 34}, 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t seed = 1; seed <= 20; seed++) {
            struct trial t;
            struct phase_request req = {.op = PHASE_OP_RESTART, .in_turn = true};
            site(&t);
            t.b.services.at[bed_service_find(&t.b, str_of(cases[i].service))].failures =
                cases[i].may;
            if (bed_op(&t.b, &req) >= 0 && start_fails(&t, cases[i].service) &&
                trial_run(&t, seed, false)) {
                uint32_t n = touched(&t, cases[i].service, PHASE_STOP);
                ok(n > 0 && n <= cases[i].most, "%s, seed %d: %u are touched, %u at most",
                   cases[i].service, (int)seed, n, cases[i].most);
                is_int(touched(&t, "ui", PHASE_STOP), cases[i].ui, "who waits for all of them");
                is_text(reason_name(t.run->reason), cases[i].ui ? "" : "rollout", "and the end");
            }
            trial_close(&t);
        }
}

/* Whatever fails, nobody begins when its roll-out has stopped: the run itself looks. */
static void test_rollouts_any(void)
{
    unsigned bad = 0;
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct trial t;
        struct phase_request req = {.op = seed % 2 ? PHASE_OP_RESTART : PHASE_OP_UPGRADE,
                                    .in_turn = true};
        site(&t);
        for (uint32_t i = 0; i < t.b.services.n; i++)
            t.b.services.at[i].failures = (struct graph_tolerance){
                .given = true, .value = (int32_t)(mix64(seed, 77 + i) % 3)};
        if (bed_op(&t.b, &req) < 0)
            ok(false, "a graph");
        t.fails = arena_new(&t.b.mem, bool, t.b.g->n_tasks);
        for (uint32_t v = 0; v < t.b.g->n_tasks; v++)
            t.fails[v] = mix64(seed, 5000 + v) % 5 == 0;
        bad += !trial_run(&t, seed, false);
        trial_close(&t);
    }
    is_int(bad, 0, "%d runs in which anything fails", ROUNDS);
}

int main(void)
{
    test_rollouts();
    test_rollouts_any();
    test_operations();
    test_strategies();
    test_mixture();
    test_barriers();
    return tap_done();
}
