/* event_cache.c - formatted events, made once for all streams that are at the same place
 *
 * A thousand streams that are up to date all want the same next events.  The first one to be asked
 * reads and formats them; the others copy the bytes.  Durable events never change, so a chunk stays
 * right for ever; the ring only bounds memory.  A stream that is far behind reads chunks of its own
 * and finds its fellows' as it catches up.
 *
 * A wake resumes every stream that can go on.  Wakes come at most every API_WAKE_MS, the first at
 * once, so that a storm of small commits costs a bounded number of writes per stream.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void event_chunk_unref(struct event_chunk *c)
{
    if (!c || --c->refs)
        return;
    buf_done(&c->bytes);
    free(c);
}

/* {"id":N,... as the facade promises; 0 if it is not so. */
static uint64_t line_id(struct str line)
{
    static const char prefix[] = "{\"id\":";
    size_t n = sizeof prefix - 1, digits = 0;
    uint64_t id = 0;

    if (line.n <= n || memcmp(line.s, prefix, n))
        return 0;
    while (n + digits < line.n && line.s[n + digits] >= '0' && line.s[n + digits] <= '9')
        digits++;
    (void)text_u64((struct str){line.s + n, digits}, UINT64_MAX, &id, NULL);
    return id;
}

static void gap_format(struct buf *b, uint64_t from, uint64_t to)
{
    buf_puts(b, "event: gap\nid: ");
    buf_u64(b, to);
    buf_puts(b, "\ndata: {\"from\":");
    buf_u64(b, from);
    buf_puts(b, ",\"to\":");
    buf_u64(b, to);
    buf_puts(b, "}\n\n");
}

static void lines_format(struct buf *b, struct str lines)
{
    while (lines.n) {
        const char *end = memchr(lines.s, '\n', lines.n);
        struct str line = {lines.s, end ? (size_t)(end - lines.s) : lines.n};
        if (line.n) {
            buf_puts(b, "id: ");
            buf_u64(b, line_id(line));
            buf_puts(b, "\ndata: ");
            buf_put(b, line.s, line.n);
            buf_puts(b, "\n\n");
        }
        size_t used = line.n + (end != NULL);
        lines = (struct str){lines.s + used, lines.n - used};
    }
}

static struct event_chunk *cache_find(struct event_cache *cache, const struct caller *who,
                                      uint64_t since)
{
    for (unsigned i = 0; i < EVENT_CACHE_SLOTS; i++) {
        struct event_chunk *c = cache->slot[i];
        if (c && c->since == since && c->tenant == who->tenant && c->scope == who->scope)
            return c;
    }
    return NULL;
}

static void cache_put(struct event_cache *cache, struct event_chunk *c)
{
    struct event_chunk **slot = &cache->slot[cache->next++ % EVENT_CACHE_SLOTS];
    event_chunk_unref(*slot);
    *slot = c;
    c->refs++;
}

int event_chunk_get(struct api *a, const struct caller *who, uint64_t since,
                    struct event_chunk **ret_chunk, struct err *e)
{
    struct event_chunk *c = cache_find(&a->events, who, since);
    uint64_t last = since, first_kept = 0;
    SCOPED_BUF(lines);

    if (c) {
        a->events.shared++;
        c->refs++;
        *ret_chunk = c;
        return 0;
    }
    *ret_chunk = NULL;
    if (since >= server_events_last(a->server))
        return 0; /* the usual end of a stream's turn */
    int r = server_events_read(a->server, who, since, API_EVENTS_PER_CHUNK, &lines, &last,
                               &first_kept, e);
    if (r < 0)
        return r;
    if (r > 0) {
        a->events.retry = true;
        return 0;
    }
    bool gap = first_kept > since + 1;
    if (gap && last < first_kept - 1)
        last = first_kept - 1;
    if (last <= since)
        return 0;
    c = xcalloc(1, sizeof *c);
    *c = (struct event_chunk){
        .refs = 1, .tenant = who->tenant, .scope = who->scope, .since = since, .last = last};
    if (gap)
        gap_format(&c->bytes, since + 1, first_kept - 1);
    lines_format(&c->bytes, buf_str(&lines));
    cache_put(&a->events, c);
    a->events.built++;
    *ret_chunk = c;
    return 0;
}

/* --- waking --- */

static void wake_now(void *arg)
{
    struct api *a = arg;
    uint64_t newest = server_events_last(a->server);
    bool retry = a->events.retry;

    a->events.retry = false;
    a->events.woken_ms = loop_now_ms(a->loop);
    for (struct stream *s = a->streams.first; s; s = s->next)
        if (s->kind == STREAM_EVENTS && sse_wants(s, newest, retry))
            stream_wake(s);
    for (struct request *req = a->live; req; req = req->next) {
        if (req->phase != REQUEST_EVENTS || !req->suspended)
            continue;
        req->phase = REQUEST_WORK;
        request_resume(req);
    }
}

/* Wakes whoever can go on: new events, or older ones that were read from the store. */
static void events_wake(void *arg)
{
    struct api *a = arg;
    uint64_t now = loop_now_ms(a->loop);

    if (a->stopping || loop_timer_armed(a->events.wake))
        return;
    if (now - a->events.woken_ms >= API_WAKE_MS || !a->events.woken_ms)
        wake_now(a);
    else
        loop_timer_at(a->events.wake, a->events.woken_ms + API_WAKE_MS);
}

void event_cache_init(struct api *a)
{
    a->events.wake = loop_timer_new(a->loop, wake_now, a);
    server_events_subscribe(a->server, events_wake, a);
}

void event_cache_done(struct api *a)
{
    server_events_unsubscribe(a->server, events_wake, a);
    loop_timer_free(a->events.wake);
    for (unsigned i = 0; i < EVENT_CACHE_SLOTS; i++)
        event_chunk_unref(a->events.slot[i]);
}
