/* cluster_behind.c - what of a noderole was done, and who was left behind by an operation that
 * ended
 *
 * A noderole that was made may be left half-way: it failed, waits for one that did, was cancelled,
 * or its roll-out stopped before it began.  What is wanted of it is in the head all the same.  An
 * upgrade and a rollback are about all of the cluster: they take up whoever is behind, with what is
 * left to do of the tasks that it has, in turn with the others.  Any other operation is about what
 * was asked for, and lists them (remedy.c).  A failure that waits for a person's own word is left
 * to that person by all of them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

/* Of the tasks of a noderole one with this definition; it was done, or it is to run and was not. */
static bool has_task(const struct cluster_work *w, const struct noderole_view *nr,
                     const struct plan_def *d, bool done)
{
    uint32_t def = w->view.def(w->view.ctx, d->digest);
    struct task_view v;
    for (uint32_t t = nr->first_task; def && t < nr->first_task + nr->n_tasks; t++)
        if (anneal_task(w->server->engine, t, &v) && v.def == def &&
            (done ? v.done : !v.done && (v.rule == RULE_RUN || v.rule == RULE_ONCE)))
            return true;
    return false;
}

uint16_t cluster_phases_done(const struct cluster_work *w, const struct work_cell *c)
{
    struct noderole_view nr;
    uint16_t done = 0;
    if (!c->noderole || !anneal_noderole(w->server->engine, c->noderole, &nr))
        return 0;
    for (int k = PHASE_STOP; k < PHASE_ACTION; k++) {
        const struct phase_steps *steps = &w->steps[c->role].at[k];
        uint32_t found = 0;
        for (uint32_t i = 0; i < steps->n; i++)
            found += has_task(w, &nr, &steps->at[i].def, true);
        if (steps->n && found == steps->n)
            done |= (uint16_t)(1u << k);
    }
    return done;
}

/* Phases of the occasion that it has and has not been through. */
static uint16_t phases_due(const struct cluster_work *w, const struct work_cell *c)
{
    static const enum phase_kind kinds[] = {PHASE_STOP, PHASE_UPGRADE};
    struct noderole_view nr = {0};
    uint16_t due = 0;
    (void)anneal_noderole(w->server->engine, c->noderole, &nr);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct phase_steps *steps = &w->steps[c->role].at[kinds[i]];
        for (uint32_t k = 0; k < steps->n; k++)
            if (has_task(w, &nr, &steps->at[k].def, false))
                due |= (uint16_t)(1u << kinds[i]);
    }
    return due;
}

static bool is_behind(const struct server *s, uint32_t noderole)
{
    struct noderole_view nr;
    struct operation_view op;
    struct node_view node;
    struct task_view t;
    if (!anneal_noderole(s->engine, noderole, &nr) || nr.state == NODEROLE_ACTIVE ||
        nr.target == TARGET_ABSENT || remedy_waits_for_word(s, noderole) ||
        !anneal_node(s->engine, nr.node, &node) || node.alive == ALIVE_DEAD)
        return false;
    if (nr.operation != OPERATION_STANDING && anneal_operation(s->engine, nr.operation, &op) &&
        op.state == OPERATION_RUNNING)
        return false; /* it is on its way */
    for (uint32_t id = nr.first_task; id < nr.first_task + nr.n_tasks; id++)
        if (anneal_task(s->engine, id, &t) &&
            (t.state == TASK_FAILED || t.state == TASK_CANCELLED || t.state == TASK_DEP_FAILED))
            return true;
    return false;
}

static uint16_t phases_left(const struct cluster_work *w, const struct work_cell *c)
{
    uint16_t whole = (c->target == TARGET_STOPPED ? CLUSTER_DOWN : CLUSTER_UP) &
                     w->services[c->role].actions;
    uint16_t left = whole & (uint16_t)~cluster_phases_done(w, c), due = phases_due(w, c);
    /* Who only has to stop was to stop before a start that is done: it serves as it is. */
    return left | (left & PHASE_F_START ? due : due & PHASE_F_UPGRADE);
}

void cluster_behind(struct cluster_work *w)
{
    if (w->ask->verb != CLUSTER_UPGRADE && w->ask->verb != CLUSTER_ROLLBACK)
        return;
    for (size_t i = 0; i < w->nodes.n; i++)
        for (size_t k = 0; w->nodes.at[i].was && w->nodes.at[i].now && k < w->nodes.at[i].cells.n;
             k++) {
            struct work_cell *c = &w->nodes.at[i].cells.at[k];
            uint32_t at = w->work.first[i] + (uint32_t)k;
            uint16_t left = c->has && c->noderole && !c->missing &&
                                    is_behind(w->server, c->noderole)
                                ? phases_left(w, c)
                                : 0;
            c->behind = left;
            if (left)
                w->work.cells[at] |= left | PHASE_F_IN_TURN;
        }
}

/* --- who is left alone --- */

/* Has the operation something to do with it, or is that to go? */
static bool touches(const struct cluster_work *w, uint32_t noderole)
{
    for (size_t i = 0; i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i];
        if (n->machine == noderole)
            return w->work.machine[i] || !n->now;
        for (size_t k = 0; k < n->cells.n; k++)
            if (n->cells.at[k].noderole == noderole)
                return w->work.cells[w->work.first[i] + k] & PHASE_F_SERVICE;
    }
    return false;
}

/* Once it has begun the engine tells: who changes nothing of a failure is in its old operation. */
struct value *cluster_left(const struct cluster_work *w, uint32_t deployment, uint32_t op)
{
    const struct value *all = remedy_standing(w->server, w->mem, deployment, op);
    struct value *list = value_list(w->mem);
    for (uint32_t i = 0; i < all->n; i++)
        if (op || !touches(w, (uint32_t)value_as_int(value_get(&all->items[i], "noderole"), 0)))
            value_add(w->mem, list, value_copy(w->mem, &all->items[i]));
    return list;
}
