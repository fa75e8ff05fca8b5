/* dispatch.c - between the commit step and the workers
 *
 * Out: when a group is durable, its starts become TASK messages and its results are acknowledged.
 * In: results become events, beats renew leases, what workers offer becomes capacity.  What arrives
 * while two groups are ahead waits in the inbox.  Parameters and data are rendered here, once, and
 * go out byte for byte.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/log.h"
#include "server/clusters.h"
#include "server/data_i.h"
#include "server/providers.h"

enum {
    WORKER_GONE_MS = 15 * 1000,
    BEAT_MS = 1000,
    STOP_GRACE_MS = 5000,
    BATCH = 256,
    AHEAD = 32, /* messages that are read before the first of them is taken */
    NEAR = 4,   /* of which so many are about to be */
    BEATS_AN_HOUR = 3600
};

/* ---- out ---- */

static void send(struct server *s, const struct taskmsg *m)
{
    SCOPED_BUF(b);
    taskmsg_write(&b, m);
    queue_to_worker(s->queue, buf_str(&b));
}

/* It cannot even be told what it sees: answered for, as a worker would. */
static void refuse_task(struct server *s, const struct dispatch *d, const char *why)
{
    struct event ev = {.kind = EVENT_RESULT,
                       .id = d->task,
                       .attempt = d->attempt,
                       .extra = d->asks,
                       .flag = OUTCOME_REFUSED,
                       .exit_code = -1};
    struct commit_note note = server_note(NULL, NULL);
    struct err e;
    note.text = why;
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        lease_hold(s->lease, d->task, d->attempt, server_now(s)); /* not now: it will be lost */
}

/* The message of an attempt, its texts in `mem`.  False: it is not to be sent. */
static bool task_message(struct server *s, struct data_look *look, struct arena *mem,
                         const struct dispatch *d, struct taskmsg *ret_m)
{
    struct task_view t;
    struct noderole_view nr;
    if (!anneal_task(s->engine, d->task, &t) ||
        !anneal_attempt_open(s->engine, d->task, d->attempt))
        return false;                                         /* lost or stopped in the meantime */
    if (!t.noderole || (t.superseded_runs && d->asks == 0)) { /* nobody wants what it would do */
        refuse_task(s, d, "it was replaced before it was sent");
        return false;
    }
    anneal_noderole(s->engine, t.noderole, &nr);
    const struct inv_def *def = &s->inv.defs.at[t.def];
    char digest[DIGEST_HEX];
    struct data_parts parts;
    struct str params = str_of(def->params);
    struct err e;
    if (data_send_render(look, t.noderole, mem, &parts, &e) < 0 ||
        cluster_call_params(s, d->task, mem, &params, &e) < 0) {
        log_err(LOG_ERROR, "task.data", &e);
        refuse_task(s, d, e.text);
        return false;
    }
    *ret_m = (struct taskmsg){.kind = TASKMSG_TASK,
                              .task = d->task,
                              .attempt = d->attempt,
                              .ask = d->asks,
                              .jig = str_of(def->type),
                              .name = str_of(def->name),
                              .node = str_of(t.node ? s->inv.nodes.at[t.node].name : ""),
                              .address = t.node ? data_node_get(s, t.node)->address : str_of(""),
                              .access = t.node ? data_node_get(s, t.node)->access : str_of(""),
                              .key = str_of(arena_printf(mem, "t%u-g%u", d->task, nr.generation)),
                              .params = params,
                              .data = parts.data,
                              .under = parts.under,
                              .over = parts.over,
                              .tests = str_of(def->tests),
                              .behind = d->behind,
                              .fence = s->run_no,
                              .no_op = def->no_op,
                              .timeout_ms = def->timeout_ms,
                              .grace_ms = STOP_GRACE_MS};
    if (provider_send(s, d->task, mem, ret_m, &e) < 0) {
        log_err(LOG_ERROR, "task.fields", &e);
        refuse_task(s, d, e.text);
        return false;
    }
    taskmsg_digest(ret_m, digest);
    ret_m->digest = str_of(arena_strdup(mem, digest));
    return true;
}

/* A start, and what was sent ahead to begin behind it: as far as all of it can be told, in one go.
 * How many of `d` that was. */
static size_t send_chain(struct server *s, struct data_look *look, struct arena *mem,
                         const struct dispatch *d, size_t n)
{
    size_t all = 1, good = 0;
    while (all < n && d[all].behind)
        all++;
    struct taskmsg *m = arena_new(mem, struct taskmsg, all);
    while (good < all && task_message(s, look, mem, &d[good], &m[good]))
        good++;
    for (size_t i = 0; i < good; i++) {
        m[i].followers = i == 0 ? (uint32_t)good - 1 : 0;
        send(s, &m[i]);
        lease_hold(s->lease, m[i].task, m[i].attempt, server_now(s));
        s->dispatched++;
    }
    return all;
}

static void acknowledge(struct server *s, uint64_t seq)
{
    if (seq)
        send(s, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = seq});
}

void dispatch_group(struct server *s, const struct group *g)
{
    if (!s->queue)
        return;
    SCOPED_ARENA(mem);
    SCOPED(data_look) look;
    data_look_begin(&look, s);
    acknowledge(s, s->ack_flying);
    s->ack_flying = 0;
    for (size_t i = 0, sent = 0; i < g->sends.n;) {
        size_t n = send_chain(s, &look, &mem, &g->sends.at[i], g->sends.n - i);
        i += n;
        sent += n;
        if (sent >= BATCH) {
            arena_reset(&mem);
            sent = 0;
        }
    }
    for (size_t i = 0; i < g->stops.n; i++)
        send(s, &(struct taskmsg){.kind = TASKMSG_CANCEL,
                                  .task = g->stops.at[i].task,
                                  .attempt = g->stops.at[i].attempt,
                                  .ask = g->stops.at[i].asks,
                                  .grace_ms = STOP_GRACE_MS});
    queue_flush(s->queue);
}

/* ---- in: results ---- */

static int on_result(struct server *s, const struct taskmsg *m)
{
    struct task_view v;
    struct err e;
    char text[256];
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
    struct commit_note note = server_note(NULL, NULL);
    snprintf(text, sizeof text, "%.*s", (int)(m->text.n < 250 ? m->text.n : 250), m->text.s);
    /* First what follows from what it returned, so that who waits for it sees that. */
    if (current && m->outcome == OUTCOME_OK && (m->returns.n > 0 || m->gone.n > 0) &&
        data_wall_returned(s, v.noderole, m->returns, m->gone, &e) < 0) {
        ev.flag = OUTCOME_FAILED;
        snprintf(text, sizeof text, "%.250s", e.text);
    }
    if (current && ev.flag == OUTCOME_OK && m->returns.n > 0 &&
        cluster_returned(s, m->task, m->returns, &e) < 0) {
        ev.flag = OUTCOME_FAILED;
        snprintf(text, sizeof text, "%.250s", e.text);
    }
    if (current && ev.flag == OUTCOME_OK)
        data_completes(s, v.noderole, m->task);
    note.text = text;
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
    attemptlog_ended(s, m->task, m->attempt);
    return 0;
}

/* ---- in: documents that a task waits for ---- */

/* What is not kept any more is made again; if it cannot, what it was made of has changed, and the
 * task is to be asked again with what there is now. */
static void on_fetch(struct server *s, const struct taskmsg *m)
{
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
    send(s, &(struct taskmsg){.kind = TASKMSG_DOCUMENT,
                              .document = m->document,
                              .content = content,
                              .missing = content.n == 0});
    queue_flush(s->queue);
}

/* ---- in: nodes ---- */

/* A host key is pinned once; from then on only a person changes it. */
static bool on_seen(struct server *s, const struct taskmsg *m)
{
    SCOPED_ARENA(mem);
    struct err e;
    uint32_t id = inventory_node_find(&s->inv, arena_strndup(&mem, m->node.s, m->node.n));
    if (server_writable(s, &e) < 0)
        return false;
    if (id)
        node_body_pin(s, &mem, id, m->host_key);
    return true;
}

/* ---- in: workers ---- */

static bool has_jig(const struct worker_info *w, const char *implementation)
{
    for (size_t i = 0; i < w->jigs.n; i++)
        if (strcmp(w->jigs.at[i], implementation) == 0)
            return true;
    return false;
}

static const char *implementation_of(const struct server *s, const char *jig)
{
    const struct catalog_jig *j = s->catalog ? catalog_jig_get(s->catalog, str_of(jig)) : NULL;
    return j ? j->implementation.s : jig;
}

void dispatch_capacity(struct server *s)
{
    uint32_t total = 0;
    struct commit_note note = server_note(NULL, NULL);
    struct err e;
    for (size_t i = 0; i < s->workers.n; i++)
        total += s->workers.at[i].capacity;
    if (total != anneal_capacity(s->engine, NULL)) {
        struct event ev = {.kind = EVENT_CAPACITY_SET, .n = total};
        (void)server_apply(s, &ev, &note, NULL, &e);
    }
    for (uint32_t id = 1; id < s->inv.jigs.n; id++) {
        struct jig_view v;
        uint32_t slots = 0;
        if (!anneal_jig(s->engine, id, &v))
            continue;
        for (size_t i = 0; i < s->workers.n; i++)
            if (has_jig(&s->workers.at[i], implementation_of(s, s->inv.jigs.at[id].name)))
                slots += s->workers.at[i].capacity;
        if (slots != v.slots) {
            struct event ev = {.kind = EVENT_JIG_SET, .id = id, .flag = v.active, .n = slots};
            (void)server_apply(s, &ev, &note, NULL, &e);
        }
    }
}

/* One we have not heard of, or have given up: it must say again what it offers. */
static void ask_hello(struct server *s)
{
    send(s, &(struct taskmsg){.kind = TASKMSG_HELLO});
    queue_flush(s->queue);
}

static struct worker_info *worker_named(struct server *s, struct str name)
{
    for (size_t i = 0; i < s->workers.n; i++)
        if (str_is(name, s->workers.at[i].name))
            return &s->workers.at[i];
    struct worker_info *w = vec_add(&s->workers);
    w->name = xstrndup(name.s, name.n);
    log_line(LOG_INFO, "worker.hello", LOGT("worker", w->name));
    return w;
}

static void forget_jigs(struct worker_info *w)
{
    for (size_t i = 0; i < w->jigs.n; i++)
        free(w->jigs.at[i]);
    vec_clear(&w->jigs);
}

static void lease_over(void *arg, uint32_t task, uint32_t attempt);

static void on_beat(struct server *s, const struct taskmsg *m)
{
    struct worker_info *w = worker_named(s, m->worker);
    w->seen_ms = server_now(s);
    w->running = m->n_held;
    for (uint32_t i = 0; i < m->n_held; i++)
        lease_claim(s->lease, m->held[i].task, m->held[i].attempt, w->seen_ms);
    /* The queue is inside this process, and so is its only worker: what it does not hold, nobody
     * does. */
    if (m->kind == TASKMSG_HELLO)
        lease_all_reported(s->lease, lease_over, s);
    if (m->kind == TASKMSG_BEAT) { /* only a HELLO says what it offers */
        if (w->capacity == 0)
            ask_hello(s);
        return;
    }
    bool changed = w->capacity != m->capacity || w->jigs.n != m->n_jigs;
    for (uint32_t i = 0; !changed && i < m->n_jigs; i++)
        changed = !str_is(m->jigs[i], w->jigs.at[i]);
    if (!changed)
        return;
    w->capacity = m->capacity;
    forget_jigs(w);
    for (uint32_t i = 0; i < m->n_jigs; i++)
        vec_push(&w->jigs, xstrndup(m->jigs[i].s, m->jigs[i].n));
    dispatch_capacity(s);
}

/* ---- the mailbox ---- */

/* False: not now; the message must be kept. */
static bool take(struct server *s, const struct taskmsg *m)
{
    switch (m->kind) {
    case TASKMSG_RESULT:
        if ((s->flying && commit_pending(s->commit) >= s->opts->group_events) ||
            on_result(s, m) < 0)
            return false;
        if (m->seq > s->ack_open)
            s->ack_open = m->seq;
        return true;
    case TASKMSG_LOG: attemptlog_append(s, m->task, m->attempt, m->chunk); return true;
    case TASKMSG_HELLO:
    case TASKMSG_BEAT: on_beat(s, m); return true;
    case TASKMSG_FETCH: on_fetch(s, m); return true;
    case TASKMSG_SEEN: return on_seen(s, m);
    case TASKMSG_TASK:
    case TASKMSG_CANCEL:
    case TASKMSG_ACK:
    case TASKMSG_DOCUMENT:
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

static bool window_take(struct server *s, const struct window *w, size_t i)
{
    size_t next = i + NEAR;
    if (next < w->n && w->sound[next] && w->at[next].kind == TASKMSG_RESULT)
        anneal_expect_near(s->engine, w->at[next].task);
    return take(s, &w->at[i]);
}

/* Nothing of what was answered needs a group: it can be acknowledged at once. */
static void acknowledge_idle(struct server *s)
{
    if (s->flying || commit_pending(s->commit) > 0 || !s->ack_open)
        return;
    acknowledge(s, s->ack_open);
    s->ack_open = 0;
    queue_flush(s->queue);
}

void dispatch_deliver(void *arg, const struct str *messages, size_t n)
{
    struct server *s = arg;
    SCOPED_ARENA(mem);
    struct window w;
    for (size_t from = 0; from < n; from += w.n) {
        window_fill(s, &w, &mem, messages + from, n - from);
        for (size_t i = 0; i < w.n; i++) {
            bool waiting = s->inbox.n > 0; /* keep the order */
            if (w.sound[i] && (waiting || !window_take(s, &w, i)))
                vec_push(&s->inbox, xstrndup(messages[from + i].s, messages[from + i].n));
        }
        arena_reset(&mem);
    }
    acknowledge_idle(s);
}

void dispatch_inbox(struct server *s)
{
    SCOPED_ARENA(mem);
    struct window w;
    size_t done = 0;
    bool go = true;
    while (go && done < s->inbox.n) {
        struct str texts[AHEAD];
        size_t n = 0, i = 0;
        for (; n < AHEAD && done + n < s->inbox.n; n++)
            texts[n] = str_of(s->inbox.at[done + n]);
        window_fill(s, &w, &mem, texts, n);
        while (i < n && (go = !w.sound[i] || window_take(s, &w, i)))
            i++;
        for (size_t k = 0; k < i; k++)
            free(s->inbox.at[done++]);
        arena_reset(&mem);
    }
    if (done > 0)
        memmove(s->inbox.at, s->inbox.at + done, (s->inbox.n - done) * sizeof *s->inbox.at);
    s->inbox.n -= done;
    if (s->queue)
        acknowledge_idle(s);
}

/* ---- once a second ---- */

static void lease_over(void *arg, uint32_t task, uint32_t attempt)
{
    struct server *s = arg;
    struct task_view v;
    struct err e;
    if (!anneal_task(s->engine, task, &v) || !anneal_attempt_open(s->engine, task, attempt))
        return;
    struct event ev = {.kind = EVENT_RESULT,
                       .id = task,
                       .attempt = attempt,
                       .extra = v.asks,
                       .flag = OUTCOME_LOST};
    struct commit_note note = server_note(NULL, NULL);
    note.text = "no worker answers for it";
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        lease_hold(s->lease, task, attempt, server_now(s)); /* not now: later */
    else
        log_line(LOG_WARN, "attempt.lost", LOGI("task", task), LOGI("attempt", attempt));
}

void dispatch_beat(void *arg)
{
    struct server *s = arg;
    uint64_t now = server_now(s);
    loop_timer_at(s->beat, loop_now_ms(s->loop) + BEAT_MS);
    if (s->degraded.code != ERR_NONE) {
        group_probe(s);
        return;
    }
    lease_expire(s->lease, now, lease_over, s);
    if (s->beats++ % BEATS_AN_HOUR == 0)
        idempotent_expire(s);
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = &s->workers.at[i];
        if (w->seen_ms + WORKER_GONE_MS >= now)
            continue;
        log_line(LOG_WARN, "worker.gone", LOGT("worker", w->name));
        free(w->name);
        forget_jigs(w);
        vec_done(&w->jigs);
        *w = s->workers.at[--s->workers.n];
        i--;
        dispatch_capacity(s);
    }
    cluster_beat(s);
    dispatch_inbox(s);
}
