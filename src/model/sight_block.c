/* sight_block.c - the documents of one noderole, and what calls share
 *
 * A block is the deployment-role data of a noderole's role along its chain of deployments and its
 * own three documents.  The same block is merged for ancestors and shown for peers.
 *
 * The cache is keyed by what a document is made of: a lens for defaults, the set of members for
 * peers.  A thousand noderoles that need one cluster of a thousand then make its document once and
 * hash it once.  It never asks whether the world has changed; sight_cache_reset() is the caller's.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"
#include "model/sight_i.h"

#include <stdlib.h>

#include "base/json.h"
#include "base/map.h"

struct sight_cache {
    struct arena mem;
    struct u64map defaults; /* lens -> struct value * */
    struct strmap peers;    /* bytes of the members' ids in order -> struct value * */
    struct u64map digests;  /* struct value * -> struct digest * */
};

/* --- the cache --- */

struct sight_cache *sight_cache_new(void)
{
    struct sight_cache *c = xcalloc(1, sizeof *c);
    arena_init(&c->mem);
    return c;
}

static void cache_forget(struct sight_cache *c)
{
    u64map_done(&c->defaults);
    strmap_done(&c->peers);
    u64map_done(&c->digests);
}

void sight_cache_reset(struct sight_cache *c)
{
    cache_forget(c);
    arena_reset(&c->mem);
}

void sight_cache_free(struct sight_cache *c)
{
    if (!c)
        return;
    cache_forget(c);
    arena_done(&c->mem);
    free(c);
}

struct digest sight_value_digest(const struct value *v, struct buf *scratch)
{
    buf_clear(scratch);
    json_write_canonical(scratch, v);
    return digest_of(scratch->data, scratch->len);
}

struct digest sight_cache_digest(struct sight_cache *c, const struct value *v, struct buf *scratch)
{
    uintptr_t word;
    if (u64map_get(&c->digests, (uintptr_t)v, &word))
        return *(const struct digest *)word;
    struct digest *kept = arena_new(&c->mem, struct digest, 1);
    *kept = sight_value_digest(v, scratch);
    (void)u64map_put(&c->digests, (uintptr_t)v, (uintptr_t)kept);
    return *kept;
}

/* --- blocks --- */

void sight_build_done(struct sight_build *b)
{
    vec_done(&b->layers);
    vec_done(&b->chain);
}

void sight_build_add(struct sight_build *b, struct sight_layer layer)
{
    if (value_is(layer.doc, VALUE_MAP) && layer.doc->n)
        vec_push(&b->layers, layer);
}

/* Neighbours in (cohort, id) order mostly share a deployment: the last chain is kept. */
static int build_chain(struct sight_build *b, uint32_t deployment, struct err *e)
{
    if (b->chain.n && b->chain.at[0] == deployment)
        return 0;
    vec_clear(&b->chain);
    for (uint32_t d = deployment; d; d = b->w->deployment_parent(b->w->ctx, d)) {
        if (b->chain.n > SIGHT_MAX_DEPTH)
            return err_set(e, ERR_LIMIT, "deployment %u is below more than %d others", deployment,
                           SIGHT_MAX_DEPTH);
        vec_push(&b->chain, d);
    }
    return 0;
}

int sight_build_block(struct sight_build *b, const struct sight_one *one, bool ambient,
                      struct err *e)
{
    const struct sight_noderole *nr = &one->nr;
    struct sight_layer l = {.noderole = one->id, .role = nr->role, .node = nr->node};
    const struct {
        enum sight_kind kind;
        const struct value *doc;
    } own[] = {{SIGHT_WALL, nr->wall}, {SIGHT_SYSTEM, nr->system}, {SIGHT_USER, nr->user}};

    int rc = build_chain(b, nr->deployment, e);
    if (rc < 0)
        return rc;
    l.part = SIGHT_DEPLOYMENT_ROLE;
    l.kind = ambient ? SIGHT_AMBIENT : l.part;
    for (size_t i = b->chain.n; i > 0; i--) {
        l.deployment = b->chain.at[i - 1];
        l.doc = b->w->deployment_role(b->w->ctx, l.deployment, nr->role);
        sight_build_add(b, l);
    }
    l.deployment = nr->deployment;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        l.part = (uint8_t)own[i].kind;
        l.kind = ambient ? SIGHT_AMBIENT : l.part;
        l.doc = own[i].doc;
        sight_build_add(b, l);
    }
    return 0;
}

/* --- defaults --- */

/* The value at the end of a path of maps with one member each. */
static const struct value *value_wrap(struct arena *a, struct sight_path path,
                                      const struct value *v)
{
    for (uint32_t i = path.n; i > 0; i--) {
        struct value *map = value_map(a);
        value_set_str(a, map, path.keys[i - 1], v);
        v = map;
    }
    return v;
}

static const struct value *defaults_make(const struct sight_lens *lens, struct arena *a)
{
    sight_items_v items = {0};
    for (uint32_t i = 0; i < lens->n_attributes; i++) {
        const struct sight_attribute *at = &lens->attributes[i];
        const struct value *v = value_get_str(lens->defaults, at->name);
        if (v)
            vec_push(&items, ((struct sight_item){value_wrap(a, sight_attribute_path(at), v), i}));
    }
    const struct value *doc = sight_merge(a, items.at, items.n, false);
    vec_done(&items);
    return doc;
}

const struct value *sight_defaults(struct sight_cache *c, uint32_t id,
                                   const struct sight_lens *lens, struct arena *a)
{
    uintptr_t word;
    if (!c)
        return defaults_make(lens, a);
    if (u64map_get(&c->defaults, id, &word))
        return (const struct value *)word;
    const struct value *doc = defaults_make(lens, &c->mem);
    (void)u64map_put(&c->defaults, id, (uintptr_t)doc);
    return doc;
}

/* --- peers --- */

static int peer_show(struct sight_build *b, const struct sight_one *peer, struct arena *a,
                     struct value *nodes, struct err *e)
{
    struct sight_node node;
    if (!b->w->node(b->w->ctx, peer->nr.node, &node))
        return err_set(e, ERR_CORRUPT, "noderole %u is on node %u, which does not exist", peer->id,
                       peer->nr.node);
    vec_clear(&b->layers);
    int rc = sight_build_block(b, peer, false, e);
    if (rc < 0)
        return rc;
    struct sight_layers block = {b->layers.at, (uint32_t)b->layers.n};
    value_set_str(a, nodes, node.name, sight_data(&block, a));
    return 0;
}

struct peer_role { /* the nodes of one role; copied into the document when all are there */
    struct str name;
    struct value *nodes;
};
typedef VEC(struct peer_role) peer_roles_v;

/* Roles in the order in which they come; by_role holds their numbers. */
static int peer_role_get(const struct sight_world *w, const struct sight_one *peer,
                         struct u64map *by_role, peer_roles_v *roles, struct arena *a,
                         struct value **ret_nodes, struct err *e)
{
    uintptr_t i;
    if (!u64map_get(by_role, peer->nr.role, &i)) {
        struct str name;
        if (!w->role(w->ctx, peer->nr.role, &name))
            return err_set(e, ERR_CORRUPT, "noderole %u is of role %u, which does not exist",
                           peer->id, peer->nr.role);
        i = roles->n;
        vec_push(roles, ((struct peer_role){name, value_map(a)}));
        (void)u64map_put(by_role, peer->nr.role, i);
    }
    *ret_nodes = roles->at[i].nodes;
    return 0;
}

static int peers_make(const struct sight_world *w, const sight_ones_v *peers, struct arena *a,
                      const struct value **ret_doc, struct err *e)
{
    SCOPED(sight_build) b = {.w = w};
    struct u64map by_role = {0};
    peer_roles_v roles = {0};
    int rc = 0;
    for (size_t i = 0; rc >= 0 && i < peers->n; i++) {
        struct value *nodes = NULL;
        rc = peer_role_get(w, &peers->at[i], &by_role, &roles, a, &nodes, e);
        if (rc >= 0)
            rc = peer_show(&b, &peers->at[i], a, nodes, e);
    }
    struct value *all = value_map(a), *doc = value_map(a);
    for (size_t i = 0; rc >= 0 && i < roles.n; i++)
        value_set_str(a, all, roles.at[i].name, roles.at[i].nodes);
    value_set(a, doc, "peers", all);
    u64map_done(&by_role);
    vec_done(&roles);
    if (rc >= 0)
        *ret_doc = doc;
    return rc;
}

int sight_peers(const struct sight_world *w, struct sight_cache *c, const sight_ones_v *peers,
                struct arena *a, const struct value **ret_doc, struct err *e)
{
    SCOPED_BUF(key);
    uintptr_t word;
    if (!c)
        return peers_make(w, peers, a, ret_doc, e);
    buf_reserve(&key, peers->n * sizeof(uint32_t));
    for (size_t i = 0; i < peers->n; i++)
        buf_put(&key, &peers->at[i].id, sizeof peers->at[i].id);
    if (strmap_get(&c->peers, buf_str(&key), &word)) {
        *ret_doc = (const struct value *)word;
        return 0;
    }
    const struct value *doc;
    int rc = peers_make(w, peers, &c->mem, &doc, e);
    if (rc < 0)
        return rc;
    (void)strmap_put(&c->peers, buf_str(&key), (uintptr_t)doc);
    *ret_doc = doc;
    return 0;
}
