/* rollouts.h - roll-outs of operations, for people
 *
 * Members that an operation has run last are counted from the engine's state; when a later
 * operation has taken them over there is nothing to tell any more.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ROLLOUTS_H
#define SERVER_ROLLOUTS_H

#include "server/server_i.h"

/* Those of an operation, by group: {name, members, failed, may_fail, left, stopped}.  A stopped one
 * left members as they are, or more of it have failed than may, though nobody was left to begin. */
struct value *rollouts_view(struct server *s, struct arena *mem, uint32_t op);
/* The command that takes back what an operation changed, to the last revision whose own operation
 * did not fail; NULL: it is not the last change, it went back itself, or no such revision is
 * known. */
const char *rollouts_way_back(struct server *s, struct arena *mem, uint32_t op);
/* What needs a person: roll-outs that stopped, all of them as one entry of the list. */
void rollouts_attention(struct server *s, struct arena *mem, struct value *list);
/* How many members one left as they are. */
uint32_t rollouts_left(const struct server *s, uint32_t group, uint32_t op);
/* "stopped: 2 members failed, 1 may; 3 members left as they are", and without the first figures
 * where they are not those of its end any more. */
const char *rollouts_stop_text(const struct server *s, struct arena *mem, uint32_t group,
                               uint32_t op);

#endif
