/* cmd_cluster_change.c - clusters made, changed and deleted
 *
 * Every verb is the same few steps: its options become a request, the server answers with a layout,
 * what changes and how large the plan is, and either that is shown (--dry-run) or it is done.  A
 * verb that destroys tries first, shows what will go and asks, if somebody is there to answer; what
 * was shown is what is done, or it is refused: the request carries the revision that was looked at.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "cli/cli_i.h"
#include "cli/cli_layout_i.h"

/* --- options to a request --- */

/* Is it an option of this verb, and given? */
static bool is_given(const struct cli *c, const char *option)
{
    return verbs_option(c->line.verb, option, strlen(option)) && cli_has(c, option);
}

static void fields_put(struct cli *c, struct value *body)
{
    static const char *const texts[] = {"template",   "provider", "hardware", "image",
                                        "comparator", "domain",   "lease",    "title"};
    static const struct {
        const char *option, *key;
    } numbers[] = {{"by", "by"}, {"to", "nodes"}, {"steps", "max_steps"}},
      flags[] = {{"restart", "restart"},
                 {"in-turn", "in_turn"},
                 {"queue", "queue"},
                 {"dry-run", "dry_run"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (is_given(c, texts[i]))
            value_put_text(&c->mem, body, texts[i], cli_option(c, texts[i]));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (is_given(c, numbers[i].option))
            value_put_int(&c->mem, body, numbers[i].key,
                          (int64_t)cli_number(c, numbers[i].option, 0));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (is_given(c, flags[i].option))
            value_put_bool(&c->mem, body, flags[i].key, true);
    if (cli_word(c, "class"))
        value_put_text(&c->mem, body, "class", cli_word(c, "class"));
}

static void services_put(struct cli *c, struct value *body, struct catalog_names names)
{
    struct value *list = value_list(&c->mem);
    for (uint32_t i = 0; i < names.n; i++)
        value_add(&c->mem, list, value_str(&c->mem, names.at[i]));
    if (list->n)
        value_set(&c->mem, body, "services", list);
}

/* A file, and single keys laid over it. */
static int config_put(struct cli *c, struct value *body, struct err *e)
{
    const char *file = cli_option(c, "config"), *text;
    const struct value *config = NULL, *patch;
    int rc = file ? cli_read_data(c, file, &config, e) : 0;
    for (size_t i = 0; !rc && (text = cli_option_at(c, "set", i)); i++)
        if (!(rc = cli_assignment(c, text, &patch, e)))
            config = config ? value_merge(&c->mem, config, patch) : patch;
    if (rc)
        return rc;
    if (config)
        value_set(&c->mem, body, "config", config);
    if (!cli_has(c, "replace-config"))
        return 0;
    if (!config) {
        err_set(e, ERR_INVALID, "--replace-config, and nothing to replace it with");
        return err_hint(e, "--config FILE and --set PATH=VALUE say what there shall be");
    }
    value_put_bool(&c->mem, body, "merge", false);
    return 0;
}

/* What waits has no operation yet that could be followed, and what is tried waits for nothing. */
static int queue_check(struct cli *c, struct err *e)
{
    if (!is_given(c, "queue") || (!c->wait && !cli_has(c, "dry-run")))
        return 0;
    err_set(e, ERR_INVALID, "--queue does not go with %s", c->wait ? "--wait" : "--dry-run");
    return err_hint(e, c->wait ? "`anneal operation watch N` follows what is under way"
                               : "a dry run begins when nothing else is under way");
}

/* What verbs have in common; *ret_body is theirs to add to. */
static int body_make(struct cli *c, struct value **ret_body, struct err *e)
{
    struct value *body = value_map(&c->mem);
    struct catalog_names names;
    int rc = queue_check(c, e);
    if (rc)
        return rc;
    fields_put(c, body);
    if (is_given(c, "services")) {
        if ((rc = cli_names(c, "services", &names, e)) < 0)
            return rc;
        services_put(c, body, names);
    }
    if (verbs_option(c->line.verb, "config", strlen("config")))
        rc = config_put(c, body, e);
    if (!rc && verbs_option(c->line.verb, "field", strlen("field")))
        rc = cli_fields_put(c, body, "field", "field-file", e);
    *ret_body = body;
    return rc;
}

/* --- what it comes to --- */

static uint32_t list_count(const struct value *v, const char *key)
{
    const struct value *list = value_get(v, key);
    return value_is(list, VALUE_LIST) ? list->n : 0;
}

static void layout_say(struct cli *c, const struct value *layout)
{
    const struct value *cost = value_at(layout, "objective.cost");
    struct value *kinds = value_list(&c->mem);
    uint64_t nodes = 0;
    bool any = false; /* of nodes that were there */
    SCOPED_BUF(text);
    for (uint32_t i = 0; i < list_count(layout, "layout"); i++) {
        value_add(&c->mem, kinds, value_copy(&c->mem, &value_get(layout, "layout")->items[i]));
        nodes += (uint64_t)value_as_int(value_get(&kinds->items[i], "count"), 0);
        any |= value_get(&kinds->items[i], "existing") != NULL;
    }
    if (!kinds->n)
        return;
    for (uint32_t i = 0; any && i < kinds->n; i++)
        value_put_text(&c->mem, &kinds->items[i], "nodes",
                       value_get(&kinds->items[i], "existing") ? "there" : "new");
    cli_layout_table(c, kinds);
    buf_puts(&text, text_count(nodes, "node").s);
    if (cost) {
        buf_puts(&text, ", cost ");
        json_write(&text, cost, 0);
    }
    cli_say(c, "%s", text.data);
}

/* "  + web, metrics": nothing if there are none. */
static const char *names_joined(struct cli *c, const char *mark, const struct value *names)
{
    const char *all = "";
    for (uint32_t i = 0; value_is(names, VALUE_LIST) && i < names->n; i++)
        all = arena_printf(&c->mem, "%s%s%s", all, i ? ", " : "",
                           value_as_text(&names->items[i], ""));
    return *all ? arena_printf(&c->mem, "  %s %s", mark, all) : "";
}

/* Who is worse off than one that goes, and stays: that nobody expects, and it is always told. */
static void stays_say(struct cli *c, const struct value *difference)
{
    const struct value *stays = value_get(difference, "stays");
    for (uint32_t i = 0; i < list_count(difference, "stays"); i++) {
        const struct value *one = &stays->items[i];
        const char *why = value_as_text(value_get(one, "why"), "");
        cli_say(c, "  ! %s is %s and stays%s%s", value_as_text(value_get(one, "node"), ""),
                value_as_text(value_get(one, "is"), ""), *why ? ": " : "", why);
    }
}

static void difference_say(struct cli *c, const struct value *v)
{
    const struct value *gone = value_get(v, "given_up"), *changed = value_get(v, "changed");
    const struct value *finished = value_get(v, "finished"), *taken = value_get(v, "taken_up");
    uint32_t fresh = list_count(v, "new_nodes");
    if (fresh)
        cli_say(c, "  + %s", text_count(fresh, "new node").s);
    for (uint32_t i = 0; i < list_count(v, "given_up"); i++)
        cli_say(c, "  - %s", value_as_text(&gone->items[i], ""));
    stays_say(c, v);
    for (uint32_t i = 0; i < list_count(v, "changed"); i++) {
        const struct value *one = &changed->items[i];
        cli_say(c, "  ~ %s%s%s", value_as_text(value_get(one, "node"), ""),
                names_joined(c, "+", value_get(one, "added")),
                names_joined(c, "-", value_get(one, "removed")));
    }
    for (uint32_t i = 0; i < list_count(v, "finished"); i++)
        cli_say(c, "  ! %s%s", value_as_text(value_get(&finished->items[i], "node"), ""),
                names_joined(c, "finishes", value_get(&finished->items[i], "services")));
    for (uint32_t i = 0; i < list_count(v, "taken_up"); i++)
        cli_say(c, "  ! %s%s", value_as_text(value_get(&taken->items[i], "node"), ""),
                names_joined(c, "takes up", value_get(&taken->items[i], "services")));
    if (value_as_bool(value_get(v, "config"), false) && strcmp(c->line.verb->verb, "create") != 0)
        cli_say(c, "  ~ configuration");
}

static void result_say(struct cli *c, const struct value *v)
{
    if (c->format != OUT_TABLE)
        return;
    layout_say(c, value_get(v, "layout"));
    difference_say(c, value_get(v, "difference"));
}

/* "23 tasks in 9 stages, and 2 joins, about 4m": the progress of an operation counts joins as well;
 * how long it takes is told once such tasks have run before. */
static const char *plan_told(struct cli *c, const struct value *plan)
{
    uint64_t tasks = (uint64_t)value_as_int(value_get(plan, "tasks"), 0);
    uint64_t stages = (uint64_t)value_as_int(value_get(plan, "stages"), 0);
    uint64_t joins = (uint64_t)value_as_int(value_get(plan, "joins"), 0);
    const char *told = arena_printf(&c->mem, "%s in %s", text_count(tasks, "task").s,
                                    text_count(stages, "stage").s);
    const struct value *eta = value_get(plan, "eta_ms");
    char about[16];
    if (joins)
        told = arena_printf(&c->mem, "%s, and %s", told, text_count(joins, "join").s);
    if (!value_is(eta, VALUE_INT))
        return told;
    text_duration_show((uint64_t)value_as_int(eta, 0), about);
    return arena_printf(&c->mem, "%s, about %s", told, about);
}

static int result_show(struct cli *c, const struct value *v, struct err *e)
{
    const char *plan = plan_told(c, value_get(v, "plan")), *sentence;
    int64_t op = cli_operation_of(v);
    bool dry = cli_has(c, "dry-run");
    if (dry || c->verbose)
        result_say(c, v);
    else if (c->format == OUT_TABLE)
        stays_say(c, value_get(v, "difference"));
    if (dry)
        sentence = arena_printf(&c->mem, "dry run: %s; nothing was changed", plan);
    else if (op)
        sentence = arena_printf(&c->mem, "operation %" PRId64 ": %s", op, plan);
    else if (value_is(value_get(v, "plan"), VALUE_MAP))
        sentence = "nothing had to be done";
    else
        sentence = arena_printf(&c->mem, "it waits until operation %" PRId64 " has ended well",
                                value_as_int(value_at(v, "cluster.operation"), 0));
    return cli_outcome(c, v, "operation.id", sentence, e);
}

/* --- requests --- */

static const char *verb_path(struct cli *c)
{
    return http_path(&c->mem, "/v1/clusters/%s/%s", cli_arg(c, 0), c->line.verb->verb);
}

static int change(struct cli *c, const struct value *body, struct err *e)
{
    const struct value *v;
    int rc = cli_send(c, "POST", verb_path(c), body, &v, e);
    return rc ? rc : result_show(c, v, e);
}

/* Tries it, shows what will go, and asks; what that will be of something that may have to wait,
 * nobody knows. */
static int change_confirm(struct cli *c, const struct value *body, struct err *e)
{
    struct value *trial = value_copy(&c->mem, body);
    const struct value *v;
    if (cli_has(c, "queue"))
        return cli_confirm(
            c, arena_printf(&c->mem, "%s cluster %s?", c->line.verb->verb, cli_arg(c, 0)), e);
    value_put_bool(&c->mem, trial, "dry_run", true);
    int rc = cli_send(c, "POST", verb_path(c), trial, &v, e);
    if (rc)
        return rc;
    result_say(c, v);
    uint32_t gone = list_count(value_get(v, "difference"), "given_up");
    return cli_confirm(
        c,
        arena_printf(&c->mem, "%s cluster %s (%s%s%s)?", c->line.verb->verb, cli_arg(c, 0),
                     gone ? text_count(gone, "node").s : "", gone ? " given up, " : "",
                     text_count((uint64_t)value_as_int(value_at(v, "plan.tasks"), 0), "task").s),
        e);
}

static int change_asked(struct cli *c, const struct value *body, struct err *e)
{
    const char *name = cli_arg(c, 0);
    const struct value *current, *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/clusters/%s", name), &current, e);
    if (!rc && !cli_has(c, "dry-run") && cli_confirm_wanted(c))
        rc = change_confirm(c, body, e);
    if (!rc)
        rc = cli_send_rev(c, "POST", verb_path(c), current, body,
                          arena_printf(&c->mem, "cluster %s", name),
                          arena_printf(&c->mem, "cluster show %s", name), &v, e);
    return rc ? rc : result_show(c, v, e);
}

/* --- verbs --- */

static int size_put(struct cli *c, struct value *body, struct err *e)
{
    uint32_t lo, hi;
    int rc = cli_size_read(c, &lo, &hi, e);
    if (rc <= 0)
        return rc;
    struct value *range = value_map(&c->mem);
    value_put_int(&c->mem, range, "min", lo);
    value_put_int(&c->mem, range, "max", hi);
    value_set(&c->mem, body, "nodes", lo == hi ? value_int(&c->mem, hi) : range);
    return 0;
}

int cmd_cluster_create(struct cli *c, struct err *e)
{
    struct value *body;
    const struct value *v;
    if (!cli_has(c, "template")) {
        err_set(e, ERR_INVALID, "which template is said with --template NAME");
        return err_hint(e, "`anneal cluster create NAME --template NAME --nodes N`");
    }
    int rc = body_make(c, &body, e);
    if (rc || (rc = size_put(c, body, e)))
        return rc;
    value_put_text(&c->mem, body, "name", cli_arg(c, 0));
    rc = cli_send(c, "POST", "/v1/clusters", body, &v, e);
    return rc ? rc : result_show(c, v, e);
}

static int resize_body(struct cli *c, struct value **ret_body, struct err *e)
{
    if (cli_has(c, "by") == cli_has(c, "to")) {
        err_set(e, ERR_INVALID,
                cli_has(c, "by") ? "--by and --to say the same in two ways"
                                 : "by how many nodes, or to how many?");
        return err_hint(e, "one of them: --by 2, or --to 8");
    }
    return body_make(c, ret_body, e);
}

int cmd_cluster_expand(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = resize_body(c, &body, e);
    return rc ? rc : change(c, body, e);
}

int cmd_cluster_shrink(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = resize_body(c, &body, e);
    return rc ? rc : change_asked(c, body, e);
}

/* Services that are named as arguments. */
static int named_body(struct cli *c, struct value **ret_body, struct err *e)
{
    struct catalog_names names;
    const char *all = cli_arg(c, 1);
    for (size_t i = 2; cli_arg(c, i); i++)
        all = arena_printf(&c->mem, "%s,%s", all, cli_arg(c, i));
    int rc = body_make(c, ret_body, e);
    if (rc || (rc = cli_names_split(c, "SERVICE", all, &names, e)))
        return rc;
    services_put(c, *ret_body, names);
    return 0;
}

int cmd_cluster_add_service(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = named_body(c, &body, e);
    return rc ? rc : change(c, body, e);
}

int cmd_cluster_remove_service(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = named_body(c, &body, e);
    return rc ? rc : change_asked(c, body, e);
}

/* Verbs whose options say everything: configure, start, stop, restart, upgrade. */
int cmd_cluster_operate(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = body_make(c, &body, e);
    return rc ? rc : change(c, body, e);
}

int cmd_cluster_act(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = body_make(c, &body, e);
    if (rc)
        return rc;
    value_put_text(&c->mem, body, "action", cli_arg(c, 1));
    return change(c, body, e);
}

int cmd_cluster_rollback(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = body_make(c, &body, e);
    if (rc)
        return rc;
    value_put_int(&c->mem, body, "revision", strtoll(cli_arg(c, 1), NULL, 10));
    return change_asked(c, body, e);
}

int cmd_cluster_delete(struct cli *c, struct err *e)
{
    struct value *body;
    int rc = body_make(c, &body, e);
    return rc ? rc : change_asked(c, body, e);
}
