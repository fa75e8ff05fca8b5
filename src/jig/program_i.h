/* program_i.h - what all jigs share that run programs: arguments, environment, input, what their
 * exit status means, and what a refusal of the runner does
 */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_PROGRAM_I_H
#define JIG_PROGRAM_I_H

#include "base/alloc.h"
#include "jig/jig_i.h"
#include "sys/runlock.h"

struct program_words { /* an argument vector or environment, its texts in an arena */
    const char **at;
    size_t n, cap;
};

/* The runner and its arguments, up to the program itself.  `leaves`: see sys/runner.h. */
void program_words_runner(struct program_words *w, struct arena *mem, const struct jig_env *env,
                          const char *lock_path, const struct task_request *req, uint32_t step,
                          bool leaves);
/* An environment from nothing and what tells of the task. */
void program_words_env(struct program_words *w, struct arena *mem, const struct task_request *req);
/* The part of it that is not about the task: PATH, HOME and so on, but for what `own` has. */
void program_words_base(struct program_words *w, struct arena *mem,
                        const struct reach_variable *own, size_t own_n);
/* JSON text, or {} for none. */
void program_input_raw(struct buf *b, struct str json);
/* ,"task":{...},"node":{...} */
void program_input_about(struct buf *b, const struct taskmsg *m);

/* {"params":...,"data":...,"task":...,"node":...} and a newline */
void program_input_write(struct buf *b, const struct task_request *req);

struct program_env { /* variables of a step, in an arena */
    struct arena *mem;
    struct reach_variable *at;
    size_t n, cap;
};
/* params.env, whose types are right: names of variables that are not ours. */
int program_env_check(const struct value *env, struct err *e);
void program_env_add(struct program_env *env, const char *name, const char *value);
/* What tells of the task; program_flat.c: its parameters and data. */
void program_env_task(struct program_env *env, struct arena *mem, const struct task_request *req);
void program_env_flat(struct program_env *env, struct arena *mem, const struct task_request *req);
/* Everything of a step that runs a program but which: input, environment, directory, boots. */
void program_step_fill(const struct task_request *req, struct arena *mem, struct reach_step *s);

/* program_status.c */
enum { PROGRAM_REBOOT = 76 };
void program_status_judge(const struct reach_end *end, const char *last_line, struct arena *mem,
                          struct jig_result *ret_r);
/* "exit status 3: last line" */
void program_failure_say(const char *last_line, struct jig_result *r);

/* The lock of a task is one file, whoever runs it. */
char *program_lock_path(const struct jig_env *env, uint32_t task);
/* Exit status RUNNER_REFUSED: true if the runner did not start the program, with the outcome and
 * text set. */
bool program_refused(const char *lock_path, const struct run_record *id, int runner,
                     const char *last_line, struct jig_result *r);

#endif
