/* draft.h - plans made by hand for the rig, and what it holds by id
 *
 * Ids are given as they will be: the next noderole of a draft is the next noderole of the engine.
 * What may be refused returns the code of the refusal, or 0.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ANNEALER_DRAFT_H
#define TESTS_UNIT_ANNEALER_DRAFT_H

#include "rig.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"

enum { DRAFT_MOST = 256 };
#define IDS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4
#define NONE     NULL, 0

/* ---- plans ---- */

struct draft {
    struct rig *r;
    struct plan *p;
    uint32_t def, noderole, task, span, pool; /* first ids */
};

static struct draft draft_new(struct rig *r)
{
    struct draft m = {r,
                      plan_new(),
                      anneal_def_end(r->a),
                      anneal_noderole_end(r->a),
                      anneal_task_end(r->a),
                      anneal_span_end(r->a),
                      anneal_pool_end(r->a)};
    m.p->defs = arena_new(&m.p->mem, struct plan_def, DRAFT_MOST);
    m.p->noderoles = arena_new(&m.p->mem, struct plan_noderole, DRAFT_MOST);
    m.p->tasks = arena_new(&m.p->mem, struct plan_task, DRAFT_MOST);
    m.p->spans = arena_new(&m.p->mem, struct plan_span, DRAFT_MOST);
    m.p->pools = arena_new(&m.p->mem, struct plan_pool, DRAFT_MOST);
    m.p->needs = arena_new(&m.p->mem, struct plan_need, DRAFT_MOST);
    return m;
}

/* A definition; jig and digest are filled in if left out. */
static uint32_t draft_def(struct draft *m, struct plan_def d)
{
    d.jig = d.jig ? d.jig : 1;
    d.digest = d.digest ? d.digest : 77 + m->def + m->p->n_defs;
    m->p->defs[m->p->n_defs] = d;
    return m->def + m->p->n_defs++;
}

static uint32_t draft_pool(struct draft *m, uint32_t size)
{
    m->p->pools[m->p->n_pools] = (struct plan_pool){str_of("pool"), size};
    return m->pool + m->p->n_pools++;
}

static const uint32_t *draft_ids(struct draft *m, const uint32_t *ids, uint32_t n)
{
    uint32_t *copy = arena_new(&m->p->mem, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = ids[i];
    return copy;
}

/* For the span argument of draft_task(). */
static uint32_t draft_span(struct draft *m, const uint32_t *pools, uint32_t n)
{
    m->p->spans[m->p->n_spans] = (struct plan_span){draft_ids(m, pools, n), n};
    return ++m->p->n_spans;
}

/* A noderole; cohort one above its highest parent. */
static uint32_t draft_noderole(struct draft *m, uint32_t node, uint8_t flags,
                               const uint32_t *parents, uint32_t n)
{
    struct plan_noderole *nr = &m->p->noderoles[m->p->n_noderoles];
    *nr = (struct plan_noderole){.role = str_of("role"),
                                 .node = node,
                                 .deployment = 1,
                                 .cohort = 1,
                                 .flags = flags,
                                 .data = 1,
                                 .first_task = m->p->n_tasks,
                                 .parents = draft_ids(m, parents, n),
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
static uint32_t draft_task(struct draft *m, uint32_t def, uint32_t span, uint32_t weight,
                           const uint32_t *deps, uint32_t n)
{
    m->p->tasks[m->p->n_tasks] = (struct plan_task){.noderole = m->noderole + m->p->n_noderoles - 1,
                                                    .def = def,
                                                    .span = span,
                                                    .weight = weight,
                                                    .deps = draft_ids(m, deps, n),
                                                    .n_deps = n};
    m->p->noderoles[m->p->n_noderoles - 1].n_tasks++;
    return m->task + m->p->n_tasks++;
}

/* A passive one of the last noderole, with a definition that nothing executes. */
static uint32_t draft_passive(struct draft *m, enum task_rule rule, const uint32_t *deps,
                              uint32_t n)
{
    uint32_t t = draft_task(m, m->def, 0, 1, deps, n);
    m->p->tasks[t - m->task].rule = (uint8_t)rule;
    return t;
}

static void draft_need(struct draft *m, uint32_t child, uint32_t parent)
{
    m->p->needs[m->p->n_needs++] = (struct plan_need){child, parent};
}

/* Gives it to the engine; the plan is gone afterwards. */
static int draft_apply_to(struct draft *m, uint32_t op)
{
    plan_rebase(m->p, m->def, m->noderole, m->task, m->span, m->pool);
    int code = -rig_try(m->r, (struct event){.kind = EVENT_PLAN_APPLY, .op = op, .plan = m->p});
    plan_free(m->p);
    m->p = NULL;
    return code;
}

static int draft_apply(struct draft *m)
{
    return draft_apply_to(m, RIG_OP);
}

/* The usual: one noderole of one task with this definition on a node, for the operation while it is
 * open, else for the standing one; returns the task. */
static uint32_t rig_one(struct rig *r, uint32_t node, struct plan_def d)
{
    struct operation_view op = {0};
    struct draft m = draft_new(r);
    uint32_t def = draft_def(&m, d);
    draft_noderole(&m, node, 0, NONE);
    uint32_t t = draft_task(&m, def, 0, 1, NONE);
    anneal_operation(r->a, RIG_OP, &op);
    if (draft_apply_to(&m, op.state == OPERATION_RUNNING ? RIG_OP : OPERATION_STANDING) != 0)
        ok(false, "the plan was refused: %s", r->e.text);
    return t;
}

/* ---- looking and answering ---- */

static struct task_view rig_task_at(const struct rig *r, uint32_t t)
{
    struct task_view v = {0};
    anneal_task(r->a, t, &v);
    return v;
}
static struct noderole_view rig_noderole_at(const struct rig *r, uint32_t id)
{
    struct noderole_view v = {0};
    anneal_noderole(r->a, id, &v);
    return v;
}
static struct node_view rig_node_at(const struct rig *r, uint32_t id)
{
    struct node_view v = {0};
    anneal_node(r->a, id, &v);
    return v;
}

/* Was it started or asked in the last step? */
static bool rig_was_sent(const struct rig *r, uint32_t t)
{
    for (size_t i = 0; i < r->fx.sends.n; i++)
        if (r->fx.sends.at[i].task == t)
            return true;
    return false;
}
static bool rig_was_stopped(const struct rig *r, uint32_t t)
{
    for (size_t i = 0; i < r->fx.stops.n; i++)
        if (r->fx.stops.at[i].task == t)
            return true;
    return false;
}

/* The answer of an attempt at its present ask. */
static int rig_reply_as(struct rig *r, uint32_t t, uint32_t attempt, enum outcome o)
{
    return -rig_try(r, (struct event){.kind = EVENT_RESULT,
                                      .id = t,
                                      .attempt = attempt,
                                      .extra = rig_task_at(r, t).asks,
                                      .flag = (uint8_t)o,
                                      .exit_code = o == OUTCOME_FAILED});
}
/* Of the live one. */
static int rig_reply(struct rig *r, uint32_t t, enum outcome o)
{
    return rig_reply_as(r, t, rig_task_at(r, t).attempt, o);
}
static int rig_reply_again(struct rig *r, uint32_t t, uint64_t ms)
{
    return -rig_try(r, (struct event){.kind = EVENT_RESULT,
                                      .id = t,
                                      .ms = ms,
                                      .attempt = rig_task_at(r, t).attempt,
                                      .extra = rig_task_at(r, t).asks,
                                      .flag = OUTCOME_AGAIN});
}
/* Whatever runs succeeds, until nothing runs. */
static void rig_finish(struct rig *r)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t t = 1; t < anneal_task_end(r->a); t++)
            if (rig_task_at(r, t).state == TASK_RUNNING) {
                rig_reply(r, t, OUTCOME_OK);
                more = true;
            }
    }
}

#define is_task(r, t, want, ...)                                                                   \
    is_text(task_state_name(rig_task_at((r), (t)).state), task_state_name(TASK_##want), __VA_ARGS__)
#define is_noderole(r, id, want, ...)                                                              \
    is_text(noderole_state_name(rig_noderole_at((r), (id)).state),                                 \
            noderole_state_name(NODEROLE_##want), __VA_ARGS__)
#define is_operation(r, id, want, ...)                                                             \
    is_text(operation_state_name(rig_op((r), (id)).state), operation_state_name(OPERATION_##want), \
            __VA_ARGS__)
#define is_reason(got, want, ...)                                                                  \
    is_text(reason_name((enum reason)(got)), reason_name(REASON_##want), __VA_ARGS__)

#pragma GCC diagnostic pop

#endif
