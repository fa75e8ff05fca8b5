/* sight_i.h - what the files of sight share
 *
 *   sight.c          who is seen, in which order: the layers
 *   sight_block.c    the documents of one noderole; what calls share: peers and defaults
 *   sight_merge.c    many maps laid over each other at once, as values or as origins
 *   sight_explain.c  one path through the layers: provenance and inputs
 *   sight_change.c   paths, walls, what differs
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SIGHT_I_H
#define MODEL_SIGHT_I_H

#include "base/alloc.h"
#include "base/digest.h"
#include "model/sight.h"

/* --- blocks --- */

struct sight_one { /* a noderole that is seen */
    uint32_t id;
    struct sight_noderole nr;
};
typedef VEC(struct sight_one) sight_ones_v;
typedef VEC(struct sight_layer) sight_layers_v;

struct sight_build { /* layers as they come, weakest first */
    const struct sight_world *w;
    sight_layers_v layers;
    VEC(uint32_t) chain; /* the deployment asked for last and those above it */
};
void sight_build_done(struct sight_build *b);
static inline void sight_build_scope_end(struct sight_build *b)
{
    sight_build_done(b);
}
/* Adds a layer unless the document is empty or none. */
void sight_build_add(struct sight_build *b, struct sight_layer layer);
/* Deployment-role data root to own, then wall, system, user; as AMBIENT if so told. */
int sight_build_block(struct sight_build *b, const struct sight_one *one, bool ambient,
                      struct err *e);

/* --- shared documents: in the cache if there is one, else in the arena --- */

const struct value *sight_defaults(struct sight_cache *c, uint32_t id,
                                   const struct sight_lens *lens, struct arena *a);
/* {peers: {role: {node: block}}}; peers sorted by (cohort, id), at least one. */
int sight_peers(const struct sight_world *w, struct sight_cache *c, const sight_ones_v *peers,
                struct arena *a, const struct value **ret_doc, struct err *e);
/* Of the canonical text; scratch is overwritten. */
struct digest sight_value_digest(const struct value *v, struct buf *scratch);
/* The same, kept: only for parts of documents that the cache holds. */
struct digest sight_cache_digest(struct sight_cache *c, const struct value *v, struct buf *scratch);

static inline struct sight_path sight_attribute_path(const struct sight_attribute *at)
{
    return at->path.n ? at->path : (struct sight_path){&at->name, 1};
}

/* --- merging --- */

struct sight_item {
    const struct value *map;
    uint32_t tag;
};
typedef VEC(struct sight_item) sight_items_v;
/* Items weakest first.  Those without members give nothing; NULL if none is left.  As values or, as
 * in sight_origins(), as tags. */
const struct value *sight_merge(struct arena *a, const struct sight_item *items, size_t n,
                                bool tags);

/* --- layers for a purpose --- */

enum { SIGHT_F_AMBIENT = 1u << 0, SIGHT_F_PEERS = 1u << 1 };
int sight_collect(const struct sight_world *w, struct sight_cache *c, uint32_t id, unsigned flags,
                  struct arena *a, struct sight_layers *ret_layers, struct err *e);

#endif
