/* restore.h - from stored rows to an engine and a commit step, arming nothing */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RESTORE_H
#define SERVER_RESTORE_H

#include "server/commit.h"
#include "store/store.h"

/* Reads every engine row, with what was put aside for it (aside.h); writes nothing.  On success
 * *ret_a and *ret_c are new, and memory equals the store. */
int restore_engine(struct store *s, struct anneal **ret_a, struct commit **ret_c,
                   struct row_meta *ret_meta, struct err *e);
/* Replays the journal from a checkpoint to its end on a new engine, which is the caller's.  What it
 * ran with is in both: a replay takes no settings. */
int restore_replay_engine(struct store *s, struct str checkpoint, uint64_t from_seq,
                          struct anneal **ret_a, struct err *e);
/* As above: the digest of that engine, which must equal the stored state's. */
int restore_replay(struct store *s, struct str checkpoint, uint64_t from_seq, uint64_t *ret_digest,
                   struct err *e);

#endif
