/* alloc.h - heap memory that is never NULL, scoped cleanup, and small array types
 *
 * Out of memory aborts: restart is ordinary.  Whatever a user can size has a limit elsewhere.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ALLOC_H
#define BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

/* Gives back to the system what a burst of work has left behind.  Takes milliseconds: for idle
 * times. */
void alloc_trim(void);

/* SCOPED(plan) *p = plan_new(); is freed at every return unless p was set to NULL.
 * Each type supplies  static inline void plan_scope_end(struct plan **p) { plan_free(*p); }  */
#define SCOPED(t) __attribute__((cleanup(t##_scope_end))) struct t

/* A growing array: VEC(uint32_t) ids = {0}; vec_push(&ids, 7); ids.at[0]; ids.n; vec_done(&ids). */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *at;                                                                                  \
        size_t n, cap;                                                                             \
    }
#define vec_reserve(v, want)                                                                       \
    do {                                                                                           \
        size_t vec_want_ = (want);                                                                 \
        if (vec_want_ > (v)->cap)                                                                  \
            (v)->at = vec_grow_((v)->at, &(v)->cap, vec_want_, sizeof *(v)->at);                   \
    } while (0)
#define vec_push(v, item)                                                                          \
    do {                                                                                           \
        if ((v)->n == (v)->cap)                                                                    \
            (v)->at = vec_grow_((v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at);                  \
        (v)->at[(v)->n++] = (item);                                                                \
    } while (0)
/* Appends one zeroed element and yields a pointer to it. */
#define vec_add(v)                                                                                 \
    ((v)->n == (v)->cap                                                                            \
         ? ((v)->at = vec_grow_((v)->at, &(v)->cap, (v)->n + 1, sizeof *(v)->at), 0)               \
         : 0,                                                                                      \
     __builtin_memset(&(v)->at[(v)->n], 0, sizeof *(v)->at), &(v)->at[(v)->n++])
#define vec_clear(v) ((void)((v)->n = 0))
#define vec_done(v)                                                                                \
    do {                                                                                           \
        vec_free_((v)->at);                                                                        \
        (v)->at = NULL;                                                                            \
        (v)->n = (v)->cap = 0;                                                                     \
    } while (0)

/* Grows by an eighth at least (large blocks move by remapping, not copying), to 8 at first. */
void *vec_grow_(void *at, size_t *cap, size_t want, size_t size) __attribute__((returns_nonnull));
void vec_free_(void *at);

#endif
