/* cmd_node_life.c - what becomes of nodes: maintenance, redeployment, and machines that announce
 * themselves */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli_i.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sys/fs.h"

enum { ID_MOST = 128 }; /* bytes of a machine's or a boot's id */

int cmd_node_maintenance(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/nodes/%s", name);
    const char *note = cli_option(c, "note");
    bool on = strcmp(cli_arg_word(c, 1), "on") == 0;
    struct value *body = value_map(&c->mem), *asked = value_map(&c->mem);
    const struct value *current, *v;
    if (!on && note)
        return err_set(e, ERR_INVALID, "--note says why it begins, not why it ends");
    if (note)
        value_put_text(&c->mem, asked, "note", note);
    value_set(&c->mem, body, "maintenance", on ? asked : value_null(&c->mem));
    int rc = cli_get(c, path, &current, e);
    if (!rc)
        rc = cli_send_rev(c, "PATCH", path, current, body, arena_printf(&c->mem, "node %s", name),
                          arena_printf(&c->mem, "node show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name", "node %s is %s maintenance", name, on ? "in" : "out of");
    return rc;
}

/* The keys that were pinned are forgotten; the next one seen is pinned, or those given are. */
int cmd_node_trust(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0), *path = http_path(&c->mem, "/v1/nodes/%s", name), *key;
    struct value *body = value_map(&c->mem), *access = value_map(&c->mem),
                 *keys = value_list(&c->mem);
    const struct value *current, *v;
    for (size_t i = 0; (key = cli_option_at(c, "key", i)); i++)
        value_add(&c->mem, keys, value_text(&c->mem, key));
    value_set(&c->mem, access, "host_keys", keys->n ? keys : value_null(&c->mem));
    value_set(&c->mem, body, "access", access);
    int rc = cli_get(c, path, &current, e);
    if (!rc)
        rc = cli_send_rev(c, "PATCH", path, current, body, arena_printf(&c->mem, "node %s", name),
                          arena_printf(&c->mem, "node show %s", name), &v, e);
    if (!rc)
        cli_done(c, v, "name",
                 keys->n ? "node %s must show this key" : "node %s may show a new key", name);
    return rc;
}

int cmd_node_redeploy(struct cli *c, struct err *e)
{
    const char *name = cli_arg(c, 0);
    const struct value *v;
    int rc = cli_send(c, "POST", http_path(&c->mem, "/v1/nodes/%s/redeploy", name), NULL, &v, e);
    return rc ? rc
              : cli_outcome(c, v, "id", arena_printf(&c->mem, "node %s begins from nothing", name),
                            e);
}

/* --- announcing --- */

/* One line of a file, without blanks around it. */
static int line_read(struct cli *c, const char *path, const char **ret, struct err *e)
{
    SCOPED_BUF(text);
    int rc = fs_read(path, ID_MOST + 2, &text, e);
    if (rc < 0)
        return rc;
    struct str s = buf_str(&text);
    while (s.n && strchr(" \t\r\n", s.s[s.n - 1]))
        s.n--;
    if (s.n == 0)
        return err_set(e, ERR_INVALID, "%s is empty", path);
    *ret = arena_strndup(&c->mem, s.s, s.n);
    return 0;
}

static int id_put(struct cli *c, struct value *body, const char *key, const char *option,
                  const char *path, struct err *e)
{
    const char *id = cli_option(c, option);
    int rc = id ? 0 : line_read(c, path, &id, e);
    if (rc < 0)
        return err_hint(e, "give it with --%s", option);
    value_put_text(&c->mem, body, key, id);
    return 0;
}

/* Addresses by which others may reach it: not its own loop, and not those of one link. */
static void addresses_put(struct cli *c, struct value *body)
{
    struct value *list = value_list(&c->mem);
    struct ifaddrs *all = NULL;
    const char *s;
    for (size_t i = 0; (s = cli_option_at(c, "address", i)); i++)
        value_add(&c->mem, list, value_text(&c->mem, s));
    if (list->n == 0 && getifaddrs(&all) == 0)
        for (const struct ifaddrs *a = all; a; a = a->ifa_next) {
            char text[INET6_ADDRSTRLEN];
            if (!a->ifa_addr || (a->ifa_flags & IFF_LOOPBACK) || !(a->ifa_flags & IFF_UP))
                continue;
            const struct sockaddr_in *v4 = (const void *)a->ifa_addr;
            const struct sockaddr_in6 *v6 = (const void *)a->ifa_addr;
            bool one = a->ifa_addr->sa_family == AF_INET;
            bool six = a->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
            if ((one && inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text)) ||
                (six && inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text)))
                value_add(&c->mem, list, value_text(&c->mem, text));
        }
    if (all)
        freeifaddrs(all);
    if (list->n)
        value_set(&c->mem, body, "addresses", list);
}

static int facts_put(struct cli *c, struct value *body, struct err *e)
{
    struct value *facts = value_map(&c->mem);
    const struct value *told = facts, *more;
    const char *file = cli_option(c, "facts");
    struct utsname u;
    struct sysinfo info;
    if (uname(&u) == 0) {
        value_put_text(&c->mem, facts, "hostname", u.nodename);
        value_put_text(&c->mem, facts, "kernel", u.release);
        value_put_text(&c->mem, facts, "architecture", u.machine);
    }
    if (sysinfo(&info) == 0)
        value_put_int(&c->mem, facts, "memory_mb",
                      (int64_t)((uint64_t)info.totalram * info.mem_unit >> 20));
    value_put_int(&c->mem, facts, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    if (file) {
        int rc = cli_read_data(c, file, &more, e);
        if (rc)
            return rc;
        told = value_merge(&c->mem, facts, more);
    }
    value_set(&c->mem, body, "facts", told);
    return 0;
}

int cmd_node_announce(struct cli *c, struct err *e)
{
    struct value *body = value_map(&c->mem);
    const struct value *v;
    int rc = id_put(c, body, "machine_id", "machine-id", "/etc/machine-id", e);
    if (!rc)
        rc = id_put(c, body, "boot_id", "boot-id", "/proc/sys/kernel/random/boot_id", e);
    if (!rc)
        rc = facts_put(c, body, e);
    if (rc)
        return rc;
    if (c->line.args.n)
        value_put_text(&c->mem, body, "name", cli_arg(c, 0));
    addresses_put(c, body);
    if ((rc = cli_send(c, "POST", "/v1/announce", body, &v, e)))
        return rc;
    cli_done(c, v, "name", "this machine is node %s%s", value_as_text(value_get(v, "name"), "?"),
             value_as_bool(value_get(v, "new"), false) ? ", which is new" : "");
    return 0;
}
