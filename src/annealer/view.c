/* view.c - reading the engine: copies of what others may see */
/* SPDX-License-Identifier: Apache-2.0 */
#include "annealer/annealer_i.h"

#include <stdlib.h>

bool anneal_task(const struct anneal *a, uint32_t id, struct task_view *v)
{
    if (!task_exists(a, id))
        return false;
    const struct task *t = &a->tasks[id];
    const struct noderole *nr = &a->noderoles.at[t->noderole];
    *v = (struct task_view){.id = id,
                            .noderole = t->noderole,
                            .node = nr->node,
                            .operation = nr->op,
                            .def = t->def,
                            .weight = t->weight,
                            .span = t->span,
                            .attempt = t->attempt,
                            .tries = t->tries,
                            .unmet = a->unmet[id],
                            .state = a->task_state[id],
                            .reason = t->reason,
                            .rule = (uint8_t)task_rule(a, id),
                            .passive = task_passive(a, id),
                            .done = t->done_digest != 0 || task_rule(a, id) == RULE_KEEP,
                            .undone = a->defs.at[t->def].flags & DEF_F_UNDONE,
                            .tried = t->flags & TASKF_TRIED};
    if (t->live) {
        const struct live *l = &a->lives.at[t->live];
        v->started_ms = l->turn_ms ? l->turn_ms : l->started_ms;
        v->deadline_ms = l->deadline_ms;
        v->wake_ms = l->kind == LIVE_RUN ? 0 : l->wake_ms;
        v->behind = l->kind == LIVE_AHEAD ? l->behind : 0;
        v->asks = l->asks;
        v->superseded_runs = l->flags & LIVEF_SUPERSEDED;
    }
    return true;
}

bool anneal_noderole(const struct anneal *a, uint32_t id, struct noderole_view *v)
{
    if (!noderole_exists(a, id))
        return false;
    const struct noderole *nr = &a->noderoles.at[id];
    *v = (struct noderole_view){.id = id,
                                .node = nr->node,
                                .operation = nr->op,
                                .first_task = nr->first_task,
                                .n_tasks = nr->n_tasks,
                                .cohort = nr->cohort,
                                .generation = nr->generation,
                                .incarnation = nr->incarnation,
                                .run_count = nr->run_count,
                                .parents_out = nr->parents_out,
                                .gate = nr->gate - quorum_awaits(a, id),
                                .group = nr->group,
                                .state = nr->state,
                                .target = nr->target,
                                .reason = nr->reason,
                                .flags = nr->flags,
                                .begun = (nr->mode & (MODE_BEGUN | MODE_ASIDE)) == MODE_BEGUN,
                                .forgiven = nr->mode & MODE_FORGIVEN,
                                .let = nr->mode & MODE_LET,
                                .stopped = (nr->mode & MODE_STOPPED) && nr->cancelled > 0,
                                .counts = nr->quorum,
                                .data = nr->data};
    return true;
}

bool anneal_node(const struct anneal *a, uint32_t id, struct node_view *v)
{
    if (id == 0 || id >= a->nodes.n || !a->nodes.at[id].exists)
        return false;
    const struct node *n = &a->nodes.at[id];
    *v = (struct node_view){.id = id,
                            .slots = n->slots,
                            .used = n->used,
                            .errors = n->errors,
                            .noderoles = n->noderoles,
                            .available = n->available,
                            .alive = n->alive,
                            .silent_ms = n->silent_ms,
                            .machine = n->machine,
                            .boot = n->boot,
                            .probes = n->probes,
                            .away_until_ms = n->away_until_ms,
                            .frozen = a->freeze_on_error && n->errors > 0,
                            .gone = n->gone};
    return true;
}

bool anneal_operation(const struct anneal *a, uint32_t id, struct operation_view *v)
{
    if (id == 0 || id >= a->ops.n || !a->ops.at[id].exists)
        return false;
    const struct op *o = &a->ops.at[id];
    *v = (struct operation_view){.id = id,
                                 .tenant = o->tenant,
                                 .live = o->live,
                                 .state = o->state,
                                 .reason = o->reason,
                                 .class = o->class,
                                 .held = o->held,
                                 .ended_ms = o->ended_ms,
                                 .total = o->total,
                                 .done = o->done,
                                 .failed = o->failed,
                                 .failures = o->failures};
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        v->counts[s] = o->counts[s];
    v->counts[TASK_DONE] += o->gone;
    return true;
}

static uint32_t lanes_waiting(const struct anneal *a, uint32_t first)
{
    uint32_t n = 0;
    for (uint32_t l = first; l; l = a->lanes.at[l].next_of_owner)
        for (size_t i = 0; i < a->lanes.at[l].n; i++)
            n += a->tasks[a->lanes.at[l].heap[i].task].lane == l;
    return n;
}

bool anneal_pool(const struct anneal *a, uint32_t id, struct pool_view *v)
{
    if (id == 0 || id >= a->pools.n || !a->pools.at[id].exists)
        return false;
    const struct pool *p = &a->pools.at[id];
    *v = (struct pool_view){.id = id,
                            .size = p->size,
                            .taken = p->taken,
                            .elsewhere = p->elsewhere,
                            .waiting = lanes_waiting(a, p->lanes),
                            .closed = p->closed};
    return true;
}

bool anneal_tenant(const struct anneal *a, uint32_t id, struct tenant_view *v)
{
    if (id >= a->tenants.n || !a->tenants.at[id].exists)
        return false;
    const struct tenant *t = &a->tenants.at[id];
    *v = (struct tenant_view){
        .id = id, .share = t->share, .used = t->used, .wish = t->wish, .gone = t->gone};
    return true;
}

uint32_t anneal_task_tenant(const struct anneal *a, uint32_t task)
{
    return task_exists(a, task) ? a->ops.at[task_op(a, task)].tenant : 0;
}

uint32_t anneal_tenant_end(const struct anneal *a)
{
    return (uint32_t)a->tenants.n;
}

bool anneal_jig(const struct anneal *a, uint32_t id, struct jig_view *v)
{
    if (id == 0 || id >= a->jigs.n || !a->jigs.at[id].exists)
        return false;
    const struct jig *j = &a->jigs.at[id];
    *v = (struct jig_view){.id = id,
                           .slots = j->slots,
                           .taken = j->taken,
                           .waiting = lanes_waiting(a, j->lanes),
                           .active = j->active};
    return true;
}

bool anneal_group(const struct anneal *a, uint32_t id, struct group_view *v)
{
    if (id == 0 || id >= a->groups.n)
        return false;
    const struct group *g = &a->groups.at[id];
    *v = (struct group_view){.id = id,
                             .may_fail = g->may_fail,
                             .failed = g->failed,
                             .beyond = g->beyond,
                             .stops = g->stops};
    return true;
}

uint32_t anneal_task_end(const struct anneal *a)
{
    return a->task_end;
}
uint32_t anneal_noderole_end(const struct anneal *a)
{
    return (uint32_t)a->noderoles.n;
}
uint32_t anneal_node_end(const struct anneal *a)
{
    return (uint32_t)a->nodes.n;
}
uint32_t anneal_operation_end(const struct anneal *a)
{
    return (uint32_t)a->ops.n;
}
uint32_t anneal_pool_end(const struct anneal *a)
{
    return (uint32_t)a->pools.n;
}
uint32_t anneal_group_end(const struct anneal *a)
{
    return (uint32_t)a->groups.n;
}
uint32_t anneal_def_end(const struct anneal *a)
{
    return (uint32_t)a->defs.n;
}
uint32_t anneal_span_end(const struct anneal *a)
{
    return (uint32_t)a->spans.n;
}

const uint32_t *anneal_task_deps(const struct anneal *a, uint32_t t, uint32_t *ret_n)
{
    return graph_in(&a->order, t, ret_n);
}
const uint32_t *anneal_parents(const struct anneal *a, uint32_t nr, uint32_t *ret_n)
{
    return graph_in(&a->need, nr, ret_n);
}
const uint32_t *anneal_children(const struct anneal *a, uint32_t nr, uint32_t *ret_n)
{
    return graph_out(&a->need, nr, ret_n);
}

/* Those that count, then those that sleep, as seen by a child (its parents) or by a parent. */
static uint32_t edges_list(const struct anneal *a, uint32_t nr, bool parents, uint32_t *ret_ids,
                           uint32_t room)
{
    uint32_t n, next;
    const uint32_t *count = parents ? graph_in(&a->need, nr, &n) : graph_out(&a->need, nr, &n);
    for (uint32_t i = 0; i < n && i < room; i++)
        ret_ids[i] = count[i];
    for (uint32_t i = parents ? a->noderoles.at[nr].bonds_up[BOND_SLEEPS]
                              : a->noderoles.at[nr].bonds_down[BOND_SLEEPS];
         i; i = next, n++) {
        const struct bond *b = &a->bonds.at[i];
        next = parents ? b->next_up : b->next_down;
        if (n < room)
            ret_ids[n] = parents ? b->parent : b->child;
    }
    return n;
}

bool anneal_leaves(const struct anneal *a, uint32_t goer, uint32_t holder, bool *ret_successor)
{
    uint32_t bond = noderole_exists(a, holder) ? bond_find(a, BOND_LEAVES, goer, holder) : 0;
    *ret_successor = bond && a->bonds.at[bond].awaited;
    return bond != 0;
}

bool anneal_awaits(const struct anneal *a, uint32_t child, uint32_t parent)
{
    uint32_t bond = noderole_exists(a, child) ? bond_find(a, BOND_SLEEPS, parent, child) : 0;
    return bond && a->bonds.at[bond].awaited;
}

uint32_t anneal_needs(const struct anneal *a, uint32_t nr, uint32_t *ret_ids, uint32_t room)
{
    return edges_list(a, nr, true, ret_ids, room);
}
uint32_t anneal_needed_by(const struct anneal *a, uint32_t nr, uint32_t *ret_ids, uint32_t room)
{
    return edges_list(a, nr, false, ret_ids, room);
}

const uint32_t *anneal_span_pools(const struct anneal *a, uint32_t span, uint32_t *ret_n,
                                  bool *ret_held)
{
    *ret_n = a->spans.at[span].n_pools;
    *ret_held = a->spans.at[span].held;
    return a->spans.at[span].pools;
}

uint32_t anneal_node_first_noderole(const struct anneal *a, uint32_t node)
{
    return node < a->nodes.n ? a->nodes.at[node].first_noderole : 0;
}
uint32_t anneal_node_next_noderole(const struct anneal *a, uint32_t nr)
{
    return a->noderoles.at[nr].next_on_node;
}

bool anneal_attempt_open(const struct anneal *a, uint32_t t, uint32_t attempt)
{
    if (!task_exists(a, t) || !a->tasks[t].live)
        return false;
    const struct live *l = &a->lives.at[a->tasks[t].live];
    return l->kind != LIVE_BACKOFF && l->number == attempt;
}

bool anneal_attempt_find(const struct anneal *a, uint32_t t, struct open_attempt *ret_o)
{
    if (!task_exists(a, t) || !a->tasks[t].live)
        return false;
    const struct live *l = &a->lives.at[a->tasks[t].live];
    *ret_o = (struct open_attempt){.task = t,
                                   .attempt = l->number,
                                   .asks = l->asks,
                                   .started_ms = l->started_ms,
                                   .waiting = l->kind == LIVE_WAIT,
                                   .stopping = l->flags & LIVEF_STOPPING,
                                   .ahead = l->kind == LIVE_AHEAD};
    return l->kind != LIVE_BACKOFF;
}

void anneal_each_open_attempt(const struct anneal *a,
                              void (*fn)(void *arg, const struct open_attempt *o), void *arg)
{
    struct open_attempt o;
    for (uint32_t t = 1; t < a->task_end; t++)
        if (anneal_attempt_find(a, t, &o))
            fn(arg, &o);
}

size_t anneal_chain(const struct anneal *a, uint32_t t, struct dispatch *ret, size_t max)
{
    size_t n = 0;
    for (uint32_t behind = 0; t && n < max && a->tasks[t].live; n++) {
        const struct live *l = &a->lives.at[a->tasks[t].live];
        ret[n] = (struct dispatch){t, l->number, l->asks, behind};
        behind = t;
        t = l->follower;
    }
    return n;
}

bool anneal_suspect(const struct anneal *a)
{
    return a->suspect;
}

uint32_t anneal_capacity(const struct anneal *a, uint32_t *ret_used)
{
    if (ret_used)
        *ret_used = a->capacity_used;
    return a->capacity;
}

void anneal_totals(const struct anneal *a, uint64_t noderoles[NODEROLE_STATE_COUNT],
                   uint64_t tasks[TASK_STATE_COUNT])
{
    for (int s = 0; s < NODEROLE_STATE_COUNT; s++)
        noderoles[s] = a->totals_noderole[s];
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        tasks[s] = a->totals_task[s];
}

size_t anneal_bytes(const struct anneal *a)
{
    size_t n = sizeof *a + graph_bytes(&a->order) + graph_bytes(&a->need);
    n += a->task_cap * (sizeof *a->tasks + sizeof *a->unmet + 1);
    n += a->noderoles.cap * sizeof *a->noderoles.at + a->defs.cap * sizeof *a->defs.at;
    n += a->nodes.cap * sizeof *a->nodes.at + a->ops.cap * sizeof *a->ops.at;
    n += a->pools.cap * sizeof *a->pools.at + a->spans.cap * sizeof *a->spans.at;
    n += a->jigs.cap * sizeof *a->jigs.at + a->lives.cap * sizeof *a->lives.at;
    n += a->lanes.cap * sizeof *a->lanes.at + a->timers.cap * sizeof *a->timers.at;
    n += (a->free_lives.cap + a->free_lanes.cap + a->settle.cap + a->derive.cap + a->walk.cap +
          a->touched.cap) *
         sizeof(uint32_t);
    for (size_t i = 0; i < a->lanes.n; i++)
        n += a->lanes.at[i].cap * sizeof(struct start_key);
    for (size_t i = 0; i < a->ops.n; i++)
        n += a->ops.at[i].heap_cap * sizeof(struct candidate) +
             a->ops.at[i].noderoles.cap * sizeof(uint32_t);
    return n + a->span_mem.total_bytes;
}
