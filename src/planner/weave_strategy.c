/* weave_strategy.c - chunks and limits
 *
 * A chunk is some nodes of a group, or of a task, in their given order; it begins when the one
 * before has ended, which is a join between them.  A sliding window is a limit: the engine's pools
 * keep it, and the order has nothing to do with it.
 */
/* SPDX-License-Identifier: Apache-2.0 */

#include "base/sort.h"
#include "planner/weave_i.h"
#include "template/expr.h"

typedef VEC(uint32_t) nodes_v;

/* Nodes where the group owns something, or where the task runs, in the given order. */
static void nodes_of(struct weaving *x, uint32_t v, nodes_v *ret)
{
    bool group = x->g->vertices[v].kind == VERTEX_GROUP;
    for (size_t i = 0; i < x->classes.n; i++) {
        const struct weave_class *c = &x->classes.at[i];
        bool has = !group && weave_pos(c, v) != WEAVE_NONE;
        for (uint32_t pos = 0; group && pos < c->n_tasks && !has; pos++)
            has = c->owner[pos] == v;
        for (size_t k = 0; has && k < c->nodes.n; k++)
            vec_push(ret, c->nodes.at[k]);
    }
    sort_u32(ret->at, ret->n);
}

static int amount_of(struct weaving *x, uint32_t v, uint32_t *ret)
{
    const struct graph_vertex *t = &x->g->vertices[v];
    const struct value *amount = NULL;
    *ret = t->strategy.type == STRATEGY_ONE_BY_ONE ? 1 : t->strategy.amount;
    if (!t->strategy.amount_of || t->strategy.type == STRATEGY_ONE_BY_ONE)
        return 0;
    int rc = weave_eval(x, t->strategy.amount_of, v, WEAVE_NONE, &amount);
    if (rc >= 0 && !amount && x->req->no_data)
        return 0;
    if (rc >= 0 && (!value_is(amount, VALUE_INT) || amount->i < 0 || amount->i > UINT32_MAX))
        rc = err_set(x->e, ERR_INVALID, "the amount of a strategy must be a number, 0 or more");
    if (rc < 0)
        return err_wrap(x->e, "strategy of %s", t->id.s);
    *ret = (uint32_t)amount->i;
    return 0;
}

/* Of all that a vertex is: of the nodes of a group, of the instances of a task. */
static void limit_whole(struct weaving *x, uint32_t v, uint32_t size)
{
    bool group = x->g->vertices[v].kind == VERTEX_GROUP;
    const char *name = arena_printf(&x->w->mem, "%s:%s", group ? "group" : "task",
                                    x->g->vertices[v].id.s);
    vec_push(&x->limits, ((struct weave_limit){str_of(name), v, WEAVE_NONE, size, group}));
}

/* A strategy that became a limit: each of the group's tasks has it for itself. */
static void limit_tasks(struct weaving *x, uint32_t g, uint32_t size)
{
    bool *done = arena_new(&x->mem, bool, x->g->n_vertices);
    for (size_t i = 0; i < x->classes.n; i++) {
        const struct weave_class *c = &x->classes.at[i];
        for (uint32_t pos = 0; pos < c->n_tasks; pos++) {
            uint32_t t = c->tasks[pos];
            if (c->owner[pos] != g || done[t])
                continue;
            done[t] = true;
            const char *name = arena_printf(&x->w->mem, "%s/%s", x->g->vertices[g].id.s,
                                            x->g->vertices[t].id.s);
            vec_push(&x->limits, ((struct weave_limit){str_of(name), t, g, size, false}));
        }
    }
}

static void chunks_add(struct weaving *x, uint32_t v, uint32_t amount, const nodes_v *nodes)
{
    struct weave_strand *s = &x->strands[v];
    s->n_chunks = (uint32_t)((nodes->n + amount - 1) / amount);
    s->chunk_of = arena_new(&x->mem, uint32_t, x->req->n_nodes + 1);
    for (size_t i = 0; i < nodes->n; i++)
        s->chunk_of[nodes->at[i]] = (uint32_t)(i / amount);
    for (uint32_t k = 0; k < s->n_chunks; k++) {
        uint32_t join = weave_join_add(
            x, WEAVE_JOIN_CHUNK, v,
            str_of(arena_printf(&x->w->mem, "%s:chunk-%u", x->g->vertices[v].id.s, k)));
        x->joins.at[x->joins.n - 1].chunk = k;
        if (k == 0)
            s->first_chunk = join;
    }
}

static int strategy_one(struct weaving *x, uint32_t v)
{
    const struct graph_vertex *t = &x->g->vertices[v];
    struct weave_strand *s = &x->strands[v];
    bool group = t->kind == VERTEX_GROUP;
    nodes_v nodes = {0};
    int rc = amount_of(x, v, &s->amount);
    if (rc < 0 || s->amount == 0)
        return rc;
    nodes_of(x, v, &nodes);
    if (group && x->no_chunks[v])
        limit_tasks(x, v, s->amount);
    else if (t->strategy.type == STRATEGY_ROLLING || x->no_chunks[v] || (!group && t->same_node))
        limit_whole(x, v, s->amount);
    else if (nodes.n > s->amount)
        chunks_add(x, v, s->amount, &nodes);
    vec_done(&nodes);
    return 0;
}

int weave_strategies(struct weaving *x)
{
    int rc = 0;
    for (uint32_t v = 0; v < x->g->n_vertices && rc >= 0; v++)
        if (x->g->vertices[v].strategy.given && x->g->vertices[v].kind != VERTEX_STAGE)
            rc = strategy_one(x, v);
    return rc;
}
