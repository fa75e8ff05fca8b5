/* operation.c - requests and what operators may do with them: cancel, resume, retry, poke, resolve,
 * re-run
 *
 * An operation counts the tasks of the noderoles it ran last and ends when none of them is
 * unfinished.  A hold is a property of the operation: its tasks stay where they are and none of
 * them is offered for a start. What runs again because of what one of its noderoles did joins it.
 * The standing operation never ends; it takes in what re-runs without a request.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

void operation_changed(struct anneal *a, uint32_t op)
{
    uint8_t s = a->ops.at[op].state;
    change_add(a, ROWS_OPERATION, op, s, s, a->ops.at[op].reason);
}

void operation_touch(struct anneal *a, uint32_t op)
{
    if (op == 0)
        return; /* of a retired task */
    if (a->ops.at[op].touched || op == OPERATION_STANDING)
        return;
    a->ops.at[op].touched = true;
    vec_push(&a->touched, op);
}

void operation_count(struct anneal *a, uint32_t op, enum task_state from, enum task_state to)
{
    struct op *o = &a->ops.at[op];
    o->counts[from]--;
    o->counts[to]++;
    if (task_state_ended(to))
        operation_touch(a, op);
}

static uint32_t unfinished(const struct op *o)
{
    return o->counts[TASK_PENDING] + o->counts[TASK_READY] + o->counts[TASK_RUNNING] +
           o->counts[TASK_WAITING];
}

void operation_set_state(struct anneal *a, uint32_t op, enum operation_state to, enum reason why)
{
    struct op *o = &a->ops.at[op];
    change_add(a, ROWS_OPERATION, op, o->state, (uint8_t)to, (uint8_t)why);
    o->state = (uint8_t)to;
    o->reason = (uint8_t)why;
    o->ended_ms = to == OPERATION_RUNNING ? 0 : a->now_ms;
    o->total = o->gone;
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        o->total += o->counts[s];
    o->done = o->gone + o->counts[TASK_DONE] + o->counts[TASK_SKIPPED];
    o->failed = o->counts[TASK_FAILED] + o->counts[TASK_TOLERATED];
}

/* A budget is for some of what was asked: has nobody of a roll-out, nor anybody else, got through?
 * A person may forgive even that. */
static bool all_failed(const struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    bool rolls = false;
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op != op || !nr->node)
            continue;
        if (!noderole_failing(nr))
            return false;
        rolls |= nr->group && a->groups.at[nr->group].stops && nr->failed > 0 &&
                 !(nr->mode & MODE_FORGIVEN);
    }
    return rolls && o->gone == 0;
}

/* How it ends with tasks that failed: NONE if all of them are forgiven.  Stages and joins have
 * nothing that could fail: those do for which they stand. */
static enum reason judge_failures(struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    enum reason worst = REASON_NONE;
    for (size_t i = 0; i < o->noderoles.n && worst < REASON_TOLERANCE; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        bool rolls = nr->group && a->groups.at[nr->group].stops && nr->failed > 0;
        if (nr->op != op || !nr->node || (nr->failed == 0 && nr->dep_failed == 0))
            continue;
        if (rolls ? rollout_failures(a, nr->group, op) <= rollout_budget(a, nr->group, op)
                  : tolerance_within(a, o->noderoles.at[i]) && !a->groups.at[nr->group].stops)
            continue;
        worst = rolls                                         ? REASON_ROLLOUT
                : nr->group && !a->groups.at[nr->group].stops ? REASON_TOLERANCE
                                                              : REASON_DEPENDENCY;
    }
    return worst == REASON_NONE && all_failed(a, op) ? REASON_DEPENDENCY : worst;
}

/* Beyond what may fail: when its last attempt has ended, what has not started will not. */
static void cancel_rest(struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op != op || !nr->node)
            continue;
        for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
            if (a->task_state[t] != TASK_PENDING && a->task_state[t] != TASK_READY)
                continue;
            a->tasks[t].lane = 0;
            attempt_unsleep(a, t);
            task_go(a, t, TASKEV_CANCEL, REASON_TOLERANCE);
        }
    }
}

/* A roll-out of it has stopped, and nothing is left but stages and joins that follow what there is.
 */
static bool rolled_out(const struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    uint32_t following = 0;
    if (o->live > 0 || o->counts[TASK_READY] > 0 || !rollout_op_stopped(a, op))
        return false;
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        for (uint32_t k = 0; nr->op == op && !nr->node && k < nr->n_tasks; k++)
            following += a->task_state[nr->first_task + k] == TASK_PENDING &&
                         passive_follows(a, nr->first_task + k);
    }
    return following == unfinished(o);
}

/* Another operation has what was not done.  Who is not wanted any more is not waited for, if
 * anything else was done. */
static bool taken_over(const struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    bool any = o->gone > 0;
    for (size_t i = 0; !any && o->reason == REASON_REMOVED && i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        any = nr->op == op && nr->node && nr->passed > 0;
    }
    return o->reason == REASON_OPERATION || (o->reason == REASON_REMOVED && !any);
}

static void settle_op(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    o->touched = false;
    if (o->state != OPERATION_RUNNING)
        return;
    bool failures = o->counts[TASK_FAILED] || o->counts[TASK_DEP_FAILED];
    if (o->held && o->reason == REASON_TOLERANCE) {
        if (o->live > 0 && unfinished(o) > 0)
            return; /* else what is open is of runs that are over */
        cancel_rest(a, op);
        operation_set_state(a, op, OPERATION_FAILED, REASON_TOLERANCE);
    } else if (unfinished(o) == 0 || rolled_out(a, op)) {
        enum reason why = failures ? judge_failures(a, op) : REASON_NONE;
        if (rollout_op_stopped(a, op))
            why = REASON_ROLLOUT;
        if (why)
            operation_set_state(a, op, OPERATION_FAILED, why);
        else if (o->counts[TASK_CANCELLED])
            operation_set_state(a, op, OPERATION_CANCELLED, REASON_CANCELLED);
        else if (taken_over(a, op))
            operation_set_state(a, op, OPERATION_SUPERSEDED, REASON_NONE);
        else
            operation_set_state(a, op,
                                failures || o->counts[TASK_TOLERATED] ? OPERATION_TOLERATED
                                                                      : OPERATION_SUCCEEDED,
                                REASON_NONE);
        lane_give_back(a, op);
    } else if (o->held && o->live == 0) {
        operation_set_state(a, op, OPERATION_CANCELLED, REASON_CANCELLED);
    }
}

void operation_loses(struct anneal *a, uint32_t id, uint32_t op, bool removed)
{
    const struct noderole *nr = &a->noderoles.at[id];
    struct op *o = &a->ops.at[nr->op];
    if (nr->op == op || nr->op == OPERATION_STANDING || o->state != OPERATION_RUNNING ||
        nr->passed == nr->n_tasks || o->reason == REASON_TOLERANCE || o->reason == REASON_OPERATION)
        return;
    o->reason = removed ? REASON_REMOVED : REASON_OPERATION;
    operation_changed(a, nr->op);
}

void operation_settle_all(struct anneal *a)
{
    for (size_t i = 0; i < a->touched.n; i++)
        settle_op(a, a->touched.at[i]);
    vec_clear(&a->touched);
}

/* Work was given back to it after it had ended. */
void operation_reopen(struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    if (op != OPERATION_STANDING && o->state != OPERATION_RUNNING) /* held, it stays what it was */
        operation_set_state(a, op, OPERATION_RUNNING,
                            o->held && o->reason == REASON_TOLERANCE ? REASON_TOLERANCE
                                                                     : REASON_RETRY);
    operation_touch(a, op);
}

uint32_t anneal_joins(const struct anneal *a, uint32_t noderole, uint32_t cause)
{
    if (!noderole_exists(a, noderole) || !noderole_exists(a, cause))
        return 0;
    const struct noderole *nr = &a->noderoles.at[noderole];
    uint32_t op = a->noderoles.at[cause].op;
    const struct op *to = &a->ops.at[op];
    bool open = op != OPERATION_STANDING && to->state == OPERATION_RUNNING && !to->held;
    bool runs = nr->failed > 0 ? correct_may(a, noderole, true, op)
                               : noderole_in_service(nr->state, nr->target);
    return open && noderole_free(a, nr) && runs ? op : 0;
}

bool operation_task_may_retry(const struct anneal *a, uint32_t t)
{
    enum task_state s = a->task_state[t];
    return (s == TASK_FAILED && a->tasks[t].reason != REASON_UNCERTAIN) || s == TASK_CANCELLED;
}

void operation_reset_task(struct anneal *a, uint32_t t)
{
    /* Another run: what was handed over under the old run's key must not be taken for this one. */
    a->noderoles.at[a->tasks[t].noderole].generation++;
    noderole_changed(a, a->tasks[t].noderole);
    if (a->task_state[t] == TASK_FAILED)
        tolerance_forgive(a, a->tasks[t].noderole, false);
    a->noderoles.at[a->tasks[t].noderole].mode &= (uint16_t)~MODE_STOPPED;
    a->tasks[t].tries = 0;
    task_go(a, t, TASKEV_RESET, REASON_RETRY);
    if (undo_due(a, t))
        undo_begin(a, a->tasks[t].noderole);
    task_settle_later(a, t);
    task_unfail_cone(a, t);
}

uint32_t operation_retry_noderole(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t n = 0, end = nr->first_task + nr->n_tasks;
    for (uint32_t t = nr->first_task; t < end; t++)
        n += operation_task_may_retry(a, t);
    if (n == 0)
        return 0;
    operation_reopen(a, nr->op);
    nr->mode |= MODE_LET;
    if (correct_outdated(a, id)) {
        correct_begin(a, id, REASON_RETRY, false);
        return n;
    }
    for (uint32_t t = nr->first_task; t < end; t++)
        if (operation_task_may_retry(a, t))
            operation_reset_task(a, t);
    return n;
}

static int retry_nothing(struct err *e, const char *what, uint32_t id)
{
    err_set(e, ERR_CONFLICT, "%s %u has nothing to retry", what, id);
    return err_hint(e, "only failed and cancelled tasks are retried; an uncertain one needs "
                       "`anneal task resolve`");
}

/* A retry that could only wait: what it needs has to be put right first.  A whole operation is
 * retried without asking, since that reaches both. */
static int retry_in_vain(const struct anneal *a, uint32_t id, struct err *e)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->state != NODEROLE_ERROR || nr->target != TARGET_RUNNING || nr->parents_out == 0 ||
        (nr->flags & NODEROLE_F_PHASED))
        return 0;
    uint32_t n, i = 0;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (; i + 1 < n; i++) {
        const struct noderole *p = &a->noderoles.at[parents[i]];
        uint32_t q = quorum_of(a, parents[i], id);
        if (q ? !quorum_serves(a, q) : !noderole_in_service(p->state, p->target))
            break;
    }
    err_set(e, ERR_CONFLICT, "noderole %u needs noderole %u, which is not in service", id,
            parents[i]);
    return err_hint(e, "retry that one first, or their operation as a whole");
}

static int retry_task(struct anneal *a, uint32_t t, struct err *e)
{
    if (!operation_task_may_retry(a, t))
        return retry_nothing(e, "task", t);
    operation_reopen(a, task_op(a, t));
    a->noderoles.at[a->tasks[t].noderole].mode |= MODE_LET;
    if (correct_outdated(a, a->tasks[t].noderole))
        correct_begin(a, a->tasks[t].noderole, REASON_RETRY, false);
    else
        operation_reset_task(a, t);
    return 0;
}

static void lift(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    o->held = false;
    if (o->reason == REASON_TOLERANCE && o->state == OPERATION_RUNNING)
        o->reason = REASON_RETRY; /* before its last attempt ended */
    operation_reopen(a, op);
}

static int retry_operation(struct anneal *a, uint32_t op, struct err *e)
{
    uint32_t n = 0;
    struct op *o = &a->ops.at[op];
    bool held = o->held;
    for (size_t i = 0; i < o->noderoles.n; i++)
        if (a->noderoles.at[o->noderoles.at[i]].op == op)
            n += operation_retry_noderole(a, o->noderoles.at[i]);
    if (n == 0 && !held)
        return retry_nothing(e, "operation", op);
    if (held) {
        lift(a, op);
        operation_changed(a, op);
        schedule_op(a, op);
    }
    return 0;
}

/* Nothing of it starts any more; what waits ends at once, what runs by itself or by force. */
static void hold(struct anneal *a, uint32_t op, bool abort)
{
    struct op *o = &a->ops.at[op];
    o->held = true;
    operation_changed(a, op);
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op != op || nr->live == 0)
            continue;
        for (uint32_t k = 0; k < nr->n_tasks; k++) {
            uint32_t t = nr->first_task + k, span = a->tasks[t].span;
            if (a->task_state[t] == TASK_WAITING) {
                attempt_close(a, a->tasks[t].live, OUTCOME_CANCELLED, NULL);
                task_go(a, t, TASKEV_CANCEL,
                        o->reason == REASON_TOLERANCE ? REASON_TOLERANCE : REASON_CANCELLED);
                limits_span_settle(a, span);
            } else if (a->task_state[t] == TASK_RUNNING) {
                chain_withdraw(a, a->lives.at[a->tasks[t].live].follower);
                if (abort)
                    attempt_stop(a, a->tasks[t].live);
            }
        }
    }
    operation_touch(a, op);
}

void operation_drain(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    if (op == OPERATION_STANDING || o->state != OPERATION_RUNNING || o->held)
        return;
#ifndef ANNEAL_DEFECT_TOLERANCE
    o->reason = REASON_TOLERANCE;
    hold(a, op, false);
#endif
}

static int cancel(struct anneal *a, uint32_t op, bool abort, struct err *e)
{
    struct op *o = &a->ops.at[op];
    if (op == OPERATION_STANDING)
        return err_set(e, ERR_CONFLICT, "operation %u is the standing one: nothing to cancel", op);
    if (o->state != OPERATION_RUNNING)
        return err_set(e, ERR_CONFLICT, "operation %u has ended (%s): nothing to cancel", op,
                       operation_state_name(o->state));
    hold(a, op, abort);
    return 0;
}

/* Another chance for what was cancelled of it. */
static void give_back(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->cancelled > 0 && nr->failed == 0 && correct_outdated(a, id)) {
        correct_begin(a, id, REASON_RETRY, false);
        return;
    }
    for (uint32_t t = nr->first_task; nr->cancelled > 0 && t < nr->first_task + nr->n_tasks; t++)
        if (a->task_state[t] == TASK_CANCELLED)
            operation_reset_task(a, t);
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        task_join_failure(a, t); /* what failed meanwhile is not forgiven to everybody */
}

/* What it removes waits for nobody who still uses it, nor for what takes its place; and nobody of
 * it awaits that: what they used may be gone already. */
static uint32_t leave_all_now(struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    uint32_t n = 0;
    for (size_t i = 0; i < o->noderoles.n; i++) {
        uint32_t id = o->noderoles.at[i];
        const struct noderole *nr = &a->noderoles.at[id];
        if (nr->op == op && nr->target == TARGET_ABSENT)
            n += leave_now(a, id);
        else if (nr->op == op)
            n += late_await_end(a, id);
    }
    return n;
}

static int resume(struct anneal *a, const struct event *ev, struct err *e)
{
    uint32_t op = ev->id;
    struct op *o = &a->ops.at[op];
    bool held = op != OPERATION_STANDING &&
                (o->held || rollout_op_stopped(a, op) || rollout_op_spent(a, op));
    uint32_t freed = ev->now ? leave_all_now(a, op) : 0;
    if (freed > 0 && !held)
        return 0;
    if (!held && ev->now)
        return err_set(e, ERR_CONFLICT, "nothing that operation %u removes waits for others", op);
    if (!held) {
        err_set(e, ERR_CONFLICT, "operation %u is not held", op);
        return err_hint(e, "only one that was cancelled before its end, or a roll-out of which "
                           "stopped, can be resumed");
    }
    if (ev->n)
        o->failures = ev->n;
    rollout_resume(a, op);
    lift(a, op);
    for (size_t i = 0; i < o->noderoles.n; i++) {
        if (a->noderoles.at[o->noderoles.at[i]].op == op)
            give_back(a, o->noderoles.at[i]);
    }
    operation_changed(a, op);
    schedule_op(a, op);
    return 0;
}

int operation_takes_work(const struct anneal *a, uint32_t op, struct err *e)
{
    if (op == 0 || op >= a->ops.n || !a->ops.at[op].exists)
        return err_set(e, ERR_NOT_FOUND, "no operation %u", op);
    if (a->ops.at[op].state != OPERATION_RUNNING)
        return err_set(e, ERR_CONFLICT, "operation %u has ended", op);
    return 0;
}

static bool noderole_unfinished(const struct anneal *a, const struct noderole *nr)
{
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (!task_state_ended(a->task_state[t]) || a->task_state[t] == TASK_CANCELLED)
            return true;
    return false;
}

int operation_supersede_check(const struct anneal *a, uint32_t old, uint32_t op, struct err *e)
{
    if (old == 0 || old >= a->ops.n || !a->ops.at[old].exists)
        return err_set(e, ERR_NOT_FOUND, "no operation %u", old);
    const struct op *o = &a->ops.at[old];
    if (old == OPERATION_STANDING || old == op || (o->state != OPERATION_RUNNING && !o->held))
        return err_set(e, ERR_CONFLICT, "operation %u is not one that can be superseded", old);
    return operation_takes_work(a, op, e);
}

/* Work that is unfinished goes on in another operation, what was held or cancelled included; what
 * has failed or is done stays where it was told. */
void operation_supersede(struct anneal *a, uint32_t old, uint32_t op)
{
    struct op *o = &a->ops.at[old];
    for (size_t i = 0; i < o->noderoles.n; i++) {
        uint32_t id = o->noderoles.at[i];
        const struct noderole *nr = &a->noderoles.at[id];
        if (nr->op != old || !noderole_unfinished(a, nr))
            continue;
        noderole_adopt(a, id, op);
        give_back(a, id);
    }
    o->held = false;
    operation_set_state(a, old, OPERATION_SUPERSEDED, REASON_NONE);
    lane_give_back(a, old);
    operation_touch(a, op);
}

static int supersede(struct anneal *a, const struct event *ev, struct err *e)
{
    int r = operation_supersede_check(a, ev->id, ev->op, e);
    if (r >= 0)
        operation_supersede(a, ev->id, ev->op);
    return r;
}

static int poke(struct anneal *a, uint32_t t, struct err *e)
{
    uint32_t live = a->tasks[t].live;
    if (live && a->lives.at[live].kind == LIVE_WAIT) {
        attempt_poke(a, live);
    } else if (live && a->lives.at[live].kind == LIVE_BACKOFF) {
        attempt_unsleep(a, t);
        task_settle_later(a, t);
    } else {
        return err_set(e, ERR_CONFLICT, "task %u is %s: only a waiting task can be poked", t,
                       task_state_name(a->task_state[t]));
    }
    return 0;
}

/* It was done with what its run saw.  If that is not what it would see now, a new run follows: it
 * is not in service with what is gone.  What destroys is not done again for that. */
static void resolve_done(struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].noderole;
    struct noderole *nr = &a->noderoles.at[id];
    uint64_t inputs = ripple_inputs(a, id);
    bool outdated = !(nr->flags & NODEROLE_F_DESTRUCTIVE) &&
                    (nr->inputs != inputs || correct_outdated(a, id));
    bool shut = gate_shut(a, id);
    a->tasks[t].done_digest = ripple_input_from(a, t, outdated ? nr->inputs : inputs);
    nr->inputs = inputs;
    nr->mode |= MODE_BEGUN;
    gate_moved(a, id, shut);
    noderole_changed(a, id);
    task_go(a, t, TASKEV_OK, REASON_RESOLVED);
    if (task_rule(a, t) == RULE_UNDO)
        undo_passed(a, id);
    task_unfail_cone(a, t);
    if (outdated)
        correct_begin(a, id, REASON_RETRY, false);
}

static int resolve(struct anneal *a, uint32_t t, uint8_t word, struct err *e)
{
    if (a->task_state[t] != TASK_FAILED || a->tasks[t].reason != REASON_UNCERTAIN)
        return err_set(e, ERR_CONFLICT, "task %u is %s%s%s: only an uncertain task is resolved", t,
                       task_state_name(a->task_state[t]), a->tasks[t].reason ? " " : "",
                       reason_name(a->tasks[t].reason));
    if (word > RESOLVE_AGAIN)
        return err_set(e, ERR_INVALID, "task %u: no such resolution", t);
    operation_reopen(a, task_op(a, t));
    if (word == RESOLVE_DONE && a->unmet[t] > 0) {
        /* It was done in a run that is over: as any task that was, it begins again with the new
         * one. */
        a->tasks[t].done_digest = ripple_task_input(a, t);
        operation_reset_task(a, t);
    } else if (word == RESOLVE_DONE) {
        resolve_done(a, t);
    } else if (word == RESOLVE_FAILED) {
        task_go(a, t, TASKEV_FAIL, REASON_RESOLVED);
    } else {
        bool outdated = correct_outdated(a, a->tasks[t].noderole);
        operation_reset_task(a, t);
        if (outdated)
            correct_begin(a, a->tasks[t].noderole, REASON_RETRY, false);
    }
    limits_span_settle(a, a->tasks[t].span);
    return 0;
}

static int add(struct anneal *a, const struct event *ev, struct err *e)
{
    if (ev->id == 0 || (ev->id < a->ops.n && a->ops.at[ev->id].exists))
        return err_set(e, ERR_EXISTS, "operation %u exists", ev->id);
    if (ev->n >= a->tenants.n || !a->tenants.at[ev->n].exists || a->tenants.at[ev->n].gone ||
        ev->flag >= CLASS_COUNT)
        return err_set(e, ERR_INVALID, "operation %u: no such tenant or class", ev->id);
    while (a->ops.n <= ev->id)
        (void)vec_add(&a->ops);
    struct op *o = &a->ops.at[ev->id];
    *o = (struct op){.exists = true, .tenant = ev->n, .class = ev->flag};
    operation_changed(a, ev->id);
    return 0;
}

static int rerun_check(const struct anneal *a, uint32_t id, struct err *e)
{
    if (!noderole_exists(a, id))
        return err_set(e, ERR_NOT_FOUND, "no noderole %u", id);
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->target == TARGET_ABSENT)
        return err_set(e, ERR_CONFLICT, "noderole %u is being removed", id);
    return change_certain(a, id, e);
}

static int rerun(struct anneal *a, const struct event *ev, struct err *e)
{
    int r = 0;
    for (uint32_t i = 0; i < ev->n_ids && r >= 0; i++)
        r = rerun_check(a, ev->ids[i], e);
    if (r < 0 || (r = operation_takes_work(a, ev->op, e)) < 0)
        return r;
    for (uint32_t i = 0; i < ev->n_ids; i++) {
        uint32_t id = ev->ids[i];
        const struct noderole *nr = &a->noderoles.at[id];
        operation_loses(a, id, ev->op, false);
        noderole_adopt(a, id, ev->op);
        if (nr->failed > 0 || nr->cancelled > 0)
            correct_begin(a, id, REASON_RERUN, true);
        else
            ripple_refresh(a, id, REASON_RERUN, true);
    }
    operation_touch(a, ev->op);
    return 0;
}

static int data_set(struct anneal *a, const struct event *ev, struct err *e)
{
    if (!noderole_exists(a, ev->id))
        return err_set(e, ERR_NOT_FOUND, "no noderole %u", ev->id);
    struct noderole *nr = &a->noderoles.at[ev->id];
    int r = ev->op ? operation_takes_work(a, ev->op, e) : 0;
    if (r < 0)
        return r;
    if (ev->op)
        operation_touch(a, ev->op); /* it may have nothing to do */
    if (nr->data == ev->a)
        return 0;
    nr->data = ev->a;
    noderole_changed(a, ev->id);
    if (nr->failed > 0 && !correct_may(a, ev->id, ev->returned, ev->op ? ev->op : nr->op))
        return 0; /* it waits for a person's own word, and what failed before is not this one's */
    if (ev->op) {
        operation_loses(a, ev->id, ev->op, false);
        noderole_adopt(a, ev->id, ev->op);
    }
    ripple_refresh(a, ev->id, ev->returned ? REASON_RETURNED : REASON_DATA, false);
    return 0;
}

int operation_event(struct anneal *a, const struct event *ev, struct err *e)
{
    int r;
    switch ((int)ev->kind) {
    case EVENT_OPERATION_ADD: return add(a, ev, e);
    case EVENT_RERUN: return rerun(a, ev, e);
    case EVENT_DATA_SET: return data_set(a, ev, e);
    case EVENT_SUPERSEDE: return supersede(a, ev, e);
    case EVENT_RETRY_NODEROLE:
        if (!noderole_exists(a, ev->id))
            return err_set(e, ERR_NOT_FOUND, "no noderole %u", ev->id);
        if ((r = retry_in_vain(a, ev->id, e)) < 0)
            return r;
        return operation_retry_noderole(a, ev->id) ? 0 : retry_nothing(e, "noderole", ev->id);
    case EVENT_RETRY_TASK:
    case EVENT_POKE:
    case EVENT_RESOLVE:
        if (!task_exists(a, ev->id))
            return err_set(e, ERR_NOT_FOUND, "no task %u", ev->id);
        if (ev->kind == EVENT_POKE)
            return poke(a, ev->id, e);
        if (ev->kind == EVENT_RESOLVE)
            return resolve(a, ev->id, ev->flag, e);
        return retry_task(a, ev->id, e);
    default: break;
    }
    if (ev->id == 0 || ev->id >= a->ops.n || !a->ops.at[ev->id].exists)
        return err_set(e, ERR_NOT_FOUND, "no operation %u", ev->id);
    if (ev->kind == EVENT_CANCEL)
        return cancel(a, ev->id, ev->flag, e);
    if (ev->kind == EVENT_RESUME)
        return resume(a, ev, e);
    return retry_operation(a, ev->id, e);
}
