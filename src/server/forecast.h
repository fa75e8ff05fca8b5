/* forecast.h - how far an operation is by the work in it, and how long the rest will take
 *
 * Work is what tasks are expected to take (pace.h), summed over definitions (tally.h).  A task of
 * which nothing is known yet weighs what the others of its operation weigh on average; if nothing
 * is known of any, each weighs 1.  What was skipped or has nothing to execute weighs nothing.
 *
 * The rest takes as long as the longest chain of tasks that is left, at the mean weight of what is
 * left, or as all that is left at the parallelism seen so far, whichever is longer.  The chain is
 * counted in tasks (their weight in the plan), which costs nothing to keep; chains of heavy tasks
 * are therefore told too short, those of light ones too long.
 *
 * An operation that has ended is told by its own count of tasks: its noderoles, and their tasks
 * with them, move on to later operations.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_FORECAST_H
#define SERVER_FORECAST_H

#include "server/server_i.h"

struct forecast {
    uint64_t weight_done, weight_total; /* ms; tasks if nothing is known, or it has ended */
    uint32_t percent;
    int64_t eta_ms; /* -1: nobody can say */
};
struct forecast forecast_of(struct server *s, const struct operation_view *v, uint64_t created_ms,
                            uint64_t now_ms);
/* A step was taken: counts follow it, and tasks that succeeded teach how long they take. */
void forecast_follow(struct server *s, const struct effects *fx);

#endif
