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
                      [TASKEV_FAIL] = GO(FAILED),
                      [TASKEV_JOINED] = GO(DONE)},
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
    case TASK_DEP_FAILED: return &nr->dep_failed;
    case TASK_PENDING:
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

/* Two rules let one that failed count as over: any, or those of groups within their tolerance. */
static bool forgives(const struct anneal *a, uint32_t t, uint32_t dep)
{
    enum task_rule rule = task_rule(a, t);
#ifdef ANNEAL_DEFECT_JOIN
    return task_rule_ends(rule) || rule == RULE_JOIN_TOLERATE; /* whatever became of the group */
#endif
    return task_rule_ends(rule) ||
           (rule == RULE_JOIN_TOLERATE && tolerance_within(a, a->tasks[dep].noderole)) ||
           rollout_orders(a, dep, t);
}

static bool met_in(const struct anneal *a, uint32_t dep, enum task_state s, uint32_t t)
{
    return task_state_passed(s) || (task_state_failed(s) && forgives(a, t, dep)) ||
           (s == TASK_CANCELLED && task_rule(a, t) == RULE_JOIN_OVER);
}

bool task_met(const struct anneal *a, uint32_t dep, uint32_t t)
{
    return met_in(a, dep, a->task_state[dep], t);
}

/* Those after it have one dependency more or less.  Most tasks pass or begin again: then it is the
 * same for all. */
static void tell_waiting(struct anneal *a, uint32_t t, bool passed)
{
    uint32_t n;
    const uint32_t *next = graph_out(&a->order, t, &n);
    if (passed)
        for (uint32_t i = 0; i < n; i++)
            task_waits_less(a, next[i]);
    else
        for (uint32_t i = 0; i < n; i++)
            task_waits_more(a, next[i]);
}

/* It has failed or is cancelled, or was: that is over for some of them and not for others. */
static void tell_forgiving(struct anneal *a, uint32_t t, enum task_state from, enum task_state to)
{
    uint32_t n;
    const uint32_t *next = graph_out(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++) {
        bool was = met_in(a, t, from, next[i]), is = met_in(a, t, to, next[i]);
        if (is && !was)
            task_waits_less(a, next[i]);
        else if (was && !is)
            task_waits_more(a, next[i]);
    }
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
        if (minus == &nr->passed || plus == &nr->passed)
            gate_progress(a, task->noderole);
        if (nr->group && task_state_failed(from) != task_state_failed(to))
            tolerance_count(a, task->noderole, task_state_failed(to));
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
    if (task_state_failed(from) || task_state_failed(to) || from == TASK_CANCELLED ||
        to == TASK_CANCELLED)
        tell_forgiving(a, t, from, to);
    else if (task_state_passed(from) != task_state_passed(to))
        tell_waiting(a, t, task_state_passed(to));
}

void task_settle_later(struct anneal *a, uint32_t t)
{
    if (a->tasks[t].flags & TASKF_SETTLE)
        return;
    a->tasks[t].flags |= TASKF_SETTLE;
    vec_push(&a->settle, t);
}

void task_waits_less(struct anneal *a, uint32_t t)
{
    if (--a->unmet[t] == 0)
        task_settle_later(a, t);
}

static void dependency_lost(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    if ((task->flags & TASKF_RULE) && task_passive(a, t)) {
        task_settle_later(a, t); /* along a chain of joins: not from here */
        return;
    }
    if (passive_call_stale(a, t))
        task_settle_later(a, t);
    if (a->task_state[t] == TASK_READY) {
        task->lane = 0;
        /* READY is not stored, so neither is a reason for leaving it */
        task_go(a, t, TASKEV_DEPS_LOST, task->reason);
    }
    if (a->task_state[t] == TASK_PENDING && task->span)
        limits_span_restart(a, task->span); /* it was asleep before its next try */
}

void task_waits_more(struct anneal *a, uint32_t t)
{
    if (a->unmet[t]++ == 0)
        dependency_lost(a, t);
}

static void fail_with(struct anneal *a, uint32_t t)
{
    uint32_t group = a->noderoles.at[a->tasks[t].noderole].group;
    bool forgiving = task_rule_ends(task_rule(a, t)) || task_rule(a, t) == RULE_JOIN_TOLERATE ||
                     (group && a->groups.at[group].stops) ||
                     a->noderoles.at[a->tasks[t].noderole].quorum;
    if (a->task_state[t] != TASK_PENDING || (forgiving && !task_dep_failed(a, t)))
        return;
    if (!passive_follows(a, t) && (task_op(a, t) == OPERATION_STANDING ||
                                   a->ops.at[task_op(a, t)].state != OPERATION_RUNNING))
        return;
    if (a->tasks[t].live && a->lives.at[a->tasks[t].live].kind == LIVE_AHEAD)
        attempt_supersede(a, t);
    attempt_unsleep(a, t);
    task_go(a, t, TASKEV_DEP_FAIL, REASON_DEPENDENCY);
    vec_push(&a->walk, t);
}

/* What its noderole keeps waiting though it is no need of theirs: who goes and is used by it, and
 * whose next run awaits it. */
static void each_bound(struct anneal *a, uint32_t id, void (*fn)(struct anneal *a, uint32_t t))
{
    const struct noderole *nr = &a->noderoles.at[id];
    for (uint32_t i = nr->bonds_up[BOND_LEAVES]; i; i = a->bonds.at[i].next_up)
        if (a->noderoles.at[a->bonds.at[i].parent].target == TARGET_ABSENT)
            gate_each_first(a, a->bonds.at[i].parent, fn);
    for (uint32_t i = nr->bonds_down[BOND_SLEEPS]; i; i = a->bonds.at[i].next_down)
        if (a->bonds.at[i].awaited && gate_shut(a, a->bonds.at[i].child))
            gate_each_first(a, a->bonds.at[i].child, fn);
}

/* Calls fn for what waits for a task: along order edges, and the first tasks of the noderoles whose
 * gates its own can open; each noderole's once per epoch. */
static void each_waiting(struct anneal *a, uint32_t t, uint32_t epoch,
                         void (*fn)(struct anneal *a, uint32_t t))
{
    uint32_t n, m;
    const uint32_t *next = graph_out(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        fn(a, next[i]);
    struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    if (nr->visited == epoch)
        return;
    nr->visited = epoch;
    bool goes = nr->target == TARGET_ABSENT;
    const uint32_t *others = goes ? graph_in(&a->need, a->tasks[t].noderole, &m)
                                  : graph_out(&a->need, a->tasks[t].noderole, &m);
    for (uint32_t i = 0; i < m; i++) {
        const struct noderole *o = &a->noderoles.at[others[i]];
        if ((o->target == TARGET_ABSENT) == goes && (goes || !(o->flags & NODEROLE_F_PHASED)) &&
            gate_between(a, others[i], a->tasks[t].noderole))
            gate_each_first(a, others[i], fn);
    }
    each_bound(a, a->tasks[t].noderole, fn);
}

bool task_cancel(struct anneal *a, uint32_t t, enum reason why)
{
    enum task_state s = a->task_state[t];
    if (s != TASK_PENDING && s != TASK_READY)
        return false;
    if (a->tasks[t].live && a->lives.at[a->tasks[t].live].kind == LIVE_AHEAD)
        attempt_supersede(a, t);
    attempt_unsleep(a, t);
    a->tasks[t].lane = 0;
    task_go(a, t, TASKEV_CANCEL, why);
    return true;
}

/* A stage or join waits on, and so does who waits for it. */
static void cancel_through(struct anneal *a, uint32_t join)
{
    if ((a->tasks[join].flags & TASKF_WALKED) || task_dep_failed(a, join))
        return; /* it will fail, and all behind it */
    a->tasks[join].flags |= TASKF_WALKED;
    vec_push(&a->walked, join);
    vec_push(&a->walk, join);
}

/* Does what was cancelled stand before it?  Of one with quorums: anything but members of which
 * enough are left. */
static bool cancelled_before(const struct anneal *a, uint32_t t)
{
    uint32_t n, id = a->tasks[t].noderole;
    const struct noderole *nr = &a->noderoles.at[id];
    if (!nr->quorum || nr->target == TARGET_ABSENT)
        return true;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        if (a->task_state[deps[i]] == TASK_CANCELLED || (a->tasks[deps[i]].flags & TASKF_WALKED))
            return true;
    if (!gate_shuts(a, t))
        return false;
    for (uint32_t i = nr->awaits ? nr->bonds_up[BOND_SLEEPS] : 0; i; i = a->bonds.at[i].next_up)
        if (a->bonds.at[i].awaited && a->noderoles.at[a->bonds.at[i].parent].cancelled > 0)
            return true;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++)
        if (a->noderoles.at[parents[i]].cancelled > 0 && !quorum_of(a, parents[i], id))
            return true;
    return quorum_hopeless(a, id, false);
}

static void cancel_with(struct anneal *a, uint32_t t)
{
    uint32_t op = task_op(a, t);
    if (a->task_state[t] != TASK_PENDING || a->unmet[t] == 0)
        return;
    if (passive_follows(a, t) && task_rule(a, t) != RULE_JOIN_OVER)
        cancel_through(a, t);
    else if (!passive_follows(a, t) && op != OPERATION_STANDING &&
             a->ops.at[op].state == OPERATION_RUNNING && cancelled_before(a, t) &&
             task_cancel(a, t, REASON_DEPENDENCY))
        vec_push(&a->walk, t);
}

void task_cancel_cone(struct anneal *a, size_t base)
{
    uint32_t epoch = ++a->epoch;
    while (a->walk.n > base)
        each_waiting(a, a->walk.at[--a->walk.n], epoch, cancel_with);
    while (a->walked.n > 0)
        a->tasks[a->walked.at[--a->walked.n]].flags &= (uint8_t)~TASKF_WALKED;
}

/* Only what belongs to an operation that will end is told: the standing one waits for a retry. */
void task_fail_cone(struct anneal *a, uint32_t t)
{
    size_t base = a->walk.n;
    uint32_t epoch = ++a->epoch;
    vec_push(&a->walk, t);
    while (a->walk.n > base)
        each_waiting(a, a->walk.at[--a->walk.n], epoch, fail_with);
}

/* Has one failed that it waits for without needing it? */
static bool bound_failed(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->target == TARGET_ABSENT) {
        for (uint32_t i = nr->bonds_down[BOND_LEAVES]; i; i = a->bonds.at[i].next_down)
            if (noderole_failing(&a->noderoles.at[a->bonds.at[i].child]))
                return true;
        return false;
    }
    for (uint32_t i = nr->awaits ? nr->bonds_up[BOND_SLEEPS] : 0; i; i = a->bonds.at[i].next_up)
        if (a->bonds.at[i].awaited && noderole_failing(&a->noderoles.at[a->bonds.at[i].parent]))
            return true;
    return false;
}

bool task_dep_failed(const struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (task_state_failed(a->task_state[deps[i]]) && !forgives(a, t, deps[i]))
            return true;
    }
    if (!gate_shuts(a, t))
        return false;
    uint32_t id = a->tasks[t].noderole;
    const uint32_t *others = gate_waits_for(a, id, &n);
    bool goes = a->noderoles.at[id].target == TARGET_ABSENT;
    for (uint32_t i = 0; i < n; i++)
        if (noderole_failing(&a->noderoles.at[others[i]]) && gate_between(a, others[i], id) &&
            (goes || !quorum_of(a, others[i], id)))
            return true;
    if (!goes && a->noderoles.at[id].quorum && quorum_hopeless(a, id, true))
        return true;
    return bound_failed(a, id);
}

/* What hangs on a task that has failed for good fails with it, as if it had been there before. */
void task_join_failure(struct anneal *a, uint32_t t)
{
    if (a->task_state[t] != TASK_PENDING || !task_dep_failed(a, t))
        return;
    size_t base = a->walk.n;
    fail_with(a, t);
    if (a->walk.n == base)
        return; /* of an operation that does not end */
    a->walk.n = base;
    task_fail_cone(a, t);
}

/* Whose operation has ended goes on in the one that corrects what stood in its way: all that comes
 * of a request is part of it. */
static bool follows_cause(const struct anneal *a, uint32_t t)
{
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    const struct op *from = &a->ops.at[nr->op], *to = &a->ops.at[a->cause];
    return a->cause > OPERATION_STANDING && nr->node && nr->failed == 0 && !from->held &&
           from->state != OPERATION_RUNNING && to->state == OPERATION_RUNNING && !to->held;
}

static void unfail_with(struct anneal *a, uint32_t t)
{
    if (a->task_state[t] != TASK_DEP_FAILED || task_dep_failed(a, t))
        return;
    if (follows_cause(a, t))
        noderole_adopt(a, a->tasks[t].noderole, a->cause);
    if (!passive_follows(a, t)) /* no work of its own is given back to its operation */
        operation_reopen(a, task_op(a, t));
    task_go(a, t, TASKEV_RESET, REASON_RETRY);
    task_settle_later(a, t);
    vec_push(&a->walk, t);
}

void task_unfail(struct anneal *a, uint32_t t)
{
    size_t base = a->walk.n;
    unfail_with(a, t);
    while (a->walk.n > base)
        each_waiting(a, a->walk.at[--a->walk.n], ++a->epoch, unfail_with);
}

void task_unfail_cone(struct anneal *a, uint32_t t)
{
    size_t base = a->walk.n;
    vec_push(&a->walk, t);
    while (a->walk.n > base) /* a noderole's last task to be reset frees its children: no epoch */
        each_waiting(a, a->walk.at[--a->walk.n], ++a->epoch, unfail_with);
}
