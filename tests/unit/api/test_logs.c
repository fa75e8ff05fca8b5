/* test_logs.c - what attempts printed, whole and followed */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include "tap.h"

#define PATH "/v1/tasks/1/attempts/1/log"

static void follow(struct rig *r, struct client *c, const char *path)
{
    SCOPED_BUF(out);
    buf_printf(&out, "GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " FAKE_READ "\r\n\r\n",
               path);
    client_open(r, c);
    client_send(r, c, out.data, out.len);
}

static void test_whole(struct rig *r)
{
    struct reply rep = rig_call(r, "GET", PATH, FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "a log that has ended");
    is_text(rep.body.data, "hello\nworld\n", "is given whole");
    is_text(reply_header(&rep, "Content-Type"), "text/plain; charset=utf-8", "as text");
    is_text(reply_header(&rep, "Content-Length"), "12", "with its length");
    reply_done(&rep);
    rep = rig_call(r, "GET", PATH "?from=6", FAKE_READ, NULL, NULL);
    is_text(rep.body.data, "world\n", "from an offset");
    reply_done(&rep);
    rep = rig_call(r, "GET", PATH "?from=600&follow=true", FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "an offset past the end");
    is_text(rep.body.data, "", "is empty");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/tasks/1/attempts/9/log", FAKE_READ, NULL, NULL);
    is_int(rep.status, 404, "an attempt that is not there is 404");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/tasks/1/attempts/0/log", FAKE_READ, NULL, NULL);
    is_int(rep.status, 400, "attempts count from 1");
    reply_done(&rep);
    rep = rig_call(r, "GET", PATH, NULL, NULL, NULL);
    is_int(rep.status, 401, "a log needs a token");
    reply_done(&rep);
    rep = rig_call(r, "HEAD", PATH, FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "HEAD of a log");
    reply_done(&rep);
    fake_log_put(r->server, 3, 1, "so far");
    rep = rig_call(r, "GET", "/v1/tasks/3/attempts/1/log", FAKE_READ, NULL, NULL);
    is_text(rep.body.data, "so far", "a log that goes on is given as it is now");
    reply_done(&rep);
}

static void test_large(struct rig *r)
{
    SCOPED_BUF(text);
    for (int i = 0; i < 30000; i++)
        buf_printf(&text, "line %d\n", i);
    fake_log_put(r->server, 4, 1, text.data);
    struct reply rep = rig_call(r, "GET", "/v1/tasks/4/attempts/1/log", FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "a log of many pieces");
    ok(str_eq(buf_str(&rep.body), buf_str(&text)), "arrives whole: %zu of %zu bytes", rep.body.len,
       text.len);
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/tasks/4/attempts/1/log?from=100000", FAKE_READ, NULL, NULL);
    ok(text.len > 100000 && rep.body.len == text.len - 100000, "its tail as well");
    reply_done(&rep);
    struct client c;
    follow(r, &c, "/v1/tasks/4/attempts/1/log?from=100000&follow=true");
    ok(client_wait_text(r, &c, "line 29999\n"), "a log that is followed");
    fake_log_break(r->server, true);
    fake_log_put(r->server, 4, 1, "more\n");
    ok(client_wait_close(r, &c), "is cut off if it cannot be read on");
    ok(c.in.data && !strstr(c.in.data, "\r\n0\r\n\r\n"), "and does not look complete");
    fake_log_break(r->server, false);
    client_close(&c);
    fake_log_break(r->server, true);
    rep = rig_call(r, "GET", PATH, FAKE_READ, NULL, NULL);
    is_int(rep.status, 500, "one that cannot be read at all is a problem");
    reply_done(&rep);
    fake_log_break(r->server, false);
}

static void test_follow(struct rig *r)
{
    struct client a, b, gone;
    fake_log_put(r->server, 2, 1, "one\n");
    follow(r, &a, "/v1/tasks/2/attempts/1/log?follow=true");
    follow(r, &b, "/v1/tasks/2/attempts/1/log?follow=true&from=2");
    follow(r, &gone, "/v1/tasks/2/attempts/1/log?follow=true");
    ok(client_wait_text(r, &a, "one\n"), "what is there comes");
    has_text(a.in.data, "X-Content-Type-Options: nosniff", "as nothing but text");
    is_int(fake_log_subscribers(r->server), 3, "three follow");
    ok(!a.closed, "and wait");
    fake_log_put(r->server, 2, 1, "two\n");
    ok(client_wait_text(r, &a, "two\n"), "more comes");
    ok(client_wait_text(r, &b, "two\n"), "to both");
    client_close(&gone);
    loop_fake_advance(r->loop, 15000);
    for (int i = 0; i < 10; i++)
        rig_pump(r);
    is_int(fake_log_subscribers(r->server), 2, "one that left is noticed");
    ok(!strstr(a.in.data, ":\n\n"), "a heartbeat is not part of a log");
    fake_log_put(r->server, 2, 1, "three\n");
    fake_log_end(r->server, 2, 1);
    struct reply rep = client_reply(r, &a);
    is_text(rep.body.data, "one\ntwo\nthree\n", "the end ends the stream");
    reply_done(&rep);
    rep = client_reply(r, &b);
    is_text(rep.body.data, "e\ntwo\nthree\n", "both, each from its own place");
    reply_done(&rep);
    is_int(fake_log_subscribers(r->server), 0, "nobody follows");
    client_close(&a);
    client_close(&b);
}

static void test_limit(void)
{
    struct rig r;
    struct client a, b;
    rig_open(&r, &(struct api_options){.max_streams = 1});
    fake_log_put(r.server, 2, 1, "one\n");
    follow(&r, &a, "/v1/tasks/2/attempts/1/log?follow=true");
    ok(client_wait_text(&r, &a, "one\n"), "one stream of one");
    follow(&r, &b, "/v1/tasks/2/attempts/1/log?follow=true");
    struct reply rep = client_reply(&r, &b);
    is_int(rep.status, 503, "a second is 503");
    reply_done(&rep);
    rep = rig_call(&r, "GET", "/v1/tasks/1/attempts/1/log?follow=true", FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "a log that has ended needs no stream");
    reply_done(&rep);
    fake_revoke(r.server, FAKE_READ);
    loop_fake_advance(r.loop, 15000);
    ok(client_wait_close(&r, &a), "a revoked token ends it");
    client_close(&a);
    client_close(&b);
    rig_close(&r);
}

int main(void)
{
    struct rig r;
    rig_open(&r, NULL);
    test_whole(&r);
    test_large(&r);
    test_follow(&r);
    rig_close(&r);
    test_limit();
    return tap_done();
}
