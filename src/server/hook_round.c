/* hook_round.c - turns of hooks: collected, ordered, run in rounds
 *
 * The order of turns is total: nodes by id, then noderoles by (cohort, id); those of one noderole
 * as they happened.  One that is gone has no cohort any more and comes first.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hook_round.h"

#include <stdlib.h>
#include <string.h>

#include "model/plan.h"

void hook_rounds_done(struct hook_rounds *r)
{
    vec_done(&r->due);
    vec_done(&r->ring);
    vec_done(&r->runs);
    u64map_done(&r->noted);
    *r = (struct hook_rounds){0};
}

void hook_rounds_clear(struct hook_rounds *r)
{
    vec_clear(&r->due);
    vec_clear(&r->ring);
    vec_clear(&r->runs);
    u64map_done(&r->noted);
    r->noted = (struct u64map){0};
}

/* ---- collecting ---- */

/* What happens again counts as it happened last. */
static void turn_note(struct hook_rounds *r, uint32_t id, enum hook_event event, uint8_t from)
{
    uint64_t key = (uint64_t)event << 32 | id;
    uintptr_t at;
    if (u64map_get(&r->noted, key, &at)) {
#ifndef ANNEAL_DEFECT_HOOKS
        r->due.at[at].order = r->noting++;
#endif
        return;
    }
    u64map_put(&r->noted, key, r->due.n);
    vec_push(&r->due, ((struct hook_turn){
                          .id = id, .event = (uint8_t)event, .from = from, .order = r->noting++}));
}

static enum hook_event event_of(enum noderole_state entered)
{
    switch (entered) {
    case NODEROLE_BLOCKED: return HOOK_ON_BLOCKED;
    case NODEROLE_TODO:
    case NODEROLE_STALE: return HOOK_ON_TODO;
    case NODEROLE_TRANSITION: return HOOK_ON_TRANSITION;
    case NODEROLE_ACTIVE: return HOOK_ON_ACTIVE;
    case NODEROLE_ERROR: return HOOK_ON_ERROR;
    case NODEROLE_REMOVED: return HOOK_ON_REMOVED;
    case NODEROLE_PROPOSED:
    case NODEROLE_REMOVING:
    case NODEROLE_STATE_COUNT: break;
    }
    return HOOK_EVENT_COUNT;
}

static enum noderole_state state_now(const struct anneal *a, uint32_t id)
{
    struct noderole_view v;
    return anneal_noderole(a, id, &v) ? (enum noderole_state)v.state : NODEROLE_REMOVED;
}

/* A task started: the first of a refresh, in which the noderole stays in service? */
static uint32_t refresh_begun(const struct anneal *a, uint32_t task)
{
    struct task_view t;
    struct noderole_view v;
    if (!anneal_task(a, task, &t) || !anneal_noderole(a, t.noderole, &v) ||
        v.state != NODEROLE_STALE)
        return 0;
    for (uint32_t i = v.first_task; i < v.first_task + v.n_tasks; i++)
        if (i != task && anneal_task(a, i, &t) && t.state != TASK_PENDING && t.state != TASK_READY)
            return 0;
    return v.id;
}

/* Where each noderole of the step came from, if its role has hooks at all. */
static void collect_origins(const struct effects *fx, hook_mask_f *mask, void *ctx,
                            struct u64map *ret)
{
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *ch = &fx->changes.at[i];
        if (ch->table == ROWS_NODEROLE && ch->from != ch->to && mask(ctx, ch->id) &&
            !u64map_get(ret, ch->id, NULL))
            u64map_put(ret, ch->id, ch->from);
    }
}

static void collect_change(struct hook_rounds *r, const struct anneal *a, const struct change *ch,
                           const struct u64map *origins, hook_mask_f *mask, void *ctx)
{
    uintptr_t origin;
    if (ch->table == ROWS_NODE && ch->from != ch->to) {
        turn_note(r, ch->id, HOOK_ON_NODE_CHANGE, ch->from);
    } else if (ch->table == ROWS_TASK && ch->to == TASK_RUNNING) {
        uint32_t id = refresh_begun(a, ch->id);
        if (id && mask(ctx, id) >> HOOK_ON_TRANSITION & 1)
            turn_note(r, id, HOOK_ON_TRANSITION, 0);
    } else if (ch->table == ROWS_NODEROLE && ch->from != ch->to &&
               u64map_get(origins, ch->id, &origin)) {
        enum hook_event event = event_of((enum noderole_state)ch->to);
        if (event < HOOK_EVENT_COUNT && mask(ctx, ch->id) >> event & 1 &&
            state_now(a, ch->id) != (enum noderole_state)origin)
            turn_note(r, ch->id, event, 0);
    }
}

void hook_rounds_collect(struct hook_rounds *r, const struct anneal *a, const struct event *ev,
                         const struct effects *fx, uint32_t any, hook_mask_f *mask, void *ctx)
{
    struct u64map origins = {0};
    if (!any)
        return;
    if (ev->kind == EVENT_PLAN_APPLY && any >> HOOK_ON_BLOCKED & 1)
        for (uint32_t i = 0; i < ev->plan->n_noderoles; i++) {
            uint32_t id = ev->plan->base_noderole + i;
            if (state_now(a, id) == NODEROLE_BLOCKED && mask(ctx, id) >> HOOK_ON_BLOCKED & 1)
                turn_note(r, id, HOOK_ON_BLOCKED, 0);
        }
    collect_origins(fx, mask, ctx, &origins);
    bool nodes = any >> HOOK_ON_NODE_CHANGE & 1, starts = any >> HOOK_ON_TRANSITION & 1;
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *ch = &fx->changes.at[i];
        if (ch->table == ROWS_NODEROLE || (nodes && ch->table == ROWS_NODE) ||
            (starts && ch->table == ROWS_TASK))
            collect_change(r, a, ch, &origins, mask, ctx);
    }
    u64map_done(&origins);
}

void hook_rounds_drop(struct hook_rounds *r, uint32_t id, enum hook_event event)
{
    uintptr_t at;
    if (!u64map_get(&r->noted, (uint64_t)event << 32 | id, &at))
        return;
    u64map_del(&r->noted, (uint64_t)event << 32 | id);
    r->due.n--;
    for (; at < r->due.n; at++) {
        const struct hook_turn *t = &r->due.at[at + 1];
        u64map_put(&r->noted, (uint64_t)t->event << 32 | t->id, at);
        r->due.at[at] = *t;
    }
}

void hook_rounds_enqueue(struct hook_rounds *r, uint32_t noderole)
{
    vec_push(&r->runs, noderole);
}

/* ---- running ---- */

static int by_turn(const void *x, const void *y)
{
    const struct hook_turn *p = x, *q = y;
    bool a = p->event == HOOK_ON_NODE_CHANGE, b = q->event == HOOK_ON_NODE_CHANGE;
    if (a != b)
        return a ? -1 : 1;
    if (p->cohort != q->cohort)
        return p->cohort < q->cohort ? -1 : 1;
    if (p->id != q->id)
        return p->id < q->id ? -1 : 1;
    return (p->order > q->order) - (p->order < q->order);
}

static int by_number(const void *x, const void *y)
{
    uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Once each, in order. */
static void flush_runs(struct hook_rounds *r, const struct hook_round_ops *ops)
{
    VEC(uint32_t) ids = {r->runs.at, r->runs.n, r->runs.cap};
    size_t n = 0;
    memset(&r->runs, 0, sizeof r->runs);
    if (ids.n) {
        qsort(ids.at, ids.n, sizeof *ids.at, by_number);
        for (size_t i = 0; i < ids.n; i++)
            if (i == 0 || ids.at[i] != ids.at[n - 1])
                ids.at[n++] = ids.at[i];
        ops->rerun(ops->ctx, ids.at, (uint32_t)n);
    }
    vec_done(&ids);
}

static void ring_note(struct hook_rounds *r, const struct hook_turn *t)
{
    for (size_t i = 0; i < r->ring.n; i++)
        if (r->ring.at[i].id == t->id && r->ring.at[i].event == t->event)
            return;
    if (r->ring.n < HOOK_RING_TOLD)
        vec_push(&r->ring, *t);
}

static void run_round(struct hook_rounds *r, const struct anneal *a,
                      const struct hook_round_ops *ops, int round)
{
    VEC(struct hook_turn) turns = {r->due.at, r->due.n, r->due.cap};
    memset(&r->due, 0, sizeof r->due);
    u64map_done(&r->noted);
    r->noted = (struct u64map){0};
    for (size_t i = 0; i < turns.n; i++) {
        struct noderole_view v;
        if (turns.at[i].event != HOOK_ON_NODE_CHANGE && anneal_noderole(a, turns.at[i].id, &v))
            turns.at[i].cohort = v.cohort;
    }
    if (turns.n)
        qsort(turns.at, turns.n, sizeof *turns.at, by_turn);
    for (size_t i = 0; i < turns.n; i++) {
        if (round > 1)
            ring_note(r, &turns.at[i]);
        ops->turn(ops->ctx, &turns.at[i]);
    }
    vec_done(&turns);
    flush_runs(r, ops);
}

void hook_rounds_run(struct hook_rounds *r, const struct anneal *a,
                     const struct hook_round_ops *ops)
{
    if (r->running || (r->due.n == 0 && r->runs.n == 0))
        return;
    r->running = true;
    vec_clear(&r->ring);
    for (int round = 1; round <= HOOK_ROUNDS && (r->due.n > 0 || r->runs.n > 0); round++)
        run_round(r, a, ops, round);
    if (r->due.n > 0) {
        for (size_t i = 0; i < r->due.n; i++)
            ring_note(r, &r->due.at[i]);
        ops->ring(ops->ctx, r->ring.at, (uint32_t)r->ring.n);
    }
    hook_rounds_clear(r);
    r->running = false;
}
