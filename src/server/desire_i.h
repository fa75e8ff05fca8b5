/* desire_i.h - the state behind desire.h, shared by desire.c and desire_load.c */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DESIRE_I_H
#define SERVER_DESIRE_I_H

#include "base/alloc.h"
#include "base/map.h"
#include "server/desire.h"

struct desire_history { /* of a deployment, by its id */
    uint32_t head, proposal, last_number;
};
struct desire_document {
    uint64_t id;
    char *text;
};
struct desire_late { /* a row that is told at the end */
    uint32_t snapshot;
    enum row_verb verb;
};
struct desire {
    desire_row_f *row;
    void *arg;
    struct pmap_space *space;
    VEC(char *) names; /* by number; 0 is nobody */
    struct strmap by_name;
    VEC(struct desire_document) docs;
    struct u64map doc_by_id; /* -> index */
    VEC(struct snapshot) snapshots;
    VEC(struct desire_history) of; /* deployments */
    VEC(struct desire_late) late;
    bool held;
};

struct desire_history *desire_history(struct desire *d, uint32_t deployment);
void desire_doc_keep(struct desire *d, uint64_t id, struct str text);
void desire_put_map(struct desire *d); /* rows of the maps that changed */

#endif
