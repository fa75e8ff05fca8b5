/* expr_among.c - is a value among the items of a list?  Asked many times of one list
 *
 * Lists that are compared are mostly two states of the same one: the item behind the last that was
 * found is tried first, so that a list that did not change costs one comparison for each item.
 * Past that, items are found by a hash that goes one level deep and says the same of whatever is
 * equal; nested containers count by their size only.  A hash that says too little costs steps, and
 * those are counted.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdlib.h>

enum { SCANNED = 8, NOWHERE = UINT32_MAX };

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

static uint64_t hash_bytes(const char *s, size_t n)
{
    uint64_t h = n;
    for (size_t i = 0; i < n; i++)
        h = mix(h, (unsigned char)s[i]);
    return h;
}

/* 1, 1.0 and true are equal, and so are 0.0 and -0.0. */
static uint64_t hash_number(const struct value *v)
{
    double r = v->kind == VALUE_REAL ? v->r : v->kind == VALUE_INT ? (double)v->i : (double)v->b;
    uint64_t bits;
    r += 0.0;
    memcpy(&bits, &r, sizeof bits);
    return mix(1, bits);
}

static uint64_t hash_leaf(const struct value *v)
{
    if (ops_is_number(v))
        return hash_number(v);
    return v->kind == VALUE_STRING ? hash_bytes(v->s, v->n) : mix(v->kind, v->n);
}

static int hash_item(struct eval *ev, const struct value *v, uint64_t *ret)
{
    uint64_t h = hash_leaf(v), sum = 0;
    bool map = v->kind == VALUE_MAP;
    int rc = eval_steps(ev, map || v->kind == VALUE_LIST ? 1 + v->n / 4 : 1);
    for (uint32_t i = 0; rc >= 0 && map && i < v->n; i++) {
        const struct member *m = &v->members[i]; /* in any order: added, not chained */
        sum += mix(hash_bytes(m->key, m->key_n), hash_leaf(&m->v));
    }
    for (uint32_t i = 0; rc >= 0 && v->kind == VALUE_LIST && i < v->n; i++)
        h = mix(h, hash_leaf(&v->items[i]));
    *ret = h + sum;
    return rc;
}

static int index_make(struct eval *ev, struct among *a)
{
    uint32_t size = SCANNED;
    while (size < 2 * a->n)
        size *= 2;
    a->heads = xcalloc(size, sizeof *a->heads);
    a->next = xcalloc(a->n, sizeof *a->next);
    a->mask = size - 1;
    memset(a->heads, 0xff, size * sizeof *a->heads);
    for (uint32_t i = a->n; i-- > 0;) {
        uint64_t h;
        int rc = hash_item(ev, &a->at[i], &h);
        if (rc < 0)
            return rc;
        a->next[i] = a->heads[h & a->mask];
        a->heads[h & a->mask] = i;
    }
    return 0;
}

static int scan(struct eval *ev, struct among *a, const struct value *v, uint32_t *ret_at)
{
    bool same = false;
    uint64_t h = 0;
    int rc = a->heads ? 0 : index_make(ev, a);
    if (rc >= 0)
        rc = hash_item(ev, v, &h);
    if (rc < 0)
        return rc;
    for (uint32_t i = a->heads[h & a->mask]; i != NOWHERE && rc >= 0; i = a->next[i]) {
        rc = ops_equal(ev, v, &a->at[i], &same);
        if (same) {
            *ret_at = i;
            break;
        }
    }
    return rc;
}

int among_has(struct eval *ev, struct among *a, const struct value *v, bool *ret)
{
    uint32_t at = NOWHERE;
    bool same = false;
    int rc = 0;
    if (a->cursor < a->n)
        rc = ops_equal(ev, v, &a->at[a->cursor], &same);
    if (rc >= 0 && same)
        at = a->cursor;
    else if (rc >= 0 && a->n > SCANNED)
        rc = scan(ev, a, v, &at);
    for (uint32_t i = 0; rc >= 0 && a->n <= SCANNED && at == NOWHERE && i < a->n; i++) {
        rc = ops_equal(ev, v, &a->at[i], &same);
        at = same ? i : at;
    }
    if (rc < 0)
        return rc;
    a->cursor = at == NOWHERE ? a->cursor : at + 1;
    *ret = at != NOWHERE;
    return 0;
}

void among_done(struct among *a)
{
    free(a->heads);
    free(a->next);
}

int among_filter(struct eval *ev, const struct value *from, const struct value *in, bool wanted,
                 struct slot *ret)
{
    struct among a = {.at = in->items, .n = in->n};
    struct value *list = NULL;
    int rc = eval_list(ev, from->n, &list);
    for (uint32_t i = 0; rc >= 0 && i < from->n; i++) {
        bool has = false;
        rc = among_has(ev, &a, &from->items[i], &has);
        if (rc >= 0 && has == wanted)
            eval_list_put(list, &from->items[i]);
    }
    among_done(&a);
    return rc < 0 ? rc : give_value(ev, list, ret);
}
