/* ssh_dial.c - a TCP connection without waiting for anything
 *
 * Addresses are connected to directly.  Names must be looked up first, which blocks: that happens
 * on a few threads of the resolver's own, made when the first name comes.  A name's addresses are
 * tried in the order of the answer.  How long a dial may take is its owner's business.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ssh/ssh_i.h"
#include "sys/pool.h"

enum { RESOLVER_THREADS = 4 };

struct ssh_resolver {
    struct loop *loop;
    struct pool *threads; /* NULL: no name came yet */
    TAILQ_HEAD(, ssh_dial) lookups;
};
struct ssh_dial {
    struct ssh_resolver *resolver;
    char *host;
    char port[8];
    ssh_dial_f *fn;
    void *arg;
    bool looking; /* a thread has it */
    bool dropped; /* its owner is gone: it ends when the thread gives it back */
    int failure;  /* of getaddrinfo() */
    struct addrinfo *found, *next;
    int fd;
    struct loop_watch *watch;
    struct err why;
    TAILQ_ENTRY(ssh_dial) link; /* in lookups, while looking */
};

struct ssh_resolver *ssh_resolver_new(struct loop *l)
{
    struct ssh_resolver *r = xcalloc(1, sizeof *r);
    r->loop = l;
    TAILQ_INIT(&r->lookups);
    return r;
}

static void dial_destroy(struct ssh_dial *d)
{
    loop_watch_free(d->watch);
    if (d->fd >= 0)
        close(d->fd);
    if (d->found)
        freeaddrinfo(d->found);
    free(d->host);
    free(d);
}

void ssh_resolver_free(struct ssh_resolver *r)
{
    if (!r)
        return;
    pool_free(r->threads); /* no thread has any of them after this */
    while (!TAILQ_EMPTY(&r->lookups)) {
        struct ssh_dial *d = TAILQ_FIRST(&r->lookups);
        assert(d->dropped);
        TAILQ_REMOVE(&r->lookups, d, link);
        dial_destroy(d);
    }
    free(r);
}

static void dial_end(struct ssh_dial *d, int fd)
{
    ssh_dial_f *fn = d->fn;
    void *arg = d->arg;
    struct err why = d->why;
    dial_destroy(d);
    fn(arg, fd, &why);
}

static void dial_next(struct ssh_dial *d);

static void on_connected(void *arg, unsigned events)
{
    struct ssh_dial *d = arg;
    int sys = 0;
    socklen_t n = sizeof sys;
    (void)events;
    if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &sys, &n) < 0)
        sys = errno;
    loop_watch_free(d->watch);
    d->watch = NULL;
    int fd = d->fd;
    d->fd = -1;
    if (sys) {
        close(fd);
        err_sys(&d->why, ERR_UNREACHABLE, sys, "no connection");
        dial_next(d);
        return;
    }
    int on = 1; /* requests are small and answered: waiting to fill a packet costs a round trip */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    dial_end(d, fd);
}

/* True if there is something to wait for. */
static bool dial_try(struct ssh_dial *d, const struct addrinfo *ai)
{
    d->fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (d->fd < 0) {
        bool full = errno == EMFILE || errno == ENFILE;
        err_sys(&d->why, full ? ERR_LIMIT : ERR_UNREACHABLE, errno, "no socket");
        return false;
    }
    /* One that succeeds at once is writable at once, and found so by the loop. */
    if (connect(d->fd, ai->ai_addr, ai->ai_addrlen) == 0 || errno == EINPROGRESS) {
        d->watch = loop_watch_new(d->resolver->loop, d->fd, LOOP_WRITE, on_connected, d);
        if (d->watch)
            return true;
    }
    err_sys(&d->why, ERR_UNREACHABLE, errno, "no connection");
    close(d->fd);
    d->fd = -1;
    return false;
}

static void dial_next(struct ssh_dial *d)
{
    while (d->next) {
        const struct addrinfo *ai = d->next;
        d->next = ai->ai_next;
        if (dial_try(d, ai))
            return;
    }
    dial_end(d, -1);
}

static int look_up(struct ssh_dial *d, int flags)
{
    struct addrinfo hints = {.ai_flags = flags | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    return getaddrinfo(d->host, d->port, &hints, &d->found);
}

static void look_up_name(void *arg)
{
    struct ssh_dial *d = arg;
    d->failure = look_up(d, AI_ADDRCONFIG);
}

static void on_name(void *arg)
{
    struct ssh_dial *d = arg;
    TAILQ_REMOVE(&d->resolver->lookups, d, link);
    d->looking = false;
    if (d->dropped) {
        dial_destroy(d);
        return;
    }
    if (d->failure) {
        d->found = NULL;
        err_set(&d->why, ERR_UNREACHABLE, "the name has no address: %s", gai_strerror(d->failure));
    }
    d->next = d->found;
    dial_next(d);
}

static void on_begin(void *arg)
{
    dial_next(arg);
}

struct ssh_dial *ssh_dial_new(struct ssh_resolver *r, const char *host, uint16_t port,
                              ssh_dial_f *fn, void *arg)
{
    struct ssh_dial *d = xcalloc(1, sizeof *d);
    *d = (struct ssh_dial){.resolver = r, .host = xstrdup(host), .fn = fn, .arg = arg, .fd = -1};
    snprintf(d->port, sizeof d->port, "%u", port);
    if (look_up(d, AI_NUMERICHOST) == 0) {
        d->next = d->found;
        loop_post(r->loop, on_begin, d);
        return d;
    }
    d->found = NULL;
    d->looking = true;
    TAILQ_INSERT_TAIL(&r->lookups, d, link);
    if (!r->threads)
        r->threads = pool_new(r->loop, RESOLVER_THREADS, "ssh-names");
    pool_submit(r->threads, look_up_name, on_name, d);
    return d;
}

void ssh_dial_free(struct ssh_dial *d)
{
    if (!d)
        return;
    if (d->looking) {
        d->dropped = true;
        return;
    }
    loop_unpost(d->resolver->loop, on_begin, d);
    dial_destroy(d);
}
