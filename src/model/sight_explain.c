/* sight_explain.c - one path through the layers: where its value comes from, what the inputs are
 *
 * Both readings stand on path_find(): what one document has at a path, or what it has above it that
 * is no map and therefore hides all weaker documents there.
 * Invariant: the visible value of a path is what sight_data() has there; a test compares them, and
 * sight_inputs() with sight_inputs_of(), in random worlds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/sight.h"
#include "model/sight_i.h"

#include <stdlib.h>

enum path_found { PATH_ABSENT, PATH_HERE, PATH_CUT };

static enum path_found path_find(const struct value *doc, struct sight_path path,
                                 const struct value **ret_v)
{
    const struct value *v = doc;
    for (uint32_t i = 0; i < path.n; i++) {
        if (v->kind != VALUE_MAP) {
            *ret_v = v;
            return PATH_CUT;
        }
        v = value_get_str(v, path.keys[i]);
        if (!v)
            return PATH_ABSENT;
    }
    *ret_v = v;
    return PATH_HERE;
}

/* --- explain --- */

/* Marks the rows whose numbers are leaves of the tree. */
static void origins_mark(const struct value *tree, struct sight_row *rows)
{
    VEC(const struct value *) todo = {0};
    vec_push(&todo, tree);
    while (todo.n) {
        const struct value *v = todo.at[--todo.n];
        if (v->kind == VALUE_INT)
            rows[v->i].wins = true;
        for (uint32_t i = 0; v->kind == VALUE_MAP && i < v->n; i++)
            vec_push(&todo, &v->members[i].v);
    }
    vec_done(&todo);
}

/* Rows [from, n) are maps with nothing else between them: who of them shows, and what it is. */
static const struct value *rows_settle(struct sight_row *rows, size_t from, size_t n,
                                       struct arena *a)
{
    sight_items_v items = {0};
    for (size_t i = from; i < n; i++)
        vec_push(&items, ((struct sight_item){rows[i].value, (uint32_t)i}));
    const struct value *visible = sight_merge(a, items.at, items.n, false);
    if (visible) {
        origins_mark(sight_merge(a, items.at, items.n, true), rows);
    } else { /* all are empty */
        visible = rows[n - 1].value;
        rows[n - 1].wins = true;
    }
    vec_done(&items);
    return visible;
}

struct sight_explanation sight_explain(const struct sight_layers *layers, struct sight_path path,
                                       struct arena *a)
{
    struct sight_row *rows = arena_new(a, struct sight_row, layers->n);
    size_t n = 0, from = 0; /* rows before `from` are hidden */
    for (uint32_t i = 0; i < layers->n; i++) {
        struct sight_row row = {.layer = &layers->at[i]};
        enum path_found found = path_find(row.layer->doc, path, &row.value);
        if (found == PATH_ABSENT)
            continue;
        row.cuts = found == PATH_CUT;
        bool joins = found == PATH_HERE && row.value->kind == VALUE_MAP && n > from &&
                     rows[n - 1].value->kind == VALUE_MAP;
        if (!joins)
            from = row.cuts ? n + 1 : n;
        rows[n++] = row;
    }
    struct sight_explanation x = {.rows = rows, .n = (uint32_t)n};
    if (n == from)
        return x;
    if (rows[from].value->kind == VALUE_MAP) {
        x.visible = rows_settle(rows, from, n, a);
    } else {
        x.visible = rows[from].value;
        rows[from].wins = true;
    }
    return x;
}

/* --- inputs --- */

static int key_path_order(const void *pa, const void *pb)
{
    const struct sight_path *a = pa, *b = pb;
    for (uint32_t i = 0; i < a->n && i < b->n; i++) {
        int order = str_cmp(a->keys[i], b->keys[i]);
        if (order)
            return order;
    }
    return a->n < b->n ? -1 : a->n > b->n;
}

/* The paths of attributes and wants, sorted, each once: a catalog that only says the same in
 * another order must not make anybody run again. */
static struct sight_paths input_paths(const struct sight_lens *lens, struct arena *a)
{
    size_t n = (size_t)lens->n_attributes + lens->wants.n, kept = 0;
    struct sight_path *all = arena_new(a, struct sight_path, n);
    for (uint32_t i = 0; i < lens->n_attributes; i++)
        all[i] = sight_attribute_path(&lens->attributes[i]);
    for (uint32_t i = 0; i < lens->wants.n; i++)
        all[lens->n_attributes + i] = lens->wants.at[i];
    if (n > 1)
        qsort(all, n, sizeof *all, key_path_order);
    for (size_t i = 0; i < n; i++)
        if (!kept || key_path_order(&all[kept - 1], &all[i]))
            all[kept++] = all[i];
    return (struct sight_paths){all, (uint32_t)kept};
}

/* One path of the text that is hashed: its keys, and a digest of the value unless it is absent.
 * Every part has its length in front or a fixed size, so that no two lists give the same bytes. */
static void input_write(struct buf *text, struct sight_path path, const struct digest *value)
{
    buf_u64(text, path.n);
    buf_putc(text, ';');
    for (uint32_t i = 0; i < path.n; i++) {
        buf_u64(text, path.keys[i].n);
        buf_putc(text, ':');
        buf_put(text, path.keys[i].s, path.keys[i].n);
    }
    buf_putc(text, value ? '=' : '-');
    if (value)
        buf_put(text, value->b, sizeof value->b);
}

static uint64_t input_digest(const struct buf *text)
{
    struct str s = buf_str(text);
    return digest_64(s.s, s.n);
}

uint64_t sight_inputs_of(const struct sight_lens *lens, const struct value *doc, struct arena *a)
{
    SCOPED_BUF(text);
    SCOPED_BUF(scratch);
    struct sight_paths paths = input_paths(lens, a);
    for (uint32_t i = 0; i < paths.n; i++) {
        const struct value *v = sight_at(doc, paths.at[i]);
        struct digest d;
        if (v)
            d = sight_value_digest(v, &scratch);
        input_write(&text, paths.at[i], v ? &d : NULL);
    }
    return input_digest(&text);
}

struct input_look { /* what is visible at a path */
    const struct value *v;
    bool peers; /* it is a part of the peers' document, which may be shared */
};

static struct input_look input_find(const struct sight_layers *layers, struct sight_path path,
                                    sight_items_v *maps, struct arena *a)
{
    struct input_look found = {0};
    vec_clear(maps);
    for (uint32_t i = layers->n; i > 0; i--) {
        const struct sight_layer *l = &layers->at[i - 1];
        const struct value *v;
        enum path_found at = path_find(l->doc, path, &v);
        if (at == PATH_ABSENT)
            continue;
        bool map = at == PATH_HERE && v->kind == VALUE_MAP;
        if (at == PATH_HERE && !found.v)
            found = (struct input_look){v, l->kind == SIGHT_PEERS};
        if (!map)
            break;
        if (v->n)
            vec_push(maps, ((struct sight_item){v, i - 1}));
    }
    if (maps->n == 0 || (maps->n == 1 && maps->at[0].map == found.v))
        return found;
    for (size_t i = 0, j = maps->n - 1; i < j; i++, j--) { /* weakest first */
        struct sight_item swap = maps->at[i];
        maps->at[i] = maps->at[j];
        maps->at[j] = swap;
    }
    return (struct input_look){sight_merge(a, maps->at, maps->n, false), false};
}

static uint64_t inputs_of_layers(const struct sight_layers *layers, struct sight_paths paths,
                                 struct sight_cache *c, struct arena *a)
{
    SCOPED_BUF(text);
    SCOPED_BUF(scratch);
    sight_items_v maps = {0};
    for (uint32_t i = 0; i < paths.n; i++) {
        struct input_look look = input_find(layers, paths.at[i], &maps, a);
        struct digest d;
        if (look.v)
            d = look.peers && c ? sight_cache_digest(c, look.v, &scratch)
                                : sight_value_digest(look.v, &scratch);
        input_write(&text, paths.at[i], look.v ? &d : NULL);
    }
    vec_done(&maps);
    return input_digest(&text);
}

/* Does a path lead into the peers?  Their document is the one thing worth not making. */
static bool paths_see_peers(struct sight_paths paths)
{
    for (uint32_t i = 0; i < paths.n; i++)
        if (paths.at[i].n == 0 || str_is(paths.at[i].keys[0], "peers"))
            return true;
    return false;
}

int sight_inputs(const struct sight_world *w, struct sight_cache *c, uint32_t id, struct arena *a,
                 uint64_t *ret_digest, struct err *e)
{
    struct sight_noderole nr;
    struct sight_lens lens;
    struct sight_layers layers;
    if (!w->noderole(w->ctx, id, &nr))
        return err_set(e, ERR_NOT_FOUND, "there is no noderole %u", id);
    if (!w->lens(w->ctx, nr.lens, &lens))
        return err_set(e, ERR_CORRUPT, "noderole %u has lens %u, which does not exist", id,
                       nr.lens);
    struct sight_paths paths = input_paths(&lens, a);
    int rc = sight_collect(w, c, id, paths_see_peers(paths) ? SIGHT_F_PEERS : 0, a, &layers, e);
    if (rc >= 0)
        *ret_digest = inputs_of_layers(&layers, paths, c, a);
    return rc;
}
