/* extend.c - adding a plan to the live graph, whole or not at all
 *
 * Everything is checked before anything changes: ids in their reserved ranges, references that
 * exist, children above their parents, order edges without a cycle.  Cost: O(plan), whatever is
 * there already.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>
#include <string.h>

void extend_tasks(struct anneal *a, uint32_t n)
{
    size_t want = (size_t)a->task_end + n;
    if (want > a->task_cap) {
        size_t cap = a->task_cap;
        a->tasks = vec_grow_(a->tasks, &cap, want, sizeof *a->tasks);
        a->unmet = xrealloc(a->unmet, cap, sizeof *a->unmet);
        a->task_state = xrealloc(a->task_state, cap, 1);
        a->task_cap = cap;
    }
    memset(a->tasks + a->task_end, 0, n * sizeof *a->tasks);
    memset(a->unmet + a->task_end, 0, n * sizeof *a->unmet);
    memset(a->task_state + a->task_end, 0, n);
    a->task_end += n;
}

void extend_on_node(struct anneal *a, uint32_t id)
{
    struct node *n = &a->nodes.at[a->noderoles.at[id].node];
    if (a->noderoles.at[id].node == 0)
        return;
    if (n->last_noderole)
        a->noderoles.at[n->last_noderole].next_on_node = id;
    else
        n->first_noderole = id;
    n->last_noderole = id;
    n->noderoles++;
}

static int check_quorums(const struct anneal *a, const struct plan *p, struct err *e)
{
    int r = 0;
    for (uint32_t i = 0; i < p->n_noderoles && r >= 0; i++)
        r = quorum_check_plan(a, p, p->base_noderole + i, p->noderoles[i].quorums,
                              p->noderoles[i].n_quorums, e);
    return r;
}

static int check_noderoles(const struct anneal *a, const struct plan *p, uint32_t *ret_next_task,
                           struct err *e)
{
    uint32_t end = p->base_noderole + p->n_noderoles, next_task = 0;
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        if (r->node != 0 &&
            (r->node >= a->nodes.n || !a->nodes.at[r->node].exists || a->nodes.at[r->node].gone))
            return err_set(e, ERR_NOT_FOUND, "plan: noderole %u names no live node", i);
        if (r->node == 0 && r->n_parents > 0)
            return err_set(e, ERR_INVALID, "plan: noderole %u has no node, but %u parents", i,
                           r->n_parents);
        if (r->group > p->n_groups)
            return err_set(e, ERR_INVALID, "plan: noderole %u is in no group %u", i, r->group);
        if (r->n_tasks > PLAN_MOST_TASKS || r->first_task != next_task)
            return err_set(e, ERR_INVALID, "plan: noderole %u has %u tasks at %u", i, r->n_tasks,
                           r->first_task);
        /* Children look at their own parents only: nothing may hide behind one that never waits. */
        if (r->n_tasks == 0 && r->n_parents > 0)
            return err_set(e, ERR_INVALID, "plan: noderole %u has no tasks, but %u parents", i,
                           r->n_parents);
        next_task += r->n_tasks;
        for (uint32_t k = 0; k < r->n_parents; k++) {
            uint32_t parent = r->parents[k];
            if (parent == 0 || parent >= end || parent == p->base_noderole + i ||
                (parent < p->base_noderole && !noderole_exists(a, parent)))
                return err_set(e, ERR_INVALID, "plan: noderole %u has no parent %u", i, parent);
            uint32_t cohort = parent >= p->base_noderole
                                  ? p->noderoles[parent - p->base_noderole].cohort
                                  : a->noderoles.at[parent].cohort;
            uint32_t node = parent >= p->base_noderole
                                ? p->noderoles[parent - p->base_noderole].node
                                : a->noderoles.at[parent].node;
            if (node == 0)
                return err_set(e, ERR_INVALID, "plan: noderole %u needs %u, which has no node", i,
                               parent);
            if (cohort >= r->cohort)
                return err_set(e, ERR_CYCLE, "plan: noderole %u is not above its parent %u", i,
                               parent);
        }
    }
    *ret_next_task = next_task;
    return check_quorums(a, p, e);
}

static const struct plan_def *fresh_def(const struct plan *p, uint32_t def)
{
    return def >= p->base_def ? &p->defs[def - p->base_def] : NULL;
}

bool extend_def_runs(const struct anneal *a, const struct plan *p, uint32_t def)
{
    return fresh_def(p, def) ? fresh_def(p, def)->jig > 0 : a->defs.at[def].jig > 0;
}

/* Its rule fits what it has and where it is. */
static int check_rule(const struct anneal *a, const struct plan *p, uint32_t i, struct err *e)
{
    const struct plan_task *t = &p->tasks[i];
    uint32_t nr = t->noderole - p->base_noderole;
    uint32_t node = nr < p->n_noderoles ? p->noderoles[nr].node : a->noderoles.at[t->noderole].node;
    if (t->rule >= TASK_RULE_COUNT)
        return err_set(e, ERR_INVALID, "plan: task %u has no rule %u", i, t->rule);
    if (!task_rule_runs(t->rule))
        return !t->span ? 0 : err_set(e, ERR_INVALID, "plan: task %u is passive and in a span", i);
    if (!extend_def_runs(a, p, t->def))
        return err_set(e, ERR_INVALID, "plan: task %u runs, and nothing executes it", i);
    const struct plan_def *fresh = fresh_def(p, t->def);
    if (!extend_runs_on(node, 1, fresh ? fresh->flags : a->defs.at[t->def].flags))
        return err_set(e, ERR_INVALID, "plan: task %u runs, and its noderole has no node", i);
    if (t->span && node == 0)
        return err_set(e, ERR_INVALID, "plan: task %u has no node and is in a span", i);
    return 0;
}

static int check_tasks(const struct anneal *a, const struct plan *p, struct err *e)
{
    uint32_t end = p->base_task + p->n_tasks, defs = p->base_def + p->n_defs, change = 0;
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const struct plan_task *t = &p->tasks[i];
        uint32_t nr = t->noderole - p->base_noderole;
        while (change < p->n_changes &&
               i >= p->changes[change].first_task + p->changes[change].n_tasks)
            change++;
        bool own = nr < p->n_noderoles
                       ? i - p->noderoles[nr].first_task < p->noderoles[nr].n_tasks
                       : change < p->n_changes && t->noderole == p->changes[change].noderole;
        if (!own)
            return err_set(e, ERR_INVALID, "plan: task %u is not among its noderole's", i);
        if (t->def == 0 || t->def >= defs || t->span >= p->base_span + p->n_spans)
            return err_set(e, ERR_INVALID, "plan: task %u has no definition %u or span %u", i,
                           t->def, t->span);
        int r = check_rule(a, p, i, e);
        if (r < 0)
            return r;
        for (uint32_t k = 0; k < t->n_deps; k++)
            if (t->deps[k] == 0 || t->deps[k] >= end)
                return err_set(e, ERR_INVALID, "plan: task %u depends on no task %u", i,
                               t->deps[k]);
    }
    for (uint32_t i = 0; i < p->n_defs; i++)
        if (p->defs[i].jig && (p->defs[i].jig >= a->jigs.n || !a->jigs.at[p->defs[i].jig].exists))
            return err_set(e, ERR_NOT_FOUND, "plan: definition %u names no jig", i);
    for (uint32_t i = 0; i < p->n_spans; i++)
        for (uint32_t k = 0; k < p->spans[i].n_pools; k++)
            if (p->spans[i].pools[k] >= p->base_pool + p->n_pools ||
                (p->spans[i].pools[k] < a->pools.n && !a->pools.at[p->spans[i].pools[k]].exists))
                return err_set(e, ERR_NOT_FOUND, "plan: span %u names no pool", i);
    for (uint32_t i = 0; i < p->n_sizes; i++)
        if (p->sizes[i].pool >= a->pools.n || !a->pools.at[p->sizes[i].pool].exists)
            return err_set(e, ERR_NOT_FOUND, "plan: there is no pool %u", p->sizes[i].pool);
    return 0;
}

/* Is it the plan's own, or one that the plan takes back while it is on its way out?  That one is
 * needed by nobody who stays, but those who go as well may still have the need. */
static bool joins(const struct anneal *a, const struct plan *p, uint32_t child, uint32_t parent)
{
    const struct plan_change *own = plan_change_find(p, child), *back;
    uint32_t n;
    if (parent >= p->base_noderole)
        return parent - p->base_noderole < p->n_noderoles &&
               p->noderoles[parent - p->base_noderole].node > 0;
    if (!noderole_exists(a, parent) || parent == child || a->noderoles.at[parent].node == 0 ||
        a->noderoles.at[parent].target != TARGET_ABSENT)
        return false;
    back = plan_change_find(p, parent);
    const uint32_t *parents = graph_in(&a->need, child, &n);
    return back && (back->what & PLAN_C_TASKS) && !plan_lists(parents, n, parent) &&
           !late_sleeps(a, parent, child) && !(own && plan_lists(own->gains, own->n_gains, parent));
}

static int check_needs(const struct anneal *a, const struct plan *p, struct err *e)
{
    for (uint32_t i = 0; i < p->n_needs; i++) {
        uint32_t child = p->needs[i].child;
        if (!noderole_exists(a, child) || a->noderoles.at[child].node == 0 ||
            (a->noderoles.at[child].n_tasks == 0 &&
             a->noderoles.at[child].target != TARGET_ABSENT) ||
            !joins(a, p, child, p->needs[i].parent))
            return err_set(e, ERR_INVALID, "plan: need %u joins nothing", i);
    }
    return 0;
}

/* One that comes back is no part of what change_await() knows as new. */
static void add_needs(struct anneal *a, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_needs; i++) {
        const struct plan_need *need = &p->needs[i];
        const struct plan_change *c = plan_change_find(p, need->child);
        quorum_join(a, need->parent, need->child, need->like);
        late_add(a, need->parent, need->child);
        if (need->parent < p->base_noderole && c && c->n_losses > 0 && !(c->what & PLAN_C_REMOVE))
            late_await(a, need->parent, need->child);
    }
}

static int check_waits(const struct anneal *a, const struct plan *p, struct err *e)
{
    for (uint32_t i = 0; i < p->n_waits; i++) {
        uint32_t goer = p->waits[i].goer, holder = p->waits[i].holder;
        const struct plan_change *c = plan_change_find(p, goer);
        if (!c || !(c->what & PLAN_C_REMOVE))
            return err_set(e, ERR_INVALID, "plan: noderole %u waits, and does not go", goer);
        if (goer == holder ||
            (holder < p->base_noderole ? !noderole_exists(a, holder)
                                       : holder - p->base_noderole >= p->n_noderoles))
            return err_set(e, ERR_INVALID, "plan: noderole %u waits for nobody", goer);
    }
    return 0;
}

/* Are tasks listed after what they wait for, and noderoles after their parents?  Planners write
 * them so, and then nothing can go round in a circle. */
static bool listed_in_order(const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_tasks; i++)
        for (uint32_t d = 0; d < p->tasks[i].n_deps; d++)
            if (p->tasks[i].deps[d] >= p->base_task + i)
                return false;
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        for (uint32_t k = 0; k < p->noderoles[i].n_parents; k++)
            if (p->noderoles[i].parents[k] >= p->base_noderole + i)
                return false;
    return true;
}

struct order_graph { /* the tasks of a plan, then its noderoles: complete after all their tasks */
    VEC(uint32_t) first, deps;
};

/* What it waits for in the plan: order edges; for a first task, that the parents are complete. */
static void order_task(struct order_graph *g, const struct plan *p, uint32_t i)
{
    const struct plan_task *t = &p->tasks[i];
    uint32_t owner = t->noderole - p->base_noderole;
    bool first = owner < p->n_noderoles && !(p->noderoles[owner].flags & NODEROLE_F_PHASED);
    vec_push(&g->first, (uint32_t)g->deps.n);
    for (uint32_t d = 0; d < t->n_deps; d++) {
        uint32_t dep = t->deps[d] - p->base_task;
        if (dep >= p->n_tasks)
            continue; /* lives already */
        vec_push(&g->deps, dep);
        first &= p->tasks[dep].noderole != t->noderole;
    }
    for (uint32_t k = 0; first && k < p->noderoles[owner].n_parents; k++) {
        uint32_t parent = p->noderoles[owner].parents[k] - p->base_noderole;
        if (parent < p->n_noderoles)
            vec_push(&g->deps, p->n_tasks + parent);
    }
}

static int check_order(const struct plan *p, struct err *e)
{
    struct order_graph g = {0};
    uint32_t n = p->n_tasks + p->n_noderoles, cycle_n = 0;
    if (listed_in_order(p))
        return 0;
    for (uint32_t i = 0; i < p->n_tasks; i++)
        order_task(&g, p, i);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        vec_push(&g.first, (uint32_t)g.deps.n);
        for (uint32_t t = 0; t < p->noderoles[i].n_tasks; t++)
            vec_push(&g.deps, p->noderoles[i].first_task + t);
    }
    vec_push(&g.first, (uint32_t)g.deps.n);
    uint32_t *order = xcalloc(n, sizeof *order), *cycle = xcalloc(n, sizeof *cycle);
    int r = 0;
    if (!graph_sort(n, g.first.at, g.deps.at, order, cycle, &cycle_n))
        r = err_set(e, ERR_CYCLE, "plan: %s %u waits for itself through %u others",
                    cycle[0] < p->n_tasks ? "task" : "noderole",
                    cycle[0] < p->n_tasks ? cycle[0] : cycle[0] - p->n_tasks, cycle_n - 1);
    vec_done(&g.first);
    vec_done(&g.deps);
    free(order);
    free(cycle);
    return r;
}

static void add_defs_pools_spans(struct anneal *a, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_defs; i++) {
        const struct plan_def *d = &p->defs[i];
        vec_push(&a->defs, ((struct def){d->digest, d->backoff_ms, d->timeout_ms, d->deadline_ms,
                                         d->jig, d->retries, d->repeat, d->hold, d->flags}));
    }
    for (uint32_t i = 0; i < p->n_pools; i++) {
        vec_push(&a->pools, ((struct pool){.exists = true, .size = p->pools[i].size}));
        change_add(a, ROWS_POOL, p->base_pool + i, 0, 0, 0);
    }
    for (uint32_t i = 0; i < p->n_sizes; i++) {
        a->pools.at[p->sizes[i].pool].size = p->sizes[i].size;
        change_add(a, ROWS_POOL, p->sizes[i].pool, 0, 0, 0);
        schedule_pool(a, p->sizes[i].pool);
    }
    for (uint32_t i = 0; i < p->n_groups; i++)
        tolerance_add(a, p->groups[i].may_fail, p->groups[i].stops);
    for (uint32_t i = 0; i < p->n_spans; i++) {
        uint32_t n = p->spans[i].n_pools;
        uint32_t *pools = arena_new(&a->span_mem, uint32_t, n ? n : 1);
        if (n)
            memcpy(pools, p->spans[i].pools, n * sizeof *pools);
        vec_push(&a->spans, ((struct span){.pools = pools, .n_pools = n}));
    }
}

/* The id of a group of a plan whose groups are there. */
uint32_t extend_group(const struct anneal *a, const struct plan *p, uint32_t group)
{
    return group ? (uint32_t)a->groups.n - p->n_groups + group - 1 : 0;
}

static void add_noderoles(struct anneal *a, const struct plan *p, uint32_t op)
{
    uint32_t *first = xcalloc((size_t)p->n_noderoles + 1, sizeof *first), edges = 0;
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        first[i] = edges;
        edges += p->noderoles[i].n_parents;
    }
    first[p->n_noderoles] = edges;
    uint32_t *deps = xcalloc(edges ? edges : 1, sizeof *deps);
    vec_reserve(&a->noderoles, a->noderoles.n + p->n_noderoles);
    vec_reserve(&a->ops.at[op].noderoles, a->ops.at[op].noderoles.n + p->n_noderoles);
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        const struct plan_noderole *r = &p->noderoles[i];
        uint32_t id = p->base_noderole + i;
        if (r->n_parents)
            memcpy(deps + first[i], r->parents, r->n_parents * sizeof *deps);
        struct noderole *nr = vec_add(&a->noderoles);
        nr->node = r->node;
        nr->op = op;
        nr->cohort = r->cohort;
        nr->flags = r->flags;
        nr->target = r->target;
        nr->data = r->data;
        nr->generation = 1;
        nr->incarnation = 1;
        nr->first_task = p->base_task + r->first_task;
        nr->n_tasks = (uint16_t)r->n_tasks;
        nr->complete = r->n_tasks == 0;
        nr->state = NODEROLE_BLOCKED;
        extend_on_node(a, id);
        vec_push(&a->ops.at[op].noderoles, id);
        if (r->group)
            tolerance_join(a, id, extend_group(a, p, r->group));
    }
    graph_extend(&a->need, p->n_noderoles, first, deps);
    a->totals_noderole[NODEROLE_BLOCKED] += p->n_noderoles;
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        quorum_make(a, p->base_noderole + i, p->noderoles[i].quorums, p->noderoles[i].n_quorums);
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            gate_edge(a, deps[k], p->base_noderole + i, true);
    }
    free(first);
    free(deps);
}

static void add_tasks(struct anneal *a, const struct plan *p)
{
    uint32_t *first = xcalloc((size_t)p->n_tasks + 1, sizeof *first), edges = 0;
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        first[i] = edges;
        edges += p->tasks[i].n_deps;
    }
    first[p->n_tasks] = edges;
    uint32_t *deps = xcalloc(edges ? edges : 1, sizeof *deps);
    extend_tasks(a, p->n_tasks);
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        const struct plan_task *t = &p->tasks[i];
        struct task *task = &a->tasks[p->base_task + i];
        task->noderole = t->noderole;
        task->def = t->def;
        task->weight = t->weight;
        task->span = t->span;
        task->flags = (uint8_t)(t->rule << TASKF_RULE_SHIFT);
        if (t->rule == RULE_KEEP || t->rule == RULE_ONCE)
            a->noderoles.at[t->noderole].mode |= MODE_PLANNED;
        if (task->span)
            a->spans.at[task->span].left++;
        if (t->n_deps)
            memcpy(deps + first[i], t->deps, t->n_deps * sizeof *deps);
    }
    graph_extend(&a->order, p->n_tasks, first, deps);
    for (uint32_t i = 0; i < p->n_tasks; i++) {
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            a->unmet[p->base_task + i] += !task_met(a, deps[k], p->base_task + i);
        gate_mark_first(a, p->base_task + i);
        a->unmet[p->base_task + i] += gate_shuts(a, p->base_task + i);
    }
    a->totals_task[TASK_PENDING] += p->n_tasks;
    free(first);
    free(deps);
}

int anneal_plan_check(const struct anneal *a, const struct plan *p, struct err *e)
{
    uint32_t next_task;
    int r;
    if (p->base_task != a->task_end || p->base_noderole != a->noderoles.n ||
        p->base_def != a->defs.n || p->base_span != a->spans.n ||
        (p->n_pools > 0 && p->base_pool != a->pools.n))
        return err_set(e, ERR_CONFLICT, "plan: its ids are not the next ones");
    if ((r = check_noderoles(a, p, &next_task, e)) < 0 || (r = check_needs(a, p, e)) < 0 ||
        (r = change_check(a, p, &next_task, e)) < 0 || (r = check_waits(a, p, e)) < 0 ||
        (r = check_tasks(a, p, e)) < 0 || (r = check_order(p, e)) < 0)
        return r;
    if (next_task != p->n_tasks)
        return err_set(e, ERR_INVALID, "plan: %u tasks belong to no noderole",
                       p->n_tasks - next_task);
    return 0;
}

int extend_apply(struct anneal *a, const struct event *ev, struct err *e)
{
    const struct plan *p = ev->plan;
    if (!p)
        return err_set(e, ERR_INVALID, "no plan");
    if (ev->op == 0 || ev->op >= a->ops.n || !a->ops.at[ev->op].exists)
        return err_set(e, ERR_NOT_FOUND, "plan: no operation %u", ev->op);
    if (a->ops.at[ev->op].state != OPERATION_RUNNING)
        return err_set(e, ERR_CONFLICT, "plan: operation %u has ended", ev->op);
    int r = ev->extra ? operation_supersede_check(a, ev->extra, ev->op, e) : 0;
    if (r < 0 || (r = anneal_plan_check(a, p, e)) < 0)
        return r;
    add_defs_pools_spans(a, p);
    struct change_past *past = change_begin(a, p, ev->op);
    add_noderoles(a, p, ev->op);
    add_tasks(a, p);
    a->ops.at[ev->op].counts[TASK_PENDING] += p->n_tasks;
    change_end(a, p, past);
    free(past);
    add_needs(a, p);
    change_await(a, p);
    leave_plan(a, p, ev->op);
    for (uint32_t i = 0; i < p->n_noderoles; i++)
        noderole_derive_later(a, p->base_noderole + i);
    for (uint32_t i = p->n_tasks; i > 0; i--) /* the list is worked off from its end */
        if (a->unmet[p->base_task + i - 1] == 0)
            task_settle_later(a, p->base_task + i - 1);
        else
            task_join_failure(a, p->base_task + i - 1);
    /* In the same step: moved on its own, the rest of the old one might end the new one at once,
     * before the plan is there. */
    if (ev->extra)
        operation_supersede(a, ev->extra, ev->op);
    operation_touch(a, ev->op);
    return 0;
}
