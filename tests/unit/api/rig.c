/* rig.c - see rig.h */
/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

static uint64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void rig_open(struct rig *r, const struct api_options *o)
{
    struct api_options options = o ? *o : (struct api_options){0};
    struct err e;

    log_set_level(LOG_ERROR);
    if (!options.listen)
        options.listen = "127.0.0.1:0";
    r->loop = loop_new_fake(1000000);
    r->server = fake_new(r->loop);
    fake_populate(r->server);
    if (api_new(r->loop, r->server, &options, &r->api, &e) < 0) {
        fprintf(stderr, "rig: %s\n", e.text);
        abort();
    }
}

void rig_close(struct rig *r)
{
    api_stop(r->api);
    fake_free(r->server);
    loop_free(r->loop);
}

void rig_pump(struct rig *r)
{
    loop_fake_advance(r->loop, 0);
}

void client_open(struct rig *r, struct client *c)
{
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(api_port(r->api)),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    *c = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&sa, sizeof sa) < 0) {
        perror("rig: connect");
        abort();
    }
    rig_pump(r);
}

void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    buf_done(&c->in);
}

bool client_drain(struct client *c)
{
    bool any = false;
    char part[65536];
    for (;;) {
        ssize_t n = recv(c->fd, part, sizeof part, MSG_DONTWAIT);
        if (n > 0) {
            buf_put(&c->in, part, (size_t)n);
            any = true;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            c->closed = true;
        return any;
    }
}

void client_send(struct rig *r, struct client *c, const char *bytes, size_t n)
{
    uint64_t until = real_ms() + RIG_PATIENCE_MS;
    while (n && real_ms() < until) {
        ssize_t put = send(c->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (put > 0) {
            bytes += put;
            n -= (size_t)put;
        } else if (put < 0 && errno != EAGAIN) {
            break; /* the other side closed: what it said is still to be read */
        }
        rig_pump(r);
    }
    rig_pump(r);
}

void client_sends(struct rig *r, struct client *c, const char *text)
{
    client_send(r, c, text, strlen(text));
}

bool client_has_bytes(struct rig *r, struct client *c)
{
    for (unsigned i = 0; i < 50; i++) {
        rig_pump(r);
        client_drain(c);
    }
    return c->in.len > 0;
}

bool client_wait_text(struct rig *r, struct client *c, const char *text)
{
    uint64_t until = real_ms() + RIG_PATIENCE_MS;
    size_t n = strlen(text), seen = 0;
    while (real_ms() < until) {
        client_drain(c);
        if (c->in.len >= n && memmem(c->in.data + seen, c->in.len - seen, text, n))
            return true;
        seen = c->in.len >= n ? c->in.len - n : 0;
        if (c->closed)
            return false;
        rig_pump(r);
    }
    return false;
}

bool client_wait_close(struct rig *r, struct client *c)
{
    uint64_t until = real_ms() + RIG_PATIENCE_MS;
    while (!c->closed && real_ms() < until) {
        client_drain(c);
        rig_pump(r);
    }
    return c->closed;
}

static const char *header_find(const struct buf *head, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = head->data; at && (at = strstr(at, "\r\n"));) {
        at += 2;
        if (!strncasecmp(at, name, n) && at[n] == ':')
            return at + n + 1 + strspn(at + n + 1, " ");
    }
    return NULL;
}

const char *reply_header(const struct reply *rep, const char *name)
{
    static char value[4][256];
    static unsigned turn;
    const char *at = header_find(&rep->head, name);
    char *out = value[turn++ % 4];
    snprintf(out, sizeof value[0], "%.*s", at ? (int)strcspn(at, "\r\n") : 0, at ? at : "");
    return out;
}

/* Takes chunks off the front; false if the last one is not there yet. */
static bool chunks_take(const char *at, const char *end, struct buf *body, const char **ret_end)
{
    for (;;) {
        char *after;
        const char *line = at;
        while (line + 1 < end && (line[0] != '\r' || line[1] != '\n'))
            line++;
        if (line + 1 >= end)
            return false;
        size_t n = strtoul(at, &after, 16);
        at = line + 2;
        if ((size_t)(end - at) < n + 2)
            return false;
        buf_put(body, at, n);
        at += n + 2;
        if (!n) {
            *ret_end = at;
            return true;
        }
    }
}

void client_unchunk(const struct client *c, struct buf *out)
{
    const char *end = c->in.data + c->in.len, *rest;
    const char *body = strstr(c->in.data, "\r\n\r\n");
    if (body)
        (void)chunks_take(body + 4, end, out, &rest); /* false: the last chunk is still to come */
}

/* A whole response at the front of c->in becomes *rep and is taken off. */
static bool reply_take(struct client *c, struct reply *rep)
{
    if (!c->in.data)
        return false;
    const char *head_end = strstr(c->in.data, "\r\n\r\n");
    const char *end = c->in.data + c->in.len, *rest;
    if (!head_end)
        return false;
    rest = head_end + 4;
    struct reply got = {0};
    buf_put(&got.head, c->in.data, (size_t)(rest - c->in.data));
    got.status = atoi(got.head.data + 9);
    const char *length = header_find(&got.head, "Content-Length");
    const char *transfer = header_find(&got.head, "Transfer-Encoding");
    got.chunked = transfer && !strncasecmp(transfer, "chunked", 7);
    got.close = !strncasecmp(reply_header(&got, "Connection"), "close", 5);
    bool whole = true;
    if (got.status == 100 || got.status == 204 || got.status == 304) {
        whole = true;
    } else if (got.chunked) {
        whole = chunks_take(rest, end, &got.body, &rest);
    } else if (length) {
        size_t n = strtoul(length, NULL, 10);
        whole = (size_t)(end - rest) >= n;
        if (whole) {
            buf_put(&got.body, rest, n);
            rest += n;
        }
    } else {
        whole = c->closed;
        buf_put(&got.body, rest, (size_t)(end - rest));
        rest = end;
    }
    if (!whole) {
        reply_done(&got);
        return false;
    }
    size_t left = (size_t)(end - rest);
    memmove(c->in.data, rest, left + 1);
    c->in.len = left;
    if (got.status == 100) {
        reply_done(&got);
        return reply_take(c, rep);
    }
    *rep = got;
    return true;
}

struct reply client_reply(struct rig *r, struct client *c)
{
    struct reply rep = {0};
    uint64_t until = real_ms() + RIG_PATIENCE_MS;
    while (real_ms() < until) {
        client_drain(c);
        if (reply_take(c, &rep) || c->closed)
            break;
        rig_pump(r);
    }
    if (!rep.body.data)
        buf_puts(&rep.body, "");
    return rep;
}

void reply_done(struct reply *rep)
{
    buf_done(&rep->head);
    buf_done(&rep->body);
}

struct reply rig_call(struct rig *r, const char *method, const char *path, const char *token,
                      const char *headers, const char *body)
{
    struct client c;
    SCOPED_BUF(out);

    buf_printf(&out, "%s %s HTTP/1.1\r\nHost: test\r\nConnection: close\r\n%s", method, path,
               headers ? headers : "");
    if (token)
        buf_printf(&out, "Authorization: Bearer %s\r\n", token);
    if (body)
        buf_printf(&out, "Content-Length: %zu\r\n%s", strlen(body),
                   headers && strcasestr(headers, "Content-Type:")
                       ? ""
                       : "Content-Type: application/json\r\n");
    buf_printf(&out, "\r\n%s", body ? body : "");
    client_open(r, &c);
    client_send(r, &c, out.data, out.len);
    struct reply rep = client_reply(r, &c);
    if (!strcmp(method, "HEAD") && !rep.status) /* the length is of a body that does not come */
        rep.status = c.in.len > 9 ? atoi(c.in.data + 9) : 0;
    client_close(&c);
    return rep;
}
