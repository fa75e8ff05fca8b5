/* sealed.h - do sealed rows and the key belong together?
 *
 * Values of providers and clusters are sealed by the key of the data directory (vault.h).  A store
 * that came without its key, or found another one, has values that never open again: that is told
 * when a server starts, a backup is made or restored, and not when the first task needs a password.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_SEALED_H
#define SERVER_SEALED_H

#include "store/store.h"

struct sealed_count {
    uint32_t providers, clusters; /* that have sealed values */
    uint32_t shut;                /* of these do not open */
    char example[64];             /* one of those */
};
/* ERR_REFUSED, with the remedy, if there are sealed values and no key, or none of them opens.  If
 * only some do not, they are damaged, or from before the key was replaced: counted. */
int sealed_check(struct store *s, const char *data_dir, struct sealed_count *ret, struct err *e);

/* Offline, for whoever has lost the key for good: takes away what does not open.  A line for each
 * provider and cluster, with the names of the values. */
int sealed_forget(struct store *s, const char *data_dir, struct buf *ret_lines, struct err *e);

#endif
