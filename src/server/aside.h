/* aside.h - rows that are newer than what lies in their place
 *
 * A group that changes many rows far from one another would write a page of the file for each of
 * them, once to the log and once more from there.  Such rows are put aside: their bytes go together
 * into one row of `aside`, in the group's own transaction.  They go to their places later, when a
 * sweep over all ids comes by and finds many of them on a page; what was put aside before the
 * sweep's last whole turn is dropped then.  The rows of a loss too large for one transaction are
 * put aside in several parts, each a transaction, before the one that makes the group true.
 *
 * A noderole that vanished is put aside as one in state REMOVED; in its place that is no row.
 *
 * Promise: a row in its place, with all that was put aside for it up to the last group laid over it
 * in order, is that row as of the last group.  Reading needs no writing, so that memory can be read
 * back from a disk that is full.  Only rows that nobody but a restart reads are put aside, and the
 * store itself before a migration: the bytes have today's columns (store/store_migrate_aside.c).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ASIDE_H
#define SERVER_ASIDE_H

#include "base/alloc.h"
#include "base/arena.h"
#include "store/store.h"

enum { ASIDE_TABLES = 2, ASIDE_WORD = 64 };
extern const enum row_table aside_tables[ASIDE_TABLES];

struct aside_part {
    uint64_t id;
    uint32_t rows;
};
struct aside {
    struct {
        VEC(uint64_t) words; /* a bit by id: what lies in its place is old */
        VEC(uint64_t) group; /* by id: the last group that put it aside, 0 if none */
    } of[ASIDE_TABLES];
    uint64_t count; /* of these bits */
    size_t table;   /* where the sweep is */
    size_t word;
    uint64_t began;              /* the group in which its turn began */
    uint64_t settled;            /* what groups up to this one put aside is in its place */
    VEC(struct aside_part) kept; /* what is stored, oldest first */
    size_t dropped;              /* of these */
    uint64_t rows;               /* in those that are left */
    VEC(uint64_t) unborn; /* of a group that never came to be: to go before its number is used */
};
void aside_done(struct aside *a);
bool aside_takes(enum row_table t);
/* Is something still kept that was put aside for it?  Then it cannot be written in its place alone:
 * a restart would lay the older over the newer. */
bool aside_has(const struct aside *a, enum row_table t, uint32_t id);
void aside_note(struct aside *a, enum row_table t, uint32_t id, uint64_t group);
/* The id under which a group's part is stored; remembered until it may be dropped. */
uint64_t aside_keep(struct aside *a, uint64_t group, uint32_t part, uint32_t rows);
size_t aside_parts(const struct aside *a); /* that are kept */
/* One more row in the bytes of a part. */
void aside_put(struct buf *b, enum row_table t, const void *row);

/* The sweep goes on: about `rows` rows are to be written in their places by this group. */
typedef void aside_place_f(void *arg, enum row_table t, uint32_t id);
void aside_sweep(struct aside *a, uint64_t group, size_t rows, aside_place_f *place, void *arg);
/* A row of `aside` that is not needed any more; false if there is none. */
bool aside_drop(struct aside *a, uint64_t *ret_id);

/* What the store has aside, for reading the tables in their order. */
struct aside_ref {
    struct str bytes; /* of the row */
    uint32_t id, order;
    uint8_t table;
};
struct aside_rows {
    struct arena mem;
    VEC(struct aside_ref) refs; /* the newest of each row, by table and id */
    size_t at;
};
int aside_read(struct store *s, uint64_t group, struct aside *ret_a, struct aside_rows *ret_r,
               struct err *e);
void aside_rows_done(struct aside_rows *r);
/* The row as of the last group: `row`, or `room` with what is newer.  Rows of a table are asked for
 * in ascending order. */
int aside_over(struct aside_rows *r, enum row_table t, const void *row, union row_any *room,
               const void **ret_row, struct err *e);
/* ERR_CORRUPT if something was put aside for a row that is not there. */
int aside_end(struct aside_rows *r, struct err *e);

#endif
