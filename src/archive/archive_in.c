/* archive_in.c - reading: every member once, every byte against its digest, nothing else
 *
 * The digests of members are kept until the manifest comes, which is the last: it must name the
 * same members in the same order.  So a damaged byte is found in the member that has it, and an
 * archive that lacks one, or has one more, is not whole.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/archive_i.h"
#include "base/alloc.h"
#include "base/map.h"

enum { LINE_MAX_BYTES = DIGEST_HEX - 1 + 2 + ARCHIVE_NAME_MAX + 1, SKIP_BYTES = 16 * 1024 };

struct archive_in {
    struct archive_source *source;
    struct strmap names; /* of members -> their place in sums */
    VEC(struct digest) sums;
    struct archive_member now; /* the member that is being read; name "": none */
    uint64_t left;             /* of it */
    struct digest_state sum;
    bool whole;
};

void archive_close(struct archive_in *in)
{
    if (!in)
        return;
    archive_source_free(in->source);
    strmap_done(&in->names);
    vec_done(&in->sums);
    free(in);
}

int archive_open_fd(int fd, const char *path, struct str passphrase, struct archive_in **ret_in,
                    struct err *e)
{
    struct archive_source *source;
    int rc = archive_source_new(fd, path, passphrase, &source, e);
    if (rc < 0)
        return rc;
    *ret_in = xcalloc(1, sizeof **ret_in);
    (*ret_in)->source = source;
    return 0;
}

int archive_open(const char *path, struct str passphrase, struct archive_in **ret_in, struct err *e)
{
    /* Not blocking, or a FIFO that nobody writes to would hang before it is refused. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno, "cannot open %s", path);
    return archive_open_fd(fd, path, passphrase, ret_in, e);
}

uint64_t archive_taken(const struct archive_in *in)
{
    return archive_source_bytes(in->source);
}

struct digest archive_digest(struct archive_in *in)
{
    return archive_source_digest(in->source);
}

static int corrupt(const struct archive_in *in, struct err *e)
{
    err_at(e, "%s", archive_source_path(in->source));
    return err_hint(e, "take another backup: nothing was changed");
}

/* --- one member --- */

/* What fills the last block of a member. */
static int padding_take(struct archive_in *in, struct err *e)
{
    uint8_t pad[ARCHIVE_BLOCK];
    size_t n = archive_padding(in->now.bytes);
    int rc = archive_source_get(in->source, pad, n, e);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (pad[i]) {
            err_set(e, ERR_CORRUPT, "what follows %s is damaged", in->now.name);
            rc = corrupt(in, e);
        }
    return rc;
}

static int member_end(struct archive_in *in, struct err *e)
{
    int rc = padding_take(in, e);
    if (rc == 0) {
        strmap_put(&in->names, str_of(in->now.name), in->sums.n);
        vec_push(&in->sums, digest_end(&in->sum));
        in->now.name[0] = '\0';
    }
    return rc;
}

int archive_read(struct archive_in *in, void *bytes, size_t n, size_t *ret_n, struct err *e)
{
    size_t some = in->left < n ? (size_t)in->left : n;
    int rc = archive_source_get(in->source, bytes, some, e);
    if (rc < 0)
        return rc;
    digest_add(&in->sum, bytes, some);
    in->left -= some;
    *ret_n = some;
    return 0;
}

static int member_skip(struct archive_in *in, struct err *e)
{
    uint8_t piece[SKIP_BYTES];
    size_t got;
    while (in->left > 0) {
        int rc = archive_read(in, piece, sizeof piece, &got, e);
        if (rc < 0)
            return rc;
    }
    return member_end(in, e);
}

/* --- the end --- */

static bool line_take(struct str *text, struct str *ret_digest, struct str *ret_name)
{
    const char *end = memchr(text->s, '\n', text->n);
    size_t n = end ? (size_t)(end - text->s) : 0;
    if (n < DIGEST_HEX + 2 || memcmp(text->s + DIGEST_HEX - 1, "  ", 2) != 0)
        return false;
    *ret_digest = (struct str){text->s, DIGEST_HEX - 1};
    *ret_name = (struct str){text->s + DIGEST_HEX + 1, n - DIGEST_HEX - 1};
    *text = (struct str){end + 1, text->n - n - 1};
    return true;
}

static int manifest_compare(const struct archive_in *in, struct str text, struct err *e)
{
    struct str digest, name;
    uintptr_t at;
    char hex[DIGEST_HEX];
    size_t n = 0;
    for (; text.n > 0; n++) {
        if (!line_take(&text, &digest, &name) || !archive_name_good(name))
            return err_set(e, ERR_CORRUPT, "line %zu of the manifest is damaged", n + 1);
        if (!strmap_get(&in->names, name, &at) || at != n)
            return err_set(e, ERR_CORRUPT, "%.*s of the manifest is not where it should be",
                           (int)name.n, name.s);
        digest_hex(&in->sums.at[at], hex);
        if (!str_is(digest, hex))
            return err_set(e, ERR_CORRUPT, "%.*s is damaged: its digest is %s, and should be %.*s",
                           (int)name.n, name.s, hex, (int)digest.n, digest.s);
    }
    if (n != in->sums.n)
        return err_set(e, ERR_CORRUPT, "the manifest has %zu members, the archive %zu", n,
                       in->sums.n);
    return 0;
}

static int manifest_read(struct archive_in *in, struct err *e)
{
    struct buf text = {0};
    uint8_t end[2][ARCHIVE_BLOCK];
    uint64_t n = in->now.bytes;
    if (n > (uint64_t)in->sums.n * LINE_MAX_BYTES) {
        err_set(e, ERR_CORRUPT, "the manifest is longer than %zu members can make it", in->sums.n);
        return corrupt(in, e);
    }
    buf_reserve(&text, (size_t)n + 1);
    int rc = archive_source_get(in->source, text.data, (size_t)n, e);
    if (rc == 0)
        rc = padding_take(in, e);
    if (rc == 0)
        rc = archive_source_get(in->source, end, sizeof end, e);
    if (rc == 0 && (!archive_block_empty(end[0]) || !archive_block_empty(end[1]))) {
        err_set(e, ERR_CORRUPT, "the end of the archive is not behind its manifest");
        rc = corrupt(in, e);
    }
    if (rc == 0)
        rc = archive_source_end(in->source, e);
    if (rc == 0 && (rc = manifest_compare(in, (struct str){text.data, (size_t)n}, e)) < 0)
        rc = corrupt(in, e);
    buf_done(&text);
    in->whole = rc == 0;
    return rc;
}

/* --- members --- */

static int head_take(struct archive_in *in, struct err *e)
{
    uint8_t block[ARCHIVE_BLOCK];
    int rc = archive_source_get(in->source, block, sizeof block, e);
    if (rc < 0)
        return rc;
    if (archive_block_empty(block))
        rc = err_set(e, ERR_CORRUPT, "the archive ends without a manifest");
    else
        rc = archive_head_read(block, &in->now, e);
    if (rc == 0 && in->now.bytes > archive_source_size(in->source))
        rc = err_set(e, ERR_CORRUPT,
                     "%s is said to have %" PRIu64
                     " bytes, more than the whole file: it was cut off, or is damaged",
                     in->now.name, in->now.bytes);
    if (rc == 0 && strmap_get(&in->names, str_of(in->now.name), NULL))
        rc = err_set(e, ERR_CORRUPT, "%s is in the archive twice", in->now.name);
    if (rc == 0 && in->sums.n >= ARCHIVE_MEMBERS_MAX)
        rc = err_set(e, ERR_CORRUPT, "the archive has more than %d members", ARCHIVE_MEMBERS_MAX);
    if (rc < 0)
        in->now.name[0] = '\0';
    return rc < 0 ? corrupt(in, e) : 0;
}

int archive_next(struct archive_in *in, struct archive_member *ret_member, struct err *e)
{
    int rc = in->now.name[0] ? member_skip(in, e) : 0;
    if (rc < 0 || in->whole)
        return rc;
    if ((rc = head_take(in, e)) < 0)
        return rc;
    if (str_is(str_of(in->now.name), ARCHIVE_MANIFEST)) {
        rc = manifest_read(in, e);
        in->now.name[0] = '\0';
        return rc;
    }
    digest_begin(&in->sum);
    in->left = in->now.bytes;
    *ret_member = in->now;
    return 1;
}
