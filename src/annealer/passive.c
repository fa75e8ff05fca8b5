/* passive.c - tasks that nothing executes: what is left out, and joins
 *
 * A passive task takes no node, worker, pool or attempt.  It passes in the step in which what it
 * waits for is over, as its rule says (task_met(), task_fsm.c): SKIPPED if it was left out, DONE if
 * it is a join.  A hold does not keep it: it starts nothing.
 *
 * One that belongs to a noderole with a node is passed until that noderole begins another run, as
 * any task is.  One of a noderole without a node has no run: it follows.  It is passed exactly
 * while what it waits for is over, and failed exactly while something before it has failed and its
 * rule does not forgive it, whatever its operation is doing.  So a stage that was reached in spite
 * of a failure is not reached any more when that failure is tried again; what has begun behind it
 * goes on, and what has not waits once more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

bool passive_follows(const struct anneal *a, uint32_t t)
{
    uint32_t noderole = a->tasks[t].noderole; /* 0: retired */
    return (a->tasks[t].flags & TASKF_RULE) && noderole && a->noderoles.at[noderole].node == 0;
}

void passive_settle(struct anneal *a, uint32_t t)
{
    enum task_state s = a->task_state[t];
    if (a->unmet[t] == 0 && s == TASK_PENDING) {
        if (task_rule(a, t) == RULE_SKIP)
            task_go(a, t, TASKEV_SKIP, REASON_LEFT_OUT);
        else
            task_go(a, t, TASKEV_JOINED, REASON_JOIN);
    } else if (a->unmet[t] > 0 && task_state_passed(s) && passive_follows(a, t)) {
        task_go(a, t, TASKEV_RESET, REASON_NONE);
        task_join_failure(a, t);
    }
}
