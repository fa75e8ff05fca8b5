/* redeploy.c - a node begins from nothing: everything on it runs again, what is destructive too
 *
 * A person's word that what was made on the machine shall not count any more.  Each noderole of the
 * node gets another incarnation, so that whoever needs it sees that it is another one, and forgets
 * what it did last, so that no early cut-off applies; descendants on other nodes are lost as with
 * any loss.  Order comes from needs alone: the chain runs as it did the first time.
 *
 * Refused while nobody knows how a task of the node ended, and while something on it is on its way
 * out: a removal is finished or abandoned first.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static int check_noderole_again(const struct anneal *a, uint32_t id, struct err *e)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->target == TARGET_ABSENT) {
        err_set(e, ERR_CONFLICT, "noderole %u is being removed", id);
        return err_hint(e, "wait for its end, or abandon the removal");
    }
    return change_certain(a, id, e);
}

static void begin_again(struct anneal *a, uint32_t id, uint32_t op)
{
    struct noderole *nr = &a->noderoles.at[id];
    operation_loses(a, id, op, false);
    noderole_adopt(a, id, op);
    nr->incarnation++;
    nr->reason = REASON_REDEPLOY;
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        a->tasks[t].done_digest = 0;
        task_changed(a, t);
    }
    (void)operation_retry_noderole(a, id);
    if (noderole_begun(nr))
        ripple_rewind(a, id, REASON_REDEPLOY);
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (undo_due(a, t))
            undo_begin(a, id); /* the machine that there is makes room for the next */
    noderole_changed(a, id);
}

int anneal_redeploy_check(const struct anneal *a, uint32_t node, struct err *e)
{
    if (node == 0 || node >= a->nodes.n || !a->nodes.at[node].exists || a->nodes.at[node].gone)
        return err_set(e, ERR_NOT_FOUND, "no node %u", node);
    int r = 0;
    for (uint32_t id = a->nodes.at[node].first_noderole; id && r >= 0;
         id = a->noderoles.at[id].next_on_node)
        r = check_noderole_again(a, id, e);
    return r;
}

int redeploy_event(struct anneal *a, const struct event *ev, struct err *e)
{
    int r = anneal_redeploy_check(a, ev->id, e);
    if (r < 0 || (r = operation_takes_work(a, ev->op, e)) < 0)
        return r;
    uint32_t first = a->nodes.at[ev->id].first_noderole;
    for (uint32_t id = first; id; id = a->noderoles.at[id].next_on_node)
        begin_again(a, id, ev->op);
    for (uint32_t id = first; id; id = a->noderoles.at[id].next_on_node)
        ripple_loss(a, id, REASON_PARENT_LOST);
    operation_touch(a, ev->op);
    return 0;
}
