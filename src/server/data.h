/* data.h - the documents of noderoles that live, what runs see of them, and whom a change concerns
 *
 * Each layer is one JSON map.  A change is made in memory, noted as a row of the open group, and
 * told to the engine where the inputs of somebody differ by it.  What a run sees is what
 * model/sight.h makes of the server's state; the digest of a noderole's inputs is what the engine
 * compares.  docs/rfc/06-desired-state.md, section 7.
 *
 * A noderole's own wall is seen by its runs, but is no input of it: what its runs returned is no
 * reason to run again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DATA_H
#define SERVER_DATA_H

#include "base/value.h"
#include "model/pmap.h"
#include "model/sight.h"
#include "server/commit.h"

struct catalog;
struct server;
struct data;      /* what can be made again: trees, digests, documents that were sent */
struct data_look; /* data_i.h: several questions of one moment */

struct data *data_new(void);
void data_free(struct server *s); /* before desired state goes */

/* --- layers --- */

enum data_layer { DATA_USER, DATA_SYSTEM, DATA_WALL, DATA_LAYER_COUNT };

/* The whole of one layer, as canonical JSON; "" for none.  1 if that is a change, and then the
 * revision is one higher (a wall has none: it is not anybody's to edit), and those whose inputs
 * differ by it are told to the engine. */
int data_layer_put(struct server *s, uint32_t noderole, enum data_layer layer, struct str text);

/* Its row as it is now: it belongs to another deployment. */
void data_row_put(struct server *s, uint32_t noderole);

struct data_edit {
    struct str path;       /* keys with slashes between them: "network/address" */
    const struct value *v; /* NULL: what is there goes */
};
/* A copy of the map with the value at a path set or, for NULL, taken away; NULL and ERR_INVALID for
 * a path through something that is no map.  e must be clear. */
const struct value *data_edited(struct arena *mem, const struct value *map, struct str path,
                                const struct value *v, struct err *e);
/* Changes of system data, all of them or none.  1 if that is a change; ERR_INVALID for a path
 * through something that is no map, ERR_LIMIT for data that grow too large. */
int data_system_edit(struct server *s, uint32_t noderole, const struct data_edit *edits,
                     uint32_t n_edits, struct err *e);
/* What a run returned that differs from what it was sent is laid over the wall; what it had been
 * sent and returned no more, a list of paths as lists of keys, leaves it.  Both are JSON, "" for
 * none.  1 if that is a change; ERR_INVALID, ERR_LIMIT, and then the wall is as it was. */
int data_wall_returned(struct server *s, uint32_t noderole, struct str returns, struct str gone,
                       struct err *e);

/* --- inputs --- */

/* Documents of a noderole differ at these paths: who is below it and sees that is looked at again,
 * and whose digest differs is told to the engine.  Before the result of the run that did it. */
void data_changed(struct server *s, uint32_t noderole, struct sight_paths paths,
                  enum data_layer layer);
/* The same for data of a deployment role, once the head has them. */
void data_shared_changed(struct server *s, uint32_t deployment, struct str role,
                         struct sight_paths paths);
/* What is said of a node differs. */
void data_node_changed(struct server *s, uint32_t node);
/* These may see something else now; sorted on return.  Who has never run and waits for others is
 * left out: what it sees is told once, when the last of them is done. */
void data_tell(struct server *s, uint32_t *ids, size_t n);
/* A result is about to be applied that ends the run of a noderole, unless it has other tasks to do:
 * those who wait for nobody else are told what they will see. */
void data_completes(struct server *s, uint32_t noderole, uint32_t task);
/* The inputs that a noderole would have with this user data. */
int data_user_inputs(struct server *s, uint32_t noderole, const struct value *user,
                     uint64_t *ret_digest, struct err *e);
/* The digests of a plan that is rebased and about to be applied: of its noderoles, of its changes,
 * and of noderoles that live and will see something else, which become changes of the plan.
 * deployment, head: the map that will be the head of a deployment with the same commit; 0, NULL:
 * none. */
int data_plan_digests(struct server *s, struct plan *p, uint32_t deployment,
                      const struct pmap *head, struct err *e);

/* After it was applied: the user data of its changes.  Whom they concern is in the plan. */
void data_plan_keep(struct server *s, const struct plan *p);
/* A noderole belongs to another deployment now. */
void data_moved(struct server *s, uint32_t noderole);

/* Are these data of the role of a noderole, as it sees now?  As below. */
int data_check_noderole(struct server *s, uint32_t noderole, const struct value *v, struct err *e);
/* Has its role an attribute there? */
bool data_attribute_at(struct server *s, uint32_t noderole, struct sight_path path);
/* Are these data of this role, for a noderole or a deployment role?  NULL: none.  ERR_UNKNOWN_NAME;
 * ERR_INVALID with the pointer of the field in e->at. */
int data_check_role(const struct catalog *c, struct str role, const struct value *v, struct err *e);

/* --- what a task is sent --- */

struct data_parts {         /* the task sees `under`, `data` over it, `over` over that */
    struct str data;        /* JSON */
    struct str under, over; /* digests; "" for none */
};
int data_send_render(struct data_look *l, uint32_t noderole, struct arena *a,
                     struct data_parts *ret, struct err *e);

#endif
