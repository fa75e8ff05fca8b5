/* undo.c - what half happened is undone before it is tried again
 *
 * Making a machine may fail after the machine was made.  Tried again as it is, it would leave one
 * behind that nobody knows.  So a noderole may have tasks with rule `undo` in front of those that
 * its definitions call undone (DEF_F_UNDONE).  As a rule they are left out.  When one of those has
 * failed and gets another try, by its own budget or by a person's word, or when its node is
 * deployed anew, those tasks run first and all behind them begin again, under another key: the
 * receiver must not take the next machine for the one that is gone.
 *
 * A failure for good undoes nothing: what is there may be looked at until somebody retries.  An
 * attempt that was only lost is asked for again under its own key, if the receiver knows keys.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static bool undone(const struct anneal *a, uint32_t t)
{
    return a->defs.at[a->tasks[t].def].flags & DEF_F_UNDONE;
}

bool undo_due(const struct anneal *a, uint32_t t)
{
    return undone(a, t) && a->tasks[t].attempt > 0 && !task_passive(a, t);
}

void undo_begin(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t end = nr->first_task + nr->n_tasks, undo = nr->first_task;
    while (undo < end && task_rule(a, undo) != RULE_UNDO)
        undo++;
    if (undo == end || (nr->mode & MODE_UNDO))
        return;
#ifdef ANNEAL_DEFECT_UNDO
    return; /* it is tried again as it is */
#endif
    nr->generation++;
    nr->mode |= MODE_UNDO;
    noderole_changed(a, id);
    for (uint32_t t = undo; t < end; t++) {
        a->tasks[t].done_digest = 0;
        if (task_state_passed(a->task_state[t]))
            task_go(a, t, TASKEV_RESET, REASON_UNDO);
        else
            task_changed(a, t);
        if (a->unmet[t] == 0)
            task_settle_later(a, t);
    }
}

void undo_passed(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (task_rule(a, t) == RULE_UNDO && !task_state_passed(a->task_state[t]))
            return;
    nr->mode &= (uint16_t)~MODE_UNDO;
    noderole_changed(a, id);
}
