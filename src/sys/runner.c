/* runner.c - lock, start, watch, clean up
 *
 * One struct run carries everything; each step returns RUNNER_OK or the exit status.  All signals
 * are blocked and read from a signalfd, so that waiting for the lock and waiting for the command
 * are the same poll(). The order that makes the promises hold:
 *   1. reaper of descendants and death signal are set before anything is started;
 *   2. the lock is taken, then the record written, STARTED before the command exists;
 *   3. the record becomes ENDED, or the file goes, only after the last process of the tree was
 * reaped.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/runner.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/runlock.h"
#include "sys/runtree.h"

enum {
    RUNNER_OK = -1,
    POLL_MS = 5,         /* between looks at a lock whose holder is not known yet */
    STUBBORN_MS = 10000, /* how long killed processes may take to vanish */
    EXIT_NOT_EXECUTABLE = 126,
    EXIT_NO_SUCH_COMMAND = 127,
    SAY_BYTES = 512,
};
#define SAY_PREFIX "anneal-runner: "

struct run {
    const struct runner_options *o;
    int lock_fd, signal_fd;
    pid_t child;
    bool child_reaped;
    int status; /* of the child, as wait() tells it */
    bool asked_to_end, kill_now;
    uint64_t kill_at_ms; /* UINT64_MAX: never */
    struct run_record mine;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* One line in one write, so that it is not torn among the output of others. */
__attribute__((format(printf, 1, 2))) static int refuse(const char *fmt, ...)
{
    char text[SAY_BYTES];
    size_t n = sizeof SAY_PREFIX - 1;
    va_list ap;
    memcpy(text, SAY_PREFIX, n);
    va_start(ap, fmt);
    int more = vsnprintf(text + n, sizeof text - n, fmt, ap);
    va_end(ap);
    n += more < 0 ? 0 : (size_t)more;
    n = n < sizeof text ? n : sizeof text - 1;
    text[n++] = '\n';
    ssize_t put = write(STDERR_FILENO, text, n);
    (void)put; /* nobody listens: the status still tells */
    return RUNNER_REFUSED;
}

/* Signals, children and the death of the parent all become readable on one descriptor. */
static int prepare(struct run *r)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, if inherited so, it would swallow the command's status */
    r->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signal_fd < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ||
        prctl(PR_SET_PDEATHSIG, SIGQUIT) < 0)
        return refuse("cannot set up: %s", strerror(errno));
    if (r->o->parent && getppid() != r->o->parent) /* it died before we asked to be told */
        return refuse("parent process %" PRId32 " is gone", r->o->parent);
    return RUNNER_OK;
}

/* Takes note of pending signals.  Relays the polite ones once the command runs. */
static void read_signals(struct run *r)
{
    struct signalfd_siginfo si;
    while (read(r->signal_fd, &si, sizeof si) == sizeof si) {
        int signo = (int)si.ssi_signo;
        if (signo == SIGQUIT)
            r->kill_now = r->asked_to_end = true;
        if (signo != SIGTERM && signo != SIGINT && signo != SIGHUP)
            continue;
        if (!r->asked_to_end)
            r->kill_at_ms = now_ms() + r->o->grace_ms;
        r->asked_to_end = true;
        if (r->child > 0 && !r->child_reaped)
            kill(-r->child, signo);
    }
}

/* Until a signal arrives, the descriptor (if any) is readable, or the time has come. */
static void wait_for(struct run *r, int fd, uint64_t until_ms)
{
    struct pollfd p[2] = {{.fd = r->signal_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    uint64_t now = now_ms(), left = until_ms > now ? until_ms - now : 0;
    int timeout = until_ms == UINT64_MAX ? -1 : left > INT32_MAX ? INT32_MAX : (int)left;
    (void)poll(p, 2, timeout);
    read_signals(r);
}

/* The recorded holder, if it lives and is the process that wrote the record; else -1. */
static int holder_pidfd(const struct run_record *held)
{
    int fd = held->runner > 0 ? pidfd_open(held->runner, 0) : -1;
    if (fd >= 0 && run_since_ticks(held->runner) != held->since_ticks) {
        close(fd); /* another process has the number now */
        fd = -1;
    }
    return fd;
}

/* An earlier run holds the lock: its runner is asked to end it, then told to. */
static int end_holder(struct run *r, const struct run_record *held, int pidfd)
{
    uint64_t kill_at = now_ms() + r->o->grace_ms, give_up = kill_at + STUBBORN_MS;
    struct pollfd gone = {.fd = pidfd, .events = POLLIN};
    bool told = false;
    pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
    while (poll(&gone, 1, 0) == 0) {
        if (r->asked_to_end)
            return refuse("told to end before the start");
        if (!told && now_ms() >= kill_at) {
            pidfd_send_signal(pidfd, SIGQUIT, NULL, 0);
            told = true;
        }
        if (now_ms() >= give_up)
            return refuse("attempt %" PRIu32 " of task %" PRIu32 " cannot be ended", held->attempt,
                          held->task);
        wait_for(r, pidfd, told ? give_up : kill_at);
    }
    return RUNNER_OK;
}

/* What a record that somebody left or holds means for our run. */
static int judge(const struct run *r, const struct run_record *rec)
{
    int order = runlock_order(rec, &r->mine);
    if (rec->task != r->mine.task)
        return refuse("the lock is of task %" PRIu32, rec->task);
    if (order > 0)
        return refuse("attempt %" PRIu32 ".%" PRIu32 " of task %" PRIu32 " came later",
                      rec->attempt, rec->ask, rec->task);
    if (order == 0 && rec->state != RUN_HELD)
        return refuse("attempt %" PRIu32 ".%" PRIu32 " of task %" PRIu32 " was started before",
                      rec->attempt, rec->ask, rec->task);
    return RUNNER_OK;
}

static int wait_for_holder(struct run *r)
{
    struct run_record held;
    int rc = RUNNER_OK, pidfd = -1;
    if (runlock_read(r->lock_fd, &held) > 0) {
        rc = judge(r, &held);
        pidfd = rc == RUNNER_OK ? holder_pidfd(&held) : -1;
    }
    if (pidfd >= 0 && runlock_order(&held, &r->mine) < 0)
        rc = end_holder(r, &held, pidfd);
    else if (rc == RUNNER_OK) /* it has not written its name yet, or it is just going */
        wait_for(r, -1, now_ms() + POLL_MS);
    if (pidfd >= 0)
        close(pidfd);
    if (rc == RUNNER_OK && r->asked_to_end)
        rc = refuse("told to end before the start");
    return rc;
}

static int take_lock(struct run *r)
{
    int got;
    r->lock_fd = runlock_open(r->o->lock_path);
    if (r->lock_fd < 0)
        return refuse("cannot open %s: %s", r->o->lock_path, strerror(errno));
    while ((got = runlock_try(&r->lock_fd, r->o->lock_path)) == 0) {
        int rc = wait_for_holder(r);
        if (rc != RUNNER_OK)
            return rc;
    }
    return got < 0 ? refuse("cannot lock %s: %s", r->o->lock_path, strerror(errno)) : RUNNER_OK;
}

/* With the lock in hand: nobody's runner lives, but its processes may, if it was killed. */
static int clear_past(struct run *r, const char *variable)
{
    struct run_record past;
    int found = runlock_read(r->lock_fd, &past);
    if (found < 0 && (errno != EINVAL || ftruncate(r->lock_fd, 0) < 0))
        return refuse("cannot read %s: %s", r->o->lock_path, strerror(errno));
    if (found > 0) {
        int rc = judge(r, &past);
        if (rc != RUNNER_OK)
            return rc;
    }
    if (found != 0 && !(found > 0 && past.state == RUN_ENDED) &&
        runtree_sweep(variable, STUBBORN_MS) < 0)
        return refuse("processes of an earlier attempt of task %" PRIu32 " cannot be ended",
                      r->o->task);
    return RUNNER_OK;
}

static int record(struct run *r, enum run_state state)
{
    r->mine.state = state;
    r->mine.child = r->child;
    if (runlock_write(r->lock_fd, &r->mine) == 0)
        return RUNNER_OK;
    return refuse("cannot write %s: %s", r->o->lock_path, strerror(errno));
}

/* In the child of vfork(): system calls only, and no return. */
static void __attribute__((noreturn))
become(const struct run *r, pid_t runner, volatile int *failed)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == runner && setsid() > 0) { /* a session: no terminal to ask questions on */
        sigprocmask(SIG_SETMASK, &none, NULL);
        execvp(r->o->argv[0], r->o->argv);
    }
    *failed = errno;
    _exit(EXIT_NO_SUCH_COMMAND);
}

/* 0, or the errno that kept the command from being executed. */
static int start_child(struct run *r)
{
    volatile int failed = 0; /* shared with the child until its exec */
    pid_t runner = getpid(), child = vfork();
    if (child == 0)
        become(r, runner, &failed);
    if (child < 0)
        return errno;
    if (failed) {
        (void)waitpid(child, NULL, 0);
        return failed;
    }
    r->child = child;
    return 0;
}

static void reap_children(struct run *r)
{
    int status;
    for (pid_t got; (got = waitpid(-1, &status, WNOHANG)) > 0;)
        if (got == r->child) {
            r->child_reaped = true;
            r->status = status;
        }
}

/* Is what is left of the command without our variable meant to stay? */
static bool spares(const struct run *r)
{
    return r->o->leaves && r->child_reaped && !r->asked_to_end && r->status == 0;
}

static int supervise(struct run *r, const char *variable)
{
    for (;;) {
        reap_children(r);
        if (r->child_reaped || r->kill_now || now_ms() >= r->kill_at_ms)
            break;
        wait_for(r, -1, r->kill_at_ms);
    }
    if (!spares(r) || runtree_sweep(variable, STUBBORN_MS) < 0)
        runtree_end(r->child_reaped ? 0 : r->child, &r->status);
    return WIFSIGNALED(r->status) ? 128 + WTERMSIG(r->status) : WEXITSTATUS(r->status);
}

/* The end is on record before the lock goes.  A success needs no record: nobody will ask. */
static void close_record(struct run *r, int status)
{
    r->mine.status = status;
    if (status == 0)
        (void)unlink(r->o->lock_path);
    else
        (void)record(r, RUN_ENDED);
}

static int run_command(struct run *r, const char *variable)
{
    int sys, status = record(r, RUN_STARTED);
    if (status != RUNNER_OK)
        return status;
    sys = start_child(r);
    if (sys) {
        (void)refuse("cannot run %s: %s", r->o->argv[0], strerror(sys));
        status = sys == ENOENT || sys == ENOTDIR ? EXIT_NO_SUCH_COMMAND : EXIT_NOT_EXECUTABLE;
    } else {
        (void)record(r, RUN_STARTED); /* again, with the child; only people need that */
        status = supervise(r, variable);
    }
    close_record(r, status);
    return status;
}

static int run_locked(struct run *r)
{
    char *variable = NULL;
    int rc = RUNNER_OK;
    if (asprintf(&variable, "%s=%s", RUNNER_VARIABLE, r->o->lock_path) < 0)
        return refuse("out of memory");
    rc = clear_past(r, variable);
    if (rc == RUNNER_OK)
        rc = record(r, RUN_HELD);
    read_signals(r);
    if (rc == RUNNER_OK && r->asked_to_end)
        rc = refuse("told to end before the start");
    if (rc == RUNNER_OK) {
        putenv(variable);
        rc = run_command(r, variable);
        unsetenv(RUNNER_VARIABLE);
    }
    free(variable);
    return rc;
}

int runner_run(const struct runner_options *o)
{
    struct run r = {.o = o,
                    .lock_fd = -1,
                    .signal_fd = -1,
                    .status = SIGKILL, /* until we know better; never a success */
                    .kill_at_ms = UINT64_MAX};
    r.mine = (struct run_record){
        .task = o->task, .attempt = o->attempt, .ask = o->ask, .step = o->step};
    r.mine.runner = getpid();
    r.mine.since_ticks = run_since_ticks(getpid());
    int rc = prepare(&r);
    if (rc == RUNNER_OK)
        rc = take_lock(&r);
    if (rc == RUNNER_OK)
        rc = run_locked(&r);
    if (r.lock_fd >= 0)
        close(r.lock_fd);
    if (r.signal_fd >= 0)
        close(r.signal_fd);
    return rc;
}

static bool parse_number(const char *text, uint64_t most, uint64_t *ret_v)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || v > most)
        return false;
    *ret_v = v;
    return true;
}

/* Becomes a program that ends with its parent, which cannot see to that itself: posix_spawn has no
 * word for it, and the parent may be killed at any moment. */
static int runner_tie(const char *parent, char **argv)
{
    uint64_t pid;
    if (!parse_number(parent, INT32_MAX, &pid) || !argv[0])
        return refuse("usage: --tie PID -- COMMAND...");
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0)
        return refuse("cannot set up: %s", strerror(errno));
    if ((uint64_t)getppid() != pid)
        return refuse("parent process %s is gone", parent);
    execvp(argv[0], argv);
    int code = errno == ENOENT ? 127 : 126;
    (void)refuse("cannot execute %s: %s", argv[0], strerror(errno));
    return code;
}

int runner_main(int argc, char **argv)
{
    struct {
        const char *name;
        uint64_t most, value;
        bool given;
    } n[] = {{"--task", UINT32_MAX}, {"--attempt", UINT32_MAX}, {"--ask", UINT32_MAX},
             {"--step", UINT32_MAX}, {"--grace", UINT32_MAX},   {"--parent", INT32_MAX},
             {"--leaves", 1}};
    struct runner_options o = {0};
    int i = 1;
    if (argc > 4 && !strcmp(argv[1], "--tie") && !strcmp(argv[3], "--"))
        return runner_tie(argv[2], argv + 4);
    for (; i + 1 < argc && strcmp(argv[i], "--"); i += 2) {
        size_t k = 0;
        if (!strcmp(argv[i], "--lock")) {
            o.lock_path = argv[i + 1];
            continue;
        }
        while (k < sizeof n / sizeof n[0] && strcmp(argv[i], n[k].name))
            k++;
        if (k == sizeof n / sizeof n[0] || !parse_number(argv[i + 1], n[k].most, &n[k].value))
            return refuse("bad argument %s %s", argv[i], argv[i + 1]);
        n[k].given = true;
    }
    if (i + 1 >= argc || !o.lock_path || !n[0].given || !n[1].given)
        return refuse("usage: --lock FILE --task N --attempt N [--ask N] [--step N] "
                      "[--grace MS] [--parent PID] [--leaves 1] -- COMMAND...");
    o.task = (uint32_t)n[0].value;
    o.attempt = (uint32_t)n[1].value;
    o.ask = (uint32_t)n[2].value;
    o.step = (uint32_t)n[3].value;
    o.grace_ms = n[4].value;
    o.parent = (int32_t)n[5].value;
    o.leaves = n[6].value == 1;
    o.argv = argv + i + 1;
    return runner_run(&o);
}
