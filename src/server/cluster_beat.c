/* cluster_beat.c - what happens to clusters by itself: machines answer, leases end, the deleted go
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "server/cluster_i.h"
#include "server/providers.h"

/* --- machines --- */

void cluster_machine_made(struct server *s, uint32_t task)
{
    struct task_view t;
    struct noderole_view nr;
    struct node_view node;
    struct err e;
    if (!anneal_task(s->engine, task, &t) || !anneal_noderole(s->engine, t.noderole, &nr) ||
        !cluster_is_machine(str_of(view_role_name(s, t.noderole))) ||
        !anneal_node(s->engine, t.node, &node) || node.alive != ALIVE_UNKNOWN)
        return;
    for (uint32_t i = nr.first_task; i < nr.first_task + nr.n_tasks; i++)
        if (anneal_task(s->engine, i, &t) && t.undone && !task_state_passed(t.state))
            return;
    if (node_seen(s, NULL, t.node, NULL, NULL, &e) < 0)
        log_err(LOG_WARN, "cluster.machine", &e);
}

/* --- leases and ends --- */

static bool has_nodes(const struct server *s, uint32_t deployment)
{
    for (uint32_t i = 1; i < s->inv.nodes.n; i++)
        if (s->inv.nodes.at[i].name && !s->inv.nodes.at[i].gone &&
            s->inv.nodes.at[i].deployment == deployment)
            return true;
    return false;
}

/* Has its last operation ended, and well? */
static bool is_over(const struct server *s, const struct cluster *c, bool *ret_well)
{
    struct operation_view v;
    bool known = anneal_operation(s->engine, c->operation, &v);
    *ret_well = !known || v.state == OPERATION_SUCCEEDED || v.state == OPERATION_TOLERATED;
    return !known || v.state != OPERATION_RUNNING;
}

static void end(struct server *s, const struct server_call *c, uint32_t deployment)
{
    struct err e;
    cluster_drop(s, deployment);
    credential_wipe(s, deployment);
    if (face_deployment_drop(s, c, deployment, &e) < 0)
        log_err(LOG_WARN, "cluster.end", &e);
}

static void lease_over(struct server *s, const struct server_call *call, uint32_t deployment)
{
    struct cluster_ask ask = {.verb = CLUSTER_DELETE, .deployment = deployment};
    struct cluster_work w;
    struct err e;
    uint32_t op;
    int rc = cluster_work_begin(&w, s, call->mem, &ask, &e);
    if (rc >= 0)
        rc = cluster_layout(&w, &e);
    if (rc >= 0)
        rc = cluster_enact(&w, call, &op, &e);
    cluster_work_done(&w);
    if (rc < 0)
        log_err(LOG_WARN, "cluster.lease", &e);
    else
        log_line(LOG_INFO, "cluster.lease", LOGT("cluster", view_deployment_name(s, deployment)),
                 LOGI("operation", op));
}

void cluster_beat(struct server *s)
{
    static const struct caller nobody = {.tenant = 1, .scope = SCOPE_ADMIN, .name = "lease"};
    uint64_t now = server_wall_ms();
    const struct cluster *c;
    struct err unread;
    SCOPED_ARENA(mem);
    struct server_call call = {.mem = &mem, .who = &nobody};
    if (!clusters_count(s) || server_writable(s, &unread) < 0)
        return;
    for (uint32_t at = 0; (c = cluster_next(s, at));) {
        bool well, over = is_over(s, c, &well);
        at = c->deployment;
        if (c->verb == CLUSTER_DELETE && over && !has_nodes(s, at) &&
            cluster_state_now(s, c) == CLUSTER_STATE_DELETING)
            end(s, &call, at);
        else if (c->verb != CLUSTER_DELETE && over && c->lease_ms && c->lease_ms <= now)
            lease_over(s, &call, at);
        else if (c->waiting && over && well && cluster_queue_next(s, at, &mem, &unread) < 0)
            log_err(LOG_WARN, "cluster.queue", &unread);
    }
}
