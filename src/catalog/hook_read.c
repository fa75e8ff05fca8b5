/* hook_read.c - hooks of a role or a barclamp, from YAML to programs
 *
 *     hooks:
 *       on_active: [{when: ..., set: ..., to: ...}, ...]
 *       on_bind: address_from_range
 *       on_node_change: {fields: [alive, labels/rack], do: [{...}]}
 *
 * They are compiled while they are read: what cannot run is a fault of the catalog, with its place.
 * Names that a hook reads must be names that its event has.  The roles that it runs or sets data of
 * are looked at when all are known: they must be of its own barclamp.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "base/text.h"
#include "template/hook.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const char *const hook_names[] = {
#define X(id, name) name,
    HOOK_EVENTS(X)
#undef X
};
static const struct {
    const char *name;
    uint32_t events;
} scope_names[] = {
#define X(id, name, events) {name, events},
    HOOK_NAMES(X)
#undef X
};

/* --- compiling --- */

/* Each name that the hook reads is there at its event. */
static void names_check(struct load *l, const struct value *v, const struct hook *h)
{
    enum hook_event event = hook_event_of(h);
    struct str path;

    for (size_t i = 0; hook_read_at(h, i, &path); i++) {
        const char *dot = memchr(path.s, '.', path.n), *known[COUNT(scope_names)];
        struct str name = {path.s, dot ? (size_t)(dot - path.s) : path.n};
        size_t n = 0;
        bool there = false;
        for (size_t k = 0; k < COUNT(scope_names); k++)
            if (scope_names[k].events >> event & 1) {
                known[n++] = scope_names[k].name;
                there |= str_is(name, scope_names[k].name);
            }
        if (there)
            continue;
        SCOPED_BUF(all);
        for (size_t k = 0; k < n; k++)
            buf_printf(&all, "%s%s", k ? ", " : "", known[k]);
        struct err *e = catalog_error(
            l, v, ERR_UNKNOWN_NAME, "%s: there is no \"%.*s\" to look at", hook_event_name(event),
            (int)text_utf8_prefix(name.s, name.n < 64 ? name.n : 64), name.s);
        (void)err_hint(e, "there are %s", all.data);
    }
}

static void hook_add(struct load *l, const struct value *steps, enum hook_event event,
                     struct catalog_hooks *ret)
{
    struct catalog_where where = catalog_where_of(steps);
    struct hook_options o = {.file = l->docs[where.file].path.s};
    const struct hook *h = NULL;
    struct err why = {0};

    if (steps->kind != VALUE_STRING) {
        (void)catalog_read_list(l, steps, hook_names[event]);
        if (steps->kind != VALUE_LIST || !steps->n)
            return; /* nothing to do is no hook */
    }
    if (hook_compile(l->mem, steps, event, &o, &h, &why) < 0) {
        struct err *e = catalog_fault(l, CATALOG_ERROR, why.code, catalog_where_in(steps, &why),
                                      "%s", why.text);
        /* Of an expression it begins with a caret below a line that is not shown here. */
        const char *hint = why.hint + strspn(why.hint, " ^");
        if (*hint)
            (void)err_hint(e, "%s", hint);
        return;
    }
    names_check(l, steps, h);
    ret->at[event] = h;
    ret->events |= 1u << event;
}

/* --- on_node_change --- */

struct change_read {
    struct catalog_hooks *hooks;
    bool has_do;
};

static void change_fields(struct load *l, const struct value *v, void *object)
{
    struct catalog_hooks *hooks = ((struct change_read *)object)->hooks;
    const struct value *list = catalog_read_list(l, v, "\"fields\"");
    struct str *fields = arena_new(l->mem, struct str, list->n ? list->n : 1);

    for (uint32_t i = 0; i < list->n; i++)
        fields[i] = catalog_read_path(l, &list->items[i], "a field");
    if (!list->n)
        catalog_error(l, v, ERR_INVALID, "a hook that watches no field never runs");
    hooks->fields = fields;
    hooks->n_fields = list->n;
}

static void change_do(struct load *l, const struct value *v, void *object)
{
    struct change_read *c = object;
    c->has_do = true;
    hook_add(l, v, HOOK_ON_NODE_CHANGE, c->hooks);
}

static const struct field change_keys[] = {{"fields", change_fields}, {"do", change_do}};

/* --- all of them --- */

static void hook_read(struct load *l, const struct value *map, const struct member *m,
                      struct catalog_hooks *ret)
{
    struct str name = {m->key, m->key_n};
    enum hook_event event = hook_event_find(name);
    struct change_read change = {.hooks = ret};

    if (event == HOOK_EVENT_COUNT) {
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
    if (event != HOOK_ON_NODE_CHANGE || m->v.kind != VALUE_MAP) {
        hook_add(l, &m->v, event, ret);
        return;
    }
    if (catalog_read_fields(l, &m->v, "this hook", change_keys, COUNT(change_keys), &change) &&
        !change.has_do)
        catalog_error(l, &m->v, ERR_INVALID, "a hook with \"fields\" needs \"do\"");
}

const struct catalog_hooks *catalog_read_hooks(struct load *l, const struct value *v)
{
    struct catalog_hooks *hooks = arena_new(l->mem, struct catalog_hooks, 1);

    if (v->kind != VALUE_MAP) {
        catalog_error(l, v, ERR_INVALID, "\"hooks\" must be a map from events to lists");
        return NULL;
    }
    hooks->file = catalog_where_of(v).file;
    for (uint32_t i = 0; i < v->n; i++)
        hook_read(l, v, &v->members[i], hooks);
    return hooks->events ? hooks : NULL;
}

/* Whom a hook runs or sets data of is of its own barclamp. */
static void roles_check(struct load *l, const struct catalog_hooks *hooks, uint32_t barclamp)
{
    struct str name;
    uint32_t line, column;

    for (int event = 0; hooks && event < HOOK_EVENT_COUNT; event++)
        for (size_t i = 0;
             hooks->at[event] && hook_role_at(hooks->at[event], i, &name, &line, &column); i++) {
            struct catalog_where where = {hooks->file, line, column};
            uintptr_t index = 0;
            uint32_t role = strmap_get(&l->by_name, name, &index) ? l->names.at[index].role
                                                                  : CATALOG_NONE;
            if (role != CATALOG_NONE && l->roles.at[role].role.barclamp == barclamp)
                continue;
            if (role == CATALOG_NONE) {
                struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_UNKNOWN_NAME, where,
                                              "%s: there is no role %s", hook_names[event], name.s);
                catalog_hint_nearest(e, name, &l->by_name);
                continue;
            }
            struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_REFUSED, where,
                                          "%s: %s is a role of another barclamp", hook_names[event],
                                          name.s);
            (void)err_hint(e, "a hook runs and configures roles of its own barclamp only");
        }
}

void catalog_resolve_hooks(struct load *l)
{
    for (size_t i = 0; i < l->barclamps.n; i++)
        roles_check(l, l->barclamps.at[i].hooks, (uint32_t)i);
    for (size_t i = 0; i < l->roles.n; i++) {
        struct load_role *r = &l->roles.at[i];
        const struct catalog_hooks *all = NULL; /* what is built in is of no barclamp */
        if (r->role.barclamp != CATALOG_NONE)
            all = l->barclamps.at[r->role.barclamp].hooks;
        catalog_excuse(l, r->lenient, &r->role.fault, &r->role.fault_where);
        roles_check(l, r->role.hooks, r->role.barclamp);
        catalog_excuse_none(l);
        r->role.hook_events = (r->role.hooks ? r->role.hooks->events : 0) | (all ? all->events : 0);
    }
}
