/* chronicle.h - what the history and the timeline of an operation share */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_CHRONICLE_H
#define SERVER_CHRONICLE_H

#include "server/server_i.h"

/* The operation that a path names. */
int chronicle_operation(const struct server *s, const struct server_call *c, uint32_t *ret_id,
                        struct operation_view *ret_v, struct err *e);
bool chronicle_failed(uint8_t outcome); /* by itself, not because somebody cancelled it */
const char *chronicle_role(const struct server *s, uint32_t task);

/* critical.c: tasks of the chain that made the operation as long as it was, the first one first.
 * Each is the one that ended last of those that the next had to wait for. */
struct critical_step {
    uint32_t task, node;
    uint64_t started_wall_ms, ran_ms;
};
struct critical {
    VEC(struct critical_step) steps;
};
int critical_find(struct server *s, uint32_t operation, struct critical *ret, struct err *e);

#endif
