/* killat.c - preloaded: the program dies, as by a power cut, just before its N-th step on the disk
 *
 * A step is whatever makes a difference to who comes after: a name made, changed or taken away, and
 * a sync.  KILLAT is the number; without it nothing happens.  KILLAT_COUNT names a file that gets
 * the number of steps when the program ends by itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long steps;

static void step(void)
{
    const char *at = getenv("KILLAT");
    if (at && ++steps == strtol(at, NULL, 10))
        (void)raise(SIGKILL);
}

#define STEP(type, name, params, args)                                                             \
    __attribute__((visibility("default"))) type name params;                                       \
    type name params                                                                               \
    {                                                                                              \
        type(*next) params = (type(*) params)dlsym(RTLD_NEXT, #name);                              \
        step();                                                                                    \
        return next args;                                                                          \
    }
STEP(int, rename, (const char *from, const char *to), (from, to))
STEP(int, link, (const char *from, const char *to), (from, to))
STEP(int, unlink, (const char *path), (path))
STEP(int, rmdir, (const char *path), (path))
STEP(int, mkdir, (const char *path, mode_t mode), (path, mode))
STEP(int, fsync, (int fd), (fd))

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("KILLAT_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", steps);
        fclose(f);
    }
}
