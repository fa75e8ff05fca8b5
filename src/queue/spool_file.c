/* spool_file.c - one file of records: appended at its end, read from its beginning */
/* SPDX-License-Identifier: Apache-2.0 */
#include "queue/spool_file_i.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "sys/fs.h"

enum { RECORD_MAGIC = 0x314c5053, RECORD_MAX = 64 << 20 }; /* "SPL1" */

struct record_head {
    uint32_t magic, n;
    uint64_t digest;
};

/* False: no whole record is there. */
static bool record_read(int fd, uint64_t at, uint64_t end, struct buf *b)
{
    struct record_head h;
    if (at + sizeof h > end || pread(fd, &h, sizeof h, (off_t)at) != (ssize_t)sizeof h ||
        h.magic != RECORD_MAGIC || h.n > RECORD_MAX || at + sizeof h + h.n > end)
        return false;
    buf_clear(b);
    buf_reserve(b, h.n + 1);
    for (size_t got = 0; got < h.n;) {
        ssize_t n = pread(fd, b->data + got, h.n - got, (off_t)(at + sizeof h + got));
        if (n <= 0 && errno != EINTR)
            return false;
        got += n > 0 ? (size_t)n : 0;
    }
    b->len = h.n;
    b->data[b->len] = '\0';
    return digest_64(b->data, b->len) == h.digest;
}

int spool_file_open(struct spool_file *f, const char *dir, const char *name,
                    void (*fn)(void *arg, struct str record), void *arg, struct err *e)
{
    char *path = fs_join(dir, name);
    struct stat st;
    SCOPED_BUF(b);
    *f = (struct spool_file){.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)};
    if (f->fd < 0 || fstat(f->fd, &st) < 0) {
        err_sys(e, ERR_IO, errno, "cannot open %s", path);
        free(path);
        return -ERR_IO;
    }
    while (record_read(f->fd, f->end, (uint64_t)st.st_size, &b)) {
        fn(arg, buf_str(&b));
        f->end += sizeof(struct record_head) + b.len;
    }
    int r = 0;
    if ((uint64_t)st.st_size > f->end && ftruncate(f->fd, (off_t)f->end) < 0)
        r = err_sys(e, ERR_IO, errno, "cannot cut %s", path);
    free(path);
    return r;
}

void spool_file_close(struct spool_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

uint64_t spool_file_size(size_t n)
{
    return sizeof(struct record_head) + n;
}

int spool_file_append(struct spool_file *f, struct str record, struct err *e)
{
    struct record_head h = {RECORD_MAGIC, (uint32_t)record.n, digest_64(record.s, record.n)};
    SCOPED_BUF(b);
    if (record.n > RECORD_MAX)
        return err_set(e, ERR_TOO_LARGE, "a message of %zu bytes is not kept", record.n);
    buf_put(&b, &h, sizeof h);
    buf_put(&b, record.s, record.n);
    for (size_t put = 0; put < b.len;) {
        ssize_t n = pwrite(f->fd, b.data + put, b.len - put, (off_t)(f->end + put));
        if (n < 0 && errno != EINTR) {
            int sys = errno; /* a half record must not be in the way of the next one */
            if (ftruncate(f->fd, (off_t)f->end) < 0)
                sys = errno;
            return err_sys(e, sys == ENOSPC ? ERR_DISK_FULL : ERR_IO, sys, "cannot keep a message");
        }
        put += n > 0 ? (size_t)n : 0;
    }
    f->end += b.len;
    f->dirty = true;
    return 0;
}

int spool_file_sync(struct spool_file *f, struct err *e)
{
    if (!f->dirty)
        return 0;
    if (fdatasync(f->fd) < 0)
        return err_sys(e, ERR_IO, errno, "cannot sync what is kept");
    f->dirty = false;
    return 0;
}

bool spool_file_next(struct spool_file *f, struct buf *b)
{
    if (f->read >= f->end)
        return false;
    if (!record_read(f->fd, f->read, f->end, b)) {
        f->read = f->end; /* the disk has lost it */
        return false;
    }
    f->read += spool_file_size(b->len);
    return true;
}

void spool_file_clear(struct spool_file *f)
{
    if (f->read < f->end || !f->end)
        return;
    if (ftruncate(f->fd, 0) == 0) {
        f->read = f->end = 0;
        f->dirty = true;
    }
}
