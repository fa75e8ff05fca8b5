/* rollback.c - an old map, as far as the world still allows it
 *
 * Nodes may be gone, roles unknown to the catalog of that time, parents in other deployments bound
 * elsewhere.  What has lost a parent is bound anew, by the rules of any binding; what cannot be is
 * left out.  Nothing is left out in silence: it is what the old map has and the proposal has not.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/rollback.h"

static const char *in_the_way(struct draft *d, uint64_t key)
{
    struct server *s = d->server;
    uint32_t node = snapshot_key_node(key);
    struct str role = desire_role_name(s->desire, snapshot_key_role(key));
    if (node &&
        (node >= s->inv.nodes.n || !s->inv.nodes.at[node].name || s->inv.nodes.at[node].gone))
        return "its node is gone";
    if (!catalog_role_get(d->catalog, role))
        return arena_printf(d->mem, "generation %u of the catalog has no such role",
                            d->catalog->number);
    uint32_t id = node ? wish_live(s, key, NULL) : 0;
    if (id && s->inv.noderoles.at[id].deployment != d->deployment)
        return arena_printf(d->mem, "it is bound in deployment %s now",
                            view_deployment_name(s, s->inv.noderoles.at[id].deployment));
    return NULL;
}

static bool parent_is_there(const struct draft *d, uint64_t parent)
{
    if (pmap_get(d->map, parent, NULL))
        return true;
    uint32_t id = wish_live(d->server, parent, NULL);
    return id && d->server->inv.noderoles.at[id].deployment != d->deployment;
}

static bool is_whole(const struct draft *d, const struct snapshot_entry *t)
{
    for (uint32_t i = 0; i < t->n_parents; i++)
        if (!parent_is_there(d, t->parents[i]))
            return false;
    return true;
}

static int leave_out(struct draft *d, const struct snapshot_change *c, struct err *e)
{
    return desire_draft_put(d->server->desire, &d->map, snapshot_key(c->role, c->node), NULL, e);
}

/* Bound anew if that is possible; else it stays out. */
static int bind_again(struct draft *d, const struct snapshot_change *c, struct err *e)
{
    struct bind_item item = {desire_role_name(d->server->desire, c->role), c->node,
                             wish_document(d->server, d->mem, c->now->user)};
    struct err refusal;
    int rc = draft_bind(d, &item, 1, &refusal);
    if (rc >= 0 || refusal.code == ERR_REFUSED || refusal.code == ERR_CYCLE ||
        refusal.code == ERR_INVALID || refusal.code == ERR_UNKNOWN_NAME)
        return 0;
    *e = refusal;
    return rc;
}

int rollback_fit(struct draft *d, struct err *e)
{
    const struct snapshot *head = desire_head(d->server->desire, d->deployment);
    struct snapshot_changes diff;
    bool again = true;
    int rc = snapshot_diff(d->mem, head ? head->root : NULL, d->map, &diff, e);
    for (uint32_t i = 0; rc >= 0 && i < diff.n_added; i++)
        if (in_the_way(d, snapshot_key(diff.added[i].role, diff.added[i].node)))
            rc = leave_out(d, &diff.added[i], e);
    /* Each round takes out at least one for good, or finds all whole. */
    while (rc >= 0 && again) {
        const struct snapshot_change *lists[] = {diff.added, diff.changed};
        const uint32_t n[] = {diff.n_added, diff.n_changed};
        VEC(const struct snapshot_change *) broken = {0};
        for (int l = 0; l < 2; l++)
            for (uint32_t i = 0; i < n[l]; i++) {
                struct snapshot_entry t;
                const struct snapshot_change *c = &lists[l][i];
                if (c->node &&
                    snapshot_find_key(d->mem, d->map, snapshot_key(c->role, c->node), &t, e) > 0 &&
                    !is_whole(d, &t))
                    vec_push(&broken, c);
            }
        for (size_t i = 0; i < broken.n && rc >= 0; i++)
            rc = leave_out(d, broken.at[i], e);
        for (size_t i = 0; i < broken.n && rc >= 0; i++)
            rc = bind_again(d, broken.at[i], e);
        again = broken.n > 0;
        vec_done(&broken);
    }
    return rc < 0 ? rc : 0;
}

int rollback_lost(struct draft *d, const struct snapshot *source, struct value **ret_list,
                  struct err *e)
{
    struct snapshot_changes diff;
    struct value *list = value_list(d->mem);
    int rc = snapshot_diff(d->mem, d->map, source->root, &diff, e);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < diff.n_added; i++) {
        uint64_t key = snapshot_key(diff.added[i].role, diff.added[i].node);
        const char *node = view_node_name(d->server, diff.added[i].node), *why = in_the_way(d, key);
        struct value *v = value_map(d->mem);
        value_set(d->mem, v, "role",
                  value_str(d->mem, desire_role_name(d->server->desire, diff.added[i].role)));
        value_put_text(d->mem, v, "node", diff.added[i].node ? (node ? node : "?") : NULL);
        value_put_text(d->mem, v, "text",
                       why ? why : "what it needed is gone, or it was taken out of the proposal");
        value_add(d->mem, list, v);
    }
    view_sort(list);
    *ret_list = list;
    return 0;
}
