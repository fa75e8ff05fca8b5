/* route.c - from a path to a route
 *
 * The table becomes a tree of segments.  A node's fixed children are sorted and found by bisection;
 * a name in braces is its one child for anything else.  A fixed segment wins over a name, and there
 * is no backtracking: a table in which that mattered would surprise people too, and a test refuses
 * it. Matching allocates nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "api/book_i.h"

#include <assert.h>
#include <string.h>

#include "base/sort.h"
#include "base/text.h"

struct route_node {
    struct str name;           /* the fixed segment */
    struct route_node **child; /* sorted by name */
    unsigned n, cap;
    struct route_node *any; /* a name in braces */
    const struct api_route *route[API_METHOD_COUNT];
    unsigned methods;
};

/* The child's place, or where it would have to be. */
static unsigned child_place(const struct route_node *node, struct str name, bool *ret_found)
{
    size_t i = sort_first(node->child, node->n, it, str_cmp((*it)->name, name) >= 0);
    *ret_found = i < node->n && str_eq(node->child[i]->name, name);
    return (unsigned)i;
}

static struct route_node *child_add(struct arena *mem, struct route_node *node, struct str name)
{
    if (name.n && name.s[0] == '{') {
        if (!node->any)
            node->any = arena_new(mem, struct route_node, 1);
        return node->any;
    }
    bool found;
    unsigned at = child_place(node, name, &found);
    if (found)
        return node->child[at];
    if (node->n == node->cap) {
        unsigned cap = node->cap ? node->cap * 2 : 4;
        struct route_node **grown = arena_new(mem, struct route_node *, cap);
        if (node->n)
            memcpy(grown, node->child, node->n * sizeof *grown);
        node->child = grown;
        node->cap = cap;
    }
    memmove(node->child + at + 1, node->child + at, (node->n - at) * sizeof *node->child);
    node->n++;
    node->child[at] = arena_new(mem, struct route_node, 1);
    node->child[at]->name = (struct str){arena_strndup(mem, name.s, name.n), name.n};
    return node->child[at];
}

struct route_node *route_tree_new(struct arena *mem)
{
    struct route_node *root = arena_new(mem, struct route_node, 1);
    for (size_t i = 0; api_route_at(i); i++) {
        const struct api_route *r = api_route_at(i);
        struct route_node *node = root;
        for (const char *at = r->path; *at;) {
            size_t n = strcspn(++at, "/");
            node = child_add(mem, node, (struct str){at, n});
            at += n;
        }
        assert(!node->route[r->method]);
        node->route[r->method] = r;
        node->methods |= 1u << r->method;
    }
    return root;
}

/* The child that a segment leads to; NULL if it leads nowhere. */
static const struct route_node *route_step(const struct route_node *node, struct str segment,
                                           bool *ret_named)
{
    bool found;
    unsigned at = child_place(node, segment, &found);
    *ret_named = !found;
    return found ? node->child[at] : segment.n ? node->any : NULL;
}

void route_find(const struct route_node *root, const struct uri *u, enum api_method m,
                struct route_match *ret_m)
{
    const struct route_node *node = root;

    memset(ret_m, 0, sizeof *ret_m);
    for (unsigned i = 0; i < u->n; i++) {
        bool named;
        node = route_step(node, u->segment[i], &named);
        if (!node)
            return;
        if (named) {
            assert(ret_m->n_ids < API_MAX_PATH_IDS);
            ret_m->id[ret_m->n_ids++] = u->segment[i];
        }
    }
    ret_m->methods = node->methods;
    ret_m->route = m < API_METHOD_COUNT ? node->route[m] : NULL;
}

/* Writes the path with segment `wrong` replaced; later segments as they were asked for. */
static void path_show(const struct uri *u, unsigned wrong, const char *instead, struct buf *b)
{
    for (unsigned i = 0; i < u->n; i++) {
        if (i == wrong && !instead)
            continue;
        buf_putc(b, '/');
        if (i == wrong)
            buf_puts(b, instead);
        else
            buf_put(b, u->segment[i].s, u->segment[i].n);
    }
}

int route_missing(const struct route_node *root, const struct uri *u, struct err *e)
{
    enum { KIDS_MAX = 64 };
    const char *names[KIDS_MAX];
    const struct route_node *node = root;
    unsigned i = 0, n = 0;
    bool named;

    for (; i < u->n; i++) {
        const struct route_node *next = route_step(node, u->segment[i], &named);
        if (!next)
            break;
        node = next;
    }
    err_set(e, ERR_NOT_FOUND, "there is nothing at this path");
    SCOPED_BUF(path);
    if (i + 1 == u->n && !u->segment[i].n && node->methods) { /* a slash too many */
        path_show(u, i, NULL, &path);
        return err_hint(e, "did you mean %s?", path.data);
    }
    for (unsigned k = 0; k < node->n && n < KIDS_MAX; k++)
        names[n++] = node->child[k]->name.s;
    const char *near = i < u->n ? text_nearest(u->segment[i], names, n) : NULL;
    if (!near)
        return err_hint(e, "GET /v1/openapi.json lists what there is");
    path_show(u, i, near, &path);
    return err_hint(e, "did you mean %s?", path.data);
}

void route_allow(unsigned methods, struct buf *b)
{
    for (enum api_method m = 0; m < API_METHOD_COUNT; m++) {
        if (!(methods & 1u << m))
            continue;
        if (b->len)
            buf_puts(b, ", ");
        buf_puts(b, api_method_name(m));
        if (m == API_GET)
            buf_puts(b, ", HEAD");
    }
    buf_puts(b, b->len ? ", OPTIONS" : "OPTIONS");
}
