/* hook_store.h - what roles keep for themselves: one JSON map for each role, with a revision
 *
 * Written by hooks of the role only, read by them and by whoever asks.  Kept as a tree that is
 * changed in place, so that thousands of hooks in a row cost what they change; a row is written
 * once for all of them, by hook_stores_flush(), which must come before the group closes.  Until
 * then everything since the last flush can be taken back.
 *
 * A store is known by the number that desired state has for its role, so that it outlives catalogs
 * without the role.  Keys keep the order in which they came, also over a restart: a hook that goes
 * through a map sees the same.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_HOOK_STORE_H
#define SERVER_HOOK_STORE_H

#include "base/err.h"
#include "base/value.h"
#include "store/store.h"

enum { HOOK_STORE_BYTES = 1 << 20 }; /* of one role's, about */

struct hook_stores;
typedef void hook_store_row_f(void *arg, enum row_verb verb, const struct row_role_store *row);
/* row is told each row that changes. */
struct hook_stores *hook_stores_new(hook_store_row_f *row, void *arg);
void hook_stores_free(struct hook_stores *all);
int hook_stores_load(struct hook_stores *all, struct store *from, struct err *e);

/* A map, empty if nothing was kept; borrowed until the next change of this store. */
const struct value *hook_store_get(struct hook_stores *all, uint32_t role);
uint32_t hook_store_rev(const struct hook_stores *all, uint32_t role); /* 0: never written */

struct hook_store_edit {
    struct str path;       /* "a/b/c" */
    const struct value *v; /* NULL: what is there goes; copied */
};
/* All of them or none.  ERR_INVALID for a path through something that is no map, ERR_LIMIT for more
 * than may be kept. */
int hook_store_edit(struct hook_stores *all, uint32_t role, const struct hook_store_edit *edits,
                    uint32_t n, struct err *e);
/* Would it be done?  Changes nothing. */
int hook_store_check(struct hook_stores *all, uint32_t role, const struct hook_store_edit *edits,
                     uint32_t n, struct err *e);
void hook_stores_flush(struct hook_stores *all);
/* As at the last flush. */
void hook_stores_revert(struct hook_stores *all);

/* One change to a tree that belongs to the arena, as the value does; what is above the last key is
 * made. */
int hook_tree_edit(struct arena *a, struct value *map, struct str path, const struct value *v,
                   struct err *e);

#endif
