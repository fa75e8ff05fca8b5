/* http_events.c - a subscription to events that outlives its connections
 *
 * While the server answers, events flow; when it goes away, it is sought again with growing pauses,
 * and the new connection names the last event that was seen, so that nothing is missed and nothing
 * comes twice.  A refusal (4xx), a loss longer than the patience, and a first connection that fails
 * end a subscription.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { RENEW_FIRST_MS = 100, RENEW_MOST_MS = 3000 };

struct http_events {
    struct http *h;
    struct http_sse sse;
    char *path;
    char *since;
    http_event_f *fn;
    void (*state)(void *arg, const struct err *lost);
    void *arg;
    uint32_t patience_ms;
    struct http_exchange x; /* x.easy == NULL: between two connections */
    bool stands, ever;      /* connected now; was once */
    bool told;              /* something was delivered since the last look */
    uint64_t lost_ms;       /* when the connection was lost; 0: never stood or stands */
    uint64_t next_ms;       /* when to try again */
    uint32_t pause_ms;
};

static int events_one(void *arg, const struct http_event *ev, struct err *e)
{
    struct http_events *s = arg;
    s->told = true;
    return s->fn(s->arg, ev, e);
}

static void events_accept(struct http_events *s)
{
    s->stands = s->ever = s->told = true;
    s->lost_ms = 0;
    s->pause_ms = RENEW_FIRST_MS;
    if (s->state)
        s->state(s->arg, NULL);
}

static int events_data(void *arg, const char *p, size_t n, struct err *e)
{
    struct http_events *s = arg;
    if (!s->stands) /* the first bytes came together with the status line */
        events_accept(s);
    return http_sse_feed(&s->sse, p, n, e);
}

static int events_connect(struct http_events *s, struct err *e)
{
    const struct http_request q = {.method = "GET", .path = s->path, .accept = "text/event-stream"};
    const char *after = s->sse.last.len ? s->sse.last.data : s->since;
    s->x = (struct http_exchange){.fn = events_data, .arg = s};
    http_sse_restart(&s->sse);
    return exchange_begin(&s->x, s->h, &q, NULL, after, true, e);
}

int http_events_open(struct http *h, const struct http_events_options *o,
                     struct http_events **ret_s, struct err *e)
{
    SCOPED(http_events) *s = xcalloc(1, sizeof *s);
    s->h = h;
    s->path = xstrdup(o->path);
    s->since = o->since ? xstrdup(o->since) : NULL;
    s->fn = o->fn;
    s->state = o->state;
    s->arg = o->arg;
    s->patience_ms = o->patience_ms ? o->patience_ms : 60000;
    s->pause_ms = RENEW_FIRST_MS;
    http_sse_init(&s->sse, events_one, s);
    int rc = events_connect(s, e);
    if (rc)
        return rc;
    *ret_s = s;
    s = NULL;
    return 0;
}

static bool events_accepted(const struct http_events *s)
{
    return s->x.easy && s->x.status >= 200 && s->x.status < 300;
}

/* The connection is over: decides between renewing, ending and failing.  1: will be renewed. */
static int events_lost(struct http_events *s, struct err *e)
{
    struct err lost;
    uint64_t now = http_clock_ms();
    SCOPED_ARENA(mem);
    if (s->x.fn_err.code)
        return http_transport_error(&s->x, e);
    if (s->x.status == 204) /* the standard's word for "do not come back" */
        return 0;
    if (s->x.result != CURLE_OK)
        http_transport_error(&s->x, &lost);
    else if (!events_accepted(s))
        http_answer_error(&mem, &s->x, &lost);
    else
        err_set(&lost, ERR_UNREACHABLE, "%s closed the stream of events", s->h->base);
    bool refused = s->x.status >= 300 && s->x.status < 500;
    bool hopeless = !s->ever || lost.code == ERR_INVALID; /* nobody there, or a useless CA file */
    exchange_end(&s->x);
    if (!s->lost_ms)
        s->lost_ms = now;
    if (refused || hopeless || now - s->lost_ms >= s->patience_ms) {
        if (e)
            *e = lost;
        return -lost.code;
    }
    if (s->stands && s->state)
        s->state(s->arg, &lost);
    s->told |= s->stands;
    s->stands = false;
    s->next_ms = now + s->pause_ms;
    s->pause_ms = s->pause_ms * 2 < RENEW_MOST_MS ? s->pause_ms * 2 : RENEW_MOST_MS;
    return 1;
}

/* One step; returns as http_events_wait. */
static int events_step(struct http_events *s, int wait_ms, struct err *e)
{
    int rc;
    if (!s->x.easy) {
        uint64_t now = http_clock_ms();
        if (now < s->next_ms) {
            uint64_t left = s->next_ms - now;
            http_pause(left < (uint64_t)wait_ms ? (uint32_t)left : (uint32_t)wait_ms);
            return 1;
        }
        if ((rc = events_connect(s, e)))
            return rc;
    }
    if ((rc = exchange_work(s->h, wait_ms, e)))
        return rc;
    exchange_listen(&s->x);
    if (events_accepted(s) && !s->stands && s->x.status != 204)
        events_accept(s);
    return s->x.over ? events_lost(s, e) : 1;
}

int http_events_wait(struct http_events *s, int timeout_ms, struct err *e)
{
    uint64_t began = http_clock_ms();
    s->told = false;
    for (;;) {
        uint64_t spent = http_clock_ms() - began;
        int left = 1000;
        if (timeout_ms >= 0)
            left = spent < (uint64_t)timeout_ms ? timeout_ms - (int)spent : 0;
        int rc = events_step(s, left < 1000 ? left : 1000, e);
        if (rc <= 0 || s->told || (timeout_ms >= 0 && left == 0))
            return rc;
    }
}

void http_events_free(struct http_events *s)
{
    if (!s)
        return;
    exchange_end(&s->x);
    http_sse_done(&s->sse);
    free(s->path);
    free(s->since);
    free(s);
}
