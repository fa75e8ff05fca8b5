/* pool.h - blocking work on other threads, completions posted back to a loop */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_POOL_H
#define SYS_POOL_H

#include "sys/loop.h"

struct pool;
/* A pool of one thread runs its jobs in order: the store's writer is one.  limit: jobs that may wait. */
struct pool *pool_new(struct loop *home, int threads, const char *name);
/* Waits for queued jobs to end, then frees; completions not yet delivered are dropped. */
void pool_free(struct pool *p);
/* work(arg) on a pool thread, then done(arg) on the home loop (done may be NULL). */
void pool_submit(struct pool *p, loop_call_f *work, loop_call_f *done, void *arg);

#endif
