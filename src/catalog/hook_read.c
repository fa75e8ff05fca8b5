/* hook_read.c - hooks of a role or a barclamp: their shape only
 *
 *     hooks:
 *       on_active: [{when: ..., set: ..., to: ...}, ...]
 *       on_node_change: {fields: [alive], do: [{...}]}
 *
 * What a hook does is compiled by whoever runs hooks; here it is made sure that events exist and
 * that each has a list of maps.  The values keep their places, so that later faults have lines.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "model/hooks.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const hook_names[] = {
#define X(id, name) name,
    HOOK_EVENTS(X)
#undef X
};

static void steps_check(struct load *l, const struct value *v, const char *what)
{
    const struct value *list = catalog_read_list(l, v, what);

    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].kind != VALUE_MAP)
            catalog_error(l, &list->items[i], ERR_INVALID, "a step of a hook must be a map");
}

static void change_fields(struct load *l, const struct value *v, void *object)
{
    const struct value *list = catalog_read_list(l, v, "\"fields\"");

    (void)object;
    for (uint32_t i = 0; i < list->n; i++)
        (void)catalog_read_text(l, &list->items[i], "a field");
}

static void change_do(struct load *l, const struct value *v, void *object)
{
    *(bool *)object = true;
    steps_check(l, v, "\"do\"");
}

static const struct field change_keys[] = {{"fields", change_fields}, {"do", change_do}};

static void hook_check(struct load *l, const struct value *map, const struct member *m)
{
    struct str name = {m->key, m->key_n};
    size_t k = 0;
    bool has_do = false;

    while (k < COUNT(hook_names) && !str_is(name, hook_names[k]))
        k++;
    if (k == COUNT(hook_names)) {
        struct catalog_where where = catalog_where_of(map);
        where.line = m->key_line;
        where.column = m->key_column;
        struct err *e = catalog_fault(
            l, CATALOG_ERROR, ERR_INVALID, where, "there is no hook \"%.*s\"",
            (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        const char *best = text_nearest(name, hook_names, COUNT(hook_names));
        if (best)
            (void)err_hint(e, "did you mean \"%s\"?", best);
        return;
    }
    if (!str_is(name, "on_node_change") || m->v.kind != VALUE_MAP) {
        steps_check(l, &m->v, hook_names[k]);
        return;
    }
    if (catalog_read_fields(l, &m->v, "this hook", change_keys, COUNT(change_keys), &has_do) &&
        !has_do)
        catalog_error(l, &m->v, ERR_INVALID, "a hook with \"fields\" needs \"do\"");
}

const struct value *catalog_read_hooks(struct load *l, const struct value *v)
{
    uint64_t faults = l->n_faults;

    if (v->kind != VALUE_MAP) {
        catalog_error(l, v, ERR_INVALID, "\"hooks\" must be a map from events to lists");
        return NULL;
    }
    for (uint32_t i = 0; i < v->n; i++)
        hook_check(l, v, &v->members[i]);
    return l->n_faults == faults ? value_copy(l->mem, v) : NULL;
}
