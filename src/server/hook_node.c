/* hook_node.c - hooks about nodes: created, changed, about to go
 *
 * They belong to roles, whether or not those are bound anywhere, and run in the order of the
 * catalog.  What a hook watches decides whether it runs: the others cost nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hooks_i.h"

/* The value of a field written "a/b". */
static const struct value *field_of(const struct value *node, struct str field)
{
    while (field.n && node) {
        const char *slash = memchr(field.s, '/', field.n);
        struct str key = {field.s, slash ? (size_t)(slash - field.s) : field.n};
        node = value_get_str(node, key);
        field = slash ? (struct str){slash + 1, field.n - key.n - 1} : (struct str){"", 0};
    }
    return node;
}

static bool differs(const struct value *a, const struct value *b)
{
    return a && b ? !value_equal(a, b) : a != b;
}

static bool watches(const struct catalog_hooks *hooks, const struct value *before,
                    const struct value *after)
{
    if (hooks->n_fields == 0)
        return true;
    for (uint32_t i = 0; i < hooks->n_fields; i++)
        if (differs(field_of(before, hooks->fields[i]), field_of(after, hooks->fields[i])))
            return true;
    return false;
}

/* Does anybody watch one of these fields? */
static bool watched(const struct hook_index *x, const struct value *changed)
{
    for (uint32_t i = 0; i < changed->n; i++)
        if (x->all_fields || strmap_get(&x->fields, value_as_str(&changed->items[i]), NULL))
            return true;
    return false;
}

void hook_node(struct server *s, enum hook_event event, uint32_t node, const struct value *before,
               const struct value *after)
{
    SCOPED_ARENA(mem);
    const struct hook_index *x = hook_index_of(s);
    bool change = event == HOOK_ON_NODE_CHANGE;
    if (!(x->any >> event & 1))
        return;
    struct hook_subject u = {.node = node, .after = after, .before = before};
    if (change)
        hook_rounds_drop(&s->hooks->rounds, node, event); /* before and after say it all */
    hook_settle(s);                                       /* what is due happened before this */
    if (change) {
        u.changed = hook_changed_fields(before, after, &mem);
        if (!watched(x, u.changed))
            return;
    }
    size_t which = (size_t)(event - HOOK_ON_NODE_CREATE);
    for (size_t i = 0; i < x->roles[which].n; i++) {
        u.role = &s->catalog->roles[x->roles[which].at[i]];
        const struct catalog_hooks *both[] = {catalog_role_shared_hooks(s->catalog, u.role),
                                              u.role->hooks};
        for (size_t k = 0; k < sizeof both / sizeof *both; k++)
            if (both[k] && both[k]->at[event] && (!change || watches(both[k], before, after)))
                hook_perform(s, both[k]->at[event], &u);
    }
    if (!s->hooks->rounds.running)
        hook_stores_flush(s->hooks->stores);
}
