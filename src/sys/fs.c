/* fs.c - files read and written whole, locks, directories
 *
 * Every descriptor is close-on-exec.  Errors name the path and the step that failed; a full disk
 * has a code of its own, since the service must stop rather than retry.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

enum { READ_STEP = 64 * 1024, PID_TEXT = 24 };

static int fs_fail(struct err *e, const char *what, const char *path)
{
    int sys = errno;
    enum errcode code = sys == ENOENT || sys == ENOTDIR                 ? ERR_NOT_FOUND
                        : sys == EACCES || sys == EPERM || sys == EROFS ? ERR_FORBIDDEN
                        : sys == ENOSPC || sys == EDQUOT                ? ERR_DISK_FULL
                                                                        : ERR_IO;
    return err_sys(e, code, sys, "cannot %s %s", what, path);
}

char *fs_join(const char *dir, const char *name)
{
    struct buf b = {0};
    buf_puts(&b, dir);
    if (b.len && b.data[b.len - 1] != '/')
        buf_putc(&b, '/');
    buf_puts(&b, name);
    return buf_take(&b, NULL);
}

bool fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool fs_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static int read_all(int fd, const char *path, size_t max_bytes, struct buf *b, struct err *e)
{
    for (;;) {
        buf_reserve(b, READ_STEP);
        size_t want = max_bytes + 1 -
                      b->len; /* one more than allowed tells too large from just full */
        ssize_t got = read(fd, b->data + b->len, want < READ_STEP ? want : READ_STEP);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fs_fail(e, "read", path);
        if (got == 0)
            break;
        b->len += (size_t)got;
        if (b->len > max_bytes)
            return err_set(e, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, max_bytes);
    }
    b->data[b->len] = '\0';
    return 0;
}

int fs_read(const char *path, size_t max_bytes, struct buf *ret_b, struct err *e)
{
    struct stat st;
    struct buf b = {0};
    /* Non-blocking, or opening a FIFO that nobody writes to would hang before we can refuse it. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), rc;
    if (fd < 0)
        return fs_fail(e, "open", path);
    if (fstat(fd, &st) < 0)
        rc = fs_fail(e, "stat", path);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(e, ERR_INVALID, "%s is not a regular file", path);
    else
        rc = read_all(fd, path, max_bytes, &b, e);
    close(fd);
    if (rc < 0) {
        buf_done(&b);
        return rc;
    }
    buf_done(ret_b);
    *ret_b = b;
    return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t put = write(fd, p, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        p += put;
        n -= (size_t)put;
    }
    return 0;
}

int fs_sync_dir(const char *dir, struct err *e)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 && fsync(fd) == 0 ? 0 : fs_fail(e, "sync", dir);
    if (fd >= 0)
        close(fd);
    return rc;
}

static int sync_dir_of(const char *path, struct err *e)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xstrndup(path, slash == path ? 1 : (size_t)(slash - path)) : xstrdup(".");
    int rc = fs_sync_dir(dir, e);
    free(dir);
    return rc;
}

int fs_name(const char *from, const char *to, struct err *e)
{
    if (link(from, to) == 0)
        (void)unlink(from);
    else if (errno == EEXIST)
        return err_set(e, ERR_EXISTS, "%s is there already", to);
    else if (rename(from, to) < 0) /* not every file system has links */
        return fs_fail(e, "name", to);
    return sync_dir_of(to, e);
}

int fs_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e)
{
    return fs_write_owned(path, p, n, mode, (uid_t)-1, (gid_t)-1, e);
}

int fs_write_owned(const char *path, const void *p, size_t n, mode_t mode, uid_t uid, gid_t gid,
                   struct err *e)
{
    bool owned = uid != (uid_t)-1 || gid != (gid_t)-1;
    struct buf tmp = {0};
    buf_printf(&tmp, "%s.XXXXXX", path); /* beside it: rename does not cross file systems */
    int rc = 0, fd = mkostemp(tmp.data, O_CLOEXEC);
    if (fd < 0) {
        rc = fs_fail(e, "create a file beside", path);
        buf_done(&tmp);
        return rc;
    }
    if (owned && fchown(fd, uid, gid) < 0) /* before the mode: it takes set-id bits away */
        rc = fs_fail(e, "set the owner of", path);
    else if (fchmod(fd, mode) < 0 || write_all(fd, p, n) < 0 || fsync(fd) < 0)
        rc = fs_fail(e, "write", path);
    if (close(fd) < 0 && rc == 0)
        rc = fs_fail(e, "close", path);
    if (rc == 0 && rename(tmp.data, path) < 0)
        rc = fs_fail(e, "replace", path);
    if (rc < 0)
        (void)unlink(tmp.data);
    else
        rc = sync_dir_of(path, e);
    buf_done(&tmp);
    return rc;
}

int fs_mkdirs(const char *path, mode_t mode, struct err *e)
{
    char *p = xstrdup(path);
    int rc = 0;
    for (size_t i = 1; rc == 0 && p[0]; i++) {
        if (p[i] != '/' && p[i] != '\0')
            continue;
        char was = p[i];
        p[i] = '\0';
        if (mkdir(p, mode) < 0 && errno != EEXIST)
            rc = fs_fail(e, "make directory", p);
        p[i] = was;
        if (was == '\0')
            break;
    }
    if (rc == 0 && !fs_is_dir(path)) {
        errno = ENOTDIR;
        rc = fs_fail(e, "make directory", path);
    }
    free(p);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool is_dots(const char *name)
{
    return !strcmp(name, ".") || !strcmp(name, "..");
}

int fs_list(const char *path, char ***ret_names, size_t *ret_n, struct err *e)
{
    VEC(char *) names = {0};
    DIR *d = opendir(path);
    if (!d)
        return fs_fail(e, "list", path);
    errno = 0;
    for (struct dirent *ent; (ent = readdir(d));)
        if (!is_dots(ent->d_name))
            vec_push(&names, xstrdup(ent->d_name));
    int sys = errno;
    closedir(d);
    if (sys) {
        for (size_t i = 0; i < names.n; i++)
            free(names.at[i]);
        vec_done(&names);
        errno = sys;
        return fs_fail(e, "list", path);
    }
    if (names.n)
        qsort(names.at, names.n, sizeof *names.at, by_name);
    *ret_names = names.at;
    *ret_n = names.n;
    return 0;
}

static int lock_busy(int fd, const char *path, struct err *e)
{
    char pid[PID_TEXT];
    ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
    pid[n > 0 ? n : 0] = '\0';
    pid[strcspn(pid, "\n")] = '\0';
    return err_set(e, ERR_BUSY, "%s is locked by process %s", path, pid[0] ? pid : "(unknown)");
}

int fs_lock(const char *path, struct err *e)
{
    char pid[PID_TEXT];
    int rc, fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return fs_fail(e, "open", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        rc = errno == EWOULDBLOCK ? lock_busy(fd, path, e) : fs_fail(e, "lock", path);
    } else {
        int n = snprintf(pid, sizeof pid, "%d\n", (int)getpid());
        if (ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)n, 0) == n)
            return fd;
        rc = fs_fail(e, "write", path);
    }
    close(fd);
    return rc;
}

/* One level of a tree being removed. */
struct tree_level {
    DIR *dir;
    char *name; /* in the level above */
};

/* Removes an entry that is no directory.  1: it is one, opened into *ret_dir. */
static int remove_entry(int at, const char *name, DIR **ret_dir)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
        return 0;
    int why = errno; /* EISDIR on Linux, EPERM by the standard */
    if (why != EISDIR && why != EPERM)
        return -1;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        errno = errno == ENOTDIR ? why : errno;
        return -1;
    }
    (void)fchmod(fd, 0700); /* nothing goes out of a directory that is read-only */
    *ret_dir = fdopendir(fd);
    if (!*ret_dir) {
        close(fd);
        return -1;
    }
    return 1;
}

/* By descriptors, level by level: never through a symbolic link that somebody puts in our way. */
int fs_remove_tree(const char *path, struct err *e)
{
    VEC(struct tree_level) levels = {0};
    DIR *dir = NULL;
    int rc = remove_entry(AT_FDCWD, path, &dir);
    if (rc > 0)
        vec_push(&levels, ((struct tree_level){dir, NULL}));
    while (rc >= 0 && levels.n) {
        struct tree_level *top = &levels.at[levels.n - 1];
        struct dirent *ent = readdir(top->dir);
        if (ent && is_dots(ent->d_name))
            continue;
        if (ent) {
            rc = remove_entry(dirfd(top->dir), ent->d_name, &dir);
            if (rc > 0)
                vec_push(&levels, ((struct tree_level){dir, xstrdup(ent->d_name)}));
            continue;
        }
        struct tree_level gone = *top;
        levels.n--;
        closedir(gone.dir);
        rc = levels.n ? unlinkat(dirfd(levels.at[levels.n - 1].dir), gone.name, AT_REMOVEDIR)
                      : rmdir(path);
        free(gone.name);
    }
    int sys = errno;
    for (size_t i = 0; i < levels.n; i++) {
        closedir(levels.at[i].dir);
        free(levels.at[i].name);
    }
    vec_done(&levels);
    errno = sys;
    return rc < 0 ? fs_fail(e, "remove", path) : 0;
}
