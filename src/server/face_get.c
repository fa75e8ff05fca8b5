/* face_get.c - one object at a time, and the server's own state in one answer */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/probing.h"

int server_node_get(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    uint32_t id = inventory_node_find(&s->inv, c->id[0]);
    if (!id)
        return face_not_found_near(e, "node", c->id[0], &s->inv.node_by_name);
    r->body = view_node(s, c->mem, id);
    r->rev = s->inv.nodes.at[id].rev;
    r->live = true;
    return 0;
}

int server_deployment_get(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]);
    if (!id)
        return face_not_found_near(e, "deployment", c->id[0], &s->inv.deployment_by_name);
    r->body = view_deployment(s, c->mem, id);
    r->rev = s->inv.deployments.at[id].rev;
    r->live = true;
    return 0;
}

int server_noderole_get(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    struct noderole_view v;
    uint32_t id;
    int rc = face_u32(c->id[0], "noderole", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_noderole(s->engine, id, &v) || id >= s->inv.noderoles.n)
        return face_not_found(e, "noderole", c->id[0]);
    r->body = view_noderole(s, c->mem, id, true);
    r->rev = s->inv.noderoles.at[id].rev;
    r->live = true;
    return 0;
}

int server_operation_get(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    struct operation_view v;
    uint32_t id;
    int rc = face_u32(c->id[0], "operation", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_operation(s->engine, id, &v))
        return face_not_found(e, "operation", c->id[0]);
    r->body = view_operation_full(s, c->mem, id);
    r->rev = view_operation_rev(&v);
    return 0;
}

int server_task_get(struct server *s, const struct server_call *c, struct server_reply *r,
                    struct err *e)
{
    struct task_view v;
    uint32_t id;
    int rc = face_u32(c->id[0], "task", &id, e);
    if (rc < 0)
        return rc;
    if (!anneal_task(s->engine, id, &v))
        return face_not_found(e, "task", c->id[0]);
    r->body = view_task(s, c->mem, id, true);
    r->rev = view_task_rev(&v);
    return 0;
}

/* ---- status ---- */

static bool has_work(const struct operation_view *v)
{
    return v->counts[TASK_PENDING] + v->counts[TASK_READY] + v->counts[TASK_RUNNING] +
               v->counts[TASK_WAITING] >
           0;
}

/* The standing operation is always open: it is news only while it has something to do. */
static struct value *open_operations(struct server *s, struct arena *a, bool *ret_stalled)
{
    struct value *list = value_list(a);
    *ret_stalled = false;
    for (uint32_t id = 1; id < anneal_operation_end(s->engine); id++) {
        struct operation_view v;
        if (!anneal_operation(s->engine, id, &v))
            continue;
        if (v.held && v.reason == REASON_STALLED)
            *ret_stalled = true;
        if (v.state == OPERATION_RUNNING && (id != OPERATION_STANDING || has_work(&v)) &&
            list->n < s->opts->page_limit)
            value_add(a, list, view_operation(s, a, id));
    }
    return list;
}

static struct value *node_counts(struct server *s, struct arena *a)
{
    uint64_t counts[ALIVE_STATE_COUNT] = {0};
    struct value *v = value_map(a);
    for (uint32_t id = 1; id < anneal_node_end(s->engine); id++) {
        struct node_view n;
        if (anneal_node(s->engine, id, &n) && !n.gone)
            counts[n.alive]++;
    }
    for (int i = 0; i < ALIVE_STATE_COUNT; i++)
        value_put_int(a, v, alive_state_name((enum alive_state)i), (int64_t)counts[i]);
    return v;
}

static struct value *store_value(struct server *s, struct arena *a)
{
    struct value *v = value_map(a);
    const char *check = s->check_state == 2 ? "ok" : s->check_state == 3 ? s->check_text : NULL;
    value_put_int(a, v, "bytes", (int64_t)store_bytes(s->reader));
    value_put_text(a, v, "check", check);
    value_put_bool(a, v, "checking", s->check_state == 1 || s->check.running);
    value_put_text(a, v, "degraded", s->degraded.code != ERR_NONE ? s->degraded.text : NULL);
    value_set(a, v, "backup", backup_value(s, a));
    return v;
}

/* One word for whoever waits until all is done: the first of these that holds.  What waits for
 * something is not finished, whatever it waits for. */
static const char *all_told(const uint64_t *noderoles, const uint64_t *tasks)
{
    if (noderoles[NODEROLE_ERROR])
        return "failed";
    if (noderoles[NODEROLE_TRANSITION] || tasks[TASK_RUNNING] || tasks[TASK_WAITING])
        return "working";
    if (noderoles[NODEROLE_TODO] || noderoles[NODEROLE_BLOCKED] || noderoles[NODEROLE_STALE] ||
        noderoles[NODEROLE_REMOVING])
        return "scheduled";
    return "finished";
}

int server_status(struct server *s, const struct server_call *c, struct server_reply *r,
                  struct err *e)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT], now = server_wall_ms();
    struct arena *a = c->mem;
    struct value *v = value_map(a), *by_noderole = value_map(a), *by_task = value_map(a);
    bool stalled;
    (void)e;

    anneal_totals(s->engine, noderoles, tasks);
    for (int i = 0; i < NODEROLE_STATE_COUNT; i++)
        value_put_int(a, by_noderole, noderole_state_name((enum noderole_state)i),
                      (int64_t)noderoles[i]);
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        value_put_int(a, by_task, task_state_name((enum task_state)i), (int64_t)tasks[i]);
    value_put_text(a, v, "version", ANNEAL_VERSION);
    value_put_text(a, v, "state", all_told(noderoles, tasks));
    value_put_int(a, v, "uptime_ms", now > s->started_ms ? (int64_t)(now - s->started_ms) : 0);
    value_put_int(a, v, "group", (int64_t)s->durable_group);
    value_put_int(a, v, "journal", (int64_t)server_events_last(s));
    value_put_int(a, v, "catalog", s->catalog ? s->catalog->number : 0);
    value_set(a, v, "nodes", node_counts(s, a));
    value_set(a, v, "noderoles", by_noderole);
    value_set(a, v, "tasks", by_task);
    value_set(a, v, "operations", open_operations(s, a, &stalled));
    value_put_int(a, v, "workers", (int64_t)workers_present(s));
    value_put_bool(a, v, "stalled", stalled);
    value_put_bool(a, v, "suspect", anneal_suspect(s->engine));
    value_set(a, v, "attention", attention_view(s, a));
    value_set(a, v, "store", store_value(s, a));
    r->body = v;
    return 0;
}
