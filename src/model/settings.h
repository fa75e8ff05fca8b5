/* settings.h - what the engine runs with besides its state and its events
 *
 * Numbers that decide what an event leads to: after how long a silent node is dead, how long an
 * attempt may take.  Another number is another history, so they are state themselves: set by an
 * event, kept as a row, and the same in a replay whatever the server is started with today.
 *
 * To add one: a line at the end of the list, its column in the next sql/NNNN-*.sql; journal, row,
 * checkpoint and comparison follow.  In an event of before it is missing, which is the default:
 * that must be what the engine did until then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SETTINGS_H
#define MODEL_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

/* M(x, name, default); x is handed through */
#define ENGINE_SETTINGS(M, x)                                                                      \
    M(x, dead_after_ms, 60 * 1000)     /* of silence, until a node is dead */                      \
    M(x, probe_count, 3)               /* probes that it must have missed as well */               \
    M(x, suspect_percent, 20)          /* more silent nodes than this: the fault is ours */        \
    M(x, suspect_min, 5)               /* but not with fewer than so many */                       \
    M(x, timeout_ms, 24 * 3600 * 1000) /* of an attempt whose definition has none */               \
    M(x, stop_grace_ms, 30 * 1000)     /* from telling an attempt to stop to calling it lost */    \
    M(x, cone_large, 5000)             /* noderoles: a loss of so many is written in slices */

struct engine_settings { /* 0: the default */
#define FIELD(x, name, otherwise) uint64_t name;
    ENGINE_SETTINGS(FIELD, )
#undef FIELD
};
/* Defaults where nothing is said. */
void engine_settings_fill(struct engine_settings *s);
bool engine_settings_equal(const struct engine_settings *x, const struct engine_settings *y);

#endif
