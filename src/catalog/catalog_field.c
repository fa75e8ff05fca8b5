/* catalog_field.c - reads single fields, and says exactly what is wrong with one
 *
 * Every reader answers with an empty value after a fault, so that callers need not ask whether it
 * worked: the load has failed already, and the rest is read to find more faults.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include <math.h>

#include "base/text.h"

static const char *kind_of(const struct value *v)
{
    static const char *const phrases[VALUE_KIND_COUNT] = {
        [VALUE_NULL] = "nothing",  [VALUE_BOOL] = "a boolean", [VALUE_INT] = "an integer",
        [VALUE_REAL] = "a number", [VALUE_STRING] = "text",    [VALUE_LIST] = "a list",
        [VALUE_MAP] = "a map",
    };
    return phrases[v->kind];
}

/* At most 64 bytes of what a user wrote, for a message. */
static int shown(struct str s)
{
    return (int)text_utf8_prefix(s.s, s.n < 64 ? s.n : 64);
}

static void unknown_field(struct load *l, const struct value *map, const struct member *m,
                          const char *what, const struct field *fields, size_t n_fields)
{
    struct catalog_where where = catalog_where_of(map);
    where.line = m->key_line;
    where.column = m->key_column;
    struct err *e = catalog_fault(l, l->fields_doubt ? CATALOG_WARNING : CATALOG_ERROR, ERR_INVALID,
                                  where, "unknown field \"%.*s\" of %s",
                                  shown((struct str){m->key, m->key_n}), m->key, what);
    if (!e)
        return;
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, n_fields);
    for (size_t i = 0; i < n_fields; i++)
        names[i] = fields[i].name;
    const char *best = text_nearest((struct str){m->key, m->key_n}, names, n_fields);
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
}

bool catalog_read_fields(struct load *l, const struct value *v, const char *what,
                         const struct field *fields, size_t n_fields, void *object)
{
    if (v->kind != VALUE_MAP) {
        catalog_error(l, v, ERR_INVALID, "expected %s, which is a map, not %s", what, kind_of(v));
        return false;
    }
    for (uint32_t i = 0; i < v->n; i++) {
        const struct member *m = &v->members[i];
        size_t k = 0;
        while (k < n_fields && !str_is((struct str){m->key, m->key_n}, fields[k].name))
            k++;
        if (k < n_fields)
            fields[k].read(l, &m->v, object);
        else
            unknown_field(l, v, m, what, fields, n_fields);
    }
    return true;
}

struct str catalog_read_text(struct load *l, const struct value *v, const char *what)
{
    if (v->kind != VALUE_STRING) {
        struct err *e = catalog_error(l, v, ERR_INVALID, "%s must be text, not %s", what,
                                      kind_of(v));
        if (v->kind == VALUE_INT || v->kind == VALUE_REAL || v->kind == VALUE_BOOL)
            (void)err_hint(e, "put it in quotes");
        return (struct str){"", 0};
    }
    if (v->n > CATALOG_MAX_TEXT) {
        catalog_error(l, v, ERR_LIMIT, "%s is longer than %d bytes", what, CATALOG_MAX_TEXT);
        return (struct str){"", 0};
    }
    return (struct str){arena_strndup(l->mem, v->s, v->n), v->n};
}

struct str catalog_read_name(struct load *l, const struct value *v, const char *what)
{
    struct str s = catalog_read_text(l, v, what);
    if (v->kind != VALUE_STRING || text_is_name(s))
        return s;
    struct err *e = catalog_error(l, v, ERR_INVALID, "\"%.*s\" cannot be %s", shown(s), s.s, what);
    (void)err_hint(e, "a name is 1 to 64 of a-z 0-9 . _ - and begins with a letter or digit");
    return (struct str){"", 0};
}

bool catalog_read_bool(struct load *l, const struct value *v, const char *what)
{
    if (v->kind != VALUE_BOOL)
        catalog_error(l, v, ERR_INVALID, "%s must be true or false, not %s", what, kind_of(v));
    return value_as_bool(v, false);
}

uint32_t catalog_read_u32(struct load *l, const struct value *v, const char *what, uint32_t min,
                          uint32_t max)
{
    if (v->kind == VALUE_INT && v->i >= min && v->i <= max)
        return (uint32_t)v->i;
    catalog_error(l, v, ERR_INVALID, "%s must be an integer from %u to %u", what, min, max);
    return min;
}

uint64_t catalog_read_duration(struct load *l, const struct value *v, const char *what,
                               uint64_t min_ms)
{
    enum { MAX_DAYS = 366 };
    const uint64_t max_ms = (uint64_t)MAX_DAYS * 24 * 3600 * 1000;
    uint64_t ms = 0;
    bool good = false;

    if (v->kind == VALUE_INT && v->i >= 0 && (uint64_t)v->i <= max_ms / 1000) {
        ms = (uint64_t)v->i * 1000;
        good = true;
    } else if (v->kind == VALUE_STRING) {
        good = text_duration_ms(value_as_str(v), &ms, NULL) == 0 && ms <= max_ms;
    }
    if (good && ms >= min_ms)
        return ms;
    struct err *e = catalog_error(l, v, ERR_INVALID, "%s must be a time %sof at most %d days", what,
                                  min_ms ? "above 0 and " : "", MAX_DAYS);
    (void)err_hint(e, "write it as 250ms, 10s, 5m, 2h or 1d");
    return 0;
}

uint32_t catalog_read_choice(struct load *l, const struct value *v, const char *what,
                             const char *const *names, size_t n)
{
    struct str s = value_as_str(v);
    struct buf all = {0};

    for (size_t i = 0; i < n; i++)
        if (v->kind == VALUE_STRING && str_is(s, names[i]))
            return (uint32_t)i;
    for (size_t i = 0; i < n; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", names[i]);
    struct err *e = catalog_error(l, v, ERR_INVALID, "%s must be one of %s", what, all.data);
    const char *best = text_nearest(s, names, n);
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
    buf_done(&all);
    return 0;
}

const struct value *catalog_read_list(struct load *l, const struct value *v, const char *what)
{
    static const struct value nothing = {.kind = VALUE_LIST};

    if (v->kind != VALUE_LIST) {
        struct err *e = catalog_error(l, v, ERR_INVALID, "%s must be a list, not %s", what,
                                      kind_of(v));
        if (v->kind == VALUE_STRING)
            (void)err_hint(e, "write [%.*s]", shown(value_as_str(v)), v->s);
        return &nothing;
    }
    if (v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_LIMIT, "%s has %u entries, %d at most", what, v->n,
                      CATALOG_MAX_LIST);
        return &nothing;
    }
    return v;
}

static struct load_name plain_name(struct load *l, const struct value *item)
{
    return (struct load_name){.name = catalog_read_name(l, item, "a name"), .at = item};
}

static struct load_names names_by(struct load *l, const struct value *v, const char *what,
                                  struct load_name (*read)(struct load *l,
                                                           const struct value *item))
{
    const struct value *list = catalog_read_list(l, v, what);
    struct load_names names = {arena_new(&l->scratch, struct load_name, list->n), 0, true};
    struct strmap seen = {0};

    for (uint32_t i = 0; i < list->n; i++) {
        struct load_name name = read(l, &list->items[i]);
        if (!name.name.n)
            continue;
        if (strmap_put(&seen, name.name, i))
            names.at[names.n++] = name;
        else
            catalog_fault(l, CATALOG_WARNING, ERR_INVALID, catalog_where_of(name.at),
                          "%s names \"%s\" twice", what, name.name.s);
    }
    strmap_done(&seen);
    return names;
}

struct load_names catalog_read_names(struct load *l, const struct value *v, const char *what)
{
    return names_by(l, v, what, plain_name);
}

/* --- needs --- */

static void need_role(struct load *l, const struct value *v, void *object)
{
    struct load_name *need = object;
    need->name = catalog_read_name(l, v, "a name");
}

static void need_min(struct load *l, const struct value *v, void *object)
{
    struct load_name *need = object;
    if (graph_tolerance_read(v, &need->min) && need->min.value >= 1 &&
        (!need->min.percent || need->min.value <= 100))
        return;
    need->min = (struct graph_tolerance){0};
    struct err *e = catalog_error(l, v, ERR_INVALID,
                                  "\"min\" must be a number or a percentage, at least 1");
    (void)err_hint(e, "write how many of the cluster are enough: 1, or \"50%%\" of its members");
}

static struct load_name read_need(struct load *l, const struct value *item)
{
    static const struct field fields[] = {{"role", need_role}, {"min", need_min}};
    struct load_name need = {.at = item};

    if (item->kind != VALUE_MAP)
        return plain_name(l, item);
    if (catalog_read_fields(l, item, "a need", fields, sizeof fields / sizeof *fields, &need) &&
        !value_get(item, "role")) {
        struct err *e = catalog_error(l, item, ERR_INVALID, "a need names its \"role\"");
        (void)err_hint(e, "write {role: NAME, min: 1}");
    }
    return need;
}

struct load_names catalog_read_needs(struct load *l, const struct value *v, const char *what)
{
    return names_by(l, v, what, read_need);
}

struct catalog_names catalog_read_name_list(struct load *l, const struct value *v, const char *what)
{
    struct load_names from = catalog_read_names(l, v, what);
    struct str *names = arena_new(l->mem, struct str, from.n);

    for (uint32_t i = 0; i < from.n; i++)
        names[i] = from.at[i].name;
    return (struct catalog_names){names, from.n};
}

struct value catalog_key_of(const struct value *map, const struct member *m)
{
    struct value key = {.kind = VALUE_STRING, .source = map->source, .n = m->key_n, .s = m->key};
    key.line = m->key_line;
    key.column = m->key_column;
    return key;
}

const struct value *catalog_read_map(struct load *l, const struct value *v, const char *what)
{
    if (v->kind == VALUE_MAP)
        return value_copy(l->mem, v);
    catalog_error(l, v, ERR_INVALID, "%s must be a map, not %s", what, kind_of(v));
    return l->no_values;
}

int64_t catalog_read_amount(struct load *l, const struct value *v, const char *what, int64_t unit)
{
    const double most = 1e9; /* of any unit, so that sums over a cluster stay exact */
    double n = v->kind == VALUE_INT ? (double)v->i : v->kind == VALUE_REAL ? v->r : -1;
    double scaled = n * (double)unit;

    if (n < 0 || n > most) {
        catalog_error(l, v, ERR_INVALID, "%s must be a number from 0 to %.0f", what, most);
        return 0;
    }
    /* Decimal fractions are not exact in binary: what is meant is the nearest. */
    if (fabs(scaled - round(scaled)) > 1e-9 + 1e-12 * scaled) {
        catalog_error(l, v, ERR_INVALID, "%s is finer than 1/%lld", what, (long long)unit);
        return 0;
    }
    return llround(scaled);
}

const struct catalog_amount *catalog_read_amounts(struct load *l, const struct value *v,
                                                  const char *what, uint32_t *ret_n)
{
    struct catalog_amount *amounts = NULL;

    *ret_n = 0;
    if (v->kind != VALUE_MAP || v->n > CATALOG_MAX_LIST) {
        catalog_error(l, v, ERR_INVALID, "%s must be a map from names to numbers", what);
        return NULL;
    }
    amounts = arena_new(l->mem, struct catalog_amount, v->n);
    for (uint32_t i = 0; i < v->n; i++) {
        struct value key = catalog_key_of(v, &v->members[i]);
        struct str name = catalog_read_name(l, &key, "a resource's name");
        int64_t milli = catalog_read_amount(l, &v->members[i].v, name.n ? name.s : "it",
                                            CATALOG_AMOUNT_UNIT);
        if (name.n)
            amounts[(*ret_n)++] = (struct catalog_amount){name, milli};
    }
    return amounts;
}

void catalog_read_each(struct load *l, const struct value *v, const char *what, bool single,
                       void (*one)(struct load *l, const struct value *v))
{
    if (single && v->kind == VALUE_MAP) {
        one(l, v);
    } else if (v->kind == VALUE_LIST) {
        for (uint32_t i = 0; i < v->n; i++)
            one(l, &v->items[i]);
    } else {
        catalog_error(l, v, ERR_INVALID, "expected %sa list of %ss, not %s",
                      single ? "a map or " : "", what, kind_of(v));
    }
}

void catalog_hint_nearest(struct err *e, struct str name, const struct strmap *known)
{
    if (!e)
        return;
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, known->n + 1);
    for (size_t i = 0; i < known->n; i++)
        names[i] = known->at[i].key;
    const char *best = text_nearest(name, names, known->n);
    if (best)
        (void)err_hint(e, "did you mean \"%s\"?", best);
}

uint32_t catalog_index_add(struct strmap *index, struct str name, uint32_t number)
{
    uintptr_t first;
    if (strmap_get(index, name, &first))
        return (uint32_t)first;
    strmap_put(index, name, number);
    return CATALOG_NONE;
}

void catalog_twice(struct load *l, const char *what, struct str name, struct catalog_where where,
                   struct catalog_where first)
{
    char at[192];
    struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_EXISTS, where, "%s \"%s\" is defined twice",
                                  what, name.s);
    (void)err_hint(e, "first at %s", catalog_where_write(l, first, at, sizeof at));
}
