/* shell_i.h - the parts of the jigs shell and script */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_SHELL_I_H
#define JIG_SHELL_I_H

#include "jig/program_run_i.h"

/* How the program is named: by params.command, by the text params.script, by the path params.file.
 */
enum shell_form { SHELL_COMMAND, SHELL_SCRIPT, SHELL_FILE };

/* shell_node.c: what is run, on a node or here, and what its end means. */
int shell_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
               struct err *e);
int script_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                struct err *e);
int shell_next(const struct jig_env *env, const struct task_request *req,
               const struct reach_end *end, struct arena *mem, struct reach_step *ret_s,
               struct err *e);
void shell_judge(const struct task_request *req, const struct reach_end *end, const char *last_line,
                 struct arena *mem, struct jig_result *ret_r);

/* shell_preview.c: what would be run, for the log of a no-op. */
void shell_preview_log(enum shell_form form, const struct jig_env *env,
                       const struct task_request *req);

#endif
