/* data.h - the documents of noderoles that live: what users, hooks and runs gave them
 *
 * Each layer is one JSON map.  A change is made in memory, noted as a row of the open group, and
 * told to the engine where the inputs of somebody differ by it.  docs/rfc/06-desired-state.md,
 * section 7.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DATA_H
#define SERVER_DATA_H

#include "base/value.h"
#include "server/commit.h"

struct server;

enum data_layer { DATA_USER, DATA_SYSTEM, DATA_WALL, DATA_LAYER_COUNT };

/* The whole of one layer, as canonical JSON; "" for none.  1 if that is a change, and then the
 * revision is one higher (a wall has none: it is not anybody's to edit). */
int data_layer_put(struct server *s, uint32_t noderole, enum data_layer layer, struct str text);

/* Its row as it is now: it belongs to another deployment. */
void data_row_put(struct server *s, uint32_t noderole);

struct data_edit {
    struct str path;       /* keys with slashes between them: "network/address" */
    const struct value *v; /* NULL: what is there goes */
};
/* Changes of system data, all of them or none.  1 if that is a change; ERR_INVALID for a path
 * through something that is no map, ERR_LIMIT for data that grow too large. */
int data_system_edit(struct server *s, uint32_t noderole, const struct data_edit *edits,
                     uint32_t n_edits, struct err *e);

#endif
