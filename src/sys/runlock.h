/* runlock.h - the lock file of one task: who runs it on this machine, and how far that came
 *
 * The file is locked with flock() by the runner (sys/runner.h) for as long as any process of the
 * attempt lives, and its content says who that is.  A lock is gone with its holder, however it
 * dies; a record stays.  From the pair of them a later runner knows what it may do:
 *
 *   locked    the recorded runner is alive, with all its processes
 *   unlocked  HELD: it never started the command; STARTED: the runner was killed half-way; ENDED:
 * the command ran and its end was seen; no file: never run here, or succeeded
 *
 * The order of runs of a task is (attempt, ask, step): an attempt that answered "not yet" is asked
 * again, and one run may be several commands one after the other (tests around a task).
 * Nothing but libc: the runner links this and little else.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SYS_RUNLOCK_H
#define SYS_RUNLOCK_H

#include <stdbool.h>
#include <stdint.h>

#define RUN_STATES(X)                                                                              \
    X(HELD, "held")                                                                                \
    X(STARTED, "started")                                                                          \
    X(ENDED, "ended")
enum run_state {
#define X(id, text) RUN_##id,
    RUN_STATES(X)
#undef X
        RUN_STATE_COUNT
};
struct run_record {
    uint32_t task, attempt, ask, step;
    int32_t runner; /* its process number */
    uint64_t
        since_ticks; /* when that process started, in ticks since boot: tells a reused number */
    int32_t child;   /* the command's process and group; 0 before the start */
    int32_t status;  /* of the runner, once ENDED */
    enum run_state state;
};

/* All return -1 with errno on failure. */
int runlock_open(const char *path); /* made if absent; close-on-exec */
/* 1: locked, and the descriptor is what the path names.  0: somebody else has it.  If the last
 * holder unlinked the file meanwhile, *fd becomes a descriptor of the new one. */
int runlock_try(int *fd, const char *path);
/* 1: *ret_r is filled.  0: the file is empty.  -1 with EINVAL: not a record, perhaps half of one.
 */
int runlock_read(int fd, struct run_record *ret_r);
int runlock_read_path(const char *path, struct run_record *ret_r);
int runlock_write(int fd, const struct run_record *r);
/* <0, 0, >0 as a's run comes before, is, or comes after b's. */
int runlock_order(const struct run_record *a, const struct run_record *b);
/* Start time of a process; 0 if there is none. */
uint64_t run_since_ticks(int32_t pid);

#endif
