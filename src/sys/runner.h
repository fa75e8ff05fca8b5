/* runner.h - supervises one run of one task on the machine where it runs
 *
 * The heart of the program anneal-runner.  It promises, whatever dies around it:
 *
 *   - two runs of one task never overlap: it holds the task's lock (sys/runlock.h) from before the
 *     command starts until the last process of the command's tree is gone; it ends an earlier run
 * that still has the lock, and refuses to follow a later one or to repeat the same one;
 *   - nothing survives: processes that the command leaves behind are killed, and when the server
 * dies, even by SIGKILL, the whole tree is killed at once; but see `leaves`;
 *   - the record tells whether the command was started, for tasks that must not be started twice.
 *
 * Signals to the runner: TERM, INT and HUP are passed on to the command's group and followed by
 * KILL to the whole tree after the grace; QUIT kills at once (the parent's death arrives as that).
 *
 * The exit status is the command's; 128 + n if signal n ended it; 126 or 127 if it could not be
 * executed; RUNNER_REFUSED with a line on standard error if it was not started.  Since a command
 * may exit with that number too, only the record tells the two apart. Nothing but libc, one thread.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_RUNNER_H
#define SYS_RUNNER_H

#include <stdbool.h>
#include <stdint.h>

enum { RUNNER_REFUSED = 125 };
/* In the command's environment: the lock file's path.  Finds what a killed runner left behind. */
#define RUNNER_VARIABLE "ANNEAL_LOCK"

struct runner_options {
    const char *lock_path; /* absolute */
    uint32_t task, attempt, ask, step;
    uint64_t grace_ms; /* from TERM to KILL, for our command and for an earlier run */
    int32_t parent;    /* process that must be our parent; 0: not checked */
    /* A command that makes what is meant to stay, such as a machine, says which processes those
     * are: they do not have RUNNER_VARIABLE in their environment.  They are spared if the command
     * succeeds; in every other case they end with the rest. */
    bool leaves;
    char *const *argv;
};
/* The exit status for the process. */
int runner_run(const struct runner_options *o);
/* Command line: --lock FILE --task N --attempt N [--ask N] [--step N] [--grace MS] [--parent PID]
 * [--leaves 1] -- argv...
 * Or --tie PID -- argv...: becomes that program, under no lock; it gets TERM when its parent, PID,
 * or the thread that started it, ends. */
int runner_main(int argc, char **argv);

#endif
