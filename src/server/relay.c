/* relay.c - numbered messages both ways, one poll at a time */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/relay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "server/workers.h"

enum {
    LINES_MOST = 10000,
    LIFE_MOST = 64,
    BATCH_BYTES = 1 << 20,  /* of an answer, unless one message is larger */
    BATCH_MESSAGES = 10000, /* of an answer */
    WAITING_BYTES = 256 << 20,
    SILENT_MS = 60000,
    LOOK_MS = 5000,
    POLL_MS = 30000,
};

struct parcel { /* a message on its way to the worker */
    char *bytes;
    size_t n;
};
struct line {
    struct relay *relay;
    char *name;
    char life[LIFE_MOST + 1];
    struct queue *mail;
    uint64_t gone;          /* number of the last message that has arrived */
    VEC(struct parcel) out; /* those after it */
    size_t out_bytes;
    uint64_t taken; /* number of the last message of the worker */
    bool counting;  /* false: nothing was taken in this life yet, its numbers begin anywhere */
    uint64_t heard_ms;
    bool stuffed; /* it fetches nothing */
    /* the poll that waits */
    loop_call_f *fn;
    void *arg;
    uint64_t until_ms;
};
struct relay {
    struct server *server;
    struct strmap lines; /* name -> struct line */
    struct loop_timer *look;
    uint64_t look_ms; /* when that is */
};

static struct line *line_of(const struct relay *r, const char *name)
{
    uintptr_t at;
    return strmap_get(&r->lines, str_of(name), &at) ? (struct line *)at : NULL;
}

/* Lets the poll that waits be asked again. */
static void line_wake(struct line *l)
{
    loop_call_f *fn = l->fn;
    l->fn = NULL;
    if (fn)
        fn(l->arg);
}

/* The worker's side of the queue: what the server sends. */
static void line_deliver(void *arg, const struct str *messages, size_t n)
{
    struct line *l = arg;
    for (size_t i = 0; i < n && !l->stuffed; i++) {
        struct parcel p = {xstrndup(messages[i].s, messages[i].n), messages[i].n};
        vec_push(&l->out, p);
        l->out_bytes += p.n;
        l->stuffed = l->out_bytes > WAITING_BYTES; /* ends at the next look: not from in here */
    }
    line_wake(l);
}

static void out_drop(struct line *l, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        l->out_bytes -= l->out.at[i].n;
        free(l->out.at[i].bytes);
    }
    if (n)
        memmove(l->out.at, l->out.at + n, (l->out.n - n) * sizeof *l->out.at);
    l->out.n -= n;
    l->gone += n;
}

static void line_end(struct line *l)
{
    struct relay *r = l->relay;
    strmap_del(&r->lines, str_of(l->name));
    workers_detach(r->server, l->name);
    queue_worker_detach(l->mail);
    queue_free(l->mail);
    line_wake(l);
    out_drop(l, l->out.n);
    vec_done(&l->out);
    free(l->name);
    free(l);
}

static void look_at(struct relay *r, uint64_t at_ms)
{
    if (loop_timer_armed(r->look) && r->look_ms <= at_ms)
        return;
    r->look_ms = at_ms;
    loop_timer_at(r->look, at_ms);
}

static int line_begin(struct relay *r, const char *name, const char *life, struct line **ret,
                      struct err *e)
{
    if (r->lines.live >= LINES_MOST)
        return err_set(e, ERR_LIMIT, "more than %d workers", LINES_MOST);
    struct line *l = xcalloc(1, sizeof *l);
    l->relay = r;
    l->name = xstrdup(name);
    memcpy(l->life, life, strnlen(life, LIFE_MOST));
    l->mail = queue_new_embedded();
    int rc = workers_attach(r->server, name, l->mail, e);
    if (rc < 0) {
        queue_free(l->mail);
        free(l->name);
        free(l);
        return rc;
    }
    queue_worker_attach(l->mail, r->server->loop, line_deliver, l);
    strmap_put(&r->lines, str_of(name), (uintptr_t)l);
    l->heard_ms = loop_now_ms(r->server->loop);
    look_at(r, l->heard_ms + LOOK_MS);
    log_line(LOG_INFO, "worker.line", LOGT("worker", name), LOGT("life", l->life));
    *ret = l;
    return 0;
}

/* Once in a while: polls whose time is over, workers that are gone. */
static void relay_look(void *arg)
{
    struct relay *r = arg;
    uint64_t now = loop_now_ms(r->server->loop);
    for (size_t i = 0; i < r->lines.n; i++) {
        struct line *l = r->lines.at[i].key ? (struct line *)r->lines.at[i].val : NULL;
        if (!l)
            continue;
        if (l->fn && now >= l->until_ms)
            line_wake(l);
        if (!l->stuffed && now < l->heard_ms + SILENT_MS)
            continue;
        log_line(LOG_WARN, "worker.line", LOGT("worker", l->name),
                 LOGT("ended", l->stuffed ? "it fetches nothing" : "it is silent"));
        line_end(l);
    }
    if (r->lines.live)
        look_at(r, now + LOOK_MS);
}

struct relay *relay_new(struct server *s)
{
    struct relay *r = xcalloc(1, sizeof *r);
    r->server = s;
    r->look = loop_timer_new(s->loop, relay_look, r);
    return r;
}

void relay_free(struct relay *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->lines.n; i++)
        if (r->lines.at[i].key)
            line_end((struct line *)r->lines.at[i].val);
    strmap_done(&r->lines);
    loop_timer_free(r->look);
    free(r);
}

void relay_hang_up(struct server *s, const char *name)
{
    struct line *l = line_of(s->relay, name);
    if (l)
        line_end(l);
}

/* --- requests --- */

static int own_line(const struct server_call *c, struct err *e)
{
    if (c->who->scope == SCOPE_WORKER && strcmp(c->who->name, c->id[0]) == 0)
        return 0;
    return err_set(e, ERR_FORBIDDEN, "this credential is of worker %s, not %s", c->who->name,
                   c->id[0]);
}

static int start_again(struct err *e, const char *text)
{
    err_set(e, ERR_CONFLICT, "%s", text);
    return err_hint(e, "begin a new life, with the first message");
}

static void batch_write(const struct line *l, struct buf *b)
{
    struct jsonw w;
    size_t bytes = 0;
    jsonw_init(&w, b);
    jsonw_map(&w);
    jsonw_key(&w, "first");
    jsonw_u64(&w, l->gone + 1);
    jsonw_key(&w, "messages");
    jsonw_list(&w);
    for (size_t i = 0; i < l->out.n && i < BATCH_MESSAGES; i++) {
        bytes += l->out.at[i].n;
        if (i && bytes > BATCH_BYTES)
            break;
        jsonw_str(&w, (struct str){l->out.at[i].bytes, l->out.at[i].n});
    }
    jsonw_end(&w);
    jsonw_end(&w);
}

/* NULL with e set. */
static struct line *poll_line(struct server *s, const struct server_call *c, uint64_t after,
                              struct err *e)
{
    const char *life = value_as_text(value_get(c->body, "life"), "");
    struct line *l = line_of(s->relay, c->id[0]);
    if (!l) { /* we have come up since: its numbers go on */
        if (line_begin(s->relay, c->id[0], life, &l, e) < 0)
            return NULL;
        l->gone = after;
    }
    bool same = strcmp(l->life, life) == 0;
    if (same && after >= l->gone && after <= l->gone + l->out.n)
        return l;
    (void)start_again(e, same ? "messages after this one are not here"
                              : "this worker lives another life by now");
    return NULL;
}

int server_worker_poll(struct server *s, const struct server_call *c, bool again, loop_call_f *fn,
                       void *arg, struct buf *ret_json, struct err *e)
{
    uint64_t now = loop_now_ms(s->loop);
    uint64_t after = (uint64_t)value_as_int(value_get(c->body, "after"), 0);
    uint64_t wait = (uint64_t)value_as_int(value_get(c->body, "wait_ms"), POLL_MS);
    struct line *l = own_line(c, e) < 0 ? NULL : poll_line(s, c, after, e);
    if (!l)
        return -(int)e->code;
    out_drop(l, (size_t)(after - l->gone));
    if (!again)
        l->heard_ms = now;
    if (l->out.n || again || !wait) {
        batch_write(l, ret_json);
        return 0;
    }
    line_wake(l); /* the one before */
    l->fn = fn;
    l->arg = arg;
    l->until_ms = now + (wait < POLL_MS ? wait : POLL_MS);
    look_at(s->relay, l->until_ms);
    return 1;
}

void server_worker_poll_cancel(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->relay->lines.n; i++) {
        struct line *l = s->relay->lines.at[i].key ? (struct line *)s->relay->lines.at[i].val
                                                   : NULL;
        if (l && l->fn == fn && l->arg == arg)
            l->fn = NULL;
    }
}

/* NULL with e set. */
static struct line *message_line(struct server *s, const struct server_call *c, uint64_t first,
                                 struct err *e)
{
    const char *life = value_as_text(value_get(c->body, "life"), "");
    struct line *l = line_of(s->relay, c->id[0]);
    if (l && strcmp(l->life, life) != 0) {
        if (first != 1) {
            (void)start_again(e, "this worker lives another life by now");
            return NULL;
        }
        line_end(l); /* nothing of what was meant for the earlier life may reach this one */
        l = NULL;
    }
    if (!l && line_begin(s->relay, c->id[0], life, &l, e) < 0)
        return NULL;
    if (!l->counting) { /* where it was with the server before us */
        l->taken = first - 1;
        l->counting = true;
    }
    if (first <= l->taken + 1)
        return l;
    (void)start_again(e, "messages before this one are missing");
    return NULL;
}

int server_worker_messages(struct server *s, const struct server_call *c, struct buf *ret_json,
                           struct err *e)
{
    uint64_t first = (uint64_t)value_as_int(value_get(c->body, "first"), 0);
    const struct value *messages = value_get(c->body, "messages");
    struct line *l = own_line(c, e) < 0 ? NULL : message_line(s, c, first, e);
    if (!l)
        return -(int)e->code;
    l->heard_ms = loop_now_ms(s->loop);
    for (uint32_t i = 0; i < messages->n; i++)
        if (first + i == l->taken + 1) {
            queue_to_server(l->mail, value_as_str(&messages->items[i]));
            l->taken++;
        }
    queue_flush(l->mail);
    buf_printf(ret_json, "{\"taken\":%" PRIu64 "}", l->taken);
    return 0;
}
