/* sim_server.c - what reaches the server: results, beats, leases that run out
 *
 * Every event of a run passes sim_server_feed(): it is applied through the commit step, written to
 * the trace and checked.  A result of an attempt that is not open any more must change nothing
 * (invariant 6).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

bool sim_server_ready(const struct sim *s)
{
    return s->server.up && !commit_must_wait(s->server.commit);
}

int sim_server_apply(struct sim *s, struct event *ev, const struct commit_note *note)
{
    struct sim_server *v = &s->server;
    const struct effects *fx = NULL;
    struct err e;
    ev->at_ms = sim_engine_ms(s);
    sim_correct_look(s, ev);
    sim_leave_look(s, ev);
    int r = commit_event(v->commit, ev, note, &fx, &e);
    sim_trace_event(s, ev, r);
    if (r < 0) {
        s->report->refused++;
        return r;
    }
    s->report->events++;
    if (s->opt.trip && s->report->events >= s->opt.trip)
        sim_fail(s, "trip: event %u was reached", s->opt.trip);
    if (fx->changes.n > 0 || fx->attempts.n > 0) {
        for (size_t i = 0; i < fx->sends.n; i++)
            vec_push(&v->sends_open, fx->sends.at[i]);
        for (size_t i = 0; i < fx->stops.n; i++)
            vec_push(&v->stops_open, fx->stops.at[i]);
        sim_check_step(s, ev, fx);
        sim_correct_check(s, fx);
    }
    sim_hooks_collect(s, ev, fx);
    return 0;
}

int sim_server_feed(struct sim *s, struct event *ev, const struct commit_note *note)
{
    int r = sim_server_apply(s, ev, note);
    if (r < 0)
        return r;
    sim_server_close_soon(s); /* the first event of a group sets its time */
    sim_hooks_settle(s);
    sim_server_micro_step(s);
    return 0;
}

/* The outcome of a `once` task is known now, as soon as the open group is durable. */
static void once_learned(struct sim *s, uint32_t task)
{
    s->tasks.at[task].once_open = false;
    s->tasks.at[task].once_group = commit_open_group(s->server.commit);
}

/* Who sees what a run returned is told before its result is. */
static bool feed_returns(struct sim *s, const struct agenda_item *m)
{
    struct task_view v;
    uint32_t n, life = s->server.life;
    VEC(uint32_t) ids = {0};
    if (!m->returns || !anneal_task(s->server.engine, m->task, &v) || !v.noderole)
        return true;
    const uint32_t *children = anneal_children(s->server.engine, v.noderole, &n);
    for (uint32_t i = 0; i < n; i++)
        vec_push(&ids, children[i]);
    bool up = true;
    for (size_t i = 0; up && i < ids.n; i++) {
        struct event ev = {.kind = EVENT_DATA_SET,
                           .id = ids.at[i],
                           .a = mix64(m->returns, ids.at[i]) | 1,
                           .op = anneal_joins(s->server.engine, ids.at[i], v.noderole),
                           .returned = true};
        (void)sim_server_feed(s, &ev, NULL);
        up = sim_server_ready(s) && s->server.life == life;
    }
    vec_done(&ids);
    return up;
}

static int feed_result(struct sim *s, const struct agenda_item *m)
{
    struct event ev = {.kind = EVENT_RESULT,
                       .id = m->task,
                       .attempt = m->attempt,
                       .extra = m->ask,
                       .flag = m->outcome,
                       .phase = m->phase,
                       .ms = m->again_ms,
                       .last = m->last,
                       .exit_code = m->outcome == OUTCOME_FAILED};
    return sim_server_feed(s, &ev,
                           &(struct commit_note){.wall_ms = s->now_ms, .text = "simulated"});
}

static bool result_is_awaited(const struct sim *s, const struct agenda_item *m)
{
    struct task_view v;
    if (!anneal_attempt_open(s->server.engine, m->task, m->attempt) ||
        !anneal_task(s->server.engine, m->task, &v) || v.asks != m->ask)
        return false;
    if (v.behind) /* whatever else it says has overtaken the answer before it */
        return m->outcome == OUTCOME_CANCELLED || m->outcome == OUTCOME_REFUSED;
    return v.state != TASK_WAITING;
}

/* Timers that are due fire first, so that all the stale result could change is its own doing. */
static void feed_stale(struct sim *s, const struct agenda_item *m)
{
    uint32_t life = s->server.life;
    if (anneal_next_timer(s->server.engine) <= sim_engine_ms(s)) {
        struct event tick = {.kind = EVENT_TICK};
        (void)sim_server_feed(s, &tick, NULL);
        if (!sim_server_ready(s) || s->server.life != life)
            return;
    }
    uint64_t seq = commit_seq(s->server.commit);
    s->report->stale++;
    if (feed_result(s, m) < 0)
        sim_fail(s, "invariant 6: a stale result of task %u was refused", m->task);
    else if (s->server.up && s->server.life == life && commit_seq(s->server.commit) != seq)
        sim_fail(s, "invariant 6: the result of attempt %u.%u of task %u, not open, had an effect",
                 m->attempt, m->ask, m->task);
}

/* An answer may be forgotten by its worker once everything that is in memory now is durable. */
static void ack_later(struct sim *s, const struct agenda_item *m)
{
    struct sim_server *v = &s->server;
    uint64_t group = commit_open_group(v->commit);
    if (commit_pending(v->commit) == 0)
        group--;
    struct sim_ack ack = {group, m->who, m->task, m->attempt, m->ask};
    if (group > v->durable || v->group) {
        vec_push(&v->acks, ack);
        return;
    }
    sim_net_send(s, (struct agenda_item){.kind = AGENDA_ACK,
                                         .who = m->who,
                                         .life = m->life,
                                         .task = m->task,
                                         .attempt = m->attempt,
                                         .ask = m->ask});
}

void sim_server_result(struct sim *s, const struct agenda_item *m)
{
    struct sim_server *v = &s->server;
    if (!v->up)
        return;
    if (!sim_server_ready(s)) {
        sim_after(s, 2, *m);
        return;
    }
    if (m->outcome != OUTCOME_LOST && !result_is_awaited(s, m)) {
        feed_stale(s, m);
    } else {
        const struct sim_task *t = &s->tasks.at[m->task];
        if (!feed_returns(s, m))
            return; /* the server is gone; the worker still has the result */
        if (m->outcome != OUTCOME_LOST && t->run_attempt == m->attempt && t->run_ask == m->ask)
            once_learned(s, m->task);
        lease_drop(v->lease, m->task, m->attempt);
        if (feed_result(s, m) < 0)
            sim_fail(s, "a result of task %u, attempt %u was refused", m->task, m->attempt);
    }
    if (v->up && m->outcome != OUTCOME_LOST)
        ack_later(s, m);
}

static void lease_ran_out(void *arg, uint32_t task, uint32_t attempt)
{
    struct sim *s = arg;
    struct task_view v;
    if (!anneal_attempt_open(s->server.engine, task, attempt) ||
        !anneal_task(s->server.engine, task, &v) || v.state == TASK_WAITING)
        return;
    s->report->losses++;
    sim_after(s, 0,
              (struct agenda_item){.kind = AGENDA_RESULT,
                                   .task = task,
                                   .attempt = attempt,
                                   .ask = v.asks,
                                   .outcome = OUTCOME_LOST});
}

void sim_server_beat(struct sim *s, const struct agenda_item *m)
{
    struct sim_server *v = &s->server;
    const struct sim_worker *w = &s->workers[m->who];
    uint32_t all = (1u << s->n_workers) - 1, before = v->reported;
    if (!v->up || !w->up || w->life != m->life)
        return;
    for (size_t i = 0; i < w->work.n; i++)
        (void)lease_claim(v->lease, w->work.at[i].task, w->work.at[i].attempt, SIM_LEASE_WORKER,
                          s->now_ms);
    v->reported |= 1u << m->who;
    if (v->reported == all && before != all) /* what nobody claimed since the start is lost */
        lease_all_reported(v->lease, lease_ran_out, s);
}

void sim_server_leases(struct sim *s)
{
    if (s->server.up)
        lease_expire(s->server.lease, s->now_ms, lease_ran_out, s);
}
