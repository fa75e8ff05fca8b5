/* ssh_libssh.c - connections inside this process, by libssh
 *
 * A connection is a line of steps: dial, key exchange, host key, login, open.  Each step is a call
 * of libssh that is repeated whenever its socket is ready.  The host key is compared before
 * anything about the user is sent.  See ssh_libssh_i.h for what libssh needs to be treated well.
 *
 * Memory:  a connection is about 37 kB, nearly all of it libssh's; keys are shared.
 * Failure: a key or an agent that blocks would stop the loop; keys with passphrases are refused.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libssh/server.h>
#include <stdlib.h>
#include <unistd.h>

#include "ssh/ssh_libssh_i.h"

enum { PUMPS = 64 /* polls a wake-up, so that one talkative session does not starve the loop */ };

static int lib_open(struct ssh_pool *p, void **ret_state, struct err *e)
{
    (void)p, (void)e;
    *ret_state = ssh_lib_keys_new();
    return 0;
}

static void lib_close(void *state)
{
    ssh_lib_keys_free(state);
}

static void lib_broken(struct ssh_lib_conn *l, enum ssh_fail fail, const char *what,
                       const char *remedy)
{
    l->step = SSH_LIB_DEAD;
    if (l->watch)
        loop_watch_set(l->watch, 0);
    ssh_conn_break(l->c, fail, "%s%s%s", what, *remedy ? "; " : "", remedy);
}

/* ---- options ---- */

/* Types of keys as a server offers them: one type of key, RSA, goes by the names of its signatures.
 */
static void put_algorithm(void *arg, struct str type, struct str base64)
{
    struct buf *b = arg;
    (void)base64;
    if (b->len)
        buf_putc(b, ',');
    if (str_is(type, "ssh-rsa"))
        buf_puts(b, "rsa-sha2-512,rsa-sha2-256");
    else
        buf_put(b, type.s, type.n);
}

/* The pinned types first, so that a server with several keys shows one that can be compared. */
static bool algorithms_set(struct ssh_lib_conn *l)
{
    static const char rest[] =
        "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,"
        "rsa-sha2-512,rsa-sha2-256";
    SCOPED_BUF(b);
    ssh_hostkey_each(ssh_peer_keys(l->c->peer), put_algorithm, &b);
    if (b.len)
        buf_putc(&b, ',');
    buf_puts(&b, rest);
    return ssh_options_set(l->session, SSH_OPTIONS_HOSTKEYS, b.data) == SSH_OK ||
           ssh_options_set(l->session, SSH_OPTIONS_HOSTKEYS, rest) == SSH_OK;
}

/* No file of the user's is read, and no name looked up: the host is a word for nobody. */
static bool options_set(struct ssh_lib_conn *l, int fd)
{
    const struct ssh_target *t = &l->c->where->t;
    const bool no = false;
    const long timeout_s = 0;
    ssh_session s = l->session;
    return ssh_options_set(s, SSH_OPTIONS_PROCESS_CONFIG, &no) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_SSH_DIR, l->c->pool->run_dir) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_KNOWNHOSTS, "/dev/null") == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_HOST, "node") == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_USER, t->user) == SSH_OK &&
           ssh_options_set(s, SSH_OPTIONS_TIMEOUT, &timeout_s) == SSH_OK &&
           (!t->kex || ssh_options_set(s, SSH_OPTIONS_KEY_EXCHANGE, t->kex) == SSH_OK) &&
           algorithms_set(l) && ssh_options_set(s, SSH_OPTIONS_FD, &fd) == SSH_OK;
}

/* ---- login ---- */

/* libssh turns the descriptor into a blocking one when it finds it connected. */
static void unblock(const struct ssh_lib_conn *l)
{
    int flags = fcntl(l->fd, F_GETFL);
    if (flags >= 0 && !(flags & O_NONBLOCK))
        (void)fcntl(l->fd, F_SETFL, flags | O_NONBLOCK);
}

static void auth_step(struct ssh_lib_conn *l);

static void host_key_check(struct ssh_lib_conn *l)
{
    char why[SSH_WHY];
    ssh_key key = NULL;
    char *base64 = NULL;
    if (ssh_get_server_publickey(l->session, &key) != SSH_OK ||
        ssh_pki_export_pubkey_base64(key, &base64) != SSH_OK) {
        ssh_key_free(key);
        lib_broken(l, SSH_FAIL_HOST_KEY, "the host key cannot be read", "");
        return;
    }
    enum ssh_fail fail = ssh_peer_key_check(l->c->peer, ssh_key_type_to_char(ssh_key_type(key)),
                                            base64, why);
    ssh_string_free_char(base64);
    ssh_key_free(key);
    if (fail) {
        lib_broken(l, fail, why, "");
        return;
    }
    l->step = SSH_LIB_AUTH;
    auth_step(l);
}

static void kex_step(struct ssh_lib_conn *l)
{
    int rc = ssh_connect(l->session);
    unblock(l);
    if (rc == SSH_OK)
        host_key_check(l);
    else if (rc == SSH_ERROR)
        lib_broken(l, SSH_FAIL_UNREACHABLE, ssh_get_error(l->session),
                   "is that an ssh server, and is it well?");
}

static void auth_done(struct ssh_lib_conn *l)
{
    l->event = ssh_event_new();
    if (!l->event || ssh_event_add_session(l->event, l->session) != SSH_OK) {
        lib_broken(l, SSH_FAIL_LIMIT, "libssh has no memory for the connection", "");
        return;
    }
    buf_done(&l->tried);
    l->step = SSH_LIB_OPEN;
    ssh_conn_ready(l->c);
}

static void auth_fail(struct ssh_lib_conn *l)
{
    const struct ssh_target *t = &l->c->where->t;
    SCOPED_BUF(b);
    if (!t->n_identities && !t->agent)
        buf_puts(&b, "there is no key to log in with; name an identity");
    else
        buf_printf(&b, "no key is accepted for user %s (tried: %s)", t->user,
                   l->tried.len ? l->tried.data : "none");
    lib_broken(l, SSH_FAIL_AUTH, b.data,
               "put the public key into that user's authorized_keys, or look at the sshd's log");
}

static void tried_put(struct ssh_lib_conn *l, const char *what, const char *why)
{
    buf_printf(&l->tried, "%s%s%s%s", l->tried.len ? ", " : "", what, why ? ": " : "",
               why ? why : "");
}

/* SSH_AUTH_AGAIN: the same call is to be repeated.  DENIED: the next one. */
static int auth_try(struct ssh_lib_conn *l)
{
    const struct ssh_target *t = &l->c->where->t;
    if (l->identity >= t->n_identities) {
        int rc = ssh_userauth_agent(l->session, NULL);
        if (rc == SSH_AUTH_DENIED || rc == SSH_AUTH_ERROR)
            tried_put(l, "the agent", NULL);
        l->denials += rc == SSH_AUTH_DENIED;
        return rc;
    }
    const char *path = t->identities[l->identity], *why;
    ssh_key key = ssh_lib_key_get(ssh_conn_state(l->c), path, l->variant, &why);
    if (why)
        tried_put(l, path, why);
    if (!key)
        return SSH_AUTH_DENIED;
    int rc = ssh_userauth_publickey(l->session, NULL, key);
    l->denials += rc == SSH_AUTH_DENIED || rc == SSH_AUTH_PARTIAL;
    if (rc != SSH_AUTH_AGAIN && rc != SSH_AUTH_SUCCESS)
        tried_put(l, path, l->variant == SSH_LIB_WITH_CERT ? "its certificate" : NULL);
    return rc;
}

/* False behind the last way in. */
static bool auth_next(struct ssh_lib_conn *l)
{
    const struct ssh_target *t = &l->c->where->t;
    if (l->identity < t->n_identities && ++l->variant < SSH_LIB_VARIANTS)
        return true;
    l->variant = 0;
    l->identity++;
    return l->identity < t->n_identities + t->agent;
}

static void auth_step(struct ssh_lib_conn *l)
{
    const struct ssh_target *t = &l->c->where->t;
    if (l->identity >= t->n_identities + t->agent) {
        auth_fail(l);
        return;
    }
    for (;;) {
        int rc = auth_try(l);
        if (rc == SSH_AUTH_AGAIN)
            return;
        if (rc == SSH_AUTH_SUCCESS) {
            auth_done(l);
            return;
        }
        bool dead = ssh_lib_is_dead(l);
        if (dead && !l->denials) {
            lib_broken(l, SSH_FAIL_UNREACHABLE, ssh_get_error(l->session),
                       "the connection broke before the login");
            return;
        }
        /* A server hangs up after a number of keys: that is a refusal too. */
        if (dead || !auth_next(l)) {
            auth_fail(l);
            return;
        }
    }
}

/* ---- an open connection ---- */

/* What may be wrong with the connection shows in its state afterwards. */
static void pump(struct ssh_lib_conn *l)
{
    int rc = SSH_OK;
    l->driving = true; /* callbacks may start runs, whose steps must wait */
    for (int i = 0; i < PUMPS && rc == SSH_OK; i++)
        rc = ssh_event_dopoll(l->event, 0);
    l->driving = false;
}

bool ssh_lib_is_dead(const struct ssh_lib_conn *l)
{
    return !ssh_is_connected(l->session) || ssh_get_fd(l->session) < 0 ||
           !(ssh_get_poll_flags(l->session) & SSH_READ_PENDING) ||
           ssh_get_status(l->session) & (SSH_CLOSED | SSH_CLOSED_ERROR);
}

static void watch_update(struct ssh_lib_conn *l)
{
    int flags = ssh_get_poll_flags(l->session);
    if (l->watch && l->step != SSH_LIB_DEAD)
        loop_watch_set(l->watch, (flags & SSH_WRITE_PENDING ? LOOP_WRITE : 0u) | LOOP_READ);
}

static void on_drive(void *arg)
{
    struct ssh_lib_conn *l = arg;
    l->drive_posted = false;
    ssh_lib_drive(l);
}

void ssh_lib_drive_post(struct ssh_lib_conn *l)
{
    if (l->drive_posted)
        return;
    l->drive_posted = true;
    loop_post(l->c->pool->loop, on_drive, l);
}

void ssh_lib_drive(struct ssh_lib_conn *l)
{
    if (l->step != SSH_LIB_OPEN || l->driving)
        return;
    l->driving = true;
    ssh_lib_runs_step(l);
    if (l->counter.in_bytes != l->heard) {
        l->heard = l->counter.in_bytes;
        ssh_conn_heard(l->c);
    }
    if (ssh_lib_is_dead(l))
        lib_broken(l, SSH_FAIL_LOST, ssh_get_error(l->session), "the connection broke");
    l->driving = false;
    watch_update(l);
}

static void on_ready(void *arg, unsigned events)
{
    struct ssh_lib_conn *l = arg;
    (void)events;
    if (l->c->broken && l->step != SSH_LIB_OPEN)
        return; /* given up: it is taken away in a moment */
    if (l->step == SSH_LIB_KEX)
        kex_step(l);
    else if (l->step == SSH_LIB_AUTH)
        auth_step(l);
    else if (l->step == SSH_LIB_OPEN)
        pump(l);
    ssh_lib_drive(l);
    watch_update(l);
}

static void on_dialled(void *arg, int fd, const struct err *e)
{
    struct ssh_lib_conn *l = arg;
    l->dial = NULL;
    l->fd = fd;
    if (l->c->broken)
        return;
    if (fd < 0) {
        lib_broken(l, e->code == ERR_LIMIT ? SSH_FAIL_LIMIT : SSH_FAIL_UNREACHABLE, e->text,
                   e->code == ERR_LIMIT ? "raise the limit of open files"
                                        : "is the machine up, and its ssh server?");
        return;
    }
    l->step = SSH_LIB_KEX;
    l->session = ssh_new();
    int theirs = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    l->watch = loop_watch_new(l->c->pool->loop, fd, 0, on_ready, l);
    if (theirs < 0 || !l->session || !l->watch || !options_set(l, theirs)) {
        if (theirs >= 0)
            close(theirs);
        lib_broken(l, SSH_FAIL_LIMIT, "the connection cannot be set up",
                   l->session ? ssh_get_error(l->session) : "");
        return;
    }
    ssh_set_blocking(l->session, 0);
    ssh_set_counters(l->session, &l->counter, NULL);
    kex_step(l);
    watch_update(l);
}

static void lib_connect(struct ssh_conn *c)
{
    struct ssh_lib_conn *l = xcalloc(1, sizeof *l);
    l->c = c;
    l->fd = -1;
    TAILQ_INIT(&l->runs);
    c->impl = l;
    l->dial = ssh_dial_new(c->pool->resolver, ssh_conn_address(c), c->where->t.port, on_dialled, l);
}

static void lib_drain(struct ssh_conn *c)
{
    if (c->impl)
        ssh_lib_runs_end(c->impl);
}

static void lib_disconnect(struct ssh_conn *c)
{
    struct ssh_lib_conn *l = c->impl;
    c->impl = NULL;
    assert(!l->driving);
    loop_unpost(c->pool->loop, on_drive, l);
    ssh_dial_free(l->dial);
    loop_watch_free(l->watch);
    ssh_lib_runs_free(l);
    if (l->session) {
        if (l->event) {
            ssh_event_remove_session(l->event, l->session);
            ssh_event_free(l->event);
        }
        ssh_free(l->session); /* without ssh_disconnect(), which loses track of the descriptor */
    }
    if (l->fd >= 0)
        close(l->fd);
    buf_done(&l->tried);
    free(l);
}

/* The answer is a refusal, which libssh keeps to itself: that bytes came is what counts.  The first
 * call takes a kept answer off, the second asks. */
static void lib_keepalive(struct ssh_conn *c)
{
    struct ssh_lib_conn *l = c->impl;
    if (l->step != SSH_LIB_OPEN)
        return;
    l->driving = true;
    (void)ssh_send_keepalive(l->session);
    (void)ssh_send_keepalive(l->session);
    l->driving = false;
    ssh_lib_drive(l);
}

const struct ssh_transport ssh_transport_libssh = {
    .name = "libssh",
    .open = lib_open,
    .close = lib_close,
    .connect = lib_connect,
    .drain = lib_drain,
    .disconnect = lib_disconnect,
    .start = ssh_lib_run_start,
    .stop = ssh_lib_run_stop,
    .keepalive = lib_keepalive,
};
