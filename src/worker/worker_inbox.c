/* worker_inbox.c - what a message means, given what is held and remembered
 *
 * Delivery is at least once and may reorder, so every rule here is about (attempt, ask) compared
 * with what is known of the task; worker.h has the table.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "worker/worker_i.h"

static struct run *run_find(const struct known *k, uint32_t attempt, const uint32_t *ask)
{
    for (struct link *l = k->runs.next; l != &k->runs; l = l->next) {
        struct run *r = LINK_OF(l, struct run, of_task);
        if (r->msg.attempt == attempt && (!ask || r->msg.ask == *ask))
            return r;
    }
    return NULL;
}

static void answer_now(struct worker *w, struct known *k, const struct taskmsg *m,
                       enum outcome outcome, const char *text)
{
    struct taskmsg result = {.attempt = m->attempt,
                             .ask = m->ask,
                             .outcome = outcome,
                             .exit_code = -1,
                             .text = str_of(text)};
    answer_give(w, k, &result, NULL);
}

/* <0, 0, >0 as the message is about an earlier run than the latest known, the same, a later one. */
static int compare(const struct taskmsg *m, const struct known *k)
{
    if (!k->any)
        return 1;
    if (m->attempt != k->attempt)
        return m->attempt < k->attempt ? -1 : 1;
    return m->ask < k->ask ? -1 : m->ask > k->ask;
}

static void refuse_earlier(struct worker *w, struct known *k, const struct taskmsg *m)
{
    char text[64];
    if (m->attempt == k->attempt)
        return; /* an old question of a live attempt: its answer was acknowledged by the newer one
                 */
    snprintf(text, sizeof text, "attempt %" PRIu32 " came later", k->attempt);
    answer_now(w, k, m, OUTCOME_REFUSED, text);
}

static void accept_later(struct worker *w, struct known *k, const struct taskmsg *m)
{
    for (struct link *l = k->answers.next, *next; l != &k->answers; l = next) {
        struct answer *a = LINK_OF(l, struct answer, of_task);
        next = l->next;
        if (a->attempt == m->attempt) /* the server asks again, so it has the answer */
            answer_drop(w, a);
    }
    for (struct link *l = k->runs.next, *next; l != &k->runs; l = next) {
        next = l->next;
        run_cancel(LINK_OF(l, struct run, of_task), m->grace_ms);
    }
    k->any = true;
    k->again = false;
    k->attempt = m->attempt;
    k->ask = m->ask;
    run_new(w, k, m);
    runs_pump(w);
}

static void on_task(struct worker *w, const struct taskmsg *m)
{
    struct known *k = known_get(w, m->task);
    struct answer *a = answer_find(k, m->attempt, &m->ask);
    struct run *held = run_find(k, m->attempt, &m->ask);
    int order = compare(m, k);
    if (held)
        run_sent_again(held, m);
    else if (a)
        answer_resend(w, a);
    else if (order < 0)
        refuse_earlier(w, k, m);
    else if (order > 0 && w->stopping)
        answer_now(w, k, m, m->behind ? OUTCOME_CANCELLED : OUTCOME_AGAIN,
                   "the worker is stopping");
    else if (order > 0)
        accept_later(w, k, m);
    known_settle(w, k);
}

/* Nothing of the attempt is here to be ended, but the server waits to hear so. */
static void answer_cancel(struct worker *w, struct known *k, const struct taskmsg *m)
{
    bool waited = k->any && m->attempt == k->attempt && k->again;
    if (compare(m, k) > 0) { /* should its TASK still arrive, it must not start */
        k->any = true;
        k->attempt = m->attempt;
        k->ask = waited ? m->ask : UINT32_MAX;
    }
    k->again = k->again && m->attempt != k->attempt;
    if (waited)
        answer_now(w, k, m, OUTCOME_CANCELLED, "cancelled while it waited to be asked again");
    else
        answer_now(w, k, m, OUTCOME_LOST, "this worker does not know the attempt");
}

static void on_cancel(struct worker *w, const struct taskmsg *m)
{
    struct known *k = known_get(w, m->task);
    struct run *r = run_find(k, m->attempt, NULL);
    struct answer *a = answer_find(k, m->attempt, &m->ask);
    if (r)
        run_cancel(r, m->grace_ms);
    else if (m->ask == UINT32_MAX)
        ; /* said to be sure that nothing runs on, and nothing does */
    else if (a)
        answer_resend(w, a);
    else if (compare(m, k) != 0 || k->again) /* else its final answer was acknowledged */
        answer_cancel(w, k, m);
    known_settle(w, k);
}

/* Another worker has it.  What is on its node goes on there; should it come back, it is new. */
static void on_drop(struct worker *w, const struct taskmsg *m)
{
    struct known *k = known_get(w, m->task);
    struct run *r = run_find(k, m->attempt, NULL);
    if (r && travel_is_away(r))
        travel_release(r);
    else if (r && r->life == LIFE_RUNNING)
        run_cancel(r, 0);
    else if (r)
        chain_forget(r);
    if (k->attempt == m->attempt)
        k->any = false;
    known_settle(w, k);
}

static void on_server_beat(struct worker *w, const struct taskmsg *m)
{
    bool other = m->lease_ms != w->lease_ms || m->timeout_ms != w->patience_ms;
    w->heard_ms = loop_now_ms(w->loop);
    w->lease_ms = m->lease_ms;
    w->patience_ms = m->timeout_ms;
    if (other && w->attached)
        loop_timer_at(w->beat, w->heard_ms + worker_beat_after_ms(w));
}

static void handle(struct worker *w, struct str text)
{
    struct taskmsg m;
    struct err e = {0};
    arena_reset(&w->scratch);
    if (taskmsg_parse(&w->scratch, text, &m, &e) < 0) {
        log_err(LOG_WARN, "worker-message", &e);
        return;
    }
    switch (m.kind) {
    case TASKMSG_TASK: on_task(w, &m); break;
    case TASKMSG_CANCEL: on_cancel(w, &m); break;
    case TASKMSG_ACK: answers_acknowledge(w, m.seq); break;
    case TASKMSG_HELLO: worker_hello(w); break;
    case TASKMSG_DOCUMENT: document_come(w, &m); break;
    case TASKMSG_PART: blob_come(w, &m); break;
    case TASKMSG_DROP: on_drop(w, &m); break;
    case TASKMSG_BEAT: on_server_beat(w, &m); break;
    case TASKMSG_PROBE: probe_come(w, &m); break;
    case TASKMSG_PROBED:
    case TASKMSG_NOTE:
    case TASKMSG_RESULT:
    case TASKMSG_LOG:
    case TASKMSG_FETCH:
    case TASKMSG_SEEN:
    case TASKMSG_WANT:
    case TASKMSG_KIND_COUNT:
        log_line(LOG_WARN, "worker-message", LOGT("unexpected", taskmsg_kind_name(m.kind)));
        break;
    }
}

void worker_deliver(void *worker, const struct str *messages, size_t n)
{
    for (size_t i = 0; i < n; i++)
        handle(worker, messages[i]);
}
