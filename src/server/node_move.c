/* node_move.c - another home deployment for a node, and what goes along
 *
 * A noderole of the old home goes along if neither it nor anything that needs it has ever run:
 * nobody has seen it there.  Everything else stays where it works, and is told.  What is in the
 * system deployment belongs to the node wherever it is at home, and is not touched.  Like all that
 * comes and goes with nodes this amends the heads of both deployments and makes no history.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/server_i.h"

static bool has_run(const struct server *s, uint32_t id)
{
    struct noderole_view v;
    struct task_view t;
    bool ran = anneal_noderole(s->engine, id, &v) && v.run_count > 0;
    for (uint32_t i = 0; i < v.n_tasks && !ran; i++)
        ran = anneal_task(s->engine, v.first_task + i, &t) && t.attempt > 0;
    return ran;
}

static bool goes_along(const struct server *s, uint32_t id)
{
    VEC(uint32_t) todo = {0};
    struct u64map seen = {0};
    bool fresh = true;
    u64map_put(&seen, id, 1);
    vec_push(&todo, id);
    while (todo.n && fresh) {
        uint32_t at = todo.at[--todo.n], n;
        const uint32_t *children = anneal_children(s->engine, at, &n);
        fresh = !has_run(s, at);
        for (uint32_t i = 0; i < n && fresh; i++)
            if (u64map_put(&seen, children[i], 1))
                vec_push(&todo, children[i]);
    }
    vec_done(&todo);
    u64map_done(&seen);
    return fresh;
}

/* Its entry leaves one head for the other, as it is. */
static int entry_move(struct server *s, const struct server_call *c, uint32_t id, uint32_t to,
                      struct err *e)
{
    uint32_t from = s->inv.noderoles.at[id].deployment;
    const struct snapshot *head = desire_head(s->desire, from);
    uint64_t key = wish_key(s, id);
    uint32_t role = snapshot_key_role(key), node = snapshot_key_node(key);
    struct desire_author by = wish_author(s, c, "");
    struct snapshot_entry t;
    int rc = head ? snapshot_find_key(c->mem, head->root, key, &t, e) : 0;
    if (rc > 0)
        rc = desire_amend(s->desire, to, &by, role, node, &t, e);
    if (rc > 0)
        rc = desire_amend(s->desire, from, &by, role, node, NULL, e);
    return rc < 0 ? rc : 0;
}

int node_move(struct server *s, const struct server_call *c, uint32_t node, uint32_t to,
              struct value **ret_left, struct err *e)
{
    uint32_t from = s->inv.nodes.at[node].deployment;
    struct value *left = value_list(c->mem);
    int rc = 0;
    desire_hold(s->desire);
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id && rc >= 0;
         id = anneal_node_next_noderole(s->engine, id)) {
        if (s->inv.noderoles.at[id].deployment != from || from == DEPLOYMENT_SYSTEM)
            continue;
        if (!goes_along(s, id)) {
            value_add(c->mem, left, value_text(c->mem, view_noderole_name(s, c->mem, id)));
            continue;
        }
        rc = entry_move(s, c, id, to, e);
        if (rc >= 0) {
            inventory_place(&s->inv, id, to);
            data_row_put(s, id);
        }
    }
    desire_release(s->desire);
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id && rc >= 0;
         id = anneal_node_next_noderole(s->engine, id))
        if (s->inv.noderoles.at[id].deployment == to)
            data_moved(s, id);
    *ret_left = left;
    return rc;
}
