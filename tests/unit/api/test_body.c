/* test_body.c - bodies in all their forms, and heads that make readers disagree */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include "tap.h"

#define AUTH "Authorization: Bearer " FAKE_ADMIN "\r\n"
#define JSON "Content-Type: application/json\r\n"

/* Sends raw bytes on a connection of their own and takes one reply. */
static struct reply raw(struct rig *r, const char *text)
{
    struct client c;
    loop_fake_advance(r->loop, 300); /* a head that is too large costs many idle turns */
    client_open(r, &c);
    client_sends(r, &c, text);
    struct reply rep = client_reply(r, &c);
    client_close(&c);
    return rep;
}

static void raw_is(struct rig *r, int status, const char *text, const char *part, const char *label)
{
    struct reply rep = raw(r, text);
    is_int(rep.status, status, "%s is %d", label, status);
    has_text(rep.body.data, part, "  and says why");
    reply_done(&rep);
}

static void test_media(struct rig *r)
{
    static const struct {
        const char *headers;
        int status;
    } cases[] = {
        {"Content-Type: application/json\r\n", 201},
        {"Content-Type: application/json; charset=utf-8\r\n", 201},
        {"content-type: Application/JSON ;charset=\"UTF-8\"\r\n", 201},
        {"Content-Type: application/json\r\nContent-Encoding: identity\r\n", 201},
        {"Content-Type: application/json; charset=latin1\r\n", 415},
        {"Content-Type: text/plain\r\n", 415},
        {"Content-Type: application/merge-patch+json\r\n", 415},
        {"Content-Type: \r\n", 415},
        {"Content-Type: application/json\r\nContent-Encoding: gzip\r\n", 415},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[64];
        snprintf(body, sizeof body, "{\"name\":\"m%zu.example.org\"}", i);
        struct reply rep = rig_call(r, "POST", "/v1/nodes", FAKE_ADMIN, cases[i].headers, body);
        is_int(rep.status, cases[i].status, "media %zu is %d", i, cases[i].status);
        reply_done(&rep);
    }
    raw_is(r, 415, "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH "Content-Length: 2\r\n\r\n{}",
           "application/json", "no Content-Type");
}

static void test_errors(struct rig *r)
{
    struct reply rep = rig_call(r, "POST", "/v1/nodes", FAKE_ADMIN, NULL,
                                "{\"name\":\"a\",\n \"lables\":{}}");
    is_int(rep.status, 400, "an unknown field is 400");
    has_text(rep.body.data, "\"pointer\":\"/lables\"", "with a pointer");
    has_text(rep.body.data, "labels", "and the nearest name");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_ADMIN, NULL, "{\"name\":\n\"a\",,}");
    is_int(rep.status, 400, "malformed JSON is 400");
    has_text(rep.body.data, "\"pointer\":\"body:2:5\"", "with line and column");
    has_text(rep.body.data, "urn:anneal:error:syntax", "as a syntax error");
    reply_done(&rep);
    SCOPED_BUF(deep);
    buf_puts(&deep, "{\"name\":\"a\",\"facts\":{\"x\":");
    for (int i = 0; i < 100000; i++)
        buf_putc(&deep, '[');
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_ADMIN, NULL, deep.data);
    is_int(rep.status, 400, "100000 levels are 400");
    has_text(rep.body.data, "200 levels", "with the limit");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/tasks/1/poke", FAKE_ADMIN, NULL, "{}");
    is_int(rep.status, 400, "a body where none is taken is 400");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", FAKE_ADMIN, NULL, "{}");
    is_int(rep.status, 400, "so is one of a GET");
    reply_done(&rep);
    raw_is(r, 400,
           "GET /v1/health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
           "chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
           "takes no body", "a chunked one");
    raw_is(r, 400,
           "GET /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH
           "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
           "takes no body", "a chunked one to an operation");
    raw_is(r, 200,
           "GET /v1/health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
           "ok", "a chunked one of no bytes");
}

static void test_chunked(struct rig *r)
{
    raw_is(r, 201,
           "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON "Transfer-Encoding: chunked\r\n\r\n"
           "8\r\n{\"name\":\r\n4\r\n\"c1.\r\n7;ext=1\r\na.org\"}\r\n0\r\nTrailer: x\r\n\r\n",
           "c1.a.org", "a body in chunks");
    struct client c;
    struct reply rep;
    client_open(r, &c);
    const char *slow = "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                       "Content-Length: 19\r\n\r\n{\"name\":\"slow.org\"}";
    for (const char *at = slow; *at; at++)
        client_send(r, &c, at, 1);
    rep = client_reply(r, &c);
    is_int(rep.status, 201, "a request that comes byte by byte");
    reply_done(&rep);
    client_close(&c);
    client_open(r, &c);
    client_sends(r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Content-Length: 19\r\n\r\n{\"name\":");
    ok(!client_has_bytes(r, &c), "half a body is not answered");
    client_close(&c);
    for (int i = 0; i < 10; i++)
        rig_pump(r);
    ok(api_is_idle(r->api), "and forgotten when its sender leaves");
}

static void test_limits(void)
{
    struct rig r;
    rig_open(&r, &(struct api_options){.body_limit = 1000});
    SCOPED_BUF(body);
    buf_puts(&body, "{\"name\":\"l.org\",\"note\":\"");
    while (body.len < 1001)
        buf_putc(&body, 'x');
    struct reply rep = rig_call(&r, "POST", "/v1/nodes", FAKE_ADMIN, NULL, body.data);
    is_int(rep.status, 413, "one byte too many is 413");
    has_text(rep.body.data, "1000 bytes", "with the limit");
    reply_done(&rep);

    struct client c;
    client_open(&r, &c);
    client_sends(&r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Content-Length: 5000\r\nExpect: 100-continue\r\n\r\n");
    rep = client_reply(&r, &c);
    is_int(rep.status, 413, "whoever asks before sending is told at once");
    ok(rep.close, "and the connection ends");
    ok(client_wait_close(&r, &c), "indeed");
    reply_done(&rep);
    client_close(&c);

    client_open(&r, &c);
    client_sends(&r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Content-Length: 19\r\nExpect: 100-continue\r\n\r\n");
    ok(client_wait_text(&r, &c, "100 Continue"), "a fitting one is told to go on");
    client_sends(&r, &c, "{\"name\":\"go-o.org\"}");
    rep = client_reply(&r, &c);
    is_int(rep.status, 201, "and is answered");
    reply_done(&rep);
    client_close(&c);

    client_open(&r, &c);
    client_sends(&r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Content-Length: 100000000000\r\n\r\n");
    rep = client_reply(&r, &c);
    is_int(rep.status, 413, "a monster is refused without being read");
    ok(rep.close, "and the connection ends");
    reply_done(&rep);
    client_close(&c);

    client_open(&r, &c);
    client_sends(&r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 40; i++)
        client_sends(&r, &c, "20\r\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n");
    ok(!client_has_bytes(&r, &c), "chunks beyond the limit are read to their end");
    client_sends(&r, &c, "0\r\n\r\n");
    rep = client_reply(&r, &c);
    is_int(rep.status, 413, "and then refused");
    reply_done(&rep);
    client_sends(&r, &c, "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
    rep = client_reply(&r, &c);
    is_int(rep.status, 200, "the connection goes on");
    reply_done(&rep);
    client_close(&c);

    static char chunk[1 << 20];
    memset(chunk, 'x', sizeof chunk);
    memcpy(chunk, "ffff6\r\n", 7); /* 0xffff6 bytes of data follow, then CR LF */
    memcpy(chunk + 7 + 0xffff6, "\r\n", 2);
    client_open(&r, &c);
    client_sends(&r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n" AUTH JSON
                 "Transfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 80 && !c.closed; i++) {
        client_send(&r, &c, chunk, 7 + 0xffff6 + 2);
        client_drain(&c);
    }
    ok(client_wait_close(&r, &c), "who never stops is cut off");
    client_close(&c);
    rig_close(&r);
}

static void test_refused_by_head(struct rig *r)
{
    struct client c;
    client_open(r, &c);
    client_sends(r, &c,
                 "POST /v1/nodez HTTP/1.1\r\nHost: x\r\n" AUTH JSON "Content-Length: 4\r\n\r\nabcd"
                 "POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
                 "PATCH /v1/nodes/1 HTTP/1.1\r\nHost: x\r\n" AUTH JSON "Content-Length: 2\r\n\r\n{}"
                 "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n");
    const int want[] = {404, 401, 428, 200};
    for (unsigned i = 0; i < 4; i++) {
        struct reply rep = client_reply(r, &c);
        is_int(rep.status, want[i], "pipelined answer %u is %d", i, want[i]);
        reply_done(&rep);
    }
    client_close(&c);
}

static void test_pipeline(struct rig *r)
{
    struct client c;
    SCOPED_BUF(many);
    for (int i = 0; i < 200; i++)
        buf_puts(&many, i % 2 ? "POST /v1/tasks/1/poke HTTP/1.1\r\nHost: x\r\n" AUTH "\r\n"
                              : "GET /v1/nodes/1 HTTP/1.1\r\nHost: x\r\n" AUTH "\r\n");
    client_open(r, &c);
    client_send(r, &c, many.data, many.len);
    unsigned good = 0;
    for (int i = 0; i < 200; i++) {
        struct reply rep = client_reply(r, &c);
        good += rep.status == (i % 2 ? 202 : 200);
        reply_done(&rep);
    }
    is_int(good, 200, "200 pipelined reads and writes are answered in order");
    client_close(&c);
}

static void test_framing(struct rig *r)
{
    raw_is(r, 400, "GET /v1/health HTTP/1.1\r\n\r\n", "Host", "no Host");
    raw_is(r, 200, "GET /v1/health HTTP/1.0\r\n\r\n", "ok", "HTTP/1.0 without Host");
    raw_is(r, 400, "GET /v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "twice", "two Hosts");
    raw_is(r, 400,
           "POST /v1/nodes HTTP/1.1\r\nHost: a\r\n" AUTH JSON
           "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
           "Content-Length is given twice", "two lengths");
    raw_is(r, 400,
           "POST /v1/nodes HTTP/1.1\r\nHost: a\r\n" AUTH JSON
           "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
           "both", "a length and chunks");
    struct reply rep = raw(r, "POST /v1/nodes HTTP/1.1\r\nHost: a\r\n" AUTH JSON
                              "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
                              "2\r\n{}\r\n0\r\n\r\n");
    ok(rep.close, "after which the connection is not used again");
    reply_done(&rep);
    struct client c;
    client_open(r, &c);
    client_sends(r, &c,
                 "POST /v1/nodes HTTP/1.1\r\nHost: a\r\n" AUTH JSON
                 "Expect: 100-continue\r\nTransfer-Encoding: gzip, chunked\r\n\r\n");
    rep = client_reply(r, &c);
    is_int(rep.status, 400, "an encoding that is not known is 400");
    reply_done(&rep);
    client_close(&c);

    SCOPED_BUF(big);
    buf_puts(&big, "GET /v1/health HTTP/1.1\r\nHost: a\r\nX-Big: ");
    for (int i = 0; i < 20000; i++)
        buf_putc(&big, 'x');
    buf_puts(&big, "\r\n\r\n");
    rep = raw(r, big.data);
    is_int(rep.status, 431, "a head that is too large is 431");
    reply_done(&rep);
    buf_clear(&big);
    buf_puts(&big, "GET /v1/nodes/");
    for (int i = 0; i < 20000; i++)
        buf_putc(&big, 'x');
    buf_puts(&big, " HTTP/1.1\r\nHost: a\r\n\r\n");
    rep = raw(r, big.data);
    is_int(rep.status, 414, "a target that is too long is 414");
    reply_done(&rep);
    rep = raw(r, "GET /v1/health HTTP/3.0\r\nHost: a\r\n\r\n");
    is_int(rep.status, 505, "another version is 505");
    reply_done(&rep);
    rep = raw(r, "what is this\r\n\r\n");
    ok(rep.status == 0 || rep.status == 400 || rep.status == 505,
       "garbage is not answered with a success: %d", rep.status);
    reply_done(&rep);
    rep = raw(r, "POST /v1/nodes HTTP/1.1\r\nHost: a\r\n" AUTH JSON
                 "Transfer-Encoding: chunked\r\n\r\nzz\r\n");
    is_int(rep.status, 400, "a broken chunk is 400");
    reply_done(&rep);
    for (int i = 0; i < 20; i++)
        rig_pump(r);
    ok(api_is_idle(r->api), "nothing is left in flight");
}

int main(void)
{
    struct rig r;
    rig_open(&r, NULL);
    test_media(&r);
    test_errors(&r);
    test_chunked(&r);
    test_refused_by_head(&r);
    test_pipeline(&r);
    test_framing(&r);
    rig_close(&r);
    test_limits();
    return tap_done();
}
