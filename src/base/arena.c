/* arena.c - chunks of 64 KiB from which objects are cut one after another
 *
 * The head chunk is the one being cut.  An object larger than a quarter of a chunk gets a chunk of
 * its own behind the head, so that one large array does not throw away the room that is left.
 * Invariant: used and room describe the head chunk; with no head both are 0.
 *
 * With ARENA_PARANOID every object is a malloc of its exact size: an overrun or a use after the end
 * of the generation is then visible to the sanitizers, which see nothing inside a chunk.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/arena_i.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

enum { ARENA_ALIGN = 16 };
#ifdef ARENA_PARANOID
enum { ARENA_CHUNK = 0, TEXT_PIECE = 0 };
#else
enum { ARENA_CHUNK = 64 * 1024, TEXT_PIECE = 4096 };
#endif

struct arena_chunk {
    struct arena_chunk *next;
    size_t room;
    _Alignas(ARENA_ALIGN) unsigned char data[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

static void chunks_free(struct arena_chunk *c)
{
    while (c) {
        struct arena_chunk *next = c->next;
        free(c);
        c = next;
    }
}

void arena_done(struct arena *a)
{
    chunks_free(a->head);
    *a = (struct arena){0};
}

void arena_reset(struct arena *a)
{
    struct arena_chunk *keep = a->head;
    if (ARENA_CHUNK == 0 || !keep ||
        keep->room > ARENA_CHUNK) { /* one huge object must not stay for ever */
        arena_done(a);
        return;
    }
    chunks_free(keep->next);
    keep->next = NULL;
    *a = (struct arena){.head = keep, .room = keep->room};
}

static struct arena_chunk *chunk_new(size_t room)
{
    size_t bytes;
    int over = __builtin_add_overflow(room, sizeof(struct arena_chunk), &bytes);
    assert(!over);
    struct arena_chunk *c = xrealloc(NULL, bytes, 1);
    c->next = NULL;
    c->room = room;
    return c;
}

/* The slow path: a chunk of its own for a large object, else a new head. */
__attribute__((noinline)) static void *arena_take_chunk(struct arena *a, size_t size)
{
    const size_t usual = ARENA_CHUNK ? ARENA_CHUNK - sizeof(struct arena_chunk) : 0;
    if (size > usual / 4) {
        struct arena_chunk *c = chunk_new(size);
        if (a->head) {
            c->next = a->head->next;
            a->head->next = c;
        } else {
            a->head = c;
            a->used = a->room = size;
        }
        return c->data;
    }
    struct arena_chunk *c = chunk_new(usual);
    c->next = a->head;
    a->head = c;
    a->used = size;
    a->room = usual;
    return c->data;
}

static inline void *arena_cut(struct arena *a, size_t size)
{
    size_t rounded = (size + (ARENA_ALIGN - 1)) & ~(size_t)(ARENA_ALIGN - 1);
    assert(rounded >= size);
    a->total_bytes += rounded;
    if (ARENA_CHUNK == 0)
        return arena_take_chunk(a, size); /* exact, so that the byte behind it is out of bounds */
    if (rounded > a->room - a->used)
        return arena_take_chunk(a, rounded);
    void *p = a->head->data + a->used;
    a->used += rounded;
    return p;
}

static inline size_t arena_bytes(size_t n, size_t size)
{
    size_t bytes;
    int over = __builtin_mul_overflow(n, size, &bytes);
    assert(!over);
    return bytes;
}

void *arena_take(struct arena *a, size_t size)
{
    return memset(arena_cut(a, size), 0, size);
}

void *arena_take_n(struct arena *a, size_t n, size_t size)
{
    return arena_take(a, arena_bytes(n, size));
}

void *arena_take_raw(struct arena *a, size_t n, size_t size)
{
    return arena_cut(a, arena_bytes(n, size));
}

char *arena_pool_take(struct arena *a, struct text_pool *p, size_t n)
{
    size_t want = n + 1;
    if (want > p->room) {
        /* What is left of the old piece is lost; a long text takes its own object to keep that
         * small. */
        if (want > TEXT_PIECE / 4) {
            char *own = arena_take_raw(a, want, 1);
            own[n] = '\0';
            return own;
        }
        p->at = arena_take_raw(a, TEXT_PIECE, 1);
        p->room = TEXT_PIECE;
    }
    char *s = p->at;
    p->at += want;
    p->room -= want;
    s[n] = '\0';
    return s;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *copy = arena_take_raw(a, n + 1, 1);
    if (n)
        memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char small[256];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    if ((size_t)n < sizeof small)
        return arena_strndup(a, small, (size_t)n);
    char *out = arena_take_raw(a, (size_t)n + 1, 1);
    va_start(ap, fmt);
    vsnprintf(out, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return out;
}
