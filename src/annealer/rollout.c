/* rollout.c - a roll-out stops when more of its members have failed than may
 *
 * The noderoles of a role with a strategy are a group that *stops*.  In an operation that a person
 * asked for, after more than `may_fail` of those that it runs have failed (or as many as a resume
 * allowed), no further member starts: what has not begun is CANCELLED, reason `rollout`, with what
 * waits for it, and stays as it is, in service if it was.  What has begun goes on to its end.  An
 * order edge between two members means "when that has ended": whether the next one may start is
 * decided here and not by the edge.
 *
 * Nothing of this is kept beside the rows: who counts is who is in ERROR and not forgiven by a
 * resume (MODE_FORGIVEN).  So a crash between a failure and the next start changes nothing.  The
 * standing operation restores what was lost and never stops.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

/* Has what the roll-out is about begun on it? */
static bool member_begun(const struct noderole *nr)
{
    return (nr->mode & (MODE_BEGUN | MODE_ASIDE)) == MODE_BEGUN;
}

static bool member_stopped(const struct noderole *nr)
{
    return (nr->mode & MODE_STOPPED) && nr->cancelled > 0;
}

bool rollout_orders(const struct anneal *a, uint32_t dep, uint32_t t)
{
    uint32_t from = a->tasks[dep].noderole, to = a->tasks[t].noderole;
    uint32_t group = a->noderoles.at[to].group;
    return from != to && group && a->groups.at[group].stops &&
           a->noderoles.at[from].group == group && a->noderoles.at[from].node &&
           a->noderoles.at[to].node;
}

bool rollout_op_stopped(const struct anneal *a, uint32_t op)
{
    const struct op *o = &a->ops.at[op];
    for (size_t i = 0; o->counts[TASK_CANCELLED] > 0 && i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op == op && member_stopped(nr))
            return true;
    }
    return false;
}

/* Members whose failure counts in an operation; waiting: who waits for one that failed, too. */
static uint32_t count_failures(struct anneal *a, uint32_t group, uint32_t op, bool waiting)
{
    const struct group *g = &a->groups.at[group];
    uint32_t n = 0, epoch = ++a->epoch; /* one that left and came back is listed twice */
    for (size_t i = 0; i < g->noderoles.n; i++) {
        struct noderole *nr = &a->noderoles.at[g->noderoles.at[i]];
        if (nr->group != group || nr->op != op || nr->visited == epoch)
            continue;
        nr->visited = epoch;
        n += (nr->failed > 0 || (waiting && nr->dep_failed > 0)) && !(nr->mode & MODE_FORGIVEN);
    }
    return n;
}

uint32_t rollout_failures(struct anneal *a, uint32_t group, uint32_t op)
{
    return count_failures(a, group, op, false);
}

bool rollout_beyond(struct anneal *a, uint32_t group)
{
    const struct group *g = &a->groups.at[group];
    uint32_t counted = 0; /* nearly always all are of one operation */
    for (size_t i = 0; g->failed > 0 && i < g->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[g->noderoles.at[i]];
        if (nr->group != group || (nr->failed == 0 && nr->dep_failed == 0) || nr->op == counted ||
            (nr->mode & MODE_FORGIVEN))
            continue;
        counted = nr->op;
        if (count_failures(a, group, counted, true) > rollout_budget(a, group, counted))
            return true;
    }
    return false;
}

uint32_t rollout_budget(const struct anneal *a, uint32_t group, uint32_t op)
{
    uint32_t said = a->ops.at[op].failures;
    return said ? said - 1 : a->groups.at[group].may_fail;
}

uint32_t anneal_rollout(struct anneal *a, uint32_t group, uint32_t op, uint32_t *ret_may)
{
    if (group == 0 || group >= a->groups.n || op >= a->ops.n) {
        *ret_may = 0;
        return 0;
    }
    *ret_may = rollout_budget(a, group, op);
    return rollout_failures(a, group, op);
}

/* Have more failed than may? */
static bool spent(struct anneal *a, uint32_t group, uint32_t op)
{
    return a->groups.at[group].failed > 0 &&
           rollout_failures(a, group, op) > rollout_budget(a, group, op);
}

static bool rolls(const struct anneal *a, const struct noderole *nr)
{
    return nr->node && nr->group && a->groups.at[nr->group].stops && nr->op != OPERATION_STANDING &&
           nr->target != TARGET_ABSENT;
}

bool rollout_op_spent(struct anneal *a, uint32_t op)
{
    uint32_t counted = 0; /* nearly always all are of one group */
    for (size_t i = 0; i < a->ops.at[op].noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[a->ops.at[op].noderoles.at[i]];
        if (nr->op != op || nr->failed == 0 || (nr->mode & MODE_FORGIVEN) || !rolls(a, nr) ||
            nr->group == counted)
            continue;
        counted = nr->group;
        if (spent(a, counted, op))
            return true;
    }
    return false;
}

/* What has not started of it does not; what waits for that is on a->walk. */
static void stop_member(struct anneal *a, uint32_t id)
{
    struct noderole *nr = &a->noderoles.at[id];
    size_t base = a->walk.n;
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++)
        if (task_cancel(a, t, REASON_ROLLOUT))
            vec_push(&a->walk, t);
    if (a->walk.n == base)
        return;
    nr->mode |= MODE_STOPPED;
    noderole_changed(a, id);
}

void rollout_failed(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint32_t group = nr->group, op = nr->op;
#ifdef ANNEAL_DEFECT_ROLLOUT
    return; /* it goes on whatever fails */
#endif
    if (!rolls(a, nr) || nr->failed == 0 || !spent(a, group, op))
        return;
    const struct group *g = &a->groups.at[group];
    size_t base = a->walk.n;
    for (size_t i = 0; i < g->noderoles.n; i++) {
        const struct noderole *m = &a->noderoles.at[g->noderoles.at[i]];
        bool fresh = m->failed == 0 || g->noderoles.at[i] == id; /* by what an older run left */
        if (m->group == group && m->op == op && m->node && !member_begun(m) && fresh &&
            m->target != TARGET_ABSENT)
            stop_member(a, g->noderoles.at[i]);
    }
    tolerance_recount(a, group); /* who waits for all of them fails with what failed */
    task_cancel_cone(a, base);
}

void rollout_begins(struct anneal *a, uint32_t t)
{
    struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    bool aside = a->defs.at[a->tasks[t].def].flags & DEF_F_ASIDE;
    if (aside ? (nr->mode & MODE_BEGUN) != 0 : !(nr->mode & MODE_ASIDE))
        return;
    nr->mode ^= MODE_ASIDE; /* to begin with, or no more */
    noderole_changed(a, a->tasks[t].noderole);
}

bool rollout_holds(struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    size_t base = a->walk.n;
    if (!rolls(a, nr) || member_begun(nr) || (nr->mode & MODE_LET) || !spent(a, nr->group, nr->op))
        return false;
    stop_member(a, id); /* it came too late to be there when its roll-out stopped */
    task_cancel_cone(a, base);
    return true;
}

void rollout_resume(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    for (size_t i = 0; i < o->noderoles.n; i++) {
        uint32_t id = o->noderoles.at[i];
        struct noderole *nr = &a->noderoles.at[id];
        if (nr->op != op || !nr->group || !a->groups.at[nr->group].stops)
            continue;
        nr->mode &= (uint16_t)~MODE_STOPPED;
        if (nr->failed > 0)
            tolerance_forgive(a, id, true);
        tolerance_look(a, nr->group);
        noderole_changed(a, id);
    }
}
