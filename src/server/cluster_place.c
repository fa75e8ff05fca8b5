/* cluster_place.c - noderoles of a cluster for a plan: who is new, who goes, who keeps what */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

static int steps_of(void *ctx, uint32_t service, enum phase_kind phase, uint32_t variant,
                    struct phase_steps *ret, struct err *e)
{
    struct cluster_work *w = ctx;
    (void)variant;
    (void)e;
    *ret = w->steps[service == PHASE_NIL ? w->roles.n : service].at[phase];
    return 0;
}

static int place_data(struct cluster_work *w, const struct catalog_role *role,
                      const struct value *user, struct phase_place *ret, struct err *e)
{
    const struct value *data;
    SCOPED_BUF(text);
    int rc = planner_data(w->mem, role, user, &data, &ret->data, e);
    if (rc < 0)
        return rc;
    if (user && user->n)
        json_write_canonical(&text, user);
    ret->user = (struct str){arena_strndup(w->mem, text.len ? text.data : "", text.len), text.len};
    ret->lens = role->lens_id;
    ret->flags = planner_role_flags(role);
    return 0;
}

static uint32_t live_cohort(const struct server *s, uint32_t noderole)
{
    struct noderole_view v = {0};
    (void)anneal_noderole(s->engine, noderole, &v);
    return v.cohort;
}

/* Of a service that is new: what it needs besides its machine, as its entry says. */
static int place_parents(struct cluster_work *w, const struct pmap *map, size_t node, size_t cell,
                         struct phase_place *places, struct err *e)
{
    struct work_node *n = &w->nodes.at[node];
    struct phase_place *p = &places[w->work.first[node] + cell];
    struct snapshot_entry t = {0};
    uint32_t role = desire_role_find(w->server->desire, w->roles.at[n->cells.at[cell].role].name);
    uint32_t machine = desire_role_find(w->server->desire, n->now->machine);
    int rc = snapshot_find_key(w->mem, map, snapshot_key(role, n->now->id), &t, e);
    if (rc < 0)
        return rc;
    uint32_t *parents = arena_new(w->mem, uint32_t, t.n_parents);
    for (uint32_t i = 0; i < t.n_parents; i++) {
        uint32_t live = wish_live(w->server, t.parents[i], NULL), cohort = 0;
        if (t.parents[i] == snapshot_key(machine, n->now->id))
            continue;
        if (!live) {
            struct str name = desire_role_name(w->server->desire, snapshot_key_role(t.parents[i]));
            size_t k = 0;
            while (k < n->cells.n && !str_eq(w->roles.at[n->cells.at[k].role].name, name))
                k++;
            if (k == n->cells.n || snapshot_key_node(t.parents[i]) != n->now->id)
                return err_set(e, ERR_REFUSED, "%s needs %s, which is not there",
                               view_key_name(w->server, w->mem, snapshot_key(role, n->now->id)),
                               view_key_name(w->server, w->mem, t.parents[i]));
            parents[p->n_parents++] = PLAN_NEW | (uint32_t)k;
            cohort = places[w->work.first[node] + k].cohort;
        } else {
            parents[p->n_parents++] = live;
            cohort = live_cohort(w->server, live);
        }
        p->cohort = p->cohort > cohort ? p->cohort : cohort + 1;
    }
    p->parents = parents;
    return 0;
}

static int place_service(struct cluster_work *w, size_t node, size_t cell, struct phase_place *p,
                         struct err *e)
{
    const struct work_node *n = &w->nodes.at[node];
    const struct work_cell *c = &n->cells.at[cell];
    const struct work_role *r = &w->roles.at[c->role];
    const struct catalog_role *role = r->now ? r->now : r->was;
    uint16_t phases = w->work.cells[w->work.first[node] + cell] & PHASE_F_SERVICE;
    uint16_t whole = (c->target == TARGET_STOPPED ? CLUSTER_DOWN | PHASE_F_INITIALIZE
                                                  : CLUSTER_UP) &
                     w->services[c->role].actions;
    *p = (struct phase_place){.noderole = c->noderole,
                              .removed = c->had && !c->has,
                              .absent = !c->noderole && !c->has,
                              .target = c->target,
                              .reason = REASON_OPERATION,
                              .kept = whole & c->done & (uint16_t)~phases,
                              .role = r->name,
                              .cohort = role->cohort + 1};
    if (c->target == TARGET_RUNNING)
        p->once = PHASE_F_STOP;
    p->once |= PHASE_F_UPGRADE | PHASE_F_ACTION;
    p->flags = planner_role_flags(role);
    if (c->noderole || p->absent)
        return 0;
    return place_data(w, role, NULL, p, e);
}

/* What a machine is to be: handed to the provider's tasks, and read back from its entry. */
struct value *cluster_machine_data(struct cluster_work *w, const struct cluster_node *n)
{
    struct arena *mem = w->mem;
    struct value *v = value_map(mem);
    const struct catalog_hardware *hw = catalog_hardware_get(w->now.catalog, n->hardware);
    const struct catalog_image *im = catalog_image_get(w->now.catalog, n->image);
    struct str provider = w->provider->kind.name;
    const struct catalog_offer *h = hw ? catalog_offer_get(hw->offers, hw->n_offers, provider)
                                       : NULL;
    const struct catalog_offer *i = im ? catalog_offer_get(im->offers, im->n_offers, provider)
                                       : NULL;
    value_put_int(mem, v, "number", n->number);
    value_set(mem, v, "hardware", value_str(mem, n->hardware));
    value_set(mem, v, "image", value_str(mem, n->image));
    value_set(mem, v, "labels", value_copy(mem, n->labels));
    if (h)
        value_set(mem, v, "flavor", value_str(mem, h->flavor));
    if (i) {
        value_set(mem, v, "image_id", value_str(mem, i->image));
        value_set(mem, v, "user", value_str(mem, i->user));
    }
    value_set(mem, v, "provider", value_str(mem, provider));
    value_set(mem, v, "provider_config", value_copy(mem, w->provider->config));
    return v;
}

static int place_machine(struct cluster_work *w, size_t node, struct phase_place *p, struct err *e)
{
    const struct work_node *n = &w->nodes.at[node];
    uint16_t has = phase_provider_has(w->provider);
    *p = (struct phase_place){
        .noderole = n->machine,
        .removed = n->was && !n->now,
        .absent = n->was && !n->machine,
        .reason = REASON_OPERATION,
        .kept = n->machine ? (uint16_t)(CLUSTER_MACHINE & has & ~w->work.machine[node]) : 0,
        .undoes = has & PHASE_F_DELETE,
        .clears = n->clears,
        .role = w->machine_role->name,
        .flags = planner_role_flags(w->machine_role)};
    p->other_data = n->missing;
    if ((n->machine && !n->missing) || p->absent)
        return 0;
    return place_data(w, w->machine_role, cluster_machine_data(w, n->now), p, e);
}

static int places_make(struct cluster_work *w, const struct pmap *map, struct phase_place *services,
                       struct phase_place *machines, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; i < w->nodes.n && rc >= 0; i++) {
        rc = place_machine(w, i, &machines[i], e);
        for (size_t k = 0; k < w->nodes.at[i].cells.n && rc >= 0; k++)
            rc = place_service(w, i, k, &services[w->work.first[i] + k], e);
        for (int plain = 1; plain >= 0; plain--)
            for (size_t k = 0; k < w->nodes.at[i].cells.n && rc >= 0; k++) {
                const struct work_cell *c = &w->nodes.at[i].cells.at[k];
                const struct work_role *r = &w->roles.at[c->role];
                bool is_plain = !(r->now ? r->now : r->was)->phased;
                if (!c->noderole && c->has && is_plain == plain)
                    rc = place_parents(w, map, i, k, services, e);
            }
    }
    return rc;
}

static const uint32_t *carriers_of(struct cluster_work *w, uint32_t *ret_n)
{
    uintptr_t role;
    const struct id_list *l =
        strmap_get(&w->server->inv.role_by_name, str_of(CATALOG_CARRIER), &role)
            ? inventory_instances(&w->server->inv, (uint32_t)role, w->now.deployment)
            : NULL;
    uint32_t *ids = arena_new(w->mem, uint32_t, l ? l->ids.n : 0);
    *ret_n = 0;
    for (size_t i = 0; l && i < l->ids.n; i++) {
        struct noderole_view v;
        if (anneal_noderole(w->server->engine, l->ids.at[i], &v) && !v.node &&
            v.target != TARGET_ABSENT)
            ids[(*ret_n)++] = l->ids.at[i];
    }
    return ids;
}

int cluster_plan(struct cluster_work *w, const struct pmap *map, struct phase_plan *ret,
                 struct err *e)
{
    struct phase_place *services = arena_new(w->mem, struct phase_place,
                                             w->work.first[w->nodes.n] + 1);
    struct phase_place *machines = arena_new(w->mem, struct phase_place, w->nodes.n + 1);
    uint32_t *ids = arena_new(w->mem, uint32_t, w->nodes.n + 1), n_carriers;
    for (size_t i = 0; i < w->nodes.n; i++)
        ids[i] = w->nodes.at[i].now ? w->nodes.at[i].now->id : w->nodes.at[i].was->id;
    struct phase_steps before, after;
    int rc = places_make(w, map, services, machines, e);
    if (rc < 0 || (rc = cluster_call_steps(w, &before, &after, e)) < 0)
        return rc;
    struct phase_plan_request req = {.graph = w->graph,
                                     .work = &w->work,
                                     .services = services,
                                     .machines = machines,
                                     .nodes = ids,
                                     .world = &w->view,
                                     .deployment = w->now.deployment,
                                     .catalog = w->now.catalog->number,
                                     .carriers = carriers_of(w, &n_carriers),
                                     .steps = steps_of,
                                     .ctx = w,
                                     .before = &before,
                                     .after = &after};
    req.n_carriers = n_carriers;
    return phase_plan_make(&req, ret, e);
}
