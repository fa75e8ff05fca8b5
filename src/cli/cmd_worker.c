/* cmd_worker.c - workers: who there is, tokens to join with, draining, removing
 *
 * A token is the address of the server, the fingerprint of its key and a secret in one line.  The
 * address is the one that this program uses: whoever reaches the server by another says which.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <string.h>

#include "base/text.h"
#include "cli/table_i.h"

static const struct field worker_columns[] = {
    {"NAME", "name", SHOW_TEXT, 0},
    {"STATE", "state", SHOW_TEXT, 0},
    {"RUNNING", "running", SHOW_TEXT, COLUMN_RIGHT},
    {"CAPACITY", "capacity", SHOW_TEXT, COLUMN_RIGHT},
    {"SEEN", "last_seen_ms", SHOW_MS, COLUMN_RIGHT},
    {"LABELS", "labels", SHOW_MAP, COLUMN_SHRINK},
    {"JIGS", "jigs", SHOW_LIST, COLUMN_SHRINK},
    {0},
};
static const struct field worker_sheet[] = {
    {"name", "name", SHOW_TEXT, 0},
    {"state", "state", SHOW_TEXT, 0},
    {"capacity", "capacity", SHOW_TEXT, 0},
    {"running", "running", SHOW_TEXT, 0},
    {"labels", "labels", SHOW_MAP, 0},
    {"jigs", "jigs", SHOW_LIST, 0},
    {"seen", "last_seen_ms", SHOW_MS, 0},
    {"joined", "created_at", SHOW_TIME, 0},
    {"host", "host", SHOW_TEXT, 0},
    {"version", "version", SHOW_TEXT, 0},
    {0},
};

int cmd_worker_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/workers", NULL, worker_columns, "name", "workers", e);
}

int cmd_worker_show(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, http_path(&c->mem, "/v1/workers/%s", cli_arg(c, 0)), &v, e);
    if (!rc)
        (void)cli_print_sheet(c, v, worker_sheet, "name");
    return rc;
}

static int labels_put(struct cli *c, struct value *body, struct err *e)
{
    struct value *labels = value_map(&c->mem);
    const char *text;
    for (size_t i = 0; (text = cli_option_at(c, "label", i)); i++) {
        const char *eq = strchr(text, '=');
        if (!eq || eq == text)
            return err_set(e, ERR_INVALID, "\"%s\" is not KEY=VALUE", text);
        value_set_str(&c->mem, labels, (struct str){text, (size_t)(eq - text)},
                      value_text(&c->mem, eq + 1));
    }
    if (labels->n)
        value_set(&c->mem, body, "labels", labels);
    return 0;
}

int cmd_worker_token(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const char *name = cli_option(c, "name"), *ttl = cli_option(c, "ttl");
    const char *address = cli_option(c, "address"), *file = cli_option(c, "save");
    const struct value *v;
    uint64_t ttl_ms;
    int rc = labels_put(c, body, e);
    if (rc)
        return rc;
    if (name)
        value_put_text(&c->mem, body, "name", name);
    if (ttl) {
        (void)text_duration_ms(str_of(ttl), &ttl_ms, e); /* checked by cli_parse */
        value_put_int(&c->mem, body, "ttl_ms", (int64_t)(ttl_ms < INT64_MAX ? ttl_ms : INT64_MAX));
    }
    if ((rc = cli_send_once(c, "/v1/worker-tokens", body, &v, e)))
        return rc;
    const char *print = value_as_text(value_get(v, "fingerprint"), "-");
    const char *token = arena_printf(&c->mem, "%s#%s#%s", address ? address : http_base(c->http),
                                     print, value_as_text(value_get(v, "secret"), ""));
    if (file) {
        if (!(rc = cli_secret_save(c, file, token, e)))
            cli_say(c, "a token to join with was written to %s", file);
    } else {
        struct value *shown = value_copy(&c->mem, v);
        value_put_text(&c->mem, shown, "token", token);
        if (!cli_print_data(c, shown, "token")) {
            SCOPED_BUF(b);
            buf_printf(&b, "%s\n", token);
            cli_put(c, &b);
        }
    }
    return rc;
}

static int drain(struct cli *c, bool on, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/workers/%s", name);
    struct value *body = value_map(&c->mem);
    const struct value *current, *v;
    int rc = cli_get(c, path, &current, e);
    if (rc)
        return rc;
    value_put_bool(&c->mem, body, "draining", on);
    rc = cli_send_rev(c, "PATCH", path, current, body, arena_printf(&c->mem, "worker %s", name),
                      arena_printf(&c->mem, "worker show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", on ? "worker %s gets nothing new" : "worker %s gets work again",
                 name);
    return rc;
}

int cmd_worker_drain(struct cli *c, struct err *e)
{
    return drain(c, true, e);
}

int cmd_worker_undrain(struct cli *c, struct err *e)
{
    return drain(c, false, e);
}

int cmd_worker_remove(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/workers/%s", name);
    const struct value *current, *v = NULL;
    int rc = cli_get(c, path, &current, e);
    if (rc || (cli_confirm_wanted(c) &&
               (rc = cli_confirm(c, arena_printf(&c->mem, "remove worker %s?", name), e))))
        return rc;
    rc = cli_send_rev(c, "DELETE", path, current, NULL, arena_printf(&c->mem, "worker %s", name),
                      arena_printf(&c->mem, "worker show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", "worker %s removed", name);
    return rc;
}
