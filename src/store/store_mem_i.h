/* store_mem_i.h - one table of the store in memory
 *
 * A table is an array of slots with rows inside and a map from key to slot.  All texts of a row
 * share one block that the slot keeps when the row goes, so that steady work allocates nothing: the
 * simulator commits millions of small groups.
 *
 * Order of keys is needed by reads only.  A list (key, slot) is kept as long as keys arrive
 * ascending, as most do; otherwise it is sorted anew by the next read.  An entry whose slot no
 * longer holds its key is a hole and is passed over.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_STORE_MEM_I_H
#define STORE_STORE_MEM_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "store/store_i.h"

struct mem_slot { /* the row itself follows */
    uint64_t key;
    char *text;
    uint32_t text_cap;
    bool live;
};
struct mem_order {
    uint64_t key;
    uint32_t slot;
};
struct mem_table {
    const struct row_layout *layout;
    size_t stride;
    uint16_t dyn_from, dyn_to; /* bytes of the row from its first DYN column to its last */
    char *slots;
    size_t n_slots, cap_slots;
    VEC(uint32_t) unused;
    struct u64map by_key;
    VEC(struct mem_order) order;
    bool unsorted;
    uint64_t text_bytes;
};

/* What the first pass of a commit did for one operation. */
enum mem_did { MEM_NOTHING, MEM_FOUND, MEM_ADDED, MEM_REMOVED };
struct mem_change {
    uint32_t slot;
    uint8_t did;
};

void store_table_init(struct mem_table *t, const struct row_layout *l);
void store_table_done(struct mem_table *t);

/* begin finds or makes the slot and changes only the map; false if the operation is refused.  Then
 * either undo, in reverse order, or apply, which cannot fail, and at the very end finish. */
bool store_table_begin(struct mem_table *t, const struct row_op *op, struct mem_change *ret_change);
void store_table_undo(struct mem_table *t, const struct row_op *op, const struct mem_change *c);
void store_table_apply(struct mem_table *t, const struct row_op *op, const struct mem_change *c);
void store_table_finish(struct mem_table *t, const struct mem_change *c);
void store_table_remove(struct mem_table *t, const struct mem_order *o);

/* Before a read: the order is sorted, and holes are not the greater part of it. */
void store_table_settle(struct mem_table *t);
/* The first place of the order whose key is not below `key`. */
size_t store_table_find(const struct mem_table *t, uint64_t key);
/* The row at a place of the order; NULL for a hole. */
const void *store_table_row(const struct mem_table *t, size_t place);

#endif
