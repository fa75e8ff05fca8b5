/* host.c - the program's face: which of its faces is asked for, and how failures are told
 *
 * Also the cable: "link" runs in whatever namespace its caller is in and goes to the owner's,
 * where the bridge is.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"
#include "host/host_i.h"

enum { EXIT_USAGE = 2 };

/* Whoever runs a host holds its lock: the other files may be what a killed one left. */
static bool is_running(const char *dir)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/lock", dir);
    int fd = open(path.data, O_RDONLY | O_CLOEXEC);
    bool running = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    return running;
}

int host_link_command(const char *dir, bool up, struct err *e)
{
    SCOPED_BUF(path);
    char pid[16], interface[HOST_INTERFACE_BYTES];
    uint64_t number;
    host_file_line(dir, "pid", pid, sizeof pid);
    host_file_line(dir, "interface", interface, sizeof interface);
    if (!is_running(dir) || text_u64(str_of(pid), INT32_MAX, &number, NULL) < 0 || !interface[0])
        return err_set(e, ERR_NOT_FOUND, "no host runs in %s", dir);
    /* First for the boots to come, then for this one: a boot in between sees the new word. */
    int r = host_file_put(dir, "link", up ? "up\n" : "down\n", 0644, e);
    if (r < 0)
        return r;
    buf_printf(&path, "/proc/%s/ns/net", pid);
    int ns = open(path.data, O_RDONLY | O_CLOEXEC);
    if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
        r = err_sys(e, ERR_FORBIDDEN, errno, "cannot enter the network of the host's owner");
    if (ns >= 0)
        close(ns);
    int fd = r < 0 ? r : host_link_open(e);
    if (fd < 0)
        return fd;
    r = host_link_set(fd, interface, up, e);
    close(fd);
    return r;
}

static int fail(const struct err *e)
{
    char text[1024];
    fprintf(stderr, "anneal-host: %s\n", err_format(e, text, sizeof text));
    return err_exit(e->code);
}

static int run(int argc, char **argv)
{
    struct host_options o;
    struct err e = {0};
    if (host_args_run(argc, argv, &o, &e) < 0)
        return fail(&e);
    if (host_run(&o, &e) == 0)
        return 0;
    /* For whoever waits for "ready" on our output. */
    printf("failed %s: %s\n", o.name, e.text);
    fflush(stdout);
    return fail(&e);
}

int host_main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    const char *name = slash ? slash + 1 : argc > 0 ? argv[0] : "";
    struct err e = {0};
    if (strcmp(name, "anneal-host") != 0)
        return host_client_main(argc, argv);
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return run(argc - 2, argv + 2);
    if (argc == 4 && strcmp(argv[1], "link") == 0 &&
        (strcmp(argv[3], "up") == 0 || strcmp(argv[3], "down") == 0))
        return host_link_command(argv[2], strcmp(argv[3], "up") == 0, &e) < 0 ? fail(&e) : 0;
    bool asked = argc == 2 && strcmp(argv[1], "--help") == 0;
    fputs(host_args_help(), asked ? stdout : stderr);
    return asked ? 0 : EXIT_USAGE;
}
