/* cmd_cluster.c - clusters looked at: lists, nodes, leases, differences */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/text.h"
#include "cli/cli_i.h"
#include "cli/table_i.h"

/* --- what there is --- */

static const struct field cluster_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"STATE", "state", SHOW_STATE, 0},
    {"TEMPLATE", "template", SHOW_TEXT, 0},
    {"NODES", "size", SHOW_TEXT, COLUMN_RIGHT},
    {"SERVICES", "services", SHOW_LIST, COLUMN_SHRINK},
    {"LAST", "last", SHOW_TEXT, 0},
    {"OPERATION", "operation", SHOW_TEXT, COLUMN_RIGHT},
    {"LEASE", "expires_at", SHOW_LEFT, COLUMN_RIGHT},
    {"OWNER", "owner", SHOW_TEXT, COLUMN_SHRINK},
    {"PROVIDER", "provider", SHOW_TEXT, COLUMN_WIDE},
    {"REVISION", "revision", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT | COLUMN_WIDE},
    {0},
};
static const struct field cluster_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"id", "id", SHOW_TEXT, 0},
    {"state", "state", SHOW_STATE, 0},
    {"template", "template", SHOW_TEXT, 0},
    {"provider", "provider", SHOW_TEXT, 0},
    {"services", "services", SHOW_LIST, 0},
    {"nodes", "size", SHOW_TEXT, 0},
    {"missing", "missing", SHOW_LIST, 0},
    {"revision", "revision", SHOW_TEXT, 0},
    {"last", "last", SHOW_TEXT, 0},
    {"operation", "operation", SHOW_TEXT, 0},
    {"waiting", "waiting", SHOW_LIST, 0},
    {"owner", "owner", SHOW_TEXT, 0},
    {"created", "created_at", SHOW_TIME, 0},
    {"lent until", "expires_at", SHOW_DUE, 0},
    {"rev", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field cluster_nodes[] = {
    {"NUMBER", "number", SHOW_TEXT, COLUMN_RIGHT},
    {"NAME", "name", SHOW_TEXT, 0},
    {"STATE", "state", SHOW_STATE, 0},
    {"HARDWARE", "hardware", SHOW_TEXT, 0},
    {"IMAGE", "image", SHOW_TEXT, 0},
    {"SERVICES", "services", SHOW_LIST, COLUMN_SHRINK},
    {0},
};
static const struct field cluster_left[] = {
    {"NODEROLE", "name", SHOW_TEXT, 0},     {"STATE", "state", SHOW_STATE, 0},
    {"REASON", "reason", SHOW_TEXT, 0},     {"OPERATION", "operation", SHOW_TEXT, COLUMN_RIGHT},
    {"WHAT HELPS", "remedy", SHOW_TEXT, 0}, {0},
};
static const struct field cluster_links[] = {
    {"LABEL", "label", SHOW_TEXT, 0},
    {"URL", "url", SHOW_TEXT, 0},
    {0},
};

int cmd_cluster_list(struct cli *c, struct err *e)
{
    static const char *const filters[] = {"state", NULL};
    return cli_list(c, "/v1/clusters", filters, cluster_columns, "name", "clusters", e);
}

int cmd_cluster_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/clusters/%s", cli_arg(c, 0)), &v, e);
    if (rc || !cli_print_sheet(c, v, cluster_sheet, "name"))
        return rc;
    cli_print_section(c, "nodes", value_get(v, "nodes"), cluster_nodes);
    cli_print_section(c, "left half-way", value_get(v, "left"), cluster_left);
    cli_print_section(c, "links", value_get(v, "links"), cluster_links);
    cli_print_document(c, "configuration", value_get(v, "config"));
    return 0;
}

/* --- how long it is lent --- */

static int duration_check(const char *text, struct err *e)
{
    uint64_t ms;
    struct err own;
    if (!strcmp(text, "forever") || text_duration_ms(str_of(text), &ms, &own) == 0)
        return 0;
    return err_set(e, ERR_INVALID, "DURATION is such as 12h or 7d, or forever, not \"%.64s\"",
                   text);
}

int cmd_cluster_lease(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/clusters/%s", name);
    struct value *body = value_map(&c->mem);
    const struct value *current, *v;
    int rc = duration_check(cli_arg(c, 1), e);
    value_put_text(&c->mem, body, "expires_in", cli_arg(c, 1));
    if (rc || (rc = cli_get(c, path, &current, e)) ||
        (rc = cli_send_rev(c, "PATCH", path, current, body,
                           arena_printf(&c->mem, "cluster %s", name),
                           arena_printf(&c->mem, "cluster show %s", name), &v, e)))
        return rc;
    const char *until = value_as_text(value_get(v, "expires_at"), NULL);
    if (until)
        cli_done(c, v, "name", "cluster %s is lent until %.10s %.8s UTC", name, until,
                 strlen(until) > 11 ? until + 11 : "");
    else
        cli_done(c, v, "name", "cluster %s is lent for ever", name);
    return 0;
}

/* --- what differs --- */

/* Was it ever wanted? */
static bool is_revision(const struct value *snapshot)
{
    const char *state = value_as_text(value_get(snapshot, "state"), "");
    return !strcmp(state, "committed") || !strcmp(state, "archived");
}

/* The revision before this one, which is head or a number; itself if it is the first. */
static int revision_before(struct cli *c, const char *to, const char **ret, struct err *e)
{
    const struct value *v;
    uint64_t number = UINT64_MAX; /* of head: below all that is proposed, above the rest */
    bool head = !strcmp(to, "head");
    int rc = head ? 0 : text_u64(str_of(to), UINT32_MAX, &number, e);
    if (rc)
        return err_wrap(e, "--to");
    rc = cli_get_list(c, &c->mem, http_path(&c->mem, "/v1/deployments/%s/snapshots", cli_arg(c, 0)),
                      UINT32_MAX, &v, e);
    if (rc)
        return rc;
    *ret = to;
    const struct value *items = value_get(v, "items");
    for (uint32_t i = 0; i < items->n; i++) { /* the newest first */
        const struct value *one = &items->items[i];
        uint64_t n = (uint64_t)value_as_int(value_get(one, "number"), 0);
        if (head && !strcmp(value_as_text(value_get(one, "state"), ""), "committed")) {
            number = n;
            head = false;
        } else if (!head && n < number && is_revision(one)) {
            *ret = arena_printf(&c->mem, "%llu", (unsigned long long)n);
            break;
        }
    }
    return 0;
}

int cmd_cluster_diff(struct cli *c, struct err *e)
{
    const char *from = cli_option(c, "from"), *to = cli_option(c, "to");
    if (!to)
        to = "head";
    int rc = from ? 0 : revision_before(c, to, &from, e);
    return rc ? rc : diff_show(c, from, to, e);
}
