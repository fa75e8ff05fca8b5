/* realclock.c - a wall clock that tests can set: CLOCK_REALTIME plus the seconds in
 * $REALCLOCK_FILE */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *t)
{
    int r = (int)syscall(SYS_clock_gettime, id, t);
    const char *path = getenv("REALCLOCK_FILE");
    if (r == 0 && id == CLOCK_REALTIME && path) {
        FILE *f = fopen(path, "re");
        long offset = 0;
        if (f && fscanf(f, "%ld", &offset) == 1)
            t->tv_sec += offset;
        if (f)
            fclose(f);
    }
    return r;
}
