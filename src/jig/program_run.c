/* program_run.c - a step of a jig as a process on this machine, under the compiled runner
 *
 * A jig says what is to be run and what its end means in the same words for a node and for here
 * (struct reach_step, struct reach_end).  Here the lock of the task is locks/<task>, see
 * sys/runner.h for what it guarantees, and what the program is given as files lies in scratch/:
 *
 *   T.A.K.S.sh      the script           T.A.K.S.input   what is on standard input as well
 *   T.A.K.S.result  $ANNEAL_RESULT_FILE  T.A.K.S.d/f.N   its own files, $ANNEAL_FILES.N
 *
 * for task, attempt, ask and step.  Only our user can read them, and they go with the run.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jig/program_run_i.h"
#include "sys/fs.h"

#define ADD(w, ...) vec_push((w), arena_printf(mem, __VA_ARGS__))

enum scratch_file { SCRATCH_SCRIPT, SCRATCH_INPUT, SCRATCH_RESULT, SCRATCH_COUNT };
static const char *const suffixes[SCRATCH_COUNT] = {
    [SCRATCH_SCRIPT] = ".sh", [SCRATCH_INPUT] = ".input", [SCRATCH_RESULT] = ".result"};

static char *scratch_at(const struct jig_run *run, const char *suffix)
{
    struct buf b = {0};
    buf_printf(&b, "%s%s", run->scratch, suffix);
    return buf_take(&b, NULL);
}

char *program_run_result_path(const struct jig_run *run)
{
    return scratch_at(run, suffixes[SCRATCH_RESULT]);
}

static char *files_dir(const struct jig_run *run)
{
    return scratch_at(run, ".d");
}

/* No fsync and no renaming: the file is for the child that is about to start, and for nobody else.
 */
static int scratch_write(const char *path, struct str text, struct err *e)
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

static int scratch_put(const struct jig_run *run, enum scratch_file which, struct str text,
                       struct err *e)
{
    char *path = scratch_at(run, suffixes[which]);
    int rc = scratch_write(path, text, e);
    free(path);
    return rc;
}

int program_run_files(struct jig_run *run, const struct reach_put *files, size_t n, struct err *e)
{
    char *dir = files_dir(run);
    SCOPED_BUF(path);
    int rc = fs_remove_tree(dir, e);
    run->has_files = true;
    if (rc >= 0 || rc == -ERR_NOT_FOUND)
        rc = mkdir(dir, 0700) == 0 ? 0 : err_sys(e, ERR_IO, errno, "cannot make %s", dir);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        buf_clear(&path);
        buf_printf(&path, "%s/f.%zu", dir, i + 1);
        rc = scratch_write(path.data, files[i].content, e);
    }
    free(dir);
    return rc;
}

char *program_run_file(const struct jig_run *run, const char *name)
{
    char *dir = files_dir(run), *path = fs_join(dir, name);
    free(dir);
    return path;
}

void program_run_free(struct jig_run *run)
{
    struct err e;
    proc_free(run->proc);
    loop_timer_free(run->kill_timer);
    for (size_t i = 0; i < SCRATCH_COUNT; i++) {
        char *path = scratch_at(run, suffixes[i]);
        (void)unlink(path);
        free(path);
    }
    if (run->has_files) {
        char *dir = files_dir(run);
        (void)fs_remove_tree(dir, &e);
        free(dir);
    }
    if (run->own_free)
        run->own_free(run->own);
    free(run->lock_path);
    free(run->scratch);
    buf_done(&run->result);
    free(run);
}

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct jig_run *run = arg;
    if (fd == 3) {
        buf_put(&run->result, p, n);
        return;
    }
    if (run->tap)
        run->tap(run, fd, p, n);
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
    program_outcome_judge(run, x, &mem, &r);
    run->env->finish(run->env->ctx, &r);
}

static void on_grace_over(void *arg)
{
    struct jig_run *run = arg;
    proc_signal(run->proc, SIGQUIT); /* the runner kills the whole tree and then ends itself */
}

void program_run_cancel(struct jig_run *run, uint64_t grace_ms)
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

struct jig_run *program_run_new(program_judge_f *judge, const struct jig_env *env,
                                const struct task_request *req)
{
    const struct taskmsg *m = req->msg;
    struct jig_run *run = xcalloc(1, sizeof *run);
    struct buf b = {0};
    run->env = env;
    run->req = req;
    run->judge = judge;
    run->id = (struct run_record){
        .task = m->task, .attempt = m->attempt, .ask = m->ask, .step = req->step};
    run->lock_path = program_lock_path(env, m->task);
    buf_printf(&b, "%s/%s/%" PRIu32 ".%" PRIu32 ".%" PRIu32 ".%" PRIu32, env->run_dir,
               JIG_SCRATCH_DIR, m->task, m->attempt, m->ask, req->step);
    run->scratch = buf_take(&b, NULL);
    run->kill_timer = loop_timer_new(env->loop, on_grace_over, run);
    return run;
}

static void words_argv(struct program_words *w, struct arena *mem, const struct jig_run *run,
                       const struct reach_step *s)
{
    program_words_runner(w, mem, run->env, run->lock_path, run->req, run->req->step, false);
    if (s->kind == REACH_SCRIPT) {
        vec_push(w, "/bin/sh");
        ADD(w, "%s%s", run->scratch, suffixes[SCRATCH_SCRIPT]);
    }
    for (size_t i = 0; s->kind == REACH_ARGV && s->argv[i]; i++)
        vec_push(w, s->argv[i]);
    vec_push(w, NULL);
}

static void words_env(struct program_words *w, struct arena *mem, const struct jig_run *run,
                      const struct reach_step *s)
{
    program_words_base(w, mem, s->env, s->env_n);
    for (size_t i = 0; i < s->env_n; i++)
        ADD(w, "%s=%s", s->env[i].name, s->env[i].value);
    ADD(w, "ANNEAL_RESULT_FILE=%s%s", run->scratch, suffixes[SCRATCH_RESULT]);
    if (s->input.n)
        ADD(w, "ANNEAL_INPUT_FILE=%s%s", run->scratch, suffixes[SCRATCH_INPUT]);
    if (s->puts_n)
        ADD(w, "ANNEAL_FILES=%s.d/f", run->scratch);
    vec_push(w, NULL);
}

static int spawn_runner(struct jig_run *run, const struct reach_step *s, struct err *e)
{
    SCOPED_ARENA(mem);
    struct program_words argv = {0}, envp = {0};
    words_argv(&argv, &mem, run, s);
    words_env(&envp, &mem, run, s);
    struct proc_spec spec = {
        .argv = argv.at,
        .envp = envp.at,
        .cwd = s->cwd ? s->cwd : "/",
        .input = s->input,
        .max_stdout = run->tap ? SIZE_MAX : run->env->max_output_bytes,
        .max_stderr = run->env->max_output_bytes,
        .max_result = PROGRAM_RESULT_LIMIT + 1, /* one more shows that the limit was passed */
        .on_output = on_output,
        .on_exit = on_exit_of_runner,
        .arg = run,
    };
    int rc = proc_spawn(run->env->loop, &spec, &run->proc, e);
    vec_done(&argv);
    vec_done(&envp);
    return rc;
}

int program_run_step(struct jig_run *run, const struct reach_step *s, struct jig_run **ret_run,
                     struct err *e)
{
    int rc = 0;
    if (s->kind == REACH_SCRIPT)
        rc = scratch_put(run, SCRATCH_SCRIPT, s->script, e);
    if (rc == 0 && s->input.n)
        rc = scratch_put(run, SCRATCH_INPUT, s->input, e);
    if (rc == 0 && s->puts_n)
        rc = program_run_files(run, s->puts, s->puts_n, e);
    if (rc == 0)
        rc = spawn_runner(run, s, e);
    if (rc < 0) {
        program_run_free(run);
        return rc;
    }
    *ret_run = run;
    return 0;
}

int program_run_start(program_step_f *step, program_judge_f *judge, const struct jig_env *env,
                      const struct task_request *req, struct jig_run **ret_run, struct err *e)
{
    SCOPED_ARENA(mem);
    struct reach_step s = {0};
    int rc = step(req, &mem, &s, e);
    return rc < 0 ? rc : program_run_step(program_run_new(judge, env, req), &s, ret_run, e);
}
