/* ssh_mux_run.c - a session of a master: three pipes and a control socket
 *
 * The bytes of the command never pass through here as messages: the master reads its input from our
 * pipe and writes its outputs into two others.  The control socket says when it opened and how it
 * ended.  The end is the exit and the end of both pipes.
 *
 * A command that ends by a signal has no exit for OpenSSH: the socket is closed and nothing said,
 * as when the connection breaks.  So then the master is asked whether it lives.  If it does, the
 * command ended by some signal; if not, the connection is lost, and the pool buries the run.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ssh/ssh_mux_i.h"

enum {
    OUTPUTS = 2,
    READ_CHUNK = 64 * 1024,
    READS_PER_WAKE = 4,
    REQUEST = 1, /* a socket carries one request: its number means nothing */
};

enum mux_step {
    MUX_GREETING, /* for the session */
    MUX_OPENING,
    MUX_RUNNING,
    MUX_ENDED,    /* the exit is known, outputs may still come */
    MUX_CHECKING, /* no exit came: does the master live? */
    MUX_STEP_COUNT
};
struct mux_output {
    struct mux_run *m;
    int fd, stream;
    struct loop_watch *watch;
};
struct mux_run {
    struct ssh_run *r;
    struct loop *loop;
    enum mux_step step;
    int sock;
    struct loop_watch *sock_watch;
    struct buf in;
    int theirs[1 + OUTPUTS]; /* the master's ends of the pipes, until they are passed */
    int in_fd;
    struct loop_watch *in_watch;
    struct mux_output out[OUTPUTS];
    int status;
    struct loop_timer *linger;
    const char *lost; /* why the master is of no use any more */
    bool drained;
};

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void sock_close(struct mux_run *m)
{
    loop_watch_free(m->sock_watch);
    m->sock_watch = NULL;
    fd_close(&m->sock);
}

static void output_close(struct mux_output *o)
{
    loop_watch_free(o->watch);
    o->watch = NULL;
    fd_close(&o->fd);
}

static void input_close(struct mux_run *m)
{
    loop_watch_free(m->in_watch);
    m->in_watch = NULL;
    fd_close(&m->in_fd);
}

static void mux_destroy(struct mux_run *m)
{
    m->r->impl = NULL;
    sock_close(m);
    input_close(m);
    for (int i = 0; i < OUTPUTS; i++)
        output_close(&m->out[i]);
    for (int i = 0; i < 1 + OUTPUTS; i++)
        fd_close(&m->theirs[i]);
    loop_timer_free(m->linger);
    buf_done(&m->in);
    free(m);
}

static void mux_fail(struct mux_run *m, enum ssh_fail fail, const char *why)
{
    struct ssh_run *r = m->r;
    mux_destroy(m);
    ssh_run_fail(r, fail, why);
}

static void end_if_over(struct mux_run *m)
{
    struct ssh_run *r = m->r;
    int status = m->status;
    if (m->step != MUX_ENDED || m->out[0].fd >= 0 || m->out[1].fd >= 0)
        return;
    mux_destroy(m);
    ssh_run_end(r, status, status < 0 ? "?" : "");
}

static void on_linger(void *arg)
{
    struct mux_run *m = arg;
    for (int i = 0; i < OUTPUTS; i++)
        output_close(&m->out[i]);
    end_if_over(m);
}

static void ended(struct mux_run *m, int status)
{
    m->step = MUX_ENDED;
    m->status = status;
    m->linger = loop_timer_new(m->loop, on_linger, m);
    loop_timer_at(m->linger, loop_now_ms(m->loop) + SSH_LINGER_MS);
    end_if_over(m);
}

/* What is in the pipe now, at most `reads` times a chunk.  False if the run is gone. */
static bool output_read(struct mux_output *o, int reads)
{
    struct ssh_run *r = o->m->r;
    char bytes[READ_CHUNK];
    bool gone = false;
    for (int i = 0; i < reads; i++) {
        ssize_t n = read(o->fd, bytes, sizeof bytes);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            output_close(o);
            break;
        }
        r->gone = &gone;
        ssh_run_output(r, o->stream, bytes, (size_t)n);
        if (gone)
            return false; /* its reader closed the run */
        r->gone = NULL;
    }
    return true;
}

static void on_output(void *arg, unsigned events)
{
    struct mux_output *o = arg;
    struct mux_run *m = o->m;
    (void)events;
    if (output_read(o, READS_PER_WAKE) && o->fd < 0)
        end_if_over(m);
}

static void input_push(struct mux_run *m)
{
    struct ssh_run *r = m->r;
    while (r->input_at < r->input_n) {
        ssize_t n = write(m->in_fd, r->input + r->input_at, r->input_n - r->input_at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0)
            break; /* nobody reads it any more */
        r->input_at += (size_t)n;
    }
    input_close(m);
    ssh_run_input_free(r);
}

static void on_input(void *arg, unsigned events)
{
    (void)events;
    input_push(arg);
}

/* ---- the control socket ---- */

static void on_message_ready(void *arg, unsigned events);

static bool is_full(int sys)
{
    return sys == EMFILE || sys == ENFILE;
}

/* Connects and greets.  A unix socket is connected at once or not at all. */
static int sock_open(struct mux_run *m)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    SCOPED_BUF(b);
    snprintf(to.sun_path, sizeof to.sun_path, "%s", ssh_master_path(m->r->conn));
    m->sock = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (m->sock < 0)
        return -1;
    if (connect(m->sock, (struct sockaddr *)&to, sizeof to) < 0)
        return -1;
    m->sock_watch = loop_watch_new(m->loop, m->sock, LOOP_READ, on_message_ready, m);
    if (!m->sock_watch)
        return -1;
    ssh_mux_put_hello(&b);
    return write(m->sock, b.data, b.len) == (ssize_t)b.len ? 0 : -1;
}

static int fd_pass(int sock, int fd)
{
    char byte = 0;
    struct iovec io = {&byte, 1};
    union {
        struct cmsghdr h;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr msg = {.msg_iov = &io,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* A few kilobytes into an empty socket: they fit, or the master is no more. */
static int session_ask(struct mux_run *m)
{
    SCOPED_BUF(b);
    ssh_mux_put_session(&b, REQUEST, m->r->command);
    m->r->handed = true;
    if (write(m->sock, b.data, b.len) != (ssize_t)b.len)
        return -1;
    for (int i = 0; i < 1 + OUTPUTS; i++) {
        if (fd_pass(m->sock, m->theirs[i]) < 0)
            return -1;
        fd_close(&m->theirs[i]);
    }
    m->step = MUX_OPENING;
    return 0;
}

static int check_ask(struct mux_run *m)
{
    SCOPED_BUF(b);
    ssh_mux_put_alive_check(&b, REQUEST);
    return write(m->sock, b.data, b.len) == (ssize_t)b.len ? 0 : -1;
}

static void on_lost(void *arg)
{
    struct mux_run *m = arg;
    ssh_conn_break(m->r->conn, SSH_FAIL_LOST, "%s", m->lost);
}

/* The master is gone or speaks nonsense: the connection is of no use to anybody.  If it is gone,
 * its process is about to tell why, better than we can. */
static void master_lost(struct mux_run *m, const char *what)
{
    sock_close(m);
    m->lost = what;
    loop_timer_free(m->linger);
    m->linger = loop_timer_new(m->loop, on_lost, m);
    loop_timer_at(m->linger, loop_now_ms(m->loop) + SSH_LINGER_MS);
}

static void opened(struct mux_run *m)
{
    m->step = MUX_RUNNING;
    m->r->conn->proven = true;
    input_push(m);
    if (m->in_fd >= 0)
        loop_watch_set(m->in_watch, LOOP_WRITE);
}

static void refused(struct mux_run *m, struct str why)
{
    struct ssh_run *r = m->r;
    char text[SSH_WHY];
    snprintf(text, sizeof text, "%.*s", (int)(why.n < 300 ? why.n : 300), why.s);
    mux_destroy(m);
    ssh_run_refuse(r, text);
}

/* False if m is gone. */
static bool message_take(struct mux_run *m, const struct ssh_mux_msg *msg)
{
    int rc = 0;
    if (msg->kind == SSH_MUX_HELLO && msg->a != SSH_MUX_VERSION) {
        rc = -1;
    } else if (msg->kind == SSH_MUX_HELLO && m->step == MUX_GREETING) {
        rc = session_ask(m);
    } else if (msg->kind == SSH_MUX_HELLO && m->step == MUX_CHECKING) {
        rc = check_ask(m);
    } else if (msg->kind == SSH_MUX_OPENED && m->step == MUX_OPENING) {
        opened(m);
    } else if (msg->kind == SSH_MUX_EXIT && m->step == MUX_RUNNING) {
        ended(m, (int)(msg->b & 0xff));
        return false;
    } else if (msg->kind == SSH_MUX_ALIVE && m->step == MUX_CHECKING) {
        ended(m, -1);
        return false;
    } else if ((msg->kind == SSH_MUX_FAILED || msg->kind == SSH_MUX_DENIED) &&
               (m->step == MUX_GREETING || m->step == MUX_OPENING)) {
        refused(m, msg->text);
        return false;
    }
    if (rc < 0)
        master_lost(m, "the ssh master does not answer as it should");
    return rc == 0;
}

/* The master hung up. */
static void sock_ended(struct mux_run *m)
{
    sock_close(m);
    buf_clear(&m->in);
    if (m->step == MUX_ENDED)
        return;
    if (m->step == MUX_RUNNING) {
        m->step = MUX_CHECKING;
        if (sock_open(m) == 0)
            return;
        if (is_full(errno)) { /* the master may well live, and so may its other sessions */
            mux_fail(m, SSH_FAIL_LOST,
                     "how the command ended could not be asked; raise the limit "
                     "of open files");
            return;
        }
    }
    master_lost(m, "the ssh master is gone");
}

static void on_message_ready(void *arg, unsigned events)
{
    struct mux_run *m = arg;
    char bytes[4096];
    struct ssh_mux_msg msg;
    (void)events;
    ssize_t n = read(m->sock, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        sock_ended(m);
        return;
    }
    buf_put(&m->in, bytes, (size_t)n);
    int used;
    size_t at = 0;
    while ((used = ssh_mux_read(m->in.data + at, m->in.len - at, &msg)) > 0) {
        at += (size_t)used;
        if (!message_take(m, &msg))
            return;
    }
    if (used < 0) {
        master_lost(m, "the ssh master speaks no protocol of ours");
        return;
    }
    memmove(m->in.data, m->in.data + at, m->in.len - at);
    m->in.len -= at;
}

/* The master is gone, what it wrote is still in the pipes.  Callbacks may close any run: after each
 * the search begins anew. */
void ssh_mux_runs_drain(struct ssh_conn *c)
{
    struct ssh_run *r;
    do {
        TAILQ_FOREACH (r, &c->runs, link) {
            struct mux_run *m = r->impl;
            if (!m || m->drained)
                continue;
            m->drained = true;
            bool here = true;
            for (int i = 0; i < OUTPUTS && here; i++)
                if (m->out[i].fd >= 0)
                    here = output_read(&m->out[i], INT_MAX);
            if (here && m->step == MUX_ENDED)
                on_linger(m);
            break;
        }
    } while (r);
}

/* ---- beginning and end ---- */

static int pipe_open(int *reader, int *writer)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
        return -1;
    *reader = fd[0];
    *writer = fd[1];
    return 0;
}

static int pipes_open(struct mux_run *m)
{
    if (pipe_open(&m->theirs[0], &m->in_fd) < 0)
        return -1;
    for (int i = 0; i < OUTPUTS; i++) {
        struct mux_output *o = &m->out[i];
        if (pipe_open(&o->fd, &m->theirs[1 + i]) < 0)
            return -1;
        o->watch = loop_watch_new(m->loop, o->fd, LOOP_READ, on_output, o);
        if (!o->watch)
            return -1;
    }
    /* Nothing is written before the session is open: a run that is refused keeps its input. */
    m->in_watch = loop_watch_new(m->loop, m->in_fd, 0, on_input, m);
    return m->in_watch ? 0 : -1;
}

void ssh_mux_run_start(struct ssh_run *r)
{
    struct mux_run *m = xcalloc(1, sizeof *m);
    *m = (struct mux_run){
        .r = r, .loop = r->pool->loop, .sock = -1, .in_fd = -1, .theirs = {-1, -1, -1}};
    for (int i = 0; i < OUTPUTS; i++)
        m->out[i] = (struct mux_output){.m = m, .fd = -1, .stream = i + 1};
    r->impl = m;
    if (pipes_open(m) == 0 && sock_open(m) == 0)
        return;
    if (is_full(errno))
        mux_fail(m, SSH_FAIL_LIMIT,
                 "there are no descriptors for a session; raise the limit of "
                 "open files");
    else
        master_lost(m, "the ssh master cannot be asked");
}

void ssh_mux_run_stop(struct ssh_run *r)
{
    if (r->gone)
        *r->gone = true;
    mux_destroy(r->impl);
}
