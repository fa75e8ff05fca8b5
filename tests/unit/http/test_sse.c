/* test_sse.c - the event parser: every way to cut the bytes gives the same events */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http.h"
#include "tap.h"

struct seen {
    struct buf log;
    int stop_at, n;
};

static int note_event(void *arg, const struct http_event *ev, struct err *e)
{
    struct seen *s = arg;
    buf_printf(&s->log, "[%s|%s|%.*s]", ev->id, ev->type, (int)ev->data.n, ev->data.s);
    if (ev->data.s[ev->data.n] != '\0')
        return err_set(e, ERR_INTERNAL, "data is not NUL-terminated");
    if (++s->n == s->stop_at)
        return err_set(e, ERR_REFUSED, "enough");
    return 0;
}

static const struct {
    const char *label, *in, *out;
} cases[] = {
    {"one event", "data: hello\n\n", "[|message|hello]"},
    {"two lines of data", "data: a\ndata: b\n\n", "[|message|a\nb]"},
    {"id, type and data", "id: 7\nevent: gap\ndata: {}\n\n", "[7|gap|{}]"},
    {"the id stays for the next event", "id: 7\ndata: a\n\ndata: b\n\n",
     "[7|message|a][7|message|b]"},
    {"the type does not", "event: x\ndata: a\n\ndata: b\n\n", "[|x|a][|message|b]"},
    {"comments and retry are skipped", ": hi\nretry: 10\ndata: a\n\n:\n\n", "[|message|a]"},
    {"no data, no event", "event: x\nid: 9\n\n", ""},
    {"half an event is not delivered", "data: a\n", ""},
    {"CR ends a line", "data: a\r\rdata: b\r\r", "[|message|a][|message|b]"},
    {"CRLF ends a line", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", "[1|message|a][1|message|b]"},
    {"only one space is skipped", "data:  a\ndata:b\n\n", "[|message| a\nb]"},
    {"a field without a colon is empty", "data\ndata\n\n", "[|message|\n]"},
    {"unknown fields are skipped", "what: ever\nDATA: x\ndata: a\n\n", "[|message|a]"},
    {"a byte order mark is skipped",
     "\xef\xbb\xbf"
     "data: a\n\n",
     "[|message|a]"},
    {"but only at the start",
     "data: a\n\n\xef\xbb\xbf"
     "data: b\n\n",
     "[|message|a]"},
    {"an empty id forgets", "id: 3\ndata: a\n\nid:\ndata: b\n\n", "[3|message|a][|message|b]"},
};

static void try_cut(size_t c, size_t step)
{
    struct seen seen = {0};
    struct http_sse s;
    struct err e;
    http_sse_init(&s, note_event, &seen);
    int rc = 0;
    size_t n = strlen(cases[c].in);
    for (size_t at = 0; at < n && !rc; at += step)
        rc = http_sse_feed(&s, cases[c].in + at, step < n - at ? step : n - at, &e);
    is_int(rc, 0, "%s, %zu bytes at a time", cases[c].label, step);
    is_text(buf_str(&seen.log).s, cases[c].out, "%s, %zu bytes at a time: events", cases[c].label,
            step);
    http_sse_done(&s);
    buf_done(&seen.log);
}

static void test_limits(void)
{
    struct seen seen = {.stop_at = 2};
    struct http_sse s;
    struct err e;
    http_sse_init(&s, note_event, &seen);
    is_int(http_sse_feed(&s, "data:1\n\ndata:2\n\ndata:3\n\n", 24, &e), -ERR_REFUSED,
           "what the function returns ends the feeding");
    is_int(seen.n, 2, "and nothing is delivered after it");
    http_sse_done(&s);
    buf_done(&seen.log);

    seen = (struct seen){0};
    http_sse_init(&s, note_event, &seen);
    is_int(http_sse_feed(&s, "id: 4\n\nid: 5\ndata: lost half", 28, &e), 0, "half an event");
    http_sse_restart(&s);
    is_int(http_sse_feed(&s, "data: whole\n\n", 13, &e), 0, "then a new connection");
    is_text(buf_str(&seen.log).s, "[4|message|whole]",
            "the half is gone with its id, the id before it is not");
    http_sse_done(&s);
    buf_done(&seen.log);

    char *big = calloc(1, 1 << 20);
    memset(big, 'x', 1 << 20);
    seen = (struct seen){0};
    http_sse_init(&s, note_event, &seen);
    int rc = 0;
    for (int i = 0; i < 17 && !rc; i++)
        rc = http_sse_feed(&s, big, 1 << 20, &e);
    is_int(rc, -ERR_TOO_LARGE, "a line without an end is refused at the limit");
    http_sse_done(&s);
    buf_done(&seen.log);

    seen = (struct seen){0};
    http_sse_init(&s, note_event, &seen);
    static const char nul[] = "id: 1\0"
                              "2\nid: 5\ndata: a\nid: \0\n\n";
    is_int(http_sse_feed(&s, nul, sizeof nul - 1, &e), 0, "an id with NUL inside");
    is_text(buf_str(&seen.log).s, "[5|message|a]", "is ignored");
    http_sse_done(&s);
    buf_done(&seen.log);
    free(big);
}

int main(void)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        try_cut(c, 1);
        try_cut(c, 2);
        try_cut(c, 3);
        try_cut(c, 1000);
    }
    test_limits();
    return tap_done();
}
