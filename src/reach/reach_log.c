/* reach_log.c - the log stream of a session: whose bytes are whose
 *
 * After the line "anneal-log NONCE" comes what step 1 wrote, then the marker "NONCE 1" and a
 * newline, then what step 2 wrote, and so on: a marker says that the log of steps up to its number
 * is complete.  It stands right behind the last byte that a program wrote, so nothing of theirs is
 * changed, and no program knows the nonce.  What precedes the first line is noise of a login shell.
 * Bytes that may be the beginning of a marker wait for the next piece: 36 at most.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "reach/reach_i.h"

static const char opening[] = "anneal-log ";
enum {
    OPENING = sizeof opening - 1,
    NONCE = REACH_NONCE_HEX - 1,
    NUMBER_MAX = 3, /* digits */
};

/* Length of the longest end of p that is a beginning of `of`, the whole of it not counted. */
static size_t tail_match(const char *p, size_t n, const char *of, size_t of_n)
{
    for (size_t k = n < of_n ? n : of_n - 1; k > 0; k--)
        if (memcmp(p + n - k, of, k) == 0)
            return k;
    return 0;
}

/* Bytes used up; *ret_wait: what is left of them needs more to be understood. */
static size_t open_read(struct reach_log *s, const char *p, size_t n, bool *ret_wait)
{
    const char *at = memmem(p, n, opening, OPENING);
    *ret_wait = true;
    if (!at)
        return n - tail_match(p, n, opening, OPENING);
    size_t before = (size_t)(at - p);
    if (n - before < OPENING + NONCE + 1)
        return before;
    const char *hex = at + OPENING;
    size_t digits = 0;
    while (digits < NONCE && ((hex[digits] >= '0' && hex[digits] <= '9') ||
                              (hex[digits] >= 'a' && hex[digits] <= 'f')))
        digits++;
    *ret_wait = false;
    if (digits < NONCE || hex[NONCE] != '\n')
        return before + OPENING;
    memcpy(s->nonce, hex, NONCE);
    s->open = true;
    return before + OPENING + NONCE + 1;
}

/* What follows a nonce: 0 if more is needed to know, else the length of a marker's rest with its
 * number, or 1 with *ret_number UINT32_MAX if it is none. */
static size_t number_read(const char *p, size_t n, uint32_t *ret_number)
{
    uint32_t v = 0;
    *ret_number = UINT32_MAX;
    if (n == 0)
        return 0;
    if (p[0] != ' ')
        return 1;
    for (size_t i = 1; i < n; i++) {
        if (p[i] == '\n' && i > 1) {
            *ret_number = v;
            return i + 1;
        }
        if (p[i] < '0' || p[i] > '9' || i > NUMBER_MAX)
            return 1;
        v = v * 10 + (uint32_t)(p[i] - '0');
    }
    return 0;
}

static void emit(struct reach_log *s, const char *p, size_t n, reach_log_f *fn, void *arg)
{
    if (n)
        fn(arg, s->passed + 1, p, n);
}

static size_t marks_read(struct reach_log *s, const char *p, size_t n, bool *ret_wait,
                         reach_log_f *fn, void *arg)
{
    const char *at = memmem(p, n, s->nonce, NONCE);
    size_t sure = at ? (size_t)(at - p) : n - tail_match(p, n, s->nonce, NONCE);
    emit(s, p, sure, fn, arg);
    *ret_wait = true;
    if (!at)
        return sure;
    uint32_t number;
    size_t rest = number_read(at + NONCE, n - sure - NONCE, &number);
    if (!rest)
        return sure;
    *ret_wait = false;
    if (number == UINT32_MAX) { /* output that looks like it: one byte further on */
        emit(s, at, 1, fn, arg);
        return sure + 1;
    }
    if (number > s->passed && number <= REACH_STEPS_MAX)
        s->passed = number;
    fn(arg, s->passed, NULL, 0);
    return sure + NONCE + rest;
}

void reach_log_push(struct reach_log *s, const char *p, size_t n, reach_log_f *fn, void *arg)
{
    bool own = s->pending.len > 0, wait = false;
    size_t at = 0;
    if (own) {
        buf_put(&s->pending, p, n);
        p = s->pending.data;
        n = s->pending.len;
    }
    while (at < n && !wait)
        at += s->open ? marks_read(s, p + at, n - at, &wait, fn, arg)
                      : open_read(s, p + at, n - at, &wait);
    if (own) {
        memmove(s->pending.data, s->pending.data + at, n - at);
        s->pending.len = n - at;
    } else if (at < n) {
        buf_put(&s->pending, p + at, n - at);
    }
}

void reach_log_flush(struct reach_log *s, reach_log_f *fn, void *arg)
{
    if (s->open)
        emit(s, s->pending.data, s->pending.len, fn, arg);
    buf_clear(&s->pending);
}

void reach_log_done(struct reach_log *s)
{
    buf_done(&s->pending);
}
