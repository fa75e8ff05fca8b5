/* arena_i.h - what base may ask of an arena beyond arena.h */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_I_H
#define BASE_ARENA_I_H

#include "base/arena.h"

/* As arena_take_n() without zeroing: for memory that the caller fills at once and wholly. */
void *arena_take_raw(struct arena *a, size_t n, size_t size) __attribute__((returns_nonnull));

/* Text packed without alignment.  Parsers make thousands of short strings; sixteen-byte alignment
 * would double their size.  Under ARENA_PARANOID each text is an object of its own. */
struct text_pool {
    char *at;
    size_t room;
};
/* Room for n bytes and the NUL, which is written. */
char *arena_pool_take(struct arena *a, struct text_pool *p, size_t n)
    __attribute__((returns_nonnull));

#endif
