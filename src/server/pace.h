/* pace.h - how long tasks of a definition take, learnt from those that succeeded
 *
 * A definition is known by its role, its name and what runs it, not by its number: another
 * generation of the same task starts with what is known of the last one.  What is expected is a
 * moving mean: each run moves it by an eighth of the difference, the first ones by their share of
 * all so far.  A run too short for the clock counts half of what the clock can tell.
 *
 * It is an estimate and treated as one: a row is written at the 1st, 2nd, 4th, ... run and at every
 * PACE_EVERY-th, with the group that brought the result.  A crash loses what was learnt since,
 * never more than PACE_EVERY runs, and nothing that decides anything depends on it.  Rows are not
 * taken away: there are as many as definitions were ever named.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_PACE_H
#define SERVER_PACE_H

#include <stdbool.h>

#include "store/store.h"

enum { PACE_EVERY = 64, PACE_SHARE = 8, PACE_LEAST_US = 500 };

struct pace;
struct pace *pace_new(void);
void pace_free(struct pace *p);
int pace_load(struct pace *p, struct store *from, struct err *e);

/* Never 0.  Texts may be NULL: empty. */
uint64_t pace_key(const char *role, const char *name, const char *type);
/* 0: nothing is known. */
uint64_t pace_expected_us(const struct pace *p, uint64_t key);
/* One run more.  True: this row is due to be written. */
bool pace_learn(struct pace *p, uint64_t key, uint64_t ran_us, struct row_pace *ret_row);

#endif
