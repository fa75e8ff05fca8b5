/* test_call.c - calls: what is sent, what comes back, what is repeated and what is not */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"
#include "http/http.h"
#include "tap.h"

struct client {
    struct fake *f;
    struct http *h;
    struct arena mem;
    struct buf trace;
    struct http_reply r;
    struct err e;
};

static void keep_line(void *arg, const char *line)
{
    struct buf *b = arg;
    buf_printf(b, "%s\n", line);
}

static void client_open(struct client *c, struct http_options o)
{
    *c = (struct client){.f = fake_new()};
    arena_init(&c->mem);
    if (!o.base)
        o.base = fake_url(c->f);
    o.pause_ms = 1;
    o.trace = keep_line;
    o.trace_arg = &c->trace;
    if (http_new(&o, &c->h, &c->e))
        printf("Bail out! %s\n", c->e.text);
}

static void client_close(struct client *c)
{
    http_free(c->h);
    fake_free(c->f);
    buf_done(&c->trace);
    arena_done(&c->mem);
}

static int call(struct client *c, const char *method, const char *path, const char *body,
                const char *match)
{
    struct http_request q = {.method = method, .path = path, .if_match = match};
    if (body) {
        struct value *v = value_map(&c->mem);
        value_put_text(&c->mem, v, "name", body);
        q.body = v;
    }
    c->r = (struct http_reply){0};
    err_clear(&c->e);
    return http_call(c->h, &c->mem, &q, &c->r, &c->e);
}

static void test_plain(void)
{
    struct client c;
    client_open(&c, (struct http_options){.token = {"anl_secret"}, .agent = "tester/1"});
    fake_on_headers(c.f, "GET /v1/x", 200,
                    "ETag: \"42\"\r\nContent-Type: application/json; charset=utf-8\r\n",
                    "{\"a\": 1}");
    is_int(call(&c, "GET", "/v1/x?y=1", NULL, NULL), 0, "a GET");
    is_int(c.r.status, 200, "its status");
    is_int(value_as_int(value_get(c.r.value, "a"), 0), 1, "its value");
    is_text(c.r.etag, "42", "its revision, without quotes");
    const char *q = fake_request(c.f, "", 0);
    has_text(q, "GET /v1/x?y=1 HTTP/1.1\r\n", "the request line");
    has_text(q, "Authorization: Bearer anl_secret\r\n", "the token travels");
    has_text(q, "Accept: application/json\r\n", "JSON is asked for");
    has_text(q, "User-Agent: tester/1\r\n", "the client names itself");
    ok(!strstr(q, "Idempotency-Key"), "a GET needs no key");
    ok(!strstr(q, "Content-Type"), "nor a type");
    has_text(buf_str(&c.trace).s, "/v1/x?y=1 -> 200, 8 bytes", "the trace has a line");
    ok(!strstr(c.trace.data, "anl_secret"), "the trace has no token");

    fake_on(c.f, "POST /v1/x", 201, "{}");
    is_int(call(&c, "POST", "/v1/x", "n\"1", NULL), 0, "a POST");
    q = fake_request(c.f, "POST /v1/x", 0);
    has_text(q, "Content-Type: application/json\r\n", "its type");
    has_text(q, "Idempotency-Key: ", "its key");
    ok(!strstr(q, "Expect:"), "no pause before the body");
    is_text(fake_body(c.f, "POST /v1/x", 0), "{\"name\":\"n\\\"1\"}", "its body");
    is_int(call(&c, "POST", "/v1/x", NULL, NULL), 0, "a POST without a body");
    q = fake_request(c.f, "POST /v1/x", 1);
    has_text(q, "Content-Length: 0\r\n", "says so");
    ok(!strstr(q, "Content-Type"), "and names no type");

    fake_on_headers(c.f, "PATCH /v1/x", 204, "", "");
    is_int(call(&c, "PATCH", "/v1/x", "z", "7"), 0, "a PATCH");
    has_text(fake_request(c.f, "PATCH /v1/x", 0), "If-Match: \"7\"\r\n", "with its revision");
    ok(!c.r.value && !c.r.text.n, "204 has no body");
    is_int(call(&c, "PATCH", "/v1/x", "z", "*"), 0, "a PATCH of whatever is there");
    has_text(fake_request(c.f, "PATCH /v1/x", 1), "If-Match: *\r\n", "with a bare star");
    fake_on_headers(c.f, "DELETE /v1/x", 200, "Content-Type: text/plain\r\n", "gone");
    is_int(call(&c, "DELETE", "/v1/x", NULL, "7"), 0, "a DELETE");
    ok(!c.r.value && str_is(c.r.text, "gone"), "text stays text");
    fake_on_headers(c.f, "HEAD /v1/x", 200, "", "");
    is_int(call(&c, "HEAD", "/v1/x", NULL, NULL), 0, "a HEAD");
    client_close(&c);
}

static void test_problems(void)
{
    struct client c;
    client_open(&c, (struct http_options){0});
    fake_on(c.f, "GET /p", 422,
            "{\"type\":\"urn:anneal:error:refused\",\"title\":\"refused\",\"status\":422,"
            "\"detail\":\"slots must be 1 or more\",\"pointer\":\"/slots\",\"line\":\"slots: 0\","
            "\"hint\":\"use 1\"}");
    is_int(call(&c, "GET", "/p", NULL, NULL), -ERR_REFUSED, "a problem has the server's code");
    is_text(c.e.text, "slots must be 1 or more", "its detail");
    is_text(c.e.at, "/slots", "its pointer");
    is_text(c.e.line, "slots: 0", "its line");
    is_text(c.e.hint, "use 1", "its hint");
    fake_on(c.f, "GET /q", 412, "{\"title\":\"it moved\"}");
    is_int(call(&c, "GET", "/q", NULL, NULL), -ERR_STALE, "without a type the status decides");
    is_text(c.e.text, "it moved", "without a detail the title speaks");
    fake_on(c.f, "GET /r", 418, "{\"type\":\"urn:anneal:error:teapot\"}");
    is_int(call(&c, "GET", "/r", NULL, NULL), -ERR_INVALID, "an unknown 4xx");
    fake_on(c.f, "GET /s", 599, "{}");
    is_int(call(&c, "GET", "/s", NULL, NULL), -ERR_INTERNAL, "an unknown 5xx");
    fake_on_headers(c.f, "GET /t", 404, "Content-Type: text/html\r\n", "<h1>nginx</h1>");
    is_int(call(&c, "GET", "/t", NULL, NULL), -ERR_NOT_FOUND, "somebody else's 404");
    has_text(c.e.text, "answered 404 (text/html)", "says who answered what");
    has_text(c.e.hint, "anneald", "and doubts the address");
    fake_on_headers(c.f, "GET /long", 414, "Content-Type: text/html\r\n", "<html>too big</html>");
    is_int(call(&c, "GET", "/long", NULL, NULL), -ERR_TOO_LARGE,
           "a request that the HTTP library refused");
    has_text(c.e.text, "answered 414: the request is too long", "says what is wrong with it");
    has_text(c.e.hint, "selector", "and what to do");
    fake_on_headers(c.f, "GET /u", 302, "Location: http://elsewhere/\r\n", "");
    is_int(call(&c, "GET", "/u", NULL, NULL), -ERR_UNREACHABLE, "a redirection is not followed");
    has_text(c.e.text, "http://elsewhere/", "but named");
    fake_on(c.f, "GET /v", 500, "[1");
    is_int(call(&c, "GET", "/v", NULL, NULL), -ERR_INTERNAL, "a broken problem");
    has_text(c.e.text, "answered 500", "is still an answer");
    fake_on(c.f, "GET /w", 200, "{\"a\":");
    is_int(call(&c, "GET", "/w", NULL, NULL), -ERR_SYNTAX, "an answer that is not JSON");
    has_text(c.e.text, "is not JSON", "says so");
    is_int(fake_total(c.f), 9, "none of these is asked twice");
    client_close(&c);
}

/* The value of a header in a recorded request. */
static void header_of(const char *request, const char *name, char *ret, size_t n)
{
    const char *at = strstr(request, name);
    snprintf(ret, n, "%.*s", at ? (int)strcspn(at, "\r") : 0, at ? at : "");
}

static void test_repeats(void)
{
    static const struct {
        const char *method;
        int rc, asked;
    } broken[] = {
        {"GET", 0, 2},
        {"POST", 0, 2},
        {"PATCH", -ERR_UNREACHABLE, 1},
        {"PUT", -ERR_UNREACHABLE, 1},
        {"DELETE", -ERR_UNREACHABLE, 1},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct client c;
        char route[32];
        client_open(&c, (struct http_options){.if_down = "is it up?"});
        snprintf(route, sizeof route, "%s /x", broken[i].method);
        fake_on_drop(c.f, route);
        fake_on(c.f, route, 200, "{}");
        is_int(call(&c, broken[i].method, "/x", NULL, NULL), broken[i].rc,
               "a %s whose connection breaks", broken[i].method);
        is_int(fake_total(c.f), broken[i].asked, "a %s is asked %d times", broken[i].method,
               broken[i].asked);
        if (broken[i].rc)
            is_text(c.e.hint, "is it up?", "the hint is the caller's");
        client_close(&c);
    }
    struct client c;
    char first[80], again[80];
    client_open(&c, (struct http_options){0});
    fake_on_drop(c.f, "POST /once");
    fake_on(c.f, "POST /once", 200, "{}");
    const struct http_request once = {.method = "POST", .path = "/once", .once = true};
    is_int(http_call(c.h, &c.mem, &once, &c.r, &c.e), -ERR_UNREACHABLE,
           "a POST that must not repeat");
    is_int(fake_count(c.f, "POST /once"), 1, "is not repeated");
    ok(!strstr(fake_request(c.f, "POST /once", 0), "Idempotency-Key"), "and has no key");
    fake_on(c.f, "POST /x", 503, "{\"type\":\"urn:anneal:error:busy\",\"detail\":\"later\"}");
    fake_on(c.f, "POST /x", 200, "{}");
    is_int(call(&c, "POST", "/x", "a", NULL), 0, "a busy server is asked again");
    header_of(fake_request(c.f, "POST /x", 0), "Idempotency-Key", first, sizeof first);
    header_of(fake_request(c.f, "POST /x", 1), "Idempotency-Key", again, sizeof again);
    ok(strlen(first) > 32, "with a key");
    is_text(again, first, "that is the same in both attempts");
    is_int(call(&c, "POST", "/x", "a", NULL), 0, "another POST");
    header_of(fake_request(c.f, "POST /x", 2), "Idempotency-Key", again, sizeof again);
    ok(strcmp(again, first) != 0, "has another key");
    fake_on(c.f, "GET /y", 503, "{\"type\":\"urn:anneal:error:busy\",\"detail\":\"later\"}");
    is_int(call(&c, "GET", "/y", NULL, NULL), -ERR_BUSY, "a server that stays busy");
    is_int(fake_count(c.f, "GET /y"), 4, "is asked four times");
    fake_on(c.f, "PUT /y", 503, "{\"type\":\"urn:anneal:error:busy\",\"detail\":\"later\"}");
    is_int(call(&c, "PUT", "/y", NULL, "1"), -ERR_BUSY, "a PUT that is told to come later");
    is_int(fake_count(c.f, "PUT /y"), 1, "is not repeated unasked");
    client_close(&c);
}

static void test_down(void)
{
    struct client c;
    client_open(&c, (struct http_options){.base = fake_nowhere(), .if_down = "start it"});
    is_int(call(&c, "GET", "/x", NULL, NULL), -ERR_UNREACHABLE, "nobody listens");
    has_text(c.e.text, fake_nowhere(), "the text names the address");
    has_text(c.e.text, "refused", "and the reason");
    is_text(c.e.hint, "start it", "and the hint is the caller's");
    has_text(buf_str(&c.trace).s, "GET http://127.0.0.1:1/x -> ", "the trace has a line");
    client_close(&c);
    client_open(&c, (struct http_options){.base = fake_nowhere(), .patience_ms = 30});
    is_int(call(&c, "PATCH", "/x", NULL, NULL), -ERR_UNREACHABLE, "patience ends too");
    int lines = 0;
    for (char *p = c.trace.data; (p = strchr(p, '\n')); p++)
        lines++;
    ok(lines >= 3, "but the server was sought again (%d times)", lines);
    client_close(&c);
    client_open(&c, (struct http_options){.base = "http://no-such-host.invalid"});
    is_int(call(&c, "GET", "/x", NULL, NULL), -ERR_UNREACHABLE, "a host that does not exist");
    has_text(c.e.text, "no host of that name", "says so");
    client_close(&c);
}

static void test_limits(void)
{
    static const struct fake_step silence[] = {{FAKE_HOLD, NULL, 0}};
    struct client c;
    client_open(&c, (struct http_options){.timeout_ms = 40, .max_bytes = 10});
    fake_stream(c.f, "/slow", "application/json", silence, 1);
    is_int(call(&c, "GET", "/slow", NULL, NULL), -ERR_TIMEOUT, "an answer that does not come");
    has_text(c.e.text, "no answer from http://127.0.0.1", "names the server");
    is_int(fake_count(c.f, "GET /slow"), 1, "and is not asked again");
    fake_on(c.f, "GET /big", 200, "\"12345678901234567890\"");
    struct http_request q = {.method = "GET", .path = "/big", .timeout_ms = 20000};
    is_int(http_call(c.h, &c.mem, &q, &c.r, &c.e), -ERR_TOO_LARGE, "an answer that is too large");
    client_close(&c);

    static const struct fake_step garbage[] = {{FAKE_SEND, "", 0}};
    client_open(&c, (struct http_options){.cacert = "/nonexistent/ca.pem"});
    fake_stream(c.f, "/x", "application/json", garbage, 1);
    is_int(call(&c, "GET", "/x", NULL, NULL), -ERR_INVALID, "a CA file that is not there");
    has_text(c.e.text, "/nonexistent/ca.pem", "is named");
    is_int(fake_total(c.f), 0, "before anything is sent");
    client_close(&c);
}

int main(void)
{
    test_plain();
    test_problems();
    test_repeats();
    test_down();
    test_limits();
    return tap_done();
}
