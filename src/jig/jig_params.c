/* jig_params.c - types of a jig's parameters, by a table
 *
 * Texts handed to programs must not hold a NUL: the kernel would cut them there, and what runs must
 * be what was written.  Numbers are not taken for texts: 010 or 1e3 would arrive as something else.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/text.h"
#include "jig/jig_i.h"

enum { MOST_PARAMS = 16 };

int jig_param_refuse(struct err *e, const char *name, const char *why)
{
    int rc = err_set(e, ERR_INVALID, "%s %s", name, why);
    err_at(e, "/%s", name);
    return rc;
}

static int bad_type(const char *name, const struct value *v, const char *wanted, struct err *e)
{
    int rc = err_set(e, ERR_INVALID, "%s: expected %s, found %s", name, wanted,
                     value_kind_name((enum value_kind)v->kind));
    err_at(e, "/%s", name);
    return rc;
}

static int check_text(const char *name, const struct value *v, const char *wanted, struct err *e)
{
    if (v->kind != VALUE_STRING) {
        int rc = bad_type(name, v, wanted, e);
        if (v->kind == VALUE_INT || v->kind == VALUE_REAL || v->kind == VALUE_BOOL)
            err_hint(e, "put it in quotes");
        return rc;
    }
    if (memchr(v->s, '\0', v->n)) {
        int rc = err_set(e, ERR_INVALID, "%s must not contain a NUL", name);
        err_at(e, "/%s", name);
        return rc;
    }
    return 0;
}

static int check_strings(const char *name, const struct value *v, struct err *e)
{
    int rc = v->kind == VALUE_LIST ? 0 : bad_type(name, v, "a list of strings", e);
    for (uint32_t i = 0; rc == 0 && i < v->n; i++)
        rc = check_text(name, &v->items[i], "a list of strings", e);
    return rc;
}

static int check_string_map(const char *name, const struct value *v, struct err *e)
{
    int rc = v->kind == VALUE_MAP ? 0 : bad_type(name, v, "a map of strings", e);
    for (uint32_t i = 0; rc == 0 && i < v->n; i++) {
        rc = check_text(name, &v->members[i].v, "a map of strings", e);
        if (rc < 0)
            err_at(e, "/%s/%s", name, v->members[i].key);
    }
    return rc;
}

static int check_maps(const char *name, const struct value *v, struct err *e)
{
    int rc = v->kind == VALUE_LIST ? 0 : bad_type(name, v, "a list of maps", e);
    for (uint32_t i = 0; rc == 0 && i < v->n; i++)
        rc = v->items[i].kind == VALUE_MAP ? 0 : bad_type(name, &v->items[i], "a list of maps", e);
    return rc;
}

static int check_param(const struct jig_param *p, const struct value *v, struct err *e)
{
    switch (p->type) {
    case PARAM_STRING: return check_text(p->name, v, "a string", e);
    case PARAM_STRINGS: return check_strings(p->name, v, e);
    case PARAM_STRING_MAP: return check_string_map(p->name, v, e);
    case PARAM_MAP: return v->kind == VALUE_MAP ? 0 : bad_type(p->name, v, "a map", e);
    case PARAM_MAPS: return check_maps(p->name, v, e);
    case PARAM_BOOL: return v->kind == VALUE_BOOL ? 0 : bad_type(p->name, v, "true or false", e);
    case PARAM_UINT: break;
    }
    return v->kind == VALUE_INT && v->i >= 0 ? 0 : bad_type(p->name, v, "an integer from 0", e);
}

static int refuse_unknown(struct str key, const struct jig_param *table, size_t n, struct err *e)
{
    const char *names[MOST_PARAMS];
    assert(n <= MOST_PARAMS);
    for (size_t i = 0; i < n; i++)
        names[i] = table[i].name;
    const char *near = text_nearest(key, names, n);
    int rc = err_set(e, ERR_INVALID, "there is no parameter \"%.*s\"", (int)key.n, key.s);
    err_at(e, "/%.*s", (int)key.n, key.s);
    if (near)
        err_hint(e, "did you mean %s?", near);
    return rc;
}

int jig_params_check(const struct value *params, const struct jig_param *table, size_t n,
                     bool closed, struct err *e)
{
    if (!params)
        return 0;
    if (params->kind != VALUE_MAP)
        return err_set(e, ERR_INVALID, "parameters: expected a map, found %s",
                       value_kind_name((enum value_kind)params->kind));
    for (uint32_t i = 0; i < params->n; i++) {
        const struct member *m = &params->members[i];
        struct str key = {m->key, m->key_n};
        size_t k = 0;
        while (k < n && !str_is(key, table[k].name))
            k++;
        int rc = k < n    ? check_param(&table[k], &m->v, e)
                 : closed ? refuse_unknown(key, table, n, e)
                          : 0;
        if (rc < 0)
            return rc;
    }
    return 0;
}
