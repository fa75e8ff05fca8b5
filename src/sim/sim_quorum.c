/* sim_quorum.c - needs of which some are enough: drawn, and held against invariant 1
 *
 * Of the engine only what a quorum is is asked: its number, and who is in it.  Who is in service,
 * complete or out is counted here from the views of noderoles and tasks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdlib.h>

static int by_id(const void *x, const void *y)
{
    const uint32_t *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

const struct plan_quorum *sim_quorum_draw(struct rng *r, struct arena *mem, const uint32_t *parents,
                                          uint32_t n, uint32_t *ret_n)
{
    struct plan_quorum *q = arena_new(mem, struct plan_quorum, 1);
    uint32_t *members = arena_new(mem, uint32_t, n);
    *ret_n = 0;
    if (n == 0)
        return q;
    for (uint32_t i = 0; i < n; i++)
        if (rng_chance(r, 800))
            members[q->n_members++] = parents[i];
    if (q->n_members == 0)
        return q;
    qsort(members, q->n_members, sizeof *members, by_id);
    q->members = members;
    q->percent = rng_chance(r, 300);
    q->min = q->percent           ? rng_from(r, 1, 100)
             : rng_chance(r, 700) ? 1
                                  : rng_from(r, 1, q->n_members + 1);
    *ret_n = 1;
    return q;
}

/* ---- what is written in a plan is what the engine has ---- */

static void check_written(struct sim *s, uint32_t child, const struct plan_quorum *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < q[i].n_members; k++) {
            struct quorum_view v = {0};
            if (!anneal_quorum(s->server.engine, child, q[i].members[k], &v) || v.min != q[i].min ||
                v.percent != q[i].percent || v.first != q[i].members[0])
                sim_fail(s, "noderole %u shall need %u of those with %u, and does not", child,
                         q[i].min, q[i].members[k]);
        }
}

void sim_quorum_applied(struct sim *s, const struct plan *p)
{
    struct noderole_view v;
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        if (anneal_noderole(s->server.engine, p->base_noderole + i, &v))
            check_written(s, p->base_noderole + i, p->noderoles[i].quorums,
                          p->noderoles[i].n_quorums);
    for (uint32_t i = 0; i < p->n_changes; i++)
        if (anneal_noderole(s->server.engine, p->changes[i].noderole, &v))
            check_written(s, p->changes[i].noderole, p->changes[i].quorums,
                          p->changes[i].n_quorums);
}

/* ---- counting ---- */

struct members {
    uint32_t n, serving, complete, stopped, coming, enough;
};

static bool stands_still(const struct anneal *a, const struct noderole_view *v)
{
    for (uint32_t i = 0; i < v->n_tasks; i++) {
        struct task_view t;
        anneal_task(a, v->first_task + i, &t);
        if (task_state_failed(t.state) || t.state == TASK_CANCELLED)
            return true;
    }
    return false;
}

static bool complete(const struct anneal *a, const struct noderole_view *v)
{
    for (uint32_t i = 0; i < v->n_tasks; i++) {
        struct task_view t;
        anneal_task(a, v->first_task + i, &t);
        if (!task_state_passed(t.state))
            return false;
    }
    return true;
}

static void count(const struct anneal *a, uint32_t id, struct members *m)
{
    struct noderole_view v = {0};
    struct node_view node = {0};
    anneal_noderole(a, id, &v);
    (void)anneal_node(a, v.node, &node);
    bool runs = v.target == TARGET_RUNNING, whole = complete(a, &v);
    bool out = node.alive == ALIVE_DEAD || stands_still(a, &v) ||
               (v.operation == OPERATION_STANDING && v.state == NODEROLE_BLOCKED);
    m->n++;
    m->serving += noderole_in_service(v.state, v.target);
    m->complete += runs && whole;
    m->stopped += v.target == TARGET_STOPPED;
    m->coming += runs && !whole && !out;
}

/* The members of one quorum; false: this parent is in none. */
static bool members_of(const struct anneal *a, uint32_t child, uint32_t parent, struct members *m)
{
    struct quorum_view v, w;
    uint32_t n;
    const uint32_t *parents = anneal_parents(a, child, &n);
    *m = (struct members){0};
    if (!anneal_quorum(a, child, parent, &v))
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (anneal_quorum(a, child, parents[i], &w) && w.first == v.first)
            count(a, parents[i], m);
    uint32_t asked = v.percent ? (m->n * v.min + 99) / 100 : v.min;
    m->enough = asked < m->n ? asked : m->n;
    return true;
}

bool sim_quorum_serves(const struct sim *s, uint32_t child, uint32_t parent)
{
    struct members m;
    return members_of(s->server.engine, child, parent, &m) && m.serving >= m.enough;
}

bool sim_quorum_opens(const struct sim *s, uint32_t child, uint32_t parent, bool *ret_opens)
{
    struct members m;
    struct noderole_view v;
    if (!members_of(s->server.engine, child, parent, &m))
        return false;
    anneal_noderole(s->server.engine, child, &v);
    uint32_t have = m.complete + (v.target == TARGET_STOPPED ? m.stopped : 0);
    *ret_opens = m.coming == 0 && have >= m.enough;
    return true;
}

/* Invariant 1, from nothing: a parent by itself is in service, of a quorum enough are. */
void sim_quorum_check(struct sim *s)
{
    const struct anneal *a = s->server.engine;
    for (uint32_t id = 1; id < anneal_noderole_end(a); id++) {
        struct noderole_view v, p;
        struct members m;
        uint32_t n;
        if (!anneal_noderole(a, id, &v) || !noderole_in_service(v.state, v.target))
            continue;
        const uint32_t *parents = anneal_parents(a, id, &n);
        for (uint32_t i = 0; i < n; i++) {
            anneal_noderole(a, parents[i], &p);
            bool in = noderole_in_service(p.state, p.target);
            if (in)
                continue;
            if (!members_of(a, id, parents[i], &m))
                sim_fail(s, "invariant 1: noderole %u is in service, its parent %u is not", id,
                         parents[i]);
            else if (m.serving < m.enough)
                sim_fail(s,
                         "invariant 1: noderole %u is in service with %u of %u members, %u are "
                         "enough",
                         id, m.serving, m.n, m.enough);
            else
                s->report->quorums++;
        }
    }
}
