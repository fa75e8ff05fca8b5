/* pool.h - blocking work on other threads, completions posted back to a loop
 *
 * A pool of one thread runs its jobs in order: the store's writer is one.  A job is a pair of
 * functions on one argument, which belongs to the job between submitting and `done`.  While jobs
 * are under way the home loop does not run out of work.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_POOL_H
#define SYS_POOL_H

#include <stddef.h>

#include "sys/loop.h"

struct pool;
/* The name (15 bytes of it) is that of the threads.  They take no signals. */
struct pool *pool_new(struct loop *home, int threads, const char *name);
/* Waits for queued jobs to end, then frees; completions not yet delivered are dropped.  On the home
 * loop's thread. */
void pool_free(struct pool *p);
/* work(arg) on a pool thread, then done(arg) on the home loop (done may be NULL).  From any thread.
 * Completions come in the order in which the work ended. */
void pool_submit(struct pool *p, loop_call_f *work, loop_call_f *done, void *arg);
/* Jobs that wait or run. */
size_t pool_depth(struct pool *p);

#endif
