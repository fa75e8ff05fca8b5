/* test_import_fuel.c - task files of another system become task graphs, and every difference is
 * told
 *
 * The languages of conditions have tests of their own: here a text of the form "=X" is translated
 * to "data.X", and nothing else is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "base/json.h"
#include "catalog/import.h"
#include "catalog/import_yaql.h"
#include "catalog/taskgraph.h"
#include "import_job.h"
#include "template/expr.h"

int import_yaql(struct arena *a, struct str yaql, struct str *ret_expr, struct err *e)
{
    if (!yaql.n || yaql.s[0] != '=')
        return err_set(e, ERR_INVALID, "no equal"), err_at(e, "1:1");
    *ret_expr = str_of(arena_printf(a, "data.%.*s", (int)yaql.n - 1, yaql.s + 1));
    return 0;
}

int import_legacy_condition(struct arena *a, struct str text, struct str *ret_expr, struct err *e)
{
    return import_yaql(a, text, ret_expr, e);
}

/* --- helpers --- */

static int job_run(struct job *j, bool limit)
{
    struct catalog_source source = files_source(&j->in);

    j->rc = catalog_import_fuel(&source, limit, &j->out, &j->e);
    return job_load(j);
}

static const struct graph_vertex *vertex(const struct job *j, const char *graph, const char *id)
{
    const struct catalog_graph *g = j->cat ? catalog_graph_get(j->cat, str_of(graph)) : NULL;
    uint32_t i = g ? catalog_graph_find(g, str_of(id)) : CATALOG_NONE;
    return i == CATALOG_NONE ? NULL : &g->vertices[i];
}

/* --- one task --- */

static void test_task(void)
{
    struct job j = {0};

    job_file(&j, "deployment/puppet/osnailyfacter/modular/web/tasks.yaml",
             "# whose it is\n"
             "\n"
             "- id: s\n"
             "  type: stage\n"
             "# what it is for\n"
             "- id: web\n"
             "  type: sync\n"
             "  version: 2.1.0\n"
             "  role: ['/.*/', '/a\\d+/', '/(?=x)/']\n"
             "  requires: &before [s]\n"
             "  required_for: [s2]\n"
             "  required_for: [nobody]\n"
             "  condition: {yaql_exp: '=x'}\n"
             "  cross-depends: [null, {name: '/(?!a)b/'}, {name: s, role: self}]\n"
             "  cross-depended-by: {yaql_exp: '=deps'}\n"
             "  parameters:\n"
             "    data: {yaql_exp: '=y'}\n"
             "    list: [{yaql_exp: '$.z'}]\n"
             "    strategy: {type: parallel, amount: {yaql_exp: '=n'}}\n"
             "- {id: old, type: role, requires: *before, condition: '=x', fault_tolerance: 2%}\n"
             "- {id: lost, type: puppet, condition: {yaql_exp: '$.x'}, cross-depends: {yaql_exp: "
             "'$.y'}}\n"
             "- {id: never, type: puppet, condition: false, test_pre: {cmd: ls, retries: 3, "
             "interval: 2}, test_post: ls}\n"
             "- {id: text, type: puppet, condition: a == b}\n");
    is_int(job_run(&j, false), 0, "a file is imported: %s", j.e.text);
    const char *text = made(&j, "fuel/graphs/default/modular-web.yaml");
    has_text(text, "# whose it is\n# Imported from deployment/puppet/", "with whose it is");
    has_text(text, "# what it is for\n- id: web\n", "and what it is for");
    is_text(made(&j, "fuel/barclamp.yaml"),
            "barclamp: fuel\ndescription: task graphs imported from Fuel\nlenient: true\n"
            "graphs:\n  requires: same-node\n",
            "one barclamp");
    const struct graph_vertex *web = vertex(&j, "default", "web"),
                              *old = vertex(&j, "default", "old"),
                              *lost = vertex(&j, "default", "lost"),
                              *never = vertex(&j, "default", "never");
    if (ok(web && old && lost && never, "all tasks are there")) {
        is_text(web->type.s, "rsync", "sync is rsync");
        ok(web->same_node, "on the same node");
        is_int(web->nodes.n, 2, "patterns that can be said");
        ok(graph_word_matches(&web->nodes.words[1], str_of("a12")), "also those of Ruby");
        is_int(web->n_required_for, 0, "of two keys the last");
        is_text(expr_text(web->condition).s, "data.x", "a condition");
        is_int(web->n_depends, 1, "cross dependencies that can be said");
        ok(web->depended_by_of, "and those from an expression");
        is_text(value_as_text(value_at(web->parameters, "data.expr"), ""), "data.y", "a parameter");
        is_text(value_as_text(value_at(web->parameters, "list.0.yaql_exp"), ""), "$.z",
                "one that has no equal stays");
        ok(web->strategy.amount_of, "an amount");
        is_int(old->kind, VERTEX_GROUP, "a role is a group");
        is_int(old->n_requires, 1, "aliases are what they stand for");
        is_text(expr_text(lost->condition).s, "true", "a condition without an equal is true");
        ok(!lost->n_depends && !lost->depends_of, "dependencies without an equal are none");
        is_text(expr_text(never->condition).s, "false", "a constant stays");
        is_int(never->test_pre.interval_ms, 2000, "what is between the tries of a test");
        is_int(never->test_post.interval_ms, 1000, "a second where it is not said");
    }
    ok(told(&j, "tasks.yaml:7: changed: web: type sync is called rsync"), "the type is told");
    ok(told(&j, ":9: changed: web: pattern /a\\d+/ is written /a[0-9]+/"), "a pattern");
    ok(told(&j, ":9: left out: web: pattern /(?=x)/: "), "a pattern without an equal");
    ok(told(&j, ":11: fault: required_for: left out: the same key comes again in line 12"), "keys");
    ok(told(&j, ":14: left out: web: pattern /(?!a)b/"), "a cross dependency");
    ok(told(&j, ":18: left out: web: an expression that is kept as data: no equal"), "parameters");
    ok(told(&j, ":21: left out: lost: its condition, which is always true now: no equal, at 1:1 of "
                "the text"),
       "why");
    ok(told(&j, ":21: left out: lost: its cross dependencies: no equal"), "dependencies");
    ok(told(&j, ":23: left out: text: its condition, which is always true now: no equal"), "texts");
    ok(told(&j, "imported 6 stages, groups and tasks of 1 file in 1 graph\n"), "counted");
    job_done(&j);
}

/* --- files --- */

static void test_files(void)
{
    struct job j = {0};

    job_file(&j, "tasks.yaml", "- {id: z, type: noop}\n- {id: a, type: noop}\n");
    job_file(&j, "x/graphs/tear-down/tasks.yaml", "- {id: a, type: noop}\n");
    job_file(&j, "x/graphs/tear-down/metadata.yaml", "on_stop: {}\n");
    job_file(&j, "graphs__roles.tasks.yaml", "- {id: a, type: noop}\n");
    job_file(&j, "graphs__Up.tasks.yaml", "- {id: a, type: noop}\n");
    job_file(&j, "one__two.tasks.yaml", "- {id: b, type: noop}\n- {id: a, type: noop}\n");
    job_file(&j, "a/one/two/tasks.yaml", "- {id: c, type: noop}\n");
    job_file(&j, "bad/tasks.yaml", "- {id: [\n");
    job_file(&j, "map/tasks.yaml", "id: d\n");
    job_file(&j, "none/tasks.yaml", "[]\n");
    job_file(&j, "other.yaml", "- {id: e, type: noop}\n");
    job_file(&j, "mytasks.yaml", "- {id: f, type: noop}\n");
    is_int(job_run(&j, true), 0, "many files: %s", j.e.text);
    has_text(made(&j, "fuel/barclamp.yaml"), "circles: limit\n", "with the switch");
    has_text(made(&j, "fuel/graphs/tear-down/tear-down.yaml"), "- id: a\n", "a graph's folder");
    has_text(made(&j, "fuel/graphs/up/up.yaml"), "- id: a\n", "a graph in a flat copy");
    has_text(made(&j, "fuel/graphs/default/one-two.yaml"), "- id: c\n", "two parts of a path");
    has_text(made(&j, "fuel/graphs/default/one-two-2.yaml"), "- id: b\n", "both kept apart");
    has_text(made(&j, "fuel/graphs/default/tasks.yaml"), "- id: z\n", "a file without a folder");
    has_text(made(&j, "fuel/graphs/roles-2/roles.yaml"), "- id: a\n", "a folder that is taken");
    is_int(j.out ? j.out->n_files : 0, 7, "and nothing else");
    is_int(j.cat ? j.cat->n_graphs : 0, 4, "four graphs");
    ok(told(&j, "tear-down/metadata.yaml:1: left out: on_stop"), "what follows a run is told");
    ok(told(&j, "\ntasks.yaml:2: fault: a: left out: graph default has a task of this id already"),
       "an id twice in a graph");
    ok(told(&j, "bad/tasks.yaml: fault: left out, as it is no YAML we read"), "no YAML");
    ok(told(&j, "map/tasks.yaml: fault: this file: left out: it is no list"), "no list");
    ok(told(&j, "graph: Up is called up"), "names are adapted");
    job_done(&j);

    job_file(&j, "a/tasks.yaml", "- {type: noop}\n");
    is_int(job_run(&j, false), -ERR_INVALID, "nothing to import");
    has_text(j.e.text, "there is no task", "is refused");
    has_text(j.e.hint, "a/tasks.yaml: left out: it has no id", "and why");
    job_done(&j);
    is_int(job_run(&j, false), -ERR_INVALID, "no file at all");
    has_text(j.e.hint, "tasks.yaml", "says what they are called");
    job_done(&j);
}

/* --- what the loader would refuse --- */

static void test_faults(void)
{
    static const struct {
        const char *task, *told;
    } cases[] = {
        {"{id: a/b, type: noop}", "left out: \"a/b\" cannot be an id"},
        {"{id: a, type: No Op}", "left out: \"No Op\" cannot be a type"},
        {"{id: a}", "left out: a vertex needs a type"},
        {"{id: a, type: noop, requires: [a]}", "requires is left out: graph \"default\" waits"},
        {"{id: a, type: noop, requires: b}", "requires is left out: \"requires\" must be a list"},
        {"{id: a, type: noop, strategy: {type: odd}}", "strategy is left out: a strategy's type"},
        {"{id: a, type: noop, parameters: [1]}", "parameters is left out: \"parameters\" must be"},
        {"{id: a, type: noop, cross-depends: [{role: x}]}", "cross_depends is left out: "},
        {"{id: a, type: noop, condition: [1]}", "its condition, which is always true now"},
        {"{id: a, type: noop, condition: {yaql_exp: '=x +'}}", "condition is left out: "},
        {"{id: a, type: noop, role: [1]}", "role is left out: expected a name"},
        {"{id: a, type: noop, cross_depends: [], cross-depends: []}",
         "cross_depends is said before"},
        {"[1]", "left out: it has no id"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct job j = {0};
        SCOPED_BUF(text);
        buf_printf(&text, "- {id: sound, type: noop}\n- %s\n", cases[i].task);
        job_file(&j, "tasks.yaml", text.data);
        is_int(job_run(&j, false), 0, "%s is imported: %s", cases[i].task, j.e.text);
        if (!ok(told(&j, cases[i].told), "and told: %s", cases[i].told))
            note("%s", j.text.data ? j.text.data : "");
        ok(told(&j, "tasks.yaml:2: "), "with its line");
        job_done(&j);
    }
}

/* --- the real files --- */

struct type_count {
    const char *graph, *types;
};

static void types_write(struct buf *b, const struct catalog_graph *g)
{
    static const char *const order[] = {
        "puppet",      "group",   "shell", "stage",        "copy_files",
        "upload_file", "skipped", "rsync", "master_shell", "move_to_bootstrap",
        "erase_node",  "reboot"};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        uint32_t n = 0;
        for (uint32_t i = 0; i < g->n_vertices; i++)
            n += str_is(g->vertices[i].type, order[k]);
        if (n)
            buf_printf(b, "%s%s:%u", b->len ? " " : "", order[k], n);
    }
}

/* Facts about the graphs as they are written. */
static void real_plain(const struct job *j, const char *golden)
{
    SCOPED_ARENA(mem);
    struct value *top = NULL;
    struct err e;
    enum { ROOM = 1 << 20 };
    char *text = arena_new(&mem, char, ROOM);
    FILE *in = fopen(golden, "rb");
    uint32_t passed = 0, elsewhere = 0;

    if (!in) {
        skip("facts about real files: there are none");
        return;
    }
    size_t n = fread(text, 1, ROOM, in);
    fclose(in);
    if (!ok(json_parse(&mem, text, n, NULL, &top, &e) == 0, "real_data is JSON"))
        return;
    const struct value *cases = value_get(top, "cases");
    for (uint32_t i = 0; i < cases->n; i++) {
        const struct value *c = &cases->items[i], *undefined = value_at(c, "out.undefined");
        const char *name = value_as_text(value_get(c, "name"), "?");
        const struct catalog_graph *g = catalog_graph_get(j->cat,
                                                          value_as_str(value_at(c, "in.graph")));
        struct graph_plain plain;
        if (!undefined || !g) {
            elsewhere++; /* over nodes: planner/weave_real */
            continue;
        }
        graph_plain_build(&mem, g, &plain);
        bool good = plain.n_defined == value_as_int(value_at(c, "out.tasks"), 0) &&
                    plain.n == value_as_int(value_at(c, "out.vertices"), 0) &&
                    plain.n_edges == value_as_int(value_at(c, "out.edges"), 0);
        for (uint32_t k = 0; k < undefined->n; k++) {
            bool there = false;
            for (uint32_t m = plain.n_defined; m < plain.n; m++)
                there |= str_eq(plain.names[m], value_as_str(&undefined->items[k]));
            good &= there;
        }
        ok(good, "real_data/%s: %u vertices, %u edges", name, plain.n, plain.n_edges);
        passed += good;
    }
    note("real_data: %u cases: %u passed, 0 excepted, 0 skipped, %u run elsewhere", cases->n,
         passed, elsewhere);
    is_int(passed, 2, "both facts that need no nodes hold");
}

static void test_real(const char *root)
{
    static const struct type_count wanted[] = {
        {"default", "puppet:162 group:11 shell:9 stage:6 copy_files:6 upload_file:5 skipped:4 "
                    "rsync:1"},
        {"deletion", "stage:2 master_shell:1 move_to_bootstrap:1 erase_node:1"},
        {"provision", "puppet:1 shell:2 stage:2 upload_file:2 master_shell:1 move_to_bootstrap:1 "
                      "reboot:1"},
        {"net-verification", "puppet:6 shell:2 stage:2 copy_files:1 upload_file:2 rsync:1"},
    };
    struct job j = {0};
    uint32_t vertices = 0;

    if (!files_read(&j.in, arena_printf(&j.in.mem, "%s/data/fuel", root), "")) {
        skip("real files: they are not there");
        job_done(&j);
        return;
    }
    is_int(job_run(&j, false), 0, "real files are imported: %s %s", j.e.at, j.e.text);
    is_int(j.report.n_errors, 0, "without errors");
    ok(told(&j, "imported 233 stages, groups and tasks of 47 files in 4 graphs"), "all of them");
    is_int(j.cat ? j.cat->n_graphs : 0, 4, "four graphs");
    for (size_t i = 0; j.cat && i < sizeof wanted / sizeof *wanted; i++) {
        const struct catalog_graph *g = catalog_graph_get(j.cat, str_of(wanted[i].graph));
        SCOPED_BUF(types);
        if (!ok(g, "graph %s", wanted[i].graph))
            continue;
        types_write(&types, g);
        is_text(types.data, wanted[i].types, "its types");
        vertices += g->n_vertices;
    }
    is_int(vertices, 233, "tasks in all");
    ok(told(&j, "openstack_tasks__heat.tasks.yaml:63: fault: cross-depends: left out"),
       "a key that comes twice");
    if (j.cat) {
        const struct graph_vertex *g = vertex(&j, "default", "cinder");
        ok(g && graph_tolerance_of(&g->tolerance, 500) == 10, "tolerances");
        g = vertex(&j, "default", "controller");
        ok(g && graph_strategy_limit(&g->strategy) == 6, "strategies");
        real_plain(&j, arena_printf(&j.in.mem, "%s/golden/fuel/real_data.json", root));
    }
    job_done(&j);
}

int main(int argc, char **argv)
{
    SCOPED_ARENA(mem);
    const char *data = getenv("ANNEAL_TEST_DATA");

    test_task();
    test_files();
    test_faults();
    test_real(data ? data : arena_printf(&mem, "%s/../shared", argc > 1 ? argv[1] : "."));
    return tap_done();
}
