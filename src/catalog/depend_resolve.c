/* depend_resolve.c - what services depend on: names become indexes, and circles are told
 *
 * Dependencies order the phases of services over a whole cluster; they are no needs and take no
 * part in the order of roles.  Those for install and those for running are two graphs: a may need b
 * installed first while b needs a running, but within one of them nothing can come before itself.
 *
 * A name that several roles have means all of those that are in a cluster, which is not known here:
 * only where one role has it, it can close a circle now.  Whoever plans looks again.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "catalog/catalog_i.h"

#include "graph/graph.h"

enum { DEPEND_NOTES = 12 }; /* edges of one circle that are shown with their lines */

static uint32_t depend_name_find(struct load *l, const struct load_role *r, bool required,
                                 const struct load_name *wanted)
{
    uintptr_t id;

    if (required)
        return catalog_role_name_find(l, r, "requires", wanted);
    if (strmap_get(&l->by_name, wanted->name, &id))
        return (uint32_t)id;
    struct err *e = catalog_fault(
        l, CATALOG_WARNING, ERR_UNKNOWN_NAME, catalog_where_of(wanted->at),
        "role \"%s\" uses \"%s\", which no role is or provides", r->role.name.s, wanted->name.s);
    catalog_hint_nearest(e, wanted->name, &l->by_name);
    return CATALOG_NONE;
}

void catalog_resolve_depends(struct load *l, struct load_role *r)
{
    uint32_t room = 0, n = 0;

    for (int kind = 0; kind < DEPEND_COUNT; kind++)
        room += r->depends[kind][0].n + r->depends[kind][1].n;
    struct catalog_depend *depends = arena_new(l->mem, struct catalog_depend, room);
    for (int kind = 0; kind < DEPEND_COUNT; kind++)
        for (int required = 1; required >= 0; required--) {
            const struct load_names *names = &r->depends[kind][required];
            for (uint32_t i = 0; i < names->n; i++) {
                uint32_t id = depend_name_find(l, r, required, &names->at[i]);
                if (id == r->role.name_id)
                    catalog_error(l, names->at[i].at, ERR_CYCLE, "role \"%s\" depends on itself",
                                  r->role.name.s);
                else if (id != CATALOG_NONE || !required)
                    depends[n++] = (struct catalog_depend){names->at[i].name, id, (uint8_t)kind,
                                                           required,
                                                           catalog_where_of(names->at[i].at)};
            }
        }
    if (n && !r->role.phased && !l->excused)
        catalog_fault(l, CATALOG_WARNING, ERR_INVALID, depends[0].where,
                      "role \"%s\" has no phases for this to order", r->role.name.s);
    r->role.depends = depends;
    r->role.n_depends = n;
}

/* --- circles --- */

/* The one role that has the name; CATALOG_NONE: none, several, or the one that asks, which others
 * may stand in for. */
static uint32_t depend_role(const struct load *l, const struct catalog_depend *d, uint32_t asks)
{
    if (d->name_id == CATALOG_NONE)
        return CATALOG_NONE;
    const struct catalog_name *name = &l->names.at[d->name_id];
    if ((name->role != CATALOG_NONE) + name->n_providers != 1)
        return CATALOG_NONE;
    uint32_t role = name->role == CATALOG_NONE ? name->providers[0] : name->role;
    return role == asks ? CATALOG_NONE : role;
}

static const struct catalog_depend *depend_edge(const struct load *l, uint32_t from, uint32_t to,
                                                int kind)
{
    const struct catalog_role *r = &l->roles.at[from].role;

    for (uint32_t i = 0; i < r->n_depends; i++)
        if (r->depends[i].kind == kind && depend_role(l, &r->depends[i], from) == to)
            return &r->depends[i];
    return NULL;
}

static void depend_circle_tell(struct load *l, int kind, const uint32_t *circle, uint32_t n)
{
    static const char *const goal[DEPEND_COUNT] = {
        [DEPEND_INSTALL] = "be installed", [DEPEND_RUN] = "run"};
    const struct catalog_depend *first = depend_edge(l, circle[0], circle[1 % n], kind);
    SCOPED_BUF(path);

    for (uint32_t i = 0; i <= n; i++)
        buf_printf(&path, "%s%s", i ? " -> " : "", l->roles.at[circle[i % n]].role.name.s);
    struct err *e = catalog_fault(l, CATALOG_ERROR, ERR_CYCLE, first->where,
                                  "services depend on each other to %s: %s", goal[kind], path.data);
    if (!e)
        return;
    (void)err_hint(e, "remove one of these");
    for (uint32_t i = 0; i < n && i < DEPEND_NOTES; i++) {
        const struct catalog_depend *d = depend_edge(l, circle[i], circle[(i + 1) % n], kind);
        catalog_fault(l, CATALOG_NOTE, ERR_CYCLE, d->where, "%s %s %s",
                      l->roles.at[circle[i]].role.name.s, d->required ? "requires" : "uses",
                      d->name.s);
    }
}

static void depend_sort(struct load *l, int kind)
{
    uint32_t n = (uint32_t)l->roles.n, n_edges = 0, n_circle = 0;
    uint32_t *first = arena_new(&l->scratch, uint32_t, n + 1);
    uint32_t *order = arena_new(&l->scratch, uint32_t, n);
    uint32_t *circle = arena_new(&l->scratch, uint32_t, n);

    for (uint32_t i = 0; i < n; i++)
        n_edges += l->roles.at[i].role.n_depends;
    if (!n_edges)
        return;
    uint32_t *deps = arena_new(&l->scratch, uint32_t, n_edges);
    n_edges = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct catalog_role *r = &l->roles.at[i].role;
        for (uint32_t k = 0; k < r->n_depends; k++) {
            uint32_t role = depend_role(l, &r->depends[k], i);
            if (r->depends[k].kind == kind && role != CATALOG_NONE)
                deps[n_edges++] = role;
        }
        first[i + 1] = n_edges;
    }
    if (graph_sort(n, first, deps, order, circle, &n_circle))
        return;
    uint32_t *turned = arena_new(&l->scratch, uint32_t, n_circle);
    catalog_circle_turn(circle, n_circle, turned);
    depend_circle_tell(l, kind, turned, n_circle);
}

void catalog_order_depends(struct load *l)
{
    for (int kind = 0; kind < DEPEND_COUNT; kind++)
        depend_sort(l, kind);
}
