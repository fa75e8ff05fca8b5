/* check.c - recompute everything that is kept incrementally, and compare
 *
 * The invariants of docs/rfc/01-engine.md section 11 that can be seen in one state.  O(everything):
 * for the simulator, tests and `anneal admin check`, never in a step.  The first violation is
 * reported with its number.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

static int broken(struct err *e, int number, const char *what, uint32_t id)
{
    return err_set(e, ERR_INTERNAL, "invariant %d: %s (%u)", number, what, id);
}

struct sums {
    uint32_t *group_failed, *node_used, *pool_taken, *jig_taken, *span_left, *span_begun,
        *span_live;
    uint32_t (*op_counts)[TASK_STATE_COUNT], *op_live;
    uint8_t *lane_offered;
    uint32_t capacity_used, live, *tenant_used;
};

static int check_attempt(const struct anneal *a, uint32_t t, struct sums *s, struct err *e)
{
    const struct task *task = &a->tasks[t];
    enum task_state st = a->task_state[t];
    const struct live *l = &a->lives.at[task->live];
    bool ahead = l->kind == LIVE_AHEAD;
    if (!l->timer && !(l->flags & LIVEF_FROZEN) && (!ahead || (l->flags & LIVEF_STOPPING)))
        return broken(e, 8, "an attempt or back-off without a timer", t);
    if (task_state_live(st) !=
        (l->kind != LIVE_BACKOFF && !ahead && !(l->flags & LIVEF_SUPERSEDED)))
        return broken(e, 3, "RUNNING or WAITING without exactly one live attempt", t);
    if (l->kind == LIVE_BACKOFF)
        return 0;
    if (l->task != t)
        return broken(e, 3, "an open attempt belongs to another task", t);
    if (st == TASK_RUNNING && l->kind != LIVE_RUN)
        return broken(e, 3, "RUNNING, but its attempt does not run", t);
    if (st == TASK_WAITING && l->kind != LIVE_WAIT)
        return broken(e, 3, "WAITING, but its attempt does not wait", t);
    const struct live *before = &a->lives.at[ahead ? a->tasks[l->behind].live : 0];
    if (ahead && (before->follower != t || before->node != l->node || before->kind == LIVE_WAIT ||
                  (l->flags & (LIVEF_NODE | LIVEF_WORKER))))
        return broken(e, 3, "an attempt ahead of nothing, or with slots of its own", t);
    if (l->deadline_ms == 0 && !ahead && !(l->flags & LIVEF_FROZEN))
        return broken(e, 3, "an attempt without a deadline", t);
    if (l->kind == LIVE_RUN && !(l->flags & LIVEF_NODE))
        return broken(e, 2, "a running attempt without its node slot", t);
    s->live++;
    s->op_live[task_op(a, t)]++;
    s->node_used[l->node] += (l->flags & LIVEF_NODE) != 0;
    if (l->flags & LIVEF_WORKER) {
        s->capacity_used++;
        s->tenant_used[a->ops.at[task_op(a, t)].tenant]++;
        s->jig_taken[a->defs.at[task->def].jig]++;
    }
    if (task->span)
        s->span_live[task->span]++;
    return 0;
}

/* Nothing runs it; one that follows is passed, failed or pending as what it waits for is. */
static int check_passive(const struct anneal *a, uint32_t t)
{
    enum task_state s = a->task_state[t];
    bool at_rest = !a->tasks[t].live && !a->tasks[t].lane && s != TASK_READY && s != TASK_FAILED &&
                   !task_state_live(s);
    if (!at_rest || !passive_follows(a, t))
        return at_rest ? 0 : -1;
    if (a->unmet[t] == 0)
        return task_state_passed(s) ? 0 : -1;
    return s == (task_dep_failed(a, t) ? TASK_DEP_FAILED : TASK_PENDING) ? 0 : -1;
}

static bool counts_in(const struct noderole *nr, uint32_t group)
{
    return nr->group == group && (nr->failed > 0 || nr->dep_failed > 0) &&
           !(nr->mode & MODE_FORGIVEN);
}

/* Of a roll-out: has more of it failed in an operation than may there? */
static bool rolled_beyond(const struct anneal *a, uint32_t group)
{
    uint32_t last = 0;
    for (uint32_t id = 1; a->groups.at[group].failed > 0 && id < a->noderoles.n; id++) {
        uint32_t n = 0, op = a->noderoles.at[id].op;
        if (!counts_in(&a->noderoles.at[id], group) || op == last)
            continue;
        for (uint32_t k = 1; k < a->noderoles.n; k++)
            n += a->noderoles.at[k].op == op && counts_in(&a->noderoles.at[k], group);
        if (n > rollout_budget(a, group, op))
            return true;
        last = op;
    }
    return false;
}

static int check_task(const struct anneal *a, uint32_t t, struct sums *s, struct err *e)
{
    enum task_state st = a->task_state[t];
    const struct task *task = &a->tasks[t];
    uint32_t n, unmet = 0, op = task_op(a, t);
    const uint32_t *deps = graph_in(&a->order, t, &n);
    for (uint32_t i = 0; i < n; i++)
        unmet += !task_met(a, deps[i], t);
    unmet += gate_shuts(a, t);
    if (unmet != a->unmet[t])
        return broken(e, 5, "count of unmet dependencies", t);
    if (st == TASK_READY && (unmet > 0 || (task->live && !chain_ahead(a, t))))
        return broken(e, 5, "READY before what it depends on", t);
    if (st == TASK_PENDING && unmet == 0 && (!task->live || chain_ahead(a, t)))
        return broken(e, 8, "PENDING with nothing to wait for", t);
    if (st == TASK_DEP_FAILED && !task_dep_failed(a, t))
        return broken(e, 8, "DEP_FAILED, but nothing that it waits for has failed", t);
    if (task_passive(a, t) && check_passive(a, t) < 0)
        return broken(e, 5, "passive, and not as its rule says", t);
    if (st == TASK_READY && !task->lane != chain_ahead(a, t))
        return broken(e, 8, "READY but queued nowhere", t);
    if (task->lane && a->lanes.at[task->lane].op != op)
        return broken(e, 8, "queued in another operation's lane", t);
    if (!task->noderole && (!task_state_passed(st) || task->lane))
        return broken(e, 4, "retired, and not at rest", t);
    if (task->noderole)
        s->op_counts[op][st]++;
    if (task->span) {
        s->span_left[task->span] += !task_state_ended(st);
        s->span_begun[task->span] += task_state_live(st) ||
                                     (task_state_ended(st) && st != TASK_DEP_FAILED);
    }
    if (task->live)
        return check_attempt(a, t, s, e);
    return task_state_live(st) ? broken(e, 3, "RUNNING or WAITING without an attempt", t) : 0;
}

static int check_noderole(const struct anneal *a, uint32_t id, struct err *e)
{
    const struct noderole *nr = &a->noderoles.at[id];
    uint32_t passed = 0, live = 0, ready = 0, failed = 0, dep_failed = 0, cancelled = 0, out = 0,
             stale = 0, n;
    bool planned = false;
    for (uint32_t i = 0; i < nr->n_tasks; i++) {
        enum task_state s = a->task_state[nr->first_task + i];
        passed += task_state_passed(s);
        live += task_state_live(s);
        ready += s == TASK_READY;
        failed += s == TASK_FAILED;
        dep_failed += s == TASK_DEP_FAILED;
        cancelled += s == TASK_CANCELLED;
        enum task_rule rule = task_rule(a, nr->first_task + i);
        planned |= rule == RULE_KEEP || rule == RULE_ONCE;
    }
    const uint32_t *parents = graph_in(&a->need, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        const struct noderole *p = &a->noderoles.at[parents[i]];
        if (p->cohort >= nr->cohort)
            return broken(e, 10, "a parent is not below its child", id);
        if (quorum_of(a, parents[i], id))
            continue;
        out += !noderole_in_service(p->state, p->target);
        stale += p->state != NODEROLE_ACTIVE;
    }
    uint32_t gate = 0, halted = 0;
    quorum_sum(a, id, &out, &stale, &gate, &halted);
    if (quorum_wrong(a, id))
        return broken(e, 4, "counts of a quorum", id);
    if (passed != nr->passed || live != nr->live || ready != nr->ready || failed != nr->failed ||
        dep_failed != nr->dep_failed || cancelled != nr->cancelled || out != nr->parents_out ||
        stale != nr->parents_stale)
        return broken(e, 4, "counters of a noderole", id);
    if (planned && !(nr->mode & MODE_PLANNED))
        return broken(e, 4, "a rule of one run outlives it", id);
    uint32_t awaits = 0;
    gate_count(a, id, &gate, &halted);
    for (uint32_t i = nr->bonds_up[BOND_SLEEPS]; i; i = a->bonds.at[i].next_up)
        awaits += a->bonds.at[i].awaited;
    if (nr->awaits != awaits)
        return broken(e, 5, "what its next run awaits is counted wrong", id);
    if (nr->target == TARGET_ABSENT && nr->bonds_up[BOND_LEAVES])
        return broken(e, 16, "it goes, and has not let go of another", id);
    if (nr->complete != (passed == nr->n_tasks) || nr->gate != gate || nr->halted != halted)
        return broken(e, 5, "what it needs is counted wrong", id);
    if (noderole_in_service(nr->state, nr->target) && out > 0)
        return broken(e, 1, "in service with a parent that is not", id);
    if (noderole_derive(a, id) != nr->state)
        return broken(e, 4, "state differs from its derivation", id);
    return 0;
}

static int check_sums(const struct anneal *a, const struct sums *s, struct err *e)
{
    for (uint32_t i = 1; i < a->spans.n; i++) {
        const struct span *sp = &a->spans.at[i];
        if (sp->left != s->span_left[i] || sp->begun != s->span_begun[i] ||
            sp->live != s->span_live[i])
            return broken(e, 2, "counters of a span", i);
        if (sp->live > 0 && !sp->held)
            return broken(e, 2, "a span runs without its pools", i);
        if (sp->held && sp->live == 0 &&
            (sp->left == 0 || (sp->held == SPAN_OVER && sp->begun == 0)))
            return broken(e, 2, "a span is over and keeps its pools", i);
        for (uint32_t k = 0; sp->held && k < sp->n_pools; k++)
            s->pool_taken[sp->pools[k]]++;
    }
    for (uint32_t id = 1; id < a->noderoles.n; id++)
        s->group_failed[a->noderoles.at[id].group] += a->noderoles.at[id].failed > 0 ||
                                                      a->noderoles.at[id].dep_failed > 0;
    for (uint32_t i = 1; i < a->groups.n; i++)
        if (a->groups.at[i].failed != s->group_failed[i] ||
            a->groups.at[i].beyond != (a->groups.at[i].stops
                                           ? rolled_beyond(a, i)
                                           : s->group_failed[i] > a->groups.at[i].may_fail))
            return broken(e, 4, "failures of a group", i);
    for (uint32_t i = 1; i < a->pools.n; i++)
        if (a->pools.at[i].taken != s->pool_taken[i])
            return broken(e, 2, "use of a pool", i);
    for (uint32_t i = 1; i < a->jigs.n; i++)
        if (a->jigs.at[i].taken != s->jig_taken[i])
            return broken(e, 2, "use of a jig", i);
    for (uint32_t i = 1; i < a->nodes.n; i++)
        if (a->nodes.at[i].used != s->node_used[i])
            return broken(e, 2, "use of a node's slots", i);
    if (a->capacity_used != s->capacity_used || a->live_n != s->live)
        return broken(e, 2, "use of workers' slots", a->capacity_used);
    for (uint32_t i = 1; i < a->tenants.n; i++)
        if (a->tenants.at[i].used != s->tenant_used[i])
            return broken(e, 2, "use of a tenant's share", i);
    return 0;
}

static int check_operations(const struct anneal *a, const struct sums *s, struct err *e)
{
    uint64_t totals[TASK_STATE_COUNT] = {0};
    for (uint32_t op = 1; op < a->ops.n; op++) {
        if (a->ops.at[op].live != s->op_live[op])
            return broken(e, 4, "open attempts of an operation", op);
        for (int st = 0; st < TASK_STATE_COUNT; st++) {
            totals[st] += s->op_counts[op][st];
            if (a->ops.at[op].counts[st] != s->op_counts[op][st])
                return broken(e, 4, "counts of an operation", op);
        }
    }
    for (int st = 0; st < TASK_STATE_COUNT; st++)
        if (a->totals_task[st] != totals[st])
            return broken(e, 4, "count of all tasks in a state", (uint32_t)st);
    return 0;
}

static bool lane_has_work(const struct anneal *a, uint32_t id)
{
    const struct lane *l = &a->lanes.at[id];
    for (size_t i = 0; i < l->n; i++)
        if (a->tasks[l->heap[i].task].lane == id)
            return true;
    return false;
}

/* The head of each open lane is among the candidates of its operation: nobody is forgotten while
 * all workers are busy. */
static int check_lanes(const struct anneal *a, uint8_t *offered, struct err *e)
{
    for (uint32_t op = 1; op < a->ops.n; op++)
        for (size_t i = 0; i < a->ops.at[op].heap_n; i++) {
            struct candidate c = a->ops.at[op].heap[i];
            const struct lane *l = &a->lanes.at[c.lane];
            if (l->op == op && l->n > 0 && l->heap[0].task == c.key.task &&
                l->heap[0].cohort == c.key.cohort)
                offered[c.lane] = a->ops.at[op].listed;
        }
    for (uint32_t id = 1; id < a->lanes.n; id++)
        if (!offered[id] && lane_has_work(a, id) && schedule_lane_open(a, id) &&
            !a->ops.at[a->lanes.at[id].op].held)
            return broken(e, 8, "an open lane is not offered", a->lanes.at[id].heap[0].task);
    return 0;
}

/* Every READY task waits for something that can be named: else it would have started. */
static int check_waits(const struct anneal *a, struct err *e)
{
    struct why why[4];
    if (a->capacity_used >= a->capacity)
        return 0;
    for (uint32_t t = 1; t < a->task_end; t++)
        if (a->task_state[t] == TASK_READY &&
            (anneal_why_task(a, t, why, 4) == 0 || why[0].rule == WHY_TURN))
            return broken(e, 8, "READY, everything free, and not started", t);
    return 0;
}

/* One block for all sums: this runs after every step of a simulation. */
static void *sums_make(const struct anneal *a, struct sums *s)
{
    size_t numbers = a->groups.n + a->nodes.n + a->pools.n + a->jigs.n + a->tenants.n +
                     3 * a->spans.n + a->ops.n * (TASK_STATE_COUNT + 1);
    uint32_t *at = xcalloc(numbers + a->lanes.n / sizeof *at + 1, sizeof *at), *block = at;
    *s = (struct sums){.group_failed = at};
    s->node_used = at += a->groups.n;
    s->pool_taken = at += a->nodes.n;
    s->jig_taken = at += a->pools.n;
    s->tenant_used = at += a->jigs.n;
    s->span_left = at += a->tenants.n;
    s->span_begun = at += a->spans.n;
    s->span_live = at += a->spans.n;
    s->op_live = at += a->spans.n;
    s->op_counts = (void *)(at += a->ops.n);
    s->lane_offered = (void *)(at + a->ops.n * TASK_STATE_COUNT);
    return block;
}

int anneal_check(const struct anneal *a, struct err *e)
{
    struct sums s;
    void *block = sums_make(a, &s);
    int r = a->illegal ? broken(e, 4, "illegal transitions", (uint32_t)a->illegal) : 0;
    for (uint32_t t = 1; r >= 0 && t < a->task_end; t++)
        r = check_task(a, t, &s, e);
    for (uint32_t i = 1; r >= 0 && i < a->noderoles.n; i++)
        if (noderole_exists(a, i))
            r = check_noderole(a, i, e);
    if (r >= 0)
        r = check_sums(a, &s, e);
    if (r >= 0)
        r = check_operations(a, &s, e);
    if (r >= 0)
        r = check_waits(a, e);
    if (r >= 0)
        r = check_lanes(a, s.lane_offered, e);
    free(block);
    return r;
}
