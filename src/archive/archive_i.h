/* archive_i.h - the parts of an archive to one another: headers, and the stream of bytes below */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ARCHIVE_ARCHIVE_I_H
#define ARCHIVE_ARCHIVE_I_H

#include "archive/archive.h"

enum { ARCHIVE_BLOCK = 512 };

/* --- headers (archive_head.c) --- */

void archive_head_write(uint8_t ret_block[ARCHIVE_BLOCK], const struct archive_member *m,
                        uint64_t made_s);
/* ERR_CORRUPT: no header, or of something that does not belong into an archive of ours. */
int archive_head_read(const uint8_t block[ARCHIVE_BLOCK], struct archive_member *ret_member,
                      struct err *e);
bool archive_block_empty(const uint8_t block[ARCHIVE_BLOCK]);
/* Bytes behind a member up to the next header. */
size_t archive_padding(uint64_t bytes);

/* --- what goes out (archive_sink.c), sealed or not --- */

struct archive_sink;
struct archive_sink *archive_sink_new(int fd, const char *path);
int archive_sink_seal(struct archive_sink *s, struct str passphrase, struct err *e);
int archive_sink_put(struct archive_sink *s, const void *bytes, size_t n, struct err *e);
/* The last bytes are on the disk. */
int archive_sink_end(struct archive_sink *s, struct digest *ret_digest, struct err *e);
void archive_sink_free(struct archive_sink *s); /* closes */

/* --- what comes in (archive_source.c) --- */

struct archive_source;
int archive_source_new(int fd, const char *path, struct str passphrase,
                       struct archive_source **ret_s, struct err *e);
/* Exactly n bytes; ERR_CORRUPT if there are fewer. */
int archive_source_get(struct archive_source *s, void *bytes, size_t n, struct err *e);
/* Is there nothing more? */
int archive_source_end(struct archive_source *s, struct err *e);
uint64_t archive_source_size(const struct archive_source *s); /* of the file */
uint64_t archive_source_bytes(const struct archive_source *s);
struct digest archive_source_digest(struct archive_source *s);
const char *archive_source_path(const struct archive_source *s);
void archive_source_free(struct archive_source *s); /* closes */

/* --- the seal (archive_seal.c): a key from a passphrase, blocks --- */

enum {
    ARCHIVE_SEAL_PLAIN = 64 * 1024, /* bytes of a block */
    ARCHIVE_SEAL_MORE = 17,         /* a sealed one has */
    ARCHIVE_SEAL_BLOCK = ARCHIVE_SEAL_PLAIN + ARCHIVE_SEAL_MORE,
    ARCHIVE_SEAL_HEAD = 16 + 16 + 24, /* mark, salt, header of the stream */
    ARCHIVE_SEAL_STATE = 64,
};
struct archive_seal { /* of libsodium */
    uint8_t state[ARCHIVE_SEAL_STATE] __attribute__((aligned(16)));
};
bool archive_seal_marked(const uint8_t *head, size_t n);
int archive_seal_begin(struct archive_seal *s, struct str passphrase,
                       uint8_t ret_head[ARCHIVE_SEAL_HEAD], struct err *e);
void archive_seal_put(struct archive_seal *s, const uint8_t *plain, size_t n, bool last,
                      uint8_t *ret_sealed);
int archive_seal_open(struct archive_seal *s, struct str passphrase,
                      const uint8_t head[ARCHIVE_SEAL_HEAD], struct err *e);
/* False: not what was sealed.  *ret_last: nothing follows. */
bool archive_seal_get(struct archive_seal *s, const uint8_t *sealed, size_t n, uint8_t *ret_plain,
                      bool *ret_last);
void archive_seal_wipe(struct archive_seal *s);

#endif
