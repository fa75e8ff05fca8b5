/* bench_layout.c - layouts of real templates, from catalog, template and request to names
 *
 *   bench_layout COOPR      a directory with what Coopr published
 * Writes lines of JSON as bench_solver does, for bench_solver.py.  A time is the best of some
 * rounds from the request to the answer in names; files are read and the catalog is loaded before.
 * All compatible hardware and images are offered, the cheapest layout is wanted, and what limits
 * the size of a template is lifted.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "catalog/catalog_files.h"
#include "catalog/import.h"
#include "planner/layout.h"

enum { ROUNDS = 20 };

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int catalog_get(const char *dir, struct catalog **ret, struct err *e)
{
    struct files in = {0};
    struct catalog_import *made = NULL;
    struct catalog_report report = {0};
    arena_init(&in.mem);
    if (!files_read(&in, dir, "current")) {
        files_done(&in);
        return err_set(e, ERR_NOT_FOUND, "%s/current cannot be read", dir);
    }
    struct catalog_source source = files_source(&in);
    int rc = catalog_import_coopr(&source, &made, e);
    if (rc >= 0) {
        source = (struct catalog_source){made->files, made->n_files};
        rc = catalog_load(&source, NULL, 1, &report, ret, e);
    }
    catalog_report_done(&report);
    catalog_import_free(made);
    files_done(&in);
    return rc;
}

/* A copy without limits: those of the template, and a greatest number of a service above 50. */
static struct catalog_template lifted(struct arena *mem, const struct catalog_template *t)
{
    struct catalog_template free_of = *t;
    struct template_rule *rules = arena_new(mem, struct template_rule, t->n_rules);
    for (uint32_t i = 0; i < t->n_rules; i++) {
        rules[i] = t->rules[i];
        rules[i].max = rules[i].max < 50 ? rules[i].max : CATALOG_NONE;
    }
    free_of.rules = rules;
    free_of.min_nodes = 1;
    free_of.max_nodes = CATALOG_NONE;
    return free_of;
}

static int template_run(const struct catalog *c, const char *name, uint32_t nodes, struct err *e)
{
    SCOPED_ARENA(kept);
    const struct catalog_template *t;
    double best = 1e18;
    int rc = catalog_template_resolve(c, str_of(name), &kept, &t, e);
    if (rc < 0)
        return rc;
    struct catalog_template wide = lifted(&kept, t);
    struct layout_request req = {.catalog = c,
                                 .template = &wide,
                                 .hardware = str_of(LAYOUT_ANY),
                                 .image = str_of(LAYOUT_ANY),
                                 .nodes_min = nodes,
                                 .nodes_max = nodes};
    const char *status = "";
    bool settled = false;
    for (int i = 0; i < ROUNDS; i++) {
        SCOPED_ARENA(mem);
        const struct layout_answer *a;
        double from = cpu_ms();
        if ((rc = layout_solve(&mem, &req, &a, e)) < 0)
            return rc;
        double ms = cpu_ms() - from;
        best = ms < best ? ms : best;
        status = solver_status_name(a->status);
        settled = a->settled;
    }
    printf("{\"case\":\"%s.%u.layout\",\"ms\":%.6f,\"status\":\"%s\",\"settled\":%s}\n", name,
           nodes, best, status, settled ? "true" : "false");
    return 0;
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = {5, 50, 500, 5000};
    static const char *const names[] = {"hadoop-distributed", "cdap-distributed"};
    SCOPED(catalog) *c = NULL;
    struct err e = {0};
    int rc = argc > 1 ? catalog_get(argv[1], &c, &e) : err_set(&e, ERR_INVALID, "which directory?");
    for (size_t i = 0; rc >= 0 && i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; rc >= 0 && k < sizeof names / sizeof *names; k++)
            rc = template_run(c, names[k], sizes[i], &e);
    if (rc < 0)
        fprintf(stderr, "bench_layout: %s\n", e.text);
    return rc < 0;
}
