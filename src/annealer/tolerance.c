/* tolerance.c - groups of noderoles of which so many may fail
 *
 * A noderole counts as failed while one of its tasks is FAILED or DEP_FAILED.  Within tolerance
 * nothing follows from that, and joins that tolerate forgive it.  Beyond it the operation whose
 * noderole failed drains (operation.c), and joins forgive nothing of the group any more.
 *
 * Of a roll-out what a resume has forgiven does not count and is forgiven for good; the rest is
 * counted by operation, against what that allows, and nothing drains (rollout.c).
 *
 * Counted at once, acted upon when derived noderoles are settled and before joins are, so that
 * several changes of one step are seen together.  Invariant between steps: beyond is
 * failed > may_fail, of a roll-out rollout_beyond().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

void tolerance_add(struct anneal *a, uint32_t may_fail, bool stops)
{
    struct group *g = vec_add(&a->groups);
    g->may_fail = may_fail;
    g->stops = stops;
    change_add(a, ROWS_GROUP, (uint32_t)a->groups.n - 1, 0, 0, 0);
}

static void move(struct anneal *a, uint32_t id, bool more)
{
    uint32_t group = a->noderoles.at[id].group;
    a->groups.at[group].failed += more ? 1 : UINT32_MAX;
    vec_push(&a->moves, ((struct group_move){group, id}));
}

void tolerance_count(struct anneal *a, uint32_t id, bool more)
{
    const struct noderole *nr = &a->noderoles.at[id];
    if ((uint32_t)nr->failed + nr->dep_failed == more)
        move(a, id, more);
}

bool tolerance_within(const struct anneal *a, uint32_t id)
{
    const struct noderole *nr = &a->noderoles.at[id];
    return nr->group && (!a->groups.at[nr->group].beyond || (nr->mode & MODE_FORGIVEN));
}

/* Joins that tolerate and wait for what failed of a noderole. */
static void collect_joins_of(struct anneal *a, const struct noderole *nr)
{
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        uint32_t n;
        const uint32_t *next = graph_out(&a->order, t, &n);
        for (uint32_t k = 0; task_state_failed(a->task_state[t]) && k < n; k++)
            if (task_rule(a, next[k]) == RULE_JOIN_TOLERATE && !rollout_orders(a, t, next[k]))
                vec_push(&a->walk, next[k]);
    }
}

/* Once for each task of the group that failed before them. */
static void collect_joins(struct anneal *a, uint32_t group)
{
    const struct group *g = &a->groups.at[group];
    for (size_t i = 0; i < g->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[g->noderoles.at[i]];
        if (nr->group == group && noderole_failing(nr) && !(nr->mode & MODE_FORGIVEN))
            collect_joins_of(a, nr);
    }
}

/* Those collected from base on wait for one more, or less. */
static void tell_joins(struct anneal *a, size_t base, bool more)
{
    size_t end = a->walk.n;
    for (size_t i = base; i < end; i++)
        (more ? task_waits_more : task_waits_less)(a, a->walk.at[i]);
    for (size_t i = base; i < end; i++)
        (more ? task_join_failure : task_unfail)(a, a->walk.at[i]);
    a->walk.n = base;
}

static void set_beyond(struct anneal *a, uint32_t group, bool beyond)
{
    size_t base = a->walk.n;
    collect_joins(a, group);
    a->groups.at[group].beyond = beyond;
    tell_joins(a, base, beyond);
}

void tolerance_look(struct anneal *a, uint32_t group)
{
    const struct group_move *last = a->moves.n ? &a->moves.at[a->moves.n - 1] : NULL;
    if (group && a->groups.at[group].stops && a->groups.at[group].failed > 0 &&
        !(last && last->group == group && !last->noderole))
        vec_push(&a->moves, ((struct group_move){group, 0}));
}

void tolerance_forgive(struct anneal *a, uint32_t id, bool forgiven)
{
    struct noderole *nr = &a->noderoles.at[id];
    size_t base = a->walk.n;
    if (forgiven == ((nr->mode & MODE_FORGIVEN) != 0))
        return;
    if (nr->group && a->groups.at[nr->group].beyond)
        collect_joins_of(a, nr);
    nr->mode ^= MODE_FORGIVEN;
    tell_joins(a, base, !forgiven);
    noderole_changed(a, id);
    tolerance_look(a, nr->group);
}

/* One that fails leaves beyond what is beyond, one that ceases to leaves within what is within. */
static bool is_beyond(struct anneal *a, struct group_move m)
{
    const struct group *g = &a->groups.at[m.group];
    const struct noderole *nr = &a->noderoles.at[m.noderole];
    bool counts = nr->group == m.group && noderole_failing(nr) && !(nr->mode & MODE_FORGIVEN);
    if (!g->stops)
        return g->failed > g->may_fail;
    return m.noderole && counts == g->beyond ? g->beyond : rollout_beyond(a, m.group);
}

void tolerance_recount(struct anneal *a, uint32_t group)
{
    bool beyond = is_beyond(a, (struct group_move){group, 0});
    if (beyond != a->groups.at[group].beyond)
        set_beyond(a, group, beyond);
}

void tolerance_settle(struct anneal *a)
{
    struct group_move m = a->moves.at[--a->moves.n];
    const struct group *g = &a->groups.at[m.group];
    const struct noderole *nr = &a->noderoles.at[m.noderole];
    bool beyond = is_beyond(a, m);
    if (beyond != g->beyond)
        set_beyond(a, m.group, beyond);
    if (beyond && !g->stops && nr->group == m.group && noderole_failing(nr))
        operation_drain(a, nr->op);
}

/* With the eyes of another group: is what has failed over for who waits for it? */
static void met_otherwise(struct anneal *a, struct noderole *nr, uint32_t group, uint32_t dep,
                          uint32_t t)
{
    uint32_t old = nr->group;
    bool was = task_met(a, dep, t);
    nr->group = group;
    bool is = task_met(a, dep, t);
    nr->group = old;
    if (was != is)
        (is ? task_waits_less : task_waits_more)(a, t);
}

/* Joins that forgave what failed of it, or did not, and members of its roll-out before and after
 * it. */
static void look_again(struct anneal *a, struct noderole *nr, uint32_t group)
{
    uint32_t n;
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        const uint32_t *next = graph_out(&a->order, t, &n);
        for (uint32_t k = 0; task_state_failed(a->task_state[t]) && k < n; k++)
            met_otherwise(a, nr, group, t, next[k]);
        const uint32_t *deps = graph_in(&a->order, t, &n);
        for (uint32_t k = 0; k < n; k++)
            if (task_state_failed(a->task_state[deps[k]]) &&
                a->tasks[deps[k]].noderole != a->tasks[t].noderole)
                met_otherwise(a, nr, group, deps[k], t);
    }
}

void tolerance_join(struct anneal *a, uint32_t id, uint32_t group)
{
    struct noderole *nr = &a->noderoles.at[id];
    uint32_t old = nr->group, n;
    if (old == group)
        return;
    tolerance_forgive(a, id, false);
    if (nr->first_task >= a->task_end) { /* of a plan whose tasks are not there yet */
        nr->group = group;
        vec_push(&a->groups.at[group].noderoles, id);
        return;
    }
    look_again(a, nr, group);
    if (old && noderole_failing(nr))
        move(a, id, false);
    nr->group = group;
    if (group)
        vec_push(&a->groups.at[group].noderoles, id);
    if (group && noderole_failing(nr))
        move(a, id, true);
    for (uint32_t t = nr->first_task; t < nr->first_task + nr->n_tasks; t++) {
        const uint32_t *next = graph_out(&a->order, t, &n);
        for (uint32_t k = 0; task_state_failed(a->task_state[t]) && k < n; k++) {
            task_join_failure(a, next[k]);
            task_unfail(a, next[k]);
        }
        task_join_failure(a, t);
        task_unfail(a, t);
    }
}

void tolerance_restore(struct anneal *a)
{
    for (uint32_t id = 1; id < a->noderoles.n; id++) {
        const struct noderole *nr = &a->noderoles.at[id];
        if (!nr->group)
            continue;
        vec_push(&a->groups.at[nr->group].noderoles, id);
        a->groups.at[nr->group].failed += noderole_failing(nr);
    }
    for (uint32_t i = 1; i < a->groups.n; i++)
        a->groups.at[i].beyond = is_beyond(a, (struct group_move){i, 0});
}
