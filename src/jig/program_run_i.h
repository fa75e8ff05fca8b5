/* program_run_i.h - a step of a jig as a process on this machine */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_PROGRAM_RUN_I_H
#define JIG_PROGRAM_RUN_I_H

#include "jig/program_i.h"
#include "sys/proc.h"

enum { PROGRAM_RESULT_LIMIT = 1024 * 1024 };

typedef int program_step_f(const struct task_request *req, struct arena *mem,
                           struct reach_step *ret_s, struct err *e);
typedef void program_judge_f(const struct task_request *req, const struct reach_end *end,
                             const char *last_line, struct arena *mem, struct jig_result *ret_r);

struct jig_run {
    const struct jig_env *env;
    const struct task_request *req;
    program_judge_f *judge;
    /* NULL, or called before the judge: what else there is to see of its end. */
    void (*look)(struct jig_run *run, struct arena *mem, struct reach_end *end);
    /* Its standard outputs as they come, whole: the log has its own limit.  NULL: nobody's. */
    void (*tap)(struct jig_run *run, int fd, const char *p, size_t n);
    void *own; /* of the two, freed by own_free */
    void (*own_free)(void *own);
    struct run_record id; /* task, attempt, ask, step: to compare with the lock's record */
    struct proc *proc;
    struct loop_timer *kill_timer;
    uint64_t kill_at_ms; /* while a cancel waits for its grace to end */
    bool cancelled, has_files;
    char *lock_path, *scratch; /* scratch: what the names of its files begin with */
    struct buf result;         /* what came on descriptor 3 */
    struct jig_line line;      /* of standard error */
};

/* What the jig's step() says, here: start(), cancel() and free() of such jigs. */
int program_run_start(program_step_f *step, program_judge_f *judge, const struct jig_env *env,
                      const struct task_request *req, struct jig_run **ret_run, struct err *e);
void program_run_cancel(struct jig_run *run, uint64_t grace_ms);
void program_run_free(struct jig_run *run);

/* The same in two parts, for a step that must know where the files of its run are.  Files are
 * "f.1" and so on; any other name in their directory is the caller's. */
struct jig_run *program_run_new(program_judge_f *judge, const struct jig_env *env,
                                const struct task_request *req);
int program_run_files(struct jig_run *run, const struct reach_put *files, size_t n, struct err *e);
char *program_run_file(const struct jig_run *run, const char *name); /* heap */
/* The run is freed if it fails. */
int program_run_step(struct jig_run *run, const struct reach_step *s, struct jig_run **ret_run,
                     struct err *e);
char *program_run_result_path(const struct jig_run *run); /* heap */

/* program_outcome.c: what the exit, the returned text and the lock's record amount to.  `mem` holds
 * ret_r->returns. */
void program_outcome_judge(struct jig_run *run, const struct proc_exit *x, struct arena *mem,
                           struct jig_result *ret_r);

#endif
