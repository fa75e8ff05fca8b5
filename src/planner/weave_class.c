/* weave_class.c - names, classes of nodes, and who runs where
 *
 * Names are numbered as they come.  A pattern is run once for each name, whatever number of
 * selectors has it.  Expressions that give dependencies see the node, so what they gave is part of
 * what makes two nodes of one class.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sort.h"
#include "planner/weave_i.h"
#include "template/expr.h"

/* --- names --- */

static uint32_t name_number(struct weaving *x, struct str name)
{
    uintptr_t number = x->names.n;
    if (!strmap_get(&x->name_numbers, name, &number)) {
        strmap_put(&x->name_numbers, name, number);
        vec_push(&x->names, name);
    }
    return (uint32_t)number;
}

bool weave_word_is(struct weaving *x, const struct graph_word *w, uint32_t name)
{
    uintptr_t known;
    if (w->kind == WORD_NAME)
        return str_eq(w->text, x->names.at[name]);
    if (w->kind != WORD_PATTERN)
        return false;
    if (!strmap_get(&x->patterns, w->text, &known)) {
        bool *fits = arena_new(&x->mem, bool, x->names.n);
        for (size_t i = 0; i < x->names.n; i++)
            fits[i] = graph_word_matches(w, x->names.at[i]);
        known = (uintptr_t)fits;
        strmap_put(&x->patterns, w->text, known);
    }
    return ((const bool *)known)[name];
}

bool weave_selects(struct weaving *x, const struct graph_selector *s, struct str id,
                   const struct weave_class *c)
{
    bool fits = false;
    switch ((enum selector_kind)s->kind) {
    case SELECT_NULL: return false;
    case SELECT_ALL: return c->n_names > 0;
    case SELECT_NONE: /* by its own name */
        for (uint32_t k = 0; k < c->n_names && !fits; k++)
            fits = str_eq(id, x->names.at[c->names[k]]);
        return fits;
    case SELECT_WORDS: break;
    }
    for (uint32_t i = 0; i < s->n && !fits; i++) {
        fits = c->master && s->words[i].kind == WORD_MASTER;
        for (uint32_t k = 0; k < c->n_names && !fits; k++)
            fits = weave_word_is(x, &s->words[i], c->names[k]);
    }
    return fits;
}

uint32_t weave_pos(const struct weave_class *c, uint32_t task)
{
    size_t at = sort_first(c->tasks, c->n_tasks, it, *it >= task);
    return at < c->n_tasks && c->tasks[at] == task ? (uint32_t)at : WEAVE_NONE;
}

/* --- what expressions say of a node --- */

static int given_eval(struct weaving *x, const struct expr *of, uint32_t v, uint32_t node,
                      const struct value **ret)
{
    *ret = NULL;
    if (!of)
        return 0;
    int rc = weave_eval(x, of, v, node, ret);
    if (rc >= 0 && *ret && (*ret)->kind != VALUE_LIST && (*ret)->kind != VALUE_NULL)
        rc = err_set(x->e, ERR_INVALID, "dependencies must be a list of maps");
    return rc;
}

/* Both lists of each vertex that has such expressions; their text is part of the class. */
static int given_of_node(struct weaving *x, uint32_t node, const struct value **lists,
                         struct buf *key)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < x->g->n_vertices; v++) {
        const struct graph_vertex *t = &x->g->vertices[v];
        const struct expr *both[] = {t->depends_of, t->depended_by_of};
        for (int k = 0; (both[0] || both[1]) && k < 2; k++, n++) {
            int rc = given_eval(x, both[k], v, node, &lists[n]);
            if (rc < 0) {
                (void)err_wrap(x->e, "%s/%s", t->id.s, x->req->nodes[node].name.s);
                return rc;
            }
            buf_putc(key, '|');
            if (lists[n])
                json_write_canonical(key, lists[n]);
        }
    }
    return 0;
}

static int crosses_of(struct weaving *x, const struct value *list, const struct graph_cross **ret,
                      uint32_t *ret_n)
{
    uint32_t n = value_is(list, VALUE_LIST) ? list->n : 0;
    struct graph_cross *all = arena_new(&x->w->mem, struct graph_cross, n);
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (list->items[i].kind == VALUE_NULL)
            continue;
        int rc = graph_cross_read(&x->w->mem, x->w->patterns, &list->items[i], &all[*ret_n], x->e);
        if (rc < 0)
            return rc;
        (*ret_n)++;
    }
    *ret = all;
    return 0;
}

/* The lists of the first node of a class are those of all. */
static int class_given(struct weaving *x, struct weave_class *c, const struct value *const *lists)
{
    uint32_t n = 0;
    int rc = 0;
    c->depends = arena_new(&x->mem, const struct graph_cross *, c->n_tasks);
    c->depended_by = arena_new(&x->mem, const struct graph_cross *, c->n_tasks);
    c->n_depends = arena_new(&x->mem, uint32_t, c->n_tasks);
    c->n_depended_by = arena_new(&x->mem, uint32_t, c->n_tasks);
    for (uint32_t v = 0; v < x->g->n_vertices && rc >= 0; v++) {
        const struct graph_vertex *t = &x->g->vertices[v];
        if (!t->depends_of && !t->depended_by_of)
            continue;
        uint32_t pos = weave_pos(c, v);
        if (pos != WEAVE_NONE && t->depends_of)
            rc = crosses_of(x, lists[n], &c->depends[pos], &c->n_depends[pos]);
        if (rc >= 0 && pos != WEAVE_NONE && t->depended_by_of)
            rc = crosses_of(x, lists[n + 1], &c->depended_by[pos], &c->n_depended_by[pos]);
        n += 2;
    }
    return rc;
}

/* --- classes --- */

/* What selects the class, and what groups of it list among their own. */
static void class_tasks(struct weaving *x, struct weave_class *c)
{
    bool *runs = arena_new(&x->mem, bool, x->g->n_vertices);
    for (uint32_t v = 0; v < x->g->n_vertices; v++) {
        const struct graph_vertex *t = &x->g->vertices[v];
        if (t->kind == VERTEX_STAGE || !weave_selects(x, &t->nodes, t->id, c))
            continue;
        runs[v] = true;
        for (uint32_t i = 0; i < t->n_tasks; i++)
            runs[t->tasks[i]] = true;
    }
    c->tasks = arena_new(&x->mem, uint32_t, x->g->n_vertices);
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        if (runs[v] && x->g->vertices[v].kind == VERTEX_TASK)
            c->tasks[c->n_tasks++] = v;
    c->owner = arena_new(&x->mem, uint32_t, c->n_tasks);
    c->serves = arena_new(&x->w->mem, const struct weave_role *, c->n_tasks);
    for (uint32_t i = 0; i < c->n_tasks; i++)
        c->owner[i] = WEAVE_NONE;
}

static uint32_t count_given(const struct catalog_graph *g)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < g->n_vertices; v++)
        n += g->vertices[v].depends_of || g->vertices[v].depended_by_of ? 2 : 0;
    return n;
}

static int node_class(struct weaving *x, struct strmap *by_key, uint32_t node, uint32_t *names,
                      uint32_t n_given)
{
    const struct weave_node *n = &x->req->nodes[node];
    SCOPED_BUF(key);
    const struct value **lists = arena_new(&x->mem, const struct value *, n_given);
    uintptr_t class = x->classes.n;
    int rc = 0;
    for (uint32_t i = 0; i < n->n_names; i++)
        names[i] = name_number(x, n->names[i]);
    if (n->n_names > 1)
        sort_u32(names, n->n_names);
    buf_put(&key, (const char *)names, n->n_names * sizeof *names);
    if (n_given && (rc = given_of_node(x, node, lists, &key)) < 0)
        return rc;
    if (!strmap_get(by_key, buf_str(&key), &class)) {
        uint32_t *copy = arena_new(&x->mem, uint32_t, n->n_names);
        if (n->n_names)
            memcpy(copy, names, n->n_names * sizeof *copy);
        strmap_put(by_key, buf_str(&key), class);
        vec_push(&x->classes,
                 ((struct weave_class){.names = copy, .n_names = n->n_names, .given = lists}));
    }
    x->class_of[node] = (uint32_t) class;
    vec_push(&x->classes.at[class].nodes, node);
    return 0;
}

static int classes_make(struct weaving *x)
{
    struct strmap by_key = {0};
    uint32_t most = 1, n_given = count_given(x->g);
    int rc = 0;
    for (uint32_t i = 0; i < x->req->n_nodes; i++)
        most = x->req->nodes[i].n_names > most ? x->req->nodes[i].n_names : most;
    uint32_t *names = arena_new(&x->mem, uint32_t, most);
    for (uint32_t i = 0; i < x->req->n_nodes && rc >= 0; i++)
        rc = node_class(x, &by_key, i, names, n_given);
    strmap_done(&by_key);
    if (rc < 0)
        return rc;
    x->class_of[x->req->n_nodes] = (uint32_t)x->classes.n;
    vec_push(&x->classes, ((struct weave_class){.master = true}));
    vec_push(&x->classes.at[x->classes.n - 1].nodes, x->req->n_nodes);
    for (size_t i = 0; i < x->classes.n && rc >= 0; i++) {
        struct weave_class *c = &x->classes.at[i];
        class_tasks(x, c);
        if (n_given && c->given)
            rc = class_given(x, c, c->given);
    }
    return rc;
}

int weave_classes(struct weaving *x)
{
    uint32_t n_nodes = x->req->n_nodes + 1, at = 0;
    uint64_t total = 0;
    x->class_of = arena_new(&x->mem, uint32_t, n_nodes);
    x->base = arena_new(&x->mem, uint32_t, n_nodes + 1);
    x->stage_at = arena_new(&x->mem, uint32_t, x->g->n_vertices);
    int rc = classes_make(x);
    if (rc < 0)
        return rc;
    for (uint32_t v = 0; v < x->g->n_vertices; v++)
        x->stage_at[v] = x->g->vertices[v].kind == VERTEX_STAGE ? at++ : WEAVE_NONE;
    x->w->n_stages = at;
    for (uint32_t i = 0; i < n_nodes; i++) {
        x->base[i] = at;
        total += x->classes.at[x->class_of[i]].n_tasks;
        if (total > x->req->max_vertices - x->w->n_stages)
            return err_set(x->e, ERR_LIMIT, "more than %u tasks on all nodes",
                           x->req->max_vertices);
        at = x->w->n_stages + (uint32_t)total;
    }
    x->base[n_nodes] = at;
    x->w->n_tasks = (uint32_t)total;
    return 0;
}
