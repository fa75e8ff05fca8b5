/* jig_test.c - a task that behaves as its parameters say, without a process
 *
 *   sleep_ms     time until the answer
 *   log          lines written to standard output at the start
 *   again_times  answers "not yet" to that many questions of each attempt, again_ms apart
 *   fail_times   fails in the attempts numbered up to this
 *   exit         exit status of a failure; alone, the task always fails with it
 *   returns      map returned by a success
 *   whole        that map is all of the data as they are now; else it is what is added
 *   ignore_term  a cancel takes effect only after its grace, like a program that ignores TERM
 *
 * It keeps nothing between runs: which answer is due follows from the attempt's number and from how
 * often it was asked, both in the message.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "jig/jig_i.h"

struct jig_run {
    const struct jig_env *env;
    const struct task_request *req;
    struct loop_timer *timer;
    uint64_t done_at_ms, end_at_ms; /* when it would answer; when a cancel ends it */
};

static int test_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {
        {"sleep_ms", PARAM_UINT}, {"log", PARAM_STRINGS},      {"again_times", PARAM_UINT},
        {"again_ms", PARAM_UINT}, {"fail_times", PARAM_UINT},  {"exit", PARAM_UINT},
        {"returns", PARAM_MAP},   {"ignore_term", PARAM_BOOL}, {"whole", PARAM_BOOL},
    };
    return jig_params_check(params, table, sizeof table / sizeof table[0], true, e);
}

static uint64_t param(const struct value *params, const char *name, int64_t otherwise)
{
    return (uint64_t)value_as_int(value_get(params, name), otherwise);
}

static void answer(const struct jig_env *env, const struct task_request *req)
{
    const struct value *params = req->params;
    struct jig_result r = {.outcome = OUTCOME_OK};
    uint64_t code = param(params, "exit", 0);
    if (req->msg->ask < param(params, "again_times", 0)) {
        r.outcome = OUTCOME_AGAIN;
        r.again_ms = param(params, "again_ms", 1000);
    } else if (req->msg->attempt <= param(params, "fail_times", 0) ||
               (code && !value_get(params, "fail_times"))) {
        r.outcome = OUTCOME_FAILED;
        r.exit_code = (int)(code ? code : 1);
        snprintf(r.text, sizeof r.text, "exit status %d, as asked for", r.exit_code);
    } else {
        r.returns = value_get(params, "returns");
        r.whole = value_as_bool(value_get(params, "whole"), false);
    }
    env->finish(env->ctx, &r);
}

static void on_time(void *arg)
{
    struct jig_run *run = arg;
    struct jig_result r = {.outcome = OUTCOME_CANCELLED, .exit_code = -1};
    if (run->end_at_ms < run->done_at_ms)
        run->env->finish(run->env->ctx, &r);
    else
        answer(run->env, run->req);
}

static void arm(struct jig_run *run)
{
    uint64_t at_ms = run->end_at_ms < run->done_at_ms ? run->end_at_ms : run->done_at_ms;
    loop_timer_at(run->timer, at_ms);
}

static int test_start(const struct jig_env *env, const struct task_request *req,
                      struct jig_run **ret_run, struct err *e)
{
    const struct value *lines = value_get(req->params, "log");
    uint64_t sleep_ms = param(req->params, "sleep_ms", 0);
    (void)e;
    for (uint32_t i = 0; lines && i < lines->n; i++) {
        struct str line = value_as_str(&lines->items[i]);
        env->log(env->ctx, 1, line.s, line.n);
        env->log(env->ctx, 1, "\n", 1);
    }
    *ret_run = NULL;
    if (!sleep_ms) {
        answer(env, req);
        return 0;
    }
    struct jig_run *run = xcalloc(1, sizeof *run);
    *run = (struct jig_run){.env = env, .req = req, .end_at_ms = UINT64_MAX};
    run->done_at_ms = loop_now_ms(env->loop) + sleep_ms;
    run->timer = loop_timer_new(env->loop, on_time, run);
    arm(run);
    *ret_run = run;
    return 0;
}

static void test_cancel(struct jig_run *run, uint64_t grace_ms)
{
    bool stubborn = value_as_bool(value_get(run->req->params, "ignore_term"), false);
    uint64_t end_at_ms = loop_now_ms(run->env->loop) + (stubborn ? grace_ms : 0);
    if (end_at_ms < run->end_at_ms)
        run->end_at_ms = end_at_ms;
    if (loop_timer_armed(run->timer))
        arm(run);
}

static void test_free(struct jig_run *run)
{
    loop_timer_free(run->timer);
    free(run);
}

const struct jig jig_test = {
    .name = "test",
    .help = "sleeps, logs, fails or asks to be asked again, as its parameters say",
    .check = test_check,
    .start = test_start,
    .cancel = test_cancel,
    .free = test_free,
};
