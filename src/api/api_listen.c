/* api_listen.c - an address in text becomes a listening socket
 *
 * Refuses to listen beyond loopback without TLS: tokens must not travel in the clear.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/api_i.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"

enum { BACKLOG = 1024 };

struct listen_name {
    char host[256], port[6];
};

/* "host:port" or "[v6]:port". */
static int name_split(const char *address, struct listen_name *ret_name, struct err *e)
{
    const char *colon = strrchr(address, ':');
    const char *host = address;
    size_t n = colon ? (size_t)(colon - address) : 0;
    uint64_t port;

    if (host[0] == '[') {
        host++;
        n = n > 2 && colon[-1] == ']' ? n - 2 : 0;
    } else if (memchr(host, ':', n)) {
        n = 0;
    }
    if (!n || n >= sizeof ret_name->host || text_u64(str_of(colon + 1), 65535, &port, NULL) < 0) {
        err_set(e, ERR_INVALID, "\"%s\" is not host:port", address);
        return err_hint(e, "for example 127.0.0.1:7480 or [::1]:7480");
    }
    memcpy(ret_name->host, host, n);
    ret_name->host[n] = '\0';
    snprintf(ret_name->port, sizeof ret_name->port, "%u", (unsigned)port);
    return 0;
}

static bool is_loopback(const struct sockaddr *sa)
{
    if (sa->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const struct sockaddr_in *)sa;
        return ntohl(in->sin_addr.s_addr) >> 24 == 127;
    }
    if (sa->sa_family != AF_INET6)
        return false;
    const struct in6_addr *six = &((const struct sockaddr_in6 *)sa)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127);
}

static int socket_open(const struct addrinfo *ai, const char *address, int *ret_fd, struct err *e)
{
    int yes = 1;
    int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, ai->ai_protocol);

    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot make a socket for %s", address);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
        bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        int r = err_sys(e, ERR_IO, errno, "cannot listen on %s", address);
        if (e && e->sys == EADDRINUSE)
            err_hint(e, "another program, or another anneald, listens there");
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static uint16_t port_of(int fd)
{
    struct sockaddr_storage sa = {0};
    socklen_t n = sizeof sa;
    if (getsockname(fd, (struct sockaddr *)&sa, &n) < 0)
        return 0;
    return sa.ss_family == AF_INET6 ? ntohs(((struct sockaddr_in6 *)&sa)->sin6_port)
                                    : ntohs(((struct sockaddr_in *)&sa)->sin_port);
}

static int name_resolve(const char *address, struct listen_name *ret_name,
                        struct addrinfo **ret_found, struct err *e)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC,
                                   .ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int r = name_split(address, ret_name, e);

    if (r < 0)
        return r;
    int failure = getaddrinfo(ret_name->host, ret_name->port, &hints, ret_found);
    if (failure)
        return err_set(e, ERR_INVALID, "cannot listen on %s: %s", address, gai_strerror(failure));
    return 0;
}

int api_listen_look(const char *listen, bool *ret_loopback, char **ret_host, struct err *e)
{
    struct listen_name name;
    struct addrinfo *found;
    int r = name_resolve(listen, &name, &found, e);

    if (r < 0)
        return r;
    *ret_loopback = is_loopback(found->ai_addr);
    *ret_host = xstrdup(name.host);
    freeaddrinfo(found);
    return 0;
}

int listen_open(const char *address, bool tls, int *ret_fd, uint16_t *ret_port, struct err *e)
{
    struct listen_name name;
    struct addrinfo *found;
    int r = name_resolve(address, &name, &found, e);

    if (r < 0)
        return r;
    if (!tls && !is_loopback(found->ai_addr)) {
        err_set(e, ERR_INVALID, "refusing to listen on %s without TLS", address);
        r = err_hint(e, "leave tls at auto, or listen on 127.0.0.1");
    } else {
        r = socket_open(found, address, ret_fd, e);
    }
    freeaddrinfo(found);
    if (r == 0)
        *ret_port = port_of(*ret_fd);
    return r;
}
