/* cluster_show.c - clusters, and what an operation on one comes to, as values */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "server/cluster_i.h"
#include "server/pace.h"

/* --- what an operation comes to --- */

static struct value *node_names(const struct cluster_work *w, bool going)
{
    struct value *list = value_list(w->mem);
    for (size_t i = 0; going && i < w->going.n; i++)
        value_add(w->mem, list, value_str(w->mem, w->was.nodes.at[w->going.at[i]].name));
    for (size_t i = 0; !going && i < w->now.nodes.n; i++)
        if (!w->now.nodes.at[i].id)
            value_add(w->mem, list,
                      value_text(w->mem, arena_printf(w->mem, "new %zu", list->n + (size_t)1)));
    return list;
}

static struct value *services_of(struct arena *mem, const struct cluster_look *l,
                                 const struct cluster_node *n)
{
    struct value *list = value_list(mem);
    for (size_t i = 0; i < n->roles.n; i++)
        value_add(mem, list, value_str(mem, l->roles.at[n->roles.at[i]].name));
    return list;
}

/* How long the steps of a phase take, by what was learnt of them; 0: of one nothing is known. */
static uint64_t phase_us(struct cluster_work *w, uint32_t service, enum phase_kind phase)
{
    bool machine = service == PHASE_NIL;
    const struct phase_steps *steps = &w->steps[machine ? w->roles.n : service].at[phase];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < steps->n; i++) {
        const struct plan_def *d = &steps->at[i].def;
        const struct value *body = view_json(w->mem, d->body.s);
        uint64_t us = pace_expected_us(
            w->server->pace,
            pace_key(d->role.s, d->name.s, value_as_text(value_get(body, "type"), "")));
        if (!us)
            return 0;
        sum += us;
    }
    return sum;
}

/* The longest way, or the most that one node has to do, one task at a time; 0: not known. */
static uint64_t plan_eta_us(struct cluster_work *w)
{
    const struct phase_graph *g = w->graph;
    size_t n_roles = w->roles.n + 1;
    uint64_t *known = arena_new(w->mem, uint64_t, n_roles * PHASE_KIND_COUNT);
    uint64_t *until = arena_new(w->mem, uint64_t, g->n), most = 0;
    uint64_t *busy = arena_new(w->mem, uint64_t, w->nodes.n + 1);
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t v = g->order[i];
        const struct phase_vertex *at = &g->vertices[v];
        uint64_t us = 0;
        if (v < g->n_tasks) {
            size_t role = at->service == PHASE_NIL ? w->roles.n : at->service;
            uint64_t *cell = &known[role * PHASE_KIND_COUNT + at->kind];
            us = *cell ? *cell : (*cell = phase_us(w, at->service, (enum phase_kind)at->kind));
            if (!us)
                return 0;
            busy[at->node] += us;
            most = busy[at->node] > most ? busy[at->node] : most;
        }
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++)
            until[v] = until[g->deps[k]] > until[v] ? until[g->deps[k]] : until[v];
        until[v] += us;
        most = until[v] > most ? until[v] : most;
    }
    return most;
}

struct value *cluster_plan_value(struct cluster_work *w)
{
    uint64_t eta = plan_eta_us(w);
    struct arena *mem = w->mem;
    struct value *v = value_map(mem);
    struct phase_stages stages;
    phase_stages(w->graph, mem, &stages);
    value_put_int(mem, v, "tasks", w->graph->n_tasks);
    value_put_int(mem, v, "joins", w->graph->n_joins);
    value_put_int(mem, v, "stages", stages.n);
    value_set(mem, v, "eta_ms", eta ? value_int(mem, (int64_t)(eta / 1000 + 1)) : value_null(mem));
    return v;
}

/* What is missing and is made besides, or was left behind and is taken up: [{node, services}], with
 * the machine's role where it is missing. */
static struct value *besides_value(struct cluster_work *w, bool behind)
{
    struct value *list = value_list(w->mem);
    for (size_t i = 0; i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i];
        struct value *one = value_map(w->mem), *what = value_list(w->mem);
        if (n->missing && !behind)
            value_add(w->mem, what, value_str(w->mem, n->was->machine));
        for (size_t k = 0; k < n->cells.n; k++)
            if (behind ? n->cells.at[k].behind : n->cells.at[k].missing)
                value_add(w->mem, what, value_str(w->mem, w->roles.at[n->cells.at[k].role].name));
        if (!what->n)
            continue;
        value_set(w->mem, one, "node", value_str(w->mem, n->was->name));
        value_set(w->mem, one, "services", what);
        value_add(w->mem, list, one);
    }
    return list;
}

static struct value *stays_value(struct cluster_work *w)
{
    struct value *list = value_list(w->mem);
    for (size_t i = 0; i < w->stays.n; i++) {
        const struct work_stay *s = &w->stays.at[i];
        struct value *one = value_map(w->mem);
        value_set(w->mem, one, "node", value_str(w->mem, w->was.nodes.at[s->node].name));
        value_put_text(w->mem, one, "is", s->dead ? "dead" : "in error");
        value_set(w->mem, one, "why", value_str(w->mem, s->why));
        value_add(w->mem, list, one);
    }
    return list;
}

struct value *cluster_difference_value(struct cluster_work *w)
{
    struct arena *mem = w->mem;
    struct value *v = value_map(mem), *changed = value_list(mem);
    value_set(mem, v, "new_nodes", node_names(w, false));
    value_set(mem, v, "given_up", node_names(w, true));
    for (size_t i = 0; i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i];
        struct value *plus = value_list(mem), *minus = value_list(mem);
        for (size_t k = 0; n->was && n->now && k < n->cells.n; k++) {
            const struct work_cell *c = &n->cells.at[k];
            if (c->has != c->had)
                value_add(mem, c->has ? plus : minus, value_str(mem, w->roles.at[c->role].name));
        }
        if (!plus->n && !minus->n)
            continue;
        struct value *one = value_map(mem);
        value_set(mem, one, "node", value_str(mem, n->was->name));
        value_set(mem, one, "added", plus);
        value_set(mem, one, "removed", minus);
        value_add(mem, changed, one);
    }
    value_set(mem, v, "stays", stays_value(w));
    value_set(mem, v, "changed", changed);
    value_set(mem, v, "finished", besides_value(w, false));
    value_set(mem, v, "taken_up", besides_value(w, true));
    value_put_bool(
        mem, v, "config",
        !value_equal(value_get(w->was.spec, "config"), value_get(w->now.spec, "config")));
    return v;
}

/* --- a cluster --- */

/* What waits, by verb. */
static struct value *waiting_value(struct arena *a, const struct cluster *c)
{
    struct value *verbs = value_list(a), *list = NULL;
    struct err e;
    if (c->waiting && json_parse(a, c->waiting, strlen(c->waiting), NULL, &list, &e) >= 0)
        for (uint32_t i = 0; i < list->n; i++)
            value_add(a, verbs, value_copy(a, value_get(&list->items[i], "verb")));
    return verbs;
}

struct value *view_cluster(struct server *s, struct arena *a, const struct cluster *c, bool full)
{
    const struct snapshot *head = desire_head(s->desire, c->deployment);
    struct value *v = value_map(a), *nodes = value_list(a);
    const struct catalog *cat;
    struct cluster_look l;
    struct err e;
    value_put_text(a, v, "name", view_deployment_name(s, c->deployment));
    value_put_int(a, v, "id", c->deployment);
    value_put_text(a, v, "state", cluster_state_name(cluster_state_now(s, c)));
    value_put_text(a, v, "owner", c->owner);
    value_put_text(a, v, "last", cluster_verb_name(c->verb));
    value_put_int(a, v, "operation", c->operation);
    value_put_int(a, v, "revision", head ? head->number : 0);
    value_put_text(a, v, "created_at", view_time(a, c->created_ms));
    value_put_text(a, v, "expires_at", view_time(a, c->lease_ms));
    value_put_int(a, v, "rev", c->rev);
    value_set(a, v, "waiting", waiting_value(a, c));
    if (!head || catalog_generation(s, head->catalog, &cat, &e) < 0 ||
        cluster_look(&l, s, a, cat, c->deployment, head->root, &e) < 0)
        return v;
    const struct value *spec = l.spec;
    value_set(a, v, "template",
              value_str(a, value_as_str(value_get(value_get(spec, "template"), "template"))));
    value_set(a, v, "provider", value_str(a, value_as_str(value_get(spec, "provider"))));
    value_set(a, v, "services", value_copy(a, value_get(spec, "services")));
    value_put_int(a, v, "size", (int64_t)l.nodes.n);
    for (size_t i = 0; full && i < l.nodes.n; i++) {
        const struct cluster_node *n = &l.nodes.at[i];
        struct value *one = value_map(a);
        value_set(a, one, "name", value_str(a, n->name));
        value_put_int(a, one, "number", n->number);
        value_set(a, one, "hardware", value_str(a, n->hardware));
        value_set(a, one, "image", value_str(a, n->image));
        value_set(a, one, "services", services_of(a, &l, n));
        value_put_text(a, one, "state", noderole_state_name(view_node_state(s, n->id)));
        value_add(a, nodes, one);
    }
    if (full) {
        value_set(a, v, "config", value_copy(a, value_get(spec, "config")));
        value_set(a, v, "nodes", nodes);
        value_set(a, v, "links", data_cluster_links(s, c->deployment, a));
        value_set(a, v, "missing", cluster_missing_names(s, a, c));
        value_set(a, v, "left", remedy_standing(s, a, c->deployment, 0));
    }
    cluster_look_done(&l);
    return v;
}
