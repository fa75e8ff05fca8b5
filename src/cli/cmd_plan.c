/* cmd_plan.c - a task graph laid over nodes, without a server
 *
 * With --template it is a cluster instead: cmd_plan_cluster.c.
 *
 * Everything comes from files: the catalog from a directory, nodes from NODES.yaml:
 *
 *     common: {...}                                        what expressions see as `common`
 *     nodes: [{name: node-1, roles: [controller], data: {...}, deployed: true}]
 *
 * Expressions see `data`, which is common with the node's data over it and its `roles`, and `node`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "cli/cli_i.h"
#include "cli/cli_layout_i.h"
#include "cli/table_i.h"
#include "planner/weave.h"
#include "planner/weave_write.h"
#include "template/expr.h"

struct plan_run {
    struct cli *c;
    const struct value *common;
    VEC(struct weave_node) nodes;
    VEC(const struct value *) data; /* by node */
    struct weave_request req;
    struct expr_var vars[3];
    struct expr_scope scope;
    uint32_t scope_of; /* the node that it is of, + 1 */
};

/* --- nodes --- */

static int wrong(struct err *e, const char *file, uint32_t i, const char *what)
{
    err_set(e, ERR_INVALID, "%s: nodes[%u] %s", file, i, what);
    return err_hint(e, "nodes: [{name: NAME, roles: [NAMES]}]");
}

static int node_add(struct plan_run *p, const char *file, uint32_t i, const struct value *v,
                    struct err *e)
{
    const char *name = value_as_text(value_get(v, "name"), NULL);
    const struct value *roles = value_get(v, "roles");
    if (!name || !*name)
        return wrong(e, file, i, "has no name");
    if (roles && roles->kind != VALUE_LIST)
        return wrong(e, file, i, "has roles that are no list");
    uint32_t n = roles ? roles->n : 0;
    struct str *names = arena_new(&p->c->mem, struct str, n);
    for (uint32_t k = 0; k < n; k++) {
        if (roles->items[k].kind != VALUE_STRING)
            return wrong(e, file, i, "has a role that is no name");
        names[k] = (struct str){roles->items[k].s, roles->items[k].n};
    }
    vec_push(&p->nodes,
             ((struct weave_node){.name = str_of(name),
                                  .names = names,
                                  .n_names = n,
                                  .deployed = value_as_bool(value_get(v, "deployed"), false)}));
    vec_push(&p->data, v);
    return 0;
}

static int nodes_read(struct plan_run *p, struct err *e)
{
    const char *file = cli_option(p->c, "nodes");
    const struct value *doc, *nodes;
    if (!file) {
        err_set(e, ERR_INVALID, "which nodes is said with --nodes FILE");
        return err_hint(e, "`anneal plan CATALOG --nodes NODES.yaml`");
    }
    if (strspn(file, "0123456789") == strlen(file)) {
        err_set(e, ERR_INVALID, "--nodes %s is a number, and nodes with their roles are in a file",
                file);
        return err_hint(e, "`--nodes NODES.yaml` here; `--nodes N` goes with `--template`");
    }
    int rc = cli_read_data(p->c, file, &doc, e);
    if (rc < 0)
        return rc;
    nodes = value_get(doc, "nodes");
    p->common = value_get(doc, "common");
    if (!value_is(nodes, VALUE_LIST)) {
        err_set(e, ERR_INVALID, "%s has no list of nodes", file);
        return err_hint(e, "nodes: [{name: NAME, roles: [NAMES]}]");
    }
    for (uint32_t i = 0; i < nodes->n && rc >= 0; i++)
        rc = node_add(p, file, i, &nodes->items[i], e);
    return rc;
}

static bool has_data(const struct plan_run *p)
{
    bool any = p->common != NULL;
    for (size_t i = 0; i < p->data.n && !any; i++)
        any = value_get(p->data.at[i], "data") != NULL;
    return any;
}

/* --- what expressions see --- */

static const struct expr_scope *scope_of(void *ctx, uint32_t node)
{
    struct plan_run *p = ctx;
    uint32_t key = node == WEAVE_NONE || node >= p->nodes.n ? 0 : node + 1;
    if (p->scope_of == key && p->scope.n)
        return &p->scope;
    const struct value *line = key ? p->data.at[node] : NULL;
    const struct value *own = value_get(line, "data"), *roles = value_get(line, "roles");
    struct value *extra = value_map(&p->c->mem);
    const struct value *data = value_is(p->common, VALUE_MAP) ? p->common : value_map(&p->c->mem);
    if (value_is(own, VALUE_MAP))
        data = value_merge(&p->c->mem, data, own);
    value_set(&p->c->mem, extra, "roles", roles ? roles : value_list(&p->c->mem));
    data = value_merge(&p->c->mem, data, extra);
    p->vars[0] = (struct expr_var){str_of("data"), data};
    p->vars[1] = (struct expr_var){str_of("node"), own ? own : value_map(&p->c->mem)};
    p->vars[2] = (struct expr_var){str_of("common"), p->common ? p->common : value_map(&p->c->mem)};
    p->scope = (struct expr_scope){.vars = p->vars, .n = 3};
    p->scope_of = key;
    return &p->scope;
}

static int condition_of(void *ctx, uint32_t task, uint32_t node, struct err *e)
{
    struct plan_run *p = ctx;
    const struct graph_vertex *t = &p->req.graph->vertices[task];
    int rc = expr_eval_truth(t->condition, scope_of(p, node), e);
    if (rc < 0)
        (void)err_wrap(e, "condition of %s", t->id.s);
    return rc;
}

/* --- what of it --- */

void cli_words(struct cli *c, const char *option, const struct str **ret, uint32_t *ret_n)
{
    VEC(struct str) words = {0};
    for (size_t i = 0; cli_option_at(c, option, i); i++)
        vec_push(&words, str_of(cli_option_at(c, option, i)));
    struct str *copy = arena_new(&c->mem, struct str, words.n);
    for (size_t i = 0; i < words.n; i++)
        copy[i] = words.at[i];
    *ret = copy;
    *ret_n = (uint32_t)words.n;
    vec_done(&words);
}

static int pick_of(struct plan_run *p, struct weave_part *part, struct weave_pick *ret,
                   struct err *e)
{
    struct cli *c = p->c;
    cli_words(c, "start", &part->starts, &part->n_starts);
    cli_words(c, "end", &part->ends, &part->n_ends);
    *ret = (struct weave_pick){.parts = part, .n_parts = part->n_starts || part->n_ends};
    cli_words(c, "only", &ret->only, &ret->n_only);
    cli_words(c, "skip", &ret->skip, &ret->n_skip);
    cli_words(c, "event", &ret->events, &ret->n_events);
    const char *on = cli_option(c, "on");
    if (!on)
        return 0;
    bool *chosen = arena_new(&c->mem, bool, p->nodes.n + 1);
    bool any = chosen[p->nodes.n] = !strcmp(on, WEAVE_MASTER);
    for (size_t i = 0; i < p->nodes.n; i++) {
        chosen[i] = str_is(p->nodes.at[i].name, on);
        for (uint32_t k = 0; k < p->nodes.at[i].n_names && !chosen[i]; k++)
            chosen[i] = str_is(p->nodes.at[i].names[k], on);
        any |= chosen[i];
    }
    ret->on = chosen;
    if (any)
        return 0;
    err_set(e, ERR_NOT_FOUND, "--on %s: no node is called so, and none has it as a role", on);
    return err_hint(e, "a name or a role of %s", cli_option(c, "nodes"));
}

/* --- output --- */

static struct value *row_of(struct plan_run *p, const struct weave *w, uint32_t v)
{
    struct arena *a = &p->c->mem;
    const struct weave_vertex *at = &w->vertices[v];
    const struct catalog_graph *g = w->graph;
    struct value *row = value_map(a);
    value_put_int(a, row, "level", at->level + 1);
    value_put_text(a, row, "task", g->vertices[at->task].id.s);
    value_put_text(a, row, "node",
                   at->kind == WEAVE_STAGE      ? NULL
                   : at->node == p->req.n_nodes ? WEAVE_MASTER
                                                : p->nodes.at[at->node].name.s);
    value_put_text(a, row, "role", at->role == WEAVE_NONE ? NULL : g->vertices[at->role].id.s);
    value_put_text(a, row, "type", g->vertices[at->task].type.s);
    value_put_text(
        a, row, "stage",
        at->kind == WEAVE_STAGE || at->stage == WEAVE_NONE ? NULL : g->vertices[at->stage].id.s);
    value_put_text(a, row, "reason", weave_reason_name((enum weave_reason)at->reason));
    return row;
}

/* The order of a weave by levels, each in the order that it has.  Joins may be behind the last. */
static const uint32_t *levels_order(struct plan_run *p, const struct weave *w)
{
    uint32_t *first = arena_new(&p->c->mem, uint32_t, w->n_levels + 2),
             *ret = arena_new(&p->c->mem, uint32_t, w->n);
    for (uint32_t v = 0; v < w->n; v++)
        first[w->vertices[v].level + 1]++;
    for (uint32_t i = 0; i <= w->n_levels; i++)
        first[i + 1] += first[i];
    for (uint32_t i = 0; i < w->n; i++)
        ret[first[w->vertices[w->order[i]].level]++] = w->order[i];
    return ret;
}

static void table_print(struct plan_run *p, const struct weave *w)
{
    static const struct field fields[] = {{"LEVEL", "level", SHOW_TEXT, COLUMN_RIGHT},
                                          {"TASK", "task"},
                                          {"NODE", "node"},
                                          {"ROLE", "role"},
                                          {"TYPE", "type"},
                                          {"BEFORE", "stage"},
                                          {"REASON", "reason"},
                                          {0}};
    struct value *list = value_list(&p->c->mem), *v = value_map(&p->c->mem);
    const uint32_t *order = levels_order(p, w);
    for (uint32_t i = 0; i < w->n; i++)
        if (w->vertices[order[i]].kind != WEAVE_JOIN)
            value_add(&p->c->mem, list, row_of(p, w, order[i]));
    value_set(&p->c->mem, v, "items", list);
    cli_print_list(p->c, v, fields, "task", "tasks");
    cli_say(p->c, "%s on %s, in %s", text_count(w->n_tasks, "task").s,
            text_count(p->nodes.n, "node").s, text_count(w->n_levels, "level").s);
}

static int node_print(struct plan_run *p, const struct weave *w, const char *name, struct err *e)
{
    SCOPED_BUF(text);
    uint32_t node = 0;
    struct value *v;
    while (node < p->nodes.n && !str_is(p->nodes.at[node].name, name))
        node++;
    if (node == p->nodes.n && strcmp(name, WEAVE_MASTER) != 0) {
        err_set(e, ERR_NOT_FOUND, "--node-file %s: no node is called so", name);
        return err_hint(e, "the names are those of %s", cli_option(p->c, "nodes"));
    }
    struct weave_node_file file = {.req = &p->req, .node = node};
    int rc = weave_write_node(&text, w, &file, e);
    if (rc < 0 || (rc = json_parse(&p->c->mem, text.data, text.len, NULL, &v, e)) < 0)
        return rc;
    if (p->c->format != OUT_JSON)
        p->c->format = OUT_YAML;
    (void)cli_print_data(p->c, v, "tasks");
    return 0;
}

static void plan_print(struct plan_run *p, const struct weave *w)
{
    SCOPED_BUF(text);
    const char *format = cli_option(p->c, "output");
    if (format && !strcmp(format, "json"))
        weave_write_json(&text, w, &p->req);
    else if (format && !strcmp(format, "dot"))
        weave_write_dot(&text, w, &p->req);
    else if (format && !strcmp(format, "stages"))
        weave_write_stages(&text, w, &p->req);
    if (text.len)
        cli_put(p->c, &text);
    else
        table_print(p, w);
}

/* --- from end to end --- */

int cli_catalog_read(struct cli *c, struct catalog **ret, struct err *e)
{
    struct value *files;
    int rc = cli_read_tree(&c->mem, cli_arg(c, 0), &files, e);
    if (rc < 0)
        return rc;
    struct catalog_source source = cli_tree_source(&c->mem, files);
    struct catalog_report report = {0};
    rc = catalog_load(&source, NULL, 1, &report, ret, e);
    if (rc < 0 && report.entries.n)
        (void)err_hint(e, "`anneal lint %s` shows everything that is wrong", cli_arg(c, 0));
    catalog_report_done(&report);
    return rc;
}

static int graph_find(struct cli *c, const struct catalog *cat, const struct catalog_graph **ret,
                      struct err *e)
{
    const char *name = cli_option(c, "graph");
    *ret = catalog_graph_get(cat, str_of(name ? name : "default"));
    if (*ret)
        return 0;
    err_set(e, ERR_NOT_FOUND, "%s has no graph called %s", cli_arg(c, 0), name ? name : "default");
    return cat->n_graphs ? err_hint(e, "one of its graphs is %s", cat->graphs[0].name.s)
                         : err_hint(e, "graphs are read from graphs/NAME.yaml of a barclamp");
}

static int plain_vertex(struct cli *c, const struct catalog_graph *g, const char *option,
                        uint32_t *ret, struct err *e)
{
    const char *word = cli_option(c, option);
    *ret = word ? catalog_graph_find(g, str_of(word)) : CATALOG_NONE;
    if (!word || *ret != CATALOG_NONE)
        return 0;
    return err_set(e, ERR_NOT_FOUND, "--%s: nothing is called %s here", option, word);
}

/* The graph as it is written, or the part of it between two vertices. */
static int plain_print(struct cli *c, const struct catalog_graph *g, struct err *e)
{
    SCOPED_BUF(text);
    struct graph_plain p;
    uint32_t start, end;
    int rc = plain_vertex(c, g, "start", &start, e);
    if (rc < 0 || (rc = plain_vertex(c, g, "end", &end, e)) < 0)
        return rc;
    graph_plain_build(&c->mem, g, &p);
    bool *in = arena_new(&c->mem, bool, p.n);
    graph_plain_part(&p, start, end, &c->mem, in);
    weave_write_plain_dot(&text, &p, g, in);
    cli_put(c, &text);
    return 0;
}

static int plan_make(struct plan_run *p, const struct catalog *cat, struct err *e)
{
    struct weave_part part = {0};
    struct weave_pick pick;
    SCOPED(weave) *w = NULL;
    int rc = pick_of(p, &part, &pick, e);
    if (rc < 0)
        return rc;
    p->req.nodes = p->nodes.at;
    p->req.n_nodes = (uint32_t)p->nodes.n;
    p->req.pick = &pick;
    p->req.scope = scope_of;
    p->req.condition = cli_has(p->c, "conditions") ? condition_of : NULL;
    p->req.ctx = p;
    p->req.no_data = !has_data(p);
    p->req.limit_circles = cli_has(p->c, "limit-circles");
    const char *node = cli_option(p->c, "node-file");
    if ((rc = weave_make(&p->req, &w, e)) < 0)
        return rc;
    for (uint32_t i = 0; i < w->n_warnings && !node; i++)
        cli_warn(p->c, "warning: %s", w->warnings[i].text.s);
    if (node)
        return node_print(p, w, node, e);
    if (cli_has(p->c, "simulate"))
        return cli_plan_simulate(p->c, cat, w, &p->req, e);
    plan_print(p, w);
    return 0;
}

int cmd_plan(struct cli *c, struct err *e)
{
    struct plan_run p = {.c = c};
    SCOPED(catalog) *cat = NULL;
    int rc = cli_plan_cluster_check(c, e);
    if (rc >= 0 && cli_has(c, "template"))
        return cli_plan_cluster(c, e);
    if (rc >= 0)
        rc = cli_plan_simulate_check(c, e);
    if (rc >= 0)
        rc = cli_catalog_read(c, &cat, e);
    if (rc >= 0)
        rc = graph_find(c, cat, &p.req.graph, e);
    if (rc >= 0 && cli_has(c, "roles"))
        return plain_print(c, p.req.graph, e);
    if (rc >= 0)
        rc = nodes_read(&p, e);
    if (rc >= 0)
        rc = plan_make(&p, cat, e);
    vec_done(&p.nodes);
    vec_done(&p.data);
    return rc;
}
