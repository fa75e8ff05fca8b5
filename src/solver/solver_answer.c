/* solver_answer.c - a problem answered: the layout that the order came to, or reasons
 *
 * Owns what leaves the solver.  Kinds are told by entry of existing nodes, not by group: within a
 * group the earliest entries are given up, and the others take the kinds in their order.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "solver/solver_i.h"

int solver_kind_order(const struct solver_kind *a, const struct solver_kind *b)
{
    uint32_t x = set_count(&a->services), y = set_count(&b->services);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->hardware != b->hardware)
        return a->hardware < b->hardware ? -1 : 1;
    if (a->image != b->image)
        return a->image < b->image ? -1 : 1;
    int by = set_order(&a->services, &b->services);
    if (by)
        return by;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->existing == b->existing ? 0 : a->existing < b->existing ? -1 : 1;
}

static int by_order(const void *a, const void *b)
{
    return solver_kind_order(a, b);
}

static struct solver_kind column_kind(const struct order *o, uint32_t column)
{
    const struct column *k = &o->g.columns.at[column];
    const struct pool *pool = &o->m.pools[k->pool];
    const struct slot *slot = &pool->slots[k->slot];
    return (struct solver_kind){.services = k->services,
                                .hardware = slot->hardware,
                                .image = slot->image,
                                .value = k->value,
                                .existing = pool->turn};
}

/* Nodes of a group to its entries: the earliest are given up, the rest are shared out in the order
 * of kinds. */
static void given_fill(const struct order *o, struct arena *mem, const struct solver_kind *kinds,
                       uint32_t n, struct solver_answer *a)
{
    const struct solver_problem *p = o->p;
    uint32_t *given = arena_new(mem, uint32_t, p->n_existing + 1);
    uint32_t *left = arena_new(mem, uint32_t, p->n_existing + 1), made = 0;
    struct solver_kind *all = arena_new(mem, struct solver_kind, (size_t)n + p->n_existing + 1);
    int64_t *pool_given = arena_new(mem, int64_t, o->m.n_pools + 1);
    for (uint32_t i = 0; i + 1 < o->m.n_pools; i++)
        pool_given[i] = o->known.x[order_given_column(o, i)];
    for (uint32_t i = 0; i < p->n_existing; i++) {
        int64_t *go = &pool_given[o->m.group_of[i]], count = p->existing[i].count;
        given[i] = (uint32_t)(*go < count ? *go : count);
        left[i] = (uint32_t)count - given[i];
        *go -= given[i];
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t count = kinds[k].count, i = kinds[k].existing;
        if (i == SOLVER_NONE)
            all[made++] = kinds[k];
        for (uint32_t group = i == SOLVER_NONE ? 0 : o->m.group_of[i]; i < p->n_existing; i++) {
            uint32_t of = left[i] < count ? left[i] : count;
            if (o->m.group_of[i] != group || of == 0)
                continue;
            all[made] = kinds[k];
            all[made].existing = i;
            all[made++].count = of;
            left[i] -= of;
            count -= of;
        }
    }
    qsort(all, made, sizeof *all, by_order);
    a->n_kinds = made;
    a->kinds = all;
    a->given_up = given;
}

static void answer_layout(struct order *o, struct arena *mem, struct solver_answer *a)
{
    const struct engine *g = &o->g;
    uint32_t n = 0;
    size_t most = o->placed.n + o->known.n + 1;
    struct solver_kind *kinds = arena_new(mem, struct solver_kind, most);
    int64_t *values = arena_new(mem, int64_t, o->p->n_keys + 1);
    for (uint32_t r = 0; r < o->rows.at.n; r++)
        if (o->rows.at.at[r].type == ROW_KEY)
            values[o->rows.at.at[r].a] = engine_value(g, &o->known, r) * o->rows.at.at[r].unit;
    for (size_t i = 0; i < o->placed.n; i++) {
        kinds[n] = column_kind(o, o->placed.at[i].column);
        kinds[n++].count = (uint32_t)o->placed.at[i].count;
    }
    for (uint32_t i = 0; i < o->known.n; i++)
        if (g->columns.at[i].pool != SOLVER_NONE && o->known.x[i]) {
            kinds[n] = column_kind(o, i);
            kinds[n++].count = (uint32_t)o->known.x[i];
        }
    qsort(kinds, n, sizeof *kinds, by_order);
    a->has_layout = true;
    a->values = values;
    given_fill(o, mem, kinds, n, a);
}

static void answer_work(struct arena *mem, const struct solver_problem *p,
                        const struct solver_options *opt, struct solver_answer *a)
{
    SCOPED_ARENA(work);
    struct rules rules;
    struct order o;
    rules_init(&rules, p, &work);
    order_init(&o, p, &rules, &work, opt->max_steps ? opt->max_steps : SOLVER_STEPS);
    enum engine_end end = order_run(&o, &work);
    a->status = end == ENGINE_FOUND  ? SOLVER_SOLVED
                : end == ENGINE_NONE ? SOLVER_UNSATISFIABLE
                                     : SOLVER_LIMIT;
    a->settled = end == ENGINE_FOUND && o.settled;
    a->steps = o.g.steps;
    if (o.known.there && end != ENGINE_NONE)
        answer_layout(&o, mem, a);
    if (end == ENGINE_LIMIT) {
        a->has_bound = o.has_bound;
        a->bound = o.bound;
    }
    order_done(&o);
}

int solver_solve(struct arena *mem, const struct solver_problem *p, const struct solver_options *o,
                 const struct solver_answer **ret_answer, struct err *e)
{
    const struct solver_options usual = {0};
    struct solver_answer *a = arena_new(mem, struct solver_answer, 1);
    int r = solver_problem_check(p, e);
    if (r < 0)
        return r;
    o = o ? o : &usual;
    uint64_t steps = o->max_steps ? o->max_steps : SOLVER_STEPS;
    answer_work(mem, p, o, a);
    if (a->status == SOLVER_UNSATISFIABLE && (o->want_conflict || o->want_relaxation))
        conflict_find(mem, p, steps, a);
    if (a->status == SOLVER_UNSATISFIABLE && o->want_relaxation)
        relax_find(mem, p, steps, a);
    *ret_answer = a;
    return 0;
}

/* --- for reasons --- */

enum engine_end order_fits(const struct solver_problem *p, const struct rules *rules,
                           uint64_t max_steps, uint64_t *steps)
{
    SCOPED_ARENA(work);
    struct order o;
    order_init(&o, p, rules, &work, max_steps);
    enum engine_end end = engine_search(&o.g, &o.known, NULL);
    *steps += o.g.steps;
    order_done(&o);
    return end;
}

enum engine_end order_excess(const struct solver_problem *p, const struct rules *rules,
                             uint64_t max_steps, uint64_t *steps, int64_t *ret_over,
                             int64_t *ret_under)
{
    SCOPED_ARENA(work);
    struct order o;
    order_init(&o, p, rules, &work, max_steps);
    enum engine_end end = o.rows.excess == SOLVER_NONE ? engine_search(&o.g, &o.known, NULL)
                                                       : order_settle_row(&o, o.rows.excess, false);
    *steps += o.g.steps;
    for (uint32_t i = 0; i < o.rows.extras.n && o.known.there; i++) {
        const struct extra *x = &o.rows.extras.at[i];
        if (x->type != EXTRA_EXCESS || o.known.x[i] == 0)
            continue;
        bool under = rules_ref(rules, x->a).rule == SOLVER_RULE_NODES && x->coefs[0] > 0;
        (under ? ret_under : ret_over)[x->a] = o.known.x[i];
    }
    order_done(&o);
    return end;
}
