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
#include <stdio.h>
#include <stdlib.h>

#include "ssh/ssh_i.h"
#include "sys/fs.h"

enum { OPENSSH_MOST = 32 /* targets; above, auto takes libssh */ };

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

void ssh_pool_turn_post(struct ssh_pool *p)
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
    ssh_pool_turn_post(p);
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

/* ---- the turn ---- */

static bool peer_stands(const struct ssh_peer *peer)
{
    const struct ssh_conn *c;
    TAILQ_FOREACH (c, &peer->conns, in_peer)
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
    /* Whoever shows a key that is not trusted, or does not let us in, is there. */
    ssh_probe_list_answer(&peer->probes, fail == SSH_FAIL_HOST_KEY || fail == SSH_FAIL_AUTH, text);
}

static void bury_connecting(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    struct ssh_peer *peer = c->peer;
    size_t n = c->where->t.n_addresses;
    char text[2 * SSH_WHY];
    ssh_conn_disconnect(c);
    if (c->fail == SSH_FAIL_UNREACHABLE && ++c->tried < n && !c->retired) {
        TAILQ_REMOVE(&p->broken, c, in_broken);
        c->broken = false;
        ssh_conn_connect(c);
        return;
    }
    enum ssh_fail fail = c->fail;
    bool retired = c->retired != NULL;
    int at = snprintf(text, sizeof text, "%s@%s port %u: %s", c->where->t.user, ssh_conn_address(c),
                      c->where->t.port, c->why);
    if (fail == SSH_FAIL_UNREACHABLE && n > 1 && at > 0 && (size_t)at < sizeof text)
        snprintf(text + at, sizeof text - (size_t)at, " (%zu addresses were tried)", n);
    p->counts.failures[fail]++;
    ssh_conn_free(c);
    if (!retired && !peer_stands(peer))
        waiting_fail(peer, fail, text);
}

static void bury_open(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    char text[2 * SSH_WHY];
    snprintf(text, sizeof text, "%s; what ran may still run there", c->why);
    p->counts.failures[SSH_FAIL_LOST]++;
    c->via->drain(c);
    ssh_conn_disconnect(c);
    while (!TAILQ_EMPTY(&c->runs))
        ssh_run_fail(TAILQ_FIRST(&c->runs), SSH_FAIL_LOST, text);
    ssh_conn_free(c);
}

static struct ssh_conn *room_find(struct ssh_peer *peer)
{
    struct ssh_conn *c, *best = NULL;
    TAILQ_FOREACH (c, &peer->conns, in_peer)
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
            ssh_conn_free(c);
    }
}

static void asked_serve(struct ssh_peer *peer)
{
    struct ssh_conn *c;
    TAILQ_FOREACH (c, &peer->conns, in_peer) {
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
        ssh_run_unlink(r);
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
    if (peer->forgotten && !wants && TAILQ_EMPTY(&peer->conns) && !peer->dirty)
        ssh_peer_drop(peer);
}

/* At the limit: the connection that was idle for longest goes.  False if all are in use. */
static bool slot_make(struct ssh_pool *p)
{
    struct ssh_conn *c, *oldest = NULL;
    if (p->n_conns < p->o.max_connections)
        return true;
    TAILQ_FOREACH (c, &p->conns, in_pool)
        if (c->state == SSH_CONN_OPEN && !c->sessions && !c->broken &&
            TAILQ_EMPTY(&c->peer->waiting) && (!oldest || c->idle_from_ms < oldest->idle_from_ms))
            oldest = c;
    if (!oldest)
        return false;
    oldest->retired = "room for another";
    ssh_conn_free(oldest);
    return true;
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
        ssh_conn_new(peer, via);
    }
}

/* Only as much as there was at its beginning: what callbacks add is for the next one. */
static void pool_turn(void *arg)
{
    struct ssh_pool *p = arg;
    struct ssh_conn *c;
    uint32_t broken = 0;
    p->turn_posted = false;
    TAILQ_FOREACH (c, &p->broken, in_broken)
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
        ssh_pool_turn_post(p);
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
    p->runner = o->runner ? xstrdup(o->runner) : NULL;
    p->o.run_dir = p->run_dir;
    p->o.runner = p->runner;
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
        ssh_conn_free(c);
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
    free(p->runner);
    free(p);
}

void ssh_pool_counts(const struct ssh_pool *p, struct ssh_counts *ret)
{
    *ret = p->counts;
}
