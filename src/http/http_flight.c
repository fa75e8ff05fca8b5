/* http_flight.c - calls that do not block, on a loop
 *
 * libcurl tells which descriptors it waits for and when it wants to be called; both become watches
 * and a timer of the loop.  It calls back from within its own functions, where nothing of ours may
 * end: what landed is collected afterwards, from the loop.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "http/http_i.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "sys/loop.h"

struct http_socket {
    struct http_air *air;
    curl_socket_t fd;
    struct loop_watch *watch;
};
struct http_flight {
    struct http_exchange x; /* first: libcurl gives it back */
    struct http_air *air;
    struct http_flight *prev, *next;
    struct buf text;
    http_landed_f *fn;
    void *arg;
};
struct http_air {
    struct http *h;
    struct loop *loop;
    struct loop_timer *timer;
    struct http_flight *first;
    bool looking; /* a look at what landed is on its way */
};

static void flight_free(struct http_flight *f)
{
    struct http_air *a = f->air;
    if (f->prev)
        f->prev->next = f->next;
    else
        a->first = f->next;
    if (f->next)
        f->next->prev = f->prev;
    exchange_end(&f->x);
    buf_done(&f->text);
    free(f);
}

static void flight_land(struct http_flight *f)
{
    struct http_landing l = {.status = f->x.status, .body = buf_str(&f->x.got)};
    http_landed_f *fn = f->fn;
    void *arg = f->arg;
    SCOPED_ARENA(mem);
    if (f->x.result != CURLE_OK) {
        l.failure = http_transport_error(&f->x, &l.err);
        l.status = 0;
    } else if (f->x.status >= 300) {
        l.failure = http_answer_error(&mem, &f->x, &l.err);
    }
    struct buf body = f->x.got; /* outlives the flight: fn may start the next one */
    f->x.got = (struct buf){0};
    flight_free(f);
    fn(arg, &l);
    buf_done(&body);
}

static void air_look(void *arg)
{
    struct http_air *a = arg;
    int left;
    a->looking = false;
    for (CURLMsg *m; (m = curl_multi_info_read(a->h->multi, &left));) {
        struct http_exchange *x = NULL;
        if (m->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&x);
        x->over = true;
        x->result = m->data.result;
    }
    for (struct http_flight *f = a->first, *next; f; f = next) {
        next = f->next;
        if (!f->x.over)
            continue;
        flight_land(f); /* may start or cancel others */
        next = a->first;
    }
}

static void air_look_soon(struct http_air *a)
{
    if (a->looking)
        return;
    a->looking = true;
    loop_post(a->loop, air_look, a);
}

static void on_socket(void *arg, unsigned events)
{
    struct http_socket *s = arg;
    struct http_air *a = s->air;
    int running, mask = (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
                        (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0);
    (void)curl_multi_socket_action(a->h->multi, s->fd, mask, &running); /* may free s */
    air_look_soon(a);
}

static void on_timer(void *arg)
{
    struct http_air *a = arg;
    int running;
    (void)curl_multi_socket_action(a->h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    air_look_soon(a);
}

static int watch_wanted(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket)
{
    struct http_air *a = arg;
    struct http_socket *s = socket;
    unsigned events = (what & CURL_POLL_IN ? LOOP_READ : 0u) |
                      (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (s) {
            loop_watch_free(s->watch);
            free(s);
        }
        return 0;
    }
    if (s) {
        loop_watch_set(s->watch, events);
        return 0;
    }
    s = xcalloc(1, sizeof *s);
    s->air = a;
    s->fd = fd;
    s->watch = loop_watch_new(a->loop, fd, events, on_socket, s);
    if (!s->watch) {
        free(s);
        return -1;
    }
    curl_multi_assign(a->h->multi, fd, s);
    return 0;
}

static int timer_wanted(CURLM *multi, long ms, void *arg)
{
    struct http_air *a = arg;
    (void)multi;
    if (ms < 0)
        loop_timer_stop(a->timer);
    else
        loop_timer_at(a->timer, loop_now_ms(a->loop) + (uint64_t)ms);
    return 0;
}

struct http_air *http_air_new(struct http *h, struct loop *l)
{
    struct http_air *a = xcalloc(1, sizeof *a);
    a->h = h;
    a->loop = l;
    a->timer = loop_timer_new(l, on_timer, a);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, watch_wanted);
    curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, a);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, timer_wanted);
    curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, a);
    return a;
}

void http_air_free(struct http_air *a)
{
    if (!a)
        return;
    while (a->first)
        flight_free(a->first);
    loop_unpost(a->loop, air_look, a);
    http_free(a->h); /* closes what was kept open, and says so */
    loop_timer_free(a->timer);
    free(a);
}

struct http_flight *http_fly(struct http_air *a, const char *path, struct buf *text,
                             uint32_t timeout_ms, http_landed_f *fn, void *arg, struct err *e)
{
    struct http_flight *f = xcalloc(1, sizeof *f);
    f->air = a;
    f->fn = fn;
    f->arg = arg;
    f->text = *text;
    *text = (struct buf){0};
    f->next = a->first;
    if (f->next)
        f->next->prev = f;
    a->first = f;
    struct http_request q = {
        .method = "POST", .path = path, .text = buf_str(&f->text), .timeout_ms = timeout_ms};
    if (exchange_begin(&f->x, a->h, &q, NULL, NULL, false, e) < 0) {
        flight_free(f);
        return NULL;
    }
    return f;
}

void http_flight_cancel(struct http_flight *f)
{
    flight_free(f);
}
