/* resource_files.c - contents by digest: parts in, whole files out
 *
 * Everything is done at once, on the loop, in bounded pieces: a part is as large as a request, a
 * resumed upload is read RESUME_BYTES at a time.  Writing back is begun with each part, so that the
 * sync at the end has little left to wait for.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/resource_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/map.h"
#include "plugin/plugin_versions.h"
#include "sys/fs.h"

enum {
    RESUME_BYTES = 32 << 20, /* read again in one call */
    READ_STEP = 256 << 10,
    UPLOADS_MOST = 64, /* whose digests are kept at hand; others are read again */
    UNKEPT_S = 3600,
    INCOMING_S = 24 * 3600,
};

struct upload {
    struct digest_state sum; /* of the first `received` bytes */
    uint64_t received;
};
struct resource_files {
    char *dir, *incoming;
    struct strmap uploads; /* digest -> struct upload */
};

static void uploads_forget(struct resource_files *f)
{
    for (size_t i = 0; i < f->uploads.n; i++)
        if (f->uploads.at[i].key)
            free((void *)f->uploads.at[i].val);
    strmap_done(&f->uploads);
    f->uploads = (struct strmap){0};
}

int resource_files_new(const char *data_dir, struct resource_files **ret, struct err *e)
{
    struct resource_files *f = xcalloc(1, sizeof *f);
    f->dir = fs_join(data_dir, "resources");
    f->incoming = fs_join(f->dir, "incoming");
    int rc = fs_mkdirs(f->incoming, 0700, e);
    if (rc < 0)
        resource_files_free(f);
    else
        *ret = f;
    return rc;
}

void resource_files_free(struct resource_files *f)
{
    if (!f)
        return;
    uploads_forget(f);
    free(f->dir);
    free(f->incoming);
    free(f);
}

static int files_fail(struct err *e, const char *what, struct str digest)
{
    int sys = errno;
    enum errcode code = sys == ENOENT                    ? ERR_NOT_FOUND
                        : sys == ENOSPC || sys == EDQUOT ? ERR_DISK_FULL
                                                         : ERR_IO;
    return err_sys(e, code, sys, "cannot %s content %.*s", what, (int)digest.n, digest.s);
}

static int content_open(const char *dir, struct str digest, int flags)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/%.*s", dir, (int)digest.n, digest.s);
    return open(path.data, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static void content_unlink(const char *dir, struct str digest)
{
    SCOPED_BUF(path);
    buf_printf(&path, "%s/%.*s", dir, (int)digest.n, digest.s);
    (void)unlink(path.data);
}

/* --- what is here --- */

bool resource_files_has(struct resource_files *f, struct str digest, uint64_t *ret_size)
{
    SCOPED_BUF(path);
    struct stat st;
    buf_printf(&path, "%s/%.*s", f->dir, (int)digest.n, digest.s);
    if (lstat(path.data, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (ret_size)
        *ret_size = (uint64_t)st.st_size;
    return true;
}

static void upload_drop(struct resource_files *f, struct str digest)
{
    uintptr_t at;
    if (!strmap_get(&f->uploads, digest, &at))
        return;
    (void)strmap_del(&f->uploads, digest);
    free((void *)at);
}

/* Of the file that is open; if that has less than was read of it, it is another one. */
static struct upload *upload_get(struct resource_files *f, struct str digest, int fd)
{
    uintptr_t at;
    struct stat st;
    if (strmap_get(&f->uploads, digest, &at)) {
        struct upload *known = (struct upload *)at;
        if (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= known->received)
            return known;
        upload_drop(f, digest);
    }
    if (f->uploads.live >= UPLOADS_MOST)
        uploads_forget(f);
    struct upload *u = xcalloc(1, sizeof *u);
    digest_begin(&u->sum);
    strmap_put(&f->uploads, digest, (uintptr_t)u);
    return u;
}

/* What an earlier life of the server took in, as far as one call may read. */
static int upload_resume(struct upload *u, int fd, struct str digest, struct err *e)
{
    char *bytes = xcalloc(1, READ_STEP);
    uint64_t until = u->received + RESUME_BYTES;
    ssize_t got = 1;
    while (got > 0 && u->received < until) {
        got = pread(fd, bytes, READ_STEP, (off_t)u->received);
        if (got > 0) {
            digest_add(&u->sum, bytes, (size_t)got);
            u->received += (uint64_t)got;
        }
    }
    free(bytes);
    return got < 0 ? files_fail(e, "read", digest) : 0;
}

int resource_files_look(struct resource_files *f, struct str digest, struct resource_part *ret,
                        struct err *e)
{
    uint64_t size;
    if (resource_files_has(f, digest, &size)) {
        *ret = (struct resource_part){size, true};
        return 0;
    }
    int fd = content_open(f->incoming, digest, O_RDONLY);
    if (fd < 0)
        return files_fail(e, "find", digest);
    struct upload *u = upload_get(f, digest, fd);
    int rc = upload_resume(u, fd, digest, e);
    close(fd);
    if (rc == 0)
        *ret = (struct resource_part){u->received, false};
    return rc;
}

/* --- a part --- */

static int write_at(int fd, uint64_t offset, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = pwrite(fd, bytes.s, bytes.n, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        bytes = (struct str){bytes.s + n, bytes.n - (size_t)n};
        offset += (uint64_t)n;
    }
    return 0;
}

static int dir_sync(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd >= 0 ? fsync(fd) : -1;
    if (fd >= 0)
        close(fd);
    return rc;
}

/* All of it is here: it gets its name, or goes. */
static int upload_end(struct resource_files *f, struct upload *u, int fd, struct str digest,
                      struct err *e)
{
    SCOPED_BUF(from);
    SCOPED_BUF(to);
    struct digest sum = digest_end(&u->sum);
    char hex[DIGEST_HEX];
    digest_hex(&sum, hex);
    upload_drop(f, digest);
    if (!str_is(digest, hex)) {
        content_unlink(f->incoming, digest);
        err_set(e, ERR_REFUSED, "what was uploaded has the digest %s, not %.*s", hex, (int)digest.n,
                digest.s);
        return err_hint(e, "it was changed on its way, or meanwhile: upload it again");
    }
    buf_printf(&from, "%s/%.*s", f->incoming, (int)digest.n, digest.s);
    buf_printf(&to, "%s/%.*s", f->dir, (int)digest.n, digest.s);
    if (fsync(fd) < 0 || rename(from.data, to.data) < 0 || dir_sync(f->dir) < 0)
        return files_fail(e, "keep", digest);
    return 0;
}

static int offset_check(const struct upload *u, uint64_t size, uint64_t offset, struct str bytes,
                        struct err *e)
{
    if (offset != u->received) {
        err_set(e, ERR_CONFLICT, "%" PRIu64 " bytes are here, not %" PRIu64, u->received, offset);
        return err_hint(e, "go on from there; GET tells how far it is");
    }
    if (size < offset || bytes.n > size - offset)
        return err_set(e, ERR_CONFLICT, "that is more than the %" PRIu64 " bytes that were said",
                       size);
    return 0;
}

int resource_files_put(struct resource_files *f, struct str digest, uint64_t size, uint64_t offset,
                       struct str bytes, struct resource_part *ret, struct err *e)
{
    uint64_t whole;
    if (resource_files_has(f, digest, &whole)) {
        *ret = (struct resource_part){whole, true};
        return 0;
    }
    int fd = content_open(f->incoming, digest, O_RDWR | O_CREAT);
    if (fd < 0)
        return files_fail(e, "write", digest);
    struct upload *u = upload_get(f, digest, fd);
    int rc = u->received ? 0 : upload_resume(u, fd, digest, e);
    if (rc == 0)
        rc = offset_check(u, size, offset, bytes, e);
    /* What lies behind was written, but never read again: it comes once more. */
    if (rc == 0 && (ftruncate(fd, (off_t)offset) < 0 || write_at(fd, offset, bytes) < 0)) {
        rc = files_fail(e, "write", digest);
        (void)!ftruncate(fd, (off_t)offset);
    }
    if (rc == 0) {
        digest_add(&u->sum, bytes.s, bytes.n);
        u->received += bytes.n;
        *ret = (struct resource_part){u->received, u->received == size};
        (void)sync_file_range(fd, (off_t)offset, (off_t)bytes.n, SYNC_FILE_RANGE_WRITE);
    }
    if (rc == 0 && u->received == size)
        rc = upload_end(f, u, fd, digest, e);
    close(fd);
    return rc;
}

/* --- out, and away --- */

int resource_files_read(struct resource_files *f, struct str digest, uint64_t offset, size_t max,
                        struct buf *ret, struct err *e)
{
    int fd = content_open(f->dir, digest, O_RDONLY);
    if (fd < 0)
        return files_fail(e, "find", digest);
    buf_reserve(ret, max);
    ssize_t n = pread(fd, ret->data + ret->len, max, (off_t)offset);
    int rc = n < 0 ? files_fail(e, "read", digest) : 0;
    close(fd);
    if (n > 0)
        ret->len += (size_t)n;
    return rc;
}

void resource_files_drop(struct resource_files *f, struct str digest)
{
    content_unlink(f->dir, digest);
}

/* Calls nobody: what is old goes, and names that are none of ours stay. */
static void sweep_dir(struct resource_files *f, const char *dir, int64_t age_s,
                      resource_kept_f *kept, void *arg)
{
    char **names = NULL;
    size_t n = 0;
    struct err e;
    if (fs_list(dir, &names, &n, &e) < 0) {
        log_err(LOG_WARN, "resource.sweep", &e);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        SCOPED_BUF(path);
        struct stat st;
        struct str digest = str_of(names[i]);
        buf_printf(&path, "%s/%s", dir, names[i]);
        if (resource_digest_good(digest) && lstat(path.data, &st) == 0 &&
            (int64_t)time(NULL) - (int64_t)st.st_mtime > age_s && !(kept && kept(arg, digest))) {
            log_line(LOG_INFO, "resource.collected", LOGT("digest", names[i]));
            if (!kept)
                upload_drop(f, digest);
            (void)unlink(path.data);
        }
        free(names[i]);
    }
    free(names);
}

void resource_files_sweep(struct resource_files *f, resource_kept_f *kept, void *arg)
{
    sweep_dir(f, f->dir, UNKEPT_S, kept, arg);
    sweep_dir(f, f->incoming, INCOMING_S, NULL, NULL);
}
