/* sim_hooks.c - hooks in the simulated world: rounds and stores as the server has them, and what
 * must be true of both
 *
 * Every third noderole is a mirror: at each of its events a hook writes the event into the store of
 * its role, and when it is gone another takes it out.  So a store shows what its noderoles are,
 * after every step and after every restart: a transition without its hook, a hook without its
 * transition, or one in the wrong order is seen at once.
 *
 * While things go wrong, hooks of others set data and ask for runs.  What they do depends on who
 * and what it is about, not on chance, so that running one twice is the same.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_i.h"

#include <stdio.h>

enum { MIRROR_EACH = 3, ACTOR_EACH = 4, STORES = 5, OF_STATES = 6 };

static const uint32_t mirrored = 1u << HOOK_ON_BLOCKED | 1u << HOOK_ON_TODO |
                                 1u << HOOK_ON_TRANSITION | 1u << HOOK_ON_ERROR |
                                 1u << HOOK_ON_ACTIVE | 1u << HOOK_ON_REMOVED;
/* At these a hook may act: what follows from it comes to an end. */
static const uint32_t acting = 1u << HOOK_ON_BLOCKED | 1u << HOOK_ON_TODO | 1u << HOOK_ON_ERROR |
                               1u << HOOK_ON_REMOVED;

static bool on(const struct sim *s)
{
    return s->opt.faults >> SIM_HOOKS & 1;
}

static bool is_mirror(uint32_t noderole)
{
    return noderole % MIRROR_EACH == 1;
}

static uint32_t mask_of(void *ctx, uint32_t noderole)
{
    const struct sim *s = ctx;
    uint32_t events = is_mirror(noderole) ? mirrored : 0;
    return noderole % ACTOR_EACH == 0 && s->phase == PHASE_CHAOS ? events | acting : events;
}

/* ---- what hooks do ---- */

static void store_row(void *arg, enum row_verb verb, const struct row_role_store *row)
{
    struct sim *s = arg;
    commit_row(s->server.commit, ROWS_ROLE_STORE, verb, row);
}

static uint32_t store_number(uint32_t noderole)
{
    return 1 + noderole % STORES;
}

static void mirror(struct sim *s, const struct hook_turn *t)
{
    char path[32];
    struct err e;
    struct value v = {.kind = VALUE_INT, .i = t->event};
    snprintf(path, sizeof path, "nodes/n%u", t->id);
    struct hook_store_edit edit = {str_of(path), t->event == HOOK_ON_REMOVED ? NULL : &v};
    if (hook_store_edit(s->server.stores, store_number(t->id), &edit, 1, &e) < 0)
        sim_fail(s, "the store of noderole %u: %s", t->id, e.text);
}

static void act(struct sim *s, const struct hook_turn *t)
{
    const struct anneal *a = s->server.engine;
    uint64_t draw = mix64(mix64(s->opt.seed, t->id), t->event);
    struct noderole_view v;
    s->report->faults[SIM_HOOKS]++;
    if (draw % 3 == 0 && anneal_noderole(a, t->id, &v)) {
        struct event ev = {.kind = EVENT_DATA_SET, .id = t->id, .a = draw | 1};
        (void)sim_server_apply(s, &ev, NULL);
    } else if (anneal_noderole_end(a) > 1) {
        hook_rounds_enqueue(&s->server.rounds, 1 + (uint32_t)(draw % (anneal_noderole_end(a) - 1)));
    }
}

static void turn(void *ctx, const struct hook_turn *t)
{
    struct sim *s = ctx;
    if (s->report->failed)
        return;
    if (is_mirror(t->id))
        mirror(s, t);
    if (t->id % ACTOR_EACH == 0 && acting >> t->event & 1 && s->phase == PHASE_CHAOS)
        act(s, t);
}

static void rerun(void *ctx, const uint32_t *ids, uint32_t n)
{
    struct sim *s = ctx;
    for (uint32_t i = 0; i < n && !s->report->failed; i++) {
        struct noderole_view v;
        struct operation_view op;
        if (i && ids[i] <= ids[i - 1])
            sim_fail(s, "runs that hooks asked for are out of order at noderole %u", ids[i]);
        if (!anneal_noderole(s->server.engine, ids[i], &v) || v.state == NODEROLE_ERROR ||
            v.target == TARGET_ABSENT)
            continue;
        bool open = anneal_operation(s->server.engine, v.operation, &op) &&
                    op.state == OPERATION_RUNNING;
        struct event ev = {.kind = EVENT_RERUN,
                           .op = open ? v.operation : OPERATION_STANDING,
                           .ids = &ids[i],
                           .n_ids = 1};
        if (sim_server_apply(s, &ev, NULL) < 0)
            sim_fail(s, "a run of noderole %u that a hook asked for was refused", ids[i]);
    }
}

static void ring(void *ctx, const struct hook_turn *turns, uint32_t n)
{
    struct sim *s = ctx;
    if (n == 0 || n > HOOK_RING_TOLD)
        sim_fail(s, "a ring of %u hooks is told", n);
    for (uint32_t i = 0; i < s->server.rounds.due.n; i++) /* what is dropped is not mirrored */
        if (is_mirror(s->server.rounds.due.at[i].id))
            mirror(s, &s->server.rounds.due.at[i]);
    (void)turns;
}

/* ---- with the server ---- */

void sim_hooks_boot(struct sim *s)
{
    s->server.stores = hook_stores_new(store_row, s);
}

void sim_hooks_drop(struct sim_server *v)
{
    hook_stores_free(v->stores);
    v->stores = NULL;
    hook_rounds_done(&v->rounds);
}

void sim_hooks_collect(struct sim *s, const struct event *ev, const struct effects *fx)
{
    if (on(s))
        hook_rounds_collect(&s->server.rounds, s->server.engine, ev, fx, mirrored, mask_of, s);
}

/* The event that a mirror must have written last, given what its noderole is. */
static bool shows(const struct noderole_view *v, int64_t event)
{
    switch ((enum noderole_state)v->state) {
    case NODEROLE_BLOCKED: return event == HOOK_ON_BLOCKED;
    case NODEROLE_TODO: return event == HOOK_ON_TODO;
    case NODEROLE_STALE: return event == HOOK_ON_TODO || event == HOOK_ON_TRANSITION;
    case NODEROLE_TRANSITION: return event == HOOK_ON_TRANSITION;
    case NODEROLE_ACTIVE: return event == HOOK_ON_ACTIVE;
    case NODEROLE_ERROR: return event == HOOK_ON_ERROR;
    case NODEROLE_REMOVING: return true; /* has no hook: what was before is shown */
    case NODEROLE_PROPOSED:
    case NODEROLE_REMOVED:
    case NODEROLE_STATE_COUNT: break;
    }
    return false;
}

void sim_hooks_check(struct sim *s, const char *when)
{
    struct sim_server *v = &s->server;
    uint32_t counts[STORES + 1] = {0};
    if (!on(s))
        return;
    for (uint32_t id = 1; id < anneal_noderole_end(v->engine); id++) {
        struct noderole_view view;
        char key[16];
        if (!is_mirror(id) || !anneal_noderole(v->engine, id, &view))
            continue;
        snprintf(key, sizeof key, "n%u", id);
        const struct value *nodes = value_get(hook_store_get(v->stores, store_number(id)), "nodes");
        int64_t event = value_as_int(value_get(nodes, key), -1);
        counts[store_number(id)]++;
        if (!shows(&view, event))
            sim_fail(s, "hooks: %s noderole %u is %s, its store shows event %lld", when, id,
                     noderole_state_name((enum noderole_state)view.state), (long long)event);
    }
    for (uint32_t i = 1; i <= STORES; i++) {
        const struct value *nodes = value_get(hook_store_get(v->stores, i), "nodes");
        if ((nodes ? nodes->n : 0) != counts[i])
            sim_fail(s, "hooks: %s store %u shows %u noderoles, %u are there", when, i,
                     nodes ? nodes->n : 0, counts[i]);
    }
}

void sim_hooks_settle(struct sim *s)
{
    struct sim_server *v = &s->server;
    struct hook_round_ops ops = {.ctx = s, .turn = turn, .rerun = rerun, .ring = ring};
    if (!on(s) || s->report->failed || v->rounds.running || v->rounds.due.n == 0)
        return;
    commit_join(v->commit, true);
    hook_rounds_run(&v->rounds, v->engine, &ops);
    commit_join(v->commit, false);
    hook_stores_flush(v->stores);
    if (s->report->step % 16 == 0)
        sim_hooks_check(s, "after a step");
}

void sim_hooks_load(struct sim *s)
{
    struct err e;
    sim_hooks_boot(s);
    if (hook_stores_load(s->server.stores, s->server.store, &e) < 0)
        sim_fail(s, "hooks: %s", e.text);
    sim_hooks_check(s, "after a restart");
}
