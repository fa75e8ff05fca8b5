/* worker_node_i.h - what is known of nodes, between its two files
 *
 *   worker_node.c   which node a name means, for how long it is known
 *   worker_way.c    how it is reached
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WORKER_WORKER_NODE_I_H
#define WORKER_WORKER_NODE_I_H

#include "worker/worker_i.h"

struct worker_nodes {
    struct ssh_pool *pool; /* NULL: nothing was sent by ssh yet */
    struct strmap by_name; /* -> struct node */
    struct link known;     /* these, longest unused first */
    struct link gone;      /* that may still be used */
    uint64_t lives;        /* given so far */
    struct loop_timer *forget;
    bool by_ssh, pinned;
    enum ssh_via via;
    uint16_t port;
    uint32_t max_connections, keepalive_ms, idle_ms;
    char *user, *identity, *kex;
};

struct node *node_find(const struct worker *w, struct str name); /* NULL: none is known */

extern const struct reach_link way_link;
int way_open(struct worker *w, struct err *e); /* the pool, if it is not open */
/* Its target and options are as the message says. */
int way_take(struct node *n, const struct taskmsg *m, struct err *e);

#endif
