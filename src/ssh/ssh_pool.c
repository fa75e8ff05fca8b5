/* ssh_pool.c - which command goes over which connection, and when connections come and go
 *
 * Owns limits, order, reuse and time for both transports.  Everything that changes connections
 * happens in a turn, a post to the loop: calls and reports only note what is to be done.  So no
 * caller and no transport ever sees a connection go under its feet, and commands that are asked for
 * together are looked at together.
 *
 * Order:      a peer's commands get sessions in the order of asking; peers get connections in the
 *             order in which they began to want one.  At the limit the longest idle one makes room.
 * Invariants: a run is either in its peer's waiting list or in a connection's; a peer makes one
 *             connection at a time; a connection is freed by the turn only, or with the pool.
 * Failure:    a connect that failed on all addresses ends what waits for the peer, unless another
 *             connection of it stands: then there is something to wait for.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ssh/ssh_i.h"
#include "sys/fs.h"

enum {
    OPENSSH_MOST = 32, /* targets; above, auto takes libssh */
    KEEPALIVES = 3,
    SMOOTH_RUNS = 16, /* after so many a connection that was refused a session tries one more */
};

const char *ssh_fail_name(enum ssh_fail fail)
{
    static const char *const names[] = {
#define X(id, name) [id] = name,
        SSH_FAIL_TABLE(X)
#undef X
    };
    assert(fail < SSH_FAIL_COUNT);
    return names[fail];
}

static void pool_turn(void *arg);

static void turn_post(struct ssh_pool *p)
{
    if (p->turn_posted)
        return;
    p->turn_posted = true;
    loop_post(p->loop, pool_turn, p);
}

void ssh_peer_touch(struct ssh_peer *peer)
{
    struct ssh_pool *p = peer->pool;
    if (!peer->dirty) {
        peer->dirty = true;
        p->n_dirty++;
        TAILQ_INSERT_TAIL(&p->dirty, peer, in_dirty);
    }
    turn_post(p);
}

/* ---- runs ---- */

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

/* When the connection is to be looked at next. */
static void conn_arm(struct ssh_conn *c)
{
    uint64_t idle_end = c->sessions ? UINT64_MAX : c->idle_from_ms + c->pool->o.idle_ms;
    uint64_t next = c->via->keepalive && c->keepalive_ms < idle_end ? c->keepalive_ms : idle_end;
    if (c->broken || next == UINT64_MAX)
        loop_timer_stop(c->timer);
    else
        loop_timer_at(c->timer, next);
}

/* Off its list.  A connection that it leaves empty begins to be idle. */
static void run_unlink(struct ssh_run *r)
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
        conn_arm(c);
    }
    ssh_peer_touch(r->peer);
}

/* Among those that wait, by the order of asking: one that comes back has its old place. */
static void run_wait(struct ssh_run *r)
{
    struct ssh_run *before;
    TAILQ_FOREACH(before, &r->peer->waiting, link)
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
    run_unlink(r);
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
    run_unlink(r);
    run_tell(r, &(struct ssh_end){
                    .ran = r->handed, .fail = fail, .status = -1, .signal = "", .text = text});
}

/* The server has fewer sessions free than we thought: its limit is lower, or one that ended for us
 * has not ended for it yet, or programs run on whose sessions we closed.  It did not run, so it may
 * wait again; unless this connection never had one session, which no waiting cures. */
void ssh_run_refuse(struct ssh_run *r, const char *why)
{
    struct ssh_conn *c = r->conn;
    char text[SSH_WHY];
    assert(!r->impl);
    r->handed = false;
    r->pool->counts.failures[SSH_FAIL_LIMIT]++;
    if (!c->proven && c->sessions == 1) {
        c->retired = true;
        snprintf(text, sizeof text,
                 "the server opens no session (%.300s); look at MaxSessions of its sshd, and at "
                 "its log",
                 why);
        ssh_run_fail(r, SSH_FAIL_LIMIT, text);
        return;
    }
    run_unlink(r);
    c->smooth = 0;
    if (c->sessions)
        c->room = c->sessions;
    else
        c->retired = true;
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
    run_unlink(r);
    run_free(r);
}

/* ---- connections ---- */

const char *ssh_conn_address(const struct ssh_conn *c)
{
    return c->where->t.addresses[c->address];
}

static enum ssh_via via_of(const struct ssh_transport *t)
{
    return t == &ssh_transport_libssh ? SSH_VIA_LIBSSH : SSH_VIA_OPENSSH;
}

void *ssh_conn_state(const struct ssh_conn *c)
{
    return c->pool->state[via_of(c->via)];
}

static const struct ssh_transport *transport_for(const struct ssh_pool *p,
                                                 const struct ssh_target *t)
{
    size_t targets = p->o.targets > p->peers.live ? p->o.targets : p->peers.live;
    if (p->o.via == SSH_VIA_LIBSSH)
        return &ssh_transport_libssh;
    if (p->o.via == SSH_VIA_OPENSSH || t->config || t->jump || targets <= OPENSSH_MOST)
        return &ssh_transport_openssh;
    return &ssh_transport_libssh;
}

void ssh_conn_ready(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    uint64_t now = loop_now_ms(p->loop);
    assert(c->state == SSH_CONN_CONNECTING);
    if (c->broken)
        return;
    c->state = SSH_CONN_OPEN;
    c->peer->connecting = NULL;
    if (c->where == c->peer->where)
        c->peer->last_good = c->address;
    p->counts.connecting--;
    p->counts.connections++;
    p->counts.connects++;
    c->idle_from_ms = now;
    c->keepalive_ms = now + p->o.keepalive_ms;
    conn_arm(c);
    ssh_peer_touch(c->peer);
}

void ssh_conn_break(struct ssh_conn *c, enum ssh_fail fail, const char *fmt, ...)
{
    va_list ap;
    if (c->broken)
        return;
    c->broken = true;
    c->fail = c->state == SSH_CONN_OPEN ? SSH_FAIL_LOST : fail;
    va_start(ap, fmt);
    vsnprintf(c->why, sizeof c->why, fmt, ap);
    va_end(ap);
    loop_timer_stop(c->timer);
    TAILQ_INSERT_TAIL(&c->pool->broken, c, in_broken);
    turn_post(c->pool);
}

void ssh_conn_heard(struct ssh_conn *c)
{
    c->missed = 0;
    ssh_probe_list_answer(&c->probes, true, "a kept connection answers");
}

static void conn_disconnect(struct ssh_conn *c)
{
    if (c->impl)
        c->via->disconnect(c);
    assert(!c->impl);
}

/* Its runs are gone or elsewhere. */
static void conn_free(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    assert(TAILQ_EMPTY(&c->runs));
    conn_disconnect(c);
    ssh_probe_list_answer(&c->probes, false, "the connection has ended");
    if (c->state == SSH_CONN_OPEN)
        p->counts.connections--;
    else
        p->counts.connecting--;
    if (c->peer->connecting == c)
        c->peer->connecting = NULL;
    if (c->broken)
        TAILQ_REMOVE(&p->broken, c, in_broken);
    TAILQ_REMOVE(&c->peer->conns, c, in_peer);
    TAILQ_REMOVE(&p->conns, c, in_pool);
    c->peer->n_conns--;
    p->n_conns--;
    ssh_peer_touch(c->peer);
    ssh_where_unref(c->where);
    loop_timer_free(c->timer);
    free(c);
}

static void connect_begin(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    c->address = c->where == c->peer->where ? ssh_peer_address(c->peer, c->tried) : c->tried;
    loop_timer_at(c->timer, loop_now_ms(p->loop) + p->o.connect_timeout_ms);
    c->via->connect(c);
}

static void open_timer(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    uint64_t now = loop_now_ms(p->loop);
    if (!c->sessions && now >= c->idle_from_ms + p->o.idle_ms) {
        c->retired = true;
        ssh_peer_touch(c->peer);
        return;
    }
    if (c->via->keepalive && now >= c->keepalive_ms) {
        if (c->missed >= KEEPALIVES) {
            ssh_conn_break(c, SSH_FAIL_LOST, "no sign of life in %llu s",
                           (unsigned long long)c->missed * p->o.keepalive_ms / 1000);
            return;
        }
        c->missed++;
        c->keepalive_ms = now + p->o.keepalive_ms;
        c->via->keepalive(c);
    }
    conn_arm(c);
}

static void on_conn_timer(void *arg)
{
    struct ssh_conn *c = arg;
    if (c->state == SSH_CONN_OPEN)
        open_timer(c);
    else
        ssh_conn_break(c, SSH_FAIL_UNREACHABLE,
                       "not connected within %u ms; is the machine up, and its ssh server well?",
                       c->pool->o.connect_timeout_ms);
}

static void conn_new(struct ssh_peer *peer, const struct ssh_transport *via)
{
    struct ssh_pool *p = peer->pool;
    struct ssh_conn *c = xcalloc(1, sizeof *c);
    *c = (struct ssh_conn){.pool = p,
                           .peer = peer,
                           .where = ssh_where_ref(peer->where),
                           .via = via,
                           .serial = p->serial++,
                           .room = p->o.sessions_per_connection};
    c->timer = loop_timer_new(p->loop, on_conn_timer, c);
    TAILQ_INIT(&c->runs);
    TAILQ_INIT(&c->probes);
    TAILQ_INSERT_TAIL(&peer->conns, c, in_peer);
    TAILQ_INSERT_TAIL(&p->conns, c, in_pool);
    peer->connecting = c;
    peer->n_conns++;
    p->n_conns++;
    p->counts.connecting++;
    connect_begin(c);
}

/* ---- the turn ---- */

static bool peer_stands(const struct ssh_peer *peer)
{
    const struct ssh_conn *c;
    TAILQ_FOREACH(c, &peer->conns, in_peer)
    if (c->state == SSH_CONN_OPEN && !c->broken && !c->retired)
        return true;
    return false;
}

/* What waits for the peer has nothing to wait for any more. */
static void waiting_fail(struct ssh_peer *peer, enum ssh_fail fail, const char *text)
{
    const uint64_t until = peer->pool->runs; /* callbacks may ask anew: that is another connect */
    struct ssh_run *r;
    while ((r = TAILQ_FIRST(&peer->waiting)) && r->number < until)
        ssh_run_fail(r, fail, text);
    ssh_probe_list_answer(&peer->probes, false, text);
}

static void bury_connecting(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    struct ssh_peer *peer = c->peer;
    size_t n = c->where->t.n_addresses;
    char text[2 * SSH_WHY];
    conn_disconnect(c);
    if (c->fail == SSH_FAIL_UNREACHABLE && ++c->tried < n && !c->retired) {
        TAILQ_REMOVE(&p->broken, c, in_broken);
        c->broken = false;
        connect_begin(c);
        return;
    }
    enum ssh_fail fail = c->fail;
    bool retired = c->retired;
    int at = snprintf(text, sizeof text, "%s@%s port %u: %s", c->where->t.user, ssh_conn_address(c),
                      c->where->t.port, c->why);
    if (fail == SSH_FAIL_UNREACHABLE && n > 1 && at > 0 && (size_t)at < sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, " (%zu addresses were tried)", n);
    p->counts.failures[fail]++;
    conn_free(c);
    if (!retired && !peer_stands(peer))
        waiting_fail(peer, fail, text);
}

static void bury_open(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    p->counts.failures[SSH_FAIL_LOST]++;
    c->via->drain(c);
    conn_disconnect(c);
    while (!TAILQ_EMPTY(&c->runs))
        ssh_run_fail(TAILQ_FIRST(&c->runs), SSH_FAIL_LOST, c->why);
    conn_free(c);
}

static struct ssh_conn *room_find(struct ssh_peer *peer)
{
    struct ssh_conn *c, *best = NULL;
    TAILQ_FOREACH(c, &peer->conns, in_peer)
    if (c->state == SSH_CONN_OPEN && !c->broken && !c->retired && c->sessions < c->room &&
        (!best || c->sessions > best->sessions))
        best = c; /* the fullest: the others may become idle and go */
    return best;
}

static void retired_close(struct ssh_peer *peer)
{
    struct ssh_conn *c = TAILQ_FIRST(&peer->conns), *next;
    for (; c; c = next) {
        next = TAILQ_NEXT(c, in_peer);
        if (c->retired && !c->sessions && !c->broken && c->state == SSH_CONN_OPEN)
            conn_free(c);
    }
}

static void asked_serve(struct ssh_peer *peer)
{
    struct ssh_conn *c;
    TAILQ_FOREACH(c, &peer->conns, in_peer)
    {
        if (c->asked && !c->broken)
            c->via->keepalive(c);
        c->asked = false;
    }
}

static void peer_serve(struct ssh_peer *peer)
{
    struct ssh_pool *p = peer->pool;
    struct ssh_conn *c;
    asked_serve(peer);
    retired_close(peer);
    while (!TAILQ_EMPTY(&peer->waiting) && (c = room_find(peer))) {
        struct ssh_run *r = TAILQ_FIRST(&peer->waiting);
        run_unlink(r);
        r->conn = c;
        TAILQ_INSERT_TAIL(&c->runs, r, link);
        c->sessions++;
        p->counts.sessions++;
        c->via->start(r);
    }
    if (peer_stands(peer))
        ssh_probe_list_answer(&peer->probes, true, "a connection stands");
    bool wants = !TAILQ_EMPTY(&peer->waiting) || !TAILQ_EMPTY(&peer->probes);
    bool may = wants && !peer->connecting && peer->n_conns < p->o.connections_per_target;
    if (may && !peer->wanting)
        TAILQ_INSERT_TAIL(&p->wanting, peer, in_wanting);
    if (!may && peer->wanting)
        TAILQ_REMOVE(&p->wanting, peer, in_wanting);
    peer->wanting = may;
    if (peer->forgotten && !wants && TAILQ_EMPTY(&peer->conns) && !peer->dirty) {
        strmap_del(&p->peers, str_of(peer->name));
        ssh_peer_free(peer);
    }
}

/* At the limit: the connection that was idle for longest goes.  False if all are in use. */
static bool slot_make(struct ssh_pool *p)
{
    struct ssh_conn *c, *oldest = NULL;
    if (p->n_conns < p->o.max_connections)
        return true;
    TAILQ_FOREACH(c, &p->conns, in_pool)
    if (c->state == SSH_CONN_OPEN && !c->sessions && !c->broken && TAILQ_EMPTY(&c->peer->waiting) &&
        (!oldest || c->idle_from_ms < oldest->idle_from_ms))
        oldest = c;
    if (oldest)
        conn_free(oldest);
    return oldest != NULL;
}

static void wanting_serve(struct ssh_pool *p)
{
    while (!TAILQ_EMPTY(&p->wanting) && p->counts.connecting < p->o.max_connecting &&
           slot_make(p)) {
        struct ssh_peer *peer = TAILQ_FIRST(&p->wanting);
        const struct ssh_transport *via = transport_for(p, &peer->where->t);
        struct err e;
        TAILQ_REMOVE(&p->wanting, peer, in_wanting);
        peer->wanting = false;
        enum ssh_via kind = via_of(via);
        if (!p->state[kind] && via->open(p, &p->state[kind], &e) < 0) {
            p->counts.failures[SSH_FAIL_LIMIT]++;
            waiting_fail(peer, SSH_FAIL_LIMIT, e.text);
            continue;
        }
        conn_new(peer, via);
    }
}

/* Only as much as there was at its beginning: what callbacks add is for the next one. */
static void pool_turn(void *arg)
{
    struct ssh_pool *p = arg;
    struct ssh_conn *c;
    uint32_t broken = 0;
    p->turn_posted = false;
    TAILQ_FOREACH(c, &p->broken, in_broken)
    broken++;
    for (; broken; broken--) {
        c = TAILQ_FIRST(&p->broken);
        if (c->state == SSH_CONN_OPEN)
            bury_open(c);
        else
            bury_connecting(c);
    }
    for (uint32_t n = p->n_dirty; n; n--) {
        struct ssh_peer *peer = TAILQ_FIRST(&p->dirty);
        TAILQ_REMOVE(&p->dirty, peer, in_dirty);
        peer->dirty = false;
        p->n_dirty--;
        peer_serve(peer);
    }
    wanting_serve(p);
    if (p->n_dirty || !TAILQ_EMPTY(&p->broken))
        turn_post(p);
}

/* ---- the pool ---- */

static uint32_t or_default(uint32_t v, uint32_t otherwise)
{
    return v ? v : otherwise;
}

int ssh_pool_new(struct loop *l, const struct ssh_pool_options *o, struct ssh_pool **ret_p,
                 struct err *e)
{
    SCOPED(ssh_pool) *p = xcalloc(1, sizeof *p);
    p->loop = l;
    p->o = *o;
    p->o.max_connections = or_default(o->max_connections, 1000);
    p->o.max_connecting = or_default(o->max_connecting, 32);
    p->o.sessions_per_connection = or_default(o->sessions_per_connection, 8);
    p->o.connections_per_target = or_default(o->connections_per_target, 4);
    p->o.idle_ms = or_default(o->idle_ms, 60000);
    p->o.keepalive_ms = or_default(o->keepalive_ms, 15000);
    p->o.connect_timeout_ms = or_default(o->connect_timeout_ms, 10000);
    p->run_dir = xstrdup(o->run_dir);
    p->o.run_dir = p->run_dir;
    TAILQ_INIT(&p->dirty);
    TAILQ_INIT(&p->wanting);
    TAILQ_INIT(&p->conns);
    TAILQ_INIT(&p->broken);
    TAILQ_INIT(&p->probes);
    p->resolver = ssh_resolver_new(l);
    int rc = fs_mkdirs(p->run_dir, 0700, e);
    if (!rc && o->via != SSH_VIA_LIBSSH)
        rc = ssh_transport_openssh.open(p, &p->state[SSH_VIA_OPENSSH], e);
    if (rc)
        return rc;
    *ret_p = p;
    p = NULL;
    return 0;
}

static void runs_drop(struct ssh_run_list *list)
{
    while (!TAILQ_EMPTY(list))
        ssh_run_close(TAILQ_FIRST(list));
}

static void peer_drop(struct ssh_peer *peer)
{
    struct ssh_conn *c;
    ssh_probe_list_drop(&peer->probes);
    runs_drop(&peer->waiting);
    while ((c = TAILQ_FIRST(&peer->conns))) {
        ssh_probe_list_drop(&c->probes);
        runs_drop(&c->runs);
        conn_free(c);
    }
}

void ssh_pool_free(struct ssh_pool *p)
{
    if (!p)
        return;
    ssh_probe_list_drop(&p->probes);
    for (size_t i = 0; i < p->peers.n; i++)
        if (p->peers.at[i].key)
            peer_drop((struct ssh_peer *)p->peers.at[i].val);
    for (size_t i = 0; i < p->peers.n; i++) /* the last that may be touched is behind us */
        if (p->peers.at[i].key)
            ssh_peer_free((struct ssh_peer *)p->peers.at[i].val);
    loop_unpost(p->loop, pool_turn, p);
    if (p->state[SSH_VIA_LIBSSH])
        ssh_transport_libssh.close(p->state[SSH_VIA_LIBSSH]);
    if (p->state[SSH_VIA_OPENSSH])
        ssh_transport_openssh.close(p->state[SSH_VIA_OPENSSH]);
    ssh_resolver_free(p->resolver);
    strmap_done(&p->peers);
    free(p->run_dir);
    free(p);
}

void ssh_pool_counts(const struct ssh_pool *p, struct ssh_counts *ret)
{
    *ret = p->counts;
}
