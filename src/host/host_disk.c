/* host_disk.c - the file system of a host: this machine's, with everything written kept apart
 *
 * An overlay over the machine's root, so that installed programs are there, with an upper layer of
 * the host's own.  It is mounted once, in the owner's mount namespace: a boot of the host enters
 * the same mount, and the end of the owner ends it.
 *
 * Seen of the machine are programs, packages and configuration (the list kept_dirs).  Other
 * directories of the root are there but empty, other files are not: a host must not see the homes,
 * the sources or the other hosts of its machine.
 *
 * A disk that is new gets what an installation would give it: names, machine id, keys, sshd's
 * configuration.  The file /etc/anneal-host/filled is written last and says so.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/str.h"
#include "host/host_i.h"
#include "sys/fs.h"

enum { FILE_LIMIT = 1 << 20 };
static const char *const kept_dirs[] = {"bin",    "boot", "etc",  "lib", "lib32", "lib64",
                                        "libx32", "opt",  "sbin", "usr", "var"};
/* Not part of the overlay where the machine has them as mounts of their own. */
static const char *const own_mounts[] = {"etc", "opt", "usr", "var"};
static const char *const client_names[] = {"systemctl", "service-run", "reboot", "poweroff",
                                           "shutdown"};
static const char sshd_config[] = "Port 22\n"
                                  "AddressFamily inet\n"
                                  "HostKey /etc/ssh/ssh_host_ed25519_key\n"
                                  "PermitRootLogin prohibit-password\n"
                                  "PasswordAuthentication no\n"
                                  "KbdInteractiveAuthentication no\n"
                                  "UsePAM no\n"
                                  "UseDNS no\n"
                                  "MaxStartups 1000\n"
                                  "MaxSessions 1000\n"
                                  "PrintMotd no\n"
                                  "PrintLastLog no\n"
                                  "LogLevel ERROR\n"
                                  "PidFile /run/sshd.pid\n"
                                  "AcceptEnv LANG LC_*\n"
                                  "Subsystem sftp /usr/lib/openssh/sftp-server\n";

static bool is_kept(const char *name)
{
    for (size_t i = 0; i < sizeof kept_dirs / sizeof *kept_dirs; i++)
        if (strcmp(name, kept_dirs[i]) == 0)
            return true;
    return false;
}

/* A directory of the upper layer through which nothing of the machine's is seen. */
static int hide_dir(const char *upper, const char *name, mode_t mode, struct err *e)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/%s", upper, name);
    int r = host_file_mkdir(path.data, mode, e);
    if (r < 0)
        return r;
    if (setxattr(path.data, "trusted.overlay.opaque", "y", 1, 0) < 0)
        return err_sys(e, ERR_IO, errno, "cannot hide /%s from the host", name);
    return 0;
}

static int hide_entry(const char *upper, const char *name, struct err *e)
{
    SCOPED_BUF(path);
    struct stat st;
    buf_printf(&path, "/%s", name);
    if (lstat(path.data, &st) < 0 || S_ISLNK(st.st_mode) || is_kept(name))
        return 0;
    if (S_ISDIR(st.st_mode))
        return hide_dir(upper, name, st.st_mode & 07777, e);
    buf_clear(&path);
    buf_printf(&path, "%s/%s", upper, name);
    if (mknod(path.data, S_IFCHR, makedev(0, 0)) < 0 && errno != EEXIST)
        return err_sys(e, ERR_IO, errno, "cannot hide /%s from the host", name);
    return 0;
}

/* DIR itself, where it is below a directory that is kept: its parents are made in the upper layer
 * as they are on the machine. */
static int hide_own(const char *upper, const char *dir, struct err *e)
{
    SCOPED_BUF(real);
    SCOPED_BUF(made);
    struct stat st;
    size_t first = strcspn(dir + 1, "/");
    buf_put(&made, dir + 1, first);
    if (!is_kept(made.data))
        return 0;
    for (const char *end = dir + 1 + first;; end += 1 + strcspn(end + 1, "/")) {
        buf_clear(&real);
        buf_put(&real, dir, (size_t)(end - dir));
        if (!*end)
            return hide_dir(upper, real.data + 1, 0700, e);
        buf_clear(&made);
        buf_printf(&made, "%s%s", upper, real.data);
        if (lstat(real.data, &st) < 0 || host_file_mkdir(made.data, st.st_mode & 07777, e) < 0 ||
            chown(made.data, st.st_uid, st.st_gid) < 0)
            return err_sys(e, ERR_IO, errno, "cannot hide %s from the host", dir);
    }
}

static int upper_fill(const char *upper, const char *dir, struct err *e)
{
    DIR *root = opendir("/");
    int r = root ? 0 : err_sys(e, ERR_IO, errno, "cannot read /");
    for (struct dirent *d; r == 0 && (d = readdir(root));)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
            r = hide_entry(upper, d->d_name, e);
    if (root)
        closedir(root);
    SCOPED_BUF(path);
    buf_printf(&path, "%s/var", upper);
    if (r == 0)
        r = host_file_mkdir(path.data, 0755, e);
    if (r == 0)
        r = hide_dir(upper, "var/tmp", 01777, e);
    return r < 0 ? r : hide_own(upper, dir, e);
}

static int overlay_mount(const char *disk, const char *part, const char *lower, const char *at,
                         struct err *e)
{
    SCOPED_BUF(data);
    buf_printf(&data, "lowerdir=%s,upperdir=%s/upper%s,workdir=%s/work%s", lower, disk, part, disk,
               part);
    if (mount("anneal-host", at, "overlay", 0, data.data) == 0)
        return 0;
    int r = err_sys(e, ERR_IO, errno, "cannot mount an overlay over %s", lower);
    if (e && e->sys == ENODEV)
        err_hint(e, "the kernel has no overlayfs: load the module overlay");
    else
        err_hint(e, "the file system of %s may not take upper layers: try --disk memory", disk);
    return r;
}

/* /usr and the like that are file systems of their own are not seen through the root's overlay. */
static int overlay_rest(const char *disk, const char *root, struct err *e)
{
    struct stat top, st;
    int r = stat("/", &top) < 0 ? err_sys(e, ERR_IO, errno, "cannot look at /") : 0;
    for (size_t i = 0; r == 0 && i < sizeof own_mounts / sizeof *own_mounts; i++) {
        SCOPED_BUF(lower);
        SCOPED_BUF(at);
        SCOPED_BUF(part);
        SCOPED_BUF(path);
        buf_printf(&lower, "/%s", own_mounts[i]);
        if (lstat(lower.data, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_dev == top.st_dev)
            continue;
        buf_printf(&at, "%s/%s", root, own_mounts[i]);
        buf_printf(&part, "-%s", own_mounts[i]);
        buf_printf(&path, "%s/upper%s", disk, part.data);
        r = host_file_mkdir(path.data, st.st_mode & 07777, e);
        buf_clear(&path);
        buf_printf(&path, "%s/work%s", disk, part.data);
        if (r == 0)
            r = host_file_mkdir(path.data, 0700, e);
        if (r == 0)
            r = overlay_mount(disk, part.data, lower.data, at.data, e);
    }
    return r;
}

static int disk_prepare(const struct host_options *o, const char *disk, bool *ret_new,
                        struct err *e)
{
    SCOPED_BUF(path);
    int r = host_file_mkdir(disk, 0700, e);
    if (r == 0 && o->disk == HOST_DISK_MEMORY) {
        SCOPED_BUF(data);
        buf_printf(&data, "size=%s,mode=700", o->size);
        if (mount("anneal-host", disk, "tmpfs", MS_NODEV, data.data) < 0)
            r = err_sys(e, ERR_IO, errno, "cannot mount %s of memory", o->size);
    }
    buf_printf(&path, "%s/work", disk);
    if (r == 0)
        r = host_file_mkdir(path.data, 0700, e);
    buf_clear(&path);
    buf_printf(&path, "%s/upper", disk);
    if (r == 0)
        r = host_file_mkdir(path.data, 0755, e);
    buf_clear(&path);
    buf_printf(&path, "%s/made", disk);
    bool is_new = !fs_exists(path.data);
    if (r == 0)
        *ret_new = is_new;
    return r;
}

int host_disk_mount(const struct host_options *o, struct err *e)
{
    SCOPED_BUF(disk);
    SCOPED_BUF(upper);
    SCOPED_BUF(root);
    bool is_new = false;
    if (strpbrk(o->dir, ",:\\")) /* they mean something in the options of an overlay */
        return err_set(e, ERR_INVALID, "the path %s must not have , : or \\ in it", o->dir);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_sys(e, ERR_FORBIDDEN, errno, "cannot have a mount namespace");
    buf_printf(&disk, "%s/disk", o->dir);
    buf_printf(&upper, "%s/upper", disk.data);
    buf_printf(&root, "%s/root", o->dir);
    int r = disk_prepare(o, disk.data, &is_new, e);
    if (r == 0 && is_new)
        r = upper_fill(upper.data, o->dir, e);
    if (r == 0 && is_new) /* only now: a disk that was made by half is made again */
        r = host_file_put(disk.data, "made", "", 0444, e);
    if (r == 0)
        r = host_file_mkdir(root.data, 0755, e);
    if (r == 0)
        r = overlay_mount(disk.data, "", "/", root.data, e);
    return r < 0 ? r : overlay_rest(disk.data, root.data, e);
}

/* ---- what an installation would write; paths are relative to the host's root, our cwd ---- */

static int put_names(const struct host_options *o, struct err *e)
{
    SCOPED_BUF(text);
    SCOPED_BUF(more);
    char ip[HOST_ADDRESS_BYTES], id[HOST_UUID_BYTES];
    host_address_show(o->address.ip, ip);
    if (o->hosts_path) {
        int r = fs_read(o->hosts_path, FILE_LIMIT, &more, e);
        if (r < 0)
            return r;
    }
    buf_printf(&text, "127.0.0.1 localhost\n%s %s\n%s", ip, o->name, buf_str(&more).s);
    int r = host_file_put("etc", "hosts", text.data, 0644, e);
    buf_clear(&text);
    buf_printf(&text, "%s\n", o->name);
    if (r == 0)
        r = host_file_put("etc", "hostname", text.data, 0644, e);
    if (r == 0)
        r = host_file_uuid(false, id, e);
    buf_clear(&text);
    buf_printf(&text, "%s\n", id);
    return r < 0 ? r : host_file_put("etc", "machine-id", text.data, 0444, e);
}

/* Without PAM sshd refuses accounts whose password begins with "!"; "*" only means that there is
 * none. */
static int unlock_root(struct err *e)
{
    SCOPED_BUF(old);
    SCOPED_BUF(text);
    int r = fs_read("etc/shadow", FILE_LIMIT, &old, e);
    if (r < 0)
        return r;
    const char *line = strncmp(buf_str(&old).s, "root:", 5) == 0 ? old.data : NULL;
    if (!line && (line = strstr(buf_str(&old).s, "\nroot:")))
        line++;
    if (!line)
        return err_set(e, ERR_INVALID, "/etc/shadow does not know root");
    const char *password = line + 5, *rest = password + strcspn(password, ":\n");
    buf_put(&text, old.data, (size_t)(password - old.data));
    buf_putc(&text, '*');
    buf_puts(&text, rest);
    return host_file_put("etc", "shadow", text.data, 0640, e);
}

static int run_keygen(struct err *e)
{
    pid_t pid = vfork();
    int status;
    if (pid == 0) {
        execl("/usr/bin/ssh-keygen", "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f",
              "etc/ssh/ssh_host_ed25519_key", (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return err_sys(e, ERR_IO, errno, "cannot run ssh-keygen");
    return status == 0 ? 0 : err_set(e, ERR_FAILED, "ssh-keygen made no host key");
}

static int put_ssh(const struct host_options *o, struct err *e)
{
    DIR *d = opendir("etc/ssh");
    int r = d ? 0 : err_sys(e, ERR_NOT_FOUND, errno, "no /etc/ssh: is openssh-server installed?");
    for (struct dirent *f; r == 0 && (f = readdir(d));)
        if (strncmp(f->d_name, "ssh_host_", 9) == 0 && unlinkat(dirfd(d), f->d_name, 0) < 0)
            r = err_sys(e, ERR_IO, errno, "cannot remove the machine's %s", f->d_name);
    if (d)
        closedir(d);
    if (r == 0)
        r = host_file_put("etc/ssh", "sshd_config", sshd_config, 0644, e);
    if (r == 0)
        r = run_keygen(e);
    if (r == 0)
        r = host_file_mkdir("root/.ssh", 0700, e);
    if (r == 0)
        r = host_file_copy(o->keys_path, "root/.ssh/authorized_keys", 0600, e);
    return r;
}

/* The names under which the host finds this program; the program itself is mounted at each boot. */
static int put_clients(struct err *e)
{
    int r = host_file_mkdir("usr/local/libexec", 0755, e);
    if (r == 0)
        r = host_file_put("usr/local/libexec", "anneal-host", "", 0755, e);
    for (size_t i = 0; r == 0 && i < sizeof client_names / sizeof *client_names; i++) {
        SCOPED_BUF(path);
        buf_printf(&path, "usr/local/sbin/%s", client_names[i]);
        (void)unlink(path.data);
        if (symlink(HOST_PROGRAM_PATH, path.data) < 0)
            r = err_sys(e, ERR_IO, errno, "cannot make %s", path.data);
    }
    if (r == 0)
        r = host_file_mkdir("etc/anneal-host", 0755, e);
    return r < 0 ? r : host_file_mkdir("etc/anneal-host/enabled", 0755, e);
}

int host_disk_fill(const struct host_options *o, struct err *e)
{
    SCOPED_BUF(path);
    int r = 0, back = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    buf_printf(&path, "%s/root", o->dir);
    if (back < 0 || chdir(path.data) < 0)
        r = err_sys(e, ERR_IO, errno, "cannot enter %s", path.data);
    if (r == 0 && !fs_exists("etc/anneal-host/filled")) {
        r = put_names(o, e);
        if (r == 0)
            r = unlock_root(e);
        if (r == 0)
            r = put_ssh(o, e);
        if (r == 0)
            r = put_clients(e);
        if (r == 0)
            r = host_file_put("etc/anneal-host", "filled", "", 0444, e);
    }
    buf_clear(&path);
    buf_printf(&path, "%s/host_key.pub", o->dir);
    if (r == 0)
        r = host_file_copy("etc/ssh/ssh_host_ed25519_key.pub", path.data, 0644, e);
    if (back >= 0) {
        if (fchdir(back) < 0 && r == 0)
            r = err_sys(e, ERR_IO, errno, "cannot return to our directory");
        close(back);
    }
    return r;
}
