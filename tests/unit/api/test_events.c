/* test_events.c - the journal as a stream and as a list */
/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "rig.h"
#include "tap.h"

static void stream_open(struct rig *r, struct client *c, const char *token, const char *query,
                        const char *headers)
{
    SCOPED_BUF(out);
    buf_printf(&out,
               "GET /v1/events%s HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n"
               "Authorization: Bearer %s\r\n%s\r\n",
               query, token, headers);
    client_open(r, c);
    client_send(r, c, out.data, out.len);
}

/* An event, and the time in which streams are woken at most once. */
static void tell(struct rig *r, uint32_t tenant, const char *kind)
{
    fake_event(r->server, tenant, kind);
    loop_fake_advance(r->loop, 100);
}

static void forget(struct client *c)
{
    buf_clear(&c->in);
}

static void test_follow(struct rig *r)
{
    struct client c;
    fake_event(r->server, 1, "tick");
    fake_event(r->server, 1, "tick");
    stream_open(r, &c, FAKE_READ, "", "");
    ok(client_wait_text(r, &c, "retry: 2000\n\n"), "a stream greets");
    has_text(c.in.data, "200 OK", "with 200");
    has_text(c.in.data, "Content-Type: text/event-stream", "as events");
    ok(!strstr(c.in.data, "data:"), "and starts now");
    forget(&c);
    tell(r, 1, "node.seen");
    ok(client_wait_text(r, &c, "id: 3\ndata: {\"id\":3,"), "a new event comes");
    has_text(c.in.data, "node.seen", "whole");
    forget(&c);
    tell(r, 2, "node.dead");
    ok(!client_has_bytes(r, &c), "not one of another tenant");
    tell(r, 1, "tick");
    ok(client_wait_text(r, &c, "id: 5\n"), "but the next of ours");
    forget(&c);
    fake_hold_groups(r->server, true);
    struct reply rep = rig_call(r, "GET", "/v1/health", NULL, NULL, NULL);
    reply_done(&rep);
    struct client w;
    client_open(r, &w);
    client_sends(r, &w,
                 "POST /v1/tasks/1/poke HTTP/1.1\r\nHost: x\r\n"
                 "Authorization: Bearer " FAKE_OPERATE "\r\n\r\n");
    loop_fake_advance(r->loop, 100);
    ok(!client_has_bytes(r, &c), "an event that is not durable is not told");
    fake_commit(r->server);
    ok(client_wait_text(r, &c, "task.poke"), "but as soon as it is");
    fake_hold_groups(r->server, false);
    client_close(&w);
    client_close(&c);
}

static void test_resume(struct rig *r)
{
    struct client c;
    stream_open(r, &c, FAKE_READ, "?since=1", "");
    ok(client_wait_text(r, &c, "id: 5\n"), "?since starts after a number");
    ok(strstr(c.in.data, "id: 2\n") && !strstr(c.in.data, "id: 1\n"), "and not before");
    client_close(&c);
    stream_open(r, &c, FAKE_READ, "", "Last-Event-ID: 3\r\n");
    ok(client_wait_text(r, &c, "id: 5\n"), "Last-Event-ID as well");
    ok(!strstr(c.in.data, "id: 3\n"), "and not before");
    client_close(&c);
    stream_open(r, &c, FAKE_READ, "?since=4", "Last-Event-ID: 1\r\n");
    ok(client_wait_text(r, &c, "id: 5\n"), "with both");
    ok(!strstr(c.in.data, "id: 3\n"), "since wins");
    client_close(&c);
    stream_open(r, &c, FAKE_READ, "", "Last-Event-ID: x\r\n");
    struct reply rep = client_reply(r, &c);
    is_int(rep.status, 400, "a Last-Event-ID that is no number is 400");
    reply_done(&rep);
    client_close(&c);
    stream_open(r, &c, FAKE_READ, "?limit=3", "");
    rep = client_reply(r, &c);
    is_int(rep.status, 400, "a stream has no limit");
    reply_done(&rep);
    client_close(&c);
    rep = rig_call(r, "HEAD", "/v1/events", FAKE_READ, "Accept: text/event-stream\r\n", NULL);
    is_int(rep.status, 200, "HEAD of a stream ends at once");
    reply_done(&rep);
    stream_open(r, &c, FAKE_READ, "?since=1000", "");
    ok(client_wait_text(r, &c, "event: gap\nid: 6\ndata: {\"from\":7,\"to\":1000}\n\n"),
       "numbers that do not exist are a gap");
    tell(r, 1, "tick");
    ok(client_wait_text(r, &c, "id: 7\n"), "after which it goes on from the newest");
    client_close(&c);
}

static void test_gap_and_cold(struct rig *r)
{
    struct client c;
    fake_events_trim(r->server, 4);
    /* Another scope than before: what READ asked for is still formatted, gap or not. */
    stream_open(r, &c, FAKE_OPERATE, "?since=1", "");
    ok(client_wait_text(r, &c, "event: gap\nid: 3\ndata: {\"from\":2,\"to\":3}\n\n"),
       "a gap is told");
    ok(client_wait_text(r, &c, "id: 5\n"), "and what is kept follows");
    ok(!strstr(c.in.data, "id: 4\n"), "without other tenants'");
    client_close(&c);
    fake_events_cold(r->server, 6);
    stream_open(r, &c, FAKE_OPERATE, "?since=4", "");
    ok(client_wait_text(r, &c, "retry:"), "a stream into what must be fetched");
    ok(client_has_bytes(r, &c) && !strstr(c.in.data, "id:"), "waits");
    struct client list;
    client_open(r, &list);
    client_sends(r, &list,
                 "GET /v1/events?since=4 HTTP/1.1\r\nHost: x\r\n"
                 "Authorization: Bearer " FAKE_READ "\r\n\r\n");
    ok(!client_has_bytes(r, &list), "so does a list");
    fake_events_warm(r->server);
    loop_fake_advance(r->loop, 100);
    ok(client_wait_text(r, &c, "id: 5\n"), "until it was fetched");
    struct reply rep = client_reply(r, &list);
    is_int(rep.status, 200, "both");
    has_text(rep.body.data, "\"id\":5", "see it");
    reply_done(&rep);
    client_close(&c);
    client_close(&list);
    fake_events_break(r->server, true);
    stream_open(r, &c, FAKE_ADMIN, "?since=4", "");
    ok(client_wait_close(r, &c), "a journal that cannot be read ends the stream");
    client_close(&c);
    rep = rig_call(r, "GET", "/v1/events", FAKE_READ, NULL, NULL);
    is_int(rep.status, 500, "and is a problem for a list");
    reply_done(&rep);
    fake_events_break(r->server, false);
    fake_events_trim(r->server, 1);
}

static void test_heartbeat(void)
{
    struct rig r;
    struct client c, revoked, gone;
    rig_open(&r, NULL); /* beats are counted from the first stream on */
    stream_open(&r, &c, FAKE_READ, "", "");
    stream_open(&r, &revoked, FAKE_OPERATE, "", "");
    stream_open(&r, &gone, FAKE_READ, "", "");
    ok(client_wait_text(&r, &c, "retry:") && client_wait_text(&r, &revoked, "retry:") &&
           client_wait_text(&r, &gone, "retry:"),
       "three streams");
    forget(&c);
    loop_fake_advance(r.loop, 14000);
    ok(!client_has_bytes(&r, &c), "nothing for 14 seconds");
    fake_revoke(r.server, FAKE_OPERATE);
    client_close(&gone);
    loop_fake_advance(r.loop, 1100);
    ok(client_wait_text(&r, &c, ":\n\n"), "then a comment");
    ok(client_wait_close(&r, &revoked), "a revoked token ends its stream");
    struct reply rep = rig_call(&r, "GET", "/metrics", NULL, NULL, NULL);
    has_text(rep.body.data, "\nanneal_api_streams 1\n", "and a client that left is noticed");
    reply_done(&rep);
    forget(&c);
    loop_fake_advance(r.loop, 15000);
    ok(client_wait_text(&r, &c, ":\n\n"), "another comment");
    client_close(&revoked);
    client_close(&c);
    loop_fake_advance(r.loop, 15000);
    for (int i = 0; i < 10; i++)
        rig_pump(&r);
    ok(api_is_idle(r.api), "all are gone in the end");
    rig_close(&r);
}

static void test_list(struct rig *r)
{
    struct reply rep = rig_call(r, "GET", "/v1/events?since=1&limit=1", FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "events as a list");
    has_text(rep.body.data, "{\"items\":[{\"id\":2,", "start after since");
    has_text(rep.body.data, "\"next\":2,", "and tell where to go on");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/events", FAKE_READ, NULL, NULL);
    has_text(rep.body.data, "{\"id\":1,", "without since from the first");
    has_text(rep.body.data, "\"next\":null", "to the last");
    ok(strstr(rep.body.data, "},{\"id\":2,"), "separated by commas");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/events?since=900", FAKE_READ, NULL, NULL);
    has_text(rep.body.data, "{\"items\":[],\"next\":null", "nothing after the last");
    has_text(rep.body.data, ",\"to\":900}", "numbers that do not exist are a gap");
    reply_done(&rep);
    fake_events_trim(r->server, 3);
    rep = rig_call(r, "GET", "/v1/events", FAKE_READ, NULL, NULL);
    has_text(rep.body.data, "\"gap\":{\"from\":1,\"to\":2}", "what was trimmed too");
    reply_done(&rep);
    fake_events_trim(r->server, 1);
    rep = rig_call(r, "GET", "/v1/events", FAKE_READ, "Accept: application/json\r\n", NULL);
    is_text(reply_header(&rep, "Content-Type"), "application/json", "as JSON if asked for");
    reply_done(&rep);
}

static void test_limit(void)
{
    struct rig r;
    struct client a, b, c;
    rig_open(&r, &(struct api_options){.max_streams = 2});
    stream_open(&r, &a, FAKE_READ, "", "");
    stream_open(&r, &b, FAKE_READ, "", "");
    ok(client_wait_text(&r, &b, "retry:"), "two streams of two");
    stream_open(&r, &c, FAKE_READ, "", "");
    struct reply rep = client_reply(&r, &c);
    is_int(rep.status, 503, "a third is 503");
    has_text(rep.body.data, "max_streams", "with a hint");
    is_text(reply_header(&rep, "Retry-After"), "1", "and when to come back");
    reply_done(&rep);
    client_close(&a);
    client_close(&c);
    stream_open(&r, &c, FAKE_READ, "", "");
    rep = client_reply(&r, &c);
    is_int(rep.status, 503, "one that left is only noticed now");
    reply_done(&rep);
    client_close(&c);
    for (int i = 0; i < 10; i++)
        rig_pump(&r);
    stream_open(&r, &c, FAKE_READ, "", "");
    ok(client_wait_text(&r, &c, "retry:"), "and makes room");
    api_quiesce(r.api);
    ok(client_wait_close(&r, &b) && client_wait_close(&r, &c), "going down ends all streams");
    has_text(c.in.data, "\r\n0\r\n\r\n", "in order");
    client_close(&b);
    client_close(&c);
    rig_close(&r);
}

/* One slow reader must not hold others, nor make the server hold anything for it. */
static void test_slow(struct rig *r)
{
    enum { EVENTS = 100000 }; /* more bytes than the kernel keeps for a socket */
    struct client slow, fast;
    stream_open(r, &slow, FAKE_READ, "", "");
    stream_open(r, &fast, FAKE_READ, "", "");
    ok(client_wait_text(r, &fast, "retry:"), "a slow and a fast reader");
    uint64_t from = server_events_last(r->server);
    char last[64];
    for (int i = 0; i < EVENTS; i++) {
        fake_event(r->server, 1, "tick");
        if (i % 500 == 0) {
            loop_fake_advance(r->loop, 20);
            client_drain(&fast);
            buf_clear(&fast.in);
        }
    }
    snprintf(last, sizeof last, "id: %llu\n", (unsigned long long)(from + EVENTS));
    loop_fake_advance(r->loop, 20);
    ok(client_wait_text(r, &fast, last), "the fast one gets everything");
    loop_fake_advance(r->loop, 20);
    ok(client_wait_text(r, &slow, last), "the slow one too, when it reads");
    unsigned n = 0;
    SCOPED_BUF(body); /* a chunk may end in the middle of an event */
    client_unchunk(&slow, &body);
    const char *end = body.data + body.len;
    for (const char *at = body.data; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        n += end - at > 8 && !memcmp(at, "\ndata: {", 8);
    is_int(n, EVENTS, "without losing one");
    client_close(&slow);
    client_close(&fast);
}

static void test_many(void)
{
    enum { MANY = 1000 };
    struct rig r;
    struct rlimit files;
    static struct client c[MANY];
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max < 4096 ? files.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &files);
    rig_open(&r, NULL);
    unsigned greeted = 0, told = 0;
    for (unsigned i = 0; i < MANY; i++)
        stream_open(&r, &c[i], FAKE_READ, "", "");
    for (unsigned i = 0; i < MANY; i++)
        greeted += client_wait_text(&r, &c[i], "retry:");
    is_int(greeted, MANY, "a thousand streams");
    uint64_t reads = fake_event_reads(r.server);
    for (unsigned k = 0; k < 5; k++) {
        fake_event(r.server, 1, "tick");
        loop_fake_advance(r.loop, 50);
    }
    for (unsigned i = 0; i < MANY; i++)
        told += client_wait_text(&r, &c[i], "id: 5\n");
    is_int(told, MANY, "all of them get five events");
    reads = fake_event_reads(r.server) - reads;
    struct reply rep = rig_call(&r, "GET", "/metrics", NULL, NULL, NULL);
    has_text(rep.body.data, "\nanneal_api_event_chunks_built_total 5\n",
             "formatted five times in all");
    is_int(reads, 5, "and read as often");
    reply_done(&rep);
    for (unsigned i = 0; i < MANY; i += 2)
        client_close(&c[i]);
    loop_fake_advance(r.loop, 15000);
    for (int i = 0; i < 20; i++)
        rig_pump(&r);
    rep = rig_call(&r, "GET", "/metrics", NULL, NULL, NULL);
    has_text(rep.body.data, "\nanneal_api_streams 500\n", "half of them leave");
    reply_done(&rep);
    api_stop(r.api);
    r.api = NULL;
    for (unsigned i = 1; i < MANY; i += 2)
        client_close(&c[i]);
    rig_close(&r);
}

int main(void)
{
    struct rig r;
    rig_open(&r, NULL);
    test_follow(&r);
    test_resume(&r);
    test_gap_and_cold(&r);
    test_list(&r);
    test_slow(&r);
    rig_close(&r);
    test_heartbeat();
    test_limit();
    test_many();
    return tap_done();
}
