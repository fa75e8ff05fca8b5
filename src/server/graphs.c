/* graphs.c - overlays laid over the graphs of a catalog, and whether they fit */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/graphs.h"

#include "base/text.h"
#include "base/yaml.h"
#include "server/server_i.h"

/* --- names and texts --- */

const char *graphs_layer_name(const struct server *s, struct arena *mem,
                              const struct overlay_key *k)
{
    bool plain = str_is(k->graph, GRAPHS_DEFAULT);
    const char *graph = arena_strndup(mem, k->graph.s, k->graph.n);

    if (k->scope == OVERLAY_DEPLOYMENT)
        return arena_printf(mem, "deployment_tasks%s%s of %s", plain ? "" : " ", plain ? "" : graph,
                            view_deployment_name(s, k->deployment));
    return arena_printf(mem, "deployment_tasks%s%s of barclamp %s", plain ? "" : " ",
                        plain ? "" : graph, arena_strndup(mem, k->barclamp.s, k->barclamp.n));
}

int graphs_parse(struct server *s, const struct overlay_key *k, struct str text, struct arena *mem,
                 const struct value **ret_tasks, struct err *e)
{
    struct yaml_options o = {.name = graphs_layer_name(s, mem, k)};
    struct value *v;
    int rc = yaml_parse(mem, text.s, text.n, &o, &v, e);

    if (rc < 0)
        return rc;
    if (v->kind != VALUE_LIST) {
        err_set(e, ERR_INVALID, "expected a list of tasks, not %s",
                v->kind == VALUE_NULL ? "nothing" : value_kind_name(v->kind));
        err_at(e, "%s", o.name);
        return err_hint(e, "[] takes the overlay away");
    }
    *ret_tasks = v;
    return 0;
}

struct text_read {
    struct arena *mem;
    struct str text;
};

static int text_row(void *arg, enum row_table t, const void *row, struct err *e)
{
    struct text_read *to = arg;
    const struct row_overlay *r = row;
    (void)t;
    (void)e;
    to->text = (struct str){arena_strndup(to->mem, r->text.s, r->text.n), r->text.n};
    return 0;
}

int graphs_text(struct server *s, const struct overlay *v, struct arena *mem, struct str *ret,
                struct err *e)
{
    struct text_read to = {.mem = mem};
    int rc;

    if (v->text.s) {
        *ret = (struct str){arena_strndup(mem, v->text.s, v->text.n), v->text.n};
        return 0;
    }
    rc = store_range(s->reader, ROWS_OVERLAY, v->id, v->id, false, 1, text_row, &to, e);
    if (rc < 0)
        return rc;
    if (!to.text.s)
        return err_set(e, ERR_CORRUPT, "overlay %u is not in the store", v->id);
    *ret = to.text;
    return 0;
}

/* --- layers --- */

static bool key_same(const struct overlay_key *a, const struct overlay_key *b)
{
    return a->scope == b->scope && a->deployment == b->deployment &&
           str_eq(a->barclamp, b->barclamp) && str_eq(a->graph, b->graph);
}

/* 1 and the layer, 0 if nothing lies there. */
static int layer_make(struct server *s, const struct overlay_key *k, uint32_t barclamp,
                      const struct graphs_trial *trial, struct arena *mem, struct graph_layer *ret,
                      struct err *e)
{
    const struct overlay *newest = overlays_newest(s->overlays, k);
    const struct value *tasks = NULL;
    struct str text = {"", 0};
    int rc = 0;

    if (trial && key_same(&trial->key, k)) {
        tasks = trial->tasks;
        text = trial->text;
    } else if (newest && newest->tasks) {
        text = newest->text;
        rc = graphs_parse(s, k, text, mem, &tasks, e);
    }
    if (rc < 0 || !tasks || tasks->n == 0)
        return rc;
    *ret = (struct graph_layer){graphs_layer_name(s, mem, k), text, tasks, barclamp};
    return 1;
}

int graphs_layers(struct server *s, const struct catalog *cat, uint32_t deployment,
                  struct str graph, const struct graphs_trial *trial, struct arena *mem,
                  const struct graph_layer **ret, size_t *ret_n, struct err *e)
{
    struct graph_layer *at = arena_new(mem, struct graph_layer, cat->n_barclamps + 1u);
    struct overlay_key own = {OVERLAY_DEPLOYMENT, {"", 0}, deployment, graph};
    size_t n = 0;
    int rc = 0;

    for (uint32_t i = 0; rc >= 0 && i < cat->n_barclamps; i++) {
        struct overlay_key k = {OVERLAY_BARCLAMP, cat->barclamps[i].name, 0, graph};
        rc = layer_make(s, &k, i, trial, mem, &at[n], e);
        n += rc > 0;
    }
    if (rc >= 0 && deployment) {
        rc = layer_make(s, &own, CATALOG_NONE, trial, mem, &at[n], e);
        n += rc > 0;
    }
    *ret = at;
    *ret_n = n;
    return rc < 0 ? rc : 0;
}

static int graph_missing(struct server *s, const struct catalog *cat, struct str graph,
                         struct err *e)
{
    VEC(const char *) names = {0};
    struct overlay_key k;
    const struct overlay *newest;

    for (uint32_t i = 0; i < cat->n_graphs; i++)
        vec_push(&names, cat->graphs[i].name.s);
    for (size_t i = 0; i < overlays_piles(s->overlays); i++)
        if (overlays_pile(s->overlays, i, &k, &newest) && newest->tasks)
            vec_push(&names, k.graph.s);
    const char *near = text_nearest(graph, names.at, names.n);
    int rc = err_set(e, ERR_NOT_FOUND, "there is no task graph %.*s", (int)graph.n, graph.s);
    if (near)
        err_hint(e, "did you mean \"%s\"?", near);
    else
        err_hint(e, "graphs are in the folders graphs/ of the catalog, or laid over it");
    vec_done(&names);
    return rc;
}

static int layers_merge(struct server *s, const struct catalog *cat, struct str graph,
                        const struct graph_layer *layers, size_t n, struct catalog_report *report,
                        struct graph_overlay **ret, struct err *e)
{
    if (n == 0 && !catalog_graph_get(cat, graph))
        return graph_missing(s, cat, graph, e);
    return graph_overlay_new(cat, graph, layers, n, report, ret, e);
}

int graphs_merge(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
                 const struct graphs_trial *trial, struct catalog_report *report,
                 struct graph_overlay **ret, struct err *e)
{
    SCOPED_ARENA(mem);
    const struct graph_layer *layers;
    size_t n;
    int rc = graphs_layers(s, cat, deployment, graph, trial, &mem, &layers, &n, e);
    return rc < 0 ? rc : layers_merge(s, cat, graph, layers, n, report, ret, e);
}

int graphs_of(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
              struct graph_overlay **ret, struct err *e)
{
    struct catalog_report report = {0};
    int rc = graphs_merge(s, cat, deployment, graph, NULL, &report, ret, e);
    catalog_report_done(&report);
    return rc;
}

int graphs_find(struct server *s, const struct catalog *cat, uint32_t deployment, struct str graph,
                const struct catalog_graph **ret_graph, struct graph_overlay **ret_own,
                struct err *e)
{
    const struct catalog_graph *plain = catalog_graph_get(cat, graph);
    struct catalog_report report = {0};
    struct graph_overlay *own = NULL;
    const struct graph_layer *layers;
    size_t n;
    SCOPED_ARENA(mem);
    int rc = graphs_layers(s, cat, deployment, graph, NULL, &mem, &layers, &n, e);

    if (rc >= 0 && (n || !plain))
        rc = layers_merge(s, cat, graph, layers, n, &report, &own, e);
    catalog_report_done(&report);
    if (rc < 0)
        return rc;
    *ret_graph = own ? &own->graph : plain;
    *ret_own = own;
    return 0;
}

/* --- checks --- */

/* One graph as one deployment runs it, 0: as all others do. */
static int check_one(struct server *s, const struct catalog *cat, uint32_t deployment,
                     struct str graph, const struct graphs_trial *trial,
                     struct catalog_report *report, struct err *e)
{
    SCOPED(graph_overlay) *o = NULL;
    int rc = graphs_merge(s, cat, deployment, graph, trial, report, &o, e);
    return rc == -ERR_NOT_FOUND ? 0 : rc; /* all of it was taken away */
}

/* Deployments that have something of their own over a graph. */
static int check_above(struct server *s, const struct catalog *cat,
                       const struct graphs_trial *trial, struct err *e)
{
    for (size_t i = 0; i < overlays_piles(s->overlays); i++) {
        struct catalog_report report = {0};
        struct overlay_key k;
        const struct overlay *newest;
        if (!overlays_pile(s->overlays, i, &k, &newest) || k.scope != OVERLAY_DEPLOYMENT ||
            newest->tasks == 0 || !str_eq(k.graph, trial->key.graph))
            continue;
        int rc = check_one(s, cat, k.deployment, k.graph, trial, &report, e);
        catalog_report_done(&report);
        if (rc < 0)
            return err_wrap(e, "with what deployment %s has over it",
                            view_deployment_name(s, k.deployment));
    }
    return 0;
}

int graphs_check(struct server *s, const struct catalog *cat, const struct graphs_trial *trial,
                 struct catalog_report *report, struct err *e)
{
    int rc = check_one(s, cat, trial->key.deployment, trial->key.graph, trial, report, e);
    if (rc >= 0 && trial->key.scope == OVERLAY_BARCLAMP)
        rc = check_above(s, cat, trial, e);
    return rc;
}

static int misfit(struct server *s, const struct overlay_key *k, const struct overlay *v,
                  struct err *e)
{
    bool own = k->scope == OVERLAY_DEPLOYMENT;
    const char *noun = own ? "deployment" : "barclamp";
    const char *name = own ? view_deployment_name(s, k->deployment) : k->barclamp.s;

    err_wrap(e, "this catalog does not fit version %u of the overlay of %s %s", v->version, noun,
             name);
    return err_hint(e, "`anneal %s tasks-set %s FILE` sets another one; [] in the file is none",
                    noun, name);
}

int graphs_check_catalog(struct server *s, const struct catalog *cat, struct err *e)
{
    int rc = 0;

    for (size_t i = 0; rc >= 0 && i < overlays_piles(s->overlays); i++) {
        struct catalog_report report = {0};
        struct overlay_key k;
        const struct overlay *newest;
        if (!overlays_pile(s->overlays, i, &k, &newest) || newest->tasks == 0)
            continue;
        if (k.scope == OVERLAY_BARCLAMP && !catalog_barclamp_get(cat, k.barclamp))
            rc = err_set(e, ERR_UNKNOWN_NAME, "there is no barclamp %s in it", k.barclamp.s);
        else
            rc = check_one(s, cat, k.deployment, k.graph, NULL, &report, e);
        catalog_report_done(&report);
        if (rc < 0)
            rc = misfit(s, &k, newest, e);
    }
    return rc < 0 ? rc : 0;
}
