/* sim_phase.c - a graph of phases run in virtual time, from end to end
 *
 * Who lives is bound by a first plan, made of the same cluster with nothing to do; then comes the
 * operation.  Time goes from one end of a task to the next, or to a timer of the engine if that is
 * due before.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_phase.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/digest.h"
#include "model/plan.h"
#include "model/states.h"
#include "model/taskmsg.h"
#include "planner/phase_plan.h"
#include "sim/sim_stage_i.h"

enum { MACHINE_COHORT = 1, SERVICE_COHORT = 2 };
enum { NEVER_TIMEOUT_MS = 7 * 24 * 3600 * 1000 };

struct under_way {
    uint64_t end_ms;
    struct dispatch what;
    uint32_t vertex;
};
struct phase_run {
    const struct sim_phase_request *req;
    const struct phase_graph *g; /* that is run */
    struct sim_stage stage;
    uint64_t began;
    struct arena mem;
    struct phase_place *services, *machines;
    uint32_t *nodes;
    struct phase_step *all_steps; /* by service (machines behind them) and phase */
    uint32_t first_task, *vertex_of;
    VEC(struct under_way) heap; /* the first to end on top */
    struct sim_phase *out;
    struct sim_phase_task *tasks;
};

/* --- the engine --- */

static void heap_push(struct phase_run *r, struct under_way u)
{
    size_t i = r->heap.n;
    vec_push(&r->heap, u);
    for (; i && r->heap.at[(i - 1) / 2].end_ms > u.end_ms; i = (i - 1) / 2)
        r->heap.at[i] = r->heap.at[(i - 1) / 2];
    r->heap.at[i] = u;
}

static struct under_way heap_pop(struct phase_run *r)
{
    struct under_way top = r->heap.at[0], last = r->heap.at[--r->heap.n];
    size_t i = 0, n = r->heap.n;
    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && r->heap.at[c + 1].end_ms < r->heap.at[c].end_ms;
        if (r->heap.at[c].end_ms >= last.end_ms)
            break;
        r->heap.at[i] = r->heap.at[c];
    }
    if (n)
        r->heap.at[i] = last;
    return top;
}

static int step(struct phase_run *r, struct event ev)
{
    int rc = sim_stage_step(&r->stage, ev);
    for (size_t i = 0; rc >= 0 && i < r->stage.fx.sends.n; i++) {
        struct dispatch d = r->stage.fx.sends.at[i];
        uint32_t v = r->vertex_of[d.task - r->first_task];
        if (v == PHASE_NIL)
            return err_set(r->stage.e, ERR_CORRUPT, "task %u runs, which was to be passed over",
                           d.task);
        r->tasks[v].began_ms = r->stage.now - r->began;
        heap_push(r, (struct under_way){r->stage.now + r->req->took_ms[v], d, v});
    }
    return rc;
}

static int plan_apply(struct phase_run *r, struct plan *p, uint32_t op)
{
    sim_stage_rebase(&r->stage, p);
    return step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
}

/* --- plans --- */

static uint32_t world_no_pool(void *ctx, struct str name, uint32_t *ret_size)
{
    (void)ctx;
    (void)ret_size;
    (void)name;
    return 0;
}

static uint32_t world_no_def(void *ctx, uint64_t digest)
{
    (void)ctx;
    (void)digest;
    return 0;
}

/* Each phase is one step. */
static int phase_is(void *ctx, uint32_t service, enum phase_kind phase, uint32_t variant,
                    struct phase_steps *ret, struct err *e)
{
    struct phase_run *r = ctx;
    const struct phase_cluster *c = r->req->cluster;
    uint32_t of = service == PHASE_NIL ? c->n_services : service;
    struct phase_step *s = &r->all_steps[of * PHASE_KIND_COUNT + (uint32_t)phase];
    (void)variant;
    (void)e;
    s->def = (struct plan_def){.name = str_of(phase_kind_name(phase)),
                               .role = service == PHASE_NIL ? str_of("machine")
                                                            : c->services[service].name,
                               .jig = STAGE_JIG,
                               .digest = mix64(of + 1, (uint64_t)phase + 1),
                               .repeat = REPEAT_SAFE,
                               .timeout_ms = NEVER_TIMEOUT_MS,
                               .body = str_of("{\"type\":\"simulated\",\"params\":{}}")};
    *ret = (struct phase_steps){s, 1};
    return 0;
}

static int plan_make(struct phase_run *r, const struct phase_graph *g, const struct phase_work *w,
                     struct phase_plan *ret)
{
    const struct planner_world world = {.pool = world_no_pool, .def = world_no_def};
    return phase_plan_make(&(struct phase_plan_request){.graph = g,
                                                        .work = w,
                                                        .services = r->services,
                                                        .machines = r->machines,
                                                        .nodes = r->nodes,
                                                        .world = &world,
                                                        .deployment = STAGE_DEPLOYMENT,
                                                        .steps = phase_is,
                                                        .ctx = r},
                           ret, r->stage.e);
}

/* --- who lives --- */

static bool machine_lives(const struct phase_run *r, uint32_t node)
{
    return !(r->req->work->machine[node] & r->req->cluster->nodes[node].machine & PHASE_F_CREATE);
}

static bool service_lives(const struct phase_run *r, uint32_t node, uint32_t cell)
{
    uint16_t phases = r->req->work->cells[cell];
    return machine_lives(r, node) && (!(phases & PHASE_F_INSTALL) || phases & PHASE_F_IN_TURN);
}

static void places_set(struct phase_run *r)
{
    const struct phase_cluster *c = r->req->cluster;
    const struct phase_work *w = r->req->work;
    r->machines = arena_new(&r->mem, struct phase_place, c->n_nodes);
    r->services = arena_new(&r->mem, struct phase_place, w->first[c->n_nodes]);
    r->nodes = arena_new(&r->mem, uint32_t, c->n_nodes);
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        r->nodes[i] = i + 1;
        r->machines[i] = (struct phase_place){.role = str_of("machine"),
                                              .cohort = MACHINE_COHORT,
                                              .user = str_of(""),
                                              .absent = !machine_lives(r, i)};
        for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++)
            r->services[k] = (struct phase_place){
                .role = c->services[c->nodes[i].services[k - w->first[i]]].name,
                .cohort = SERVICE_COHORT,
                .user = str_of(""),
                .absent = !service_lives(r, i, k)};
    }
}

static bool place_live(struct phase_place *p, uint32_t *id, bool removed)
{
    if (p->absent) { /* it is new */
        p->absent = false;
        return false;
    }
    p->noderole = ++*id;
    p->removed = removed;
    return !removed;
}

/* The whole chain of its target: what was done before is kept, a stop on the way is of this
 * occasion. */
static void chain_keep(struct phase_place *p, uint16_t has, uint16_t phases)
{
    uint16_t chain = PHASE_F_INSTALL | PHASE_F_CONFIGURE | PHASE_F_INITIALIZE | PHASE_F_START;
    phases &= has;
    if (phases & PHASE_F_STOP && !(phases & PHASE_F_START)) {
        p->target = TARGET_STOPPED;
        chain = PHASE_F_INSTALL | PHASE_F_CONFIGURE;
    } else {
        p->once = PHASE_F_STOP | PHASE_F_UPGRADE | PHASE_F_ACTION;
    }
    p->kept = chain & has & ~phases;
}

/* Noderoles of the first plan have their ids in its order. */
static void places_live(struct phase_run *r)
{
    const struct phase_cluster *c = r->req->cluster;
    const struct phase_work *w = r->req->work;
    uint32_t id = 0;
    for (uint32_t i = 0; i < c->n_nodes; i++) {
        bool goes = w->machine[i] & c->nodes[i].machine & PHASE_F_DELETE;
        if (place_live(&r->machines[i], &id, goes))
            r->machines[i].kept = PHASE_F_CREATE | PHASE_F_CONFIRM;
        r->machines[i].undoes = !goes;
        for (uint32_t k = w->first[i]; k < w->first[i + 1]; k++)
            if (place_live(&r->services[k], &id, goes || w->cells[k] & PHASE_F_REMOVE))
                chain_keep(&r->services[k],
                           c->services[c->nodes[i].services[k - w->first[i]]].actions, w->cells[k]);
    }
}

static int living_bind(struct phase_run *r)
{
    struct phase_work nothing;
    struct phase_plan made;
    SCOPED(phase_graph) *g = NULL;
    places_set(r);
    int rc = phase_work_init(&nothing, r->req->cluster, &r->mem, r->stage.e);
    if (rc >= 0)
        rc = phase_graph_make(r->req->cluster, r->req->deps, &nothing, &g, r->stage.e);
    if (rc >= 0)
        rc = plan_make(r, g, &nothing, &made);
    if (rc < 0)
        return rc;
    rc = plan_apply(r, made.plan, STAGE_BINDING);
    plan_free(made.plan);
    places_live(r);
    return rc;
}

/* --- barriers --- */

/* The same tasks; all of a stage wait for a join that waits for all of the stage before. */
static void barriers_make(const struct phase_graph *g, struct arena *mem, struct phase_graph *ret)
{
    struct phase_stages st;
    phase_stages(g, mem, &st);
    uint32_t n_joins = st.n ? st.n - 1 : 0, n = g->n_tasks + n_joins, at = 0, placed = 0;
    struct phase_join *joins = arena_new(mem, struct phase_join, n_joins);
    uint32_t *stage = arena_new(mem, uint32_t, g->n_tasks);
    *ret = *g;
    ret->n_joins = n_joins;
    ret->n = n;
    ret->joins = joins;
    ret->vertices = arena_new(mem, struct phase_vertex, n);
    ret->first = arena_new(mem, uint32_t, (size_t)n + 1);
    ret->deps = arena_new(mem, uint32_t, 2 * (size_t)g->n_tasks);
    ret->order = arena_new(mem, uint32_t, n);
    for (uint32_t s = 0; s < st.n; s++) {
        for (uint32_t i = st.first[s]; i < st.first[s + 1]; i++) {
            stage[st.tasks[i]] = s;
            ret->order[placed++] = st.tasks[i];
        }
        if (s < n_joins)
            ret->order[placed++] = g->n_tasks + s;
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t s = v - g->n_tasks;
        ret->first[v] = at;
        if (v < g->n_tasks) {
            ret->vertices[v] = g->vertices[v];
            ret->vertices[v].span = 0; /* held from stage to stage, it would keep others out */
            if (stage[v])
                ret->deps[at++] = g->n_tasks + stage[v] - 1;
            continue;
        }
        joins[s] = (struct phase_join){.kind = PHASE_JOIN};
        ret->vertices[v] = (struct phase_vertex){.node = PHASE_NIL, .kind = PHASE_JOIN};
        for (uint32_t i = st.first[s]; i < st.first[s + 1]; i++)
            ret->deps[at++] = st.tasks[i];
    }
    ret->first[n] = at;
}

/* --- running --- */

static int graph_apply(struct phase_run *r)
{
    struct phase_plan made;
    int rc = plan_make(r, r->g, r->req->work, &made);
    if (rc < 0)
        return rc;
    r->vertex_of = arena_new(&r->mem, uint32_t, made.plan->n_tasks);
    for (uint32_t i = 0; i < made.plan->n_tasks; i++)
        r->vertex_of[i] = PHASE_NIL;
    for (uint32_t v = 0; v < r->g->n; v++)
        r->vertex_of[made.task_of[v]] = v;
    r->first_task = anneal_task_end(r->stage.engine);
    r->began = r->stage.now;
    rc = plan_apply(r, made.plan, STAGE_OPERATION);
    plan_free(made.plan);
    return rc;
}

static int go_on(struct phase_run *r)
{
    uint64_t due = anneal_next_timer(r->stage.engine);
    if (r->heap.n && r->heap.at[0].end_ms <= due) {
        struct under_way u = heap_pop(r);
        r->stage.now = u.end_ms;
        r->tasks[u.vertex].end_ms = r->stage.now - r->began;
        bool fails = r->req->fails && r->req->fails[u.vertex];
        return step(r, (struct event){.kind = EVENT_RESULT,
                                      .id = u.what.task,
                                      .attempt = u.what.attempt,
                                      .extra = u.what.asks,
                                      .flag = fails ? OUTCOME_FAILED : OUTCOME_OK,
                                      .exit_code = fails});
    }
    if (due == UINT64_MAX)
        return err_set(r->stage.e, ERR_CORRUPT, "the simulated run stands still after step %u",
                       r->stage.steps);
    r->stage.now = due > r->stage.now ? due : r->stage.now;
    return step(r, (struct event){.kind = EVENT_TICK});
}

static bool is_open(const struct phase_run *r)
{
    struct operation_view op;
    return anneal_operation(r->stage.engine, STAGE_OPERATION, &op) && op.state == OPERATION_RUNNING;
}

static int run_through(struct phase_run *r)
{
    int rc = 0;
    while (rc >= 0 && (r->heap.n || is_open(r)))
        rc = go_on(r);
    return rc < 0 ? rc : sim_stage_check(&r->stage);
}

static void end_note(struct phase_run *r)
{
    struct operation_view op = {0};
    (void)anneal_operation(r->stage.engine, STAGE_OPERATION, &op);
    r->out->state = op.state;
    r->out->reason = op.reason;
    r->out->tasks = r->tasks;
    for (uint32_t t = r->first_task; t < anneal_task_end(r->stage.engine); t++) {
        uint32_t v = r->vertex_of[t - r->first_task];
        struct task_view view;
        if (v >= r->g->n_tasks || !anneal_task(r->stage.engine, t, &view))
            continue;
        r->tasks[v].state = view.state;
        r->tasks[v].reason = view.reason;
    }
    for (uint32_t v = 0; v < r->g->n_tasks; v++)
        if (r->tasks[v].end_ms > r->out->took_ms)
            r->out->took_ms = r->tasks[v].end_ms;
}

/* --- from end to end --- */

int sim_phase_run(const struct sim_phase_request *req, struct sim_phase **ret, struct err *e)
{
    struct err unread;
    struct phase_graph staged;
    struct phase_run r = {.req = req, .g = req->graph, .stage = {.e = e ? e : &unread, .now = 1}};
    arena_init(&r.mem);
    r.stage.check_every = 1 + (r.g->n + req->cluster->n_nodes) / STAGE_CHECK_SIZE;
    r.stage.check_every *= r.stage.check_every;
    r.out = xcalloc(1, sizeof *r.out);
    arena_init(&r.out->mem);
    r.tasks = arena_new(&r.out->mem, struct sim_phase_task, r.g->n_tasks);
    r.all_steps = arena_new(&r.mem, struct phase_step,
                            ((size_t)req->cluster->n_services + 1) * PHASE_KIND_COUNT);
    if (req->barriers) {
        barriers_make(req->graph, &r.mem, &staged);
        r.g = &staged;
    }
    uint32_t n = req->cluster->n_nodes;
    int rc = sim_stage_open(&r.stage, req->workers ? req->workers : n, n);
    if (rc >= 0)
        rc = living_bind(&r);
    if (rc >= 0)
        rc = graph_apply(&r);
    if (rc >= 0)
        rc = run_through(&r);
    if (rc >= 0)
        end_note(&r);
    sim_stage_done(&r.stage);
    vec_done(&r.heap);
    arena_done(&r.mem);
    if (rc < 0) {
        sim_phase_free(r.out);
        return rc;
    }
    *ret = r.out;
    return 0;
}

void sim_phase_free(struct sim_phase *p)
{
    if (!p)
        return;
    arena_done(&p->mem);
    free(p);
}
