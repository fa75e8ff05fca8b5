/* sight.h - what a run of a noderole sees, where each value comes from, and the digest of its
 * inputs
 *
 * Pure: asks a world of the caller's for documents, makes trees in the caller's arena.  What is
 * seen is a list of layers, weakest first, laid over each other; the list is the one place where
 * the order of RFC 06 section 7 is decided, and data, provenance and inputs are three readings of
 * it:
 *
 *   1  default     defaults of its role's attributes, each at its path
 *   2  ambient     other ACTIVE noderoles of its node by (cohort, id): seen, never inputs
 *   3  for each need-ancestor by (cohort, id), once: deployment-role data of the ancestor's role
 * from the root deployment down to the ancestor's, then its wall, system and user data 4  its own
 * deployment-role data, root to own 5  its own wall, system and user data 6  node        facts
 * about its node, under `node` 7  peers       members of clusters that it needs as a whole, under
 * `peers.<role>.<node>`
 *
 * Maps merge key by key; everything else, null and lists included, replaces.  Decisions:
 *
 * - The block of a noderole is its deployment-role data and then its three documents.  Ancestors,
 *   ambient noderoles and peers all give their block; only one's own role gives defaults.
 * - `node` and `peers` are strongest: they are what is, and no document can contradict them.  They
 *   are layers like all others, so that what a document has there besides is still seen.  Both are
 *   inputs of who names a path there.
 * - A need is a peer's if it says so and the parent is a cluster member; one that is no member (any
 *   more) is an ordinary need.  Only the noderole's own peer needs make its `peers`: what its
 *   ancestors need as a whole is neither followed nor shown, nor are ancestors of peers.
 * - Who is a peer and is also reached through ordinary needs is both shown and merged.  A peer is
 *   never ambient; what a peer needs may be.
 * - Of two peers with one role and one node the later by (cohort, id) is shown.
 * - A document that is no map counts as absent.  Node 0 and deployment 0 are none.
 * - Ancestors count whatever their state; a noderole is never its own ancestor, even in a ring.
 *
 * Provenance goes by layers, not by value.source: 16 bits do not number 100,000 ancestors, and the
 * documents are shared and stay as they are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SIGHT_H
#define MODEL_SIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/value.h"

enum {
    SIGHT_MAX_NODEROLES =
        100000,             /* ancestors of one noderole; its peers, its ambient ones: as many */
    SIGHT_MAX_DEPTH = 1000, /* deployments above one deployment */
};

/* --- what is asked of the world --- */

struct sight_path { /* keys of maps, outermost first; none: the whole document */
    const struct str *keys;
    uint32_t n;
};
struct sight_paths {
    const struct sight_path *at;
    uint32_t n;
};
struct sight_noderole {
    uint32_t role, node, deployment, cohort;
    uint32_t lens;                            /* by which it looks, by the world's number */
    bool active;                              /* in service */
    bool member;                              /* of a cluster */
    const struct value *wall, *system, *user; /* maps, or NULL */
};
struct sight_need {
    uint32_t id;
    bool peer; /* one member of a cluster that is needed as a whole; each member has a need */
};
struct sight_needs {
    const struct sight_need *at;
    uint32_t n;
};
struct sight_ids {
    const uint32_t *at;
    uint32_t n;
};
struct sight_attribute {
    struct str name;
    struct sight_path path; /* none: its name */
};
struct sight_lens { /* what a role's definition says of what its runs see; model/lens.h */
    const struct value *defaults; /* attribute name -> default, or NULL */
    const struct sight_attribute *attributes;
    uint32_t n_attributes;
    struct sight_paths wants;
};
struct sight_node {
    struct str name;
    const struct value *facts; /* a map, or NULL */
};
/* Every answer is borrowed and stays as it is for the duration of a call.  The bool ones are false
 * if there is no such object, and then have written nothing. */
struct sight_world {
    void *ctx;
    bool (*noderole)(void *ctx, uint32_t id, struct sight_noderole *ret_nr);
    struct sight_needs (*needs)(void *ctx, uint32_t noderole);
    struct sight_ids (*on_node)(void *ctx, uint32_t node);
    uint32_t (*deployment_parent)(void *ctx, uint32_t deployment); /* 0: a root */
    const struct value *(*deployment_role)(void *ctx, uint32_t deployment, uint32_t role);
    bool (*role)(void *ctx, uint32_t role, struct str *ret_name);
    bool (*lens)(void *ctx, uint32_t lens, struct sight_lens *ret_lens);
    bool (*node)(void *ctx, uint32_t node, struct sight_node *ret_node);
};

/* What calls share: one `peers` document, and digests of its parts, for all who see the same set of
 * members; one document of defaults a lens.  It borrows from the world's documents: reset it before
 * the next call once a document, a lens or a node's name has changed.  Optional everywhere (NULL).
 * What was made with it lives until it is reset or freed. */
struct sight_cache;
struct sight_cache *sight_cache_new(void);
void sight_cache_free(struct sight_cache *c);
void sight_cache_reset(struct sight_cache *c);
static inline void sight_cache_scope_end(struct sight_cache **c)
{
    sight_cache_free(*c);
}

/* --- layers --- */

#define SIGHT_KINDS(X)                                                                             \
    X(DEFAULT, "default")                                                                          \
    X(AMBIENT, "ambient")                                                                          \
    X(DEPLOYMENT_ROLE, "deployment-role")                                                          \
    X(WALL, "wall")                                                                                \
    X(SYSTEM, "system")                                                                            \
    X(USER, "user")                                                                                \
    X(NODE, "node")                                                                                \
    X(PEERS, "peers")
/* clang-format off */
enum sight_kind {
#define X(id, text) SIGHT_##id,
    SIGHT_KINDS(X)
#undef X
    SIGHT_KIND_COUNT
};
/* clang-format on */
const char *sight_kind_name(enum sight_kind k);

struct sight_layer {
    uint8_t kind;      /* enum sight_kind */
    uint8_t part;      /* AMBIENT: which of its documents this is; else as kind */
    uint32_t noderole; /* whose block it belongs to; DEFAULT, NODE, PEERS: who sees it */
    uint32_t role;     /* of that noderole */
    uint32_t
        deployment; /* DEPLOYMENT_ROLE (also as part): which of the chain; else that noderole's */
    uint32_t node;  /* of that noderole */
    const struct value *doc; /* a map with members: empty documents make no layer */
};
struct sight_layers {
    const struct sight_layer *at; /* weakest first */
    uint32_t n;
};
/* ERR_NOT_FOUND: no such noderole.  ERR_CORRUPT: the world names an object that it does not have.
 * ERR_LIMIT: more than may be seen. */
int sight_layers(const struct sight_world *w, struct sight_cache *c, uint32_t id, struct arena *a,
                 struct sight_layers *ret_layers, struct err *e);

/* The layers laid over each other: a map, empty at least.  Linear in the members of maps that more
 * than one layer has; all other parts are shared with the documents. */
const struct value *sight_data(const struct sight_layers *layers, struct arena *a);
/* The same tree with, instead of each value, the number of the layer that gave it.  Where one layer
 * gave a whole map, its number stands for the map.  NULL if there is no layer. */
const struct value *sight_origins(const struct sight_layers *layers, struct arena *a);

/* --- provenance of one path --- */

struct sight_row {
    const struct sight_layer *layer;
    const struct value *value;
    bool wins; /* it is the visible value, or at least one visible value below it is this layer's */
    bool
        cuts; /* it lies above the path and is no map: what is weaker is hidden, nothing is there */
};
struct sight_explanation {
    const struct sight_row *rows; /* each layer that has a value there, or cuts; weakest first */
    uint32_t n;
    const struct value *visible; /* NULL: absent */
};
struct sight_explanation sight_explain(const struct sight_layers *layers, struct sight_path path,
                                       struct arena *a);

/* --- inputs --- */

/* Digest, never 0, of the values at the lens's attribute paths and wants in all layers but the
 * ambient ones.  Each path is looked up layer by layer from the strongest and the look ends where
 * nothing weaker can be seen; the merged document is not made.  Paths count once and in any order;
 * absent and null differ.  The arena is for scratch: nothing returned lives there. */
int sight_inputs(const struct sight_world *w, struct sight_cache *c, uint32_t id, struct arena *a,
                 uint64_t *ret_digest, struct err *e);
/* What sight_inputs() is by definition: the same of a document that is merged already. */
uint64_t sight_inputs_of(const struct sight_lens *lens, const struct value *doc, struct arena *a);

/* --- what a run changed, and whom it concerns --- */

/* The value at a path of map keys; NULL if absent.  v may be NULL. */
const struct value *sight_at(const struct value *v, struct sight_path path);

struct sight_wall {
    const struct value *doc; /* changed and new values; NULL: nothing changed */
    struct sight_paths gone; /* what was sent and not returned: no merge can express it */
};
/* Deep diff of what a run was sent and what it returned.  No map returned: nothing changed, nothing
 * gone.  It is relative to what was sent, which has the old wall in it: keep it by laying it over
 * the old wall, or a run that returns what it was sent empties the wall. */
struct sight_wall sight_wall(const struct value *sent, const struct value *returned,
                             struct arena *a);

/* Paths at which two documents differ, as deep as both have maps.  Keys are the documents'. */
struct sight_paths sight_changed_paths(const struct value *before, const struct value *after,
                                       struct arena *a);
/* The paths with a prefix in front: what changed in a peer, as those see it who need it. */
struct sight_paths sight_paths_under(struct sight_path prefix, struct sight_paths paths,
                                     struct arena *a);
/* Is a changed path at, above or below a wanted one? */
bool sight_wants_touch(struct sight_paths wants, struct sight_paths changed);
/* The same for all that makes inputs: its wants and its attributes. */
bool sight_lens_touched(const struct sight_lens *lens, struct sight_paths changed);

#endif
