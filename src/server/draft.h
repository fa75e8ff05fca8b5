/* draft.h - what is wanted of a deployment, being changed: bound, unbound, configured
 *
 * A draft is a map that nobody has yet (desire.h).  Each change is planned against what the draft
 * wants and what lives elsewhere; a refusal says what is in the way and leaves a draft that is only
 * good for being dropped.  Nothing of the engine is touched.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DRAFT_H
#define SERVER_DRAFT_H

#include "server/server_i.h"

struct draft {
    struct server *server;
    struct arena *mem;
    const struct catalog *catalog;
    uint32_t deployment;
    struct pmap *map;
};
/* With the map of a snapshot, NULL: empty. */
void draft_open(struct draft *d, struct server *s, struct arena *mem, const struct catalog *c,
                uint32_t deployment, const struct snapshot *from);
void draft_drop(struct draft *d);
/* The map, whose reference is the caller's now. */
struct pmap *draft_take(struct draft *d);

int draft_bind(struct draft *d, const struct bind_item *items, uint32_t n_items, struct err *e);
/* What needs them and does not live yet goes with them; what lives only with `cascade`. */
int draft_unbind(struct draft *d, struct str role, const uint32_t *nodes, uint32_t n_nodes,
                 bool cascade, struct err *e);
/* Data of bound noderoles; without nodes, of the deployment role.  merge: laid over what is there,
 * null taking away; else instead of it. */
int draft_data(struct draft *d, struct str role, const uint32_t *nodes, uint32_t n_nodes,
               const struct value *data, bool merge, struct err *e);

#endif
