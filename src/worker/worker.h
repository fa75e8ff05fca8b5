/* worker.h - runs attempts: takes TASK messages, drives jigs, sends LOG and RESULT
 *
 * Stateless beyond what it holds right now.  Runs of a task are ordered by (attempt, ask):
 *
 *   the same run again   held: ignored; answered: answered again; acknowledged: ignored; never run
 * twice a later run          an earlier one that is queued is answered CANCELLED, one that runs is
 * cancelled, and the later one starts when it has ended an earlier run       REFUSED
 *
 * Above its capacity it queues in order.  A run held longer than timeout_ms is cancelled and
 * answered TIMEOUT.  CANCEL is always answered, by the run's own result, by CANCELLED for one that
 * was queued or had said "not yet", and by LOST for an attempt that this worker does not know: it
 * may have run in an earlier life of the worker, so nobody can say that it did not.
 *
 * A run whose message names documents waits for them, held and answering like one that is queued.
 * Each is asked for once, again after a HELLO and after three beats, and kept while there is room.
 * If the server says that there is no such document any more, what it was made of has changed: the
 * run is answered "not yet", to be asked again with what there is then.
 *
 * The same is true of contents of resources, but for their size: they are files, in run_dir.  If
 * one is not to be had, its run is answered "not yet" too, with the reason.
 *
 * A result says what the run returned only as far as it differs from what it was sent: nobody else
 * knows that for certain.  It is kept until its ACK, sent again after a HELLO and again if three
 * beats pass without an ACK.  Reply numbers start at the wall clock in microseconds, so that an ACK
 * meant for an earlier life of the worker acknowledges nothing of this one.  What it remembers of
 * tasks it no longer holds is bounded, and a node is forgotten when nobody asked for it in a while.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "base/err.h"
#include "queue/queue.h"
#include "sys/loop.h"

struct worker;
struct worker_options {
    const char *name;        /* NULL: host name and pid */
    const char *labels;      /* JSON map, told to the server; NULL: none */
    uint32_t capacity;       /* attempts at once; 0: 64 */
    const char *run_dir;     /* made if absent; locked, so that it has one worker */
    const char *plugin_path; /* directories of plugins, separated by colons; NULL: none */
    const char *runner;      /* path of anneal-runner; NULL: looked up in PATH */
    size_t max_output_bytes; /* per stream and attempt; 0: 1 MiB */
    uint64_t beat_ms;        /* 0: 5 s */
    size_t document_bytes;   /* of documents kept that nobody uses; 0: 64 MiB */
    uint64_t resource_bytes; /* of contents kept that nobody uses, and of one archive; 0: 1 GiB */
    /* How nodes are reached whose access does not say so. */
    bool nodes_by_ssh;            /* false: they are this machine */
    const char *ssh_user;         /* NULL: root */
    const char *ssh_identity;     /* private key file; NULL: none, the agent's alone */
    const char *ssh_transport;    /* auto, libssh or openssh; NULL: auto */
    const char *ssh_kex;          /* key exchanges; NULL or "": the library's */
    uint16_t ssh_port;            /* 0: 22 */
    uint32_t ssh_keepalive_ms;    /* 0: 15 s */
    uint32_t ssh_idle_ms;         /* a connection that nothing uses is kept for; 0: 60 s */
    bool ssh_pinned;              /* host keys must be known before; else the first is taken */
    uint32_t ssh_max_connections; /* 0: 1000 */
};
/* Says HELLO at once.  ERR_BUSY if another worker has run_dir. */
struct worker *worker_new(struct loop *l, struct queue *q, const struct worker_options *o,
                          struct err *e);
/* Tells the server that it wants nothing new; what it has, and what the server had sent before it
 * heard, goes on. */
void worker_drain(struct worker *w);
/* Nothing runs or waits but what is on nodes. */
bool worker_is_idle(const struct worker *w);
/* Cancels what runs here, with the grace, and answers LOST for it; "not yet" for what was queued.
 * What runs on nodes goes on there, for others to take: the last BEAT says so.  Leaves the queue,
 * then calls done on the loop. */
void worker_stop(struct worker *w, uint64_t grace_ms, loop_call_f *done, void *arg);
/* After `done`, or when nothing runs.  Results not acknowledged are forgotten. */
void worker_free(struct worker *w);

/* What a queue that keeps messages must know of ours. */
struct queue_words;
const struct queue_words *worker_words(void);

struct worker_counts {
    uint32_t running, queued, unacknowledged, remembered;
    uint32_t nodes; /* reached by ssh, that are known */
};
struct worker_counts worker_counts(const struct worker *w); /* on the loop's thread */

/* A worker on a thread with a loop of its own, as anneald runs it. */
struct worker_thread;
struct worker_thread *worker_thread_start(struct queue *q, const struct worker_options *o,
                                          struct err *e);
void worker_thread_stop(struct worker_thread *t, uint64_t grace_ms); /* joins and frees */

#endif
