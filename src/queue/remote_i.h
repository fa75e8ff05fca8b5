/* remote_i.h - what the server's answers say, read with suspicion */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef QUEUE_REMOTE_I_H
#define QUEUE_REMOTE_I_H

#include "base/value.h"
#include "queue/remote.h"

struct remote_batch {
    uint64_t first; /* number of the first message */
    const struct str *messages;
    size_t n;
};
/* {"first": N, "messages": [text ...]}, in the arena.  ERR_INVALID for anything else. */
int remote_batch_read(struct arena *mem, struct str json, struct remote_batch *ret, struct err *e);
/* {"taken": N} */
int remote_taken_read(struct arena *mem, struct str json, uint64_t *ret_taken, struct err *e);

#endif
