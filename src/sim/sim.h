/* sim.h - the simulator: the real engine and the real commit step in virtual time, from one seed
 *
 * A run makes a world out of its seed (nodes, workers, pools, plans), breaks it in every way that
 * is switched on, checks the invariants of docs/rfc/01-engine.md section 11 after every step, then
 * heals it and requires that every task passes.  What a run does and prints depends on its options
 * and on the version of the program, on nothing else: no clock, no address, no order of a hash.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* What can go wrong, each switched by name.  The second list is drawn from at random moments with
 * these weights; the first acts where it belongs: on a message, a commit, a run. */
#define SIM_HABITS(X)                                                                              \
    X(LOSE, "lose", 0)         /* a message is lost */                                             \
    X(DOUBLE, "double", 0)     /* a message arrives twice */                                       \
    X(DELAY, "delay", 0)       /* a message comes late, after younger ones */                      \
    X(FAIL, "fail", 0)         /* runs fail, time out, are refused */                              \
    X(AGAIN, "again", 0)       /* runs answer: not yet */                                          \
    X(RETURNS, "returns", 0)   /* runs return something that others see */                         \
    X(DEAF, "deaf", 0)         /* a run does not end when told to */                               \
    X(CRASH, "crash", 0)       /* the server dies between any two of its steps */                  \
    X(REFUSE, "refuse", 0)     /* the store refuses a commit */                                    \
    X(UNKNOWN, "unknown", 0)   /* the store commits and says that it failed */                     \
    X(HOOKS, "hooks", 0)       /* hooks set data and ask for runs */                               \
    X(SETTINGS, "settings", 0) /* a server comes back with other settings of the engine */
#define SIM_STRIKES(X)                                                                             \
    X(WORKER, "worker", 2) /* a worker dies with all it holds */                                   \
    X(CAPACITY, "capacity", 2)                                                                     \
    X(SILENT, "silent", 4) /* a node does not answer for a while */                                \
    X(DEATH, "death", 2)   /* long enough to be called dead */                                     \
    X(REBOOT, "reboot", 4)                                                                         \
    X(REPLACE, "replace", 1) /* another machine comes up under its name */                         \
    X(MASS, "mass", 1)       /* many nodes fall silent together */                                 \
    X(WORD, "word", 1)       /* an operator declares a node dead */                                \
    X(UNAVAILABLE, "unavailable", 4)                                                               \
    X(SLOTS, "slots", 2)                                                                           \
    X(JIG, "jig", 2)       /* switched off, or without workers */                                  \
    X(POOL, "pool", 4)     /* resized, closed, taken elsewhere */                                  \
    X(FREEZE, "freeze", 1) /* policy: an error freezes its node */                                 \
    X(SHARE, "share", 2)   /* of a tenant: smaller, larger, none */                                \
    X(CANCEL, "cancel", 4)                                                                         \
    X(SUPERSEDE, "supersede", 2)                                                                   \
    X(POKE, "poke", 4)                                                                             \
    X(RERUN, "rerun", 12)                                                                          \
    X(DATA, "data", 20)                                                                            \
    X(REDEPLOY, "redeploy", 2) /* a node begins from nothing */                                    \
    X(CHANGE, "change", 12)    /* a commit over what lives */                                      \
    X(REMOVE, "remove", 4)     /* one and all that need it */                                      \
    X(RESTORE, "restore", 3)   /* wanted after all */                                              \
    X(ABANDON, "abandon", 1)                                                                       \
    X(PROPOSE, "propose", 2) /* desired state: what is wanted, changed by steps */                 \
    X(EDIT, "edit", 3)                                                                             \
    X(COMMIT, "commit", 2)                                                                         \
    X(RECALL, "recall", 1)                                                                         \
    X(ROLLBACK, "rollback", 1)                                                                     \
    X(AMEND, "amend", 2)       /* at once, beside a proposal that somebody has open */             \
    X(NONSENSE, "nonsense", 3) /* requests that must be refused and change nothing */
#define SIM_FAULTS(X) SIM_HABITS(X) SIM_STRIKES(X)
enum sim_fault {
#define X(id, name, weight) SIM_##id,
    SIM_FAULTS(X)
#undef X
        SIM_FAULT_COUNT
};
#define SIM_FAULTS_ALL ((1ull << SIM_FAULT_COUNT) - 1)
const char *sim_fault_name(enum sim_fault f);
/* "all", "none", or names separated by commas; false if one is unknown. */
bool sim_faults_parse(const char *text, uint64_t *ret_faults);
void sim_faults_write(struct buf *b, uint64_t faults);

enum { SIM_EVENTS_DEFAULT = 10000 };
struct sim_options { /* 0: drawn from the seed */
    uint64_t seed;
    uint32_t events; /* engine events before healing begins; 0: the default */
    uint32_t nodes, noderoles;
    uint64_t faults; /* bits 1 << enum sim_fault */
    bool verbose;    /* print every step */
    bool verify;     /* restore and replay after every group: slow, and the run stays the same */
    uint32_t trip;   /* pretend that a check fails at this event: to try what follows a failure */
};

#define SIM_COUNTS(X)                                                                              \
    X(events)                                                                                      \
    X(stale)                                                                                       \
    X(refused)                                                                                     \
    X(starts)                                                                                      \
    X(ahead)                                                                                       \
    X(asks)                                                                                        \
    X(groups)                                                                                      \
    X(slices)                                                                                      \
    X(restores)                                                                                    \
    X(replays)                                                                                     \
    X(images)                                                                                      \
    X(losses)                                                                                      \
    X(stalls)                                                                                      \
    X(joins)                                                                                       \
    X(drains)                                                                                      \
    X(corrections)                                                                                 \
    X(rollouts)                                                                                    \
    X(leavings)                                                                                    \
    X(quorums)                                                                                     \
    X(fenced)                                                                                      \
    X(plans)                                                                                       \
    X(changes)                                                                                     \
    X(snapshots)                                                                                   \
    X(merges)                                                                                      \
    X(conflicts)                                                                                   \
    X(nodes)                                                                                       \
    X(noderoles)                                                                                   \
    X(tasks)
struct sim_report {
    bool failed;
    char what[600]; /* the invariant and the object, or the wedge */
    uint64_t step;  /* of the failure, or the last */
    uint64_t trail; /* digest of everything that happened */
    uint64_t virtual_ms;
#define X(name) uint64_t name;
    SIM_COUNTS(X)
#undef X
    uint64_t faults[SIM_FAULT_COUNT];
};

/* How large the world of a run is, drawn or as the options say. */
void sim_world_size(const struct sim_options *o, uint32_t *ret_nodes, uint32_t *ret_noderoles);
/* One run in this process.  history (may be NULL) gets the last steps before a failure. */
void sim_run(const struct sim_options *o, struct sim_report *ret, struct buf *history);
/* One run in a child process: a crash of the engine itself is a failure like any other. */
void sim_run_apart(const struct sim_options *o, struct sim_report *ret, struct buf *history);
/* Looks for a smaller run that still fails: fewer events, fewer kinds of faults, a smaller world.
 */
struct sim_options sim_shrink(const struct sim_options *o, const struct sim_report *failure);
/* The command line that repeats a run. */
void sim_command(struct buf *b, const struct sim_options *o);

/* `anneal sim`; argv[0] is the verb.  Writes to standard output; returns the exit code. */
int sim_main(int argc, char **argv);

#endif
