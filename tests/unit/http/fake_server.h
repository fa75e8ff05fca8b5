/* fake_server.h - an HTTP server inside a test, which answers what it was told and remembers what
 * it was asked
 *
 * Each connection has a thread of its own, so that a stream may stay open while calls are answered.
 * Nothing here depends on time: a stream's script waits for requests, not for seconds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAKE_SERVER_H
#define TESTS_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct fake;
struct fake *fake_new(void);
void fake_free(struct fake *f);
const char *fake_url(const struct fake *f); /* "http://127.0.0.1:PORT" */
/* An address on which nobody listens. */
const char *fake_nowhere(void);

/* Answers for "METHOD /path", or "METHOD /path?query" for requests whose query begins so; several
 * answers are given one after the other, the last one for ever.  The body is JSON, problem+json
 * from status 400 on. */
void fake_on(struct fake *f, const char *route, int status, const char *body);
/* As fake_on with header lines ("ETag: \"7\"\r\nContent-Type: text/plain\r\n") of the test's own.
 */
void fake_on_headers(struct fake *f, const char *route, int status, const char *headers,
                     const char *body);
/* As fake_on, but answered only when the streams' scripts have sent `sends` texts in all: what they
 * told is with the client before the answer is. */
void fake_on_after(struct fake *f, const char *route, int sends, int status, const char *body);
/* Reads the request, then closes the connection without a word. */
void fake_on_drop(struct fake *f, const char *route);
/* Forgets all answers of a route. */
void fake_off(struct fake *f, const char *route);

enum fake_do {
    FAKE_SEND,  /* text as it is */
    FAKE_AWAIT, /* until `count` requests of route `text` have been seen in all */
    FAKE_HOLD,  /* until the client goes away */
    FAKE_BREAK, /* close the connection in the middle of the answer */
};
struct fake_step {
    enum fake_do what;
    const char *text;
    int count;
};
/* A GET that is answered 200 with this script; the connection closes after the last step.  Several
 * scripts serve one connection each, the last one for ever. */
void fake_stream(struct fake *f, const char *path, const char *type, const struct fake_step *steps,
                 size_t n);

/* What was asked so far. */
int fake_count(struct fake *f, const char *route);
int fake_total(struct fake *f);
/* The whole request number i (from 0; negative: from the end) of a route ("" for any): request
 * line, headers, empty line, body.  NULL if there is none.  Valid until fake_free(). */
const char *fake_request(struct fake *f, const char *route, int i);
/* Its body only. */
const char *fake_body(struct fake *f, const char *route, int i);

#endif
