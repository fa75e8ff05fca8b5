/* node_make.c - a node comes into being, with the roles that every new node has
 *
 * One amendment of the system deployment, whole or refused: the node, the role `machine`, then the
 * bootstrap roles of an administrative node or, for any other, the discovery roles whose jig is
 * active, each with what it needs.  All of it is planned before anything is changed, against a
 * world in which the node is there already.  What comes into the catalog later is bound to nodes
 * that are there by whoever wants it (`anneal deployment bind system ROLE=NODES`), never by itself.
 *
 * What this costs depends on the roles, not on how many nodes there are.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/digest.h"
#include "base/json.h"
#include "server/server_i.h"

enum { SYSTEM = 1 }; /* the root deployment */

/* ---- default roles ---- */

static bool jig_is_active(const struct server *s, const struct catalog *c, uint32_t jig)
{
    struct jig_view v;
    uintptr_t id;
    return jig == CATALOG_NONE || (strmap_get(&s->inv.jig_by_name, c->jigs[jig].name, &id) &&
                                   anneal_jig(s->engine, (uint32_t)id, &v) && v.active);
}

/* Those needed before those that need them, the machine first of all. */
static void default_roles(const struct server *s, const struct catalog *c, bool admin, uint32_t id,
                          struct arena *mem, struct bind_request *ret)
{
    struct bind_item *items = arena_new(mem, struct bind_item, c->n_roles + 1);
    uint32_t flag = admin ? ROLE_F_BOOTSTRAP : ROLE_F_DISCOVERY, n = 0;
    items[n++] = (struct bind_item){str_of(CATALOG_MACHINE), id, NULL};
    for (uint32_t i = 0; i < c->n_roles; i++) {
        const struct catalog_role *r = &c->roles[c->order[i]];
        if ((r->flags & flag) && !str_is(r->name, CATALOG_MACHINE) &&
            (admin || jig_is_active(s, c, r->jig)))
            items[n++] = (struct bind_item){r->name, id, NULL};
    }
    ret->items = items;
    ret->n_items = n;
}

/* The plan of a node that gets the next id; NULL if nodes are made bare. */
static int default_plan(struct server *s, const struct server_call *c, const char *name,
                        const struct value *body, struct bind_request *req, struct plan **ret_plan,
                        struct err *e)
{
    const struct catalog *catalog = s->catalog ? s->catalog : s->builtin;
    bool admin = value_as_bool(value_get(body, "admin"), false);
    struct world world;
    if (!s->opts->node_defaults)
        return 0;
    default_roles(s, catalog, admin, anneal_node_end(s->engine), c->mem, req);
    struct planner_world view = world_of(&world, s);
    world.new_name = name;
    int rc = planner_bind(catalog, &view, req, ret_plan, NULL, e);
    world_done(&world);
    if (rc >= 0 && (rc = wish_check(s, SYSTEM, *ret_plan, e)) >= 0)
        rc = face_plan_room(s, *ret_plan, e);
    if (rc >= 0) { /* a hook that refuses does so before there is a node */
        struct hook_guest guest = {anneal_node_end(s->engine), name, body};
        rc = hook_before_node(s, &guest, *ret_plan, e);
    }
    return rc < 0 ? err_wrap(e, "node %s", name) : 0;
}

static int bind_defaults(struct server *s, const struct server_call *c, const char *name,
                         const struct bind_request *req, struct plan *plan, struct err *e)
{
    const char *title = arena_printf(c->mem, "discover %s", name);
    uint32_t op;
    struct face_work work = {plan->n_tasks ? "discover" : NULL, title, CLASS_NORMAL, 0, 0, NULL};
    int rc = face_plan_apply(s, c, plan, &work, &op, e);
    return rc < 0 ? rc : wish_amended(s, c, req, plan, title, e);
}

/* ---- the node itself ---- */

static int engine_add(struct server *s, const struct server_call *c, const char *name,
                      const struct value *body, struct err *e)
{
    int alive = alive_state_find(value_as_text(value_get(body, "alive"), "unknown"));
    struct row_node fixed = {.name = str_of(name)};
    struct commit_note note = server_note(c, &fixed);
    struct event ev = {.kind = EVENT_NODE_ADD,
                       .id = anneal_node_end(s->engine),
                       .n = (uint32_t)value_as_int(value_get(body, "slots"), 1),
                       .flag = value_as_bool(value_get(body, "available"),
                                             !value_is(value_get(body, "maintenance"), VALUE_MAP)),
                       .extra = (uint32_t)alive};
    SCOPED_BUF(more);
    buf_puts(&more, "{\"name\":");
    json_write_string(&more, str_of(name));
    buf_putc(&more, '}');
    note.more = buf_str(&more);
    return server_apply(s, &ev, &note, NULL, e);
}

uint64_t node_id_digest(const char *text)
{
    return text && *text ? digest_64(text, strlen(text)) : 0;
}

int node_seen(struct server *s, const struct server_call *c, uint32_t id, const char *machine,
              const char *boot, struct err *e)
{
    struct event ev = {
        .kind = EVENT_NODE_SEEN, .id = id, .a = node_id_digest(machine), .b = node_id_digest(boot)};
    struct commit_note note = server_note(c, NULL);
    int rc = server_apply(s, &ev, &note, NULL, e);
    if (rc >= 0 && ev.a)
        u64map_put(&s->inv.node_by_machine, ev.a, id);
    return rc;
}

/* The map remembers machines that are elsewhere now: the engine says who has it. */
uint32_t node_of_machine(const struct server *s, const char *machine)
{
    struct node_view v;
    uintptr_t id;
    return u64map_get(&s->inv.node_by_machine, node_id_digest(machine), &id) &&
                   anneal_node(s->engine, (uint32_t)id, &v) && !v.gone &&
                   v.machine == node_id_digest(machine)
               ? (uint32_t)id
               : 0;
}

void node_machines_load(struct server *s)
{
    struct node_view v;
    for (uint32_t id = 1; id < s->inv.nodes.n; id++)
        if (anneal_node(s->engine, id, &v) && !v.gone && v.machine)
            u64map_put(&s->inv.node_by_machine, v.machine, id);
}

int node_make_bare(struct server *s, const struct server_call *c, const char *name, uint32_t home,
                   const struct value *body, uint32_t *ret_id, struct err *e)
{
    uint32_t id = anneal_node_end(s->engine);
    int rc = engine_add(s, c, name, body, e);
    if (rc < 0)
        return rc;
    inventory_add_node(&s->inv, id, str_of(name));
    node_body_put(s, c, id, home, body, ROW_INSERT);
    *ret_id = id;
    return 0;
}

void node_unmake(struct server *s, const struct server_call *c, uint32_t id)
{
    struct event gone = {.kind = EVENT_NODE_GONE, .id = id};
    struct commit_note note = server_note(c, NULL);
    struct err unread;
    (void)server_apply(s, &gone, &note, NULL, &unread);
    inventory_drop_node(&s->inv, id);
}

int node_make(struct server *s, const struct server_call *c, const char *name,
              const struct value *body, uint32_t *ret_id, struct err *e)
{
    const char *machine = value_as_text(value_get(body, "machine_id"), NULL);
    const char *boot = value_as_text(value_get(body, "boot_id"), NULL);
    uint32_t home = SYSTEM, id = 0;
    struct bind_request req = {.deployment = SYSTEM};
    SCOPED(plan) *plan = NULL;
    int rc = 0;
    if (!name || !*name)
        rc = node_name_make(s, c->mem, body, &name, e);
    if (rc < 0 || (rc = node_name_check(s, name, e)) < 0 ||
        (rc = node_body_home(s, body, &home, e)) < 0 || (rc = node_body_check(body, e)) < 0)
        return rc;
    if (strmap_get(&s->inv.node_by_name, str_of(name), NULL)) {
        err_set(e, ERR_EXISTS, "there is a node %s already", name);
        err_at(e, "/name");
        return err_hint(e, "change it with `anneal node set %s`", name);
    }
    if ((rc = default_plan(s, c, name, body, &req, &plan, e)) < 0 ||
        (rc = node_make_bare(s, c, name, home, body, &id, e)) < 0)
        return rc;
    if (plan)
        rc = bind_defaults(s, c, name, &req, plan, e);
    if (rc < 0) { /* a hook would not have it: then there is no node either */
        node_unmake(s, c, id);
        return rc;
    }
    if (machine || boot)
        rc = node_seen(s, c, id, machine, boot, e);
    if (hook_watched(s, HOOK_ON_NODE_CREATE))
        hook_node(s, HOOK_ON_NODE_CREATE, id, NULL, view_node(s, c->mem, id));
    *ret_id = id;
    return rc;
}
