/* why_catalog.c - why a role, a jig or a pool is as it is, and why a role can or cannot be bound
 *
 * A binding is explained by planning it: the very planner that refuses it says why, and nothing is
 * changed.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "server/probing.h"

enum { INSTANCES_MOST = 16, HOLDERS_MOST = 8 };

static const struct why_head nobody;

/* ---- jigs ---- */

static void jig_reasons(struct why_answer *w, uint32_t id)
{
    struct jig_view v;
    struct why y = {.table = ROWS_JIG, .id = id};
    if (!anneal_jig(w->server->engine, id, &v))
        return;
    if (!v.active) {
        y.rule = WHY_JIG_INACTIVE;
    } else if (v.slots == 0) {
        y.rule = WHY_JIG_NO_WORKER;
    } else if (v.taken >= v.slots) {
        y.rule = WHY_WORKERS_BUSY;
        y.value = v.slots;
    } else {
        return;
    }
    (void)why_tell(w, &y);
}

int why_jig(struct why_answer *w, const char *name, struct server_reply *r, struct err *e)
{
    const struct server *s = w->server;
    struct jig_view v = {0};
    uintptr_t id;
    if (!strmap_get(&s->inv.jig_by_name, str_of(name), &id))
        return face_not_found_near(e, "jig", name, &s->inv.jig_by_name);
    (void)anneal_jig(s->engine, (uint32_t)id, &v);
    jig_reasons(w, (uint32_t)id);
    struct why_head h = {.object = "jig",
                         .name = s->inv.jigs.at[id].name,
                         .state = v.active ? "active" : "inactive",
                         .id = (uint32_t)id};
    why_reply(w, &h,
              arena_printf(w->mem, "jig %s works: %u of its workers' %s taken", h.name, v.taken,
                           text_count(v.slots, "place").s),
              r);
    return 0;
}

/* ---- pools ---- */

static bool span_has(const struct server *s, uint32_t span, uint32_t pool)
{
    uint32_t n;
    bool held;
    const uint32_t *pools = span ? anneal_span_pools(s->engine, span, &n, &held) : NULL;
    for (uint32_t i = 0; pools && held && i < n; i++)
        if (pools[i] == pool)
            return true;
    return false;
}

/* Who has a place: the first task of each span that is not over.  Places are few, tasks may be
 * many, so the walk ends when enough holders are found. */
static void pool_holders(struct why_answer *w, uint32_t pool, uint32_t taken)
{
    const struct server *s = w->server;
    uint32_t found = 0, last_span = 0;
    for (uint32_t t = 1; t < anneal_task_end(s->engine); t++) {
        struct task_view v;
        if (found == taken || found == HOLDERS_MOST)
            return;
        if (!anneal_task(s->engine, t, &v) || v.span == last_span ||
            task_state_ended((enum task_state)v.state) || !span_has(s, v.span, pool))
            continue;
        struct why_head h = {.object = "task", .name = view_task_name(s, t), .id = t};
        const char *text = arena_printf(w->mem, "task %u (%s of %s) has a place: it is %s", t,
                                        h.name, view_noderole_name(s, w->mem, v.noderole),
                                        task_state_name(v.state));
        why_say(w, 0, "pool-holder", &h, text, arena_printf(w->mem, "anneal why task/%u", t));
        last_span = v.span;
        found++;
    }
}

int why_pool(struct why_answer *w, const char *name, struct server_reply *r, struct err *e)
{
    const struct server *s = w->server;
    struct pool_view v = {0};
    struct why y = {.table = ROWS_POOL};
    uintptr_t id;
    if (!strmap_get(&s->inv.pool_by_name, str_of(name), &id))
        return face_not_found_near(e, "pool", name, &s->inv.pool_by_name);
    (void)anneal_pool(s->engine, (uint32_t)id, &v);
    bool full = (uint64_t)v.taken + v.elsewhere >= v.size;
    y.id = (uint32_t)id;
    y.rule = v.closed ? WHY_POOL_CLOSED : WHY_POOL_FULL;
    if (v.closed || full)
        (void)why_tell(w, &y);
    pool_holders(w, y.id, v.taken);
    struct why_head h = {.object = "pool",
                         .name = s->inv.pools.at[id].name,
                         .state = v.closed ? "closed"
                                  : full   ? "full"
                                           : "open",
                         .id = y.id};
    why_reply(w, &h,
              arena_printf(w->mem, "pool %s is open: %u taken and %u elsewhere, of %u", h.name,
                           v.taken, v.elsewhere, v.size),
              r);
    return 0;
}

/* ---- where to bind ---- */

/* The one that operators have made; the system's if they have made none, `many` if several. */
static const char *only_deployment(const struct server *s, const char *many)
{
    uint32_t found = 0;
    for (uint32_t d = 1; d < s->inv.deployments.n; d++)
        if (d != DEPLOYMENT_SYSTEM && s->inv.deployments.at[d].name) {
            if (found)
                return many;
            found = d;
        }
    return view_deployment_name(s, found ? found : DEPLOYMENT_SYSTEM);
}

/* The deployment with most noderoles of a role; 0: there are none. */
static uint32_t role_home(const struct server *s, const char *name)
{
    uint32_t best = 0;
    size_t most = 0;
    uintptr_t role;
    if (!strmap_get(&s->inv.role_by_name, str_of(name), &role))
        return 0;
    for (uint32_t d = 1; d < s->inv.deployments.n; d++) {
        const struct id_list *l = inventory_instances(&s->inv, (uint32_t)role, d);
        if (l && l->ids.n > most) {
            most = l->ids.n;
            best = d;
        }
    }
    return best;
}

/* Where somebody would bind a role to a node: where the node is at home.  The system's deployment
 * is where nodes are that nobody has moved; then it is where others of the role are, else where
 * something else on the node is, else the only one there is. */
static uint32_t binding_home(const struct server *s, const char *role, uint32_t node)
{
    uint32_t home = s->inv.nodes.at[node].deployment, found;
    if (home != DEPLOYMENT_SYSTEM)
        return home;
    if ((found = role_home(s, role)))
        return found;
    for (uint32_t id = anneal_node_first_noderole(s->engine, node); id;
         id = anneal_node_next_noderole(s->engine, id))
        if (s->inv.noderoles.at[id].deployment != DEPLOYMENT_SYSTEM)
            return s->inv.noderoles.at[id].deployment;
    const char *only = only_deployment(s, NULL);
    return only ? inventory_deployment_find(&s->inv, only) : home;
}

/* ---- roles ---- */

struct role_sum {
    uint32_t instances, in_service;
};

static void instance_reason(struct why_answer *w, uint32_t id, struct role_sum *sum)
{
    struct server *s = w->server;
    struct noderole_view v;
    if (!anneal_noderole(s->engine, id, &v) || v.state == NODEROLE_REMOVED)
        return;
    sum->instances++;
    if (noderole_in_service(v.state, v.target)) {
        sum->in_service++;
        return;
    }
    if (sum->instances - sum->in_service > INSTANCES_MOST)
        return;
    struct why_head h = {.object = "noderole", .name = view_noderole_name(s, w->mem, id), .id = id};
    why_say(w, 0, "instance-not-in-service", &h,
            arena_printf(w->mem, "%s is %s", h.name, noderole_state_name(v.state)), NULL);
    w->depth++;
    why_follow(w, ROWS_NODEROLE, id);
    w->depth--;
}

static struct role_sum role_instances(struct why_answer *w, const char *name)
{
    const struct inventory *v = &w->server->inv;
    struct role_sum sum = {0};
    uintptr_t role;
    if (!strmap_get(&v->role_by_name, str_of(name), &role))
        return sum;
    for (size_t i = 0; i < v->instances.n; i++) {
        if (!v->instances.at[i].live || v->instances.at[i].key >> 32 != role)
            continue;
        const struct id_list *l = &v->lists.at[v->instances.at[i].val];
        for (size_t k = 0; k < l->ids.n; k++)
            instance_reason(w, l->ids.at[k], &sum);
    }
    return sum;
}

static void role_jig(struct why_answer *w, const struct catalog_role *role)
{
    const struct server *s = w->server;
    uintptr_t id;
    if (role->jig != CATALOG_NONE &&
        strmap_get(&s->inv.jig_by_name, s->catalog->jigs[role->jig].name, &id))
        jig_reasons(w, (uint32_t)id);
}

int why_role(struct why_answer *w, const char *name, struct server_reply *r, struct err *e)
{
    const struct server *s = w->server;
    const struct catalog_role *role = s->catalog ? catalog_role_get(s->catalog, str_of(name))
                                                 : NULL;
    if (!role && !strmap_get(&s->inv.role_by_name, str_of(name), NULL)) {
        const char *near = s->catalog ? catalog_role_nearest(s->catalog, str_of(name)) : NULL;
        int rc = face_not_found(e, "role", name);
        if (near)
            err_hint(e, "did you mean \"%s\"?", near);
        return rc;
    }
    struct why_head h = {.object = "role", .name = name};
    if (!role)
        why_say(w, 2, "not-in-catalog", &h,
                arena_printf(w->mem, "role %s is not in the catalog any more", name),
                "anneal catalog load DIR");
    else
        role_jig(w, role);
    struct role_sum sum = role_instances(w, name);
    bool abstract = role && role->flags & ROLE_F_ABSTRACT;
    if (sum.instances == 0)
        why_say(w, 1, "not-bound", &h,
                arena_printf(w->mem,
                             abstract ? "role %s is abstract: others provide it"
                                      : "role %s is bound to no node",
                             name),
                abstract ? NULL
                         : arena_printf(w->mem, "anneal deployment bind %s %s=NODE",
                                        only_deployment(s, "DEPLOYMENT"), name));
    h.state = sum.instances == 0 ? "unbound" : "bound";
    why_reply(w, &h,
              sum.instances == 1
                  ? arena_printf(w->mem, "role %s is in service on the one node that has it", name)
                  : arena_printf(w->mem, "role %s is in service on all %u nodes that have it", name,
                                 sum.instances),
              r);
    return 0;
}

/* ---- bindings ---- */

/* The jig that a refusal is about, if it is about one: then it is the object to act on. */
static bool refused_jig(const struct server *s, const struct err *refusal, uint32_t *ret_id)
{
    char words[128];
    for (uint32_t id = 1; id < s->inv.jigs.n; id++) {
        struct jig_view v;
        if (!s->inv.jigs.at[id].name || !anneal_jig(s->engine, id, &v) || v.active)
            continue;
        snprintf(words, sizeof words, "the jig %.64s,", s->inv.jigs.at[id].name);
        if (strstr(refusal->text, words)) {
            *ret_id = id;
            return true;
        }
    }
    return false;
}

static void say_refused(struct why_answer *w, const struct err *refusal, uint32_t node,
                        const char *role)
{
    const struct server *s = w->server;
    uint32_t jig;
    struct why_head at_node = {.object = "node", .name = s->inv.nodes.at[node].name, .id = node};
    struct why_head at_role = {.object = "role", .name = role};
    if (refused_jig(s, refusal, &jig)) {
        struct why_head at_jig = {.object = "jig", .name = s->inv.jigs.at[jig].name, .id = jig};
        why_say(w, 3, err_name(refusal->code), &at_jig, refusal->text,
                arena_printf(w->mem, "anneal jig enable %s", at_jig.name));
        return;
    }
    bool unknown = refusal->code == ERR_UNKNOWN_NAME || refusal->code == ERR_INVALID;
    why_say(w, 3, err_name(refusal->code), unknown ? &at_role : &at_node, refusal->text,
            *refusal->hint ? refusal->hint : NULL);
}

static void say_step(struct why_answer *w, const struct planner_step *step, const char *deployment,
                     const char *command)
{
    struct why_head h = {.object = "role", .name = arena_strdup(w->mem, step->role.s)};
    const char *text = step->why == BIND_REQUIRED
                           ? arena_printf(w->mem, "%s would be bound to %s, because %s requires it",
                                          step->role.s, step->node.s, step->by.s)
                           : arena_printf(w->mem, "%s would be bound to %s in deployment %s",
                                          step->role.s, step->node.s, deployment);
    why_say(w, 0, "would-bind", &h, text, step->why == BIND_REQUESTED ? command : NULL);
}

/* What planning it says: bound already, possible, or refused. */
static const char *plan_binding(struct why_answer *w, const char *role, uint32_t node,
                                uint32_t *ret_present, const char **ret_fine)
{
    struct server *s = w->server;
    uint32_t deployment = binding_home(s, role, node);
    struct bind_item item = {.role = str_of(role), .node = node};
    struct bind_request req = {.deployment = deployment, .items = &item, .n_items = 1};
    struct world world;
    struct planner_world face = world_of(&world, s);
    SCOPED(plan) *plan = NULL;
    SCOPED(planner_steps) *steps = NULL;
    struct err refusal;
    int rc = planner_bind(s->catalog, &face, &req, &plan, &steps, &refusal);
    world_done(&world);
    if (rc < 0) {
        say_refused(w, &refusal, node, role);
        return "refused";
    }
    const char *home = view_deployment_name(s, deployment), *name = s->inv.nodes.at[node].name;
    const char *command = arena_printf(w->mem, "anneal deployment bind %s %s=%s",
                                       home ? home : "system", role, name);
    for (uint32_t i = 0; i < steps->n; i++)
        if (steps->at[i].why == BIND_PRESENT)
            *ret_present = steps->at[i].ref;
        else
            say_step(w, &steps->at[i], steps->deployment.s, command);
    *ret_fine = arena_printf(w->mem, "%s can be bound to %s: %s", role, name, command);
    return *ret_present ? "bound" : "possible";
}

/* The noderole of that role which is on its way out, if none stays; 0: none. */
static uint32_t leaving_at(const struct server *s, const char *role, uint32_t node)
{
    uint32_t number = desire_role_find(s->desire, str_of(role)), going = 0;
    return number && !wish_live(s, snapshot_key(number, node), &going) ? going : 0;
}

int why_binding(struct why_answer *w, const char *text, struct server_reply *r, struct err *e)
{
    struct server *s = w->server;
    const char *at = strchr(text, '@'), *fine = "";
    uint32_t present = 0;
    if (!at || at == text || !at[1]) {
        err_set(e, ERR_INVALID, "\"%s\" is not a binding", text);
        return err_hint(e, "write it as role@node");
    }
    const char *role = arena_strndup(w->mem, text, (size_t)(at - text));
    uint32_t node = inventory_node_find(&s->inv, at + 1);
    if (!node)
        return face_not_found_near(e, "node", at + 1, &s->inv.node_by_name);
    struct why_head h = {.object = "binding", .name = text, .state = "refused"};
    if (!s->catalog)
        why_say(w, 3, "no-catalog", &nobody, "no catalog is loaded: there are no roles to bind",
                "anneal catalog load DIR");
    else if ((present = leaving_at(s, role, node)))
        h.state = "leaving"; /* that it could be bound again is another question */
    else
        h.state = plan_binding(w, role, node, &present, &fine);
    if (present) {
        struct noderole_view v = {0};
        (void)anneal_noderole(s->engine, present, &v);
        h.id = present;
        fine = arena_printf(w->mem, "%s is %s: noderole %u is %s", text,
                            v.target == TARGET_ABSENT ? "being removed" : "bound already", present,
                            noderole_state_name(v.state));
        why_follow(w, ROWS_NODEROLE, present);
        probing_why_on(w, node);
    }
    why_reply(w, &h, fine, r);
    return 0;
}
