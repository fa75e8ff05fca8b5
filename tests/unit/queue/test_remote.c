/* test_remote.c - a worker's line, against a server that answers what it is told
 *
 * The loop is real and so is the socket; nothing waits for time but for the pauses of the line
 * itself, which are short.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/json.h"
#include "fake_server.h"
#include "queue/remote_i.h"
#include "sys/fs.h"
#include "tap.h"
#include "words.h"
#include "workdir.h"

#define POST "POST /v1/workers/w1/messages"
#define POLL "POST /v1/workers/w1/poll"

struct rig {
    struct fake *f;
    struct loop *loop;
    struct queue *q;
    struct loop_timer *limit, *look;
    struct buf heard, news;
    bool drained;
    bool (*until)(struct rig *g);
    int count;
};

static void rig_deliver(void *arg, const struct str *m, size_t n)
{
    struct rig *g = arg;
    for (size_t i = 0; i < n; i++) {
        buf_put(&g->heard, m[i].s, m[i].n);
        buf_putc(&g->heard, ';');
    }
}

static void rig_news(void *arg, enum queue_news what, const struct err *e)
{
    static const char *const names[] = {"connected", "lost", "refused", "unkept", "unwelcome"};
    struct rig *g = arg;
    buf_printf(&g->news, "%s;", names[what]);
    if (e && what == QUEUE_REFUSED)
        has_text(e->text, "gone", "the server's words are told");
}

static void rig_late(void *arg)
{
    struct rig *g = arg;
    ok(false, "it came in time");
    loop_stop(g->loop);
}

static void rig_look(void *arg)
{
    struct rig *g = arg;
    if (g->until(g))
        loop_stop(g->loop);
    else
        loop_timer_at(g->look, loop_now_ms(g->loop) + 2);
}

static void rig_until(struct rig *g, bool (*until)(struct rig *g))
{
    g->until = until;
    loop_timer_at(g->limit, loop_now_ms(g->loop) + 30000);
    loop_timer_at(g->look, loop_now_ms(g->loop));
    loop_run(g->loop);
    loop_timer_stop(g->limit);
    loop_timer_stop(g->look);
}

static bool posted(struct rig *g)
{
    return fake_count(g->f, POST) >= g->count;
}
static bool said_all(struct rig *g)
{
    return queue_remote_empty(g->q);
}
static bool has_heard(struct rig *g)
{
    return g->heard.len > 0;
}
static bool was_refused(struct rig *g)
{
    return g->news.len && strstr(g->news.data, "refused");
}
static bool was_drained(struct rig *g)
{
    return g->drained;
}

static void on_drained(void *arg)
{
    ((struct rig *)arg)->drained = true;
}

static void rig_open(struct rig *g, const char *dir)
{
    struct err e = {0};
    struct fake *f = g->f;
    *g = (struct rig){.f = f ? f : fake_new(), .loop = loop_new()};
    g->limit = loop_timer_new(g->loop, rig_late, g);
    g->look = loop_timer_new(g->loop, rig_look, g);
    struct queue_remote_options o = {.http = {.base = fake_url(g->f), .token = {"anw_secret"}},
                                     .name = "w1",
                                     .dir = dir,
                                     .words = &words,
                                     .news = rig_news,
                                     .arg = g};
    is_int(queue_new_remote(&o, &g->q, &e), 0, "a line %s", e.text);
    queue_worker_attach(g->q, g->loop, rig_deliver, g);
}

static void rig_close(struct rig *g, bool server)
{
    queue_worker_detach(g->q);
    queue_free(g->q);
    loop_timer_free(g->limit);
    loop_timer_free(g->look);
    loop_free(g->loop);
    buf_done(&g->heard);
    buf_done(&g->news);
    if (server) {
        fake_free(g->f);
        g->f = NULL;
    }
}

static void say(struct rig *g, const char *text)
{
    queue_to_server(g->q, str_of(text));
    queue_flush(g->q);
}

/* Life and first number of a post. */
static const char *life_of(struct rig *g, struct arena *mem, int i, int64_t *ret_first)
{
    struct value *v = NULL;
    const char *body = fake_body(g->f, POST, i);
    if (!body || json_parse(mem, body, strlen(body), NULL, &v, NULL) < 0)
        return "?";
    *ret_first = value_as_int(value_get(v, "first"), -1);
    return value_as_text(value_get(v, "life"), "?");
}

static void test_talk(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    SCOPED_ARENA(mem);
    int64_t first = 0;
    rig_open(&g, dir);
    fake_on(g.f, POST, 200, "{\"taken\":1}");
    fake_on(g.f, POST, 200, "{\"taken\":3}");
    fake_on(g.f, POLL, 200, "{\"first\":1,\"messages\":[\"one\",\"two\"]}");
    fake_on(g.f, POLL, 200, "{\"first\":2,\"messages\":[\"two\",\"three\"]}");
    fake_on_after(g.f, POLL, 1, 200, "{}"); /* never */
    say(&g, "hello");
    rig_until(&g, said_all);
    has_text(fake_request(g.f, POST, 0), "Bearer anw_secret", "the credential travels as a header");
    has_text(fake_body(g.f, POST, 0), "\"first\":1,\"messages\":[\"hello\"]", "the first message");
    rig_until(&g, has_heard);
    g.count = 2;
    queue_to_server(g.q, str_of("l1 \"quoted\""));
    queue_to_server(g.q, str_of("r1"));
    queue_flush(g.q);
    rig_until(&g, said_all);
    has_text(fake_body(g.f, POST, 1), "\"first\":2,\"messages\":[\"l1 \\\"quoted\\\"\",\"r1\"]",
             "the next ones as one batch, in order");
    is_text(life_of(&g, &mem, 0, &first), life_of(&g, &mem, 1, &first), "of the same life");
    has_text(fake_body(g.f, POLL, 0), "\"after\":0", "a poll begins from nothing");
    has_text(fake_body(g.f, POLL, 1), "\"after\":2", "and goes on from what it heard");
    is_text(g.heard.data, "one;two;three;", "each message is heard once");
    is_text(g.news.data, "connected;", "all is well");
    rig_close(&g, true);
    free(dir);
}

static void test_lost_answer(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    rig_open(&g, dir);
    fake_on(g.f, POST, 200, "{\"taken\":1}");
    fake_on_drop(g.f, POST);
    fake_on(g.f, POST, 503, "{\"title\":\"busy\"}");
    fake_on(g.f, POST, 200, "{\"taken\":2}");
    fake_on_after(g.f, POLL, 1, 200, "{}");
    say(&g, "hello");
    rig_until(&g, said_all);
    say(&g, "r1");
    rig_until(&g, said_all);
    int n = fake_count(g.f, POST);
    is_text(fake_body(g.f, POST, n - 1), fake_body(g.f, POST, 1),
            "what was not answered is said again, byte for byte");
    has_text(g.news.data, "lost;connected;", "and that is told");
    rig_close(&g, true);
    free(dir);
}

static void test_start_again(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    SCOPED_ARENA(mem);
    int64_t first = 0, again = 0;
    rig_open(&g, dir);
    fake_on(g.f, POST, 200, "{\"taken\":1}");
    fake_on(g.f, POST, 409,
            "{\"type\":\"urn:anneal:error:conflict\",\"title\":\"conflict\",\"status\":409,"
            "\"detail\":\"another life\"}");
    fake_on(g.f, POST, 200, "{\"taken\":1}");
    fake_on_after(g.f, POLL, 1, 200, "{}");
    say(&g, "hello");
    rig_until(&g, said_all);
    say(&g, "r1");
    rig_until(&g, said_all);
    const char *a = life_of(&g, &mem, 1, &first), *b = life_of(&g, &mem, 2, &again);
    ok(strcmp(a, b) != 0 && first == 2 && again == 1, "a new life begins with number 1");
    has_text(fake_body(g.f, POST, 2), "[\"r1\"]", "with what was to be said");
    rig_close(&g, true);
    free(dir);
}

static void test_gap(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    rig_open(&g, dir);
    fake_on(g.f, POST, 200, "{\"taken\":1}");
    fake_on(g.f, POLL, 200, "{\"first\":7,\"messages\":[\"late\"]}");
    say(&g, "hello");
    g.count = 2;
    rig_until(&g, said_all);
    while (fake_count(g.f, POLL) < 1)
        rig_until(&g, said_all);
    say(&g, "r1");
    rig_until(&g, posted);
    ok(!g.heard.len, "what comes after a gap is not heard");
    rig_close(&g, true);
    free(dir);
}

static void test_unwelcome(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    const char *large = "{\"type\":\"urn:anneal:error:too-large\",\"title\":\"t\",\"status\":413,"
                        "\"detail\":\"too large\"}";
    rig_open(&g, dir);
    fake_on(g.f, POST, 413, large);           /* r1 r2 r3 */
    fake_on(g.f, POST, 200, "{\"taken\":1}"); /* r1 */
    fake_on(g.f, POST, 413, large);           /* r2 r3 */
    fake_on(g.f, POST, 413, large);           /* r2 */
    fake_on(g.f, POST, 200, "{\"taken\":2}"); /* r3 */
    fake_on_after(g.f, POLL, 1, 200, "{}");
    queue_to_server(g.q, str_of("r1"));
    queue_to_server(g.q, str_of("r2"));
    queue_to_server(g.q, str_of("r3"));
    queue_flush(g.q);
    rig_until(&g, said_all);
    has_text(g.news.data, "unwelcome;", "one message is given up");
    has_text(fake_body(g.f, POST, -1), "\"first\":2,\"messages\":[\"r3\"]", "the others arrive");
    rig_close(&g, true);
    free(dir);
}

static void test_refused(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    rig_open(&g, dir);
    fake_on(g.f, POST, 401,
            "{\"type\":\"urn:anneal:error:unauthorized\",\"title\":\"t\",\"status\":401,"
            "\"detail\":\"the worker is gone\"}");
    say(&g, "r1");
    rig_until(&g, was_refused);
    say(&g, "r2");
    queue_remote_drain(g.q, loop_now_ms(g.loop) + 20000, on_drained, &g);
    rig_until(&g, was_drained);
    is_int(fake_count(g.f, POST), 1, "nothing is tried again");
    rig_close(&g, false);

    fake_off(g.f, POST);
    fake_on(g.f, POST, 200, "{\"taken\":3}");
    fake_on_after(g.f, POLL, 1, 200, "{}");
    rig_open(&g, dir);
    say(&g, "hello");
    rig_until(&g, said_all);
    has_text(fake_body(g.f, POST, 1), "[\"r1\",\"r2\"",
             "what was kept is said by the next process");
    rig_close(&g, true);
    free(dir);
}

static void test_drain(void)
{
    struct rig g = {0};
    char *dir = workdir_new("remote");
    rig_open(&g, dir);
    queue_remote_drain(g.q, loop_now_ms(g.loop) + 20000, on_drained, &g);
    rig_until(&g, was_drained);
    ok(g.drained, "nothing is soon said");
    g.drained = false;
    fake_on(g.f, POST, 503, "{\"title\":\"busy\"}");
    say(&g, "r1");
    queue_worker_detach(g.q);
    queue_remote_drain(g.q, loop_now_ms(g.loop) + 50, on_drained, &g);
    rig_until(&g, was_drained);
    ok(!queue_remote_empty(g.q), "there is an end to waiting");
    rig_close(&g, true);
    free(dir);
}

static void test_answers(void)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"first\":0,\"messages\":[]}",
        "{\"first\":-1,\"messages\":[]}",
        "{\"first\":1,\"messages\":{}}",
        "{\"first\":1,\"messages\":[1]}",
        "{\"first\":\"1\",\"messages\":[]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        SCOPED_ARENA(mem);
        struct remote_batch b;
        uint64_t n;
        struct err e;
        ok(remote_batch_read(&mem, str_of(bad[i]), &b, &e) < 0, "no batch: number %zu", i);
        ok(remote_taken_read(&mem, str_of(bad[i]), &n, &e) < 0, "nor a receipt");
    }
}

int main(void)
{
    test_talk();
    test_lost_answer();
    test_start_again();
    test_gap();
    test_unwelcome();
    test_refused();
    test_drain();
    test_answers();
    return tap_done();
}
