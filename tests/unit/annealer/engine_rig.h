/* engine_rig.h - a small engine under test: a clock, plans made by hand, and every step checked
 *
 * rig_do() applies an event; after each one that was accepted the invariants must hold and an
 * engine restored from the rows must be the same engine, so that no test has to ask for it.  Ids
 * are given as they will be: the next noderole of a rig_plan is the next noderole of the engine.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_ENGINE_RIG_H
#define TESTS_ENGINE_RIG_H

#include "annealer/annealer.h"
#include "base/alloc.h"
#include "model/plan.h"
#include "model/taskmsg.h"
#include "tap.h"

enum { RIG_MOST = 256, RIG_OP = 2 };
#define IDS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4
#define NONE     NULL, 0

struct rig {
    struct anneal *a;
    struct anneal_options opt;
    struct effects fx;
    struct err e;
    uint64_t now_ms;
    bool broken; /* a step left the engine in a wrong state: told once */
};

__attribute__((unused)) static void rig_verify(struct rig *r)
{
    struct err e;
    SCOPED_BUF(rows);
    if (r->broken)
        return;
    if (anneal_check(r->a, &e) < 0) {
        r->broken = true;
        ok(false, "after a step: %s", e.text);
        return;
    }
    struct anneal *copy = anneal_new(&r->opt);
    anneal_save(r->a, &rows);
    if (anneal_restore(copy, buf_str(&rows), &e) < 0) {
        r->broken = true;
        ok(false, "rows do not restore: %s", e.text);
    } else if (anneal_digest(copy) != anneal_digest(r->a) || anneal_check(copy, &e) < 0) {
        r->broken = true;
        ok(false, "what is restored is not the same engine");
    }
    anneal_free(copy);
}

/* Applies an event now; the code of the refusal, or 0. */
__attribute__((unused)) static int rig_do(struct rig *r, struct event ev)
{
    ev.at_ms = r->now_ms;
    int code = anneal_step(r->a, &ev, &r->fx, &r->e);
    if (code >= 0)
        rig_verify(r);
    return -code;
}

__attribute__((unused)) static void rig_tick(struct rig *r, uint64_t ms)
{
    r->now_ms += ms;
    (void)rig_do(r, (struct event){.kind = EVENT_TICK});
}

/* An engine with one tenant, the standing operation, operation 2, jig 1 and `nodes` nodes that
 * live. */
__attribute__((unused)) static void rig_init_with(struct rig *r, uint32_t nodes, uint32_t capacity,
                                                  const struct anneal_options *o)
{
    *r = (struct rig){.opt = o ? *o : (struct anneal_options){0}, .now_ms = 1000};
    r->a = anneal_new(&r->opt);
    rig_do(r, (struct event){.kind = EVENT_TENANT_ADD, .id = 1});
    for (uint32_t op = 1; op <= RIG_OP; op++)
        rig_do(r,
               (struct event){.kind = EVENT_OPERATION_ADD, .id = op, .n = 1, .flag = CLASS_NORMAL});
    rig_do(r, (struct event){.kind = EVENT_JIG_SET, .id = 1, .flag = 1, .n = 1000});
    rig_do(r, (struct event){.kind = EVENT_CAPACITY_SET, .n = capacity});
    for (uint32_t id = 1; id <= nodes; id++) {
        rig_do(r, (struct event){.kind = EVENT_NODE_ADD, .id = id, .n = 1, .flag = 1});
        rig_do(r, (struct event){.kind = EVENT_NODE_SEEN, .id = id, .a = 100 + id, .b = 200 + id});
    }
}

__attribute__((unused)) static void rig_init(struct rig *r, uint32_t nodes, uint32_t capacity)
{
    rig_init_with(r, nodes, capacity, NULL);
}

__attribute__((unused)) static void rig_done(struct rig *r)
{
    anneal_free(r->a);
    effects_done(&r->fx);
}

/* ---- plans ---- */

struct rig_plan {
    struct rig *r;
    struct plan *p;
    uint32_t def, noderole, task, span, pool; /* first ids */
};

__attribute__((unused)) static struct rig_plan rig_plan(struct rig *r)
{
    struct rig_plan m = {r,
                         plan_new(),
                         anneal_def_end(r->a),
                         anneal_noderole_end(r->a),
                         anneal_task_end(r->a),
                         anneal_span_end(r->a),
                         anneal_pool_end(r->a)};
    m.p->defs = arena_new(&m.p->mem, struct plan_def, RIG_MOST);
    m.p->noderoles = arena_new(&m.p->mem, struct plan_noderole, RIG_MOST);
    m.p->tasks = arena_new(&m.p->mem, struct plan_task, RIG_MOST);
    m.p->spans = arena_new(&m.p->mem, struct plan_span, RIG_MOST);
    m.p->pools = arena_new(&m.p->mem, struct plan_pool, RIG_MOST);
    m.p->needs = arena_new(&m.p->mem, struct plan_need, RIG_MOST);
    return m;
}

/* A definition; jig and digest are filled in if left out. */
__attribute__((unused)) static uint32_t rig_def(struct rig_plan *m, struct plan_def d)
{
    d.jig = d.jig ? d.jig : 1;
    d.digest = d.digest ? d.digest : 77 + m->def + m->p->n_defs;
    m->p->defs[m->p->n_defs] = d;
    return m->def + m->p->n_defs++;
}

__attribute__((unused)) static uint32_t rig_pool(struct rig_plan *m, uint32_t size)
{
    m->p->pools[m->p->n_pools] = (struct plan_pool){str_of("pool"), size};
    return m->pool + m->p->n_pools++;
}

__attribute__((unused)) static const uint32_t *rig_ids(struct rig_plan *m, const uint32_t *ids,
                                                       uint32_t n)
{
    uint32_t *copy = arena_new(&m->p->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = ids[i];
    return copy;
}

/* For the span argument of rig_task(). */
__attribute__((unused)) static uint32_t rig_span(struct rig_plan *m, const uint32_t *pools,
                                                 uint32_t n)
{
    m->p->spans[m->p->n_spans] = (struct plan_span){rig_ids(m, pools, n), n};
    return ++m->p->n_spans;
}

/* A noderole; cohort one above its highest parent. */
__attribute__((unused)) static uint32_t
rig_noderole(struct rig_plan *m, uint32_t node, uint8_t flags, const uint32_t *parents, uint32_t n)
{
    struct plan_noderole *nr = &m->p->noderoles[m->p->n_noderoles];
    *nr = (struct plan_noderole){.role = str_of("role"),
                                 .node = node,
                                 .deployment = 1,
                                 .cohort = 1,
                                 .flags = flags,
                                 .data = 1,
                                 .first_task = m->p->n_tasks,
                                 .parents = rig_ids(m, parents, n),
                                 .n_parents = n};
    for (uint32_t i = 0; i < n; i++) {
        struct noderole_view v = {0};
        uint32_t cohort = 0;
        if (parents[i] >= m->noderole && parents[i] < m->noderole + m->p->n_noderoles)
            cohort = m->p->noderoles[parents[i] - m->noderole].cohort;
        else if (anneal_noderole(m->r->a, parents[i], &v))
            cohort = v.cohort;
        nr->cohort = nr->cohort > cohort ? nr->cohort : cohort + 1;
    }
    return m->noderole + m->p->n_noderoles++;
}

/* A task of the last noderole. */
__attribute__((unused)) static uint32_t rig_task(struct rig_plan *m, uint32_t def, uint32_t span,
                                                 uint32_t weight, const uint32_t *deps, uint32_t n)
{
    m->p->tasks[m->p->n_tasks] = (struct plan_task){.noderole = m->noderole + m->p->n_noderoles - 1,
                                                    .def = def,
                                                    .span = span,
                                                    .weight = weight,
                                                    .deps = rig_ids(m, deps, n),
                                                    .n_deps = n};
    m->p->noderoles[m->p->n_noderoles - 1].n_tasks++;
    return m->task + m->p->n_tasks++;
}

__attribute__((unused)) static void rig_need(struct rig_plan *m, uint32_t child, uint32_t parent)
{
    m->p->needs[m->p->n_needs++] = (struct plan_need){child, parent};
}

/* Gives it to the engine; the plan is gone afterwards. */
__attribute__((unused)) static int rig_apply_to(struct rig_plan *m, uint32_t op)
{
    plan_rebase(m->p, m->def, m->noderole, m->task, m->span, m->pool);
    int code = rig_do(m->r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = m->p});
    plan_free(m->p);
    m->p = NULL;
    return code;
}

__attribute__((unused)) static int rig_apply(struct rig_plan *m)
{
    return rig_apply_to(m, RIG_OP);
}

/* The usual: one noderole of one task with this definition on a node, for the operation while it is
 * open, else for the standing one; returns the task. */
__attribute__((unused)) static uint32_t rig_one(struct rig *r, uint32_t node, struct plan_def d)
{
    struct operation_view op = {0};
    struct rig_plan m = rig_plan(r);
    uint32_t def = rig_def(&m, d);
    rig_noderole(&m, node, 0, NONE);
    uint32_t t = rig_task(&m, def, 0, 1, NONE);
    anneal_operation(r->a, RIG_OP, &op);
    if (rig_apply_to(&m, op.state == OPERATION_RUNNING ? RIG_OP : OPERATION_STANDING) != 0)
        ok(false, "the plan was refused: %s", r->e.text);
    return t;
}

/* ---- looking and answering ---- */

__attribute__((unused)) static struct task_view rig_view(const struct rig *r, uint32_t t)
{
    struct task_view v = {0};
    anneal_task(r->a, t, &v);
    return v;
}
__attribute__((unused)) static struct noderole_view rig_nr(const struct rig *r, uint32_t id)
{
    struct noderole_view v = {0};
    anneal_noderole(r->a, id, &v);
    return v;
}
__attribute__((unused)) static struct node_view rig_node(const struct rig *r, uint32_t id)
{
    struct node_view v = {0};
    anneal_node(r->a, id, &v);
    return v;
}
__attribute__((unused)) static struct operation_view rig_op(const struct rig *r, uint32_t id)
{
    struct operation_view v = {0};
    anneal_operation(r->a, id, &v);
    return v;
}

/* Was it started or asked in the last step? */
__attribute__((unused)) static bool rig_sent(const struct rig *r, uint32_t t)
{
    for (size_t i = 0; i < r->fx.sends.n; i++)
        if (r->fx.sends.at[i].task == t)
            return true;
    return false;
}
__attribute__((unused)) static bool rig_stopped(const struct rig *r, uint32_t t)
{
    for (size_t i = 0; i < r->fx.stops.n; i++)
        if (r->fx.stops.at[i].task == t)
            return true;
    return false;
}

/* The answer of an attempt at its present ask. */
__attribute__((unused)) static int rig_answer(struct rig *r, uint32_t t, uint32_t attempt,
                                              enum outcome o)
{
    return rig_do(r, (struct event){.kind = EVENT_RESULT,
                                    .id = t,
                                    .attempt = attempt,
                                    .extra = rig_view(r, t).asks,
                                    .flag = (uint8_t)o,
                                    .exit_code = o == OUTCOME_FAILED});
}
/* Of the live one. */
__attribute__((unused)) static int rig_result(struct rig *r, uint32_t t, enum outcome o)
{
    return rig_answer(r, t, rig_view(r, t).attempt, o);
}
__attribute__((unused)) static int rig_again(struct rig *r, uint32_t t, uint64_t ms)
{
    return rig_do(r, (struct event){.kind = EVENT_RESULT,
                                    .id = t,
                                    .ms = ms,
                                    .attempt = rig_view(r, t).attempt,
                                    .extra = rig_view(r, t).asks,
                                    .flag = OUTCOME_AGAIN});
}
__attribute__((unused)) static int rig_exports(struct rig *r, uint32_t t, uint64_t exports)
{
    return rig_do(r, (struct event){.kind = EVENT_RESULT,
                                    .id = t,
                                    .a = exports,
                                    .attempt = rig_view(r, t).attempt,
                                    .extra = rig_view(r, t).asks,
                                    .flag = OUTCOME_OK});
}
/* Whatever runs succeeds, until nothing runs. */
__attribute__((unused)) static void rig_finish(struct rig *r)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 1; t < anneal_task_end(r->a); t++)
            if (rig_view(r, t).state == TASK_RUNNING) {
                rig_result(r, t, OUTCOME_OK);
                more = true;
            }
    }
}

#define is_task(r, t, want, ...)                                                                   \
    is_text(task_state_name(rig_view((r), (t)).state), task_state_name(TASK_##want), __VA_ARGS__)
#define is_noderole(r, id, want, ...)                                                              \
    is_text(noderole_state_name(rig_nr((r), (id)).state), noderole_state_name(NODEROLE_##want),    \
            __VA_ARGS__)
#define is_operation(r, id, want, ...)                                                             \
    is_text(operation_state_name(rig_op((r), (id)).state), operation_state_name(OPERATION_##want), \
            __VA_ARGS__)
#define is_reason(got, want, ...)                                                                  \
    is_text(reason_name((enum reason)(got)), reason_name(REASON_##want), __VA_ARGS__)

#endif
