/* bench_graph.c - task graphs: from a parsed catalog to an ordered plan; sorting a large random
 * graph
 *
 *   bench_graph real FUEL WORK     FUEL: a directory of task files
 *   bench_graph random WORK
 * Writes the edges that a peer gets to WORK, and figures as lines of JSON for bench_graph.py, which
 * knows the bars.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/alloc.h"
#include "base/json.h"
#include "catalog/import.h"
#include "graph/graph.h"
#include "planner/weave.h"
#include "template/expr.h"

enum { CONTROLLERS = 3, CEPH = 3, COMPUTES = 1994, NODES = CONTROLLERS + CEPH + COMPUTES };
enum { VERTICES = 1000000, EDGES = 4000000, ROUNDS = 5 };

static double cpu_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The largest memory so far. */
static double most_mb(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

/* --- the real graph --- */

struct site {
    struct arena mem;
    struct catalog *catalog;
    struct weave_node *nodes;
    const struct value *common;
    struct expr_var var;
    struct expr_scope scope;
};

static struct str file_read(struct arena *a, const char *path)
{
    SCOPED_BUF(text);
    char chunk[65536];
    FILE *f = fopen(path, "r");
    for (size_t n; f && (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_put(&text, chunk, n);
    if (f)
        fclose(f);
    return (struct str){arena_strndup(a, text.data, text.len), text.len};
}

static void site_catalog(struct site *s, const char *dir)
{
    DIR *d = opendir(dir);
    VEC(struct catalog_file) files = {0};
    SCOPED(catalog_import) *made = NULL;
    struct catalog_report report = {0};
    struct err e;
    for (struct dirent *f; d && (f = readdir(d));) {
        struct str path = str_of(arena_strdup(&s->mem, f->d_name));
        if (catalog_import_fuel_wants(path))
            vec_push(&files, ((struct catalog_file){
                                 path, file_read(&s->mem,
                                                 arena_printf(&s->mem, "%s/%s", dir, f->d_name))}));
    }
    if (d)
        closedir(d);
    struct catalog_source source = {files.at, files.n};
    int rc = catalog_import_fuel(&source, false, &made, &e);
    if (rc >= 0) {
        source = (struct catalog_source){made->files, made->n_files};
        rc = catalog_load(&source, NULL, 1, &report, &s->catalog, &e);
    }
    catalog_report_done(&report);
    vec_done(&files);
    if (rc < 0) {
        fprintf(stderr, "bench_graph: %s\n", e.text);
        exit(1);
    }
}

static void site_nodes(struct site *s)
{
    static const char *const tags[] = {"controller", "rabbitmq", "database", "keystone", "neutron"};
    s->nodes = arena_new(&s->mem, struct weave_node, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        uint32_t n = i < CONTROLLERS ? 5 : 1;
        struct str *names = arena_new(&s->mem, struct str, n);
        for (uint32_t k = 0; k < n; k++)
            names[k] = str_of(i == 0            ? arena_printf(&s->mem, "primary-%s", tags[k])
                              : i < CONTROLLERS ? tags[k]
                              : i < CONTROLLERS + CEPH ? "ceph-osd"
                                                       : "compute");
        s->nodes[i] = (struct weave_node){
            .name = str_of(arena_printf(&s->mem, "%u", i + 1)), .names = names, .n_names = n};
    }
}

static const struct expr_scope *site_scope(void *ctx, uint32_t node)
{
    struct site *s = ctx;
    struct value *data = value_map(&s->mem), *roles = value_list(&s->mem);
    for (uint32_t i = 0; i < s->common->n; i++)
        value_set(&s->mem, data, s->common->members[i].key, &s->common->members[i].v);
    for (uint32_t i = 0; node < NODES && i < s->nodes[node].n_names; i++)
        value_add(&s->mem, roles, value_str(&s->mem, s->nodes[node].names[i]));
    value_set(&s->mem, data, "roles", roles);
    s->var = (struct expr_var){str_of("data"), data};
    s->scope = (struct expr_scope){.vars = &s->var, .n = 1};
    return &s->scope;
}

static void edges_write(const char *path, const struct weave *w, bool plain, uint64_t *ret_n)
{
    FILE *f = fopen(path, "wb");
    uint32_t *ids = xcalloc(w->n, sizeof *ids), end = plain ? w->n_stages + w->n_tasks : w->n;
    *ret_n = 0;
    for (uint32_t v = 0; f && v < end; v++) {
        uint32_t n = plain ? weave_plain_deps(w, v, ids, w->n) : w->first[v + 1] - w->first[v];
        const uint32_t *from = plain ? ids : w->deps + w->first[v];
        for (uint32_t k = 0; k < n; k++) {
            uint32_t pair[2] = {from[k], v};
            fwrite(pair, sizeof pair, 1, f);
        }
        *ret_n += n;
    }
    if (f)
        fclose(f);
    free(ids);
}

static int real(const char *fuel, const char *work)
{
    static const char data[] = "{\"network_metadata\":{\"vips\":{\"vrouter\":{\"ipaddr\":\"x\","
                               "\"node_roles\":[\"controller\",\"primary-controller\"]}}}}";
    struct site s = {0};
    struct value *common;
    struct err e;
    arena_init(&s.mem);
    site_catalog(&s, fuel);
    site_nodes(&s);
    if (json_parse(&s.mem, data, sizeof data - 1, NULL, &common, &e) < 0)
        return 1;
    s.common = common;
    struct weave_request req = {.graph = catalog_graph_get(s.catalog, str_of("default")),
                                .nodes = s.nodes,
                                .n_nodes = NODES,
                                .scope = site_scope,
                                .ctx = &s};
    struct weave *w = NULL;
    double best = 1e9, before = most_mb();
    for (int i = 0; i < ROUNDS; i++) {
        weave_free(w);
        double t = cpu_s();
        if (weave_make(&req, &w, &e) < 0) {
            fprintf(stderr, "bench_graph: %s\n", e.text);
            return 1;
        }
        t = cpu_s() - t;
        best = t < best ? t : best;
    }
    double mb = most_mb() - before;
    uint64_t plain, joined;
    edges_write(arena_printf(&s.mem, "%s/plain.bin", work), w, true, &plain);
    edges_write(arena_printf(&s.mem, "%s/joined.bin", work), w, false, &joined);
    printf("{\"cpu\":%.6f,\"mb\":%.1f,\"tasks\":%u,\"vertices\":%u,\"plain\":%llu,\"joined\":%llu,"
           "\"joins\":%u}\n",
           best, mb, w->n_stages + w->n_tasks, w->n, (unsigned long long)plain,
           (unsigned long long)joined, w->n_joins);
    weave_free(w);
    catalog_unref(s.catalog);
    arena_done(&s.mem);
    return 0;
}

/* --- a random graph --- */

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The least that sorting can be: count, fill, walk. */
static uint32_t bare(uint32_t n, const uint32_t *first, const uint32_t *deps, uint32_t *order,
                     uint32_t *left, uint32_t *out_first, uint32_t *out)
{
    uint32_t done = 0, found = 0;
    memset(out_first, 0, ((size_t)n + 2) * sizeof *out_first);
    for (uint32_t k = 0; k < first[n]; k++)
        out_first[deps[k] + 2]++;
    for (uint32_t v = 0; v < n; v++)
        out_first[v + 2] += out_first[v + 1];
    for (uint32_t v = 0; v < n; v++) {
        left[v] = first[v + 1] - first[v];
        for (uint32_t k = first[v]; k < first[v + 1]; k++)
            out[out_first[deps[k] + 1]++] = v;
        if (!left[v])
            order[found++] = v;
    }
    while (done < found) {
        uint32_t v = order[done++];
        for (uint32_t k = out_first[v]; k < out_first[v + 1]; k++)
            if (!--left[out[k]])
                order[found++] = out[k];
    }
    return done;
}

static int random_graph(const char *work)
{
    uint32_t *first = xcalloc(VERTICES + 1, sizeof *first), *deps = xcalloc(EDGES, sizeof *deps);
    uint32_t *order = xcalloc(VERTICES, sizeof *order), *left = xcalloc(VERTICES, sizeof *left);
    uint32_t *out_first = xcalloc(VERTICES + 2, sizeof *out_first), *out = xcalloc(EDGES, 4);
    uint64_t state = 88172645463325252ull;
    uint32_t n = 0;
    SCOPED_ARENA(mem);
    FILE *f = fopen(arena_printf(&mem, "%s/random.bin", work), "wb");
    for (uint32_t v = 0; v < VERTICES; v++) {
        first[v] = n;
        for (uint32_t k = 0; v > 0 && k < EDGES / VERTICES && n < EDGES; k++)
            deps[n++] = (uint32_t)(next(&state) % v);
        for (uint32_t k = first[v]; f && k < n; k++) {
            uint32_t pair[2] = {deps[k], v};
            fwrite(pair, sizeof pair, 1, f);
        }
    }
    first[VERTICES] = n;
    if (f)
        fclose(f);
    double ours = 1e9, least = 1e9;
    uint32_t good = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double t = cpu_s();
        good += graph_levels(VERTICES, first, deps, order, left) == VERTICES;
        t = cpu_s() - t;
        ours = t < ours ? t : ours;
        t = cpu_s();
        good += bare(VERTICES, first, deps, order, left, out_first, out) == VERTICES;
        t = cpu_s() - t;
        least = t < least ? t : least;
    }
    printf("{\"cpu\":%.6f,\"bare\":%.6f,\"edges\":%u,\"good\":%s,\"mb\":%.1f}\n", ours, least, n,
           good == 2 * ROUNDS ? "true" : "false", most_mb());
    free(first), free(deps), free(order), free(left), free(out_first), free(out);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && !strcmp(argv[1], "real"))
        return real(argv[2], argv[3]);
    if (argc == 3 && !strcmp(argv[1], "random"))
        return random_graph(argv[2]);
    fprintf(stderr, "usage: bench_graph real FUEL WORK | random WORK\n");
    return 2;
}
