/* noderole_fsm.c - the state of a noderole, derived from its tasks and parents
 *
 * A noderole takes no events: noderole_derive() computes its state from counters, first match wins,
 * and noderole_settle() stores it and does what follows from entering or leaving service: parents'
 * counts in children, loss, another run. Deriving comes before settling tasks, so that a task sees
 * whether its noderole's parents are ACTIVE.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

enum noderole_state noderole_derive(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if (nr->failed > 0)
        return NODEROLE_ERROR;
    if (nr->target == TARGET_ABSENT && nr->passed == nr->n_tasks && !gate_shut(a, id))
        return NODEROLE_REMOVED;
    if (nr->target == TARGET_ABSENT)
        return NODEROLE_REMOVING;
    if (nr->passed == nr->n_tasks && nr->target == TARGET_STOPPED)
        return NODEROLE_ACTIVE; /* at rest, whatever becomes of those it would need */
    if (nr->passed == nr->n_tasks && nr->parents_out == 0)
        return NODEROLE_ACTIVE;
    if ((nr->mode & MODE_REFRESH) && nr->parents_out == 0)
        return NODEROLE_STALE;
    if (nr->live > 0 || nr->passed > 0 || nr->cancelled > 0)
        return NODEROLE_TRANSITION;
    return nr->ready > 0 ? NODEROLE_TODO : NODEROLE_BLOCKED;
}

void noderole_derive_later(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    if (nr->derives)
        return;
    nr->derives = true;
    vec_push(&a->derive, id);
}

void noderole_changed(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    change_add(a, ROWS_NODEROLE, id, nr->state, nr->state, nr->reason);
}

/* Its tasks count for another operation from now on. */
void noderole_adopt(struct anneal *a, uint32_t id, uint32_t op)
{
    struct noderole *nr = &a->noderoles.at[id];
    struct op *from = &a->ops.at[nr->op], *to = &a->ops.at[op];
    if (nr->op == op)
        return;
    tolerance_forgive(a, id, false); /* another roll-out */
    for (uint32_t i = 0; i < nr->n_tasks; i++) {
        uint32_t t = nr->first_task + i;
        enum task_state s = a->task_state[t];
        bool open = a->tasks[t].live && a->lives.at[a->tasks[t].live].kind != LIVE_BACKOFF;
        from->counts[s]--; /* one that has ended keeps its figures elsewhere */
        to->counts[s]++;
        from->live -= open;
        to->live += open;
        if (open)
            limits_tenant_moves(a, a->tasks[t].live, from->tenant, to->tenant);
    }
    uint32_t old = nr->op;
    nr->op = op;
    nr->mode &= (uint16_t) ~(MODE_STOPPED | MODE_LET);
    tolerance_look(a, nr->group);
    vec_push(&to->noderoles, id);
    for (uint32_t i = 0; i < nr->n_tasks; i++) {
        uint32_t t = nr->first_task + i;
        if (a->tasks[t].lane) {
            a->tasks[t].lane = 0; /* the entry in the old operation's lane is a ghost now */
            schedule_enqueue(a, t);
        }
    }
    noderole_changed(a, id);
    if (nr->joined)
        noderole_derive_later(a, id); /* the standing operation waits for nobody */
    operation_touch(a, old);
    operation_touch(a, op);
}

/* What entering or leaving service, or being fully ACTIVE, means for the children. */
static void tell_children(struct anneal *a, uint32_t id, bool was_in, bool is_in, bool was_active,
                          bool is_active)
{
    uint32_t n;
    const uint32_t *children = graph_out(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole *c = &a->noderoles.at[children[i]];
        if (quorum_of(a, id, children[i]))
            continue;
        c->parents_out += (uint32_t)was_in - (uint32_t)is_in;
        c->parents_stale += (uint32_t)was_active - (uint32_t)is_active;
        if (was_in != is_in)
            noderole_derive_later(a, children[i]);
    }
}

void noderole_left_service(struct anneal *a, uint32_t id)
{
    bool stopped = a->noderoles.at[id].target == TARGET_STOPPED;
    tell_children(a, id, true, false, false, false);
    ripple_loss(a, id, stopped ? REASON_PARENT_STOPPED : REASON_PARENT_LOST);
}

/* What was at rest as stopped is not in service by being called running: it has to get there. */
void noderole_leave_rest(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    enum noderole_state from = nr->state;
    if (from != NODEROLE_ACTIVE && from != NODEROLE_STALE)
        return;
    nr->state = NODEROLE_BLOCKED;
    a->totals_noderole[from]--;
    a->totals_noderole[NODEROLE_BLOCKED]++;
    change_add(a, ROWS_NODEROLE, id, from, NODEROLE_BLOCKED, nr->reason);
    tell_children(a, id, false, false, from == NODEROLE_ACTIVE, false);
}

static void run_completed(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint16_t mode = nr->mode;
    bool shut = gate_shut(a, id);
    if (mode & MODE_BEGUN) {
        nr->run_count++;
        if (nr->flags & NODEROLE_F_DESTRUCTIVE)
            nr->incarnation++;
    }
    if (mode & MODE_PLANNED)
        passive_run_over(a, id);
    nr->mode = mode & MODE_UNDO;
    gate_moved(a, id, shut);
    if (nr->answered == OPERATION_STANDING)
        nr->answered = 0; /* it never ends: what failed before is another story */
    if (mode & MODE_AGAIN)
        ripple_refresh(a, id, mode & MODE_AGAIN_SAID ? REASON_DATA : REASON_RETURNED,
                       mode & MODE_AGAIN_FORCED);
    else
        leave_done(a, id); /* this run has seen none of those that it lost */
}

static void derive_one(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    enum noderole_state from = nr->state, to;
    if (!nr->generation)
        return;
    if (nr->quorum)
        quorum_settle(a, id);
    quorum_tell(a, id);
    if ((to = noderole_derive(a, id)) == from)
        return;
    nr->state = (uint8_t)to;
    a->totals_noderole[from]--;
    a->totals_noderole[to]++;
    change_add(a, ROWS_NODEROLE, id, from, to, nr->reason);
    struct node *node = &a->nodes.at[nr->node];
    if (to == NODEROLE_ERROR) {
        node->errors++;
        nr->mode &= (uint16_t)~MODE_REFRESH; /* out of service: a retry starts from BLOCKED */
    } else if (from == NODEROLE_ERROR && --node->errors == 0) {
        schedule_node(a, nr->node);
    }
    bool was_in = noderole_in_service(from, nr->target),
         is_in = noderole_in_service(to, nr->target);
    bool was_active = from == NODEROLE_ACTIVE, is_active = to == NODEROLE_ACTIVE;
    if (was_in != is_in || was_active != is_active)
        tell_children(a, id, was_in, is_in, was_active, is_active);
    if (to == NODEROLE_ERROR) {
        ripple_loss(a, id, REASON_PARENT_LOST);
        correct_failed(a, id);
        rollout_failed(a, id);
    }
    if (is_active) {
        if (is_in)
            late_wake(a, id);
        run_completed(a, id);
    }
    if (to == NODEROLE_REMOVED)
        change_vanish(a, id);
}

static void settle_one(struct anneal *a, uint32_t t)
{
    struct task *task = &a->tasks[t];
    task->flags &= (uint8_t)~TASKF_SETTLE;
    if ((task->flags & TASKF_RULE) && task_passive(a, t)) {
        passive_settle(a, t);
        return;
    }
    if (a->task_state[t] == TASK_PENDING && a->unmet[t] == 0 && chain_ahead(a, t)) {
        task_go(a, t, TASKEV_DEPS_MET, task->reason); /* its turn comes without its being queued */
        return;
    }
    if (a->task_state[t] != TASK_PENDING || a->unmet[t] > 0 || task->live) {
        if (passive_call_stale(a, t))
            passive_call_again(a, t);
        return;
    }
    if (task->done_digest && (a->noderoles.at[task->noderole].mode & MODE_UNCHANGED)) {
        ripple_pass(a, t);
        return;
    }
    if (task->done_digest && ripple_unchanged(a, task->noderole))
        return;
    if (correct_keeps(a, t)) {
        ripple_pass(a, t);
        return;
    }
    if (task->done_digest && (a->defs.at[task->def].flags & DEF_F_LASTING) &&
        task->done_digest == ripple_task_input(a, t)) {
        ripple_pass(a, t); /* whatever the others of its noderole have to do */
        return;
    }
    if (a->noderoles.at[task->noderole].group && rollout_holds(a, task->noderole))
        return;
    task_go(a, t, TASKEV_DEPS_MET, task->reason);
    schedule_enqueue(a, t);
}

void noderole_settle(struct anneal *a)
{
    while (a->derive.n > 0 || a->settle.n > 0 || a->moves.n > 0) {
        if (a->derive.n > 0) {
            uint32_t id = a->derive.at[--a->derive.n];
            a->noderoles.at[id].derives = false;
            derive_one(a, id);
        } else if (a->moves.n > 0) { /* before joins look at what is forgiven */
            tolerance_settle(a);
        } else {
            settle_one(a, a->settle.at[--a->settle.n]);
        }
    }
}
