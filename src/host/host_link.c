/* host_link.c - interfaces, addresses and routes, by rtnetlink
 *
 * One request at a time, each acknowledged by the kernel before the next: a function that returned
 * 0 has happened.  A message is built in a fixed buffer that is larger than any of ours.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host_i.h"

struct message {
    _Alignas(NLMSG_ALIGNTO) char bytes[1024];
};
enum { ANSWER_BYTES = 8192 };

static struct nlmsghdr *head_of(struct message *m)
{
    return (struct nlmsghdr *)m->bytes;
}

/* The head and the fixed part of a request; returns the latter, zeroed. */
static void *message_begin(struct message *m, uint16_t type, uint16_t flags, size_t fixed_bytes)
{
    memset(m, 0, sizeof *m);
    head_of(m)->nlmsg_type = type;
    head_of(m)->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    head_of(m)->nlmsg_len = (uint32_t)NLMSG_LENGTH(fixed_bytes);
    return NLMSG_DATA(head_of(m));
}

static void *message_room(struct message *m, size_t n)
{
    size_t at = NLMSG_ALIGN(head_of(m)->nlmsg_len);
    assert(at + n <= sizeof m->bytes);
    head_of(m)->nlmsg_len = (uint32_t)(at + n);
    return m->bytes + at;
}

static struct rtattr *attribute(struct message *m, uint16_t type, const void *p, size_t n)
{
    struct rtattr *a = message_room(m, RTA_LENGTH(n));
    a->rta_type = type;
    a->rta_len = (uint16_t)RTA_LENGTH(n);
    if (n)
        memcpy(RTA_DATA(a), p, n);
    return a;
}

/* An attribute that holds others: everything added until nest_end(). */
static void nest_end(struct message *m, struct rtattr *nest)
{
    nest->rta_len = (uint16_t)(m->bytes + head_of(m)->nlmsg_len - (char *)nest);
}

/* 0, or the kernel's errno. */
static int message_send(int fd, struct message *m)
{
    _Alignas(NLMSG_ALIGNTO) char answer[ANSWER_BYTES];
    if (send(fd, m->bytes, head_of(m)->nlmsg_len, 0) < 0)
        return errno;
    ssize_t n = recv(fd, answer, sizeof answer, 0);
    struct nlmsghdr *h = (struct nlmsghdr *)answer;
    if (n < 0)
        return errno;
    if (!NLMSG_OK(h, (size_t)n) || h->nlmsg_type != NLMSG_ERROR)
        return EPROTO;
    return -((struct nlmsgerr *)NLMSG_DATA(h))->error;
}

int host_link_open(struct err *e)
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl any = {.nl_family = AF_NETLINK};
    if (fd >= 0 && connect(fd, (struct sockaddr *)&any, sizeof any) == 0)
        return fd;
    int sys = errno;
    if (fd >= 0)
        close(fd);
    return err_sys(e, ERR_IO, sys, "cannot speak netlink");
}

int host_link_index(const char *name, unsigned *ret_index, struct err *e)
{
    unsigned index = if_nametoindex(name);
    if (!index)
        return err_sys(e, ERR_NOT_FOUND, errno, "no interface %s", name);
    *ret_index = index;
    return 0;
}

int host_link_add_pair(int fd, const char *name, unsigned bridge, pid_t pid,
                       const uint8_t mac[HOST_MAC_BYTES], bool up, struct err *e)
{
    struct message m;
    uint32_t ns_pid = (uint32_t)pid;
    struct ifinfomsg *info = message_begin(&m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
                                           sizeof(struct ifinfomsg));
    info->ifi_flags = up ? IFF_UP : 0;
    info->ifi_change = IFF_UP;
    attribute(&m, IFLA_IFNAME, name, strlen(name) + 1);
    attribute(&m, IFLA_MASTER, &bridge, sizeof bridge);
    struct rtattr *link = attribute(&m, IFLA_LINKINFO, NULL, 0);
    attribute(&m, IFLA_INFO_KIND, "veth", 4);
    struct rtattr *data = attribute(&m, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = attribute(&m, VETH_INFO_PEER, NULL, 0);
    memset(message_room(&m, sizeof(struct ifinfomsg)), 0, sizeof(struct ifinfomsg));
    attribute(&m, IFLA_IFNAME, "eth0", sizeof "eth0");
    attribute(&m, IFLA_ADDRESS, mac, HOST_MAC_BYTES);
    attribute(&m, IFLA_NET_NS_PID, &ns_pid, sizeof ns_pid);
    nest_end(&m, peer);
    nest_end(&m, data);
    nest_end(&m, link);
    int sys = message_send(fd, &m);
    return sys ? err_sys(e, sys == EEXIST ? ERR_EXISTS : ERR_IO, sys, "cannot make interface %s",
                         name)
               : 0;
}

int host_link_remove(int fd, const char *name, struct err *e)
{
    struct message m;
    (void)message_begin(&m, RTM_DELLINK, 0, sizeof(struct ifinfomsg));
    attribute(&m, IFLA_IFNAME, name, strlen(name) + 1);
    int sys = message_send(fd, &m);
    return sys && sys != ENODEV ? err_sys(e, ERR_IO, sys, "cannot remove interface %s", name) : 0;
}

int host_link_set(int fd, const char *name, bool up, struct err *e)
{
    struct message m;
    struct ifinfomsg *info = message_begin(&m, RTM_NEWLINK, 0, sizeof *info);
    info->ifi_flags = up ? IFF_UP : 0;
    info->ifi_change = IFF_UP;
    attribute(&m, IFLA_IFNAME, name, strlen(name) + 1);
    int sys = message_send(fd, &m);
    return sys ? err_sys(e, ERR_IO, sys, "cannot set interface %s %s", name, up ? "up" : "down")
               : 0;
}

int host_link_quiet(int fd, const char *name, struct err *e)
{
    struct message m;
    uint8_t none = IN6_ADDR_GEN_MODE_NONE;
    (void)message_begin(&m, RTM_NEWLINK, 0, sizeof(struct ifinfomsg));
    attribute(&m, IFLA_IFNAME, name, strlen(name) + 1);
    struct rtattr *spec = attribute(&m, IFLA_AF_SPEC, NULL, 0);
    struct rtattr *inet6 = attribute(&m, AF_INET6, NULL, 0);
    attribute(&m, IFLA_INET6_ADDR_GEN_MODE, &none, sizeof none);
    nest_end(&m, inet6);
    nest_end(&m, spec);
    int sys = message_send(fd, &m);
    bool has_none = sys == EAFNOSUPPORT || sys == EOPNOTSUPP; /* a kernel without IPv6 */
    return sys && !has_none ? err_sys(e, ERR_IO, sys, "cannot keep %s quiet", name) : 0;
}

int host_link_add_address(int fd, const char *name, const struct host_address *a, struct err *e)
{
    struct message m;
    unsigned index = 0;
    int r = host_link_index(name, &index, e);
    if (r < 0)
        return r;
    uint32_t ip = htonl(a->ip), broadcast = htonl(a->ip | ~host_address_mask(a->prefix));
    struct ifaddrmsg *info = message_begin(&m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL,
                                           sizeof(struct ifaddrmsg));
    info->ifa_family = AF_INET;
    info->ifa_prefixlen = a->prefix;
    info->ifa_index = index;
    attribute(&m, IFA_LOCAL, &ip, sizeof ip);
    attribute(&m, IFA_ADDRESS, &ip, sizeof ip);
    attribute(&m, IFA_BROADCAST, &broadcast, sizeof broadcast);
    int sys = message_send(fd, &m);
    return sys ? err_sys(e, ERR_IO, sys, "cannot give %s its address", name) : 0;
}

int host_link_add_gateway(int fd, uint32_t gateway, struct err *e)
{
    struct message m;
    uint32_t via = htonl(gateway);
    struct rtmsg *route = message_begin(&m, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL,
                                        sizeof(struct rtmsg));
    route->rtm_family = AF_INET;
    route->rtm_table = RT_TABLE_MAIN;
    route->rtm_protocol = RTPROT_BOOT;
    route->rtm_scope = RT_SCOPE_UNIVERSE;
    route->rtm_type = RTN_UNICAST;
    attribute(&m, RTA_GATEWAY, &via, sizeof via);
    int sys = message_send(fd, &m);
    return sys ? err_sys(e, ERR_IO, sys, "cannot set the default route") : 0;
}
