/* passive.c - tasks that nothing executes: what is left out or kept, and joins
 *
 * A passive task takes no node, worker, pool or attempt.  It passes in the step in which what it
 * waits for is over, as its rule says (task_met(), task_fsm.c): SKIPPED if it was left out, DONE if
 * it is a join.  A hold does not keep it: it starts nothing.
 *
 * A plan that does one thing to a noderole (restart it, configure it) still brings all tasks that
 * it has from then on: those done before are to be kept, those of the occasion run once.  That
 * holds until the run is complete, however often it begins again; then the first are tasks like any
 * other, as if they had just been done, and the second are left out for good.
 *
 * One that belongs to a noderole with a node is passed until that noderole begins another run, as
 * any task is.  One of a noderole without a node has no run: it follows.  It is passed exactly
 * while what it waits for is over, and failed exactly while something before it has failed and its
 * rule does not forgive it, whatever its operation is doing.  So a stage that was reached in spite
 * of a failure is not reached any more when that failure is tried again; what has begun behind it
 * goes on, and what has not waits once more.
 *
 * What runs on a noderole without a node is a call to others.  One that has told how something
 * ended is stale when that is tried again in its open operation: it is made again, as another
 * delivery, when that has come to its next end.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

bool passive_follows(const struct anneal *a, uint32_t t)
{
    uint32_t noderole = a->tasks[t].noderole; /* 0: retired */
    return noderole && a->noderoles.at[noderole].node == 0 && task_passive(a, t);
}

void passive_settle(struct anneal *a, uint32_t t)
{
    enum task_state s = a->task_state[t];
    if (a->unmet[t] == 0 && s == TASK_PENDING) {
        enum task_rule rule = task_rule(a, t);
        if (rule == RULE_SKIP || rule == RULE_UNDO)
            task_go(a, t, TASKEV_SKIP, REASON_LEFT_OUT);
        else if (rule == RULE_KEEP)
            task_go(a, t, TASKEV_SKIP, REASON_KEPT);
        else
            task_go(a, t, TASKEV_JOINED, REASON_JOIN);
        if (a->tasks[t].span)
            limits_span_settle(a, a->tasks[t].span);
    } else if (a->unmet[t] > 0 && task_state_passed(s) && passive_follows(a, t)) {
        task_go(a, t, TASKEV_RESET, REASON_NONE);
        task_join_failure(a, t);
    }
}

void passive_run_over(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    if (!(nr->mode & MODE_BEGUN))
        nr->inputs = ripple_inputs(a, id); /* nothing had to be run at all */
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        enum task_rule rule = task_rule(a, t);
        if (rule != RULE_KEEP && rule != RULE_ONCE)
            continue;
        a->tasks[t].flags &= (uint8_t)~TASKF_RULE;
        if (rule == RULE_ONCE)
            a->tasks[t].flags |= RULE_SKIP << TASKF_RULE_SHIFT;
        else
            a->tasks[t].done_digest = ripple_task_input(a, t);
        task_changed(a, t);
    }
}

bool passive_call_stale(const struct anneal *a, uint32_t t)
{
    uint32_t noderole = a->tasks[t].noderole, op = task_op(a, t);
    enum task_state s = a->task_state[t];
    bool failed = s == TASK_FAILED && a->tasks[t].reason != REASON_UNCERTAIN;
    return a->unmet[t] > 0 && (s == TASK_DONE || s == TASK_TOLERATED || failed) && noderole &&
           a->noderoles.at[noderole].node == 0 && !task_passive(a, t) && op != OPERATION_STANDING &&
           a->ops.at[op].state == OPERATION_RUNNING;
}

void passive_call_again(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    a->noderoles.at[task->noderole].generation++;
    noderole_changed(a, task->noderole);
    task->tries = 0;
    task->done_digest = 0; /* it sees nothing, so nothing it sees can tell that it is due */
    task_go(a, t, TASKEV_RESET, REASON_RETRY);
    task_join_failure(a, t);
}
