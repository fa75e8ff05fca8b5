/* log.c - one line, one write
 *
 * A line is put together on the stack and leaves in a single write(2), so that lines of several
 * threads, or of several processes on one pipe, do not mix.  What does not fit is cut and marked
 * with
 * "..."; a log must neither allocate nor fail.
 * The lock covers the sink, so that changing it never pairs one sink's function with another's
 * argument; it also means that a sink function sees one line at a time and must not log.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8_i.h"

enum { LOG_LINE_BYTES = 4096 }; /* PIPE_BUF: what a pipe takes whole */

static atomic_int log_level_now = LOG_INFO;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    int fd;
    void (*fn)(void *arg, const char *line, size_t n);
    void *arg;
} log_sink = {.fd = STDERR_FILENO};

struct log_text {
    char at[LOG_LINE_BYTES];
    size_t n;
    bool full;
};

/* Appends all of s or nothing, keeping room for "..." and the line end. */
static void line_put(struct log_text *l, const char *s, size_t n)
{
    l->full = l->full || n > sizeof l->at - 4 - l->n;
    if (l->full)
        return;
    memcpy(l->at + l->n, s, n);
    l->n += n;
}

static void line_puts(struct log_text *l, const char *s)
{
    line_put(l, s, strlen(s));
}

static bool is_bare(const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p; p++)
        if (*p <= ' ' || *p == '"' || *p == '\\' || *p == '=' || *p >= 0x7F)
            return false;
    return *s != '\0';
}

static void line_escape(struct log_text *l, unsigned char c)
{
    char esc[5];
    const char *named = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : NULL;
    if (named) {
        line_puts(l, named);
        return;
    }
    snprintf(esc, sizeof esc, "\\x%02x", c);
    line_puts(l, esc);
}

static void line_value(struct log_text *l, const char *s)
{
    size_t n = strlen(s), i = 0;
    if (is_bare(s)) {
        /* One put would drop a long word wholly; cut it instead. */
        for (; i < n && !l->full; i++)
            line_put(l, s + i, 1);
        return;
    }
    line_put(l, "\"", 1);
    while (i < n && !l->full) {
        unsigned char c = (unsigned char)s[i];
        size_t len = utf8_sequence(s + i, n - i);
        if (len == 0 || c < 0x20 || c == 0x7F) {
            line_escape(l, c);
            len = 1;
        } else if (c == '"' || c == '\\') {
            char esc[2] = {'\\', (char)c};
            line_put(l, esc, 2);
        } else {
            line_put(l, s + i, len);
        }
        i += len;
    }
    line_put(l, "\"", 1);
}

static void line_begin(struct log_text *l, enum log_level level, const char *event)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    struct timespec now;
    struct tm utc;
    char stamp[64];
    l->n = 0;
    l->full = false;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(stamp + n, sizeof stamp - n, ".%03ldZ ", now.tv_nsec / 1000000);
    line_puts(l, stamp);
    line_puts(l, names[level]);
    line_put(l, " ", 1);
    line_value(l, event);
}

static void line_field(struct log_text *l, const char *key, const char *text)
{
    line_put(l, " ", 1);
    line_puts(l, key);
    line_put(l, "=", 1);
    line_value(l, text);
}

static void line_write(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t done = write(fd, s, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return; /* nowhere left to complain */
        s += done;
        n -= (size_t)done;
    }
}

static void line_end(struct log_text *l)
{
    int saved = errno; /* logging on an error path must not change the error */
    if (l->full) {
        memcpy(l->at + l->n, "...", 3);
        l->n += 3;
    }
    l->at[l->n++] = '\n';
    pthread_mutex_lock(&log_lock);
    if (log_sink.fn)
        log_sink.fn(log_sink.arg, l->at, l->n);
    else
        line_write(log_sink.fd, l->at, l->n);
    pthread_mutex_unlock(&log_lock);
    errno = saved;
}

static bool log_wanted(enum log_level level)
{
    return (unsigned)level <= LOG_DEBUG && (int)level <= atomic_load(&log_level_now);
}

void log_fields(enum log_level level, const char *event, const struct log_field *fields)
{
    if (!log_wanted(level))
        return;
    struct log_text l;
    line_begin(&l, level, event);
    for (; fields->kind != LOGV_END; fields++) {
        char num[24];
        switch (fields->kind) {
        case LOGV_TEXT: line_field(&l, fields->key, fields->text ? fields->text : "-"); break;
        case LOGV_INT:
            snprintf(num, sizeof num, "%lld", (long long)fields->num);
            line_field(&l, fields->key, num);
            break;
        case LOGV_SECRET: line_field(&l, fields->key, "***"); break;
        case LOGV_END: break;
        }
    }
    line_end(&l);
}

void log_err(enum log_level level, const char *event, const struct err *e)
{
    if (!log_wanted(level))
        return;
    struct log_text l;
    line_begin(&l, level, event);
    if (e) {
        line_field(&l, "code", err_name(e->code));
        if (e->at[0])
            line_field(&l, "at", e->at);
        line_field(&l, "text", e->text);
        if (e->line[0])
            line_field(&l, "line", e->line);
        if (e->hint[0])
            line_field(&l, "hint", e->hint);
    }
    line_end(&l);
}

void log_set_level(enum log_level level)
{
    atomic_store(&log_level_now, (int)level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&log_level_now);
}

void log_set_sink(int fd, void (*fn)(void *arg, const char *line, size_t n), void *arg)
{
    pthread_mutex_lock(&log_lock);
    log_sink.fd = fd >= 0 ? fd : STDERR_FILENO;
    log_sink.fn = fn;
    log_sink.arg = arg;
    pthread_mutex_unlock(&log_lock);
}
