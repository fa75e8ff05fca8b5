/* spool_i.h - what a worker has to say and has not said yet
 *
 * Three lanes, results, words and output, each a list in memory; results and output have a file
 * before that, whose content is older.  A batch is taken, is under way, and is done with or taken
 * up again; there is one at a time.  While the server listens the order is the one of arrival;
 * while there is something to catch up with, results come first and output last.
 *
 * Files are records {magic, length, digest, bytes}.  Results are synced before anybody relies on
 * them; a torn end, as after a crash, is cut off.  What was done with stays in its file until all
 * of it was: said twice does no harm, the server knows duplicates.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_SPOOL_I_H
#define QUEUE_SPOOL_I_H

#include "base/alloc.h"
#include "queue/remote.h"

struct letter {
    char *bytes;
    size_t n;
    uint64_t arrival; /* order among lanes */
    enum queue_rank rank;
    bool filed; /* it is in its lane's file */
};
struct letters {
    VEC(struct letter) list;
};

struct spool_options {
    const char *dir;
    size_t memory_bytes, spool_bytes;
    const struct queue_words *words;
};
struct spool;
/* What an earlier process left is there, first. */
int spool_open(const struct spool_options *o, struct spool **ret_s, struct err *e);
void spool_close(struct spool *s); /* what is in memory is gone */
/* Copies.  What is there already, or can be had again, is dropped. */
void spool_put(struct spool *s, struct str message);
/* Appends the next batch, at least one letter if there is any. */
void spool_take(struct spool *s, size_t max_bytes, size_t max_n, struct letters *batch);
/* The first n of the batch have arrived, or are given up. */
void spool_done(struct spool *s, struct letters *batch, size_t n);
/* The server does not answer: results go to disk, those of the batch under way too. */
int spool_keep(struct spool *s, struct letters *batch, struct err *e);
bool spool_empty(const struct spool *s);       /* but for the batch */
uint64_t spool_dropped(const struct spool *s); /* bytes of output, so far */
void letters_done(struct letters *batch);

#endif
