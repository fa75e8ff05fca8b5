/* archive.h - one file of members with digests, sealed with a passphrase if one is given
 *
 * The form is tar (POSIX ustar): regular files one after the other, a last member MANIFEST with
 * their digests as b2sum(1) writes them, and the end of a tar archive.  Any tar lists and unpacks
 * it, and `b2sum -c MANIFEST` checks what came out.  Sealed, the same bytes are inside one
 * libsodium secretstream; docs/rfc/12-backup.md has the layout.
 *
 * A reader takes nothing on trust.  Only plain files under relative names of harmless characters
 * pass, each name once, and nothing behind the end.  Whoever read to the end has seen every byte
 * that was written: archive_next() says 0 only after each digest was found in the manifest, and the
 * manifest has no more.
 *
 * Not here: what a backup consists of, and what becomes of it.  Libsodium stays hidden.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/str.h"

enum {
    ARCHIVE_NAME_MAX = 99,            /* bytes; what the header of a member has room for */
    ARCHIVE_MEMBERS_MAX = 4000000,    /* of one archive */
    ARCHIVE_PASSPHRASE_MIN = 8,       /* bytes */
    ARCHIVE_PASSPHRASE_MAX = 1024,    /* bytes */
    ARCHIVE_PIECE_BYTES = 256 * 1024, /* that are copied at a time */
};
#define ARCHIVE_MANIFEST "MANIFEST"

struct archive_member {
    char name[ARCHIVE_NAME_MAX + 1];
    uint64_t bytes;
};

/* Letters, digits and . _ - in components between slashes, none of them "." or ".."; relative, and
 * not too long. */
bool archive_name_good(struct str name);
/* Long enough to be one, and not too long; ERR_INVALID. */
int archive_passphrase_check(struct str passphrase, struct err *e);

/* --- writing --- */

struct archive_out;
/* A new file of mode 0600, locked while it is written; ERR_EXISTS.  The passphrase may be empty:
 * not sealed.  made_s is the time that all members have. */
int archive_create(const char *path, struct str passphrase, uint64_t made_s,
                   struct archive_out **ret_out, struct err *e);
/* Called as bytes are written, with how many more; what it returns below 0 ends the writing. */
typedef int archive_watch_f(void *arg, uint64_t bytes, struct err *e);
void archive_watch(struct archive_out *out, archive_watch_f *fn, void *arg);
int archive_put(struct archive_out *out, const char *name, struct str content, struct err *e);
/* So many bytes of a file from where it stands; ERR_IO if it has fewer. */
int archive_put_file(struct archive_out *out, const char *name, int fd, uint64_t bytes,
                     struct digest *ret_digest, struct err *e);
/* Writes the manifest and the end, and syncs: what is there stays there.  The digest is that of the
 * file.  The writer is gone, whatever the result is. */
int archive_finish(struct archive_out *out, struct digest *ret_digest, struct err *e);
/* The writer and the file are gone.  NULL: nothing. */
void archive_abandon(struct archive_out *out);

/* --- reading --- */

struct archive_in;
/* ERR_REFUSED if it is sealed and no passphrase is given, or the other way round; ERR_INVALID if it
 * is no archive at all. */
int archive_open(const char *path, struct str passphrase, struct archive_in **ret_in,
                 struct err *e);
/* The same of an open file, which becomes the reader's; `path` is for errors. */
int archive_open_fd(int fd, const char *path, struct str passphrase, struct archive_in **ret_in,
                    struct err *e);
/* 1 and the next member, or 0: that was all of it, and it is whole.  What was not read of the
 * member before is read now.  The manifest itself is no member.  ERR_CORRUPT says what is wrong
 * with which member. */
int archive_next(struct archive_in *in, struct archive_member *ret_member, struct err *e);
/* Up to n bytes of the member; *ret_n is 0 behind its end. */
int archive_read(struct archive_in *in, void *bytes, size_t n, size_t *ret_n, struct err *e);
/* Of the file as it lies there; once archive_next() has said 0. */
struct digest archive_digest(struct archive_in *in);
uint64_t archive_taken(const struct archive_in *in); /* bytes of the file that were read */
void archive_close(struct archive_in *in);           /* NULL: nothing */

#endif
