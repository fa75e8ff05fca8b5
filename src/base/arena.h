/* arena.h - memory of one generation, freed all at once
 *
 * One arena per catalog load, plan, request or step.  Objects are zeroed, aligned to 16 and never
 * freed singly.  The sanitizer build (ARENA_PARANOID) gives each object its own malloc.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct arena_chunk;
struct arena {
    struct arena_chunk *head;
    size_t used, room;  /* in the head chunk */
    size_t total_bytes; /* handed out over the arena's life */
};

void arena_init(struct arena *a);
void arena_done(struct arena *a);
/* Forgets all objects but keeps one chunk for reuse. */
void arena_reset(struct arena *a);
void *arena_take(struct arena *a, size_t size) __attribute__((returns_nonnull));
/* Checks n * size for overflow (aborts), so that n may come from bounded input. */
void *arena_take_n(struct arena *a, size_t n, size_t size) __attribute__((returns_nonnull));
#define arena_new(a, type, n) ((type *)arena_take_n((a), (n), sizeof(type)))
char *arena_strndup(struct arena *a, const char *s, size_t n) __attribute__((returns_nonnull));
char *arena_strdup(struct arena *a, const char *s) __attribute__((returns_nonnull));
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline void arena_scope_end(struct arena *a)
{
    arena_done(a);
}
/* SCOPED_ARENA(mem); declares and initialises an arena that ends with the scope. */
#define SCOPED_ARENA(name)                                                                         \
    __attribute__((cleanup(arena_scope_end))) struct arena name;                                   \
    arena_init(&name)

#endif
