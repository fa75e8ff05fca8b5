/* schema_parts.c - what both halves of the schema checker are made of: paths, types, keywords
 *
 * Lists are those of schema_i.h; nothing is named here a second time.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "model/schema.h"
#include "model/schema_i.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* --- the way to a value --- */

void schema_path_write(const struct schema_path *p, char *ret, size_t n)
{
    const struct schema_path *steps[SCHEMA_MAX_DEPTH + 2];
    size_t count = 0, len = 0;

    for (; p && p->up && count < SCHEMA_MAX_DEPTH + 2; p = p->up)
        steps[count++] = p;
    ret[0] = '\0';
    while (count--) {
        const struct schema_path *s = steps[count];
        if (!s->key.s) {
            len += (size_t)snprintf(ret + len, n - len, "/%u", s->index);
            if (len >= n)
                return;
            continue;
        }
        if (len + 1 < n)
            ret[len++] = '/';
        for (size_t i = 0; i < s->key.n && len + 2 < n; i++) {
            char c = s->key.s[i];
            bool escaped = c == '~' || c == '/';
            ret[len++] = escaped ? '~' : c;
            if (escaped)
                ret[len++] = c == '~' ? '0' : '1';
        }
        ret[len] = '\0';
    }
    ret[text_utf8_prefix(ret, len)] = '\0'; /* what did not fit may end inside a character */
}

const struct value *schema_pointer_get(const struct value *v, const char *pointer)
{
    while (v && *pointer == '/') {
        char key[192];
        size_t n = 0;
        for (pointer++; *pointer && *pointer != '/'; pointer++) {
            char c = *pointer;
            if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
                c = *++pointer == '0' ? '~' : '/';
            if (n + 1 < sizeof key)
                key[n++] = c;
        }
        key[n] = '\0';
        const struct value *next = NULL;
        if (value_is(v, VALUE_LIST) && !strchr(key, '.'))
            next = value_at(v, key);
        else
            next = value_get_str(v, (struct str){key, n});
        if (!next)
            return v;
        v = next;
    }
    return v;
}

/* --- names --- */

static const struct schema_type types[SCHEMA_TYPE_COUNT] = {
#define X(name, phrase, kinds) {name, phrase, kinds},
    SCHEMA_TYPES(X)
#undef X
};
const char *const schema_type_names[SCHEMA_TYPE_COUNT] = {
#define X(name, phrase, kinds) name,
    SCHEMA_TYPES(X)
#undef X
};
static const struct {
    struct str name;
    unsigned kinds;
} keywords[KEYWORD_COUNT] = {
#define X(id, text, arg) {{text, sizeof text - 1}, SCHEMA_ARG_##arg},
    SCHEMA_KEYWORDS(X)
#undef X
};

const char *schema_keyword_name(enum schema_keyword k)
{
    return keywords[k].name.s;
}

const struct schema_type *schema_type_find(struct str name)
{
    for (size_t i = 0; i < SCHEMA_TYPE_COUNT; i++)
        if (str_is(name, types[i].name))
            return &types[i];
    return NULL;
}

const struct member *schema_split(const struct value *schema,
                                  const struct value *ret_args[KEYWORD_COUNT])
{
    const struct member *unknown = NULL;

    memset(ret_args, 0, KEYWORD_COUNT * sizeof *ret_args);
    for (uint32_t i = 0; i < schema->n; i++) {
        const struct member *m = &schema->members[i];
        unsigned k = 0;
        while (k < KEYWORD_COUNT && !str_eq((struct str){m->key, m->key_n}, keywords[k].name))
            k++;
        if (k < KEYWORD_COUNT && keywords[k].kinds & 1u << m->v.kind)
            ret_args[k] = &m->v;
        else if (!unknown && strncmp(m->key, "x-", 2))
            unknown = m;
    }
    return unknown;
}

const struct value *schema_ref(const struct schema_env *env, const struct value *ref)
{
    static const char prefix[] = "#/components/schemas/";
    struct str s = value_as_str(ref);
    size_t n = sizeof prefix - 1;

    if (!env || s.n <= n || memcmp(s.s, prefix, n))
        return NULL;
    return env->find(env->ctx, (struct str){s.s + n, s.n - n});
}

const char *schema_kind_phrase(const struct value *v)
{
    if (v->kind == VALUE_BOOL)
        return v->b ? "true" : "false";
    for (size_t i = 0; i < SCHEMA_TYPE_COUNT; i++)
        if (types[i].kinds & 1u << v->kind)
            return types[i].phrase;
    return "something else";
}
