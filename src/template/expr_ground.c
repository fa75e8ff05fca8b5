/* expr_ground.c - what every operator and filter stands on: errors, budget, results, items
 *
 * Steps are charged before work is done and bytes are asked for before they are taken, so that no
 * operation can overshoot its limit by more than a constant.  Trees may share parts: what goes over
 * a whole tree charges for every visit.
 *
 * Something undefined is named by the source that made it: a.b["c"] reads best as it was written.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "template/expr.h"
#include "template/expr_i.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"

/* --- errors --- */

int eval_fail(struct eval *ev, enum errcode code, const char *fmt, ...)
{
    char text[sizeof ev->e->text];
    const struct instr *i = &ev->x->code[ev->pc];
    va_list ap;
    if (ev->quiet && code != ERR_LIMIT)
        return -(int)code;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    text[text_utf8_prefix(text, strlen(text))] = '\0';
    const char *name = ev->inner ? ev->inner->name : ev->call ? ev->call->name : "";
    int rc = err_set(ev->e, code, "%s%s%s", name, *name ? ": " : "", text);
    return expr_point(&ev->x->src, i->pos, rc, ev->e);
}

int eval_wrong(struct eval *ev, const struct value *v, const char *param, const char *what)
{
    return eval_fail(ev, ERR_INVALID, "%s must be %s, not %s", param, what, show_kind(v));
}

static const char *nearest_key(const struct value *map, struct str name, struct arena *scratch)
{
    const char **names = arena_new(scratch, const char *, map->n + 1);
    for (uint32_t i = 0; i < map->n; i++)
        names[i] = map->members[i].key;
    return text_nearest(name, names, map->n);
}

static const char *nearest_var(const struct eval *ev, struct str name, struct arena *scratch)
{
    VEC(const char *) names = {0};
    for (const struct expr_scope *s = ev->view; s; s = s->outer)
        for (uint32_t i = 0; i < s->n; i++)
            if (s->vars[i].v)
                vec_push(&names, arena_strndup(scratch, s->vars[i].name.s, s->vars[i].name.n));
    const char *best = text_nearest(name, names.at, names.n);
    vec_done(&names);
    return best;
}

int eval_undefined(struct eval *ev, const struct slot *s)
{
    enum { KEYS_SHOWN = 1000 };
    if (ev->quiet)
        return -ERR_UNKNOWN_NAME;
    SCOPED_ARENA(scratch);
    const struct instr *i = &ev->x->code[s->pc];
    struct str source = {ev->x->src.text.s + i->from, i->to - i->from};
    const char *best = NULL;
    int rc = err_set(ev->e, ERR_UNKNOWN_NAME, "%.*s is undefined", expr_shown(source), source.s);
    if (i->op == OP_NAME)
        best = nearest_var(ev, ev->x->names[i->a], &scratch);
    else if (i->op == OP_ATTR && s->of && s->of->kind == VALUE_MAP && s->of->n <= KEYS_SHOWN)
        best = nearest_key(s->of, ev->x->names[i->a], &scratch);
    if (best)
        (void)err_hint(ev->e, "did you mean \"%s\"?", best);
    else if (i->op == OP_NOTHING)
        (void)err_hint(ev->e, "its condition is false and there is no else");
    return expr_point(&ev->x->src, i->pos, rc, ev->e);
}

/* --- the budget --- */

/* A budget that others have used as well may have less left than its limit was. */
static const char *limit_phrase(const struct eval *ev)
{
    return ev->scope && ev->scope->budget ? "what is left of the limit," : "the limit of";
}

int eval_steps(struct eval *ev, uint64_t n)
{
    if (n > ev->max_steps - ev->steps) {
        ev->steps = ev->max_steps;
        return eval_fail(ev, ERR_LIMIT, "more steps of evaluation than %s %u", limit_phrase(ev),
                         ev->max_steps);
    }
    ev->steps += (uint32_t)n;
    return 0;
}

size_t eval_bytes_left(const struct eval *ev)
{
    size_t used = ev->mem->total_bytes - ev->bytes_from;
    return used < ev->max_bytes ? ev->max_bytes - used : 0;
}

int eval_bytes(struct eval *ev, size_t n)
{
    size_t used = ev->mem->total_bytes - ev->bytes_from;
    if (used <= ev->max_bytes && n <= ev->max_bytes - used)
        return 0;
    return eval_fail(ev, ERR_LIMIT, "more bytes in memory than %s %zu", limit_phrase(ev),
                     ev->max_bytes);
}

size_t expr_measure(const struct value *v, size_t max)
{
    size_t sum = sizeof *v;
    VEC(const struct value *) todo = {0};
    if (v)
        vec_push(&todo, v);
    while (todo.n && sum <= max) {
        const struct value *at = todo.at[--todo.n];
        if (at->kind == VALUE_STRING)
            sum += at->n + 1;
        if (at->kind != VALUE_LIST && at->kind != VALUE_MAP)
            continue;
        /* Children are counted before they are pushed: the stack is no larger than the answer. */
        bool map = at->kind == VALUE_MAP;
        sum += (size_t)at->n * (map ? sizeof(struct member) : sizeof *at);
        for (uint32_t i = 0; i < at->n && sum <= max; i++) {
            sum += map ? at->members[i].key_n + 1 : 0;
            vec_push(&todo, map ? &at->members[i].v : &at->items[i]);
        }
    }
    vec_done(&todo);
    return sum;
}

/* --- results --- */

int give_value(struct eval *ev, const struct value *v, struct slot *ret)
{
    (void)ev;
    *ret = (struct slot){.v = v};
    return 0;
}

static int give_new(struct eval *ev, struct value v, struct slot *ret)
{
    int rc = eval_bytes(ev, sizeof v);
    if (rc < 0)
        return rc;
    struct value *made = arena_new(ev->mem, struct value, 1);
    *made = v;
    return give_value(ev, made, ret);
}

int give_bool(struct eval *ev, bool b, struct slot *ret)
{
    static const struct value values[] = {{.kind = VALUE_BOOL}, {.kind = VALUE_BOOL, .b = true}};
    return give_value(ev, &values[b], ret);
}

int give_int(struct eval *ev, int64_t i, struct slot *ret)
{
    return give_new(ev, (struct value){.kind = VALUE_INT, .i = i}, ret);
}

int give_real(struct eval *ev, double r, struct slot *ret)
{
    if (!isfinite(r))
        return eval_fail(ev, ERR_INVALID, "the result is no finite number");
    return give_new(ev, (struct value){.kind = VALUE_REAL, .r = r}, ret);
}

int give_text(struct eval *ev, struct str s, struct slot *ret)
{
    int rc = eval_bytes(ev, s.n + 1);
    if (rc < 0)
        return rc;
    char *copy = arena_strndup(ev->mem, s.s, s.n);
    return give_new(ev, (struct value){.kind = VALUE_STRING, .n = (uint32_t)s.n, .s = copy}, ret);
}

int give_undefined(struct eval *ev, struct slot *ret)
{
    *ret = (struct slot){.pc = ev->pc};
    return 0;
}

int eval_list(struct eval *ev, uint32_t n, struct value **ret_list)
{
    int rc = eval_steps(ev, n);
    if (rc >= 0)
        rc = eval_bytes(ev, ((size_t)n + 1) * sizeof(struct value));
    if (rc < 0)
        return rc;
    struct value *list = arena_new(ev->mem, struct value, (size_t)n + 1);
    *list = (struct value){.kind = VALUE_LIST, .items = list + 1};
    *ret_list = list;
    return 0;
}

int eval_map_put(struct eval *ev, struct value *map, struct str key, const struct value *v)
{
    /* A map that is full moves, with half as much again and an index of up to twice that. */
    size_t move = map->n >= map->cap ? ((size_t)map->n + 4) * 2 * (sizeof(struct member) + 16) : 0;
    int rc = eval_steps_text(ev, key.n);
    if (rc >= 0)
        rc = eval_bytes(ev, move + key.n + 1);
    if (rc >= 0)
        value_set_str(ev->mem, map, key, v);
    return rc;
}

/* --- members and items --- */

void eval_member(struct eval *ev, const struct value *of, struct str key, struct slot *ret)
{
    *ret = (struct slot){.v = value_get_str(of, key), .of = of, .pc = ev->pc};
}

static int eval_character(struct eval *ev, const struct value *text, int64_t i, struct slot *ret)
{
    struct str s = value_as_str(text);
    int rc = eval_steps_text(ev, s.n);
    if (rc < 0)
        return rc;
    if (i < 0)
        i += (int64_t)chars_count(s);
    while (i >= 0 && s.n) {
        size_t len;
        chars_at(s, &len);
        if (i-- == 0)
            return give_text(ev, (struct str){s.s, len}, ret);
        s = (struct str){s.s + len, s.n - len};
    }
    return give_undefined(ev, ret);
}

int eval_item(struct eval *ev, const struct value *of, const struct value *key, struct slot *ret)
{
    bool index = key->kind == VALUE_INT || key->kind == VALUE_BOOL;
    int64_t i = key->kind == VALUE_BOOL ? key->b : key->i;
    if (of->kind == VALUE_MAP && key->kind == VALUE_STRING) {
        eval_member(ev, of, value_as_str(key), ret);
        return 0;
    }
    if (of->kind == VALUE_STRING && index)
        return eval_character(ev, of, i, ret);
    if (of->kind == VALUE_LIST && index) {
        i += i < 0 ? (int64_t)of->n : 0;
        if (i >= 0 && i < (int64_t)of->n)
            return give_value(ev, &of->items[i], ret);
    }
    return give_undefined(ev, ret);
}

int eval_attribute(struct eval *ev, const struct value *v, struct str path, struct slot *ret)
{
    struct slot at = {.v = v};
    for (;;) {
        const char *dot = memchr(path.s, '.', path.n);
        struct str step = {path.s, dot ? (size_t)(dot - path.s) : path.n};
        struct value key = {.kind = VALUE_STRING, .n = (uint32_t)step.n, .s = step.s};
        bool digits = step.n > 0;
        for (size_t i = 0; i < step.n; i++)
            digits = digits && step.s[i] >= '0' && step.s[i] <= '9';
        int64_t index;
        if (digits && chars_read_int(step, 10, &index) == READ_INT_OK)
            key = (struct value){.kind = VALUE_INT, .i = index};
        int rc = eval_steps(ev, 1);
        if (rc >= 0)
            rc = eval_item(ev, at.v, &key, &at);
        if (rc < 0)
            return rc;
        if (!at.v || !dot) {
            *ret = at.v ? at : (struct slot){.pc = ev->pc};
            return 0;
        }
        path = (struct str){dot + 1, path.n - step.n - 1};
    }
}

static void each_key(const struct value *map, struct value *list)
{
    for (uint32_t i = 0; i < map->n; i++)
        eval_list_put(list, &(struct value){.kind = VALUE_STRING,
                                            .n = map->members[i].key_n,
                                            .s = map->members[i].key});
}

/* All characters in one block, each with its NUL. */
static int each_character(struct eval *ev, struct str s, size_t count, struct value *list)
{
    int rc = eval_bytes(ev, s.n + count);
    if (rc < 0)
        return rc;
    char *to = arena_take(ev->mem, s.n + count + 1);
    while (s.n) {
        size_t len;
        chars_at(s, &len);
        memcpy(to, s.s, len);
        eval_list_put(list, &(struct value){.kind = VALUE_STRING, .n = (uint32_t)len, .s = to});
        to += len + 1;
        s = (struct str){s.s + len, s.n - len};
    }
    return 0;
}

int eval_each(struct eval *ev, const struct value *v, const struct value **ret_items,
              uint32_t *ret_n)
{
    struct value *list;
    int rc;
    if (v->kind == VALUE_LIST) {
        rc = eval_steps(ev, v->n);
        *ret_items = v->items;
        *ret_n = v->n;
        return rc;
    }
    if (v->kind != VALUE_MAP && v->kind != VALUE_STRING)
        return eval_wrong(ev, v, "what is gone through", "a list, a map or text");
    size_t n = v->kind == VALUE_MAP ? v->n : chars_count(value_as_str(v));
    rc = eval_list(ev, (uint32_t)n, &list);
    if (rc >= 0 && v->kind == VALUE_MAP)
        each_key(v, list);
    else if (rc >= 0)
        rc = each_character(ev, value_as_str(v), n, list);
    if (rc < 0)
        return rc;
    *ret_items = list->items;
    *ret_n = list->n;
    return 0;
}
