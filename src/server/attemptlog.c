/* attemptlog.c - what attempts printed, one file each, kept apart from the store
 *
 * Chunks come in order from the worker and are appended as they come; a reader follows by offset.
 * Losing the end of a log in a crash loses no state, so there is no fsync.  logs/<task /
 * 1000>/<task>.<attempt>.log
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "server/server_i.h"
#include "sys/fs.h"

static uint64_t key_of(uint32_t task, uint32_t attempt)
{
    return (uint64_t)task << ATTEMPT_BITS | attempt;
}

static void path_of(const struct server *s, uint32_t task, uint32_t attempt, char *ret, size_t n,
                    size_t *ret_dir_n)
{
    int dir = snprintf(ret, n, "%s/%u", s->log_dir, task / 1000);
    if (ret_dir_n)
        *ret_dir_n = (size_t)dir;
    snprintf(ret + dir, n - (size_t)dir, "/%u.%u.log", task, attempt);
}

static int open_log(const struct server *s, uint32_t task, uint32_t attempt, int flags)
{
    char path[4200];
    size_t dir_n;
    path_of(s, task, attempt, path, sizeof path, &dir_n);
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd < 0 && errno == ENOENT && (flags & O_CREAT)) {
        path[dir_n] = '\0';
        (void)mkdir(path, 0700);
        path[dir_n] = '/';
        fd = open(path, flags | O_CLOEXEC, 0600);
    }
    return fd;
}

static void wake(struct server *s, uint32_t task, uint32_t attempt)
{
    for (size_t i = 0; i < s->log_subs.n; i++)
        if (s->log_subs.at[i].fn && s->log_subs.at[i].key == key_of(task, attempt))
            s->log_subs.at[i].fn(s->log_subs.at[i].arg);
}

void attemptlog_append(struct server *s, uint32_t task, uint32_t attempt, struct str chunk)
{
    int fd = open_log(s, task, attempt, O_WRONLY | O_CREAT | O_APPEND);
    if (fd < 0 || write(fd, chunk.s, chunk.n) != (ssize_t)chunk.n)
        log_line(LOG_WARN, "attempt.log", LOGI("task", task), LOGI("attempt", attempt),
                 LOGI("errno", errno));
    if (fd >= 0)
        close(fd);
    wake(s, task, attempt);
}

void attemptlog_ended(struct server *s, uint32_t task, uint32_t attempt)
{
    wake(s, task, attempt);
}

int server_log_read(struct server *s, const struct caller *who, uint32_t task, uint32_t attempt,
                    uint64_t from, size_t max, struct buf *b, bool *ret_ended, struct err *e)
{
    struct task_view v;
    (void)who;
    if (!anneal_task(s->engine, task, &v) || attempt == 0 || attempt > v.attempt)
        return err_set(e, ERR_NOT_FOUND, "task %u has no attempt %u", task, attempt);
    bool ended = !anneal_attempt_open(s->engine, task, attempt);
    int fd = open_log(s, task, attempt, O_RDONLY);
    size_t before = b->len;
    if (fd >= 0) {
        buf_reserve(b, max + 1);
        ssize_t n = pread(fd, b->data + b->len, max, (off_t)from);
        if (n > 0) {
            b->len += (size_t)n;
            b->data[b->len] = '\0';
        }
        close(fd);
    }
    *ret_ended = ended && b->len - before < max;
    return 0;
}

void server_log_subscribe(struct server *s, uint32_t task, uint32_t attempt, loop_call_f *fn,
                          void *arg)
{
    for (size_t i = 0; i < s->log_subs.n; i++)
        if (!s->log_subs.at[i].fn) {
            s->log_subs.at[i] = (struct subscriber){fn, arg, key_of(task, attempt)};
            return;
        }
    vec_push(&s->log_subs, ((struct subscriber){fn, arg, key_of(task, attempt)}));
}

void server_log_unsubscribe(struct server *s, loop_call_f *fn, void *arg)
{
    for (size_t i = 0; i < s->log_subs.n; i++)
        if (s->log_subs.at[i].fn == fn && s->log_subs.at[i].arg == arg)
            s->log_subs.at[i].fn = NULL;
}
