/* dispatch.c - from the commit step to the workers
 *
 * When a group is durable, its starts become TASK messages to the workers that are chosen for them,
 * and its results are acknowledged.  Parameters and data are rendered here, and go out byte for
 * byte.  What a lease ran out for is given up here, or sent to somebody else.
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
#include "server/providers.h"
#include "server/resources.h"
#include "server/workers.h"

enum { BEAT_MS = 1000, BATCH = 256, BEATS_AN_HOUR = 3600 };

/* ---- out ---- */

static bool travels(struct server *s, const struct inv_def *def, uint32_t node)
{
    return node && taskmsg_jig_on_node(str_of(def->type)) && data_node_get(s, node)->by_ssh;
}

bool dispatch_travels(struct server *s, uint32_t task)
{
    struct task_view t;
    return anneal_task(s->engine, task, &t) && travels(s, &s->inv.defs.at[t.def], t.node);
}

static uint64_t lease_of(struct server *s, uint32_t task)
{
    return dispatch_travels(s, task) ? s->opts->node_lease : s->opts->worker_lease;
}

/* Nobody has it: it runs out, and what is to be done then is done. */
static void hold_for_nobody(struct server *s, const struct dispatch *d)
{
    lease_hold(s->lease,
               &(struct lease_given){
                   .task = d->task, .attempt = d->attempt, .lease_ms = lease_of(s, d->task)},
               server_now(s));
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
    struct commit_note note = server_note_task(s, d->task);
    struct err e;
    note.text = why;
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        hold_for_nobody(s, d); /* not now: it will be lost */
}

uint64_t dispatch_access_rev(const struct server *s, uint32_t node)
{
    return s->fence << 32 | s->inv.nodes.at[node].rev;
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
                              .node_id = t.node,
                              .access = t.node ? data_node_get(s, t.node)->access : str_of(""),
                              .access_rev = t.node ? dispatch_access_rev(s, t.node) : 0,
                              .key = str_of(arena_printf(mem, "t%u-g%u", d->task, nr.generation)),
                              .params = params,
                              .data = parts.data,
                              .under = parts.under,
                              .over = parts.over,
                              .tests = str_of(def->tests),
                              .behind = d->behind,
                              .fence = s->fence,
                              .no_op = def->no_op,
                              .timeout_ms = def->timeout_ms,
                              .grace_ms = DISPATCH_GRACE_MS};
    if (provider_send(s, d->task, mem, ret_m, &e) < 0) {
        log_err(LOG_ERROR, "task.fields", &e);
        refuse_task(s, d, e.text);
        return false;
    }
    resource_send(s, mem, ret_m);
    taskmsg_digest(ret_m, digest);
    ret_m->digest = str_of(arena_strdup(mem, digest));
    return true;
}

/* How long ago whoever had it before may have begun it; UINT32_MAX: nobody can say. */
static uint64_t since(const struct server *s, uint32_t task)
{
    struct open_attempt o;
    return anneal_attempt_find(s->engine, task, &o) ? run_clock_since(s, o.started_ms) : UINT32_MAX;
}

/* A start, and what was sent ahead to begin behind it: as far as all of it can be told, in one go,
 * to one worker.  How many of `d` that was. */
static size_t send_chain(struct server *s, struct data_look *look, struct arena *mem,
                         const struct dispatch *d, size_t n, bool again)
{
    size_t all = 1, good = 0;
    struct task_view t;
    while (all < n && d[all].behind)
        all++;
    struct taskmsg *m = arena_new(mem, struct taskmsg, all);
    while (good < all && task_message(s, look, mem, &d[good], &m[good]))
        good++;
    if (good == 0)
        return all;
    uint32_t node = anneal_task(s->engine, d[0].task, &t) ? t.node : 0;
    struct worker_info *w = workers_pick(s, m[0].jig, node);
    uint64_t lease_ms = lease_of(s, d[0].task), now = server_now(s);
    for (size_t i = 0; i < good; i++) {
        m[i].followers = i == 0 ? (uint32_t)good - 1 : 0;
        m[i].since_ms = again ? since(s, m[i].task) : 0;
        if (w)
            workers_send(w, &m[i]);
        lease_hold(s->lease,
                   &(struct lease_given){.task = m[i].task,
                                         .attempt = m[i].attempt,
                                         .worker = w ? w->id : 0,
                                         .behind = i > 0 ? m[i - 1].task : 0,
                                         .behind_attempt = i > 0 ? m[i - 1].attempt : 0,
                                         .lease_ms = lease_ms},
                   now);
        s->dispatched++;
    }
    return all;
}

static void send_stop(struct server *s, const struct dispatch *d)
{
    struct worker_info *w = workers_get(s, lease_holder(s->lease, d->task, d->attempt));
    if (w)
        workers_send(w, &(struct taskmsg){.kind = TASKMSG_CANCEL,
                                          .task = d->task,
                                          .attempt = d->attempt,
                                          .ask = d->asks,
                                          .grace_ms = DISPATCH_GRACE_MS});
}

void dispatch_group(struct server *s, const struct group *g)
{
    SCOPED_ARENA(mem);
    SCOPED(data_look) look;
    data_look_begin(&look, s);
    workers_acks_landed(s);
    for (size_t i = 0, sent = 0; i < g->sends.n;) {
        size_t n = send_chain(s, &look, &mem, &g->sends.at[i], g->sends.n - i, false);
        i += n;
        sent += n;
        if (sent >= BATCH) {
            arena_reset(&mem);
            sent = 0;
        }
    }
    for (size_t i = 0; i < g->stops.n; i++)
        send_stop(s, &g->stops.at[i]);
    workers_flush(s);
}

/* ---- what nobody answers for ---- */

/* It goes on on its node, or never began: somebody else is sent there, with all that was to run
 * behind it. */
static void send_again(struct server *s, const struct open_attempt *o)
{
    SCOPED_ARENA(mem);
    SCOPED(data_look) look;
    struct dispatch chain[DISPATCH_CHAIN_MAX];
    size_t n = anneal_chain(s->engine, o->task, chain, DISPATCH_CHAIN_MAX);
    data_look_begin(&look, s);
    log_line(LOG_INFO, "attempt.again", LOGI("task", o->task), LOGI("attempt", o->attempt),
             LOGI("behind", n - 1));
    (void)send_chain(s, &look, &mem, chain, n, true);
    for (size_t i = 0; i < n; i++)
        if (anneal_attempt_find(s->engine, chain[i].task, &(struct open_attempt){0}) && o->stopping)
            send_stop(s, &chain[i]);
    workers_flush(s);
}

void dispatch_lease_over(void *arg, uint32_t task, uint32_t attempt)
{
    struct server *s = arg;
    struct task_view v;
    struct open_attempt o;
    struct err e;
    if (!anneal_task(s->engine, task, &v) || !anneal_attempt_find(s->engine, task, &o) ||
        o.attempt != attempt || o.waiting)
        return;
    if (travels(s, &s->inv.defs.at[v.def], v.node)) {
        if (!o.ahead)
            send_again(s, &o);
        return; /* one that is ahead goes with the one before it */
    }
    struct event ev = {.kind = EVENT_RESULT,
                       .id = task,
                       .attempt = attempt,
                       .extra = v.asks,
                       .flag = OUTCOME_LOST};
    struct commit_note note = server_note_task(s, task);
    note.text = "no worker answers for it";
    if (server_apply(s, &ev, &note, NULL, &e) < 0)
        hold_for_nobody(s, &(struct dispatch){.task = task, .attempt = attempt});
    else
        log_line(LOG_WARN, "attempt.lost", LOGI("task", task), LOGI("attempt", attempt));
}

struct on_node {
    struct server *server;
    uint32_t node;
    VEC(struct open_attempt) found;
};

static void note_on_node(void *arg, const struct open_attempt *o)
{
    struct on_node *n = arg;
    struct task_view v;
    if (!o->ahead && anneal_task(n->server->engine, o->task, &v) && v.node == n->node &&
        travels(n->server, &n->server->inv.defs.at[v.def], v.node))
        vec_push(&n->found, *o);
}

/* It may wait for just this: nobody should have to poke it by hand. */
static void ask_now(struct server *s, uint32_t task)
{
    struct event ev = {.kind = EVENT_POKE, .id = task};
    struct commit_note note = server_note_task(s, task);
    struct err e;
    (void)server_apply(s, &ev, &note, NULL, &e); /* else it is asked when its time comes */
}

void dispatch_access_changed(struct server *s, uint32_t node)
{
    struct on_node n = {.server = s, .node = node};
    probing_hurry(s, node);
    anneal_each_open_attempt(s->engine, note_on_node, &n);
    for (size_t i = 0; i < n.found.n; i++)
        if (n.found.at[i].waiting)
            ask_now(s, n.found.at[i].task);
        else
            send_again(s, &n.found.at[i]);
    vec_done(&n.found);
}

void dispatch_all_reported(struct server *s)
{
    lease_all_reported(s->lease, dispatch_lease_over, s);
}

static void hold_open(void *arg, const struct open_attempt *o)
{
    struct server *s = arg;
    if (!o->waiting)
        lease_restore(s->lease, o->task, o->attempt, lease_of(s, o->task),
                      server_now(s) + s->opts->recover_grace);
}

static void stop_again(void *arg, const struct open_attempt *o)
{
    struct server *s = arg;
    for (size_t i = 0; o->stopping && i < s->workers.n; i++)
        workers_send(s->workers.at[i], &(struct taskmsg){.kind = TASKMSG_CANCEL,
                                                         .task = o->task,
                                                         .attempt = o->attempt,
                                                         .ask = o->asks,
                                                         .grace_ms = DISPATCH_GRACE_MS});
}

void dispatch_reconcile(struct server *s)
{
    s->lease = lease_new();
    run_clock_open(s);
    anneal_each_open_attempt(s->engine, hold_open, s);
    anneal_each_open_attempt(s->engine, stop_again, s);
    workers_flush(s);
}

/* ---- once a second ---- */

void dispatch_beat(void *arg)
{
    struct server *s = arg;
    loop_timer_at(s->beat, loop_now_ms(s->loop) + BEAT_MS);
    if (s->degraded.code != ERR_NONE) {
        group_probe(s);
        return;
    }
    workers_beat(s); /* before what silent ones have is given to others: not to them again */
    lease_expire(s->lease, server_now(s), dispatch_lease_over, s);
    if (s->beats++ % BEATS_AN_HOUR == 0)
        idempotent_expire(s);
    cluster_beat(s);
    resources_beat(s);
    inbox_pump(s);
    probing_beat(s);
}
