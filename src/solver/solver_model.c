/* solver_model.c - what one node may be
 *
 * Owns the pools.  A service with all that must be with it is an option; what every node of a pool
 * must have is forced; hardware and image are a slot, with the services that both allow.  A kind of
 * node is a slot, a value of the label, and some options that fit each other there: no set apart
 * whole, no resource exceeded.  New nodes have at least one service.
 *
 * A slot is left out where no node is better off in it than in another one, by the keys or by name.
 * So images and most hardware never multiply the search.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "solver/solver_i.h"

/* --- together: classes of services --- */

static void classes_build(const struct model *m, struct solver_set *ret_class)
{
    const struct solver_problem *p = m->p;
    for (uint32_t s = 0; s < p->n_services; s++)
        solver_set_add(&ret_class[s], s);
    for (uint32_t i = 0; i < p->n_together; i++) {
        struct solver_set all = {{0}};
        if (rules_off(m->rules, SOLVER_RULE_TOGETHER, i))
            continue;
        SET_EACH(s, &p->together[i])
        set_join(&all, &ret_class[s]);
        SET_EACH(s, &all)
        ret_class[s] = all;
    }
}

/* --- slots --- */

static bool allows(const struct model *m, uint32_t service, uint32_t hardware, uint32_t image)
{
    const struct solver_service *s = &m->p->services[service];
    return (rules_off(m->rules, SOLVER_RULE_HARDWARE, service) ||
            solver_set_has(&s->hardware, hardware)) &&
           (rules_off(m->rules, SOLVER_RULE_IMAGE, service) || solver_set_has(&s->images, image));
}

static const int64_t *capacity_of(const struct model *m, uint32_t hardware)
{
    const int64_t *c = m->p->hardware[hardware].capacity;
    return c ? c : arena_new(m->mem, int64_t, m->p->n_resources + 1);
}

/* Which of two kinds of hardware the keys prefer: below 0 the first, 0 neither. */
static int keys_prefer(const struct solver_problem *p, uint32_t a, uint32_t b)
{
    const struct solver_hardware *x = &p->hardware[a], *y = &p->hardware[b];
    for (uint32_t i = 0; i < p->n_keys && a != b; i++) {
        const struct solver_key *k = &p->keys[i];
        int64_t m = 0, n = 0;
        if (k->by == SOLVER_COST)
            m = x->cost, n = y->cost;
        else if (k->by == SOLVER_RESOURCE)
            m = x->capacity ? x->capacity[k->resource] : 0,
            n = y->capacity ? y->capacity[k->resource] : 0;
        if (m != n)
            return (m < n) != k->more ? -1 : 1;
    }
    return 0;
}

bool model_same_keys(const struct solver_problem *p, uint32_t a, uint32_t b)
{
    return keys_prefer(p, a, b) == 0;
}

/* Whether a node is never better off in a slot than in another one: that allows all the same, has
 * no less room, and either the keys prefer it or it comes first by name. */
static bool slot_beaten(const struct model *m, const struct slot *by, const struct slot *slot)
{
    int prefer = keys_prefer(m->p, by->hardware, slot->hardware);
    if (prefer > 0 || (prefer == 0 && by > slot) || !set_inside(&slot->allowed, &by->allowed))
        return false;
    for (uint32_t r = 0; r < m->p->n_resources; r++)
        if (by->capacity[r] < slot->capacity[r])
            return false;
    return true;
}

/* Leaves out the slots that no best answer has.  Who beats another is never beaten by it, so that
 * it does not matter which go first. */
static void slots_thin(const struct model *m, struct pool *pool)
{
    uint32_t n = 0;
    bool *beaten = arena_new(m->mem, bool, pool->n_slots + 1);
    for (uint32_t i = 0; i < pool->n_slots; i++)
        for (uint32_t k = 0; k < pool->n_slots && !beaten[i]; k++)
            beaten[i] = k != i && !beaten[k] && slot_beaten(m, &pool->slots[k], &pool->slots[i]);
    for (uint32_t i = 0; i < pool->n_slots; i++)
        if (!beaten[i])
            pool->slots[n++] = pool->slots[i];
    pool->n_slots = n;
}

static void slots_build(const struct model *m, struct pool *pool, bool every)
{
    const struct solver_problem *p = m->p;
    if (!model_offers(p)) {
        if (!rules_off(m->rules, SOLVER_RULE_OFFER, 0))
            return;
        pool->slots = arena_new(m->mem, struct slot, 1);
        pool->slots[pool->n_slots++] = (struct slot){.allowed = solver_set_below(p->n_services)};
        return;
    }
    pool->slots = arena_new(m->mem, struct slot, (size_t)p->n_hardware * p->n_images);
    for (uint32_t h = 0; h < p->n_hardware; h++) {
        const int64_t *capacity = capacity_of(m, h);
        for (uint32_t i = 0; i < p->n_images; i++) {
            struct slot slot = {.hardware = h, .image = i, .capacity = capacity};
            if (solver_set_has(&p->old_hardware, h) || solver_set_has(&p->old_images, i))
                continue;
            for (uint32_t s = 0; s < p->n_services; s++)
                if (allows(m, s, h, i))
                    solver_set_add(&slot.allowed, s);
            pool->slots[pool->n_slots++] = slot;
        }
    }
    if (!every)
        slots_thin(m, pool);
}

/* --- pools --- */

static void demand_add(const struct model *m, const struct solver_set *services, int64_t *sum)
{
    SET_EACH(s, services)
    for (uint32_t r = 0; r < m->p->n_resources; r++)
        if (m->p->services[s].demand && !rules_off(m->rules, SOLVER_RULE_DEMAND, s))
            sum[r] += m->p->services[s].demand[r];
}

static void option_add(const struct model *m, struct pool *pool, const struct solver_set *set)
{
    struct option *o = &pool->options[pool->n_options++];
    int64_t *demand = arena_new(m->mem, int64_t, m->p->n_resources + 1);
    uint32_t *apart = arena_new(m->mem, uint32_t, m->n_apart + 1);
    o->set = *set;
    o->size = set_count(set);
    demand_add(m, set, demand);
    o->demand = demand;
    for (uint32_t i = 0; i < m->n_apart; i++)
        if (set_meets(&m->apart[i], set))
            apart[o->n_apart++] = i;
    o->apart = apart;
}

/* Which options never come together: those that make a set apart whole, just the two of them. */
static void rivals_find(const struct model *m, struct pool *pool)
{
    for (uint32_t i = 0; i < pool->n_options; i++) {
        struct option *o = &pool->options[i];
        o->pairs = true;
        for (uint32_t k = 0; k < o->n_apart; k++) {
            struct solver_set rest = m->apart[o->apart[k]];
            uint32_t other = 0;
            set_take(&rest, &o->set);
            set_take(&rest, &pool->forced);
            while (other < pool->n_options &&
                   (set_empty(&rest) || !set_inside(&rest, &pool->options[other].set)))
                other++;
            if (other < pool->n_options)
                solver_set_add(&o->rivals, other);
            else
                o->pairs = false;
        }
    }
}

int64_t model_cover(const struct pool *pool, const uint32_t *order, const int64_t *weight,
                    uint32_t n, const struct solver_set *among)
{
    enum { CLASSES = 24 };            /* those that can still be joined */
    struct solver_set joins[CLASSES]; /* of a class: rivals of all that are in it */
    int64_t most[CLASSES], sum = 0;
    uint32_t classes = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t o = order ? order[i] : i, c = 0;
        int64_t w = weight ? weight[i] : pool->options[o].size;
        if (w <= 0 || !solver_set_has(among, o))
            continue;
        while (c < classes && !solver_set_has(&joins[c], o))
            c++;
        if (c < classes) {
            set_cut(&joins[c], &pool->options[o].rivals);
            sum += w > most[c] ? w - most[c] : 0;
            most[c] = w > most[c] ? w : most[c];
            continue;
        }
        sum += w;
        if (classes < CLASSES && !set_empty(&pool->options[o].rivals)) {
            joins[classes] = pool->options[o].rivals;
            most[classes++] = w;
        }
    }
    return sum;
}

bool option_fits(const struct model *m, const struct option *o, const struct slot *slot,
                 const struct solver_set *with, const int64_t *used)
{
    struct solver_set both = *with;
    if (!set_inside(&o->set, &slot->allowed))
        return false;
    for (uint32_t r = 0; slot->capacity && r < m->p->n_resources; r++)
        if (used[r] + o->demand[r] > slot->capacity[r])
            return false;
    set_join(&both, &o->set);
    for (uint32_t i = 0; i < o->n_apart; i++)
        if (set_inside(&m->apart[o->apart[i]], &both))
            return false;
    return true;
}

/* Leaves the slots in which what is forced fits. */
static void slots_filter(const struct model *m, struct pool *pool)
{
    uint32_t n = 0;
    bool whole = false;
    for (uint32_t i = 0; i < m->n_apart; i++)
        whole |= set_inside(&m->apart[i], &pool->forced);
    for (uint32_t i = 0; i < pool->n_slots && !whole; i++) {
        const struct slot *slot = &pool->slots[i];
        bool fits = set_inside(&pool->forced, &slot->allowed);
        for (uint32_t r = 0; slot->capacity && r < m->p->n_resources; r++)
            fits &= pool->forced_demand[r] <= slot->capacity[r];
        if (fits)
            pool->slots[n++] = *slot;
    }
    pool->n_slots = n;
    for (uint32_t i = 0; i < n; i++)
        while (!model_same_keys(m->p, pool->slots[pool->slots[i].like].hardware,
                                pool->slots[i].hardware))
            pool->slots[i].like++;
}

/* forced: what is fixed; free: what may come.  From them, with their classes, what every kind has
 * and what it may have. */
static void pool_fill(const struct model *m, struct pool *pool, const struct solver_set *classes,
                      struct solver_set fixed, const struct solver_set *movable)
{
    const struct solver_problem *p = m->p;
    struct solver_set want = fixed, seen = {{0}}, reach = fixed;
    int64_t *demand = arena_new(m->mem, int64_t, p->n_resources + 1);
    set_join(&reach, movable);
    for (uint32_t s = 0; s < p->n_services; s++)
        if (p->services[s].everywhere && !rules_off(m->rules, SOLVER_RULE_EVERYWHERE, s))
            solver_set_add(&want, s);
    SET_EACH(s, &want)
    set_join(&pool->forced, &classes[s]);
    if (!set_inside(&pool->forced, &reach))
        pool->n_slots = 0;
    demand_add(m, &pool->forced, demand);
    pool->forced_demand = demand;
    pool->options = arena_new(m->mem, struct option, p->n_services + 1);
    slots_filter(m, pool);
    for (uint32_t s = 0; s < p->n_services; s++) {
        if (solver_set_has(&pool->forced, s) || solver_set_has(&seen, s))
            continue;
        set_join(&seen, &classes[s]);
        if (set_inside(&classes[s], movable))
            option_add(m, pool, &classes[s]);
    }
    rivals_find(m, pool);
}

static void pool_existing(const struct model *m, struct pool *pool, uint32_t entry)
{
    const struct solver_existing *x = &m->p->existing[entry];
    *pool = (struct pool){.keep = x->keep, .turn = entry, .value = x->value, .values = 1};
    if (rules_off(m->rules, SOLVER_RULE_EXISTING, 0))
        pool->keep = false;
    pool->slots = arena_new(m->mem, struct slot, 1);
    pool->n_slots = 1;
    pool->slots[0] = (struct slot){
        .hardware = x->hardware, .image = x->image, .capacity = capacity_of(m, x->hardware)};
    for (uint32_t s = 0; s < m->p->n_services; s++)
        if (allows(m, s, x->hardware, x->image))
            solver_set_add(&pool->slots[0].allowed, s);
}

static void groups_build(struct model *m, const struct solver_set *classes)
{
    const struct solver_problem *p = m->p;
    struct solver_set movable = p->involved;
    if (rules_off(m->rules, SOLVER_RULE_EXISTING, 0))
        movable = solver_set_below(p->n_services);
    m->group_of = arena_new(m->mem, uint32_t, p->n_existing + 1);
    for (uint32_t i = 0; i < p->n_existing; i++) {
        uint32_t g = 0;
        while (g < m->n_pools && !existing_alike(&p->existing[m->pools[g].turn], &p->existing[i]))
            g++;
        m->group_of[i] = g;
        if (g == m->n_pools) {
            struct solver_set fixed = p->existing[i].services;
            set_take(&fixed, &movable);
            pool_existing(m, &m->pools[m->n_pools++], i);
            pool_fill(m, &m->pools[g], classes, fixed, &movable);
        }
        m->pools[g].cap += p->existing[i].count;
    }
}

static void apart_build(struct model *m)
{
    struct solver_set *apart = arena_new(m->mem, struct solver_set, m->p->n_apart + 1);
    for (uint32_t i = 0; i < m->p->n_apart; i++)
        if (!rules_off(m->rules, SOLVER_RULE_APART, i))
            apart[m->n_apart++] = m->p->apart[i];
    m->apart = apart;
}

static bool spreads_any(const struct model *m)
{
    for (uint32_t i = 0; i < m->p->n_spreads; i++)
        if (!rules_off(m->rules, SOLVER_RULE_SPREAD, i))
            return true;
    return false;
}

void model_build(struct model *m, const struct solver_problem *p, const struct rules *rules,
                 struct arena *mem, bool every)
{
    struct solver_set *classes = arena_new(mem, struct solver_set, p->n_services + 1);
    struct solver_set all = solver_set_below(p->n_services), none = {{0}};
    *m = (struct model){.p = p, .rules = rules, .mem = mem};
    bool counted = !rules_off(rules, SOLVER_RULE_NODES, 0) &&
                   !rules_elastic(rules, SOLVER_RULE_NODES, 0);
    m->nodes_max = counted ? p->nodes_max : model_nodes_loose(p);
    for (uint32_t i = 0; i < p->n_keys; i++)
        m->by_hardware |= p->keys[i].by == SOLVER_COST || p->keys[i].by == SOLVER_RESOURCE;
    apart_build(m);
    classes_build(m, classes);
    m->pools = arena_new(mem, struct pool,
                         p->n_existing < SOLVER_MAX_GROUPS ? p->n_existing + 1
                                                           : SOLVER_MAX_GROUPS + 1);
    groups_build(m, classes);
    struct pool *fresh = &m->pools[m->n_pools++];
    *fresh = (struct pool){.fresh = true, .keep = true, .cap = m->nodes_max, .turn = SOLVER_NONE};
    fresh->value = p->n_values ? 0 : SOLVER_NONE;
    fresh->values = spreads_any(m) || (every && p->n_values) ? p->n_values : 1;
    slots_build(m, fresh, every);
    pool_fill(m, fresh, classes, none, &all);
}

uint32_t model_slot_first(const struct model *m, const struct pool *pool, uint32_t slot,
                          const struct solver_set *services)
{
    for (uint32_t i = pool->slots[slot].like; i < slot; i++) {
        const struct slot *s = &pool->slots[i];
        if (s->like != pool->slots[slot].like || !set_inside(services, &s->allowed))
            continue;
        bool fits = true;
        for (uint32_t r = 0; s->capacity && r < m->p->n_resources; r++) {
            int64_t used = pool->forced_demand[r];
            for (uint32_t k = 0; k < pool->n_options; k++)
                if (set_inside(&pool->options[k].set, services))
                    used += pool->options[k].demand[r];
            fits &= used <= s->capacity[r];
        }
        if (fits)
            return i;
    }
    return slot;
}
