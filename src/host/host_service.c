/* host_service.c - starting, watching and stopping the services of a host
 *
 * A service is in one state; the state says what its control process, its main process and its
 * deadline mean:
 *
 *   state      control process            main process      leaves it by
 *   INACTIVE   -                          -                 start
 *   PRE        ExecStartPre number step   -                 its end
 *   STARTING   oneshot, forking: it       notify: it        its end, READY=1, deadline
 *   ACTIVE     ExecReload number step     it, if any        its end, stop
 *   STOPPING   ExecStop number step       it                its end, deadline
 *   ENDING     -                          it, was signalled its end, deadline (KILL)
 *   FAILED     -                          -                 start; deadline if it restarts by
 * itself
 *
 * Who asked waits in the service's list of waiters until the state answers; see
 * host_service_settle().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host_service_i.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/fs.h"

static const char *const state_names[] = {
#define X(id, name) name,
    HOST_SERVICE_STATES(X)
#undef X
};
enum { NOTIFY_BYTES = 4096 };
static const uint64_t never = UINT64_MAX;

static const char sshd_unit[] = "[Service]\n"
                                "ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/sshd_config\n"
                                "KillMode=process\nRestart=always\n";

static void start_step(struct host_services *s, struct host_service *v, uint64_t now_ms);
static void stopped(struct host_services *s, struct host_service *v, uint64_t now_ms);

/* ---- answers ---- */

const char *host_service_state_name(enum host_service_state state)
{
    return state_names[state];
}

void host_service_answer(int fd, int status, const char *text)
{
    struct host_reply reply = {.status = status};
    snprintf(reply.text, sizeof reply.text, "%s", text);
    (void)send(fd, &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT); /* it may have gone away */
    close(fd);
}

void host_service_describe(const struct host_service *v, char *ret, size_t n)
{
    int used = snprintf(ret, n, "%s.service: %s", v->name, state_names[v->state]);
    if (v->main > 0 && used > 0 && (size_t)used < n)
        used += snprintf(ret + used, n - (size_t)used, ", pid %d", (int)v->main);
    if (v->why[0] && used > 0 && (size_t)used < n)
        snprintf(ret + used, n - (size_t)used, " (%s)", v->why);
}

/* Answers those whose question the state now answers. */
void host_service_settle(struct host_service *v)
{
    char text[512];
    bool up = v->state == HOST_SERVICE_ACTIVE;
    bool down = (v->state == HOST_SERVICE_INACTIVE || v->state == HOST_SERVICE_FAILED) && !v->again;
    size_t kept = 0;
    host_service_describe(v, text, sizeof text);
    for (size_t i = 0; i < v->waiters.n; i++) {
        struct host_waiter w = v->waiters.at[i];
        bool stops = w.verb == HOST_VERB_STOP, reloads = w.verb == HOST_VERB_RELOAD;
        bool bad = reloads || (!stops && v->state == HOST_SERVICE_FAILED);
        if (down || (up && !stops && !reloads))
            host_service_answer(w.fd, bad, bad ? text : "");
        else
            v->waiters.at[kept++] = w;
    }
    v->waiters.n = kept;
}

static void set_state(struct host_service *v, enum host_service_state state, uint64_t deadline_ms)
{
    v->state = state;
    v->deadline_ms = deadline_ms;
    host_service_settle(v);
}

__attribute__((format(printf, 2, 3))) static void blame(struct host_service *v, const char *fmt,
                                                        ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(v->why, sizeof v->why, fmt, ap);
    va_end(ap);
    v->failed = true;
}

static void blame_status(struct host_service *v, const char *who, int status)
{
    blame(v, "%s ended by %s %d", who, WIFEXITED(status) ? "exit status" : "signal",
          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* ---- finding ---- */

static int unit_read(const char *name, struct buf *ret_text, char *ret_path, size_t n,
                     struct err *e)
{
    static const char *const dirs[] = {HOST_UNIT_DIR, HOST_UNIT_DIR_RUN, HOST_UNIT_DIR_PACKAGES};
    char template[HOST_NAME_BYTES];
    const char *names[] = {name,
                           host_unit_template(name, template, sizeof template) ? template : NULL};
    for (size_t k = 0; k < 2 && names[k]; k++)
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
            snprintf(ret_path, n, "%s/%s.service", dirs[i], names[k]);
            int r = fs_read(ret_path, HOST_UNIT_BYTES, ret_text, e);
            if (r != -ERR_NOT_FOUND)
                return r;
        }
    return err_set(e, ERR_NOT_FOUND, "no unit %s.service", name);
}

int host_service_unit(const char *name, struct host_unit **ret_u, struct err *e)
{
    SCOPED_BUF(text);
    char path[PATH_MAX];
    if (strcmp(name, "ssh") == 0)
        return host_unit_parse(name, "ssh.service", str_of(sshd_unit), ret_u, e);
    int r = unit_read(name, &text, path, sizeof path, e);
    return r < 0 ? r : host_unit_parse(name, path, buf_str(&text), ret_u, e);
}

/* ---- starting ---- */

static void notify_close(struct host_service *v)
{
    if (v->notify_fd < 0)
        return;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/run/anneal-host/notify/%s", v->name);
    (void)unlink(path);
    close(v->notify_fd); /* which takes it out of the epoll set, too */
    v->notify_fd = -1;
}

static int notify_open(struct host_services *s, struct host_service *v, struct err *e)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof a.sun_path, "/run/anneal-host/notify/%s", v->name);
    (void)unlink(a.sun_path);
    v->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = v->notify_fd};
    if (v->notify_fd < 0 || bind(v->notify_fd, (struct sockaddr *)&a, sizeof a) < 0 ||
        chmod(a.sun_path, 0666) < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, v->notify_fd, &ev) < 0)
        return err_sys(e, ERR_IO, errno, "cannot listen on %s", a.sun_path);
    return 0;
}

static int run_command(struct host_services *s, struct host_service *v, const char *command,
                       pid_t *ret_pid, struct err *e)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "/run/anneal-host/notify/%s", v->name);
    struct host_spawn spawn = {.unit = v->unit,
                               .command = command,
                               .notify_path = v->notify_fd >= 0 ? path : NULL,
                               .main_pid = v->main,
                               .console_fd = s->console_fd};
    return host_spawn_run(&spawn, ret_pid, &v->control_tolerant, e);
}

/* ExecStart= after all of ExecStartPre=. */
static int start_main(struct host_services *s, struct host_service *v, uint64_t now_ms,
                      struct err *e)
{
    enum host_unit_type type = v->unit->type;
    bool own = type == HOST_UNIT_SIMPLE || type == HOST_UNIT_NOTIFY;
    int r = type == HOST_UNIT_NOTIFY ? notify_open(s, v, e) : 0;
    if (r == 0)
        r = run_command(s, v, v->unit->start.at[v->step - v->unit->pre.n],
                        own ? &v->main : &v->control, e);
    if (r == 0)
        set_state(v, type == HOST_UNIT_SIMPLE ? HOST_SERVICE_ACTIVE : HOST_SERVICE_STARTING,
                  type == HOST_UNIT_SIMPLE ? never : now_ms + v->unit->start_ms);
    return r;
}

/* The next command of a start: step counts ExecStartPre= and ExecStart= through. */
static void start_step(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    struct err e = {0};
    int r = 0;
    if (v->step < v->unit->pre.n) {
        r = run_command(s, v, v->unit->pre.at[v->step], &v->control, &e);
        if (r == 0)
            set_state(v, HOST_SERVICE_PRE, now_ms + v->unit->start_ms);
    } else if (v->step < v->unit->pre.n + v->unit->start.n) {
        r = start_main(s, v, now_ms, &e);
    } else { /* a oneshot whose commands have all ended */
        if (v->unit->remain)
            set_state(v, HOST_SERVICE_ACTIVE, never);
        else
            stopped(s, v, now_ms);
    }
    if (r < 0) {
        blame(v, "%s", e.text);
        stopped(s, v, now_ms);
    }
}

void host_service_start(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    struct err e = {0};
    struct host_unit *u = NULL;
    int r = host_service_unit(v->name, &u, &e);
    v->again = v->asked_to_stop = v->failed = false;
    v->why[0] = '\0';
    v->step = 0;
    if (r == 0) {
        host_unit_free(v->unit);
        v->unit = u;
        r = host_spawn_runtime(u, &e);
    }
    if (r == 0) {
        start_step(s, v, now_ms);
        return;
    }
    blame(v, "%s%s%s", e.at, e.at[0] ? ": " : "", e.text);
    set_state(v, HOST_SERVICE_FAILED, never);
}

/* ---- stopping ---- */

/* Everything of it is gone, or is made to: what it left in its session's first group. */
static void stopped(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    bool by_itself = !v->asked_to_stop && !s->ending;
    bool rerun = by_itself && v->unit &&
                 (v->unit->restart == HOST_RESTART_ALWAYS ||
                  (v->unit->restart == HOST_RESTART_ON_FAILURE && v->failed));
    notify_close(v);
    v->main = v->control = 0;
    if (v->again && !s->ending) {
        host_service_start(s, v, now_ms);
        return;
    }
    v->again = false;
    set_state(v, v->failed ? HOST_SERVICE_FAILED : HOST_SERVICE_INACTIVE,
              rerun ? now_ms + v->unit->restart_ms : never);
}

/* Its last processes get the signal, then time. */
static void signal_main(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    pid_t pid = v->main > 0 ? v->main : v->control;
    if (pid <= 0) {
        stopped(s, v, now_ms);
        return;
    }
    (void)kill(pid, v->unit->kill_signal);
    set_state(v, HOST_SERVICE_ENDING, now_ms + v->unit->stop_ms);
}

static void stop_step(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    struct err e = {0};
    while (v->step < v->unit->stop.n) {
        if (run_command(s, v, v->unit->stop.at[v->step], &v->control, &e) == 0) {
            set_state(v, HOST_SERVICE_STOPPING, now_ms + v->unit->stop_ms);
            return;
        }
        v->step++; /* a stop goes on whatever fails; the signal comes at the end */
    }
    signal_main(s, v, now_ms);
}

void host_service_stop(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    v->asked_to_stop = true;
    switch (v->state) {
    case HOST_SERVICE_ACTIVE:
        if (v->control > 0) /* of a reload; who waits for that is told when it is down */
            (void)kill(-v->control, SIGKILL);
        v->control = 0;
        v->step = 0;
        stop_step(s, v, now_ms);
        break;
    case HOST_SERVICE_PRE:
    case HOST_SERVICE_STARTING: signal_main(s, v, now_ms); break;
    case HOST_SERVICE_INACTIVE:
    case HOST_SERVICE_FAILED: /* maybe about to start again by itself */
        v->failed = false;
        stopped(s, v, now_ms);
        break;
    case HOST_SERVICE_STOPPING:
    case HOST_SERVICE_ENDING: break;
    case HOST_SERVICE_STATE_COUNT: break;
    }
}

/* ---- reloading ---- */

static void reload_ended(struct host_service *v, int status, const char *text)
{
    size_t kept = 0;
    v->deadline_ms = never;
    for (size_t i = 0; i < v->waiters.n; i++) {
        if (v->waiters.at[i].verb == HOST_VERB_RELOAD)
            host_service_answer(v->waiters.at[i].fd, status, text);
        else
            v->waiters.at[kept++] = v->waiters.at[i];
    }
    v->waiters.n = kept;
}

/* The next command; the first that fails is the last. */
static void reload_step(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    struct err e = {0};
    if (v->step == v->unit->reload.n)
        reload_ended(v, 0, "");
    else if (run_command(s, v, v->unit->reload.at[v->step], &v->control, &e) < 0)
        reload_ended(v, 1, e.text);
    else
        v->deadline_ms = now_ms + v->unit->start_ms;
}

static void reload_command_ended(struct host_services *s, struct host_service *v, int status,
                                 bool good, uint64_t now_ms)
{
    char text[128];
    if (good) {
        v->step++;
        reload_step(s, v, now_ms);
        return;
    }
    snprintf(text, sizeof text, "%s.service: ExecReload= ended by %s %d", v->name,
             WIFEXITED(status) ? "exit status" : "signal",
             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    reload_ended(v, 1, text);
}

int host_service_reload(struct host_services *s, struct host_service *v, int fd, uint64_t now_ms,
                        struct err *e)
{
    if (v->state != HOST_SERVICE_ACTIVE || v->control > 0)
        return err_set(e, ERR_CONFLICT, "%s.service is busy or not active", v->name);
    if (v->unit->reload.n == 0)
        return err_set(e, ERR_REFUSED, "%s.service has no ExecReload=", v->name);
    vec_push(&v->waiters, ((struct host_waiter){fd, HOST_VERB_RELOAD}));
    v->step = 0;
    reload_step(s, v, now_ms);
    return 0;
}

/* ---- what happened ---- */

/* A daemon has gone into the background: the file that it wrote says where it is. */
static void forked(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    char line[32];
    uint64_t pid;
    if (v->unit->pid_file) {
        host_file_line("", v->unit->pid_file + 1, line, sizeof line);
        if (text_u64(str_of(line), INT32_MAX, &pid, NULL) == 0 && kill((pid_t)pid, 0) == 0)
            v->main = (pid_t)pid;
    }
    if (v->unit->pid_file && v->main <= 0) {
        blame(v, "no process as %s says", v->unit->pid_file);
        stopped(s, v, now_ms);
    } else {
        set_state(v, HOST_SERVICE_ACTIVE, never);
    }
}

void host_service_control_ended(struct host_services *s, struct host_service *v, int status,
                                uint64_t now_ms)
{
    bool good = status == 0 || v->control_tolerant;
    v->control = 0;
    switch (v->state) {
    case HOST_SERVICE_PRE:
    case HOST_SERVICE_STARTING:
        if (!good) {
            blame_status(v, v->state == HOST_SERVICE_PRE ? "ExecStartPre=" : "ExecStart=", status);
            stopped(s, v, now_ms);
        } else if (v->state == HOST_SERVICE_STARTING && v->unit->type == HOST_UNIT_FORKING) {
            forked(s, v, now_ms);
        } else {
            v->step++;
            start_step(s, v, now_ms);
        }
        break;
    case HOST_SERVICE_STOPPING:
        v->step++;
        if (v->main > 0)
            stop_step(s, v, now_ms);
        else
            stopped(s, v, now_ms);
        break;
    case HOST_SERVICE_ENDING: stopped(s, v, now_ms); break;
    case HOST_SERVICE_ACTIVE: reload_command_ended(s, v, status, good, now_ms); break;
    case HOST_SERVICE_INACTIVE:
    case HOST_SERVICE_FAILED:
    case HOST_SERVICE_STATE_COUNT: break;
    }
}

void host_service_main_ended(struct host_services *s, struct host_service *v, int status,
                             uint64_t now_ms)
{
    if (!v->unit->leave_rest)
        (void)kill(-v->main, SIGKILL); /* what it left in its group, if it led one */
    v->main = 0;
    if (v->state == HOST_SERVICE_STOPPING && v->control > 0)
        return; /* ExecStop= still runs and has the word */
    bool by_signal = WIFSIGNALED(status);
    int signo = by_signal ? WTERMSIG(status) : 0;
    bool clean = status == 0 || v->asked_to_stop || signo == SIGTERM || signo == SIGINT ||
                 signo == SIGHUP || signo == SIGPIPE;
    if (!clean || v->state == HOST_SERVICE_STARTING)
        blame_status(v, "the main process", status);
    stopped(s, v, now_ms);
}

void host_service_overdue(struct host_services *s, struct host_service *v, uint64_t now_ms)
{
    pid_t left[] = {v->main, v->control};
    v->deadline_ms = never;
    switch (v->state) {
    case HOST_SERVICE_INACTIVE:
    case HOST_SERVICE_FAILED: /* the pause before it starts again by itself */
        host_service_start(s, v, now_ms);
        break;
    case HOST_SERVICE_STOPPING:
    case HOST_SERVICE_PRE:
    case HOST_SERVICE_STARTING:
        blame(v, "a command took too long");
        (void)(v->control > 0 && kill(-v->control, SIGKILL));
        signal_main(s, v, now_ms);
        break;
    case HOST_SERVICE_ENDING:
        for (size_t i = 0; i < 2; i++)
            if (left[i] > 0 && kill(-left[i], SIGKILL) < 0)
                (void)kill(left[i], SIGKILL);
        break;
    case HOST_SERVICE_ACTIVE: /* a reload, which fails by that */
        (void)(v->control > 0 && kill(-v->control, SIGKILL));
        break;
    case HOST_SERVICE_STATE_COUNT: break;
    }
}

void host_service_notified(struct host_service *v)
{
    if (v->state == HOST_SERVICE_STARTING)
        set_state(v, HOST_SERVICE_ACTIVE, never);
}

void host_service_free(struct host_service *v)
{
    for (size_t i = 0; i < v->waiters.n; i++)
        close(v->waiters.at[i].fd);
    vec_done(&v->waiters);
    notify_close(v);
    host_unit_free(v->unit);
    free(v);
}
