/* tally.c - counts by operation and definition that follow the engine
 *
 * Each task remembers where it is counted, so that a look at it can take that back, whatever
 * happened in between: it moved to another operation with its noderole, got another definition, or
 * is nobody's any more.  A cell without tasks is given back: there are never more than tasks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/tally.h"

#include <assert.h>
#include <stdlib.h>

#include "base/map.h"

enum place { PLACE_NONE, PLACE_LEFT, PLACE_PASSED, PLACE_LOST, PLACE_COUNT };

struct cell {
    uint32_t op, def, prev, next; /* in the operation's list */
    uint32_t n[PLACE_COUNT];
};
struct counted_task {
    uint32_t cell; /* 0: nowhere */
    uint8_t place;
};
struct counted_noderole { /* whose tasks they were at the last look */
    uint32_t op, first, n;
};
struct counted_op {
    uint32_t cells;       /* head of a list */
    VEC(uint32_t) depths; /* by weight: how many are left; empty if nothing is */
    uint32_t deepest;     /* none is left above */
    uint32_t left;
};
struct tally {
    VEC(struct cell) cells; /* 0 is nobody */
    VEC(uint32_t) free_cells;
    struct u64map by_key; /* op << 32 | def -> cell */
    VEC(struct counted_task) tasks;
    VEC(struct counted_noderole) noderoles;
    VEC(struct counted_op) ops;
    VEC(struct tally_count) answer;
};

static_assert(TASK_WAITING == 3, "the states of a task that is left come first");

static enum place place_of(const struct task_view *v)
{
    if (v->rule != RULE_RUN || v->noderole == 0)
        return PLACE_NONE;
    switch ((enum task_state)v->state) {
    case TASK_PENDING:
    case TASK_READY:
    case TASK_RUNNING:
    case TASK_WAITING: return PLACE_LEFT;
    case TASK_DONE:
    case TASK_TOLERATED: return PLACE_PASSED;
    case TASK_FAILED:
    case TASK_DEP_FAILED:
    case TASK_CANCELLED: return PLACE_LOST;
    case TASK_SKIPPED:
    case TASK_STATE_COUNT: break;
    }
    return PLACE_NONE;
}

static uint64_t cell_key(uint32_t op, uint32_t def)
{
    return (uint64_t)op << 32 | def;
}

static struct counted_op *op_at(struct tally *t, uint32_t op)
{
    while (t->ops.n <= op)
        (void)vec_add(&t->ops);
    return &t->ops.at[op];
}

static uint32_t cell_take(struct tally *t, uint32_t op, uint32_t def)
{
    uintptr_t found;
    uint32_t id;
    if (u64map_get(&t->by_key, cell_key(op, def), &found))
        return (uint32_t)found;
    if (t->free_cells.n > 0) {
        id = t->free_cells.at[--t->free_cells.n];
    } else {
        id = (uint32_t)t->cells.n;
        (void)vec_add(&t->cells);
    }
    struct counted_op *o = op_at(t, op);
    t->cells.at[id] = (struct cell){.op = op, .def = def, .next = o->cells};
    if (o->cells)
        t->cells.at[o->cells].prev = id;
    o->cells = id;
    u64map_put(&t->by_key, cell_key(op, def), id);
    return id;
}

static void cell_give(struct tally *t, uint32_t id)
{
    const struct cell *c = &t->cells.at[id];
    if (c->prev)
        t->cells.at[c->prev].next = c->next;
    else
        t->ops.at[c->op].cells = c->next;
    if (c->next)
        t->cells.at[c->next].prev = c->prev;
    u64map_del(&t->by_key, cell_key(c->op, c->def));
    vec_push(&t->free_cells, id);
}

static uint32_t depth_of(const struct task_view *v)
{
    return v->weight < TALLY_DEPTH_MOST ? v->weight : TALLY_DEPTH_MOST;
}

static void depth_count(struct tally *t, uint32_t op, uint32_t depth, bool more)
{
    struct counted_op *o = op_at(t, op);
    while (o->depths.n <= depth)
        vec_push(&o->depths, (uint32_t)0);
    o->depths.at[depth] += more ? 1 : UINT32_MAX;
    o->left += more ? 1 : UINT32_MAX;
    if (more && depth > o->deepest)
        o->deepest = depth;
    if (o->left == 0) {
        vec_done(&o->depths);
        o->deepest = 0;
    }
}

static void look(struct tally *t, const struct anneal *a, uint32_t id)
{
    struct task_view v;
    if (!anneal_task(a, id, &v))
        return;
    while (t->tasks.n <= id)
        (void)vec_add(&t->tasks);
    struct counted_task *was = &t->tasks.at[id];
    enum place place = place_of(&v);
    uint32_t old = was->cell, cell = place == PLACE_NONE ? 0 : cell_take(t, v.operation, v.def);
    if (old == cell && was->place == place)
        return;
    if (was->place == PLACE_LEFT) /* a task's weight never changes */
        depth_count(t, t->cells.at[old].op, depth_of(&v), false);
    if (place == PLACE_LEFT)
        depth_count(t, v.operation, depth_of(&v), true);
    if (cell)
        t->cells.at[cell].n[place]++;
    if (old) {
        struct cell *c = &t->cells.at[old];
        c->n[was->place]--;
        if (c->n[PLACE_LEFT] + c->n[PLACE_PASSED] + c->n[PLACE_LOST] == 0)
            cell_give(t, old);
    }
    *was = (struct counted_task){cell, (uint8_t)place};
}

/* Tasks go with their noderole, which alone is told to have changed then. */
static void look_noderole(struct tally *t, const struct anneal *a, uint32_t id)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(a, id, &v); /* one that vanished has no tasks */
    while (t->noderoles.n <= id)
        (void)vec_add(&t->noderoles);
    struct counted_noderole *was = &t->noderoles.at[id],
                            now = {v.operation, v.first_task, v.n_tasks};
    if (was->op == now.op && was->first == now.first && was->n == now.n)
        return;
    for (uint32_t i = 0; i < was->n; i++)
        look(t, a, was->first + i);
    for (uint32_t i = 0; i < now.n; i++)
        look(t, a, now.first + i);
    *was = now;
}

/* What a plan brought need not have changed since. */
static void look_at_new(struct tally *t, const struct anneal *a)
{
    for (uint32_t id = (uint32_t)t->noderoles.n; id < anneal_noderole_end(a); id++)
        look_noderole(t, a, id);
    for (uint32_t id = (uint32_t)t->tasks.n; id < anneal_task_end(a); id++)
        look(t, a, id);
}

struct tally *tally_new(const struct anneal *a)
{
    struct tally *t = xcalloc(1, sizeof *t);
    (void)vec_add(&t->cells);
    (void)vec_add(&t->tasks);
    (void)vec_add(&t->noderoles);
    look_at_new(t, a);
    return t;
}

void tally_free(struct tally *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->ops.n; i++)
        vec_done(&t->ops.at[i].depths);
    vec_done(&t->cells);
    vec_done(&t->free_cells);
    u64map_done(&t->by_key);
    vec_done(&t->tasks);
    vec_done(&t->noderoles);
    vec_done(&t->ops);
    vec_done(&t->answer);
    free(t);
}

/* Most changes: it got ready, it started.  Whatever else moves a task is told without a change of
 * its state. */
static bool still_left(const struct change *c)
{
    return c->from != c->to && c->from <= TASK_WAITING && c->to <= TASK_WAITING;
}

void tally_follow(struct tally *t, const struct anneal *a, const struct effects *fx)
{
    look_at_new(t, a); /* before any change of a later one makes room for it */
    for (size_t i = 0; i < fx->changes.n; i++) {
        const struct change *c = &fx->changes.at[i];
        if (c->table == ROWS_TASK && !still_left(c))
            look(t, a, c->id);
        else if (c->table == ROWS_NODEROLE)
            look_noderole(t, a, c->id);
    }
}

const struct tally_count *tally_operation(struct tally *t, uint32_t op, size_t *ret_n)
{
    vec_clear(&t->answer);
    for (uint32_t i = op < t->ops.n ? t->ops.at[op].cells : 0; i; i = t->cells.at[i].next) {
        const struct cell *c = &t->cells.at[i];
        vec_push(&t->answer, ((struct tally_count){c->def, c->n[PLACE_LEFT], c->n[PLACE_PASSED],
                                                   c->n[PLACE_LOST]}));
    }
    *ret_n = t->answer.n;
    return t->answer.at;
}

uint32_t tally_depth(struct tally *t, uint32_t op)
{
    if (op >= t->ops.n || t->ops.at[op].depths.n == 0)
        return 0;
    struct counted_op *o = &t->ops.at[op];
    while (o->deepest > 0 && o->depths.at[o->deepest] == 0)
        o->deepest--;
    return o->deepest;
}
