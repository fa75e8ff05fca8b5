/* value_i.h - how maps are laid out, for the readers of base that make them wholesale
 *
 * A map of more than VALUE_INDEX_ABOVE members has a hash index in front of its members, in the
 * same block, and says so in value.indexed:
 *
 *     uint32_t slots[mask + 1] | struct value_index | members[0] members[1] ...
 *                                                     ^ value.members
 *
 * A slot holds a member's number plus one, 0 for empty.  The index is made while the map is built;
 * a reader never writes, so that any number of threads may read a finished tree.  A shallow copy of
 * a growing map shares the block: slots that point beyond the copy's n are not its members.
 *
 * cap is 0 in every value that was copied into another or came from a reader.  Such a container is
 * shared; a builder that is asked to change it copies its members first.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VALUE_I_H
#define BASE_VALUE_I_H

#include "base/value.h"

enum { VALUE_INDEX_ABOVE = 16, VALUE_LINE_MAX = (1 << 20) - 1, VALUE_COLUMN_MAX = (1 << 12) - 1 };

struct value_index {
    uint64_t seed;
    uint32_t mask;
    uint32_t pad;
};

/* Room for n members, with an empty index in front if n asks for one; sets members and indexed. */
void value_members_new(struct arena *a, struct value *map, uint32_t n);
/* Copies n members into a map of its own size and clears their cap, which is the caller's to use
 * until then (that of the map stays as it is).  False if two keys are equal: then *ret_first and
 * *ret_again are their numbers in `from`, and the map is of no use. */
bool value_members_seal(struct arena *a, struct value *map, const struct member *from, uint32_t n,
                        uint32_t *ret_first, uint32_t *ret_again);
/* Enters member i into the index, if there is one; its key must not be there yet. */
void value_index_add(struct value *map, uint32_t i);
/* The member's number or -1. */
int64_t value_find(const struct value *map, struct str key);

static inline struct str member_key(const struct member *m)
{
    return (struct str){m->key, m->key_n};
}
static inline void value_place(struct value *v, uint16_t source, uint64_t line, uint64_t column)
{
    v->source = source;
    v->line = line < VALUE_LINE_MAX ? (uint32_t)line : VALUE_LINE_MAX;
    v->column = column < VALUE_COLUMN_MAX ? (uint32_t)column : VALUE_COLUMN_MAX;
}

#endif
