/* jig_plugin.c - a plugin, asked on the worker's machine under the runner
 *
 *   action   what it is asked to do; default: the name of the task
 *   type     of provider or action; default: that of the cluster's provider
 *   plugin   its name, instead of finding it by both; other parameters are the plugin's own
 *
 * The contract is docs/rfc/10-plugins.md, section 4.  What is secret is on standard input and
 * nowhere else, and is masked in whatever comes back.  A repeated attempt first asks the action's
 * probe, if it has one, whether the last one got there: a machine must not be made twice because
 * the answer was lost.  A no-op is one call with dry_run set, if the plugin can do that, else a
 * line in the log.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sodium.h>

#include "base/text.h"
#include "jig/plugin_i.h"
#include "plugin/plugin_lines.h"
#include "sys/proc.h"
#include "sys/runner.h"

enum { CALL_PROBE, CALL_ACTION }; /* steps of a run; a first attempt begins with the second */

struct jig_run {
    const struct jig_env *env;
    const struct task_request *req;
    struct arena mem;
    struct plugin_call call;
    uint32_t step;        /* enum above */
    struct run_record id; /* to compare with the lock's record */
    char *lock_path;
    struct proc *proc;
    struct loop_timer *kill_timer, *late_timer;
    uint64_t kill_at_ms;         /* while an end waits for its grace */
    bool ending;                 /* told to end, by whomever */
    bool cancelled, late;        /* by the worker; by the action's own time */
    struct mask *texts, *errors; /* of what it says in lines; of its standard error */
    struct plugin_lines lines;
    struct jig_line line;
};

#define SAY(r, ...) snprintf((r)->text, sizeof(r)->text, __VA_ARGS__)

static int plugin_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {
        {"action", PARAM_STRING}, {"type", PARAM_STRING}, {"plugin", PARAM_STRING}};
    return jig_params_check(params, table, sizeof table / sizeof table[0], false, e);
}

/* --- its end, wished --- */

static void end_within(struct jig_run *run, uint64_t grace_ms)
{
    uint64_t at_ms = loop_now_ms(run->env->loop) + grace_ms;
    if (!run->ending)
        proc_signal(run->proc, SIGTERM);
    run->ending = true;
    if (!loop_timer_armed(run->kill_timer) || at_ms < run->kill_at_ms) {
        run->kill_at_ms = at_ms;
        loop_timer_at(run->kill_timer, at_ms);
    }
}

static void plugin_cancel(struct jig_run *run, uint64_t grace_ms)
{
    run->cancelled = true;
    end_within(run, grace_ms);
}

static void on_grace_over(void *arg)
{
    struct jig_run *run = arg;
    proc_signal(run->proc, SIGQUIT); /* the runner kills the whole tree and then ends itself */
}

static void on_late(void *arg)
{
    struct jig_run *run = arg;
    run->late = true;
    end_within(run, run->req->msg->grace_ms);
}

/* --- what it says --- */

static void on_line(void *ctx, struct str text)
{
    struct jig_run *run = ctx;
    run->env->log(run->env->ctx, 1, text.s, text.n);
}

static void tell_errors(struct jig_run *run, const struct buf *b)
{
    if (!b->len)
        return;
    jig_line_note(&run->line, b->data, b->len);
    run->env->log(run->env->ctx, 2, b->data, b->len);
}

static void on_output(void *arg, int fd, const char *p, size_t n)
{
    struct jig_run *run = arg;
    if (fd == 1) {
        if (!plugin_lines_feed(&run->lines, (struct str){p, n}))
            end_within(run, run->req->msg->grace_ms);
        return;
    }
    SCOPED_BUF(b);
    mask_feed(run->errors, (struct str){p, n}, &b);
    tell_errors(run, &b);
}

/* --- its end, come --- */

static uint64_t time_of(const struct jig_run *run)
{
    return run->step == CALL_PROBE ? run->call.probe_timeout_ms : run->call.timeout_ms;
}

static const char *action_of(const struct jig_run *run)
{
    return run->step == CALL_PROBE ? run->call.probe : run->call.action;
}

static void judge_lines(struct jig_run *run, const struct proc_exit *x, struct jig_result *r)
{
    struct plugin_verdict v;
    char shown[16];
    plugin_lines_judge(&run->lines, x->code, jig_line_last(&run->line), &v);
    r->outcome = v.outcome;
    r->again_ms = v.again_ms;
    r->returns = v.returns;
    SAY(r, "%s", v.text);
    if (run->late && v.outcome != OUTCOME_OK && !run->lines.over) {
        text_duration_show(time_of(run), shown);
        r->outcome = OUTCOME_TIMEOUT;
        SAY(r, "plugin %.64s gives %.64s %s, and it took longer", run->call.plugin, action_of(run),
            shown);
    }
}

static void judge(struct jig_run *run, const struct proc_exit *x, struct jig_result *ret)
{
    struct jig_result r = {.exit_code = x->code, .truncated = x->truncated};
    if (run->cancelled && (x->signo == SIGTERM || x->signo == SIGQUIT)) {
        r.outcome = OUTCOME_CANCELLED;
        SAY(&r, "told to end before the start");
    } else if (x->signo) {
        r.outcome = OUTCOME_LOST;
        SAY(&r, "the runner was ended by signal %d", x->signo);
    } else if (x->code != RUNNER_REFUSED ||
               !program_refused(run->lock_path, &run->id, proc_pid(run->proc),
                                jig_line_last(&run->line), &r)) {
        judge_lines(run, x, &r);
    }
    if (run->cancelled && (r.outcome == OUTCOME_FAILED || r.outcome == OUTCOME_AGAIN))
        r.outcome = OUTCOME_CANCELLED;
    *ret = r;
}

static void finish(struct jig_run *run, struct jig_result *r)
{
    if (run->req->msg->no_op) {
        char said[JIG_TEXT_BYTES];
        snprintf(said, sizeof said, "%s", r->text[0] ? r->text : "the plugin would do it");
        r->returns = NULL;
        SAY(r, "no-op: %.240s", said);
    }
    run->env->finish(run->env->ctx, r);
}

static int call_spawn(struct jig_run *run, struct err *e);

/* True: that was the answer; else the action itself is to be asked. */
static bool probe_ended(struct jig_run *run, struct jig_result *r)
{
    const struct value *found = value_get(r->returns, "found");
    if (r->outcome != OUTCOME_OK)
        return true;
    if (!value_is(found, VALUE_BOOL)) {
        r->outcome = OUTCOME_FAILED;
        r->returns = NULL;
        SAY(r, "probe %.64s did not say whether it was found", run->call.probe);
        return true;
    }
    if (!found->b)
        return false;
    struct value *rest = value_map(&run->mem);
    for (uint32_t i = 0; i < r->returns->n; i++)
        if (strcmp(r->returns->members[i].key, "found") != 0)
            value_set(&run->mem, rest, r->returns->members[i].key, &r->returns->members[i].v);
    r->returns = rest;
    SAY(r, "found by %.64s: an earlier attempt had got there", run->call.probe);
    return true;
}

static void on_exit_of_runner(void *arg, const struct proc_exit *x)
{
    struct jig_run *run = arg;
    struct jig_result r;
    struct err e;
    SCOPED_BUF(b);
    loop_timer_stop(run->kill_timer);
    loop_timer_stop(run->late_timer);
    mask_flush(run->errors, &b);
    tell_errors(run, &b);
    plugin_lines_end(&run->lines);
    judge(run, x, &r);
    if (run->step == CALL_ACTION || probe_ended(run, &r)) {
        finish(run, &r);
        return;
    }
    proc_free(run->proc);
    run->proc = NULL;
    run->step = CALL_ACTION;
    if (run->cancelled)
        r = (struct jig_result){.outcome = OUTCOME_CANCELLED, .exit_code = -1};
    else if (call_spawn(run, &e) == 0)
        return;
    else {
        r = (struct jig_result){.outcome = OUTCOME_FAILED, .exit_code = -1};
        SAY(&r, "%.250s", e.text);
    }
    finish(run, &r);
}

/* --- start --- */

static int call_spawn(struct jig_run *run, struct err *e)
{
    SCOPED_ARENA(mem);
    SCOPED_BUF(input);
    struct program_words argv = {0}, envp = {0};
    const struct taskmsg *m = run->req->msg;
    uint32_t step = run->req->step + run->step;
    uint64_t limit_ms = time_of(run);
    run->id = (struct run_record){
        .task = m->task, .attempt = m->attempt, .ask = m->ask, .step = step};
    run->line = (struct jig_line){0};
    run->ending = run->late = false;
    plugin_lines_done(&run->lines);
    plugin_lines_init(&run->lines, &run->mem, run->texts, on_line, run);
    bool leaves = run->step == CALL_ACTION && run->call.leaves;
    program_words_runner(&argv, &mem, run->env, run->lock_path, run->req, step, leaves);
    vec_push(&argv, run->call.program);
    vec_push(&argv, NULL);
    program_words_env(&envp, &mem, run->req);
    vec_push(&envp, NULL);
    plugin_call_input(&input, &run->call, run->req, action_of(run), m->no_op);
    struct proc_spec spec = {
        .argv = argv.at,
        .envp = envp.at,
        .cwd = run->call.dir,
        .input = buf_str(&input),
        .max_stdout = LINES_ALL_BYTES + 1, /* one more shows that the limit was passed */
        .max_stderr = run->env->max_output_bytes,
        .on_output = on_output,
        .on_exit = on_exit_of_runner,
        .arg = run,
    };
    int rc = proc_spawn(run->env->loop, &spec, &run->proc, e);
    sodium_memzero(input.data, input.len);
    vec_done(&argv);
    vec_done(&envp);
    if (rc == 0 && limit_ms)
        loop_timer_at(run->late_timer, loop_now_ms(run->env->loop) + limit_ms);
    return rc;
}

static void plugin_free(struct jig_run *run)
{
    if (run->proc)
        proc_free(run->proc);
    loop_timer_free(run->kill_timer);
    loop_timer_free(run->late_timer);
    plugin_lines_done(&run->lines);
    mask_free(run->texts);
    mask_free(run->errors);
    free(run->lock_path);
    arena_done(&run->mem);
    free(run);
}

/* It cannot be asked without doing it: what would be asked is all there is to tell. */
static void tell_call(struct jig_run *run)
{
    const struct plugin_call *c = &run->call;
    SCOPED_BUF(b);
    buf_printf(&b, "would ask plugin %s to %s%s%s\n", c->plugin, c->action,
               *c->type ? ", type " : "", c->type);
    run->env->log(run->env->ctx, 1, b.data, b.len);
    run->env->finish(run->env->ctx,
                     &(struct jig_result){.outcome = OUTCOME_OK, .text = "no-op: not asked"});
}

static int plugin_start(const struct jig_env *env, const struct task_request *req,
                        struct jig_run **ret_run, struct err *e)
{
    if (!env->plugins) {
        err_set(e, ERR_UNKNOWN_NAME, "this worker has no plugins");
        return err_hint(e, "set plugin_path");
    }
    struct jig_run *run = xcalloc(1, sizeof *run);
    run->env = env;
    run->req = req;
    arena_init(&run->mem);
    run->texts = mask_new();
    run->errors = mask_new();
    run->lock_path = program_lock_path(env, req->msg->task);
    run->kill_timer = loop_timer_new(env->loop, on_grace_over, run);
    run->late_timer = loop_timer_new(env->loop, on_late, run);
    int rc = plugin_call_make(&run->call, &run->mem, jig_plugins_now(env->plugins), env->run_dir,
                              req, e);
    if (rc < 0) {
        plugin_free(run);
        return rc;
    }
    mask_add_values(run->texts, run->call.secrets);
    mask_add_values(run->errors, run->call.secrets);
    bool repeated = req->msg->attempt > 1 && req->msg->ask == 0;
    run->step = repeated && *run->call.probe && !req->msg->no_op ? CALL_PROBE : CALL_ACTION;
    *ret_run = run;
    if (req->msg->no_op && !run->call.can_dry_run)
        tell_call(run);
    else if ((rc = call_spawn(run, e)) < 0) {
        *ret_run = NULL;
        plugin_free(run);
    }
    return rc;
}

const struct jig jig_plugin = {
    .name = "plugin",
    .help = "asks the plugin that params.action and params.type are for",
    .check = plugin_check,
    .start = plugin_start,
    .cancel = plugin_cancel,
    .free = plugin_free,
    .tells = true,
    .programs = true,
};
