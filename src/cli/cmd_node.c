/* cmd_node.c - node and group verbs */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "cli/table_i.h"

static const struct field node_columns[] = {
    {"NAME", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"STATE", "state", SHOW_STATE, 0},
    {"ALIVE", "alive", SHOW_STATE, 0},
    {"AVAIL", "available", SHOW_GOOD, 0},
    {"DEPLOYMENT", "deployment", SHOW_TEXT, COLUMN_SHRINK},
    {"ROLES", "noderoles", SHOW_TEXT, COLUMN_RIGHT},
    {"GROUPS", "groups", SHOW_LIST, COLUMN_SHRINK},
    {"LABELS", "labels", SHOW_MAP, COLUMN_SHRINK},
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {"SLOTS", "slots", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {"ADDRESSES", "addresses", SHOW_LIST, COLUMN_SHRINK | COLUMN_WIDE},
    {"NOTE", "note", SHOW_TEXT, COLUMN_SHRINK | COLUMN_WIDE},
    {0},
};
static const struct field node_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"id", "id", SHOW_TEXT, 0},
    {"state", "state", SHOW_STATE, 0},
    {"alive", "alive", SHOW_STATE, 0},
    {"available", "available", SHOW_TEXT, 0},
    {"seen", "probe.seen_at", SHOW_TIME, 0},
    {"seen by", "probe.seen_by", SHOW_TEXT, 0},
    {"probe", "probe.result", SHOW_TEXT, 0},
    {"silent", "probe.silent_since", SHOW_TIME, 0},
    {"probe says", "probe.text", SHOW_TEXT, 0},
    {"note", "note", SHOW_TEXT, 0},
    {"maintained", "maintenance", SHOW_MAP, 0},
    {"boot", "boot_environment", SHOW_TEXT, 0},
    {"deployment", "deployment", SHOW_TEXT, 0},
    {"admin", "admin", SHOW_TEXT, 0},
    {"slots", "slots", SHOW_TEXT, 0},
    {"addresses", "addresses", SHOW_LIST, 0},
    {"access", "access", SHOW_MAP, 0},
    {"groups", "groups", SHOW_LIST, 0},
    {"labels", "labels", SHOW_MAP, 0},
    {"machine id", "machine_id", SHOW_TEXT, 0},
    {"boot id", "boot_id", SHOW_TEXT, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field node_noderoles[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"ROLE", "role", SHOW_TEXT, 0},
    {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},
    {"DEPLOYMENT", "deployment", SHOW_TEXT, 0},
    {"RUNS", "run_count", SHOW_TEXT, COLUMN_RIGHT},
    {0},
};
static const struct field group_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0}, {"NODES", "count", SHOW_TEXT, COLUMN_RIGHT}, {0}};

int cmd_node_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"state", "alive", "deployment", NULL};
    SCOPED_BUF(path);
    buf_puts(&path, "/v1/nodes");
    http_query(&path, "selector", cli_arg(c, 0));
    return cli_list(c, path.data, filters, node_columns, "name", "nodes", e);
}

int cmd_node_show(struct cli *c, struct err *e)
{
    const struct value *v, *roles;
    SCOPED_BUF(path);
    int rc = cli_get(c, http_path(&c->mem, "/v1/nodes/%s", cli_arg(c, 0)), &v, e);
    if (rc || !cli_print_sheet(c, v, node_sheet, "name"))
        return rc;
    cli_print_document(c, "facts", value_get(v, "facts"));
    buf_puts(&path, "/v1/noderoles");
    http_query(&path, "node", value_as_text(value_get(v, "name"), cli_arg(c, 0)));
    if ((rc = cli_get_list(c, &c->mem, path.data, UINT32_MAX, &roles, e)))
        return rc;
    cli_print_section(c, "noderoles", value_get(roles, "items"), node_noderoles);
    return 0;
}

/* --- what add and set share --- */

static int labels_put(struct cli *c, struct value *body, bool may_remove, struct err *e)
{
    struct value *labels = value_map(&c->mem);
    const char *s;
    for (size_t i = 0; (s = cli_option_at(c, "label", i)); i++) {
        const char *eq = strchr(s, '=');
        if (!eq || eq == s)
            return err_set(e, ERR_INVALID, "--label is KEY=VALUE, not \"%s\"", s);
        value_set_str(&c->mem, labels, (struct str){s, (size_t)(eq - s)},
                      value_text(&c->mem, eq + 1));
    }
    for (size_t i = 0; may_remove && (s = cli_option_at(c, "unlabel", i)); i++)
        value_set(&c->mem, labels, s, value_null(&c->mem));
    if (labels->n)
        value_set(&c->mem, body, "labels", labels);
    return 0;
}

static int access_put(struct cli *c, struct value *body, struct err *e)
{
    const struct value *access = value_map(&c->mem), *patch;
    const char *s;
    for (size_t i = 0; (s = cli_option_at(c, "access", i)); i++) {
        int rc = cli_assignment(c, s, &patch, e);
        if (rc)
            return rc;
        access = value_merge(&c->mem, access, patch);
    }
    if (access->n)
        value_set(&c->mem, body, "access", access);
    return 0;
}

static bool list_holds(const struct value *list, const char *s)
{
    for (uint32_t i = 0; list && i < list->n; i++)
        if (str_is(value_as_str(&list->items[i]), s))
            return true;
    return false;
}

static void list_add_new(struct cli *c, struct value *list, const char *s)
{
    if (!list_holds(list, s))
        value_add(&c->mem, list, value_text(&c->mem, s));
}

/* The groups it is in, less those it leaves, and those it joins. */
static void groups_put(struct cli *c, struct value *body, const struct value *current)
{
    struct value *groups = value_list(&c->mem), *leaves = value_list(&c->mem);
    const struct value *now = value_get(current, "groups");
    const char *s;
    for (size_t i = 0; current && (s = cli_option_at(c, "ungroup", i)); i++)
        list_add_new(c, leaves, s);
    for (uint32_t i = 0; value_is(now, VALUE_LIST) && i < now->n; i++) {
        const char *name = value_as_text(&now->items[i], "");
        if (!list_holds(leaves, name))
            list_add_new(c, groups, name);
    }
    for (size_t i = 0; (s = cli_option_at(c, "group", i)); i++)
        list_add_new(c, groups, s);
    if (leaves->n || cli_has(c, "group"))
        value_set(&c->mem, body, "groups", groups);
}

static int switches_put(struct cli *c, struct value *body, struct err *e)
{
    if (cli_has(c, "available") && cli_has(c, "unavailable"))
        return err_set(e, ERR_INVALID, "--available and --unavailable contradict each other");
    if (cli_has(c, "available") || cli_has(c, "unavailable"))
        value_put_bool(&c->mem, body, "available", cli_has(c, "available"));
    if (cli_has(c, "admin"))
        value_put_bool(&c->mem, body, "admin", true);
    return 0;
}

/* current: the node that is changed, NULL for a new one. */
static int node_body(struct cli *c, struct value *body, const struct value *current, struct err *e)
{
    struct value *addresses = value_list(&c->mem);
    const struct value *facts;
    const char *s;
    int rc = switches_put(c, body, e);
    if (!rc)
        rc = labels_put(c, body, current != NULL, e);
    if (!rc)
        rc = access_put(c, body, e);
    if (rc)
        return rc;
    groups_put(c, body, current);
    if ((s = cli_option(c, "deployment")))
        value_put_text(&c->mem, body, "deployment", s);
    for (size_t i = 0; (s = cli_option_at(c, "address", i)); i++)
        list_add_new(c, addresses, s);
    if (addresses->n)
        value_set(&c->mem, body, "addresses", addresses);
    if (cli_has(c, "slots"))
        value_put_int(&c->mem, body, "slots", (int64_t)cli_number(c, "slots", 0));
    if ((s = cli_word(c, "alive")))
        value_put_text(&c->mem, body, "alive", s);
    if ((s = cli_option(c, "note")))
        value_put_text(&c->mem, body, "note", s);
    if ((s = cli_option(c, "boot-environment")))
        value_put_text(&c->mem, body, "boot_environment", s);
    if ((s = cli_option(c, "facts"))) {
        if ((rc = cli_read_data(c, s, &facts, e)))
            return rc;
        value_set(&c->mem, body, "facts", facts);
    }
    return 0;
}

int cmd_node_add(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    if (c->line.args.n)
        value_put_text(&c->mem, body, "name", cli_arg(c, 0));
    int rc = node_body(c, body, NULL, e);
    if (!rc)
        rc = cli_send(c, "POST", "/v1/nodes", body, &v, e);
    if (!rc)
        cli_done(c, v, "name", "node %s added", value_as_text(value_get(v, "name"), "?"));
    return rc;
}

int cmd_node_set(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/nodes/%s", name);
    struct value *body = value_map(&c->mem);
    const struct value *current, *v;
    int rc = cli_get(c, path, &current, e);
    if (!rc)
        rc = node_body(c, body, current, e);
    if (rc)
        return rc;
    if (cli_has(c, "no-admin"))
        value_put_bool(&c->mem, body, "admin", false);
    if (!body->n)
        return err_set(e, ERR_INVALID, "nothing to change: name at least one option");
    rc = cli_send_rev(c, "PATCH", path, current, body, arena_printf(&c->mem, "node %s", name),
                      arena_printf(&c->mem, "node show %s", name), &v, e);
    if (rc)
        return rc;
    cli_done(c, v, "name", "node %s changed", name);
    const struct value *left = value_get(v, "left_behind");
    for (uint32_t i = 0; c->format == OUT_TABLE && value_is(left, VALUE_LIST) && i < left->n; i++)
        cli_say(c, "  %s has run and stays in %s", value_as_text(&left->items[i], ""),
                value_as_text(value_get(current, "deployment"), "its deployment"));
    return 0;
}

int cmd_node_delete(struct cli *c, struct err *e)
{
    if (cli_has(c, "rev") && c->line.args.n > 1)
        return err_set(e, ERR_INVALID, "--rev belongs to one node, not to %zu", c->line.args.n);
    for (size_t i = 0; i < c->line.args.n; i++) {
        const char *name = cli_arg(c, i), *path = http_path(&c->mem, "/v1/nodes/%s", name);
        const char *where = cli_has(c, "cascade") ? arena_printf(&c->mem, "%s?cascade=true", path)
                                                  : path;
        const struct value *current, *v = NULL;
        int rc = cli_get(c, path, &current, e);
        if (!rc)
            rc = cli_send_rev(c, "DELETE", where, current, NULL,
                              arena_printf(&c->mem, "node %s", name),
                              arena_printf(&c->mem, "node show %s", name), &v, e);
        if (!rc)
            rc = cli_outcome(c, v, "id",
                             arena_printf(&c->mem, "node %s %s", name,
                                          cli_operation_of(v)
                                              ? "goes when what is on it is taken down"
                                              : "deleted"),
                             e);
        if (rc)
            return rc;
    }
    return 0;
}

int cmd_node_report(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *s;
    struct value *body = value_map(&c->mem);
    const struct value *v;
    value_put_text(&c->mem, body, "alive", cli_arg_word(c, 1));
    if ((s = cli_option(c, "machine-id")))
        value_put_text(&c->mem, body, "machine_id", s);
    if ((s = cli_option(c, "boot-id")))
        value_put_text(&c->mem, body, "boot_id", s);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/nodes/%s/report", name), body, &v, e);
    if (!rc)
        cli_done(c, v, "name", "node %s is now believed to be %s", name,
                 value_as_text(value_get(v, "alive"), "unknown"));
    return rc;
}

int cmd_group_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/groups", NULL, group_columns, "name", "groups", e);
}
