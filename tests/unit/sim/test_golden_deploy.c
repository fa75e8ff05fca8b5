/* test_golden_deploy.c - facts about Fuel's executor that need a graph, its plan and the engine
 *
 * What of the suites executor_run, executor_state, concurrency_value and graph_build is not run by
 * the tests of one part: each case becomes a graph, is woven, planned and simulated.  They are
 * found through ANNEAL_TEST_DATA.  Exceptions: docs/compatibility.md.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_graph.h"
#include "weave_golden.h"

static bool weave_it(struct weave_bed *b, const char *barclamp, const char *graph)
{
    return bed_graph(b, barclamp, str_of(graph)) && bed_weave(b) >= 0;
}

static int run_it(struct weave_bed *b, const char *fails, struct sim_graph **ret)
{
    struct str word = str_of(fails);
    struct sim_graph_request req = {.weave = b->w,
                                    .of = &b->req,
                                    .cat = b->catalog,
                                    .fails = &word,
                                    .n_fails = word.n > 0,
                                    .workers = 100,
                                    .seed = 1};
    return sim_graph_run(&req, ret, &b->err);
}

/* How the run ends if the task fails on this node; OPERATION_RUNNING: it cannot be run. */
static enum operation_state end_if(struct weave_bed *b, const char *fails)
{
    SCOPED(sim_graph) *run = NULL;
    return run_it(b, fails, &run) < 0 ? OPERATION_RUNNING : (enum operation_state)run->state;
}

/* --- executor_run --- */

/* Nodes outside all groups have no tolerance; a group without nodes is none.  In our words: what
 * fails there fails the operation, and an empty group forgives nothing. */
static bool run_default_group(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    const struct value *groups = value_at(c, "in.groups"), *nodes = value_at(c, "in.nodes");
    const struct value *outside = &value_at(c, "out.appended")->items[2];
    SCOPED_BUF(graph);
    (void)suite;
    for (uint32_t i = 0; i < groups->n; i++)
        buf_printf(&graph, "- {id: %s, type: group, fault_tolerance: %lld}\n",
                   value_as_text(&groups->items[i].items[0], "?"),
                   (long long)value_as_int(&groups->items[i].items[1], -1));
    buf_puts(&graph, "- {id: t, type: shell, role: '*'}\n");
    for (uint32_t i = 0; i < nodes->n; i++) {
        const char *name = value_as_text(&nodes->items[i], "?"), *names = "any";
        if (!strcmp(name, "virtual_sync_node"))
            continue; /* stages have no node here */
        for (uint32_t k = 0; k < groups->n; k++)
            if (says(&groups->items[k].items[2], name))
                names = arena_printf(&b->mem, "%s %s", names,
                                     value_as_text(&groups->items[k].items[0], "?"));
        bed_node(b, name, names);
    }
    if (!weave_it(b, IMPORTED, graph.data))
        return false;
    bool good = outside->n == 1 && end_if(b, "") == OPERATION_SUCCEEDED;
    for (size_t i = 0; i < b->nodes.n; i++) {
        const char *name = b->nodes.at[i].name.s;
        bool critical = says(outside, name) || says(&groups->items[0].items[2], name);
        good &= end_if(b, arena_printf(&b->mem, "t/%s", name)) ==
                (critical ? OPERATION_FAILED : OPERATION_TOLERATED);
    }
    return good;
}

/* --- executor_state --- */

static bool run_self_edge(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    (void)suite;
    const char *edge = value_as_text(value_at(c, "in.edges.0.0"), "");
    const char *to = value_as_text(value_at(c, "in.edges.0.1"), "?");
    bed_node(b, "n", "n");
    if (strcmp(edge, to) != 0 ||
        !weave_it(b, IMPORTED, "- {id: a, type: shell, role: n, cross_depends: [{name: a}]}\n"))
        return false;
    SCOPED(sim_graph) *run = NULL;
    uint32_t v = bed_find(b, edge);
    return b->w->first[b->w->n] == value_as_int(value_at(c, "out.edges"), -1) &&
           says(value_at(c, "out.ready"), edge) && run_it(b, "", &run) >= 0 &&
           run->tasks[v].began == 1;
}

/* In our words a task is told by task and node, without the brackets. */
static bool run_string_form(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    const char *task = value_as_text(value_at(c, "in.task"), "?");
    const char *node = value_as_text(value_at(c, "in.node"), "?");
    (void)suite;
    bed_node(b, node, "r");
    if (!weave_it(b, IMPORTED, arena_printf(&b->mem, "- {id: %s, type: shell, role: r}\n", task)))
        return false;
    struct str name = weave_vertex_name(b->w, &b->req, 0, &b->mem);
    return !strcmp(arena_printf(&b->mem, "Task[%s]", name.s),
                   value_as_text(value_at(c, "out.text"), ""));
}

/* --- concurrency_value --- */

/* While so many run, may another one begin?  So many and one more are ready at once. */
static bool run_slot(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    int64_t max = value_as_int(value_at(c, "in.max"), 0);
    int64_t current = value_as_int(value_at(c, "in.current"), -1);
    (void)suite;
    for (int64_t i = 0; i <= current; i++)
        bed_node(b, arena_printf(&b->mem, "n%lld", (long long)i), "r");
    const char *graph = arena_printf(
        &b->mem, "- {id: t, type: puppet, role: r, strategy: {type: parallel, amount: %lld}}\n",
        (long long)max);
    SCOPED(sim_graph) *run = NULL;
    if (!weave_it(b, IMPORTED, graph) || run_it(b, "", &run) < 0)
        return false;
    uint32_t begun = 0, first_end = UINT32_MAX;
    for (uint32_t v = 0; v < b->w->n; v++)
        first_end = run->tasks[v].end && run->tasks[v].end < first_end ? run->tasks[v].end
                                                                       : first_end;
    for (uint32_t v = 0; v < b->w->n; v++)
        begun += run->tasks[v].began && run->tasks[v].began < first_end;
    return begun == current + value_as_bool(value_at(c, "out.available"), false);
}

/* --- graph_build --- */

/* The tasks of one group in their order. */
static bool run_group_list(struct weave_bed *b, const struct value *suite, const struct value *c)
{
    const char *group = value_as_text(value_at(c, "in.group"), "?"), *is = "", *wanted = "";
    const struct value *order = value_at(c, "out.order");
    (void)suite;
    bed_node(b, "n", group);
    if (!bed_graph(b, IMPORTED, json_of(&b->mem, value_at(c, "in.tasks"))) || bed_weave(b) < 0)
        return false;
    for (uint32_t i = 0; i < b->w->n; i++) {
        const struct weave_vertex *at = &b->w->vertices[b->w->order[i]];
        if (at->kind == WEAVE_TASK && at->role != WEAVE_NONE &&
            str_is(b->graph->vertices[at->role].id, group))
            is = arena_printf(&b->mem, "%s %s", is, b->graph->vertices[at->task].id.s);
    }
    for (uint32_t i = 0; i < order->n; i++)
        wanted = arena_printf(&b->mem, "%s %s", wanted, value_as_text(&order->items[i], "?"));
    return !strcmp(is, wanted);
}

/* --- which --- */

static const struct {
    const char *suite, *name;
    case_f *run; /* NULL: excepted */
} cases[] = {
    {"executor_run", "default_group", run_default_group},
    {"executor_run", "noop_run_types", NULL},
    {"executor_state", "self_edge_dropped", run_self_edge},
    {"executor_state", "string_form", run_string_form},
    {"concurrency_value", "slot_2_1", run_slot},
    {"concurrency_value", "slot_2_2", run_slot},
    {"concurrency_value", "slot_1_0", run_slot},
    {"graph_build", "group_task_list", run_group_list},
};
enum { CASES = sizeof cases / sizeof *cases };

static const struct value *case_find(const struct value *suite, const char *name)
{
    const struct value *list = value_get(suite, "cases");
    for (uint32_t i = 0; list && i < list->n; i++)
        if (!strcmp(text_at(&list->items[i], "name"), name))
            return &list->items[i];
    return NULL;
}

int main(void)
{
    SCOPED_ARENA(mem);
    const char *data = golden_data();
    unsigned ran = 0, passed = 0, excepted = 0;
    for (size_t i = 0; i < CASES; i++) {
        const struct value *suite = suite_read(&mem, data, cases[i].suite);
        const struct value *c = case_find(suite, cases[i].name);
        struct weave_bed b;
        if (!suite) {
            skip("the facts about Fuel are not here");
            continue;
        }
        if (!ok(c, "%s has %s", cases[i].suite, cases[i].name))
            continue;
        if (!cases[i].run) {
            note("%s: %s is excepted", cases[i].suite, cases[i].name);
            excepted++;
            continue;
        }
        bed_init(&b);
        bool good = cases[i].run(&b, suite, c);
        ran++;
        passed += ok(good, "%s: %s%s%s", cases[i].suite, cases[i].name, good ? "" : ": ",
                     good ? "" : b.err.text);
        bed_done(&b);
    }
    note("ran %u, passed %u, excepted %u, skipped 0", ran, passed, excepted);
    return tap_done();
}
