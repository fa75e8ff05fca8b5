/* shell_node.c - what the jigs shell and script run, and what becomes of it
 *
 * A program on a node that exits with 76 wants its machine booted: that is told to boot in a second
 * step, and the attempt is asked again.  The runner there keeps the program from running before it
 * has booted (reach/runner.sh), whatever becomes of that second step.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "jig/boot_i.h"
#include "jig/shell_i.h"

static const char *const *words_of(struct arena *mem, const char *first, const struct value *rest)
{
    uint32_t n = rest ? rest->n : 0, at = 0;
    const char **argv = arena_new(mem, const char *, n + 2);
    if (first)
        argv[at++] = first;
    for (uint32_t i = 0; i < n; i++)
        argv[at++] = rest->items[i].s;
    return argv;
}

int shell_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
               struct err *e)
{
    const struct value *script = value_get(req->params, "script");
    (void)e;
    if (req->part > 0) {
        boot_step_fill(req, NULL, mem, ret_s);
        return 0;
    }
    ret_s->kind = script ? REACH_SCRIPT : REACH_ARGV;
    if (script)
        ret_s->script = value_as_str(script);
    else
        ret_s->argv = words_of(mem, NULL, value_get(req->params, "command"));
    program_step_fill(req, mem, ret_s);
    return 0;
}

int script_step(const struct task_request *req, struct arena *mem, struct reach_step *ret_s,
                struct err *e)
{
    (void)e;
    if (req->part > 0) {
        boot_step_fill(req, NULL, mem, ret_s);
        return 0;
    }
    ret_s->kind = REACH_ARGV;
    ret_s->argv = words_of(mem, value_as_text(value_get(req->params, "file"), ""),
                           value_get(req->params, "args"));
    program_step_fill(req, mem, ret_s);
    return 0;
}

int shell_next(const struct jig_env *env, const struct task_request *req,
               const struct reach_end *end, struct arena *mem, struct reach_step *ret_s,
               struct err *e)
{
    static const char told[] = "--- exit status 76: the node is booted, then it is asked again\n";
    if (end->status != PROGRAM_REBOOT || !req->msg->key.n)
        return 0;
    env->log(env->ctx, 1, told, sizeof told - 1);
    boot_step_fill(req, NULL, mem, ret_s);
    (void)e;
    return 1;
}

void shell_judge(const struct task_request *req, const struct reach_end *end, const char *last_line,
                 struct arena *mem, struct jig_result *r)
{
    if (req->part == 0) {
        program_status_judge(end, last_line, mem, r);
        return;
    }
    boot_end_judge(end, last_line, r);
    if (r->outcome == OUTCOME_OK) { /* it has booted: now it is the program's turn again */
        r->outcome = OUTCOME_AGAIN;
        r->again_ms = BOOT_AGAIN_MS;
    }
}
