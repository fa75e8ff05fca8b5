/* bind_place.c - who is where, and who may stand beside whom
 *
 * A noderole holds its role's name and all names that the role provides on its node, and refuses
 * those that the role conflicts with.  On one node a name has one holder: two roles that offer the
 * same thing there are refused, which makes "is it on this node, by itself or provided?" one
 * look-up.  Noderoles of roles that this generation does not have hold nothing.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/bind_i.h"

#include <assert.h>
#include <stdio.h>

static uint64_t key_of(uint32_t node, uint32_t name)
{
    return (uint64_t)node << 32 | name;
}

/* --- text for refusals --- */

const char *bind_node_text(struct bind *b, uint32_t node)
{
    struct planner_node info;
    if (!b->world->node(b->world->ctx, node, &info))
        return arena_printf(&b->scratch, "node %u", node);
    return arena_strndup(&b->scratch, info.name.s, info.name.n);
}

const char *bind_ref_text(struct bind *b, uint32_t ref)
{
    if (ref & PLAN_NEW) {
        uint32_t number = ref & ~PLAN_NEW;
        return arena_printf(&b->scratch, "%s@%s", bind_role_of(b, number)->name.s,
                            bind_node_text(b, b->fresh.at[number].node));
    }
    struct planner_noderole info;
    b->world->noderole(b->world->ctx, ref, &info);
    return arena_printf(&b->scratch, "%.*s@%s", (int)info.role.n, info.role.s,
                        bind_node_text(b, info.node));
}

const char *bind_chain_text(struct bind *b, uint32_t because, uint32_t wanted)
{
    enum { SHOWN = 4 }; /* the first and the last three of a longer chain */
    uint32_t length = 0, at = 0;

    for (uint32_t i = because; i != BIND_NONE; i = b->fresh.at[i].because)
        length++;
    const char **parts = arena_new(&b->scratch, const char *, length + 1);
    for (uint32_t i = because; i != BIND_NONE; i = b->fresh.at[i].because) {
        bool shown = at < SHOWN - 1 || at == length - 1;
        if (shown)
            parts[length - 1 - at] = arena_printf(
                &b->scratch, "%s requires %s: ", bind_ref_text(b, i | PLAN_NEW),
                b->cat->names[wanted].name.s);
        wanted = b->fresh.at[i].wanted;
        at++;
    }
    struct buf text = {0};
    for (uint32_t i = 0; i < length; i++) {
        if (parts[i])
            buf_puts(&text, parts[i]);
        else if (i == 1)
            buf_puts(&text, "...: ");
    }
    const char *copy = arena_strndup(&b->scratch, buf_str(&text).s, text.len);
    buf_done(&text);
    return copy;
}

/* --- what lives --- */

uint32_t bind_ref_role(const struct bind *b, uint32_t ref)
{
    struct planner_noderole info;
    if (ref & PLAN_NEW)
        return b->fresh.at[ref & ~PLAN_NEW].role;
    b->world->noderole(b->world->ctx, ref, &info);
    uint32_t name = catalog_name_find(b->cat, info.role);
    return name == CATALOG_NONE ? CATALOG_NONE : b->cat->names[name].role;
}

bool bind_node_holder(const struct bind *b, uint32_t node, uint32_t name, uint32_t *ret_ref)
{
    uintptr_t ref;
    if (!u64map_get(&b->held, key_of(node, name), &ref))
        return false;
    *ret_ref = (uint32_t)ref;
    return true;
}

/* The first holder stays: older generations may have allowed more than one. */
static void hold(struct u64map *map, uint32_t node, uint32_t name, uint32_t ref)
{
    uint64_t key = key_of(node, name);
    if (!u64map_get(map, key, NULL))
        u64map_put(map, key, ref);
}

static void hold_offers(struct bind *b, uint32_t node, uint32_t role, uint32_t ref)
{
    const struct catalog_role *r = &b->cat->roles[role];
    for (uint32_t i = 0; i < r->n_provides; i++)
        hold(&b->held, node, r->provides[i], ref);
    for (uint32_t i = 0; i < r->n_conflicts; i++)
        hold(&b->refused, node, r->conflicts[i], ref);
}

int bind_node_open(struct bind *b, uint32_t node)
{
    struct planner_node info;

    if (u64map_get(&b->nodes, node, NULL))
        return 0;
    if (!b->world->node(b->world->ctx, node, &info)) {
        (void)err_set(b->err, ERR_UNKNOWN_NAME, "there is no node %u", node);
        return err_hint(b->err, "`anneal node list` shows the nodes there are");
    }
    if (info.gone)
        return err_set(b->err, ERR_REFUSED, "node %.*s is being removed", (int)info.name.n,
                       info.name.s);
    u64map_put(&b->nodes, node, 1);
    struct planner_ids ids = b->world->on_node(b->world->ctx, node);
    uint32_t *roles = arena_new(&b->scratch, uint32_t, ids.n);
    /* Roles themselves before what others provide in their stead. */
    for (uint32_t i = 0; i < ids.n; i++) {
        roles[i] = u64map_get(&b->leaving, ids.at[i], NULL) ? CATALOG_NONE
                                                            : bind_ref_role(b, ids.at[i]);
        if (roles[i] != CATALOG_NONE)
            hold(&b->held, node, b->cat->roles[roles[i]].name_id, ids.at[i]);
    }
    for (uint32_t i = 0; i < ids.n; i++)
        if (roles[i] != CATALOG_NONE)
            hold_offers(b, node, roles[i], ids.at[i]);
    return 0;
}

/* --- what may be created --- */

struct place { /* a role on its way to a node, and why */
    const struct catalog_role *role;
    uint32_t node, because, wanted;
};

static const char *chain(struct bind *b, const struct place *p)
{
    return bind_chain_text(b, p->because, p->wanted);
}

static int refuse_beside(struct bind *b, const struct place *p, uint32_t other, const char *why)
{
    uint32_t role = bind_ref_role(b, other);
    const char *name = role == CATALOG_NONE ? bind_ref_text(b, other) : b->cat->roles[role].name.s;
    const char *node = bind_node_text(b, p->node);

    (void)err_set(b->err, ERR_REFUSED, "%s%s %s %s, which is on %s", chain(b, p), p->role->name.s,
                  why, name, node);
    return other & PLAN_NEW
               ? err_hint(b->err, "ask for only one of the two on %s", node)
               : err_hint(b->err, "unbind %s from %s first, or choose another node", name, node);
}

static int refuse_offer(struct bind *b, const struct place *p, uint32_t other, uint32_t name)
{
    const char *why = name == p->role->name_id
                          ? "cannot stand beside the role that provides it,"
                          : arena_printf(&b->scratch, "provides %s and so does",
                                         b->cat->names[name].name.s);
    return refuse_beside(b, p, other, why);
}

/* Does anything on the node forbid the role, or the role anything on the node? */
static int check_neighbours(struct bind *b, const struct place *p)
{
    const struct catalog_role *r = p->role;
    uintptr_t other;

    for (uint32_t i = 0; i < r->n_conflicts; i++)
        if (u64map_get(&b->held, key_of(p->node, r->conflicts[i]), &other))
            return refuse_beside(b, p, (uint32_t)other, "conflicts with");
    for (uint32_t i = 0; i <= r->n_provides; i++) {
        uint32_t name = i ? r->provides[i - 1] : r->name_id;
        if (u64map_get(&b->refused, key_of(p->node, name), &other))
            return refuse_beside(b, p, (uint32_t)other, "is in conflict with");
        if (u64map_get(&b->held, key_of(p->node, name), &other))
            return refuse_offer(b, p, (uint32_t)other, name);
    }
    return 0;
}

static int check_jig(struct bind *b, const struct place *p, uint32_t jig)
{
    if (jig == CATALOG_NONE)
        return 0; /* of a role that runs nothing */
    struct str name = b->cat->jigs[jig].name;
    struct bind_jig *known = &b->jigs[jig];

    if (!known->id && !b->world->jig(b->world->ctx, name, &known->id, &known->active)) {
        (void)err_set(b->err, ERR_REFUSED, "%s%s needs the jig %s, which is not set up",
                      chain(b, p), p->role->name.s, name.s);
        return err_hint(b->err, "load catalog generation %u first", b->cat->number);
    }
    if (known->active)
        return 0;
    (void)err_set(b->err, ERR_REFUSED, "%s%s needs the jig %s, which is not active", chain(b, p),
                  p->role->name.s, name.s);
    return err_hint(b->err, "activate the jig %s", name.s);
}

static int check_jigs(struct bind *b, const struct place *p, const struct catalog_action *a)
{
    int r = 0;
    for (uint32_t i = 0; a && i < a->n_steps && r >= 0; i++)
        r = check_jig(b, p, a->steps[i].jig);
    return r;
}

int bind_jigs_active(struct bind *b, uint32_t role, uint32_t node)
{
    struct place p = {&b->cat->roles[role], node, BIND_NONE, BIND_NONE};
    int r = check_jig(b, &p, p.role->jig);
    return r < 0 ? r : check_jigs(b, &p, &p.role->actions[0]);
}

int bind_jigs_down(struct bind *b, uint32_t role, uint32_t node)
{
    struct place p = {&b->cat->roles[role], node, BIND_NONE, BIND_NONE};
    int r = check_jigs(b, &p, catalog_action_get(p.role, str_of("stop")));
    return r < 0 ? r : check_jigs(b, &p, catalog_action_get(p.role, str_of("remove")));
}

/* "a, b and 3 more" of the roles that provide a name. */
static const char *providers_text(struct bind *b, uint32_t name)
{
    enum { SHOWN = 5 };
    const struct catalog_name *n = &b->cat->names[name];
    struct buf text = {0};

    for (uint32_t i = 0; i < n->n_providers && i < SHOWN; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", b->cat->roles[n->providers[i]].name.s);
    if (n->n_providers > SHOWN)
        buf_printf(&text, " and %u more", n->n_providers - SHOWN);
    const char *copy = arena_strndup(&b->scratch, buf_str(&text).s, text.len);
    buf_done(&text);
    return copy;
}

static int refuse_fault(struct bind *b, const struct place *p)
{
    const struct catalog_where *w = &p->role->fault_where;
    const char *file = w->file == CATALOG_NONE ? "" : b->cat->files[w->file].s;

    (void)err_set(b->err, ERR_REFUSED, "%s%s cannot be bound: %s:%u:%u: %s", chain(b, p),
                  p->role->name.s, file, w->line, w->column, p->role->fault);
    return err_hint(b->err, "correct it and load the catalog again");
}

static int check_role(struct bind *b, const struct place *p)
{
    const struct catalog_action *converge = &p->role->actions[0];
    int r;

    if (p->role->fault)
        return refuse_fault(b, p);
    if (p->role->flags & ROLE_F_ABSTRACT) {
        const char *providers = providers_text(b, p->role->name_id);
        (void)err_set(b->err, ERR_REFUSED, "%s%s is abstract and cannot be bound", chain(b, p),
                      p->role->name.s);
        return *providers ? err_hint(b->err, "bind one that provides it: %s", providers)
                          : err_hint(b->err, "no role of this catalog provides it");
    }
    if ((r = check_jig(b, p, p->role->jig)) < 0 || (r = check_jigs(b, p, converge)) < 0)
        return r;
    return check_neighbours(b, p);
}

int bind_create(struct bind *b, uint32_t role, uint32_t node, uint32_t because, uint32_t wanted,
                uint32_t *ret_number)
{
    struct place p = {&b->cat->roles[role], node, because, wanted};
    uint32_t number = (uint32_t)b->fresh.n;

    if (number >= b->max_noderoles)
        return err_set(b->err, ERR_LIMIT, "more than %u noderoles in one plan", b->max_noderoles);
    int r = check_role(b, &p);
    if (r < 0)
        return r;
    vec_push(
        &b->fresh,
        ((struct bind_new){
            .role = role, .node = node, .because = because, .wanted = wanted, .next = BIND_NONE}));
    struct bind_role *known = &b->roles[role];
    if (known->first_new == BIND_NONE)
        known->first_new = number;
    else
        b->fresh.at[known->last_new].next = number;
    known->last_new = number;
    hold(&b->held, node, p.role->name_id, number | PLAN_NEW);
    hold_offers(b, node, role, number | PLAN_NEW);
    *ret_number = number;
    return 0;
}

int bind_return(struct bind *b, uint32_t role, uint32_t node, uint32_t noderole)
{
    struct place p = {&b->cat->roles[role], node, BIND_NONE, BIND_NONE};
    int r;

    if ((r = bind_node_open(b, node)) < 0 || (r = check_neighbours(b, &p)) < 0)
        return r;
    hold(&b->held, node, p.role->name_id, noderole);
    hold_offers(b, node, role, noderole);
    return 0;
}
