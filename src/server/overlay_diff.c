/* overlay_diff.c - what differs between two versions of an overlay, vertex by vertex
 *
 * Compared are the graphs that they give, as they are written: an overlay that replaces a vertex by
 * the same has changed nothing.  What lies below is as it is now; old versions are not checked
 * again, since the catalog that they fitted may be another.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/face_overlay.h"

struct side { /* vertices by id, in the order in which layers bring them */
    struct strmap by_id;
    VEC(const struct value *) at;
};

static void side_put(struct side *x, struct str id, const struct value *v)
{
    uintptr_t i;
    if (strmap_get(&x->by_id, id, &i)) {
        x->at.at[i] = v;
        return;
    }
    strmap_put(&x->by_id, id, x->at.n);
    vec_push(&x->at, v);
}

static const struct value *side_get(const struct side *x, struct str id)
{
    uintptr_t i;
    return strmap_get(&x->by_id, id, &i) ? x->at.at[i] : NULL;
}

static void side_done(struct side *x)
{
    strmap_done(&x->by_id);
    vec_done(&x->at);
}

static int side_fill(struct server *s, const struct overlay_key *k, const struct overlay *v,
                     struct arena *mem, struct side *ret, struct err *e)
{
    const struct catalog *cat = overlay_catalog(s);
    const struct catalog_graph *base = catalog_graph_get(cat, k->graph);
    const struct graph_layer *layers;
    struct graphs_trial trial;
    size_t n;
    int rc = overlay_trial(s, k, v, mem, &trial, e);

    if (rc < 0 ||
        (rc = graphs_layers(s, cat, k->deployment, k->graph, &trial, mem, &layers, &n, e)) < 0)
        return rc;
    for (uint32_t i = 0; base && i < base->n_vertices; i++)
        if (base->vertices[i].where.file != CATALOG_NONE)
            side_put(ret, base->vertices[i].id, base->vertices[i].source);
    for (size_t i = 0; i < n; i++)
        for (uint32_t t = 0; t < layers[i].vertices->n; t++) {
            const struct value *task = &layers[i].vertices->items[t];
            side_put(ret, value_as_str(value_get(task, "id")), task);
        }
    return 0;
}

static void keys_add(struct arena *a, struct value *keys, const struct value *v,
                     const struct value *other, bool only_missing)
{
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        const struct value *there = value_get_str(other, (struct str){m->key, m->key_n});
        if (!there || (!only_missing && !value_equal(&m->v, there)))
            value_add(a, keys, value_str(a, (struct str){m->key, m->key_n}));
    }
}

static void entry_add(struct arena *a, struct value *list, const struct value *before,
                      const struct value *after)
{
    struct value *entry = value_map(a), *keys = value_list(a);

    value_set(a, entry, "id", value_get(after ? after : before, "id"));
    if (before && after) {
        keys_add(a, keys, after, before, false);
        keys_add(a, keys, before, after, true);
        value_set(a, entry, "keys", keys);
    }
    if (before)
        value_set(a, entry, "before", value_copy(a, before));
    if (after)
        value_set(a, entry, "after", value_copy(a, after));
    value_add(a, list, entry);
}

static struct value *diff_view(struct arena *a, const struct side *from, const struct side *to)
{
    struct value *out = value_map(a), *added = value_list(a), *removed = value_list(a),
                 *changed = value_list(a);

    for (size_t i = 0; i < to->at.n; i++) {
        const struct value *after = to->at.at[i];
        const struct value *before = side_get(from, value_as_str(value_get(after, "id")));
        if (!before)
            entry_add(a, added, NULL, after);
        else if (!value_equal(before, after))
            entry_add(a, changed, before, after);
    }
    for (size_t i = 0; i < from->at.n; i++)
        if (!side_get(to, value_as_str(value_get(from->at.at[i], "id"))))
            entry_add(a, removed, from->at.at[i], NULL);
    value_set(a, out, "added", added);
    value_set(a, out, "removed", removed);
    value_set(a, out, "changed", changed);
    return out;
}

int overlay_diff(struct server *s, const struct server_call *c, enum overlay_scope scope,
                 struct server_reply *r, struct err *e)
{
    struct overlay_key k;
    struct side from = {0}, to = {0};
    const struct overlay *old, *new, *newest;
    uint32_t from_version, to_version;
    int rc = overlay_named(s, c, scope, &k, e);

    if (rc < 0)
        return rc;
    newest = overlays_newest(s->overlays, &k);
    rc = overlay_version_of(s, &k, c, "to", newest ? newest->version : 0, &to_version, &new, e);
    if (rc >= 0)
        rc = overlay_version_of(s, &k, c, "from", to_version ? to_version - 1 : 0, &from_version,
                                &old, e);
    if (rc < 0)
        return rc;
    rc = side_fill(s, &k, old, c->mem, &from, e);
    if (rc >= 0)
        rc = side_fill(s, &k, new, c->mem, &to, e);
    if (rc >= 0) {
        struct value *out = diff_view(c->mem, &from, &to);
        value_set(c->mem, out, "graph", value_str(c->mem, k.graph));
        value_put_int(c->mem, out, "from", from_version);
        value_put_int(c->mem, out, "to", to_version);
        r->body = out;
    }
    side_done(&from);
    side_done(&to);
    return rc;
}
