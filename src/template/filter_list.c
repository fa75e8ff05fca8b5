/* filter_list.c - filters on lists: what is in them, which of it, in which order
 *
 * Whatever can be gone through counts as a list: a map is its keys, a text its characters.  Results
 * are lists where Jinja2 has generators.
 *
 * An attribute is a path such as "address.city" or "0.name".  An item that lacks it is an error
 * that names the item, unless the filter says what to do then.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <stdlib.h>

#include "base/map.h"

struct items {
    const struct value *at;
    uint32_t n;
};

static int items_of(struct eval *ev, const struct slot *arg, struct items *ret)
{
    return eval_each(ev, arg->v, &ret->at, &ret->n);
}

static bool is_set(const struct slot *arg)
{
    return arg->v && arg->v->kind != VALUE_NULL;
}

static int missing(struct eval *ev, uint32_t i, struct str path)
{
    return eval_fail(ev, ERR_UNKNOWN_NAME, "item %u has no \"%.*s\"", i, expr_shown(path), path.s);
}

/* --- ends, length, order turned round --- */

int expr_filter_first(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct items it;
    int rc = items_of(ev, &args[0], &it);
    if (rc < 0)
        return rc;
    return it.n ? give_value(ev, &it.at[0], ret) : give_undefined(ev, ret);
}

int expr_filter_last(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct items it;
    int rc = items_of(ev, &args[0], &it);
    if (rc < 0)
        return rc;
    return it.n ? give_value(ev, &it.at[it.n - 1], ret) : give_undefined(ev, ret);
}

int expr_filter_length(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *v = args[0].v;
    if (v->kind == VALUE_LIST || v->kind == VALUE_MAP)
        return give_int(ev, v->n, ret);
    if (v->kind != VALUE_STRING)
        return eval_wrong(ev, v, "what has a length", "a list, a map or text");
    int rc = eval_steps_text(ev, v->n);
    return rc < 0 ? rc : give_int(ev, (int64_t)chars_count(value_as_str(v)), ret);
}

int expr_filter_list(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct items it;
    struct value *list = NULL;
    if (args[0].v->kind == VALUE_LIST)
        return give_value(ev, args[0].v, ret);
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0)
        rc = eval_list(ev, it.n, &list);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++)
        eval_list_put(list, &it.at[i]);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_reverse(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    SCOPED_BUF(text);
    struct items it;
    struct value *list = NULL;
    int rc = items_of(ev, &args[0], &it);
    if (rc < 0)
        return rc;
    if (args[0].v->kind == VALUE_STRING) {
        for (uint32_t i = it.n; i-- > 0;)
            buf_put(&text, it.at[i].s, it.at[i].n);
        return give_text(ev, buf_str(&text), ret);
    }
    rc = eval_list(ev, it.n, &list);
    for (uint32_t i = it.n; rc >= 0 && i-- > 0;)
        eval_list_put(list, &it.at[i]);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

/* --- map, select --- */

static int map_attribute(struct eval *ev, const struct slot *args, const struct value *item,
                         uint32_t i, struct slot *ret)
{
    struct str path;
    int rc = show_text(ev, args[2].v, &path);
    if (rc >= 0)
        rc = eval_attribute(ev, item, path, ret);
    if (rc < 0 || ret->v)
        return rc;
    return args[3].v ? give_value(ev, args[3].v, ret) : missing(ev, i, path);
}

int expr_filter_map(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    enum { PLACES = 4 }; /* value, filter, attribute, default */
    struct items it;
    struct value *list = NULL;
    if (!args[1].v == !args[2].v)
        return eval_fail(ev, ERR_INVALID, "needs the name of a filter or attribute=");
    if (args[1].v && args[1].v->kind != VALUE_STRING)
        return eval_wrong(ev, args[1].v, "filter", "text");
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0)
        rc = eval_list(ev, it.n, &list);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        struct slot subject = {.v = &it.at[i]}, one = {0};
        rc = args[2].v ? map_attribute(ev, args, &it.at[i], i, &one)
                       : eval_by_name(ev, EXPR_TABLE_FILTERS, args[1].v, &subject, args + PLACES,
                                      n - PLACES, &one);
        if (rc >= 0 && !one.v)
            rc = eval_fail(ev, ERR_UNKNOWN_NAME, "item %u becomes undefined", i);
        if (rc >= 0)
            eval_list_put(list, one.v);
    }
    return rc < 0 ? rc : give_value(ev, list, ret);
}

/* Does the item, or its attribute, pass the test that is at args[test]? */
static int passes(struct eval *ev, const struct slot *args, uint32_t n, uint32_t test,
                  const struct slot *subject, bool *ret)
{
    struct slot answer;
    if (!args[test].v) {
        if (!subject->v)
            return eval_undefined(ev, subject);
        *ret = ops_truth(subject->v);
        return 0;
    }
    if (args[test].v->kind != VALUE_STRING)
        return eval_wrong(ev, args[test].v, "test", "text");
    int rc = eval_by_name(ev, EXPR_TABLE_TESTS, args[test].v, subject, args + test + 1,
                          n - test - 1, &answer);
    if (rc >= 0)
        *ret = ops_truth(answer.v);
    return rc;
}

static int pick(struct eval *ev, const struct slot *args, uint32_t n, bool attribute, bool want,
                struct slot *ret)
{
    struct items it;
    struct value *list = NULL;
    struct str path = {"", 0};
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0 && attribute)
        rc = show_text(ev, args[1].v, &path);
    if (rc >= 0)
        rc = eval_list(ev, it.n, &list);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        struct slot subject = {.v = &it.at[i]};
        bool pass = false;
        if (attribute)
            rc = eval_attribute(ev, &it.at[i], path, &subject);
        if (rc >= 0 && !subject.v && !args[2].v)
            rc = missing(ev, i, path);
        if (rc >= 0)
            rc = passes(ev, args, n, attribute ? 2 : 1, &subject, &pass);
        if (rc >= 0 && pass == want)
            eval_list_put(list, &it.at[i]);
    }
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_select(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    return pick(ev, args, n, false, true, ret);
}

int expr_filter_reject(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    return pick(ev, args, n, false, false, ret);
}

int expr_filter_selectattr(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    return pick(ev, args, n, true, true, ret);
}

int expr_filter_rejectattr(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    return pick(ev, args, n, true, false, ret);
}

/* --- keys to compare by --- */

struct keyed {
    struct slot attribute; /* v NULL: the item itself */
    bool fold;             /* upper and lower case are one */
};

static int keyed_of(const struct slot *case_sensitive, const struct slot *attribute,
                    struct keyed *ret)
{
    *ret = (struct keyed){.fold = !case_sensitive->v || !ops_truth(case_sensitive->v)};
    if (is_set(attribute))
        ret->attribute = *attribute;
    return 0;
}

static int fold(struct eval *ev, const struct value *v, struct slot *ret)
{
    struct slot arg = {.v = v};
    return v->kind == VALUE_STRING ? expr_filter_lower(ev, &arg, 1, ret) : give_value(ev, v, ret);
}

static int key_by(struct eval *ev, const struct keyed *k, struct str path, bool whole,
                  const struct value *item, uint32_t i, struct slot *ret)
{
    int rc = give_value(ev, item, ret);
    if (!whole)
        rc = eval_attribute(ev, item, path, ret);
    if (rc >= 0 && !ret->v)
        rc = missing(ev, i, path);
    if (rc >= 0 && k->fold)
        rc = fold(ev, ret->v, ret);
    return rc;
}

static int key_of(struct eval *ev, const struct keyed *k, const struct value *item, uint32_t i,
                  struct slot *ret)
{
    struct str path = {"", 0};
    int rc = k->attribute.v ? show_text(ev, k->attribute.v, &path) : 0;
    return rc < 0 ? rc : key_by(ev, k, path, !k->attribute.v, item, i, ret);
}

/* The keys of a sort: a list for each item, so that "age,name" are two and items that are equal
 * need no order. */
static int key_list(struct eval *ev, const struct keyed *k, const struct value *item, uint32_t i,
                    struct value **ret)
{
    struct str rest = {"", 0};
    uint32_t parts = 1;
    int rc = k->attribute.v ? show_text(ev, k->attribute.v, &rest) : 0;
    for (size_t c = 0; rc >= 0 && c < rest.n; c++)
        parts += rest.s[c] == ',';
    if (rc >= 0)
        rc = eval_list(ev, parts, ret);
    for (uint32_t p = 0; rc >= 0 && p < parts; p++) {
        const char *comma = memchr(rest.s, ',', rest.n);
        struct str path = {rest.s, comma ? (size_t)(comma - rest.s) : rest.n};
        struct slot key;
        rc = key_by(ev, k, path, !k->attribute.v, item, i, &key);
        if (rc >= 0)
            eval_list_put(*ret, key.v);
        if (comma)
            rest = (struct str){comma + 1, rest.n - path.n - 1};
    }
    return rc;
}

/* --- sort --- */

struct sorted { /* an item and what it is sorted by */
    const struct value *item, *key;
};

/* Merges the sorted runs [0, middle) and [middle, n) of `from` into `to`; what is equal keeps its
 * order. */
static int merge_runs(struct eval *ev, const struct sorted *from, uint32_t middle, uint32_t n,
                      bool reverse, struct sorted *to)
{
    uint32_t l = 0, r = middle;
    for (uint32_t i = 0; i < n; i++) {
        int order = 0;
        if (l < middle && r < n) {
            int rc = ops_order(ev, from[r].key, from[l].key, &order);
            if (rc < 0)
                return rc;
        } else {
            order = l < middle ? 0 : reverse ? 1 : -1;
        }
        to[i] = (reverse ? order > 0 : order < 0) ? from[r++] : from[l++];
    }
    return 0;
}

static int sort_items(struct eval *ev, struct sorted *at, uint32_t n, bool reverse)
{
    struct sorted *other = xcalloc((size_t)n + 1, sizeof *other), *from = at, *to = other;
    int rc = 0;
    for (uint64_t run = 1; run < n && rc >= 0; run *= 2) {
        for (uint64_t i = 0; i < n && rc >= 0; i += 2 * run) {
            uint64_t left = n - i;
            rc = merge_runs(ev, from + i, (uint32_t)(run < left ? run : left),
                            (uint32_t)(2 * run < left ? 2 * run : left), reverse, to + i);
        }
        struct sorted *spare = from;
        from = to;
        to = spare;
    }
    if (rc >= 0 && from != at && n)
        memcpy(at, from, n * sizeof *at);
    free(other);
    return rc;
}

int expr_filter_sort(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct items it;
    struct keyed k;
    struct value *list = NULL, *key;
    bool reverse = args[1].v && ops_truth(args[1].v);
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0)
        rc = keyed_of(&args[2], &args[3], &k);
    if (rc >= 0)
        rc = eval_list(ev, it.n, &list);
    if (rc < 0)
        return rc;
    struct sorted *at = xcalloc((size_t)it.n + 1, sizeof *at);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        rc = key_list(ev, &k, &it.at[i], i, &key);
        if (rc >= 0)
            at[i] = (struct sorted){&it.at[i], key};
    }
    if (rc >= 0)
        rc = sort_items(ev, at, it.n, reverse);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++)
        eval_list_put(list, at[i].item);
    free(at);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_dictsort(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    const struct value *map = args[0].v;
    struct str by = args[2].v ? value_as_str(args[2].v) : (struct str){"key", 3};
    bool value = str_is(by, "value"), reverse = args[3].v && ops_truth(args[3].v);
    struct keyed k = {.fold = !args[1].v || !ops_truth(args[1].v)};
    struct value *list = NULL, *pair;
    if (map->kind != VALUE_MAP)
        return eval_wrong(ev, map, "value", "a map");
    if (!value && !str_is(by, "key"))
        return eval_fail(ev, ERR_INVALID, "by must be key or value");
    int rc = eval_list(ev, map->n, &list);
    if (rc < 0)
        return rc;
    struct sorted *at = xcalloc((size_t)map->n + 1, sizeof *at);
    for (uint32_t i = 0; rc >= 0 && i < map->n; i++) {
        const struct member *m = &map->members[i];
        struct slot key;
        rc = eval_list(ev, 2, &pair);
        if (rc < 0)
            break;
        eval_list_put(pair, &(struct value){.kind = VALUE_STRING, .n = m->key_n, .s = m->key});
        eval_list_put(pair, &m->v);
        rc = key_by(ev, &k, (struct str){"", 0}, true, &pair->items[value], i, &key);
        at[i] = (struct sorted){pair, key.v};
    }
    if (rc >= 0)
        rc = sort_items(ev, at, map->n, reverse);
    for (uint32_t i = 0; rc >= 0 && i < map->n; i++)
        eval_list_put(list, at[i].item);
    free(at);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

/* --- least, most, once, sum --- */

static int extreme(struct eval *ev, const struct slot *args, int sign, struct slot *ret)
{
    struct items it;
    struct keyed k;
    struct slot best = {0}, key;
    uint32_t at = 0;
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0)
        rc = keyed_of(&args[1], &args[2], &k);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        int order = -sign;
        rc = key_of(ev, &k, &it.at[i], i, &key);
        if (rc >= 0 && i)
            rc = ops_order(ev, key.v, best.v, &order);
        if (rc >= 0 && (i == 0 || order * sign > 0)) {
            best = key;
            at = i;
        }
    }
    if (rc < 0)
        return rc;
    return it.n ? give_value(ev, &it.at[at], ret) : give_undefined(ev, ret);
}

int expr_filter_min(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return extreme(ev, args, -1, ret);
}

int expr_filter_max(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return extreme(ev, args, 1, ret);
}

/* A text that is the same for keys that are equal: 1, 1.0 and true are. */
static int key_text(struct eval *ev, const struct value *key, struct buf *out)
{
    buf_clear(out);
    switch ((enum value_kind)key->kind) {
    case VALUE_NULL: buf_putc(out, 'z'); return 0;
    case VALUE_BOOL: buf_printf(out, "n%d", key->b); return 0;
    case VALUE_INT: buf_printf(out, "n%lld", (long long)key->i); return 0;
    case VALUE_REAL:
        if (key->r >= -9e15 && key->r <= 9e15 && key->r == (double)(int64_t)key->r)
            buf_printf(out, "n%lld", (long long)key->r);
        else
            buf_printf(out, "r%a", key->r);
        return 0;
    case VALUE_STRING:
        buf_putc(out, 's');
        buf_put(out, key->s, key->n);
        return eval_steps_text(ev, key->n);
    case VALUE_LIST:
    case VALUE_MAP:
    case VALUE_KIND_COUNT: break;
    }
    return eval_wrong(ev, key, "what is unique", "text or a number");
}

int expr_filter_unique(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    SCOPED_BUF(text);
    struct items it;
    struct keyed k;
    struct slot key;
    struct value *list = NULL;
    struct strmap seen = {0};
    int rc = items_of(ev, &args[0], &it);
    if (rc >= 0)
        rc = keyed_of(&args[1], &args[2], &k);
    if (rc >= 0)
        rc = eval_list(ev, it.n, &list);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        rc = key_of(ev, &k, &it.at[i], i, &key);
        if (rc >= 0)
            rc = key_text(ev, key.v, &text);
        if (rc >= 0 && strmap_put(&seen, buf_str(&text), 1))
            eval_list_put(list, &it.at[i]);
    }
    strmap_done(&seen);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_sum(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct items it;
    struct keyed k = {.fold = false};
    struct slot key;
    int rc = items_of(ev, &args[0], &it);
    if (is_set(&args[1]))
        k.attribute = args[1];
    if (rc >= 0)
        rc = args[2].v ? give_value(ev, args[2].v, ret) : give_int(ev, 0, ret);
    for (uint32_t i = 0; rc >= 0 && i < it.n; i++) {
        rc = key_of(ev, &k, &it.at[i], i, &key);
        if (rc < 0)
            break;
        bool number = ops_is_number(key.v) && ops_is_number(ret->v);
        if (!number && !(key.v->kind == VALUE_LIST && ret->v->kind == VALUE_LIST))
            rc = eval_fail(ev, ERR_INVALID, "item %u is %s, which cannot be added to %s", i,
                           show_kind(key.v), show_kind(ret->v));
        if (rc >= 0)
            rc = ops_arith(ev, TOKEN_ADD, ret->v, key.v, ret);
    }
    return rc;
}

/* --- lists of lists, and two lists --- */

/* What is left of the lists under way, innermost last. */
struct flat_part {
    const struct value *at;
    uint32_t n;
};

int expr_filter_flatten(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    VEC(struct flat_part) open = {0};
    VEC(const struct value *) found = {0};
    struct value *list = NULL;
    int rc = args[0].v->kind == VALUE_LIST ? 0 : eval_wrong(ev, args[0].v, "value", "a list");
    if (rc >= 0)
        vec_push(&open, ((struct flat_part){args[0].v->items, args[0].v->n}));
    while (rc >= 0 && open.n) {
        struct flat_part *top = &open.at[open.n - 1];
        if (!top->n) {
            open.n--;
            continue;
        }
        const struct value *v = top->at++;
        top->n--;
        rc = eval_steps(ev, 1);
        if (v->kind == VALUE_LIST)
            vec_push(&open, ((struct flat_part){v->items, v->n}));
        else
            vec_push(&found, v);
    }
    if (rc >= 0)
        rc = eval_list(ev, (uint32_t)found.n, &list);
    for (size_t i = 0; rc >= 0 && i < found.n; i++)
        eval_list_put(list, found.at[i]);
    vec_done(&open);
    vec_done(&found);
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_intersect(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    for (int i = 0; i < 2; i++)
        if (args[i].v->kind != VALUE_LIST)
            return eval_wrong(ev, args[i].v, i ? "other" : "value", "a list");
    return among_filter(ev, args[0].v, args[1].v, true, ret);
}
