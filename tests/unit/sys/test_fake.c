/* test_fake.c - timers, posts, hooks and descriptors under the virtual clock */
/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>

#include "base/str.h"
#include "sys/scratch.h"

struct trace {
    struct loop *l;
    struct buf text;
};
struct mark {
    struct trace *t;
    const char *name;
    struct loop_timer *timer, *other;
    uint64_t again_ms;
    int left;
};

static void note_mark(void *arg)
{
    struct mark *m = arg;
    buf_printf(&m->t->text, "%s@%d ", m->name, (int)loop_now_ms(m->t->l));
}

static void note_and_rearm(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    if (--m->left > 0)
        loop_timer_at(m->timer, m->again_ms ? loop_now_ms(m->t->l) + m->again_ms : 0);
}

static void note_and_stop_other(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    loop_timer_stop(m->other);
}

static void note_and_free(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    loop_timer_free(m->timer);
    loop_timer_free(m->other);
}

static void test_order(void)
{
    struct trace t = {.l = loop_new_fake(1000)};
    struct mark m[6] = {{&t, "a"}, {&t, "b"}, {&t, "c"}, {&t, "d"}, {&t, "e"}, {&t, "f"}};
    const uint64_t at[6] = {1050, 1010, 1050, 1010, 900, 1040};
    for (int i = 0; i < 6; i++) {
        m[i].timer = loop_timer_new(t.l, note_mark, &m[i]);
        loop_timer_at(m[i].timer, at[i]);
    }
    is_int(loop_now_ms(t.l), 1000, "a fake loop starts at its time");
    loop_fake_advance(t.l, 10);
    is_text(t.text.data, "e@1000 b@1010 d@1010 ", "due in order of time, ties in order of arming");
    ok(loop_timer_armed(m[5].timer) && !loop_timer_armed(m[4].timer), "only f, a and c are armed");
    loop_timer_stop(m[5].timer);
    loop_fake_advance(t.l, 100);
    is_text(t.text.data, "e@1000 b@1010 d@1010 a@1050 c@1050 ", "a stopped timer does not fire");
    is_int(loop_now_ms(t.l), 1110, "the clock ends where it was told");
    for (int i = 0; i < 6; i++)
        loop_timer_free(m[i].timer);
    loop_timer_free(NULL);
    loop_free(t.l);
    buf_done(&t.text);
}

static void test_reentry(void)
{
    struct trace t = {.l = loop_new_fake(0)};
    struct mark every = {.t = &t, .name = "e", .again_ms = 10, .left = 3};
    struct mark past = {.t = &t, .name = "p", .left = 3}; /* re-arms for time 0: always due */
    struct mark first = {.t = &t, .name = "x"}, second = {.t = &t, .name = "y"};
    every.timer = loop_timer_new(t.l, note_and_rearm, &every);
    past.timer = loop_timer_new(t.l, note_and_rearm, &past);
    loop_timer_at(every.timer, 10);
    loop_timer_at(past.timer, 10);
    loop_fake_advance(t.l, 40);
    is_text(t.text.data, "e@10 p@10 p@10 p@10 e@20 e@30 ", "re-arming: later, and for the past");
    buf_clear(&t.text);

    first.timer = loop_timer_new(t.l, note_and_stop_other, &first);
    second.timer = loop_timer_new(t.l, note_mark, &second);
    first.other = second.timer;
    loop_timer_at(first.timer, 50);
    loop_timer_at(second.timer, 50);
    loop_fake_advance(t.l, 20);
    is_text(t.text.data, "x@50 ", "a timer that is due can be stopped by another");
    loop_timer_free(first.timer);
    buf_clear(&t.text);

    first.timer = loop_timer_new(t.l, note_and_free, &first);
    first.other = second.timer;
    loop_timer_at(first.timer, 70);
    loop_timer_at(second.timer, 70);
    loop_fake_advance(t.l, 20);
    is_text(t.text.data, "x@70 ", "a callback may free its own timer and one that is due");
    loop_timer_free(every.timer);
    loop_timer_free(past.timer);
    loop_free(t.l);
    buf_done(&t.text);
}

/* Many timers, armed, moved and stopped at random, must each fire in their own millisecond. */
struct heap_timer {
    struct loop *l;
    struct loop_timer *t;
    uint64_t due_ms;
    int fired, late;
};
static void on_heap_timer(void *arg)
{
    struct heap_timer *h = arg;
    h->fired++;
    h->late += loop_now_ms(h->l) != h->due_ms;
}

static void test_heap(void)
{
    enum { N = 5000 };
    struct loop *l = loop_new_fake(0);
    struct heap_timer *h = xcalloc(N, sizeof *h);
    uint64_t seed = 12345;
    int armed = 0, fired = 0, late = 0;
    for (int i = 0; i < N; i++) {
        h[i].l = l;
        h[i].t = loop_timer_new(l, on_heap_timer, &h[i]);
    }
    for (int i = 0; i < 4 * N; i++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        int k = (int)((seed >> 33) % N);
        h[k].due_ms = 1 + (seed >> 40) % 100000;
        if ((seed >> 20) % 4 == 0)
            loop_timer_stop(h[k].t);
        else
            loop_timer_at(h[k].t, h[k].due_ms);
    }
    for (int i = 0; i < N; i++)
        armed += loop_timer_armed(h[i].t);
    loop_fake_advance(l, 200000);
    for (int i = 0; i < N; i++) {
        fired += h[i].fired;
        late += h[i].late;
        loop_timer_free(h[i].t);
    }
    ok(armed > N / 2, "%d timers at random", armed);
    is_int(fired, armed, "each armed one fires once");
    is_int(late, 0, "and in its time");
    free(h);
    loop_free(l);
}

static void post_again(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    if (--m->left > 0)
        loop_post(m->t->l, post_again, m);
}

static void post_and_unpost(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    loop_unpost(m->t->l, note_mark, m);
    loop_post(m->t->l, note_mark, m);
    loop_unpost(m->t->l, note_mark, m);
}

static void test_posts(void)
{
    struct trace t = {.l = loop_new_fake(0)};
    struct mark a = {.t = &t, .name = "a"}, b = {.t = &t, .name = "b"},
                r = {.t = &t, .name = "r", .left = 3};
    loop_post(t.l, note_mark, &a);
    loop_post(t.l, post_again, &r);
    loop_post(t.l, note_mark, &b);
    loop_fake_advance(t.l, 0);
    is_text(t.text.data, "a@0 r@0 b@0 r@0 r@0 ", "posts run in order, those of a post afterwards");
    buf_clear(&t.text);
    loop_post(t.l, post_and_unpost, &a);
    loop_post(t.l, note_mark, &b);
    loop_post(t.l, note_mark, &a);
    loop_fake_advance(t.l, 0);
    is_text(t.text.data, "a@0 b@0 ", "a post can be taken back before and while it would run");
    loop_free(t.l);
    buf_done(&t.text);
}

static void hook_once(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    loop_before_wait_off(m->t->l, hook_once, m);
}

static void test_hooks(void)
{
    struct trace t = {.l = loop_new_fake(0)};
    struct mark h = {.t = &t, .name = "h"}, once = {.t = &t, .name = "o"},
                p = {.t = &t, .name = "p"};
    loop_before_wait(t.l, note_mark, &h);
    loop_before_wait(t.l, hook_once, &once);
    loop_post(t.l, note_mark, &p);
    loop_run(t.l);
    is_text(t.text.data, "p@0 h@0 o@0 ", "hooks run after the posts, before waiting");
    buf_clear(&t.text);
    loop_post(t.l, note_mark, &p);
    loop_run(t.l);
    is_text(t.text.data, "p@0 h@0 ", "a hook that took itself off is gone");
    loop_before_wait_off(t.l, note_mark, &h);
    buf_clear(&t.text);
    loop_post(t.l, note_mark, &p);
    loop_run(t.l);
    is_text(t.text.data, "p@0 ", "and so is one taken off from outside");
    loop_free(t.l);
    buf_done(&t.text);
}

static void note_and_stop(void *arg)
{
    struct mark *m = arg;
    note_mark(m);
    loop_stop(m->t->l);
}

static void test_run_jumps(void)
{
    struct trace t = {.l = loop_new_fake(0)};
    struct mark a = {.t = &t, .name = "a"}, b = {.t = &t, .name = "b"};
    a.timer = loop_timer_new(t.l, note_mark, &a);
    b.timer = loop_timer_new(t.l, note_and_stop, &b);
    loop_timer_at(a.timer, 3600000);
    loop_timer_at(b.timer, 7200000);
    loop_run(t.l);
    is_text(t.text.data, "a@3600000 b@7200000 ", "a run jumps from timer to timer");
    loop_timer_at(b.timer, 7200500);
    loop_timer_at(a.timer, 7200600);
    loop_fake_advance(t.l, 1000);
    is_int(loop_now_ms(t.l), 7200500, "a stop ends an advance where it is");
    loop_stop(t.l);
    loop_run(t.l);
    ok(loop_timer_armed(a.timer), "a stop before a run ends that run at once");
    loop_timer_free(a.timer);
    loop_timer_free(b.timer);
    loop_free(t.l);
    buf_done(&t.text);
}

struct reader {
    struct loop_watch *w, *victim;
    int fd, calls;
    unsigned events;
    char got[16];
};
static void on_reader(void *arg, unsigned events)
{
    struct reader *r = arg;
    ssize_t n = read(r->fd, r->got, sizeof r->got - 1);
    r->got[n > 0 ? n : 0] = '\0';
    r->events = events;
    r->calls++;
    loop_watch_free(r->victim);
    r->victim = NULL;
    if (n <= 0) {
        loop_watch_free(r->w);
        r->w = NULL;
    }
}

static void test_descriptors(void)
{
    struct loop *l = loop_new_fake(0);
    struct reader a = {0}, b = {0};
    int p[2], q[2];
    ok(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(q, O_CLOEXEC | O_NONBLOCK) == 0, "two pipes");
    a.fd = p[0];
    b.fd = q[0];
    a.w = loop_watch_new(l, p[0], LOOP_READ, on_reader, &a);
    b.w = loop_watch_new(l, q[0], LOOP_READ, on_reader, &b);
    is_int(write(p[1], "one", 3), 3, "something to read");
    loop_fake_advance(l, 0);
    is_text(a.got, "one", "a readable descriptor is delivered");
    is_int(a.events, LOOP_READ, "with the event that it has");
    is_int(b.calls, 0, "a silent one is not");
    loop_watch_set(a.w, 0);
    is_int(write(p[1], "two", 3), 3, "something for a watch without events");
    loop_fake_advance(l, 0);
    is_int(a.calls, 1, "which hears nothing");
    loop_watch_set(a.w, LOOP_READ);
    is_int(write(q[1], "x", 1), 1, "both are readable, the first frees the second");
    a.victim = b.w;
    loop_fake_advance(l, 0);
    is_text(a.got, "two", "the first was called");
    is_int(b.calls, 0, "the freed one was not");
    close(p[1]);
    loop_run(l);
    ok(a.w == NULL, "the end of a pipe is readable, and a watch may free itself");
    a = (struct reader){.fd = q[0]};
    a.w = loop_watch_new(l, q[1], LOOP_WRITE, on_reader, &a);
    loop_fake_advance(l, 0);
    is_int(a.events, LOOP_WRITE, "room to write is told too");
    loop_watch_free(a.w);
    ok(loop_watch_new(l, -1, LOOP_READ, on_reader, &a) == NULL && errno == EBADF,
       "no descriptor, no watch");
    close(p[0]);
    close(q[0]);
    close(q[1]);
    loop_free(l);
}

static void signal_once(void *arg)
{
    struct loop_signal **s = arg;
    loop_signal_free(*s);
    *s = NULL;
}

static void *post_from_thread(void *arg)
{
    struct mark *m = arg;
    loop_post(m->t->l, note_and_stop, m);
    return NULL;
}

static void test_signals_and_threads(void)
{
    struct trace t = {.l = loop_new_fake(0)};
    struct mark m = {.t = &t, .name = "s"};
    struct loop_signal *once = loop_signal_new(t.l, SIGUSR1, signal_once, &once);
    struct loop_signal *other = loop_signal_new(t.l, SIGUSR2, note_mark, &m);
    pthread_t thread;
    loop_fake_signal(t.l, SIGUSR1);
    ok(once == NULL, "a fake signal reaches its handler, which may free itself");
    loop_fake_signal(t.l, SIGUSR2);
    is_text(t.text.data, "s@0 ", "and only its handler");
    loop_hold(t.l);
    pthread_create(&thread, NULL, post_from_thread, &m);
    loop_run(t.l);
    pthread_join(thread, NULL);
    is_text(t.text.data, "s@0 s@0 ", "a post from another thread wakes a fake loop that waits");
    loop_release(t.l);
    loop_signal_free(other);
    loop_free(t.l);
    loop_free(NULL);
    buf_done(&t.text);
}

int main(void)
{
    test_order();
    test_reentry();
    test_heap();
    test_posts();
    test_hooks();
    test_run_jumps();
    test_descriptors();
    test_signals_and_threads();
    return tap_done();
}
