/* runtree.c - killing by parentage and by environment
 *
 * Rounds, not one pass: between listing and killing, processes fork.  A round that finds nobody
 * ends it.  Both functions walk /proc; the list of children that newer kernels keep is not used,
 * since it may miss some while others exit, and a walk costs little where anything is left to kill
 * at all.
 *
 * An environment cannot always be read where there is a process.  It belongs to the memory, which
 * is not there yet in the middle of an exec, and not there any more in the middle of an exit, when
 * files and locks are still held; nor has a main thread any that ended before the others.  So a
 * process without one is looked at again until it has either become somebody or ended.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/runtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUND_MS = 2,
    SETTLE_MS =
        2000, /* how long strangers may take to exec or exit; what hangs there does nothing */
    PATH_BYTES = 64,
    CHUNK_BYTES = 4096,
    FLAG_KERNEL_THREAD = 0x00200000, /* of the flags in stat: PF_KTHREAD */
};

enum look { LOOK_OTHER, LOOK_BETWEEN, LOOK_MATCH }; /* in the order in which they weigh */
typedef enum look look_f(pid_t pid, const void *arg);

struct proc_stat {
    char state;
    uint64_t parent, flags, threads, env_end;
};

/* One line: "pid (name) S parent ...", the state being field 3. */
static bool stat_read(pid_t pid, struct proc_stat *ret)
{
    static const struct {
        int field;
        size_t offset;
    } wanted[] = {{4, offsetof(struct proc_stat, parent)},
                  {9, offsetof(struct proc_stat, flags)},
                  {20, offsetof(struct proc_stat, threads)},
                  {51, offsetof(struct proc_stat, env_end)}};
    char path[PATH_BYTES], text[CHUNK_BYTES + 1];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, CHUNK_BYTES);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the name before it may hold anything */
    if (!at || at[1] != ' ')
        return false;
    *ret = (struct proc_stat){.state = at[2]};
    at += 2;
    size_t w = 0;
    for (int field = 3; w < sizeof wanted / sizeof wanted[0]; field++) {
        if (field == wanted[w].field)
            *(uint64_t *)((char *)ret + wanted[w++].offset) = strtoull(at, NULL, 10);
        at = strchr(at, ' ');
        if (!at++)
            break;
    }
    return true;
}

static enum look child_look(pid_t pid, const void *arg)
{
    const pid_t *parent = arg;
    struct proc_stat st;
    return stat_read(pid, &st) && st.parent == (uint64_t)*parent ? LOOK_MATCH : LOOK_OTHER;
}

/* The environment is a run of NUL-terminated texts; one of them must be the variable. */
static enum look environ_look(const char *path, const char *want)
{
    char text[CHUNK_BYTES];
    size_t at = 0; /* bytes of the present text that agree; SIZE_MAX: it differs */
    enum look found = LOOK_BETWEEN;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* where older kernels give an empty text, newer ones say ESRCH */
        return errno == ESRCH ? LOOK_BETWEEN : LOOK_OTHER;
    for (ssize_t n; found != LOOK_MATCH && (n = read(fd, text, sizeof text)) > 0;) {
        found = LOOK_OTHER;
        for (ssize_t i = 0; i < n && found != LOOK_MATCH; i++) {
            if (at != SIZE_MAX && text[i] == want[at]) {
                found = text[i] == '\0' ? LOOK_MATCH : LOOK_OTHER;
                at++;
            } else {
                at = SIZE_MAX;
            }
            if (text[i] == '\0')
                at = 0;
        }
    }
    close(fd);
    return found;
}

/* Of a process whose main thread has ended: any of the others has the memory. */
static enum look threads_look(pid_t pid, const char *want)
{
    char path[PATH_BYTES];
    enum look found = LOOK_OTHER;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    if (!d)
        return LOOK_OTHER;
    for (struct dirent *ent; found != LOOK_MATCH && (ent = readdir(d));) {
        long thread = strtol(ent->d_name, NULL, 10);
        if (thread <= 0 || thread == pid)
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%ld/environ", (int)pid, thread);
        enum look l = environ_look(path, want);
        found = l > found ? l : found;
    }
    closedir(d);
    return found;
}

static enum look variable_look(pid_t pid, const void *arg)
{
    char path[PATH_BYTES];
    struct proc_stat st;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    enum look found = environ_look(path, arg);
    if (found != LOOK_BETWEEN || !stat_read(pid, &st) || st.flags & FLAG_KERNEL_THREAD)
        return found == LOOK_MATCH ? LOOK_MATCH : LOOK_OTHER;
    if (st.threads > 1)
        return threads_look(pid, arg);
    bool ended = st.state == 'Z' || st.state == 'X';
    bool empty = st.env_end != 0; /* it has an environment, and nothing in it */
    return ended || empty ? LOOK_OTHER : LOOK_BETWEEN;
}

/* SIGKILL to every process that matches; what weighed most of all that was seen. */
static enum look kill_matching(look_f *look, const void *arg)
{
    enum look most = LOOK_OTHER;
    pid_t self = getpid();
    DIR *d = opendir("/proc");
    if (!d)
        return most;
    for (struct dirent *ent; (ent = readdir(d));) {
        pid_t pid = (pid_t)strtol(ent->d_name, NULL, 10);
        if (pid <= 1 || pid == self)
            continue;
        enum look l = look(pid, arg);
        most = l > most ? l : most;
        if (l == LOOK_MATCH)
            kill(pid, SIGKILL);
    }
    closedir(d);
    return most;
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
        (void)kill_matching(child_look, &self);
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
    uint64_t start_ms = clock_ms(), settle_ms = patience_ms < SETTLE_MS ? patience_ms : SETTLE_MS;
    for (;;) {
        enum look most = kill_matching(variable_look, variable);
        uint64_t spent_ms = clock_ms() - start_ms;
        if (most == LOOK_OTHER || (most == LOOK_BETWEEN && spent_ms >= settle_ms))
            return 0;
        if (spent_ms >= patience_ms) {
            errno = ETIMEDOUT;
            return -1;
        }
        wait_a_round();
    }
}
