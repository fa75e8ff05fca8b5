/* face_bind.c - asking for work: catalogs, bindings, data, re-runs
 *
 * Each request is planned purely, then applied whole in one group: the operation, the plan, what
 * the inventory must know. A refusal leaves nothing behind; a dry run is the same without the last
 * step.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "server/clusters.h"
#include "server/enact.h"
#include "server/graphs.h"

/* ---- catalog ---- */

static struct value *loaded_value(struct arena *mem, const struct catalog *cat,
                                  const struct catalog_report *report, const char *origin,
                                  uint64_t at_ms)
{
    char hex[DIGEST_HEX];
    struct value *v = value_map(mem);
    digest_hex(&cat->digest, hex);
    value_put_int(mem, v, "generation", cat->number);
    value_put_text(mem, v, "digest", hex);
    value_put_text(mem, v, "origin", origin);
    value_put_text(mem, v, "loaded_at", view_time(mem, at_ms));
    value_put_int(mem, v, "barclamps", cat->n_barclamps);
    value_put_int(mem, v, "roles", catalog_roles_written(cat));
    value_put_int(mem, v, "tasks", catalog_tasks_written(cat));
    value_set(mem, v, "report", view_report(mem, report, 0));
    return v;
}

int server_catalog_load(struct server *s, const struct server_call *c, struct server_reply *r,
                        struct err *e)
{
    const struct value *files = value_get(c->body, "files");
    const char *origin = value_as_text(value_get(c->body, "origin"), "");
    uint32_t number = commit_meta(s->commit)->catalog + 1;
    struct catalog_report report = {0};
    SCOPED(catalog) *cat = NULL;
    int rc = server_writable(s, e);
    if (rc >= 0)
        rc = catalog_from_files(files, number, &report, &cat, e);
    if (rc >= 0)
        rc = graphs_check_catalog(s, cat, e);
    if (rc >= 0) {
        uint64_t now = server_wall_ms();
        r->body = loaded_value(c->mem, cat, &report, origin, now);
        if (!value_as_bool(value_get(c->body, "dry_run"), false)) {
            SCOPED_BUF(text);
            char hex[DIGEST_HEX];
            json_write(&text, files, 0);
            digest_hex(&cat->digest, hex);
            struct row_catalog row = {.id = number,
                                      .tenant = 1,
                                      .realm = 1,
                                      .digest = str_of(hex),
                                      .origin = str_of(origin),
                                      .loaded_ms = now,
                                      .files = buf_str(&text)};
            struct commit_note note = server_note(c, NULL);
            struct event ev = {.kind = EVENT_CATALOG, .id = number};
            catalog_replace(s, cat);
            cat = NULL;
            rc = catalog_adopt(s, s->catalog, &note, e);
            commit_row(s->commit, ROWS_CATALOG, ROW_INSERT, &row);
            commit_inventory(s->commit, &ev, &note);
            commit_meta(s->commit)->catalog = number;
            free(s->catalog_origin);
            s->catalog_origin = xstrdup(origin);
            s->catalog_loaded_ms = now;
            r->location = "/v1/catalog";
            r->group = commit_open_group(s->commit);
        }
    }
    catalog_report_done(&report);
    return rc;
}

/* ---- binding ---- */

/* The bindings of a request as (role, node) items; e->at points into the request. */
static int read_items(struct server *s, const struct server_call *c, struct bind_item **ret_items,
                      uint32_t *ret_n, struct err *e)
{
    const struct value *bindings = value_get(c->body, "bindings");
    VEC(struct bind_item) items = {0};
    int rc = 0;
    for (uint32_t i = 0; rc >= 0 && i < bindings->n; i++) {
        const struct value *b = &bindings->items[i];
        struct id_list nodes = {0};
        rc = node_select(s, value_as_str(value_get(b, "nodes")), &nodes, e);
        if (rc < 0) {
            err_at(e, "/bindings/%u/nodes", i);
        } else if (nodes.ids.n == 0) {
            err_set(e, ERR_REFUSED, "\"%s\" selects no node for %s",
                    value_as_text(value_get(b, "nodes"), ""),
                    value_as_text(value_get(b, "role"), ""));
            err_hint(e, "`anneal node list` shows the nodes there are");
            rc = err_at(e, "/bindings/%u/nodes", i);
        }
        for (size_t k = 0; rc >= 0 && k < nodes.ids.n; k++)
            vec_push(&items, ((struct bind_item){value_as_str(value_get(b, "role")),
                                                 nodes.ids.at[k], value_get(b, "data")}));
        vec_done(&nodes.ids);
    }
    *ret_items = arena_new(c->mem, struct bind_item, items.n ? items.n : 1);
    if (items.n)
        memcpy(*ret_items, items.at, items.n * sizeof *items.at);
    *ret_n = (uint32_t)items.n;
    vec_done(&items);
    return rc;
}

/* Tasks that were replaced are history and count no more. */
int face_plan_room(const struct server *s, const struct plan *plan, struct err *e)
{
    uint64_t noderoles[NODEROLE_STATE_COUNT], tasks[TASK_STATE_COUNT], n = plan->n_tasks;
    anneal_totals(s->engine, noderoles, tasks);
    for (int i = 0; i < TASK_STATE_COUNT; i++)
        n += tasks[i];
    if (n <= s->opts->max_tasks)
        return 0;
    err_set(e, ERR_LIMIT, "this would make %llu tasks, more than max_tasks (%llu)",
            (unsigned long long)n, (unsigned long long)s->opts->max_tasks);
    return err_hint(e, "raise max_tasks in the configuration");
}

static void plan_reserve(const struct server *s, struct plan *plan)
{
    plan_rebase(plan, anneal_def_end(s->engine), anneal_noderole_end(s->engine),
                anneal_task_end(s->engine), anneal_span_end(s->engine), anneal_pool_end(s->engine));
}

int face_plan_look(struct server *s, struct plan *plan, uint32_t deployment,
                   const struct pmap *head, struct err *e)
{
    plan_reserve(s, plan);
    /* Making digests runs the hooks that are due; while nothing can be written they wait. */
    return server_writable(s, NULL) < 0 ? 0 : data_plan_digests(s, plan, deployment, head, e);
}

int face_plan_try(struct server *s, struct plan *plan, uint32_t deployment, const struct pmap *head,
                  struct err *e)
{
    int rc = face_plan_room(s, plan, e);
    if (rc < 0)
        return rc;
    plan_reserve(s, plan);
    rc = plan->n_changes ? anneal_plan_check(s->engine, plan, e) : 0;
    if (rc >= 0)
        rc = hook_before(s, HOOK_ON_PROPOSED, plan, e);
    return rc < 0 ? rc : data_plan_digests(s, plan, deployment, head, e);
}

int face_plan_apply(struct server *s, const struct server_call *c, struct plan *plan,
                    const struct face_work *w, uint32_t *ret_op, struct err *e)
{
    int rc = face_plan_room(s, plan, e);
    if (rc < 0)
        return rc;
    plan_reserve(s, plan);
    /* What only adds was proved by the planner; what lives may object to a change. */
    rc = plan->n_changes ? anneal_plan_check(s->engine, plan, e) : 0;
    *ret_op = OPERATION_STANDING;
    if (rc >= 0)
        rc = hook_before(s, HOOK_ON_COMMIT, plan, e);
    if (rc >= 0)
        hook_waits(s, plan);
    if (rc >= 0)
        rc = data_plan_digests(s, plan, w->deployment, w->head, e);
    if (rc >= 0 && w->kind)
        rc = face_operation_add(s, c, w->kind, w->title, w->class, ret_op, e);
    if (rc < 0)
        return rc;
    struct event ev = {
        .kind = EVENT_PLAN_APPLY, .op = *ret_op, .extra = w->instead_of, .plan = plan};
    struct commit_note note = server_note(c, NULL);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    inventory_add_plan(&s->inv, plan);
    hook_after(s);
    return 0;
}

static struct value *new_noderoles(struct arena *mem, const struct plan *p, bool applied)
{
    struct value *list = value_list(mem);
    for (uint32_t i = 0; applied && i < p->n_noderoles; i++)
        value_add(mem, list, value_int(mem, p->base_noderole + i));
    return list;
}

/* One that is wanted again while it is on its way out comes back as itself. */
static bool comes_back(struct server *s, const struct plan *p)
{
    for (uint32_t i = 0; i < p->n_noderoles; i++) {
        uint32_t role = desire_role_find(s->desire, p->noderoles[i].role), going = 0;
        if (role)
            (void)wish_live(s, snapshot_key(role, p->noderoles[i].node), &going);
        if (going)
            return true;
    }
    return false;
}

static int bind_apply(struct server *s, const struct server_call *c, const struct bind_request *req,
                      struct plan *plan, const char *title, uint32_t *ret_op, struct err *e)
{
    int class = start_class_find(value_as_text(value_get(c->body, "class"), "normal"));
    struct face_work work = {"bind", title, (enum start_class) class, 0, 0, NULL};
    *ret_op = 0;
    if (plan->n_noderoles == 0 && plan->n_needs == 0)
        return 0; /* all of it is bound already */
    if (comes_back(s, plan))
        return enact_bindings(s, c, req, title, ret_op, e);
    int rc = wish_check(s, req->deployment, plan, e);
    if (rc >= 0)
        rc = face_plan_apply(s, c, plan, &work, ret_op, e);
    return rc < 0 ? rc : wish_bound(s, c, req, plan, title, *ret_op, e);
}

int server_deployment_bind(struct server *s, const struct server_call *c, struct server_reply *r,
                           struct err *e)
{
    uint32_t id = inventory_deployment_find(&s->inv, c->id[0]), op = 0;
    bool dry = value_as_bool(value_get(c->body, "dry_run"), false);
    struct bind_request req = {.deployment = id};
    struct bind_item *items;
    SCOPED(plan) *plan = NULL;
    SCOPED(planner_steps) *steps = NULL;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (!id)
        return face_not_found(e, "deployment", c->id[0]);
    if ((rc = cluster_refuses(s, id, e)) < 0)
        return rc;
    if (!s->catalog) {
        err_set(e, ERR_REFUSED, "no catalog is loaded");
        return err_hint(e, "`anneal catalog load DIR` loads one");
    }
    if ((rc = read_items(s, c, &items, &req.n_items, e)) < 0)
        return rc;
    req.items = items;
    struct world world;
    struct planner_world view = world_of(&world, s);
    rc = planner_bind(s->catalog, &view, &req, &plan, req.n_items <= 2000 || dry ? &steps : NULL,
                      e);
    world_done(&world);
    if (rc < 0)
        return rc;
    const char *title = value_as_text(value_get(c->body, "title"), NULL);
    if (!title)
        title = arena_printf(c->mem, "bind %s in %s", text_count(plan->n_noderoles, "noderole").s,
                             s->inv.deployments.at[id].name);
    rc = dry ? face_plan_try(s, plan, 0, NULL, e) : bind_apply(s, c, &req, plan, title, &op, e);
    if (rc < 0)
        return rc;
    struct value *v = value_map(c->mem);
    value_set(c->mem, v, "operation", op ? view_operation(s, c->mem, op) : value_null(c->mem));
    value_set(c->mem, v, "steps", steps ? planner_steps_value(c->mem, steps) : value_list(c->mem));
    value_set(c->mem, v, "noderoles",
              new_noderoles(c->mem, plan, plan->rebased && !dry && plan->n_noderoles <= 10000));
    value_put_int(c->mem, v, "tasks", plan->n_tasks);
    value_set(c->mem, v, "left", dry ? value_list(c->mem) : remedy_left(s, c->mem, id, op));
    r->body = v;
    r->accepted = op != 0;
    r->group = dry ? 0 : commit_open_group(s->commit);
    return 0;
}

/* ---- data and re-runs ---- */

static bool in_open_operation(const struct server *s, const struct noderole_view *v)
{
    struct operation_view op;
    return v->operation != OPERATION_STANDING && anneal_operation(s->engine, v->operation, &op) &&
           op.state == OPERATION_RUNNING;
}

/* What holds stages and joins is on no node. */
static const char *title_of(const struct server *s, const struct server_call *c, const char *verb,
                            uint32_t noderole)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(s->engine, noderole, &v);
    const char *role = view_role_name(s, noderole), *node = view_node_name(s, v.node);
    return node ? arena_printf(c->mem, "%s %s on %s", verb, role, node)
                : arena_printf(c->mem, "%s %s", verb, role);
}

int server_noderole_data(struct server *s, const struct server_call *c, struct server_reply *r,
                         struct err *e)
{
    uint32_t id = 0;
    struct noderole_view v;
    uint64_t digest;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_u32(c->id[0], "noderole", &id, e)) < 0)
        return rc;
    if (!anneal_noderole(s->engine, id, &v))
        return face_not_found(e, "noderole", c->id[0]);
    struct inv_noderole *n = &s->inv.noderoles.at[id];
    if ((rc = face_match(c, n->rev, "noderole", c->id[0], e)) < 0)
        return rc;
    if ((rc = data_check_noderole(s, id, c->body, e)) < 0 ||
        (rc = data_user_inputs(s, id, c->body, &digest, e)) < 0)
        return rc;
    SCOPED_BUF(text);
    json_write_canonical(&text, c->body);
    if ((rc = wish_check_data(buf_str(&text), e)) < 0)
        return rc;
    struct event ev = {.kind = EVENT_DATA_SET, .id = id, .a = digest};
    struct commit_note note = server_note(c, NULL);
    if (!in_open_operation(s, &v) && digest != v.data) {
        const char *title = title_of(s, c, "configure", id);
        if ((rc = face_operation_add(s, c, "configure", title, CLASS_NORMAL, &ev.op, e)) < 0)
            return rc;
    }
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    (void)data_layer_put(s, id, DATA_USER, buf_str(&text));
    if ((rc = wish_configured(s, c, id, buf_str(&text), ev.op, e)) < 0)
        return rc;
    struct value *body = view_noderole(s, c->mem, id, true);
    uint32_t asked = ev.op ? ev.op : in_open_operation(s, &v) ? v.operation : 0;
    value_set(c->mem, body, "asked", asked ? value_int(c->mem, asked) : value_null(c->mem));
    value_set(c->mem, body, "left", remedy_left_alone(s, c->mem, &id, 1, asked));
    r->body = body;
    r->rev = n->rev;
    r->group = commit_open_group(s->commit);
    return 0;
}

/* A second request over the same noderoles while the first is open would tear its figures apart. */
static int check_free(struct server *s, const uint32_t *ids, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        struct noderole_view v;
        anneal_noderole(s->engine, ids[i], &v);
        if (in_open_operation(s, &v)) {
            err_set(e, ERR_CONFLICT, "noderole %u (%s) belongs to operation %u, which is open",
                    ids[i], view_role_name(s, ids[i]), v.operation);
            return err_hint(e, "wait for it (`anneal operation watch %u`) or cancel it",
                            v.operation);
        }
    }
    return 0;
}

/* Nobody knows how a task of it ended: somebody has to say so before it runs again. */
static uint32_t uncertain_task(const struct server *s, uint32_t noderole)
{
    struct noderole_view v = {0};
    struct task_view t;
    (void)anneal_noderole(s->engine, noderole, &v);
    for (uint32_t id = v.first_task; id < v.first_task + v.n_tasks; id++)
        if (anneal_task(s->engine, id, &t) && t.state == TASK_FAILED &&
            t.reason == REASON_UNCERTAIN)
            return id;
    return 0;
}

/* Of several, those that cannot run again are left alone, and told. */
static int rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                 const char *title, const uint32_t *ids, size_t n, struct err *e)
{
    uint32_t op, *some = arena_new(c->mem, uint32_t, n), n_some = 0;
    int rc = check_free(s, ids, n, e);
    for (size_t i = 0; i < n; i++)
        if (n == 1 || !uncertain_task(s, ids[i]))
            some[n_some++] = ids[i];
    if (rc >= 0 && n_some == 0) {
        err_set(e, ERR_CONFLICT, "nobody knows how tasks of these noderoles ended");
        rc = err_hint(e, "%s", remedy_of(s, c->mem, ids[0]));
    }
    if (rc >= 0 && n == 1 && uncertain_task(s, ids[0])) {
        err_set(e, ERR_CONFLICT, "nobody knows how %s of %s ended",
                view_task_name(s, uncertain_task(s, ids[0])),
                view_noderole_name(s, c->mem, ids[0]));
        rc = err_hint(e, "`%s` first", remedy_of(s, c->mem, ids[0]));
    }
    if (rc < 0 || (rc = face_operation_add(s, c, "rerun", title, CLASS_NORMAL, &op, e)) < 0)
        return rc;
    struct event ev = {.kind = EVENT_RERUN, .op = op, .ids = some, .n_ids = n_some};
    struct commit_note note = server_note(c, NULL);
    if ((rc = server_apply(s, &ev, &note, NULL, e)) < 0)
        return rc;
    struct value *body = view_operation(s, c->mem, op);
    value_set(c->mem, body, "left", remedy_left_alone(s, c->mem, ids, n, op));
    r->body = body;
    r->accepted = true;
    r->group = commit_open_group(s->commit);
    return 0;
}

int server_noderole_rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                          struct err *e)
{
    uint32_t id = 0;
    struct noderole_view v;
    int rc = server_writable(s, e);
    if (rc < 0 || (rc = face_u32(c->id[0], "noderole", &id, e)) < 0)
        return rc;
    if (!anneal_noderole(s->engine, id, &v))
        return face_not_found(e, "noderole", c->id[0]);
    return rerun(s, c, r, title_of(s, c, "re-run", id), &id, 1, e);
}

int server_role_rerun(struct server *s, const struct server_call *c, struct server_reply *r,
                      struct err *e)
{
    const char *where = value_as_text(value_get(c->body, "deployment"), NULL);
    struct str nodes = value_as_str(value_get(c->body, "nodes"));
    uint32_t deployment = where ? inventory_deployment_find(&s->inv, where) : 0;
    struct id_list wanted = {0}, ids = {0};
    uintptr_t role;
    int rc = server_writable(s, e);
    if (rc < 0)
        return rc;
    if (where && !deployment)
        return face_not_found(e, "deployment", where);
    if (!strmap_get(&s->inv.role_by_name, str_of(c->id[0]), &role)) {
        err_set(e, ERR_NOT_FOUND, "role %.64s is bound to no node", c->id[0]);
        return err_hint(e, "`anneal role list` shows the roles there are");
    }
    if (nodes.n && (rc = node_select(s, nodes, &wanted, e)) < 0) {
        vec_done(&wanted.ids);
        return err_at(e, "/nodes");
    }
    for (uint32_t d = 1; d < s->inv.deployments.n; d++) {
        const struct id_list *l = deployment && d != deployment
                                      ? NULL
                                      : inventory_instances(&s->inv, (uint32_t)role, d);
        for (size_t i = 0; l && i < l->ids.n; i++) {
            struct noderole_view v;
            bool in = nodes.n == 0;
            anneal_noderole(s->engine, l->ids.at[i], &v);
            for (size_t k = 0; !in && k < wanted.ids.n; k++)
                in = wanted.ids.at[k] == v.node;
            if (in)
                vec_push(&ids.ids, l->ids.at[i]);
        }
    }
    if (ids.ids.n == 0)
        rc = err_set(e, ERR_NOT_FOUND, "role %s is bound to none of these nodes", c->id[0]);
    else
        rc = rerun(
            s, c, r,
            arena_printf(c->mem, "re-run %s on %s", c->id[0], text_count(ids.ids.n, "node").s),
            ids.ids.at, ids.ids.n, e);
    vec_done(&wanted.ids);
    vec_done(&ids.ids);
    return rc;
}
