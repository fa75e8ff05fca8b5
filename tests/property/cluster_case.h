/* cluster_case.h - small random problems of the solver, and the same solved by trying everything
 *
 * cluster_case.c makes them and takes rules out of them; cluster_brute.c knows nothing of how the
 * solver works: it walks through all layouts and keeps the first in the order of
 * docs/rfc/08-clusters.md, section 4.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CLUSTER_CASE_H
#define TESTS_CLUSTER_CASE_H

#include "dice.h"
#include "solver/solver.h"

enum {
    CASE_SERVICES = 5, /* one more than a case has at first */
    CASE_HARDWARE = 3,
    CASE_IMAGES = 2,
    CASE_RESOURCES = 2,
    CASE_SETS = 3,
    CASE_EXISTING = 4,
    CASE_KEYS = 3,
    CASE_KINDS = 32,
};

struct cluster_case { /* everything that p points to */
    struct solver_problem p;
    struct solver_service services[CASE_SERVICES];
    int64_t demand[CASE_SERVICES][CASE_RESOURCES], capacity[CASE_HARDWARE + 1][CASE_RESOURCES];
    struct solver_hardware hardware[CASE_HARDWARE + 1];
    struct solver_set together[CASE_SETS], apart[CASE_SETS];
    struct solver_ratio ratios[CASE_SETS];
    struct solver_spread spreads[CASE_SETS];
    struct solver_existing existing[CASE_EXISTING];
    struct solver_key keys[CASE_KEYS];
    bool no_min[CASE_SERVICES]; /* it was taken out */
};

enum case_order { CASE_BY_COST, CASE_BY_NODES, CASE_AS_COOPR, CASE_BY_CHANCE, CASE_ORDERS };
/* Another order of what is better, for the same problem. */
void case_keys(struct cluster_case *c, struct dice *d, enum case_order order);
void case_roll(struct cluster_case *c, struct dice *d, enum case_order order);
/* A copy, with its pointers its own. */
void case_copy(struct cluster_case *to, const struct cluster_case *from);
void case_print(const struct cluster_case *c);
/* Takes a rule out, or changes it as a relaxation says. */
void case_drop(struct cluster_case *c, struct solver_ref ref);
void case_change(struct cluster_case *c, const struct solver_change *change);
/* Whether there is such a rule at all. */
bool case_has(const struct cluster_case *c, struct solver_ref ref);

struct brute_answer {
    bool found;
    uint32_t n_kinds;
    struct solver_kind kinds[CASE_KINDS]; /* in the original order; of each group, not entry */
    uint32_t given[CASE_EXISTING];
    int64_t values[CASE_KEYS];
    uint64_t layouts; /* looked at */
};
/* False: there are too many layouts to try. */
bool brute_solve(const struct cluster_case *c, struct brute_answer *ret);

#endif
