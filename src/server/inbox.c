/* inbox.c - what workers say
 *
 * Results become events, beats renew leases, documents are given to who waits for them.  What
 * arrives while two groups are ahead waits, in order.  Some messages are read ahead, so that the
 * engine can be told whose results come next.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/log.h"
#include "server/clusters.h"
#include "server/data_i.h"
#include "server/probing.h"
#include "server/resources.h"
#include "server/workers.h"

enum {
    AHEAD = 32, /* messages that are read before the first of them is taken */
    NEAR = 4,   /* of which so many are about to be */
};

/* ---- in: results ---- */

/* For the journal: what its node was given to work with, which can be compared there. */
static struct str digest_told(const struct taskmsg *m, char *b, size_t size)
{
    if (m->digest.n != DIGEST_HEX - 1)
        return str_of("");
    for (size_t i = 0; i < m->digest.n; i++)
        if (!strchr("0123456789abcdef", m->digest.s[i]))
            return str_of("");
    snprintf(b, size, "{\"digest\":\"%.*s\"}", (int)m->digest.n, m->digest.s);
    return str_of(b);
}

static int on_result(struct server *s, const struct taskmsg *m)
{
    struct task_view v;
    struct err e;
    char text[256], more[DIGEST_HEX + 16];
    if (!anneal_task(s->engine, m->task, &v)) {
        s->stale_results++;
        return 0;
    }
    bool current = v.state == TASK_RUNNING && v.attempt == m->attempt && v.asks == m->ask &&
                   !v.superseded_runs;
    struct event ev = {.kind = EVENT_RESULT,
                       .id = m->task,
                       .attempt = m->attempt,
                       .extra = m->ask,
                       .flag = (uint8_t)m->outcome,
                       .phase = (uint8_t)m->phase,
                       .exit_code = m->exit_code,
                       .ms = m->again_ms,
                       .last = m->last};
    if (server_writable(s, &e) < 0)
        return -1;
    struct commit_note note = server_note_task(s, m->task);
    snprintf(text, sizeof text, "%.*s", (int)(m->text.n < 250 ? m->text.n : 250), m->text.s);
    /* First what follows from what it returned, so that who waits for it sees that.  The wall comes
     * last: what is told again tomorrow is told as a difference from it. */
    if (current && m->outcome == OUTCOME_OK && (m->returns.n > 0 || m->gone.n > 0) &&
        (cluster_returned(s, m->task, m->returns, &e) < 0 ||
         data_wall_returned(s, v.noderole, m->returns, m->gone, &e) < 0)) {
        ev.flag = OUTCOME_FAILED;
        snprintf(text, sizeof text, "%.250s", e.text);
    }
    if (current && ev.flag == OUTCOME_OK)
        data_completes(s, v.noderole, m->task);
    note.text = text;
    note.more = digest_told(m, more, sizeof more);
    s->results++;
    s->stale_results += !current;
    if (server_apply(s, &ev, &note, NULL, &e) < 0) {
        log_err(LOG_WARN, "result.refused", &e);
        return 0;
    }
    if (current && ev.flag == OUTCOME_OK)
        cluster_machine_made(s, m->task);
    if (!anneal_attempt_open(s->engine, m->task, m->attempt) || m->outcome == OUTCOME_AGAIN)
        lease_drop(s->lease, m->task, m->attempt);
    probing_used(s, m->task, m);
    run_note_drop(s, m->task, m->attempt);
    attemptlog_ended(s, m->task, m->attempt);
    return 0;
}

/* ---- in: documents that a task waits for ---- */

/* What is not kept any more is made again; if it cannot, what it was made of has changed, and the
 * task is to be asked again with what there is now. */
static void on_fetch(struct worker_info *w, const struct taskmsg *m)
{
    struct server *s = w->server;
    SCOPED_ARENA(mem);
    SCOPED(data_look) look;
    struct task_view t;
    struct data_parts parts;
    struct err e;
    struct str content = data_sent_get(s, m->document);
    data_look_begin(&look, s);
    if (!content.n && anneal_attempt_open(s->engine, m->task, m->attempt) &&
        anneal_task(s->engine, m->task, &t) && t.noderole &&
        data_send_render(&look, t.noderole, &mem, &parts, &e) >= 0)
        content = data_sent_get(s, m->document);
    workers_send(w, &(struct taskmsg){.kind = TASKMSG_DOCUMENT,
                                      .document = m->document,
                                      .content = content,
                                      .missing = content.n == 0});
    workers_flush(s);
}

static void on_want(struct worker_info *w, const struct taskmsg *m)
{
    SCOPED_ARENA(mem);
    struct taskmsg part;
    resource_want(w->server, &mem, m, &part);
    workers_send(w, &part);
    workers_flush(w->server);
}

/* ---- in: nodes ---- */

/* A host key is pinned once; from then on only a person changes it.  One that a worker met by what
 * it was told before may be of a machine that is gone, or that nobody trusts any more: told what is
 * said now, the worker forgets it and looks again. */
static bool on_seen(struct server *s, const struct taskmsg *m)
{
    SCOPED_ARENA(mem);
    struct err e;
    uint32_t id = inventory_node_find(&s->inv, arena_strndup(&mem, m->node.s, m->node.n));
    if (server_writable(s, &e) < 0)
        return false;
    bool now = id &&
               (!m->node_id || (m->node_id == id && m->access_rev == dispatch_access_rev(s, id)));
    if (now)
        node_body_pin(s, &mem, id, m->host_key);
    return true;
}

/* ---- the mailbox ---- */

/* False: not now; the message must be kept. */
static bool take(struct worker_info *w, const struct taskmsg *m)
{
    struct server *s = w->server;
    switch (m->kind) {
    case TASKMSG_RESULT:
        if ((s->flying && commit_pending(s->commit) >= s->opts->group_events) ||
            on_result(s, m) < 0)
            return false;
        if (m->seq > w->ack_open)
            w->ack_open = m->seq;
        return true;
    case TASKMSG_LOG: attemptlog_append(s, m->task, m->attempt, m->chunk); return true;
    case TASKMSG_HELLO:
    case TASKMSG_BEAT: workers_heard(w, m); return true;
    case TASKMSG_FETCH: on_fetch(w, m); return true;
    case TASKMSG_SEEN: return on_seen(s, m);
    case TASKMSG_WANT: on_want(w, m); return true;
    case TASKMSG_NOTE: run_note_set(s, m->task, m->attempt, m->text); return true;
    case TASKMSG_PROBED: return probing_answers(w, m);
    case TASKMSG_PROBE:
    case TASKMSG_TASK:
    case TASKMSG_CANCEL:
    case TASKMSG_ACK:
    case TASKMSG_DOCUMENT:
    case TASKMSG_DROP:
    case TASKMSG_PART:
    case TASKMSG_KIND_COUNT: break;
    }
    log_line(LOG_WARN, "worker.message", LOGT("text", "not for a server"));
    return true;
}

/* Some messages ahead, so that the engine can be told whose results come next. */
struct window {
    struct taskmsg at[AHEAD];
    bool sound[AHEAD]; /* others were said to be wrong and are dropped */
    size_t n;
};

static void window_fill(struct server *s, struct window *w, struct arena *mem,
                        const struct str *messages, size_t n)
{
    w->n = n < AHEAD ? n : AHEAD;
    for (size_t i = 0; i < w->n; i++) {
        struct err e;
        w->sound[i] = taskmsg_parse(mem, messages[i], &w->at[i], &e) >= 0;
        if (!w->sound[i])
            log_err(LOG_WARN, "worker.message", &e);
        else if (w->at[i].kind == TASKMSG_RESULT)
            anneal_expect_far(s->engine, w->at[i].task);
    }
}

static bool window_take(struct worker_info *from, const struct window *w, size_t i)
{
    struct server *s = from->server;
    size_t next = i + NEAR;
    if (next < w->n && w->sound[next] && w->at[next].kind == TASKMSG_RESULT)
        anneal_expect_near(s->engine, w->at[next].task);
    return take(from, &w->at[i]);
}

static void acknowledge_idle(struct server *s)
{
    if (!s->flying && commit_pending(s->commit) == 0)
        workers_acks_idle(s);
}

void inbox_deliver(void *arg, const struct str *messages, size_t n)
{
    struct worker_info *from = arg;
    struct server *s = from->server;
    SCOPED_ARENA(mem);
    struct window w;
    for (size_t at = 0; at < n; at += w.n) {
        window_fill(s, &w, &mem, messages + at, n - at);
        for (size_t i = 0; i < w.n; i++) {
            bool waiting = s->inbox.n > 0; /* keep the order */
            if (w.sound[i] && (waiting || !window_take(from, &w, i)))
                vec_push(&s->inbox, ((struct kept_message){
                                        from, xstrndup(messages[at + i].s, messages[at + i].n)}));
        }
        arena_reset(&mem);
    }
    acknowledge_idle(s);
}

void inbox_pump(struct server *s)
{
    SCOPED_ARENA(mem);
    struct window w;
    size_t done = 0;
    bool go = true;
    while (go && done < s->inbox.n) {
        struct str texts[AHEAD];
        size_t n = 0, i = 0;
        for (; n < AHEAD && done + n < s->inbox.n; n++)
            texts[n] = str_of(s->inbox.at[done + n].text);
        window_fill(s, &w, &mem, texts, n);
        while (i < n && (go = !w.sound[i] || window_take(s->inbox.at[done + i].from, &w, i)))
            i++;
        for (size_t k = 0; k < i; k++)
            free(s->inbox.at[done++].text);
        arena_reset(&mem);
    }
    if (done > 0)
        memmove(s->inbox.at, s->inbox.at + done, (s->inbox.n - done) * sizeof *s->inbox.at);
    s->inbox.n -= done;
    acknowledge_idle(s);
}

void inbox_forget(struct server *s)
{
    for (size_t i = 0; i < s->inbox.n; i++)
        free(s->inbox.at[i].text);
    vec_clear(&s->inbox);
}
