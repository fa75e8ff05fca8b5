/* cli_layout.c - options of verbs about layouts as a request, and its answer shown
 *
 * Everything comes from files: the catalog from a directory, nodes that exist from a layout as
 * `anneal solve -o json` wrote it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli_layout_i.h"
#include "cli/table_i.h"

/* --- options --- */

int cli_names_split(struct cli *c, const char *what, const char *text, struct catalog_names *ret,
                    struct err *e)
{
    struct str *names = arena_new(&c->mem, struct str, strlen(text) + 1);
    uint32_t n = 0;
    for (const char *at = text;; at++) {
        struct str name = {at, strcspn(at, ",")};
        if (!name.n)
            return err_set(e, ERR_INVALID, "%s %s: names with commas between, and no blanks", what,
                           text);
        names[n++] = (struct str){arena_strndup(&c->mem, name.s, name.n), name.n};
        at += name.n;
        if (!*at)
            break;
    }
    *ret = (struct catalog_names){names, n};
    return 0;
}

int cli_names(struct cli *c, const char *option, struct catalog_names *ret, struct err *e)
{
    const char *all = cli_option_at(c, option, 0);
    for (size_t i = 1; cli_option_at(c, option, i); i++)
        all = arena_printf(&c->mem, "%s,%s", all, cli_option_at(c, option, i));
    *ret = (struct catalog_names){0};
    return all ? cli_names_split(c, arena_printf(&c->mem, "--%s", option), all, ret, e) : 0;
}

static int size_wrong(const char *text, struct err *e)
{
    err_set(e, ERR_INVALID, "--nodes %s is no number of nodes", text);
    (void)err_hint(e, "`--nodes 5`, or `--nodes 3-7` for 3 to 7, %d at most", SOLVER_MAX_NODES);
    return -ERR_INVALID;
}

int cli_size_read(struct cli *c, uint32_t *ret_min, uint32_t *ret_max, struct err *e)
{
    const char *text = cli_option(c, "nodes"), *dash = text ? strchr(text, '-') : NULL;
    uint64_t lo, hi;
    struct err own;
    if (!text)
        return 0;
    struct str from = {text, dash ? (size_t)(dash - text) : strlen(text)};
    if (text_u64(from, SOLVER_MAX_NODES, &lo, &own) < 0 ||
        text_u64(dash ? str_of(dash + 1) : from, SOLVER_MAX_NODES, &hi, &own) < 0 || lo > hi)
        return size_wrong(text, e);
    *ret_min = (uint32_t)lo;
    *ret_max = (uint32_t)hi;
    return 1;
}

static int existing_read(struct cli_layout *l, struct err *e)
{
    const char *file = cli_option(l->c, "existing");
    const struct value *v;
    if (!file)
        return 0;
    int rc = cli_read_value(l->c, file, &v, e);
    if (rc < 0)
        return rc;
    if ((rc = layout_nodes_read(&l->c->mem, v, &l->nodes, &l->n_nodes, e)) < 0)
        return err_wrap(e, "%s", file);
    for (uint32_t i = 0; i < l->n_nodes; i++)
        l->n_all += l->nodes[i].count;
    l->given = true;
    return 0;
}

int cli_layout_read(struct cli *c, struct cli_layout *ret, struct err *e)
{
    const char *name = cli_option(c, "template"), *provider = cli_option(c, "provider");
    *ret = (struct cli_layout){.c = c};
    if (!name) {
        err_set(e, ERR_INVALID, "which template is said with --template NAME");
        return err_hint(e, "`anneal solve CATALOG --template NAME --nodes N`");
    }
    int rc = cli_size_read(c, &ret->nodes_min, &ret->nodes_max, e);
    ret->sized = rc > 0;
    if (rc < 0 || (rc = existing_read(ret, e)) < 0 ||
        (rc = cli_catalog_read(c, &ret->catalog, e)) < 0)
        return rc;
    rc = catalog_template_resolve(ret->catalog, str_of(name), &c->mem, &ret->template, e);
    if (rc >= 0)
        ret->provider = catalog_provider_get(ret->catalog,
                                             provider ? str_of(provider) : ret->template->provider);
    return rc;
}

static struct str option_text(struct cli *c, const char *option)
{
    const char *text = cli_option(c, option);
    return str_of(text ? text : "");
}

struct layout_request cli_layout_request(struct cli_layout *l, const struct layout_node *existing,
                                         uint32_t n)
{
    struct layout_node *turned = arena_new(&l->c->mem, struct layout_node, n);
    for (uint32_t i = 0; i < n; i++)
        turned[i] = existing[n - 1 - i];
    return (struct layout_request){.catalog = l->catalog,
                                   .template = l->template,
                                   .nodes_min = l->nodes_min,
                                   .nodes_max = l->nodes_max,
                                   .provider = option_text(l->c, "provider"),
                                   .hardware = option_text(l->c, "hardware"),
                                   .image = option_text(l->c, "image"),
                                   .comparator = option_text(l->c, "comparator"),
                                   .existing = turned,
                                   .n_existing = n,
                                   .max_steps = cli_number(l->c, "steps", 0)};
}

int cli_layout_solve(struct cli_layout *l, const struct layout_request *req,
                     struct layout_answer *ret, struct err *e)
{
    const struct layout_answer *a;
    int rc = layout_solve(&l->c->mem, req, &a, e);
    if (rc < 0)
        return rc;
    *ret = *a;
    struct layout_kind *kinds = arena_new(&l->c->mem, struct layout_kind, a->n_kinds);
    uint32_t *gone = arena_new(&l->c->mem, uint32_t, a->n_existing);
    for (uint32_t i = 0; i < a->n_kinds; i++) {
        kinds[i] = a->kinds[i];
        if (kinds[i].existing != LAYOUT_NEW)
            kinds[i].existing = req->n_existing - 1 - kinds[i].existing;
    }
    for (uint32_t i = 0; i < a->n_existing; i++)
        gone[i] = a->given_up[a->n_existing - 1 - i];
    ret->kinds = kinds;
    ret->given_up = gone;
    for (uint32_t i = 0; i < a->n_warnings; i++)
        cli_warn(l->c, "warning: %s", a->warnings[i].s);
    return 0;
}

/* --- for people --- */

static const char *cost_text(struct arena *mem, int64_t cost)
{
    int64_t whole = cost / CATALOG_COST_UNIT, part = cost % CATALOG_COST_UNIT;
    char *text = arena_printf(mem, "%" PRId64 ".%06" PRId64, whole, part);
    for (size_t n = strlen(text); n && strchr(".0", text[n - 1]);) {
        bool point = text[--n] == '.';
        text[n] = '\0';
        if (point)
            break;
    }
    return text;
}

static bool any_has(const struct value *kinds, const char *key)
{
    for (uint32_t i = 0; i < kinds->n; i++)
        if (value_get(&kinds->items[i], key))
            return true;
    return false;
}

void cli_layout_table(struct cli *c, const struct value *kinds)
{
    static const struct field always[] = {{"COUNT", "count", SHOW_TEXT, COLUMN_RIGHT},
                                          {"SERVICES", "services", SHOW_LIST, COLUMN_SHRINK},
                                          {"HARDWARE", "hardware"},
                                          {"IMAGE", "image"}},
                              some[] = {{"COST", "cost", SHOW_TEXT, COLUMN_RIGHT},
                                        {"LABELS", "labels", SHOW_MAP, 0},
                                        {"NODES", "nodes"}};
    struct field fields[8] = {0};
    size_t n = 0;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        fields[n++] = always[i];
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (any_has(kinds, some[i].path))
            fields[n++] = some[i];
    struct value *v = value_map(&c->mem);
    value_set(&c->mem, v, "items", kinds);
    cli_print_list(c, v, fields, "hardware", "nodes");
}

static void table_show(struct cli_layout *l, const struct layout_answer *a)
{
    struct arena *mem = &l->c->mem;
    struct value *list = layout_kinds_value(mem, a->kinds, a->n_kinds);
    uint64_t nodes = 0, gone = 0;
    int64_t cost = 0;
    for (uint32_t i = 0; i < a->n_kinds; i++) {
        const struct layout_kind *k = &a->kinds[i];
        int64_t all = k->cost * k->count;
        value_put_text(mem, &list->items[i], "cost", cost_text(mem, all));
        if (a->n_existing)
            value_put_text(mem, &list->items[i], "nodes",
                           k->existing == LAYOUT_NEW ? "new" : "there");
        nodes += k->count;
        cost += all;
    }
    for (uint32_t i = 0; i < a->n_existing; i++)
        gone += a->given_up[i];
    cli_layout_table(l->c, list);
    const char *given = gone ? arena_printf(mem, ", %" PRIu64 " given up", gone) : "";
    cli_say(l->c, "%s%s, cost %s", text_count(nodes, "node").s, given, cost_text(mem, cost));
}

static void why_show(struct cli_layout *l, const struct value *v)
{
    static const struct field reasons[] = {{"RULE", "rule"}, {"WHY", "text"}, {"AT", "at"}, {0}};
    static const struct field remedies[] = {{"CHANGE", "text"}, {0}};
    const struct value *relaxation = value_get(v, "relaxation");
    struct value *list = value_map(&l->c->mem);
    value_set(&l->c->mem, list, "items", value_get(v, "conflict"));
    cli_say(l->c, "there is no layout, for these cannot hold together:");
    cli_print_list(l->c, list, reasons, "rule", "rules");
    cli_print_section(l->c, relaxation->n > 1 ? "What would help: all of these" : "What would help",
                      relaxation, remedies);
}

static void limit_show(struct cli_layout *l, const struct layout_answer *a)
{
    if (a->has_layout)
        table_show(l, a);
    if (a->has_bound)
        cli_say(
            l->c, "no layout has a better %s than %s", a->bound.name.s,
            a->bound.unit == CATALOG_COST_UNIT
                ? cost_text(&l->c->mem, a->bound.value)
                : arena_printf(&l->c->mem, "%lld", (long long)(a->bound.value / a->bound.unit)));
    cli_warn(l->c, "the search was cut off after %" PRIu64 " steps; --steps allows more%s",
             a->steps, a->has_layout ? "" : "; no layout is known");
}

void cli_layout_show(struct cli_layout *l, const struct layout_answer *a)
{
    const struct value *v = layout_answer_value(&l->c->mem, a);
    if (a->status != SOLVER_SOLVED)
        l->c->exit = err_exit(a->status == SOLVER_LIMIT ? ERR_LIMIT : ERR_REFUSED);
    if (cli_print_data(l->c, v, "status"))
        return;
    if (a->status == SOLVER_SOLVED)
        table_show(l, a);
    else if (a->status == SOLVER_UNSATISFIABLE)
        why_show(l, v);
    else
        limit_show(l, a);
}
