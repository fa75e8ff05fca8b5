/* store.h - the durable truth: rows in, rows out, one writer
 *
 * Knows tables and columns (model/rows.h), nothing of what they mean.  Two backends with one
 * interface and one test suite: SQLite (WAL, synchronous=FULL) and memory (for the simulator).
 * store_commit() is called from one thread at a time, the writer; readers are separate handles for
 * other threads.
 *
 * Failure: a refused commit changed nothing.  ERR_DISK_FULL, ERR_BUSY (another process holds the
 * database) and ERR_CORRUPT name the file and the remedy.  When the outcome of a commit is unknown,
 * the caller opens anew and compares row_meta.group_no.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>

#include "base/err.h"
#include "model/rows.h"

struct store;
struct store_options {
    const char *path; /* SQLite file; NULL: memory */
    bool read_only;   /* a reader: no migration, no lock */
    bool as_is;       /* an older schema is refused instead of migrated */
    bool no_sync;     /* tests and benchmarks only: synchronous=OFF */
};
/* Takes the lock file path.lock (a second server: ERR_BUSY naming its pid), migrates, checks that
 * the schema is ours and not newer, that the last group is whole. */
int store_open(const struct store_options *o, struct store **ret_s, struct err *e);
void store_close(struct store *s);

/* One transaction.  n may be thousands.  INSERT of a key that is there and UPDATE of one that is
 * not are ERR_INTERNAL; DELETE of one that is not does nothing.  Not from within a store_row_f. */
int store_commit(struct store *s, const struct row_op *ops, size_t n, struct err *e);

/* Each row of a table in key order; fn returns 0 to go on, anything else is returned as it is.  Row
 * and its texts are valid during fn; an empty text is "", never NULL. */
typedef int store_row_f(void *arg, enum row_table t, const void *row, struct err *e);
int store_each(struct store *s, enum row_table t, store_row_f *fn, void *arg, struct err *e);
/* As store_each for keys in [from, to], at most limit rows (0: all), descending if asked. */
int store_range(struct store *s, enum row_table t, uint64_t from, uint64_t to, bool descending,
                uint32_t limit, store_row_f *fn, void *arg, struct err *e);
/* Attempts whose outcome is ATTEMPT_OPEN, by a partial index. */
int store_each_open_attempt(struct store *s, store_row_f *fn, void *arg, struct err *e);
/* Attempts of an operation with ids in [from, to], by an index; as store_range(). */
int store_attempts_of(struct store *s, uint32_t operation, uint64_t from, uint64_t to,
                      bool descending, uint32_t limit, store_row_f *fn, void *arg, struct err *e);
/* How many there are of it, from the index alone. */
int store_attempts_count(struct store *s, uint32_t operation, uint64_t *ret_n, struct err *e);
/* Deletes the lowest `slice` keys of [from, to] (0: all of them) in one transaction, for retention.
 * Fewer deleted than `slice`: none is left. */
int store_trim(struct store *s, enum row_table t, uint64_t from, uint64_t to, uint32_t slice,
               uint32_t *ret_deleted, struct err *e);

/* Checkpoints: opaque chunks under a journal number. */
int store_checkpoint_put(struct store *s, uint64_t seq, uint32_t chunk, bool last, struct str body,
                         struct err *e);
/* The newest complete checkpoint at or below `seq`; 0 if none. */
int store_checkpoint_find(struct store *s, uint64_t seq, uint64_t *ret_seq, struct err *e);
int store_checkpoint_read(struct store *s, uint64_t seq, struct buf *ret_body, struct err *e);
int store_checkpoint_drop(struct store *s, uint64_t below_seq, struct err *e);

/* Online copy to a new file that is whole and checked; refuses to overwrite.  progress may be NULL.
 * May run on another thread beside commits through the same handle. */
int store_backup(struct store *s, const char *to_path,
                 void (*progress)(void *arg, int done, int total), void *arg, struct err *e);
/* Offline: checks `from`, then puts it in place of `to`, which no server may hold open.  The old
 * file is kept beside it as .before-restore, .before-restore.2, ... */
int store_restore(const char *from, const char *to, struct err *e);
/* Of a restored file that no server has opened yet: another history begins.  Nodes have heard of
 * what came after the backup and refuse what is older (docs/rfc/09-fleet.md), so its fence rises.
 * Leaves one file, without a log. */
int store_restored(const char *path, uint64_t now_s, struct err *e);
/* PRAGMA integrity_check on a handle of its own; for the background. */
int store_check_full(const char *path, struct err *e);
uint64_t store_bytes(struct store *s);

/* Memory backend only: a second handle on the same rows, as after a crash: sees what was
 * committed. */
struct store *store_mem_reopen(struct store *s);
/* Fault injection for tests and the simulator: fail the n-th commit from now (1 = next) with this
 * code; after = true: the commit succeeds but reports failure (outcome unknown). */
void store_inject(struct store *s, uint32_t nth, enum errcode code, bool after);

#endif
