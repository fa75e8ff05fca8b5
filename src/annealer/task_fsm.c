/* task_fsm.c - the states of a task, and what follows from each change for those around it
 *
 * Owns the table of legal transitions (docs/rfc/01-engine.md, section 2) and the counters that
 * depend on task states: per noderole, per operation, per span, in total, and the unmet
 * dependencies of those after it. Every change of a task's state in the engine goes through
 * task_go(). An absent cell is illegal: counted, asserted in tests, and without effect.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <assert.h>

#define GO(s) (TASK_##s + 1)
static const uint8_t task_table[TASK_STATE_COUNT][TASKEV_COUNT] = {
    [TASK_PENDING] = {[TASKEV_DEPS_MET] = GO(READY),
                      [TASKEV_CANCEL] = GO(CANCELLED),
                      [TASKEV_RESET] = GO(PENDING),
                      [TASKEV_UNCHANGED] = GO(DONE),
                      [TASKEV_SKIP] = GO(SKIPPED),
                      [TASKEV_DEP_FAIL] = GO(DEP_FAILED),
                      [TASKEV_FAIL] = GO(FAILED)},
    [TASK_READY] = {[TASKEV_DEPS_LOST] = GO(PENDING),
                    [TASKEV_START] = GO(RUNNING),
                    [TASKEV_CANCEL] = GO(CANCELLED),
                    [TASKEV_RESET] = GO(PENDING),
                    [TASKEV_UNCHANGED] = GO(DONE),
                    [TASKEV_SKIP] = GO(SKIPPED),
                    [TASKEV_FAIL] = GO(FAILED)},
    [TASK_RUNNING] = {[TASKEV_OK] = GO(DONE),
                      [TASKEV_FAIL] = GO(FAILED),
                      [TASKEV_FAIL_RETRY] = GO(PENDING),
                      [TASKEV_NOT_YET] = GO(WAITING),
                      [TASKEV_CANCEL] = GO(CANCELLED),
                      [TASKEV_RESET] = GO(PENDING),
                      [TASKEV_TOLERATE] = GO(TOLERATED)},
    [TASK_WAITING] = {[TASKEV_ASK] = GO(RUNNING),
                      [TASKEV_FAIL] = GO(FAILED),
                      [TASKEV_FAIL_RETRY] = GO(PENDING),
                      [TASKEV_CANCEL] = GO(CANCELLED),
                      [TASKEV_RESET] = GO(PENDING),
                      [TASKEV_TOLERATE] = GO(TOLERATED)},
    [TASK_DONE] = {[TASKEV_RESET] = GO(PENDING)},
    [TASK_SKIPPED] = {[TASKEV_RESET] = GO(PENDING)},
    [TASK_TOLERATED] = {[TASKEV_RESET] = GO(PENDING)},
    [TASK_FAILED] = {[TASKEV_RESET] = GO(PENDING),
                     [TASKEV_OK] = GO(DONE),
                     [TASKEV_FAIL] = GO(FAILED),
                     [TASKEV_TOLERATE] = GO(TOLERATED)},
    [TASK_DEP_FAILED] = {[TASKEV_RESET] = GO(PENDING), [TASKEV_FAIL] = GO(FAILED)},
    [TASK_CANCELLED] = {[TASKEV_RESET] = GO(PENDING), [TASKEV_FAIL] = GO(FAILED)},
};
#undef GO

int task_fsm_next(enum task_state from, enum task_event ev)
{
    return (int)task_table[from][ev] - 1;
}

/* Which of its noderole's counters a state is counted in; NULL: none. */
static uint16_t *counter_of(struct noderole *nr, enum task_state s)
{
    switch (s) {
    case TASK_RUNNING:
    case TASK_WAITING: return &nr->live;
    case TASK_READY: return &nr->ready;
    case TASK_DONE:
    case TASK_SKIPPED:
    case TASK_TOLERATED: return &nr->passed;
    case TASK_FAILED: return &nr->failed;
    case TASK_CANCELLED: return &nr->cancelled;
    case TASK_PENDING:
    case TASK_DEP_FAILED:
    case TASK_STATE_COUNT: break;
    }
    return NULL;
}

static bool state_begun(enum task_state s)
{
    return task_state_live(s) || (task_state_ended(s) && s != TASK_DEP_FAILED);
}

void task_changed(struct anneal *a, uint32_t t)
{
    change_add(a, ROWS_TASK, t, a->task_state[t], a->task_state[t], a->tasks[t].reason);
}

void task_go(struct anneal *a, uint32_t t, enum task_event ev, enum reason why)
{
    enum task_state from = a->task_state[t];
    int next = task_fsm_next(from, ev);
    struct task *task = &a->tasks[t];
    if (next < 0) {
        a->illegal++;
        return;
    }
    enum task_state to = (enum task_state)next;
    a->task_state[t] = (uint8_t)to;
    task->reason = (uint8_t)why;
    change_add(a, ROWS_TASK, t, from, to, (uint8_t)why);
    if (from == to)
        return;
    struct noderole *nr = &a->noderoles.at[task->noderole];
    uint16_t *minus = counter_of(nr, from), *plus = counter_of(nr, to);
    if (minus != plus) {
        if (minus)
            (*minus)--;
        if (plus)
            (*plus)++;
        noderole_derive_later(a, task->noderole);
    }
    a->totals_task[from]--;
    a->totals_task[to]++;
    operation_count(a, nr->op, from, to);
    if (task->span) {
        struct span *s = &a->spans.at[task->span];
        s->left += (uint32_t)task_state_ended(from) - (uint32_t)task_state_ended(to);
        s->begun += (uint32_t)state_begun(to) - (uint32_t)state_begun(from);
        if (to == TASK_PENDING && a->unmet[t] > 0)
            limits_span_restart(a, task->span); /* what it waits for may need those pools */
        else
            limits_span_settle(a, task->span);
    }
}

void task_settle_later(struct anneal *a, uint32_t t)
{
    if (a->tasks[t].flags & TASKF_SETTLE)
        return;
    a->tasks[t].flags |= TASKF_SETTLE;
    vec_push(&a->settle, t);
}

void task_passed_on(struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *next = graph_out(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        if (--a->unmet[next[i]] == 0)
            task_settle_later(a, next[i]);
}

static void dependency_lost(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    if (a->task_state[t] == TASK_READY) {
        task->lane = 0;
        /* READY is not stored, so neither is a reason for leaving it */
        task_go(a, t, TASKEV_DEPS_LOST, task->reason);
    }
    if (a->task_state[t] == TASK_PENDING && task->span)
        limits_span_restart(a, task->span); /* it was asleep before its next try */
}

void task_taken_back(struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *next = graph_out(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        if (a->unmet[next[i]]++ == 0)
            dependency_lost(a, next[i]);
}

void task_depend(struct anneal *a, uint32_t t, uint32_t on)
{
    graph_link(&a->order, on, t);
    if (a->loader) /* counted when all rows are in */
        return;
    if (!task_state_passed(a->task_state[on]) && a->unmet[t]++ == 0)
        dependency_lost(a, t);
}

/* Only what belongs to an operation that will end is told: the standing one waits for a retry. */
void task_fail_cone(struct anneal *a, uint32_t t)
{
    size_t base = a->walk.n;
    vec_push(&a->walk, t);
    while (a->walk.n > base) {
        uint32_t n, v = a->walk.at[--a->walk.n];
        const uint32_t *next = graph_out(&a->order, v, &n);
        for (uint32_t i = 0; i < n; i++)
            if (a->task_state[next[i]] == TASK_PENDING &&
                task_op(a, next[i]) != OPERATION_STANDING &&
                a->ops.at[task_op(a, next[i])].state == OPERATION_RUNNING) {
                attempt_unsleep(a, next[i]);
                task_go(a, next[i], TASKEV_DEP_FAIL, REASON_DEPENDENCY);
                vec_push(&a->walk, next[i]);
            }
    }
}

static bool has_failed_dep(const struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++) {
        enum task_state s = a->task_state[deps[i]];
        if (s == TASK_FAILED || s == TASK_DEP_FAILED)
            return true;
    }
    return false;
}

void task_unfail_cone(struct anneal *a, uint32_t t)
{
    size_t base = a->walk.n;
    vec_push(&a->walk, t);
    while (a->walk.n > base) {
        uint32_t n, v = a->walk.at[--a->walk.n];
        const uint32_t *next = graph_out(&a->order, v, &n);
        for (uint32_t i = 0; i < n; i++)
            if (a->task_state[next[i]] == TASK_DEP_FAILED && !has_failed_dep(a, next[i])) {
                operation_reopen(a, task_op(a, next[i]));
                task_go(a, next[i], TASKEV_RESET, REASON_RETRY);
                task_settle_later(a, next[i]);
                vec_push(&a->walk, next[i]);
            }
    }
}
