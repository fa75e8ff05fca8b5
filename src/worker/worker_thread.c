/* worker_thread.c - a worker on a thread of its own, as anneald runs it
 *
 * The loop and the worker are made on the caller's thread, so that errors are returned and not
 * logged; the thread only runs the loop.  It takes no signals.  Runners are its children, and the
 * kernel kills them when it ends (PR_SET_PDEATHSIG is about the thread): stopping waits for all of
 * them first.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "worker/worker_i.h"

struct worker_thread {
    struct loop *loop;
    struct worker *worker;
    pthread_t thread;
    uint64_t grace_ms;
};

static void *thread_main(void *arg)
{
    struct worker_thread *t = arg;
    pthread_setname_np(pthread_self(), "worker");
    loop_run(t->loop);
    return NULL;
}

struct worker_thread *worker_thread_start(struct queue *q, const struct worker_options *o,
                                          struct err *e)
{
    struct worker_thread *t = xcalloc(1, sizeof *t);
    sigset_t all, before;
    t->loop = loop_new();
    t->worker = worker_new(t->loop, q, o, e);
    if (!t->worker) {
        loop_free(t->loop);
        free(t);
        return NULL;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited by the thread */
    if (pthread_create(&t->thread, NULL, thread_main, t) != 0)
        abort(); /* as for memory */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return t;
}

static void on_stopped(void *arg)
{
    struct worker_thread *t = arg;
    loop_stop(t->loop);
}

static void begin_stop(void *arg)
{
    struct worker_thread *t = arg;
    worker_stop(t->worker, t->grace_ms, on_stopped, t);
}

void worker_thread_stop(struct worker_thread *t, uint64_t grace_ms)
{
    if (!t)
        return;
    t->grace_ms = grace_ms;
    loop_post(t->loop, begin_stop, t);
    pthread_join(t->thread, NULL);
    worker_free(t->worker);
    loop_free(t->loop);
    free(t);
}
