/* loop.c - the part of a loop that needs no kernel: posts, hooks, handles, when to end
 *
 * Owns the order of one iteration and the rule for returning from loop_run().  What waits, wakes
 * and tells the time is behind struct loop_ops. Threads: posts, the stop flag and the holds may be
 * touched by anyone; everything else belongs to the thread in loop_run().  A post from that very
 * thread needs no wake-up and causes none.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/loop.h"

#include <assert.h>
#include <stdlib.h>

#include "sys/loop_i.h"

void loop_base_init(struct loop *l, const struct loop_ops *ops)
{
    l->ops = ops;
    timers_init(&l->timers);
    pthread_mutex_init(&l->lock, NULL);
}

void loop_base_done(struct loop *l)
{
    pthread_mutex_destroy(&l->lock);
    timers_done(&l->timers);
    vec_done(&l->posts);
    vec_done(&l->batch);
    vec_done(&l->hooks);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    assert(!l->n_timers && !l->n_watches && !l->n_signals); /* a handle outlives its loop */
    l->ops->free(l);
}

uint64_t loop_now_ms(const struct loop *l)
{
    return l->ops->now_ms(l);
}

static bool on_loop_thread(struct loop *l)
{
    return pthread_equal(atomic_load(&l->thread), pthread_self());
}

void loop_stop(struct loop *l)
{
    atomic_store(&l->stop, true);
    l->ops->wake(l);
}

void loop_hold(struct loop *l)
{
    atomic_fetch_add(&l->holds, 1);
}

void loop_release(struct loop *l)
{
    int before = atomic_fetch_sub(&l->holds, 1);
    assert(before > 0);
    if (before == 1 && !on_loop_thread(l))
        l->ops->wake(l);
}

void loop_post(struct loop *l, loop_call_f *fn, void *arg)
{
    pthread_mutex_lock(&l->lock);
    bool first = l->posts.n == 0;
    vec_push(&l->posts, ((struct loop_call){fn, arg}));
    pthread_mutex_unlock(&l->lock);
    if (first && !on_loop_thread(l))
        l->ops->wake(l);
}

void loop_unpost(struct loop *l, loop_call_f *fn, void *arg)
{
    for (size_t i = l->batch_at; i < l->batch.n; i++)
        if (l->batch.at[i].fn == fn && l->batch.at[i].arg == arg)
            l->batch.at[i].fn = NULL;
    pthread_mutex_lock(&l->lock);
    size_t kept = 0;
    for (size_t i = 0; i < l->posts.n; i++)
        if (l->posts.at[i].fn != fn || l->posts.at[i].arg != arg)
            l->posts.at[kept++] = l->posts.at[i];
    l->posts.n = kept;
    pthread_mutex_unlock(&l->lock);
}

bool loop_has_posts(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    bool any = l->posts.n > 0;
    pthread_mutex_unlock(&l->lock);
    return any;
}

static void run_posts(struct loop *l)
{
    pthread_mutex_lock(&l->lock);
    struct loop_calls spent = l->batch; /* the next inbox: no allocation in a steady run */
    l->batch = l->posts;
    l->posts = spent;
    pthread_mutex_unlock(&l->lock);
    for (l->batch_at = 0; l->batch_at < l->batch.n;) {
        struct loop_call c = l->batch.at[l->batch_at++];
        if (c.fn)
            c.fn(c.arg);
    }
    l->batch.n = l->batch_at = 0;
}

void loop_before_wait(struct loop *l, loop_call_f *fn, void *arg)
{
    vec_push(&l->hooks, ((struct loop_call){fn, arg}));
}

static void compact_hooks(struct loop *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->hooks.n; i++)
        if (l->hooks.at[i].fn)
            l->hooks.at[kept++] = l->hooks.at[i];
    l->hooks.n = kept;
}

void loop_before_wait_off(struct loop *l, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < l->hooks.n; i++)
        if (l->hooks.at[i].fn == fn && l->hooks.at[i].arg == arg)
            l->hooks.at[i].fn = NULL;
    if (!l->in_hooks)
        compact_hooks(l);
}

static void run_hooks(struct loop *l)
{
    l->in_hooks = true;
    for (size_t i = 0; i < l->hooks.n; i++)
        if (l->hooks.at[i].fn)
            l->hooks.at[i].fn(l->hooks.at[i].arg);
    l->in_hooks = false;
    compact_hooks(l);
}

void loop_pass(struct loop *l)
{
    run_posts(l);
    timers_fire(&l->timers, loop_now_ms(l));
    run_hooks(l);
}

static bool is_alive(struct loop *l)
{
    return l->timers.heap.n || l->n_watching || l->n_signals || atomic_load(&l->holds) > 0 ||
           loop_has_posts(l);
}

void loop_run(struct loop *l)
{
    atomic_store(&l->thread, pthread_self());
    while (!atomic_load(&l->stop)) {
        loop_pass(l);
        if (atomic_load(&l->stop) || !is_alive(l))
            break;
        l->ops->wait(l, !loop_has_posts(l));
    }
    atomic_store(&l->thread, 0);
    atomic_store(&l->stop, false);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_call_f *fn, void *arg)
{
    struct loop_timer *t = xcalloc(1, sizeof *t);
    *t = (struct loop_timer){.loop = l, .fn = fn, .arg = arg, .index = TIMER_IDLE};
    l->n_timers++;
    return t;
}

void loop_timer_at(struct loop_timer *t, uint64_t at_ms)
{
    timers_arm(&t->loop->timers, t, at_ms);
}

void loop_timer_stop(struct loop_timer *t)
{
    timers_disarm(&t->loop->timers, t);
}

bool loop_timer_armed(const struct loop_timer *t)
{
    return t->index != TIMER_IDLE;
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    timers_disarm(&t->loop->timers, t);
    t->loop->n_timers--;
    free(t);
}

struct loop_watch *loop_watch_new(struct loop *l, int fd, unsigned events, loop_fd_f *fn, void *arg)
{
    struct loop_watch *w = l->ops->watch_new(l, fd);
    if (!w)
        return NULL;
    *w = (struct loop_watch){.loop = l, .fd = fd, .fn = fn, .arg = arg};
    l->n_watches++;
    loop_watch_set(w, events);
    return w;
}

void loop_watch_set(struct loop_watch *w, unsigned events)
{
    w->loop->n_watching += (events != 0);
    w->loop->n_watching -= (w->events != 0);
    w->events = events;
    w->loop->ops->watch_set(w);
}

void loop_watch_free(struct loop_watch *w)
{
    if (!w)
        return;
    w->loop->n_watching -= (w->events != 0);
    w->loop->n_watches--;
    w->loop->ops->watch_free(w);
}

struct loop_signal *loop_signal_new(struct loop *l, int signo, loop_call_f *fn, void *arg)
{
    struct loop_signal *s = l->ops->signal_new(l, signo);
    *s = (struct loop_signal){.loop = l, .signo = signo, .fn = fn, .arg = arg};
    l->n_signals++;
    return s;
}

void loop_signal_free(struct loop_signal *s)
{
    if (!s)
        return;
    s->loop->n_signals--;
    s->loop->ops->signal_free(s);
}
