/* data_i.h - what the files of data share
 *
 *   data.c         layers of noderoles: changed in memory and noted as rows
 *   data_doc.c     documents parsed once; deployment roles
 *   data_lens.c    what each noderole sees by, as the catalog had it that it was last brought to
 *   data_sight.c   the server's state as a world of model/sight.h, with or without a plan over it
 *   data_digest.c  whose inputs a change concerns: they are told to the engine
 *   data_plan.c    the inputs of everybody that a plan makes or touches
 *   data_send.c    what a task is sent, and the documents that its message names
 *   data_show.c    what people see of it: visible data and where they come from
 *
 * Nothing here is stored: all of it can be made again from inventory, engine, catalog and desired
 * state, and is, after a restart.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_DATA_I_H
#define SERVER_DATA_I_H

#include "base/digest.h"
#include "model/lens.h"
#include "model/sight.h"
#include "server/server_i.h"

enum {
    DATA_PARSED_BYTES = 64 << 20, /* of text that is kept parsed */
    DATA_SENT_BYTES = 64 << 20,   /* of documents that workers may ask for */
};

struct data_slot { /* the layers of one noderole, parsed */
    const struct value *at[DATA_LAYER_COUNT];
    uint8_t made; /* a bit for each layer that has been parsed */
};
struct data_node { /* what runs see of a node */
    uint32_t rev;
    bool made;
    const struct value *facts;
    struct str text, address; /* {"node": facts}; where to reach it */
    struct str access;        /* JSON: how, with all its addresses; "": nothing is said of it */
    bool by_ssh;              /* else it is the worker's own machine */
};
struct data_lens { /* by the inventory's number */
    struct lens lens;
    uint64_t bare; /* inputs where there are but defaults; 0: not made yet */
};
struct data_text { /* a document that workers may ask for */
    char digest[DIGEST_HEX];
    size_t n;
    char bytes[];
};
struct data_sent {    /* a generation of them */
    struct strmap at; /* digest -> struct data_text * */
    size_t bytes;
};
struct data {
    struct arena parsed; /* slots, nodes, shared documents */
    size_t parsed_bytes;
    struct u64map slot_of; /* noderole -> index into slots */
    VEC(struct data_slot) slots;
    VEC(struct data_node) nodes;
    struct u64map documents; /* of desired state, by id -> struct value * */
    /* data of deployment roles, as the heads have them */
    VEC(struct pmap *) heads; /* by deployment: the map that `shared` was last brought up to */
    struct u64map shared; /* deployment << 32 | number of the role -> document, if there is one */
    struct arena lens_mem;
    VEC(struct data_lens) lenses; /* as many as were looked for yet */
    struct strmap wanted;         /* first keys of all paths that they have as inputs */
    uint64_t nothing;             /* inputs of who has none */
    /* what looks share */
    struct sight_cache *cache;
    bool cache_stale;
    uint64_t version; /* one more with each layer that changes */
    uint64_t planned; /* the version that the digests of the last plan are of */
    uint32_t looks;
    uint32_t cause; /* the noderole whose data changed, while those below are told; 0: none's */
    bool returned;  /* by a run or a hook, not by a person */
    struct data_sent young,
        old;             /* documents sent: those of `old` that are asked for become young */
    struct u64map peers; /* a document of peers in the cache -> its digest, "": small */
};

/* data_doc.c */
/* Texts that were parsed are forgotten if they are too many; nobody may look meanwhile. */
void data_trim(struct data *d);
/* data.c: where the text of a layer is. */
char **data_layer_text(struct inv_noderole *n, enum data_layer layer);
const struct value *data_layer_get(struct server *s, uint32_t noderole, enum data_layer layer);
void data_layer_forget(struct server *s, uint32_t noderole); /* its texts are others now */
const struct data_node *data_node_get(struct server *s, uint32_t node);
const struct value *data_document(struct server *s, uint64_t id); /* NULL for none */
void data_shared_sync(struct server *s);
/* Of a deployment role in the map of a head, or in one that will be a head; NULL: none. */
const struct value *data_shared_get(struct server *s, uint32_t deployment, uint32_t role);
const struct value *data_shared_in(struct server *s, const struct pmap *m, uint32_t role);
const struct value *data_shared_entry(struct server *s, struct str bytes); /* of one entry */
/* Is there a document anywhere but in the catalog? */
bool data_any(const struct server *s);

/* data_lens.c */
struct data_lens *data_lens_get(struct server *s, uint32_t number); /* until the next call */
struct data_lens *data_lens_of(struct server *s, uint32_t noderole);
bool data_wanted(struct server *s, struct sight_paths changed); /* through any lens at all */
/* The lenses of a plan that are new, from its catalog. */
int data_plan_lenses(struct server *s, const struct plan *p, struct err *e);

/* data_sight.c: one question, or several of one moment */
struct data_look {
    struct server *server;
    struct arena mem, kept;    /* answers of the world, for one call; for all of them */
    struct sight_cache *cache; /* NULL: none */
    bool own_cache;
    uint32_t self; /* its wall is not shown: what runs returned is no reason to run */
    /* laid over what is; all of it may be absent */
    uint32_t user_of;
    const struct value *user;
    const struct plan *plan;    /* rebased */
    struct plan_need *needs;    /* its needs, by child */
    const struct value **users; /* of its noderoles and then of its changes, as far as asked for */
    uint32_t *roles;            /* of its noderoles */
    uint32_t head_of;
    const struct pmap *head; /* the map that this deployment will have */
};
void data_look_begin(struct data_look *l, struct server *s);
/* A plan, and a map of a deployment (0: none), laid over what is. */
void data_look_plan(struct data_look *l, struct server *s, const struct plan *p,
                    uint32_t deployment, const struct pmap *head);
void data_look_end(struct data_look *l);
static inline void data_look_scope_end(struct data_look *l)
{
    data_look_end(l);
}
struct sight_world data_look_world(struct data_look *l);
int data_look_inputs(struct data_look *l, uint32_t noderole, uint64_t *ret, struct err *e);
int data_look_layers(struct data_look *l, uint32_t noderole, struct arena *a,
                     struct sight_layers *ret, struct err *e);
/* The layers laid over each other, and what the schemas of its role's attributes add inside. */
const struct value *data_look_merge(struct data_look *l, uint32_t noderole,
                                    const struct sight_layers *layers, struct arena *a);
const struct plan_change *data_look_change(const struct data_look *l, uint32_t noderole);
uint32_t data_look_role(struct data_look *l, uint32_t noderole);
struct data_lens *data_look_lens(struct data_look *l, uint32_t noderole); /* until the next call */

/* data_digest.c: a set of noderoles that a change may concern */
struct data_touched {
    struct server *server;
    struct u64map known;
    VEC(uint32_t) ids; /* each once */
};
static inline void data_touched_scope_end(struct data_touched *t)
{
    u64map_done(&t->known);
    vec_done(&t->ids);
}
void data_touched_add(struct data_touched *t, uint32_t noderole);
/* All who see its documents and have a changed path among their inputs; itself if told so. */
void data_touched_by(struct data_touched *t, uint32_t noderole, struct sight_paths paths,
                     bool itself);
/* The same for data of a deployment role: of all its noderoles in the deployment and below. */
void data_touched_shared(struct data_touched *t, uint32_t deployment, uint32_t role,
                         struct sight_paths paths);
extern const struct sight_paths data_everything; /* a path that meets every other */

/* data_send.c */
void data_sent_done(struct data_sent *g);
/* A document that was named in a message; "" if it is not kept any more. */
struct str data_sent_get(struct server *s, struct str digest);

#endif
