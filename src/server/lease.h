/* lease.h - which attempts somebody still answers for, and who
 *
 * Soft state beside the engine: which worker each open attempt was given to and when it was last
 * claimed.  One that was sent, or claimed by a worker's beat, and is then not heard of for its
 * lease is reported as over; what that means is the caller's to say.  After a restart every open
 * attempt gets the grace to be claimed.  Pure; time is an argument, workers are numbers from 1.
 *
 * An attempt that waits behind another one of a chain takes no place of its worker's until that one
 * has ended: then it has that place.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_LEASE_H
#define SERVER_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lease;
struct lease *lease_new(void);
void lease_free(struct lease *l);
struct lease_given {
    uint32_t task, attempt;
    uint32_t worker;                 /* 0: nobody was there to get it */
    uint32_t behind, behind_attempt; /* whose place it takes when that has ended; 0: it has one */
    uint64_t lease_ms;
};
/* Sent, or asked again: whoever had it has it no longer. */
void lease_hold(struct lease *l, const struct lease_given *g, uint64_t now_ms);
/* Found open at start: runs out at until_ms unless a worker claims it. */
void lease_restore(struct lease *l, uint32_t task, uint32_t attempt, uint64_t lease_ms,
                   uint64_t until_ms);
typedef void lease_over_f(void *arg, uint32_t task, uint32_t attempt);
/* All workers there can be have said what they hold: what was restored and not claimed is over. */
void lease_all_reported(struct lease *l, lease_over_f *fn, void *arg);
enum lease_claim {
    LEASE_UNKNOWN, /* it is nobody's */
    LEASE_YOURS,
    LEASE_OTHERS, /* it was given to somebody else since */
};
enum lease_claim lease_claim(struct lease *l, uint32_t task, uint32_t attempt, uint32_t worker,
                             uint64_t now_ms);
uint32_t lease_holder(const struct lease *l, uint32_t task, uint32_t attempt); /* 0: nobody */
struct lease_view {
    uint32_t worker;   /* 0: nobody */
    uint64_t heard_ms; /* when it was sent or claimed last; 0: not since the start */
    uint64_t over_ms;  /* when it runs out if nothing is heard until then */
};
/* False: it is nobody's. */
bool lease_find(const struct lease *l, uint32_t task, uint32_t attempt, struct lease_view *ret_v);
void lease_drop(struct lease *l, uint32_t task, uint32_t attempt);
/* Calls fn for each attempt whose lease has run out and drops it; O(open attempts). */
void lease_expire(struct lease *l, uint64_t now_ms, lease_over_f *fn, void *arg);
size_t lease_count(const struct lease *l);
uint32_t lease_places(const struct lease *l, uint32_t worker); /* taken of this worker's */

#endif
