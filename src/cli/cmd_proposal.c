/* cmd_proposal.c - what is wanted, by steps: propose, edit, commit, recall, roll back */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static const char *path_of(struct cli *c, const char *rest)
{
    return arena_printf(&c->mem, "%s%s", http_path(&c->mem, "/v1/deployments/%s", cli_arg(c, 0)),
                        rest);
}

static int64_t number_of(const struct value *snapshot)
{
    return value_as_int(value_get(snapshot, "number"), 0);
}

/* --- propose, recall, roll back --- */

int cmd_deployment_propose(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    const char *s = cli_option(c, "message");
    if (s)
        value_put_text(&c->mem, body, "message", s);
    int rc = cli_send(c, "POST", path_of(c, "/proposal"), body, &v, e);
    if (!rc)
        cli_done(c, v, "number", "proposal %" PRId64 " of %s is open", number_of(v), cli_arg(c, 0));
    return rc;
}

int cmd_deployment_rollback(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v, *diff;
    const char *s = cli_option(c, "message"), *name = cli_arg(c, 0);
    value_put_int(&c->mem, body, "rollback", strtoll(cli_arg(c, 1), NULL, 10));
    if (s)
        value_put_text(&c->mem, body, "message", s);
    int rc = cli_send(c, "POST", path_of(c, "/proposal"), body, &v, e);
    if (!rc)
        rc = cli_get(c, path_of(c, "/diff"), &diff, e);
    if (rc)
        return rc;
    cli_done(c, v, "number",
             "proposal %" PRId64 " of %s goes back to %s; `anneal deployment diff %s` shows what "
             "that changes",
             number_of(v), name, cli_arg(c, 1), name);
    if (c->format == OUT_TABLE)
        diff_lost_say(c, value_get(diff, "lost"));
    return 0;
}

/* PATCH or DELETE of the proposal as it is now. */
static int proposal_write(struct cli *c, const char *method, const struct value *body,
                          const struct value **ret_v, struct err *e)
{
    const char *name = cli_arg(c, 0);
    const struct value *current;
    int rc = cli_get(c, path_of(c, "/proposal"), &current, e);
    return rc ? rc
              : cli_send_rev(c, method, path_of(c, "/proposal"), current, body,
                             arena_printf(&c->mem, "the proposal for %s", name),
                             arena_printf(&c->mem, "deployment diff %s", name), ret_v, e);
}

int cmd_deployment_recall(struct cli *c, struct err *e)
{
    const struct value *v = NULL;
    int rc = proposal_write(c, "DELETE", NULL, &v, e);
    if (!rc)
        cli_done(c, v, "number", "the proposal for %s is dropped", cli_arg(c, 0));
    return rc;
}

/* --- edit --- */

static struct value *edit_add(struct cli *c, struct value *edits, const char *what, struct str role,
                              struct str nodes)
{
    struct value *v = value_map(&c->mem);
    value_put_text(&c->mem, v, "edit", what);
    value_set(&c->mem, v, "role", value_str(&c->mem, role));
    if (nodes.s)
        value_set(&c->mem, v, "nodes", value_str(&c->mem, nodes));
    value_add(&c->mem, edits, v);
    return &edits->items[edits->n - 1];
}

/* ROLE=SELECTOR of --bind and --unbind. */
static int edit_binding(struct cli *c, struct value *edits, const char *what, const char *s,
                        struct err *e)
{
    const char *eq = strchr(s, '=');
    if (!eq || eq == s || !eq[1]) {
        err_set(e, ERR_INVALID, "--%s %s: not ROLE=SELECTOR", what, s);
        return err_hint(e, "for example --%s web='web*'", what);
    }
    struct value *v = edit_add(c, edits, what, (struct str){s, (size_t)(eq - s)}, str_of(eq + 1));
    if (strcmp(what, "unbind") == 0 && cli_has(c, "cascade"))
        value_put_bool(&c->mem, v, "cascade", true);
    return 0;
}

/* ROLE@SELECTOR:PATH=VALUE, or ROLE:PATH=VALUE for the deployment role. */
static int edit_setting(struct cli *c, struct value *edits, const char *s, struct err *e)
{
    const char *colon = strchr(s, ':'), *at = colon ? memchr(s, '@', (size_t)(colon - s)) : NULL;
    const struct value *patch;
    if (!colon || colon == s || at == s) {
        err_set(e, ERR_INVALID, "--set %s: not ROLE@SELECTOR:PATH=VALUE", s);
        return err_hint(e, "for example --set web@n1:listen.port=8080, or --set web:listen.port=80 "
                           "for the whole deployment");
    }
    int rc = cli_assignment(c, colon + 1, &patch, e);
    if (rc)
        return rc;
    const char *end = at ? at : colon;
    struct str nodes = at ? (struct str){at + 1, (size_t)(colon - at - 1)} : (struct str){NULL, 0};
    struct value *v = edit_add(c, edits, "set-data", (struct str){s, (size_t)(end - s)}, nodes);
    value_set(&c->mem, v, "data", patch);
    return 0;
}

/* Data of roles that are bound in the same breath, as with `deployment bind`. */
static int edit_file_data(struct cli *c, struct value *edits, const char *s, struct err *e)
{
    const char *eq = strchr(s, '=');
    const struct value *data;
    bool found = false;
    if (!eq || eq == s) {
        err_set(e, ERR_INVALID, "--data %s: not ROLE=FILE", s);
        return -ERR_INVALID;
    }
    int rc = cli_read_data(c, eq + 1, &data, e);
    for (uint32_t i = 0; !rc && i < edits->n; i++) {
        struct value *v = &edits->items[i];
        if (strcmp(value_as_text(value_get(v, "edit"), ""), "bind") != 0 ||
            !str_eq(value_as_str(value_get(v, "role")), (struct str){s, (size_t)(eq - s)}))
            continue;
        value_set(&c->mem, v, "data", data);
        found = true;
    }
    if (!rc && !found) {
        err_set(e, ERR_INVALID, "--data %s: that role is not bound here", s);
        return err_hint(e, "--set changes what is bound already");
    }
    return rc;
}

static int edits_from_file(struct cli *c, const char *file, struct value *edits, struct err *e)
{
    const struct value *doc;
    int rc = cli_read_data(c, file, &doc, e);
    if (rc)
        return rc;
    const struct value *list = value_get(doc, "edits");
    if (!value_is(list, VALUE_LIST)) {
        err_set(e, ERR_INVALID, "%s: no list of edits", file);
        return err_hint(e, "edits: [{edit: bind, role: web, nodes: n1}]");
    }
    for (uint32_t i = 0; i < list->n; i++)
        value_add(&c->mem, edits, &list->items[i]);
    return 0;
}

static int edits_make(struct cli *c, struct value *edits, struct err *e)
{
    static const char *const options[] = {"file", "unbind", "bind", "data", "set"};
    int rc = 0;
    for (size_t o = 0; o < sizeof options / sizeof *options && !rc; o++) {
        const char *s;
        for (size_t i = 0; !rc && (s = cli_option_at(c, options[o], i)); i++)
            rc = o == 0   ? edits_from_file(c, s, edits, e)
                 : o <= 2 ? edit_binding(c, edits, options[o], s, e)
                 : o == 3 ? edit_file_data(c, edits, s, e)
                          : edit_setting(c, edits, s, e);
    }
    if (!rc && !edits->n) {
        err_set(e, ERR_INVALID, "nothing to change");
        return err_hint(e, "--bind, --unbind and --set say what, --file reads a list of edits");
    }
    return rc;
}

int cmd_deployment_edit(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem), *edits = value_list(&c->mem);
    const struct value *v;
    int rc = edits_make(c, edits, e);
    value_set(&c->mem, body, "edits", edits);
    if (!rc)
        rc = proposal_write(c, "PATCH", body, &v, e);
    if (!rc)
        cli_done(c, v, "number",
                 "proposal %" PRId64
                 " of %s has %s; `anneal deployment diff %s` shows what it changes",
                 number_of(v), cli_arg(c, 0),
                 text_count((uint64_t)value_as_int(value_get(v, "entries"), 0), "entry").s,
                 cli_arg(c, 0));
    return rc;
}

/* --- commit, unbind --- */

/* Children before parents, then whom else it concerns: what a dry run is for. */
static void dry_show(struct cli *c, const struct value *v)
{
    const struct value *going = value_get(v, "going");
    for (uint32_t i = 0; value_is(going, VALUE_LIST) && i < going->n; i++)
        diff_name_say(c, "-", &going->items[i], NULL);
    diff_touched_say(c, "~", value_get(v, "touched"), cli_arg(c, 0));
}

static int outcome_show(struct cli *c, const struct value *v, struct err *e)
{
    int64_t op = cli_operation_of(v), added = value_as_int(value_get(v, "added"), 0);
    int64_t changed = value_as_int(value_get(v, "changed"), 0);
    int64_t removed = value_as_int(value_get(v, "removed"), 0);
    int64_t tasks = value_as_int(value_get(v, "tasks"), 0);
    const char *figures = arena_printf(
        &c->mem, "%" PRId64 " new, %" PRId64 " changed, %" PRId64 " removed; %s", added, changed,
        removed, text_count((uint64_t)tasks, "task").s);
    const char *s;
    if (cli_has(c, "dry-run"))
        s = arena_printf(&c->mem, "dry run: %s; nothing was changed", figures);
    else if (op)
        s = arena_printf(&c->mem, "operation %" PRId64 ": %s", op, figures);
    else
        s = arena_printf(&c->mem, "committed as %" PRId64 "; nothing that lives is concerned",
                         number_of(value_get(v, "snapshot")));
    int rc = cli_outcome(c, v, "operation.id", s, e);
    if (!rc && c->format == OUT_TABLE && cli_has(c, "dry-run"))
        dry_show(c, v);
    return rc;
}

static void options_put(struct cli *c, struct value *body)
{
    const char *s = cli_word(c, "class");
    if (s)
        value_put_text(&c->mem, body, "class", s);
    if (cli_has(c, "dry-run"))
        value_put_bool(&c->mem, body, "dry_run", true);
}

int cmd_deployment_commit(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    options_put(c, body);
    int rc = cli_send(c, "POST", path_of(c, "/commit"), body, &v, e);
    return rc ? rc : outcome_show(c, v, e);
}

int cmd_deployment_unbind(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem), *bindings = value_list(&c->mem);
    const struct value *v;
    const char *s;
    for (size_t i = 1; (s = cli_arg(c, i)); i++) {
        const char *eq = strchr(s, '=');
        struct value *b = value_map(&c->mem);
        value_set(&c->mem, b, "role", value_str(&c->mem, (struct str){s, (size_t)(eq - s)}));
        value_put_text(&c->mem, b, "nodes", eq + 1);
        value_add(&c->mem, bindings, b);
    }
    value_set(&c->mem, body, "bindings", bindings);
    options_put(c, body);
    if (cli_has(c, "cascade"))
        value_put_bool(&c->mem, body, "cascade", true);
    if ((s = cli_option(c, "title")))
        value_put_text(&c->mem, body, "title", s);
    int rc = cli_send(c, "POST", path_of(c, "/unbind"), body, &v, e);
    return rc ? rc : outcome_show(c, v, e);
}
