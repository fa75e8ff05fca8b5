/* deploy.c - a graph on the nodes of a deployment, from end to end */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/deploy.h"

#include "base/text.h"
#include "server/enact.h"

int deploy_begin(struct deploy *d, struct server *s, struct arena *mem,
                 const struct deploy_request *ask, const struct catalog_graph *graph, struct err *e)
{
    *d = (struct deploy){.server = s, .mem = mem, .ask = ask, .cat = s->catalog, .graph = graph};
    arena_init(&d->scratch);
    d->params = arena_new(mem, struct deploy_params *, graph->n_vertices);
    int rc = deploy_nodes(d, e);
    if (rc >= 0 && !d->nodes.n && !d->node_ids.at[0]) {
        err_set(e, ERR_REFUSED, "nothing is bound in deployment %s",
                view_deployment_name(s, ask->deployment));
        rc = err_hint(e,
                      "`anneal deployment bind %s ROLE=NODES` says which nodes are in which "
                      "group",
                      view_deployment_name(s, ask->deployment));
    }
    return rc < 0 ? rc : deploy_scopes(d, e);
}

void deploy_end(struct deploy *d)
{
    weave_free(d->weave);
    deploy_scopes_end(d);
    vec_done(&d->nodes);
    vec_done(&d->node_ids);
    vec_done(&d->members);
    vec_done(&d->carriers);
    arena_done(&d->scratch);
}

/* --- what of it --- */

static int nodes_chosen(struct deploy *d, const bool **ret, struct err *e)
{
    struct id_list ids = {0};
    bool *on, any = false;
    *ret = NULL;
    if (!d->ask->on)
        return 0;
    int rc = node_select(d->server, str_of(d->ask->on), &ids, e);
    on = arena_new(d->mem, bool, d->nodes.n + 1);
    for (size_t i = 0; i < ids.ids.n && rc >= 0; i++) {
        uint32_t at = deploy_node_find(d, ids.ids.at[i]);
        if (at != WEAVE_NONE)
            on[at] = any = true;
        if (d->node_ids.at[d->nodes.n] == ids.ids.at[i])
            on[d->nodes.n] = any = true;
    }
    vec_done(&ids.ids);
    *ret = on;
    if (rc < 0 || any)
        return rc;
    err_set(e, ERR_NOT_FOUND, "--on %s selects no node of deployment %s", d->ask->on,
            view_deployment_name(d->server, d->ask->deployment));
    return err_hint(e, "`anneal node list --deployment %s` shows its nodes",
                    view_deployment_name(d->server, d->ask->deployment));
}

/* Something is to run on the master, and nobody is it. */
static int master_check(struct deploy *d, struct err *e)
{
    const struct weave *w = d->weave;
    if (d->node_ids.at[d->nodes.n])
        return 0;
    for (uint32_t v = w->base[w->n_nodes]; v < w->n_stages + w->n_tasks; v++) {
        if (w->vertices[v].reason != WEAVE_RUN)
            continue;
        err_set(e, ERR_REFUSED, "task %s runs on the master, and no node of deployment %s is it",
                d->graph->vertices[w->vertices[v].task].id.s,
                view_deployment_name(d->server, d->ask->deployment));
        return err_hint(e, "`anneal deployment bind %s %s=NODE`, or --skip it",
                        view_deployment_name(d->server, d->ask->deployment), CATALOG_MASTER);
    }
    return 0;
}

int deploy_weave(struct deploy *d, struct err *e)
{
    const struct deploy_request *ask = d->ask;
    struct weave_pick *pick = arena_new(d->mem, struct weave_pick, 1);
    *pick = (struct weave_pick){.parts = &ask->part,
                                .n_parts = ask->part.n_starts || ask->part.n_ends,
                                .only = ask->only,
                                .n_only = ask->n_only,
                                .skip = ask->skip,
                                .n_skip = ask->n_skip,
                                .events = ask->events,
                                .n_events = ask->n_events};
    int rc = nodes_chosen(d, &pick->on, e);
    if (rc < 0)
        return rc;
    d->req = (struct weave_request){.graph = d->graph,
                                    .nodes = d->nodes.at,
                                    .n_nodes = (uint32_t)d->nodes.n,
                                    .pick = pick,
                                    .scope = deploy_scope,
                                    .condition = deploy_condition,
                                    .ctx = d,
                                    .limit_circles = ask->limit_circles};
    if (d->server->opts->max_tasks < WEAVE_MAX_VERTICES) /* no memory for what would be refused */
        d->req.max_vertices = (uint32_t)d->server->opts->max_tasks;
    rc = weave_make(&d->req, &d->weave, e);
    if (rc == -ERR_LIMIT && d->req.max_vertices)
        return err_hint(e, "max_tasks in the configuration is %u", d->req.max_vertices);
    return rc < 0 ? rc : master_check(d, e);
}

/* --- doing it --- */

static int check_free(struct deploy *d, uint32_t noderole, struct err *e)
{
    struct noderole_view v;
    struct operation_view op;
    if (!anneal_noderole(d->server->engine, noderole, &v) || v.operation == OPERATION_STANDING ||
        !anneal_operation(d->server->engine, v.operation, &op) || op.state != OPERATION_RUNNING)
        return 0;
    err_set(e, ERR_CONFLICT, "%s belongs to operation %u, which is open",
            view_noderole_name(d->server, d->mem, noderole), v.operation);
    return err_hint(e, "wait for it (`anneal operation watch %u`) or cancel it", v.operation);
}

/* Noderoles of the deployment that belong to work under way: two graphs at once would tear each
 * other apart. */
static int check_idle(struct deploy *d, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < d->members.n && rc >= 0; i++)
        rc = check_free(d, d->members.at[i].noderole, e);
    for (size_t i = 0; i < d->carriers.n && rc >= 0; i++)
        rc = check_free(d, d->carriers.at[i], e);
    return rc;
}

static int plan_make(struct deploy *d, struct weave_plan *ret, struct err *e)
{
    struct world world;
    struct planner_world view = world_of(&world, d->server);
    struct weave_plan_request req = {.weave = d->weave,
                                     .of = &d->req,
                                     .cat = d->cat,
                                     .world = &view,
                                     .deployment = d->ask->deployment,
                                     .members = d->members.at,
                                     .n_members = (uint32_t)d->members.n,
                                     .carriers = d->carriers.at,
                                     .n_carriers = (uint32_t)d->carriers.n,
                                     .parameters = deploy_parameters,
                                     .ctx = d,
                                     .no_op = d->ask->no_op};
    int rc = weave_plan_make(&req, ret, e);
    world_done(&world);
    return rc;
}

/* Binding is a change of its own: what refuses the plan must do so before, so the plan is made once
 * as if they were bound. */
static int carriers_try(struct deploy *d, const struct bind_item *items, size_t n, struct err *e)
{
    struct weave_plan p = {0};
    uint32_t next = anneal_noderole_end(d->server->engine);
    size_t bound = d->members.n;
    for (size_t i = 0; i < n; i++)
        vec_push(&d->members, ((struct weave_member){next + (uint32_t)i, WEAVE_NONE,
                                                     deploy_node_find(d, items[i].node), 0}));
    int rc = plan_make(d, &p, e);
    d->members.n = bound;
    if (rc < 0)
        return rc;
    rc = face_plan_room(d->server, p.plan, e);
    plan_free(p.plan);
    return rc;
}

/* Nodes with tasks that no noderole of a group can hold.  The master has one: its own. */
static int carriers_bind(struct deploy *d, const struct server_call *c, struct err *e)
{
    const struct weave *w = d->weave;
    VEC(struct bind_item) items = {0};
    int rc = 0;
    for (uint32_t i = 0; i < w->n_nodes; i++) {
        if (w->base[i + 1] > w->base[i] && d->first_member[i] == WEAVE_NONE)
            vec_push(&items,
                     ((struct bind_item){str_of(CATALOG_CARRIER), d->node_ids.at[i], NULL}));
    }
    if (items.n) {
        struct bind_request req = {
            .deployment = d->ask->deployment, .items = items.at, .n_items = (uint32_t)items.n};
        uint32_t op;
        rc = carriers_try(d, items.at, items.n, e);
        if (rc >= 0)
            rc = enact_bindings(d->server, c, &req, "what carries tasks of no group", &op, e);
        if (rc >= 0)
            deploy_members(d);
    }
    vec_done(&items);
    return rc;
}

static const struct weave_pool *pools_now(struct deploy *d, const struct weave_plan *p)
{
    struct weave_pool *now = arena_new(d->mem, struct weave_pool, p->n_pools);
    for (uint32_t i = 0; i < p->n_pools; i++) {
        struct pool_view v = {.size = p->pools[i].size};
        (void)anneal_pool(d->server->engine, p->pools[i].pool, &v);
        now[i] = (struct weave_pool){p->pools[i].pool, v.size};
    }
    return now;
}

static int pools_resize(struct deploy *d, const struct server_call *c,
                        const struct weave_pool *pools, uint32_t n, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && rc >= 0; i++) {
        struct pool_view v;
        struct event ev = {.kind = EVENT_POOL_SET, .id = pools[i].pool, .n = pools[i].size};
        struct commit_note note = server_note(c, NULL);
        if (anneal_pool(d->server->engine, ev.id, &v) && v.size != ev.n) {
            ev.flag = v.closed;
            ev.extra = v.elsewhere;
            rc = server_apply(d->server, &ev, &note, NULL, e);
        }
    }
    return rc;
}

static void begun_note(struct deploy *d, uint32_t op)
{
    deploy_document_keep(d->server, d->common);
    for (size_t i = 0; i < d->members.n; i++) {
        const struct deploy_own *o = &d->own[d->members.at[i].node];
        deploy_document_keep(d->server, o->data);
        deploy_begun(d->server, d->members.at[i].noderole, op, d->ask->no_op, d->common_doc,
                     o->doc);
    }
}

int deploy_apply(struct deploy *d, const struct server_call *c, const char *title,
                 enum start_class class, uint32_t *ret_op, struct err *e)
{
    struct weave_plan p = {0};
    struct face_work work = {"deploy", title, class, 0, 0, NULL};
    int rc = check_idle(d, e);
    if (rc < 0 || (rc = carriers_bind(d, c, e)) < 0 || (rc = plan_make(d, &p, e)) < 0)
        return rc;
    /* Smaller ones must count from the first start, so they come before the plan. */
    const struct weave_pool *before = pools_now(d, &p);
    if ((rc = pools_resize(d, c, p.pools, p.n_pools, e)) >= 0 &&
        (rc = face_plan_apply(d->server, c, p.plan, &work, ret_op, e)) >= 0)
        begun_note(d, *ret_op);
    else
        (void)pools_resize(d, c, before, p.n_pools, NULL);
    plan_free(p.plan);
    return rc;
}

int deploy_stages_remove(struct server *s, const struct server_call *c, uint32_t deployment,
                         struct err *e)
{
    uintptr_t role;
    struct face_work work = {.class = CLASS_NORMAL};
    SCOPED(plan) *p = plan_new();
    uint32_t op;
    const struct id_list *l = strmap_get(&s->inv.role_by_name, str_of(CATALOG_CARRIER), &role)
                                  ? inventory_instances(&s->inv, (uint32_t)role, deployment)
                                  : NULL;
    if (!l || !l->ids.n)
        return 0;
    p->changes = arena_new(&p->mem, struct plan_change, l->ids.n);
    for (size_t i = 0; i < l->ids.n; i++) /* in_the_way() saw that none is on a node */
        p->changes[p->n_changes++] = (struct plan_change){
            .noderole = l->ids.at[i], .what = PLAN_C_REMOVE, .user = str_of("")};
    p->catalog = s->catalog ? s->catalog->number : 0;
    plan_changes_sort(p);
    return face_plan_apply(s, c, p, &work, &op, e);
}
