/* host_boot.c - the first process of a host, until it is inside
 *
 * Runs in new namespaces, with the owner's memory copied.  The order matters: it asks to die with
 * its owner before it waits for it, mounts while it can still see the machine, and drops the
 * machine's root before anything of the host is started.
 *
 * Kernel settings that are not the host's own are read-only inside; those of its network are not.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/str.h"
#include "host/host_i.h"

struct device {
    const char *path;
    unsigned major, minor;
};
static const struct device devices[] = {{"dev/null", 1, 3},    {"dev/zero", 1, 5},
                                        {"dev/full", 1, 7},    {"dev/random", 1, 8},
                                        {"dev/urandom", 1, 9}, {"dev/tty", 5, 0}};
static const char *const links[][2] = {{"pts/ptmx", "dev/ptmx"},
                                       {"/proc/self/fd", "dev/fd"},
                                       {"/proc/self/fd/0", "dev/stdin"},
                                       {"/proc/self/fd/1", "dev/stdout"},
                                       {"/proc/self/fd/2", "dev/stderr"}};

static int do_mount(const char *from, const char *at, const char *type, unsigned long flags,
                    const char *data, struct err *e)
{
    if (mount(from, at, type, flags, data) == 0)
        return 0;
    return err_sys(e, ERR_IO, errno, "cannot mount %s in the host", at);
}

static int make_devices(struct err *e)
{
    int r = do_mount("dev", "dev", "tmpfs", MS_NOSUID, "mode=755,size=256m", e);
    for (size_t i = 0; r == 0 && i < sizeof devices / sizeof *devices; i++) {
        const struct device *d = &devices[i];
        if (mknod(d->path, S_IFCHR, makedev(d->major, d->minor)) < 0 || chmod(d->path, 0666) < 0)
            r = err_sys(e, ERR_IO, errno, "cannot make /%s", d->path);
    }
    for (size_t i = 0; r == 0 && i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], links[i][1]) < 0)
            r = err_sys(e, ERR_IO, errno, "cannot make /%s", links[i][1]);
    if (r == 0)
        r = host_file_mkdir("dev/shm", 01777, e);
    if (r == 0)
        r = host_file_mkdir("dev/pts", 0755, e);
    return r < 0 ? r
                 : do_mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                            "newinstance,ptmxmode=0666,mode=620", e);
}

/* A mount of the path onto itself, which flags can then be set on. */
static int mount_again(const char *path, unsigned long flags, struct err *e)
{
    int r = do_mount(path, path, NULL, MS_BIND, NULL, e);
    return r < 0 || !flags ? r : do_mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | flags, NULL, e);
}

static int make_kernel(const char *boot_id, struct err *e)
{
    char line[HOST_UUID_BYTES + 1];
    int r = do_mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, e);
    if (r == 0)
        r = mount_again("proc/sys", 0, e);
    if (r == 0)
        r = mount_again("proc/sys/net", 0, e);
    if (r == 0)
        r = do_mount(NULL, "proc/sys", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL, e);
    if (r == 0 && access("proc/sysrq-trigger", F_OK) == 0)
        r = mount_again("proc/sysrq-trigger", MS_RDONLY, e);
    snprintf(line, sizeof line, "%s\n", boot_id);
    if (r == 0)
        r = host_file_put("run/anneal-host", "boot_id", line, 0444, e);
    if (r == 0)
        r = do_mount("run/anneal-host/boot_id", "proc/sys/kernel/random/boot_id", NULL, MS_BIND,
                     NULL, e);
    return r < 0 ? r
                 : do_mount("sysfs", "sys", "sysfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                            NULL, e);
}

static int make_run(struct err *e)
{
    static const struct {
        const char *path;
        mode_t mode;
    } dirs[] = {{"run/sshd", 0755},
                {"run/lock", 01777},
                {"run/anneal-host", 0755},
                {"run/anneal-host/units", 0755},
                {"run/anneal-host/notify", 0755}};
    int r = do_mount("run", "run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=64m", e);
    for (size_t i = 0; r == 0 && i < sizeof dirs / sizeof *dirs; i++)
        r = host_file_mkdir(dirs[i].path, dirs[i].mode, e);
    return r;
}

/* Our own program, wherever on the machine it is. */
static int make_program(struct err *e)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0)
        return err_sys(e, ERR_IO, errno, "cannot tell where anneal-host is");
    path[n] = '\0';
    int r = do_mount(path, HOST_PROGRAM_PATH + 1, NULL, MS_BIND, NULL, e);
    return r < 0 ? r
                 : do_mount(NULL, HOST_PROGRAM_PATH + 1, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY,
                            NULL, e);
}

static int leave_machine(struct err *e)
{
    /* The old root ends up on top of the new one, and is taken off from there. */
    if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(e, ERR_IO, errno, "cannot change the root");
    return 0;
}

static int make_network(const struct host_boot *b, struct err *e)
{
    char go;
    int fd = host_link_open(e), r = fd < 0 ? fd : host_link_set(fd, "lo", true, e);
    if (r == 0 && read(b->go_fd, &go, 1) != 1)
        r = err_set(e, ERR_FAILED, "the owner of the host is gone");
    if (r == 0)
        r = host_link_quiet(fd, "eth0", e);
    if (r == 0)
        r = host_link_add_address(fd, "eth0", &b->o->address, e);
    if (r == 0)
        r = host_link_set(fd, "eth0", true, e);
    if (r == 0 && b->o->gateway)
        r = host_link_add_gateway(fd, b->o->gateway, e);
    if (fd >= 0)
        close(fd);
    return r;
}

int host_boot_enter(const struct host_boot *b, struct err *e)
{
    SCOPED_BUF(root);
    buf_printf(&root, "%s/root", b->o->dir);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_NAME, "host-init");
    (void)setsid();
    (void)umask(022);
    if (chdir(root.data) < 0 || sethostname(b->o->name, strlen(b->o->name)) < 0)
        return err_sys(e, ERR_IO, errno, "cannot enter %s", root.data);
    int r = make_run(e);
    if (r == 0)
        r = make_devices(e);
    if (r == 0)
        r = make_kernel(b->boot_id, e);
    if (r == 0)
        r = make_program(e);
    if (r == 0)
        r = leave_machine(e);
    return r < 0 ? r : make_network(b, e);
}
