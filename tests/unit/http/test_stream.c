/* test_stream.c - streams, and subscriptions that survive a lost connection */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"
#include "http/http.h"
#include "tap.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static struct http *patient(struct fake *f, uint32_t idle_ms)
{
    struct err e;
    struct http *h = NULL;
    const struct http_options o = {.base = f ? fake_url(f) : fake_nowhere(), .idle_ms = idle_ms};
    if (http_new(&o, &h, &e))
        printf("Bail out! %s\n", e.text);
    return h;
}

static struct http *client(struct fake *f)
{
    return patient(f, 1000);
}

struct sink {
    struct buf got;
    bool refuse;
};

static int take(void *arg, const char *p, size_t n, struct err *e)
{
    struct sink *s = arg;
    buf_put(&s->got, p, n);
    return s->refuse ? err_set(e, ERR_LIMIT, "enough") : 0;
}

static int drain(struct http_stream *s, struct err *e)
{
    int rc;
    while ((rc = http_stream_wait(s, -1, e)) > 0)
        ;
    return rc;
}

static void test_text(void)
{
    static const struct fake_step script[] = {
        {FAKE_SEND, "one\n", 0}, {FAKE_AWAIT, "GET /go", 1}, {FAKE_SEND, "two\n", 0}};
    static const struct fake_step broken[] = {{FAKE_SEND, "half", 0}, {FAKE_BREAK, NULL, 0}};
    static const struct fake_step silent[] = {{FAKE_HOLD, NULL, 0}};
    struct fake *f = fake_new();
    struct http *h = client(f);
    struct sink sink = {0};
    struct http_stream *s;
    struct err e;
    SCOPED_ARENA(mem);
    fake_stream(f, "/log", "text/plain", script, COUNT(script));
    struct http_request q = {.method = "GET", .path = "/log", .accept = "text/plain"};
    is_int(http_stream_open(h, &q, take, &sink, &s, &e), 0, "a stream opens");
    ok(!http_stream_accepted(s), "not yet accepted");
    while (!sink.got.len)
        is_int(http_stream_wait(s, -1, &e), 1, "it goes on");
    ok(http_stream_accepted(s), "accepted");
    is_text(sink.got.data, "one\n", "what was sent so far is there");
    is_int(http_stream_wait(s, 0, &e), 1, "a look without waiting");
    struct http_reply r;
    struct http_request go = {.method = "GET", .path = "/go"};
    fake_on(f, "GET /go", 200, "{}");
    is_int(http_call(h, &mem, &go, &r, &e), 0, "a call beside the open stream");
    is_int(drain(s, &e), 0, "the stream ends as it should");
    is_text(sink.got.data, "one\ntwo\n", "everything came");
    is_int(http_stream_wait(s, 10, &e), 0, "an ended stream stays ended");
    http_stream_free(s);

    q.path = "/refused";
    is_int(http_stream_open(h, &q, take, &sink, &s, &e), 0, "a stream of something unknown opens");
    is_int(drain(s, &e), -ERR_NOT_FOUND, "and is refused with the server's code");
    http_stream_free(s);

    fake_stream(f, "/broken", "text/plain", broken, COUNT(broken));
    q.path = "/broken";
    http_stream_open(h, &q, take, &sink, &s, &e);
    is_int(drain(s, &e), -ERR_UNREACHABLE, "a connection that is reset");
    http_stream_free(s);

    sink.refuse = true;
    q.path = "/log";
    http_stream_open(h, &q, take, &sink, &s, &e);
    is_int(drain(s, &e), -ERR_LIMIT, "the function's own error ends it");
    is_text(e.text, "enough", "and is the one that is told");
    http_stream_free(s);

    sink.refuse = false;
    fake_stream(f, "/silent", "text/plain", silent, COUNT(silent));
    q.path = "/silent";
    http_stream_open(h, &q, take, &sink, &s, &e);
    is_int(http_stream_wait(s, 1, &e), 1, "a wait that runs out");
    is_int(drain(s, &e), -ERR_TIMEOUT, "silence for longer than allowed");
    has_text(e.text, "said nothing for", "says so");
    http_stream_free(s);
    http_free(h);
    fake_free(f);
    buf_done(&sink.got);
}

/* Less than a byte a second is life: so a quiet server's heartbeats are. */
static void test_heartbeats(void)
{
    static const struct fake_step script[] = {{FAKE_AWAIT, "GET /beat", 1},
                                              {FAKE_SEND, ":", 0},
                                              {FAKE_AWAIT, "GET /beat", 2},
                                              {FAKE_SEND, ":", 0},
                                              {FAKE_HOLD, NULL, 0}};
    struct fake *f = fake_new();
    struct http *h = patient(f, 3000);
    struct sink sink = {0};
    struct http_stream *s;
    struct err e;
    SCOPED_ARENA(mem);
    fake_stream(f, "/log", "text/plain", script, COUNT(script));
    fake_on(f, "GET /beat", 200, "{}");
    struct http_request q = {.method = "GET", .path = "/log", .accept = "text/plain"};
    struct http_request beat = {.method = "GET", .path = "/beat"};
    struct http_reply r;
    is_int(http_stream_open(h, &q, take, &sink, &s, &e), 0, "a stream of heartbeats");
    while (!http_stream_accepted(s))
        http_stream_wait(s, -1, &e);
    for (size_t n = 1; n <= 2; n++) {
        is_int(http_stream_wait(s, 2000, &e), 1, "quiet, but not for too long");
        is_int(http_call(h, &mem, &beat, &r, &e), 0, "a heartbeat is asked for");
        while (sink.got.len < n && http_stream_wait(s, -1, &e) > 0)
            ;
        is_int(sink.got.len, n, "and comes");
    }
    http_stream_free(s);
    http_free(h);
    fake_free(f);
    buf_done(&sink.got);
}

struct log {
    struct buf b;
    int events, changes, refuse_at;
};

static int on_event(void *arg, const struct http_event *ev, struct err *e)
{
    struct log *l = arg;
    buf_printf(&l->b, "%s=%s ", ev->id, ev->data.s);
    if (++l->events == l->refuse_at)
        return err_set(e, ERR_REFUSED, "no more");
    return 0;
}

static void on_state(void *arg, const struct err *lost)
{
    struct log *l = arg;
    l->changes++;
    buf_puts(&l->b, lost ? "LOST " : "UP ");
}

static int follow(struct http *h, struct log *l, const char *since, uint32_t patience_ms,
                  int until_events, struct err *e)
{
    struct http_events *s;
    const struct http_events_options o = {.path = "/v1/events",
                                          .since = since,
                                          .fn = on_event,
                                          .state = on_state,
                                          .arg = l,
                                          .patience_ms = patience_ms};
    int rc = http_events_open(h, &o, &s, e);
    while (rc >= 0 && l->events < until_events && (rc = http_events_wait(s, -1, e)) > 0)
        ;
    http_events_free(s);
    return rc;
}

static void test_events(void)
{
    static const struct fake_step first[] = {
        {FAKE_SEND, ": hello\n\nid: 8\ndata: a\n\nid: 9\nda", 0}};
    static const struct fake_step second[] = {{FAKE_SEND, "id: 9\ndata: b\n\n", 0},
                                              {FAKE_BREAK, NULL, 0}};
    static const struct fake_step third[] = {{FAKE_SEND, "id: 10\ndata: c\n\n", 0},
                                             {FAKE_HOLD, NULL, 0}};
    struct fake *f = fake_new();
    struct http *h = client(f);
    struct log l = {0};
    struct err e;
    fake_stream(f, "/v1/events", "text/event-stream", first, COUNT(first));
    fake_stream(f, "/v1/events", "text/event-stream", second, COUNT(second));
    fake_stream(f, "/v1/events", "text/event-stream", third, COUNT(third));
    is_int(follow(h, &l, "7", 0, 3, &e), 1, "three events over three connections");
    is_text(buf_str(&l.b).s, "UP 8=a LOST UP 9=b LOST UP 10=c ",
            "each event once, each change told");
    has_text(fake_request(f, "", 0), "Last-Event-ID: 7\r\n", "the first connection asks from 7");
    has_text(fake_request(f, "", 0), "Accept: text/event-stream\r\n", "for a stream");
    has_text(fake_request(f, "", 1), "Last-Event-ID: 8\r\n",
             "the second from 8: half an event is none");
    has_text(fake_request(f, "", 2), "Last-Event-ID: 9\r\n", "the third from 9");
    http_free(h);
    fake_free(f);
    buf_done(&l.b);
}

static void test_events_end(void)
{
    static const struct fake_step one[] = {{FAKE_SEND, "data: a\n\n", 0}};
    struct log l = {0};
    struct err e;
    struct fake *f = fake_new();
    struct http *h = client(f);
    fake_on(f, "GET /v1/events", 401, "{\"type\":\"urn:anneal:error:unauthorized\"}");
    is_int(follow(h, &l, NULL, 0, 9, &e), -ERR_UNAUTHORIZED, "a refusal ends the subscription");
    is_int(fake_total(f), 1, "at once");
    ok(!strstr(fake_request(f, "", 0), "Last-Event-ID"), "without a start there is no id");
    fake_off(f, "GET /v1/events");

    fake_stream(f, "/v1/events", "text/event-stream", one, COUNT(one));
    fake_on(f, "GET /v1/events", 503, "{\"type\":\"urn:anneal:error:busy\"}");
    fake_on_headers(f, "GET /v1/events", 204, "", "");
    l.changes = 0;
    is_int(follow(h, &l, NULL, 0, 9, &e), 0, "204 ends it for good");
    is_int(l.changes, 2, "a busy server in between is told as one loss");
    fake_off(f, "GET /v1/events");

    fake_stream(f, "/v1/events", "text/event-stream", one, COUNT(one));
    fake_on(f, "GET /v1/events", 503, "{\"type\":\"urn:anneal:error:busy\"}");
    is_int(follow(h, &l, NULL, 50, 9, &e), -ERR_BUSY, "patience ends with the last error");
    fake_off(f, "GET /v1/events");

    fake_stream(f, "/v1/events", "text/event-stream", one, COUNT(one));
    l.refuse_at = l.events + 1;
    is_int(follow(h, &l, NULL, 0, 99, &e), -ERR_REFUSED, "the function's error ends it");
    http_free(h);
    fake_free(f);
    h = client(NULL);
    is_int(follow(h, &l, NULL, 0, 99, &e), -ERR_UNREACHABLE,
           "a server that never was there is not sought");
    http_free(h);
    buf_done(&l.b);

    struct http_events *s;
    static const struct fake_step hold[] = {{FAKE_HOLD, NULL, 0}};
    f = fake_new();
    h = client(f);
    l = (struct log){0};
    fake_stream(f, "/v1/events", "text/event-stream", hold, COUNT(hold));
    const struct http_events_options o = {.path = "/v1/events", .fn = on_event, .arg = &l};
    is_int(http_events_open(h, &o, &s, &e), 0, "a subscription without a state function");
    is_int(http_events_wait(s, -1, &e), 1, "stands");
    is_int(http_events_wait(s, 0, &e), 1, "a look without waiting");
    is_int(http_events_wait(s, 5, &e), 1, "a wait that runs out");
    is_int(l.events, 0, "and nothing came");
    http_events_free(s);
    http_free(h);
    fake_free(f);
}

int main(void)
{
    test_text();
    test_heartbeats();
    test_events();
    test_events_end();
    return tap_done();
}
