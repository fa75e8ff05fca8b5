/* view_snapshot.c - snapshots and what differs between two of them, as values
 *
 * People see names: of roles, nodes and parents.  An entry that lives is shown with the number of
 * its noderole.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "server/server_i.h"

/* Maps are never called by the same number twice. */
uint64_t view_snapshot_rev(const struct snapshot *p)
{
    return pmap_id(p->root) + 1;
}

struct value *view_snapshot(struct server *s, struct arena *a, const struct snapshot *p)
{
    struct value *v = value_map(a);
    value_put_int(a, v, "id", p->id);
    value_put_text(a, v, "deployment", s->inv.deployments.at[p->deployment].name);
    value_put_int(a, v, "number", p->number);
    value_put_text(a, v, "state", snapshot_state_name(p->state));
    value_set(a, v, "author", value_str(a, p->author));
    value_set(a, v, "message", value_str(a, p->message));
    value_put_int(a, v, "catalog", p->catalog);
    value_set(a, v, "source", p->source ? value_int(a, p->source) : value_null(a));
    value_set(a, v, "operation", p->operation ? value_int(a, p->operation) : value_null(a));
    value_put_int(a, v, "entries", (int64_t)pmap_count(p->root));
    value_put_text(a, v, "created_at", view_time(a, p->created_ms));
    value_put_text(a, v, "ended_at", view_time(a, p->ended_ms));
    value_put_int(a, v, "rev", (int64_t)view_snapshot_rev(p));
    return v;
}

static void put_names(struct server *s, struct arena *a, struct value *v, uint32_t role,
                      uint32_t node)
{
    const char *name = view_node_name(s, node);
    uint32_t id = node ? wish_live(s, snapshot_key(role, node), NULL) : 0;
    value_set(a, v, "role", value_str(a, desire_role_name(s->desire, role)));
    value_put_text(a, v, "node", node ? (name ? name : "?") : NULL);
    value_set(a, v, "noderole", id ? value_int(a, id) : value_null(a));
}

const char *view_key_name(struct server *s, struct arena *a, uint64_t key)
{
    struct str role = desire_role_name(s->desire, snapshot_key_role(key));
    const char *node = view_node_name(s, snapshot_key_node(key));
    if (!snapshot_key_node(key))
        return arena_strndup(a, role.s, role.n);
    return arena_printf(a, "%.*s@%s", (int)role.n, role.s, node ? node : "?");
}

/* Of an item with a role and a node, or of "role@node". */
static struct str part_of(const struct value *v, bool role)
{
    if (v->kind == VALUE_MAP)
        return value_as_str(value_get(v, role ? "role" : "node"));
    const char *at = memchr(v->s, '@', v->n);
    if (role)
        return (struct str){v->s, at ? (size_t)(at - v->s) : v->n};
    return at ? (struct str){at + 1, v->n - (size_t)(at + 1 - v->s)} : (struct str){"", 0};
}

static int by_name(const void *x, const void *y)
{
    int order = text_natural_order(part_of(x, true), part_of(y, true));
    return order ? order : text_natural_order(part_of(x, false), part_of(y, false));
}

void view_sort(struct value *list)
{
    if (list->n > 1)
        qsort(list->items, list->n, sizeof *list->items, by_name);
}

static bool has_parent(const struct snapshot_entry *t, uint64_t key)
{
    for (uint32_t i = 0; t && i < t->n_parents; i++)
        if (t->parents[i] == key)
            return true;
    return false;
}

/* Parents that one entry has and the other has not. */
static struct value *parents_without(struct server *s, struct arena *a,
                                     const struct snapshot_entry *t,
                                     const struct snapshot_entry *other)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; t && i < t->n_parents; i++)
        if (!has_parent(other, t->parents[i]))
            value_add(a, list, value_text(a, view_key_name(s, a, t->parents[i])));
    view_sort(list);
    return list;
}

static const struct value *user_of(struct server *s, struct arena *a,
                                   const struct snapshot_entry *t)
{
    const struct value *v = t ? wish_document(s, a, t->user) : NULL;
    return v ? v : value_map(a);
}

static struct value *change_value(struct server *s, struct arena *a,
                                  const struct snapshot_change *c, const char *what)
{
    struct value *v = value_map(a);
    bool data = !c->old || !c->now || (c->what & SNAPSHOT_CHANGED_USER);
    put_names(s, a, v, c->role, c->node);
    value_put_text(a, v, "change", what);
    value_set(a, v, "before", data && c->old ? user_of(s, a, c->old) : value_null(a));
    value_set(a, v, "after", data && c->now ? user_of(s, a, c->now) : value_null(a));
    value_set(a, v, "gains", parents_without(s, a, c->now, c->old));
    value_set(a, v, "losses", parents_without(s, a, c->old, c->now));
    return v;
}

struct value *view_changes(struct server *s, struct arena *a, const struct snapshot_changes *d)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < d->n_added; i++)
        value_add(a, list, change_value(s, a, &d->added[i], "added"));
    for (uint32_t i = 0; i < d->n_changed; i++)
        value_add(a, list, change_value(s, a, &d->changed[i], "changed"));
    for (uint32_t i = 0; i < d->n_removed; i++)
        value_add(a, list, change_value(s, a, &d->removed[i], "removed"));
    view_sort(list);
    return list;
}

/* One of the three sides of a conflict; null: it is not bound there. */
static struct value *side_value(struct server *s, struct arena *a, const struct snapshot_entry *t)
{
    static const struct snapshot_entry none;
    struct value *v = value_map(a);
    if (!t)
        return value_null(a);
    value_set(a, v, "data", user_of(s, a, t));
    value_set(a, v, "needs", parents_without(s, a, t, &none));
    return v;
}

struct value *view_conflicts(struct server *s, struct arena *a, const struct snapshot_conflicts *c)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < c->n; i++) {
        struct value *v = value_map(a);
        put_names(s, a, v, c->at[i].role, c->at[i].node);
        value_set(a, v, "base", side_value(s, a, c->at[i].base));
        value_set(a, v, "head", side_value(s, a, c->at[i].ours));
        value_set(a, v, "proposal", side_value(s, a, c->at[i].theirs));
        value_add(a, list, v);
    }
    view_sort(list);
    return list;
}
