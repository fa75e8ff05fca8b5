/* logstream.c - what an attempt printed, as text; followed until it ends
 *
 * The first piece is read before anything is answered, so that an unknown attempt is a 404 and a
 * short log that has ended is an ordinary answer with a length.  A log that grows is followed by
 * parking the connection until the server says that there is more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

static const char log_type[] = "text/plain; charset=utf-8";

struct logstream {
    struct stream stream;
    uint32_t task, attempt;
    uint64_t from; /* where the next read starts */
    struct buf data;
    size_t sent; /* of data */
    bool follow, ended;
};

static int log_fill(struct api *a, struct logstream *l, const struct caller *who, struct err *e)
{
    buf_clear(&l->data);
    l->sent = 0;
    int r = server_log_read(a->server, who, l->task, l->attempt, l->from, API_LOG_CHUNK, &l->data,
                            &l->ended, e);
    l->from += l->data.len;
    /* Without follow the log ends where it ends now. */
    if (r >= 0 && !l->follow && l->data.len < API_LOG_CHUNK)
        l->ended = true;
    return r;
}

static ssize_t log_read(void *arg, uint64_t pos, char *to, size_t room)
{
    struct logstream *l = arg;
    struct err e;
    (void)pos;
    l->stream.request->api->steps++;
    if (l->stream.over)
        return MHD_CONTENT_READER_END_WITH_ERROR;
    if (l->sent == l->data.len && !l->ended &&
        log_fill(l->stream.request->api, l, &l->stream.who, &e) < 0) {
        log_err(LOG_WARN, "log", &e);
        return MHD_CONTENT_READER_END_WITH_ERROR; /* cut off, so that nobody takes it for the whole
                                                   */
    }
    size_t left = l->data.len - l->sent, n = left < room ? left : room;
    if (!n)
        return l->ended ? MHD_CONTENT_READER_END_OF_STREAM : stream_park(&l->stream);
    memcpy(to, l->data.data + l->sent, n);
    l->sent += n;
    return (ssize_t)n;
}

static void log_more(void *arg)
{
    struct logstream *l = arg;
    stream_wake(&l->stream);
}

static void logstream_free(struct stream *stream)
{
    struct logstream *l = (struct logstream *)stream;
    if (l->follow)
        server_log_unsubscribe(stream->request->api->server, log_more, l);
    buf_done(&l->data);
    free(l);
}

static uint64_t number_of(const char *text, uint64_t otherwise)
{
    uint64_t n = otherwise;
    if (text)
        (void)text_u64(str_of(text), UINT64_MAX, &n, NULL); /* the schema has seen it */
    return n;
}

static int logstream_prepare(struct request *req, struct logstream *l, struct err *e)
{
    int r = log_fill(req->api, l, &req->who, e);
    if (r < 0 || l->ended)
        return r;
    return stream_admit(req->api, e);
}

void logstream_open(struct request *req)
{
    const struct value *query = req->call.query;
    struct logstream *l = xcalloc(1, sizeof *l);
    struct err e;

    l->task = (uint32_t)number_of(req->call.id[0], 0);
    l->attempt = (uint32_t)number_of(req->call.id[1], 0);
    l->from = number_of(value_as_text(value_get(query, "from"), NULL), 0);
    l->follow = str_is(value_as_str(value_get(query, "follow")), "true");
    int r = logstream_prepare(req, l, &e);
    if (r < 0 || l->ended || req->head_only) {
        buf_clear(&req->out);
        buf_put(&req->out, buf_str(&l->data).s, l->data.len);
        buf_done(&l->data);
        free(l);
        if (r < 0)
            answer_problem(req, &e);
        else
            answer_bytes(req, MHD_HTTP_OK, log_type, buf_str(&req->out));
        return;
    }
    l->stream = (struct stream){
        .kind = STREAM_LOG, .type = log_type, .read = log_read, .free = logstream_free};
    stream_begin(req, &l->stream);
    if (l->follow)
        server_log_subscribe(req->api->server, l->task, l->attempt, log_more, l);
}
