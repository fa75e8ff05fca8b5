/* test_loop.c - the real loop: clock, descriptors, signals, posts from other threads */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>

#include "sys/scratch.h"

static uint64_t boot_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct timer_case {
    struct loop *l;
    struct loop_timer *t;
    uint64_t fired_ms;
    int calls;
};
static void on_timer(void *arg)
{
    struct timer_case *c = arg;
    c->fired_ms = loop_now_ms(c->l);
    c->calls++;
}

static void test_clock(void)
{
    struct timer_case near = {.l = loop_new()}, far = near, never = near;
    uint64_t start = boot_ms();
    near.t = loop_timer_new(near.l, on_timer, &near);
    far.t = loop_timer_new(near.l, on_timer, &far);
    never.t = loop_timer_new(near.l, on_timer, &never);
    ok(loop_now_ms(near.l) - start < 1000, "the loop tells CLOCK_BOOTTIME");
    loop_timer_at(far.t, start + 40);
    loop_timer_at(near.t, start + 15);
    loop_run(near.l);
    ok(near.fired_ms >= start + 15 && far.fired_ms >= start + 40,
       "timers fire not before their time");
    ok(near.fired_ms <= far.fired_ms, "and in order");
    loop_timer_at(near.t, 0);
    loop_timer_at(never.t, UINT64_MAX);
    loop_timer_at(far.t, UINT64_MAX - 1);
    loop_post(near.l, scratch_stop, near.l);
    loop_run(near.l);
    is_int(near.calls, 2, "a time in the past fires at once");
    is_int(never.calls + far.calls, 1, "the end of time does not come");
    loop_timer_free(near.t);
    loop_timer_free(far.t);
    loop_timer_free(never.t);
    loop_free(near.l);
}

struct echo {
    struct loop *l;
    struct loop_watch *w;
    int fd;
    unsigned events;
    size_t bytes;
    int calls;
};
static void on_echo(void *arg, unsigned events)
{
    struct echo *c = arg;
    char buf[64];
    ssize_t n = read(c->fd, buf, sizeof buf);
    c->events |= events;
    c->calls++;
    c->bytes += n > 0 ? (size_t)n : 0;
    if (n == 0) {
        loop_watch_free(c->w);
        c->w = NULL;
        loop_stop(c->l);
    }
}

static void write_and_close(void *arg)
{
    int *fd = arg;
    ok(write(*fd, "hello", 5) == 5, "posted write");
    close(*fd);
}

static void test_watch(void)
{
    struct echo c = {.l = loop_new()};
    int p[2], s[2];
    ok(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
    c.fd = p[0];
    c.w = loop_watch_new(c.l, p[0], LOOP_READ, on_echo, &c);
    loop_post(c.l, write_and_close, &p[1]);
    scratch_run(c.l);
    close(p[0]);
    loop_free(c.l);
    is_int(c.bytes, 5, "what was written is read");
    ok(c.w == NULL, "the end of the pipe is seen and the watch freed in its own callback");

    c = (struct echo){.l = loop_new()};
    ok(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, s) == 0, "a socket pair");
    c.fd = s[0];
    c.w = loop_watch_new(c.l, s[0], LOOP_READ | LOOP_HANGUP, on_echo, &c);
    loop_post(c.l, write_and_close, &s[1]);
    scratch_run(c.l);
    ok(c.events & LOOP_HANGUP, "a hang-up is told to who asks for it");
    close(s[0]);
    loop_free(c.l);
}

struct writer {
    struct loop_watch *w;
    struct loop *l;
    int fd, error, calls;
    unsigned events;
};
static void on_writer(void *arg, unsigned events)
{
    struct writer *c = arg;
    c->events = events;
    c->calls++;
    if (write(c->fd, "x", 1) < 0)
        c->error = errno;
}

static void test_error(void)
{
    struct writer c = {.l = loop_new()};
    int p[2];
    ok(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
    close(p[0]);
    c.fd = p[1];
    c.w = loop_watch_new(c.l, p[1], LOOP_WRITE, on_writer, &c);
    loop_run(c.l); /* the watch is off after the error, so the loop ends */
    is_int(c.error, EPIPE, "a write to a closed pipe is an error, not a signal");
    is_int(c.events, LOOP_WRITE, "and the writer was called for what it asked");
    is_int(c.calls, 1, "once: the watch is off until it is set again");
    loop_watch_free(c.w);
    loop_watch_free(NULL);
    close(p[1]);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ok(loop_watch_new(c.l, fd, LOOP_READ, on_echo, &c) == NULL && errno != 0,
       "a regular file cannot be watched");
    close(fd);
    loop_free(c.l);
}

static void on_signal(void *arg)
{
    struct timer_case *c = arg;
    c->calls++;
    loop_stop(c->l);
}

static void raise_it(void *arg)
{
    (void)arg;
    raise(SIGUSR1);
}

static void test_signal(void)
{
    struct timer_case c = {.l = loop_new()};
    struct loop_signal *s = loop_signal_new(c.l, SIGUSR1, on_signal, &c);
    loop_post(c.l, raise_it, NULL);
    scratch_run(c.l);
    is_int(c.calls, 1, "a signal reaches the loop");
    loop_signal_free(s);
    loop_signal_free(NULL);
    loop_free(c.l);
}

enum { THREADS = 4, POSTS = 20000 };
struct flood {
    struct loop *l;
    int next[THREADS], total;
    bool ordered;
};
struct flood_post {
    struct flood *f;
    int thread, number;
};
static void on_flood(void *arg)
{
    struct flood_post *p = arg;
    struct flood *f = p->f;
    f->ordered = f->ordered && f->next[p->thread] == p->number;
    f->next[p->thread]++;
    if (++f->total == THREADS * POSTS)
        loop_stop(f->l);
}
static void *flood_thread(void *arg)
{
    struct flood_post *p = arg;
    for (int i = 0; i < POSTS; i++)
        loop_post(p[i].f->l, on_flood, &p[i]);
    return NULL;
}

static void test_posts(void)
{
    struct flood f = {.l = loop_new(), .ordered = true};
    struct flood_post *posts = xcalloc(THREADS * POSTS, sizeof *posts);
    pthread_t thread[THREADS];
    loop_hold(f.l);
    for (int t = 0; t < THREADS; t++) {
        for (int i = 0; i < POSTS; i++)
            posts[t * POSTS + i] = (struct flood_post){&f, t, i};
        pthread_create(&thread[t], NULL, flood_thread, &posts[t * POSTS]);
    }
    scratch_run(f.l);
    for (int t = 0; t < THREADS; t++)
        pthread_join(thread[t], NULL);
    is_int(f.total, THREADS * POSTS, "no post of %d threads is lost", THREADS);
    ok(f.ordered, "each thread's posts arrive in order");
    loop_release(f.l);
    loop_run(f.l);
    ok(true, "without a hold and with nothing to do, a run returns");
    free(posts);
    loop_free(f.l);
}

static void *release_later(void *arg)
{
    loop_release(arg);
    return NULL;
}

static void test_hold(void)
{
    struct loop *l = loop_new();
    pthread_t thread;
    loop_hold(l);
    pthread_create(&thread, NULL, release_later, l);
    loop_run(l); /* without the wake-up of the release this would hang */
    pthread_join(thread, NULL);
    ok(true, "releasing the last hold from another thread ends the run");
    loop_free(l);
}

int main(void)
{
    test_clock();
    test_watch();
    test_error();
    test_signal();
    test_posts();
    test_hold();
    return tap_done();
}
