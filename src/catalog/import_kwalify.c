/* import_kwalify.c - Kwalify's rules as the subset of JSON Schema that we check
 *
 * In Kwalify a value that is not `required` may be null whatever its type, a mapping allows no keys
 * besides those it names unless it has a rule for "=", and patterns are Ruby's.  All of that is
 * said in so many words here.  What has no counterpart (ident, assert, class, a key unique among
 * the maps of a list) is told about and left out.
 *
 * A default that its own schema refuses was never noticed: only what users wrote was checked.  Such
 * a default stands, and of the schema only the type is kept.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include "model/schema.h"

enum { KWALIFY_MAX_DEPTH = 24 };

struct rule {
    struct crow *x;
    const struct value *at;
    const char *what;
    unsigned depth;
    bool required;
};
static struct value *rule_translate(const struct rule *r);

/* --- types --- */

static const struct kwalify_type {
    const char *name, *ours[3];
} kwalify_types[] = {
    {"str", {"string"}},
    {"int", {"integer"}},
    {"float", {"number"}},
    {"number", {"number"}},
    {"bool", {"boolean"}},
    {"seq", {"array"}},
    {"map", {"object"}},
    {"text", {"string", "number"}},
    {"scalar", {"string", "number", "boolean"}},
    {"any", {NULL}},
};

static void type_put(const struct rule *r, const struct value *type, struct value *out)
{
    struct arena *mem = r->x->mem;
    struct str name = type ? crow_text(r->x, type) : str_of("str");
    size_t k = 0, n = sizeof kwalify_types / sizeof *kwalify_types;

    while (k < n && !str_is(name, kwalify_types[k].name))
        k++;
    if (k == n) {
        crow_tell(r->x, IMPORT_LEFT_OUT, type, r->what, "type %s is not known to us",
                  crow_shown(r->x, name));
        return;
    }
    const char *const *ours = kwalify_types[k].ours;
    if (!ours[0])
        return;
    if (r->required && !ours[1]) {
        value_put_text(mem, out, "type", ours[0]);
        return;
    }
    struct value *list = value_list(mem);
    for (size_t i = 0; i < 3 && ours[i]; i++)
        value_add(mem, list, value_text(mem, ours[i]));
    if (!r->required)
        value_add(mem, list, value_text(mem, "null"));
    value_set(mem, out, "type", list);
}

/* --- what a scalar may be --- */

static void pattern_put(const struct rule *r, const struct value *v, struct value *out)
{
    struct arena *mem = r->x->mem;
    const char *why = "", *ours = import_pattern(mem, crow_text(r->x, v), &why);
    struct value *alone = value_map(&r->x->scratch);
    struct err e;

    if (ours) {
        value_put_text(&r->x->scratch, alone, "pattern", ours);
        if (schema_check_self(NULL, alone, &e) < 0) {
            why = e.text;
            ours = NULL;
        }
    }
    if (ours)
        value_put_text(mem, out, "pattern", ours);
    else
        crow_tell(r->x, IMPORT_LEFT_OUT, v, r->what, "pattern %s: %s",
                  crow_shown(r->x, crow_text(r->x, v)), why);
}

static void enum_put(const struct rule *r, const struct value *v, struct value *out)
{
    struct value *list = value_list(r->x->mem);
    const struct value *from = crow_list(r->x, v, r->what);

    for (uint32_t i = 0; i < from->n; i++)
        value_add(r->x->mem, list, crow_value(r->x, &from->items[i], r->what));
    if (!list->n)
        return;
    if (!r->required)
        value_add(r->x->mem, list, value_null(r->x->mem));
    value_set(r->x->mem, out, "enum", list);
}

/* range and length: {min, max, min-ex, max-ex}; the open ends only of whole numbers. */
static void bounds_put(const struct rule *r, const struct value *v, struct value *out,
                       const char *least, const char *most, bool lengths)
{
    struct arena *mem = r->x->mem;

    for (uint32_t i = 0; value_is(v, VALUE_MAP) && i < v->n; i++) {
        const struct value *bound = &v->members[i].v;
        struct str key = {v->members[i].key, v->members[i].key_n};
        bool low = str_is(key, "min") || str_is(key, "min-ex");
        bool high = str_is(key, "max") || str_is(key, "max-ex"), whole = bound->kind == VALUE_INT;
        bool open = str_is(key, "min-ex") || str_is(key, "max-ex");
        if (!low && !high) {
            crow_tell(r->x, IMPORT_LEFT_OUT, bound, r->what, "%s is no bound",
                      crow_shown(r->x, key));
        } else if (whole && !(lengths && bound->i < 0) && bound->i > INT32_MIN &&
                   bound->i < INT32_MAX) {
            value_put_int(mem, out, low ? least : most, bound->i + (open ? low ? 1 : -1 : 0));
        } else if (!lengths && !open && bound->kind == VALUE_REAL) {
            value_set(mem, out, low ? least : most, value_real(mem, bound->r));
        } else {
            crow_tell(r->x, IMPORT_LEFT_OUT, bound, r->what, "we have no bound such as %s",
                      crow_shown(r->x, key));
        }
    }
}

/* --- what is inside --- */

static const struct value *inner(const struct rule *r, const struct value *v, bool required)
{
    struct rule below = {r->x, v, r->what, r->depth + 1, required};
    if (below.depth <= KWALIFY_MAX_DEPTH && v->kind == VALUE_MAP)
        return rule_translate(&below);
    crow_tell(r->x, IMPORT_LEFT_OUT, v, r->what, "%s",
              v->kind == VALUE_MAP ? "the schema is nested too deep" : "a rule must be a map");
    return value_bool(r->x->mem, true);
}

static bool is_required(const struct value *rule)
{
    return value_as_bool(value_get(rule, "required"), false);
}

static void mapping_put(const struct rule *r, const struct value *v, struct value *out)
{
    struct arena *mem = r->x->mem;
    struct value *properties = value_map(mem), *required = value_list(mem);
    const struct value *others = value_bool(mem, false);

    if (v->kind != VALUE_MAP) {
        crow_tell(r->x, IMPORT_LEFT_OUT, v, r->what, "\"mapping\" must be a map");
        return;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        struct str key = {m->key, m->key_n};
        if (str_is(key, "=")) {
            others = inner(r, &m->v, is_required(&m->v));
            continue;
        }
        value_set_str(mem, properties, key, inner(r, &m->v, is_required(&m->v)));
        if (is_required(&m->v))
            value_add(mem, required, value_str(mem, key));
    }
    if (properties->n)
        value_set(mem, out, "properties", properties);
    if (required->n)
        value_set(mem, out, "required", required);
    value_set(mem, out, "additionalProperties", others);
}

static void sequence_put(const struct rule *r, const struct value *v, struct value *out)
{
    const struct value *list = crow_list(r->x, v, r->what);

    if (!list->n)
        return;
    value_set(r->x->mem, out, "items", inner(r, &list->items[0], is_required(&list->items[0])));
    if (value_as_bool(value_get(&list->items[0], "unique"), false))
        value_put_bool(r->x->mem, out, "uniqueItems", true);
    for (uint32_t i = 1; i < list->n; i++)
        crow_tell(r->x, IMPORT_LEFT_OUT, &list->items[i], r->what,
                  "a sequence has one rule; this one was never looked at");
}

/* --- one rule --- */

static void member_put(const struct rule *r, const struct member *m, struct value *out)
{
    struct str key = {m->key, m->key_n};

    if (str_is(key, "pattern")) {
        pattern_put(r, &m->v, out);
    } else if (str_is(key, "enum")) {
        enum_put(r, &m->v, out);
    } else if (str_is(key, "range")) {
        bounds_put(r, &m->v, out, "minimum", "maximum", false);
    } else if (str_is(key, "length")) {
        bounds_put(r, &m->v, out, "minLength", "maxLength", true);
    } else if (str_is(key, "mapping")) {
        mapping_put(r, &m->v, out);
    } else if (str_is(key, "sequence")) {
        sequence_put(r, &m->v, out);
    } else if (str_is(key, "desc") || str_is(key, "name")) {
        struct str text = crow_text(r->x, &m->v);
        value_set(r->x->mem, out, str_is(key, "desc") ? "description" : "title",
                  value_str(r->x->mem, text));
    } else if (str_is(key, "unique")) {
        if (!r->depth || value_is(value_get(r->at, "mapping"), VALUE_MAP))
            crow_tell(r->x, IMPORT_LEFT_OUT, &m->v, r->what, "we compare whole items only");
    } else if (!str_is(key, "type") && !str_is(key, "required")) {
        crow_tell(r->x, IMPORT_LEFT_OUT, &m->v, r->what, "schemas of ours have no \"%s\"",
                  crow_shown(r->x, key));
    }
}

/* Recursion follows the nesting of the schema; inner() bounds it. */
static struct value *rule_translate(const struct rule *r)
{
    struct value *out = value_map(r->x->mem);

    type_put(r, value_get(r->at, "type"), out);
    for (uint32_t i = 0; i < r->at->n; i++)
        member_put(r, &r->at->members[i], out);
    return out;
}

const struct value *crow_schema(struct crow *x, const struct value *rule, const struct value *value,
                                const char *what)
{
    struct rule r = {x, rule, what, 0, is_required(rule)};
    struct err e;

    if (rule->kind != VALUE_MAP) {
        crow_tell(x, IMPORT_LEFT_OUT, rule, what, "a schema must be a map");
        return NULL;
    }
    struct value *out = rule_translate(&r);
    if (schema_check_self(NULL, out, &e) < 0) {
        crow_tell(x, IMPORT_LEFT_OUT, rule, what, "the schema: %s", e.text);
        return NULL;
    }
    if (!value || schema_check(out, value, &e) >= 0)
        return out->n ? out : NULL;
    struct value *loose = value_map(x->mem);
    crow_tell(x, IMPORT_CHANGED, rule, what,
              "only the type of its schema is kept: its own default breaks it at %s: %s",
              e.at[0] ? e.at : "/", e.text);
    if (value_get(out, "type"))
        value_set(x->mem, loose, "type", value_get(out, "type"));
    return loose->n && schema_check(loose, value, &e) >= 0 ? loose : NULL;
}
