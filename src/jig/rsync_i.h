/* rsync_i.h - what rsync says it does, counted as it comes */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_RSYNC_I_H
#define JIG_RSYNC_I_H

#include "jig/jig_i.h"

enum { RSYNC_LINE_BYTES = 128 }; /* of a line; what is behind that does not count */

struct rsync_count { /* all-zero is a new one */
    uint64_t sent, made, changed, deleted;
    uint64_t bytes; /* that went over the line to the other side */
    char line[RSYNC_LINE_BYTES];
    size_t n;
};
/* Output of --out-format='%i %n' and --stats, in pieces of any size. */
void rsync_count_feed(struct rsync_count *c, const char *p, size_t n);

#endif
