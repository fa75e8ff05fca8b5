/* annealer.c - one step: apply an event, settle what follows, grant starts
 *
 * The pipeline of every step, on one screen.  The event changes tasks and limits; settling derives
 * noderoles and makes tasks ready until nothing changes; operations that have nothing left end;
 * then every start that can be is granted.  Nothing here waits, sleeps or looks at a clock.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

struct anneal *anneal_new(void)
{
    struct anneal *a = xcalloc(1, sizeof *a);
    engine_settings_fill(&a->opt);
    graph_init(&a->order);
    graph_init(&a->need);
    arena_init(&a->span_mem);
    /* Id 0 is nobody, everywhere. */
    uint32_t none[2] = {0, 0};
    graph_extend(&a->order, 1, none, NULL);
    graph_extend(&a->need, 1, none, NULL);
    extend_tasks(a, 1);
    (void)vec_add(&a->noderoles);
    (void)vec_add(&a->defs);
    /* What runs without a node has always room. */
    *vec_add(&a->nodes) = (struct node){.slots = UINT32_MAX, .available = 1, .alive = ALIVE_ALIVE};
    (void)vec_add(&a->tenants);
    (void)vec_add(&a->pools);
    (void)vec_add(&a->spans);
    (void)vec_add(&a->jigs);
    (void)vec_add(&a->groups);
    (void)vec_add(&a->lives);
    (void)vec_add(&a->lanes);
    (void)vec_add(&a->bonds);
    (void)vec_add(&a->quorums);
    (void)vec_add(&a->ops);
    return a;
}

void anneal_free(struct anneal *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->ops.n; i++) {
        free(a->ops.at[i].heap);
        vec_done(&a->ops.at[i].noderoles);
    }
    for (size_t i = 0; i < a->lanes.n; i++)
        free(a->lanes.at[i].heap);
    for (size_t i = 0; i < a->tenants.n; i++)
        for (int c = 0; c < CLASS_COUNT; c++)
            vec_done(&a->tenants.at[i].ready[c]);
    recover_abandon(a);
    graph_done(&a->order);
    graph_done(&a->need);
    arena_done(&a->span_mem);
    free(a->tasks);
    free(a->unmet);
    free(a->task_state);
    vec_done(&a->noderoles);
    vec_done(&a->defs);
    vec_done(&a->nodes);
    vec_done(&a->ops);
    vec_done(&a->tenants);
    vec_done(&a->pools);
    vec_done(&a->spans);
    vec_done(&a->jigs);
    for (size_t i = 0; i < a->groups.n; i++)
        vec_done(&a->groups.at[i].noderoles);
    vec_done(&a->groups);
    vec_done(&a->moves);
    vec_done(&a->lives);
    vec_done(&a->free_lives);
    vec_done(&a->lanes);
    vec_done(&a->free_lanes);
    vec_done(&a->timers);
    vec_done(&a->settle);
    vec_done(&a->derive);
    vec_done(&a->walk);
    vec_done(&a->walked);
    vec_done(&a->touched);
    vec_done(&a->turns);
    vec_done(&a->bonds);
    quorum_free_all(a);
    buf_done(&a->row_mem);
    free(a);
}

static int tenant_add(struct anneal *a, uint32_t id, struct err *e)
{
    if (id == 0 || (id < a->tenants.n && a->tenants.at[id].exists))
        return err_set(e, ERR_EXISTS, "tenant %u exists", id);
    while (a->tenants.n <= id)
        (void)vec_add(&a->tenants);
    a->tenants.at[id].exists = true;
    change_add(a, ROWS_TENANT, id, 0, 0, 0);
    return 0;
}

static int tenant_set(struct anneal *a, const struct event *ev, struct err *e)
{
    if (ev->id >= a->tenants.n || !a->tenants.at[ev->id].exists)
        return err_set(e, ERR_NOT_FOUND, "no tenant %u", ev->id);
    struct tenant *t = &a->tenants.at[ev->id];
    t->share = ev->n;
    t->wish = ev->extra;
    t->gone = ev->flag;
    change_add(a, ROWS_TENANT, ev->id, 0, 0, 0);
    return 0;
}

/* Nothing follows from it at once: what comes later is judged by it. */
static void settings_set(struct anneal *a, const struct engine_settings *s)
{
    a->opt = *s;
    engine_settings_fill(&a->opt);
    a->opt_told = true;
    change_add(a, ROWS_SETTINGS, 1, 0, 0, 0);
}

bool anneal_settings(const struct anneal *a, struct engine_settings *ret)
{
    *ret = a->opt;
    return a->opt_told;
}

static void jig_set(struct anneal *a, const struct event *ev)
{
    while (a->jigs.n <= ev->id)
        (void)vec_add(&a->jigs);
    struct jig *j = &a->jigs.at[ev->id];
    j->exists = true;
    j->active = ev->flag;
    j->slots = ev->n;
    change_add(a, ROWS_JIG, ev->id, 0, ev->flag, 0);
    schedule_jig(a, ev->id);
}

static void pool_set(struct anneal *a, const struct event *ev)
{
    while (a->pools.n <= ev->id)
        (void)vec_add(&a->pools);
    struct pool *p = &a->pools.at[ev->id];
    p->exists = true;
    p->size = ev->n;
    p->elsewhere = ev->extra;
    p->closed = ev->flag;
    change_add(a, ROWS_POOL, ev->id, 0, ev->flag, 0);
    schedule_pool(a, ev->id);
}

static int dispatch(struct anneal *a, const struct event *ev, struct err *e)
{
    switch ((int)ev->kind) {
    case EVENT_TICK: return 0; /* timers fire in every step */
    case EVENT_TENANT_ADD: return tenant_add(a, ev->id, e);
    case EVENT_TENANT_SET: return tenant_set(a, ev, e);
    case EVENT_NODE_ADD:
    case EVENT_NODE_AVAILABLE:
    case EVENT_NODE_SLOTS:
    case EVENT_NODE_SEEN:
    case EVENT_NODE_SILENT:
    case EVENT_NODE_DEAD:
    case EVENT_NODE_GONE:
    case EVENT_DEAD_CONFIRM: return nodes_event(a, ev, e);
    case EVENT_JIG_SET:
    case EVENT_POOL_SET:
        if (ev->id == 0)
            return err_set(e, ERR_INVALID, "id 0 is nobody's");
        (ev->kind == EVENT_JIG_SET ? jig_set : pool_set)(a, ev);
        return 0;
    case EVENT_CAPACITY_SET:
        a->capacity = ev->n;
        change_add(a, ROWS_META, 1, 0, 0, 0);
        return 0;
    case EVENT_POLICY_SET:
        a->freeze_on_error = ev->flag;
        for (uint32_t n = 1; n < a->nodes.n; n++)
            schedule_node(a, n);
        return 0;
    case EVENT_SETTINGS_SET: settings_set(a, &ev->settings); return 0;
    case EVENT_PLAN_APPLY: return extend_apply(a, ev, e);
    case EVENT_ABANDON: return change_abandon(a, ev->id, e);
    case EVENT_REDEPLOY: return redeploy_event(a, ev, e);
    case EVENT_RESULT: return attempt_result(a, ev, e);
    case EVENT_OPERATION_ADD:
    case EVENT_DATA_SET:
    case EVENT_RERUN:
    case EVENT_SUPERSEDE:
    case EVENT_RETRY_TASK:
    case EVENT_RETRY_NODEROLE:
    case EVENT_RETRY_OPERATION:
    case EVENT_CANCEL:
    case EVENT_RESUME:
    case EVENT_POKE:
    case EVENT_RESOLVE: return operation_event(a, ev, e);
    default: break;
    }
    return err_set(e, ERR_INVALID, "event kind %d is not for the engine", (int)ev->kind);
}

int anneal_step(struct anneal *a, const struct event *ev, struct effects *fx, struct err *e)
{
    effects_clear(fx);
    a->fx = fx;
    uint64_t before_ms = a->now_ms;
    if (ev->at_ms > a->now_ms)
        a->now_ms = ev->at_ms; /* never backwards */
    int r = dispatch(a, ev, e);
    if (r >= 0) {
        timer_fire_due(a);
        noderole_settle(a);
        chain_turns(a);
        noderole_settle(a);
        do { /* one that came to an end may have cancelled what was left, and so end another */
            operation_settle_all(a);
            noderole_settle(a);
        } while (a->touched.n > 0);
        schedule_run(a);
        noderole_settle(a); /* a start can only move its own noderole to TRANSITION */
        operation_find_stall(a);
    } else {
        a->now_ms = before_ms;
    }
    a->fx = NULL;
    return r;
}

void anneal_expect_far(const struct anneal *a, uint32_t t)
{
    if (!task_exists(a, t))
        return;
    __builtin_prefetch(&a->tasks[t], 1);
    __builtin_prefetch(&a->task_state[t], 1);
    __builtin_prefetch(&a->order.out.lists[t]);
}

void anneal_expect_near(const struct anneal *a, uint32_t t)
{
    if (!task_exists(a, t))
        return;
    const struct task *task = &a->tasks[t];
    const struct noderole *nr = &a->noderoles.at[task->noderole];
    const struct graph_list *out = &a->order.out.lists[t];
    const uint32_t *next = a->order.out.pool + out->offset;
    __builtin_prefetch(nr, 1);
    __builtin_prefetch((const char *)nr + 64, 1);
    __builtin_prefetch(&a->lives.at[task->live], 1);
    __builtin_prefetch((const char *)&a->lives.at[task->live] + 64, 1);
    for (uint32_t i = 0; i < out->n && i < 8; i++) {
        __builtin_prefetch(&a->unmet[next[i]], 1);
        __builtin_prefetch(&a->tasks[next[i]], 1);
    }
}

uint64_t anneal_now(const struct anneal *a)
{
    return a->now_ms;
}
