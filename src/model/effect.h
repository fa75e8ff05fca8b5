/* effect.h - what the engine wants done, as values
 *
 * One struct effects is filled by each step and read by the commit step: rows to write, messages to
 * send once they are durable, changes to publish.  The engine clears it at the start of a step.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_EFFECT_H
#define MODEL_EFFECT_H

#include "base/alloc.h"
#include "model/rows.h"

struct change {    /* a row differs from what was last told; from == to: some other column */
    uint8_t table; /* enum row_table */
    uint8_t from, to, reason;
    uint32_t id;
};
struct dispatch { /* send this attempt to a worker (again, if asks > 0) */
    uint32_t task, attempt, asks;
    uint32_t behind; /* it is not to begin before this task, sent just before, has succeeded */
};
struct attempt_row {
    uint8_t verb; /* ROW_INSERT or ROW_UPDATE */
    struct row_attempt row;
};
struct effects {
    VEC(struct change) changes;
    VEC(struct attempt_row) attempts;
    VEC(struct dispatch) sends;
    VEC(struct dispatch) turns; /* sent ahead before, these have begun now */
    VEC(struct dispatch) stops; /* end these attempts */
    VEC(uint32_t) cones;        /* noderoles whose loss spread far */
    VEC(uint32_t) gained;       /* noderoles of which a need that slept counts from now on */
    uint32_t stalled;           /* an operation found stalled, 0 if none; the changes show all */
};
void effects_clear(struct effects *fx);
void effects_done(struct effects *fx);

#endif
