/* schema.c - checks values against schemas
 *
 * One function per keyword, each of which looks only at values it speaks about, as the standard has
 * it.  schema_walk_check() splits a schema into its arguments and calls them in the order of
 * schema_i.h.  Recursion follows the schema, never deeper than SCHEMA_MAX_DEPTH, and every level
 * takes a step from one budget, so that oneOf under oneOf cannot multiply for ever.
 *
 * To add a keyword: a line in SCHEMA_KEYWORDS and, unless it only informs, a function in `checks`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schema.h"
#include "model/schema_i.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/map.h"
#include "base/text.h"

struct frame { /* one value under one schema */
    struct schema_walk *walk;
    const struct schema_path *at;
    unsigned depth;
    const struct value *const *args;
    const struct value *v;
};

/* --- what is said --- */

static int fail_at(const struct schema_path *at, enum errcode code, struct err *e)
{
    if (e)
        schema_path_write(at, e->at, sizeof e->at);
    return -(int)code;
}
/* The end of a failing check: sets text and place, returns the code. */
#define FAIL(at, e, ...) (err_set((e), ERR_INVALID, __VA_ARGS__), fail_at((at), ERR_INVALID, (e)))

/* A value short enough for a message, as JSON. */
static void show(const struct value *v, char ret[64])
{
    SCOPED_BUF(text);
    json_write(&text, v, 0);
    if (text.len < 64)
        memcpy(ret, text.data, text.len + 1);
    else
        snprintf(ret, 64, "%s", schema_kind_phrase(v));
}

/* --- keywords about any value --- */

static int check_ref(const struct frame *f, const struct value *arg, struct err *e)
{
    const struct value *target = schema_ref(f->walk->env, arg);
    if (!target)
        return FAIL(f->at, e, "the schema refers to %s, which does not exist",
                    value_as_text(arg, "nothing"));
    return schema_walk_check(f->walk, f->at, f->depth + 1, target, f->v, e);
}

static int check_type(const struct frame *f, const struct value *arg, struct err *e)
{
    char wanted[160] = "";
    const struct value *names = arg->kind == VALUE_LIST ? arg->items : arg;
    uint32_t n = arg->kind == VALUE_LIST ? arg->n : 1;
    size_t len = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct schema_type *t = schema_type_find(value_as_str(&names[i]));
        if (t && t->kinds & 1u << f->v->kind)
            return 0;
        const char *sep = !len ? "" : i + 1 == n ? " or " : ", ";
        int put = snprintf(wanted + len, sizeof wanted - len, "%s%s", sep,
                           t ? t->phrase : "nothing");
        len += (size_t)put < sizeof wanted - len ? (size_t)put : 0;
    }
    return FAIL(f->at, e, "expected %s, not %s", wanted, schema_kind_phrase(f->v));
}

static void hint_nearest(struct err *e, struct str given, const char *const *names, size_t n)
{
    const char *best = text_nearest(given, names, n);
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
}

static int check_enum(const struct frame *f, const struct value *arg, struct err *e)
{
    SCOPED_BUF(all);
    SCOPED_ARENA(mem);

    for (uint32_t i = 0; i < arg->n; i++)
        if (value_equal(&arg->items[i], f->v))
            return 0;
    const char **names = arena_new(&mem, const char *, arg->n + 1);
    for (uint32_t i = 0; i < arg->n; i++) {
        names[i] = value_as_text(&arg->items[i], NULL);
        if (all.len > 300)
            continue;
        buf_puts(&all, i ? ", " : "");
        json_write(&all, &arg->items[i], 0);
    }
    int r = FAIL(f->at, e, "expected one of %s", arg->n ? all.data : "nothing");
    if (f->v->kind == VALUE_STRING)
        hint_nearest(e, value_as_str(f->v), names, arg->n);
    return r;
}

static int check_const(const struct frame *f, const struct value *arg, struct err *e)
{
    char wanted[64];
    if (value_equal(arg, f->v))
        return 0;
    show(arg, wanted);
    return FAIL(f->at, e, "expected %s", wanted);
}

/* --- maps --- */

static int unknown_field(const struct frame *f, const struct schema_path *at, struct err *e)
{
    const struct value *known = f->args[KEYWORD_PROPERTIES];
    int n = (int)text_utf8_prefix(at->key.s, at->key.n < 64 ? at->key.n : 64);
    int r = FAIL(at, e, "unknown field \"%.*s\"", n, at->key.s);

    if (!known)
        return r;
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, known->n + 1);
    for (uint32_t i = 0; i < known->n; i++)
        names[i] = known->members[i].key;
    hint_nearest(e, at->key, names, known->n);
    return r;
}

static int check_additional(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_MAP || (arg->kind == VALUE_BOOL && arg->b))
        return 0;
    for (uint32_t i = 0; i < f->v->n; i++) {
        const struct member *m = &f->v->members[i];
        struct schema_path at = {f->at, {m->key, m->key_n}, 0};
        if (value_get_str(f->args[KEYWORD_PROPERTIES], at.key))
            continue;
        if (arg->kind == VALUE_BOOL)
            return unknown_field(f, &at, e);
        int r = schema_walk_check(f->walk, &at, f->depth + 1, arg, &m->v, e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_required(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_MAP)
        return 0;
    for (uint32_t i = 0; i < arg->n; i++) {
        struct schema_path at = {f->at, value_as_str(&arg->items[i]), 0};
        if (!value_get_str(f->v, at.key))
            return FAIL(&at, e, "\"%.*s\" is required", (int)at.key.n, at.key.s);
    }
    return 0;
}

static int check_properties(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_MAP)
        return 0;
    for (uint32_t i = 0; i < f->v->n; i++) {
        const struct member *m = &f->v->members[i];
        struct schema_path at = {f->at, {m->key, m->key_n}, 0};
        const struct value *schema = value_get_str(arg, at.key);
        int r = schema ? schema_walk_check(f->walk, &at, f->depth + 1, schema, &m->v, e) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* --- lists --- */

static int check_items(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_LIST)
        return 0;
    for (uint32_t i = 0; i < f->v->n; i++) {
        struct schema_path at = {f->at, {0}, i};
        int r = schema_walk_check(f->walk, &at, f->depth + 1, arg, &f->v->items[i], e);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_min_items(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_LIST || (int64_t)f->v->n >= value_as_int(arg, 0))
        return 0;
    return FAIL(f->at, e, "expected %s or more, not %u", text_count((uint64_t)arg->i, "item").s,
                f->v->n);
}

static int check_max_items(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_LIST || (int64_t)f->v->n <= value_as_int(arg, INT64_MAX))
        return 0;
    return FAIL(f->at, e, "expected at most %s, not %u", text_count((uint64_t)arg->i, "item").s,
                f->v->n);
}

static int check_unique(const struct frame *f, const struct value *arg, struct err *e)
{
    struct u64map seen = {0};
    SCOPED_BUF(text);
    int r = 0;

    if (f->v->kind != VALUE_LIST || !value_as_bool(arg, false))
        return 0;
    for (uint32_t i = 0; i < f->v->n && !r; i++) {
        struct schema_path at = {f->at, {0}, i};
        uintptr_t first;
        r = schema_step(f->walk, &at, f->depth, e);
        if (r < 0)
            break;
        buf_clear(&text);
        json_write_canonical(&text, &f->v->items[i]);
        uint64_t key = digest_64(text.data, text.len);
        if (u64map_get(&seen, key, &first))
            r = FAIL(&at, e, "the same as item %zu; items must differ", (size_t)first);
        else
            u64map_put(&seen, key, i);
    }
    u64map_done(&seen);
    return r;
}

/* --- numbers and text --- */

/* Every int64 and every double is exact as a long double on the machines we build for. */
static bool number_of(const struct value *v, long double *ret)
{
    if (!value_is(v, VALUE_INT) && !value_is(v, VALUE_REAL))
        return false;
    *ret = v->kind == VALUE_INT ? (long double)v->i : (long double)v->r;
    return true;
}

static int check_minimum(const struct frame *f, const struct value *arg, struct err *e)
{
    long double x, bound;
    char limit[64];
    if (!number_of(f->v, &x) || !number_of(arg, &bound) || x >= bound)
        return 0;
    show(arg, limit);
    return FAIL(f->at, e, "expected %s or more", limit);
}

static int check_maximum(const struct frame *f, const struct value *arg, struct err *e)
{
    long double x, bound;
    char limit[64];
    if (!number_of(f->v, &x) || !number_of(arg, &bound) || x <= bound)
        return 0;
    show(arg, limit);
    return FAIL(f->at, e, "expected %s or less", limit);
}

/* Characters, not bytes: continuation bytes do not count. */
static int64_t text_length(const struct value *v)
{
    int64_t n = 0;
    for (uint32_t i = 0; i < v->n; i++)
        n += ((unsigned char)v->s[i] & 0xC0) != 0x80;
    return n;
}

static int check_min_length(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_STRING || text_length(f->v) >= value_as_int(arg, 0))
        return 0;
    return FAIL(f->at, e, "expected %s or more", text_count((uint64_t)arg->i, "character").s);
}

static int check_max_length(const struct frame *f, const struct value *arg, struct err *e)
{
    if (f->v->kind != VALUE_STRING || text_length(f->v) <= value_as_int(arg, INT64_MAX))
        return 0;
    return FAIL(f->at, e, "expected at most %s", text_count((uint64_t)arg->i, "character").s);
}

static int check_pattern(const struct frame *f, const struct value *arg, struct err *e)
{
    struct err why;
    regex_t re;
    if (f->v->kind != VALUE_STRING)
        return 0;
    if (f->v->n > SCHEMA_MAX_MATCH)
        return FAIL(f->at, e, "too long: %u bytes, %d at most", f->v->n, SCHEMA_MAX_MATCH);
    if (schema_pattern_check(value_as_str(arg), &why) < 0 ||
        regcomp(&re, arg->s, REG_EXTENDED | REG_NOSUB))
        return FAIL(f->at, e, "the schema's pattern is not usable");
    regmatch_t whole = {0, (regoff_t)f->v->n}; /* text may hold a NUL: give its length */
    int miss = regexec(&re, f->v->s, 1, &whole, REG_STARTEND);
    regfree(&re);
    return miss ? FAIL(f->at, e, "does not match the pattern %s", arg->s) : 0;
}

/* --- alternatives --- */

/* The error worth showing is that of the alternative that was followed furthest. */
static int alternatives(const struct frame *f, const struct value *arg, uint32_t *ret_fit,
                        struct err *best)
{
    struct err why;
    size_t reach = 0;

    *ret_fit = 0;
    err_clear(best);
    for (uint32_t i = 0; i < arg->n; i++) {
        int r = schema_walk_check(f->walk, f->at, f->depth + 1, &arg->items[i], f->v, &why);
        if (r == -ERR_LIMIT) {
            *best = why;
            return r;
        }
        if (r == 0) {
            (*ret_fit)++;
        } else if (!best->code || strlen(why.at) > reach) {
            reach = strlen(why.at);
            *best = why;
        }
    }
    return 0;
}

static int no_alternative(const struct frame *f, uint32_t n, const struct err *best, struct err *e)
{
    if (!best->code)
        return FAIL(f->at, e, "nothing is allowed here");
    if (e)
        *e = *best;
    if (n > 1)
        (void)err_wrap(e, "fits none of %u forms; nearest", n);
    return -(int)best->code;
}

static int check_any_of(const struct frame *f, const struct value *arg, struct err *e)
{
    struct err best;
    uint32_t fit;
    int r = alternatives(f, arg, &fit, &best);
    if (r < 0) {
        if (e)
            *e = best;
        return r;
    }
    return fit ? 0 : no_alternative(f, arg->n, &best, e);
}

static int check_one_of(const struct frame *f, const struct value *arg, struct err *e)
{
    struct err best;
    uint32_t fit;
    int r = alternatives(f, arg, &fit, &best);
    if (r < 0) {
        if (e)
            *e = best;
        return r;
    }
    if (fit > 1)
        return FAIL(f->at, e, "fits %u forms of which only one is allowed", fit);
    return fit ? 0 : no_alternative(f, arg->n, &best, e);
}

/* --- the walk --- */

static int (*const checks[KEYWORD_COUNT])(const struct frame *, const struct value *,
                                          struct err *) = {
    [KEYWORD_REF] = check_ref,
    [KEYWORD_TYPE] = check_type,
    [KEYWORD_ENUM] = check_enum,
    [KEYWORD_CONST] = check_const,
    [KEYWORD_ADDITIONAL] = check_additional,
    [KEYWORD_REQUIRED] = check_required,
    [KEYWORD_PROPERTIES] = check_properties,
    [KEYWORD_ITEMS] = check_items,
    [KEYWORD_MINIMUM] = check_minimum,
    [KEYWORD_MAXIMUM] = check_maximum,
    [KEYWORD_MIN_LENGTH] = check_min_length,
    [KEYWORD_MAX_LENGTH] = check_max_length,
    [KEYWORD_PATTERN] = check_pattern,
    [KEYWORD_MIN_ITEMS] = check_min_items,
    [KEYWORD_MAX_ITEMS] = check_max_items,
    [KEYWORD_UNIQUE_ITEMS] = check_unique,
    [KEYWORD_ANY_OF] = check_any_of,
    [KEYWORD_ONE_OF] = check_one_of,
};

int schema_step(struct schema_walk *w, const struct schema_path *at, unsigned depth, struct err *e)
{
    if (depth > SCHEMA_MAX_DEPTH) {
        err_set(e, ERR_LIMIT, "nested deeper than %d levels", SCHEMA_MAX_DEPTH);
        return fail_at(at, ERR_LIMIT, e);
    }
    if (!w->steps) {
        err_set(e, ERR_LIMIT, "too large to check: over %d steps", SCHEMA_MAX_STEPS);
        return fail_at(at, ERR_LIMIT, e);
    }
    w->steps--;
    return 0;
}

int schema_walk_check(struct schema_walk *w, const struct schema_path *at, unsigned depth,
                      const struct value *schema, const struct value *v, struct err *e)
{
    const struct value *args[KEYWORD_COUNT];
    int r = schema_step(w, at, depth, e);

    if (r < 0)
        return r;
    if (value_is(schema, VALUE_BOOL))
        return schema->b ? 0 : FAIL(at, e, "nothing is allowed here");
    if (!value_is(schema, VALUE_MAP))
        return 0;
    schema_split(schema, args);
    struct frame f = {w, at, depth, args, v};
    for (unsigned k = 0; k < KEYWORD_COUNT; k++) {
        r = args[k] && checks[k] ? checks[k](&f, args[k], e) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

int schema_check_env(const struct schema_env *env, const struct value *schema,
                     const struct value *v, struct err *e)
{
    static const struct value null = {.kind = VALUE_NULL};
    struct schema_walk w = {env, SCHEMA_MAX_STEPS};
    const struct schema_path root = {0};
    return schema_walk_check(&w, &root, 0, schema, v ? v : &null, e);
}

int schema_check(const struct value *schema, const struct value *v, struct err *e)
{
    return schema_check_env(NULL, schema, v, e);
}
