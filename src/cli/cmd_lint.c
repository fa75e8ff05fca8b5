/* cmd_lint.c - a catalog checked by the same code that the server loads it with, without a server
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include "base/json.h"
#include "base/text.h"
#include "catalog/catalog.h"
#include "catalog/taskgraph.h"
#include "cli/table_i.h"

static const char *const severities[] = {
    [CATALOG_ERROR] = "error", [CATALOG_WARNING] = "warning", [CATALOG_NOTE] = "note"};

void cli_draw_report(struct cli *c, const struct catalog_report *r)
{
    SCOPED_BUF(b);
    struct look look = cli_look(c, false);
    look.columns = 0; /* an error is read whole */
    struct pen pen = {.b = &b, .look = &look};
    for (size_t i = 0; i < r->entries.n; i++)
        cli_put_finding(&pen, severities[r->entries.at[i].severity], &r->entries.at[i].err);
    uint32_t hidden = r->n_errors - r->n_kept_errors + r->n_warnings - r->n_kept_warnings;
    if (hidden) {
        pen_put(&pen, STYLE_DIM, "%u more not shown", hidden);
        pen_end(&pen);
    }
    cli_put(c, &b);
}

static const struct value *entry_value(struct cli *c, const struct catalog_entry *entry)
{
    const struct err *e = &entry->err;
    struct value *v = value_map(&c->mem);
    value_put_text(&c->mem, v, "severity", severities[entry->severity]);
    value_put_text(&c->mem, v, "code", err_name(e->code));
    value_put_text(&c->mem, v, "at", e->at);
    value_put_text(&c->mem, v, "text", e->text);
    if (*e->line)
        value_put_text(&c->mem, v, "line", e->line);
    if (*e->hint)
        value_put_text(&c->mem, v, "hint", e->hint);
    return v;
}

struct value *cli_report_value(struct cli *c, const struct catalog_report *r)
{
    struct value *v = value_map(&c->mem), *items = value_list(&c->mem);
    for (size_t i = 0; i < r->entries.n; i++)
        value_add(&c->mem, items, entry_value(c, &r->entries.at[i]));
    value_set(&c->mem, v, "items", items);
    value_put_int(&c->mem, v, "errors", r->n_errors);
    value_put_int(&c->mem, v, "warnings", r->n_warnings);
    return v;
}

static void verdict_say(struct cli *c, const struct catalog_report *r, const struct catalog *cat)
{
    if (r->n_errors || r->n_warnings)
        cli_say(c, "%s, %s", text_count(r->n_errors, "error").s,
                text_count(r->n_warnings, "warning").s);
    if (!cat)
        return;
    cli_say(c, "%s: %s, %s, %s", cli_arg(c, 0), text_count(cat->n_barclamps, "barclamp").s,
            text_count(catalog_roles_written(cat), "role").s,
            text_count(catalog_tasks_written(cat), "task").s);
    if (cat->n_hardware + cat->n_images + cat->n_providers + cat->n_templates)
        cli_say(c, "for clusters: %s, %s, %s, %s", text_count(cat->n_templates, "template").s,
                text_count(cat->n_providers, "provider").s,
                text_count(cat->n_hardware, "hardware type").s,
                text_count(cat->n_images, "image").s);
    for (uint32_t i = 0; i < cat->n_graphs; i++) {
        const struct catalog_graph *g = &cat->graphs[i];
        cli_say(c, "graph %s: %s, %s, %s", g->name.s,
                text_count(catalog_graph_count(g, VERTEX_STAGE), "stage").s,
                text_count(catalog_graph_count(g, VERTEX_GROUP), "group").s,
                text_count(catalog_graph_count(g, VERTEX_TASK), "task").s);
    }
}

int cmd_lint(struct cli *c, struct err *e)
{
    struct value *files;
    int rc = cli_read_tree(&c->mem, cli_arg(c, 0), &files, e);
    if (rc)
        return rc;
    struct catalog_source source = cli_tree_source(&c->mem, files);
    struct catalog_report report = {0};
    SCOPED(catalog) *cat = NULL;
    struct err first;
    rc = catalog_load(&source, NULL, 1, &report, &cat, &first);
    if (rc && !report.entries.n) { /* a limit that has no place in a file */
        *e = first;
        return rc;
    }
    if (!cli_print_data(c, cli_report_value(c, &report), "at")) {
        cli_draw_report(c, &report);
        verdict_say(c, &report, cat);
    }
    if (rc || (cli_has(c, "strict") && report.n_warnings))
        c->exit = err_exit(ERR_INVALID);
    catalog_report_done(&report);
    return 0;
}
