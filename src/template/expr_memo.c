/* expr_memo.c - values that are the same in many scopes
 *
 * A condition over thousands of nodes mostly asks the same of data that all of them share, and then
 * one thing of each: the former is kept here.  An entry is one part of one expression in one view,
 * new or old.  A part that reads something that varies has an entry as well, which says so, so that
 * paths are compared once.
 *
 * Whoever asks whether all of the data has changed asks for little that varies and a lot that does
 * not: members of two maps of the scopes are compared once for all scopes that share them.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdlib.h>

enum { KEPT_BYTES = 4 * 1024 * 1024 }; /* of one value */

struct memo_entry {
    const struct value *v; /* NULL: not known yet */
    bool varies;
};
struct expr_memo {
    struct arena mem;
    const struct str *varying;
    uint32_t n_varying;
    struct strmap index; /* memo_key -> entry */
    VEC(struct memo_entry) entries;
    struct strmap pairs; /* memo_pair -> equal */
};
struct memo_pair { /* contents of two containers; without holes */
    uint64_t a, b;
};
struct memo_key { /* without holes: it is compared as bytes */
    uint64_t expr;
    uint32_t once, old;
};

struct expr_memo *expr_memo_new(const struct str *varying, uint32_t n)
{
    struct expr_memo *m = xcalloc(1, sizeof *m);
    arena_init(&m->mem);
    struct str *copy = arena_new(&m->mem, struct str, n + 1);
    for (uint32_t i = 0; i < n; i++)
        copy[i] = (struct str){arena_strndup(&m->mem, varying[i].s, varying[i].n), varying[i].n};
    m->varying = copy;
    m->n_varying = n;
    return m;
}

void expr_memo_free(struct expr_memo *m)
{
    if (!m)
        return;
    strmap_done(&m->index);
    strmap_done(&m->pairs);
    vec_done(&m->entries);
    arena_done(&m->mem);
    free(m);
}

static bool once_varies(const struct expr_memo *m, const struct expr *x, const struct once *o)
{
    for (uint32_t i = 0; i < o->n_reads; i++)
        for (uint32_t k = 0; k < m->n_varying; k++)
            if (parse_paths_meet(x->paths[x->reads[o->read + i]], m->varying[k]))
                return true;
    return false;
}

int eval_memo_get(struct eval *ev, uint32_t once, struct slot *ret, int64_t *ret_keep)
{
    struct expr_memo *m = ev->memo;
    const struct once *o = &ev->x->onces[once];
    struct memo_key key = {(uintptr_t)ev->x, once, ev->view != ev->scope};
    struct str bytes = {(const char *)&key, sizeof key};
    uint64_t at = m->entries.n;
    *ret_keep = -1;
    if (!o->alone)
        return 0;
    if (!strmap_get(&m->index, bytes, &at)) {
        strmap_put(&m->index, bytes, at);
        vec_push(&m->entries, ((struct memo_entry){.varies = once_varies(m, ev->x, o)}));
    }
    const struct memo_entry *e = &m->entries.at[at];
    if (e->varies)
        return 0;
    *ret_keep = (int64_t)at;
    if (!e->v)
        return 0;
    *ret = (struct slot){.v = e->v};
    return 1;
}

void eval_memo_put(struct eval *ev, int64_t keep, const struct value *v)
{
    struct expr_memo *m = ev->memo;
    if (expr_measure(v, KEPT_BYTES) <= KEPT_BYTES)
        m->entries.at[keep].v = value_copy(&m->mem, v);
}

static bool is_container(const struct value *v)
{
    return v->n && (v->kind == VALUE_LIST || v->kind == VALUE_MAP);
}

/* Values of scopes outlive the memo, so where their contents lie says what they are. */
static int members_equal(struct eval *ev, const struct value *a, const struct value *b, bool *ret)
{
    struct memo_pair key = {(uintptr_t)a->items, (uintptr_t)b->items};
    struct str bytes = {(const char *)&key, sizeof key};
    uintptr_t known;
    if (!is_container(a) || !is_container(b) || a->kind != b->kind || a->n != b->n)
        return ops_equal(ev, a, b, ret);
    *ret = a->items == b->items;
    if (*ret)
        return 0;
    if (strmap_get(&ev->memo->pairs, bytes, &known)) {
        *ret = known;
        return 0;
    }
    int rc = ops_equal(ev, a, b, ret);
    if (rc >= 0)
        strmap_put(&ev->memo->pairs, bytes, *ret);
    return rc;
}

int eval_memo_equal(struct eval *ev, const struct value *a, const struct value *b, bool *ret)
{
    if (!ev->memo || a->kind != VALUE_MAP || b->kind != VALUE_MAP)
        return ops_equal(ev, a, b, ret);
    int rc = eval_steps(ev, 1 + a->n);
    *ret = a->n == b->n;
    for (uint32_t i = 0; i < a->n && rc >= 0 && *ret; i++) {
        const struct member *m = &a->members[i];
        const struct value *other = value_get_str(b, (struct str){m->key, m->key_n});
        *ret = other != NULL;
        if (other)
            rc = members_equal(ev, &m->v, other, ret);
    }
    return rc;
}
