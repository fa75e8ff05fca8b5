/* test_http.c - routing, tokens, scopes, methods and built-in answers over a socket */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"
#include "tap.h"

static void expect(struct rig *r, int status, const char *method, const char *path,
                   const char *token, const char *part)
{
    struct reply rep = rig_call(r, method, path, token, NULL, NULL);
    is_int(rep.status, status, "%s %s with %s is %d", method, path, token ? token : "no token",
           status);
    has_text(rep.body.data, part, "  and says %s", part);
    if (status >= 400)
        is_text(reply_header(&rep, "Content-Type"), "application/problem+json", "  as a problem");
    reply_done(&rep);
}

static void test_builtin(struct rig *r)
{
    expect(r, 200, "GET", "/v1/health", NULL, "{\"status\":\"ok\"}");
    expect(r, 200, "GET", "/v1/version", NULL, "\"api\":\"v1\"");
    expect(r, 200, "GET", "/v1/ready", NULL, "{\"ready\":true}");
    fake_ready(r->server, false);
    expect(r, 503, "GET", "/v1/ready", NULL, "still starting");
    fake_ready(r->server, true);
    expect(r, 200, "GET", "/metrics", NULL, "fake_calls 0");
    expect(r, 200, "GET", "/metrics", NULL, "anneal_api_answers_total{code=\"5xx\"} 1");
    expect(r, 200, "GET", "http://elsewhere/v1/health", NULL, "ok");

    struct reply rep = rig_call(r, "GET", "/v1/openapi.json", NULL, NULL, NULL);
    is_int(rep.status, 200, "the OpenAPI document is there");
    has_text(rep.body.data, "\"/v1/nodes/{node}\"", "and has paths");
    char header[64];
    snprintf(header, sizeof header, "If-None-Match: W/\"x\", %s\r\n", reply_header(&rep, "ETag"));
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/openapi.json", NULL, header, NULL);
    is_int(rep.status, 304, "and 304 when it is known");
    is_int(rep.body.len, 0, "without a body");
    reply_done(&rep);
}

static void test_tokens(struct rig *r)
{
    expect(r, 401, "GET", "/v1/nodes", NULL, "urn:anneal:error:unauthorized");
    expect(r, 401, "GET", "/v1/nodes", "anl_wrong", "not known or was revoked");
    expect(r, 200, "GET", "/v1/nodes", FAKE_READ, "n1.example.org");
    expect(r, 403, "POST", "/v1/tasks/1/poke", FAKE_READ, "has scope read; this needs operate");
    expect(r, 403, "GET", "/v1/tokens", FAKE_OPERATE, "this needs admin");
    expect(r, 200, "GET", "/v1/tokens", FAKE_ADMIN, "root");

    struct reply rep = rig_call(r, "GET", "/v1/nodes", NULL, NULL, NULL);
    is_text(reply_header(&rep, "WWW-Authenticate"), "Bearer realm=\"anneal\"", "a challenge");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", "anl_wrong", NULL, NULL);
    has_text(reply_header(&rep, "WWW-Authenticate"), "invalid_token", "another for a bad token");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", NULL, "Authorization: Basic eDp5\r\n", NULL);
    is_int(rep.status, 401, "basic authentication is not understood");
    has_text(rep.body.data, "only bearer", "and that is said");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", NULL, "Authorization: Bearer \r\n", NULL);
    is_int(rep.status, 401, "an empty token is none");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", NULL, "authorization: bearer   " FAKE_READ "\r\n", NULL);
    is_int(rep.status, 200, "case and blanks do not matter");
    reply_done(&rep);
}

static void test_paths(struct rig *r)
{
    expect(r, 404, "GET", "/v1/node", FAKE_READ, "did you mean /v1/nodes?");
    expect(r, 404, "GET", "/v2/nodes", FAKE_READ, "did you mean /v1/nodes?");
    expect(r, 404, "GET", "/v1/nodes/", FAKE_READ, "did you mean /v1/nodes?");
    expect(r, 404, "GET", "/v1/tasks/1/atempts", FAKE_READ, "did you mean /v1/tasks/1/attempts?");
    expect(r, 404, "GET", "/v1/xyzzyplugh", FAKE_READ, "/v1/openapi.json lists");
    expect(r, 404, "GET", "/", FAKE_READ, "nothing at this path");
    expect(r, 404, "GET", "/1/2/3/4/5/6/7/8/9/10", FAKE_READ, "so many segments");
    expect(r, 404, "GET", "/v1/nodes/n9", FAKE_READ, "there is no node \\\"n9\\\"");
    expect(r, 400, "GET", "/v1/nodes/%zz", FAKE_READ, "two hex digits");
    expect(r, 400, "GET", "/v1/nodes/%ff", FAKE_READ, "not UTF-8");
    expect(r, 400, "GET", "/v1/nodes/a%00b", FAKE_READ, "control characters");
    expect(r, 400, "GET", "/v1/tasks/abc", FAKE_READ, "\"pointer\":\"{id}\"");
    expect(r, 400, "GET", "/v1/tasks/0", FAKE_READ, "\"pointer\":\"{id}\"");
    expect(r, 400, "GET", "/v1/tasks/99999999999", FAKE_READ, "\"pointer\":\"{id}\"");
    expect(r, 400, "GET", "/v1/why/nod/1", FAKE_READ, "\"pointer\":\"{kind}\"");
    expect(r, 200, "GET", "/v1/nodes/n1%2eexample.org", FAKE_READ, "n1.example.org");
    is_text(fake_last_ids(r->server), "n1.example.org", "the server gets the decoded name");
    expect(r, 200, "GET", "/v1/why/binding/web@n1", FAKE_READ, "all is well");
    is_text(fake_last_ids(r->server), "binding,web@n1", "two path parameters in order");
    expect(r, 404, "GET", "/v1/nodes/a%2Fb", FAKE_READ, "a/b");
}

static void test_methods(struct rig *r)
{
    expect(r, 405, "DELETE", "/v1/health", NULL, "possible are GET, HEAD, OPTIONS");
    expect(r, 405, "BREW", "/v1/nodes", NULL, "BREW is not possible here");
    struct reply rep = rig_call(r, "POST", "/v1/nodes/n1", FAKE_ADMIN, NULL, NULL);
    is_int(rep.status, 405, "POST to a node is 405");
    is_text(reply_header(&rep, "Allow"), "GET, HEAD, PATCH, DELETE, OPTIONS", "with Allow");
    reply_done(&rep);
    rep = rig_call(r, "OPTIONS", "/v1/nodes", NULL, NULL, NULL);
    is_int(rep.status, 204, "OPTIONS is 204");
    is_text(reply_header(&rep, "Allow"), "GET, HEAD, POST, OPTIONS", "with Allow");
    reply_done(&rep);
    rep = rig_call(r, "OPTIONS", "*", NULL, NULL, NULL);
    is_int(rep.status, 204, "OPTIONS * is 204");
    reply_done(&rep);
    rep = rig_call(r, "HEAD", "/v1/health", NULL, NULL, NULL);
    is_int(rep.status, 200, "HEAD is GET without a body");
    is_int(rep.body.len, 0, "indeed without");
    reply_done(&rep);
}

static void test_query(struct rig *r)
{
    expect(r, 400, "GET", "/v1/nodes?limt=3", FAKE_READ, "\"pointer\":\"?limt\"");
    expect(r, 400, "GET", "/v1/nodes?limt=3", FAKE_READ, "limit");
    expect(r, 400, "GET", "/v1/nodes?limit=three", FAKE_READ, "\"pointer\":\"?limit\"");
    expect(r, 400, "GET", "/v1/nodes?limit=0", FAKE_READ, "\"pointer\":\"?limit\"");
    expect(r, 400, "GET", "/v1/nodes?limit=1001", FAKE_READ, "at most 1000");
    expect(r, 400, "GET", "/v1/nodes?state=ACTIV", FAKE_READ, "\"pointer\":\"?state\"");
    expect(r, 400, "GET", "/v1/nodes?state=ACTIVE&state=TODO", FAKE_READ, "given twice");
    expect(r, 400, "GET", "/v1/nodes?=3", FAKE_READ, "has no name");
    expect(r, 400, "GET", "/v1/nodes?limit=%4", FAKE_READ, "two hex digits");
    expect(r, 400, "GET", "/v1/status?x=1", FAKE_READ, "takes no query parameters");
    expect(r, 200, "GET", "/v1/status?", FAKE_READ, "uptime_ms");
    expect(r, 200, "GET", "/v1/nodes?state=ACTIVE&limit=2", FAKE_READ, "\"next\":\"2\"");
    is_text(fake_last_query(r->server), "{\"state\":\"ACTIVE\",\"limit\":\"2\"}",
            "the server gets text");
    expect(r, 200, "GET", "/v1/nodes?limit=2&after=2", FAKE_READ, "\"next\":null");
    expect(r, 200, "GET", "/v1/nodes?selector=a+b%26c", FAKE_READ, "items");
    is_text(fake_last_query(r->server), "{\"selector\":\"a b&c\",\"limit\":\"100\"}",
            "decoded, and the limit is always there");
}

static void test_conditional(struct rig *r)
{
    struct reply rep = rig_call(r, "GET", "/v1/nodes/n2.example.org", FAKE_READ, NULL, NULL);
    is_text(reply_header(&rep, "ETag"), "\"2\"", "a node has its revision as ETag");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes/n2.example.org", FAKE_READ, "If-None-Match: \"2\"\r\n",
                   NULL);
    is_int(rep.status, 304, "304 if it is known");
    is_text(reply_header(&rep, "ETag"), "\"2\"", "with the ETag");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes/n2.example.org", FAKE_READ, "If-None-Match: \"1\"\r\n",
                   NULL);
    is_int(rep.status, 200, "200 if another is");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes/n2.example.org", FAKE_READ, "If-None-Match: *\r\n", NULL);
    is_int(rep.status, 304, "* is any");
    reply_done(&rep);
    rep = rig_call(r, "GET", "/v1/nodes", FAKE_READ, "If-None-Match: \"\"\r\n", NULL);
    is_int(rep.status, 200, "a list has no ETag to compare");
    reply_done(&rep);
}

static void test_failures(struct rig *r)
{
    fake_fail_next(r->server, ERR_IO, "the disk is gone");
    expect(r, 500, "GET", "/v1/nodes", FAKE_READ, "the disk is gone");
    fake_fail_next(r->server, ERR_BUSY, "later");
    struct reply rep = rig_call(r, "GET", "/v1/nodes", FAKE_READ, NULL, NULL);
    is_int(rep.status, 503, "busy is 503");
    is_text(reply_header(&rep, "Retry-After"), "1", "with Retry-After");
    reply_done(&rep);
    fake_bulk_next(r->server, 20000);
    rep = rig_call(r, "GET", "/v1/nodes", FAKE_READ, NULL, NULL);
    is_int(rep.status, 200, "an answer of 2 MB");
    ok(rep.body.len > 1500000, "arrives whole: %zu bytes", rep.body.len);
    reply_done(&rep);
}

int main(void)
{
    struct rig r;
    rig_open(&r, NULL);
    test_builtin(&r);
    test_tokens(&r);
    test_paths(&r);
    test_methods(&r);
    test_query(&r);
    test_conditional(&r);
    test_failures(&r);
    ok(api_is_idle(r.api), "nothing is left in flight");
    rig_close(&r);
    return tap_done();
}
