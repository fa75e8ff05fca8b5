/* solver_cursor.c - the kinds of a pool in the original order
 *
 * More services first, then hardware and image by name, then services by name, then the value of
 * the label.  For each size and slot the options are walked depth first, with the lowest first and
 * in it before out of it, which is the order of names; what cannot come to the size any more, by
 * number or by what resources allow, is cut off.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "solver/solver_i.h"

struct cursor {
    const struct model *m;
    const struct pool *pool;
    uint32_t size, slot, value; /* value: offset from the pool's first */
    uint32_t depth;
    bool open; /* within the walk of a slot */
    bool over;
    uint8_t *tried;            /* of each option: ways decided so far */
    uint32_t *count;           /* services, at each depth */
    struct solver_set *set;    /* at each depth */
    struct solver_set *alive;  /* options that no rival keeps away, at each depth */
    int64_t *used;             /* n_resources at each depth */
    uint32_t **cheap;          /* of each resource: options by demand for each service */
    uint32_t *left;            /* services in usable options from there on */
    struct solver_set offered; /* usable options */
    bool rivals;               /* there are some that are never together */
};

static bool cheaper(const struct option *a, const struct option *b, uint32_t resource)
{
    return (wide)a->demand[resource] * b->size < (wide)b->demand[resource] * a->size;
}

struct cursor *cursor_new(struct arena *mem, const struct model *m, uint32_t pool)
{
    struct cursor *c = arena_new(mem, struct cursor, 1);
    const struct pool *at = &m->pools[pool];
    uint32_t n = at->n_options, resources = m->p->n_resources;
    c->m = m;
    c->pool = at;
    for (uint32_t i = 0; i < n; i++)
        c->rivals |= !set_empty(&at->options[i].rivals);
    c->size = m->p->n_services;
    c->over = at->n_slots == 0;
    c->tried = arena_new(mem, uint8_t, n + 1);
    c->count = arena_new(mem, uint32_t, n + 1);
    c->left = arena_new(mem, uint32_t, n + 1);
    c->set = arena_new(mem, struct solver_set, n + 1);
    c->alive = arena_new(mem, struct solver_set, n + 1);
    c->used = arena_new(mem, int64_t, (size_t)(n + 1) * (resources + 1));
    c->cheap = arena_new(mem, uint32_t *, resources + 1);
    for (uint32_t r = 0; r < resources; r++) {
        uint32_t *order = c->cheap[r] = arena_new(mem, uint32_t, n + 1);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t k = i;
            for (; k > 0 && cheaper(&at->options[i], &at->options[order[k - 1]], r); k--)
                order[k] = order[k - 1];
            order[k] = i;
        }
    }
    return c;
}

/* Whether so many services more can come from options at this depth or behind it. */
static bool reachable(const struct cursor *c, const struct solver_set *usable, uint32_t more)
{
    const struct slot *slot = &c->pool->slots[c->slot];
    uint32_t resources = c->m->p->n_resources;
    if (c->left[c->depth] < more)
        return false;
    if (c->rivals) {
        struct solver_set among = c->offered;
        set_cut(&among, &c->alive[c->depth]);
        if (model_cover(c->pool, NULL, NULL, c->pool->n_options, &among) < (int64_t)more)
            return false;
    }
    for (uint32_t r = 0; slot->capacity && r < resources; r++) {
        int64_t room = slot->capacity[r] - c->used[(size_t)c->depth * resources + r];
        uint32_t got = 0;
        for (uint32_t i = 0; i < c->pool->n_options && got < more; i++) {
            const struct option *o = &c->pool->options[c->cheap[r][i]];
            if (c->cheap[r][i] < c->depth || !set_inside(&o->set, usable))
                continue;
            if (o->demand[r] > room) { /* a part of it, which no better order could exceed */
                got += (uint32_t)((wide)o->size * room / o->demand[r]);
                break;
            }
            got += o->size;
            room -= o->demand[r];
        }
        if (got < more)
            return false;
    }
    return true;
}

static void slot_enter(struct cursor *c)
{
    c->open = true;
    c->depth = 0;
    c->tried[0] = 0;
    c->set[0] = c->pool->forced;
    c->alive[0] = solver_set_below(c->pool->n_options);
    c->count[0] = set_count(&c->pool->forced);
    memcpy(c->used, c->pool->forced_demand, c->m->p->n_resources * sizeof *c->used);
}

/* Decides the option at this depth in its next way; false: there is none left. */
static bool decide(struct cursor *c, const struct solver_set *usable)
{
    uint32_t k = c->depth, resources = c->m->p->n_resources;
    const struct option *o = &c->pool->options[k];
    const struct slot *slot = &c->pool->slots[c->slot];
    if (k == c->pool->n_options || c->tried[k] == 2)
        return false;
    bool with = c->tried[k]++ == 0;
    if (with && (c->count[k] + o->size > c->size || !set_inside(&o->set, usable) ||
                 !option_fits(c->m, o, slot, &c->set[k], c->used + (size_t)k * resources)))
        with = c->tried[k]++ == 0;
    c->set[k + 1] = c->set[k];
    c->count[k + 1] = c->count[k] + (with ? o->size : 0);
    c->alive[k + 1] = c->alive[k];
    solver_set_drop(&c->alive[k + 1], k);
    if (with) {
        set_join(&c->set[k + 1], &o->set);
        set_take(&c->alive[k + 1], &o->rivals);
    }
    for (uint32_t r = 0; r < resources; r++)
        c->used[(size_t)(k + 1) * resources + r] = c->used[(size_t)k * resources + r] +
                                                   (with ? o->demand[r] : 0);
    c->tried[++c->depth] = 0;
    return true;
}

/* To the next set of the size in the slot; false: no more, or no steps left. */
static bool walk_on(struct cursor *c, const struct solver_set *usable, uint64_t *steps,
                    uint64_t max_steps)
{
    bool back = c->depth > 0; /* it stands on what it found last */
    while (*steps < max_steps) {
        *steps += 1 + c->pool->n_options / (c->rivals ? 1 : 8);
        if (!back && set_inside(&c->set[c->depth], usable)) {
            uint32_t n = c->count[c->depth];
            if (n == c->size)
                return true;
            if (reachable(c, usable, c->size - n) && decide(c, usable))
                continue;
        }
        if (c->depth == 0)
            return false;
        c->depth--;
        back = !decide(c, usable);
    }
    return false;
}

static bool next_set(struct cursor *c, const struct solver_set *usable, uint64_t *steps,
                     uint64_t max_steps)
{
    for (;;) {
        if (!c->open) {
            slot_enter(c);
            if (c->count[0] == c->size && !(c->pool->fresh && c->size == 0))
                return true;
        }
        if (c->count[0] < c->size && walk_on(c, usable, steps, max_steps))
            return true;
        if (*steps >= max_steps)
            return false;
        c->open = false;
        if (++c->slot < c->pool->n_slots)
            continue;
        c->slot = 0;
        if (c->size-- == 0) {
            c->over = true;
            return false;
        }
    }
}

bool cursor_next(struct cursor *c, const struct solver_set *usable, uint64_t *steps,
                 uint64_t max_steps)
{
    const struct pool *pool = c->pool;
    if (c->over || !set_inside(&pool->forced, usable))
        return false;
    if (c->open && c->value + 1 < pool->values && set_inside(&c->set[c->depth], usable)) {
        c->value++;
        return true;
    }
    c->value = 0;
    c->left[pool->n_options] = 0;
    c->offered = (struct solver_set){{0}};
    for (uint32_t i = pool->n_options; i-- > 0;) {
        c->left[i] = c->left[i + 1];
        if (!set_inside(&pool->options[i].set, usable))
            continue;
        c->left[i] += pool->options[i].size;
        solver_set_add(&c->offered, i);
    }
    do {
        if (!next_set(c, usable, steps, max_steps))
            return false;
    } while (model_slot_first(c->m, pool, c->slot, &c->set[c->depth]) != c->slot);
    return true;
}

void cursor_get(const struct cursor *c, struct solver_set *ret_services, uint32_t *ret_slot,
                uint32_t *ret_value)
{
    *ret_services = c->set[c->depth];
    *ret_slot = c->slot;
    *ret_value = c->pool->value == SOLVER_NONE ? SOLVER_NONE : c->pool->value + c->value;
}
