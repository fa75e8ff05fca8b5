/* runlock.c - reading, writing and taking the lock file of a task
 *
 * A record is one line of fixed length, so that a new one covers the old one with a single write
 * and a reader can tell a torn one.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/runlock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 224, STAT_MAX_BYTES = 1024, START_FIELD = 22 };

static const char *const state_names[RUN_STATE_COUNT] = {
#define X(id, text) text,
    RUN_STATES(X)
#undef X
};

static int format_record(char out[LINE_MAX_BYTES], const struct run_record *r)
{
    return snprintf(out, LINE_MAX_BYTES,
                    "anneal-run 2 task=%010" PRIu32 " attempt=%010" PRIu32 " ask=%010" PRIu32
                    " step=%010" PRIu32 " runner=%010" PRId32 " since=%020" PRIu64
                    " child=%010" PRId32 " status=%03" PRId32 " state=%-7s.\n",
                    r->task, r->attempt, r->ask, r->step, r->runner, r->since_ticks, r->child,
                    r->status, state_names[r->state]);
}

static int parse_record(const char *line, struct run_record *ret_r)
{
    struct run_record r = {0};
    char state[8], again[LINE_MAX_BYTES];
    if (sscanf(line,
               "anneal-run 2 task=%" SCNu32 " attempt=%" SCNu32 " ask=%" SCNu32 " step=%" SCNu32
               " runner=%" SCNd32 " since=%" SCNu64 " child=%" SCNd32 " status=%" SCNd32
               " state=%7[a-z]",
               &r.task, &r.attempt, &r.ask, &r.step, &r.runner, &r.since_ticks, &r.child, &r.status,
               state) != 9)
        return -1;
    while (r.state < RUN_STATE_COUNT && strcmp(state, state_names[r.state]))
        r.state++;
    if (r.state == RUN_STATE_COUNT)
        return -1;
    format_record(again, &r); /* only what we would write ourselves is a record, to the last byte */
    if (strcmp(again, line))
        return -1;
    *ret_r = r;
    return 0;
}

int runlock_open(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

int runlock_try(int *fd, const char *path)
{
    struct stat mine, named;
    while (*fd >= 0) {
        if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
            return errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
        if (fstat(*fd, &mine) < 0)
            return -1;
        if (stat(path, &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
            return 1;
        close(*fd); /* a lock on a file that nobody else can find is worth nothing */
        *fd = runlock_open(path);
    }
    return -1;
}

int runlock_read(int fd, struct run_record *ret_r)
{
    char line[LINE_MAX_BYTES + 1];
    ssize_t n = pread(fd, line, LINE_MAX_BYTES, 0);
    if (n <= 0)
        return (int)n;
    line[n] = '\0';
    if (parse_record(line, ret_r) == 0)
        return 1;
    errno = EINVAL;
    return -1;
}

int runlock_read_path(const char *path, struct run_record *ret_r)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = runlock_read(fd, ret_r), sys = errno;
    close(fd);
    errno = sys;
    return rc;
}

int runlock_write(int fd, const struct run_record *r)
{
    char line[LINE_MAX_BYTES];
    int n = format_record(line, r);
    ssize_t put = pwrite(fd, line, (size_t)n, 0);
    if (put >= 0 && put < n)
        errno = ENOSPC;
    return put == n ? 0 : -1;
}

int runlock_order(const struct run_record *a, const struct run_record *b)
{
    if (a->attempt != b->attempt)
        return a->attempt < b->attempt ? -1 : 1;
    if (a->ask != b->ask)
        return a->ask < b->ask ? -1 : 1;
    return a->step < b->step ? -1 : a->step > b->step;
}

uint64_t run_since_ticks(int32_t pid)
{
    char path[32], text[STAT_MAX_BYTES + 1];
    snprintf(path, sizeof path, "/proc/%" PRId32 "/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, text, STAT_MAX_BYTES);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    char *at = strrchr(text, ')'); /* the name before it may hold anything, spaces and ) included */
    for (int field = 2; at && field < START_FIELD; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtoull(at, NULL, 10) : 0;
}
