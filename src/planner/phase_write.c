/* phase_write.c - a graph of phases as text */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/phase_write.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/text.h"

static void str_put(struct buf *b, struct str s)
{
    buf_put(b, s.s, s.n);
}

static struct str service_name(const struct phase_graph *g, uint32_t service)
{
    return service == PHASE_NIL ? str_of("machines") : g->cluster->services[service].name;
}

static void join_name(struct buf *b, const struct phase_graph *g, const struct phase_join *j)
{
    buf_puts(b, j->before ? "join:before:" : "join:");
    buf_puts(b, j->kind == PHASE_JOIN ? "turn" : phase_kind_name((enum phase_kind)j->kind));
    buf_putc(b, ':');
    str_put(b, service_name(g, j->service));
}

void phase_write_name(struct buf *b, const struct phase_graph *g, uint32_t v)
{
    const struct phase_vertex *at = &g->vertices[v];
    if (v >= g->n_tasks) {
        join_name(b, g, &g->joins[v - g->n_tasks]);
        return;
    }
    str_put(b, g->cluster->nodes[at->node].name);
    buf_putc(b, ':');
    buf_puts(b, phase_kind_name((enum phase_kind)at->kind));
    if (at->service == PHASE_NIL)
        return;
    buf_putc(b, ':');
    str_put(b, service_name(g, at->service));
}

/* --- JSON --- */

struct writer {
    const struct phase_graph *g;
    struct jsonw json;
    struct buf name;
};

static void id_put(struct writer *o, uint32_t v)
{
    o->name.len = 0;
    phase_write_name(&o->name, o->g, v);
    jsonw_str(&o->json, buf_str(&o->name));
}

static void requires_put(struct writer *o, uint32_t v)
{
    jsonw_key(&o->json, "requires");
    jsonw_list(&o->json);
    for (uint32_t k = o->g->first[v]; k < o->g->first[v + 1]; k++)
        id_put(o, o->g->deps[k]);
    jsonw_end(&o->json);
}

static void task_put(struct writer *o, uint32_t v)
{
    const struct phase_vertex *at = &o->g->vertices[v];
    struct jsonw *j = &o->json;
    jsonw_map(j);
    jsonw_key(j, "id");
    id_put(o, v);
    jsonw_key(j, "node");
    jsonw_str(j, o->g->cluster->nodes[at->node].name);
    jsonw_key(j, "service");
    if (at->service == PHASE_NIL)
        jsonw_null(j);
    else
        jsonw_str(j, service_name(o->g, at->service));
    jsonw_key(j, "phase");
    jsonw_text(j, phase_kind_name((enum phase_kind)at->kind));
    jsonw_key(j, "pulled");
    jsonw_bool(j, at->pulled);
    requires_put(o, v);
    jsonw_end(j);
}

static void joins_put(struct writer *o)
{
    jsonw_key(&o->json, "joins");
    jsonw_list(&o->json);
    for (uint32_t v = o->g->n_tasks; v < o->g->n; v++) {
        jsonw_map(&o->json);
        jsonw_key(&o->json, "id");
        id_put(o, v);
        requires_put(o, v);
        jsonw_end(&o->json);
    }
    jsonw_end(&o->json);
    jsonw_key(&o->json, "limits");
    jsonw_list(&o->json);
    for (uint32_t i = 0; i < o->g->n_pools; i++) {
        jsonw_map(&o->json);
        jsonw_key(&o->json, "service");
        jsonw_str(&o->json, service_name(o->g, o->g->pools[i].service));
        jsonw_key(&o->json, "size");
        jsonw_u64(&o->json, o->g->pools[i].size);
        jsonw_end(&o->json);
    }
    jsonw_end(&o->json);
}

static void stages_put(struct writer *o)
{
    SCOPED_ARENA(mem);
    struct phase_stages st;
    phase_stages(o->g, &mem, &st);
    jsonw_key(&o->json, "stages");
    jsonw_list(&o->json);
    for (uint32_t s = 0; s < st.n; s++) {
        jsonw_list(&o->json);
        for (uint32_t i = st.first[s]; i < st.first[s + 1]; i++)
            id_put(o, st.tasks[i]);
        jsonw_end(&o->json);
    }
    jsonw_end(&o->json);
}

void phase_write_json(struct buf *b, const struct phase_graph *g)
{
    struct writer o = {.g = g};
    jsonw_init(&o.json, b);
    jsonw_map(&o.json);
    jsonw_key(&o.json, "tasks");
    jsonw_list(&o.json);
    for (uint32_t v = 0; v < g->n_tasks; v++)
        task_put(&o, v);
    jsonw_end(&o.json);
    joins_put(&o);
    jsonw_key(&o.json, "edges");
    jsonw_u64(&o.json, phase_edges_count(g));
    jsonw_key(&o.json, "levels");
    jsonw_u64(&o.json, g->n_levels);
    stages_put(&o);
    jsonw_end(&o.json);
    buf_putc(b, '\n');
    buf_done(&o.name);
}

/* --- Graphviz --- */

static void label_put(struct buf *b, const struct phase_graph *g, uint32_t v)
{
    SCOPED_BUF(name);
    phase_write_name(&name, g, v);
    buf_putc(b, '"');
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] == '"' || name.data[i] == '\\')
            buf_putc(b, '\\');
        buf_putc(b, name.data[i]);
    }
    buf_putc(b, '"');
}

void phase_write_dot(struct buf *b, const struct phase_graph *g)
{
    buf_puts(b, "digraph plan {\n  rankdir=LR;\n  node [shape=box, style=filled, "
                "fillcolor=\"#ffffff\"];\n");
    for (uint32_t v = 0; v < g->n; v++) {
        buf_printf(b, "  v%u [label=", v);
        label_put(b, g, v);
        buf_printf(b, "%s%s];\n", v < g->n_tasks ? "" : ", shape=point",
                   g->vertices[v].pulled ? ", fillcolor=\"#eeeeee\"" : "");
    }
    for (uint32_t v = 0; v < g->n; v++)
        for (uint32_t k = g->first[v]; k < g->first[v + 1]; k++)
            buf_printf(b, "  v%u -> v%u;\n", g->deps[k], v);
    buf_puts(b, "}\n");
}

/* --- for people --- */

/* Machines before services, services in their order, phases in theirs. */
static uint64_t line_key(const struct phase_graph *g, uint32_t v)
{
    const struct phase_vertex *at = &g->vertices[v];
    uint64_t service = at->service == PHASE_NIL ? 0 : (uint64_t)at->service + 1;
    return service << 40 | (uint64_t)at->kind << 32 | v;
}

static void line_put(struct buf *b, const struct phase_graph *g, uint32_t v, uint32_t n)
{
    const struct phase_vertex *at = &g->vertices[v];
    buf_puts(b, phase_kind_name((enum phase_kind)at->kind));
    if (at->service != PHASE_NIL) {
        buf_putc(b, ' ');
        str_put(b, service_name(g, at->service));
    }
    buf_puts(b, "  ");
    if (n == 1)
        str_put(b, g->cluster->nodes[at->node].name);
    else
        buf_puts(b, text_count(n, "node").s);
    buf_putc(b, '\n');
}

void phase_write_stages(struct buf *b, const struct phase_graph *g)
{
    SCOPED_ARENA(mem);
    struct phase_stages st;
    phase_stages(g, &mem, &st);
    uint64_t *keys = xcalloc((size_t)g->n_tasks + 1, sizeof *keys);
    for (uint32_t s = 0, level = 0, start = 0; s < st.n; s++) {
        uint32_t n = 0;
        char number[32];
        if (s == st.level_end[level])
            start = st.level_end[level++];
        bool parts = st.level_end[level] - start > 1;
        snprintf(number, sizeof number, parts ? "%u.%u" : "%u", level + 1, s - start + 1);
        for (uint32_t i = st.first[s]; i < st.first[s + 1]; i++)
            keys[n++] = line_key(g, st.tasks[i]);
        sort_u64(keys, n);
        for (uint32_t i = 0, from = 0; i < n; i++) {
            if (i + 1 < n && keys[i] >> 32 == keys[i + 1] >> 32)
                continue;
            buf_printf(b, "%8s  ", from ? "" : number);
            line_put(b, g, (uint32_t)keys[i], i + 1 - from);
            from = i + 1;
        }
    }
    free(keys);
}
