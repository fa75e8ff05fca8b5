/* test_callback.c - deliveries by a jig: what is sent, how it ends, what is refused */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"
#include "jig/bench.h"

#define SIGNATURE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *params_of(struct buf *b, const char *url, const char *more)
{
    buf_clear(b);
    buf_printf(b,
               "{\"url\":\"%s\",\"event\":\"success\",\"body\":\"{\\\"a\\\":1}\","
               "\"signature\":\"" SIGNATURE "\"%s}",
               url, more);
    return b->data;
}

/* How a delivery to this path ended. */
static int call(struct bench *b, struct fake *f, const char *path)
{
    SCOPED_BUF(url);
    SCOPED_BUF(params);
    buf_printf(&url, "%s%s", fake_url(f), path);
    return bench_run(b, "callback", params_of(&params, url.data, ""));
}

static void test_told(struct bench *b, struct fake *f)
{
    fake_on(f, "POST /hook", 202, "{}");
    is_int(call(b, f, "/hook"), OUTCOME_OK, "a callback is delivered");
    has_text(b->r.text, "answered 202", "and taken");
    const char *q = fake_request(f, "POST /hook", 0);
    has_text(q, "Content-Type: application/json\r\n", "as JSON");
    has_text(q, "Anneal-Event: success\r\n", "with its event");
    has_text(q, "Anneal-Signature: sha256=" SIGNATURE "\r\n", "its signature");
    has_text(q, "Anneal-Delivery: key-1\r\n", "and the key of its task");
    is_text(fake_body(f, "POST /hook", 0), "{\"a\":1}", "and its text");
    is_text(TEXT(b->log[0]), "", "there is nothing to log");
}

static void test_refusals(struct bench *b, struct fake *f)
{
    SCOPED_BUF(params);
    fake_on(f, "POST /busy", 503, "come back later");
    is_int(call(b, f, "/busy?token=secret"), OUTCOME_FAILED, "who answers otherwise");
    has_text(b->r.text, "answered 503", "is quoted");
    ok(!strstr(b->r.text, "secret"), "without the address");
    is_text(TEXT(b->log[1]), "come back later\n", "and what is said is in the log");
    is_int(fake_count(f, "POST /busy"), 1, "asked once");
    fake_on(f, "POST /gone", 410, "");
    is_int(call(b, f, "/gone"), OUTCOME_REFUSED, "who never will is not asked again");
    fake_on(f, "POST /often", 429, "");
    is_int(call(b, f, "/often"), OUTCOME_FAILED, "who wants patience is");
    fake_on_headers(f, "POST /moved", 302, "Location: /hook\r\n", "");
    is_int(call(b, f, "/moved"), OUTCOME_FAILED, "a redirect is none");
    is_int(bench_run(b, "callback", params_of(&params, fake_nowhere(), "")), OUTCOME_FAILED,
           "nobody there");
    has_text(b->r.text, "cannot reach", "is said");
}

static void test_cancel(struct bench *b, struct fake *f)
{
    SCOPED_BUF(url);
    SCOPED_BUF(params);
    fake_on_after(f, "POST /never", 1000000, 200, "");
    buf_printf(&url, "%s/never", fake_url(f));
    is_int(bench_start(b, "callback", params_of(&params, url.data, ""), ""), 0, "one that hangs");
    is_int(b->finished, 0, "does not hold up who started it");
    b->jig->cancel(b->run, 1000);
    b->jig->cancel(b->run, 0);
    is_int(b->finished, 0, "the result never comes within cancel");
    bench_end(b);
    is_int(b->finished, 1, "it comes once");
    is_int((int)b->r.outcome, OUTCOME_CANCELLED, "as what it is");
}

static void test_checks(struct bench *b)
{
    static const struct {
        const char *params, *at, *what;
    } cases[] = {
        {"{\"event\":\"start\",\"body\":\"\",\"signature\":\"" SIGNATURE "\"}", "", "no url"},
        {"{\"url\":\"http://h/\",\"event\":\"start\",\"body\":\"\"}", "", "no signature"},
        {"{\"url\":\"ftp://h/\",\"event\":\"start\",\"body\":\"\",\"signature\":\"" SIGNATURE "\"}",
         "/url", "another scheme"},
        {"{\"url\":\"http://u:p@h/\",\"event\":\"start\",\"body\":\"\",\"signature\":\"" SIGNATURE
         "\"}",
         "/url", "a password"},
        {"{\"url\":\"http://h/\",\"event\":\"a\\nb\",\"body\":\"\",\"signature\":\"" SIGNATURE
         "\"}",
         "/event", "an event of two lines"},
        {"{\"url\":\"http://h/\",\"event\":\"start\",\"body\":\"\",\"signature\":\"12\"}",
         "/signature", "a signature that is none"},
        {"{\"url\":\"http://h/\",\"event\":\"start\",\"body\":{},\"signature\":\"" SIGNATURE "\"}",
         "/body", "a body that is no text"},
        {"{\"skip\":\"yes\"}", "/skip", "a skip that is no answer"},
        {"{\"skip\":true,\"method\":\"GET\"}", "/method", "a parameter nobody knows"},
        {"", "", "nothing"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(bench_start(b, "callback", cases[i].params, ""), -ERR_INVALID, "refuses %s",
               cases[i].what);
        is_text(b->e.at, cases[i].at, "at its place");
    }
    is_int(bench_run(b, "callback", "{\"skip\":true}"), OUTCOME_OK, "what nobody wants is done");
    is_text(b->r.text, "not wanted", "by saying so");
}

static void test_preview(struct bench *b, struct fake *f)
{
    SCOPED_BUF(url);
    SCOPED_BUF(params);
    int before = fake_total(f);
    buf_printf(&url, "%s/hook?token=secret", fake_url(f));
    is_int(bench_run(b, "callback", "{\"skip\":true}"), OUTCOME_OK, "a run to look at");
    const struct jig *jig = b->jig;
    struct value *p = NULL;
    struct jig_result r = {0};
    const char *text = params_of(&params, url.data, "");
    is_int(json_parse(&b->mem, text, strlen(text), NULL, &p, &b->e), 0, "and what it would do");
    struct task_request req = {.msg = &b->msg, .params = p};
    jig->preview(&b->env, &req, &r);
    is_text(r.text, "no-op: not told", "is not done");
    has_text(TEXT(b->log[0]), "of success: 7 bytes", "but told");
    ok(!strstr(TEXT(b->log[0]), SIGNATURE) && !strstr(TEXT(b->log[0]), "secret"),
       "without signature and address");
    is_int(fake_total(f), before, "nobody was asked");
}

int main(void)
{
    struct bench b;
    struct fake *f = fake_new();
    bench_init(&b, RUNNER_PATH);
    test_told(&b, f);
    test_refusals(&b, f);
    test_cancel(&b, f);
    test_checks(&b);
    test_preview(&b, f);
    bench_done(&b);
    fake_free(f);
    return tap_done();
}
