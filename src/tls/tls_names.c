/* tls_names.c - the names that a certificate is made out to */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tls/tls.h"

enum { NAMES_MOST = 64 }; /* a machine with more addresses is reached by one of these */

void tls_names_done(struct tls_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->at[i]);
    vec_done(names);
}

void tls_names_add(struct tls_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->at[i], name) == 0)
            return;
    if (*name && names->n < NAMES_MOST)
        vec_push(names, xstrdup(name));
}

static void add_address(struct tls_names *names, const struct sockaddr *sa)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (sa->sa_family == AF_INET) {
        inet_ntop(AF_INET, &((const struct sockaddr_in *)sa)->sin_addr, text, sizeof text);
    } else if (sa->sa_family == AF_INET6) {
        const struct in6_addr *six = &((const struct sockaddr_in6 *)sa)->sin6_addr;
        if (!IN6_IS_ADDR_LINKLOCAL(six)) /* of no use without the name of a link */
            inet_ntop(AF_INET6, six, text, sizeof text);
    }
    tls_names_add(names, text);
}

static void add_interfaces(struct tls_names *names)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return; /* then only what is known otherwise */
    for (const struct ifaddrs *i = all; i; i = i->ifa_next)
        if (i->ifa_addr && (i->ifa_flags & IFF_UP))
            add_address(names, i->ifa_addr);
    freeifaddrs(all);
}

void tls_names_of_machine(struct tls_names *names, const char *host)
{
    char self[HOST_NAME_MAX + 1] = "";
    (void)gethostname(self, sizeof self - 1);
    tls_names_add(names, self);
    tls_names_add(names, "localhost");
    tls_names_add(names, "127.0.0.1");
    tls_names_add(names, "::1");
    if (strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0 || strcmp(host, "*") == 0)
        add_interfaces(names);
    else
        tls_names_add(names, host);
}
