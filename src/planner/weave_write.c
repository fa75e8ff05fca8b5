/* weave_write.c - a weave as text */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/weave_write.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

/* --- JSON --- */

struct writer {
    const struct weave *w;
    const struct weave_request *req;
    struct jsonw json;
    struct buf name;
};

/* "task/node" without a copy for each. */
static struct str name_of(struct writer *o, uint32_t v)
{
    const struct weave *w = o->w;
    const struct weave_vertex *at = &w->vertices[v];
    if (at->kind == WEAVE_JOIN)
        return w->joins[v - w->n_stages - w->n_tasks].name;
    struct str id = w->graph->vertices[at->task].id;
    if (at->kind == WEAVE_STAGE)
        return id;
    struct str node = at->node == w->n_nodes ? str_of(WEAVE_MASTER) : o->req->nodes[at->node].name;
    o->name.len = 0;
    buf_put(&o->name, id.s, id.n);
    buf_putc(&o->name, '/');
    buf_put(&o->name, node.s, node.n);
    return buf_str(&o->name);
}

static void put_id_or_null(struct jsonw *j, const struct weave *w, uint32_t vertex)
{
    if (vertex == WEAVE_NONE)
        jsonw_null(j);
    else
        jsonw_str(j, w->graph->vertices[vertex].id);
}

static void put_roles(struct writer *o, uint32_t v)
{
    jsonw_key(&o->json, "roles");
    jsonw_list(&o->json);
    for (const struct weave_role *r = weave_serves(o->w, v); r; r = r->next)
        jsonw_str(&o->json, o->w->graph->vertices[r->group].id);
    jsonw_end(&o->json);
}

static void put_vertex(struct writer *o, uint32_t v)
{
    const struct weave *w = o->w;
    const struct weave_vertex *at = &w->vertices[v];
    struct jsonw *j = &o->json;
    bool join = at->kind == WEAVE_JOIN;
    jsonw_map(j);
    jsonw_key(j, "id");
    jsonw_str(j, name_of(o, v));
    jsonw_key(j, "node");
    if (at->kind != WEAVE_TASK)
        jsonw_null(j);
    else
        jsonw_str(j, at->node == w->n_nodes ? str_of(WEAVE_MASTER) : o->req->nodes[at->node].name);
    jsonw_key(j, "role");
    put_id_or_null(j, w, at->role);
    put_roles(o, v);
    jsonw_key(j, "task");
    put_id_or_null(j, w, join ? WEAVE_NONE : at->task);
    jsonw_key(j, "type");
    if (join)
        jsonw_text(j, "join");
    else
        jsonw_str(j, w->graph->vertices[at->task].type);
    jsonw_key(j, "stage");
    put_id_or_null(j, w, at->kind == WEAVE_STAGE ? at->task : at->stage);
    jsonw_key(j, "requires");
    jsonw_list(j);
    for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++)
        jsonw_str(j, name_of(o, w->deps[k]));
    jsonw_end(j);
    jsonw_key(j, "reason");
    jsonw_text(j, weave_reason_name((enum weave_reason)at->reason));
    jsonw_end(j);
}

void weave_write_json(struct buf *b, const struct weave *w, const struct weave_request *req)
{
    struct writer o = {.w = w, .req = req};
    jsonw_init(&o.json, b);
    jsonw_map(&o.json);
    jsonw_key(&o.json, "graph");
    jsonw_str(&o.json, w->graph->name);
    jsonw_key(&o.json, "tasks");
    jsonw_list(&o.json);
    for (uint32_t i = 0; i < w->n; i++)
        put_vertex(&o, w->order[i]);
    jsonw_end(&o.json);
    jsonw_key(&o.json, "limits");
    jsonw_list(&o.json);
    for (uint32_t i = 0; i < w->n_limits; i++) {
        jsonw_map(&o.json);
        jsonw_key(&o.json, "name");
        jsonw_str(&o.json, w->limits[i].name);
        jsonw_key(&o.json, "size");
        jsonw_u64(&o.json, w->limits[i].size);
        jsonw_key(&o.json, "of");
        jsonw_text(&o.json, w->limits[i].nodes ? "nodes" : "tasks");
        jsonw_end(&o.json);
    }
    jsonw_end(&o.json);
    jsonw_key(&o.json, "warnings");
    jsonw_list(&o.json);
    for (uint32_t i = 0; i < w->n_warnings; i++)
        jsonw_str(&o.json, w->warnings[i].text);
    jsonw_end(&o.json);
    jsonw_key(&o.json, "levels");
    jsonw_u64(&o.json, w->n_levels);
    jsonw_end(&o.json);
    buf_putc(b, '\n');
    buf_done(&o.name);
}

/* --- Graphviz --- */

static void label_put(struct buf *b, struct str s)
{
    buf_putc(b, '"');
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == '&') {
            buf_puts(b, "&amp;");
            continue;
        }
        if (s.s[i] == '"' || s.s[i] == '\\')
            buf_putc(b, '\\');
        buf_putc(b, s.s[i]);
    }
    buf_putc(b, '"');
}

void weave_write_dot(struct buf *b, const struct weave *w, const struct weave_request *req)
{
    struct writer o = {.w = w, .req = req};
    buf_puts(b, "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=filled, "
                "fillcolor=\"#ffffff\"];\n");
    for (uint32_t v = 0; v < w->n; v++) {
        static const char *const looks[] = {
            [WEAVE_STAGE] = ", shape=octagon, fillcolor=\"#bbdefb\"",
            [WEAVE_TASK] = "",
            [WEAVE_JOIN] = ", shape=point",
        };
        buf_printf(b, "  v%u [label=", v);
        label_put(b, name_of(&o, v));
        buf_printf(b, "%s%s];\n", looks[w->vertices[v].kind],
                   w->vertices[v].reason == WEAVE_RUN ? "" : ", fillcolor=\"#eeeeee\"");
    }
    for (uint32_t v = 0; v < w->n; v++)
        for (uint32_t k = w->first[v]; k < w->first[v + 1]; k++)
            buf_printf(b, "  v%u -> v%u;\n", w->deps[k], v);
    buf_puts(b, "}\n");
    buf_done(&o.name);
}

void weave_write_plain_dot(struct buf *b, const struct graph_plain *p,
                           const struct catalog_graph *g, const bool *in)
{
    buf_puts(b, "digraph tasks {\n  rankdir=LR;\n  node [shape=box, style=filled, "
                "fillcolor=\"#ffffff\"];\n");
    for (uint32_t v = 0; v < p->n; v++) {
        static const char *const looks[] = {
            [VERTEX_STAGE] = ", shape=octagon, fillcolor=\"#bbdefb\"",
            [VERTEX_GROUP] = ", shape=folder, fillcolor=\"#c8e6c9\"",
            [VERTEX_TASK] = "",
        };
        if (in && !in[v])
            continue;
        buf_printf(b, "  v%u [label=", v);
        label_put(b, p->names[v]);
        buf_printf(b, "%s];\n",
                   v < p->n_defined ? looks[g->vertices[v].kind] : ", fillcolor=\"#ffcdd2\"");
    }
    for (uint32_t i = 0; i < p->n_edges; i++)
        if (!in || (in[p->edges[i].from] && in[p->edges[i].to]))
            buf_printf(b, "  v%u -> v%u;\n", p->edges[i].from, p->edges[i].to);
    buf_puts(b, "}\n");
}

/* --- for people --- */

struct line { /* instances of a task that stand at one level */
    uint32_t level, task, nodes, out;
};

static int by_line(const void *x, const void *y)
{
    const struct line *p = x, *q = y;
    if (p->level != q->level)
        return p->level < q->level ? -1 : 1;
    return (p->task > q->task) - (p->task < q->task);
}

void weave_write_stages(struct buf *b, const struct weave *w, const struct weave_request *req)
{
    struct line *lines = xcalloc((size_t)w->n + 1, sizeof *lines);
    uint32_t n = 0, kept = 0, n_vertices = w->n_stages + w->n_tasks;
    (void)req;
    for (uint32_t v = 0; v < n_vertices; v++)
        lines[n++] = (struct line){w->vertices[v].level, w->vertices[v].task, 1,
                                   w->vertices[v].reason != WEAVE_RUN};
    qsort(lines, n, sizeof *lines, by_line);
    for (uint32_t i = 0; i < n; i++)
        if (kept && !by_line(&lines[kept - 1], &lines[i])) {
            lines[kept - 1].nodes++;
            lines[kept - 1].out += lines[i].out;
        } else {
            lines[kept++] = lines[i];
        }
    for (uint32_t i = 0; i < kept; i++) {
        const struct graph_vertex *t = &w->graph->vertices[lines[i].task];
        bool again = i && lines[i - 1].level == lines[i].level;
        if (again)
            buf_puts(b, "      ");
        else
            buf_printf(b, "%4u  ", lines[i].level + 1);
        if (t->kind == VERTEX_STAGE) {
            buf_printf(b, "== %s ==\n", t->id.s);
            continue;
        }
        buf_printf(b, "%s  %u %s", t->id.s, lines[i].nodes, lines[i].nodes == 1 ? "node" : "nodes");
        if (lines[i].out)
            buf_printf(b, ", %u left out", lines[i].out);
        buf_putc(b, '\n');
    }
    free(lines);
}
