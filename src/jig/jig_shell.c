/* jig_shell.c - programs on the node of their task: the jigs shell, script and, always on the
 * worker's machine, master_shell
 *
 *   shell    command: [program, argument...]   or   script: text for /bin/sh
 *   script   file: path of a program, args: [argument...]
 *   both     env: {NAME: text}, cwd: directory (default /); other parameters are the program's own
 *
 * What the program gets: on standard input, and in the file $ANNEAL_INPUT_FILE, one JSON document
 * {"params", "data", "task", "node"}; in its environment ANNEAL_TASK, ANNEAL_ATTEMPT, ANNEAL_ASK,
 * ANNEAL_KEY, ANNEAL_NODE, ANNEAL_ADDRESS and ANNEAL_RESULT_FILE, parameters and data as far as
 * they have the form of variables (program_flat.c), beside a few variables of ours and `env`.
 * Nothing that may be secret is in an argument: a script is a file that only we can read.
 *
 * What it answers: a JSON map written to descriptor 3, or to the file $ANNEAL_RESULT_FILE, is what
 * the task returns.  What its exit status means is in program_status.c.  Its standard outputs are
 * the log.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/shell_i.h"

static int shell_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"command", PARAM_STRINGS},
                                             {"script", PARAM_STRING},
                                             {"env", PARAM_STRING_MAP},
                                             {"cwd", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof table[0], false, e);
    const struct value *command = value_get(params, "command"),
                       *script = value_get(params, "script");
    if (rc < 0)
        return rc;
    if (!command == !script)
        return err_set(e, ERR_INVALID, "a shell task needs either command or script");
    if (command && (command->n == 0 || command->items[0].n == 0)) {
        rc = err_set(e, ERR_INVALID, "command is empty");
        err_at(e, "/command");
        return rc;
    }
    return program_env_check(value_get(params, "env"), e);
}

static int script_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"file", PARAM_STRING},
                                             {"args", PARAM_STRINGS},
                                             {"env", PARAM_STRING_MAP},
                                             {"cwd", PARAM_STRING}};
    int rc = jig_params_check(params, table, sizeof table / sizeof table[0], false, e);
    if (rc < 0)
        return rc;
    if (value_as_str(value_get(params, "file")).n == 0)
        return err_set(e, ERR_INVALID, "a script task needs file, the path of a program");
    return program_env_check(value_get(params, "env"), e);
}

static int shell_start(const struct jig_env *env, const struct task_request *req,
                       struct jig_run **ret_run, struct err *e)
{
    return program_run_start(shell_step, shell_judge, env, req, ret_run, e);
}

static int script_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    return program_run_start(script_step, shell_judge, env, req, ret_run, e);
}

static enum shell_form shell_form_of(const struct task_request *req)
{
    return value_get(req->params, "script") ? SHELL_SCRIPT : SHELL_COMMAND;
}

static void shell_preview(const struct jig_env *env, const struct task_request *req,
                          struct jig_result *r)
{
    (void)r;
    shell_preview_log(shell_form_of(req), env, req);
}

static void script_preview(const struct jig_env *env, const struct task_request *req,
                           struct jig_result *r)
{
    (void)r;
    shell_preview_log(SHELL_FILE, env, req);
}

const struct jig jig_shell = {
    .name = "shell",
    .help = "runs params.command, or params.script by /bin/sh, on the node",
    .check = shell_check,
    .start = shell_start,
    .cancel = program_run_cancel,
    .free = program_run_free,
    .preview = shell_preview,
    .step = shell_step,
    .next = shell_next,
    .judge = shell_judge,
    .programs = true,
};

const struct jig jig_master_shell = {
    .name = "master_shell",
    .help = "as shell, but on the worker's machine, whatever the node",
    .check = shell_check,
    .start = shell_start,
    .cancel = program_run_cancel,
    .free = program_run_free,
    .preview = shell_preview,
    .programs = true,
};

const struct jig jig_script = {
    .name = "script",
    .help = "runs the program params.file with params.args on the node",
    .check = script_check,
    .start = script_start,
    .cancel = program_run_cancel,
    .free = program_run_free,
    .preview = script_preview,
    .step = script_step,
    .next = shell_next,
    .judge = shell_judge,
    .programs = true,
};
