/* test_write.c - revisions, idempotency, and answers that wait until they are true */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include "tap.h"

static void test_if_match(struct rig *r)
{
    const char *path = "/v1/nodes/n3.example.org";
    struct reply rep = rig_call(r, "PATCH", path, FAKE_OPERATE, NULL, "{\"note\":\"x\"}");
    is_int(rep.status, 428, "a change without If-Match is 428");
    has_text(rep.body.data, "need-if-match", "with its own type");
    reply_done(&rep);
    rep = rig_call(r, "PATCH", path, FAKE_OPERATE, "If-Match: \"2\"\r\n", "{\"note\":\"x\"}");
    is_int(rep.status, 412, "a stale one is 412");
    has_text(rep.body.data, "the current one is 3", "naming the current one");
    reply_done(&rep);
    rep = rig_call(r, "PATCH", path, FAKE_OPERATE, "If-Match: 3\r\n", "{\"note\":\"x\"}");
    is_int(rep.status, 400, "one without quotes is 400");
    reply_done(&rep);
    rep = rig_call(r, "PATCH", path, FAKE_OPERATE, "If-Match: \"3\", \"4\"\r\n",
                   "{\"note\":\"x\"}");
    is_int(rep.status, 400, "two are 400");
    reply_done(&rep);
    rep = rig_call(r, "PATCH", path, FAKE_OPERATE, "If-Match: \"3\"\r\n", "{\"note\":\"x\"}");
    is_int(rep.status, 200, "the right one is 200");
    is_text(reply_header(&rep, "ETag"), "\"4\"", "with the new revision");
    has_text(rep.body.data, "\"note\":\"x\"", "and the new object");
    reply_done(&rep);
    rep = rig_call(r, "PATCH", path, FAKE_OPERATE,
                   "If-Match: W/\"4\"\r\nContent-Type: application/merge-patch+json\r\n",
                   "{\"note\":null}");
    is_int(rep.status, 200, "a weakened one and a merge patch are fine");
    reply_done(&rep);
    rep = rig_call(r, "DELETE", path, FAKE_OPERATE, "If-Match: *\r\n", NULL);
    is_int(rep.status, 204, "* is whatever it is");
    is_int(rep.body.len, 0, "204 has no body");
    reply_done(&rep);
    rep = rig_call(r, "PUT", "/v1/pools/fresh", FAKE_OPERATE, "If-Match: *\r\n", "{\"size\":3}");
    is_int(rep.status, 201, "PUT may make");
    is_text(reply_header(&rep, "Location"), "/v1/pools/fresh", "and says where");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/tokens", FAKE_ADMIN, NULL,
                   "{\"name\":\"t\",\"scope\":\"read\"}");
    is_int(rep.status, 201, "a token is made");
    is_text(reply_header(&rep, "Cache-Control"), "no-store", "and its answer is not to be stored");
    reply_done(&rep);
    rep = rig_call(r, "DELETE", "/v1/tokens/101", FAKE_ADMIN, NULL, NULL);
    is_int(rep.status, 204, "a token is revoked without a revision");
    reply_done(&rep);
}

static void test_idempotency(struct rig *r)
{
    const char *key = "Idempotency-Key: k-1\r\n", *body = "{\"name\":\"i1.example.org\"}";
    struct reply first = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, key, body);
    unsigned calls = fake_calls(r->server);
    is_int(first.status, 201, "the first one makes a node");
    struct reply rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, key, body);
    is_int(rep.status, 201, "the second is answered as the first");
    is_text(rep.body.data, first.body.data, "with the same body");
    is_text(reply_header(&rep, "ETag"), reply_header(&first, "ETag"), "the same ETag");
    is_text(reply_header(&rep, "Location"), "/v1/nodes/i1.example.org", "the same Location");
    is_text(reply_header(&rep, "Idempotency-Replayed"), "true", "and says so");
    is_text(reply_header(&first, "Idempotency-Replayed"), "", "which the first does not");
    is_int(fake_calls(r->server), calls, "and nothing ran");
    reply_done(&rep);
    reply_done(&first);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, key, "{\"name\":\"i2.example.org\"}");
    is_int(rep.status, 409, "another body with the key is 409");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/tasks/1/poke", FAKE_OPERATE, key, NULL);
    is_int(rep.status, 409, "another route with the key as well");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, "Idempotency-Key: a b\r\n", body);
    is_int(rep.status, 400, "a key with a blank is refused");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, "Idempotency-Key: \r\n", body);
    is_int(rep.status, 400, "an empty one too");
    reply_done(&rep);
    char header[200];
    snprintf(header, sizeof header, "Idempotency-Key: %0129d\r\n", 7);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, header, body);
    is_int(rep.status, 400, "a long one too");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, "Idempotency-Key: k-2\r\n", body);
    is_int(rep.status, 409, "a refusal");
    reply_done(&rep);
    rep = rig_call(r, "DELETE", "/v1/nodes/i1.example.org", FAKE_OPERATE, "If-Match: *\r\n", NULL);
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/nodes", FAKE_OPERATE, "Idempotency-Key: k-2\r\n", body);
    is_int(rep.status, 201, "is not kept: it may be different next time");
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/tasks/1/poke", FAKE_OPERATE, "Idempotency-Key: k-3\r\n", NULL);
    reply_done(&rep);
    rep = rig_call(r, "POST", "/v1/tasks/1/poke", FAKE_OPERATE, "Idempotency-Key: k-3\r\n", NULL);
    is_int(rep.status, 202, "202 is kept as well");
    reply_done(&rep);
}

static void test_secret_not_kept(struct rig *r)
{
    const char *key = "Idempotency-Key: secret\r\n", *body = "{\"name\":\"t\",\"scope\":\"read\"}";
    struct reply a = rig_call(r, "POST", "/v1/tokens", FAKE_ADMIN, key, body);
    struct reply b = rig_call(r, "POST", "/v1/tokens", FAKE_ADMIN, key, body);
    is_int(b.status, 201, "a key is not heeded where the answer holds a secret");
    ok(strcmp(a.body.data, b.body.data), "so that it is kept nowhere");
    is_text(reply_header(&b, "Idempotency-Replayed"), "", "and nothing is replayed");
    reply_done(&a);
    reply_done(&b);
}

static const char post[] = "POST /v1/tasks/1/poke HTTP/1.1\r\nHost: x\r\n"
                           "Authorization: Bearer " FAKE_OPERATE "\r\n\r\n";
static const char get[] = "GET /v1/tasks/1 HTTP/1.1\r\nHost: x\r\n"
                          "Authorization: Bearer " FAKE_READ "\r\n\r\n";
static const char duplicate[] = "POST /v1/nodes HTTP/1.1\r\nHost: x\r\n"
                                "Authorization: Bearer " FAKE_OPERATE "\r\n"
                                "Content-Type: application/json\r\nContent-Length: 25\r\n\r\n"
                                "{\"name\":\"n1.example.org\"}\n";
static const char health[] = "GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n";

static void test_durability(struct rig *r)
{
    struct client writer, reader, refused, other;
    fake_hold_groups(r->server, true);
    client_open(r, &writer);
    client_open(r, &reader);
    client_open(r, &refused);
    client_open(r, &other);
    client_sends(r, &writer, post);
    ok(!client_has_bytes(r, &writer), "a write is not answered before its group is durable");
    client_sends(r, &reader, get);
    ok(!client_has_bytes(r, &reader), "nor a read that shows it");
    client_sends(r, &refused, duplicate);
    ok(!client_has_bytes(r, &refused), "nor a refusal");
    client_sends(r, &other, health);
    struct reply rep = client_reply(r, &other);
    is_int(rep.status, 200, "what shows nothing of it is");
    reply_done(&rep);
    is_int(fake_waiting(r->server), 3, "three wait");
    ok(!api_is_idle(r->api), "and are in flight");
    fake_commit(r->server);
    rep = client_reply(r, &writer);
    is_int(rep.status, 202, "then the write is answered");
    reply_done(&rep);
    rep = client_reply(r, &reader);
    is_int(rep.status, 200, "the read");
    reply_done(&rep);
    rep = client_reply(r, &refused);
    is_int(rep.status, 409, "and the refusal");
    has_text(rep.body.data, "\"pointer\":\"/name\"", "as it was");
    reply_done(&rep);

    client_sends(r, &writer, post);
    client_sends(r, &reader, get);
    rig_pump(r);
    fake_refuse(r->server, ERR_DISK_FULL, "no room for the journal");
    rep = client_reply(r, &writer);
    is_int(rep.status, 507, "a refused commit is told to the writer");
    has_text(rep.body.data, "no room for the journal", "with its reason");
    is_text(reply_header(&rep, "ETag"), "", "and nothing of the answer that was ready");
    reply_done(&rep);
    rep = client_reply(r, &reader);
    is_int(rep.status, 507, "and to whoever read what is not true");
    reply_done(&rep);
    client_sends(r, &reader, get);
    rep = client_reply(r, &reader);
    is_int(rep.status, 200, "the connection goes on");
    reply_done(&rep);

    client_sends(r, &writer, post);
    rig_pump(r);
    client_close(&writer);
    fake_commit(r->server);
    rig_pump(r);
    client_sends(r, &other, health);
    rep = client_reply(r, &other);
    is_int(rep.status, 200, "a writer that went away harms nobody");
    reply_done(&rep);
    client_close(&reader);
    client_close(&refused);
    client_close(&other);
    fake_hold_groups(r->server, false);
}

static void test_replay_waits(struct rig *r)
{
    struct client a, b;
    static const char keyed[] = "POST /v1/tasks/1/poke HTTP/1.1\r\nHost: x\r\n"
                                "Authorization: Bearer " FAKE_OPERATE "\r\n"
                                "Idempotency-Key: wait\r\n\r\n";
    fake_hold_groups(r->server, true);
    client_open(r, &a);
    client_open(r, &b);
    client_sends(r, &a, keyed);
    rig_pump(r);
    unsigned calls = fake_calls(r->server);
    client_sends(r, &b, keyed);
    ok(!client_has_bytes(r, &b), "a replay waits for the group of the first");
    is_int(fake_calls(r->server), calls, "without running again");
    fake_commit(r->server);
    struct reply ra = client_reply(r, &a), rb = client_reply(r, &b);
    is_int(ra.status, 202, "then both are answered");
    is_int(rb.status, 202, "alike");
    reply_done(&ra);
    reply_done(&rb);
    client_close(&a);
    client_close(&b);
    fake_hold_groups(r->server, false);
}

static void test_stop_while_waiting(void)
{
    struct rig r;
    struct client a, b;
    rig_open(&r, NULL);
    fake_hold_groups(r.server, true);
    client_open(&r, &a);
    client_open(&r, &b);
    client_sends(&r, &a, post);
    client_sends(&r, &b, "POST /v1/nodes HTTP/1.1\r\nHost: x\r\nContent-Le");
    rig_pump(&r);
    is_int(fake_waiting(r.server), 1, "one waits");
    api_stop(r.api);
    r.api = NULL;
    is_int(fake_waiting(r.server), 0, "stopping cancels the wait");
    client_drain(&a);
    ok(a.closed && !a.in.len, "and closes without an answer");
    client_close(&a);
    client_close(&b);
    rig_close(&r);
}

static void test_quiesce(void)
{
    struct rig r;
    struct client waiting, idle;
    rig_open(&r, NULL);
    fake_hold_groups(r.server, true);
    client_open(&r, &waiting);
    client_open(&r, &idle);
    client_sends(&r, &waiting, post);
    api_quiesce(r.api);
    api_quiesce(r.api);
    client_sends(&r, &idle, get);
    struct reply rep = client_reply(&r, &idle);
    is_int(rep.status, 503, "a new request while going down is 503");
    ok(rep.close, "and the connection ends");
    reply_done(&rep);
    ok(!api_is_idle(r.api), "a write still waits");
    fake_commit(r.server);
    rep = client_reply(&r, &waiting);
    is_int(rep.status, 202, "and is answered");
    reply_done(&rep);
    rig_pump(&r);
    ok(api_is_idle(r.api), "then nothing is left");
    client_close(&waiting);
    client_close(&idle);
    rig_close(&r);
}

int main(void)
{
    struct rig r;
    rig_open(&r, NULL);
    test_if_match(&r);
    test_idempotency(&r);
    test_secret_not_kept(&r);
    test_durability(&r);
    test_replay_waits(&r);
    rig_close(&r);
    test_stop_while_waiting();
    test_quiesce();
    return tap_done();
}
