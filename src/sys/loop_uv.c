/* loop_uv.c - the real loop: libuv for descriptors, signals and wake-ups, a timerfd for the timers
 *
 * libuv's own timers follow CLOCK_MONOTONIC, which stands still while the machine sleeps; ours
 * follow CLOCK_BOOTTIME.  So one timerfd on that clock carries the head of our heap.  It is armed
 * at most once an iteration, and never read: arming it anew clears it. Handles are freed in libuv's
 * close callback, at the end of the iteration; ours may therefore be freed from any callback.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#include "sys/loop_i.h"

struct real_loop {
    struct loop base;
    uv_loop_t uv;
    uv_async_t wake;
    uv_poll_t clock;
    int clock_fd;
    uint64_t armed_ms; /* what the timerfd is set to; UINT64_MAX: off */
};
struct real_watch {
    struct loop_watch base;
    uv_poll_t poll;
};
struct real_signal {
    struct loop_signal base;
    uv_signal_t sig;
};

static uint64_t real_now_ms(const struct loop *l)
{
    struct timespec t;
    (void)l;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void arm_clock(struct real_loop *u, uint64_t at_ms)
{
    struct itimerspec when = {0}; /* all zero: off */
    if (at_ms == u->armed_ms)
        return;
    u->armed_ms = at_ms;
    if (at_ms != UINT64_MAX) {
        when.it_value.tv_sec = (time_t)(at_ms / 1000);
        when.it_value.tv_nsec = (long)(at_ms % 1000) * 1000000 + 1; /* never 0, which means off */
    }
    int rc = timerfd_settime(u->clock_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(rc == 0);
}

static void real_wait(struct loop *l, bool may_block)
{
    struct real_loop *u = (struct real_loop *)l;
    uint64_t next_ms = timers_next_ms(&l->timers);
    /* Past what a timerfd can hold, a timer fires never, like UINT64_MAX itself. */
    arm_clock(u, next_ms > INT64_MAX / 1000 ? UINT64_MAX : next_ms);
    uv_run(&u->uv, may_block ? UV_RUN_ONCE : UV_RUN_NOWAIT);
}

static void real_wake(struct loop *l)
{
    uv_async_send(&((struct real_loop *)l)->wake);
}

static void on_wake(uv_async_t *h)
{
    (void)h; /* waking is all: posts and the stop flag are looked at by loop_run() */
}

static void on_clock(uv_poll_t *h, int status, int events)
{
    (void)h, (void)status, (void)events; /* as above: loop_pass() fires what is due */
}

static void on_poll(uv_poll_t *h, int status, int events)
{
    struct loop_watch *w = h->data;
    unsigned got = 0;
    if (status < 0) /* the descriptor is in error; libuv has stopped the handle */
        got = w->events;
    if (events & UV_READABLE)
        got |= LOOP_READ;
    if (events & UV_WRITABLE)
        got |= LOOP_WRITE;
    if (events & UV_DISCONNECT)
        got |= LOOP_HANGUP;
    if (status < 0) {
        w->loop->n_watching -= (w->events != 0);
        w->events = 0;
    }
    if (got)
        w->fn(w->arg, got);
}

static struct loop_watch *real_watch_new(struct loop *l, int fd)
{
    struct real_loop *u = (struct real_loop *)l;
    struct real_watch *w = xcalloc(1, sizeof *w);
    int rc = uv_poll_init(&u->uv, &w->poll, fd);
    if (rc < 0) {
        free(w);
        errno = -rc;
        return NULL;
    }
    w->poll.data = w;
    return &w->base;
}

static void real_watch_set(struct loop_watch *b)
{
    struct real_watch *w = (struct real_watch *)b;
    int events = 0, rc;
    if (b->events & LOOP_READ)
        events |= UV_READABLE;
    if (b->events & LOOP_WRITE)
        events |= UV_WRITABLE;
    if (b->events & LOOP_HANGUP)
        events |= UV_DISCONNECT;
    rc = events ? uv_poll_start(&w->poll, events, on_poll) : uv_poll_stop(&w->poll);
    assert(rc == 0);
}

static void on_watch_closed(uv_handle_t *h)
{
    free(h->data);
}

static void real_watch_free(struct loop_watch *b)
{
    uv_close((uv_handle_t *)&((struct real_watch *)b)->poll, on_watch_closed);
}

static void on_signal(uv_signal_t *h, int signo)
{
    struct loop_signal *s = h->data;
    (void)signo;
    s->fn(s->arg);
}

static struct loop_signal *real_signal_new(struct loop *l, int signo)
{
    struct real_loop *u = (struct real_loop *)l;
    struct real_signal *s = xcalloc(1, sizeof *s);
    int rc = uv_signal_init(&u->uv, &s->sig);
    assert(rc == 0);
    s->sig.data = s;
    rc = uv_signal_start(&s->sig, on_signal, signo);
    assert(rc == 0); /* a signal that cannot be caught is a programmer's mistake */
    return &s->base;
}

static void real_signal_free(struct loop_signal *b)
{
    uv_close((uv_handle_t *)&((struct real_signal *)b)->sig, on_watch_closed);
}

static void real_free(struct loop *l)
{
    struct real_loop *u = (struct real_loop *)l;
    uv_close((uv_handle_t *)&u->wake, NULL);
    uv_close((uv_handle_t *)&u->clock, NULL);
    uv_run(&u->uv, UV_RUN_DEFAULT); /* runs the close callbacks still due */
    int rc = uv_loop_close(&u->uv);
    assert(rc == 0);
    close(u->clock_fd);
    loop_base_done(l);
    free(u);
}

struct loop *loop_new(void)
{
    static const struct loop_ops ops = {
        .now_ms = real_now_ms,
        .wait = real_wait,
        .wake = real_wake,
        .watch_new = real_watch_new,
        .watch_set = real_watch_set,
        .watch_free = real_watch_free,
        .signal_new = real_signal_new,
        .signal_free = real_signal_free,
        .free = real_free,
    };
    struct real_loop *u = xcalloc(1, sizeof *u);
    loop_base_init(&u->base, &ops);
    signal(SIGPIPE, SIG_IGN);
    u->armed_ms = UINT64_MAX;
    u->clock_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (u->clock_fd < 0 || uv_loop_init(&u->uv) < 0 ||
        uv_async_init(&u->uv, &u->wake, on_wake) < 0 ||
        uv_poll_init(&u->uv, &u->clock, u->clock_fd) < 0 ||
        uv_poll_start(&u->clock, UV_READABLE, on_clock) < 0)
        abort();
    return &u->base;
}
