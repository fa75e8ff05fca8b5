/* cmd_catalog.c - the catalog and what is in it: barclamps, roles, jigs; and pools */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/table_i.h"

static const struct field catalog_sheet[] = {
    {"generation", "generation", SHOW_TEXT, 0}, {"origin", "origin", SHOW_TEXT, 0},
    {"loaded", "loaded_at", SHOW_TIME, 0},      {"barclamps", "barclamps", SHOW_TEXT, 0},
    {"roles", "roles", SHOW_TEXT, 0},           {"tasks", "tasks", SHOW_TEXT, 0},
    {"digest", "digest", SHOW_TEXT, 0},         {0},
};
static const struct field generation_columns[] = {
    {"GENERATION", "generation", SHOW_TEXT, COLUMN_RIGHT},
    {"LOADED", "loaded_at", SHOW_AGE, COLUMN_RIGHT},
    {"ORIGIN", "origin", SHOW_TEXT, COLUMN_SHRINK},
    {"DIGEST", "digest", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field barclamp_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"VERSION", "version", SHOW_TEXT, 0},
    {"ROLES", "roles", SHOW_LIST, COLUMN_SHRINK},
    {"DESCRIPTION", "description", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field role_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"BARCLAMP", "barclamp", SHOW_TEXT, 0},
    {"JIG", "jig", SHOW_TEXT, 0},
    {"FLAGS", "flags", SHOW_LIST, COLUMN_SHRINK},
    {"REQUIRES", "requires", SHOW_LIST, COLUMN_SHRINK},
    {"PROVIDES", "provides", SHOW_LIST, COLUMN_WIDE | COLUMN_SHRINK},
    {"DESCRIPTION", "description", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field role_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"description", "description", SHOW_TEXT, 0},
    {"barclamp", "barclamp", SHOW_TEXT, 0},
    {"jig", "jig", SHOW_TEXT, 0},
    {"flags", "flags", SHOW_LIST, 0},
    {"requires", "requires", SHOW_LIST, 0},
    {"enough", "enough", SHOW_MAP, 0},
    {"uses", "uses", SHOW_LIST, 0},
    {"provides", "provides", SHOW_LIST, 0},
    {"conflicts", "conflicts", SHOW_LIST, 0},
    {"strategy", "strategy", SHOW_MAP, 0},
    {"re-runs", "rerun", SHOW_TEXT, 0},
    {0},
};
static const struct field jig_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"ACTIVE", "active", SHOW_GOOD, 0},
    {"IMPLEMENTATION", "implementation", SHOW_TEXT, 0},
    {"IMPLEMENTOR", "implementor", SHOW_TEXT, 0},
    {"REACHES", "reach", SHOW_TEXT, 0},
    {"WORKERS", "workers", SHOW_TEXT, COLUMN_RIGHT},
    {"RUNNING", "running", SHOW_TEXT, COLUMN_RIGHT},
    {"WAITING", "waiting", SHOW_TEXT, COLUMN_RIGHT},
    {0},
};
static const struct field jig_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"active", "active", SHOW_TEXT, 0},
    {"implementation", "implementation", SHOW_TEXT, 0},
    {"implementor", "implementor", SHOW_TEXT, 0},
    {"reaches", "reach", SHOW_TEXT, 0},
    {"workers", "workers", SHOW_TEXT, 0},
    {"running", "running", SHOW_TEXT, 0},
    {"waiting", "waiting", SHOW_TEXT, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};
static const struct field pool_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"SIZE", "size", SHOW_TEXT, COLUMN_RIGHT},
    {"TAKEN", "taken", SHOW_TEXT, COLUMN_RIGHT},
    {"ELSEWHERE", "elsewhere", SHOW_TEXT, COLUMN_RIGHT},
    {"WAITING", "waiting", SHOW_TEXT, COLUMN_RIGHT},
    {"CLOSED", "closed", SHOW_ODD, 0},
    {"NOTE", "note", SHOW_TEXT, COLUMN_SHRINK},
    {0},
};
static const struct field pool_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"size", "size", SHOW_TEXT, 0},
    {"taken", "taken", SHOW_TEXT, 0},
    {"elsewhere", "elsewhere", SHOW_TEXT, 0},
    {"waiting", "waiting", SHOW_TEXT, 0},
    {"closed", "closed", SHOW_TEXT, 0},
    {"note", "note", SHOW_TEXT, 0},
    {"revision", "rev", SHOW_TEXT, 0},
    {0},
};

/* GET of one object by its name, as a sheet. */
static int show_one(struct cli *c, const char *path, const struct field *sheet,
                    const char *name_path, const struct value **ret_v, struct err *e)
{
    int rc = cli_get(c, path, ret_v, e);
    if (rc)
        return rc;
    return cli_print_sheet(c, *ret_v, sheet, name_path) ? 1 : 0;
}

int cmd_catalog_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = show_one(c, "/v1/catalog", catalog_sheet, "generation", &v, e);
    return rc < 0 ? rc : 0;
}

int cmd_catalog_history(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/catalog/generations", NULL, generation_columns, "generation",
                    "generations", e);
}

static void origin_put(struct cli *c, const char *dir, struct value *body)
{
    const char *given = cli_option(c, "origin");
    char *path = given ? NULL : realpath(dir, NULL);
    value_put_text(&c->mem, body, "origin", given ? given : path ? path : dir);
    free(path);
}

void cli_findings_show(struct cli *c, const struct value *report)
{
    SCOPED_BUF(b);
    const struct look look = {.color = c->color_err, .utf8 = c->utf8};
    struct pen pen = {.b = &b, .look = &look};
    for (uint32_t i = 0; value_is(report, VALUE_LIST) && i < report->n; i++) {
        const struct value *f = &report->items[i];
        struct str line = value_as_str(value_get(f, "line"));
        struct err found;
        err_set(&found, ERR_INVALID, "%s", value_as_text(value_get(f, "text"), ""));
        err_at(&found, "%s", value_as_text(value_get(f, "at"), ""));
        err_hint(&found, "%s", value_as_text(value_get(f, "hint"), ""));
        err_line(&found, line.s, line.n);
        cli_put_finding(&pen, value_as_text(value_get(f, "severity"), "?"), &found);
    }
    (void)fwrite(buf_str(&b).s, 1, b.len, c->env->err);
}

int cmd_catalog_load(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem), *files;
    const struct value *v;
    int rc = cli_read_tree(&c->mem, cli_arg(c, 0), &files, e);
    if (rc)
        return rc;
    origin_put(c, cli_arg(c, 0), body);
    value_set(&c->mem, body, "files", files);
    if (cli_has(c, "dry-run"))
        value_put_bool(&c->mem, body, "dry_run", true);
    if ((rc = cli_send(c, "POST", "/v1/catalog", body, &v, e)))
        return rc;
    if (c->format == OUT_TABLE && !c->quiet)
        cli_findings_show(c, value_get(v, "report"));
    uint64_t roles = (uint64_t)value_as_int(value_get(v, "roles"), 0);
    uint64_t tasks = (uint64_t)value_as_int(value_get(v, "tasks"), 0);
    if (cli_has(c, "dry-run"))
        cli_done(c, v, "generation", "the catalog is sound: %s, %s; nothing was loaded",
                 text_count(roles, "role").s, text_count(tasks, "task").s);
    else
        cli_done(c, v, "generation", "catalog generation %" PRId64 " loaded: %s, %s",
                 value_as_int(value_get(v, "generation"), 0), text_count(roles, "role").s,
                 text_count(tasks, "task").s);
    return 0;
}

/* Nothing is written before all of it was read and the directory was seen to be free. */
int cmd_catalog_export(struct cli *c, struct err *e)
{
    const char *dir = cli_arg(c, 0);
    const struct value *v;
    SCOPED_BUF(path);
    buf_puts(&path, "/v1/catalog/files");
    http_query(&path, "deployment", cli_option(c, "deployment"));
    int rc = cli_dir_vacant(dir, e);
    if (rc || (rc = cli_get(c, path.data, &v, e)))
        return rc;
    const struct value *files = value_get(v, "files"), *overlays = value_get(v, "overlays");
    for (uint32_t i = 0; !rc && value_is(files, VALUE_MAP) && i < files->n; i++)
        rc = cli_write_file(&c->mem, dir,
                            (struct str){files->members[i].key, files->members[i].key_n},
                            value_as_str(&files->members[i].v), e);
    if (rc)
        return rc;
    struct value *told = value_map(&c->mem);
    value_set(&c->mem, told, "generation", value_get(v, "generation"));
    value_set(&c->mem, told, "deployment", value_get(v, "deployment"));
    value_set(&c->mem, told, "overlays", overlays);
    value_put_int(&c->mem, told, "files_written", files ? files->n : 0);
    cli_done(c, told, "generation", "catalog generation %" PRId64 " written to %s: %s, %s",
             value_as_int(value_get(v, "generation"), 0), dir,
             text_count(files ? files->n : 0, "file").s,
             text_count(overlays ? overlays->n : 0, "overlay").s);
    return 0;
}

int cmd_barclamp_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/barclamps", NULL, barclamp_columns, "name", "barclamps", e);
}

int cmd_role_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/roles", NULL, role_columns, "name", "roles", e);
}

int cmd_role_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = show_one(c, http_path(&c->mem, "/v1/roles/%s", cli_arg(c, 0)), role_sheet, "name", &v,
                      e);
    if (rc <= 0)
        return rc;
    cli_print_document(c, "attributes", value_get(v, "attributes"));
    cli_print_document(c, "actions", value_get(v, "actions"));
    return 0;
}

int cmd_role_rerun(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v = NULL;
    const char *role = cli_arg(c, 0), *s;
    if ((s = cli_option(c, "deployment")))
        value_put_text(&c->mem, body, "deployment", s);
    if ((s = cli_option(c, "nodes")))
        value_put_text(&c->mem, body, "nodes", s);
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/roles/%s/rerun", role), body, &v, e);
    return rc ? rc : cli_outcome(c, v, "id", arena_printf(&c->mem, "role %s runs again", role), e);
}

int cmd_role_store(struct cli *c, struct err *e)
{
    static const struct field store_sheet[] = {
        {"role", "role", SHOW_TEXT, 0}, {"revision", "rev", SHOW_TEXT, 0}, {0}};
    const struct value *v;
    int rc = show_one(c, http_path(&c->mem, "/v1/roles/%s/store", cli_arg(c, 0)), store_sheet,
                      "role", &v, e);
    if (rc <= 0)
        return rc;
    cli_print_document(c, "store", value_get(v, "store"));
    return 0;
}

int cmd_jig_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/jigs", NULL, jig_columns, "name", "jigs", e);
}

int cmd_jig_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = show_one(c, http_path(&c->mem, "/v1/jigs/%s", cli_arg(c, 0)), jig_sheet, "name", &v,
                      e);
    return rc < 0 ? rc : 0;
}

static int jig_switch(struct cli *c, bool active, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/jigs/%s", name);
    struct value *body = value_map(&c->mem);
    const struct value *current, *v;
    value_put_bool(&c->mem, body, "active", active);
    int rc = cli_get(c, path, &current, e);
    if (!rc)
        rc = cli_send_rev(c, "PATCH", path, current, body, arena_printf(&c->mem, "jig %s", name),
                          arena_printf(&c->mem, "jig show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name",
                 active ? "jig %s is active" : "jig %s is not active; its tasks are held", name);
    return rc;
}

int cmd_jig_enable(struct cli *c, struct err *e)
{
    return jig_switch(c, true, e);
}

int cmd_jig_disable(struct cli *c, struct err *e)
{
    return jig_switch(c, false, e);
}

int cmd_pool_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/pools", NULL, pool_columns, "name", "pools", e);
}

int cmd_pool_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = show_one(c, http_path(&c->mem, "/v1/pools/%s", cli_arg(c, 0)), pool_sheet, "name", &v,
                      e);
    return rc < 0 ? rc : 0;
}

static int pool_body(struct cli *c, struct value *body, struct err *e)
{
    if (cli_has(c, "close") && cli_has(c, "open"))
        return err_set(e, ERR_INVALID, "--close and --open contradict each other");
    if (cli_has(c, "size"))
        value_put_int(&c->mem, body, "size", (int64_t)cli_number(c, "size", 0));
    if (cli_has(c, "elsewhere"))
        value_put_int(&c->mem, body, "elsewhere", (int64_t)cli_number(c, "elsewhere", 0));
    if (cli_has(c, "close") || cli_has(c, "open"))
        value_put_bool(&c->mem, body, "closed", cli_has(c, "close"));
    if (cli_has(c, "note"))
        value_put_text(&c->mem, body, "note", cli_option(c, "note"));
    if (!body->n)
        return err_set(e, ERR_INVALID, "nothing to change: name at least one option");
    return 0;
}

int cmd_pool_set(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/pools/%s", name);
    struct value *body = value_map(&c->mem);
    const struct value *current = NULL, *v;
    int rc = pool_body(c, body, e);
    if (rc)
        return rc;
    rc = cli_get(c, path, &current, e);
    if (rc && rc != -ERR_NOT_FOUND) /* a pool that is not there is made */
        return rc;
    rc = cli_send_rev(c, "PUT", path, current, body, arena_printf(&c->mem, "pool %s", name),
                      arena_printf(&c->mem, "pool show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", current ? "pool %s changed" : "pool %s made", name);
    return rc;
}
