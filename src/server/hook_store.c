/* hook_store.c - the stores of roles: trees in memory, text in rows
 *
 * What an edit replaces stays in the arena of its tree until there is more waste than content: then
 * the tree is copied.  Sizes are kept by what edits add and take away, not by writing the whole.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hook_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

enum { WASTE_LEAST = 256 << 10, FEW_EDITS = 32 };

struct kept {
    uint32_t rev;
    char *text;         /* as it is stored; NULL: never */
    struct value *root; /* NULL: not read yet */
    struct arena mem;   /* of the root */
    size_t bytes, waste;
    bool dirty;
};
struct hook_stores {
    VEC(struct kept) at; /* by role */
    VEC(uint32_t) dirty;
    hook_store_row_f *row;
    void *arg;
};

struct hook_stores *hook_stores_new(hook_store_row_f *row, void *arg)
{
    struct hook_stores *all = xcalloc(1, sizeof *all);
    all->row = row;
    all->arg = arg;
    return all;
}

static void tree_drop(struct kept *k)
{
    if (k->root)
        arena_done(&k->mem);
    k->root = NULL;
}

void hook_stores_free(struct hook_stores *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->at.n; i++) {
        tree_drop(&all->at.at[i]);
        free(all->at.at[i].text);
    }
    vec_done(&all->at);
    vec_done(&all->dirty);
    free(all);
}

static struct kept *kept_of(struct hook_stores *all, uint32_t role)
{
    while (all->at.n <= role)
        (void)vec_add(&all->at);
    return &all->at.at[role];
}

static int load_store(void *arg, enum row_table t, const void *row, struct err *e)
{
    const struct row_role_store *r = row;
    struct kept *k = kept_of(arg, r->id);
    SCOPED_ARENA(mem);
    struct value *v;
    (void)t;
    if (json_parse(&mem, r->body.s, r->body.n, NULL, &v, e) < 0 || v->kind != VALUE_MAP)
        return err_set(e, ERR_CORRUPT, "the store of role number %u is no map", r->id);
    k->rev = r->rev;
    k->text = xstrndup(r->body.s, r->body.n);
    return 0;
}

int hook_stores_load(struct hook_stores *all, struct store *from, struct err *e)
{
    return store_each(from, ROWS_ROLE_STORE, load_store, all, e);
}

/* ---- reading ---- */

static struct kept *kept_read(struct hook_stores *all, uint32_t role)
{
    struct kept *k = kept_of(all, role);
    struct err e;
    if (k->root)
        return k;
    arena_init(&k->mem);
    k->bytes = k->text ? strlen(k->text) : 2;
    k->waste = 0;
    if (!k->text || json_parse(&k->mem, k->text, k->bytes, NULL, &k->root, &e) < 0)
        k->root = value_map(&k->mem); /* text was parsed when it was loaded or written */
    return k;
}

const struct value *hook_store_get(struct hook_stores *all, uint32_t role)
{
    return kept_read(all, role)->root;
}

uint32_t hook_store_rev(const struct hook_stores *all, uint32_t role)
{
    return role < all->at.n ? all->at.at[role].rev : 0;
}

/* ---- changing ---- */

static struct str key_take(struct str *path)
{
    const char *slash = memchr(path->s, '/', path->n);
    struct str key = {path->s, slash ? (size_t)(slash - path->s) : path->n};
    *path = slash ? (struct str){slash + 1, path->n - key.n - 1} : (struct str){path->s, 0};
    return key;
}

/* A value of a tree that is ours to change; NULL if there is none. */
static struct value *inside(struct arena *a, struct value *map, struct str key)
{
    const struct value *v = value_get_str(map, key);
    if (v && map->cap == 0) { /* it shares its members: it gets its own */
        value_set_str(a, map, key, v);
        v = value_get_str(map, key);
    }
    return (struct value *)(uintptr_t)v;
}

static void key_drop(struct arena *a, struct value *map, struct str key)
{
    struct value rest = {.kind = VALUE_MAP};
    for (uint32_t i = 0; i < map->n; i++) {
        struct str k = {map->members[i].key, map->members[i].key_n};
        if (!str_eq(k, key))
            value_set_str(a, &rest, k, &map->members[i].v);
    }
    rest.line = map->line;
    *map = rest;
}

static int no_map(struct str key, struct err *e)
{
    return err_set(e, ERR_INVALID, "%.*s is no map, so nothing can be put below it", (int)key.n,
                   key.s);
}

int hook_tree_edit(struct arena *a, struct value *map, struct str path, const struct value *v,
                   struct err *e)
{
    struct str key = key_take(&path);
    while (path.n) {
        struct value *next = inside(a, map, key);
        if (next && next->kind != VALUE_MAP)
            return no_map(key, e);
        if (!next && !v)
            return 0; /* what is to go is not there */
        if (!next) {
            value_set_str(a, map, key, &(struct value){.kind = VALUE_MAP});
            next = inside(a, map, key);
        }
        map = next;
        key = key_take(&path);
    }
    if (v)
        value_set_str(a, map, key, v);
    else if (value_get_str(map, key))
        key_drop(a, map, key);
    return 0;
}

/* What is at a path, and of how many members the map is that it is in. */
static const struct value *look(const struct value *map, struct str path, uint32_t *ret_members,
                                struct err *e)
{
    struct str key = key_take(&path);
    for (; path.n && map; key = key_take(&path)) {
        map = value_get_str(map, key);
        if (map && map->kind != VALUE_MAP) {
            (void)no_map(key, e);
            return NULL;
        }
    }
    *ret_members = map ? map->n : 0;
    return map ? value_get_str(map, key) : NULL;
}

static size_t text_bytes(struct str path, const struct value *v)
{
    SCOPED_BUF(text);
    if (!v)
        return 0;
    json_write(&text, v, 0);
    return text.len + path.n + 4;
}

/* Sizes as they would be; refuses what cannot be.  Edits of one hook do not see each other here:
 * two of the same path count twice, which errs on the safe side. */
static int edits_weigh(struct kept *k, const struct hook_store_edit *edits, uint32_t n,
                       size_t *ret_bytes, size_t *ret_waste, struct err *e)
{
    size_t bytes = k->bytes, waste = k->waste;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t members = 0;
        struct err why = {0};
        const struct value *was = look(k->root, edits[i].path, &members, &why);
        if (why.code) {
            if (e)
                *e = why;
            return -(int)why.code;
        }
        size_t more = text_bytes(edits[i].path, edits[i].v), less = text_bytes(edits[i].path, was);
        bytes = bytes + more > less ? bytes + more - less : 2;
        waste += less + (edits[i].v ? 0 : members * sizeof(struct member));
    }
    if (bytes > HOOK_STORE_BYTES)
        return err_set(e, ERR_LIMIT, "the store would be about %zu bytes; at most %d are kept",
                       bytes, HOOK_STORE_BYTES);
    *ret_bytes = bytes;
    *ret_waste = waste;
    return 0;
}

static bool below(struct str path, struct str above)
{
    return path.n >= above.n && memcmp(path.s, above.s, above.n) == 0 &&
           (path.n == above.n || path.s[above.n] == '/');
}

/* May one edit decide whether another is possible? */
static bool edits_meet(const struct hook_store_edit *edits, uint32_t n)
{
    if (n > FEW_EDITS)
        return true;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (below(edits[i].path, edits[k].path) || below(edits[k].path, edits[i].path))
                return true;
    return false;
}

/* Values may be parts of the tree: they are copied before it changes. */
static int edits_do(struct arena *a, struct value *root, const struct hook_store_edit *edits,
                    uint32_t n, struct err *e)
{
    const struct value **copies = xcalloc(n, sizeof *copies);
    int rc = 0;
    for (uint32_t i = 0; i < n; i++)
        copies[i] = edits[i].v ? value_copy(a, edits[i].v) : NULL;
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        rc = hook_tree_edit(a, root, edits[i].path, copies[i], e);
    free(copies);
    return rc;
}

static int edits_try(const struct value *root, const struct hook_store_edit *edits, uint32_t n,
                     struct err *e)
{
    SCOPED_ARENA(mem);
    return edits_do(&mem, value_copy(&mem, root), edits, n, e);
}

static void waste_drop(struct kept *k)
{
    struct arena fresh;
    if (k->waste < WASTE_LEAST || k->waste < 4 * k->bytes)
        return;
    arena_init(&fresh);
    struct value *root = value_copy(&fresh, k->root);
    arena_done(&k->mem);
    k->mem = fresh;
    k->root = root;
    k->waste = 0;
}

static int edits_check(struct kept *k, const struct hook_store_edit *edits, uint32_t n,
                       size_t *ret_bytes, size_t *ret_waste, struct err *e)
{
    int rc = edits_weigh(k, edits, n, ret_bytes, ret_waste, e);
    return rc >= 0 && n > 1 && edits_meet(edits, n) ? edits_try(k->root, edits, n, e) : rc;
}

int hook_store_check(struct hook_stores *all, uint32_t role, const struct hook_store_edit *edits,
                     uint32_t n, struct err *e)
{
    size_t bytes, waste;
    return edits_check(kept_read(all, role), edits, n, &bytes, &waste, e);
}

int hook_store_edit(struct hook_stores *all, uint32_t role, const struct hook_store_edit *edits,
                    uint32_t n, struct err *e)
{
    struct kept *k = kept_read(all, role);
    size_t bytes, waste;
    int rc = edits_check(k, edits, n, &bytes, &waste, e);
    if (rc < 0 || n == 0)
        return rc;
    (void)edits_do(&k->mem, k->root, edits, n, e); /* each was found possible */
    k->bytes = bytes;
    k->waste = waste;
    waste_drop(k);
    if (!k->dirty)
        vec_push(&all->dirty, role);
    k->dirty = true;
    return 0;
}

void hook_stores_flush(struct hook_stores *all)
{
    for (size_t i = 0; i < all->dirty.n; i++) {
        struct kept *k = &all->at.at[all->dirty.at[i]];
        SCOPED_BUF(text);
        k->dirty = false;
        json_write(&text, k->root, 0);
        if (str_eq(str_of(k->text ? k->text : "{}"), buf_str(&text)))
            continue;
        free(k->text);
        k->text = xstrndup(text.data, text.len);
        k->bytes = text.len;
        k->rev++;
        struct row_role_store row = {.id = all->dirty.at[i],
                                     .tenant = 1,
                                     .realm = 1,
                                     .rev = k->rev,
                                     .body = str_of(k->text)};
        all->row(all->arg, ROW_PUT, &row);
    }
    vec_clear(&all->dirty);
}

void hook_stores_revert(struct hook_stores *all)
{
    for (size_t i = 0; i < all->dirty.n; i++) {
        struct kept *k = &all->at.at[all->dirty.at[i]];
        tree_drop(k);
        k->dirty = false;
    }
    vec_clear(&all->dirty);
}
