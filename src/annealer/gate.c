/* gate.c - a noderole begins when everything it needs is complete, and goes when nobody needs it
 *
 * Needs order by themselves: the first tasks of a noderole (those that wait for no other task of
 * it) have one more thing to wait for while its gate is shut: while a need-parent has tasks left;
 * or, for a noderole that is to go, while it has need-children or somebody who has not let go of it
 * yet (leave.c).  A run that has not begun waits for parents that it gets in place of others, too
 * (late.c).  That is counted once per
 * noderole, not per pair of tasks, so edges grow with needs, and the tasks of a parent may be
 * replaced without its children noticing.  A parent that is stopped keeps the gate of a child shut
 * that is to run, and is none of the business of one that stops with it: children stop first.  A
 * task that takes its node down waits so wherever in its noderole it stands: what the node comes up
 * with may be what a parent is making right now.  A noderole that says so (NODEROLE_F_PHASED) has
 * order edges to the tasks of its parents instead.
 *
 * Of parents of which some are enough quorum.c says what they come to together.
 *
 * Invariants: gate and halted count need-parents and quorums; each first task of a noderole
 * whose gate is shut has exactly 1 in unmet[] for it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

bool gate_shut(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint32_t n;
    if (nr->target == TARGET_ABSENT) {
        (void)graph_out(&a->need, id, &n);
        return n > 0 || nr->bonds_down[BOND_LEAVES];
    }
    if (nr->awaits > 0 && !(nr->mode & MODE_BEGUN) && !(nr->flags & NODEROLE_F_PHASED))
        return true;
    bool halts = nr->halted > 0 && nr->target == TARGET_RUNNING;
    return (nr->gate > 0 || halts) && !(nr->flags & NODEROLE_F_PHASED);
}

bool gate_between(const struct anneal *a, uint32_t parent, uint32_t child)
{
    return a->noderoles.at[parent].target != TARGET_STOPPED ||
           a->noderoles.at[child].target != TARGET_STOPPED;
}

void gate_each_first(struct anneal *a, uint32_t id, void (*fn)(struct anneal *a, uint32_t t))
{
    const struct noderole *nr = &a->noderoles.at[id];
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (a->tasks[t].flags & TASKF_FIRST)
            fn(a, t);
}

void gate_moved(struct anneal *a, uint32_t id, bool was_shut)
{
    bool shut = gate_shut(a, id);
    if (shut == was_shut)
        return;
    gate_each_first(a, id, shut ? task_waits_more : task_waits_less);
}

void gate_progress(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    bool complete = nr->passed == nr->n_tasks;
    uint32_t n;
    if (complete == nr->complete)
        return;
    nr->complete = complete;
    const uint32_t *children = graph_out(&a->need, id, &n);
    for (uint32_t i = 0; nr->target != TARGET_STOPPED && i < n; i++) {
        bool was = gate_shut(a, children[i]);
        if (quorum_of(a, id, children[i]))
            continue; /* told when it is derived */
        a->noderoles.at[children[i]].gate += complete ? UINT32_MAX : 1;
        gate_moved(a, children[i], was);
    }
}

void gate_target(struct anneal *a, uint32_t id, enum target target)
{
    struct noderole *nr = &a->noderoles.at[id];
    bool held = gate_holds(nr), halted = nr->target == TARGET_STOPPED, shut = gate_shut(a, id);
    uint32_t n;
    nr->target = (uint8_t)target;
    gate_moved(a, id, shut);
    const uint32_t *children = graph_out(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct noderole *c = &a->noderoles.at[children[i]];
        shut = gate_shut(a, children[i]);
        if (quorum_of(a, id, children[i]))
            continue;
        c->gate += (uint32_t)gate_holds(nr) - (uint32_t)held;
        c->halted += (uint32_t)(target == TARGET_STOPPED) - (uint32_t)halted;
        gate_moved(a, children[i], shut);
        gate_each_first(a, children[i], task_unfail);
        gate_each_first(a, children[i], task_join_failure);
    }
}

void gate_edge(struct anneal *a, uint32_t parent, uint32_t child, bool counts)
{
    const struct noderole *p = &a->noderoles.at[parent];
    struct noderole *c = &a->noderoles.at[child];
    uint32_t q = quorum_of(a, parent, child), by = counts ? 1 : UINT32_MAX;
    if (q) {
        quorum_link(a, q, parent, counts);
        return;
    }
    c->parents_out += noderole_in_service(p->state, p->target) ? 0 : by;
    c->parents_stale += p->state != NODEROLE_ACTIVE ? by : 0;
    c->gate += gate_holds(p) ? by : 0;
    c->halted += p->target == TARGET_STOPPED ? by : 0;
}

void gate_link(struct anneal *a, uint32_t parent, uint32_t child)
{
    bool was = gate_shut(a, child), parent_was = gate_shut(a, parent);
    graph_link(&a->need, parent, child);
    gate_edge(a, parent, child, true);
    gate_moved(a, child, was);
    gate_moved(a, parent, parent_was);
    noderole_derive_later(a, child);
    gate_each_first(a, child, task_join_failure);
}

void gate_unlink(struct anneal *a, uint32_t parent, uint32_t child)
{
    bool was = gate_shut(a, child), parent_was = gate_shut(a, parent);
    graph_unlink(&a->need, parent, child);
    gate_edge(a, parent, child, false);
    quorum_leave(a, parent, child);
    gate_moved(a, child, was);
    gate_moved(a, parent, parent_was);
    noderole_derive_later(a, child);
    noderole_derive_later(a, parent);
    gate_each_first(a, child, task_unfail);
    gate_each_first(a, parent, task_unfail);
}

const uint32_t *gate_waits_for(const struct anneal *a, uint32_t id, uint32_t *ret_n)
{
    return a->noderoles.at[id].target == TARGET_ABSENT ? graph_out(&a->need, id, ret_n)
                                                       : graph_in(&a->need, id, ret_n);
}

bool gate_shuts(const struct anneal *a, uint32_t t)
{
    return (a->tasks[t].flags & TASKF_FIRST) && gate_shut(a, a->tasks[t].noderole);
}

void gate_mark_first(struct anneal *a, uint32_t t)
{
    uint32_t n;
    const uint32_t *deps = graph_in(&a->order, t, &n);
    a->tasks[t].flags &= (uint8_t)~TASKF_FIRST;
    if (a->defs.at[a->tasks[t].def].flags & DEF_F_TAKES_DOWN)
        n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (a->tasks[deps[i]].noderole == a->tasks[t].noderole)
            return;
    a->tasks[t].flags |= TASKF_FIRST;
}

void gate_count(const struct anneal *a, uint32_t id, uint32_t *ret_gate, uint32_t *ret_halted)
{
    uint32_t n, gate = 0, halted = 0;
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (quorum_of(a, parents[i], id))
            continue;
        gate += gate_holds(&a->noderoles.at[parents[i]]);
        halted += a->noderoles.at[parents[i]].target == TARGET_STOPPED;
    }
    uint32_t out = 0, stale = 0;
    quorum_sum(a, id, &out, &stale, &gate, &halted);
    *ret_gate = gate;
    *ret_halted = halted;
}
