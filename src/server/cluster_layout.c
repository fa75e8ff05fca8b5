/* cluster_layout.c - from a request to what the cluster shall be
 *
 * Starts from what it is.  Only what the request is about changes: nodes that exist keep hardware
 * and image, and services that nobody mentioned stay where they are.  Who is given up first: what
 * is dead, then what is in error, then the highest number; as far as rules allow, and else it is
 * told which do not.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- the document --- */

static void spec_text(struct arena *mem, struct value *spec, const char *key, struct str text)
{
    if (text.n)
        value_set(mem, spec, key, value_str(mem, text));
}

static struct value *names_value(struct arena *mem, struct catalog_names names)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; i < names.n; i++)
        value_add(mem, list, value_str(mem, names.at[i]));
    return list;
}

static int spec_make(struct cluster_work *w, struct value **ret, struct err *e)
{
    const struct cluster_ask *ask = w->ask;
    struct arena *mem = w->mem;
    const struct catalog_template *t;
    struct value *spec = value_map(mem);
    int rc = catalog_template_resolve(w->now.catalog, ask->template, mem, &t, e);
    if (rc < 0)
        return err_at(e, "/template");
    value_set(mem, spec, "template", (struct value *)(uintptr_t)t->body);
    value_set(mem, spec, "services",
              names_value(mem, ask->services.n ? ask->services : t->services));
    spec_text(mem, spec, "provider", ask->provider.n ? ask->provider : t->provider);
    spec_text(mem, spec, "hardware", ask->hardware.n ? ask->hardware : t->hardware);
    spec_text(mem, spec, "image", ask->image.n ? ask->image : t->image);
    spec_text(mem, spec, "comparator", ask->comparator.n ? ask->comparator : t->comparator);
    spec_text(mem, spec, "domain", ask->domain.n ? ask->domain : t->domain);
    const struct value *config = ask->config && ask->merge
                                     ? value_merge(mem, t->config, ask->config)
                                 : ask->config ? ask->config
                                               : t->config;
    value_set(mem, spec, "config", value_copy(mem, config));
    *ret = spec;
    return 0;
}

/* Another document with some parts replaced. */
static struct value *spec_with(struct cluster_work *w, const char *key, const struct value *part)
{
    struct value *spec = value_map(w->mem);
    for (uint32_t i = 0; i < w->was.spec->n; i++)
        value_set(w->mem, spec, w->was.spec->members[i].key, &w->was.spec->members[i].v);
    value_set(w->mem, spec, key, part);
    return spec;
}

/* --- nodes that exist, for the solver --- */

enum { STANDING_DEAD, STANDING_ERROR, STANDING_WELL };
struct standing { /* in the order in which they are given up */
    uint32_t node, rank;
};

static uint32_t rank_of(const struct server *s, uint32_t id)
{
    struct node_view v;
    if (!anneal_node(s->engine, id, &v))
        return STANDING_DEAD;
    return v.alive == ALIVE_DEAD ? STANDING_DEAD : v.errors ? STANDING_ERROR : STANDING_WELL;
}

static int by_turn(const void *x, const void *y)
{
    const struct standing *a = x, *b = y;
    if (a->rank != b->rank)
        return (a->rank > b->rank) - (a->rank < b->rank);
    return (a->node < b->node) - (a->node > b->node); /* highest number first */
}

static bool is_service(const struct cluster_look *l, uint32_t role)
{
    return l->roles.at[role].is && l->roles.at[role].is->phased;
}

static struct catalog_names node_services(const struct cluster_look *l,
                                          const struct cluster_node *n)
{
    struct str *at = arena_new(l->mem, struct str, n->roles.n);
    uint32_t k = 0;
    for (size_t i = 0; i < n->roles.n; i++)
        if (is_service(l, n->roles.at[i]))
            at[k++] = l->roles.at[n->roles.at[i]].name;
    return (struct catalog_names){at, k};
}

static void node_labels(const struct cluster_look *l, const struct cluster_node *n,
                        struct layout_node *ret)
{
    struct layout_label *labels = arena_new(l->mem, struct layout_label, n->labels->n);
    for (uint32_t i = 0; i < n->labels->n; i++)
        labels[i] = (struct layout_label){{n->labels->members[i].key, n->labels->members[i].key_n},
                                          value_as_str(&n->labels->members[i].v)};
    ret->labels = labels;
    ret->n_labels = n->labels->n;
}

static bool alike(const struct cluster_node *a, const struct cluster_node *b)
{
    return a->roles.n == b->roles.n &&
           (!a->roles.n || !memcmp(a->roles.at, b->roles.at, a->roles.n * sizeof *a->roles.at)) &&
           str_eq(a->hardware, b->hardware) && str_eq(a->image, b->image) &&
           value_equal(a->labels, b->labels);
}

static struct layout_node entry_of(const struct cluster_look *l, const struct cluster_node *n,
                                   bool keep)
{
    struct layout_node e = {.services = node_services(l, n),
                            .hardware = n->hardware,
                            .image = n->image,
                            .count = 1,
                            .keep = keep};
    node_labels(l, n, &e);
    return e;
}

struct existing {
    struct standing *turn;
    struct layout_node *at;
    uint32_t n, *first; /* by entry: into turn; and the end */
};

static void existing_make(struct cluster_work *w, bool keep, struct existing *ret)
{
    const struct cluster_look *l = &w->was;
    uint32_t n = (uint32_t)l->nodes.n;
    ret->turn = arena_new(w->mem, struct standing, n);
    ret->at = arena_new(w->mem, struct layout_node, n);
    ret->first = arena_new(w->mem, uint32_t, n + 1);
    ret->n = 0;
    for (uint32_t i = 0; i < n; i++)
        ret->turn[i] = (struct standing){i, rank_of(w->server, l->nodes.at[i].id)};
    if (n)
        qsort(ret->turn, n, sizeof *ret->turn, by_turn);
    for (uint32_t i = 0; i < n; i++) {
        const struct cluster_node *node = &l->nodes.at[ret->turn[i].node];
        if (i > 0 && alike(node, &l->nodes.at[ret->turn[i - 1].node])) {
            ret->at[ret->n - 1].count++;
            continue;
        }
        ret->at[ret->n] = entry_of(l, node, keep);
        ret->first[ret->n++] = i;
    }
    ret->first[ret->n] = n;
}

/* --- back from the solver --- */

static const struct value *labels_value(struct arena *mem, const struct layout_kind *k)
{
    struct value *v = value_map(mem);
    for (uint32_t i = 0; i < k->n_labels; i++)
        value_set(mem, v, k->labels[i].name.s, value_str(mem, k->labels[i].value));
    return v;
}

static void node_fill(struct cluster_work *w, struct cluster_node *n, const struct layout_kind *k)
{
    /* Plain roles stay; services are those of the kind. */
    for (size_t i = n->roles.n; i-- > 0;)
        if (is_service(&w->now, n->roles.at[i]))
            cluster_node_drop(n, n->roles.at[i]);
    for (uint32_t i = 0; i < k->n_services; i++)
        cluster_node_add(n, cluster_look_role(&w->now, k->services[i]));
}

static void node_new(struct cluster_work *w, const struct layout_kind *k)
{
    struct str provider = value_as_str(value_get(w->now.spec, "provider"));
    struct cluster_node *n = vec_add(&w->now.nodes);
    *n = (struct cluster_node){.machine = str_of(arena_printf(w->mem, "%s.%.*s", CATALOG_MACHINE,
                                                              (int)provider.n, provider.s)),
                               .hardware = k->hardware,
                               .image = k->image,
                               .labels = labels_value(w->mem, k)};
    node_fill(w, n, k);
}

/* Kinds of nodes that exist come in their turn; those of an entry that are given up are its first.
 */
static void answer_apply(struct cluster_work *w, const struct existing *ex)
{
    const struct layout_answer *a = w->layout;
    uint32_t *next = arena_new(w->mem, uint32_t, ex->n + 1);
    bool *goes = arena_new(w->mem, bool, w->was.nodes.n + 1);
    for (uint32_t i = 0; i < ex->n; i++) {
        for (uint32_t k = 0; k < a->given_up[i]; k++)
            goes[ex->turn[ex->first[i] + k].node] = true;
        next[i] = ex->first[i] + a->given_up[i];
    }
    for (uint32_t k = 0; k < a->n_kinds; k++) {
        const struct layout_kind *kind = &a->kinds[k];
        if (kind->existing == LAYOUT_NEW)
            continue;
        for (uint32_t i = 0; i < kind->count; i++)
            node_fill(w, &w->now.nodes.at[ex->turn[next[kind->existing]++].node], kind);
    }
    size_t kept = 0;
    for (size_t i = 0; i < w->was.nodes.n; i++) {
        if (goes[i]) {
            vec_push(&w->going, (uint32_t)i);
            vec_done(&w->now.nodes.at[i].roles);
        } else {
            w->now.nodes.at[kept++] = w->now.nodes.at[i];
        }
    }
    w->now.nodes.n = kept;
    for (uint32_t k = 0; k < a->n_kinds; k++)
        for (uint32_t i = 0; a->kinds[k].existing == LAYOUT_NEW && i < a->kinds[k].count; i++)
            node_new(w, &a->kinds[k]);
}

static int refused(struct cluster_work *w, struct err *e)
{
    const struct layout_answer *a = w->layout;
    if (a->status == SOLVER_LIMIT) {
        err_set(e, ERR_LIMIT, "no layout was found in %llu steps", (unsigned long long)a->steps);
        return err_hint(e, "allow more with max_steps, or say less: a hardware type, an image");
    }
    err_set(e, ERR_REFUSED, "there is no layout: %s",
            a->n_conflict ? a->conflict[0].text.s : "the rules contradict each other");
    for (uint32_t i = 1; i < a->n_conflict && i < 4; i++)
        (void)err_set(e, ERR_REFUSED, "%s; %s", arena_strdup(w->mem, e->text),
                      a->conflict[i].text.s);
    return a->n_relaxation ? err_hint(e, "%s", a->relaxation[0].text.s) : -(int)e->code;
}

static int request_fill(struct cluster_work *w, struct layout_request *req, struct err *e)
{
    const struct value *spec = w->now.spec;
    req->catalog = w->now.catalog;
    req->services = cluster_services(w->mem, spec);
    req->provider = value_as_str(value_get(spec, "provider"));
    req->hardware = value_as_str(value_get(spec, "hardware"));
    req->image = value_as_str(value_get(spec, "image"));
    req->comparator = value_as_str(value_get(spec, "comparator"));
    req->max_steps = w->ask->max_steps;
    return cluster_template(w->mem, spec, &req->template, e);
}

static int solve(struct cluster_work *w, const struct layout_request *more, bool keep,
                 struct existing *ret, struct err *e)
{
    struct layout_request req = *more;
    existing_make(w, keep, ret);
    int rc = request_fill(w, &req, e);
    req.existing = ret->at;
    req.n_existing = ret->n;
    if (rc >= 0)
        rc = layout_solve(w->mem, &req, &w->layout, e);
    if (rc < 0)
        return rc;
    if (w->layout->status != SOLVER_SOLVED)
        return refused(w, e);
    answer_apply(w, ret);
    return 0;
}

/* --- who stays, although it comes before one that goes --- */

enum { STAYS_EXPLAINED = 16, STAYS_RULES = 3 };

/* What would be left if this one went and the other stayed, as rules that cannot hold then; "": not
 * known. */
static struct str stays_why(struct cluster_work *w, const bool *goes, uint32_t stays,
                            uint32_t instead)
{
    const struct cluster_look *l = &w->was;
    struct layout_request req = {0};
    struct layout_node *at = arena_new(w->mem, struct layout_node, l->nodes.n);
    const struct cluster_node *before = NULL;
    const struct layout_answer *a;
    const char *why = "";
    struct err e;
    uint32_t told = 0;
    for (uint32_t i = 0; i < l->nodes.n; i++) {
        const struct cluster_node *n = &l->nodes.at[i];
        if (i == stays || (goes[i] && i != instead))
            continue;
        if (before && alike(n, before))
            at[req.n_existing - 1].count++;
        else
            at[req.n_existing++] = entry_of(l, n, true);
        before = n;
    }
    req.existing = at;
    req.nodes_min = req.nodes_max = (uint32_t)w->now.nodes.n;
    if (request_fill(w, &req, &e) < 0 || layout_solve(w->mem, &req, &a, &e) < 0 ||
        a->status != SOLVER_UNSATISFIABLE)
        return str_of("");
    for (uint32_t i = 0; i < a->n_conflict && told < STAYS_RULES; i++) {
        const struct layout_reason *r = &a->conflict[i];
        if (r->rule != SOLVER_RULE_NODES && r->rule != SOLVER_RULE_EXISTING)
            why = arena_printf(w->mem, "%s%s%.*s", why, told++ ? "; " : "", (int)r->text.n,
                               r->text.s);
    }
    return str_of(why);
}

/* The order is a wish, and rules are not: a dead node stays if they hold only with it. */
static void stays_find(struct cluster_work *w, const struct existing *ex)
{
    uint32_t n = (uint32_t)w->was.nodes.n, last = 0;
    bool *goes = arena_new(w->mem, bool, n + 1);
    for (size_t i = 0; i < w->going.n; i++)
        goes[w->going.at[i]] = true;
    for (uint32_t i = 0; i < n; i++)
        if (goes[ex->turn[i].node])
            last = i;
    for (uint32_t i = 0; i < last && w->stays.n < STAYS_EXPLAINED; i++) {
        const struct standing *t = &ex->turn[i];
        if (!goes[t->node] && t->rank < ex->turn[last].rank)
            vec_push(&w->stays,
                     ((struct work_stay){t->node, t->rank == STANDING_DEAD,
                                         stays_why(w, goes, t->node, ex->turn[last].node)}));
    }
}

/* --- by what is asked for --- */

static int lay_create(struct cluster_work *w, struct err *e)
{
    struct existing ex;
    struct value *spec = NULL;
    const struct catalog_template *t;
    struct layout_request req = {.nodes_min = w->ask->nodes_min, .nodes_max = w->ask->nodes_max};
    int rc = spec_make(w, &spec, e);
    if (rc < 0)
        return rc;
    w->now.spec = spec;
    if (!req.nodes_max) { /* as few as the template allows */
        if ((rc = cluster_template(w->mem, spec, &t, e)) < 0)
            return rc;
        req.nodes_min = req.nodes_max = t->min_nodes ? t->min_nodes : 1;
    }
    return solve(w, &req, true, &ex, e);
}

static int lay_resize(struct cluster_work *w, bool grow, struct err *e)
{
    const struct cluster_ask *ask = w->ask;
    uint32_t have = (uint32_t)w->was.nodes.n;
    uint32_t to = ask->by ? (grow             ? have + ask->by
                             : have > ask->by ? have - ask->by
                                              : 0)
                          : ask->nodes_max;
    if (grow ? to <= have : to >= have || to == 0)
        return err_set(e, ERR_REFUSED, "the cluster has %s, and %s is not %s",
                       text_count(have, "node").s, to ? text_count(to, "node").s : "none",
                       grow ? "more"
                       : to ? "less"
                            : "a size");
    struct existing ex;
    struct layout_request req = {.nodes_min = to, .nodes_max = to, .give_up = grow ? 0 : have - to};
    int rc = solve(w, &req, grow, &ex, e);
    if (rc >= 0 && !grow)
        stays_find(w, &ex);
    return rc;
}

static bool named(struct catalog_names names, struct str name)
{
    for (uint32_t i = 0; i < names.n; i++)
        if (str_eq(names.at[i], name))
            return true;
    return false;
}

static int lay_services(struct cluster_work *w, bool add, struct err *e)
{
    struct catalog_names has = cluster_services(w->mem, w->was.spec), ask = w->ask->services;
    struct str *now = arena_new(w->mem, struct str, has.n + ask.n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < ask.n; i++)
        if (named(has, ask.at[i]) == add) {
            err_set(e, ERR_REFUSED,
                    add ? "service %s is on the cluster already"
                        : "service %s is not on the cluster",
                    ask.at[i].s);
            return err_at(e, "/services/%u", i);
        }
    for (uint32_t i = 0; i < has.n; i++)
        if (add || !named(ask, has.at[i]))
            now[n++] = has.at[i];
    for (uint32_t i = 0; add && i < ask.n; i++)
        now[n++] = ask.at[i];
    w->now.spec = spec_with(w, "services", names_value(w->mem, (struct catalog_names){now, n}));
    uint32_t nodes = (uint32_t)w->was.nodes.n;
    struct existing ex;
    struct layout_request req = {.nodes_min = nodes, .nodes_max = nodes, .involved = ask};
    return solve(w, &req, true, &ex, e);
}

static int lay_config(struct cluster_work *w)
{
    const struct value *config = w->ask->config;
    if (config && w->ask->merge)
        config = value_merge(w->mem, value_get(w->was.spec, "config"), config);
    if (config)
        w->now.spec = spec_with(w, "config", config);
    return 0;
}

/* To the template and the roles as the newest catalog has them. */
static int lay_upgrade(struct cluster_work *w, struct err *e)
{
    const struct catalog_template *t;
    struct str name = w->ask->template;
    if (!name.n)
        name = value_as_str(value_get(value_get(w->was.spec, "template"), "template"));
    int rc = catalog_template_resolve(w->now.catalog, name, w->mem, &t, e);
    if (rc < 0)
        return rc;
    w->now.spec = spec_with(w, "template", t->body);
    uint32_t nodes = (uint32_t)w->was.nodes.n;
    struct existing ex;
    struct layout_request req = {.nodes_min = nodes, .nodes_max = nodes};
    return solve(w, &req, true, &ex, e);
}

/* As it was then.  Nodes that are no more are made anew; those that came since go. */
static int lay_rollback(struct cluster_work *w)
{
    struct cluster_look *l = &w->now;
    size_t n = l->nodes.n, next = 0;
    struct cluster_node *then = arena_new(w->mem, struct cluster_node, n);
    bool *taken = arena_new(w->mem, bool, n + 1);
    if (n)
        memcpy(then, l->nodes.at, n * sizeof *then);
    vec_clear(&l->nodes);
    for (size_t i = 0; i < w->was.nodes.n; i++) {
        for (next = 0; next < n && then[next].id != w->was.nodes.at[i].id;)
            next++;
        if (next == n) {
            vec_push(&w->going, (uint32_t)i);
            continue;
        }
        taken[next] = true;
        vec_push(&l->nodes, then[next]);
    }
    for (size_t i = 0; i < n; i++)
        if (!taken[i]) {
            then[i].id = 0;
            vec_push(&l->nodes, then[i]);
        }
    return 0;
}

/* Everything, also nodes that an operation before gave up and could not get rid of. */
static int lay_delete(struct cluster_work *w)
{
    for (size_t i = 0; i < w->now.nodes.n; i++)
        vec_done(&w->now.nodes.at[i].roles);
    w->now.nodes.n = 0;
    cluster_look_left(&w->was);
    for (size_t i = 0; i < w->was.nodes.n; i++)
        vec_push(&w->going, (uint32_t)i);
    return 0;
}

int cluster_layout(struct cluster_work *w, struct err *e)
{
    switch (w->ask->verb) {
    case CLUSTER_CREATE: return lay_create(w, e);
    case CLUSTER_EXPAND: return lay_resize(w, true, e);
    case CLUSTER_SHRINK: return lay_resize(w, false, e);
    case CLUSTER_ADD: return lay_services(w, true, e);
    case CLUSTER_REMOVE: return lay_services(w, false, e);
    case CLUSTER_CONFIGURE: return lay_config(w);
    case CLUSTER_UPGRADE: return lay_upgrade(w, e);
    case CLUSTER_ROLLBACK: return lay_rollback(w);
    case CLUSTER_DELETE: return lay_delete(w);
    case CLUSTER_NONE:
    case CLUSTER_START:
    case CLUSTER_STOP:
    case CLUSTER_RESTART:
    case CLUSTER_ACT:
    case CLUSTER_VERB_COUNT: break;
    }
    return 0;
}
