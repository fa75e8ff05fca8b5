/* ssh_probe.c - is a machine there, asked as cheaply as possible
 *
 * A connection of libssh that stands is asked to answer one message.  Otherwise an address is
 * dialled and the server's greeting awaited: "SSH-" says that a machine is up and its sshd too, and
 * costs no login.  The addresses are tried one after the other until the time is over.  Where only
 * OpenSSH knows the way, a connection of the pool is the probe.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ssh/ssh_i.h"

enum { GREETING = 4, GREETING_LINES = 4096 /* a server may talk before it greets */ };

struct ssh_probe {
    struct ssh_pool *pool;
    struct ssh_where *where;
    struct ssh_probe_list *list; /* the one it is in; NULL: none */
    TAILQ_ENTRY(ssh_probe) link;
    struct loop_timer *timer;
    ssh_probe_f *fn;
    void *arg;
    size_t address;
    struct ssh_dial *dial;
    int fd;
    struct loop_watch *watch;
    char heard[GREETING];
    size_t heard_n, skipped;
};

static void probe_unlink(struct ssh_probe *q)
{
    if (q->list)
        TAILQ_REMOVE(q->list, q, link);
    q->list = NULL;
}

static void probe_link(struct ssh_probe *q, struct ssh_probe_list *list)
{
    TAILQ_INSERT_TAIL(list, q, link);
    q->list = list;
}

static void line_close(struct ssh_probe *q)
{
    ssh_dial_free(q->dial);
    q->dial = NULL;
    loop_watch_free(q->watch);
    q->watch = NULL;
    if (q->fd >= 0)
        close(q->fd);
    q->fd = -1;
}

void ssh_probe_close(struct ssh_probe *q)
{
    if (!q)
        return;
    probe_unlink(q);
    line_close(q);
    loop_timer_free(q->timer);
    ssh_where_unref(q->where);
    free(q);
}

static void probe_answer(struct ssh_probe *q, bool alive, const char *text)
{
    ssh_probe_f *fn = q->fn;
    void *arg = q->arg;
    ssh_probe_close(q);
    fn(arg, alive, text);
}

void ssh_probe_list_answer(struct ssh_probe_list *list, bool alive, const char *text)
{
    size_t n = 0;
    struct ssh_probe *q;
    TAILQ_FOREACH (q, list, link)
        n++;
    while (n-- && (q = TAILQ_FIRST(list))) /* a callback may close others */
        probe_answer(q, alive, text);
}

void ssh_probe_list_drop(struct ssh_probe_list *list)
{
    while (!TAILQ_EMPTY(list))
        ssh_probe_close(TAILQ_FIRST(list));
}

static void on_timeout(void *arg)
{
    probe_answer(arg, false, "no answer in time");
}

static void address_next(struct ssh_probe *q);

static void address_fail(struct ssh_probe *q, const char *why)
{
    char text[SSH_WHY];
    snprintf(text, sizeof text, "%s port %u: %s", q->where->t.addresses[q->address],
             q->where->t.port, why);
    line_close(q);
    if (++q->address < q->where->t.n_addresses)
        address_next(q);
    else
        probe_answer(q, false, text);
}

/* The greeting is the first line that begins with SSH-; RFC 4253 allows others before it. */
static bool greeting_take(struct ssh_probe *q, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (q->heard_n < GREETING) {
            q->heard[q->heard_n++] = p[i];
            if (q->heard_n == GREETING && !memcmp(q->heard, "SSH-", GREETING))
                return true;
        }
        if (p[i] == '\n')
            q->heard_n = 0;
    }
    q->skipped += n;
    return false;
}

static void on_greeting(void *arg, unsigned events)
{
    struct ssh_probe *q = arg;
    char bytes[512];
    (void)events;
    ssize_t n = read(q->fd, bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        address_fail(q, "the connection was closed without a greeting");
    else if (greeting_take(q, bytes, (size_t)n))
        probe_answer(q, true, "an ssh server greets");
    else if (q->skipped > GREETING_LINES)
        address_fail(q, "something answers that is no ssh server");
}

static void on_dialled(void *arg, int fd, const struct err *e)
{
    struct ssh_probe *q = arg;
    q->dial = NULL;
    q->fd = fd;
    if (fd < 0) {
        address_fail(q, e->text);
        return;
    }
    q->heard_n = q->skipped = 0;
    q->watch = loop_watch_new(q->pool->loop, fd, LOOP_READ, on_greeting, q);
    if (!q->watch)
        address_fail(q, "the socket cannot be watched");
}

static void address_next(struct ssh_probe *q)
{
    q->dial = ssh_dial_new(q->pool->resolver, q->where->t.addresses[q->address], q->where->t.port,
                           on_dialled, q);
}

static struct ssh_conn *kept_find(const struct ssh_peer *peer)
{
    struct ssh_conn *c;
    TAILQ_FOREACH (c, &peer->conns, in_peer)
        if (c->state == SSH_CONN_OPEN && !c->broken && !c->retired && c->via->keepalive)
            return c; /* a retired one may lead to where the machine was */
    return NULL;
}

int ssh_probe(struct ssh_pool *p, const struct ssh_target *t, uint32_t timeout_ms, ssh_probe_f *fn,
              void *arg, struct ssh_probe **ret_probe, struct err *e)
{
    struct ssh_peer *peer;
    int rc = ssh_peer_of(p, t, &peer, e);
    if (rc)
        return rc;
    struct ssh_probe *q = xcalloc(1, sizeof *q);
    *q = (struct ssh_probe){
        .pool = p, .where = ssh_where_ref(peer->where), .fn = fn, .arg = arg, .fd = -1};
    q->timer = loop_timer_new(p->loop, on_timeout, q);
    loop_timer_at(q->timer, loop_now_ms(p->loop) + timeout_ms);
    struct ssh_conn *c = kept_find(peer);
    if (c) {
        probe_link(q, &c->probes);
        c->asked = true;
        ssh_peer_touch(peer);
    } else if (t->jump || t->config) {
        probe_link(q, &peer->probes);
        ssh_peer_touch(peer);
    } else {
        probe_link(q, &p->probes);
        address_next(q);
    }
    *ret_probe = q;
    return 0;
}
