/* cmd_deployment.c - deployments, and binding roles to nodes */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "cli/table_i.h"

static const struct field deployment_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"PARENT", "parent", SHOW_TEXT, 0},
    {"NODEROLES", "noderoles", SHOW_COUNTS, COLUMN_SHRINK},
    {"HEAD", "head", SHOW_TEXT, COLUMN_RIGHT},
    {"PROPOSAL", "proposal", SHOW_TEXT, COLUMN_RIGHT},
    {"DESCRIPTION", "description", SHOW_TEXT, COLUMN_SHRINK},
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {0},
};
static const struct field deployment_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"id", "id", SHOW_TEXT, 0},
    {"parent", "parent", SHOW_TEXT, 0},
    {"description", "description", SHOW_TEXT, 0},
    {"noderoles", "noderoles", SHOW_COUNTS, 0},
    {"head", "head", SHOW_TEXT, 0},
    {"proposal", "proposal", SHOW_TEXT, 0},
    {"created", "created_at", SHOW_TIME, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field deployment_noderoles[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT}, {"ROLE", "role", SHOW_TEXT, 0},
    {"NODE", "node", SHOW_TEXT, 0},        {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},    {0},
};

int cmd_deployment_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/deployments", NULL, deployment_columns, "name", "deployments", e);
}

int cmd_deployment_show(struct cli *c, struct err *e)
{
    const struct value *v, *roles;
    SCOPED_BUF(path);
    int rc = cli_get(c, http_path(&c->mem, "/v1/deployments/%s", cli_arg(c, 0)), &v, e);
    if (rc || !cli_print_sheet(c, v, deployment_sheet, "name"))
        return rc;
    buf_puts(&path, "/v1/noderoles");
    http_query(&path, "deployment", value_as_text(value_get(v, "name"), cli_arg(c, 0)));
    if ((rc = cli_get_list(c, &c->mem, path.data, UINT32_MAX, &roles, e)))
        return rc;
    cli_print_section(c, "noderoles", value_get(roles, "items"), deployment_noderoles);
    return 0;
}

static const struct field snapshot_columns[] = {
    {"NUMBER", "number", SHOW_TEXT, COLUMN_RIGHT},
    {"STATE", "state", SHOW_TEXT, 0},
    {"ENTRIES", "entries", SHOW_TEXT, COLUMN_RIGHT},
    {"CATALOG", "catalog", SHOW_TEXT, COLUMN_RIGHT},
    {"OPERATION", "operation", SHOW_TEXT, COLUMN_RIGHT},
    {"AUTHOR", "author", SHOW_TEXT, COLUMN_SHRINK},
    {"AGO", "ended_at", SHOW_AGE, COLUMN_RIGHT},
    {"MESSAGE", "message", SHOW_TEXT, COLUMN_SHRINK},
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {0},
};

int cmd_deployment_history(struct cli *c, struct err *e)
{
    return cli_list(c, http_path(&c->mem, "/v1/deployments/%s/snapshots", cli_arg(c, 0)), NULL,
                    snapshot_columns, "number", "snapshots", e);
}

int cmd_deployment_add(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    const char *s;
    value_put_text(&c->mem, body, "name", cli_arg(c, 0));
    if ((s = cli_option(c, "parent")))
        value_put_text(&c->mem, body, "parent", s);
    if ((s = cli_option(c, "description")))
        value_put_text(&c->mem, body, "description", s);
    int rc = cli_send(c, "POST", "/v1/deployments", body, &v, e);
    if (!rc)
        cli_done(c, v, "name", "deployment %s added", cli_arg(c, 0));
    return rc;
}

/* PATCH or DELETE of what is there now. */
static int deployment_write(struct cli *c, const char *method, const struct value *body,
                            const char *done, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/deployments/%s", name);
    const struct value *current, *v = NULL;
    int rc = cli_get(c, path, &current, e);
    if (!rc)
        rc = cli_send_rev(c, method, path, current, body,
                          arena_printf(&c->mem, "deployment %s", name),
                          arena_printf(&c->mem, "deployment show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", "deployment %s %s", name, done);
    return rc;
}

int cmd_deployment_set(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const char *description = cli_option(c, "description");
    if (!description)
        return err_set(e, ERR_INVALID, "nothing to change: --description is missing");
    value_put_text(&c->mem, body, "description", description);
    return deployment_write(c, "PATCH", body, "changed", e);
}

int cmd_deployment_delete(struct cli *c, struct err *e)
{
    return deployment_write(c, "DELETE", NULL, "deleted", e);
}

/* --- bind --- */

/* "role=file", or "file" if only one role is bound; NULL in *ret_role then. */
static const char *data_split(const char *s, struct str *ret_role)
{
    const char *eq = strchr(s, '=');
    *ret_role = eq ? (struct str){s, (size_t)(eq - s)} : (struct str){NULL, 0};
    return eq ? eq + 1 : s;
}

static int data_put(struct cli *c, struct value *bindings, const char *option, struct err *e)
{
    struct str role;
    const struct value *data;
    const char *file = data_split(option, &role);
    if (!role.s && bindings->n > 1) {
        err_set(e, ERR_INVALID, "--data %s: for which of the %u roles?", option, bindings->n);
        return err_hint(e, "write --data ROLE=FILE");
    }
    int rc = cli_read_data(c, file, &data, e);
    if (rc)
        return rc;
    bool found = false;
    for (uint32_t i = 0; i < bindings->n; i++) {
        struct value *b = &bindings->items[i];
        if (role.s && !str_eq(value_as_str(value_get(b, "role")), role))
            continue;
        value_set(&c->mem, b, "data", data);
        found = true;
    }
    if (!found)
        return err_set(e, ERR_INVALID, "--data %s: the role %.*s is not bound here", option,
                       (int)role.n, role.s);
    return 0;
}

static int bind_body(struct cli *c, struct value *body, struct err *e)
{
    struct value *bindings = value_list(&c->mem);
    const char *s;
    for (size_t i = 1; (s = cli_arg(c, i)); i++) {
        const char *eq = strchr(s, '=');
        struct value *b = value_map(&c->mem);
        value_set(&c->mem, b, "role", value_str(&c->mem, (struct str){s, (size_t)(eq - s)}));
        value_put_text(&c->mem, b, "nodes", eq + 1);
        value_add(&c->mem, bindings, b);
    }
    for (size_t i = 0; (s = cli_option_at(c, "data", i)); i++) {
        int rc = data_put(c, bindings, s, e);
        if (rc)
            return rc;
    }
    value_set(&c->mem, body, "bindings", bindings);
    if ((s = cli_word(c, "class")))
        value_put_text(&c->mem, body, "class", s);
    if ((s = cli_option(c, "title")))
        value_put_text(&c->mem, body, "title", s);
    if (cli_has(c, "dry-run"))
        value_put_bool(&c->mem, body, "dry_run", true);
    return 0;
}

static const char *step_text(const struct value *v, const char *key)
{
    return value_as_text(value_get(v, key), "");
}

/* "db@n1", or "sql: db@n1" if it was found under another name. */
static void parent_say(struct cli *c, const struct value *p)
{
    const char *wanted = step_text(p, "wanted"), *found = step_text(p, "noderole");
    size_t n = strlen(wanted);
    bool same = !strncmp(found, wanted, n) && found[n] == '@';
    cli_say(c, "      %s %s%s%s  (%s)",
            value_as_bool(value_get(p, "used"), false) ? "uses" : "needs", same ? "" : wanted,
            same ? "" : ": ", found, step_text(p, "found"));
}

static void step_say(struct cli *c, const struct value *step)
{
    const struct value *parents = value_get(step, "parents");
    const char *by = step_text(step, "by");
    cli_say(c, "  %s@%s  %s%s%s%s", step_text(step, "role"), step_text(step, "node"),
            step_text(step, "why"), *by ? " by " : "", by,
            value_as_bool(value_get(step, "other_data"), false) ? ", with other data" : "");
    for (uint32_t i = 0; value_is(parents, VALUE_LIST) && i < parents->n; i++)
        parent_say(c, &parents->items[i]);
}

static uint64_t fresh_steps(const struct value *steps)
{
    uint64_t n = 0;
    for (uint32_t i = 0; value_is(steps, VALUE_LIST) && i < steps->n; i++)
        n += strcmp(step_text(&steps->items[i], "why"), "present") != 0;
    return n;
}

static int bind_show(struct cli *c, const struct value *v, struct err *e)
{
    const struct value *steps = value_get(v, "steps"), *made = value_get(v, "noderoles");
    int64_t tasks = value_as_int(value_get(v, "tasks"), 0), op = cli_operation_of(v);
    uint32_t n = value_is(made, VALUE_LIST) ? made->n : 0;
    bool dry = cli_has(c, "dry-run");
    if (c->format == OUT_TABLE && (dry || c->verbose))
        for (uint32_t i = 0; value_is(steps, VALUE_LIST) && i < steps->n; i++)
            step_say(c, &steps->items[i]);
    const char *s;
    if (dry)
        s = arena_printf(&c->mem, "dry run: %s, %s; nothing was changed",
                         text_count(fresh_steps(steps), "new noderole").s,
                         text_count((uint64_t)tasks, "task").s);
    else if (op)
        s = arena_printf(&c->mem, "operation %" PRId64 ": %s, %s", op,
                         text_count(n, "new noderole").s, text_count((uint64_t)tasks, "task").s);
    else
        s = "everything is as wanted already; nothing to do";
    return cli_outcome(c, v, "operation.id", s, e);
}

int cmd_deployment_bind(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    int rc = bind_body(c, body, e);
    if (!rc)
        rc = cli_send(c, "POST", http_path(&c->mem, "/v1/deployments/%s/bind", cli_arg(c, 0)), body,
                      &v, e);
    return rc ? rc : bind_show(c, v, e);
}
