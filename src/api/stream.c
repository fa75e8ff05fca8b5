/* stream.c - what event and log streams share: room, sleep, heartbeat, end
 *
 * A stream costs a connection and a small struct; it has no queue.  Its reader is asked for bytes
 * when the socket has room and parks the connection when it has none; a wake lets it be asked
 * again.  A client that reads slowly is simply behind.
 *
 * The library does not look at a parked connection, so a client that went away is noticed here: one
 * poll over all streams at each heartbeat.  The heartbeat also asks for each stream's token again,
 * so that revoking a token ends what it opened.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <assert.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

static int stream_fd(const struct stream *s)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        s->request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Marks streams whose client has closed its side. */
static void streams_look(struct api *a)
{
    struct pollfd *fds = xcalloc(a->streams.n + 1, sizeof *fds);
    nfds_t n = 0;

    for (struct stream *s = a->streams.first; s; s = s->next)
        fds[n++] = (struct pollfd){.fd = stream_fd(s), .events = POLLRDHUP};
    if (poll(fds, n, 0) > 0) {
        n = 0;
        for (struct stream *s = a->streams.first; s; s = s->next)
            if (fds[n++].revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL))
                s->over = true;
    }
    free(fds);
}

static void streams_beat(void *arg)
{
    struct api *a = arg;
    struct caller who;

    streams_look(a);
    for (struct stream *s = a->streams.first; s; s = s->next) {
        if (server_authenticate(a->server, s->token, &who, NULL) < 0 ||
            !scope_reaches(who.scope, SCOPE_READ))
            s->over = true;
        s->beat = s->kind == STREAM_EVENTS;
        if (s->over || s->beat)
            stream_wake(s);
    }
    if (a->streams.n)
        loop_timer_at(a->streams.beat, loop_now_ms(a->loop) + API_HEARTBEAT_MS);
}

void streams_init(struct api *a)
{
    a->streams.beat = loop_timer_new(a->loop, streams_beat, a);
}

void streams_done(struct api *a)
{
    assert(!a->streams.n);
    loop_timer_free(a->streams.beat);
}

int stream_admit(struct api *a, struct err *e)
{
    if (a->streams.n < a->o.max_streams)
        return 0;
    streams_look(a); /* those that are gone make room for the next one who asks */
    for (struct stream *s = a->streams.first; s; s = s->next)
        if (s->over)
            stream_wake(s);
    a->streams.refused++;
    err_set(e, ERR_BUSY, "%u streams are open, which is the limit", a->streams.n);
    return err_hint(e, "close one, share one between readers, or raise max_streams");
}

void stream_begin(struct request *req, struct stream *s)
{
    struct api *a = req->api;
    const char *token = req->head.authorization;

    assert(s->read && s->free && s->type);
    s->request = req;
    s->token = xstrdup(token + 7 + strspn(token + 7, " "));
    s->who = req->who;
    s->next = a->streams.first;
    if (s->next)
        s->next->prev = s;
    a->streams.first = s;
    a->streams.opened++;
    if (!a->streams.n++)
        loop_timer_at(a->streams.beat, loop_now_ms(a->loop) + API_HEARTBEAT_MS);
    req->stream = s;
    req->phase = REQUEST_STREAM;
    /* It may live for days: what the request needed goes now. */
    arena_done(&req->mem);
    buf_done(&req->body);
    buf_done(&req->out);
    req->uri = "";
}

enum MHD_Result stream_send(struct request *req)
{
    enum { BLOCK = 1024 }; /* only used for HTTP/1.0; chunks are made in the connection's memory */
    struct stream *s = req->stream;
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, s->read, s,
                                                               NULL);

    if (!r)
        return MHD_NO;
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, s->type);
    MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-cache");
    MHD_add_response_header(r, "X-Accel-Buffering", "no"); /* a proxy must not collect it */
    MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    MHD_set_connection_option(req->connection, MHD_CONNECTION_OPTION_TIMEOUT, 0u);
    req->api->answers[2]++;
    enum MHD_Result done = MHD_queue_response(req->connection, MHD_HTTP_OK, r);
    MHD_destroy_response(r);
    req->phase = REQUEST_OVER;
    return done;
}

void stream_end(struct stream *s)
{
    struct api *a = s->request->api;

    if (s->prev)
        s->prev->next = s->next;
    else
        a->streams.first = s->next;
    if (s->next)
        s->next->prev = s->prev;
    a->streams.n--;
    s->request->stream = NULL;
    free(s->token);
    s->free(s);
}

ssize_t stream_park(struct stream *s)
{
    s->parked = true;
    request_suspend(s->request);
    return 0;
}

void stream_wake(struct stream *s)
{
    if (!s->parked)
        return;
    s->parked = false;
    request_resume(s->request);
}

void streams_finish(struct api *a)
{
    for (struct stream *s = a->streams.first; s; s = s->next) {
        s->over = true;
        stream_wake(s);
    }
}
