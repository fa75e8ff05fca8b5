/* cluster_state.c - what a cluster is, from what its noderoles are */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_state.h"

#include <stddef.h>

/* Where what is wanted is counted; NULL: it is where it should be. */
static uint32_t *place_of(struct cluster_sum *s, const struct cluster_part *p)
{
    switch ((enum noderole_state)p->state) {
    case NODEROLE_ACTIVE: return NULL;
    case NODEROLE_BLOCKED: return p->held ? &s->stuck : &s->waits;
    case NODEROLE_TODO:
    case NODEROLE_TRANSITION:
    case NODEROLE_STALE: return p->held || p->dead ? &s->stuck : &s->moves;
    case NODEROLE_PROPOSED:
    case NODEROLE_ERROR:
    case NODEROLE_REMOVING:
    case NODEROLE_REMOVED:
    case NODEROLE_STATE_COUNT: break;
    }
    return &s->stuck;
}

void cluster_sum_add(struct cluster_sum *s, const struct cluster_part *p)
{
    if (p->target == TARGET_ABSENT) {
        if (p->state != NODEROLE_REMOVED)
            *(p->state == NODEROLE_ERROR || p->held ? &s->left : &s->going) += 1;
        return;
    }
    uint32_t *place = place_of(s, p);
    s->wanted++;
    s->missing += !p->made;
    if (place)
        *place += 1;
}

enum cluster_state cluster_state_of(const struct cluster_sum *s)
{
    bool stands = s->stuck || s->left;
    if (!s->wanted)
        return s->left && !s->open ? CLUSTER_STATE_INCOMPLETE : CLUSTER_STATE_DELETING;
    if (s->open || (!stands && (s->moves || s->going)))
        return CLUSTER_STATE_PENDING;
    if (s->missing)
        return CLUSTER_STATE_INCOMPLETE;
    return stands || s->waits ? CLUSTER_STATE_INCONSISTENT : CLUSTER_STATE_ACTIVE;
}
