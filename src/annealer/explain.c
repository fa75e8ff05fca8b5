/* explain.c - why is it as it is: reasons as data, nearest first
 *
 * Each reason names a rule and the object to act on; words and remedies are put to it by the
 * server.  Nothing is recorded for this while the engine runs: the answer is read off the state.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

const char *why_rule_name(enum why_rule r)
{
    static const char *const names[WHY_RULE_COUNT] = {
#define X(id, text) [WHY_##id] = text,
        WHY_RULES(X)
#undef X
    };
    return r < WHY_RULE_COUNT ? names[r] : "?";
}

struct list {
    struct why *at;
    size_t n, max;
};

static void say(struct list *l, enum why_rule rule, enum row_table table, uint32_t id,
                uint64_t value)
{
    if (l->n < l->max)
        l->at[l->n++] = (struct why){rule, table, id, value};
}

enum { JOINS_MOST = 32 };

/* What holds a task back, seen through joins: nobody can act on those. */
static void why_waits(const struct anneal *a, uint32_t t, struct list *l)
{
    uint32_t joins[JOINS_MOST] = {t}, n_joins = 1, n;
    for (uint32_t at = 0; at < n_joins; at++) {
        const uint32_t *deps = graph_in(&a->order, joins[at], &n);
        for (uint32_t i = 0; i < n; i++) {
            if (task_met(a, deps[i], joins[at]))
                continue;
            uint32_t k = 0;
            while (k < n_joins && joins[k] != deps[i])
                k++;
            bool through = task_passive(a, deps[i]) && a->unmet[deps[i]] > 0 &&
                           n_joins < JOINS_MOST;
            if (!through)
                say(l, WHY_DEPENDS, ROWS_TASK, deps[i], a->task_state[deps[i]]);
            else if (k == n_joins)
                joins[n_joins++] = deps[i];
        }
    }
}

/* Those that its noderole waits for and does not need: who still uses it, what takes its place, and
 * what it awaits before it lets go of others. */
static void why_bound(const struct anneal *a, uint32_t id, struct list *l)
{
    const struct noderole *nr = &a->noderoles.at[id];
    bool goes = nr->target == TARGET_ABSENT;
    for (uint32_t i = goes ? nr->bonds_down[BOND_LEAVES] : 0; i; i = a->bonds.at[i].next_down)
        say(l, a->bonds.at[i].awaited ? WHY_SUCCESSOR : WHY_USED, ROWS_NODEROLE,
            a->bonds.at[i].child, nr->op);
    for (uint32_t i = nr->awaits && !goes ? nr->bonds_up[BOND_SLEEPS] : 0; i;
         i = a->bonds.at[i].next_up)
        if (a->bonds.at[i].awaited)
            say(l, WHY_SUCCESSOR, ROWS_NODEROLE, a->bonds.at[i].parent, nr->op);
}

static bool holds_back(const struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *p = &a->noderoles.at[parent];
    return gate_holds(p) || (p->target == TARGET_STOPPED && gate_between(a, parent, child));
}

/* Of a quorum those on their way, if they will do.  Else those that are not complete; but while too
 * few are in service, whoever is in service is not the one that is missed. */
static bool stands_before(const struct anneal *a, uint32_t parent, uint32_t child)
{
    const struct noderole *p = &a->noderoles.at[parent];
    uint32_t q = quorum_of(a, parent, child);
    if (!q)
        return holds_back(a, parent, child);
    if (!quorum_serves(a, q) && noderole_in_service(p->state, p->target))
        return false;
    return quorum_will_do(a, q) ? quorum_comes(a, parent) : holds_back(a, parent, child);
}

/* Whatever a quorum lacks, if nobody stands before it that could be the one. */
static bool lacks_any(const struct anneal *a, uint32_t parent, uint32_t child)
{
    uint32_t q = quorum_of(a, parent, child);
    return q && quorum_lacks(a, q) && holds_back(a, parent, child);
}

/* Those that shut the gate of a noderole that is to stay. */
static void why_shut(const struct anneal *a, uint32_t id, struct list *l)
{
    bool (*const ways[])(const struct anneal *, uint32_t, uint32_t) = {stands_before, lacks_any};
    uint32_t n;
    const uint32_t *parents = gate_waits_for(a, id, &n);
    size_t before = l->n;
    for (int way = 0; way < 2 && l->n == before; way++)
        for (uint32_t i = 0; i < n; i++)
            if (ways[way](a, parents[i], id))
                say(l, WHY_PARENT, ROWS_NODEROLE, parents[i], a->noderoles.at[parents[i]].state);
}

static void why_pending(const struct anneal *a, uint32_t t, struct list *l)
{
    uint32_t n;
    const struct live *live = &a->lives.at[a->tasks[t].live];
    if (a->tasks[t].live && live->kind == LIVE_BACKOFF)
        say(l, WHY_BACKOFF, ROWS_TASK, t, live->wake_ms);
    else if (chain_ahead(a, t))
        say(l, WHY_AHEAD, ROWS_TASK, live->behind, live->number);
    else if (a->tasks[t].live)
        say(l, WHY_SUPERSEDED, ROWS_TASK, t, live->number);
    why_waits(a, t, l);
    if (!gate_shuts(a, t))
        return;
    uint32_t id = a->tasks[t].noderole;
    bool goes = a->noderoles.at[id].target == TARGET_ABSENT;
    why_bound(a, id, l);
    const uint32_t *children = goes ? gate_waits_for(a, id, &n) : NULL;
    for (uint32_t i = 0; goes && i < n; i++)
        say(l, WHY_NEEDED, ROWS_NODEROLE, children[i], a->noderoles.at[children[i]].state);
    if (!goes)
        why_shut(a, id, l);
}

static enum why_rule why_held(const struct op *o)
{
    if (o->reason == REASON_TOLERANCE)
        return WHY_TOLERANCE;
    return o->reason == REASON_STALLED ? WHY_STALLED : WHY_HELD;
}

static void why_not_started(const struct anneal *a, uint32_t t, struct list *l)
{
    const struct task *task = &a->tasks[t];
    const struct noderole *nr = &a->noderoles.at[task->noderole];
    const struct node *node = &a->nodes.at[nr->node];
    const struct def *d = &a->defs.at[task->def];
    const struct jig *j = &a->jigs.at[d->jig];
    enum lane_kind home = schedule_home(a, t);
    size_t before = l->n;
    if (a->ops.at[nr->op].held)
        say(l, why_held(&a->ops.at[nr->op]), ROWS_OPERATION, nr->op, 0);
    if (!node->available)
        say(l, WHY_NODE_UNAVAILABLE, ROWS_NODE, nr->node, 0);
    if (home == LANE_INSIDE && node->alive != ALIVE_ALIVE)
        say(l, a->suspect ? WHY_SUSPECT : WHY_NODE_AWAY, ROWS_NODE, nr->node, node->alive);
    if (home != LANE_HOLDER && a->freeze_on_error && node->errors > 0)
        say(l, WHY_NODE_FROZEN, ROWS_NODE, nr->node, node->errors);
    if (!j->active)
        say(l, WHY_JIG_INACTIVE, ROWS_JIG, d->jig, 0);
    else if (j->slots == 0)
        say(l, WHY_JIG_NO_WORKER, ROWS_JIG, d->jig, 0);
    const struct span *s = &a->spans.at[task->span];
    for (uint32_t i = 0; task->span && !s->held && i < s->n_pools; i++) {
        const struct pool *p = &a->pools.at[s->pools[i]];
        if (p->closed)
            say(l, WHY_POOL_CLOSED, ROWS_POOL, s->pools[i], 0);
        else if (!limits_pool_room(p))
            say(l, WHY_POOL_FULL, ROWS_POOL, s->pools[i], (uint64_t)p->taken + p->elsewhere);
    }
    if (home != LANE_HOLDER && node->used >= node->slots) {
        uint32_t first = node->lives;
        while (first && !(a->lives.at[first].flags & LIVEF_NODE))
            first = a->lives.at[first].next;
        say(l, WHY_NODE_BUSY, first ? ROWS_TASK : ROWS_NODE,
            first ? a->lives.at[first].task : nr->node, node->used);
    }
    if (!limits_tenant_room(&a->tenants.at[a->ops.at[nr->op].tenant])) /* whatever others leave */
        say(l, WHY_TENANT_FULL, ROWS_TENANT, a->ops.at[nr->op].tenant,
            a->tenants.at[a->ops.at[nr->op].tenant].share);
    if (j->active && j->slots > 0 && j->taken >= j->slots)
        say(l, WHY_WORKERS_BUSY, ROWS_JIG, d->jig, j->slots);
    else if (a->capacity_used >= a->capacity)
        say(l, WHY_WORKERS_BUSY, ROWS_META, 1, a->capacity);
    if (l->n == before)
        say(l, WHY_TURN, ROWS_TASK, t, 0);
}

static void why_cancelled(const struct anneal *a, uint32_t t, struct list *l)
{
    uint32_t op = task_op(a, t);
    switch ((int)a->tasks[t].reason) {
    case REASON_ROLLOUT:
        say(l, WHY_ROLLOUT, ROWS_GROUP, a->noderoles.at[a->tasks[t].noderole].group, op);
        break;
    case REASON_DEPENDENCY: why_pending(a, t, l); break; /* with what a roll-out stopped */
    case REASON_TOLERANCE: say(l, WHY_TOLERANCE, ROWS_OPERATION, op, 0); break;
    default: say(l, WHY_CANCELLED, ROWS_OPERATION, op, 0);
    }
}

size_t anneal_why_task(const struct anneal *a, uint32_t t, struct why *ret, size_t max)
{
    struct list l = {ret, 0, max};
    if (!task_exists(a, t))
        return 0;
    const struct live *live = &a->lives.at[a->tasks[t].live];
    switch ((enum task_state)a->task_state[t]) {
    case TASK_PENDING: why_pending(a, t, &l); break;
    case TASK_READY:
        if (chain_ahead(a, t))
            say(&l, WHY_AHEAD, ROWS_TASK, live->behind, live->number);
        else
            why_not_started(a, t, &l);
        break;
    case TASK_RUNNING: say(&l, WHY_RUNNING, ROWS_TASK, t, live->number); break;
    case TASK_WAITING:
        say(&l, WHY_WAITING, ROWS_TASK, t, live->wake_ms);
        if (live->flags & LIVEF_DUE)
            why_not_started(a, t, &l);
        else if (live->flags & LIVEF_FROZEN)
            say(&l, WHY_NODE_UNAVAILABLE, ROWS_NODE, live->node, 0);
        break;
    case TASK_FAILED:
        say(&l, a->tasks[t].reason == REASON_UNCERTAIN ? WHY_UNCERTAIN : WHY_FAILED, ROWS_TASK, t,
            a->tasks[t].attempt);
        break;
    case TASK_DEP_FAILED: why_pending(a, t, &l); break;
    case TASK_CANCELLED: why_cancelled(a, t, &l); break;
    case TASK_TOLERATED: say(&l, WHY_TOLERATED, ROWS_TASK, t, a->tasks[t].attempt); break;
    case TASK_DONE:
    case TASK_SKIPPED: say(&l, WHY_DONE, ROWS_TASK, t, a->tasks[t].attempt); break;
    case TASK_STATE_COUNT: break;
    }
    return l.n;
}

size_t anneal_why_noderole(const struct anneal *a, uint32_t id, struct why *ret, size_t max)
{
    struct list l = {ret, 0, max};
    uint32_t n;
    if (!noderole_exists(a, id))
        return 0;
    const struct noderole *nr = &a->noderoles.at[id];
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (uint32_t i = 0; nr->target != TARGET_ABSENT && i < n; i++) {
        const struct noderole *p = &a->noderoles.at[parents[i]];
        uint32_t q = quorum_of(a, parents[i], id);
        if (!noderole_in_service(p->state, p->target) && (!q || !quorum_serves(a, q)))
            say(&l, WHY_PARENT, ROWS_NODEROLE, parents[i], p->state);
    }
    if (nr->target == TARGET_ABSENT && nr->n_tasks == 0) { /* it has no task that could say so */
        const uint32_t *children = graph_out(&a->need, id, &n);
        for (uint32_t i = 0; i < n; i++)
            say(&l, WHY_NEEDED, ROWS_NODEROLE, children[i], a->noderoles.at[children[i]].state);
        why_bound(a, id, &l);
    }
    /* Its own first unfinished tasks: those that nothing of the noderole itself stands before. */
    for (uint32_t i = 0; i < nr->n_tasks && l.n < max; i++) {
        uint32_t t = nr->first_task + i, m;
        enum task_state s = a->task_state[t];
        if (task_state_passed(s) || (s == TASK_PENDING && l.n > 0))
            continue;
        const uint32_t *deps = graph_in(&a->order, t, &m);
        bool first = true;
        for (uint32_t k = 0; k < m; k++)
            if (!task_state_passed(a->task_state[deps[k]]) &&
                deps[k] - nr->first_task < nr->n_tasks)
                first = false;
        if (first || s == TASK_FAILED)
            l.n += anneal_why_task(a, t, ret + l.n, max - l.n);
    }
    return l.n;
}

size_t anneal_why_node(const struct anneal *a, uint32_t id, struct why *ret, size_t max)
{
    struct list l = {ret, 0, max};
    if (id == 0 || id >= a->nodes.n || !a->nodes.at[id].exists)
        return 0;
    const struct node *n = &a->nodes.at[id];
    if (!n->available)
        say(&l, WHY_NODE_UNAVAILABLE, ROWS_NODE, id, 0);
    if (n->alive != ALIVE_ALIVE)
        say(&l, WHY_NODE_AWAY, ROWS_NODE, id, n->alive);
    if (n->silent_ms && a->suspect)
        say(&l, WHY_SUSPECT, ROWS_NODE, id, n->silent_ms);
    if (a->freeze_on_error && n->errors > 0)
        say(&l, WHY_NODE_FROZEN, ROWS_NODE, id, n->errors);
    for (uint32_t x = n->lives; x && l.n < max; x = a->lives.at[x].next)
        say(&l, a->lives.at[x].kind == LIVE_WAIT ? WHY_WAITING : WHY_RUNNING, ROWS_TASK,
            a->lives.at[x].task, a->lives.at[x].number);
    for (uint32_t r = n->first_noderole; r && l.n < max; r = a->noderoles.at[r].next_on_node)
        if (a->noderoles.at[r].state == NODEROLE_ERROR)
            l.n += anneal_why_noderole(a, r, ret + l.n, max - l.n);
    return l.n;
}

/* The circle of a stall: the full pools it waits for, who holds them, and what those wait for in
 * turn. */
static void why_stalled(const struct anneal *a, uint32_t op, struct list *l)
{
    for (uint32_t p = 1; p < a->pools.n; p++) {
        bool waits = false;
        for (uint32_t id = a->pools.at[p].lanes; id && !waits; id = a->lanes.at[id].next_of_owner)
            waits = a->lanes.at[id].op == op && a->lanes.at[id].n > 0;
        if (!waits || limits_pool_room(&a->pools.at[p]))
            continue;
        say(l, WHY_POOL_FULL, ROWS_POOL, p, a->pools.at[p].taken);
        for (uint32_t t = 1; t < a->task_end && l->n < l->max; t++) {
            const struct span *s = &a->spans.at[a->tasks[t].span];
            if (!a->tasks[t].span || !s->held || a->task_state[t] != TASK_PENDING)
                continue;
            for (uint32_t i = 0; i < s->n_pools; i++)
                if (s->pools[i] == p) {
                    say(l, WHY_HOLDER, ROWS_TASK, t, p);
                    why_pending(a, t, l);
                }
        }
    }
}

/* The groups of which more failed than may, each once. */
static void why_groups(const struct anneal *a, uint32_t op, struct list *l)
{
    const struct op *o = &a->ops.at[op];
    size_t before = l->n;
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op != op || !nr->group || !a->groups.at[nr->group].beyond)
            continue;
        size_t k = before;
        while (k < l->n && l->at[k].id != nr->group)
            k++;
        if (k == l->n)
            say(l, WHY_TOLERANCE, ROWS_GROUP, nr->group, a->groups.at[nr->group].failed);
    }
}

/* The roll-outs of it that stopped, each once. */
static void why_rollouts(const struct anneal *a, uint32_t op, struct list *l)
{
    const struct op *o = &a->ops.at[op];
    size_t before = l->n;
    for (size_t i = 0; i < o->noderoles.n; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        bool failed = o->reason == REASON_ROLLOUT && nr->failed > 0 && nr->node && nr->group &&
                      a->groups.at[nr->group].stops && !(nr->mode & MODE_FORGIVEN);
        if (nr->op != op || (!failed && !(nr->mode & MODE_STOPPED)))
            continue;
        size_t k = before;
        while (k < l->n && l->at[k].id != nr->group)
            k++;
        if (k == l->n)
            say(l, WHY_ROLLOUT, ROWS_GROUP, nr->group, op);
    }
}

size_t anneal_why_operation(const struct anneal *a, uint32_t op, struct why *ret, size_t max)
{
    struct list l = {ret, 0, max};
    if (op == 0 || op >= a->ops.n || !a->ops.at[op].exists)
        return 0;
    const struct op *o = &a->ops.at[op];
    if (o->held)
        say(&l, why_held(o), ROWS_OPERATION, op, 0);
    if (o->reason == REASON_TOLERANCE)
        why_groups(a, op, &l);
    why_rollouts(a, op, &l);
    if (o->reason == REASON_STALLED)
        why_stalled(a, op, &l);
    for (size_t i = 0; i < o->noderoles.n && l.n < max; i++) {
        const struct noderole *nr = &a->noderoles.at[o->noderoles.at[i]];
        if (nr->op != op || nr->passed == nr->n_tasks)
            continue;
        for (uint32_t k = 0; k < nr->n_tasks && l.n < max; k++) {
            enum task_state s = a->task_state[nr->first_task + k];
            if (s == TASK_FAILED || s == TASK_READY || s == TASK_WAITING || s == TASK_RUNNING ||
                (s == TASK_PENDING && a->tasks[nr->first_task + k].live))
                l.n += anneal_why_task(a, nr->first_task + k, ret + l.n, max - l.n);
        }
    }
    return l.n;
}
