/* sim_run.c - one run: make a world, let it break, heal it, and require that everything passes
 *
 * The loop takes the earliest of the agenda and the engine's own timers.  Chaos lasts for a number
 * of engine events; then nothing new goes wrong, operators retry, resume and resolve what there is,
 * and within a bounded time every task must have passed.  What has not is a wedge, reported with
 * its `why`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <inttypes.h>

#include "server/restore.h"

enum {
    HEAL_MS_MOST = 4 * 3600 * 1000,
    HEAL_EVENTS_MOST = 100000,
    CARE_HEAL_MS = 2000,
    TICKS_MOST = 1000, /* in a row without time passing */
    WEDGES_SHOWN = 4,
    DESIRE_SAMPLE = 16, /* steps between two looks at who lives and who is wanted */
};

/* ---- healing ---- */

static void heal_event(struct sim *s, struct event ev)
{
    if (sim_server_ready(s) && sim_server_feed(s, &ev, NULL) < 0)
        sim_fail(s, "healing: %s of %u was refused", event_kind_name(ev.kind), ev.id);
}

static void heal_limits(struct sim *s)
{
    struct node_view n;
    struct jig_view j;
    struct pool_view p;
    bool frozen = false;
    for (uint32_t id = 1; sim_server_ready(s) && id <= s->n_nodes; id++) {
        anneal_node(s->server.engine, id, &n);
        frozen |= n.frozen;
        if (!n.available)
            heal_event(s, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = id, .flag = 1});
    }
    for (uint32_t id = 1; sim_server_ready(s) && id <= s->n_jigs; id++)
        if (anneal_jig(s->server.engine, id, &j) && !j.active)
            heal_event(s, (struct event){.kind = EVENT_JIG_SET, .id = id, .flag = 1, .n = j.slots});
    for (uint32_t id = 1; sim_server_ready(s) && id <= s->n_pools; id++)
        if (anneal_pool(s->server.engine, id, &p) &&
            (p.closed || p.elsewhere || p.size != s->pool_sizes[id]))
            heal_event(s, (struct event){.kind = EVENT_POOL_SET, .id = id, .n = s->pool_sizes[id]});
    if (frozen)
        heal_event(s, (struct event){.kind = EVENT_POLICY_SET});
    if (sim_server_ready(s))
        sim_world_capacity(s);
}

static bool healed(const struct sim *s)
{
    const struct sim_server *v = &s->server;
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT];
    if (!sim_server_ready(s) || v->group || commit_pending(v->commit) > 0 ||
        sim_plan_others(s) < s->want_noderoles)
        return false;
    anneal_totals(v->engine, noderoles, tasks);
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        if (!task_state_passed((enum task_state)i) && tasks[i] > 0)
            return false;
    for (int i = 0; i < NODEROLE_STATE_COUNT; i++)
        if (i != NODEROLE_ACTIVE && noderoles[i] > 0)
            return false;
    /* A lease that just ran out is no more, but the loss that follows from it is still to come. */
    uint32_t used = 0;
    (void)anneal_capacity(v->engine, &used);
    return lease_count(v->lease) == 0 && used == 0;
}

static void wedge_write(struct sim *s, struct buf *b)
{
    const struct anneal *a = s->server.engine;
    uint32_t shown = 0;
    for (uint32_t t = 1; a && t < anneal_task_end(a) && shown < WEDGES_SHOWN; t++) {
        struct task_view v;
        struct why why[4];
        anneal_task(a, t, &v);
        if (task_state_passed(v.state))
            continue;
        size_t n = anneal_why_task(a, t, why, 4);
        buf_printf(b, "%stask %u %s", shown++ ? "; " : "", t, task_state_name(v.state));
        for (size_t i = 0; i < n; i++)
            buf_printf(b, " %s(%s %u)", why_rule_name(why[i].rule), row_layouts[why[i].table].name,
                       why[i].id);
    }
}

static void wedged(struct sim *s)
{
    SCOPED_BUF(b);
    wedge_write(s, &b);
    sim_fail(s, "wedged: healed for %" PRIu64 " s, and not all has passed: %s", s->now_ms / 1000,
             b.len ? b.data : "every task, but not every noderole");
}

/* ---- the agenda ---- */

static void another_plan(struct sim *s)
{
    uint32_t have = sim_plan_others(s);
    struct agenda_item next = {.kind = AGENDA_PLAN};
    if (!sim_server_ready(s)) {
        sim_after(s, 50, next);
        return;
    }
    if (have >= s->want_noderoles) {
        sim_after(s, 5000, next); /* a crash may yet take one back */
        return;
    }
    uint32_t left = s->want_noderoles - have;
    uint32_t share = s->want_noderoles * rng_from(&s->world, have ? 5 : 40, have ? 25 : 70) / 100 +
                     1;
    (void)sim_plan_apply(s, share < left && s->phase == PHASE_CHAOS ? share : left);
    sim_after(s, rng_from(&s->world, 500, 60000), next);
}

static void care(struct sim *s)
{
    bool heal = s->phase == PHASE_HEAL;
    sim_after(s, heal ? CARE_HEAL_MS : rng_from(&s->chaos, 500, 6000),
              (struct agenda_item){.kind = AGENDA_CARE});
    if (heal && sim_server_ready(s))
        heal_limits(s);
    if (heal && sim_server_ready(s))
        sim_change_start(s);
    if (sim_server_ready(s))
        sim_chaos_care(s, heal);
}

/* Takes back what a strike did to a node, a jig or a pool; again later if nobody listens now. */
static void set_back(struct sim *s, const struct agenda_item *m)
{
    struct jig_view j;
    if (!sim_server_ready(s)) {
        sim_after(s, 100, *m);
        return;
    }
    switch (m->kind) {
    case AGENDA_NODE_BACK:
        heal_event(s, (struct event){.kind = EVENT_NODE_AVAILABLE, .id = m->who, .flag = 1});
        break;
    case AGENDA_POOL_BACK:
        heal_event(
            s, (struct event){.kind = EVENT_POOL_SET, .id = m->who, .n = s->pool_sizes[m->who]});
        break;
    default:
        anneal_jig(s->server.engine, m->who, &j);
        heal_event(s, (struct event){.kind = EVENT_JIG_SET, .id = m->who, .flag = 1, .n = j.slots});
        if (sim_server_ready(s))
            sim_world_capacity(s);
    }
}

static void handle_server(struct sim *s, const struct agenda_item *m)
{
    if (!s->server.up || m->life != s->server.life)
        return;
    if (m->kind == AGENDA_CLOSE)
        sim_server_close(s);
    else if (m->kind == AGENDA_SLICE)
        sim_server_slice(s);
    else
        sim_server_release(s);
}

static void handle(struct sim *s, const struct agenda_item *m)
{
    switch ((enum agenda_kind)m->kind) {
    case AGENDA_TASK: sim_worker_task(s, m); break;
    case AGENDA_STOP: sim_worker_stop(s, m); break;
    case AGENDA_ACK: sim_worker_ack(s, m); break;
    case AGENDA_RUN_END: sim_worker_run_end(s, m); break;
    case AGENDA_BEAT: sim_worker_beat(s, m); break;
    case AGENDA_BEAT_CAME: sim_server_beat(s, m); break;
    case AGENDA_RESULT: sim_server_result(s, m); break;
    case AGENDA_WORKER_UP: sim_worker_up(s, m->who); break;
    case AGENDA_CAPACITY:
        if (sim_server_ready(s))
            sim_world_capacity(s);
        else
            sim_after(s, 200, *m);
        break;
    case AGENDA_CLOSE:
    case AGENDA_SLICE:
    case AGENDA_RELEASE: handle_server(s, m); break;
    case AGENDA_SERVER_UP:
        if (!s->server.up)
            sim_server_start(s);
        break;
    case AGENDA_LEASES:
        sim_server_leases(s);
        sim_after(s, 2000, *m);
        break;
    case AGENDA_PROBE: sim_world_probe(s, m->who, m->life == 0); break;
    case AGENDA_NODE_UP: sim_world_node_up(s, m->who); break;
    case AGENDA_NODE_BACK:
    case AGENDA_JIG_BACK:
    case AGENDA_POOL_BACK: set_back(s, m); break;
    case AGENDA_CHAOS:
        sim_after(s, rng_from(&s->chaos, 100, 2500), *m);
        if (sim_server_ready(s))
            sim_chaos_strike(s);
        break;
    case AGENDA_CARE: care(s); break;
    case AGENDA_PLAN: another_plan(s); break;
    }
}

/* The engine's next timer in the world's time; never if the server cannot act on it. */
static uint64_t timer_ms(const struct sim *s)
{
    if (!sim_server_ready(s))
        return UINT64_MAX;
    uint64_t at_ms = anneal_next_timer(s->server.engine);
    return at_ms == UINT64_MAX ? UINT64_MAX : at_ms + s->server.skew_ms;
}

static void turn(struct sim *s, uint32_t *ticks)
{
    uint64_t due_ms = timer_ms(s);
    if (due_ms <= s->agenda.heap.at[0].at_ms) {
        struct event tick = {.kind = EVENT_TICK};
        if (due_ms > s->now_ms) {
            s->now_ms = due_ms;
            *ticks = 0;
        }
        (void)sim_server_feed(s, &tick, NULL);
        if (++*ticks > TICKS_MOST)
            sim_fail(s, "a timer is due and does not fire");
        return;
    }
    struct agenda_item m = sim_agenda_pop(&s->agenda);
    s->now_ms = m.at_ms > s->now_ms ? m.at_ms : s->now_ms;
    *ticks = 0;
    handle(s, &m);
}

static void live(struct sim *s)
{
    uint64_t heal_from_ms = 0, heal_from_events = 0;
    uint32_t ticks = 0, most = s->opt.events ? s->opt.events : SIM_EVENTS_DEFAULT;
    sim_after(s, 1, (struct agenda_item){.kind = AGENDA_PLAN});
    sim_after(s, 500, (struct agenda_item){.kind = AGENDA_CHAOS});
    sim_after(s, 1000, (struct agenda_item){.kind = AGENDA_CARE});
    while (!s->report->failed) {
        if (s->phase == PHASE_CHAOS && (s->report->events >= most || s->opt.faults == 0)) {
            sim_trace_step(s, "healing after events", s->report->events);
            sim_chaos_heal(s);
            heal_from_ms = s->now_ms;
            heal_from_events = s->report->events;
        }
        if (s->phase == PHASE_HEAL && healed(s))
            break;
        if (s->phase == PHASE_HEAL && (s->now_ms - heal_from_ms > HEAL_MS_MOST ||
                                       s->report->events - heal_from_events > HEAL_EVENTS_MOST)) {
            wedged(s);
            break;
        }
        turn(s, &ticks);
        if (s->server.up && s->report->step % DESIRE_SAMPLE == 0)
            sim_desire_check(s, "after a step");
    }
}

static void finish(struct sim *s)
{
    struct sim_server *v = &s->server;
    uint64_t digest = 0;
    struct err e;
    if (s->report->failed)
        return;
    sim_check_end(s);
    sim_desire_check(s, "at the end");
    sim_server_image(s, v->durable);
    sim_server_verify(s);
    if (restore_replay(v->store, buf_str(&v->checkpoint), v->checkpoint_seq, &digest, &e) < 0 ||
        digest != anneal_digest(v->engine))
        sim_fail(s, "invariant 7: the digest of a replay up to the end differs");
    s->report->tasks = anneal_task_end(v->engine) - 1;
    s->report->trail = mix64(s->report->trail, digest);
}

void sim_run(const struct sim_options *o, struct sim_report *ret, struct buf *history)
{
    struct sim *s = xcalloc(1, sizeof *s);
    *ret = (struct sim_report){0};
    s->opt = *o;
    s->report = ret;
    sim_world_make(s);
    ret->nodes = s->n_nodes;
    ret->noderoles = s->want_noderoles;
    live(s);
    finish(s);
    ret->virtual_ms = s->now_ms;
    if (ret->failed && history)
        sim_trace_write(s, history);
    sim_world_free(s);
    vec_free_(s);
}
