/* cmd_admin.c - tokens, and what the programs say of themselves */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <inttypes.h>
#include <string.h>

#include "cli/table_i.h"
#include "sys/fs.h"

static const struct field token_columns[] = {
    {"ID", "id", SHOW_TEXT, COLUMN_RIGHT},
    {"NAME", "name", SHOW_TEXT, COLUMN_SHRINK},
    {"SCOPE", "scope", SHOW_TEXT, 0},
    {"TENANT", "tenant", SHOW_TEXT, 0},
    {"AGE", "created_at", SHOW_AGE, COLUMN_RIGHT},
    {"REVOKED", "revoked", SHOW_ODD, 0},
    {0},
};

int cmd_token_list(struct cli *c, struct err *e)
{
    return cli_list(c, "/v1/tokens", NULL, token_columns, "id", "tokens", e);
}

/* The secret goes to a file that nobody else may read, and nowhere else. */
int cli_secret_save(struct cli *c, const char *file, const char *secret, struct err *e)
{
    const char *slash = strrchr(file, '/');
    int rc = 0;
    if (slash && slash != file)
        rc = fs_mkdirs(arena_strndup(&c->mem, file, (size_t)(slash - file)), 0700, e);
    SCOPED_BUF(b);
    buf_printf(&b, "%s\n", secret);
    if (!rc)
        rc = fs_write_atomic(file, b.data, b.len, 0600, e);
    explicit_bzero(b.data, b.len);
    return rc;
}

int cmd_token_add(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    const char *name = cli_arg(c, 0), *scope = cli_word(c, "scope"), *file = cli_option(c, "save");
    value_put_text(&c->mem, body, "name", name);
    value_put_text(&c->mem, body, "scope", scope ? scope : "read");
    if (cli_option(c, "tenant"))
        value_put_text(&c->mem, body, "tenant", cli_option(c, "tenant"));
    int rc = cli_send_once(c, "/v1/tokens", body, &v, e);
    if (rc)
        return rc;
    const char *secret = value_as_text(value_get(v, "secret"), NULL);
    if (!secret)
        return err_set(e, ERR_UNREACHABLE, "%s made a token but did not tell its secret",
                       http_base(c->http));
    if (file) {
        if ((rc = cli_secret_save(c, file, secret, e))) {
            err_hint(e, "the token exists: revoke it with `anneal token revoke %" PRId64 "`",
                     value_as_int(value_get(v, "id"), 0));
            return rc;
        }
        cli_say(c, "token %s (%s) written to %s", name, scope ? scope : "read", file);
    } else if (!cli_print_data(c, v, "secret")) {
        SCOPED_BUF(b);
        buf_printf(&b, "%s\n", secret);
        cli_put(c, &b);
        if (!c->quiet && c->env->out_tty)
            cli_warn(c, "this is shown only once; keep it in a file that only its owner may read");
    }
    return 0;
}

int cmd_token_revoke(struct cli *c, struct err *e)
{
    const struct value *v = NULL;
    const char *id = cli_arg(c, 0);
    int rc = cli_send(c, "DELETE", http_path(&c->mem, "/v1/tokens/%s", id), NULL, &v, e);
    if (!rc)
        cli_done(c, v, "id", "token %s revoked", id);
    return rc;
}

int cmd_openapi(struct cli *c, struct err *e)
{
    const struct value *v;
    int rc = cli_get(c, "/v1/openapi.json", &v, e);
    if (rc)
        return rc;
    if (c->format != OUT_YAML)
        c->format = OUT_JSON; /* it is a document, whatever was asked for */
    (void)cli_print_data(c, v, "openapi");
    return 0;
}

int cmd_version(struct cli *c, struct err *e)
{
    struct value *all = value_map(&c->mem);
    const struct value *v = NULL;
    value_put_text(&c->mem, all, "client", ANNEAL_VERSION);
    int rc = cli_has(c, "client") ? 0 : cli_get(c, "/v1/version", &v, e);
    if (rc && rc != -ERR_UNREACHABLE && rc != -ERR_TIMEOUT)
        return rc;
    const char *server = value_as_text(value_get(v, "version"), NULL);
    if (server)
        value_put_text(&c->mem, all, "server", server);
    if (cli_print_data(c, all, "client"))
        return 0;
    cli_say(c, "anneal %s", ANNEAL_VERSION);
    if (server)
        cli_say(c, "anneald %s at %s", server, http_base(c->http));
    else if (!cli_has(c, "client"))
        cli_say(c, "anneald: %s", e->text);
    return 0;
}

int cmd_sim(struct cli *c, struct err *e)
{
    if (!c->env->sim)
        return err_set(e, ERR_INVALID, "this build has no simulator");
    (void)fflush(c->env->out);
    /* argv[0] of the simulator is "sim", as if it were a program of that name. */
    c->exit = c->env->sim(c->argc - c->line.raw_from + 1, c->argv + c->line.raw_from - 1);
    return 0;
}
