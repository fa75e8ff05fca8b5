/* jig_shell.c - programs on the worker's machine, under the runner: the jigs shell, script and
 * master_shell; for nodes elsewhere: shell_node.c
 *
 *   shell    command: [program, argument...]   or   script: text for /bin/sh
 *   script   file: path of a program, args: [argument...]
 *   both     env: {NAME: text}, cwd: directory (default /); other parameters are the program's own
 *
 * What the program gets: on standard input one JSON document {"params", "data", "task", "node"}; in
 * its environment ANNEAL_TASK, ANNEAL_ATTEMPT, ANNEAL_ASK, ANNEAL_KEY, ANNEAL_NODE, ANNEAL_ADDRESS
 * and ANNEAL_RESULT_FILE beside a few variables of ours and `env`.  Nothing that may be secret is
 * in an argument: a script is a file that only we can read.
 *
 * What it answers: a JSON map written to descriptor 3, or to the file $ANNEAL_RESULT_FILE, is what
 * the task returns.  Exit status 0 is success; 75 is "not yet", to be asked again in the returned
 * again_ms (default 5000); anything else is failure.  Its standard outputs are the log.
 *
 * The lock file of the task is locks/<task>; see sys/runner.h for what it guarantees.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "jig/shell_i.h"

static int check_environment(const struct value *env, struct err *e)
{
    for (uint32_t i = 0; env && i < env->n; i++) {
        const struct member *m = &env->members[i];
        bool good = m->key_n > 0 && (m->key[0] < '0' || m->key[0] > '9');
        for (uint32_t k = 0; k < m->key_n; k++)
            good = good && (m->key[k] == '_' || (m->key[k] >= '0' && m->key[k] <= '9') ||
                            ((m->key[k] | 32) >= 'a' && (m->key[k] | 32) <= 'z'));
        if (good && strncmp(m->key, "ANNEAL_", 7))
            continue;
        int rc = err_set(e, ERR_INVALID, "\"%s\" %s", m->key,
                         good ? "is set by Anneal itself" : "is no name of a variable");
        err_at(e, "/env/%s", m->key);
        return rc;
    }
    return 0;
}

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
    return check_environment(value_get(params, "env"), e);
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
    return check_environment(value_get(params, "env"), e);
}

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct jig_run *run = arg;
    if (fd == 3) {
        buf_put(&run->result, p, n);
        return;
    }
    if (fd == 2)
        jig_line_note(&run->line, p, n);
    run->env->log(run->env->ctx, fd, p, n);
}

static void on_exit_of_runner(void *arg, const struct proc_exit *x)
{
    struct jig_run *run = arg;
    struct jig_result r;
    SCOPED_ARENA(mem);
    loop_timer_stop(run->kill_timer);
    shell_outcome_judge(run, x, &mem, &r);
    run->env->finish(run->env->ctx, &r);
}

static void on_grace_over(void *arg)
{
    struct jig_run *run = arg;
    proc_signal(run->proc, SIGQUIT); /* the runner kills the whole tree and then ends itself */
}

static char *scratch_path(const struct jig_env *env, const struct task_request *req,
                          const char *suffix)
{
    const struct taskmsg *m = req->msg;
    struct buf b = {0};
    buf_printf(&b, "%s/%s/%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32 "%s", env->run_dir,
               JIG_SCRATCH_DIR, m->task, m->attempt, m->ask, req->step, suffix);
    return buf_take(&b, NULL);
}

/* No fsync and no renaming: the file is for the child that is about to start, and for nobody else.
 */
static int write_script(const char *path, struct str text, struct err *e)
{
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, ERR_IO, errno, "cannot create %s", path);
    while (text.n > 0) {
        ssize_t n = write(fd, text.s, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            int rc = err_sys(e, errno == ENOSPC ? ERR_DISK_FULL : ERR_IO, errno, "cannot write %s",
                             path);
            close(fd);
            return rc;
        }
        text.s += n;
        text.n -= (size_t)n;
    }
    close(fd);
    return 0;
}

static void shell_free(struct jig_run *run)
{
    proc_free(run->proc);
    loop_timer_free(run->kill_timer);
    if (run->script_path)
        (void)unlink(run->script_path);
    (void)unlink(run->result_path);
    free(run->lock_path);
    free(run->script_path);
    free(run->result_path);
    buf_done(&run->result);
    free(run);
}

static int spawn_runner(struct jig_run *run, const struct task_request *req, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(input);
    struct program_words argv = {0}, envp = {0};
    shell_words_argv(&argv, &mem, run, req);
    shell_words_env(&envp, &mem, run, req);
    shell_input_write(&input, req);
    struct proc_spec spec = {
        .argv = argv.at,
        .envp = envp.at,
        .cwd = value_as_text(value_get(req->params, "cwd"), "/"),
        .input = buf_str(&input),
        .max_stdout = run->env->max_output_bytes,
        .max_stderr = run->env->max_output_bytes,
        .max_result = SHELL_RESULT_LIMIT + 1, /* one more shows that the limit was passed */
        .on_output = on_output,
        .on_exit = on_exit_of_runner,
        .arg = run,
    };
    int rc = proc_spawn(run->env->loop, &spec, &run->proc, e);
    vec_done(&argv);
    vec_done(&envp);
    return rc;
}

static int start_program(enum shell_form form, const struct jig_env *env,
                         const struct task_request *req, struct jig_run **ret_run, struct err *e)
{
    const struct taskmsg *m = req->msg;
    struct jig_run *run = xcalloc(1, sizeof *run);
    int rc = 0;
    run->env = env;
    run->form = form;
    run->id = (struct run_record){
        .task = m->task, .attempt = m->attempt, .ask = m->ask, .step = req->step};
    run->lock_path = program_lock_path(env, m->task);
    run->result_path = scratch_path(env, req, ".result");
    run->kill_timer = loop_timer_new(env->loop, on_grace_over, run);
    if (form == SHELL_SCRIPT) {
        run->script_path = scratch_path(env, req, ".sh");
        rc = write_script(run->script_path, value_as_str(value_get(req->params, "script")), e);
    }
    if (rc == 0)
        rc = spawn_runner(run, req, e);
    if (rc < 0) {
        shell_free(run);
        return rc;
    }
    *ret_run = run;
    return 0;
}

static enum shell_form shell_form_of(const struct task_request *req)
{
    return value_get(req->params, "script") ? SHELL_SCRIPT : SHELL_COMMAND;
}

static int shell_start(const struct jig_env *env, const struct task_request *req,
                       struct jig_run **ret_run, struct err *e)
{
    return start_program(shell_form_of(req), env, req, ret_run, e);
}

static int script_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    return start_program(SHELL_FILE, env, req, ret_run, e);
}

static void shell_cancel(struct jig_run *run, uint64_t grace_ms)
{
    uint64_t at_ms = loop_now_ms(run->env->loop) + grace_ms;
    if (!run->cancelled)
        proc_signal(run->proc, SIGTERM);
    run->cancelled = true;
    if (!loop_timer_armed(run->kill_timer) || at_ms < run->kill_at_ms) {
        run->kill_at_ms = at_ms;
        loop_timer_at(run->kill_timer, at_ms);
    }
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
    .cancel = shell_cancel,
    .free = shell_free,
    .preview = shell_preview,
    .step = shell_step,
    .judge = shell_judge,
    .programs = true,
};

const struct jig jig_master_shell = {
    .name = "master_shell",
    .help = "as shell, but on the worker's machine, whatever the node",
    .check = shell_check,
    .start = shell_start,
    .cancel = shell_cancel,
    .free = shell_free,
    .preview = shell_preview,
    .programs = true,
};

const struct jig jig_script = {
    .name = "script",
    .help = "runs the program params.file with params.args on the node",
    .check = script_check,
    .start = script_start,
    .cancel = shell_cancel,
    .free = shell_free,
    .preview = script_preview,
    .step = script_step,
    .judge = shell_judge,
    .programs = true,
};
