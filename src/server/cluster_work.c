/* cluster_work.c - what it takes to get from what a cluster is to what it shall be
 *
 * Nodes of both sides together, each with all that is or shall be on it, are the cluster of
 * planner/phase.h; what is asked for fills its table.  Each noderole that has something to do gets
 * all tasks of its target anew: what was done before is kept, what belongs to the occasion is done
 * once (RFC 01, section 1).
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "server/cluster_i.h"

#include <stdlib.h>
#include <string.h>

/* --- both sides together --- */

static uint32_t union_role(struct cluster_work *w, struct str name)
{
    uintptr_t at;
    if (strmap_get(&w->role_at, name, &at))
        return (uint32_t)at;
    const struct catalog_role *now = catalog_role_get(w->now.catalog, name);
    const struct catalog_role *was = catalog_role_get(w->was.catalog, name);
    strmap_put(&w->role_at, name, w->roles.n);
    vec_push(&w->roles, ((struct work_role){.name = name, .now = now, .was = was}));
    return (uint32_t)w->roles.n - 1;
}

static struct work_cell *union_cell(struct cluster_work *w, struct work_node *n, struct str name)
{
    uint32_t role = union_role(w, name);
    for (size_t k = 0; k < n->cells.n; k++)
        if (n->cells.at[k].role == role)
            return &n->cells.at[k];
    vec_push(&n->cells, ((struct work_cell){.role = role}));
    return &n->cells.at[n->cells.n - 1];
}

static void union_cells(struct cluster_work *w, struct work_node *n)
{
    const struct cluster_node *sides[] = {n->was, n->now};
    const struct cluster_look *looks[] = {&w->was, &w->now};
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; sides[side] && i < sides[side]->roles.n; i++) {
            struct work_cell *c = union_cell(w, n,
                                             looks[side]->roles.at[sides[side]->roles.at[i]].name);
            *(side ? &c->has : &c->had) = true;
        }
}

/* With a node goes, too, what an operation before was to take from it and could not. */
static void union_left(struct cluster_work *w, struct work_node *n)
{
    const struct server *s = w->server;
    for (uint32_t id = anneal_node_first_noderole(s->engine, n->was->id); id;
         id = anneal_node_next_noderole(s->engine, id)) {
        struct noderole_view v;
        struct str role = str_of(view_role_name(s, id));
        if (anneal_noderole(s->engine, id, &v) && v.target == TARGET_ABSENT &&
            s->inv.noderoles.at[id].deployment == w->was.deployment && !cluster_is_machine(role))
            union_cell(w, n, role)->had = true;
    }
}

static void union_make(struct cluster_work *w)
{
    size_t next = 0;
    for (size_t i = 0, g = 0; i < w->was.nodes.n; i++) {
        bool goes = g < w->going.n && w->going.at[g] == i;
        struct work_node *n = vec_add(&w->nodes);
        *n = (struct work_node){.was = &w->was.nodes.at[i]};
        if (goes)
            g++;
        else
            n->now = &w->now.nodes.at[next++];
    }
    for (; next < w->now.nodes.n; next++)
        *vec_add(&w->nodes) = (struct work_node){.now = &w->now.nodes.at[next]};
    for (size_t i = 0; i < w->nodes.n; i++) {
        union_cells(w, &w->nodes.at[i]);
        if (!w->nodes.at[i].now)
            union_left(w, &w->nodes.at[i]);
    }
}

/* --- as a cluster of phases --- */

static bool is_dead(const struct server *s, uint32_t node)
{
    struct node_view v;
    return node && anneal_node(s->engine, node, &v) && v.alive == ALIVE_DEAD;
}

static int provider_find(struct cluster_work *w, struct err *e)
{
    const struct cluster_look *l = w->now.nodes.n ? &w->now : &w->was;
    struct str name = value_as_str(value_get(l->spec, "provider"));
    w->provider = catalog_provider_get(w->now.catalog, name);
    if (!w->provider)
        w->provider = catalog_provider_get(w->was.catalog, name);
    if (!w->provider)
        return err_set(e, ERR_UNKNOWN_NAME, "no catalog has a provider %.*s", (int)name.n, name.s);
    const struct catalog_kind *k = &w->provider->kind;
    return k->fault ? err_set(e, ERR_REFUSED, "provider %s: %s", k->name.s, k->fault) : 0;
}

static int services_make(struct cluster_work *w, struct err *e)
{
    w->services = arena_new(w->mem, struct phase_service, w->roles.n);
    for (size_t i = 0; i < w->roles.n; i++) {
        struct work_role *r = &w->roles.at[i];
        const struct catalog_role *role = r->now ? r->now : r->was;
        if (!role) {
            err_set(e, ERR_UNKNOWN_NAME, "no catalog has a role %.*s", (int)r->name.n, r->name.s);
            return err_hint(e,
                            "`anneal noderole list --role %.*s` shows what is left of it, `anneal "
                            "noderole abandon ID` gives it up",
                            (int)r->name.n, r->name.s);
        }
        phase_service_of_role(r->now ? w->now.catalog : w->was.catalog, role,
                              w->ask->verb == CLUSTER_ACT ? w->ask->action : str_of(""), w->mem,
                              &w->services[i]);
    }
    return 0;
}

static void nodes_make(struct cluster_work *w)
{
    uint16_t machine = phase_provider_has(w->provider);
    w->phase_nodes = arena_new(w->mem, struct phase_node, w->nodes.n);
    for (size_t i = 0; i < w->nodes.n; i++) {
        const struct work_node *n = &w->nodes.at[i];
        /* A machine that never was is as one that is dead: nothing is taken down on it. */
        bool never = !n->now && cluster_machine_missing(w, n->was);
        uint32_t *services = arena_new(w->mem, uint32_t, n->cells.n);
        for (size_t k = 0; k < n->cells.n; k++)
            services[k] = n->cells.at[k].role;
        w->phase_nodes[i] = (struct phase_node){
            .name = n->now && n->now->name.n ? n->now->name
                    : n->was                 ? n->was->name
                                             : str_of("new"),
            .services = services,
            .n_services = (uint32_t)n->cells.n,
            .machine = machine,
            .dead = never || is_dead(w->server, n->was ? n->was->id : 0)};
    }
    w->cluster = (struct phase_cluster){w->services, (uint32_t)w->roles.n, w->phase_nodes,
                                        (uint32_t)w->nodes.n};
}

/* --- what is to be done --- */

static int fill(struct cluster_work *w, enum phase_op op, const bool *services, const bool *nodes,
                struct err *e)
{
    /* What is gone back to serves already where it was not left: it stays up, a few at a time. */
    bool in_turn = w->ask->in_turn || w->ask->verb == CLUSTER_ROLLBACK;
    struct phase_request req = {op, services, nodes, in_turn};
    return phase_request_op(&req, &w->cluster, w->deps, &w->work, e);
}

static int asked_services(struct cluster_work *w, const bool **ret, struct err *e)
{
    bool *is = arena_new(w->mem, bool, w->roles.n + 1);
    *ret = NULL;
    for (uint32_t i = 0; i < w->ask->services.n; i++) {
        uintptr_t at;
        if (!strmap_get(&w->role_at, w->ask->services.at[i], &at)) {
            err_set(e, ERR_UNKNOWN_NAME, "there is no service %s on the cluster",
                    w->ask->services.at[i].s);
            return err_at(e, "/services/%u", i);
        }
        is[at] = true;
        *ret = is;
    }
    return 0;
}

/* What a role does, in every phase, as the digests of its definitions say. */
static uint64_t role_digest(struct cluster_work *w, const struct catalog *cat,
                            const struct catalog_role *role)
{
    SCOPED_ARENA(mem);
    uint64_t sum = digest_64(role->version.s, role->version.n);
    for (int k = PHASE_STOP; k < PHASE_ACTION; k++) {
        const struct catalog_action *a = phase_role_action(role, (enum phase_kind)k);
        struct phase_steps steps = {0};
        if (a && phase_steps_make(cat, &w->view, role, a, &mem, &steps, NULL) >= 0)
            for (uint32_t i = 0; i < steps.n; i++)
                sum = mix64(mix64(sum, (uint64_t)k), steps.at[i].def.digest);
    }
    return sum;
}

static const bool *changed_roles(struct cluster_work *w)
{
    bool *is = arena_new(w->mem, bool, w->roles.n + 1);
    for (size_t i = 0; i < w->roles.n; i++) {
        const struct work_role *r = &w->roles.at[i];
        is[i] = r->was && r->now &&
                role_digest(w, w->was.catalog, r->was) != role_digest(w, w->now.catalog, r->now);
    }
    return is;
}

/* Who has nothing to configure is not restarted because others are configured. */
static const bool *configured_roles(struct cluster_work *w)
{
    bool *is = arena_new(w->mem, bool, w->roles.n + 1);
    for (size_t i = 0; i < w->roles.n; i++)
        is[i] = w->services[i].actions & PHASE_F_CONFIGURE;
    return is;
}

static void mark_nodes(struct cluster_work *w, bool *fresh, bool *going)
{
    for (size_t i = 0; i < w->nodes.n; i++) {
        fresh[i] = !w->nodes.at[i].was;
        going[i] = !w->nodes.at[i].now;
    }
}

/* Everything that differs. */
static int fill_difference(struct cluster_work *w, struct err *e)
{
    bool *fresh = arena_new(w->mem, bool, w->nodes.n + 1);
    bool *going = arena_new(w->mem, bool, w->nodes.n + 1);
    bool *stays = arena_new(w->mem, bool, w->nodes.n + 1);
    const struct value *config = value_get(w->now.spec, "config");
    mark_nodes(w, fresh, going);
    for (size_t i = 0; i < w->nodes.n; i++)
        stays[i] = !fresh[i] && !going[i];
    int rc = fill(w, PHASE_OP_EXPAND, NULL, fresh, e);
    if (rc >= 0)
        rc = fill(w, PHASE_OP_SHRINK, NULL, going, e);
    if (rc >= 0)
        rc = fill(w, PHASE_OP_UPGRADE, changed_roles(w), stays, e);
    if (rc >= 0 && !value_equal(config, value_get(w->was.spec, "config")))
        rc = fill(w, PHASE_OP_CONFIGURE_RESTART, configured_roles(w), stays, e);
    for (size_t i = 0; i < w->nodes.n && rc >= 0; i++)
        for (size_t k = 0; stays[i] && k < w->nodes.at[i].cells.n; k++) {
            const struct work_cell *c = &w->nodes.at[i].cells.at[k];
            uint16_t *cell = &w->work.cells[w->work.first[i] + k];
            if (c->had != c->has)
                *cell = w->services[c->role].actions &
                        (c->has ? CLUSTER_UP : PHASE_F_STOP | PHASE_F_REMOVE);
        }
    return rc;
}

static int fill_table(struct cluster_work *w, struct err *e)
{
    const struct cluster_ask *ask = w->ask;
    bool *fresh = arena_new(w->mem, bool, w->nodes.n + 1);
    bool *going = arena_new(w->mem, bool, w->nodes.n + 1);
    const bool *services;
    int rc = asked_services(w, &services, e);
    if (rc < 0)
        return rc;
    mark_nodes(w, fresh, going);
    switch (ask->verb) {
    case CLUSTER_CREATE: return fill(w, PHASE_OP_CREATE, NULL, NULL, e);
    case CLUSTER_EXPAND: return fill(w, PHASE_OP_EXPAND, NULL, fresh, e);
    case CLUSTER_SHRINK: return fill(w, PHASE_OP_SHRINK, NULL, going, e);
    case CLUSTER_ADD: return fill(w, PHASE_OP_ADD, services, NULL, e);
    case CLUSTER_REMOVE: return fill(w, PHASE_OP_REMOVE, services, NULL, e);
    case CLUSTER_CONFIGURE:
        return fill(w, ask->restart ? PHASE_OP_CONFIGURE_RESTART : PHASE_OP_CONFIGURE, services,
                    NULL, e);
    case CLUSTER_START: return fill(w, PHASE_OP_START, services, NULL, e);
    case CLUSTER_STOP: return fill(w, PHASE_OP_STOP, services, NULL, e);
    case CLUSTER_RESTART: return fill(w, PHASE_OP_RESTART, services, NULL, e);
    case CLUSTER_UPGRADE: return fill(w, PHASE_OP_UPGRADE, changed_roles(w), NULL, e);
    case CLUSTER_ROLLBACK: return fill_difference(w, e);
    case CLUSTER_ACT: return fill(w, PHASE_OP_ACT, services, NULL, e);
    case CLUSTER_DELETE: return fill(w, PHASE_OP_DELETE, NULL, NULL, e);
    case CLUSTER_NONE:
    case CLUSTER_VERB_COUNT: break;
    }
    return err_set(e, ERR_INTERNAL, "no such operation on a cluster");
}

/* --- who lives, and what of it was done --- */

static int steps_make(struct cluster_work *w, struct err *e)
{
    w->steps = arena_new(w->mem, struct work_steps, w->roles.n + 1);
    for (size_t i = 0; i < w->roles.n; i++) {
        const struct work_role *r = &w->roles.at[i];
        const struct catalog_role *role = r->now ? r->now : r->was;
        const struct catalog *cat = r->now ? w->now.catalog : w->was.catalog;
        for (int k = PHASE_STOP; k <= PHASE_ACTION; k++) {
            const struct catalog_action *a = k == PHASE_ACTION
                                                 ? catalog_action_get(role, w->ask->action)
                                                 : phase_role_action(role, (enum phase_kind)k);
            if (a && a->n_steps) {
                int rc = phase_steps_make(cat, &w->view, role, a, w->mem, &w->steps[i].at[k], e);
                if (rc < 0)
                    return rc;
            }
        }
    }
    const struct catalog *cat = catalog_provider_get(w->now.catalog, w->provider->kind.name)
                                    ? w->now.catalog
                                    : w->was.catalog;
    const char *name = arena_printf(w->mem, "%s.%s", CATALOG_MACHINE, w->provider->kind.name.s);
    w->machine_role = catalog_role_get(cat, str_of(name));
    for (int k = 0; k < PHASE_KIND_COUNT; k++) {
        const struct catalog_action *a = phase_provider_action(w->provider, (enum phase_kind)k);
        if (!a)
            continue;
        int rc = phase_steps_make(cat, &w->view, w->machine_role, a, w->mem,
                                  &w->steps[w->roles.n].at[k], e);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* On a node that goes also one that is being removed: that was not finished, or it failed. */
static uint32_t live_on(const struct cluster_work *w, const struct work_node *n, struct str name)
{
    const struct server *s = w->server;
    uint32_t role = desire_role_find(s->desire, name), going = 0;
    uint32_t live = role ? wish_live(s, snapshot_key(role, n->was->id), &going) : 0;
    return live || n->now ? live : going;
}

static void cells_find(struct cluster_work *w)
{
    for (size_t i = 0; i < w->nodes.n; i++) {
        struct work_node *n = &w->nodes.at[i];
        if (!n->was)
            continue;
        for (size_t k = 0; k < n->cells.n; k++) {
            struct work_cell *c = &n->cells.at[k];
            struct noderole_view v;
            c->noderole = live_on(w, n, w->roles.at[c->role].name);
            if (c->noderole && anneal_noderole(w->server->engine, c->noderole, &v))
                c->target = v.target;
        }
        n->machine = live_on(w, n, n->was->machine);
    }
}

static bool serves(const struct server *s, uint32_t noderole)
{
    struct noderole_view v;
    return noderole && anneal_noderole(s->engine, noderole, &v) && v.state == NODEROLE_ACTIVE &&
           v.target == TARGET_RUNNING;
}

/* The table says what the operation is about; what it finds decides the rest: what serves need not
 * be started for the sake of others, what is stopped stays so, what was never done is done now. */
static void cells_settle(struct cluster_work *w)
{
    enum cluster_verb verb = w->ask->verb;
    bool starts = verb == CLUSTER_START || verb == CLUSTER_RESTART;
    for (size_t i = 0; i < w->nodes.n; i++)
        for (size_t k = 0; k < w->nodes.at[i].cells.n; k++) {
            struct work_cell *c = &w->nodes.at[i].cells.at[k];
            uint32_t at = w->work.first[i] + (uint32_t)k;
            uint16_t *cell = &w->work.cells[at], has = w->services[c->role].actions;
            c->done = w->nodes.at[i].clears ? 0
                                            : cluster_phases_done(w, c); /* on another machine */
            if (c->missing && cluster_missing_outdated(w, c->noderole))
                c->done &= (uint16_t)~PHASE_F_CONFIGURE;
            if (w->work.pulled[at] == (*cell & PHASE_F_SERVICE) &&
                w->work.pulled[at] == PHASE_F_START && serves(w->server, c->noderole))
                *cell = w->work.pulled[at] = 0;
            if (!c->has || !(*cell & PHASE_F_SERVICE))
                continue;
            if (verb == CLUSTER_STOP)
                c->target = TARGET_STOPPED;
            else if (starts)
                c->target = TARGET_RUNNING;
            else if (c->target == TARGET_STOPPED)
                *cell &= (uint16_t) ~(PHASE_F_START | PHASE_F_STOP);
            if (!(*cell & PHASE_F_SERVICE))
                continue;
            uint16_t whole = (c->target == TARGET_STOPPED ? CLUSTER_DOWN : CLUSTER_UP) & has;
            if (c->missing)
                *cell = (uint16_t)(whole & (~c->done | c->asked) & ~PHASE_F_STOP);
            else if (c->noderole)
                *cell |= (uint16_t)(whole & ~c->done & ~PHASE_F_STOP);
            if (c->target == TARGET_STOPPED && verb != CLUSTER_STOP && !(c->done & PHASE_F_STOP))
                *cell |= has & PHASE_F_STOP;
        }
}

/* Do texts of the config say where nodes are?  Names are known from the beginning, addresses when
 * the machines are there. */
static bool wants_addresses(const struct value *spec)
{
    SCOPED_BUF(text);
    const struct value *config = value_get(spec, "config");
    if (!config)
        return false;
    json_write_canonical(&text, config);
    return strstr(text.data, "%ip.") || strstr(text.data, "(ip.");
}

int cluster_graph(struct cluster_work *w, struct err *e)
{
    union_make(w);
    w->view = world_of(&w->world, w->server);
    int rc = provider_find(w, e);
    if (rc < 0 || (rc = services_make(w, e)) < 0)
        return rc;
    nodes_make(w);
    if ((rc = phase_deps_make(w->services, (uint32_t)w->roles.n, true, &w->deps, e)) < 0 ||
        (rc = phase_work_init(&w->work, &w->cluster, w->mem, e)) < 0 ||
        (rc = steps_make(w, e)) < 0 || (rc = fill_table(w, e)) < 0)
        return rc;
    cells_find(w);
    if ((rc = cluster_missing(w, e)) < 0)
        return rc;
    cluster_behind(w);
    cells_settle(w);
    w->work.established = wants_addresses(w->now.spec);
    return phase_graph_make(&w->cluster, w->deps, &w->work, &w->graph, e);
}

void cluster_graph_drop(struct cluster_work *w)
{
    for (size_t i = 0; i < w->nodes.n; i++)
        vec_done(&w->nodes.at[i].cells);
    vec_clear(&w->nodes);
    vec_clear(&w->roles);
    strmap_done(&w->role_at);
    phase_deps_free(w->deps);
    phase_graph_free(w->graph);
    w->deps = NULL;
    w->graph = NULL;
    world_done(&w->world);
    w->world = (struct world){0};
}

void cluster_work_done(struct cluster_work *w)
{
    cluster_graph_drop(w);
    vec_done(&w->nodes);
    vec_done(&w->roles);
    vec_done(&w->going);
    vec_done(&w->stays);
    vec_done(&w->made);
    catalog_unref((struct catalog *)(uintptr_t)w->was.catalog);
    catalog_unref((struct catalog *)(uintptr_t)w->now.catalog);
    cluster_look_done(&w->was);
    cluster_look_done(&w->now);
}
