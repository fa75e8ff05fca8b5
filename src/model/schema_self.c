/* schema_self.c - checks schemas themselves, and fills in what they say by default
 *
 * Catalogs bring schemas written by people: a keyword misspelt must not silently allow everything.
 * What passes schema_check_self() is understood whole by schema_check().
 *
 * Patterns go to the C library's matcher, which copies a counted group as often as it is counted
 * and follows back-references exponentially.  Both are refused here, so that no pattern of a
 * catalog can stop a server.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schema.h"
#include "model/schema_i.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

#include "base/text.h"

enum { PATTERN_MAX_COPIES = 1000 };

/* --- patterns --- */

/* The larger number of "{2}", "{2,}" or "{2,5}" at s, which starts behind the brace. */
static uint64_t counted(const char *s, const char *end)
{
    uint64_t most = 1, n = 0;
    for (; s < end && *s != '}'; s++) {
        if (*s == ',')
            n = 0;
        else if (*s >= '0' && *s <= '9' && n < 100000)
            n = n * 10 + (uint64_t)(*s - '0');
        most = n > most ? n : most;
    }
    return most;
}

int schema_pattern_check(struct str pattern, struct err *e)
{
    char why[128];
    regex_t re;
    uint64_t copies = 1;
    bool in_set = false;

    if (pattern.n > SCHEMA_MAX_PATTERN)
        return err_set(e, ERR_INVALID, "pattern longer than %d bytes", SCHEMA_MAX_PATTERN);
    if (memchr(pattern.s, '\0', pattern.n))
        return err_set(e, ERR_INVALID, "pattern holds a NUL");
    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.s[i];
        if (in_set) {
            in_set = c != ']';
        } else if (c == '[') {
            in_set = true;
            if (i + 1 < pattern.n && pattern.s[i + 1] == '^')
                i++;
            if (i + 1 < pattern.n && pattern.s[i + 1] == ']')
                i++; /* a bracket that comes first is one of the set */
        } else if (c == '\\' && i + 1 < pattern.n) {
            char next = pattern.s[++i];
            if (isalnum((unsigned char)next)) {
                (void)err_set(e, ERR_INVALID, "\\%c means nothing in a POSIX pattern", next);
                return err_hint(e, "write a set, such as [0-9] or [[:space:]]");
            }
        } else if (c == '{') {
            copies *= counted(pattern.s + i + 1, pattern.s + pattern.n);
            if (copies > PATTERN_MAX_COPIES)
                return err_set(e, ERR_INVALID, "pattern counts further than %d in all",
                               PATTERN_MAX_COPIES);
        }
    }
    SCOPED_ARENA(mem);
    int bad = regcomp(&re, arena_strndup(&mem, pattern.s, pattern.n), REG_EXTENDED | REG_NOSUB);
    if (bad) {
        regerror(bad, &re, why, sizeof why);
        return err_set(e, ERR_INVALID, "pattern does not compile: %s", why);
    }
    regfree(&re);
    return 0;
}

/* --- arguments --- */

struct self { /* one schema within the one that is checked */
    struct schema_walk *walk;
    const struct schema_path *at;
    unsigned depth;
    const struct value *schema;
};
static int self_check(const struct self *s, struct err *e);

static int self_fail(const struct schema_path *at, struct err *e)
{
    if (!e)
        return -ERR_INVALID;
    schema_path_write(at, e->at, sizeof e->at);
    return -(int)e->code;
}

static int self_below(const struct self *s, const struct schema_path *at,
                      const struct value *schema, struct err *e)
{
    struct self below = {s->walk, at, s->depth + 1, schema};
    return self_check(&below, e);
}

static int type_name_check(const struct value *v, struct err *e)
{
    struct str name = value_as_str(v);
    if (v->kind == VALUE_STRING && schema_type_find(name))
        return 0;
    (void)err_set(e, ERR_INVALID, "expected the name of a type");
    const char *best = text_nearest(name, schema_type_names, SCHEMA_TYPE_COUNT);
    return best ? err_hint(e, "did you mean \"%s\"?", best)
                : err_hint(e, "types are null, boolean, integer, number, string, array, object");
}

/* An argument that is more than a value of the right kind. */
static int argument_check(const struct self *s, enum schema_keyword k, const struct schema_path *at,
                          const struct value *arg, struct err *e)
{
    bool list = arg->kind == VALUE_LIST;
    int r = 0;

    if (k == KEYWORD_ADDITIONAL || k == KEYWORD_ITEMS)
        return self_below(s, at, arg, e);
    if (k == KEYWORD_PROPERTIES || k == KEYWORD_ANY_OF || k == KEYWORD_ONE_OF) {
        if (list && !arg->n)
            return err_set(e, ERR_INVALID, "expected one schema or more"), self_fail(at, e);
        for (uint32_t i = 0; i < arg->n && !r; i++) {
            struct schema_path below = {at, {0}, i};
            if (!list)
                below.key = (struct str){arg->members[i].key, arg->members[i].key_n};
            r = self_below(s, &below, list ? &arg->items[i] : &arg->members[i].v, e);
        }
        return r;
    }
    if (k == KEYWORD_PATTERN)
        r = schema_pattern_check(value_as_str(arg), e);
    else if (k == KEYWORD_TYPE && !list)
        r = type_name_check(arg, e);
    else if (k == KEYWORD_REF && !schema_ref(s->walk->env, arg))
        r = err_set(e, ERR_INVALID, "refers to %s, which does not exist", arg->s);
    else if ((k == KEYWORD_ENUM || k == KEYWORD_TYPE) && !arg->n)
        r = err_set(e, ERR_INVALID, "the list is empty, so nothing is allowed");
    else if ((k == KEYWORD_MIN_LENGTH || k == KEYWORD_MAX_LENGTH || k == KEYWORD_MIN_ITEMS ||
              k == KEYWORD_MAX_ITEMS) &&
             arg->i < 0)
        r = err_set(e, ERR_INVALID, "expected 0 or more");
    if (r < 0)
        return self_fail(at, e);
    for (uint32_t i = 0; list && i < arg->n && (k == KEYWORD_TYPE || k == KEYWORD_REQUIRED); i++) {
        struct schema_path below = {at, {0}, i};
        if (k == KEYWORD_TYPE)
            r = type_name_check(&arg->items[i], e);
        else if (arg->items[i].kind != VALUE_STRING)
            r = err_set(e, ERR_INVALID, "expected the name of a property");
        if (r < 0)
            return self_fail(&below, e);
    }
    return 0;
}

static int not_taken(const struct self *s, const struct member *m, struct err *e)
{
    struct schema_path at = {s->at, {m->key, m->key_n}, 0};
    const char *names[KEYWORD_COUNT], *best;

    for (unsigned k = 0; k < KEYWORD_COUNT; k++) {
        names[k] = schema_keyword_name(k);
        if (str_is(at.key, names[k])) {
            (void)err_set(e, ERR_INVALID, "\"%s\" does not take a %s", names[k],
                          value_kind_name((enum value_kind)m->v.kind));
            return self_fail(&at, e);
        }
    }
    (void)err_set(e, ERR_INVALID, "unknown keyword \"%.*s\"",
                  (int)text_utf8_prefix(m->key, m->key_n < 64 ? m->key_n : 64), m->key);
    best = text_nearest(at.key, names, KEYWORD_COUNT);
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
    return self_fail(&at, e);
}

/* Recursion follows the nesting of the schema, which schema_step() bounds. */
static int self_check(const struct self *s, struct err *e)
{
    const struct value *args[KEYWORD_COUNT];
    int r = schema_step(s->walk, s->at, s->depth, e);

    if (r < 0 || value_is(s->schema, VALUE_BOOL))
        return r;
    if (!value_is(s->schema, VALUE_MAP)) {
        (void)err_set(e, ERR_INVALID, "expected a schema: a map, true or false");
        return self_fail(s->at, e);
    }
    const struct member *odd = schema_split(s->schema, args);
    if (odd)
        return not_taken(s, odd, e);
    for (unsigned k = 0; k < KEYWORD_COUNT; k++) {
        struct schema_path at = {s->at, str_of(schema_keyword_name(k)), 0};
        r = args[k] ? argument_check(s, k, &at, args[k], e) : 0;
        if (r < 0)
            return r;
    }
    if (args[KEYWORD_DEFAULT]) {
        struct schema_path at = {s->at, str_of("default"), 0};
        r = schema_walk_check(s->walk, &at, s->depth + 1, s->schema, args[KEYWORD_DEFAULT], e);
    }
    return r;
}

int schema_check_self(const struct schema_env *env, const struct value *schema, struct err *e)
{
    static const struct value null = {.kind = VALUE_NULL};
    struct schema_walk w = {env, SCHEMA_MAX_STEPS};
    const struct schema_path root = {0};
    struct self top = {&w, &root, 0, schema ? schema : &null};
    return self_check(&top, e);
}

/* --- defaults --- */

struct filling {
    struct arena *arena;
    const struct schema_env *env;
    uint32_t steps; /* a schema that refers to itself twice would else grow a tree of 2^64 leaves */
};
static const struct value *fill(struct filling *f, unsigned depth, const struct value *schema,
                                const struct value *v);

static const struct value *fill_map(struct filling *f, unsigned depth,
                                    const struct value *properties, const struct value *v)
{
    struct value *out = NULL;

    for (uint32_t i = 0; i < properties->n; i++) {
        const struct member *m = &properties->members[i];
        struct str key = {m->key, m->key_n};
        const struct value *now = value_get_str(v, key);
        const struct value *then = fill(f, depth + 1, &m->v, now);
        if (then == now)
            continue;
        if (!out) { /* the members are copied once, their values stay shared */
            out = value_map(f->arena);
            for (uint32_t k = 0; k < v->n; k++)
                value_set_str(f->arena, out, (struct str){v->members[k].key, v->members[k].key_n},
                              &v->members[k].v);
        }
        value_set_str(f->arena, out, key, then);
    }
    return out ? out : v;
}

static const struct value *fill_list(struct filling *f, unsigned depth, const struct value *schema,
                                     const struct value *v)
{
    struct value *out = NULL;

    for (uint32_t i = 0; i < v->n; i++) {
        const struct value *then = fill(f, depth + 1, schema, &v->items[i]);
        if (then == &v->items[i] && !out)
            continue;
        if (!out) {
            out = value_list(f->arena);
            for (uint32_t k = 0; k < i; k++)
                value_add(f->arena, out, &v->items[k]);
        }
        value_add(f->arena, out, then);
    }
    return out ? out : v;
}

static const struct value *fill(struct filling *f, unsigned depth, const struct value *schema,
                                const struct value *v)
{
    const struct value *args[KEYWORD_COUNT];

    if (depth > SCHEMA_MAX_DEPTH || !f->steps || !value_is(schema, VALUE_MAP))
        return v;
    f->steps--;
    schema_split(schema, args);
    if (args[KEYWORD_REF])
        v = fill(f, depth + 1, schema_ref(f->env, args[KEYWORD_REF]), v);
    if (!v)
        v = args[KEYWORD_DEFAULT];
    if (value_is(v, VALUE_MAP) && args[KEYWORD_PROPERTIES])
        return fill_map(f, depth, args[KEYWORD_PROPERTIES], v);
    if (value_is(v, VALUE_LIST) && args[KEYWORD_ITEMS])
        return fill_list(f, depth, args[KEYWORD_ITEMS], v);
    return v;
}

const struct value *schema_defaults_env(struct arena *a, const struct schema_env *env,
                                        const struct value *schema, const struct value *v)
{
    struct filling f = {a, env, SCHEMA_MAX_FILL};
    return fill(&f, 0, schema, v);
}

const struct value *schema_defaults(struct arena *a, const struct value *schema,
                                    const struct value *v)
{
    return schema_defaults_env(a, NULL, schema, v);
}
