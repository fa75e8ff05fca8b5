/* api_i.h - connections, requests and streams: what the socket side of api shares
 *
 * A request is born when its request line was read and dies when the library says that it is
 * complete. In between it is in exactly one phase; only the handlers in request.c change it.
 * Requests are kept and used again with their arena and buffers.
 *
 *   NEW -> BODY -> WORK -> SEND                     answered at once
 *            |       `-> DURABLE -> SEND            suspended until its group is durable
 *            |       `-> EVENTS -> WORK             suspended until the journal can be read
 *            |       `-> POLL -> WORK               suspended until a worker has something to fetch
 *            |       `-> STREAM                     events or a log; see stream.c
 *            `-> SWALLOW -> SEND                    refused by its head; the body is dropped
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_API_I_H
#define API_API_I_H

#include <microhttpd.h>

#include "api/book_i.h"

enum {
    API_BODY_LIMIT = 8 << 20,
    API_PAGE_LIMIT = 1000,
    API_MAX_STREAMS = 4096,
    API_CONNECTIONS_BESIDE = 1024, /* besides streams */
    API_IDLE_TIMEOUT_S = 60,
    API_GREETING_TIMEOUT_S = 10,   /* until the first request of a connection */
    API_POOL_BYTES = 16 << 10,     /* memory of one connection: its head must fit in here */
    API_POOL_STEP_BYTES = 4 << 10, /* by which a head's buffer grows, from half of the memory on */
    API_SWALLOW_BYTES = 64 << 20,  /* of a refused body are read, so that the client reads us */
    API_SPARE_REQUESTS = 64,       /* kept for use again */
    API_SPARE_BUFFER = 256 << 10,  /* a larger buffer is not kept with them */
    API_HEARTBEAT_MS = 15000,
    API_WAKE_MS = 20, /* streams are woken at most so often */
    API_EVENTS_PER_CHUNK = 64,
    API_LOG_CHUNK = 64 << 10,
};

/* --- the head of a request (request_head.c) --- */

/*    field            header */
#define HEAD_FIELDS(X)                                                                             \
    X(host, "Host")                                                                                \
    X(authorization, "Authorization")                                                              \
    X(content_type, "Content-Type")                                                                \
    X(content_length, "Content-Length")                                                            \
    X(content_encoding, "Content-Encoding")                                                        \
    X(transfer, "Transfer-Encoding")                                                               \
    X(expect, "Expect")                                                                            \
    X(accept, "Accept")                                                                            \
    X(if_match, "If-Match")                                                                        \
    X(if_none_match, "If-None-Match")                                                              \
    X(idempotency_key, "Idempotency-Key")                                                          \
    X(last_event_id, "Last-Event-ID")
struct request_head { /* NULL where absent; the text lives as long as the request */
#define X(field, name) const char *field;
    HEAD_FIELDS(X)
#undef X
    const char *twice; /* a header of the list that was given more than once */
    bool has_body;
    uint64_t body_bytes; /* as declared; UINT64_MAX if chunked */
};
/* Reads all headers in one pass. */
void head_read(struct MHD_Connection *c, struct request_head *ret_h);
/* What makes two readers disagree about where a request ends, or what it is, is refused. */
int head_check(const struct request_head *h, const char *version, struct err *e);
/* JSON or merge patch, UTF-8, not encoded; ERR_MEDIA. */
int head_media_check(const struct request_head *h, const struct api_route *r, struct err *e);
/* "7" or W/"7" or * of a list of tags; *ret_rev is "*" or what stands between the quotes. */
int head_if_match(const struct request_head *h, struct arena *mem, const char **ret_rev,
                  struct err *e);
/* Does If-None-Match name this tag (quotes included)? */
bool head_none_match(const struct request_head *h, const char *tag);
bool head_accepts(const struct request_head *h, const char *media);

/* --- requests --- */

enum request_phase {
    REQUEST_NEW,
    REQUEST_BODY,
    REQUEST_SWALLOW,
    REQUEST_WORK,
    REQUEST_DURABLE,
    REQUEST_EVENTS,
    REQUEST_POLL,
    REQUEST_SEND,
    REQUEST_STREAM,
    REQUEST_OVER, /* handed to the library */
};
struct answer {
    unsigned status;
    const char *type;     /* NULL: no body */
    struct str bytes;     /* of req->out, or of something that outlives the request */
    char tag[24];         /* ETag with quotes; "": none */
    const char *location; /* NULL: none; in the request's arena */
    const char *allow;
    const char *challenge; /* WWW-Authenticate */
    bool no_store, close, retry_later, replayed;
};
struct stream;
struct request {
    struct request *prev, *next; /* all live ones, or the spare ones */
    struct api *api;
    struct MHD_Connection *connection;
    enum request_phase phase;
    bool suspended, head_only;
    bool polled; /* asked again after a wait */
    const char *uri;
    struct arena mem;
    struct request_head head;
    struct route_match match;
    struct uri target;
    struct caller who;
    struct server_call call;
    uint64_t swallowed;
    struct buf body, out;
    struct answer answer;
    struct stream *stream;
};

/* --- streams (stream.c) --- */

enum stream_kind { STREAM_EVENTS, STREAM_LOG };
struct stream { /* the head of struct sse and struct logstream */
    struct stream *prev, *next;
    struct request *request;
    enum stream_kind kind;
    bool parked; /* suspended by stream_park() */
    bool beat;   /* a heartbeat is due */
    bool over;   /* ends as soon as it is woken */
    char *token; /* asked again at each heartbeat: a revoked token ends its streams */
    struct caller who;
    const char *type; /* of its content */
    MHD_ContentReaderCallback read;
    void (*free)(struct stream *s); /* frees what surrounds it */
};
struct streams {
    struct stream *first;
    uint32_t n;
    struct loop_timer *beat;
    uint64_t opened, refused;
};
void streams_init(struct api *a);
void streams_done(struct api *a);
/* Room for one more?  ERR_BUSY with a hint if not. */
int stream_admit(struct api *a, struct err *e);
/* The request becomes s; its own memory is given back.  kind, type, read and free are set by the
 * caller. */
void stream_begin(struct request *req, struct stream *s);
/* Hands it to the library, which calls s->read from now on. */
enum MHD_Result stream_send(struct request *req);
void stream_end(struct stream *s);
/* From a reader that has nothing to give: the value to return. */
ssize_t stream_park(struct stream *s);
void stream_wake(struct stream *s);
/* Marks all of them to end. */
void streams_finish(struct api *a);

/* --- events (event_cache.c, sse.c, event_list.c) --- */

struct event_chunk { /* formatted events, shared by all streams that are at the same place */
    uint32_t refs, tenant;
    enum scope scope;
    uint64_t since, last;
    struct buf bytes;
};
enum { EVENT_CACHE_SLOTS = 16 };
struct event_cache {
    struct event_chunk *slot[EVENT_CACHE_SLOTS];
    unsigned next;
    uint64_t built, shared; /* for /metrics */
    bool retry;             /* somebody waits for the journal to be read from the store */
    struct loop_timer *wake;
    uint64_t woken_ms;
};
void event_cache_init(struct api *a);
void event_cache_done(struct api *a);
/* The chunk after `since`, or NULL: nothing new, or not readable yet (then a wake comes).
 * Referenced for the caller. */
int event_chunk_get(struct api *a, const struct caller *who, uint64_t since,
                    struct event_chunk **ret_chunk, struct err *e);
void event_chunk_unref(struct event_chunk *c);
/* Each makes an answer or begins a stream. */
void sse_open(struct request *req);
void event_list_answer(struct request *req);
void logstream_open(struct request *req);
/* Of workers (worker_line.c); polls that wait are forgotten, or all answered now. */
void worker_line_answer(struct request *req);
void worker_line_forget(struct request *req);
void worker_lines_finish(struct api *a);
/* Has it something to send, or a reason to look again? */
bool sse_wants(const struct stream *s, uint64_t newest, bool retry);

/* --- the daemon (api.c) --- */

struct api {
    struct loop *loop;
    struct server *server;
    struct api_options o; /* defaults filled in; listen and file names are not kept */
    struct api_book *book;
    struct MHD_Daemon *daemon;
    struct loop_watch *watch;
    struct loop_timer *timer;
    uint64_t timer_at_ms; /* 0: not armed */
    uint64_t steps;       /* calls that the library made to us: does it get anywhere? */
    unsigned idle_left;   /* turns in which it may not, before we let it wait */
    uint64_t idle_at_ms;  /* when that was refilled */
    uint16_t port;
    bool quiescing, stopping, kicked;
    struct request *live, *spare;
    uint32_t n_live, n_spare;
    struct streams streams;
    struct event_cache events;
    char complaint[256]; /* the library's last words, for errors at start */
    uint64_t answers[6]; /* by hundreds of the status */
};

/* Lets the library run soon: connections were resumed. */
void api_kick(struct api *a);
/* "host:port"; opens, binds and listens.  Refuses an address beyond loopback unless tls. */
int listen_open(const char *address, bool tls, int *ret_fd, uint16_t *ret_port, struct err *e);

/* Callbacks of the library (request.c). */
void *request_begin(void *api, const char *uri, struct MHD_Connection *c);
enum MHD_Result request_handle(void *api, struct MHD_Connection *c, const char *url,
                               const char *method, const char *version, const char *upload,
                               size_t *upload_n, void **request);
void request_completed(void *api, struct MHD_Connection *c, void **request,
                       enum MHD_RequestTerminationCode code);
void requests_done(struct api *a);
void request_suspend(struct request *req);
void request_resume(struct request *req);

/* Who asks?  ERR_UNAUTHORIZED, ERR_FORBIDDEN (request_auth.c). */
int request_authenticate(struct request *req, struct err *e);

/* Runs the server's operation; idempotency, preconditions and durability (perform.c). */
void request_perform(struct request *req);
/* Answers that need no operation (builtin.c). */
void builtin_answer(struct request *req);

/* --- answers (respond.c) --- */

void answer_problem(struct request *req, const struct err *e);
void answer_json(struct request *req, unsigned status, const struct value *body);
void answer_bytes(struct request *req, unsigned status, const char *type, struct str bytes);
/* Hands the answer to the library. */
enum MHD_Result answer_send(struct request *req);
/* Waits for the group, then sends; sends now if it is durable. */
void answer_when_durable(struct request *req, uint64_t group);
/* Stops waiting, for a request that dies. */
void answer_forget(struct request *req);

#endif
