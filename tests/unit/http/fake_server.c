/* fake_server.c - see fake_server.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"

struct answer {
    char *route, *headers, *body;
    int status; /* 0: drop */
    int sends;  /* answered after so many */
    const struct fake_step *steps;
    size_t n_steps;
    bool used;
};
struct asked {
    char *route; /* "GET /path?query" */
    char *text;
};
struct fake {
    int listener;
    char url[64];
    pthread_t acceptor;
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool stopping;
    int sends; /* texts that streams have sent */
    VEC(struct answer *) answers;
    VEC(struct asked *) asked;
    VEC(pthread_t) threads;
    VEC(int) sockets;
};
struct fake_connection {
    struct fake *f;
    int fd;
};

static bool send_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* "GET /a?b&c" matches "GET /a", "GET /a?b" and "GET /a?b&c". */
static bool route_matches(const char *route, const char *asked)
{
    size_t n = strlen(route);
    if (!n)
        return true;
    return !strncmp(route, asked, n) && (!asked[n] || asked[n] == (strchr(route, '?') ? '&' : '?'));
}

static int count_locked(struct fake *f, const char *route)
{
    int n = 0;
    for (size_t i = 0; i < f->asked.n; i++)
        n += route_matches(route, f->asked.at[i]->route);
    return n;
}

static bool hung_up(int fd)
{
    char c;
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
    return poll(&p, 1, 20) > 0 && (p.revents & (POLLHUP | POLLRDHUP | POLLERR) ||
                                   recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
}

static void await(struct fake *f, const struct fake_step *s, int fd)
{
    pthread_mutex_lock(&f->lock);
    while (!f->stopping && (s->what == FAKE_HOLD || count_locked(f, s->text) < s->count)) {
        pthread_mutex_unlock(&f->lock);
        bool gone = hung_up(fd);
        pthread_mutex_lock(&f->lock);
        if (gone)
            break;
    }
    pthread_mutex_unlock(&f->lock);
}

static bool chunk_send(int fd, const char *text)
{
    SCOPED_BUF(b);
    buf_printf(&b, "%zx\r\n%s\r\n", strlen(text), text);
    return send_all(fd, b.data, b.len);
}

static void sent_note(struct fake *f)
{
    pthread_mutex_lock(&f->lock);
    f->sends++;
    pthread_cond_broadcast(&f->news);
    pthread_mutex_unlock(&f->lock);
}

static void sent_await(struct fake *f, int sends)
{
    pthread_mutex_lock(&f->lock);
    while (!f->stopping && f->sends < sends)
        pthread_cond_wait(&f->news, &f->lock);
    pthread_mutex_unlock(&f->lock);
}

/* Chunked, so that an end and a break are two things. */
static void play(struct fake *f, const struct answer *a, int fd)
{
    SCOPED_BUF(b);
    buf_printf(&b, "HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n",
               a->headers);
    if (!send_all(fd, b.data, b.len))
        return;
    for (size_t i = 0; i < a->n_steps; i++) {
        const struct fake_step *s = &a->steps[i];
        if (s->what == FAKE_BREAK)
            return;
        if (s->what != FAKE_SEND)
            await(f, s, fd);
        else if (*s->text && !chunk_send(fd, s->text))
            return;
        else
            sent_note(f);
    }
    (void)chunk_send(fd, "");
}

static bool answer_one(struct fake *f, const struct answer *a, int fd)
{
    SCOPED_BUF(b);
    if (!a) {
        static const char none[] =
            "{\"type\":\"urn:anneal:error:not-found\",\"title\":\"not-found\","
            "\"status\":404,\"detail\":\"there is no such route\"}";
        buf_printf(&b,
                   "HTTP/1.1 404 Nothing\r\nContent-Type: application/problem+json\r\n"
                   "Content-Length: %zu\r\n\r\n%s",
                   strlen(none), none);
        return send_all(fd, b.data, b.len);
    }
    if (!a->status)
        return false;
    if (a->steps) {
        play(f, a, fd);
        return false;
    }
    sent_await(f, a->sends);
    buf_printf(&b, "HTTP/1.1 %d Answer\r\n%sContent-Length: %zu\r\n\r\n%s", a->status, a->headers,
               strlen(a->body), a->body);
    return send_all(fd, b.data, b.len);
}

/* The next unused answer of the route, else its last one; routes with a query come before those
 * without. */
static const struct answer *answer_find(struct fake *f, const char *asked)
{
    struct answer *last = NULL;
    for (int with_query = 1; with_query >= 0 && !last; with_query--)
        for (size_t i = 0; i < f->answers.n; i++) {
            struct answer *a = f->answers.at[i];
            if (!a->route || (strchr(a->route, '?') != NULL) != with_query ||
                !route_matches(a->route, asked))
                continue;
            last = a;
            if (!a->used)
                break;
        }
    if (last)
        last->used = true;
    return last;
}

/* Reads one request; NULL at the end of the connection. */
static struct asked *request_read(int fd, struct buf *in)
{
    char chunk[4096];
    char *end;
    buf_clear(in);
    while (!(end = in->data ? strstr(in->data, "\r\n\r\n") : NULL)) {
        ssize_t n = recv(fd, chunk, 1, 0);
        if (n <= 0 || (!in->len && (*chunk < 'A' || *chunk > 'Z'))) /* TLS begins otherwise */
            return NULL;
        buf_put(in, chunk, (size_t)n);
    }
    size_t head = (size_t)(end - in->data) + 4, length = 0;
    for (char *line = in->data; line < end; line = strstr(line, "\r\n") + 2)
        if (!strncasecmp(line, "content-length:", 15))
            length = strtoul(line + 15, NULL, 10);
    while (in->len < head + length) {
        size_t want = head + length - in->len;
        ssize_t n = recv(fd, chunk, want < sizeof chunk ? want : sizeof chunk, 0);
        if (n <= 0)
            return NULL;
        buf_put(in, chunk, (size_t)n);
    }
    struct asked *a = xcalloc(1, sizeof *a);
    a->text = xstrdup(in->data);
    a->route = xstrndup(in->data, (size_t)(strstr(in->data, " HTTP/") - in->data));
    return a;
}

static void *connection_run(void *arg)
{
    struct fake_connection c = *(struct fake_connection *)arg;
    free(arg);
    SCOPED_BUF(in);
    bool open = true;
    for (struct asked *q; open && (q = request_read(c.fd, &in));) {
        pthread_mutex_lock(&c.f->lock);
        vec_push(&c.f->asked, q);
        const struct answer *a = answer_find(c.f, q->route);
        pthread_cond_broadcast(&c.f->news);
        pthread_mutex_unlock(&c.f->lock);
        open = answer_one(c.f, a, c.fd);
    }
    pthread_mutex_lock(&c.f->lock);
    for (size_t i = 0; i < c.f->sockets.n; i++)
        if (c.f->sockets.at[i] == c.fd)
            c.f->sockets.at[i] = -1;
    pthread_mutex_unlock(&c.f->lock);
    close(c.fd);
    return NULL;
}

static void *accept_run(void *arg)
{
    struct fake *f = arg;
    for (int fd; (fd = accept(f->listener, NULL, NULL)) >= 0;) {
        struct fake_connection *c = xcalloc(1, sizeof *c);
        pthread_t t;
        *c = (struct fake_connection){f, fd};
        pthread_mutex_lock(&f->lock);
        vec_push(&f->sockets, fd);
        if (pthread_create(&t, NULL, connection_run, c))
            abort();
        vec_push(&f->threads, t);
        pthread_mutex_unlock(&f->lock);
    }
    return NULL;
}

static int listen_anywhere(int *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) || listen(fd, 64) ||
        getsockname(fd, (struct sockaddr *)&a, &n))
        abort();
    *ret_port = ntohs(a.sin_port);
    return fd;
}

struct fake *fake_new(void)
{
    struct fake *f = xcalloc(1, sizeof *f);
    int port;
    f->listener = listen_anywhere(&port);
    snprintf(f->url, sizeof f->url, "http://127.0.0.1:%d", port);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->news, NULL);
    if (pthread_create(&f->acceptor, NULL, accept_run, f))
        abort();
    return f;
}

const char *fake_nowhere(void)
{
    return "http://127.0.0.1:1"; /* tcpmux: a privileged port that no test machine serves */
}

void fake_free(struct fake *f)
{
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(f->acceptor, NULL);
    close(f->listener);
    pthread_mutex_lock(&f->lock);
    f->stopping = true;
    pthread_cond_broadcast(&f->news);
    for (size_t i = 0; i < f->sockets.n; i++)
        if (f->sockets.at[i] >= 0)
            shutdown(f->sockets.at[i], SHUT_RDWR);
    pthread_mutex_unlock(&f->lock);
    for (size_t i = 0; i < f->threads.n; i++)
        pthread_join(f->threads.at[i], NULL);
    for (size_t i = 0; i < f->answers.n; i++) {
        free(f->answers.at[i]->route);
        free(f->answers.at[i]->headers);
        free(f->answers.at[i]->body);
        free(f->answers.at[i]);
    }
    for (size_t i = 0; i < f->asked.n; i++) {
        free(f->asked.at[i]->route);
        free(f->asked.at[i]->text);
        free(f->asked.at[i]);
    }
    vec_done(&f->answers);
    vec_done(&f->asked);
    vec_done(&f->threads);
    vec_done(&f->sockets);
    pthread_mutex_destroy(&f->lock);
    pthread_cond_destroy(&f->news);
    free(f);
}

const char *fake_url(const struct fake *f)
{
    return f->url;
}

static void answer_add(struct fake *f, const struct answer *like)
{
    struct answer *a = xcalloc(1, sizeof *a);
    *a = *like;
    a->route = xstrdup(like->route);
    a->headers = xstrdup(like->headers ? like->headers : "");
    a->body = xstrdup(like->body ? like->body : "");
    pthread_mutex_lock(&f->lock);
    vec_push(&f->answers, a);
    pthread_mutex_unlock(&f->lock);
}

void fake_on_headers(struct fake *f, const char *route, int status, const char *headers,
                     const char *body)
{
    answer_add(f, &(struct answer){.route = (char *)route,
                                   .headers = (char *)headers,
                                   .body = (char *)body,
                                   .status = status});
}

void fake_on_after(struct fake *f, const char *route, int sends, int status, const char *body)
{
    const char *type = status >= 400 ? "Content-Type: application/problem+json\r\n"
                                     : "Content-Type: application/json\r\n";
    answer_add(f, &(struct answer){.route = (char *)route,
                                   .headers = (char *)type,
                                   .body = (char *)body,
                                   .status = status,
                                   .sends = sends});
}

void fake_on(struct fake *f, const char *route, int status, const char *body)
{
    fake_on_after(f, route, 0, status, body);
}

void fake_on_drop(struct fake *f, const char *route)
{
    fake_on_headers(f, route, 0, NULL, NULL);
}

void fake_off(struct fake *f, const char *route)
{
    pthread_mutex_lock(&f->lock);
    for (size_t i = 0; i < f->answers.n; i++) {
        struct answer *a = f->answers.at[i];
        if (a->route && !strcmp(a->route, route)) {
            free(a->route);
            a->route = NULL;
        }
    }
    pthread_mutex_unlock(&f->lock);
}

void fake_stream(struct fake *f, const char *path, const char *type, const struct fake_step *steps,
                 size_t n)
{
    SCOPED_BUF(route);
    SCOPED_BUF(headers);
    buf_printf(&route, "GET %s", path);
    buf_printf(&headers, "Content-Type: %s\r\n", type);
    answer_add(f, &(struct answer){.route = route.data,
                                   .headers = headers.data,
                                   .status = 200,
                                   .steps = steps,
                                   .n_steps = n});
}

int fake_count(struct fake *f, const char *route)
{
    pthread_mutex_lock(&f->lock);
    int n = count_locked(f, route);
    pthread_mutex_unlock(&f->lock);
    return n;
}

int fake_total(struct fake *f)
{
    return fake_count(f, "");
}

const char *fake_request(struct fake *f, const char *route, int i)
{
    const char *text = NULL;
    pthread_mutex_lock(&f->lock);
    if (i < 0)
        i += count_locked(f, route);
    for (size_t k = 0; k < f->asked.n && !text; k++)
        if (route_matches(route, f->asked.at[k]->route) && i-- == 0)
            text = f->asked.at[k]->text;
    pthread_mutex_unlock(&f->lock);
    return text;
}

const char *fake_body(struct fake *f, const char *route, int i)
{
    const char *text = fake_request(f, route, i);
    return text ? strstr(text, "\r\n\r\n") + 4 : NULL;
}
