/* cluster_brute.c - the best layout, by looking at all of them
 *
 * Nodes are put one after the other: those that exist, group by group, then new ones until there
 * are enough.  Each is given up, or one of the nodes that its pool may become, in ascending order
 * within a pool, so that every layout comes once.  A whole layout is judged by the rules as they
 * are written, and compared with the best so far.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_case.h"

#include <string.h>

enum { POOL_KINDS = 400, NODES_MOST = 16, LAYOUTS_MOST = 40000 };

struct one { /* what a node may become */
    uint32_t services, hardware, image, value;
    bool given;
};
struct brute {
    const struct cluster_case *c;
    uint32_t n_pools, pool_count[CASE_EXISTING + 1], pool_turn[CASE_EXISTING + 1];
    uint32_t n_ones[CASE_EXISTING + 1];
    struct one ones[CASE_EXISTING + 1][POOL_KINDS];
    /* nodes put so far */
    uint32_t n, pool[NODES_MOST], one[NODES_MOST];
    struct brute_answer *best;
    uint32_t best_total;
    uint32_t best_kept[CASE_SERVICES];
    bool too_many;
};

static bool node_good(const struct solver_problem *p, const struct one *o)
{
    for (uint32_t i = 0; i < p->n_together; i++)
        if ((o->services & p->together[i].w[0]) &&
            (o->services & p->together[i].w[0]) != p->together[i].w[0])
            return false;
    for (uint32_t i = 0; i < p->n_apart; i++)
        if ((o->services & p->apart[i].w[0]) == p->apart[i].w[0])
            return false;
    for (uint32_t s = 0; s < p->n_services; s++) {
        bool on = o->services >> s & 1;
        if (p->services[s].everywhere && !on)
            return false;
        if (on && (!(p->services[s].hardware.w[0] >> o->hardware & 1) ||
                   !(p->services[s].images.w[0] >> o->image & 1)))
            return false;
    }
    for (uint32_t r = 0; r < p->n_resources; r++) {
        int64_t sum = 0;
        for (uint32_t s = 0; s < p->n_services; s++)
            if ((o->services >> s & 1) && p->services[s].demand)
                sum += p->services[s].demand[r];
        const int64_t *capacity = p->hardware[o->hardware].capacity;
        if (sum > (capacity ? capacity[r] : 0))
            return false;
    }
    return true;
}

static void one_add(struct brute *b, uint32_t pool, struct one o)
{
    if (b->n_ones[pool] == POOL_KINDS)
        b->too_many = true;
    else
        b->ones[pool][b->n_ones[pool]++] = o;
}

static void pools_build(struct brute *b)
{
    const struct solver_problem *p = &b->c->p;
    uint32_t all = (1u << p->n_services) - 1, movable = (uint32_t)p->involved.w[0] & all;
    for (uint32_t i = 0; i < p->n_existing; i++) {
        const struct solver_existing *x = &p->existing[i];
        uint32_t g = 0;
        for (; g < b->n_pools; g++) {
            const struct solver_existing *y = &p->existing[b->pool_turn[g]];
            if (y->services.w[0] == x->services.w[0] && y->hardware == x->hardware &&
                y->image == x->image && y->value == x->value && y->keep == x->keep)
                break;
        }
        b->pool_count[g] += x->count;
        if (g < b->n_pools)
            continue;
        b->n_pools++;
        b->pool_turn[g] = i;
        if (!x->keep)
            one_add(b, g, (struct one){.given = true});
        for (uint32_t set = 0; set <= all; set++) {
            struct one o = {set, x->hardware, x->image, x->value, false};
            if (((set ^ (uint32_t)x->services.w[0]) & ~movable) == 0 && node_good(p, &o))
                one_add(b, g, o);
        }
    }
    b->pool_turn[b->n_pools] = SOLVER_NONE;
    for (uint32_t set = 1; set <= all; set++)
        for (uint32_t h = 0; h < p->n_hardware; h++)
            for (uint32_t i = 0; i < p->n_images; i++)
                for (uint32_t v = 0; v < (p->n_values ? p->n_values : 1); v++) {
                    struct one o = {set, h, i, p->n_values ? v : SOLVER_NONE, false};
                    if (!(p->old_hardware.w[0] >> h & 1) && !(p->old_images.w[0] >> i & 1) &&
                        node_good(p, &o))
                        one_add(b, b->n_pools, o);
                }
    b->n_pools++;
}

/* --- a whole layout --- */

static const struct one *node_at(const struct brute *b, uint32_t i)
{
    return &b->ones[b->pool[i]][b->one[i]];
}

static bool layout_good(const struct brute *b, uint32_t nodes, uint32_t given)
{
    const struct solver_problem *p = &b->c->p;
    int64_t count[CASE_SERVICES] = {0}, by_value[CASE_SERVICES][4] = {{0}};
    if (nodes < p->nodes_min || nodes > p->nodes_max || given < p->give_up)
        return false;
    for (uint32_t i = 0; i < b->n; i++)
        for (uint32_t s = 0; s < p->n_services; s++)
            if (!node_at(b, i)->given && (node_at(b, i)->services >> s & 1)) {
                count[s]++;
                if (node_at(b, i)->value != SOLVER_NONE)
                    by_value[s][node_at(b, i)->value]++;
            }
    for (uint32_t s = 0; s < p->n_services; s++) {
        const struct solver_service *v = &p->services[s];
        if (count[s] < v->min || (v->max != SOLVER_ANY && count[s] > v->max) ||
            (v->required && count[s] == 0) || (v->step > 1 && (count[s] - v->min) % v->step))
            return false;
    }
    for (uint32_t i = 0; i < p->n_ratios; i++) {
        const struct solver_ratio *r = &p->ratios[i];
        int64_t a = r->den * count[r->service];
        int64_t z = r->num * (r->of == SOLVER_NONE ? nodes : count[r->of]);
        if (r->at_most ? a > z : a < z)
            return false;
    }
    for (uint32_t i = 0; i < p->n_spreads; i++)
        for (uint32_t v = 0; v < p->n_values; v++)
            for (uint32_t w = 0; w < p->n_values; w++)
                if (by_value[p->spreads[i].service][v] - by_value[p->spreads[i].service][w] >
                    p->spreads[i].skew)
                    return false;
    return true;
}

static int kind_cmp(const struct solver_kind *a, const struct solver_kind *b)
{
    uint64_t x = a->services.w[0], y = b->services.w[0];
    int n = __builtin_popcountll(x), m = __builtin_popcountll(y);
    if (n != m)
        return n > m ? -1 : 1;
    if (a->hardware != b->hardware)
        return a->hardware < b->hardware ? -1 : 1;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    for (uint32_t s = 0; s < CASE_SERVICES; s++)
        if ((x >> s & 1) != (y >> s & 1))
            return x >> s & 1 ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->existing == b->existing ? 0 : a->existing < b->existing ? -1 : 1;
}

static void layout_describe(const struct brute *b, struct brute_answer *a, uint32_t *kept)
{
    const struct solver_problem *p = &b->c->p;
    uint32_t given[CASE_EXISTING + 1] = {0};
    for (uint32_t i = 0; i < b->n; i++) {
        const struct one *o = node_at(b, i);
        if (o->given) {
            given[b->pool[i]]++;
            continue;
        }
        struct solver_kind k = {.services.w[0] = o->services,
                                .hardware = o->hardware,
                                .image = o->image,
                                .value = o->value,
                                .existing = b->pool_turn[b->pool[i]]};
        uint32_t at = 0;
        while (at < a->n_kinds && kind_cmp(&a->kinds[at], &k) < 0)
            at++;
        if (at == a->n_kinds || kind_cmp(&a->kinds[at], &k)) {
            memmove(&a->kinds[at + 1], &a->kinds[at], (a->n_kinds - at) * sizeof k);
            a->kinds[at] = k;
            a->n_kinds++;
        }
        a->kinds[at].count++;
        for (uint32_t s = 0; s < p->n_services; s++)
            if (b->pool_turn[b->pool[i]] != SOLVER_NONE && (o->services >> s & 1))
                kept[s]++;
        for (uint32_t q = 0; q < p->n_keys; q++) {
            const struct solver_hardware *h = &p->hardware[o->hardware];
            a->values[q] += p->keys[q].by == SOLVER_COST       ? h->cost
                            : p->keys[q].by == SOLVER_NODES    ? 1
                            : p->keys[q].by == SOLVER_SERVICES ? __builtin_popcount(o->services)
                            : h->capacity                      ? h->capacity[p->keys[q].resource]
                                                               : 0;
        }
    }
    for (uint32_t i = 0; i < p->n_existing; i++)
        for (uint32_t g = 0; g + 1 < b->n_pools; g++) {
            const struct solver_existing *x = &p->existing[i], *y = &p->existing[b->pool_turn[g]];
            if (x->services.w[0] != y->services.w[0] || x->hardware != y->hardware ||
                x->image != y->image || x->value != y->value || x->keep != y->keep)
                continue;
            a->given[i] = given[g] < x->count ? given[g] : x->count;
            given[g] -= a->given[i];
        }
}

/* Involved services in the order in which they are looked at. */
static uint32_t involved_order(const struct solver_problem *p, uint32_t *order)
{
    uint32_t n = 0;
    for (uint32_t s = 0; s < p->n_services; s++) {
        if (!(p->involved.w[0] >> s & 1))
            continue;
        uint32_t k = n++;
        for (; k; k--) {
            const struct solver_service *a = &p->services[order[k - 1]], *z = &p->services[s];
            bool stays = a->everywhere != z->everywhere ? !a->everywhere
                         : a->max != z->max             ? a->max < z->max
                                                        : a->min >= z->min;
            if (stays)
                break;
            order[k] = order[k - 1];
        }
        order[k] = s;
    }
    return n;
}

static bool layout_better(const struct brute *b, const struct brute_answer *a, uint32_t total,
                          const uint32_t *kept)
{
    const struct solver_problem *p = &b->c->p;
    const struct brute_answer *z = b->best;
    uint32_t order[CASE_SERVICES], n = involved_order(p, order);
    if (total != b->best_total)
        return total < b->best_total;
    for (uint32_t i = 0; i < p->n_existing; i++)
        if (a->given[i] != z->given[i])
            return a->given[i] > z->given[i];
    for (uint32_t i = 0; i < p->n_keys; i++)
        if (a->values[i] != z->values[i])
            return p->keys[i].more ? a->values[i] > z->values[i] : a->values[i] < z->values[i];
    for (uint32_t i = 0; i < n && p->n_existing; i++)
        if (kept[order[i]] != b->best_kept[order[i]])
            return kept[order[i]] > b->best_kept[order[i]];
    for (uint32_t i = 0; i < a->n_kinds || i < z->n_kinds; i++) {
        if (i >= a->n_kinds || i >= z->n_kinds)
            return i < a->n_kinds;
        int by = kind_cmp(&a->kinds[i], &z->kinds[i]);
        if (by)
            return by < 0;
        if (a->kinds[i].count != z->kinds[i].count)
            return a->kinds[i].count > z->kinds[i].count;
    }
    return false;
}

static void layout_look(struct brute *b)
{
    uint32_t given = 0, kept[CASE_SERVICES] = {0};
    for (uint32_t i = 0; i < b->n; i++)
        given += node_at(b, i)->given;
    if (++b->best->layouts > LAYOUTS_MOST)
        b->too_many = true;
    if (!layout_good(b, b->n - given, given))
        return;
    struct brute_answer a = {.found = true, .layouts = b->best->layouts};
    layout_describe(b, &a, kept);
    if (b->best->found && !layout_better(b, &a, given, kept))
        return;
    *b->best = a;
    b->best_total = given;
    memcpy(b->best_kept, kept, sizeof kept);
}

/* To the next layout in which each pool's nodes ascend; existing nodes first, all of them. */
static void layouts_walk(struct brute *b, uint32_t existing)
{
    uint32_t most = existing + b->c->p.nodes_max, i = 0;
    for (uint32_t g = 0, k = 0; g + 1 < b->n_pools; g++)
        for (uint32_t n = 0; n < b->pool_count[g]; n++)
            b->pool[k++] = g;
    for (uint32_t k = existing; k < NODES_MOST; k++)
        b->pool[k] = b->n_pools - 1;
    if (most > NODES_MOST) {
        b->too_many = true;
        return;
    }
    if (existing == 0)
        b->n = 0, layout_look(b);
    if (most == 0)
        return;
    b->one[0] = 0;
    for (;;) { /* i: the node being decided */
        if (b->too_many)
            return;
        if (b->one[i] < b->n_ones[b->pool[i]]) {
            b->n = i + 1;
            if (b->n >= existing)
                layout_look(b);
            if (i + 1 < most) {
                b->one[i + 1] = b->pool[i + 1] == b->pool[i] ? b->one[i] : 0;
                i++;
                continue;
            }
            b->one[i]++;
            continue;
        }
        if (i == 0)
            return;
        b->one[--i]++;
    }
}

bool brute_solve(const struct cluster_case *c, struct brute_answer *ret)
{
    static struct brute b; /* too large for the stack */
    uint32_t existing = 0;
    memset(&b, 0, sizeof b);
    memset(ret, 0, sizeof *ret);
    b.c = c;
    b.best = ret;
    for (uint32_t i = 0; i < c->p.n_existing; i++)
        existing += c->existing[i].count;
    pools_build(&b);
    layouts_walk(&b, existing);
    return !b.too_many;
}
