/* cluster_state.h - what a cluster is, from what its noderoles are
 *
 * Pure, and the only place that decides it.  Nothing of it is stored: whichever operation ended
 * last, and however it ended, a cluster is what is there.  So it is right after a restart, after a
 * retry of one noderole, after the death of a node, and in a store that was written before this.
 *
 * A noderole was *made* if it was at its target once.  One that never was is missing: that makes a
 * cluster incomplete, where anything else that is not as it should be makes it inconsistent.
 * docs/rfc/08-clusters.md, section 8.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CLUSTER_STATE_H
#define SERVER_CLUSTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "model/states.h"

struct cluster_part { /* one noderole of a node of it */
    uint8_t state, target;
    bool made;
    bool held; /* its operation was cancelled: nothing of it starts by itself */
    bool dead; /* its node is */
};
struct cluster_sum {
    bool open; /* an operation on it is under way */
    /* Of what is wanted; a noderole may be missing besides whatever else it is: */
    uint32_t wanted;
    uint32_t missing; /* never made */
    uint32_t moves;   /* on its way */
    uint32_t waits;   /* for another */
    uint32_t stuck;   /* by itself it gets no further */
    /* Of what is not: */
    uint32_t going; /* on its way out */
    uint32_t left;  /* it would not go */
};
void cluster_sum_add(struct cluster_sum *s, const struct cluster_part *p);
enum cluster_state cluster_state_of(const struct cluster_sum *s);

#endif
