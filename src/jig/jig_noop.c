/* jig_noop.c - a task that does nothing, at once
 *
 * For milestones, for plans to be rehearsed and for measuring everything around a task.
 * params.returns, if it is there, becomes what the task returned.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jig/jig_i.h"

static int noop_check(const struct value *params, struct err *e)
{
    static const struct jig_param table[] = {{"returns", PARAM_MAP}};
    return jig_params_check(params, table, 1, false, e);
}

static int noop_start(const struct jig_env *env, const struct task_request *req,
                      struct jig_run **ret_run, struct err *e)
{
    struct jig_result r = {.outcome = OUTCOME_OK, .returns = value_get(req->params, "returns")};
    (void)e;
    *ret_run = NULL;
    env->finish(env->ctx, &r);
    return 0;
}

const struct jig jig_noop = {
    .name = "noop",
    .help = "does nothing and succeeds; returns params.returns",
    .check = noop_check,
    .start = noop_start,
};
