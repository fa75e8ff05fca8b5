/* plugin_versions.h - resources of plugins: their versions, how a task names them, what an archive
 * may hold
 *
 * A resource is a file or an archive that a plugin works with: an image, a key.  Uploading makes a
 * version that nobody gets.  Staging and recalling say what is wanted, syncing makes it so for all
 * names at once:
 *
 *              stage                                     recall      sync
 *   INACTIVE   STAGED; others: STAGED -> INACTIVE,       -           -
 *                              ACTIVE -> RECALLED
 *   STAGED     -                                         INACTIVE    ACTIVE
 *   ACTIVE     -                                         RECALLED    -
 *   RECALLED   ACTIVE; others: STAGED -> INACTIVE        -           INACTIVE
 *
 * Of one name at most one version is STAGED, and at most one is ACTIVE or RECALLED: that one is
 * live, tasks get it.  Nothing here opens a file.  docs/rfc/10-plugins.md, section 7.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PLUGIN_PLUGIN_VERSIONS_H
#define PLUGIN_PLUGIN_VERSIONS_H

#include "base/digest.h"
#include "base/err.h"
#include "base/value.h"
#include "model/states.h"

struct resource_version {
    uint32_t version;
    enum resource_state state;
};
/* False: there is no such version, and nothing changed. */
bool resource_versions_stage(struct resource_version *all, size_t n, uint32_t version);
bool resource_versions_recall(struct resource_version *all, size_t n, uint32_t version);
void resource_versions_sync(struct resource_version *all, size_t n);
/* Do tasks get it? */
bool resource_state_live(enum resource_state s);

/* --- as a task names them --- */

enum { RESOURCE_NAMED_MOST = 1000 };
struct resource_named {
    struct str kind, name, digest;
    uint32_t version, mode;
    uint64_t size_bytes;
    bool archive;
};
/* JSON text of a list. */
void resources_write(struct buf *b, const struct resource_named *all, size_t n);
/* Texts go to the arena.  Whatever becomes part of a path is checked: digests are hexadecimal,
 * modes are those of plain files. */
int resources_read(struct arena *mem, struct str text, const struct resource_named **ret,
                   uint32_t *ret_n, struct err *e);
/* How a worker calls it: an archive is a directory, a file has its mode in its name. */
enum { RESOURCE_FILE_BYTES = DIGEST_HEX + 8 };
void resource_file_name(const struct resource_named *r, char ret[RESOURCE_FILE_BYTES]);
/* Exactly as digest_hex() writes it? */
bool resource_digest_good(struct str digest);

/* --- what an archive may hold --- */

enum { ARCHIVE_LINE_MOST = 16 * 1024, ARCHIVE_ENTRIES_MOST = 1000 * 1000 };
/* The listing of `tar --list --verbose --numeric-owner --quoting-style=escape`, a piece at
 * a time.  Only plain files, directories and links, with names that stay inside, are let through:
 * tar is asked to unpack only what was found good here. */
struct archive_list {
    struct buf line;
    uint64_t max_bytes, bytes; /* of all files together */
    uint64_t entries;
    struct err fault; /* the first; code 0: none */
};
void archive_list_init(struct archive_list *l, uint64_t max_bytes);
void archive_list_done(struct archive_list *l);
void archive_list_feed(struct archive_list *l, struct str piece);
/* Nothing more comes: 0, or what is wrong with it. */
int archive_list_end(struct archive_list *l, struct err *e);

#endif
