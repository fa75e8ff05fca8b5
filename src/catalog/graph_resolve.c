/* graph_resolve.c - ids of task graphs become numbers
 *
 * What nobody has is a fault, of lenient content a warning: the reference is dropped there, as the
 * programs did that such content was written for.  Words of selectors are never dropped: a node may
 * have groups of its own that no catalog knows.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

enum {
    PATTERN_TRIES = 20000000, /* patterns tried on names, for warnings only */
};

/* --- one graph's vertices --- */

static const char *const stages_built_in[] = {"prepare", "pre_deployment", "deployment",
                                              "post_deployment"};
enum { STAGES_BUILT_IN = sizeof stages_built_in / sizeof *stages_built_in };

/* A graph that means any node and has no stage gets those that everybody expects. */
static bool needs_stages(const struct load *l, uint32_t graph)
{
    for (size_t i = 0; i < l->vertices.n; i++) {
        const struct load_vertex *x = &l->vertices.at[i];
        if (x->graph == graph && (x->v.kind == VERTEX_STAGE || x->v.same_node))
            return false;
    }
    return true;
}

static void stages_add(struct load *l, struct load_graph *g)
{
    for (uint32_t i = 0; i < STAGES_BUILT_IN; i++) {
        struct graph_vertex v = {.id = str_of(stages_built_in[i]),
                                 .type = str_of("stage"),
                                 .kind = VERTEX_STAGE,
                                 .barclamp = CATALOG_NONE,
                                 .parameters = l->no_values,
                                 .fail_on_error = true,
                                 .retries = CATALOG_NONE,
                                 .where = {.file = CATALOG_NONE}};
        struct value *source = value_map(l->mem);
        value_put_text(l->mem, source, "id", stages_built_in[i]);
        value_put_text(l->mem, source, "type", "stage");
        if (i) {
            uint32_t *before = arena_new(l->mem, uint32_t, 1);
            struct value *list = value_list(l->mem);
            *before = i - 1;
            v.requires = before;
            v.n_requires = 1;
            value_add(l->mem, list, value_text(l->mem, stages_built_in[i - 1]));
            value_set(l->mem, source, "requires", list);
        }
        v.source = source;
        (void)catalog_index_add(&g->by_id, v.id, i);
        g->from[g->n] = CATALOG_NONE;
        g->sealed[g->n++] = v;
    }
}

static void vertices_collect(struct load *l, uint32_t graph)
{
    struct load_graph *g = &l->graphs.at[graph];
    uint32_t room = STAGES_BUILT_IN;

    for (size_t i = 0; i < l->vertices.n; i++)
        room += l->vertices.at[i].graph == graph;
    g->sealed = arena_new(l->mem, struct graph_vertex, room);
    g->from = arena_new(&l->scratch, uint32_t, room);
    if (needs_stages(l, graph))
        stages_add(l, g);
    for (uint32_t i = 0; i < l->vertices.n; i++) {
        const struct load_vertex *x = &l->vertices.at[i];
        if (x->graph != graph)
            continue;
        uint32_t first = catalog_index_add(&g->by_id, x->v.id, g->n);
        if (first != CATALOG_NONE && g->from[first] == CATALOG_NONE) {
            /* Whoever writes one of the stages that are built in means that one. */
            catalog_error(l, x->at, ERR_EXISTS, "\"%s\" is a stage of every graph without stages",
                          x->v.id.s);
        } else if (first != CATALOG_NONE) {
            catalog_twice(l, "vertex", x->v.id, x->v.where, g->sealed[first].where);
        }
        g->from[g->n] = i;
        g->sealed[g->n++] = x->v;
    }
}

/* --- ids --- */

static void id_unknown(struct load *l, const struct load_graph *g, const struct load_vertex *x,
                       struct catalog_where where, const char *verb, struct str id)
{
    struct err *e = catalog_fault(l, x->lenient ? CATALOG_WARNING : CATALOG_ERROR, ERR_UNKNOWN_NAME,
                                  where, "\"%s\" %s \"%s\", which is nothing of graph \"%s\"%s",
                                  x->v.id.s, verb, id.s, g->name.s, x->lenient ? ": left out" : "");
    catalog_hint_nearest(e, id, &g->by_id);
}

static const uint32_t *ids_resolve(struct load *l, const struct load_graph *g,
                                   const struct load_vertex *x, const char *verb,
                                   const struct load_names *names, uint32_t *ret_n)
{
    uint32_t *ids = arena_new(l->mem, uint32_t, names->n), n = 0;

    for (uint32_t i = 0; i < names->n; i++) {
        uintptr_t id;
        if (strmap_get(&g->by_id, names->at[i].name, &id))
            ids[n++] = (uint32_t)id;
        else
            id_unknown(l, g, x, catalog_where_of(names->at[i].at), verb, names->at[i].name);
    }
    *ret_n = n;
    return ids;
}

static void members_check(struct load *l, const struct load_graph *g, const struct load_vertex *x,
                          const struct graph_vertex *v)
{
    for (uint32_t i = 0; i < v->n_tasks; i++) {
        const struct graph_vertex *t = &g->sealed[v->tasks[i]];
        if (t->kind != VERTEX_TASK)
            catalog_error(l, x->at, ERR_INVALID, "group \"%s\" has \"%s\" among its tasks, a %s",
                          v->id.s, t->id.s, t->kind == VERTEX_STAGE ? "stage" : "group");
    }
}

/* Names of cross dependencies; those that nobody has are left out of lenient content. */
static const struct graph_cross *cross_resolve(struct load *l, const struct load_graph *g,
                                               const struct load_vertex *x, const char *verb,
                                               const struct graph_cross *all, uint32_t *n)
{
    struct graph_cross *kept = arena_new(l->mem, struct graph_cross, *n);
    uint32_t n_kept = 0;

    for (uint32_t i = 0; i < *n; i++) {
        bool known = all[i].name.kind != WORD_NAME || strmap_get(&g->by_id, all[i].name.text, NULL);
        if (known)
            kept[n_kept++] = all[i];
        else
            id_unknown(l, g, x, all[i].place, verb, all[i].name.text);
    }
    *n = n_kept;
    return kept;
}

/* Patterns that match no id, each text once. */
static void cross_patterns(struct load *l, const struct load_graph *g, struct strmap *seen,
                           const struct graph_cross *all, uint32_t n)
{
    if (seen->n > PATTERN_TRIES / (g->n + 1))
        return;
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_word *w = &all[i].name;
        bool matches = w->kind != WORD_PATTERN || !strmap_put(seen, w->text, 0);
        for (uint32_t k = 0; !matches && k < g->n; k++)
            matches = graph_word_matches(w, g->sealed[k].id);
        if (!matches)
            catalog_fault(l, CATALOG_WARNING, ERR_UNKNOWN_NAME, all[i].place,
                          "/%s/ matches nothing of graph \"%s\"", w->text.s, g->name.s);
    }
}

/* --- who can be selected --- */

/* What nodes can be called, as far as the catalog knows: its roles, the groups of the graph and
 * what those select. */
static void callings_collect(const struct load *l, const struct load_graph *g,
                             struct strmap *ret_known, bool *ret_groups)
{
    for (size_t i = 0; i < l->roles.n; i++)
        strmap_put(ret_known, l->roles.at[i].role.name, 0);
    for (uint32_t i = 0; i < g->n; i++) {
        const struct graph_vertex *v = &g->sealed[i];
        if (v->kind != VERTEX_GROUP)
            continue;
        *ret_groups = true;
        strmap_put(ret_known, v->id, 0);
        for (uint32_t k = 0; k < v->nodes.n; k++)
            if (v->nodes.words[k].kind == WORD_NAME)
                strmap_put(ret_known, v->nodes.words[k].text, 0);
    }
}

/* Where a word of a selector stands. */
static struct catalog_where word_where(const struct value *v, struct str word)
{
    for (uint32_t i = 0; v->kind == VALUE_LIST && i < v->n; i++)
        if (str_eq(value_as_str(&v->items[i]), word))
            return catalog_where_of(&v->items[i]);
    return catalog_where_of(v);
}

/* `groups` names groups, where there are any. */
static void groups_check(struct load *l, const struct load_graph *g, const struct load_vertex *x,
                         const struct strmap *known)
{
    for (uint32_t i = 0; i < x->v.groups.n; i++) {
        const struct graph_word *w = &x->v.groups.words[i];
        if (w->kind != WORD_NAME || strmap_get(known, w->text, NULL))
            continue;
        struct err *e = catalog_fault(l, x->lenient ? CATALOG_WARNING : CATALOG_ERROR,
                                      ERR_UNKNOWN_NAME, word_where(x->groups, w->text),
                                      "\"%s\" names group \"%s\", which is none of graph \"%s\"",
                                      x->v.id.s, w->text.s, g->name.s);
        catalog_hint_nearest(e, w->text, known);
    }
}

/* A task none of whose words is known may still meet nodes with groups of their own. */
static void selector_check(struct load *l, const struct load_vertex *x, const struct strmap *known,
                           struct strmap *told)
{
    const struct graph_selector *s = &x->v.nodes;

    if (x->v.kind != VERTEX_TASK || s->kind != SELECT_WORDS || !s->n)
        return;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->words[i].kind != WORD_NAME || strmap_get(known, s->words[i].text, NULL))
            return;
    if (!strmap_put(told, s->words[0].text, 0))
        return;
    struct err *e = catalog_fault(l, CATALOG_WARNING, ERR_UNKNOWN_NAME, x->v.where,
                                  "task \"%s\": no role or group is called \"%s\"", x->v.id.s,
                                  s->words[0].text.s);
    catalog_hint_nearest(e, s->words[0].text, known);
}

/* --- parts --- */

/* The lowest number of the part that v is in; halves the way for those who come after. */
static uint32_t part_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

static void part_join(uint32_t *up, uint32_t a, uint32_t b)
{
    uint32_t x = part_of(up, a), y = part_of(up, b);
    up[x > y ? x : y] = x > y ? y : x;
}

struct parts {
    const struct load_graph *g;
    uint32_t *up;
    struct strmap seen[2]; /* patterns, over all vertices or groups only: one that matches */
    uint32_t tries;        /* left */
};

/* What one pattern matches is one part from then on: whoever says it is joined with all of it. */
static uint32_t part_pattern(struct parts *p, const struct graph_word *w, bool groups)
{
    uint32_t first = CATALOG_NONE;
    uintptr_t known;

    if (strmap_get(&p->seen[groups], w->text, &known))
        return (uint32_t)known;
    for (uint32_t i = 0; i < p->g->n && p->tries; i++) {
        const struct graph_vertex *v = &p->g->sealed[i];
        if (groups && v->kind != VERTEX_GROUP)
            continue;
        p->tries--;
        if (!graph_word_matches(w, v->id))
            continue;
        if (first == CATALOG_NONE)
            first = i;
        part_join(p->up, first, i);
    }
    strmap_put(&p->seen[groups], w->text, first);
    return first;
}

static void part_join_word(struct parts *p, uint32_t v, const struct graph_word *w, bool groups)
{
    uint32_t other = CATALOG_NONE;
    uintptr_t id;

    if (w->kind == WORD_PATTERN)
        other = part_pattern(p, w, groups);
    else if (w->kind == WORD_NAME && strmap_get(&p->g->by_id, w->text, &id) &&
             (!groups || p->g->sealed[id].kind == VERTEX_GROUP))
        other = (uint32_t)id;
    if (other != CATALOG_NONE)
        part_join(p->up, v, other);
}

static void part_join_vertex(struct parts *p, uint32_t i)
{
    const struct graph_vertex *v = &p->g->sealed[i];

    for (uint32_t k = 0; k < v->n_requires; k++)
        part_join(p->up, i, v->requires[k]);
    for (uint32_t k = 0; k < v->n_required_for; k++)
        part_join(p->up, i, v->required_for[k]);
    for (uint32_t k = 0; k < v->n_tasks; k++)
        part_join(p->up, i, v->tasks[k]);
    for (uint32_t k = 0; k < v->n_depends; k++)
        part_join_word(p, i, &v->depends[k].name, false);
    for (uint32_t k = 0; k < v->n_depended_by; k++)
        part_join_word(p, i, &v->depended_by[k].name, false);
    for (uint32_t k = 0; k < v->nodes.n; k++)
        part_join_word(p, i, &v->nodes.words[k], true);
}

/* Two vertices that nothing connects: one of them has probably forgotten what it waits for. */
static void parts_check(struct load *l, const struct load_graph *g)
{
    struct parts p = {.g = g, .tries = PATTERN_TRIES};
    uint32_t first = 0;
    bool open = false; /* where expressions decide, or too much would have to be tried */

    p.up = arena_new(&l->scratch, uint32_t, g->n);
    for (uint32_t i = 0; i < g->n; i++)
        p.up[i] = i;
    for (uint32_t i = 0; i < g->n; i++) {
        open |= g->sealed[i].depends_of || g->sealed[i].depended_by_of;
        part_join_vertex(&p, i);
    }
    /* Nobody has to use the stages that are built in. */
    while (first < g->n && g->from[first] == CATALOG_NONE)
        first++;
    for (uint32_t i = first; i < g->n && !open && p.tries; i++) {
        if (part_of(p.up, i) == part_of(p.up, first))
            continue;
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, g->sealed[i].where,
                      "graph \"%s\" is in several parts: nothing connects \"%s\" with \"%s\"",
                      g->name.s, g->sealed[i].id.s, g->sealed[first].id.s);
        break;
    }
    strmap_done(&p.seen[0]);
    strmap_done(&p.seen[1]);
}

/* --- all together --- */

static void vertex_resolve(struct load *l, struct load_graph *g, uint32_t number)
{
    struct graph_vertex *v = &g->sealed[number];
    const struct load_vertex *x = &l->vertices.at[g->from[number]];

    v->requires = ids_resolve(l, g, x, "requires", &x->requires, &v->n_requires);
    v->required_for = ids_resolve(l, g, x, "is required for", &x->required_for, &v->n_required_for);
    v->tasks = ids_resolve(l, g, x, "has the task", &x->tasks, &v->n_tasks);
    v->depends = cross_resolve(l, g, x, "depends on", v->depends, &v->n_depends);
    v->depended_by = cross_resolve(l, g, x, "is depended on by", v->depended_by, &v->n_depended_by);
    members_check(l, g, x, v);
}

static void graph_resolve(struct load *l, struct load_graph *g)
{
    struct strmap known = {0}, told = {0}, patterns = {0};
    bool groups = false;

    callings_collect(l, g, &known, &groups);
    for (uint32_t i = 0; i < g->n; i++) {
        if (g->from[i] == CATALOG_NONE)
            continue;
        const struct load_vertex *x = &l->vertices.at[g->from[i]];
        vertex_resolve(l, g, i);
        cross_patterns(l, g, &patterns, g->sealed[i].depends, g->sealed[i].n_depends);
        cross_patterns(l, g, &patterns, g->sealed[i].depended_by, g->sealed[i].n_depended_by);
        if (groups)
            groups_check(l, g, x, &known);
        selector_check(l, x, &known, &told);
    }
    parts_check(l, g);
    strmap_done(&known);
    strmap_done(&told);
    strmap_done(&patterns);
}

void catalog_resolve_graphs(struct load *l)
{
    for (uint32_t i = 0; i < l->graphs.n; i++) {
        vertices_collect(l, i);
        graph_resolve(l, &l->graphs.at[i]);
    }
}
