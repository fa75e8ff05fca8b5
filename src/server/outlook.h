/* outlook.h - the world as a draft wants it, for the planner to look at
 *
 * What lives, without what the draft takes away and with what it adds.  An entry that does not live
 * yet gets an id of its own, OUTLOOK_FIRST and above, good as long as the outlook; everything else
 * keeps the id that it has.  Nothing changes while one is open, neither the draft nor the server.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_OUTLOOK_H
#define SERVER_OUTLOOK_H

#include "server/server_i.h"

enum { OUTLOOK_FIRST = 1 << 30 };

struct outlook_entry {
    uint64_t key;
    struct snapshot_entry entry;
    uint32_t id, cohort;
};
struct outlook_edge {
    uint64_t parent; /* key */
    uint32_t child;  /* id */
};
struct outlook {
    struct server *server;
    const struct catalog *catalog;
    uint32_t deployment;
    struct world live;
    struct planner_world live_view;
    struct arena mem;
    VEC(struct outlook_entry) fresh, altered; /* do not live yet; live with other parents */
    VEC(struct outlook_edge) edges;           /* of both, by parent */
    VEC(struct outlook_edge) homes;           /* of who does not live: node instead of parent */
    struct u64map fresh_by_key;               /* -> index */
    struct u64map altered_by_id;              /* -> index */
    struct u64map hidden;                     /* ids of who lives and is not wanted */
    VEC(uint32_t) on_node, instances, children;
};
/* Of a deployment whose map would be this one instead of its head's. */
int outlook_open(struct outlook *o, struct server *s, const struct catalog *c, uint32_t deployment,
                 const struct pmap *draft, struct planner_world *ret_world, struct err *e);
void outlook_done(struct outlook *o);
uint64_t outlook_key(const struct outlook *o, uint32_t id);
/* Who is wanted under that key, of any deployment; 0: nobody. */
uint32_t outlook_find(const struct outlook *o, uint64_t key);
/* Does it not live yet? */
static inline bool outlook_is_fresh(uint32_t id)
{
    return id >= OUTLOOK_FIRST;
}

#endif
