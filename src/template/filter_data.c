/* filter_data.c - filters on maps and whole values: defaults, members, merging, JSON, YAML */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include "base/json.h"
#include "base/yaml.h"

int expr_filter_default(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    if (slot_given(&args[2]) && !args[2].v)
        return eval_undefined(ev, &args[2]);
    bool truth = args[2].v && ops_truth(args[2].v);
    if (args[0].v && !(truth && !ops_truth(args[0].v)))
        return give_value(ev, args[0].v, ret);
    if (!slot_given(&args[1]))
        return give_text(ev, (struct str){"", 0}, ret);
    *ret = args[1]; /* may be undefined in its turn */
    return 0;
}

/* --- members --- */

enum part { PART_KEY, PART_VALUE, PART_PAIR };

static int parts(struct eval *ev, const struct value *map, enum part part, struct slot *ret)
{
    struct value *list = NULL, *pair;
    if (map->kind != VALUE_MAP)
        return eval_wrong(ev, map, "value", "a map");
    int rc = eval_list(ev, map->n, &list);
    for (uint32_t i = 0; rc >= 0 && i < map->n; i++) {
        const struct member *m = &map->members[i];
        struct value key = {.kind = VALUE_STRING, .n = m->key_n, .s = m->key};
        if (part == PART_PAIR) {
            rc = eval_list(ev, 2, &pair);
            if (rc < 0)
                break;
            eval_list_put(pair, &key);
            eval_list_put(pair, &m->v);
            eval_list_put(list, pair);
        } else {
            eval_list_put(list, part == PART_KEY ? &key : &m->v);
        }
    }
    return rc < 0 ? rc : give_value(ev, list, ret);
}

int expr_filter_keys(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return parts(ev, args[0].v, PART_KEY, ret);
}

int expr_filter_values(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    return parts(ev, args[0].v, PART_VALUE, ret);
}

/* Of something undefined there are none, as in Jinja2. */
int expr_filter_items(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    static const struct value nothing = {.kind = VALUE_MAP};
    return parts(ev, args[0].v ? args[0].v : &nothing, PART_PAIR, ret);
}

/* --- whole values --- */

/* A merge goes over all that both sides have: with shared parts that is more than there is. */
static int merge_budget(struct eval *ev, const struct value *v)
{
    size_t size = expr_measure(v, eval_bytes_left(ev));
    int rc = eval_bytes(ev, size);
    return rc < 0 ? rc : eval_steps(ev, size / sizeof *v);
}

/* The members of one map laid over another, each as a whole. */
static int overlay(struct eval *ev, const struct value *under, const struct value *over,
                   const struct value **ret_v)
{
    const struct value *both[] = {under, over};
    int rc = eval_bytes(ev, sizeof *under);
    if (rc < 0)
        return rc;
    struct value *map = value_map(ev->mem);
    for (int k = 0; k < 2; k++)
        for (uint32_t i = 0; i < both[k]->n && rc >= 0; i++) {
            const struct member *m = &both[k]->members[i];
            rc = eval_map_put(ev, map, (struct str){m->key, m->key_n}, &m->v);
        }
    *ret_v = map;
    return rc;
}

int expr_filter_combine(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    enum { RECURSIVE = 1, FIRST = 2 };
    const struct value *all = args[0].v;
    bool deep = !args[RECURSIVE].v || ops_truth(args[RECURSIVE].v);
    if (all->kind != VALUE_MAP)
        return eval_wrong(ev, all, "value", "a map");
    for (uint32_t i = FIRST; i < n; i++) {
        if (args[i].v->kind != VALUE_MAP)
            return eval_wrong(ev, args[i].v, "what is combined", "a map");
        int rc = deep ? merge_budget(ev, args[i].v) : overlay(ev, all, args[i].v, &all);
        if (rc >= 0 && deep)
            all = value_merge(ev->mem, all, args[i].v);
        if (rc >= 0)
            rc = eval_bytes(ev, 0);
        if (rc < 0)
            return rc;
    }
    return give_value(ev, all, ret);
}

/* JSON first: it charges for the tree and refuses one that is too deep, which YAML would indent
 * without end. */
int expr_filter_toyaml(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    SCOPED_BUF(text);
    int rc = show_json(ev, &text, args[0].v, 0);
    if (rc < 0)
        return rc;
    buf_clear(&text);
    yaml_write(&text, args[0].v);
    return give_text(ev, buf_str(&text), ret);
}

int expr_filter_tojson(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    enum { MAX_INDENT = 16 };
    SCOPED_BUF(text);
    uint32_t indent = 0;
    if (args[1].v && args[1].v->kind != VALUE_NULL) {
        if (args[1].v->kind != VALUE_INT || args[1].v->i < 1 || args[1].v->i > MAX_INDENT)
            return eval_fail(ev, ERR_INVALID, "indent must be an integer from 1 to %d", MAX_INDENT);
        indent = (uint32_t)args[1].v->i;
    }
    int rc = show_json(ev, &text, args[0].v, indent);
    return rc < 0 ? rc : give_text(ev, buf_str(&text), ret);
}

int expr_filter_fromjson(struct eval *ev, const struct slot *args, uint32_t n, struct slot *ret)
{
    (void)n;
    struct json_options o = {.max_depth = EXPR_MAX_TREE};
    struct value *v = NULL;
    struct err why = {0};
    struct str s = value_as_str(args[0].v);
    if (args[0].v->kind != VALUE_STRING)
        return eval_wrong(ev, args[0].v, "value", "text");
    int rc = eval_steps(ev, 1 + s.n / 8);
    if (rc >= 0)
        rc = eval_bytes(ev, s.n);
    if (rc < 0)
        return rc;
    if (json_parse(ev->mem, s.s, s.n, &o, &v, &why) < 0)
        return eval_fail(ev, why.code, "%s of the text: %s", why.at, why.text);
    rc = eval_bytes(ev, 0);
    return rc < 0 ? rc : give_value(ev, v, ret);
}
