/* host_init.c - the first process of a host, from the moment it is inside
 *
 * Reaps whatever ends, runs the services, answers on one socket, and ends the host in order: each
 * process is asked, then nothing is asked any more.  It never waits for one thing only.
 *
 * The host is ready when sshd has written its pid file, which it does once it listens.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/host_i.h"
#include "host/host_service_i.h"

enum { EVENTS = 16, BACKLOG = 64, REQUEST_MS = 1000 };

struct init {
    const struct host_boot *b;
    int epoll_fd, signal_fd, control_fd, inotify_fd, report_fd;
    struct host_services *services;
    int end;             /* one of HOST_END_*, once it is ending */
    uint64_t kill_at_ms; /* 0: not ending */
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int watch(struct init *n, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
    return fd < 0 ? -1 : epoll_ctl(n->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int control_open(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = HOST_CONTROL_PATH};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, BACKLOG) < 0 ||
        chmod(HOST_CONTROL_PATH, 0600) < 0)
        return -1;
    return fd;
}

static int init_open(struct init *n)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, 0) < 0 || dup2(n->b->console_fd, 1) < 0 ||
        dup2(n->b->console_fd, 2) < 0)
        return -1;
    close(null);
    n->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    n->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    n->control_fd = control_open();
    n->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (n->epoll_fd < 0 || watch(n, n->signal_fd) < 0 || watch(n, n->control_fd) < 0 ||
        watch(n, n->inotify_fd) < 0 || inotify_add_watch(n->inotify_fd, "/run", IN_CLOSE_WRITE) < 0)
        return -1;
    return 0;
}

static void begin_end(struct init *n, int end)
{
    if (n->kill_at_ms)
        return;
    n->end = end;
    n->kill_at_ms = now_ms() + n->b->o->grace_ms;
    host_services_end(n->services);
    /* A shell at a terminal does not listen to TERM, but hangs up. */
    (void)kill(-1, SIGTERM);
    (void)kill(-1, SIGHUP);
    (void)kill(-1, SIGCONT);
}

static void reap(struct init *n)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        host_services_reaped(n->services, pid, status, now_ms());
}

static void read_signals(struct init *n)
{
    struct signalfd_siginfo si;
    while (read(n->signal_fd, &si, sizeof si) == sizeof si) {
        if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
            begin_end(n, HOST_END_OFF);
        else if (si.ssi_signo == SIGHUP)
            begin_end(n, HOST_END_REBOOT);
    }
    reap(n); /* several children may be behind one signal */
}

static void read_request(struct init *n)
{
    struct host_request q;
    struct timeval patience = {.tv_sec = REQUEST_MS / 1000};
    int fd = accept4(n->control_fd, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    /* Only root can connect, and our clients send at once. */
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (recv(fd, &q, sizeof q, 0) != (ssize_t)sizeof q || q.verb >= HOST_VERB_COUNT ||
        n->kill_at_ms) {
        close(fd);
        return;
    }
    q.unit[sizeof q.unit - 1] = '\0';
    if (q.verb == HOST_VERB_REBOOT || q.verb == HOST_VERB_POWEROFF) {
        host_service_answer(fd, 0, "");
        begin_end(n, q.verb == HOST_VERB_REBOOT ? HOST_END_REBOOT : HOST_END_OFF);
    } else {
        host_services_request(n->services, &q, fd, now_ms());
    }
}

static void read_inotify(struct init *n)
{
    _Alignas(struct inotify_event) char bytes[4096];
    while (read(n->inotify_fd, bytes, sizeof bytes) > 0)
        ;
    struct stat st;
    if (stat("/run/sshd.pid", &st) < 0 || st.st_size == 0)
        return;
    dprintf(n->report_fd, "ready\n");
    close(n->report_fd);
    close(n->inotify_fd); /* leaves the epoll set with it */
    n->report_fd = n->inotify_fd = -1;
}

static int timeout_of(const struct init *n)
{
    uint64_t due = host_services_due_ms(n->services), now = now_ms();
    if (n->kill_at_ms && n->kill_at_ms < due)
        due = n->kill_at_ms;
    return due == UINT64_MAX       ? -1
           : due <= now            ? 0
           : due - now > INT32_MAX ? INT32_MAX
                                   : (int)(due - now);
}

static bool has_children(void)
{
    siginfo_t si;
    return waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static void loop(struct init *n)
{
    struct epoll_event ev[EVENTS];
    for (;;) {
        if (n->kill_at_ms && (!has_children() || now_ms() >= n->kill_at_ms))
            return;
        int k = epoll_wait(n->epoll_fd, ev, EVENTS, timeout_of(n));
        for (int i = 0; i < k; i++) {
            int fd = ev[i].data.fd;
            if (fd == n->signal_fd)
                read_signals(n);
            else if (fd == n->control_fd)
                read_request(n);
            else if (fd == n->inotify_fd)
                read_inotify(n);
            else
                host_services_readable(n->services, fd);
        }
        host_services_tick(n->services, now_ms());
    }
}

int host_init_run(const struct host_boot *b)
{
    struct init n = {.b = b, .epoll_fd = -1, .report_fd = b->report_fd};
    if (init_open(&n) < 0) {
        dprintf(b->report_fd, "init cannot start: %s\n", strerror(errno));
        return HOST_END_BROKEN;
    }
    n.services = host_services_new(n.epoll_fd, b->console_fd);
    host_services_boot(n.services, now_ms());
    loop(&n);
    host_services_free(n.services);
    return n.end; /* the kernel ends the rest of the namespace with us */
}
