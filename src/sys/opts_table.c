/* opts_table.c - reads settings into a struct by the table of its keys
 *
 * Every value, a default included, goes through the same parser of text, so that file, --set and
 * built-in values cannot differ in what they accept.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/opts_table.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/yaml.h"
#include "sys/fs.h"

enum { FILE_LIMIT = 1024 * 1024, NUMBER_TEXT = 32, OPTS_KEYS_MAX = 128 };

static struct arena *memory(const struct opts_table *t, void *o)
{
    return (struct arena *)(void *)((char *)o + t->mem_offset);
}

static const char **origin(const struct opts_table *t, void *o, size_t key)
{
    return (const char **)(void *)((char *)o + t->origin_offset) + key;
}

const char *opts_type_name(enum opts_type type)
{
    static const char *const names[] = {
#define X(id, text, ctype) text,
        OPTS_TYPES(X)
#undef X
    };
    return names[type];
}

/* Units of sizes, and of durations for showing them.  Largest first. */
struct unit {
    const char *name;
    uint64_t of;
};
static const struct unit size_units[] = {
    {"TiB", 1ull << 40},
    {"GiB", 1ull << 30},
    {"MiB", 1ull << 20},
    {"KiB", 1ull << 10},
    {"B", 1},
    {"", 1},
};
static const struct unit time_units[] = {
    {"d", OPTS_DAY}, {"h", 3600 * OPTS_SECOND}, {"m", 60 * OPTS_SECOND}, {"s", OPTS_SECOND},
    {"ms", 1},
};
#define COUNT(a) (sizeof(a) / sizeof(a)[0])

static int parse_size(struct str s, uint64_t *ret_v, struct err *e)
{
    size_t digits = 0;
    uint64_t v;
    while (digits < s.n && s.s[digits] >= '0' && s.s[digits] <= '9')
        digits++;
    struct str unit = {s.s + digits, s.n - digits};
    if (digits && text_u64((struct str){s.s, digits}, UINT64_MAX, &v, NULL) >= 0)
        for (size_t i = 0; i < COUNT(size_units); i++)
            if (str_is(unit, size_units[i].name) && v <= UINT64_MAX / size_units[i].of) {
                *ret_v = v * size_units[i].of;
                return 0;
            }
    int rc = err_set(e, ERR_INVALID, "\"%.*s\" is no size", (int)s.n, s.s);
    err_hint(e, "write a number of bytes, or one with KiB, MiB, GiB or TiB");
    return rc;
}

static void show_number(const struct opts_info *info, uint64_t v, char ret[NUMBER_TEXT])
{
    const struct unit *units = info->type == OPTS_SIZE ? size_units : time_units;
    size_t n = info->type == OPTS_SIZE ? COUNT(size_units) : COUNT(time_units);
    if (info->type == OPTS_SIZE || info->type == OPTS_DURATION)
        for (size_t i = 0; i < n; i++)
            if (v % units[i].of == 0 && (v != 0 || units[i].of == 1)) {
                snprintf(ret, NUMBER_TEXT, "%" PRIu64 "%s", v / units[i].of, units[i].name);
                return;
            }
    snprintf(ret, NUMBER_TEXT, "%" PRIu64, v);
}

static int in_range(const struct opts_info *info, uint64_t v, struct err *e)
{
    char least[NUMBER_TEXT], most[NUMBER_TEXT];
    if (v >= info->least && v <= info->most)
        return 0;
    show_number(info, info->least, least);
    show_number(info, info->most, most);
    return err_set(e, ERR_INVALID, "%s must be from %s to %s", info->name, least, most);
}

static int check_choice(const struct opts_info *info, struct str s, struct err *e)
{
    const char *at = info->choices;
    while (*at) {
        size_t n = strcspn(at, "|");
        if (str_eq(s, (struct str){at, n}))
            return 0;
        at += n + (at[n] == '|');
    }
    if (!info->choices[0])
        return 0;
    return err_set(e, ERR_INVALID, "%s must be one of %s, not \"%.*s\"", info->name, info->choices,
                   (int)s.n, s.s);
}

static int put_text(const struct opts_table *t, void *o, size_t key, struct str s, struct err *e)
{
    const struct opts_info *info = &t->infos[key];
    int rc = check_choice(info, s, e);
    if (rc < 0)
        return rc;
    if (memchr(s.s, '\0', s.n))
        return err_set(e, ERR_INVALID, "%s must not contain a NUL", info->name);
    if (s.n < info->least || s.n > info->most)
        return s.n ? err_set(e, ERR_INVALID, "%s is longer than %" PRIu64 " bytes", info->name,
                             info->most)
                   : err_set(e, ERR_INVALID, "%s must not be empty", info->name);
    *(const char **)(void *)((char *)o + t->offsets[key]) = arena_strndup(memory(t, o), s.s, s.n);
    return 0;
}

static int put_bool(const struct opts_table *t, void *o, size_t key, struct str s, struct err *e)
{
    if (!str_is(s, "true") && !str_is(s, "false"))
        return err_set(e, ERR_INVALID, "%s must be true or false, not \"%.*s\"", t->infos[key].name,
                       (int)s.n, s.s);
    *(bool *)((char *)o + t->offsets[key]) = str_is(s, "true");
    return 0;
}

static int put(const struct opts_table *t, void *o, size_t key, struct str s, struct err *e)
{
    const struct opts_info *info = &t->infos[key];
    uint64_t v = 0;
    int rc = 0;
    switch (info->type) {
    case OPTS_TEXT:
    case OPTS_PATH: return put_text(t, o, key, s, e);
    case OPTS_BOOL: return put_bool(t, o, key, s, e);
    case OPTS_UINT: rc = text_u64(s, UINT64_MAX, &v, e); break;
    case OPTS_DURATION: rc = text_duration_ms(s, &v, e); break;
    case OPTS_SIZE: rc = parse_size(s, &v, e); break;
    }
    if (rc < 0)
        err_wrap(e, "%s", info->name);
    else
        rc = in_range(info, v, e);
    if (rc == 0)
        *(uint64_t *)(void *)((char *)o + t->offsets[key]) = v;
    return rc;
}

void opts_table_init(const struct opts_table *t, void *o)
{
    arena_init(memory(t, o));
    for (size_t k = 0; k < t->n; k++) {
        int rc = put(t, o, k, str_of(t->infos[k].def), NULL);
        assert(rc == 0); /* a default that its own key refuses */
        *origin(t, o, k) = "";
    }
}

static int find_key(const struct opts_table *t, struct str name, size_t *ret_key, struct err *e)
{
    const char *names[OPTS_KEYS_MAX];
    assert(t->n <= OPTS_KEYS_MAX);
    for (size_t k = 0; k < t->n; k++) {
        names[k] = t->infos[k].name;
        if (str_is(name, names[k])) {
            *ret_key = k;
            return 0;
        }
    }
    const char *near = text_nearest(name, names, t->n);
    int rc = err_set(e, ERR_UNKNOWN_NAME, "there is no setting \"%.*s\"", (int)name.n, name.s);
    if (near)
        err_hint(e, "did you mean %s?", near);
    return rc;
}

/* The text that a value of the file stands for, if its kind suits the key. */
static int text_of(const struct opts_info *info, const struct value *v, char number[NUMBER_TEXT],
                   struct str *ret_s, struct err *e)
{
    bool numeric = info->type == OPTS_UINT || info->type == OPTS_DURATION ||
                   info->type == OPTS_SIZE;
    if (v->kind == VALUE_STRING && info->type != OPTS_UINT && info->type != OPTS_BOOL) {
        *ret_s = value_as_str(v);
    } else if (v->kind == VALUE_INT && numeric && v->i >= 0) {
        snprintf(number, NUMBER_TEXT, "%" PRId64, v->i);
        *ret_s = str_of(number);
    } else if (v->kind == VALUE_BOOL && info->type == OPTS_BOOL) {
        *ret_s = str_of(v->b ? "true" : "false");
    } else if (v->kind == VALUE_INT && numeric) {
        return err_set(e, ERR_INVALID, "%s must not be negative", info->name);
    } else {
        int rc = err_set(e, ERR_INVALID, "%s: expected %s, found %s", info->name,
                         opts_type_name(info->type), value_kind_name((enum value_kind)v->kind));
        if (v->kind == VALUE_STRING)
            err_hint(e, "write it without quotes");
        return rc;
    }
    return 0;
}

static int load_member(const struct opts_table *t, void *o, const char *name,
                       const struct member *m, struct err *e)
{
    size_t key;
    struct str text;
    char number[NUMBER_TEXT];
    int rc = find_key(t, (struct str){m->key, m->key_n}, &key, e);
    if (rc < 0) {
        err_at(e, "%s:%u:%u", name, m->key_line, m->key_column);
        return rc;
    }
    rc = text_of(&t->infos[key], &m->v, number, &text, e);
    if (rc == 0)
        rc = put(t, o, key, text, e);
    if (rc < 0)
        err_at(e, "%s:%u:%u", name, m->v.line, m->v.column);
    else
        *origin(t, o, key) = arena_printf(memory(t, o), "%s:%u:%u", name, m->v.line, m->v.column);
    return rc;
}

int opts_table_load_text(const struct opts_table *t, void *o, const char *name, struct str yaml,
                         struct err *e)
{
    SCOPED_ARENA(mem);
    struct value *v;
    int rc = yaml_parse(&mem, yaml.s, yaml.n, &(struct yaml_options){.name = name}, &v, e);
    if (rc < 0)
        return rc;
    if (v->kind != VALUE_MAP && v->kind != VALUE_NULL) {
        rc = err_set(e, ERR_INVALID, "settings are a map, not a %s",
                     value_kind_name((enum value_kind)v->kind));
        err_at(e, "%s:%u:%u", name, v->line, v->column);
        return rc;
    }
    for (uint32_t i = 0; rc == 0 && v->kind == VALUE_MAP && i < v->n; i++)
        rc = load_member(t, o, name, &v->members[i], e);
    return rc;
}

int opts_table_load(const struct opts_table *t, void *o, const char *path, struct err *e)
{
    SCOPED_BUF(text);
    int rc = fs_read(path, FILE_LIMIT, &text, e);
    return rc < 0 ? rc : opts_table_load_text(t, o, path, buf_str(&text), e);
}

int opts_table_set(const struct opts_table *t, void *o, const char *assignment, struct err *e)
{
    size_t key;
    const char *eq = strchr(assignment, '=');
    int rc;
    if (!eq) {
        rc = err_set(e, ERR_INVALID, "\"%s\" has no =", assignment);
        err_hint(e, "write --set key=value");
        return rc;
    }
    rc = find_key(t, (struct str){assignment, (size_t)(eq - assignment)}, &key, e);
    if (rc == 0)
        rc = put(t, o, key, str_of(eq + 1), e);
    if (rc == 0)
        *origin(t, o, key) = "--set";
    else
        err_at(e, "--set %s", assignment);
    return rc;
}

void opts_table_show(const struct opts_table *t, const void *o, size_t key, struct buf *b)
{
    const struct opts_info *info = &t->infos[key];
    const char *at = (const char *)o + t->offsets[key];
    char number[NUMBER_TEXT];
    switch (info->type) {
    case OPTS_TEXT:
    case OPTS_PATH: buf_puts(b, *(const char *const *)(const void *)at); break;
    case OPTS_BOOL: buf_puts(b, *(const bool *)at ? "true" : "false"); break;
    case OPTS_UINT:
    case OPTS_DURATION:
    case OPTS_SIZE:
        show_number(info, *(const uint64_t *)(const void *)at, number);
        buf_puts(b, number);
        break;
    }
}
