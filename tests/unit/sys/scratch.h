/* scratch.h - what tests of sys, jig and worker share: a directory of their own, a loop with a
 * limit */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SYS_SCRATCH_H
#define TESTS_SYS_SCRATCH_H

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sys/fs.h"
#include "sys/loop.h"
#include "tap.h"
#include "workdir.h"

/* A new directory; scratch_end() removes it with all it holds. */
__attribute__((unused)) static char *scratch_new(void)
{
    return workdir_new("test");
}

__attribute__((unused)) static void scratch_end(char *path)
{
    struct err e;
    ok(fs_remove_tree(path, &e) == 0, "scratch directory is removed");
    free(path);
}

__attribute__((unused)) static void scratch_late(void *arg)
{
    ok(false, "the loop ended before its limit");
    loop_stop(arg);
}

/* Runs the loop until it stops or has nothing to do; more than 20 s is a failure. */
__attribute__((unused)) static void scratch_run(struct loop *l)
{
    struct loop_timer *limit = loop_timer_new(l, scratch_late, l);
    loop_timer_at(limit, loop_now_ms(l) + 20000);
    loop_run(l);
    loop_timer_free(limit);
}

__attribute__((unused)) static void scratch_stop(void *loop)
{
    loop_stop(loop);
}

/* Waits until no process has the number; the kernel tells, nobody sleeps longer than needed. */
__attribute__((unused)) static bool scratch_gone(pid_t pid)
{
    for (int i = 0; i < 2000; i++) {
        char path[64], state[256] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *f = fopen(path, "r");
        if (!f)
            return true;
        size_t n = fread(state, 1, sizeof state - 1, f);
        fclose(f);
        state[n] = '\0';
        const char *at = strrchr(state, ')');
        if (!at || at[2] == 'Z' || at[2] == 'X')
            return true;
        usleep(5000);
    }
    return false;
}

#endif
