/* remote.c - a worker's line to a server elsewhere: one post and one poll at a time
 *
 * States: a life begins with a post, since only that may end an earlier life on the server; the
 * poll follows once it was taken.  Whatever fails is tried again after a pause that grows and is
 * never the same twice; a server that says "start again" gets a new life with the same messages.
 * A refused credential ends all trying.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/remote.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/json.h"
#include "base/text.h"
#include "queue/queue_i.h"
#include "queue/remote_i.h"
#include "queue/spool_i.h"

enum {
    BATCH_BYTES = 1 << 20,
    BATCH_MESSAGES = 5000,
    POLL_MS = 25000,
    POLL_GRACE_MS = 15000,
    POST_MS = 30000,
    PAUSE_LEAST_MS = 100,
    PAUSE_MOST_MS = 4000, /* a server that comes back waits a little longer than that for us */
    LIFE_BYTES = 12,
};

struct remote {
    struct queue base;
    struct queue_remote_options o; /* texts are not used after the start */
    struct http *http;             /* until there is a loop */
    struct http_air *air;
    struct loop *loop;
    char *post_path, *poll_path;
    struct spool *spool;
    queue_deliver_f *deliver; /* NULL: detached */
    void *arg;
    char life[2 * LIFE_BYTES + 1];
    bool begun;           /* the server has taken something of this life */
    uint64_t said, heard; /* numbers of the last messages that arrived, there and here */
    struct letters batch; /* under way, or to be tried again */
    size_t most;          /* of it in one post */
    struct http_flight *post, *poll;
    struct loop_timer *retry;
    uint32_t pause_ms;
    bool connected, refused, unkept;
    struct loop_timer *deadline; /* of draining */
    loop_call_f *drained;
    void *drained_arg;
};

static void post_start(struct remote *r);
static void poll_start(struct remote *r);

static uint32_t random_below(uint32_t n)
{
    uint32_t x = 0;
    ssize_t got = getrandom(&x, sizeof x, 0); /* so few bytes are never short */
    assert(got == (ssize_t)sizeof x);
    return x % n;
}

static void life_new(struct remote *r)
{
    uint8_t raw[LIFE_BYTES];
    ssize_t got = getrandom(raw, sizeof raw, 0);
    assert(got == (ssize_t)sizeof raw);
    text_hex(raw, sizeof raw, r->life);
    r->begun = false;
    r->said = r->heard = 0;
    if (r->poll)
        http_flight_cancel(r->poll);
    r->poll = NULL;
}

static void tell(struct remote *r, enum queue_news what, const struct err *e)
{
    if (r->o.news)
        r->o.news(r->o.arg, what, e);
}

static bool is_empty(const struct remote *r)
{
    return !r->batch.list.n && spool_empty(r->spool);
}

/* What was to be said is said, or there is no time left. */
static void drain_end(struct remote *r)
{
    loop_call_f *fn = r->drained;
    if (!fn)
        return;
    r->drained = NULL;
    loop_timer_stop(r->deadline);
    loop_post(r->loop, fn, r->drained_arg);
}

static void on_deadline(void *arg)
{
    drain_end(arg);
}

/* Results are safe before anything else happens. */
static void keep(struct remote *r)
{
    struct err e;
    bool unkept = spool_keep(r->spool, &r->batch, &e) < 0;
    if (unkept && !r->unkept)
        tell(r, QUEUE_UNKEPT, &e);
    r->unkept = unkept;
}

static void on_retry(void *arg)
{
    struct remote *r = arg;
    post_start(r);
    if (!r->post && r->begun)
        poll_start(r);
}

static void lost(struct remote *r, const struct err *e)
{
    if (r->connected || !r->pause_ms)
        tell(r, QUEUE_LOST, e);
    r->connected = false;
    r->pause_ms = r->pause_ms ? r->pause_ms * 2 : PAUSE_LEAST_MS;
    if (r->pause_ms > PAUSE_MOST_MS)
        r->pause_ms = PAUSE_MOST_MS;
    keep(r);
    uint64_t pause_ms = r->pause_ms / 2 + random_below(r->pause_ms / 2);
    if (!loop_timer_armed(r->retry))
        loop_timer_at(r->retry, loop_now_ms(r->loop) + pause_ms);
}

static void refuse(struct remote *r, const struct err *e)
{
    r->refused = true;
    r->connected = false;
    keep(r);
    if (r->poll)
        http_flight_cancel(r->poll);
    if (r->post)
        http_flight_cancel(r->post);
    r->poll = r->post = NULL;
    loop_timer_stop(r->retry);
    tell(r, QUEUE_REFUSED, e);
    drain_end(r);
}

static void reached(struct remote *r)
{
    if (!r->connected)
        tell(r, QUEUE_CONNECTED, NULL);
    r->connected = true;
    r->pause_ms = 0;
}

/* Of either request. */
static void failed(struct remote *r, const struct http_landing *l)
{
    if (l->err.code == ERR_UNAUTHORIZED || l->err.code == ERR_FORBIDDEN) {
        refuse(r, &l->err);
        return;
    }
    if (l->status == 409)
        life_new(r);
    lost(r, &l->err);
}

/* --- what we say --- */

static void unwelcome(struct remote *r, const struct err *e)
{
    if (r->most > 1) { /* it is one of these: each alone */
        r->most = 1;
    } else {
        spool_done(r->spool, &r->batch, 1);
        r->most = r->batch.list.n;
        tell(r, QUEUE_UNWELCOME, e);
    }
    post_start(r);
}

static void on_posted(void *arg, const struct http_landing *l)
{
    struct remote *r = arg;
    SCOPED_ARENA(mem);
    struct err e;
    uint64_t taken = 0;
    size_t n = r->most;
    r->post = NULL;
    if (l->failure && (l->status == 413 || l->status == 400)) {
        unwelcome(r, &l->err);
        return;
    }
    if (l->failure) {
        failed(r, l);
        return;
    }
    if (remote_taken_read(&mem, l->body, &taken, &e) < 0 || taken < r->said + n) {
        if (taken)
            err_set(&e, ERR_INVALID, "the server has taken less than it was sent");
        life_new(r);
        lost(r, &e);
        return;
    }
    r->said += n;
    r->begun = true;
    spool_done(r->spool, &r->batch, n);
    r->most = r->batch.list.n;
    reached(r);
    if (r->drained && is_empty(r)) {
        drain_end(r);
        return;
    }
    post_start(r);
    poll_start(r);
}

static void post_write(const struct remote *r, struct buf *b)
{
    struct jsonw w;
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "life");
    jsonw_text(&w, r->life);
    jsonw_key(&w, "first");
    jsonw_u64(&w, r->said + 1);
    jsonw_key(&w, "messages");
    jsonw_list(&w);
    for (size_t i = 0; i < r->most; i++)
        jsonw_str(&w, (struct str){r->batch.list.at[i].bytes, r->batch.list.at[i].n});
    jsonw_end(&w);
    jsonw_end(&w);
}

static void post_start(struct remote *r)
{
    struct err e;
    SCOPED_BUF(b);
    if (r->post || r->refused || loop_timer_armed(r->retry))
        return;
    if (!r->batch.list.n) {
        spool_take(r->spool, r->o.batch_bytes, BATCH_MESSAGES, &r->batch);
        r->most = r->batch.list.n;
    }
    if (!r->batch.list.n)
        return;
    if (!r->most)
        r->most = r->batch.list.n;
    post_write(r, &b);
    r->post = http_fly(r->air, r->post_path, &b, POST_MS, on_posted, r, &e);
    if (!r->post)
        lost(r, &e);
}

/* --- what we hear --- */

static int hear(struct remote *r, struct str body, struct err *e)
{
    SCOPED_ARENA(mem);
    struct remote_batch b;
    int rc = remote_batch_read(&mem, body, &b, e);
    if (rc < 0)
        return rc;
    if (b.first > r->heard + 1)
        return err_set(e, ERR_INVALID, "messages of the server are missing");
    uint64_t known = r->heard + 1 - b.first; /* that were here before */
    if (known >= b.n)
        return 0;
    r->heard = b.first + b.n - 1;
    r->deliver(r->arg, b.messages + known, b.n - (size_t)known); /* may detach */
    return 0;
}

static void on_polled(void *arg, const struct http_landing *l)
{
    struct remote *r = arg;
    struct err e;
    r->poll = NULL;
    if (l->failure) {
        failed(r, l);
        return;
    }
    reached(r);
    if (hear(r, l->body, &e) < 0) {
        life_new(r);
        lost(r, &e);
        return;
    }
    poll_start(r);
}

static void poll_start(struct remote *r)
{
    struct err e;
    SCOPED_BUF(b);
    if (r->poll || r->refused || !r->deliver || !r->begun || loop_timer_armed(r->retry))
        return;
    buf_printf(&b, "{\"life\":\"%s\",\"after\":%" PRIu64 ",\"wait_ms\":%u}", r->life, r->heard,
               r->o.poll_ms);
    r->poll = http_fly(r->air, r->poll_path, &b, r->o.poll_ms + POLL_GRACE_MS, on_polled, r, &e);
    if (!r->poll)
        lost(r, &e);
}

/* --- the queue --- */

static struct remote *remote_of(struct queue *q)
{
    return (struct remote *)q;
}

static void remote_attach(struct queue *q, enum queue_side side, struct loop *l,
                          queue_deliver_f *deliver, void *arg)
{
    struct remote *r = remote_of(q);
    assert(side == QUEUE_WORKER && !r->loop);
    r->loop = l;
    r->deliver = deliver;
    r->arg = arg;
    r->air = http_air_new(r->http, l);
    r->http = NULL;
    r->retry = loop_timer_new(l, on_retry, r);
    r->deadline = loop_timer_new(l, on_deadline, r);
    loop_hold(l);
    life_new(r);
}

static void remote_detach(struct queue *q, enum queue_side side)
{
    struct remote *r = remote_of(q);
    assert(side == QUEUE_WORKER);
    if (!r->deliver)
        return;
    r->deliver = NULL;
    if (r->poll)
        http_flight_cancel(r->poll);
    r->poll = NULL;
    loop_release(r->loop);
}

static void remote_send(struct queue *q, enum queue_side to, struct str message)
{
    struct remote *r = remote_of(q);
    assert(to == QUEUE_SERVER);
    spool_put(r->spool, message);
}

static void remote_flush(struct queue *q)
{
    struct remote *r = remote_of(q);
    if (r->refused || loop_timer_armed(r->retry))
        keep(r);
    else
        post_start(r);
}

static size_t remote_depth(struct queue *q, enum queue_side to)
{
    (void)q;
    (void)to;
    return 0; /* what is on its way to us is with the server */
}

static void remote_free(struct queue *q)
{
    struct remote *r = remote_of(q);
    assert(!r->deliver);
    if (r->spool && r->loop)
        keep(r); /* for the next process */
    http_air_free(r->air);
    http_free(r->http);
    loop_timer_free(r->retry);
    loop_timer_free(r->deadline);
    letters_done(&r->batch);
    spool_close(r->spool);
    free(r->post_path);
    free(r->poll_path);
    free(r);
}

static char *path_of(const char *name, const char *what)
{
    SCOPED_ARENA(mem);
    return xstrdup(http_path(&mem, "/v1/workers/%s/%s", name, what));
}

int queue_new_remote(const struct queue_remote_options *o, struct queue **ret_q, struct err *e)
{
    static const struct queue_ops ops = {
        .attach = remote_attach,
        .detach = remote_detach,
        .send = remote_send,
        .flush = remote_flush,
        .depth = remote_depth,
        .free = remote_free,
    };
    struct spool_options so = {.dir = o->dir,
                               .memory_bytes = o->memory_bytes,
                               .spool_bytes = o->spool_bytes,
                               .words = o->words};
    struct remote *r = xcalloc(1, sizeof *r);
    r->base.ops = &ops;
    r->o = *o;
    r->o.batch_bytes = o->batch_bytes ? o->batch_bytes : BATCH_BYTES;
    r->o.poll_ms = o->poll_ms ? o->poll_ms : POLL_MS;
    r->post_path = path_of(o->name, "messages");
    r->poll_path = path_of(o->name, "poll");
    int rc = http_new(&o->http, &r->http, e);
    if (rc >= 0)
        rc = spool_open(&so, &r->spool, e);
    if (rc < 0) {
        remote_free(&r->base);
        return rc;
    }
    *ret_q = &r->base;
    return 0;
}

void queue_remote_drain(struct queue *q, uint64_t until_ms, loop_call_f *done, void *arg)
{
    struct remote *r = remote_of(q);
    assert(!r->drained && r->loop);
    r->drained = done;
    r->drained_arg = arg;
    if (is_empty(r) || r->refused) {
        drain_end(r);
        return;
    }
    loop_timer_at(r->deadline, until_ms);
    post_start(r);
}

bool queue_remote_empty(const struct queue *q)
{
    return is_empty((const struct remote *)q);
}
