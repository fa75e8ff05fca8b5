/* worker_line.c - a worker's two requests: the poll that waits, and the messages that it sends
 *
 * Neither waits for a group: what is told to a worker was durable before it was sent, and what a
 * worker says is acknowledged by messages of its own.  A poll without an answer is suspended and
 * asked again when the server says so; it is no stream and takes no place of one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

static void poll_more(void *arg)
{
    struct request *req = arg;

    req->phase = REQUEST_WORK;
    req->polled = true;
    if (req->suspended)
        request_resume(req);
}

void worker_line_answer(struct request *req)
{
    struct server *s = req->api->server;
    struct err e;
    int r = 0;

    if (!req->polled)
        r = validate_body(req->api->book, req->match.route, &req->mem, buf_str(&req->body),
                          &req->call.body, &e);
    buf_clear(&req->out);
    if (r == 0 && req->match.route->special == API_SPECIAL_WORKER_POLL)
        r = server_worker_poll(s, &req->call, req->polled, poll_more, req, &req->out, &e);
    else if (r == 0)
        r = server_worker_messages(s, &req->call, &req->out, &e);
    req->answer.no_store = true;
    if (r > 0)
        req->phase = REQUEST_POLL;
    else if (r < 0)
        answer_problem(req, &e);
    else
        answer_bytes(req, MHD_HTTP_OK, "application/json", buf_str(&req->out));
}

void worker_line_forget(struct request *req)
{
    if (req->phase == REQUEST_POLL)
        server_worker_poll_cancel(req->api->server, poll_more, req);
}

void worker_lines_finish(struct api *a)
{
    for (struct request *req = a->live, *next; req; req = next) {
        next = req->next;
        if (req->phase != REQUEST_POLL)
            continue;
        server_worker_poll_cancel(a->server, poll_more, req);
        poll_more(req);
    }
}
