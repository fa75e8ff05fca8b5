/* killat.c - preloaded: the program dies, as by a power cut, just before its N-th step on the disk
 *
 * A step is whatever makes a difference to who comes after: a name made, changed or taken away, and
 * a sync.  KILLAT is the number; without it nothing happens.  With KILLAT_PATH only steps count
 * whose path has that in it.  KILLAT_COUNT names a file that gets the number of steps when the
 * program ends by itself.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long steps;

static void step(const char *path)
{
    const char *at = getenv("KILLAT"), *only = getenv("KILLAT_PATH");
    if (at && (!only || strstr(path, only)) && ++steps == strtol(at, NULL, 10))
        (void)raise(SIGKILL);
}

/* Of an open file. */
static const char *path_of(int fd, char room[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, room, PATH_MAX - 1);
    room[n > 0 ? n : 0] = '\0';
    return room;
}

#define STEP(name, path, params, args)                                                             \
    __attribute__((visibility("default"))) int name params;                                        \
    int name params                                                                                \
    {                                                                                              \
        char room[PATH_MAX];                                                                       \
        int(*next) params = (int(*) params)dlsym(RTLD_NEXT, #name);                                \
        (void)room;                                                                                \
        step(path);                                                                                \
        return next args;                                                                          \
    }
STEP(rename, from, (const char *from, const char *to), (from, to))
STEP(link, from, (const char *from, const char *to), (from, to))
STEP(unlink, at, (const char *at), (at))
STEP(rmdir, at, (const char *at), (at))
STEP(mkdir, at, (const char *at, mode_t mode), (at, mode))
STEP(fsync, path_of(fd, room), (int fd), (fd))

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("KILLAT_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", steps);
        fclose(f);
    }
}
