/* host_args.c - the command line of anneal-host run
 *
 * One table of options; each takes a value.  What can be known without looking at the machine is
 * checked here, what cannot (is the bridge there, are we root) in host_run.c.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "host/host_i.h"

/* id, name, value, must be given, help */
#define RUN_OPTIONS(X)                                                                             \
    X(DIR, "--dir", "DIR", true, "directory of this host, made if need be")                        \
    X(NAME, "--name", "NAME", true, "host name")                                                   \
    X(ADDRESS, "--address", "A/PREFIX", true, "IPv4 address of its interface eth0")                \
    X(BRIDGE, "--bridge", "BR", true, "bridge on this machine that the interface is plugged into") \
    X(KEYS, "--authorized-keys", "FILE", true, "keys that may log in as root")                     \
    X(GATEWAY, "--gateway", "A", false, "default route")                                           \
    X(HOSTS, "--hosts", "FILE", false, "lines for /etc/hosts besides its own")                     \
    X(DISK, "--disk", "memory|files", false, "where it writes: memory (default), or DIR/disk")     \
    X(SIZE, "--size", "512m", false, "limit of a disk in memory (default 512m)")                   \
    X(GRACE, "--grace", "5s", false, "time from TERM to KILL when it goes down (default 5s)")      \
    X(OWNER, "--owner", "PID", false, "the host goes down when this process ends")

enum run_option {
#define X(id, name, value, needed, help) OPTION_##id,
    RUN_OPTIONS(X)
#undef X
        OPTION_COUNT
};
static const struct {
    const char *name;
    bool needed;
} options[] = {
#define X(id, name, value, needed, help) {name, needed},
    RUN_OPTIONS(X)
#undef X
};

const char *host_args_help(void)
{
    return "usage: anneal-host run OPTIONS          a host of its own on this machine, until TERM\n"
           "       anneal-host link DIR up|down     its network cable\n\noptions:\n"
#define X(id, name, value, needed, help) "  " name " " value "\n        " help "\n"
        RUN_OPTIONS(X)
#undef X
            "\nTERM: power off.  HUP: reboot.\n";
}

static int option_find(const char *word, enum run_option *ret_id, struct err *e)
{
    const char *names[OPTION_COUNT];
    for (int i = 0; i < OPTION_COUNT; i++) {
        names[i] = options[i].name;
        if (strcmp(word, names[i]) == 0) {
            *ret_id = (enum run_option)i;
            return 0;
        }
    }
    int r = err_set(e, ERR_INVALID, "no option %s", word);
    const char *near = text_nearest(str_of(word), names, OPTION_COUNT);
    if (near)
        err_hint(e, "did you mean %s?", near);
    return r;
}

/* Digits and at most one unit, so that nothing else gets into the mount options. */
static bool is_size(const char *s)
{
    size_t digits = strspn(s, "0123456789");
    return digits > 0 && s[0] != '0' && (s[digits] == '\0' || strchr("kmg", s[digits])) &&
           (s[digits] == '\0' || s[digits + 1] == '\0');
}

static int disk_parse(const char *v, enum host_disk_kind *ret_kind, struct err *e)
{
    bool memory = strcmp(v, "memory") == 0;
    if (!memory && strcmp(v, "files") != 0)
        return err_set(e, ERR_INVALID, "--disk is memory or files, not \"%s\"", v);
    *ret_kind = memory ? HOST_DISK_MEMORY : HOST_DISK_FILES;
    return 0;
}

static int name_check(const char *v, struct err *e)
{
    return text_is_fqdn(str_of(v)) && strlen(v) < HOST_NAME_BYTES
               ? 0
               : err_set(e, ERR_INVALID, "\"%s\" cannot be the name of a host", v);
}

static int option_take(struct host_options *o, enum run_option id, const char *v, struct err *e)
{
    uint64_t number;
    int r = 0;
    switch (id) {
    case OPTION_DIR:
        o->dir = v;
        return v[0] == '/' ? 0 : err_set(e, ERR_INVALID, "--dir must begin with /");
    case OPTION_NAME: o->name = v; return name_check(v, e);
    case OPTION_ADDRESS: return host_address_parse(v, &o->address, e);
    case OPTION_BRIDGE:
        o->bridge = v;
        return *v && strlen(v) < HOST_INTERFACE_BYTES
                   ? 0
                   : err_set(e, ERR_INVALID, "\"%s\" cannot be the name of a bridge", v);
    case OPTION_KEYS: o->keys_path = v; return 0;
    case OPTION_GATEWAY: return host_address_parse_ip(v, &o->gateway, e);
    case OPTION_HOSTS: o->hosts_path = v; return 0;
    case OPTION_DISK: return disk_parse(v, &o->disk, e);
    case OPTION_SIZE:
        o->size = v;
        return is_size(v) ? 0 : err_set(e, ERR_INVALID, "\"%s\" is not a size such as 512m", v);
    case OPTION_GRACE: return text_duration_ms(str_of(v), &o->grace_ms, e);
    case OPTION_OWNER:
        r = text_u64(str_of(v), INT32_MAX, &number, e);
        if (r == 0)
            o->owner = (int32_t)number;
        return r;
    case OPTION_COUNT: break;
    }
    return err_set(e, ERR_INTERNAL, "option %d has no case", (int)id);
}

static int options_check(const struct host_options *o, const bool *given, struct err *e)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (options[i].needed && !given[i])
            return err_set(e, ERR_INVALID, "%s is missing", options[i].name);
    if (given[OPTION_GATEWAY] && !host_address_beside(&o->address, o->gateway))
        return err_set(e, ERR_INVALID, "the gateway is not another address of the host's network");
    if (given[OPTION_SIZE] && o->disk != HOST_DISK_MEMORY)
        return err_set(e, ERR_INVALID, "--size is for a disk in memory");
    return 0;
}

int host_args_run(int argc, char **argv, struct host_options *ret_o, struct err *e)
{
    struct host_options o = {.size = "512m", .grace_ms = 5000};
    bool given[OPTION_COUNT] = {false};
    for (int i = 0; i < argc; i += 2) {
        enum run_option id = OPTION_COUNT;
        int r = option_find(argv[i], &id, e);
        if (r < 0)
            return r;
        if (i + 1 == argc)
            return err_set(e, ERR_INVALID, "%s needs a value", argv[i]);
        if (given[id])
            return err_set(e, ERR_INVALID, "%s is given twice", argv[i]);
        given[id] = true;
        r = option_take(&o, id, argv[i + 1], e);
        if (r < 0)
            return err_at(e, "%s", argv[i]);
    }
    int r = options_check(&o, given, e);
    if (r < 0)
        return r;
    *ret_o = o;
    return 0;
}
