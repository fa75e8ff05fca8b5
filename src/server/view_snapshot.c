/* view_snapshot.c - snapshots and what differs between two of them, as values
 *
 * People see names: of roles, nodes and parents.  An entry that lives is shown with the number of
 * its noderole.
 */
/* SPDX-License-Identifier: Apache-2.0 */
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
    return list;
}

struct value *view_conflicts(struct server *s, struct arena *a, const struct snapshot_conflicts *c)
{
    struct value *list = value_list(a);
    for (uint32_t i = 0; i < c->n; i++) {
        struct value *v = value_map(a);
        put_names(s, a, v, c->at[i].role, c->at[i].node);
        value_set(a, v, "head", c->at[i].ours ? user_of(s, a, c->at[i].ours) : value_null(a));
        value_set(a, v, "proposal",
                  c->at[i].theirs ? user_of(s, a, c->at[i].theirs) : value_null(a));
        value_add(a, list, v);
    }
    return list;
}
