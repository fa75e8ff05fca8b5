/* layout_rule.c - the rules of template and roles as a problem of the solver
 *
 * Rules about services that the cluster does not have fall away: sets together are cut down to
 * those that it has, a set apart that lacks one can never be whole.  Whatever was asked for is on a
 * node, whatever its minimum; and what has no rule at all is on every one.
 *
 * To add a rule: its place in the template (catalog/kinds.h), here what it means to the solver, and
 * in layout_why.c how it is told.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "planner/layout_i.h"

static uint32_t service_of(const struct layouting *x, struct str name)
{
    return layout_names_find(x->services, name);
}

/* --- sets --- */

/* Of a list of names those that the cluster has; how many. */
static uint32_t set_of(const struct layouting *x, struct catalog_names names,
                       struct solver_set *ret)
{
    uint32_t n = 0;
    *ret = (struct solver_set){{0}};
    for (uint32_t i = 0; i < names.n; i++) {
        uint32_t s = service_of(x, names.at[i]);
        if (s == CATALOG_NONE || solver_set_has(ret, s))
            continue;
        solver_set_add(ret, s);
        n++;
    }
    return n;
}

static void together_make(struct layouting *x)
{
    uint32_t n = x->t->n_together;
    struct solver_set *sets = arena_new(x->mem, struct solver_set, n + 1);
    x->together = arena_new(x->mem, struct layout_set, n + 1);
    for (uint32_t i = 0; i < n; i++)
        if (set_of(x, x->t->together[i], &sets[x->p.n_together]) > 1)
            x->together[x->p.n_together++] = (struct layout_set){i, CATALOG_NONE};
    x->p.together = sets;
}

struct pairs { /* apart, in the making */
    VEC(struct solver_set) sets;
    VEC(struct layout_set) from;
};

static void conflict_add(struct pairs *all, uint32_t a, uint32_t b)
{
    struct solver_set pair = {{0}};
    solver_set_add(&pair, a);
    solver_set_add(&pair, b);
    for (size_t i = 0; i < all->sets.n; i++)
        if (!memcmp(&all->sets.at[i], &pair, sizeof pair))
            return; /* they conflict with each other, or the template says so too */
    vec_push(&all->sets, pair);
    vec_push(&all->from, ((struct layout_set){CATALOG_NONE, a}));
}

static bool is_called(const struct catalog_role *r, uint32_t name)
{
    bool is = r->name_id == name;
    for (uint32_t i = 0; i < r->n_provides && !is; i++)
        is = r->provides[i] == name;
    return is;
}

static void conflicts_add(const struct layouting *x, struct pairs *all)
{
    for (uint32_t s = 0; s < x->services.n; s++)
        for (uint32_t i = 0; i < x->roles[s]->n_conflicts; i++)
            for (uint32_t o = 0; o < x->services.n; o++)
                if (o != s && is_called(x->roles[o], x->roles[s]->conflicts[i]))
                    conflict_add(all, s, o);
}

static void apart_make(struct layouting *x)
{
    struct pairs all = {0};
    struct solver_set set;
    for (uint32_t i = 0; i < x->t->n_apart; i++)
        if (x->t->apart[i].n && set_of(x, x->t->apart[i], &set) == x->t->apart[i].n) {
            vec_push(&all.sets, set);
            vec_push(&all.from, ((struct layout_set){i, CATALOG_NONE}));
        }
    conflicts_add(x, &all);
    struct solver_set *sets = arena_new(x->mem, struct solver_set, all.sets.n + 1);
    x->apart = arena_new(x->mem, struct layout_set, all.sets.n + 1);
    for (size_t i = 0; i < all.sets.n; i++) {
        sets[i] = all.sets.at[i];
        x->apart[i] = all.from.at[i];
    }
    x->p.apart = sets;
    x->p.n_apart = (uint32_t)all.sets.n;
    vec_done(&all.sets);
    vec_done(&all.from);
}

/* --- ratios and spreads --- */

/* In lowest terms: they are told, and what is reckoned with stays small. */
static void ratio_push(struct layouting *x, struct solver_ratio *all, struct solver_ratio r)
{
    uint32_t a = r.num, b = r.den;
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    r.num /= a;
    r.den /= a;
    all[x->p.n_ratios++] = r;
}

static void ratio_add(struct layouting *x, struct solver_ratio *all, const struct template_rule *r,
                      uint32_t service)
{
    bool of_nodes = str_is(r->ratio_of, "nodes");
    uint32_t of = of_nodes ? SOLVER_NONE : service_of(x, r->ratio_of);
    if (!r->ratio_of.n || (!of_nodes && of == CATALOG_NONE))
        return;
    const struct template_fraction least = r->ratio_min, most = r->ratio_max;
    if (least.den)
        ratio_push(x, all, (struct solver_ratio){service, of, least.num, least.den, false});
    if (most.den)
        ratio_push(x, all, (struct solver_ratio){service, of, most.num, most.den, true});
}

static void ratios_make(struct layouting *x)
{
    struct solver_ratio *all = arena_new(x->mem, struct solver_ratio, 2 * x->services.n);
    for (uint32_t i = 0; i < x->services.n; i++) {
        const struct template_rule *r = template_rule_get(x->t, x->services.at[i]);
        if (r)
            ratio_add(x, all, r, i);
    }
    x->p.ratios = all;
}

static int label_find(struct layouting *x, const struct template_spread *s)
{
    const struct catalog_provider *p = x->provider;
    if (x->label.n && !str_eq(x->label, s->over))
        return err_set(x->e, ERR_REFUSED,
                       "template \"%s\" spreads services over \"%s\" and over \"%s\": one label at "
                       "a time",
                       x->t->kind.name.s, x->label.s, s->over.s);
    for (uint32_t i = 0; i < p->n_labels && !x->label.n; i++)
        if (str_eq(p->labels[i].name, s->over)) {
            x->label = s->over;
            x->values = p->labels[i].values;
        }
    if (!x->label.n || !x->values.n) {
        err_set(x->e, ERR_REFUSED,
                "template \"%s\" spreads \"%s\" over \"%s\", for which provider \"%s\" has no "
                "values",
                x->t->kind.name.s, s->service.s, s->over.s, p->kind.name.s);
        (void)err_hint(x->e, "a provider has `labels: {%s: [...]}`", s->over.s);
        return -ERR_REFUSED;
    }
    if (x->values.n > SOLVER_MAX_VALUES)
        return err_set(x->e, ERR_TOO_LARGE, "%u values of label \"%s\"; at most %d", x->values.n,
                       x->label.s, SOLVER_MAX_VALUES);
    return 0;
}

static int spreads_make(struct layouting *x)
{
    struct solver_spread *all = arena_new(x->mem, struct solver_spread, x->t->n_spreads + 1);
    for (uint32_t i = 0; i < x->t->n_spreads; i++) {
        const struct template_spread *s = &x->t->spreads[i];
        uint32_t service = service_of(x, s->service);
        if (service == CATALOG_NONE)
            continue;
        int rc = label_find(x, s);
        if (rc < 0)
            return rc;
        all[x->p.n_spreads++] = (struct solver_spread){service, s->skew};
    }
    x->p.spreads = all;
    x->p.n_values = x->values.n;
    return 0;
}

/* --- resources --- */

static int resource_of(struct layouting *x, struct str name, uint32_t *ret)
{
    uint32_t i = 0;
    while (i < x->p.n_resources && !str_eq(x->resources[i], name))
        i++;
    if (i == SOLVER_MAX_RESOURCES)
        return err_set(x->e, ERR_TOO_LARGE,
                       "services and comparator name more than %d resources, \"%.*s\" among them",
                       SOLVER_MAX_RESOURCES, (int)name.n, name.s);
    if (i == x->p.n_resources)
        x->resources[x->p.n_resources++] = name;
    *ret = i;
    return 0;
}

/* All that services demand and keys go by, so that every array of amounts has its length. */
static int resources_make(struct layouting *x)
{
    const struct catalog_comparator *c = x->comparator;
    struct solver_key *keys = arena_new(x->mem, struct solver_key, c->n_keys + 1);
    uint32_t unused;
    int rc = 0;
    for (uint32_t s = 0; s < x->services.n; s++)
        for (uint32_t i = 0; i < x->roles[s]->n_demands && rc >= 0; i++)
            rc = resource_of(x, x->roles[s]->demands[i].name, &unused);
    for (uint32_t i = 0; i < c->n_keys && rc >= 0; i++) {
        struct str name = c->keys[i].name;
        keys[i] = (struct solver_key){.by = str_is(name, "cost")       ? SOLVER_COST
                                            : str_is(name, "nodes")    ? SOLVER_NODES
                                            : str_is(name, "services") ? SOLVER_SERVICES
                                                                       : SOLVER_RESOURCE,
                                      .more = c->keys[i].more};
        if (keys[i].by == SOLVER_RESOURCE)
            rc = resource_of(x, name, &keys[i].resource);
    }
    x->p.keys = keys;
    x->p.n_keys = c->n_keys;
    return rc;
}

static const int64_t *amounts_of(struct layouting *x, const struct catalog_amount *at, uint32_t n)
{
    int64_t *ret = arena_new(x->mem, int64_t, x->p.n_resources + 1);
    for (uint32_t i = 0; i < x->p.n_resources; i++)
        ret[i] = catalog_amount_get(at, n, x->resources[i]);
    return ret;
}

/* --- hardware and images --- */

/* What the provider no longer has is as large as what is on it needs. */
static const int64_t *capacity_known(struct layouting *x, struct str hardware)
{
    int64_t *most = arena_new(x->mem, int64_t, x->p.n_resources + 1);
    for (uint32_t i = 0; i < x->req->n_existing; i++) {
        const struct layout_node *node = &x->req->existing[i];
        for (uint32_t r = 0; r < x->p.n_resources && str_eq(node->hardware, hardware); r++) {
            int64_t sum = 0;
            for (uint32_t k = 0; k < node->services.n; k++) {
                uint32_t s = service_of(x, node->services.at[k]);
                if (s != CATALOG_NONE)
                    sum += catalog_amount_get(x->roles[s]->demands, x->roles[s]->n_demands,
                                              x->resources[r]);
            }
            most[r] = sum > most[r] ? sum : most[r];
        }
    }
    return most;
}

static void costs_warn(struct layouting *x)
{
    SCOPED_BUF(names);
    bool by_cost = false;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->p.n_keys; i++)
        by_cost |= x->p.keys[i].by == SOLVER_COST;
    for (uint32_t i = 0; by_cost && i < x->hardware.n; i++) {
        const struct layout_offer *o = &x->hardware.at[i];
        if (o->offer && !o->offer->has_cost && names.len < 200)
            buf_printf(&names, "%s%.*s", n++ ? ", " : "", (int)o->name.n, o->name.s);
    }
    if (n)
        layout_warn(x, "provider \"%s\" says no cost of hardware %s: taken as 0",
                    x->provider->kind.name.s, names.data);
}

static void offers_make(struct layouting *x)
{
    struct solver_hardware *all = arena_new(x->mem, struct solver_hardware, x->hardware.n + 1);
    x->p.n_hardware = x->hardware.n;
    x->p.n_images = x->images.n;
    for (uint32_t i = 0; i < x->hardware.n; i++) {
        const struct layout_offer *o = &x->hardware.at[i];
        all[i].cost = o->offer && o->offer->has_cost ? o->offer->cost : 0;
        all[i].capacity = o->offer ? amounts_of(x, o->offer->capacities, o->offer->n_capacities)
                                   : capacity_known(x, o->name);
        if (o->old)
            solver_set_add(&x->p.old_hardware, i);
    }
    for (uint32_t i = 0; i < x->images.n; i++)
        if (x->images.at[i].old)
            solver_set_add(&x->p.old_images, i);
    x->p.hardware = all;
    costs_warn(x);
}

/* --- services --- */

static bool is_in_sets(struct str name, const struct catalog_names *sets, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (layout_names_have(sets[i], name))
            return true;
    return false;
}

/* Has it any rule but one of its own?  Sets count as they are written, with what the cluster does
 * not have. */
static bool is_bound(const struct layouting *x, uint32_t service)
{
    struct str name = x->services.at[service];
    bool bound = is_in_sets(name, x->t->together, x->t->n_together) ||
                 is_in_sets(name, x->t->apart, x->t->n_apart) || x->roles[service]->n_demands;
    for (uint32_t i = 0; i < x->p.n_apart && !bound; i++)
        bound = solver_set_has(&x->p.apart[i], service);
    for (uint32_t i = 0; i < x->p.n_spreads && !bound; i++)
        bound = x->p.spreads[i].service == service;
    return bound;
}

static struct solver_set offers_allowed(const struct layout_offers *all, struct catalog_names only)
{
    struct solver_set set = solver_set_below(all->n);
    for (uint32_t i = 0; only.n && i < all->n; i++)
        if (!layout_names_have(only, all->at[i].name))
            solver_set_drop(&set, i);
    return set;
}

static void services_make(struct layouting *x)
{
    struct solver_service *all = arena_new(x->mem, struct solver_service, x->services.n);
    const struct template_rule none = {.max = CATALOG_NONE};
    for (uint32_t i = 0; i < x->services.n; i++) {
        const struct template_rule *own = template_rule_get(x->t, x->services.at[i]);
        const struct template_rule *r = own ? own : &none;
        const struct catalog_role *role = x->roles[i];
        bool everywhere = own ? r->everywhere : !is_bound(x, i);
        /* Twice bound to be there: to leave it out is the last that is proposed. */
        uint32_t least = everywhere || r->min ? r->min : 1;
        all[i] = (struct solver_service){.min = least,
                                         .max = r->max,
                                         .step = r->step,
                                         .everywhere = everywhere,
                                         .required = !everywhere,
                                         .hardware = offers_allowed(&x->hardware, r->hardware),
                                         .images = offers_allowed(&x->images, r->images)};
        if (role->n_demands)
            all[i].demand = amounts_of(x, role->demands, role->n_demands);
    }
    x->p.services = all;
    x->p.n_services = x->services.n;
}

/* --- what exists --- */

static uint32_t value_of(const struct layouting *x, const struct layout_node *node)
{
    for (uint32_t i = 0; x->label.n && i < node->n_labels; i++)
        for (uint32_t k = 0; str_eq(node->labels[i].name, x->label) && k < x->values.n; k++)
            if (str_eq(x->values.at[k], node->labels[i].value))
                return k;
    return SOLVER_NONE;
}

static void existing_make(struct layouting *x)
{
    uint32_t n = x->req->n_existing;
    struct solver_existing *all = arena_new(x->mem, struct solver_existing, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        const struct layout_node *node = &x->req->existing[i];
        all[i] = (struct solver_existing){
            .hardware = layout_offers_find(&x->hardware, node->hardware),
            .image = layout_offers_find(&x->images, node->image),
            .value = value_of(x, node),
            .count = node->count,
            .keep = node->keep};
        (void)set_of(x, node->services, &all[i].services);
    }
    x->p.existing = all;
    x->p.n_existing = n;
    x->p.give_up = x->req->give_up;
    (void)set_of(x, x->req->involved, &x->p.involved);
}

/* --- how many --- */

static int size_make(struct layouting *x)
{
    uint32_t lo = x->req->nodes_min, hi = x->req->nodes_max;
    const struct catalog_template *t = x->t;
    if (lo > hi || hi == 0)
        return err_set(x->e, ERR_INVALID, lo > hi ? "%u to %u nodes" : "a cluster of %u nodes", lo,
                       hi);
    if (hi < t->min_nodes || lo > t->max_nodes) {
        char most[32] = "any number of";
        if (t->max_nodes != CATALOG_NONE)
            (void)snprintf(most, sizeof most, "%u", t->max_nodes);
        err_set(x->e, ERR_REFUSED, "template \"%s\" is for %u to %s nodes, not for %u",
                t->kind.name.s, t->min_nodes, most, hi < t->min_nodes ? hi : lo);
        (void)err_hint(x->e, "its size is said under \"constraints\"");
        return -ERR_REFUSED;
    }
    x->p.nodes_min = lo > t->min_nodes ? lo : t->min_nodes;
    x->p.nodes_max = hi < t->max_nodes ? hi : t->max_nodes;
    return 0;
}

int layout_problem_make(struct layouting *x)
{
    int rc = size_make(x);
    together_make(x);
    apart_make(x);
    ratios_make(x);
    if (rc < 0 || (rc = spreads_make(x)) < 0 || (rc = resources_make(x)) < 0)
        return rc;
    offers_make(x);
    services_make(x);
    existing_make(x);
    return 0;
}
