/* test_solver_golden.c - facts about Coopr's layouts, found through ANNEAL_TEST_DATA
 *
 * Cases are read from $ANNEAL_TEST_DATA/golden/coopr, by default ../shared beside the tree, and
 * left out where they are not at hand.  They are solved in Coopr's order.  Where a case is known to
 * be a defect of the old program, its right answer is expected.  Checks of steps that the solver
 * does not have (all ways to count, the best of given nodes) are skipped, and counted.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>

#include "golden_cluster.h"

enum { CASES = 200, KINDS = 512, EXPECTED_LEAST = 50 };

struct tally {
    unsigned ran, passed, skipped;
};

/* --- one node --- */

static bool set_checked(const struct value *in)
{
    struct golden_cluster g = {0};
    names_put(&g.services, value_get(in, "cluster_services"));
    names_put(&g.services, value_get(in, "set"));
    golden_build(&g, value_get(in, "constraints"));
    struct solver_set s = names_set(&g.services, value_get(in, "set"), NULL);
    return solver_services_fit(&g.p, &s);
}

static bool node_checked(const struct value *in)
{
    struct golden_cluster g = {0};
    const struct value *node = value_get(in, "node");
    names_put(&g.services, value_get(node, "services"));
    name_put(&g.hardware, value_as_text(value_get(node, "hw"), ""));
    name_put(&g.images, value_as_text(value_get(node, "img"), ""));
    golden_build(&g, value_get(in, "constraints"));
    struct solver_kind k = golden_kind(&g, node);
    return solver_node_fits(&g.p, &k.services, k.hardware, k.image);
}

static bool nodes_listed(const struct value *in, const struct value *expect)
{
    static struct solver_kind kinds[KINDS];
    struct golden_cluster g = {0};
    names_put(&g.services, value_get(in, "services"));
    names_put(&g.hardware, value_get(in, "hardware"));
    names_put(&g.images, value_get(in, "images"));
    golden_build(&g, value_get(in, "constraints"));
    uint32_t n = solver_nodes_list(&g.p, kinds, KINDS);
    for (uint32_t i = 1; i < n; i++)
        if (solver_kind_order(&kinds[i - 1], &kinds[i]) >= 0)
            return false;
    return n <= KINDS && kinds_match(&g, kinds, n, value_get(expect, "set_of"));
}

/* --- layouts --- */

static bool counts_checked(const struct value *in)
{
    struct golden_cluster g = {0};
    struct solver_kind kinds[GOLDEN_LAYOUT];
    const struct value *layouts = value_get(in, "layouts"), *counts = value_get(in, "counts");
    layout_names(&g, layouts);
    names_put(&g.services, value_get(in, "services"));
    golden_build(&g, value_get(in, "constraints"));
    golden_nodes(&g, (uint32_t)value_as_int(value_get(in, "nodes"), 0));
    for (uint32_t i = 0; i < layouts->n; i++) {
        kinds[i] = golden_kind(&g, &layouts->items[i]);
        kinds[i].count = (uint32_t)value_as_int(&counts->items[i], 0);
    }
    return solver_layout_fits(&g.p, kinds, layouts->n, NULL);
}

static bool layout_checked(const struct value *in)
{
    struct golden_cluster g = {0};
    struct solver_kind kinds[GOLDEN_LAYOUT];
    const struct value *layout = value_get(in, "layout");
    uint32_t nodes = 0;
    layout_names(&g, layout);
    golden_build(&g, value_get(in, "constraints"));
    for (uint32_t i = 0; i < layout->n; i++) {
        kinds[i] = golden_kind(&g, &layout->items[i]);
        nodes += kinds[i].count;
    }
    golden_nodes(&g, nodes);
    return solver_layout_fits(&g.p, kinds, layout->n, NULL);
}

/* --- solving --- */

static bool solved_as(const struct golden_cluster *g, const struct value *layout)
{
    SCOPED_ARENA(mem);
    const struct solver_answer *a;
    const struct solver_options o = {.want_conflict = true};
    struct err e;
    if (solver_solve(&mem, &g->p, &o, &a, &e) < 0)
        return false;
    if (!layout || layout->kind == VALUE_NULL)
        return a->status == SOLVER_UNSATISFIABLE && a->n_conflict > 0;
    return a->status == SOLVER_SOLVED && a->settled &&
           solver_layout_fits(&g->p, a->kinds, a->n_kinds, NULL) &&
           kinds_match(g, a->kinds, a->n_kinds, layout);
}

static bool solve_checked(const struct value *in, const struct value *layout)
{
    struct golden_cluster g = {0};
    names_put(&g.services, value_get(in, "services"));
    names_put(&g.hardware, value_get(in, "hardware"));
    names_put(&g.images, value_get(in, "images"));
    golden_build(&g, value_get(in, "constraints"));
    golden_nodes(&g, (uint32_t)value_as_int(value_get(in, "nodes"), 0));
    for (uint32_t i = 0; i < g.p.n_services; i++)
        g.service[i].required = true;
    return solved_as(&g, layout);
}

/* The nodes of a layout, which stay. */
static void existing_put(struct golden_cluster *g, const struct value *layout)
{
    for (uint32_t i = 0; i < layout->n; i++) {
        struct solver_kind k = golden_kind(g, &layout->items[i]);
        g->existing[g->p.n_existing++] = (struct solver_existing){k.services,  k.hardware, k.image,
                                                                  SOLVER_NONE, k.count,    true};
        g->p.nodes_min = g->p.nodes_max += k.count;
    }
}

static bool add_checked(const struct value *in, const struct value *layout)
{
    struct golden_cluster g = {0};
    layout_names(&g, value_get(in, "layout"));
    names_put(&g.services, value_get(in, "add"));
    golden_build(&g, value_get(in, "constraints"));
    existing_put(&g, value_get(in, "layout"));
    g.p.involved = names_set(&g.services, value_get(in, "add"), NULL);
    for (uint32_t i = 0; i < g.p.n_services; i++)
        g.service[i].required = solver_set_has(&g.p.involved, i);
    return solved_as(&g, layout);
}

struct moves {
    const struct golden_cluster *g;
    const struct value *expect;
    uint32_t n;
    bool same;
};

static bool move_compare(void *ctx, const struct solver_kind *kinds, uint32_t n)
{
    struct moves *m = ctx;
    m->same = m->same && m->n < m->expect->n &&
              kinds_match(m->g, kinds, n, value_get(&m->expect->items[m->n], "set_of"));
    m->n++;
    return m->same;
}

static bool moves_checked(const struct value *in, const struct value *expect)
{
    struct golden_cluster g = {0};
    struct moves m = {&g, expect, 0, true};
    struct err e;
    const char *service = value_as_text(value_get(in, "service"), "");
    layout_names(&g, value_get(in, "layout"));
    name_put(&g.services, service);
    golden_build(&g, value_get(in, "constraints"));
    existing_put(&g, value_get(in, "layout"));
    return !solver_moves_each(&g.p, name_id(&g.services, service), move_compare, &m, &e) &&
           m.same && m.n == expect->n;
}

/* --- cases --- */

/* 1 passed, 0 failed, -1 not a thing that the solver has. */
static int check_run(const struct value *doc, const struct value *check)
{
    const char *op = value_as_text(value_get(check, "op"), "");
    const struct value *in = value_get(check, "input"), *expect = value_get(check, "expect");
    const struct value *correct = value_get(doc, "correct");
    const struct value *layout = expect ? value_get(expect, "set_of") : NULL;
    if (correct) {
        layout = value_get(correct, "layout");
        layout = layout ? layout : value_get(correct, "example");
        if (!layout) /* to be refused before it comes here: it is on the cluster already */
            return -1;
    }
    if (!strcmp(op, "service_set_check"))
        return set_checked(in) == value_as_bool(expect, false);
    if (!strcmp(op, "node_layout_check"))
        return node_checked(in) == value_as_bool(expect, false);
    if (!strcmp(op, "node_layouts"))
        return nodes_listed(in, expect);
    if (!strcmp(op, "cluster_check"))
        return counts_checked(in) == value_as_bool(expect, false);
    if (!strcmp(op, "layout_valid"))
        return layout_checked(in) == value_as_bool(expect, false);
    if (!strcmp(op, "solve"))
        return solve_checked(in, layout);
    if (!strcmp(op, "add_services"))
        return add_checked(in, layout);
    if (!strcmp(op, "add_service_moves"))
        return moves_checked(in, expect);
    return -1;
}

static struct value *doc_read(struct arena *mem, const char *path)
{
    SCOPED_BUF(text);
    char part[4096];
    struct value *v;
    size_t n;
    FILE *f = fopen(path, "re");
    if (!f)
        return NULL;
    while ((n = fread(part, 1, sizeof part, f)) > 0)
        buf_put(&text, part, n);
    fclose(f);
    const char *kept = arena_strndup(mem, text.data, text.len);
    return json_parse(mem, kept, text.len, NULL, &v, NULL) < 0 ? NULL : v;
}

static void doc_run(const char *dir, const char *name, struct tally *t)
{
    SCOPED_ARENA(mem);
    const struct value *doc = doc_read(&mem, arena_printf(&mem, "%s/%s", dir, name));
    const struct value *checks = value_get(doc, "checks");
    for (uint32_t i = 0; checks && i < checks->n; i++) {
        const struct value *check = &checks->items[i];
        int r = check_run(doc, check);
        t->skipped += r < 0;
        t->ran += r >= 0;
        t->passed += r > 0;
        if (r >= 0)
            ok(r, "%s: %s %u", name, value_as_text(value_get(check, "op"), ""), i);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(void)
{
    SCOPED_ARENA(mem);
    const char *data = getenv("ANNEAL_TEST_DATA"), *top = getenv("ANNEAL_TOP");
    const char *dir = data ? arena_printf(&mem, "%s/golden/coopr", data)
                           : arena_printf(&mem, "%s/../shared/golden/coopr", top ? top : ".");
    char *names[CASES];
    size_t n = 0;
    struct tally t = {0};
    DIR *d = opendir(dir);
    if (!d) {
        skip("the golden cases are not at hand");
        return tap_done();
    }
    for (struct dirent *e; n < CASES && (e = readdir(d));)
        if (strlen(e->d_name) > 5 && !strcmp(e->d_name + strlen(e->d_name) - 5, ".json"))
            names[n++] = arena_strdup(&mem, e->d_name);
    closedir(d);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++)
        doc_run(dir, names[i], &t);
    ok(t.ran >= EXPECTED_LEAST, "the cases are there");
    note("%u checks ran, %u passed, 0 excepted, %u skipped: not of the solver", t.ran, t.passed,
         t.skipped);
    return tap_done();
}
