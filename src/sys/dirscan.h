/* dirscan.h - a file of one name in each directory of some directories, watched by looking
 *
 * Of a list of directories, each directory inside them that has the file is an entry: its path and
 * the text.  What cannot be read is an entry too, with the reason.  A directory of the list that is
 * not there has no entries: it may come later.
 *
 * dirscan_refresh() reads again only if a name, a size, an inode or a time of change differs.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_DIRSCAN_H
#define SYS_DIRSCAN_H

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"

struct dirscan_entry {
    char *dir; /* absolute, as realpath() has it */
    struct buf text;
    bool bad;
    struct err err;
};
struct dirscan {
    char *path, *name;
    size_t max_bytes;
    uint64_t seen;                /* what it all looked like; 0: never looked */
    VEC(struct dirscan_entry) at; /* in the order of the list, then by name */
};
/* `path`: directories separated by colons, `name`: the file. */
void dirscan_init(struct dirscan *d, const char *path, const char *name, size_t max_bytes);
void dirscan_done(struct dirscan *d);
/* True: something has changed, and d->at was read anew. */
bool dirscan_refresh(struct dirscan *d);
/* Reads one directory as if it were the only one there is. */
void dirscan_one(struct dirscan *d, const char *dir);

#endif
