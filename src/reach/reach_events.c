/* reach_events.c - the event stream of a session, in pieces of any size
 *
 * Lines that begin with "anneal: ", and behind an end that announces a result so many bytes of it.
 * Other lines are what shells, sudo or tar have to say; the last one is kept for error messages.
 * Nothing here trusts the stream: numbers have ranges, lines and results a limit, and what does not
 * parse is handed on as REACH_EV_BAD.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/text.h"
#include "reach/reach_i.h"

enum { LINE_MAX_BYTES = 1024, WORDS_MAX = 8 };

static const char *const what_text[] = {
#define X(id, text) text,
    REACH_WHATS(X)
#undef X
};

const char *reach_what_text(enum reach_what what)
{
    return (unsigned)what < REACH_WHAT_COUNT ? what_text[what] : "unknown";
}

/* Cuts the next word off the front; what is left begins behind the blank. */
static struct str word_take(struct str *rest)
{
    const char *blank = rest->n ? memchr(rest->s, ' ', rest->n) : NULL;
    struct str word = {rest->s, blank ? (size_t)(blank - rest->s) : rest->n};
    size_t skip = word.n + (blank ? 1 : 0);
    rest->s += skip;
    rest->n -= skip;
    return word;
}

static bool number_take(struct str *rest, uint64_t max, uint64_t *ret_v)
{
    struct str word = word_take(rest);
    return word.n && text_u64(word, max, ret_v, NULL) == 0;
}

static bool read_what(struct str word, enum reach_what *ret_what)
{
    for (int i = 0; i < REACH_WHAT_COUNT; i++) {
        if (!str_is(word, what_text[i]))
            continue;
        *ret_what = (enum reach_what)i;
        return true;
    }
    return false;
}

/* "3 done 0 12 0 -": number, what, status, bytes of the result, left behind, note */
static bool read_end(struct str rest, struct reach_event *ev, size_t *ret_bytes)
{
    uint64_t n, status = 0, bytes, left;
    if (!number_take(&rest, REACH_STEPS_MAX, &n) || !n)
        return false;
    if (!read_what(word_take(&rest), &ev->end.what))
        return false;
    bool begun = !(rest.n && rest.s[0] == '-');
    if (begun ? !number_take(&rest, 255, &status) : word_take(&rest).n != 1)
        return false;
    if (ev->end.what == REACH_DONE && !begun)
        return false;
    if (!number_take(&rest, REACH_RESULT_MAX + 1, &bytes) || !number_take(&rest, UINT32_MAX, &left))
        return false;
    ev->kind = REACH_EV_END;
    ev->n = (uint32_t)n;
    ev->end.status = begun ? (int)status : -1;
    ev->end.left = (uint32_t)left;
    ev->end.note = str_is(rest, "-") ? (struct str){"", 0} : rest;
    *ret_bytes = bytes;
    return true;
}

/* "3 812 0 2 0 1": number, task, fence, attempt, ask, step */
static bool read_step(struct str rest, struct reach_event *ev)
{
    uint64_t n, v[5];
    if (!number_take(&rest, REACH_STEPS_MAX, &n) || !n)
        return false;
    for (int i = 0; i < 5; i++)
        if (!number_take(&rest, i == 1 ? INT64_MAX : UINT32_MAX, &v[i]))
            return false;
    ev->kind = REACH_EV_STEP;
    ev->n = (uint32_t)n;
    ev->run = (struct reach_run){.task = (uint32_t)v[0],
                                 .fence = v[1],
                                 .attempt = (uint32_t)v[2],
                                 .ask = (uint32_t)v[3],
                                 .step = (uint32_t)v[4]};
    return true;
}

/* "failed 0 -": reason, processes ended, note */
static bool read_over(struct str rest, struct reach_event *ev)
{
    uint64_t left;
    ev->kind = REACH_EV_OVER;
    ev->text = word_take(&rest);
    bool good = ev->text.n && number_take(&rest, UINT32_MAX, &left);
    ev->note = str_is(rest, "-") ? (struct str){"", 0} : rest;
    return good;
}

/* *ret_bytes: of the result that follows the line. */
static void line_read(struct str line, struct reach_event *ev, size_t *ret_bytes)
{
    struct str rest = line, verb = word_take(&rest);
    bool good = true;
    *ev = (struct reach_event){.kind = REACH_EV_LINE};
    if (str_is(verb, "end"))
        good = read_end(rest, ev, ret_bytes);
    else if (str_is(verb, "step"))
        good = read_step(rest, ev);
    else if (str_is(verb, "over"))
        good = read_over(rest, ev);
    else if (str_is(verb, "chain"))
        ev->kind = REACH_EV_CHAIN;
    else if (str_is(verb, "norunner"))
        ev->kind = REACH_EV_NO_RUNNER;
    else
        *ev = (struct reach_event){.kind = REACH_EV_LINE, .text = verb, .note = rest};
    if (!good) {
        *ev = (struct reach_event){.kind = REACH_EV_BAD, .text = line};
        *ret_bytes = 0;
    }
}

static void end_deliver(struct reach_events *s, reach_event_f *fn, void *arg)
{
    s->held.end.result = buf_str(&s->result);
    s->held.end.note = buf_str(&s->kept);
    s->result_on = false;
    fn(arg, &s->held);
    buf_clear(&s->result);
    buf_clear(&s->kept);
}

static void noise_keep(struct reach_events *s, struct str line)
{
    while (line.n && (line.s[line.n - 1] == '\r' || line.s[line.n - 1] == ' '))
        line.n--;
    if (!line.n)
        return;
    snprintf(s->noise, sizeof s->noise, "%.*s",
             (int)(line.n < sizeof s->noise ? line.n : sizeof s->noise), line.s);
    for (char *c = s->noise; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = ' ';
}

static void line_end(struct reach_events *s, reach_event_f *fn, void *arg)
{
    static const char head[] = "anneal: ";
    struct str line = buf_str(&s->line);
    struct reach_event ev;
    size_t bytes = 0;
    if (line.n < sizeof head - 1 || memcmp(line.s, head, sizeof head - 1) != 0) {
        noise_keep(s, line);
    } else if (s->line_long) {
        ev = (struct reach_event){.kind = REACH_EV_BAD, .text = line};
        fn(arg, &ev);
    } else {
        line_read((struct str){line.s + sizeof head - 1, line.n - (sizeof head - 1)}, &ev, &bytes);
        if (ev.kind == REACH_EV_END) {
            s->held = ev;
            s->result_left = bytes;
            s->result_on = true;
            buf_put(&s->kept, ev.end.note.s, ev.end.note.n);
            if (!bytes)
                end_deliver(s, fn, arg);
        } else {
            fn(arg, &ev);
        }
    }
    buf_clear(&s->line);
    s->line_long = false;
}

void reach_events_push(struct reach_events *s, const char *p, size_t n, reach_event_f *fn,
                       void *arg)
{
    while (n) {
        if (s->result_on) {
            size_t part = n < s->result_left ? n : s->result_left;
            buf_put(&s->result, p, part);
            s->result_left -= part;
            p += part;
            n -= part;
            if (!s->result_left)
                end_deliver(s, fn, arg);
            continue;
        }
        const char *nl = memchr(p, '\n', n);
        size_t part = nl ? (size_t)(nl - p) : n;
        size_t room = LINE_MAX_BYTES - s->line.len;
        buf_put(&s->line, p, part < room ? part : room);
        s->line_long = s->line_long || part > room;
        if (nl)
            line_end(s, fn, arg);
        part += nl ? 1 : 0;
        p += part;
        n -= part;
    }
}

void reach_events_done(struct reach_events *s)
{
    buf_done(&s->line);
    buf_done(&s->kept);
    buf_done(&s->result);
}
