/* host_i.h - what the files of this module share
 *
 * The life of a host, by file: host_args.c reads what is wanted, host_disk.c makes the file system
 * once, host_run.c starts the first process at each boot and waits, host_boot.c is that process up
 * to the moment where it is inside, host_init.c from then on, with host_service.c for what it
 * runs.  host_link.c speaks netlink for both sides.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOST_HOST_I_H
#define HOST_HOST_I_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum {
    HOST_NAME_BYTES = 64,
    HOST_MAC_BYTES = 6,
    HOST_INTERFACE_BYTES = 16, /* IFNAMSIZ */
    HOST_ADDRESS_BYTES = 16,   /* "255.255.255.255" */
    HOST_UUID_BYTES = 37,
};

/* ---- addresses: host_address.c, pure ---- */

struct host_address {
    uint32_t ip; /* host order */
    uint8_t prefix;
};
/* "10.77.1.2/16"; the network's own and its broadcast address are nobody's. */
int host_address_parse(const char *text, struct host_address *ret_a, struct err *e);
int host_address_parse_ip(const char *text, uint32_t *ret_ip, struct err *e);
void host_address_show(uint32_t ip, char ret[HOST_ADDRESS_BYTES]);
uint32_t host_address_mask(uint8_t prefix);
bool host_address_beside(const struct host_address *a, uint32_t ip);
/* Both follow from the address alone: a host that boots again is the same neighbour, and two hosts
 * on one bridge cannot have the same. */
void host_address_mac(uint32_t ip, uint8_t ret[HOST_MAC_BYTES]);
void host_address_interface(uint32_t ip, char ret[HOST_INTERFACE_BYTES]);

/* ---- arguments: host_args.c, pure ---- */

enum host_disk_kind {
    HOST_DISK_MEMORY, /* what is written is in memory, limited by size, and ends with the owner */
    HOST_DISK_FILES,  /* it is in DIR/disk and is there when the host is run again */
};
struct host_options {
    const char *dir, *name, *bridge, *keys_path, *hosts_path;
    struct host_address address;
    uint32_t gateway; /* 0: none */
    enum host_disk_kind disk;
    const char *size; /* as tmpfs takes it */
    uint64_t grace_ms;
    int32_t owner; /* process with which the host ends; 0: none */
};
/* The words behind "run".  Texts are borrowed from argv. */
int host_args_run(int argc, char **argv, struct host_options *ret_o, struct err *e);
const char *host_args_help(void);

/* ---- netlink: host_link.c ---- */

/* A socket in the caller's network namespace; close it. */
int host_link_open(struct err *e);
int host_link_index(const char *name, unsigned *ret_index, struct err *e);
/* A pair of interfaces: one on the bridge here, "eth0" in the namespace of process pid. */
int host_link_add_pair(int fd, const char *name, unsigned bridge, pid_t pid,
                       const uint8_t mac[HOST_MAC_BYTES], bool up, struct err *e);
int host_link_remove(int fd, const char *name, struct err *e); /* one that is gone is fine */
int host_link_set(int fd, const char *name, bool up, struct err *e);
/* No IPv6 address by itself: hundreds of hosts on a bridge need not look for each other's.  Before
 * it is set up.  (The switch disable_ipv6 does more, but its writers spin for the kernel's lock.)
 */
int host_link_quiet(int fd, const char *name, struct err *e);
int host_link_add_address(int fd, const char *name, const struct host_address *a, struct err *e);
int host_link_add_gateway(int fd, uint32_t gateway, struct err *e);

/* ---- files: host_file.c ---- */

/* Whole files, replaced by rename.  Not synced: what stands here is worth nothing after a crash. */
int host_file_put(const char *dir, const char *name, const char *text, mode_t mode, struct err *e);
/* The first line into ret, "" if there is none. */
void host_file_line(const char *dir, const char *name, char *ret, size_t n);
int host_file_copy(const char *from, const char *to, mode_t mode, struct err *e);
int host_file_mkdir(const char *path, mode_t mode, struct err *e); /* there already is fine */
/* Random: version 4, with or without dashes. */
int host_file_uuid(bool dashes, char ret[HOST_UUID_BYTES], struct err *e);

/* ---- file system: host_disk.c ---- */

/* In a mount namespace of our own: the host's root at DIR/root, ready for any number of boots. */
int host_disk_mount(const struct host_options *o, struct err *e);
/* What a new disk gets: names, keys, sshd's configuration.  Nothing on a disk that has them. */
int host_disk_fill(const struct host_options *o, struct err *e);

/* ---- the first process ---- */

struct host_boot {
    const struct host_options *o;
    char boot_id[HOST_UUID_BYTES];
    int go_fd;      /* readable when the interface is there; at its end the owner has died */
    int report_fd;  /* one line to the owner: "ready" or what went wrong */
    int console_fd; /* output of init and its services */
};
/* Becomes the host and runs until it ends; the exit status is one of HOST_END_*. */
int host_boot_enter(const struct host_boot *b, struct err *e);
int host_init_run(const struct host_boot *b);
enum {
    HOST_END_OFF = 0,
    HOST_END_BROKEN = 1,
    HOST_END_REBOOT = 64,
};

/* ---- owner, client ---- */

int host_run(const struct host_options *o, struct err *e);
int host_link_command(const char *dir, bool up, struct err *e);

#define HOST_CONTROL_PATH      "/run/anneal-host/control"
#define HOST_PROGRAM_PATH      "/usr/local/libexec/anneal-host"
#define HOST_UNIT_DIR          "/etc/systemd/system"
#define HOST_UNIT_DIR_PACKAGES "/lib/systemd/system"
#define HOST_UNIT_DIR_RUN      "/run/anneal-host/units"
#define HOST_ENABLED_DIR       "/etc/anneal-host/enabled"

#define HOST_VERBS(X)                                                                              \
    X(START, "start")                                                                              \
    X(STOP, "stop")                                                                                \
    X(RESTART, "restart")                                                                          \
    X(RELOAD, "reload")                                                                            \
    X(STATUS, "status")                                                                            \
    X(IS_ACTIVE, "is-active")                                                                      \
    X(LIST, "list-units")                                                                          \
    X(REBOOT, "reboot")                                                                            \
    X(POWEROFF, "poweroff")
enum host_verb {
#define X(id, name) HOST_VERB_##id,
    HOST_VERBS(X)
#undef X
        HOST_VERB_COUNT
};

/* One packet each way on a SEQPACKET socket.  The answer comes when the thing is done. */
struct host_request {
    uint32_t verb;
    char unit[HOST_NAME_BYTES];
};
struct host_reply {
    int32_t status;  /* exit status for the client, systemctl's own numbers */
    char text[4096]; /* for people, without a newline at the end */
};
/* What systemctl, service-run, reboot and their like do: argv[0] decides. */
int host_client_main(int argc, char **argv);

#endif
