/* face_deploy.c - asking for a deploy: a graph run on the nodes of a deployment, or looked at */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "planner/weave_write.h"
#include "server/deploy.h"
#include "server/graphs.h"

static struct str *words_of(const struct server_call *c, const char *key, uint32_t *ret_n)
{
    const struct value *list = value_get(c->body, key);
    uint32_t n = value_is(list, VALUE_LIST) ? list->n : 0;
    struct str *words = arena_new(c->mem, struct str, n);
    for (uint32_t i = 0; i < n; i++)
        words[i] = value_as_str(&list->items[i]);
    *ret_n = n;
    return words;
}

static void request_read(const struct server_call *c, uint32_t deployment,
                         struct deploy_request *ret)
{
    *ret = (struct deploy_request){
        .deployment = deployment,
        .graph = str_of(value_as_text(value_get(c->body, "graph"), "default")),
        .on = value_as_text(value_get(c->body, "on"), NULL),
        .no_op = value_as_bool(value_get(c->body, "no_op"), false),
        .limit_circles = value_as_bool(value_get(c->body, "limit_circles"), false),
        .force = value_as_bool(value_get(c->body, "force"), false)};
    ret->part.starts = words_of(c, "start", &ret->part.n_starts);
    ret->part.ends = words_of(c, "end", &ret->part.n_ends);
    ret->only = words_of(c, "only", &ret->n_only);
    ret->skip = words_of(c, "skip", &ret->n_skip);
    ret->events = words_of(c, "events", &ret->n_events);
}

static int deployment_open(struct server *s, const struct server_call *c, uint32_t *ret,
                           struct err *e)
{
    *ret = inventory_deployment_find(&s->inv, c->id[0]);
    if (!*ret)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    if (s->catalog)
        return 0;
    err_set(e, ERR_REFUSED, "no catalog is loaded");
    return err_hint(e, "`anneal catalog load DIR` loads one");
}

/* How much of it runs, and what is left out, by reason. */
static struct value *counts_value(struct arena *mem, const struct weave *w)
{
    uint64_t counts[WEAVE_REASON_COUNT] = {0};
    struct value *v = value_map(mem), *out = value_map(mem);
    for (uint32_t i = w->n_stages; i < w->n_stages + w->n_tasks; i++)
        counts[w->vertices[i].reason]++;
    value_put_int(mem, v, "run", (int64_t)counts[WEAVE_RUN]);
    for (int r = WEAVE_RUN + 1; r < WEAVE_REASON_COUNT; r++)
        if (counts[r])
            value_put_int(mem, out, weave_reason_name((enum weave_reason)r), (int64_t)counts[r]);
    value_set(mem, v, "left_out", out);
    value_put_int(mem, v, "stages", w->n_stages);
    value_put_int(mem, v, "joins", w->n_joins);
    return v;
}

static struct value *warnings_value(struct arena *mem, const struct weave *w)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; i < w->n_warnings; i++)
        value_add(mem, list, value_str(mem, w->warnings[i].text));
    return list;
}

static int plan_value(const struct deploy *d, struct arena *mem, struct value **ret, struct err *e)
{
    SCOPED_BUF(text);
    weave_write_json(&text, d->weave, &d->req);
    return json_parse(mem, text.data, text.len, NULL, ret, e);
}

/* --- looking at it --- */

static int node_part(struct deploy *d, const char *name, struct buf *text, struct err *e)
{
    uint32_t node = 0;
    while (node < d->nodes.n && !str_is(d->nodes.at[node].name, name))
        node++;
    if (node == d->nodes.n && strcmp(name, CATALOG_MASTER) != 0) {
        err_set(e, ERR_INVALID, "deployment %s has no node \"%s\"",
                view_deployment_name(d->server, d->ask->deployment), name);
        return err_at(e, "?node");
    }
    return deploy_node_file(d, node, text, e);
}

static int graph_write(struct deploy *d, const char *format, const char *node, struct buf *text,
                       struct err *e)
{
    if (!strcmp(format, "roles")) {
        struct graph_plain p;
        graph_plain_build(d->mem, d->graph, &p);
        bool *in = arena_new(d->mem, bool, p.n);
        graph_plain_part(&p, CATALOG_NONE, CATALOG_NONE, d->mem, in);
        weave_write_plain_dot(text, &p, d->graph, in);
        return 0;
    }
    int rc = deploy_weave(d, e);
    if (rc < 0)
        return rc;
    if (!strcmp(format, "node"))
        return node_part(d, node ? node : "", text, e);
    if (!strcmp(format, "dot"))
        weave_write_dot(text, d->weave, &d->req);
    else if (!strcmp(format, "stages"))
        weave_write_stages(text, d->weave, &d->req);
    else
        weave_write_json(text, d->weave, &d->req);
    return 0;
}

int server_deployment_graph(struct server *s, const struct server_call *c, struct server_reply *r,
                            struct err *e)
{
    const char *format = value_as_text(value_get(c->query, "format"), "json");
    const char *node = value_as_text(value_get(c->query, "node"), NULL);
    struct deploy_request ask = {
        .graph = str_of(value_as_text(value_get(c->query, "graph"), "default"))};
    bool data = !strcmp(format, "json") || !strcmp(format, "node");
    const struct catalog_graph *graph;
    SCOPED(graph_overlay) *own = NULL; /* what the graph is part of, if not of the catalog */
    struct value *v = value_map(c->mem), *plan = NULL;
    struct deploy d = {0};
    SCOPED_BUF(text);
    int rc = deployment_open(s, c, &ask.deployment, e);
    if (rc < 0 || (rc = graphs_find(s, s->catalog, ask.deployment, ask.graph, &graph, &own, e)) < 0)
        return rc;
    rc = deploy_begin(&d, s, c->mem, &ask, graph, e);
    if (rc >= 0)
        rc = graph_write(&d, format, node, &text, e);
    if (rc >= 0 && data)
        rc = json_parse(c->mem, text.data, text.len, NULL, &plan, e);
    deploy_end(&d);
    if (rc < 0)
        return rc;
    value_set(c->mem, v, "graph", value_str(c->mem, ask.graph));
    value_put_text(c->mem, v, "format", format);
    value_set(c->mem, v, "text", data ? value_null(c->mem) : value_str(c->mem, buf_str(&text)));
    value_set(c->mem, v, "plan", plan ? plan : value_null(c->mem));
    r->body = v;
    r->live = true;
    return 0;
}

/* --- running it --- */

int server_deployment_deploy(struct server *s, const struct server_call *c, struct server_reply *r,
                             struct err *e)
{
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    int class = start_class_find(value_as_text(value_get(c->body, "class"), "normal"));
    const struct catalog_graph *graph;
    SCOPED(graph_overlay) *own = NULL;
    struct value *v = value_map(c->mem), *plan = NULL;
    struct deploy_request ask;
    struct deploy d = {0};
    uint32_t id, op = 0;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = deployment_open(s, c, &id, e)) < 0)
        return rc;
    request_read(c, id, &ask);
    if ((rc = graphs_find(s, s->catalog, id, ask.graph, &graph, &own, e)) < 0)
        return rc;
    const char *title = value_as_text(value_get(c->body, "title"), NULL);
    if (!title)
        title = arena_printf(c->mem, "deploy %s%s%s%s", s->inv.deployments.at[id].name,
                             str_is(ask.graph, "default") ? "" : ", graph ",
                             str_is(ask.graph, "default") ? "" : ask.graph.s,
                             ask.no_op ? ", changing nothing" : "");
    rc = deploy_begin(&d, s, c->mem, &ask, graph, e);
    if (rc >= 0)
        rc = deploy_weave(&d, e);
    if (rc >= 0)
        rc = dry ? plan_value(&d, c->mem, &plan, e)
                 : deploy_apply(&d, c, title, (enum start_class) class, &op, e);
    if (rc >= 0) {
        value_set(c->mem, v, "operation", op ? view_operation(s, c->mem, op) : value_null(c->mem));
        value_set(c->mem, v, "tasks", counts_value(c->mem, d.weave));
        value_set(c->mem, v, "warnings", warnings_value(c->mem, d.weave));
        value_set(c->mem, v, "plan", plan ? plan : value_null(c->mem));
        r->body = v;
        r->accepted = op != 0;
        r->group = dry ? 0 : commit_open_group(s->commit);
    }
    deploy_end(&d);
    return rc;
}
