/* runtree.c - killing by parentage and by environment
 *
 * Rounds, not one pass: between listing and killing, processes fork.  A round that finds nobody
 * ends it.  Both functions walk /proc; the list of children that newer kernels keep is not used,
 * since it may miss some while others exit, and a walk costs little where anything is left to kill
 * at all.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/runtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUND_MS = 2, PATH_BYTES = 32, CHUNK_BYTES = 4096 };

typedef bool match_f(pid_t pid, const void *arg);

static int open_proc(pid_t pid, const char *file)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool is_child_of(pid_t pid, const void *arg)
{
    char text[CHUNK_BYTES + 1];
    const pid_t *parent = arg;
    int fd = open_proc(pid, "stat");
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, CHUNK_BYTES);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* ") S 123 ...": state, then parent */
    return at && strlen(at) > 4 && strtol(at + 4, NULL, 10) == *parent;
}

/* The environment is a run of NUL-terminated texts; one of them must be the variable. */
static bool has_variable(pid_t pid, const void *arg)
{
    const char *want = arg;
    char text[CHUNK_BYTES];
    size_t at = 0; /* bytes of the present text that agree; SIZE_MAX: it differs */
    bool found = false;
    int fd = open_proc(pid, "environ");
    if (fd < 0)
        return false;
    for (ssize_t n; !found && (n = read(fd, text, sizeof text)) > 0;)
        for (ssize_t i = 0; i < n && !found; i++) {
            if (at != SIZE_MAX && text[i] == want[at]) {
                found = text[i] == '\0';
                at = found ? at : at + 1;
            } else {
                at = SIZE_MAX;
            }
            if (text[i] == '\0')
                at = 0;
        }
    close(fd);
    return found;
}

/* SIGKILL to every process that matches; true if there was one. */
static bool kill_matching(match_f *match, const void *arg)
{
    bool any = false;
    pid_t self = getpid();
    DIR *d = opendir("/proc");
    if (!d)
        return false;
    for (struct dirent *ent; (ent = readdir(d));) {
        pid_t pid = (pid_t)strtol(ent->d_name, NULL, 10);
        if (pid <= 1 || pid == self || !match(pid, arg))
            continue;
        any = true;
        kill(pid, SIGKILL);
    }
    closedir(d);
    return any;
}

/* A short while, cut shorter by the end of a child if SIGCHLD is blocked, as it is in the runner.
 */
static void wait_a_round(void)
{
    const struct timespec t = {.tv_nsec = ROUND_MS * 1000000L};
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    (void)sigtimedwait(&chld, NULL, &t);
}

void runtree_end(pid_t child, int *ret_status)
{
    pid_t self = getpid(), got;
    int status;
    if (child > 0)
        kill(-child, SIGKILL); /* the bulk of it in one step, before it can fork any further */
    for (;;) {
        while ((got = waitpid(-1, &status, WNOHANG)) > 0)
            if (got == child)
                *ret_status = status;
        if (got < 0 && errno == ECHILD)
            break;
        kill_matching(is_child_of, &self);
        wait_a_round();
    }
}

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int runtree_sweep(const char *variable, uint64_t patience_ms)
{
    uint64_t end_ms = clock_ms() + patience_ms;
    while (kill_matching(has_variable, variable)) {
        if (clock_ms() >= end_ms) {
            errno = ETIMEDOUT;
            return -1;
        }
        wait_a_round();
    }
    return 0;
}
