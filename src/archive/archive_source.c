/* archive_source.c - the bytes of an archive, as they were before they were sealed */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "base/alloc.h"

struct archive_source {
    int fd;
    char *path;
    uint64_t size, bytes; /* of the file, and read of it */
    bool sealed, last;    /* the block that is here is the last */
    struct archive_seal seal;
    struct digest_state sum;
    size_t at, n; /* in block */
    uint8_t block[ARCHIVE_SEAL_PLAIN];
    uint8_t raw[ARCHIVE_SEAL_BLOCK];
};

void archive_source_free(struct archive_source *s)
{
    if (!s)
        return;
    close(s->fd);
    archive_seal_wipe(&s->seal);
    explicit_bzero(s->block, sizeof s->block);
    free(s->path);
    free(s);
}

uint64_t archive_source_size(const struct archive_source *s)
{
    return s->size;
}

uint64_t archive_source_bytes(const struct archive_source *s)
{
    return s->bytes;
}

const char *archive_source_path(const struct archive_source *s)
{
    return s->path;
}

struct digest archive_source_digest(struct archive_source *s)
{
    return digest_end(&s->sum);
}

static int cut_off(const struct archive_source *s, struct err *e)
{
    err_set(e, ERR_CORRUPT, "the archive was cut off: it ends after %" PRIu64 " bytes", s->bytes);
    err_at(e, "%s", s->path);
    return err_hint(e, "take another backup: nothing was changed");
}

/* Up to n bytes of the file; fewer at its end. */
static int raw_read(struct archive_source *s, uint8_t *bytes, size_t n, size_t *ret_n,
                    struct err *e)
{
    size_t got = 0;
    while (got < n) {
        ssize_t r = read(s->fd, bytes + got, n - got);
        if (r < 0 && errno == EINTR)
            continue;
        if (r < 0)
            return err_sys(e, ERR_IO, errno, "cannot read %s", s->path);
        if (r == 0)
            break;
        got += (size_t)r;
    }
    digest_add(&s->sum, bytes, got);
    s->bytes += got;
    *ret_n = got;
    return 0;
}

/* The next block, opened.  The first one that does not open most likely has another passphrase. */
static int sealed_fill(struct archive_source *s, struct err *e)
{
    bool first = s->bytes == ARCHIVE_SEAL_HEAD;
    uint64_t from = s->bytes;
    size_t got;
    if (s->last) {
        s->n = 0;
        return 0;
    }
    int rc = raw_read(s, s->raw, ARCHIVE_SEAL_BLOCK, &got, e);
    if (rc < 0)
        return rc;
    if (got == 0)
        return cut_off(s, e);
    if (!archive_seal_get(&s->seal, s->raw, got, s->block, &s->last)) {
        if (got < ARCHIVE_SEAL_BLOCK && !first)
            return cut_off(s, e);
        err_set(e, ERR_CORRUPT, "the sealed archive does not open from byte %" PRIu64 " on", from);
        err_at(e, "%s", s->path);
        return err_hint(e, first ? "is this the passphrase that it was made with?"
                                 : "it is damaged: take another backup");
    }
    s->n = got - ARCHIVE_SEAL_MORE;
    return 0;
}

static int fill(struct archive_source *s, struct err *e)
{
    s->at = 0;
    return s->sealed ? sealed_fill(s, e) : raw_read(s, s->block, sizeof s->block, &s->n, e);
}

int archive_source_get(struct archive_source *s, void *bytes, size_t n, struct err *e)
{
    uint8_t *to = bytes;
    while (n > 0) {
        if (s->at == s->n) {
            int rc = fill(s, e);
            if (rc < 0)
                return rc;
            if (s->n == 0)
                return cut_off(s, e);
        }
        size_t some = s->n - s->at < n ? s->n - s->at : n;
        memcpy(to, s->block + s->at, some);
        s->at += some;
        to += some;
        n -= some;
    }
    return 0;
}

int archive_source_end(struct archive_source *s, struct err *e)
{
    uint8_t one;
    size_t got = 0;
    int rc = s->at < s->n ? 0 : fill(s, e);
    bool more = rc == 0 && s->at < s->n;
    if (rc == 0 && !more && s->sealed) {
        rc = raw_read(s, &one, 1, &got, e);
        more = got > 0;
    }
    if (rc < 0 || !more)
        return rc;
    err_set(e, ERR_CORRUPT, "something follows behind the end of the archive");
    err_at(e, "%s", s->path);
    return err_hint(e, "take another backup: nothing was changed");
}

static int passphrase_fits(const struct archive_source *s, struct str passphrase, struct err *e)
{
    if (s->sealed == (passphrase.n > 0))
        return 0;
    err_set(e, ERR_REFUSED,
            s->sealed ? "the archive is sealed with a passphrase"
                      : "the archive is not sealed, and a passphrase was given");
    err_at(e, "%s", s->path);
    return err_hint(e, s->sealed ? "name a file that holds it: --passphrase-file FILE"
                                 : "is it the right archive? if so, leave the passphrase out");
}

int archive_source_new(int fd, const char *path, struct str passphrase,
                       struct archive_source **ret_s, struct err *e)
{
    struct archive_source *s = xcalloc(1, sizeof *s);
    struct stat st;
    s->fd = fd;
    s->path = xstrdup(path);
    digest_begin(&s->sum);
    int rc = fstat(fd, &st) == 0 ? 0 : err_sys(e, ERR_IO, errno, "cannot look at %s", path);
    if (rc == 0 && !S_ISREG(st.st_mode))
        rc = err_set(e, ERR_INVALID, "%s is not a regular file", path);
    if (rc == 0) {
        s->size = (uint64_t)st.st_size;
        rc = raw_read(s, s->block, ARCHIVE_SEAL_HEAD, &s->n, e);
    }
    if (rc == 0) {
        s->sealed = archive_seal_marked(s->block, s->n);
        rc = passphrase_fits(s, passphrase, e);
    }
    if (rc == 0 && s->sealed) {
        rc = s->n < ARCHIVE_SEAL_HEAD ? cut_off(s, e)
                                      : archive_seal_open(&s->seal, passphrase, s->block, e);
        s->n = 0;
    }
    if (rc < 0)
        archive_source_free(s);
    else
        *ret_s = s;
    return rc;
}
