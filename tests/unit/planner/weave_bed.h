/* weave_bed.h - graphs and nodes for tests of weaving, from JSON and from lines of text */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_WEAVE_BED_H
#define TESTS_WEAVE_BED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "planner/weave.h"
#include "template/expr.h"

#define HELPER __attribute__((unused)) static

struct weave_bed {
    struct arena mem;
    struct catalog *catalog;
    const struct catalog_graph *graph;
    VEC(struct weave_node) nodes;
    struct weave_request req;
    struct weave *w;
    struct err err;
};

HELPER void bed_init(struct weave_bed *b)
{
    *b = (struct weave_bed){0};
    arena_init(&b->mem);
}

HELPER void bed_done(struct weave_bed *b)
{
    weave_free(b->w);
    catalog_unref(b->catalog);
    vec_done(&b->nodes);
    arena_done(&b->mem);
}

/* The text of graphs/default.yaml; false and err if it cannot be loaded. */
HELPER bool bed_graph(struct weave_bed *b, const char *barclamp, struct str text)
{
    struct catalog_file files[] = {{str_of("barclamp.yaml"), str_of(barclamp)},
                                   {str_of("graphs/default.yaml"), text}};
    struct catalog_source source = {files, 2};
    struct catalog_report report = {0};
    int rc = catalog_load(&source, NULL, 1, &report, &b->catalog, &b->err);
    catalog_report_done(&report);
    if (rc >= 0)
        b->graph = catalog_graph_get(b->catalog, str_of("default"));
    return rc >= 0 && b->graph;
}

/* names: separated by blanks. */
HELPER void bed_node(struct weave_bed *b, const char *name, const char *names)
{
    struct str *list = arena_new(&b->mem, struct str, strlen(names) + 1);
    uint32_t n = 0;
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, " ");
        if (len)
            list[n++] = (struct str){arena_strndup(&b->mem, at, len), len};
        at += len + strspn(at + len, " ");
    }
    vec_push(&b->nodes,
             ((struct weave_node){
                 .name = str_of(arena_strdup(&b->mem, name)), .names = list, .n_names = n}));
}

HELPER int bed_weave(struct weave_bed *b)
{
    weave_free(b->w);
    b->w = NULL;
    b->req.graph = b->graph;
    b->req.nodes = b->nodes.at;
    b->req.n_nodes = (uint32_t)b->nodes.n;
    return weave_make(&b->req, &b->w, &b->err);
}

/* "task/node"; WEAVE_NONE: there is none. */
HELPER uint32_t bed_find(struct weave_bed *b, const char *name)
{
    for (uint32_t v = 0; v < b->w->n; v++)
        if (str_is(weave_vertex_name(b->w, &b->req, v, &b->mem), name))
            return v;
    return WEAVE_NONE;
}

static int bed_by_text(const void *x, const void *y)
{
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* What a vertex waits for without joins, sorted, with blanks between. */
HELPER const char *bed_deps(struct weave_bed *b, const char *name)
{
    uint32_t v = bed_find(b, name);
    if (v == WEAVE_NONE)
        return "no such vertex";
    uint32_t *ids = arena_new(&b->mem, uint32_t, b->w->n);
    uint32_t n = weave_plain_deps(b->w, v, ids, b->w->n);
    const char **texts = arena_new(&b->mem, const char *, n);
    for (uint32_t i = 0; i < n; i++)
        texts[i] = weave_vertex_name(b->w, &b->req, ids[i], &b->mem).s;
    if (n > 1)
        qsort(texts, n, sizeof *texts, bed_by_text);
    const char *all = "";
    for (uint32_t i = 0; i < n; i++)
        all = arena_printf(&b->mem, "%s%s%s", all, i ? " " : "", texts[i]);
    return all;
}

#endif
