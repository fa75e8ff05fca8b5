/* cmd_operation.c - operations: requests, and the work they caused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <stdlib.h>
#include <string.h>

#include "cli/progress_i.h"
#include "cli/table_i.h"
#include "cli/timeline_i.h"

static const struct field operation_columns[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"KIND", "kind", SHOW_TEXT, 0},
    {"STATE", "state", SHOW_STATE, 0},
    {"PROGRESS", "progress", SHOW_BAR, 0},
    {"FAILED", "progress.failed", SHOW_TEXT, COLUMN_RIGHT},
    {"ETA", "eta_ms", SHOW_MS, COLUMN_RIGHT},
    {"AGE", "created_at", SHOW_AGE, COLUMN_RIGHT},
    {"TITLE", "title", SHOW_TEXT, COLUMN_SHRINK},
    {"ACTOR", "actor", SHOW_TEXT, COLUMN_WIDE},
    {"CLASS", "class", SHOW_TEXT, COLUMN_WIDE},
    {"REASON", "reason", SHOW_TEXT, COLUMN_WIDE},
    {0},
};
static const struct field history_columns[] = {
    {"TASK", "task", SHOW_TEXT, COLUMN_RIGHT},
    {"NAME", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"ROLE", "role", SHOW_TEXT, COLUMN_SHRINK},
    {"NODE", "node", SHOW_TEXT, COLUMN_SHRINK},
    {"ATTEMPT", "number", SHOW_TEXT, COLUMN_RIGHT},
    {"OUTCOME", "outcome", SHOW_STATE, 0},
    {"EXIT", "exit_code", SHOW_TEXT, COLUMN_RIGHT},
    {"STARTED", "started_at", SHOW_AGE, COLUMN_RIGHT},
    {"RAN", "ran_ms", SHOW_MS, COLUMN_RIGHT},
    {"STATE", "state", SHOW_STATE, 0},
    {"ENDED", "ended_at", SHOW_AGE, COLUMN_RIGHT | COLUMN_WIDE},
    {"NOTE", "note", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field operation_sheet[] = {
    {"reason", "reason", SHOW_TEXT, 0},
    {"by", "actor", SHOW_TEXT, 0},
    {"class", "class", SHOW_TEXT, 0},
    {"created", "created_at", SHOW_TIME, 0},
    {"ended", "ended_at", SHOW_TIME, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};

int cmd_operation_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"state", NULL};
    return cli_list(c, "/v1/operations", filters, operation_columns, "id", "operations", e);
}

/* Tasks of the operation in one state, for the picture. */
static int tasks_get(struct cli *c, const char *state, struct progress_task **ret_t, size_t *ret_n,
                     struct err *e)
{
    SCOPED_BUF(path);
    const struct value *v;
    buf_puts(&path, "/v1/tasks");
    http_query(&path, "state", state);
    http_query(&path, "operation", cli_arg(c, 0));
    int rc = cli_get_list(c, &c->mem, path.data, 20, &v, e);
    if (rc)
        return rc;
    const struct value *items = value_get(v, "items");
    *ret_t = arena_new(&c->mem, struct progress_task, items->n);
    for (*ret_n = 0; *ret_n < items->n; (*ret_n)++)
        (*ret_t)[*ret_n] = progress_task_read(&c->mem, &items->items[*ret_n]);
    return 0;
}

int cmd_operation_show(struct cli *c, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(b);
    int rc = cli_get(c, http_path(&c->mem, "/v1/operations/%s", cli_arg(c, 0)), &v, e);
    if (rc || cli_print_data(c, v, "id"))
        return rc;
    struct progress_op op = progress_op_read(&c->mem, v);
    struct progress p = {.ops = &op, .n_ops = 1};
    if (op.running)
        rc = tasks_get(c, "RUNNING", &p.running, &p.n_running, e);
    if (!rc && op.failed)
        rc = tasks_get(c, "FAILED", &p.failed, &p.n_failed, e);
    if (rc)
        return rc;
    struct look look = cli_look(c, false);
    progress_draw(&b, &look, 24, &p, c->env->wall_ms(c->env->arg));
    if (op.outcome.known) {
        buf_puts(&b, "  ");
        progress_outcome_put(&b, &op.outcome);
        buf_putc(&b, '\n');
    }
    progress_rollouts_put(&b, &op, "  ");
    buf_putc(&b, '\n');
    cli_put(c, &b);
    cli_print_sheet(c, v, operation_sheet, "id");
    return 0;
}

int cmd_operation_watch(struct cli *c, struct err *e)
{
    return cli_follow_operation(c, strtoll(cli_arg(c, 0), NULL, 10), e);
}

/* A POST below the operation; done: "operation ID is %s". */
static int operation_post(struct cli *c, const char *verb, const struct value *body,
                          const char *done, struct err *e)
{
    const struct value *v = NULL;
    const char *id = cli_arg(c, 0);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/operations/%s/%s", id, verb), body, &v, e);
    return rc ? rc : cli_outcome(c, v, "id", arena_printf(&c->mem, "operation %s %s", id, done), e);
}

int cmd_operation_cancel(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    bool abort_too = cli_has(c, "abort");
    value_put_bool(&c->mem, body, "abort", abort_too);
    return operation_post(c, "cancel", body,
                          abort_too ? "is cancelled; running tasks are ended"
                                    : "is cancelled; running tasks may end",
                          e);
}

int cmd_operation_retry(struct cli *c, struct err *e)
{
    return operation_post(c, "retry", NULL, "runs what failed again", e);
}

int cmd_operation_resume(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    if (cli_has(c, "failures"))
        value_put_int(&c->mem, body, "failures", (int64_t)cli_number(c, "failures", 0));
    if (cli_has(c, "now"))
        value_put_bool(&c->mem, body, "now", true);
    return operation_post(c, "resume", body->n ? body : NULL, "goes on", e);
}

int cmd_operation_history(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"node", "task", "state", NULL};
    SCOPED_BUF(path);
    const struct value *v;
    buf_puts(&path, http_path(&c->mem, "/v1/operations/%s/history", cli_arg(c, 0)));
    for (const char *const *f = filters; *f; f++) {
        const char *word = cli_word(c, *f);
        http_query(&path, *f, word ? word : cli_option(c, *f));
    }
    http_query(&path, "failed", cli_has(c, "failed") ? "true" : NULL);
    http_query(&path, "all", cli_has(c, "all") ? "true" : NULL);
    int rc = cli_get_list(c, &c->mem, path.data, cli_limit(c), &v, e);
    if (!rc)
        cli_print_list(c, v, history_columns, "task", "attempts");
    return rc;
}

int cmd_operation_timeline(struct cli *c, struct err *e)
{
    SCOPED_BUF(path);
    SCOPED_BUF(b);
    const struct value *v;
    buf_puts(&path, http_path(&c->mem, "/v1/operations/%s/timeline", cli_arg(c, 0)));
    http_query(&path, "limit", cli_option(c, "limit"));
    int rc = cli_get(c, path.data, &v, e);
    if (rc || cli_print_data(c, v, "operation"))
        return rc;
    struct look look = cli_look(c, false);
    timeline_draw(&b, &look, v);
    cli_put(c, &b);
    return 0;
}

int cmd_watch(struct cli *c, struct err *e)
{
    return cli_follow_all(c, e);
}
