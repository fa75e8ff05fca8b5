/* ssh_conn.c - one connection: its states, its clock, what its transport reports
 *
 * Reports are noted and the pool's turn is asked for; nothing is freed by them.  One timer serves
 * in turn the connect, the keepalives and the end of idleness.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "ssh/ssh_i.h"

enum { KEEPALIVES = 3 };

const char *ssh_conn_address(const struct ssh_conn *c)
{
    return c->where->t.addresses[c->address];
}

/* When the connection is to be looked at next. */
void ssh_conn_arm(struct ssh_conn *c)
{
    uint64_t idle_end = c->sessions ? UINT64_MAX : c->idle_from_ms + c->pool->o.idle_ms;
    uint64_t next = c->via->keepalive && c->keepalive_ms < idle_end ? c->keepalive_ms : idle_end;
    if (c->broken || next == UINT64_MAX)
        loop_timer_stop(c->timer);
    else
        loop_timer_at(c->timer, next);
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
    c->open_from_ms = c->idle_from_ms = now;
    c->keepalive_ms = now + p->o.keepalive_ms;
    ssh_conn_arm(c);
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
    ssh_pool_turn_post(c->pool);
}

void ssh_conn_heard(struct ssh_conn *c)
{
    c->missed = 0;
    ssh_probe_list_answer(&c->probes, true, "a kept connection answers");
}

void ssh_conn_disconnect(struct ssh_conn *c)
{
    if (c->impl)
        c->via->disconnect(c);
    assert(!c->impl);
}

/* A connection that stood is gone: whoever counts them wants to know why. */
static void end_log(const struct ssh_conn *c)
{
    if (c->state == SSH_CONN_OPEN)
        log_line(LOG_DEBUG, "ssh.closed", LOGT("node", c->peer->name),
                 LOGT("address", ssh_conn_address(c)),
                 LOGT("why", c->broken    ? c->why
                             : c->retired ? c->retired
                                          : "pool closed"),
                 LOGI("stood_ms", loop_now_ms(c->pool->loop) - c->open_from_ms));
}

void ssh_conn_free(struct ssh_conn *c)
{
    struct ssh_pool *p = c->pool;
    assert(TAILQ_EMPTY(&c->runs));
    end_log(c);
    ssh_conn_disconnect(c);
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

void ssh_conn_connect(struct ssh_conn *c)
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
        c->retired = "idle";
        ssh_peer_touch(c->peer);
        return;
    }
    if (c->via->keepalive && now >= c->keepalive_ms) {
        if (c->missed >= KEEPALIVES) {
            ssh_conn_break(c, SSH_FAIL_LOST, "no sign of life in %llu ms",
                           (unsigned long long)c->missed * p->o.keepalive_ms);
            return;
        }
        c->missed++;
        c->keepalive_ms = now + p->o.keepalive_ms;
        c->via->keepalive(c);
    }
    ssh_conn_arm(c);
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

void ssh_conn_new(struct ssh_peer *peer, const struct ssh_transport *via)
{
    struct ssh_pool *p = peer->pool;
    struct ssh_conn *c = xcalloc(1, sizeof *c);
    *c = (struct ssh_conn){.pool = p,
                           .peer = peer,
                           .where = ssh_where_ref(peer->where),
                           .via = via,
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
    ssh_conn_connect(c);
}
