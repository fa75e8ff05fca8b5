/* http.h - a client of one HTTP server: calls that carry JSON, streams, and events that resume;
 * and single deliveries to anybody's
 *
 * A client belongs to one thread and to one server.  A call is a question with one answer: a value
 * on success, a struct err otherwise, made from the server's problem+json where there is one.  What
 * may be repeated without harm is repeated: reads, and POSTs, each of which carries an
 * Idempotency-Key that stays the same in all its attempts.  Other writes are repeated only if no
 * byte of them can have arrived.
 *
 * A stream delivers bytes as they come, for as long as they come.  An event subscription is a
 * stream of server-sent events that reconnects by itself and asks for what it missed.
 *
 * A token is sent in clear only to this machine; redirects are not followed; libcurl stays hidden.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "base/value.h"

struct http;
/* One line per exchange, for people: "GET /v1/nodes -> 200, 1432 bytes, 3ms". */
typedef void http_trace_f(void *arg, const char *line);

struct http_options {
    const char *base;     /* "https://host:port" */
    const char *cacert;   /* PEM file of the authority to trust; NULL: the system's */
    const char *pin;      /* SHA-256 of the server's public key, hex: it alone is trusted; NULL */
    bool any_name;        /* the authority signs for this server only: names do not matter */
    struct secret token;  /* sent as bearer; .s == NULL: none */
    const char *agent;    /* User-Agent; NULL: "anneal" */
    const char *if_down;  /* hint of ERR_UNREACHABLE, "" or NULL for none */
    uint32_t connect_ms;  /* 0: 5 s */
    uint32_t timeout_ms;  /* of a whole call; 0: 30 s */
    uint32_t idle_ms;     /* a stream silent for longer is dead; 0: 45 s */
    uint32_t pause_ms;    /* before the first repetition, doubled for each next one; 0: 100 ms */
    uint32_t tries;       /* of a repeatable call; 0: 4 */
    uint32_t patience_ms; /* how long a server that refuses connections is asked again; 0: not */
    size_t max_bytes;     /* of an answer; 0: 64 MiB */
    http_trace_f *trace;
    void *trace_arg;
};
/* Checks base and token; opens nothing. */
int http_new(const struct http_options *o, struct http **ret_h, struct err *e);
void http_free(struct http *h);
static inline void http_scope_end(struct http **h)
{
    http_free(*h);
}
const char *http_base(const struct http *h);

/* "/v1/nodes/%s/report": each %s is percent-encoded; no other conversion exists. */
char *http_path(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Appends "?key=value" or "&key=value", encoded.  A NULL value appends nothing. */
void http_query(struct buf *path, const char *key, const char *value);

struct http_request {
    const char *method;       /* "GET" ... */
    const char *path;         /* from the root, encoded, with its query */
    const struct value *body; /* sent as JSON; NULL: none */
    struct str text;          /* JSON already, sent as it is instead; borrowed until the end */
    const char *if_match;     /* a revision without quotes, or "*"; NULL: none */
    const char *accept;       /* NULL: application/json */
    uint32_t timeout_ms;      /* 0: the client's */
    bool once;                /* a POST whose answer is not kept: no key, never repeated */
};
struct http_reply {
    uint32_t status;
    struct str text;           /* the body as it came */
    const struct value *value; /* the body if it is JSON, NULL otherwise */
    const char *etag;          /* without quotes; NULL: none */
};
/* The reply lives in mem.  Statuses of 400 and above, and redirects, are errors. */
int http_call(struct http *h, struct arena *mem, const struct http_request *q,
              struct http_reply *ret_r, struct err *e);

/* Bytes as they come.  fn returns 0, or -code with e set to end the stream with that error. */
struct http_stream;
typedef int http_data_f(void *arg, const char *p, size_t n, struct err *e);
int http_stream_open(struct http *h, const struct http_request *q, http_data_f *fn, void *arg,
                     struct http_stream **ret_s, struct err *e);
/* Waits until something arrived or timeout_ms passed (-1: for ever).  1: goes on, 0: ended as it
 * should, -code: failed. */
int http_stream_wait(struct http_stream *s, int timeout_ms, struct err *e);
/* The server has accepted: a 2xx status line arrived. */
bool http_stream_accepted(const struct http_stream *s);
void http_stream_free(struct http_stream *s);
static inline void http_stream_scope_end(struct http_stream **s)
{
    http_stream_free(*s);
}

/* Calls that do not block: on a loop, each told when it has landed.  The client is theirs from now
 * on, and freed with them.  Connections are kept and used again. */
struct loop;
struct http_air;
struct http_air *http_air_new(struct http *h, struct loop *l);
void http_air_free(struct http_air *a); /* what is in the air is forgotten */
struct http_landing {
    int failure; /* 0, or -code with err set */
    struct err err;
    uint32_t status; /* 0: nobody answered */
    struct str body; /* valid during the call only */
};
/* On the loop, once; the flight is over.  It may start others. */
typedef void http_landed_f(void *arg, const struct http_landing *l);
struct http_flight;
/* A POST of JSON text, which becomes the flight's.  libcurl may send it twice if a kept connection
 * breaks: only for what does not mind.  NULL with e set. */
struct http_flight *http_fly(struct http_air *a, const char *path, struct buf *text,
                             uint32_t timeout_ms, http_landed_f *fn, void *arg, struct err *e);
void http_flight_cancel(struct http_flight *f); /* it lands nowhere */

/* A text that is brought to an address of somebody else: one POST, no repetition, no redirect, no
 * credentials of ours.  Blocks; on any thread. */
struct http_header {
    const char *name, *value;
};
struct http_delivery {
    const char *url;
    struct str body;
    const struct http_header *headers; /* its type among them */
    size_t n_headers;
    uint32_t timeout_ms; /* of all of it, connecting included; 0: 10 s */
    const char *agent;   /* User-Agent; NULL: "anneal" */
    /* Asked about once a second, on this thread; true gives up.  NULL: nobody can stop it. */
    bool (*stopped)(void *arg);
    void *arg;
};
enum { HTTP_SAID_BYTES = 1024 };
struct http_receipt {
    uint32_t status;
    char said[HTTP_SAID_BYTES]; /* how the answer begins */
    size_t n_said;
};
/* Whatever the status: who answered has it.  ERR_UNREACHABLE, ERR_TIMEOUT, ERR_INVALID,
 * ERR_FAILED if it was stopped.  Errors name the server of the address, not the rest of it. */
int http_deliver(const struct http_delivery *d, struct http_receipt *ret, struct err *e);
/* http or https, a host, no user and no password. */
int http_url_check(const char *url, struct err *e);
/* Appends scheme, host and port: what may be told of an address whose path may be a secret. */
void http_url_server(struct buf *b, const char *url);

/* Server-sent events, parsed: feed bytes in any portions, get whole events. */
struct http_event {
    const char *id;   /* "" if none was ever given */
    const char *type; /* "message" unless the server said otherwise */
    struct str data;  /* NUL-terminated as well */
};
typedef int http_event_f(void *arg, const struct http_event *ev, struct err *e);
enum { SSE_EVENT_MAX = 16 << 20 };
struct http_sse {
    struct buf line, data, type, id; /* of the event that is being read */
    struct buf last;                 /* id of the last whole event */
    bool after_cr, begun;
    http_event_f *fn;
    void *arg;
};
void http_sse_init(struct http_sse *s, http_event_f *fn, void *arg);
void http_sse_done(struct http_sse *s);
/* Forgets a half-read event, as after a lost connection; the id of the last whole one stays. */
void http_sse_restart(struct http_sse *s);
/* ERR_TOO_LARGE for an event beyond SSE_EVENT_MAX; what fn returned if that was not 0. */
int http_sse_feed(struct http_sse *s, const char *p, size_t n, struct err *e);

struct http_events;
struct http_events_options {
    const char *path;  /* "/v1/events", with its query */
    const char *since; /* resume after this id; NULL: what happens from now on */
    http_event_f *fn;
    /* Told when the subscription stands (lost == NULL) and when it broke and will be renewed. */
    void (*state)(void *arg, const struct err *lost);
    void *arg;
    uint32_t patience_ms; /* how long a lost server is sought; 0: 60 s */
};
int http_events_open(struct http *h, const struct http_events_options *o,
                     struct http_events **ret_s, struct err *e);
/* Waits until an event or a change of state was delivered, or timeout_ms passed.  1: goes on, 0:
 * the server ended the stream for good, -code: refused, or lost for longer than patience_ms. */
int http_events_wait(struct http_events *s, int timeout_ms, struct err *e);
void http_events_free(struct http_events *s);
static inline void http_events_scope_end(struct http_events **s)
{
    http_events_free(*s);
}

#endif
