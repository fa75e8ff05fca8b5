/* lease.h - which attempts somebody still answers for
 *
 * Soft state beside the engine: when each open attempt was last claimed.  An attempt that was sent,
 * or claimed by a worker's beat, and is then not heard of for the lease is reported as lost; what
 * that means its `repeat` decides.  After a restart every open attempt gets the grace to be
 * claimed.  Nothing is ever sent again under the same number: nobody can tell whether the first
 * message was acted on.  Pure; time is an argument.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_LEASE_H
#define SERVER_LEASE_H

#include <stdint.h>

#include "model/taskmsg.h"

struct lease;
struct lease *lease_new(uint64_t lease_ms);
void lease_free(struct lease *l);
/* Sent, or asked again. */
void lease_hold(struct lease *l, uint32_t task, uint32_t attempt, uint64_t heard_ms);
/* Found open at start: runs out at until_ms unless a worker claims it. */
void lease_restore(struct lease *l, uint32_t task, uint32_t attempt, uint64_t until_ms);
/* All workers there can be have said what they hold: what was restored and not claimed is lost now.
 */
void lease_all_reported(struct lease *l, void (*fn)(void *arg, uint32_t task, uint32_t attempt),
                        void *arg);
/* Claimed by a HELLO or BEAT; unknown ones are ignored. */
void lease_claim(struct lease *l, uint32_t task, uint32_t attempt, uint64_t now_ms);
void lease_drop(struct lease *l, uint32_t task, uint32_t attempt);
/* Calls fn for each attempt whose lease has run out and drops it; O(open attempts). */
void lease_expire(struct lease *l, uint64_t now_ms,
                  void (*fn)(void *arg, uint32_t task, uint32_t attempt), void *arg);
size_t lease_count(const struct lease *l);

#endif
