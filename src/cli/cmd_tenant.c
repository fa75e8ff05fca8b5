/* cmd_tenant.c - tenants: how many places of workers each wishes for, has and uses */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include "cli/table_i.h"

static const struct field tenant_columns[] = {
    {"NAME", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"PLACES", "places", SHOW_TEXT, COLUMN_RIGHT},
    {"SHARE", "share", SHOW_TEXT, COLUMN_RIGHT},
    {"USED", "used", SHOW_TEXT, COLUMN_RIGHT},
    {"SHORT", "short", SHOW_ODD, 0},
    {0},
};
static const struct field tenant_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"places", "places", SHOW_TEXT, 0},
    {"share", "share", SHOW_TEXT, 0},
    {"used", "used", SHOW_TEXT, 0},
    {"short", "short", SHOW_ODD, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};

int cmd_tenant_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/tenants", NULL, tenant_columns, "name", "tenants", e);
}

int cmd_tenant_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/tenants/%s", cli_arg(c, 0)), &v, e);
    if (!rc)
        (void)cli_print_sheet(c, v, tenant_sheet, "name");
    return rc;
}

static struct value *tenant_body(struct cli *c)
{
    struct value *body = value_map(&c->mem);
    if (cli_has(c, "places"))
        value_put_int(&c->mem, body, "places", (int64_t)cli_number(c, "places", 0));
    return body;
}

int cmd_tenant_add(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0);
    struct value *body = tenant_body(c);
    const struct value *v;
    value_put_text(&c->mem, body, "name", name);
    int rc = cli_send(c, "POST", "/v1/tenants", body, &v, e);
    if (!rc)
        cli_done(c, v, "name", "tenant %s made", name);
    return rc;
}

/* Changes what is there as it was read just before, or as --rev says. */
static int tenant_change(struct cli *c, const char *method, const char *question,
                         const struct value *body, const char *done, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/tenants/%s", name);
    const struct value *current, *v = NULL;
    int rc = cli_get(c, path, &current, e);
    if (!rc && question && cli_confirm_wanted(c))
        rc = cli_confirm(c, arena_printf(&c->mem, "%s tenant %s?", question, name), e);
    if (!rc)
        rc = cli_send_rev(c, method, path, current, body, arena_printf(&c->mem, "tenant %s", name),
                          arena_printf(&c->mem, "tenant show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", "tenant %s %s", name, done);
    return rc;
}

int cmd_tenant_set(struct cli *c, struct err *e)
{
    if (!cli_has(c, "places"))
        return err_set(e, ERR_INVALID, "nothing to change: --places is missing");
    return tenant_change(c, "PATCH", NULL, tenant_body(c), "changed", e);
}

int cmd_tenant_delete(struct cli *c, struct err *e)
{
    return tenant_change(c, "DELETE", "delete", NULL, "deleted", e);
}
