/* test_embedded.c - the queue inside the process: order, batches, attaching and leaving */
/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <time.h>

#include "queue/queue.h"
#include "sys/scratch.h"

struct side {
    struct queue *q;
    struct loop *l;
    struct buf text;
    size_t batches, messages;
    bool detach;
};

static void note_batch(void *arg, const struct str *m, size_t n)
{
    struct side *s = arg;
    for (size_t i = 0; i < n; i++) {
        buf_put(&s->text, m[i].s, m[i].n);
        buf_putc(&s->text, i + 1 < n ? ',' : ';');
    }
    s->batches++;
    s->messages += n;
    if (s->detach)
        queue_worker_detach(s->q);
}

static void test_batches(void)
{
    struct side w = {.q = queue_new_embedded(), .l = loop_new_fake(0)}, s = w;
    queue_to_worker(w.q, str_of("early"));
    queue_flush(w.q);
    is_int(queue_depth(w.q), 1, "a message waits for a worker");
    queue_worker_attach(w.q, w.l, note_batch, &w);
    queue_server_attach(w.q, w.l, note_batch, &s);
    loop_fake_advance(w.l, 0);
    is_text(w.text.data, "early;", "which gets it when it attaches");
    buf_clear(&w.text);
    queue_to_worker(w.q, str_of("a"));
    queue_to_worker(w.q, str_of(""));
    queue_to_worker(w.q, (struct str){"c\0d", 3});
    loop_fake_advance(w.l, 0);
    is_int(w.batches, 1, "nothing is delivered before the flush");
    queue_flush(w.q);
    queue_flush(w.q);
    loop_fake_advance(w.l, 0);
    ok(w.text.len == 7 && !memcmp(w.text.data, "a,,c\0d;", 7), "one batch in order, byte for byte");
    is_int(w.batches, 2, "and one delivery for two flushes");
    is_int(queue_depth(w.q), 0, "nothing is left");
    queue_to_server(w.q, str_of("up"));
    queue_flush(w.q);
    loop_fake_advance(w.l, 0);
    is_text(s.text.data, "up;", "the other way too");
    is_int(w.batches, 2, "without bothering this one");

    queue_to_worker(w.q, str_of("lost"));
    queue_to_server(w.q, str_of("kept"));
    queue_flush(w.q);
    queue_worker_detach(w.q);
    queue_worker_detach(w.q);
    loop_fake_advance(w.l, 0);
    is_int(w.batches, 2, "detaching drops what was not delivered");
    is_text(s.text.data, "up;kept;", "but not what was sent");
    queue_server_detach(w.q);
    loop_run(w.l);
    ok(true, "a loop without attached sides has nothing to do");
    queue_free(w.q);
    queue_free(NULL);
    loop_free(w.l);
    buf_done(&w.text);
    buf_done(&s.text);
}

static void test_detach_inside(void)
{
    struct side w = {.q = queue_new_embedded(), .l = loop_new_fake(0), .detach = true};
    queue_worker_attach(w.q, w.l, note_batch, &w);
    queue_to_worker(w.q, str_of("x"));
    queue_flush(w.q);
    loop_fake_advance(w.l, 0);
    is_text(w.text.data, "x;", "a worker may leave while it is being served");
    queue_to_worker(w.q, str_of("y"));
    queue_flush(w.q);
    w.detach = false;
    queue_worker_attach(w.q, w.l, note_batch, &w);
    loop_fake_advance(w.l, 0);
    is_text(w.text.data, "x;y;", "and the next one gets what came since");
    queue_to_worker(w.q, str_of("never delivered"));
    queue_worker_detach(w.q);
    queue_to_worker(w.q, str_of("never taken"));
    queue_free(w.q);
    loop_free(w.l);
    buf_done(&w.text);
}

/* Sizes around the block, to and past it. */
static void test_sizes(void)
{
    enum { BLOCK = 64 * 1024 };
    static const size_t sizes[] = {0,         1,     BLOCK - 16, BLOCK - 8,
                                   BLOCK - 7, BLOCK, BLOCK + 1,  1 << 20};
    enum { N = sizeof sizes / sizeof sizes[0] };
    struct side w = {.q = queue_new_embedded(), .l = loop_new_fake(0)};
    char *bytes = xcalloc(1, 1 << 20);
    size_t total = 0;
    memset(bytes, 'b', 1 << 20);
    queue_worker_attach(w.q, w.l, note_batch, &w);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < N; i++) {
            queue_to_worker(w.q, (struct str){bytes, sizes[i]});
            total += sizes[i] + 1;
        }
        queue_flush(w.q);
        loop_fake_advance(w.l, 0);
    }
    is_int(w.messages, 3 * N, "messages of %zu sizes arrive", (size_t)N);
    is_int(w.text.len, total, "with all their bytes");
    for (int i = 0; i < 40 * 1000; i++) /* more blocks than are kept for reuse */
        queue_to_worker(w.q, (struct str){bytes, 64});
    queue_flush(w.q);
    loop_fake_advance(w.l, 0);
    is_int(w.messages, 3 * N + 40 * 1000, "and so does a batch of many blocks");
    queue_worker_detach(w.q);
    queue_free(w.q);
    loop_free(w.l);
    free(bytes);
    buf_done(&w.text);
}

/* Two real loops on two threads; every message is answered. */
enum { ROUND_TRIPS = 200000, BATCH = 500 };
struct pair {
    struct queue *q;
    struct loop *server, *worker;
    uint32_t sent, next_at_worker, next_at_server;
    bool ordered;
};

static void send_more(struct pair *p)
{
    for (int i = 0; i < BATCH && p->sent < ROUND_TRIPS; i++, p->sent++) {
        char text[64] = "a message of the size of an acknowledgement";
        memcpy(text, &p->sent, sizeof p->sent);
        queue_to_worker(p->q, (struct str){text, sizeof text});
    }
    queue_flush(p->q);
}

static void at_worker(void *arg, const struct str *m, size_t n)
{
    struct pair *p = arg;
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        memcpy(&number, m[i].s, sizeof number);
        p->ordered = p->ordered && number == p->next_at_worker++ && m[i].n == 64;
        queue_to_server(p->q, m[i]);
    }
    queue_flush(p->q);
    if (p->next_at_worker == ROUND_TRIPS)
        loop_stop(p->worker);
}

static void at_server(void *arg, const struct str *m, size_t n)
{
    struct pair *p = arg;
    for (size_t i = 0; i < n; i++) {
        uint32_t number;
        memcpy(&number, m[i].s, sizeof number);
        p->ordered = p->ordered && number == p->next_at_server++;
    }
    if (p->next_at_server == ROUND_TRIPS)
        loop_stop(p->server);
    else if (p->sent - p->next_at_server < 4 * BATCH)
        send_more(p);
}

static void *worker_main(void *arg)
{
    struct pair *p = arg;
    loop_run(p->worker);
    return NULL;
}

static void test_threads(void)
{
    struct pair p = {
        .q = queue_new_embedded(), .server = loop_new(), .worker = loop_new(), .ordered = true};
    struct timespec a, b;
    pthread_t thread;
    queue_server_attach(p.q, p.server, at_server, &p);
    queue_worker_attach(p.q, p.worker, at_worker, &p);
    pthread_create(&thread, NULL, worker_main, &p);
    clock_gettime(CLOCK_MONOTONIC, &a);
    send_more(&p);
    scratch_run(p.server);
    clock_gettime(CLOCK_MONOTONIC, &b);
    pthread_join(thread, NULL);
    is_int(p.next_at_server, ROUND_TRIPS, "every message was answered");
    ok(p.ordered, "in order, both ways");
    double s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    note("%.0f messages a second each way", ROUND_TRIPS / s);
    queue_server_detach(p.q);
    queue_worker_detach(p.q);
    queue_free(p.q);
    loop_free(p.server);
    loop_free(p.worker);
}

int main(void)
{
    test_batches();
    test_detach_inside();
    test_sizes();
    test_threads();
    return tap_done();
}
