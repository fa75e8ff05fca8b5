/* import_attribute.c - attributes of roles and of nodes
 *
 * Crowbar knows an attribute by its name everywhere; of two of one name the last defined counted.
 * We know it as one of its role, so only two of one name in one role are a fault, and there the
 * last stands as it did.  `map` is our `path`.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

enum { ATTRIBUTES_MAX = 1000 };

struct value *crow_description(struct crow *x, const struct value *v, const char *what)
{
    struct str text = crow_text(x, v);

    if (!text.n)
        return NULL;
    if (text.n <= CATALOG_MAX_TEXT)
        return value_str(x->mem, text);
    crow_tell(x, IMPORT_LEFT_OUT, v, what, "its description is longer than %d bytes",
              CATALOG_MAX_TEXT);
    return NULL;
}

/* --- names and paths --- */

static bool key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static const char *attribute_name(struct crow *x, const struct value *v, const char *what)
{
    struct str given = crow_text(x, v);
    char made[IMPORT_NAME_MAX + 1];
    size_t n = 0;

    if (given.n && ((given.s[0] >= '0' && given.s[0] <= '9') || given.s[0] == '-'))
        made[n++] = '_';
    for (size_t i = 0; i < given.n && n < IMPORT_NAME_MAX; i++)
        made[n++] = key_char(given.s[i]) ? given.s[i] : '_';
    made[n] = '\0';
    if (!str_is(given, made))
        crow_tell(x, IMPORT_CHANGED, v, what, "attribute %s is called %s", crow_shown(x, given),
                  made);
    return arena_strdup(x->mem, made);
}

/* "a/b/c", by our rules; the name if there is no path, NULL if it cannot be one. */
static const char *attribute_path(struct crow *x, const struct value *v, const char *name,
                                  const char *what)
{
    struct str given = crow_text(x, v);
    SCOPED_BUF(made);
    size_t keys = 0, length = 0;
    bool changed = false;

    for (size_t i = 0; i < given.n; i++) {
        if (given.s[i] == '/') {
            length = 0;
            continue;
        }
        if (!length++) {
            keys++;
            buf_puts(&made, made.len ? "/" : "");
        }
        changed |= !key_char(given.s[i]) || length > IMPORT_NAME_MAX;
        if (length <= IMPORT_NAME_MAX)
            buf_putc(&made, key_char(given.s[i]) ? given.s[i] : '_');
    }
    if (!keys)
        return name;
    if (keys > CATALOG_MAX_KEYS)
        return NULL;
    if (changed)
        crow_tell(x, IMPORT_CHANGED, v, what, "path %s is written %s", crow_shown(x, given),
                  crow_shown(x, buf_str(&made)));
    return arena_strdup(x->mem, made.data);
}

/* --- which of them count --- */

struct taken { /* paths of one role */
    struct strmap names, ends, inner;
};

/* False if the path lies on that of another, or another on it. */
static bool path_take(struct taken *t, const char *path)
{
    struct str whole = str_of(path);

    if (strmap_get(&t->ends, whole, NULL) || strmap_get(&t->inner, whole, NULL))
        return false;
    for (size_t i = 0; i < whole.n; i++)
        if (path[i] == '/' && strmap_get(&t->ends, (struct str){path, i}, NULL))
            return false;
    for (size_t i = 0; i < whole.n; i++)
        if (path[i] == '/')
            strmap_put(&t->inner, (struct str){path, i}, 1);
    strmap_put(&t->ends, whole, 1);
    return true;
}

static void attribute_keep(struct crow *x, struct taken *t, struct crow_attribute *a,
                           const char *what)
{
    struct str given = crow_text(x, value_get(a->at, "name"));
    uintptr_t other;

    if (!a->path) {
        crow_tell(x, IMPORT_LEFT_OUT, a->at, what, "attribute %s: its path has more than %d keys",
                  a->name, CATALOG_MAX_KEYS);
        return;
    }
    if (!path_take(t, a->path)) {
        crow_tell(x, IMPORT_LEFT_OUT, a->at, what,
                  "attribute %s: its path %s is that of another, or lies on its way", a->name,
                  a->path);
        return;
    }
    a->kept = true;
    if (strmap_get(&x->by_owned, given, &other))
        crow_tell(x, IMPORT_CHANGED, a->at, what,
                  "attribute %s is also one of %s; who wants it gets this one", a->name,
                  x->attributes.at[other].role == CATALOG_NONE
                      ? "nodes"
                      : x->roles.at[x->attributes.at[other].role].name);
    strmap_put(&x->by_owned, given, (uintptr_t)(a - x->attributes.at));
}

uint32_t crow_attributes_collect(struct crow *x, const struct value *list, uint32_t barclamp,
                                 uint32_t role, const char *what)
{
    uint32_t first = (uint32_t)x->attributes.n;
    struct taken t = {0};

    list = crow_list(x, list, what);
    for (uint32_t i = 0; i < list->n; i++) {
        const struct value *v = &list->items[i], *name = value_get(v, "name");
        struct crow_attribute a = {.at = v, .role = role};
        if (!crow_text(x, name).n || i >= ATTRIBUTES_MAX) {
            crow_tell(x, IMPORT_LEFT_OUT, v, what, "%s",
                      i < ATTRIBUTES_MAX ? "an attribute without a name" : "too many attributes");
            continue;
        }
        a.name = attribute_name(x, name, what);
        a.path = attribute_path(x, value_get(v, "map"), a.name, what);
        strmap_put(&t.names, str_of(a.name), x->attributes.n); /* the last one stays */
        vec_push(&x->attributes, a);
    }
    for (uint32_t i = first; i < x->attributes.n; i++) {
        struct crow_attribute *a = &x->attributes.at[i];
        uintptr_t last = i;
        strmap_get(&t.names, str_of(a->name), &last);
        if (last == i) {
            attribute_keep(x, &t, a, what);
            continue;
        }
        crow_tell(x, IMPORT_FAULT, a->at, what,
                  "attribute %s is defined again in line %u, which stands; this one (%s) is left "
                  "out",
                  a->name, x->attributes.at[last].at->line, a->path ? a->path : "");
        x->barclamps.at[barclamp].lenient = true;
    }
    strmap_done(&t.names);
    strmap_done(&t.ends);
    strmap_done(&t.inner);
    return (uint32_t)x->attributes.n - first;
}

/* --- as our values --- */

static struct value *attribute_value(struct crow *x, const struct crow_attribute *a,
                                     const char *where)
{
    struct value *out = value_map(x->mem), *text;
    const struct value *given = value_get(a->at, "default"), *schema = value_get(a->at, "schema");
    const char *what = arena_printf(&x->scratch, "%s: attribute %s", where, a->name);

    if ((text = crow_description(x, value_get(a->at, "description"), what)))
        value_set(x->mem, out, "description", text);
    if (!str_is(str_of(a->name), a->path))
        value_put_text(x->mem, out, "path", a->path);
    struct value *value = given ? crow_value(x, given, what) : NULL;
    const struct value *ours = schema ? crow_schema(x, schema, value, what) : NULL;
    if (ours)
        value_set(x->mem, out, "schema", ours);
    if (value)
        value_set(x->mem, out, "default", value);
    for (uint32_t i = 0; i < a->at->n; i++) {
        static const char *const known[] = {"name", "description", "map", "schema", "default"};
        const struct member *m = &a->at->members[i];
        size_t k = 0;
        while (k < 5 && !str_is((struct str){m->key, m->key_n}, known[k]))
            k++;
        if (k == 5)
            crow_tell(x, IMPORT_LEFT_OUT, &m->v, what, "%s: %s",
                      crow_shown(x, (struct str){m->key, m->key_n}),
                      str_is((struct str){m->key, m->key_n}, "ui_renderer")
                          ? "a view of Crowbar's own pages"
                          : "attributes of ours have nothing like it");
    }
    return out;
}

struct value *crow_attributes_value(struct crow *x, uint32_t first, uint32_t n, const char *what,
                                    uint32_t *ret_count)
{
    struct value *out = value_map(x->mem);

    for (uint32_t i = first; i < first + n; i++)
        if (x->attributes.at[i].kept)
            value_set(x->mem, out, x->attributes.at[i].name,
                      attribute_value(x, &x->attributes.at[i], what));
    *ret_count += out->n;
    return out->n ? out : NULL;
}
