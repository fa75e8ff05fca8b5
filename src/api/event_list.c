/* event_list.c - GET /v1/events as a list
 *
 * {"items": [...], "next": N | null, "last": N, "gap": {...}}.  Events that must be fetched from
 * the store first make the request wait for the next wake and then run again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"

/* JSON lines become the items of a list. */
static void items_write(struct buf *b, struct str lines)
{
    bool first = true;

    buf_putc(b, '[');
    while (lines.n) {
        const char *end = memchr(lines.s, '\n', lines.n);
        size_t n = end ? (size_t)(end - lines.s) : lines.n;
        if (n) {
            if (!first)
                buf_putc(b, ',');
            buf_put(b, lines.s, n);
            first = false;
        }
        n += end != NULL;
        lines = (struct str){lines.s + n, lines.n - n};
    }
    buf_putc(b, ']');
}

static uint64_t number_of_query(const struct request *req, const char *name, uint64_t otherwise)
{
    const struct value *v = value_get(req->call.query, name);
    uint64_t n = otherwise;
    if (v)
        (void)text_u64(value_as_str(v), UINT64_MAX, &n, NULL); /* the schema has seen it */
    return n;
}

void event_list_answer(struct request *req)
{
    struct api *a = req->api;
    uint32_t standard = a->o.page_limit < API_LIMIT_DEFAULT ? a->o.page_limit : API_LIMIT_DEFAULT;
    uint64_t since = number_of_query(req, "since", 0), last = since, first_kept = 0;
    uint32_t limit = (uint32_t)number_of_query(req, "limit", standard);
    struct buf *b = &req->out;
    SCOPED_BUF(lines);
    struct err e;

    int r = server_events_read(a->server, &req->who, since, limit, &lines, &last, &first_kept, &e);
    if (r < 0) {
        answer_problem(req, &e);
        return;
    }
    if (r > 0) {
        a->events.retry = true;
        req->phase = REQUEST_EVENTS;
        return;
    }
    uint64_t newest = server_events_last(a->server);
    buf_clear(b);
    buf_puts(b, "{\"items\":");
    items_write(b, buf_str(&lines));
    if (last < newest && last > since)
        buf_printf(b, ",\"next\":%" PRIu64 ",\"last\":%" PRIu64, last, newest);
    else
        buf_printf(b, ",\"next\":null,\"last\":%" PRIu64, newest);
    if (first_kept > since + 1)
        buf_printf(b, ",\"gap\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}", since + 1,
                   first_kept - 1);
    else if (since > newest) /* numbers of another journal */
        buf_printf(b, ",\"gap\":{\"from\":%" PRIu64 ",\"to\":%" PRIu64 "}", newest + 1, since);
    buf_putc(b, '}');
    answer_bytes(req, MHD_HTTP_OK, "application/json", buf_str(b));
}
