/* cmd_noderole.c - one role on one node: its state, its tasks, its data */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "base/json.h"
#include "base/yaml.h"
#include "cli/table_i.h"

static const struct field noderole_columns[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"ROLE", "role", SHOW_TEXT, COLUMN_SHRINK},
    {"NODE", "node", SHOW_TEXT, COLUMN_SHRINK},
    {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},
    {"DEPLOYMENT", "deployment", SHOW_TEXT, COLUMN_SHRINK},
    {"OPERATION", "operation", SHOW_TEXT, COLUMN_RIGHT},
    {"RUNS", "run_count", SHOW_TEXT, COLUMN_RIGHT},
    {"TARGET", "target", SHOW_TEXT, COLUMN_WIDE},
    {"COHORT", "cohort", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {"PARENTS", "parents", SHOW_LIST, COLUMN_WIDE | COLUMN_SHRINK},
    {0},
};
static const struct field noderole_sheet[] = {
    {"noderole", "id", SHOW_TEXT, 0},
    {"role", "role", SHOW_TEXT, 0},
    {"node", "node", SHOW_TEXT, 0},
    {"deployment", "deployment", SHOW_TEXT, 0},
    {"state", "state", SHOW_STATE, 0},
    {"reason", "reason", SHOW_TEXT, 0},
    {"target", "target", SHOW_TEXT, 0},
    {"operation", "operation", SHOW_TEXT, 0},
    {"runs", "run_count", SHOW_TEXT, 0},
    {"deployed by", "deployed_by", SHOW_TEXT, 0},
    {"no-op", "no_op", SHOW_TEXT, 0},
    {"generation", "generation", SHOW_TEXT, 0},
    {"incarnation", "incarnation", SHOW_TEXT, 0},
    {"cohort", "cohort", SHOW_TEXT, 0},
    {"parents", "parents", SHOW_LIST, 0},
    {"children", "children", SHOW_LIST, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field noderole_tasks[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"TASK", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},
    {"JIG", "jig", SHOW_TEXT, 0},
    {"ATTEMPT", "attempt", SHOW_TEXT, COLUMN_RIGHT},
    {"STARTED", "started_at", SHOW_AGE, COLUMN_RIGHT},
    {0},
};

int cmd_noderole_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"state", "role", "node", "deployment", NULL};
    return cli_list(c, "/v1/noderoles", filters, noderole_columns, "id", "noderoles", e);
}

static int noderole_get(struct cli *c, const struct value **ret_v, struct err *e)
{
    return cli_get(c, http_path(&c->mem, "/v1/noderoles/%s", cli_arg(c, 0)), ret_v, e);
}

int cmd_noderole_show(struct cli *c, struct err *e)
{
    const struct value *v, *tasks;
    SCOPED_BUF(path);
    int rc = noderole_get(c, &v, e);
    if (rc || !cli_print_sheet(c, v, noderole_sheet, "id"))
        return rc;
    buf_puts(&path, "/v1/tasks");
    http_query(&path, "noderole", cli_arg(c, 0));
    if ((rc = cli_get_list(c, &c->mem, path.data, UINT32_MAX, &tasks, e)))
        return rc;
    cli_print_section(c, "tasks", value_get(tasks, "items"), noderole_tasks);
    cli_print_document(c, "data", value_get(v, "data"));
    cli_print_document(c, "wall", value_get(v, "wall"));
    return 0;
}

/* --- data --- */

static const struct field explain_columns[] = {
    {"", "mark", SHOW_TEXT, 0},
    {"LAYER", "layer", SHOW_TEXT, 0},
    {"FROM", "from", SHOW_TEXT, COLUMN_SHRINK},
    {"VALUE", "value", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};

/* Whose it is, as one says it: role@node, or the deployment whose role has it. */
static const char *layer_from(struct cli *c, const struct value *l)
{
    const char *role = value_as_text(value_get(l, "role"), "");
    const char *node = value_as_text(value_get(l, "node"), NULL);
    struct str part = value_as_str(value_get(l, "part"));
    if (str_is(part, "default"))
        return arena_printf(&c->mem, "role %s", role);
    if (str_is(part, "deployment-role"))
        return arena_printf(&c->mem, "%s in %s", role,
                            value_as_text(value_get(l, "deployment"), "no deployment"));
    if (str_is(part, "node"))
        return node ? node : "";
    return node ? arena_printf(&c->mem, "%s@%s", role, node) : role;
}

static struct value *explain_row(struct cli *c, const struct value *l)
{
    struct value *row = value_map(&c->mem);
    const char *layer = value_as_text(value_get(l, "layer"), ""),
               *part = value_as_text(value_get(l, "part"), layer);
    bool wins = value_as_bool(value_get(l, "wins"), false),
         cuts = value_as_bool(value_get(l, "cuts"), false);
    SCOPED_BUF(text);
    json_write(&text, value_get(l, "value"), 0);
    value_put_text(&c->mem, row, "mark", wins ? "*" : cuts ? "x" : " ");
    value_put_text(&c->mem, row, "layer",
                   strcmp(layer, part) ? arena_printf(&c->mem, "%s %s", layer, part) : layer);
    value_put_text(&c->mem, row, "from", layer_from(c, l));
    value_set(&c->mem, row, "value", value_str(&c->mem, buf_str(&text)));
    return row;
}

static int data_explain(struct cli *c, const char *path, struct err *e)
{
    const struct value *v;
    SCOPED_BUF(url);
    buf_puts(&url, http_path(&c->mem, "/v1/noderoles/%s/data", cli_arg(c, 0)));
    http_query(&url, "explain", path);
    int rc = cli_get(c, url.data, &v, e);
    if (rc || cli_print_data(c, v, "path"))
        return rc;
    const struct value *layers = value_get(v, "layers");
    struct value *rows = value_list(&c->mem);
    for (uint32_t i = 0; value_is(layers, VALUE_LIST) && i < layers->n; i++)
        value_add(&c->mem, rows, explain_row(c, &layers->items[i]));
    if (!rows->n) {
        err_set(e, ERR_NOT_FOUND, "runs of noderole %s see nothing at %s", cli_arg(c, 0), path);
        return err_hint(e, "`anneal noderole data %s --visible` prints all that they see",
                        cli_arg(c, 0));
    }
    struct value *list = value_map(&c->mem);
    value_set(&c->mem, list, "items", rows);
    cli_print_list(c, list, explain_columns, "from", "layers");
    return 0;
}

static int data_get(struct cli *c, const struct value **ret_v, struct err *e)
{
    bool visible = cli_has(c, "visible");
    const char *key = cli_has(c, "wall") ? "wall" : cli_has(c, "system") ? "system" : "data";
    int rc = visible
                 ? cli_get(c, http_path(&c->mem, "/v1/noderoles/%s/data", cli_arg(c, 0)), ret_v, e)
                 : noderole_get(c, ret_v, e);
    if (!rc)
        *ret_v = value_get(*ret_v, visible ? "data" : key);
    return rc;
}

int cmd_noderole_data(struct cli *c, struct err *e)
{
    const struct value *v;
    const char *path = cli_arg(c, 1), *explain = cli_option(c, "explain");
    SCOPED_BUF(b);
    if (explain)
        return data_explain(c, explain, e);
    int rc = data_get(c, &v, e);
    if (rc)
        return rc;
    if (path && !(v = value_at(v, path))) {
        err_set(e, ERR_NOT_FOUND, "noderole %s has nothing at %s", cli_arg(c, 0), path);
        return err_hint(e, "`anneal noderole data %s` prints all of it", cli_arg(c, 0));
    }
    if (!v)
        v = value_map(&c->mem);
    if (c->format == OUT_JSON)
        json_write(&b, v, c->env->out_tty ? 2 : 0);
    else if (value_is(v, VALUE_STRING)) /* one text is itself, for shell scripts */
        term_clean(&b, v->s, v->n, TERM_LINES);
    else
        yaml_write(&b, v);
    if (!b.len || b.data[b.len - 1] != '\n')
        buf_putc(&b, '\n');
    cli_put(c, &b);
    return 0;
}

/* --- set --- */

static int document_make(struct cli *c, const struct value *current, const struct value **ret_doc,
                         struct err *e)
{
    const char *file = cli_option(c, "data"), *s;
    const struct value *doc = value_get(current, "data");
    if (!file && c->line.args.n < 2)
        return err_set(e, ERR_INVALID, "nothing to set: give PATH=VALUE or --data FILE");
    if (file) {
        int rc = cli_read_data(c, file, &doc, e);
        if (rc)
            return rc;
    }
    if (!value_is(doc, VALUE_MAP))
        doc = value_map(&c->mem);
    for (size_t i = 1; (s = cli_arg(c, i)); i++) {
        const struct value *patch;
        int rc = cli_assignment(c, s, &patch, e);
        if (rc)
            return rc;
        doc = value_merge(&c->mem, doc, patch);
    }
    *ret_doc = doc;
    return 0;
}

int cmd_noderole_set(struct cli *c, struct err *e)
{
    const struct value *current, *doc = NULL, *v = NULL;
    const char *id = cli_arg(c, 0);
    int rc = noderole_get(c, &current, e);
    if (!rc)
        rc = document_make(c, current, &doc, e);
    if (!rc)
        rc = cli_send_rev(c, "PUT", http_path(&c->mem, "/v1/noderoles/%s/data", id), current, doc,
                          arena_printf(&c->mem, "noderole %s", id),
                          arena_printf(&c->mem, "noderole show %s", id), &v, e);
    return rc ? rc
              : cli_outcome(c, v, "id", arena_printf(&c->mem, "data of noderole %s set", id), e);
}

/* what: completed by "noderole ID runs again". */
static int noderole_post(struct cli *c, const char *verb, const char *what, struct err *e)
{
    const struct value *v = NULL;
    const char *id = cli_arg(c, 0);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/noderoles/%s/%s", id, verb), NULL, &v, e);
    if (rc)
        return rc;
    return cli_outcome(c, v, "id", arena_printf(&c->mem, "%snoderole %s runs again", what, id), e);
}

int cmd_noderole_rerun(struct cli *c, struct err *e)
{
    return noderole_post(c, "rerun", "", e);
}

/* It is tried again in its own operation, which may end well without it. */
int cmd_noderole_retry(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = noderole_post(c, "retry", "what failed in ", e);
    if (rc || !c->wait || c->exit)
        return rc;
    rc = cli_get(c, http_path(&c->mem, "/v1/noderoles/%s", cli_arg(c, 0)), &v, e);
    if (!rc && !strcmp(value_as_text(value_get(v, "state"), ""), "ERROR")) {
        cli_say(c, "noderole %s failed again: anneal why noderole/%s", cli_arg(c, 0),
                cli_arg(c, 0));
        c->exit = err_exit(ERR_FAILED);
    }
    return rc;
}

int cmd_noderole_abandon(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v = NULL, *undone;
    const char *id = cli_arg(c, 0), *s = cli_option(c, "reason");
    if (s)
        value_put_text(&c->mem, body, "reason", s);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/noderoles/%s/abandon", id), body, &v, e);
    if (rc)
        return rc;
    undone = value_get(v, "undone");
    cli_done(c, v, "noderole", "%s counts as removed", value_as_text(value_get(v, "name"), id));
    for (uint32_t i = 0; c->format == OUT_TABLE && value_is(undone, VALUE_LIST) && i < undone->n;
         i++)
        cli_say(c, "  not done: %s", value_as_text(&undone->items[i], ""));
    return 0;
}
