/* sse.c - GET /v1/events as server-sent events
 *
 * A stream is a cursor into the journal and the chunk that it is sending; nothing is queued for it.
 * The cursor moves when a chunk was copied out whole, so an id that a client saw is always one it
 * can resume from.  docs/rfc/05-api.md has the format.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

struct sse {
    struct stream stream;
    uint64_t cursor;
    struct event_chunk *chunk; /* being sent; NULL: none */
    size_t sent;               /* of the chunk, or of the greeting */
    bool greeted, waiting;     /* waiting: for the journal to be read from the store */
    char greeting[128];
};

static const char heartbeat[] = ":\n\n";

static size_t copy_some(struct sse *s, struct str from, char *to, size_t room)
{
    size_t n = from.n - s->sent < room ? from.n - s->sent : room;
    memcpy(to, from.s + s->sent, n);
    s->sent += n;
    return n;
}

/* The next chunk, if there is one.  False: nothing to send now. */
static bool chunk_next(struct sse *s)
{
    struct err e;
    struct api *a = s->stream.request->api;

    while (!s->chunk) {
        if (event_chunk_get(a, &s->stream.who, s->cursor, &s->chunk, &e) < 0) {
            log_err(LOG_WARN, "events", &e);
            s->stream.over = true;
            return false;
        }
        if (!s->chunk) {
            s->waiting = a->events.retry;
            return false;
        }
        s->sent = 0;
        if (!s->chunk->bytes.len) { /* only other tenants' events */
            s->cursor = s->chunk->last;
            event_chunk_unref(s->chunk);
            s->chunk = NULL;
        }
    }
    s->waiting = false;
    return true;
}

static ssize_t sse_read(void *arg, uint64_t pos, char *to, size_t room)
{
    struct sse *s = arg;
    size_t n;
    (void)pos;
    s->stream.request->api->steps++;
    if (s->stream.over)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (!s->greeted) {
        n = copy_some(s, str_of(s->greeting), to, room);
        s->greeted = !s->greeting[s->sent];
        return (ssize_t)n;
    }
    if (!s->chunk && s->stream.beat && room >= sizeof heartbeat - 1) {
        s->stream.beat = false;
        memcpy(to, heartbeat, sizeof heartbeat - 1);
        return sizeof heartbeat - 1;
    }
    if (!s->chunk && !chunk_next(s))
        return s->stream.over ? MHD_CONTENT_READER_END_OF_STREAM : stream_park(&s->stream);
    n = copy_some(s, buf_str(&s->chunk->bytes), to, room);
    if (s->sent == s->chunk->bytes.len) {
        s->cursor = s->chunk->last;
        event_chunk_unref(s->chunk);
        s->chunk = NULL;
        s->stream.beat = false; /* traffic is as good */
    }
    return (ssize_t)n;
}

bool sse_wants(const struct stream *stream, uint64_t newest, bool retry)
{
    const struct sse *s = (const struct sse *)stream;
    return s->cursor < newest || (retry && s->waiting);
}

static void sse_free(struct stream *stream)
{
    struct sse *s = (struct sse *)stream;
    event_chunk_unref(s->chunk);
    free(s);
}

/* How long a client waits before it comes back.  One that has seen numbers which do not exist was
 * with another journal (a restored backup): to it everything from here on is new, which is what a
 * gap says. */
static void sse_greet(struct sse *s, uint64_t newest)
{
    if (s->cursor <= newest) {
        snprintf(s->greeting, sizeof s->greeting, "retry: 2000\n\n");
        return;
    }
    snprintf(s->greeting, sizeof s->greeting,
             "retry: 2000\n\nevent: gap\nid: %" PRIu64 "\ndata: {\"from\":%" PRIu64
             ",\"to\":%" PRIu64 "}\n\n",
             newest, newest + 1, s->cursor);
    s->cursor = newest;
}

/* ?since wins over Last-Event-ID, which a browser sends by itself. */
static int cursor_find(struct request *req, uint64_t *ret_since, struct err *e)
{
    const struct value *since = value_get(req->call.query, "since");
    const char *seen = req->head.last_event_id;

    if (since)
        return text_u64(value_as_str(since), INT64_MAX, ret_since, e);
    if (!seen || !*seen) {
        *ret_since = server_events_last(req->api->server);
        return 0;
    }
    if (text_u64(str_of(seen), INT64_MAX, ret_since, e) < 0)
        return err_set(e, ERR_INVALID, "Last-Event-ID is not the number of an event");
    return 0;
}

void sse_open(struct request *req)
{
    uint64_t since;
    struct err e;
    int r = 0;

    if (value_get(req->call.query, "limit")) {
        r = err_set(&e, ERR_INVALID, "a stream has no limit");
        err_at(&e, "?limit");
    }
    if (r == 0)
        r = cursor_find(req, &since, &e);
    if (r == 0)
        r = stream_admit(req->api, &e);
    if (r < 0) {
        answer_problem(req, &e);
        return;
    }
    if (req->head_only) {
        answer_bytes(req, MHD_HTTP_OK, "text/event-stream", (struct str){"", 0});
        return;
    }
    struct sse *s = xcalloc(1, sizeof *s);
    s->cursor = since;
    sse_greet(s, server_events_last(req->api->server));
    s->stream = (struct stream){
        .kind = STREAM_EVENTS, .type = "text/event-stream", .read = sse_read, .free = sse_free};
    stream_begin(req, &s->stream);
}
