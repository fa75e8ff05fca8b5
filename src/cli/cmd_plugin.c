/* cmd_plugin.c - plugins that the server knows, and one in a directory put to the test */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "cli/kit_i.h"
#include "cli/table_i.h"

static const struct field plugin_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"TYPE", "type", SHOW_TEXT, 0},
    {"VERSION", "version", SHOW_TEXT, 0},
    {"SERVES", "served", SHOW_LIST, 0},
    {"WORKERS", "holders", SHOW_LIST, 0},
    {"DESCRIPTION", "about", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field plugin_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"type", "type", SHOW_TEXT, 0},
    {"version", "version", SHOW_TEXT, 0},
    {"description", "description", SHOW_TEXT, 0},
    {"directory", "directory", SHOW_TEXT, 0},
    {"dry run", "dry_run", SHOW_TEXT, 0},
    {0},
};
static const struct field action_columns[] = {
    {"ACTION", "name", SHOW_TEXT, 0},
    {"REPEAT", "repeat", SHOW_TEXT, 0},
    {"PROBE", "probe", SHOW_TEXT, 0},
    {"TIMEOUT", "timeout_ms", SHOW_MS, COLUMN_RIGHT},
    {0},
};
static const struct field resource_columns[] = {
    {"KIND", "kind", SHOW_TEXT, 0},
    {"FORMAT", "format", SHOW_TEXT, 0},
    {"PERMISSIONS", "permissions", SHOW_TEXT, 0},
    {0},
};
static const struct field holder_columns[] = {
    {"WORKER", "name", SHOW_TEXT, 0},
    {"VERSION", "version", SHOW_TEXT, 0},
    {0},
};
static const struct field field_columns[] = {
    {"FIELD", "name", SHOW_TEXT, 0},
    {"BY", "by", SHOW_TEXT, 0},
    {"TYPE", "type", SHOW_TEXT, 0},
    {"SENSITIVE", "sensitive", SHOW_TEXT, 0},
    {"DEFAULT", "default", SHOW_TEXT, 0},
    {"LABEL", "label", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};

/* A worker by its name, with the version that it has if that is another. */
static struct value *holder_text(struct cli *c, const struct value *plugin, const struct value *w)
{
    const char *name = value_as_text(value_get(w, "name"), "");
    const char *has = value_as_text(value_get(w, "version"), "");
    if (!strcmp(has, value_as_text(value_get(plugin, "version"), has)))
        return value_text(&c->mem, name);
    return value_text(&c->mem, arena_printf(&c->mem, "%s(%s)", name, has));
}

/* For the list: names of the types, and of one that cannot be used, why. */
static const struct value *with_columns(struct cli *c, const struct value *v)
{
    struct value *shown = value_map(&c->mem), *names = value_list(&c->mem);
    struct value *holders = value_list(&c->mem);
    const struct value *types = value_get(v, "serves"), *fault = value_get(v, "fault");
    const struct value *workers = value_get(v, "workers");
    for (uint32_t i = 0; i < v->n; i++)
        value_set(&c->mem, shown, v->members[i].key, &v->members[i].v);
    for (uint32_t i = 0; value_is(types, VALUE_LIST) && i < types->n; i++)
        value_add(&c->mem, names, value_get(&types->items[i], "name"));
    value_set(&c->mem, shown, "served", names);
    for (uint32_t i = 0; value_is(workers, VALUE_LIST) && i < workers->n; i++)
        value_add(&c->mem, holders, holder_text(c, v, &workers->items[i]));
    value_set(&c->mem, shown, "holders", holders);
    value_put_text(&c->mem, shown, "about",
                   value_is(fault, VALUE_STRING)
                       ? arena_printf(&c->mem, "cannot be used: %s", fault->s)
                       : value_as_text(value_get(v, "description"), ""));
    return shown;
}

int cmd_plugin_list(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get_list(c, &c->mem, "/v1/plugins", cli_limit(c), &v, e);
    if (rc || cli_print_data(c, v, "name"))
        return rc;
    const struct value *items = value_get(v, "items");
    struct value *shown = value_map(&c->mem), *list = value_list(&c->mem);
    for (uint32_t i = 0; i < items->n; i++)
        value_add(&c->mem, list, with_columns(c, &items->items[i]));
    value_set(&c->mem, shown, "items", list);
    cli_print_list(c, shown, plugin_columns, "name", "plugins");
    return 0;
}

int cmd_plugin_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/plugins/%s", cli_arg(c, 0)), &v, e);
    if (rc || !cli_print_sheet(c, v, plugin_sheet, "name"))
        return rc;
    const struct value *types = value_get(v, "serves");
    cli_print_section(c, "actions", value_get(v, "actions"), action_columns);
    for (uint32_t i = 0; value_is(types, VALUE_LIST) && i < types->n; i++) {
        const char *name = value_as_text(value_get(&types->items[i], "name"), "");
        cli_print_section(c, arena_printf(&c->mem, "fields of %s", name),
                          value_get(&types->items[i], "fields"), field_columns);
        cli_print_section(c, arena_printf(&c->mem, "resources of %s", name),
                          value_get(&types->items[i], "resources"), resource_columns);
    }
    cli_print_section(c, "workers", value_get(v, "workers"), holder_columns);
    return 0;
}

/* --- check --- */

static void check_draw(struct cli *c, const struct kit *k)
{
    static const char *const words[] = {
        [KIT_PASS] = "pass", [KIT_FAIL] = "FAIL", [KIT_SKIP] = "skip"};
    static const enum style styles[] = {
        [KIT_PASS] = STYLE_GOOD, [KIT_FAIL] = STYLE_BAD, [KIT_SKIP] = STYLE_DIM};
    struct look look = cli_look(c, false);
    struct table t;
    SCOPED_BUF(b);
    look.columns = 0; /* why is read whole */
    table_init(&t, &c->mem);
    table_column(&t, "RESULT", 0);
    table_column(&t, "CHECK", 0);
    table_column(&t, "WHY", 0);
    for (size_t i = 0; i < k->points.n; i++) {
        const struct kit_point *p = &k->points.at[i];
        table_cell(&t, styles[p->mark], words[p->mark]);
        table_cell(&t, STYLE_PLAIN, p->what);
        table_cell(&t, STYLE_PLAIN, p->why);
    }
    table_draw(&t, &look, &b);
    cli_put(c, &b);
    table_done(&t);
}

static struct value *check_value(struct cli *c, const struct kit *k)
{
    static const char *const words[] = {
        [KIT_PASS] = "pass", [KIT_FAIL] = "fail", [KIT_SKIP] = "skip"};
    struct value *v = value_map(&c->mem), *items = value_list(&c->mem);
    for (size_t i = 0; i < k->points.n; i++) {
        struct value *item = value_map(&c->mem);
        value_put_text(&c->mem, item, "result", words[k->points.at[i].mark]);
        value_put_text(&c->mem, item, "check", k->points.at[i].what);
        value_put_text(&c->mem, item, "why", k->points.at[i].why);
        value_add(&c->mem, items, item);
    }
    value_set(&c->mem, v, "items", items);
    value_put_int(&c->mem, v, "failed", (int64_t)k->failed);
    return v;
}

int cmd_plugin_check(struct cli *c, struct err *e)
{
    struct kit k;
    int rc = kit_run(&k, &c->mem, cli_arg(c, 0), e);
    if (!rc && !cli_print_data(c, check_value(c, &k), "check"))
        check_draw(c, &k);
    if (!rc && k.failed) {
        rc = err_set(e, ERR_FAILED, "%zu of %zu checks failed", k.failed, k.points.n);
        err_hint(e, "the protocol is described in docs/plugins.md");
    }
    kit_done(&k);
    return rc;
}
