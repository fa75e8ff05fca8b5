/* schedule.c - which task starts next
 *
 * Start order (docs/rfc/01-engine.md, section 4): class, then tenants and operations by how much
 * they were served, then weight, cohort and id; a tenant that has its share of workers' slots is
 * passed over.  Each decision is one pop from the candidates of
 * one operation; what cannot start waits in the lane of what it lacks and costs nothing until that
 * is to be had again. Invariant at the end of schedule_run(): no task can start, or all worker
 * slots are taken, or all of its tenant's share.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

static bool schedule_node_open(const struct anneal *a, const struct node *n, enum lane_kind kind)
{
    if (!n->available || n->gone)
        return false;
    if (kind == LANE_HOLDER)
        return true;
#ifndef ANNEAL_DEFECT_NODE
    if (n->used >= n->slots)
        return false;
#else
    if (n->used > n->slots)
        return false;
#endif
    if (a->freeze_on_error && n->errors > 0 && n != &a->nodes.at[0])
        return false;
    return kind == LANE_OUTSIDE || n->alive == ALIVE_ALIVE;
}

/* A task asked again keeps its place: it may hold the node, and one that took its node down must be
 * heard while the node is away. */
enum lane_kind schedule_home(const struct anneal *a, uint32_t t)
{
    const struct task *task = &a->tasks[t];
    const struct def *d = &a->defs.at[task->def];
    if (task->live && (a->lives.at[task->live].flags & LIVEF_NODE))
        return LANE_HOLDER;
    if ((d->flags & DEF_F_OUTSIDE) || (task->live && (d->flags & DEF_F_TAKES_DOWN)))
        return LANE_OUTSIDE;
    return LANE_INSIDE;
}

bool schedule_lane_open(const struct anneal *a, uint32_t lane)
{
    const struct lane *l = &a->lanes.at[lane];
    switch (l->kind) {
    case LANE_POOL: return limits_pool_room(&a->pools.at[l->owner]);
    case LANE_JIG: return limits_jig_room(&a->jigs.at[l->owner]);
    default: return schedule_node_open(a, &a->nodes.at[l->owner], l->kind);
    }
}

/* How many places workers offer, in all, to its tenant and for its jig, does not matter: it has the
 * place of the one before it.  They may be fewer by now, none at all after a restart; what has
 * begun goes on, as everything else that runs. */
bool schedule_may_go_on(const struct anneal *a, uint32_t t)
{
    const struct task *task = &a->tasks[t];
    uint32_t node = a->noderoles.at[task->noderole].node;
    return !a->ops.at[task_op(a, t)].held && (task->span == 0 || a->spans.at[task->span].held) &&
           a->jigs.at[a->defs.at[task->def].jig].active &&
           schedule_node_open(a, &a->nodes.at[node], schedule_home(a, t));
}

static void list_op(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    if (o->listed || o->held)
        return;
    o->listed = true;
    vec_push(&a->tenants.at[o->tenant].ready[o->class], op);
}

/* Is this entry of a lane its task's own?  A task that left, or whose cohort rose, left a ghost
 * behind. */
static bool entry_counts(const struct anneal *a, uint32_t lane, struct start_key k)
{
    return a->tasks[k.task].lane == lane && k.cohort == start_key_of(a, k.task).cohort;
}

/* The head of an open lane becomes a candidate; ghosts at the head are cleared away first. */
static void offer(struct anneal *a, uint32_t id)
{
    struct lane *l = &a->lanes.at[id];
    while (l->n > 0 && !entry_counts(a, id, l->heap[0]))
        lane_pop(l);
    if (l->n == 0 || !schedule_lane_open(a, id))
        return;
    lane_candidate_push(&a->ops.at[l->op], (struct candidate){l->heap[0], id});
    list_op(a, l->op);
}

static void queue_in(struct anneal *a, uint32_t t, uint32_t id)
{
    struct lane *l = &a->lanes.at[id];
    struct start_key k = start_key_of(a, t);
    a->tasks[t].lane = id;
    lane_push(l, k);
    if (l->heap[0].task == t)
        offer(a, id);
}

void schedule_enqueue(struct anneal *a, uint32_t t)
{
    if (a->tasks[t].lane)
        return;
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    queue_in(a, t, lane_find(a, schedule_home(a, t), nr->node, nr->op));
}

static void offer_all(struct anneal *a, uint32_t first)
{
    for (uint32_t id = first; id; id = a->lanes.at[id].next_of_owner)
        if (!a->ops.at[a->lanes.at[id].op].held)
            offer(a, id);
}

void schedule_node(struct anneal *a, uint32_t node)
{
    offer_all(a, a->nodes.at[node].lanes);
}

void schedule_pool(struct anneal *a, uint32_t pool)
{
    offer_all(a, a->pools.at[pool].lanes);
}

void schedule_jig(struct anneal *a, uint32_t jig)
{
    offer_all(a, a->jigs.at[jig].lanes);
}

void schedule_op(struct anneal *a, uint32_t op)
{
    for (uint32_t id = a->ops.at[op].lanes; id; id = a->lanes.at[id].next_of_op)
        offer(a, id);
}

static uint64_t max_u64(uint64_t x, uint64_t y)
{
    return x > y ? x : y;
}

static void unlist_op(struct tenant *tn, struct op *o, int class, size_t i)
{
    o->listed = false;
    tn->ready[class].at[i] = tn->ready[class].at[--tn->ready[class].n];
}

/* The operation whose turn it is; 0 if none has candidates. */
static uint32_t pick_op(struct anneal *a)
{
    for (int class = 0; class < CLASS_COUNT; class ++) {
        struct tenant *best = NULL;
        for (size_t i = 1; i < a->tenants.n; i++) {
            struct tenant *tn = &a->tenants.at[i];
            if (tn->ready[class].n > 0 && limits_tenant_room(tn) &&
                (!best ||
                 max_u64(tn->served, a->tenant_floor) < max_u64(best->served, a->tenant_floor)))
                best = tn;
        }
        if (!best)
            continue;
        uint32_t pick = 0;
        uint64_t pick_served = 0;
        for (size_t i = 0; i < best->ready[class].n; i++) {
            uint32_t op = best->ready[class].at[i];
            uint64_t served = max_u64(a->ops.at[op].served, best->floor);
            if (!pick || served < pick_served || (served == pick_served && op < pick)) {
                pick = op;
                pick_served = served;
            }
        }
        return pick;
    }
    return 0;
}

static void unlist(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    struct tenant *tn = &a->tenants.at[o->tenant];
    for (size_t i = 0; i < tn->ready[o->class].n; i++)
        if (tn->ready[o->class].at[i] == op) {
            unlist_op(tn, o, o->class, i);
            return;
        }
}

void schedule_count(struct anneal *a, uint32_t op)
{
    struct op *o = &a->ops.at[op];
    struct tenant *tn = &a->tenants.at[o->tenant];
    tn->floor = max_u64(o->served, tn->floor);
    o->served = tn->floor + 1;
    a->tenant_floor = max_u64(tn->served, a->tenant_floor);
    tn->served = a->tenant_floor + 1;
    operation_changed(a, op);
    change_add(a, ROWS_TENANT, o->tenant, 0, 0, 0);
}

/* Its span has its pools now, so others of the span need not wait for them any more: they would
 * wait for what the span itself holds. */
static void free_from_pools(struct anneal *a, uint32_t t)
{
    uint32_t span = a->tasks[t].span, node = a->noderoles.at[a->tasks[t].noderole].node;
    if (a->spans.at[span].left <= 1)
        return;
    for (uint32_t id = a->nodes.at[node].first_noderole; id;
         id = a->noderoles.at[id].next_on_node) {
        const struct noderole *nr = &a->noderoles.at[id];
        for (uint32_t k = nr->first_task; k < nr->first_task + nr->n_tasks; k++) {
            struct task *task = &a->tasks[k];
            if (task->span != span || !task->lane || a->lanes.at[task->lane].kind != LANE_POOL)
                continue;
            task->lane = 0;
            schedule_enqueue(a, k);
        }
    }
}

/* Takes the head of lane `id` as far as it goes: started, or waiting where it lacks something. */
static void advance_head(struct anneal *a, uint32_t id, uint32_t t)
{
    const struct noderole *nr = &a->noderoles.at[a->tasks[t].noderole];
    struct task *task = &a->tasks[t];
    enum lane_kind home = schedule_home(a, t);
    uint32_t op = nr->op, full = 0, jig = a->defs.at[task->def].jig;
    uint8_t kind = a->lanes.at[id].kind;
    bool ask = a->task_state[t] == TASK_WAITING, held = a->spans.at[task->span].held;
    lane_pop(&a->lanes.at[id]);
    task->lane = 0;
    if (!ask && a->task_state[t] != TASK_READY)
        return offer(a, id);
    if (kind < LANE_POOL ? kind != home : !schedule_node_open(a, &a->nodes.at[nr->node], home)) {
        schedule_enqueue(a, t); /* back to its node */
    } else if (!limits_jig_room(&a->jigs.at[jig])) {
        queue_in(a, t, lane_find(a, LANE_JIG, jig, op));
    } else if (!limits_span_take(a, task->span, &full)) {
        queue_in(a, t, lane_find(a, LANE_POOL, full, op));
    } else {
        if (task->span && !held)
            free_from_pools(a, t);
        schedule_count(a, op);
        if (ask)
            attempt_ask(a, t);
        else
            attempt_start(a, t);
    }
    offer(a, id);
}

void schedule_run(struct anneal *a)
{
    while (a->capacity_used < a->capacity) {
        uint32_t op = pick_op(a);
        if (!op)
            return;
        struct op *o = &a->ops.at[op];
        if (o->held || o->heap_n == 0) {
            unlist(a, op);
            continue;
        }
        struct candidate c = lane_candidate_pop(o);
        struct lane *l = &a->lanes.at[c.lane];
        if (l->op != op || l->n == 0 || l->heap[0].task != c.key.task ||
            l->heap[0].cohort != c.key.cohort || !schedule_lane_open(a, c.lane))
            continue; /* it was a candidate once */
        if (!entry_counts(a, c.lane, l->heap[0])) {
            offer(a, c.lane);
            continue;
        }
        advance_head(a, c.lane, c.key.task);
    }
}
