/* import_source.c - values and names of a source that is imported
 *
 * A value is looked at as its file has it: our reader follows YAML 1.2, the files were written for
 * 1.1, where 010 and yes are no texts.  Names are adapted to our rules once, and then the same
 * everywhere; two that differ stay different.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/import.h"
#include "catalog/import_i.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

/* --- values of the source --- */

struct str crow_file(const struct crow *x, const struct value *v)
{
    return v->source ? x->source->files[v->source - 1].path : (struct str){"", 0};
}

struct str crow_text(struct crow *x, const struct value *v)
{
    SCOPED_BUF(b);

    if (!v || v->kind == VALUE_LIST || v->kind == VALUE_MAP || v->kind == VALUE_NULL)
        return (struct str){"", 0};
    if (v->kind == VALUE_STRING)
        return value_as_str(v);
    json_write(&b, v, 0);
    return (struct str){arena_strndup(&x->scratch, b.data, b.len), b.len};
}

const struct value *crow_list(struct crow *x, const struct value *v, const char *what)
{
    static const struct value nothing = {.kind = VALUE_LIST};

    if (value_is(v, VALUE_LIST))
        return v;
    if (v && v->kind != VALUE_NULL)
        crow_tell(x, IMPORT_LEFT_OUT, v, what, "expected a list");
    return &nothing;
}

static void lines_find(struct crow *x, uint32_t file)
{
    struct str text = x->source->files[file].text;
    VEC(size_t) at = {0};

    vec_push(&at, 0);
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] == '\n')
            vec_push(&at, i + 1);
    size_t *copy = arena_new(&x->scratch, size_t, at.n);
    memcpy(copy, at.at, at.n * sizeof *copy);
    x->lines_of[file] = (struct crow_lines){copy, (uint32_t)at.n};
    vec_done(&at);
}

struct str crow_line(struct crow *x, uint32_t file, uint32_t line)
{
    const struct crow_lines *l = &x->lines_of[file];
    struct str text = x->source->files[file].text;

    if (!l->at)
        lines_find(x, file);
    if (!line || line > l->n)
        return (struct str){"", 0};
    size_t from = l->at[line - 1], to = line < l->n ? l->at[line] - 1 : text.n;
    return (struct str){text.s + from, to - from};
}

/* Does the file have the text without quotes where the value was read? */
static bool is_plain(struct crow *x, const struct value *v)
{
    if (!v->source || !v->column)
        return false;
    struct str line = crow_line(x, v->source - 1u, v->line);
    size_t from = v->column - 1u;
    return from + v->n <= line.n && !memcmp(line.s + from, v->s, v->n);
}

/* What a plain scalar that is text to us was in YAML 1.1; NULL if it was text there too. */
static struct value *yaml11_read(struct arena *mem, struct str s)
{
    static const char *const yes[] = {"yes", "Yes", "YES", "on", "On", "ON"};
    static const char *const no[] = {"no", "No", "NO", "off", "Off", "OFF"};
    int64_t number = 0;

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (str_is(s, yes[i]))
            return value_bool(mem, true);
        if (str_is(s, no[i]))
            return value_bool(mem, false);
    }
    if (s.n < 2 || s.n > 20 || s.s[0] != '0')
        return NULL;
    for (size_t i = 1; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '7')
            return NULL;
        number = number * 8 + (s.s[i] - '0');
    }
    return value_int(mem, number);
}

struct value *crow_value(struct crow *x, const struct value *v, const char *what)
{
    struct value *copy = value_copy(x->mem, v), *as_read;
    VEC(struct value *) todo = {0};

    vec_push(&todo, copy);
    while (todo.n) {
        struct value *at = todo.at[--todo.n];
        for (uint32_t i = 0; at->kind == VALUE_LIST && i < at->n; i++)
            vec_push(&todo, &at->items[i]);
        for (uint32_t i = 0; at->kind == VALUE_MAP && i < at->n; i++)
            vec_push(&todo, &at->members[i].v);
        if (at->kind != VALUE_STRING || !(as_read = yaml11_read(x->mem, value_as_str(at))) ||
            !is_plain(x, at))
            continue;
        SCOPED_BUF(now);
        json_write(&now, as_read, 0);
        crow_tell(x, IMPORT_CHANGED, at, what, "%s was written as %s", now.data,
                  crow_shown(x, value_as_str(at)));
        *at = *as_read;
    }
    vec_done(&todo);
    return copy;
}

/* --- names --- */

static char name_char(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    bool good = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || strchr("._-", c);
    return good && c ? c : '-';
}

const char *crow_name_make(struct crow *x, const struct strmap *taken, struct str given)
{
    char made[IMPORT_NAME_MAX + 1];
    size_t n = 0;

    if (!given.n || strchr("._-", name_char(given.s[0])))
        made[n++] = 'x';
    for (size_t i = 0; i < given.n && n < IMPORT_NAME_MAX; i++)
        made[n++] = name_char(given.s[i]);
    made[n] = '\0';
    for (unsigned i = 2; strmap_get(taken, str_of(made), NULL); i++) {
        char end[16];
        size_t end_n = (size_t)snprintf(end, sizeof end, "-%u", i);
        size_t keep = n + end_n > IMPORT_NAME_MAX ? IMPORT_NAME_MAX - end_n : n;
        memcpy(made + keep, end, end_n + 1);
    }
    return arena_strdup(x->mem, made);
}

const char *crow_name(struct crow *x, struct crow_names *names, const struct value *v,
                      const char *what)
{
    struct str given = crow_text(x, v);
    uintptr_t known;

    if (strmap_get(&names->by_given, given, &known))
        return names->at.at[known].ours;
    const char *ours = crow_name_make(x, &names->by_ours, given);
    if (!str_is(given, ours))
        crow_tell(x, IMPORT_CHANGED, v, what, "%s is called %s: names are 1 to 64 of a-z 0-9 . _ -",
                  crow_shown(x, given), ours);
    strmap_put(&names->by_given, given, names->at.n);
    strmap_put(&names->by_ours, str_of(ours), names->at.n);
    vec_push(&names->at, ((struct crow_name){given, ours}));
    return ours;
}

void crow_names_done(struct crow_names *n)
{
    vec_done(&n->at);
    strmap_done(&n->by_given);
    strmap_done(&n->by_ours);
}

static int by_path(const void *a, const void *b)
{
    const struct catalog_file *const *x = a, *const *y = b;
    return str_cmp((*x)->path, (*y)->path);
}

const struct catalog_file *const *crow_by_path(struct crow *x)
{
    size_t n = x->source->n;
    const struct catalog_file **order = arena_new(&x->scratch, const struct catalog_file *, n);

    for (size_t i = 0; i < n; i++)
        order[i] = &x->source->files[i];
    if (n)
        qsort(order, n, sizeof *order, by_path);
    return order;
}
