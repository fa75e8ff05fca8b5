/* cmd_import.c - catalogs of other systems, written as one of ours, without a server
 *
 * The import itself is pure (catalog/import.h).  Here the source is read, the result loaded once to
 * see that it does, and written: whole files, each in one step.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/import.h"
#include "cli/table_i.h"
#include "sys/fs.h"

/* --- what goes in --- */

struct import_kind_of { /* what an importer looks at */
    bool (*wants)(struct str path);
    const char *what, *called;
};

static int source_file(struct cli *c, const char *path, const struct import_kind_of *kind,
                       struct catalog_source *ret, struct err *e)
{
    struct catalog_file *one = arena_new(&c->mem, struct catalog_file, 1);
    const char *name = strrchr(path, '/');
    SCOPED_BUF(b);
    int rc = fs_read(path, CATALOG_MAX_FILE_BYTES, &b, e);

    if (rc)
        return rc;
    if (!text_utf8_valid(buf_str(&b).s, b.len))
        return err_set(e, ERR_INVALID, "%s is not UTF-8 text", path);
    *one = (struct catalog_file){str_of(name ? name + 1 : path),
                                 {arena_strndup(&c->mem, buf_str(&b).s, b.len), b.len}};
    *ret = (struct catalog_source){one, 1};
    if (kind->wants(one->path))
        return 0;
    err_set(e, ERR_INVALID, "%s is no %s", path, kind->what);
    return err_hint(e, "%s", kind->called);
}

static int source_read(struct cli *c, const char *path, const struct import_kind_of *kind,
                       struct catalog_source *ret, struct err *e)
{
    struct value *files;
    if (!fs_is_dir(path))
        return source_file(c, path, kind, ret, e);
    int rc = cli_read_tree_of(&c->mem, path, kind->wants, &files, e);
    if (rc)
        return rc;
    *ret = cli_tree_source(&c->mem, files);
    return 0;
}

static int maps_read(struct cli *c, struct import_map **ret_maps, size_t *ret_n, struct err *e)
{
    size_t n = 0;
    while (cli_option_at(c, "map", n))
        n++;
    struct import_map *maps = arena_new(&c->mem, struct import_map, n);
    for (size_t i = 0; i < n; i++) {
        const char *text = cli_option_at(c, "map", i), *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return err_set(e, ERR_INVALID, "--map takes JIG=IMPLEMENTATION, not \"%s\"", text);
        maps[i] = (struct import_map){{text, (size_t)(equals - text)}, str_of(equals + 1)};
    }
    *ret_maps = maps;
    *ret_n = n;
    return 0;
}

/* --- what comes out --- */

static int target_check(struct cli *c, const char *dst, struct err *e)
{
    int rc = cli_has(c, "force") ? 0 : cli_dir_vacant(dst, e);
    if (rc == -ERR_EXISTS && fs_is_dir(dst))
        err_hint(e, "name a new directory, or write into this one with --force");
    return rc;
}

static int target_write(struct cli *c, const char *dst, const struct catalog_import *i,
                        struct err *e)
{
    int rc = 0;
    for (size_t k = 0; !rc && k < i->n_files; k++)
        rc = cli_write_file(&c->mem, dst, i->files[k].path, i->files[k].text, e);
    return rc;
}

static struct value *import_document(struct cli *c, const struct catalog_import *i,
                                     const struct catalog_report *report)
{
    struct arena *a = &c->mem;
    struct value *v = value_map(a), *counts = value_map(a), *items = value_list(a);
#define X(id) value_put_int(a, counts, #id, i->counts.id);
    IMPORT_COUNTS(X)
#undef X
    for (size_t k = 0; k < i->n_lines; k++) {
        const struct import_line *l = &i->lines[k];
        struct value *item = value_map(a);
        value_put_text(a, item, "kind", import_kind_name((enum import_kind)l->kind));
        value_set(a, item, "file", value_str(a, l->file));
        value_put_int(a, item, "line", l->line);
        value_put_text(a, item, "what", l->what);
        value_put_text(a, item, "why", l->why);
        value_add(a, items, item);
    }
    value_set(a, v, "items", items);
    value_set(a, v, "counts", counts);
    value_put_int(a, v, "files_written", (int64_t)i->n_files);
    value_set(a, v, "lint", cli_report_value(c, report));
    return v;
}

static int import_finish(struct cli *c, const struct catalog_import *i, struct err *e)
{
    struct catalog_report report = {0};
    SCOPED(catalog) *cat = NULL;
    struct err first;
    int rc = catalog_load(&(struct catalog_source){i->files, i->n_files}, NULL, 1, &report, &cat,
                          &first),
        written = target_write(c, cli_arg(c, 1), i, e);
    if (!written && !cli_print_data(c, import_document(c, i, &report), "file")) {
        SCOPED_BUF(b);
        catalog_import_write(&b, i);
        cli_put(c, &b);
        if (rc)
            cli_draw_report(c, &report);
        cli_say(c, "%s written to %s: %s, %s", text_count(i->n_files, "file").s, cli_arg(c, 1),
                text_count(report.n_errors, "error").s, text_count(report.n_warnings, "warning").s);
    }
    if (rc)
        c->exit = err_exit(ERR_INVALID);
    catalog_report_done(&report);
    return written;
}

int cmd_import_crowbar(struct cli *c, struct err *e)
{
    static const struct import_kind_of kind = {catalog_import_crowbar_wants, "barclamp's file",
                                               "its name ends in .yml or .yaml"};
    struct catalog_source source;
    struct import_map *maps = NULL;
    size_t n_maps = 0;
    SCOPED(catalog_import) *import = NULL;
    int rc = maps_read(c, &maps, &n_maps, e);

    if (rc || (rc = source_read(c, cli_arg(c, 0), &kind, &source, e)) ||
        (rc = target_check(c, cli_arg(c, 1), e)) ||
        (rc = catalog_import_crowbar(&source, maps, n_maps, &import, e)))
        return rc;
    return import_finish(c, import, e);
}

int cmd_import_fuel(struct cli *c, struct err *e)
{
    static const struct import_kind_of kind = {catalog_import_fuel_wants, "file of tasks",
                                               "its name is tasks.yaml, or ends in .tasks.yaml"};
    struct catalog_source source;
    SCOPED(catalog_import) *import = NULL;
    int rc = source_read(c, cli_arg(c, 0), &kind, &source, e);

    if (rc || (rc = target_check(c, cli_arg(c, 1), e)) ||
        (rc = catalog_import_fuel(&source, cli_has(c, "limit-circles"), &import, e)))
        return rc;
    return import_finish(c, import, e);
}

int cmd_import_coopr(struct cli *c, struct err *e)
{
    static const struct import_kind_of kind = {catalog_import_coopr_wants, "file of Coopr's",
                                               "its name ends in .json"};
    struct catalog_source source;
    SCOPED(catalog_import) *import = NULL;
    int rc = source_read(c, cli_arg(c, 0), &kind, &source, e);

    if (rc || (rc = target_check(c, cli_arg(c, 1), e)) ||
        (rc = catalog_import_coopr(&source, &import, e)))
        return rc;
    return import_finish(c, import, e);
}
