/* http_deliver.c - a text brought to an address of somebody else
 *
 * Owns a transfer that belongs to no client: the address is written in a template, the server
 * behind it is not ours and is not trusted with anything.  No redirect is followed, since where it
 * leads was not agreed on; no token, cookie or .netrc is used; of the answer a beginning is kept,
 * and what goes on for too long is cut off: the status says all that counts.  The address itself
 * may be a secret in its path or query, so errors tell its server only.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "http/http_i.h"

enum { DELIVERY_MS = 10 * 1000, ANSWER_BYTES = 64 * 1024 };

struct delivering {
    const struct http_delivery *d;
    struct http_receipt *receipt;
    CURL *easy;
    struct curl_slist *headers;
    size_t came; /* bytes of the answer */
    bool stopped;
    char why[CURL_ERROR_SIZE];
};

/* --- addresses --- */

static CURLU *url_parse(const char *text)
{
    CURLU *url = curl_url();
    assert(url);
    if (curl_url_set(url, CURLUPART_URL, text, 0)) {
        curl_url_cleanup(url);
        return NULL;
    }
    return url;
}

int http_url_check(const char *text, struct err *e)
{
    CURLU *url = url_parse(text);
    if (!url)
        return err_set(e, ERR_INVALID, "this is not an address of http:// or https://");
    char *scheme = http_url_part(url, CURLUPART_SCHEME), *host = http_url_part(url, CURLUPART_HOST);
    char *user = http_url_part(url, CURLUPART_USER);
    char *password = http_url_part(url, CURLUPART_PASSWORD);
    int rc = 0;
    if ((strcmp(scheme, "http") && strcmp(scheme, "https")) || !*host)
        rc = err_set(e, ERR_INVALID, "this is not an address of http:// or https://");
    else if (*user || *password)
        rc = err_set(e, ERR_INVALID, "an address must not hold a user name or a password");
    curl_url_cleanup(url);
    free(scheme);
    free(host);
    free(user);
    free(password);
    return rc;
}

void http_url_server(struct buf *b, const char *text)
{
    CURLU *url = url_parse(text);
    if (!url) {
        buf_puts(b, "?");
        return;
    }
    char *scheme = http_url_part(url, CURLUPART_SCHEME), *host = http_url_part(url, CURLUPART_HOST);
    char *port = http_url_part(url, CURLUPART_PORT);
    buf_printf(b, "%s://%s%s%s", scheme, host, *port ? ":" : "", port);
    curl_url_cleanup(url);
    free(scheme);
    free(host);
    free(port);
}

static bool url_is_here(const char *text)
{
    CURLU *url = url_parse(text);
    char *host = url ? http_url_part(url, CURLUPART_HOST) : xstrdup("");
    bool here = http_host_is_loopback(host);
    curl_url_cleanup(url);
    free(host);
    return here;
}

/* --- the transfer --- */

static size_t on_answer(char *p, size_t size, size_t n, void *arg)
{
    struct delivering *x = arg;
    struct http_receipt *r = x->receipt;
    size_t bytes = size * n, room = sizeof r->said - r->n_said;
    size_t kept = bytes < room ? bytes : room;
    memcpy(r->said + r->n_said, p, kept);
    r->n_said += kept;
    x->came += bytes;
    return x->came > ANSWER_BYTES ? CURL_WRITEFUNC_ERROR : bytes;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct delivering *x = arg;
    (void)a, (void)b, (void)c, (void)d;
    x->stopped = x->d->stopped && x->d->stopped(x->d->arg);
    return x->stopped;
}

/* A line break in a value would make two headers of it, or end them. */
static int headers_fill(struct delivering *x, struct err *e)
{
    for (size_t i = 0; i < x->d->n_headers; i++) {
        const struct http_header *h = &x->d->headers[i];
        for (const char *p = h->value; *p; p++)
            if ((unsigned char)*p < ' ' || *p == 0x7f)
                return err_set(e, ERR_INVALID, "%s holds characters that no header has", h->name);
        SCOPED_BUF(b);
        buf_printf(&b, "%s: %s", h->name, h->value);
        struct curl_slist *grown = curl_slist_append(x->headers, b.data);
        assert(grown);
        x->headers = grown;
    }
    struct curl_slist *grown = curl_slist_append(x->headers, "Expect:"); /* no pause before it */
    assert(grown);
    x->headers = grown;
    return 0;
}

static void options_fill(struct delivering *x)
{
    const struct http_delivery *d = x->d;
    long limit = d->timeout_ms ? (long)d->timeout_ms : DELIVERY_MS;
    OPT(x->easy, CURLOPT_URL, d->url);
    OPT(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    OPT(x->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    OPT(x->easy, CURLOPT_NOSIGNAL, 1L);
    OPT(x->easy, CURLOPT_USERAGENT, d->agent ? d->agent : "anneal");
    OPT(x->easy, CURLOPT_ERRORBUFFER, x->why);
    OPT(x->easy, CURLOPT_HTTPHEADER, x->headers);
    OPT(x->easy, CURLOPT_POST, 1L);
    OPT(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)d->body.n);
    OPT(x->easy, CURLOPT_POSTFIELDS, d->body.n ? d->body.s : "");
    OPT(x->easy, CURLOPT_CONNECTTIMEOUT_MS, limit);
    OPT(x->easy, CURLOPT_TIMEOUT_MS, limit);
    OPT(x->easy, CURLOPT_WRITEFUNCTION, on_answer);
    OPT(x->easy, CURLOPT_WRITEDATA, x);
    OPT(x->easy, CURLOPT_NOPROGRESS, 0L);
    OPT(x->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    OPT(x->easy, CURLOPT_XFERINFODATA, x);
    if (url_is_here(d->url))
        OPT(x->easy, CURLOPT_NOPROXY, "*");
}

/* No answer: why. */
static int delivery_error(const struct delivering *x, CURLcode result, struct err *e)
{
    SCOPED_BUF(server);
    http_url_server(&server, x->d->url);
    if (x->stopped)
        return err_set(e, ERR_FAILED, "given up before %s had answered", server.data);
    if (result == CURLE_OPERATION_TIMEDOUT)
        return err_set(e, ERR_TIMEOUT, "no answer from %s in time", server.data);
    if (result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY)
        return err_set(e, ERR_UNREACHABLE, "cannot reach %s: there is no host of that name",
                       server.data);
    if (result == CURLE_PEER_FAILED_VERIFICATION)
        return err_set(e, ERR_UNREACHABLE, "the certificate of %s is not trusted: %s", server.data,
                       x->why);
    return err_set(e, ERR_UNREACHABLE, "cannot reach %s: %s", server.data,
                   x->why[0] ? x->why : curl_easy_strerror(result));
}

/* Once its line came the status is known: what becomes of the rest does not change it. */
static int deliver(struct delivering *x, struct err *e)
{
    long status = 0;
    int rc = headers_fill(x, e);
    if (rc < 0)
        return rc;
    options_fill(x);
    CURLcode result = curl_easy_perform(x->easy);
    (void)curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
    x->receipt->status = (uint32_t)status;
    return status >= 200 && !x->stopped ? 0 : delivery_error(x, result, e);
}

int http_deliver(const struct http_delivery *d, struct http_receipt *ret, struct err *e)
{
    struct http_receipt receipt = {0};
    struct delivering x = {.d = d, .receipt = &receipt};
    int rc = http_url_check(d->url, e);
    if (rc < 0)
        return rc;
    CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT); /* counted and thread-safe */
    assert(ready == CURLE_OK);
    (void)ready;
    x.easy = curl_easy_init();
    assert(x.easy);
    rc = deliver(&x, e);
    curl_easy_cleanup(x.easy);
    curl_slist_free_all(x.headers);
    curl_global_cleanup();
    if (rc == 0)
        *ret = receipt;
    return rc;
}
