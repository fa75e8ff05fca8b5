/* attempt.c - open attempts: started, asked again, answered, lost, superseded
 *
 * An attempt, not its task, holds a node slot and a worker's slot.  Its row is written when it
 * starts and when it ends; while open it is the outbox entry of its message.  A result counts only
 * for the live attempt of its task, at the ask it answers; any other is history. Invariant: a task
 * has at most one open attempt, superseded or not, so two never run at the same time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <assert.h>

enum { BACKOFF_MOST_MS = 600 * 1000, AGAIN_LEAST_MS = 10 };

uint32_t attempt_live_new(struct anneal *a)
{
    if (a->lives.n == 0)
        (void)vec_add(&a->lives); /* 0 is nobody */
    uint32_t id;
    if (a->free_lives.n > 0) {
        id = a->free_lives.at[--a->free_lives.n];
    } else {
        id = (uint32_t)a->lives.n;
        (void)vec_add(&a->lives);
    }
    a->lives.at[id] = (struct live){0};
    return id;
}

static void attempt_list_on_node(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    struct node *n = &a->nodes.at[l->node];
    l->next = n->lives;
    if (l->next)
        a->lives.at[l->next].prev = id;
    n->lives = id;
}

static void attempt_live_free(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    timer_disarm(a, id);
    if (l->prev)
        a->lives.at[l->prev].next = l->next;
    else if (a->nodes.at[l->node].lives == id)
        a->nodes.at[l->node].lives = l->next;
    if (l->next)
        a->lives.at[l->next].prev = l->prev;
    l->kind = LIVE_FREE;
    vec_push(&a->free_lives, id);
}

/* answer: the result that ended it; NULL: it is open, or nobody has answered. */
static void row_emit(struct anneal *a, enum row_verb verb, const struct live *l, uint8_t outcome,
                     const struct event *answer)
{
    if (!a->fx)
        return;
    struct attempt_row *r = vec_add(&a->fx->attempts);
    r->verb = (uint8_t)verb;
    r->row = (struct row_attempt){
        .id = (uint64_t)l->task << ATTEMPT_BITS | l->number,
        .tenant = a->ops.at[task_op(a, l->task)].tenant,
        .realm = 1,
        .node = l->node,
        .generation = l->generation,
        .operation = task_op(a, l->task),
        .started_ms = l->started_ms,
        .turn_ms = l->turn_ms,
        .input = l->input,
        .behind = l->behind,
        .outcome = outcome,
        .flags = l->flags & LIVEF_STORED,
        .asks = l->asks,
        .wake_ms = l->wake_ms,
        .deadline_ms = l->deadline_ms,
        .ended_ms = outcome == ATTEMPT_OPEN ? 0 : a->now_ms,
        .exit_code = answer ? answer->exit_code : 0,
        .phase = answer ? answer->phase : PHASE_NONE,
    };
}

void attempt_row_changed(struct anneal *a, uint32_t id)
{
    row_emit(a, ROW_UPDATE, &a->lives.at[id], ATTEMPT_OPEN, NULL);
}

static void worker_take(struct anneal *a, struct live *l)
{
    l->flags |= LIVEF_WORKER;
    a->capacity_used++;
    a->tenants.at[a->ops.at[task_op(a, l->task)].tenant].used++;
    a->jigs.at[a->defs.at[a->tasks[l->task].def].jig].taken++;
}

static void worker_give(struct anneal *a, struct live *l)
{
    if (!(l->flags & LIVEF_WORKER))
        return;
    uint32_t jig = a->defs.at[a->tasks[l->task].def].jig;
    l->flags &= (uint8_t)~LIVEF_WORKER;
    a->capacity_used--;
    a->tenants.at[a->ops.at[task_op(a, l->task)].tenant].used--;
    a->jigs.at[jig].taken--;
    if (a->jigs.at[jig].lanes)
        schedule_jig(a, jig);
}

static void node_take(struct anneal *a, struct live *l)
{
    if (l->flags & LIVEF_NODE)
        return;
    l->flags |= LIVEF_NODE;
    a->nodes.at[l->node].used++;
}

static void node_give(struct anneal *a, struct live *l)
{
    if (!(l->flags & LIVEF_NODE))
        return;
    l->flags &= (uint8_t)~LIVEF_NODE;
    a->nodes.at[l->node].used--;
    schedule_node(a, l->node);
}

void attempt_retake(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    const struct task *task = &a->tasks[l->task];
    attempt_list_on_node(a, id);
    if (l->kind == LIVE_RUN)
        worker_take(a, l);
    if (l->kind == LIVE_RUN || (l->kind == LIVE_WAIT && a->defs.at[task->def].hold == HOLD_NODE))
        node_take(a, l);
    a->live_n++;
    a->ops.at[task_op(a, l->task)].live++;
    if (task->span)
        a->spans.at[task->span].live++;
}

/* A time of an attempt: while its node is unavailable its clocks stand still and times are what is
 * left. */
static uint64_t in_ms(const struct anneal *a, const struct live *l, uint64_t ms)
{
    return (l->flags & LIVEF_FROZEN) ? ms : a->now_ms + ms;
}

static uint64_t ask_limit(const struct anneal *a, const struct def *d)
{
    return a->now_ms + (d->timeout_ms ? d->timeout_ms : a->opt.timeout_ms) + a->opt.stop_grace_ms;
}

/* Of a task of it nobody knows how it ended: it may be done, with what the run saw. */
static bool uncertain(const struct anneal *a, const struct noderole *nr)
{
    for (uint32_t t = nr->first_task; nr->failed > 0 && t < nr->first_task + nr->n_tasks; t++)
        if (a->task_state[t] == TASK_FAILED && a->tasks[t].reason == REASON_UNCERTAIN)
            return true;
    return false;
}

/* What a run depends on is settled when its first task starts; when that failed and starts again,
 * once more. */
static void settle_inputs(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    bool begun = nr->mode & MODE_BEGUN;
    if (begun && (nr->passed > 0 || nr->live > 0 || uncertain(a, nr)))
        return;
    uint64_t inputs = ripple_inputs(a, id);
    if (begun && inputs == nr->inputs)
        return;
    bool shut = gate_shut(a, id);
    nr->inputs = inputs;
    nr->mode |= MODE_BEGUN;
    gate_moved(a, id, shut);
    noderole_changed(a, id);
}

void attempt_start(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    struct noderole *nr = &a->noderoles.at[task->noderole];
    const struct def *d = &a->defs.at[task->def];
    rollout_begins(a, t);
    settle_inputs(a, task->noderole);
    uint32_t id = attempt_live_new(a);
    struct live *l = &a->lives.at[id];
    *l = (struct live){.kind = LIVE_RUN,
                       .task = t,
                       .number = ++task->attempt,
                       .generation = nr->generation,
                       .node = nr->node,
                       .started_ms = a->now_ms,
                       .input = ripple_task_input(a, t),
                       .wake_ms = ask_limit(a, d)};
    l->deadline_ms = d->deadline_ms ? a->now_ms + d->deadline_ms
                                    : a->now_ms + a->opt.timeout_ms + d->timeout_ms;
    task->live = id;
    /* From here on nobody can say that all is as the last success left it. */
    task->done_digest = 0;
    task->flags |= TASKF_TRIED;
    attempt_list_on_node(a, id);
    worker_take(a, l);
    node_take(a, l);
    a->live_n++;
    a->ops.at[nr->op].live++;
    if (task->span)
        a->spans.at[task->span].live++;
    task_go(a, t, TASKEV_START, REASON_NONE);
    timer_arm(a, id);
    row_emit(a, ROW_INSERT, l, ATTEMPT_OPEN, NULL);
    if (a->fx)
        vec_push(&a->fx->sends, ((struct dispatch){t, l->number, 0, 0}));
    if (d->flags & DEF_F_TAKES_DOWN)
        nodes_went_away(a, nr->node, l->deadline_ms);
    if (d->flags & DEF_F_CHAINS)
        chain_extend(a, t);
}

uint32_t attempt_ahead(struct anneal *a, uint32_t t, uint32_t behind, uint64_t input)
{
    struct task *task = &a->tasks[t];
    const struct noderole *nr = &a->noderoles.at[task->noderole];
    uint32_t id = attempt_live_new(a);
    struct live *l = &a->lives.at[id];
    *l = (struct live){.kind = LIVE_AHEAD,
                       .flags = LIVEF_AHEAD,
                       .task = t,
                       .number = ++task->attempt,
                       .generation = nr->generation,
                       .node = nr->node,
                       .started_ms = a->now_ms,
                       .behind = behind,
                       .input = input};
    task->live = id;
    a->lives.at[a->tasks[behind].live].follower = t;
    attempt_list_on_node(a, id);
    a->live_n++;
    a->ops.at[nr->op].live++;
    if (task->span)
        a->spans.at[task->span].live++;
    row_emit(a, ROW_INSERT, l, ATTEMPT_OPEN, NULL);
    if (a->fx)
        vec_push(&a->fx->sends, ((struct dispatch){t, l->number, 0, behind}));
    return id;
}

void attempt_turn(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    const struct def *d = &a->defs.at[a->tasks[l->task].def];
    l->kind = LIVE_RUN;
    l->flags &= (uint8_t)~LIVEF_AHEAD;
    l->turn_ms = a->now_ms;
    a->tasks[l->task].done_digest = 0;
    a->tasks[l->task].flags |= TASKF_TRIED;
    if (!(l->flags & LIVEF_STOPPING))
        l->wake_ms = in_ms(a, l, ask_limit(a, d) - a->now_ms);
    l->deadline_ms = in_ms(a, l,
                           d->deadline_ms ? d->deadline_ms : a->opt.timeout_ms + d->timeout_ms);
    worker_take(a, l);
    node_take(a, l);
    timer_arm(a, id);
    row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
}

void attempt_begin(struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].live;
    rollout_begins(a, t);
    settle_inputs(a, a->tasks[t].noderole);
    schedule_count(a, task_op(a, t));
    attempt_turn(a, id);
    task_go(a, t, TASKEV_START, REASON_NONE);
    if (a->fx)
        vec_push(&a->fx->turns, ((struct dispatch){t, a->lives.at[id].number, 0, 0}));
}

void attempt_ask(struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].live;
    struct live *l = &a->lives.at[id];
    l->kind = LIVE_RUN;
    l->flags &= (uint8_t) ~(LIVEF_DUE | LIVEF_WAITING);
    l->asks++;
    l->wake_ms = ask_limit(a, &a->defs.at[a->tasks[t].def]);
    worker_take(a, l);
    node_take(a, l);
    task_go(a, t, TASKEV_ASK, REASON_NONE);
    timer_arm(a, id);
    row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
    if (a->fx)
        vec_push(&a->fx->sends, ((struct dispatch){t, l->number, l->asks, 0}));
}

void attempt_close(struct anneal *a, uint32_t id, enum outcome outcome, const struct event *answer)
{
    struct live *l = &a->lives.at[id];
    struct task *task = &a->tasks[l->task];
    uint32_t op = task_op(a, l->task), span = task->span;
    bool took_down = a->defs.at[task->def].flags & DEF_F_TAKES_DOWN;
    uint32_t follower = l->follower;
    bool passed = outcome == OUTCOME_OK && l->kind == LIVE_RUN && !(answer && answer->last);
    assert(l->kind == LIVE_RUN || l->kind == LIVE_WAIT || l->kind == LIVE_AHEAD);
    if (l->kind == LIVE_AHEAD && outcome == OUTCOME_LOST) { /* it may have begun */
        l->turn_ms = a->now_ms;
        task->done_digest = 0;
        task->flags |= TASKF_TRIED;
    }
    row_emit(a, ROW_UPDATE, l, (uint8_t)outcome, answer);
    if (l->behind)
        task_changed(a, l->task); /* its row told what this one's did, while it was open */
    if (l->kind == LIVE_AHEAD) {
        chain_unready(a, l->task);
        if (a->tasks[l->behind].live)
            a->lives.at[a->tasks[l->behind].live].follower = 0;
    }
    if (took_down)
        nodes_came_back(a, l->node);
    worker_give(a, l);
    node_give(a, l);
    task->live = 0;
    task->lane = 0;
    a->live_n--;
    a->ops.at[op].live--;
    operation_touch(a, op); /* held, it ends with its last attempt */
    if (span)
        a->spans.at[span].live--;
    attempt_live_free(a, id);
    if (follower && passed)
        chain_passed(a, follower);
    else if (follower)
        chain_drop(a, follower, outcome);
}

void attempt_backoff(struct anneal *a, uint32_t t, uint64_t until_ms)
{
    uint32_t id = attempt_live_new(a);
    struct live *l = &a->lives.at[id];
    *l = (struct live){.kind = LIVE_BACKOFF,
                       .task = t,
                       .number = a->tasks[t].attempt,
                       .node = a->noderoles.at[a->tasks[t].noderole].node,
                       .wake_ms = until_ms};
    a->tasks[t].live = id;
    timer_arm(a, id);
}

void attempt_unsleep(struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].live;
    if (!id || a->lives.at[id].kind != LIVE_BACKOFF)
        return;
    timer_disarm(a, id);
    a->lives.at[id].kind = LIVE_FREE;
    vec_push(&a->free_lives, id);
    a->tasks[t].live = 0;
    task_changed(a, t);
}

void attempt_supersede(struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].live;
    struct live *l = &a->lives.at[id];
    if (l->kind == LIVE_BACKOFF) {
        attempt_unsleep(a, t);
    } else if (l->kind == LIVE_WAIT) {
        attempt_close(a, id, OUTCOME_CANCELLED, NULL); /* nothing runs: it ends here */
    } else {
        bool ahead = l->kind == LIVE_AHEAD;
        uint32_t follower = l->follower;
        l->flags |= LIVEF_SUPERSEDED;
        row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
        if (ahead) {
            chain_unready(a, t);
            attempt_stop(a, id);
        }
        if (follower)
            chain_withdraw(a, follower);
    }
}

void attempt_stop(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    if ((l->kind != LIVE_RUN && l->kind != LIVE_AHEAD) || (l->flags & LIVEF_STOPPING))
        return;
    l->flags |= LIVEF_STOPPING;
    l->wake_ms = in_ms(a, l, a->opt.stop_grace_ms);
    timer_arm(a, id);
    row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
    if (a->fx)
        vec_push(&a->fx->stops, ((struct dispatch){l->task, l->number, l->asks, 0}));
}

static uint64_t backoff_for(const struct def *d, uint32_t tries)
{
    uint64_t ms = d->backoff_ms << (tries > 1 ? (tries - 1 < 16 ? tries - 1 : 16) : 0);
    return ms < BACKOFF_MOST_MS ? ms : BACKOFF_MOST_MS;
}

/* A failure that its definition allows passes; what nobody knows is no failure yet. */
static void fail_for_good(struct anneal *a, uint32_t t, enum reason why)
{
    if (why != REASON_UNCERTAIN && (a->defs.at[a->tasks[t].def].flags & DEF_F_MAY_FAIL)) {
        task_go(a, t, TASKEV_TOLERATE, why);
        if (task_rule(a, t) == RULE_UNDO)
            undo_passed(a, a->tasks[t].noderole); /* as far as could be */
        return;
    }
    task_go(a, t, TASKEV_FAIL, why);
    task_fail_cone(a, t);
}

static void fail_or_retry(struct anneal *a, uint32_t t, enum reason why)
{
    struct task *task = &a->tasks[t];
    const struct def *d = &a->defs.at[task->def];
    if (task->tries >= d->retries) {
        fail_for_good(a, t, why);
        return;
    }
    task->tries++;
    task_go(a, t, TASKEV_FAIL_RETRY, REASON_BACKOFF);
    if (undo_due(a, t))
        undo_begin(a, task->noderole);
    uint64_t ms = backoff_for(d, task->tries);
    if (ms > 0)
        attempt_backoff(a, t, a->now_ms + ms);
    else
        task_settle_later(a, t);
}

void attempt_lost(struct anneal *a, uint32_t id, enum reason why)
{
    struct live *l = &a->lives.at[id];
    uint32_t t = l->task, span = a->tasks[t].span;
    bool superseded = l->flags & LIVEF_SUPERSEDED, waiting = l->kind == LIVE_WAIT;
    bool ahead = l->kind == LIVE_AHEAD; /* whether it began or not, its task has not */
    bool once = a->defs.at[a->tasks[t].def].repeat == REPEAT_ONCE;
    bool held = a->ops.at[task_op(a, t)].held;
    attempt_close(a, id, OUTCOME_LOST, NULL);
    if (once && !waiting) {
        /* Nobody knows whether it happened: not again until somebody says so, whatever run it was
         * of. */
        if (task_fsm_next(a->task_state[t], TASKEV_FAIL) >= 0)
            fail_for_good(a, t, REASON_UNCERTAIN);
    } else if (superseded || ahead) {
        task_settle_later(a, t);
    } else {
        task_go(a, t, held ? TASKEV_CANCEL : TASKEV_FAIL_RETRY, held ? REASON_CANCELLED : why);
        if (!held && !waiting && a->defs.at[a->tasks[t].def].repeat == REPEAT_SAFE &&
            undo_due(a, t))
            undo_begin(a, a->tasks[t].noderole); /* nobody there knows the key */
        task_settle_later(a, t);
    }
    limits_span_settle(a, span);
}

void attempt_due(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    if (l->kind != LIVE_WAIT || (l->flags & LIVEF_DUE))
        return;
    l->flags |= LIVEF_DUE;
    timer_arm(a, id);
    schedule_enqueue(a, l->task);
}

void attempt_poke(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    l->wake_ms = in_ms(a, l, 0); /* in its row, so that a restart does not forget it */
    row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
    attempt_due(a, id);
}

void attempt_timer_fired(struct anneal *a, uint32_t id)
{
    struct live *l = &a->lives.at[id];
    uint32_t t = l->task;
    if (l->kind == LIVE_BACKOFF) {
        attempt_unsleep(a, t);
        task_settle_later(a, t);
    } else if (l->kind == LIVE_RUN || l->kind == LIVE_AHEAD) {
        if (l->flags & LIVEF_STOPPING)
            attempt_lost(a, id, REASON_DEADLINE);
        else
            attempt_stop(a, id);
    } else if (a->now_ms >= l->deadline_ms) {
        uint32_t span = a->tasks[t].span;
        attempt_close(a, id, OUTCOME_TIMEOUT, NULL);
        fail_for_good(a, t, REASON_DEADLINE);
        limits_span_settle(a, span);
    } else {
        attempt_due(a, id);
    }
}

static void answer_not_yet(struct anneal *a, uint32_t id, uint64_t again_ms)
{
    struct live *l = &a->lives.at[id];
    uint32_t follower = l->follower;
    l->follower = 0;
    l->kind = LIVE_WAIT;
    l->flags |= LIVEF_WAITING;
    l->flags &=
        (uint8_t)~LIVEF_STOPPING; /* it did end, in its own way; its deadline still stands */
    l->wake_ms = in_ms(a, l, again_ms > AGAIN_LEAST_MS ? again_ms : AGAIN_LEAST_MS);
    worker_give(a, l);
    if (a->defs.at[a->tasks[l->task].def].hold != HOLD_NODE)
        node_give(a, l);
    task_go(a, l->task, TASKEV_NOT_YET, REASON_NONE);
    timer_arm(a, id);
    row_emit(a, ROW_UPDATE, l, ATTEMPT_OPEN, NULL);
    if (follower)
        chain_drop(a, follower, OUTCOME_CANCELLED);
}

static void answer_ok(struct anneal *a, uint32_t id, const struct event *ev)
{
    struct live *l = &a->lives.at[id];
    uint32_t t = l->task;
    a->tasks[t].done_digest = l->input;
    a->tasks[t].tries = 0;
    attempt_close(a, id, OUTCOME_OK, ev);
    task_go(a, t, TASKEV_OK, REASON_NONE);
    if (task_rule(a, t) == RULE_UNDO)
        undo_passed(a, a->tasks[t].noderole);
}

/* Why a task has failed, by where its attempt ended. */
static enum reason failure_reason(const struct event *ev)
{
    if (ev->flag == OUTCOME_TIMEOUT)
        return REASON_TIMEOUT;
    return ev->phase == PHASE_TEST_PRE    ? REASON_TEST_PRE
           : ev->phase == PHASE_TEST_POST ? REASON_TEST_POST
                                          : REASON_EXIT;
}

#ifndef ANNEAL_DEFECT_GENERATION
/* Is this an answer of that attempt which counts?  One that is ahead can only say that it will not
 * begin; what else it says has overtaken the answer of the one before it, and will be missed. */
static bool attempt_answers(const struct live *l, const struct event *ev)
{
    bool is = l->number == ev->attempt && l->asks == ev->extra;
    if (l->kind != LIVE_AHEAD)
        return is && l->kind == LIVE_RUN;
    return is && (ev->flag == OUTCOME_CANCELLED || ev->flag == OUTCOME_REFUSED ||
                  ev->flag == OUTCOME_LOST);
}
#endif

int attempt_result(struct anneal *a, const struct event *ev, struct err *e)
{
    if (!task_exists(a, ev->id) || ev->flag >= OUTCOME_COUNT || ev->phase >= PHASE_COUNT)
        return err_set(e, ERR_NOT_FOUND, "no task %u", ev->id);
    uint32_t t = ev->id, id = a->tasks[t].live, span = a->tasks[t].span;
    struct live *l = &a->lives.at[id];
    enum outcome outcome = (enum outcome)ev->flag;
#ifndef ANNEAL_DEFECT_GENERATION
    bool live = id && attempt_answers(l, ev);
    bool current = live && l->kind == LIVE_RUN && !(l->flags & LIVEF_SUPERSEDED);
#else
    bool live = id && l->kind == LIVE_RUN;
    bool current = live && a->task_state[t] == TASK_RUNNING;
#endif
    if (!live)
        return 0; /* a duplicate, or too late */
    if (outcome == OUTCOME_LOST) {
        attempt_lost(a, id, REASON_LOST);
        return 0;
    }
    if (!current) {
        attempt_close(a, id, outcome == OUTCOME_AGAIN ? OUTCOME_CANCELLED : outcome, ev);
        task_settle_later(a, t);
        limits_span_settle(a, span);
        return 0;
    }
    bool held = a->ops.at[task_op(a, t)].held;
    /* In its first test the task itself had not begun: there is nothing to be uncertain of. */
    bool cut = (outcome == OUTCOME_TIMEOUT || outcome == OUTCOME_CANCELLED) &&
               ev->phase != PHASE_TEST_PRE;
    if (cut && a->defs.at[a->tasks[t].def].repeat == REPEAT_ONCE) {
        /* Ended by force in the middle: how far it came nobody can know. */
        attempt_close(a, id, outcome, ev);
        fail_for_good(a, t, REASON_UNCERTAIN);
        limits_span_settle(a, span);
        return 0;
    }
    switch (outcome) {
    case OUTCOME_OK: answer_ok(a, id, ev); break;
    case OUTCOME_AGAIN:
        if (!held) {
            answer_not_yet(a, id, ev->ms);
            break;
        }
        attempt_close(a, id, OUTCOME_CANCELLED, ev);
        task_go(a, t, TASKEV_CANCEL, REASON_CANCELLED);
        break;
    case OUTCOME_CANCELLED:
        attempt_close(a, id, outcome, ev);
        if (held)
            task_go(a, t, TASKEV_CANCEL, REASON_ABORTED);
        else
            fail_or_retry(a, t, REASON_TIMEOUT);
        break;
    case OUTCOME_REFUSED:
        attempt_close(a, id, outcome, ev);
        fail_for_good(a, t, REASON_REFUSED);
        break;
    case OUTCOME_FAILED:
    case OUTCOME_TIMEOUT:
        attempt_close(a, id, outcome, ev);
        fail_or_retry(a, t, failure_reason(ev));
        break;
    case OUTCOME_LOST:
    case OUTCOME_COUNT: break;
    }
    limits_span_settle(a, span);
    return 0;
}
