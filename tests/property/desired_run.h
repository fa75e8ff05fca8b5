/* desired_run.h - one seed: both sides, what was done, and the first thing that was wrong */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_PROPERTY_DESIRED_RUN_H
#define TESTS_PROPERTY_DESIRED_RUN_H

#include "naive.h"
#include "real.h"

/* What came up, and in how many seeds at least once. */
#define RUN_COUNTS(X)                                                                              \
    X(binds, 5)                                                                                    \
    X(bind_refusals, 5)                                                                            \
    X(peers, 5)                                                                                    \
    X(commits, 5)                                                                                  \
    X(commit_refusals, 5)                                                                          \
    X(merges, 5)                                                                                   \
    X(conflicts, 5)                                                                                \
    X(rollbacks, 5)                                                                                \
    X(added, 5)                                                                                    \
    X(changed, 5)                                                                                  \
    X(removed, 5)                                                                                  \
    X(back, 60)                                                                                    \
    X(sleeping, 5)                                                                                 \
    X(errors, 5)                                                                                   \
    X(blocked, 5)                                                                                  \
    X(quiet, 5)                                                                                    \
    X(seen, 5)                                                                                     \
    X(seen_peers, 5)
struct run_counts {
#define X(name, every) unsigned name;
    RUN_COUNTS(X)
#undef X
};

struct run_seen { /* the last inputs of a noderole */
    uint64_t digest;
    const char *text;
};
struct run {
    struct naive *v;
    struct real r;
    struct dice d; /* of the present step */
    bool exact;    /* all was quiet before this step */
    struct run_seen seen[BEINGS_MOST];
    struct buf log;
    char wrong[600]; /* "" while all is well */
    struct run_counts counts;
};

void run_wrong(struct run *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void run_log(struct run *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- desired_compare.c --- */
/* A map of desired state as the naive model writes it. */
void run_map(struct run *x, const struct pmap *m, struct naive_map *ret);
void run_compare_plan(struct run *x, const struct naive_plan *n, const struct plan *p);
void run_compare(struct run *x, bool quiet);
struct naive_word run_word(void *ctx, int id); /* ctx: the run */

/* --- desired_steps.c --- */
void run_step(struct run *x);
/* A proposal that is open; NULL: none. */
struct naive_snapshot *run_any_proposal(struct run *x);
/* New needs of those who live, in the snapshot that is given or else in the head of each. */
void run_note_peers(struct naive *v, const struct naive_plan *p, struct naive_snapshot *in);

/* --- desired_commit.c --- */
void run_commit(struct run *x);

#endif
