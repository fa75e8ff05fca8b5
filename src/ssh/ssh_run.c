/* ssh_run.c - one command: asked for, put on a connection, ended once
 *
 * Owns the run from ssh_exec() to its end.  Whatever ends it, the transport, its connection, a
 * failed connect or its owner, comes through here, so that nothing is told twice and a run that may
 * wait again keeps its place.  Which connection it gets is decided in ssh_pool.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "ssh/ssh_i.h"

enum {
    SMOOTH_RUNS = 16 /* after so many a connection that was refused a session tries one more */
};

void ssh_run_input_free(struct ssh_run *r)
{
    free(r->input);
    r->input = NULL;
    r->input_n = r->input_at = 0;
}

static void run_free(struct ssh_run *r)
{
    ssh_run_input_free(r);
    free(r->command);
    free(r);
}

/* Off its list.  A connection that it leaves empty begins to be idle. */
void ssh_run_unlink(struct ssh_run *r)
{
    struct ssh_pool *p = r->pool;
    struct ssh_conn *c = r->conn;
    if (!c) {
        TAILQ_REMOVE(&r->peer->waiting, r, link);
        p->counts.waiting--;
        return;
    }
    TAILQ_REMOVE(&c->runs, r, link);
    r->conn = NULL;
    p->counts.sessions--;
    if (--c->sessions == 0) {
        c->idle_from_ms = loop_now_ms(p->loop);
        ssh_conn_arm(c);
    }
    ssh_peer_touch(r->peer);
}

/* Among those that wait, by the order of asking: one that comes back has its old place. */
static void run_wait(struct ssh_run *r)
{
    struct ssh_run *before;
    TAILQ_FOREACH (before, &r->peer->waiting, link)
        if (before->number > r->number)
            break;
    if (before)
        TAILQ_INSERT_BEFORE(before, r, link);
    else
        TAILQ_INSERT_TAIL(&r->peer->waiting, r, link);
    r->pool->counts.waiting++;
    ssh_peer_touch(r->peer);
}

static void run_tell(struct ssh_run *r, const struct ssh_end *end)
{
    r->ending = true;
    r->on_end(r->arg, end);
    run_free(r);
}

void ssh_run_output(struct ssh_run *r, int stream, const char *p, size_t n)
{
    if (n && r->on_output)
        r->on_output(r->arg, stream, p, n);
}

void ssh_run_end(struct ssh_run *r, int status, const char *signal)
{
    assert(!r->impl);
    struct ssh_conn *c = r->conn;
    if (c->room < r->pool->o.sessions_per_connection && ++c->smooth >= SMOOTH_RUNS) {
        c->room++;
        c->smooth = 0;
    }
    ssh_run_unlink(r);
    run_tell(r, &(struct ssh_end){.ran = true, .status = status, .signal = signal, .text = ""});
}

void ssh_run_fail(struct ssh_run *r, enum ssh_fail fail, const char *why)
{
    char text[2 * SSH_WHY];
    const struct ssh_conn *c = r->conn;
    assert(!r->impl);
    if (c)
        snprintf(text, sizeof text, "%s@%s port %u: %s", c->where->t.user, ssh_conn_address(c),
                 c->where->t.port, why);
    else
        snprintf(text, sizeof text, "%s", why);
    ssh_run_unlink(r);
    run_tell(r, &(struct ssh_end){
                    .ran = r->handed, .fail = fail, .status = -1, .signal = "", .text = text});
}

/* The server has fewer sessions free than we thought: its limit is lower, or one that ended for us
 * has not ended for it yet, or programs run on whose sessions we closed.  It did not run, so it may
 * wait again.  Alone on a connection it waits for nothing: then another connection may do, once. */
void ssh_run_refuse(struct ssh_run *r, const char *why)
{
    struct ssh_conn *c = r->conn;
    char text[SSH_WHY];
    assert(!r->impl);
    r->handed = false;
    r->pool->counts.failures[SSH_FAIL_LIMIT]++;
    bool alone = c->sessions == 1;
    if (alone && (!c->proven || r->bounced)) {
        c->retired = "opens no session";
        snprintf(text, sizeof text,
                 "the server opens no session (%.300s); look at MaxSessions of its sshd, and at "
                 "its log",
                 why);
        ssh_run_fail(r, SSH_FAIL_LIMIT, text);
        return;
    }
    ssh_run_unlink(r);
    c->smooth = 0;
    r->bounced |= alone;
    if (alone)
        c->retired = "opens no session";
    else
        c->room = c->sessions;
    run_wait(r);
}

int ssh_exec(struct ssh_pool *p, const struct ssh_exec_spec *spec, struct ssh_run **ret_run,
             struct err *e)
{
    struct ssh_peer *peer;
    assert(strlen(spec->command) <= SSH_COMMAND_MAX && spec->on_end);
    int rc = ssh_peer_of(p, spec->target, &peer, e);
    if (rc)
        return rc;
    struct ssh_run *r = xcalloc(1, sizeof *r);
    *r = (struct ssh_run){.pool = p,
                          .peer = peer,
                          .command = xstrdup(spec->command),
                          .on_output = spec->on_output,
                          .on_end = spec->on_end,
                          .arg = spec->arg};
    if (spec->input.n) {
        r->input = xcalloc(spec->input.n, 1);
        r->input_n = spec->input.n;
        memcpy(r->input, spec->input.s, spec->input.n);
    }
    r->number = p->runs++;
    TAILQ_INSERT_TAIL(&peer->waiting, r, link);
    p->counts.waiting++;
    ssh_peer_touch(peer);
    *ret_run = r;
    return 0;
}

void ssh_run_close(struct ssh_run *r)
{
    if (!r || r->ending)
        return;
    if (r->impl)
        r->conn->via->stop(r);
    ssh_run_unlink(r);
    run_free(r);
}
