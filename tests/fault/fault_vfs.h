/* fault_vfs.h - a disk for SQLite that fails where it is told to
 *
 * Wraps SQLite's own file layer.  Writes, truncations and syncs of all files are counted from 1;
 * from number `at` on they fail, once or for good.  A write that fails has written its first half:
 * what is on the disk then is torn, as after a power cut.  Syncs are counted and not carried out.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_FAULT_VFS_H
#define TESTS_FAULT_VFS_H

#include <stdbool.h>

enum fault_kind { FAULT_IO, FAULT_FULL };
struct fault {
    long count; /* of operations so far */
    long at;    /* the first to fail, 0: none */
    bool once;
    bool hit; /* it has failed at least once */
    enum fault_kind kind;
};

/* Becomes SQLite's default for all files opened from then on; f stays the caller's. */
void fault_vfs_install(struct fault *f);

#endif
