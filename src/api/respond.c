/* respond.c - from an answer to bytes, not before its group is durable
 *
 * The body lives in the request's own buffer, which outlives the library's response object, so that
 * nothing is copied.  An answer that waits may still turn into a problem: a refused commit means
 * that nothing of what it tells is true.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <string.h>

#include "base/json.h"
#include "base/log.h"

static const char json_type[] = "application/json";
static const char problem_type[] = "application/problem+json";

void answer_bytes(struct request *req, unsigned status, const char *type, struct str bytes)
{
    req->answer.status = status;
    req->answer.type = type;
    req->answer.bytes = bytes;
    req->phase = REQUEST_SEND;
}

void answer_json(struct request *req, unsigned status, const struct value *body)
{
    buf_clear(&req->out);
    if (body)
        json_write(&req->out, body, 0);
    answer_bytes(req, status, body ? json_type : NULL, buf_str(&req->out));
}

void answer_problem(struct request *req, const struct err *e)
{
    struct answer *a = &req->answer;
    const char *challenge = a->challenge, *allow = a->allow;

    *a = (struct answer){.close = a->close, .challenge = challenge, .allow = allow};
    buf_clear(&req->out);
    unsigned status = problem_write(&req->out, e);
    a->retry_later = status == MHD_HTTP_SERVICE_UNAVAILABLE || status == MHD_HTTP_TOO_MANY_REQUESTS;
    answer_bytes(req, status, problem_type, buf_str(&req->out));
    if (status >= 500 && e->code != ERR_BUSY)
        log_err(LOG_WARN, "request", e);
}

static void answer_log(const struct request *req)
{
    if (log_get_level() < LOG_DEBUG)
        return;
    log_line(
        LOG_DEBUG, "answer", LOGT("operation", req->match.route ? req->match.route->id : "none"),
        LOGT("uri", req->uri), LOGI("status", req->answer.status), LOGT("actor", req->who.name));
}

static void headers_add(struct MHD_Response *r, const struct answer *a)
{
    if (a->type)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, a->type);
    if (*a->tag)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ETAG, a->tag);
    if (a->location)
        MHD_add_response_header(r, MHD_HTTP_HEADER_LOCATION, a->location);
    if (a->allow)
        MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, a->allow);
    if (a->challenge && (a->status == MHD_HTTP_UNAUTHORIZED || a->status == MHD_HTTP_FORBIDDEN))
        MHD_add_response_header(r, MHD_HTTP_HEADER_WWW_AUTHENTICATE, a->challenge);
    if (a->retry_later)
        MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    if (a->no_store)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (a->replayed)
        MHD_add_response_header(r, "Idempotency-Replayed", "true");
    if (a->close)
        MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
}

enum MHD_Result answer_send(struct request *req)
{
    const struct answer *a = &req->answer;
    /* PERSISTENT: the bytes stay until request_completed(), which comes after the last of them is
     * sent. */
    struct MHD_Response *r = MHD_create_response_from_buffer(
        a->bytes.n, (void *)(uintptr_t)a->bytes.s, MHD_RESPMEM_PERSISTENT);

    if (!r)
        return MHD_NO;
    headers_add(r, a);
    answer_log(req);
    req->api->answers[a->status / 100 < 6 ? a->status / 100 : 0]++;
    enum MHD_Result done = MHD_queue_response(req->connection, a->status, r);
    MHD_destroy_response(r);
    req->phase = REQUEST_OVER;
    return done;
}

static void answer_durable(void *arg, const struct err *failure)
{
    struct request *req = arg;

    req->phase = REQUEST_SEND;
    if (failure)
        answer_problem(req, failure);
    if (req->suspended)
        request_resume(req);
}

void answer_when_durable(struct request *req, uint64_t group)
{
    req->phase = REQUEST_SEND;
    if (!group)
        return;
    req->phase = REQUEST_DURABLE; /* before the call, which may find it durable already */
    server_when_durable(req->api->server, group, answer_durable, req);
}

void answer_forget(struct request *req)
{
    if (req->phase == REQUEST_DURABLE)
        server_when_durable_cancel(req->api->server, answer_durable, req);
}
