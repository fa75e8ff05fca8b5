/* sight.c - who is seen, and in which order
 *
 * Walks the needs of one noderole with a work list and a set of those met; asks the world only
 * about what it reaches and about its node.  The list of ancestors is its own work list: what is
 * appended is walked later. Invariants: each noderole is collected once per capacity (ancestor,
 * peer, ambient); the order of layers depends on (cohort, id) alone, not on the order of answers.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"
#include "model/sight_i.h"

#include <stdlib.h>

#include "base/map.h"

enum { SEEN_ANCESTOR = 1u << 0, SEEN_PEER = 1u << 1, SEEN_AMBIENT = 1u << 2 };

struct sight_walk {
    const struct sight_world *w;
    struct sight_one self;
    struct u64map seen; /* id -> SEEN_ */
    sight_ones_v ancestors, peers, ambient;
};

static void sight_walk_scope_end(struct sight_walk *k)
{
    u64map_done(&k->seen);
    vec_done(&k->ancestors);
    vec_done(&k->peers);
    vec_done(&k->ambient);
}

const char *sight_kind_name(enum sight_kind k)
{
    static const char *const names[SIGHT_KIND_COUNT] = {
#define X(id, text) [SIGHT_##id] = text,
        SIGHT_KINDS(X)
#undef X
    };
    return (unsigned)k < SIGHT_KIND_COUNT ? names[k] : "unknown";
}

static unsigned walk_seen(const struct sight_walk *k, uint32_t id)
{
    uintptr_t bits = 0;
    (void)u64map_get(&k->seen, id, &bits);
    return (unsigned)bits;
}

static int walk_collect(struct sight_walk *k, sight_ones_v *to, unsigned as,
                        const struct sight_one *one, const char *what, struct err *e)
{
    if (to->n == SIGHT_MAX_NODEROLES)
        return err_set(e, ERR_LIMIT, "noderole %u has more than %d %s", k->self.id,
                       SIGHT_MAX_NODEROLES, what);
    (void)u64map_put(&k->seen, one->id, walk_seen(k, one->id) | as);
    vec_push(to, *one);
    return 0;
}

/* --- reaching --- */

static int walk_need(struct sight_walk *k, uint32_t of, const struct sight_need *need,
                     struct err *e)
{
    bool direct = of == k->self.id;
    unsigned seen = walk_seen(k, need->id);
    struct sight_one parent = {.id = need->id};

    if ((seen & SEEN_ANCESTOR) && !(direct && need->peer))
        return 0; /* known, and as whatever this need is there is nothing to add */
    if (!k->w->noderole(k->w->ctx, need->id, &parent.nr))
        return err_set(e, ERR_CORRUPT, "noderole %u needs noderole %u, which does not exist", of,
                       need->id);
    if (!need->peer || !parent.nr.member)
        return seen & SEEN_ANCESTOR
                   ? 0
                   : walk_collect(k, &k->ancestors, SEEN_ANCESTOR, &parent, "ancestors", e);
    if (!direct || (seen & SEEN_PEER))
        return 0;
    return walk_collect(k, &k->peers, SEEN_PEER, &parent, "peers", e);
}

static int walk_needs(struct sight_walk *k, uint32_t of, struct err *e)
{
    struct sight_needs needs = k->w->needs(k->w->ctx, of);
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < needs.n; i++)
        rc = walk_need(k, of, &needs.at[i], e);
    return rc;
}

static int walk_up(struct sight_walk *k, struct err *e)
{
    (void)u64map_put(&k->seen, k->self.id, SEEN_ANCESTOR | SEEN_PEER | SEEN_AMBIENT);
    int rc = walk_needs(k, k->self.id, e);
    for (size_t i = 0; rc >= 0 && i < k->ancestors.n; i++)
        rc = walk_needs(k, k->ancestors.at[i].id, e);
    return rc;
}

static int walk_node(struct sight_walk *k, struct err *e)
{
    if (!k->self.nr.node)
        return 0;
    struct sight_ids ids = k->w->on_node(k->w->ctx, k->self.nr.node);
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < ids.n; i++) {
        struct sight_one other = {.id = ids.at[i]};
        if (walk_seen(k, other.id))
            continue;
        if (!k->w->noderole(k->w->ctx, other.id, &other.nr))
            return err_set(e, ERR_CORRUPT, "noderole %u of node %u does not exist", other.id,
                           k->self.nr.node);
        if (other.nr.active)
            rc = walk_collect(k, &k->ambient, SEEN_AMBIENT, &other, "neighbours", e);
    }
    return rc;
}

/* --- ordering --- */

static int one_order(const void *pa, const void *pb)
{
    const struct sight_one *a = pa, *b = pb;
    if (a->nr.cohort != b->nr.cohort)
        return a->nr.cohort < b->nr.cohort ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* Members of a cluster mostly come in order: a look is cheaper than sorting them again. */
static void ones_sort(sight_ones_v *ones)
{
    size_t i = 1;
    while (i < ones->n && one_order(&ones->at[i - 1], &ones->at[i]) < 0)
        i++;
    if (i < ones->n)
        qsort(ones->at, ones->n, sizeof *ones->at, one_order);
}

static int build_blocks(struct sight_build *b, sight_ones_v *ones, bool ambient, struct err *e)
{
    int rc = 0;
    ones_sort(ones);
    for (size_t i = 0; rc >= 0 && i < ones->n; i++)
        rc = sight_build_block(b, &ones->at[i], ambient, e);
    return rc;
}

static struct sight_layer layer_of(const struct sight_one *self, enum sight_kind kind,
                                   const struct value *doc)
{
    return (struct sight_layer){(uint8_t)kind,       (uint8_t)kind, self->id, self->nr.role,
                                self->nr.deployment, self->nr.node, doc};
}

static int build_node(struct sight_build *b, const struct sight_one *self, struct arena *a,
                      struct err *e)
{
    struct sight_node node;
    if (!self->nr.node)
        return 0;
    if (!b->w->node(b->w->ctx, self->nr.node, &node))
        return err_set(e, ERR_CORRUPT, "noderole %u is on node %u, which does not exist", self->id,
                       self->nr.node);
    if (!value_is(node.facts, VALUE_MAP) || !node.facts->n)
        return 0;
    struct value *doc = value_map(a);
    value_set(a, doc, "node", node.facts);
    sight_build_add(b, layer_of(self, SIGHT_NODE, doc));
    return 0;
}

static int build_peers(struct sight_build *b, struct sight_walk *k, struct sight_cache *c,
                       struct arena *a, struct err *e)
{
    const struct value *doc;
    if (!k->peers.n)
        return 0;
    ones_sort(&k->peers);
    int rc = sight_peers(k->w, c, &k->peers, a, &doc, e);
    if (rc >= 0)
        sight_build_add(b, layer_of(&k->self, SIGHT_PEERS, doc));
    return rc;
}

/* The order of the layers: the list in sight.h, line by line. */
static int build_all(struct sight_build *b, struct sight_walk *k, struct sight_cache *c,
                     unsigned flags, struct arena *a, struct err *e)
{
    struct sight_lens lens;
    if (!k->w->lens(k->w->ctx, k->self.nr.lens, &lens))
        return err_set(e, ERR_CORRUPT, "noderole %u has lens %u, which does not exist", k->self.id,
                       k->self.nr.lens);
    sight_build_add(
        b, layer_of(&k->self, SIGHT_DEFAULT, sight_defaults(c, k->self.nr.lens, &lens, a)));
    int rc = build_blocks(b, &k->ambient, true, e);
    if (rc >= 0)
        rc = build_blocks(b, &k->ancestors, false, e);
    if (rc >= 0)
        rc = sight_build_block(b, &k->self, false, e);
    if (rc >= 0)
        rc = build_node(b, &k->self, a, e);
    if (rc >= 0 && (flags & SIGHT_F_PEERS))
        rc = build_peers(b, k, c, a, e);
    return rc;
}

int sight_collect(const struct sight_world *w, struct sight_cache *c, uint32_t id, unsigned flags,
                  struct arena *a, struct sight_layers *ret_layers, struct err *e)
{
    SCOPED(sight_walk) k = {.w = w, .self.id = id};
    SCOPED(sight_build) b = {.w = w};
    if (!w->noderole(w->ctx, id, &k.self.nr))
        return err_set(e, ERR_NOT_FOUND, "there is no noderole %u", id);
    int rc = walk_up(&k, e);
    if (rc >= 0 && (flags & SIGHT_F_AMBIENT))
        rc = walk_node(&k, e);
    if (rc >= 0)
        rc = build_all(&b, &k, c, flags, a, e);
    if (rc < 0)
        return rc;
    struct sight_layer *at = arena_new(a, struct sight_layer, b.layers.n);
    if (b.layers.n)
        memcpy(at, b.layers.at, b.layers.n * sizeof *at);
    *ret_layers = (struct sight_layers){at, (uint32_t)b.layers.n};
    return 0;
}

int sight_layers(const struct sight_world *w, struct sight_cache *c, uint32_t id, struct arena *a,
                 struct sight_layers *ret_layers, struct err *e)
{
    return sight_collect(w, c, id, SIGHT_F_AMBIENT | SIGHT_F_PEERS, a, ret_layers, e);
}
