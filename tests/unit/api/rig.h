/* rig.h - the API over the fake server on a real loopback socket, driven step by step
 *
 * One thread: a test writes to a socket and pumps the loop until what it waits for is there.
 * Nothing sleeps; what does not come within RIG_PATIENCE_MS of real time is a failure of the test.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_RIG_H
#define TESTS_RIG_H

#include "api/api.h"
#include "base/alloc.h"
#include "fake_server.h"
#include "sys/loop.h"

enum { RIG_PATIENCE_MS = 20000 };

struct rig {
    struct loop *loop;
    struct server *server;
    struct api *api;
};
struct client {
    int fd;
    struct buf in; /* received and not yet taken */
    bool closed;   /* the other side has closed */
};
struct reply {
    int status; /* 0: the connection ended without one */
    struct buf head, body;
    bool chunked, close;
};

/* o may be NULL; listen is 127.0.0.1:0 unless set. */
void rig_open(struct rig *r, const struct api_options *o);
void rig_close(struct rig *r);
void rig_pump(struct rig *r); /* one round of the loop */

void client_open(struct rig *r, struct client *c);
void client_close(struct client *c);
void client_send(struct rig *r, struct client *c, const char *bytes, size_t n);
void client_sends(struct rig *r, struct client *c, const char *text);
/* Pumps until a whole response is there, or the connection ends. */
struct reply client_reply(struct rig *r, struct client *c);
/* Is a byte of a response there after the loop came to rest? */
bool client_has_bytes(struct rig *r, struct client *c);
/* Pumps until the text was received; false if the connection ended or patience did. */
bool client_wait_text(struct rig *r, struct client *c, const char *text);
/* Pumps until the server has closed. */
bool client_wait_close(struct rig *r, struct client *c);
/* Reads what is there into c->in; true if there was something. */
bool client_drain(struct client *c);

/* The body of an unfinished chunked response, as far as it came. */
void client_unchunk(const struct client *c, struct buf *out);

void reply_done(struct reply *rep);
/* Value of a header, "" if absent; valid until the next call. */
const char *reply_header(const struct reply *rep, const char *name);

/* One request on a connection of its own; token and body may be NULL, headers "A: b\r\n". */
struct reply rig_call(struct rig *r, const char *method, const char *path, const char *token,
                      const char *headers, const char *body);

#endif
