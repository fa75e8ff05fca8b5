/* ssh_openssh.c - connections by OpenSSH: one master process each
 *
 * Owns the masters.  A master is `ssh -M -N`: it logs in, makes its control socket and waits.  That
 * the socket is there is how it says that it is ready, so the run directory is watched for it; no
 * polling, no shell.  Why a master ended is in the last words of its standard error.
 *
 * A master outlives its connection for the moment that it takes to end; it is never waited for.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/un.h>
#include <unistd.h>

#include "ssh/ssh_mux_i.h"
#include "ssh/ssh_openssh_i.h"
#include "sys/fs.h"
#include "sys/proc.h"

enum {
    NAME_MAX_BYTES = 10,   /* of a control socket: "m" and a serial */
    SSH_SUFFIX = 17,       /* what ssh appends while it makes the socket */
    WORDS_MAX = 4096,      /* of standard error, the last ones */
    TERM_GRACE_MS = 2000,  /* for a master to say good-bye */
    HOST_KEYS_MAX = 65536, /* bytes of a host key file */
};

struct masters {
    struct ssh_pool *pool;
    int inotify;
    struct loop_watch *watch;
    uint32_t serial; /* no two masters have a name in common, not even one after the other */
    TAILQ_HEAD(, master) all;
};
struct master {
    struct masters *owner;
    struct ssh_conn *c; /* NULL: not wanted any more */
    char *path, *name;  /* of the control socket; name is the end of path */
    struct proc *proc;
    struct loop_timer *kill; /* of one that was told to end */
    struct buf words;
    bool learns; /* the host key: there is none that it must be */
    bool ready;
    TAILQ_ENTRY(master) link;
};

const char *ssh_master_path(const struct ssh_conn *c)
{
    return ((struct master *)c->impl)->path;
}

static void master_free(struct master *m)
{
    TAILQ_REMOVE(&m->owner->all, m, link);
    (void)unlink(m->path); /* one that was killed left it */
    loop_timer_free(m->kill);
    buf_done(&m->words);
    free(m->path);
    free(m);
}

/* ---- host keys ---- */

/* Host keys as ssh reads them, under the alias that stands for all addresses of the peer. */
struct known_file {
    struct buf *text;
    const char *alias;
};

static void put_known(void *arg, struct str type, struct str base64)
{
    const struct known_file *k = arg;
    buf_printf(k->text, "%s %.*s %.*s\n", k->alias, (int)type.n, type.s, (int)base64.n, base64.s);
}

static int known_write(const struct ssh_conn *c, const char *path, struct err *e)
{
    SCOPED_BUF(text);
    struct known_file k = {&text, c->peer->id};
    ssh_hostkey_each(ssh_peer_keys(c->peer), put_known, &k);
    return fs_write_atomic(path, buf_str(&text).s, text.len, 0600, e);
}

/* ssh wrote the key that it met first into the file: "alias type base64".  What stands there of any
 * other connection is what it was given, not what it met. */
static enum ssh_fail known_learn(const struct master *m, char why[SSH_WHY])
{
    char *path = ssh_known_path(m->c->peer), *save = NULL;
    enum ssh_fail fail = SSH_FAIL_NONE;
    SCOPED_BUF(text);
    if (m->learns && fs_read(path, HOST_KEYS_MAX, &text, NULL) == 0 && text.data) {
        const char *alias = strtok_r(text.data, " \n", &save);
        const char *type = alias ? strtok_r(NULL, " \n", &save) : NULL;
        const char *base64 = type ? strtok_r(NULL, " \n", &save) : NULL;
        if (base64) /* a key may have been pinned in the meantime */
            fail = ssh_peer_key_check(m->c->peer, type, base64, why);
    }
    free(path);
    return fail;
}

/* ---- the process ---- */

static void master_ended(struct master *m)
{
    struct ssh_conn *c = m->c;
    char why[SSH_WHY];
    proc_free(m->proc);
    m->proc = NULL;
    if (!c) {
        master_free(m);
        return;
    }
    if (!m->ready && !c->broken)
        (void)known_learn(m, why);
    enum ssh_fail fail = ssh_openssh_why(buf_str(&m->words).s, why);
    ssh_conn_break(c, fail, "%s", why);
}

static void on_master_exit(void *arg, const struct proc_exit *x)
{
    (void)x;
    master_ended(arg);
}

static void on_words(void *arg, int fd, const char *p, size_t n)
{
    struct master *m = arg;
    if (fd != STDERR_FILENO)
        return;
    if (m->words.len + n > WORDS_MAX)
        buf_clear(&m->words);
    buf_put(&m->words, p, n < WORDS_MAX ? n : WORDS_MAX);
}

static void on_kill(void *arg)
{
    proc_signal(((struct master *)arg)->proc, SIGKILL);
}

static void openssh_connect(struct ssh_conn *c)
{
    struct masters *all = ssh_conn_state(c);
    struct master *m = xcalloc(1, sizeof *m);
    struct err e;
    SCOPED_ARENA(mem);
    SCOPED_BUF(path);
    buf_printf(&path, "%s/m%x", c->pool->run_dir, all->serial++);
    *m = (struct master){
        .owner = all, .c = c, .path = buf_take(&path, NULL), .learns = ssh_peer_learns(c->peer)};
    m->name = strrchr(m->path, '/') + 1;
    TAILQ_INSERT_TAIL(&all->all, m, link);
    c->impl = m;
    (void)unlink(m->path); /* of an earlier process: ssh would do without multiplexing */
    char *known = ssh_known_path(c->peer);
    int rc = known_write(c, known, &e);
    free(known);
    const struct proc_spec spec = {.argv = ssh_openssh_argv(&mem, c, m->path),
                                   .max_stderr = SIZE_MAX,
                                   .on_output = on_words,
                                   .on_exit = on_master_exit,
                                   .arg = m};
    if (rc == 0)
        rc = proc_spawn(c->pool->loop, &spec, &m->proc, &e);
    bool full = rc < 0 && (e.code == ERR_BUSY || e.sys == EMFILE || e.sys == ENFILE);
    if (rc < 0)
        ssh_conn_break(c, full ? SSH_FAIL_LIMIT : SSH_FAIL_UNREACHABLE, "%.400s; %s", e.text,
                       full ? "raise the limits of open files and processes"
                            : "is OpenSSH's client installed?");
}

static void openssh_disconnect(struct ssh_conn *c)
{
    struct master *m = c->impl;
    struct ssh_run *r;
    TAILQ_FOREACH (r, &c->runs, link)
        if (r->impl)
            ssh_mux_run_stop(r);
    c->impl = NULL;
    m->c = NULL;
    if (!m->proc) {
        master_free(m);
        return;
    }
    proc_signal(m->proc, m->ready ? SIGTERM : SIGKILL);
    m->kill = loop_timer_new(c->pool->loop, on_kill, m);
    loop_timer_at(m->kill, loop_now_ms(c->pool->loop) + TERM_GRACE_MS);
}

/* ---- the run directory ---- */

static void socket_seen(struct masters *all, const char *name)
{
    struct master *m;
    char why[SSH_WHY];
    TAILQ_FOREACH (m, &all->all, link)
        if (!strcmp(m->name, name))
            break;
    if (!m || !m->c || m->c->broken || m->ready)
        return;
    m->ready = true;
    enum ssh_fail fail = known_learn(m, why);
    if (fail)
        ssh_conn_break(m->c, fail, "%s", why);
    else
        ssh_conn_ready(m->c);
}

static void on_inotify(void *arg, unsigned events)
{
    struct masters *all = arg;
    char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    (void)events;
    ssize_t n = read(all->inotify, bytes, sizeof bytes);
    for (ssize_t at = 0; at < n;) {
        const struct inotify_event *ev = (const struct inotify_event *)(bytes + at);
        at += (ssize_t)(sizeof *ev + ev->len);
        if (ev->len)
            socket_seen(all, ev->name);
        if (!(ev->mask & IN_Q_OVERFLOW))
            continue;
        struct master *m, *next; /* some were missed: look for each */
        for (m = TAILQ_FIRST(&all->all); m; m = next) {
            next = TAILQ_NEXT(m, link);
            if (access(m->path, F_OK) == 0)
                socket_seen(all, m->name);
        }
    }
}

static int run_dir_check(const char *dir, struct err *e)
{
    const size_t room = sizeof((struct sockaddr_un){0}.sun_path) - SSH_SUFFIX - NAME_MAX_BYTES - 1;
    if (strlen(dir) < room && ssh_path_is_plain(dir))
        return 0;
    err_set(e, ERR_INVALID, "control sockets cannot be made in %s", dir);
    return err_hint(e, "use a directory of less than %zu bytes without quotes or %%", room);
}

static void openssh_close(void *state)
{
    struct masters *all = state;
    while (!TAILQ_EMPTY(&all->all)) {
        struct master *m = TAILQ_FIRST(&all->all);
        assert(!m->c);
        proc_end(m->proc);
        master_free(m);
    }
    loop_watch_free(all->watch);
    if (all->inotify >= 0)
        close(all->inotify);
    free(all);
}

static int openssh_open(struct ssh_pool *p, void **ret_state, struct err *e)
{
    int rc = run_dir_check(p->run_dir, e);
    if (rc)
        return rc;
    struct masters *all = xcalloc(1, sizeof *all);
    all->pool = p;
    TAILQ_INIT(&all->all);
    all->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (all->inotify < 0 ||
        inotify_add_watch(all->inotify, p->run_dir, IN_CREATE | IN_MOVED_TO) < 0 ||
        !(all->watch = loop_watch_new(p->loop, all->inotify, LOOP_READ, on_inotify, all))) {
        rc = err_sys(e, ERR_IO, errno, "%s cannot be watched", p->run_dir);
        openssh_close(all);
        return rc;
    }
    *ret_state = all;
    return 0;
}

const struct ssh_transport ssh_transport_openssh = {
    .name = "openssh",
    .open = openssh_open,
    .close = openssh_close,
    .connect = openssh_connect,
    .drain = ssh_mux_runs_drain,
    .disconnect = openssh_disconnect,
    .start = ssh_mux_run_start,
    .stop = ssh_mux_run_stop,
};
