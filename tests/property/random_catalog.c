/* random_catalog.c - see random_catalog.h
 *
 * Roles require and use only roles before them, so most catalogs load; what is provided may still
 * close a circle, which the catalog refuses and the test rolls again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "random_catalog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"

/* No path lies inside another. */
static const struct truth_attribute places[] = {
    {"a", "a", false, 0},    {"b", "b", false, 0},        {"gx", "g/x", false, 0},
    {"gy", "g/y", false, 0}, {"deep", "h/x/u", false, 0},
};
enum { PLACES = sizeof places / sizeof *places };

static bool list_has(const struct truth_list *l, int name)
{
    for (int i = 0; i < l->n; i++)
        if (l->at[i] == name)
            return true;
    return false;
}

static void list_add(struct truth_list *l, int name)
{
    if (!list_has(l, name) && l->n < LIST_MOST)
        l->at[l->n++] = name;
}

/* Names of roles before this one, or with `provided` also provided ones. */
static void names_roll(struct dice *d, struct truth_list *l, int most, int role, bool provided)
{
    for (int n = (int)roll(d, (uint32_t)most + 1); n > 0; n--) {
        if (provided && one_in(d, 3))
            list_add(l, PROVIDED + (int)roll(d, PROVIDED_MOST));
        else if (role > 0)
            list_add(l, (int)roll(d, (uint32_t)role));
    }
}

static void role_roll(struct dice *d, struct truth *t, int i)
{
    struct truth_role *r = &t->roles[i];
    *r = (struct truth_role){
        .converge = 1 + (int)roll(d, 2), .stop = (int)roll(d, 2), .remove = (int)roll(d, 3)};
    snprintf(r->name, sizeof r->name, "r%d", i);
    names_roll(d, &r->requires, 3, i, one_in(d, 2));
    names_roll(d, &r->uses, 1, i, one_in(d, 4));
    if (one_in(d, 8))
        list_add(&r->provides, PROVIDED + (int)roll(d, PROVIDED_MOST));
    if (one_in(d, 8))
        names_roll(d, &r->conflicts, 1, i, false);
    r->implicit = one_in(d, 5);
    r->cluster = one_in(d, 3);
    r->abstract = i > 2 && one_in(d, 20);
    r->special = i > 0 && one_in(d, 4);
    for (uint32_t k = roll(d, 2); k < PLACES && r->n_attributes < 3; k += 1 + roll(d, 2)) {
        struct truth_attribute *a = &r->attributes[r->n_attributes++];
        *a = places[k];
        a->has_default = !one_in(d, 3);
        a->value = (int)roll(d, 4);
    }
    for (int n = (int)roll(d, 3); n > 0 && i > 0; n--) {
        int whose = (int)roll(d, (uint32_t)i);
        const struct truth_role *of = &t->roles[whose];
        const struct truth_attribute *a = of->n_attributes
                                              ? &of->attributes[roll(d, (uint32_t)of->n_attributes)]
                                              : NULL;
        bool bare = !a || one_in(d, 2) || (r->n_wants && r->wants[0].role == whose);
        r->wants[r->n_wants++] = bare ? (struct truth_want){-1, NULL, n == 1 ? "g" : "h/x"}
                                      : (struct truth_want){whose, a->name, a->path};
    }
}

void truth_roll(struct dice *d, struct truth *t)
{
    *t = (struct truth){.n = 5 + (int)roll(d, ROLES_MOST - 4)};
    for (int i = 0; i < t->n; i++)
        role_roll(d, t, i);
    for (int k = 0; k < PROVIDED_MOST; k++) /* what nobody provides cannot be named */
        list_add(&t->roles[1 + k].provides, PROVIDED + k);
}

static void list_write(struct buf *b, const char *key, const struct truth_list *l)
{
    buf_printf(b, "    %s: [", key);
    for (int i = 0; i < l->n; i++)
        buf_printf(b, "%s%s%d", i ? ", " : "", l->at[i] < PROVIDED ? "r" : "p",
                   l->at[i] % PROVIDED);
    buf_puts(b, "]\n");
}

static void steps_write(struct buf *b, const char *action, int n)
{
    if (!n)
        return;
    buf_printf(b, "      %s: [", action);
    for (int i = 0; i < n; i++)
        buf_printf(b, "%s{name: %s%d, params: {command: '%s %d'}}", i ? ", " : "", action, i,
                   action, i);
    buf_puts(b, "]\n");
}

void truth_write(const struct truth *t, struct buf *b)
{
    buf_puts(b, "barclamp: t\njigs: [{name: special, implementation: shell, implementor: r0}]\n"
                "roles:\n");
    for (int i = 0; i < t->n; i++) {
        const struct truth_role *r = &t->roles[i];
        buf_printf(b, "  - name: %s\n    jig: %s\n    flags: [%s%s%s]\n", r->name,
                   r->special ? "special" : "shell", r->implicit ? "implicit, " : "",
                   r->cluster ? "cluster, " : "", r->abstract ? "abstract" : "");
        list_write(b, "requires", &r->requires);
        list_write(b, "uses", &r->uses);
        list_write(b, "provides", &r->provides);
        list_write(b, "conflicts", &r->conflicts);
        buf_puts(b, "    wants: [");
        for (int k = 0; k < r->n_wants; k++)
            if (r->wants[k].role < 0)
                buf_printf(b, "%s/%s", k ? ", " : "", r->wants[k].path);
            else
                buf_printf(b, "%sr%d.%s", k ? ", " : "", r->wants[k].role, r->wants[k].attribute);
        buf_puts(b, "]\n    attributes: {");
        for (int k = 0; k < r->n_attributes; k++) {
            const struct truth_attribute *a = &r->attributes[k];
            buf_printf(b, "%s%s: {path: %s, schema: {type: integer}", k ? ", " : "", a->name,
                       a->path);
            if (a->has_default)
                buf_printf(b, ", default: %d", a->value);
            buf_puts(b, "}");
        }
        buf_puts(b, "}\n    actions:\n");
        steps_write(b, "converge", r->converge);
        steps_write(b, "stop", r->stop);
        steps_write(b, "remove", r->remove);
    }
}

/* --- what follows from it --- */

struct truth_list truth_required(const struct truth *t, int role)
{
    const struct truth_role *r = &t->roles[role];
    struct truth_list all = r->requires;
    for (int i = 0; i < r->n_wants; i++)
        if (r->wants[i].role >= 0)
            list_add(&all, r->wants[i].role);
    if (r->special)
        list_add(&all, 0);
    return all;
}

bool truth_offers(const struct truth *t, int role, int name)
{
    return role == name || list_has(&t->roles[role].provides, name);
}

static bool forbids(const struct truth *t, int a, int b)
{
    const struct truth_role *r = &t->roles[a];
    bool yes = truth_offers(t, b, a);
    for (int i = 0; i < r->conflicts.n; i++)
        yes |= truth_offers(t, b, r->conflicts.at[i]);
    for (int i = 0; i < r->provides.n; i++)
        yes |= truth_offers(t, b, r->provides.at[i]);
    return yes;
}

bool truth_clash(const struct truth *t, int a, int b)
{
    return forbids(t, a, b) || forbids(t, b, a);
}

/* Documents here are at most four deep, and of our own making. */
static bool leaves_accepted(const struct truth_role *r, const struct value *v, const char *path)
{
    if (v->kind != VALUE_MAP) {
        for (int i = 0; i < r->n_attributes; i++)
            if (!strcmp(r->attributes[i].path, path))
                return v->kind == VALUE_INT;
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; i < v->n; i++) {
        char below[64];
        snprintf(below, sizeof below, "%s%s%s", path, *path ? "/" : "", v->members[i].key);
        good &= leaves_accepted(r, &v->members[i].v, below);
    }
    return good;
}

bool truth_accepts(const struct truth *t, int role, const struct value *user)
{
    return !user || leaves_accepted(&t->roles[role], user, "");
}

const struct value *truth_defaults(struct arena *mem, const struct truth *t, int role)
{
    const struct truth_role *r = &t->roles[role];
    const struct value *v = value_map(mem);
    for (int i = 0; i < r->n_attributes; i++)
        if (r->attributes[i].has_default)
            v = naive_merge(
                mem, v,
                naive_at_path(mem, r->attributes[i].path, value_int(mem, r->attributes[i].value)));
    return v;
}

/* --- documents --- */

const struct value *naive_parse(struct arena *mem, const char *json)
{
    struct value *v = NULL;
    struct err e;
    if (!*json)
        return NULL;
    if (json_parse(mem, json, strlen(json), NULL, &v, &e) < 0) {
        printf("Bail out! %s: %s\n", json, e.text);
        exit(1);
    }
    return v;
}

const char *naive_text(struct arena *mem, const struct value *v)
{
    SCOPED_BUF(b);
    if (!v)
        return "";
    json_write_canonical(&b, v);
    return arena_strndup(mem, b.data, b.len);
}

const struct value *naive_merge(struct arena *mem, const struct value *under,
                                const struct value *over)
{
    if (!over || !under)
        return over ? over : under;
    if (over->kind != VALUE_MAP || under->kind != VALUE_MAP)
        return over;
    struct value *both = value_map(mem);
    for (uint32_t i = 0; i < under->n; i++)
        if (!value_get(over, under->members[i].key))
            value_set(mem, both, under->members[i].key, &under->members[i].v);
    for (uint32_t i = 0; i < over->n; i++) {
        const char *key = over->members[i].key;
        value_set(mem, both, key, naive_merge(mem, value_get(under, key), &over->members[i].v));
    }
    return both;
}

const struct value *naive_at_path(struct arena *mem, const char *path, const struct value *v)
{
    const char *slash = strchr(path, '/');
    struct value *map = value_map(mem);
    size_t n = slash ? (size_t)(slash - path) : strlen(path);
    value_set_str(mem, map, (struct str){path, n}, slash ? naive_at_path(mem, slash + 1, v) : v);
    return map;
}

const char *random_user(struct dice *d, struct arena *mem, const struct truth *t, int role)
{
    const struct truth_role *r = &t->roles[role];
    const struct value *v = NULL;
    if (one_in(d, 40)) /* what no role takes */
        v = one_in(d, 2) ? naive_at_path(mem, "g/z", value_int(mem, 1))
                         : naive_at_path(mem, "a", value_text(mem, "x"));
    for (int i = 0; i < r->n_attributes; i++)
        if (one_in(d, 2))
            v = naive_merge(
                mem, v,
                naive_at_path(mem, r->attributes[i].path, value_int(mem, (int64_t)roll(d, 5))));
    return naive_text(mem, v);
}

static const struct value *leaf_roll(struct dice *d, struct arena *mem)
{
    struct value *list = value_list(mem);
    switch (roll(d, 5)) {
    case 0: return value_null(mem);
    case 1: value_add(mem, list, value_int(mem, roll(d, 3))); return list;
    case 2: return value_map(mem);
    default: return value_int(mem, 10 + roll(d, 5));
    }
}

const char *random_document(struct dice *d, struct arena *mem)
{
    static const char *const paths[] = {"a", "b", "g", "g/x", "g/y", "h/x", "h/x/u", "k", "peers"};
    const struct value *v = NULL;
    for (uint32_t n = roll(d, 4); n > 0; n--)
        v = naive_merge(
            mem, v,
            naive_at_path(mem, paths[roll(d, sizeof paths / sizeof *paths)], leaf_roll(d, mem)));
    return naive_text(mem, v);
}
