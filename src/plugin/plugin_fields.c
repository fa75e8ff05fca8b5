/* plugin_fields.c - what admins and requests say to a type, held against what it asks for */
/* SPDX-License-Identifier: Apache-2.0 */
#include "plugin/plugin.h"

bool plugin_field_is_asked(const struct plugin_field *f)
{
    return !f->by_admin || f->may_override;
}

struct plugin_split plugin_fields_split(struct arena *mem, const struct plugin_type *t,
                                        bool by_admin, const struct value *given)
{
    struct value *plain = value_map(mem), *sensitive = value_map(mem), *dropped = value_list(mem);
    for (uint32_t i = 0; value_is(given, VALUE_MAP) && i < given->n; i++) {
        const struct member *m = &given->members[i];
        struct str name = {m->key, m->key_n};
        const struct plugin_field *f = plugin_field_get(t, name);
        bool counts = f && (by_admin ? f->by_admin : plugin_field_is_asked(f));
        if (!counts)
            value_add(mem, dropped, value_str(mem, name));
        else
            value_set_str(mem, f->sensitive ? sensitive : plain, name, &m->v);
    }
    return (struct plugin_split){plain, sensitive, dropped};
}

/* --- values --- */

static bool is_option(const struct value *options, const struct value *v)
{
    for (uint32_t i = 0; i < options->n; i++)
        if (value_equal(&options->items[i], v))
            return true;
    return false;
}

static const char *wanted_of(const struct plugin_field *f)
{
    switch (f->type) {
    case FIELD_CHECKBOX: return "true or false";
    case FIELD_NUMBER: return "a number";
    case FIELD_TEXT:
    case FIELD_PASSWORD:
    case FIELD_TEXTAREA:
    case FIELD_SELECT:
    case FIELD_TYPE_COUNT: break;
    }
    return "text, a number, true or false";
}

static bool has_type(const struct plugin_field *f, const struct value *v)
{
    bool number = v->kind == VALUE_INT || v->kind == VALUE_REAL;
    switch (f->type) {
    case FIELD_CHECKBOX: return v->kind == VALUE_BOOL;
    case FIELD_NUMBER: return number;
    case FIELD_TEXT: /* descriptors give numbers as defaults of texts */
    case FIELD_PASSWORD:
    case FIELD_TEXTAREA:
    case FIELD_SELECT:
    case FIELD_TYPE_COUNT: break;
    }
    return v->kind == VALUE_STRING || v->kind == VALUE_BOOL || number;
}

/* The text of an error never has the value in it: it may be the secret. */
static int value_check(const struct plugin_field *f, const struct value *v, struct err *e)
{
    int rc = 0;
    if (v->kind == VALUE_NULL)
        return 0;
    if (f->sensitive && v->kind != VALUE_STRING)
        rc = err_set(e, ERR_INVALID, "\"%s\" is sensitive and so must be text", f->name.s);
    else if (f->sensitive && (v->n < PLUGIN_SECRET_LEAST || v->n > PLUGIN_SECRET_MOST))
        rc = err_set(e, ERR_INVALID,
                     "\"%s\" is sensitive and so has at least %d and at most %d bytes", f->name.s,
                     PLUGIN_SECRET_LEAST, PLUGIN_SECRET_MOST);
    else if (!has_type(f, v))
        rc = err_set(e, ERR_INVALID, "\"%s\" must be %s", f->name.s, wanted_of(f));
    else if (f->options && !is_option(f->options, v))
        rc = err_set(e, ERR_INVALID, "\"%s\" is none of its options", f->name.s);
    if (rc < 0)
        err_at(e, "/fields/%s", f->name.s);
    return rc;
}

int plugin_fields_check(const struct plugin_type *t, const struct value *given, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && value_is(given, VALUE_MAP) && i < given->n; i++) {
        const struct member *m = &given->members[i];
        const struct plugin_field *f = plugin_field_get(t, (struct str){m->key, m->key_n});
        if (f)
            rc = value_check(f, &m->v, e);
    }
    return rc;
}

/* --- completeness --- */

static bool is_said(const struct value *v)
{
    return v && v->kind != VALUE_NULL && !(v->kind == VALUE_STRING && !v->n);
}

bool plugin_field_is_known(const struct plugin_type *t, const struct value *has, struct str name)
{
    const struct plugin_field *f = plugin_field_get(t, name);
    return is_said(value_get_str(has, name)) || (f && is_said(f->otherwise));
}

/* True: one of them is whole.  Else what each lacks is added. */
static bool sets_whole(const struct plugin_type *t, int admin, const struct value *has,
                       struct buf *missing)
{
    size_t was = missing->len;
    for (uint32_t i = 0; i < t->n_required[admin]; i++) {
        const struct plugin_set *set = &t->required[admin][i];
        buf_puts(missing, i ? ", or " : was ? "; and " : "");
        size_t start = missing->len;
        for (uint32_t k = 0; k < set->n; k++)
            if (!plugin_field_is_known(t, has, set->at[k]))
                buf_printf(missing, "%s%s", missing->len > start ? " and " : "", set->at[k].s);
        if (missing->len == start) {
            missing->len = was;
            return true;
        }
    }
    return t->n_required[admin] == 0;
}

int plugin_fields_complete(const struct plugin_type *t, bool admins_only, const struct value *has,
                           struct err *e)
{
    SCOPED_BUF(missing);
    bool whole = sets_whole(t, 1, has, &missing);
    if (!admins_only)
        whole = sets_whole(t, 0, has, &missing) && whole;
    if (whole)
        return 0;
    err_set(e, ERR_INVALID, "%s %s needs %.*s", "type", t->name.s, (int)missing.len, missing.data);
    return err_at(e, "/fields");
}

const struct value *plugin_fields_defaults(struct arena *mem, const struct plugin_type *t)
{
    struct value *all = value_map(mem);
    for (uint32_t i = 0; i < t->n_fields; i++)
        if (t->fields[i].otherwise)
            value_set_str(mem, all, t->fields[i].name, t->fields[i].otherwise);
    return all;
}
