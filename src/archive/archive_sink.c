/* archive_sink.c - bytes into a file, in blocks, sealed on their way if so asked
 *
 * The digest is of what was handed to the file.  Whoever reads the file back compares it with what
 * the disk has then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "base/alloc.h"

struct archive_sink {
    int fd;
    char *path;
    bool sealed;
    struct archive_seal seal;
    struct digest_state sum;
    size_t n; /* in block */
    uint8_t block[ARCHIVE_SEAL_PLAIN];
    uint8_t out[ARCHIVE_SEAL_BLOCK];
};

struct archive_sink *archive_sink_new(int fd, const char *path)
{
    struct archive_sink *s = xcalloc(1, sizeof *s);
    s->fd = fd;
    s->path = xstrdup(path);
    digest_begin(&s->sum);
    return s;
}

void archive_sink_free(struct archive_sink *s)
{
    if (!s)
        return;
    close(s->fd);
    archive_seal_wipe(&s->seal);
    explicit_bzero(s->block, sizeof s->block); /* keys went through it */
    free(s->path);
    free(s);
}

static int sink_fail(const struct archive_sink *s, const char *doing, struct err *e)
{
    int sys = errno;
    enum errcode code = sys == ENOSPC || sys == EDQUOT ? ERR_DISK_FULL : ERR_IO;
    return err_sys(e, code, sys, "cannot %s %s", doing, s->path);
}

static int out_write(struct archive_sink *s, const uint8_t *bytes, size_t n, struct err *e)
{
    digest_add(&s->sum, bytes, n);
    while (n > 0) {
        ssize_t put = write(s->fd, bytes, n);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return sink_fail(s, "write", e);
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

int archive_sink_seal(struct archive_sink *s, struct str passphrase, struct err *e)
{
    uint8_t head[ARCHIVE_SEAL_HEAD];
    int rc = archive_seal_begin(&s->seal, passphrase, head, e);
    s->sealed = true;
    return rc < 0 ? rc : out_write(s, head, sizeof head, e);
}

static int block_write(struct archive_sink *s, bool last, struct err *e)
{
    size_t n = s->n;
    s->n = 0;
    if (!s->sealed)
        return out_write(s, s->block, n, e);
    archive_seal_put(&s->seal, s->block, n, last, s->out);
    return out_write(s, s->out, n + ARCHIVE_SEAL_MORE, e);
}

int archive_sink_put(struct archive_sink *s, const void *bytes, size_t n, struct err *e)
{
    const uint8_t *from = bytes;
    int rc = 0;
    while (n > 0 && rc == 0) {
        /* Full blocks leave when more comes, so that the last one is never empty. */
        if (s->n == sizeof s->block && (rc = block_write(s, false, e)) < 0)
            break;
        size_t some = sizeof s->block - s->n < n ? sizeof s->block - s->n : n;
        memcpy(s->block + s->n, from, some);
        s->n += some;
        from += some;
        n -= some;
    }
    return rc;
}

int archive_sink_end(struct archive_sink *s, struct digest *ret_digest, struct err *e)
{
    int rc = block_write(s, true, e);
    if (rc == 0 && fsync(s->fd) < 0)
        rc = sink_fail(s, "sync", e);
    if (rc < 0)
        return rc;
    /* Whoever reads it back shall read the disk and not our memory of it. */
    (void)posix_fadvise(s->fd, 0, 0, POSIX_FADV_DONTNEED);
    *ret_digest = digest_end(&s->sum);
    return 0;
}
