/* cmd_overlay.c - what deployments and barclamps have over the task graphs of the catalog
 *
 * The same verbs for both.  `tasks` prints the text as it was given, so that it can be edited and
 * set again; places of faults in what is set are those of the file that was named.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/table_i.h"

struct overlay_noun {
    const char *noun;   /* "deployment" */
    const char *list;   /* "deployments", in paths */
    const char *called; /* before its name, where the server names its text */
};
static const struct overlay_noun deployment_noun = {"deployment", "deployments", ""};
static const struct overlay_noun barclamp_noun = {"barclamp", "barclamps", "barclamp "};

static const struct field version_columns[] = {
    {"VERSION", "version", SHOW_TEXT, COLUMN_RIGHT},
    {"SET", "created_at", SHOW_AGE, COLUMN_RIGHT},
    {"BY", "author", SHOW_TEXT, 0},
    {"TASKS", "tasks", SHOW_TEXT, COLUMN_RIGHT},
    {"MESSAGE", "message", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};

/* --- asking --- */

/* "/v1/deployments/prod/deployment_tasks" and what follows it. */
static void path_begin(struct cli *c, const struct overlay_noun *n, const char *more, struct buf *b)
{
    buf_puts(b, http_path(&c->mem, "/v1/%s/%s/deployment_tasks", n->list, cli_arg(c, 0)));
    buf_puts(b, more);
}

static const char *graph_of(const struct cli *c)
{
    const char *graph = cli_option(c, "graph");
    return graph ? graph : "default";
}

/* --- showing --- */

static int tasks_show(struct cli *c, const struct overlay_noun *n, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(path);
    path_begin(c, n, "", &path);
    http_query(&path, "graph", cli_option(c, "graph"));
    http_query(&path, "version", cli_option(c, "number"));
    http_query(&path, "merged", cli_has(c, "merged") ? "true" : NULL);
    int rc = cli_get(c, path.data, &v, e);
    if (rc || cli_print_data(c, v, "version"))
        return rc;
    struct str text = value_as_str(value_get(v, "text"));
    if (text.n) {
        SCOPED_BUF(b);
        buf_put(&b, text.s, text.n);
        if (text.s[text.n - 1] != '\n')
            buf_putc(&b, '\n');
        cli_put(c, &b);
        return 0;
    }
    cli_say(c, "%s %s has nothing over task graph %s", n->noun, cli_arg(c, 0), graph_of(c));
    return 0;
}

static int tasks_history(struct cli *c, const struct overlay_noun *n, struct err *e)
{
    static const char *const filters[] = {"graph", NULL};
    SCOPED_BUF(path);
    path_begin(c, n, "/versions", &path);
    return cli_list(c, path.data, filters, version_columns, "version", "versions", e);
}

static void changes_say(struct cli *c, const struct value *list, const char *mark)
{
    for (uint32_t i = 0; value_is(list, VALUE_LIST) && i < list->n; i++) {
        const struct value *before = value_get(&list->items[i], "before");
        const struct value *after = value_get(&list->items[i], "after");
        cli_say(c, "  %s %s", mark, value_as_text(value_get(&list->items[i], "id"), "?"));
        if (before && after)
            diff_data_say(c, before, after);
    }
}

static int tasks_diff(struct cli *c, const struct overlay_noun *n, struct err *e)
{
    static const char *const lists[] = {"added", "changed", "removed"};
    static const char *const marks[] = {"+", "~", "-"};
    const struct value *v;
    uint32_t total = 0;
    SCOPED_BUF(path);
    path_begin(c, n, "/diff", &path);
    http_query(&path, "graph", cli_option(c, "graph"));
    http_query(&path, "from", cli_option(c, "from"));
    http_query(&path, "to", cli_option(c, "to"));
    int rc = cli_get(c, path.data, &v, e);
    if (rc || cli_print_data(c, v, "to"))
        return rc;
    cli_say(c, "%s %s, graph %s: from version %" PRId64 " to %" PRId64, n->noun, cli_arg(c, 0),
            graph_of(c), value_as_int(value_get(v, "from"), 0),
            value_as_int(value_get(v, "to"), 0));
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct value *list = value_get(v, lists[i]);
        changes_say(c, list, marks[i]);
        total += list ? list->n : 0;
    }
    if (!total)
        cli_say(c, "  nothing differs");
    return 0;
}

/* --- setting --- */

/* A place in the text that was sent is one in the file that it was read from. */
static void place_name(struct cli *c, const struct overlay_noun *n, struct err *e)
{
    const char *graph = strcmp(graph_of(c), "default") == 0
                            ? ""
                            : arena_printf(&c->mem, " %s", graph_of(c));
    const char *file = strcmp(cli_arg(c, 1), "-") == 0 ? "standard input" : cli_arg(c, 1);
    const char *called = arena_printf(&c->mem, "deployment_tasks%s of %s%s", graph, n->called,
                                      cli_arg(c, 0));
    size_t len = strlen(called);
    if (strncmp(e->at, called, len) == 0 && (e->at[len] == ':' || !e->at[len]))
        err_at(e, "%s%s", file, arena_strdup(&c->mem, e->at + len));
}

/* What was read, with revision 0 where nothing was set yet: another's first must not be lost. */
static int current_get(struct cli *c, const char *path, const struct value **ret, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(b);
    buf_puts(&b, path);
    http_query(&b, "graph", cli_option(c, "graph"));
    int rc = cli_get(c, b.data, &v, e);
    if (rc)
        return rc;
    struct value *current = value_map(&c->mem);
    value_put_int(&c->mem, current, "rev", value_as_int(value_get(v, "version"), 0));
    *ret = current;
    return 0;
}

static int tasks_set(struct cli *c, const struct overlay_noun *n, struct err *e)
{
    const char *name = cli_arg(c, 0);
    struct value *body = value_map(&c->mem);
    const struct value *current, *v;
    struct str text;
    SCOPED_BUF(path);
    path_begin(c, n, "", &path);
    int rc = cli_read_text(c, cli_arg(c, 1), &text, e);
    if (rc || (rc = current_get(c, path.data, &current, e)))
        return rc;
    value_set(&c->mem, body, "text", value_str(&c->mem, text));
    if (cli_option(c, "graph"))
        value_put_text(&c->mem, body, "graph", cli_option(c, "graph"));
    if (cli_option(c, "message"))
        value_put_text(&c->mem, body, "message", cli_option(c, "message"));
    if (cli_has(c, "dry-run"))
        value_put_bool(&c->mem, body, "dry_run", true);
    rc = cli_send_rev(c, "PUT", path.data, current, body,
                      arena_printf(&c->mem, "what %s %s has over it", n->noun, name),
                      arena_printf(&c->mem, "%s tasks %s", n->noun, name), &v, e);
    if (rc) {
        place_name(c, n, e);
        return rc;
    }
    if (c->format == OUT_TABLE && !c->quiet)
        cli_findings_show(c, value_get(v, "report"));
    const char *tasks = arena_strdup(
        &c->mem, text_count(value_get(v, "tasks") ? value_get(v, "tasks")->n : 0, "task").s);
    if (cli_has(c, "dry-run"))
        cli_done(c, v, "version", "%s %s could have %s over task graph %s; nothing was changed",
                 n->noun, name, tasks, graph_of(c));
    else if (!value_as_bool(value_get(v, "changed"), true))
        cli_done(c, v, "version", "%s %s has that over task graph %s already, version %" PRId64,
                 n->noun, name, graph_of(c), value_as_int(value_get(v, "version"), 0));
    else
        cli_done(c, v, "version", "%s %s has %s over task graph %s, version %" PRId64, n->noun,
                 name, tasks, graph_of(c), value_as_int(value_get(v, "version"), 0));
    return 0;
}

/* --- the verbs --- */

#define VERBS_OF(noun)                                                                             \
    int cmd_##noun##_tasks(struct cli *c, struct err *e)                                           \
    {                                                                                              \
        return tasks_show(c, &noun##_noun, e);                                                     \
    }                                                                                              \
    int cmd_##noun##_tasks_set(struct cli *c, struct err *e)                                       \
    {                                                                                              \
        return tasks_set(c, &noun##_noun, e);                                                      \
    }                                                                                              \
    int cmd_##noun##_tasks_diff(struct cli *c, struct err *e)                                      \
    {                                                                                              \
        return tasks_diff(c, &noun##_noun, e);                                                     \
    }                                                                                              \
    int cmd_##noun##_tasks_history(struct cli *c, struct err *e)                                   \
    {                                                                                              \
        return tasks_history(c, &noun##_noun, e);                                                  \
    }
VERBS_OF(deployment)
VERBS_OF(barclamp)
