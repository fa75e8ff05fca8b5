/* spool_file_i.h - a file of records that are appended, read in order and cleared together */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_SPOOL_FILE_I_H
#define QUEUE_SPOOL_FILE_I_H

#include "base/err.h"
#include "base/str.h"

struct spool_file {
    int fd;
    uint64_t read, end;
    bool dirty; /* written since the last sync */
};
/* fn is told each record that is there; a torn end is cut off. */
int spool_file_open(struct spool_file *f, const char *dir, const char *name,
                    void (*fn)(void *arg, struct str record), void *arg, struct err *e);
void spool_file_close(struct spool_file *f);
uint64_t spool_file_size(size_t n); /* of a record of n bytes */
int spool_file_append(struct spool_file *f, struct str record, struct err *e);
int spool_file_sync(struct spool_file *f, struct err *e);
bool spool_file_next(struct spool_file *f, struct buf *b);
void spool_file_clear(struct spool_file *f); /* if all of it was read */

#endif
