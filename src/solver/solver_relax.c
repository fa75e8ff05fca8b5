/* solver_relax.c - the least that has to give way
 *
 * A relaxation must change a rule of every conflict.  So the rules of one conflict are the only
 * ones that can do it alone; if none does, each is left out in turn, and what conflicts then gives
 * the second: sets of one rule, then of two, breadth first, so that the first level with an answer
 * has the fewest.  Within it the least change counts, found by letting numbers be exceeded at a
 * price, then the lowest rules.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "solver/solver_i.h"

enum { DEEPEST = 8 };
struct choice {
    uint32_t n;
    uint32_t rules[DEEPEST]; /* ascending */
};
struct relax {
    const struct solver_problem *p;
    struct rules rules;
    uint64_t steps, max_steps;
    VEC(struct choice) level, next;
    uint32_t *list;                                 /* room for a conflict */
    int64_t *over, *under, *best_over, *best_under; /* by number of rule */
    struct choice best;
    int64_t best_change;
    bool found, limit;
};

static uint64_t steps_left(const struct relax *x)
{
    return x->steps < x->max_steps ? x->max_steps - x->steps : 0;
}

static void choice_off(struct relax *x, const struct choice *c, bool elastic, bool on)
{
    for (uint32_t i = 0; i < c->n; i++) {
        bool number = elastic && rules_numeric(rules_ref(&x->rules, c->rules[i]).rule);
        (number ? x->rules.elastic : x->rules.off)[c->rules[i]] = on;
    }
}

static bool choice_with(const struct choice *c, uint32_t rule, struct choice *ret)
{
    uint32_t k = 0;
    *ret = (struct choice){.n = c->n + 1};
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->rules[i] == rule)
            return false;
        if (k == i && c->rules[i] > rule)
            ret->rules[k++] = rule;
        ret->rules[k++] = c->rules[i];
    }
    if (k == c->n)
        ret->rules[k] = rule;
    return true;
}

static int choice_order(const struct choice *a, const struct choice *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (a->rules[i] != b->rules[i])
            return a->rules[i] < b->rules[i] ? -1 : 1;
    return 0;
}

/* What it costs to relax these, if that is enough. */
static void choice_try(struct relax *x, const struct choice *c)
{
    uint32_t n = x->rules.first[SOLVER_RULE_COUNT];
    memset(x->over, 0, n * sizeof *x->over);
    memset(x->under, 0, n * sizeof *x->under);
    choice_off(x, c, true, true);
    enum engine_end end = steps_left(x) ? order_excess(x->p, &x->rules, steps_left(x), &x->steps,
                                                       x->over, x->under)
                                        : ENGINE_LIMIT;
    choice_off(x, c, true, false);
    x->limit |= end == ENGINE_LIMIT;
    if (end != ENGINE_FOUND)
        return;
    int64_t change = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        bool number = rules_numeric(rules_ref(&x->rules, c->rules[i]).rule);
        change += number ? x->over[c->rules[i]] + x->under[c->rules[i]] : 1;
    }
    if (x->found &&
        (change > x->best_change || (change == x->best_change && choice_order(c, &x->best) >= 0)))
        return;
    x->found = true;
    x->best = *c;
    x->best_change = change;
    memcpy(x->best_over, x->over, n * sizeof *x->over);
    memcpy(x->best_under, x->under, n * sizeof *x->under);
}

/* The sets that are one larger: each of this level with a rule of what conflicts without it. */
static void level_next(struct relax *x, const struct solver_answer *a)
{
    x->next.n = 0;
    for (size_t i = 0; i < x->level.n && steps_left(x); i++) {
        struct choice c = x->level.at[i], with;
        uint32_t n = 0;
        bool limit = false;
        if (c.n == 0) {
            for (; n < a->n_conflict; n++)
                x->list[n] = x->rules.first[a->conflict[n].rule] + a->conflict[n].index;
        } else {
            choice_off(x, &c, false, true);
            n = conflict_reduce(x->p, &x->rules, x->list, steps_left(x) + x->steps, &x->steps,
                                &limit);
        }
        x->limit |= limit;
        for (uint32_t k = 0; k < n; k++) {
            if (rules_ref(&x->rules, x->list[k]).rule == SOLVER_RULE_OFFER ||
                !choice_with(&c, x->list[k], &with))
                continue;
            size_t at = 0;
            while (at < x->next.n && choice_order(&x->next.at[at], &with))
                at++;
            if (at == x->next.n)
                vec_push(&x->next, with);
        }
    }
}

static void changes_write(const struct relax *x, struct arena *mem, struct solver_answer *a)
{
    struct solver_change *out = arena_new(mem, struct solver_change, x->best.n + 1);
    const struct solver_problem *p = x->p;
    for (uint32_t i = 0; i < x->best.n; i++) {
        uint32_t rule = x->best.rules[i];
        struct solver_ref ref = rules_ref(&x->rules, rule);
        struct solver_change *c = &out[a->n_changes++];
        int64_t over = x->best_over[rule], under = x->best_under[rule];
        *c = (struct solver_change){.ref = ref, .dropped = !rules_numeric(ref.rule)};
        if (ref.rule == SOLVER_RULE_MIN)
            c->from = p->services[ref.index].min, c->to = c->from - over;
        else if (ref.rule == SOLVER_RULE_MAX)
            c->from = p->services[ref.index].max, c->to = c->from + over;
        else if (ref.rule == SOLVER_RULE_SPREAD)
            c->from = p->spreads[ref.index].skew, c->to = c->from + over;
        else if (ref.rule == SOLVER_RULE_NODES)
            c->from = under ? p->nodes_min : p->nodes_max, c->to = c->from + over - under;
    }
    a->changes = out;
    a->has_relaxation = true;
}

void relax_find(struct arena *mem, const struct solver_problem *p, uint64_t max_steps,
                struct solver_answer *a)
{
    SCOPED_ARENA(work);
    struct relax x = {.p = p, .max_steps = max_steps};
    struct choice none = {0};
    rules_init(&x.rules, p, &work);
    uint32_t n = x.rules.first[SOLVER_RULE_COUNT] + 1;
    x.list = arena_new(&work, uint32_t, n);
    x.over = arena_new(&work, int64_t, n);
    x.under = arena_new(&work, int64_t, n);
    x.best_over = arena_new(&work, int64_t, n);
    x.best_under = arena_new(&work, int64_t, n);
    vec_push(&x.level, none);
    for (uint32_t deep = 0; deep < DEEPEST && x.level.n && !x.found && steps_left(&x); deep++) {
        level_next(&x, a);
        for (size_t i = 0; i < x.next.n; i++)
            choice_try(&x, &x.next.at[i]);
        x.level.n = 0;
        for (size_t i = 0; i < x.next.n; i++)
            vec_push(&x.level, x.next.at[i]);
    }
    if (x.found)
        changes_write(&x, mem, a);
    a->least = x.found && !x.limit;
    a->steps += x.steps;
    vec_done(&x.level);
    vec_done(&x.next);
}
