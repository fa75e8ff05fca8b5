/* worker_blob_i.h - one content of a resource, between its two files
 *
 *   worker_blob.c     fetching, checking, keeping
 *   worker_unpack.c   archives: looked into, unpacked, made read-only
 *
 *   COMING -> HERE                  a file
 *   COMING -> UNPACKING -> HERE     an archive
 *   COMING, UNPACKING -> GONE       it failed; begun anew when it is used again
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORKER_WORKER_BLOB_I_H
#define WORKER_WORKER_BLOB_I_H

#include "plugin/plugin_versions.h"
#include "worker/worker_i.h"

enum blob_life { BLOB_COMING, BLOB_UNPACKING, BLOB_HERE, BLOB_GONE };
struct unpacking;
struct blob {
    struct worker *w;
    char key[RESOURCE_FILE_BYTES]; /* its name in the directory */
    char digest[DIGEST_HEX];
    char *path, *part; /* part: as far as it came */
    enum blob_life life;
    bool archive;
    uint32_t mode, users;
    uint32_t by_task, by_attempt; /* in whose name it is asked for */
    struct link idle, asked;
    uint64_t asked_ms;
    int fd;
    struct digest_state sum;
    uint64_t size_bytes, offset;
    uint64_t bytes; /* on disk, once it is here */
    struct unpacking *unpacking;
};
void blob_ready(struct blob *b);
void blob_idle(struct blob *b);
/* Whoever waits for it is answered with this. */
void blob_failed(struct blob *b, enum outcome outcome, const char *text);

/* worker_unpack.c: from b->part to b->path; blob_ready() or blob_failed() comes later. */
void unpack_begin(struct blob *b);
void unpack_end(struct blob *b); /* at once, whatever it is at; nothing if it is at nothing */

#endif
