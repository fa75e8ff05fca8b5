/* hook_round.h - which hooks are due after a step of the engine, in which order, and for how long
 *
 * Transitions are collected from the effects of a step and wait as *turns*.  When everything has
 * settled they are run in rounds: the turns of a round in order of (cohort, id), then the runs that
 * they asked for, all together.  What that changes in turn makes the next round.  After HOOK_ROUNDS
 * of them what is still due is a ring: it is told by name and dropped.
 *
 * Part of the commit step: knows ids and events, performs nothing, so that the server and the
 * simulator run the same code.  docs/rfc/06-desired-state.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOK_ROUND_H
#define SERVER_HOOK_ROUND_H

#include "annealer/annealer.h"
#include "base/map.h"
#include "model/hooks.h"

enum { HOOK_ROUNDS = 4, HOOK_RING_TOLD = 8 };

struct hook_turn {
    uint32_t id; /* of a noderole; HOOK_ON_NODE_CHANGE: of a node */
    uint8_t event;
    uint8_t from; /* HOOK_ON_NODE_CHANGE: what was believed of the node before */
    uint32_t cohort, order;
};
struct hook_rounds {            /* all-zero is valid */
    VEC(struct hook_turn) due;  /* of the round that comes */
    struct u64map noted;        /* event << 32 | id -> index in due */
    VEC(struct hook_turn) ring; /* of the rounds behind the first */
    VEC(uint32_t) runs;         /* noderoles to run again after this round */
    uint32_t noting;            /* turns noted so far */
    bool running;
};
void hook_rounds_done(struct hook_rounds *r);
void hook_rounds_clear(struct hook_rounds *r); /* nothing is due any more */

/* Events of hooks that a noderole's role has, as a set.  Asked for noderoles that a plan just
 * brought as well, and for those that are just gone. */
typedef uint32_t hook_mask_f(void *ctx, uint32_t noderole);
/* What a step of the engine did.  `any`: events that some role has a hook for; with 0 it costs
 * nothing.
 *
 * A state entered is an event: BLOCKED, TODO, TRANSITION, ERROR, ACTIVE, REMOVED.  STALE is TODO
 * again; when the first task of its run starts, that is TRANSITION.  A noderole that a plan brings
 * enters BLOCKED unless it gets further.  What went and came back within the step did not happen.
 * A node of which something else is believed has changed. */
void hook_rounds_collect(struct hook_rounds *r, const struct anneal *a, const struct event *ev,
                         const struct effects *fx, uint32_t any, hook_mask_f *mask, void *ctx);
/* It was seen to otherwise. */
void hook_rounds_drop(struct hook_rounds *r, uint32_t id, enum hook_event event);
/* Run this noderole again, after this round; many times are once. */
void hook_rounds_enqueue(struct hook_rounds *r, uint32_t noderole);

struct hook_round_ops {
    void *ctx;
    /* One turn: what it changes joins the open group at once, and may be collected. */
    void (*turn)(void *ctx, const struct hook_turn *t);
    void (*rerun)(void *ctx, const uint32_t *ids, uint32_t n); /* in the order of ids */
    void (*ring)(void *ctx, const struct hook_turn *turns, uint32_t n);
};
/* Until nothing is due.  Within itself it does nothing: what is collected there waits its round. */
void hook_rounds_run(struct hook_rounds *r, const struct anneal *a,
                     const struct hook_round_ops *ops);

#endif
