/* attribute_read.c - the attributes of a role, or of the nodes of a barclamp
 *
 * Attributes become one schema for all data that a user may give, closed against everything that is
 * not declared, and one document of defaults.  Both are checked here, so that a binding can only
 * fail on what the user gave.
 *
 * An attribute lives at a path, by default its name: "a/b/c" is the member c of the map b of the
 * map a.  The paths of one set make a tree of *spots*, an attribute at each leaf.  Two attributes
 * of which one lies inside the other would have two schemas for one value, and are refused.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "model/schema.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))
enum { ATTRIBUTES_MAX = 1000, ATTRIBUTE_NAME_MAX = 64 };

/* --- one attribute --- */

struct attribute {
    const struct value *schema, *value;
    struct str path;
};

static void attribute_description(struct load *l, const struct value *v, void *object)
{
    (void)object;
    (void)catalog_read_text(l, v, "\"description\"");
}

/* A fault inside a tree: the place is that of the nearest value the pointer leads to. */
static void tree_fault(struct load *l, const struct value *tree, const struct err *why)
{
    const struct value *at = schema_pointer_get(tree, why->at);
    struct err *e = catalog_error(l, at ? at : tree, why->code, "%s", why->text);
    if (why->hint[0])
        (void)err_hint(e, "%s", why->hint);
}

static void attribute_schema(struct load *l, const struct value *v, void *object)
{
    struct err why;
    if (schema_check_self(NULL, v, &why) < 0)
        tree_fault(l, v, &why);
    else
        ((struct attribute *)object)->schema = v;
}

static void attribute_default(struct load *l, const struct value *v, void *object)
{
    (void)l;
    ((struct attribute *)object)->value = v;
}

static void attribute_path(struct load *l, const struct value *v, void *object)
{
    ((struct attribute *)object)->path = catalog_read_path(l, v, "a path");
}

static const struct field attribute_fields[] = {
    {"description", attribute_description},
    {"path", attribute_path},
    {"schema", attribute_schema},
    {"default", attribute_default},
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Attributes are reached by dotted paths, so a dot cannot be part of their name. */
static bool attribute_name_ok(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.s[i]) && !(i && ((s.s[i] >= '0' && s.s[i] <= '9') || s.s[i] == '-')))
            return false;
    return s.n > 0 && s.n <= ATTRIBUTE_NAME_MAX;
}

/* --- paths --- */

/* "a/b/c": keys as attributes are named, but a digit or - may come first: data has such keys. */
static bool path_ok(struct str path)
{
    size_t keys = 1, length = 0;

    for (size_t i = 0; i <= path.n; i++) {
        if (i == path.n || path.s[i] == '/') {
            if (!length || length > ATTRIBUTE_NAME_MAX)
                return false;
            keys += i < path.n;
            length = 0;
            continue;
        }
        char c = path.s[i];
        if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '-')
            return false;
        length++;
    }
    return keys <= CATALOG_MAX_KEYS;
}

struct str catalog_read_path(struct load *l, const struct value *v, const char *what)
{
    struct str s = catalog_read_text(l, v, what);

    if (v->kind != VALUE_STRING || path_ok(s))
        return s;
    struct err *e = catalog_error(l, v, ERR_INVALID, "\"%.*s\" cannot be %s",
                                  (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64), s.s, what);
    (void)err_hint(e, "write a/b/c: at most %d keys of letters, digits, _ and -", CATALOG_MAX_KEYS);
    return (struct str){"", 0};
}

bool catalog_attribute_find(const struct catalog_role *r, struct str name, struct str *ret_path)
{
    const struct value *v = value_get_str(r->attributes, name);
    const struct value *path = value_get(v, "path");

    if (!v)
        return false;
    *ret_path = value_is(path, VALUE_STRING) && path_ok(value_as_str(path)) ? value_as_str(path)
                                                                            : name;
    return true;
}

/* --- the tree of spots --- */

struct spot {
    struct str key;
    uint32_t first, last,
        next;           /* children and siblings, in the order of their coming up; 0: none */
    uint32_t attribute; /* number + 1 of the one that lives here */
    const struct value *schema, *value;
};
struct spots { /* the root is number 0; a child always comes after its parent */
    VEC(struct spot) at;
    struct strmap by_path;
};

static uint32_t spot_add(struct spots *s, uint32_t parent, struct str path, struct str key)
{
    uint32_t number = (uint32_t)s->at.n;

    vec_push(&s->at, ((struct spot){.key = key}));
    strmap_put(&s->by_path, path, number);
    struct spot *above = &s->at.at[parent];
    if (above->last)
        s->at.at[above->last].next = number;
    else
        above->first = number;
    above->last = number;
    return number;
}

/* The attribute, numbered from 1, that lives inside the spot's subtree first. */
static uint32_t spot_inhabitant(const struct spots *s, uint32_t spot)
{
    while (!s->at.at[spot].attribute && s->at.at[spot].first)
        spot = s->at.at[spot].first;
    return s->at.at[spot].attribute;
}

/* The spot for a new attribute, or 0 and in *ret_other the number + 1 of the one in its way. */
static uint32_t spot_take(struct spots *s, struct str path, uint32_t *ret_other)
{
    uint32_t at = 0;

    for (size_t start = 0, i = 0; i <= path.n; i++) {
        uintptr_t known;
        if (i < path.n && path.s[i] != '/')
            continue;
        struct str so_far = {path.s, i}, key = {path.s + start, i - start};
        bool found = strmap_get(&s->by_path, so_far, &known);
        if (found && (i == path.n || s->at.at[known].attribute)) {
            *ret_other = spot_inhabitant(s, (uint32_t)known);
            return 0;
        }
        at = found ? (uint32_t)known : spot_add(s, at, so_far, key);
        start = i + 1;
    }
    return at;
}

static const struct value *object_schema(struct arena *mem, const struct value *properties)
{
    struct value *schema = value_map(mem);
    value_put_text(mem, schema, "type", "object");
    value_set(mem, schema, "properties", properties);
    value_put_bool(mem, schema, "additionalProperties", false);
    return schema;
}

/* Children come after their parents, so going backwards each spot finds its children complete. */
static void spots_fold(struct load *l, struct spots *s)
{
    for (uint32_t i = (uint32_t)s->at.n; i-- > 0;) {
        struct spot *spot = &s->at.at[i];
        if (spot->attribute)
            continue;
        struct value *properties = value_map(l->mem), *defaults = value_map(l->mem);
        for (uint32_t k = spot->first; k; k = s->at.at[k].next) {
            const struct spot *child = &s->at.at[k];
            value_set_str(l->mem, properties, child->key, child->schema);
            if (child->value)
                value_set_str(l->mem, defaults, child->key, child->value);
        }
        spot->schema = object_schema(l->mem, properties);
        spot->value = defaults->n || !i ? defaults : NULL;
    }
}

/* --- all of them --- */

struct set { /* being read */
    struct spots spots;
    struct load_attributes *out;
    struct catalog_attribute *list;
};

static void attribute_add(struct load *l, struct set *set, struct str name, const struct value *v,
                          struct catalog_where where)
{
    struct attribute a = {0};
    uint32_t other = 0;
    char first[192];
    struct err why;

    if (!catalog_read_fields(l, v, "an attribute", attribute_fields, COUNT(attribute_fields), &a))
        return;
    if (a.schema && a.value && schema_check(a.schema, a.value, &why) < 0)
        tree_fault(l, a.value, &why);
    struct str path = a.path.n ? a.path : name;
    uint32_t spot = spot_take(&set->spots, path, &other);
    if (!spot) {
        const struct catalog_attribute *o = &set->list[other - 1];
        struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_EXISTS, where,
                                      "attribute \"%s\" at %s overlaps \"%s\" at %s", name.s,
                                      path.s, o->name.s, o->path.s);
        (void)err_hint(e, "which is at %s: give one of them a path of its own",
                       catalog_where_write(l, o->where, first, sizeof first));
        return;
    }
    set->list[set->out->n] = (struct catalog_attribute){name, path, where};
    set->spots.at.at[spot].attribute = ++set->out->n;
    set->spots.at.at[spot].schema = a.schema ? a.schema : value_bool(l->mem, true);
    set->spots.at.at[spot].value = a.value;
}

static void attribute_read(struct load *l, struct set *set, const struct value *map,
                           const struct member *m)
{
    struct str name = {m->key, m->key_n};
    struct catalog_where where = catalog_where_of(map);

    where.line = m->key_line;
    where.column = m->key_column;
    if (!attribute_name_ok(name)) {
        struct err *e = catalog_fault(
            l, CATALOG_ERROR, ERR_INVALID, where, "\"%.*s\" cannot be an attribute's name",
            (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        (void)err_hint(e, "use letters, digits, _ and -, and begin with a letter or _");
        return;
    }
    attribute_add(l, set, name, &m->v, where);
}

/* The attribute that a pointer into the data leads to or through. */
static const struct value *pointer_attribute(const struct load_attributes *a, const char *pointer)
{
    for (uint32_t i = 0; *pointer == '/' && i < a->n; i++) {
        struct str path = a->list[i].path;
        if (!strncmp(pointer + 1, path.s, path.n) &&
            (pointer[1 + path.n] == '/' || !pointer[1 + path.n]))
            return value_get_str(a->attributes, a->list[i].name);
    }
    return a->attributes;
}

/* What is good one by one may be bad together: schemas that are too deep at their paths, defaults
 * once nested defaults are filled in. */
static void attributes_check(struct load *l, const struct load_attributes *a)
{
    struct err why;
    const struct value *data = schema_defaults(&l->scratch, a->schema, a->defaults);

    if (schema_check_self(NULL, a->schema, &why) < 0) {
        catalog_error(l, a->attributes, why.code, "%s", why.text);
    } else if (schema_check(a->schema, data, &why) < 0) {
        struct err *e = catalog_error(l, pointer_attribute(a, why.at), why.code, "%s", why.text);
        if (why.hint[0])
            (void)err_hint(e, "%s", why.hint);
    }
}

void catalog_no_attributes(const struct load *l, struct load_attributes *ret)
{
    *ret = (struct load_attributes){l->no_values, l->no_schema, l->no_values, NULL, 0};
}

void catalog_read_attributes(struct load *l, const struct value *v, struct load_attributes *ret)
{
    uint64_t faults = l->n_faults;
    struct set set = {.out = ret};

    catalog_no_attributes(l, ret);
    if (v->kind != VALUE_MAP || v->n > ATTRIBUTES_MAX) {
        catalog_error(l, v, ERR_INVALID, "\"attributes\" must be a map of at most %d attributes",
                      ATTRIBUTES_MAX);
        return;
    }
    v = value_copy(l->mem, v); /* schema and defaults share what is kept */
    set.list = arena_new(l->mem, struct catalog_attribute, v->n);
    ret->list = set.list;
    ret->attributes = v;
    vec_push(&set.spots.at, (struct spot){0});
    for (uint32_t i = 0; i < v->n; i++)
        attribute_read(l, &set, v, &v->members[i]);
    spots_fold(l, &set.spots);
    ret->schema = set.spots.at.at[0].schema;
    ret->defaults = set.spots.at.at[0].value;
    vec_done(&set.spots.at);
    strmap_done(&set.spots.by_path);
    if (l->n_faults == faults)
        attributes_check(l, ret);
}
