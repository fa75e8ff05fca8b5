/* workers.h - who works for us: which queue leads to each, what it offers, who gets the next task
 *
 * A queue leads to one worker.  The one inside the server is attached at the start, others when
 * they come.  A worker is known by its name for as long as the server runs, so that one that comes
 * back finds what it held; what it offers counts while it is heard of.
 *
 * Leases (lease.h) tell who has what.  An attempt that runs on a node over ssh is not lost with its
 * worker: the node keeps the truth about it, and another worker is sent there under the same
 * number.  What runs on a worker's own machine is lost when its lease is over, unless the worker
 * comes back first; a worker that does not hear the server ends such runs before that.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_WORKERS_H
#define SERVER_WORKERS_H

#include "base/alloc.h"
#include "base/err.h"
#include "model/effect.h"
#include "model/taskmsg.h"
#include "queue/queue.h"

struct server;
struct worker_info {
    struct server *server;
    struct queue *queue; /* NULL: nothing leads to it now */
    char *name;
    uint32_t id;       /* from 1; of leases */
    uint32_t capacity; /* 0: it has not said HELLO, or is not heard of */
    uint32_t running;  /* attempts held, as it said last */
    VEC(char *) jigs;
    char *host, *version; /* as it said; NULL: it did not */
    char *plugins;        /* JSON: a list, as it said; NULL: none */
    uint64_t seen_ms;
    uint64_t ack_open, ack_flying; /* highest reply number applied in the open and flying group */
    bool draining, expected;       /* expected: it was here before, and has not said HELLO yet */
};

/* From now on messages of the worker `name` come and go by q, to whose server side this attaches on
 * the server's loop.  The name is the caller's promise: it is what the worker has proved to be,
 * whatever its messages say. */
int workers_attach(struct server *s, const char *name, struct queue *q, struct err *e);
/* Nothing is sent to it any more, and nothing of it comes; what it held is given up after its
 * lease. */
void workers_detach(struct server *s, const char *name);
bool workers_attached(const struct server *s, const char *name);
/* It may come back after this start and claim what it held: until all that are expected have said
 * HELLO, or the grace is over, nothing of before is given up. */
void workers_expect(struct server *s, const char *name);
/* NULL: there never was one of that name. */
struct worker_info *workers_find(const struct server *s, const char *name);
struct worker_info *workers_get(const struct server *s, uint32_t id);
size_t workers_present(const struct server *s); /* how many offer something */
void workers_done(struct server *s);

/* Who is to get this start on this node; NULL: nobody who could is there. */
struct worker_info *workers_pick(struct server *s, struct str jig, uint32_t node);
/* Who is to look whether this node is there: the one that reached it last, or after `tries` that
 * were not answered another one; NULL: nobody is here.  It takes no place of theirs. */
struct worker_info *workers_prober(struct server *s, uint32_t node, uint32_t tries);
void workers_reached(struct server *s, uint32_t node, const struct worker_info *w);
void workers_send(struct worker_info *w, const struct taskmsg *m);
void workers_flush(struct server *s);
size_t workers_depth(const struct server *s); /* messages on their way to them */
/* A HELLO or BEAT of it. */
void workers_heard(struct worker_info *w, const struct taskmsg *m);
void workers_capacity(struct server *s); /* tells the engine what they offer */
void workers_beat(struct server *s);     /* once a second */
/* What was answered is durable: acknowledged. */
void workers_acks_flying(struct server *s); /* a group takes off */
void workers_acks_landed(struct server *s);
void workers_acks_idle(struct server *s); /* nothing of what was answered needs a group */
void workers_acks_forget(struct server *s);

#endif
