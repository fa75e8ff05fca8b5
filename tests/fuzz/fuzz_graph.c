/* fuzz_graph.c - any bytes as a task graph, and as task files of Fuel: refused with places, or
 * sound
 *
 * The bytes are the text of a graph's file, strict and lenient, and then a source to be imported; a
 * line "%% PATH" begins another file of that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/alloc.h"
#include "catalog/catalog.h"
#include "catalog/import.h"
#include "catalog/taskgraph.h"
#include "catalog_files.h"

static void check_selector(const struct graph_selector *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        fuzz_must((s->words[i].kind == WORD_PATTERN) == (s->words[i].pattern != NULL),
                  "a pattern is compiled");
}

static void check_ids(const struct catalog_graph *g, const uint32_t *ids, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        fuzz_must(ids[i] < g->n_vertices, "an id of the graph");
}

static void check_graph(const struct catalog_graph *g)
{
    SCOPED_ARENA(mem);
    struct graph_plain plain;

    for (uint32_t i = 0; i < g->n_vertices; i++) {
        const struct graph_vertex *v = &g->vertices[i];
        fuzz_must(v->id.n && v->type.n && v->source && v->parameters, "a whole vertex");
        fuzz_must(catalog_graph_find(g, v->id) == i, "found by its id");
        check_ids(g, v->requires, v->n_requires);
        check_ids(g, v->required_for, v->n_required_for);
        check_ids(g, v->tasks, v->n_tasks);
        check_selector(&v->nodes);
        check_selector(&v->groups);
        for (uint32_t k = 0; k < v->n_depends; k++)
            check_selector(&v->depends[k].where);
        for (uint32_t k = 0; k < v->nodes.n; k++)
            (void)graph_word_matches(&v->nodes.words[k], v->id);
        fuzz_must(graph_tolerance_of(&v->tolerance, 7) >= -1, "a tolerance");
    }
    graph_plain_build(&mem, g, &plain);
    for (uint32_t i = 0; i < plain.n_edges; i++)
        fuzz_must(plain.edges[i].from < plain.n && plain.edges[i].to < plain.n, "an edge");
}

/* What is wrong with a graph's file says where in it. */
static void check_load(const char *barclamp, const char *text, size_t size)
{
    struct catalog_file files[] = {{str_of("barclamp.yaml"), str_of(barclamp)},
                                   {str_of("graphs/a.yaml"), {text, size}}};
    struct catalog_report report = {0};
    SCOPED(catalog) *c = NULL;
    struct err e;

    int rc = catalog_load(&(struct catalog_source){files, 2}, NULL, 1, &report, &c, &e);
    fuzz_must((rc < 0) == (report.n_errors > 0), "refused if and only if there is an error");
    for (size_t i = 0; i < report.entries.n; i++) {
        const char *at = report.entries.at[i].err.at;
        fuzz_must(!strncmp(at, "graphs/a.yaml", 13), "a fault of the file");
        /* An empty file has no place in it. */
        fuzz_must(at[13] == ':' || strstr(report.entries.at[i].err.text, "nothing in this file"),
                  "with its line");
    }
    for (uint32_t i = 0; c && i < c->n_graphs; i++)
        check_graph(&c->graphs[i]);
    catalog_report_done(&report);
}

static void check_import(const char *text, size_t size)
{
    struct catalog_file files[FUZZ_FILES];
    struct catalog_source source = {files, files_split("tasks.yaml", text, size, files)};
    struct catalog_report report = {0};
    SCOPED(catalog_import) *import = NULL;
    SCOPED(catalog) *c = NULL;
    struct err e;

    int rc = catalog_import_fuel(&source, false, &import, &e);
    fuzz_must(rc == 0 || (rc == -(int)e.code && e.text[0]), "a refusal says why");
    if (rc)
        return;
    source = (struct catalog_source){import->files, import->n_files};
    rc = catalog_load(&source, NULL, 1, &report, &c, &e);
    if (rc < 0 && e.code != ERR_CYCLE && e.code != ERR_LIMIT)
        fprintf(stderr, "# %s: %s\n", e.at, e.text);
    fuzz_must(rc == 0 || e.code == ERR_CYCLE || e.code == ERR_LIMIT, "what is imported loads");
    fuzz_must(!c || c->n_graphs == import->counts.graphs, "all graphs that were counted");
    catalog_report_done(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *exact = malloc(size ? size : 1);

    memcpy(exact, data, size);
    check_load("barclamp: x\n", exact, size);
    check_load("barclamp: x\nlenient: true\ngraphs: {requires: same-node}\n", exact, size);
    check_import(exact, size);
    free(exact);
    return 0;
}
