/* host_client.c - systemctl, service-run, reboot, poweroff and shutdown, inside a host
 *
 * Thin: init decides.  Which units are started at boot is a directory of names, which this side
 * writes: a name there is enough, since unit files may come and go.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "host/host_i.h"
#include "host/host_unit_i.h"
#include "sys/fs.h"

enum { EXIT_USAGE = 2 };

static const char *const verb_names[] = {
#define X(id, name) name,
    HOST_VERBS(X)
#undef X
};

static const char usage_systemctl[] =
    "usage: systemctl start|stop|restart|reload|status|is-active|enable|disable|is-enabled "
    "UNIT...\n"
    "       systemctl list-units|daemon-reload|reboot|poweroff\n";
static const char usage_service[] = "usage: service-run NAME -- COMMAND...\n";

static int complain(const char *who, const char *text)
{
    fprintf(stderr, "%s: %s\n", who, text);
    return 1;
}

static int ask(enum host_verb verb, const char *unit, struct host_reply *ret_reply)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX, .sun_path = HOST_CONTROL_PATH};
    struct host_request q = {.verb = (uint32_t)verb};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(q.unit, sizeof q.unit, "%s", unit);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0 &&
                send(fd, &q, sizeof q, MSG_NOSIGNAL) == (ssize_t)sizeof q &&
                recv(fd, ret_reply, sizeof *ret_reply, 0) == (ssize_t)sizeof *ret_reply;
    int sys = errno;
    if (fd >= 0)
        close(fd);
    errno = sys;
    return good ? 0 : -1;
}

static int ask_and_say(const char *who, enum host_verb verb, const char *unit, bool quiet)
{
    struct host_reply reply = {0};
    if (ask(verb, unit, &reply) < 0)
        return complain(who, "the host's init does not answer");
    bool told = verb == HOST_VERB_STATUS || verb == HOST_VERB_IS_ACTIVE || verb == HOST_VERB_LIST;
    reply.text[sizeof reply.text - 1] = '\0';
    if (reply.text[0] && !quiet)
        fprintf(told ? stdout : stderr, "%s\n", reply.text);
    return reply.status;
}

/* ---- what is started at boot ---- */

static int set_enabled(const char *unit, bool enabled)
{
    SCOPED_BUF(path);
    struct err e = {0};
    if (enabled)
        return host_file_put(HOST_ENABLED_DIR, unit, "", 0644, &e) < 0
                   ? complain("systemctl", e.text)
                   : 0;
    buf_printf(&path, "%s/%s", HOST_ENABLED_DIR, unit);
    return unlink(path.data) < 0 && errno != ENOENT ? complain("systemctl", strerror(errno)) : 0;
}

static int say_enabled(const char *unit, bool quiet)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/%s", HOST_ENABLED_DIR, unit);
    bool enabled = fs_exists(path.data);
    if (!quiet)
        puts(enabled ? "enabled" : "disabled");
    return enabled ? 0 : 1;
}

/* ---- systemctl ---- */

struct words {
    const char *verb;
    bool quiet, now;
    int units; /* index of the first unit */
};

/* "web.service" is "web", "sshd" is "ssh". */
static int unit_name(const char *word, char ret[HOST_NAME_BYTES])
{
    size_t n = strlen(word), tail = sizeof ".service" - 1;
    if (n > tail && strcmp(word + n - tail, ".service") == 0)
        n -= tail;
    if (n == 0 || n >= HOST_NAME_BYTES)
        return -1;
    memcpy(ret, word, n);
    ret[n] = '\0';
    if (strcmp(ret, "sshd") == 0)
        snprintf(ret, HOST_NAME_BYTES, "ssh");
    return host_unit_is_name(ret) ? 0 : -1;
}

static int one_unit(const struct words *w, const char *unit)
{
    bool enable = strcmp(w->verb, "enable") == 0, disable = strcmp(w->verb, "disable") == 0;
    if (strcmp(w->verb, "is-enabled") == 0)
        return say_enabled(unit, w->quiet);
    if (enable || disable) {
        int status = set_enabled(unit, enable);
        if (status == 0 && w->now)
            status = ask_and_say("systemctl", enable ? HOST_VERB_START : HOST_VERB_STOP, unit,
                                 w->quiet);
        return status;
    }
    for (int v = 0; v < HOST_VERB_COUNT; v++)
        if (strcmp(w->verb, verb_names[v]) == 0)
            return ask_and_say("systemctl", (enum host_verb)v, unit, w->quiet);
    return complain("systemctl", "a host knows no such verb");
}

/* Verbs without a unit; -1: it is not one of them. */
static int whole_host(const struct words *w)
{
    static const enum host_verb verbs[] = {HOST_VERB_LIST, HOST_VERB_REBOOT, HOST_VERB_POWEROFF};
    if (strcmp(w->verb, "daemon-reload") == 0)
        return 0; /* unit files are read at each start */
    if (strcmp(w->verb, "halt") == 0)
        return ask_and_say("systemctl", HOST_VERB_POWEROFF, "", w->quiet);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(w->verb, verb_names[verbs[i]]) == 0)
            return ask_and_say("systemctl", verbs[i], "", w->quiet);
    return -1;
}

/* Options may stand anywhere; those about output and waiting have nothing to change here. */
static int options_take(int argc, char **argv, struct words *w, const char **units, int *n)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--now") == 0)
            w->now = true;
        else if (strcmp(a, "-q") == 0 || strcmp(a, "--quiet") == 0)
            w->quiet = true;
        else if (strcmp(a, "--no-pager") == 0 || strcmp(a, "--force") == 0 ||
                 strcmp(a, "-f") == 0 || strcmp(a, "--system") == 0 || strcmp(a, "--no-wall") == 0)
            continue;
        else if (a[0] == '-')
            return -1;
        else if (!w->verb)
            w->verb = a;
        else
            units[(*n)++] = a;
    }
    return w->verb ? 0 : -1;
}

static int systemctl(int argc, char **argv)
{
    struct words w = {0};
    const char *units[64];
    int n = 0, status = 0;
    if (argc > 64 || options_take(argc, argv, &w, units, &n) < 0) {
        fputs(usage_systemctl, stderr);
        return EXIT_USAGE;
    }
    int whole = n == 0 ? whole_host(&w) : -1;
    if (whole >= 0)
        return whole;
    if (n == 0) {
        fputs(usage_systemctl, stderr);
        return EXIT_USAGE;
    }
    for (int i = 0; i < n; i++) {
        char name[HOST_NAME_BYTES];
        int r = unit_name(units[i], name) < 0 ? complain("systemctl", "no name of a unit")
                                              : one_unit(&w, name);
        status = r ? r : status;
    }
    return status;
}

/* ---- the others ---- */

/* A unit for this boot only, then its start. */
static int service_run(int argc, char **argv)
{
    SCOPED_BUF(text);
    SCOPED_BUF(file);
    char name[HOST_NAME_BYTES];
    struct err e = {0};
    if (argc < 4 || strcmp(argv[2], "--") != 0) {
        fputs(usage_service, stderr);
        return EXIT_USAGE;
    }
    if (unit_name(argv[1], name) < 0)
        return complain("service-run", "no name of a service");
    buf_puts(&text, "[Service]\nExecStart=");
    for (int i = 3; i < argc; i++) {
        host_unit_quote(&text, argv[i]);
        buf_putc(&text, ' ');
    }
    buf_putc(&text, '\n');
    buf_printf(&file, "%s.service", name);
    if (host_file_put(HOST_UNIT_DIR_RUN, file.data, text.data, 0644, &e) < 0)
        return complain("service-run", e.text);
    return ask_and_say("service-run", HOST_VERB_RESTART, name, false);
}

static int shutdown_host(int argc, char **argv)
{
    enum host_verb verb = HOST_VERB_POWEROFF;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "-r") == 0 || strcmp(argv[i], "--reboot") == 0)
            verb = HOST_VERB_REBOOT;
    return ask_and_say("shutdown", verb, "", false);
}

int host_client_main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    if (strcmp(name, "systemctl") == 0)
        return systemctl(argc, argv);
    if (strcmp(name, "service-run") == 0)
        return service_run(argc, argv);
    if (strcmp(name, "reboot") == 0)
        return ask_and_say("reboot", HOST_VERB_REBOOT, "", false);
    if (strcmp(name, "poweroff") == 0)
        return ask_and_say("poweroff", HOST_VERB_POWEROFF, "", false);
    if (strcmp(name, "shutdown") == 0)
        return shutdown_host(argc, argv);
    return complain(name, "a host has no command of this name");
}
