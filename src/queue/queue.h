/* queue.h - messages between the server and its workers
 *
 * A backend is a table of functions.  The embedded one is a pair of mailboxes inside the process;
 * its durability is the server's outbox.  Messages are bytes (model/taskmsg.h); the queue does not
 * read them.  Delivery is at least once and may reorder; the embedded one keeps order.
 *
 * Each side sends from its own loop's thread as many messages as it has, then flushes once.  What
 * is sent to a side that is not attached waits for it.  An attached side holds its loop
 * (loop_hold()).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_QUEUE_H
#define QUEUE_QUEUE_H

#include "base/err.h"
#include "base/str.h"
#include "sys/loop.h"

struct queue;
/* Batches: the callback gets every message that is there.  Bytes are valid during the call only. It
 * may send, flush and detach, but not free the queue. */
typedef void queue_deliver_f(void *arg, const struct str *messages, size_t n);

struct queue *queue_new_embedded(void);
/* Both sides must be detached. */
void queue_free(struct queue *q);
/* The server's end.  deliver runs on the given loop's thread. */
void queue_server_attach(struct queue *q, struct loop *l, queue_deliver_f *deliver, void *arg);
void queue_server_detach(struct queue *q);
/* A worker's end; deliver runs on that worker's loop.  Detaching drops what was not delivered to
 * that side; what it has sent still arrives.  On the loop's thread, or when the loop no longer
 * runs. */
void queue_worker_attach(struct queue *q, struct loop *l, queue_deliver_f *deliver, void *arg);
void queue_worker_detach(struct queue *q);
/* From the owning side's thread; copied.  queue_flush() wakes the other side once per batch. */
void queue_to_worker(struct queue *q, struct str message);
void queue_to_server(struct queue *q, struct str message);
void queue_flush(struct queue *q);
size_t queue_depth(struct queue *q); /* messages on their way to the worker; from any thread */

#endif
