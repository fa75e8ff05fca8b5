/* probing.h - the watch of nodes: are they there, and are they who they were
 *
 * One observation for all nodes (docs/rfc/09-fleet.md, section 8).  Every second it sends the
 * probes that are due to workers, in batches, and no more than a bounded number at a time.  What
 * comes back becomes an event of the engine only if it tells something new: a node that is there as
 * it was costs no event, no row and no commit.
 *
 * A failed use of a node starts a probe and counts for nothing; one that reached it is a sight.
 * Without a worker nobody looks, and no silence is counted: that is our own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PROBING_H
#define SERVER_PROBING_H

#include "server/pulse.h"
#include "server/server_i.h"

void probing_load(struct server *s); /* all nodes of the store, spread over a while */
void probing_beat(struct server *s); /* once a second */
/* Answers of a worker to probes.  False: not now, the message must be kept. */
bool probing_answers(struct worker_info *w, const struct taskmsg *m);
/* A result of this task came: did it reach its node? */
void probing_used(struct server *s, uint32_t task, const struct taskmsg *result);
/* Somebody said that it is there, or that it is dead, which is not gainsaid at once. */
void probing_told(struct server *s, uint32_t node, bool alive);
/* It is reached in another way, or was not reached: it is looked for at once. */
void probing_hurry(struct server *s, uint32_t node);

/* ---- what people see of it (probing_words.c) ---- */

/* {at, result, text, seen_at, seen_by, silent_since}, or null if nobody looked yet. */
struct value *probing_view(struct server *s, struct arena *mem, uint32_t node);
/* ": it has not answered since ...; tried 10.0.0.1, 10.0.0.2: no route to host"; "" if nothing is
 * known. */
const char *probing_words(struct server *s, struct arena *mem, uint32_t node);
/* What helps with a node that is not alive, or that does not let us in: a command where there is
 * one.
 */
const char *probing_remedy(struct server *s, struct arena *mem, uint32_t node);
/* Does something that is not trusted answer in its place? */
bool probing_untrusted(const struct server *s, uint32_t node);
/* Reasons of a node that are not the engine's: silent, host-key-changed, auth, unable. */
void probing_why(struct why_answer *w, uint32_t node);
/* Of something that is on it: what keeps us from an alive node. */
void probing_why_on(struct why_answer *w, uint32_t node);

/* attention.c: [{rule, text, remedy, count, node}] */
struct value *attention_view(struct server *s, struct arena *mem);

#endif
