/* pulse.h - which nodes are to be asked whether they are there, and when
 *
 * Soft state beside the engine: when each node is due, whether a probe of it is under way, and what
 * came of the last one.  What is believed of a node is the engine's; what a probe is, and by whom
 * it is done, is the caller's (probing.c).  Pure; time is an argument, nodes are their ids.
 *
 * A node is due at one moment, always: at the next probe, or, while one is under way, when that is
 * given up for lost.  Moments lie on a wheel of seconds, so that a second costs the nodes that are
 * due in it and a few that happen to lie there, however many there are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PULSE_H
#define SERVER_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "model/states.h"
#include "model/taskmsg.h"

enum {
    PULSE_TICK_MS = 1000,
    PULSE_LOST_MS = 60 * 1000, /* a probe that is not answered by then was lost on the way */
    PULSE_SPREAD_MS = 20,      /* a node at a start, so that all are not asked at once */
};

struct pulse;
struct pulse *pulse_new(uint64_t interval_ms, uint64_t now_ms);
void pulse_free(struct pulse *p);

/* Watched from now on, and due then, or at once if that is past.  Who it is will be asked. */
void pulse_add(struct pulse *p, uint32_t node, uint64_t due_ms);
void pulse_drop(struct pulse *p, uint32_t node);
bool pulse_has(const struct pulse *p, uint32_t node);
/* When a node is first due after a start: all within the interval, or within as long as asking so
 * many who they are should take. */
uint64_t pulse_spread(const struct pulse *p, uint32_t node, uint32_t nodes);
/* How long until the next probe of a node of which this is believed, after so many in vain. */
uint64_t pulse_pause(const struct pulse *p, enum alive_state alive, bool silent, uint32_t vain);
uint64_t pulse_longest(const struct pulse *p); /* of these */

/* Makes ready whose moment has come.  Then the first of those that are ready, 0: none is.  It stays
 * that until the caller has said what becomes of it: pulse_asked(), pulse_later() or pulse_drop().
 */
void pulse_turn(struct pulse *p, uint64_t now_ms);
uint32_t pulse_next(struct pulse *p);

/* A probe of it leaves.  Returns its number. */
uint64_t pulse_asked(struct pulse *p, uint32_t node, bool who, uint64_t now_ms);
void pulse_later(struct pulse *p, uint32_t node, uint64_t due_ms); /* not before the next turn */
/* Not before then, whatever is under way: the answer to that is nobody's. */
void pulse_put_off(struct pulse *p, uint32_t node, uint64_t due_ms);
/* Due at once, or as soon as the probe under way has ended, and to be asked who it is. */
void pulse_hurry(struct pulse *p, uint32_t node);
bool pulse_wants_who(const struct pulse *p, uint32_t node);
uint32_t pulse_flying(const struct pulse *p); /* probes under way */

/* What came of it.  False: nobody waits for this one: it was given up, or told before.  Then the
 * node is due when pulse_later() says, or at once if it was hurried meanwhile. */
bool pulse_answered(struct pulse *p, uint32_t node, const struct probe_answer *a, uint64_t now_ms);
/* Another thing is believed of it: pauses begin anew. */
void pulse_turned(struct pulse *p, uint32_t node);
/* It was seen by other means. */
void pulse_seen(struct pulse *p, uint32_t node, const char *how, uint64_t now_ms);

struct pulse_look {     /* of one node; times are 0 for never */
    uint64_t tried_ms;  /* the last probe that was answered, by whatever */
    enum probe_end end; /* and by what */
    bool who;           /* it asked which machine it is, too; or the one under way does */
    const char *text;   /* "" if there is nothing to say; until the next answer */
    uint64_t seen_ms;   /* when it was last known to be there */
    const char *how;    /* by which means: "probe", "task", "report" */
    uint64_t since_ms;  /* it has not answered since; 0: it did answer */
    uint32_t tries;     /* in a row that it did not answer */
    uint32_t vain;      /* of these, since another thing is believed of it */
};
bool pulse_look(const struct pulse *p, uint32_t node, struct pulse_look *ret);
const uint64_t *pulse_counts(const struct pulse *p); /* by enum probe_end, in all */

#endif
