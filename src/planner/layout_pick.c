/* layout_pick.c - what a layout was asked for, found in the catalog, or refused
 *
 * What a request names must be compatible with the template; what the template itself names by
 * default, or nodes have already, need not be: whoever wrote it, or made them, meant it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/sort.h"
#include "base/text.h"
#include "planner/layout_i.h"

uint32_t layout_names_find(struct catalog_names names, struct str name)
{
    size_t i = sort_first(names.at, names.n, it, str_cmp(*it, name) >= 0);
    return i < names.n && str_eq(names.at[i], name) ? (uint32_t)i : CATALOG_NONE;
}

bool layout_names_have(struct catalog_names names, struct str name)
{
    for (uint32_t i = 0; i < names.n; i++)
        if (str_eq(names.at[i], name))
            return true;
    return false;
}

int layout_unknown(struct layouting *x, const char *what, struct str name,
                   const struct strmap *known)
{
    SCOPED_ARENA(mem);
    const char **names = arena_new(&mem, const char *, known->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < known->n; i++)
        if (known->at[i].key)
            names[n++] = known->at[i].key;
    const char *best = text_nearest(name, names, n);
    err_set(x->e, ERR_UNKNOWN_NAME, "there is no %s \"%.*s\"", what, (int)name.n, name.s);
    if (best)
        (void)err_hint(x->e, "did you mean \"%s\"?", best);
    return -ERR_UNKNOWN_NAME;
}

static int at_fault(struct layouting *x, const char *what, struct str name, const char *fault,
                    struct catalog_where where)
{
    err_set(x->e, ERR_REFUSED, "%s \"%.*s\" cannot be used: %s", what, (int)name.n, name.s, fault);
    if (where.file != CATALOG_NONE)
        (void)err_at(x->e, "%s:%u:%u", x->c->files[where.file].s, where.line, where.column);
    return -ERR_REFUSED;
}

int layout_sound(struct layouting *x, const char *what, const struct catalog_kind *kind)
{
    return kind->fault ? at_fault(x, what, kind->name, kind->fault, kind->fault_where) : 0;
}

/* --- services --- */

static int no_service(struct layouting *x, struct str name)
{
    struct strmap known = {0};
    for (uint32_t i = 0; i < x->c->n_roles; i++)
        if (x->c->roles[i].phased)
            strmap_put(&known, x->c->roles[i].name, 0);
    (void)layout_unknown(x, "service", name, &known);
    strmap_done(&known);
    uint32_t provided = catalog_name_find(x->c, name);
    if (provided != CATALOG_NONE && x->c->names[provided].n_providers)
        (void)err_hint(x->e, "\"%s\" provides it",
                       x->c->roles[x->c->names[provided].providers[0]].name.s);
    return -ERR_UNKNOWN_NAME;
}

static int service_find(struct layouting *x, struct str name, const struct catalog_role **ret)
{
    const struct catalog_role *r = catalog_role_get(x->c, name);
    if (!r)
        return no_service(x, name);
    if (r->fault)
        return at_fault(x, "service", name, r->fault, r->fault_where);
    if (!r->phased) {
        err_set(x->e, ERR_REFUSED, "role \"%s\" is no service: it has no phases", r->name.s);
        (void)err_hint(x->e, "`anneal bind` puts roles on nodes that are there");
        return -ERR_REFUSED;
    }
    *ret = r;
    return 0;
}

/* "a, b, c, ..." for a hint. */
static void list_write(struct buf *b, struct catalog_names names)
{
    for (uint32_t i = 0; i < names.n && b->len < 200; i++)
        buf_printf(b, "%s%.*s", i ? ", " : "", (int)names.at[i].n, names.at[i].s);
    buf_puts(b, b->len >= 200 ? ", ..." : "");
}

static int services_compatible(struct layouting *x, struct catalog_names asked)
{
    const struct catalog_template *t = x->t;
    for (uint32_t i = 0; t->may_services.n && i < asked.n; i++) {
        struct str name = asked.at[i];
        const struct catalog_role *r;
        if (layout_names_have(t->may_services, name) || layout_names_have(t->services, name))
            continue;
        SCOPED_BUF(may);
        int rc = service_find(x, name, &r);
        if (rc < 0)
            return rc;
        list_write(&may, t->may_services);
        err_set(x->e, ERR_REFUSED, "service \"%.*s\" is not compatible with template \"%s\"",
                (int)name.n, name.s, t->kind.name.s);
        (void)err_hint(x->e, "it allows %s", may.data);
        return -ERR_REFUSED;
    }
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Each once, by name. */
static struct catalog_names names_sorted(struct str *at, uint32_t n)
{
    uint32_t to = 0;
    if (n)
        qsort(at, n, sizeof *at, by_name);
    for (uint32_t i = 0; i < n; i++)
        if (!to || !str_eq(at[to - 1], at[i]))
            at[to++] = at[i];
    return (struct catalog_names){at, to};
}

static struct catalog_names services_wanted(struct layouting *x)
{
    const struct layout_request *q = x->req;
    struct catalog_names plain = q->services.n || q->n_existing ? q->services : x->t->services;
    size_t room = plain.n;
    uint32_t n = 0;
    bool all = !q->services.n && q->n_existing;
    if (all)
        room += q->involved.n;
    for (uint32_t i = 0; all && i < q->n_existing; i++)
        room += q->existing[i].services.n;
    struct str *at = arena_new(x->mem, struct str, room);
    for (uint32_t i = 0; i < plain.n; i++)
        at[n++] = plain.at[i];
    for (uint32_t i = 0; all && i < q->involved.n; i++)
        at[n++] = q->involved.at[i];
    for (uint32_t i = 0; all && i < q->n_existing; i++)
        for (uint32_t k = 0; k < q->existing[i].services.n; k++)
            at[n++] = q->existing[i].services.at[k];
    return names_sorted(at, n);
}

int layout_pick_services(struct layouting *x)
{
    int rc = services_compatible(x, x->req->services);
    if (rc < 0 || (rc = services_compatible(x, x->req->involved)) < 0)
        return rc;
    x->services = services_wanted(x);
    if (!x->services.n)
        return err_set(x->e, ERR_INVALID, "a cluster needs at least one service");
    if (x->services.n > SOLVER_MAX_SERVICES)
        return err_set(x->e, ERR_TOO_LARGE, "%u services; at most %d", x->services.n,
                       SOLVER_MAX_SERVICES);
    x->roles = arena_new(x->mem, const struct catalog_role *, x->services.n);
    struct str *names = arena_new(x->mem, struct str, x->services.n);
    for (uint32_t i = 0; i < x->services.n; i++) {
        if ((rc = service_find(x, x->services.at[i], &x->roles[i])) < 0)
            return rc;
        names[i] = x->roles[i]->name; /* which ends with a NUL */
    }
    x->services.at = names;
    return 0;
}

static int requires_lacking(struct layouting *x, const struct catalog_role *r,
                            const struct catalog_depend *d)
{
    const struct catalog_name none = {.role = CATALOG_NONE};
    const struct catalog_name *name = d->name_id == CATALOG_NONE ? &none : &x->c->names[d->name_id];
    SCOPED_BUF(who);
    if (name->role != CATALOG_NONE)
        buf_puts(&who, x->c->roles[name->role].name.s);
    for (uint32_t i = 0; i < name->n_providers && who.len < 200; i++)
        buf_printf(&who, "%s%s", who.len ? " or " : "", x->c->roles[name->providers[i]].name.s);
    err_set(x->e, ERR_REFUSED,
            "service \"%s\" requires \"%s\" %s, which no service of this cluster is or provides",
            r->name.s, d->name.s, d->kind == DEPEND_INSTALL ? "to be installed" : "to run");
    if (who.len)
        (void)err_hint(x->e, "add %s, or leave %s out", who.data, r->name.s);
    return -ERR_REFUSED;
}

int layout_pick_requires(struct layouting *x)
{
    SCOPED_ARENA(mem);
    bool *there = arena_new(&mem, bool, x->c->n_names);
    for (uint32_t i = 0; i < x->services.n; i++) {
        const struct catalog_role *r = x->roles[i];
        there[r->name_id] = true;
        for (uint32_t k = 0; k < r->n_provides; k++)
            there[r->provides[k]] = true;
    }
    for (uint32_t i = 0; i < x->services.n; i++)
        for (uint32_t k = 0; k < x->roles[i]->n_depends; k++) {
            const struct catalog_depend *d = &x->roles[i]->depends[k];
            if (d->required && (d->name_id == CATALOG_NONE || !there[d->name_id]))
                return requires_lacking(x, x->roles[i], d);
        }
    return 0;
}

/* --- provider and comparator --- */

int layout_pick_provider(struct layouting *x)
{
    struct str name = x->req->provider.n ? x->req->provider : x->t->provider;
    x->provider = catalog_provider_get(x->c, name);
    if (!x->provider)
        return layout_unknown(x, "provider", name, &x->c->by_provider);
    return layout_sound(x, "provider", &x->provider->kind);
}

int layout_pick_comparator(struct layouting *x)
{
    struct str name = x->req->comparator.n ? x->req->comparator
                      : x->t->comparator.n ? x->t->comparator
                                           : str_of("cost");
    x->comparator = catalog_comparator_get(x->c, name);
    if (!x->comparator)
        return layout_unknown(x, "comparator", name, &x->c->by_comparator);
    return layout_sound(x, "comparator", &x->comparator->kind);
}
