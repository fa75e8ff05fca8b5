/* import_fuel_task.c - one task of Fuel as a vertex of our task graphs
 *
 * Keys stay what they are, but for spellings; expressions are translated, patterns made POSIX ones.
 * Whether the result can be read is not guessed here: a catalog of that one vertex is loaded, and
 * what it refuses is left out, key by key, with the words of the refusal.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import_fuel_i.h"

#include "base/alloc.h"
#include "base/yaml.h"
#include "catalog/import_yaql.h"
#include "model/schema.h"

/* --- expressions --- */

/* The text of {yaql_exp: TEXT}; NULL if v is none. */
static const struct value *yaql_in(const struct value *v)
{
    const struct value *text = value_is(v, VALUE_MAP) && v->n == 1 ? value_get(v, "yaql_exp")
                                                                   : NULL;
    return value_is(text, VALUE_STRING) ? text : NULL;
}

static struct value *expr_value(struct fuel *f, struct str text)
{
    struct value *v = value_map(f->x.mem);
    value_set(f->x.mem, v, "expr", value_str(f->x.mem, text));
    return v;
}

/* Why a text has no equal, and where in it. */
static const char *why_not(struct fuel *f, const struct err *e)
{
    if (!e->at[0])
        return arena_strdup(&f->x.scratch, e->text);
    return arena_printf(&f->x.scratch, "%s, at %s of the text", e->text, e->at);
}

/* {expr: ...} for {yaql_exp: ...}; NULL, and *ret_why, if it has no equal. */
static struct value *yaql_translate(struct fuel *f, const struct value *text, const char **ret_why)
{
    struct str expr;
    struct err e = {0};

    if (import_yaql(f->x.mem, value_as_str(text), &expr, &e) == 0)
        return expr_value(f, expr);
    *ret_why = why_not(f, &e);
    return NULL;
}

/* Expressions anywhere in a value; what cannot be translated stays as it is, for people to see. */
static const struct value *value_translate(struct fuel *f, const struct value *v, const char *what)
{
    struct value *copy = crow_value(&f->x, v, what);
    VEC(struct value *) todo = {0};

    vec_push(&todo, copy);
    while (todo.n) {
        struct value *at = todo.at[--todo.n];
        const struct value *text = yaql_in(at);
        const char *why = "";
        if (text) {
            const struct value *expr = yaql_translate(f, text, &why);
            if (expr)
                *at = *expr;
            else
                crow_tell(&f->x, IMPORT_LEFT_OUT, text, what,
                          "an expression that is kept as data: %s", why);
            continue;
        }
        for (uint32_t i = 0; at->kind == VALUE_LIST && i < at->n; i++)
            vec_push(&todo, &at->items[i]);
        for (uint32_t i = 0; at->kind == VALUE_MAP && i < at->n; i++)
            vec_push(&todo, &at->members[i].v);
    }
    vec_done(&todo);
    return copy;
}

/* A condition that has no equal is always true: the task runs, as it did when all was new. */
static const struct value *condition_translate(struct fuel *f, const struct value *v,
                                               const char *what)
{
    const struct value *yaql = yaql_in(v);
    struct value *expr = NULL;
    struct str text;
    struct err e = {0};
    const char *why = "";

    if (yaql) {
        expr = yaql_translate(f, yaql, &why);
    } else if (v->kind == VALUE_STRING) {
        if (import_legacy_condition(f->x.mem, value_as_str(v), &text, &e) == 0)
            expr = expr_value(f, text);
        else
            why = why_not(f, &e);
    } else if (v->kind == VALUE_BOOL || v->kind == VALUE_NULL) {
        return value_copy(f->x.mem, v);
    } else {
        why = "it is no expression";
    }
    if (expr)
        return expr;
    crow_tell(&f->x, IMPORT_LEFT_OUT, v, what, "its condition, which is always true now: %s", why);
    return value_bool(f->x.mem, true);
}

/* --- words --- */

/* A word as it can stay: text, or NULL, and told about, for a pattern that has no equal. */
static const struct value *word_translate(struct fuel *f, const struct value *v, const char *what)
{
    struct str s = value_as_str(v);
    struct err e;
    const char *why = "";

    if (s.n < 3 || s.s[0] != '/' || s.s[s.n - 1] != '/')
        return v;
    struct str pattern = {s.s + 1, s.n - 2};
    if (schema_pattern_check(pattern, &e) == 0)
        return v;
    const char *ours = import_pattern(f->x.mem, pattern, &why);
    if (!ours || schema_pattern_check(str_of(ours), &e) < 0) {
        crow_tell(&f->x, IMPORT_LEFT_OUT, v, what, "pattern %s: %s", crow_shown(&f->x, s),
                  ours ? e.text : why);
        return NULL;
    }
    crow_tell(&f->x, IMPORT_CHANGED, v, what, "pattern %s is written /%s/", crow_shown(&f->x, s),
              ours);
    struct value *changed = value_copy(f->x.mem, v);
    *changed = *value_text(f->x.mem, arena_printf(f->x.mem, "/%s/", ours));
    return changed;
}

static const struct value *words_translate(struct fuel *f, const struct value *v, const char *what)
{
    if (v->kind == VALUE_LIST) {
        struct value *list = value_list(f->x.mem);
        for (uint32_t i = 0; i < v->n; i++) {
            const struct value *word = word_translate(f, &v->items[i], what);
            if (word)
                value_add(f->x.mem, list, value_copy(f->x.mem, word));
        }
        return list;
    }
    const struct value *word = word_translate(f, v, what);
    return word ? value_copy(f->x.mem, word) : value_list(f->x.mem);
}

static const struct value *cross_translate(struct fuel *f, const struct value *v, const char *what)
{
    const struct value *text = yaql_in(v);
    const char *why = "";

    if (text) {
        const struct value *expr = yaql_translate(f, text, &why);
        if (!expr)
            crow_tell(&f->x, IMPORT_LEFT_OUT, text, what, "its cross dependencies: %s", why);
        return expr ? expr : value_list(f->x.mem);
    }
    struct value *list = value_list(f->x.mem);
    for (uint32_t i = 0; v->kind == VALUE_LIST && i < v->n; i++) {
        const struct value *from = &v->items[i], *name = value_get(from, "name");
        struct value *item = value_map(f->x.mem);
        if (from->kind == VALUE_NULL)
            continue;
        if (name && !word_translate(f, name, what))
            continue; /* who it would wait for cannot be said */
        for (uint32_t k = 0; from->kind == VALUE_MAP && k < from->n; k++) {
            struct str key = {from->members[k].key, from->members[k].key_n};
            const struct value *part = &from->members[k].v;
            bool words = str_is(key, "name") || str_is(key, "role") || str_is(key, "tags");
            if (part->kind == VALUE_NULL || part->kind == VALUE_MAP || !words)
                part = value_translate(f, part, what);
            else
                part = words_translate(f, part, what);
            value_set_str(f->x.mem, item, key, part);
        }
        value_add(f->x.mem, list, item);
    }
    return list;
}

/* --- keys --- */

static const struct value *type_translate(struct fuel *f, const struct value *v, const char *what)
{
    static const struct {
        const char *theirs, *ours;
    } types[] = {{"role", "group"}, {"sync", "rsync"}};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (str_is(value_as_str(v), types[i].theirs)) {
            crow_tell(&f->x, IMPORT_CHANGED, v, what, "type %s is called %s", types[i].theirs,
                      types[i].ours);
            return value_text(f->x.mem, types[i].ours);
        }
    return value_copy(f->x.mem, v);
}

static void member_translate(struct fuel *f, const struct member *m, const char *what,
                             struct value *out)
{
    struct str key = {m->key, m->key_n};
    const struct value *v = &m->v;

    if (str_is(key, "cross-depends"))
        key = str_of("cross_depends");
    else if (str_is(key, "cross-depended-by"))
        key = str_of("cross_depended_by");
    if (str_is(key, "type"))
        v = type_translate(f, v, what);
    else if (str_is(key, "condition"))
        v = condition_translate(f, v, what);
    else if (str_is(key, "cross_depends") || str_is(key, "cross_depended_by"))
        v = cross_translate(f, v, what);
    else if (str_is(key, "role") || str_is(key, "roles") || str_is(key, "groups") ||
             str_is(key, "tags"))
        v = words_translate(f, v, what);
    else
        v = value_translate(f, v, what);
    if (value_get_str(out, key))
        crow_tell(&f->x, IMPORT_FAULT, &m->v, what, "left out: %s is said before",
                  crow_shown(&f->x, key));
    else
        value_set_str(f->x.mem, out, key, v);
}

/* --- does it load? --- */

/* 0, or what a catalog of this vertex alone says against it. */
static int vertex_check(const struct value *v, struct err *e)
{
    static const char barclamp[] = "barclamp: " FUEL_BARCLAMP "\nlenient: true\n"
                                   "graphs: {requires: same-node}\n";
    SCOPED_ARENA(mem);
    SCOPED_BUF(text);
    struct value *list = value_list(&mem);
    struct catalog_report report = {0};
    SCOPED(catalog) *c = NULL;

    value_add(&mem, list, v);
    yaml_write(&text, list);
    struct catalog_file files[] = {{str_of("barclamp.yaml"), str_of(barclamp)},
                                   {str_of("graphs/x.yaml"), buf_str(&text)}};
    int r = catalog_load(&(struct catalog_source){files, 2}, NULL, 1, &report, &c, e);
    catalog_report_done(&report);
    return r;
}

static bool is_needed(struct str key)
{
    return str_is(key, "id") || str_is(key, "type");
}

/* The vertex without what the catalog refuses; NULL if that is its id or type. */
static const struct value *vertex_sound(struct fuel *f, const struct value *from,
                                        const struct value *v, const char *what)
{
    struct value *sound = value_map(f->x.mem);
    struct err e = {0};

    if (vertex_check(v, &e) == 0)
        return v;
    for (uint32_t i = 0; i < v->n; i++)
        if (is_needed((struct str){v->members[i].key, v->members[i].key_n}))
            value_set(f->x.mem, sound, v->members[i].key, &v->members[i].v);
    if (vertex_check(sound, &e) < 0) {
        crow_tell(&f->x, IMPORT_FAULT, from, what, "left out: %s", e.text);
        return NULL;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        struct str key = {v->members[i].key, v->members[i].key_n};
        if (is_needed(key))
            continue;
        struct value *more = value_copy(&f->x.scratch, sound);
        value_set_str(&f->x.scratch, more, key, &v->members[i].v);
        if (vertex_check(more, &e) == 0)
            value_set_str(f->x.mem, sound, key, &v->members[i].v);
        else
            crow_tell(&f->x, IMPORT_FAULT, from, what, "%s is left out: %s", crow_shown(&f->x, key),
                      e.text);
    }
    return sound;
}

const struct value *fuel_task(struct fuel *f, struct fuel_graph *g, const struct value *v)
{
    struct str id = crow_text(&f->x, value_get(v, "id"));
    const char *what = id.n ? crow_shown(&f->x, id) : "a task";
    struct value *out = value_map(f->x.mem);

    if (!value_is(v, VALUE_MAP) || !id.n) {
        crow_tell(&f->x, IMPORT_FAULT, v, what, "left out: it has no id");
        return NULL;
    }
    if (strmap_get(&g->ids, id, NULL)) {
        crow_tell(&f->x, IMPORT_FAULT, v, what, "left out: graph %s has a task of this id already",
                  g->name);
        return NULL;
    }
    for (uint32_t i = 0; i < v->n; i++)
        member_translate(f, &v->members[i], what, out);
    const struct value *sound = vertex_sound(f, v, out, what);
    if (sound)
        strmap_put(&g->ids, id, 0);
    return sound;
}
