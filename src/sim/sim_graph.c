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

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "planner/weave_plan.h"
#include "sim/rng_i.h"

enum { TENANT = 1, DEPLOYMENT = 1, JIG = 1, BINDING = 2, DEPLOY = 3 }; /* ids */
/* Up to so many vertices and nodes every step is checked, and of more so many of them: a check
 * looks at everything. */
enum { CHECK_SIZE = 2000 };

struct run {
    const struct sim_graph_request *req;
    const struct weave *w;
    struct err *e;
    struct anneal *engine;
    struct effects fx;
    struct rng rng;
    uint64_t now;
    uint32_t steps, check_every;
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

static int check(struct run *r)
{
    if (anneal_check(r->engine, r->e) >= 0)
        return 0;
    return err_wrap(r->e, "step %u of the simulated run", r->steps);
}

static int step(struct run *r, struct event ev)
{
    ev.at_ms = r->now;
    int rc = anneal_step(r->engine, &ev, &r->fx, r->e);
    if (rc < 0)
        return err_wrap(r->e, "%s in the simulated run", event_kind_name(ev.kind));
    for (size_t i = 0; i < r->fx.sends.n; i++)
        vec_push(&r->under, r->fx.sends.at[i]);
    return r->steps++ % r->check_every ? 0 : check(r);
}

static int node_add(struct run *r, uint32_t id)
{
    int rc = step(
        r,
        (struct event){.kind = EVENT_NODE_ADD, .id = id, .n = 1, .flag = 1, .extra = ALIVE_ALIVE});
    return rc < 0 ? rc
                  : step(r, (struct event){.kind = EVENT_NODE_SEEN, .id = id, .a = id, .b = 1});
}

static int engine_open(struct run *r)
{
    uint32_t workers = r->req->workers ? r->req->workers : SIM_GRAPH_WORKERS;
    const struct event first[] = {
        {.kind = EVENT_TENANT_ADD, .id = TENANT},
        {.kind = EVENT_OPERATION_ADD,
         .id = OPERATION_STANDING,
         .n = TENANT,
         .flag = CLASS_BACKGROUND},
        {.kind = EVENT_OPERATION_ADD, .id = BINDING, .n = TENANT, .flag = CLASS_NORMAL},
        {.kind = EVENT_OPERATION_ADD, .id = DEPLOY, .n = TENANT, .flag = CLASS_NORMAL},
        {.kind = EVENT_JIG_SET, .id = JIG, .flag = 1, .n = workers},
        {.kind = EVENT_CAPACITY_SET, .n = workers},
    };
    int rc = 0;
    r->engine = anneal_new(NULL);
    for (size_t i = 0; i < sizeof first / sizeof *first && rc >= 0; i++)
        rc = step(r, first[i]);
    for (uint32_t i = 0; i <= r->w->n_nodes && rc >= 0; i++) /* the master too */
        rc = node_add(r, i + 1);
    return rc;
}

static int plan_apply(struct run *r, struct plan *p, uint32_t op)
{
    plan_rebase(p, anneal_def_end(r->engine), anneal_noderole_end(r->engine),
                anneal_task_end(r->engine), anneal_span_end(r->engine), anneal_pool_end(r->engine));
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
                                                 .deployment = DEPLOYMENT,
                                                 .cohort = 1,
                                                 .user = str_of("")};
    return plan_apply(r, p, BINDING);
}

/* --- the graph --- */

static bool world_jig_any(void *ctx, struct str name, uint32_t *ret_id, bool *ret_active)
{
    (void)ctx;
    (void)name;
    *ret_id = JIG;
    *ret_active = true;
    return true;
}

static uint32_t world_no_pool(void *ctx, struct str name)
{
    (void)ctx;
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
                                           .deployment = DEPLOYMENT,
                                           .members = r->members.at,
                                           .n_members = (uint32_t)r->members.n};
    struct weave_plan made;
    int rc = weave_plan_make(&req, &made, r->e);
    if (rc < 0)
        return rc;
    r->vertex_of = arena_new(&r->out->mem, uint32_t, made.plan->n_tasks);
    for (uint32_t i = 0; i < made.plan->n_tasks; i++)
        r->vertex_of[i] = WEAVE_NONE;
    for (uint32_t v = 0; v < r->w->n; v++)
        r->vertex_of[made.task_of[v]] = v;
    r->first_task = anneal_task_end(r->engine);
    rc = plan_apply(r, made.plan, DEPLOY);
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
    err_set(r->e, ERR_NOT_FOUND, "--fail: nothing of %.*s is run", (int)word.n, word.s);
    return err_hint(r->e, "%s", why);
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
        rc = weave_words_mark(r->w, r->req->of, "--fail", &r->req->fails[i], 1, marked, r->e);
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
    if (r->now + 1 < anneal_next_timer(r->engine))
        r->now++;
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
    uint64_t due = anneal_next_timer(r->engine);
    if (due == UINT64_MAX)
        return err_set(r->e, ERR_CORRUPT, "the simulated run stands still after step %u", r->steps);
    r->now = due > r->now ? due : r->now;
    int rc = step(r, (struct event){.kind = EVENT_TICK});
    starts_note(r, 0);
    return rc;
}

static bool is_open(const struct run *r)
{
    struct operation_view op;
    return anneal_operation(r->engine, DEPLOY, &op) && op.state == OPERATION_RUNNING;
}

static int run_through(struct run *r)
{
    int rc = 0;
    starts_note(r, 0);
    while (rc >= 0 && (r->under.n || is_open(r)))
        rc = r->under.n ? answer(r) : wait_for_timer(r);
    return rc < 0 ? rc : check(r);
}

/* --- how it ended --- */

static void noderoles_note(struct run *r)
{
    uint32_t end = anneal_noderole_end(r->engine);
    struct sim_graph_noderole *all = arena_new(&r->out->mem, struct sim_graph_noderole, end);
    for (uint32_t id = 1; id < end; id++) {
        struct noderole_view v = {0};
        (void)anneal_noderole(r->engine, id, &v);
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
    (void)anneal_operation(r->engine, DEPLOY, &op);
    r->out->state = op.state;
    r->out->reason = op.reason;
    r->out->virtual_ms = r->now;
    for (uint32_t t = r->first_task; t < anneal_task_end(r->engine); t++) {
        uint32_t v = r->vertex_of[t - r->first_task];
        struct task_view view;
        if (v == WEAVE_NONE || !anneal_task(r->engine, t, &view))
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
    struct run r = {.req = req,
                    .w = req->weave,
                    .e = e ? e : &unread,
                    .rng = {.key = req->seed},
                    .check_every = 1 + (req->weave->n + req->weave->n_nodes) / CHECK_SIZE};
    r.out = xcalloc(1, sizeof *r.out);
    arena_init(&r.out->mem);
    r.tasks = arena_new(&r.out->mem, struct sim_graph_task, r.w->n);
    int rc = fails_mark(&r);
    if (rc >= 0)
        rc = engine_open(&r);
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
    anneal_free(r.engine);
    effects_done(&r.fx);
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
