/* pool.c - threads that wait for jobs on a condition variable
 *
 * Owns the threads, the list of jobs and the list of ended ones.  One post per burst of completions
 * reaches the home loop: a thread posts only if the list of ended jobs was empty.
 * Invariant: every submitted job holds the home loop until its completion was delivered or dropped.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

struct job {
    struct job *next;
    loop_call_f *work, *done;
    void *arg;
};
struct job_list {
    struct job *first, **last;
};

struct pool {
    struct loop *home;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t more;
    struct job_list waiting, ended;
    size_t depth;
    bool closing;
    int n_threads;
    pthread_t *threads;
    char name[16];
};

static void list_init(struct job_list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void list_append(struct job_list *l, struct job *j)
{
    j->next = NULL;
    *l->last = j;
    l->last = &j->next;
}

static struct job *list_take_all(struct job_list *l)
{
    struct job *all = l->first;
    list_init(l);
    return all;
}

static void deliver_ended(void *arg)
{
    struct pool *p = arg;
    struct loop *home = p->home;
    pthread_mutex_lock(&p->lock);
    struct job *j = list_take_all(&p->ended);
    pthread_mutex_unlock(&p->lock);
    while (j) {
        struct job *next = j->next;
        if (j->done)
            j->done(j->arg); /* may free the pool */
        free(j);
        loop_release(home);
        j = next;
    }
}

static struct job *next_job(struct pool *p)
{
    while (!p->waiting.first && !p->closing)
        pthread_cond_wait(&p->more, &p->lock);
    struct job *j = p->waiting.first;
    if (j) {
        p->waiting.first = j->next;
        if (!j->next)
            p->waiting.last = &p->waiting.first;
    }
    return j;
}

static void *pool_thread(void *arg)
{
    struct pool *p = arg;
    pthread_setname_np(pthread_self(), p->name);
    pthread_mutex_lock(&p->lock);
    for (struct job *j; (j = next_job(p));) {
        pthread_mutex_unlock(&p->lock);
        j->work(j->arg);
        pthread_mutex_lock(&p->lock);
        bool first = !p->ended.first;
        list_append(&p->ended, j);
        p->depth--;
        if (first)
            loop_post(p->home, deliver_ended, p);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct pool *pool_new(struct loop *home, int threads, const char *name)
{
    struct pool *p = xcalloc(1, sizeof *p);
    sigset_t all, before;
    p->home = home;
    p->n_threads = threads;
    p->threads = xcalloc((size_t)threads, sizeof *p->threads);
    snprintf(p->name, sizeof p->name, "%s", name);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    list_init(&p->waiting);
    list_init(&p->ended);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* inherited: signals are the loop's */
    for (int i = 0; i < threads; i++)
        if (pthread_create(&p->threads[i], NULL, pool_thread, p) != 0)
            abort(); /* as for memory */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return p;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->more);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    loop_unpost(p->home, deliver_ended, p);
    for (struct job *j = list_take_all(&p->ended), *next; j; j = next) {
        next = j->next;
        free(j);
        loop_release(p->home);
    }
    pthread_cond_destroy(&p->more);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}

void pool_submit(struct pool *p, loop_call_f *work, loop_call_f *done, void *arg)
{
    struct job *j = xcalloc(1, sizeof *j);
    *j = (struct job){.work = work, .done = done, .arg = arg};
    loop_hold(p->home);
    pthread_mutex_lock(&p->lock);
    list_append(&p->waiting, j);
    p->depth++;
    pthread_cond_signal(&p->more);
    pthread_mutex_unlock(&p->lock);
}

size_t pool_depth(struct pool *p)
{
    pthread_mutex_lock(&p->lock);
    size_t n = p->depth;
    pthread_mutex_unlock(&p->lock);
    return n;
}
