/* perform.c - one operation of the server, from a checked request to an answer
 *
 * Every answer that tells something of the server's state waits for the group that this state
 * belongs to, refusals included: "exists already" is only true if that group becomes durable.
 *
 * An Idempotency-Key is kept with what was answered in the group of the write itself.  Refusals are
 * not kept: they changed nothing and may be different next time.  A kept answer is one line of what
 * is sent as headers ("rev location", "-" for none), then the body as it was.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/text.h"

enum { KEY_MAX = 128 };

/* What must be equal for the same key to mean the same request. */
static uint64_t request_digest(const struct request *req)
{
    SCOPED_BUF(b);
    buf_puts(&b, req->match.route->id);
    buf_putc(&b, '\n');
    buf_puts(&b, req->uri);
    buf_putc(&b, '\n');
    buf_put(&b, buf_str(&req->body).s, req->body.len);
    return digest_64(b.data, b.len);
}

static int key_check(const char *key, struct err *e)
{
    size_t n = strlen(key);
    bool good = n > 0 && n <= KEY_MAX;
    for (size_t i = 0; i < n && good; i++)
        good = key[i] > 0x20 && key[i] < 0x7F;
    if (good)
        return 0;
    return err_set(e, ERR_INVALID, "an Idempotency-Key has 1 to %d visible characters", KEY_MAX);
}

static void tag_set(struct answer *a, uint64_t rev)
{
    if (rev)
        snprintf(a->tag, sizeof a->tag, "\"%" PRIu64 "\"", rev);
}

static void answer_keep(struct request *req, const char *key, uint64_t digest,
                        const struct server_reply *reply)
{
    SCOPED_BUF(kept);
    buf_printf(&kept, "%" PRIu64 " %s\n", reply->rev, reply->location ? reply->location : "-");
    buf_put(&kept, req->answer.bytes.s, req->answer.bytes.n);
    server_idempotent_keep(req->api->server, &req->who, key, digest, req->answer.status,
                           buf_str(&kept));
}

/* The kept answer again.  The text is in the request's arena. */
static void answer_replay(struct request *req, uint32_t status, struct str kept)
{
    const char *end = memchr(kept.s, '\n', kept.n);
    struct str line = {kept.s, end ? (size_t)(end - kept.s) : kept.n};
    const char *blank = memchr(line.s, ' ', line.n);
    struct str body = end ? (struct str){end + 1, kept.n - line.n - 1} : (struct str){"", 0};
    uint64_t rev = 0;

    if (blank) {
        (void)text_u64((struct str){line.s, (size_t)(blank - line.s)}, UINT64_MAX, &rev, NULL);
        struct str where = {blank + 1, line.n - (size_t)(blank + 1 - line.s)};
        if (!str_is(where, "-"))
            req->answer.location = arena_strndup(&req->mem, where.s, where.n);
    }
    tag_set(&req->answer, rev);
    req->answer.replayed = true;
    req->answer.no_store = req->match.route->flags & API_NO_STORE;
    answer_bytes(req, status, body.n ? "application/json" : NULL, body);
}

static unsigned reply_status(const struct server_reply *r)
{
    if (r->location)
        return MHD_HTTP_CREATED;
    if (r->accepted)
        return MHD_HTTP_ACCEPTED;
    return r->body ? MHD_HTTP_OK : MHD_HTTP_NO_CONTENT;
}

static void answer_reply(struct request *req, const struct server_reply *reply)
{
    struct answer *a = &req->answer;

    tag_set(a, reply->rev);
    a->location = reply->location;
    a->no_store = req->match.route->flags & API_NO_STORE;
    if (req->match.route->method == API_GET && !reply->live &&
        head_none_match(&req->head, a->tag)) {
        answer_bytes(req, MHD_HTTP_NOT_MODIFIED, NULL, (struct str){"", 0});
        return;
    }
    answer_json(req, reply_status(reply), reply->body);
}

static int operation_run(struct request *req, uint64_t *ret_group, struct err *e)
{
    const struct api_route *route = req->match.route;
    const char *key = api_keeps_answers(route) ? req->head.idempotency_key : NULL;
    struct server *s = req->api->server;
    struct server_reply reply = {0};
    uint64_t digest = key ? request_digest(req) : 0;

    if (key) {
        struct str kept = {0};
        uint32_t status = 0;
        bool found = false;
        int r = key_check(key, e);
        if (r == 0)
            r = server_idempotent_find(s, &req->who, key, digest, &req->mem, &found, &status, &kept,
                                       e);
        if (r < 0)
            return r;
        if (found) {
            answer_replay(req, status, kept);
            return 0;
        }
    }
    int r = route->op(s, &req->call, &reply, e);
    if (r < 0)
        return r;
    *ret_group = reply.group;
    answer_reply(req, &reply);
    if (key)
        answer_keep(req, key, digest, &reply);
    return 0;
}

void request_perform(struct request *req)
{
    uint64_t group = 0;
    struct err e;
    int r = validate_body(req->api->book, req->match.route, &req->mem, buf_str(&req->body),
                          &req->call.body, &e);

    if (r < 0) {
        answer_problem(req, &e);
        return;
    }
    r = operation_run(req, &group, &e);
    if (r < 0)
        answer_problem(req, &e);
    uint64_t pending = server_pending_group(req->api->server);
    answer_when_durable(req, pending > group ? pending : group);
}
