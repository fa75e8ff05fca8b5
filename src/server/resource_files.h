/* resource_files.h - contents of resources: files named by their digest
 *
 *   data_dir/resources/DIGEST            whole and checked; mode 0600, never changed
 *   data_dir/resources/incoming/DIGEST   as far as it was uploaded
 *
 * An upload is parts one after the other, each behind the last.  With the last one the digest is
 * compared, the file is synced and renamed: what has its final name is whole, whenever the power
 * went.  An upload that was interrupted goes on where it was, over restarts too; what is there is
 * then read again to know its digest, a bounded piece a call, so `received` may grow by asking.
 *
 * Not here: who may have which content, and what names it has.  That is resources.h.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_RESOURCE_FILES_H
#define SERVER_RESOURCE_FILES_H

#include "base/digest.h"
#include "base/err.h"

struct resource_files;
/* Makes the directories. */
int resource_files_new(const char *data_dir, struct resource_files **ret, struct err *e);
void resource_files_free(struct resource_files *f); /* NULL: nothing */

struct resource_part {
    uint64_t received; /* bytes that are here and were read */
    bool complete;
};
/* Digests are good ones (resource_digest_good()).  ERR_NOT_FOUND: nothing of it is here. */
int resource_files_look(struct resource_files *f, struct str digest, struct resource_part *ret,
                        struct err *e);
/* A part at `offset`, which must be what was received.  ERR_CONFLICT: it is not, or another size
 * was said; ERR_REFUSED: the whole has another digest, and is gone. */
int resource_files_put(struct resource_files *f, struct str digest, uint64_t size, uint64_t offset,
                       struct str bytes, struct resource_part *ret, struct err *e);
/* Is it here, whole? */
bool resource_files_has(struct resource_files *f, struct str digest, uint64_t *ret_size);
/* Up to max bytes from there on.  ERR_NOT_FOUND. */
int resource_files_read(struct resource_files *f, struct str digest, uint64_t offset, size_t max,
                        struct buf *ret, struct err *e);
void resource_files_drop(struct resource_files *f, struct str digest);
/* Whole ones that nobody keeps, older than an hour, and uploads that nobody went on with for a day.
 */
typedef bool resource_kept_f(void *arg, struct str digest);
void resource_files_sweep(struct resource_files *f, resource_kept_f *kept, void *arg);

#endif
