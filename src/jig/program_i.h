/* program_i.h - what all jigs share that run programs under the runner: arguments, environment,
 * input, and what a refusal of the runner means
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
/* An environment from nothing, `env` (a map of texts, or NULL) and what tells of the task. */
void program_words_env(struct program_words *w, struct arena *mem, const struct task_request *req,
                       const struct value *env);
/* JSON text, or {} for none. */
void program_input_raw(struct buf *b, struct str json);
/* ,"task":{...},"node":{...} */
void program_input_about(struct buf *b, const struct taskmsg *m);

/* The lock of a task is one file, whoever runs it. */
char *program_lock_path(const struct jig_env *env, uint32_t task);
/* Exit status RUNNER_REFUSED: true if the runner did not start the program, with the outcome and
 * text set. */
bool program_refused(const char *lock_path, const struct run_record *id, int runner,
                     const char *last_line, struct jig_result *r);

#endif
