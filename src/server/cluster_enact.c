/* cluster_enact.c - an operation on a cluster is done: nodes, plan and head in one group
 *
 * Until the layout is found and the graph is made nothing has changed.  Then nodes are made, what
 * is wanted of them is bound in a draft, and the plan is applied; whatever refuses on the way takes
 * back the nodes, and the deployment if it is new.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"
#include "base/text.h"
#include "server/cluster_i.h"
#include "server/draft.h"
#include "server/revision.h"

/* --- beginning --- */

static int generation(struct server *s, uint32_t number, const struct catalog **ret, struct err *e)
{
    int rc = catalog_generation(s, number, ret, e);
    if (rc >= 0)
        (void)catalog_ref((struct catalog *)(uintptr_t)*ret);
    return rc;
}

static int begin_new(struct cluster_work *w, struct err *e)
{
    if (!w->server->catalog) {
        err_set(e, ERR_REFUSED, "no catalog is loaded");
        return err_hint(e, "`anneal catalog load DIR` loads one");
    }
    w->was.catalog = catalog_ref(w->server->catalog);
    w->now.catalog = catalog_ref(w->server->catalog);
    int rc = cluster_look(&w->was, w->server, w->mem, w->was.catalog, 0, NULL, e);
    return rc < 0 ? rc : cluster_look(&w->now, w->server, w->mem, w->now.catalog, 0, NULL, e);
}

static int begin_at(struct cluster_work *w, const struct snapshot *head, struct err *e)
{
    struct server *s = w->server;
    const struct snapshot *then = head;
    const struct catalog *was, *now;
    uint32_t deployment = w->ask->deployment;
    if (w->ask->verb == CLUSTER_ROLLBACK) {
        then = desire_numbered(s->desire, deployment, w->ask->revision);
        if (!then) {
            err_set(e, ERR_NOT_FOUND, "cluster %s has no revision %u",
                    view_deployment_name(s, deployment), w->ask->revision);
            return err_hint(e, "`anneal cluster history %s` lists them",
                            view_deployment_name(s, deployment));
        }
    }
    int rc = generation(s, head->catalog, &was, e);
    if (rc < 0)
        return rc;
    w->was.catalog = was;
    rc = generation(s, w->ask->verb == CLUSTER_UPGRADE ? 0 : then->catalog, &now, e);
    if (rc < 0)
        return rc;
    rc = cluster_look(&w->was, s, w->mem, was, deployment, head->root, e);
    return rc < 0 ? rc : cluster_look(&w->now, s, w->mem, now, deployment, then->root, e);
}

int cluster_work_begin(struct cluster_work *w, struct server *s, struct arena *mem,
                       const struct cluster_ask *ask, struct err *e)
{
    *w = (struct cluster_work){.server = s, .mem = mem, .ask = ask};
    if (!ask->deployment)
        return begin_new(w, e);
    const struct snapshot *head = desire_head(s->desire, ask->deployment);
    return head ? begin_at(w, head, e)
                : err_set(e, ERR_INTERNAL, "cluster %u has no head", ask->deployment);
}

/* --- nodes --- */

static struct value *node_body(struct cluster_work *w, const struct cluster_node *n)
{
    struct value *body = value_map(w->mem), *labels = value_map(w->mem);
    for (uint32_t i = 0; i < n->labels->n; i++)
        value_set(w->mem, labels, n->labels->members[i].key, &n->labels->members[i].v);
    value_set(w->mem, labels, "hardware", value_str(w->mem, n->hardware));
    value_set(w->mem, labels, "image", value_str(w->mem, n->image));
    value_put_text(w->mem, labels, "cluster", view_deployment_name(w->server, w->now.deployment));
    value_set(w->mem, body, "labels", labels);
    return body;
}

static int node_name(struct cluster_work *w, struct cluster_node *n, uint32_t *number,
                     struct err *e)
{
    struct str domain = value_as_str(value_get(w->now.spec, "domain"));
    struct str cluster = str_of(view_deployment_name(w->server, w->now.deployment));
    if (!domain.n && w->server->opts->admin_domain)
        domain = str_of(w->server->opts->admin_domain);
    for (;;) {
        SCOPED_BUF(name);
        n->number = (*number)++;
        int rc = layout_node_name(&name, cluster, n->number, domain, e);
        if (rc < 0)
            return rc;
        n->name = (struct str){arena_strndup(w->mem, name.data, name.len), name.len};
        if (!strmap_get(&w->server->inv.node_by_name, n->name, NULL))
            return node_name_check(w->server, n->name.s, e);
    }
}

static int nodes_make(struct cluster_work *w, const struct server_call *c, uint32_t *number,
                      struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < w->now.nodes.n && rc >= 0; i++) {
        struct cluster_node *n = &w->now.nodes.at[i];
        if (n->id)
            continue;
        rc = node_name(w, n, number, e);
        if (rc >= 0)
            rc = node_make_bare(w->server, c, n->name.s, w->now.deployment, node_body(w, n), &n->id,
                                e);
        if (rc >= 0)
            vec_push(&w->made, n->id);
    }
    return rc;
}

/* --- what is wanted --- */

static int document_put(struct cluster_work *w, struct draft *d, struct err *e)
{
    struct server *s = w->server;
    struct snapshot_entry t = {.flags = SNAPSHOT_F_REQUESTED};
    SCOPED_BUF(text);
    json_write_canonical(&text, w->now.spec);
    int rc = desire_doc(s->desire, buf_str(&text), &t.user, e);
    if (rc < 0)
        return rc;
    rc = desire_draft_put(s->desire, &d->map,
                          snapshot_key(desire_role(s->desire, str_of(CLUSTER_ROLE)), 0), &t, e);
    return rc < 0 ? rc : 0;
}

static int entry_drop(struct cluster_work *w, struct draft *d, struct str role, uint32_t node,
                      struct err *e)
{
    int rc = desire_draft_put(w->server->desire, &d->map,
                              snapshot_key(desire_role(w->server->desire, role), node), NULL, e);
    return rc < 0 ? rc : 0;
}

static bool has_named(const struct cluster_look *l, const struct cluster_node *n, struct str role)
{
    uintptr_t at;
    return n && strmap_get(&l->role_by_name, role, &at) && cluster_node_has(n, (uint32_t)at);
}

/* What was there and shall not be. */
static int entries_drop(struct cluster_work *w, struct draft *d, struct u64map *now_at,
                        struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < w->was.nodes.n && rc >= 0; i++) {
        const struct cluster_node *n = &w->was.nodes.at[i];
        uintptr_t at;
        const struct cluster_node *now = u64map_get(now_at, n->id, &at) ? &w->now.nodes.at[at]
                                                                        : NULL;
        for (size_t k = 0; k < n->roles.n && rc >= 0; k++) {
            struct str role = w->was.roles.at[n->roles.at[k]].name;
            if (!has_named(&w->now, now, role))
                rc = entry_drop(w, d, role, n->id, e);
        }
        if (!now && rc >= 0)
            rc = entry_drop(w, d, n->machine, n->id, e);
    }
    return rc;
}

static int entries_bind(struct cluster_work *w, struct draft *d, struct u64map *was_at,
                        struct err *e)
{
    VEC(struct bind_item) items = {0};
    for (int machines = 1; machines >= 0; machines--)
        for (size_t i = 0; i < w->now.nodes.n; i++) {
            const struct cluster_node *n = &w->now.nodes.at[i];
            uintptr_t at;
            const struct cluster_node *was = u64map_get(was_at, n->id, &at) ? &w->was.nodes.at[at]
                                                                            : NULL;
            if (machines) {
                if (!was)
                    vec_push(&items,
                             ((struct bind_item){n->machine, n->id, cluster_machine_data(w, n)}));
                continue;
            }
            for (size_t k = 0; k < n->roles.n; k++) {
                struct str role = w->now.roles.at[n->roles.at[k]].name;
                if (!has_named(&w->was, was, role))
                    vec_push(&items, ((struct bind_item){role, n->id, NULL}));
            }
        }
    int rc = items.n ? draft_bind(d, items.at, (uint32_t)items.n, e) : 0;
    vec_done(&items);
    return rc;
}

/* What a machine that was never made is to be is what it would be now: what was wrong with it may
 * be mended. */
static int machines_renew(struct cluster_work *w, struct draft *d, struct err *e)
{
    struct server *s = w->server;
    int rc = 0;
    for (size_t i = 0; i < w->now.nodes.n && rc >= 0; i++) {
        const struct cluster_node *n = &w->now.nodes.at[i];
        struct snapshot_entry t = {0};
        SCOPED_BUF(text);
        if (!cluster_machine_missing(w, n))
            continue;
        uint64_t key = snapshot_key(desire_role_find(s->desire, n->machine), n->id);
        json_write_canonical(&text, cluster_machine_data(w, n));
        if ((rc = snapshot_find_key(w->mem, d->map, key, &t, e)) >= 0 &&
            (rc = desire_doc(s->desire, buf_str(&text), &t.user, e)) >= 0)
            rc = desire_draft_put(s->desire, &d->map, key, &t, e);
    }
    return rc < 0 ? rc : 0;
}

static int draft_fill(struct cluster_work *w, struct draft *d, struct err *e)
{
    struct u64map was_at = {0}, now_at = {0};
    for (size_t i = 0; i < w->was.nodes.n; i++)
        u64map_put(&was_at, w->was.nodes.at[i].id, i);
    for (size_t i = 0; i < w->now.nodes.n; i++)
        u64map_put(&now_at, w->now.nodes.at[i].id, i);
    int rc = document_put(w, d, e);
    if (rc >= 0)
        rc = entries_drop(w, d, &now_at, e);
    if (rc >= 0)
        rc = entries_bind(w, d, &was_at, e);
    if (rc >= 0)
        rc = machines_renew(w, d, e);
    u64map_done(&was_at);
    u64map_done(&now_at);
    return rc;
}

/* Once more, with what binding added. */
static int look_again(struct cluster_work *w, const struct pmap *map, struct err *e)
{
    const struct catalog *cat = w->now.catalog;
    const struct value *spec = w->now.spec;
    uint32_t deployment = w->now.deployment;
    cluster_look_done(&w->now);
    int rc = cluster_look(&w->now, w->server, w->mem, cat, deployment, map, e);
    w->now.spec = spec;
    return rc;
}

/* --- doing it --- */

static const char *title_of(const struct cluster_work *w)
{
    const char *name = view_deployment_name(w->server, w->now.deployment);
    size_t was = w->was.nodes.n, now = w->now.nodes.n;
    const char *verb = cluster_verb_name(w->ask->verb);
    if (was != now && now)
        return arena_printf(w->mem, "%s %s: %s", verb, name, text_count(now, "node").s);
    if (w->ask->services.n == 1)
        return arena_printf(w->mem, "%s %s: %s", verb, name, w->ask->services.at[0].s);
    return arena_printf(w->mem, "%s %s", verb, name);
}

static int pools_set(struct cluster_work *w, const struct server_call *c,
                     const struct phase_plan *p, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < p->n_pools && rc >= 0; i++) {
        struct pool_view v;
        struct event ev = {.kind = EVENT_POOL_SET, .id = p->pools[i].pool, .n = p->pools[i].size};
        struct commit_note note = server_note(c, NULL);
        if (!anneal_pool(w->server->engine, ev.id, &v) || v.size == ev.n)
            continue;
        ev.flag = v.closed;
        ev.extra = v.elsewhere;
        rc = server_apply(w->server, &ev, &note, NULL, e);
    }
    return rc;
}

static int plan_apply(struct cluster_work *w, const struct server_call *c, struct draft *d,
                      uint32_t *ret_op, struct err *e)
{
    struct server *s = w->server;
    struct phase_plan p = {0};
    int class = start_class_find(value_as_text(value_get(c->body, "class"), "normal"));
    const char *kind = arena_printf(w->mem, "cluster-%s", cluster_verb_name(w->ask->verb));
    const char *title = title_of(w);
    struct face_work work = {kind, title, (enum start_class) class, 0, w->now.deployment, d->map};
    int rc = cluster_graph(w, e);
    if (rc >= 0)
        rc = cluster_plan(w, d->map, &p, e);
    if (rc >= 0)
        rc = pools_set(w, c, &p, e);
    if (rc >= 0)
        rc = face_plan_apply(s, c, p.plan, &work, ret_op, e);
    if (rc >= 0) {
        struct desire_author by = wish_author(s, c, title);
        struct revision r = {.server = s,
                             .mem = w->mem,
                             .catalog = w->now.catalog,
                             .deployment = w->now.deployment,
                             .plan = p.plan};
        by.catalog = w->now.catalog->number;
        desire_hold(s->desire);
        desire_advance_to(s->desire, w->now.deployment, draft_take(d), &by, *ret_op);
        rc = revision_settle(&r, c, e);
        desire_release(s->desire);
    }
    plan_free(p.plan);
    return rc;
}

static void nodes_leave(struct cluster_work *w, const struct server_call *c, uint32_t op)
{
    for (size_t i = 0; i < w->going.n; i++) {
        uint32_t id = w->was.nodes.at[w->going.at[i]].id;
        if (w->server->inv.nodes.at[id].gone)
            continue;
        if (!w->server->inv.nodes.at[id].leaving)
            vec_push(&w->server->leaving, id);
        node_body_leave(w->server, c, id, op);
    }
}

static void row_note(struct cluster_work *w, const struct server_call *c, uint32_t op,
                     uint32_t number)
{
    const struct cluster *is = cluster_get(w->server, w->now.deployment);
    struct cluster now = is ? *is : (struct cluster){.deployment = w->now.deployment};
    now.operation = op;
    now.verb = (uint8_t)w->ask->verb;
    now.next_number = number;
    if (is) {
        cluster_put(w->server, &now);
        return;
    }
    now.owner = (char *)(uintptr_t)c->who->name;
    now.created_ms = server_wall_ms();
    now.lease_ms = w->ask->lease_ms ? now.created_ms + w->ask->lease_ms : 0;
    cluster_add(w->server, c, &now);
}

static void take_back(struct cluster_work *w, const struct server_call *c, bool deployment)
{
    struct err unread;
    for (size_t i = w->made.n; i-- > 0;)
        node_unmake(w->server, c, w->made.at[i]);
    if (deployment)
        (void)face_deployment_drop(w->server, c, w->now.deployment, &unread);
}

int cluster_enact(struct cluster_work *w, const struct server_call *c, uint32_t *ret_op,
                  struct err *e)
{
    struct server *s = w->server;
    bool fresh = !w->ask->deployment;
    const struct cluster *is = fresh ? NULL : cluster_get(s, w->ask->deployment);
    uint32_t number = is ? is->next_number : LAYOUT_FIRST_NUMBER;
    struct draft d;
    if (fresh)
        w->now.deployment = face_deployment_make(s, c, w->ask->name, DEPLOYMENT_SYSTEM,
                                                 str_of("a cluster"));
    draft_open(&d, s, w->mem, w->now.catalog, w->now.deployment,
               desire_head(s->desire, w->now.deployment));
    int rc = nodes_make(w, c, &number, e);
    if (rc >= 0)
        rc = draft_fill(w, &d, e);
    if (rc >= 0)
        rc = look_again(w, d.map, e);
    if (rc >= 0)
        rc = plan_apply(w, c, &d, ret_op, e);
    if (rc < 0) {
        draft_drop(&d);
        take_back(w, c, fresh);
        return rc;
    }
    nodes_leave(w, c, *ret_op);
    row_note(w, c, *ret_op, number);
    node_leave_settle(s);
    return 0;
}
