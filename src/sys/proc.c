/* proc.c - one child process and its pipes, driven by the loop
 *
 * Owns the descriptors, the pidfd and the reaping.  posix_spawn shares our memory until the exec,
 * so starting a child costs the same in a server of any size; a fork would copy its page tables.
 * Invariants: a pipe's watch is freed before its descriptor is closed; the child is reaped last, in
 *             the same step that calls on_exit.
 * Nothing here kills a child by itself: who cancels, and after what grace, is the caller's
 * business.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

enum {
    OUTPUTS = 3,                 /* stdout, stderr, results */
    FIRST_FREE_FD = OUTPUTS + 1, /* in the child */
    DEFAULT_CAP = 1024 * 1024,   /* bytes of an output */
    READ_CHUNK = 64 * 1024,      /* a pipe's usual size */
    READS_PER_WAKE = 4,          /* so that one talkative child does not starve the loop */
    LINGER_MS = 2000,            /* how long outputs may stay open after the exit */
};

struct output {
    struct proc *owner;
    int fd;     /* ours; -1 once closed */
    int number; /* the child's */
    size_t room;
    struct loop_watch *watch;
};
struct proc {
    struct loop *loop;
    pid_t pid;
    int pidfd;
    struct loop_watch *exit_watch;
    struct output out[OUTPUTS];
    int in_fd;
    struct loop_watch *in_watch;
    char *input;
    size_t input_n, input_at;
    struct loop_timer *linger;
    uint64_t started_ms;
    bool exited, done, cut;
    struct proc_exit x;
    void (*on_output)(void *arg, int fd, const char *p, size_t n);
    void (*on_exit)(void *arg, const struct proc_exit *x);
    void *arg;
};

/* A pipe whose ends are clear of the numbers that the child will be given. */
static int open_pipe(int ret_fd[2])
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        if (fd[i] >= FIRST_FREE_FD)
            continue;
        int up = fcntl(fd[i], F_DUPFD_CLOEXEC, FIRST_FREE_FD), sys = errno;
        close(fd[i]);
        fd[i] = up;
        if (up < 0) {
            close(fd[!i]);
            errno = sys;
            return -1;
        }
    }
    ret_fd[0] = fd[0];
    ret_fd[1] = fd[1];
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void output_close(struct output *o)
{
    loop_watch_free(o->watch);
    o->watch = NULL;
    close_fd(&o->fd);
}

static void input_close(struct proc *p)
{
    loop_watch_free(p->in_watch);
    p->in_watch = NULL;
    close_fd(&p->in_fd);
    free(p->input);
    p->input = NULL;
}

/* The single end: everything is closed, the number is given back, the owner is told. */
static void finish(struct proc *p)
{
    siginfo_t ignored;
    for (int i = 0; i < OUTPUTS; i++)
        output_close(&p->out[i]);
    input_close(p);
    loop_watch_free(p->exit_watch);
    p->exit_watch = NULL;
    loop_timer_free(p->linger);
    p->linger = NULL;
    (void)waitid(P_PIDFD, (id_t)p->pidfd, &ignored, WEXITED);
    close_fd(&p->pidfd);
    p->done = true;
    p->on_exit(p->arg, &p->x); /* may free p */
}

static void finish_if_complete(struct proc *p)
{
    if (!p->exited)
        return;
    for (int i = 0; i < OUTPUTS; i++)
        if (p->out[i].fd >= 0)
            return;
    finish(p);
}

static void deliver(struct output *o, const char *bytes, size_t n)
{
    struct proc *p = o->owner;
    if (n > o->room) {
        p->x.truncated = true;
        n = o->room;
    }
    o->room -= n;
    if (n && p->on_output)
        p->on_output(p->arg, o->number, bytes, n);
}

static void on_readable(void *arg, unsigned events)
{
    struct output *o = arg;
    char bytes[READ_CHUNK];
    (void)events;
    for (int i = 0; i < READS_PER_WAKE; i++) {
        ssize_t n = read(o->fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            output_close(o);
            finish_if_complete(o->owner);
            return;
        }
        deliver(o, bytes, (size_t)n);
        if ((size_t)n < sizeof bytes)
            return; /* drained; the watch is level triggered */
    }
}

static void on_linger(void *arg)
{
    finish(arg);
}

static void on_child_exit(void *arg, unsigned events)
{
    struct proc *p = arg;
    siginfo_t si = {0};
    (void)events;
    if (waitid(P_PIDFD, (id_t)p->pidfd, &si, WEXITED | WNOHANG | WNOWAIT) < 0 || si.si_pid == 0)
        return;
    p->exited = true;
    p->x.ran_ms = loop_now_ms(p->loop) - p->started_ms;
    p->x.code = si.si_code == CLD_EXITED ? si.si_status : -1;
    p->x.signo = si.si_code == CLD_EXITED ? 0 : si.si_status;
    loop_watch_set(p->exit_watch, 0); /* a zombie's pidfd stays readable */
    p->linger = loop_timer_new(p->loop, on_linger, p);
    loop_timer_at(p->linger, loop_now_ms(p->loop) + LINGER_MS);
    finish_if_complete(p);
}

/* Writes what the pipe takes; closes it at the end or when the child does not read. */
static void push_input(struct proc *p)
{
    while (p->input_at < p->input_n) {
        ssize_t n = write(p->in_fd, p->input + p->input_at, p->input_n - p->input_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break;
        p->input_at += (size_t)n;
    }
    input_close(p);
}

static void keep_input(struct proc *p, struct str input)
{
    if (!input.n)
        return;
    p->input = xcalloc(input.n, 1);
    p->input_n = input.n;
    memcpy(p->input, input.s, input.n);
}

static void on_writable(void *arg, unsigned events)
{
    (void)events;
    push_input(arg);
}

/* The child's side of the pipes while it is being made. */
struct child_ends {
    int in, out[OUTPUTS];
};

static void ends_close(struct child_ends *c)
{
    close_fd(&c->in);
    for (int i = 0; i < OUTPUTS; i++)
        close_fd(&c->out[i]);
}

static int open_pipes(struct proc *p, const struct proc_spec *spec, struct child_ends *c)
{
    const size_t caps[OUTPUTS] = {spec->max_stdout ? spec->max_stdout : DEFAULT_CAP,
                                  spec->max_stderr ? spec->max_stderr : DEFAULT_CAP,
                                  spec->max_result};
    int fd[2];
    if (spec->input.n) {
        if (open_pipe(fd) < 0)
            return -1;
        c->in = fd[0];
        p->in_fd = fd[1];
        if (fcntl(p->in_fd, F_SETFL, O_NONBLOCK) < 0)
            return -1;
    }
    for (int i = 0; i < OUTPUTS; i++) {
        if (!caps[i])
            continue;
        if (open_pipe(fd) < 0)
            return -1;
        c->out[i] = fd[1];
        p->out[i].fd = fd[0];
        p->out[i].room = caps[i];
        if (fcntl(fd[0], F_SETFL, O_NONBLOCK) < 0)
            return -1;
    }
    return 0;
}

static int set_actions(posix_spawn_file_actions_t *fa, const struct proc_spec *spec,
                       const struct child_ends *c)
{
    int rc = c->in >= 0
                 ? posix_spawn_file_actions_adddup2(fa, c->in, STDIN_FILENO)
                 : posix_spawn_file_actions_addopen(fa, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    int next = STDOUT_FILENO;
    for (int i = 0; i < OUTPUTS && rc == 0; i++)
        if (c->out[i] >= 0)
            rc = posix_spawn_file_actions_adddup2(fa, c->out[i], next++);
    if (rc == 0) /* whatever some library forgot to mark close-on-exec */
        rc = posix_spawn_file_actions_addclosefrom_np(fa, next);
    if (rc == 0 && spec->cwd)
        rc = posix_spawn_file_actions_addchdir_np(fa, spec->cwd);
    return rc;
}

static int spawn(struct proc *p, const struct proc_spec *spec, const struct child_ends *c)
{
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&fa);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETSIGMASK);
    int rc = set_actions(&fa, spec, c);
    if (rc == 0)
        rc = posix_spawnp(&p->pid, spec->argv[0], &fa, &attr, (char *const *)spec->argv,
                          spec->envp ? (char *const *)spec->envp : environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&fa);
    return rc;
}

/* It goes as it came: nobody hears of it, or not any more. */
static void abandon(struct proc *p)
{
    if (p->pid > 0) {
        kill(-p->pid, SIGKILL);
        (void)waitpid(p->pid, NULL, 0);
    }
    for (int i = 0; i < OUTPUTS; i++)
        output_close(&p->out[i]);
    input_close(p);
    loop_watch_free(p->exit_watch);
    loop_timer_free(p->linger);
    close_fd(&p->pidfd);
    free(p);
}

static int watch_child(struct proc *p)
{
    p->pidfd = pidfd_open(p->pid, 0);
    if (p->pidfd < 0)
        return -1;
    p->exit_watch = loop_watch_new(p->loop, p->pidfd, LOOP_READ, on_child_exit, p);
    if (!p->exit_watch)
        return -1;
    for (int i = 0; i < OUTPUTS; i++) {
        struct output *o = &p->out[i];
        if (o->fd < 0)
            continue;
        o->watch = loop_watch_new(p->loop, o->fd, LOOP_READ, on_readable, o);
        if (!o->watch)
            return -1;
    }
    if (p->in_fd >= 0)
        push_input(p); /* most inputs fit the pipe: no watch, no second wake-up */
    if (p->in_fd >= 0) {
        p->in_watch = loop_watch_new(p->loop, p->in_fd, LOOP_WRITE, on_writable, p);
        if (!p->in_watch)
            return -1;
    }
    return 0;
}

static int spawn_fail(struct err *e, int sys, const struct proc_spec *spec)
{
    enum errcode code = sys == ENOENT || sys == ENOTDIR                   ? ERR_NOT_FOUND
                        : sys == EACCES || sys == EPERM                   ? ERR_FORBIDDEN
                        : sys == E2BIG                                    ? ERR_TOO_LARGE
                        : sys == EAGAIN || sys == EMFILE || sys == ENFILE ? ERR_BUSY
                                                                          : ERR_IO;
    return err_sys(e, code, sys, "cannot run %s%s%s", spec->argv[0], spec->cwd ? " in " : "",
                   spec->cwd ? spec->cwd : "");
}

int proc_spawn(struct loop *l, const struct proc_spec *spec, struct proc **ret_p, struct err *e)
{
    struct proc *p = xcalloc(1, sizeof *p);
    struct child_ends c = {-1, {-1, -1, -1}};
    int sys = 0;
    *p = (struct proc){.loop = l,
                       .pidfd = -1,
                       .in_fd = -1,
                       .started_ms = loop_now_ms(l),
                       .on_output = spec->on_output,
                       .on_exit = spec->on_exit,
                       .arg = spec->arg};
    for (int i = 0; i < OUTPUTS; i++)
        p->out[i] = (struct output){.owner = p, .fd = -1, .number = i + 1};
    if (open_pipes(p, spec, &c) < 0)
        sys = errno;
    else
        sys = spawn(p, spec, &c);
    ends_close(&c);
    if (sys == 0) {
        keep_input(p, spec->input);
        if (watch_child(p) < 0)
            sys = errno;
    } else {
        p->pid = 0;
    }
    if (sys) {
        abandon(p);
        return spawn_fail(e, sys, spec);
    }
    *ret_p = p;
    return 0;
}

void proc_signal(struct proc *p, int signo)
{
    if (!p->done)
        kill(-p->pid, signo);
}

int proc_pid(const struct proc *p)
{
    return p->pid;
}

void proc_cut(struct proc *p)
{
    if (p->done)
        return;
    p->cut = true;
    for (int i = 0; i < OUTPUTS; i++)
        output_close(&p->out[i]);
    input_close(p);
}

void proc_free(struct proc *p)
{
    if (!p)
        return;
    assert(p->done || p->cut);
    loop_watch_free(p->exit_watch);
    loop_timer_free(p->linger);
    close_fd(&p->pidfd);
    free(p);
}

void proc_end(struct proc *p)
{
    assert(!p->done);
    abandon(p);
}
