/* test_weave_real.c - the real task files of Fuel, imported and laid over clouds of several sizes
 *
 * Found through ANNEAL_TEST_DATA; the facts are its golden suite real_data.  Conditions never
 * change edges and are not looked at; what dependencies read of a node's data is given as it was
 * there.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include <dirent.h>

#include "catalog/import.h"
#include "weave_bed.h"

static const char data_of_site[] =
    "{\"network_metadata\":{\"vips\":{\"vrouter\":{\"ipaddr\":\"10.0.0.1\","
    "\"node_roles\":[\"controller\",\"primary-controller\"]}}}}";

struct real {
    struct weave_bed bed;
    const struct value *common;
    struct expr_var var;
    struct expr_scope scope;
};

static struct str file_read(struct arena *a, const char *path)
{
    SCOPED_BUF(text);
    char chunk[65536];
    FILE *f = fopen(path, "r");
    if (!f)
        return (struct str){"", 0};
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        buf_put(&text, chunk, n);
    fclose(f);
    return (struct str){arena_strndup(a, text.data, text.len), text.len};
}

static struct value *json_read(struct arena *a, struct str text)
{
    struct value *v = NULL;
    struct err e;
    return json_parse(a, text.s, text.n, NULL, &v, &e) < 0 ? NULL : v;
}

static bool imported(struct weave_bed *b, const char *dir)
{
    DIR *d = opendir(dir);
    VEC(struct catalog_file) files = {0};
    struct catalog_import *made = NULL;
    struct catalog_report report = {0};
    int rc = -1;
    for (struct dirent *f; d && (f = readdir(d));) {
        struct str path = str_of(arena_strdup(&b->mem, f->d_name));
        if (catalog_import_fuel_wants(path))
            vec_push(&files, ((struct catalog_file){
                                 path, file_read(&b->mem,
                                                 arena_printf(&b->mem, "%s/%s", dir, f->d_name))}));
    }
    if (d)
        closedir(d);
    struct catalog_source source = {files.at, files.n};
    if (files.n && (rc = catalog_import_fuel(&source, false, &made, &b->err)) >= 0) {
        source = (struct catalog_source){made->files, made->n_files};
        rc = catalog_load(&source, NULL, 1, &report, &b->catalog, &b->err);
    }
    catalog_report_done(&report);
    catalog_import_free(made);
    vec_done(&files);
    return rc >= 0;
}

static const struct expr_scope *scope_of(void *ctx, uint32_t node)
{
    struct real *r = ctx;
    struct arena *a = &r->bed.mem;
    struct value *data = value_copy(a, r->common), *roles = value_list(a);
    for (uint32_t i = 0; node < r->bed.nodes.n && i < r->bed.nodes.at[node].n_names; i++)
        value_add(a, roles, value_str(a, r->bed.nodes.at[node].names[i]));
    value_set(a, data, "roles", roles);
    r->var = (struct expr_var){str_of("data"), data};
    r->scope = (struct expr_scope){.vars = &r->var, .n = 1};
    return &r->scope;
}

static bool cloud(struct real *r, int64_t controllers, int64_t ceph, int64_t computes)
{
    struct weave_bed *b = &r->bed;
    int name = 1;
    vec_clear(&b->nodes);
    for (int64_t i = 0; i < controllers; i++)
        bed_node(b, arena_printf(&b->mem, "%d", name++),
                 i ? "controller rabbitmq database keystone neutron"
                   : "primary-controller primary-rabbitmq primary-database primary-keystone "
                     "primary-neutron");
    for (int64_t i = 0; i < ceph; i++)
        bed_node(b, arena_printf(&b->mem, "%d", name++), "ceph-osd");
    for (int64_t i = 0; i < computes; i++)
        bed_node(b, arena_printf(&b->mem, "%d", name++), "compute");
    b->graph = catalog_graph_get(b->catalog, str_of("default"));
    b->req.scope = scope_of;
    b->req.ctx = r;
    return bed_weave(b) == 0;
}

static int64_t number(const struct value *v, const char *key)
{
    return value_as_int(value_get(v, key), -1);
}

/* Vertices that stand at one level, the widest and the first. */
static void widths(const struct weave *w, int64_t *ret_widest, int64_t *ret_first)
{
    uint32_t *n = calloc(w->n_levels + 1, sizeof *n);
    *ret_widest = 0;
    for (uint32_t v = 0; v < w->n_stages + w->n_tasks; v++)
        n[w->vertices[v].level]++;
    for (uint32_t i = 0; i < w->n_levels; i++)
        *ret_widest = n[i] > *ret_widest ? n[i] : *ret_widest;
    *ret_first = n[0];
    free(n);
}

static int64_t on_node(const struct weave *w, uint32_t node)
{
    int64_t n = 0;
    for (uint32_t v = 0; v < w->n_stages + w->n_tasks; v++)
        n += w->vertices[v].node == node;
    return n;
}

static bool case_expand(struct real *r, const struct value *in, const struct value *out)
{
    int64_t c = number(in, "controllers"), ceph = number(in, "ceph"), edges = 0, widest, first;
    const struct value *kinds = value_get(out, "per_kind");
    if (!cloud(r, c, ceph, number(in, "computes")))
        return false;
    const struct weave *w = r->bed.w;
    uint32_t *ids = arena_new(&r->bed.mem, uint32_t, w->n);
    for (uint32_t v = 0; v < w->n_stages + w->n_tasks; v++)
        edges += weave_plain_deps(w, v, ids, w->n);
    widths(w, &widest, &first);
    return w->n_stages + w->n_tasks == number(out, "vertices") && edges == number(out, "edges") &&
           w->n_levels == number(out, "waves") && widest == number(out, "widest") &&
           first == number(out, "first_wave") && w->n_stages == number(kinds, "null") &&
           on_node(w, 0) == number(kinds, "primary-controller") &&
           on_node(w, w->n_nodes) == number(kinds, "master") &&
           on_node(w, w->n_nodes - 1) == number(kinds, "compute") &&
           (c < 2 || on_node(w, 1) == number(kinds, "controller")) &&
           (!ceph || on_node(w, (uint32_t)c) == number(kinds, "ceph-osd"));
}

static bool case_before(struct real *r, const struct value *in, const struct value *out)
{
    const struct value *n = value_get(in, "cloud"), *want = value_get(out, "predecessors");
    const char *all = "";
    if (!cloud(r, n->items[0].i, n->items[1].i, n->items[2].i))
        return false;
    for (uint32_t i = 0; i < want->n; i++) {
        const char *ref = value_as_text(&want->items[i], "");
        size_t len = strlen(ref);
        bool stage = len > 5 && !strcmp(ref + len - 5, "/null");
        all = arena_printf(&r->bed.mem, "%s%s%.*s", all, i ? " " : "", (int)(stage ? len - 5 : len),
                           ref);
    }
    return !strcmp(bed_deps(&r->bed, value_as_text(value_get(in, "task"), "")), all);
}

static bool case_plain(struct real *r, const struct value *in, const struct value *out)
{
    const struct value *undefined = value_get(out, "undefined");
    struct graph_plain p;
    const struct catalog_graph *g = catalog_graph_get(
        r->bed.catalog, str_of(value_as_text(value_get(in, "graph"), "")));
    if (!g)
        return false;
    graph_plain_build(&r->bed.mem, g, &p);
    bool good = g->n_vertices == number(out, "tasks") && p.n == number(out, "vertices") &&
                p.n_edges == number(out, "edges") && p.n - p.n_defined == undefined->n;
    for (uint32_t i = 0; good && i < undefined->n; i++) {
        bool found = false;
        for (uint32_t v = p.n_defined; v < p.n; v++)
            found |= str_is(p.names[v], value_as_text(&undefined->items[i], ""));
        good = found;
    }
    return good;
}

int main(void)
{
    const char *data = getenv("ANNEAL_TEST_DATA");
    struct real r = {0};
    unsigned ran = 0, passed = 0;
    data = data ? data : "../shared";
    bed_init(&r.bed);
    struct arena *a = &r.bed.mem;
    r.common = json_read(a, str_of(data_of_site));
    const struct value *suite = json_read(
        a, file_read(a, arena_printf(a, "%s/golden/fuel/real_data.json", data)));
    const struct value *cases = value_get(suite, "cases");
    if (!suite || !imported(&r.bed, arena_printf(a, "%s/data/fuel", data))) {
        skip("the real task files are not here");
        bed_done(&r.bed);
        return tap_done();
    }
    for (uint32_t i = 0; i < cases->n; i++, ran++) {
        const struct value *in = value_get(&cases->items[i], "in");
        const struct value *out = value_get(&cases->items[i], "out");
        bool good = value_get(in, "controllers") ? case_expand(&r, in, out)
                    : value_get(in, "task")      ? case_before(&r, in, out)
                                                 : case_plain(&r, in, out);
        passed += ok(good, "real_data: %s", value_as_text(value_get(&cases->items[i], "name"), ""));
    }
    note("real_data: %u cases ran, %u passed, 0 excepted, 0 skipped", ran, passed);
    bed_done(&r.bed);
    return tap_done();
}
