/* cmd_plan_simulate.c - anneal plan --simulate: how a plan would end, what failed first
 *
 * The run itself is sim/sim_graph.h's; here its options are checked and its end is shown.  Joins
 * are nobody's question and are left out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli_i.h"
#include "cli/table_i.h"
#include "planner/weave.h"
#include "sim/sim_graph.h"

struct ended {
    struct cli *c;
    const struct weave *w;
    const struct weave_request *req;
    const struct sim_graph *run;
};

/* --- options --- */

int cli_plan_simulate_check(struct cli *c, struct err *e)
{
    static const char *const others[] = {"fail", "seed", "workers"};
    const char *format = cli_option(c, "output");
    bool simulate = cli_has(c, "simulate");
    for (size_t i = 0; i < sizeof others / sizeof *others && !simulate; i++)
        if (cli_has(c, others[i])) {
            err_set(e, ERR_INVALID, "--%s goes with --simulate", others[i]);
            return err_hint(e, "without it nothing runs, not even in virtual time");
        }
    if (simulate && cli_number(c, "workers", SIM_GRAPH_WORKERS) - 1 >= UINT32_MAX)
        return err_set(e, ERR_INVALID, "--workers is how many tasks run at once: 1 or more");
    if (simulate && (cli_has(c, "roles") || cli_has(c, "node-file")))
        return err_set(e, ERR_INVALID, "--%s runs nothing, so --simulate does not go with it",
                       cli_has(c, "roles") ? "roles" : "node-file");
    if (simulate && format && (!strcmp(format, "dot") || !strcmp(format, "stages")))
        return err_set(e, ERR_INVALID, "how a run ends is shown as table, json or yaml, not as %s",
                       format);
    return 0;
}

/* --- tasks --- */

static const char *node_text(const struct ended *x, uint32_t node)
{
    if (node == WEAVE_NONE)
        return NULL;
    return node == x->req->n_nodes ? WEAVE_MASTER : x->req->nodes[node].name.s;
}

/* Of what was left out: why; NULL. */
static const char *left_out_text(const struct ended *x, uint32_t v)
{
    if (x->run->tasks[v].reason != REASON_LEFT_OUT)
        return NULL;
    return weave_reason_name((enum weave_reason)x->w->vertices[v].reason);
}

static struct value *task_row(const struct ended *x, uint32_t v)
{
    struct arena *a = &x->c->mem;
    const struct weave_vertex *at = &x->w->vertices[v];
    const char *left_out = left_out_text(x, v);
    const char *reason = reason_name((enum reason)x->run->tasks[v].reason);
    bool table = x->c->format == OUT_TABLE; /* which has one column for both */
    struct value *row = value_map(a);
    value_set(a, row, "id", value_str(a, weave_vertex_name(x->w, x->req, v, a)));
    value_set(a, row, "task", value_str(a, x->w->graph->vertices[at->task].id));
    value_put_text(a, row, "node", node_text(x, at->node));
    value_put_text(a, row, "state", task_state_name((enum task_state)x->run->tasks[v].state));
    value_put_text(a, row, "reason", table && left_out ? left_out : reason);
    if (!table)
        value_put_text(a, row, "left_out", left_out);
    return row;
}

/* What is worth looking at comes first; within that the order of the run. */
static unsigned rank_of(enum task_state s)
{
    static const uint8_t ranks[TASK_STATE_COUNT] = {
        [TASK_FAILED] = 4, [TASK_TOLERATED] = 3, [TASK_DEP_FAILED] = 2, [TASK_CANCELLED] = 1};
    return ranks[s];
}

static struct value *task_rows(const struct ended *x)
{
    struct value *list = value_list(&x->c->mem);
    for (unsigned rank = 5; rank-- > 0;)
        for (uint32_t i = 0; i < x->w->n; i++) {
            uint32_t v = x->w->order[i];
            if (x->w->vertices[v].kind != WEAVE_JOIN &&
                rank_of((enum task_state)x->run->tasks[v].state) == rank)
                value_add(&x->c->mem, list, task_row(x, v));
        }
    return list;
}

static struct value *noderole_rows(const struct ended *x)
{
    struct arena *a = &x->c->mem;
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < x->run->n_noderoles; i++) {
        const struct sim_graph_noderole *nr = &x->run->noderoles[i];
        struct value *row = value_map(a);
        value_set(a, row, "role", value_str(a, nr->role));
        value_put_text(a, row, "node", node_text(x, nr->node));
        value_put_text(a, row, "state", noderole_state_name((enum noderole_state)nr->state));
        value_put_text(a, row, "reason", reason_name((enum reason)nr->reason));
        value_add(a, list, row);
    }
    return list;
}

/* --- all of it --- */

/* "failed, tolerance: 3 FAILED, 7 DONE"; stages are not counted. */
static void summary_say(const struct ended *x)
{
    uint32_t counts[TASK_STATE_COUNT] = {0};
    SCOPED_BUF(text);
    for (uint32_t v = x->w->n_stages; v < x->w->n_stages + x->w->n_tasks; v++)
        counts[x->run->tasks[v].state]++;
    for (int s = 0; s < TASK_STATE_COUNT; s++)
        if (counts[s])
            buf_printf(&text, "%s%u %s", text.len ? ", " : "", counts[s],
                       task_state_name((enum task_state)s));
    cli_say(x->c, "would end as %s%s%s: %s",
            operation_state_name((enum operation_state)x->run->state), x->run->reason ? ", " : "",
            reason_name((enum reason)x->run->reason), text.len ? text.data : "no tasks");
}

static void ended_show(const struct ended *x)
{
    static const struct field fields[] = {{"TASK", "task"},
                                          {"NODE", "node"},
                                          {"STATE", "state", SHOW_STATE},
                                          {"REASON", "reason"},
                                          {0}};
    struct arena *a = &x->c->mem;
    struct value *v = value_map(a), *op = value_map(a), *list = value_map(a);
    struct value *tasks = task_rows(x);
    value_put_text(a, op, "state", operation_state_name((enum operation_state)x->run->state));
    value_put_text(a, op, "reason", reason_name((enum reason)x->run->reason));
    value_set(a, v, "operation", op);
    value_set(a, v, "tasks", tasks);
    value_set(a, v, "noderoles", noderole_rows(x));
    if (cli_print_data(x->c, v, "operation.state"))
        return;
    value_set(a, list, "items", tasks);
    cli_print_list(x->c, list, fields, "id", "tasks");
    summary_say(x);
}

int cli_plan_simulate(struct cli *c, const struct catalog *cat, const struct weave *w,
                      const struct weave_request *req, struct err *e)
{
    struct sim_graph_request ask = {.weave = w,
                                    .of = req,
                                    .cat = cat,
                                    .workers = (uint32_t)cli_number(c, "workers", 0),
                                    .seed = cli_number(c, "seed", 1)};
    SCOPED(sim_graph) *run = NULL;
    cli_words(c, "fail", &ask.fails, &ask.n_fails);
    int rc = sim_graph_run(&ask, &run, e);
    if (rc < 0)
        return rc;
    struct ended x = {c, w, req, run};
    ended_show(&x);
    if (run->state == OPERATION_FAILED)
        c->exit = err_exit(ERR_FAILED);
    return 0;
}
