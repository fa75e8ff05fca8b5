/* cmd_provider.c - providers: what was said to them, and what is kept in confidence
 *
 * A secret is read from a file or from standard input: an argument would be in the history of the
 * shell and in the list of processes.  Nothing here prints one; the server never tells it back.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "cli/table_i.h"

static const struct field provider_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"TYPE", "type", SHOW_TEXT, 0},
    {"AGE", "created_at", SHOW_AGE, COLUMN_RIGHT},
    {"FIELDS", "fields", SHOW_MAP, COLUMN_SHRINK},
    {0},
};
static const struct field provider_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"type", "type", SHOW_TEXT, 0},
    {"created", "created_at", SHOW_TIME, 0},
    {"sensitive", "sensitive", SHOW_LIST, 0},
    {0},
};

int cmd_provider_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/providers", NULL, provider_columns, "name", "providers", e);
}

int cmd_provider_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/providers/%s", cli_arg(c, 0)), &v, e);
    if (!rc && cli_print_sheet(c, v, provider_sheet, "name"))
        cli_print_document(c, "fields", value_get(v, "fields"));
    return rc;
}

/* A file as the text of a field; the newline at its end is the editor's, not the secret's. */
static int file_put(struct cli *c, struct value *fields, const char *text, struct err *e)
{
    const char *eq = strchr(text, '=');
    struct str content;
    if (!eq || eq == text || !eq[1]) {
        err_set(e, ERR_INVALID, "\"%s\" is not FIELD=FILE", text);
        return err_hint(e, "for example key=/etc/cloud/key, or key=- for standard input");
    }
    int rc = cli_read_text(c, eq + 1, &content, e);
    if (rc)
        return rc;
    if (content.n && content.s[content.n - 1] == '\n')
        content.n--;
    value_set_str(&c->mem, fields, (struct str){text, (size_t)(eq - text)},
                  value_str(&c->mem, content));
    return 0;
}

/* FIELD=VALUE as JSON or text; FIELD=@FILE as the text of a file, FIELD=@@TEXT for one that begins
 * so.
 */
static int value_put(struct cli *c, struct value *fields, const char *text, struct err *e)
{
    const char *eq = strchr(text, '=');
    const struct value *patch;
    if (eq && eq != text && eq[1] == '@' && eq[2] != '@')
        return file_put(c, fields,
                        arena_printf(&c->mem, "%.*s%s", (int)(eq - text) + 1, text, eq + 2), e);
    if (eq && eq != text && eq[1] == '@') {
        value_set_str(&c->mem, fields, (struct str){text, (size_t)(eq - text)},
                      value_str(&c->mem, str_of(eq + 2)));
        return 0;
    }
    int rc = cli_assignment(c, text, &patch, e);
    if (!rc)
        value_set(&c->mem, fields, patch->members[0].key, &patch->members[0].v);
    return rc;
}

int cli_fields_put(struct cli *c, struct value *body, const char *set, const char *set_file,
                   struct err *e)
{
    struct value *fields = value_map(&c->mem);
    const char *text;
    int rc = 0;
    for (size_t i = 0; !rc && (text = cli_option_at(c, set, i)); i++)
        rc = value_put(c, fields, text, e);
    for (size_t i = 0; !rc && (text = cli_option_at(c, set_file, i)); i++)
        rc = file_put(c, fields, text, e);
    for (size_t i = 0;
         !rc && verbs_option(c->line.verb, "unset", 5) && (text = cli_option_at(c, "unset", i));
         i++)
        value_set(&c->mem, fields, text, value_null(&c->mem));
    if (!rc && fields->n)
        value_set(&c->mem, body, "fields", fields);
    return rc;
}

static int provider_send(struct cli *c, bool make, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/providers/%s", name);
    const char *type = cli_option(c, "type");
    struct value *body = value_map(&c->mem);
    const struct value *current = NULL, *v;
    int rc = cli_fields_put(c, body, "set", "set-file", e);
    if (rc)
        return rc;
    if (type)
        value_put_text(&c->mem, body, "type", type);
    rc = cli_get(c, path, &current, e);
    if (!rc && make) {
        rc = err_set(e, ERR_EXISTS, "there is a provider %s already", name);
        err_hint(e, "`anneal provider set %s` changes it", name);
    } else if (rc == -ERR_NOT_FOUND && make) {
        rc = 0;
    }
    if (rc)
        return rc;
    rc = cli_send_rev(c, "PUT", path, current, body, arena_printf(&c->mem, "provider %s", name),
                      arena_printf(&c->mem, "provider show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", current ? "provider %s changed" : "provider %s made", name);
    return rc;
}

int cmd_provider_add(struct cli *c, struct err *e)
{
    return provider_send(c, true, e);
}

int cmd_provider_set(struct cli *c, struct err *e)
{
    return provider_send(c, false, e);
}

int cmd_provider_remove(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/providers/%s", name);
    const struct value *current, *v = NULL;
    int rc = cli_get(c, path, &current, e);
    if (rc || (cli_confirm_wanted(c) &&
               (rc = cli_confirm(c, arena_printf(&c->mem, "forget provider %s?", name), e))))
        return rc;
    rc = cli_send_rev(c, "DELETE", path, current, NULL, arena_printf(&c->mem, "provider %s", name),
                      arena_printf(&c->mem, "provider show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", "provider %s removed", name);
    return rc;
}
