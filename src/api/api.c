/* api.c - the HTTP daemon inside our loop
 *
 * libmicrohttpd runs without threads: its epoll descriptor is one watch of the loop, and its idea
 * of the next timeout is one timer.  A resumed connection is not in that epoll set until the
 * library ran again, so a batch of resumes posts one more turn.
 *
 * The order of the end matters: every suspended connection is resumed before the daemon is stopped,
 * since the library refuses to stop otherwise; what waits for the server is cancelled by
 * request_completed().
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "sys/fs.h"

enum { TURNS_MAX = 8, PEM_MAX = 1 << 20 };

/* --- the loop --- */

/* How long to leave the library alone that says it has work left but made no step.  That is
 * ordinary (once per pipelined request, often for a large head), but version 0.9.75 also does so
 * all the time that a TLS handshake waits for its client, who may take his time.  So idle turns are
 * a budget that steps and time refill; when the client speaks, the watch wakes us whatever the
 * timer says. */
enum { IDLE_BUDGET = 64, IDLE_PER_STEP = 2, IDLE_REFILL_MS = 4 };

static void idle_refill(struct api *a, uint64_t turns)
{
    a->idle_left = turns < IDLE_BUDGET - a->idle_left ? a->idle_left + (unsigned)turns
                                                      : IDLE_BUDGET;
}

static uint64_t idle_wait_ms(struct api *a)
{
    uint64_t now = loop_now_ms(a->loop), refill = (now - a->idle_at_ms) / IDLE_REFILL_MS;

    if (refill) {
        idle_refill(a, refill);
        a->idle_at_ms = now;
    }
    if (!a->idle_left)
        return IDLE_REFILL_MS;
    a->idle_left--;
    return 0;
}

static void api_turn(struct api *a)
{
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;

    /* A wait of 0 means that something is left over, such as a pipelined request.  After a few
     * turns the loop's other work comes first. */
    for (unsigned i = 0; i < TURNS_MAX && !wait_ms; i++) {
        uint64_t before = a->steps;
        MHD_run(a->daemon);
        if (MHD_get_timeout(a->daemon, &wait_ms) != MHD_YES)
            return; /* a timer that is left over finds nothing to do */
        if (a->steps != before)
            idle_refill(a, IDLE_PER_STEP);
        else if (!wait_ms)
            wait_ms = idle_wait_ms(a);
    }
    uint64_t at_ms = loop_now_ms(a->loop) + wait_ms;
    if (a->timer_at_ms && a->timer_at_ms <= at_ms)
        return; /* fires earlier: a turn for nothing costs less than arming for each request */
    a->timer_at_ms = at_ms;
    loop_timer_at(a->timer, at_ms);
}

static void on_readable(void *arg, unsigned events)
{
    (void)events;
    api_turn(arg);
}

static void on_timer(void *arg)
{
    struct api *a = arg;
    a->timer_at_ms = 0;
    api_turn(a);
}

static void on_kick(void *arg)
{
    struct api *a = arg;
    a->kicked = false;
    api_turn(a);
}

void api_kick(struct api *a)
{
    if (a->kicked || a->stopping)
        return;
    a->kicked = true;
    loop_post(a->loop, on_kick, a);
}

/* --- the library --- */

__attribute__((format(printf, 2, 0))) static void on_complaint(void *arg, const char *fmt,
                                                               va_list ap)
{
    struct api *a = arg;
    vsnprintf(a->complaint, sizeof a->complaint, fmt, ap);
    size_t n = strlen(a->complaint);
    while (n && a->complaint[n - 1] == '\n')
        a->complaint[--n] = '\0';
    log_line(LOG_DEBUG, "http", LOGT("text", a->complaint));
}

/* A stranger gets little time until his first request is there, handshake included. */
static void on_connection(void *arg, struct MHD_Connection *c, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    (void)arg;
    (void)socket_context;
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT,
                                  (unsigned)API_GREETING_TIMEOUT_S);
}

/* The library must not decode: uri.c does, strictly. */
static size_t keep_escapes(void *arg, struct MHD_Connection *c, char *s)
{
    (void)arg;
    (void)c;
    return strlen(s);
}

static int tls_read(const struct api_options *o, struct buf *cert, struct buf *key, struct err *e)
{
    bool cert_set = o->tls_cert && *o->tls_cert, key_set = o->tls_key && *o->tls_key;

    if (cert_set != key_set) {
        err_set(e, ERR_INVALID, "tls_cert and tls_key belong together");
        return err_hint(e, "set both or neither");
    }
    if (!cert_set)
        return 0;
    int r = fs_read(o->tls_cert, PEM_MAX, cert, e);
    if (r >= 0)
        r = fs_read(o->tls_key, PEM_MAX, key, e);
    return r < 0 ? err_wrap(e, "TLS") : 0;
}

static int daemon_start(struct api *a, int fd, const struct buf *cert, const struct buf *key,
                        struct err *e)
{
    bool tls = cert->len > 0;
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls_options[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, cert->data},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, key->data},
        {MHD_OPTION_HTTPS_PRIORITIES, 0,
         (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem no_options[] = {{MHD_OPTION_END, 0, NULL}};

    a->daemon = MHD_start_daemon(
        flags | (tls ? MHD_USE_TLS : 0u), 0, NULL, NULL, request_handle, a,
        MHD_OPTION_EXTERNAL_LOGGER, on_complaint, a, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)API_POOL_BYTES,
        MHD_OPTION_CONNECTION_MEMORY_INCREMENT, (size_t)API_POOL_STEP_BYTES,
        MHD_OPTION_CONNECTION_LIMIT, a->o.max_connections, MHD_OPTION_CONNECTION_TIMEOUT,
        a->o.idle_timeout_s, MHD_OPTION_URI_LOG_CALLBACK, request_begin, a,
        MHD_OPTION_NOTIFY_COMPLETED, request_completed, a, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, a, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_ARRAY,
        tls ? tls_options : no_options, MHD_OPTION_END);
    if (!a->daemon)
        return err_set(e, ERR_IO, "cannot start the HTTP server: %s",
                       *a->complaint ? a->complaint : "no reason given");
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(a->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    a->timer = loop_timer_new(a->loop, on_timer, a);
    a->watch = loop_watch_new(a->loop, info->epoll_fd, LOOP_READ, on_readable, a);
    return a->watch ? 0 : err_sys(e, ERR_IO, errno, "cannot watch the HTTP server");
}

/* --- the face --- */

#define DEFAULT(field, otherwise) (a->o.field = o->field ? o->field : (otherwise))

int api_new(struct loop *loop, struct server *server, const struct api_options *o,
            struct api **ret_api, struct err *e)
{
    SCOPED_BUF(cert);
    SCOPED_BUF(key);
    uint16_t port;
    int fd;
    int r = tls_read(o, &cert, &key, e);

    if (r == 0)
        r = listen_open(o->listen, cert.len > 0, &fd, &port, e);
    if (r < 0)
        return r;
    struct api *a = xcalloc(1, sizeof *a);
    a->loop = loop;
    a->server = server;
    a->port = port;
    DEFAULT(body_limit, (size_t)API_BODY_LIMIT);
    DEFAULT(page_limit, API_PAGE_LIMIT);
    DEFAULT(max_streams, API_MAX_STREAMS);
    DEFAULT(max_connections, a->o.max_streams + API_CONNECTIONS_BESIDE);
    DEFAULT(idle_timeout_s, API_IDLE_TIMEOUT_S);
    a->book = book_new();
    streams_init(a);
    event_cache_init(a);
    r = daemon_start(a, fd, &cert, &key, e);
    if (r < 0) {
        if (!a->daemon)
            close(fd); /* else it is the daemon's */
        api_stop(a);
        return r;
    }
    log_line(LOG_INFO, "listen", LOGT("address", o->listen), LOGI("port", port),
             LOGT("tls", cert.len ? "yes" : "no"));
    *ret_api = a;
    return 0;
}

uint16_t api_port(const struct api *a)
{
    return a->port;
}

void api_quiesce(struct api *a)
{
    if (a->quiescing)
        return;
    a->quiescing = true;
    MHD_socket fd = MHD_quiesce_daemon(a->daemon);
    if (fd != MHD_INVALID_SOCKET)
        close(fd);
    streams_finish(a);
    worker_lines_finish(a);
}

bool api_is_idle(const struct api *a)
{
    return !a->n_live;
}

void api_stop(struct api *a)
{
    if (!a)
        return;
    a->stopping = true;
    for (struct request *req = a->live; req; req = req->next)
        if (req->suspended)
            request_resume(req);
    loop_unpost(a->loop, on_kick, a);
    loop_watch_free(a->watch);
    loop_timer_free(a->timer);
    if (a->daemon)
        MHD_stop_daemon(a->daemon);
    requests_done(a);
    event_cache_done(a);
    streams_done(a);
    book_free(a->book);
    free(a);
}
