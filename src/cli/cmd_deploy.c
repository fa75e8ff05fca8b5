/* cmd_deploy.c - task graphs of a deployment: run, looked at */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli_i.h"
#include "cli/table_i.h"

static void words_put(struct cli *c, struct value *body, const char *option, const char *key)
{
    struct value *list = value_list(&c->mem);
    for (size_t i = 0; cli_option_at(c, option, i); i++)
        value_add(&c->mem, list, value_text(&c->mem, cli_option_at(c, option, i)));
    if (list->n)
        value_set(&c->mem, body, key, list);
}

static struct value *deploy_body(struct cli *c)
{
    static const struct {
        const char *option, *key;
    } lists[] = {{"start", "start"},
                 {"end", "end"},
                 {"only", "only"},
                 {"skip", "skip"},
                 {"event", "events"}},
      texts[] = {{"graph", "graph"}, {"on", "on"}, {"class", "class"}, {"title", "title"}},
      flags[] = {{"no-op", "no_op"},
                 {"force", "force"},
                 {"limit-circles", "limit_circles"},
                 {"dry-run", "dry_run"}};
    struct value *body = value_map(&c->mem);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        words_put(c, body, lists[i].option, lists[i].key);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (cli_option(c, texts[i].option))
            value_put_text(&c->mem, body, texts[i].key, cli_option(c, texts[i].option));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (cli_has(c, flags[i].option))
            value_put_bool(&c->mem, body, flags[i].key, true);
    return body;
}

/* A stage is its own stage, which is not the one that it comes before. */
static const struct value *stage_shown(struct cli *c, const struct value *task)
{
    struct value *row = value_copy(&c->mem, task);
    value_set(&c->mem, row, "stage", value_null(&c->mem));
    return row;
}

/* What runs where; joins are for programs. */
static void tasks_print(struct cli *c, const struct value *plan)
{
    static const struct field fields[] = {{"TASK", "task"},
                                          {"NODE", "node"},
                                          {"ROLE", "role"},
                                          {"TYPE", "type"},
                                          {"BEFORE", "stage"},
                                          {"REASON", "reason"},
                                          {0}};
    const struct value *tasks = value_get(plan, "tasks");
    struct value *list = value_list(&c->mem), *v = value_map(&c->mem);
    for (uint32_t i = 0; value_is(tasks, VALUE_LIST) && i < tasks->n; i++) {
        const struct value *task = &tasks->items[i];
        const char *type = value_as_text(value_get(task, "type"), "");
        if (strcmp(type, "join") != 0)
            value_add(&c->mem, list, strcmp(type, "stage") != 0 ? task : stage_shown(c, task));
    }
    value_set(&c->mem, v, "items", list);
    cli_print_list(c, v, fields, "task", "tasks");
}

/* "3 left out (2 condition is false, 1 skipped)" */
static const char *left_out(struct cli *c, const struct value *counts)
{
    const struct value *by = value_get(counts, "left_out");
    const char *list = "";
    int64_t n = 0;
    for (uint32_t i = 0; value_is(by, VALUE_MAP) && i < by->n; i++) {
        int64_t k = value_as_int(&by->members[i].v, 0);
        n += k;
        list = arena_printf(&c->mem, "%s%s%" PRId64 " %s", list, *list ? ", " : "", k,
                            by->members[i].key);
    }
    return n ? arena_printf(&c->mem, ", %" PRId64 " left out (%s)", n, list) : "";
}

/* "operation 5: 20 tasks, and 12 stages and joins": its progress counts them all. */
static const char *operation_told(struct cli *c, int64_t op, const char *tasks,
                                  const struct value *counts)
{
    int64_t order = value_as_int(value_get(counts, "stages"), 0) +
                    value_as_int(value_get(counts, "joins"), 0);
    const char *told = arena_printf(&c->mem, "operation %" PRId64 ": %s", op, tasks);
    return order ? arena_printf(&c->mem, "%s, and %" PRId64 " stages and joins", told, order)
                 : told;
}

int cmd_deployment_deploy(struct cli *c, struct err *e)
{
    const struct value *v, *warnings;
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/deployments/%s/deploy", cli_arg(c, 0)),
                      deploy_body(c), &v, e);
    if (rc)
        return rc;
    const struct value *counts = value_get(v, "tasks");
    int64_t run = value_as_int(value_get(counts, "run"), 0), op = cli_operation_of(v);
    const char *tasks = arena_printf(&c->mem, "%s%s", text_count((uint64_t)run, "task").s,
                                     left_out(c, counts));
    warnings = value_get(v, "warnings");
    for (uint32_t i = 0; value_is(warnings, VALUE_LIST) && i < warnings->n; i++)
        cli_warn(c, "warning: %s", value_as_text(&warnings->items[i], ""));
    if (cli_has(c, "dry-run") && c->format == OUT_TABLE)
        tasks_print(c, value_get(v, "plan"));
    return cli_outcome(c, v, "operation.id",
                       op ? operation_told(c, op, tasks, counts)
                          : arena_printf(&c->mem, "dry run: %s; nothing was changed", tasks),
                       e);
}

int cmd_deployment_graph(struct cli *c, struct err *e)
{
    const char *graph = cli_option(c, "graph"), *format = cli_option(c, "format"),
               *node = cli_option(c, "node-file");
    const struct value *v;
    SCOPED_BUF(text);
    if (!format || !strcmp(format, "tasks"))
        format = node ? "node" : "json";
    const char *path = http_path(&c->mem, "/v1/deployments/%s/graph?format=%s&graph=%s",
                                 cli_arg(c, 0), format, graph ? graph : "default");
    if (node)
        path = http_path(&c->mem, "/v1/deployments/%s/graph?format=node&graph=%s&node=%s",
                         cli_arg(c, 0), graph ? graph : "default", node);
    int rc = cli_get(c, path, &v, e);
    if (rc)
        return rc;
    const struct value *shown = value_get(v, "text");
    if (value_is(shown, VALUE_STRING)) {
        buf_puts(&text, shown->s);
        cli_put(c, &text);
        return 0;
    }
    if (node && c->format != OUT_JSON)
        c->format = OUT_YAML;
    if (node || c->format != OUT_TABLE)
        (void)cli_print_data(c, value_get(v, "plan"), "tasks");
    else
        tasks_print(c, value_get(v, "plan"));
    return 0;
}
