/* test_address.c - addresses of hosts: reading, networks, what follows from them */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host_i.h"
#include "tap.h"

static void test_good(void)
{
    static const struct {
        const char *text, *ip;
        uint8_t prefix;
    } cases[] = {{"10.77.1.2/16", "10.77.1.2", 16}, {"192.168.0.1/24", "192.168.0.1", 24},
                 {"0.0.0.1/1", "0.0.0.1", 1},       {"255.255.255.253/30", "255.255.255.253", 30},
                 {"10.77.1.0/16", "10.77.1.0", 16}, {"10.77.1.255/16", "10.77.1.255", 16}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_address a = {0};
        struct err e = {0};
        char shown[HOST_ADDRESS_BYTES];
        is_int(host_address_parse(cases[i].text, &a, &e), 0, "%s is an address", cases[i].text);
        host_address_show(a.ip, shown);
        is_text(shown, cases[i].ip, "its address");
        is_int(a.prefix, cases[i].prefix, "its prefix");
    }
}

static void test_bad(void)
{
    static const char *const cases[] = {"",
                                        "10.77.1.2",
                                        "10.77.1.2/",
                                        "10.77.1.2/0",
                                        "10.77.1.2/31",
                                        "10.77.1/16",
                                        "10.77.1.2.3/16",
                                        "10.77.1.256/16",
                                        "10.77.01.2/16",
                                        "10.77.1.-2/16",
                                        "10.77.1./16",
                                        "a.b.c.d/16",
                                        "10.77.1.2/x",
                                        "10.77.0.0/16",
                                        "10.77.255.255/16",
                                        " 10.77.1.2/16",
                                        "10.77.1.2/16 ",
                                        "1000.1000.1000.1000/16"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct host_address a = {.ip = 7, .prefix = 9};
        struct err e = {0};
        is_int(host_address_parse(cases[i], &a, &e), -ERR_INVALID, "\"%s\" is none", cases[i]);
        ok(a.ip == 7 && a.prefix == 9 && e.text[0], "it is told, and nothing was written");
    }
    uint32_t ip = 7;
    ok(host_address_parse_ip("10.0.0.1/8", &ip, NULL) < 0 && ip == 7, "an IP has no prefix");
    is_int(host_address_parse_ip("10.0.0.1", &ip, NULL), 0, "an IP");
    is_int(ip, 0x0a000001, "in the machine's order");
}

static void test_network(void)
{
    struct host_address a = {.ip = 0x0a4d0102, .prefix = 16};
    ok(host_address_beside(&a, 0x0a4d0001), "10.77.0.1 is beside 10.77.1.2/16");
    ok(!host_address_beside(&a, 0x0a4e0001), "10.78.0.1 is not");
    ok(!host_address_beside(&a, a.ip), "nor is the host itself");
    ok(host_address_mask(0) == 0 && host_address_mask(16) == 0xffff0000u &&
           host_address_mask(32) == UINT32_MAX,
       "masks");
}

static void test_names(void)
{
    uint8_t one[HOST_MAC_BYTES], two[HOST_MAC_BYTES];
    char name[HOST_INTERFACE_BYTES];
    host_address_mac(0x0a4d0102, one);
    host_address_mac(0x0a4d0201, two);
    ok(memcmp(one, (const uint8_t[]){2, 0x77, 10, 77, 1, 2}, sizeof one) == 0, "a MAC");
    ok(memcmp(one, two, sizeof one) != 0 && !(one[0] & 1), "of its own, of one station");
    host_address_interface(UINT32_MAX, name);
    is_text(name, "ahffffffff", "the longest interface fits");
    host_address_interface(0x0a4d0102, name);
    is_text(name, "ah0a4d0102", "an interface");
}

int main(void)
{
    test_good();
    test_bad();
    test_network();
    test_names();
    return tap_done();
}
