/* weave_group.c - who owns an instance, and the order of groups
 *
 * A group has an instance if it has the node, its selector or its list leads to the task, and the
 * task lies neither before what the group requires nor behind what it is required for: a task that
 * prepares all nodes before the deployment begins is no part of the deployment of controllers.  Of
 * several groups the first in the order of groups owns it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "planner/weave_i.h"

/* --- the graph before it is woven --- */

struct plain { /* requires and required_for between vertices, both directions */
    uint32_t n;
    uint32_t *first[2], *to[2]; /* 0: what comes before; 1: what comes after */
};

static void plain_pairs(const struct catalog_graph *g, void (*one)(void *, uint32_t, uint32_t),
                        void *ctx)
{
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        for (uint32_t i = 0; i < g->vertices[v].n_requires; i++)
            one(ctx, g->vertices[v].requires[i], v);
        for (uint32_t i = 0; i < g->vertices[v].n_required_for; i++)
            one(ctx, v, g->vertices[v].required_for[i]);
    }
}

static void pair_count(void *ctx, uint32_t before, uint32_t after)
{
    struct plain *p = ctx;
    p->first[0][after + 1]++;
    p->first[1][before + 1]++;
}

static void pair_put(void *ctx, uint32_t before, uint32_t after)
{
    struct plain *p = ctx;
    p->to[0][p->first[0][after]++] = before;
    p->to[1][p->first[1][before]++] = after;
}

static void plain_make(struct weaving *x, struct plain *p)
{
    p->n = x->g->n_vertices;
    for (int side = 0; side < 2; side++)
        p->first[side] = arena_new(&x->mem, uint32_t, p->n + 1);
    plain_pairs(x->g, pair_count, p);
    for (int side = 0; side < 2; side++) {
        for (uint32_t v = 0; v < p->n; v++)
            p->first[side][v + 1] += p->first[side][v];
        p->to[side] = arena_new(&x->mem, uint32_t, p->first[side][p->n]);
    }
    plain_pairs(x->g, pair_put, p);
    for (int side = 0; side < 2; side++) { /* filling moved each start to its end */
        for (uint32_t v = p->n; v > 0; v--)
            p->first[side][v] = p->first[side][v - 1];
        p->first[side][0] = 0;
    }
}

/* All that is reached from v on one side. */
static void plain_reach(struct weaving *x, const struct plain *p, uint32_t v, int side, bool *ret)
{
    uint32_t *walk = arena_new(&x->mem, uint32_t, p->n), n = 0;
    walk[n++] = v;
    while (n > 0) {
        uint32_t at = walk[--n];
        for (uint32_t k = p->first[side][at]; k < p->first[side][at + 1]; k++)
            if (!ret[p->to[side][k]]) {
                ret[p->to[side][k]] = true;
                walk[n++] = p->to[side][k];
            }
    }
}

/* Groups, those before others first; in a circle, which is told later, as they stand in files. */
static void groups_order(struct weaving *x, const struct plain *p)
{
    uint32_t *order = arena_new(&x->mem, uint32_t, p->n), cycle_n = 0;
    uint32_t *cycle = arena_new(&x->mem, uint32_t, p->n);
    bool sorted = graph_sort(p->n, p->first[0], p->to[0], order, cycle, &cycle_n);
    x->group_order = arena_new(&x->mem, uint32_t, p->n);
    for (uint32_t i = 0; i < p->n; i++) {
        uint32_t v = sorted ? order[i] : i;
        if (x->g->vertices[v].kind == VERTEX_GROUP)
            x->group_order[x->n_groups++] = v;
    }
}

/* --- owners --- */

static bool has_name(struct weaving *x, const struct graph_selector *s, struct str id,
                     uint32_t name)
{
    bool fits = s->kind == SELECT_ALL || (s->kind == SELECT_NONE && str_eq(id, x->names.at[name]));
    for (uint32_t i = 0; s->kind == SELECT_WORDS && i < s->n && !fits; i++)
        fits = weave_word_is(x, &s->words[i], name);
    return fits;
}

/* Does a name of the class lead to both the group and the task? */
static bool leads_to(struct weaving *x, const struct graph_vertex *group,
                     const struct graph_vertex *task, const struct weave_class *c)
{
    for (uint32_t k = 0; k < c->n_names; k++)
        if (has_name(x, &group->nodes, group->id, c->names[k]) &&
            has_name(x, &task->nodes, task->id, c->names[k]))
            return true;
    return false;
}

static bool lists(const struct graph_vertex *group, uint32_t task)
{
    for (uint32_t i = 0; i < group->n_tasks; i++)
        if (group->tasks[i] == task)
            return true;
    return false;
}

static void serves_add(struct weaving *x, const struct weave_role **list, uint32_t g)
{
    struct weave_role *one = arena_new(&x->w->mem, struct weave_role, 1);
    one->group = g;
    while (*list)
        list = (const struct weave_role **)&(*list)->next;
    *list = one;
}

static void group_own(struct weaving *x, const struct plain *p, uint32_t g)
{
    const struct graph_vertex *group = &x->g->vertices[g];
    bool *outside = arena_new(&x->mem, bool, p->n);
    plain_reach(x, p, g, 0, outside);
    plain_reach(x, p, g, 1, outside);
    for (uint32_t i = 0; i < x->classes.n; i++) {
        struct weave_class *c = &x->classes.at[i];
        if (c->master || !weave_selects(x, &group->nodes, group->id, c))
            continue;
        for (uint32_t pos = 0; pos < c->n_tasks; pos++) {
            uint32_t t = c->tasks[pos];
            if (!outside[t] && (lists(group, t) || leads_to(x, group, &x->g->vertices[t], c))) {
                if (c->owner[pos] == WEAVE_NONE)
                    c->owner[pos] = g;
                serves_add(x, &c->serves[pos], g);
            }
        }
    }
}

void weave_owners(struct weaving *x)
{
    struct plain p = {0};
    plain_make(x, &p);
    groups_order(x, &p);
    for (uint32_t i = 0; i < x->n_groups; i++)
        group_own(x, &p, x->group_order[i]);
}

/* --- order --- */

/* What a vertex is when it has ended, for one that waits for it. */
static void waits_for_end(struct weaving *x, uint32_t to, uint32_t of)
{
    switch ((enum vertex_kind)x->g->vertices[of].kind) {
    case VERTEX_STAGE:
        weave_in_add(x, to, (struct weave_source){x->stage_at[of], WEAVE_NONE});
        break;
    case VERTEX_TASK: weave_vertex_waits(x, to, weave_everywhere(x, of)); break;
    case VERTEX_GROUP:
        weave_in_add(x, to, (struct weave_source){x->strands[of].end, WEAVE_NONE});
        break;
    }
}

static void begins_after(struct weaving *x, uint32_t v, uint32_t end)
{
    const struct graph_vertex *t = &x->g->vertices[v];
    if (t->kind == VERTEX_STAGE)
        weave_in_add(x, x->stage_at[v], (struct weave_source){end, WEAVE_NONE});
    for (uint32_t i = 0; t->kind == VERTEX_TASK && i < x->classes.n; i++) {
        uint32_t pos = weave_pos(&x->classes.at[i], v);
        if (pos != WEAVE_NONE)
            weave_dep_add(&x->classes.at[i], pos, end);
    }
}

static bool is_ordered(const struct weaving *x, uint32_t v)
{
    return x->g->vertices[v].kind == VERTEX_GROUP && !x->g->vertices[v].same_node;
}

static struct str strand_name(struct weaving *x, uint32_t g, const char *what)
{
    return str_of(arena_printf(&x->w->mem, "%s:%s", x->g->vertices[g].id.s, what));
}

/* Both ends of all groups first: they wait for each other. */
void weave_group_edges(struct weaving *x)
{
    for (uint32_t i = 0; i < x->n_groups; i++) {
        uint32_t g = x->group_order[i];
        struct weave_strand *s = &x->strands[g];
        s->begin = s->end = WEAVE_NONE;
        if (!is_ordered(x, g))
            continue;
        s->begin = weave_join_add(x, WEAVE_JOIN_BEGIN, g, strand_name(x, g, "begin"));
        s->end = weave_join_add(x, WEAVE_JOIN_END, g, strand_name(x, g, "end"));
        weave_in_add(x, s->end, (struct weave_source){s->begin, WEAVE_NONE});
    }
    for (uint32_t v = 0; v < x->g->n_vertices; v++) {
        const struct graph_vertex *t = &x->g->vertices[v];
        for (uint32_t i = 0; i < t->n_requires; i++) {
            uint32_t before = t->requires[i];
            if (is_ordered(x, v) &&
                (x->g->vertices[before].kind != VERTEX_GROUP || is_ordered(x, before)))
                waits_for_end(x, x->strands[v].begin, before);
            else if (is_ordered(x, before) && !t->same_node)
                begins_after(x, v, x->strands[before].end);
        }
        for (uint32_t i = 0; i < t->n_required_for; i++) {
            uint32_t after = t->required_for[i];
            if (is_ordered(x, after) && (t->kind != VERTEX_GROUP || is_ordered(x, v)))
                waits_for_end(x, x->strands[after].begin, v);
            else if (is_ordered(x, v))
                begins_after(x, after, x->strands[v].end);
        }
    }
}
