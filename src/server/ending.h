/* ending.h - what became of an operation that did not end well, in tasks that do something
 *
 * The engine's own figures (operation_view) count whatever the operation holds together: joins,
 * what was kept, and the undo that ran in front of another try.  Whoever reads "1 of 5 done" of a
 * machine that was never made takes the undo for progress.  Here counts only what the operation was
 * asked for: done, failed, never run; and the undo apart.
 *
 * It is read from the tasks that are the operation's now.  Once a later operation has taken its
 * noderoles over, there is nothing to be read any more, and ending_known() says so.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ENDING_H
#define SERVER_ENDING_H

#include "annealer/annealer.h"

enum { ENDING_NAMED = 5 };

struct ending {
    uint32_t done, failed, never_ran, undone;
    uint32_t failures[ENDING_NAMED]; /* the first of those that failed, by number */
};
/* Counts one task. */
void ending_add(struct ending *r, const struct task_view *t);
/* Of all tasks that it has; false: it is not one that ended badly, or others have them by now. */
bool ending_known(const struct anneal *a, uint32_t op, struct ending *ret);

#endif
