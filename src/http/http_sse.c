/* http_sse.c - server-sent events from a byte stream
 *
 * The format of the HTML standard: lines end in LF, CR or CRLF, fields are id, event, data and
 * retry (which we do not use: our own back-off knows more), a line that begins with a colon is a
 * comment, an empty line delivers.  An event without data is not delivered.  A byte order mark at
 * the start is skipped.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"

#include <string.h>

void http_sse_init(struct http_sse *s, http_event_f *fn, void *arg)
{
    *s = (struct http_sse){.fn = fn, .arg = arg};
}

void http_sse_done(struct http_sse *s)
{
    buf_done(&s->line);
    buf_done(&s->data);
    buf_done(&s->type);
    buf_done(&s->id);
    buf_done(&s->last);
}

void http_sse_restart(struct http_sse *s)
{
    buf_clear(&s->line);
    buf_clear(&s->data);
    buf_clear(&s->type);
    buf_clear(&s->id);
    buf_put(&s->id, buf_str(&s->last).s, s->last.len);
    s->after_cr = s->begun = false;
}

static int event_deliver(struct http_sse *s, struct err *e)
{
    int rc = 0;
    buf_clear(&s->last);
    buf_put(&s->last, buf_str(&s->id).s, s->id.len);
    if (s->data.len) {
        s->data.len--; /* the newline after the last line is not part of the data */
        s->data.data[s->data.len] = '\0';
        const struct http_event ev = {.id = buf_str(&s->last).s,
                                      .type = s->type.len ? s->type.data : "message",
                                      .data = buf_str(&s->data)};
        rc = s->fn(s->arg, &ev, e);
    }
    buf_clear(&s->data);
    buf_clear(&s->type);
    return rc;
}

static int event_line(struct http_sse *s, struct err *e)
{
    struct str l = buf_str(&s->line);
    if (!l.n)
        return event_deliver(s, e);
    const char *colon = memchr(l.s, ':', l.n);
    struct str key = {l.s, colon ? (size_t)(colon - l.s) : l.n};
    struct str val = colon ? (struct str){colon + 1, l.n - key.n - 1} : (struct str){"", 0};
    if (val.n && *val.s == ' ')
        val = (struct str){val.s + 1, val.n - 1};
    if (str_is(key, "data")) {
        buf_put(&s->data, val.s, val.n);
        buf_putc(&s->data, '\n');
    } else if (str_is(key, "event")) {
        buf_clear(&s->type);
        buf_put(&s->type, val.s, val.n);
    } else if (str_is(key, "id") && !memchr(val.s, '\0', val.n)) {
        buf_clear(&s->id);
        buf_put(&s->id, val.s, val.n);
    }
    return 0;
}

int http_sse_feed(struct http_sse *s, const char *p, size_t n, struct err *e)
{
    for (const char *end = p + n; p < end;) {
        if (s->after_cr && *p == '\n') {
            s->after_cr = false;
            p++;
            continue;
        }
        s->after_cr = false;
        size_t plain = 0;
        while (p + plain < end && p[plain] != '\n' && p[plain] != '\r')
            plain++;
        buf_put(&s->line, p, plain);
        if (s->line.len + s->data.len > SSE_EVENT_MAX)
            return err_set(e, ERR_TOO_LARGE, "an event is larger than %d bytes", SSE_EVENT_MAX);
        p += plain;
        if (p == end)
            break;
        s->after_cr = *p == '\r';
        p++;
        if (!s->begun && s->line.len >= 3 && !memcmp(s->line.data, "\xef\xbb\xbf", 3)) {
            memmove(s->line.data, s->line.data + 3, s->line.len - 2);
            s->line.len -= 3;
        }
        s->begun = true;
        int rc = event_line(s, e);
        buf_clear(&s->line);
        if (rc)
            return rc;
    }
    return 0;
}
