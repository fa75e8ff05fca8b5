/* loop_fake.c - a loop whose time is a number
 *
 * For tests: timers fire in their order without anyone waiting for them.  Descriptors are real but
 * only polled; virtual time moves when nothing else is there to do, so a test that waits for
 * another process must not have a timer armed that it does not want to see fire.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sys/loop_i.h"

struct fake_loop {
    struct loop base;
    uint64_t now_ms;
    int wake_fd; /* lets a post from another thread end a poll that has no time limit */
    VEC(struct loop_watch *) watches; /* NULL: freed while the list was being walked */
    VEC(struct loop_signal *) signals;
    VEC(struct pollfd) polled;
    bool in_dispatch;
};

static uint64_t fake_now_ms(const struct loop *l)
{
    return ((const struct fake_loop *)l)->now_ms;
}

static void fake_wake(struct loop *l)
{
    uint64_t one = 1;
    ssize_t n = write(((struct fake_loop *)l)->wake_fd, &one, sizeof one);
    (void)n; /* full: it is awake already */
}

static void drop_holes(struct fake_loop *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->watches.n; i++)
        if (f->watches.at[i])
            f->watches.at[kept++] = f->watches.at[i];
    f->watches.n = kept;
}

static unsigned events_of(const struct loop_watch *w, short got)
{
    unsigned events = 0;
    if (got & POLLIN)
        events |= LOOP_READ;
    if (got & POLLOUT)
        events |= LOOP_WRITE;
    if (got & (POLLHUP | POLLERR | POLLRDHUP))
        events |= w->events;
    return events & w->events;
}

static void dispatch(struct fake_loop *f)
{
    size_t n = f->polled.n - 1; /* the last one is wake_fd; callbacks may add watches behind it */
    f->in_dispatch = true;
    for (size_t i = 0; i < n; i++) {
        struct loop_watch *w = f->watches.at[i];
        unsigned events = w ? events_of(w, f->polled.at[i].revents) : 0;
        if (events)
            w->fn(w->arg, events);
    }
    f->in_dispatch = false;
    drop_holes(f);
}

/* True if a descriptor was ready. */
static bool poll_watches(struct fake_loop *f, int timeout_ms)
{
    vec_clear(&f->polled);
    for (size_t i = 0; i < f->watches.n; i++) {
        const struct loop_watch *w = f->watches.at[i];
        short ev = (short)((w->events & LOOP_READ ? POLLIN : 0) |
                           (w->events & LOOP_WRITE ? POLLOUT : 0) |
                           (w->events & LOOP_HANGUP ? POLLRDHUP : 0));
        vec_push(&f->polled, ((struct pollfd){.fd = w->events ? w->fd : -1, .events = ev}));
    }
    vec_push(&f->polled, ((struct pollfd){.fd = f->wake_fd, .events = POLLIN}));
    if (poll(f->polled.at, f->polled.n, timeout_ms) <= 0)
        return false;
    if (f->polled.at[f->polled.n - 1].revents) {
        uint64_t count;
        ssize_t n = read(f->wake_fd, &count, sizeof count);
        (void)n;
    }
    dispatch(f);
    return true;
}

static void fake_wait(struct loop *l, bool may_block)
{
    struct fake_loop *f = (struct fake_loop *)l;
    uint64_t next_ms = timers_next_ms(&l->timers);
    if (poll_watches(f, 0) || !may_block)
        return;
    if (next_ms == UINT64_MAX)
        poll_watches(f, -1);
    else if (next_ms > f->now_ms)
        f->now_ms = next_ms;
}

void loop_fake_advance(struct loop *l, uint64_t by_ms)
{
    struct fake_loop *f = (struct fake_loop *)l;
    uint64_t end_ms = f->now_ms + by_ms, next_ms;
    assert(l->ops->now_ms == fake_now_ms);
    for (;;) {
        do
            loop_pass(l);
        while (!atomic_load(&l->stop) &&
               (loop_has_posts(l) || timers_next_ms(&l->timers) <= f->now_ms));
        if (!atomic_load(&l->stop))
            poll_watches(f, 0);
        next_ms = timers_next_ms(&l->timers);
        if (atomic_load(&l->stop) ||
            (next_ms > end_ms && f->now_ms == end_ms && !loop_has_posts(l)))
            break;
        if (next_ms > f->now_ms)
            f->now_ms = next_ms < end_ms ? next_ms : end_ms;
    }
    atomic_store(&l->stop, false);
}

void loop_fake_signal(struct loop *l, int signo)
{
    struct fake_loop *f = (struct fake_loop *)l;
    assert(l->ops->now_ms == fake_now_ms);
    for (size_t i = f->signals.n; i-- > 0;) /* backwards: a callback may free its own handle */
        if (i < f->signals.n && f->signals.at[i]->signo == signo)
            f->signals.at[i]->fn(f->signals.at[i]->arg);
}

static struct loop_watch *fake_watch_new(struct loop *l, int fd)
{
    struct fake_loop *f = (struct fake_loop *)l;
    if (fd < 0) {
        errno = EBADF;
        return NULL;
    }
    struct loop_watch *w = xcalloc(1, sizeof *w);
    vec_push(&f->watches, w);
    return w;
}

static void fake_watch_set(struct loop_watch *w)
{
    (void)w; /* events are read at the next poll */
}

static void fake_watch_free(struct loop_watch *w)
{
    struct fake_loop *f = (struct fake_loop *)w->loop;
    for (size_t i = 0; i < f->watches.n; i++)
        if (f->watches.at[i] == w)
            f->watches.at[i] = NULL;
    if (!f->in_dispatch)
        drop_holes(f);
    free(w);
}

static struct loop_signal *fake_signal_new(struct loop *l, int signo)
{
    struct fake_loop *f = (struct fake_loop *)l;
    struct loop_signal *s = xcalloc(1, sizeof *s);
    (void)signo;
    vec_push(&f->signals, s);
    return s;
}

static void fake_signal_free(struct loop_signal *s)
{
    struct fake_loop *f = (struct fake_loop *)s->loop;
    size_t i = 0;
    while (f->signals.at[i] != s)
        i++;
    f->signals.n--;
    for (; i < f->signals.n; i++)
        f->signals.at[i] = f->signals.at[i + 1];
    free(s);
}

static void fake_free(struct loop *l)
{
    struct fake_loop *f = (struct fake_loop *)l;
    close(f->wake_fd);
    vec_done(&f->watches);
    vec_done(&f->signals);
    vec_done(&f->polled);
    loop_base_done(l);
    free(f);
}

struct loop *loop_new_fake(uint64_t start_ms)
{
    static const struct loop_ops ops = {
        .now_ms = fake_now_ms,
        .wait = fake_wait,
        .wake = fake_wake,
        .watch_new = fake_watch_new,
        .watch_set = fake_watch_set,
        .watch_free = fake_watch_free,
        .signal_new = fake_signal_new,
        .signal_free = fake_signal_free,
        .free = fake_free,
    };
    struct fake_loop *f = xcalloc(1, sizeof *f);
    loop_base_init(&f->base, &ops);
    f->now_ms = start_ms;
    f->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (f->wake_fd < 0)
        abort();
    return &f->base;
}
