/* tally.h - tasks of each operation, counted by definition and by how far they are
 *
 * What an operation weighs is asked for far more often than its tasks can be walked: a sum over
 * definitions takes their place.  Counts follow the engine's changes, one look per change, and are
 * made anew at a restart in one pass.  What a task weighs is not known here, so that learning it
 * (pace.h) moves no count.
 *
 * Promise: after tally_follow() of every step the counts are what tally_new() would count now.
 *
 * Tasks that nothing executes, and those that were skipped, are counted nowhere.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_TALLY_H
#define SERVER_TALLY_H

#include "annealer/annealer.h"

enum { TALLY_DEPTH_MOST = 65535 };

struct tally;
struct tally_count { /* tasks of one definition in one operation */
    uint32_t def;
    uint32_t left;   /* may still run, or runs */
    uint32_t passed; /* done, or failed where that may be */
    uint32_t lost;   /* failed, or will not run */
};
/* Counts what the engine has. */
struct tally *tally_new(const struct anneal *a);
void tally_free(struct tally *t);
/* A step was taken. */
void tally_follow(struct tally *t, const struct anneal *a, const struct effects *fx);

/* In no order; the array is borrowed until the next call. */
const struct tally_count *tally_operation(struct tally *t, uint32_t op, size_t *ret_n);
/* Tasks on the longest chain that is left: the greatest weight (model/plan.h) of those that are
 * left, TALLY_DEPTH_MOST at most.  0: nothing is left. */
uint32_t tally_depth(struct tally *t, uint32_t op);

#endif
