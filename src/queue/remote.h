/* remote.h - the queue of a worker elsewhere: messages over HTTP, kept while the server is away
 *
 * The worker's side only.  One poll is open all the time and brings what the server has to say;
 * what the worker says is posted at once, in batches whose numbers let the server take each message
 * once (docs/rfc/09-fleet.md, section 7).  While the server cannot be reached it is tried again and
 * again, and what is to be said is kept: results on disk at once, so that they outlive this
 * process; output in memory, then on disk, then not at all, and a line says how much is missing.
 * What was kept by an earlier process is said first.
 *
 * The queue does not read messages; `words` tells it what it must know of them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_REMOTE_H
#define QUEUE_REMOTE_H

#include "http/http.h"
#include "queue/queue.h"

enum queue_rank {
    QUEUE_RESULT, /* must arrive */
    QUEUE_WORD,   /* should; it is said again otherwise */
    QUEUE_STATE,  /* only the newest counts */
    QUEUE_LOG,    /* should; may be dropped when there is too much of it */
};
struct queue_words {
    enum queue_rank (*rank)(struct str message);
    uint64_t (*owner)(struct str log); /* equal for what is output of the same */
    /* Writes a log message that says that so many bytes are missing. */
    void (*dropped)(struct buf *b, uint64_t owner, uint64_t bytes);
};

/* What became of the connection, for whoever keeps the log. */
enum queue_news {
    QUEUE_CONNECTED,
    QUEUE_LOST,      /* it is tried again */
    QUEUE_REFUSED,   /* the server does not know us: nothing is tried any more */
    QUEUE_UNKEPT,    /* something could not be kept: disk full, or too much */
    QUEUE_UNWELCOME, /* one message that the server refuses for its size or form was dropped */
};
struct queue_remote_options {
    struct http_options http; /* where, whom to trust, the credential */
    const char *name;         /* the worker's */
    const char *dir;          /* where is kept what cannot be said */
    size_t memory_bytes;      /* of output kept in memory; 0: 8 MiB */
    size_t spool_bytes;       /* of everything kept in dir; 0: 256 MiB */
    size_t batch_bytes;       /* of a post, unless one message is larger; 0: 1 MiB */
    uint32_t poll_ms;         /* how long a poll waits; 0: 25 s */
    const struct queue_words *words;
    void (*news)(void *arg, enum queue_news what, const struct err *e); /* e: NULL if good */
    void *arg;
};
int queue_new_remote(const struct queue_remote_options *o, struct queue **ret_q, struct err *e);
/* Calls done on the loop once all that was sent is taken, at until_ms (loop time) at the latest. On
 * the loop's thread; the queue may be freed from done. */
void queue_remote_drain(struct queue *q, uint64_t until_ms, loop_call_f *done, void *arg);
bool queue_remote_empty(const struct queue *q); /* nothing is left to be said */

#endif
