/* workers.c - the register of workers, and the choice between them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/workers.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "server/enlist.h"
#include "server/server_i.h"
#include "server/tenants.h"

enum { WORKER_GONE_MS = 15 * 1000, WORKERS_MAX = 4096 };

/* ---- by name and number ---- */

struct worker_info *workers_get(const struct server *s, uint32_t id)
{
    return id > 0 && id <= s->workers.n ? s->workers.at[id - 1] : NULL;
}

struct worker_info *workers_find(const struct server *s, const char *name)
{
    for (size_t i = 0; i < s->workers.n; i++)
        if (strcmp(s->workers.at[i]->name, name) == 0)
            return s->workers.at[i];
    return NULL;
}

static struct worker_info *worker_named(struct server *s, const char *name)
{
    struct worker_info *w = workers_find(s, name);
    if (w)
        return w;
    w = xcalloc(1, sizeof *w);
    w->server = s;
    w->name = xstrdup(name);
    vec_push(&s->workers, w);
    w->id = (uint32_t)s->workers.n;
    return w;
}

size_t workers_present(const struct server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->workers.n; i++)
        n += s->workers.at[i]->capacity > 0;
    return n;
}

static void forget_jigs(struct worker_info *w)
{
    for (size_t i = 0; i < w->jigs.n; i++)
        free(w->jigs.at[i]);
    vec_clear(&w->jigs);
}

/* ---- coming and going ---- */

int workers_attach(struct server *s, const char *name, struct queue *q, struct err *e)
{
    if (s->workers.n >= WORKERS_MAX && !workers_find(s, name))
        return err_set(e, ERR_TOO_LARGE, "%d workers are known already", WORKERS_MAX);
    struct worker_info *w = worker_named(s, name);
    if (w->queue)
        return err_set(e, ERR_BUSY, "worker %s is here already", name);
    w->queue = q;
    w->seen_ms = server_now(s);
    queue_server_attach(q, s->loop, inbox_deliver, w);
    return 0;
}

/* What it offered does not count any more; what it holds may still be claimed. */
static void worker_gone(struct worker_info *w)
{
    if (w->capacity == 0)
        return;
    log_line(LOG_WARN, "worker.gone", LOGT("worker", w->name));
    w->capacity = w->running = 0;
    forget_jigs(w);
    workers_capacity(w->server);
}

void workers_detach(struct server *s, const char *name)
{
    struct worker_info *w = workers_find(s, name);
    if (!w || !w->queue)
        return;
    queue_server_detach(w->queue);
    w->queue = NULL;
    worker_gone(w);
}

bool workers_attached(const struct server *s, const char *name)
{
    const struct worker_info *w = workers_find(s, name);
    return w && w->queue;
}

void workers_expect(struct server *s, const char *name)
{
    worker_named(s, name)->expected = true;
}

void workers_done(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = s->workers.at[i];
        if (w->queue)
            queue_server_detach(w->queue);
        forget_jigs(w);
        vec_done(&w->jigs);
        free(w->plugins);
        free(w->name);
        free(w->host);
        free(w->version);
        free(w);
    }
    vec_done(&s->workers);
    vec_done(&s->node_workers);
}

/* ---- what they offer ---- */

static bool has_jig(const struct worker_info *w, struct str implementation)
{
    for (size_t i = 0; i < w->jigs.n; i++)
        if (str_is(implementation, w->jigs.at[i]))
            return true;
    return false;
}

static struct str implementation_of(const struct server *s, const char *jig)
{
    const struct catalog_jig *j = s->catalog ? catalog_jig_get(s->catalog, str_of(jig)) : NULL;
    return j ? j->implementation : str_of(jig);
}

/* Its own word, or an operator's. */
static uint32_t offers(const struct worker_info *w)
{
    return w->draining || enlist_draining(w->server, w->name) ? 0 : w->capacity;
}

static void capacity_set(struct server *s, struct event *ev)
{
    struct commit_note note = server_note(NULL, NULL);
    struct err e;
    (void)server_apply(s, ev, &note, NULL, &e);
}

void workers_capacity(struct server *s)
{
    uint32_t total = 0;
    for (size_t i = 0; i < s->workers.n; i++)
        total += offers(s->workers.at[i]);
    if (total != anneal_capacity(s->engine, NULL))
        capacity_set(s, &(struct event){.kind = EVENT_CAPACITY_SET, .n = total});
    for (uint32_t id = 1; id < s->inv.jigs.n; id++) {
        struct jig_view v;
        uint32_t slots = 0;
        if (!anneal_jig(s->engine, id, &v))
            continue;
        struct str implementation = implementation_of(s, s->inv.jigs.at[id].name);
        for (size_t i = 0; i < s->workers.n; i++)
            if (has_jig(s->workers.at[i], implementation))
                slots += offers(s->workers.at[i]);
        if (slots != v.slots)
            capacity_set(
                s, &(struct event){.kind = EVENT_JIG_SET, .id = id, .flag = v.active, .n = slots});
    }
    tenants_rebalance(s);
}

/* ---- who gets the next one ---- */

static bool fits(const struct worker_info *w, struct str jig)
{
    return w->queue && offers(w) > 0 && has_jig(w, jig);
}

/* Is a less taken than b, by shares?  The first by name if they are equal. */
static bool is_freer(const struct server *s, const struct worker_info *a,
                     const struct worker_info *b)
{
    uint64_t of_a = (uint64_t)lease_places(s->lease, a->id) * b->capacity;
    uint64_t of_b = (uint64_t)lease_places(s->lease, b->id) * a->capacity;
    return of_a < of_b || (of_a == of_b && strcmp(a->name, b->name) < 0);
}

/* The one that reached this node last has a connection to it, unless it is full. */
struct worker_info *workers_pick(struct server *s, struct str jig, uint32_t node)
{
    struct worker_info *best = NULL;
    if (s->workers.n > 1 && node && node < s->node_workers.n) {
        struct worker_info *w = workers_get(s, s->node_workers.at[node]);
        if (w && fits(w, jig) && lease_places(s->lease, w->id) < w->capacity)
            return w;
    }
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = s->workers.at[i];
        if (fits(w, jig) && (!best || is_freer(s, w, best)))
            best = w;
    }
    if (best)
        workers_reached(s, node, best);
    return best;
}

void workers_reached(struct server *s, uint32_t node, const struct worker_info *w)
{
    if (s->workers.n <= 1 || !node)
        return;
    while (s->node_workers.n <= node)
        (void)vec_add(&s->node_workers);
    s->node_workers.at[node] = w->id;
}

struct worker_info *workers_prober(struct server *s, uint32_t node, uint32_t tries)
{
    uint32_t here = 0, at = 0;
    struct worker_info *last = node < s->node_workers.n ? workers_get(s, s->node_workers.at[node])
                                                        : NULL;
    if (tries == 0 && last && last->queue && offers(last) > 0)
        return last;
    for (size_t i = 0; i < s->workers.n; i++)
        here += s->workers.at[i]->queue && offers(s->workers.at[i]) > 0;
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = s->workers.at[i];
        if (w->queue && offers(w) > 0 && at++ == (node + tries) % here)
            return w;
    }
    return NULL;
}

void workers_send(struct worker_info *w, const struct taskmsg *m)
{
    SCOPED_BUF(b);
    if (!w->queue)
        return; /* its lease will tell */
    taskmsg_write(&b, m);
    queue_to_worker(w->queue, buf_str(&b));
}

void workers_flush(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++)
        if (s->workers.at[i]->queue)
            queue_flush(s->workers.at[i]->queue);
}

size_t workers_depth(const struct server *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->workers.n; i++)
        n += s->workers.at[i]->queue ? queue_depth(s->workers.at[i]->queue) : 0;
    return n;
}

/* ---- what they say of themselves ---- */

/* Something it holds that may not be its any more.  Given to somebody else it goes on there,
 * without this one; over, or about to be, whatever is left of it must end. */
static void correct(struct worker_info *w, const struct held_attempt *h, enum lease_claim claim)
{
    struct taskmsg m = {.kind = TASKMSG_DROP, .task = h->task, .attempt = h->attempt};
    struct open_attempt o;
    if (claim == LEASE_OTHERS) {
        log_line(LOG_INFO, "worker.drop", LOGT("worker", w->name), LOGI("task", h->task),
                 LOGI("attempt", h->attempt));
        workers_send(w, &m);
    } else if (!anneal_attempt_find(w->server->engine, h->task, &o) || o.attempt != h->attempt ||
               o.stopping) {
        m.kind = TASKMSG_CANCEL;
        m.ask = UINT32_MAX;
        m.grace_ms = DISPATCH_GRACE_MS;
        workers_send(w, &m);
    }
}

static bool all_reported(const struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++)
        if (s->workers.at[i]->expected)
            return false;
    return true;
}

static bool offers_other(const struct worker_info *w, const struct taskmsg *m)
{
    if (w->capacity != m->capacity || w->draining != m->draining || w->jigs.n != m->n_jigs)
        return true;
    for (uint32_t i = 0; i < m->n_jigs; i++)
        if (!str_is(m->jigs[i], w->jigs.at[i]))
            return true;
    return false;
}

static void take_text(char **to, struct str s)
{
    free(*to);
    *to = s.n ? xstrndup(s.s, s.n) : NULL;
}

static void take_offer(struct worker_info *w, const struct taskmsg *m)
{
    take_text(&w->host, m->host);
    take_text(&w->version, m->version);
    free(w->plugins);
    w->plugins = m->plugins.n ? xstrndup(m->plugins.s, m->plugins.n) : NULL;
    if (!offers_other(w, m))
        return;
    if (w->capacity == 0)
        log_line(LOG_INFO, "worker.hello", LOGT("worker", w->name), LOGI("capacity", m->capacity));
    w->capacity = m->capacity;
    w->draining = m->draining;
    forget_jigs(w);
    for (uint32_t i = 0; i < m->n_jigs; i++)
        vec_push(&w->jigs, xstrndup(m->jigs[i].s, m->jigs[i].n));
    workers_capacity(w->server);
}

/* By when a worker is not counted on any more: not after what it has is taken from it. */
static uint64_t patience_ms(const struct server *s)
{
    uint64_t ms = WORKER_GONE_MS;
    ms = s->opts->node_lease < ms ? s->opts->node_lease : ms;
    return s->opts->worker_lease < ms ? s->opts->worker_lease : ms;
}

void workers_heard(struct worker_info *w, const struct taskmsg *m)
{
    struct server *s = w->server;
    bool hello = m->kind == TASKMSG_HELLO;
    w->seen_ms = server_now(s);
    w->running = m->n_held;
    for (uint32_t i = 0; i < m->n_held; i++) {
        enum lease_claim claim = lease_claim(s->lease, m->held[i].task, m->held[i].attempt, w->id,
                                             w->seen_ms);
        if (claim != LEASE_YOURS || hello)
            correct(w, &m->held[i], claim);
    }
    /* Before what it releases is given away: not to itself. */
    if (!hello && w->capacity > 0 && m->draining != w->draining) {
        w->draining = m->draining;
        workers_capacity(s);
    }
    for (uint32_t i = 0; i < m->n_released; i++)
        if (lease_holder(s->lease, m->released[i].task, m->released[i].attempt) == w->id) {
            lease_drop(s->lease, m->released[i].task, m->released[i].attempt);
            dispatch_lease_over(s, m->released[i].task, m->released[i].attempt);
        }
    if (hello) {
        take_offer(w, m);
        w->expected = false;
        if (all_reported(s)) /* what nobody holds by now, nobody does */
            dispatch_all_reported(s);
    } else if (w->capacity == 0) { /* only a HELLO says what it offers */
        workers_send(w, &(struct taskmsg){.kind = TASKMSG_HELLO});
    }
    bool inside = w->queue == s->queue; /* it ends with us */
    workers_send(w, &(struct taskmsg){.kind = TASKMSG_BEAT,
                                      .lease_ms = inside ? 0 : s->opts->worker_lease,
                                      .timeout_ms = patience_ms(s)});
    workers_flush(s);
}

void workers_beat(struct server *s)
{
    uint64_t now = server_now(s), patience = patience_ms(s);
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = s->workers.at[i];
        if (w->capacity > 0 && w->seen_ms + patience < now)
            worker_gone(w);
    }
}

/* ---- acknowledging ---- */

static void acknowledge(struct worker_info *w, uint64_t *seq)
{
    if (*seq)
        workers_send(w, &(struct taskmsg){.kind = TASKMSG_ACK, .seq = *seq});
    *seq = 0;
}

void workers_acks_flying(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++) {
        s->workers.at[i]->ack_flying = s->workers.at[i]->ack_open;
        s->workers.at[i]->ack_open = 0;
    }
}

void workers_acks_landed(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++)
        acknowledge(s->workers.at[i], &s->workers.at[i]->ack_flying);
}

void workers_acks_idle(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++) {
        struct worker_info *w = s->workers.at[i];
        if (!w->ack_open)
            continue;
        acknowledge(w, &w->ack_open);
        if (w->queue)
            queue_flush(w->queue);
    }
}

void workers_acks_forget(struct server *s)
{
    for (size_t i = 0; i < s->workers.n; i++)
        s->workers.at[i]->ack_open = s->workers.at[i]->ack_flying = 0;
}
