/* test_deliver.c - a text brought to an address: what is sent, what counts as an answer, and what
 * is told of the address
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"
#include "http/http.h"
#include "tap.h"

struct post {
    struct fake *f;
    struct buf url;
    struct http_delivery d;
    struct http_receipt r;
    struct err e;
};

static int deliver(struct post *p, const char *path)
{
    buf_clear(&p->url);
    buf_printf(&p->url, "%s%s", fake_url(p->f), path);
    p->d.url = p->url.data;
    p->r = (struct http_receipt){0};
    p->e = (struct err){0};
    return http_deliver(&p->d, &p->r, &p->e);
}

static void test_sent(struct post *p)
{
    static const struct http_header headers[] = {{"Content-Type", "application/json"},
                                                 {"Anneal-Event", "start"}};
    const char *text = "{\"a\": \"%d & \\u0000\"}";
    p->d = (struct http_delivery){
        .body = str_of(text), .headers = headers, .n_headers = 2, .agent = "tester/1"};
    fake_on(p->f, "POST /hook", 204, "");
    is_int(deliver(p, "/hook?x=1"), 0, "a text is delivered");
    is_int(p->r.status, 204, "with its status");
    is_int(p->r.n_said, 0, "and nothing said");
    const char *q = fake_request(p->f, "", 0);
    has_text(q, "POST /hook?x=1 HTTP/1.1\r\n", "as a POST to the whole address");
    has_text(q, "Content-Type: application/json\r\n", "with its type");
    has_text(q, "Anneal-Event: start\r\n", "and the other headers");
    has_text(q, "User-Agent: tester/1\r\n", "under this name");
    ok(!strstr(q, "Expect:") && !strstr(q, "Authorization"), "and no others of ours");
    is_text(fake_body(p->f, "", 0), text, "byte for byte");
    p->d = (struct http_delivery){0};
    is_int(deliver(p, "/hook"), 0, "an empty text is one too");
    is_text(fake_body(p->f, "", 1), "", "of no bytes");
}

static void test_answers(struct post *p)
{
    SCOPED_BUF(large);
    while (large.len < 200 * 1024)
        buf_puts(&large, "0123456789abcdef");
    fake_on(p->f, "POST /no", 500, "{\"why\": \"not today\"}");
    is_int(deliver(p, "/no"), 0, "a refusal is an answer");
    is_int(p->r.status, 500, "with its status");
    is_int(strncmp(p->r.said, "{\"why\": \"not today\"}", p->r.n_said), 0, "and what it says");
    is_int(fake_count(p->f, "POST /no"), 1, "nothing is repeated");
    fake_on_headers(p->f, "POST /moved", 307, "Location: /elsewhere\r\n", "");
    is_int(deliver(p, "/moved"), 0, "a redirect");
    is_int(p->r.status, 307, "is an answer");
    is_int(fake_count(p->f, "POST /elsewhere"), 0, "and not followed");
    fake_on(p->f, "POST /large", 200, large.data);
    is_int(deliver(p, "/large"), 0, "an answer that goes on and on");
    is_int(p->r.status, 200, "has its status");
    is_int(p->r.n_said, HTTP_SAID_BYTES, "and a beginning");
    fake_on_drop(p->f, "POST /drop");
    is_int(deliver(p, "/drop?token=secret"), -ERR_UNREACHABLE, "no answer");
    has_text(p->e.text, fake_url(p->f), "names the server");
    ok(!strstr(p->e.text, "secret") && !strstr(p->e.text, "/drop"), "and nothing else of it");
    p->d.url = fake_nowhere();
    is_int(http_deliver(&p->d, &p->r, &p->e), -ERR_UNREACHABLE, "nobody there");
}

static bool at_once(void *arg)
{
    ++*(int *)arg;
    return true;
}

static void test_ends(struct post *p)
{
    int asked = 0;
    fake_on_after(p->f, "POST /never", 1000000, 200, "");
    p->d = (struct http_delivery){.timeout_ms = 50};
    is_int(deliver(p, "/never"), -ERR_TIMEOUT, "who does not answer in time");
    p->d = (struct http_delivery){.stopped = at_once, .arg = &asked};
    is_int(deliver(p, "/never"), -ERR_FAILED, "who is told to give up does");
    ok(asked > 0, "when it asks");
    has_text(p->e.text, "given up", "and says so");
}

static void test_refused(struct post *p)
{
    static const struct http_header bad[] = {{"Anneal-Event", "x\r\nX-Other: y"}};
    static const struct {
        const char *url, *why;
    } cases[] = {{"ftp://example.com/x", "http:// or https://"},
                 {"file:///etc/passwd", "http:// or https://"},
                 {"example.com/x", "http:// or https://"},
                 {"", "http:// or https://"},
                 {"http://", "http:// or https://"},
                 {"http://exa mple.com/", "http:// or https://"},
                 {"https://user:secret@example.com/", "user name"},
                 {"https://user@example.com/", "user name"},
                 {"https://:secret@example.com/", "user name"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = {0};
        is_int(http_url_check(cases[i].url, &e), -ERR_INVALID, "\"%s\" is no address",
               cases[i].url);
        has_text(e.text, cases[i].why, "because of what it says");
        ok(!strstr(e.text, "secret"), "no password is told");
    }
    is_int(http_url_check("https://example.com:8443/a?b=c", &p->e), 0, "one that is");
    SCOPED_BUF(server);
    http_url_server(&server, "https://example.com:8443/a?b=c");
    is_text(server.data, "https://example.com:8443", "what may be told of it");
    int before = fake_total(p->f);
    p->d = (struct http_delivery){.headers = bad, .n_headers = 1};
    is_int(deliver(p, "/hook"), -ERR_INVALID, "a header that would be two is refused");
    is_int(fake_total(p->f), before, "and nothing is sent");
}

int main(void)
{
    struct post p = {.f = fake_new()};
    test_sent(&p);
    test_answers(&p);
    test_ends(&p);
    test_refused(&p);
    fake_free(p.f);
    buf_done(&p.url);
    return tap_done();
}
