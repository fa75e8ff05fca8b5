/* api.h - the HTTP face of the server
 *
 * Listens on one address and answers docs/rfc/05-api.md.  Everything runs on the loop's thread: the
 * library's epoll descriptor is one watch in our loop, so that a handler may touch the server's
 * state without a lock.  Beyond loopback only TLS is served.
 *
 * The route table is the only list of routes: routing, validation, /v1/openapi.json, the tests and
 * the documentation read it through api_route_at().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_API_H
#define API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "server/server.h"
#include "sys/loop.h"

struct api;

struct api_options {      /* 0, NULL and "" take the default */
    const char *listen;   /* "127.0.0.1:7480", "[::1]:0", "0.0.0.0:7480"; port 0: any free one */
    const char *tls_cert; /* PEM file, chain included; with tls_key, or neither */
    const char *tls_key;
    size_t body_limit;        /* bytes of a request body; 8 MiB */
    uint32_t page_limit;      /* items of a list; 1000 */
    uint32_t max_streams;     /* event and log streams open at once; 4096 */
    uint32_t max_connections; /* 1024 more than streams; further ones wait to be accepted */
    uint32_t idle_timeout_s;  /* a connection without traffic; 60.  Streams have none */
};

/* Listens from now on.  loop and server must outlive it.  ERR_INVALID for options, ERR_IO for the
 * network and certificates. */
int api_new(struct loop *loop, struct server *server, const struct api_options *o,
            struct api **ret_api, struct err *e);
uint16_t api_port(const struct api *a);
/* Of an address as in `listen`: does it reach this machine only; its host without brackets (heap).
 */
int api_listen_look(const char *listen, bool *ret_loopback, char **ret_host, struct err *e);
/* The first half of an orderly end: no new connection, new requests get 503, streams end.  What
 * waits for its group is still answered; api_is_idle() tells when nothing is left. */
void api_quiesce(struct api *a);
bool api_is_idle(const struct api *a);
/* Closes all connections at once and frees.  NULL is fine. */
void api_stop(struct api *a);

#define API_METHODS(X)                                                                             \
    X(GET)                                                                                         \
    X(POST)                                                                                        \
    X(PUT)                                                                                         \
    X(PATCH)                                                                                       \
    X(DELETE)
enum api_method {
#define X(id) API_##id,
    API_METHODS(X)
#undef X
        API_METHOD_COUNT
};

/* What a route does when it is not one of the server's operations. */
enum api_special {
    API_SPECIAL_NONE,
    API_SPECIAL_HEALTH,
    API_SPECIAL_READY,
    API_SPECIAL_VERSION,
    API_SPECIAL_OPENAPI,
    API_SPECIAL_METRICS,
    API_SPECIAL_EVENTS,
    API_SPECIAL_LOG,
    API_SPECIAL_WORKER_POLL,
    API_SPECIAL_WORKER_MESSAGES,
    API_SPECIAL_COUNT
};

enum {                              /* api_route.flags */
       API_LIST = 1u << 0,          /* {items, next, total}; takes limit and after */
       API_IF_MATCH = 1u << 1,      /* refused without If-Match */
       API_BODY_OPTIONAL = 1u << 2, /* no body is read as {} */
       API_TEXT = 1u << 3,          /* answers text, not JSON */
       API_NO_STORE = 1u << 4,      /* the answer holds a secret */
};
enum { /* api_route.success: the statuses that it may answer with when all is well */
       API_200 = 1u << 0,
       API_201 = 1u << 1,
       API_202 = 1u << 2,
       API_204 = 1u << 3,
};
enum { /* api_route.refuses: what it may say no with, beyond what its other fields imply */
       API_409 = 1u << 0,
       API_422 = 1u << 1,
};

struct api_param {
    const char *name;
    const char *schema; /* a component of src/api/schemas.json */
    const char *about;
};
struct api_route {
    enum api_method method;
    const char *path; /* "/v1/nodes/{node}" */
    const char *id;   /* operationId; the server's operation of the same name */
    server_op_f *op;  /* NULL: special */
    enum api_special special;
    enum scope scope; /* SCOPE_NONE: for everyone */
    const char *tag, *summary;
    const struct api_param *query; /* ends with a NULL name; NULL: none */
    const char *request;           /* component; NULL: takes no body */
    const char *response;          /* component; of one item for a list; NULL: no content */
    unsigned flags, success, refuses;
};
/* NULL past the end. */
const struct api_route *api_route_at(size_t i);
size_t api_route_count(void);
const char *api_method_name(enum api_method m);
/* "none", "read", "operate", "admin". */
const char *api_scope_name(enum scope s);

/* OpenAPI 3.1 of the whole table, indented: docs/openapi.json is this text. */
void api_openapi_write(struct buf *b);

#endif
