/* weave_edge.c - requires, required_for and cross dependencies become what instances wait for
 *
 * Each declaration is looked at once; what it leads to is a set that does not depend on who waits,
 * but for `self` and for an instance that would wait for itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "planner/weave_i.h"

typedef VEC(struct weave_source) sources_v;

static struct str set_name(struct weaving *x, struct str what)
{
    return str_of(arena_printf(&x->w->mem, "join:%.*s", (int)what.n, what.s));
}

static const struct graph_vertex *vertex(const struct weaving *x, uint32_t v)
{
    return &x->g->vertices[v];
}

/* Instances of a task on the classes for which `on` says so; NULL: on all. */
static void sources_of(struct weaving *x, uint32_t task, const bool *on, sources_v *ret)
{
    for (uint32_t c = 0; c < x->classes.n; c++)
        if ((!on || on[c]) && weave_pos(&x->classes.at[c], task) != WEAVE_NONE)
            vec_push(ret, ((struct weave_source){task, c}));
}

static uint32_t set_of(struct weaving *x, uint32_t task, const bool *on)
{
    sources_v all = {0};
    sources_of(x, task, on, &all);
    uint32_t set = weave_set_get(x, all.at, (uint32_t)all.n, set_name(x, vertex(x, task)->id));
    vec_done(&all);
    return set;
}

uint32_t weave_everywhere(struct weaving *x, uint32_t task)
{
    return set_of(x, task, NULL);
}

/* Of one class, or of all. */
static uint32_t set_in(struct weaving *x, uint32_t task, uint32_t only_class)
{
    bool *on = NULL;
    if (only_class != WEAVE_NONE) {
        on = arena_new(&x->mem, bool, x->classes.n);
        on[only_class] = true;
    }
    return set_of(x, task, on);
}

/* --- requires and required_for --- */

/* A task waits for another of its node; where that does not run, for all of them, unless only the
 * same node counts. */
static void task_after_task(struct weaving *x, uint32_t task, uint32_t before, bool same_node)
{
    for (uint32_t c = 0; c < x->classes.n; c++) {
        struct weave_class *class = &x->classes.at[c];
        uint32_t pos = weave_pos(class, task), other = weave_pos(class, before);
        if (pos != WEAVE_NONE && other != WEAVE_NONE)
            weave_dep_add(class, pos, other | DEP_NODE);
        else if (pos != WEAVE_NONE && !same_node)
            weave_class_waits(x, c, pos, weave_everywhere(x, before));
    }
}

/* The mirror: `task` is said to come before `after`.  Where `after` does not run, all of it,
 * wherever it runs, waits for the task there. */
static void task_before_task(struct weaving *x, uint32_t task, uint32_t after, bool same_node)
{
    bool *lonely = arena_new(&x->mem, bool, x->classes.n);
    bool any = false;
    for (uint32_t c = 0; c < x->classes.n; c++) {
        struct weave_class *class = &x->classes.at[c];
        uint32_t pos = weave_pos(class, task), other = weave_pos(class, after);
        if (pos != WEAVE_NONE && other != WEAVE_NONE)
            weave_dep_add(class, other, pos | DEP_NODE);
        lonely[c] = pos != WEAVE_NONE && other == WEAVE_NONE;
        any |= lonely[c];
    }
    if (same_node || !any)
        return;
    uint32_t set = set_of(x, task, lonely);
    for (uint32_t c = 0; c < x->classes.n; c++) {
        uint32_t pos = weave_pos(&x->classes.at[c], after);
        if (pos != WEAVE_NONE)
            weave_class_waits(x, c, pos, set);
    }
}

/* Of one class, or of all. */
static void all_wait_for(struct weaving *x, uint32_t task, uint32_t only_class, uint32_t before)
{
    for (uint32_t c = 0; c < x->classes.n; c++) {
        uint32_t pos = weave_pos(&x->classes.at[c], task);
        if (pos != WEAVE_NONE && (only_class == WEAVE_NONE || only_class == c))
            weave_dep_add(&x->classes.at[c], pos, before);
    }
}

/* `v` comes after `before`; whose word that is decides what counts. */
static void order_pair(struct weaving *x, uint32_t before, uint32_t v, bool said_by_later,
                       bool same_node)
{
    enum vertex_kind b = vertex(x, before)->kind, k = vertex(x, v)->kind;
    if (b == VERTEX_GROUP || k == VERTEX_GROUP)
        return; /* weave_group.c */
    if (b == VERTEX_STAGE && k == VERTEX_STAGE)
        weave_in_add(x, x->stage_at[v], (struct weave_source){x->stage_at[before], WEAVE_NONE});
    else if (b == VERTEX_STAGE && (!same_node || said_by_later))
        all_wait_for(x, v, WEAVE_NONE, x->stage_at[before]);
    else if (k == VERTEX_STAGE && b == VERTEX_TASK && (!same_node || !said_by_later))
        weave_vertex_waits(x, x->stage_at[v], weave_everywhere(x, before));
    else if (b == VERTEX_TASK && k == VERTEX_TASK && said_by_later)
        task_after_task(x, v, before, same_node);
    else if (b == VERTEX_TASK && k == VERTEX_TASK)
        task_before_task(x, before, v, same_node);
}

/* --- cross dependencies --- */

static bool name_fits(const struct graph_word *name, struct str id)
{
    return name->kind == WORD_PATTERN ? graph_word_matches(name, id) : str_eq(name->text, id);
}

/* Tasks that a cross dependency names, ascending. */
static void named_tasks(struct weaving *x, const struct graph_word *name, enum vertex_kind kind,
                        uint32_t *ret, uint32_t *ret_n)
{
    *ret_n = 0;
    if (name->kind != WORD_PATTERN) {
        uint32_t v = catalog_graph_find(x->g, name->text);
        if (v != CATALOG_NONE && vertex(x, v)->kind == kind)
            ret[(*ret_n)++] = v;
        return;
    }
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        if (vertex(x, v)->kind == kind && name_fits(name, vertex(x, v)->id))
            ret[(*ret_n)++] = v;
}

static bool is_self(const struct graph_selector *s)
{
    return s->kind == SELECT_WORDS && s->n == 1 && s->words[0].kind == WORD_SELF;
}

/* The classes that a selector of a cross dependency means. */
static bool *selected(struct weaving *x, const struct graph_selector *s)
{
    bool *on = arena_new(&x->mem, bool, x->classes.n);
    for (uint32_t c = 0; c < x->classes.n; c++)
        on[c] = weave_selects(x, s, str_of(""), &x->classes.at[c]);
    return on;
}

/* policy: any.  Of the nodes that run it, the first. */
static void first_only(struct weaving *x, sources_v *all)
{
    uint32_t best = WEAVE_NONE, task = 0;
    for (size_t i = 0; i < all->n; i++) {
        const struct weave_class *c = &x->classes.at[all->at[i].class];
        uint32_t v = weave_instance(x, c->nodes.at[0], weave_pos(c, all->at[i].task));
        if (c->nodes.at[0] < best) {
            best = c->nodes.at[0];
            task = v;
        }
    }
    all->n = 0;
    if (best != WEAVE_NONE)
        vec_push(all, ((struct weave_source){task, WEAVE_NONE}));
}

/* One instance waits for a set that it is the only one of its task in: without itself. */
static void waits_but_itself(struct weaving *x, uint32_t class, uint32_t pos, uint32_t task,
                             const sources_v *all, struct str name)
{
    sources_v rest = {0};
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].task != task || all->at[i].class != class)
            vec_push(&rest, all->at[i]);
    weave_class_waits(x, class, pos, weave_set_get(x, rest.at, (uint32_t)rest.n, name));
    vec_done(&rest);
}

struct cross { /* one item of one task, on its way */
    uint32_t task;
    const struct graph_cross *item;
    uint32_t *named, n_named;
};

static void cross_self(struct weaving *x, const struct cross *k, uint32_t only_class, bool reversed)
{
    for (uint32_t c = 0; c < x->classes.n; c++) {
        struct weave_class *class = &x->classes.at[c];
        uint32_t pos = weave_pos(class, k->task);
        if (pos == WEAVE_NONE || (only_class != WEAVE_NONE && only_class != c))
            continue;
        for (uint32_t i = 0; i < k->n_named; i++) {
            uint32_t other = weave_pos(class, k->named[i]);
            if (other == WEAVE_NONE || other == pos)
                continue;
            if (reversed)
                weave_dep_add(class, other, pos | DEP_NODE);
            else
                weave_dep_add(class, pos, other | DEP_NODE);
        }
    }
}

static uint64_t own_instances(const struct weaving *x, const sources_v *all, uint32_t task)
{
    uint64_t n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->at[i].class != WEAVE_NONE && all->at[i].task == task)
            n += x->classes.at[all->at[i].class].nodes.n;
    return n;
}

static void cross_after(struct weaving *x, const struct cross *k, uint32_t only_class)
{
    sources_v all = {0};
    bool *on = selected(x, &k->item->where);
    for (uint32_t i = 0; i < k->n_named; i++)
        sources_of(x, k->named[i], on, &all);
    if (k->item->any)
        first_only(x, &all);
    struct str name = set_name(x, k->item->name.text);
    bool alone = own_instances(x, &all, k->task) == 1;
    uint32_t set = weave_set_get(x, all.at, (uint32_t)all.n, name);
    for (uint32_t c = 0; c < x->classes.n; c++) {
        uint32_t pos = weave_pos(&x->classes.at[c], k->task);
        if (pos == WEAVE_NONE || (only_class != WEAVE_NONE && only_class != c))
            continue;
        if (alone && on[c])
            waits_but_itself(x, c, pos, k->task, &all, name);
        else
            weave_class_waits(x, c, pos, set);
    }
    vec_done(&all);
}

/* Those named wait for all instances of the task (of one class, if an expression said so there). */
static void cross_before(struct weaving *x, const struct cross *k, uint32_t only_class)
{
    bool *on = selected(x, &k->item->where);
    uint32_t set = set_in(x, k->task, only_class);
    if (set == WEAVE_NONE)
        return;
    sources_v all = {0};
    for (uint32_t i = 0; i < x->sets.at[set].n; i++)
        vec_push(&all, x->sets.at[set].at[i]);
    for (uint32_t i = 0; i < k->n_named; i++)
        for (uint32_t c = 0; c < x->classes.n; c++) {
            uint32_t pos = on[c] ? weave_pos(&x->classes.at[c], k->named[i]) : WEAVE_NONE;
            if (pos == WEAVE_NONE)
                continue;
            if (k->named[i] == k->task && x->sets.at[set].size == 1)
                waits_but_itself(x, c, pos, k->task, &all, set_name(x, vertex(x, k->task)->id));
            else
                weave_class_waits(x, c, pos, set);
        }
    vec_done(&all);
}

/* Stages are found with `role: null`, and, where files are our own, by name. */
static void cross_stages(struct weaving *x, const struct cross *k, uint32_t only_class,
                         bool reversed)
{
    const struct graph_vertex *t = vertex(x, k->task);
    uint32_t n = 0, *stages = arena_new(&x->mem, uint32_t, x->g->n_vertices);
    if (k->item->where.kind != SELECT_NULL && t->same_node)
        return;
    named_tasks(x, &k->item->name, VERTEX_STAGE, stages, &n);
    for (uint32_t i = 0; i < n; i++)
        if (reversed)
            weave_vertex_waits(x, x->stage_at[stages[i]], set_in(x, k->task, only_class));
        else
            all_wait_for(x, k->task, only_class, x->stage_at[stages[i]]);
}

static void cross_item(struct weaving *x, uint32_t task, const struct graph_cross *item,
                       uint32_t only_class, bool reversed)
{
    struct cross k = {
        .task = task, .item = item, .named = arena_new(&x->mem, uint32_t, x->g->n_vertices)};
    cross_stages(x, &k, only_class, reversed);
    named_tasks(x, &item->name, VERTEX_TASK, k.named, &k.n_named);
    if (k.n_named == 0 || item->where.kind == SELECT_NULL)
        return;
    if (is_self(&item->where))
        cross_self(x, &k, only_class, reversed);
    else if (reversed)
        cross_before(x, &k, only_class);
    else
        cross_after(x, &k, only_class);
}

/* --- all of it --- */

static void given_items(struct weaving *x, uint32_t v)
{
    for (uint32_t c = 0; c < x->classes.n; c++) {
        const struct weave_class *class = &x->classes.at[c];
        uint32_t pos = weave_pos(class, v);
        if (pos == WEAVE_NONE || !class->depends)
            continue;
        for (uint32_t i = 0; i < class->n_depends[pos]; i++)
            cross_item(x, v, &class->depends[pos][i], c, false);
        for (uint32_t i = 0; i < class->n_depended_by[pos]; i++)
            cross_item(x, v, &class->depended_by[pos][i], c, true);
    }
}

void weave_edges(struct weaving *x)
{
    for (uint32_t v = 0; v < x->g->n_vertices; v++) {
        const struct graph_vertex *t = vertex(x, v);
        for (uint32_t i = 0; i < t->n_requires; i++)
            order_pair(x, t->requires[i], v, true, t->same_node);
        for (uint32_t i = 0; i < t->n_required_for; i++)
            order_pair(x, v, t->required_for[i], false, t->same_node);
        for (uint32_t i = 0; i < t->n_depends; i++)
            cross_item(x, v, &t->depends[i], WEAVE_NONE, false);
        for (uint32_t i = 0; i < t->n_depended_by; i++)
            cross_item(x, v, &t->depended_by[i], WEAVE_NONE, true);
        if (t->depends_of || t->depended_by_of)
            given_items(x, v);
    }
}
