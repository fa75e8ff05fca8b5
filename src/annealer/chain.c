/* chain.c - tasks sent ahead, to run one behind the other without coming back in between
 *
 * When a task starts, those that will be the next on its node are sent right behind it, each with
 * an open attempt (LIVE_AHEAD) in the same group: what waits for nothing but it, and what waits for
 * nothing but the node.  The first are PENDING, the second READY and in no lane.  Who runs them
 * begins each when the one before it has succeeded and returned nothing, and begins none behind one
 * that ended otherwise.  So the answer of each tells what became of the next:
 *
 *   ok           it has begun, or will at once: it takes over the slots in the same step
 *   ok, last     it was not begun: it is closed, and starts as any other task when it may
 *   other        likewise
 *   lost         nobody knows: it is closed as lost, and may be repeated, which is why only tasks
 *                that may be repeated are sent ahead
 *
 * One whose turn has come but which may not start (its operation is held, its inputs are others by
 * now, its node is unavailable) may have begun all the same: it is told to end and holds the slot
 * until it has.
 *
 * Invariants: what is ahead follows an open attempt on the same node, of the same operation; it
 * holds no slot; its task has not begun in this run.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

enum { CHAIN_MOST = 64, CHAIN_LOOK = 64 };

struct chain {
    uint32_t tasks[CHAIN_MOST]; /* the one that has started, then those behind it */
    uint32_t n;
    uint32_t next[CHAIN_LOOK]; /* tasks that may come next, in no order */
    uint32_t n_next;
    uint32_t node, op, span;
    bool narrow;   /* the node takes one at a time */
    bool too_many; /* to find the next among them */
};

static bool chain_has(const struct chain *c, uint32_t t)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->tasks[i] == t)
            return true;
    return false;
}

/* Will all tasks of this noderole have passed when the chain has? */
static bool completes(const struct anneal *a, const struct chain *c, uint32_t id)
{
    uint32_t left = (uint32_t)(a->noderoles.at[id].n_tasks - a->noderoles.at[id].passed);
    for (uint32_t i = 0; i < c->n && left > 0; i++)
        left -= a->tasks[c->tasks[i]].noderole == id;
    return left == 0;
}

/* Does it wait for nothing but what is in the chain? */
static bool waits_for_chain(const struct anneal *a, const struct chain *c, uint32_t t)
{
    uint32_t n, unmet = a->unmet[t], id = a->tasks[t].noderole;
    if (gate_shuts(a, t)) {
        const struct noderole *nr = &a->noderoles.at[id];
        if (nr->target != TARGET_RUNNING || nr->halted > 0 || nr->awaits > 0)
            return false;
        const uint32_t *parents = graph_in(&a->need, id, &n);
        for (uint32_t i = 0; i < n; i++)
            if (gate_holds(&a->noderoles.at[parents[i]]) && !completes(a, c, parents[i]))
                return false;
        unmet--;
    }
    if (unmet > c->n)
        return false;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n && unmet > 0; i++)
        unmet -= chain_has(c, deps[i]);
    return unmet == 0;
}

/* Does it wait for the last of the chain, so that nothing is gained by its starting apart? */
static bool waits_for_last(const struct anneal *a, const struct chain *c, uint32_t t)
{
    uint32_t n, last = c->tasks[c->n - 1], id = a->tasks[t].noderole;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        if (deps[i] == last)
            return true;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (uint32_t i = 0; gate_shuts(a, t) && i < n; i++)
        if (parents[i] == a->tasks[last].noderole)
            return true;
    return false;
}

/* What it would see is known now: nothing that is in the chain can change it without an answer that
 * ends the chain.  One that might turn out to be as it was is not sent. */
static bool is_certain(const struct anneal *a, uint32_t t)
{
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    bool lasting = a->defs.at[a->tasks[t].def].flags & DEF_F_LASTING;
    return a->tasks[t].done_digest == 0 || (!lasting && (nr->mode & (MODE_BEGUN | MODE_FORCED)));
}

/* Only what runs on the node and leaves it there, and has nothing to be undone if nobody knows
 * whether it began. */
static bool chains(const struct def *d)
{
    return (d->flags & (DEF_F_CHAINS | DEF_F_OUTSIDE | DEF_F_TAKES_DOWN | DEF_F_UNDONE)) ==
           DEF_F_CHAINS;
}

/* Could it be the next on its node?  If the node has room for several at once, only what waits for
 * the last of the chain: the rest need not wait for it. */
static bool comes_next(const struct anneal *a, const struct chain *c, uint32_t t)
{
    const struct task *task = &a->tasks[t];
    const struct noderole *nr = &a->noderoles.at[task->noderole];
    enum task_state s = a->task_state[t];
    if (!task->noderole || task->live || nr->node != c->node || nr->op != c->op)
        return false;
    if (s == TASK_READY)
        return c->narrow;
    return s == TASK_PENDING && !task_passive(a, t) && is_certain(a, t) &&
           waits_for_chain(a, c, t) && (c->narrow || waits_for_last(a, c, t));
}

static bool may_follow(const struct anneal *a, const struct chain *c, uint32_t t)
{
    const struct task *task = &a->tasks[t];
    const struct def *d = &a->defs.at[task->def];
    return chains(d) && d->repeat != REPEAT_ONCE && (!task->span || task->span == c->span) &&
           a->jigs.at[d->jig].active && !(a->noderoles.at[task->noderole].mode & MODE_UNDO);
}

static void look_at(const struct anneal *a, struct chain *c, uint32_t t)
{
    if (a->noderoles.at[a->tasks[t].noderole].node != c->node)
        return;
    for (uint32_t i = 0; i < c->n_next; i++)
        if (c->next[i] == t)
            return;
    if (c->n_next < CHAIN_LOOK)
        c->next[c->n_next++] = t;
    else
        c->too_many = true;
}

/* Others that could start but for the node, which one of them has just got.  False: they are of
 * another operation, or need not wait for this very one: their turn comes then.  Lanes tell how
 * somebody came to wait, not who does: a restart would find others there. */
static bool look_around(const struct anneal *a, struct chain *c)
{
    bool full = a->nodes.at[c->node].used >= a->nodes.at[c->node].slots;
    for (uint32_t id = a->nodes.at[c->node].first_noderole; id;
         id = a->noderoles.at[id].next_on_node) {
        const struct noderole *nr = &a->noderoles.at[id];
        for (uint32_t t = nr->first_task; nr->ready > 0 && t < nr->first_task + nr->n_tasks; t++) {
            if (a->task_state[t] != TASK_READY || a->tasks[t].live)
                continue;
            if (c->narrow && nr->op == c->op)
                look_at(a, c, t);
            else if (full)
                return false;
        }
    }
    return true;
}

/* What the last of the chain sets free: those behind it in order, and the first tasks of noderoles
 * that need its own. */
static void look_behind(const struct anneal *a, struct chain *c, uint32_t t)
{
    uint32_t n, id = a->tasks[t].noderole;
    const uint32_t *out = graph_out(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        look_at(a, c, out[i]);
    if (!completes(a, c, id))
        return;
    const uint32_t *children = graph_out(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct noderole *nr = &a->noderoles.at[children[i]];
        for (uint32_t k = 0; nr->node == c->node && k < nr->n_tasks; k++)
            if (a->tasks[nr->first_task + k].flags & TASKF_FIRST)
                look_at(a, c, nr->first_task + k);
    }
}

/* The next on this node, if it may be sent ahead, taken out; 0 if there is none such. */
static uint32_t pick_next(const struct anneal *a, struct chain *c)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < c->n_next; i++)
        if (comes_next(a, c, c->next[i]) &&
            (best == UINT32_MAX ||
             start_key_before(start_key_of(a, c->next[i]), start_key_of(a, c->next[best]))))
            best = i;
    if (best == UINT32_MAX || !may_follow(a, c, c->next[best]))
        return 0;
    uint32_t t = c->next[best];
    c->next[best] = c->next[--c->n_next];
    return t;
}

uint64_t chain_input(const struct anneal *a, uint32_t t)
{
    uint32_t id = a->tasks[t].noderole;
    const struct noderole *nr = &a->noderoles.at[id];
    return ripple_input_from(a, t, (nr->mode & MODE_BEGUN) ? nr->inputs : ripple_inputs(a, id));
}

void chain_extend(struct anneal *a, uint32_t t)
{
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    struct chain c = {.tasks = {t}, .n = 1, .node = nr->node, .op = nr->op};
    c.span = a->tasks[t].span;
    if (!nr->node || a->ops.at[nr->op].held || !chains(&a->defs.at[a->tasks[t].def]))
        return;
    c.narrow = a->nodes.at[nr->node].slots == 1;
    if (!look_around(a, &c))
        return;
    for (uint32_t last = t, next; c.n < CHAIN_MOST; last = next) {
        look_behind(a, &c, last);
        next = c.too_many ? 0 : pick_next(a, &c);
        if (!next)
            return;
        a->tasks[next].lane = 0; /* it waits for nothing but the chain now */
        (void)attempt_ahead(a, next, last, chain_input(a, next));
        c.tasks[c.n++] = next;
    }
}

void chain_unready(struct anneal *a, uint32_t t)
{
    if (a->task_state[t] == TASK_READY)
        task_go(a, t, TASKEV_DEPS_LOST, a->tasks[t].reason);
}

void chain_passed(struct anneal *a, uint32_t follower)
{
    vec_push(&a->turns, follower);
}

void chain_drop(struct anneal *a, uint32_t follower, enum outcome outcome)
{
    enum outcome as = outcome == OUTCOME_LOST ? OUTCOME_LOST : OUTCOME_CANCELLED;
    for (uint32_t next; follower; follower = next) {
        struct live *l = &a->lives.at[a->tasks[follower].live];
        uint32_t span = a->tasks[follower].span;
        next = l->follower;
        l->follower = 0; /* one after the other, not one within the other */
        attempt_close(a, a->tasks[follower].live, as, NULL);
        task_settle_later(a, follower);
        limits_span_settle(a, span);
    }
}

void chain_withdraw(struct anneal *a, uint32_t follower)
{
    for (; follower; follower = a->lives.at[a->tasks[follower].live].follower) {
        struct live *l = &a->lives.at[a->tasks[follower].live];
        if (l->flags & LIVEF_SUPERSEDED)
            continue;
        l->flags |= LIVEF_SUPERSEDED;
        attempt_stop(a, a->tasks[follower].live);
        attempt_row_changed(a, a->tasks[follower].live);
        chain_unready(a, follower);
    }
}

/* Is it, now, what it was when it was sent? */
static bool as_sent(struct anneal *a, uint32_t t)
{
    const struct live *l = &a->lives.at[a->tasks[t].live];
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
#ifdef ANNEAL_DEFECT_CHAIN
    return !(l->flags & LIVEF_SUPERSEDED) && a->task_state[t] == TASK_READY && nr;
#endif
    return !(l->flags & LIVEF_SUPERSEDED) && a->task_state[t] == TASK_READY &&
           l->generation == nr->generation && l->input == chain_input(a, t) &&
           schedule_may_go_on(a, t);
}

void chain_turns(struct anneal *a)
{
    for (size_t i = 0; i < a->turns.n; i++) {
        uint32_t t = a->turns.at[i], id = a->tasks[t].live;
        if (!id || a->lives.at[id].kind != LIVE_AHEAD)
            continue; /* something else in this step has closed it */
        if (as_sent(a, t)) {
            attempt_begin(a, t);
            continue;
        }
        uint32_t next = a->lives.at[id].follower;
        a->lives.at[id].flags |= LIVEF_SUPERSEDED;
        chain_unready(a, t);
        attempt_stop(a, id);
        attempt_turn(a, id);
        chain_withdraw(a, next);
    }
    vec_clear(&a->turns);
}
