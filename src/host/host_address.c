/* host_address.c - IPv4 addresses of hosts, and what follows from them
 *
 * Pure arithmetic.  An address is written as dotted decimals without leading zeros, since half of
 * the world reads those as octal.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "host/host_i.h"

enum { PREFIX_MOST = 30 }; /* two addresses for hosts at least */

static int octet_parse(struct str s, uint64_t *ret_v, struct err *e)
{
    if (s.n > 1 && s.s[0] == '0')
        return err_set(e, ERR_INVALID, "leading zero");
    return text_u64(s, 255, ret_v, e);
}

int host_address_parse_ip(const char *text, uint32_t *ret_ip, struct err *e)
{
    uint32_t ip = 0;
    const char *at = text;
    for (int i = 0; i < 4; i++) {
        uint64_t octet;
        size_t n = strcspn(at, ".");
        if (octet_parse((struct str){at, n}, &octet, NULL) < 0 || (at[n] == '.') != (i < 3))
            return err_set(e, ERR_INVALID, "\"%s\" is not an IPv4 address", text);
        ip = ip << 8 | (uint32_t)octet;
        at += n + (i < 3);
    }
    *ret_ip = ip;
    return 0;
}

uint32_t host_address_mask(uint8_t prefix)
{
    return prefix ? UINT32_MAX << (32 - prefix) : 0;
}

int host_address_parse(const char *text, struct host_address *ret_a, struct err *e)
{
    char ip_text[HOST_ADDRESS_BYTES];
    struct host_address a;
    uint64_t prefix;
    size_t n = strcspn(text, "/");
    if (n >= sizeof ip_text || text[n] != '/' ||
        text_u64(str_of(text + n + 1), PREFIX_MOST, &prefix, NULL) < 0 || prefix == 0)
        return err_set(e, ERR_INVALID,
                       "\"%s\" is not an address and a prefix, such as 10.77.1.1/16", text);
    memcpy(ip_text, text, n);
    ip_text[n] = '\0';
    int r = host_address_parse_ip(ip_text, &a.ip, e);
    if (r < 0)
        return r;
    a.prefix = (uint8_t)prefix;
    uint32_t local = a.ip & ~host_address_mask(a.prefix);
    if (local == 0 || local == ~host_address_mask(a.prefix))
        return err_set(e, ERR_INVALID, "%s is the %s address of its network, not one of a host",
                       text, local ? "broadcast" : "first");
    *ret_a = a;
    return 0;
}

void host_address_show(uint32_t ip, char ret[HOST_ADDRESS_BYTES])
{
    snprintf(ret, HOST_ADDRESS_BYTES, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255,
             ip & 255);
}

bool host_address_beside(const struct host_address *a, uint32_t ip)
{
    return ip != a->ip && ((ip ^ a->ip) & host_address_mask(a->prefix)) == 0;
}

void host_address_mac(uint32_t ip, uint8_t ret[HOST_MAC_BYTES])
{
    ret[0] = 0x02; /* locally administered, one station */
    ret[1] = 0x77;
    for (int i = 0; i < 4; i++)
        ret[2 + i] = (uint8_t)(ip >> (24 - 8 * i));
}

void host_address_interface(uint32_t ip, char ret[HOST_INTERFACE_BYTES])
{
    snprintf(ret, HOST_INTERFACE_BYTES, "ah%08x", ip);
}
