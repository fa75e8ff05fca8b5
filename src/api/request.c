/* request.c - the life of a request, driven by the library's callbacks
 *
 * request_begin() sees the raw target before the library decodes it, request_handle() is called for
 * the head, for each piece of the body and after each resume, request_completed() ends it.  api_i.h
 * has the phases.  Whatever the head decides (no such route, no token, too large) is decided before
 * the body is read; a body of moderate size is then read and dropped, since a client that is still
 * sending does not read an answer. All of it runs on the loop's thread and never blocks.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"

/* --- birth and death --- */

static struct request *request_take(struct api *a)
{
    struct request *req = a->spare;
    if (req) {
        a->spare = req->next;
        a->n_spare--;
    } else {
        req = xcalloc(1, sizeof *req);
        arena_init(&req->mem);
    }
    req->api = a;
    req->prev = NULL;
    req->next = a->live;
    if (a->live)
        a->live->prev = req;
    a->live = req;
    a->n_live++;
    return req;
}

static void request_free(struct request *req)
{
    arena_done(&req->mem);
    buf_done(&req->body);
    buf_done(&req->out);
    free(req);
}

static void buffer_recycle(struct buf *b)
{
    if (b->cap > API_SPARE_BUFFER)
        buf_done(b);
    else
        buf_clear(b);
}

static void request_release(struct request *req)
{
    struct api *a = req->api;

    if (req->prev)
        req->prev->next = req->next;
    else
        a->live = req->next;
    if (req->next)
        req->next->prev = req->prev;
    a->n_live--;
    if (a->n_spare >= API_SPARE_REQUESTS) {
        request_free(req);
        return;
    }
    arena_reset(&req->mem);
    buffer_recycle(&req->body);
    buffer_recycle(&req->out);
    struct request kept = {.mem = req->mem, .body = req->body, .out = req->out, .next = a->spare};
    *req = kept;
    a->spare = req;
    a->n_spare++;
}

void requests_done(struct api *a)
{
    assert(!a->live);
    while (a->spare) {
        struct request *req = a->spare;
        a->spare = req->next;
        request_free(req);
    }
    a->n_spare = 0;
}

void *request_begin(void *api, const char *uri, struct MHD_Connection *c)
{
    struct api *a = api;
    struct request *req = request_take(a);
    a->steps++;
    req->connection = c;
    MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, a->o.idle_timeout_s);
    req->uri = arena_strdup(&req->mem, uri); /* the library is about to cut it up */
    return req;
}

void request_completed(void *api, struct MHD_Connection *c, void **request,
                       enum MHD_RequestTerminationCode code)
{
    struct request *req = *request;
    struct api *a = api;
    (void)c;
    (void)code;
    a->steps++;
    if (!req)
        return;
    *request = NULL;
    answer_forget(req);
    worker_line_forget(req);
    if (req->stream)
        stream_end(req->stream);
    request_release(req);
}

void request_suspend(struct request *req)
{
    req->suspended = true;
    MHD_suspend_connection(req->connection);
}

void request_resume(struct request *req)
{
    assert(req->suspended);
    req->suspended = false;
    MHD_resume_connection(req->connection);
    api_kick(req->api);
}

/* --- the head --- */

static enum api_method method_find(const char *text, bool *ret_head)
{
    *ret_head = !strcmp(text, "HEAD");
    if (*ret_head)
        return API_GET;
    for (enum api_method m = 0; m < API_METHOD_COUNT; m++)
        if (!strcmp(text, api_method_name(m)))
            return m;
    return API_METHOD_COUNT;
}

static int method_refuse(struct request *req, const char *method, struct err *e)
{
    SCOPED_BUF(allow);
    route_allow(req->match.methods, &allow);
    req->answer.allow = arena_strdup(&req->mem, allow.data);
    err_set(e, ERR_METHOD, "%.16s is not possible here", method);
    return err_hint(e, "possible are %s", req->answer.allow);
}

/* Finds the route.  1: the answer is complete (OPTIONS). */
static int request_route(struct request *req, const char *method, struct err *e)
{
    bool options = !strcmp(method, "OPTIONS");

    if (options && !strcmp(req->uri, "*")) {
        req->answer.allow = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
        answer_bytes(req, MHD_HTTP_NO_CONTENT, NULL, (struct str){"", 0});
        return 1;
    }
    int r = uri_split(&req->mem, req->uri, &req->target, e);
    if (r < 0)
        return r;
    route_find(req->api->book->root, &req->target, method_find(method, &req->head_only),
               &req->match);
    if (!req->match.methods)
        return route_missing(req->api->book->root, &req->target, e);
    if (options) {
        (void)method_refuse(req, method, e);
        answer_bytes(req, MHD_HTTP_NO_CONTENT, NULL, (struct str){"", 0});
        return 1;
    }
    return req->match.route ? 0 : method_refuse(req, method, e);
}

static int size_check(const struct request *req, uint64_t bytes, struct err *e)
{
    if (bytes <= req->api->o.body_limit)
        return 0;
    err_set(e, ERR_TOO_LARGE, "a body may have %zu bytes at most", req->api->o.body_limit);
    return err_hint(e, "send less, or raise body_limit in the server's configuration");
}

static int body_expect(const struct request *req, struct err *e)
{
    const struct request_head *h = &req->head;

    if (!h->has_body)
        return 0;
    if (h->body_bytes != UINT64_MAX) {
        if (!req->match.route->request)
            return err_set(e, ERR_INVALID, "this route takes no body");
        int r = size_check(req, h->body_bytes, e);
        if (r < 0)
            return r;
    }
    return req->match.route->request ? head_media_check(h, req->match.route, e) : 0;
}

static int match_expect(struct request *req, struct err *e)
{
    int r = head_if_match(&req->head, &req->mem, &req->call.if_match, e);
    if (r < 0 || !(req->match.route->flags & API_IF_MATCH) || req->call.if_match)
        return r;
    err_set(e, ERR_NEED_MATCH, "this changes an object and needs to know which revision");
    return err_hint(e, "send If-Match with the object's ETag, or *");
}

static void call_init(struct request *req)
{
    req->call.mem = &req->mem;
    req->call.who = &req->who;
    for (unsigned i = 0; i < req->match.n_ids; i++)
        req->call.id[i] = arena_strndup(&req->mem, req->match.id[i].s, req->match.id[i].n);
}

/* Everything that can be said before the body is there. */
static int head_decide(struct request *req, const char *method, const char *version, struct err *e)
{
    struct api *a = req->api;

    head_read(req->connection, &req->head);
    int r = head_check(&req->head, version, e);
    if (r < 0) {
        req->answer.close = true; /* where the next request starts is not certain */
        return r;
    }
    if (a->quiescing) {
        req->answer.close = true;
        return err_set(e, ERR_BUSY, "the server is going down");
    }
    r = request_route(req, method, e);
    if (r != 0)
        return r;
    r = request_authenticate(req, e);
    if (r == 0)
        r = validate_path(a->book, &req->mem, &req->match, e);
    if (r == 0)
        r = validate_query(a->book, req->match.route, &req->mem, req->target.query, a->o.page_limit,
                           &req->call.query, e);
    if (r == 0)
        r = match_expect(req, e);
    if (r == 0)
        r = body_expect(req, e);
    if (r == 0)
        call_init(req);
    return r;
}

/* Is the body to be read although the answer is known? */
static bool swallow_wanted(const struct request_head *h)
{
    if (h->expect && !strcasecmp(h->expect, "100-continue"))
        return false; /* the client waits for us before it sends anything */
    return h->body_bytes == UINT64_MAX || h->body_bytes <= API_SWALLOW_BYTES;
}

static void request_open(struct request *req, const char *method, const char *version)
{
    struct err e;
    int r = head_decide(req, method, version, &e);

    if (r < 0)
        answer_problem(req, &e);
    if (r == 0)
        req->phase = req->head.has_body ? REQUEST_BODY : REQUEST_WORK;
    else if (!req->head.has_body || swallow_wanted(&req->head))
        req->phase = REQUEST_SWALLOW;
    else
        req->answer.close = true;
}

/* --- the body --- */

/* False: give up on the connection. */
static bool body_take(struct request *req, const char *data, size_t n)
{
    struct err e;

    if (req->phase == REQUEST_BODY && size_check(req, req->body.len + n, &e) < 0) {
        answer_problem(req, &e);
        req->phase = REQUEST_SWALLOW;
        req->swallowed = req->body.len;
        buf_done(&req->body);
    }
    if (req->phase == REQUEST_SWALLOW) {
        req->swallowed += n;
        return req->swallowed <= API_SWALLOW_BYTES;
    }
    buf_put(&req->body, data, n);
    return true;
}

/* --- the work --- */

static void request_work(struct request *req)
{
    const struct api_route *route = req->match.route;

    if (route->op) {
        request_perform(req);
    } else if (route->special == API_SPECIAL_WORKER_POLL ||
               route->special == API_SPECIAL_WORKER_MESSAGES) {
        worker_line_answer(req);
    } else if (req->body.len) {
        struct err e;
        err_set(&e, ERR_INVALID, "this route takes no body");
        answer_problem(req, &e);
    } else if (route->special == API_SPECIAL_LOG) {
        logstream_open(req);
    } else if (route->special != API_SPECIAL_EVENTS) {
        builtin_answer(req);
    } else if (head_accepts(&req->head, "text/event-stream")) {
        sse_open(req);
    } else {
        event_list_answer(req);
    }
}

static enum MHD_Result request_step(struct request *req)
{
    if (req->phase == REQUEST_BODY)
        req->phase = REQUEST_WORK;
    if (req->phase == REQUEST_SWALLOW)
        req->phase = REQUEST_SEND;
    if (req->phase == REQUEST_WORK)
        request_work(req);
    switch (req->phase) {
    case REQUEST_SEND: return answer_send(req);
    case REQUEST_STREAM: return stream_send(req);
    case REQUEST_DURABLE:
    case REQUEST_POLL:
    case REQUEST_EVENTS: request_suspend(req); return MHD_YES;
    case REQUEST_NEW:
    case REQUEST_BODY:
    case REQUEST_SWALLOW:
    case REQUEST_WORK:
    case REQUEST_OVER: break;
    }
    assert(!"a request in a phase that cannot be here");
    return MHD_NO;
}

enum MHD_Result request_handle(void *api, struct MHD_Connection *c, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_n, void **request)
{
    struct request *req = *request;
    struct api *a = api;
    (void)c;
    (void)url; /* request_begin() saw it raw */
    a->steps++;
    if (a->stopping)
        return MHD_NO;
    if (req->phase == REQUEST_NEW) {
        request_open(req, method, version);
        /* Called again at once if there is no body.  An answer now would end the connection. */
        return req->phase == REQUEST_SEND ? answer_send(req) : MHD_YES;
    }
    if (*upload_n) {
        bool go_on = body_take(req, upload, *upload_n);
        *upload_n = 0;
        return go_on ? MHD_YES : MHD_NO;
    }
    return request_step(req);
}
