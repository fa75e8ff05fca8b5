/* bench_graph.c - task graphs: from a parsed catalog to an ordered plan; sorting a large random
 * graph
 *
 *   bench_graph real FUEL WORK SETTINGS     FUEL: a directory of task files; SETTINGS: data that
 *                                           their conditions read, JSON
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

struct sight { /* what expressions see of a node at one time */
    const struct value *common;
    struct expr_var vars[3];
};
struct site {
    struct arena mem, scratch;
    struct catalog *catalog;
    struct weave_node *nodes;
    const struct value **own; /* by node */
    struct sight now, old;
    uint32_t node; /* that both are of, + 1 */
    bool before;   /* it was deployed before */
    struct expr_budget budget;
    struct expr_memo *memo;
    struct expr_scope scope, old_scope;
    uint64_t evaluated;
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

static void sight_set(struct site *s, struct sight *to, const struct value *own)
{
    to->vars[0] = (struct expr_var){str_of("data"), value_merge(&s->scratch, to->common, own)};
    to->vars[1] = (struct expr_var){str_of("node"), own};
    to->vars[2] = (struct expr_var){str_of("common"), to->common};
}

static const struct expr_scope *site_scope(void *ctx, uint32_t node)
{
    struct site *s = ctx;
    const struct value *own = node < NODES ? s->own[node] : s->own[0];
    if (s->node != node + 1) {
        sight_set(s, &s->now, own);
        if (s->before)
            sight_set(s, &s->old, own);
    }
    s->node = node + 1;
    s->budget = (struct expr_budget){.steps = 2000000, .bytes = 64 << 20};
    s->old_scope = (struct expr_scope){.vars = s->old.vars, .n = 3};
    s->scope = (struct expr_scope){.vars = s->now.vars,
                                   .n = 3,
                                   .budget = &s->budget,
                                   .old = s->before ? &s->old_scope : NULL,
                                   .memo = s->memo};
    return &s->scope;
}

static int site_condition(void *ctx, uint32_t task, uint32_t node, struct err *e)
{
    struct site *s = ctx;
    const struct graph_vertex *v =
        &catalog_graph_get(s->catalog, str_of("default"))->vertices[task];
    s->evaluated++;
    return expr_eval_truth(v->condition, site_scope(s, node), e);
}

/* Settings with all nodes in them, as the task files expect; each time values of their own, as two
 * documents that were stored at different times are. */
static const struct value *settings_make(struct site *s, struct str text, const char *debug)
{
    struct value *common, *nodes = value_map(&s->mem), *meta = value_map(&s->mem),
                          *over = value_map(&s->mem);
    struct err e;
    if (json_parse(&s->mem, text.s, text.n, NULL, &common, &e) < 0) {
        fprintf(stderr, "bench_graph: %s\n", e.text);
        exit(1);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct value *node = value_map(&s->mem), *roles = value_list(&s->mem),
                     *nets = value_map(&s->mem);
        const char *name = arena_printf(&s->mem, "node-%u", i + 1);
        for (uint32_t k = 0; k < s->nodes[i].n_names; k++)
            value_add(&s->mem, roles, value_str(&s->mem, s->nodes[i].names[k]));
        value_put_text(&s->mem, nets, "mgmt/messaging", arena_printf(&s->mem, "10.0.0.%u", i));
        value_put_text(&s->mem, node, "uid", arena_printf(&s->mem, "%u", i + 1));
        value_put_text(&s->mem, node, "name", name);
        value_put_text(&s->mem, node, "fqdn", arena_printf(&s->mem, "%s.example.org", name));
        value_set(&s->mem, node, "node_roles", roles);
        value_set(&s->mem, node, "network_roles", nets);
        value_set(&s->mem, nodes, name, node);
    }
    value_set(&s->mem, meta, "nodes", nodes);
    value_set(&s->mem, over, "network_metadata", meta);
    value_put_text(&s->mem, over, "debug", debug);
    return value_merge(&s->mem, common, over);
}

static void site_data(struct site *s, const char *settings)
{
    struct str text = file_read(&s->mem, settings);
    s->now.common = settings_make(s, text, "new");
    s->old.common = settings_make(s, text, "old");
    s->own = arena_new(&s->mem, const struct value *, NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        struct value *own = value_map(&s->mem), *roles = value_list(&s->mem);
        for (uint32_t k = 0; k < s->nodes[i].n_names; k++)
            value_add(&s->mem, roles, value_str(&s->mem, s->nodes[i].names[k]));
        value_set(&s->mem, own, "roles", roles);
        value_put_text(&s->mem, own, "uid", arena_printf(&s->mem, "%u", i + 1));
        s->own[i] = own;
    }
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

/* The least CPU of some rounds; the last weave is kept. */
static double rounds(struct site *s, const struct weave_request *req, struct weave **w)
{
    static const struct str varying[] = {{"node", 4}, {"data.roles", 10}, {"data.uid", 8}};
    double best = 1e9;
    struct err e;
    for (int i = 0; i < ROUNDS; i++) {
        weave_free(*w);
        arena_reset(&s->scratch);
        s->node = 0;
        s->evaluated = 0;
        double t = cpu_s();
        s->memo = expr_memo_new(varying, 3);
        int rc = weave_make(req, w, &e);
        expr_memo_free(s->memo);
        s->memo = NULL;
        t = cpu_s() - t;
        if (rc < 0) {
            fprintf(stderr, "bench_graph: %s: %s\n", e.at, e.text);
            exit(1);
        }
        best = t < best ? t : best;
    }
    return best;
}

static uint64_t left_out(const struct weave *w)
{
    uint64_t n = 0;
    for (uint32_t v = 0; v < w->n; v++)
        n += w->vertices[v].reason == WEAVE_CONDITION;
    return n;
}

static int real(const char *fuel, const char *work, const char *settings)
{
    struct site s = {0};
    arena_init(&s.mem);
    arena_init(&s.scratch);
    site_catalog(&s, fuel);
    site_nodes(&s);
    site_data(&s, settings);
    struct weave_request req = {.graph = catalog_graph_get(s.catalog, str_of("default")),
                                .nodes = s.nodes,
                                .n_nodes = NODES,
                                .scope = site_scope,
                                .ctx = &s};
    struct weave *w = NULL;
    double before = most_mb(), best = rounds(&s, &req, &w), mb = most_mb() - before;
    uint64_t plain, joined;
    edges_write(arena_printf(&s.mem, "%s/plain.bin", work), w, true, &plain);
    edges_write(arena_printf(&s.mem, "%s/joined.bin", work), w, false, &joined);
    printf("{\"cpu\":%.6f,\"mb\":%.1f,\"tasks\":%u,\"vertices\":%u,\"plain\":%llu,\"joined\":%llu,"
           "\"joins\":%u",
           best, mb, w->n_stages + w->n_tasks, w->n, (unsigned long long)plain,
           (unsigned long long)joined, w->n_joins);
    req.condition = site_condition;
    double first = rounds(&s, &req, &w);
    uint64_t left_first = left_out(w);
    s.before = true;
    double again = rounds(&s, &req, &w);
    printf(",\"cpu_first\":%.6f,\"cpu_again\":%.6f,\"evaluated\":%llu,\"left_first\":%llu,"
           "\"left_again\":%llu,\"mb_conditions\":%.1f}\n",
           first, again, (unsigned long long)s.evaluated, (unsigned long long)left_first,
           (unsigned long long)left_out(w), most_mb() - before);
    weave_free(w);
    catalog_unref(s.catalog);
    arena_done(&s.scratch);
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
    if (argc == 5 && !strcmp(argv[1], "real"))
        return real(argv[2], argv[3], argv[4]);
    if (argc == 3 && !strcmp(argv[1], "random"))
        return random_graph(argv[2]);
    fprintf(stderr, "usage: bench_graph real FUEL WORK SETTINGS | random WORK\n");
    return 2;
}
