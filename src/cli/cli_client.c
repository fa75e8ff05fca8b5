/* cli_client.c - the server as the verbs see it: get, list, change
 *
 * Knows where the server and the token are found, how lists are paged, and how revisions are kept:
 * a change sends the revision of what was read just before, so that nobody's change in between is
 * overwritten unseen.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/text.h"
#include "base/yaml.h"
#include "sys/fs.h"

enum { PAGE = 1000, PAGE_SMALL = 100, TOKEN_MAX = 4096, DATA_MAX = 8 << 20 };

static const char *variable(struct cli *c, const char *name)
{
    const char *s = c->env->variable(c->env->arg, name);
    return s && *s ? s : NULL;
}

static int token_read(struct cli *c, const char *file, const char **ret_token, struct err *e)
{
    struct stat st;
    SCOPED_BUF(b);
    int rc = fs_read(file, TOKEN_MAX, &b, e);
    if (rc)
        return rc;
    if (!c->quiet && !stat(file, &st) && st.st_mode & 077)
        cli_warn(c, "warning: others may read the token in %s; chmod 600 it", file);
    size_t n = strcspn(buf_str(&b).s, " \t\r\n");
    if (!n)
        return err_set(e, ERR_INVALID, "there is no token in %s", file);
    *ret_token = arena_strndup(&c->mem, b.data, n);
    explicit_bzero(b.data, b.len);
    return 0;
}

/* The places where a token is expected if nobody says where it is. */
static int token_search(struct cli *c, const char **ret_token, struct err *e)
{
    const char *config = variable(c, "XDG_CONFIG_HOME"), *home = variable(c, "HOME");
    const char *places[2] = {NULL, "/var/lib/anneal/admin.token"};
    SCOPED_BUF(note);
    if (config)
        places[0] = arena_printf(&c->mem, "%s/anneal/token", config);
    else if (home)
        places[0] = arena_printf(&c->mem, "%s/.config/anneal/token", home);
    buf_puts(&note, "no token was found in");
    for (size_t i = 0; i < 2; i++) {
        if (!places[i])
            continue;
        if (fs_exists(places[i]) && !access(places[i], R_OK))
            return token_read(c, places[i], ret_token, e);
        buf_printf(&note, "%s %s%s", i && places[0] ? " or" : "", places[i],
                   errno == EACCES ? " (which you may not read)" : "");
    }
    c->token_note = arena_strdup(&c->mem, note.data);
    return 0;
}

static int token_find(struct cli *c, const char **ret_token, struct err *e)
{
    const char *file = cli_option(c, "token-file");
    *ret_token = NULL;
    if (file)
        return token_read(c, file, ret_token, e);
    if ((*ret_token = variable(c, "ANNEAL_TOKEN")))
        return 0;
    if (!(file = variable(c, "ANNEAL_TOKEN_FILE")))
        return token_search(c, ret_token, e);
    int rc = token_read(c, file, ret_token, e);
    return rc ? err_hint(e, "the variable ANNEAL_TOKEN_FILE names this file") : 0;
}

static void exchange_say(void *arg, const char *line)
{
    struct cli *c = arg;
    (void)fprintf(c->env->err, "anneal: %s\n", line);
}

int cli_connect(struct cli *c, struct err *e)
{
    const char *server = cli_option(c, "server"), *timeout = cli_option(c, "timeout"), *token;
    const char *cacert = cli_option(c, "cacert"), *pin = NULL;
    uint64_t timeout_ms = 0;
    if (c->http)
        return 0;
    if (!server)
        server = variable(c, "ANNEAL_SERVER");
    if (!cacert)
        cacert = variable(c, "ANNEAL_CACERT");
    if (server && (pin = strchr(server, '#'))) /* https://host:port#fingerprint */
        server = arena_strndup(&c->mem, server, (size_t)(pin++ - server));
    if (timeout)
        (void)text_duration_ms(str_of(timeout), &timeout_ms, e); /* checked by cli_parse */
    int rc = token_find(c, &token, e);
    if (rc)
        return rc;
    const struct http_options o = {
        .base = server ? server : "http://127.0.0.1:7480",
        .cacert = cacert,
        .pin = pin,
        .token = {token},
        .agent = "anneal/" ANNEAL_VERSION,
        .if_down = "is anneald running? try ./quickstart or systemctl start anneald",
        .connect_ms = c->brief_ms,
        .timeout_ms = c->brief_ms               ? c->brief_ms
                      : timeout_ms < UINT32_MAX ? (uint32_t)timeout_ms
                                                : UINT32_MAX,
        .patience_ms = c->wait ? 60000 : 0, /* whoever waits outlasts a restart */
        .trace = c->verbose ? exchange_say : NULL,
        .trace_arg = c,
    };
    return http_new(&o, &c->http, e);
}

static int call(struct cli *c, struct arena *mem, const struct http_request *q,
                const struct value **ret_v, struct err *e)
{
    struct http_reply r;
    int rc = cli_connect(c, e);
    if (!rc)
        rc = http_call(c->http, mem, q, &r, e);
    if (rc) {
        if (e->code == ERR_UNAUTHORIZED && c->token_note)
            return err_hint(e, "%s; see `anneal help` for --token-file", c->token_note);
        if (c->format != OUT_JSON)
            cli_pointer_name(q->body, e);
        return rc;
    }
    if (ret_v)
        *ret_v = r.value;
    return 0;
}

int cli_get(struct cli *c, const char *path, const struct value **ret_v, struct err *e)
{
    return cli_get_in(c, &c->mem, path, ret_v, e);
}

int cli_get_in(struct cli *c, struct arena *mem, const char *path, const struct value **ret_v,
               struct err *e)
{
    const struct http_request q = {.method = "GET", .path = path};
    return call(c, mem, &q, ret_v, e);
}

int cli_get_text(struct cli *c, struct arena *mem, const char *path, struct str *ret_s,
                 struct err *e)
{
    const struct http_request q = {.method = "GET", .path = path, .accept = "text/plain"};
    struct http_reply r;
    int rc = cli_connect(c, e);
    if (!rc && !(rc = http_call(c->http, mem, &q, &r, e)))
        *ret_s = r.text;
    return rc;
}

int cli_send(struct cli *c, const char *method, const char *path, const struct value *body,
             const struct value **ret_v, struct err *e)
{
    return cli_send_in(c, &c->mem, method, path, body, ret_v, e);
}

int cli_send_in(struct cli *c, struct arena *mem, const char *method, const char *path,
                const struct value *body, const struct value **ret_v, struct err *e)
{
    const struct http_request q = {.method = method, .path = path, .body = body};
    return call(c, mem, &q, ret_v, e);
}

int cli_send_once(struct cli *c, const char *path, const struct value *body,
                  const struct value **ret_v, struct err *e)
{
    const struct http_request q = {.method = "POST", .path = path, .body = body, .once = true};
    return call(c, &c->mem, &q, ret_v, e);
}

int cli_send_rev(struct cli *c, const char *method, const char *path, const struct value *current,
                 const struct value *body, const char *what, const char *show,
                 const struct value **ret_v, struct err *e)
{
    const char *rev = cli_option(c, "rev");
    const struct value *known = value_get(current, "rev");
    if (!rev && value_is(known, VALUE_INT))
        rev = arena_printf(&c->mem, "%lld", (long long)known->i);
    const struct http_request q = {
        .method = method, .path = path, .body = body, .if_match = rev ? rev : "*"};
    int rc = call(c, &c->mem, &q, ret_v, e);
    if (rc != -ERR_STALE)
        return rc;
    err_wrap(e, "%s was changed by somebody else", what);
    return err_hint(e, "look at it with `anneal %s`, then run this again", show);
}

/* One page; a server with a smaller limit than ours is asked again for what every server gives. */
static int page_get(struct cli *c, struct arena *mem, const char *path, const char *after,
                    uint64_t *page, const struct value **ret_v, struct err *e)
{
    for (;;) {
        char limit[24];
        SCOPED_BUF(b);
        buf_puts(&b, path);
        snprintf(limit, sizeof limit, "%llu", (unsigned long long)*page);
        http_query(&b, "limit", limit);
        http_query(&b, "after", after);
        const struct http_request q = {.method = "GET", .path = b.data};
        int rc = call(c, mem, &q, ret_v, e);
        if (rc != -ERR_INVALID || *page <= PAGE_SMALL || strcmp(e->at, "?limit") != 0)
            return rc;
        *page = PAGE_SMALL;
    }
}

int cli_get_list(struct cli *c, struct arena *mem, const char *path, uint64_t most,
                 const struct value **ret_v, struct err *e)
{
    struct value *all = value_map(mem), *items = value_list(mem);
    uint64_t page = most < PAGE ? most : PAGE;
    const char *after = NULL;
    int64_t total = -1;
    while (items->n < most) {
        const struct value *v = NULL;
        if (most - items->n < page)
            page = most - items->n;
        int rc = page_get(c, mem, path, after, &page, &v, e);
        if (rc)
            return rc;
        const struct value *part = value_get(v, "items");
        if (!value_is(part, VALUE_LIST))
            return err_set(e, ERR_UNREACHABLE, "%s answered %s with something that is no list",
                           http_base(c->http), path);
        for (uint32_t i = 0; i < part->n; i++)
            value_add(mem, items, &part->items[i]);
        total = value_as_int(value_get(v, "total"), -1);
        const char *next = value_as_text(value_get(v, "next"), NULL);
        /* A page may be empty and not the last one, but it must lead on. */
        if (!next || (!part->n && after && strcmp(next, after) == 0))
            break;
        after = next;
    }
    value_set(mem, all, "items", items);
    value_put_int(mem, all, "total", total >= 0 ? total : items->n);
    *ret_v = all;
    return 0;
}

uint64_t cli_limit(const struct cli *c)
{
    uint64_t n = cli_number(c, "limit", UINT32_MAX);
    return n < UINT32_MAX ? n : UINT32_MAX;
}

int cli_list(struct cli *c, const char *path, const char *const *filters,
             const struct field *fields, const char *name_path, const char *what, struct err *e)
{
    SCOPED_BUF(b);
    const struct value *v;
    buf_puts(&b, path);
    for (; filters && *filters; filters++) {
        const char *word = cli_word(c, *filters);
        http_query(&b, *filters, word ? word : cli_option(c, *filters));
    }
    int rc = cli_get_list(c, &c->mem, b.data, cli_limit(c), &v, e);
    if (!rc)
        cli_print_list(c, v, fields, name_path, what);
    return rc;
}

static int stdin_read(struct cli *c, struct buf *b, struct err *e)
{
    char chunk[8192];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, c->env->in)) > 0;) {
        buf_put(b, chunk, n);
        if (b->len > DATA_MAX)
            return err_set(e, ERR_TOO_LARGE, "standard input is larger than %d bytes", DATA_MAX);
    }
    if (ferror(c->env->in))
        return err_set(e, ERR_IO, "standard input cannot be read");
    return 0;
}

int cli_read_text(struct cli *c, const char *file, struct str *ret, struct err *e)
{
    SCOPED_BUF(b);
    bool from_stdin = !strcmp(file, "-");
    int rc = from_stdin ? stdin_read(c, &b, e) : fs_read(file, DATA_MAX, &b, e);
    if (rc)
        return rc;
    if (!text_utf8_valid(buf_str(&b).s, b.len))
        return err_set(e, ERR_INVALID, "%s is not UTF-8 text",
                       from_stdin ? "standard input" : file);
    *ret = (struct str){arena_strndup(&c->mem, buf_str(&b).s, b.len), b.len};
    return 0;
}

static const char *file_name(const char *file)
{
    return strcmp(file, "-") ? file : "standard input";
}

int cli_read_value(struct cli *c, const char *file, const struct value **ret_v, struct err *e)
{
    SCOPED_BUF(b);
    int rc = strcmp(file, "-") ? fs_read(file, DATA_MAX, &b, e) : stdin_read(c, &b, e);
    if (rc)
        return rc;
    const struct yaml_options o = {.name = file_name(file)};
    struct value *v;
    if ((rc = yaml_parse(&c->mem, buf_str(&b).s, b.len, &o, &v, e))) /* JSON is YAML */
        return rc;
    *ret_v = v;
    return 0;
}

int cli_read_data(struct cli *c, const char *file, const struct value **ret_v, struct err *e)
{
    const struct value *v;
    int rc = cli_read_value(c, file, &v, e);
    if (rc)
        return rc;
    if (!value_is(v, VALUE_MAP))
        return err_set(e, ERR_INVALID, "%s: a map is wanted, not %s", file_name(file),
                       value_kind_name((enum value_kind)v->kind));
    *ret_v = v;
    return 0;
}
