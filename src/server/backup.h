/* backup.h - all that a server needs on an empty machine, in one archive, and back
 *
 * A backup is the store with everything in the data directory that its rows count on: the key that
 * opens sealed values, the key that signs callbacks, the authority and the certificate that workers
 * and clients trust, contents of resources, the first token, and what the server was told to do.
 * docs/rfc/12-backup.md.
 *
 * Making and restoring take as long as the disks do, and touch nothing of a running server's
 * memory: they are for a thread of their own, or for a program of its own.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_BACKUP_H
#define SERVER_BACKUP_H

#include <stdatomic.h>

#include "base/digest.h"
#include "base/err.h"
#include "sys/opts.h"

/* --- making --- */

struct backup_wish {
    const char *data_dir;
    const char *path;      /* the archive; never one that is there */
    struct str passphrase; /* empty: not sealed */
    struct str settings;   /* of the server, as a file (opts_write()) */
    bool logs;             /* what attempts printed, too */
    uint64_t now_ms;       /* wall */
};
struct backup_watch {             /* between the thread that works and the one that looks */
    _Atomic uint64_t done, total; /* bytes: copied, written, read back */
    _Atomic bool stop;            /* ends it early */
};
struct backup_made {
    uint64_t bytes, journal; /* of the file; number of the last event in it */
    struct digest digest;    /* of the file: `b2sum -l 128` gives the same */
};
/* The data directory is that of a running server or of none.  While it runs, contents of resources
 * must not be removed.  On failure nothing is left behind. */
int backup_make(const struct backup_wish *w, struct backup_watch *watch, struct backup_made *ret,
                struct err *e);
/* What a crash left of one: in the data directory, and files in `dir` that nobody writes any more.
 */
void backup_tidy(const char *data_dir, const char *dir);
/* When the newest backup in there was made, by its file; 0: none. */
uint64_t backup_newest_ms(const char *dir);

/* --- restoring --- */

struct backup_from {
    const char *archive;
    const char *data_dir;  /* empty, or not there; of a bare store: as it is */
    struct str passphrase; /* empty: it is not sealed */
};
/* Tells in `ret_lines` what is back and what is left to do.  Nothing is in place before all of it
 * was read and checked. */
int backup_restore(const struct backup_from *f, struct buf *ret_lines, struct err *e);
/* Of a data directory that a server is about to open: ERR_REFUSED if a restore into it was not
 * finished. */
int backup_unfinished(const char *data_dir, struct err *e);

#endif
