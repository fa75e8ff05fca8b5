/* http_stream.c - an answer without an end
 *
 * The bytes of a 2xx answer go to the caller's function as they come.  Nothing is repeated here:
 * only the caller knows from where to go on.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <stdlib.h>

#include "base/alloc.h"

struct http_stream {
    struct http_exchange x;
    http_data_f *fn;
    void *arg;
    bool moved; /* something arrived since the last look */
};

static int stream_data(void *arg, const char *p, size_t n, struct err *e)
{
    struct http_stream *s = arg;
    s->moved = true;
    return s->fn(s->arg, p, n, e);
}

int http_stream_open(struct http *h, const struct http_request *q, http_data_f *fn, void *arg,
                     struct http_stream **ret_s, struct err *e)
{
    SCOPED(http_stream) *s = xcalloc(1, sizeof *s);
    s->fn = fn;
    s->arg = arg;
    s->x.fn = stream_data;
    s->x.arg = s;
    int rc = exchange_begin(&s->x, h, q, NULL, NULL, true, e);
    if (rc)
        return rc;
    *ret_s = s;
    s = NULL;
    return 0;
}

bool http_stream_accepted(const struct http_stream *s)
{
    return s->x.status >= 200 && s->x.status < 300;
}

static int stream_outcome(struct http_stream *s, struct err *e)
{
    if (s->x.result != CURLE_OK)
        return http_transport_error(&s->x, e);
    if (http_stream_accepted(s))
        return 0;
    SCOPED_ARENA(mem);
    return http_answer_error(&mem, &s->x, e);
}

int http_stream_wait(struct http_stream *s, int timeout_ms, struct err *e)
{
    uint64_t began = http_clock_ms();
    bool accepted = http_stream_accepted(s);
    s->moved = false;
    while (!s->x.over && !s->moved && accepted == http_stream_accepted(s)) {
        uint64_t spent = http_clock_ms() - began;
        if (timeout_ms >= 0 && spent >= (uint64_t)timeout_ms && spent)
            break;
        int left = timeout_ms < 0 ? 1000 : timeout_ms - (int)spent;
        int rc = exchange_work(s->x.h, left < 1000 ? left : 1000, e);
        if (rc)
            return rc;
        exchange_listen(&s->x);
        if (timeout_ms == 0)
            break;
    }
    return s->x.over ? stream_outcome(s, e) : 1;
}

void http_stream_free(struct http_stream *s)
{
    if (!s)
        return;
    exchange_end(&s->x);
    free(s);
}
