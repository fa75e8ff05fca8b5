/* sim_graph.c - a task graph run in virtual time, from end to end
 *
 * Who is there is said as a server's deployment would have it: a noderole for each group of a node,
 * one of CATALOG_CARRIER where tasks belong to no group, all bound and in service before the graph
 * is applied.  Every type has a jig: those of the catalog, and one for all the others.
 *
 * Time goes on a little with each answer, and never so far that an attempt would be given up: how
 * long things take is not known here.  When nothing is under way it jumps to what is waited for.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_graph.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "planner/weave_plan.h"
#include "sim/rng_i.h"
#include "sim/sim_stage_i.h"

struct run {
    const struct sim_graph_request *req;
    const struct weave *w;
    struct sim_stage stage;
    struct rng rng;
    VEC(struct weave_member) members;
    VEC(struct str) roles;      /* by member */
    VEC(struct dispatch) under; /* way */
    bool *fails;                /* by vertex */
    uint32_t *vertex_of;        /* by task of the plan; WEAVE_NONE: none of the weave's */
    uint32_t first_task;        /* of the plan */
    struct sim_graph *out;
    struct sim_graph_task *tasks;
};

/* --- the engine --- */

static int step(struct run *r, struct event ev)
{
    int rc = sim_stage_step(&r->stage, ev);
    for (size_t i = 0; rc >= 0 && i < r->stage.fx.sends.n; i++)
        vec_push(&r->under, r->stage.fx.sends.at[i]);
    return rc;
}

static int plan_apply(struct run *r, struct plan *p, uint32_t op)
{
    sim_stage_rebase(&r->stage, p);
    return step(r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = p});
}

/* --- who is there --- */

static void member_add(struct run *r, uint32_t node, uint32_t group, size_t from)
{
    for (size_t i = from; i < r->members.n; i++)
        if (r->members.at[i].group == group)
            return;
    struct weave_member m = {.noderole = (uint32_t)r->members.n + 1, .group = group, .node = node};
    vec_push(&r->members, m);
    vec_push(&r->roles,
             group == WEAVE_NONE ? str_of(CATALOG_CARRIER) : r->w->graph->vertices[group].id);
}

static void node_members(struct run *r, uint32_t node)
{
    const struct weave *w = r->w;
    size_t from = r->members.n;
    uint32_t end = w->base[node + 1];
    for (uint32_t i = 0; node < w->n_nodes && i < r->req->of->nodes[node].n_names; i++) {
        uint32_t group = catalog_graph_find(w->graph, r->req->of->nodes[node].names[i]);
        if (group != CATALOG_NONE && w->graph->vertices[group].kind == VERTEX_GROUP)
            member_add(r, node, group, from);
    }
    for (uint32_t v = w->base[node]; v < end; v++)
        for (const struct weave_role *s = weave_serves(w, v); s; s = s->next)
            member_add(r, node, s->group, from);
    if (end > w->base[node] && r->members.n == from)
        member_add(r, node, WEAVE_NONE, from);
}

/* All of them bound, without tasks, as they are before a graph is deployed. */
static int members_bind(struct run *r)
{
    SCOPED(plan) *p = plan_new();
    for (uint32_t i = 0; i <= r->w->n_nodes; i++)
        node_members(r, i);
    p->noderoles = arena_new(&p->mem, struct plan_noderole, r->members.n);
    p->n_noderoles = (uint32_t)r->members.n;
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        p->noderoles[i] = (struct plan_noderole){.role = r->roles.at[i],
                                                 .node = r->members.at[i].node + 1,
                                                 .deployment = STAGE_DEPLOYMENT,
                                                 .cohort = 1,
                                                 .user = str_of("")};
    return plan_apply(r, p, STAGE_BINDING);
}

/* --- the graph --- */

static bool world_jig_any(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    (void)ctx;
    (void)name;
    *ret_id = STAGE_JIG;
    *ret_active = true;
    return true;
}

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

static int graph_apply(struct run *r)
{
    const struct planner_world world = {
        .jig = world_jig_any, .pool = world_no_pool, .def = world_no_def};
    const struct catalog_jig any = {.name = str_of("simulated"),
                                    .implementation = str_of("simulated"),
                                    .implementor = CATALOG_NONE,
                                    .reach = REACH_NODE,
                                    .active = true};
    const struct weave_plan_request req = {.weave = r->w,
                                           .of = r->req->of,
                                           .cat = r->req->cat,
                                           .any_jig = &any,
                                           .world = &world,
                                           .deployment = STAGE_DEPLOYMENT,
                                           .members = r->members.at,
                                           .n_members = (uint32_t)r->members.n};
    struct weave_plan made;
    int rc = weave_plan_make(&req, &made, r->stage.e);
    if (rc < 0)
        return rc;
    r->vertex_of = arena_new(&r->out->mem, uint32_t, made.plan->n_tasks);
    for (uint32_t i = 0; i < made.plan->n_tasks; i++)
        r->vertex_of[i] = WEAVE_NONE;
    for (uint32_t v = 0; v < r->w->n; v++)
        r->vertex_of[made.task_of[v]] = v;
    r->first_task = anneal_task_end(r->stage.engine);
    rc = plan_apply(r, made.plan, STAGE_OPERATION);
    plan_free(made.plan);
    return rc;
}

/* --- what fails --- */

static int word_check(struct run *r, struct str word, const bool *marked)
{
    const struct weave *w = r->w;
    const char *why = "it is a stage, which nothing executes";
    for (uint32_t v = w->n_stages; v < w->n_stages + w->n_tasks; v++) {
        if (!marked[v])
            continue;
        if (w->vertices[v].reason == WEAVE_RUN)
            return 0;
        why = weave_reason_name((enum weave_reason)w->vertices[v].reason);
    }
    err_set(r->stage.e, ERR_NOT_FOUND, "--fail: nothing of %.*s is run", (int)word.n, word.s);
    return err_hint(r->stage.e, "%s", why);
}

static int fails_mark(struct run *r)
{
    uint32_t n = r->w->n_stages + r->w->n_tasks;
    r->fails = arena_new(&r->out->mem, bool, r->w->n);
    bool *marked = xcalloc(n ? n : 1, sizeof *marked);
    int rc = 0;
    for (uint32_t i = 0; i < r->req->n_fails && rc >= 0; i++) {
        for (uint32_t v = 0; v < n; v++)
            marked[v] = false;
        rc = weave_words_mark(r->w, r->req->of, "--fail", &r->req->fails[i], 1, marked, r->stage.e);
        if (rc >= 0)
            rc = word_check(r, r->req->fails[i], marked);
        for (uint32_t v = 0; v < n; v++)
            r->fails[v] |= marked[v];
    }
    free(marked);
    return rc;
}

/* --- running --- */

/* What the last step sent has begun. */
static void starts_note(struct run *r, size_t from)
{
    for (size_t i = from; i < r->under.n; i++) {
        struct sim_graph_task *t = &r->tasks[r->vertex_of[r->under.at[i].task - r->first_task]];
        r->out->n_moments++;
        r->out->n_attempts++;
        if (!t->attempts++)
            t->began = r->out->n_moments;
    }
}

static int answer(struct run *r)
{
    uint32_t i = rng_below(&r->rng, (uint32_t)r->under.n);
    struct dispatch d = r->under.at[i];
    uint32_t v = r->vertex_of[d.task - r->first_task];
    r->under.at[i] = r->under.at[--r->under.n];
    size_t from = r->under.n;
    if (r->stage.now + 1 < anneal_next_timer(r->stage.engine))
        r->stage.now++;
    r->tasks[v].end = ++r->out->n_moments;
    int rc = step(r, (struct event){.kind = EVENT_RESULT,
                                    .id = d.task,
                                    .attempt = d.attempt,
                                    .extra = d.asks,
                                    .flag = r->fails[v] ? OUTCOME_FAILED : OUTCOME_OK,
                                    .exit_code = r->fails[v]});
    starts_note(r, from);
    return rc;
}

static int wait_for_timer(struct run *r)
{
    uint64_t due = anneal_next_timer(r->stage.engine);
    if (due == UINT64_MAX)
        return err_set(r->stage.e, ERR_CORRUPT, "the simulated run stands still after step %u",
                       r->stage.steps);
    r->stage.now = due > r->stage.now ? due : r->stage.now;
    int rc = step(r, (struct event){.kind = EVENT_TICK});
    starts_note(r, 0);
    return rc;
}

static bool is_open(const struct run *r)
{
    struct operation_view op;
    return anneal_operation(r->stage.engine, STAGE_OPERATION, &op) && op.state == OPERATION_RUNNING;
}

static int run_through(struct run *r)
{
    int rc = 0;
    starts_note(r, 0);
    while (rc >= 0 && (r->under.n || is_open(r)))
        rc = r->under.n ? answer(r) : wait_for_timer(r);
    return rc < 0 ? rc : sim_stage_check(&r->stage);
}

/* --- how it ended --- */

static void noderoles_note(struct run *r)
{
    uint32_t end = anneal_noderole_end(r->stage.engine);
    struct sim_graph_noderole *all = arena_new(&r->out->mem, struct sim_graph_noderole, end);
    for (uint32_t id = 1; id < end; id++) {
        struct noderole_view v = {0};
        (void)anneal_noderole(r->stage.engine, id, &v);
        all[id - 1] = (struct sim_graph_noderole){
            id <= r->roles.n ? r->roles.at[id - 1] : str_of(CATALOG_CARRIER),
            v.node ? v.node - 1 : WEAVE_NONE, v.state, v.reason};
    }
    r->out->noderoles = all;
    r->out->n_noderoles = end - 1;
}

static void end_note(struct run *r)
{
    struct operation_view op = {0};
    (void)anneal_operation(r->stage.engine, STAGE_OPERATION, &op);
    r->out->state = op.state;
    r->out->reason = op.reason;
    r->out->virtual_ms = r->stage.now;
    for (uint32_t t = r->first_task; t < anneal_task_end(r->stage.engine); t++) {
        uint32_t v = r->vertex_of[t - r->first_task];
        struct task_view view;
        if (v == WEAVE_NONE || !anneal_task(r->stage.engine, t, &view))
            continue;
        r->tasks[v].state = view.state;
        r->tasks[v].reason = view.reason;
        r->tasks[v].noderole = view.noderole - 1;
    }
    r->out->tasks = r->tasks;
    noderoles_note(r);
}

/* --- from end to end --- */

int sim_graph_run(const struct sim_graph_request *req, struct sim_graph **ret, struct err *e)
{
    struct err unread;
    struct run r = {
        .req = req,
        .w = req->weave,
        .rng = {.key = req->seed},
        .stage = {.e = e ? e : &unread,
                  .check_every = 1 + (req->weave->n + req->weave->n_nodes) / STAGE_CHECK_SIZE}};
    r.out = xcalloc(1, sizeof *r.out);
    arena_init(&r.out->mem);
    r.tasks = arena_new(&r.out->mem, struct sim_graph_task, r.w->n);
    int rc = fails_mark(&r);
    if (rc >= 0)
        rc = sim_stage_open(&r.stage, req->workers ? req->workers : SIM_GRAPH_WORKERS,
                            req->weave->n_nodes + 1); /* the master too */
    if (rc >= 0)
        rc = members_bind(&r);
    if (rc >= 0)
        rc = graph_apply(&r);
    if (rc >= 0)
        rc = run_through(&r);
    if (rc >= 0) {
        end_note(&r);
        *ret = r.out;
        r.out = NULL;
    }
    sim_graph_free(r.out);
    sim_stage_done(&r.stage);
    vec_done(&r.members);
    vec_done(&r.roles);
    vec_done(&r.under);
    return rc < 0 ? rc : 0;
}

void sim_graph_free(struct sim_graph *g)
{
    if (!g)
        return;
    arena_done(&g->mem);
    free(g);
}
