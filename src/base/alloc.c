/* alloc.c - the heap as the project sees it: zeroed, checked for overflow, never NULL
 *
 * A process that cannot get memory says so in one write and aborts; its state is in the store and
 * the restart path is the ordinary one.  Nothing here may allocate on the way to abort().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/alloc.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noreturn, cold)) static void alloc_fail(const char *why, size_t n)
{
    static const char said[] = "anneal: out of memory: ";
    ssize_t ignored = write(STDERR_FILENO, said, sizeof said - 1);
    ignored = write(STDERR_FILENO, why, n);
    (void)ignored;
    abort();
}

static size_t alloc_bytes(size_t n, size_t size)
{
    size_t bytes;
    static const char why[] = "size overflow\n";
    if (__builtin_mul_overflow(n, size, &bytes))
        alloc_fail(why, sizeof why - 1);
    return bytes ? bytes : 1; /* a NULL from malloc(0) must not look like failure */
}

void *xcalloc(size_t n, size_t size)
{
    static const char why[] = "calloc\n";
    void *p = calloc(1, alloc_bytes(n, size));
    if (!p)
        alloc_fail(why, sizeof why - 1);
    return p;
}

void *xrealloc(void *p, size_t n, size_t size)
{
    static const char why[] = "realloc\n";
    void *q = realloc(p, alloc_bytes(n, size));
    if (!q)
        alloc_fail(why, sizeof why - 1);
    return q;
}

char *xstrdup(const char *s)
{
    return xstrndup(s, strlen(s));
}

char *xstrndup(const char *s, size_t n)
{
    n = strnlen(s, n);
    char *copy = xrealloc(NULL, n + 1, 1);
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void *vec_grow_(void *at, size_t *cap, size_t want, size_t size)
{
    /* Doubling wastes little while blocks are small and keeps the copies few; large blocks are
     * moved by the kernel without copying, so there an eighth is enough and half the memory is not
     * idle. */
    enum { VEC_FIRST = 8, VEC_DOUBLE_BELOW_BYTES = 64 * 1024 };
    size_t grown = *cap < VEC_DOUBLE_BELOW_BYTES / size ? *cap * 2 : *cap + *cap / 8;
    if (grown < VEC_FIRST)
        grown = VEC_FIRST;
    if (grown < want)
        grown = want;
    at = xrealloc(at, grown, size);
    *cap = grown;
    return at;
}

void vec_free_(void *at)
{
    free(at);
}

void alloc_trim(void)
{
    (void)malloc_trim(0);
}
