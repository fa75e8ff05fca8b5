/* shell_i.h - the parts of the jigs shell and script: what a program is given, what its end means
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_SHELL_I_H
#define JIG_SHELL_I_H

#include "jig/program_i.h"
#include "sys/proc.h"

enum { SHELL_RESULT_LIMIT = 1024 * 1024 };

/* How the program is named: by params.command, by the text params.script, by the path params.file.
 */
enum shell_form { SHELL_COMMAND, SHELL_SCRIPT, SHELL_FILE };
struct jig_run {
    const struct jig_env *env;
    enum shell_form form;
    struct run_record id; /* task, attempt, ask, step: to compare with the lock's record */
    struct proc *proc;
    struct loop_timer *kill_timer;
    uint64_t kill_at_ms; /* while a cancel waits for its grace to end */
    bool cancelled;
    char *lock_path, *script_path, *result_path;
    struct buf result;    /* what came on descriptor 3 */
    struct jig_line line; /* of standard error */
};

/* shell_request.c: argv (runner and program), environment and standard input of a run. */
void shell_words_argv(struct program_words *w, struct arena *mem, const struct jig_run *run,
                      const struct task_request *req);
void shell_words_env(struct program_words *w, struct arena *mem, const struct jig_run *run,
                     const struct task_request *req);
void shell_input_write(struct buf *b, const struct task_request *req);

/* shell_outcome.c: what the exit, the returned text and the lock's record amount to.  `mem` holds
 * ret_r->returns. */
void shell_outcome_judge(struct jig_run *run, const struct proc_exit *x, struct arena *mem,
                         struct jig_result *ret_r);

/* The same for one that ran elsewhere: its status, what it returned, the last line it wrote. */
void shell_status_judge(int status, struct str result, const char *last_line, struct arena *mem,
                        struct jig_result *ret_r);

/* shell_node.c: the jigs' step and judge. */
int shell_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
               struct err *e);
int script_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                struct err *e);
void shell_judge(const struct task_request *req, const struct reach_end *end, const char *last_line,
                 struct arena *mem, struct jig_result *ret_r);

/* shell_preview.c: what would be run, for the log of a no-op. */
void shell_preview_log(enum shell_form form, const struct jig_env *env,
                       const struct task_request *req);

#endif
