/* solver_price_i.h - what pricing works on: one pool, one slot, and the options worth looking at */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOLVER_SOLVER_PRICE_I_H
#define SOLVER_SOLVER_PRICE_I_H

#include "solver/solver_i.h"

struct pricer {
    int64_t *multipliers;            /* of rows, the objective included */
    int64_t *common, *kept, *spread; /* of services; spread: for each value */
    bool *spread_value;              /* values with weights of their own */
    /* one pool, one slot */
    int64_t *weight; /* of options */
    uint32_t n;
    uint32_t *order;          /* options that are worth looking at */
    int64_t *w, *rest;        /* by that order; rest: positive weights from there on */
    int64_t *used;            /* n_resources at each depth */
    struct solver_set *set;   /* at each depth */
    struct solver_set *alive; /* options that no rival keeps away, at each depth */
    bool rivals;              /* among the candidates */
    uint8_t *tried;
    uint32_t n_scarce, scarce[2]; /* resources in the table */
    int64_t unit[2], span[2];     /* of each: what a cell stands for, how many cells */
    VEC(int64_t) table;           /* for each depth, and room left of both: the most to come */
};

/* solver_candidates.c: options that may be in the best kind, in the order in which they are tried;
 * all: whatever they weigh. */
void price_candidates(struct engine *g, const struct pool *pool, const struct slot *slot, bool all);
/* The most that candidates from k on can add to what is used. */
int64_t price_most_from(struct engine *g, const struct pool *pool, const struct slot *slot,
                        uint32_t k, const int64_t *used);
/* Whether candidate k can be taken without a second thought. */
bool price_sure(const struct pricer *c, const struct pool *pool, uint32_t k);

#endif
