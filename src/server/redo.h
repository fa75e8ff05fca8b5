/* redo.h - rows of a group that is too large for one transaction
 *
 * A large loss changes more rows than one transaction should hold.  They are first written together
 * as bytes, a few large rows that cost little; the transaction that makes the group true comes
 * next; then each row goes to its place, some thousands at a time, and the bytes go.  A restart
 * that finds such bytes puts the rows in place itself if their group is the one that is stored, and
 * drops them if that group never came to be.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_REDO_H
#define SERVER_REDO_H

#include "base/arena.h"
#include "store/store.h"

/* The bytes of a redo row for this group, without any rows yet. */
void redo_begin(struct buf *b, uint64_t group);
/* One more row that it will update. */
void redo_add(struct buf *b, enum row_table t, const void *row);
/* Puts in place what a crash left over of `group`, the last one stored; drops what is of another.
 */
int redo_finish(struct store *s, uint64_t group, struct err *e);

#endif
