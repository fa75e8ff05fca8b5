/* view_noderole.c - noderoles and the deployments they belong to, as values
 *
 * A noderole in a list is without what grows with it: tasks, data, children.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/deploy.h"

static void put_id(struct arena *a, struct value *map, const char *key, uint32_t id)
{
    value_set(a, map, key, id ? value_int(a, id) : value_null(a));
}

/* Each once: told by its first parent that counts. */
static struct value *quorums(struct server *s, struct arena *a, uint32_t id)
{
    struct value *list = value_list(a);
    struct u64map seen = {0};
    uint32_t n;
    const uint32_t *parents = anneal_parents(s->engine, id, &n);
    for (uint32_t i = 0; i < n; i++) {
        struct quorum_view q;
        if (!anneal_quorum(s->engine, id, parents[i], &q) || !u64map_put(&seen, q.first, 1))
            continue;
        struct value *v = value_map(a);
        value_put_text(a, v, "role", view_role_name(s, parents[i]));
        value_put_int(a, v, "members", q.members);
        value_put_int(a, v, "enough", q.enough);
        value_put_int(a, v, "serving", q.serving);
        value_add(a, list, v);
    }
    u64map_done(&seen);
    return list;
}

static void put_whole(struct server *s, struct arena *a, struct value *v,
                      const struct noderole_view *e)
{
    const struct inv_noderole *n = &s->inv.noderoles.at[e->id];
    struct value *tasks = value_list(a);
    uint32_t n_children;
    const uint32_t *children = anneal_children(s->engine, e->id, &n_children);

    for (uint32_t i = 0; i < e->n_tasks; i++)
        value_add(a, tasks, value_int(a, e->first_task + i));
    value_set(a, v, "quorums", quorums(s, a, e->id));
    value_set(a, v, "children", view_ids(a, children, n_children));
    value_set(a, v, "tasks", tasks);
    value_set(a, v, "data", view_json(a, n->user));
    value_set(a, v, "system", view_json(a, n->system));
    value_set(a, v, "wall", view_json(a, n->wall));
}

/* Of a task graph: who gave it its tasks, and whether that was to change nothing.  In service then
 * means that it would be. */
static void put_deploy(const struct server *s, struct arena *a, struct value *v, uint32_t id)
{
    struct deploy_run run = {0};
    (void)deploy_run_get(s, id, &run);
    put_id(a, v, "deployed_by", run.operation);
    value_put_bool(a, v, "no_op", run.no_op);
}

struct value *view_noderole(struct server *s, struct arena *a, uint32_t id, bool full)
{
    const struct inv_noderole *n = &s->inv.noderoles.at[id];
    struct value *v = value_map(a);
    struct noderole_view e = {.id = id};
    uint32_t n_parents;

    (void)anneal_noderole(s->engine, id, &e);
    const uint32_t *parents = anneal_parents(s->engine, id, &n_parents);
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "role", view_role_name(s, id));
    value_put_text(a, v, "node", view_node_name(s, e.node));
    value_put_text(a, v, "deployment", view_deployment_name(s, n->deployment));
    value_put_text(a, v, "state", noderole_state_name(e.state));
    value_put_text(a, v, "reason", reason_name(e.reason));
    value_put_text(a, v, "target", target_name(e.target));
    value_put_int(a, v, "generation", e.generation);
    value_put_int(a, v, "cohort", e.cohort);
    value_put_int(a, v, "incarnation", e.incarnation);
    value_put_int(a, v, "run_count", e.run_count);
    value_set(a, v, "parents", view_ids(a, parents, n_parents));
    put_id(a, v, "operation", e.operation);
    put_deploy(s, a, v, id);
    value_put_int(a, v, "rev", n->rev);
    if (full)
        put_whole(s, a, v, &e);
    return v;
}

/* Instances are listed by role and deployment, so a deployment's are found without looking at any
 * other's. */
static void count_states(const struct server *s, uint32_t deployment,
                         uint32_t counts[NODEROLE_STATE_COUNT])
{
    const struct u64map *m = &s->inv.instances;
    for (size_t i = 0; i < m->n; i++) {
        if (!m->at[i].live || (uint32_t)m->at[i].key != deployment)
            continue;
        const struct id_list *l = &s->inv.lists.at[m->at[i].val];
        for (size_t k = 0; k < l->ids.n; k++) {
            struct noderole_view v;
            if (anneal_noderole(s->engine, l->ids.at[k], &v))
                counts[v.state]++;
        }
    }
}

struct value *view_deployment(struct server *s, struct arena *a, uint32_t id)
{
    const struct inv_deployment *d = &s->inv.deployments.at[id];
    const struct value *body = view_json(a, d->body);
    uint32_t counts[NODEROLE_STATE_COUNT] = {0};
    struct value *v = value_map(a), *states = value_map(a);

    count_states(s, id, counts);
    for (int i = 0; i < NODEROLE_STATE_COUNT; i++)
        if (counts[i] && i != NODEROLE_REMOVED)
            value_put_int(a, states, noderole_state_name((enum noderole_state)i), counts[i]);
    value_put_int(a, v, "id", id);
    value_put_text(a, v, "name", d->name);
    value_put_text(a, v, "parent", d->parent ? view_deployment_name(s, d->parent) : NULL);
    value_put_text(a, v, "description", value_as_text(value_get(body, "description"), ""));
    value_put_text(a, v, "created_at", view_time(a, d->created_ms));
    value_set(a, v, "noderoles", states);
    const struct snapshot *head = desire_head(s->desire, id);
    const struct snapshot *proposal = desire_proposal(s->desire, id);
    value_set(a, v, "head", head ? value_int(a, head->number) : value_null(a));
    value_set(a, v, "proposal", proposal ? value_int(a, proposal->number) : value_null(a));
    value_put_int(a, v, "rev", d->rev);
    return v;
}
