/* runtree.h - ending every process that an attempt has started
 *
 * The runner is the reaper of all its descendants: whoever loses its parent becomes the runner's
 * own child.  Killing direct children until there are none therefore reaches everybody, whatever
 * sessions, groups or names they hide in.  For an attempt whose runner was itself killed, the
 * second function finds what is left by a variable in its environment.  Nothing but libc.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_RUNTREE_H
#define SYS_RUNTREE_H

#include <stdint.h>
#include <sys/types.h>

/* SIGKILL to all our children, again and again, until none is left.  `child` is the command if it
 * was not reaped yet, else 0; its wait status goes to *ret_status.  Blocks: a process in
 * uninterruptible sleep is waited for, since it still runs. */
void runtree_end(pid_t child, int *ret_status);
/* SIGKILL to all processes but ourselves with exactly `variable` ("NAME=value") in their
 * environment. 0 when none is left, -1 with ETIMEDOUT when some are still there after patience_ms.
 */
int runtree_sweep(const char *variable, uint64_t patience_ms);

#endif
