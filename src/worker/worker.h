/* worker.h - runs attempts: takes TASK messages, drives jigs, sends LOG and RESULT
 *
 * Stateless beyond what it holds right now.  A message for an attempt it holds or has answered is a
 * duplicate: it is ignored or answered again, never run twice.  A message with a lower attempt number
 * than one it has seen for that task is refused.  Above its capacity it queues in order.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include "base/err.h"
#include "queue/queue.h"
#include "sys/loop.h"

struct worker;
struct worker_options {
    const char *name;     /* NULL: host name and pid */
    uint32_t capacity;    /* attempts at once */
    const char *run_dir;  /* made if absent */
    const char *runner;   /* path of anneal-runner */
    size_t max_output_bytes; /* per stream and attempt */
    uint64_t beat_ms;
};
struct worker *worker_new(struct loop *l, struct queue *q, const struct worker_options *o,
                          struct err *e);
/* Cancels what runs, with the grace, then calls done on the loop. */
void worker_stop(struct worker *w, uint64_t grace_ms, loop_call_f *done, void *arg);
void worker_free(struct worker *w);
/* A worker on a thread with a loop of its own, as anneald runs it. */
struct worker_thread;
struct worker_thread *worker_thread_start(struct queue *q, const struct worker_options *o,
                                          struct err *e);
void worker_thread_stop(struct worker_thread *t, uint64_t grace_ms); /* joins and frees */

#endif
