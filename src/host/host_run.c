/* host_run.c - the owner of one host: boots it, waits, boots it again or ends
 *
 * Everything of the host hangs on this process.  It asks the first process to end in order (TERM),
 * and makes it end when that takes too long; it never looks for processes by name or number of its
 * own.  What it writes into DIR is for others to read; only the lock and the file "link" are read
 * back.
 *
 * An interface outlives its namespace for a moment, so the owner removes it by name before the
 * next boot makes it anew.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "host/host_i.h"
#include "sys/fs.h"

enum {
    STACK_BYTES = 256 * 1024,
    EXTRA_GRACE_MS = 2000, /* the first process has its own deadline; this is for one that hangs */
    CAP_NET_ADMIN_BIT = 12,
    CAP_SYS_ADMIN_BIT = 21,
};

enum next_step { NEXT_WAIT, NEXT_OFF, NEXT_REBOOT };

struct owner {
    const struct host_options *o;
    char interface[HOST_INTERFACE_BYTES], ip[HOST_ADDRESS_BYTES];
    int link_fd, signal_fd, owner_fd, console_fd, lock_fd;
    unsigned bridge;
    void *stack;
    /* of one boot */
    pid_t init;
    int init_fd, report_fd;
    enum next_step next;
    uint64_t kill_at_ms; /* 0: nobody asked it to end */
    bool was_ready;
};

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* ---- before the first boot ---- */

static bool has_capability(int bit)
{
    char line[256];
    unsigned long long set = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "CapEff:", 7) == 0)
            set = strtoull(line + 7, NULL, 16);
    if (f)
        fclose(f);
    return set >> bit & 1;
}

static bool has_overlay(void)
{
    SCOPED_BUF(text);
    /* A file of /proc has no size, but fs_read() reads to the end. */
    return fs_read("/proc/filesystems", 1 << 16, &text, NULL) == 0 &&
           strstr(buf_str(&text).s, "\toverlay\n");
}

/* What a machine must have is told at once and plainly, not by the first call that fails. */
static int check_machine(const struct host_options *o, struct err *e)
{
    if (geteuid() != 0)
        return err_set(e, ERR_FORBIDDEN, "only root can run a host on this machine");
    if (!has_capability(CAP_SYS_ADMIN_BIT) || !has_capability(CAP_NET_ADMIN_BIT)) {
        int r = err_set(e, ERR_FORBIDDEN,
                        "root lacks a capability that hosts need: CAP_SYS_ADMIN or CAP_NET_ADMIN");
        err_hint(e, "in a container, start that with --privileged");
        return r;
    }
    if (!has_overlay()) {
        int r = err_set(e, ERR_NOT_FOUND, "the kernel has no overlayfs");
        err_hint(e, "modprobe overlay, on the machine itself if this is a container");
        return r;
    }
    if (access("/usr/sbin/sshd", X_OK) < 0)
        return err_set(e, ERR_NOT_FOUND, "no /usr/sbin/sshd: install openssh-server");
    if (access(o->keys_path, R_OK) < 0)
        return err_sys(e, ERR_NOT_FOUND, errno, "cannot read %s", o->keys_path);
    return 0;
}

static int open_signals(struct owner *w, struct err *e)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, if inherited so, it would swallow the host's end */
    w->signal_fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (w->signal_fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot receive signals");
    if (w->o->owner && (w->owner_fd = pidfd_open(w->o->owner, 0)) < 0)
        return err_sys(e, ERR_NOT_FOUND, errno, "the owning process %d is gone", w->o->owner);
    return 0;
}

static int owner_open(struct owner *w, struct err *e)
{
    SCOPED_BUF(path);
    const char *dir = w->o->dir;
    int r = fs_mkdirs(dir, 0700, e);
    buf_printf(&path, "%s/lock", dir);
    if (r == 0)
        r = w->lock_fd = fs_lock(path.data, e);
    if (r >= 0)
        r = open_signals(w, e);
    if (r == 0)
        r = w->link_fd = host_link_open(e);
    if (r >= 0 && (r = host_link_index(w->o->bridge, &w->bridge, e)) < 0)
        err_hint(e, "make it with: ip link add %s type bridge; ip link set %s up", w->o->bridge,
                 w->o->bridge);
    buf_clear(&path);
    buf_printf(&path, "%s/console", dir);
    if (r == 0) {
        w->console_fd = open(path.data, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        w->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
        if (w->console_fd < 0 || w->stack == MAP_FAILED)
            r = err_sys(e, ERR_IO, errno, "cannot open %s", path.data);
    }
    if (r == 0)
        r = host_disk_mount(w->o, e);
    return r < 0 ? r : host_disk_fill(w->o, e);
}

/* ---- one boot ---- */

struct child_start {
    struct owner *w;
    struct host_boot boot;
    int owner_ends[2]; /* the owner's ends of the two pipes, which the host must not hold */
};

/* On a stack of its own in a copy of our memory. */
static int child_main(void *arg)
{
    struct child_start *c = arg;
    struct err e = {0};
    close(c->owner_ends[0]);
    close(c->owner_ends[1]);
    close(c->w->link_fd);
    close(c->w->signal_fd);
    close(c->w->lock_fd);
    if (c->w->owner_fd >= 0)
        close(c->w->owner_fd);
    if (host_boot_enter(&c->boot, &e) < 0) {
        dprintf(c->boot.report_fd, "%s\n", e.text);
        return HOST_END_BROKEN;
    }
    close(c->boot.go_fd);
    return host_init_run(&c->boot);
}

static int say_numbers(struct owner *w, const char *boot_id, struct err *e)
{
    char text[64];
    snprintf(text, sizeof text, "%d\n", (int)w->init);
    int r = host_file_put(w->o->dir, "init.pid", text, 0644, e);
    snprintf(text, sizeof text, "%s\n", boot_id);
    if (r == 0)
        r = host_file_put(w->o->dir, "boot_id", text, 0644, e);
    snprintf(text, sizeof text, "%d\n", (int)getpid());
    if (r == 0)
        r = host_file_put(w->o->dir, "pid", text, 0644, e);
    snprintf(text, sizeof text, "%s\n", w->interface);
    return r < 0 ? r : host_file_put(w->o->dir, "interface", text, 0644, e);
}

static int plug_in(struct owner *w, int go_fd, struct err *e)
{
    uint8_t mac[HOST_MAC_BYTES];
    char link[8];
    host_address_mac(w->o->address.ip, mac);
    host_file_line(w->o->dir, "link", link, sizeof link);
    int r = host_link_add_pair(w->link_fd, w->interface, w->bridge, w->init, mac,
                               strcmp(link, "down") != 0, e);
    if (r == -ERR_EXISTS)
        err_hint(e, "another host on this bridge has the address %s", w->ip);
    if (r == 0 && write(go_fd, "g", 1) != 1)
        r = err_sys(e, ERR_IO, errno, "the host ended at once");
    return r;
}

static int boot(struct owner *w, struct err *e)
{
    int go[2], report[2];
    struct child_start c = {.w = w, .boot = {.o = w->o, .console_fd = w->console_fd}};
    int r = host_file_put(w->o->dir, "state", "booting\n", 0644, e);
    if (r == 0)
        r = host_file_uuid(true, c.boot.boot_id, e);
    if (r < 0)
        return r;
    if (pipe2(go, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
        return err_sys(e, ERR_IO, errno, "no pipe");
    c.boot.go_fd = go[0];
    c.boot.report_fd = report[1];
    c.owner_ends[0] = go[1];
    c.owner_ends[1] = report[0];
    w->next = NEXT_WAIT;
    w->kill_at_ms = 0;
    w->was_ready = false;
    w->init = clone(
        child_main, (char *)w->stack + STACK_BYTES,
        CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | SIGCHLD, &c);
    int sys = errno;
    close(go[0]);
    close(report[1]);
    w->report_fd = report[0];
    if (w->init < 0 || (w->init_fd = pidfd_open(w->init, 0)) < 0)
        r = err_sys(e, ERR_IO, w->init < 0 ? sys : errno, "cannot make the namespaces of a host");
    if (r == 0)
        r = say_numbers(w, c.boot.boot_id, e);
    if (r == 0)
        r = plug_in(w, go[1], e);
    close(go[1]);
    return r;
}

/* ---- waiting ---- */

static void ask_to_end(struct owner *w, enum next_step next)
{
    if (next == NEXT_OFF || w->next == NEXT_WAIT)
        w->next = next;
    if (!w->kill_at_ms) {
        w->kill_at_ms = now_ms() + w->o->grace_ms + EXTRA_GRACE_MS;
        (void)pidfd_send_signal(w->init_fd, SIGTERM, NULL, 0);
    }
}

static void read_signals(struct owner *w)
{
    struct signalfd_siginfo si;
    while (read(w->signal_fd, &si, sizeof si) == sizeof si) {
        if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
            ask_to_end(w, NEXT_OFF);
        else if (si.ssi_signo == SIGHUP)
            ask_to_end(w, NEXT_REBOOT);
    }
}

/* The one line that the first process has for us: ready, or why not. */
static int read_report(struct owner *w, struct err *e)
{
    char line[512];
    ssize_t n = read(w->report_fd, line, sizeof line - 1);
    close(w->report_fd);
    w->report_fd = -1;
    if (n <= 0)
        return 0; /* it died: its status tells */
    line[n] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "ready") != 0)
        return err_set(e, ERR_FAILED, "%s", line);
    w->was_ready = true;
    int r = host_file_put(w->o->dir, "state", "up\n", 0644, e);
    if (r == 0) {
        printf("ready %s %s\n", w->o->name, w->ip);
        fflush(stdout);
    }
    return r;
}

static int wait_for_end(struct owner *w, struct err *e)
{
    int r = 0;
    for (;;) {
        struct pollfd p[] = {{.fd = w->init_fd, .events = POLLIN},
                             {.fd = w->signal_fd, .events = POLLIN},
                             {.fd = w->report_fd, .events = POLLIN},
                             {.fd = w->kill_at_ms ? -1 : w->owner_fd, .events = POLLIN}};
        uint64_t now = now_ms();
        int timeout = !w->kill_at_ms ? -1 : w->kill_at_ms <= now ? 0 : (int)(w->kill_at_ms - now);
        int n = poll(p, 4, timeout);
        if (n == 0 && w->kill_at_ms) {
            (void)pidfd_send_signal(w->init_fd, SIGKILL, NULL, 0);
            w->kill_at_ms = now + EXTRA_GRACE_MS;
        }
        if (p[1].revents)
            read_signals(w);
        if (p[2].revents && (r = read_report(w, e)) < 0)
            return r;
        if (p[3].revents)
            ask_to_end(w, NEXT_OFF);
        if (p[0].revents)
            return 0;
    }
}

/* What the first process's end means, if nobody outside asked for it. */
static int judge_end(struct owner *w, int status, struct err *e)
{
    bool exited = WIFEXITED(status);
    int code = exited ? WEXITSTATUS(status) : WTERMSIG(status);
    if (w->next != NEXT_WAIT)
        return 0;
    /* reboot(2) in a pid namespace ends its first process by one of these two signals. */
    if ((exited && code == HOST_END_REBOOT) || (!exited && code == SIGHUP))
        w->next = NEXT_REBOOT;
    else if ((exited && code == HOST_END_OFF) || (!exited && code == SIGINT))
        w->next = NEXT_OFF;
    else
        return err_set(e, ERR_FAILED, "the host's init ended by %s %d",
                       exited ? "exit status" : "signal", code);
    return 0;
}

/* After this nothing of the boot is left but the disk. */
static int bury(struct owner *w, int *ret_status, struct err *e)
{
    if (w->init_fd >= 0) {
        (void)pidfd_send_signal(w->init_fd, SIGKILL, NULL, 0);
        close(w->init_fd);
        w->init_fd = -1;
    }
    if (w->report_fd >= 0)
        close(w->report_fd);
    w->report_fd = -1;
    while (w->init > 0 && waitpid(w->init, ret_status, 0) < 0 && errno == EINTR)
        ;
    w->init = 0;
    return w->interface[0] ? host_link_remove(w->link_fd, w->interface, e) : 0;
}

static int run_boots(struct owner *w, struct err *e)
{
    for (;;) {
        struct err unplug = {0};
        int status = 0, r = boot(w, e);
        if (r == 0)
            r = wait_for_end(w, e);
        /* A failure to make the interface must not remove another host's of that name. */
        if (r == -ERR_EXISTS)
            w->interface[0] = '\0';
        int gone = bury(w, &status, &unplug);
        if (r == 0)
            r = judge_end(w, status, e);
        if (r == 0 && gone < 0) {
            if (e)
                *e = unplug;
            r = gone;
        }
        if (r < 0 || w->next == NEXT_OFF)
            return r;
    }
}

static void owner_close(struct owner *w)
{
    static const char *const passing[] = {"pid", "init.pid", "interface"};
    for (size_t i = 0; w->lock_fd >= 0 && i < sizeof passing / sizeof *passing; i++) {
        SCOPED_BUF(path);
        buf_printf(&path, "%s/%s", w->o->dir, passing[i]);
        (void)unlink(path.data);
    }
    if (w->lock_fd >= 0)
        (void)host_file_put(w->o->dir, "state", "off\n", 0644, NULL);
    int fds[] = {w->link_fd, w->signal_fd, w->owner_fd, w->console_fd, w->lock_fd};
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    if (w->stack && w->stack != MAP_FAILED)
        (void)munmap(w->stack, STACK_BYTES);
}

int host_run(const struct host_options *o, struct err *e)
{
    struct owner w = {.o = o,
                      .link_fd = -1,
                      .signal_fd = -1,
                      .owner_fd = -1,
                      .console_fd = -1,
                      .lock_fd = -1,
                      .init_fd = -1,
                      .report_fd = -1};
    host_address_interface(o->address.ip, w.interface);
    host_address_show(o->address.ip, w.ip);
    int r = check_machine(o, e);
    if (r == 0)
        r = owner_open(&w, e);
    if (r == 0)
        r = run_boots(&w, e);
    owner_close(&w);
    return r;
}
