/* fs.h - files: read whole with a limit, write whole or not at all, locks, directories */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_FS_H
#define SYS_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* Regular files only; ERR_NOT_FOUND, ERR_TOO_LARGE past max_bytes. */
int fs_read(const char *path, size_t max_bytes, struct buf *ret_b, struct err *e);
/* Temporary file beside it, fsync, rename, fsync of the directory. */
int fs_write_atomic(const char *path, const void *p, size_t n, mode_t mode, struct err *e);
/* The same, for a user and a group; (uid_t)-1, (gid_t)-1: as it comes. */
int fs_write_owned(const char *path, const void *p, size_t n, mode_t mode, uid_t uid, gid_t gid,
                   struct err *e);
/* Gives a file that is whole and synced its name, unless somebody has it: ERR_EXISTS.  Syncs the
 * directory. */
int fs_name(const char *from, const char *to, struct err *e);
/* What was made, renamed or removed in a directory stays so. */
int fs_sync_dir(const char *dir, struct err *e);
int fs_mkdirs(const char *path, mode_t mode, struct err *e);
/* Sorted names of a directory (no . and ..); free each and the array. */
int fs_list(const char *path, char ***ret_names, size_t *ret_n, struct err *e);
/* Exclusive lock of a file for the life of the process (or until close): fd, or ERR_BUSY naming the
 * pid that holds it.  The file holds our pid while we have it. */
int fs_lock(const char *path, struct err *e);
bool fs_is_dir(const char *path);
bool fs_exists(const char *path);
int fs_remove_tree(const char *path, struct err *e);
char *fs_join(const char *dir, const char *name); /* heap */

#endif
