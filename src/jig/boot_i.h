/* boot_i.h - a node is told to boot: the step for it, and what its end means */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef JIG_BOOT_I_H
#define JIG_BOOT_I_H

#include "jig/jig_i.h"

enum { BOOT_AGAIN_MS = 2000 };

/* command: a list of texts, or NULL for what the node has. */
void boot_step_fill(const struct task_request *req, const struct value *command, struct arena *mem,
                    struct reach_step *s);
/* OK once it has booted, AGAIN before that. */
void boot_end_judge(const struct reach_end *end, const char *last_line, struct jig_result *ret_r);

#endif
