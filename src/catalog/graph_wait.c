/* graph_wait.c - what a vertex of a task graph waits for, and the expressions in it
 *
 * Lists of ids, lists of cross dependencies, or an expression that gives such a list on each node.
 * A list with expressions inside is turned into one expression, so that there are only these forms.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "template/expr.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* --- expressions --- */

static void expr_fault(struct load *l, const struct value *v, const struct err *why)
{
    struct err *e = catalog_fault(l, CATALOG_ERROR, why->code, catalog_where_in(v, why), "%s",
                                  why->text);
    /* It begins with a caret below a line that is not shown here. */
    const char *hint = why->hint + strspn(why->hint, " ^");
    if (*hint)
        (void)err_hint(e, "%s", hint);
}

/* Only the three names that every expression of a graph has. */
static void expr_names_check(struct load *l, const struct value *v, const struct expr *x)
{
    static const char *const known[] = {"data", "node", "common"};
    struct str path;

    for (size_t i = 0; expr_path_at(x, i, &path); i++) {
        const char *dot = memchr(path.s, '.', path.n);
        struct str name = {path.s, dot ? (size_t)(dot - path.s) : path.n};
        bool there = false;
        for (size_t k = 0; k < COUNT(known); k++)
            there |= str_is(name, known[k]);
        if (there)
            continue;
        struct err *e = catalog_error(l, v, ERR_UNKNOWN_NAME, "there is no \"%.*s\" to look at",
                                      (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64),
                                      name.s);
        (void)err_hint(e, "there are data, node and common");
    }
}

const struct expr *catalog_read_expr(struct load *l, const struct value *v, struct str text)
{
    struct catalog_where where = catalog_where_of(v);
    struct expr_options o = {.origin = {l->docs[where.file].path.s, where.line, where.column}};
    const struct expr *x = NULL;
    struct err why = {0};

    if (expr_compile(l->mem, text, &o, &x, &why) < 0) {
        expr_fault(l, v, &why);
        return NULL;
    }
    expr_names_check(l, v, x);
    return x;
}

const struct value *catalog_expr_in(const struct value *v)
{
    const struct value *text = v->kind == VALUE_MAP && v->n == 1 ? value_get(v, "expr") : NULL;
    return value_is(text, VALUE_STRING) ? text : NULL;
}

/* --- faults of graph_word.c --- */

void graph_reader_doubt(struct load *l, const struct graph_reader *r)
{
    if (r->doubt)
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(r->doubt), "%s",
                      r->doubt_why);
}

void graph_reader_fault(struct load *l, const struct graph_reader *r, const struct err *why)
{
    struct err *e = catalog_fault(l, CATALOG_ERROR, why->code, catalog_where_of(r->at), "%s",
                                  why->text);
    if (why->hint[0])
        (void)err_hint(e, "%s", why->hint);
}

/* --- what it waits for --- */

static struct load_names ids_read(struct load *l, const struct value *v, const char *what)
{
    static const struct value nothing = {.kind = VALUE_LIST};
    const struct value *list = v->kind == VALUE_NULL ? &nothing : catalog_read_list(l, v, what);
    struct load_names names = {arena_new(&l->scratch, struct load_name, list->n), 0, true};
    struct strmap seen = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = &list->items[i];
        struct str s = catalog_read_text(l, item, "an id");
        if (!s.n && item->kind != VALUE_STRING)
            continue;
        if (!graph_id_valid(s))
            catalog_error(l, item, ERR_INVALID, "%s: \"%.*s\" cannot be an id", what,
                          (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64), s.s);
        else if (strmap_put(&seen, s, i))
            names.at[names.n++] = (struct load_name){s, item};
        else
            catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(item),
                          "%s names \"%s\" twice", what, s.s);
    }
    strmap_done(&seen);
    return names;
}

void catalog_read_vertex_requires(struct load *l, const struct value *v, void *object)
{
    ((struct load_vertex *)object)->requires = ids_read(l, v, "\"requires\"");
}

void catalog_read_vertex_required_for(struct load *l, const struct value *v, void *object)
{
    ((struct load_vertex *)object)->required_for = ids_read(l, v, "\"required_for\"");
}

void catalog_read_vertex_tasks(struct load *l, const struct value *v, void *object)
{
    ((struct load_vertex *)object)->tasks = ids_read(l, v, "\"tasks\"");
}

/* A literal of the expression language for text, or in brackets what {expr: TEXT} says; `none` for
 * all else, which is refused when it is evaluated. */
static void literal_write(struct buf *b, const struct value *v)
{
    const struct value *text = catalog_expr_in(v);
    struct str s = value_as_str(text ? text : v);

    if (text) {
        buf_printf(b, "(%.*s)", (int)s.n, s.s);
    } else if (v->kind == VALUE_STRING) {
        buf_putc(b, '\'');
        for (size_t i = 0; i < s.n; i++) {
            if (s.s[i] == '\'' || s.s[i] == '\\')
                buf_putc(b, '\\');
            buf_putc(b, s.s[i]);
        }
        buf_putc(b, '\'');
    } else {
        buf_puts(b, "none");
    }
}

static void member_write(struct buf *b, const struct member *m)
{
    struct value key = {.kind = VALUE_STRING, .s = m->key, .n = m->key_n};

    literal_write(b, &key);
    buf_puts(b, ": ");
    if (m->v.kind != VALUE_LIST) {
        literal_write(b, &m->v);
        return;
    }
    for (uint32_t i = 0; i < m->v.n; i++) {
        buf_puts(b, i ? ", " : "[");
        literal_write(b, &m->v.items[i]);
    }
    buf_puts(b, m->v.n ? "]" : "[]");
}

static bool cross_has_expr(const struct value *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = &list->items[i];
        for (uint32_t k = 0; item->kind == VALUE_MAP && k < item->n; k++) {
            const struct value *v = &item->members[k].v;
            bool has = catalog_expr_in(v);
            for (uint32_t m = 0; v->kind == VALUE_LIST && m < v->n; m++)
                has |= catalog_expr_in(&v->items[m]) != NULL;
            if (has)
                return true;
        }
    }
    return false;
}

/* A list with expressions inside becomes one expression that gives the list. */
static const struct expr *cross_as_expr(struct load *l, const struct value *list)
{
    SCOPED_BUF(b);

    buf_putc(&b, '[');
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *item = &list->items[i];
        buf_puts(&b, i ? ", " : "");
        if (item->kind != VALUE_MAP) {
            buf_puts(&b, "none");
            continue;
        }
        buf_putc(&b, '{');
        for (uint32_t k = 0; k < item->n; k++) {
            buf_puts(&b, k ? ", " : "");
            member_write(&b, &item->members[k]);
        }
        buf_putc(&b, '}');
    }
    buf_putc(&b, ']');
    return catalog_read_expr(l, list, (struct str){b.data, b.len});
}

static void cross_read(struct load *l, const struct value *v, const char *what,
                       const struct graph_cross **ret, uint32_t *ret_n,
                       const struct expr **ret_expr)
{
    const struct value *text = catalog_expr_in(v);

    if (text) {
        *ret_expr = catalog_read_expr(l, text, value_as_str(text));
        return;
    }
    if (v->kind == VALUE_NULL)
        return;
    const struct value *list = catalog_read_list(l, v, what);
    if (cross_has_expr(list)) {
        *ret_expr = cross_as_expr(l, list);
        return;
    }
    struct graph_cross *all = arena_new(l->mem, struct graph_cross, list->n);
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        struct graph_reader r = {.mem = l->mem, .patterns = l->patterns, .lenient = l->lenient};
        struct err why = {0};
        if (list->items[i].kind == VALUE_NULL)
            continue;
        if (graph_cross_item(&r, &list->items[i], &all[n], &why) < 0)
            graph_reader_fault(l, &r, &why);
        else
            n++;
        graph_reader_doubt(l, &r);
    }
    *ret = all;
    *ret_n = n;
}

void catalog_read_vertex_depends(struct load *l, const struct value *v, void *object)
{
    struct graph_vertex *x = &((struct load_vertex *)object)->v;
    cross_read(l, v, "\"cross_depends\"", &x->depends, &x->n_depends, &x->depends_of);
}

void catalog_read_vertex_depended_by(struct load *l, const struct value *v, void *object)
{
    struct graph_vertex *x = &((struct load_vertex *)object)->v;
    cross_read(l, v, "\"cross_depended_by\"", &x->depended_by, &x->n_depended_by,
               &x->depended_by_of);
}
