/* correct.c - a change of what a noderole in ERROR is or sees begins a new run of it
 *
 * Whoever commits a correction, sets data or asks for a re-run has looked at the failure and means
 * the whole of it: trying the failed task again, against what the tasks before it made of the old
 * inputs, could never pass.  So the run begins anew, in the operation that asked: up to the first
 * task that would see other than at its last success all pass as they are (MODE_PREFIX), from there
 * on they run; a re-run keeps nothing.  A retry is the same where inputs have changed since the run
 * began, and else goes on with the task that failed.
 *
 * Some failures wait for a person's own word, whatever changes: another machine answers under the
 * node's name, nobody knows how a task ended, a destructive role has begun, the noderole is to go.
 * What a parent returned is no such word: it begins one new run in an operation and no more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static bool waits_for_word(const struct anneal *a, uint32_t t)
{
    enum reason why = (enum reason)a->tasks[t].reason;
#ifdef ANNEAL_DEFECT_WORD
    return a->task_state[t] == TASK_FAILED && why == REASON_UNCERTAIN; /* any change is a word */
#endif
    return a->task_state[t] == TASK_FAILED && (why == REASON_UNCERTAIN || why == REASON_REPLACED);
}

enum reason correct_withheld(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    enum reason failed = REASON_NONE;
    bool tried = false;
    if (nr->failed == 0)
        return REASON_NONE;
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        if (waits_for_word(a, t))
            return (enum reason)a->tasks[t].reason;
        if (a->task_state[t] == TASK_FAILED)
            failed = (enum reason)a->tasks[t].reason;
        tried |= (a->tasks[t].flags & TASKF_TRIED) != 0;
    }
    return (nr->flags & NODEROLE_F_DESTRUCTIVE) && tried ? failed : REASON_NONE;
}

/* Does a change begin a new run of it now, in the operation that it is in? */
static bool begins(struct anneal *a, uint32_t id, enum reason why)
{
    struct noderole *nr = &a->noderoles.at[id];
#ifdef ANNEAL_DEFECT_CORRECT
    return false; /* a retry goes on, and nothing else */
#endif
    if (nr->target == TARGET_ABSENT || why == REASON_REBOOT || a->ops.at[nr->op].held ||
        ((nr->mode & MODE_STOPPED) && nr->failed == 0) || correct_withheld(a, id))
        return false;
    if (why != REASON_RETURNED)
        return true;
    if (nr->answered == nr->op || nr->failed == 0)
        return false;
    nr->answered = nr->op;
    return true;
}

bool correct_may(const struct anneal *a, uint32_t id, bool returned, uint32_t op)
{
    const struct noderole *nr = &a->noderoles.at[id];
    return nr->target != TARGET_ABSENT && !correct_withheld(a, id) &&
           (!returned || nr->answered != op);
}

bool correct_change(struct anneal *a, uint32_t id, enum reason why)
{
    if (!begins(a, id, why))
        return false;
    correct_begin(a, id, why, false);
    return true;
}

void correct_begin(struct anneal *a, uint32_t id, enum reason why, bool forced)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t end = nr->first_task + nr->n_tasks;
    bool serves = nr->failed == 0 && (nr->mode & MODE_REFRESH); /* its refresh was cancelled */
    ripple_rewind(a, id, why);
    nr->mode |= (serves ? MODE_REFRESH : 0) | (forced ? MODE_FORCED : MODE_PREFIX);
    a->cause = why == REASON_RETRY ? 0 : nr->op;
    for (uint32_t t = nr->first_task; t < end; t++)
        if (operation_task_may_retry(a, t))
            operation_reset_task(a, t);
    a->cause = 0;
    for (uint32_t t = nr->first_task; t < end; t++)
        task_join_failure(a, t); /* in an operation that will end what cannot run has failed */
}

void correct_failed(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    bool forced = nr->mode & MODE_AGAIN_FORCED;
    enum reason why = nr->mode & MODE_AGAIN_SAID ? REASON_DATA : REASON_RETURNED;
    if ((nr->mode & (MODE_AGAIN_SAID | MODE_AGAIN_TOLD)) && begins(a, id, why))
        correct_begin(a, id, why, forced);
}

bool correct_outdated(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint64_t inputs = ripple_inputs(a, id);
    if (nr->target == TARGET_ABSENT)
        return false; /* a removal goes on, whatever it would have seen */
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (a->task_state[t] == TASK_DONE && a->tasks[t].done_digest && !task_passive(a, t) &&
            a->tasks[t].done_digest != ripple_input_from(a, t, inputs))
            return true;
    return false;
}

bool correct_keeps(const struct anneal *a, uint32_t t)
{
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    return (nr->mode & (MODE_PREFIX | MODE_BEGUN)) == MODE_PREFIX && a->tasks[t].done_digest &&
           !(nr->flags & NODEROLE_F_RERUN_ALWAYS) && nr->parents_stale == 0 &&
           a->nodes.at[nr->node].alive == ALIVE_ALIVE &&
           a->tasks[t].done_digest ==
               ripple_input_from(a, t, ripple_inputs(a, a->tasks[t].noderole));
}
