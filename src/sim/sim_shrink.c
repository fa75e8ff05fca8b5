/* sim_shrink.c - a smaller run that still fails, and the command that repeats it
 *
 * Greedy: cut the run at its failure, drop kinds of faults one by one, make the world smaller, and
 * begin again as long as something helped.  Only a failure of the same kind counts, whatever
 * objects it names.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

enum { ROUNDS_MOST = 4 };

static bool read_all(int fd, void *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = read(fd, (char *)to + got, n - got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        got += (size_t)k;
    }
    return true;
}

static bool write_all(int fd, const void *from, size_t n)
{
    for (size_t put = 0; put < n;) {
        ssize_t k = write(fd, (const char *)from + put, n - put);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return false;
        put += (size_t)k;
    }
    return true;
}

static _Noreturn void child(const struct sim_options *o, int fd)
{
    struct sim_report r;
    SCOPED_BUF(history);
    sim_run(o, &r, &history);
    fflush(stdout);
    bool told = write_all(fd, &r, sizeof r) && write_all(fd, &history.len, sizeof history.len) &&
                write_all(fd, history.data, history.len);
    buf_done(&history);
    _exit(told ? 0 : 1);
}

static void died(struct sim_report *ret, int status)
{
    *ret = (struct sim_report){.failed = true};
    if (WIFSIGNALED(status))
        snprintf(ret->what, sizeof ret->what, "the engine died: %s", strsignal(WTERMSIG(status)));
    else
        snprintf(ret->what, sizeof ret->what, "the engine died: exit %d", WEXITSTATUS(status));
}

void sim_run_apart(const struct sim_options *o, struct sim_report *ret, struct buf *history)
{
    int ends[2], status = 0;
    size_t n = 0;
    fflush(stdout);
    pid_t pid = pipe(ends) == 0 ? fork() : -1;
    if (pid < 0) { /* no child to be had: then here */
        sim_run(o, ret, history);
        return;
    }
    if (pid == 0) {
        close(ends[0]);
        child(o, ends[1]);
    }
    close(ends[1]);
    bool told = read_all(ends[0], ret, sizeof *ret) && read_all(ends[0], &n, sizeof n);
    if (told && history && n > 0) {
        buf_reserve(history, n);
        char *text = xcalloc(n, 1);
        if (read_all(ends[0], text, n))
            buf_put(history, text, n);
        vec_free_(text);
    }
    close(ends[0]);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!told)
        died(ret, status);
}

/* "invariant 7: ..." by its number, anything else by its words without the numbers. */
static bool same_kind(const char *x, const char *y)
{
    const char *colon = strchr(x, ':');
    if (colon)
        return !strncmp(x, y, (size_t)(colon - x) + 1);
    for (; *x || *y; x++, y++) {
        x += strspn(x, "0123456789");
        y += strspn(y, "0123456789");
        if (*x != *y)
            return false;
        if (!*x)
            return true;
    }
    return true;
}

struct shrink {
    struct sim_options best;
    const char *what;
};

static bool still_fails(struct shrink *k, struct sim_options tried)
{
    struct sim_report r;
    sim_run_apart(&tried, &r, NULL);
    if (!r.failed || !same_kind(k->what, r.what))
        return false;
    if (r.events > 0 && r.events < tried.events) /* 0: it died before it could say */
        tried.events = (uint32_t)r.events;
    k->best = tried;
    return true;
}

static bool fewer_events(struct shrink *k)
{
    bool helped = false;
    for (uint32_t cut = k->best.events / 2; cut > 0; cut /= 2) {
        struct sim_options tried = k->best;
        if (cut >= tried.events)
            continue;
        tried.events -= cut;
        helped |= still_fails(k, tried);
    }
    return helped;
}

static bool fewer_faults(struct shrink *k)
{
    bool helped = false;
    for (int f = 0; f < SIM_FAULT_COUNT; f++) {
        struct sim_options tried = k->best;
        if (!(tried.faults >> f & 1))
            continue;
        tried.faults &= ~(1ull << f);
        helped |= still_fails(k, tried);
    }
    return helped;
}

static bool smaller_world(struct shrink *k, bool nodes)
{
    bool helped = false;
    uint32_t size[2];
    sim_world_size(&k->best, &size[0], &size[1]);
    for (uint32_t cut = size[!nodes] / 2; cut > 0; cut /= 2) {
        struct sim_options tried = k->best;
        sim_world_size(&k->best, &size[0], &size[1]);
        if (size[!nodes] <= cut)
            continue;
        *(nodes ? &tried.nodes : &tried.noderoles) = size[!nodes] - cut;
        helped |= still_fails(k, tried);
    }
    return helped;
}

struct sim_options sim_shrink(const struct sim_options *o, const struct sim_report *failure)
{
    struct shrink k = {*o, failure->what};
    struct sim_options tried = *o;
    k.best.verbose = tried.verbose = false;
    k.best.events = tried.events = o->events ? o->events : SIM_EVENTS_DEFAULT;
    if (failure->events && failure->events < tried.events)
        tried.events = (uint32_t)failure->events;
    (void)still_fails(&k, tried);
    for (int round = 0; round < ROUNDS_MOST; round++) {
        bool helped = fewer_events(&k);
        helped |= fewer_faults(&k);
        helped |= smaller_world(&k, false);
        helped |= smaller_world(&k, true);
        if (!helped)
            break;
    }
    return k.best;
}

void sim_command(struct buf *b, const struct sim_options *o)
{
    buf_printf(b, "anneal sim --seed %" PRIu64, o->seed);
    if (o->events)
        buf_printf(b, " --events %u", o->events);
    if (o->nodes)
        buf_printf(b, " --nodes %u", o->nodes);
    if (o->noderoles)
        buf_printf(b, " --noderoles %u", o->noderoles);
    if (o->verify)
        buf_puts(b, " --verify");
    if (o->trip)
        buf_printf(b, " --trip %u", o->trip);
    if (o->faults != SIM_FAULTS_ALL) {
        buf_puts(b, " --faults ");
        sim_faults_write(b, o->faults);
    }
}
