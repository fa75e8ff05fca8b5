/* http.c - the client: what it talks to, what it trusts, and what it may say in clear
 *
 * Owns the checks that need no connection.  A base address is a scheme, a host and a port and
 * nothing else: a path or credentials inside it would end up in error texts and in the requests of
 * every caller.  Plain HTTP beyond loopback is refused as soon as there is a token, because whoever
 * listens on the way would own the cluster from then on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"

uint64_t http_clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void http_pause(uint32_t ms)
{
    (void)poll(NULL, 0, (int)ms);
}

/* Addresses only, and the one name that every machine keeps to itself: 127.example.org is not ours.
 */
bool http_host_is_loopback(const char *host)
{
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return !strcmp(host, "localhost") || !strcmp(host, "::1") || !strcmp(host, "[::1]");
}

char *http_url_part(CURLU *url, CURLUPart part)
{
    char *got = NULL;
    if (curl_url_get(url, part, &got, 0) || !got)
        return xstrdup("");
    char *copy = xstrdup(got);
    curl_free(got);
    return copy;
}

static int url_check(struct http *h, CURLU *url, const char *text, struct err *e)
{
    int rc = 0;
    if (curl_url_set(url, CURLUPART_URL, text, 0)) {
        err_set(e, ERR_INVALID, "\"%s\" is not the address of a server", text);
        return err_hint(e, "write it as http://127.0.0.1:7480 or https://host:port");
    }
    char *scheme = http_url_part(url, CURLUPART_SCHEME), *host = http_url_part(url, CURLUPART_HOST);
    char *path = http_url_part(url, CURLUPART_PATH), *query = http_url_part(url, CURLUPART_QUERY);
    char *user = http_url_part(url, CURLUPART_USER),
         *fragment = http_url_part(url, CURLUPART_FRAGMENT);
    if (strcmp(scheme, "http") && strcmp(scheme, "https")) {
        err_set(e, ERR_INVALID,
                "the address of a server begins with http:// or https://, not %s://", scheme);
        rc = -ERR_INVALID;
    } else if (*user) {
        err_set(e, ERR_INVALID, "a user name or password in the server's address is not used");
        rc = err_hint(e, "put a token in a file instead");
    } else if ((*path && strcmp(path, "/")) || *query || *fragment) {
        rc = err_set(e, ERR_INVALID,
                     "the address of a server ends with its port: nothing may follow in \"%s\"",
                     text);
    }
    h->tls = !strcmp(scheme, "https");
    h->loopback = http_host_is_loopback(host);
    free(scheme);
    free(host);
    free(path);
    free(query);
    free(user);
    free(fragment);
    return rc;
}

static int base_check(struct http *h, const char *text, struct err *e)
{
    CURLU *url = curl_url();
    assert(url);
    int rc = url_check(h, url, text, e);
    curl_url_cleanup(url);
    if (rc)
        return rc;
    size_t n = strlen(text);
    while (n && text[n - 1] == '/')
        n--;
    h->base = xstrndup(text, n);
    return 0;
}

/* A token with a space or a control character would break out of its header. */
static int bearer_check(const char *token, struct err *e)
{
    for (const char *p = token; *p; p++)
        if (*p <= ' ' || *p > '~')
            return err_set(e, ERR_INVALID, "the token holds characters that no token has");
    return 0;
}

static char *dup_or_null(const char *s)
{
    return s && *s ? xstrdup(s) : NULL;
}

int http_new(const struct http_options *o, struct http **ret_h, struct err *e)
{
    int rc;
    assert(o->base);
    CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT); /* counted and thread-safe */
    assert(ready == CURLE_OK);
    SCOPED(http) *h = xcalloc(1, sizeof *h);
    h->multi = curl_multi_init();
    assert(h->multi);
    if ((rc = base_check(h, o->base, e)))
        return rc;
    if (o->token.s && *o->token.s) {
        if ((rc = bearer_check(o->token.s, e)))
            return rc;
        if (!h->tls && !h->loopback) {
            err_set(e, ERR_REFUSED, "a token is not sent in clear to %s", h->base);
            return err_hint(e, "use https://, or an ssh tunnel to the server's loopback address");
        }
    }
    if (o->pin && *o->pin && (rc = http_pin_parse(o->pin, h->pin, e)))
        return rc;
    if (h->pin[0] && !h->tls)
        return err_set(e, ERR_INVALID, "a fingerprint belongs to https://, not to %s", h->base);
    h->cacert = dup_or_null(o->cacert);
    h->token = dup_or_null(o->token.s);
    h->agent = xstrdup(o->agent ? o->agent : "anneal");
    h->if_down = dup_or_null(o->if_down);
    h->o = *o;
    h->o.connect_ms = o->connect_ms ? o->connect_ms : 5000;
    h->o.timeout_ms = o->timeout_ms ? o->timeout_ms : 30000;
    h->o.idle_ms = o->idle_ms ? o->idle_ms : 45000;
    h->o.pause_ms = o->pause_ms ? o->pause_ms : 100;
    h->o.tries = o->tries ? o->tries : 4;
    h->o.max_bytes = o->max_bytes ? o->max_bytes : (size_t)64 << 20;
    *ret_h = h;
    h = NULL;
    return 0;
}

void http_free(struct http *h)
{
    if (!h)
        return;
    curl_multi_cleanup(h->multi);
    if (h->token) /* nothing of it stays in freed memory */
        explicit_bzero(h->token, strlen(h->token));
    free(h->token);
    free(h->base);
    free(h->cacert);
    free(h->agent);
    free(h->if_down);
    free(h);
    curl_global_cleanup();
}

const char *http_base(const struct http *h)
{
    return h->base;
}
