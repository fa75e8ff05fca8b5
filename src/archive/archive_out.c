/* archive_out.c - writing: members, the manifest, the end */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "base/alloc.h"

struct archive_out {
    struct archive_sink *sink;
    char *path;
    uint64_t made_s;
    uint32_t members;
    struct buf manifest;
    archive_watch_f *watch;
    void *watch_arg;
};

static void out_free(struct archive_out *out)
{
    archive_sink_free(out->sink);
    buf_done(&out->manifest);
    free(out->path);
    free(out);
}

void archive_abandon(struct archive_out *out)
{
    if (!out)
        return;
    (void)unlink(out->path);
    out_free(out);
}

void archive_watch(struct archive_out *out, archive_watch_f *fn, void *arg)
{
    out->watch = fn;
    out->watch_arg = arg;
}

int archive_create(const char *path, struct str passphrase, uint64_t made_s,
                   struct archive_out **ret_out, struct err *e)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        int sys = errno;
        enum errcode code = sys == EEXIST                    ? ERR_EXISTS
                            : sys == ENOSPC || sys == EDQUOT ? ERR_DISK_FULL
                                                             : ERR_IO;
        return err_sys(e, code, sys, "cannot make %s", path);
    }
    struct archive_out *out = xcalloc(1, sizeof *out);
    out->path = xstrdup(path);
    out->made_s = made_s;
    out->sink = archive_sink_new(fd, path);
    int rc = 0;
    /* Whoever tidies up knows by the lock which files are left over and which are being written. */
    if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        rc = err_set(e, ERR_BUSY, "%s is being written by somebody else", path);
    if (rc == 0 && passphrase.n)
        rc = archive_sink_seal(out->sink, passphrase, e);
    if (rc < 0)
        archive_abandon(out);
    else
        *ret_out = out;
    return rc;
}

static int member_begin(struct archive_out *out, const char *name, uint64_t bytes, struct err *e)
{
    struct archive_member m = {.bytes = bytes};
    uint8_t block[ARCHIVE_BLOCK];
    assert(archive_name_good(str_of(name))); /* names are ours */
    if (++out->members > ARCHIVE_MEMBERS_MAX)
        return err_set(e, ERR_LIMIT, "an archive has at most %d members", ARCHIVE_MEMBERS_MAX);
    memcpy(m.name, name, strlen(name));
    archive_head_write(block, &m, out->made_s);
    return archive_sink_put(out->sink, block, sizeof block, e);
}

static int member_end(struct archive_out *out, uint64_t bytes, struct err *e)
{
    static const uint8_t zeros[ARCHIVE_BLOCK];
    return archive_sink_put(out->sink, zeros, archive_padding(bytes), e);
}

static void manifest_add(struct archive_out *out, const char *name, const struct digest *d)
{
    char hex[DIGEST_HEX];
    digest_hex(d, hex);
    buf_printf(&out->manifest, "%s  %s\n", hex, name);
}

static int text_put(struct archive_out *out, const char *name, struct str content, struct err *e)
{
    int rc = member_begin(out, name, content.n, e);
    if (rc == 0)
        rc = archive_sink_put(out->sink, content.s, content.n, e);
    return rc < 0 ? rc : member_end(out, content.n, e);
}

int archive_put(struct archive_out *out, const char *name, struct str content, struct err *e)
{
    struct digest d = digest_of(content.s, content.n);
    int rc = text_put(out, name, content, e);
    if (rc == 0)
        manifest_add(out, name, &d);
    return rc;
}

/* The next piece of a member's file: n bytes, or a refusal. */
static int piece_read(int fd, const char *name, uint8_t *bytes, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t r = read(fd, bytes, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_sys(e, ERR_IO, errno, "cannot read %s", name);
        if (r == 0)
            return err_set(e, ERR_IO, "%s became shorter while it was read", name);
        bytes += r;
        n -= (size_t)r;
    }
    return 0;
}

int archive_put_file(struct archive_out *out, const char *name, int fd, uint64_t bytes,
                     struct digest *ret_digest, struct err *e)
{
    struct digest_state sum;
    uint8_t *piece = xcalloc(1, ARCHIVE_PIECE_BYTES);
    int rc = member_begin(out, name, bytes, e);
    digest_begin(&sum);
    for (uint64_t left = bytes; rc == 0 && left > 0;) {
        size_t some = left < ARCHIVE_PIECE_BYTES ? (size_t)left : ARCHIVE_PIECE_BYTES;
        rc = piece_read(fd, name, piece, some, e);
        if (rc == 0) {
            digest_add(&sum, piece, some);
            rc = archive_sink_put(out->sink, piece, some, e);
        }
        if (rc == 0 && out->watch)
            rc = out->watch(out->watch_arg, some, e);
        left -= some;
    }
    explicit_bzero(piece, ARCHIVE_PIECE_BYTES); /* it may have been a key */
    free(piece);
    if (rc == 0)
        rc = member_end(out, bytes, e);
    if (rc < 0)
        return rc;
    *ret_digest = digest_end(&sum);
    manifest_add(out, name, ret_digest);
    return 0;
}

int archive_finish(struct archive_out *out, struct digest *ret_digest, struct err *e)
{
    static const uint8_t end[2 * ARCHIVE_BLOCK];
    int rc = text_put(out, ARCHIVE_MANIFEST, buf_str(&out->manifest), e);
    if (rc == 0)
        rc = archive_sink_put(out->sink, end, sizeof end, e);
    if (rc == 0)
        rc = archive_sink_end(out->sink, ret_digest, e);
    if (rc < 0)
        archive_abandon(out);
    else
        out_free(out);
    return rc;
}
