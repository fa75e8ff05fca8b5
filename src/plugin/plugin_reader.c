/* plugin_reader.c - the small parts of a descriptor, with the place and the remedy of each fault
 *
 * Reading goes on after a fault so that each reader needs no way out; only the first is kept, since
 * later ones may follow from it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "plugin/plugin_i.h"

enum { MOST_PARTS = 16 };

/* --- faults --- */

static struct str line_at(struct str text, uint32_t line)
{
    size_t from = 0, to;
    for (uint32_t k = 1; k < line && from < text.n; from++)
        k += text.s[from] == '\n';
    for (to = from; to < text.n && text.s[to] != '\n';)
        to++;
    return (struct str){text.s + from, to - from};
}

void plugin_fault_at(struct plugin_reader *r, const struct value *v, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    if (r->bad)
        return;
    r->bad = true;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_set(r->e, ERR_INVALID, "%s", text);
    if (!v || !v->line) {
        err_at(r->e, "%s", r->file);
        return;
    }
    struct str line = line_at(r->text, v->line);
    err_at(r->e, "%s:%u:%u", r->file, v->line, v->column);
    err_line(r->e, line.s, line.n);
}

/* A hint of the fault that was just told; one that was told before has its own. */
void plugin_fault_hint(struct plugin_reader *r, const char *fmt, ...)
{
    char text[200];
    va_list ap;
    if (!r->bad || !r->e || r->e->hint[0])
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    err_hint(r->e, "%s", text);
}

struct value plugin_key_of(const struct value *map, const struct member *m)
{
    return (struct value){.kind = VALUE_STRING,
                          .source = map->source,
                          .line = m->key_line,
                          .column = m->key_column,
                          .n = m->key_n,
                          .s = m->key};
}

/* --- parts --- */

struct str plugin_get_text(struct plugin_reader *r, const struct value *v, const char *what)
{
    if (v->kind == VALUE_STRING && !memchr(v->s, '\0', v->n))
        return (struct str){arena_strndup(r->mem, v->s, v->n), v->n};
    bool first = !r->bad;
    plugin_fault_at(r, v, "%s must be text, not %s", what,
                    v->kind == VALUE_STRING ? "with a NUL in it"
                                            : value_kind_name((enum value_kind)v->kind));
    if (first && (v->kind == VALUE_INT || v->kind == VALUE_REAL || v->kind == VALUE_BOOL))
        plugin_fault_hint(r, "put it in quotes");
    return (struct str){"", 0};
}

/* Names of fields and actions are those of others: letters, digits, and . _ - */
static bool is_word(struct str s)
{
    bool good = s.n > 0 && s.n <= 64;
    for (size_t i = 0; good && i < s.n; i++)
        good = (s.s[i] >= '0' && s.s[i] <= '9') || ((s.s[i] | 32) >= 'a' && (s.s[i] | 32) <= 'z') ||
               (i && strchr("._-", s.s[i]));
    return good;
}

struct str plugin_get_name(struct plugin_reader *r, const struct value *v, const char *what)
{
    struct str s = plugin_get_text(r, v, what);
    bool first = !r->bad;
    if (first && !is_word(s)) {
        plugin_fault_at(r, v, "\"%.80s\" is no name for %s", s.s, what);
        plugin_fault_hint(r, "letters, digits and . _ -, at most 64 of them");
    }
    return s;
}

bool plugin_get_bool(struct plugin_reader *r, const struct value *v, const char *what)
{
    if (v->kind != VALUE_BOOL)
        plugin_fault_at(r, v, "%s must be true or false", what);
    return value_as_bool(v, false);
}

int plugin_get_choice(struct plugin_reader *r, const struct value *v, const char *what,
                      const char *const *words, size_t n)
{
    struct str s = value_as_str(v);
    SCOPED_BUF(all);
    for (size_t i = 0; i < n; i++) {
        if (v->kind == VALUE_STRING && str_is(s, words[i]))
            return (int)i;
        buf_printf(&all, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", words[i]);
    }
    bool first = !r->bad;
    plugin_fault_at(r, v, "%s must be %s", what, all.data);
    const char *near = text_nearest(s, words, n);
    if (first && near)
        plugin_fault_hint(r, "did you mean %s?", near);
    return 0;
}

const struct value *plugin_get_map(struct plugin_reader *r, const struct value *v, const char *what)
{
    if (v->kind == VALUE_MAP && v->n <= PLUGIN_MAX_LIST)
        return v;
    if (v->kind == VALUE_MAP)
        plugin_fault_at(r, v, "%s has more than %d members", what, PLUGIN_MAX_LIST);
    else
        plugin_fault_at(r, v, "%s must be a map, not %s", what,
                        value_kind_name((enum value_kind)v->kind));
    return NULL;
}

const struct value *plugin_get_list(struct plugin_reader *r, const struct value *v,
                                    const char *what)
{
    if (v->kind == VALUE_LIST && v->n <= PLUGIN_MAX_LIST)
        return v;
    if (v->kind == VALUE_LIST)
        plugin_fault_at(r, v, "%s has more than %d items", what, PLUGIN_MAX_LIST);
    else
        plugin_fault_at(r, v, "%s must be a list, not %s", what,
                        value_kind_name((enum value_kind)v->kind));
    return NULL;
}

static void part_unknown(struct plugin_reader *r, const struct value *key, const char *what,
                         const struct plugin_part *parts, size_t n)
{
    const char *names[MOST_PARTS];
    SCOPED_BUF(all);
    bool first = !r->bad;
    assert(n <= MOST_PARTS);
    for (size_t i = 0; i < n; i++) {
        names[i] = parts[i].name;
        buf_printf(&all, "%s%s", i ? " " : "", names[i]);
    }
    plugin_fault_at(r, key, "%s has no \"%.*s\"", what, (int)(key->n < 64 ? key->n : 64), key->s);
    const char *near = text_nearest(value_as_str(key), names, n);
    if (first && near)
        plugin_fault_hint(r, "did you mean %s?", near);
    else if (first)
        plugin_fault_hint(r, "it has %s", all.data);
}

void plugin_get_parts(struct plugin_reader *r, const struct value *v, const char *what,
                      const struct plugin_part *parts, size_t n, void *object)
{
    static const struct value nothing = {.kind = VALUE_MAP};
    const struct value *map = v->kind == VALUE_NULL ? &nothing : plugin_get_map(r, v, what);
    for (uint32_t i = 0; map && i < map->n; i++) {
        const struct member *m = &map->members[i];
        size_t k = 0;
        while (k < n && !str_is((struct str){m->key, m->key_n}, parts[k].name))
            k++;
        struct value key = plugin_key_of(map, m);
        if (k < n)
            parts[k].read(r, &m->v, object);
        else
            part_unknown(r, &key, what, parts, n);
    }
    for (size_t k = 0; map && k < n; k++)
        if (parts[k].needed && !value_get(map, parts[k].name))
            plugin_fault_at(r, v, "%s needs \"%s\"", what, parts[k].name);
}
