/* test_graph.c - task graphs as catalogs load them: fields, names, circles, what is wrong */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "catalog_files.h"

#include "base/yaml.h"
#include "catalog/taskgraph.h"
#include "template/expr.h"

struct fixture {
    struct catalog_report report;
    struct catalog *c;
    const struct catalog_graph *g; /* default, or NULL */
    struct err e;
    int code;
};

static const char native[] = "barclamp: x\n";
static const char lenient[] = "barclamp: x\nlenient: true\ngraphs: {requires: same-node}\n";

static void begin(struct fixture *f, const char *barclamp, const char *graph)
{
    struct catalog_file files[] = {{str_of("barclamp.yaml"), str_of(barclamp)},
                                   {str_of("graphs/a.yaml"), str_of(graph)}};
    struct catalog_source source = {files, 2};

    *f = (struct fixture){0};
    f->code = catalog_load(&source, NULL, 1, &f->report, &f->c, &f->e);
    if (!f->code)
        f->g = catalog_graph_get(f->c, str_of("default"));
}

static void end(struct fixture *f)
{
    catalog_unref(f->c);
    catalog_report_done(&f->report);
}

static const struct graph_vertex *vertex(const struct fixture *f, const char *id)
{
    uint32_t i = f->g ? catalog_graph_find(f->g, str_of(id)) : CATALOG_NONE;
    return i == CATALOG_NONE ? NULL : &f->g->vertices[i];
}

/* The graph is refused there, for that. */
static void refused(const char *barclamp, const char *graph, enum errcode code, const char *at,
                    const char *text, const char *hint)
{
    struct fixture f;
    begin(&f, barclamp, graph);
    is_int(f.code, -(int)code, "%s is refused", text);
    is_text(f.e.at, at, "%s: where", text);
    has_text(f.e.text, text, "what");
    if (hint)
        has_text(f.e.hint, hint, "%s: hint", text);
    end(&f);
}

/* It loads, and the first doubt is there, for that. */
static void doubted(const char *barclamp, const char *graph, const char *at, const char *text)
{
    struct fixture f;
    begin(&f, barclamp, graph);
    is_int(f.code, 0, "loads: %s", text);
    if (ok(f.report.entries.n > 0, "%s is doubted", text)) {
        is_int(f.report.entries.at[0].severity, CATALOG_WARNING, "as a warning");
        is_text(f.report.entries.at[0].err.at, at, "%s: where", text);
        has_text(f.report.entries.at[0].err.text, text, "what");
    }
    end(&f);
}

static void test_fields(void)
{
    struct fixture f;

    begin(&f, native,
          "- {id: deploy, type: stage}\n"
          "- {id: ctl, type: role, role: [ctl], requires: [deploy], tasks: [t],\n"
          "   fault_tolerance: \"-50%\", parameters: {strategy: {type: parallel, amount: 2}}}\n"
          "- id: t\n"
          "  type: sync\n"
          "  version: 2.1.0\n"
          "  description: all of it\n"
          "  tags: [\"/c.l/\", master]\n"
          "  role: other\n"
          "  groups: ctl\n"
          "  requires: [deploy]\n"
          "  required_for: [u]\n"
          "  cross-depends: [null, {name: /^u/, role: self}, {name: deploy, role: null}]\n"
          "  cross_depended_by: [{name: u, tags: [ctl], policy: any}]\n"
          "  condition: data.x > 1\n"
          "  parameters: {timeout: 10, retries: 3, interval: 2s, src: {expr: data.y}}\n"
          "  strategy: {type: rolling, amount: {expr: data.n}}\n"
          "  fail_on_error: false\n"
          "  reexecute_on: [deploy_changes]\n"
          "  refresh_on: [a, b]\n"
          "  test_pre: ls\n"
          "  test_post: {cmd: ls -l, timeout: 1m, retries: 2, interval: 250ms}\n"
          "- {id: u, type: noop, role: '*', condition: false, cross_depends: {expr: data.deps}}\n");
    is_int(f.code, 0, "a graph with everything loads: %s", f.e.text);
    const struct graph_vertex *t = vertex(&f, "t"), *g = vertex(&f, "ctl"), *u = vertex(&f, "u");
    if (!ok(t && g && u, "its vertices are there")) {
        end(&f);
        return;
    }
    is_int(f.g->n_vertices, 4, "no stages were added");
    is_int(g->kind, VERTEX_GROUP, "a role is a group");
    is_text(g->type.s, "group", "and called so");
    is_int(g->n_tasks, 1, "with a task");
    is_int(g->tasks[0], catalog_graph_find(f.g, str_of("t")), "that one");
    is_int(graph_tolerance_of(&g->tolerance, 7), 3, "of seven three may fail");
    is_int(graph_strategy_limit(&g->strategy), 2, "two at a time");
    is_int(g->nodes.n, 1, "one word");
    is_text(t->type.s, "rsync", "sync is rsync");
    is_text(t->version.s, "2.1.0", "version");
    is_text(t->description.s, "all of it", "description");
    is_int(t->nodes.n, 2, "tags count, not roles");
    ok(graph_word_matches(&t->nodes.words[0], str_of("ctl-1")), "a pattern, at the beginning");
    ok(!graph_word_matches(&t->nodes.words[0], str_of("xctl")), "only there");
    is_int(t->nodes.words[1].kind, WORD_MASTER, "master");
    is_int(t->groups.n, 1, "groups are kept apart");
    is_int(t->n_requires, 1, "requires");
    is_int(t->n_required_for, 1, "required_for");
    is_int(t->n_depends, 2, "null items are none");
    is_int(t->depends[0].name.kind, WORD_PATTERN, "a pattern of names");
    is_int(t->depends[0].where.words[0].kind, WORD_SELF, "self");
    is_int(t->depends[1].where.kind, SELECT_NULL, "where stages are");
    ok(t->depended_by[0].any, "policy: any");
    is_int(t->depended_by[0].place.line, 14, "with its place");
    is_text(expr_text(t->condition).s, "data.x > 1", "the condition");
    is_int(t->timeout_ms, 10000, "timeout");
    is_int(t->interval_ms, 2000, "interval");
    is_int(t->retries, 3, "retries");
    is_int(g->retries, CATALOG_NONE, "not said");
    is_int(t->strategy.type, STRATEGY_ROLLING, "rolling");
    ok(t->strategy.amount_of, "by an expression");
    ok(!t->fail_on_error && u->fail_on_error, "fail_on_error, by default true");
    is_int(t->n_reexecute_on, 1, "reexecute_on");
    is_int(t->n_refresh_on, 2, "refresh_on");
    is_text(t->refresh_on[1].s, "b", "the second");
    is_text(t->test_pre.cmd.s, "ls", "a test that is text");
    is_text(t->test_post.cmd.s, "ls -l", "a test that is a map");
    is_int(t->test_post.timeout_ms, 60000, "its timeout");
    is_int(t->test_post.retries, 2, "its retries");
    is_int(t->test_post.interval_ms, 250, "and what is between them");
    is_int(t->test_pre.interval_ms, 1000, "a second, if it is not said");
    is_text(value_as_text(value_at(t->parameters, "src.expr"), ""), "data.y", "parameters");
    is_text(value_as_text(value_get(t->source, "type"), ""), "sync", "the source as written");
    is_int(t->where.line, 4, "where it stands");
    is_int(u->nodes.kind, SELECT_ALL, "every node");
    is_text(expr_text(u->condition).s, "false", "a condition that is never true");
    ok(u->depends_of && !u->n_depends, "dependencies from an expression");
    ok(!t->same_node && !t->circles_limit, "any node, circles refused");
    end(&f);
}

static void test_places(void)
{
    struct catalog_file files[] = {
        {str_of("b/barclamp.yaml"), str_of("barclamp: b\ngraphs: {circles: limit}\n")},
        {str_of("a/barclamp.yaml"), str_of("barclamp: a\ngraphs: {requires: same-node}\n")},
        {str_of("a/graphs/x.yaml"), str_of("- {id: one, type: noop}\n")},
        {str_of("b/graphs/x.yaml"), str_of("- {id: two, type: noop, requires: [one]}\n")},
        {str_of("b/graphs/Z/x.yaml"), str_of("- {id: one, type: noop}\n")},
        {str_of("b/graphs/z/x.yaml"), str_of("- {id: one, type: noop}\n")},
        {str_of("b/graphs/z/deep/x.yaml"), str_of("- {id: [\n")},
    };
    struct catalog_source source = {files, sizeof files / sizeof *files};
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_INVALID, "a graph called Z");
    is_text(e.at, "b/graphs/Z/x.yaml:1:1", "is refused at its file");
    catalog_report_done(&report);
    files[4] = files[5];
    source.n = 5;
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), 0, "two graphs of two barclamps");
    if (c) {
        is_int(c->n_graphs, 2, "both are there");
        const struct catalog_graph *g = catalog_graph_get(c, str_of("default"));
        is_int(g->n_vertices, 2, "files of two barclamps, one graph");
        ok(g->vertices[0].same_node && !g->vertices[1].same_node, "each as its barclamp means it");
        ok(!g->vertices[0].circles_limit && g->vertices[1].circles_limit, "circles too");
        is_int(g->vertices[1].requires[0], 0, "names reach over barclamps");
        ok(!catalog_graph_get(c, str_of("deep")), "folders further down are not looked at");
        is_int(catalog_graph_get(c, str_of("z"))->n_vertices, 5, "the other has stages added");
    }
    catalog_unref(c);
    catalog_report_done(&report);
}

static void test_stages(void)
{
    struct fixture f;

    begin(&f, native, "- {id: t, type: noop, requires: [deployment]}\n");
    is_int(f.code, 0, "stages need not be written: %s", f.e.text);
    if (f.g) {
        is_int(f.g->n_vertices, 5, "four are there");
        is_text(f.g->vertices[0].id.s, "prepare", "the first");
        is_int(f.g->vertices[3].requires[0], 2, "each after the other");
        is_int(f.g->vertices[0].where.file, CATALOG_NONE, "of no file");
        is_text(value_as_text(value_at(f.g->vertices[1].source, "requires.0"), ""), "prepare",
                "shown as if written");
        is_text(f.g->vertices[4].nodes.words[0].text.s, "t", "a task without roles runs on its id");
    }
    end(&f);
    begin(&f, "barclamp: x\ngraphs: {requires: same-node}\n", "- {id: t, type: noop}\n");
    is_int(f.code, 0, "no stages for same-node graphs");
    is_int(f.g ? f.g->n_vertices : 0, 1, "indeed");
    end(&f);
    refused(native, "- {id: prepare, type: noop}\n", ERR_EXISTS, "graphs/a.yaml:1:3",
            "\"prepare\" is a stage", NULL);
}

static void test_faults(void)
{
    static const struct {
        const char *graph;
        enum errcode code;
        const char *at, *text, *hint;
    } cases[] = {
        {"- {id: a}\n", ERR_INVALID, "graphs/a.yaml:1:3", "needs a type", NULL},
        {"- {type: noop}\n", ERR_INVALID, "graphs/a.yaml:1:3", "needs an id", NULL},
        {"- {id: '', type: noop}\n", ERR_INVALID, "graphs/a.yaml:1:8", "cannot be an id",
         "1 to 128"},
        {"- {id: a/b, type: noop}\n", ERR_INVALID, "graphs/a.yaml:1:8", "cannot be an id", NULL},
        {"id: a\n", ERR_INVALID, "graphs/a.yaml:1:1", "expected a list of tasks", NULL},
        {"- 7\n", ERR_INVALID, "graphs/a.yaml:1:3", "expected a vertex", NULL},
        {"- {id: a, type: noop, requirs: [b]}\n", ERR_INVALID, "graphs/a.yaml:1:23",
         "unknown field \"requirs\"", "did you mean \"requires\"?"},
        {"- {id: abc, type: noop}\n- {id: b, type: noop, requires: [abd]}\n", ERR_UNKNOWN_NAME,
         "graphs/a.yaml:2:34", "\"b\" requires \"abd\"", "did you mean \"abc\"?"},
        {"- {id: b, type: noop, required_for: [zz]}\n", ERR_UNKNOWN_NAME, "graphs/a.yaml:1:38",
         "is required for \"zz\"", NULL},
        {"- {id: b, type: noop, cross_depends: [{name: zz}]}\n", ERR_UNKNOWN_NAME,
         "graphs/a.yaml:1:39", "depends on \"zz\"", NULL},
        {"- {id: g, type: group, tasks: [zz]}\n", ERR_UNKNOWN_NAME, "graphs/a.yaml:1:32",
         "has the task \"zz\"", NULL},
        {"- {id: g, type: group}\n- {id: h, type: group, tasks: [g]}\n", ERR_INVALID,
         "graphs/a.yaml:2:3", "among its tasks, a group", NULL},
        {"- {id: g, type: group}\n- {id: t, type: noop, groups: [gg]}\n", ERR_UNKNOWN_NAME,
         "graphs/a.yaml:2:32", "names group \"gg\"", NULL},
        {"- {id: a, type: noop}\n- {id: a, type: noop}\n", ERR_EXISTS, "graphs/a.yaml:2:3",
         "vertex \"a\" is defined twice", "first at graphs/a.yaml:1:3"},
        {"- {id: a, type: noop, role: [/a(/]}\n", ERR_INVALID, "graphs/a.yaml:1:30",
         "pattern does not compile", NULL},
        {"- {id: a, type: noop, role: [/(?=x)/]}\n", ERR_INVALID, "graphs/a.yaml:1:30",
         "pattern does not compile", NULL},
        {"- {id: a, type: noop, role: ['/(a{500}){500}/']}\n", ERR_INVALID, "graphs/a.yaml:1:30",
         "counts further than", NULL},
        {"- {id: a, type: noop, role: self}\n", ERR_INVALID, "graphs/a.yaml:1:29",
         "\"self\" means nothing here", NULL},
        {"- {id: a, type: noop, role: 7}\n", ERR_INVALID, "graphs/a.yaml:1:29", "by text or a list",
         NULL},
        {"- {id: a, type: noop, role: [7]}\n", ERR_INVALID, "graphs/a.yaml:1:30", "expected a name",
         NULL},
        {"- {id: a, type: noop, role: x, roles: y}\n", ERR_INVALID, "graphs/a.yaml:1:39",
         "are the same", NULL},
        {"- {id: a, type: noop, requires: b}\n", ERR_INVALID, "graphs/a.yaml:1:33",
         "must be a list", NULL},
        {"- {id: a, type: noop, strategy: {type: paralel}}\n", ERR_INVALID, "graphs/a.yaml:1:40",
         "must be one of parallel", "did you mean \"parallel\"?"},
        {"- {id: a, type: noop, strategy: {type: parallel, amount: -1}}\n", ERR_INVALID,
         "graphs/a.yaml:1:58", "\"amount\" must be an integer from 0", NULL},
        {"- {id: a, type: noop, strategy: {type: parallel, amount: '4'}}\n", ERR_INVALID,
         "graphs/a.yaml:1:58", "\"amount\" must be an integer from 0", NULL},
        {"- {id: a, type: group, strategy: {type: one_by_one, failures: many}}\n", ERR_INVALID,
         "graphs/a.yaml:1:63", "\"failures\" must be a number or a percentage"},
        {"- {id: a, type: noop, strategy: {type: one_by_one, failures: 1}}\n", ERR_INVALID,
         "graphs/a.yaml:1:33", "only the strategy of a group has \"failures\""},
        {"- {id: a, type: group, strategy: {type: parallel, failures: 1}}\n", ERR_INVALID,
         "graphs/a.yaml:1:34", "with an amount, or one_by_one"},
        {"- {id: a, type: group, fault_tolerance: 1, strategy: {type: one_by_one, failures: 1}}\n",
         ERR_INVALID, "graphs/a.yaml:1:54", "say the same: one is enough"},
        {"- {id: a, type: noop, strategy: {}, parameters: {strategy: {}}}\n", ERR_INVALID,
         "graphs/a.yaml:1:60", "said twice", NULL},
        {"- {id: a, type: noop, cross_depends: [{role: x}]}\n", ERR_INVALID, "graphs/a.yaml:1:39",
         "needs a name", NULL},
        {"- {id: a, type: noop, cross_depends: [{name: a, policy: some}]}\n", ERR_INVALID,
         "graphs/a.yaml:1:57", "must be one of all, any", NULL},
        {"- {id: a, type: noop, cross_depends: [{name: a, rol: x}]}\n", ERR_INVALID,
         "graphs/a.yaml:1:54", "unknown key \"rol\"", NULL},
        {"- {id: a, type: noop, cross_depends: [], cross-depends: []}\n", ERR_INVALID,
         "graphs/a.yaml:1:3", "two spellings", NULL},
        {"- {id: a, type: noop, condition: 1 +}\n", ERR_SYNTAX, "graphs/a.yaml:1:37", "", NULL},
        {"- {id: a, type: noop, condition: foo.x}\n", ERR_UNKNOWN_NAME, "graphs/a.yaml:1:34",
         "no \"foo\" to look at", "data, node and common"},
        {"- {id: a, type: noop, condition: 7}\n", ERR_INVALID, "graphs/a.yaml:1:34",
         "must be an expression", NULL},
        {"- {id: a, type: noop, test_pre: {timeout: 1}}\n", ERR_INVALID, "graphs/a.yaml:1:33",
         "a test needs a command", NULL},
        {"- {id: a, type: noop, parameters: []}\n", ERR_INVALID, "graphs/a.yaml:1:35",
         "must be a map", NULL},
        {"- {id: a, type: noop, parameters: {timeout: 0}}\n", ERR_INVALID, "graphs/a.yaml:1:45",
         "must be a time above 0", NULL},
        {"- {id: a, type: noop, requires: [a]}\n", ERR_CYCLE, "graphs/a.yaml:1:34", "a -> a", NULL},
        {"- {id: a, type: noop, requires: [b]}\n- {id: b, type: group, required_for: [c]}\n"
         "- {id: c, type: noop, required_for: [b]}\n",
         ERR_CYCLE, "graphs/a.yaml:3:38", "b -> c -> b", "remove one of these"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(native, cases[i].graph, cases[i].code, cases[i].at, cases[i].text, cases[i].hint);
    refused("barclamp: x\ngraphs: {requires: some-node}\n", "[]\n", ERR_INVALID,
            "barclamp.yaml:2:20", "one of any-node, same-node", NULL);
    refused("barclamp: x\ngraphs: {circles: limits}\n", "[]\n", ERR_INVALID, "barclamp.yaml:2:19",
            "one of refuse, limit", "did you mean \"limit\"?");
}

static void test_doubts(void)
{
    struct fixture f;

    doubted(native, "- {id: g, type: group}\n- {id: t, type: noop, role: [g, '*']}\n",
            "graphs/a.yaml:2:33", "\"*\" in a list matches nothing");
    doubted(native, "- {id: ctrl, type: group}\n- {id: t, type: noop, role: ctl}\n",
            "graphs/a.yaml:2:3", "no role or group is called \"ctl\"");
    doubted(native, "- {id: g, type: group, fault_tolerance: a%}\n", "graphs/a.yaml:1:41",
            "any number may fail");
    doubted(native, "- {id: s, type: stage}\n- {id: t, type: noop, role: '*'}\n",
            "graphs/a.yaml:2:3", "is in several parts");
    doubted(native, "- {id: s, type: stage, condition: true}\n", "graphs/a.yaml:1:35",
            "says nothing about a stage");
    doubted(native, "- {id: s, type: noop, role: '*', cross_depends: [{name: /x/}]}\n",
            "graphs/a.yaml:1:50", "/x/ matches nothing");
    doubted(native, "- {id: t, type: noop, role: }\n", "graphs/a.yaml:1:23",
            "null selects no node");
    doubted(lenient, "- {id: t, type: noop, role: '*', rols: 1}\n", "graphs/a.yaml:1:34",
            "unknown field \"rols\"");
    doubted(lenient, "- {id: t, type: noop, role: '*', requires: [u]}\n", "graphs/a.yaml:1:45",
            "\"t\" requires \"u\"");
    doubted(lenient, "- {id: t, type: noop, role: '*', cross_depends: [{name: t, x: 1}]}\n",
            "graphs/a.yaml:1:63", "unknown key");
    doubted(lenient, "- {id: t, type: noop, role: '*', strategy: {amount: yes please}}\n",
            "graphs/a.yaml:1:53", "there is no limit");

    begin(&f, lenient,
          "- {id: g, type: group}\n"
          "- {id: t, type: noop, groups: [h], requires: [u, g], cross_depends: [{name: v}, {name: "
          "t}],"
          "   strategy: {amount: '4'}}\n");
    is_int(f.code, 0, "lenient content loads");
    const struct graph_vertex *t = vertex(&f, "t");
    if (ok(t, "its task is there")) {
        is_int(t->n_requires, 1, "danglers are left out");
        is_int(t->n_depends, 1, "of cross dependencies too");
        is_int(t->nodes.n, 1, "but not words of selectors");
        is_int(t->strategy.amount, 4, "digits are a number");
        ok(t->same_node, "on the same node");
    }
    end(&f);
    begin(&f, lenient,
          "- {id: a, type: noop, requires: [b]}\n- {id: b, type: noop, requires: [a]}\n");
    is_int(f.code, 0, "tasks of same-node content may never meet");
    end(&f);
    refused(lenient,
            "- {id: a, type: stage, requires: [b]}\n- {id: b, type: group, requires: [a]}\n",
            ERR_CYCLE, "graphs/a.yaml:1:35", "a -> b -> a", NULL);
}

static void test_cross_values(void)
{
    struct fixture f;

    begin(
        &f, native,
        "- {id: t, type: noop, cross_depends: [{name: {expr: data.n}, role: [\"it's\\\\\", {expr: "
        "node.r}]}, null]}\n");
    is_int(f.code, 0, "expressions inside a list: %s", f.e.text);
    const struct graph_vertex *t = vertex(&f, "t");
    if (ok(t && t->depends_of, "are one expression"))
        is_text(expr_text(t->depends_of).s,
                "[{'name': (data.n), 'role': ['it\\'s\\\\', (node.r)]}, none]",
                "that gives the list");
    end(&f);

    SCOPED_ARENA(mem);
    SCOPED(graph_patterns) *p = graph_patterns_new();
    struct value *item = value_map(&mem);
    struct graph_cross cross;
    struct err e;
    is_int(graph_cross_read(&mem, p, item, &cross, &e), -ERR_INVALID, "an item without a name");
    value_put_text(&mem, item, "name", "/^a$/");
    value_put_text(&mem, item, "role", "self");
    is_int(graph_cross_read(&mem, p, item, &cross, &e), 0, "an item made by an expression");
    ok(graph_word_matches(&cross.name, str_of("a")), "matches");
    ok(!graph_word_matches(&cross.name, str_of("ab")), "as a pattern does");
    struct graph_cross again;
    is_int(graph_cross_read(&mem, p, item, &again, &e), 0, "and again");
    ok(cross.name.pattern == again.name.pattern, "the pattern is compiled once");
}

static void test_plain(void)
{
    SCOPED_ARENA(mem);
    struct fixture f;
    struct graph_plain plain;

    begin(&f, lenient,
          "- {id: s, type: stage}\n"
          "- {id: g, type: group, tasks: [t], requires: [s]}\n"
          "- {id: t, type: noop, groups: [g, /h/], requires: [s, ghost], required_for: [ghost]}\n");
    if (ok(f.g, "a graph with danglers loads")) {
        SCOPED_BUF(b);
        graph_plain_build(&mem, f.g, &plain);
        for (uint32_t i = 0; i < plain.n_edges; i++)
            buf_printf(&b, "%s>%s ", plain.names[plain.edges[i].from].s,
                       plain.names[plain.edges[i].to].s);
        is_text(b.data, "s>g s>t t>g t>ghost t>/h/ ghost>t ", "its edges as written, each once");
        is_int(plain.n - plain.n_defined, 2, "names that nobody has");
    }
    end(&f);
}

/* --- limits --- */

/* As many vertices as there may be, in one chain: nothing may be quadratic. */
static void test_many(void)
{
    SCOPED_BUF(text);
    struct fixture f;

    buf_puts(&text, "- {id: v0, type: stage}\n");
    for (unsigned i = 1; i < CATALOG_MAX_VERTICES; i++)
        buf_printf(&text, "- {id: v%u, type: noop, role: x, requires: [v%u]}\n", i, i - 1);
    begin(&f, native, text.data);
    is_int(f.code, 0, "%d vertices: %s", CATALOG_MAX_VERTICES, f.e.text);
    is_int(f.g ? f.g->n_vertices : 0, CATALOG_MAX_VERTICES, "are all there");
    end(&f);
    buf_puts(&text, "- {id: w, type: noop}\n- {id: w2, type: noop, requires: [nothing]}\n");
    begin(&f, native, text.data);
    is_int(f.code, -ERR_LIMIT, "one more is refused");
    is_int(f.report.n_errors, 1, "once, without what follows from it");
    end(&f);
    buf_clear(&text);
    buf_puts(&text, "- {id: a, type: noop, role: [a");
    for (unsigned i = 0; i < CATALOG_MAX_LIST; i++)
        buf_puts(&text, ", a");
    buf_puts(&text, "]}\n");
    refused(native, text.data, ERR_LIMIT, "graphs/a.yaml:1:29", "a selector of 1001 words", NULL);
    buf_clear(&text);
    for (unsigned i = 0; i <= 2000; i++)
        buf_printf(&text, "- {id: a%u, type: noop, role: /a%u/}\n", i, i);
    refused(native, text.data, ERR_LIMIT, "graphs/a.yaml:2001:33", "2000 different patterns", NULL);
}

static void test_many_graphs(void)
{
    SCOPED_ARENA(mem);
    struct catalog_file *files = arena_new(&mem, struct catalog_file, CATALOG_MAX_GRAPHS + 2);
    struct catalog_report report = {0};
    struct catalog *c = NULL;
    struct err e;

    files[0] = (struct catalog_file){str_of("barclamp.yaml"), str_of(native)};
    for (unsigned i = 0; i <= CATALOG_MAX_GRAPHS; i++)
        files[i + 1] = (struct catalog_file){str_of(arena_printf(&mem, "graphs/g%u/x.yaml", i)),
                                             str_of("- {id: a, type: noop}\n")};
    struct catalog_source source = {files, CATALOG_MAX_GRAPHS + 1};
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), 0, "%d graphs", CATALOG_MAX_GRAPHS);
    is_int(c ? c->n_graphs : 0, CATALOG_MAX_GRAPHS, "are all there");
    catalog_unref(c);
    catalog_report_done(&report);
    source.n++;
    is_int(catalog_load(&source, NULL, 1, &report, &c, &e), -ERR_LIMIT, "one more is refused");
    catalog_report_done(&report);
}

/* --- overlays --- */

static struct graph_layer layer(struct arena *a, const char *name, const char *text,
                                uint32_t barclamp)
{
    struct yaml_options o = {.name = name};
    struct value *v = NULL;
    struct err e;

    if (yaml_parse(a, text, strlen(text), &o, &v, &e) < 0)
        ok(false, "%s: %s", e.at, e.text);
    return (struct graph_layer){name, str_of(text), v, barclamp};
}

static void test_overlays(void)
{
    SCOPED_ARENA(mem);
    struct fixture f;
    struct err e = {0};
    struct catalog_report report = {0};
    struct graph_overlay *o = NULL;

    begin(&f, lenient,
          "- {id: s, type: stage}\n"
          "- {id: a, type: shell, role: x, requires: [s, ghost]}\n"
          "- {id: b, type: shell, role: [/x/], requires: [a]}\n");
    if (!ok(f.c, "a catalog to lay something over")) {
        end(&f);
        return;
    }
    struct graph_layer two[] = {
        layer(&mem, "low", "- {id: b, type: noop, role: x}\n- {id: a, type: noop, role: x}\n", 0),
        layer(&mem, "high",
              "- {id: c, type: noop, role: x, requires: [b]}\n"
              "- {id: b, type: rsync, role: /x/, unknown: 1}\n",
              CATALOG_NONE)};
    is_int(graph_overlay_new(f.c, str_of("default"), two, 2, &report, &o, &e), 0,
           "two layers over a graph: %s", e.text);
    if (o) {
        const struct catalog_graph *g = &o->graph;
        is_int(g->n_vertices, 4, "vertices by id");
        is_text(g->vertices[0].id.s, "c", "those on top first");
        is_text(g->vertices[1].type.s, "rsync", "the highest counts");
        is_int(g->vertices[1].n_requires, 0, "whole vertices, no single fields");
        is_text(g->vertices[2].type.s, "noop", "then the one below");
        is_text(g->vertices[3].id.s, "s", "then the catalog's");
        ok(g->vertices[1].same_node, "what takes another's place is meant as that one");
        ok(!g->vertices[0].same_node && g->vertices[0].barclamp == CATALOG_NONE,
           "what is new is strict");
        is_text(o->files[g->vertices[0].where.file].s, "high", "with its place");
        is_int(catalog_graph_find(g, str_of("s")), 3, "found by id");
    }
    bool doubt = false;
    for (size_t i = 0; i < report.entries.n; i++)
        doubt |= !strcmp(report.entries.at[i].err.at, "high:2:35") &&
                 strstr(report.entries.at[i].err.text, "unknown field \"unknown\"");
    ok(doubt, "a doubt of a layer, with its place");
    graph_overlay_free(o);
    o = NULL;
    catalog_report_done(&report);

    struct graph_layer bad = layer(&mem, "bad",
                                   "- {id: n, type: noop, requires: [q]}\n"
                                   "- {id: n, type: noop}\n",
                                   CATALOG_NONE);
    is_int(graph_overlay_new(f.c, str_of("default"), &bad, 1, &report, &o, &e), -ERR_UNKNOWN_NAME,
           "a layer with faults is refused");
    is_text(e.at, "bad:1:34", "with its place");
    is_text(e.line, "- {id: n, type: noop, requires: [q]}", "and line");
    is_int(report.n_errors, 2, "all faults are told, an id twice too");
    catalog_report_done(&report);
    bad = layer(&mem, "bad", "a: 1\n", CATALOG_NONE);
    is_int(graph_overlay_new(f.c, str_of("default"), &bad, 1, &report, &o, &e), -ERR_INVALID,
           "what is no list is refused");
    catalog_report_done(&report);
    bad = layer(&mem, "stage",
                "- {id: s, type: stage, requires: [g]}\n"
                "- {id: g, type: group, requires: [s]}\n",
                0);
    is_int(graph_overlay_new(f.c, str_of("default"), &bad, 1, &report, &o, &e), -ERR_CYCLE,
           "a circle is found over layers");
    catalog_report_done(&report);
    bad = layer(&mem, "new", "- {id: t, type: noop, role: x}\n", CATALOG_NONE);
    is_int(graph_overlay_new(f.c, str_of("other"), &bad, 1, &report, &o, &e), 0,
           "a graph that the catalog does not have");
    is_int(o ? o->graph.n_vertices : 0, 5, "has the stages that are built in");
    graph_overlay_free(o);
    o = NULL;
    catalog_report_done(&report);
    is_int(graph_overlay_new(f.c, str_of("default"), NULL, 0, &report, &o, &e), 0,
           "no layer at all");
    is_int(o ? o->graph.n_vertices : 0, f.g->n_vertices, "is the graph itself");
    ok(report.n_warnings > 0 && !strncmp(report.entries.at[0].err.at, "graphs/a.yaml:2:", 16),
       "with the doubts of its files");
    graph_overlay_free(o);
    catalog_report_done(&report);
    end(&f);
}

/* --- overlays as files --- */

static const char *const stacked[] = {
    "a/barclamp.yaml",
    "barclamp: a\n",
    "b/barclamp.yaml",
    "barclamp: b\nlenient: true\ngraphs: {requires: same-node}\n",
    "a/graphs/a.yaml",
    "- {id: one, type: noop, role: x}\n- {id: two, type: noop, role: x}\n",
    "b/graphs/b.yaml",
    "- {id: three, type: noop, role: x}\n",
    "b/graph_overlays/1.yaml",
    "- {id: new, type: noop, role: x}\n- {id: one, type: shell, role: x}\n",
    "a/graph_overlays/2.yaml",
    "- {id: three, type: shell, role: x, ghost: 1}\n"
    "- {id: new, type: shell, role: x}\n",
    "a/graph_overlays/g/1.yaml",
    "- {id: one, type: rsync, role: x}\n",
};

static int stack_load(const char *const *pairs, size_t n, struct fixture *f)
{
    struct catalog_file files[16];
    for (size_t i = 0; i < n / 2; i++)
        files[i] = (struct catalog_file){str_of(pairs[2 * i]), str_of(pairs[2 * i + 1])};
    struct catalog_source source = {files, n / 2};
    *f = (struct fixture){0};
    f->code = catalog_load(&source, NULL, 1, &f->report, &f->c, &f->e);
    f->g = f->code ? NULL : catalog_graph_get(f->c, str_of("default"));
    return f->code;
}

static void test_overlay_files(void)
{
    static const struct {
        const char *path, *text, *at, *says;
        enum errcode code;
    } bad[] = {
        {"a/graph_overlays/3.yaml", "- {id: one, type: noop, requires: [tow]}\n",
         "a/graph_overlays/3.yaml:1:36", "\"tow\"", ERR_UNKNOWN_NAME},
        {"a/graph_overlays/3.yaml", "- {id: one, type: noop}\n- {id: one, type: noop}\n",
         "a/graph_overlays/3.yaml:2:3", "one", ERR_EXISTS},
        {"a/graph_overlays/3.yaml", "{id: one}\n", "a/graph_overlays/3.yaml:1:1", "list",
         ERR_INVALID},
        {"a/graph_overlays/3.yaml", "", "a/graph_overlays/3.yaml", "nothing", ERR_INVALID},
        {"c/graph_overlays/3.yaml", "[]\n", "c/graph_overlays/3.yaml:1:1", "barclamp.yaml",
         ERR_INVALID},
        {"a/graph_overlays/A/3.yaml", "[]\n", "a/graph_overlays/A/3.yaml:1:1", "name of a graph",
         ERR_INVALID},
    };
    enum { PAIRS = sizeof stacked / sizeof *stacked };
    const char *more[PAIRS + 2];
    struct fixture f;

    is_int(stack_load(stacked, PAIRS, &f), 0, "files that lie on each other: %s", f.e.text);
    if (f.g) {
        static const char *const order[] = {"three", "new", "one", "two"};
        is_int(f.g->n_vertices, 4, "vertices by id");
        for (uint32_t i = 0; i < 4 && i < f.g->n_vertices; i++)
            is_text(f.g->vertices[i].id.s, order[i], "the topmost first");
        is_text(vertex(&f, "new")->type.s, "shell", "the highest name counts");
        is_text(vertex(&f, "one")->type.s, "shell", "over what the catalog has");
        ok(vertex(&f, "three")->same_node && vertex(&f, "new")->same_node &&
               !vertex(&f, "one")->same_node,
           "each is meant as the lowest of its id");
        is_text(f.c->files[vertex(&f, "three")->where.file].s, "a/graph_overlays/2.yaml",
                "and has its place");
        ok(catalog_graph_get(f.c, str_of("g")), "another graph is another");
        has_text(f.report.entries.n ? f.report.entries.at[0].err.at : "",
                 "a/graph_overlays/2.yaml:1:", "lenient where what it replaces is");
    }
    end(&f);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        memcpy(more, stacked, sizeof stacked);
        more[PAIRS] = bad[i].path;
        more[PAIRS + 1] = bad[i].text;
        is_int(stack_load(more, PAIRS + 2, &f), -(int)bad[i].code, "%s is refused", bad[i].text);
        is_text(f.e.at, bad[i].at, "where");
        has_text(f.e.text, bad[i].says, "what");
        end(&f);
    }
}

int main(void)
{
    test_fields();
    test_places();
    test_stages();
    test_faults();
    test_doubts();
    test_cross_values();
    test_plain();
    test_overlays();
    test_overlay_files();
    test_many();
    test_many_graphs();
    return tap_done();
}
