/* worker_identity.c - joining, and what is kept of it */
/* SPDX-License-Identifier: Apache-2.0 */
#include "worker_identity.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/text.h"
#include "http/http.h"
#include "sys/fs.h"

enum { IDENTITY_MAX = 64 * 1024 };

void worker_identity_done(struct worker_identity *w)
{
    if (w->credential)
        explicit_bzero(w->credential, strlen(w->credential));
    free(w->server);
    free(w->name);
    free(w->credential);
    free(w->ca);
    *w = (struct worker_identity){0};
}

int worker_identity_load(struct worker_identity *w, const char *dir, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    struct value *v;
    char *path = fs_join(dir, "worker.json"), *ca = fs_join(dir, "ca.pem");
    *w = (struct worker_identity){0};
    int r = fs_read(path, IDENTITY_MAX, &b, e);
    if (r == -ERR_NOT_FOUND) {
        err_set(e, ERR_NOT_FOUND, "this worker has not joined any server: there is no %s", path);
        err_hint(e, "`anneal worker token` makes a token for anneal-worker --join-file FILE");
    }
    if (r >= 0)
        r = json_parse(&mem, b.data, b.len, &(struct json_options){.name = path}, &v, e);
    if (r >= 0) {
        const char *server = value_as_text(value_get(v, "server"), NULL);
        const char *name = value_as_text(value_get(v, "name"), NULL);
        const char *credential = value_as_text(value_get(v, "credential"), NULL);
        if (!server || !name || !credential) {
            r = err_set(e, ERR_CORRUPT, "%s lacks server, name or credential", path);
        } else {
            *w = (struct worker_identity){xstrdup(server), xstrdup(name), xstrdup(credential), NULL,
                                          value_as_bool(value_get(v, "own_ca"), false)};
            if (strncmp(server, "https:", 6) == 0)
                w->ca = xstrdup(ca);
        }
    }
    if (b.data)
        explicit_bzero(b.data, b.len);
    free(path);
    free(ca);
    return r;
}

/* --- joining --- */

struct token_parts {
    char *server, *fingerprint, *secret;
};

static int token_split(struct arena *mem, const char *token, struct token_parts *ret, struct err *e)
{
    const char *first = strchr(token, '#'), *last = strrchr(token, '#');
    if (!first || first == last || first == token || !last[1]) {
        err_set(e, ERR_INVALID, "this is no token to join with");
        return err_hint(e, "`anneal worker token` prints one: ADDRESS#FINGERPRINT#SECRET");
    }
    ret->server = arena_strndup(mem, token, (size_t)(first - token));
    ret->fingerprint = arena_strndup(mem, first + 1, (size_t)(last - first - 1));
    ret->secret = arena_strdup(mem, last + 1);
    return 0;
}

static char *host_name(struct arena *mem)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = '\0';
    for (char *p = host; *p; p++)
        *p = (char)(isalnum((unsigned char)*p) ? tolower((unsigned char)*p) : '-');
    return arena_strdup(mem, text_is_name(str_of(host)) ? host : "worker");
}

static int labels_read(struct arena *mem, const char *text, struct value **ret, struct err *e)
{
    struct value *map = value_map(mem);
    while (*text) {
        size_t n = strcspn(text, ",");
        const char *eq = memchr(text, '=', n);
        if (!eq || eq == text) {
            err_set(e, ERR_INVALID, "labels: \"%.*s\" is not key=value", (int)n, text);
            return -ERR_INVALID;
        }
        value_set_str(mem, map, (struct str){text, (size_t)(eq - text)},
                      value_str(mem, (struct str){eq + 1, n - (size_t)(eq + 1 - text)}));
        text += n + (text[n] == ',');
    }
    *ret = map;
    return 0;
}

char *worker_labels_json(const char *text, struct err *e)
{
    SCOPED_ARENA(mem);
    struct buf b = {0};
    struct value *map;
    if (labels_read(&mem, text, &map, e) < 0)
        return NULL;
    json_write_canonical(&b, map);
    return buf_take(&b, NULL);
}

static int identity_save(const char *dir, const struct token_parts *t, const struct value *joined,
                         struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(b);
    const char *ca = value_as_text(value_get(joined, "ca"), NULL);
    char *path = fs_join(dir, "worker.json"), *ca_path = fs_join(dir, "ca.pem");
    struct value *v = value_map(&mem);
    int r = 0;
    if (strncmp(t->server, "https:", 6) == 0)
        r = ca ? fs_write_atomic(ca_path, ca, strlen(ca), 0644, e)
               : err_set(e, ERR_INVALID, "%s did not tell its authority", t->server);
    value_put_text(&mem, v, "server", t->server);
    value_set(&mem, v, "name", value_get(joined, "name"));
    value_set(&mem, v, "credential", value_get(joined, "credential"));
    value_put_bool(&mem, v, "own_ca", value_as_bool(value_get(joined, "own_ca"), false));
    json_write(&b, v, 2);
    buf_putc(&b, '\n');
    if (r >= 0)
        r = fs_write_atomic(path, b.data, b.len, 0600, e);
    explicit_bzero(b.data, b.len);
    free(path);
    free(ca_path);
    return r;
}

static int join_open(const struct token_parts *t, struct http **ret_h, struct err *e)
{
    bool plain = strcmp(t->fingerprint, "-") == 0;
    struct http_options o = {.base = t->server,
                             .pin = plain ? NULL : t->fingerprint,
                             .token = {plain ? t->secret : NULL}, /* refused unless on loopback */
                             .agent = "anneal-worker/" ANNEAL_VERSION,
                             .if_down = "is anneald running there, and does it listen beyond "
                                        "loopback?"};
    if (plain && strncmp(t->server, "https:", 6) == 0)
        return err_set(e, ERR_INVALID, "the token has no fingerprint to know %s by", t->server);
    return http_new(&o, ret_h, e);
}

int worker_identity_join(const struct worker_joining *j, const char *dir, struct err *e)
{
    SCOPED_ARENA(mem);
    struct token_parts t = {0};
    struct value *labels, *body = value_map(&mem);
    struct http_reply reply;
    SCOPED(http) *h = NULL;
    int r = token_split(&mem, j->token, &t, e);
    if (r < 0 || (r = labels_read(&mem, j->labels, &labels, e)) < 0 ||
        (r = join_open(&t, &h, e)) < 0)
        return r;
    value_put_text(&mem, body, "secret", t.secret);
    value_put_text(&mem, body, "name", *j->name ? j->name : host_name(&mem));
    value_set(&mem, body, "labels", labels);
    if (j->replace)
        value_put_bool(&mem, body, "replace", true);
    struct http_request q = {.method = "POST", .path = "/v1/join", .body = body, .once = true};
    if ((r = http_call(h, &mem, &q, &reply, e)) < 0)
        return err_wrap(e, "joining %s", t.server);
    if (!value_as_text(value_get(reply.value, "credential"), NULL))
        return err_set(e, ERR_UNREACHABLE, "%s did not answer as a server does", t.server);
    return identity_save(dir, &t, reply.value, e);
}
