/* solver_conflict.c - which rules cannot hold together
 *
 * Rules are left out in parts, then one by one, as long as what remains has no answer.  What could
 * not be left out is a conflict, and none of it can be.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "solver/solver_i.h"

enum { PARTS = 6 };

/* Leaves out the rules listed from..to if the rest has no answer even so. */
static bool rules_leave_out(const struct solver_problem *p, struct rules *rules,
                            const uint32_t *list, uint32_t from, uint32_t to, uint64_t max_steps,
                            uint64_t *steps, bool *limit)
{
    for (uint32_t i = from; i < to; i++)
        rules->off[list[i]] = true;
    enum engine_end end = *steps < max_steps ? order_fits(p, rules, max_steps - *steps, steps)
                                             : ENGINE_LIMIT;
    *limit |= end == ENGINE_LIMIT;
    for (uint32_t i = from; i < to && end != ENGINE_NONE; i++)
        rules->off[list[i]] = false;
    return end == ENGINE_NONE;
}

uint32_t conflict_reduce(const struct solver_problem *p, struct rules *rules, uint32_t *ret_list,
                         uint64_t max_steps, uint64_t *steps, bool *ret_limit)
{
    uint32_t n = 0, kept = 0;
    bool dropped;
    for (uint32_t i = 0; i < rules->first[SOLVER_RULE_COUNT]; i++)
        if (!rules->off[i] && rules_meant(p, rules_ref(rules, i)))
            ret_list[n++] = i;
    for (uint32_t part = (n + PARTS - 1) / PARTS, from = 0; from < n; from += part) {
        uint32_t to = from + part < n ? from + part : n;
        bool limit = false; /* to leave out a part is a try, and may fail for any reason */
        rules_leave_out(p, rules, ret_list, from, to, max_steps, steps, &limit);
    }
    for (uint32_t i = 0; i < n; i++) {
        dropped = rules->off[ret_list[i]] ||
                  rules_leave_out(p, rules, ret_list, i, i + 1, max_steps, steps, ret_limit);
        if (!dropped)
            ret_list[kept++] = ret_list[i];
    }
    for (uint32_t i = 0; i < rules->first[SOLVER_RULE_COUNT]; i++)
        rules->off[i] = false;
    return kept;
}

void conflict_find(struct arena *mem, const struct solver_problem *p, uint64_t max_steps,
                   struct solver_answer *a)
{
    SCOPED_ARENA(work);
    struct rules rules;
    uint64_t steps = 0;
    bool limit = false;
    rules_init(&rules, p, &work);
    uint32_t *list = arena_new(&work, uint32_t, rules.first[SOLVER_RULE_COUNT] + 1);
    a->n_conflict = conflict_reduce(p, &rules, list, max_steps, &steps, &limit);
    struct solver_ref *refs = arena_new(mem, struct solver_ref, a->n_conflict + 1);
    for (uint32_t i = 0; i < a->n_conflict; i++)
        refs[i] = rules_ref(&rules, list[i]);
    a->conflict = refs;
    a->irreducible = !limit;
    a->steps += steps;
}
