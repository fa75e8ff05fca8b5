/* test_solver_random.c - the solver against all layouts of many small problems
 *
 * Every problem is rolled from its seed: all kinds of rules, nodes that exist, services that may
 * come to them, nodes to be given up.  The answer must be that of cluster_brute.c to the last node;
 * a refusal must name rules that cannot hold together and of which none can be left out; a
 * relaxation must help, and on some of them less must not.
 *
 * Arguments: a seed to run alone, or "-n N" for N seeds.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_case.h"
#include "tap.h"

enum {
    SEEDS = 20000,
    EVERY = 4 /* of refusals: those whose relaxation is shown to be the least */
};

struct tally {
    uint64_t solved, compared, refused, conflicts, relaxed, least, rolled_again, existing;
    bool wrong;
};

static bool wrong(struct tally *t, uint64_t seed, const struct cluster_case *c, const char *what)
{
    printf("# seed %llu: %s\n", (unsigned long long)seed, what);
    case_print(c);
    t->wrong = true;
    return false;
}

static void refusal_print(const struct solver_answer *a)
{
    for (uint32_t i = 0; i < a->n_conflict; i++)
        printf("# conflict: %s %u\n", solver_rule_name(a->conflict[i].rule), a->conflict[i].index);
    for (uint32_t i = 0; i < a->n_changes; i++)
        printf("# change: %s %u, %lld to %lld%s\n", solver_rule_name(a->changes[i].ref.rule),
               a->changes[i].ref.index, (long long)a->changes[i].from, (long long)a->changes[i].to,
               a->changes[i].dropped ? ", dropped" : "");
}

static enum solver_status status_of(const struct cluster_case *c)
{
    SCOPED_ARENA(mem);
    const struct solver_answer *a;
    struct err e;
    if (solver_solve(&mem, &c->p, NULL, &a, &e) < 0)
        return SOLVER_STATUS_COUNT;
    return a->status;
}

/* --- layouts --- */

static void kind_print(const char *who, const struct solver_kind *k)
{
    printf("# %s: %u of %llx hw %u img %u value %d existing %d\n", who, k->count,
           (unsigned long long)k->services.w[0], k->hardware, k->image, (int)k->value,
           (int)k->existing);
}

/* Entries of one group together, as the other side has them. */
static uint32_t groups_of(const struct cluster_case *c, const struct solver_answer *a,
                          struct solver_kind *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_kinds; i++) {
        struct solver_kind k = a->kinds[i];
        for (uint32_t g = 0; k.existing != SOLVER_NONE && g < k.existing; g++) {
            const struct solver_existing *x = &c->existing[g], *y = &c->existing[k.existing];
            if (!memcmp(&x->services, &y->services, sizeof x->services) &&
                x->hardware == y->hardware && x->image == y->image && x->value == y->value &&
                x->keep == y->keep)
                k.existing = g;
        }
        uint32_t at = 0;
        while (at < n && solver_kind_order(&out[at], &k))
            at++;
        if (at < n)
            out[at].count += k.count;
        else
            out[n++] = k;
    }
    return n;
}

static int by_order(const void *a, const void *b)
{
    return solver_kind_order(a, b);
}

static bool layout_check(struct tally *t, uint64_t seed, const struct cluster_case *c,
                         const struct solver_answer *a, const struct brute_answer *b)
{
    struct solver_kind kinds[CASE_KINDS];
    struct solver_ref why;
    uint32_t n = groups_of(c, a, kinds);
    qsort(kinds, n, sizeof *kinds, by_order);
    bool same = n == b->n_kinds && a->settled;
    for (uint32_t i = 0; i < n && same; i++)
        same = !solver_kind_order(&kinds[i], &b->kinds[i]) && kinds[i].count == b->kinds[i].count;
    for (uint32_t i = 0; i < c->p.n_existing; i++)
        same &= a->given_up[i] == b->given[i];
    for (uint32_t i = 0; i < c->p.n_keys; i++)
        same &= a->values[i] == b->values[i];
    if (!same) {
        for (uint32_t i = 0; i < n; i++)
            kind_print("got", &kinds[i]);
        for (uint32_t i = 0; i < b->n_kinds; i++)
            kind_print("wanted", &b->kinds[i]);
        return wrong(t, seed, c, "another layout");
    }
    if (!solver_layout_fits(&c->p, a->kinds, a->n_kinds, &why))
        return wrong(t, seed, c, "a layout that does not fit");
    return true;
}

/* --- refusals --- */

static bool in_conflict(const struct solver_answer *a, struct solver_ref ref)
{
    for (uint32_t i = 0; i < a->n_conflict; i++)
        if (a->conflict[i].rule == ref.rule && a->conflict[i].index == ref.index)
            return true;
    return false;
}

/* Only the rules of the conflict, but for one of them. */
static void conflict_only(const struct cluster_case *c, const struct solver_answer *a,
                          uint32_t without, struct cluster_case *ret)
{
    case_copy(ret, c);
    for (uint32_t r = 0; r < SOLVER_RULE_COUNT; r++)
        for (uint32_t i = 0; case_has(c, (struct solver_ref){(enum solver_rule)r, i}); i++) {
            struct solver_ref ref = {(enum solver_rule)r, i};
            if (!in_conflict(a, ref))
                case_drop(ret, ref);
        }
    if (without < a->n_conflict)
        case_drop(ret, a->conflict[without]);
}

static bool conflict_check(struct tally *t, uint64_t seed, const struct cluster_case *c,
                           const struct solver_answer *a)
{
    struct cluster_case part;
    if (!a->n_conflict || !a->irreducible)
        return wrong(t, seed, c, "no irreducible conflict");
    conflict_only(c, a, SOLVER_NONE, &part);
    if (status_of(&part) != SOLVER_UNSATISFIABLE)
        return wrong(t, seed, c, "a conflict that is none");
    for (uint32_t i = 0; i < a->n_conflict; i++) {
        conflict_only(c, a, i, &part);
        if (status_of(&part) != SOLVER_SOLVED)
            return wrong(t, seed, c, "a conflict that can be less");
    }
    t->conflicts++;
    return true;
}

/* Whether one rule alone, changed by less than so much, would have been enough. */
static bool one_is_enough(const struct cluster_case *c, struct solver_ref ref, int64_t less_than)
{
    struct cluster_case part;
    bool number = ref.rule == SOLVER_RULE_MIN || ref.rule == SOLVER_RULE_MAX ||
                  ref.rule == SOLVER_RULE_SPREAD || ref.rule == SOLVER_RULE_NODES;
    if (!number) {
        case_copy(&part, c);
        case_drop(&part, ref);
        return less_than > 1 && status_of(&part) == SOLVER_SOLVED;
    }
    for (int64_t by = 0; by < less_than && by < 12; by++)
        for (int up = 0; up < 2; up++) {
            struct solver_change change = {.ref = ref};
            int64_t from = ref.rule == SOLVER_RULE_MIN      ? c->services[ref.index].min
                           : ref.rule == SOLVER_RULE_MAX    ? c->services[ref.index].max
                           : ref.rule == SOLVER_RULE_SPREAD ? c->spreads[ref.index].skew
                           : up                             ? c->p.nodes_max
                                                            : c->p.nodes_min;
            bool down = ref.rule == SOLVER_RULE_MIN || (ref.rule == SOLVER_RULE_NODES && !up);
            change.to = down ? from - by : from + by;
            if (ref.rule == SOLVER_RULE_MIN && c->services[ref.index].step > 1 &&
                by % c->services[ref.index].step) /* steps stay where they began */
                continue;
            if (change.to < 0 || (ref.rule == SOLVER_RULE_MAX && from == SOLVER_ANY))
                continue;
            case_copy(&part, c);
            case_change(&part, &change);
            if (status_of(&part) == SOLVER_SOLVED)
                return true;
        }
    return false;
}

static int64_t change_total(const struct solver_answer *a)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < a->n_changes; i++) {
        int64_t by = a->changes[i].to - a->changes[i].from;
        sum += a->changes[i].dropped ? 1 : by < 0 ? -by : by;
    }
    return sum;
}

static bool relaxation_check(struct tally *t, uint64_t seed, const struct cluster_case *c,
                             const struct solver_answer *a)
{
    struct cluster_case part;
    if (!a->has_relaxation)
        return in_conflict(a, (struct solver_ref){SOLVER_RULE_OFFER, 0}) ||
               wrong(t, seed, c, "no relaxation");
    case_copy(&part, c);
    for (uint32_t i = 0; i < a->n_changes; i++)
        case_change(&part, &a->changes[i]);
    if (status_of(&part) != SOLVER_SOLVED)
        return wrong(t, seed, c, "a relaxation that does not help");
    t->relaxed++;
    if (t->relaxed % EVERY)
        return true;
    int64_t less_than = a->n_changes == 1 ? change_total(a) : INT64_MAX;
    for (uint32_t r = 0; r < SOLVER_RULE_OFFER; r++)
        for (uint32_t i = 0; case_has(c, (struct solver_ref){(enum solver_rule)r, i}); i++)
            if (one_is_enough(c, (struct solver_ref){(enum solver_rule)r, i}, less_than)) {
                printf("# %s %u\n", solver_rule_name((enum solver_rule)r), i);
                return wrong(t, seed, c, "a relaxation that is not the least");
            }
    t->least++;
    return true;
}

/* --- seeds --- */

/* The same problem by every other comparator: it can be solved, so each has its own best. */
static bool others_check(struct tally *t, uint64_t seed, struct cluster_case *c, struct dice *d)
{
    for (uint32_t order = 0; order < CASE_ORDERS; order++) {
        SCOPED_ARENA(mem);
        struct brute_answer b;
        const struct solver_answer *a;
        struct err e;
        if (order == seed % CASE_ORDERS)
            continue;
        case_keys(c, d, (enum case_order)order);
        if (!brute_solve(c, &b))
            continue; /* too many layouts to look at */
        if (solver_solve(&mem, &c->p, NULL, &a, &e) < 0 || a->status != SOLVER_SOLVED)
            return wrong(t, seed, c, "solvable, but not by every comparator");
        if (!layout_check(t, seed, c, a, &b))
            return false;
        t->compared++;
    }
    return true;
}

static bool seed_check(struct tally *t, uint64_t seed)
{
    SCOPED_ARENA(mem);
    struct cluster_case c;
    struct brute_answer b;
    const struct solver_answer *a;
    struct err e;
    const struct solver_options o = {.want_conflict = true, .want_relaxation = true};
    struct dice d = dice_of(seed, 1);
    case_roll(&c, &d, (enum case_order)(seed % CASE_ORDERS));
    while (!brute_solve(&c, &b)) {
        case_roll(&c, &d, (enum case_order)(seed % CASE_ORDERS));
        t->rolled_again++;
    }
    t->existing += c.p.n_existing > 0;
    if (solver_solve(&mem, &c.p, &o, &a, &e) < 0) {
        printf("# %s\n", e.text);
        return wrong(t, seed, &c, "refused as malformed");
    }
    if (a->status == SOLVER_LIMIT)
        return wrong(t, seed, &c, "came to its limit");
    if ((a->status == SOLVER_SOLVED) != b.found)
        return wrong(t, seed, &c,
                     b.found ? "solvable, but refused" : "solved, but has no solution");
    if (b.found) {
        t->solved++;
        return layout_check(t, seed, &c, a, &b) && others_check(t, seed, &c, &d);
    }
    t->refused++;
    if (conflict_check(t, seed, &c, a) && relaxation_check(t, seed, &c, a))
        return true;
    refusal_print(a);
    return false;
}

int main(int argc, char **argv)
{
    struct tally t = {0};
    uint64_t seeds = argc == 3 ? strtoull(argv[2], NULL, 10) : SEEDS, bad = 0;
    if (argc == 2) {
        ok(seed_check(&t, strtoull(argv[1], NULL, 10)), "seed %s", argv[1]);
        return tap_done();
    }
    for (uint64_t seed = 1; seed <= seeds && bad < 5; seed++)
        bad += !seed_check(&t, seed);
    ok(bad == 0, "%llu problems are answered as by looking at all layouts",
       (unsigned long long)seeds);
    ok(t.solved > seeds / 5 && t.refused > seeds / 5 && t.existing > seeds / 5,
       "there are enough of each: solved, refused, with nodes that exist");
    ok(t.compared >= 3 * t.solved * 9 / 10, "by every comparator");
    ok(t.least > t.refused / 8, "relaxations were shown to be the least");
    note("%llu more by other comparators", (unsigned long long)t.compared);
    note("%llu solved, %llu refused, %llu with nodes that exist; %llu relaxations shown least",
         (unsigned long long)t.solved, (unsigned long long)t.refused,
         (unsigned long long)t.existing, (unsigned long long)t.least);
    return tap_done();
}
