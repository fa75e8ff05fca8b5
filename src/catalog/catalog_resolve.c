/* catalog_resolve.c - names become indexes
 *
 * A role's own name and the names it provides are one name space: whoever requires, uses or
 * conflicts with a name means the role called so and every role that provides it.  A role needs the
 * implementor of each jig that its tasks use as if it had required it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog.h"
#include "catalog/catalog_i.h"

#include "model/states.h"

/* --- the name space --- */

static uint32_t name_intern(struct load *l, struct str name)
{
    uint32_t known = catalog_index_add(&l->by_name, name, (uint32_t)l->names.n);
    if (known != CATALOG_NONE)
        return known;
    vec_push(&l->names, ((struct catalog_name){.name = name, .role = CATALOG_NONE}));
    return (uint32_t)l->names.n - 1;
}

static void name_roles(struct load *l)
{
    for (uint32_t i = 0; i < l->roles.n; i++) {
        struct catalog_role *r = &l->roles.at[i].role;
        r->name_id = name_intern(l, r->name);
        uint32_t first = l->names.at[r->name_id].role;
        if (first == CATALOG_NONE)
            l->names.at[r->name_id].role = i;
        else
            catalog_twice(l, "role", r->name, r->where, l->roles.at[first].role.where);
    }
}

static void name_provided(struct load *l)
{
    for (uint32_t i = 0; i < l->roles.n; i++) {
        struct load_role *r = &l->roles.at[i];
        uint32_t *ids = arena_new(l->mem, uint32_t, r->provides.n), n = 0;
        for (uint32_t k = 0; k < r->provides.n; k++) {
            uint32_t id = name_intern(l, r->provides.at[k].name);
            if (id == r->role.name_id) {
                catalog_fault(l, CATALOG_WARNING, ERR_INVALID,
                              catalog_where_of(r->provides.at[k].at),
                              "role \"%s\" need not provide itself", r->role.name.s);
                continue;
            }
            ids[n++] = id;
            l->names.at[id].n_providers++;
        }
        r->role.provides = ids;
        r->role.n_provides = n;
    }
    uint32_t **fill = arena_new(&l->scratch, uint32_t *, l->names.n);
    for (uint32_t i = 0; i < l->names.n; i++)
        l->names.at[i].providers = fill[i] = arena_new(l->mem, uint32_t,
                                                       l->names.at[i].n_providers);
    for (uint32_t i = 0; i < l->roles.n; i++) {
        const struct catalog_role *r = &l->roles.at[i].role;
        for (uint32_t k = 0; k < r->n_provides; k++)
            *fill[r->provides[k]]++ = i;
    }
}

static bool is_flag(struct str name)
{
    for (unsigned i = 0; i < ROLE_BIT_COUNT; i++)
        if (str_is(name, role_flag_name(i)))
            return true;
    return false;
}

uint32_t catalog_role_name_find(struct load *l, const struct load_role *r, const char *verb,
                                const struct load_name *wanted)
{
    uintptr_t id;

    if (strmap_get(&l->by_name, wanted->name, &id))
        return (uint32_t)id;
    struct err *e = catalog_error(l, wanted->at, ERR_UNKNOWN_NAME,
                                  "role \"%s\" %s \"%s\", which no role is or provides",
                                  r->role.name.s, verb, wanted->name.s);
    if (is_flag(wanted->name))
        (void)err_hint(e, "\"%s\" is a flag: list it under \"flags\"", wanted->name.s);
    else
        catalog_hint_nearest(e, wanted->name, &l->by_name);
    return CATALOG_NONE;
}

/* --- jigs --- */

static void jig_check_known(struct load *l, const struct load_jig *j)
{
    if (str_is(j->jig.name, "noop") && !str_is(j->jig.implementation, "noop"))
        catalog_error(l, j->at, ERR_INVALID,
                      "jig \"noop\" must stay a noop: roles without tasks use it");
    if (!l->checks || !j->at)
        return;
    for (size_t i = 0; i < l->checks->n; i++)
        if (str_is(j->jig.implementation, l->checks->at[i].implementation))
            return;
    /* One that is off runs nothing: a site may bring what executes it later. */
    struct err *e = catalog_fault(l, j->jig.active ? CATALOG_ERROR : CATALOG_WARNING,
                                  ERR_UNKNOWN_NAME, catalog_where_of(j->at),
                                  "jig \"%s\" has an unknown implementation \"%s\"", j->jig.name.s,
                                  j->jig.implementation.s);
    struct strmap known = {0};
    for (size_t i = 0; e && i < l->checks->n; i++)
        strmap_put(&known, str_of(l->checks->at[i].implementation), i);
    catalog_hint_nearest(e, j->jig.implementation, &known);
    strmap_done(&known);
}

static void resolve_jigs(struct load *l)
{
    for (uint32_t i = 0; i < l->jigs.n; i++) {
        struct load_jig *j = &l->jigs.at[i];
        uintptr_t id = 0;
        jig_check_known(l, j);
        if (!j->implementor.name.n)
            continue;
        bool known = strmap_get(&l->by_name, j->implementor.name, &id);
        if (known && l->names.at[id].role != CATALOG_NONE) {
            j->jig.implementor = l->names.at[id].role;
            continue;
        }
        struct err *e = catalog_error(l, j->implementor.at, ERR_UNKNOWN_NAME,
                                      "jig \"%s\" is implemented by \"%s\", which is no role",
                                      j->jig.name.s, j->implementor.name.s);
        catalog_hint_nearest(e, j->implementor.name, &l->by_name);
    }
}

uint32_t catalog_jig_find(struct load *l, const struct load_name *wanted, const char *what)
{
    uintptr_t id;
    if (strmap_get(&l->by_jig, wanted->name, &id))
        return (uint32_t)id;
    struct err *e = catalog_error(l, wanted->at, ERR_UNKNOWN_NAME, "unknown %s \"%s\"", what,
                                  wanted->name.s);
    catalog_hint_nearest(e, wanted->name, &l->by_jig);
    return CATALOG_NONE;
}

static void resolve_role_jig(struct load *l, struct load_role *r)
{
    uintptr_t noop = 0;

    if (!r->at && !r->role.group)
        return; /* built in */
    if (r->jig.at) {
        r->role.jig = r->jig.name.n ? catalog_jig_find(l, &r->jig, "jig") : CATALOG_NONE;
        return;
    }
    if (r->actions && r->actions->n)
        catalog_error(l, r->at, ERR_INVALID, "role \"%s\" has actions and so needs a jig",
                      r->role.name.s);
    strmap_get(&l->by_jig, str_of("noop"), &noop);
    r->role.jig = (uint32_t)noop;
}

/* --- what a task takes --- */

static void resolve_pools(struct load *l)
{
    for (uint32_t i = 0; i < l->tasks.n; i++) {
        struct load_task *t = &l->tasks.at[i];
        uint32_t *ids = arena_new(l->mem, uint32_t, t->pools.n), n = 0;
        for (uint32_t k = 0; k < t->pools.n; k++) {
            uintptr_t id;
            if (strmap_get(&l->by_pool, t->pools.at[k].name, &id)) {
                ids[n++] = (uint32_t)id;
                continue;
            }
            struct err *e = catalog_error(l, t->pools.at[k].at, ERR_UNKNOWN_NAME,
                                          "unknown pool \"%s\"", t->pools.at[k].name.s);
            catalog_hint_nearest(e, t->pools.at[k].name, &l->by_pool);
        }
        t->task.pools = ids;
        t->task.n_pools = n;
    }
}

/* --- what a role wants --- */

struct want_list {
    struct catalog_want *wants;
    const struct value **at;
    uint32_t n;
};

static void want_add(struct want_list *w, struct catalog_want want, const struct value *at)
{
    for (uint32_t i = 0; i < w->n; i++)
        if (w->wants[i].name == want.name)
            return;
    w->wants[w->n] = want;
    w->at[w->n++] = at;
}

static void want_implementor(struct load *l, struct want_list *w, uint32_t jig)
{
    const struct load_jig *j = jig == CATALOG_NONE ? NULL : &l->jigs.at[jig];
    if (j && j->jig.implementor != CATALOG_NONE)
        want_add(
            w,
            (struct catalog_want){.name = l->roles.at[j->jig.implementor].role.name_id, .jig = jig},
            j->implementor.at);
}

/* Of a name that is no cluster there is one: nothing to count. */
static bool is_cluster(const struct load *l, const struct catalog_name *n)
{
    bool cluster = n->role != CATALOG_NONE && l->roles.at[n->role].role.flags & ROLE_F_CLUSTER;
    for (uint32_t i = 0; n->role == CATALOG_NONE && i < n->n_providers && !cluster; i++)
        cluster = l->roles.at[n->providers[i]].role.flags & ROLE_F_CLUSTER;
    return cluster;
}

static struct catalog_want want_of(struct load *l, const struct load_role *r, uint32_t id,
                                   const struct load_name *need)
{
    struct catalog_want w = {.name = id, .jig = CATALOG_NONE};

    if (!need->min.given)
        return w;
    w.min = (uint32_t)need->min.value;
    w.percent = need->min.percent;
    if (!is_cluster(l, &l->names.at[id])) {
        struct err *e = catalog_error(
            l, need->at, ERR_INVALID,
            "role \"%s\" says how many of \"%s\" are enough, which has no flag cluster",
            r->role.name.s, need->name.s);
        (void)err_hint(e, "give it the flag, or require it by its name alone");
    }
    return w;
}

static void resolve_requires(struct load *l, struct load_role *r)
{
    uint32_t room = r->requires.n + r->role.n_wants + 1;

    for (uint32_t i = 0; i < r->role.n_actions; i++)
        room += r->role.actions[i].n_steps;
    struct want_list w = {arena_new(&l->scratch, struct catalog_want, room),
                          arena_new(&l->scratch, const struct value *, room), 0};
    for (uint32_t i = 0; i < r->requires.n; i++) {
        uint32_t id = catalog_role_name_find(l, r, "requires", &r->requires.at[i]);
        if (id != CATALOG_NONE)
            want_add(&w, want_of(l, r, id, &r->requires.at[i]), r->requires.at[i].at);
    }
    for (uint32_t i = 0; i < r->role.n_wants; i++)
        if (r->role.wants[i].name != CATALOG_NONE)
            want_add(&w,
                     (struct catalog_want){
                         .name = r->role.wants[i].name, .jig = CATALOG_NONE, .read = true},
                     r->wants_at[i]);
    want_implementor(l, &w, r->role.jig);
    for (uint32_t i = 0; i < r->role.n_actions; i++)
        for (uint32_t k = 0; k < r->role.actions[i].n_steps; k++)
            want_implementor(l, &w, r->role.actions[i].steps[k].jig);
    struct catalog_want *wants = arena_new(l->mem, struct catalog_want, w.n);
    for (uint32_t i = 0; i < w.n; i++)
        wants[i] = w.wants[i];
    r->role.requires = wants;
    r->role.n_requires = w.n;
    r->requires_at = w.at;
}

static void resolve_uses(struct load *l, struct load_role *r)
{
    struct want_list w = {arena_new(l->mem, struct catalog_want, r->uses.n),
                          arena_new(&l->scratch, const struct value *, r->uses.n), 0};

    for (uint32_t i = 0; i < r->uses.n; i++) {
        uint32_t id = catalog_role_name_find(l, r, "uses", &r->uses.at[i]);
        if (id != CATALOG_NONE)
            want_add(&w, (struct catalog_want){.name = id, .jig = CATALOG_NONE}, r->uses.at[i].at);
    }
    r->role.uses = w.wants;
    r->role.n_uses = w.n;
    r->uses_at = w.at;
}

static void resolve_conflicts(struct load *l, struct load_role *r)
{
    uint32_t *ids = arena_new(l->mem, uint32_t, r->conflicts.n), n = 0;

    for (uint32_t i = 0; i < r->conflicts.n; i++) {
        uint32_t id = catalog_role_name_find(l, r, "conflicts with", &r->conflicts.at[i]);
        if (id == r->role.name_id)
            catalog_error(l, r->conflicts.at[i].at, ERR_INVALID,
                          "role \"%s\" conflicts with itself", r->role.name.s);
        else if (id != CATALOG_NONE)
            ids[n++] = id;
    }
    r->role.conflicts = ids;
    r->role.n_conflicts = n;
}

static void resolve_version(const struct load *l, struct catalog_role *r)
{
    if (!r->version.n)
        r->version = r->barclamp == CATALOG_NONE ? str_of("0")
                                                 : l->barclamps.at[r->barclamp].version;
}

void catalog_resolve(struct load *l)
{
    catalog_builtin_jigs(l);
    uint32_t noop = catalog_builtin_noop(l);
    catalog_builtin_machine(l);
    catalog_machine_roles(l);
    catalog_group_roles(l);

    name_roles(l);
    name_provided(l);
    resolve_jigs(l);
    for (uint32_t i = 0; i < l->roles.n; i++) {
        struct load_role *r = &l->roles.at[i];
        catalog_excuse(l, r->lenient, &r->role.fault, &r->role.fault_where);
        resolve_role_jig(l, r);
        catalog_resolve_actions(l, i, noop);
    }
    catalog_excuse_none(l);
    catalog_resolve_providers(l);
    resolve_pools(l); /* tasks inside roles and providers are known by now */
    for (uint32_t i = 0; i < l->roles.n; i++) {
        struct load_role *r = &l->roles.at[i];
        catalog_excuse(l, r->lenient, &r->role.fault, &r->role.fault_where);
        catalog_resolve_wants(l, r);
        resolve_requires(l, r);
        resolve_uses(l, r);
        resolve_conflicts(l, r);
        catalog_resolve_depends(l, r);
        resolve_version(l, &r->role);
    }
    catalog_excuse_none(l);
    catalog_resolve_kinds(l);
    catalog_resolve_hooks(l);
    catalog_resolve_graphs(l);
}
