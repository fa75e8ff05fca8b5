/* loop_i.h - what the two loops share: timers, posts, hooks, and the table of what differs
 *
 * loop.c owns everything that does not touch the kernel, so that the fake loop exercises the very
 * code that the real one runs.  A backend (loop_uv.c, loop_fake.c) supplies the clock, the waiting,
 * the waking and the descriptors; it embeds struct loop, struct loop_watch and struct loop_signal
 * first in its own structures.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_LOOP_I_H
#define SYS_LOOP_I_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "base/alloc.h"
#include "sys/loop.h"

/* timers.c: a 4-ary heap by (time, order of arming).  Four children share a cache line or two,
 * which halves the depth of a binary heap at no cost in comparisons that miss. */
enum { TIMER_IDLE = SIZE_MAX, TIMER_DUE = SIZE_MAX - 1 };
struct loop_timer {
    struct loop *loop;
    loop_call_f *fn;
    void *arg;
    size_t index; /* in the heap, TIMER_IDLE, or TIMER_DUE: on the list of those about to fire */
    struct loop_timer *due_prev, *due_next;
};
struct timer_slot {
    uint64_t at_ms, seq;
    struct loop_timer *t;
};
struct timers {
    VEC(struct timer_slot) heap;
    uint64_t next_seq;
    struct loop_timer due; /* head of a circular list */
};
void timers_init(struct timers *ts);
void timers_done(struct timers *ts);
void timers_arm(struct timers *ts, struct loop_timer *t, uint64_t at_ms);
void timers_disarm(struct timers *ts, struct loop_timer *t);
/* UINT64_MAX if none is armed. */
uint64_t timers_next_ms(const struct timers *ts);
/* Fires those due at now_ms that were armed before the call; true if there was one. */
bool timers_fire(struct timers *ts, uint64_t now_ms);

struct loop_call {
    loop_call_f *fn; /* NULL: taken off while the list was being walked */
    void *arg;
};
struct loop_calls { /* a VEC with a name, so that two can be swapped */
    struct loop_call *at;
    size_t n, cap;
};
struct loop_watch {
    struct loop *loop;
    int fd;
    unsigned events;
    loop_fd_f *fn;
    void *arg;
};
struct loop_signal {
    struct loop *loop;
    int signo;
    loop_call_f *fn;
    void *arg;
};

struct loop_ops {
    uint64_t (*now_ms)(const struct loop *l);
    /* Delivers descriptors and signals.  May block, if told so, until one is there, a timer is due
     * or wake was called. */
    void (*wait)(struct loop *l, bool may_block);
    void (*wake)(struct loop *l); /* from any thread */
    /* Allocates around a struct loop_watch and starts nothing; NULL with errno. */
    struct loop_watch *(*watch_new)(struct loop *l, int fd);
    void (*watch_set)(struct loop_watch *w);
    void (*watch_free)(struct loop_watch *w);
    struct loop_signal *(*signal_new)(struct loop *l, int signo);
    void (*signal_free)(struct loop_signal *s);
    void (*free)(struct loop *l);
};

struct loop {
    const struct loop_ops *ops;
    struct timers timers;
    size_t n_timers, n_watches, n_signals; /* handles not yet freed */
    size_t n_watching;                     /* watches with events */
    atomic_bool stop;
    atomic_int holds;
    _Atomic(pthread_t) thread; /* in loop_run(), 0 outside it */
    pthread_mutex_t lock;      /* of `posts` alone */
    struct loop_calls posts;
    struct loop_calls batch; /* being run; entries below batch_at have run */
    size_t batch_at;
    struct loop_calls hooks;
    bool in_hooks;
};
void loop_base_init(struct loop *l, const struct loop_ops *ops);
void loop_base_done(struct loop *l);
/* One iteration up to the waiting: posts, timers, hooks. */
void loop_pass(struct loop *l);
bool loop_has_posts(struct loop *l);

#endif
