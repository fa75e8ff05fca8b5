/* http_exchange.c - one request on the wire
 *
 * Owns everything that libcurl is told about a transfer and everything it tells back.  Calls and
 * streams are both exchanges of the client's one multi handle: while one waits, the others go on.
 * A body goes to the stream's function only if the status is 2xx; a refusal is collected instead,
 * so that its problem can be read.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "base/text.h"

static void header_add(struct http_exchange *x, const char *name, const char *value)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%s: %s", name, value);
    struct curl_slist *grown = curl_slist_append(x->headers, b.data);
    assert(grown);
    x->headers = grown;
    explicit_bzero(b.data, b.len); /* the token is one of them */
}

static bool header_is(struct str line, const char *name, struct str *ret_value)
{
    size_t n = strlen(name);
    if (line.n <= n || line.s[n] != ':' || strncasecmp(line.s, name, n) != 0)
        return false;
    struct str v = {line.s + n + 1, line.n - n - 1};
    while (v.n && (*v.s == ' ' || *v.s == '\t'))
        v = (struct str){v.s + 1, v.n - 1};
    while (v.n && strchr(" \t\r\n", v.s[v.n - 1]))
        v.n--;
    *ret_value = v;
    return true;
}

static void buf_replace(struct buf *b, struct str s)
{
    buf_clear(b);
    buf_put(b, s.s, s.n);
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
    struct http_exchange *x = arg;
    struct str line = {p, size * n}, v;
    x->heard_ms = http_clock_ms();
    if (line.n > 5 && !memcmp(line.s, "HTTP/", 5)) { /* also after 100 Continue */
        long status = 0;
        curl_easy_getinfo(x->easy, CURLINFO_RESPONSE_CODE, &status);
        x->status = (uint32_t)status;
        buf_clear(&x->etag);
        buf_clear(&x->type);
        buf_clear(&x->location);
    } else if (header_is(line, "etag", &v)) {
        if (v.n >= 2 && v.s[0] == '"' && v.s[v.n - 1] == '"')
            v = (struct str){v.s + 1, v.n - 2};
        buf_replace(&x->etag, v);
    } else if (header_is(line, "content-type", &v)) {
        buf_replace(&x->type, v);
    } else if (header_is(line, "location", &v)) {
        buf_replace(&x->location, v);
    }
    return line.n;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
    struct http_exchange *x = arg;
    size_t bytes = size * n;
    x->heard_ms = http_clock_ms();
    if (x->fn && x->status >= 200 && x->status < 300)
        return x->fn(x->arg, p, bytes, &x->fn_err) ? CURL_WRITEFUNC_ERROR : bytes;
    if (x->got.len + bytes > x->h->o.max_bytes) {
        err_set(&x->fn_err, ERR_TOO_LARGE, "the answer of %s is larger than %zu bytes", x->h->base,
                x->h->o.max_bytes);
        return CURL_WRITEFUNC_ERROR;
    }
    buf_put(&x->got, p, bytes);
    return bytes;
}

static void exchange_headers(struct http_exchange *x, const struct http_request *q, const char *key,
                             const char *after)
{
    header_add(x, "Accept", q->accept ? q->accept : "application/json");
    header_add(x, "Expect", ""); /* no pause before a large body */
    /* Without a body there is no type either; libcurl would name that of a web form. */
    header_add(x, "Content-Type", q->body || q->text.n ? "application/json" : "");
    if (x->h->token) {
        SCOPED_BUF(b);
        buf_printf(&b, "Bearer %s", x->h->token);
        header_add(x, "Authorization", b.data);
        explicit_bzero(b.data, b.len);
    }
    if (key)
        header_add(x, "Idempotency-Key", key);
    if (after)
        header_add(x, "Last-Event-ID", after);
    if (q->if_match) {
        SCOPED_BUF(b);
        buf_printf(&b, strcmp(q->if_match, "*") ? "\"%s\"" : "%s", q->if_match);
        header_add(x, "If-Match", b.data);
    }
    OPT(x->easy, CURLOPT_HTTPHEADER, x->headers);
}

static void exchange_body(struct http_exchange *x, const struct http_request *q)
{
    bool post = !strcmp(q->method, "POST");
    if (q->body)
        json_write(&x->body, q->body, 0);
    struct str text = q->text.n ? q->text : buf_str(&x->body);
    if (q->body || post) {
        OPT(x->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)text.n);
        OPT(x->easy, CURLOPT_POSTFIELDS, text.s);
    }
    if (!post || q->body)
        OPT(x->easy, CURLOPT_CUSTOMREQUEST, q->method);
    if (!strcmp(q->method, "HEAD"))
        OPT(x->easy, CURLOPT_NOBODY, 1L);
}

static void exchange_limits(struct http_exchange *x, const struct http_request *q, bool stream)
{
    const struct http_options *o = &x->h->o;
    OPT(x->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)o->connect_ms);
    if (!stream)
        OPT(x->easy, CURLOPT_TIMEOUT_MS, (long)(q->timeout_ms ? q->timeout_ms : o->timeout_ms));
    /* libcurl repeats a request by itself if a kept connection turns out to be dead.  A write
     * without a key must not be repeated behind our back, so it opens its own. */
    if (q->once ||
        (strcmp(q->method, "GET") && strcmp(q->method, "HEAD") && strcmp(q->method, "POST")))
        OPT(x->easy, CURLOPT_FRESH_CONNECT, 1L);
}

static int exchange_trust(struct http_exchange *x, struct err *e)
{
    if (x->h->loopback)
        OPT(x->easy, CURLOPT_NOPROXY, "*");
    if (x->h->pin[0]) {
        OPT(x->easy, CURLOPT_PINNEDPUBLICKEY, x->h->pin);
        OPT(x->easy, CURLOPT_SSL_VERIFYPEER, 0L);
    }
    if (x->h->pin[0] || x->h->o.any_name)
        OPT(x->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    if (!x->h->cacert || x->h->pin[0])
        return 0;
    FILE *f = fopen(x->h->cacert, "re");
    if (!f)
        return err_set(e, ERR_INVALID, "cannot read the CA certificate %s: %m", x->h->cacert);
    (void)fclose(f);
    OPT(x->easy, CURLOPT_CAINFO, x->h->cacert);
    return 0;
}

int exchange_begin(struct http_exchange *x, struct http *h, const struct http_request *q,
                   const char *key, const char *after, bool stream, struct err *e)
{
    x->h = h;
    x->began_ms = x->heard_ms = http_clock_ms();
    x->easy = curl_easy_init();
    assert(x->easy);
    int rc = exchange_trust(x, e);
    if (rc)
        return rc;
    SCOPED_BUF(url);
    buf_printf(&url, "%s%s", h->base, q->path);
    OPT(x->easy, CURLOPT_URL, url.data); /* copied */
    OPT(x->easy, CURLOPT_PATH_AS_IS, 1L);
    OPT(x->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    OPT(x->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    OPT(x->easy, CURLOPT_NOSIGNAL, 1L);
    OPT(x->easy, CURLOPT_USERAGENT, h->agent);
    OPT(x->easy, CURLOPT_ERRORBUFFER, x->why);
    OPT(x->easy, CURLOPT_PRIVATE, x);
    OPT(x->easy, CURLOPT_HEADERFUNCTION, on_header);
    OPT(x->easy, CURLOPT_HEADERDATA, x);
    OPT(x->easy, CURLOPT_WRITEFUNCTION, on_body);
    OPT(x->easy, CURLOPT_WRITEDATA, x);
    exchange_limits(x, q, stream);
    exchange_headers(x, q, key, after);
    exchange_body(x, q);
    CURLMcode added = curl_multi_add_handle(h->multi, x->easy);
    assert(added == CURLM_OK);
    return 0;
}

static bool exchange_collect(struct http *h)
{
    bool any = false;
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(h->multi, &left));) {
        if (m->msg != CURLMSG_DONE)
            continue;
        struct http_exchange *x = NULL;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&x);
        x->over = any = true;
        x->result = m->data.result;
    }
    return any;
}

int exchange_work(struct http *h, int timeout_ms, struct err *e)
{
    int running;
    CURLMcode rc = curl_multi_perform(h->multi, &running);
    if (rc == CURLM_OK && !exchange_collect(h)) {
        rc = curl_multi_poll(h->multi, NULL, 0, timeout_ms, NULL);
        if (rc == CURLM_OK)
            rc = curl_multi_perform(h->multi, &running);
        (void)exchange_collect(h);
    }
    if (rc != CURLM_OK)
        return err_set(e, ERR_INTERNAL, "the HTTP client failed: %s", curl_multi_strerror(rc));
    return 0;
}

void exchange_listen(struct http_exchange *x)
{
    if (x->over || http_clock_ms() - x->heard_ms < x->h->o.idle_ms)
        return;
    x->over = true;
    x->result = CURLE_OPERATION_TIMEDOUT;
}

static void exchange_trace(const struct http_exchange *x)
{
    char took[16];
    char *method = NULL, *url = NULL;
    curl_easy_getinfo(x->easy, CURLINFO_EFFECTIVE_METHOD, &method);
    curl_easy_getinfo(x->easy, CURLINFO_EFFECTIVE_URL, &url);
    text_duration_show(http_clock_ms() - x->began_ms, took);
    SCOPED_BUF(b);
    buf_printf(&b, "%s %s -> ", method ? method : "?", url ? url : "?");
    if (x->status)
        buf_printf(&b, "%u, %zu bytes, %s", x->status, x->got.len, took);
    else
        buf_printf(&b, "%s, %s", x->why[0] ? x->why : "no answer", took);
    x->h->o.trace(x->h->o.trace_arg, b.data);
}

void exchange_end(struct http_exchange *x)
{
    if (x->easy) {
        if (x->h->o.trace)
            exchange_trace(x);
        curl_multi_remove_handle(x->h->multi, x->easy);
        curl_easy_cleanup(x->easy);
    }
    curl_slist_free_all(x->headers);
    buf_done(&x->body);
    buf_done(&x->got);
    buf_done(&x->etag);
    buf_done(&x->type);
    buf_done(&x->location);
    *x = (struct http_exchange){0};
}
